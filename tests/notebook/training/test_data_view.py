"""``ms.show.data``: the slow node is named, whatever stands around it; its rate, queue and refusals."""

from __future__ import annotations

import json
import time

import numpy as np
import pytest

import msnb as ms
import msnb.dataset as ds
from msnb.base.errors import ArgumentError, AttributeValueError, DatasetError


def slow_map(x):
    time.sleep(0.002)
    return x


def slow_filter(x):
    time.sleep(0.002)
    return True


def slow_stack(columns, info):
    time.sleep(0.008)
    return columns


class SlowRows:
    def __len__(self):
        return 40

    def __getitem__(self, index):
        time.sleep(0.002)
        return np.int64(index)


def numbers():
    return ds.NumpySlicesDataset(np.arange(60), "x")


PIPELINES = {
    "map(slow_map": [
        lambda: numbers().map(slow_map, "x"),
        lambda: numbers().map(slow_map, "x").batch(4).repeat(2),
        lambda: numbers().shuffle(8).map(slow_map, "x").map(np.negative, "x").batch(4),
        lambda: numbers().map(slow_map, "x").prefetch(4).map(np.negative, "x"),
        lambda: numbers().map(slow_map, "x", num_parallel_workers=2).batch(4),
        lambda: ds.zip((numbers(), numbers().rename("x", "y").map(slow_map, "y"))),
        lambda: numbers() + numbers().map(slow_map, "x"),
    ],
    "filter(slow_filter": [
        lambda: numbers().filter(slow_filter).batch(3),
        lambda: numbers().filter(slow_filter).take(50),
    ],
    "batch(4": [
        lambda: numbers().batch(4, per_batch_map=slow_stack),
        lambda: numbers().batch(4, per_batch_map=slow_stack).prefetch(2).map(np.negative, "x"),
    ],
    "GeneratorDataset(": [lambda: ds.GeneratorDataset(SlowRows(), "x").map(np.negative, "x").prefetch(3).batch(2)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("slow", "build"), [(slow, build) for slow, builds in PIPELINES.items() for build in builds]
)
def test_the_slow_node_is_named(slow, build):
    view = ms.show.data(build(), seconds=0.15)
    assert view.bottleneck.startswith(slow), view.text
    assert slow in view.verdict and slow in view.text and "svg" in view.svg
    assert json.loads(json.dumps(view.json))["data"]["bottleneck"] == view.bottleneck


def test_rows_are_counted_and_queues_are_seen():
    view = ms.show.data(numbers().map(np.negative, "x").prefetch(4).map(slow_map, "x"), seconds=5)
    found = {node.label.split("(")[0]: node for node in view.measured.nodes}
    assert view.measured.rows == 59  # without the first
    assert found["prefetch"].fill > 0.5  # the slow one is behind it
    assert found["map"].stage == 0 and found["NumpySlicesDataset"].stage == 1


def test_a_measured_pipeline_is_the_same_afterwards():
    ds.config.set_seed(3)
    data = numbers().shuffle(9).batch(7)
    before = [row["x"].tolist() for row in data.create_dict_iterator(1, output_numpy=True)]
    ms.show.data(data, seconds=0.05)
    ds.config.set_seed(3)
    assert [row["x"].tolist() for row in data.create_dict_iterator(1, output_numpy=True)] == before


def test_a_step_is_compared():
    assert "would wait for data 0%" in ms.show.data(numbers(), seconds=0.05, step=10.0).verdict
    assert "would wait for data 100%" in ms.show.data(numbers().map(slow_map, "x"), seconds=0.1, step=1e-6).verdict


def test_what_cannot_be_measured():
    with pytest.raises(ArgumentError, match="takes a Dataset, got list"):
        ms.show.data([1, 2])
    with pytest.raises(AttributeValueError, match="seconds is a number above 0"):
        ms.show.data(numbers(), seconds=0)
    with pytest.raises(DatasetError, match="no row"):
        ms.show.data(numbers().take(0))
    with pytest.raises(DatasetError, match="ZeroDivisionError"):
        ms.show.data(numbers().map(lambda x: 1 // 0, "x"))
