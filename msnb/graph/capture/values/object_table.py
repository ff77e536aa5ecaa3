"""The objects that a captured program meets: those of the outside by their paths, and those that it makes itself."""

from __future__ import annotations

from typing import Any

from msnb.graph.capture.values.sources import Source


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
