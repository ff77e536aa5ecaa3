"""From a planned tape to the interpreter's data: slots, the table of instructions, and the words of kernels.

A slot holds a data pointer. Memory has one slot for its start (whose pointer may be exchanged while the program runs)
and one for every other place in it. Pointers behind params and results are set by instructions at the very beginning,
those into the arena when it is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.core.symbolic_int import SymbolicInt, is_symbolic, plain
from msnb.devices.cpu.program import bytecode as m
from msnb.devices.cpu.program.build.memory_planner import Memory, MemoryPlan
from msnb.devices.cpu.native_kernel import Relocation
from msnb.devices.cpu.program.build.instructions import Instruction, Label, BufferRef, InstructionList


class Slots:
    """Numbers of slots.

    Attributes:
        params, results, consts, bottoms, cells: slot numbers by index.
        arena: (slot, offset in the arena).
        behind: (slot, slot of the start, bytes) for places in params and results.
    """

    count: int

    def __init__(self, plan: MemoryPlan) -> None:
        self.plan = plan
        self.count = 0
        self.outside: dict[str, dict[int, int]] = {k: {} for k in ("param", "result", "const", "bottom", "cell")}
        self.arena: list[tuple[int, int]] = []
        self.behind: list[tuple[int, int, int]] = []
        self._known: dict[Any, int] = {}

    def of(self, place: BufferRef) -> int:
        """The slot of a place."""
        memory = self.plan.memory(place.buffer)
        owner: Any = place.buffer if memory is None else memory
        key = id(owner), place.offset
        if key not in self._known:
            self._known[key] = self._new(owner, place)
        return self._known[key]

    def _new(self, owner: Any, place: BufferRef) -> int:
        number = self.count
        self.count += 1
        if isinstance(owner, Memory) and owner.kind == "arena":
            self.arena.append((number, owner.offset + place.offset))
        elif owner.kind in self.outside:
            self._outside(owner, place, number)
        return number

    def _outside(self, owner: Any, place: BufferRef, number: int) -> None:
        if not place.offset:
            self.outside[owner.kind][owner.index] = number
            return
        self.behind.append((number, self.of(BufferRef(place.buffer)), place.offset))


class InstructionTable:
    """The table of a program.

    Attributes:
        rows: int64 [instructions, 6], in which kernels name their words by number and their function not at all;
        words: what kernels are given, 0 where a link stands; links, and where they stand in rows and words.
        starts: per instruction of the tape its first row; checks: (host id, instruction) of checks in between.
    """

    def __init__(self, tape: InstructionList, plan: MemoryPlan, slots: Slots, checking: bool = False) -> None:
        self.tape: InstructionList = tape
        self.plan: MemoryPlan = plan
        self.slots: Slots = slots
        self._rows: list[list[Any]] = []
        self._words: list[int] = []
        self.links: list[Relocation] = []
        self.row_links: list[tuple[int, int]] = []
        self.word_links: list[tuple[int, int]] = []
        self._known: dict[Any, int] = {}
        self.starts: list[int] = []
        self.checks: dict[int, int] = {}
        body = self._body(checking)
        self._rows = [[m.LEA, number, start, offset] for number, start, offset in slots.behind]
        self.starts = [s + len(self._rows) for s in self.starts]
        self._rows += body
        self.row_links = [(r + len(slots.behind), k) for r, k in self.row_links]
        self.varying: list[tuple[int, SymbolicInt]] = [(k, word) for k, word in enumerate(self._words) if is_symbolic(word)]
        self.words = np.array(plain(self._words) or [0], np.int64)
        self.varying_rows: list[tuple[tuple[int, int], SymbolicInt]] = []
        self.rows = self._array()

    def _body(self, checking: bool) -> list[list[Any]]:
        for k, instr in enumerate(self.tape.instrs):
            self.starts.append(len(self._rows))
            self._instr(k, instr)
            if checking and instr.op not in (m.RETURN, m.COMMIT):
                self.checks[len(self.tape.steps) + k] = k
                if len(self._rows) > self.starts[-1] and instr.op not in (m.JUMP, m.JUMP_IF, m.JUMP_UNLESS, m.LOOP):
                    self._rows.append([m.HOST, len(self.tape.steps) + k])
        self.starts.append(len(self._rows))
        return self._rows

    def _instr(self, k: int, i: Instruction) -> None:
        of = self.slots.of
        reads, writes = [of(p) for p in i.reads], [of(p) for p in i.writes]
        if i.op == m.KERNEL:
            self._kernel(i, reads, writes)
        elif i.op == m.JUMP:
            self._rows.append([m.JUMP, *i.numbers])
        elif i.op == m.HOST:
            self._rows.append([m.HOST, i.host])
        elif i.op == m.COPY:
            self._copy(k, i)
        elif i.op in (m.JUMP_IF, m.JUMP_UNLESS):
            target, bits, float_ = i.numbers
            self._rows.append([i.op, target, reads[0], bits, float_])
        elif i.op == m.LOOP:
            counter, step, stop, top = i.numbers
            self._rows.append([i.op, self._counter(counter), step, stop, top])
        elif i.op == m.SET:
            self._rows.append([i.op, self._counter(i.numbers[0]), i.numbers[1]])
        elif i.op == m.ROW:
            self._rows.append([i.op, *writes, *reads, self._counter(i.numbers[0]), i.numbers[1]])
        elif i.op in (m.PUSH, m.PUSH_STACK):
            self._rows.append([i.op, *writes, *reads, i.numbers[0], self._pool(i.numbers[1])])
        elif i.op == m.RELEASE:
            self._rows.append([i.op, *reads, self._pool(i.numbers[0])])
        else:
            self._rows.append([i.op, *writes, *reads, *i.numbers])

    def _copy(self, k: int, i: Instruction) -> None:
        if self.plan.same(i.reads[0], i.writes[0]):
            return
        a, b = self.slots.of(i.writes[0]), self.slots.of(i.reads[0])
        self._rows.append([m.SWAP, a, b] if k in self.plan.swaps else [m.COPY, a, b, *i.numbers])

    def _kernel(self, i: Instruction, reads: Sequence[int], writes: Sequence[int]) -> None:
        assert i.recipe is not None
        calls = i.recipe.calls(reads, writes, [self.slots.of(t) for t in i.temps])
        end = len(self._rows) + len(calls)
        for call in calls:
            self.row_links.append((len(self._rows), self._link(call.function)))
            self._rows.append([m.KERNEL, 0, len(self._words), i.host, ("row", end)])
            for word in call.words:
                self._word(word)

    def _word(self, word: int | Relocation) -> None:
        if not isinstance(word, Relocation):
            self._words.append(word)
            return
        self.word_links.append((len(self._words), self._link(word)))
        self._words += [0] * word.width

    def _link(self, link: Relocation) -> int:
        """The number of a link; functions that are called often are linked once."""
        key = link.data() if link.width == 1 else id(link)
        if key not in self._known:
            self._known[key] = len(self.links)
            self.links.append(link)
        return self._known[key]

    def _counter(self, number: Any) -> int:
        return m.FREE + int(number)

    def _pool(self, number: Any) -> int:
        return m.FREE + self.tape.counters + int(number)

    def _array(self) -> np.ndarray[Any, np.dtype[np.int64]]:
        made = np.zeros((len(self._rows), m.WORDS), np.int64)
        shift = len(self.slots.behind)
        for k, words in enumerate(self._rows):
            numbers = [self._number(word, shift) for word in words]
            self.varying_rows += [((k, i), word) for i, word in enumerate(numbers) if is_symbolic(word)]
            made[k, : len(words)] = plain(numbers)
        return made

    def _number(self, word: Any, shift: int) -> int:
        if isinstance(word, Label):
            return self.starts[word.at]
        if isinstance(word, tuple):
            return int(word[1]) + shift
        return word if is_symbolic(word) else int(word)  # type: ignore[return-value]
