"""Pooling against loops written by hand; ties, NaN, padding, ceil_mode, adaptive windows, lanes of vmap."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.ops.spatial.pooling_records import AVG_POOL2D, AVG_POOL2D_GRAD, MAX_POOL2D, MAX_POOL2D_GRAD

Array = np.ndarray[Any, Any]


def windows(size: int, kernel: int, stride: int, before: int, after: int, ceil: bool) -> list[tuple[int, int]]:
    """(start, stop) of every window, in positions of the data."""
    count = (math.ceil if ceil else math.floor)((size + before + after - kernel) / stride) + 1
    starts = [i * stride - before for i in range(count)]
    return [(s, s + kernel) for s in starts if not ceil or s < size]


def by_hand(x: Array, kind: str, kernel: Any, stride: Any, pads: Any, ceil_mode: bool, include: bool = True) -> Array:
    rows = windows(x.shape[2], kernel[0], stride[0], pads[0], pads[1], ceil_mode)
    columns = windows(x.shape[3], kernel[1], stride[1], pads[2], pads[3], ceil_mode)
    y = np.zeros((*x.shape[:2], len(rows), len(columns)))
    for (i, (a, b)), (j, (c, d)) in itertools.product(enumerate(rows), enumerate(columns)):
        seen = x[:, :, max(a, 0) : b, max(c, 0) : d]
        if kind == "max":
            y[:, :, i, j] = seen.max((2, 3))
        else:
            high, wide = x.shape[2] + pads[1], x.shape[3] + pads[3]
            counted = (min(b, high) - a) * (min(d, wide) - c) if include else seen.shape[2] * seen.shape[3]
            y[:, :, i, j] = seen.sum((2, 3)) / counted
    return y


def draw_attrs(rng: np.random.Generator) -> dict[str, Any]:
    kernel = tuple(int(v) for v in rng.integers(1, 4, 2))
    pads = tuple(int(rng.integers(0, k)) for k in (kernel[0], kernel[0], kernel[1], kernel[1]))
    stride = tuple(int(v) for v in rng.integers(1, 4, 2))
    return {"kernel": kernel, "stride": stride, "pads": pads, "ceil_mode": bool(rng.integers(2))}


def test_any_window_gives_what_loops_give(rng: np.random.Generator) -> None:
    for _ in range(60):
        attrs = draw_attrs(rng)
        x = rng.standard_normal((2, 3, *rng.integers(4, 9, 2)))
        np.testing.assert_array_equal(MAX_POOL2D(x, **attrs).asnumpy(), by_hand(x, "max", **attrs), err_msg=str(attrs))
        for include in (True, False):
            got = AVG_POOL2D(x, count_include_pad=include, **attrs).asnumpy()
            np.testing.assert_allclose(got, by_hand(x, "avg", **attrs, include=include), atol=1e-12, err_msg=str(attrs))


def test_the_mean_and_its_gradient_are_transposes(rng: np.random.Generator) -> None:
    for _ in range(40):
        attrs = {**draw_attrs(rng), "count_include_pad": bool(rng.integers(2))}
        x = rng.standard_normal((2, 3, 7, 6))
        y = AVG_POOL2D(x, **attrs).asnumpy()
        dy = rng.standard_normal(y.shape)
        dx = AVG_POOL2D_GRAD(dy, size=(7, 6), **attrs).asnumpy()
        np.testing.assert_allclose((dx * x).sum(), (dy * y).sum(), atol=1e-10, err_msg=str(attrs))


def test_a_tie_goes_to_the_first_and_every_window_pays_once() -> None:
    x = np.ones((1, 1, 4, 4))
    attrs = {"kernel": (2, 2), "stride": (2, 2)}
    y = MAX_POOL2D(x, **attrs)
    dx = MAX_POOL2D_GRAD(x, y, np.ones((1, 1, 2, 2)), **attrs).asnumpy()
    assert dx[0, 0].tolist() == [[1, 0, 1, 0], [0, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]


def test_nan_wins_and_keeps_its_gradient() -> None:
    x = np.array([[[[1.0, np.nan], [3.0, 2.0]]]])
    y = MAX_POOL2D(x, kernel=(2, 2), stride=(2, 2))
    assert np.isnan(y.asnumpy()).all()
    dx = MAX_POOL2D_GRAD(x, y, np.ones((1, 1, 1, 1)), kernel=(2, 2), stride=(2, 2)).asnumpy()
    assert dx.sum() == 1.0


def test_padding_never_wins() -> None:
    assert ops.max_pool2d(-ops.ones((1, 1, 2, 2)), 3, 1, "same").tolist() == [[[[-1.0, -1.0], [-1.0, -1.0]]]]


def test_same_never_counts_padding() -> None:
    assert ops.avg_pool2d(ops.ones((1, 1, 3, 3)), 2, 2, "same").tolist() == [[[[1.0, 1.0], [1.0, 1.0]]]]


@pytest.mark.parametrize("size, out", [((6, 8), (3, 2)), ((7, 5), (3, 4)), ((5, 5), (1, None)), ((3, 3), (5, 7))])
def test_adaptive_windows_cover_the_image(rng: np.random.Generator, size: Any, out: Any) -> None:
    x = rng.standard_normal((2, 3, *size))
    got = ops.adaptive_avg_pool2d(ms.Tensor(x), out).asnumpy()
    h, w = (size[0] if out[0] is None else out[0]), (size[1] if out[1] is None else out[1])
    for i, j in itertools.product(range(h), range(w)):
        rows = slice(i * size[0] // h, -(-(i + 1) * size[0] // h))
        columns = slice(j * size[1] // w, -(-(j + 1) * size[1] // w))
        np.testing.assert_allclose(got[:, :, i, j], x[:, :, rows, columns].mean((2, 3)), atol=1e-12)


def test_rows_of_samples(rng: np.random.Generator) -> None:
    x = rng.standard_normal((2, 3, 8))
    np.testing.assert_array_equal(ops.max_pool1d(x, 2).asnumpy(), x.reshape(2, 3, 4, 2).max(-1))
    np.testing.assert_allclose(ops.avg_pool1d(x, 2).asnumpy(), x.reshape(2, 3, 4, 2).mean(-1))
    np.testing.assert_allclose(ops.adaptive_avg_pool1d(x, 2).asnumpy(), x.reshape(2, 3, 2, 4).mean(-1))


@pytest.mark.parametrize("fn", [ops.max_pool2d, ops.avg_pool2d])
def test_vmap_is_a_loop_over_lanes(rng: np.random.Generator, fn: Any) -> None:
    x = ms.Tensor(rng.standard_normal((3, 2, 2, 6, 6)))
    loss = lambda t: (fn(t, 3, 2) ** 2).sum()
    got = ms.vmap(ms.grad(loss))(x).asnumpy()
    np.testing.assert_allclose(got, np.stack([ms.grad(loss)(x[i]).asnumpy() for i in range(3)]), atol=1e-12)


def test_second_order_of_the_maximum(rng: np.random.Generator) -> None:
    x = ms.Tensor(rng.permutation(32).reshape(1, 2, 4, 4) / 4.0)
    outer = lambda t: (ms.grad(lambda u: (ops.max_pool2d(u, 2) ** 3).sum())(t) ** 2).sum()
    got = ms.grad(outer)(x).asnumpy()
    winners = ops.max_pool2d(x, 2).asnumpy()
    assert (got != 0).sum() == (winners != 0).sum()
    np.testing.assert_allclose(np.sort(got[got != 0]), np.sort(36 * winners[winners != 0].ravel() ** 3), rtol=1e-10)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda x: ops.max_pool2d(x, 9), "the window spans 9 rows"),
        (lambda x: ops.max_pool2d(x, 2, padding=2), "must be smaller than the window"),
        (lambda x: ops.max_pool2d(x[0], 2), "needs x of four axes"),
        (lambda x: ops.max_pool2d(x, 0), "kernel_size must be an int or two ints of at least 1"),
        (lambda x: ops.adaptive_avg_pool2d(x, 0), "output_size must be"),
        (lambda x: ops.max_pool1d(x, 2), "needs x of three axes"),
    ],
)
def test_refusals(call: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call(ops.ones((1, 2, 6, 6)))
    assert sentence in str(caught.value)


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_windows_larger_than_the_image_and_more_results_than_elements(level: str) -> None:
    """PyTorch's numbers: a window that hangs over the end counts what there is, an element may be in many windows."""
    x = ms.Tensor(np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4))
    mean = ms.jit(lambda x: ops.avg_pool2d(x, 2560, ceil_mode=True), jit_level=level)
    most = ms.jit(lambda x: ops.max_pool2d(x, (9, 2), (9, 2), ceil_mode=True), jit_level=level)
    assert (mean(x).item(), most(x).ravel().tolist()) == (7.5, [13, 15])
    assert ops.avg_pool2d(x, 5, padding=1, ceil_mode=True).ravel()[0].item() == pytest.approx(120 / 25)
    wide = ms.jit(lambda x: ops.adaptive_avg_pool2d(x, (2, 3)), jit_level=level)(x[:, :, :1, :1] + 5)
    assert wide.tolist() == [[[[5, 5, 5], [5, 5, 5]]]]
    slope = ms.grad(lambda x: ops.adaptive_avg_pool2d(x, (2, 3)).sum())(x[:, :, :1, :1])
    assert slope.item() == 6
