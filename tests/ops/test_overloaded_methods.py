"""Methods of Tensor that are called in two ways, as MindSpore's and PyTorch's are; both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor
from msnb.base.errors import ArgumentError, AttributeValueError, IndexOutOfRange, ShapeError

X = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)


def test_select_takes_a_slice_or_chooses(mode: str) -> None:
    x, y = Tensor(X), Tensor(X * 10)
    run = ms.jit(lambda *args: args[0].select(*args[1:]))
    for call in (lambda *args: args[0].select(*args[1:]), run):
        assert call(x, 0, 1).tolist() == [3.0, 4.0]
        assert call(x, -1, 0).tolist() == [1.0, 3.0]
        assert call(x, Tensor([True, False]), y).tolist() == [[1.0, 20.0], [3.0, 40.0]]
        assert call(x, Tensor([[True], [False]]), 7.0).tolist() == [[1.0, 2.0], [7.0, 7.0]]
    slope = ms.grad(lambda t: t.select(Tensor([True, False]), y).sum())(x)
    assert slope.tolist() == [[1.0, 0.0], [1.0, 0.0]]


def test_unique_says_first_whether_it_sorts(mode: str) -> None:
    x = Tensor([3, 1, 3, 2])
    assert x.unique(True).tolist() == x.unique(False).tolist() == [1, 2, 3]
    values, places, counts = x.unique(True, True, True)
    assert (values.tolist(), places.tolist(), counts.tolist()) == ([1, 2, 3], [2, 0, 2, 1], [1, 1, 2])
    assert x.unique(return_counts=True)[1].tolist() == [1, 1, 2]
    assert x.unique(dim=0).tolist() == [1, 2, 3]


def test_draws_in_place_from_a_generator(mode: str) -> None:
    x, generator = Tensor(np.zeros((50, 4), np.float32)), ms.Generator()

    def drawn(fill: Any) -> Any:
        generator.manual_seed(3)
        assert fill() is x
        return x.asnumpy().copy()

    normal = drawn(lambda: x.normal_(10.0, 0.5, generator=generator))
    assert abs(normal.mean() - 10) < 0.2 and 0.3 < normal.std() < 0.7
    np.testing.assert_array_equal(drawn(lambda: x.normal_(10.0, 0.5, generator=generator)), normal)
    uniform = drawn(lambda: x.uniform_(2.0, 3.0, generator=generator))
    assert uniform.min() >= 2 and uniform.max() < 3 and uniform.std() > 0.2
    np.testing.assert_array_equal(drawn(lambda: x.uniform_(2.0, 3.0, generator=generator)), uniform)


def test_new_empty_on_a_device() -> None:
    made = Tensor(X).new_empty((2, 3), dtype=ms.int32, device="CPU")
    assert made.shape == (2, 3) and made.dtype == ms.int32


def test_places_outside_are_clipped_or_counted_on(mode: str) -> None:
    x, at = Tensor(X), Tensor([0, 5, -1])
    assert x.take(Tensor([3, 0])).tolist() == [4.0, 1.0]
    assert x.take(at, None, "clip").tolist() == [1.0, 4.0, 1.0]
    assert x.take(at, 1, mode="wrap").tolist() == [[1.0, 2.0, 2.0], [3.0, 4.0, 4.0]]
    with pytest.raises(IndexOutOfRange):
        x.take(at)
    with pytest.raises(AttributeValueError, match="take: mode is 'raise', 'clip' or 'wrap', not 'far'"):
        x.take(at, 0, "far")


def test_extremes_of_what_counts(mode: str) -> None:
    x, counts = Tensor(X), Tensor([[True, False], [True, True]])
    run = ms.jit(lambda t, c: (t.min(0, False, initial=9, where=c), t.max((0, 1), initial=-9.0, where=~c)))
    low, high = run(x, counts)
    assert low.tolist() == [1.0, 4.0] and high.tolist() == 2.0
    assert x.max(1, initial=3.5).tolist() == [3.5, 4.0]
    every = ms.jit(lambda t: (t.min(0, where=True), t.max(initial=None, where=True, return_indices=False)))(x)
    assert [t.tolist() for t in every] == [x.amin(0).tolist(), x.amax().tolist()]
    with pytest.raises(AttributeValueError, match="min: where= needs initial="):
        x.min(0, where=counts)


def test_axes_of_flatten_by_position() -> None:
    x = ms.ops.ones((2, 3, 4))
    shapes = [x.flatten(1).shape, x.flatten(0, 1).shape, x.flatten(1, end_dim=2).shape, x.flatten().shape]
    assert shapes == [(2, 12), (6, 4), (2, 12), (24,)]
    with pytest.raises(ArgumentError, match="flatten takes an order or two axes"):
        x.flatten("C", 1)


@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize("shape", [(3, 3), (7, 3), (2, 5), (3, 3, 3)])
def test_diagonals_are_filled_as_numpy_does(mode: str, shape: tuple[int, ...], wrap: bool) -> None:
    want = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    x = Tensor(want.copy())
    np.fill_diagonal(want, -5.0, wrap)
    np.testing.assert_array_equal(x.fill_diagonal(-5.0, wrap).asnumpy(), want)
    assert x.fill_diagonal_(-5.0, wrap) is x
    np.testing.assert_array_equal(x.asnumpy(), want)
    with pytest.raises(ShapeError, match="fill_diagonal takes a matrix"):
        ms.ops.ones((2, 3, 3)).fill_diagonal(1.0)


def test_scatter_takes_numbers_and_places_of_parts(mode: str) -> None:
    x, at = Tensor(X), Tensor([[0, 1]])
    want = [[7.0, 2.0], [3.0, 7.0]]
    assert x.scatter(0, at, value=7.0).tolist() == x.scatter(0, at, Tensor(7.0)).tolist() == want
    assert x.scatter(dim=0, index=at, src=Tensor([[1.0, 1.0]]), reduce="add").tolist() == [[2.0, 2.0], [3.0, 5.0]]
    assert x.scatter_add(Tensor([[0], [0]]), Tensor([[1.0, 1.0], [5.0, 5.0]])).tolist() == [[7.0, 8.0], [3.0, 4.0]]
    with pytest.raises(ArgumentError, match="scatter takes src, or a number as value"):
        x.scatter(0, at)
    assert x.scatter_(0, at, value=7.0) is x and x.tolist() == want


def test_shorter_words(mode: str) -> None:
    x = Tensor(X)
    assert x.type() == ms.float32 and x.type(ms.int32).dtype == ms.int32 and x.storage_offset() == 0
    assert [part.shape for part in ms.ops.ones((3, 2)).qr(False)] == [(3, 3), (3, 2)]
    assert [part.shape for part in ms.ops.ones((3, 2)).qr()] == [(3, 2), (2, 2)]
    both = x.nanquantile(Tensor([0.25, 0.5]), axis=0)
    np.testing.assert_allclose(both.asnumpy(), np.nanquantile(X, [0.25, 0.5], axis=0))
    drawn = ms.ops.ones((4001,)).cauchy(2.0, 3.0).asnumpy()
    assert abs(np.median(drawn) - 2) < 0.4 and abs(np.quantile(drawn, 0.75) - 5) < 0.8


def test_sum_in_numpys_order(mode: str) -> None:
    x = Tensor(X)
    for run in (lambda f: f(x), lambda f: ms.jit(f)(x)):
        assert run(lambda t: t.sum(0, ms.int32, True, 2)).tolist() == [[6, 8]]
        assert run(lambda t: t.sum(0, ms.int32, True, 2)).dtype is ms.int32
        assert run(lambda t: t.sum(axis=(0, 1), keepdims=True, initial=3)).tolist() == [[13.0]]
        assert run(lambda t: t.sum(1, True)).tolist() == [[3.0], [7.0]] == run(lambda t: t.sum(1, None, True)).tolist()
        assert run(lambda t: t.sum(dim=0, dtype=ms.float64)).dtype is ms.float64
    with pytest.raises(ArgumentError, match="each of them once"):
        x.sum(0, ms.int32, True, 2, dtype=ms.int32)


def test_windows_along_an_axis_or_of_images(mode: str) -> None:
    x = Tensor(np.arange(8.0).reshape(2, 4))
    want = np.lib.stride_tricks.sliding_window_view(x.asnumpy(), 2, 1)
    for call in (lambda t: t.unfold(1, 2, 1), lambda t: t.unfold(dimension=-1, size=2, step=1)):
        np.testing.assert_array_equal(call(x).asnumpy(), want)
        np.testing.assert_array_equal(ms.jit(call)(x).asnumpy(), want)
    assert x.unfold(0, 2, 5).shape == (1, 4, 2)
    images = ms.ops.ones((1, 2, 4, 4))
    assert images.unfold(3).shape == images.unfold(kernel_size=3, stride=1).shape == (1, 18, 4)
    assert images.unfold(dimension=2, size=3, step=1).shape == (1, 2, 2, 4, 3)
    assert images.unfold(3).fold(Tensor([4, 4]), 3)[0, 0, 1].tolist() == [2.0, 4.0, 4.0, 2.0]
    with pytest.raises(ArgumentError, match="a dimension, size and step"):
        images.unfold(2, 3, 1)
    with pytest.raises(AttributeValueError, match="windows of 5 in steps of 1"):
        x.unfold(1, 5, 1)


def test_elements_by_place_and_other_sizes(mode: str) -> None:
    x = Tensor(X)
    assert x.resize(2, 3).tolist() == [[1.0, 2.0, 3.0], [4.0, 0.0, 0.0]] and x.resize((3,)).tolist() == [1.0, 2.0, 3.0]
    assert Tensor([0, 1, 5]).choose([Tensor([1, 2, 3]), Tensor([4, 5, 6])]).tolist() == [1, 5, 6]
    assert x.get_bytes() == X.tobytes() and not x.is_pinned() and not x.is_shared()
    assert x.fills(2.5).tolist() == [[2.5, 2.5]] * 2
    assert x.__isub__(1).tolist() == [[0.0, 1.0], [2.0, 3.0]] and x.tolist() == X.tolist()
    for drawn in (x.uniform(2.0, 3.0), x.log_normal(0.0, 1e-3) + 1):
        assert drawn.shape == x.shape and ((drawn > 1.9) & (drawn < 3)).all()


def test_draws_and_places_in_place(mode: str) -> None:
    x = Tensor(np.zeros((2, 3), np.float32))
    assert x.put_(Tensor([[0], [-1]]), Tensor([5.0, 6.0])) is x and x.tolist() == [[5.0, 0.0, 0.0], [0.0, 0.0, 6.0]]
    assert x.put_(Tensor([0, 0]), Tensor([1.0, 2.0]), True)[0, 0].item() == 8.0
    wide = Tensor(np.zeros(4000, np.float32))
    assert wide.exponential_(4.0) is wide and abs(wide.mean().item() - 0.25) < 0.03 and (wide >= 0).all()
    assert abs(wide.bernoulli_(0.25).mean().item() - 0.25) < 0.05 and set(wide.tolist()) == {0.0, 1.0}
    assert set(wide.random_(2, 5).tolist()) == {2.0, 3.0, 4.0} and 2**23 < wide.random_().max().item() <= 2**24
    small = Tensor(np.zeros(500, np.int8)).random_()
    assert small.dtype is ms.int8 and small.max().item() > 100 and small.min().item() >= 0
    p = ms.Parameter(Tensor(X), name="p")
    assert p.floor_divide_(2) is p and p.tolist() == [[0.0, 1.0], [1.0, 2.0]]
    assert p.remainder_(2).tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert p.masked_scatter_(p > 0, Tensor([8.0, 9.0])).tolist() == [[0.0, 8.0], [9.0, 0.0]]
    for wrong, sentence in ((lambda: x.put_(Tensor([0]), Tensor([1.0, 2.0])), "as many elements, got 1 and 2"),
                            (lambda: x.exponential_(0.0), "lambd must be above 0"),
                            (lambda: x.random_(5, 2), "is no range")):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            wrong()


def test_places_and_axes_that_are_tensors(mode: str) -> None:
    for wrap in (ms.jit, lambda fn: fn):
        cut = wrap(lambda x, begin, size: ms.ops.slice(x, begin, size))
        assert cut(Tensor(X), Tensor([0, 1]), Tensor([2, 1])).tolist() == [[2.0], [4.0]]
        assert cut(Tensor(X), Tensor([1, 0]), Tensor([1, -1])).tolist() == [[3.0, 4.0]]
        assert wrap(lambda x, axes: ms.ops.ReduceSum()(x, axes))(Tensor(X), Tensor([0, 1])).item() == 10.0
    with pytest.raises(AttributeValueError, match="slice"):
        ms.ops.slice(Tensor(X), Tensor([0, 1]), Tensor([2, 2]))
