"""Memory for programs: arenas that programs hand on to each other, and buffers for results.

A program needs its arena only while it runs. So arenas lie in one shelf: a program takes the one it had last, if it is
there, else the smallest that is large enough. What lies there is never more than what ran at the same time.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import OutOfMemoryError
from msnb.base.free_memory import CHECKED, free_memory, size
from msnb.base.threads import fork_locks
from msnb.core.storage import aligned_memory
from msnb.core.storage.aligned_memory import CACHE_LINE, Array


class ArenaError(OutOfMemoryError):
    """There is no memory for a program's arena, or for its results."""


class ArenaPool:
    """Arenas that nobody uses at the moment."""

    def __init__(self) -> None:
        self._free: list[Array] = []
        self._lock = fork_locks.lock()

    def take(self, count: int, last: Array | None) -> Array:
        """An arena of at least ``count`` bytes, whose content is anything."""
        with self._lock:
            if self._free and self._free[-1] is last and last.nbytes >= count + CACHE_LINE:
                return self._free.pop()
            fitting = [a for a in self._free if a.nbytes >= count + CACHE_LINE]
            found = next((a for a in fitting if a is last), min(fitting, key=lambda a: a.nbytes, default=None))
            if found is None:
                self._free.clear()
                found = room((count + CACHE_LINE,), np.uint8)
            else:
                self._free = [a for a in self._free if a is not found]
            return found

    def give(self, arena: Array) -> None:
        """Back on the shelf."""
        with self._lock:
            self._free.append(arena)


SHELF = ArenaPool()


def aligned(arena: Array) -> int:
    """The address of the first byte of an arena that is aligned."""
    return -(-arena.ctypes.data // CACHE_LINE) * CACHE_LINE


def room(shape: tuple[int, ...], dtype: Any) -> Array:
    """An array of anything. A system may promise more than it has: what is larger than what is free is not taken.

    Raises:
        MemoryError: there is less.
    """
    found = aligned_memory.empty(shape, dtype)
    if found.nbytes >= CHECKED and found.nbytes > (free_memory() or found.nbytes):
        raise MemoryError
    return found


def out_of_memory(peak: int, values: Sequence[tuple[str, int]], results: int, name: str) -> ArenaError:
    """The sentence for a program that needs more memory than there is.

    Args:
        peak: bytes of its arena.
        values: name and bytes of what lies there, and of the results.
        results: bytes of all results.
        name: of the program.
    """
    largest = sorted(values, key=lambda v: -v[1])[:3]
    told = ", ".join(f"{v} ({size(count)})" for v, count in largest)
    free = free_memory()
    there = "which cannot be had" if free is None or free > peak + results else f"and {size(free)} are free"
    return ArenaError(
        f"{name} needs {size(peak)} of working memory and {size(results)} for its results, {there}; nothing was "
        f"changed. Its largest values: {told or 'none'}.",
        hint="use a smaller batch, or Cell.recompute() to keep less for the gradient.",
    )


class Pool:
    """Buffers for results: one that only the pool holds is used again. Views of it keep it, as they keep it alive."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, Any], list[Array]] = {}

    def take(self, shape: tuple[int, ...], dtype: Any) -> Array:
        """A buffer nobody else has."""
        kept = self._kept.setdefault((shape, dtype), [])
        for _ in range(len(kept)):
            found = kept.pop(0)
            kept.append(found)
            if sys.getrefcount(found) == _ALONE:
                return found
        made = room(shape, dtype)
        kept.append(made)
        del kept[:-16]
        return made


def _alone() -> int:
    kept = [np.empty(1)]
    found = kept.pop(0)
    kept.append(found)
    return sys.getrefcount(found)


_ALONE = _alone()
