"""All ranks of a plan in this process, in lockstep: every step is done by every rank before the next begins.

Values are real (NumPy bodies, NumPy collectives), so a plan can be checked against the single device: the same loss, the
same gradients, up to the order of sums. Bytes are counted as the ranks send them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from msnb.core.errors import DeviceError
from msnb.core.types import TensorType
from msnb.devices.base import ArrayDevice
from msnb.devices.reference import ReferenceProgram
from msnb.ir.graph import Graph, Value, copy_node
from msnb.parallel.engine.collectives import run_move
from msnb.parallel.engine.ranks import close_up, put_together, run_call, split_up
from msnb.parallel.layout import TensorLayout
from msnb.parallel.mesh import sent_bytes
from msnb.parallel.program import Buffer, MoveStep, Program, RunStep
from msnb.parallel.reshard import SLICE

MOST = 64


@dataclass
class Ranks:
    """A run on simulated ranks.

    Attributes:
        sent: bytes that each rank sent, by kind of collective.
    """

    program: Program
    sent: dict[str, int] = field(default_factory=dict)
    buffers: dict[Buffer, list[Any]] = field(default_factory=dict)
    whole: dict[Value, Any] = field(default_factory=dict)

    def run(self, args: Sequence[Any]) -> list[Any]:
        """Run on the params' values (arrays, Python numbers); gives the whole outputs, then the gradients.

        Raises:
            DeviceError: more than 64 ranks.
        """
        if self.program.mesh.size > MOST:
            raise DeviceError(f"{self.program.mesh.size} ranks are too many for one process; inproc runs up to {MOST}.")
        for p, value in zip(self.program.graph.params, args):
            self._enter(p, value)
        for p, loss in self.program.seeds:
            assert isinstance(loss.type, TensorType)
            self.whole[p] = np.ones(loss.type.ints(), loss.type.dtype.numpy)
        for step in self.program.steps:
            if isinstance(step, MoveStep):
                self._move(step)
            else:
                self._run(step)
        return [self._collected(b) for b in (*self.program.outputs, *self.program.gradients)]

    def _enter(self, p: Value, value: Any) -> None:
        layout = self.program.params.get(p)
        if layout is None or p in self.program.anywhere:
            self.whole[p] = value
        else:
            self.buffers[p, layout] = split_up(self.program.mesh, layout, value)

    def parts(self, buffer: Buffer) -> list[Any]:
        """Every rank's part; of a value that everybody has whole, the slices."""
        value, layout = buffer
        if value not in self.whole:
            return self.buffers[buffer]
        whole = self.whole[value]
        if not isinstance(value.type, TensorType) or not value.type.is_static:
            return [whole] * self.program.mesh.size
        return split_up(self.program.mesh, layout, whole)

    def _move(self, step: MoveStep) -> None:
        parts = self.buffers[step.value, step.source]
        for move in step.moves:
            if move.kind != SLICE:
                self._count(move.kind, move.axes, parts[0].nbytes)
            parts = run_move(self.program.mesh, move, parts)
        self.buffers[step.value, step.target] = parts

    def _count(self, kind: str, axes: tuple[int, ...], nbytes: int) -> None:
        self.sent[kind] = self.sent.get(kind, 0) + sent_bytes(kind, self.program.mesh.count(axes), nbytes)

    def _run(self, step: RunStep) -> None:
        if not step.call.plain or "control" in step.node.op.traits or "effect" in step.node.op.traits:
            self._run_once(step)
            return
        mesh = self.program.mesh
        made = run_call(mesh, step.call, step.strategy, [self.parts(b) for b in step.operands])
        for i, (buffer, parts) in enumerate(zip(step.results, made)):
            if step.strategy.partial:
                kind = "all_reduce" if step.strategy.scatter < 0 else "reduce_scatter"
                self._count(kind, step.strategy.partial, parts[0].nbytes)
            closed = close_up(mesh, step.strategy, parts, i)
            if buffer[0] in self.program.anywhere:
                self.whole[buffer[0]] = closed[0]
            else:
                self.buffers[buffer] = closed

    def _run_once(self, step: RunStep) -> None:
        """Control flow, effects and results of unknown size: whole on every rank, so one run serves all."""
        graph = Graph(step.node.op.name, self.program.graph.module)
        seen = {v: graph.add_param(v.type, v.name) for v in dict.fromkeys(step.node.inputs)}
        copy_node(step.node, graph, seen)
        graph.outputs = [seen[v] for v in step.node.outputs]
        given = dict(zip(step.node.inputs, step.operands))
        args = [self.parts(given[v])[0] for v in dict.fromkeys(step.node.inputs)]
        results = ReferenceProgram(ArrayDevice("ranks", np), graph)(args)
        for (value, _), result in zip(step.results, results):
            self.whole[value] = result

    def _collected(self, buffer: Buffer) -> Any:
        value, layout = buffer
        if value in self.whole:
            return self.whole[value]
        assert isinstance(value.type, TensorType)
        return put_together(self.program.mesh, layout, self.buffers[buffer], value.type.ints())


def same_on_copies(program: Program, buffer: Buffer, parts: Sequence[Any]) -> bool:
    """True when ranks that should hold the same part do."""
    layout: TensorLayout = buffer[1]
    coordinates = program.mesh.coordinates[:, list(layout.used)] if layout.used else np.zeros((program.mesh.size, 0))
    first: dict[tuple[int, ...], Any] = {}
    for row, part in zip(coordinates, parts):
        held = first.setdefault(tuple(int(i) for i in row), part)
        if not np.array_equal(held, part, equal_nan=getattr(part.dtype, "kind", "") in "fc"):
            return False
    return True
