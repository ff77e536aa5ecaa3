"""Reverse mode of control flow: the gradient of an If is an If, of a loop a loop, of a call a call.

If      Each branch has its own pair (forward, backward). The forward If gives the residuals of both branches side by
        side; the branch that did not run fills its part with zeros that nobody reads. Residuals of one type share a
        place, and what a branch merely got as an argument is handed to the backward If directly.

            y = if(p, x) then A else B        y, r = if(p, x) then A_forward else B_forward
                                              dx   = if(p, r, dy) then A_backward else B_backward

While   How often it turns is known only afterwards. The forward loop pushes what its body's backward reads on one stack
        per residual and counts turns; the backward loop runs the count down and pops.

            c = c0                              c, s, n = c0, empty, 0            dc, dv, k = d(result), 0, n
            while cond(c, v): c = body(c, v)    while cond(c, v):                 while k > 0:
                                                    c, r = body_forward(c, v)         s, r = pop(s)
                                                    s, n = push(s, r), n + 1          dc, g = body_backward(r, dc)
                                                                                      dv, k = dv + g, k - 1
        dc ends as the gradient of c0. What the loop does not change (v) is handed to the backward loop as it is, and
        its gradients add up.

Scan    The number of turns is known: residuals are stacked rows, the backward Scan runs the other way. Residuals
        that are stacks themselves (a While in the body) travel on a carried stack, last in first out.

Call    The callee's pair is entered into the module once and called by name. A recursive callee would need residuals of
        unknown depth: its backward keeps only the arguments and runs the forward part again (so does ``recompute``).

HostCall  Python has no derivative, except where its HostFn carries one (``grad``).

Loops are in ``reverse_loops``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.autodiff.dead_nodes import prune
from msnb.autodiff.gradient_rules import need_gradient_type
from msnb.autodiff.reverse_loops import differentiate_scan, differentiate_while
from msnb.autodiff.reverse_mode import CONTROL_RULES, VJP, Pull, Pullback
from msnb.autodiff.subgraphs import Places, inline, made_inside, params, share_places, spread_grads, with_places
from msnb.base import GradientError
from msnb.core import Type
from msnb.ir import Graph, GraphBuilder, Node, control_flow

Differentiated = tuple[Sequence[Any], Pull]


def _active(p: Pullback, node: Node, first: int = 0) -> tuple[tuple[int, ...], tuple[int, ...]]:
    ins = tuple(i for i, v in enumerate(node.inputs) if i >= first and p.active(v))
    return ins, tuple(j for j, v in enumerate(node.outputs) if p.active(v))


# ---- If ----


def _if(p: Pullback, node: Node) -> Differentiated:
    ins, outs = _active(p, node, 1)
    wrt = tuple(i - 1 for i in ins)
    pairs = [p.reverse.pullback(g, wrt, outs) for g in node.graphs]
    places = share_places([made_inside(pair.residual_list) for pair in pairs])
    passed = sorted({v.index for pair in pairs for v in pair.residual_list if v.is_param})
    args = [p.there(v) for v in node.inputs]
    n = len(node.outputs)
    then, other = (with_places(pair.forward, n, places, which) for which, pair in enumerate(pairs))
    results = control_flow.if_(p.forward, args[0], then, other, args[1:])

    def pull(douts: list[Any]) -> list[Any]:
        given = p.filled([node.outputs[j] for j in outs], [douts[j] for j in outs])
        values = [*(args[1 + i] for i in passed), *results[n:], *given]
        types = [p.backward.lift(v).type for v in values]
        then, other = (_branch_backward(p, pair, types, passed, places, k) for k, pair in enumerate(pairs))
        return spread_grads(node, ins, control_flow.if_(p.backward, args[0], then, other, values))

    return results[:n], pull


def _branch_backward(p: Pullback, pair: VJP, types: list[Type], passed: list[int], places: Places, which: int) -> Graph:
    """The backward graph of a branch, with the params that both branches share."""
    b = p.reverse.builder(pair.backward.name, pair.backward.module)
    with b:
        given = params(b, types, "r")
        by_arg = dict(zip(passed, given))
        by_residual = {at[which]: given[len(passed) + i] for i, (_, at) in enumerate(places) if at[which] >= 0}
        found = [by_arg[v.index] if v.is_param else by_residual[k] for k, v in enumerate(pair.residual_list)]
        b.output(*inline(b, pair.backward, [*found, *given[len(passed) + len(places) :]]))
    return b.graph


# ---- Call ----


class Callee:
    """The pair of a called graph, entered into its module.

    Attributes:
        graph: the called graph.
        forward, backward: names in the module.
        passed: positions of the arguments that backward gets as they are, before ``kept`` results of forward.
    """

    def __init__(self, graph: Graph, forward: str, backward: str, passed: Sequence[int]) -> None:
        self.graph: Graph = graph
        self.forward: str = forward
        self.backward: str = backward
        self.passed: list[int] = list(passed)


def _call(p: Pullback, node: Node) -> Differentiated:
    ins, outs = _active(p, node)
    callee = _callee(p, node, ins, outs)
    args = [p.there(v) for v in node.inputs]
    n = len(node.outputs)
    again = bool(node.attrs.get("recompute"))  # kept: opened, its nodes would be merged with those of the second run
    results = control_flow.call(p.forward, callee.forward, args, node.attrs["layer"], again)

    def pull(douts: list[Any]) -> list[Any]:
        given = p.filled([node.outputs[j] for j in outs], [douts[j] for j in outs])
        values = [p.backward.lift(x) for x in (*(args[i] for i in callee.passed), *results[n:], *given)]
        attrs = {**node.attrs, "callee": callee.backward, "recompute": False, "block": None}
        types = [need_gradient_type(callee.graph.params[i].type) for i in ins]
        return spread_grads(node, ins, p.backward.add(control_flow.CALL, values, attrs, types))

    return results[:n], pull


def _callee(p: Pullback, node: Node, ins: tuple[int, ...], outs: tuple[int, ...]) -> Callee:
    module = p.graph.module
    graph = module.graphs[node.attrs["callee"]]
    again = bool(node.attrs.get("recompute")) or is_recursive(graph)
    known: dict[Any, Callee] = module.memo.setdefault("vjp", {})
    key = (graph, ins, outs, again)
    if key not in known:
        (_enter_recomputing if again else _enter)(p, graph, ins, outs, known, key)
    return known[key]


def _enter(p: Pullback, graph: Graph, ins: Any, outs: Any, known: dict[Any, Callee], key: Any) -> None:
    """Forward returns what it made for backward; residuals that are arguments are passed by the caller."""
    pair = p.reverse.pullback(graph, ins, outs)
    n = len(graph.outputs)
    places = share_places([made_inside(pair.residual_list)])
    unchanged = not places and not any("control" in n.op.traits for n in graph.nodes)
    if unchanged:
        p.reverse.twins.update(zip(pair.forward.nodes, graph.nodes))
    passed = sorted({v.index for v in pair.residual_list if v.is_param})
    types = [graph.params[i].type for i in passed] + [t for t, _ in places]
    types += [need_gradient_type(graph.outputs[j].type) for j in outs]
    backward = _branch_backward(p, pair, types, passed, places, 0)
    forward = with_places(pair.forward, n, places, 0)
    module = graph.module
    name = graph.name if unchanged else module.add(forward, f"{graph.name}_forward")
    known[key] = Callee(graph, name, module.add(backward, f"{graph.name}_backward"), passed)


def _enter_recomputing(p: Pullback, graph: Graph, ins: Any, outs: Any, known: dict[Any, Callee], key: Any) -> None:
    """Backward gets the arguments and runs forward again; its name is known before it exists, so it may call itself."""
    b = GraphBuilder(f"{graph.name}_backward", graph.module)
    name = graph.module.add(b.graph)
    known[key] = Callee(graph, graph.name, name, range(len(graph.params)))
    pair = p.reverse.pullback(graph, ins, outs)
    with b:
        args = params(b, [v.type for v in graph.params], "x")
        douts = params(b, [need_gradient_type(graph.outputs[j].type) for j in outs], "d")
        results = inline(b, pair.forward, args)
        b.output(*inline(b, pair.backward, [*results[len(graph.outputs) :], *douts]))
    prune(b.graph)


def is_recursive(graph: Graph) -> bool:
    """True where a graph can come to call itself."""
    todo, seen = [graph], set[str]()
    while todo:
        for _, node in todo.pop().walk():
            name = node.attrs["callee"] if node.op is control_flow.CALL else None
            if name is None or name in seen:
                continue
            seen.add(name)
            todo.append(graph.module.graphs[name])
    return graph.name in seen


# ---- HostCall ----


def _host_call(p: Pullback, node: Node) -> Differentiated:
    fn = node.attrs["fn"]
    if fn.grad is None:
        error = GradientError(
            f"the gradient flows through the Python function {fn.name}, which has none.",
            hint="give it one (a Cell with bprop, or HostFn(fn, grad=...)), or cut it off with stop_gradient.",
        )
        error.where = node.where.where if node.where is not None else None
        raise error
    args = [p.there(v) for v in node.inputs]
    ins, _ = _active(p, node)
    types = [need_gradient_type(node.inputs[i].type) for i in ins]
    results = control_flow.host_call(p.forward, fn, args, [v.type for v in node.outputs], node.attrs["effect"])

    def pull(douts: list[Any]) -> list[Any]:
        given = p.filled(node.outputs, douts)
        chosen = control_flow.HostFn(lambda *xs: _chosen(fn.grad(*xs), ins), f"{fn.name}_gradient")
        return spread_grads(node, ins, control_flow.host_call(p.backward, chosen, [*args, *given], types))

    return results, pull


def _chosen(grads: Any, ins: Sequence[int]) -> list[Any]:
    found = grads if isinstance(grads, (tuple, list)) else (grads,)
    return [found[i] for i in ins]


CONTROL_RULES.update({control_flow.IF: _if, control_flow.CALL: _call, control_flow.HOST_CALL: _host_call})
CONTROL_RULES.update({control_flow.WHILE: differentiate_while, control_flow.SCAN: differentiate_scan})
