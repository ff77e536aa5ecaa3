"""A fused body taken apart where nothing but single numbers connects its nodes.

fused(p1, g1, p2, g2, lr)        p1 - lr g1   and   p2 - lr g2      two parts; lr is read by both
"""

from __future__ import annotations

from msnb.core import TensorType
from msnb.ir.graph import Graph, Node, Value, copy_node
from msnb.ops.elementwise.constant import constant

Piece = tuple[Graph, list[int], list[int]]


def components(body: Graph) -> list[Piece]:
    """The parts of a body: a graph each, and which params and outputs of the whole it has."""
    owner = _owners(body)
    kinds = list(dict.fromkeys(_root(owner, n.out) for n in body.nodes if n.op is not constant))
    if len(kinds) <= 1:
        return [(body, list(range(len(body.params))), list(range(len(body.outputs))))]
    nodes: dict[Value, list[Node]] = {k: [] for k in kinds}
    for node in body.nodes:
        if node.op is not constant:
            nodes[_root(owner, node.out)].append(node)
    outputs: dict[Value, list[int]] = {k: [] for k in kinds}
    for i, v in enumerate(body.outputs):
        outputs[_root(owner, v)].append(i)
    params = {p: i for i, p in enumerate(body.params)}
    return [_part(body, nodes[k], outputs[k], params) for k in kinds if outputs[k]]


def _owners(body: Graph) -> dict[Value, Value]:
    owner: dict[Value, Value] = {}
    numbers: Value | None = None
    for node in body.nodes:
        if node.op is not constant and all(_is_number(v) for v in (*node.inputs, node.out)):
            numbers = node.out if numbers is None else numbers
            owner[_root(owner, node.out)] = _root(owner, numbers)
        for v in node.inputs:
            if v.node is not None and v.node.op is constant:
                continue
            if v.node is not None or not _is_number(v):
                owner[_root(owner, v)] = _root(owner, node.out)
    return owner


def _is_number(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static and value.type.size == 1


def _root(owner: dict[Value, Value], value: Value) -> Value:
    path = []
    while owner.get(value, value) is not value:
        path.append(value)
        value = owner[value]
    for v in path:
        owner[v] = value
    return value


def _part(
    body: Graph, nodes: list[Node], outputs: list[int], params: dict[Value, int]
) -> tuple[Graph, list[int], list[int]]:
    graph, inner, reads = Graph(body.name, body.module), dict[Value, Value](), []
    for node in nodes:
        for v in node.inputs:
            if v in params and v not in inner:
                inner[v] = graph.add_param(v.type, v.name)
                reads.append(params[v])
            elif v not in inner and v.node is not None:
                copy_node(v.node, graph, inner)
        copy_node(node, graph, inner)
    graph.outputs = [inner[body.outputs[i]] for i in outputs]
    return graph, reads, outputs
