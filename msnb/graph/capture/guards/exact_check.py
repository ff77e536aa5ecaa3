"""Guards: what a captured program assumed about the outside, as one generated function.

    def check(args, kwargs):
        if len(args) != 1: return 0                 the number of the first guard that fails, or
        s0 = args[0]
        if s0.__class__ is not k0 or s0._type is not k1: return 1
        s1 = k2['cfg']
        ...
        return (s0._data, s5), (s7,)                the program's inputs, and the objects it will write to

A guard that raises counts as failed. The function that is slow and talkative (``explain``) runs only after that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import CodeType, FunctionType, ModuleType
from typing import Any

from msnb.base import device_registry, reraise_interrupt
from msnb.base.compile_timing import timed
from msnb.base.source_location import Where
from msnb.graph.capture.frontend import conversion_cache
from msnb.graph.capture.guards.fast_check import quick_check
from msnb.graph.capture.values.sources import Emitter, Source, evaluate

# {0} is the value of the path, {c0}.. the constants; the text is the condition under which the guard holds
TESTS = {
    "is": "{0} is {c0}",
    "eq": "type({0}) is {t0} and {0} == {c0}",
    "type": "type({0}) is {c0}",
    "tensor": "type({0}) is {c0} and {0}._type is {c1}",
    "sizes": "type({0}) is {c0} and {c1}({0}._type)",
    "array": "type({0}) is {c0} and {0}.shape == {c1} and {0}.dtype == {c2}",
    "content": "{c1}({0}, {c0})",
    "num": "type({0}) is {t0} and ({0} == {c0} or {0} != {0} and {c0} != {c0})",
    "code": "{0}.__code__ is {c0} or {0}.__code__ == {c0}",
    "absent": "{c0} not in {0}",
    "same": "{0} is {1}",
}


@dataclass(eq=False)
class Guard:
    """One assumption: ``kind`` (see TESTS) about the values of some paths, and where the program relied on it."""

    kind: str
    sources: tuple[Source, ...]
    consts: tuple[Any, ...]
    where: Where | None

    @property
    def ident(self) -> tuple[Any, ...]:
        """Equal for guards that say the same."""
        return (self.kind, tuple(s.ident for s in self.sources), tuple(_ident(c) for c in self.consts))

    def condition(self, emitter: Emitter) -> str:
        """The text of the test, after writing the lines that evaluate the paths."""
        values = [emitter.text(s) for s in self.sources]
        consts = {f"c{i}": emitter.const(c) for i, c in enumerate(self.consts)}
        if self.kind in ("eq", "num"):
            consts["t0"] = emitter.const(type(self.consts[0]))
        if self.kind == "distinct":
            return self._apart(values)
        if self.kind == "num" and self.consts[0] == self.consts[0]:
            return f"type({values[0]}) is {consts['t0']} and {values[0]} == {consts['c0']}"
        return TESTS[self.kind].format(*values, **consts)

    def _apart(self, values: list[str]) -> str:
        """All are different objects; or the first few, as the constant says, from all."""
        if self.consts and self.consts[0] < 4:
            pairs = ((a, b) for i, a in enumerate(values[: self.consts[0]]) for b in values[i + 1 :])
            return " and ".join(f"{a} is not {b}" for a, b in pairs)
        return f"len({{{', '.join(f'id({v})' for v in values)}}}) == {len(values)}"

    def emit(self, emitter: Emitter, number: int) -> None:
        """Write the test into the generated function."""
        emitter.lines.append(f"if not ({self.condition(emitter)}): return {number}")

    def holds(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Evaluate this guard alone."""
        emitter = Emitter()
        self.emit(emitter, 0)
        try:
            return _function(emitter, "True")(args, kwargs) is True
        except Exception as error:
            reraise_interrupt(error)
            return False

    def __str__(self) -> str:
        names = " and ".join(s.label for s in self.sources[:3]) + (" ..." if len(self.sources) > 3 else "")
        return f"{names} {_SAID[self.kind](self.consts)}"

    def change(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """What is different now: ``k 2 -> 7, cell [3] line 4``."""
        place = f", {self.where}" if self.where is not None else ""
        source = self.sources[0]
        try:
            now = evaluate(source, args, kwargs)
        except Exception as error:
            reraise_interrupt(error)
            gone = "was redefined" if "__func__" in source.pattern else "is gone"
            return f"{source.label} {gone}{place}"
        return f"{self._told(source.label, now)}{place}"

    def _told(self, label: str, now: Any) -> str:
        if self.kind == "absent":
            return f"{label} now has {self.consts[0]!r}"
        if self.kind == "distinct":
            return "two objects that the program writes or reads are now one"
        if self.kind == "same":
            return f"{label} and {self.sources[1].label} are no longer one object"
        if self.kind == "code" or (self.kind == "type" and self.consts[0] is FunctionType):
            return f"{label} was redefined"
        if self.kind == "content":
            return f"the values of {label} changed"
        if self.kind == "is" and isinstance(self.consts[0], (property, CodeType)):
            return f"{label.removesuffix('.__code__')} was redefined"
        if self.kind == "is" and callable(self.consts[0]) and callable(now):
            return f"{label} was redefined"
        before, after = _shown(self.kind, self.consts), _shown_now(self.kind, now)
        return f"{label} was replaced" if before == after else f"{label} {before} -> {after}"


_SAID: dict[str, Callable[[tuple[Any, ...]], str]] = {
    "is": lambda c: f"is {_brief(c[0])}",
    "eq": lambda c: f"== {_brief(c[0])}",
    "num": lambda c: f"== {_brief(c[0])}",
    "type": lambda c: f"is of type {c[0].__name__}",
    "tensor": lambda c: f"is a {c[0].__name__} {c[1]!r}",
    "sizes": lambda c: f"is a {c[0].__name__} {c[1]}",
    "array": lambda c: f"is an array {list(c[1])} {c[2]}",
    "content": lambda c: "has the same values",
    "code": lambda c: f"has the code of line {c[0].co_firstlineno}",
    "absent": lambda c: f"has no {c[0]!r}",
    "same": lambda c: "are one object",
    "distinct": lambda c: "are different objects",
}


def _ident(const: Any) -> Any:
    if isinstance(const, (int, float, str, bool, tuple)):
        return type(const).__name__, repr(const)
    return id(const)


def _brief(value: Any) -> str:
    if isinstance(value, CodeType):
        return f"as in {Where(value.co_filename, value.co_firstlineno, -1, -1, value.co_name)}"
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    name = getattr(value, "__qualname__", None)
    text = name if isinstance(name, str) else repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _shown(kind: str, consts: tuple[Any, ...]) -> str:
    if kind == "type":
        return str(consts[0].__name__)
    if kind == "tensor":
        return repr(consts[1])
    return f"{list(consts[1])} {consts[2]}" if kind == "array" else _brief(consts[0])


def _shown_now(kind: str, now: Any) -> str:
    found = getattr(now, "_type", None)
    if found is not None:
        return repr(found)
    if kind == "type":
        return f"{type(now).__name__} {_brief(now)}" if isinstance(now, (int, float, str, bool)) else type(now).__name__
    return f"{list(now.shape)} {now.dtype}" if kind == "array" and hasattr(now, "shape") else _brief(now)


def _function(emitter: Emitter, result: str) -> Callable[..., Any]:
    lines = "\n".join(f"    {line}" for line in (*emitter.lines, f"return {result}"))
    space = dict(emitter.consts, _current=device_registry._current)
    exec(conversion_cache.compiled(f"def check(args, kwargs):\n{lines}\n", "<guards>"), space)
    found: Callable[..., Any] = space["check"]
    return found


@timed("guards")
def compile_guards(
    guards: Sequence[Guard],
    inputs: Sequence[tuple[Source, str]],
    objects: Sequence[Source],
    known: dict[Any, Any] | None = None,
) -> Any:
    """The generated function of a program.

    Args:
        guards: in the order in which the program met them.
        inputs: path and pattern (``{0}._data``) per input.
        objects: paths of objects that the program writes to or gives back.
        known: objects by the idents of their paths, as they are now; with them the check takes short cuts (``quick``).
    """
    if known is None:
        return _exact(guards, inputs, objects, device_registry.current())
    device = device_registry.current()
    return quick_check(guards, inputs, objects, known, lambda: _exact(guards, inputs, objects, device))


def _exact(
    guards: Sequence[Guard], inputs: Sequence[tuple[Source, str]], objects: Sequence[Source], device: Any
) -> Callable[..., Any]:
    emitter = Emitter()
    emitter.lines.append(f"if _current and _current[0] is not {emitter.const(device)}: return -1")
    for number, guard in enumerate(guards):
        guard.emit(emitter, number)
    values = [pattern.format(emitter.text(source)) for source, pattern in inputs]
    held = [emitter.text(source) for source in objects]
    return _function(emitter, f"[{', '.join(values)}], [{', '.join(held)}]")
