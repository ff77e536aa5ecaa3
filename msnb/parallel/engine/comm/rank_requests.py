"""A rank's way through a plan's steps as a list of legs, and what it asks for on the way.

    Taken      one step, as it is                                    asks for whatever the step needs
    Stretch    steps that the rank computes alone, one program       asks for nothing
    Talk       a move in which other ranks take part                 asks for a ``CollectiveRequest``

Step by step every leg is a ``StepSegment``; ``stretches`` finds another way through the same steps.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msnb.core import DType
from msnb.ir.graph import Graph, Value
from msnb.parallel.program.spmd_program import Buffer, RecvStep, RunStep, SendStep, Step
from msnb.parallel.sharding.reshard import Move

if TYPE_CHECKING:
    from msnb.parallel.engine.rank.rank_executor import RankExecutor

# ---- what a rank asks for ----


@dataclass(frozen=True)
class CollectiveRequest:
    """A rank's share in a collective.

    Attributes:
        move: which; part: what this rank puts in; reducer: how open sums are taken; where: the operator.
        first: the rank in the world of the first of the team.
    """

    move: Move
    part: Any
    reducer: str
    where: str
    first: int = 0


@dataclass(frozen=True)
class ReplicatedWork:
    """Work with the same results on every rank."""

    run: Callable[[], Sequence[Any]]


@dataclass(frozen=True)
class SendRequest:
    """Blocks for ranks of another team.

    Attributes:
        blocks: rank of the world -> an array; where: the operator that made it.
    """

    blocks: Mapping[int, Any]
    where: str


@dataclass(frozen=True)
class RecvRequest:
    """Blocks that ranks of another team send; the answer is the same mapping, filled.

    Attributes:
        blocks: rank of the world -> an array of the shape and dtype that comes; where: the operator that made it.
    """

    blocks: Mapping[int, Any]
    where: str


Request = CollectiveRequest | ReplicatedWork | SendRequest | RecvRequest
Run = Generator[Request, Any, list[Any]]
Going = Generator[Request, Any, None]

# ---- its way ----


@dataclass
class Segment:
    """A piece of a rank's way through the steps.

    Attributes:
        at: the number of its step, of several the last; where: the operator.
    """

    at: int
    where: str

    def buffers(self) -> tuple[Sequence[Buffer], Sequence[Buffer]]:
        """What it reads and what it makes."""
        raise NotImplementedError

    @property
    def made(self) -> Collection[Value]:
        """The values that it makes anew: parts of them in other layouts are parts of something gone."""
        raise NotImplementedError

    def go(self, walk: RankExecutor) -> Going:
        """Walk it."""
        raise NotImplementedError


@dataclass
class StepSegment(Segment):
    """One step, taken as it is."""

    step: Step

    def buffers(self) -> tuple[Sequence[Buffer], Sequence[Buffer]]:
        """Those of the step."""
        step = self.step
        if isinstance(step, RunStep):
            return step.operands, step.results
        reads = [] if isinstance(step, RecvStep) else [(step.value, step.source)]
        return reads, [] if isinstance(step, SendStep) else [(step.value, step.target)]

    @property
    def made(self) -> Collection[Value]:
        """The operator's results."""
        return {v for v, _ in self.step.results} if isinstance(self.step, RunStep) else ()

    def go(self, walk: RankExecutor) -> Going:
        """Take the step."""
        return walk.take(self.at, self.step)


@dataclass
class ComputeSegment(Segment):
    """Computation of the rank alone.

    Attributes:
        graph: from the parts ``reads`` to the parts ``makes``; program: the same, compiled.
        fresh: values that it makes; of the others that it lays out anew the first parts still hold.
    """

    graph: Graph
    reads: list[Buffer]
    makes: list[Buffer]
    fresh: set[Value]
    program: Callable[[list[Any]], list[Any]] | None = None

    def buffers(self) -> tuple[Sequence[Buffer], Sequence[Buffer]]:
        """What it reads and what it makes."""
        return self.reads, self.makes

    @property
    def made(self) -> Collection[Value]:
        """The values that it makes anew."""
        return self.fresh

    def go(self, walk: RankExecutor) -> Going:
        """Run it."""
        assert self.program is not None
        made = self.program([walk.part(b) for b in self.reads])
        for value in self.fresh:
            walk.parts.pop(value, None)
        for buffer, part in zip(self.makes, made):
            walk.also(buffer, part)
        yield from ()


@dataclass
class CollectiveSegment(Segment):
    """A move in which other ranks take part.

    Attributes:
        source, target: the part that goes in and the one that comes; reducer: how open sums are taken.
        anew: the target's value is made by it: parts in other layouts are parts of something gone.
        late: nothing but gradients of weights waits for it.
        narrow: the dtype to which what came is rounded, None where it stays as it is.
    """

    move: Move
    source: Buffer
    target: Buffer
    reducer: str
    anew: bool
    late: bool
    narrow: DType | None = None

    def buffers(self) -> tuple[Sequence[Buffer], Sequence[Buffer]]:
        """What goes in and what comes."""
        return [self.source], [self.target]

    @property
    def made(self) -> Collection[Value]:
        """The target's value, unless it is one that is laid out anew."""
        return (self.target[0],) if self.anew else ()

    def go(self, walk: RankExecutor) -> Going:
        """Move it."""
        part = yield from walk.moved(self.move, walk.part(self.source), self.reducer, self.where)
        for value in self.made:
            walk.parts.pop(value, None)
        walk.also(self.target, part if self.narrow is None else walk.xp.asarray(part, self.narrow.numpy))
