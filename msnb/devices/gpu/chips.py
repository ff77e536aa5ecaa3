"""GPUs as predictions see them: what their data sheets promise, and what fits on one of their multiprocessors.

    seconds of a kernel = max(bytes / (bandwidth * REACH), flops / peak of the dtype) + LAUNCH

``REACH`` is what a copy on the device reaches of the bandwidth (2.90 of 3.35 TB/s, measured on an H100), ``LAUNCH``
what a kernel of a CUDA graph costs where it has nothing to do. Peaks are those of dense products: data sheets print
twice as much for sparse ones.

Sources: "NVIDIA A100 Tensor Core GPU Architecture" (white paper, 2020) and the data sheet of the A100 80 GB SXM;
"NVIDIA H100 Tensor Core GPU Architecture" (white paper, 2022) and the data sheets of the H100 and H200 SXM; "NVIDIA Ada
GPU Architecture" (white paper, 2022) for the GeForce RTX 4090; "NVIDIA Turing GPU Architecture" (white paper, 2018) and
the data sheet of the T4. Limits of a multiprocessor: "Technical Specifications per Compute Capability" in the CUDA C++
Programming Guide.

The figures were entered without the data sheets at hand and have not been compared with them yet.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

REACH, LAUNCH = 0.87, 1.5e-6
WARP, REGISTER_UNIT, RESERVED_SHARED = 32, 256, 1024


@dataclass(frozen=True)
class GpuChip:
    """One kind of GPU.

    Attributes:
        name: as people say it; arch: as compilers do.
        multiprocessors: how many.
        bandwidth: bytes per second of its memory; cache: bytes of L2; memory: bytes.
        flops: per second, by dtype; "tf32" is float32 on tensor cores, "scalar" float32 without them.
        registers, shared, threads, blocks: what one multiprocessor has room for; shared memory in bytes.
    """

    name: str
    arch: str
    multiprocessors: int
    bandwidth: float
    cache: int
    memory: float
    flops: Mapping[str, float]
    shared: int
    threads: int = 2048
    blocks: int = 32
    registers: int = 65536

    def peak(self, dtype: str) -> float:
        """Flops per second of products of this dtype; of float32 where the chip has no units for it."""
        return self.flops.get(dtype, self.flops["float32"])

    def seconds(self, nbytes: float, flops: float = 0.0, dtype: str = "float32") -> float:
        """The predicted time of one kernel."""
        return max(nbytes / (self.bandwidth * REACH), flops / self.peak(dtype)) + LAUNCH


def _flops(
    scalar: float, double: float, tf32: float = 0.0, half: float = 0.0, bfloat: float = 0.0
) -> Mapping[str, float]:
    found = {"float32": scalar, "float64": double, "tf32": tf32, "float16": half, "bfloat16": bfloat}
    return MappingProxyType({name: rate * 1e12 for name, rate in found.items() if rate})


A100 = GpuChip("A100", "sm_80", 108, 2.039e12, 40 << 20, 80e9, _flops(19.5, 19.5, 156, 312, 312), 164 << 10)
H100 = GpuChip("H100", "sm_90", 132, 3.35e12, 50 << 20, 80e9, _flops(66.9, 66.9, 494.7, 989.4, 989.4), 228 << 10)
H200 = replace(H100, name="H200", bandwidth=4.8e12, memory=141e9)  # the same chip beside faster memory
RTX_4090 = GpuChip(
    "RTX 4090", "sm_89", 128, 1.008e12, 72 << 20, 24e9, _flops(82.6, 1.29, 82.6, 165.2, 165.2), 100 << 10, 1536, 24
)
T4 = GpuChip("T4", "sm_75", 40, 0.320e12, 4 << 20, 16e9, _flops(8.1, 0.254, half=65), 64 << 10, 1024, 16)
CHIPS = (A100, H100, H200, RTX_4090, T4)


def chip_called(name: str, arch: str = "") -> GpuChip | None:
    """The chip of a name such as ``NVIDIA H100 80GB HBM3``, else one of the same architecture.

    Args:
        name: as the driver tells it; arch: ``sm_90``.

    Returns:
        None where nothing is known of such a chip.
    """
    exact = [c for c in CHIPS if c.name in name]
    return next(iter([*exact, *(c for c in CHIPS if c.arch == arch)]), None)


class Occupancy(NamedTuple):
    """How full a multiprocessor gets.

    Attributes:
        blocks: that run on it at once; share: of its warps; limit: what keeps more blocks away.
    """

    blocks: int
    share: float
    limit: str


def occupancy(chip: GpuChip, threads: int, registers: int, shared: int) -> Occupancy:
    """The theoretical occupancy of a kernel.

    Args:
        chip: where it runs.
        threads: of a block; registers: of a thread; shared: bytes of a block.
    """
    warps = -(-threads // WARP)
    of_warp = -(-max(registers, 1) * WARP // REGISTER_UNIT) * REGISTER_UNIT
    room = {
        "threads": chip.threads // (warps * WARP),
        "registers": chip.registers // of_warp // warps,
        "blocks": chip.blocks,
        "shared memory": chip.shared // (shared + RESERVED_SHARED) if shared else chip.blocks,
    }
    limit = min(room, key=lambda name: room[name])
    return Occupancy(room[limit], room[limit] * warps * WARP / chip.threads, limit)
