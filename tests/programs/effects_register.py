"""The register of programs that print, raise and write; each runs on its own ``Box`` of state, twice per call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import msnb as ms


class Part:
    """An object of the user."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __str__(self) -> str:
        return f"Part({self.value})"


class Box:
    """What a program may write to."""

    def __init__(self) -> None:
        self.p = ms.Parameter(ms.Tensor([1.0, 2.0]), name="p")
        self.q = ms.Parameter(ms.Tensor([5.0, 6.0]), name="q")
        self.rows: list[Any] = []
        self.table: dict[str, Any] = {"a": 1}
        self.count = 0
        self.array = np.array([3.0, 1.0, 2.0])
        self.part = Part(7)

    def told(self) -> str:
        """All of it, as text."""
        found = (self.p, self.q, self.rows, self.table, self.count, self.array, self.part.value)
        return " | ".join(map(repr, found))


@dataclass
class Program:
    """A function of a box and tensors, and the arguments it is called with, one call after the other."""

    fn: Callable[..., Any]
    calls: tuple[tuple[float, ...], ...]
    fails_whole: bool = field(default=False)

    @property
    def name(self) -> str:
        return self.fn.__name__


PROGRAMS: list[Program] = []
REFUSED: list[tuple[Callable[..., Any], str]] = []


def program(*calls: tuple[float, ...], failing: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a program. ``failing``: a call that raises may have written in eager mode (a graph writes nothing)."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(fn, calls, failing))
        return fn

    return register


def refused(words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a program that graph mode refuses with these words."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        REFUSED.append((fn, words))
        return fn

    return register
