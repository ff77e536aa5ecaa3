"""What a program does to the world while it runs: checks that raise, and print.

They are HostCall nodes with ``effect``: no pass may drop or reorder them, and the executor calls back into Python
with the tensors' values. State is written only after the program has finished, so a failed check changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb.core import events
from msnb.core.slot import slot
from msnb.core.tensor import Tensor
from msnb.core.where import here
from msnb.graph.capture.engine import Capture
from msnb.graph.capture.merge import Late
from msnb.graph.capture.scalars import TrackedArray, is_lazy
from msnb.ir import control
from msnb.ir.builder import SymbolicTensor

_CONVERSIONS: dict[int, Callable[[Any], str]] = {115: str, 114: repr, 97: ascii}


class Text:
    """An f-string whose parts are not all known: pieces of text and (value, conversion, format)."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def fill(self, values: dict[int, Any]) -> str:
        """The text with the program's values; ``values`` maps the id of an open value to what it is now."""
        out = []
        for part in self.parts:
            if isinstance(part, str):
                out.append(part)
                continue
            value, conversion, spec = part
            spec = spec.fill(values) if isinstance(spec, Text) else spec
            out.append(_formatted(refill(value, values), conversion, spec))
        return "".join(out)

    def __str__(self) -> str:
        """Python needs the text now: numbers are guarded, tensors refuse."""
        return "".join(p if isinstance(p, str) else _formatted(p[0], p[1], str(p[2])) for p in self.parts)

    __repr__ = __str__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __eq__(self, other: object) -> bool:
        return self._as_key() == other

    def __hash__(self) -> int:
        return hash(self._as_key())

    def _as_key(self) -> str:
        """The text where Python compares it or looks it up: there a tensor in it must be known."""
        for part in self.parts:
            if not isinstance(part, str) and isinstance(part[0], SymbolicTensor):
                raise part[0]._builder.no_value(part[0])
        return str(self)

    def __add__(self, other: Any) -> Any:
        return Text((*self.parts, *(other.parts if isinstance(other, Text) else (other,))))

    def __radd__(self, other: Any) -> Any:
        return Text((other, *self.parts))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(str(self), name)


def _formatted(value: Any, conversion: int, spec: str) -> str:
    if conversion != -1:
        value = _CONVERSIONS[conversion](value)
    return format(value, spec)


def is_open(value: Any) -> bool:
    """Does its value change from call to call?"""
    return is_lazy(value) or isinstance(value, (Tensor, TrackedArray, Text))


def fstring(parts: tuple[Any, ...]) -> Any:
    """The text of an f-string, open if a part is."""
    parts = tuple(p if isinstance(p, str) else (_worded(p[0]), *p[1:]) for p in parts)
    if any(not isinstance(p, str) and _has_open((p[0], p[2])) for p in parts):
        return Text(parts)
    return "".join(p if isinstance(p, str) else _formatted(*p) for p in parts)


def _worded(value: Any) -> Any:
    """An object of the user in an f-string: its ``__format__`` or ``__str__`` is called converted."""
    from msnb.graph.capture import special

    if special.method(value, "__format__") is not None or not isinstance(slot.engine, Capture):
        return value
    text = special.converted(slot.engine, str, (value,))
    return value if text is NotImplemented else text


def _has_open(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(map(_has_open, value))
    if type(value) is dict:
        return any(map(_has_open, value.values()))
    return is_open(value)


def open_values(value: Any, found: dict[int, Any]) -> dict[int, Any]:
    """The open values inside ``value``, by id."""
    if isinstance(value, Text):
        for part in value.parts:
            if not isinstance(part, str):
                open_values(part[0], found)
                open_values(part[2], found)
    elif isinstance(value, (tuple, list)):
        for v in value:
            open_values(v, found)
    elif type(value) is dict:
        open_values(list(value.values()), found)
    elif is_open(value):
        found[id(value)] = value
    return found


def refill(value: Any, values: dict[int, Any]) -> Any:
    """``value`` with the program's values in place of the open ones."""
    if id(value) in values:
        return values[id(value)]
    if isinstance(value, Text):
        return value.fill(values)
    if type(value) in (tuple, list):
        return type(value)(refill(v, values) for v in value)
    if type(value) is dict:
        return {k: refill(v, values) for k, v in value.items()}
    return value


def at_run(engine: Capture, name: str, values: Any, action: Callable[[Any], None], guard: Any = None) -> None:
    """Call ``action(values)`` at every run, with values in place of tensors and open numbers.

    Args:
        guard: a tensor; the action runs only where it is false.
    """
    found = list(open_values(values, {}).items())

    def run(*tensors: Any) -> tuple[()]:
        if guard is not None and bool(tensors[0]):
            return ()
        given = tensors if guard is None else tensors[1:]
        action(refill(values, {key: t for (key, _), t in zip(found, given)}))
        return ()

    args = [v for _, v in found] if guard is None else [guard, *(v for _, v in found)]
    control.host_call(engine, control.HostFn(run, name), args, (), effect=True)


def print_at_run(engine: Capture, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """``print`` with tensors or outside numbers among its arguments."""
    at_run(engine, "print", list(args), lambda values: print(*values, **kwargs))


def check(engine: Capture, pred: SymbolicTensor, message: Any, has_message: bool) -> None:
    """``assert pred, message``."""

    def fail(values: Any) -> None:
        raise AssertionError(*values)

    at_run(engine, "assert", [message] if has_message else [], fail, pred)


def check_ran(engine: Capture, late: Late) -> None:
    """A variable that a loop gives a value is read after it: the loop must have run."""
    if any(b.graph is engine.graph for b in late.checked):
        return
    late.checked.append(engine)

    def fail(values: Any) -> None:
        raise UnboundLocalError(late.unbound)

    at_run(engine, "loop ran", [], fail, late.ran())


def raise_at_run(engine: Capture, error: Any) -> None:
    """``raise error`` in a branch that a tensor decides."""
    made = error() if isinstance(error, type) else error

    def fail(values: Any) -> None:
        raise _like(made, values)

    at_run(engine, "raise", list(made.args), fail)


def _like(error: BaseException, args: list[Any]) -> BaseException:
    """The user's error with the program's values among its arguments; whatever else it carries stays."""
    new = type(error).__new__(type(error), *args)
    new.__dict__.update(error.__dict__)
    new.__cause__, new.__suppress_context__ = error.__cause__, error.__suppress_context__
    return new


def notice_once(engine: Capture, what: str) -> None:
    """Something happened while the function was captured and will not happen again."""
    place = here(2).where
    at = f" ({place})" if place is not None else ""
    engine.session.used_at_capture.setdefault(what, at)
    events.notice(
        f"{what} ran while the function was captured{at}: it does not run again at each call.", f"{what}{at}"
    )
