"""A program that places its own collectives, in a cell: what one rank runs, sends and holds, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msnb.base import ArgumentError
from msnb.notebook.charts.html_fragments import Row, bytes_word, columns, count, table
from msnb.notebook.drawing import MOST_BOXES, Picture, picture_of
from msnb.notebook.parallel.plan_charts import holdings_svg, step_svg
from msnb.notebook.parallel.plan_view import MOVES, mesh_words, move_row
from msnb.notebook.views.roofline_view import seconds_word
from msnb.notebook.views.view import Section, View
from msnb.parallel.engine.manual_plan import ManualPlan
from msnb.parallel.planner.cost_graph_builder import names_of

if TYPE_CHECKING:
    from msnb.parallel.program.spmd_program import Collective


class ManualPlanView(View):
    """A plan of hybrid_parallel as pictures, those of the context's ``global_rank``.

    Attributes:
        plan: the plan itself; which: the pictures that are shown.
    """

    kind = "hand"

    def __init__(self, plan: ManualPlan, max_boxes: int = MOST_BOXES, view: str = "all") -> None:
        if view not in ("all", *PICTURES):
            raise ArgumentError(f"a hybrid_parallel program has no picture {view!r}; legal: 'all', "
                                f"{', '.join(map(repr, PICTURES))}.")  # fmt: skip
        super().__init__(plan.graphs[plan.rank].name)
        self.plan: ManualPlan = plan
        self.max_boxes: int = max_boxes
        self.which: tuple[Any, ...] = PICTURES if view == "all" else (view,)
        self.collectives: list[Collective] = list(plan.collectives)

    @property
    def summary(self) -> str:
        """Ranks, seconds, bytes."""
        sent = sum(c.sent for c in self.collectives)
        kinds = len(dict.fromkeys(self.plan.graphs))
        said = "one program for all ranks" if kinds == 1 else f"{kinds} different programs"
        return (
            f"{mesh_words(self.plan.mesh)}; {said}, shown is rank {self.plan.rank}; "
            f"{count(len(self.collectives), 'collective')} placed by the program, {bytes_word(round(sent))} sent per "
            f"step; {bytes_word(int(self.plan.memory['total']))}; step {seconds_word(self.plan.step_time)} (simulated)."
        )

    @property
    def rows(self) -> list[Row]:
        """Per collective."""
        return [move_row(c) for c in self.collectives]

    @property
    def text(self) -> str:
        """The summary and the collectives."""
        return "\n\n".join([self.summary, *([columns(MOVES, self.rows)] if self.collectives else [])])

    @property
    def picture(self) -> Picture:
        """The program of the rank; a heavy border and a line say that something is sent."""
        graph = self.plan.graphs[self.plan.rank]
        picture = picture_of(graph, self.max_boxes)
        picture.title = f"{graph.name} on rank {self.plan.rank}: {mesh_words(self.plan.mesh)}"
        names, said = names_of(node for _, node in graph.walk()), {c.where: c for c in self.collectives}
        told = {str(i): said[names[n]] for i, n in enumerate(graph.nodes) if names[n] in said}
        for box in picture.walk():
            if box.id in told:
                c = told[box.id]
                box.lines = [*box.lines, f"{c.kind} {bytes_word(c.nbytes)} over {len(c.group)}"]
                box.mark = "changed"
        return picture

    @property
    def figures(self) -> list[str]:
        """The pictures that were asked for."""
        return [self._figure(name) for name in self.which]

    def _figure(self, name: str) -> str:
        plan = self.plan
        if name == "timeline":
            return step_svg(plan.timeline)
        if name == "graph":
            return self.svg
        title = f"memory of rank {plan.rank}: {bytes_word(int(plan.memory['total']))}"
        return holdings_svg(title, [(f"rank {plan.rank}", plan.memory)], plan.mesh.cluster.chip.memory)

    @property
    def sections(self) -> list[Section]:
        """The collectives as a table."""
        return [(f"Collectives: {self.summary}", table(MOVES, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """All numbers."""
        return {
            "summary": self.summary, "mesh": list(self.plan.mesh.factors),
            "collectives": [dict(zip(MOVES, row)) for row in self.rows],
            "timeline": [list(event) for event in self.plan.timeline.events], "memory": dict(self.plan.memory),
        }  # fmt: skip


PICTURES = ("graph", "timeline", "memory")
