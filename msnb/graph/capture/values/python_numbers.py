"""Python numbers that the graph computes: loop counters, numbers that differ between branches.

    for i in range(n):            n a tensor: i is an i64[] in the graph, but to the program it is a Python int
        x = x * (i * 0.1)         i * 0.1 is computed in f64, as Python does; x (f32) times it stays f32

The engine remembers which values stand for Python numbers. Among themselves and with Python numbers they follow
Python's arithmetic (int64 and float64); where one meets a real tensor it is converted as a Python number would be.
"""

from __future__ import annotations

import functools
from typing import Any

from msnb.core.dtypes import bool_, float64, int64, promote_weak
from msnb.core.tensor import Tensor
from msnb.core.types import WEAK, TensorType, tensor_type
from msnb.graph.capture.values.lazy_values import concrete, is_number, plain
from msnb.ir.graph import Value
from msnb.ops.definition.record import Op, find

_ARITHMETIC = frozenset(
    ("add", "subtract", "multiply", "divide", "floor_divide", "remainder", "power", "square", "negative", "positive",
     "abs", "maximum", "minimum")
)  # fmt: skip
_COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
_KEPT_INTS = range(-5, 257)  # CPython has one object for each of these
_OF_INTS = frozenset(("round",))  # of a float Python's is an int, the record's is not


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
        dtype = builder.lift(strong[0]).type.dtype if strong else float64
        return tuple(self._beside(builder, x, dtype) for x in inputs), False

    def _among_numbers(self, builder: Any, op: Op, inputs: tuple[Any, ...]) -> tuple[tuple[Any, ...], bool]:
        want = number_type(*inputs)
        if op.name in _COMPARISONS:
            return inputs, True
        if op.name not in _ARITHMETIC and not (op.name in _OF_INTS and want.dtype.is_int):
            return inputs, False
        if op.name == "divide" and want.dtype.category < 2:
            want = tensor_type((), float64)
        if want.weak:
            return inputs, False
        return tuple(builder.wrap(builder.lift_as(x, want)) for x in inputs), True

    def _beside(self, builder: Any, x: Any, dtype: Any) -> Any:
        if not self.has(x):
            return x
        want = tensor_type((), promote_weak(dtype, x._type.dtype.category))
        return builder.wrap(builder.lift_as(x, want))
