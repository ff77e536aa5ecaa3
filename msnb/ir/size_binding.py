"""A graph whose sizes are symbols, with their values put in.

    graph f(x: f32[s1,8]) -> (f32[])         s1 = 24        graph f(x: f32[24,8]) -> (f32[])
      %1 = reshape(x, shape=(8*s1)) : f32[8*s1]     -->       %1 = reshape(x, shape=(192)) : f32[192]
      ...                                                     ...

Every node's types are inferred again from its operands. What does not come out as the formulas say (an axis that
broadcasts where the symbol did not) is refused: the program is captured for these sizes then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from msnb.base import reraise_interrupt
from msnb.core import ConcretizationError, Dim, SizeTrace, StackType, TensorType, Type, tensor_type, trace_of
from msnb.ir.builder import Const
from msnb.ir.control_flow import HOST_CALL
from msnb.ir.graph import Graph, Module, Node, Value
from msnb.ir.text.printer import called
from msnb.ops.definition.symbolic_sizes import value_of
from msnb.ops.elementwise.constant import constant


class SizeError(Exception):
    """These sizes do not go through the graph as its symbols do; why, in words."""


def bind_type(t: Type, sizes: Mapping[str, int]) -> Any:
    """A type with the symbols' values put in."""
    if isinstance(t, TensorType):
        return t if t.is_static else tensor_type(tuple(value_of(d, sizes) for d in t.shape), t.dtype, t.weak)
    return StackType(bind_type(t.element, sizes)) if isinstance(t, StackType) else t


class BoundGraph:
    """A graph for some sizes, made when somebody asks for it.

    Args:
        like: the graph with symbols; sizes: their values.
    """

    def __init__(self, like: Graph, sizes: Mapping[str, int]) -> None:
        self.like: Graph = like
        self.name: str = like.name
        self.sizes: Mapping[str, int] = sizes

    @cached_property
    def graph(self) -> Graph:
        """The graph."""
        return bind_sizes(self.like, self.sizes)

    def type_of(self, value: Value) -> Any:
        """The type that a value of ``like`` has in it."""
        return bind_type(value.type, self.sizes)


def size_check(graph: Graph, sizes: Mapping[str, int]) -> Callable[..., Any] | None:
    """A function of the symbols' values: true for sizes for which ``bind_sizes`` surely gives a graph; None where it
    cannot be told without making one.

    Args:
        graph: the graph with symbols; sizes: values for which it is known to give one.
    """
    trace = SizeTrace()
    try:
        bind_sizes(graph, trace.symbols(sizes))
    except (SizeError, ConcretizationError):
        return None
    return None if trace.refusal else trace.function(True)


def bind_sizes(graph: Graph, sizes: Mapping[str, int]) -> Graph:
    """A copy of ``graph`` for these sizes.

    Args:
        graph: it and the graphs of its module are not changed.
        sizes: the values of the symbols.

    Returns:
        A graph in a module of its own.

    Raises:
        SizeError: an op's inference finds other sizes than the formulas.
    """
    return _Binder(sizes).whole(graph)


class _Binder:
    def __init__(self, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.traced = trace_of(list(sizes.values()))
        self.twins: dict[Node, Node] = {}

    def whole(self, graph: Graph) -> Graph:
        """The graph and all that it may call."""
        module = Module()
        names = {id(g): name for name, g in graph.module.graphs.items()}
        for callee in called(graph):
            if callee is not graph:
                module.graphs[names[id(callee)]] = self.graph(callee, module)
        made = self.graph(graph, module)
        if id(graph) in names:
            module.graphs[names[id(graph)]] = made
        return made

    def graph(self, graph: Graph, module: Module) -> Graph:
        out = Graph(graph.name, module)
        seen: dict[Value, Value] = {}
        for p in graph.params:
            seen[p] = out.add_param(self._type(p.type), p.name)
        for node in graph.nodes:
            self._node(node, out, seen)
        out.outputs = [seen[v] for v in graph.outputs]
        out.state = dict(graph.state)
        return out

    def _node(self, node: Node, out: Graph, seen: dict[Value, Value]) -> None:
        attrs = {name: self._attr(value) for name, value in node.attrs.items()}
        types = [self._type(v.type) for v in node.outputs]
        inputs = [seen[v] for v in node.inputs]
        self._check(node, tuple(v.type for v in inputs), attrs, types)
        new = out.add(node.op, inputs, attrs, types, [self.graph(g, out.module) for g in node.graphs])
        new.where, new.scope, new.why, new.marks = node.where, node.scope, node.why, node.marks
        new.primal = None if node.primal is None else self.twins.get(node.primal, node.primal)
        self.twins[node] = new
        for old, fresh in zip(node.outputs, new.outputs):
            fresh.name = old.name
            seen[old] = fresh

    def _check(self, node: Node, given: tuple[Type, ...], attrs: dict[str, Any], types: list[Type]) -> None:
        if node.op is constant or node.op is HOST_CALL or "control" in node.op.traits:
            return  # bodies are checked inside
        try:
            found = node.op.result_types(given, attrs) if self.traced is None else _inferred(node, given, attrs)
        except Exception as error:
            reraise_interrupt(error)
            raise SizeError(f"{node.op.name}: {error}") from error
        if len(found) != len(types) or not all(a is b or _alike(a, b) for a, b in zip(found, types)):
            raise SizeError(f"{node.op.name} gives {found}, and the formulas say {types}")

    def _type(self, t: Type) -> Any:
        return bind_type(t, self.sizes)

    def _attr(self, value: Any) -> Any:
        if isinstance(value, Dim):
            return value_of(value, self.sizes)
        if type(value) is tuple:
            return tuple(map(self._attr, value))
        if isinstance(value, slice):
            return slice(*map(self._attr, (value.start, value.stop, value.step)))
        if isinstance(value, (TensorType, StackType)):
            return self._type(value)
        if isinstance(value, Const) and not value.type.is_static:
            raise SizeError("a constant of a symbolic size")
        return value


def _inferred(node: Node, given: tuple[Type, ...], attrs: dict[str, Any]) -> tuple[Type, ...]:
    """What inference says of sizes that are written down: kept by nobody."""
    found = node.op.infer(*given, **attrs)
    return found if isinstance(found, tuple) else (found,)


def _alike(a: Type, b: Type) -> bool:
    """Equal, but for sizes that only the data tell: inference names them anew."""
    if not (isinstance(a, TensorType) and isinstance(b, TensorType)):
        return a == b
    pairs = list(zip(a.shape, b.shape))
    same = a.dtype is b.dtype and a.weak == b.weak and a.ndim == b.ndim
    return same and all(p == q or (isinstance(p, Dim) and isinstance(q, Dim)) for p, q in pairs)
