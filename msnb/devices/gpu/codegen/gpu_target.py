"""What generated code may count on, by the GPU that it is for."""

from __future__ import annotations

from typing import NamedTuple


class GpuTarget(NamedTuple):
    """A kind of GPU.

    Attributes:
        bfloat: floats are rounded to bfloat16 by one instruction.
        shared_bytes: of shared memory that a block may have, if its launch brings it.
        multiprocessors: how many there are.
    """

    bfloat: bool = True
    shared_bytes: int = 227 << 10
    multiprocessors: int = 132


_SHARED = {70: 96, 75: 64, 80: 163, 86: 99, 87: 163, 89: 99, 90: 227, 120: 99}
"""KiB of shared memory of a block, from a compute capability on: CUDA's programming guide, technical specifications."""


def target_of(chip: str, multiprocessors: int = 132) -> GpuTarget:
    """What a chip such as ``sm_75`` has."""
    number = int("".join(c for c in chip if c.isdigit()))
    shared = _SHARED[max((n for n in _SHARED if n <= number), default=75)]
    return GpuTarget(bfloat=number >= 80, shared_bytes=shared << 10, multiprocessors=multiprocessors)


NEWEST = GpuTarget()
