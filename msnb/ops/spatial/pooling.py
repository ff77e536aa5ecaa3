"""Poolings as users call them: pad modes, one axis or two, and the adaptive ones.

An adaptive pooling to o places cuts an axis of s elements into o windows, window i from floor(i s / o) to
ceil((i+1) s / o): they may overlap, and each element of a result is a mean. As a mean is linear this is one matrix per
axis, A[i, j] = 1/len(window i) for j in window i; where o divides s the windows are equal and it is an avg_pool2d.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Array, Dim, Tensor, cached
from msnb.ops.definition.data_format import NCHW, need_format, place_axes, places_of
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.definition.record import find
from msnb.ops.definition.type_inference import int_error, is_index, operand_lines
from msnb.ops.definition.window_geometry import IntOrInts, Pair, need_images, out_sizes, pair, resolve_pads
from msnb.ops.elementwise.comparison import where
from msnb.ops.indexing.rearrange import swapaxes
from msnb.ops.shape.views import expand_dims, squeeze
from msnb.ops.spatial.max_pooling import asks_more, largest_of_windows
from msnb.ops.spatial.pooling_records import AVG_POOL2D, MAX_POOL2D, covering_pads


def _plan(
    name: str,
    x: Any,
    kernel_size: IntOrInts,
    stride: Any,
    pad_mode: str,
    padding: IntOrInts,
    data_format: str,
    ceil_mode: bool,
) -> tuple[Pair, Pair, tuple[int, ...]]:
    need_format(name, data_format)
    need_images(name, x._type)
    kernel = pair(name, "kernel_size", kernel_size)
    strides = kernel if stride is None else pair(name, "stride", stride)
    mode = "pad" if pad_mode == "valid" and padding != 0 else pad_mode
    places = places_of(x.shape, data_format)
    pads = resolve_pads(name, mode, padding, places, kernel, strides)
    known = [n for n in places if isinstance(n, int)]
    if ceil_mode and len(known) == 2:  # a window that hangs over is no larger than all there is
        rows, columns = (min(k, n + sum(pads[2 * i : 2 * i + 2])) for i, (k, n) in enumerate(zip(kernel, known)))
        kernel = (rows, columns)
    return kernel, strides, pads


@cached
def max_pool2d(
    x: Any, kernel_size: IntOrInts = 2, stride: IntOrInts | None = None, pad_mode: str = "valid",
    padding: IntOrInts = 0, ceil_mode: bool = False, data_format: str = NCHW, dilation: IntOrInts = 1,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest value of each window.

    Args:
        x: images, floats: [n, channels, rows, columns], or [n, rows, columns, channels] for "NHWC".
        kernel_size: size of the window, int or (rows, columns).
        stride: its step; None means kernel_size (windows side by side).
        pad_mode: "valid", "same" or "pad". Padding never wins.
        padding: int, (rows, columns) or (top, bottom, left, right); a padding other than 0 implies "pad".
        ceil_mode: keep a last, partial window.
        data_format: "NCHW" or "NHWC": where x and the result have their channels.
        dilation: the distance of a window's elements, int or (rows, columns).
        return_indices: also give the place of each value in its plane, counted in rows (int64).

    Returns:
        Tensor [n, channels, rows', columns'], or [n, rows', columns', channels]; with ``return_indices`` a pair.

    Raises:
        ShapeError: no window fits. AttributeValueError: a size that is not legal.

    Source: `mindspore.ops.max_pool2d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.max_pool2d(ms.Tensor([[[[1.0, 5.0], [3.0, 2.0]]]]), 2).tolist()
        [[[[5.0]]]]
    """
    x = as_tensor(x)
    if asks_more(dilation, return_indices):
        if data_format != NCHW:
            raise AttributeValueError("max_pool2d: dilation= and return_indices= are for data_format='NCHW'.")
        return largest_of_windows(
            "max_pool2d", x, 2, kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode
        )
    kernel, strides, pads = _plan("max_pool2d", x, kernel_size, stride, pad_mode, padding, data_format, ceil_mode)
    return MAX_POOL2D(x, kernel=kernel, stride=strides, pads=pads, ceil_mode=bool(ceil_mode), data_format=data_format)


@cached
def avg_pool2d(
    x: Any, kernel_size: IntOrInts = 2, stride: IntOrInts | None = None, pad_mode: str = "valid",
    padding: IntOrInts = 0, ceil_mode: bool = False, count_include_pad: bool = True, data_format: str = NCHW,
    divisor_override: float | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window.

    Args:
        x: images, floats: [n, channels, rows, columns], or [n, rows, columns, channels] for "NHWC".
        kernel_size, stride, pad_mode, padding, ceil_mode, data_format: as in ``max_pool2d``. Without a stride windows
            move by their size, as in PyTorch; MindSpore's function moves them by 1.
        count_include_pad: padding counts as zeros. With pad_mode="same" it never counts.
        divisor_override: divide the sum of each window by this number, not 0, whatever the window holds.

    Returns:
        Tensor [n, channels, rows', columns'], or [n, rows', columns', channels].

    Raises:
        As ``max_pool2d``.

    Source: `mindspore.ops.avg_pool2d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.avg_pool2d(ms.Tensor([[[[1.0, 5.0], [3.0, 3.0]]]]), 2).tolist()
        [[[[3.0]]]]
    """
    x = as_tensor(x)
    kernel, strides, pads = _plan("avg_pool2d", x, kernel_size, stride, pad_mode, padding, data_format, ceil_mode)
    counted = bool(count_include_pad) and pad_mode != "same"
    if divisor_override is not None:
        counted, pads = True, _filled(x, kernel, strides, pads, data_format) if ceil_mode else pads
        ceil_mode = False
    mean = AVG_POOL2D(
        x, kernel=kernel, stride=strides, pads=pads, ceil_mode=bool(ceil_mode), count_include_pad=counted,
        data_format=data_format,
    )  # fmt: skip
    return mean if divisor_override is None else mean * (math.prod(kernel) / _divisor(divisor_override))


def _divisor(number: float) -> float:
    if not number:
        raise AttributeValueError("avg_pool: divisor_override must not be 0.")
    return number


def _filled(x: Any, kernel: Pair, stride: Pair, pads: Any, data_format: str) -> Any:
    """The pads that also fill the last windows up, which ``ceil_mode`` lets hang over the end."""
    sizes: Any = places_of(x.shape, data_format)
    if any(isinstance(size, Dim) for size in sizes):
        sentence = "avg_pool2d: ceil_mode and divisor_override need images of known size."
        raise ShapeError(sentence, operands=operand_lines(x._type))
    axes = place_axes(data_format)
    outs: Any = out_sizes("avg_pool2d", x._type, kernel, stride, pads, (1, 1), True, axes)
    return covering_pads(sizes, outs, kernel, stride, pads)


def _one(value: Any) -> Any:
    """An entry alone stands for the number that it is."""
    return value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value


def _in_row(
    name: str, pool: Any, x: Any, kernel_size: int, stride: Any, pad_mode: str, padding: Any, **more: Any
) -> Tensor:
    """Pool rows of samples as images of one row."""
    x = as_tensor(x)
    if x.ndim != 3:
        raise ShapeError(f"{name} needs x of three axes (batch, channels, length).", operands=operand_lines(x._type))
    kernel_size, stride, padding = _one(kernel_size), _one(stride), _one(padding)
    step = kernel_size if stride is None else stride
    sides = tuple(padding) if isinstance(padding, (tuple, list)) else (padding, padding)
    pads = 0 if not any(sides) else (0, 0, *sides)
    return squeeze(pool(expand_dims(x, 2), (1, kernel_size), (1, step), pad_mode, pads, **more), 2)


def max_pool1d(
    x: Any, kernel_size: int = 2, stride: int | None = None, pad_mode: str = "valid", padding: int | Sequence[int] = 0,
    ceil_mode: bool = False, dilation: int = 1, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest value of each window of x [n, channels, length]; arguments and errors as in ``max_pool2d``.

    Source: `mindspore.nn.MaxPool1d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.max_pool1d(ms.Tensor([[[1.0, 5.0, 2.0, 3.0]]]), 2).tolist()
        [[[5.0, 3.0]]]
    """
    if asks_more(dilation, return_indices):
        return largest_of_windows(
            "max_pool1d", x, 1, kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode
        )
    return _in_row("max_pool1d", max_pool2d, x, kernel_size, stride, pad_mode, padding, ceil_mode=ceil_mode)


def avg_pool1d(
    x: Any, kernel_size: int = 2, stride: int | None = None, pad_mode: str = "valid", padding: int | Sequence[int] = 0,
    ceil_mode: bool = False, count_include_pad: bool = True,
) -> Tensor:  # fmt: skip
    """The mean of each window of x [n, channels, length]; arguments and errors as in ``avg_pool2d``.

    Source: `mindspore.nn.AvgPool1d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.avg_pool1d(ms.Tensor([[[1.0, 5.0, 2.0, 3.0]]]), 2).tolist()
        [[[3.0, 2.5]]]
    """
    more = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad}
    return _in_row("avg_pool1d", avg_pool2d, x, kernel_size, stride, pad_mode, padding, **more)


# ---- adaptive ----


def _targets(name: str, x: Any, output_size: Any) -> tuple[Pair, Pair]:
    """Sizes before and after; None keeps an axis."""
    need_images(name, x._type)
    if any(isinstance(d, Dim) for d in x.shape[2:]):
        raise ShapeError(f"{name} needs images of known size.", operands=operand_lines(x._type))
    # None keeps an axis, so this is no ``pair``
    given = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    if len(given) != 2 or any(v is not None and (not is_index(v) or v < 1) for v in given):
        raise int_error(*(v for v in given if v is not None))(
            f"{name}: output_size must be an int or two (None keeps an axis), got {output_size!r}."
        )
    size = x.shape[2], x.shape[3]
    return size, (size[0] if given[0] is None else given[0], size[1] if given[1] is None else given[1])


def averaging_matrix(size: int, out: int) -> Array:
    """A [out, size] with A @ x the means of ``out`` windows that cover ``size`` elements."""
    matrix = np.zeros((out, size))
    for i in range(out):
        start, stop = i * size // out, -(-(i + 1) * size // out)
        matrix[i, start:stop] = 1.0 / (stop - start)
    return matrix


@cached
def adaptive_avg_pool2d(x: Any, output_size: Any) -> Tensor:
    """Means over windows chosen so that ``output_size`` results come out.

    Args:
        x: images [n, channels, rows, columns], or one without a batch; floats.
        output_size: int or (rows, columns); None keeps an axis.

    Returns:
        Tensor [n, channels, *output_size].

    Raises:
        AttributeValueError: a size below 1. ShapeError: x has not four axes.

    Source: `mindspore.ops.adaptive_avg_pool2d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.adaptive_avg_pool2d(ms.Tensor([[[[1.0, 2.0, 6.0]]]]), (1, 2)).tolist()
        [[[[1.5, 4.0]]]]
    """
    x = as_tensor(x)
    if x.ndim == 3:
        return squeeze(adaptive_avg_pool2d(expand_dims(x, 0), output_size), 0)
    size, out = _targets("adaptive_avg_pool2d", x, output_size)
    before, after = [index(n) for n in size], [index(n) for n in out]
    windows = [_even_windows(*sizes) for sizes in zip(before, after)]
    kernel, stride = zip(*(found or (1, 1) for found in windows))
    x = avg_pool2d(x, kernel, stride)
    if windows[0] is None:
        x = swapaxes(_uneven_means(swapaxes(x, -1, -2), after[0]), -1, -2)
    return _uneven_means(x, after[1]) if windows[1] is None else x


def _covering(size: int, out: int) -> tuple[Array, Array]:
    """Where each of ``out`` windows that cover ``size`` elements begins and ends."""
    return np.arange(out) * size // out, -(-(np.arange(out) + 1) * size // out)


def _even_windows(size: int, out: int) -> tuple[int, int] | None:
    """Size and stride of the windows where all have the same."""
    first, stop = _covering(size, out)
    steps = {*np.diff(first).tolist()}
    if len({*(stop - first).tolist()}) > 1 or len(steps) > 1 or 0 in steps:
        return None
    return int(stop[0]), int(first[1]) if out > 1 else 1


def _uneven_means(x: Tensor, out: int) -> Tensor:
    """Means of ``out`` windows that cover the last axis. Elements are chosen, not multiplied by 0: a NaN or an infinity
    is seen by its own windows alone."""
    first, stop = _covering(x._type.ints(-1)[0], out)
    counts = stop - first
    step = np.arange(counts.max())[:, None]
    taken = x[..., np.minimum(first + step, stop - 1)]
    inside = where(as_tensor(step < counts), taken, 0)
    return find("sum")(inside, axis=-2) / as_tensor(counts.astype(x.dtype.numpy))


def adaptive_avg_pool1d(x: Any, output_size: int) -> Tensor:
    """Means over ``output_size`` windows of x [n, channels, length]; see ``adaptive_avg_pool2d``.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.adaptive_avg_pool1d(ms.Tensor([[[1.0, 3.0, 6.0, 8.0]]]), 2).tolist()
        [[[2.0, 7.0]]]
    """
    x = as_tensor(x)
    if x.ndim != 3:
        raise ShapeError(
            "adaptive_avg_pool1d needs x of three axes (batch, channels, length).", operands=operand_lines(x._type)
        )
    return squeeze(adaptive_avg_pool2d(expand_dims(x, 2), (1, _one(output_size))), 2)


__all__ = ["adaptive_avg_pool1d", "adaptive_avg_pool2d", "avg_pool1d", "avg_pool2d", "max_pool1d", "max_pool2d"]
