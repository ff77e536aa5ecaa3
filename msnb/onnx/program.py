"""An ONNX model as a program of msnb: its nodes go through whatever engine runs or records.

    values      Tensors, and NumPy arrays for what is known before the program runs (shapes, axes, constants)
    a node      all inputs known: computed at once, by the same operators, and known in turn; else recorded
    weights     initializers of floats that no operator needs to know; the rest are constants

So a model whose sizes are symbols needs no rule for them: ``Shape`` is known when the program is captured for a size.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, CheckpointError, DTypeError, MsnbError, ShapeError
from msnb.core import EngineRestore, Parameter, Tensor, dtypes, using
from msnb.eager.dispatch import eager
from msnb.ir.frozen_graph import SavedGraph
from msnb.onnx import operators  # noqa: F401  (fills the table)
from msnb.onnx.model_graph import ModelGraph, ModelInput, ModelNode
from msnb.onnx.model_reader import decode, read_model
from msnb.onnx.operator_table import Operator, find, has_tensors, known, tensor

__all__ = ["GraphFunction", "OnnxProgram", "load", "program_of"]


def load(file_name: str | os.PathLike[str]) -> OnnxProgram:
    """Read an ONNX model; ``nn.GraphCell`` runs it, eagerly or compiled, and it can be trained further.

    Args:
        file_name: the file; arrays in other files are found in its folder.

    Raises:
        CheckpointError: the file is missing, damaged, or uses operators that msnb does not know, all named at once.
        ImportError: the package ``onnx`` is not installed.

    Source: https://onnx.ai/onnx/repo-docs/IR.html
    """
    return program_of(read_model(file_name))


def program_of(model: Any) -> OnnxProgram:
    """The program of a ModelProto whose arrays are in it."""
    opsets = {("" if e.domain == "ai.onnx" else e.domain): e.version for e in model.opset_import}
    return OnnxProgram(decode(model, lambda domain, kind: find(domain, kind, opsets.get(domain, 1)) is not None))


class OnnxProgram(SavedGraph):
    """A model that was read from an ONNX file.

    Attributes:
        model: its nodes as data; ``print(program)`` shows them.
        weights: Parameters by the names of their initializers.
        inputs: how many tensors it takes.
    """

    weights: dict[str, Parameter]

    def __init__(self, model: ModelGraph) -> None:
        self.model = model
        self._entries: dict[int, Operator] = {}
        self._folded = False
        self._resolve(model)
        _lift_constants(model)
        names = _weight_names(model, self._entries)
        self.weights = {name: Parameter(model.constants[name], name, requires_grad=names[name]) for name in names}
        self.constants: dict[str, Any] = {k: v for k, v in model.constants.items() if k not in names}
        self.inputs: int = len(model.inputs)
        self.draws: bool = False
        self.result: Any = None

    def _resolve(self, graph: ModelGraph) -> None:
        """The table's entry of each node; what is unknown is told all at once."""
        unknown: Counter[str] = Counter()
        for node in _nodes(graph):
            entry = find(node.domain, node.kind, graph.opsets.get(node.domain, 1))
            if entry is None:
                unknown[f"{node.domain}.{node.kind}".strip(".")] += 1
                continue
            for name in node.attributes:
                if name not in entry.attributes:
                    unknown[f"{node.kind} with the attribute {name!r}"] += 1
            self._entries[id(node)] = entry
        if unknown:
            said = ", ".join(f"{name} ({n})" for name, n in sorted(unknown.items()))
            raise CheckpointError(
                f"the model has operators that msnb does not know: {said}.",
                hint="a model-local function of that name in the file would be used; so would a newer onnx package.",
            )

    def fold(self) -> None:
        """Nodes of constants alone are computed once, when the program runs first: reading a file computes nothing."""
        if self._folded:
            return
        kept = []
        for node in self.model.nodes:
            entry = self._entries[id(node)]
            if entry.pure and not any(_bodies(node)) and all(not n or n in self.constants for n in node.inputs):
                body = GraphFunction(self.model, self._entries, {})
                self.constants.update(zip(node.outputs, body.results(node, self.constants)))
            else:
                kept.append(node)
        self.model.nodes, self._folded = kept, True

    def run(self, weights: Sequence[Parameter], inputs: Sequence[Any]) -> Any:
        """The model's result with these weights: one value, or a tuple in the order of its outputs."""
        found = [_given_out(value) for value in self.outputs(weights, inputs)]
        return found[0] if len(found) == 1 else tuple(found)

    def values(self, *inputs: Any) -> dict[str, Any]:
        """Every value of the model by its name, in the order of the nodes: what ``python -m msnb.onnx diff`` compares.

        Args:
            inputs: Tensors or arrays.

        Raises:
            TypeError, ValueError: as for a call.
        """
        found = self._function(list(self.weights.values()), inputs).values(*inputs)
        return {name: _given_out(found[name]) for node in self.model.nodes for name in node.outputs if name}

    def outputs(self, weights: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
        """The outputs as they are: Tensors, arrays of what is known, lists for sequences, None for empty optionals."""
        return self._function(weights, inputs)(*inputs)

    def _function(self, weights: Sequence[Any], inputs: Sequence[Any]) -> GraphFunction:
        """The program with these weights, once the inputs are found to be like those that the file declares."""
        if len(inputs) != len(self.model.inputs):
            wanted = [str(x) for x in self.model.inputs]
            raise ArgumentError(f"the model takes {len(wanted)} inputs, {len(inputs)} were given.", operands=wanted)
        for declared, value in zip(self.model.inputs, inputs):
            _need_alike(declared, value)
        self.fold()
        environment = self.constants | dict(zip(self.weights, weights))
        return GraphFunction(self.model, self._entries, environment)

    def __str__(self) -> str:
        return "\n".join(_lines(self.model, self.weights))

    def __repr__(self) -> str:
        inputs = ", ".join(map(str, self.model.inputs))
        count = len(list(_nodes(self.model)))
        return f"<OnnxProgram {self.model.name}({inputs}): {len(self.weights)} weights, {count} nodes>"


def _lines(graph: ModelGraph, weights: Mapping[str, Any], depth: int = 0) -> Iterator[str]:
    space = "  " * depth
    yield f"{space}graph {graph.name}({', '.join(map(str, graph.inputs))})"
    for name, array in graph.constants.items():
        yield f"{space}  {'weight' if name in weights else 'constant'} {name}: {array.dtype}{list(array.shape)}"
    for node in graph.nodes:
        plain = {k: v for k, v in node.attributes.items() if not isinstance(v, (ModelGraph, np.ndarray))}
        yield f"{space}  {node}" + (f" {plain}" if plain else "")
        for inner in _bodies(node):
            yield from _lines(inner, weights, depth + 2)
    yield f"{space}  return {', '.join(x.name for x in graph.outputs)}"


def _bodies(node: ModelNode) -> Iterator[ModelGraph]:
    for value in node.attributes.values():
        for inner in value if isinstance(value, list) else (value,):
            if isinstance(inner, ModelGraph):
                yield inner


def _nodes(graph: ModelGraph) -> Iterator[ModelNode]:
    for node in graph.nodes:
        yield node
        for inner in _bodies(node):
            yield from _nodes(inner)


def _lift_constants(model: ModelGraph) -> None:
    """Arrays in nodes of their own are initializers too."""
    for node in model.nodes:
        if node.kind == "Constant" and not node.domain and isinstance(node.attributes.get("value"), np.ndarray):
            model.constants[node.outputs[0]] = node.attributes["value"]
    model.nodes = [node for node in model.nodes if not (node.outputs and node.outputs[0] in model.constants)]


def _weight_names(model: ModelGraph, entries: Mapping[int, Operator]) -> dict[str, bool]:
    """Initializers that are weights, and whether an optimizer trains them."""
    uses: dict[str, set[str]] = {}
    for node in _nodes(model):
        for position, name in enumerate(node.inputs):
            uses.setdefault(name, set()).add(entries[id(node)].use_of(position))
    found = {}
    for name, array in model.constants.items():
        kind = dtypes.of_numpy(array.dtype)
        if kind is not None and kind.is_float and array.ndim and "Known" not in uses.get(name, ()):
            found[name] = "Statistic" not in uses.get(name, ())
    return found


def _need_alike(declared: ModelInput, value: Any) -> None:
    """What the file says of an input holds."""
    if not isinstance(value, (Tensor, np.ndarray)) or declared.dtype is None:
        return
    dtype = value.dtype.numpy if isinstance(value, Tensor) else value.dtype
    if dtype != declared.dtype and not (declared.dtype.kind in "OU" and dtype.kind in "OUS"):
        raise DTypeError(f"the model's input {declared} is {declared.dtype}, got {dtype}.")
    if declared.shape is None:
        return
    fits = len(declared.shape) == len(value.shape) and all(
        not isinstance(n, int) or n == m for n, m in zip(declared.shape, value.shape)
    )
    if not fits:
        raise ShapeError(f"the model's input {declared} got the shape {tuple(value.shape)}.")


def _given_out(value: Any) -> Any:
    """A value as a user gets it: arrays of numbers become Tensors."""
    if isinstance(value, list):
        return [_given_out(part) for part in value]
    return tensor(value) if isinstance(value, np.ndarray) and has_tensors(value.dtype) else value


class GraphFunction:
    """A graph as a Python function; it reads what stands around it.

    Args:
        graph: its nodes.
        entries: the table's entry per node.
        around: values by name.
    """

    def __init__(self, graph: ModelGraph, entries: Mapping[int, Operator], around: Mapping[str, Any]) -> None:
        self.graph: ModelGraph = graph
        self.entries: Mapping[int, Operator] = entries
        self.around: Mapping[str, Any] = around

    def __call__(self, *inputs: Any) -> list[Any]:
        """The graph's outputs."""
        values = self.values(*inputs)
        return [values[x.name] for x in self.graph.outputs]

    def values(self, *inputs: Any) -> dict[str, Any]:
        """All values by name."""
        graph, values = self.graph, {**self.graph.constants, **self.around}
        values.update(zip((x.name for x in graph.inputs), inputs))
        for node in graph.nodes:
            for name, value in zip(node.outputs, self.results(node, values)):
                values[name] = value
        return values

    def results(self, node: ModelNode, values: Mapping[str, Any]) -> list[Any]:
        """What a node gives where these values are known or recorded."""
        entry = self.entries[id(node)]
        inputs = [values[name] if name else None for name in node.inputs]
        bound = ModelNode(node.domain, node.kind, node.inputs, node.outputs, self._attributes(node, values), node.name)
        opset = self.graph.opsets.get(node.domain, 1)
        try:
            if entry.pure and all(map(_is_known, inputs)) and not _has_bodies(bound):
                with EngineRestore(), using(eager):
                    return [_as_known(value) for value in entry(bound, inputs, opset)]
            return entry(bound, inputs, opset, lambda names, y: self._between(names, y, values))
        except MsnbError as error:
            error.operands = tuple(dict.fromkeys((*error.operands, f"in the model: {node}")))
            raise

    def _between(self, names: Sequence[str], y: str, values: Mapping[str, Any]) -> Callable[..., Any]:
        """The value ``y`` as a function of the values of these names; the others are as they are."""
        wanted, nodes = {y}, []
        for node in reversed(self.graph.nodes):
            if wanted & (set(node.outputs) - set(names)):
                nodes.append(node)
                wanted |= set(node.inputs)

        def function(*given: Any) -> Any:
            found = {**values, **dict(zip(names, given))}
            for node in reversed(nodes):
                outs = self.results(node, found)
                found.update((name, value) for name, value in zip(node.outputs, outs) if name not in names)
            return found[y]

        return function

    def _attributes(self, node: ModelNode, values: Mapping[str, Any]) -> dict[str, Any]:
        """Attributes, graphs among them as functions of what is known here."""
        return {
            name: GraphFunction(value, self.entries, values) if isinstance(value, ModelGraph) else value
            for name, value in node.attributes.items()
        }


def _has_bodies(node: ModelNode) -> bool:
    return any(isinstance(value, GraphFunction) for value in node.attributes.values())


def _is_known(value: Any) -> bool:
    return all(map(_is_known, value)) if isinstance(value, list) else not isinstance(value, Tensor)


def _as_known(value: Any) -> Any:
    return [_as_known(part) for part in value] if isinstance(value, list) else known(value)
