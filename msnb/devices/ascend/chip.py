"""The chips that are simulated: what the hardware is, what its kernels reach, and how the software cuts programs up.

    AI core (Da Vinci)                                      chip
      L1 1 MB --> L0A 64 KB --+                             32 cores at 1 GHz
              --> L0B 64 KB --+--> cube 16x16x16 --> L0C    HBM 1.2 TB/s, 32 GB
      UB 256 KB <--> vector 256 bytes/cycle <-------- 256 KB

Three kinds of numbers stand apart: those of the data sheet, shares of them that real kernels reach (``e_*``, fitted as
``docs/validation.md`` says), and habits of the software (``fuse``, ``half``).

Sources. Ascend 910: Liao et al., "DaVinci: a scalable architecture for neural network computing", HotChips 31, 2019
(cores, cube, vector, HBM, HCCS); CANN's platform files of 910A and 310 (buffers, paths in the core). The matrix unit
was measured at 82% and the vector unit at 83% of its peak by AIBench (CCF THPC 2024, 10.1007/s42514-024-00187-x).
Ascend 310: data sheet (8 TFLOPS at 16 bit, two cores at 680 MHz, LPDDR4X 51.2 GB/s, 8 GB). V100: NVIDIA's white paper
WP-08608 (125 TFLOPS, 900 GB/s, 32 GB).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

KB = 1024


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
        row: seconds per gathered row, all cores together.
        half: float32 activations and weights pass through memory with 16 bits, as in the vendor's training scripts
            (mixed precision, amp level O2 or O3).
        fuse: how far vector operators join kernels: 0 not at all, 1 with each other, 2 also behind matrix products.
        step: seconds per training step that belong to no kernel.
    """

    name: str = "ascend910"
    cores: int = 32
    clock: float = 1e9
    cube: float = 256e12
    vector: float = 4.1e12
    hbm: float = 1.2e12
    memory: float = 30e9
    e_cube: float = 0.48
    e_vector: float = 0.83
    e_hbm: float = 0.88
    launch: float = 4e-6
    eager: float = 40e-6
    row: float = 193e-9 / 32
    half: bool = True
    fuse: int = 2
    step: float = 0.0


ASCEND910 = Chip()
ASCEND310 = replace(ASCEND910, name="ascend310", cores=2, clock=0.68e9, cube=8e12, vector=0.17e12, hbm=51.2e9,
                    memory=7e9, row=193e-9 / 2)  # fmt: skip


@dataclass(frozen=True)
class Core:
    """Buffers of one core in bytes and its paths in bytes per cycle (CANN's platform file).

    Attributes:
        block: the cube multiplies block x block by block x block matrices of 16 bits in one cycle.
        l1, l0a, l0b, l0c, ub: buffers.
        to_l1, to_l0a, to_l0b, to_ub, out: paths HBM -> L1 (a core's share of L2), L1 -> L0A, L1 -> L0B, L0C -> UB,
            UB -> HBM (a core's share).
        lanes: bytes that the vector unit works on per cycle.
    """

    block: int = 16
    l1: int = 1024 * KB
    l0a: int = 64 * KB
    l0b: int = 64 * KB
    l0c: int = 256 * KB
    ub: int = 256 * KB
    to_l1: float = 94.0
    to_l0a: float = 512.0
    to_l0b: float = 256.0
    to_ub: float = 512.0
    out: float = 64.0
    lanes: int = 256


CORE = Core()
CHIPS = {"Ascend910": ASCEND910, "Ascend310": ASCEND310}
