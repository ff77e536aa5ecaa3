"""What generated code may count on. A page of its own: who loads code from the disk needs no generator."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """What the CPU has: lanes of a vector of 32-bit elements, masked loads and stores, 2^n scaling of 16 lanes."""

    lanes: int
    masks: bool
    scalef: bool
