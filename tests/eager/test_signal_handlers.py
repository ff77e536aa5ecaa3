"""An error that a signal handler raises (an alarm, the time limit of a test) passes through: it comes at any step, and
no second try of ours swallows it or leaves a recording half done."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.dataset as ds
from msnb import nn, ops
from msnb.base.errors import reraise_interrupt
from msnb.core.engine import slot
from msnb.eager.recording import Recording
from msnb.ir.builder import GraphBuilder, build

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers on this system")


class Alarm(Exception):
    """What the handler raises."""


def _ring(*frame: Any) -> None:
    raise Alarm


@pytest.fixture
def alarms() -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, _ring)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def _raised(handler: Any, *given: Any) -> Exception:
    try:
        handler(*given)
    except Exception as error:
        return error
    raise AssertionError


@pytest.mark.parametrize("handler", [_ring, partial(_ring, 1)], ids=["function", "partial"])
def test_what_a_handler_raises_is_known(handler: Any) -> None:
    before = signal.signal(signal.SIGALRM, handler)
    try:
        with pytest.raises(Alarm):
            reraise_interrupt(_raised(handler, signal.SIGALRM, None))
    finally:
        signal.signal(signal.SIGALRM, before)
    reraise_interrupt(_raised(handler, signal.SIGALRM, None))  # no handler any more: an error like others
    reraise_interrupt(_raised(lambda: {}["missing"]))


def test_alarms_at_any_step_leave_gradients_right(alarms: None, rng: np.random.Generator, mode: int) -> None:
    net = nn.SequentialCell(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten(), nn.Dense(64, 3))
    x = ms.Tensor(rng.standard_normal((4, 1, 8, 8)).astype(np.float32))

    def loss(x: Any) -> Any:
        found = net(x)
        return (found.amax(1) * ops.softmax(found)[:, 0]).sum() + net[0](x).amax((2, 3)).sum()

    gradient = ms.value_and_grad(loss, None, net.trainable_params())
    value, expected = gradient(x)
    for _ in range(20):
        gradient(x)
    start = time.perf_counter()
    gradient(x)
    length, rung = time.perf_counter() - start, 0
    for _ in range(150):
        try:
            signal.setitimer(signal.ITIMER_REAL, max(1e-6, length * float(rng.uniform(0.05, 1))))
            gradient(x)
            signal.setitimer(signal.ITIMER_REAL, 10.0)
        except Alarm:
            rung += 1
            again, found = gradient(x)
            np.testing.assert_array_equal(again.asnumpy(), value.asnumpy())
            for a, b in zip(found, expected):
                np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), 1e-5, 1e-6)
    assert rung > 0


def test_an_alarm_while_rows_are_made_is_no_error_of_the_rows(alarms: None) -> None:
    """Not "failed at row 3": the time limit of the loop is the loop's."""

    def slow(row: Any) -> Any:
        time.sleep(0.02)
        return row

    rows = ds.NumpySlicesDataset(np.arange(100), shuffle=False).map(slow)
    for made in (rows, rows.batch(4), rows.filter(lambda row: slow(row) >= 0)):
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Alarm):
            for _ in made.create_tuple_iterator(num_epochs=1):
                pass
        assert len(list(made.take(2).create_tuple_iterator(num_epochs=1))) == 2


def test_an_alarm_during_a_capture_is_no_statement_of_the_program(alarms: None) -> None:
    """It comes where a tensor decides: the branch does not end in raising it."""
    ring = [True]

    @ms.jit
    def f(x: Any) -> Any:
        if x.sum() > 100:
            x = x * (signal.raise_signal(signal.SIGALRM) or 2 if ring else 2)
        return x + 1

    with pytest.raises(Alarm):
        f(ms.Tensor([1.0]))
    ring.clear()
    assert f(ms.Tensor([1.0])).asnumpy() == 2


def _in_graph(x: ms.Tensor) -> Any:
    return build("f", [x._type], lambda t: t * 2)


def _recorded(x: ms.Tensor) -> Any:
    return ms.vjp(lambda t: t * t, x)[1](x)


@pytest.mark.parametrize(("block", "program"), [(GraphBuilder, _in_graph), (Recording, _recorded)])
def test_an_interrupt_where_a_block_is_about_to_put_the_engine_back(block: type, program: Any) -> None:
    """Before the first step of ``__exit__``: all later operations went to a graph that nobody runs."""
    before, rung, code = slot.engine, [], block.__exit__.__code__  # type: ignore[attr-defined]

    def ring(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code is code:
            sys.setprofile(None)
            rung.append(event)
            raise Alarm

    try:
        sys.setprofile(ring)
        with pytest.raises(Alarm):
            program(ms.Tensor([1.0, 2.0]))
        assert rung and slot.engine is before
    finally:
        sys.setprofile(None)
        slot.engine = before
    assert (ms.Tensor([1.0]) + 1).tolist() == [2.0]
