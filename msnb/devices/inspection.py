"""What a device can tell about a compiled program: how each node runs, and the code that was generated for it.

The seam between those who show and those who generate: ``device.kernels_of(program)``, ``device.ways_of(program)``,
``device.arena_of(program)`` and ``device.launches_of(program)``. A device that has nothing to tell answers with empty
lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from msnb.ir.graph import Node


@dataclass(frozen=True)
class Listing:
    """A generated kernel as text.

    Attributes:
        name: ``k0``, ``k1`` ... in the order of the program.
        kernel: the target-neutral loop nest.
        code: what the device's compiler was given; language: what that is written in (``LLVM IR``).
        assembly: what it made of it.
        facts: what the machine needs for it, as (word, value), where an assembler tells it.
    """

    name: str
    kernel: str
    code: str
    language: str
    assembly: str
    facts: tuple[tuple[str, str], ...] = ()


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


@dataclass(frozen=True)
class LaunchCost:
    """One step of a program on a device: what it moves and computes.

    Attributes:
        name: ``k0`` of a generated kernel, the operator of a library's call, ``copy``.
        how: as ``NodeLowering.how``.
        launches: how often something is launched.
        least: bytes of operands and results, each once; moved: bytes that it really moves.
        flops: its arithmetic; dtype: which units do it (``float32``, ``tf32``, ``bfloat16`` ...).
        shapes: of each launch of a generated kernel: function, grid, block.
        node: of the program that runs.
    """

    name: str
    how: str
    launches: int
    least: int
    moved: int
    flops: float = 0.0
    dtype: str = "float32"
    shapes: tuple[tuple[str, tuple[int, int, int], tuple[int, int, int]], ...] = ()
    node: Node | None = None


class DeviceMachine(Protocol):
    """A chip as predictions see it (``msnb.devices.gpu.chips``)."""

    @property
    def name(self) -> str:
        """As people say it."""
        ...

    @property
    def bandwidth(self) -> float:
        """Bytes per second of its memory."""
        ...

    def peak(self, dtype: str) -> float:
        """Flops per second."""
        ...

    def seconds(self, nbytes: float, flops: float = 0.0, dtype: str = "float32") -> float:
        """The predicted time of one kernel."""
        ...
