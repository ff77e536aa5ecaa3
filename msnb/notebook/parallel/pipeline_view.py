"""A pipelined plan in a cell: who works on which micro-batch when, which layers lie where, what a device holds."""

from __future__ import annotations

from typing import Any

from msnb.base import ArgumentError
from msnb.notebook.charts.html_fragments import Row, bytes_word, columns, count, pre, table
from msnb.notebook.parallel.plan_charts import holdings_svg, mesh_svg, pipeline_svg
from msnb.notebook.views.roofline_view import seconds_word
from msnb.notebook.views.view import Section, View
from msnb.parallel.engine.pipeline_plan import PipelinePlan
from msnb.parallel.program.spmd_program import static_type
from msnb.parallel.sharding.layout import whole

STAGES = ("piece", "stage", "layers", "forward", "backward", "received", "strategies")


class PipelineView(View):
    """A pipelined plan as pictures.

    Attributes:
        plan: the plan itself; which: the pictures that are shown.
    """

    kind = "pipeline"

    def __init__(self, plan: PipelinePlan, view: str = "all") -> None:
        if view not in ("all", *PICTURES):
            raise ArgumentError(f"a pipeline has no picture {view!r}; legal: 'all', {', '.join(map(repr, PICTURES))}.")
        super().__init__(plan.graph.name)
        self.plan: PipelinePlan = plan
        self.which = view

    @property
    def summary(self) -> str:
        """Stages, bubble, bytes."""
        p, line = self.plan, self.plan.timeline
        most = max(row["total"] for row in p.memory)
        return (
            f"{count(p.pipes, 'stage')} of {self._devices}, {p.micro} micro-batches, "
            f"{p.scheduler}: step {seconds_word(line.seconds)}, bubble {line.bubble:.1%} (simulated); at most "
            f"{bytes_word(int(most))} per device."
        )

    @property
    def _devices(self) -> str:
        sizes = self.plan.devices
        return count(sizes[0], "device") if len(set(sizes)) == 1 else f"{' + '.join(map(str, sizes))} devices"

    @property
    def rows(self) -> list[Row]:
        """Per piece: layers, seconds, bytes."""
        out: list[Row] = []
        for i, names in enumerate(self.plan.layers):
            piece, n = self.plan.piece(i), self.plan.received[i % self.plan.pipes]
            said = names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]}"
            times = seconds_word(piece.forward), seconds_word(piece.backward)
            laid = str(len(self.plan.plans[i].strategies))
            out.append((str(i), str(i % self.plan.pipes), said, *times, bytes_word(n), laid))
        return out

    @property
    def text(self) -> str:
        """Summary, stages, schedule."""
        return "\n\n".join([self.summary, columns(STAGES, self.rows), str(self.plan.timeline)])

    @property
    def figures(self) -> list[str]:
        """The pictures that were asked for."""
        return [self._figure(name) for name in (PICTURES if self.which == "all" else (self.which,))]

    @property
    def svg(self) -> str:
        """The first of them."""
        return self.figures[0]

    def _figure(self, name: str) -> str:
        plan = self.plan
        if name == "timeline":
            return pipeline_svg(plan.timeline)
        mesh = plan.plans[0].mesh
        if name == "memory":
            rows = [(f"stage {s}", row) for s, row in enumerate(plan.memory)]
            return holdings_svg("memory per device, activations of all micro-batches in flight", rows,
                                mesh.cluster.chip.memory)  # fmt: skip
        params = plan.plans[0].program.params
        sizes = {v: t for v in params if (t := static_type(v)) is not None and t.ndim}
        if not sizes:
            return mesh_svg(mesh, "a scalar", whole(1), (1,), plan.devices)
        value = max(sizes, key=lambda v: sizes[v].nbytes)
        return mesh_svg(mesh, value.name, params[value], sizes[value].ints(), plan.devices)

    @property
    def sections(self) -> list[Section]:
        """Stages and schedule as tables."""
        return [(self.summary, table(STAGES, self.rows)), ("Schedule", pre(str(self.plan.timeline)))]

    @property
    def data(self) -> dict[str, Any]:
        """All numbers."""
        line = self.plan.timeline
        return {"summary": self.summary, "stages": [dict(zip(STAGES, row)) for row in self.rows],
                "events": [[list(e) for e in row] for row in line.events], "seconds": line.seconds,
                "bubble": line.bubble, "memory": self.plan.memory}  # fmt: skip


PICTURES = ("timeline", "memory", "mesh")
