"""Every plan gives the numbers of the single device: loss and gradients in float64, for random strategies too."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from nets import cases

import msnb as ms
from msnb.parallel.engine.simulated.lockstep_ranks import Ranks
from msnb.parallel.plans.plan import Plan
from msnb.parallel.program.spmd_program import Buffer, SpmdProgram
from msnb.parallel.sharding.layout import TensorLayout

NETS = {type(net).__name__: (net, inputs) for net, inputs in cases()}


def single(net, inputs):
    loss, grads = ms.value_and_grad(net, None, net.trainable_params())(*inputs)
    return loss.item(), {p.name: g.asnumpy() for p, g in zip(net.trainable_params(), grads)}


def check(plan: Plan, net, inputs, said=""):
    want, want_grads = single(net, inputs)
    loss, grads = plan.run(*inputs)
    assert abs(float(loss) - want) <= 1e-10 * max(1.0, abs(want)), said
    assert set(grads) == set(want_grads)
    for name, g in grads.items():
        scale = max(1e-3, float(np.abs(want_grads[name]).max()))
        assert float(np.abs(g - want_grads[name]).max()) <= 1e-10 * scale, f"{said} {name}"
    assert sum(c.sent for c in plan.collectives) == sum(plan.sent.values()), "bytes promised and bytes sent"


@pytest.mark.parametrize("name", sorted(NETS))
@pytest.mark.parametrize("devices", [1, 2, 6, 8])
def test_searched_plans(name, devices):
    net, inputs = NETS[name]
    check(ms.parallel.plan(net, *inputs, device_num=devices), net, inputs)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(NETS))
def test_data_parallel_plans(name):
    net, inputs = NETS[name]
    plan = ms.parallel.plan(net, *inputs, device_num=8, parallel_mode="data_parallel")
    check(plan, net, inputs)
    assert all(layout.used == () for layout in plan.program.params.values())
    assert any(c.phase == "backward" for c in plan.collectives)


@pytest.mark.parametrize("name", ["ConvNet", "MLP"])
def test_gradients_of_normalisation_stay_split(name):
    """The backward pass inherits the forward's splits: activations are never gathered in data parallel."""
    net, inputs = NETS[name]
    plan = ms.parallel.plan(net, *inputs, device_num=8, parallel_mode="data_parallel")
    moved = [c for c in plan.collectives if c.kind in ("all_gather", "all_to_all")]
    assert not moved, moved


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(NETS))
@pytest.mark.parametrize("devices", [4, 8])
def test_random_strategies(name, devices):
    net, inputs = NETS[name]
    base = ms.parallel.plan(net, *inputs, device_num=devices)
    for seed in range(10):
        rng = random.Random(seed)
        choices = [rng.randrange(len(s)) for s in base.problem.strategies]
        plan = base.with_choices(choices)
        check(plan, net, inputs, f"{name} on {devices}, seed {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NETS))
def test_sixty_four_ranks(name):
    net, inputs = NETS[name]
    check(ms.parallel.plan(net, *inputs, device_num=64), net, inputs)


@pytest.mark.long
def test_float32_to_a_hundred_thousandth_of_the_norm():
    net = ms.nn.SequentialCell(ms.nn.Dense(32, 64, activation="relu"), ms.nn.Dense(64, 16))
    x = ms.Tensor(np.random.default_rng(0).standard_normal((64, 32)).astype(np.float32))
    y = ms.Tensor(np.arange(64) % 16)
    seed = 11
    rng = random.Random(seed)

    def loss(x, y):
        return ms.ops.cross_entropy(net(x), y)

    want, grads = ms.value_and_grad(loss, None, net.trainable_params())(x, y)
    base = ms.parallel.plan(loss, x, y, device_num=8)
    plan = base.with_choices([rng.randrange(len(s)) for s in base.problem.strategies])
    got, found = plan.run(x, y)
    assert abs(float(got) - want.item()) < 1e-5 * abs(want.item()), f"seed {seed}"
    for p, g in zip(net.trainable_params(), grads):
        assert np.linalg.norm(found[p.name] - g.asnumpy()) <= 1e-5 * np.linalg.norm(g.asnumpy()), f"seed {seed}"


def same_on_copies(program: SpmdProgram, buffer: Buffer, parts: Sequence[Any]) -> bool:
    """True when ranks that should hold the same part do."""
    layout: TensorLayout = buffer[1]
    coordinates = program.mesh.coordinates[:, list(layout.used)] if layout.used else np.zeros((program.mesh.size, 0))
    first: dict[tuple[int, ...], Any] = {}
    for row, part in zip(coordinates, parts):
        held = first.setdefault(tuple(int(i) for i in row), part)
        if not np.array_equal(held, part, equal_nan=getattr(part.dtype, "kind", "") in "fc"):
            return False
    return True


def test_ranks_with_the_same_part_hold_the_same_bits():
    net, inputs = NETS["MLP"]
    base = ms.parallel.plan(net, *inputs, device_num=8)
    rng = random.Random(4)
    plan = base.with_choices([rng.randrange(len(s)) for s in base.problem.strategies])
    ranks = Ranks(plan.program, keep=True)
    ranks.run(list(plan.given(inputs).values()))
    assert ranks.buffers
    for buffer, parts in ranks.buffers.items():
        assert same_on_copies(plan.program, buffer, parts), buffer


def test_forward_only_and_other_inputs():
    net = ms.nn.Dense(8, 4, dtype=ms.float64)
    x, other = (ms.Tensor(np.random.default_rng(s).standard_normal((16, 8))) for s in (0, 1))
    plan = ms.parallel.plan(net, x, device_num=4, strategies={"matmul": ((1, 4), (4, 1))})
    for given in (x, other):
        np.testing.assert_allclose(plan.run(given), net(given).asnumpy(), rtol=1e-12)
    with pytest.raises(ValueError, match="the plan is for"):
        plan.run(ms.Tensor(np.zeros((4, 8))))
    with pytest.raises(ValueError, match="legal: 'inproc'"):
        plan.run(x, engine="gloo")


def test_a_function_with_control_flow_runs_whole():
    def f(x):
        y = x * 2.0
        if y.sum() > 0:
            y = y + 1.0
        return y.sum()

    x = ms.Tensor(np.arange(8.0))
    plan = ms.parallel.plan(f, x, device_num=4)
    assert float(plan.run(x)) == f(x).item()
    assert float(plan.run(ms.Tensor(-np.arange(8.0)))) == f(ms.Tensor(-np.arange(8.0))).item()


def test_too_many_ranks_for_one_process():
    net, inputs = NETS["Chain"]
    plan = ms.parallel.plan(net, *inputs, device_num=128)
    with pytest.raises(RuntimeError, match="up to 64"):
        plan.run(*inputs)


def test_dropout_draws_are_those_of_the_single_device():
    def f(x):
        return ms.ops.dropout(x, p=0.5, training=True)

    x = ms.Tensor(np.ones((8, 8)))
    ms.set_seed(3)
    plan = ms.parallel.plan(f, x, device_num=4)
    got = plan.run(x)
    ms.set_seed(3)
    np.testing.assert_array_equal(got, f(x).asnumpy())
