"""What a node does inside: bodies, callees, and graphs that call each other."""

from __future__ import annotations

import pytest

from msnb.graph.compile.passes.dce import without_dead_nodes
from msnb.graph.compile.rewriting.rewrite_log import Log
from msnb.ir.analysis.nested_nodes import draws, effects, host_calls
from msnb.ir.text.parser import parse

PRINTS = 'host_call(x, fn=host("print"), effect=True)'
EACH_OTHER = """\
graph f(x: f32[2]) -> (f32[2])
  %1 = call(x, callee="first") : f32[2]
  %2 = call(x, callee="second") : f32[2]
  return x
graph first(x: f32[2]) -> (f32[2])
  %1 = call(x, callee="second") : f32[2]
  {}
  return %1
graph second(x: f32[2]) -> (f32[2])
  %1 = call(x, callee="first") : f32[2]
  return %1"""


@pytest.mark.parametrize(("line", "expected"), [(PRINTS, True), ("%2 = add(x, x) : f32[2]", False)])
def test_graphs_that_call_each_other(line, expected):
    """Whichever of them is asked about first."""
    for order in ((0, 1), (1, 0)):
        graph = parse(EACH_OTHER.format(line))
        effect = effects()
        assert [effect.node(graph.nodes[i], graph) for i in order] == [expected, expected]
        assert len(without_dead_nodes(graph, Log()).nodes) == (2 if expected else 0)


def test_each_question_looks_into_bodies():
    graph = parse(
        "graph f(c: bool[], x: f32[2]) -> (f32[2])\n  %1 = if(c, x) : f32[2]\n"
        f"    then (x: f32[2]):\n      {PRINTS}\n      yield x\n    else (x: f32[2]): yield x\n  return %1",
    )
    assert effects().graph(graph)
    assert host_calls().graph(graph)
    assert not draws().graph(graph)
