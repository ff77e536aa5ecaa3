"""Python numbers that the graph computes: loop counters, numbers that differ between branches.

    for i in range(n):            n a tensor: i is an i64[] in the graph, but to the program it is a Python int
        x = x * (i * 0.1)         i * 0.1 is computed in f64, as Python does; x (f32) times it stays f32

The engine remembers which values stand for Python numbers. Among themselves and with Python numbers they follow
Python's arithmetic (int64 and float64); where one meets a real tensor it is converted as a Python number would be.
"""

from __future__ import annotations

import functools
import operator
from typing import Any

from msnb.core import WEAK, Dim, Tensor, TensorType, tensor_type
from msnb.core.dtypes import bool_, float64, int64, promote, promote_weak
from msnb.graph.capture.values.lazy_values import concrete, is_number, plain
from msnb.ir.graph import Value
from msnb.ops.definition.record import Op, find

_ARITHMETIC = frozenset(
    ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "square", "negative", "positive",
     "abs", "maximum", "minimum")
)  # fmt: skip
_BITS = frozenset(("bitwise_and", "bitwise_or", "bitwise_xor"))
_OF_BOOLS = _BITS | {"maximum", "minimum"}  # of two bools they give a bool, others an int
_OF_INTS = frozenset(("round", "bitwise_left_shift", "bitwise_right_shift", "bitwise_invert")) | _BITS
_DIVISIONS = {"divide": operator.truediv, "floor_divide": operator.floordiv, "remainder": operator.mod}
_COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
_KEPT_INTS = range(-5, 257)  # CPython has one object for each of these


_NEGATIVE_POWER = (
    "an int to a power below 0 is a float in Python, and this power is known only when the program runs: "
    "write float(n) ** k."
)


def _error_of(fn: Any, *args: Any) -> Exception:
    """What Python says of the call."""
    try:
        fn(*args)
    except ArithmeticError as error:
        return error.with_traceback(None)
    raise AssertionError(f"{fn} of {args} has a value")


def number_type(*numbers: Any) -> TensorType:
    """The type in which the graph keeps Python numbers."""
    category = max(_category(x) for x in numbers)
    return tensor_type((), (bool_, int64, float64)[category]) if category < 3 else WEAK[complex]


def _category(x: Any) -> int:
    return WEAK[type(plain(x))].dtype.category if is_number(x) else int(x._type.dtype.category)


class PythonNumbers:
    """The values of a capture that stand for Python numbers."""

    def __init__(self) -> None:
        self._values: set[Value] = set()

    def mark(self, tensor: Any) -> Any:
        """``tensor`` stands for a Python number."""
        self._values.add(tensor._value)
        return tensor

    def has(self, x: Any) -> bool:
        """Does ``x`` stand for a Python number?"""
        return getattr(x, "_value", None) in self._values if isinstance(x, Tensor) else False

    def shown(self, x: Any) -> Any:
        """Something of the class that the program sees: of a number that the graph computes, zero."""
        if isinstance(x, Dim):
            return 0
        return (False, 0, 0.0, 0j)[_category(x)] if self.has(x) else x

    def has_one_of(self, *values: Any) -> bool:
        """Does one of them stand for a Python number?"""
        return bool(self._values) and any(map(self.has, values))

    def identity(self, op: str, left: Any, right: Any) -> Any:
        """``left is right``, or ``is not``, as CPython answers it: True, False and small ints are one object each,
        any other number is one of its own."""
        same = op == "is"
        if not (self.is_number(left) and self.is_number(right)):
            return not same
        category = _category(left)
        if category != _category(right) or category > 1:
            return not same
        known = [concrete(x) for x in (left, right) if is_number(x)]
        if category == 1 and any(x not in _KEPT_INTS for x in known):
            return not same
        found = find("equal")(left, right)
        if category == 1 and not known:
            found = self._all(found, find("greater")(left, _KEPT_INTS[0] - 1), find("less")(left, _KEPT_INTS[-1] + 1))
        return found if same else self.mark(find("logical_not")(found))

    def _all(self, *parts: Any) -> Any:
        return self.mark(functools.reduce(find("logical_and"), parts))

    def is_number(self, x: Any) -> bool:
        """A Python number, known or computed by the graph."""
        return is_number(x) or self.has(x)

    def adopt(self, outer: Value, own: Value) -> None:
        """A value became a param of a nested body."""
        if outer in self._values:
            self._values.add(own)

    def operands(self, builder: Any, op: Op, inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], bool]:
        """The inputs as the op shall see them, and whether its result is a Python number again."""
        if not self._values or not any(map(self.has, inputs)):
            return inputs, False
        if all(map(self.is_number, inputs)):
            return self._among_numbers(builder, op, inputs)
        if not op.promotes and "elementwise" not in op.traits:
            return inputs, False
        strong = [x for x in inputs if isinstance(x, Tensor) and not self.has(x)]
        dtype = functools.reduce(promote, (builder.lift(x).type.dtype for x in strong)) if strong else float64
        return tuple(self._beside(builder, x, dtype) for x in inputs), False

    def _among_numbers(self, builder: Any, op: Op, inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], bool]:
        want = number_type(*inputs)
        if op.name in _COMPARISONS:
            return inputs, True
        if op.name not in _ARITHMETIC and not (op.name in _OF_INTS and want.dtype.category < 2):
            return inputs, False
        self._need_legal(builder, op.name, inputs)
        if want.dtype.category == 0 and op.name not in _OF_BOOLS:
            want = tensor_type((), int64)
        below = op.name == "power" and is_number(inputs[1]) and inputs[1] < 0
        if (op.name == "divide" or below) and want.dtype.category < 2:
            want = tensor_type((), float64)
        if want.weak:
            return inputs, False
        return tuple(builder.wrap(builder.lift_as(x, want)) for x in inputs), True

    def _need_legal(self, builder: Any, name: str, inputs: tuple[Any, ...]) -> None:
        """What Python refuses, or answers with a number of another kind, ends the program where the run comes to it."""
        if name in _DIVISIONS and max(map(_category, inputs)) < 3:
            one = (int, float)[max(map(_category, inputs)) == 2](1)
            self._need(builder, "not_equal", inputs[1], _error_of(_DIVISIONS[name], one, one - one))
        if name == "power" and max(map(_category, inputs)) < 2 and not is_number(inputs[1]):
            self._need(builder, "greater_equal", inputs[1], ValueError(_NEGATIVE_POWER))

    def _need(self, builder: Any, compare: str, number: Any, error: Exception) -> None:
        """``number compare 0``."""
        if not is_number(number):
            builder.session.interpreter.need(builder, find(compare)(number, 0), error)
        elif not number:
            raise error

    def _beside(self, builder: Any, x: Any, dtype: Any) -> Any:
        if not self.has(x):
            return x
        want = tensor_type((), promote_weak(dtype, x._type.dtype.category))
        return builder.wrap(builder.lift_as(x, want))
