"""A program without its Python: a captured graph together with the weights it reads.

Its params come in one order: the inputs, the weights, and last the stream of random draws if it draws any. ``run``
sends the nodes through whatever engine runs or records the program around it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msnb.base import ArgumentError, DTypeError, ShapeError
from msnb.core import Parameter, Tensor, TensorType, random, slot
from msnb.ir.control_flow import HostFn, replay
from msnb.ir.graph import Graph, Node
from msnb.ir.text.printer import called


class SavedGraph:
    """A forward pass as data.

    Args:
        graph: the program; its state are weights (moving averages), draws, or inputs that are written to.
        inputs: how many of its params are inputs.
        weights: the params after them, by name.
        draws: whether the last param is the stream of random draws.
        result: how the program's result is made of the graph's outputs: the number of an output, or one of
            ``{"tuple": [...]}``, ``{"list": [...]}``, ``{"dict": {...}}``, ``{"value": None, bool, number or string}``.
        labels: names of the symbols among the sizes of its inputs.
        formulas: of the params after all others: what these numbers are, as text over the symbols.
    """

    def __init__(
        self, graph: Graph, inputs: int, weights: dict[str, Parameter], draws: bool, result: Any,
        labels: Mapping[str, str] | None = None, formulas: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.graph: Graph = graph
        self.inputs: int = inputs
        self.weights: dict[str, Parameter] = weights
        self.draws: bool = draws
        self.result: Any = result
        self.labels: dict[str, str] = dict(labels or {})
        self.formulas: list[str] = list(formulas)

    def run(self, weights: Sequence[Parameter], inputs: Sequence[Any]) -> Any:
        """The program's result with these weights, whose state is written.

        Raises:
            TypeError: inputs in another number, or of other dtypes. ValueError: of other shapes.
        """
        self._need_alike(inputs)
        args = [*inputs, *weights, *([random.state()] if self.draws else [])]
        outs = replay(self.graph, args)
        for param, output in self.graph.state.items():
            slot.engine.assign(args[param], outs[output])
        return _built(self.result, outs)

    def _need_alike(self, inputs: Sequence[Any]) -> None:
        """A graph is made for one number of inputs, and for their shapes and dtypes."""
        params = self.graph.params[: self.inputs]
        if len(inputs) != len(params):
            wanted = [f"{p.name}: {p.type}" for p in params]
            raise ArgumentError(f"the graph takes {len(params)} tensors, {len(inputs)} were given.", operands=wanted)
        for p, x in zip(params, inputs):
            if not isinstance(x, Tensor):
                raise ArgumentError(f"the graph's input {p.name} is a tensor {p.type}, got {type(x).__name__}.")
            if x._type != p.type:
                same = isinstance(p.type, TensorType) and x.shape == p.type.shape
                raise (DTypeError if same else ShapeError)(
                    f"the graph's input {p.name} is {p.type}, got {x._type!r}.",
                    hint="a saved graph fits inputs like those it was exported with; export it again for others.",
                )

    def __str__(self) -> str:
        return str(self.graph)

    def __repr__(self) -> str:
        types = ", ".join(f"{p.name}: {p.type}" for p in self.graph.params[: self.inputs])
        return f"<SavedGraph {self.graph.name}({types}): {len(self.weights)} weights, {len(self.graph.nodes)} nodes>"


def python_calls(graph: Graph, errors: bool = True) -> list[Node]:
    """The nodes, here and in called graphs, that hold a Python function.

    Args:
        graph: the program.
        errors: also those that only raise an error, which a file can say (``ir.error_template``).
    """
    reached = list(dict.fromkeys([graph, *called(graph)]))
    nodes = [node for g in reached for _, node in g.walk()]
    return [node for node in nodes if any(_is_python(value, errors) for value in node.attrs.values())]


def _is_python(value: Any, errors: bool) -> bool:
    return isinstance(value, HostFn) and (errors or value.error is None)


def _built(result: Any, outs: Sequence[Any]) -> Any:
    """The program's result around these outputs."""
    if isinstance(result, int):
        return outs[result]
    ((kind, parts),) = result.items()
    if kind == "value":
        return parts
    if kind == "dict":
        return {key: _built(part, outs) for key, part in parts.items()}
    found = [_built(part, outs) for part in parts]
    return tuple(found) if kind == "tuple" else found


def outputs_of(result: Any) -> list[int]:
    """The outputs that a result is made of, in order."""
    if isinstance(result, int):
        return [result]
    ((kind, parts),) = result.items()
    if kind == "value":
        return []
    return [at for part in (parts.values() if kind == "dict" else parts) for at in outputs_of(part)]
