"""Convolutions and poolings of volumes [n, channels, depth, rows, columns], made of those of images.

    a window of kd layers        its layers side by side as channels: one convolution of images sums over all of them
    x [n, c, d, h, w]            ->  [(n z), (c kd), h, w]  *  weight [o, (c kd), kh, kw]  ->  [n, o, z, h', w']

    the extreme or mean of a     that of rows and columns first, then that of layers: two poolings of images
    box                          [n, (c d), h, w] -> [n, c, d, (h' w')] -> [n, c, z, h', w']

    the transposed one           each layer by each of the kernel's, [n o kd z h' w'], then the layers of the result as
                                 sums: layer z of x by layer k of the kernel lands in layer z * stride + k * dilation

So gradients, modes, half precision and the library's kernels are those of images. A convolution's layers are copied
once per window that sees them (``kd / stride`` times the input).
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Dim, Tensor
from msnb.ops.definition import IntOrInts, as_tensor, int_error, operand_lines, per_axis, reach, resolve_pads
from msnb.ops.indexing.pad import PAD
from msnb.ops.shape import expand_dims, permute, reshape, squeeze, stack
from msnb.ops.spatial.convolution import (
    conv2d,
    conv2d_transpose,
    legal_output_padding,
    legal_pad_mode,
    transposed_axis,
    with_bias,
)
from msnb.ops.spatial.max_pooling import asks_more, largest_of_windows
from msnb.ops.spatial.pooling import adaptive_avg_pool2d, avg_pool2d, max_pool2d

__all__ = ["adaptive_avg_pool3d", "avg_pool3d", "conv3d", "conv3d_transpose", "max_pool3d"]


def _need_volumes(name: str, x: Any) -> None:
    if x.ndim != 5:
        raise ShapeError(
            f"{name} needs x of five axes (batch, channels, depth, rows, columns).",
            operands=operand_lines(x._type),
            hint="one volume alone becomes a batch of one by x.expand_dims(0)." if x.ndim == 4 else "",
        )
    if isinstance(x.shape[2], Dim):
        raise ShapeError(f"{name} needs volumes of known depth, this one has {x.shape[2]}.")


def conv3d(
    x: Any, weight: Any, bias: Any = None, stride: IntOrInts = 1, pad_mode: str = "valid", padding: IntOrInts = 0,
    dilation: IntOrInts = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Slide a kernel over volumes.

    Args:
        x: volumes [n, channels, depth, rows, columns], floats.
        weight: [out, channels / groups, kernel depth, kernel rows, kernel columns], same dtype.
        bias: [out] or None.
        stride, dilation: int or (depth, rows, columns).
        pad_mode: "valid" (no padding), "same" (ceil(size / stride) results per axis) or "pad" (``padding`` decides).
        padding: int, (depth, rows, columns) or (front, back, top, bottom, left, right); only with pad_mode="pad".
        groups: how many separate convolutions share the channels.

    Returns:
        Tensor [n, out, depth', rows', columns'].

    Raises:
        ShapeError: channels, bias or window do not fit. DTypeError: x and weight differ. AttributeValueError: others.

    Source: `mindspore.ops.conv3d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.conv3d(ms.ops.ones((1, 1, 3, 3, 3)), ms.ops.ones((1, 1, 2, 3, 3))).tolist()
        [[[[[18.0]], [[18.0]]]]]
    """
    name = "conv3d"
    x, weight = as_tensor(x), as_tensor(weight)
    _need_volumes(name, x)
    _need_weight(name, x, weight, groups, 1)
    out, channels, *kernel = weight._type.ints()
    steps, holes = per_axis(name, "stride", stride, 3), per_axis(name, "dilation", dilation, 3)
    spans = [reach(k, hole) for k, hole in zip(kernel, holes)]
    pads = resolve_pads(name, pad_mode, padding, x.shape[2:], spans, steps)
    windows = _side_by_side(x, kernel[0], steps[0], holes[0], pads[:2])
    flat = reshape(weight, (out, channels * kernel[0], *kernel[1:]))
    y = conv2d(reshape(windows, (-1, *_merged(windows))), flat, bias, steps[1:], "pad", pads[2:], holes[1:], groups)
    return permute(reshape(y, (-1, windows.shape[1], *y.shape[1:])), 0, 2, 1, 3, 4)


def _need_weight(name: str, x: Any, weight: Any, groups: int, axis: int) -> None:
    """``axis`` of the weight sums over the channels of x: all of them, or those of a group where it is the second."""
    lines = operand_lines(x._type, weight._type, names=("x", "weight"))
    if weight.ndim != 5:
        axes = ("in, out/groups", "out, in/groups")[axis]
        raise ShapeError(f"{name} needs a weight of five axes ({axes}, depth, rows, columns).", operands=lines)
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise int_error(groups)(f"{name}: groups must be an int of at least 1, got {groups!r}.")
    expected = weight.shape[axis] * (groups if axis else 1)
    if not isinstance(x.shape[1], Dim) and x.shape[1] != expected:
        raise ShapeError(f"{name}: x has {x.shape[1]} channels, the weight expects {expected}.", operands=lines)


def _side_by_side(x: Any, kernel: int, step: int, hole: int, pads: Sequence[int]) -> Any:
    """[n, z, c, kernel, h, w]: for each of z windows its layers."""
    if any(pads):
        x = PAD(x, pads=((0, 0), (0, 0), tuple(pads), (0, 0), (0, 0)), value=0.0)
    depth, span = x.shape[2], reach(kernel, hole)
    if depth < span:
        raise ShapeError(
            f"conv3d: the window spans {span} layers, the padded input has {depth}.", operands=operand_lines(x._type)
        )
    last = (depth - span) // step * step
    layers = [x[:, :, k * hole : k * hole + last + 1 : step] for k in range(kernel)]
    return permute(stack(layers, 3), 0, 2, 1, 3, 4, 5)


def _merged(windows: Any) -> tuple[Any, ...]:
    _, _, channels, kernel, *image = windows.shape
    return (channels * kernel, *image)


def conv3d_transpose(
    x: Any, weight: Any, bias: Any = None, stride: IntOrInts = 1, pad_mode: str = "valid", padding: IntOrInts = 0,
    output_padding: IntOrInts = 0, dilation: IntOrInts = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Transposed convolution of volumes: spread every input element over a window of the result.

    Args:
        x: volumes [n, channels, depth, rows, columns], floats.
        weight: [channels, out / groups, kernel depth, kernel rows, kernel columns], same dtype.
        bias: [out] or None.
        stride, dilation: int or (depth, rows, columns).
        pad_mode: "valid", "same" or "pad", with the sizes of ``conv2d_transpose``.
        padding: int, three ints or (front, back, top, bottom, left, right) cut off the result; only with
            pad_mode="pad".
        output_padding: layers, rows and columns added at the end, less than the stride; only with pad_mode="pad".
        groups: how many separate convolutions share the channels.

    Returns:
        Tensor [n, out, depth', rows', columns'].

    Raises:
        As ``conv3d``.

    Source: `mindspore.nn.Conv3dTranspose`

    Examples:
        >>> import msnb as ms
        >>> x, w = ms.Tensor([1.0, 2.0]).reshape(1, 1, 2, 1, 1), ms.Tensor([1.0, 10.0]).reshape(1, 1, 2, 1, 1)
        >>> ms.ops.conv3d_transpose(x, w).flatten().tolist()
        [1.0, 12.0, 20.0]
    """
    name = "conv3d_transpose"
    x, weight = as_tensor(x), as_tensor(weight)
    _need_volumes(name, x)
    _need_weight(name, x, weight, groups, 0)
    mode = legal_pad_mode(name, pad_mode)
    channels, out, *kernel = weight._type.ints()
    steps, holes = per_axis(name, "stride", stride, 3), per_axis(name, "dilation", dilation, 3)
    spans = [reach(k, hole) for k, hole in zip(kernel, holes)]
    extra = legal_output_padding(name, output_padding, mode, steps)
    pads = resolve_pads(name, "pad" if mode == "pad" else "valid", padding, (1, 1, 1), spans, steps)
    deep, front, _ = transposed_axis(name, mode, x.shape[2], spans[0], steps[0], pads[0], pads[1], extra[0])
    # every layer of x by every layer of the kernel: images whose channels are (group, out, kernel depth)
    layers = reshape(permute(x, 0, 2, 1, 3, 4), (-1, channels, *x.shape[3:]))
    flat = reshape(weight, (channels, out * kernel[0], *kernel[1:]))
    y = conv2d_transpose(
        layers, flat, None, steps[1:], mode, pads[2:] if mode == "pad" else 0, extra[1:], holes[1:], groups
    )
    parts = permute(reshape(y, (-1, x.shape[2], groups * out, kernel[0], *y.shape[2:])), 0, 2, 3, 1, 4, 5)
    return with_bias(name, _overlapped(parts, steps[0], holes[0], front, deep), bias, 3)


def _overlapped(parts: Any, step: int, hole: int, front: int, deep: int) -> Any:
    """Sums [n, o, deep, h, w] of ``parts`` [n, o, kernel, z, h, w]: layer k, z in layer z * step + k * hole - front."""
    kernel, depth = parts.shape[2:4]
    if step > 1:  # step - 1 layers of zeros after each
        wide = PAD(parts.expand_dims(4), pads=((0, 0),) * 4 + ((0, step - 1), (0, 0), (0, 0)), value=0.0)
        parts = reshape(wide, (-1, *parts.shape[1:3], depth * step, *parts.shape[4:]))
    covered = max(front + deep, depth * step + (kernel - 1) * hole)
    ends = [(k * hole, covered - depth * step - k * hole) for k in range(kernel)]
    placed = [PAD(parts[:, :, k], pads=((0, 0), (0, 0), e, (0, 0), (0, 0)), value=0.0) for k, e in enumerate(ends)]
    return functools.reduce(operator.add, placed)[:, :, front : front + deep]


# ---- poolings ----


def _pooled(
    name: str, pool: Any, x: Any, kernel_size: IntOrInts, stride: IntOrInts | None, pad_mode: str, padding: IntOrInts,
    **more: Any,
) -> Tensor:  # fmt: skip
    x = as_tensor(x)
    _need_volumes(name, x)
    kernel = per_axis(name, "kernel_size", kernel_size, 3)
    steps = kernel if stride is None else per_axis(name, "stride", stride, 3)
    if padding != 0 and pad_mode == "valid":
        pad_mode = "pad"
    pads = resolve_pads(name, pad_mode, padding, x.shape[2:], kernel, steps)
    _, channels, depth, rows, columns = x.shape
    first = more | ({"divisor_override": 1} if more.get("divisor_override") is not None else {})  # sums, divided once
    flat = pool(reshape(x, (-1, channels * depth, rows, columns)), kernel[1:], steps[1:], "pad", pads[2:], **first)
    layers = reshape(flat, (-1, channels, depth, flat.shape[2] * flat.shape[3]))
    out = pool(layers, (kernel[0], 1), (steps[0], 1), "pad", (*pads[:2], 0, 0), **more)
    return reshape(out, (-1, channels, out.shape[2], *flat.shape[2:]))


def max_pool3d(
    x: Any, kernel_size: IntOrInts = 2, stride: IntOrInts | None = None, pad_mode: str = "valid",
    padding: IntOrInts = 0, ceil_mode: bool = False, dilation: IntOrInts = 1, return_indices: bool = False,
) -> Any:  # fmt: skip
    """The largest value of each window of volumes.

    Args:
        x: volumes [n, channels, depth, rows, columns], floats.
        kernel_size: size of the window, int or (depth, rows, columns).
        stride: its step; None means kernel_size (windows side by side).
        pad_mode: "valid", "same" or "pad". Padding never wins.
        padding: int, three or six ints; a padding other than 0 implies "pad".
        ceil_mode: also count a last window that hangs over the end.
        dilation, return_indices: as in ``max_pool2d``.

    Raises:
        ShapeError: x has not five axes, or no window fits. AttributeValueError: others.

    Source: `mindspore.ops.max_pool3d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.max_pool3d(ms.ops.arange(8.0).reshape(1, 1, 2, 2, 2), 2).tolist()
        [[[[[7.0]]]]]
    """
    if asks_more(dilation, return_indices):
        return largest_of_windows(
            "max_pool3d", x, 3, kernel_size, stride, pad_mode, padding, dilation, return_indices, ceil_mode
        )
    return _pooled("max_pool3d", max_pool2d, x, kernel_size, stride, pad_mode, padding, ceil_mode=ceil_mode)


def avg_pool3d(
    x: Any, kernel_size: IntOrInts = 2, stride: IntOrInts | None = None, pad_mode: str = "valid",
    padding: IntOrInts = 0, ceil_mode: bool = False, count_include_pad: bool = True,
    divisor_override: float | None = None,
) -> Tensor:  # fmt: skip
    """The mean of each window of volumes; arguments as in ``max_pool3d``.

    Args:
        count_include_pad, divisor_override: as in ``avg_pool2d``.

    Source: `mindspore.ops.avg_pool3d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.avg_pool3d(ms.ops.arange(8.0).reshape(1, 1, 2, 2, 2), 2).tolist()
        [[[[[3.5]]]]]
    """
    return _pooled(
        "avg_pool3d", avg_pool2d, x, kernel_size, stride, pad_mode, padding, ceil_mode=ceil_mode,
        count_include_pad=bool(count_include_pad), divisor_override=divisor_override,
    )  # fmt: skip


def adaptive_avg_pool3d(x: Any, output_size: Any) -> Tensor:
    """Means over windows chosen so that ``output_size`` results come out (int or three; None keeps an axis).

    Source: `mindspore.ops.adaptive_avg_pool3d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.adaptive_avg_pool3d(ms.ops.ones((2, 3, 5, 7, 4)), (1, 2, None)).shape
        (2, 3, 1, 2, 4)
    """
    x = as_tensor(x)
    if x.ndim == 4:  # one example without a batch
        return squeeze(adaptive_avg_pool3d(expand_dims(x, 0), output_size), 0)
    _need_volumes("adaptive_avg_pool3d", x)
    sizes = (output_size,) * 3 if isinstance(output_size, int) or output_size is None else tuple(output_size)
    if len(sizes) != 3:
        raise AttributeValueError(f"adaptive_avg_pool3d: output_size is an int or three, got {output_size!r}.")
    _, channels, depth, rows, columns = x.shape
    flat = adaptive_avg_pool2d(reshape(x, (-1, channels * depth, rows, columns)), sizes[1:])
    layers = reshape(flat, (-1, channels, depth, flat.shape[2] * flat.shape[3]))
    out = adaptive_avg_pool2d(layers, (sizes[0], None))
    return reshape(out, (-1, channels, out.shape[2], *flat.shape[2:]))
