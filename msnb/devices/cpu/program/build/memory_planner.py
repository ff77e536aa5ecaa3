"""The memory plan: which buffers are one memory, and where in the arena each lies.

Instruction k reads at moment 2k and writes at 2k + 1. A buffer lives in segments, from a write to the last read of what
was written; a read in a loop of what was made before it counts until the loop's end, as the next turn reads it again.

    1 share   Buffers joined by a copy become one where their segments do not overlap: the copy vanishes. So carried
              values are updated in place, branches write into the result, rows are computed where they belong. Then
              operand and result of a kernel that allows it (each element read before it is written); where the result
              lies in a lent parameter, only if that can still be lent.
    2 lend    A parameter whose new value is first written behind its last reader, and behind COMMIT, may lend its own
              memory to the new value. Whether it does is decided at every call: all parameters or none, so that an
              interrupt finds either all old values or all new ones.
    3 swap    A large copy that is left at the end of a loop's turn becomes an exchange of two pointers.
    4 place   Largest first, each at the lowest offset where nothing placed before lives at the same time (the idea of
              MindSpore's SOMAS).
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Sequence

from msnb.core.symbolic_int import deferred, size_hint
from msnb.devices.cpu.program import bytecode as m
from msnb.devices.cpu.program.build.instructions import MemoryBlock, Instruction, InstructionLoop, BufferRef
from msnb.devices.inspection import PlannedBuffer

ALIGN = 64
WORTH_SWAPPING = 4096
WORTH_WAITING = 1 << 20
_PLANNED = frozenset(("arena", "result", "pointer", "param"))
Segment = tuple[int, int]


class Memory:
    """What several buffers share."""

    def __init__(self, buffer: MemoryBlock, segments: list[Segment]) -> None:
        self.buffers: list[MemoryBlock] = [buffer]
        self.kind: str = buffer.kind
        self.size: int = buffer.size
        self.index: int = buffer.index
        self.segments = segments
        self.loop: InstructionLoop | None = buffer.valid
        self.offset = 0
        self.whole = False

    @property
    def first(self) -> int:
        return self.segments[0][0]

    @property
    def last(self) -> int:
        return self.segments[-1][1]

    def within(self, loop: InstructionLoop | None, begin: int) -> bool:
        """True when all of it happens in a loop's turn, after a moment."""
        return loop is not None and self.first >= begin and self.last <= 2 * loop.end + 1

    def alive_after(self, k: int) -> bool:
        """True when what it holds behind instruction k is read later."""
        if self.whole:
            return self.first <= 2 * k + 1 and self.last > 2 * k + 1
        return any(a <= 2 * k + 1 < b for a, b in self.segments)


def merged(a: Iterable[Segment], b: Iterable[Segment]) -> list[Segment]:
    """The union of two lists of segments, in order."""
    out: list[Segment] = []
    for start, end in sorted([*a, *b]):
        if out and start <= out[-1][1]:
            out[-1] = out[-1][0], max(end, out[-1][1])
        else:
            out.append((start, end))
    return out


def meetings(a: list[Segment], b: list[Segment]) -> list[Segment]:
    """Where two lists of segments overlap."""
    out, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        start, end = max(a[i][0], b[j][0]), min(a[i][1], b[j][1])
        if start <= end:
            out.append((start, end))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return out


def hands_over(a: list[Segment], b: list[Segment], moment: int) -> bool:
    """True when what lives in ``a`` ends at this moment, and what lives in ``b`` begins."""
    return any(end == moment for _, end in a) and any(start == moment for start, _ in b)


class MemoryPlan:
    """The plan of a tape.

    Args:
        instrs: the instructions.
        commit: the number of COMMIT.
        state: pairs (buffer of a param, buffer of the result that is its new value).

    Attributes:
        lends: state pairs in which the param may lend its memory.
        swaps: numbers of copies that exchange pointers instead.
        values: what lies in the arena; peak: its size in bytes.
    """

    def __init__(self, instrs: list[Instruction], commit: int, state: Iterable[tuple[MemoryBlock, MemoryBlock]]) -> None:
        self.instrs: list[Instruction] = instrs
        self.commit: int = commit
        self._of: dict[MemoryBlock, Memory] = {}
        self._touching = _touching(instrs)
        self._offset = {p.buffer for i in instrs for p in (*i.reads, *i.writes, *i.also) if p.offset}
        state = list(state)
        self._states = {r for _, r in state}
        self._lent: dict[int, tuple[MemoryBlock, MemoryBlock]] = {}
        self.lends = self._shared_by_copies(state, frozenset())
        late = [r for p, r in state if (p, r) not in self.lends and size_hint(r.size) <= WORTH_WAITING]
        if late:  # the old value is read once more: a small new one is copied at the very end
            self.lends = self._shared_by_copies(state, frozenset(late))
        self._lent = {id(self._of[r]): (p, r) for p, r in self.lends}
        self._share_operands()
        self.swaps: set[int] = {k for k, i in enumerate(instrs) if i.op == m.COPY and self._swaps(k, i)}
        arena = [x for x in self.memories() if x.kind == "arena"]
        self.peak: int = place_all(arena)
        self.values: list[PlannedBuffer] = [
            PlannedBuffer(b.name, x.offset, x.size, x.first // 2, x.last // 2) for x in arena for b in x.buffers[:1]
        ]

    def memory(self, buffer: MemoryBlock) -> Memory | None:
        """The memory of a buffer; None for what lies outside."""
        return self._of.get(buffer)

    def memories(self) -> list[Memory]:
        """All memories."""
        return list({id(x): x for x in self._of.values()}.values())

    def same(self, a: BufferRef, b: BufferRef) -> bool:
        """True when two places are one."""
        x, y = self._of.get(a.buffer), self._of.get(b.buffer)
        return x is not None and x is y and a.offset == b.offset

    # ---- sharing ----

    def _shared_by_copies(
        self, state: Sequence[tuple[MemoryBlock, MemoryBlock]], apart: frozenset[MemoryBlock]
    ) -> list[tuple[MemoryBlock, MemoryBlock]]:
        """Join what copies connect, but for the results ``apart``; which state may be lent then."""
        self._of = {b: Memory(b, s) for b, s in segments_of(enumerate(self.instrs)).items()}
        copies = [i for i in self.instrs if i.op == m.COPY and i.writes[0].buffer not in apart]
        for i in sorted(copies, key=lambda i: -_depth(i.loop)):
            if not self._waits(i):
                self._join(i.reads[0], i.writes[0])
        return [(p, r) for p, r in state if self._lends(p, r)]

    def _waits(self, instr: Instruction) -> bool:
        """A small new value of a parameter that is made before COMMIT is copied behind it."""
        source = self._of.get(instr.reads[0].buffer)
        if instr.writes[0].buffer not in self._states or source is None:
            return False
        return source.first <= 2 * self.commit and size_hint(source.size) <= WORTH_WAITING

    def _share_operands(self) -> None:
        for i in self.instrs:
            if i.op == m.KERNEL and i.recipe is not None:
                for a, b in i.recipe.inplace:
                    self._join(i.reads[a], i.writes[b])

    def _join(self, source: BufferRef, target: BufferRef) -> None:
        a, b = self._of.get(source.buffer), self._of.get(target.buffer)
        if a is None or b is None or a is b or source.offset or target.offset or a.size != b.size:
            return
        if not self._agree(a, b) or not self._may_meet(a, b):
            return
        keep, gone = (b, a) if a.kind == "arena" else (a, b)
        before = keep.segments, keep.buffers
        keep.segments = merged(a.segments, b.segments)
        keep.buffers = keep.buffers + gone.buffers
        self._of.update(dict.fromkeys(gone.buffers, keep))
        if id(keep) in self._lent and not self._lends(*self._lent[id(keep)]):
            keep.segments, keep.buffers = before
            self._of.update(dict.fromkeys(gone.buffers, gone))

    def _agree(self, a: Memory, b: Memory) -> bool:
        """Memory of the arena can become a result's, and a row's if all of it happens inside the loop."""
        if a.kind == b.kind or "param" in (a.kind, b.kind) or "arena" not in (a.kind, b.kind):
            return a.kind == b.kind == "arena"
        outer, inner = (b, a) if a.kind == "arena" else (a, b)
        if outer.kind == "result":
            return True
        return inner.within(outer.loop, outer.first) and not self._offset.intersection(inner.buffers)

    def _may_meet(self, a: Memory, b: Memory) -> bool:
        """True when the two only meet where an instruction reads the last of one before it writes the first of the
        other."""
        return all(
            start == end
            and start % 2 == 1
            and any(
                hands_over(x.segments, y.segments, start) and self._reads_first(start // 2, x, y)
                for x, y in ((a, b), (b, a))
            )
            for start, end in meetings(a.segments, b.segments)
        )

    def _reads_first(self, k: int, a: Memory, b: Memory) -> bool:
        """Instruction k reads each element of ``a`` before it writes the same of ``b``, by all its operands."""
        instr = self.instrs[k]
        if instr.op == m.COPY:
            return self._of.get(instr.reads[0].buffer) is a and self._of.get(instr.writes[0].buffer) is b
        pairs = instr.recipe.inplace if instr.recipe is not None else ()
        writes = [j for j, p in enumerate(instr.writes) if self._of.get(p.buffer) is b]
        if any(self._of.get(p.buffer) is a for p in (*instr.writes, *instr.temps, *instr.also)) or len(writes) != 1:
            return False
        reads = [i for i, p in enumerate(instr.reads) if self._of.get(p.buffer) is a]
        return bool(reads) and all((i, writes[0]) in pairs and not instr.reads[i].offset for i in reads)

    # ---- parameters ----

    def _lends(self, param: MemoryBlock, result: MemoryBlock) -> bool:
        a, b = self._of.get(param), self._of.get(result)
        if b is None or b.kind != "result" or b.first <= 2 * self.commit or param.size != b.size:
            return False
        if a is None:
            return True
        touching = ((k, self.instrs[k]) for k in self._touching.get(param, ()))
        kept = ((k, i) for k, i in touching if i.op != m.COPY or not self._writes_back(i, param, b))
        lived = segments_of(kept, param).get(param, [])
        return all(
            start == end and start % 2 and self._reads_first(start // 2, a, b)
            for start, end in meetings(lived, b.segments)
        )

    def _writes_back(self, instr: Instruction, param: MemoryBlock, result: Memory) -> bool:
        """A copy of the old value to where the new one goes: nothing happens there when they are one memory."""
        return instr.reads[0] == BufferRef(param) and self._of.get(instr.writes[0].buffer) is result

    # ---- swapping ----

    def _swaps(self, k: int, instr: Instruction) -> bool:
        a, b, loop = self._of.get(instr.writes[0].buffer), self._of.get(instr.reads[0].buffer), instr.loop
        if loop is None or a is None or b is None or not _are_alike(a, b):
            return False
        if size_hint(a.size) < WORTH_SWAPPING or instr.reads[0].offset or instr.writes[0].offset:
            return False
        if any(x in self._offset for x in (*a.buffers, *b.buffers)) or any(s <= 2 * k + 1 < e for s, e in b.segments):
            return False
        if any(x.home is not loop and x is instr.reads[0].buffer for x in b.buffers):
            return False
        ends = merged([(a.first, a.last), (2 * loop.start, 2 * loop.end + 1)], [(b.first, b.last)])
        a.segments = b.segments = [(ends[0][0], ends[-1][1])]
        a.whole = b.whole = True
        return True


def _are_alike(a: Memory, b: Memory) -> bool:
    """Whether two places of the arena can change their roles from turn to turn of a loop."""
    return a is not b and a.kind == b.kind == "arena" and a.size == b.size


def _depth(loop: InstructionLoop | None) -> int:
    return 0 if loop is None else 1 + _depth(loop.parent)


# ---- lifetimes ----


def _touching(instrs: list[Instruction]) -> dict[MemoryBlock, list[int]]:
    """The instructions that read or write each buffer, in order."""
    found: dict[MemoryBlock, list[int]] = {}
    for k, i in enumerate(instrs):
        for buffer in {p.buffer for p in (*i.reads, *i.also, *i.temps, *i.writes)}:
            found.setdefault(buffer, []).append(k)
    return found


def segments_of(instrs: Iterable[tuple[int, Instruction]], only: MemoryBlock | None = None) -> dict[MemoryBlock, list[Segment]]:
    """When each buffer holds something that is still read; instructions come with their numbers.

    Args:
        instrs: numbers and instructions.
        only: the one buffer that is asked about, of the hundreds that an update of all parameters reads.
    """
    found: dict[MemoryBlock, list[Segment]] = {}
    for k, instr in instrs:
        for buffer in _buffers((*instr.reads, *instr.also), only):
            _read(found, buffer, k, instr.loop)
        for buffer in _buffers(instr.temps, only):
            found.setdefault(buffer, []).append((2 * k, 2 * k + 1))
        for buffer in _buffers(instr.writes, only):
            if buffer.kind in _PLANNED:
                known = found.setdefault(buffer, [])
                if not known or known[-1][1] < 2 * k + 1:
                    known.append((2 * k + 1, 2 * k + 1))
    return found


def _buffers(places: Iterable[BufferRef], only: MemoryBlock | None) -> list[MemoryBlock]:
    return [p.buffer for p in places if only is None or p.buffer is only]


def _read(found: dict[MemoryBlock, list[Segment]], buffer: MemoryBlock, k: int, loop: InstructionLoop | None) -> None:
    if buffer.kind not in _PLANNED:
        return
    known = found.setdefault(buffer, [(-1, -1)])
    start, end = known[-1]
    known[-1] = start, max(end, _until(k, loop, buffer.home))


def _until(k: int, loop: InstructionLoop | None, home: InstructionLoop | None) -> int:
    """The moment up to which a read lasts: the end of the outermost loop around it that is not around its home."""
    around = set()
    while home is not None:
        around.add(id(home))
        home = home.parent
    last = k
    while loop is not None and id(loop) not in around:
        last, loop = loop.end, loop.parent
    return 2 * last + 1


# ---- placement ----


def place_all(memories: list[Memory]) -> int:
    """Give every memory an offset; returns the bytes of the arena."""
    *offsets, peak = deferred(placed, [x.size for x in memories], [(x.first, x.last) for x in memories])
    for x, offset in zip(memories, offsets):
        x.offset = offset
    return peak  # type: ignore[no-any-return]


def placed(sizes: Sequence[int], lives: Sequence[Segment]) -> tuple[int, ...]:
    """The offsets of memories by their bytes, first and last moments; behind them the bytes of the arena."""
    offsets, peak = [0] * len(sizes), 0
    taken: list[tuple[int, int, int, int]] = []  # from, to, first, last moment: the lowest first
    for x in sorted(range(len(sizes)), key=lambda x: (-sizes[x], lives[x][0])):
        first, last = lives[x]
        size, offset = -(-max(sizes[x], 1) // ALIGN) * ALIGN, 0
        for low, high, begin, end in taken:
            if begin <= last and end >= first:
                if low - offset >= size:
                    break
                offset = max(offset, high)
        offsets[x], peak = offset, max(peak, offset + size)
        insort(taken, (offset, offset + size, first, last))
    return (*offsets, peak)
