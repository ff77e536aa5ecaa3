"""``msnb.mint.nn``: PyTorch's layers, with its defaults and its names of Parameters.

Layers without Parameters are msnb's own wherever their arguments are the same.
Source: `mindspore.mint`
"""

from __future__ import annotations

import math
from typing import Any

from msnb import nn, ops
from msnb.base import AttributeValueError, public_names
from msnb.core import WORLD_GROUP, Parameter, dtypes, members_of
from msnb.nn.cells import Cell, like_mindspore
from msnb.nn.initializer import HeUniform, Uniform, initializer
from msnb.nn.mindspore.former_layers import MeanPooling
from msnb.nn.mindspore.mint_activations import (
    ELU as ELU,
    Dropout as Dropout,
    Hardtanh as Hardtanh,
    PReLU as PReLU,
    ReLU6 as ReLU6,
    SiLU as SiLU,
    Threshold as Threshold,
)
from msnb.ops.collective import ALL_REDUCE
from msnb.ops.mindspore import mint_functional as F

_SAME = (
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "BCELoss", "ConstantPad1d", "ConstantPad2d",
    "CosineEmbeddingLoss", "CrossEntropyLoss", "GLU", "Identity", "KLDivLoss", "L1Loss", "LogSigmoid", "MSELoss",
    "MarginRankingLoss", "Mish", "NLLLoss", "PixelShuffle", "ReLU", "ReflectionPad1d", "ReflectionPad2d",
    "ReplicationPad1d", "ReplicationPad2d", "Sigmoid", "SoftMarginLoss", "Softplus", "Softsign", "Tanh", "Tanhshrink",
    "Upsample", "ZeroPad2d", "TripletMarginLoss", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "ConstantPad3d",
    "ReflectionPad3d", "ReplicationPad3d", "Dropout2d", "MaxUnpool2d",
)  # fmt: skip
for _name in _SAME:
    globals()[_name] = getattr(nn, _name)
Hardshrink = nn.HShrink
Hardsigmoid: type[Cell] = nn.HSigmoid
Hardswish: type[Cell] = nn.HSwish
SELU, Softshrink, functional = nn.SeLU, nn.SoftShrink, F
_OWN = (
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCEWithLogitsLoss", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "Conv1d",
    "Conv2d", "Conv3d", "ConvTranspose2d", "Dropout", "ELU", "Embedding", "Flatten", "Fold", "GELU", "GroupNorm",
    "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LayerNorm", "LeakyReLU", "Linear", "LogSoftmax", "MaxPool2d",
    "PReLU", "ReLU6", "SELU", "SiLU", "SmoothL1Loss", "Softmax", "Softmin", "Softshrink", "SyncBatchNorm", "Threshold",
    "Unfold", "UpsamplingBilinear2d", "UpsamplingNearest2d", "ZeroPad1d", "ZeroPad3d", "functional",
)  # fmt: skip
__all__ = [*_SAME, *_OWN]


def __dir__() -> list[str]:
    return public_names(__name__)


def _ones_and_zeros(cell: Any, shape: Any, affine: bool, bias: bool, dtype: Any) -> None:
    cell.weight = Parameter(initializer("ones", shape, dtype), name="weight") if affine else None
    cell.bias = Parameter(initializer("zeros", shape, dtype), name="bias") if affine and bias else None


class Linear(nn.Linear):
    """x W^T + b.

    Args:
        in_features, out_features: sizes of the last axis before and after.
        bias: whether b is added.
        weight_init, bias_init, dtype: first values, by default those of PyTorch.
    """


class BCEWithLogitsLoss(nn.BCEWithLogitsLoss):
    """``nn.BCEWithLogitsLoss`` with PyTorch's order of arguments.

    Args:
        weight: of each element, or None.
        reduction: "mean", "sum" or "none".
        pos_weight: of the positive elements, or None.
    """

    def __init__(self, weight: Any = None, reduction: str = "mean", pos_weight: Any = None) -> None:
        super().__init__(reduction, weight, pos_weight)


class SmoothL1Loss(nn.SmoothL1Loss):
    """``nn.SmoothL1Loss`` with PyTorch's order and default.

    Args:
        reduction: "mean", "sum" or "none".
        beta: where the square ends and the line begins.
    """

    def __init__(self, reduction: str = "mean", beta: float = 1.0) -> None:
        super().__init__(beta, reduction)


class Flatten(Cell):
    """Axes ``start_dim`` to ``end_dim`` as one."""

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim: int = start_dim
        self.end_dim: int = end_dim

    def construct(self, input: Any) -> Any:
        """The layer."""
        return ops.flatten(input, start_dim=self.start_dim, end_dim=self.end_dim)


class Softmax(Cell):
    """Softmax along ``dim``; None: the first axis of 0, 1 or 3 axes, else the second."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim: int | None = dim

    def construct(self, input: Any) -> Any:
        """The layer."""
        return F.softmax(input, self.dim)


class LogSoftmax(Softmax):
    """log(softmax(x)) along ``dim``; None: as for ``Softmax``."""

    def construct(self, input: Any) -> Any:
        """The layer."""
        return F.log_softmax(input, self.dim)


class Softmin(Softmax):
    """softmax(-x) along ``dim``; None: as for ``Softmax``."""

    def construct(self, input: Any) -> Any:
        """The layer."""
        return F.softmin(input, self.dim)


class GELU(Cell):
    """x times the normal distribution's share below x; ``approximate`` is "none" or "tanh"."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate: str = approximate

    def construct(self, input: Any) -> Any:
        """The layer."""
        return ops.gelu(input, self.approximate)


class LeakyReLU(Cell):
    """x where it is positive, else ``negative_slope`` times x."""

    def __init__(self, negative_slope: float = 0.01) -> None:
        super().__init__()
        self.negative_slope: float = negative_slope

    def construct(self, input: Any) -> Any:
        """The layer."""
        return F.leaky_relu(input, self.negative_slope)


_BORDERS = ("zeros", "reflect", "replicate", "circular")


class _Convolution(Cell):
    """What the convolutions share; ``_axes`` is how many axes of space there are."""

    _axes, _function = 2, staticmethod(F.conv2d)
    transposed: bool = False

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        dilation: Any = 1, groups: int = 1, bias: bool = True, padding_mode: str = "zeros", dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        modes = ("zeros",) if self.transposed or isinstance(padding, str) else _BORDERS
        if padding_mode not in modes:
            raise AttributeValueError(f"{type(self).__name__}: padding_mode is one of {modes}, not {padding_mode!r}.")
        size = self._sizes(kernel_size)
        self.in_channels: int = in_channels
        self.out_channels: int = out_channels
        self.groups: int = groups
        self.kernel_size: tuple[int, ...] = size
        self.stride: tuple[int, ...] = self._sizes(stride)
        self.dilation: tuple[int, ...] = self._sizes(dilation)
        self.padding: Any = padding if isinstance(padding, str) else self._sizes(padding)
        self.output_padding: Any = self._sizes(0)
        self.padding_mode: str = padding_mode
        self._draw_weights((out_channels, in_channels // groups, *size), out_channels, bias, dtype)

    def _sizes(self, given: Any) -> tuple[Any, ...]:
        """One number per axis of space."""
        if isinstance(given, (tuple, list)):
            return tuple(given) if len(given) > 1 else tuple(given) * self._axes
        return (given,) * self._axes

    def _draw_weights(self, shape: tuple[int, ...], out_channels: int, bias: bool, dtype: Any) -> None:
        own, bound = dtype or dtypes.float32, 1.0 / math.sqrt(math.prod(shape[1:]))
        self.weight: Parameter = Parameter(initializer(HeUniform(math.sqrt(5)), shape, own), name="weight")
        self.bias: Parameter | None = None
        if bias:
            self.bias = Parameter(initializer(Uniform(bound), (out_channels,), own), name="bias")

    def construct(self, input: Any) -> Any:
        """The layer."""
        weight, bias = self.compute(self.weight), self.compute(self.bias)
        padding = self.padding
        if self.padding_mode != "zeros":
            input = ops.pad(input, [side for side in reversed(padding) for _ in range(2)], self.padding_mode)
            padding = 0
        return self._function(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_Convolution):
    """Convolution of rows [n, channels, length]; arguments as of ``Conv2d``."""

    _axes, _function = 1, staticmethod(F.conv1d)


class Conv2d(_Convolution):
    """Convolution of images [n, channels, height, width].

    Args:
        in_channels, out_channels: channels before and after.
        kernel_size, stride, padding, dilation: int or (rows, columns); padding may be "same" or "valid" too.
        groups: how many separate convolutions share the channels.
        bias: whether a bias is added.
        dtype: of the Parameters.

    Examples:
        >>> import msnb as ms
        >>> ms.mint.nn.Conv2d(1, 6, 5, padding=2)(ms.ops.zeros((2, 1, 28, 28))).shape
        (2, 6, 28, 28)
    """

    conv2d = staticmethod(F.conv2d)


class Conv3d(_Convolution):
    """Convolution of volumes [n, channels, depth, height, width]; arguments as of ``Conv2d``."""

    _axes, _function = 3, staticmethod(F.conv3d)


class ConvTranspose2d(_Convolution):
    """The transpose of ``Conv2d``: its weight is [in_channels, out_channels / groups, rows, columns].

    Args:
        in_channels, out_channels, kernel_size, stride, padding, groups, bias, dilation, dtype: as of ``Conv2d``.
        output_padding: rows and columns added at the end.

    Examples:
        >>> import msnb as ms
        >>> ms.mint.nn.ConvTranspose2d(3, 2, 3, stride=2)(ms.ops.zeros((1, 3, 4, 4))).shape
        (1, 2, 9, 9)
    """

    transposed: bool = True

    def __init__(
        self, in_channels: int, out_channels: int, kernel_size: Any, stride: Any = 1, padding: Any = 0,
        output_padding: Any = 0, groups: int = 1, bias: bool = True, dilation: Any = 1, padding_mode: str = "zeros",
        dtype: Any = None,
    ) -> None:  # fmt: skip
        kept = (stride, padding, dilation, groups, bias, padding_mode, dtype)
        super().__init__(in_channels, out_channels, kernel_size, *kept)
        self.output_padding = self._sizes(output_padding)
        self._draw_weights((in_channels, out_channels // groups, *self.kernel_size), out_channels, bias, dtype)

    def construct(self, input: Any) -> Any:
        """The layer."""
        window = (self.stride, self.padding, self.output_padding, self.groups, self.dilation)
        return F.conv_transpose2d(input, self.compute(self.weight), self.compute(self.bias), *window)


class MaxPool2d(Cell):
    """Largest elements of windows; the stride is the kernel's size by default."""

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size: Any = kernel_size
        self.stride: Any = kernel_size if stride is None else stride
        self.padding: Any = padding
        self.dilation: Any = dilation
        self.return_indices: bool = return_indices
        self.ceil_mode: bool = ceil_mode

    def construct(self, input: Any) -> Any:
        """The layer."""
        window = (self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode, self.return_indices)
        return F.max_pool2d(input, *window)


class AvgPool2d(MeanPooling):
    """Means of windows; the stride is the kernel's size by default."""


class AvgPool3d(nn.AvgPool3dExt):
    """Means of windows of volumes; arguments as of ``AvgPool2d``."""


class AvgPool1d(nn.AvgPool1dExt):
    """Means of windows of rows; the stride is the kernel's size by default."""


class UpsamplingNearest2d(nn.Upsample):
    """Images of another size: every pixel is the nearest one."""

    _mode = "nearest"
    _align_corners: bool | None = None

    def __init__(self, size: Any = None, scale_factor: Any = None) -> None:
        super().__init__(size, scale_factor, self._mode, self._align_corners)


class UpsamplingBilinear2d(UpsamplingNearest2d):
    """Images of another size: pixels between others, the corners stay where they are."""

    _mode, _align_corners = "bilinear", True


class ZeroPad1d(nn.ConstantPad1d):
    """Rows with a border of zeros; padding: an int, or (left, right)."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)


class ZeroPad3d(nn.ConstantPad3d):
    """Volumes with a border of zeros; padding: an int, or (left, right, top, bottom, front, back)."""

    def __init__(self, padding: Any) -> None:
        super().__init__(padding, 0.0)


class Embedding(Cell):
    """A table of vectors [num_embeddings, embedding_dim], looked up by number; normal first values.

    Args:
        num_embeddings, embedding_dim: rows of the table, length of a row.
        padding_idx: a row that starts at zero and gets no gradient; may count from the end.
        max_norm, norm_type, scale_grad_by_freq: as in ``ops.embedding``.
        sparse: only False.
        dtype: of the table; by default float32.

    Raises:
        ValueError: padding_idx is not a row, a table that is given has another shape, or sparse is True.

    Examples:
        >>> import msnb as ms
        >>> ms.mint.nn.Embedding(4, 2, padding_idx=0)(ms.Tensor([0])).tolist()
        [[0.0, 0.0]]
    """

    def __init__(
        self, num_embeddings: int, embedding_dim: int, padding_idx: int | None = None, max_norm: float | None = None,
        norm_type: float = 2.0, scale_grad_by_freq: bool = False, sparse: bool = False, _weight: Any = None,
        _freeze: bool = False, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_embeddings: int = num_embeddings
        self.embedding_dim: int = embedding_dim
        if sparse:
            raise AttributeValueError("Embedding: gradients are dense here, sparse=True has no meaning.")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise AttributeValueError(f"padding_idx {padding_idx} is not a row of a table of {num_embeddings} rows.")
        self.padding_idx: int | None = padding_idx
        self.max_norm, self.norm_type, self.scale_grad_by_freq = max_norm, norm_type, scale_grad_by_freq
        shape = (num_embeddings, embedding_dim)
        table = ops.randn(shape, dtype=dtype or dtypes.float32) if _weight is None else _weight
        if tuple(table.shape) != shape:
            raise AttributeValueError(f"Embedding: the table that is given has the shape {table.shape}, not {shape}.")
        if self.padding_idx is not None and _weight is None:
            table[self.padding_idx] = 0.0
        self.weight: Parameter = Parameter(table, name="weight", requires_grad=not _freeze)

    def construct(self, input: Any) -> Any:
        """The layer."""
        more = (self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)
        return ops.embedding(input, self.weight, *more)


class LayerNorm(Cell):
    """Normalisation over the last axes; Parameters ``weight`` and ``bias``."""

    def __init__(
        self, normalized_shape: Any, eps: float = 1e-5, elementwise_affine: bool = True, bias: bool = True,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        self.normalized_shape: tuple[int] | tuple[Any, ...] = shape
        self.eps: float = eps
        self.elementwise_affine: bool = elementwise_affine
        _ones_and_zeros(self, shape, elementwise_affine, bias, dtype or dtypes.float32)

    def construct(self, input: Any) -> Any:
        """The layer."""
        return ops.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)


class GroupNorm(Cell):
    """Normalisation of groups of channels; Parameters ``weight`` and ``bias``."""

    def __init__(
        self, num_groups: int, num_channels: int, eps: float = 1e-5, affine: bool = True, dtype: Any = None
    ) -> None:
        super().__init__()
        self.num_groups: int = num_groups
        self.eps: float = eps
        self.num_channels: int = num_channels
        self.affine: bool = affine
        _ones_and_zeros(self, (num_channels,), affine or like_mindspore(), True, dtype or dtypes.float32)
        for param in () if affine else self.get_parameters():
            param.requires_grad = False

    def construct(self, input: Any) -> Any:
        """The layer."""
        return ops.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)


class _BatchNorm(Cell):
    """Normalisation of channels; ``momentum`` is the share of the new statistics (MindSpore's nn: of the old), None:
    running statistics are means over all batches."""

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float | None = 0.1, affine: bool = True,
        track_running_stats: bool = True, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.num_features: int = num_features
        self.eps: float = eps
        self.momentum: float | None = momentum
        self.affine: bool = affine
        self.track_running_stats: bool = track_running_stats
        own, sizes, tracked = dtype or dtypes.float32, (num_features,), {"requires_grad": False}
        _ones_and_zeros(self, sizes, affine, True, own)
        if track_running_stats:
            self.running_mean: Parameter = Parameter(initializer("zeros", sizes, own), name="running_mean", **tracked)
            self.running_var: Parameter = Parameter(initializer("ones", sizes, own), name="running_var", **tracked)
            count = initializer("zeros", (), dtypes.int64)
            self.num_batches_tracked: Parameter = Parameter(count, name="num_batches_tracked", **tracked)

    def construct(self, input: Any) -> Any:
        """The layer."""
        weight = ops.ones((self.num_features,)) if self.weight is None else self.weight
        bias = ops.zeros((self.num_features,)) if self.bias is None else self.bias
        if not self.training and self.track_running_stats:
            return ops.batch_norm(input, self.running_mean, self.running_var, weight, bias, eps=self.eps)
        y, mean, variance, n = self._of_batch(input, weight, bias)
        if self.training and self.track_running_stats:
            count = self.num_batches_tracked + 1
            take = 1.0 / count.astype(mean.dtype) if self.momentum is None else self.momentum
            unbiased = ops.stop_gradient(variance) * (n / max(n - 1.0, 1.0))
            ops.assign(self.running_mean, self.running_mean * (1 - take) + ops.stop_gradient(mean) * take)
            ops.assign(self.running_var, self.running_var * (1 - take) + unbiased * take)
            ops.assign(self.num_batches_tracked, count)
        return y

    def _of_batch(self, input: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any, Any]:
        """(y, mean, variance, elements of a channel) by the batch's own statistics."""
        return *ops.batch_norm_train(input, weight, bias, self.eps, 1), input.size / self.num_features


class BatchNorm1d(_BatchNorm):
    """``_BatchNorm`` of [n, channels] or [n, channels, length]."""


class BatchNorm2d(_BatchNorm):
    """``_BatchNorm`` of images [n, channels, height, width]."""


class BatchNorm3d(_BatchNorm):
    """``_BatchNorm`` of volumes [n, channels, depth, height, width]."""


class SyncBatchNorm(_BatchNorm):
    """``_BatchNorm`` of [n, channels, ...] by the statistics of all ranks' batches, which are of one size.

    Args:
        num_features, eps, momentum, affine, track_running_stats, dtype: as of ``BatchNorm2d``.
        process_group: the name of a group of ranks that share statistics (``communication.create_group``); None: all.
    """

    def __init__(
        self, num_features: int, eps: float = 1e-5, momentum: float = 0.1, affine: bool = True,
        track_running_stats: bool = True, process_group: str | None = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(num_features, eps, momentum, affine, track_running_stats, dtype)
        self.process_group = process_group or WORLD_GROUP

    def _of_batch(self, input: Any, weight: Any, bias: Any) -> tuple[Any, Any, Any, Any]:
        members = members_of("SyncBatchNorm", self.process_group)
        if len(members) == 1:
            return super()._of_batch(input, weight, bias)
        axes, column = (0, *range(2, input.ndim)), (1, -1, *(1,) * (input.ndim - 2))
        mean = ALL_REDUCE(ops.mean(input, axes), op="sum", group=members) / len(members)
        apart = input - mean.reshape(column)
        variance = ALL_REDUCE(ops.mean(ops.square(apart), axes), op="sum", group=members) / len(members)
        y = apart * (weight * ops.rsqrt(variance + self.eps)).reshape(column) + bias.reshape(column)
        return y, mean, variance, input.size / self.num_features * len(members)


class Fold(Cell):
    """Columns of windows back into an image: ``ops.fold``."""

    def __init__(
        self, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
    ) -> None:
        super().__init__()
        self.window: tuple[Any, Any, Any, Any, Any] = (output_size, kernel_size, dilation, padding, stride)

    def construct(self, input: Any) -> Any:
        """The layer."""
        return F.unbatched(3)(ops.fold)(input, *self.window)


class Unfold(Cell):
    """Every window of an image as a column: ``ops.unfold``."""

    def __init__(self, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> None:
        super().__init__()
        self.window: tuple[Any, Any, Any, Any] = (kernel_size, dilation, padding, stride)

    def construct(self, input: Any) -> Any:
        """The layer."""
        return ops.unfold(input, *self.window)
