"""Kernels that read transposed data: tiles through shared memory, so that both sides walk memory in its own order.

    out[c, l] = x[l, c]       a block has 32 places of c and 32 of l

    read      a warp has one l and 32 neighbouring c:  x lies so           tile[l][c]    rows of 33, so that
    write     a warp has one c and 32 neighbouring l:  out lies so         tile[l][c]    columns meet no bank twice

Places beyond the end read the last one that is there instead, and store nothing.
"""

from __future__ import annotations

import math
from functools import partial

from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, Launch
from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.codegen.point_values import PointValues, index_kind
from msnb.devices.gpu.codegen.thread_emitter import ThreadEmitter
from msnb.devices.llvm.emitter import memory_name
from msnb.ir.kernel.kernel_ir import Inst, Kernel

SIDE, TEAMS, LEAST, MOST_TILES = 32, 8, 16, 8


def far_loads(kernel: Kernel) -> tuple[list[Inst], int] | None:
    """The loads that do not walk memory along the last dim, and the one dim along which they do; None where there are
    none, or where tiles are of no use."""
    last = len(kernel.sizes) - 1
    loads = [i for i in kernel.insts() if i.op == "load"]
    far = [i for i in loads if abs(i.attr.strides[last]) > 1]
    dims = {d for i in far for d in range(last) if i.attr.strides[d] == 1 and kernel.sizes[d] >= LEAST}
    near = all(a.strides[last] == 1 for a, _ in kernel.stores)
    if not far or len(dims) != 1 or kernel.sizes[last] < LEAST or not near or len(far) > MOST_TILES:
        return None
    (across,) = dims
    return (far, across) if all(i.attr.strides[across] == 1 for i in far) else None


class TiledKernel:
    """The code of a kernel without reductions that reads transposed data.

    Args:
        kernel: loads, arithmetic, stores; ``far_loads`` says that tiles are of use.
        symbol: the name of the function.
        target: the GPU.
    """

    far: list[Inst]
    across: int
    lane: str
    team: str
    start: dict[int, str]

    def __init__(self, kernel: Kernel, symbol: str, target: GpuTarget) -> None:
        found = far_loads(kernel)
        assert found is not None
        self.far, self.across = found
        self.kernel: Kernel = kernel
        self.e: ThreadEmitter = ThreadEmitter(symbol, target)
        self.last: int = len(kernel.sizes) - 1
        self.kind: str = index_kind(kernel)
        self.values: PointValues = PointValues(self.e, kernel, 1, self.kind)
        self.others: list[int] = [d for d in range(self.last) if d != self.across]

    def made(self) -> GpuKernel:
        """The function and how it is launched."""
        e, sizes = self.e, self.kernel.sizes
        tiles = [-(-sizes[d] // SIDE) for d in (self.across, self.last)]
        blocks = tiles[0] * tiles[1] * math.prod(sizes[d] for d in self.others)
        self._find_place(tiles)
        memories = [e.shared(SIDE * (SIDE + 1) * i.dtype.itemsize) for i in self.far]
        for j in range(SIDE // TEAMS):
            self._read(j, memories)
        e.barrier()
        for j in range(SIDE // TEAMS):
            self._write(j, memories)
        buffers = len(self.values.buffers)
        launch = Launch(e.symbol, (blocks, 1, 1), (SIDE * TEAMS, 1, 1), tuple(range(buffers)))
        text = e.kernel(buffers, threads=SIDE * TEAMS)
        return GpuKernel(self.kernel, text, e.declared, [launch], globals=[e.globals()])

    def _find_place(self, tiles: list[int]) -> None:
        values, op = self.values, self.values.op
        block, thread = values.special("ctaid.x"), values.special("tid.x")
        self.lane, self.team = op("and", thread, SIDE - 1), op("lshr", thread, 5)
        along = op("urem", block, tiles[1])
        block = op("udiv", block, tiles[1])
        over = op("urem", block, tiles[0])
        block = op("udiv", block, tiles[0])
        self.start = {self.last: op("mul nsw", along, SIDE), self.across: op("mul nsw", over, SIDE)}
        values.move(block, self.others)

    def _at(self, d: int, inside: str) -> str:
        """A place of a dim, or the last one there is."""
        at = self.values.op("add nsw", self.start[d], inside)
        if self.kernel.sizes[d] % SIDE == 0:
            return at
        last = str(self.kernel.sizes[d] - 1)
        return self.e.call(f"llvm.smin.{self.kind}", self.kind, (self.kind, at), (self.kind, last))

    def _place(self, memory: str, inst: Inst, row: str, column: str) -> str:
        index = self.values.op("add nsw", self.values.op("mul nsw", row, SIDE + 1), column)
        return self.e.ins(f"getelementptr {memory_name(inst.dtype)}, ptr {memory}, {self.kind} {index}")

    def _read(self, j: int, memories: list[str]) -> None:
        """One row of each tile: 32 places of ``across``."""
        row = self.values.op("add nsw", self.team, j * TEAMS)
        self.values.at[self.last] = self._at(self.last, row)
        self.values.at[self.across] = self._at(self.across, self.lane)
        for inst, memory in zip(self.far, memories):
            value = self.e.read(inst.dtype, self.values.place(inst.attr))
            self.e.write(inst.dtype, value, self._place(memory, inst, row, self.lane))

    def _write(self, j: int, memories: list[str]) -> None:
        """32 places of the last dim."""
        e, sizes = self.e, self.kernel.sizes
        column = self.values.op("add nsw", self.team, j * TEAMS)
        points = {self.last: self.lane, self.across: column}
        tests = []
        for d, inside in points.items():
            self.values.at[d] = self._at(d, inside)
            if sizes[d] % SIDE:
                at = self.values.op("add nsw", self.start[d], inside)
                tests.append(e.ins(f"icmp slt {self.kind} {at}, {sizes[d]}"))
        self.values.numbers = {
            id(inst): e.read(inst.dtype, self._place(memory, inst, self.lane, column))
            for inst, memory in zip(self.far, memories)
        }
        found = [(a, v, self.values.number(v)) for a, v in self.kernel.stores]
        for access, value, name in found:
            first = self.values.first_only(access.strides, range(len(sizes)))
            self.values.when([*tests, first], partial(self.values.write, access, value, name))
