"""``ms.show.grad(..., norms=True)``: how large the gradient is at every node that it passes.

    layer   rms of its gradients     1e-9          1e-3           1
    fc1     4.1e-04                   vanishing    fine           exploding, where it leaves the rest by SPREAD

The measure is the root mean square of a node's values, so layers of different widths compare, and all are held
against the gradient with which the way back begins. A node is ``vanishing`` when its gradient is zero everywhere or
SPREAD times smaller than that one, ``exploding`` when it is as much larger or not finite. Darker is larger, on a
logarithmic scale between the smallest and the largest of the picture.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from typing import Any

import numpy as np

from msnb.core import plain_numbers
from msnb.ir.graph import Node
from msnb.notebook.charts.html_fragments import Row, columns, number_word, table
from msnb.notebook.drawing import MOST_BOXES, Overlay, Picture, ids_of
from msnb.notebook.programs.instrumented_run import InstrumentedProgram, as_array, names_of, nodes_of, quiet
from msnb.notebook.views.view import GraphView, Section
from msnb.ops.elementwise.constant import constant

SPREAD = 1e4
VANISHING, EXPLODING = "vanishing", "exploding"
HEAD = ("layer", "rms", "largest at", "verdict")


def gradient_sizes(program: InstrumentedProgram) -> dict[Node, float]:
    """The root mean square of the values of every node on the way of the gradient, in the order of that way.

    Those are backward nodes that read the gradient of a later forward node, what is made of them, and the results. What
    is made of forward values alone (a transposed activation, a local derivative such as y (1 - y)) is an ingredient, no
    gradient.
    """
    out: dict[Node, float] = {}
    results = {v.node for v in program.graph.outputs}
    with quiet():
        for node, _, made in nodes_of(program.graph, program.inputs):
            arrays = [as_array(b, v.type) for b, v in zip(made, node.outputs)]
            wide = [plain_numbers(a) for a in arrays if a is not None and a.size]
            numbers = [a for a in wide if a.dtype.kind == "f"]
            if numbers and node.primal is not None and (node in results or _continues(node, out)):
                squares = [np.square(a, dtype=np.float64).mean() for a in numbers]
                out[node] = float(np.sqrt(max(squares)))
    return out


def _continues(node: Node, known: Container[Node]) -> bool:
    """True for a backward node that reads a gradient."""
    behind = [v.node for v in node.inputs if v.node is not None and v.node.op is not constant]
    return any(n in known or n.primal not in (None, node.primal) for n in behind)


def reference_of(sizes: Iterable[float]) -> float:
    """What gradients are held against: the first in the order of the way back that is neither zero nor endless."""
    return next((s for s in sizes if math.isfinite(s) and s > 0), 1.0)


def verdict_of(size: float, reference: float) -> str:
    """``vanishing``, ``exploding`` or nothing."""
    if not math.isfinite(size) or size > reference * SPREAD:
        return EXPLODING
    return VANISHING if size < reference / SPREAD else ""


class HeatView(GraphView):
    """A gradient program with the sizes of its values.

    Attributes:
        sizes: root mean square per backward node.
    """

    kind = "gradient"

    def __init__(self, program: InstrumentedProgram, title: str, max_boxes: int = MOST_BOXES) -> None:
        super().__init__(program.graph, title, max_boxes=max_boxes)
        self.sizes: dict[Node, float] = gradient_sizes(program)
        finite = [s for s in self.sizes.values() if np.isfinite(s) and s > 0]
        self._begin = reference_of(self.sizes.values())
        self._range = (min(finite), max(finite)) if finite else (1.0, 1.0)
        self._names = names_of(program.graph)

    def verdict(self, size: float) -> str:
        """``vanishing``, ``exploding`` or nothing."""
        return verdict_of(size, self._begin)

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
        """The pictures with a size in every backward box and group."""
        if not self._parts:
            self._heat(super().parts[0])
        return super().parts

    def _heat(self, picture: Picture) -> None:
        told = {str(i): self.sizes[n] for i, n in enumerate(self.graph.nodes) if n in self.sizes}
        for box in picture.walk():
            held = box.inside.walk() if box.inside is not None else [box]
            sizes = [told[b.id] for b in held if b.id in told]
            if sizes:
                size = float(np.max(sizes))  # of a group the largest, as in the table; NaN stays
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
