"""Ranks in threads under a signal handler that raises: it comes out, nobody waits for ever, the next run is right."""

import threading

import numpy as np
import pytest

from msnb.base.threads.worker_threads import run_all
from msnb.core.process_group import current
from msnb.parallel.engine.simulated.threaded_ranks import run_ranks
from tests.fuzz.alarms import Alarm, Bell
from tests.waiting import eventually

N = 4


def settled(name: str) -> bool:
    """Waits for such threads to end; False if they do not."""
    return eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith(name)])


def summed(rank: int):
    total = np.full(3, rank, np.float32)
    for _ in range(5):
        total = current().all_reduce(total)
    return total


def test_an_alarm_at_any_moment_stops_all_ranks(rng):
    right = run_ranks(N, summed)[0]
    outcomes = set()
    for _ in range(300):
        bell = Bell()
        try:
            with bell.set(float(rng.uniform(0, 0.004))):
                rows = run_ranks(N, summed)[0]
        except Alarm:
            outcomes.add("rang")
            continue
        outcomes.add("ended")
        np.testing.assert_array_equal(rows, right)
        assert bell.rung == bell.lost
    assert "rang" in outcomes
    assert settled("msnb rank")


def test_results_come_in_the_order_of_the_tasks():
    entered = threading.Barrier(3)

    def task(i):
        entered.wait()  # all three run at once
        return i * i

    assert run_all([lambda i=i: task(i) for i in range(3)], "test task") == [0, 1, 4]
    assert run_all([], "test task") == []


def test_the_first_error_in_order_comes_out_when_all_have_ended():
    ended = []

    def task(i):
        try:
            if i:
                raise KeyError(i)
        finally:
            ended.append(i)

    with pytest.raises(KeyError, match="1"):
        run_all([lambda i=i: task(i) for i in range(4)], "test task")
    assert sorted(ended) == [0, 1, 2, 3]
    assert settled("test task")
