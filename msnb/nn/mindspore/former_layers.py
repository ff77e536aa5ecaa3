"""Layers of MindSpore that are one function today, images compared at several sizes, and tables of several fields.

    nn.MatrixDiag()(x)      = ops.diag_embed(x)          nn.DiGamma()(x)   = ops.digamma(x)
    nn.MatrixDiagPart()(x)  = ops.diagonal(x, 0, -2, -1) nn.LBeta()(x, y)  = log(gamma(x) gamma(y) / gamma(x + y))
    nn.Roll(shift, axis)(x) = ops.roll(x, shift, axis)   nn.Moments(0)(x)  = mean and variance of the columns

Source: `mindspore.nn`
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.nn.cells.cell import Cell
from msnb.nn.mindspore.composed_layers import EmbeddingLookup
from msnb.ops.definition.type_inference import need_ints, need_numbers
from msnb.ops.mindspore import mint_functional as F

__all__ = [
    "AvgPool1dExt", "AvgPool3dExt", "DiGamma", "ImageGradients", "LBeta", "MSSSIM", "MatDet", "MatInverse",
    "MatrixDiag", "MatrixDiagPart", "MatrixSetDiag", "Moments", "MultiFieldEmbeddingLookup", "Roll",
]  # fmt: skip


class _OfFloats(Cell):
    """A layer that takes float16 and float32, as MindSpore's."""

    def need(self, *tensors: Any) -> None:
        """Raises TypeError: other dtypes."""
        for x in tensors:
            if x.dtype not in (dtypes.float16, dtypes.float32):
                raise DTypeError(f"{type(self).__name__} takes float16 or float32, got {x.dtype}.")


class Roll(Cell):
    """Elements moved along axes; what falls off comes in at the other end.

    Args:
        shift: by how many places; one, or one for each axis.
        axis: along which; one, or several.

    Raises:
        ValueError: other numbers of shifts than axes.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Roll(1, 0)(ms.Tensor([1, 2, 3])).tolist()
        [3, 1, 2]
    """

    shift: list[int]
    axis: list[int]

    def __init__(self, shift: Any, axis: Any) -> None:
        super().__init__()
        self.shift, self.axis = (list(x) if isinstance(x, (tuple, list)) else [x] for x in (shift, axis))
        if len(self.shift) != len(self.axis) or not all(isinstance(x, int) for x in (*self.shift, *self.axis)):
            raise AttributeValueError(f"Roll takes one shift for each axis, all ints, got {shift!r} and {axis!r}.")

    def construct(self, input_x: Any) -> Any:
        """The layer."""
        for shift, axis in zip(self.shift, self.axis):
            input_x = ops.roll(input_x, shift, axis)
        return input_x


class MatrixDiag(Cell):
    """Vectors as the diagonals of matrices of zeros.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.MatrixDiag()(ms.Tensor([1, 2])).tolist()
        [[1, 0], [0, 2]]
    """

    def construct(self, input_x: Any) -> Any:
        """[..., n] -> [..., n, n]."""
        return ops.diag_embed(input_x)


class MatrixDiagPart(Cell):
    """The diagonals of matrices.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.MatrixDiagPart()(ms.Tensor([[1, 2], [3, 4]])).tolist()
        [1, 4]
    """

    def construct(self, input_x: Any) -> Any:
        """[..., m, n] -> [..., min(m, n)]."""
        return ops.diagonal(input_x, 0, -2, -1)


class MatrixSetDiag(Cell):
    """Matrices with another diagonal.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.MatrixSetDiag()(ms.Tensor([[1, 2], [3, 4]]), ms.Tensor([7, 8])).tolist()
        [[7, 2], [3, 8]]
    """

    def construct(self, input_x: Any, diagonal: Any) -> Any:
        """[..., m, n] with [..., min(m, n)] on its diagonal."""
        return ops.matrix_set_diag(input_x, diagonal)


class MatDet(_OfFloats):
    """The determinant of positive definite matrices (here of all matrices).

    Examples:
        >>> import msnb as ms
        >>> round(float(ms.nn.MatDet()(ms.Tensor([[4.0, 2.0], [2.0, 3.0]]))), 4)
        8.0
    """

    def construct(self, a: Any) -> Any:
        """[..., n, n] -> [...]."""
        self.need(a)
        return ops.cast(ops.det(ops.cast(a, dtypes.float32)), a.dtype)


class MatInverse(_OfFloats):
    """The inverse of positive definite matrices (here of all regular ones).

    Examples:
        >>> import msnb as ms
        >>> ms.nn.MatInverse()(ms.Tensor([[2.0, 0.0], [0.0, 4.0]])).tolist()
        [[0.5, 0.0], [0.0, 0.25]]
    """

    def construct(self, a: Any) -> Any:
        """[..., n, n] -> [..., n, n]."""
        self.need(a)
        return ops.cast(ops.inverse(ops.cast(a, dtypes.float32)), a.dtype)


class DiGamma(_OfFloats):
    """The derivative of the logarithm of the gamma function.

    Examples:
        >>> import msnb as ms
        >>> round(float(ms.nn.DiGamma()(ms.Tensor(1.0))), 4)
        -0.5772
    """

    def construct(self, x: Any) -> Any:
        """The layer."""
        self.need(x)
        return ops.digamma(x)


def _correction(x: Any) -> Any:
    """What Stirling's formula lacks of lgamma(x), for x from 8 on (Didonato and Morris 1992)."""
    terms = (-0.165322962780713e-2, 0.837308034031215e-3, -0.595202931351870e-3, 0.793650666825390e-3,
             -0.277777777760991e-2, 0.833333333333333e-1)  # fmt: skip
    square, total = 1.0 / (x * x), ops.zeros_like(x)
    for term in terms:
        total = total * square + term
    return total / x


class LBeta(_OfFloats):
    """log(beta(x, y)) of numbers above 0, exact also where the gamma functions are huge.

    Examples:
        >>> import msnb as ms
        >>> round(float(ms.nn.LBeta()(ms.Tensor(2.0), ms.Tensor(2.0))), 4)  # log(1 / 6)
        -1.7918
    """

    def construct(self, x: Any, y: Any) -> Any:
        """Both broadcast."""
        self.need(x, y)
        kept, (x, y) = x.dtype, (ops.cast(v, dtypes.float32) for v in (x, y))
        low, high = ops.minimum(x, y), ops.maximum(x, y)
        large = ops.maximum(high, 8.0)
        more = _correction(large) - _correction(low + large)
        ratio = ops.log1p(low / large)
        both = ops.maximum(low, 8.0)
        two = (0.5 * math.log(2 * math.pi) - 0.5 * ops.log(large) + _correction(both) + more
               + (low - 0.5) * ops.log(low / (low + large)) - large * ratio)  # fmt: skip
        one = ops.lgamma(low) + more - (low + large - 0.5) * ratio - low * ops.log(large) + low
        small = ops.lgamma(low) + ops.lgamma(high) - ops.lgamma(low + high)
        return ops.cast(ops.where(low < 8, ops.where(high < 8, small, one), two), kept)


class Moments(_OfFloats):
    """The mean and the variance along axes.

    Args:
        axis: one, a tuple, or None for all.
        keep_dims: the axes stay, of size 1.

    Raises:
        TypeError: not these types.

    Examples:
        >>> import msnb as ms
        >>> mean, variance = ms.nn.Moments(0)(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]))
        >>> mean.tolist(), variance.tolist()
        ([2.0, 3.0], [1.0, 1.0])
    """

    def __init__(self, axis: Any = None, keep_dims: bool | None = None) -> None:
        super().__init__()
        if not (axis is None or isinstance(axis, int) or (isinstance(axis, tuple) and all(map(_is_int, axis)))):
            raise TypeError(f"Moments: axis must be an int or a tuple of ints, got {axis!r}.")
        self.axis: Any = None if axis == () else axis
        self.keep_dims: bool = bool(keep_dims)

    def construct(self, x: Any) -> Any:
        """The layer."""
        self.need(x)
        wide = ops.cast(x, dtypes.float32)
        mean = ops.mean(wide, self.axis, keepdims=True)
        variance = ops.mean(ops.square(wide - mean), self.axis, keepdims=self.keep_dims)
        mean = mean if self.keep_dims else ops.mean(wide, self.axis)
        return ops.cast(mean, x.dtype), ops.cast(variance, x.dtype)


def _is_int(x: Any) -> bool:
    return isinstance(x, int)


class ImageGradients(Cell):
    """How images change to the next row and to the next column; 0 in the last ones.

    Raises:
        ValueError: no images [n, channels, height, width].

    Examples:
        >>> import msnb as ms
        >>> dy, dx = ms.nn.ImageGradients()(ms.Tensor([[[[1, 2], [3, 5]]]]))
        >>> dy.tolist(), dx.tolist()
        ([[[[2, 3], [0, 0]]]], [[[[1, 0], [2, 0]]]])
    """

    def construct(self, images: Any) -> Any:
        """(down, right), each of the images' shape."""
        _need_images(self, images)
        down = images[:, :, 1:, :] - images[:, :, :-1, :]
        right = images[:, :, :, 1:] - images[:, :, :, :-1]
        return (ops.cat([down, ops.zeros_like(images[:, :, :1, :])], 2),
                ops.cat([right, ops.zeros_like(images[:, :, :, :1])], 3))  # fmt: skip


def _need_images(layer: Any, *images: Any) -> None:
    for x in images:
        if x.ndim != 4 or x.shape != images[0].shape:
            operands = [f"images: {i._type!r}" for i in images]
            raise ShapeError(f"{type(layer).__name__} takes images [n, channels, height, width].", operands=operands)


class MSSSIM(Cell):
    """How alike two batches of images are, at several sizes, each half of the one before.

    Args:
        max_val: the largest value that a pixel may have.
        power_factors: the weights of the sizes.
        filter_size, filter_sigma: of the Gaussian window.
        k1, k2: keep divisors above 0.

    Raises:
        ValueError: a number outside its range, images of two shapes, or other axes.

    Source: Wang, Simoncelli, Bovik, "Multiscale structural similarity for image quality assessment", 2003

    Examples:
        >>> import msnb as ms
        >>> x = ms.ops.arange(256.0).reshape(1, 1, 16, 16) / 256
        >>> ms.nn.MSSSIM(power_factors=(0.5, 0.5), filter_size=3)(x, x).tolist()
        [1.0]
    """

    def __init__(
        self, max_val: float = 1.0, power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
        filter_size: int = 11, filter_sigma: float = 1.5, k1: float = 0.01, k2: float = 0.03,
    ) -> None:  # fmt: skip
        super().__init__()
        need_numbers("MSSSIM", max_val=max_val, filter_sigma=filter_sigma, k1=k1, k2=k2)
        need_ints("MSSSIM", filter_size=filter_size)
        if not max_val > 0 or filter_size < 1 or not filter_sigma > 0 or not isinstance(power_factors, (tuple, list)):
            raise AttributeValueError("MSSSIM: max_val, filter_size, filter_sigma are above 0, power_factors a tuple.")
        self.max_val: float = float(max_val)
        self.power_factors: tuple[float, ...] = tuple(map(float, power_factors))
        self.k1: float = float(k1)
        self.k2: float = float(k2)
        places = np.arange(-filter_size // 2 + 1, filter_size // 2 + 1)
        bell = np.exp(-(places[:, None] ** 2 + places[None] ** 2) / (2.0 * filter_sigma**2))
        self._window = Tensor((bell / bell.sum())[None, None].astype(np.float32))

    def construct(self, img1: Any, img2: Any) -> Any:
        """One number per pair of images."""
        _need_images(self, img1, img2)
        most = float(np.iinfo(img1.dtype.numpy).max) if img1.dtype.is_int else 1.0
        low, high = ((k * self.max_val / most) ** 2 for k in (self.k1, self.k2))
        img1, img2 = (ops.cast(x, dtypes.float32) / most for x in (img1, img2))
        parts = []
        for factor in self.power_factors:
            whole, contrast = self._compared(img1, img2, low, high)
            parts.append((whole, contrast, factor))
            img1, img2 = (ops.avg_pool2d(x, 2, 2) for x in (img1, img2))
        product = ops.pow(ops.relu(parts[-1][0]), parts[-1][2])
        for _, contrast, factor in parts[:-1]:
            product = product * ops.pow(ops.relu(contrast), factor)
        return ops.mean(product, -1)

    def _compared(self, x: Any, y: Any, low: float, high: float) -> tuple[Any, Any]:
        """(similarity, its part without brightness), [n, channels]."""
        n, channels = x.shape[:2]
        shapes = [ops.reshape(v, (n * channels, 1, *v.shape[2:])) for v in (x, y, x * x, y * y, x * y)]
        mx, my, xx, yy, xy = (ops.conv2d(v, self._window) for v in shapes)
        contrast = (2 * (xy - mx * my) + high) / (xx - mx * mx + yy - my * my + high)
        whole = contrast * (2 * mx * my + low) / (mx * mx + my * my + low)
        return tuple(ops.reshape(ops.mean(v, (1, 2, 3)), (n, channels)) for v in (whole, contrast))  # type: ignore


class MultiFieldEmbeddingLookup(EmbeddingLookup):
    """Rows of a table, weighed and brought together for each field of a sample.

    Args:
        vocab_size, embedding_size, param_init, target, slice_mode, max_norm, sparse, dtype: as in ``EmbeddingLookup``.
        field_size: how many fields there are.
        feature_num_list: its default only.
        operator: "SUM", "MEAN" (over the sum of the weights' sizes) or "MAX".

    Raises:
        ValueError: another operator, or inputs of other shapes.

    Source: `mindspore.nn.MultiFieldEmbeddingLookup`

    Examples:
        >>> import msnb as ms
        >>> table = ms.Tensor([[1.0], [2.0], [4.0]])
        >>> layer = ms.nn.MultiFieldEmbeddingLookup(3, 1, 2, table)
        >>> layer(ms.Tensor([[0, 1, 2]]), ms.Tensor([[1.0, 1.0, 0.5]]), ms.Tensor([[0, 0, 1]])).tolist()
        [[[3.0], [2.0]]]
    """

    field_size: int
    operator: str

    def __init__(
        self, vocab_size: int, embedding_size: int, field_size: int, param_init: Any = "normal", target: str = "CPU",
        slice_mode: str = "batch_slice", feature_num_list: Any = None, max_norm: float | None = None,
        sparse: bool = True, operator: str = "SUM", dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__(
            vocab_size, embedding_size, param_init, target, slice_mode, feature_num_list, max_norm, sparse, 0, dtype
        )
        if operator not in ("SUM", "MEAN", "MAX") or field_size < 1:
            raise AttributeValueError(f"MultiFieldEmbeddingLookup: operator is SUM, MEAN or MAX, got {operator!r}.")
        self.field_size: Any = field_size
        self.operator: Any = operator

    def construct(self, indices: Any, input_values: Any = None, field_ids: Any = None) -> Any:
        """[n, m] three times (rows, weights, fields) -> [n, field_size, embedding_size]."""
        if input_values is None or field_ids is None or not (indices.shape == input_values.shape == field_ids.shape):
            raise AttributeValueError("MultiFieldEmbeddingLookup takes indices, values and fields of one shape [n, m].")
        samples = indices.shape[0]
        fields = ops.reshape(field_ids + ops.arange(samples, dtype="int32").reshape(-1, 1) * self.field_size, (-1,))
        rows = ops.reshape(super().construct(indices), (-1, self.embedding_size))
        weights, count = ops.reshape(input_values, (-1, 1)), samples * self.field_size
        sizes = ops.unsorted_segment_sum(ops.abs(weights), fields, count)
        if self.operator == "MAX":
            rows = ops.where(weights == 0, -math.inf, rows * weights)
            found = ops.unsorted_segment_max(rows, fields, count)
            found = ops.where(sizes == 0, 0.0, found)
        else:
            found = ops.unsorted_segment_sum(rows * weights, fields, count)
            if self.operator == "MEAN":
                found = ops.where(sizes == 0, 0.0, found / ops.where(sizes == 0, 1.0, sizes))
        return ops.reshape(found, (samples, self.field_size, self.embedding_size))


class AvgPool1dExt(Cell):
    """Means of windows of [n, channels, size]; the stride is the kernel's size by default. Arguments as PyTorch's.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.AvgPool1dExt(2)(ms.Tensor([[[1.0, 3.0, 5.0, 7.0]]])).tolist()
        [[[2.0, 6.0]]]
    """

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size: Any = kernel_size
        self.stride: Any = stride
        self.padding: Any = padding
        self.ceil_mode: bool = ceil_mode
        self.count_include_pad: bool = count_include_pad

    def construct(self, input: Any) -> Any:
        """The layer."""
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class MeanPooling(Cell):
    """Means of windows, or sums over ``divisor_override``; arguments as PyTorch's."""

    _pool: Any = staticmethod(F.avg_pool2d)

    def __init__(
        self, kernel_size: Any, stride: Any = None, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.kernel_size: Any = kernel_size
        self.stride: Any = stride
        self.padding: Any = padding
        self.ceil_mode: bool = ceil_mode
        self.count_include_pad: bool = count_include_pad
        self.divisor_override: int | None = divisor_override

    def construct(self, input: Any) -> Any:
        """The layer."""
        more = (self.ceil_mode, self.count_include_pad, self.divisor_override)
        return self._pool(input, self.kernel_size, self.stride, self.padding, *more)


class AvgPool3dExt(MeanPooling):
    """Means of windows of [n, channels, depth, height, width], or sums over ``divisor_override``. Arguments as
    PyTorch's.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.AvgPool3dExt(2)(ms.ops.arange(8.0).reshape(1, 1, 2, 2, 2)).tolist()
        [[[[[3.5]]]]]
    """

    _pool: Any = staticmethod(F.avg_pool3d)
