"""Layers without Parameters that networks of MindSpore 1 hold: products, ranges, the noise of images."""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor
from msnb.nn.cells.cell import Cell
from msnb.ops.definition.type_inference import need_numbers

__all__ = ["PSNR", "MatMul", "Range"]


class MatMul(Cell):
    """The product of two matrices, or stacks of them.

    Args:
        transpose_x1, transpose_x2: exchange the last two axes of an operand first.

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.MatMul.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.MatMul(transpose_x2=True)(ms.Tensor([[1.0, 2.0]]), ms.Tensor([[3.0, 4.0]])).tolist()
        [[11.0]]
    """

    def __init__(self, transpose_x1: bool = False, transpose_x2: bool = False) -> None:
        super().__init__()
        self.transpose_x1: bool = bool(transpose_x1)
        self.transpose_x2: bool = bool(transpose_x2)

    def construct(self, x1: Any, x2: Any) -> Any:
        """The layer."""
        first = ops.swapaxes(x1, -1, -2) if self.transpose_x1 and x1.ndim > 1 else x1
        second = ops.swapaxes(x2, -1, -2) if self.transpose_x2 and x2.ndim > 1 else x2
        return ops.matmul(first, second)


class Range(Cell):
    """The numbers from ``start`` up to, but without, ``limit`` by steps of ``delta``; int32 of ints, else float32.

    Args:
        start: the first number; the limit if it is the only argument.
        limit, delta: numbers.

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.Range.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Range(1, 8, 2)().tolist()
        [1, 3, 5, 7]
    """

    def __init__(self, start: float, limit: float | None = None, delta: float = 1) -> None:
        super().__init__()
        if delta == 0:
            raise AttributeValueError("Range: delta must not be 0.")
        first, last = (0, start) if limit is None else (start, limit)
        whole = all(isinstance(number, int) for number in (first, last, delta))
        self.result_tensor: Tensor = ops.arange(first, last, delta, dtype="int32" if whole else "float32")

    def construct(self) -> Tensor:
        """The layer."""
        return self.result_tensor


class PSNR(Cell):
    """The peak signal-to-noise ratio of two batches of images in decibels: 10 log10(max_val^2 / mean squared error).

    Args:
        max_val: the largest value that a pixel may have.

    Raises:
        ValueError: images [n, channels, height, width] of different shapes, or other axes.

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.PSNR.html

    Examples:
        >>> import msnb as ms
        >>> x = ms.ops.zeros((1, 1, 2, 2))
        >>> round(ms.nn.PSNR()(x, x + 0.1).item(), 3)
        20.0
    """

    def __init__(self, max_val: float = 1.0) -> None:
        super().__init__()
        need_numbers("PSNR", max_val=max_val)
        if not max_val > 0:
            raise AttributeValueError(f"PSNR: max_val must be above 0, got {max_val!r}.")
        self.max_val: float = float(max_val)

    def construct(self, img1: Any, img2: Any) -> Any:
        """The layer."""
        if img1.shape != img2.shape or img1.ndim != 4:
            shapes = [f"img1: {img1._type!r}", f"img2: {img2._type!r}"]
            raise ShapeError("PSNR compares two batches of images [n, channels, height, width].", operands=shapes)
        if img1.dtype is not img2.dtype:
            raise DTypeError(f"PSNR compares images of one dtype, not {img1.dtype} and {img2.dtype}.")
        return 10.0 * ops.log10(self.max_val**2 / ops.mean(ops.square(img1 - img2), (-3, -2, -1)))
