"""What generated code may count on, by the GPU that it is for."""

from __future__ import annotations

from typing import NamedTuple


class GpuTarget(NamedTuple):
    """A kind of GPU.

    Attributes:
        bfloat: floats are rounded to bfloat16 by one instruction.
    """

    bfloat: bool = True


def target_of(chip: str) -> GpuTarget:
    """What a chip such as ``sm_75`` has."""
    return GpuTarget(bfloat=int("".join(c for c in chip if c.isdigit())) >= 80)


NEWEST = GpuTarget()
