"""What users are shown of a plan, and that it is complete when it is made."""

import pytest

import msnb as ms
from msnb import nn

HIDDEN = {"again", "alone", "bucket", "captured", "cuts", "front", "given", "rematerialized", "replica", "under"}


@pytest.fixture(scope="module", params=["data_parallel", "auto_parallel", "hybrid_parallel"])
def plan(request):
    net = nn.Dense(8, 8)
    return ms.parallel.plan(net, ms.ops.ones((16, 8)), device_num=4, parallel_mode=request.param)


def test_dir_shows_the_interface_alone(plan):
    shown = {name for name in dir(plan) if not name.startswith("_")}
    assert shown >= {"strategies", "layouts", "collectives", "step_time", "memory", "explain", "save", "load", "run"}
    assert not shown & HIDDEN


def test_a_plan_is_made_of_its_arguments_alone():
    """Another plan with the same arguments has every attribute of the first one: nothing is put in afterwards."""
    net = nn.SequentialCell(nn.Dense(8, 8), nn.ReLU(), nn.Dense(8, 1))
    plan = ms.parallel.plan(lambda x: net(x).mean(), ms.ops.ones((16, 8)), device_num=4, recompute="auto")
    twin = type(plan)(plan.problem, plan.choices, plan.mode, plan.rematerialized, plan._origin)
    assert vars(twin).keys() <= vars(plan).keys() and twin.args == plan.args
    assert twin.step_time == plan.step_time and twin.memory == plan.memory and twin.strategies == plan.strategies
    assert float(twin.run()[0]) == pytest.approx(float(plan.run()[0]))


def test_other_choices_keep_what_the_plan_was_made_of():
    net = nn.Dense(8, 8)
    plan = ms.parallel.plan(lambda x: net(x).mean(), ms.ops.ones((16, 8)), device_num=4)
    other = plan.with_choices([len(row) - 1 for row in plan.problem.strategies])
    assert other.mode == "given" and other.captured is plan.captured and other.args is plan.args
    with pytest.raises(ValueError, match="is not there; legal"):
        plan.with_choices([len(row) for row in plan.problem.strategies])
