"""Operator classes take operands of one dtype where MindSpore's do, in both modes.

Functions, and rules of mixed precision, convert them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import amp, nn, ops

A = np.array([[0.25, 0.5], [0.75, 0.5]], np.float32)
V = np.array([0.5, 0.25], np.float32)
I, AT = np.array([[0], [1]], np.int32), np.array([0, 1], np.int32)
BOX = np.array([[1, 1, 4, 4], [2, 2, 6, 6]], np.float32)
ALIKE: dict[str, tuple[Any, tuple[Any, ...], tuple[int, ...]]] = {
    "MatMul": (ops.MatMul(), (A, A), (0, 1)),
    "BatchMatMul": (ops.BatchMatMul(), (A[None], A[None]), (0, 1)),
    "BiasAdd": (ops.BiasAdd(), (A, V), (0, 1)),
    "KLDivLoss": (ops.KLDivLoss(), (A, A), (0, 1)),
    "BinaryCrossEntropy": (ops.BinaryCrossEntropy(), (A, A, A), (0, 1, 2)),
    "SigmoidCrossEntropyWithLogits": (ops.SigmoidCrossEntropyWithLogits(), (A, A), (0, 1)),
    "Heaviside": (ops.Heaviside(), (A, A), (0, 1)),
    "Lerp": (ops.Lerp(), (A, A, A), (0, 1)),
    "Addcmul": (ops.Addcmul(), (A, A, A, V[:1]), (0, 1, 2)),
    "IOU": (ops.IOU(), (BOX, BOX), (0, 1)),
    "OneHot": (ops.OneHot(), (AT, 3, V[0], V[1]), (2, 3)),
    "TensorScatterAdd": (ops.TensorScatterAdd(), (A, I, A), (0, 2)),
    "TensorScatterElements": (ops.TensorScatterElements(), (A, I, A[:, :1]), (0, 2)),
    "BatchNorm": (ops.BatchNorm(), (A, V, V, V, V), (1, 2, 3, 4)),
    "MultiMarginLoss": (ops.MultiMarginLoss(), (A, AT.astype(np.int64), V), (0, 2)),
}
WRITTEN: dict[str, tuple[Any, Any, tuple[Any, ...]]] = {
    "Assign": (ops.Assign(), A, (A,)),
    "AssignAdd": (ops.AssignAdd(), A, (A,)),
    "ScatterAdd": (ops.ScatterAdd(), A, (AT, A)),
    "ScatterNdUpdate": (ops.ScatterNdUpdate(), A, (I, A)),
    "ApplyGradientDescent": (ops.ApplyGradientDescent(), A, (0.1, A)),
}


def run(mode: int, fn: Callable[..., Any], *args: Any) -> Any:
    return ms.jit(fn)(*args) if mode == ms.GRAPH_MODE else fn(*args)


def tensors(arrays: Any, narrow: Any = (), dtype: Any = np.float16) -> list[Any]:
    return [ms.Tensor(x.astype(dtype) if i in narrow else x) if isinstance(x, (np.ndarray, np.generic)) else x
            for i, x in enumerate(arrays)]  # fmt: skip


@pytest.mark.parametrize("name", ALIKE)
def test_operands_of_one_dtype(name: str, mode: Any) -> None:
    op, arrays, group = ALIKE[name]
    run(mode, lambda *xs: op(*xs), *tensors(arrays))
    run(mode, lambda *xs: op(*xs), *tensors(arrays, group))
    for narrow in group:
        for dtype in (np.float16, np.int32):
            with pytest.raises(TypeError, match=f"ops.{name} converts no operand"):
                run(mode, lambda *xs: op(*xs), *tensors(arrays, (narrow,), dtype))


@pytest.mark.parametrize("name", ("Stack", "AddN"))
def test_lists_of_one_dtype(name: str, mode: Any) -> None:
    op = getattr(ops, name)()
    run(mode, lambda a, b: op((a, b)), *tensors((A, A)))
    with pytest.raises(TypeError, match=f"ops.{name} converts no operand"):
        run(mode, lambda a, b: op([a, b]), *tensors((A, A), (1,)))


@pytest.mark.parametrize("name", WRITTEN)
def test_what_is_written_keeps_its_dtype(name: str, mode: Any) -> None:
    op, kept, others = WRITTEN[name]
    last = len(others) - 1
    wide, narrow = (ms.Parameter(ms.Tensor(kept.astype(dtype)), name="p") for dtype in (np.float32, np.float16))
    run(mode, lambda *xs: op(wide, *xs), *tensors(others, (last,)))
    assert wide.dtype is ms.float32
    with pytest.raises(TypeError, match="Float16 cannot hold Float32"):
        run(mode, lambda *xs: op(narrow, *xs), *tensors(others))
    np.testing.assert_array_equal(narrow.asnumpy(), kept.astype(np.float16))


def test_functions_convert(mode: Any) -> None:
    assert run(mode, lambda a, b: ops.matmul(a, b), *tensors((A, A), (0,))).dtype is ms.float32
    assert run(mode, lambda a, b: ops.MatMul()(a, 2 * b), *tensors((A, A))).dtype is ms.float32


class Product(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.matmul = ops.MatMul()
        self.w = ms.Parameter(ms.Tensor(A), name="w")

    def construct(self, x: Any) -> Any:
        return self.matmul(ops.exp(x), self.w)


def test_rules_of_mixed_precision_convert(mode: Any) -> None:
    ms.set_context(mode=mode)
    net = amp.auto_mixed_precision(Product(), "auto", ms.float16)
    assert np.isfinite(net(ms.Tensor(A.astype(np.float16))).asnumpy()).all()


@pytest.mark.parametrize("dtype", (np.float16, np.float32, np.float64))
def test_results_of_the_dtype_of_the_first_operand(dtype: Any, mode: Any) -> None:
    other = np.float32 if dtype is np.float16 else np.float16
    x, scale = ms.Tensor(A.astype(dtype)), ms.Tensor(V.astype(other))
    y = run(mode, lambda x, s: ops.LayerNorm(1, 1)(x, s, s)[0], x, scale)
    assert y.dtype is x.dtype
    loss, total = run(mode, lambda x, s: ops.NLLLoss()(x, ms.Tensor(AT), s), x, scale)
    assert loss.dtype is total.dtype is x.dtype


def test_numbers_are_scattered_and_bools_are_not(mode: Any) -> None:
    places, yes = ms.Tensor(I), ms.Tensor([True, True])
    kept = run(mode, lambda x, i, u: ops.TensorScatterUpdate()(x, i, u), ms.Tensor([False, True]), places, yes)
    assert kept.tolist() == [True, True]
    for name in ("TensorScatterAdd", "TensorScatterMax"):
        with pytest.raises(TypeError, match="takes no bool tensors"):
            run(mode, lambda x, i, u, name=name: getattr(ops, name)()(x, i, u), yes, places, yes)
    for name in ("ScatterUpdate", "ScatterAdd", "ScatterMul", "ScatterNdMax"):
        flags = ms.Parameter(ms.Tensor([True, False]), name="flags")
        given = places if "Nd" in name else ms.Tensor(AT)
        with pytest.raises(TypeError, match="takes no bool tensors"):
            run(mode, lambda i, u, flags=flags, name=name: getattr(ops, name)()(flags, i, u), given, yes)
        assert flags.tolist() == [True, False]
