"""What a kernel with reductions computes in which walk along its row, and what it stores in between.

    softmax     sweep 0: max   sweep 1: exp, sum   sweep 2: divide, store      each reads a sum of the one before
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.ir.kernel.kernel_ir import Access, Inst, Kernel

Stores = list[tuple[Access, Inst]]


class RowSweeps:
    """The sweeps of one kernel.

    Args:
        kernel: the loop nest.
        local: reductions that are finished row by row.
        accumulators: those that go on over rows; nothing reads them before all rows are through.
        added: the accumulators that sweeps add to.
        staged: what reads a reduction comes a sweep later; else there is only one.

    Attributes:
        levels: per sweep, the reductions and stores that belong to it.
        row_stores, final_stores: what is stored once per row, and at the very end.
        final: what is known at the very end.
    """

    def __init__(
        self, kernel: Kernel, local: Sequence[Inst], accumulators: Sequence[Inst], added: Sequence[Inst], staged: bool
    ) -> None:
        self.kernel = kernel
        self.final: set[int] = {id(r) for r in accumulators}
        for inst in kernel.insts():
            if any(id(a) in self.final for a in inst.args):
                self.final.add(id(inst))
        self.final_stores: Stores = [(a, v) for a, v in kernel.stores if id(v) in self.final]
        rest = [(a, v) for a, v in kernel.stores if id(v) not in self.final]
        self.row_stores: Stores = [(a, v) for a, v in rest if not kernel.walks(a, v)]
        loops: dict[int, tuple[list[Inst], Stores]] = {}
        for access, value in rest:
            if kernel.walks(access, value):
                loops.setdefault(value.level if staged else 0, ([], []))[1].append((access, value))
        for r in (*local, *added):
            loops.setdefault(r.args[0].level if staged else 0, ([], []))[0].append(r)
        self.levels: list[tuple[list[Inst], Stores]] = [loops[k] for k in sorted(loops)]

    def roots(self, level: int) -> list[Inst]:
        """The values that a sweep needs."""
        reduces, stores = self.levels[level]
        return [r.args[0] for r in reduces] + [v for _, v in stores]

    def reach(self, level: int) -> list[Inst]:
        """What a sweep must compute at every point, operands first."""
        seen: dict[int, Inst] = {}
        stack = [(r, False) for r in reversed(self.roots(level))]
        while stack:
            inst, ready = stack.pop()
            if id(inst) in seen or not self.kernel.along(inst):
                continue
            if ready:
                seen[id(inst)] = inst
            else:
                stack.append((inst, True))
                stack.extend((a, False) for a in reversed(inst.args))
        return list(seen.values())
