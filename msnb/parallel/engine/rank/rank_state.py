"""A plan on one rank, and the parts that the rank keeps from step to step: weights, optimizer state.

A step runs under the settings of the client that loaded the plan (``jit_level``) and on the rank's share of threads.
A plan of which many steps are wanted is compiled first (``stretches``), where the settings ask for machine code.

    fed by the client every time     data, learning rates: the params that are not held
    held by the rank                 what ``give`` put there; state of the program gets its new value with every step
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from msnb.base.settings import set_context
from msnb.core import TensorType
from msnb.ir.graph import Value
from msnb.parallel.engine.comm.communicator import Communicator
from msnb.parallel.engine.comm.shards import hands_in, on_host, part_of
from msnb.parallel.engine.rank.rank_executor import RankExecutor, RankProgram
from msnb.parallel.engine.rank.segment_compiler import compiles, stretched
from msnb.parallel.engine.rank.sharded_checkpoint import Snapshot, write_parts
from msnb.parallel.program.program_document import from_text
from msnb.parallel.program.spmd_program import Buffer, SpmdProgram
from msnb.parallel.sharding.layout import TensorLayout, whole

if TYPE_CHECKING:
    from msnb.parallel.sharding.device_mesh import Mesh


class RankState:
    """See the head of the file."""

    def __init__(self, text: str, comm: Communicator, watch: Callable[[int], None] | None,
                 settings: Mapping[str, Any] = MappingProxyType({}), often: bool = False) -> None:  # fmt: skip
        self.program: SpmdProgram = from_text(text)
        self.settings: Mapping[str, Any] = settings
        self.team: int = self.program.team_of(comm.rank)
        self.recipe: RankProgram = RankProgram(self.program, self.team, xp=comm.xp)
        self.comm: Communicator = comm
        self.watch: Callable[..., Any] | None = watch
        self.mesh: Mesh = self.recipe.mesh
        self.rank: int = comm.rank - self.recipe.first
        with set_context(**settings):
            if often and compiles(comm.xp):
                stretched(self.recipe, self.rank)
        self.params: list[Value] = self.program.graph.params
        self.held: dict[Value, Any] = {}
        self.walk: RankExecutor | None = None

    @property
    def at(self) -> int:
        """Number of the step it is in."""
        return self.walk.leg.at if self.walk is not None and self.walk.leg is not None else -1

    @property
    def where(self) -> str:
        """The operator it is at."""
        return self.walk.leg.where if self.walk is not None and self.walk.leg is not None else ""

    def run(self, values: Mapping[int, Any]) -> list[Any]:
        """One step. Gives this rank's part of every result for which it speaks, else None.

        Args:
            values: number of a param -> its whole value; the others are held.
        """
        self.walk = walk = RankExecutor(self.recipe, self.rank, self.watch)
        for i, p in enumerate(self.params):
            if not self._mine(p):
                continue
            if i in values:
                walk.enter(p, values[i])
            elif p in self.program.anywhere:
                walk.whole[p] = self.held[p]
            else:
                walk.parts[p] = {self.layout(p): self.held[p]}
        with set_context(**self.settings):
            made = self.comm.answer(walk.run(), self.mesh)
        state = {out: self.params[at] for at, out in self.program.graph.state.items() if self.params[at] in self.held}
        self.held.update((p, made[out]) for out, p in state.items())
        asked = (*self.program.outputs, *self.program.gradients)
        return [on_host(p) if i not in state and self._speaks(b) else None for i, (b, p) in enumerate(zip(asked, made))]

    def _mine(self, p: Value) -> bool:
        return self.team in self.program.holders(p)

    def _speaks(self, buffer: Buffer) -> bool:
        return hands_in(self.program, buffer, self.comm.rank)

    def layout(self, p: Value) -> TensorLayout:
        """How a param is laid out; on every rank whole where nothing else is said."""
        return self.program.params.get(p) or whole(getattr(p.type, "ndim", 0))

    def give(self, values: Mapping[int, Any]) -> None:
        """Hold these params (numbers of params -> whole values)."""
        for i, value in values.items():
            if self._mine(self.params[i]):
                self.held[self.params[i]] = self._own(self.params[i], value)

    def _own(self, p: Value, value: Any) -> Any:
        if not isinstance(value, np.ndarray):
            return value
        if p in self.program.anywhere:
            return self.comm.xp.asarray(value)
        return part_of(self.mesh, self.layout(p), value, self.rank, self.comm.xp).copy()

    def take(self) -> dict[int, Any]:
        """The parts of what is held for which this rank speaks."""
        numbers = {p: i for i, p in enumerate(self.params)}
        return {numbers[p]: on_host(v) for p, v in self.held.items() if self._speaks((p, self.layout(p)))}

    def save(self, folder: str, names: Mapping[int, str]) -> None:
        """Write this rank's parts of the params of these numbers, under these names."""
        mine = self.take()
        write_parts(folder, self.comm.rank, {name: mine[i] for i, name in names.items() if i in mine})

    def load(self, folder: str, names: Mapping[int, str]) -> int:
        """Hold this rank's parts from a checkpoint, of this mesh or another; gives its step."""
        snapshot = Snapshot(folder)
        read = {}
        for p, name in ((self.params[i], name) for i, name in names.items() if self._mine(self.params[i])):
            assert isinstance(p.type, TensorType)
            shape = p.type.ints()
            mine = self.layout(p).part(self.mesh, shape, self.rank)
            read[p] = self.comm.xp.asarray(snapshot.part(name, shape, mine))
        self.held.update(read)
        return snapshot.step
