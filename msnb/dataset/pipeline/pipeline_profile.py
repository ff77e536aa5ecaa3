"""Which node of a pipeline costs how much: the chain is run for a while with a clock around every node.

    source <- P <- map <- P <- prefetch <- P <- batch <- P        P: a ProfileNode
                          |              '- the thread of the consumer: the time of batch
                          '-------------- the thread that reads ahead: the times of map and source

A timer knows how long its node took to give rows, parents included; less the parents' time this is the node's own. A
stage is what one thread pulls; stages run side by side, so the slowest of them says how fast rows come.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from msnb.base import DatasetError
from msnb.dataset.pipeline.epoch_rng import Epoch
from msnb.dataset.pipeline.nodes import Count, Node, Prefetch, UnaryNode
from msnb.dataset.pipeline.rows import Row

A = TypeVar("A")


class ProfileNode(UnaryNode):
    """A node with a clock; the same rows."""

    taken: int
    seconds: float
    waiting: int
    looks: int
    label = "timer"

    def __init__(self, node: Node) -> None:
        super().__init__(node)
        self.height: int = node.height
        self.node = node
        self.taken = 0  # rows since the beginning; those before the reset are not of the measurement
        self.reset()

    def reset(self) -> None:
        self.before: int = self.taken
        self.seconds = 0.0
        self.waiting = 0
        self.looks = 0

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        return self._timed(self.node.rows(epoch, start), False)

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        found = self.node.pick(epoch, numbers)
        return None if found is None else self._timed(found, False)

    def stacked(self, epoch: Epoch, size: int, start: int = 0) -> Iterator[Row] | None:
        found = self.node.stacked(epoch, size, start)
        return None if found is None else self._timed(found, True)

    def numbered(self, epoch: Epoch, start: int = 0) -> Iterator[tuple[int, Row]]:
        return self._timed(self.node.numbered(epoch, start), False)

    def numbered_pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[tuple[int, Row]] | None:
        found = self.node.numbered_pick(epoch, numbers)
        return None if found is None else self._timed(found, False)

    def count(self) -> Count:
        return self.node.count()

    def _timed(self, rows: Iterator[A], many: bool) -> Iterator[A]:
        ahead = self.node.parent if isinstance(self.node, Prefetch) else None
        while True:
            if isinstance(ahead, ProfileNode):
                self.waiting += ahead.taken - self.taken
                self.looks += 1
            begin = time.perf_counter()
            row = next(rows, None)
            self.seconds += time.perf_counter() - begin
            if row is None:
                return
            self.taken += len(row[0]) if many else 1  # type: ignore[index]
            yield row


@dataclass(frozen=True)
class NodeCost:
    """What a node cost.

    Attributes:
        label: its description.
        rows: how many it gave.
        seconds: its own time in them.
        stage: the number of the thread that pulls it; 0 is the consumer's.
        workers: how many threads or processes it works with.
        fill: of a prefetch, how full its queue was on the whole, 0 to 1; else None.
    """

    label: str
    rows: int
    seconds: float
    stage: int
    workers: int = 1
    fill: float | None = None


@dataclass(frozen=True)
class PipelineProfile:
    """A measured run.

    Attributes:
        nodes: sources first.
        rows: how many came out. seconds: in how long.
    """

    nodes: tuple[NodeCost, ...]
    rows: int
    seconds: float

    @property
    def rate(self) -> float:
        """Rows (batches, after `batch`) per second."""
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def bottleneck(self) -> NodeCost:
        """The node that costs most in the slowest stage."""
        slowest = max(range(len(self.stages)), key=self.stages.__getitem__)
        return max((node for node in self.nodes if node.stage == slowest), key=lambda node: node.seconds)

    @property
    def stages(self) -> list[float]:
        """The seconds of each stage."""
        out = [0.0] * (1 + max(node.stage for node in self.nodes))
        for node in self.nodes:
            out[node.stage] += node.seconds
        return out

    @property
    def predicted(self) -> float | None:
        """The rate with one more worker for the bottleneck; None where it has none, or every processor is at work."""
        node = self.bottleneck
        if not node.workers or node.workers >= (os.cpu_count() or 1):
            return None
        stages = self.stages
        stages[node.stage] -= node.seconds / (node.workers + 1)
        return self.rows / max(*stages, 1e-9)


def measure(node: Node, seed: int, seconds: float) -> PipelineProfile:
    """Run a chain for about so many seconds, at most one epoch.

    Raises:
        DatasetError: it has no row, or a row fails.
    """
    timers: list[tuple[ProfileNode, int]] = []
    top = _metered(node, 0, timers)
    rows = top.rows(Epoch.start(seed, 0))
    if next(rows, None) is None:
        raise DatasetError("the dataset has no row, so there is nothing to measure")
    for timer, _ in timers:  # threads and processes have begun
        timer.reset()
    begin, count = time.perf_counter(), 0
    for _ in rows:
        count += 1
        if time.perf_counter() - begin > seconds:
            break
    taken = time.perf_counter() - begin
    getattr(rows, "close", lambda: None)()
    return PipelineProfile(tuple(_cost(timer, stage) for timer, stage in timers), count, taken)


def _metered(node: Node, stage: int, timers: list[tuple[ProfileNode, int]]) -> ProfileNode:
    made = copy.copy(node)
    below = stage + isinstance(node, Prefetch)
    if below > stage:
        below = 1 + max([stage, *(s for _, s in timers)])
    made.parents = tuple(_metered(parent, below, timers) for parent in node.parents)
    if isinstance(made, UnaryNode):
        made.parent = made.parents[0]
    timer = ProfileNode(made)
    timers.append((timer, stage))
    return timer


def _cost(timer: ProfileNode, stage: int) -> NodeCost:
    node, rows = timer.node, timer.taken - timer.before
    if isinstance(node, Prefetch):  # its time is waiting for another stage
        fill = min(1.0, timer.waiting / max(timer.looks * node.size, 1))
        return NodeCost(node.describe(), rows, 0.0, stage, 0, fill)
    own = timer.seconds - sum(parent.seconds for parent in node.parents if isinstance(parent, ProfileNode))
    return NodeCost(node.describe(), rows, max(own, 0.0), stage, int(getattr(node, "workers", 0)))
