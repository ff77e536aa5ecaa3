"""Laws of control flow: what is known before the program runs is no choice."""

from __future__ import annotations

from msnb.core import TensorType
from msnb.graph.compile.rewriting import Case, Found, GraphRewriter, RewriteRule, const_of, truth
from msnb.graph.compile.rules.arithmetic import f
from msnb.ir.analysis.nested_nodes import effects
from msnb.ir.graph import Graph, Node


def _known_branch(sweep: GraphRewriter, node: Node) -> Found:
    known = truth(node.inputs[0])
    if known is None:
        return None
    return sweep.splice(node.graphs[0 if known else 1], node.inputs[1:])


def _same_branches(sweep: GraphRewriter, node: Node) -> Found:
    """Both branches are empty and give the same arguments on."""
    then, otherwise = node.graphs
    if then.nodes or otherwise.nodes:
        return None
    positions = [[g.params.index(v) for v in g.outputs] for g in (then, otherwise)]
    return [node.inputs[1 + i] for i in positions[0]] if positions[0] == positions[1] else None


def _never(sweep: GraphRewriter, node: Node) -> Found:
    cond: Graph = node.graphs[0]
    const = const_of(cond.outputs[0])
    if const is None or truth(cond.outputs[0]) is not False or effects().graph(cond):
        return None
    return node.inputs[: node.attrs["n_carry"]]


def _no_steps(sweep: GraphRewriter, node: Node) -> Found:
    n = node.attrs["n_carry"]
    ys = [v.type for v in node.outputs[n:]]
    if node.attrs["length"] != 0 or not all(isinstance(t, TensorType) and t.is_static for t in ys):
        return None
    fill = [sweep.emit("zeros", shape=t.shape, dtype=t.dtype) for t in ys if isinstance(t, TensorType)]
    return [*node.inputs[:n], *fill]


_IF = """\
graph f(x: f32[2]) -> (f32[2])
  %1 = if({}, x) : f32[2]
    then (a: f32[2]): %1 = multiply(a, a) : f32[2] ; yield %1
    else (a: f32[2]): yield a
  return %1"""
CONTROL: tuple[RewriteRule, ...] = (
    RewriteRule(
        "known branch", "an If whose test is known is its branch", ("if",), _known_branch,
        (Case(_IF.format("True"), f("%1 = multiply(x, x) : f32[2]", "%1")), Case(_IF.format("~0.0"), f("x"))),
    ),
    RewriteRule(
        "same branches", "an If whose branches both hand the same values on is these values", ("if",), _same_branches,
        (Case("graph f(c: bool[], x: f32[2]) -> (f32[2])\n  %1 = if(c, x) : f32[2]\n    then (a: f32[2]): yield a\n"
              "    else (b: f32[2]): yield b\n  return %1", f("x", params="c: bool[], x: f32[2]")),),
    ),
    RewriteRule(
        "loop that never runs", "a While whose test is False from the start is its first values", ("while",), _never,
        (Case("graph f(x: f32[2]) -> (f32[2])\n  %1 = while(x, n_carry=1) : f32[2]\n    cond (a: f32[2]): yield False\n"
              "    body (a: f32[2]): yield a\n  return %1", f("x")),),
    ),
    RewriteRule(
        "scan of nothing", "a Scan of no steps is its first values and empty rows", ("scan",), _no_steps,
        (Case("graph f(x: f32[2]) -> (f32[2])\n  %1 = scan(x, n_carry=1, n_xs=0, length=0) : f32[2]\n"
              "    body (a: f32[2]): %1 = add(a, a) : f32[2] ; yield %1\n  return %1", f("x")),),
    ),
)  # fmt: skip
