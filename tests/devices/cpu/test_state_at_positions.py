"""Parameters written at positions that tensors give: in place, whatever reads them in the same program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import IndexOutOfRange

pytest.importorskip("llvmlite")

ROWS, WIDTH = 700, 16


def cache(name: str = "cache") -> ms.Parameter:
    start = np.random.default_rng(len(name)).standard_normal((2, ROWS, WIDTH)).astype(np.float32)
    return ms.Parameter(start, name=name)


def row(seed: int) -> ms.Tensor:
    return ms.Tensor(np.random.default_rng(seed).standard_normal((2, WIDTH)).astype(np.float32))


def address(p: ms.Parameter) -> int:
    return int(p._data.ctypes.data)


def turns(make: Callable[[], tuple[Any, list[ms.Parameter]]], level: str, calls: int = 4) -> tuple[Any, Any, Any]:
    """Results and last states of some calls, and the program."""
    with ms.set_context(jit_level=level):
        step, state = make()
        jitted = ms.jit(step)
        found = [np.asarray(jitted(row(i), ms.Tensor(3 * i)).asnumpy()) for i in range(calls)]
        return found, [p.asnumpy() for p in state], jitted.versions[-1].compiled.executable


def same(make: Callable[[], tuple[Any, list[ms.Parameter]]]) -> Any:
    """O0 and O1 agree; the program at O1."""
    wanted, states, _ = turns(make, "O0")
    found, own, program = turns(make, "O1")
    for a, b in ((found, wanted), (own, states)):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=2e-5, atol=1e-5)
    return program


def scores(c: Any, k: Any) -> Any:
    return ops.softmax((c * ops.expand_dims(k, 1)).sum(-1), -1)


def test_a_cache_that_is_read_behind_the_write_is_not_copied() -> None:
    def make() -> Any:
        c = cache()

        def step(k: Any, pos: Any) -> Any:
            c[:, pos] = k
            return scores(c, k)

        return step, [c]

    program = same(make)
    assert len(program.built.plan.lends) == 1 and program.peak < 2 * ROWS * WIDTH * 4
    with ms.set_context(jit_level="O1"):
        step, (c,) = make()
        jitted = ms.jit(step)
        jitted(row(0), ms.Tensor(0))
        here = address(c)
        for i in range(3):
            jitted(row(i), ms.Tensor(i))
            assert address(c) == here


def test_several_caches_and_a_position_that_is_state() -> None:
    def make() -> Any:
        a, b = cache("first"), cache("second one")
        pos = ms.Parameter(np.array(5, np.int64), name="pos")

        def step(k: Any, _: Any) -> Any:
            a[:, pos] = k
            x = (scores(a, k) @ ops.ones((ROWS, WIDTH))) + k
            b[:, pos] = x
            ops.assign(pos, pos + 1)
            return scores(b, x)

        return step, [a, b, pos]

    program = same(make)
    assert len(program.built.plan.lends) == 3 and program.peak < 2 * ROWS * WIDTH * 4


def test_writes_in_a_chain() -> None:
    def make() -> Any:
        c = cache()

        def step(k: Any, pos: Any) -> Any:
            c[:, pos] = k
            c[:, pos + 1] = k * 2
            c[0, pos + 2] = 1.5
            return scores(c, k)

        return step, [c]

    program = same(make)
    assert program.peak < 2 * ROWS * WIDTH * 4


@pytest.mark.parametrize("what", ("old", "both", "neighbour", "late index", "print", "branch", "reshaped"))
def test_what_keeps_a_write_from_being_in_place_keeps_its_values(what: str, capsys: Any) -> None:
    def make() -> Any:
        c = cache()

        def step(k: Any, pos: Any) -> Any:
            if what == "old":
                before = c * 1
                c[:, pos] = k
                return before.sum(1) + c.sum(1)
            if what == "both":
                c[:, pos] = k
                return c + 0
            if what == "neighbour":
                c[:, pos] = c[:, pos + 1]
                return scores(c, k)
            if what == "late index":
                c[:, pos] = k
                best = scores(c, k)[0].argmax()
                c[:, best] = k + 1
                return scores(c, k)
            if what == "print":
                c[:, pos] = k
                ops.print("sum", c.sum() > 1e9)
                return scores(c, k)
            if what == "branch":
                c[:, pos] = k
                return c.sum(1) if (c.sum() > 0) else c.sum(1) * 2
            flat = c.reshape(2 * ROWS, WIDTH)
            ops.assign(c, ops.index_update(flat, (pos,), k[0]).reshape(2, ROWS, WIDTH))
            return scores(c, k)

        return step, [c]

    same(make)
    capsys.readouterr()


@pytest.mark.parametrize("level", ("O0", "O1"))
def test_a_position_out_of_range_changes_nothing(level: str) -> None:
    with ms.set_context(jit_level=level):
        a, b = cache("first"), cache("second one")

        @ms.jit
        def step(k: Any, pos: Any, other: Any) -> Any:
            a[:, pos] = k
            x = scores(a, k) @ ops.ones((ROWS, WIDTH))
            b[:, other] = x
            return scores(b, x)

        step(row(1), ms.Tensor(3), ms.Tensor(-2))
        before = a.asnumpy().copy(), b.asnumpy().copy()
        for pair in ((0, ROWS), (-ROWS - 1, 0)):
            with pytest.raises(IndexOutOfRange, match=f"of size {ROWS}") as told:
                step(row(2), *map(ms.Tensor, pair))
            assert "test_state_at_positions.py" in str(told.value)
            np.testing.assert_array_equal(a.asnumpy(), before[0])
            np.testing.assert_array_equal(b.asnumpy(), before[1])
        step(row(2), ms.Tensor(ROWS - 1), ms.Tensor(-ROWS))
        np.testing.assert_array_equal(a.asnumpy()[:, -1], row(2).asnumpy())


def test_who_holds_the_old_value_keeps_it() -> None:
    with ms.set_context(jit_level="O1"):
        c = cache()

        @ms.jit
        def step(k: Any, pos: Any) -> Any:
            c[:, pos] = k
            return scores(c, k)

        step(row(0), ms.Tensor(0))
        held = c.value()
        kept = held.asnumpy().copy()
        step(row(1), ms.Tensor(1))
        np.testing.assert_array_equal(held.asnumpy(), kept)
        np.testing.assert_array_equal(c.asnumpy()[:, 1], row(1).asnumpy())


def test_a_value_that_a_loop_carries_is_written_in_place() -> None:
    def fill(x: Any, n: Any) -> Any:
        i = ms.Tensor(0)
        while i < n:
            x = ops.index_update(x, (slice(None), i), x[:, i - 1] * 0.5 + 1)
            i = i + 1
        return x

    x, n = ms.Tensor(cache().asnumpy()), ms.Tensor(ROWS)
    with ms.set_context(jit_level="O0"):
        wanted = fill(x, n).asnumpy()
    with ms.set_context(jit_level="O1"):
        jitted = ms.jit(fill)
        np.testing.assert_allclose(jitted(x, n).asnumpy(), wanted, rtol=1e-6)
        with pytest.raises(IndexOutOfRange):
            jitted(x, ms.Tensor(ROWS + 1))


@pytest.mark.parametrize("seed", range(8))
def test_random_steps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ways = rng.integers(0, 6, 5).tolist()
    print("seed", seed, "ways", ways)

    def make() -> Any:
        state = [cache("first"), cache("second one")]

        def step(k: Any, pos: Any) -> Any:
            x = k
            for n, way in enumerate(ways):
                c, other = state[n % 2], state[1 - n % 2]
                if way == 0:
                    c[:, pos] = x
                elif way == 1:
                    c[n % 2, pos + n] = 0.25
                elif way == 2:
                    x = x + scores(c, x) @ other[0]
                elif way == 3:
                    c[:, n] = x
                elif way == 4:
                    ops.assign(c, c * 0.5 + 1)
                else:
                    c[:, ops.stack([pos, pos + 2])] = ops.stack([x, x + 1], 1)
            return x + scores(state[0], x).sum()

        return step, state

    same(make)
