"""Binds operators and methods to Tensor: ``x + y`` is ``slot.engine.apply(add, (x, y), {})`` and nothing more.

An operator takes tensors and Python numbers on the shortest way; NumPy scalars count as Python numbers (``x *
np.sqrt(2)`` stays float32), arrays and lists become tensors, everything else gets ``NotImplemented``, so that Python
asks the other operand. ``x += y`` makes a new value for the name ``x``; a Parameter takes the value itself.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, CaptureError, DTypeError
from msnb.core import Parameter, Tensor, bool_, slot
from msnb.core.types import plain_number
from msnb.ops.definition import Op, as_tensor, no_operand
from msnb.ops.elementwise import arithmetic, cast, comparison, logic, transcendental
from msnb.ops.elementwise.identity_and_effects import assign, augmented, fitting
from msnb.ops.math import clip_norm_interpolate
from msnb.ops.nn import activation
from msnb.ops.reduction import cumulative, functional

EMPTY: dict[str, Any] = {}
# these have no operator that could take a tensor: our sentence says more than Python's
_NEVER = (type(None), str, bytes, dict, set)
_ASKED_OF_ANYTHING = (comparison.equal, comparison.not_equal)
_DIRECT = frozenset({Tensor, Parameter, int, float, bool, complex})


def named(name: str, method: Any, owner: str = "Tensor") -> Any:
    """``method`` under its public name: Python's errors then say ``Tensor.add()``, not where in msnb
    it was made. A function that has a public name of its own keeps it."""
    if not isinstance(method, FunctionType) or not ("<" in method.__qualname__ or method.__name__.startswith("_")):
        return method
    made = FunctionType(method.__code__, method.__globals__, name, method.__defaults__, method.__closure__)
    made.__dict__.update(method.__dict__)
    made.__kwdefaults__, made.__annotations__ = method.__kwdefaults__, method.__annotations__
    made.__doc__, made.__module__, made.__qualname__ = method.__doc__, method.__module__, f"{owner}.{name}"
    return made


def _bind(name: str, method: Any) -> None:
    setattr(Tensor, name, named(name, method))


def operand(other: Any) -> Any:
    """What ``other`` is as an operand, or NotImplemented."""
    if isinstance(other, Tensor):
        return other
    if isinstance(other, np.generic):
        return other.item() if other.dtype.kind in "biufc" else Tensor(other)
    if isinstance(other, (np.ndarray, list, tuple)):
        return as_tensor(other)
    return plain_number(other) if isinstance(other, (int, float, complex)) else NotImplemented


_lists_differ = [False]


def tell_lists_from_tensors(on: bool) -> None:
    """Whether a list or tuple equals no tensor, whatever it holds, as in MindSpore."""
    _lists_differ[0] = on


def _slow(op: Op, this: Any, other: Any, swap: bool) -> Tensor:
    if _lists_differ[0] and op in _ASKED_OF_ANYTHING and isinstance(other, (list, tuple)):
        return NotImplemented  # type: ignore[no-any-return]
    try:
        known = operand(other)
    except DTypeError:
        if op not in _ASKED_OF_ANYTHING:
            raise
        known = NotImplemented  # a list of words is no tensor, and equals none
    if known is NotImplemented:
        if isinstance(other, _NEVER) and op not in _ASKED_OF_ANYTHING:
            raise no_operand(op, (other, this) if swap else (this, other), 0 if swap else 1)
        return NotImplemented  # type: ignore[no-any-return]
    return slot.engine.apply(op, (known, this) if swap else (this, known), EMPTY)  # type: ignore[no-any-return]


def forward(op: Op) -> Callable[[Tensor, Any], Any]:
    """The method of ``self . other``."""

    def method(self: Tensor, other: Any) -> Tensor:
        kind = other.__class__
        if kind is Tensor:
            return slot.engine.pair(op, self, other)  # type: ignore[no-any-return]
        if kind in _DIRECT:
            return slot.engine.apply(op, (self, other), EMPTY)  # type: ignore[no-any-return]
        return _slow(op, self, other, False)

    method.__doc__ = op.doc
    return method


def reflected(op: Op) -> Callable[[Tensor, Any], Any]:
    """The method of ``other . self``."""

    def method(self: Tensor, other: Any) -> Any:
        if other.__class__ in _DIRECT:
            return slot.engine.apply(op, (other, self), EMPTY)
        return _slow(op, self, other, True)

    return method


def single(op: Op) -> Callable[[Tensor], Any]:
    """The method of one operand."""

    def method(self: Tensor) -> Tensor:
        return slot.engine.apply(op, (self,), EMPTY)  # type: ignore[no-any-return]

    method.__doc__ = op.doc
    return method


def _whole(x: Tensor, digits: int | None = None) -> Any:
    """``round(x)`` and ``round(x, 2)``."""
    if not digits:
        return arithmetic.round(x)
    scale = 10.0**digits
    return arithmetic.round(x * scale) / scale


_BINARY = {
    "add": arithmetic.add, "sub": arithmetic.subtract, "mul": arithmetic.multiply, "truediv": arithmetic.divide,
    "floordiv": arithmetic.floor_divide, "mod": arithmetic.remainder, "pow": arithmetic.power,
    "and": logic.bitwise_and, "or": logic.bitwise_or, "xor": logic.bitwise_xor,
    "lshift": logic.bitwise_left_shift, "rshift": logic.bitwise_right_shift,
}  # fmt: skip
_ORDER = {
    "eq": comparison.equal, "ne": comparison.not_equal, "lt": comparison.less, "le": comparison.less_equal,
    "gt": comparison.greater, "ge": comparison.greater_equal,
}  # fmt: skip
_WITH_ARRAY = {
    "add": "radd", "subtract": "rsub", "multiply": "rmul", "divide": "rtruediv", "floor_divide": "rfloordiv",
    "remainder": "rmod", "power": "rpow", "divmod": "rdivmod", "matmul": "rmatmul", "bitwise_and": "rand",
    "bitwise_or": "ror", "bitwise_xor": "rxor", "left_shift": "rlshift", "right_shift": "rrshift", "equal": "eq",
    "not_equal": "ne", "less": "gt", "less_equal": "ge", "greater": "lt", "greater_equal": "le",
}  # fmt: skip
"""The operator of a tensor that ``array . tensor`` is, by the name of NumPy's function."""
_SINGLE = {
    "__neg__": arithmetic.negative, "__pos__": arithmetic.positive, "__abs__": arithmetic.abs,
    "__invert__": logic.bitwise_invert, "__floor__": arithmetic.floor, "__ceil__": arithmetic.ceil,
    "__trunc__": arithmetic.trunc,
}  # fmt: skip


_general_power = forward(arithmetic.power)


def _power(self: Tensor, other: Any) -> Any:
    """``x ** 2`` written as a literal is a product, far cheaper than a power with an exponent known at run time."""
    if type(other) is int and other == 2 and self._type.dtype is not bool_:
        return slot.engine.apply(arithmetic.square, (self,), EMPTY)
    return _general_power(self, other)


def _ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """``array + x`` is the tensor's operator; ``array += x``, which writes the array, and functions take values."""
    name = _WITH_ARRAY.get(ufunc.__name__)
    if name and method == "__call__" and not options and isinstance(inputs[0], (np.ndarray, np.generic)):
        return getattr(self, f"__{name}__")(inputs[0])
    if any(isinstance(x, Tensor) for x in options.get("out", ())):
        return NotImplemented
    return self.__array_function__(getattr(ufunc, method), (), inputs, options)


def _bind_operators() -> None:
    _bind("__array_ufunc__", _ufunc)
    for name, op in _BINARY.items():
        _bind(f"__{name}__", forward(op))
        _bind(f"__r{name}__", reflected(op))
        setattr(Parameter, f"__i{name}__", named(f"__i{name}__", _in_place(op), "Parameter"))
        _bind(f"__i{name}__", forward(op))
    for name, op in _ORDER.items():
        _bind(f"__{name}__", forward(op))
    _bind("__pow__", _power)
    for name, op in _SINGLE.items():
        _bind(name, single(op))
    _bind("__round__", _whole)
    _bind("__divmod__", lambda self, other: (self // other, self % other))
    _bind("__rdivmod__", lambda self, other: (other // self, other % self))


def _in_place(op: Op) -> Callable[[Parameter, Any], Any]:
    """``p += y`` gives the parameter itself the new value, in its own dtype."""

    def method(self: Parameter, other: Any) -> Any:
        new = _slow(op, self, other, False) if other.__class__ not in _DIRECT else op(self, other)
        return new if new is NotImplemented else augmented(self, new)

    return method


_FAMILIES = (arithmetic, transcendental, comparison, logic)
_UNARY_METHODS = (
    "abs", "absolute", "neg", "negative", "sign", "square", "reciprocal", "floor", "ceil", "round", "trunc",
    "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos",
    "atan",
    "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh",
    "sigmoid", "relu", "erf", "erfc", "isnan", "isinf", "isfinite", "logical_not", "bitwise_not",
)  # fmt: skip
_BINARY_METHODS = (
    "add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide", "floor_divide", "remainder", "fmod",
    "pow", "maximum", "minimum", "atan2", "arctan2", "hypot", "equal", "eq", "not_equal", "ne", "greater", "gt",
    "greater_equal", "ge", "less", "lt", "less_equal", "le", "logical_and", "logical_or", "logical_xor",
    "bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift",
)  # fmt: skip


def _of_family(name: str) -> Op:
    found: Op = next(getattr(family, name) for family in _FAMILIES if hasattr(family, name))
    return found


# functions whose first argument is the tensor
_FUNCTIONS: dict[ModuleType, tuple[str, ...]] = {
    functional: (
        "mean", "prod", "any", "all", "argmax", "argmin", "count_nonzero", "amax", "amin", "logsumexp", "var",
        "std",
    ),
    clip_norm_interpolate: (
        "clip", "clamp", "isclose", "allclose", "lerp", "addcmul", "addcdiv", "logit", "nan_to_num", "norm",
    ),
    activation: ("softmax", "log_softmax"),
    cumulative: ("cumsum", "cumprod", "cummax", "cummin"),
}  # fmt: skip


def _bind_named() -> None:
    for name in _UNARY_METHODS:
        _bind(name, single(_of_family(name)))
    for name in _BINARY_METHODS:
        _bind(name, _named_binary(_of_family(name)))
    for name in ("add", "sub", "subtract"):
        _bind(name, _scaled_binary(_of_family(name)))
    for name in ("div", "divide", "true_divide"):
        _bind(name, _divided)
    for module, names in _FUNCTIONS.items():
        for name in names:
            _bind(name, getattr(module, name))
    for name in ("max", "min"):
        _bind(name, functional.extreme_method(getattr(functional, name)))
    _bind("sum", functional.sum_method)
    _bind("where", _chosen)
    _bind("assign_value", _assigned)


def _assigned(self: Tensor, value: Any) -> Tensor:
    """Take the value with its shape and dtype (in a compiled program they must be the variable's); gradients of a
    tensor that is no Parameter go on to what it was computed from."""
    new = value if isinstance(value, Tensor) else Tensor(value)
    captured = hasattr(slot.engine, "current")
    if captured and (new.shape, new.dtype) != (self.shape, self.dtype):
        raise CaptureError(
            f"assign_value of {new._type} would make another type of a variable of {self._type}, which a compiled "
            "program cannot do.",
            hint="x.copy_(value) and ops.assign convert the value; or call assign_value outside of the function.",
        )
    if isinstance(self, Parameter) and (captured or new._type == self._type):
        return assign(self, new)
    slot.engine.assign(self, fitting(self._type, new) if captured else new)
    return self


def _chosen(self: Tensor, condition: Any, y: Any) -> Tensor:
    """The tensor's own elements where ``condition`` holds, else those of ``y``."""
    return comparison.where(condition, self, y)


def _named_binary(op: Op) -> Callable[[Tensor, Any], Any]:
    def method(self: Tensor, other: Any) -> Tensor:
        return slot.engine.apply(op, (self, other), EMPTY)  # type: ignore[no-any-return]

    method.__doc__ = op.doc
    return method


def _scaled_binary(op: Op) -> Callable[..., Any]:
    """``x.add(y, alpha=2)``: the other operand times a number."""

    def method(self: Tensor, other: Any, *, alpha: Any = 1) -> Tensor:
        scaled = other if type(alpha) is int and alpha == 1 else other * alpha
        return slot.engine.apply(op, (self, scaled), EMPTY)  # type: ignore[no-any-return]

    method.__doc__ = f"{op.doc} ``alpha`` scales the other operand."
    return method


def _divided(self: Tensor, other: Any, *, rounding_mode: str | None = None) -> Tensor:
    """The quotient; rounded down with "floor", towards zero with "trunc"."""
    if rounding_mode == "floor":
        return arithmetic.floor_divide(self, other)
    if rounding_mode is None:
        return slot.engine.apply(arithmetic.divide, (self, other), EMPTY)  # type: ignore[no-any-return]
    if rounding_mode != "trunc":
        raise AttributeValueError(f"div: rounding_mode is None, 'floor' or 'trunc', not {rounding_mode!r}.")
    below = arithmetic.floor_divide(self, other)
    if not below.dtype.is_int:
        return arithmetic.trunc(arithmetic.divide(self, other))  # type: ignore[no-any-return]
    uneven = logic.logical_and(comparison.less(below, 0), comparison.not_equal(below * other, self))
    return below + cast.cast(uneven, below.dtype)


def _astype(x: Any, dtype: Any, copy: bool = False) -> Tensor:
    """The same values in another dtype; with ``copy`` a tensor of its own, also where nothing changes."""
    found = cast.cast(x, dtype)
    return found.copy() if copy and found is x else found


def _bind_dtypes() -> None:
    def to(name: str) -> Callable[[Tensor], Tensor]:
        def method(self: Tensor) -> Tensor:
            return cast.cast(self, name)

        method.__doc__ = f"The values as {name}."
        return method

    for method, name in (("float", "float32"), ("double", "float64"), ("half", "float16"), ("bfloat16", "bfloat16"),
                         ("int", "int32"), ("long", "int64"), ("bool", "bool")):  # fmt: skip
        _bind(method, to(name))
    _bind("astype", _astype)
    _bind("real", property(single(cast.real)))
    _bind("imag", property(single(cast.imag)))
    _bind("conj", single(cast.conj))


_bind_operators()
_bind_named()
_bind_dtypes()
