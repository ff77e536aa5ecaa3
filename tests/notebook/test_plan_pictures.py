"""Pictures of plans: what is in the plan is in the picture, equal plans give equal pictures, names are escaped."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.notebook.charts.html_fragments import bytes_word
from msnb.notebook.parallel.plan_charts import front_svg, holdings_svg, mesh_svg, pipeline_svg, segments_svg
from msnb.parallel.partition.gradient_buckets import Gradient, segmented
from msnb.parallel.planner.pareto_front import Point
from msnb.parallel.sharding.device_mesh import Mesh
from msnb.parallel.sharding.layout import TensorLayout
from msnb.parallel.sharding.pipeline_schedule import ScheduleStage, simulated

VIEWS = ("graph", "timeline", "memory", "mesh", "segments", "front")


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(256, 1024, weight_init="zeros"), nn.Dense(1024, 256, weight_init="zeros")

    def construct(self, x):
        return ops.relu(self.b(ops.relu(self.a(x)))).mean()


def planned(**how):
    said = {"Net/a/matmul": ((8, 1), (1, 1)), "Net/relu": ((8, 1),), "Net/b/matmul": ((1, 1), (1, 8))}
    return ms.parallel.plan(Net(), ms.Tensor(np.zeros((64, 256), np.float32)), device_num=8, strategies=said, **how)


def words(svg):
    return "".join(ET.fromstring(svg).itertext())


@pytest.mark.long
@pytest.mark.parametrize("view", VIEWS)
def test_every_picture_is_drawn_alike_twice(view):
    first, again = (ms.show.plan(planned(), view=view).figures for _ in range(2))
    assert first == again and len(first) == 1
    ET.fromstring(first[0])
    if view in ("timeline", "segments", "front"):
        assert "simulated" in first[0]


def test_edges_carry_the_bytes_that_are_sent():
    view = ms.show.plan(planned(), view="graph")
    picture = view.picture
    inside = [e for box in picture.walk() if box.inside is not None for e in box.inside.edges]
    gathers = [c.sent for c in view.collectives if c.kind == "all_gather" and c.phase == "forward"]
    assert gathers[0] == 7 * 64 * 1024 * 4 // 8
    assert sorted(e.note for e in [*picture.edges, *inside] if e.note) == sorted(map(bytes_word, gathers))
    assert "224.0 KB" in words(view.svg)


def test_devices_with_the_same_part_have_the_same_colour():
    svg = mesh_svg(Mesh.over(16), "w", TensorLayout(((0,), (2,))), (8, 8))
    parts = re.findall(r"device (\d+): part (\d+)", svg)
    mesh, layout = Mesh.over(16), TensorLayout(((0,), (2,)))
    held = {int(r): layout.part(mesh, (8, 8), int(r)) for r, _ in parts}
    for r, p in parts:
        for q, o in parts:
            assert (p == o) == (held[int(r)] == held[int(q)])
    assert len(parts) == 16 and "2 x 2 parts" in svg
    assert "128 of 1024 devices shown" in mesh_svg(Mesh.over(1024), "w", TensorLayout(((),)), (8,))


def test_names_are_escaped():
    name = "<script>&\"'"
    pictures = [
        mesh_svg(Mesh.over(2), name, TensorLayout(((0,),)), (2,)),
        holdings_svg(name, [(name, {"weights": 1.0, "gradients": 0.0, "optimizer": 0.0, "activations": 2.0})]),
        segments_svg([segmented([Gradient(name, 0.0, 8.0, (0,))], Mesh.over(2), 0.0, "all")]),
    ]
    for svg in pictures:
        ET.fromstring(svg)
        assert "<script" not in svg


def test_the_front_says_which_plan_is_shown():
    points = [Point(2e-3, 4e9, (0,)), Point(3e-3, 2e9, (1,))]
    assert "this plan" in words(front_svg(points, (4e9, 2e-3))) and "GB per device" in words(front_svg(points))
    assert len(ET.fromstring(front_svg(points, (4e9, 2e-3))).findall(".//{*}circle")) == 3


def test_pipelines_have_a_row_per_stage_and_a_block_per_task():
    svg = pipeline_svg(simulated([ScheduleStage(1.0, 2.0)] * 3, "1f1b", micro=4))
    assert svg.count("<title>forward") == svg.count("<title>backward") == 12
    assert "stage 2" in words(svg) and "bubble 33%" in words(svg)


def test_a_pipelined_plan_shows_itself():
    net = nn.PipelineCell(Net(), 2)
    view = ms.show.plan(net, ms.Tensor(np.zeros((64, 256), np.float32)), device_num=4, pipeline_stages=2)
    assert len(view.figures) == 3 and "2 micro-batches" in view.text and "Net/b" in view.text
    assert view.data["bubble"] == view.plan.timeline.bubble
    assert "<img" in view.html and "stage" in words(ms.show.plan(view.plan, view="memory").svg)
    with pytest.raises(TypeError, match="legal: 'all', 'timeline', 'memory', 'mesh'"):
        ms.show.plan(view.plan, view="graph")


def test_views_that_are_not_there():
    with pytest.raises(TypeError, match=r"no picture 'colours'; legal: 'all', 'graph', .*'front'"):
        ms.show.plan(planned(), view="colours")
