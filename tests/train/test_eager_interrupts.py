"""An eager step that is interrupted, or fails, leaves all state as it was: weights, moments, moving statistics."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops

State = dict[str, np.ndarray[Any, Any]]
pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="timers of Unix")


class Training:
    """A small network with moving statistics and dropout, its optimizer, a batch."""

    def __init__(self) -> None:
        ms.set_seed(7)
        self.net = nn.SequentialCell(
            nn.Dense(16, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(p=0.2), nn.Dense(32, 32), nn.BatchNorm1d(32),
            nn.Dense(32, 4),
        ).set_train()  # fmt: skip
        self.loss = nn.CrossEntropyLoss()
        self.optimizer = nn.Adam(self.net.trainable_params(), 0.01)
        self.whole = nn.TrainOneStepCell(nn.WithLossCell(self.net, self.loss), self.optimizer).set_train()
        rng = np.random.default_rng(3)
        self.x = ms.Tensor(rng.normal(size=(8, 16)).astype(np.float32))
        self.y = ms.Tensor(np.arange(8, dtype=np.int32) % 4)
        self.gradient = ms.value_and_grad(lambda x, y: self.loss(self.net(x), y), None, self.optimizer.parameters)

    def state(self) -> State:
        cells = {**dict(self.net.parameters_and_names()), **dict(self.optimizer.parameters_and_names("optimizer"))}
        return {name: p.asnumpy().copy() for name, p in cells.items()}


def same(a: State, b: State) -> bool:
    return all(np.array_equal(a[name], b[name]) for name in a)


def moved(before: State, after: State) -> list[str]:
    return [name for name in before if not np.array_equal(before[name], after[name])]


class Boom(Exception):
    """What a test lets go wrong."""


def interrupted(step: Callable[[], Any], after: float) -> bool:
    """Whether an interrupt after so many seconds came before the step was through."""
    assert threading.current_thread() is threading.main_thread()

    def raise_(*_: Any) -> None:
        raise KeyboardInterrupt

    former = signal.signal(signal.SIGALRM, raise_)
    try:
        signal.setitimer(signal.ITIMER_REAL, after)
        step()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        return True
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)
    return False


def interrupt_often(times: int, rng: np.random.Generator) -> None:
    t = Training()
    step = lambda: t.whole(t.x, t.y)
    for _ in range(3):
        step()
    start = time.perf_counter()
    step()
    long = time.perf_counter() - start
    hits = 0
    for _ in range(times):
        before = t.state()
        hit = interrupted(step, max(1e-5, float(rng.uniform(0, 1.1)) * long))
        hits += hit
        names = moved(before, t.state())
        assert len(names) in ((0, len(before)) if hit else (len(before),)), f"half-way: {names}"
    assert hits, "no interrupt came in time"
    before = t.state()
    step()
    assert len(moved(before, t.state())) == len(before)


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_interrupts_at_random_moments(level: str, rng: np.random.Generator) -> None:
    with ms.set_context(jit_level=level):
        interrupt_often(20, rng)


@pytest.mark.slow
@pytest.mark.parametrize("level", ["O0", "O1"])
def test_two_hundred_interrupts_at_random_moments(level: str, rng: np.random.Generator) -> None:
    with ms.set_context(jit_level=level):
        interrupt_often(200, rng)


# ---- the moments that count -----------------------------------------------------------------------------------------


def failing(monkeypatch: pytest.MonkeyPatch, where: str, t: Training) -> None:
    """Let one place of the next step fail."""

    def boom(*_: Any, **__: Any) -> Any:
        raise Boom

    if where == "backward":
        from msnb.eager.recording import Recording

        monkeypatch.setattr(Recording, "backward", boom)
    elif where == "loss":
        monkeypatch.setattr(type(t.loss), "construct", boom)
    else:
        monkeypatch.setattr(type(t.optimizer), "update", boom)


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("where", ["loss", "backward", "update"])
@pytest.mark.parametrize("how", ["cell", "by hand"])
def test_a_step_that_fails_changes_nothing(
    mode: int, level: str, where: str, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if mode == ms.GRAPH_MODE and (where == "backward" or how == "by hand"):
        pytest.skip("a graph's gradient is part of it; by hand it is two programs")
    with ms.set_context(jit_level=level):
        t = Training()
        run = {"cell": lambda: t.whole(t.x, t.y), "by hand": lambda: t.optimizer(t.gradient(t.x, t.y)[1])}[how]
        before = t.state()
        with monkeypatch.context() as broken:
            failing(broken, where, t)
            with pytest.raises(Boom):
                run()
        assert same(before, t.state()), moved(before, t.state())
        run()
        assert len(moved(before, t.state())) == len(before)


def test_what_was_written_between_gradient_and_update_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    t = Training()
    _, gradients = t.gradient(t.x, t.y)
    mean = t.net[1].moving_mean
    ops.assign(mean, ops.ones(32))
    with monkeypatch.context() as broken:
        failing(broken, "update", t)
        with pytest.raises(Boom):
            t.optimizer(gradients)
    np.testing.assert_array_equal(mean.asnumpy(), 1.0)


def test_draws_of_a_step_that_failed_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    losses = []
    for fails in (False, True):
        t = Training()
        if fails:
            with monkeypatch.context() as broken:
                failing(broken, "backward", t)
                with pytest.raises(Boom):
                    t.whole(t.x, t.y)
        losses.append(float(t.whole(t.x, t.y)))
    assert losses[0] == losses[1]


def test_weights_stay_watched_after_a_step_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    w = ms.Parameter(ms.Tensor([2.0]), name="w")

    def loss(x: ms.Tensor) -> ms.Tensor:
        ops.assign(w, w * 2)
        raise Boom

    with pytest.raises(Boom):
        ms.value_and_grad(loss, None, [w])(ms.Tensor([3.0]))
    assert w.tolist() == [2.0] and w._rec is None
    assert ms.grad(lambda x: (x * w).sum(), None, [w])(ms.Tensor([3.0]))[0].tolist() == [3.0]
