"""``msnb.mint.nn.functional``: PyTorch's functions of layers over msnb's operators."""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import public_names
from msnb.ops.mindspore.mint import (  # noqa: F401 - names of this module too
    conv2d as conv2d,
    convolution,
    flatten,
    padding_of,
    unbatched as unbatched,
)

_SAME = (
    "batch_norm", "binary_cross_entropy", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "embedding",
    "gelu", "glu", "grid_sample", "group_norm", "grouped_mm", "hardshrink", "hardsigmoid", "hardswish", "instance_norm",
    "interpolate", "kl_div", "l1_loss", "layer_norm", "linear", "logsigmoid", "margin_ranking_loss", "mish", "mse_loss",
    "nll_loss", "normalize", "pad", "pixel_shuffle", "prelu", "selu", "sigmoid", "soft_margin_loss", "softplus",
    "softshrink", "softsign", "tanh", "tanhshrink", "triplet_margin_loss", "max_unpool2d",
)  # fmt: skip
for _name in _SAME:
    globals()[_name] = getattr(ops, _name)
_OWN = (
    "avg_pool1d", "avg_pool2d", "avg_pool3d", "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv3d",
    "conv_transpose2d", "dropout", "dropout2d", "elu", "elu_", "flatten", "hardtanh", "hardtanh_", "leaky_relu",
    "log_softmax", "max_pool2d", "one_hot", "relu", "relu6", "relu_", "sigmoid_", "silu", "smooth_l1_loss", "softmax",
    "softmin", "threshold", "threshold_", "upsample",
)  # fmt: skip
_ONE_AXIS_LESS = {
    "adaptive_avg_pool1d": 3, "adaptive_avg_pool2d": 4, "adaptive_avg_pool3d": 5, "adaptive_max_pool1d": 3,
    "adaptive_max_pool2d": 4, "fold": 3, "unfold": 4,
}  # fmt: skip
__all__ = [*_SAME, *_OWN, *_ONE_AXIS_LESS]


def __dir__() -> list[str]:
    return public_names(__name__)


for _name, _axes in _ONE_AXIS_LESS.items():
    globals()[_name] = unbatched(_axes)(getattr(ops, _name))


@unbatched(3)
def conv1d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolution of rows [n, channels, length]."""
    return convolution(ops.conv1d, input, weight, bias, stride, padding, dilation, groups)


@unbatched(5)
def conv3d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1
) -> Any:
    """Convolution of volumes [n, channels, depth, height, width]."""
    return convolution(ops.conv3d, input, weight, bias, stride, padding, dilation, groups)


@unbatched(4)
def conv_transpose2d(
    input: Any, weight: Any, bias: Any = None, stride: Any = 1, padding: Any = 0, output_padding: Any = 0,
    groups: int = 1, dilation: Any = 1,
) -> Any:  # fmt: skip
    """The transpose of ``conv2d``: from its results back to images."""
    windows = {"stride": stride, "dilation": dilation, "pad_mode": "pad", "padding": padding}
    return ops.conv2d_transpose(input, weight, bias, output_padding=output_padding, groups=groups, **windows)


def _average(
    fn: Any, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool, **more: Any
) -> Any:
    named = {"ceil_mode": ceil_mode, "count_include_pad": count_include_pad, **padding_of(padding)}
    return fn(x, kernel_size, None if stride in ((), []) else stride, **named, **more)


@unbatched(3)
def avg_pool1d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """Means of windows of rows; the stride is the kernel's size by default."""
    return _average(ops.avg_pool1d, input, kernel_size, stride, padding, ceil_mode, count_include_pad)


@unbatched(4)
def avg_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """Means of windows of images; the stride is the kernel's size by default."""
    windows = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    return _average(ops.avg_pool2d, input, *windows, divisor_override=divisor_override)


@unbatched(5)
def avg_pool3d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True, divisor_override: int | None = None,
) -> Any:  # fmt: skip
    """Means of windows of volumes; the stride is the kernel's size by default."""
    windows = (kernel_size, stride, padding, ceil_mode, count_include_pad)
    return _average(ops.avg_pool3d, input, *windows, divisor_override=divisor_override)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """Binary cross entropy of logits; the words in PyTorch's order."""
    return ops.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def leaky_relu(input: Any, negative_slope: float = 0.01) -> Any:
    """x where it is positive, else ``negative_slope`` times x."""
    return ops.leaky_relu(input, negative_slope)


@unbatched(4)
def max_pool2d(
    input: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """Largest elements of windows of images, with their places if asked for."""
    more = {"dilation": dilation, "return_indices": return_indices, "ceil_mode": ceil_mode}
    return ops.max_pool2d(input, kernel_size, stride, **more, **padding_of(padding))


def smooth_l1_loss(input: Any, target: Any, reduction: str = "mean", beta: float = 1.0) -> Any:
    """A square near 0, a line beyond ``beta``; the mean by default, in PyTorch's order."""
    return ops.smooth_l1_loss(input, target, beta, reduction)


def _implied_dim(input: Any, dim: int | None) -> int:
    """Without a ``dim`` PyTorch takes the first axis of 0, 1 or 3 axes, else the second."""
    if dim is not None:
        return dim
    return 0 if input.ndim in (0, 1, 3) else 1


def softmax(input: Any, dim: int | None = None, dtype: Any = None) -> Any:
    """exp(x) / sum(exp(x)) along ``dim``; None: the first axis of 0, 1 or 3 axes, else the second."""
    return ops.softmax(input, _implied_dim(input, dim), dtype=dtype)


def log_softmax(input: Any, dim: int | None = None, *, dtype: Any = None) -> Any:
    """log(softmax(x)) along ``dim``; None: as for ``softmax``."""
    return ops.log_softmax(input, _implied_dim(input, dim), dtype=dtype)


def softmin(input: Any, dim: int | None = None, *, dtype: Any = None) -> Any:
    """softmax(-x) along ``dim``; None: as for ``softmax``."""
    return ops.softmin(input, _implied_dim(input, dim), dtype=dtype)


def relu_(input: Any) -> Any:
    """``input`` itself, its numbers below 0 set to 0."""
    return input.relu_()


def sigmoid_(input: Any) -> Any:
    """``input`` itself, every number its sigmoid."""
    return input.sigmoid_()


def elu_(input: Any, alpha: float = 1.0) -> Any:
    """``elu``, written to ``input``."""
    return elu(input, alpha, True)


def hardtanh_(input: Any, min_val: float = -1, max_val: float = 1) -> Any:
    """``hardtanh``, written to ``input``."""
    return hardtanh(input, min_val, max_val, True)


def threshold_(input: Any, threshold: float, value: float) -> Any:
    """``threshold``, written to ``input``."""
    return input.copy_(ops.threshold(input, threshold, value))


def upsample(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Any:
    """``interpolate`` under its older name."""
    return ops.interpolate(input, size, scale_factor, mode, align_corners)


def one_hot(tensor: Any, num_classes: int = -1) -> Any:
    """Rows of int64 with one 1; as many classes as the largest index says, unless given."""
    count = int(tensor.max()) + 1 if num_classes == -1 else num_classes
    return ops.one_hot(tensor, count).astype("int64")


# ---- results that may be put where the input was ----


def _into(input: Any, found: Any, inplace: bool) -> Any:
    """The result, or with ``inplace`` the input itself, which has its numbers from here on."""
    return input.copy_(found) if inplace else found


def relu(input: Any, inplace: bool = False) -> Any:
    """``ops.relu``; ``inplace`` writes the input."""
    return _into(input, ops.relu(input), inplace)


def relu6(input: Any, inplace: bool = False) -> Any:
    """``ops.relu6``; ``inplace`` writes the input."""
    return _into(input, ops.relu6(input), inplace)


def silu(input: Any, inplace: bool = False) -> Any:
    """``ops.silu``; ``inplace`` writes the input."""
    return _into(input, ops.silu(input), inplace)


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Any:
    """``ops.elu``; ``inplace`` writes the input."""
    return _into(input, ops.elu(input, alpha), inplace)


def hardtanh(input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Any:
    """``ops.hardtanh``; ``inplace`` writes the input."""
    return _into(input, ops.hardtanh(input, min_val, max_val), inplace)


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Any:
    """``ops.threshold``; ``inplace`` writes the input."""
    return _into(input, ops.threshold(input, threshold, value), inplace)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """``ops.dropout``; ``inplace`` writes the input."""
    return _into(input, ops.dropout(input, p, training), inplace)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """``ops.dropout2d``; ``inplace`` writes the input."""
    return _into(input, ops.dropout2d(input, p, training), inplace)
