"""A dataset with worker processes, one of which is killed while rows are read."""

from __future__ import annotations

import gc
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import msnb.dataset as ds
from msnb.base.errors import DatasetError
from msnb.dataset.pipeline.workers import worker_pool
from tests.kills.moments import Trial, children, killed_after, measured
from tests.waiting import eventually

ROWS = 60


def work(x: Any) -> Any:
    """What a worker does with a row."""
    time.sleep(0.001)
    return x * 2


def rows(found: list[float]) -> None:
    """All rows, put into a list one by one."""
    data = ds.NumpySlicesDataset(np.arange(float(ROWS)), "x", shuffle=False)
    data = data.map(work, num_parallel_workers=2, python_multiprocessing=True)
    for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        found.append(float(x))


def trial(rng: random.Random, seconds: float, others: set[int]) -> tuple[bool, str]:
    """Kill one of the workers; then read all rows."""
    want = [2.0 * i for i in range(ROWS)]

    def one() -> int | None:
        pids = sorted(children() - others)
        return rng.choice(pids) if pids else None

    got: list[float] = []
    failed = ""
    with killed_after(rng.uniform(0, seconds), one) as killed:
        try:
            rows(got)
        except DatasetError as error:
            failed = error.sentence
    if got != want[: len(got)] or (len(got) < ROWS and not failed):
        return bool(killed), f"rows {got[:5]}... ({len(got)} of {ROWS}), error {failed!r}"
    again: list[float] = []
    rows(again)
    return bool(killed), "" if again == want else f"the next epoch has {len(again)} rows"


@contextmanager
def trials() -> Iterator[Trial]:
    worker_pool._end_all()  # workers that data sets before left for the next one would count among the others
    others = children()
    rows([])
    seconds = measured(lambda: rows([]))
    yield lambda rng: trial(rng, seconds, others)
    gc.collect()
    worker_pool._end_all()
    if not eventually(lambda: not children() - others):
        raise AssertionError(f"workers are left: {children() - others}")
