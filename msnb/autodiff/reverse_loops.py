"""Reverse mode of While and Scan; the derivation is told in ``reverse_control``.

Residuals of the body come in four kinds, and each travels in its own way:

    a value the loop does not change        handed to the backward loop as it is; its gradient: ``loop_sums``
    the slice of an ``xs`` (Scan)           the whole ``xs`` is handed over and sliced again
    a tensor (Scan)                         stacked rows
    everything else                         pushed on a carried stack
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb.autodiff.dead_nodes import prune
from msnb.autodiff.gradient_rules import add_up
from msnb.autodiff.loop_sums import LoopSums, sum_outside
from msnb.autodiff.reverse_mode import VJP, Pull, Pullback
from msnb.autodiff.subgraphs import inline, params, reindex, spread_grads, types_of
from msnb.core import Size, StackType, TensorType, Type, dtypes, tensor_type
from msnb.ir import Graph, GraphBuilder, Node, Value, control_flow
from msnb.ir.stack_type import STACK_NEW, STACK_POP, STACK_PUSH
from msnb.ops.definition import find, has_sizes

COUNT = tensor_type((), dtypes.int64)


@dataclass
class ReverseLoop:
    """What both kinds of loop have in common.

    Attributes:
        node: the loop.
        n, m: how many values it carries, how many it slices.
        carries, others: active inputs: carried ones (in any turn), and sliced or unchanged ones.
        pair: the pair of the body.
    """

    p: Pullback
    node: Node
    n: int
    m: int
    carries: list[int]
    others: list[int]
    rows_out: list[int]
    pair: VJP

    @property
    def body(self) -> Graph:
        """The graph of one turn."""
        return self.node.graphs[-1]

    def kinds(self, rows: bool) -> list[str]:
        """How each residual of the body travels: same, slice, row or stack."""
        return [self._kind(v, rows) for v in self.pair.residual_list]

    def _kind(self, v: Value, rows: bool) -> str:
        if v.is_param and v.index >= self.n:
            return "slice" if v.index < self.n + self.m else "same"
        is_row = rows and isinstance(v.type, TensorType) and has_sizes(v.type) and not v.type.weak
        return "row" if is_row else "stack"

    def residuals(self, kinds: Sequence[str], kind: str) -> list[int]:
        """The positions of residuals of one kind."""
        return [k for k, found in enumerate(kinds) if found == kind]


def _loop(p: Pullback, node: Node, m: int) -> ReverseLoop:
    """Find the active values (a carried value may become active in a later turn) and make the body's pair."""
    n, flow = node.attrs["n_carry"], p.reverse.flow
    masks, closure = flow.of_node(node, p.graph), flow.closure(node)
    varying = sum(1 << i for i, v in enumerate(node.inputs) if v in p.activity.varying)
    wanted = 0
    for v, mask in zip(node.outputs, masks):
        wanted |= mask if p.active(v) else 0
    carries = [j for j in range(n) if wanted >> j & 1 and closure[j] & varying]
    others = [i for i in range(n, len(node.inputs)) if wanted >> i & 1 and varying >> i & 1]
    rows = [j for j in range(n, len(node.outputs)) if p.active(node.outputs[j])]
    pair = p.reverse.pullback(node.graphs[-1], (*carries, *others), (*carries, *rows))
    return ReverseLoop(p, node, n, m, carries, others, rows, pair)


def _given(loop: ReverseLoop, douts: list[Any], positions: Sequence[int]) -> list[Any]:
    """The douts of some results, zeros where there are none."""
    outs = loop.node.outputs
    return loop.p.filled([outs[j] for j in positions], [douts[j] for j in positions])


def _popped(stacks: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    pairs = [STACK_POP(s) for s in stacks]
    return [s for s, _ in pairs], [x for _, x in pairs]


def _summed(sums: Sequence[Any], grads: Sequence[Any]) -> list[Any]:
    return [add_up(a, g) for a, g in zip(sums, grads)]


# ---- While ----


def differentiate_while(p: Pullback, node: Node) -> tuple[Sequence[Any], Pull]:
    """The forward While that keeps residuals on stacks and counts turns, and its pull."""
    loop = _loop(p, node, 0)
    kinds = loop.kinds(rows=False)
    kept = loop.residuals(kinds, "stack")
    element = [loop.pair.residual_list[k].type for k in kept]
    args = [p.there(v) for v in node.inputs]
    start = [*args[: loop.n], *(STACK_NEW(type=t) for t in element), p.forward.wrap(_count(p.forward, 0))]
    stacks = [StackType(t) for t in element]
    cond, body = _counting_cond(loop, stacks), _counting_body(loop, stacks, kept)
    results = control_flow.while_(p.forward, cond, body, start, args[loop.n :])

    def pull(douts: list[Any]) -> list[Any]:
        same = [args[loop.pair.residual_list[k].index] for k in loop.residuals(kinds, "same")]
        sums = [p.zeros(node.inputs[i]) for i in loop.others]
        carry = [*_given(loop, douts, loop.carries), *sums, *results[loop.n :]]
        types = [p.backward.lift(x).type for x in (*carry, *same)]
        found = control_flow.while_(
            p.backward, _backward_cond(loop, types, len(carry)), _backward_body(loop, types, kinds), carry, same
        )
        return spread_grads(node, [*loop.carries, *loop.others], found)

    return results[: loop.n], pull


def _count(b: GraphBuilder, start: int) -> Value:
    return b.constant(np.array(start, np.int64), COUNT)


def _counting_cond(loop: ReverseLoop, stacks: Sequence[Type]) -> Graph:
    cond = loop.node.graphs[0]
    b = GraphBuilder(cond.name, cond.module)
    with b:
        given = params(b, [*types_of(cond.params[: loop.n]), *stacks, COUNT, *types_of(cond.params[loop.n :])], "c")
        b.output(*inline(b, cond, [*given[: loop.n], *given[loop.n + len(stacks) + 1 :]]))
    return b.graph


def _counting_body(loop: ReverseLoop, stacks: Sequence[Type], kept: Sequence[int]) -> Graph:
    n, forward = loop.n, loop.pair.forward
    b = loop.p.reverse.builder(forward.name, forward.module)
    with b:
        carry = params(b, types_of(forward.params[:n]), "c")
        piles, turns = params(b, stacks, "s"), b.param(COUNT, "turns")
        same = params(b, types_of(forward.params[n:]), "v")
        outs = inline(b, forward, [*carry, *same])
        pushed = [STACK_PUSH(s, outs[n + k]) for s, k in zip(piles, kept)]
        b.output(*outs[:n], *pushed, find("add")(turns, 1))
    return b.graph


def _backward_cond(loop: ReverseLoop, types: Sequence[Type], n_carry: int) -> Graph:
    b = GraphBuilder(f"{loop.pair.backward.name}_cond", loop.body.module)
    with b:
        turns = params(b, types, "c")[n_carry - 1]
        b.output(find("greater")(turns, 0))
    return b.graph


def _backward_body(loop: ReverseLoop, types: Sequence[Type], kinds: Sequence[str]) -> Graph:
    b = loop.p.reverse.builder(loop.pair.backward.name, loop.body.module)
    with b:
        given = iter(params(b, types, "c"))
        douts, sums = [next(given) for _ in loop.carries], [next(given) for _ in loop.others]
        stacks, turns = [next(given) for k in kinds if k == "stack"], next(given)
        rest, tops = _popped(stacks)
        travel = {"stack": iter(tops), "same": given}
        grads = inline(b, loop.pair.backward, [*(next(travel[k]) for k in kinds), *douts])
        n = len(loop.carries)
        b.output(*grads[:n], *_summed(sums, grads[n:]), *rest, find("subtract")(turns, 1))
    return b.graph


# ---- Scan ----


def differentiate_scan(p: Pullback, node: Node) -> tuple[Sequence[Any], Pull]:
    """The forward Scan that gives residuals as rows, and its pull."""
    loop = _loop(p, node, node.attrs["n_xs"])
    n, m = loop.n, loop.m
    kinds = loop.kinds(rows=True)
    kept = loop.residuals(kinds, "stack")
    element = [loop.pair.residual_list[k].type for k in kept]
    stacks = [StackType(t) for t in element]
    args = [p.there(v) for v in node.inputs]
    body = _scan_forward(loop, stacks, kept, loop.residuals(kinds, "row"))
    length, reverse = node.attrs["length"], node.attrs["reverse"]
    start = [*args[:n], *(STACK_NEW(type=t) for t in element)]
    results = control_flow.scan(p.forward, body, start, args[n : n + m], args[n + m :], length, reverse)
    first_row = n + len(stacks)
    rows = results[first_row + len(node.outputs) - n :]

    def pull(douts: list[Any]) -> list[Any]:
        held = loop.pair.residual_list
        same = [args[held[k].index] for k in loop.residuals(kinds, "same")]
        slices = [args[held[k].index] for k in loop.residuals(kinds, "slice")]
        piles = results[n:first_row]
        xs = [*_given(loop, douts, loop.rows_out), *rows, *slices]
        back = BackwardScan(loop, [_lifted(p, x) for x in (_given(loop, douts, loop.carries), piles, xs, same)], kinds)
        zero = [p.zeros(node.inputs[i]) for i, g in zip(back.summed, back.sums.inside) if g is not None]
        carry = [*_given(loop, douts, loop.carries), *zero, *piles]
        found = control_flow.scan(p.backward, back.body, carry, xs, same, length, not reverse)
        return spread_grads(node, [*loop.carries, *back.sliced, *back.summed], back.gradients(found, xs, length))

    return [*results[:n], *results[first_row : first_row + len(node.outputs) - n]], pull


def _lifted(p: Pullback, xs: Sequence[Any]) -> list[Type]:
    return [p.backward.lift(x).type for x in xs]


def _scan_forward(loop: ReverseLoop, stacks: Sequence[Type], kept: Sequence[int], rows: Sequence[int]) -> Graph:
    n, forward, n_out = loop.n, loop.pair.forward, len(loop.body.outputs)
    b = loop.p.reverse.builder(forward.name, forward.module)
    with b:
        carry, piles = params(b, types_of(forward.params[:n]), "c"), params(b, stacks, "s")
        outs = inline(b, forward, [*carry, *params(b, types_of(forward.params[n:]), "x")])
        pushed = [STACK_PUSH(s, outs[n_out + k]) for s, k in zip(piles, kept)]
        b.output(*outs[:n], *pushed, *outs[n:n_out], *(outs[n_out + k] for k in rows))
    return b.graph


class BackwardScan:
    """The body of the Scan that goes back: (douts, sums, stacks | rows of douts, rows kept, slices | same) of a turn.

    Attributes:
        body: the graph of a turn.
        sliced, summed: inputs of the loop with a gradient: those that it slices, and those that no turn changes.
        sums: the gradients of the latter.
    """

    def __init__(self, loop: ReverseLoop, types: Sequence[Sequence[Type]], kinds: Sequence[str]) -> None:
        edge = loop.n + loop.m
        self.sliced: list[int] = [i for i in loop.others if i < edge]
        self.summed: list[int] = [i for i in loop.others if i >= edge]
        douts, piles, rows, same = types
        self.n_carries: int = len(douts)
        self.n_given: int = len(self.sliced)
        b = loop.p.reverse.builder(loop.pair.backward.name, loop.body.module)
        with b:
            carried, stacks = params(b, douts, "c"), params(b, piles, "s")
            self.rows: list[Any] = params(b, [row_type(t) for t in rows], "x")
            others = params(b, same, "v")
            rest, tops = _popped(stacks)
            given = iter(self.rows)
            arrived = [*carried, *(next(given) for _ in loop.rows_out)]
            travel = {"stack": iter(tops), "same": iter(others)}
            for kind in ("row", "slice"):
                travel[kind] = iter([next(given) for k in kinds if k == kind])
            grads = inline(b, loop.pair.backward, [*(next(travel[k]) for k in kinds), *arrived])
            n, first = self.n_carries, self.n_carries + self.n_given
            sliced = [b.lift(g) for g in grads[n:first]]
            self.sums: LoopSums = LoopSums([b.lift(x) for x in self.rows], [b.lift(x) for x in others], sliced)
            self.sums.split(b, grads[first:])
            inside = [g for g in self.sums.inside if g is not None]
            sums = params(b, [b.lift(g).type for g in inside], "sum")
            b.output(*grads[:n], *_summed(sums, inside), *rest, *grads[n:first], *map(b.wrap, self.sums.extra))
        self.body: Graph = b.graph
        self.n_carry: int = n + len(sums) + len(stacks)
        self.body.params[:] = [b.lift(x) for x in (*carried, *sums, *stacks, *self.rows, *others)]
        reindex(self.body)
        prune(self.body)

    def gradients(self, found: Sequence[Any], xs: Sequence[Any], length: Size) -> list[Any]:
        """The gradients of what is carried, sliced and the same for all turns, from the results of the Scan."""
        given = found[self.n_carry :]
        made = [*self.sums.given, *self.sums.extra]
        stacked = {**dict(zip(made, given)), **{x._value: whole for x, whole in zip(self.rows, xs)}}
        inside = iter(found[self.n_carries :])
        sums = [
            sum_outside(terms, stacked, length, None if g is None else next(inside))
            for terms, g in zip(self.sums.terms, self.sums.inside)
        ]
        return [*found[: self.n_carries], *given[: self.n_given], *sums]


def row_type(t: Type) -> Type:
    """The type of one row of a stacked value."""
    assert isinstance(t, TensorType)
    return tensor_type(t.shape[1:], t.dtype)
