"""Pooling layers. MindSpore's defaults: a window of 1 and a stride of 1 (in PyTorch the stride is the window's size).

Source: `mindspore.nn.MaxPool2d` and its neighbours
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, events
from msnb.nn.cells.cell import Cell
from msnb.ops.definition import NCHW, IntOrInts, need_format, need_ints

__all__ = ["AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AvgPool1d", "AvgPool2d", "MaxPool1d", "MaxPool2d"]


def in_batch(axes: int, pooled: Callable[[Any], Any], x: Any) -> Any:
    """What ``pooled`` makes of x; where x has an axis less than ``axes``, it is an example without a batch."""
    if x.ndim != axes - 1:
        return pooled(x)
    found = pooled(ops.expand_dims(x, 0))
    return tuple(ops.squeeze(y, 0) for y in found) if isinstance(found, tuple) else ops.squeeze(found, 0)


class Pooling(Cell):
    """What the pooling layers share; ``_rows``: it pools rows of samples, not images; ``_axes``: of a batch; ``_pool``:
    the function that it calls."""

    _rows = False
    _axes = 4
    _pool: Any

    def __init__(
        self, kernel_size: IntOrInts = 1, stride: IntOrInts | None = None, pad_mode: str = "valid",
        padding: IntOrInts = 0, ceil_mode: bool = False, data_format: str = "NCHW",
    ) -> None:  # fmt: skip
        super().__init__()
        need_format(type(self).__name__, data_format)
        if self._rows and data_format != NCHW:
            raise AttributeValueError(
                f"{type(self).__name__}: data_format={data_format!r} is for images; rows of samples are "
                "[n, channels, length].",
                hint="x.swapaxes(1, 2) brings the channels to axis 1.",
            )
        need_ints(type(self).__name__, kernel_size=kernel_size, stride=stride, padding=padding)
        self.kernel_size = kernel_size
        self.pad_mode: str = pad_mode
        self.padding = padding
        self.stride: IntOrInts = self._stride_unsaid() if stride is None else stride
        self.ceil_mode: bool = ceil_mode
        self.data_format: str = data_format

    def construct(self, x: Any) -> Any:
        """The layer, of a batch or of one example without one."""
        return in_batch(self._axes, self._pooled, x)

    def _pooled(self, x: Any, **more: Any) -> Any:
        if self._rows:
            one(self.kernel_size), one(self.stride)
        elif self._axes == 4:
            more["data_format"] = self.data_format
        sizes = self.kernel_size, self.stride, self.pad_mode, self.padding, self.ceil_mode
        return type(self)._pool(x, *sizes, **more)

    def _stride_unsaid(self) -> int:
        """1, MindSpore's default; warns once that PyTorch's is the window's size."""
        if self.kernel_size not in (1, (1, 1)):
            called = f"nn.{type(self).__name__}({self.kernel_size}"
            text = f"{called}) moves its window by 1, as in MindSpore; PyTorch's moves by the window's size"
            events.notice(f"{text}: {called}, stride={self.kernel_size}).", key="MaxPool.stride")
        return 1

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, pad_mode={self.pad_mode!r}"


class MaxPooling(Pooling):
    """What the max poolings share."""

    def __init__(
        self, kernel_size: IntOrInts = 1, stride: IntOrInts | None = None, pad_mode: str = "valid",
        padding: IntOrInts = 0, dilation: IntOrInts = 1, return_indices: bool = False, ceil_mode: bool = False,
        data_format: str = "NCHW",
    ) -> None:  # fmt: skip
        if isinstance(dilation, bool) or isinstance(return_indices, str):
            raise AttributeValueError(
                f"{type(self).__name__}: dilation and return_indices stand before ceil_mode.",
                hint="name them: ceil_mode=True, data_format='NHWC'.",
            )
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        need_ints(type(self).__name__, dilation=dilation)
        self.dilation: IntOrInts = dilation
        self.return_indices: bool = bool(return_indices)

    def _pooled(self, x: Any, **more: Any) -> Any:
        return super()._pooled(x, dilation=self.dilation, return_indices=self.return_indices)


class MaxPool2d(MaxPooling):
    """The largest value of each window of images; arguments as in ``ops.max_pool2d`` (stride 1 by default), in
    MindSpore's order: ``dilation`` and ``return_indices`` before ``ceil_mode``.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.MaxPool2d(2, 2)(ms.Tensor([[[[1.0, 5.0], [3.0, 2.0]]]])).tolist()
        [[[[5.0]]]]
    """

    _pool = ops.max_pool2d


def one(size: IntOrInts) -> int:
    """The int of a one-axis window. Raises TypeError for a pair."""
    if not isinstance(size, int):
        raise TypeError(f"a one-axis pooling takes ints, got {size!r}.")
    return size


class MaxPool1d(MaxPooling):
    """The largest value of each window of rows of samples; arguments as in ``ops.max_pool1d`` (stride 1 by default)."""

    _rows = True
    _axes = 3
    _pool = ops.max_pool1d


class AveragePooling(Pooling):
    def __init__(
        self, kernel_size: IntOrInts = 1, stride: IntOrInts = 1, pad_mode: str = "valid", padding: IntOrInts = 0,
        ceil_mode: bool = False, count_include_pad: bool = True, divisor_override: int | None = None,
        data_format: str = "NCHW",
    ) -> None:  # fmt: skip
        super().__init__(kernel_size, stride, pad_mode, padding, ceil_mode, data_format)
        if divisor_override is not None and not divisor_override:
            raise AttributeValueError(f"{type(self).__name__}: divisor_override must not be 0.")
        self.divisor_override = divisor_override
        self.count_include_pad: bool = count_include_pad

    def _pooled(self, x: Any, **more: Any) -> Any:
        """Means, or sums over the divisor that was asked for."""
        more["count_include_pad"] = self.count_include_pad
        if not self._rows:
            more["divisor_override"] = self.divisor_override
        return super()._pooled(x, **more)


class AvgPool2d(AveragePooling):
    """The mean of each window of images; arguments as in ``ops.avg_pool2d`` (stride 1 by default).

    Examples:
        >>> import msnb as ms
        >>> ms.nn.AvgPool2d(2, 2)(ms.Tensor([[[[1.0, 5.0], [3.0, 3.0]]]])).tolist()
        [[[[3.0]]]]
    """

    _pool = ops.avg_pool2d


class AvgPool1d(AveragePooling):
    """The mean of each window of rows of samples; arguments as in ``ops.avg_pool1d`` (stride 1 by default)."""

    _rows = True
    _axes = 3
    _pool = ops.avg_pool1d


class AdaptivePooling(Cell):
    """What poolings to a number of results share."""

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        need_ints(type(self).__name__, output_size=output_size)
        self.output_size = output_size

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"output_size={self.output_size}"


class AdaptiveAvgPool2d(AdaptivePooling):
    """Means over windows chosen so that ``output_size`` results come out (int, (rows, columns), None keeps an axis).

    Examples:
        >>> import msnb as ms
        >>> ms.nn.AdaptiveAvgPool2d(1)(ms.ops.ones((2, 3, 5, 7))).shape
        (2, 3, 1, 1)
    """

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.adaptive_avg_pool2d(x, self.output_size)


class AdaptiveAvgPool1d(AdaptiveAvgPool2d):
    """Means over ``output_size`` windows of rows of samples."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return in_batch(3, lambda whole: ops.adaptive_avg_pool1d(whole, self.output_size), x)
