"""What a device can tell about a compiled program: how each node runs, and the code that was generated for it.

The seam between those who show and those who generate: ``device.kernels_of(program)``, ``device.ways_of(program)`` and
``device.arena_of(program)``. A device that generates nothing answers with empty lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from msnb.ir.graph import Node


@dataclass(frozen=True)
class Listing:
    """A generated kernel as text.

    Attributes:
        name: ``k0``, ``k1`` ... in the order of the program.
        kernel: the target-neutral loop nest.
        code: what the device's compiler was given; language: what that is written in (``LLVM IR``).
        assembly: what it made of it.
    """

    name: str
    kernel: str
    code: str
    language: str
    assembly: str


@dataclass(frozen=True)
class NodeLowering:
    """How a node runs.

    Attributes:
        node: the node of the program that runs (after fusion).
        how: ``generated kernel k0``, ``oneDNN``, ``Python`` ...
    """

    node: Node
    how: str


class PlannedBuffer(NamedTuple):
    """One value in a program's arena: bytes from ``offset`` on, alive from instruction ``first`` to ``last``."""

    name: str
    offset: int
    bytes: int
    first: int
    last: int
