"""Running a program of the GPU: bind arguments, launch steps one by one or as one CUDA graph, hand out results.

    first call       steps one by one; what CuPy compiles and what libraries load happens here
    second call      the same launches, recorded into a CUDA graph, which is launched from then on
    few launches     never recorded: a graph would gain nothing, and its results would have to be copied

A recorded graph holds addresses. It is kept by the addresses of parameters and results; small arguments are copied into
memory of the program first, and so is one whose address keeps changing. Parameters are updated where they lie, if
nobody else holds them, else in a copy that takes their place.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import device_registry, fork_locks
from msnb.core.types import TensorType
from msnb.devices.gpu.mistakes import largest
from msnb.devices.gpu.program.buffers import ARENA, CELL, CONST, PARAM, RESULT, DeviceBuffer, Environment
from msnb.devices.gpu.program.control_steps import control_function
from msnb.devices.gpu.program.direct_call import Direct, direct_call
from msnb.devices.gpu.program.step_builder import NotLowerable, ProgramBuild
from msnb.devices.gpu.program.steps import ArrayStep
from msnb.devices.inspection import PlannedBuffer
from msnb.devices.reference_executor import ReferenceProgram
from msnb.ir.graph import Graph

FEW_LAUNCHES = 3
STAGED = 1 << 18
MOST_GRAPHS, RESULT_SETS = 8, 3
ALIGN = 16


class DeviceProgram:
    """A graph on the GPU.

    Args:
        device: the GPU.
        graph: a verified graph.

    Attributes:
        built: its steps and memory; None where it runs operation by operation, then ``reason`` says why.
        graph_launches: how many calls were one launch of a CUDA graph.
    """

    device: Any
    graph: Graph
    graph_launches: int

    def __init__(self, device: Any, graph: Graph) -> None:
        self.device, self.graph = device, graph
        self.reason: str | None = None
        self.built: ProgramBuild | None = None
        self._reference: ReferenceProgram | None = None
        self._lock = fork_locks.lock()
        self.graph_launches = 0
        try:
            self.built = ProgramBuild(device, graph, lambda node: control_function(device, graph, node))
        except NotLowerable as reason:
            self.reason = str(reason)
            return
        self._prepare(self.built)

    def _prepare(self, built: ProgramBuild) -> None:
        xp = self.device.xp
        self._consts = [self.device.from_host(data) for _, data in built.consts]
        self._tensors = [(b.index, b, graph_type(self.graph, b)) for b in built.params if b is not None]
        self._cells = [(b, t) for _, b, t in self._tensors if b.kind == CELL]
        self._numbers = np.zeros(max(len(self._cells), 1), np.uint64)
        self._cell_array = xp.zeros(max(len(self._cells), 1), np.uint64)
        self._sent: bytes | None = None
        self._arena: Any = None
        self._staging: dict[int, Any] = {}
        self._moved: dict[int, tuple[int, int]] = {}
        self._graphs: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._result_sets: list[list[Any]] = []
        launches = sum(s.launches for s in built.steps)
        self.capturable = launches > FEW_LAUNCHES and all(s.capturable for s in built.steps)
        self._direct = direct_call(self.device, self.graph, built, self._consts, FEW_LAUNCHES)
        self._runs = 0
        self._args: Sequence[Any] = ()
        self._fresh = [
            (r, self.graph.outputs[r.index].type)
            for r in dict.fromkeys(r for r in built.results if isinstance(r, DeviceBuffer))
        ]

    # ---- a call ----

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """Run on buffers, one per param.

        Args:
            args: CuPy arrays; Python numbers for weak params.

        Returns:
            One array per output; new state in the arrays of the old, where these belong to the parameter alone.
        """
        if self.built is None:
            return self._by_reference(args)
        self.device.attend()
        if self._direct is not None:
            found = self._launched(self._direct, args)
            if found is not None:
                return found
        with self._lock, self.device.stream:
            try:
                bound = self._bind(args)
                if bound is None:
                    return self._by_reference(args)
                self._args = args
                return self._run(self.built, bound)
            except (MemoryError, RuntimeError) as error:
                raise self._failed(error) from None
            finally:
                self._args = ()

    def _launched(self, direct: Direct, args: Sequence[Any]) -> list[Any] | None:
        """What a program of few launches gives; None for arguments that it does not take."""
        try:
            return direct(args)
        except (MemoryError, RuntimeError) as error:
            raise self._failed(error) from None

    def _failed(self, error: Exception) -> Exception:
        """The error to raise; what only serves the next call is given back."""
        what = f"the program {self.graph.name}"
        known: Exception | None = self.device.failure(error, what, self.peak, self._largest())
        if known is None:
            return error
        self._let_go()
        return known

    def _largest(self) -> list[str]:
        """The largest buffers of the memory plan, one line each."""
        return largest((f"in the program: {b.name}", b.bytes) for b in self.memory_plan)

    def _let_go(self) -> None:
        """Give back the memory that only serves the next call."""
        self._graphs.clear()
        self._result_sets.clear()
        self._staging.clear()
        self._arena = None

    def _by_reference(self, args: Sequence[Any]) -> list[Any]:
        if self._reference is None:
            self._reference = ReferenceProgram(self.device, self.graph)
        found = self._reference(args)
        for result in found:  # a parameter that is a result as it is: nothing looked at where it lives
            if isinstance(result, np.ndarray):
                types = [p.type for p in self.graph.params]
                raise device_registry.misplaced(self.graph.name, types, args) or TypeError("a host array as a result")
        return found

    def _bind(self, args: Sequence[Any]) -> list[Any] | None:
        """The arguments, dense, state in arrays that may be written; None where they are not what the graph says."""
        assert self.built is not None
        array, bound = self.device.xp.ndarray, list[Any]([None] * len(args))
        for i, buffer, t in self._tensors:
            if buffer.kind == CELL:
                continue
            owners = sys.getrefcount(args[i])
            a = args[i]
            if not isinstance(a, array) or a.dtype != t.dtype.numpy or a.shape != t.shape:
                return None
            if not a.flags.c_contiguous or a.data.ptr % ALIGN:
                a = self.device.xp.array(a, order="C", copy=True)
            elif i in self.built.updated and (owners > _OWNED or a.base is not None):
                a = a.copy()
            bound[i] = a
        return bound if self._send_numbers(args) else None

    def _send_numbers(self, args: Sequence[Any]) -> bool:
        """Python numbers into device memory, if they changed."""
        for k, (buffer, t) in enumerate(self._cells):
            try:
                self._numbers[k : k + 1].view(t.dtype.numpy)[0] = args[buffer.index]
            except (TypeError, ValueError, OverflowError):
                return False
        told = self._numbers.tobytes()
        if self._cells and told != self._sent:
            self._cell_array.set(self._numbers)
            self._sent = told
        return True

    def _run(self, built: ProgramBuild, bound: list[Any]) -> list[Any]:
        self._runs += 1
        recorded = None
        if self.capturable and self._runs > 1 and not self.device.is_capturing():
            recorded = self._recorded(built, bound)
        if recorded is None:
            results = [self.device.xp.empty(t.ints(), t.dtype.numpy) for _, t in self._fresh]  # type: ignore[union-attr]
            env = self._environment(built, bound, results)
            for step in built.steps:
                step.run(env)
        else:
            results = recorded
        made = {b.number: a for (b, _), a in zip(self._fresh, results)}
        return [None if r is None else bound[r] if isinstance(r, int) else made[r.number] for r in built.results]

    def _environment(self, built: ProgramBuild, bound: list[Any], results: list[Any]) -> Environment:
        """Arrays and addresses of all buffers."""
        if self._arena is None and built.arena:
            self._arena = self.device.xp.empty(built.arena, np.uint8)
        arrays: list[Any] = [None] * len(built.buffers)
        addresses = [0] * len(built.buffers)
        start = self._arena.data.ptr if built.arena else 0
        cells = {id(b): k for k, (b, _) in enumerate(self._cells)}
        made = {b.number: a for (b, _), a in zip(self._fresh, results)}
        for n, buffer in enumerate(built.buffers):
            if buffer.kind == ARENA:
                addresses[n], arrays[n] = start + buffer.offset, _Slice(self._arena, buffer.offset, buffer.size)
                continue
            if buffer.kind == PARAM:
                arrays[n] = bound[buffer.index]
            elif buffer.kind == CELL:
                arrays[n] = self._cell_array[cells[id(buffer)] : cells[id(buffer)] + 1]
            elif buffer.kind == CONST:
                arrays[n] = self._consts[buffer.index]
            elif buffer.kind == RESULT:
                arrays[n] = made[n]
            addresses[n] = arrays[n].data.ptr
        return Environment(self.device.xp, self.device.stream, arrays, addresses, self._args)

    # ---- CUDA graphs ----

    def _recorded(self, built: ProgramBuild, bound: list[Any]) -> list[Any] | None:
        """Launch a CUDA graph for these addresses; None where none may be recorded."""
        results = self._free_results()
        if results is None:
            return None
        used = self._staged(built, bound)
        addresses = [used[i].data.ptr for i, b, _ in self._tensors if b.kind == PARAM]
        numbers = tuple(self._args[i] for i in sorted(built.host_numbers))
        key = (*addresses, *(r.data.ptr for r in results), *numbers)
        found = self._graphs.get(key)
        if found is None:
            found = self._record(built, used, results)
            if found is None:
                return None
            self._graphs[key] = found
            while len(self._graphs) > MOST_GRAPHS:
                self._graphs.popitem(last=False)
        self._graphs.move_to_end(key)
        found[0].launch(self.device.stream)
        self.graph_launches += 1
        return results

    def _record(self, built: ProgramBuild, used: list[Any], results: list[Any]) -> tuple[Any, ...] | None:
        """The graph, the pool that its temporary arrays lie in, and tables that it reads. It holds no argument: who
        asks whether an argument belongs to the parameter alone must not find us."""
        env = self._environment(built, used, results)
        stream, pool = self.device.stream, self.device.xp.cuda.MemoryPool()
        failed: Exception | None = None
        read = [step.prepare(env) for step in built.steps]
        with self.device.xp.cuda.using_allocator(pool.malloc):
            stream.begin_capture()
            try:
                for step in built.steps:
                    step.run(env)
            except Exception as error:  # a body of CuPy that has to look at values: it is told, and runs unrecorded
                failed = error
            try:
                graph = stream.end_capture()
            except Exception as error:
                failed = failed or error
        if failed is not None:
            self.capturable = False
            self.device.tell_unrecorded(self.graph.name, failed)
            return None
        return graph, pool, read

    def _staged(self, built: ProgramBuild, bound: list[Any]) -> list[Any]:
        """The arguments, those that move copied into memory of the program's own."""
        used = list(bound)
        for i, buffer, _ in self._tensors:
            if buffer.kind != PARAM or i in built.updated or not self._moves(i, buffer, bound[i]):
                continue
            if i not in self._staging:
                self._staging[i] = self.device.xp.empty_like(bound[i])
            target = self._staging[i]
            runtime = self.device.xp.cuda.runtime
            runtime.memcpyAsync(
                target.data.ptr, bound[i].data.ptr, buffer.size, runtime.memcpyDeviceToDevice, self.device.stream.ptr
            )
            used[i] = target
        return used

    def _moves(self, i: int, buffer: DeviceBuffer, array: Any) -> bool:
        """Whether an argument is small, or comes from another place every time."""
        if buffer.size <= STAGED or i in self._staging:
            return True
        last, changes = self._moved.get(i, (array.data.ptr, 0))
        changes += last != array.data.ptr
        self._moved[i] = array.data.ptr, changes
        return bool(changes > 1)

    def _free_results(self) -> list[Any] | None:
        """Arrays for results that nobody holds any more; None where all sets are in use."""
        for results in self._result_sets:
            if all(sys.getrefcount(a) <= _HELD for a in results):
                return results
        if len(self._result_sets) >= RESULT_SETS:
            return None
        made = [self.device.xp.empty(t.ints(), t.dtype.numpy) for _, t in self._fresh]  # type: ignore[union-attr]
        self._result_sets.append(made)
        return made

    # ---- for people ----

    @property
    def memory_plan(self) -> list[PlannedBuffer]:
        """What lies where in the arena, and when."""
        if self.built is None:
            return []
        arena = [b for b in self.built.buffers if b.kind == ARENA]
        return [PlannedBuffer(b.name, b.offset, b.size, b.first, b.last) for b in arena]

    @property
    def peak(self) -> int:
        """Bytes of the arena."""
        return 0 if self.built is None else self.built.arena

    @property
    def host_steps(self) -> list[str]:
        """The operations for which there is no kernel, in order."""
        steps = [] if self.built is None else self.built.steps
        return [s.node.op.name for s in steps if isinstance(s, ArrayStep) and s.node is not None]


class _Slice:
    """A piece of the arena, which becomes an array when somebody asks."""

    def __init__(self, arena: Any, offset: int, size: int) -> None:
        self._arena, self._offset, self._size = arena, offset, size

    def reshape(self, _: int) -> Any:
        """The bytes."""
        return self._arena[self._offset : self._offset + max(self._size, 1)]


def graph_type(graph: Graph, buffer: DeviceBuffer) -> TensorType:
    """The type of the param that a buffer holds."""
    t = graph.params[buffer.index].type
    assert isinstance(t, TensorType)
    return t


def _owned() -> int:
    """The references to an argument that only the parameter and the argument list hold."""
    array = np.empty(1)
    owner, args = [array], [array]
    del array
    found = sys.getrefcount(args[0])
    assert owner
    return found


def _held() -> int:
    """The references to a result in its set, seen from a loop over it."""
    results = [np.empty(1)]
    return max(sys.getrefcount(a) for a in results)


_OWNED, _HELD = _owned(), _held()
