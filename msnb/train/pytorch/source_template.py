"""Source under construction: text with holes for what is not known yet, and templates for it.

    Text    a list of pieces: str, or one of the holes
    Operand     a value of the graph, whose name depends on the place
    Slot    a constant that may differ from one instance of a class to the next: written out where all agree, else an
            argument of the class

A template is Python text with fields of arguments:

    {dim}               the argument, wherever it stands
    {, dim=dim|-1}      ", dim=2"; nothing where it is -1 or not given
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from msnb.train.pytorch.exported_program import DtypeArgument, Ref

_FIELD = re.compile(r"\{(, )?(?:(\w+)=)?(\w+)(?:\|([^}]*))?\}")
_REQUIRED = object()
# what says where a value is or how it lies there, and how fast running statistics follow
_HARMLESS = {"compute_mode", "copy", "cudnn_enabled", "device", "layout", "memory_format", "momentum", "non_blocking",
             "pin_memory"}  # fmt: skip


@dataclass(frozen=True)
class Operand:
    """A value of the graph."""

    name: str


@dataclass(frozen=True)
class Slot:
    """A constant.

    Attributes:
        name: what it is called as an argument of a class.
        value: it.
        prefix: what stands before it where it is written: ", stride=".
        default: the value that need not be written, with its prefix.
    """

    name: str
    value: Any
    prefix: str = ""
    default: Any = _REQUIRED


Text = list[Any]


def literal(value: Any) -> str:
    """A constant as Python writes it."""
    if isinstance(value, DtypeArgument):
        return f"ms.{value.name}"
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(literal, value))}{',' * (len(value) == 1)})"
    if isinstance(value, str) and not {'"', "'", "\\"} & set(repr(value)[1:-1]):
        return f'"{repr(value)[1:-1]}"'
    return repr(value)


def text_of(name: str, value: Any) -> Text:
    """What stands for an argument."""
    if isinstance(value, Ref):
        return [Operand(value.name)]
    if isinstance(value, (list, tuple)) and any(isinstance(part, Ref) for part in value):
        pieces: Text = ["("]
        for i, part in enumerate(value):
            pieces += text_of(f"{name}_{i}", part)
            pieces.append(", " if i + 1 < len(value) else ",)" if len(value) == 1 else ")")
        return pieces
    return [Slot(name, tuple(value) if isinstance(value, list) else value)]


def filled(template: str, arguments: Mapping[str, Any]) -> Text:
    """A template with its arguments.

    Raises:
        KeyError: a field that must be there is not among the arguments.
    """
    pieces: Text = []
    end = 0
    for field in _FIELD.finditer(template):
        pieces.append(template[end : field.start()])
        end = field.end()
        comma, keyword, name, default = field.groups()
        prefix = (comma or "") + (f"{keyword}=" if keyword else "")
        if not comma:
            pieces += ([prefix] if prefix else []) + text_of(name, arguments[name])
            continue
        value = arguments.get(name)
        fallback = ast.literal_eval(default) if default else None
        if isinstance(value, Ref) or (isinstance(value, list) and any(isinstance(part, Ref) for part in value)):
            pieces += [prefix, *text_of(name, value)]
        else:
            value = fallback if value is None else tuple(value) if isinstance(value, list) else value
            pieces.append(Slot(keyword or name, value, prefix, fallback))
    pieces.append(template[end:])
    return [piece for piece in pieces if piece != ""]


class ReadArguments(dict[str, Any]):
    """The arguments of an operator, which remembers what a rule read of them: what it did not read must not matter."""

    def __init__(self, arguments: Mapping[str, Any]) -> None:
        super().__init__(arguments)
        self._read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self._read.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self._read.add(str(name))
        return super().__contains__(name)

    def get(self, name: str, default: Any = None) -> Any:
        """The argument, or ``default``."""
        self._read.add(name)
        return super().get(name, default)

    def ignored(self, given: Mapping[str, Any], harmless: frozenset[str] = frozenset()) -> list[str]:
        """Those of the arguments ``given`` that ask for something, and that nobody read; ``harmless`` ones may be."""
        read = self._read | {name.rpartition("_")[0] for name in self._read} | _HARMLESS | harmless
        read |= {next(iter(given), "")} if {"self", "input"} & self._read else set()
        return [name for name, value in given.items() if name not in read and value not in (None, False, [])]


def same(a: Any, b: Any) -> bool:
    """Whether two constants are written alike (1, 1.0 and True differ)."""
    return type(a) is type(b) and literal(a) == literal(b)
