"""Running a program: bind the arguments, call the interpreter until it is done, hand out the results.

    args --> pointers in slots --> run --> DONE: results
                                    ^ |--> a step in Python, more memory for stacks, a pause: then on with it
                                    |-/
One call at a time per program; others wait. A call that comes from inside a step of the same program, or with arguments
that are not what the graph says, runs on the reference executor, which has the right errors.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import MsnbError, notice
from msnb.base.threads import fork_locks
from msnb.core import step_undo
from msnb.core.storage.aligned_memory import LARGE, Array
from msnb.core.storage.memory_format import BlockedFormat
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.native_kernel import NativeKernel
from msnb.devices.cpu.program import bytecode as m
from msnb.devices.cpu.program.build.builder import ProgramBuild
from msnb.devices.cpu.program.build.instructions import NotLowerable
from msnb.devices.cpu.program.program_image import FRESH, PARAM, Image
from msnb.devices.cpu.program.run.arena_pool import SHELF, Pool, aligned, out_of_memory, room
from msnb.devices.cpu.program.run.argument_binding import BoundArguments
from msnb.devices.cpu.program.run.loader import LoadedProgram
from msnb.devices.cpu.program.run.native_template import native_template
from msnb.devices.inspection import PlannedBuffer
from msnb.devices.reference_executor import ReferenceProgram, alone
from msnb.ir.graph import Graph, Node

FIRST_CHUNK = 1 << 16
KEPT_CHUNKS = 1 << 22


def _no_arena() -> None:
    """Where a program's last arena is: nowhere. Programs do not keep arenas alive; the shelf does."""


class StepwiseProgram(ReferenceProgram):
    """The reference executor with groups as native programs of one node."""

    def _fused(self, node: Node) -> Callable[..., Any]:
        program = NativeProgram(self.device, alone(node, node.op.name, self._module))
        return lambda *args: program(args)


class NativeProgram:
    """A graph as one native call.

    Args:
        device: the CPU.
        graph: a verified graph, or what gives one: a program from the disk asks for it only when somebody looks inside
            or something goes wrong.
        checking: fill memory that nothing lives in with NaN after every instruction (for tests; slow).
        image: the program of this graph, where it is known.

    Attributes:
        reason: why the graph runs on the reference executor after all, None where it does not.
        host_steps: names of the nodes that run in Python.
        memory_plan, peak: the arena.
        recipes: how its nodes run.
        lent: whether the call at hand writes new state into the memory of the old.
    """

    device: Any

    def __init__(
        self, device: Any, graph: Graph | Callable[[], Graph], checking: bool = False, image: Image | None = None
    ) -> None:
        self.device, self._graph = device, graph
        self.reason: str | None = None
        self.checking = checking
        self._reference: ReferenceProgram | None = None
        self._loaded: LoadedProgram | None = None
        self._built: ProgramBuild | None = None
        self._lock = fork_locks.lock()
        self._owner = 0
        self._arena: Callable[[], Array | None] = _no_arena
        self._pool = Pool()
        self._chunks: list[Array] = []
        self.lent = False
        try:
            found = self._build().image if image is None else image
            self._loaded = LoadedProgram(device, found, self._origin)
        except NotLowerable as reason:
            self.reason = str(reason)
            notice(f"a graph with {reason} runs operation by operation.", key=f"unlaid {reason}")

    @property
    def wrote(self) -> bool:
        """True when the call at hand, or the last one, has begun to write into parameters."""
        return self.lent and self._loaded is not None and bool(self._loaded.env[m.COMMIT_ENV])

    @property
    def graph(self) -> Graph:
        """What it was made from."""
        if not isinstance(self._graph, Graph):
            self._graph = self._graph()
        return self._graph

    @property
    def image(self) -> Image | None:
        """The program as data; None where it runs on the reference executor or holds checks."""
        return None if self._loaded is None or self.checking else self._loaded.image

    template = native_template

    @property
    def forms(self) -> dict[int, BlockedFormat]:
        """The blocks of params that lie in blocks, of a program from the disk."""
        return {} if self._loaded is None else self._loaded.image.forms

    def _build(self) -> ProgramBuild:
        if self._built is None:
            self._built = ProgramBuild(self.graph, self.checking)
        return self._built

    @property
    def built(self) -> ProgramBuild | None:
        """How it came about; None where it runs on the reference executor."""
        return None if self._loaded is None else self._build()

    def _origin(self, number: int) -> Node:
        """The node of a step in Python."""
        return self._build().tape.steps[number].node

    @property
    def host_steps(self) -> list[str]:
        """The nodes that run in Python, in order."""
        built = self.built
        return [] if built is None else [s.node.op.name for s in built.tape.steps if s.node not in built.choice.recipes]

    @property
    def recipes(self) -> dict[Node, NativeKernel]:
        """How nodes run natively."""
        built = self.built
        return {} if built is None else built.choice.recipes

    @property
    def kernels(self) -> list[Any]:
        """The generated kernels of its groups, each once."""
        made = [k for r in self.recipes.values() for k in getattr(r, "kernels", ())]
        return list({id(k): k for k in made}.values())

    @property
    def memory_plan(self) -> list[PlannedBuffer]:
        """What lies where in the arena, and when."""
        built = self.built
        return [] if built is None else built.plan.values

    @property
    def peak(self) -> int:
        """Bytes of the arena."""
        return 0 if self._loaded is None else self._loaded.image.peak

    def __call__(self, args: Sequence[Any]) -> list[Any]:
        """Run on buffers, one per param."""
        loaded = self._loaded
        if loaded is None or self._owner == threading.get_ident():
            return self._by_reference(args)
        with self._lock:
            self._owner = threading.get_ident()
            try:
                return self._run(loaded, args)
            finally:
                self._owner = 0

    def _by_reference(self, args: Sequence[Any]) -> list[Any]:
        if self._reference is None:
            kind = ReferenceProgram if self._loaded is not None else StepwiseProgram
            self._reference = kind(self.device, self.graph)
        return self._reference(args)

    # ---- one call ----

    def _run(self, p: LoadedProgram, args: Sequence[Any]) -> list[Any]:
        bound = p.binding.bind(args if args.__class__ is list else list(args))
        if bound is None:
            return self._by_reference(args)
        arena = self._lay(p) if p.image.peak else None
        try:
            fresh = self._results(p, bound)
            self._execute(p)
        finally:
            if arena is not None:
                SHELF.give(arena)
            if p.image.counts[2]:
                self._drop_chunks(p)
        return [fresh[w] if k == FRESH else args[w] if k == PARAM else w for k, w in p.answers]

    def _lay(self, p: LoadedProgram) -> Array:
        """An arena, and the slots that point into it."""
        try:
            last = self._arena()
            arena = SHELF.take(p.image.peak, last)
        except MemoryError:
            raise self._no_memory(p) from None
        if arena is not last or p.image.swaps:
            self._arena = _no_arena  # an interrupt leaves no slots of another arena
            p.slots[p.arena_slots] = p.arena_offsets + aligned(arena)
            self._arena = weakref.ref(arena)
        return arena

    def _results(self, p: LoadedProgram, bound: BoundArguments) -> list[Array]:
        """Memory for results: a parameter's own where nobody else has it."""
        found: list[Array] = []
        self.lent = lend = bound.lend(p.binding.lenders)
        p.env[m.COMMIT_ENV] = 0
        try:
            for f in p.fresh:
                if lend and f.lender >= 0:
                    found.append(bound.args[f.lender])
                elif f.state or f.size < LARGE:
                    found.append(room(f.shape, f.dtype))
                else:
                    found.append(self._pool.take(f.shape, f.dtype))
        except MemoryError:
            raise self._no_memory(p) from None
        p.binding.point(found)
        return found

    def _no_memory(self, p: LoadedProgram) -> MsnbError:
        plan = [] if p.image.peak == 0 else [(v.name, v.bytes) for v in self.memory_plan]
        results = [(str(f.type), f.type.nbytes) for f in p.image.fresh]
        return out_of_memory(p.image.peak, plan + results, sum(count for _, count in results), self.graph.name)

    def _execute(self, p: LoadedProgram) -> None:
        env, run, where = p.env, p.machine.run, p.where
        env[m.THREADS] = min(thread_pool.of_a_program(), p.cores)  # scratch memory is for that many
        env[m.STOP] = env[m.PLACE] = 0
        apart = p.several and thread_pool.forked()

        def stop() -> None:
            env[m.STOP] = 1

        while True:
            try:
                with thread_pool.TURN:
                    code = thread_pool.apart(lambda: run(*where), stop) if apart else run(*where)
            except BaseException as interrupt:
                if not self.wrote:
                    raise
                step_undo.log.late = interrupt  # it is through: what it wrote in place needs the rest of its results
                return
            if code == m.DONE:
                return
            if code == m.TO_HOST:
                self._step(p, int(env[m.ID]))
            elif code == m.GROW:
                self._grow(p)
            elif code == m.STOPPED:
                raise KeyboardInterrupt
            elif code == m.FAILED:
                raise RuntimeError(f"a native kernel failed with code {env[m.CODE]}; nothing was changed.")

    def _step(self, p: LoadedProgram, number: int) -> None:
        if number < len(p.steps):
            p.steps[number](p.slots)
        else:
            self._poison(p, self._build().checks[number])

    # ---- stacks ----

    def _grow(self, p: LoadedProgram) -> None:
        """One more chunk for stacks, twice as large as the last."""
        wanted = int(p.env[m.WANTED])
        size = max(wanted + 64, 2 * self._chunks[-1].nbytes if self._chunks else FIRST_CHUNK)
        try:
            self._chunks.append(room((size,), np.uint8))
        except MemoryError:
            raise self._no_memory(p) from None
        start = aligned(self._chunks[-1])
        p.env[m.BUMP], p.env[m.LIMIT] = start, self._chunks[-1].ctypes.data + size

    def _drop_chunks(self, p: LoadedProgram) -> None:
        """Stacks are gone; a small last chunk stays for the next call."""
        p.env[m.FREE + p.image.counts[1] :] = 0
        p.env[m.BUMP] = p.env[m.LIMIT] = 0
        self._chunks = [c for c in self._chunks[-1:] if c.nbytes <= KEPT_CHUNKS]
        if self._chunks:
            last = self._chunks[0]
            p.env[m.BUMP], p.env[m.LIMIT] = aligned(last), last.ctypes.data + last.nbytes

    # ---- checking ----

    def _poison(self, p: LoadedProgram, k: int) -> None:
        """Fill what does not live behind instruction k."""
        arena = self._arena()
        if arena is None or not p.image.peak:
            return
        start = aligned(arena) - arena.ctypes.data
        dead = np.ones(p.image.peak, bool)
        for memory in self._build().plan.memories():
            if memory.kind == "arena" and memory.alive_after(k):
                dead[memory.offset : memory.offset + memory.size] = False
        arena[start : start + p.image.peak][dead] = 0xFF
