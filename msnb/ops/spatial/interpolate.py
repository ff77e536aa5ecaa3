"""Images of other sizes and under other maps: values between pixels.

    interpolate      [n, c, ...] -> [n, c, ...]     nearest, linear, bilinear, trilinear, bicubic or area
    affine_grid      maps [n, 2, 3] -> points       where the pixels of a new image lie in the old one
    grid_sample      image, points -> image         the values there

Resampling is linear in the image and separable: one matrix [out, in] per axis, of which only a few numbers per row are
not zero. Nearest reads rows by an index, the others are products of the axes with their matrices; so gradients, vmap
and the compiler know them already.

Source: Keys 1981 (doi 10.1109/TASSP.1981.1163711), Jaderberg et al. 2015 (arXiv:1506.02025);
`mindspore.ops.interpolate` and its neighbours
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from math import floor
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor, float32, keep_calls
from msnb.ops.definition import as_ints, as_tensor, need_float, operand_lines
from msnb.ops.elementwise import arithmetic, identity, where
from msnb.ops.indexing.gather import GATHER
from msnb.ops.indexing.rearrange import moveaxis
from msnb.ops.linalg.matmul import tensordot
from msnb.ops.shape import INDEX, reshape, transpose
from msnb.ops.spatial.pooling import averaging_matrix

__all__ = ["affine_grid", "grid_sample", "interpolate", "upsample"]

Array = np.ndarray[Any, Any]
FULL = (None, None, None)


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


def linear_matrix(at: Array, size: int) -> Array:
    """The matrix [out, in] of values at these places, by straight lines between ``size`` pixels."""
    return _blend(np.maximum(at, 0.0), size, (0, 1), lambda d: np.maximum(1 - np.abs(d), 0.0))


def cubic_matrix(at: Array, size: int, inside: bool) -> Array:
    """The matrix [out, in] of values at these places by cubics; ``inside``: only pixels of the image have weights.

    Distances are rounded to 1024ths, as MindSpore and TensorFlow have them in a table.
    """
    at = np.floor(at) + np.rint((at - np.floor(at)) * 1024) / 1024
    if not inside:
        return _blend(at, size, (-1, 0, 1, 2), _spline)
    weights = _spline(at[:, None] - np.arange(size), -0.5)
    found: Array = weights / weights.sum(1, keepdims=True)
    return found


def _linear(size: int, out: int, scale: float | None, align_corners: bool) -> Array:
    return linear_matrix(_sources(size, out, scale, align_corners), size)


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
    each = as_ints("interpolate", each) if scale is None else each
    # the scale is kept beside the size: positions follow it, and not the rounded size
    found: list[tuple[int, float | None]] = [
        (s, None) if scale is None else (floor(d * s), float(s)) for s, d in zip(each, t.shape[2:])
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
        ShapeError: a mode for another number of axes. TypeError: a mode that blends pixels, of integers.

    Source: `mindspore.ops.interpolate`

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
    kind = t.dtype
    if mode in _KERNELS:
        need_float(f"interpolate with mode {mode!r}", t._type)
        t = t.astype(float32) if kind.itemsize < 4 else t  # weights of half precision round twice
    # the kernels are products over axes, so one axis after the other is resized
    for axis, (out, scale) in enumerate(_new_sizes(t, size, scale_factor), start=2):
        t = _resized(t, axis, out, None if recompute_scale_factor else scale, mode, bool(align_corners))
    return t if t.dtype is kind else t.astype(kind)


def _resized(t: Any, axis: int, out: int, scale: float | None, mode: str, align_corners: bool) -> Any:
    if mode not in _KERNELS:
        at = _nearest(t.shape[axis], out, scale, mode == "nearest-exact")
        return identity(t) if at == list(range(t.shape[axis])) else GATHER(t, as_tensor(np.array(at)), axis=axis)
    matrix = as_tensor(_KERNELS[mode](t.shape[axis], out, scale, align_corners)).astype(t.dtype)
    return moveaxis(tensordot(t, matrix, ([axis], [1])), -1, axis)


upsample = interpolate


def affine_grid(theta: Any, size: Sequence[int], align_corners: bool = False) -> Tensor:
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
    """The values of images, or volumes, at points between pixels.

    Args:
        x: [n, channels, height, width] or [n, channels, depth, height, width].
        grid: [n, rows, columns, 2], x and y from -1 to 1; of volumes [n, layers, rows, columns, 3]: x, y and z.
        mode: "bilinear" or "nearest".
        padding_mode: what lies outside: "zeros"; "border": the nearest pixel; "reflection": the image, mirrored.
        align_corners: as ``affine_grid`` took it.

    Returns:
        [n, channels, rows, columns] or [n, channels, layers, rows, columns].

    Raises:
        ShapeError: other axes. ValueError: an unknown mode.

    Source: `mindspore.ops.grid_sample`

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[[[1.0, 3.0]]]])
        >>> ms.ops.grid_sample(x, ms.Tensor([[[[0.0, 0.0]]]])).tolist()
        [[[[2.0]]]]
    """
    t, g = as_tensor(x), as_tensor(grid)
    _need_sampling(t, g, mode, padding_mode)
    axes = t.ndim - 2
    sizes = t.shape[2:]
    at = [_pixels(INDEX(g, spec=(*(FULL,) * (axes + 1), axes - 1 - k)), size, align_corners)
          for k, size in enumerate(sizes)]  # fmt: skip
    if padding_mode == "reflection":
        at = [_mirrored(p, size, align_corners) for p, size in zip(at, sizes)]
    if padding_mode == "zeros":  # a point that is no number lies outside, in the other modes at the end
        at = [where((p >= -1) & (p <= size), p, -2) for p, size in zip(at, sizes)]
    else:
        at = [where(p <= 0, 0, where(p < size - 1, p, size - 1)) for p, size in zip(at, sizes)]  # flat there
    return _read(t, [arithmetic.round(p) for p in at]) if mode == "nearest" else _blended(t, at)


def _need_sampling(t: Any, g: Any, mode: str, padding_mode: str) -> None:
    axes = t.ndim - 2
    if axes not in (2, 3) or g.ndim != axes + 2 or g.shape[axes + 1] != axes or g.shape[0] != t.shape[0]:
        raise ShapeError("grid_sample takes images [n, channels, height, width] and a grid [n, rows, columns, 2], or "
                         "volumes [n, channels, depth, height, width] and a grid [n, layers, rows, columns, 3].",
                         operands=operand_lines(t._type, g._type))  # fmt: skip
    for name, given, legal in (("mode", mode, ("bilinear", "nearest")),
                               ("padding_mode", padding_mode, ("zeros", "border", "reflection"))):  # fmt: skip
        if given not in legal:
            raise AttributeValueError(f"grid_sample: {name} is {' or '.join(map(repr, legal))}, not {given!r}.")


def _blended(t: Any, at: Sequence[Any]) -> Any:
    """The pixels around each point, each weighed by the area (the volume) of the box on its far side."""
    base = [arithmetic.floor(p) for p in at]
    part = [p - b for p, b in zip(at, base)]
    out = None
    for corner in itertools.product((0, 1), repeat=len(at)):
        weight = math.prod([p if side else 1 - p for p, side in zip(part, corner)], start=1)
        one = _read(t, [b + side for b, side in zip(base, corner)]) * weight.expand_dims(1)
        out = one if out is None else out + one
    return out


def _pixels(at: Any, size: int, align_corners: bool) -> Any:
    return (at + 1) * ((size - 1) / 2) if align_corners else ((at + 1) * size - 1) / 2


def _mirrored(at: Any, size: int, align_corners: bool) -> Any:
    """The place inside that a place outside shows in mirrors: at the corner pixels' middles, or at their edges."""
    low, span = (0.0, size - 1) if align_corners else (-0.5, size)
    if span == 0:
        return at * 0
    away = arithmetic.abs(at - low)
    turns = arithmetic.floor(away / span)
    rest = away - turns * span
    return where(arithmetic.floor_mod(turns, 2) == 0, rest, span - rest) + low


def _read(t: Any, at: Sequence[Any]) -> Any:
    """Pixels [n, channels, *places] at whole places; zero outside of the image."""
    n, c, *sizes = t.shape
    axes = len(sizes)
    inside: Any = None
    flat: Any = None
    for p, size in zip(at, sizes):
        within = (p >= 0) & (p <= size - 1)
        inside = within if inside is None else inside & within
        held = where(within, p, 0).astype("int32")
        flat = held if flat is None else flat * size + held
    count = math.prod(sizes)
    first = as_tensor(np.arange(n, dtype=np.int32) * count).reshape((n, *(1,) * axes))
    pixels = reshape(transpose(t, (0, *range(2, axes + 2), 1)), (n * count, c))
    found = GATHER(pixels, flat + first, axis=0) * inside.expand_dims(-1).astype(t.dtype)
    return transpose(found, (0, axes + 1, *range(1, axes + 1)))


keep_calls(globals(), "interpolate")
