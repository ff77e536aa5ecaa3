"""Layers for volumes [n, channels, depth, rows, columns]; the formulas are in ``msnb.ops.spatial.volumetric``.

MindSpore's defaults as in the layers for images: pad_mode "same" and no bias, poolings with a stride of 1.
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import dtypes
from msnb.nn.layers.convolution import Convolution, ConvolutionTranspose
from msnb.nn.layers.pooling import AdaptivePooling, AveragePooling, MaxPooling
from msnb.ops.definition import IntOrInts, need_ints, worded

__all__ = ["AdaptiveAvgPool3d", "AvgPool3d", "Conv3d", "Conv3dTranspose", "MaxPool3d"]


def _need_ncdhw(layer: str, data_format: str) -> None:
    if data_format != "NCDHW":
        raise AttributeValueError(f"{layer}: data_format must be 'NCDHW', got {data_format!r}.")


class Conv3d(Convolution):
    """Convolution of volumes.

    Args:
        in_channels, out_channels, group, has_bias, weight_init, bias_init, dtype: as in ``Conv2d``.
        data_format: "NCDHW".
        kernel_size, stride, dilation: int or (depth, rows, columns).
        pad_mode: "same" (MindSpore's default: ceil(size / stride) results), "valid" (none) or "pad" (see padding).
        padding: int, (depth, rows, columns) or (front, back, top, bottom, left, right); only with pad_mode="pad".

    Source: `mindspore.nn.Conv3d`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Conv3d(3, 8, (2, 3, 3), stride=2)(ms.ops.zeros((1, 3, 4, 9, 9))).shape
        (1, 8, 2, 5, 5)
    """

    _layer, _axes, _op = "Conv3d", 3, staticmethod(ops.conv3d)

    @worded
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: IntOrInts, stride: IntOrInts = 1,
        pad_mode: str = "same", padding: IntOrInts = 0, dilation: IntOrInts = 1, group: int = 1, has_bias: bool = False,
        weight_init: Any = None, bias_init: Any = None, data_format: str = "NCDHW", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        _need_ncdhw(self._layer, data_format)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, dtype,
        )  # fmt: skip


class Conv3dTranspose(ConvolutionTranspose):
    """Transposed convolution of volumes.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, group, has_bias, weight_init, bias_init,
            dtype: as in ``Conv3d``; the weight is [in, out/group, depth, rows, columns].
        pad_mode: "same" (depth * stride results), "valid" or "pad"; see ``ops.conv3d_transpose``.
        output_padding: layers, rows and columns added at the end; only with pad_mode="pad".
        data_format: "NCDHW".

    Source: `mindspore.nn.Conv3dTranspose`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Conv3dTranspose(4, 2, 3, stride=2)(ms.ops.zeros((1, 4, 2, 5, 5))).shape
        (1, 2, 4, 10, 10)
    """

    _layer, _axes, _op = "Conv3dTranspose", 3, staticmethod(ops.conv3d_transpose)

    @worded
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: IntOrInts, stride: IntOrInts = 1,
        pad_mode: str = "same", padding: IntOrInts = 0, dilation: IntOrInts = 1, group: int = 1,
        output_padding: IntOrInts = 0, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
        data_format: str = "NCDHW", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        _need_ncdhw(self._layer, data_format)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, dtype,
        )  # fmt: skip
        need_ints("Conv3dTranspose", output_padding=output_padding)
        self.output_padding = output_padding


class MaxPool3d(MaxPooling):
    """The largest value of each window of volumes; arguments as in ``ops.max_pool3d`` (stride 1 by default).

    Source: `mindspore.nn.MaxPool3d`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.MaxPool3d(2, 2)(ms.ops.zeros((1, 3, 4, 6, 6))).shape
        (1, 3, 2, 3, 3)
    """

    _axes = 5
    _pool = ops.max_pool3d


class AvgPool3d(AveragePooling):
    """The mean of each window of volumes; arguments as in ``ops.avg_pool3d`` (stride 1 by default).

    Source: `mindspore.nn.AvgPool3d`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.AvgPool3d(2, 2)(ms.ops.zeros((1, 3, 4, 6, 6))).shape
        (1, 3, 2, 3, 3)
    """

    _axes = 5
    _pool = ops.avg_pool3d


class AdaptiveAvgPool3d(AdaptivePooling):
    """Means over windows chosen so that ``output_size`` results come out (int or three, None keeps an axis).

    Source: `mindspore.nn.AdaptiveAvgPool3d`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.AdaptiveAvgPool3d(1)(ms.ops.ones((2, 3, 4, 5, 7))).shape
        (2, 3, 1, 1, 1)
    """

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.adaptive_avg_pool3d(x, self.output_size)
