"""Laws of loops: what no turn changes is done once, and a row is given once."""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core import TensorType
from msnb.graph.compile.rewriting import Case, Found, GraphRewriter, RewriteRule, const_of
from msnb.ir import SCAN, Graph, Node, Value, copy_node

_STAYS = frozenset({"random", "effect", "control", "host", "custom", "collective"})


def _unchanged(sweep: GraphRewriter, node: Node) -> Found:
    """Nodes of a body that read only what the loop does not change stand before it."""
    body = node.graphs[-1]
    edge = node.attrs["n_carry"] + (node.attrs["n_xs"] if node.op is SCAN else 0)
    moved = _same_in_all_turns(body, body.params[edge:])
    if not moved:
        return None
    outside = dict(zip(body.params[edge:], node.inputs[edge:]))
    for inner in moved:
        operands = [outside[v] if v in outside else _constant(sweep, v) for v in inner.inputs]
        outside[inner.out] = sweep.emit(inner.op, *operands, **inner.attrs)
    wanted = {v for n in body.nodes if n not in moved for v in n.inputs} | set(body.outputs)
    handed = [n.out for n in moved if n.out in wanted]
    graphs = [*(_with_params(sweep, g, handed, []) for g in node.graphs[:-1]), _with_params(sweep, body, handed, moved)]
    inputs = [*node.inputs, *(outside[v] for v in handed)]
    return sweep.again(node, inputs, [v.type for v in node.outputs], graphs)


def _same_in_all_turns(body: Graph, params: Sequence[Value]) -> list[Node]:
    """The nodes that read params that no turn changes, constants and each other, and may be computed earlier."""
    same, found = set(params), []
    for node in body.nodes:
        known = _may_move(node) and all(v in same or const_of(v) is not None for v in node.inputs)
        if known and any(v in same for v in node.inputs):
            same.add(node.out)
            found.append(node)
    return found


def _may_move(node: Node) -> bool:
    """One result of an operation that only computes, no larger than what it is made of."""
    if len(node.outputs) != 1 or not node.inputs or node.op.traits & _STAYS or "pure" not in node.op.traits:
        return False
    types = [v.type for v in (*node.inputs, node.out)]
    if not all(isinstance(t, TensorType) and t.is_static and not t.weak for t in types[-1:]):
        return False
    sizes = [t.size if isinstance(t, TensorType) and t.is_static else 0 for t in types]
    return bool(sizes[-1] <= max(sizes[:-1]))


def _constant(sweep: GraphRewriter, value: Value) -> Value:
    const = const_of(value)
    assert const is not None
    return sweep.constant(const.data, const.type)


def _with_params(sweep: GraphRewriter, graph: Graph, values: Sequence[Value], without: Sequence[Node]) -> Graph:
    """A copy of a body that is handed some values more, instead of making them."""
    new = Graph(graph.name, graph.module)
    seen: dict[Value, Value] = {p: new.add_param(p.type, p.name) for p in graph.params}
    seen.update({v: new.add_param(v.type, v.name) for v in values})
    for node in graph.nodes:
        if node not in without:
            copy_node(node, new, seen, sweep.primals)
    new.outputs = [seen[v] for v in graph.outputs]
    return new


def _given_twice(sweep: GraphRewriter, node: Node) -> Found:
    """Rows of one value, or rows that the loop was handed, are one tensor."""
    body, n, m = node.graphs[0], node.attrs["n_carry"], node.attrs["n_xs"]
    first = {v: i for i, v in reversed(list(enumerate(body.outputs))) if i >= n}
    handed = dict(zip(body.params[n : n + m], node.inputs[n : n + m]))
    kept = [i for i, v in enumerate(body.outputs) if i < n or (first[v] == i and v not in handed)]
    if len(kept) == len(body.outputs):
        return None
    new = _with_params(sweep, body, [], [])
    new.outputs = [new.outputs[i] for i in kept]
    values = dict(zip(kept, sweep.again(node, node.inputs, [node.outputs[i].type for i in kept], [new])))
    return [values[i] if i < n else handed.get(v) or values[first[v]] for i, v in enumerate(body.outputs)]


_ROWS = """\
graph f(x: f32[4,2], w: f32[2]) -> (f32[4,2], f32[4,2])
  %1, %2{} = scan(w, x, n_carry=1, n_xs=1, length=4) : f32[2], f32[4,2]{}
    body (h: f32[2], r: f32[2]): %1 = add(h, r) : f32[2] ; yield %1, %1{}
  return %2, %{}"""
_TURNED = """\
graph f(h: f32[2], w: f32[2,2]) -> (f32[2])
  %1 = scan(h, w, n_carry=1, n_xs=0, length=4) : f32[2]
    body (h: f32[2], w: f32[2,2]): %1 = exp(w) : f32[2,2] ; %2 = matmul(h, %1) : f32[2] ; yield %2
  return %1"""
_TURNED_AFTER = """\
graph f(h: f32[2], w: f32[2,2]) -> (f32[2])
  %1 = exp(w) : f32[2,2]
  %2 = scan(h, %1, n_carry=1, n_xs=0, length=4) : f32[2]
    body (h: f32[2], u: f32[2,2]): %1 = matmul(h, u) : f32[2] ; yield %1
  return %2"""
LOOPS: tuple[RewriteRule, ...] = (
    RewriteRule(
        "once for all turns", "what no turn of a loop changes is computed before it", ("scan", "while"), _unchanged,
        (Case(_TURNED, _TURNED_AFTER),),
    ),
    RewriteRule(
        "rows given twice", "a value that a Scan gives twice as rows is given once", ("scan",), _given_twice,
        (Case(_ROWS.format(", %3", ", f32[4,2]", ", %1", "3"), _ROWS.format("", "", "", "2")),),
    ),
)  # fmt: skip
