"""``net.summary((32, 1, 28, 28))``: a network layer by layer: output, parameters, arithmetic, memory.

    layer          output            parameters      flops   activations
    conv1          f32[32,6,24,24]          156      5.6e6     442.4 KB
    ...

The network is captured for inputs of these shapes, not run: no state changes, no memory is used. A layer's numbers
follow from the nodes that came from it (records and types), so they are predictions; a layer that is called twice
counts twice.
"""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb.base import ArgumentError
from msnb.core import Tensor
from msnb.graph.capture import trace
from msnb.graph.compile import PASSES, Log
from msnb.ir.graph import Graph, Node
from msnb.ir.node_cost import flops_of, size_of
from msnb.ir.text.literals import write_type
from msnb.ops.elementwise.constant import constant

HEAD = ("layer", "kind", "output", "parameters", "flops", "activations")


@dataclass
class Layer:
    """One Cell: its path, class, the type it gives, and what it costs with all that is in it."""

    name: str
    kind: str
    output: str = ""
    parameters: int = 0
    flops: float = 0.0
    bytes: int = 0
    depth: int = 0


class Summary:
    """The table of a network; shown in a cell it is a table, elsewhere text.

    Attributes:
        layers: the network itself first, then every Cell in it, in order.
        trainable, frozen: elements of parameters that are trained, and that are not.
        weight_bytes: bytes of all parameters.
    """

    def __init__(self, cell: Any, inputs: Sequence[Any]) -> None:
        graph = _captured(cell, [_example(x) for x in inputs])
        self.title: str = type(cell).__name__
        self.layers: list[Layer] = [_layer(name, child) for name, child in cell.cells_and_names()]
        self.trainable: int = sum(p.size for p in cell.get_parameters() if p.requires_grad)
        self.frozen: int = sum(p.size for p in cell.get_parameters() if not p.requires_grad)
        self.weight_bytes: int = sum(size_of(p._type) or 0 for p in cell.get_parameters())
        self._by_scope = _by_scope(cell, self.layers)
        self._count(graph)

    def _count(self, graph: Graph) -> None:
        found = self._by_scope
        for node in graph.nodes:
            if node.op is constant:
                continue
            flops, size = _flops(node), sum(size_of(v.type) or 0 for v in node.outputs)
            path = node.scope.split("/")[1:]
            for depth in range(len(path) + 1):
                layer = found.get("/".join(path[:depth]))
                if layer is not None:
                    layer.flops += flops
                    layer.bytes += 0 if "view" in node.op.traits else size
                    layer.output = ", ".join(write_type(v.type) for v in node.outputs)
        found[""].output = ", ".join(write_type(v.type) for v in graph.outputs[: _own_results(graph)])

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """A row per layer, indented by depth; the network as the last row."""
        return [self._row(layer) for layer in [*self.layers[1:], self.layers[0]]]

    def _row(self, layer: Layer) -> tuple[str, ...]:
        name = "  " * (layer.depth - 1) + layer.name.rsplit(".", 1)[-1] if layer.depth else "all"
        return name, layer.kind, layer.output, f"{layer.parameters:,}", f"{layer.flops:.3g}", _bytes(layer.bytes)

    @property
    def totals(self) -> str:
        """One sentence."""
        frozen = f" and {self.frozen:,} that are not" if self.frozen else ""
        return f"{self.trainable:,} trained parameters{frozen}, {_bytes(self.weight_bytes)}"

    @property
    def text(self) -> str:
        """The table and the totals."""
        rows = [HEAD, *self.rows]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEAD))]
        lines = ["  ".join(_aligned(cell, w, i) for i, (cell, w) in enumerate(zip(row, widths))) for row in rows]
        return "\n".join([f"{self.title}: {self.totals}", *(line.rstrip() for line in lines)])

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{name}</th>" for name in HEAD)
        body = "".join("<tr>" + "".join(_html_cell(c, i) for i, c in enumerate(row)) + "</tr>" for row in self.rows)
        totals = html.escape(f"{self.title}: {self.totals}")
        return f"<div><div>{totals}</div><table><tr>{head}</tr>{body}</table></div>"


def summary(cell: Any, *inputs: Any) -> Summary:
    """A network layer by layer.

    Args:
        cell: the network.
        *inputs: one per argument: a shape (a tuple of ints: float32), or a Tensor for other dtypes.

    Returns:
        A Summary: ``.rows``, ``.text``.

    Raises:
        ArgumentError: an input that is neither; other errors are those of the network on such inputs.

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.SequentialCell(ms.nn.Dense(4, 8), ms.nn.ReLU(), ms.nn.Dense(8, 2))
        >>> net.summary((16, 4)).rows[0]
        ('0', 'Dense', 'f32[16,8]', '40', '1.15e+03', '1.0 KB')
    """
    return Summary(cell, inputs)


def _example(given: Any) -> Any:
    if isinstance(given, Tensor):
        return given
    if isinstance(given, (tuple, list)) and all(isinstance(n, int) and n >= 0 for n in given):
        return Tensor(np.zeros(tuple(given), np.float32))
    raise ArgumentError(
        f"summary takes shapes or Tensors, one per input of the network, not {given!r}.",
        hint="net.summary((32, 1, 28, 28)); for another dtype pass a Tensor.",
    )


def _captured(cell: Any, inputs: Sequence[Any]) -> Graph:
    graph: Graph = trace(cell, tuple(inputs), {}, type(cell).__name__).graph
    return PASSES["inline"].run(graph, Log())


def _layer(name: str, cell: Any) -> Layer:
    parameters = sum(p.size for p in cell.get_parameters())
    return Layer(name, type(cell).__name__, parameters=parameters, depth=name.count(".") + 1 if name else 0)


def _by_scope(cell: Any, layers: Sequence[Layer]) -> dict[str, Layer]:
    """Layers by the scope of their nodes. A list of Cells is never called: it has no numbers of its own."""
    cells = dict(cell.cells_and_names())
    return {x.name.replace(".", "/"): x for x in layers if not cells[x.name]._only_holds}


def _own_results(graph: Graph) -> int:
    return len(graph.outputs) - len(set(graph.state.values()))


def _flops(node: Node) -> float:
    """Loops count one round, branches their costlier side: all that is known before a run."""
    return flops_of(node) if not node.graphs else max(sum(map(_flops, body.nodes)) for body in node.graphs)


def _bytes(n: int) -> str:
    size = float(n)
    for unit in ("B", "KB", "MB"):
        if size < 1024:
            return f"{int(size)} B" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GB"


def _aligned(cell: str, width: int, column: int) -> str:
    return cell.ljust(width) if column < 3 else cell.rjust(width)


def _html_cell(cell: str, column: int) -> str:
    side = "left" if column < 3 else "right"
    shown = html.escape(cell).replace("  ", "&nbsp;&nbsp;")
    return f'<td style="text-align:{side}">{shown}</td>'
