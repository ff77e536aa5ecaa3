"""Every transformation is a Pass, and one manager runs, times, verifies and tells them."""

from __future__ import annotations

import pytest

from msnb.base.errors import VerifyError
from msnb.graph.compile import PASSES, Log, Pass
from msnb.graph.compile.pass_manager import PassManager
from msnb.graph.compile.passes.fusion.grouping import FUSE
from msnb.graph.compile.passes.pre_gradient_cse import MERGE
from msnb.graph.compile.passes.rolling import ROLL
from msnb.ir.graph import Graph
from msnb.ir.text.parser import parse

TWICE = (
    "graph f(x: f32[8]) -> (f32[8])\n %1 = exp(x) : f32[8]\n %2 = exp(x) : f32[8]\n"
    " %3 = add(%1, %2) : f32[8]\n return %3"
)


def test_it_tells_a_stage_per_pass_and_numbers_those_that_come_again() -> None:
    manager = PassManager(parse(TWICE), Log(), keep=True)
    assert manager.run(PASSES["cse"]) and not manager.run(PASSES["cse"])
    assert manager.run(FUSE)
    assert [(s.name, s.rewrites) for s in manager.stages] == [("captured", 0), ("cse", 1), ("cse 2", 0), ("fuse", 1)]
    assert [node.op.name for node in manager.graph.nodes] == ["fused"]
    assert all(s.graph is not None and s.seconds >= 0 for s in manager.stages)


def test_passes_before_a_gradient_run_like_all_others() -> None:
    graph = parse(TWICE)
    manager = PassManager(graph, Log())
    assert not manager.run(ROLL) and manager.run(MERGE)
    assert [node.op.name for node in manager.graph.nodes] == ["exp", "add"] and len(graph.nodes) == 3


def test_an_optional_pass_that_changes_nothing_leaves_no_stage() -> None:
    idle = Pass("idle", "Nothing.", "captured", "captured", (), lambda graph, log: graph, optional=True)
    manager = PassManager(parse(TWICE), Log())
    assert not manager.run(idle) and [s.name for s in manager.stages] == ["captured"]


def test_a_wrong_graph_is_refused() -> None:
    def reverse(graph: Graph, log: Log) -> Graph:
        wrong = parse(TWICE)
        wrong.nodes.reverse()
        return wrong

    manager = PassManager(parse(TWICE), Log())
    with pytest.raises(VerifyError):
        manager.run(Pass("wrong", "Wrong.", "captured", "captured", (), reverse, count=lambda graph: 1))
