"""Draws from streams of one's own: ``seed=`` and ``generator=``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import msnb as ms
from msnb import Tensor, mint, ops

SEEDED: dict[str, Callable[[Any], Any]] = {
    "rand": lambda seed: ops.rand(4, seed=seed),
    "randn": lambda seed: ops.randn((4,), seed=seed),
    "rand_like": lambda seed: ops.rand_like(Tensor([0.0, 0.0, 0.0]), seed=seed),
    "randn_like": lambda seed: ops.randn_like(Tensor([0.0, 0.0, 0.0]), seed),
    "randint": lambda seed: ops.randint(0, 10**6, (4,), seed),
    "randperm": lambda seed: ops.randperm(50, seed=seed),
    "uniform": lambda seed: ops.uniform((4,), 0.0, 1.0, seed),
    "uniform of ints": lambda seed: ops.uniform((4,), 0, 10**6, seed, ms.int32),
    "normal": lambda seed: ops.normal((4,), 0.0, 1.0, seed),
    "standard_normal": lambda seed: ops.standard_normal(shape=(4,), seed=seed),
    "bernoulli": lambda seed: ops.bernoulli(Tensor([0.5] * 50), seed=seed),
    "multinomial": lambda seed: ops.multinomial(Tensor([0.25] * 4), 50, seed=seed),
    "multinomial without": lambda seed: ops.multinomial(Tensor([0.1] * 30), 20, False, seed),
    "shuffle": lambda seed: ops.shuffle(ops.arange(50), seed),
    "categorical": lambda seed: ops.categorical(Tensor([0.0] * 30), 30, seed=seed),
}  # fmt: skip
GENERATED: dict[str, Callable[[Any], Any]] = {
    "rand": lambda g: mint.rand(4, generator=g),
    "randn": lambda g: mint.randn((4,), generator=g),
    "randint": lambda g: mint.randint(0, 10**6, (4,), generator=g),
    "randperm": lambda g: mint.randperm(50, generator=g),
    "normal": lambda g: mint.normal(0.0, 1.0, (4,), g),
    "bernoulli": lambda g: mint.bernoulli(Tensor([0.5] * 50), generator=g),
    "multinomial": lambda g: mint.multinomial(Tensor([0.25] * 4), 50, True, generator=g),
}  # fmt: skip


def run(fn: Callable[[], Any]) -> Any:
    """In the mode of the test."""
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)().tolist()


@pytest.mark.parametrize("name", SEEDED)
def test_a_seed_has_a_stream_of_its_own(name: str, mode: int) -> None:
    draw = SEEDED[name]
    ms.set_seed(3)
    first, second = run(lambda: draw(7)), run(lambda: draw(7))
    assert first != second != run(lambda: draw(8))
    ms.set_seed(4)  # starts it anew, and draws of the other stream do not move it
    run(lambda: draw(None))
    assert run(lambda: draw(7)) == first and run(lambda: draw(7)) == second


@pytest.mark.parametrize("name", GENERATED)
def test_a_generator_has_a_stream_of_its_own(name: str, mode: int) -> None:
    draw, g = GENERATED[name], ms.Generator().manual_seed(7)
    first, second = run(lambda: draw(g)), run(lambda: draw(g))
    assert first != second
    ms.set_seed(1)
    run(lambda: draw(None))
    assert run(lambda: draw(g)) not in (first, second)
    other = ms.Generator().manual_seed(7)
    assert run(lambda: draw(g.manual_seed(7))) == first == run(lambda: draw(other))


def test_states_of_a_generator(mode: int) -> None:
    g = ms.Generator()
    assert g.initial_seed() == 0 and g.manual_seed(9) is g and g.initial_seed() == 9
    run(lambda: mint.rand(2, generator=g))
    here = g.get_state()
    after = run(lambda: mint.rand(2, generator=g))
    g.set_state(here)
    assert run(lambda: mint.rand(2, generator=g)) == after
    assert g.seed() == g.initial_seed() != 9


def test_what_is_no_seed_or_generator_is_refused() -> None:
    for wrong in (-1, 1.5, True, "a"):
        with pytest.raises(ValueError if wrong == -1 else TypeError, match=r"rand: seed must be None or an int from 0"):
            ops.rand(2, seed=wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="generator must be"):
        mint.rand(2, generator=3)
    with pytest.raises(ValueError, match="got both"):
        ops.rand(2, seed=1, generator=ms.Generator())


def test_rows_are_shuffled_by_seeds_of_the_operator(mode: int) -> None:
    x = ops.arange(60).reshape((20, 3))
    first, again, other = (ops.RandomShuffle(*seeds) for seeds in ((3, 1), (3, 1), (3, 2)))
    drawn = [run(lambda op=op: op(x)) for op in (first, again, other, first)]
    assert drawn[0] == drawn[1] and drawn[0] not in drawn[2:]
    assert all(sorted(rows) == x.tolist() for rows in drawn)
    assert first(Tensor(2.5)).tolist() == ops.shuffle(Tensor(2.5)).tolist() == 2.5
    for wrong in (lambda: ops.shuffle(2), lambda: ops.shuffle(x, 1.5), lambda: ops.RandomShuffle(True)):
        with pytest.raises(TypeError, match="shuffle takes a Tensor|an int from 0"):
            wrong()
    for negative in (lambda: ops.shuffle(x, -3), lambda: ops.RandomShuffle(0, -1)):
        with pytest.raises(ValueError, match="an int from 0"):
            negative()


def test_draws_are_put_on_a_device() -> None:
    for found in (
        mint.rand(2, device="CPU"), mint.randn(2, device="CPU"), mint.randint(0, 3, (2,), device="CPU"),
        mint.rand_like(Tensor([1.0]), device="CPU"), mint.randn_like(Tensor([1.0]), device="CPU"),
        mint.randint_like(Tensor([1.0]), 3, device="CPU"),
    ):  # fmt: skip
        assert found.device == "CPU"
    with pytest.raises(ValueError):
        mint.rand(2, device="abacus")
