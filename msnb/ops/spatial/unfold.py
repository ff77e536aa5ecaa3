"""Pixels in other orders: shuffles, and windows as columns.

    pixel_shuffle    [n, c r r, h, w] -> [n, c, h r, w r]     channels become blocks of pixels
    unfold           [n, c, h, w] -> [n, c kh kw, windows]    every window of a convolution as a column
    fold             its adjoint: columns back at their places, summed where windows overlap

All are composed of reshapes and slices, so gradients, vmap and the compiler know them already.

Source: Shi et al. 2016 (arXiv:1609.05158), Zhang et al. 2017 (arXiv:1707.01083);
`mindspore.ops.unfold` and its neighbours
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from msnb.base import ShapeError
from msnb.core import Tensor, keep_calls
from msnb.ops.definition import IntOrInts, as_tensor, int_error, operand_lines, pair, reach
from msnb.ops.indexing.pad import PAD
from msnb.ops.shape import INDEX, UNINDEX, reshape, stack, transpose

__all__ = [
    "channel_shuffle", "col2im", "depth_to_space", "fold", "pixel_shuffle", "pixel_unshuffle", "space_to_depth",
    "unfold",
]  # fmt: skip

FULL = (None, None, None)


def need_images(name: str, x: Any, rank: int = 4) -> Any:
    """``x`` as a tensor of ``rank`` axes. Raises ShapeError."""
    t = as_tensor(x)
    if t.ndim != rank:
        shape = "[n, channels, height, width]" if rank == 4 else "[n, rows, windows]"
        raise ShapeError(f"{name} takes {shape}, got {t.ndim} axes.", operands=operand_lines(t._type))
    return t


def _need_factor(name: str, t: Any, axis: int, factor: int, what: str) -> None:
    if isinstance(factor, bool) or not isinstance(factor, int) or factor < 1:
        raise int_error(factor)(f"{name}: {what} is an int of at least 1, got {factor!r}.")
    if t.shape[axis] % factor:
        raise ShapeError(
            f"{name}: axis {axis} of size {t.shape[axis]} does not divide by {factor}.", operands=operand_lines(t._type)
        )


def _need_channels(name: str, x: Any) -> Any:
    t = as_tensor(x)
    if t.ndim < 3:
        text = f"{name} takes [n, channels, height, width], or other axes before the last three, got {t.ndim} axes."
        raise ShapeError(text, operands=operand_lines(t._type))
    return t


def pixel_shuffle(x: Any, upscale_factor: int) -> Tensor:
    """Channels become blocks of pixels: a convolution's way to a larger image.

    Args:
        x: [..., c * r * r, h, w]. upscale_factor: r.

    Returns:
        [..., c, h * r, w * r].

    Raises:
        ShapeError: less than three axes, or channels that r * r does not divide.

    Source: `mindspore.ops.pixel_shuffle`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.pixel_shuffle(ms.ops.arange(4).reshape(1, 4, 1, 1), 2).tolist()
        [[[[0, 1], [2, 3]]]]
    """
    t, r = _need_channels("pixel_shuffle", x), upscale_factor
    _need_factor("pixel_shuffle", t, -3, r * r if isinstance(r, int) else r, "upscale_factor squared")
    *lead, c, h, w = t.shape
    n = math.prod(lead)
    blocks = reshape(t, (n, c // (r * r), r, r, h, w))
    return reshape(transpose(blocks, (0, 1, 4, 2, 5, 3)), (*lead, c // (r * r), h * r, w * r))


def pixel_unshuffle(x: Any, downscale_factor: int) -> Tensor:
    """The way back: blocks of pixels become channels.

    Args:
        x: [..., c, h * r, w * r]. downscale_factor: r.

    Returns:
        [..., c * r * r, h, w].

    Examples:
        >>> import msnb as ms
        >>> ms.ops.pixel_unshuffle(ms.ops.arange(4).reshape(1, 1, 2, 2), 2).shape
        (1, 4, 1, 1)
    """
    t, r = _need_channels("pixel_unshuffle", x), downscale_factor
    _need_factor("pixel_unshuffle", t, -2, r, "downscale_factor")
    _need_factor("pixel_unshuffle", t, -1, r, "downscale_factor")
    *lead, c, h, w = t.shape
    blocks = reshape(t, (math.prod(lead), c, h // r, r, w // r, r))
    return reshape(transpose(blocks, (0, 1, 3, 5, 2, 4)), (*lead, c * r * r, h // r, w // r))


def depth_to_space(x: Any, block_size: int) -> Tensor:
    """Channels become blocks of pixels, the place in the block counted before the channel (``pixel_shuffle`` counts it
    behind).

    Args:
        x: [n, block_size * block_size * c, h, w].

    Returns:
        [n, c, h * block_size, w * block_size].

    Source: `mindspore.ops.DepthToSpace`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.depth_to_space(ms.ops.arange(8).reshape(1, 8, 1, 1), 2).tolist()
        [[[[0, 2], [4, 6]], [[1, 3], [5, 7]]]]
    """
    t, r = need_images("depth_to_space", x), block_size
    _need_factor("depth_to_space", t, 1, r * r if isinstance(r, int) else r, "block_size squared")
    n, c, h, w = t.shape
    blocks = reshape(t, (n, r, r, c // (r * r), h, w))
    return reshape(transpose(blocks, (0, 3, 4, 1, 5, 2)), (n, c // (r * r), h * r, w * r))


def space_to_depth(x: Any, block_size: int) -> Tensor:
    """The way back from ``depth_to_space``: [n, c, h * r, w * r] becomes [n, r * r * c, h, w].

    Examples:
        >>> import msnb as ms
        >>> ms.ops.space_to_depth(ms.ops.arange(8).reshape(1, 2, 2, 2), 2).reshape(8).tolist()
        [0, 4, 1, 5, 2, 6, 3, 7]
    """
    t, r = need_images("space_to_depth", x), block_size
    _need_factor("space_to_depth", t, 2, r, "block_size")
    _need_factor("space_to_depth", t, 3, r, "block_size")
    n, c, h, w = t.shape
    blocks = reshape(t, (n, c, h // r, r, w // r, r))
    return reshape(transpose(blocks, (0, 3, 5, 1, 2, 4)), (n, c * r * r, h // r, w // r))


def channel_shuffle(x: Any, groups: int) -> Tensor:
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


# ---- windows as columns ----


class _Windows:
    """Where the windows of a convolution stand in an image of a known size."""

    def __init__(self, name: str, size: Sequence[int], kernel: IntOrInts, dilation: IntOrInts, padding: IntOrInts,
                 stride: IntOrInts) -> None:  # fmt: skip
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


def unfold(x: Any, kernel_size: IntOrInts, dilation: IntOrInts = 1, padding: IntOrInts = 0,
           stride: IntOrInts = 1) -> Any:  # fmt: skip
    """Every window of a convolution as a column (im2col).

    Args:
        x: [n, channels, height, width].
        kernel_size, dilation, padding, stride: of the windows; ints or (rows, columns).

    Returns:
        [n, channels * kernel rows * kernel columns, windows].

    Raises:
        ShapeError: not four axes, or a window larger than the image.

    Source: `mindspore.ops.unfold`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.unfold(ms.ops.ones((1, 3, 5, 5)), 3).shape
        (1, 27, 9)
    """
    t = need_images("unfold", x)
    windows = _Windows("unfold", t.shape[2:], kernel_size, dilation, padding, stride)
    wide = PAD(t, pads=windows.border(), value=0) if max(windows.padding) else t
    seen = stack([INDEX(wide, spec=(FULL, FULL, *place)) for place in windows.places()], axis=2)
    n, c = t.shape[:2]
    return reshape(seen, (n, c * len(windows.places()), windows.steps[0] * windows.steps[1]))


def fold(x: Any, output_size: Any, kernel_size: IntOrInts, dilation: IntOrInts = 1, padding: IntOrInts = 0,
         stride: IntOrInts = 1) -> Any:  # fmt: skip
    """Columns of windows back into an image; where windows overlap, they are summed (col2im).

    Args:
        x: [n, channels * kernel rows * kernel columns, windows].
        output_size: of the image, an int or (rows, columns), also as a tensor.
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
    t = need_images("fold", x, 3)
    size = tuple(output_size.tolist()) if isinstance(output_size, Tensor) else output_size
    windows = _Windows("fold", pair("fold", "output_size", size), kernel_size, dilation, padding, stride)
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


def col2im(input_x: Any, output_size: Any, kernel_size: IntOrInts, dilation: IntOrInts, padding_value: IntOrInts,
           stride: IntOrInts) -> Any:  # fmt: skip
    """``fold`` of columns that have an axis for the places of a window.

    Args:
        input_x: [n, channels, kernel rows * kernel columns, windows].
        output_size: of the image: a tensor, tuple or list of two numbers.
        kernel_size, dilation, padding_value, stride: as ``unfold`` took them.

    Returns:
        [n, channels, height, width].

    Raises:
        ShapeError: not four axes, or not as many places or windows as these sizes give.

    Source: `mindspore.ops.col2im`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.col2im(ms.ops.ones((1, 1, 4, 4)), ms.Tensor([3, 3]), 2, 1, 0, 1).tolist()
        [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]
    """
    t = need_images("col2im", input_x)
    rows, columns = pair("col2im", "kernel_size", kernel_size)
    if t.shape[2] != rows * columns:
        told = f"col2im: windows of {rows} x {columns} have {rows * columns} places, axis 2 has {t.shape[2]}."
        raise ShapeError(told, operands=operand_lines(t._type))
    flat = reshape(t, (t.shape[0], t.shape[1] * t.shape[2], t.shape[3]))
    return fold(flat, output_size, kernel_size, dilation, padding_value, stride)


def _spread(x: Any, windows: _Windows, place: tuple[tuple[int, int, int], ...]) -> Any:
    """One pixel of all windows at its places in an image of zeros."""
    return UNINDEX(x, spec=(FULL, FULL, *place), shape=(*x.shape[:2], *windows.size))


keep_calls(globals(), "unfold")
