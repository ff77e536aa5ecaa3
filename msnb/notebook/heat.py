"""``ms.show.grad(..., norms=True)``: how large the gradient is at every node that it passes.

    layer   rms of its gradients     1e-9          1e-3           1
    fc1     4.1e-04                   vanishing    fine           exploding, where it leaves the rest by SPREAD

The measure is the root mean square of a node's values, so layers of different widths compare. A node is ``vanishing``
when its gradient is zero everywhere or SPREAD times smaller than the median node, ``exploding`` when it is as much
larger or not finite. Darker is larger, on a logarithmic scale between the smallest and the largest of the picture.
"""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from msnb.core.glance import plain_numbers
from msnb.ir.graph import Node
from msnb.notebook.overlays import Overlay, ids_of
from msnb.notebook.pages import Row, columns, number_word, table
from msnb.notebook.paint import MOST_BOXES
from msnb.notebook.parts import Picture
from msnb.notebook.runs import Program, as_array, names_of, nodes_of, quiet
from msnb.notebook.views import GraphView, Section

SPREAD = 1e4
HEAD = ("layer", "rms", "largest at", "verdict")


def gradient_sizes(program: Program) -> dict[Node, float]:
    """The root mean square of the values of every node on the way of the gradient.

    Those are backward nodes that read another backward node: what reads forward values alone (a transposed activation,
    a local derivative) is an ingredient, no gradient.
    """
    out: dict[Node, float] = {}
    with quiet():
        for node, _, made in nodes_of(program.graph, program.inputs):
            arrays = [as_array(b, v.type) for b, v in zip(made, node.outputs)]
            wide = [plain_numbers(a) for a in arrays if a is not None and a.size]
            numbers = [a for a in wide if a.dtype.kind == "f"]
            if numbers and _is_gradient(node):
                squares = [np.square(a, dtype=np.float64).mean() for a in numbers]
                out[node] = float(np.sqrt(max(squares)))
    return out


def _is_gradient(node: Node) -> bool:
    behind = [v.node for v in node.inputs if v.node is not None]
    return node.primal is not None and any(n.primal is not None for n in behind)


class HeatView(GraphView):
    """A gradient program with the sizes of its values.

    Attributes:
        sizes: root mean square per backward node.
    """

    kind = "gradient"

    def __init__(self, program: Program, title: str, max_boxes: int = MOST_BOXES) -> None:
        super().__init__(program.graph, title, max_boxes=max_boxes)
        self.sizes = gradient_sizes(program)
        finite = [s for s in self.sizes.values() if np.isfinite(s) and s > 0]
        self._middle = median(finite) if finite else 1.0
        self._range = (min(finite), max(finite)) if finite else (1.0, 1.0)
        self._names = names_of(program.graph)

    def verdict(self, size: float) -> str:
        """``vanishing``, ``exploding`` or nothing."""
        if not np.isfinite(size) or size > self._middle * SPREAD:
            return "exploding"
        return "vanishing" if size < self._middle / SPREAD else ""

    @property
    def rows(self) -> list[Row]:
        """Per layer, as the gradient meets them: the largest of its nodes."""
        layers: dict[str, Node] = {}
        for node, size in self.sizes.items():
            best = layers.get(node.scope)
            if best is None or not self.sizes[best] >= size:
                layers[node.scope] = node
        return [self._row(scope or "(no layer)", node) for scope, node in layers.items()]

    def _row(self, scope: str, node: Node) -> Row:
        size = self.sizes[node]
        return scope, number_word(size), f"{self._names.get(node, '')} {node.op.name}".strip(), self.verdict(size)

    @property
    def parts(self) -> list[Picture]:
        """The pictures with a size in every backward box."""
        if not self._parts:
            self._heat(super().parts[0])
        return super().parts

    def _heat(self, picture: Picture) -> None:
        told = {str(i): self.sizes[n] for i, n in enumerate(self.graph.nodes) if n in self.sizes}
        for box in picture.walk():
            size = told.get(box.id)
            if size is not None:
                verdict = self.verdict(size)
                box.lines = [*box.lines, f"rms {number_word(size)}", *([verdict] if verdict else [])]
                box.mark, box.heat = verdict, self._share(size)

    def _share(self, size: float) -> float:
        low, high = (float(np.log10(x)) for x in self._range)
        if not np.isfinite(size):
            return 1.0
        return 0.0 if size <= 0 or high == low else round((float(np.log10(size)) - low) / (high - low), 3)

    @property
    def overlays(self) -> list[Overlay]:
        """The sizes first."""
        ids = {n: name for name, n in ids_of(self.graph)}
        sizes = {ids[n]: size for n, size in self.sizes.items() if n in ids}
        marks = {name: self.verdict(size) for name, size in sizes.items()}
        return [Overlay("norm", "root mean square", "", sizes, marks, adds_up=False), *super().overlays]

    def __repr__(self) -> str:
        return f"{columns(HEAD, self.rows)}\n\n{super().__repr__()}"

    @property
    def sections(self) -> list[Section]:
        """The table by layer first."""
        return [("Gradient by layer", table(HEAD, self.rows)), *super().sections]

    @property
    def json(self) -> dict[str, Any]:
        """The parts and the table."""
        return {**super().json, "data": {"layers": [dict(zip(HEAD, row)) for row in self.rows]}}
