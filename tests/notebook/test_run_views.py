"""Views of what runs: roofline, plans, eager runs, gradient flow, training curves, tensors, Graphviz, summaries."""

from __future__ import annotations

import json
import math
import re
import stat
import subprocess
import sys
import xml.etree.ElementTree as ET
import zlib
from pathlib import Path

import numpy as np
import pytest
from small_training import Small, seen, trained

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import ArgumentError
from msnb.ir.analysis.verifier import verify
from msnb.notebook.charts.plot import Curve, Panel, Scale, curves_svg, tick_word
from msnb.notebook.drawing.bundle_schema import JSON_SCHEMA
from msnb.notebook.drawing.graph_picture import picture_of
from msnb.notebook.drawing.graphviz import dot_of
from msnb.notebook.parallel.plan_view import layout_word
from msnb.notebook.programs.machine_peak import Machine, this_machine
from msnb.notebook.training.gradient_flow import FlowView
from msnb.notebook.views.roofline_view import seconds_word
from msnb.notebook.views.tensor_view import TensorView, grey, images_of, png_of, tensor_with_images
from msnb.notebook.views.view import MIME
from msnb.parallel.sharding.layout import TensorLayout

X = ms.Tensor(np.arange(12, dtype=np.float32).reshape(4, 3) / 10)

VIEWS = {
    "roofline": lambda: ms.show.roofline(lambda x: ops.exp(x @ x.T).sum(), X),
    "aicore": lambda: ms.show.aicore(100, 300, 50),
    "plan": lambda: ms.show.plan(nn.Dense(64, 64), ops.ones((512, 64)), device_num=8),
    "eager": lambda: ms.show.eager(lambda x: (x * 2).sum(), X),
    "flow": lambda: trained(FlowView)[1][0],
    "curves": seen,
    "tensor": lambda: ms.show.tensor(X),
}


@pytest.mark.parametrize("name", VIEWS)
def test_bundles_are_complete_safe_and_repeat(name, tmp_path):
    VIEWS[name]()  # a backward program is compiled when it recurs; from then on its last digits stay
    VIEWS[name]()
    bundle = VIEWS[name]()._repr_mimebundle_()
    assert bundle == VIEWS[name]()._repr_mimebundle_(), "a saved notebook compares equal"
    assert list(bundle) == [MIME, "text/html", "image/svg+xml", "text/plain"]
    validator = pytest.importorskip("jsonschema").Draft202012Validator(JSON_SCHEMA)
    validator.validate(json.loads(json.dumps(bundle[MIME])))
    ET.fromstring(bundle["image/svg+xml"])
    assert not re.search(r"<(script|style|svg|iframe|object)|\sid=|\sdata-", bundle["text/html"])
    assert len(json.dumps(bundle)) < 1_000_000
    for ending in ("svg", "html", "txt", "json"):
        VIEWS[name]().save(tmp_path / f"v.{ending}")
    assert "nan" not in bundle["image/svg+xml"]


# ---- roofline --------------------------------------------------------------------------------------------------------


def test_the_limit_follows_from_flops_and_bytes():
    a = ms.ops.ones((64, 64))
    view = ms.show.roofline(lambda x: x @ x + x.reshape(64, 64), a, optimised=False)
    found = {row[0]: row for row in view.rows}
    assert found["matmul"][1:5] == ("5.243e+05", "48.0 KB", "10.7", "arithmetic")
    assert found["add"][4] == "memory"
    assert found["reshape"][4] == "nothing (a view)"
    assert found["matmul"][5] == seconds_word(2 * 64**3 / view.model.peak)
    assert view.measured_rows == []
    assert "measured" not in view.text + view.svg.replace("this machine", "")


def test_measured_is_kept_apart(monkeypatch):
    monkeypatch.setattr(
        "msnb.notebook.views.roofline_view.this_machine", lambda: Machine("this machine", 1e10, 1e11, True)
    )

    def fn(x):
        return ops.exp(x @ x.T)

    view = ms.show.roofline(fn, X, times=True, repeats=2)
    predicted, measured = view.text.split("\n\n")
    assert predicted == ms.show.roofline(fn, X).text
    assert "this machine of 10 GB/s and 100 Gflop/s" in measured
    assert len(view.measured_rows) == len(view.points)
    assert all(p.seconds > 0 for p in view.points)
    with pytest.raises(ArgumentError, match="at least one repeat"):
        ms.show.roofline(lambda x: x + x, X, repeats=0)


def test_this_machine_has_two_numbers():
    found = this_machine()
    assert found.measured
    assert found.bandwidth > 1e7 < found.peak
    assert found.roof(found.ridge / 2) == pytest.approx(found.peak / 2)


# ---- plan ------------------------------------------------------------------------------------------------------------


def test_layouts_are_words():
    assert layout_word(TensorLayout(((0,), (), (1, 2)))) == "[a, -, bc]"
    assert layout_word(TensorLayout(((), ()))) == "whole"


def test_a_plan_shows_its_own_numbers():
    class Two(nn.Cell):
        def __init__(self):
            super().__init__()
            self.w = ms.Parameter(np.zeros((512, 2048), np.float32), name="w")
            self.v = ms.Parameter(np.zeros((2048, 512), np.float32), name="v")

        def construct(self, x):
            return ops.matmul(ops.matmul(x, self.w), self.v).sum()

    given = {"Two/matmul": ((2, 1), (1, 4)), "Two/matmul_2": ((2, 4), (4, 1))}
    view = ms.show.plan(Two(), ops.ones((64, 512)), device_num=8, strategies=given)
    assert view.layouts["Two/matmul"] == "[a, bc]"
    assert view.text.startswith("a: 2 x b: 2 x c: 2 = 8 devices, cluster ascend910; ")
    assert "(simulated)" in view.text
    assert len(view.move_rows) == len(view.plan.collectives) > 0
    sent = next(b for b in view.picture.walk() if any("all_reduce" in line for line in b.lines))
    assert sent.mark == "changed"
    tints = {b.title: b.tint for b in view.picture.walk() if b.tint is not None}
    assert tints["w"][1] == "[-, bc]"
    assert tints["w"] != tints["v"]
    assert "[a, bc]" in view.svg
    assert "simulated" in view.timeline_svg
    assert ms.show.plan(view.plan).text == view.text
    with pytest.raises(ArgumentError, match="plan shows a plan"):
        ms.show.plan(3)


# ---- eager -----------------------------------------------------------------------------------------------------------


def test_an_eager_run_is_a_graph():
    def halve(x):
        while x.sum() > 1:
            x = x / 2
        return x

    view = ms.show.eager(halve, ms.Tensor([2.0, 1.0]))
    verify(view.graph, "captured", deep=True)
    ran = [n.op.name for n in view.graph.nodes if n.op.name != "constant"]
    assert ran == ["sum", "greater", "divide"] * 2 + ["sum", "greater"]
    assert view.graph.params[0].name == "x"
    assert view.result.tolist() == [0.5, 0.25]
    assert view.graph.nodes[0].where.where.file == __file__
    net = Small()
    captured = ms.show.ir(net, X).graph
    assert ms.show.compare(ms.show.eager(net, X), captured).changes[0][1].op.name == captured.nodes[0].op.name
    with pytest.raises(ArgumentError, match="eager runs a function"):
        ms.show.eager(3)


def test_an_eager_run_in_graph_mode_is_eager():
    with ms.set_context(mode=ms.GRAPH_MODE):
        view = ms.show.eager(Small(), X)
        assert ms.get_context("mode") == ms.GRAPH_MODE
    assert sum(n.op.name == "matmul" for n in view.graph.nodes) == 2


# ---- tensors ---------------------------------------------------------------------------------------------------------


def test_images_are_found():
    assert [i.shape for i in images_of(np.zeros((5, 1, 8, 9)))] == [(8, 9)] * 5
    assert [i.shape for i in images_of(np.zeros((3, 8, 9)))] == [(8, 9, 3)]
    assert [i.shape for i in images_of(np.zeros((2, 8, 9)))] == [(8, 9)] * 2
    assert images_of(np.zeros(7)) == images_of(np.zeros((4, 1))) == images_of(np.zeros((2000, 2000))) == []


def test_a_png_holds_its_pixels():
    pixels = (np.arange(12, dtype=np.uint8) * 20).reshape(3, 4)
    data = png_of(pixels)
    start = data.index(b"IDAT")
    length = int.from_bytes(data[start - 4 : start], "big")
    raw = np.frombuffer(zlib.decompress(data[start + 4 : start + 4 + length]), np.uint8).reshape(3, 5)
    assert (raw[:, 1:] == pixels).all()
    assert int.from_bytes(data[start + 4 + length : start + 8 + length], "big") == zlib.crc32(
        data[start : start + 4 + length]
    )
    assert grey(np.array([[0.0, np.nan, 2.0]]), 0, 2).tolist() == [[0, 0, 255]]


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.int8, ms.bool_, ms.complex64])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (2, 3, 4, 4)])
def test_any_tensor_is_shown(dtype, shape):
    view = ms.show.tensor(ops.ones(shape, dtype))
    ET.fromstring(view.svg)
    assert f"[{','.join(map(str, shape))}] on CPU" in view.text
    with pytest.raises(ArgumentError, match="not list"):
        ms.show.tensor([1])


def test_extreme_values_are_shown():
    view = TensorView(ms.Tensor(np.array([-3e38, 3e38, np.nan, np.inf, 1.0], np.float32)))
    ET.fromstring(view.svg)
    assert "1 NaN, 1 infinite" in view.text


# ---- graphviz --------------------------------------------------------------------------------------------------------


def test_dot_holds_every_box_and_edge_once(tmp_path):
    view = ms.show.grad(lambda x: ops.tanh(x).sum(), X)
    text = view.dot
    for box in view.picture.walk():
        assert f'"{box.id}"' in text
    assert text.count("{") == text.count("}")
    assert (tmp_path / "v.dot").write_text(text) == len(open(view.save(tmp_path / "w.dot")).read())
    with pytest.raises(ValueError, match="a view is saved as"):
        ms.show.tensor(X).save(tmp_path / "v.dot")


def test_dot_quotes_hostile_names():
    def fn(x):
        return x + 1

    fn.__name__ = 'a"b\n\\c\x00'
    assert r"a\"b" in ms.show.ir(fn, X).dot
    assert "\x00" not in ms.show.ir(fn, X).dot


@pytest.mark.parametrize(
    ("script", "words"),
    [(None, "not installed"), ("sleep 5", "no layout within"), ("exit 1", "failed"), ("echo nothing", "no picture")],
)
def test_without_graphviz_the_built_in_drawing_is_shown(tmp_path, monkeypatch, notices, script, words):
    if script is not None:
        program = tmp_path / "dot"
        program.write_text(
            f"#!/bin/sh\nPATH=/usr/bin:/bin exec {script}\n" if "exit" not in script else "#!/bin/sh\nexit 1\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(tmp_path))
    view = ms.show.ir(lambda x: x + 1, X)
    assert view.graphviz(limit=0.3) == view.svg
    assert len(notices) == 1
    assert words in notices[0]


def test_graphviz_is_used_where_it_is(tmp_path, monkeypatch):
    program = tmp_path / "dot"
    program.write_text("#!/bin/sh\necho '<?xml?><svg>drawn</svg>'\n")
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert ms.show.ir(lambda x: x + 1, X).graphviz().strip() == "<svg>drawn</svg>"
    assert dot_of(picture_of(ms.show.ir(Small(), X).graph)).startswith("digraph {")


# ---- plots -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "log"), [(0, 1, False), (-3, 1e6, False), (1e-9, 1e3, True), (5, 5, False), (2, 2, True)]
)
def test_scales_are_monotone_with_round_ticks(low, high, log):
    scale = Scale(low, high, 0.0, 100.0, log)
    found = [scale(v) for v in np.linspace(low, high, 7)]
    assert found == sorted(found)
    assert 0 <= min(found) <= max(found) <= 100
    assert len(scale.ticks()) <= 12
    assert all(math.isfinite(float(tick_word(t))) for t in scale.ticks())


def test_empty_panels_are_left_out():
    svg = curves_svg("t", [Panel("hidden", [Curve("c", [], [])]), Panel("one", [Curve("d", [1], [2.0])])], "x")
    ET.fromstring(svg)
    assert "hidden" not in svg
    ET.fromstring(curves_svg("t", [], "x"))


def test_names_at_the_ends_of_curves_do_not_hit_each_other():
    curves = [Curve(f"c{i}", [0, 1], [0.0, 1.0 + i / 1000]) for i in range(6)]
    svg = curves_svg("t", [Panel("y", curves)], "x")
    heights = sorted(float(y) for y in re.findall(r'y="([\d.]+)"[^>]*font-weight="600"[^>]*>c\d', svg))
    assert len(heights) == 6
    assert min(b - a for a, b in zip(heights, heights[1:])) >= 11.9


def test_layers_in_lists_have_numbers_of_their_own():
    class Towers(nn.Cell):
        def __init__(self, two):
            super().__init__()
            self.left = nn.CellList([nn.Dense(3, 3), nn.Dense(3, 4)])
            self.right = nn.CellList([nn.Dense(4, 4)]) if two else None

        def construct(self, x):
            for layer in [*self.left, *(self.right or ())]:
                x = layer(x)
            return x

    one = {layer.name: layer for layer in Towers(False).summary((2, 3)).layers}
    assert one["left.1"].output == "f32[2,4]"
    assert one["left"].flops == 0 < one["left.0"].flops
    both = {layer.name: layer for layer in Towers(True).summary((2, 3)).layers}
    assert min(both[name].flops for name in ("left.0", "left.1", "right.0")) > 0


# ---- kernels ---------------------------------------------------------------------------------------------------------


def fused(x, w):
    return (ops.relu(x * w) + 1.0).sum()


@pytest.fixture
def machine_code():
    pytest.importorskip("llvmlite")
    with ms.set_context(jit_level="O1"):
        yield


def test_kernels_are_listed_down_to_assembly(machine_code):
    x = ops.ones((64, 128))
    view = ms.show.kernels(fused, x, x)
    assert [w.how for w in view.ways] == ["generated kernel k0"]
    (one,) = view.listings
    assert "load a0" in one.kernel
    assert "define" in one.code
    assert "fmul" in one.code
    assert "k0.body:" in one.assembly
    assert "define" not in view.text + json.dumps(view.json), "what differs between processors is not compared"
    assert "k0: assembly of this processor" in view.html
    ET.fromstring(view.svg)
    pytest.importorskip("jsonschema").Draft202012Validator(JSON_SCHEMA).validate(json.loads(json.dumps(view.json)))
    assert ms.show.kernels(fused, x, x).text == view.text


def test_every_node_has_a_way(machine_code):
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Dense(4 * 64, 3))
    view = ms.show.kernels(net, ops.ones((2, 1, 8, 8)))
    assert len(view.ways) == sum(n.op.name != "constant" for n in view.graph.nodes)
    assert all(w.how for w in view.ways)
    gradient = ms.show.kernels(fused, ops.ones((4, 4)), ops.ones((4, 4)), gradient=True)
    assert gradient.listings


def test_without_machine_code_the_view_says_so():
    with ms.set_context(jit_level="O0"):
        view = ms.show.kernels(fused, X, X)
    assert view.listings == view.ways == []
    assert "jit_level='O1'" in view.text
    ET.fromstring(view.svg)


def test_explain_holds_kernels_on_request(machine_code):
    f = ms.jit(fused)
    f(ops.ones((8, 8)), ops.ones((8, 8)))
    assert "load a0" not in ms.show.explain(f).text
    found = ms.show.explain(f, kernels=True)
    assert "load a0" in found.text
    assert "LLVM IR" in found.html


def test_rewrites_of_fusion_count_as_changes(machine_code):
    names = [row[0] for row in ms.show.passes(fused, ops.ones((8, 8)), ops.ones((8, 8)), only_changed=True).rows]
    assert names[-1] == "fuse"


# ---- imports ---------------------------------------------------------------------------------------------------------


@pytest.mark.long
def test_looking_at_a_program_imports_neither_training_nor_planning():
    program = (
        "import sys, msnb as ms; ms.show.ir(ms.nn.ReLU(), ms.Tensor([1.0])); "
        "late = ('msnb.train', 'msnb.parallel.plans.plan', 'IPython', 'llvmlite', 'scipy'); "
        "print([m for m in late if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_page_on_pictures_names_every_view():
    page = (Path(__file__).resolve().parents[2] / "docs" / "pictures.md").read_text(encoding="utf-8")
    helpers = {"as_graph", "graph", "watching"}
    views = [n for n in ms.show.__all__ if n[0].islower() and n not in helpers]
    assert [name for name in views if f"`{name}" not in page] == []


# ---- tensors in a cell -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "images"),
    [
        ((28, 28), True),
        ((3, 32, 32), True),
        ((5, 1, 8, 8), True),
        ((64, 3, 3, 3), False),
        ((7,), False),
        ((4, 4), False),
    ],
)
def test_image_like_tensors_bring_their_images(shape, images):
    found = tensor_with_images(ops.ones(shape))
    assert ("data:image/svg+xml" in found) == images
    assert ops.ones(shape)._repr_html_() in found
    assert not re.search(r"<(script|style|svg)", found)
    assert len(tensor_with_images(ops.ones((64, 1, 28, 28)))) < 60_000


# ---- hostile names ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "word", ["<script>alert(1)</script>", '"><img onerror=x>', "a\nb\x00c", "\u202eright to left", "n" * 10_000],
    ids=["script", "image", "control", "direction", "long"],
)  # fmt: skip
def test_hostile_names_do_nothing(word, tmp_path):
    class Outer(nn.Cell):
        def __init__(self):
            super().__init__()
            self.fc = nn.Dense(64, 64)
            self.fc.weight.name = word

        def construct(self, x):
            return self.fc(x)

    Outer.__name__ = Outer.__qualname__ = word.replace("\x00", "")
    net, x = Outer(), ops.ones((512, 64))
    flow, curves = ms.show.flow(net), ms.show.curves(word)
    flow.record([ops.ones((64, 64)), ops.ones((64,))])
    curves.record(**{word: 1.0})
    found = [
        ms.show.roofline(net, x), ms.show.plan(net, x, device_num=4), ms.show.eager(net, x), ms.show.kernels(net, x),
        flow, curves, ms.show.tensor(x, word), ms.show.ir(net, x),
    ]  # fmt: skip
    for view in found:
        bundle = view._repr_mimebundle_()
        for figure in [bundle["image/svg+xml"], *view.figures]:
            ET.fromstring(figure)
            assert "\x00" not in figure
            assert "\u202e" not in figure
        assert "<script" not in bundle["text/html"] + bundle["image/svg+xml"]
        assert "<img onerror" not in bundle["text/html"] + bundle["image/svg+xml"]
        assert len(bundle["image/svg+xml"]) < 60_000
        assert "<script" not in net.summary((4, 64))._repr_html_()
    assert "\x00" not in found[-1].dot


# ---- the arena of a compiled program -------------------------------------------------------------------------------


def test_what_lives_together_lies_apart():
    pytest.importorskip("llvmlite")
    net = nn.SequentialCell(nn.Dense(64, 128), nn.ReLU(), nn.Dense(128, 10))
    x = ms.Tensor(np.ones((32, 64), np.float32))
    with ms.set_context(jit_level="O1"):
        view = ms.show.mem(lambda x: (net(x) ** 2).sum(), x, gradient=True, arena=True)
    assert len(view.values) > 3
    for k, a in enumerate(view.values):
        assert a.offset + a.bytes <= view.size
        for b in view.values[:k]:
            together = a.first <= b.last and b.first <= a.last
            assert not together or a.offset + a.bytes <= b.offset or b.offset + b.bytes <= a.offset, (a, b)
    assert max(view.live) <= view.size < sum(v.bytes for v in view.values)
    assert view.holders[0].name in view.text and view.svg.count("<title>") == len(view.values)


def test_without_native_code_there_is_no_arena():
    with ms.set_context(jit_level="O0"):
        view = ms.show.mem(lambda x: ms.ops.exp(x).sum(), ms.Tensor([1.0]), arena=True)
    assert view.values == [] and "jit_level='O1'" in view.text
    assert view.svg.startswith("<svg")
