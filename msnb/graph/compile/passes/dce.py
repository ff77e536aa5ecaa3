"""Dead code: what nobody reads and what does nothing besides giving values is left out.

One walk backwards marks what is alive: outputs, nodes with effects, and whatever these read. Random draws need no rule
of their own: the draw index is a value that is threaded to an output, so advancing it is alive while a dead draw's
numbers are not computed.

Bodies lose what their node no longer needs, too. For If and Scan that is one look; a While's carried value is alive
when somebody reads it after the loop, or the condition does, or an alive carried value is computed from it:

    while(i, total, unused)    -->   while(i, total)         found by walking the dependencies between carried values
"""

from __future__ import annotations

from msnb.graph.compile.passes.dead_code import Pruner
from msnb.graph.compile.rewriting import Case, Log, Pass, map_module, register_pass
from msnb.ir.analysis.nested_nodes import effects
from msnb.ir.graph import Graph, Module


def without_dead_nodes(graph: Graph, log: Log) -> Graph:
    """The graph, and the graphs that it calls, without what nobody reads."""
    effect = effects()

    def rewrite(g: Graph, module: Module) -> Graph:
        return Pruner(g, module, effect, log).run()

    return map_module(graph, rewrite)


_LOOP = """\
graph f(n: i64[], a: f32[2], b: f32[2]) -> (f32[2])
  %1, %2, %3 = while(n, a, b, n_carry=3) : i64[], f32[2], f32[2]
    cond (i: i64[], a: f32[2], b: f32[2]): %1 = greater(i, ~0) : bool[] ; yield %1
    body (i: i64[], a: f32[2], b: f32[2]):
      %1 = subtract(i, ~1) : i64[]
      %2 = add(a, a) : f32[2]
      %3 = multiply(b, %2) : f32[2]
      yield %1, %2, %3
  return %2"""
_SHORT_LOOP = """\
graph f(n: i64[], a: f32[2], b: f32[2]) -> (f32[2])
  %1, %2 = while(n, a, n_carry=2) : i64[], f32[2]
    cond (i: i64[], a: f32[2]): %1 = greater(i, ~0) : bool[] ; yield %1
    body (i: i64[], a: f32[2]):
      %1 = subtract(i, ~1) : i64[]
      %2 = add(a, a) : f32[2]
      yield %1, %2
  return %2"""
DCE = register_pass(
    Pass(
        name="dce",
        law="What nobody reads and what does nothing besides giving values is left out.",
        needs="captured",
        gives="hardware_independent",
        cases=(
            Case(
                "graph f(x: f32[2]) -> (f32[2])\n  %1 = add(x, x) : f32[2]\n  %2 = exp(%1) : f32[2]\n  return x",
                "graph f(x: f32[2]) -> (f32[2])\n  return x",
                "a dead chain",
            ),
            Case(
                'graph f(x: f32[2]) -> (f32[2])\n  host_call(x, fn=host("print"), effect=True)\n  return x',
                'graph f(x: f32[2]) -> (f32[2])\n  host_call(x, fn=host("print"), effect=True)\n  return x',
                "effects stay",
            ),
            Case(_LOOP, _SHORT_LOOP, "a carried value that nothing else needs"),
            Case(
                "graph f(c: bool[], x: f32[2], y: f32[2]) -> (f32[2])\n  %1, %2 = if(c, x, y) : f32[2], f32[2]\n"
                "    then (x: f32[2], y: f32[2]): yield x, y\n    else (x: f32[2], y: f32[2]): yield x, x\n  return %1",
                "graph f(c: bool[], x: f32[2], y: f32[2]) -> (f32[2])\n  %1 = if(c, x) : f32[2]\n"
                "    then (x: f32[2]): yield x\n    else (x: f32[2]): yield x\n  return %1",
                "results and arguments of branches",
            ),
        ),
        run=without_dead_nodes,
    )
)
