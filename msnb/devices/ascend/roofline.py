"""How long one operator takes on a chip: matrix unit, vector unit and memory work at once, the slowest decides.

    t = max(t_cube, t_vector, t_memory) + launch

    t_cube     a product [M,K] x [K,N] in tiles of 128x128 results, 32 cores; sizes are rounded up to 16, the last wave
               of tiles leaves cores idle, so with few tiles K is cut too, then the tiles:

                 2 up16(M) up16(K) up16(N) * wave / (peak e_cube)      wave = ceil(tiles/cores) cores / tiles

    conv       the same product after img2col, which happens on the way into L0A and is free: M = images*rows*columns,
               K = channels*kernel, N = filters; three input channels cost as much as sixteen (C0 = 16)
    groups     a block of 16 channels holds 16/(C/g) groups, all but its diagonal is multiplied for nothing: a depthwise
               convolution uses a sixteenth of the cube
    windows    pooling slides its windows on the vector unit (``windows``)
    t_vector   one lane-operation per element (transcendental ones more), 128 lanes of 16 bits per core
    t_memory   bytes in and out once; images are kept as NC1HWC0, so their channels are rounded up to 16
    rows       gathering, and adding to rows by index, costs a fixed time per row, not bytes: the addresses are random

Sources: tile sizes follow from L0C (128x128 float32 results, twice, are 128 KB of 256 KB) and L0A, L0B (128x128x2
bytes, twice, are 64 KB). Williams, Waterman, Patterson, "Roofline", 2009.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msnb.core import TensorType
from msnb.devices.ascend.chip import Chip
from msnb.devices.ascend.pooling_cost import BLOCK, is_depthwise_grad, slides, window_seconds
from msnb.ops.definition import Op, Work, channel_axis, places_of

TILE = 128
ALIGNED = 32  # bytes: a piece of memory begins at a multiple
IMAGES, MATRICES = "NC1HWC0", "FRACTAL_NZ"
IMAGED = frozenset({"conv", "pool"})  # families of kernels over images in blocks
MIN_K = 512  # K is not cut into shorter pieces
_LANES = {"transcendental": 4.0, "random": 20.0}  # lane-operations per element


def up(n: int, block: int = BLOCK) -> int:
    """n rounded up to blocks."""
    return -(-n // block) * block


@dataclass(frozen=True)
class Product:
    """``count`` matrix products [m,k] x [k,n] as the cube is given them."""

    m: int
    k: int
    n: int
    count: int = 1

    @property
    def flops(self) -> float:
        """Two per product of numbers, padding included."""
        return 2.0 * up(self.m) * up(self.k) * up(self.n) * self.count

    def wave(self, cores: int) -> float:
        """How much longer the last wave of tiles makes it; what is too small for all cores is cut finer."""
        side, tiles = TILE, self._tiles(TILE)
        if tiles < cores:
            tiles *= max(1, min(cores // tiles, self.k // MIN_K))
        best = math.ceil(tiles / cores) * cores / tiles
        while tiles < cores and side > BLOCK:
            side //= 2
            tiles = self._tiles(side)
            best = min(best, math.ceil(tiles / cores) * cores / tiles)
        return best

    def _tiles(self, side: int) -> int:
        return self.count * math.ceil(self.m / side) * math.ceil(self.n / side)

    def seconds(self, chip: Chip) -> float:
        """On all cores."""
        return self.flops * self.wave(chip.cores) / (chip.cube * chip.e_cube)


def product_of(
    op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any]
) -> Product | None:
    """The product an operator is; None where it is none."""
    if op.name == "matmul":
        return _matmul(ins[0].ints(), ins[1].ints())
    if op.name.startswith("conv2d") and len(ins) == 2 and not is_depthwise_grad(op, ins, outs, attrs):
        return _conv(op.name, ins, outs, attrs)
    if op.name == "einsum" and op.work is not None:
        side = max(1, round((op.work(tuple(ins), tuple(outs), attrs).cube / 2.0) ** (1 / 3)))
        return Product(side, side, side)
    return None


def _matmul(x: Sequence[int], y: Sequence[int]) -> Product:
    m = x[-2] if len(x) > 1 else 1
    n = y[-1] if len(y) > 1 else 1
    rows, batch = math.prod(x[:-2]), math.prod(y[:-2])
    if batch == 1:  # the rows of all matrices stand one below the other
        return Product(rows * m, x[-1], n)
    return Product(m, x[-1], n, max(rows, batch))


def _conv(name: str, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any]) -> Product:
    image, weight, result = {"conv2d": (ins[0], ins[1], outs[0]), "conv2d_input_grad": (outs[0], ins[1], ins[0])}.get(
        name, (ins[0], outs[0], ins[1])
    )
    o, c, kh, kw = weight.ints()
    groups = attrs["groups"]
    rows = result.ints()[0] * math.prod(_places(result, attrs))
    filters = o // groups
    together = max(1, BLOCK // max(c, filters))  # groups that one block of channels holds
    c, filters, count = c * together, filters * together, -(-groups // together)
    if name == "conv2d":
        return Product(rows, up(c) * kh * kw, filters, count)
    if name == "conv2d_input_grad":
        return Product(rows, filters, up(c) * kh * kw, count)
    return Product(up(c) * kh * kw, rows, filters, count)


def _places(t: TensorType, attrs: Mapping[str, Any]) -> tuple[int, ...]:
    return tuple(int(n) for n in places_of(t.ints(), attrs["data_format"]))


def work_of(op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any]) -> Work:
    """Flops of one call; the record's formula, else one per result element."""
    if op.work is not None:
        return op.work(tuple(ins), tuple(outs), attrs)
    return Work(vector=float(sum(t.size for t in outs)))


def lanes_of(op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any]) -> float:
    """Operations of lanes of the vector unit."""
    if op.reduction or op.family == "reduce":
        return float(sum(t.size for t in ins))
    return work_of(op, ins, outs, attrs).vector * (1.0 if op.name == "relu" else _LANES.get(op.family, 1.0))


def held_bytes(t: TensorType, chip: Chip) -> float:
    """Bytes of a tensor as it passes through the chip's memory."""
    size = t.dtype.itemsize
    return float(t.size * (2 if chip.half and size == 4 and t.dtype.is_float else size))


def narrow(chip: Chip) -> Chip:
    """The chip whose float32 values have 16 bits."""
    return chip if chip.half else replace(chip, half=True)


def image_bytes(op: Op, t: TensorType, attrs: Mapping[str, Any], chip: Chip) -> float:
    """The same for an operand of a convolution or pooling: channels in blocks of 16."""
    plain = held_bytes(t, chip)
    if t.ndim != 4 or op.family not in IMAGED:
        return plain
    channels = t.ints()[channel_axis(attrs.get("data_format", "NCHW"))]
    return plain * up(channels) / max(channels, 1)


def vector_seconds(lanes: float, chip: Chip, wide: bool = False) -> float:
    """Of so many lane-operations; 32-bit ones take two lanes."""
    return lanes * (2.0 if wide else 1.0) / (chip.vector * chip.e_vector)


def memory_seconds(nbytes: float, chip: Chip) -> float:
    """Of so many bytes in and out."""
    return nbytes / (chip.hbm * chip.e_hbm)


def conversion_seconds(t: TensorType, form: str, chip: Chip) -> float:
    """Of bringing a tensor into blocks, or back to plain rows; ``form`` is that of the blocks.

    Plain rows (one channel of an image, or the last axis of a matrix) that do not begin at multiples of 32 bytes are
    moved one by one, and each costs what a looked-up row costs.
    """
    plain = blocked = held_bytes(t, chip)
    row = next((n for n in reversed(t.ints()) if n > 1), 1)
    if form == IMAGES and t.ndim == 4:
        _, channels, *places = t.ints()
        row, blocked = math.prod(places), plain * up(channels) / max(channels, 1)
    apart = t.size / row if plain / max(t.size, 1) * row % ALIGNED else 0.0
    return max(memory_seconds(plain + blocked, chip), apart * chip.row)


def rows_of(op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType]) -> int:
    """Rows that are fetched from, or added to, places that an index tells; 0 for other operators."""
    if "indexed" not in op.traits:
        return 0
    return max((t.size for t in ins[1:] if t.dtype.is_int and t.ndim), default=0)


def vector_part(op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any], chip: Chip,
                kept: bool = True) -> float:  # fmt: skip
    """Seconds of the vector unit; ``kept`` as in ``window_seconds``."""
    if "indexed" in op.traits:
        return 0.0
    if slides(op, ins, outs, attrs):
        return window_seconds(op, ins, outs, attrs, chip, kept)
    wide = not chip.half and bool(outs) and outs[0].dtype.itemsize > 2
    return vector_seconds(lanes_of(op, ins, outs, attrs), chip, wide)


def memory_part(op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any],
                chip: Chip) -> float:  # fmt: skip
    """Seconds of the memory: bytes in and out, or rows where an index tells their places."""
    rows = rows_of(op, ins, outs)
    if rows:
        return rows * chip.row + memory_seconds(sum(held_bytes(t, chip) for t in outs), chip)
    return memory_seconds(sum(operand_bytes(op, ins, outs, attrs, chip)), chip)


def operand_bytes(op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any],
                  chip: Chip) -> list[float]:  # fmt: skip
    """Of each operand and result: convolutions and windows read 16 bits; windows write 16, convolutions as asked."""
    read = narrow(chip) if op.family in IMAGED else chip
    wrote = read if slides(op, ins, outs, attrs) else chip
    return [image_bytes(op, t, attrs, read) for t in ins] + [image_bytes(op, t, attrs, wrote) for t in outs]


def op_seconds(op: Op, ins: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any],
               chip: Chip) -> float:  # fmt: skip
    """Simulated seconds of one operator as a kernel of its own, without its launch."""
    product = product_of(op, ins, outs, attrs)
    cube = product.seconds(chip) if product else 0.0
    return max(cube, vector_part(op, ins, outs, attrs, chip), memory_part(op, ins, outs, attrs, chip))
