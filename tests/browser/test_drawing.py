"""The renderer by itself, in an empty page: it draws what the kernel draws, and takes whatever JSON it is given.

The built file is loaded with stand-ins for the modules that JupyterLab would share, so each case takes milliseconds.
"""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser_harness import ROOT, Heard, listened
from hypothesis import given, settings, strategies as st

sys.path.insert(0, str(ROOT / "tests" / "graph" / "compile"))
from pages import expect_at_least
from random_programs import Program

import msnb as ms
from msnb import nn
from msnb.notebook.drawing.gradient_columns import lay_out_sheet
from msnb.notebook.drawing.layered_layout import Drawing
from msnb.notebook.drawing.svg_renderer import legend_entries
from msnb.notebook.views.view import MIME, GraphView, View

BUILT = ROOT / "extensions" / "msnb-lab" / "labextension"
STAND_INS = """
class Widget {
  constructor(o) { this.node = o?.node ?? document.createElement('div'); this.title = {}; this.isAttached = true; }
  addClass(name) { this.node.classList.add(name); }
  dispose() {}
}
const primitive = key => key === Symbol.toPrimitive;
const any = new Proxy(function () {}, { get: (_, key) => primitive(key) ? () => '' : any, apply: () => any });
const shared = { '@lumino/widgets': { Widget, Panel: Widget }, '@codemirror/state': any, '@codemirror/view': any };
window._JUPYTERLAB['msnb-lab'].init(Object.fromEntries(
  Object.entries(shared).map(([name, module]) => [name, { '1.0.0': { get: async () => () => module } }])));
window.draw = async data => {
  const { default: mime } = (await window._JUPYTERLAB['msnb-lab'].get('./mimeExtension'))();
  const output = mime.rendererFactory.createRenderer();
  document.body.replaceChildren(output.node);
  await output.renderModel({ data, trusted: false });
  return output.node.firstElementChild?.className ?? '';
};
"""
RECTS = """() => [...document.querySelector('.msnb-svg').querySelectorAll('.msnb-node')].flatMap(g => {
  const r = g.querySelector(':scope > .msnb-outline:not(.msnb-under)');
  const open = g.classList.contains('msnb-frame-title');
  return r && !open ? [[g.dataset.id, ...['x', 'y', 'width', 'height'].map(a => Number(r.getAttribute(a)))]] : [];
})"""


@pytest.fixture(scope="module")
def drawn(context: Any) -> Iterator[tuple[Any, Heard]]:
    page, heard = listened(context)
    page.goto("about:blank")
    page.add_script_tag(content=next(BUILT.glob("static/remoteEntry.*.js")).read_text())
    page.add_script_tag(content=STAND_INS)
    yield page, heard
    page.close()


def draw(drawn: tuple[Any, Heard], bundle: Any, **others: str) -> str:
    """Draw a view's JSON; ``others`` are further representations of the output."""
    page, heard = drawn
    name = str(page.evaluate("data => window.draw(data)", {MIME: bundle, "text/plain": "text", **others}))
    assert heard.errors == []
    return name


def draw_output(drawn: tuple[Any, Heard], view: View) -> str:
    """Draw all that a cell stores of a view."""
    bundle = json.loads(json.dumps(view._repr_mimebundle_()))
    return draw(drawn, bundle.pop(MIME), **bundle)


def rects(drawing: Drawing, x: float, y: float) -> Iterator[tuple[str, float, float, float, float]]:
    """Where Python puts every visible box."""
    for p in drawing.boxes:
        if p.inner is not None:
            yield from rects(p.inner, x + p.x, y + p.y)
        elif p.box.kind not in ("in", "out"):
            yield p.box.id, x + p.x, y + p.y, p.w, p.h
        for _, left, top, inner in p.inside:
            yield from rects(inner, x + p.x + left, y + p.y + top)


def assert_same_places(page: Any, view: GraphView) -> None:
    sheet = lay_out_sheet(view.parts[0])
    wanted = {i: xywh for left, top, d in sheet.columns for i, *xywh in rects(d, left + 8, top + 8)}
    found = {i: xywh for i, *xywh in page.evaluate(RECTS)}
    assert found.keys() == wanted.keys()
    for name, place in wanted.items():
        assert found[name] == pytest.approx(place, abs=0.11), f"box {name}"


class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1, self.fc2, self.act = nn.Dense(4, 8), nn.Dense(8, 4), nn.Tanh()

    def construct(self, x):
        return self.fc2(self.act(self.fc1(x))) + x


class Deep(nn.Cell):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.SequentialCell([Block() for _ in range(depth)])

    def construct(self, x):
        return self.blocks(x).sum()


def test_random_programs_stand_where_python_puts_them(drawn, rng):
    seed = int(rng.integers(2**31))
    for k in range(25):
        view = GraphView(Program(np.random.default_rng([seed, k])).main())
        draw(drawn, json.loads(json.dumps(view.json)))
        assert_same_places(drawn[0], view)


@pytest.mark.parametrize("depth", [1, 2, 6])
def test_gradients_stand_where_python_puts_them(drawn, depth):
    view = ms.show.grad(Deep(depth), ms.Tensor(np.ones((2, 4), np.float32)))
    draw(drawn, json.loads(json.dumps(view.json)))
    assert_same_places(drawn[0], view)
    kept = drawn[0].locator(".msnb-kept path:not(.msnb-head)").count()
    assert kept == len(view.parts[0].kept)


def test_forty_boxes_show_of_five_thousand(drawn):
    from msnb.ir.text.parser import parse

    text = "graph f(x: f32[2]) -> (f32[2])\n" + "".join(
        f"  %{i} = exp({'x' if i == 1 else f'%{i - 1}'}) : f32[2]\n" for i in range(1, 5001)
    )
    view = GraphView(parse(text + "  return %5000"))
    draw(drawn, json.loads(json.dumps(view.json)))
    page = drawn[0]
    assert 10 < page.locator(".msnb-node").count() <= 40
    closed = page.locator('.msnb-look-group[aria-expanded="false"]')
    closed.first.evaluate("e => e.dispatchEvent(new MouseEvent('click', { bubbles: true }))")
    expect_at_least(page.locator(".msnb-frame-title"), 1)


def test_a_number_over_a_closed_group_is_the_sum_of_what_it_holds(drawn):
    view = ms.show.grad(Deep(12), ms.Tensor(np.ones((2, 4), np.float32)))
    bundle = json.loads(json.dumps(view.json))
    draw(drawn, bundle)
    page = drawn[0]
    page.locator("select.msnb-select").select_option("memory")
    groups = [b for b in view.parts[0].walk() if b.kind == "group" and not b.open and b.inside is not None]
    shown = page.locator(".msnb-look-group.msnb-hot").first
    group = next(b for b in groups if b.id == shown.get_attribute("data-id"))
    numbers = bundle["overlays"]["memory"]["nodes"]
    total = sum(numbers.get(b.id, 0) for b in group.inside.walk() if b.kind == "node")
    word = f"{total} B" if total < 1024 else f"{float(f'{total / 1024:.3g}'):g} KB"
    assert f"bytes of results {word}" in shown.get_attribute("aria-label")


def test_every_stored_figure_is_shown(drawn):
    """What a view is made of beside a program: queues and buffers of a core, timeline, memory and mesh of a plan."""
    x = ms.Tensor(np.ones((8, 4), np.float32))
    plan = ms.parallel.plan(Deep(1), x, device_num=4)
    views = [ms.show.aicore(64, 64, 64), ms.show.plan(plan), ms.show.plan(plan, view="timeline"),
             ms.show.roofline(Deep(1), x)]  # fmt: skip
    for view in views:
        draw_output(drawn, view)
        images, programs = drawn[0].locator("img.msnb-image"), int(view is views[1])
        assert images.count() == len(view.figures) - programs, view.kind
        widths = images.evaluate_all("all => Promise.all(all.map(i => i.decode().then(() => i.naturalWidth)))")
        assert min(widths) > 50
        assert drawn[0].locator(".msnb-svg").count() == programs


def test_a_stored_page_brings_nothing_but_images(drawn):
    page = drawn[0]
    markup = '<img onerror="window.pwned=1" src="https://example.org/x.png"><script>window.pwned=1</script>'
    bundle = {"schema": "msnb.graph", "version": 1, "kind": "aicore", "title": "t", "nodes": [], "edges": []}
    draw(drawn, bundle, **{"text/html": markup + "<img src=\"data:image/svg+xml;base64,AA'onload='x\">"})
    assert page.locator(".msnb-view :is(img, script)").count() == 0
    assert page.evaluate("window.pwned") is None


def test_tiny_numbers_have_a_power_of_ten(drawn):
    x, weight = ms.Tensor(np.ones((2, 4), np.float32)), np.full((4, 8), 1e-6, np.float32)
    net = Deep(1)
    net.blocks[0].fc2.weight.set_data(ms.Tensor(weight))
    draw(drawn, json.loads(json.dumps(ms.show.grad(net, x, norms=True).json)))
    words = drawn[0].locator(".msnb-badge").all_text_contents()
    assert any("e-" in word for word in words)
    assert not any("0.0000" in word for word in words)


def test_nothing_depends_on_the_order_of_keys(drawn):
    """A stored notebook has its keys in the order of the alphabet."""
    view = ms.show.grad(Deep(1), ms.Tensor(np.ones((2, 4), np.float32)), norms=True)
    seen = []
    for bundle in (view.json, json.loads(json.dumps(view.json, sort_keys=True))):
        draw(drawn, bundle)
        page = drawn[0]
        heads = page.locator("th").all_text_contents()
        seen.append((page.locator("select.msnb-select").input_value(), heads, page.locator(".msnb-hot").count()))
    assert seen[0] == seen[1]
    assert seen[0][0] == "norm"
    assert seen[0][1][0] == "layer"


def test_other_versions_are_refused_with_a_sentence(drawn):
    assert draw(drawn, {"schema": "msnb.graph", "version": 2}) == "msnb-error"
    assert "reads version 1" in drawn[0].locator(".msnb-error").inner_text()
    assert draw(drawn, {"schema": "other"}) == "msnb-error"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 10**9) | st.floats(-1e6, 1e6) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
KEYS = ["id", "kind", "title", "lines", "family", "loc", "ports", "bodies", "inside", "open", "size", "heat", "mark"]
NODE = st.dictionaries(st.sampled_from(KEYS), JSON, max_size=9).map(lambda n: {"id": "0", **n})
TOP = ["nodes", "edges", "columns", "kept", "calls", "data", "overlays", "notes", "truncated", "upwards"]
KIND = st.sampled_from(["graph", "passes", "step", "memory", "x"])
NAME = st.sampled_from("012")
PICTURE = st.fixed_dictionaries(
    {"schema": st.just("msnb.graph"), "version": st.just(1), "kind": KIND, "title": JSON},
    optional={
        **{key: JSON for key in TOP},
        "nodes": st.lists(NODE | JSON, max_size=5),
        "edges": st.lists(st.tuples(NAME, NAME, st.integers(-2, 9), JSON) | JSON, max_size=8),
    },
)


@settings(max_examples=80)
@given(bundle=PICTURE)
def test_any_json_is_drawn_or_refused(drawn, bundle):
    """A malformed bundle never throws, never becomes markup; it is drawn as far as it makes sense."""
    assert draw(drawn, bundle) in ("msnb-view", "msnb-error")
    assert drawn[0].locator(":is(script, iframe, a[href], [onload], [onerror])").count() == 2, "our two test scripts"


def test_the_saved_picture_and_the_live_one_have_the_same_words(drawn):
    """Structure instead of pixels: every word of the static SVG's boxes is in the live picture, and the reverse."""
    view = ms.show.ir(Deep(2), ms.Tensor(np.ones((2, 4), np.float32)))
    draw(drawn, json.loads(json.dumps(view.json)))
    live = drawn[0].locator(".msnb-svg text").all_text_contents()
    words = [re.sub("^[▾▸] ", "", w) for w in live]
    saved = [t.text or "" for t in ET.fromstring(view.svg).iter("{http://www.w3.org/2000/svg}text")]
    legend = {word for _, word, _ in legend_entries(view.parts[0])}
    assert set(words) == set(saved[1:]) - (legend - set(words))
    entries = drawn[0].locator(".msnb-legend .msnb-entry").all_text_contents()
    assert set(entries) == legend


def _layer(x, w):
    return ms.ops.relu(ms.ops.matmul(x, w)).sum(0)


def test_a_plan_is_painted_by_layout(drawn):
    x, w = (ms.Tensor(np.ones(shape, np.float32)) for shape in ((64, 128), (128, 32)))
    given = {"matmul": ((2, 1), (1, 2))}
    plan = ms.parallel.plan(_layer, x, w, device_num=4, parallel_mode="semi_auto_parallel", strategies=given)
    view = ms.show.plan(plan)
    draw(drawn, json.loads(json.dumps(view.json)))
    tints = sorted({b.tint for b in view.picture.walk() if b.tint is not None})
    assert len(tints) > 1
    entries = drawn[0].locator(".msnb-legend .msnb-entry").all_text_contents()
    assert set(entries) == {word for _, word, _ in legend_entries(view.picture)}
    read = "l => l.map(e => [...e.classList].find(c => c.includes('look')))"
    looks = drawn[0].locator(".msnb-node").evaluate_all(read)
    assert len(set(looks)) >= len(tints)


def test_the_built_files_are_small():
    files = [p for p in Path(BUILT).rglob("*") if p.is_file()]
    assert {p.suffix for p in files} == {".js", ".json"}
    assert sum(p.stat().st_size for p in files) < 300_000
