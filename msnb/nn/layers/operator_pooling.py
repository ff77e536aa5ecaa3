"""Layers around ``ops``' other poolings, and measures of images: each holds its attributes and calls the function.

Source: `mindspore.nn`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor
from msnb.nn.cells.cell import Cell
from msnb.nn.layers.pooling import AdaptivePooling
from msnb.ops.definition.type_inference import need_ints, need_numbers, operand_lines

__all__ = [
    "LRN", "SSIM", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "FractionalMaxPool2d",
    "FractionalMaxPool3d", "IGamma", "LGamma", "LPPool1d", "LPPool2d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
    "ReduceLogSumExp",
]  # fmt: skip


class AdaptiveMaxPool1d(AdaptivePooling):
    """The maxima of ``output_size`` windows that cover the axes of space evenly.

    Args:
        output_size: how many windows along each axis; None keeps an axis (2-d and 3-d).
        return_indices: give where each maximum stood, too.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.AdaptiveMaxPool1d(2)(ms.Tensor([[1.0, 5.0, 2.0, 3.0]])).tolist()
        [[5.0, 3.0]]
    """

    _pool = ops.adaptive_max_pool1d

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices: bool = return_indices

    def construct(self, input: Any) -> Any:
        """The layer."""
        return type(self)._pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(AdaptiveMaxPool1d):
    """The maxima of windows that cover images evenly; arguments as of ``AdaptiveMaxPool1d``."""

    _pool = ops.adaptive_max_pool2d


class AdaptiveMaxPool3d(AdaptiveMaxPool1d):
    """The maxima of windows that cover volumes evenly; arguments as of ``AdaptiveMaxPool1d``."""

    _pool = ops.adaptive_max_pool3d


class LPPool1d(Cell):
    """The p-norm over windows; arguments as in ``ops.lp_pool1d``.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.LPPool1d(2, 2)(ms.Tensor([[3.0, 4.0]])).tolist()
        [[5.0]]
    """

    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        need_ints(type(self).__name__, kernel_size=kernel_size, stride=stride)
        self.norm_type: float = norm_type
        self.kernel_size: Any = kernel_size
        self.stride: Any = stride
        self.ceil_mode: bool = ceil_mode

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.lp_pool1d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}"


class LPPool2d(LPPool1d):
    """The p-norm over windows of images; arguments as in ``ops.lp_pool2d``."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.lp_pool2d(x, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)


class MaxUnpool1d(Cell):
    """Values written where the maxima of a pooling stood; arguments as in ``ops.max_unpool1d``.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.MaxUnpool1d(2)(ms.Tensor([[5.0, 3.0]]), ms.Tensor([[1, 3]])).tolist()
        [[0.0, 5.0, 0.0, 3.0]]
    """

    _pool = ops.max_unpool1d

    def __init__(self, kernel_size: Any, stride: Any = None, padding: Any = 0) -> None:
        super().__init__()
        need_ints(type(self).__name__, kernel_size=kernel_size, stride=stride, padding=padding)
        self.kernel_size: Any = kernel_size
        self.stride: Any = stride
        self.padding: Any = padding

    def construct(self, x: Any, indices: Any, output_size: Any = None) -> Any:
        """The layer."""
        return type(self)._pool(x, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool2d(MaxUnpool1d):
    """Values written where the maxima of images stood; arguments as in ``ops.max_unpool2d``."""

    _pool = ops.max_unpool2d


class MaxUnpool3d(MaxUnpool1d):
    """Values written where the maxima of volumes stood; arguments as in ``ops.max_unpool3d``."""

    _pool = ops.max_unpool3d


class LRN(Cell):
    """Local response normalization; arguments as in ``ops.lrn``.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.LRN(1, 1.0, 0.0)(ms.ops.ones((1, 2, 1, 1))).shape
        (1, 2, 1, 1)
    """

    def __init__(self, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5,
                 norm_region: str = "ACROSS_CHANNELS") -> None:  # fmt: skip
        super().__init__()
        self.depth_radius: int = depth_radius
        self.bias: float = bias
        self.alpha: float = alpha
        self.beta: float = beta
        self.norm_region = norm_region

    def construct(self, input_x: Any) -> Any:
        """The layer."""
        return ops.lrn(input_x, self.depth_radius, self.bias, self.alpha, self.beta, self.norm_region)


class ReduceLogSumExp(Cell):
    """log(sum(exp(x))) along an axis (() is all); ``keep_dims``: keep it with size 1."""

    def __init__(self, axis: Any, keep_dims: bool = False) -> None:
        super().__init__()
        self.axis: Any = axis
        self.keep_dims: bool = keep_dims

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.logsumexp(x, self.axis if self.axis != () else None, self.keep_dims)


class LGamma(Cell):
    """The logarithm of the gamma function."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.lgamma(x)


class IGamma(Cell):
    """The regularized lower incomplete gamma function P(a, x)."""

    def construct(self, a: Any, x: Any) -> Any:
        """The layer."""
        return ops.igamma(a, x)


class SSIM(Cell):
    """How alike two batches of images are in their structure: 1 where they are equal.

    Means, variances and the covariance are taken under a Gaussian window and averaged over windows and channels.

    Args:
        max_val: the largest value of a pixel.
        filter_size: of the window.
        filter_sigma: of the Gaussian.
        k1, k2: small numbers that keep quotients finite.

    Inputs: img1, img2: [N, C, H, W], at least as large as the window. Returns [N].

    Raises:
        ShapeError: two shapes, or images smaller than the window. ValueError: numbers that are not above 0.

    Source: Wang et al. 2004, "Image quality assessment: from error visibility to structural similarity".

    Examples:
        >>> import msnb as ms
        >>> ms.nn.SSIM()(ms.ops.ones((1, 3, 16, 16)), ms.ops.ones((1, 3, 16, 16))).tolist()
        [1.0]
    """

    def __init__(self, max_val: float = 1.0, filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01,
                 k2: float = 0.03) -> None:  # fmt: skip
        super().__init__()
        need_numbers("SSIM", max_val=max_val, filter_sigma=filter_sigma, k1=k1, k2=k2)
        need_ints("SSIM", filter_size=filter_size)
        if not (max_val > 0 and filter_size > 0 and filter_sigma > 0 and k1 > 0 and k2 > 0):
            raise AttributeValueError("SSIM: max_val, filter_size, filter_sigma, k1 and k2 are numbers above 0.")
        self.max_val: float = max_val
        self.filter_size: int = filter_size
        self.filter_sigma: float = filter_sigma
        self.k1: float = k1
        self.k2: float = k2
        bell = np.exp(-0.5 * ((np.arange(filter_size) - (filter_size - 1) / 2) / filter_sigma) ** 2)
        self._weights = np.outer(bell, bell) / bell.sum() ** 2

    def construct(self, img1: Any, img2: Any) -> Any:
        """The layer."""
        if img1.ndim != 4 or img1.shape != img2.shape or min(img1.shape[-2:]) < self.filter_size:
            raise ShapeError(f"SSIM takes two batches [N, C, H, W] of one shape, H and W from {self.filter_size}.",
                             operands=operand_lines(img1._type, img2._type))  # fmt: skip
        channels = img1.shape[1]
        window = Tensor(np.tile(self._weights, (channels, 1, 1, 1)), img1.dtype)

        def mean(x: Any) -> Any:
            return ops.conv2d(x, window, pad_mode="valid", groups=channels)

        a, b = mean(img1), mean(img2)
        spread = mean(img1 * img1) - a * a + mean(img2 * img2) - b * b
        both = mean(img1 * img2) - a * b
        c1, c2 = (self.k1 * self.max_val) ** 2, (self.k2 * self.max_val) ** 2
        return (((2 * a * b + c1) * (2 * both + c2)) / ((a * a + b * b + c1) * (spread + c2))).mean((1, 2, 3))


class FractionalMaxPool2d(Cell):
    """The maxima of windows that begin at random, evenly on the whole; arguments as in ``ops.fractional_max_pool2d``.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.FractionalMaxPool2d(3, output_ratio=0.5)(ms.ops.ones((1, 2, 10, 12))).shape
        (1, 2, 5, 6)
    """

    def __init__(self, kernel_size: Any, output_size: Any = None, output_ratio: Any = None,
                 return_indices: bool = False, _random_samples: Any = None) -> None:  # fmt: skip
        super().__init__()
        self.settings: tuple[Any, ...] = (kernel_size, output_size, output_ratio, return_indices, _random_samples)

    def construct(self, input: Any) -> Any:
        """The layer."""
        return ops.fractional_max_pool2d(input, *self.settings)

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"kernel_size={self.settings[0]}, output_size={self.settings[1]}, output_ratio={self.settings[2]}"


class FractionalMaxPool3d(FractionalMaxPool2d):
    """``FractionalMaxPool2d`` for volumes; arguments as in ``ops.fractional_max_pool3d``."""

    def construct(self, input: Any) -> Any:
        """The layer."""
        return ops.fractional_max_pool3d(input, *self.settings)
