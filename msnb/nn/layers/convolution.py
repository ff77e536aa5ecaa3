"""Convolution layers. MindSpore's defaults: pad_mode "same", no bias.

layer              x                       weight                              result
Conv2d             [n, in, h, w]           [out, in/group, kh, kw]             [n, out, h', w']
Conv2dTranspose    [n, in, h, w]           [in, out/group, kh, kw]             [n, out, h', w']
Conv1d, Conv1dTranspose: the same with one axis of positions
"""

from __future__ import annotations

from typing import Any, TypeVar

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import dtypes
from msnb.nn.cells import Cell, like_mindspore
from msnb.nn.initializer import fans
from msnb.nn.layers.basic import first_bias, first_weight, positive_int
from msnb.ops.definition import IntOrInts, need_format, need_ints, per_axis, worded
from msnb.ops.tensor.operators import named

__all__ = ["Conv1d", "Conv1dTranspose", "Conv2d", "Conv2dTranspose"]


class Convolution(Cell):
    """What the layers share, over any number of axes of positions: attributes, first values, how they look."""

    _layer, _axes, _transposed = "Conv2d", 2, False
    _op: Any = None

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: IntOrInts, stride: IntOrInts = 1,
        pad_mode: str = "same", padding: IntOrInts = 0, dilation: IntOrInts = 1, group: int = 1, has_bias: bool = False,
        weight_init: Any = None, bias_init: Any = None, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        _need_channels(in_channels, out_channels, group)
        first, second = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        kernel = self._sizes("kernel_size", kernel_size)
        shape = (first, second // group, *((kernel,) if isinstance(kernel, int) else kernel))
        self.in_channels: int = in_channels
        self.out_channels: int = out_channels
        self.group: int = group
        self.kernel_size: tuple[int | Any, ...] = shape[2:]
        if self._axes == 1 and like_mindspore():  # an image of one row
            shape = (*shape[:2], 1, *shape[2:])
            weight_init = _of_one_row(weight_init)
        self.stride: Any = self._sizes("stride", stride)
        self.dilation: Any = self._sizes("dilation", dilation)
        need_ints(self._layer, padding=padding)
        self.pad_mode: str = _legal_mode(pad_mode, padding)
        self.padding: IntOrInts = padding
        if len(shape) > self._axes + 2:
            self.kernel_size, self.stride, self.dilation = shape[2:], (1, self.stride), (1, self.dilation)
            self.padding = (0, 0, *per_axis(self._layer, "padding", padding, 2, 0))
        self.has_bias: bool = bool(has_bias)
        self.weight = first_weight(weight_init, shape, dtype)
        self.bias = first_bias(bias_init, out_channels, fans(shape)[0], dtype) if has_bias else None

    def construct(self, x: Any) -> Any:
        """The layer."""
        weight, bias = self._weight(), self.compute(self.bias)
        stride, padding, dilation = self._window()
        return self._op(x, weight, bias, stride, self.pad_mode, padding, dilation, self.group)

    def _window(self) -> tuple[Any, Any, Any]:
        """Stride, padding and dilation as the op takes them: those of a row without the axis of one."""
        if len(self.kernel_size) == self._axes:
            return self.stride, self.padding, self.dilation
        return self.stride[1:], self.padding[2:], self.dilation[1:]  # type: ignore[index]

    def _weight(self) -> Any:
        """The weight as the op takes it: of rows, three axes."""
        weight = self.compute(self.weight)
        return ops.reshape(weight, (*weight.shape[:2], weight.shape[3])) if weight.ndim > self._axes + 2 else weight

    def _sizes(self, what: str, value: Any) -> Any:
        """One number per axis, as the op takes them: an int for one axis."""
        return positive_int(what, value) if self._axes == 1 else per_axis(self._layer, what, value, self._axes)

    def extend_repr(self) -> str:
        """Its sizes."""
        kernel = self.kernel_size[0] if len(self.kernel_size) == 1 else self.kernel_size
        return (
            f"in_channels={self.in_channels}, out_channels={self.out_channels}, kernel_size={kernel}, "
            f"stride={self.stride}, pad_mode={self.pad_mode!r}, padding={self.padding}, dilation={self.dilation}, "
            f"group={self.group}, has_bias={self.has_bias}"
        )


class ConvolutionTranspose(Convolution):
    """What the transposed ones share."""

    _transposed = True
    output_padding: IntOrInts = 0

    def construct(self, x: Any) -> Any:
        """The layer."""
        weight, bias = self._weight(), self.compute(self.bias)
        stride, padding, dilation = self._window()
        return self._op(x, weight, bias, stride, self.pad_mode, padding, self.output_padding, dilation, self.group)


_Layer = TypeVar("_Layer", bound=type[Convolution])


def with_own_init(layer: _Layer) -> _Layer:
    """``layer`` with the shared ``__init__`` under its own name: Python's errors then say ``Conv1d.__init__()``."""
    layer.__init__ = worded(named("__init__", Convolution.__init__, layer.__name__))  # type: ignore[method-assign]
    return layer


def _of_one_row(init: Any) -> Any:
    return ops.reshape(init, (*init.shape[:2], 1, init.shape[2])) if getattr(init, "ndim", 0) == 3 else init


def _legal_mode(pad_mode: Any, padding: Any) -> str:
    mode = pad_mode.lower() if isinstance(pad_mode, str) else ""
    if mode not in ("valid", "same", "pad"):
        raise AttributeValueError(f"pad_mode must be 'valid', 'same' or 'pad', got {pad_mode!r}.")
    if mode != "pad" and padding != 0 and any(padding if isinstance(padding, (tuple, list)) else (padding,)):
        raise AttributeValueError(
            f"padding={padding!r} goes with pad_mode='pad', not {mode!r}.", hint="write pad_mode='pad'."
        )
    return mode


def _need_channels(in_channels: Any, out_channels: Any, group: Any) -> None:
    for what, value in (("in_channels", in_channels), ("out_channels", out_channels), ("group", group)):
        positive_int(what, value)
    for what, value in (("in_channels", in_channels), ("out_channels", out_channels)):
        if value % group:
            raise AttributeValueError(f"{what}={value} does not divide into group={group}.")


class Conv2d(Convolution):
    """Convolution of images.

    Args:
        in_channels, out_channels: channels before and after.
        kernel_size: int or (rows, columns).
        stride: step, int or (rows, columns).
        pad_mode: "same" (MindSpore's default: ceil(size / stride) results), "valid" (none) or "pad" (see padding).
        padding: int, (rows, columns) or (top, bottom, left, right); only with pad_mode="pad".
        dilation: int or (rows, columns).
        group: how many separate convolutions share the channels.
        has_bias: False by default, as in MindSpore (PyTorch: True).
        weight_init, bias_init: name, number, Initializer or Tensor; by default uniform in +-1/sqrt(fan_in).
        data_format: "NCHW", or "NHWC" for images with their channels last; the weight is the same for both.
        dtype: of the Parameters.

    Source: `mindspore.nn.Conv2d`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Conv2d(1, 6, 5, pad_mode="valid")(ms.ops.zeros((2, 1, 28, 28))).shape
        (2, 6, 24, 24)
    """

    @worded
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: IntOrInts, stride: IntOrInts = 1,
        pad_mode: str = "same", padding: IntOrInts = 0, dilation: IntOrInts = 1, group: int = 1, has_bias: bool = False,
        weight_init: Any = None, bias_init: Any = None, data_format: str = "NCHW", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        need_format("Conv2d", data_format)
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, dtype,
        )  # fmt: skip
        self.data_format = data_format

    def construct(self, x: Any) -> Any:
        """The layer."""
        weight, bias = self.compute(self.weight), self.compute(self.bias)
        return ops.conv2d(
            x, weight, bias, self.stride, self.pad_mode, self.padding, self.dilation, self.group, self.data_format
        )


@with_own_init
class Conv1d(Convolution):
    """Convolution of rows of samples [n, in_channels, length].

    Args:
        in_channels, out_channels, pad_mode, group, has_bias, weight_init, bias_init, dtype: as in ``Conv2d``.
        kernel_size, stride, dilation: ints.
        padding: int or (before, after); only with pad_mode="pad".

    Source: `mindspore.nn.Conv1d`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Conv1d(3, 8, 4, pad_mode="valid")(ms.ops.zeros((2, 3, 10))).shape
        (2, 8, 7)
    """

    _layer, _axes, _op = "Conv1d", 1, staticmethod(ops.conv1d)


class Conv2dTranspose(ConvolutionTranspose):
    """Transposed convolution of images.

    Args:
        in_channels, out_channels, kernel_size, stride, padding, dilation, group, has_bias, weight_init, bias_init,
            dtype: as in ``Conv2d``; the weight is [in, out/group, rows, columns].
        pad_mode: "same" (rows * stride results), "valid" or "pad"; see ``ops.conv2d_transpose``.
        output_padding: rows and columns added at the end; only with pad_mode="pad".

    Source: `mindspore.nn.Conv2dTranspose`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Conv2dTranspose(4, 2, 3, stride=2)(ms.ops.zeros((1, 4, 5, 5))).shape
        (1, 2, 10, 10)
    """

    _layer, _op = "Conv2dTranspose", staticmethod(ops.conv2d_transpose)

    @worded
    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: IntOrInts, stride: IntOrInts = 1,
        pad_mode: str = "same", padding: IntOrInts = 0, output_padding: IntOrInts = 0, dilation: IntOrInts = 1,
        group: int = 1, has_bias: bool = False, weight_init: Any = None, bias_init: Any = None,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__(
            in_channels, out_channels, kernel_size, stride, pad_mode, padding, dilation, group, has_bias, weight_init,
            bias_init, dtype,
        )  # fmt: skip
        need_ints("Conv2dTranspose", output_padding=output_padding)
        self.output_padding = output_padding


@with_own_init
class Conv1dTranspose(ConvolutionTranspose):
    """Transposed convolution of rows of samples [n, in_channels, length].

    Args:
        in_channels, out_channels, pad_mode, group, has_bias, weight_init, bias_init, dtype: as in ``Conv2dTranspose``.
        kernel_size, stride, dilation: ints.
        padding: int or (before, after); only with pad_mode="pad".

    Source: `mindspore.nn.Conv1dTranspose`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Conv1dTranspose(4, 2, 3, stride=2)(ms.ops.zeros((1, 4, 5))).shape
        (1, 2, 10)
    """

    _layer, _axes, _op = "Conv1dTranspose", 1, staticmethod(ops.conv1d_transpose)
