"""What a pass is: a record that tests, docs, pictures and the pipeline all read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msnb.graph.compile.rewriting.rewrite_log import Log
from msnb.ir.graph import Graph
from msnb.ir.text.parser import parse


@dataclass(frozen=True)
class Case:
    """An example as IR text: the graph before, the graph after the pass. Equal texts: where the pass must not act.
    ``gradient``: its nodes belong to a gradient, which the text does not say."""

    before: str
    after: str
    about: str = ""
    gradient: bool = False

    def graph(self) -> Graph:
        """The graph before."""
        found = parse(self.before)
        for node in found.nodes if self.gradient else ():
            node.primal = found.nodes[0]
        return found


@dataclass(frozen=True)
class Pass:
    """A transform of graphs.

    Attributes:
        name: its name in stages, files and notes.
        law: what it keeps and does, in one line.
        needs, gives: the stage (``msnb.ir.analysis.verifier.STAGES``) of the graph before and after.
        cases: examples before and after.
        run: (graph, log) -> a new graph; the old one is not changed.
        count: how many changes stand in the new graph; None: as many as the pass has noted in the log.
        optional: it leaves no stage where it changes nothing.
    """

    name: str
    law: str
    needs: str
    gives: str
    cases: tuple[Case, ...]
    run: Callable[[Graph, Log], Graph]
    count: Callable[[Graph], int] | None = None
    optional: bool = False


PASSES: dict[str, Pass] = {}


def register_pass(record: Pass) -> Pass:
    """Make a pass known by name (plug-ins call this too)."""
    if record.name in PASSES:
        raise ValueError(f"a pass called {record.name!r} exists already; plug-ins need a name of their own.")
    PASSES[record.name] = record
    return record
