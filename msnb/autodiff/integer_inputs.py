"""Whether a program could have a gradient by its integer params: the proof that lets one be called zero.

    loss = take(table, ids) ...        ids only choose: the loss is constant between integers, and no number lies there
    loss = ids * w ...                 ids is a quantity: to call its gradient zero would be wrong

An operand that must be an integer (its op refuses floats in that place) chooses. A comparison gives a bool, which is a
step: constant almost everywhere. Integers made of integers are followed. Everything else counts as a quantity.
"""

from __future__ import annotations

from collections.abc import Iterable

from msnb.base.errors import MsnbError
from msnb.core.dtypes import bool_, float32
from msnb.core.types import TensorType
from msnb.ir import control_flow
from msnb.ir.graph import Graph, Node, Value


def quantity(graph: Graph, params: Iterable[int], outputs: Iterable[int]) -> str | None:
    """Where an integer param is computed with as with a number, so that a gradient could flow; None where the params
    only choose.

    Args:
        graph: the program, gradients written out.
        params: positions of integer params; outputs: of what is differentiated.

    Returns:
        The name of the operation, or "result" where an integer made of the params is differentiated itself.
    """
    search = _Search(graph, [graph.params[i] for i in params])
    found = search.run()
    if found is None and any(graph.outputs[i] in search.of for i in outputs):
        return "result"
    return None if found is None else found.op.name


class _Search:
    """One graph with the integers that come from the params asked about."""

    def __init__(self, graph: Graph, of: Iterable[Value]) -> None:
        self.graph, self.of = graph, {v for v in of if not _is_bool(v)}

    def run(self) -> Node | None:
        """Follow the integers."""
        for node in self.graph.nodes:
            if not any(v in self.of for v in node.inputs):
                continue
            found = self._node(node)
            if found is not None:
                return found
        return None

    def _node(self, node: Node) -> Node | None:
        discrete = all(not _is_float(v) for v in node.outputs)
        if discrete:
            self.of.update(v for v in node.outputs if not _is_bool(v))
            return None
        if node.op is control_flow.CALL:
            return self._inside(self.graph.module.graphs[node.attrs["callee"]], node, list(node.inputs))
        if node.op is control_flow.IF:
            found = [self._inside(g, node, list(node.inputs[1:])) for g in node.graphs]
            return next((n for n in found if n is not None), None)
        chooses = all(must_be_integer(node, i) for i, v in enumerate(node.inputs) if v in self.of)
        return None if chooses else node

    def _inside(self, graph: Graph, node: Node, inputs: list[Value]) -> Node | None:
        search = _Search(graph, [p for p, v in zip(graph.params, inputs) if v in self.of])
        found = search.run()
        self.of.update(v for v, out in zip(node.outputs, graph.outputs) if out in search.of)
        return found


def must_be_integer(node: Node, at: int) -> bool:
    """Does the op refuse a float in this place?"""
    if node.op.traits & {"control", "host", "custom"}:
        return False
    types = [v.type for v in node.inputs]
    t = types[at]
    assert isinstance(t, TensorType)
    types[at] = t.with_dtype(float32)
    try:
        node.op.result_types(tuple(types), node.attrs)
    except MsnbError:
        return True
    return False


def _is_float(value: Value) -> bool:
    return not isinstance(value.type, TensorType) or value.type.dtype.differentiable


def _is_bool(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.dtype is bool_
