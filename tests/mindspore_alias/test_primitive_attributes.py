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


def test_operators_have_the_attributes_and_results_of_mindspore(mode: int) -> None:
    cube = Tensor(np.arange(64, dtype=np.float32).reshape(1, 1, 4, 4, 4))
    plane = Tensor(X[:, :2, :2].reshape(1, 2, 2, 2))
    first = run(ops.AvgPool3D(2, 2, "valid", 0, False, True, 4, "NCDHW"), cube).asnumpy()
    assert first[0, 0, 0, 0, 0] == sum((0, 1, 4, 5, 16, 17, 20, 21)) / 4
    edge = run(ops.AvgPool3D(2, 2, "pad", 1, False, False, 5), cube).asnumpy()
    assert edge[0, 0, 2, 2, 2] == np.float32(63 / 5)
    assert run(ops.MaxPool3D(2, 2, "pad", pad_list=1), cube).asnumpy()[0, 0, 0, 0].tolist() == [0, 2, 3]
    values, places = run(ops.AdaptiveMaxPool2D((1, 2)), plane)
    assert (values.tolist(), places.dtype) == ([[[[4, 5]], [[16, 17]]]], ms.int64)
    assert places.tolist() == [[[[2, 3]], [[2, 3]]]]
    values, places = run(lambda x: ops.AdaptiveMaxPool3D()(x, (2, 1, 1)), cube)
    assert (values.ravel().tolist(), places.ravel().tolist(), places.dtype) == ([31, 63], [31, 63], ms.int32)
    moved = run(ops.MaxUnpool2D(1, 1, 0, (), "NCHW"), plane[:, :1], Tensor([[[[3, 2], [1, 0]]]]))
    assert moved.ravel().tolist() == plane[:, :1].ravel().tolist()[::-1]
    shuffled = run(ops.ChannelShuffle(group=2), ops.arange(4).reshape(1, 4, 1, 1))
    assert shuffled.ravel().tolist() == [0, 2, 1, 3]
    halves = run(ops.ResizeNearestNeighbor((1, 3), False, True), Tensor([[[[1.0, 2.0]]]]))
    assert halves.ravel().tolist() == [1, 2, 2]
    s, u, v = run(ops.Svd(compute_uv=False), Tensor([[3.0, 0.0], [0.0, 2.0]]))
    assert (s.tolist(), u.tolist(), v.tolist()) == ([3, 2], [0], [0])
    assert run(ops.Lstsq(True, 0.0), Tensor([[1.0], [1.0]]), Tensor([[1.0], [3.0]])).item() == pytest.approx(2)
    assert run(ops.Bernoulli(-1), Tensor([5, 6]), Tensor(1.0)).tolist() == [1, 1]
    for wrong, piece in (
        (lambda: ops.Lstsq(l2_regularizer=0.5)(cube[0, 0, 0], cube[0, 0, 0]), "l2_regularizer=0.0"),
        (lambda: ops.MaxUnpool2D(1, 1, 0, (), "NHWC")(plane, Tensor([[[[0]]]])), "channels second"),
        (lambda: ops.AvgPool3D(2, pad=(1, 0, 0, 0, 0, 0))(cube), "padded alike"),
    ):
        with pytest.raises(ValueError, match=piece):
            wrong()


def test_classes_drawn_by_an_operator_with_a_seed(mode: int) -> None:
    weights = Tensor([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    draws = [run(lambda x, op=op: op(x, 400), weights) for op in (ops.Multinomial(7), ops.Multinomial(7, 0, ms.int64))]
    assert [d.dtype for d in draws] == [ms.int32, ms.int64]
    assert draws[0].tolist() == draws[1].tolist()  # one seed, one stream
    rows = draws[0].asnumpy()
    assert set(rows[1]) == {1} and set(rows[0]) == {0, 2}
    assert 0.6 < (rows[0] == 2).mean() < 0.9


def test_masks_of_strided_slices(mode: int) -> None:
    def cut(**masks: int) -> Any:
        op = ops.StridedSlice(**masks)
        return run(lambda x: op(x, (1, 1, 0), (2, 2, 3), (1, 1, 2)), Tensor(X)).asnumpy()

    assert cut().tolist() == X[1:2, 1:2, 0:3:2].tolist()
    assert cut(begin_mask=2).tolist() == X[1:2, :2, 0:3:2].tolist()
    assert cut(shrink_axis_mask=1, begin_mask=1).tolist() == X[0, 1:2, 0:3:2].tolist()
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
