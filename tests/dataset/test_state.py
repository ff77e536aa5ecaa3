"""The state of an iterator: taken at any row, as JSON, it goes on at the next one; workers and reading ahead change
nothing."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb.dataset as ds
from msnb.base.errors import ArgumentError, AttributeValueError, DatasetError
from msnb.dataset.pipeline.epoch_rng import draws


class Numbers:
    """Rows by number; counts how many were read."""

    def __init__(self, size):
        self.size, self.reads = size, 0

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        self.reads += 1
        return np.int64(index)


def noisy(x):
    return x + draws().integers(1000) * 1000


def odd(x):
    return int(np.sum(x)) % 3 != 0


def ragged(info):
    return 1 + info.get_batch_num() % 3


STEPS = {
    "shuffle": lambda d, how: d.shuffle(4),
    "map": lambda d, how: d.map(noisy, "x", **how),
    "filter": lambda d, how: d.filter(odd, "x", **how),
    "repeat": lambda d, how: d.repeat(2),
    "skip": lambda d, how: d.skip(2),
    "take": lambda d, how: d.take(9),
    "batch": lambda d, how: d.padded_batch(3, **how),
    "ragged": lambda d, how: d.padded_batch(ragged, drop_remainder=True),
    "concat": lambda d, how: d + d.skip(1),
    "zip": lambda d, how: d.zip(d.map(noisy, "x", **how).rename("x", "y")).project("x"),
    "split": lambda d, how: d.split([1.0])[0],
    "prefetch": lambda d, how: d.prefetch(3) if how else d,
}
SOURCES = ["indexed", "memory", "stream"]
WORKERS = {"num_parallel_workers": 3}


def pipeline(kind, steps, how):
    source = Numbers(11)
    if kind == "indexed":
        data = ds.GeneratorDataset(source, "x", shuffle=True, **how)
    elif kind == "memory":
        data = ds.NumpySlicesDataset(np.arange(11), "x", shuffle=True)
    else:
        data = ds.GeneratorDataset(lambda: iter(map(np.int64, range(11))), "x")
    for step in steps:
        if step == "split" and not data.get_dataset_size():
            continue
        data = STEPS[step](data, how)
    return data


def shown(row):
    return {name: (value.dtype.str, value.tolist()) for name, value in row.items()}


@given(st.sampled_from(SOURCES), st.lists(st.sampled_from(sorted(STEPS)), max_size=5), st.data())
@settings(max_examples=30, deadline=None)
def test_a_state_at_every_row_of_any_pipeline_goes_on_at_the_next(kind, steps, data):
    if sum(step in ("batch", "ragged") for step in steps) > 1:
        steps = [s for s in steps if s != "ragged"]
    ds.config.set_seed(data.draw(st.integers(0, 100)))
    whole = pipeline(kind, steps, {})
    it = whole.create_dict_iterator(num_epochs=2, output_numpy=True)
    pages, rows = [json.dumps(it.state())], []
    for _ in range(2):
        for row in it:
            rows.append(shown(row))
            pages.append(json.dumps(it.state()))
    assert all(len(page) < 2000 for page in pages)
    other = pipeline(kind, steps, WORKERS)
    for number in sorted({0, 1, len(rows), *data.draw(st.lists(st.integers(0, len(rows)), max_size=6))}):
        if number >= len(pages):
            continue
        again = other.create_dict_iterator(num_epochs=2, output_numpy=True, state=json.loads(pages[number]))
        found = [shown(row) for _ in range(2) for row in again]
        assert found[: len(rows) - number] == rows[number:], (kind, steps, number)


@pytest.mark.parametrize("steps", [["map", "batch"], ["shuffle", "map"], ["filter", "map"], ["repeat", "map", "skip"],
                                   ["concat", "shuffle", "map"], ["filter", "repeat", "batch"]])  # fmt: skip
def test_what_can_be_sought_is_not_read_again(steps):
    """A source that counts: after the state's row no earlier row is read."""
    source = Numbers(60)
    data = ds.GeneratorDataset(source, "x", shuffle=True)
    for step in steps:
        data = STEPS[step](data, {})
    ds.config.set_seed(4)
    it = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    for _ in range(8):
        next(it)
    state, source.reads = it.state(), 0
    rest = sum(1 for _ in it)
    left, source.reads = source.reads, 0
    again = data.create_dict_iterator(num_epochs=1, output_numpy=True, state=state)
    assert sum(1 for _ in again) == rest
    assert source.reads <= left + 4  # a shuffle has four rows in hand


def test_reading_ahead_changes_no_draw():
    def rows(ahead):
        ds.config.set_seed(2)
        data = ds.NumpySlicesDataset(np.arange(20), "x")
        if ahead:
            data = data.prefetch(ahead)
        data = data.shuffle(5).map(noisy, "x")
        return [int(r["x"]) for r in data.create_dict_iterator(num_epochs=1, output_numpy=True)]

    assert rows(0) == rows(1) == rows(7)


@pytest.mark.long
def test_processes_go_on_from_a_state_of_threads():
    def build(how):
        return ds.NumpySlicesDataset(np.arange(12), "x").shuffle(4).map(noisy, "x", **how).batch(2)

    ds.config.set_seed(5)
    it = build({}).create_dict_iterator(num_epochs=1, output_numpy=True)
    next(it)
    state = it.state()
    rest = [row["x"].tolist() for row in it]
    for how in (WORKERS, {"num_parallel_workers": 2, "python_multiprocessing": True}):
        again = build(how).create_dict_iterator(num_epochs=1, output_numpy=True, state=state)
        assert [row["x"].tolist() for row in again] == rest


def test_a_state_brings_its_seed_and_epoch():
    data = ds.NumpySlicesDataset(np.arange(30), "x").map(noisy, "x")
    ds.config.set_seed(1)
    it = data.create_dict_iterator(num_epochs=3, output_numpy=True)
    for _ in range(2):
        rows = [int(row["x"]) for row in it]
        state = it.state()
    assert (state["epoch"], state["row"]) == (2, 0)
    third = [int(row["x"]) for row in it]
    ds.config.set_seed(99)
    again = data.create_dict_iterator(num_epochs=1, output_numpy=True, state=state)
    assert [int(row["x"]) for row in again] == third != rows
    ds.config.set_seed(99)  # begins anew
    assert data.create_dict_iterator(num_epochs=1).state()["epoch"] == 0


def test_an_endless_pipeline_goes_on():
    ds.config.set_seed(3)
    data = ds.NumpySlicesDataset(np.arange(7), "x").filter(odd, "x").repeat().map(noisy, "x").batch(4)
    it = data.create_dict_iterator(num_epochs=1, output_numpy=True)
    for _ in range(100):
        next(it)
    state = it.state()
    assert len(json.dumps(state)) < 2000
    again = data.create_dict_iterator(num_epochs=1, output_numpy=True, state=state)
    for row, other in itertools.islice(zip(it, again), 20):
        np.testing.assert_array_equal(row["x"], other["x"])


def test_wrong_states_are_refused():
    data = ds.NumpySlicesDataset(np.arange(7), "x")
    state = data.create_dict_iterator().state()
    with pytest.raises(DatasetError, match="another pipeline"):
        data.batch(2).create_dict_iterator(state=state)
    with pytest.raises(ArgumentError, match="expects the dict"):
        data.create_dict_iterator(state=json.dumps(state))
    for change in ({"row": -1}, {"seed": "a"}, {"version": 2}, {"marks": {"2": [1]}}, {"marks": [1]}, {"more": 1}):
        with pytest.raises(AttributeValueError, match="no state of an iterator"):
            data.create_dict_iterator(state={**state, **change})
    with pytest.raises(AttributeValueError, match="no state"):
        data.create_tuple_iterator(state={})
