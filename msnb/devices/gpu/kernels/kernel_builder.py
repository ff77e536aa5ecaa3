"""One function of a kernel, written thread by thread, and the kernel that is made of several such functions.

    builder = KernelBuilder("gather", reads, writes)
    e = builder.function("i32")                     what one thread does, with counters of 32 bits
    e.each(total, lambda unit: ...)                 one thread for each unit
    builder.launch(e, blocks)
    kernel = builder.made()

Functions are launched one after the other and see what the earlier ones wrote. Their names come from the text of all of
them, so equal kernels are one in the cache.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence

from msnb.base import MsnbError
from msnb.core import DType, TensorType
from msnb.devices.gpu.codegen import FAULT, NEWEST, TAG, GpuKernel, GpuTarget, Launch, ThreadEmitter
from msnb.devices.gpu.codegen.gpu_kernel import Size3
from msnb.devices.llvm.emitter import memory_name
from msnb.ir.kernel.kernel_ir import Buffer, Kernel

THREADS = 256
NARROW = 1 << 30
"""Counters below this are 32 bits wide."""
_NAME = "kernel.name"
_ALIGN = 256
Term = str | int


def counter_kind(*sizes: int) -> str:
    """i32 where all these counts fit, which is a quarter of the work."""
    return "i32" if max(sizes) < NARROW else "i64"


class ThreadCode(ThreadEmitter):
    """A function under construction, with arithmetic of counters in one type; numbers known now are worked out now.

    Args:
        symbol: its name for the time being.
        kind: the type of counters, i32 or i64.
        threads: of a block.
        buffers: how many are read, how many written.
        target: the GPU.

    Attributes:
        workspace: there is one behind the buffers; fault: the function reports wrong indices.
    """

    kind: str
    threads: int
    reads: int
    writes: int

    def __init__(self, symbol: str, kind: str, threads: int, buffers: tuple[int, int], target: GpuTarget) -> None:
        super().__init__(symbol, target)
        self.kind, self.threads, (self.reads, self.writes) = kind, threads, buffers
        self.workspace = self.fault = False

    # ---- where buffers lie ----

    def source(self, k: int) -> str:
        """What is read, by number."""
        return f"%b{k}"

    def result(self, k: int = 0) -> str:
        """What is written, by number."""
        return f"%b{self.reads + k}"

    def room(self, offset: int) -> str:
        """A part of the workspace."""
        base = f"%b{self.reads + self.writes}"
        return base if not offset else self.ins(f"getelementptr i8, ptr {base}, i64 {offset}")

    def element(self, dtype: DType, base: str, index: Term) -> str:
        """The address of an element; the index counts elements."""
        if str(index) == "0":
            return base
        return self.ins(f"getelementptr inbounds {memory_name(dtype)}, ptr {base}, {self.kind} {index}")

    def get(self, dtype: DType, base: str, index: Term) -> str:
        """The element there, in as many lanes as there are."""
        return self.read(dtype, self.element(dtype, base, index))

    def put(self, dtype: DType, value: str, base: str, index: Term) -> None:
        """Write the element there."""
        self.write(dtype, value, self.element(dtype, base, index))

    @contextlib.contextmanager
    def wide(self, lanes: int) -> Iterator[None]:
        """Values of so many lanes inside."""
        before, self.lanes = self.lanes, lanes
        yield
        self.lanes: int = before

    # ---- counters ----

    def count(self, op: str, a: Term, b: Term) -> str:
        """add, sub, mul, udiv, urem of counters."""
        left, right = str(a), str(b)
        if _known(left) and _known(right):
            return str(_OPERATIONS[op](int(left), int(right)))
        if op in ("add", "mul") and _known(left):
            left, right = right, left
        if (op, right) in (("add", "0"), ("sub", "0"), ("mul", "1"), ("udiv", "1")):
            return left
        if (op, right) in (("mul", "0"), ("urem", "1")) or (op in ("udiv", "urem", "mul") and left == "0"):
            return "0"
        flags = " nsw" if op in ("add", "sub", "mul") else ""
        return self.ins(f"{op}{flags} {self.kind} {left}, {right}")

    def dot(self, counters: Sequence[Term], strides: Sequence[int], start: Term = 0) -> str:
        """start + the sum of counters times strides."""
        found = str(start)
        for counter, stride in zip(counters, strides, strict=True):
            found = self.count("add", found, self.count("mul", counter, stride))
        return found

    def split(self, number: Term, sizes: Sequence[int]) -> list[str]:
        """The coordinates of a number in a box of these sizes, the last fastest."""
        found: list[str] = []
        for k in reversed(range(len(sizes))):
            found.append(self.count("urem", number, sizes[k]) if k else str(number))
            number = self.count("udiv", number, sizes[k]) if k else number
        return found[::-1]

    def narrowed(self, wide: str) -> str:
        """An i64 as a counter."""
        return wide if self.kind == "i64" or _known(wide) else self.ins(f"trunc i64 {wide} to i32")

    def widened(self, counter: Term) -> str:
        """A counter as an i64."""
        known = self.kind == "i64" or _known(str(counter))
        return str(counter) if known else self.ins(f"zext i32 {counter} to i64")

    def counter(self, word: str) -> str:
        """An unsigned number of 32 bits as a counter."""
        return word if self.kind == "i32" else self.ins(f"zext i32 {word} to i64")

    def compare(self, how: str, a: Term, b: Term) -> str:
        """A comparison of counters, as ``slt``."""
        return self.ins(f"icmp {how} {self.kind} {a}, {b}")

    def choose(self, test: str, a: Term, b: Term) -> str:
        """One of two counters."""
        return self.ins(f"select i1 {test}, {self.kind} {a}, {self.kind} {b}")

    def both(self, *tests: str) -> str:
        """All tests hold; "" stands for one that always does."""
        found = ""
        for test in tests:
            found = (self.ins(f"and i1 {found}, {test}") if found else test) if test else found
        return found

    # ---- units ----

    def thread(self) -> str:
        """The number of the thread in its block, as a counter."""
        return self.narrowed(self.special("tid.x"))

    def block_number(self) -> str:
        """The number of the block, as a counter."""
        return self.narrowed(self.special("ctaid.x"))

    def each(self, total: int, work: Callable[[str], None]) -> None:
        """One thread for each unit from 0 to ``total``."""
        unit = self.count("add", self.count("mul", self.block_number(), self.threads), self.thread())
        if total % self.threads:
            self.when(self.compare("slt", unit, total), lambda: work(unit))
        else:
            work(unit)

    def turns(
        self,
        bounds: tuple[Term, Term, int],
        carried: Sequence[tuple[str, str]],
        body: Callable[[str, list[str]], Sequence[str]],
    ) -> list[str]:
        """A loop whose counter has the kernel's type."""
        low, high, step = bounds
        return self.loop((str(low), str(high), step), carried, body, self.kind)

    def guarded(self, test: str, kind: str, make: Callable[[], str], otherwise: str) -> str:
        """A value that is made only where the test holds ("" always does), as what lies behind the end is not read."""
        return self.rarely(test, kind, otherwise, make, hint="") if test else make()

    # ---- what goes wrong ----

    def report(self, test: str, index: str, which: int = 0) -> None:
        """Where the test holds, note a wrong index (an i64) in the fault word."""
        self.fault = True
        word = f"%b{self.reads + self.writes + self.workspace}"
        number = f"%b{self.reads + self.writes + self.workspace + 1}"

        def note() -> None:
            tag = self.i64("add", self.ins(f"ptrtoint ptr {number} to i64"), which)
            swapped = self.ins(f"cmpxchg ptr {word}, i64 0, i64 {tag} monotonic monotonic, align 8")
            won = self.ins(f"extractvalue {{ i64, i1 }} {swapped}, 1")
            place = self.ins(f"getelementptr i64, ptr {word}, i64 1")
            self.when(won, lambda: self.do(f"store i64 {index}, ptr {place}, align 8"))

        self.when(test, note)


def _known(term: str) -> bool:
    return term.lstrip("-").isdigit()


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "udiv": lambda a, b: a // b,
    "urem": lambda a, b: a % b,
}


class KernelBuilder:
    """A kernel under construction.

    Args:
        name: for people.
        reads, writes: types of the operands.
        faults: what to say of wrong indices, in the order of ``ThreadCode.report``'s numbers.
        workspace: whether functions hand on what is no result.
        target: the GPU.
    """

    name: str
    target: GpuTarget
    reads: list[Buffer]
    writes: list[Buffer]
    bytes: int

    def __init__(
        self, name: str, reads: Sequence[TensorType], writes: Sequence[TensorType],
        faults: Sequence[Callable[[int], MsnbError]] = (), workspace: bool = False, target: GpuTarget = NEWEST,
    ) -> None:  # fmt: skip
        self.name, self.faults, self.target = name, tuple(faults), target
        self.reads, self.writes = ([Buffer(t.dtype, t.size) for t in types] for types in (reads, writes))
        self.bytes = 0
        self.inplace: list[tuple[int, int]] = []
        self._workspace = workspace
        self._launches: list[tuple[ThreadCode, int, Size3]] = []

    def room(self, size: int) -> int:
        """Where in the workspace so many bytes lie."""
        start = self.bytes
        self.bytes += -(-size // _ALIGN) * _ALIGN
        return start

    def function(self, kind: str, threads: int = THREADS) -> ThreadCode:
        """The next function."""
        symbol = f"{_NAME}_{len(self._launches)}"
        e = ThreadCode(symbol, kind, threads, (len(self.reads), len(self.writes)), self.target)
        e.workspace = self._workspace
        return e

    def launch(self, e: ThreadCode, blocks: int) -> None:
        """The function is finished, and runs in so many blocks."""
        self._launches.append((e, e.threads, (blocks, 1, 1)))

    def units(self, total: int, kind: str, work: Callable[[ThreadCode, str], None]) -> None:
        """A function with a thread for each unit."""
        threads = min(THREADS, max(32, -(-total // 32) * 32))
        e = self.function(kind, threads)
        e.each(total, lambda unit: work(e, unit))
        self.launch(e, -(-total // threads))

    def made(self) -> GpuKernel:
        """The kernel."""
        buffers = len(self.reads) + len(self.writes) + self._workspace
        texts, launches, shared, declared = [], [], [], dict[str, str]()
        for e, threads, grid in self._launches:
            texts.append(e.kernel(buffers + 2 * e.fault, threads=threads))
            operands = (*range(buffers), *((FAULT, TAG) if e.fault else ()))
            launches.append(Launch(e.symbol, grid, (threads, 1, 1), operands))
            shared.append(e.globals())
            declared.update(e.declared)
        mark = hashlib.sha256("\n".join([*shared, *texts]).encode()).hexdigest()[:16]
        symbol = f"{self.name}_{mark}"
        texts, shared = ([t.replace(_NAME, symbol) for t in lines] for lines in (texts, shared))
        launches = [Launch(x.function.replace(_NAME, symbol), x.grid, x.block, x.operands) for x in launches]
        whole = Kernel(self.name, (), frozenset(), self.reads, self.writes)
        workspace = max(self.bytes, 1) if self._workspace else 0
        faults = self.faults if any(e.fault for e, _, _ in self._launches) else ()
        return GpuKernel(whole, "\n".join(texts), declared, launches, workspace, shared, self.inplace, faults)
