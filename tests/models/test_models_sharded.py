"""Networks laid over devices by strategies drawn at random: loss, gradients and new state are the single device's."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings, strategies as st
from running import built
from zoo import CASES

import msnb as ms
from msnb.parallel.engine.executable_plan import RunnablePlan

TOLERANCE = {np.float64: 1e-10, np.float32: 1e-5}


@cache
def single(name: str, dtype: Any) -> Any:
    """Network, loss, inputs and what one device makes of them."""
    net, loss, batches = built(name, dtype)
    ms.set_seed(5)
    value, grads = ms.value_and_grad(loss, None, net.trainable_params())(*batches[0])
    return net, loss, batches[0], value.asnumpy(), {p.name: g.asnumpy() for p, g in zip(net.trainable_params(), grads)}


@cache
def base(name: str, dtype: Any, devices: int) -> RunnablePlan:
    _, loss, batch, _, _ = single(name, dtype)
    return ms.parallel.plan(loss, *batch, device_num=devices, search_mode="recursive_programming", max_split=2)


def check(plan: RunnablePlan, name: str, dtype: Any, said: str) -> None:
    _, _, batch, want, grads = single(name, dtype)
    ms.set_seed(5)
    loss, found = plan.run(*batch)
    tolerance = TOLERANCE[dtype]
    assert abs(float(loss) - float(want)) <= tolerance * max(abs(float(want)), 1e-3), said
    assert set(found) == set(grads)
    # float64 weight by weight, but for gradients that are zero up to rounding; float32 by the norm of all gradients:
    # behind a normalisation large terms cancel, and what is left of a weight's gradient is the rounding of its terms
    whole = float(np.sqrt(sum(float(np.linalg.norm(g)) ** 2 for g in grads.values())))
    for key, g in grads.items():
        scale = max(float(np.linalg.norm(g)), (1e-3 if dtype is np.float64 else 1.0) * whole)
        assert float(np.linalg.norm(found[key] - g)) <= tolerance * scale, f"{said}: {key}"
    assert sum(c.sent for c in plan.collectives) == pytest.approx(sum(plan.sent.values())), said


def drawn(name: str, dtype: Any, seed: int) -> None:
    rng = random.Random(seed)
    start = base(name, dtype, rng.choice((2, 4, 6, 8)))
    plan = start.with_choices([rng.randrange(len(s)) for s in start.problem.strategies])
    check(plan, name, dtype, f"{name}, seed {seed}")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES))
@settings(max_examples=8)
@given(seed=st.integers(0, 2**32 - 1))
@example(seed=1)
def test_random_strategies_of_networks(name: str, seed: int) -> None:
    drawn(name, np.float64, seed)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CASES))
def test_random_strategies_of_networks_in_single_precision(name: str, rng: np.random.Generator) -> None:
    drawn(name, np.float32, int(rng.integers(2**32)))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["data_parallel", "auto_parallel"])
@pytest.mark.parametrize("name", sorted(CASES))
def test_modes_on_networks(name: str, mode: str) -> None:
    _, loss, batch, _, _ = single(name, np.float64)
    check(ms.parallel.plan(loss, *batch, device_num=4, parallel_mode=mode), name, np.float64, f"{name} {mode}")
