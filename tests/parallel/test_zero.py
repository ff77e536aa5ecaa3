"""Optimizer sharding: the numbers of the single device, the bytes of the papers."""

from __future__ import annotations

import numpy as np
import pytest
from nets import MLP, Chain, cases, f64

import msnb as ms
from msnb import nn, ops

pytestmark = pytest.mark.long

NETS = {type(net).__name__: (net, inputs) for net, inputs in cases()}


@pytest.fixture(autouse=True)
def _clean():
    ms.reset_auto_parallel_context()
    yield
    ms.reset_auto_parallel_context()


def check(plan, net, inputs):
    want, grads = ms.value_and_grad(net, None, net.trainable_params())(*inputs)
    loss, found = plan.run(*inputs)
    assert float(loss) == pytest.approx(want.item(), rel=1e-10)
    for p, g in zip(net.trainable_params(), grads):
        scale = max(1e-3, float(np.abs(g.asnumpy()).max()))
        assert float(np.abs(found[p.name] - g.asnumpy()).max()) <= 1e-10 * scale, p.name
    assert sum(c.sent for c in plan.collectives) == sum(plan.sent.values())


@pytest.mark.parametrize("name", sorted(NETS))
@pytest.mark.parametrize("level", [1, 2, 3])
def test_gradients_are_those_of_the_single_device(name, level):
    net, inputs = NETS[name]
    for mode in ("data_parallel", "auto_parallel"):
        check(ms.parallel.plan(net, *inputs, device_num=8, parallel_mode=mode, optimizer_level=level), net, inputs)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(NETS))
def test_random_strategies(name):
    net, inputs = NETS[name]
    for level in (1, 3):
        base = ms.parallel.plan(net, *inputs, device_num=8, optimizer_level=level)
        for seed in range(6):
            rng = np.random.default_rng(seed)
            choices = [int(rng.integers(len(s))) for s in base.problem.strategies]
            check(base.with_choices(choices), net, inputs)


def step(optimizer=nn.Adam):
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(16, 32, activation="relu"), nn.Dense(32, 8))
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    return net, nn.TrainOneStepCell(loss, optimizer(net.trainable_params(), 0.01))


@pytest.mark.parametrize("optimizer", [nn.Adam, nn.Momentum], ids=["adam", "momentum"])
@pytest.mark.parametrize("level", [1, 2, 3])
def test_a_whole_step_gives_the_weights_of_the_single_device(level, optimizer):
    make = (lambda params, lr: nn.Momentum(params, lr, 0.9)) if optimizer is nn.Momentum else optimizer
    net, one = step(make)
    x, y = f64(16, 16).astype(ms.float32), ms.Tensor(np.arange(16) % 8)
    plan = ms.parallel.plan(one, x, y, device_num=8, parallel_mode="data_parallel", optimizer_level=level)
    graph = plan.program.graph
    new = plan.values(list(plan.given((x, y)).values()))
    one(x, y)
    for at, out in graph.state.items():
        name = graph.params[at].name
        held = {p.name: p for p in net.trainable_params()}.get(name.removeprefix("network.backbone."))
        if held is not None:
            np.testing.assert_allclose(new[out], held.asnumpy(), rtol=2e-5, atol=1e-6, err_msg=name)
    lies = {p.name: layout for p, layout in plan.program.params.items()}
    assert lies["0.weight"].used == ((0, 1, 2) if level == 3 else ())
    states = [layout.used for name, layout in lies.items() if name.startswith("moment") and name.endswith("0.weight")]
    assert states and set(states) == {(0, 1, 2)}
    assert sum(c.sent for c in plan.collectives) == sum(plan.sent.values())


def sent(level):
    """Bytes of weights and gradients per rank, of a chain whose every weight divides."""
    plan = ms.parallel.plan(Chain((64, 128, 64)), ms.ops.zeros((256, 64)), device_num=8, parallel_mode="data_parallel",
                            optimizer_level=level, optimizer_states=2)  # fmt: skip
    return sum(c.sent for c in plan.collectives if c.nbytes > 4), plan


@pytest.mark.parametrize("level, times", [(0, 2), (1, 2), (2, 2), (3, 3)])
def test_bytes_on_the_network_and_in_memory(level, times):
    """2, 2, 2, 3 times the weights, (d-1)/d of it; Adam in float32: 16 bytes, 8 + 8/d, 4 + 12/d, 16/d per weight."""
    n, d = 2 * 64 * 128, 8
    volume, plan = sent(level)
    again = n // 2 if level == 3 else 0  # nobody asks for the gradient of the data: the first weight is gathered once
    assert volume == (times * n - again) * 4 * (d - 1) / d
    per_weight = {0: 16, 1: 8 + 8 / d, 2: 4 + 12 / d, 3: 16 / d}[level]
    memory = plan.memory
    assert memory["weights"] + memory["gradients"] + memory["optimizer"] == n * per_weight
    kinds = {c.kind for c in plan.collectives if c.nbytes > 4}
    assert kinds == ({"all_reduce"} if level == 0 else {"reduce_scatter", "all_gather"})


def test_segments_of_a_sharded_optimizer_are_reduce_scatters():
    _, plan = sent(2)
    found = plan.segments("all")
    assert {g.kind for g in found.gradients} == {"reduce_scatter"} and len(found.events) == 1


def test_a_limit_that_only_sharing_meets():
    """The search counts what sharing saves: data parallel in less memory than the weights with their state."""
    x, net = ms.ops.zeros((65536, 1024)), Chain((1024, 4096, 1024))
    how = {"device_num": 8, "strategies": {"matmul": ((8, 1), (1, 1))}, "optimizer_states": 2}
    free = ms.parallel.plan(net, x, **how)
    limit = free.problem.costs.bytes(free.choices) - 0.5 * 8 * 1024 * 4096
    with pytest.raises(ValueError, match="no plan fits"):
        ms.parallel.plan(net, x, **how, memory_limit=limit)
    assert ms.parallel.plan(net, x, **how, memory_limit=limit, optimizer_level=1).strategies == free.strategies


def test_the_context_says_it():
    how = {"parallel_mode": "data_parallel", "device_num": 8, "enable_parallel_optimizer": True}
    net, inputs = MLP(), (f64(16, 8), f64(16, 8, seed=5))
    ms.set_auto_parallel_context(**how, parallel_optimizer_config={"optimizer_level": "level3",
                                                                   "parallel_optimizer_threshold": 0})  # fmt: skip
    assert ms.parallel.plan(net, *inputs).problem.prices.sharding.level == 3
    ms.set_auto_parallel_context(parallel_optimizer_config={"parallel_optimizer_threshold": 64})
    plan = ms.parallel.plan(net, *inputs)
    assert plan.problem.prices.sharding.level == 1
    assert "reduce_scatter" not in {c.kind for c in plan.collectives}, "weights below 64 KB stay whole"


def test_a_wrong_level():
    with pytest.raises(ValueError, match=r"optimizer_level=4 is not legal; legal: 0"):
        ms.parallel.plan(MLP(), f64(16, 8), f64(16, 8), device_num=2, optimizer_level=4)


def test_clipping_by_the_norm_of_all_gradients():
    """The norm is of the whole gradient, wherever its parts are."""
    net = nn.Dense(16, 8, dtype=ms.float64)

    def one(x):
        loss, (w, b) = ms.value_and_grad(lambda x: ops.square(net(x)).mean(), None, net.trainable_params())(x)
        return loss, ops.sqrt(ops.square(w).sum() + ops.square(b).sum())

    x = f64(32, 16)
    plan = ms.parallel.plan(one, x, device_num=8, parallel_mode="data_parallel", optimizer_level=2)
    got, want = plan.run(x), one(x)
    np.testing.assert_allclose([float(g) for g in got], [float(w) for w in want], rtol=1e-12)
