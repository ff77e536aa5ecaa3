"""Running a program of the GPU: bind arguments, launch steps one by one or as one CUDA graph, hand out results.

    first call       steps one by one; what CuPy compiles and what libraries load happens here
    second call      the same launches, recorded into a CUDA graph, which is launched from then on
    few launches     never recorded: a graph would gain nothing, and its results would have to be copied

Arguments and memory are the matter of ``program_memory``, recorded launches of ``cuda_graphs``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import device_registry
from msnb.base.threads import fork_locks
from msnb.devices.gpu.mistakes import largest
from msnb.devices.gpu.program.buffers import ARENA
from msnb.devices.gpu.program.control_steps import control_function
from msnb.devices.gpu.program.cuda_graphs import FEW_LAUNCHES, CudaGraphs
from msnb.devices.gpu.program.direct_call import Direct, direct_call
from msnb.devices.gpu.program.program_memory import ProgramMemory
from msnb.devices.gpu.program.step_builder import ProgramBuild
from msnb.devices.gpu.program.steps import ArrayStep
from msnb.devices.gpu.program.value_places import NotLowerable
from msnb.devices.inspection import PlannedBuffer
from msnb.devices.reference_executor import ReferenceProgram
from msnb.ir.graph import Graph


class DeviceProgram:
    """A graph on the GPU.

    Args:
        device: the GPU.
        graph: a verified graph; is_body: it is part of another program.

    Attributes:
        built: its steps and memory; None where it runs operation by operation, then ``reason`` says why.
        memory, graphs: the arrays of its buffers, and what was recorded; only where it is ``built``.
        runs: how many calls went through ``built``'s steps, direct ones not counted.
    """

    memory: ProgramMemory

    def __init__(self, device: Any, graph: Graph, is_body: bool = False) -> None:
        self.device, self.graph = device, graph
        self.reason: str | None = None
        self.built: ProgramBuild | None = None
        self._reference: ReferenceProgram | None = None
        self._lock = fork_locks.lock()
        self.runs = 0
        try:
            self.built = ProgramBuild(device, graph, lambda node: control_function(device, graph, node), is_body)
        except NotLowerable as reason:
            self.reason = str(reason)
            return
        self.memory = ProgramMemory(device, graph, self.built)
        self.graphs: CudaGraphs = CudaGraphs(self.memory, graph.name)
        self._direct: Direct | None = direct_call(self.memory, FEW_LAUNCHES)

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
                bound = self.memory.bind(args)
                return self._by_reference(args) if bound is None else self._run(self.built, bound, args)
            except (MemoryError, RuntimeError) as error:
                raise self._failed(error) from None

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
        self.graphs.clear()
        self.memory.arena = None
        return known

    def _largest(self) -> list[str]:
        """The largest buffers of the memory plan, one line each."""
        return largest((f"in the program: {b.name}", b.bytes) for b in self.memory_plan)

    def _by_reference(self, args: Sequence[Any]) -> list[Any]:
        if self._reference is None:
            self._reference = ReferenceProgram(self.device, self.graph)
        found = self._reference(args)
        for result in found:  # a parameter that is a result as it is: nothing looked at where it lives
            if isinstance(result, np.ndarray):
                types = [p.type for p in self.graph.params]
                raise device_registry.misplaced(self.graph.name, types, args) or TypeError("a host array as a result")
        return found

    def _run(self, built: ProgramBuild, bound: list[Any], args: Sequence[Any]) -> list[Any]:
        self.runs += 1
        memory, graphs, results = self.memory, self.graphs, None
        if graphs.capturable and self.runs > 1 and not self.device.is_capturing():
            results = graphs.launch(bound, args)
        if results is None:
            results = memory.new_results()
            env = memory.environment(bound, results, args)
            for step in built.steps:
                step.run(env)
        made = {b.number: a for (b, _), a in zip(memory.fresh, results)}
        return [None if r is None else bound[r] if isinstance(r, int) else made[r.number] for r in built.results]

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
