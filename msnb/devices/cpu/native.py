"""A program whose fused nodes are machine code, and whose other nodes are reference kernels.

    graph --fused nodes--> kernels --one LLVM module--> functions --> steps of the reference executor

A step hands array objects to its function, which reads their data pointers (``data_offset`` is where they lie in an
array
object, found by a probe) and writes results into buffers nobody else holds. An operand that is not a plain array of
this device sends the call through the reference program of the group, which has the right error.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.core import dtypes
from msnb.core.events import notice
from msnb.core.types import TensorType
from msnb.devices.cpu import threads
from msnb.devices.cpu.codegen.engine import Library, attributes, host
from msnb.devices.cpu.codegen.entry import render
from msnb.devices.cpu.codegen.lower import lower
from msnb.devices.cpu.codegen.plan import Plan
from msnb.devices.reference import ReferenceProgram
from msnb.ir.control import FUSED
from msnb.ir.graph import Graph, Node
from msnb.ir.kernel import Kernel
from msnb.ir.scalars import HEAVY, Unsupported

SHARED_WORK = 3_000_000
_POOLED = 1 << 16
_NOTHING = np.zeros(64, np.uint8)


@functools.lru_cache(maxsize=1)
def data_offset() -> int:
    """Where an array object keeps its data pointer; 0 where it cannot be told."""
    samples = [np.zeros(n) for n in (1, 2, 3)]
    for offset in range(8, 64, 8):
        if all(ctypes.c_void_p.from_address(id(a) + offset).value == a.ctypes.data for a in samples):
            return offset
    return 0


class Pool:
    """Buffers for results: one that only the pool holds is used again."""

    def __init__(self) -> None:
        self._kept: dict[tuple[Any, Any], list[NDArray[Any]]] = {}

    def take(self, shape: tuple[int, ...], dtype: Any, size: int) -> NDArray[Any]:
        """A buffer of our own; views of it keep it from being used again, as they keep it alive."""
        if size < _POOLED:
            return np.empty(shape, dtype)
        kept = self._kept.setdefault((shape, dtype), [])
        for _ in range(len(kept)):
            try:
                found = kept.pop(0)
            except IndexError:
                break
            if sys.getrefcount(found) == _ALONE:
                return found
            kept.append(found)
        return np.empty(shape, dtype)

    def give(self, buffer: NDArray[Any], size: int) -> None:
        """Remember a buffer that has been handed out."""
        if size >= _POOLED:
            kept = self._kept[buffer.shape, buffer.dtype]
            kept.append(buffer)
            if len(kept) > 16:
                del kept[0]


def _alone() -> int:
    found = [np.empty(1)].pop(0)
    return sys.getrefcount(found)


_ALONE = _alone()


class Compiled:
    """One kernel, ready to run."""

    def __init__(self, kernel: Kernel, plan: Plan, function: Any) -> None:
        self.kernel, self.plan, self.function = kernel, plan, function
        points = int(np.prod(kernel.sizes))
        self.work = points * sum(8 if i.op in HEAVY else 1 for i in kernel.insts())

    def threads(self) -> int:
        """How many threads this much work is worth."""
        if self.work < SHARED_WORK or self.plan.total < 2:
            return 1
        return min(threads.count(), self.plan.total, max(1, self.work * 2 // SHARED_WORK))


class NativeProgram(ReferenceProgram):
    """Runs a graph in which the fusion pass has made groups."""

    def __init__(
        self,
        device: Any,
        graph: Graph,
        shared: dict[int, ReferenceProgram] | None = None,
        kernels: dict[int, Compiled] | None = None,
        pool: Pool | None = None,
    ) -> None:
        self._kernels = compiled_kernels(graph) if kernels is None else kernels
        self._pool = Pool() if pool is None else pool
        super().__init__(device, graph, shared)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernels of this program and its bodies."""
        return list({id(c.kernel): c.kernel for c in self._kernels.values()}.values())

    def _program(self, graph: Graph) -> ReferenceProgram:
        found = self._shared.get(id(graph))
        if found is not None:
            return found
        return NativeProgram(self.device, graph, self._shared, self._kernels, self._pool)

    def _fused(self, node: Node) -> Callable[..., Any]:
        compiled = self._kernels.get(id(node))
        fallback = super()._fused(node)
        if compiled is None:
            return fallback
        return _step(compiled, node, fallback, self._pool)


def _step(compiled: Compiled, node: Node, fallback: Callable[..., Any], pool: Pool) -> Callable[..., Any]:
    """A function of buffers that runs the kernel."""
    weak = [(i, _type(v).dtype.numpy) for i, v in enumerate(node.inputs) if _type(v).weak]
    strong = [(i, _type(v).dtype.numpy) for i, v in enumerate(node.inputs) if not _type(v).weak]
    results = [(t.ints(), t.dtype.numpy, t.nbytes) for t in map(_type, node.outputs)]
    guarded = len(compiled.kernel.writes) > len(results)
    function, scratch, how_many = compiled.function, compiled.plan.scratch, compiled.threads

    def run(*args: Any) -> list[Any]:
        ready = list(args)
        try:
            for i, dtype in strong:
                a = ready[i]
                if a.__class__ is not np.ndarray or a.dtype != dtype:
                    return list(fallback(*args))
                if not a.flags.c_contiguous:
                    ready[i] = np.ascontiguousarray(a)
            for i, dtype in weak:
                ready[i] = np.array(ready[i], dtype)
        except (OverflowError, TypeError, ValueError):
            return list(fallback(*args))
        count = how_many()
        memory = np.empty(scratch * count, np.uint8) if scratch else _NOTHING
        outs = [pool.take(*r) for r in results]
        flag = [np.empty(1, np.bool_)] if guarded else []
        function(count, id(memory), *map(id, ready), *map(id, outs), *map(id, flag))
        if guarded and flag[0][0]:
            return list(fallback(*args))
        for out, (_, _, size) in zip(outs, results):
            pool.give(out, size)
        return outs

    return run


def _type(value: Any) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


# ---- compiling ------------------------------------------------------------------------------------------------------


def compiled_kernels(graph: Graph) -> dict[int, Compiled]:
    """A kernel per fused node of the graph and its bodies; equal ones are compiled once, all in one module."""
    found: dict[str, tuple[Kernel, list[Node]]] = {}
    for _, node in graph.walk():
        if node.op is FUSED:
            kernel = lowered(node)
            if kernel is not None:
                found.setdefault(str(kernel) + _shapes(kernel), (kernel, []))[1].append(node)
    if not found or not data_offset():
        return {}
    made = assemble([kernel for kernel, _ in found.values()])
    return {id(n): c for c, (_, nodes) in zip(made, found.values()) if c is not None for n in nodes}


def _shapes(kernel: Kernel) -> str:
    return "".join(f" {b.dtype.short}[{b.size}]" for b in (*kernel.reads, *kernel.writes))


def lowered(node: Node) -> Kernel | None:
    """The kernel of a fused node, or None where there is no code for it (told once; the reference bodies serve)."""
    try:
        kernel = lower(node.graphs[0], "kernel")
        if not host().half and any(i.dtype is dtypes.float16 for i in kernel.insts()):
            raise Unsupported("float16 on a CPU that cannot convert it")
        return kernel
    except Unsupported as reason:
        _refused(reason)
        return None


def _refused(reason: Unsupported) -> None:
    notice(f"a group of operations runs without code generation: {reason}.", key=f"codegen {reason}")


def assemble(kernels: Sequence[Kernel]) -> list[Compiled | None]:
    """Compile kernels into one module; None for one that there is no code for."""
    texts, declared, plans = [], dict[str, str](), list[Plan | None]()
    for i, kernel in enumerate(kernels):
        try:
            text, needs, plan = render(kernel, f"msnb_k{i}", data_offset(), attributes())
        except Unsupported as reason:
            _refused(reason)
            plans.append(None)
            continue
        texts.append(text)
        declared.update(needs)
        plans.append(plan)
    head = ["@msnb_parallel = global ptr null", "@msnb_thread = global ptr null", *declared.values()]
    library = Library("\n".join([*head, *texts]))
    return [
        None if p is None else Compiled(k, p, library.function(f"msnb_k{i}", 1 + len(k.reads) + len(k.writes)))
        for i, (k, p) in enumerate(zip(kernels, plans))
    ]
