"""From a network and its inputs to a SavedGraph: what is left of a program when its Python is gone.

    capture the forward pass      params: inputs, Parameters, buffers, NumPy arrays, Python numbers
    freeze                        what is neither written nor trained becomes a constant; inputs and weights stay
    leave out own gradients       a bprop or a hook is Python; its forward value is the graph's
    leave out words               a print of a constant changes no value
    refuse                        what still needs Python to run

The network and its inputs are as before: nothing has run.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msnb.base import ArgumentError, CaptureError, CheckpointError, events
from msnb.core import EngineRestore, Parameter, Tensor, random
from msnb.graph.capture import CapturedProgram
from msnb.ir import Graph, GraphBuilder, Node, SavedGraph, Value, python_calls, replay
from msnb.ir.text.printer import called
from msnb.train.files.dynamic_sizes import Dynamic, DynamicSizes

_WORDS = ("print", "warn", "log", "write", "flush")
_OWN_GRADIENT = ("custom_gradient", "with_vjp", "refuse_gradient")


def frozen(
    net: Callable[..., Any], inputs: Sequence[Any], keep_blocks: bool = False, dynamic: Dynamic | None = None
) -> SavedGraph:
    """The forward pass of ``net`` for inputs like these.

    Args:
        net: a Cell or a function.
        inputs: its Tensors; only their types matter.
        keep_blocks: functions like softmax and layer_norm stay calls under their names.
        dynamic: axes of inputs whose sizes stay open (``dynamic_sizes``).

    Returns:
        The graph, with copies of the weights.

    Raises:
        TypeError: ``net`` cannot be called, or an input is no Tensor.
        CaptureError: the program cannot be captured, or needs Python when it runs.
        CheckpointError: two Parameters of one name.

    Examples:
        >>> import msnb as ms
        >>> frozen(ms.nn.Dense(2, 3), [ms.Tensor([[1.0, 2.0]])])
        <SavedGraph Dense(x: f32[1,2]): 2 weights, 3 nodes>
    """
    if not callable(net):
        raise ArgumentError(f"export takes a Cell or a function and its inputs, not {type(net).__name__}.")
    for i, x in enumerate(inputs):
        if not isinstance(x, Tensor):
            raise ArgumentError(f"export takes Tensors as inputs; number {i} is a {type(x).__name__}.")
    names = _input_names(net, len(inputs))
    sizes = DynamicSizes(names, inputs, dynamic or {})  # its Tensors are its own, also where one came twice
    captured, graph = sizes.captured(net, getattr(net, "__name__", type(net).__name__), keep_blocks)
    if captured.writes:
        entry = captured.writes[0][0]
        raise CaptureError(
            f"the program writes to a Python object ({type(entry.owner).__name__}, {entry.name!r}); a file has none.",
            hint="keep what must last in a Parameter, and give the rest back as results.",
        )
    return _Freezing(captured, graph, sizes).saved()


def _input_names(net: Any, count: int) -> list[str]:
    """What the network calls its inputs."""
    found = inspect.signature(getattr(net, "construct", net)).parameters.values()
    named = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return [named[i] if i < len(named) else f"x{i}" for i in range(count)]


@dataclass
class _Freezing:
    """The params of the frozen graph, while it is made."""

    captured: CapturedProgram
    graph: Graph
    sizes: DynamicSizes
    given: tuple[Tensor, ...] = ()
    formulas: list[str] = field(default_factory=list)
    builder: GraphBuilder = field(init=False)
    values: dict[int, tuple[Any, Any]] = field(default_factory=dict)
    weights: dict[str, Tensor] = field(default_factory=dict)

    def saved(self) -> SavedGraph:
        # params in the order that the file's interface states: inputs, then weights by name, then the draws
        graph, self.given = self.graph, tuple(self.sizes.given)
        owners = self.captured.owners(self.given, {})
        self.builder = GraphBuilder(graph.name)
        stream = random.state()
        draws = any(owner is stream for owner in owners)
        with EngineRestore(), self.builder as b:
            for x, type_, name in zip(self.given, self.sizes.types, self.sizes.names):
                self.values[id(x)] = (x, self.builder.param(type_, name))
            kept = [o for i, o in enumerate(owners) if isinstance(o, Parameter) or i in graph.state]
            outputs, result = self._result(kept)
            for owner, name in self._named(kept, owners):
                self._enter(owner, name)
            if draws:
                self._enter(stream, "draws")
            sizes = self._sizes(graph)
            outs = replay(graph, [sizes[i] if i in sizes else self._param(owner) for i, owner in enumerate(owners)])
            b.output(*outs, *(self._param(x) for x in outputs))
        made = b.graph
        places = {p: i for i, p in enumerate(made.params)}
        made.state = {places[b.lift(self._param(owners[i]))]: at for i, at in graph.state.items()}
        for g in [made, *called(made)]:
            _leave_out_own_gradients(g)
            _leave_out_words(g)
        _need_no_python(made)
        weights = {name: _copy(name, owner) for name, owner in self.weights.items()}
        return SavedGraph(made, len(self.given), weights, draws, result, self.sizes.labels, self.formulas)

    def _sizes(self, graph: Graph) -> dict[int, Any]:
        """Params for numbers that are made of open sizes, by the numbers of the params that they are in ``graph``."""
        found = {}
        for i, (source, _) in enumerate(self.captured.inputs):
            formula = self.sizes.formula(source) if self.sizes.axes else None
            if formula is not None:
                found[i] = self.builder.param(graph.params[i].type, "size")
                self.formulas.append(formula)
        return found

    def _enter(self, owner: Tensor, name: str) -> None:
        self.values[id(owner)] = (owner, self.builder.param(owner._type, name))

    def _param(self, owner: Any) -> Any:
        """What stands for an object of the program: a param, or the object's value, which becomes a constant."""
        found = self.values.get(id(owner))
        return owner if found is None else found[1]

    def _name_of(self, owner: Any, owners: Sequence[Any]) -> str:
        """What the program calls it."""
        return next((p.name for p, o in zip(self.captured.graph.params, owners) if o is owner), "")

    def _named(self, kept: Sequence[Any], owners: Sequence[Any]) -> list[tuple[Tensor, str]]:
        """The weights, each once, by the names that they have in the file."""
        for owner in kept:
            if owner is random.state() or id(owner) in self.values:
                continue
            name = owner.name if isinstance(owner, Parameter) else self._name_of(owner, owners)
            if self.weights.setdefault(name, owner) is not owner:
                raise CheckpointError(
                    f"two parameters are called {name!r}, so one of them would be lost.",
                    hint="give them names: Parameter(..., name=...), or net.update_parameters_name(prefix).",
                )
        return [(owner, name) for name, owner in self.weights.items()]

    def _result(self, kept: list[Any]) -> tuple[list[Tensor], Any]:
        """Tensors to give out beside the graph's own outputs, and the shape of the result.

        The capture's recipe builds the result around marks instead of outputs, so each place shows which output it is.
        """
        checked = self.captured.check(self.given, {})
        marks = [object() for _ in self.captured.graph.outputs]
        done: list[Any] = self.captured.recipe.run(list(marks), checked[1])
        also: list[Tensor] = []

        def number(x: Tensor) -> int:
            """An input or Parameter that the program gives back as it is."""
            kept.extend([x] if isinstance(x, Parameter) else [])
            also.append(x)
            return len(marks) + len(also) - 1

        places = {id(mark): at for at, mark in enumerate(marks)}
        return also, _shape(done[self.captured.result], lambda x: places[id(x)] if id(x) in places else number(x))


def _shape(x: Any, number: Callable[[Any], int]) -> Any:
    """A result as ``SavedGraph.result`` says it."""
    # one branch for each container and constant of the format; anything else is refused
    if type(x) is object or isinstance(x, Tensor):
        return number(x)
    if isinstance(x, tuple):
        return {"tuple": [_shape(part, number) for part in x]}
    if isinstance(x, list):
        return {"list": [_shape(part, number) for part in x]}
    if isinstance(x, dict) and all(isinstance(key, str) for key in x):
        return {"dict": {key: _shape(part, number) for key, part in x.items()}}
    if x is None or type(x) in (bool, int, float, str):
        return {"value": x}
    raise CaptureError(
        f"the program's result has a {type(x).__name__} in it, which a file cannot hold.",
        hint="give back tensors, numbers and strings in tuples, lists and dicts with strings as keys.",
    )


def _copy(name: str, owner: Tensor) -> Parameter:
    trained = owner.requires_grad if isinstance(owner, Parameter) else False
    return Parameter(owner._host(), name, requires_grad=trained)


# ---- without Python ----


def _leave_out_own_gradients(graph: Graph) -> None:
    """Nodes that only say how to differentiate go: their results are operands as given."""
    instead: dict[Value, Value] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        node.inputs = [instead.get(v, v) for v in node.inputs]
        if node.op.name in _OWN_GRADIENT:
            instead.update(zip(node.outputs, node.inputs[node.attrs.get("n_in", 0) :]))
        else:
            kept.append(node)
        for body in node.graphs:
            _leave_out_own_gradients(body)
    graph.nodes = kept
    graph.outputs = [instead.get(v, v) for v in graph.outputs]


def _leave_out_words(graph: Graph) -> None:
    """What only prints, warns or logs a text that is known says nothing about values: it goes, with a notice."""
    kept: list[Node] = []
    for node in graph.nodes:
        fn = node.attrs.get("fn") if node.op.name == "host_call" else None
        if fn is not None and fn.name in _WORDS and not node.inputs:
            events.notice(f"{fn.name} is left out of the file: it holds operators only.", key=f"export {fn.name}")
        else:
            kept.append(node)
        for body in node.graphs:
            _leave_out_words(body)
    graph.nodes = kept


def _need_no_python(graph: Graph) -> None:
    """Raise CaptureError, at the user's line, for a node that calls back into Python."""
    for node in python_calls(graph, errors=False):
        error = CaptureError(
            f"the program calls Python when it runs ({node.attrs['fn'].name}); a file holds operators only.",
            hint="leave print, NumPy, errors of your own classes and functions like ops.Custom out of a network that "
            "is exported.",
        )
        error.where = None if node.where is None else node.where.where
        raise error
