"""How a kernel will run: what its threads share out, what is accumulated where, what happens in which sweep.

    rows     there are outer dims: threads share out the rows; reductions over the row alone are finished row by row
    range    no outer dims and no reduction is read inside: threads share out the row itself
    single   no outer dims, but something reads a reduction: one row, one thread

Any other reduction is an accumulator: every thread has one of its own, and a short last function adds them up and
stores. Where all accumulators keep the same outer dims, these are what the threads share out:

    sum(x: [1024, 5, 100], axis=1)      for i in 1024, shared out:  for j in 5:  100 numbers += a row;  these are stored

Sums in float32 are carried on in float64 from block to block, so that long sums keep their digits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from msnb.core import dtypes
from msnb.core.symbolic_int import deferred, size_hint, trace_of
from msnb.devices.codegen.row_sweeps import RowSweeps
from msnb.devices.codegen.size_generic import ANY
from msnb.devices.cpu.llvm.target import Target
from msnb.devices.llvm import is_scalar, memory_name
from msnb.ir.kernel.kernel_ir import Access, Inst, Kernel
from msnb.ir.kernel.scalar_expressions import HEAVY

BLOCK = 4096
LARGEST_CACHE = 1 << 18
SHARED_WORK = 3_000_000
_LINE = 64
STREAMED = 1 << 22
FLUSHED = 256
SHARED_LEAST = 16
_PADDED = 64
ALIGNED = 64


@dataclass
class Scratch:
    """Memory of one thread: ``count`` elements of ``dtype`` at ``offset`` bytes; strides per dim of the kernel."""

    dtype: dtypes.DType
    count: int
    offset: int
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Segment:
    """A part of the innermost loop: so many lanes a turn. ``bounds`` None: known at run time only; ``last``: it goes to
    the end; ``once``: it has a single turn."""

    lanes: int
    masked: bool
    bounds: tuple[int, int] | None
    last: bool = False
    once: bool = False


class KernelSchedule:
    """The decisions for one kernel.

    Attributes:
        outer, inner: dims, outermost first.
        mode: "rows", "range" or "single".
        shared, turned: outer dims that all accumulators keep (none, or too few places: empty), and the other ones.
        local, acc_insts: reductions finished row by row, and accumulators.
        sweeps: what is computed in which walk along the row; scratch: memory of a thread.
        pairs: (read, write) that may share memory; streams: stores that go past the caches.
        total: how many rows (or elements) the threads share.
    """

    def __init__(self, kernel: Kernel, target: Target) -> None:
        self.kernel = kernel
        if any(is_scalar(i) for i in kernel.insts()):
            target = Target(1, False, False)
        self.target = target
        self.outer: list[int] = [d for d in range(len(kernel.sizes)) if d not in kernel.row]
        self.inner: list[int] = [d for d in range(len(kernel.sizes)) if d in kernel.row]
        self.insts: list[Inst] = kernel.insts()
        self.mode = "rows" if self.outer else "single" if self._reads_reductions() else "range"
        self.local, self.acc_insts = self._reductions()
        self.shared: list[int] = self._shared()
        self.turned: list[int] = [d for d in self.outer if d not in self.shared]
        added = [r for r in self.acc_insts if kernel.along(r.args[0])]
        self.sweeps: RowSweeps = RowSweeps(kernel, self.local, self.acc_insts, added, staged=True)
        self.scratch: ThreadScratch = ThreadScratch(self)
        self.pairs: tuple[tuple[int, int], ...] = self._inplace()
        self.streams: set[Access] = {a for a, v in kernel.stores if self._streams(a, v)}
        rows = math.prod(kernel.sizes[d] for d in self.shared or self.outer)
        self.total: int = {"rows": rows, "range": kernel.sizes[self.inner[0]], "single": 1}[self.mode]

    def _reductions(self) -> tuple[list[Inst], list[Inst]]:
        """Those that are finished row by row, and those that accumulate over rows."""
        reduces = [i for i in self.insts if i.op == "reduce"]
        local = [r for r in reduces if r.attr.over == self.kernel.row and self.mode != "range"]
        return local, [r for r in reduces if r not in local]

    @property
    def gathers(self) -> bool:
        """True where the accumulators of all threads are added up in the end."""
        return bool(self.sweeps.final_stores) and not self.shared

    def most_threads(self) -> int:
        """How many threads this much work is worth."""
        work = math.prod(self.kernel.sizes) * self.weight()
        return deferred(_most_threads, work, self.total)  # type: ignore[no-any-return]

    def weight(self) -> int:
        """Instructions at a point, roughly."""
        return sum(8 if i.op in HEAVY else 1 for i in self.insts)

    def _reads_reductions(self) -> bool:
        inner = any(a.level for i in self.insts if i.op == "reduce" for a in i.args)
        return inner or any(v.level and (self.kernel.walks(a, v) or _meets_operands(v)) for a, v in self.kernel.stores)

    def _shared(self) -> list[int]:
        gone = {frozenset(r.attr.over - self.kernel.row) for r in self.acc_insts}
        if self.mode != "rows" or len(gone) != 1:
            return []
        kept = [d for d in self.outer if d not in next(iter(gone))]
        whole = all(r.args[0].dims.issuperset(kept) for r in self.acc_insts)
        return kept if whole and size_hint(math.prod(self.kernel.sizes[d] for d in kept)) >= SHARED_LEAST else []

    def carried(self, inst: Inst) -> dtypes.DType:
        """The dtype in which a reduction is carried on: float64 for long sums in float32."""
        long = inst.dtype is dtypes.float32 and inst.attr.kind in ("sum", "prod") and inst.attr.over >= self.kernel.row
        return dtypes.float64 if long else inst.dtype

    # ---- vectors ----

    def lanes(self, level: int) -> int:
        """Lanes of the main part: light sweeps work on several registers at once, which hides what one waits for."""
        work = sum(10 if i.op in HEAVY else 1 for i in self.sweeps.reach(level))
        times = 4 if work <= 8 and self.sweeps.levels[level][0] else 2 if work <= 24 else 1
        return self.target.lanes * (1 if self.target.lanes == 1 else times)

    def segments(self, level: int, size: int | None) -> list[Segment]:
        """How the innermost loop is cut, for so many points (None: known at run time)."""
        wide, lanes, masks = self.lanes(level), self.target.lanes, self.target.masks
        if lanes == 1:
            return [Segment(1, False, None, last=True)]
        narrow = lanes if masks else 1
        if size is None:
            whole = self.mode == "range" and len(self.inner) == 1 and self._is_aligned()
            main = Segment(wide, False, None, last=whole)
            return [main] if whole else [main, Segment(narrow, masks, None, last=True)]
        while wide > lanes and size < 2 * wide:
            wide //= 2
        cut = size - size % wide
        found = [Segment(wide, False, (0, cut), once=cut == wide)] if cut else []
        rest = size - cut
        if rest == 1:  # not masked: LLVM 22 stores a masked i16 that it knows to be alone as the i32 it was cut from
            found.append(Segment(1, False, (cut, size), once=True))
        elif rest:
            found.append(Segment(narrow, masks and rest % narrow > 0, (cut, size), once=rest <= narrow))
        return found

    def _is_aligned(self) -> bool:
        """Whether the points are known to be whole vectors; code for sizes that change has a part for what is left."""
        if (trace := trace_of(self.total)) is not None:
            trace.exact = False
            return False
        return self.total != ANY and self.total % ALIGNED == 0

    def _streams(self, access: Access, value: Inst) -> bool:
        """True for a large result whose vectors are aligned if its memory is; it would only push out of the caches what
        is needed there. (Measured: a chain of five passes is 1.3 to 1.6 times as fast from 4 MB on.)"""
        buffer = self.kernel.buffers[access.buffer]
        steps = [s * buffer.dtype.itemsize for d, s in enumerate(access.strides) if d != self.inner[-1]]
        large = size_hint(buffer.size) * buffer.dtype.itemsize >= STREAMED and access.buffer < 63
        inside = id(value) not in self.sweeps.final and self.kernel.along(value)
        if not (self.target.scalef and large and inside):
            return False
        return not access.offset and not any(s % _LINE for s in steps) and access.strides[self.inner[-1]] == 1

    def _inplace(self) -> tuple[tuple[int, int], ...]:
        """Pairs (read, write) that may share memory: one access, the same for both, and no load after the store."""
        kernel, buffers, found = self.kernel, self.kernel.buffers, list[tuple[int, int]]()
        for access, value in kernel.stores:
            if id(value) in self.sweeps.final or not self._once(access, value):
                continue
            b = access.buffer
            for r, buffer in enumerate(kernel.reads):
                if (buffer.size, buffer.dtype.itemsize) != (buffers[b].size, buffers[b].dtype.itemsize):
                    continue
                loads = [i for i in self.insts if i.op == "load" and i.attr.buffer == r]
                same = all((i.attr.strides, i.attr.offset) == (access.strides, access.offset) for i in loads)
                if same and loads and self._last_read(loads[0]) <= self._stored_at(access, value):
                    found.append((r, b - len(kernel.reads)))
        return tuple(found)

    def _once(self, access: Access, value: Inst) -> bool:
        """True where every turn of the loops has an element of its own, so that none reads what another has stored."""
        walked = self.kernel.walks(access, value) or self.mode == "range"
        dims = [*self.outer, *(self.inner if walked else [])]
        return all(access.strides[d] or self.kernel.sizes[d] == 1 for d in dims)

    def _last_read(self, load: Inst) -> int:
        if not self.kernel.along(load):
            return len(self.sweeps.levels)
        sweeps = [k for k in range(len(self.sweeps.levels)) if any(i is load for i in self.sweeps.reach(k))]
        return max(sweeps, default=-1)

    def _stored_at(self, access: Access, value: Inst) -> int:
        if not self.kernel.walks(access, value):
            return len(self.sweeps.levels)
        return next(k for k, (_, stores) in enumerate(self.sweeps.levels) if any(a is access for a, _ in stores))


class ThreadScratch:
    """Memory that every thread has for itself.

    Attributes:
        bytes: of it; accs: accumulators.
        wide: where accumulators that take in many rows are moved to, every so often: long sums keep their digits.
        caches: instructions whose values a sweep keeps for later ones.
    """

    def __init__(self, plan: KernelSchedule) -> None:
        self.plan, self.bytes = plan, 0
        accs = plan.acc_insts
        self.accs: dict[int, Scratch] = {id(r): self._memory(plan.carried(r), self._kept(r)) for r in accs}
        self.wide: dict[int, Scratch] = {
            id(r): self._memory(dtypes.float64, self._kept(r)) for r in accs if self._is_long(r)
        }
        self.caches: dict[int, Scratch] = self._caches() if len(plan.sweeps.levels) > 1 else {}

    def _kept(self, inst: Inst) -> list[int]:
        """The dims along which an accumulator lies."""
        return [d for d in range(len(self.plan.kernel.sizes)) if d in inst.dims and d not in self.plan.shared]

    def _is_long(self, inst: Inst) -> bool:
        """True for sums of many rows in float32: from time to time they are moved into sums in float64."""
        rows = math.prod(self.plan.kernel.sizes[d] for d in self.plan.turned)
        short = self.accs[id(inst)].dtype is dtypes.float32 and inst.attr.kind == "sum"
        return short and self.plan.mode == "rows" and rows > FLUSHED

    def _memory(self, dtype: dtypes.DType, dims: list[int]) -> Scratch:
        """Room for a value along ``dims``; the last of them is rounded up to whole vectors."""
        sizes, count = self.plan.kernel.sizes, 1
        strides = [0] * len(sizes)
        for d in reversed(dims):
            strides[d] = count
            count *= -(-sizes[d] // _PADDED) * _PADDED if d == dims[-1] else sizes[d]
        count = -(-count // _PADDED) * _PADDED
        found = Scratch(dtype, count, self.bytes, tuple(strides))
        size = count * (1 if memory_name(dtype) == "i8" else dtype.itemsize)
        self.bytes += -(-size // _LINE) * _LINE
        return found

    def _caches(self) -> dict[int, Scratch]:
        plan, times = self.plan, dict[int, int]()
        insts: dict[int, Inst] = {}
        for level in range(len(plan.sweeps.levels)):
            for inst in plan.sweeps.reach(level):
                insts[id(inst)] = inst
                times[id(inst)] = times.get(id(inst), 0) + 1
        count = size_hint(math.prod(plan.kernel.sizes[d] for d in plan.inner))
        return {
            k: self._memory(i.dtype, plan.inner)
            for k, i in insts.items()
            if i.op in HEAVY and plan.inner[-1] in i.dims and times[k] > 1 and count * i.dtype.itemsize <= LARGEST_CACHE
        }


def _most_threads(work: int, total: int) -> int:
    return 1 if work < SHARED_WORK or total < 2 else min(total, max(1, work * 2 // SHARED_WORK))


def _meets_operands(value: Inst) -> bool:
    """True where a value is made of reductions and of what was loaded besides."""
    stack = [value]
    while stack:
        inst = stack.pop()
        if inst.op == "load":
            return True
        if inst.op != "reduce":
            stack.extend(inst.args)
    return False
