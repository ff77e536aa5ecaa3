"""MindSpore's operator classes of convolutions: the attributes repeat the weight's sizes, which are checked.

    Conv2D, Conv3D(out_channel, kernel_size, ...)(x, weight)
    Conv2DTranspose(out_channel, kernel_size, ...)(dout, weight, input_size)     the gradient of Conv2D by its input
    Conv3DTranspose(in_channel, out_channel, kernel_size, ...)(dout, weight)

Source: `mindspore.ops.Conv2DTranspose`
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError
from msnb.ops.definition import as_ints, as_tensor, pair, reach, resolve_pads
from msnb.ops.spatial.convolution_records import CONV2D_INPUT_GRAD


def _need_kernel(name: str, weight: Any, channels: int, kernel_size: Any, mode: int) -> None:
    if mode != 1:
        raise AttributeValueError(f"{name}: mode must be 1, a convolution, got {mode!r}.")
    axes = weight.ndim - 2
    size = (kernel_size,) * axes if isinstance(kernel_size, int) else tuple(kernel_size)
    if (weight.shape[0], *weight.shape[2:]) != (channels, *size):
        raise AttributeValueError(
            f"{name}: the weight has shape {list(weight.shape)}, the attributes say {channels} kernels of {list(size)}."
        )


def _need_format(name: str, data_format: str, legal: str) -> None:
    if data_format != legal:
        raise AttributeValueError(f"{name}: data_format is {legal!r}, not {data_format!r}.")


def _mode(pad_mode: Any) -> Any:
    return pad_mode.lower() if isinstance(pad_mode, str) else pad_mode


def conv2d(x: Any, weight: Any, *, out_channel: int, kernel_size: Any, mode: int, pad_mode: str, pad: Any, stride: Any,
           dilation: Any, group: int, data_format: str) -> Any:  # fmt: skip
    """``Conv2D``."""
    _need_kernel("Conv2D", weight, out_channel, kernel_size, mode)
    return ops.conv2d(x, weight, None, stride, _mode(pad_mode), pad, dilation, group, data_format)


def conv3d(x: Any, weight: Any, *, out_channel: int, kernel_size: Any, mode: int, pad_mode: str, pad: Any, stride: Any,
           dilation: Any, group: int, data_format: str) -> Any:  # fmt: skip
    """``Conv3D``."""
    _need_format("Conv3D", data_format, "NCDHW")
    _need_kernel("Conv3D", weight, out_channel, kernel_size, mode)
    return ops.conv3d(x, weight, None, stride, _mode(pad_mode), pad, dilation, group)


def conv2d_transpose(dout: Any, weight: Any, input_size: Any, *, out_channel: int, kernel_size: Any, pad_mode: str,
                     pad: Any, pad_list: Any, mode: int, stride: Any, dilation: Any, group: int,
                     data_format: str) -> Any:  # fmt: skip
    """``Conv2DTranspose`` and ``Conv2DBackpropInput``: the image of ``input_size`` whose windows ``dout`` weighs."""
    name = "Conv2DTranspose"
    _need_format(name, data_format, "NCHW")
    dout, weight = as_tensor(dout), as_tensor(weight)
    _need_kernel(name, weight, out_channel, kernel_size, mode)
    rows, columns = _sizes(input_size)[2:]
    steps, holes = pair(name, "stride", stride), pair(name, "dilation", dilation)
    spans = [reach(k, hole) for k, hole in zip(weight.shape[2:], holes)]
    given = pad if pad_list is None else pad_list
    top, bottom, left, right = resolve_pads(name, _mode(pad_mode), given, (rows, columns), spans, steps)
    return CONV2D_INPUT_GRAD(
        dout, weight, size=(rows, columns), stride=steps, pads=(top, bottom, left, right), dilation=holes, groups=group
    )


def _sizes(shape: Any) -> Sequence[int]:
    found: Sequence[int] = as_ints("Conv2DTranspose", (shape,))
    if len(found) != 4:
        raise AttributeValueError(f"Conv2DTranspose: input_size is (n, channels, rows, columns), got {shape!r}.")
    return found


def conv3d_transpose(dout: Any, weight: Any, *, in_channel: int, out_channel: int, kernel_size: Any, mode: int,
                     pad_mode: str, pad: Any, stride: Any, dilation: Any, group: int, output_padding: Any,
                     data_format: str) -> Any:  # fmt: skip
    """``Conv3DTranspose``."""
    _need_format("Conv3DTranspose", data_format, "NCDHW")
    _need_kernel("Conv3DTranspose", weight, in_channel, kernel_size, mode)
    if weight.shape[1] * group != out_channel:
        raise AttributeValueError(
            f"Conv3DTranspose: a weight {list(weight.shape)} makes {weight.shape[1] * group} channels, the attributes "
            f"say {out_channel}."
        )
    return ops.conv3d_transpose(dout, weight, None, stride, _mode(pad_mode), pad, output_padding, dilation, group)


NEEDED: Any = inspect.Parameter.empty
_KERNEL = {"out_channel": NEEDED, "kernel_size": NEEDED}
_WINDOWS = {"mode": 1, "pad_mode": "valid", "pad": 0, "stride": 1, "dilation": 1, "group": 1}
_OF_INPUT = {**_KERNEL, "pad_mode": "valid", "pad": 0, "pad_list": None, "mode": 1, "stride": 1, "dilation": 1,
             "group": 1, "data_format": "NCHW"}  # fmt: skip
CONVOLUTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "Conv2D": (conv2d, {**_KERNEL, **_WINDOWS, "data_format": "NCHW"}),
    "Conv3D": (conv3d, {**_KERNEL, **_WINDOWS, "data_format": "NCDHW"}),
    "Conv2DTranspose": (conv2d_transpose, _OF_INPUT), "Conv2DBackpropInput": (conv2d_transpose, _OF_INPUT),
    "Conv3DTranspose": (conv3d_transpose, {"in_channel": NEEDED, **_KERNEL, **_WINDOWS, "output_padding": 0,
                                           "data_format": "NCDHW"}),
}  # fmt: skip
"""Name -> (function of tensors and attributes, attributes with defaults)."""
