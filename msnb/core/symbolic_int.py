"""Integers that write down what is done with them: sizes that will be other numbers at the next call.

    n = trace.symbols({"s1": 24})["s1"]      24 now
    rows = n * 128                           3072 now, and the line  v1 = s1 * 128
    if rows < 16384: ...                     yes now, and the guard  v1 < 16384

So code that was written for numbers makes a program for all sizes that answer its questions alike (PyTorch: SymInt, its
hint and its guards). What needs the number itself, an index, a text, a call of C, raises ``ConcretizationError``, and
the trace stays refused even where somebody catches that. Equal lines are one line, equal names are equal numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeGuard, TypeVar

Number = TypeVar("Number", int, float)


class ConcretizationError(Exception):
    """A size was needed as a number while it is a symbol; what for, in words."""


class Symbolic:
    """What a line of a trace gives.

    Attributes:
        trace: its trace; name: of its line; value: what it is now.
    """

    __slots__ = ("name", "trace", "value")

    def __init__(self, trace: SizeTrace, name: str, value: Any) -> None:
        self.trace: SizeTrace = trace
        self.name: str = name
        self.value: Any = value


def _arithmetic(sign: str, work: Callable[[Any, Any], Any], turned: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: SymbolicInt, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        a, b = (other, self) if turned else (self, other)
        known = _known(sign, a, b)
        if known is not None:
            return known
        value = work(*(x.value if is_symbolic(x) else x for x in (a, b)))
        return self.trace.line(f"{self.trace.text(a)} {sign} {self.trace.text(b)}", value)

    return method


def _known(sign: str, a: Any, b: Any) -> Any:
    """What needs no line: sums with 0, products with 0 and 1."""
    if sign == "*":
        for x, y in ((a, b), (b, a)):
            if type(y) is int and y in (0, 1):
                return x if y else 0
    if sign in ("+", "-") and type(b) is int and b == 0:
        return a
    if sign == "+" and type(a) is int and a == 0:
        return b
    return a if sign == "//" and type(b) is int and b == 1 else None


def _comparison(sign: str, ask: Callable[[Any, Any], bool], same: bool) -> Callable[[Any, Any], Any]:
    def method(self: SymbolicInt, other: Any) -> Any:
        if not isinstance(other, (int, float)):
            return NotImplemented
        if is_symbolic(other) and other.name == self.name and other.trace is self.trace:
            return same
        answer = ask(self.value, other.value if is_symbolic(other) else other)
        self.trace.guard(f"{self.name} {sign} {self.trace.text(other)}", answer)
        return answer

    return method


def _needs(what: str) -> Callable[..., Any]:
    def method(self: SymbolicInt, *_: Any) -> Any:
        raise self.trace.refused(what)

    return method


def is_symbolic(n: object) -> TypeGuard[SymbolicInt]:
    """Whether a number is a symbol."""
    return type(n) is SymbolicInt


class SymbolicInt(Symbolic):
    """An integer (or, in questions of cost, a float) with its history; for ``isinstance`` it is what its value is."""

    __slots__ = ()

    @property
    def __class__(self) -> type:
        return type(self.value)

    @__class__.setter
    def __class__(self, _: type) -> None:
        raise TypeError("a symbolic integer keeps its class")

    def __neg__(self: Any) -> Any:
        return 0 - self

    def __abs__(self: Any) -> Any:
        return self if self >= 0 else -self

    def __bool__(self: Any) -> bool:
        return bool(self != 0)

    def __hash__(self) -> int:
        return hash((self.name, id(self.trace)))

    def bit_length(self) -> Any:
        """As of an int."""
        return self.trace.line(f"{self.name}.bit_length()", self.value.bit_length())


for _name, _sign in {"add": "+", "sub": "-", "mul": "*", "floordiv": "//", "mod": "%", "truediv": "/"}.items():
    for _turned in (False, True):
        setattr(SymbolicInt, f"__{'r' * _turned}{_name}__", _arithmetic(_sign, getattr(operator, _name), _turned))
for _name, _sign in {"lt": "<", "gt": ">", "le": "<=", "ge": ">=", "eq": "==", "ne": "!="}.items():
    setattr(SymbolicInt, f"__{_name}__", _comparison(_sign, getattr(operator, _name), "=" in _sign and _name != "ne"))
for _name in ("index", "int", "float", "str", "repr", "format"):
    setattr(SymbolicInt, f"__{_name}__", _needs(f"{_name}()"))


class SizeTrace:
    """The lines and guards of one program.

    Attributes:
        refusal: what needed a number; empty while nothing did.
        exact: nobody chose another way because of a symbol: the program is the one that numbers make.
        types: the types that have sizes of this trace (``core.types``): they are forgotten together with it.
    """

    def __init__(self) -> None:
        self.refusal: str = ""
        self.exact: bool = True
        self.types: dict[Any, Any] = {}
        self._sizes: list[str] = []
        self._lines: list[str] = []
        self._made: dict[str, SymbolicInt] = {}
        self._guards: set[str] = set()
        self._objects: dict[str, Any] = {}
        self._names: dict[int, str] = {}

    def symbols(self, sizes: Mapping[str, int]) -> dict[str, Any]:
        """Symbols by name, and their values now: the arguments of ``function``."""
        self._sizes = list(sizes)
        return {name: SymbolicInt(self, name, value) for name, value in sizes.items()}

    def refused(self, what: str) -> ConcretizationError:
        """The error for whoever needs a number; the trace is refused from now on."""
        self.refusal = self.refusal or what
        return ConcretizationError(f"a size that changes is needed as {what}.")

    def line(self, text: str, value: Any) -> SymbolicInt:
        """The number that an expression gives."""
        found = self._made.get(text)
        if found is None:
            found = self._made[text] = SymbolicInt(self, self._assigned(text), value)
        return found

    def _assigned(self, text: str) -> str:
        name = f"v{len(self._lines)}"
        self._lines.append(f"{name} = {text}")
        return name

    def guard(self, text: str, answer: bool) -> None:
        """Sizes for which a question has another answer are none for this program."""
        condition = f"not ({text})" if answer else text
        if condition not in self._guards:
            self._guards.add(condition)
            self._lines.append(f"if {condition}: return None")

    def call(self, work: Callable[..., Any], args: tuple[Any, ...], wrap: Callable[[str, Any], Any]) -> Any:
        """What a function of numbers gives, which is called now and again for every size.

        Args:
            work: a function of what stands behind symbols, without effects.
            args: what it is given, symbols in it.
            wrap: makes what stands for a result, of the name of its line and its value now.
        """
        text = f"{self.text(work)}{self.text(args)}"
        return wrap(self._made[text].name if text in self._made else self._called(text), work(*plain(args)))

    def _called(self, text: str) -> str:
        name = self._assigned(text)
        self._made[text] = SymbolicInt(self, name, 0)
        return name

    def text(self, value: Any) -> str:
        """A value as an expression: symbols by name, what has symbols in it part by part, the rest as it is."""
        if is_symbolic(value) or isinstance(value, Symbolic):
            return str(value.name)
        if type(value) in (int, bool) or value is None:
            return repr(value)
        if trace_of(value) is None:
            return self._object(value)
        make, parts = parts_of(value)
        inner = "".join(f"{self.text(v)}, " for v in parts)
        return f"({inner})" if make is tuple else f"[{inner}]" if make is list else f"{self._object(make)}({inner})"

    def _object(self, value: Any) -> str:
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"k{len(self._objects)}"
            self._objects[name] = value
        return name

    def function(self, result: Any) -> Callable[..., Any]:
        """A function of the sizes: what ``result`` is for them, or None where a guard does not hold (or a line divides
        by zero)."""
        body = "".join(f"        {line}\n" for line in (*self._lines, f"return {self.text(result)}"))
        head, end = f"def bound({', '.join(self._sizes)}):\n    try:\n", "    except ArithmeticError: return None\n"
        names: dict[str, Any] = dict(self._objects)
        exec(compile(f"{head}{body}{end}", "<sizes>", "exec"), names)
        return names["bound"]  # type: ignore[no-any-return]


_NUMBERS = frozenset((int, float, bool, str, type(None)))
Parts = tuple[Callable[..., Any], Sequence[Any]]
PARTS: dict[type, Callable[[Any], Parts]] = {slice: lambda s: (slice, (s.start, s.stop, s.step))}
"""How values of a class are taken apart that may have sizes in them: into what makes them, and what that is given."""


def parts_of(value: Any) -> Parts:
    """What makes a value, and of which parts; no parts where nothing in it can be a size."""
    kind = type(value)
    if kind is tuple or kind is list:
        return kind, value
    if kind in PARTS:
        return PARTS[kind](value)
    return kind, value if isinstance(value, tuple) else ()


def plain(value: Any) -> Any:
    """A value with what its symbols are now."""
    if is_symbolic(value) or isinstance(value, Symbolic):
        return value.value
    if trace_of(value) is None:
        return value
    make, parts = parts_of(value)
    found = map(plain, parts)
    return make(found) if make is tuple or make is list else make(*found)


def trace_of(value: Any) -> SizeTrace | None:
    """The trace of a symbol in a value or in its parts; None where there is none."""
    kind = type(value)
    if kind in _NUMBERS:
        return None
    if kind is SymbolicInt or isinstance(value, Symbolic):
        return value.trace  # type: ignore[no-any-return]
    for part in value if kind is tuple else parts_of(value)[1]:
        if type(part) is not int and (found := trace_of(part)) is not None:
            return found
    return None


def deferred(work: Callable[..., Any], *args: Any) -> Any:
    """``work(*args)``, which gives numbers; for symbols it is called again for every size.

    Args:
        work: a function of numbers (and tuples and lists of them) without effects that gives an int, a bool or a tuple
            of ints. An answer of True or False is a guard.
        args: what it is given.
    """
    trace = trace_of(args)
    if trace is None:
        return work(*args)

    def wrap(name: str, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(trace.line(f"{name}[{i}]", v) for i, v in enumerate(value))
        if isinstance(value, bool):
            trace.guard(name, value)
            return value
        return SymbolicInt(trace, name, value)

    return trace.call(work, args, wrap)


def size_hint(n: Number) -> Number:
    """About how large a size is, for questions of speed alone: what it is now, and no guard."""
    return plain(n)  # type: ignore[no-any-return]


def pinned(n: int) -> int:
    """A size as a number, of which the code is for this one alone: a guard."""
    return int(plain(n)) if n == plain(n) else n


def clamped(n: int, low: int, high: int) -> int:
    """``max(low, min(n, high))``, for symbols too, and no guard.

    Examples:
        >>> clamped(7, 1, 4), clamped(0, 1, 4)
        (4, 1)
    """
    return deferred(_clamped, n, low, high)  # type: ignore[no-any-return]


def _clamped(n: int, low: int, high: int) -> int:
    return max(low, min(n, high))


def sliced_axis(size: int, entry: Iterable[int | None]) -> tuple[int, int, int]:
    """What ``start:stop:step`` takes of an axis: the first index, how many, and the step.

    Examples:
        >>> sliced_axis(10, (None, -2, 3)), sliced_axis(4, (None, None, -1))
        ((0, 3, 3), (3, 4, -1))
    """
    start, stop, step = entry
    by = 1 if step is None else step
    low, high = (0, size) if by > 0 else (-1, size - 1)
    first = _place(start, size, low, high) if start is not None else (low if by > 0 else high)
    end = _place(stop, size, low, high) if stop is not None else (high if by > 0 else low)
    reach = end - first if by == 1 else (end - first + by - (1 if by > 0 else -1)) // by
    return first, reach if reach > 0 else 0, by


def _place(place: int, size: int, low: int, high: int) -> int:
    at = place + size if place < 0 else place
    return low if at < low else high if at > high else at
