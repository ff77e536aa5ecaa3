"""Kernels of a program: compiled together, and handed out as recipes.

    fused nodes --lower--> kernels --render--> one LLVM module --> addresses --> recipes

A generated kernel is called through a frame (``frames``), with the slots of what it reads, of what it writes, and of
its scratch memory if it has any. Equal kernels are compiled once in a process; plain chains are equal whatever their
extents.
"""

from __future__ import annotations

import functools
import hashlib
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from msnb.base import notice, timed
from msnb.base.threads import fork_locks
from msnb.core import Symbolic, SymbolicInt, dtypes, tensor_type, trace_of
from msnb.devices.codegen.body_components import components
from msnb.devices.codegen.copy_kernels import moves
from msnb.devices.codegen.kernel_lowering import lower
from msnb.devices.codegen.loop_tiling import tile
from msnb.devices.codegen.size_generic import generic, is_generic
from msnb.devices.cpu import thread_pool as threads
from msnb.devices.cpu.codegen import launch_frame
from msnb.devices.cpu.codegen.kernel_function import render
from msnb.devices.cpu.codegen.kernel_schedule import SHARED_WORK, KernelSchedule
from msnb.devices.cpu.llvm.jit import Library, Symbol, attributes, host
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel
from msnb.ir import FUSED, Const, Graph, Node, Value
from msnb.ir.analysis.structural_hash import structure_key
from msnb.ir.kernel import Kernel, UnsupportedKernel, View
from msnb.ops.elementwise.constant import constant

_BITS = 63
_NOTES = '!0 = !{!"branch_weights", i32 1, i32 100000}\n!1 = !{i32 1}'


@dataclass(frozen=True)
class GeneratedKernel:
    """Machine code of a kernel.

    Attributes:
        kernel: what it was made from; ``is_generic`` for a chain of any extent.
        plan: how it runs.
        body, last: its functions; ``last`` is 0 where there is nothing to add up.
    """

    kernel: Kernel
    plan: KernelSchedule
    body: Symbol
    last: Symbol | int

    @property
    def inplace(self) -> tuple[tuple[int, int], ...]:
        """Pairs (read, write) that may be one memory."""
        return self.plan.pairs

    def scratch(self, threads: int) -> int:
        """Bytes of scratch memory for that many threads."""
        return self.plan.scratch.bytes * threads

    def call(self, operands: Sequence[int], scratch: Sequence[int]) -> KernelCall:
        """A call over rows: slots of reads and writes, and of the scratch memory."""
        p = self.plan
        cut = p.mode == "range" and len(p.inner) == 1
        mine = p.scratch.bytes
        own = scratch[:1] if mine else ()
        counts = (len(operands), len(self.kernel.reads), mine, p.total, p.most_threads(), int(cut), self._large())
        return KernelCall(Symbol(launch_frame.library(), "msnb_rows"), (self.body, self.last, *counts, *operands, *own))

    def chain(self, sets: Sequence[tuple[Sequence[int], int]]) -> KernelCall:
        """A call over many sets of operands, each with its extent."""
        n, each = len(self.plan.kernel.buffers), max(1, SHARED_WORK // (2 * self.plan.weight()))
        counts = (len(sets), n, len(self.kernel.reads), each, self._large())
        words = (w for slots, extent in sets for w in (*slots, extent))
        return KernelCall(Symbol(launch_frame.library(), "msnb_chains"), (self.body, *counts, *words))

    def rows(self, operands: Sequence[int], sizes: Sequence[int], steps: Sequence[tuple[int, int]]) -> KernelCall:
        """A chain over rows: the two counters' ends and the extent, and by how many elements each operand moves on."""
        each = max(1, SHARED_WORK // (2 * self.plan.weight()))
        kinds = [b.dtype.itemsize for b in self.plan.kernel.buffers]
        places = (w for slot, size, pair in zip(operands, kinds, steps) for w in (slot, pair[0] * size, pair[1] * size))
        return KernelCall(
            Symbol(launch_frame.library(), "msnb_repeated"), (self.body, len(operands), each, *sizes, *places)
        )

    def _large(self) -> int:
        return sum(1 << b for b in {a.buffer for a in self.plan.streams} if b < _BITS)


@timed("kernels rendered, compiled, loaded")
def compile_kernels(kernels: Sequence[Kernel]) -> list[GeneratedKernel | None]:
    """Machine code for kernels; None for one that there is no code for (told once).

    What a kernel is given at the call (how many rows there are, who shares them) is not in its text, so most kernels of
    a program for another batch are known already; the others are compiled together, as one module.
    """
    found = [_rendered(kernel) for kernel in kernels]
    with _lock:
        known = _known_libraries({r.symbol: r for r in found if r is not None})
        return [None if r is None else _generated(known[r.symbol], r, k) for k, r in zip(kernels, found)]


class _KernelText(NamedTuple):
    """A kernel's functions as text, named by the text's digest, with what they need and the plan that they follow."""

    symbol: str
    text: str
    declared: dict[str, str]
    plan: KernelSchedule


def _rendered(kernel: Kernel) -> _KernelText | None:
    if kernel.is_traced:
        return _newly_rendered(kernel)
    key = same(kernel)
    found = _texts.get(key)
    if found is None:
        if len(_texts) >= _MOST_TEXTS:
            _texts.clear()
        found = _texts[key] = _newly_rendered(kernel)
    return found


def _newly_rendered(kernel: Kernel) -> _KernelText | None:
    try:
        text, declared, plan = render(kernel, _NAME, attributes(), host().target)
    except UnsupportedKernel as reason:
        _refused(reason, kernel.sizes)
        return None
    symbol = f"msnb_{hashlib.sha256(text.encode()).hexdigest()[:24]}"
    return _KernelText(symbol, text.replace(_NAME, symbol), declared, plan)


_NAME = "msnb_kernel"
_MOST_TEXTS = 512
_texts: dict[str, _KernelText | None] = {}
_lock = fork_locks.settled(threading.RLock(), rank=0)
_libraries: weakref.WeakValueDictionary[str, Library] = weakref.WeakValueDictionary()
"""The loaded code of every kernel, by its symbol; it stays as long as a program uses it."""


def _known_libraries(wanted: dict[str, _KernelText]) -> dict[str, Library]:
    """Per symbol the library that has its code: loaded for an earlier program, or compiled now."""
    found = {symbol: library for symbol in wanted if (library := _libraries.get(symbol)) is not None}
    missing = [r for symbol, r in wanted.items() if symbol not in found]
    if missing:
        declared = {name: line for r in missing for name, line in r.declared.items()}
        made = Library(module_of([r.text for r in missing], declared))
        for r in missing:
            found[r.symbol] = _libraries[r.symbol] = made
    return found


def forget_libraries() -> None:
    """The next kernels come from the disk cache or are compiled, as in a new process; programs keep their code."""
    with _lock:
        _libraries.clear()


def _generated(library: Library, rendered: _KernelText, kernel: Kernel) -> GeneratedKernel:
    symbol, plan = rendered.symbol, rendered.plan
    last = Symbol(library, f"{symbol}.last") if plan.gathers else 0
    return GeneratedKernel(kernel, plan, Symbol(library, f"{symbol}.body"), last)


def module_of(texts: Sequence[str], declared: Mapping[str, str]) -> str:
    """Kernels and what they need as one module."""
    return "\n".join([*declared.values(), _NOTES, *texts])


@timed("kernels lowered")
def lowered(body: Graph) -> Kernel | None:
    """The kernel of a fused body, or None where there is no code for it (told once; the reference bodies serve)."""
    if trace_of([v.type for v in (*body.params, *body.outputs)]) is not None:
        return _newly_lowered(body)
    key = structure_key(body)
    if key not in _lowered:
        if len(_lowered) >= _MOST_TEXTS:
            _lowered.clear()
        _lowered[key] = _newly_lowered(body)
    return _lowered[key]


_lowered: dict[str, Kernel | None] = {}


def _newly_lowered(body: Graph) -> Kernel | None:
    try:
        kernel = lower(body, "kernel").take_offsets()
        if not host().half and any(i.dtype is dtypes.float16 for i in kernel.insts()):
            raise UnsupportedKernel("float16 on a CPU that cannot convert it")
        return kernel
    except UnsupportedKernel as reason:
        _refused(reason, [v.type for v in (*body.params, *body.outputs)])
        return None


def same(kernel: Kernel) -> str:
    """Equal for kernels with equal code."""
    if kernel.is_traced:
        return f"traced {id(kernel)}"
    return str(kernel) + "".join(f" {b.dtype.short}[{b.size}]" for b in kernel.buffers)


def _refused(reason: UnsupportedKernel, sizes: Any) -> None:
    if (trace := trace_of(sizes)) is not None:
        raise trace.refused(str(reason))
    notice(f"a group of operations runs without code generation: {reason}.", key=f"codegen {reason}")


# ---- recipes ----


@dataclass
class KernelPart:
    """A kernel over some of a node's operands: numbers of inputs and outputs, and the extent if it is for any.

    ``numbers``: the inputs behind those of the node that are numbers of the kernel."""

    kernel: Kernel
    reads: list[int]
    writes: list[int]
    extent: int = 0
    numbers: tuple[int, ...] = ()

    @functools.cached_property
    def key(self) -> str:
        """Equal for kernels with equal code."""
        return same(self.kernel)

    def operands(self, ins: Sequence[int], outs: Sequence[int]) -> list[int]:
        """The words of its operands: slots, and how many bytes behind."""
        words = [*(ins[i] for i in self.reads), *(outs[i] for i in self.writes), *(ins[i] for i in self.numbers)]
        for b, shift in self.kernel.shifts.items():
            words[b] += shift * (self.kernel.buffers[b].dtype.itemsize << launch_frame.SLOT_BITS)
        return words

    def lie_alike(self, read: int, write: int) -> bool:
        """Whether a read and a write begin at the same place of their memory."""
        a, b = (self.kernel.shifts.get(k, 0) for k in (read, len(self.reads) + write))
        return a is b or (type(a) is int and a == b)


class KernelRecipe(NativeKernel):
    """A fused node as calls of generated kernels: one for each kind of part, whatever their number."""

    parts: list[KernelPart]

    def __init__(self, parts: list[KernelPart], reads: tuple[Value, ...] | None = None) -> None:
        self.parts, self.reads = parts, reads
        self.made: list[tuple[GeneratedKernel, list[KernelPart]]] = []

    @classmethod
    def prepare(cls, recipes: Sequence[KernelRecipe]) -> None:
        """Compile every kernel once."""
        kernels: dict[str, Kernel] = {}
        for recipe in recipes:
            for part in recipe.parts:
                kernels.setdefault(part.key, part.kernel)
        made = dict(zip(kernels, compile_kernels(list(kernels.values()))))
        for recipe in recipes:
            recipe._take(made)

    @property
    def kernels(self) -> list[Kernel]:
        """What has been compiled for this node."""
        return [k.kernel for k, _ in self.made]

    def _take(self, made: dict[str, GeneratedKernel | None]) -> None:
        groups: dict[Symbol, tuple[GeneratedKernel, list[KernelPart]]] = {}
        for part in self.parts:
            found = made[part.key]
            if found is None:
                self.refused = True
                return
            groups.setdefault(found.body, (found, []))[1].append(part)
            part.numbers = tuple(self._number(*each) for each in found.kernel.numbers)
        self.made = list(groups.values())
        scratch = max((k.scratch(threads.cores()) for k, _ in self.made), default=0)
        self.temps = (scratch,) if scratch else ()
        readers = [r for part in self.parts for r in set(part.reads)]
        first: dict[int, KernelPart] = {}
        for _, parts in self.made:
            for part in parts:
                for w in part.writes:
                    first.setdefault(w, part)
        self.inplace = tuple(
            (part.reads[i], part.writes[j])
            for kernel, parts in self.made
            for part in parts
            for i, j in kernel.inplace
            if readers.count(part.reads[i]) == 1 and first[part.writes[j]] is part and part.lie_alike(i, j)
        )

    def _number(self, value: SymbolicInt, dtype: dtypes.DType) -> int:
        """One more operand, which holds a number."""
        assert self.reads is not None
        data = value.trace.call(np.asarray, (value, dtype.numpy), functools.partial(Symbolic, value.trace))
        type_ = tensor_type((), dtype)
        held = Graph("number").add(constant, [], {"value": Const(data, type_)}, [type_]).out
        self.reads = (*self.reads, held)
        return len(self.reads) - 1

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call for each kind of part."""
        found = []
        for kernel, parts in self.made:
            operands = [p.operands(ins, outs) for p in parts]
            if is_generic(kernel.kernel):
                found.append(kernel.chain([(o, p.extent) for o, p in zip(operands, parts)]))
            else:
                found.extend(kernel.call(o, temps) for o in operands)
        return found


def recipe(node: Node, view_of: Callable[[Value], View]) -> KernelRecipe | None:
    """A recipe for a fused node or one that moves elements, if there is code for it."""
    if node.op is not FUSED:
        found = moves(node, view_of)
        for kernel, _, _ in () if found is None else found[0]:
            tile(kernel)
            kernel.take_offsets()
        return None if found is None else KernelRecipe([KernelPart(*m) for m in found[0]], found[1])
    parts = [_part(*each) for each in components(node.graphs[0])]
    good = [p for p in parts if p is not None]
    return KernelRecipe(good, tuple(node.inputs)) if len(good) == len(parts) else None


def _part(body: Graph, reads: list[int], writes: list[int]) -> KernelPart | None:
    kernel = lowered(body)
    if kernel is None:
        return None
    plain = generic(kernel)
    return KernelPart(kernel, reads, writes) if plain is None else KernelPart(plain, reads, writes, kernel.sizes[0])
