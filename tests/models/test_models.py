"""Every network of the zoo computes the same eagerly and as a graph: loss, gradients, three steps of training.

float32 within 1e-6, float64 within 1e-12 of the largest number (``running.close``); gradients of float64 networks
against differences in a random direction; nothing is compiled twice.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from running import OPTIMIZERS, TOLERANCE, Numbers, built, close, compilations, state, training_step
from zoo import CASES, STEPS, TWO_FACED

import msnb as ms
from msnb import nn, ops

NAMES = pytest.mark.parametrize("name", CASES)
STATISTICS = {nn.BatchNorm1d, nn.BatchNorm2d}
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["f32", "f64"])


def first_gradients(mode: int, name: str, dtype: Any) -> Numbers:
    """Loss and gradients of the untrained network, and what the call left in it."""
    with ms.set_context(mode=mode):
        net, loss, (batch, _) = built(name, dtype)
        weights = net.trainable_params()
        ms.set_seed(3)
        value, grads = ms.value_and_grad(loss, None, weights)(*batch)
    assert len(grads) == len(weights) > 0
    found = {f"grad {p.name} {i}": g.asnumpy() for i, (p, g) in enumerate(zip(weights, grads))}
    return found | state(net) | {"loss": value.asnumpy()}


@NAMES
@DTYPES
def test_loss_and_gradients(name: str, dtype: Any) -> None:
    eager, graph = first_gradients(ms.PYNATIVE_MODE, name, dtype), first_gradients(ms.GRAPH_MODE, name, dtype)
    close(graph, eager, TOLERANCE[dtype])
    assert eager["loss"].dtype == dtype
    assert sum(bool(np.abs(v).max()) for k, v in eager.items() if k.startswith("grad")) > 2


def trained(mode: int, name: str, optimizer: str, dtype: Any) -> Numbers:
    """Three steps over two batches; as a graph nothing is compiled after the first."""
    with ms.set_context(mode=mode):
        net, loss, batches = built(name, dtype)
        opt = OPTIMIZERS[optimizer](net.trainable_params())
        step = training_step(loss, opt)
        step = ms.jit(step) if mode == ms.GRAPH_MODE else step
        ms.set_seed(5)
        losses = [step(*batches[0])]
        with compilations() as again:
            losses += [step(*batches[1]), step(*batches[0])]
        assert again == []
    found = {f"loss {i}": value.asnumpy() for i, value in enumerate(losses)}
    return found | state(net, opt)


@NAMES
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_three_steps(name: str, optimizer: str) -> None:
    eager = trained(ms.PYNATIVE_MODE, name, optimizer, np.float32)
    close(trained(ms.GRAPH_MODE, name, optimizer, np.float32), eager, 1e-6)
    assert eager["loss 0"] != eager["loss 2"]


@pytest.mark.slow
@pytest.mark.parametrize("name, optimizer", [(n, o) for i, n in enumerate(CASES) for o in list(OPTIMIZERS)[i % 2 :: 2]])
def test_three_steps_in_double(name: str, optimizer: str) -> None:
    eager = trained(ms.PYNATIVE_MODE, name, optimizer, np.float64)
    close(trained(ms.GRAPH_MODE, name, optimizer, np.float64), eager, 1e-12)


@NAMES
def test_gradients_against_differences(name: str, mode: int) -> None:
    net, loss, (batch, _) = built(name, np.float64)
    weights = net.trainable_params()
    rng = np.random.default_rng(13)
    start = [p.asnumpy() for p in weights]
    ways = [rng.normal(size=p.shape) for p in weights]
    ms.set_seed(3)
    _, grads = ms.value_and_grad(loss, None, weights)(*batch)
    slope = sum(float((g.asnumpy() * way).sum()) for g, way in zip(grads, ways))
    evaluate = ms.jit(loss) if mode == ms.GRAPH_MODE else loss

    def at(t: float) -> float:
        for param, value, way in zip(weights, start, ways):
            param.set_data(ms.Tensor(value + t * way))
        ms.set_seed(3)
        return float(evaluate(*batch))

    h = STEPS.get(name, 1e-5)
    want = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h)
    assert slope == pytest.approx(want, rel=2e-6, abs=1e-7)


@NAMES
def test_training_and_use_are_a_version_each(name: str) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net, loss, (batch, _) = built(name)
    run = ms.jit(lambda *args: loss(*args))
    values, compiled = [], []
    for flag in (True, False, True, False):
        net.set_train(flag)
        ms.set_seed(3)
        with compilations() as seen:
            values.append(float(run(*batch)))
        compiled.append(len(seen))
    assert compiled == [1, int(name in TWO_FACED), 0, 0]
    assert (values[0] != values[1]) == (name in TWO_FACED)
    if not STATISTICS & {type(cell) for _, cell in net.cells_and_names()}:
        assert values[:2] == values[2:]


def test_a_hessian_product_through_a_network(mode: int) -> None:
    """Second order over all weights: the gradient of <gradient, v> against differences of gradients."""
    net, loss, (batch, _) = built("gru", np.float64)
    weights = net.trainable_params()
    rng = np.random.default_rng(3)
    ways = [ms.Tensor(rng.normal(size=p.shape)) for p in weights]
    grad = ms.grad(loss, None, weights)

    def along(*args: Any) -> Any:
        return ops.add_n([(g * way).sum() for g, way in zip(grad(*args), ways)])

    product = [g.asnumpy() for g in ms.grad(along, None, weights)(*batch)]
    h, start = 1e-5, [p.asnumpy() for p in weights]
    sides = []
    for sign in (1, -1):
        for param, value, way in zip(weights, start, ways):
            param.set_data(ms.Tensor(value + sign * h * way.asnumpy()))
        sides.append([g.asnumpy() for g in grad(*batch)])
    for found, up, down in zip(product, *sides):
        np.testing.assert_allclose(found, (up - down) / (2 * h), rtol=1e-5, atol=1e-7)
