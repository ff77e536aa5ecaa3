"""vmap of control flow.

A predicate that is the same for all lanes stays a predicate: the branch or loop is batched inside. A predicate that
differs from lane to lane cannot steer one program, so all lanes go everywhere and results are selected:

    if      both branches run, ``where`` picks           y = where(p, A(x), B(x))
    while   turns go on while any lane wants one; lanes that have finished keep their values

What a lane computes where it should not be must do no harm. NaN and infinity are dropped by ``where`` in the value, but
in the gradient 0 * inf would bring them back. So a lane that does not take a branch does not bring its own inputs: it
borrows those of a lane that does (cut off from the gradient), for which the branch is meant to be legal:

    p = [T, F, T]      A runs on x[0], x[0]*, x[2]            * borrowed, stop_gradient
                       B runs on x[1]*, x[1], x[1]*           a branch that no lane takes does not run at all

Stacks that a loop with a batched predicate carries (vmap of a gradient of While) select by lane, entry by entry: each
turn costs the depth of the stack. The gradient of the batched loop has no such cost: prefer grad(vmap(f)) there.

In a Scan the new axis stands behind the scanned one, in a While or Scan a carried value is batched if any turn makes it
so. A callee has a batched twin for each pattern of batched arguments; a recursive one gives all results batched.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.autodiff.gradient_rules import zeros
from msnb.autodiff.reverse_control_flow import is_recursive
from msnb.autodiff.subgraphs import inline, params, types_of
from msnb.autodiff.vmap import CONTROL_RULES, BatchedValues
from msnb.core import StackType, dtypes
from msnb.ir import Graph, GraphBuilder, Node, control_flow
from msnb.ir.stack_type import STACK_LANE, STACK_WHERE, with_axis
from msnb.ops.definition.record import find

Batched = tuple[Sequence[Any], Sequence[bool]]
Flags = tuple[bool, ...]


def either(a: Sequence[bool], b: Sequence[bool]) -> Flags:
    """Position by position, one or the other."""
    return tuple(x or y for x, y in zip(a, b))


# ---- selecting lanes ----


def truth(pred: Any, size: int) -> Any:
    """A batched predicate as bool[size]."""
    if pred.dtype is not dtypes.bool_:
        pred = find("not_equal")(pred, 0)
    return pred if pred.ndim == 1 else find("reshape")(pred, shape=(size,))


def any_lane(mask: Any) -> Any:
    """Whether any lane is True, as bool[]."""
    return find("any")(mask)


def choose(mask: Any, x: Any, y: Any) -> Any:
    """Lane by lane x where the mask holds, else y."""
    if isinstance(x._type, StackType):
        return STACK_WHERE(mask, x, y)
    if x.ndim > 1:
        mask = find("reshape")(mask, shape=(*mask.shape, *(1,) * (x.ndim - 1)))
    return find("where")(mask, x, y)


def borrowed(mask: Any, x: Any) -> Any:
    """``x`` with the lanes outside the mask replaced by the first lane inside, cut off from the gradient."""
    first = find("argmax")(find("cast")(mask, dtype=dtypes.int32), axis=0)
    if isinstance(x._type, StackType):
        return STACK_WHERE(mask, x, STACK_LANE(x, first, element=x._type.element))
    lane = find("gather")(x, find("reshape")(first, shape=(1,)), axis=0)
    return choose(mask, x, find("stop_gradient")(lane))


# ---- If ----


def _if(lanes: BatchedValues, node: Node) -> Batched:
    which = lanes.which(node.inputs)
    if which[0]:
        return _if_by_lane(lanes, node, which[1:])
    found = [lanes.batch.graph(g, which[1:]) for g in node.graphs]
    outs = either(found[0][1], found[1][1])
    then, other = (g if o == outs else lanes.batch.graph(source, which[1:], outs)[0]
                   for source, (g, o) in zip(node.graphs, found))  # fmt: skip
    pred, *args = map(lanes.there, node.inputs)
    return control_flow.if_(lanes.b, pred, then, other, args), outs


def _if_by_lane(lanes: BatchedValues, node: Node, which: Flags) -> Batched:
    pred, *args = map(lanes.there, node.inputs)
    mask = truth(pred, lanes.size)
    results = []
    for body, taken in zip(node.graphs, (mask, find("logical_not")(mask))):
        batched, _ = lanes.batch.graph(body, which, (True,) * len(node.outputs))
        safe = [borrowed(taken, x) if w else x for x, w in zip(args, which)]
        results.append(control_flow.if_(lanes.b, any_lane(taken), batched, _nothing(batched), safe))
    return [choose(mask, x, y) for x, y in zip(*results)], (True,) * len(node.outputs)


def _nothing(graph: Graph) -> Graph:
    """A graph of the same type that gives zeros."""
    b = GraphBuilder(f"{graph.name}_untaken", graph.module)
    with b:
        params(b, types_of(graph.params), "x")
        b.output(*map(zeros, types_of(graph.outputs)))
    return b.graph


# ---- While ----


def _while(lanes: BatchedValues, node: Node) -> Batched:
    n, which = node.attrs["n_carry"], lanes.which(node.inputs)
    carried, same = which[:n], list(map(lanes.there, node.inputs[n:]))
    while True:
        test, (by_lane,) = lanes.batch.graph(node.graphs[0], carried + which[n:])
        if by_lane and not all(carried):
            carried = (True,) * n
            continue
        turn, outs = lanes.batch.graph(node.graphs[1], carried + which[n:], carried)
        if outs == carried:
            break
        carried = outs
    start = [lanes.spread(v) if w else lanes.there(v) for v, w in zip(node.inputs, carried)]
    if by_lane:
        return _while_by_lane(lanes, test, turn, start, same, which[n:]), carried
    return control_flow.while_(lanes.b, test, turn, start, same), carried


def _while_by_lane(
    lanes: BatchedValues, test: Graph, turn: Graph, start: list[Any], same: list[Any], which: Flags
) -> Sequence[Any]:
    """The loop carries a mask of the lanes that still run."""
    n, size = len(start), lanes.size
    mask = truth(inline(lanes.b, test, [*start, *same])[0], size)
    types = [*types_of(turn.params[:n]), mask._type, *types_of(turn.params[n:])]
    cond, body = GraphBuilder(test.name, test.module), GraphBuilder(turn.name, turn.module)
    with cond:
        cond.output(any_lane(params(cond, types, "c")[n]))
    with body:
        *carry, running = params(body, types[: n + 1], "c")
        others = params(body, types[n + 1 :], "v")
        safe = [borrowed(running, x) if w else x for x, w in zip(others, which)]
        after = inline(body, turn, [*(borrowed(running, x) for x in carry), *safe])
        after = [choose(running, new, old) for new, old in zip(after, carry)]
        again = truth(inline(body, test, [*after, *others])[0], size)
        body.output(*after, find("logical_and")(running, again))
    return control_flow.while_(lanes.b, cond.graph, body.graph, [*start, mask], same)[:n]


# ---- Scan ----


def _scan(lanes: BatchedValues, node: Node) -> Batched:
    n, m = node.attrs["n_carry"], node.attrs["n_xs"]
    which = lanes.which(node.inputs)
    carried, rows = which[:n], (False,) * (len(node.outputs) - n)
    while True:
        turn, outs = lanes.batch.graph(node.graphs[0], carried + which[n:], carried + rows)
        if outs[:n] == carried:
            break
        carried = outs[:n]
    start = [lanes.spread(v) if w else lanes.there(v) for v, w in zip(node.inputs, carried)]
    xs = [_swapped(lanes.there(v)) if w else lanes.there(v) for v, w in zip(node.inputs[n : n + m], which[n:])]
    same = list(map(lanes.there, node.inputs[n + m :]))
    found = control_flow.scan(lanes.b, turn, start, xs, same, node.attrs["length"], node.attrs["reverse"])
    ys = [_swapped(y) if w else y for y, w in zip(found[n:], outs[n:])]
    return [*found[:n], *ys], outs


def _swapped(x: Any) -> Any:
    """The first two axes change places."""
    return find("transpose")(x, perm=(1, 0, *range(2, x.ndim)))


# ---- Call ----


def _call(lanes: BatchedValues, node: Node) -> Batched:
    graph = lanes.source.module.graphs[node.attrs["callee"]]
    name, outs = _callee(lanes, graph, lanes.which(node.inputs))
    types = [with_axis(v.type, lanes.size) if w else v.type for v, w in zip(node.outputs, outs)]
    values = [lanes.env[v] for v in node.inputs]
    return lanes.b.add(control_flow.CALL, values, {**node.attrs, "callee": name, "block": None}, types), outs


def _callee(lanes: BatchedValues, graph: Graph, which: Flags) -> tuple[str, Flags]:
    known = lanes.batch.callees
    if (graph, which) not in known:
        b = GraphBuilder(f"{graph.name}_vmap", graph.module)
        name = graph.module.add(b.graph)
        force = (True,) * len(graph.outputs) if is_recursive(graph) else None
        if force is not None:
            known[graph, which] = (name, force)
        known[graph, which] = (name, lanes.batch.into(b, graph, which, force)[1])
    return known[graph, which]


CONTROL_RULES.update({control_flow.IF: _if, control_flow.WHILE: _while})
CONTROL_RULES.update({control_flow.SCAN: _scan, control_flow.CALL: _call})
