"""Primitives of gradients that are the vjp of a primitive, and primitives that are short compositions. Both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor


def drawn(rng: np.random.Generator, *shape: int) -> Tensor:
    return Tensor(rng.standard_normal(shape).astype(np.float32))


def run(mode: int, fn: Any, *inputs: Any) -> Any:
    return (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(*inputs)


def test_pooling_and_convolution(mode: int, rng: np.random.Generator) -> None:
    from mindspore import ops
    from mindspore.ops.operations import _grad_ops as G

    x, w = drawn(rng, 2, 3, 6, 6), drawn(rng, 4, 3, 3, 3)
    pool, conv = ops.MaxPool(2, 2), ops.Conv2D(4, 3)
    y, z = pool(x), conv(x, w)
    dy, dz = drawn(rng, *y.shape), drawn(rng, *z.shape)
    found = run(mode, lambda x, y, dy: G.MaxPoolGrad(2, 2)(x, y, dy), x, y, dy)
    np.testing.assert_allclose(found.asnumpy(), ms.grad(lambda x: (pool(x) * dy).sum())(x).asnumpy(), rtol=1e-5)
    by_x = run(mode, lambda dz, w: ops.operations.Conv2DBackpropInput(4, 3)(dz, w, (2, 3, 6, 6)), dz, w)
    by_w = run(mode, lambda dz, x: G.Conv2DBackpropFilter(4, 3)(dz, x, (4, 3, 3, 3)), dz, x)
    wanted = ms.grad(lambda x, w: (conv(x, w) * dz).sum(), (0, 1))(x, w)
    for a, b in zip((by_x, by_w), wanted):
        np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-4)


def test_places_of_maxima(mode: int) -> None:
    from mindspore import ops

    x = Tensor(np.float32([[[[1, 9, 2, 3], [4, 5, 6, 7], [8, 0, 1, 2], [3, 4, 12, 6]]]]))
    values, places = run(mode, lambda x: ops.MaxPoolWithArgmax(2, 2)(x), x)
    assert values.tolist() == [[[[9.0, 7.0], [8.0, 12.0]]]]
    assert places.tolist() == [[[[1, 7], [8, 14]]]]
    values, places = run(mode, lambda x: ops.MaxPoolWithArgmaxV2(3, 2, 1)(x), x)
    assert values.tolist() == [[[[9.0, 9.0], [8.0, 12.0]]]]
    assert places.tolist() == [[[[1, 1], [8, 14]]]] and places.dtype is ms.int64


def test_rows_and_slices(mode: int, rng: np.random.Generator) -> None:
    from mindspore import ops
    from mindspore.ops.operations import _grad_ops as G

    dout = drawn(rng, 1, 2)
    found = run(mode, lambda d: G.StridedSliceGrad()(d, (3, 2), (1, 0), (2, 2), (1, 1)), dout)
    assert found.tolist() == [[0, 0], dout.tolist()[0], [0, 0]]
    whole, part = Tensor([[True] * 2] * 2), Tensor([[True], [False]])
    flags = run(mode, lambda d, x: G.SliceGrad()(d, x, (0, 1), (2, 1)), part, whole)
    assert flags.tolist() == [[False, True], [False, False]]
    table, ids = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([0, 1, 2, 3])
    rows = run(mode, lambda t, i: ops.EmbeddingLookup()(t, i, 1), table, ids)
    assert rows.tolist() == [[0, 0], [1, 2], [3, 4], [0, 0]]
    assert run(mode, lambda x: ops.FillDiagonal(9.0)(x), ops.zeros((3, 2))).tolist() == [[9, 0], [0, 9], [0, 0]]
    wrapped = run(mode, lambda x: ops.FillDiagonal(9.0, True)(x), ops.zeros((5, 2)))
    whole = np.zeros((5, 2), np.float32)
    np.fill_diagonal(whole, 9, wrap=True)
    assert wrapped.tolist() == whole.tolist()


@pytest.mark.parametrize("name, inputs, wanted", (
    ("DivNoNan", ([1.0, 2.0], [0.0, 4.0]), [0.0, 0.5]), ("SquaredDifference", ([3.0], [1.0]), [4.0]),
    ("Rint", ([1.5, 2.5],), [2.0, 2.0]), ("EqualCount", ([1.0, 2.0], [1.0, 3.0]), [1.0]),
    ("DropoutGrad", ([1.0, 1.0], [0.0, 1.0]), [0.0, 2.0]),
))  # fmt: skip
def test_small_ones(mode: int, name: str, inputs: Any, wanted: Any) -> None:
    from mindspore import ops

    operator = getattr(ops, name)()
    assert run(mode, lambda *xs: operator(*xs), *map(Tensor, inputs)).tolist() == wanted


def test_what_they_refuse() -> None:
    from mindspore import ops

    with pytest.raises(ValueError, match="last axis has size 1"):
        ops.Padding(4)(ops.ones((2, 2)))
    with pytest.raises(ValueError, match="equal sizes"):
        ops.FillDiagonal(1.0)(ops.ones((2, 3, 2)))
    with pytest.raises(ValueError, match="NCHW"):
        ops.MaxPoolWithArgmax(2, 2, data_format="NHWC")(ops.ones((1, 1, 4, 4)))


def test_settings_of_devices() -> None:
    from mindspore import _checkparam as validator
    from mindspore.common import np_dtype
    from mindspore.device_context.cpu.op_tuning import threads_num

    threads = ms.get_context("runtime_num_threads")
    threads_num(2)
    assert ms.get_context("runtime_num_threads") == 2
    ms.set_context(runtime_num_threads=threads)
    assert validator.check_int(3, 2, validator.GT) == 3
    assert np_dtype.bfloat16 is not None


def test_gradients_of_more_primitives(mode: int, rng: np.random.Generator) -> None:
    from mindspore import ops
    from mindspore.ops.operations import _grad_ops as G

    def check(found: Any, fn: Any, x: Tensor, dout: Tensor) -> None:
        np.testing.assert_allclose(found.asnumpy(), ms.grad(lambda t: (fn(t) * dout).sum())(x).asnumpy(), 1e-4, 1e-5)

    x, y, d = drawn(rng, 3, 5), drawn(rng, 4, 5), drawn(rng, 3, 4)
    found = run(mode, lambda d, x, y: G.CdistGrad(2.0)(d, x, y, ops.cdist(x, y)), d, x, y)
    check(found, lambda t: ops.Cdist(2.0)(t, y), x, d)
    middle = ops.Median(axis=1)
    dm = drawn(rng, 3)
    check(run(mode, lambda d, x: G.MedianGrad(axis=1)(d, x, *middle(x)), dm, x), lambda t: middle(t)[0], x, dm)
    labels, image = Tensor([1, 0, 4]), drawn(rng, 1, 2, 5, 4)
    found = run(mode, lambda d, x: G.MultiMarginLossGrad(reduction="none")(d, x, labels), dm, x)
    check(found, lambda t: ops.MultiMarginLoss(reduction="none")(t, labels), x, dm)
    near, wide = drawn(rng, 2, 3, 4), drawn(rng, 2, 3, 9)
    check(run(mode, G.ResizeLinear1DGrad("half_pixel"), wide, near),
          lambda t: ops.ResizeLinear1D("half_pixel")(t, 9), near, wide)  # fmt: skip
    for border in ("reflect", "edge", "circular"):
        bordered = drawn(rng, 1, 2, 6, 7)
        found = run(mode, lambda d, b=border: G.PadV3Grad(b)(d, (2, 1, 0, 1)), bordered)
        check(found, lambda t, b=border: ops.PadV3(b)(t, (2, 1, 0, 1)), image, bordered)
    found = run(mode, lambda d: G.MirrorPadGrad("SYMMETRIC")(d, ((1, 1), (2, 0))), drawn(rng, 5, 7))
    assert found.shape == (3, 5)
    by_x, by_w = run(mode, G.PReLUGrad(), near, near, drawn(rng, 3))
    assert by_x.shape == near.shape and by_w.shape == (3,)
    mask = Tensor(np.array([[True, False], [True, True]]))
    found = run(mode, lambda d: G.MaskedSelectGrad()(ops.zeros((2, 2)), mask, d), Tensor([1.0, 2.0, 3.0]))
    assert found.tolist() == [[1, 0], [2, 3]]
    assert run(mode, lambda d: G.TraceGrad()(d, (2, 3)), Tensor(2.0)).tolist() == [[2, 0, 0], [0, 2, 0]]
    roi = ops.ROIAlign(2, 2, 0.5, 2)
    box, dr = Tensor([[0.0, 1.0, 1.0, 5.0, 7.0]]), drawn(rng, 1, 2, 2, 2)
    check(run(mode, lambda d: G.ROIAlignGrad(2, 2, 0.5, 2)(d, box, image.shape), dr), lambda t: roi(t, box), image, dr)


def test_gradients_of_bent_windows(mode: int, rng: np.random.Generator) -> None:
    from mindspore import ops
    from mindspore.ops.operations import _grad_ops as G

    x, offsets, d = drawn(rng, 1, 2, 4, 4), drawn(rng, 1, 12, 3, 3), drawn(rng, 1, 2, 6, 6)
    attrs = {"strides": (1,) * 4, "pads": (0,) * 4}
    found = run(mode, lambda d, x, o: G.DeformableOffsetsGrad(kernel_size=(2, 2), **attrs)(d, x, o), d, x, offsets)
    bend = ops.operations.nn_ops.DeformableOffsets(ksize=(2, 2), **attrs)
    for have, want in zip(found, ms.grad(lambda x, o: (bend(x, o) * d).sum(), (0, 1))(x, offsets)):
        np.testing.assert_allclose(have.asnumpy(), want.asnumpy(), 1e-4, 1e-5)


def test_functions_of_operator_classes(mode: int) -> None:
    from mindspore import ops
    from mindspore.ops.function.math_func import approximate_equal

    assert run(mode, lambda x: ops.padding(x, 3), Tensor([[1.0], [2.0]])).tolist() == [[1, 0, 0], [2, 0, 0]]
    values, places = run(mode, lambda x: ops.unique_with_pad(x, 8), Tensor(np.int32([3, 1, 3, 2])))
    assert (values.tolist(), places.tolist()) == ([3, 1, 2, 8], [0, 1, 0, 2])
    a, b, w = (np.arange(float(np.prod(shape))).reshape(shape) for shape in ((2, 3), (2, 4), (5, 3, 4)))
    wanted = np.einsum("na,oab,nb->no", a, w, b) + np.arange(5.0)
    found = run(mode, ops.bidense, *map(Tensor, (a, b, w, np.arange(5.0))))
    np.testing.assert_allclose(found.asnumpy(), wanted)
    assert run(mode, lambda x: ops.expand(x, Tensor([2, 3])), Tensor([[1], [2]])).tolist() == [[1] * 3, [2] * 3]
    assert run(mode, lambda x, y: approximate_equal(x, y, 0.2), Tensor([1.0, 2.0]), Tensor([1.1, 3.0])).tolist() == \
        [True, False]  # fmt: skip


def test_gradients_of_choices_and_of_resizing(mode: int) -> None:
    from mindspore.ops import auto_generate as G

    x, y, d, e = (Tensor(np.float32(v)) for v in ([1, 2, 4, 5], [2, 4, 3, 5], [1, 2, 3, 4], [10, 20, 30, 40]))
    for attrs in ((), (True, False)):
        found = run(mode, lambda x, y, d: G.MinimumGrad(*attrs)(x, y, d), x, y, d)
        assert [v.tolist() for v in found] == [[1, 2, 0, 2], [0, 0, 3, 2]]
        found = run(mode, lambda x, y, d, e: G.MaximumGradGrad(*attrs)(x, y, d, e), x, y, d, e)
        assert [v.tolist() for v in found] == [[0] * 4, [0] * 4, [10, 20, 3, 4]]
    slopes = run(mode, lambda d, x: G.FastGeLUGrad()(d, x), d, x)
    np.testing.assert_allclose(slopes.asnumpy(), [1.06778, 2.14763, 3.0192, 4.00605], rtol=1e-4)
    image = Tensor(np.arange(12, dtype=np.float32).reshape(1, 1, 3, 4))
    for sides, sums in (((False, False), [[10, 18], [17, 21]]), ((True, False), [[1, 5], [26, 34]])):
        found = run(mode, lambda d: G.ResizeNearestNeighborV2Grad(*sides)(d, (2, 2)), image)
        assert found.tolist() == [[sums]]


def test_names_of_generated_operators(mode: int) -> None:
    from mindspore import ops
    from mindspore.ops.auto_generate import contiguous, copy
    from mindspore.ops.operations.manually_defined import scalar_add, scalar_bool, shape_

    x = Tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    assert copy(x).tolist() == contiguous(x).tolist() == x.tolist() and copy(x) is not x
    assert shape_(x) == (3, 2) and scalar_add(1, 2) == 3 and scalar_bool(2) is True
    for whole, shapes in ((True, [(3, 3), (3, 2)]), (False, [(3, 2), (2, 2)])):
        assert [v.shape for v in ops.Qr(whole)(x)] == shapes
    op = ops.Cast()
    op.set_user_data("note", x)
    assert op.get_user_data("note") is x
    with pytest.raises(KeyError, match="other"):
        op.get_user_data("other")


@pytest.mark.parametrize("name, filled", [("new_zeros", 0), ("new_ones", 1)])
def test_new_tensors_with_a_dtype_in_second_place(mode: int, name: str, filled: int) -> None:
    found = getattr(Tensor([1.0]), name)((2, 1), ms.float16)
    assert found.tolist() == [[filled], [filled]] and found.dtype is ms.float16
    assert getattr(Tensor([1.0]), name)(2, 1).dtype is ms.float32


@pytest.mark.parametrize("p", [0.0, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_cdist_from_distances_that_are_known(mode: int, rng: np.random.Generator, p: float) -> None:
    from mindspore import ops
    from mindspore.ops.auto_generate import CdistGrad

    a, b, dout = drawn(rng, 3, 4), drawn(rng, 2, 4), drawn(rng, 3, 2)
    b[0] = a[1]
    found = run(mode, CdistGrad(p), dout, a, b, ops.cdist(a, b, p))
    wanted = ms.grad(lambda a: (ops.cdist(a, b, p) * dout).sum())(a)
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-4, atol=1e-5)
    halved = run(mode, CdistGrad(3.0), dout, a, b, 2 * ops.cdist(a, b, 3.0))
    wanted = ms.grad(lambda a: (ops.cdist(a, b, 3.0) * dout).sum())(a)
    np.testing.assert_allclose(halved.asnumpy(), wanted.asnumpy() / 4, rtol=1e-4, atol=1e-5)


def test_whole_numbers_are_spread(mode: int) -> None:
    from mindspore.ops.operations import _grad_ops as G

    dy = ms.ops.arange(16).astype(ms.int32).reshape(1, 1, 4, 4)
    found = run(mode, lambda dy: G.ResizeNearestNeighborGrad(True)(dy, (2, 2)), dy)
    assert (found.tolist(), found.dtype) == ([[[[10, 18], [42, 50]]]], ms.int32)
