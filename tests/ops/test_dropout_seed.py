"""`ops.dropout(x, seed=s)`: a stream of its own, reproducible and not constant, the same one in both modes."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms

X = ms.ops.ones((64,))


def masks(fn: Any, n: int = 3) -> list[list[float]]:
    ms.set_seed(0)
    return [fn(X).tolist() for _ in range(n)]


def seeded(x: Any) -> Any:
    return ms.ops.dropout(x, 0.5, seed=3)


@pytest.mark.parametrize("run", [lambda fn: fn, ms.jit])
def test_every_call_has_another_mask_and_the_seed_brings_them_back(run: Any) -> None:
    found = masks(run(seeded))
    assert found[0] != found[1] != found[2] != found[0]
    assert masks(run(seeded)) == found


def test_both_modes_draw_the_same_stream() -> None:
    assert masks(seeded) == masks(ms.jit(seeded))
    ms.set_seed(0)
    mixed = [seeded(X).tolist(), ms.jit(seeded)(X).tolist(), seeded(X).tolist()]
    assert mixed == masks(seeded)


@pytest.mark.parametrize("run", [lambda fn: fn, ms.jit])
def test_other_draws_do_not_change_the_masks(run: Any) -> None:
    def between(x: Any) -> Any:
        noise = ms.ops.rand(3).sum() * 0
        return ms.ops.dropout(x, 0.5, seed=3) + noise + ms.ops.dropout(x, 0.5, seed=4).sum() * 0

    assert masks(run(between)) == masks(seeded)


@pytest.mark.parametrize("run", [lambda fn: fn, ms.jit])
def test_a_loop_draws_again_and_the_gradient_has_the_mask(run: Any) -> None:
    def turns(x: Any) -> Any:
        first = ms.ops.dropout(x, 0.5, seed=5)
        second = ms.ops.dropout(x, 0.5, seed=5)
        return first, second

    ms.set_seed(0)
    first, second = run(turns)(X)
    assert first.tolist() != second.tolist()
    ms.set_seed(0)
    assert run(lambda x: ms.grad(lambda x: ms.ops.dropout(x, 0.5, seed=5).sum())(x))(X).tolist() == first.tolist()


@pytest.mark.parametrize("seed", [-1, 1.5, True, "a"])
def test_a_seed_that_is_none(seed: Any) -> None:
    with pytest.raises(ValueError if seed == -1 else TypeError, match="dropout: seed must be None or an int"):
        ms.ops.dropout(X, 0.5, seed=seed)
