"""The chips that are simulated: what the hardware is, what its kernels reach, and how the software cuts programs up.

    AI core (Da Vinci)                                      chip
      L1 1 MB --> L0A 64 KB --+                             32 cores at 1 GHz
              --> L0B 64 KB --+--> cube 16x16x16 --> L0C    HBM 1.2 TB/s, 32 GB
      UB 256 KB <--> vector 256 bytes/cycle <-------- 256 KB

Three kinds of numbers stand apart: those of the data sheet, shares of them that real kernels reach (``e_*``, fitted as
``docs/validation.md`` says), and habits of the software (``fuse``, ``half``). Every number of the Ascend 910 carries
its source in the field's metadata; the 310's are those of its data sheet (8 TFLOPS at 16 bit, two cores at 680 MHz,
LPDDR4X 51.2 GB/s, 8 GB), with the shares of the 910.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

KB = 1024

HOTCHIPS = "Liao et al., DaVinci: a scalable architecture for neural network computing, HotChips 31, 2019"
PLATFORM = "CANN's platform files of 910A and 310"
AIBENCH = "AIBench, CCF THPC 2024, 10.1007/s42514-024-00187-x"
MINDINSIGHT = "profiles among MindInsight's test data (tests/utils/resource)"
FITTED = "fitted: tests/parallel/fit.py, docs/validation.md"
SCRIPTS = "training scripts of MindSpore's ModelZoo"


def said(value: Any, source: str) -> Any:
    """A number and where it is from."""
    return field(default=value, metadata={"source": source})


@dataclass(frozen=True)
class Chip:
    """One device, as the cost model sees it.

    Attributes:
        name: of the profile.
        cores: AI cores; clock: cycles/s of each.
        cube, vector: peak of the matrix unit in flops/s and of the vector unit in lanes/s, both for 16 bits.
        hbm: bytes/s of its memory; memory: bytes of it that programs get.
        e_cube, e_vector, e_hbm: shares of the peaks that real kernels reach.
        launch: seconds per kernel of a graph that runs as a whole on the device.
        eager: seconds per kernel that the host launches one by one.
        row: seconds per gathered row, all cores together: a small piece of memory that a core waits for.
        row_sum: seconds per row of a plain image (one channel) that is summed, all cores together.
        half: float32 activations and weights pass through memory with 16 bits, as in the vendor's training scripts
            (mixed precision, amp level O2 or O3).
        fuse: how far vector operators join kernels: 0 not at all, 1 with each other, 2 also behind matrix products.
        step: seconds per training step that belong to no kernel.
    """

    name: str = said("ascend910", "a name")
    cores: int = said(32, HOTCHIPS)
    clock: float = said(1e9, HOTCHIPS)
    cube: float = said(256e12, f"{HOTCHIPS}: 32 cores, 16x16x16 products at 1 GHz, rounded as the data sheet does")
    vector: float = said(4.1e12, f"{HOTCHIPS}: 32 cores, 256 bytes per cycle")
    hbm: float = said(1.2e12, HOTCHIPS)
    memory: float = said(30e9, f"{HOTCHIPS}: 32 GB, less 2 GB that the system keeps (an assumption)")
    e_cube: float = said(0.538, f"{FITTED}; products alone reach 0.82 ({AIBENCH})")
    e_vector: float = said(0.83, f"measured: {AIBENCH}")
    e_hbm: float = said(0.893, f"{FITTED}; the optimizer of AlexNet reaches 0.80 ({MINDINSIGHT}, run_2)")
    launch: float = said(4e-6, "given, not fitted: two rows cannot tell three numbers apart; the smallest kernels of "
                               "MindInsight's test profiles take 1.2 to 6 us")  # fmt: skip
    eager: float = said(40e-6, "an assumption: 20 to 60 us per launched kernel")
    row: float = said(196e-9 / 32, f"{FITTED}, Wide&Deep on one device")
    row_sum: float = said(77e-9, f"{FITTED}, 990 classes more or less of SqueezeNet")
    half: bool = said(True, SCRIPTS)
    fuse: int = said(2, f"{SCRIPTS}: release 0.5 joins vector operators to products")
    step: float = said(0.0, "nothing is known of it")


ASCEND910 = Chip()
ASCEND310 = replace(ASCEND910, name="ascend310", cores=2, clock=0.68e9, cube=8e12, vector=0.17e12, hbm=51.2e9,
                    memory=7e9, row=196e-9 / 2,
                    row_sum=77e-9 * 16)  # fmt: skip


@dataclass(frozen=True)
class Core:
    """Buffers of one core in bytes and its paths in bytes per cycle.

    Attributes:
        block: the cube multiplies block x block by block x block matrices of 16 bits in one cycle.
        l1, l0a, l0b, l0c, ub: buffers.
        to_l1, to_l0a, to_l0b, to_ub, out: paths HBM -> L1 (a core's share of L2), L1 -> L0A, L1 -> L0B, L0C -> UB,
            UB -> HBM (a core's share).
        lanes: bytes that the vector unit works on per cycle.
    """

    block: int = said(16, HOTCHIPS)
    l1: int = said(1024 * KB, PLATFORM)
    l0a: int = said(64 * KB, PLATFORM)
    l0b: int = said(64 * KB, PLATFORM)
    l0c: int = said(256 * KB, PLATFORM)
    ub: int = said(256 * KB, PLATFORM)
    to_l1: float = said(94.0, "Liao et al., Ascend, HPCA 2021: 94 GB/s of L2 that each core is sure of")
    to_l0a: float = said(512.0, PLATFORM)
    to_l0b: float = said(256.0, PLATFORM)
    to_ub: float = said(512.0, PLATFORM)
    out: float = said(64.0, PLATFORM)
    lanes: int = said(256, HOTCHIPS)


CORE = Core()
CHIPS = {"Ascend910": ASCEND910, "Ascend310": ASCEND310}
