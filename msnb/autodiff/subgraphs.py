"""Small tools for graphs that become bodies of other nodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.autodiff.gradient_rules import zeros
from msnb.core import TensorType, Type, tensor_type
from msnb.ir import Graph, GraphBuilder, Node, Value, copy_node

Places = list[tuple[Type, list[int]]]


def inline(b: GraphBuilder, graph: Graph, args: Sequence[Any]) -> list[Any]:
    """The nodes of ``graph`` appended to ``b`` as they are; its outputs as tensors of ``b``."""
    seen: dict[Value, Value] = {p: b.lift(x) for p, x in zip(graph.params, args)}
    for node in graph.nodes:
        new = copy_node(node, b.graph, seen, b.twins)
        new.scope, new.why, new.primal = new.scope or b.scope, new.why or b.why, new.primal or b.primal
    return [b.wrap(seen[v]) for v in graph.outputs]


def params(b: GraphBuilder, types: Sequence[Type], name: str) -> list[Any]:
    """New params of ``b``."""
    return [b.param(t, f"{name}{i}") for i, t in enumerate(types)]


def types_of(values: Sequence[Value]) -> list[Type]:
    """The types of values."""
    return [v.type for v in values]


def reopen(graph: Graph) -> GraphBuilder:
    """A builder that goes on with a graph."""
    b = GraphBuilder(graph.name, graph.module)
    b.graph = graph
    return b


def spread_grads(node: Node, positions: Sequence[int], grads: Sequence[Any]) -> list[Any]:
    """Gradients of some inputs as a list over all inputs."""
    out: list[Any] = [None] * len(node.inputs)
    for i, g in zip(positions, grads):
        out[i] = g
    return out


# ---- residuals of several graphs side by side ----


def made_inside(residuals: Sequence[Value]) -> list[tuple[int, Type]]:
    """The residuals (positions and types) that are not simply params of the graph."""
    return [(k, v.type) for k, v in enumerate(residuals) if not v.is_param]


def share_places(residuals: Sequence[Sequence[tuple[int, Type]]]) -> Places:
    """One place per residual, shared between graphs where types agree: (type, [position in each graph or -1])."""
    places: Places = []
    for which, found in enumerate(residuals):
        for position, t in found:
            free = next((at for u, at in places if u == t and at[which] < 0), None)
            if free is None:
                free = [-1] * len(residuals)
                places.append((t, free))
            free[which] = position
    return places


def with_places(forward: Graph, n_out: int, places: Places, which: int) -> Graph:
    """A forward graph whose residuals lie in the shared places; what it does not have is filled."""
    residuals = forward.outputs[n_out:]
    b = reopen(forward)
    with b:
        filling = [residuals[at[which]] if at[which] >= 0 else b.lift(_filler(t)) for t, at in places]
    forward.outputs[n_out:] = filling
    return forward


def _filler(t: Type) -> Any:
    return zeros(tensor_type(t.shape, t.dtype) if isinstance(t, TensorType) and t.weak else t)


def reindex(graph: Graph) -> None:
    """Params know their positions again, after they were put in another order."""
    for i, p in enumerate(graph.params):
        p.index = i
