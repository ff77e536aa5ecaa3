"""``ms.show.roofline``: every op against what memory and arithmetic of a machine allow.

    flop/s  |          ______________  peak
            |        /   o matmul
            |      /
            |    /  bandwidth
            |  o add
            +------------------------ flops per byte

An op that does I flops per byte it moves can reach min(peak, I x bandwidth). Left of the ridge memory is the limit,
right of it arithmetic. What is predicted (from records and types, on a fixed model machine, the same on every run) and
what is measured (times of this program on this machine, only on request) are two tables and two kinds of marks, never
mixed. Source: Williams, Waterman, Patterson, "Roofline: an insightful visual performance model", CACM 2009.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msnb.base import ArgumentError
from msnb.ir.graph import Node
from msnb.ir.node_cost import bytes_of, flops_of
from msnb.notebook.charts.html_fragments import Row, bytes_word, columns, number_word, table
from msnb.notebook.charts.plot import Dot, Line, loglog_svg
from msnb.notebook.drawing import is_drawn, look_of, title_of
from msnb.notebook.programs.instrumented_run import InstrumentedProgram, place_of
from msnb.notebook.programs.machine_peak import MODEL, Machine, model_machine, this_machine
from msnb.notebook.views.profile_view import measured
from msnb.notebook.views.view import Section, View
from msnb.ops.elementwise.constant import constant

HEAD = ("op", "flops", "bytes", "flops/byte", "limit", "at least", "line")
MEASURED = ("op", "median", "flop/s", "bytes/s", "of its roof", "line")
MEMORY, ARITHMETIC, MOVES, VIEW = "memory", "arithmetic", "memory (moves only)", "nothing (a view)"
CACHED = "Over 100 %: the operands came from a cache, not from memory."


@dataclass
class Point:
    """One op: its work, and the seconds it took (0 unless measured)."""

    label: str
    place: str
    family: str
    flops: float
    bytes: int
    seconds: float = 0.0

    @property
    def intensity(self) -> float:
        """Flops per byte."""
        return self.flops / self.bytes if self.bytes else 0.0

    def limit(self, machine: Machine) -> str:
        """What bounds it there."""
        if not self.bytes:
            return VIEW
        if not self.flops:
            return MOVES
        return ARITHMETIC if self.intensity >= machine.ridge else MEMORY

    def share(self, machine: Machine) -> float:
        """The least time there over the time it took."""
        return machine.seconds(self.flops, self.bytes) / self.seconds if self.seconds else 0.0


class RooflineView(View):
    """The ops of a program under a roof.

    Attributes:
        points: one per op, in program order.
        model: the machine of the predictions.
        machine: the measured one, or None.
    """

    kind = "roofline"

    def __init__(
        self, program: InstrumentedProgram, times: bool = False, repeats: int = 7, model: Machine = MODEL
    ) -> None:
        super().__init__(program.name)
        if repeats < 1:
            raise ArgumentError(f"roofline needs at least one repeat, got {repeats}.")
        self.model: Machine = model
        self.repeats: int = repeats
        sheet = model_machine()
        self.machine: Machine | None = (this_machine() if sheet is MODEL else sheet) if times else None
        seconds = measured(program, repeats) if times else {}
        nodes = [n for n in program.graph.nodes if n.op is not constant and is_drawn(n)]
        self.points: list[Point] = [_point(n, seconds.get(n, 0.0)) for n in nodes if "control" not in n.op.traits]

    @property
    def rows(self) -> list[Row]:
        """Predicted: what the ops need, and what would bound them on the model machine."""
        m = self.model
        ranked = sorted(enumerate(self.points), key=lambda item: (-m.seconds(item[1].flops, item[1].bytes), item[0]))
        return [
            (p.label, number_word(p.flops), bytes_word(p.bytes), f"{p.intensity:.3g}", p.limit(m),
             seconds_word(m.seconds(p.flops, p.bytes)), p.place)
            for _, p in ranked
        ]  # fmt: skip

    @property
    def measured_rows(self) -> list[Row]:
        """Measured: what they reached on this machine; empty without times."""
        if self.machine is None:
            return []
        ranked = sorted(enumerate(self.points), key=lambda item: (-item[1].seconds, item[0]))
        return [self._measured(p, self.machine) for _, p in ranked if p.seconds]

    def _measured(self, p: Point, machine: Machine) -> Row:
        rate, traffic = p.flops / p.seconds, p.bytes / p.seconds
        share = f"{100 * p.share(machine):.0f} %" if p.bytes else ""
        return p.label, seconds_word(p.seconds), number_word(rate), f"{bytes_word(int(traffic))}/s", share, p.place

    @property
    def text(self) -> str:
        """The prediction; below it, if asked for, the measurement."""
        parts = [f"predicted on a {_told(self.model)}\n{columns(HEAD, self.rows)}"]
        if self.machine is not None:
            head = f"measured on {_told(self.machine)}, median of {self.repeats} runs, op by op"
            parts.append(f"{head}\n{columns(MEASURED, self.measured_rows)}\n{CACHED}")
        return "\n\n".join(parts)

    @property
    def svg(self) -> str:
        """Roofs as lines, ops as dots: hollow where predicted, full where measured."""
        m, found = self.model, [p for p in self.points if p.flops and p.bytes]
        lines = [Line(f"{m.name}: predicted", m.bandwidth, m.peak, dashed=True)]
        dots = [Dot(p.label, p.intensity, m.roof(p.intensity), _colour(p), hollow=True) for p in found]
        if self.machine is not None:
            own = self.machine
            lines.append(Line(f"{own.name}: measured", own.bandwidth, own.peak))
            dots += [Dot(p.label, p.intensity, p.flops / p.seconds, _colour(p)) for p in found if p.seconds]
        return loglog_svg(f"roofline of {self.title}", lines, dots, len(self.points) - len(found))

    @property
    def sections(self) -> list[Section]:
        """Two tables."""
        out = [(f"Predicted on a {_told(self.model)}", table(HEAD, self.rows))]
        if self.machine is not None:
            out.append((f"Measured on {_told(self.machine)}", table(MEASURED, self.measured_rows)))
        return out

    @property
    def data(self) -> dict[str, Any]:
        """Both tables and both machines."""
        out: dict[str, Any] = {"predicted": [dict(zip(HEAD, row)) for row in self.rows], "model": _figures(self.model)}
        if self.machine is not None:
            out["measured"] = [dict(zip(MEASURED, row)) for row in self.measured_rows]
            out["machine"] = _figures(self.machine)
        return out


def _point(node: Node, seconds: float) -> Point:
    moved = 0 if "view" in node.op.traits else bytes_of(node)
    return Point(title_of(node), place_of(node), node.op.family, flops_of(node), moved, seconds)


def _colour(p: Point) -> str:
    return look_of("node", p.family)[1]


def _told(m: Machine) -> str:
    return f"{m.name} of {m.bandwidth / 1e9:.3g} GB/s and {m.peak / 1e9:.3g} Gflop/s"


def _figures(m: Machine) -> dict[str, float]:
    return {"bandwidth": m.bandwidth, "peak": m.peak}


def seconds_word(seconds: float) -> str:
    """``1.5 us``, ``20 ms``."""
    for unit, scale in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * scale >= 1:
            return f"{seconds * scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
