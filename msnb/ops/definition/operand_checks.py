"""How public functions convert and check their arguments, and vmap rules treat operands that are not batched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError
from msnb.core import Dim, DType, Size, Tensor, TensorType, dtypes, result_dtype, slot
from msnb.ops.definition.keyword_aliases import ValuesAndIndices, no_tensor
from msnb.ops.definition.record import find
from msnb.ops.definition.type_inference import is_index


def as_tensor(x: Any) -> Tensor:
    """``x`` itself, or a Tensor of the number, list or array. A program under capture hands over arrays from outside
    that know how to become its inputs (``__msnb_tensor__``), and numbers that its graph computes."""
    if isinstance(x, Tensor):
        kind = None if type(x) is Tensor else slot.engine.number_kind(x)
        return x if kind is None else find("cast")(x, dtype=Tensor(kind()).dtype)
    if type(x) in (list, tuple) and holds_tensors(x):  # a pair of results says what it is
        return find("stack")(*map(as_tensor, x), axis=0)
    enter = getattr(type(x), "__msnb_tensor__", None)
    return Tensor(x) if enter is None else enter(x)


def number_class(x: Any) -> type | None:
    """bool, int or float of a Python number, known or computed by a graph; None of all others."""
    return type(x) if isinstance(x, (int, float)) else slot.engine.number_kind(x)


def as_floats(*xs: Any) -> list[Any]:
    """Tensors; in float32 where all of them are integers or bool, whose differences and squares would wrap around.
    Numbers stay numbers."""
    kinds = [number_class(x) for x in xs]
    found = [as_tensor(x) if kind is None else x for x, kind in zip(xs, kinds)]
    if float in kinds or any(isinstance(x, Tensor) and x.dtype.differentiable for x in found):
        return found
    return [find("cast")(x, dtype=dtypes.float32) if kind is None else x for x, kind in zip(found, kinds)]


def as_float(x: Any) -> Tensor:
    """A tensor; in float32 if ``x`` holds integers or bool."""
    found: Tensor = as_floats(as_tensor(x))[0]
    return found


def wide_integers(x: Tensor) -> Tensor:
    """Integers of fewer than 32 bits and bool in int32, whose differences keep their sign; others stay."""
    small = not x.dtype.differentiable and x.dtype.itemsize < 4
    return find("cast")(x, dtype=dtypes.int32) if small else x


def holds_tensors(xs: Sequence[Any]) -> bool:
    """Whether tensors stand in nested lists: made into an array, they would lose their gradients without a word."""
    return any(isinstance(x, Tensor) or (isinstance(x, (list, tuple)) and holds_tensors(x)) for x in xs)


_OPERANDS = (Tensor, int, float, complex, np.ndarray, np.generic, list, tuple, range)


def is_operand(x: Any) -> bool:
    """Can an operation take it?"""
    if isinstance(x, ValuesAndIndices):
        return x.computes()
    return isinstance(x, _OPERANDS) or hasattr(x, "__array__") or hasattr(x, "__dlpack__")


def plain_scalar(inputs: Sequence[Any], at: int) -> Any:
    """An operand; a NumPy scalar beside tensors counts as the Python number that it is, as in ``x * scalar``."""
    x = inputs[at]
    if isinstance(x, np.generic) and x.dtype.kind in "biufc" and any(isinstance(other, Tensor) for other in inputs):
        return x.item()
    return x


def _operand_hint(x: Any) -> str:
    if x is None:
        return "a function that returns nothing gives None: is a `return` missing?"
    return "it is a function: call it first, as in net(x)." if callable(x) else ""


def no_operand(op: Any, inputs: Sequence[Any], at: int) -> ArgumentError:
    """The error for an operand that is no tensor and cannot become one."""
    x, names = inputs[at], [*op.inputs]
    if isinstance(x, ValuesAndIndices):
        return no_tensor()
    name = names[at] if at < len(names) and not names[at].startswith("*") else f"operand {at}"
    shown = "None" if x is None else f"the str {x!r}" if isinstance(x, str) else f"a {type(x).__name__}"
    return ArgumentError(
        f"{op.name}: {name} is {shown}; an operand is a tensor, a number, an array or a list of numbers.",
        hint=_operand_hint(x),
    )


def tensors(name: str, xs: Any) -> tuple[Any, ...]:
    """The tensors of a sequence; one tensor alone stands for its rows."""
    if isinstance(xs, (Tensor, np.ndarray)):
        t = as_tensor(xs)
        return tuple(t[i] for i in range(len(t)))
    if not isinstance(xs, (tuple, list)) or not xs:
        raise ArgumentError(f"{name} needs a tuple or list of tensors, at least one, got {xs!r}.")
    return tuple(as_tensor(x) for x in xs)


def strong_dtype(t: TensorType) -> DType:
    """The dtype of an operand alone: a Python number has the default dtype of its kind."""
    return result_dtype((t,)) if t.weak else t.dtype


def as_size(name: str, d: Any) -> Size:
    """One size of a shape argument: an int, a Dim, or a tensor of one integer."""
    if type(d) is int or isinstance(d, Dim):
        return d
    symbolic = getattr(type(d), "as_size", None)  # a size that was read from a tensor of the program
    if symbolic is not None and not isinstance(d, (bool, float)):
        found: Size = symbolic(d)
        return found
    if not is_index(d):
        raise ArgumentError(f"{name} needs sizes that are integers, got {d!r}.")
    return int(d.__index__())


def as_sizes(name: str, args: Sequence[Any]) -> tuple[Size, ...]:
    """The shape meant by ``(2, 3)`` or ``((2, 3),)``."""
    if len(args) == 1 and isinstance(args[0], (tuple, list)):
        args = args[0]
    elif len(args) == 1 and isinstance(args[0], (Tensor, np.ndarray)) and args[0].ndim == 1:
        symbolic = hasattr(args[0], "_builder")  # in a program: each element may be known, or be a size by itself
        args = [args[0][i] for i in range(len(args[0]))] if symbolic else args[0].tolist()
    return tuple(as_size(name, d) for d in args)


def as_ints(name: str, args: Sequence[Any]) -> tuple[int, ...]:
    """Like ``as_sizes`` for axes and counts."""
    if len(args) == 1 and type(args[0]) is tuple and all(type(d) is int for d in args[0]):
        return args[0]
    sizes = as_sizes(name, args)
    if any(isinstance(d, Dim) for d in sizes):
        raise ArgumentError(f"{name} needs integers, got {sizes!r}.")
    return tuple(d for d in sizes if isinstance(d, int))


def spread(x: Any, batched: bool, axis_size: int) -> Any:
    """An operand with the new axis at 0, repeated where it had none."""
    return x if batched else find("broadcast_to")(x, shape=(axis_size, *as_tensor(x).shape))


def all_spread(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A vmap rule for ops that need every operand batched: ``rule(inputs, **attrs) -> result``."""

    def batch(axis_size: int, inputs: Sequence[Any], batched: Sequence[bool], **attrs: Any) -> tuple[Any, Any]:
        result = rule([spread(x, b, axis_size) for x, b in zip(inputs, batched)], **attrs)
        return result, (True,) * len(result) if isinstance(result, tuple) else True

    return batch


def one_batched(rule: Callable[..., Any]) -> Callable[..., Any]:
    """A vmap rule for ops of one operand: ``rule(x, **attrs) -> result``, x with the new axis at 0."""
    return all_spread(lambda inputs, **attrs: rule(inputs[0], **attrs))
