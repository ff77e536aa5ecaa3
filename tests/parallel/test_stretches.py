"""What ranks compute between their meetings, compiled: the values of the same walk step by step, the same bytes, and
all ranks of a team meet in the same order."""

from __future__ import annotations

import random

import numpy as np
import piped_nets
import pytest
from nets import cases, pictures, small, spread

import msnb as ms
from msnb import nn, ops
from msnb.parallel.engine.comm.rank_requests import CollectiveSegment, ComputeSegment, StepSegment
from msnb.parallel.engine.rank.rank_executor import RankExecutor, RankProgram
from msnb.parallel.engine.rank.segment_compiler import stretched
from msnb.parallel.engine.simulated.lockstep_ranks import Ranks

NETS = {type(net).__name__: (net, inputs) for net, inputs in cases()}
DATA = {"parallel_mode": "data_parallel"}
EXACT = 1e-10  # float64: other orders of sums, functions within 4 ulp
ROUNDED = 1e-5  # float32


@pytest.fixture(autouse=True)
def _machine_code():
    with ms.set_context(jit_level="O1"):
        yield


def dense():
    return nn.Dense(8, 8, dtype=ms.float64)


class Deep(nn.Cell):
    """Layers that can be computed twice."""

    def __init__(self):
        super().__init__()
        self.layers = nn.CellList([nn.SequentialCell(dense(), nn.Tanh(), dense()) for _ in range(3)])

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return x.sum()


class Compiled(Ranks):
    """Ranks in lockstep, each with stretches of its own."""

    def _walks(self):
        teams = enumerate(self.program.teams)
        return [
            RankExecutor(stretched(RankProgram(self.program, i), r), r)
            for i, team in teams
            for r in range(team.mesh.size)
        ]


def both(plan, *inputs, tolerance=EXACT):
    """The plan step by step and in stretches; gives the legs of the first rank."""
    args = list(plan.given(inputs).values())
    steps, compiled = Ranks(plan.program), Compiled(plan.program)
    for i, (want, got) in enumerate(zip(steps.run(args), compiled.run(args))):
        assert np.shape(got) == np.shape(want) and np.asarray(got).dtype == np.asarray(want).dtype, i
        want, got = np.asarray(want, np.float64), np.asarray(got, np.float64)
        np.testing.assert_allclose(got, want, rtol=0, atol=tolerance * max(1.0, np.abs(want).max(initial=0)))
    assert compiled.sent == steps.sent
    return compiled.walks[0].recipe.legs


def step_of(net, optimizer=nn.Momentum):
    return nn.TrainOneStepCell(net, optimizer(net.trainable_params(), 0.01, 0.9))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NETS))
def test_random_plans(name):
    net, inputs = NETS[name]
    base = ms.parallel.plan(net, *inputs, device_num=4)
    for seed in range(3):
        rng = random.Random(seed)
        both(base.with_choices([rng.randrange(len(s)) for s in base.problem.strategies]), *inputs)


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_steps_with_their_optimizer(level):
    net, inputs = NETS["MLP"]
    both(ms.parallel.plan(step_of(net), *inputs, device_num=4, optimizer_level=level, **DATA), *inputs)


@pytest.mark.slow
@pytest.mark.parametrize("h, w", [(2, 2), (4, 1)])
def test_pieces_of_images(h, w):
    net, inputs = pictures()
    both(ms.parallel.plan(net, *inputs, device_num=4, strategies=spread(1, h, w)), *inputs)


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [{"pipeline_scheduler": "gpipe"}, {}, {"pipeline_scheduler": "interleaved", "recompute": True}, DATA]
)
def test_pipelines(how):
    _, plan = piped_nets.planned(pipeline_stages=2, **how)
    both(plan, *piped_nets.batch(0))


def test_layers_computed_twice():
    """What is made again is not merged with its first making: it begins a new stretch."""
    net, x = Deep(), ms.Tensor(np.random.default_rng(0).standard_normal((8, 8)))
    plans = [ms.parallel.plan(net, x, device_num=2, recompute=how, **DATA) for how in (None, True)]
    once, twice = (sum(isinstance(leg, ComputeSegment) for leg in both(plan, x)) for plan in plans)
    assert twice > once


def test_what_is_rounded_behind_its_sum_and_numbers_made_from_nothing():
    net = nn.Dense(16, 8).to_float(ms.float16)
    x = ms.Tensor(np.random.default_rng(0).standard_normal((32, 16)).astype(np.float32))
    both(ms.parallel.plan(lambda x: ops.square(net(x).astype("float32")).mean(), x, device_num=4, **DATA), x,
         tolerance=2e-3)  # a rounding to float16 (2**-11) may fall the other way  # fmt: skip
    both(ms.parallel.plan(lambda x: x * ops.arange(32).astype("float32").reshape(32, 1), x, device_num=4), x)


def test_control_flow_and_effects_stay_steps(capsys):
    def program(x):
        total = x.sum()
        ops.print("total", total)
        while total > 1.0:
            total = total / 2.0
        return x * total

    x = ms.Tensor(np.arange(8.0))
    legs = both(ms.parallel.plan(program, x, device_num=2, **DATA), x)
    assert {leg.step.node.op.name for leg in legs if isinstance(leg, StepSegment)} >= {"print", "while"}
    assert capsys.readouterr().out.count("total 28.0") == 2, "once step by step, once in stretches: not once per rank"


def test_sums_of_gradients_do_not_cut_the_backward_pass():
    """Loss, backward, update: three programs, however many weights there are; and what runs in them is native."""
    net, inputs = small()
    legs = both(ms.parallel.plan(step_of(net), *inputs, device_num=2, **DATA), *inputs, tolerance=ROUNDED)
    stretches = [leg for leg in legs if isinstance(leg, ComputeSegment)]
    assert len(stretches) <= 3 and len([leg for leg in legs if isinstance(leg, CollectiveSegment)]) > 3
    assert all(leg.program.executable.reason is None for leg in stretches)
