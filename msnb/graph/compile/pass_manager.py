"""The pass manager: passes over one graph, each timed, verified, and told as a stage.

    manager = PassManager(graph, log, keep)          the first stage: the graph as captured
    manager.run(PASSES["inline"])                    manager.graph is what became of it; manager.stages tells how

Every transformation is a ``Pass``: laws that need nothing, layouts and blocks that a device asks for, fusion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import perf_counter

from msnb.base import events, get_context, reraise_interrupt
from msnb.base.plugins import Plugin
from msnb.graph.compile.plugin_passes import check_result
from msnb.graph.compile.rewriting import Log, Pass
from msnb.ir.analysis.verifier import verify
from msnb.ir.graph import Graph


@dataclass(frozen=True)
class StageRecord:
    """One stage of a compilation: ``graph`` is None unless graphs were kept."""

    name: str
    law: str
    seconds: float
    rewrites: int
    graph: Graph | None


class PassManager:
    """A graph on its way through passes.

    Args:
        graph: where it begins; it is not changed.
        log: notes the rewrites.
        keep: keep the graph of every stage.
        begin: name and law of the first stage.

    Attributes:
        graph: what became of it so far.
        stages: what each pass did.

    Raises:
        VerifyError: a pass made a wrong graph.
    """

    def __init__(
        self, graph: Graph, log: Log, keep: bool = False, begin: tuple[str, str] = ("captured", "As captured.")
    ) -> None:
        self.graph: Graph = graph
        self.log: Log = log
        self.keep: bool = keep
        self.deep: bool = bool(get_context("verify_graphs"))
        self.stages: list[StageRecord] = []
        start = perf_counter()
        verify(graph, "captured", deep=self.deep)
        self._record(*begin, perf_counter() - start, 0)

    def run(self, record: Pass) -> bool:
        """Run one pass; True when it changed something."""
        before, start = self.log.total, perf_counter()
        after = record.run(self.graph, self.log)
        rewrites = self.log.total - before if record.count is None else record.count(after)
        if record.optional and not rewrites:
            return False
        if rewrites or record.gives != record.needs:
            self.graph = after
        verify(self.graph, record.gives, deep=self.deep)
        self._record(record.name, record.law, perf_counter() - start, rewrites)
        return rewrites > 0

    def run_guarded(self, plugin: Plugin, record: Pass) -> bool:
        """Run a pass of another package; one that fails is left out, here and from now on."""
        before = self.graph
        try:
            changed = self.run(record)
            if changed:
                check_result(before, self.graph, record)
            return changed
        except Exception as error:
            reraise_interrupt(error)
            self.graph = before
            plugin.fail(error)
            return False

    def run_round(self, records: Sequence[Pass]) -> bool:
        """Run passes in order; True when a later one could feed an earlier one."""
        return any([self.run(record) for record in records][1:])

    def _record(self, name: str, law: str, seconds: float, rewrites: int) -> None:
        again = sum(s.name.split(" ")[0] == name for s in self.stages)
        name = f"{name} {again + 1}" if again else name
        self.stages.append(StageRecord(name, law, seconds, rewrites, self.graph if self.keep else None))
        events.emit("stage", graph=self.graph, name=name, seconds=seconds)
