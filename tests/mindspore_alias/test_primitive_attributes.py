"""Attributes of MindSpore's operators in MindSpore's order, and the dtypes of the places that they find. Both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, ops
from msnb.base.errors import ArgumentError

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def run(op: Any, *inputs: Any) -> Any:
    if ms.get_context("mode") == ms.GRAPH_MODE:
        return ms.jit(lambda *x: op(*x))(*inputs)
    return op(*inputs)


def test_attributes_by_position(mode: int) -> None:
    x = Tensor(X - 10)
    pairs = [
        (ops.CeLU(2.0), ops.celu(x, 2.0)), (ops.Elu(1.0), ops.elu(x, 1.0)), (ops.Triu(1), ops.triu(x, 1)),
        (ops.Roll(1, 2), ops.roll(x, 1, 2)), (ops.Diagonal(1, 1, 2), ops.diagonal(x, 1, 1, 2)),
        (ops.SoftShrink(0.5), ops.softshrink(x, 0.5)), (ops.NanToNum(0.5), ops.nan_to_num(x, 0.5)),
        (ops.GLU(2), ops.glu(x, 2)),
    ]  # fmt: skip
    for op, expected in pairs:
        np.testing.assert_allclose(run(op, x).asnumpy(), expected.asnumpy(), 1e-5, 1e-6, err_msg=repr(op))
    pooled = ops.adaptive_avg_pool2d(x[None], (None, 2))
    assert run(ops.AdaptiveAvgPool2D((None, 2)), x[None]).tolist() == pooled.tolist()
    for op in (ops.UniqueConsecutive(True, True, 0), ops.UniqueConsecutive(True, return_counts=True, dim=0)):
        assert [t.tolist() for t in run(op, Tensor([1, 1, 2]))] == [[1, 2], [0, 0, 1], [2, 1]]
    assert run(ops.TrilIndices(2, 2, -1, ms.int64)).tolist() == [[1], [0]]
    assert run(ops.TriuIndices(2, 2)).dtype is ms.int32
    wave, window = Tensor(np.sin(np.arange(64.0)).astype(np.float32)), ops.ones((16,))
    parts = run(ops.STFT(16, 8, 16, False, True, False), wave, window)
    frames = np.stack([wave.asnumpy()[i : i + 16] for i in range(0, 49, 8)])
    np.testing.assert_allclose(parts.asnumpy()[..., 0], np.fft.rfft(frames).real.T, 1e-3, 1e-4)
    p = ms.Parameter(ops.zeros((3,)), name="p")
    ops.ScatterNdAdd(True)(p, Tensor([[1]]), Tensor([2.0]))
    assert p.asnumpy().tolist() == [0, 2, 0]
    with pytest.raises(ArgumentError, match="takes alpha once"):
        ops.CeLU(1.0, alpha=2.0)
    assert run(ops.CumSum(True, True), x, 1).tolist() == ops.cumsum(x, 1, exclusive=True, reverse=True).tolist()
    with pytest.raises(ArgumentError, match="takes 1 attributes, 2 were given"):
        ops.CeLU(1.0, 2.0)


def test_masks_of_strided_slices(mode: int) -> None:
    def cut(**masks: int) -> Any:
        op = ops.StridedSlice(**masks)
        return run(lambda x: op(x, (1, 1, 0), (2, 2, 3), (1, 1, 2)), Tensor(X)).asnumpy()

    assert cut().tolist() == X[1:2, 1:2, 0:3:2].tolist()
    assert cut(begin_mask=2).tolist() == X[1:2, :2, 0:3:2].tolist()
    assert cut(end_mask=6).tolist() == X[1:2, 1:, 0::2].tolist()
    assert cut(shrink_axis_mask=3).tolist() == X[1, 1, 0:3:2].tolist()
    assert cut(new_axis_mask=1).tolist() == X[None, 1:2, 0:3:2].tolist()
    assert cut(ellipsis_mask=2).tolist() == X[1:2, ..., 0:3:2].tolist()


def test_places_are_int32(mode: int) -> None:
    x = Tensor(X)
    for op, inputs, at in [
        (ops.TopK(), (x, 2), 1), (ops.Sort(1, True), (x,), 1), (ops.Cummin(0), (x,), 1),
        (ops.Argmax(1), (x,), None),
    ]:  # fmt: skip
        found = run(op, *inputs)
        assert (found if at is None else found[at]).dtype == ms.int32, op
    for op in (ops.ArgMaxWithValue(1), ops.ArgMinWithValue(1)):  # int64 in 2.10
        assert run(op, x)[0].dtype == ms.int64, op
    found = run(ops.SearchSorted(ms.int32, True), Tensor([1.0, 2.0]), Tensor([2.0]))
    assert (found.tolist(), found.dtype) == ([2], ms.int32)


def test_sums_that_skip(mode: int) -> None:
    x = Tensor(X)
    assert run(ops.ReduceSum(False, True), x).shape == x.shape
    assert float(run(ops.ReduceSum(), x)) == X.sum()


class Pooled(ms.nn.Cell):
    def __init__(self, strides: int) -> None:
        super().__init__()
        self.op = ops.MaxPool(3, strides, "same")

    def construct(self, x: Any) -> Any:
        return self.op(x)


def test_programs_depend_on_attributes(mode: int) -> None:
    x = Tensor(np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8))
    call, held = ms.jit(lambda op, x: op(x)), Pooled(2)
    for strides, size in ((2, 4), (1, 8), (4, 2)):
        op = ops.MaxPool(3, strides, "same")
        held.op = op
        for found in (call(op, x), call(Pooled(strides), x), held(x), ms.jvp(op, x, x)[1], ms.vmap(op)(x[None])[0]):
            assert found.shape == (1, 1, size, size), strides
    table, hot = Tensor([0, 1]), ms.jit(lambda op, i: op(i, 3, Tensor(1.0), Tensor(0.0)))
    assert [hot(ops.OneHot(axis=axis), table).shape for axis in (0, -1)] == [(3, 2), (2, 3)]
    fill = ms.jit(lambda op, x: op(x))
    values = [fill(ops.FillDiagonal(Tensor([v])), ops.ones((2, 2)))[0, 0].item() for v in (2.0, 3.0)]
    assert values == [2.0, 3.0]


def test_programs_draw_from_the_stream_of_the_operator(mode: int) -> None:
    draw, x = ms.jit(lambda op, x: op(x)[0]), ops.ones((6, 6))
    first, second = (ops.Dropout(0.5, Seed0=3) for _ in range(2))
    one = [draw(first, x).asnumpy() for _ in range(2)]
    two = [draw(second, x).asnumpy() for _ in range(2)]
    assert all(np.array_equal(a, b) for a, b in zip(one, two)) and not np.array_equal(*one)
