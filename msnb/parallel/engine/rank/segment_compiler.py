"""What a rank computes between two meetings with others, as one compiled program.

    steps    matmul    all_reduce   add  relu ... gradients, each with its all_reduce    update
    legs     stretch   talk         stretch                talk talk talk ...            stretch

A *stretch* is a graph of the rank's own operators on its own parts; it takes the way of every program of one device:
passes, fusion, library kernels, an arena. A *talk* is a move in which other ranks take part; it waits until somebody
reads what it gives. Steps that read what nothing but gradients of weights waits for (``late``) wait with it, so that
sums of gradients do not cut the backward pass into pieces. All ranks of a team cut their way at the same places: they
meet in the same order, and send what the steps say.

What has no place in such a graph stays a step: control flow and prints, what other teams send and get, and rows of a
split table. A value that is made again (``parallel/partition/remat_insertion``) begins a new stretch: in one graph with
its first making it would be merged with it, and its memory never let go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any

import numpy as np

from msnb.base.device_registry import current
from msnb.base.settings import get_context
from msnb.core import DType, TensorType, Type
from msnb.graph.compile.pipeline import CompiledProgram, compile_graph
from msnb.ir.analysis.structural_hash import structure_key
from msnb.ir.graph import Graph, Node, Value
from msnb.ops.elementwise.cast import CAST
from msnb.ops.elementwise.constant import constant, is_constant
from msnb.ops.shape.slice import SLICE as CUT
from msnb.parallel.engine.comm.rank_requests import CollectiveSegment, ComputeSegment, Segment, StepSegment
from msnb.parallel.engine.comm.shards import LocalCall
from msnb.parallel.engine.rank.rank_executor import Moves, RankProgram
from msnb.parallel.program.spmd_program import Buffer, MoveStep, RunStep, SpmdProgram, Step
from msnb.parallel.sharding.device_mesh import EXCHANGE, GATHER, HALO, SCATTER
from msnb.parallel.sharding.halo import Halo
from msnb.parallel.sharding.layout import TensorLayout, whole
from msnb.parallel.sharding.local_op import local_type
from msnb.parallel.sharding.reshard import SLICE, Move


def compiles(xp: Any) -> bool:
    """Whether ranks with parts of this array module run compiled programs under the settings of this moment."""
    return xp is np and current().name == "CPU" and get_context("jit_level") != "O0"


def stretched(recipe: RankProgram, rank: int) -> RankProgram:
    """The recipe with the legs of one rank of its team, compiled for the current device; layers of one kind once."""
    legs = _Cutter(recipe, rank).legs()
    programs: dict[str, CompiledProgram] = {}
    for leg in legs:
        if isinstance(leg, ComputeSegment):
            key = structure_key(leg.graph)
            leg.program = programs[key] = programs.get(key) or compile_graph(leg.graph).build()
    recipe.go_by(legs)
    return recipe


@dataclass
class _Open:
    """A stretch that is being written.

    Attributes:
        known: value -> layout -> the part in the graph; reads: what enters it; makes: what it has made.
        fresh: values that operators in it make.
        first, last: its first and last step, by number and operator.
    """

    graph: Graph = field(default_factory=lambda: Graph("stretch"))
    known: dict[Value, dict[TensorLayout, Value]] = field(default_factory=dict)
    reads: list[Buffer] = field(default_factory=list)
    makes: dict[Buffer, Value] = field(default_factory=dict)
    fresh: set[Value] = field(default_factory=set)
    first: tuple[int, str] | None = None
    last: tuple[int, str] = (-1, "")


class _When(Enum):
    """When a step is taken: into the open stretch, with those that wait for late talks, or behind the open stretch."""

    NOW = auto()
    LATER = auto()
    BEHIND = auto()


class _Cutter:
    """The legs of a rank, cut out of the steps of its team.

    Attributes:
        done: legs; open: the stretch that is being written; waiting: the talks behind it, by what they give.
        later: steps that read what late talks give, or what such steps make (``owed``); read_later: all that they read.
        at, late: number and operator of the step at hand, and whether it is late.
    """

    def __init__(self, recipe: RankProgram, rank: int) -> None:
        self.recipe, self.program, self.mesh, self.rank = recipe, recipe.program, recipe.mesh, rank
        self.done: list[Segment] = []
        self.open, self.waiting = _Open(), dict[Buffer, CollectiveSegment]()
        self.later: list[tuple[int, Step]] = []
        self.owed: set[Value] = set()
        self.read_later: set[Value] = set()
        self.at, self.late = (-1, ""), False

    def legs(self) -> list[Segment]:
        """All of them, in order."""
        for i, step in self.recipe.steps:
            self._come_to(i, step)
        while self.open.makes or self.waiting or self.later:
            self._close()
        return _needed(self.done, self.program, self.recipe.team)

    def _come_to(self, i: int, step: Step) -> None:
        """Take a step, now or later."""
        taken, fits = StepSegment(i, step.where, step), self._fits(i, step)
        while (when := self._when(taken, fits)) is _When.BEHIND:
            self._close()
        if when is _When.LATER:
            reads, makes = taken.buffers()
            self.later.append((i, step))
            self.owed |= {v for v, _ in makes}
            self.read_later |= {v for v, _ in reads}
        elif fits:
            self._write(i, step)
        else:
            self._end()
            self.done.append(taken)

    def _when(self, taken: StepSegment, fits: bool) -> _When:
        """When a step can be taken: what it reads may still have to arrive, what it makes may still be read."""
        reads = taken.buffers()[0]
        talks = [self.waiting[name] for name in map(self._name, reads) if name in self.waiting]
        owed, held = any(v in self.owed for v, _ in reads), any(map(self._is_held, taken.made))
        if not (owed or held or (talks and fits)):
            return _When.NOW
        can_wait = fits and not held and all(talk.late for talk in talks)
        return _When.LATER if can_wait else _When.BEHIND

    def _write(self, i: int, step: Step) -> None:
        """Take a step into the open stretch."""
        before, self.at, self.late = (self.at, self.late), (i, step.where), getattr(step, "late", False)
        if isinstance(step, RunStep):
            self._run(i, step)
        else:
            assert isinstance(step, MoveStep)
            self._move(step)
        self.at, self.late = before

    def _fits(self, i: int, step: Step) -> bool:
        """Whether a step can stand in a graph of one rank."""
        if not isinstance(step, RunStep):
            return isinstance(step, MoveStep)
        kernel = self.recipe.kernel(i, step)[0]
        return isinstance(kernel, LocalCall) and not kernel.picks_rows

    def _is_held(self, value: Value) -> bool:
        """Whether a value that is to be made anew is made or read in what is still open."""
        on_way = any(value in (talk.source[0], talk.target[0]) for talk in self.waiting.values())
        return on_way or value in self.open.fresh or value in self.owed or value in self.read_later

    # ---- steps ----

    def _move(self, step: MoveStep) -> None:
        source, target = (step.value, step.source), self._name((step.value, step.target))
        if not step.moves:
            self._bind(target, self._read(source))
        self._moved(step.moves, source, target, "sum")

    def _run(self, i: int, step: RunStep) -> None:
        call, before, behind = self.recipe.kernel(i, step)
        results = [self._name(b) for b in step.results]
        node = self._node(step, call, self._operands(step, call, before))
        for j, (out, moves) in enumerate(zip(self._parts(call, node), behind)):
            self._result(step, results[j], out, moves, call.call.outs[j].dtype)

    def _operands(self, step: RunStep, call: LocalCall, before: Moves) -> list[Value]:
        """The operands as the rank's own call wants them."""
        keys = [self._moved(moves, b, None, "sum") for b, moves in zip(step.operands, before)]
        for key in keys:
            self._arrive(key)
        found = [self._read(key) for key in keys]
        return [self._cast(v, call.wide[j]) if j in call.wide else v for j, v in enumerate(found)]

    def _node(self, step: RunStep, call: LocalCall, operands: Sequence[Value]) -> Node:
        types, attrs = call.local(self.rank)
        made = self.open.graph.add(step.node.op, operands, attrs, step.node.op.result_types(types, attrs))
        made.where, made.scope, made.why = step.node.where, step.node.scope, step.node.why
        return made

    def _parts(self, call: LocalCall, node: Node) -> list[Value]:
        """The rank's results. What is made from nothing is made whole, and the rank keeps its slice."""
        if call.call.types:
            return list(node.outputs)
        return [self._own(out, layout) for out, layout in zip(node.outputs, call.opened)]

    def _result(self, step: RunStep, target: Buffer, out: Value, moves: Sequence[Move], dtype: DType) -> None:
        """A result, moved where the step says so. Terms of wide sums are rounded behind them."""
        assert isinstance(out.type, TensorType)
        narrow = dtype if step.wide and out.type.dtype is not dtype else None
        self.open.known.pop(target[0], None)
        if not moves:
            self.open.fresh.add(target[0])
            self._bind(target, self._cast(out, narrow) if narrow else out)
            return
        source = _passing(out.type)
        self.open.fresh.add(source[0])
        self._bind(source, out)
        self._moved(moves, source, target, step.strategy.reducer, narrow)

    def _moved(self, moves: Sequence[Move], key: Buffer, target: Buffer | None, reducer: str,
               narrow: DType | None = None) -> Buffer:  # fmt: skip
        """A part after moves; gives its name, which is ``target`` where one is said."""
        moved = key[0]
        for k, move in enumerate(moves):
            last = k == len(moves) - 1
            t = self._type(key)
            assert isinstance(t, TensorType)
            after = _after(self.mesh, move, t, self.rank)
            out = target if last and target is not None else _passing(after)
            if move.kind == SLICE:
                self._bind(out, self._cut(self._read(key), self._piece(move, t)))
            else:
                anew = out[0] is not moved
                self.waiting[out] = CollectiveSegment(
                    *self.at, move, key, out, reducer, anew, self.late, narrow if last else None
                )
            key = out
        return key

    # ---- parts ----

    def _name(self, buffer: Buffer) -> Buffer:
        """Under which name a part is kept that is made: of what every rank has whole, the whole."""
        value, t = buffer[0], buffer[0].type
        return (value, whole(t.ndim)) if value in self.program.anywhere and isinstance(t, TensorType) else buffer

    def _type(self, buffer: Buffer) -> Type:
        """The type of a rank's part."""
        t = buffer[0].type
        if not isinstance(t, TensorType) or not t.is_static:
            return t
        return local_type(t, buffer[1].local_shape(self.mesh, t.ints()))

    def _arrive(self, buffer: Buffer) -> None:
        """Before a part is read that others still have to bring, they bring it."""
        if self._name(buffer) in self.waiting:
            self._close()

    def _read(self, buffer: Buffer) -> Value:
        """A part as a value of the open graph."""
        self._arrive(buffer)
        value, layout = buffer
        known = self.open.known.setdefault(value, {})
        if layout not in known:
            made = known.get(self._name(buffer)[1])
            if made is not None:
                known[layout] = self._own(made, layout)
            else:
                known[layout] = self._constant(buffer) if is_constant(value) else self._entering(buffer)
        return known[layout]

    def _entering(self, buffer: Buffer) -> Value:
        self.open.reads.append(buffer)
        return self.open.graph.add_param(self._type(buffer), buffer[0].name or f"part{len(self.open.reads)}")

    def _constant(self, buffer: Buffer) -> Value:
        value, layout = buffer
        assert value.node is not None
        made = self.open.graph.add(constant, (), value.node.attrs, [value.type]).out
        return self._own(made, layout)

    def _own(self, made: Value, layout: TensorLayout) -> Value:
        """The rank's part of something that it has whole."""
        t = made.type
        assert isinstance(t, TensorType)
        return self._cut(made, layout.part(self.mesh, t.ints(), self.rank))

    def _piece(self, move: Move, t: TensorType) -> tuple[slice, ...]:
        """What a rank keeps of a part when mesh axes begin to split it."""
        i, n = self.mesh.position(move.axes, self.rank), t.ints()[move.dim] // self.mesh.count(move.axes)
        return tuple(slice(i * n, (i + 1) * n) if d == move.dim else slice(0, size) for d, size in enumerate(t.ints()))

    def _cut(self, value: Value, box: tuple[slice, ...]) -> Value:
        t = value.type
        assert isinstance(t, TensorType)
        if all((s.start, s.stop) == (0, n) for s, n in zip(box, t.ints())):
            return value
        attrs = {"begin": tuple(s.start for s in box), "end": tuple(s.stop for s in box), "step": (1,) * len(box)}
        return self._plain(CUT, value, attrs)

    def _cast(self, value: Value, dtype: DType) -> Value:
        return self._plain(CAST, value, {"dtype": dtype})

    def _plain(self, op: Any, value: Value, attrs: dict[str, Any]) -> Value:
        return self.open.graph.add(op, [value], attrs, op.result_types((value.type,), attrs)).out

    def _bind(self, name: Buffer, value: Value) -> None:
        self.open.known.setdefault(name[0], {})[name[1]] = value
        self.open.makes[name] = value
        self.open.first, self.open.last = self.open.first or self.at, self.at

    # ---- cutting ----

    def _end(self) -> None:
        """The stretch ends here; behind it stand the talks that waited, in the order of their steps."""
        made = self.open
        if made.first is not None:
            made.graph.outputs = list(made.makes.values())
            at, where = made.last
            name = where if made.first == made.last else f"{made.first[1]} to {where}"
            self.done.append(ComputeSegment(at, name, made.graph, made.reads, list(made.makes), made.fresh))
        self.done += self.waiting.values()
        self.open, self.waiting = _Open(), {}

    def _close(self) -> None:
        """The stretch ends, and the steps that waited for its talks begin the next one."""
        self._end()
        later, self.later, self.owed, self.read_later = self.later, [], set(), set()
        for i, step in later:
            self._come_to(i, step)


def _passing(t: TensorType) -> Buffer:
    """A name for a part between two moves."""
    return Value(t), whole(t.ndim)


def _after(mesh: Any, move: Move, t: TensorType, rank: int) -> TensorType:
    """The type of a rank's part after a move."""
    sizes, p = list(t.ints()), mesh.count(move.axes)
    if isinstance(move, Halo):
        start, stop = move.seen[mesh.position(move.axes, rank)]
        sizes[move.dim] = stop - start if move.kind == HALO else move.block
    elif move.kind in (GATHER, EXCHANGE):
        sizes[move.dim] *= p
    if move.kind == EXCHANGE:
        sizes[move.to] //= p
    elif move.kind in (SCATTER, SLICE):
        sizes[move.dim] //= p
    return local_type(t, sizes)


def _needed(legs: Sequence[Segment], program: SpmdProgram, team: int) -> list[Segment]:
    """The legs, stretches with those results alone that are read behind them."""
    asked = (*program.outputs, *program.gradients)
    wanted: set[Any] = {_anywhere(program, b) for b in asked if team in program.holders(b[0])}
    out: list[Segment] = []
    for leg in reversed(legs):
        if isinstance(leg, ComputeSegment):
            kept = [(b, v) for b, v in zip(leg.makes, leg.graph.outputs) if _anywhere(program, b) in wanted]
            leg.makes, leg.graph.outputs = [b for b, _ in kept], [v for _, v in kept]
            if not kept:
                continue
        reads, makes = leg.buffers()
        wanted -= {_anywhere(program, b) for b in makes}
        wanted |= {_anywhere(program, b) for b in reads}
        out.append(leg)
    return out[::-1]


def _anywhere(program: SpmdProgram, buffer: Buffer) -> Any:
    """A part, or the value where every rank has it whole."""
    return buffer[0] if buffer[0] in program.anywhere else buffer
