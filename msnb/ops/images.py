"""Pixels in other orders and other sizes: shuffles, windows as columns, resampling.

    pixel_shuffle    [n, c r r, h, w] -> [n, c, h r, w r]     channels become blocks of pixels
    unfold           [n, c, h, w] -> [n, c kh kw, windows]    every window of a convolution as a column
    fold             its adjoint: columns back at their places, summed where windows overlap
    interpolate      [n, c, ...] -> [n, c, ...]               nearest, linear, bilinear, bicubic or area

All are composed of reshapes, slices and products, so gradients, vmap and the compiler know them already. Resampling is
linear in the image and separable: one matrix [out, in] per axis, of which only a few numbers per row are not zero;
nearest reads rows by an index, the others are products of the axes with their matrices.

Source: Shi et al. 2016 (arXiv:1609.05158), Zhang et al. 2017 (arXiv:1707.01083), Keys 1981 (doi
10.1109/TASSP.1981.1163711);
https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.interpolate.html and its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import floor
from typing import Any

import numpy as np

from msnb.core.errors import AttributeValueError, ShapeError
from msnb.ops.contract import tensordot
from msnb.ops.getitem import INDEX
from msnb.ops.index import GATHER
from msnb.ops.infer import operand_lines
from msnb.ops.join import stack
from msnb.ops.operands import as_tensor
from msnb.ops.padding import PAD
from msnb.ops.poolings import averaging_matrix
from msnb.ops.rearrange import moveaxis
from msnb.ops.shape import reshape, transpose
from msnb.ops.window import IntOrPair, pair, reach

Array = np.ndarray[Any, Any]
FULL = (None, None, None)


def _images(name: str, x: Any, rank: int = 4) -> Any:
    t = as_tensor(x)
    if t.ndim != rank:
        shape = "[n, channels, height, width]" if rank == 4 else "[n, rows, windows]"
        raise ShapeError(f"{name} takes {shape}, got {t.ndim} axes.", operands=operand_lines(t._type))
    return t


def _need_factor(name: str, t: Any, axis: int, factor: int, what: str) -> None:
    if not isinstance(factor, int) or factor < 1:
        raise AttributeValueError(f"{name}: {what} is an int of at least 1, got {factor!r}.")
    if t.shape[axis] % factor:
        raise ShapeError(
            f"{name}: axis {axis} of size {t.shape[axis]} does not divide by {factor}.", operands=operand_lines(t._type)
        )


def pixel_shuffle(x: Any, upscale_factor: int) -> Any:
    """Channels become blocks of pixels: a convolution's way to a larger image.

    Args:
        x: [n, c * r * r, h, w]. upscale_factor: r.

    Returns:
        [n, c, h * r, w * r].

    Raises:
        ShapeError: not four axes, or channels that r * r does not divide.

    Source: https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.pixel_shuffle.html

    Examples:
        >>> import msnb as ms
        >>> ms.ops.pixel_shuffle(ms.ops.arange(4).reshape(1, 4, 1, 1), 2).tolist()
        [[[[0, 1], [2, 3]]]]
    """
    t, r = _images("pixel_shuffle", x), upscale_factor
    _need_factor("pixel_shuffle", t, 1, r * r if isinstance(r, int) else r, "upscale_factor squared")
    n, c, h, w = t.shape
    blocks = reshape(t, (n, c // (r * r), r, r, h, w))
    return reshape(transpose(blocks, (0, 1, 4, 2, 5, 3)), (n, c // (r * r), h * r, w * r))


def pixel_unshuffle(x: Any, downscale_factor: int) -> Any:
    """The way back: blocks of pixels become channels.

    Args:
        x: [n, c, h * r, w * r]. downscale_factor: r.

    Returns:
        [n, c * r * r, h, w].

    Examples:
        >>> import msnb as ms
        >>> ms.ops.pixel_unshuffle(ms.ops.arange(4).reshape(1, 1, 2, 2), 2).shape
        (1, 4, 1, 1)
    """
    t, r = _images("pixel_unshuffle", x), downscale_factor
    _need_factor("pixel_unshuffle", t, 2, r, "downscale_factor")
    _need_factor("pixel_unshuffle", t, 3, r, "downscale_factor")
    n, c, h, w = t.shape
    blocks = reshape(t, (n, c, h // r, r, w // r, r))
    return reshape(transpose(blocks, (0, 1, 3, 5, 2, 4)), (n, c * r * r, h // r, w // r))


def channel_shuffle(x: Any, groups: int) -> Any:
    """Channels of all groups in turn, so that the next grouped convolution sees every group.

    Args:
        x: [n, channels, ...]. groups: how many; they divide the channels.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.channel_shuffle(ms.ops.arange(4).reshape(1, 4, 1, 1), 2).reshape(4).tolist()
        [0, 2, 1, 3]
    """
    t = as_tensor(x)
    if t.ndim < 2:
        raise ShapeError("channel_shuffle takes [n, channels, ...].", operands=operand_lines(t._type))
    _need_factor("channel_shuffle", t, 1, groups, "groups")
    n, c, *rest = t.shape
    split = reshape(t, (n, groups, c // groups, *rest))
    return reshape(transpose(split, (0, 2, 1, *range(3, t.ndim + 1))), t.shape)


# ---- windows as columns ---------------------------------------------------------------------------------------------


class _Windows:
    """Where the windows of a convolution stand in an image of a known size."""

    def __init__(self, name: str, size: Sequence[int], kernel: IntOrPair, dilation: IntOrPair, padding: IntOrPair,
                 stride: IntOrPair) -> None:  # fmt: skip
        self.kernel, self.dilation = pair(name, "kernel_size", kernel), pair(name, "dilation", dilation)
        self.padding, self.stride = pair(name, "padding", padding, 0), pair(name, "stride", stride)
        self.size = tuple(s + 2 * p for s, p in zip(size, self.padding))
        spans = [reach(k, d) for k, d in zip(self.kernel, self.dilation)]
        self.steps = tuple((s - r) // t + 1 for s, r, t in zip(self.size, spans, self.stride))
        if min(self.steps) < 1:
            raise ShapeError(
                f"{name}: a window of {tuple(spans)} does not fit an image of {self.size} with its border."
            )

    def places(self) -> list[tuple[tuple[int, int, int], ...]]:
        """For every pixel of the window, row by row: the slices of the image that it sees."""
        pixels = [(i, j) for i in range(self.kernel[0]) for j in range(self.kernel[1])]
        return [tuple(self._along(a, pixel[a]) for a in (0, 1)) for pixel in pixels]

    def _along(self, axis: int, at: int) -> tuple[int, int, int]:
        first, step = at * self.dilation[axis], self.stride[axis]
        return first, first + (self.steps[axis] - 1) * step + 1, step

    def border(self, sign: int = 1) -> tuple[tuple[int, int], ...]:
        """The pads of [n, channels, height, width]."""
        return (0, 0), (0, 0), *((sign * p, sign * p) for p in self.padding)


def unfold(x: Any, kernel_size: IntOrPair, dilation: IntOrPair = 1, padding: IntOrPair = 0,
           stride: IntOrPair = 1) -> Any:  # fmt: skip
    """Every window of a convolution as a column (im2col).

    Args:
        x: [n, channels, height, width].
        kernel_size, dilation, padding, stride: of the windows; ints or (rows, columns).

    Returns:
        [n, channels * kernel rows * kernel columns, windows].

    Raises:
        ShapeError: not four axes, or a window larger than the image.

    Source: https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.unfold.html

    Examples:
        >>> import msnb as ms
        >>> ms.ops.unfold(ms.ops.ones((1, 3, 5, 5)), 3).shape
        (1, 27, 9)
    """
    t = _images("unfold", x)
    windows = _Windows("unfold", t.shape[2:], kernel_size, dilation, padding, stride)
    wide = PAD(t, pads=windows.border(), value=0) if max(windows.padding) else t
    seen = stack([INDEX(wide, spec=(FULL, FULL, *place)) for place in windows.places()], axis=2)
    n, c = t.shape[:2]
    return reshape(seen, (n, c * len(windows.places()), windows.steps[0] * windows.steps[1]))


def fold(x: Any, output_size: IntOrPair, kernel_size: IntOrPair, dilation: IntOrPair = 1, padding: IntOrPair = 0,
         stride: IntOrPair = 1) -> Any:  # fmt: skip
    """Columns of windows back into an image; where windows overlap, they are summed (col2im).

    Args:
        x: [n, channels * kernel rows * kernel columns, windows].
        output_size: of the image, an int or (rows, columns).
        kernel_size, dilation, padding, stride: as ``unfold`` took them.

    Returns:
        [n, channels, height, width].

    Raises:
        ShapeError: not three axes, or not as many rows or windows as these sizes give.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.fold(ms.ops.ones((1, 4, 4)), 3, 2).tolist()
        [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]
    """
    t = _images("fold", x, 3)
    windows = _Windows("fold", pair("fold", "output_size", output_size), kernel_size, dilation, padding, stride)
    count, steps = len(windows.places()), windows.steps
    if t.shape[1] % count or t.shape[2] != steps[0] * steps[1]:
        raise ShapeError(
            f"fold: windows of {windows.kernel} need rows in multiples of {count} and {steps[0]} x {steps[1]} windows.",
            operands=operand_lines(t._type),
        )
    n, c = t.shape[0], t.shape[1] // count
    seen = reshape(t, (n, c, count, *steps))
    out = None
    for k, place in enumerate(windows.places()):
        one = _spread(INDEX(seen, spec=(FULL, FULL, k)), windows, place)
        out = one if out is None else out + one
    return PAD(out, pads=windows.border(-1), value=0) if max(windows.padding) else out


def _spread(x: Any, windows: _Windows, place: tuple[tuple[int, int, int], ...]) -> Any:
    """One pixel of all windows at its places in an image of zeros."""
    from msnb.ops.getitem import UNINDEX

    return UNINDEX(x, spec=(FULL, FULL, *place), shape=(*x.shape[:2], *windows.size))


# ---- other sizes ----------------------------------------------------------------------------------------------------


def _sources(size: int, out: int, scale: float | None, align_corners: bool) -> Array:
    """Where the middle of every new pixel lies among the old ones (pixel 0 is at 0.0)."""
    at = np.arange(out, dtype=np.float64)
    if align_corners:
        return at * ((size - 1) / (out - 1) if out > 1 else 0.0)
    return (at + 0.5) * (size / out if scale is None else 1 / scale) - 0.5


def _spline(distance: Array, a: float = -0.75) -> Array:
    """Keys' cubic convolution kernel."""
    d = np.abs(distance)
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))


def _blend(at: Array, size: int, taps: Sequence[int], weight: Callable[[Array], Array]) -> Array:
    """The matrix [out, in] of a kernel that reads the neighbours ``taps``; beyond the border the last pixel counts."""
    matrix = np.zeros((len(at), size))
    base = np.floor(at)
    for tap in taps:
        column = np.clip(base + tap, 0, size - 1).astype(int)
        np.add.at(matrix, (np.arange(len(at)), column), weight(at - (base + tap)))
    return matrix


def _linear(size: int, out: int, scale: float | None, align_corners: bool) -> Array:
    at = np.maximum(_sources(size, out, scale, align_corners), 0.0)
    return _blend(at, size, (0, 1), lambda d: np.maximum(1 - np.abs(d), 0.0))


def _cubic(size: int, out: int, scale: float | None, align_corners: bool) -> Array:
    return _blend(_sources(size, out, scale, align_corners), size, (-1, 0, 1, 2), _spline)


def _area(size: int, out: int, scale: float | None, align_corners: bool) -> Array:
    return averaging_matrix(size, out)


_KERNELS = {"linear": _linear, "bilinear": _linear, "trilinear": _linear, "bicubic": _cubic, "area": _area}
_AXES = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def _nearest(size: int, out: int, scale: float | None, exact: bool) -> list[int]:
    step = size / out if scale is None else 1 / scale
    return [min(floor((i + 0.5 * exact) * step), size - 1) for i in range(out)]


def _new_sizes(t: Any, size: Any, scale: Any) -> list[tuple[int, float | None]]:
    """For every axis behind the channels: its new size, and the scale that was asked for."""
    axes = t.ndim - 2
    if (size is None) == (scale is None):
        raise AttributeValueError("interpolate needs either size or scale_factor.")
    said = size if scale is None else scale
    each = tuple(said) if isinstance(said, (tuple, list)) else (said,) * axes
    if len(each) != axes:
        raise AttributeValueError(f"interpolate: {len(each)} sizes for the {axes} axes behind the channels.")
    found: list[tuple[int, float | None]] = [
        (int(s), None) if scale is None else (floor(d * s), float(s)) for s, d in zip(each, t.shape[2:])
    ]
    if min(out for out, _ in found) < 1:
        raise AttributeValueError(f"interpolate: {said!r} leaves no pixel of {tuple(t.shape[2:])}.")
    return found


def interpolate(x: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest",
                align_corners: bool | None = None, recompute_scale_factor: bool | None = None) -> Any:  # fmt: skip
    """Images (or rows, or volumes) of another size.

    Args:
        x: [n, channels, ...] with one to three more axes.
        size: the new sizes: an int, or one per axis behind the channels.
        scale_factor: or how many times larger: a number, or one per axis.
        mode: "nearest", "nearest-exact", "area", "linear" (one axis), "bilinear" and "bicubic" (two axes) or
            "trilinear" (three).
        align_corners: the corners' middles stay where they are (linear and cubic modes); else the image's edges do.
        recompute_scale_factor: take the scale from the rounded sizes instead of ``scale_factor``.

    Returns:
        [n, channels, *new sizes] in x's dtype.

    Raises:
        ValueError: both or neither of size and scale_factor, an unknown mode, align_corners for a mode without.
        ShapeError: a mode for another number of axes.

    Source: https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.interpolate.html

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[[[1.0, 3.0]]]])
        >>> ms.ops.interpolate(x, size=(1, 4)).tolist(), ms.ops.interpolate(x, size=(1, 4), mode="bilinear").tolist()
        ([[[[1.0, 1.0, 3.0, 3.0]]]], [[[[1.0, 1.5, 2.5, 3.0]]]])
    """
    t = as_tensor(x)
    legal = ("nearest", "nearest-exact", *_KERNELS)
    if mode not in legal:
        raise AttributeValueError(f"interpolate: there is no mode {mode!r}; legal: {', '.join(legal)}.")
    if not 3 <= t.ndim <= 5 or _AXES.get(mode, t.ndim - 2) != t.ndim - 2:
        wants = f"{_AXES[mode]}" if mode in _AXES else "one to three"
        raise ShapeError(
            f"interpolate: mode {mode!r} takes [n, channels] and {wants} more axes.", operands=operand_lines(t._type)
        )
    if align_corners is not None and mode not in _AXES:
        raise AttributeValueError(f"interpolate: mode {mode!r} takes no align_corners; {', '.join(_AXES)} do.")
    for axis, (out, scale) in enumerate(_new_sizes(t, size, scale_factor), start=2):
        t = _resized(t, axis, out, None if recompute_scale_factor else scale, mode, bool(align_corners))
    return t


def _resized(t: Any, axis: int, out: int, scale: float | None, mode: str, align_corners: bool) -> Any:
    if mode not in _KERNELS:
        at = _nearest(t.shape[axis], out, scale, mode == "nearest-exact")
        return t if at == list(range(t.shape[axis])) else GATHER(t, as_tensor(np.array(at)), axis=axis)
    matrix = as_tensor(_KERNELS[mode](t.shape[axis], out, scale, align_corners)).astype(t.dtype)
    return moveaxis(tensordot(t, matrix, ([axis], [1])), -1, axis)


upsample = interpolate


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool = False) -> Any:
    """The points of an image that a new image of ``size`` shows under affine maps.

    Args:
        theta: [n, 2, 3], a map per image, in coordinates that go from -1 to 1.
        size: (n, channels, height, width) of the new image.
        align_corners: whether -1 and 1 are the middles of the corner pixels or their outer edges.

    Returns:
        [n, height, width, 2]: x and y for ``grid_sample``.

    Source: Jaderberg et al. 2015 (arXiv:1506.02025)

    Examples:
        >>> import msnb as ms
        >>> still = ms.Tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
        >>> ms.ops.affine_grid(still, (1, 1, 1, 2)).tolist()
        [[[[-0.5, 0.0], [0.5, 0.0]]]]
    """
    t = as_tensor(theta)
    if t.ndim != 3 or tuple(t.shape[1:]) != (2, 3) or len(size) != 4:
        raise ShapeError("affine_grid takes theta [n, 2, 3] and four sizes.", operands=operand_lines(t._type))
    rows, columns = (_unit(s, align_corners) for s in size[2:])
    points = np.stack([*np.meshgrid(columns, rows), np.ones((size[2], size[3]))], axis=-1)
    places = tensordot(as_tensor(points).astype(t.dtype), t, ([2], [2]))
    return transpose(places, (2, 0, 1, 3))


def _unit(size: int, align_corners: bool) -> Array:
    if align_corners:
        return np.linspace(-1.0, 1.0, size) if size > 1 else np.zeros(1)
    return (np.arange(size) * 2 + 1) / size - 1


def grid_sample(x: Any, grid: Any, mode: str = "bilinear", padding_mode: str = "zeros",
                align_corners: bool = False) -> Any:  # fmt: skip
    """The values of images at points between pixels.

    Args:
        x: [n, channels, height, width].
        grid: [n, rows, columns, 2], x and y from -1 to 1.
        mode: "bilinear" or "nearest".
        padding_mode: what lies outside: "zeros" or "border".
        align_corners: as ``affine_grid`` took it.

    Returns:
        [n, channels, rows, columns].

    Raises:
        ShapeError: other axes. ValueError: an unknown mode.

    Source: https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.grid_sample.html

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[[[1.0, 3.0]]]])
        >>> ms.ops.grid_sample(x, ms.Tensor([[[[0.0, 0.0]]]])).tolist()
        [[[[2.0]]]]
    """
    from msnb.ops import elementwise

    t, g = _images("grid_sample", x), as_tensor(grid)
    if g.ndim != 4 or g.shape[3] != 2 or g.shape[0] != t.shape[0]:
        raise ShapeError("grid_sample takes a grid [n, rows, columns, 2].", operands=operand_lines(t._type, g._type))
    for name, given, legal in (("mode", mode, ("bilinear", "nearest")),
                               ("padding_mode", padding_mode, ("zeros", "border"))):  # fmt: skip
        if given not in legal:
            raise AttributeValueError(f"grid_sample: {name} is {' or '.join(map(repr, legal))}, not {given!r}.")
    at = [_pixels(INDEX(g, spec=(FULL, FULL, FULL, k)), t.shape[3 - k], align_corners) for k in (1, 0)]
    if padding_mode == "border":
        at = [elementwise.minimum(elementwise.maximum(p, 0), t.shape[2 + k] - 1) for k, p in enumerate(at)]
    if mode == "nearest":
        return _read(t, [elementwise.round(p) for p in at])
    base = [elementwise.floor(p) for p in at]
    part = [p - b for p, b in zip(at, base)]
    out = None
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weight = (part[0] if i else 1 - part[0]) * (part[1] if j else 1 - part[1])
        one = _read(t, [base[0] + i, base[1] + j]) * weight.expand_dims(1)
        out = one if out is None else out + one
    return out


def _pixels(at: Any, size: int, align_corners: bool) -> Any:
    return (at + 1) * ((size - 1) / 2) if align_corners else ((at + 1) * size - 1) / 2


def _read(t: Any, at: Sequence[Any]) -> Any:
    """Pixels [n, channels, rows, columns] at whole places; zero outside of the image."""
    from msnb.ops import elementwise

    n, c, h, w = t.shape
    row, column = at
    inside = (row >= 0) & (row <= h - 1) & (column >= 0) & (column <= w - 1)
    flat = elementwise.minimum(elementwise.maximum(row, 0), h - 1) * w
    flat = (flat + elementwise.minimum(elementwise.maximum(column, 0), w - 1)).astype("int32")
    flat = flat + as_tensor(np.arange(n, dtype=np.int32) * (h * w)).reshape(n, 1, 1)
    pixels = reshape(transpose(t, (0, 2, 3, 1)), (n * h * w, c))
    found = GATHER(pixels, flat, axis=0) * inside.expand_dims(-1).astype(t.dtype)
    return transpose(found, (0, 3, 1, 2))


