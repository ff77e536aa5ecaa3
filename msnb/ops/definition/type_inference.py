"""Type inference shared by families: broadcasting, axes, and the sentences for what does not fit."""

from __future__ import annotations

import operator
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DTypeError, MsnbError, ShapeError
from msnb.core import Dim, DType, Shape, Size, TensorType, dtypes, result_dtype, tensor_type
from msnb.core.types import size_text
from msnb.ops.definition.symbolic_sizes import is_bindable

KIND_NAMES = {"b": "bool", "i": "integer", "f": "floating-point", "c": "complex"}
KIND_NAMES_OF_PYTHON = ("bool", "int", "float", "complex")
KINDS = "bifc"


def operand_lines(*types: Any, names: tuple[str, ...] = ("x", "y", "z")) -> list[str]:
    """One line per operand for an error: ``x: f32[2,3]``, ``y: a Python float``."""
    return [f"{names[i] if i < len(names) else f'operand {i}'}: {type_text(t)}" for i, t in enumerate(types)]


def type_text(t: Any) -> str:
    """A type as errors show it; a weak one is a number of the program."""
    weak = isinstance(t, TensorType) and t.weak and t.shape == ()
    return f"a Python {KIND_NAMES_OF_PYTHON[t.dtype.category]}" if weak else repr(t)


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
    fits = [size for p, q in zip(wide_a, wide_b) if (size := _broadcast_size(p, q)) is not None]
    return tuple(fits) if len(fits) == n else None


def shape_text(shape: Shape) -> str:
    """A shape as errors show it: ``[2, n<=64]``."""
    return f"[{', '.join(map(size_text, shape))}]"


def common_shape(name: str, *types: TensorType) -> Shape:
    """The shape all operands broadcast to. Raises ShapeError that names ``name`` and every operand."""
    shape: Shape = ()
    for t in types:
        both = broadcast_shapes(shape, t.shape)
        if both is None:
            raise ShapeError(
                f"{name}: the shapes {' and '.join(shape_text(u.shape) for u in types)} do not broadcast.",
                operands=operand_lines(*types),
                hint="sizes of an axis, counted from the right, must be equal or 1.",
            )
        shape = both
    return shape


def need_kind(name: str, kinds: str, dtype: DType, *types: TensorType) -> None:
    """Raise DTypeError unless ``dtype`` (what the operands promote to) is of one of ``kinds`` (letters of "bifc")."""
    if KINDS[dtype.category] in kinds:
        return
    legal = " or ".join(KIND_NAMES[k] for k in kinds)
    raise DTypeError(
        f"{name} does not take {dtype.name} tensors; it takes {legal} ones.",
        operands=operand_lines(*types),
        hint="convert with x.astype(...) first.",
    )


def elementwise(name: str, *, dtype: DType | None = None, floating: bool = False, kinds: str = KINDS) -> Any:
    """An inference function for operands that broadcast and promote.

    Args:
        name: the op's name for errors.
        dtype: a fixed result dtype (bool for comparisons).
        floating: integers and bools become float32 (sin, sqrt, division).
        kinds: which of bool, int, float, complex ("bifc") the promoted operands may be.
    """

    def infer(*types: TensorType, **attrs: Any) -> TensorType:
        shape = common_shape(name, *types)
        met = result_dtype(types)
        need_kind(name, kinds, met, *types)
        found = met if dtype is None else dtype
        if floating and not found.differentiable:
            found = dtypes.float32
        return tensor_type(shape, found)

    infer.__module__ = elementwise.__module__
    return infer


def int_error(*values: Any) -> type[MsnbError]:
    """Of an attribute that is refused: ArgumentError where one of its values is no int, or AttributeValueError."""
    return AttributeValueError if all(map(is_index, values)) else ArgumentError


def is_index(value: Any) -> bool:
    """Whether a value counts as an integer, which a bool does not; a number that capture reads later tells its type."""
    return hasattr(value, "__index__") and not isinstance(value, (bool, float))


def need_ints(name: str, **values: Any) -> None:
    """Raises ArgumentError where one of the values is no int and no tuple of ints; None stands for what is unsaid."""
    for what, value in values.items():
        entries = value if isinstance(value, (tuple, list)) else (value,)
        if not all(entry is None or isinstance(entry, Dim) or is_index(entry) for entry in entries):
            raise ArgumentError(f"{name}: {what} must be an int or a tuple of ints, got {value!r}.")


def need_bools(name: str, **values: Any) -> None:
    """Raises ArgumentError where one of the values is not True or False."""
    for what, value in values.items():
        if not isinstance(value, bool):
            raise ArgumentError(f"{name}: {what} is True or False, not {value!r}.")


def need_numbers(name: str, **values: Any) -> None:
    """Raises ArgumentError where one of the values is no real number; a bool is none."""
    for what, value in values.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            raise ArgumentError(f"{name}: {what} is a number, not {value!r}.")


def normal_axis(name: str, axis: int, ndim: int) -> int:
    """``axis`` counted from 0. Raises AttributeValueError outside [-ndim, ndim), ArgumentError where it is no int."""
    if type(axis) is int and 0 <= axis < ndim:
        return axis
    if not is_index(axis):
        raise ArgumentError(f"{name}: axis must be an int, got {axis!r}.")
    axis = operator.index(axis)
    if not -ndim <= axis < ndim:
        raise AttributeValueError(f"{name}: axis {axis} is outside a tensor of {ndim} axes.", hint=legal_axes(ndim))
    return axis % ndim


def legal_axes(ndim: int) -> str:
    """Which axes there are."""
    return f"legal are {-ndim} to {ndim - 1}." if ndim else "a tensor of one number has no axis."


def normal_axes(name: str, axis: int | tuple[int, ...] | None, ndim: int) -> tuple[int, ...]:
    """All the axes meant: None (or an empty tuple) is every axis."""
    if axis is None or (isinstance(axis, tuple) and not axis):
        return tuple(range(ndim))
    axes = tuple(normal_axis(name, a, ndim) for a in (axis if isinstance(axis, tuple) else (axis,)))
    if len(set(axes)) != len(axes):
        raise AttributeValueError(
            f"{name}: axis {axis} names an axis twice.",
            hint="name each axis once; counted from the end, -1 is the last.",
        )
    return axes


def reduced_shape(shape: Shape, axes: tuple[int, ...], keepdims: bool) -> Shape:
    """The shape that is left when ``axes`` (counted from 0) are reduced."""
    if keepdims:
        return tuple(1 if i in axes else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in axes)


def need_elements(name: str, type_: TensorType, axes: tuple[int, ...]) -> None:
    """Raise ShapeError where a reduction without a neutral element runs over no elements."""
    empty = [i for i in axes if type_.shape[i] == 0]
    if empty:
        raise ShapeError(
            f"{name} of no elements has no value: axis {empty[0]} has size 0.", operands=operand_lines(type_)
        )


def reduction(name: str, result: Callable[[DType], DType], *, kinds: str = KINDS, nonempty: bool = False) -> Any:
    """An inference function for ops with attributes ``axis`` and ``keepdims``.

    Args:
        name: the op's name for errors.
        result: result dtype from operand dtype.
        kinds: legal kinds of the operand.
        nonempty: refuse axes of size 0 (max, argmax).
    """

    def infer(x: TensorType, *, axis: Any, keepdims: Any, **attrs: Any) -> TensorType:
        axes = normal_axes(name, axis, x.ndim)
        dtype = result_dtype((x,))
        need_kind(name, kinds, dtype, x)
        if nonempty:
            need_elements(name, x, axes)
        return tensor_type(reduced_shape(x.shape, axes, bool(keepdims)), result(dtype))

    infer.__module__ = reduction.__module__
    return infer


def normal_shape(name: str, shape: Any) -> Shape:
    """A shape from an int or a sequence of ints and Dims. Raises ArgumentError on anything else, AttributeValueError on
    negative ones, DataSizeError where only the data tell a size."""
    sizes = tuple(map(plain_size, (shape,) if isinstance(shape, (int, Dim, np.integer)) else shape))
    for d in sizes:
        no_size = not isinstance(d, Dim) and (isinstance(d, bool) or not isinstance(d, int))
        if no_size or (isinstance(d, int) and d < 0):
            raise int_error(d)(f"{name}: a shape is made of ints >= 0, got {shape!r}.")
        if not is_bindable(d):
            int(d)
    return sizes


def plain_size(d: Any) -> Any:
    """A size that was read from a tensor of the program, as the program knows it."""
    if isinstance(d, np.integer):
        return int(d)
    symbolic = getattr(type(d), "as_size", None)
    return d if symbolic is None else symbolic(d)


def need_float(name: str, *types: TensorType) -> None:
    """Raise DTypeError unless every operand is a float."""
    for t in types:
        if not t.dtype.is_float:
            raise DTypeError(
                f"{name} needs floating-point tensors.",
                operands=operand_lines(*types),
                hint="convert with x.astype(ms.float32).",
            )


def alike(types: tuple[Any, ...]) -> bool:
    """Whether all are types of tensors of one dtype, none of a Python scalar."""
    return bool(types) and len({t.dtype for t in types}) == 1 and not any(t.weak for t in types)
