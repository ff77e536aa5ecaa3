"""ordered_map and read_ahead: order, laziness, errors in place, and no thread left behind."""

import itertools
import signal
import threading
import time

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.dataset.pipeline.workers.prefetch import ordered_map, read_ahead
from tests.fuzz.alarms import Alarm, Bell
from tests.waiting import PATIENCE, eventually


def settled():
    """Waits for the pipeline's threads to end; False if they do not."""
    return eventually(lambda: not [t for t in threading.enumerate() if t.name.startswith("msnb-dataset")])


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_order_is_kept_whoever_finishes_first(workers):
    def uneven(i):
        time.sleep(0.002 * (i % 3 == 0))
        return i * i

    assert list(ordered_map(uneven, range(40), workers)) == [i * i for i in range(40)]
    assert settled()


def test_an_endless_source_is_read_only_a_little_ahead():
    taken = []

    def source():
        for i in itertools.count():
            taken.append(i)
            yield i

    rows = ordered_map(lambda i: i, source(), 3)
    assert list(itertools.islice(rows, 10)) == list(range(10))
    rows.close()
    assert len(taken) <= 10 + 6 and settled()
    taken.clear()
    rows = read_ahead(source(), 4)
    assert list(itertools.islice(rows, 10)) == list(range(10))
    rows.close()
    assert len(taken) <= 10 + 6 and settled()


@pytest.mark.parametrize("run", [lambda s: ordered_map(lambda i: i, s, 3), lambda s: read_ahead(s, 3)])
def test_an_error_of_the_source_comes_after_the_rows_before_it(run):
    def source():
        yield from range(5)
        raise OSError("unplugged")

    got = []
    with pytest.raises(OSError, match="unplugged"):
        for item in run(source()):
            got.append(item)
    assert got == list(range(5)) and settled()


def test_an_abandoned_iterator_leaves_no_thread():
    chain = ds.NumpySlicesDataset(list(range(1000)), "x").map(lambda x: x, num_parallel_workers=2).prefetch(3)
    iterator = chain.create_tuple_iterator(output_numpy=True)
    next(iterator)
    del iterator
    assert settled()


def test_prefetch_reads_while_the_consumer_is_busy():
    second = threading.Event()

    def rows():
        yield 1
        second.set()
        yield 2

    iterator = ds.GeneratorDataset(rows, "x").prefetch(1).create_tuple_iterator(output_numpy=True)
    assert next(iterator)[0] == 1
    assert second.wait(PATIENCE), "nobody asked for row 2, and still it was made"
    assert next(iterator)[0] == 2


def test_config_defaults_reach_new_chains():
    names = set()

    def who(x):
        names.add(threading.current_thread().name.rpartition("_")[0])
        return x

    try:
        ds.config.set_num_parallel_workers(2)
        ds.config.set_prefetch_size(2)
        chain = ds.NumpySlicesDataset([1, 2, 3], "x", shuffle=False).map(who)
        assert [int(v) for (v,) in chain.create_tuple_iterator(num_epochs=1, output_numpy=True)] == [1, 2, 3]
    finally:
        ds.config.set_num_parallel_workers(1)
        ds.config.set_prefetch_size(0)
    assert names == {"msnb-dataset"} and settled()
    for wrong in (ds.config.set_num_parallel_workers, ds.config.set_prefetch_size):
        with pytest.raises(ValueError):
            wrong(-1)


@pytest.mark.parametrize("run", [lambda s: ordered_map(lambda i: i, s, 3), lambda s: read_ahead(s, 3)])
def test_an_alarm_at_any_moment_comes_out_and_leaves_no_thread(run):
    """Python's own conditions, executors and starts of threads keep a lock when a signal's handler ends them."""
    length, rng = 0.002, np.random.default_rng(7)
    for _ in range(400):
        bell = Bell()
        try:
            with bell.set(float(rng.uniform(0, length))):
                rows = list(run(iter(range(20))))
        except Alarm:
            continue
        assert rows == list(range(20)) and bell.rung == bell.lost
    assert settled()


def test_an_alarm_in_the_source_does_not_wait_for_its_turn():
    def source():
        yield from range(7)
        signal.raise_signal(signal.SIGALRM)

    with pytest.raises(Alarm), Bell().set(PATIENCE):
        list(itertools.islice(ordered_map(lambda i: i, source(), 3), 7))
    assert settled()
