"""Poolings made of others, and the way back from a maximum to its place.

    lp_pool            (sum of |x|^p over a window) ^ (1/p)
    adaptive_max_pool  windows from floor(i n / m) to ceil((i + 1) n / m)
    max_unpool         values written where the maxima stood, zeros elsewhere
    lrn                x / (bias + alpha * squares of the neighbouring channels) ^ beta

Source: `mindspore.ops`
"""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor
from msnb.ops.definition import as_tensor, operand_lines
from msnb.ops.elementwise.comparison import where
from msnb.ops.indexing.gather import gather, gather_elements
from msnb.ops.indexing.pad import pad
from msnb.ops.indexing.scatter import tensor_scatter_elements
from msnb.ops.reduction import functional
from msnb.ops.shape import broadcast_to, expand_dims, reshape, zeros

__all__ = [
    "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d", "lp_pool1d", "lp_pool2d", "lrn",
    "max_unpool1d", "max_unpool2d", "max_unpool3d",
]  # fmt: skip


def _sizes(name: str, what: str, value: Any, count: int, least: int = 1) -> tuple[int, ...]:
    found = (value,) * count if isinstance(value, int) else tuple(value)
    if len(found) != count or any(isinstance(v, bool) or not isinstance(v, int) or v < least for v in found):
        raise AttributeValueError(f"{name}: {what} is an integer from {least}, or {count} of them, got {value!r}.")
    return tuple(map(operator.index, found))  # plain ints: NumPy makes places of them


def _images(name: str, x: Any, count: int) -> Any:
    t = as_tensor(x)
    if t.ndim not in (count + 1, count + 2):
        raise ShapeError(f"{name} takes [C, ...] or [N, C, ...] with {count} axes of space.",
                         operands=operand_lines(t._type))  # fmt: skip
    return t


# ---- Lp ----


def _lp_pool(name: str, x: Any, norm_type: float, kernel: Any, stride: Any, ceil_mode: bool, count: int) -> Any:
    t = _images(name, x, count)
    sizes = _sizes(name, "kernel_size", kernel, count)
    steps = sizes if stride is None else _sizes(name, "stride", stride, count)
    if not norm_type > 0:
        raise AttributeValueError(f"{name}: norm_type is a number above 0, got {norm_type!r}.")
    signed = norm_type % 2 == 1  # the powers keep their signs, and the root its one
    powers = t.abs() ** norm_type * (t.sign() if signed else 1)
    for axis, size, step in zip(range(t.ndim - count, t.ndim), sizes, steps):
        long = powers.shape[axis]
        windows = max(0, (math.ceil if ceil_mode else math.floor)((long - size) / step)) + 1
        windows -= (windows - 1) * step >= long  # a window that would begin behind the end
        if size > long and not ceil_mode:
            raise ShapeError(f"{name}: a window of {size} does not fit into {long}.", operands=operand_lines(t._type))
        behind = max(0, (windows - 1) * step + size - long)
        if behind:
            powers = pad(powers, [0, 0] * (t.ndim - 1 - axis) + [0, behind])
        places = np.arange(windows)[:, None] * step + np.arange(size)
        powers = functional.sum(gather(powers, Tensor(places), axis), axis + 1)
    empty = powers == 0
    roots = where(empty, 1.0, powers.abs()) ** (1 / norm_type)
    return where(empty, 0.0, roots * powers.sign() if signed else roots)


def lp_pool1d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm over windows.

    Args:
        x: [C, L] or [N, C, L] floats.
        norm_type: p, above 0. An odd one keeps signs, as in MindSpore and PyTorch: 1 gives plain sums.
        kernel_size: of a window.
        stride: from one window to the next; None: kernel_size.
        ceil_mode: take windows that reach over the end too; there they see zeros.

    Raises:
        ShapeError: other shapes, or a window that does not fit. ValueError: sizes below 1, p not above 0.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.lp_pool1d(ms.Tensor([[3.0, 4.0]]), 2, 2).tolist()
        [[5.0]]
    """
    return _lp_pool("lp_pool1d", x, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(x: Any, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Any:
    """The p-norm over windows of [C, H, W] or [N, C, H, W]; arguments as of ``lp_pool1d``."""
    return _lp_pool("lp_pool2d", x, norm_type, kernel_size, stride, ceil_mode, 2)


# ---- adaptive maxima ----


def _adaptive_windows(size: int, out: int) -> Any:
    """[out, longest] places; a shorter window repeats its last one, which changes no maximum."""
    starts, ends = np.arange(out) * size // out, -(-(np.arange(1, out + 1) * size) // out)
    return np.minimum(starts[:, None] + np.arange((ends - starts).max()), ends[:, None] - 1)


def _adaptive_max(name: str, x: Any, output_size: Any, return_indices: bool, count: int) -> Any:
    t = _images(name, x, count)
    given = (output_size,) * count if isinstance(output_size, int) or output_size is None else tuple(output_size)
    if len(given) != count:
        raise AttributeValueError(f"{name}: output_size has {count} sizes, got {output_size!r}.")
    space = t.shape[-count:]
    outs = _sizes(name, "output_size", [s if o is None else o for s, o in zip(space, given)], count)
    where_ = broadcast_to(reshape(Tensor(np.arange(math.prod(space))), space), t.shape)
    values, lead = t, t.ndim - count
    for axis in reversed(range(count)):
        places, at = Tensor(_adaptive_windows(space[axis], outs[axis])), lead + axis
        values, where_ = gather(values, places, at), gather(where_, places, at)
        best = expand_dims(values.argmax(at + 1), at + 1)
        values = gather_elements(values, at + 1, best).squeeze(at + 1)
        where_ = gather_elements(where_, at + 1, best).squeeze(at + 1)
    return (values, where_) if return_indices else values


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of ``output_size`` windows that cover the axis evenly.

    Args:
        input: [C, L] or [N, C, L].
        output_size: how many windows; None: as many as there are elements.
        return_indices: where each maximum stood, too.

    Raises:
        ShapeError: other shapes. ValueError: sizes below 1.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.adaptive_max_pool1d(ms.Tensor([[1.0, 5.0, 2.0, 3.0]]), 2).tolist()
        [[5.0, 3.0]]
    """
    return _adaptive_max("adaptive_max_pool1d", input, output_size, return_indices, 1)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of windows that cover [C, H, W] or [N, C, H, W] evenly; arguments as of ``adaptive_max_pool1d``.
    Places are counted along the rows of an image."""
    return _adaptive_max("adaptive_max_pool2d", input, output_size, return_indices, 2)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Any:
    """The maxima of windows that cover [C, D, H, W] or [N, C, D, H, W] evenly, as ``adaptive_max_pool2d``."""
    return _adaptive_max("adaptive_max_pool3d", input, output_size, return_indices, 3)


# ---- the way back ----


def _max_unpool(name: str, x: Any, indices: Any, kernel: Any, stride: Any, padding: Any, size: Any, count: int) -> Any:
    t, places = _images(name, x, count), as_tensor(indices)
    if places.shape != t.shape or not places.dtype.is_int:
        raise ShapeError(f"{name} needs an integer for every element of x.",
                         operands=operand_lines(t._type, places._type, names=("x", "indices")))  # fmt: skip
    sizes = _sizes(name, "kernel_size", kernel, count)
    steps = sizes if stride is None or stride == 0 else _sizes(name, "stride", stride, count)
    pads = _sizes(name, "padding", padding, count, 0)
    space = tuple((s - 1) * d - 2 * p + k for s, d, p, k in zip(t.shape[-count:], steps, pads, sizes))
    if size is not None and tuple(size) != ():
        wanted = tuple(size)[-count:]
        if any(abs(a - b) >= d for a, b, d in zip(wanted, space, steps)):
            raise AttributeValueError(f"{name}: output_size {list(size)} is no size that pools to this one; the "
                                      f"smallest step away is {list(space)}.")  # fmt: skip
        space = wanted
    lead = t.shape[: t.ndim - count]
    flat, at = reshape(t, (*lead, -1)), reshape(places, (*lead, -1))
    out = tensor_scatter_elements(zeros((*lead, math.prod(space)), t.dtype), at, flat, len(lead))
    return reshape(out, (*lead, *space))


def max_unpool1d(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Any:  # fmt: skip
    """Values written where the maxima of a pooling stood, zeros elsewhere.

    Args:
        x: [C, L] or [N, C, L].
        indices: the place of each value, as a max pooling gives it.
        kernel_size, stride, padding: of that pooling; stride None: kernel_size.
        output_size: of the result, where several sizes pool to one.

    Raises:
        ShapeError: not one place per value. ValueError: sizes that do not fit. IndexError: a place outside.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.max_unpool1d(ms.Tensor([[5.0, 3.0]]), ms.Tensor([[1, 3]]), 2).tolist()
        [[0.0, 5.0, 0.0, 3.0]]
    """
    return _max_unpool("max_unpool1d", x, indices, kernel_size, stride, padding, output_size, 1)


def max_unpool2d(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Any:  # fmt: skip
    """``max_unpool1d`` for [C, H, W] or [N, C, H, W]; places are counted along the rows of an image."""
    return _max_unpool("max_unpool2d", x, indices, kernel_size, stride, padding, output_size, 2)


def max_unpool3d(x: Any, indices: Any, kernel_size: Any, stride: Any = None, padding: Any = 0,
                 output_size: Any = None) -> Any:  # fmt: skip
    """``max_unpool1d`` for [C, D, H, W] or [N, C, D, H, W]."""
    return _max_unpool("max_unpool3d", x, indices, kernel_size, stride, padding, output_size, 3)


# ---- neighbouring channels ----


def lrn(x: Any, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
        norm_region: str = "ACROSS_CHANNELS") -> Any:  # fmt: skip
    """Local response normalization: x / (bias + alpha * squares of 2 r + 1 neighbouring channels) ^ beta.

    Args:
        x: [N, C, H, W] floats.
        depth_radius: r.
        bias, alpha, beta: numbers.
        norm_region: "ACROSS_CHANNELS".

    Raises:
        ShapeError: no images. ValueError: another region, a radius below 0.
    """
    t = as_tensor(x)
    if t.ndim != 4:
        raise ShapeError("lrn takes images [N, C, H, W].", operands=operand_lines(t._type))
    if norm_region != "ACROSS_CHANNELS" or depth_radius < 0:
        raise AttributeValueError(f"lrn: norm_region is 'ACROSS_CHANNELS' and depth_radius from 0, got {norm_region!r} "
                                  f"and {depth_radius!r}.")  # fmt: skip
    channels = np.arange(t.shape[1])
    near = (np.abs(channels[:, None] - channels) <= depth_radius).astype(t.dtype.numpy)
    squares = reshape(Tensor(near) @ reshape(t * t, (t.shape[0], t.shape[1], -1)), t.shape)
    return t / (bias + alpha * squares) ** beta
