"""Which structures of a call are worth a program (PyTorch's recompile limit, with counts as in a tiered compiler).

    first MANY structures, or LARGE nodes     compiled when they come
    any other                                 as Python at first, operation by operation; compiled when it comes the
                                              STREAKth time in a row, or the OFTENth time at all

A structure is what the arguments are without the numbers in tensors: trees, lengths, types, Python values. A capture
and a compilation cost what 30 to 60 such calls cost in Python (a sentence's tree, an episode: 0.5 s to 4 s against 20
to 60 ms), so a program that does not come again is never paid for. What such a call calls is held to the counts from
its first structure on: the tree that is new to a training step is new to its gradient as well.
"""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np

from msnb.api.graph_breaks import run_plainly
from msnb.core import Tensor
from msnb.core.pytree import flatten

MANY, LEAST, LARGE = 8, 4, 2048  # versions; and nodes that LEAST versions or more have together
STREAK, OFTEN = 3, 32
_MOST = 4096  # structures that are counted
_VALUES = (bool, int, float, complex, str, bytes, range, np.generic, type(None))


class _Inside(threading.local):
    """Whether this thread runs a call as Python that had a structure too many."""

    on = False


_inside = _Inside()


class Deferral(Exception):
    """A call whose structure has not come often enough to be compiled: it runs as Python."""


class RecompileLimit:
    """The structures of one function.

    Attributes:
        versions: programs that were captured.
        nodes: of all of them.
        waiting: how often a structure came that has no program.
    """

    def __init__(self) -> None:
        self.versions = self.nodes = 0
        self.waiting: Counter[int] = Counter()
        self._last, self._streak = 0, 0

    @property
    def reached(self) -> bool:
        """Whether a structure that comes now has to wait."""
        return self.versions >= MANY or (self.versions >= LEAST and self.nodes >= LARGE)

    def add(self, nodes: int) -> bool:
        """Note one more version; whether it was the last that did not have to wait."""
        before = self.reached
        self.versions += 1
        self.nodes += nodes
        return self.reached and not before

    def defers(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Whether a call without a program runs as Python this time."""
        if not (self.reached or _inside.on):
            return False
        key = structure(args, kwargs)
        self._streak = self._streak + 1 if key == self._last else 1
        self._last = key
        if len(self.waiting) >= _MOST:
            self.waiting.clear()
        self.waiting[key] += 1
        if self._streak < STREAK and self.waiting[key] < OFTEN:
            return True
        del self.waiting[key]
        return False

    def __str__(self) -> str:
        if not self.waiting:
            return ""
        calls, kinds = sum(self.waiting.values()), len(self.waiting)
        return f"  recompile limit: {calls} calls of {kinds} other structures ran as Python, operation by operation"


def structure(args: tuple[Any, ...], kwargs: dict[str, Any]) -> int:
    """A hash of what the arguments are without the numbers in tensors."""
    leaves, shape = flatten((args, kwargs))
    return hash((shape, *map(_leaf, leaves)))


def _leaf(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x._type
    if isinstance(x, np.ndarray):
        return x.shape, x.dtype
    return (type(x), x) if isinstance(x, _VALUES) else (type(x), id(x))


def run_uncompiled(fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """``fn``, a function or a Cell, as Python, and everything that it calls held to the counts."""
    before, _inside.on = _inside.on, True
    try:
        return run_plainly(fn, args, kwargs)
    finally:
        _inside.on = before
