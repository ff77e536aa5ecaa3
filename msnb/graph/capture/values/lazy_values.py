"""Outside values that stay open while a program is captured: numbers, texts made of them, arrays.

A Python number read from outside is not a constant: it is a LazyScalar, the number plus the path it came from.
Arithmetic among such numbers stays lazy and is done again by the host at every call, exactly as Python does it;
where one meets a tensor it becomes a weak 0-d input. So a new learning rate compiles nothing. Where Python itself
needs the value (a comparison, ``range``, a shape, a key) the value is looked at and the *answer* becomes a guard:
``epoch > 5`` guards the truth of ``epoch > 5``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base.errors import ConcretizationError
from msnb.base.source_location import here
from msnb.core import WEAK, Size, Tensor, result_dtype
from msnb.graph.capture.values import sources
from msnb.graph.capture.values.mutation_journal import root_of
from msnb.ops.definition import symbolic_sizes
from msnb.ops.definition.record import find

NUMBERS = (int, float, complex)


class LazyScalar:
    """A number read from outside. It passes for an int or float where one is asked for (``isinstance``).

    Args:
        value: what it is now; source: its path.
        session: the capture.
        dim: the size that it is, where it is a symbolic one; as a size of a result it stays symbolic.
    """

    __slots__ = ("_dim", "_session", "_source", "_value")

    def __init__(self, value: Any, source: sources.Source, session: Any, dim: Size | None = None) -> None:
        self._value, self._source, self._session, self._dim = value, source, session, dim

    def as_size(self) -> Size:
        """The number as a size: the symbol that it is, or fixed by a guard; a float, which is none, as it is."""
        found: Size = self._dim if self._dim is not None else concrete(self)
        return found

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        """What ``isinstance`` sees."""
        return type(self._value)

    def __deepcopy__(self, memo: Any) -> LazyScalar:
        return self  # a number, also in a copy that Python makes of an object that holds it

    def __msnb_tensor__(self) -> Any:
        """The number as an input of the program, of the dtype that a Tensor of it has."""
        t = WEAK[type(self._value)]
        return find("cast")(self._session.inputs.scalar(self), dtype=result_dtype((t,)))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """What NumPy computes with is the number itself, which a guard fixes."""
        return np.asarray(concrete(self), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return getattr(ufunc, method)(*(concrete(x) if is_lazy(x) else x for x in inputs), **kwargs)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __hash__(self) -> int:
        return hash(concrete(self))

    def __bool__(self) -> bool:
        return self._answer(bool(self._value), sources.called(bool, (self._source,)))

    def _answer(self, value: bool, source: sources.Source) -> bool:
        self._session.guard("is", (source,), (value,))
        return value

    def __eq__(self, other: object) -> Any:
        return self._compare("==", other)

    def __ne__(self, other: object) -> Any:
        return self._compare("!=", other)

    def __lt__(self, other: Any) -> Any:
        return self._compare("<", other)

    def __le__(self, other: Any) -> Any:
        return self._compare("<=", other)

    def __gt__(self, other: Any) -> Any:
        return self._compare(">", other)

    def __ge__(self, other: Any) -> Any:
        return self._compare(">=", other)

    def _compare(self, op: str, other: Any) -> Any:
        if not is_number(other):
            return NotImplemented
        value = sources.BINARY[op](self._value, plain(other))
        return self._answer(value, sources.binary(op, self._source, operand(other)))

    def __int__(self) -> int:
        return int(concrete(self))

    def __float__(self) -> float:
        return float(concrete(self))

    def __complex__(self) -> complex:
        return complex(concrete(self))

    def __index__(self) -> int:
        value: int = concrete(self).__index__()
        return value

    def __format__(self, spec: str) -> str:
        return format(concrete(self), spec)

    def __repr__(self) -> str:
        return repr(concrete(self))

    def __str__(self) -> str:
        return str(concrete(self))

    def __getattr__(self, name: str) -> Any:
        return getattr(concrete(self), name)

    def __neg__(self) -> Any:
        return lazy_call(_neg, (self,))

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return lazy_call(abs, (self,))

    def __invert__(self) -> Any:
        return lazy_call(_invert, (self,))

    def __round__(self, digits: Any = None) -> Any:
        return lazy_call(round, (self,) if digits is None else (self, digits))


class LazyText:
    """A text with parts that are not known yet; ``str`` fixes it, where these are numbers from outside."""

    __slots__ = ()

    def tensors(self) -> dict[int, Any]:
        """The tensors in it by id: with one of them no text can be had while the program is captured."""
        raise NotImplementedError

    def with_tensors(self, values: dict[int, Any]) -> LazyText:
        """The text with other tensors in the place of some."""
        raise NotImplementedError


def _neg(x: Any) -> Any:
    return -x


def _invert(x: Any) -> Any:
    return ~x


def _arithmetic(op: str, reflected: bool) -> Callable[[LazyScalar, Any], Any]:
    def method(self: LazyScalar, other: Any) -> Any:
        if not is_number(other):
            kind = next((k for k in (int, float, complex) if isinstance(other, k)), None)
            if kind is None or isinstance(other, np.generic):
                return NotImplemented
            other = kind(other)  # of a class derived from Python's
        left, right = (other, self) if reflected else (self, other)
        value = sources.BINARY[op](plain(left), plain(right))
        result = made(value, sources.binary(op, operand(left), operand(right)), self._session, fixed=op != "**")
        if type(result) is LazyScalar and type(value) is int:
            result._dim = _dim(op, left, right)
        return result

    return method


for _name, _op in {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}.items():  # fmt: skip
    setattr(LazyScalar, f"__{_name}__", _arithmetic(_op, False))
    setattr(LazyScalar, f"__r{_name}__", _arithmetic(_op, True))


def _dim(op: str, left: Any, right: Any) -> Size | None:
    """The symbolic size that a sum, difference or product of sizes is."""
    parts = [x._dim if type(x) is LazyScalar else x if type(x) is int else None for x in (left, right)]
    a, b = parts
    if a is None or b is None or (type(a) is int and type(b) is int):
        return None
    if op == "*":
        return symbolic_sizes.product((a, b))
    if op == "+" or (op == "-" and type(b) is int):
        return symbolic_sizes.total((a, b if op == "+" or type(b) is not int else -b))
    return None


def is_lazy(x: Any) -> bool:
    """Is this a LazyScalar? (``isinstance`` is deceived on purpose.)"""
    return type(x) is LazyScalar


def is_number(x: Any) -> bool:
    """A Python number, lazy or not."""
    return type(x) in (LazyScalar, bool, int, float, complex)


def plain(x: Any) -> Any:
    """The number behind ``x`` as it is now, without a guard: for arithmetic that stays lazy."""
    return x._value if type(x) is LazyScalar else x


def operand(x: Any) -> Any:
    """The path of a lazy number, or the number."""
    return x._source if type(x) is LazyScalar else x


def made(value: Any, source: sources.Source, session: Any, fixed: bool = True) -> Any:
    """The lazy result of an expression. ``fixed``: its type follows from the operands' types."""
    if type(value) not in NUMBERS:
        return value
    if not fixed:
        session.guard("type", (source,), (type(value),))
    return LazyScalar(value, source, session)


def lazy_call(fn: Any, args: tuple[Any, ...]) -> Any:
    """A pure function of numbers, done again at every call."""
    session = next(a._session for a in args if type(a) is LazyScalar)
    value = fn(*map(plain, args))
    source = sources.called(fn, tuple(map(operand, args)))
    if type(value) is bool:
        session.guard("is", (source,), (value,))
        return value
    if isinstance(value, tuple):
        return tuple(made(v, sources.item(source, i), session, fixed=False) for i, v in enumerate(value))
    return made(value, source, session, fixed=False)


def concrete(x: Any) -> Any:
    """``x`` as a plain Python value; a lazy number is fixed by a guard on its value, a lazy text by those in it."""
    if type(x) is LazyScalar:
        x._session.guard("num", (x._source,), (x._value,))
        return x._value
    return str(x) if isinstance(x, LazyText) else x


def needs_value(what: str) -> ConcretizationError:
    """The refusal of what must know a tensor while the program is captured."""
    error = ConcretizationError(
        f"{what} needs the value of a tensor, which is not known while the function is captured.",
        hint="use tensor operations, or compute it outside the compiled function.",
    )
    error.where = here(3).where
    return error


class TrackedArray(np.ndarray[Any, Any]):
    """A NumPy array read from outside. As an operand of a tensor operation it becomes an input; NumPy's own functions
    look at its values, so they become a guard."""

    _source: sources.Source
    _session: Any

    def plain(self) -> NDArray[Any]:
        """The array itself, its values guarded."""
        found = self.view(np.ndarray)
        if self._source is not None:
            self._session.guard("content", (self._source,), (self._before(), same_values))
        return found

    def _before(self) -> NDArray[Any]:
        """Its values before the program wrote to it."""
        root = root_of(self)
        first = self._session.journal.first_value(("array", id(root)))
        if first is None:
            return self.view(np.ndarray).copy()
        now = root.copy()
        root[...] = first
        kept = self.view(np.ndarray).copy()
        root[...] = now
        return kept

    def __msnb_tensor__(self) -> Any:
        """The array as an input of the program."""
        if self._source is None or self._session.is_written(self):
            return Tensor(self.plain())
        return self._session.inputs.array(self)

    def __array_finalize__(self, other: Any) -> None:
        if isinstance(other, TrackedArray) and getattr(other, "_source", None) is not None:
            other.plain()  # a copy or a view of it holds its values
        self._source = None  # type: ignore[assignment]
        self._session = None

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if any(isinstance(x, Tensor) for x in inputs):
            return NotImplemented  # the tensor reads it
        return getattr(ufunc, method)(*map(_seen, inputs), **{k: _seen(v) for k, v in kwargs.items()})

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return func(*map(_seen, args), **{k: _seen(v) for k, v in kwargs.items()})

    def __getitem__(self, key: Any) -> Any:
        return self.plain()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.view(np.ndarray)[key] = value

    def __iter__(self) -> Any:
        return iter(self.plain())


def _reader(name: str) -> Callable[..., Any]:
    return lambda array, *args, **kwargs: getattr(array.plain(), name)(*args, **kwargs)


def _viewer(name: str) -> Callable[[TrackedArray], Any]:
    return lambda array: getattr(array.plain(), name)


_READERS = "tolist item tobytes dot argmax argmin argsort nonzero searchsorted trace __bool__"
for _name in _READERS.split():
    setattr(TrackedArray, _name, _reader(_name))  # what is no array, or is one of places
for _name in ("flat", "data"):
    setattr(TrackedArray, _name, property(_viewer(_name)))
TrackedArray.__name__ = "ndarray"  # errors name the class: the same words in both modes


def _seen(x: Any) -> Any:
    if isinstance(x, (list, tuple)):
        return type(x)(map(_seen, x))
    return x.plain() if isinstance(x, TrackedArray) else concrete(x)


def same_values(a: Any, b: Any) -> bool:
    """Guard: two arrays with the same bits (NaN equals NaN)."""
    return isinstance(a, np.ndarray) and a.shape == b.shape and a.dtype == b.dtype and a.tobytes() == b.tobytes()


def tracked_array(array: NDArray[Any], source: sources.Source, session: Any) -> TrackedArray:
    """A tracked view of an outside array."""
    view = array.view(TrackedArray)
    view._source, view._session = source, session
    return view
