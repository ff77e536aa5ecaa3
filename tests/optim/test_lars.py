"""LARS against the formula of its paper, around other optimizers, in both modes and under the alias."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn
from msnb.base.errors import ArgumentError

SHAPES = {"w": (3, 2), "b.bias": (3,), "z": (2,), "bn.gamma": (2,)}


def made(rng: np.random.Generator) -> list[Parameter]:
    values = {name: rng.normal(size=shape) for name, shape in SHAPES.items()} | {"z": np.zeros(2)}
    return [Parameter(Tensor(v, ms.float64), name=name) for name, v in values.items()]


def adapted(p: Any, g: Any, decay: float, rate: float, clip: bool) -> Any:
    long, slope = np.linalg.norm(p), np.linalg.norm(g)
    trust = 0.1 * long / (slope + decay * long + 1e-8) if long > 0 and slope > 0 else 1.0
    return (min(trust / rate, 1.0) if clip else trust) * (g + decay * p)


@pytest.mark.parametrize("clip", [False, True])
@pytest.mark.parametrize("scale", [1.0, 4.0])
@pytest.mark.parametrize("grouped", [{}, {"weight_decay": 0.1}, {"weight_decay": 0.1, "lr": 0.3}])
def test_steps_are_the_papers(
    mode: str, rng: np.random.Generator, clip: bool, scale: float, grouped: dict[str, Any]
) -> None:
    params = made(rng)
    groups = [{"params": params[:2], **grouped}, {"params": params[2:], "lr": 0.5}] if grouped else params
    rates = [0.3, 0.3, 0.5, 0.5] if grouped else [0.3] * 4
    decays = [0.1, 0.1, 0.02, 0.02] if grouped else [0.02, 0.02, 0.02, 0.0]  # without groups norms do not decay
    inner = nn.Momentum(groups, 0.3, 0.9, weight_decay=0.02, loss_scale=scale)
    step = nn.LARS(inner, epsilon=1e-8, coefficient=0.1, use_clip=clip)
    want = [p.asnumpy() for p in params]
    moved = [np.zeros_like(p) for p in want]
    for _ in range(3):
        grads = [rng.normal(size=p.shape) for p in want]
        step([Tensor(g * scale) for g in grads])
        for i, (name, g) in enumerate(zip(SHAPES, grads)):
            if "bias" not in name:
                g = adapted(want[i], g, decays[i], rates[i], clip)
            moved[i] = 0.9 * moved[i] + g
            want[i] = want[i] - rates[i] * moved[i]
    for p, value in zip(params, want):
        np.testing.assert_allclose(p.asnumpy(), value, rtol=1e-6, atol=1e-9)
    assert int(inner.global_step) == 3 and step.global_step is inner.global_step


def test_it_trains_and_may_choose(mode: str) -> None:
    ms.set_seed(3)
    net, x = nn.Dense(4, 1), Tensor(np.eye(4, dtype=np.float32))
    step = nn.LARS(nn.Momentum(net.trainable_params(), 1.0, 0.9), coefficient=0.1, lars_filter=lambda p: p.ndim == 2)
    assert step.lars_flag == (True, False)
    cell = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), step).set_train()
    first = float(cell(x, Tensor(np.ones((4, 1), np.float32))))
    for _ in range(25):
        last = float(cell(x, Tensor(np.ones((4, 1), np.float32))))
    assert last < first / 2


def test_what_it_does_not_wrap() -> None:
    with pytest.raises(ArgumentError, match="LARS wraps an optimizer, not ParameterTuple"):
        nn.LARS(ms.ParameterTuple(nn.Dense(2, 2).trainable_params()))
    step = nn.SGD(nn.Dense(2, 2).trainable_params(), 0.1)
    with pytest.raises(ValueError, match="coefficient must be"):
        nn.LARS(step, coefficient=-1.0)
    with pytest.raises(ArgumentError, match="LARS got 1 gradients for 2 parameters"):
        nn.LARS(step)([Tensor([1.0])])
