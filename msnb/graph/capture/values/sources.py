"""Where an outside value came from: a path that can be walked again at every call.

    def f(x): return x * cfg["lr"] + net.bias        G['cfg']['lr']      G['net'].bias      args[0]

A Source is one step of a path and knows its base. Guards and gathering share one generated function in which every step
is evaluated once and kept in a local (``s3 = s1.bias``), so a guard costs one look-up and one comparison.
"""

from __future__ import annotations

import math
import operator
import weakref
from collections.abc import Callable
from typing import Any


class PathKey:
    """The one object of a path: pattern, the same of its bases, constants."""

    __slots__ = ("__weakref__", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts: tuple[Any, ...] = parts  # the table holds it as long as somebody holds this


_IDENTS: weakref.WeakValueDictionary[tuple[Any, ...], PathKey] = weakref.WeakValueDictionary()


class Source:
    """One step: ``pattern`` with ``{0}`` for the first base and ``{k}`` for the constant ``key``.

    Attributes:
        label: the path as a person would write it.
        ident: what all sources of the same path share; found by identity, so long chains of objects stay cheap.
    """

    __slots__ = ("bases", "consts", "ident", "label", "pattern")

    def __init__(self, pattern: str, bases: tuple[Source, ...], consts: tuple[Any, ...], label: str) -> None:
        self.pattern: str = pattern
        self.bases: tuple[Source, ...] = bases
        self.consts: tuple[Any, ...] = consts
        self.label: str = label if len(label) < 400 else f"{label[:180]} ... {label[-180:]}"
        parts = (pattern, tuple(b.ident for b in bases), tuple(_key(c) for c in consts))
        self.ident: PathKey = _IDENTS.get(parts) or _IDENTS.setdefault(parts, PathKey(parts))

    def __repr__(self) -> str:
        return f"<source {self.label}>"


def _key(const: Any) -> Any:
    if isinstance(const, (int, str, float, bool)):
        return type(const).__name__, repr(const)
    return id(const)


def root(name: str) -> Source:
    """A variable of the guard function: ``args`` or ``kwargs``."""
    return Source(name, (), (), name)


def ref(obj: Any, label: str = "") -> Source:
    """An object that the program holds on to."""
    return Source("{c0}", (), (obj,), label or getattr(obj, "__name__", type(obj).__name__))


def glob(space: dict[str, Any], name: str) -> Source:
    """A global variable."""
    return Source("{c0}[{c1}]", (), (space, name), name)


def cell(box: Any, name: str) -> Source:
    """A variable of an enclosing function."""
    return Source("{c0}.cell_contents", (), (box,), name)


def content(box: Source, name: str) -> Source:
    """What a cell on a path holds."""
    return Source("{0}.cell_contents", (box,), (), f"{name} in {box.label}")


def attr(base: Source, name: str) -> Source:
    """``base.name``."""
    pattern = "{0}." + name if name.isidentifier() and name.isascii() else "getattr({0}, {c0})"
    return Source(pattern, (base,), (name,), f"{base.label}.{name}")


def item(base: Source, key: Any, label: str = "") -> Source:
    """``base[key]``."""
    return Source("{0}[{c0}]", (base,), (key,), label or f"{base.label}[{_short(key)}]")


def function(base: Source) -> Source:
    """The function behind a bound method."""
    return Source("{0}.__func__", (base,), (), base.label)


def length(base: Source) -> Source:
    """``len(base)``."""
    return Source("len({0})", (base,), (), f"len({base.label})")


def keys(base: Source) -> Source:
    """The keys of a mapping, in order."""
    return Source("tuple({0})", (base,), (), f"the keys of {base.label}")


def of_call(source: Source) -> bool:
    """Whether a path begins at an argument of the call; else it begins at something that the program holds on to."""
    while source.bases:
        source = source.bases[0]
    return source.pattern in ("args", "kwargs")


def _short(key: Any) -> str:
    text = repr(key)
    return text if len(text) < 40 else f"{text[:36]}..."


# ---- expressions of outside numbers ----

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "@": operator.matmul,
    "is": operator.is_, "is not": operator.is_not,
}  # fmt: skip


def binary(op: str, left: Any, right: Any) -> Source:
    """``left op right``; each is a Source or a Python number."""
    bases, consts, texts = _operands((left, right))
    shown = [p.label if isinstance(p, Source) else repr(p) for p in (left, right)]
    return Source(f"({texts[0]} {op} {texts[1]})", bases, consts, f"{shown[0]} {op} {shown[1]}")


def called(fn: Any, args: tuple[Any, ...]) -> Source:
    """``fn(*args)`` of a pure function of numbers."""
    bases, consts, texts = _operands(args)
    shown = ", ".join(p.label if isinstance(p, Source) else repr(p) for p in args)
    text = f"{{c{len(consts)}}}({', '.join(texts)})"
    return Source(text, bases, (*consts, fn), f"{getattr(fn, '__name__', 'f')}({shown})")


def _operands(parts: tuple[Any, ...]) -> tuple[tuple[Source, ...], tuple[Any, ...], list[str]]:
    bases: list[Source] = []
    consts: list[Any] = []
    texts = []
    for part in parts:
        if isinstance(part, Source):
            texts.append(f"{{{len(bases)}}}")
            bases.append(part)
        else:
            texts.append(f"{{c{len(consts)}}}")
            consts.append(part)
    return tuple(bases), tuple(consts), texts


PURE = {abs, min, max, round, pow, int, float, complex, divmod}
PURE |= {f for f in vars(math).values() if callable(f)} - {math.prod, math.fsum}


class Emitter:
    """Writes the lines that evaluate sources, each once."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.consts: dict[str, Any] = {}
        self._names: dict[Any, str] = {}
        self._const_names: dict[Any, str] = {}

    def const(self, value: Any) -> str:
        """A name (or literal) for a constant."""
        if type(value) in (int, str, bool, type(None)):
            return repr(value)
        name = self._const_names.get(id(value))
        if name is None:
            name = self._const_names[id(value)] = f"k{len(self.consts)}"
            self.consts[name] = value
        return name

    def text(self, source: Source) -> str:
        """The local variable that holds the source's value, after writing the lines that set it."""
        if not source.bases and not source.consts:
            return source.pattern
        name = self._names.get(source.ident)
        if name is None:
            for step in self._milestones(source):
                self.text(step)
            code = self._expression(source)
            if source.pattern == "{c0}":
                name = code
            else:
                name = f"s{len(self._names)}"
                self.lines.append(f"{name} = {code}")
            self._names[source.ident] = name
        return name

    def _milestones(self, source: Source) -> list[Source]:
        """Every hundredth step of a path on the way to it, from its root: written first, recursion stays shallow."""
        chain = []
        while source.bases and source.ident not in self._names:
            chain.append(source)
            source = source.bases[0]
        return chain[:99:-100] if len(chain) > 100 else []

    def _expression(self, source: Source) -> str:
        values = {f"c{i}": self.const(c) for i, c in enumerate(source.consts)}
        return source.pattern.format(*[self.text(b) for b in source.bases], **values)


def evaluate(source: Source, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Walk a path now (for messages)."""
    emitter = Emitter()
    result = emitter.text(source)
    space = dict(emitter.consts, args=args, kwargs=kwargs)
    for line in emitter.lines:
        exec(line, space)
    return eval(result, space)
