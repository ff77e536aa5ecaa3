"""Compiled functions called from several threads: compiled once, no step lost, no object seen half-way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import events
from tests.waiting import PATIENCE


def at_once(count: int, work: Callable[[int], Any]) -> list[Any]:
    """``work(i)`` in ``count`` threads that start together; their results, or the error of one."""
    results: list[Any] = [None] * count
    errors: list[BaseException] = []
    gate = threading.Barrier(count)

    def run(i: int) -> None:
        try:
            gate.wait(PATIENCE)
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    if errors:
        raise errors[0]
    return results


def test_many_first_calls_compile_once() -> None:
    f = ms.jit(lambda x: ops.tanh(x) * 2 + x)
    compiled: list[Any] = []
    with events.listening("compiled", lambda **data: compiled.append(data)):
        found = at_once(6, lambda i: f(ms.Tensor([float(i)])).item())
    assert len(compiled) == 1 == len(f.versions)
    np.testing.assert_allclose(found, [np.tanh(i) * 2 + i for i in range(6)], rtol=1e-6)


def test_versions_are_found_by_all(mode: int) -> None:
    f = ms.jit(lambda x: x.sum() + x.shape[0])

    def work(i: int) -> list[float]:
        return [f(ops.ones((1 + (i + k) % 3,))).item() for k in range(12)]

    for i, found in enumerate(at_once(4, work)):
        assert found == [2.0 * (1 + (i + k) % 3) for k in range(12)]
    assert len(f.versions) == 3 and len({v.number for v in f.versions}) == 3


def test_no_step_is_lost() -> None:
    """Read, run, write is one: four threads that count together count right."""
    w = ms.Parameter(ms.Tensor([0.0]), name="w")

    @ms.jit
    def step(x: Any) -> Any:
        ops.assign(w, w + x)
        return w * 1

    seen = at_once(4, lambda i: [step(ms.Tensor([1.0])).item() for _ in range(25)])
    assert w.item() == 100.0
    assert sorted(v for part in seen for v in part) == [float(i) for i in range(1, 101)]


def test_cells_and_gradients_in_graph_mode() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net = nn.SequentialCell(nn.Dense(3, 3), nn.ReLU(), nn.Dense(3, 1))
    gradient = ms.grad(lambda x: net(x).sum())
    x = ms.Tensor(np.ones((2, 3), np.float32))
    compiled: list[Any] = []
    with events.listening("compiled", lambda **data: compiled.append(data)):
        found = at_once(4, lambda i: (net(x).tolist(), gradient(x).tolist()))
    assert all(f == found[0] for f in found) and len(compiled) == 2


def test_nobody_sees_an_object_in_the_middle_of_a_capture() -> None:
    """A capture really writes to the objects and puts them back: others wait until it has."""
    box, inside, go = SimpleNamespace(n=1), threading.Event(), threading.Event()

    def wait(x: Any) -> Any:
        inside.set()
        go.wait(PATIENCE)
        return x

    opaque = SimpleNamespace(wait=wait)
    reader = ms.jit(lambda x: x * box.n)
    assert reader(ms.Tensor([1.0])).item() == 1.0

    def writes(x: Any) -> Any:
        box.n = 100
        y = opaque.wait(x)
        box.n = 2
        return y

    writer = ms.jit(writes)
    found: list[float] = []
    first = threading.Thread(target=lambda: writer(ms.Tensor([1.0])))
    second = threading.Thread(target=lambda: found.append(reader(ms.Tensor([1.0])).item()))
    first.start()
    assert inside.wait(PATIENCE)
    second.start()
    second.join(0.2)
    assert second.is_alive() and not found  # it waits
    go.set()
    first.join(PATIENCE)
    second.join(PATIENCE)
    assert found in ([1.0], [2.0]) and box.n == 2


def test_a_failed_capture_leaves_the_others_alone() -> None:
    def wrong(x: Any) -> Any:
        return x @ ops.ones((7, 7))

    bad, good = ms.jit(wrong), ms.jit(lambda x: x + 1)

    def work(i: int) -> float:
        if i % 2:
            with pytest.raises(ValueError, match="matmul"):
                bad(ops.ones((2, 2)))
        return good(ms.Tensor([float(i)])).item()

    assert at_once(4, work) == [1.0, 2.0, 3.0, 4.0]
    assert not bad.versions


def test_a_program_may_call_itself_through_python() -> None:
    """A hook inside a program calls the same function in the same thread: no queue to wait in."""
    f = ms.jit(lambda x: x * 3)
    seen: list[float] = []

    @ms.jit
    def g(x: Any) -> Any:
        y = x * x
        y.register_hook(lambda grad: seen.append(f(grad).item()))
        return y.sum()

    assert ms.grad(g)(ms.Tensor([2.0])).tolist() == [4.0] and seen == [3.0]
