"""Layers that are one operator with its settings, as networks of MindSpore 1 write them.

    nn.Pad(((0, 0), (1, 1)))(x)  =  ops.pad(x, (1, 1, 0, 0))        the pairs go from the first axis to the last
    nn.OneHot(depth=10)(x)       =  ops.one_hot(x, 10)

Source: https://www.mindspore.cn/docs/en/r1.10/api_python/mindspore.nn.html
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.nn.cells.cell import Cell
from msnb.ops.spatial.resize import resize_bilinear

__all__ = ["ClipByNorm", "Norm", "OneHot", "Pad", "ResizeBilinear", "Unfold"]

_BORDERS = {"CONSTANT": "constant", "REFLECT": "reflect", "SYMMETRIC": "symmetric"}


class Pad(Cell):
    """A border around a tensor.

    Args:
        paddings: (before, after) for every axis.
        mode: "CONSTANT" (zeros), "REFLECT" (the edge is not repeated) or "SYMMETRIC" (it is).

    Raises:
        ValueError: not such pairs, or another mode. ShapeError: another number of axes than pairs.

    Source: `mindspore.nn.Pad`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Pad(((0, 0), (1, 2)), mode="REFLECT")(ms.Tensor([[1.0, 2.0, 3.0]])).tolist()
        [[2.0, 1.0, 2.0, 3.0, 2.0, 1.0]]
    """

    def __init__(self, paddings: Any, mode: str = "CONSTANT") -> None:
        super().__init__()
        try:
            self.paddings: tuple[tuple[int, int], ...] = tuple((int(before), int(after)) for before, after in paddings)
        except (TypeError, ValueError):
            raise AttributeValueError(f"Pad: paddings is ((before, after), ...), got {paddings!r}.") from None
        if mode not in _BORDERS:
            raise AttributeValueError(f"Pad: mode is {', '.join(_BORDERS)}, got {mode!r}.")
        self.mode: Any = mode

    def construct(self, x: Any) -> Any:
        """The layer."""
        if x.ndim != len(self.paddings):
            raise ShapeError(f"Pad has {len(self.paddings)} pairs for {x.ndim} axes.", operands=[f"x: {x._type!r}"])
        if self.mode == "SYMMETRIC":
            for axis, (before, after) in enumerate(self.paddings):
                x = _mirrored(x, axis, before, after)
            return x
        flat = [side for pair in reversed(self.paddings) for side in pair]
        return ops.pad(x, flat, mode=_BORDERS[self.mode])

    def extend_repr(self) -> str:
        """Its widths."""
        return f"paddings={self.paddings}, mode={self.mode!r}"


def _mirrored(x: Any, axis: int, before: int, after: int) -> Any:
    """An axis with mirrored ends, the edge among them."""
    size = x.shape[axis]
    if max(before, after) > size:
        raise ShapeError(f"Pad: axis {axis} of size {size} cannot mirror {max(before, after)} of its elements.")
    places = [*range(before - 1, -1, -1), *range(size), *range(size - 1, size - 1 - after, -1)]
    return ops.gather(x, ops.arange(size)[places], axis) if before or after else x


class ResizeBilinear(Cell):
    """Images of another size, which the call says: ``resize(x, size=(32, 32))`` or ``resize(x, scale_factor=2)``.

    Args:
        half_pixel_centers: pixels are little squares, their values lie in the middle; else at a corner.

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.ResizeBilinear.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.ResizeBilinear()(ms.Tensor([[[[1.0, 3.0]]]]), size=(1, 4)).tolist()
        [[[[1.0, 2.0, 3.0, 3.0]]]]
    """

    def __init__(self, half_pixel_centers: bool = False) -> None:
        super().__init__()
        self.half_pixel_centers = half_pixel_centers

    def construct(self, x: Any, size: Any = None, scale_factor: Any = None, align_corners: bool = False) -> Any:
        """The layer."""
        if (size is None) == (scale_factor is None):
            raise AttributeValueError("ResizeBilinear needs either size or scale_factor.")
        sizes = [int(n * scale_factor) for n in x.shape[2:]] if size is None else size
        return resize_bilinear(x, sizes, align_corners, self.half_pixel_centers)


class ClipByNorm(Cell):
    """A tensor made shorter where it is longer than a bound.

    Args:
        axis: along which lengths are taken; None for the whole tensor.

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.ClipByNorm.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.ClipByNorm()(ms.Tensor([6.0, 8.0]), ms.Tensor(5.0)).tolist()
        [3.0, 4.0]
    """

    def __init__(self, axis: Any = None) -> None:
        super().__init__()
        self.axis: Any = axis

    def construct(self, x: Any, clip_norm: Any) -> Any:
        """The layer."""
        return x * clip_norm / ops.maximum(ops.vector_norm(x, 2, self.axis, True), clip_norm)


class Norm(Cell):
    """The root of the sum of squares along axes.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Norm(axis=1)(ms.Tensor([[3.0, 4.0]])).tolist()
        [5.0]
    """

    def __init__(self, axis: Any = (), keep_dims: bool = False) -> None:
        super().__init__()
        self.axis: Any = axis
        self.keep_dims: bool = keep_dims

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.sqrt(ops.sum(ops.square(x), None if self.axis == () else self.axis, self.keep_dims))


class OneHot(Cell):
    """Class numbers as rows with one number switched on.

    Args:
        axis: the new axis. depth: how many classes.
        on_value, off_value: what stands at the class, and elsewhere. dtype: of the result.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.OneHot(depth=3)(ms.Tensor([2])).tolist()
        [[0.0, 0.0, 1.0]]
    """

    def __init__(self, axis: int = -1, depth: int = 1, on_value: float = 1.0, off_value: float = 0.0,
                 dtype: Any = "float32") -> None:  # fmt: skip
        super().__init__()
        self.axis: int = axis
        self.depth: int = depth
        self.on_value: float = on_value
        self.off_value: float = off_value
        self.dtype: Any = dtype

    def construct(self, indices: Any) -> Any:
        """The layer."""
        return ops.one_hot(indices, self.depth, self.on_value, self.off_value, self.axis).astype(self.dtype)


class Unfold(Cell):
    """Windows of images as channels.

    Args:
        ksizes, strides, rates: (1, rows, columns, 1) of the windows, their steps and the gaps inside them.
        padding: "valid".

    Source: https://www.mindspore.cn/docs/en/r1.10/api_python/nn/mindspore.nn.Unfold.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Unfold([1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1])(ms.ops.ones((1, 3, 4, 4))).shape
        (1, 12, 2, 2)
    """

    def __init__(self, ksizes: Any, strides: Any, rates: Any, padding: str = "valid") -> None:
        super().__init__()
        if padding.lower() != "valid":
            raise AttributeValueError(f"Unfold: padding is 'valid', got {padding!r}; nn.Pad makes a border before it.")
        self.ksizes: tuple[Any, ...] = tuple(ksizes[1:3])
        self.strides: tuple[Any, ...] = tuple(strides[1:3])
        self.rates: tuple[Any, ...] = tuple(rates[1:3])

    def construct(self, x: Any) -> Any:
        """The layer."""
        rows, columns = ((n - (k - 1) * r - 1) // s + 1
                         for n, k, r, s in zip(x.shape[2:], self.ksizes, self.rates, self.strides))  # fmt: skip
        n, c = x.shape[:2]
        seen = ops.unfold(x, self.ksizes, self.rates, 0, self.strides).reshape(n, c, -1, rows, columns)
        return seen.swapaxes(1, 2).reshape(n, -1, rows, columns)
