"""A pass: operators that change nothing when applied a second time.

    |  |x|  |  =  |x|         floor(floor(x)) = floor(x)         round(round(x)) = round(x)

A pass is a record: a law in one line, the stage it needs and gives, examples before and after that serve as tests and
documentation, and a function from graph to graph. Most passes are a walk with a rule: the rule sees one node whose
operands are already rewritten, and answers with the values that stand for its results, or with None.
"""

from __future__ import annotations

from msnb.graph.compile.rewriting.pass_record import Case, Pass
from msnb.graph.compile.rewriting.rewrite_log import Log
from msnb.graph.compile.rewriting.rewriter import Answer, GraphRewriter, sweep_module
from msnb.ir.graph import Graph, Node

IDEMPOTENT = frozenset(("absolute", "ceil", "floor", "round", "trunc", "sign"))
LAW = "f(f(x)) is f(x) for absolute, ceil, floor, round, trunc, sign"


def _rule(sweep: GraphRewriter, node: Node) -> Answer:
    """The inner result for the outer one; ``accept`` checks the types and takes the note."""
    if node.op.name not in IDEMPOTENT or len(node.inputs) != 1:
        return None
    inner = node.inputs[0].node
    if inner is None or inner.op is not node.op or inner.attrs != node.attrs:
        return None
    return sweep.accept(node, [inner.out], LAW, f"{node.op.name} of {node.op.name}")


def _run(graph: Graph, log: Log) -> Graph:
    return sweep_module(graph, "idempotence", lambda: _rule, log)


idempotence = Pass(
    name="idempotence",
    law=LAW,
    needs="captured",
    gives="captured",
    cases=(
        Case(
            before="""graph f(x: f32[3]) -> (f32[3])
  %1 = floor(x) : f32[3]
  %2 = floor(%1) : f32[3]
  return %2""",
            after="""graph f(x: f32[3]) -> (f32[3])
  %1 = floor(x) : f32[3]
  return %1""",
            about="the second floor is the first",
        ),
        Case(
            before="""graph f(x: f32[3]) -> (f32[3])
  %1 = floor(x) : f32[3]
  %2 = ceil(%1) : f32[3]
  return %2""",
            after="""graph f(x: f32[3]) -> (f32[3])
  %1 = floor(x) : f32[3]
  %2 = ceil(%1) : f32[3]
  return %2""",
            about="two different operators stay",
        ),
    ),
    run=_run,
)
