"""Pipelines are planned by the first parts of a batch: the plan is that of all parts, and what has changed since is not
run in silence."""

from __future__ import annotations

import numpy as np
import pytest
from piped_nets import batch, planned, step_of
from test_piped import Net, inputs

import msnb as ms
from msnb import nn
from msnb.core.microbatch_scope import first_parts, parts_of
from msnb.parallel.engine import program_source


def test_the_first_parts_of_a_batch():
    with first_parts(2) as numbers:
        assert [list(parts_of(n)) for n in (1, 2, 5)] == [[0], [0, 1], [0, 1]]
        with first_parts(1) as inner:
            assert list(parts_of(5)) == [0]
    assert numbers == {1, 2, 5} and inner == {5}
    assert list(parts_of(5)) == [0, 1, 2, 3, 4]


HOWS = [
    {"pipeline_stages": 2, "stage_devices": "auto"},
    {"pipeline_stages": 2, "pipeline_scheduler": "gpipe", "recompute": True},
    {"pipeline_stages": 2, "pipeline_scheduler": "interleaved"},
]


@pytest.mark.long
@pytest.mark.parametrize("how", HOWS, ids=["auto", "gpipe", "interleaved"])
def test_the_plan_is_that_of_all_parts(how, monkeypatch):
    """Strategies, cut, seconds, bytes, and the numbers of a step: moving averages, draws and weights."""
    _, plan = planned(n=4, **how)
    monkeypatch.setattr(program_source, "first_parts", lambda most: first_parts(99))
    _, whole = planned(n=4, **how)
    assert type(plan.micro) is int  # and no number that a capture follows
    assert (plan.micro, plan.devices, plan.layers) == (whole.micro, whole.devices, whole.layers)
    assert plan.strategies == whole.strategies and plan.memory == whole.memory
    assert plan.timeline == whole.timeline and plan.collectives == whole.collectives
    args = list(plan.given().values())
    for a, b in zip(plan.values(args), whole.values(args), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.long
def test_planning_looks_at_two_parts():
    """The programs that are planned do not grow with the number of parts; the one that runs has all of them."""
    def plan(micro):
        return ms.parallel.plan(nn.PipelineCell(Net(), micro), *inputs(32), device_num=2, pipeline_stages=2)

    few, many = plan(2), plan(16)
    sizes = [[len(p.problem.joint.graph.nodes) for p in made.plans] for made in (few, many)]
    assert sizes[0] == sizes[1]
    assert many.micro == 16 and len(many.graph.nodes) > 6 * len(few.graph.nodes)


@pytest.mark.long
def test_a_network_that_has_changed_since():
    _, step = step_of()
    plan = ms.parallel.plan(step, *batch(0), device_num=2, pipeline_stages=2)
    step.network.set_train(False)
    with pytest.raises(ValueError, match=r"not the one that was planned.*\n*.*plan it again"):
        plan.run(*batch(0))


class Counting(nn.Cell):
    """Takes another way from its third call on."""

    def __init__(self):
        super().__init__()
        self.fc, self.last = nn.Dense(4, 4), nn.Dense(4, 4)
        self.calls = 0

    def construct(self, x):
        self.calls += 1
        x = self.fc(x)
        return ms.ops.square(self.last(ms.ops.tanh(x) if self.calls > 2 else x)).mean()


def test_parts_that_take_another_way():
    plan = ms.parallel.plan(nn.PipelineCell(Counting(), 4), ms.ops.ones((8, 4)), device_num=2, pipeline_stages=2)
    with pytest.raises(ValueError, match="micro-batch 2 runs"):
        plan.run()


def test_networks_on_different_numbers_of_parts():
    one, other = nn.PipelineCell(Net(), 2), nn.PipelineCell(Net(), 4)
    with pytest.raises(ValueError, match="every part of a batch must take the same way"):
        ms.parallel.plan(lambda x, y: one(x, y) + other(x, y), *inputs(), device_num=2, pipeline_stages=2)
