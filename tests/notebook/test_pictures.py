"""Parts, layout and SVG: everything that is in the program is in the picture, nothing overlaps, labels are escaped."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "graph" / "compile"))
from random_programs import Program

import msnb as ms
from msnb import nn
from msnb.core import dtypes
from msnb.core.types import tensor_type
from msnb.ir.graph import Graph
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import print_graph
from msnb.notebook.drawing.bundle_schema import JSON_SCHEMA
from msnb.notebook.drawing.graph_picture import picture_of
from msnb.notebook.drawing.layered_layout import Drawing, lay_out
from msnb.notebook.drawing.node_groups import is_drawn
from msnb.notebook.drawing.picture_tree import Picture, as_json, capped_json
from msnb.notebook.drawing.svg_renderer import svg_of
from msnb.notebook.views.view import MIME, GraphView
from msnb.ops.elementwise.arithmetic import add

F3 = tensor_type((3,), dtypes.float32)
NASTY = "<script>alert('x')</script>&\"`"
LOOP = """\
graph f(n: i64[], x: f32[2], w: f32[2] state) -> (f32[2], w)
  %1, %2 = while(n, x, w, n_carry=2) : i64[], f32[2]            # Net/loop   cell [3] line 4
    cond (n: i64[], y: f32[2], w: f32[2]): %1 = greater(n, ~1) : bool[] ; yield %1
    body (n: i64[], y: f32[2], w: f32[2]):
      %1 = subtract(n, ~1) : i64[]
      %2 = add(y, w) : f32[2]
      yield %1, %2
  %3 = call(%2, callee="g") : f32[2]
  return %3, %2

graph g(x: f32[2]) -> (f32[2])
  %1 = exp(x) : f32[2]
  return %1"""


def nasty() -> Graph:
    g = Graph(NASTY)
    x = g.add_param(F3, NASTY)
    node = g.add(add, [x, x], {}, [F3])
    node.scope, node.why, node.out.name = f"Net/{NASTY}", NASTY, NASTY
    g.outputs = [node.out]
    return g


def test_parts_say_what_the_program_says():
    boxes = {b.title: b for b in picture_of(parse(LOOP)).boxes}
    assert list(boxes) == ["n", "x", "w", "while", "call g", "result 0", "new w"]
    assert boxes["w"].kind == "state"
    assert boxes["while"].origin.loc[:2] == ("cell [3]", 4)
    assert (boxes["while"].origin.scope, boxes["while"].origin.place) == ("Net/loop", "cell [3] line 4")
    assert [f.label for f in boxes["while"].frames] == ["cond", "body"]
    assert [b.title for b in boxes["while"].frames[0].picture.boxes] == ["n", "greater", "result"]
    assert boxes["while"].frames[0].picture.boxes[1].lines == ["y=~1", "bool[]"]


def chain(length: int) -> Graph:
    text = "graph f(x: f32[2]) -> (f32[2])\n" + "".join(
        f"  %{i} = exp({'x' if i == 1 else f'%{i - 1}'}) : f32[2]\n" for i in range(1, length + 1)
    )
    return parse(text + f"  return %{length}")


@pytest.mark.parametrize("length", [38, 50, 1000])
def test_big_programs_are_closed_to_forty_boxes_and_hold_every_node(length):
    picture = picture_of(chain(length))
    assert picture.shown() <= 40
    assert picture.size() == length + 2
    assert any(b.kind == "group" for b in picture.boxes) == (length > 40)
    drawing = lay_out(picture)
    assert overlaps(drawing) == []
    edges_touch_their_boxes(drawing)


def overlaps(drawing: Drawing) -> list[tuple[str, str]]:
    found = []
    for i, a in enumerate(drawing.boxes):
        assert 0 <= a.x
        assert a.x + a.w <= drawing.w
        assert 0 <= a.y
        assert a.y + a.h <= drawing.h
        if a.inner is not None:
            assert (a.inner.w, a.inner.h) == (a.w, a.h)
            found += overlaps(a.inner)
        for _, x, y, inner in a.inside:
            assert x >= 0
            assert x + inner.w <= a.w + 0.01
            assert y + inner.h <= a.h + 0.01
            found += overlaps(inner)
        for b in drawing.boxes[:i]:
            if a.x < b.x + b.w - 0.01 and b.x < a.x + a.w - 0.01 and a.y < b.y + b.h and b.y < a.y + a.h:
                found.append((a.box.id, b.box.id))
    return found


def edges_touch_their_boxes(drawing: Drawing) -> None:
    at = {p.box.id: p for p in drawing.boxes}
    joined = {(e.source, e.target) for e in drawing.picture.edges}
    assert {(c.edge.source, c.edge.target) for c in drawing.curves} == joined
    for curve in drawing.curves:
        source, target = at[curve.edge.source], at[curve.edge.target]
        (x0, y0), (x1, y1) = curve.points[0], curve.points[-1]
        up = drawing.picture.upwards
        assert source.x <= x0 <= source.x + source.w
        assert y0 == pytest.approx(source.y if up else source.y + source.h)
        assert target.x <= x1 <= target.x + target.w
        assert y1 == pytest.approx(target.y + target.h if up else target.y)
        assert all(a[1] <= b[1] or up for a, b in zip(curve.points, curve.points[1:])), "edges go down"
        assert all(a[1] >= b[1] or not up for a, b in zip(curve.points, curve.points[1:])), "or up"
    for p in drawing.boxes:
        if p.inner is not None:
            edges_touch_their_boxes(p.inner)


@pytest.mark.long
def test_random_programs_are_drawn_without_overlap(rng):
    seed = int(rng.integers(2**31))
    for k in range(40):
        graph = Program(np.random.default_rng([seed, k])).main()
        drawing = lay_out(picture_of(graph))
        assert overlaps(drawing) == [], f"seed {[seed, k]}"
        edges_touch_their_boxes(drawing)
        ET.fromstring(svg_of(picture_of(graph)))


def test_drawings_repeat():
    graph = Program(np.random.default_rng(1)).main()
    again = Program(np.random.default_rng(1)).main()
    assert svg_of(picture_of(graph)) == svg_of(picture_of(again))


def test_a_chain_is_straight():
    drawing = lay_out(picture_of(parse(
        "graph f(x: f32[2]) -> (f32[2])\n  %1 = exp(x) : f32[2]\n  %2 = tanh(%1) : f32[2]\n  return %2")))  # fmt: skip
    centers = [p.x + p.w / 2 for p in drawing.boxes]
    assert max(centers) - min(centers) < 0.01
    assert [p.box.title for p in sorted(drawing.boxes, key=lambda p: p.y)] == ["x", "exp", "tanh", "result"]


def test_an_empty_program_has_a_picture():
    ET.fromstring(svg_of(picture_of(Graph("empty"))))
    ET.fromstring(svg_of(Picture("nothing")))


def test_labels_are_escaped():
    view = GraphView(nasty(), NASTY, notes=[NASTY])
    root = ET.fromstring(view.svg)
    assert any("alert" in (t.text or "") for t in root.iter("{http://www.w3.org/2000/svg}text"))
    assert "<script" not in view.svg
    assert "<script" not in view.html
    assert json.loads(json.dumps(view.json))["nodes"][0]["title"] == NASTY


def test_html_survives_an_untrusted_notebook():
    """Scripts, styles, inline SVG, ids and data attributes would be stripped."""
    view = GraphView(parse(LOOP))
    assert not re.search(r"<(script|style|svg|iframe|object)|\sid=|\sdata-", view.html)
    assert view.html.count('<img alt="graph of f"') == 2
    assert 'src="data:image/svg+xml;base64,' in view.html
    assert "<details><summary>IR</summary>" in view.html


def test_bundle():
    bundle = GraphView(parse(LOOP))._repr_mimebundle_()
    assert list(bundle) == [MIME, "text/html", "image/svg+xml", "text/plain"]
    assert bundle["text/plain"] == print_graph(parse(LOOP))
    assert bundle[MIME]["schema"] == "msnb.graph"
    assert [c["title"] for c in bundle[MIME]["calls"]] == ["g"]
    assert bundle[MIME]["nodes"][3]["bodies"][1]["label"] == "body"
    json.dumps(as_json(picture_of(parse(LOOP))))


@pytest.mark.parametrize("ending", ["svg", "html", "txt", "ir", "json"])
def test_save(tmp_path, ending):
    view = GraphView(parse(LOOP))
    text = Path(view.save(tmp_path / f"f.{ending}")).read_text()
    expected = {"svg": view.svg, "txt": view.text, "ir": view.text}
    assert text == expected.get(ending, text)
    assert text


def test_save_refuses_other_endings(tmp_path):
    with pytest.raises(ValueError, match=r"saved as \.svg, \.html"):
        GraphView(parse(LOOP)).save(tmp_path / "f.png")
    assert not list(tmp_path.iterdir())


# ---- groups and sides ------------------------------------------------------------------------------------------------


class Block(nn.Cell):
    def __init__(self, width):
        super().__init__()
        self.fc1, self.fc2, self.act = nn.Dense(width, width), nn.Dense(width, width), nn.Tanh()

    def construct(self, x):
        return self.act(self.fc2(self.act(self.fc1(x)))) + x


class Deep(nn.Cell):
    def __init__(self, depth):
        super().__init__()
        self.blocks = nn.SequentialCell([Block(4) for _ in range(depth)])

    def construct(self, x):
        return self.blocks(x).sum()


def training_graph(depth):
    return ms.show.grad(Deep(depth), ms.Tensor(np.ones((2, 4), np.float32)))


@pytest.mark.parametrize("depth", [1, 3, 40])
def test_gradients_stand_beside_what_they_belong_to(depth):
    view = training_graph(depth)
    picture = view.parts[0]
    assert [c.title for c in picture.columns] == ["forward", "backward"]
    assert [c.upwards for c in picture.columns] == [False, True]
    assert 0 < picture.shown() <= 40
    kept = {e.source for e in picture.kept}
    assert kept
    visible = {b.id for c in picture.columns for b in shown_boxes(c)}
    assert kept | {e.target for e in picture.kept} <= visible
    assert svg_of(picture).count('stroke-dasharray="5 3"') == len(picture.kept) + 1, "each line, and the legend"
    for column in picture.columns:
        drawing = lay_out(column)
        assert overlaps(drawing) == []
        edges_touch_their_boxes(drawing)


def shown_boxes(picture):
    for box in picture.boxes:
        yield from shown_boxes(box.inside) if box.open else [box]


def test_groups_are_cells_and_hold_all_nodes():
    view = training_graph(3)
    forward = view.parts[0].columns[0]
    assert [b.title for b in forward.boxes if b.kind == "group"] == ["0", "1", "2"]
    assert [b.title for b in forward.boxes[1].inside.boxes if b.kind == "group"] == ["fc1", "fc2"]
    ids = [b.id for c in view.parts[0].columns for b in c.walk() if b.kind in ("node", "constant")]
    drawn = [str(i) for i, n in enumerate(view.graph.nodes) if is_drawn(n)]
    assert sorted(ids, key=int) == drawn, "every node stands once"


def test_every_edge_is_drawn_through_the_borders():
    """Following pieces through ports, each value still reaches each of its readers."""
    picture = training_graph(2).parts[0]
    nodes = training_graph(2).graph.nodes
    for column in picture.columns:
        inside = {b.id for b in column.walk() if b.kind == "node"}
        wanted = {
            (str(nodes.index(v.node)), str(i))
            for i, n in enumerate(nodes)
            for v in n.inputs
            if v.node is not None and str(i) in inside and str(nodes.index(v.node)) in inside
        }
        assert {(a, b) for a, b in reached(column) if a in inside and b in inside} == wanted


def reached(picture):
    """Pairs of boxes that an edge joins, through the ports of groups."""
    follow = {}
    groups = [picture, *(b.inside for b in picture.walk() if b.kind == "group")]
    boxes = {b.id: b for b in picture.walk()}
    for g in groups:
        for e in g.edges:
            source, target = boxes[e.source], boxes[e.target]
            outs = [b.id for b in source.inside.boxes if b.kind == "out"] if source.kind == "group" else []
            ins = [b.id for b in target.inside.boxes if b.kind == "in"] if target.kind == "group" else []
            start = outs[e.leaving] if outs else e.source
            follow.setdefault(start, set()).add(ins[e.port] if ins else e.target)
    found = set()
    for start, box in boxes.items():
        if box.kind != "node":
            continue
        queue = list(follow.get(start, ()))
        while queue:
            at = queue.pop()
            if boxes[at].kind in ("in", "out"):
                queue += follow.get(at, ())
            else:
                found.add((start, at))
    return found


def test_closed_groups_have_pictures_of_their_own():
    view = training_graph(12)
    assert "Closed groups" in view.html
    assert view.html.count("<figure") > 10
    assert len(view.html) < 1_000_000
    assert len(json.dumps(view.json)) <= 1_000_000


@pytest.mark.long
def test_bundles_of_big_programs_stay_below_a_megabyte():
    view = GraphView(chain(5000))
    bundle = view._repr_mimebundle_()
    assert sum(len(json.dumps(part)) for part in bundle.values()) < 1_000_000
    assert bundle["text/plain"].endswith(" more lines; .text and .save have all of it")
    assert view.text.endswith("return %5000")


def test_json_is_capped_by_closing_the_deepest_groups():
    picture = training_graph(12).parts[0]
    full = len(json.dumps(as_json(picture)))
    for limit in (full, full // 2, 5000, 300):
        out = capped_json(picture, limit)
        schema = pytest.importorskip("jsonschema").Draft202012Validator(JSON_SCHEMA)
        schema.validate(json.loads(json.dumps(out | {"kind": "graph"})))
        assert len(json.dumps(out)) <= limit
        assert out["schema"] == "msnb.graph"
        assert ("truncated" in out) == (limit < full)


def test_an_update_stands_apart_from_the_gradient():
    net = Deep(1)
    step = ms.value_and_grad(net, None, net.trainable_params())

    def train(x):
        loss, grads = step(x)
        for p, g in zip(net.trainable_params(), grads):
            p.set_data(p - g * 0.1)
        return loss

    picture = ms.show.ir(train, ms.Tensor(np.ones((2, 4), np.float32))).parts[0]
    assert [c.title for c in picture.columns] == ["forward", "backward", "update"]
