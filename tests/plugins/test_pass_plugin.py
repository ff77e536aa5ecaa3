"""A pass from another package: it runs in every compilation, its rewrites are noted, and a bad one is left out."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import msnb as ms
from msnb.base import events
from msnb.graph.compile import PASSES, Log, compile_graph
from msnb.graph.compile.plugin_passes import plugged
from msnb.ir.analysis.structural_hash import difference
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import print_graph

TWICE = """graph f(x: f32[3]) -> (f32[3])
  %1 = floor(x) : f32[3]
  %2 = floor(%1) : f32[3]
  %3 = add(%2, x) : f32[3]
  return %3"""
X = np.float32([0.5, -1.5, 2.0])


def ops_of(compiled: object) -> list[str]:
    return [node.op.name for node in compiled.graph.nodes]


def test_its_examples_hold(install: Callable[..., None]) -> None:
    install("pass_example")
    ((_, record),) = plugged()
    assert record.law and len(record.cases) == 2
    for case in record.cases:
        log = Log(keep=True)
        after = PASSES["dce"].run(record.run(parse(case.before), log), Log())
        assert difference(after, parse(case.after)) is None, print_graph(after)
        assert bool(log.history) == (case.before != case.after)


def test_it_runs_in_a_compilation(install: Callable[..., None]) -> None:
    without = compile_graph(parse(TWICE))
    install("pass_example")
    with_it = compile_graph(parse(TWICE), keep_stages=True)
    assert ops_of(without) == ["floor", "floor", "add"]
    assert ops_of(with_it) == ["floor", "add"]
    np.testing.assert_array_equal(with_it([X])[0], without([X])[0])
    assert "idempotence" in [stage.name for stage in with_it.stages]
    (note,) = [r for r in with_it.history if r.pass_name == "idempotence"]
    assert "f(f(x)) is f(x)" in str(note) and "floor of floor" in str(note)


def test_a_compiled_function_profits(install: Callable[..., None]) -> None:
    install("pass_example")
    seen: list[str] = []
    with events.listening("rewrite", lambda rewrite: seen.append(rewrite.pass_name)):
        out = ms.jit(lambda x: ms.ops.round(ms.ops.round(x)) * 2)(ms.Tensor(X))
    assert out.tolist() == [0.0, -4.0, 4.0] and seen.count("idempotence") == 1


CODE = """
from msnb.graph.compile.rewriting.pass_record import Pass
from msnb.ir.graph import Graph

def raises(graph, log):
    raise RuntimeError("no idea")

def empties(graph, log):
    log.note("mine", "all is nothing", graph, graph.nodes[0])
    return Graph(graph.name)

def unmade(graph, log):
    log.note("mine", "the first node goes", graph, graph.nodes[0])
    out = graph.copy()
    del out.nodes[0]
    return out

record = Pass("mine", "a law", "captured", "captured", (), {run})
double = Pass("dce", "a law", "captured", "captured", (), {run})
other = 3
"""
BROKEN = {
    "raises": ("raises", "record", "RuntimeError: no idea"),
    "another signature": ("empties", "record", "VerifyError: the pass mine changed the params of f"),
    "a value nobody makes": ("unmade", "record", "VerifyError"),
    "not a pass": ("raises", "other", "it offers a int, not a Pass"),
    "a name that is taken": ("raises", "double", "a pass called 'dce' exists already"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_bad_pass_is_named_once_and_left_out(install: Callable[..., None], notices: list[str], case: str) -> None:
    run, offered, why = BROKEN[case]
    before = dict(PASSES)
    install("bad_plug", CODE.replace("{run}", run), f"[msnb.passes]\nmine = bad_plug:{offered}\n")
    for _ in range(2):
        compiled = compile_graph(parse(TWICE))
        assert ops_of(compiled) == ["floor", "floor", "add"]
        np.testing.assert_array_equal(compiled([X])[0], np.floor(X) + X)
    assert len(notices) == 1 and "'mine' (msnb.passes) of bad_plug 1.5 is left out" in notices[0] and why in notices[0]
    assert all(PASSES[name] is record for name, record in before.items())
