"""A program whose fused nodes are machine code, and whose other nodes are reference kernels.

    graph --fused nodes--> kernels --one LLVM module--> functions --> steps of the reference executor

A step makes a table of data pointers and writes results into buffers nobody else holds. An operand that is not a plain
array of this device sends the call through the reference program of the group, which has the right error.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.core.types import TensorType
from msnb.devices.cpu import threads
from msnb.devices.cpu.codegen.library import GeneratedKernel, compile_kernels, lowered, same
from msnb.devices.reference import ReferenceProgram
from msnb.ir.control import FUSED
from msnb.ir.graph import Graph, Node
from msnb.ir.kernel import Kernel

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_POOLED = 1 << 16
_NOTHING = np.zeros(64, np.uint8)


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


class NativeProgram(ReferenceProgram):
    """Runs a graph in which the fusion pass has made groups."""

    def __init__(
        self,
        device: Any,
        graph: Graph,
        shared: dict[int, ReferenceProgram] | None = None,
        kernels: dict[int, GeneratedKernel] | None = None,
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


def _step(compiled: GeneratedKernel, node: Node, fallback: Callable[..., Any], pool: Pool) -> Callable[..., Any]:
    """A function of buffers that runs the kernel."""
    weak = [(i, _type(v).dtype.numpy) for i, v in enumerate(node.inputs) if _type(v).weak]
    strong = [(i, _type(v).dtype.numpy) for i, v in enumerate(node.inputs) if not _type(v).weak]
    results = [(t.ints(), t.dtype.numpy, t.nbytes) for t in map(_type, node.outputs)]
    function = _FUNCTION(compiled.address)
    per_thread = compiled.per_thread
    many = len(node.inputs) + len(results) + 1
    words = (ctypes.c_int64 * many)(*range(many))

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
        count = threads.count()
        memory = np.empty(per_thread * count, np.uint8) if per_thread else _NOTHING
        outs = [pool.take(*r) for r in results]
        slots = (ctypes.c_void_p * many)(*[a.ctypes.data for a in (*ready, *outs, memory)])
        if function(slots, words, (ctypes.c_int64 * 2)(count, 0)):
            return list(fallback(*args))
        for out, (_, _, size) in zip(outs, results):
            pool.give(out, size)
        return outs

    return run


def _type(value: Any) -> TensorType:
    assert isinstance(value.type, TensorType)
    return value.type


# ---- compiling ------------------------------------------------------------------------------------------------------


def compiled_kernels(graph: Graph) -> dict[int, GeneratedKernel]:
    """A kernel per fused node of the graph and its bodies; equal ones are compiled once, all in one module."""
    found: dict[str, tuple[Kernel, list[Node]]] = {}
    for _, node in graph.walk():
        if node.op is FUSED:
            kernel = lowered(node.graphs[0])
            if kernel is not None:
                found.setdefault(same(kernel), (kernel, []))[1].append(node)
    made = compile_kernels([kernel for kernel, _ in found.values()])
    return {id(n): c for c, (_, nodes) in zip(made, found.values()) if c is not None for n in nodes}
