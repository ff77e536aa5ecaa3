"""Convolutions as users call them: pad modes, bias, one axis or two, and the transposed ones.

A row of samples is an image with one row, so the one-axis forms are the two-axis ones with an axis of size 1 put in.
The transposed convolution of a stride s is the map that conv2d with stride s transposes: its result is the image size
from which conv2d would come back to the input.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import Dim, Size, Tensor
from msnb.ops.definition.data_format import NCHW, NHWC, channels_of, need_format, places_of
from msnb.ops.definition.operand_checks import as_tensor
from msnb.ops.definition.type_inference import operand_lines
from msnb.ops.definition.window_geometry import IntOrInts, Pair, pair, per_axis, reach, resolve_pads, sides
from msnb.ops.elementwise.arithmetic import add
from msnb.ops.shape.views import expand_dims, reshape, squeeze
from msnb.ops.spatial.convolution_records import CONV2D, CONV2D_INPUT_GRAD


def with_bias(name: str, y: Any, bias: Any, axes: int = 2, data_format: str = NCHW) -> Tensor:
    """``y``, whose results have ``axes`` axes of positions, plus one value per channel."""
    if bias is None:
        return y  # type: ignore[no-any-return]
    bias, channels = as_tensor(bias), channels_of(y.shape, data_format)
    if bias.shape != (channels,):
        raise ShapeError(
            f"{name}: the bias needs one value per output channel ({channels}).",
            operands=operand_lines(bias._type, names=("bias",)),
        )
    return add(y, bias if data_format == NHWC else reshape(bias, (channels, *(1,) * axes)))


def _need_axes(name: str, x: Any, weight: Any, ndim: int, axes: str) -> None:
    if x.ndim != ndim or weight.ndim != ndim:
        raise ShapeError(
            f"{name} needs x ({axes}) and a weight of {ndim} axes.",
            operands=operand_lines(x._type, weight._type, names=("x", "weight")),
            hint="one image alone becomes a batch of one by x.expand_dims(0)." if x.ndim == ndim - 1 else "",
        )


def conv2d(
    x: Any, weight: Any, bias: Any = None, stride: IntOrInts = 1, pad_mode: str = "valid", padding: IntOrInts = 0,
    dilation: IntOrInts = 1, groups: int = 1, data_format: str = NCHW,
) -> Tensor:  # fmt: skip
    """Slide a kernel over images (cross-correlation, as in every deep-learning framework).

    Args:
        x: images, floats: [n, channels, rows, columns], or [n, rows, columns, channels] for "NHWC".
        weight: [out, channels / groups, kernel rows, kernel columns], same dtype.
        bias: [out] or None.
        stride: step of the kernel, int or (rows, columns).
        pad_mode: "valid" (no padding), "same" (ceil(size / stride) results per axis) or "pad" (``padding`` decides).
        padding: int, (rows, columns) or (top, bottom, left, right); only with pad_mode="pad".
        dilation: distance between the kernel's places, int or (rows, columns).
        groups: how many separate convolutions share the channels.
        data_format: "NCHW" or "NHWC": where x and the result have their channels. The weight is the same for both.

    Returns:
        Tensor [n, out, rows', columns'], or [n, rows', columns', out].

    Raises:
        ShapeError: channels, bias or window do not fit. DTypeError: x and weight differ. AttributeValueError: others.

    Source: `mindspore.ops.conv2d`

    Examples:
        >>> import msnb as ms
        >>> import numpy as np
        >>> x, w = ms.Tensor(np.ones((1, 1, 4, 4))), ms.Tensor(np.ones((1, 1, 3, 3)))
        >>> ms.ops.conv2d(x, w).tolist()
        [[[[9.0, 9.0], [9.0, 9.0]]]]
    """
    x, weight = as_tensor(x), as_tensor(weight)
    strides, dilations = pair("conv2d", "stride", stride), pair("conv2d", "dilation", dilation)
    need_format("conv2d", data_format)
    _need_axes("conv2d", x, weight, 4, "batch, channels, rows, columns")
    spans = _spans(weight, dilations)
    pads = resolve_pads("conv2d", pad_mode, padding, places_of(x.shape, data_format), spans, strides)
    y = CONV2D(x, weight, stride=strides, pads=pads, dilation=dilations, groups=groups, data_format=data_format)
    return with_bias("conv2d", y, bias, 2, data_format)


def _spans(weight: Any, dilation: Pair) -> Pair:
    kernel = weight._type.ints()[2:]
    return reach(kernel[0], dilation[0]), reach(kernel[1], dilation[1])


def _one(name: str, what: str, value: Any) -> int:
    """The int that a one-axis attribute is, given as such or in a tuple of one."""
    found = value[0] if isinstance(value, (tuple, list)) and len(value) == 1 else value
    if not isinstance(found, int) or isinstance(found, bool):
        raise ArgumentError(f"{name}: {what} must be an int, got {value!r}.")
    return found


def _row_pads(name: str, padding: int | Sequence[int]) -> tuple[int, ...]:
    """Pads of the one-row image from an int or (before, after)."""
    if isinstance(padding, (tuple, list)) and len(padding) == 2:
        return sides(name, (0, 0, padding[0], padding[1]))
    return sides(name, (0, _one(name, "padding", padding)))


def conv1d(
    x: Any, weight: Any, bias: Any = None, stride: int = 1, pad_mode: str = "valid", padding: int | Sequence[int] = 0,
    dilation: int = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Slide a kernel over rows of samples.

    Args:
        x: [n, channels, length], floats.
        weight: [out, channels / groups, kernel].
        bias: [out] or None.
        stride, dilation, groups: as in ``conv2d``, one int each.
        pad_mode: "valid", "same" or "pad".
        padding: int or (before, after); only with pad_mode="pad".

    Returns:
        Tensor [n, out, length'].

    Raises:
        As ``conv2d``.

    Source: `mindspore.ops.conv1d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.conv1d(ms.Tensor([[[1.0, 2.0, 4.0]]]), ms.Tensor([[[-1.0, 1.0]]])).tolist()
        [[[1.0, 2.0]]]
    """
    x, weight = as_tensor(x), as_tensor(weight)
    _need_axes("conv1d", x, weight, 3, "batch, channels, length")
    step = (1, _one("conv1d", "stride", stride))
    spread = (1, _one("conv1d", "dilation", dilation))
    pads = _row_pads("conv1d", padding)
    y = conv2d(expand_dims(x, 2), expand_dims(weight, 2), bias, step, pad_mode, pads, spread, groups)
    return squeeze(y, 2)


# ---- transposed ----


def transposed_axis(
    name: str, mode: str, size: Size, span: int, stride: int, before: int, after: int, extra: int
) -> tuple[int, int, int]:
    """(size of the result, before, after) along one axis."""
    if isinstance(size, Dim):
        raise ShapeError(f"{name} needs images of known size, an axis is {size}.")
    if mode == "same":
        total = max(span - stride, 0)
        return size * stride + extra, total // 2, total - total // 2
    if mode == "valid":
        return size * stride + max(span - stride, 0) + extra, 0, 0
    return (size - 1) * stride + span - before - after + extra, before, after


def conv2d_transpose(
    x: Any, weight: Any, bias: Any = None, stride: IntOrInts = 1, pad_mode: str = "valid", padding: IntOrInts = 0,
    output_padding: IntOrInts = 0, dilation: IntOrInts = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Transposed convolution: spread every input element over a window of the result.

    Args:
        x: images [n, channels, rows, columns], floats.
        weight: [channels, out / groups, kernel rows, kernel columns], same dtype.
        bias: [out] or None.
        stride: distance of neighbouring windows, int or (rows, columns).
        pad_mode: "valid" (rows' = rows * stride + max(reach - stride, 0)), "same" (rows' = rows * stride) or "pad"
            (rows' = (rows - 1) * stride + reach - top - bottom + output_padding); reach = dilation * (kernel - 1) + 1.
        padding: int, (rows, columns) or (top, bottom, left, right) cut off the result; only with pad_mode="pad".
        output_padding: rows and columns added at the end, less than the stride; only with pad_mode="pad".
        dilation, groups: as in ``conv2d``.

    Returns:
        Tensor [n, out, rows', columns'].

    Raises:
        As ``conv2d``.

    Source: `mindspore.nn.Conv2dTranspose`

    Examples:
        >>> import msnb as ms
        >>> x, w = ms.Tensor([[[[1.0, 2.0]]]]), ms.Tensor([[[[1.0, 10.0]]]])
        >>> ms.ops.conv2d_transpose(x, w, stride=2).tolist()
        [[[[1.0, 10.0, 2.0, 20.0], [0.0, 0.0, 0.0, 0.0]]]]
    """
    name = "conv2d_transpose"
    x, weight = as_tensor(x), as_tensor(weight)
    _need_axes(name, x, weight, 4, "batch, channels, rows, columns")
    strides, dilations = pair(name, "stride", stride), pair(name, "dilation", dilation)
    extra = legal_output_padding(name, output_padding, pad_mode, strides)
    spans = _spans(weight, dilations)
    given = resolve_pads(name, "pad" if pad_mode == "pad" else "valid", padding, (1, 1), spans, strides)
    mode = legal_pad_mode(name, pad_mode)
    high, top, bottom = transposed_axis(name, mode, x.shape[2], spans[0], strides[0], given[0], given[1], extra[0])
    wide, left, right = transposed_axis(name, mode, x.shape[3], spans[1], strides[1], given[2], given[3], extra[1])
    y = CONV2D_INPUT_GRAD(
        x, weight, size=(high, wide), stride=strides, pads=(top, bottom, left, right), dilation=dilations, groups=groups
    )
    return with_bias(name, y, bias)


def legal_pad_mode(name: str, pad_mode: Any) -> str:
    """``pad_mode`` in small letters."""
    mode = pad_mode.lower() if isinstance(pad_mode, str) else ""
    if mode not in ("valid", "same", "pad"):
        raise AttributeValueError(f"{name}: pad_mode must be 'valid', 'same' or 'pad', got {pad_mode!r}.")
    return mode


def legal_output_padding(name: str, value: IntOrInts, pad_mode: str, stride: Sequence[int]) -> tuple[int, ...]:
    """What is added at the end of each axis: less than its stride, only with pad_mode="pad"."""
    extra = per_axis(name, "output_padding", value, len(stride), low=0)
    if any(extra) and pad_mode != "pad":
        raise AttributeValueError(f"{name}: output_padding={value!r} goes with pad_mode='pad', not {pad_mode!r}.")
    if any(extra) and any(more >= max(step, 1) for more, step in zip(extra, stride)):
        raise AttributeValueError(f"{name}: output_padding {extra} must be smaller than the stride {stride}.")
    return extra


def conv1d_transpose(
    x: Any, weight: Any, bias: Any = None, stride: int = 1, pad_mode: str = "valid", padding: int | Sequence[int] = 0,
    output_padding: int = 0, dilation: int = 1, groups: int = 1,
) -> Tensor:  # fmt: skip
    """Transposed convolution over rows of samples.

    Args:
        x: [n, channels, length].
        weight: [channels, out / groups, kernel].
        bias, stride, pad_mode, padding, output_padding, dilation, groups: as in ``conv2d_transpose``, one int each.

    Returns:
        Tensor [n, out, length'].

    Raises:
        As ``conv2d_transpose``.

    Source: `mindspore.nn.Conv1dTranspose`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.conv1d_transpose(ms.Tensor([[[1.0, 2.0]]]), ms.Tensor([[[1.0, 10.0]]]), stride=2).tolist()
        [[[1.0, 10.0, 2.0, 20.0]]]
    """
    name = "conv1d_transpose"
    x, weight = as_tensor(x), as_tensor(weight)
    _need_axes(name, x, weight, 3, "batch, channels, length")
    y = conv2d_transpose(
        expand_dims(x, 2), expand_dims(weight, 2), bias, (1, _one(name, "stride", stride)), pad_mode,
        _row_pads(name, padding), (0, _one(name, "output_padding", output_padding)),
        (1, _one(name, "dilation", dilation)), groups,
    )  # fmt: skip
    return squeeze(y, 2)


conv_transpose2d = conv2d_transpose
conv_transpose1d = conv1d_transpose

__all__ = [
    "conv1d", "conv1d_transpose", "conv2d", "conv2d_transpose", "conv_transpose1d", "conv_transpose2d",
]  # fmt: skip
