"""``ms.show.step``: go through a program node by node, with values, and stop where something happens.

    steps = ms.show.step(f, x, stop=["exp", "line 4"])
    for event in steps: ...              every node: event.op, event.place, event.inputs, event.outputs, event.nan
    steps.run()                          on to the next stop: a breakpoint, or the first op that makes a NaN
    steps.next(), steps.reset()

Shown in a cell it is a table of all nodes with shape, range and a small histogram of each result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from msnb.base import ArgumentError
from msnb.core import Tensor, TensorType, make, plain_numbers
from msnb.core.tensor_summary import sparkline, value_words
from msnb.ir.graph import Node, Value
from msnb.ir.text.literals import write_type
from msnb.notebook.charts.html_fragments import Row, columns, count, figure, table
from msnb.notebook.drawing import Picture, alarm_groups, picture_of, svg_of, title_of
from msnb.notebook.programs import instrumented_run as runs
from msnb.notebook.views.view import Frame, Section, View
from msnb.ops.elementwise.constant import constant

HEAD = ("node", "op", "type", "values", "histogram", "watch", "line")
Stop = str | int


@dataclass
class StepEvent:
    """One node that ran.

    Attributes:
        index: its position in the graph.
        name: what the IR's text calls it (``%3``).
        node: the node itself; op, scope, place say what people ask first.
        inputs, outputs: tensors (Python numbers for weak scalars).
        nan: it made a NaN out of operands that had none.
        stop: why a run stops here (``breakpoint exp``, ``NaN``), or nothing.
    """

    index: int
    name: str
    node: Node
    inputs: list[Any]
    outputs: list[Any]
    nan: bool
    stop: str

    @property
    def op(self) -> str:
        """The op's name."""
        return title_of(self.node)

    @property
    def scope(self) -> str:
        """The path of Cells."""
        return self.node.scope

    @property
    def place(self) -> str:
        """The line of the user's text."""
        return runs.place_of(self.node)

    @property
    def arrays(self) -> list[runs.Array]:
        """The results as NumPy arrays."""
        found = [runs.as_array(_buffer(x), v.type) for x, v in zip(self.outputs, self.node.outputs)]
        return [a for a in found if a is not None]

    def row(self) -> Row:
        """A line of the table."""
        types = ", ".join(write_type(v.type) for v in self.node.outputs)
        shown = self.arrays[:1]
        values, line = (value_words(shown[0]), sparkline(shown[0])) if shown else ("", "")
        return self.name, self.op, types, values, line, self.stop, self.place

    def __repr__(self) -> str:
        parts = [f"{self.name} {self.op}", *(part for part in self.row()[2:] if part)]
        return "   ".join(parts)


class StepView(View):
    """A program that runs node by node.

    Args:
        program: what to run.
        stop: breakpoints: an op's name, ``line 4`` (any file) or ``cell [3] line 4``, a node's number in the IR.
        nan: also stop where a NaN first appears.
    """

    kind = "step"

    def __init__(self, program: runs.InstrumentedProgram, stop: Stop | Sequence[Stop] = (), nan: bool = True) -> None:
        super().__init__(program.name)
        stops = (stop,) if isinstance(stop, (str, int)) else tuple(stop)
        self.program: runs.InstrumentedProgram = program
        self.stops: tuple[Stop] | tuple[Stop, ...] = stops
        self.watch: bool = nan
        self.names: dict[Node, str] = runs.names_of(program.graph)
        self._check()
        self._rows: list[Row] = []
        self._events = self._walk()

    def _check(self) -> None:
        """A breakpoint that can never be hit is a mistake worth a sentence."""
        nodes = self.program.graph.nodes
        for stop in self.stops:
            if not any(_hit(stop, self.names.get(n, ""), n) for n in nodes):
                ops = ", ".join(dict.fromkeys(title_of(n) for n in nodes if n.op is not constant))
                told = f"no node of {self.title} is at the breakpoint {stop!r}."
                raise ArgumentError(told, hint=f"its ops are {ops}.")

    def _walk(self) -> Iterator[StepEvent]:
        graph = self.program.graph
        for i, (node, read, made) in enumerate(runs.nodes_of(graph, self.program.inputs)):
            if node.op is not constant:
                yield self._event(i, node, read, made)

    def _event(self, i: int, node: Node, read: list[Any], made: list[Any]) -> StepEvent:
        inputs = [_tensor(b, v) for b, v in zip(read, node.inputs)]
        outputs = [_tensor(b, v) for b, v in zip(made, node.outputs)]
        fresh = _has_nan(made, node.outputs) and not _has_nan(read, node.inputs)
        name = self.names.get(node, "")
        hit = [f"breakpoint {stop}" for stop in self.stops if _hit(stop, name, node)]
        reasons = [*hit, *(["NaN"] if fresh and self.watch else [])]
        return StepEvent(i, name, node, inputs, outputs, fresh, ", ".join(reasons))

    def __iter__(self) -> Iterator[StepEvent]:
        self.reset()
        return self._events

    def reset(self) -> None:
        """Back to the first node."""
        self._events = self._walk()

    def next(self) -> StepEvent | None:
        """The next node, or None at the end."""
        return next(self._events, None)

    def run(self) -> StepEvent | None:
        """On to the next stop; None when the program ends before one."""
        return next((event for event in self._events if event.stop), None)

    # ---- the static view ----

    @property
    def rows(self) -> list[Row]:
        """A row per node (from a run of its own)."""
        if not self._rows:
            with runs.quiet():
                self._rows = [event.row() for event in self._walk()]
        return self._rows

    @property
    def text(self) -> str:
        """The table."""
        stops = [row for row in self.rows if row[5]]
        head = f"{count(len(self.rows), 'node')}, {count(len(stops), 'stop')}"
        return f"{head}\n{columns(HEAD, self.rows)}"

    @property
    def picture(self) -> Picture:
        """The program with its values; stops have a heavy border."""
        picture = picture_of(self.program.graph)
        told = dict(zip(self._ids(), self.rows))
        for box in picture.walk():
            row = told.get(box.id)
            if row is not None:
                box.lines = [*box.lines, *(words for words in (row[3], row[4], row[5]) if words)]
                box.mark = row[5]
        alarm_groups(picture)
        return picture

    @property
    def frames(self) -> list[Frame]:
        """Every node with its values, its box in the picture marked."""
        found = zip(self._ids(), self.rows)
        return [(f"{row[0]} {row[1]}", partial(self._frame, name, row)) for name, row in found]

    def _frame(self, name: str, row: Row) -> str:
        picture = self.picture
        for box in picture.walk():
            box.mark = box.mark or ("new" if box.id == name else "")
        return table(HEAD, [row]) + figure(svg_of(picture), f"step {row[0]}")

    @property
    def sections(self) -> list[Section]:
        """The table."""
        return [("Values", table(HEAD, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """The rows, each with the id of its box."""
        return {"rows": [{"id": name, **dict(zip(HEAD, row))} for name, row in zip(self._ids(), self.rows)]}

    def _ids(self) -> list[str]:
        """The boxes of the rows' nodes."""
        return [str(i) for i, n in enumerate(self.program.graph.nodes) if n.op is not constant]


def _hit(stop: Stop, name: str, node: Node) -> bool:
    if node.op is constant:
        return False
    if isinstance(stop, int):
        return name == f"%{stop}"
    place = runs.place_of(node)
    return stop in (title_of(node), node.op.name) or place == stop or (bool(place) and place.endswith(f" {stop}"))


def _has_nan(buffers: Sequence[Any], values: Sequence[Value]) -> bool:
    arrays = [runs.as_array(b, v.type) for b, v in zip(buffers, values)]
    numbers = [plain_numbers(a) for a in arrays if a is not None]
    return any(a.dtype.kind in "fc" and bool(np.isnan(a).any()) for a in numbers)


def _tensor(buffer: Any, value: Value) -> Any:
    tensor = isinstance(value.type, TensorType) and not value.type.weak
    return make(buffer, value.type) if tensor and isinstance(value.type, TensorType) else buffer


def _buffer(x: Any) -> Any:
    return x._data if isinstance(x, Tensor) else x
