"""Steps as people write them, each on one device and as a plan: the same losses and the same weights."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops

ROWS = [(np.random.default_rng(i).standard_normal((8, 8)).astype(np.float32), np.arange(8) % 4) for i in range(3)]
STEPS = {}


def kind(make):
    STEPS[make.__name__] = make
    return make


def network(dropout=0.3, activation="relu"):
    return nn.SequentialCell(nn.Dense(8, 16, activation=activation), nn.Dropout(p=dropout), nn.Dense(16, 4)).set_train()


def parts(net):
    loss = nn.CrossEntropyLoss()
    return ms.value_and_grad(lambda x, y: loss(net(x), y), None, net.trainable_params())


@kind
def clipped(net):
    gradient, optimizer = parts(net), nn.SGD(net.trainable_params(), 0.5)

    def step(x, y):
        loss, grads = gradient(x, y)
        optimizer(ops.clip_by_global_norm(grads, 0.1))
        return loss

    return step


@kind
def computed_again(net):
    net[0].recompute()
    return with_optimizer(nn.Adam(net.trainable_params(), 0.01))(net)


@kind
def accumulated(net):
    gradient, optimizer = parts(net), nn.Adam(net.trainable_params(), 0.01)

    def step(x, y):
        loss, grads = gradient(x[:4], y[:4])
        more, others = gradient(x[4:], y[4:])
        optimizer([a + b for a, b in zip(grads, others)])
        return loss + more

    return step


@kind
def three_in_a_loop(net):
    gradient, optimizer = parts(net), nn.Adam(net.trainable_params(), 0.01)

    def step(x, y):
        total, i = ops.zeros(()), ms.Tensor(0)
        while i < 3:
            loss, grads = gradient(x, y)
            optimizer(grads)
            total, i = total + loss, i + 1
        return total

    return step


@kind
def if_it_is_small(net):
    gradient, optimizer = parts(net), nn.Adam(net.trainable_params(), 0.01)

    def step(x, y):
        loss, grads = gradient(x, y)
        if loss < 1.5:
            optimizer(grads)
        return loss

    return step


@kind
def with_a_derivative_in_the_loss(net):
    loss = nn.CrossEntropyLoss()

    def penalised(x, y):
        slope = ms.grad(lambda x: loss(net(x), y))(x)
        return loss(net(x), y) + ops.square(slope).sum()

    gradient = ms.value_and_grad(penalised, None, net.trainable_params())
    optimizer = nn.SGD(net.trainable_params(), 0.1)

    def step(x, y):
        value, grads = gradient(x, y)
        optimizer(grads)
        return value

    return step


@kind
def partly_frozen(net):
    net[0].weight.requires_grad = False
    return with_optimizer(nn.Adam(net.trainable_params(), 0.01))(net)


def with_optimizer(optimizer):
    def make(net):
        gradient = parts(net)

        def step(x, y):
            loss, grads = gradient(x, y)
            optimizer(grads)
            return loss

        return step

    return make


for _name, _made in {
    "momentum": lambda p: nn.Momentum(p, 0.1, 0.9, weight_decay=0.01), "lamb": lambda p: nn.Lamb(p, 0.01),
    "adam_groups": lambda p: nn.Adam([{"params": p[:2], "lr": 0.1}, {"params": p[2:]}], 0.01),
    "decaying_rate": lambda p: nn.Adam(p, nn.ExponentialDecayLR(0.1, 0.9, 2)),
}.items():  # fmt: skip
    STEPS[_name] = lambda net, _made=_made: with_optimizer(_made(net.trainable_params()))(net)


def run(name):
    ms.set_seed(3)
    net = network()
    step = ms.jit(STEPS[name](net), name=name)
    losses = [step(ms.Tensor(x), ms.Tensor(y)).item() for x, y in ROWS]
    return losses, {p.name: p.asnumpy() for p in net.get_parameters()}, step.plan


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["data_parallel", "semi_auto_parallel", "auto_parallel"])
@pytest.mark.parametrize("name", sorted(STEPS))
def test_steps_are_the_same_as_a_plan(name, mode):
    losses, weights, none = run(name)
    ms.set_auto_parallel_context(parallel_mode=mode, device_num=4)
    try:
        got, found, plan = run(name)
    finally:
        ms.reset_auto_parallel_context()
    assert none is None and plan.mesh.size == 4
    np.testing.assert_allclose(got, losses, rtol=1e-5)
    for key, w in weights.items():
        assert np.linalg.norm(found[key] - w) <= 1e-5 * max(np.linalg.norm(w), 1e-3), key


@pytest.mark.slow
@pytest.mark.parametrize("graph", [False, True])
def test_sunk_data_is_trained_on_step_by_step(graph):
    """A plan does not split loops, so the steps of a sink run one by one; callbacks see what they always see."""
    ms.set_context(mode=ms.GRAPH_MODE if graph else ms.PYNATIVE_MODE)

    def train():
        ms.set_seed(3)
        net = network()
        model = ms.Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.01))
        model.train(2, ROWS, dataset_sink_mode=True)
        return [p.asnumpy() for p in net.get_parameters()], model.plan

    want, _ = train()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=4)
    try:
        got, plan = train()
    finally:
        ms.reset_auto_parallel_context()
    assert plan.mesh.size == 4 and len(plan.strategies) > 10
    for a, b in zip(got, want):
        assert np.linalg.norm(a - b) <= 1e-5 * max(np.linalg.norm(b), 1e-3)
