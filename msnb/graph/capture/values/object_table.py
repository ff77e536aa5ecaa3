"""The objects that a captured program meets: those of the outside by their paths, and those that it makes itself."""

from __future__ import annotations

import sys
import types
from typing import Any

from msnb.base.source_location import is_own
from msnb.graph.capture.values.sources import Source

_WITH_PARTS = ("__main__", "builtins", "types", "collections")
_ASKED = (
    "__iter__", "__getitem__", "__len__", "__contains__", "__eq__", "__hash__", "__lt__", "__gt__", "__index__",
    "__float__", "__int__", "__bool__", "__array__", "__str__", "__repr__", "__format__", "__next__", "__reversed__",
)  # fmt: skip


def is_heap(kind: type) -> bool:
    """Was the class made by a class statement (or by C code at run time)?"""
    return bool(kind.__flags__ & (1 << 9))


def has_parts(kind: type) -> bool:
    """A class that a program made, or one of Python's whose objects have attributes of their own."""
    module = kind.__module__.split(".")[0]
    own = module != "msnb" and (module not in sys.stdlib_module_names or module in _WITH_PARTS)
    return own and (is_heap(kind) or kind is types.SimpleNamespace)


def is_asked(kind: type) -> bool:
    """Has the class special methods of Python code, by which C asks about its objects?"""
    found = [getattr(kind, name, None) for name in _ASKED]
    return any(isinstance(fn, types.FunctionType) and not is_own(fn.__code__.co_filename) for fn in found)


class ObjectTable:
    """Objects by identity; all of them live as long as the table does.

    Attributes:
        arrays: outside arrays by the ``id`` of the array whose memory they have.
        settled: containers whose content is guarded as a whole.
    """

    def __init__(self) -> None:
        self.arrays: dict[int, Any] = {}
        self.settled: set[int] = set()
        self._outside: dict[int, tuple[Any, Source]] = {}
        self._fresh: dict[int, Any] = {}

    def source_of(self, obj: Any) -> Source | None:
        """The path of an outside object, None for what the program made itself."""
        return self._outside.get(id(obj), (None, None))[1]

    def hold(self, obj: Any, source: Source) -> None:
        """``obj`` is outside and lies there."""
        self._outside[id(obj)] = (obj, source)

    def outside(self) -> list[tuple[Any, Source]]:
        """Every outside object with its path."""
        return list(self._outside.values())

    def make(self, obj: Any) -> None:
        """The program made ``obj``: nobody outside knows it."""
        self._fresh[id(obj)] = obj

    def is_fresh(self, obj: Any) -> bool:
        """Did the program make it?"""
        return id(obj) in self._fresh
