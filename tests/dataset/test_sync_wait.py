"""sync_wait: rows that are made after the program has said what it found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.base.errors import DatasetError


class Policy:
    """What the last update said scales the rows."""

    def __init__(self) -> None:
        self.step = 1

    def update(self, data: Any) -> None:
        self.step = data["step"]

    def scaled(self, x: Any) -> Any:
        return x * self.step


def rows(size: int = 3) -> ds.NumpySlicesDataset:
    return ds.NumpySlicesDataset(list(range(1, size + 1)), "x", shuffle=False)


def test_rows_follow_the_updates_over_epochs() -> None:
    policy, found = Policy(), []
    data = rows().sync_wait("policy", callback=policy.update).map(policy.scaled)
    iterator = data.create_tuple_iterator(num_epochs=3)
    for _ in range(3):
        for (x,) in iterator:
            found.append(int(x))
            data.sync_update("policy", data={"step": len(found)})
    assert found == [1, 2, 6, 3, 8, 15, 6, 14, 24]


def test_whole_batches_wait() -> None:
    policy = Policy()
    data = rows(6).sync_wait(condition_name="policy", callback=policy.update).map(policy.scaled).batch(2)
    found = []
    for (x,) in data.create_tuple_iterator(num_epochs=1, output_numpy=True):
        found.append(x.tolist())
        data.sync_update(condition_name="policy", data={"step": 10})
    assert found == [[1, 2], [30, 40], [50, 60]]


def test_an_iterator_that_was_left_holds_nobody_back() -> None:
    data = rows().sync_wait("policy")
    for _ in range(3):
        assert int(next(data.create_tuple_iterator())[0]) == 1


def test_a_missing_update_is_named() -> None:
    data = rows().sync_wait("policy").map(np.square)
    iterator = data.create_tuple_iterator()
    next(iterator)
    with pytest.raises(DatasetError, match=r"row 1 is asked for before sync_update\('policy'\)(?s:.)*every step"):
        next(iterator)
    ahead = rows().sync_wait("policy").map(np.square, num_parallel_workers=2).create_tuple_iterator()
    next(ahead)
    with pytest.raises(DatasetError, match="must not work ahead"):
        next(ahead)


def test_wrong_arguments() -> None:
    data = rows().sync_wait("policy")
    for wrong, message in (
        (lambda: data.sync_wait("policy"), "stands twice"),
        (lambda: data.sync_wait("other", num_batch=0), "num_batch"),
        (lambda: data.sync_wait(1), "condition_name must be a str"),
        (lambda: data.sync_wait("other", callback=3), "callback must be a function"),
        (lambda: data.sync_update("polciy"), "no condition 'polciy'; known: policy"),
        (lambda: data.sync_update("policy", num_batch=-1), "num_batch"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            wrong()
