"""``ms.show.plan``: a parallel plan: who holds what, what is sent, when.

    mesh      a: 2 x b: 4 = 8 devices      axis letters name the mesh axes, outermost (farthest apart) first
    layout    [a, -]                       axis 0 of the tensor is split over a, axis 1 is whole on every device
    program   boxes of one colour have one layout; a box says which collectives belong to it, and their bytes
    timeline  compute |####  ####|         simulated, never measured
              network |    ##    |

The numbers are the plan's own (``ms.parallel.plan``): this page only draws them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from msnb.base import ArgumentError
from msnb.notebook.charts.html_fragments import Row, bytes_word, columns, count, pre, table
from msnb.notebook.drawing.colors import TINTS
from msnb.notebook.drawing.graph_picture import MOST_BOXES, picture_of
from msnb.notebook.drawing.picture_tree import Box, Edge, Picture
from msnb.notebook.parallel.plan_charts import front_svg, holdings_svg, mesh_svg, segments_svg, step_svg
from msnb.notebook.programs.instrumented_run import place_of
from msnb.notebook.views.roofline_view import seconds_word
from msnb.notebook.views.view import Section, View
from msnb.parallel.planner.pareto_front import point
from msnb.parallel.plans.plan import Plan
from msnb.parallel.program.spmd_program import FORWARD, Collective, MoveStep, collectives_of, static_type
from msnb.parallel.sharding.device_mesh import Mesh
from msnb.parallel.sharding.layout import TensorLayout, whole

LETTERS = "abcdefghijklmnop"
OPS = ("operator", "layout of its result", "strategy", "line")
MOVES = ("collective", "over", "bytes in", "bytes sent", "simulated", "where", "phase")
OTHER = "another layout"


def layout_word(layout: TensorLayout) -> str:
    """``[a, -, bc]``; ``whole`` where nothing is split."""
    rows = ["".join(LETTERS[a] for a in axes) or "-" for axes in layout.dims]
    return f"[{', '.join(rows)}]" if layout.used else "whole"


def mesh_words(mesh: Mesh) -> str:
    """``a: 2 x b: 4 = 8 devices, cluster ascend910``."""
    axes = " x ".join(f"{LETTERS[i]}: {n}" for i, n in enumerate(mesh.factors))
    size = f"{axes} = {count(mesh.size, 'device')}" if axes else "one device"
    return f"{size}, cluster {mesh.cluster.name}"


class PlanView(View):
    """A plan as a picture.

    Attributes:
        plan: the plan itself.
        collectives: what is sent in a step.
    """

    layouts: dict[str, str]
    kind = "plan"

    def __init__(self, plan: Plan, max_boxes: int = MOST_BOXES, view: str = "all") -> None:
        if not isinstance(plan, Plan):
            raise ArgumentError(f"plan shows what ms.parallel.plan gives, not {type(plan).__name__}.")
        if view not in ("all", *PICTURES):
            raise ArgumentError(f"a plan has no picture {view!r}; legal: 'all', {', '.join(map(repr, PICTURES))}.")
        self.which: tuple[Any, ...] = PICTURES if view == "all" else (view,)
        super().__init__(plan.problem.graph.name)
        self.plan: Plan = plan
        self.max_boxes: int = max_boxes
        self.collectives: list[Collective] = list(plan.collectives)
        self.layouts = {plan.problem.names[n]: layout_word(s.outputs[0]) for n, s in plan.chosen.items() if s.outputs}
        held = [layout_word(layout) for layout in plan.program.params.values()]
        self.tints: dict[str, tuple[int, str]] = _tints([*self.layouts.values(), *held])

    @property
    def summary(self) -> str:
        """Mesh, seconds, bytes."""
        sent = sum(c.sent for c in self.collectives)
        memory = bytes_word(int(self.plan.memory["total"]))
        return (
            f"{mesh_words(self.plan.mesh)}; {count(len(self.plan.chosen), 'operator')} laid out by {self.plan.mode}; "
            f"{count(len(self.collectives), 'collective')}, {bytes_word(round(sent))} sent per device and step; "
            f"{memory} per device; step {seconds_word(self.plan.step_time)} (simulated)."
        )

    @property
    def rows(self) -> list[Row]:
        """Per operator: layout and strategy."""
        names = self.plan.problem.names
        return [
            (names[n], self.layouts.get(names[n], ""), str(s.splits(self.plan.mesh)), place_of(n))
            for n, s in self.plan.chosen.items()
        ]

    @property
    def move_rows(self) -> list[Row]:
        """Per collective."""
        return [move_row(c) for c in self.collectives]

    @property
    def weight_rows(self) -> list[Row]:
        """Per weight: its layout."""
        return [(v.name, str(v.type), layout_word(layout)) for v, layout in self.plan.program.params.items()]

    @property
    def text(self) -> str:
        """The summary and the tables."""
        parts = [self.summary, columns(OPS, self.rows), columns(("input", "type", "layout"), self.weight_rows)]
        if self.collectives:
            parts.append(columns(MOVES, self.move_rows))
        return "\n\n".join(parts)

    @property
    def picture(self) -> Picture:
        """The forward program; colour and words say the layout, a heavy border that something is sent."""
        graph, names = self.plan.problem.graph, self.plan.problem.names
        picture = picture_of(graph, self.max_boxes)
        picture.title = f"{graph.name}: {mesh_words(self.plan.mesh)}"
        told = {str(i): names[n] for i, n in enumerate(graph.nodes) if n in self.plan.chosen}
        weights = {f"p{i}": layout_word(self.plan.program.params[p]) for i, p in enumerate(graph.params)
                   if p in self.plan.program.params}  # fmt: skip
        for box in picture.walk():
            if box.id in told:
                self._dress(box, told[box.id])
            elif box.id.split(".")[0] in weights:
                self._lay(box, weights[box.id.split(".")[0]])
            elif box.kind in ("node", "constant"):  # nothing to choose: made from no operands on every device
                self._lay(box, "whole")
        self._volumes(picture)
        return picture

    def _volumes(self, picture: Picture) -> None:
        """Bytes that a device sends before an operator can read its operand, on the edge between the two."""
        moved: dict[tuple[str, int], float] = {}
        nodes = {self.plan.problem.names[n]: n for n in self.plan.chosen}
        for step in self.plan.program.steps:
            node = nodes.get(step.where) if isinstance(step, MoveStep) and step.phase == FORWARD else None
            if node is not None and isinstance(step, MoveStep):
                at = step.where, node.inputs.index(step.value) if step.value in node.inputs else -1
                moved[at] = moved.get(at, 0) + sum(c.sent for c in collectives_of(self.plan.program.teams, step))
        names = {str(i): self.plan.problem.names.get(n, "") for i, n in enumerate(self.plan.problem.joint.graph.nodes)}
        for edge in _edges(picture):
            n = moved.get((names.get(edge.target, ""), edge.port), 0)
            edge.note = bytes_word(round(n)) if n else ""

    def _lay(self, box: Box, layout: str) -> None:
        box.tint = self.tints.get(layout, (len(TINTS) - 1, OTHER))
        box.lines = [*box.lines, layout]

    def _dress(self, box: Box, name: str) -> None:
        self._lay(box, self.layouts.get(name, "whole"))
        for c in [c for c in self.collectives if c.where == name]:
            box.lines = [*box.lines, f"{c.kind} {bytes_word(c.nbytes)} over {len(c.group)}"]
            box.mark = "changed"

    @property
    def timeline_svg(self) -> str:
        """Two streams over simulated time."""
        return step_svg(self.plan.timeline)

    @property
    def memory_svg(self) -> str:
        """Bytes per device by what they hold."""
        title = f"memory per device: {bytes_word(int(self.plan.memory['total']))}"
        return holdings_svg(title, [("every device", self.plan.memory)], self.plan.mesh.cluster.chip.memory)

    @property
    def mesh_svg(self) -> str:
        """Devices, and who holds which part of the largest split weight (of the largest result if none is)."""
        plan = self.plan
        held: dict[str, tuple[TensorLayout, Any]] = {
            v.name: (layout, t) for v, layout in plan.program.params.items() if (t := static_type(v)) and t.ndim
        }
        if not any(layout.used for layout, _ in held.values()):
            held = {plan.problem.names[n]: (s.outputs[0], t) for n, s in plan.chosen.items()
                    if s.outputs and (t := static_type(n.outputs[0])) and t.ndim}  # fmt: skip
        name = max(held, key=lambda n: (len(held[n][0].used) > 0, held[n][1].nbytes), default="")
        layout, t = held[name] if held else (whole(1), None)
        return mesh_svg(plan.mesh, name or "a scalar", layout, t.ints() if t else (1,))

    @property
    def front_svg(self) -> str:
        """Time against memory as the search counts them."""
        p = self.plan
        now = point(p.problem, p.choices, p.rematerialized)
        return front_svg(p.front, (now.nbytes, now.seconds))

    @property
    def segments_svg(self) -> str:
        """Ways to sum gradients in buckets."""
        return segments_svg([self.plan.segments(how) for how in ("all", "size", "algorithm_1", "optimal")])

    @property
    def figures(self) -> list[str]:
        """The pictures that were asked for; of all, those that have something to show."""
        return [self._figure(name) for name in self.which if len(self.which) == 1 or self._has(name)]

    def _figure(self, name: str) -> str:
        return self.svg if name == "graph" else str(getattr(self, f"{name}_svg"))

    def _has(self, name: str) -> bool:
        if name == "front":  # found by many searches: only when it is asked for
            return False
        return name != "segments" or bool(self.plan.timeline.gradients)

    @property
    def sections(self) -> list[Section]:
        """The tables, and why the most costly operators are laid out so."""
        out = [("Operators", table(OPS, self.rows)), ("Weights", table(("input", "type", "layout"), self.weight_rows))]
        out.append((f"Collectives: {self.summary}", table(MOVES, self.move_rows)))
        slow = sorted({c.where for c in self.collectives}, key=lambda w: -sum(c.seconds for c in self.collectives
                                                                              if c.where == w))[:3]  # fmt: skip
        known = [w for w in slow if w in self.layouts]
        return [*out, ("Why", pre("\n\n".join(map(self.plan.explain, known))))] if known else out

    @property
    def json(self) -> dict[str, Any]:
        """The parts; without the program where another picture was asked for."""
        return super().json if "graph" in self.which else {**super().json, "nodes": [], "edges": []}

    @property
    def data(self) -> dict[str, Any]:
        """All numbers."""
        return {
            "summary": self.summary, "mesh": list(self.plan.mesh.factors),
            "operators": [dict(zip(OPS, row)) for row in self.rows],
            "collectives": [dict(zip(MOVES, row)) for row in self.move_rows],
            "timeline": [list(event) for event in self.plan.timeline.events], "memory": dict(self.plan.memory),
        }  # fmt: skip


def move_row(c: Collective) -> Row:
    """A collective under the heads of ``MOVES``."""
    return (c.kind, f"{len(c.group)} of {len(c.group) * c.groups}", bytes_word(c.nbytes), bytes_word(round(c.sent)),
            seconds_word(c.seconds), c.where, c.phase)  # fmt: skip


def _edges(picture: Picture) -> Iterator[Edge]:
    yield from picture.edges
    for box in picture.walk():
        if box.inside is not None:
            yield from box.inside.edges


PICTURES = ("graph", "timeline", "memory", "mesh", "segments", "front")


def _tints(words: Sequence[str]) -> dict[str, tuple[int, str]]:
    """The most frequent layouts get a colour of their own, ties in program order, ``whole`` the plainest."""
    order = ["whole", *sorted(dict.fromkeys(w for w in words if w != "whole"), key=lambda w: -words.count(w))]
    return {w: (i, w) for i, w in enumerate(order[: len(TINTS) - 1])}
