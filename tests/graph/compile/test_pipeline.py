"""The pipeline: what it keeps, what it tells, what it must not do."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb.base import events
from msnb.graph.compile import PASSES, Case, Log, Pass, compile_graph, optimise, register_pass
from msnb.graph.compile.passes.constant_folding import MAX_BYTES
from msnb.graph.compile.passes.inline import recursive
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import print_graph
from tests.levels import LEVELS

X = np.array([1.0, -2.0], np.float32)
TEXT = """\
graph f(x: f32[2], w: f32[2] state) -> (f32[2], w)
  %1 = multiply(x, ~1.0) : f32[2]                # Net/scale   cell [3] line 7
  %2 = add(2.0, ~3) : f32[]
  %3 = add(%1, %2) : f32[2]                      # Net/shift   cell [3] line 8
  %4 = exp(w) : f32[2]
  %5 = add(w, %3) : f32[2]
  return %3, %5"""


def ops(graph) -> list[str]:
    return [node.op.name for node in graph.nodes if node.op.name != "constant"]


def test_it_runs_and_keeps_state():
    program = compile_graph(parse(TEXT))
    y, w = program([X, X])
    assert (y == X + 5).all()
    assert (w == X + X + 5).all()
    assert program.graph.state == {1: 1}


def test_the_source_is_not_changed():
    graph = parse(TEXT)
    before = print_graph(graph)
    program = compile_graph(graph)
    assert print_graph(graph) == before
    assert program.source is graph


def test_places_and_scopes_survive():
    text = print_graph(compile_graph(parse(TEXT)).graph)
    assert "%1 = add(x, 5.0) : f32[2]" in text
    assert "# Net/shift   cell [3] line 8" in text


@pytest.mark.parametrize("level", LEVELS)
def test_stages_and_history_are_kept_when_asked(level):
    ms.set_context(jit_level=level)
    program = compile_graph(parse(TEXT), name="step", keep_stages=True)
    names = [s.name for s in program.stages]
    assert names[:4] == ["captured", "fold", "algebra", "cse"]
    assert names[-1] == ("dce" if level == "O0" else "fuse")
    assert all(s.graph is not None for s in program.stages)
    notes = [str(r) for r in program.history]
    assert any(n.startswith("algebra: times one (x * 1 is x): multiply(x, ~1.0) : f32[2] -> x") for n in notes)
    assert any(n.startswith("fold: ") and "5.0" in n for n in notes)
    assert any(n.startswith("dce: nobody reads it: exp(w)") and n.endswith("nothing") for n in notes)
    assert set(program.timings) == {*names, "compile"}


def test_nothing_is_kept_otherwise():
    program = compile_graph(parse(TEXT))
    assert program.history == []
    assert all(s.graph is None for s in program.stages)
    assert program.counts["algebra", "times one"] == 1


@pytest.mark.parametrize("level", LEVELS)
def test_save_graphs_writes_text_that_reads_back(tmp_path, level):
    ms.set_context(jit_level=level)
    with ms.set_context(save_graphs=True, save_graphs_path=str(tmp_path)):
        program = compile_graph(parse(TEXT), name="a step")
    (folder,) = tmp_path.iterdir()
    files = sorted(folder.iterdir())
    assert folder.name.startswith("a_step_")
    assert files[0].name == "00_captured.ir"
    assert len(files) == len(program.stages)
    last = program.graph if level == "O0" else program.stages[-1].graph
    assert print_graph(parse(files[-1].read_text())) == print_graph(last)


def test_stages_and_rewrites_are_events():
    heard: list[str] = []
    with (
        events.listening("stage", lambda **d: heard.append(d["name"])),
        events.listening("rewrite", lambda **d: heard.append(d["rewrite"].law)),
    ):
        compile_graph(parse(TEXT))
    assert "captured" in heard
    assert "times one" in heard


def test_big_results_are_not_folded():
    n = MAX_BYTES // 4 + 1
    graph = parse(f"graph f(x: f32[{n}]) -> (f32[{n}])\n  %1 = zeros(shape=({n},)) : f32[{n}]\n"
                  f"  %2 = broadcast_to(3.0, shape=({n},)) : f32[{n}]\n  %3 = divide(%2, x) : f32[{n}]\n"
                  f"  %4 = add(%3, %1) : f32[{n}]\n  return %4")  # fmt: skip
    out, _ = optimise(graph)
    assert ops(out) == ["zeros", "broadcast_to", "divide", "add"]


def test_a_body_that_fails_is_left_to_the_run(monkeypatch):
    def refuse(*_):
        raise ValueError("no")

    monkeypatch.setattr("msnb.graph.compile.passes.constant_folding.body_kernel", lambda *_: refuse)
    out, _ = optimise(parse("graph f() -> (i64[])\n  %1 = multiply(2, 3) : i64[]\n  return %1"))
    assert ops(out) == ["multiply"]


def test_recursion_is_found_not_followed():
    text = PASSES["inline"].cases[1].before
    program = compile_graph(parse(text))
    assert program([np.array(5)])[0] == 120
    a = parse('graph a(x: i64[]) -> (i64[])\n  %1 = call(x, callee="b") : i64[]\n  return %1\n\n'
              'graph b(x: i64[]) -> (i64[])\n  %1 = call(x, callee="c") : i64[]\n  return %1\n\n'
              'graph c(x: i64[]) -> (i64[])\n  %1 = call(x, callee="b") : i64[]\n  return %1')  # fmt: skip
    assert recursive(a.module.graphs) == {"b", "c"}


def test_recomputed_calls_are_neither_opened_nor_merged():
    text = """\
graph f(x: f32[2]) -> (f32[2], f32[2])
  %1 = call(x, callee="g", recompute=True) : f32[2]
  %2 = call(x, callee="g", recompute=True) : f32[2]
  return %1, %2

graph g(a: f32[2]) -> (f32[2])
  %1 = exp(a) : f32[2]
  return %1"""
    assert print_graph(optimise(parse(text))[0]) == text


def test_backward_nodes_point_to_the_nodes_of_their_own_graph():
    text = "graph f(x: f32[2]) -> (f32[2])\n  %1 = exp(x) : f32[2]\n  %2 = multiply(%1, x) : f32[2]\n  return %2"
    graph = parse(text)
    graph.nodes[1].primal = graph.nodes[0]
    out, _ = optimise(graph)
    assert out.nodes[1].primal is out.nodes[0]


def test_a_dead_branch_with_an_effect_stays():
    text = """\
graph f(c: bool[], x: f32[2]) -> (f32[2])
  if(c, x)
    then (x: f32[2]): host_call(x, fn=host("print"), effect=True) ; yield
    else (x: f32[2]): yield
  return x"""
    assert print_graph(optimise(parse(text))[0]) == text


def test_effects_run_once_each_and_in_order():
    seen: list[float] = []
    note = '  host_call(x, fn=host(\"note\"), effect=True)\n'
    graph = parse(f'graph f(x: f32[]) -> (f32[])\n{note}{note}  return x')
    for node in graph.nodes:
        node.attrs["fn"].fn = lambda t: seen.append(float(t)) or ()
    compile_graph(graph)([np.array(3.0, np.float32)])
    assert seen == [3.0, 3.0]


@pytest.fixture
def rename_pass():
    record = register_pass(Pass("noop", "Does nothing.", "captured", "captured", (Case("a", "a"),), lambda g, log: g))
    yield record
    del PASSES["noop"]


def test_plug_in_passes(rename_pass, monkeypatch):
    monkeypatch.setattr("msnb.graph.compile.pipeline.EXTRA", ["noop"])
    assert "noop" in [s.name for s in optimise(parse(TEXT), Log())[1]]
    with pytest.raises(ValueError, match="'noop' exists already"):
        register_pass(rename_pass)
