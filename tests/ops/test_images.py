"""Shuffles, windows as columns, resampling: against loops over pixels, in both modes; derivatives; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from tests.gradient_check import check_grads

Array = np.ndarray[Any, Any]


def drawn(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape)


def test_shuffles_move_every_pixel_once(mode: int, rng: np.random.Generator) -> None:
    x = drawn(rng, 2, 12, 3, 5)
    wide = ops.pixel_shuffle(ms.Tensor(x), 2).asnumpy()
    for c, i, j in np.ndindex(3, 6, 10):
        np.testing.assert_array_equal(wide[:, c, i, j], x[:, c * 4 + (i % 2) * 2 + j % 2, i // 2, j // 2])
    np.testing.assert_array_equal(ops.pixel_unshuffle(ms.Tensor(wide), 2).asnumpy(), x)
    mixed = ops.channel_shuffle(ms.Tensor(x), 3).asnumpy()
    np.testing.assert_array_equal(mixed, x[:, [k // 3 + k % 3 * 4 for k in range(12)]])


KINDS = [((3, 2), (1, 2), (1, 0), (2, 1)), (2, 1, 0, 1), ((1, 3), 1, (0, 2), 2)]


@pytest.mark.parametrize("kernel, dilation, padding, stride", KINDS)
def test_windows_as_columns_make_a_convolution(
    mode: int, rng: np.random.Generator, kernel: Any, dilation: Any, padding: Any, stride: Any
) -> None:
    x, pair = drawn(rng, 2, 3, 7, 6), kernel if isinstance(kernel, tuple) else (kernel, kernel)
    weight = drawn(rng, 4, 3, *pair)
    pads = padding if isinstance(padding, tuple) else (padding, padding)
    image = ops.conv2d(
        ms.Tensor(x), ms.Tensor(weight), None, stride, "pad", (pads[0], pads[0], pads[1], pads[1]), dilation
    )
    columns = ops.unfold(ms.Tensor(x), kernel, dilation, padding, stride)
    made = weight.reshape(4, -1) @ columns.asnumpy()
    np.testing.assert_allclose(made.reshape(image.shape), image.asnumpy(), rtol=1e-10, atol=1e-10)
    # fold is the adjoint of unfold: <unfold x, y> = <x, fold y>
    y = drawn(rng, *columns.shape)
    back = ops.fold(ms.Tensor(y), (7, 6), kernel, dilation, padding, stride).asnumpy()
    np.testing.assert_allclose((columns.asnumpy() * y).sum(), (x * back).sum(), rtol=1e-9, atol=1e-9)


def line(values: Array, at: float) -> float:
    """A value between two neighbours; beyond the ends the ends."""
    at = min(max(at, 0.0), len(values) - 1.0)
    low = min(int(at), len(values) - 1)
    high = min(low + 1, len(values) - 1)
    return float(values[low] + (values[high] - values[low]) * (at - low))


def test_nearest_and_linear_read_between_pixels(mode: int, rng: np.random.Generator) -> None:
    x = drawn(rng, 5)
    row = ms.Tensor(x.reshape(1, 1, 5))

    def asked(**options: Any) -> Array:
        return ops.interpolate(row, **options).asnumpy()[0, 0]

    np.testing.assert_array_equal(asked(size=8), x[[i * 5 // 8 for i in range(8)]])
    np.testing.assert_array_equal(asked(size=3, mode="nearest-exact"), x[[0, 2, 4]])
    np.testing.assert_allclose(asked(size=8, mode="linear"), [line(x, (i + 0.5) * 5 / 8 - 0.5) for i in range(8)])
    np.testing.assert_allclose(asked(size=9, mode="linear", align_corners=True), [line(x, i / 2) for i in range(9)])
    scaled = [line(x, (i + 0.5) / 1.7 - 0.5) for i in range(8)]
    np.testing.assert_allclose(asked(scale_factor=1.7, mode="linear"), scaled)
    rounded = [line(x, (i + 0.5) * 5 / 8 - 0.5) for i in range(8)]
    np.testing.assert_allclose(asked(scale_factor=1.7, mode="linear", recompute_scale_factor=True), rounded)
    np.testing.assert_allclose(asked(size=2, mode="area"), [x[:3].mean(), x[2:].mean()])


def test_axes_are_resampled_one_by_one(mode: int, rng: np.random.Generator) -> None:
    x = ms.Tensor(drawn(rng, 2, 3, 4, 5))
    both = ops.interpolate(x, size=(7, 3), mode="bilinear").asnumpy()
    rows = ops.interpolate(x.reshape(6, 4, 5).swapaxes(1, 2), size=7, mode="linear").swapaxes(1, 2)
    np.testing.assert_allclose(both, ops.interpolate(rows, size=3, mode="linear").reshape(2, 3, 7, 3).asnumpy())
    cubic = ops.interpolate(x, scale_factor=2, mode="bicubic")
    assert cubic.shape == (2, 3, 8, 10)
    flat = ops.interpolate(ops.ones((1, 1, 4, 4)), size=(9, 2), mode="bicubic").asnumpy()
    np.testing.assert_allclose(flat, 1, rtol=1e-6)  # the weights of a spline add up to one
    assert ops.interpolate(x.expand_dims(0), size=(2, 2, 9), mode="trilinear").shape == (1, 2, 2, 2, 9)
    half = ops.interpolate(x.astype(ms.float16), scale_factor=2.0, mode="bilinear")
    assert half.dtype is ms.float16


def test_a_grid_shows_the_image_as_it_is(mode: int, rng: np.random.Generator) -> None:
    x = ms.Tensor(drawn(rng, 2, 3, 4, 5))
    still = ms.Tensor(np.broadcast_to(np.float64([[1, 0, 0], [0, 1, 0]]), (2, 2, 3)).copy())
    turned = ms.Tensor(np.broadcast_to(np.float64([[-1, 0, 0], [0, 1, 0]]), (2, 2, 3)).copy())
    for corners in (False, True):
        for how in ("bilinear", "nearest"):
            grid = ops.affine_grid(still, (2, 3, 4, 5), corners)
            same = ops.grid_sample(x, grid, how, "border", align_corners=corners)
            np.testing.assert_allclose(same.asnumpy(), x.asnumpy(), atol=1e-12)
            mirrored = ops.grid_sample(x, ops.affine_grid(turned, (2, 3, 4, 5), corners), how, "border", corners)
            np.testing.assert_allclose(mirrored.asnumpy(), x.asnumpy()[..., ::-1], atol=1e-12)
    far = ops.full((2, 1, 1, 2), 3.0, dtype=ms.float64)
    assert not ops.grid_sample(x, far).asnumpy().any()
    corner = ops.grid_sample(x, far, padding_mode="border").asnumpy()
    np.testing.assert_array_equal(corner[..., 0, 0], x.asnumpy()[..., -1, -1])
    between = ms.Tensor(np.float64([[[[0.1, -0.2]]]]))
    check_grads(lambda image, grid: ops.grid_sample(image, grid), [drawn(rng, 1, 2, 3, 4), between.asnumpy()])


def test_a_grid_has_no_slope_where_the_image_ends(mode: int) -> None:
    x = ms.Tensor(np.arange(1.0, 7.0).reshape(1, 1, 2, 3))
    grid = ms.Tensor(np.float64([[[[-1, 1], [1, 0], [0.5, -1], [1.5, -1.5]]]]))
    slope = ms.grad(lambda g: ops.grid_sample(x, g, "bilinear", "border", True).sum())
    found = (ms.jit(slope) if mode == ms.GRAPH_MODE else slope)(grid)
    np.testing.assert_allclose(found.asnumpy(), [[[[0, 0], [0, 1.5], [1, 0], [0, 0]]]])


def test_a_grid_takes_points_that_are_no_numbers(mode: int) -> None:
    x = ms.Tensor(np.arange(1.0, 10.0).reshape(1, 1, 3, 3))
    nan, inf = np.nan, np.inf
    grid = ms.Tensor(np.float64([[[[nan, 0], [0, nan], [inf, 0], [-inf, 0], [0, 1e300]]]]))

    def sampled(how: str, padding: str) -> list[float]:
        program = lambda x, grid: ops.grid_sample(x, grid, how, padding)
        return (ms.jit(program) if mode == ms.GRAPH_MODE else program)(x, grid).asnumpy().ravel().tolist()

    for how in ("bilinear", "nearest"):
        assert sampled(how, "zeros") == [0, 0, 0, 0, 0]
        assert sampled(how, "border") == [6, 8, 6, 4, 8]
        assert sampled(how, "reflection")[:4] == [6, 8, 6, 6]
    slope = ms.grad(lambda x: ops.grid_sample(x, grid).sum())(x)
    assert not slope.asnumpy().any()


def test_derivatives(rng: np.random.Generator) -> None:
    check_grads(lambda x: ops.unfold(x, 2, 1, 1, 2), [drawn(rng, 1, 2, 3, 4)])
    check_grads(lambda x: ops.fold(x, (4, 4), 2, 1, 0, 2), [drawn(rng, 1, 8, 4)])
    check_grads(lambda x: ops.interpolate(x, size=(5, 2), mode="bicubic"), [drawn(rng, 1, 2, 3, 4)])
    check_grads(lambda x: ops.interpolate(x, scale_factor=1.5), [drawn(rng, 1, 2, 3, 4)])
    check_grads(lambda x: ops.pixel_shuffle(x, 2), [drawn(rng, 1, 4, 2, 3)])


def test_layers(mode: int, rng: np.random.Generator) -> None:
    x = drawn(rng, 1, 4, 3, 5).astype(np.float32)
    t = ms.Tensor(x)
    sides = (1, 2, 0, 1)
    borders = [
        (nn.ZeroPad2d(sides), {"mode": "constant"}), (nn.ReflectionPad2d(sides), {"mode": "reflect"}),
        (nn.ReplicationPad2d(sides), {"mode": "edge"}),
        (nn.ConstantPad2d(sides, 2.5), {"mode": "constant", "constant_values": 2.5}),
    ]  # fmt: skip
    for layer, how in borders:
        np.testing.assert_array_equal(layer(t).asnumpy(), np.pad(x, ((0, 0), (0, 0), (0, 1), (1, 2)), **how))
    for layer, how in ((nn.ReflectionPad1d(2), "reflect"), (nn.ReplicationPad1d((2, 2)), "edge")):
        np.testing.assert_array_equal(layer(t[0]).asnumpy(), np.pad(x[0], ((0, 0), (0, 0), (2, 2)), mode=how))
    for layer in (nn.ConstantPad2d((0, 1), 2.5), nn.ConstantPad3d((0, 1), 2.5)):  # the last axis alone
        wide = np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 1)), constant_values=2.5)
        np.testing.assert_array_equal(layer(t).asnumpy(), wide)
    for wrong in ((1,), (1, 2, 3), (1, 2, 3, 4, 5, 6), ()):
        with pytest.raises(ValueError, match="ZeroPad2d: padding is an int or"):
            nn.ZeroPad2d(wrong)
    assert nn.ConstantPad1d(1, 3.0)(t).asnumpy()[0, 0, 0, 0] == 3.0
    net = nn.SequentialCell(nn.PixelShuffle(2), nn.Upsample(scale_factor=2), nn.PixelUnshuffle(4), nn.ChannelShuffle(4))
    assert net(t).shape == (1, 16, 3, 5)


def test_refusals() -> None:
    x = ops.ones((1, 4, 3, 3))
    refused = [
        (lambda: ops.pixel_shuffle(x, 3), "axis 1 of size 4 does not divide by 9"),
        (lambda: ops.pixel_shuffle(x[0, 0], 2), r"takes \[n, channels, height, width\]"),
        (lambda: ops.channel_shuffle(x, 0), "groups is an int of at least 1"),
        (lambda: ops.unfold(x, 5), "does not fit an image"),
        (lambda: ops.fold(ops.ones((1, 4, 5)), 3, 2), "2 x 2 windows"),
        (lambda: ops.interpolate(x), "either size or scale_factor"),
        (lambda: ops.interpolate(x, size=2, mode="cubic"), "there is no mode 'cubic'"),
        (lambda: ops.interpolate(x, size=2, mode="linear"), "mode 'linear' takes"),
        (lambda: ops.interpolate(x, size=2, align_corners=True), "takes no align_corners"),
        (lambda: ops.interpolate(x, scale_factor=0.1), "leaves no pixel"),
        (lambda: ops.grid_sample(x, ops.ones((1, 2, 2, 3))), r"a grid \[n, rows, columns, 2\]"),
        (lambda: ops.grid_sample(x, ops.ones((1, 2, 2, 2)), "cubic"), "mode is 'bilinear' or 'nearest'"),
        (lambda: nn.ZeroPad2d((1, 2, 3)), "padding is an int or"),
    ]
    for call, said in refused:
        with pytest.raises(ValueError, match=said):
            call()


@pytest.mark.parametrize("mode_of", ["bilinear", "bicubic", "area"])
def test_blended_pixels_are_floats(mode: Any, mode_of: str) -> None:
    x = np.arange(9).reshape(1, 1, 3, 3)
    for kind in (ms.int32, ms.uint8):
        with pytest.raises(TypeError, match="floating-point"):
            ops.interpolate(ms.Tensor(x, kind), (5, 5), mode=mode_of)
        for resize in (ops.resize_bilinear, ops.resize_bicubic):
            with pytest.raises(TypeError, match="floating-point"):
                resize(ms.Tensor(x, kind), (5, 5))
            assert resize(ms.Tensor(x, ms.float16), (5, 5)).dtype is ms.float16
    want = ops.interpolate(ms.Tensor(x, ms.float32), (5, 7), mode=mode_of).asnumpy()
    for kind in (ms.float16, ms.bfloat16):
        found = ms.jit(lambda t: ops.interpolate(t, (5, 7), mode=mode_of))(ms.Tensor(x, kind))
        assert found.dtype is kind
        np.testing.assert_array_equal(found.asnumpy(), ms.Tensor(want).astype(kind).asnumpy())
