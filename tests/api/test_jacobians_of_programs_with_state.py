"""The columns of a Jacobian are directions of one run: random numbers are drawn once, effects happen once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.core.tensor import Tensor

X = np.array([0.4, -0.8, -0.5])


def scaled(x: Tensor) -> Tensor:
    return ops.rand(3) * x


def dropped(x: Tensor) -> Tensor:
    return ops.dropout(x, 0.5)


def by_branches(x: Tensor) -> Tensor:
    r = ops.rand(3)
    if r.sum() > 0.1:
        r = r * ops.rand(3)
    i = 0
    while i < 2 and r.sum() < 100:
        r = r + ops.rand(3)
        i = i + 1
    return r * x * x


def seeded(run: Callable[..., Any], *args: Any) -> tuple[Any, Any]:
    """What a run gives, and the next number of the stream after it."""
    ms.set_seed(3)
    return run(*args), ops.rand(1).asnumpy()


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("program", [scaled, dropped, by_branches])
@pytest.mark.parametrize("transform", [ms.jacfwd, ms.jacrev])
def test_all_columns_meet_the_draws_of_one_run(program: Any, transform: Any) -> None:
    x = Tensor(X)
    (_, slope), after = seeded(ms.jvp, program, x, ops.ones_like(x))  # the programs work number by number
    found, then = seeded(transform(program), x)
    np.testing.assert_allclose(found.asnumpy(), np.diag(slope.asnumpy()), rtol=1e-12)
    np.testing.assert_array_equal(then, after)


@pytest.mark.usefixtures("mode")
def test_second_derivatives_too() -> None:
    found, _ = seeded(ms.hessian(lambda x: (ops.rand(3) * x * x).sum()), Tensor(X))
    once, _ = seeded(ops.rand, 3)
    np.testing.assert_allclose(found.asnumpy(), np.diag(2 * once.asnumpy()), rtol=1e-6)


@pytest.mark.usefixtures("mode")
def test_lanes_of_vmap_still_draw_apart() -> None:
    found, _ = seeded(ms.vmap(ms.jacfwd(scaled)), Tensor(np.stack([X, X])))
    first, second = (lane.diagonal() for lane in found.asnumpy())
    assert not np.any(first == second)


@pytest.mark.usefixtures("mode")
@pytest.mark.parametrize("transform", [ms.jacfwd, ms.jacrev])
def test_effects_happen_once_for_several_inputs(transform: Any, capsys: pytest.CaptureFixture[str]) -> None:
    p = ms.Parameter(Tensor(1.0, ms.float64), name="p")

    def program(x: Tensor, z: Tensor) -> Tensor:
        ops.assign_add(p, 1.0)
        print("once")
        return x * z * p + z.sum()

    by_x, by_z = transform(program, (0, 1))(Tensor(X), Tensor(X[:2][:1] + 2))
    assert capsys.readouterr().out == "once\n"
    assert float(p) == 2.0
    np.testing.assert_allclose(by_x.asnumpy(), np.diag(np.full(3, 2 * (X[0] + 2))))
    np.testing.assert_allclose(by_z.asnumpy(), (2 * X + 1)[:, None])
