"""Writes to the outside: done again at every call, taken back between branches, never half done."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms

X = ms.Tensor([1.0, 2.0])
calls = 0


class State:
    def __init__(self) -> None:
        self.n = 0
        self.history: list[Any] = []
        self.table: dict[str, Any] = {}
        self.total = ms.Tensor([0.0, 0.0])


def step(state: State, x: Any) -> Any:
    global calls
    calls += 1
    state.n += 1
    state.history.append(x * state.n)
    state.table["last"] = x.sum()
    state.total = state.total + x
    return x * state.n


def test_writes_are_done_again_at_each_call() -> None:
    global calls
    calls, plain, graph = 0, State(), State()
    run = ms.jit(step)
    for i in range(3):
        want, got = step(plain, X * i), run(graph, X * i)
        assert got.tolist() == want.tolist()
    assert calls == 6
    assert graph.n == plain.n == 3
    assert [h.tolist() for h in graph.history] == [h.tolist() for h in plain.history]
    assert graph.table["last"].item() == plain.table["last"].item()
    assert graph.total.tolist() == plain.total.tolist()
    assert len(run.versions) == 1, ms.explain(run)


def test_a_failed_capture_leaves_objects_alone() -> None:
    state = State()

    def fn(x: Any) -> Any:
        state.n = 5
        state.history.append(x)
        state.table["k"] = x
        raise KeyError("no")

    with pytest.raises(KeyError):
        ms.jit(fn)(X)
    assert (state.n, state.history, state.table) == (0, [], {})


def test_a_failed_check_changes_nothing() -> None:
    weight = ms.Parameter(X, name="weight")
    state = State()

    def fn(x: Any) -> Any:
        weight.set_data(weight + x)
        state.n += 1
        assert x.sum() < 10, "too big"
        return weight.sum()

    run = ms.jit(fn)
    assert run(X).item() == 6.0
    with pytest.raises(AssertionError, match="too big"):
        run(X * 100)
    assert weight.tolist() == [2.0, 4.0]
    assert state.n == 1


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_branches_do_not_see_each_other(sign: float) -> None:
    def fn(x: Any) -> Any:
        rows, table, state = [x, x], {"a": x}, State()
        y = x * 1
        if x.sum() > 0:
            rows[0] = x * 2
            table["a"] = x * 3
            state.n = 1
            y[0] = 7.0
        else:
            rows[1] = rows[0] * 5
            state.n = 2
            state.total = rows[1]
        return rows, table, state.total, state.n * x, y

    from msnb.core import pytree

    x = X * sign
    want = [v.tolist() for v in pytree.flatten(fn(x))[0]]
    assert [v.tolist() for v in pytree.flatten(ms.jit(fn)(x))[0]] == want


def test_state_through_branches_and_loops() -> None:
    def program(weight: Any, x: Any, n: Any) -> Any:
        if x.sum() > 0:
            weight.set_data(weight * 2)
        i = 0
        while i < n:
            weight.set_data(weight + x)
            i += 1
        return weight * 1

    for sign in (1.0, -1.0):
        plain, graph = ms.Parameter(X, name="w"), ms.Parameter(X, name="w")
        want = program(plain, X * sign, ms.Tensor(3))
        assert ms.jit(program)(graph, X * sign, ms.Tensor(3)).tolist() == want.tolist()
        assert graph.tolist() == plain.tolist()


def test_default_list_that_grows() -> None:
    def fn(x: Any, seen: list[int] = []) -> Any:
        seen.append(1)
        return x * len(seen)

    run = ms.jit(fn)
    assert [run(X).tolist()[0] for _ in range(3)] == [1.0, 2.0, 3.0]


def test_print_of_tensors_runs_at_each_call(capsys: pytest.CaptureFixture[str]) -> None:
    def fn(x: Any, epoch: int) -> Any:
        print(f"epoch {epoch}: {x.sum():.1f}")
        return x

    run = ms.jit(fn)
    run(X, 1)
    run(X * 2, 2)
    assert capsys.readouterr().out == "epoch 1: 3.0\nepoch 2: 6.0\n"
    assert len(run.versions) == 1


def test_what_runs_at_capture_only_is_reported_once(notices: list[str]) -> None:
    import random

    run = ms.jit(lambda x: x * random.random())
    run(X)
    run(X)
    assert len(notices) == 1
    assert "ran while the function was captured" in notices[0]
    assert "at capture only" in ms.explain(run)
