"""The verifier: every law of the IR has a graph that breaks it."""

from __future__ import annotations

import re

import pytest

from msnb.base.errors import VerifyError
from msnb.core import dtypes
from msnb.core.types import TOKEN, tensor_type
from msnb.ir.analysis.verifier import STAGES, verify
from msnb.ir.control_flow import HOST_CALL, HostFn
from msnb.ir.graph import Graph, Node, Value
from msnb.ir.text.parser import parse
from msnb.ops.elementwise.arithmetic import add

F3 = tensor_type((3,), dtypes.float32)
SIMPLE = "graph f(x: f32[3]) -> (f32[3])\n  %1 = add(x, x) : f32[3]\n  %2 = exp(%1) : f32[3]\n  return %2"
WHILE = """\
graph f(n: i64[], x: f32[3]) -> (i64[])
  %1, %2 = while(n, x, n_carry=2) : i64[], f32[3]
    cond (n: i64[], x: f32[3]): %1 = greater(n, ~0) : bool[] ; yield %1
    body (n: i64[], x: f32[3]):
      %1 = subtract(n, ~1) : i64[]
      yield %1, x
  return %1"""
SCAN = """\
graph f(x: f32[3], xs: f32[4,3]) -> (f32[3])
  %1, %2 = scan(x, xs, n_carry=1, n_xs=1, length=4) : f32[3], f32[4,3]
    body (a: f32[3], row: f32[3]): %1 = add(a, row) : f32[3] ; yield %1, %1
  return %1"""
IF = """\
graph f(c: bool[], x: f32[3]) -> (f32[3])
  %1 = if(c, x) : f32[3]
    then (a: f32[3]): yield a
    else (a: f32[3]): %1 = add(a, a) : f32[3] ; yield %1
  return %1"""
CALL = """\
graph f(x: f32[3]) -> (f32[])
  %1 = call(x, callee="g") : f32[]
  return %1

graph g(a: f32[3]) -> (f32[])
  %1 = sum(a) : f32[]
  return %1"""


@pytest.mark.parametrize("text", [SIMPLE, WHILE, SCAN, IF, CALL], ids=["simple", "while", "scan", "if", "call"])
@pytest.mark.parametrize("stage", STAGES)
def test_right_graphs_pass(text, stage):
    verify(parse(text), stage)


@pytest.mark.parametrize(
    ("text", "old", "new", "law"),
    [
        (SIMPLE, "%1 = add(x, x) : f32[3]", "%1 = add(x, x) : f32[2]", "result types should be f32[3]"),
        (SIMPLE, "%1 = add(x, x)", "%1 = matmul(x, x)", "types"),
        (WHILE, "yield %1, x", "yield %1, %1", "its body gives i64[], i64[] where i64[], f32[3] is needed"),
        (WHILE, "body (n: i64[], x: f32[3])", "body (n: i64[], x: f64[3])", "its body takes i64[], f64[3] but is"),
        (WHILE, "yield %1\n", "yield %1, %1\n", "its condition must give one tensor"),
        (WHILE, ": i64[], f32[3]\n    cond", ": i64[], f64[3]\n    cond", "its results should be what it carries"),
        (SCAN, "length=4", "length=5", "f32[4,3] has not 5 rows"),
        (SCAN, "row: f32[3]", "row: f32[4,3]", "its body takes f32[3], f32[4,3] but is given f32[3], f32[3]"),
        (SCAN, ": f32[3], f32[4,3]\n", ": f32[3], f32[3]\n", "f32[3] has not 4 rows"),
        (IF, "f32[3]): yield a", "f32[3]): %1 = sum(a) : f32[] ; yield %1", "its then branch gives"),
        (IF, "if(c, x)", "if(c, x, x)", "its then branch takes f32[3] but is given f32[3], f32[3]"),
        (CALL, "a: f32[3]", "a: f32[4]", "its callee takes f32[4] but is given f32[3]"),
    ],
)  # fmt: skip
def test_wrong_types(text, old, new, law):
    assert old in text
    with pytest.raises(VerifyError, match=re.escape(law)):
        verify(parse(text.replace(old, new)))


def graph() -> Graph:
    g = Graph("f")
    g.add_param(F3, "x")
    return g


def test_reading_before_making():
    g = parse(SIMPLE)
    g.nodes.reverse()
    with pytest.raises(VerifyError, match="which is not made before it in this graph"):
        verify(g, deep=False)


def test_a_body_is_closed():
    g = parse(IF)
    g.nodes[0].graphs[1].nodes[0].inputs[0] = g.params[1]
    with pytest.raises(VerifyError, match="reads x, which is not made before it in this graph"):
        verify(g, deep=False)


def test_outputs_are_made_here():
    g = graph()
    g.outputs = [Value(F3, None, 0, "stray")]
    with pytest.raises(VerifyError, match="the result stray is not made in this graph"):
        verify(g, deep=False)


def test_results_belong_to_their_node():
    g = graph()
    node = g.add(add, [g.params[0], g.params[0]], {}, [F3])
    g.nodes.append(node)
    with pytest.raises(VerifyError, match="belongs to another node"):
        verify(g, deep=False)


@pytest.mark.parametrize(
    ("state", "law"),
    [({0: 5}, "points outside"), ({0: 1}, "is given a value of type f32[]"), ({0: 0, 1: 0}, "two states share")],
)
def test_state(state, law):
    g = parse(
        "graph f(x: f32[3], y: f32[3]) -> (f32[3], f32[])\n  %1 = sum(x) : f32[]\n  return x, %1"
    )
    g.state = state
    with pytest.raises(VerifyError, match=re.escape(law)):
        verify(g)


def test_attributes_are_complete_and_hashable():
    g = parse("graph f(x: f32[3]) -> (f32[])\n  %1 = sum(x) : f32[]\n  return %1")
    del g.nodes[0].attrs["axis"]
    with pytest.raises(VerifyError, match="the attribute 'axis' is missing"):
        verify(g)
    g.nodes[0].attrs["axis"] = [0]
    with pytest.raises(VerifyError, match="not all hashable"):
        verify(g)


def test_only_control_has_bodies():
    g = parse(SIMPLE)
    g.nodes[0].graphs = (graph(),)
    with pytest.raises(VerifyError, match="only control flow has bodies"):
        verify(g)


def test_effects_have_an_order():
    g = graph()
    token = g.add_param(TOKEN, "order")
    for _ in range(2):
        g.nodes.append(Node(HOST_CALL, [token], {"fn": HostFn(print), "effect": True}, [TOKEN]))
    with pytest.raises(VerifyError, match="two effects without an order"):
        verify(g)
    g.nodes[:] = [Node(HOST_CALL, [token], {"fn": HostFn(print), "effect": True}, [])]
    with pytest.raises(VerifyError, match="does not give one on"):
        verify(g)


def test_stages_differ():
    g = parse(SIMPLE)
    g.outputs = [g.params[0]]
    verify(g, "captured")
    with pytest.raises(VerifyError, match="nobody reads its results"):
        verify(g, "hardware_independent")
    with pytest.raises(ValueError, match="legal: captured, hardware_independent"):
        verify(g, "late")


def test_a_missing_callee():
    g = parse(CALL)
    g.module.graphs.clear()
    with pytest.raises(VerifyError, match="there is no graph 'g' in the module"):
        verify(g)
