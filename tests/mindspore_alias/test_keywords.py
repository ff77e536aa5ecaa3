"""Keywords as MindSpore, PyTorch and NumPy write them: every function of tensors takes them, in both modes."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor
from msnb.base.errors import ArgumentError

A = np.array([[1.0, -2.0, 0.5], [3.0, 0.25, -1.0]], np.float32)
B = np.array([[0.5, 2.0, -1.0], [1.0, -3.0, 2.0]], np.float32)
SQUARE = np.arange(9, dtype=np.float32).reshape(3, 3)
PLACES = np.array([1, 0])
CASES: list[tuple[str, dict[str, Any], Callable[[], Any]]] = [
    ("ops.abs", {"input": A}, lambda: np.abs(A)),
    ("ops.add", {"input": A, "other": B}, lambda: A + B),
    ("ops.matmul", {"input": A, "other": B.T}, lambda: A @ B.T),
    ("ops.maximum", {"input": A, "other": B}, lambda: np.maximum(A, B)),
    ("ops.softmax", {"input": A, "axis": 0}, lambda: np.exp(A) / np.exp(A).sum(0)),
    ("ops.argmax", {"input": A, "dim": 1, "keepdim": True}, lambda: A.argmax(1)[:, None]),
    ("ops.cat", {"tensors": (A, B), "axis": 1}, lambda: np.concatenate((A, B), 1)),
    ("ops.stack", {"tensors": (A, B)}, lambda: np.stack((A, B))),
    ("ops.triu", {"input": SQUARE, "diagonal": 1}, lambda: np.triu(SQUARE, 1)),
    ("ops.where", {"condition": A > 0, "input": A, "other": B}, lambda: np.where(A > 0, A, B)),
    ("ops.gather", {"input_params": A, "input_indices": PLACES, "axis": 0}, lambda: A[PLACES]),
    ("ops.isclose", {"input": A, "other": A}, lambda: np.ones_like(A, bool)),
    ("ops.addmm", {"input": SQUARE, "mat1": A.T, "mat2": B}, lambda: SQUARE + A.T @ B),
    ("ops.bmm", {"input_x": A[None], "mat2": B.T[None]}, lambda: (A @ B.T)[None]),
    ("ops.outer", {"input": A[0], "vec2": B[0]}, lambda: np.outer(A[0], B[0])),
    ("ops.ones", {"shape": (2, 3), "dtype": ms.int32}, lambda: np.ones((2, 3), np.int32)),
    ("ops.zeros", {"shape": [2]}, lambda: np.zeros(2)),
    ("mint.pow", {"input": A, "exponent": 2}, lambda: A**2),
    ("mint.sum", {"input": A, "dim": 1, "keepdim": True}, lambda: A.sum(1, keepdims=True)),
    ("mint.nn.functional.relu", {"input": A}, lambda: np.maximum(A, 0)),
    ("numpy.add", {"x1": A, "x2": B}, lambda: A + B),
    ("numpy.dot", {"a": A, "b": B.T}, lambda: A @ B.T),
    ("numpy.vstack", {"tup": (A, B)}, lambda: np.vstack((A, B))),
    ("numpy.tile", {"A": A, "reps": (2, 1)}, lambda: np.tile(A, (2, 1))),
    ("numpy.transpose", {"a": A, "axes": (1, 0)}, lambda: A.T),
    ("ops.silu", {"input": A}, lambda: A / (1 + np.exp(-A))),
    ("ops.selu", {"input_x": abs(A)}, lambda: abs(A) * 1.0507009873554805),
    ("ops.permute", {"input": A, "axis": (1, 0)}, lambda: A.T),
    ("ops.transpose", {"input": A, "dims": (1, 0)}, lambda: A.T),
    ("ops.zeros", {"size": (2, 3)}, lambda: np.zeros((2, 3))),
    ("mint.nn.functional.pad", {"input": A, "pad": (1, 0)}, lambda: np.pad(A, ((0, 0), (1, 0)))),
    ("mint.nn.functional.layer_norm", {"input": A * 0, "normalized_shape": A.shape[1:]}, lambda: A * 0),
    ("mint.repeat_interleave", {"input": A, "repeats": 2, "dim": 0, "output_size": 2 * len(A)}, lambda: A.repeat(2, 0)),
]


def found_in(name: str) -> Any:
    import mindspore

    return operator.attrgetter(name)(mindspore)


def tensors(given: dict[str, Any]) -> dict[str, Any]:
    def as_given(value: Any) -> Any:
        arrays = isinstance(value, tuple) and isinstance(value[0], np.ndarray)
        return tuple(map(Tensor, value)) if arrays else Tensor(value) if isinstance(value, np.ndarray) else value

    return {word: as_given(value) for word, value in given.items()}


@pytest.mark.parametrize("name, given, want", CASES, ids=[name for name, _, _ in CASES])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_keywords(name: str, given: dict[str, Any], want: Callable[[], Any], compiled: bool) -> None:
    fn = found_in(name)
    run = ms.jit(lambda: fn(**tensors(given))) if compiled else lambda: fn(**tensors(given))
    np.testing.assert_allclose(run().asnumpy(), want(), rtol=1e-6)


METHODS = [
    ("matmul", {"tensor2": B.T}, lambda: A @ B.T), ("mm", {"mat2": B.T}, lambda: A @ B.T),
    ("pow", {"exponent": 2}, lambda: A**2), ("isclose", {"other": A, "rtol": 0.1}, lambda: A == A),
    ("multiply", {"value": B}, lambda: A * B), ("sub", {"y": B}, lambda: A - B), ("xlogy", {"other": abs(B)}, None),
    ("addmm", {"mat1": A @ A.T, "mat2": A, "beta": 2}, lambda: 2 * A + A @ A.T @ A),
    ("split", {"split_size": 1, "dim": 0}, None), ("tile", {"reps": (2, 1)}, lambda: np.tile(A, (2, 1))),
    ("new_ones", {"size": (2,)}, lambda: np.ones(2)), ("swapdims", {"dim0": 0, "dim1": 1}, lambda: A.T),
    ("to", {"dtype": ms.int32}, lambda: A.astype(np.int32)), ("to", {"device": "CPU", "copy": True}, lambda: A),
    ("astype", {"dtype": ms.float64, "copy": False}, lambda: A), ("diag", {"diagonal": 1}, lambda: np.diag(A, 1)),
    ("select", {"condition": A > 0, "y": B}, lambda: np.where(A > 0, A, B)),
    ("count_nonzero", {"axis": 0, "keep_dims": True, "dtype": ms.int64}, lambda: (A != 0).sum(0, keepdims=True)),
]


@pytest.mark.parametrize("name, given, want", METHODS, ids=[f"{name} {' '.join(given)}" for name, given, _ in METHODS])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "jit"])
def test_keywords_of_methods(name: str, given: dict[str, Any], want: Callable[[], Any] | None, compiled: bool) -> None:
    def call(x: Any) -> Any:
        return getattr(x, name)(**tensors(given))

    found = (ms.jit(call) if compiled else call)(Tensor(A))
    if want is not None:
        np.testing.assert_allclose(found.asnumpy(), want(), rtol=1e-5)
    assert Tensor(A).type() == "Float32"


def test_operators_of_msnb_itself_take_them_too() -> None:
    x = Tensor(A)
    assert ms.ops.add(x, other=x).tolist() == ms.ops.add(x=x, y=x).tolist() == (2 * A).tolist()
    assert ms.grad(lambda t: ms.ops.mul(input=t, other=t).sum())(x).tolist() == (2 * A).tolist()


@pytest.mark.parametrize("name, given, words", [
    ("ops.add", {"input": A, "x": A}, "takes an argument by one name, got input, x"),
    ("ops.softmax", {"input": A, "x": A}, "takes an argument by one name"),
    ("ops.add", {"other": A}, "has no attribute 'y'|takes the tensors"),
    ("ops.abs", {"inptu": A}, "takes the tensors|has no attribute"),
    ("ops.ones", {"sizes": 1}, "sizes"),
])  # fmt: skip
def test_wrong_keywords(name: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises((ArgumentError, TypeError), match=words):
        found_in(name)(**tensors(given))


def test_the_shape_is_given_once() -> None:
    with pytest.raises(ArgumentError, match="takes the shape once"):
        ms.ops.ones(2, shape=(3,))


def test_orders_of_mindspore() -> None:
    from mindspore import mint, ops

    x = Tensor(A)
    volume = Tensor(np.arange(8.0, dtype=np.float32).reshape(1, 1, 2, 2, 2))
    assert ops.max_pool3d(volume, 2, 2, 0, 1, False, True)[1].item() == 7, "ceil_mode stands before return_indices"
    assert ops.softmax(x, 1, ms.float64).dtype is ops.prod(x, 1, False, ms.float64).dtype is ms.float64
    assert ops.baddbmm(x[None], x[None], Tensor(SQUARE[None]), 2, 0).tolist() == (2 * A[None]).tolist()
    order = ops.randperm(5, 3, 7, ms.int32)
    assert sorted(order.tolist()) == [0, 1, 2, 3, 4] and order.dtype is ms.int32
    assert ops.range(0, 5, 2, 3).tolist() == [0, 2, 4]
    with pytest.raises(ValueError, match="more than maxlen=2"):
        ops.range(0, 5, 2, 2)
    assert sorted(mint.multinomial(Tensor([0.0, 1.0, 1.0]), 2).tolist()) == [1, 2], "without replacement by default"
    assert x.top_k(2, True)[0].shape == (2, 2) and x.addr(x[:, 0], x[0], 0, 0).tolist() == (A * 0).tolist()
    assert mint.special.log_softmax(x[None]).tolist() == [(A * 0).tolist()], "the first axis of three"
    with pytest.raises(ValueError, match="output_size=5 is not the sum"):
        mint.repeat_interleave(x, 2, 0, output_size=5)


def test_orders_of_pytorch_in_mint() -> None:
    x, t = Tensor(A), Tensor((B > 0).astype(np.float32))
    weight = Tensor(np.abs(B))
    F, nn = found_in("mint.nn.functional"), found_in("mint.nn")
    want = ms.ops.binary_cross_entropy_with_logits(x, t, weight=weight, reduction="sum").item()
    assert F.binary_cross_entropy_with_logits(x, t, weight, "sum").item() == pytest.approx(want)
    assert nn.BCEWithLogitsLoss(weight, "sum")(x, t).item() == pytest.approx(want)
    assert nn.SmoothL1Loss("sum", 0.5)(x, t).item() == pytest.approx(ms.nn.SmoothL1Loss(0.5, "sum")(x, t).item())


def test_an_in_place_function_writes_its_first_argument(mode: int) -> None:
    ms.set_context(mode=mode)
    p = ms.Parameter(Tensor(A), name="p")
    found = found_in("ops.inplace_index_add")(p, Tensor([0]), Tensor(B[:1]), 0)
    want = A.copy()
    want[0] += B[0]
    np.testing.assert_array_equal(p.asnumpy(), want)
    np.testing.assert_array_equal(found.asnumpy(), want)
    same = Tensor(A)
    np.testing.assert_array_equal(ms.ops.inplace_index_add(same, Tensor([0]), Tensor(B[:1]), 0).asnumpy(), want)
    np.testing.assert_array_equal(same.asnumpy(), want, "a tensor too, as in MindSpore")
