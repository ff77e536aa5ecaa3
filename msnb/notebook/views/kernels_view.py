"""``ms.show.kernels``: what runs in the end: how each node runs, and the code that was generated for it.

    node        how                    line
    fused       generated kernel k0    cell [3] line 4
    matmul      oneDNN                 cell [3] line 5

    k0          loops (the same for every target)  ->  LLVM IR  ->  assembly of this processor (PTX of a GPU)

Loops follow from the program alone. LLVM IR and assembly follow the processor at hand, so they stand behind summaries
that open and never in the plain text.
"""

from __future__ import annotations

from typing import Any

from msnb.base import device_registry
from msnb.devices.inspection import Listing, NodeLowering
from msnb.graph.compile import CompiledProgram, compile_graph
from msnb.ir import FUSED, Graph, Node
from msnb.notebook.charts.html_fragments import Row, columns, count, pre, table
from msnb.notebook.drawing import Picture, picture_of, title_of
from msnb.notebook.programs.instrumented_run import place_of
from msnb.notebook.views.view import Section, View

HEAD = ("node", "how it runs", "line")
NONE = "No code is generated on this setting: operations run one by one. ms.set_context(jit_level='O1') generates it."
FACTS = ("function", "registers, memory, occupancy")
LONG = 40_000


class KernelsView(View):
    """The generated code of a program.

    Attributes:
        compiled: the program.
        listings: one per kernel: ``.kernel`` (loops), ``.code`` (LLVM IR), ``.assembly``.
        ways: how each node runs.
    """

    kind = "kernels"

    def __init__(self, compiled: CompiledProgram, title: str = "") -> None:
        super().__init__(title or compiled.name)
        self.compiled = compiled
        device = device_registry.current()
        self.listings: list[Listing] = device.kernels_of(compiled.executable)
        self.ways: list[NodeLowering] = device.ways_of(compiled.executable)

    @property
    def graph(self) -> Graph:
        """The graph that runs: after fusion, where there is one."""
        return getattr(self.compiled.executable, "graph", self.compiled.graph)

    @property
    def rows(self) -> list[Row]:
        """How each node runs."""
        return [(_name(w.node), w.how, place_of(w.node)) for w in self.ways]

    @property
    def text(self) -> str:
        """The table, then the loops of every kernel."""
        if not self.ways:
            return f"{self.title}: {NONE}"
        parts = [f"{self.title}: {count(len(self.listings), 'kernel')}", columns(HEAD, self.rows)]
        return "\n\n".join([*parts, *(f"{one.name}\n{one.kernel}" for one in self.listings)])

    @property
    def picture(self) -> Picture:
        """The program that runs; each box says how."""
        picture = picture_of(self.graph)
        told = {id(w.node): w.how for w in self.ways}
        names = {str(i): told[id(n)] for i, n in enumerate(self.graph.nodes) if id(n) in told}
        for box in picture.walk():
            if box.id in names:
                box.lines = [*box.lines, names[box.id]]
        return picture

    @property
    def sections(self) -> list[Section]:
        """The table; per kernel its loops, code and assembly."""
        out: list[Section] = [("How each node runs", table(HEAD, self.rows))] if self.ways else []
        for one in self.listings:
            lines = one.assembly.count("\n")
            out.append((f"{one.name}: loops", pre(one.kernel)))
            out.append((f"{one.name}: {one.language}", pre(one.code[:LONG])))
            if one.facts:
                out.append((f"{one.name}: what the machine needs", table(FACTS, one.facts)))
            out.append((f"{one.name}: assembly of this processor ({lines} lines)", pre(one.assembly[:LONG])))
        return out or [("Text", pre(self.text))]

    @property
    def data(self) -> dict[str, Any]:
        """How each node runs, and the loops."""
        return {
            "ways": [dict(zip(HEAD, row)) for row in self.rows],
            "kernels": [{"name": one.name, "loops": one.kernel} for one in self.listings],
        }


def _name(node: Node) -> str:
    """A group is told by its operations."""
    if node.op is not FUSED:
        return title_of(node)
    inside = [title_of(n) for n in node.graphs[0].nodes if n.inputs]
    shown = ", ".join(inside[:6])
    return f"fused: {shown}{' ...' if len(inside) > 6 else ''}"


def kernels_of_graph(graph: Graph, name: str) -> KernelsView:
    """Compile a graph and show what runs."""
    return KernelsView(compile_graph(graph, name=name, keep_stages=True), name)
