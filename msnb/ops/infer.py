"""Type inference shared by families: broadcasting, axes, and the sentences for what does not fit."""

from __future__ import annotations

from typing import Any

from msnb.core import dtypes
from msnb.core.dtypes import DType
from msnb.core.errors import AttributeValueError, DTypeError, ShapeError
from msnb.core.types import Shape, Size, TensorType, result_dtype, tensor_type


def operand_lines(*types: Any, names: tuple[str, ...] = ("x", "y", "z")) -> list[str]:
    """One line per operand for an error: ``x: f32[2,3]``."""
    return [f"{names[i] if i < len(names) else f'operand {i}'}: {t!r}" for i, t in enumerate(types)]


def _broadcast_size(a: Size, b: Size) -> Size | None:
    if a == b or b == 1:
        return a
    return b if a == 1 else None


def broadcast_shapes(a: Shape, b: Shape) -> Shape | None:
    """NumPy's broadcasting of two shapes, or None where they do not fit."""
    if a == b:
        return a
    n = max(len(a), len(b))
    wide_a, wide_b = (1,) * (n - len(a)) + a, (1,) * (n - len(b)) + b
    out = tuple(_broadcast_size(p, q) for p, q in zip(wide_a, wide_b))
    return None if any(d is None for d in out) else out  # type: ignore[return-value]


def common_shape(name: str, *types: TensorType) -> Shape:
    """The shape all operands broadcast to. Raises ShapeError that names ``name`` and every operand."""
    shape: Shape = ()
    for t in types:
        both = broadcast_shapes(shape, t.shape)
        if both is None:
            raise ShapeError(
                f"{name}: the shapes {' and '.join(str(list(map(str, u.shape))).replace(chr(39), '') for u in types)} "
                "do not broadcast.",
                operands=operand_lines(*types),
                hint="sizes of an axis, counted from the right, must be equal or 1.",
            )
        shape = both
    return shape


def elementwise(name: str, *, dtype: DType | None = None, floating: bool = False) -> Any:
    """An inference function for operands that broadcast and promote.

    Args:
        name: the op's name for errors.
        dtype: a fixed result dtype (bool for comparisons).
        floating: integers and bools become float32 (sin, sqrt, division).
    """

    def infer(*types: TensorType, **attrs: Any) -> TensorType:
        shape = common_shape(name, *types)
        found = result_dtype(types) if dtype is None else dtype
        if floating and not found.differentiable:
            found = dtypes.float32
        return tensor_type(shape, found)

    infer.__module__ = elementwise.__module__
    return infer


def normal_axis(name: str, axis: int, ndim: int) -> int:
    """``axis`` counted from 0. Raises AttributeValueError outside [-ndim, ndim)."""
    if isinstance(axis, bool) or not isinstance(axis, int):
        raise AttributeValueError(f"{name}: axis must be an int, got {axis!r}.")
    if not -ndim <= axis < ndim:
        raise AttributeValueError(f"{name}: axis {axis} is outside a tensor of {ndim} axes ([{-ndim}, {ndim})).")
    return axis % ndim


def normal_axes(name: str, axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """All the axes meant: None (or an empty tuple) is every axis."""
    if axis is None or axis == ():
        return tuple(range(ndim))
    axes = tuple(normal_axis(name, a, ndim) for a in ((axis,) if isinstance(axis, int) else axis))
    if len(set(axes)) != len(axes):
        raise AttributeValueError(f"{name}: axis {axis} names an axis twice.")
    return axes


def need_float(name: str, *types: TensorType) -> None:
    """Raise DTypeError unless every operand is a float."""
    for t in types:
        if not t.dtype.is_float:
            raise DTypeError(f"{name} needs floating-point tensors.", operands=operand_lines(*types),
                             hint="convert with x.astype(ms.float32).")
