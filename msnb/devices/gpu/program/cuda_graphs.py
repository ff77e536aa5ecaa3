"""The launches of a program, recorded into CUDA graphs: one launch for all.

A recorded graph holds addresses. It is kept by the addresses of parameters and results; small arguments are copied into
memory of the program first, and so is one whose address keeps changing.
"""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import reraise_interrupt
from msnb.devices.gpu.program.buffers import PARAM, DeviceBuffer
from msnb.devices.gpu.program.program_memory import ProgramMemory

FEW_LAUNCHES = 3
STAGED = 1 << 18
MOST_GRAPHS, RESULT_SETS = 8, 3


class CudaGraphs:
    """What was recorded of a program.

    Args:
        memory: the memory of the program; name: of it.

    Attributes:
        capturable: the program can be recorded, and it pays.
        launches: how many calls were one launch of a graph.
    """

    def __init__(self, memory: ProgramMemory, name: str) -> None:
        self.memory, self.name = memory, name
        steps = memory.built.steps
        self.capturable: bool = sum(s.launches for s in steps) > FEW_LAUNCHES and all(s.capturable for s in steps)
        self.launches = 0
        self._params = [i for i, b, _ in memory.tensors if b.kind == PARAM]
        self._given = [(i, b) for i, b, _ in memory.tensors if b.kind == PARAM and i not in memory.built.updated]
        self._numbers = sorted(memory.built.host_numbers)
        self._staging: dict[int, Any] = {}
        self._moved: dict[int, tuple[int, int]] = {}
        self._graphs: OrderedDict[tuple[Any, ...], Any] = OrderedDict()
        self._result_sets: list[list[Any]] = []

    def clear(self) -> None:
        """Give back the memory that only serves the next call."""
        self._graphs.clear()
        self._result_sets.clear()
        self._staging.clear()

    def launch(self, bound: list[Any], args: Sequence[Any]) -> list[Any] | None:
        """Launch the graph for these addresses; None where none may be recorded.

        Args:
            bound: the arguments as arrays; args: the arguments, for Python numbers.

        Returns:
            The arrays of the results that are made.
        """
        memory, results = self.memory, self._free_results()
        if results is None:
            return None
        used = self._staged(bound)
        addresses = [used[i].data.ptr for i in self._params]
        key = (*addresses, *[r.data.ptr for r in results], *[args[i] for i in self._numbers])
        found = self._graphs.get(key)
        if found is None:
            found = self._record(used, results, args)
            if found is None:
                return None
            self._graphs[key] = found
            while len(self._graphs) > MOST_GRAPHS:
                self._graphs.popitem(last=False)
        self._graphs.move_to_end(key)
        found[0].launch(memory.device.stream)
        self.launches += 1
        return results

    def _record(self, used: list[Any], results: list[Any], args: Sequence[Any]) -> tuple[Any, ...] | None:
        """The graph, the pool that its temporary arrays lie in, and tables that it reads. It holds no argument: who
        asks whether an argument belongs to the parameter alone must not find us."""
        device, steps = self.memory.device, self.memory.built.steps
        env = self.memory.environment(used, results, args)
        stream, pool = device.stream, device.xp.cuda.MemoryPool()
        failed: Exception | None = None
        read = [step.prepare(env) for step in steps]
        with device.xp.cuda.using_allocator(pool.malloc):
            stream.begin_capture()
            try:
                for step in steps:
                    step.run(env)
            except Exception as error:  # a body of CuPy that has to look at values: it is told, and runs unrecorded
                failed = error
            try:
                graph = stream.end_capture()
            except Exception as error:
                failed = failed or error
        if failed is not None:
            reraise_interrupt(failed)
            self.capturable = False
            device.tell_unrecorded(self.name, failed)
            return None
        return graph, pool, read

    def _staged(self, bound: list[Any]) -> list[Any]:
        """The arguments, those that move copied into memory of the program's own."""
        used, device = list(bound), self.memory.device
        for i, buffer in self._given:
            if not self._moves(i, buffer, bound[i]):
                continue
            if i not in self._staging:
                self._staging[i] = device.xp.empty_like(bound[i])
            target = self._staging[i]
            runtime = device.xp.cuda.runtime
            runtime.memcpyAsync(
                target.data.ptr, bound[i].data.ptr, buffer.size, runtime.memcpyDeviceToDevice, device.stream.ptr
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
        made = self.memory.new_results()
        self._result_sets.append(made)
        return made


def _held() -> int:
    """The references to a result in its set, seen from a loop over it."""
    results = [np.empty(1)]
    return max(sys.getrefcount(a) for a in results)


_HELD = _held()
