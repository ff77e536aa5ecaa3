"""The views beyond IR: what they find in programs whose answer is known, and what all of them owe a notebook."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import ArgumentError
from msnb.core.tensor_summary import sparkline, value_words
from msnb.graph.compile import PASSES, Pass
from msnb.graph.compile.rewriting.rewriter import sweep_module
from msnb.ir.text.parser import parse
from msnb.notebook.charts.html_fragments import bytes_word, columns
from msnb.notebook.drawing.bundle_schema import JSON_SCHEMA
from msnb.notebook.programs.instrumented_run import InstrumentedProgram, max_difference
from msnb.notebook.views.diff_view import DiffView
from msnb.notebook.views.memory_view import MemoryView, liveness
from msnb.notebook.views.passes_view import PassesView
from msnb.notebook.views.profile_view import ProfileView
from msnb.notebook.views.stepper import StepView
from msnb.notebook.views.view import MIME

HOSTILE = ["<script>alert(1)</script>", '"><img onerror=x>', "a\nb\x00c", "\u202eright to left", "n" * 10_000]


def chain(x):
    y = ops.exp(x * 1.0)
    z = ops.log(y) + x
    return (z * z).sum()


def loop(x, n):
    while n > 0:
        x = x * 1.5
        n = n - 1
    return x.sum()


class Scale(nn.Cell):
    """A Cell with state that changes on every call."""

    def __init__(self):
        super().__init__()
        self.weight = ms.Parameter(ms.Tensor(np.full(3, 2.0, np.float32)), name="weight")
        self.count = ms.Parameter(ms.Tensor(0.0), name="count", requires_grad=False)

    def construct(self, x):
        self.count.set_data(self.count + 1)
        return (x * self.weight).sum()


X = ms.Tensor(np.array([0.5, 1.0, 2.0], np.float32))


def every_view(fn=chain, *args):
    args = args or (X,)
    jitted = ms.jit(fn)
    jitted(*args)
    return {
        "ir": ms.show.ir(fn, *args),
        "passes": ms.show.passes(fn, *args),
        "diff": ms.show.diff(fn, *args),
        "mem": ms.show.mem(fn, *args),
        "profile": ms.show.profile(fn, *args),
        "step": ms.show.step(fn, *args),
        "explain": ms.show.explain(jitted),
        "compare": ms.show.compare(fn, fn, *args),
    }


NAMES = list(every_view())


def validate(found):
    """Against the published schema, where the validator is at hand."""
    pytest.importorskip("jsonschema").Draft202012Validator(JSON_SCHEMA).validate(json.loads(json.dumps(found)))


# ---- what all owe a notebook -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("fn", "args"), [(chain, (X,)), (loop, (X, ms.Tensor(3)))], ids=["chain", "loop"])
def test_bundles_are_complete_safe_and_repeat(name, fn, args, tmp_path):
    view, again = every_view(fn, *args)[name], every_view(fn, *args)[name]
    bundle = view._repr_mimebundle_()
    assert list(bundle) == [MIME, "text/html", "image/svg+xml", "text/plain"]
    assert bundle == again._repr_mimebundle_(), "a saved notebook compares equal"
    assert (bundle[MIME]["schema"], bundle[MIME]["version"]) == ("msnb.graph", 1)
    validate(bundle[MIME])
    ET.fromstring(bundle["image/svg+xml"])
    assert not re.search(r"<(script|style|svg|iframe|object)|\sid=|\sdata-", bundle["text/html"])
    assert not re.search(r"0x[0-9a-f]{6}", bundle["text/plain"])
    for ending in ("svg", "html", "txt", "json"):
        with open(view.save(tmp_path / f"v.{ending}"), encoding="utf-8") as file:
            assert file.read()
    with pytest.raises(ValueError, match="a view is saved as"):
        view.save(tmp_path / "v.exe")


@pytest.mark.parametrize("word", HOSTILE, ids=["script", "image", "control", "direction", "long"])
def test_hostile_names_do_nothing(word):
    def fn(x):
        return ops.exp(x).sum()

    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.inner = Scale()
            self.inner.weight.name = word

        def construct(self, x):
            return self.inner(x)

    fn.__name__ = fn.__qualname__ = word
    Outer.__name__ = Outer.__qualname__ = word.replace("\x00", "")
    views = [*every_view(fn).values(), ms.show.ir(Outer(), X), ms.show.step(Outer(), X), ms.show.grad(Outer(), X)]
    for view in views:
        bundle = view._repr_mimebundle_()
        ET.fromstring(bundle["image/svg+xml"])
        assert "<script" not in bundle["text/html"] + bundle["image/svg+xml"]
        assert "<img onerror" not in bundle["text/html"] + bundle["image/svg+xml"]
        assert "\x00" not in bundle["image/svg+xml"]
        assert "\u202e" not in bundle["image/svg+xml"]
        assert len(bundle["image/svg+xml"]) < 50_000


@pytest.mark.parametrize("name", ["ir", "grad", "passes", "diff", "mem", "profile", "step"])
def test_looking_changes_no_state(name, mode):
    cell = Scale()
    repr(getattr(ms.show, name)(cell, X))
    assert cell.count.asnumpy() == 0
    assert float(cell(X).asnumpy()) == 7.0
    assert cell.count.asnumpy() == 1


@pytest.mark.long
def test_random_programs_in_every_view(rng):
    """Control flow, calls, constants: both engines agree, bundles are valid."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "graph" / "compile"))
    from random_programs import Program as Drawn, arguments

    seed = int(rng.integers(2**31))
    for k in range(8):
        graph = Drawn(np.random.default_rng([seed, k])).main()
        program = InstrumentedProgram("drawn", graph, arguments(np.random.default_rng([seed, k])))
        diff = DiffView(program)
        assert diff.equal, f"seed {[seed, k]}: {diff.verdict}"
        for view in (diff, StepView(program), PassesView(program), ProfileView(program), MemoryView(graph, "drawn")):
            bundle = view._repr_mimebundle_()
            validate(bundle[MIME])
            ET.fromstring(bundle["image/svg+xml"])


def test_printing_programs_print_nothing_again(capsys):
    def shout(x):
        print("hello", x)
        return x * 1.0

    for name in ("passes", "diff", "step", "profile"):
        repr(getattr(ms.show, name)(shout, X))
    ms.show.profile(shout, X, times=True)
    assert "hello" not in capsys.readouterr().out


def test_graph_takes_a_graph_or_what_has_one():
    view = ms.show.graph(chain, X)
    assert view.text == ms.show.ir(chain, X).text and view.title == "chain"
    graph = ms.show.as_graph(chain, (X,))
    assert ms.show.graph(graph, title="mine").title == "mine"
    with pytest.raises(ArgumentError, match="arguments go with a function"):
        ms.show.graph(graph, X)


@pytest.mark.parametrize("name", ["graph", "passes", "diff", "mem", "profile", "step"])
def test_what_is_no_program_is_refused(name):
    with pytest.raises((ArgumentError, TypeError)):
        getattr(ms.show, name)(3, X)


# ---- passes, diff ----------------------------------------------------------------------------------------------------


def test_passes_name_laws_and_check_numbers():
    view = ms.show.passes(chain, X)
    by_name = {row[0]: row for row in view.rows}
    assert by_name["algebra"][1] == "1"
    assert set(view.differences[1:]) == {"0"}
    assert "times one: multiply(x, ~1.0) : f32[3] -> x" in view.text
    assert [row[0] for row in ms.show.passes(chain, X, only_changed=True).rows] [:2] == ["captured", "algebra"]
    assert view.html.count("<details>") >= 4


def wrong_rule():
    def rule(sweep, node):
        if node.op.name != "exp" or "wrong" in node.why:
            return None
        node.why = "wrong"
        half = sweep.emit("multiply", node.inputs[0], node.inputs[0])
        return sweep.accept(node, [half], "exp(x) is x * x, they say")

    return rule


@pytest.fixture
def wrong_pass(monkeypatch):
    """A pass that breaks programs: exp(x) becomes x * x."""

    def run(graph, log):
        return sweep_module(graph, "wrong", wrong_rule, log)

    record = Pass("wrong", "Not a law.", "captured", "captured", (), run)
    monkeypatch.setitem(PASSES, "wrong", record)
    monkeypatch.setattr("msnb.graph.compile.pipeline.EXTRA", ["wrong"])


def test_a_wrong_pass_shows_in_numbers(wrong_pass):
    view = ms.show.passes(chain, X)
    gaps = dict(zip([s.name for s in view.compiled.stages], view.differences))
    assert gaps["cse"] == "0"
    assert float(gaps["wrong"]) > 0.1


def test_diff_names_the_first_op_that_differs_and_its_line(wrong_pass):
    view = ms.show.diff(chain, X)
    validate(view.json)
    assert not view.equal
    assert view.first.node.op.name == "log"
    assert "in eager mode" in view.first.worst
    caret = "        ^^^^^^^^^^" if sys.version_info >= (3, 11) else "    ^^^^^^^^^^^^^^^^^"  # 3.10 keeps lines only
    assert f"z = ops.log(y) + x\n{caret}" in view.text
    assert ("exp", "rewritten") in [(p.label, p.verdict) for p in view.pairs]
    assert "#c2372b" in view.svg


def test_diff_agrees_on_right_programs():
    for fn, args in [(chain, (X,)), (loop, (X, ms.Tensor(3))), (Scale(), (X,))]:
        view = ms.show.diff(fn, *args)
        assert view.equal
        assert view.pairs[-1].gap == 0
    assert ms.show.diff(chain, X, gradient=True).equal


def test_differences_know_nan_and_infinity():
    a = np.array([1.0, np.nan, np.inf])
    assert max_difference(a, a.copy()) == 0
    assert max_difference(a, np.array([1.0, 2.0, np.inf])) == np.inf
    assert max_difference(a, np.array([1.0, np.nan, -np.inf])) == np.inf
    assert max_difference(np.array([1, 2]), np.array([1, 5])) == 3
    assert max_difference(np.zeros(2), np.zeros(3)) == np.inf


# ---- gradient sizes --------------------------------------------------------------------------------------------------


class Fading(nn.Cell):
    """Four layers of which the second has tiny weights: what lies before it gets no gradient to speak of."""

    def __init__(self, tiny=1e-7):
        super().__init__()
        self.layers = nn.SequentialCell([nn.Dense(4, 4) for _ in range(4)])
        weight = self.layers[1].weight
        weight.set_data(ms.Tensor(np.full((4, 4), tiny, np.float32)))

    def construct(self, x):
        return self.layers(x).sum()


def test_vanishing_gradients_are_named_by_layer():
    x = ms.Tensor(np.ones((2, 4), np.float32))
    view = ms.show.grad(Fading(), x, norms=True)
    verdicts = {row[0].rsplit("/", 1)[-1]: row[-1] for row in view.rows}
    assert verdicts["0"] == "vanishing"
    assert (verdicts["2"], verdicts["3"]) == ("", "")
    assert "vanishing" in repr(view)
    assert "large gradient" in view.svg
    validate(view.json)
    fine = ms.show.grad(Fading(0.5), x, norms=True)
    assert {row[-1] for row in fine.rows} == {""}


def test_local_derivatives_are_no_gradients():
    """Of y (1 - y), the slope of a sigmoid, nothing is a gradient; what is multiplied with it is."""
    net = nn.SequentialCell(nn.Dense(3, 4), nn.Sigmoid(), nn.Dense(4, 2))
    view = ms.show.grad(net, X, norms=True)
    backward = [n for n in view.graph.nodes if n.primal is not None and n.primal.op.name == "sigmoid"]
    slope = next(n for n in backward if n.op.name == "subtract")
    products = [n for n in backward if n.op.name == "multiply"]
    assert [n in view.sizes for n in (slope, *products)] == [False, False, True]


def test_a_closed_group_shows_the_alarm_that_it_hides():
    x = ms.Tensor(np.ones((2, 4), np.float32))
    view = ms.show.grad(Fading(), x, norms=True, max_boxes=6)
    groups = {b.title: b for b in view.picture.walk() if b.kind == "group" and b.heat is not None and not b.open}
    assert any(b.mark == "vanishing" and "vanishing" in b.lines for b in groups.values())
    steps = ms.show.step(Logs(), ms.Tensor([-1.0, 1.0]))
    assert [b.mark for b in steps.picture.walk() if b.kind == "group"] == ["NaN"]


class Logs(nn.Cell):
    """A layer in which a NaN is born."""

    def __init__(self):
        super().__init__()
        self.inner = Log()

    def construct(self, x):
        return (self.inner(x) * 2).sum()


class Log(nn.Cell):
    def construct(self, x):
        return ops.log(x) + 1


def test_sizes_are_root_mean_squares():
    view = ms.show.grad(lambda w: (w * w * w).sum(), ms.Tensor([3.0, 4.0]), norms=True, optimised=False)
    expected = float(np.sqrt((27.0**2 + 48.0**2) / 2))
    assert max(view.sizes.values()) == pytest.approx(expected)


def test_gradients_that_are_not_finite_explode():
    view = ms.show.grad(lambda w: ops.sqrt(w).sum() + w.sum(), ms.Tensor([0.0, 1.0]), norms=True)
    assert "exploding" in [row[-1] for row in view.rows]


# ---- memory, profile -------------------------------------------------------------------------------------------------

FOUR = """\
graph f(x: f32[4]) -> (f32[4])
  %1 = exp(x) : f32[4]
  %2 = sum(%1) : f32[]
  %3 = multiply(%1, %2) : f32[4]
  %4 = tanh(%3) : f32[4]
  return %4"""


def test_liveness_of_a_program_counted_by_hand():
    found = liveness(parse(FOUR))
    assert found.live == [16, 20, 36, 32]
    assert (found.peak, found.peak_bytes, found.held) == (2, 36, 16)
    view = ms.show.mem(parse(FOUR))
    assert [b.label for b in view.holders] == ["exp", "multiply", "sum"]
    assert "peak 36 B at %3 multiply; inputs 16 B" in view.text


def test_buffers_that_live_together_never_overlap(rng):
    sys.path.insert(0, str(Path(__file__).parents[1] / "graph" / "compile"))
    from random_programs import Program as Drawn

    seed = int(rng.integers(2**31))
    for k in range(20):
        buffers = [b for b in liveness(Drawn(np.random.default_rng([seed, k])).main()).buffers if b.size]
        for i, a in enumerate(buffers):
            for b in buffers[:i]:
                together = a.start <= b.end and b.start <= a.end
                assert not together or a.low >= b.low + b.size or b.low >= a.low + a.size, f"seed {[seed, k]}"


def test_bodies_count_with_their_own_peak():
    view = ms.show.mem(loop, X, ms.Tensor(3))
    assert max(view.found.extra) > 0
    assert "inside its bodies" in view.summary


def test_costs_follow_from_records_and_add_up_by_line():
    def product(a, b):
        c = a @ b
        return c + 1

    a, b = ms.Tensor(np.ones((2, 3), np.float32)), ms.Tensor(np.ones((3, 4), np.float32))
    view = ms.show.profile(product, a, b)
    assert [(c.label, c.flops, c.bytes) for c in view.ops] == [("matmul", 48.0, 4 * (6 + 12 + 8)), ("add", 8.0, 72)]
    assert [c.nodes for c in view.lines] == [1, 1]
    assert " us" not in view.html + view.text + view.svg
    timed = ms.show.profile(product, a, b, times=True, repeats=2)
    assert all(c.seconds > 0 for c in timed.ops)
    assert " us" in timed.text
    with pytest.raises(ArgumentError, match="at least one repeat"):
        ms.show.profile(product, a, b, times=True, repeats=0)


# ---- step ------------------------------------------------------------------------------------------------------------


def test_steps_hold_values_places_and_shapes():
    events = list(ms.show.step(chain, X))
    assert [e.op for e in events] == ["multiply", "exp", "log", "add", "multiply", "sum"]
    assert np.allclose(events[1].outputs[0].asnumpy(), np.exp(X.asnumpy()))
    assert events[1].inputs[0].asnumpy().tolist() == events[0].outputs[0].asnumpy().tolist()
    assert events[1].place.startswith("test_views.py line ")
    assert float(events[-1].outputs[0].asnumpy()) == pytest.approx(float(chain(X).asnumpy()))


def test_breakpoints_on_ops_lines_and_nodes():
    line = chain.__code__.co_firstlineno + 2
    for stop, op in [("log", "log"), (f"line {line}", "log"), (f"test_views.py line {line}", "log"), (2, "exp")]:
        steps = ms.show.step(chain, X, stop=stop)
        assert steps.run().op == op
        assert steps.next() is not None
    steps = ms.show.step(chain, X, stop=["log", "sum"])
    assert [steps.run().op, steps.run().op, steps.run()] == ["log", "sum", None]
    steps.reset()
    assert steps.next().op == "multiply"
    with pytest.raises(ArgumentError, match="is at the breakpoint 'tanh'"):
        ms.show.step(chain, X, stop="tanh")


def test_the_watch_finds_where_a_nan_is_born_not_where_it_goes():
    def bad(x):
        y = ops.log(x)
        return y * 2 + y

    steps = ms.show.step(bad, ms.Tensor([1.0, -1.0]))
    assert steps.run().op == "log"
    assert steps.run() is None
    assert "1 NaN" in steps.text
    assert ms.show.step(bad, ms.Tensor([1.0, -1.0]), nan=False).run() is None


def test_words_for_values():
    assert value_words(np.array([1.0, np.nan, np.inf, -2.0])) == "-2 .. 1, 1 NaN, 1 infinite"
    assert value_words(np.array(True)) == "True"
    assert value_words(np.zeros((0, 3))) == "empty"
    assert value_words(np.array([3 + 4j])) == "|x| 5"
    assert value_words(np.arange(4)) == "0 .. 3"
    assert sparkline(np.array([1.0, 1.0])) == ""
    assert len(sparkline(np.array([-1e308, 1e308, np.nan]))) == 12


# ---- explain, compare ------------------------------------------------------------------------------------------------


def test_explain_tells_versions_and_reasons():
    f = ms.jit(chain)
    f(X)
    f(ms.Tensor([1.0]))
    f(X)
    view = ms.show.explain(f)
    assert [(row[0], row[1]) for row in view.rows] == [("1", "2"), ("2", "1")]
    assert "recompiled: x f32[3] -> f32[1]" in view.rows[1][-1]
    assert "guard: x is a Tensor f32[3]" in view.text
    assert not re.search(r"\d ms\b", view.text)
    assert "captured in" in ms.show.explain(f, times=True).text


def test_explain_before_the_first_call_and_of_plain_functions():
    assert "has not been compiled yet" in repr(ms.show.explain(ms.jit(chain)))
    ms.show.explain(ms.jit(chain))._repr_mimebundle_()
    with pytest.raises(ArgumentError, match="compiled with jit"):
        ms.show.explain(chain)


def test_compare_marks_what_changed():
    view = ms.show.compare(lambda x: ops.exp(x) + 1, lambda x: ops.exp(x) - 1, X)
    assert [(sign, node.op.name) for sign, node in view.changes] == [(" ", "exp"), ("-", "add"), ("+", "subtract")]
    assert view.summary == "1 node in both, 1 only in the first, 1 only in the second."
    assert view.svg.count("only here") == 2
    assert ms.show.compare(chain, chain, X).same
    before, after = ms.show.ir(chain, X), ms.show.ir(chain, X, optimised=True)
    assert [sign for sign, _ in ms.show.compare(before, after).changes].count("-") == 2
    with pytest.raises(ArgumentError, match="not int"):
        ms.show.compare(chain, 3, X)


# ---- tensors ---------------------------------------------------------------------------------------------------------


def test_tensors_show_a_histogram_where_there_are_many_floats():
    many = ms.Tensor(np.linspace(-1, 1, 65, dtype=np.float32))
    assert "-1 .. 1" in many._repr_html_()
    assert "█" in many._repr_html_()
    assert "f32[65] on CPU" in many._repr_html_()
    for other in (many[:64], ms.Tensor(np.arange(100)), ms.Tensor(1.0)):
        assert "█" not in other._repr_html_()
    nan = ms.Tensor(np.full(70, np.nan, np.float32))
    assert "70 NaN" in nan._repr_html_()
    assert "2 .. 2" in ms.Tensor(np.full(70, 2.0), ms.bfloat16)._repr_html_()
    assert not re.search(r"<(script|style|svg)", many._repr_html_())


def test_tensors_of_hostile_class_names_are_escaped():
    hostile = type("<script>", (ms.Tensor,), {})
    assert "<script>" not in hostile([1.0])._repr_html_()


# ---- pieces ----------------------------------------------------------------------------------------------------------


def test_tables_as_text_have_no_trailing_spaces():
    assert columns(("a", "b"), [("1", ""), ("22", "x\ny")]) == "a   b\n1\n22  x y"


@pytest.mark.parametrize(("n", "word"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KB"), (3 << 30, "3.0 GB")])
def test_bytes_in_words(n, word):
    assert bytes_word(n) == word
