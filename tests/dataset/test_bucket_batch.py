"""`bucket_batch_by_length` and `flat_map`: which rows meet, how they are padded, states, refusals."""

from __future__ import annotations

import json

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.base.errors import ArgumentError, AttributeValueError, DatasetError

LENGTHS = [1, 7, 3, 4, 9, 2, 2, 8, 12, 5]


def ragged():
    return ds.GeneratorDataset(lambda: ((np.full(n, n, np.int32), np.int32(n)) for n in LENGTHS), ["x", "n"])


def batches(data, **how):
    return [(row["x"].tolist(), row["n"].tolist()) for row in data.create_dict_iterator(1, output_numpy=True, **how)]


def test_rows_meet_in_their_bucket_and_are_padded_to_the_longest():
    found = batches(ragged().bucket_batch_by_length("x", [4, 9], [2, 2, 2]))
    assert [n for _, n in found] == [[1, 3], [7, 4], [2, 2], [9, 12], [8, 5]]
    assert found[0][0] == [[1, 0, 0], [3, 3, 3]]
    assert [len(x[0]) for x, _ in found] == [3, 7, 2, 12, 8]


def test_to_the_boundary_and_without_the_rest():
    data = ragged().bucket_batch_by_length("x", [4, 9], [3, 3, 3], pad_info={"x": ([None], -1)},
                                           pad_to_bucket_boundary=True, drop_remainder=True)  # fmt: skip
    found = batches(data)
    assert [n for _, n in found] == [[1, 3, 2], [7, 4, 8]]
    assert found[0][0] == [[1, -1, -1], [3, 3, 3], [2, 2, -1]] and len(found[1][0][0]) == 8


def test_a_length_of_ones_own():
    data = ragged().bucket_batch_by_length(["x", "n"], [2], [5, 5], lambda x, n: int(n) % 4)
    assert [n for _, n in batches(data)] == [[1, 4, 9, 8, 12], [5], [7, 3, 2, 2]]
    with pytest.raises(DatasetError, match="must give a length"):
        batches(ragged().bucket_batch_by_length("x", [2], [5, 5], lambda x: 1.5))
    with pytest.raises(DatasetError, match=r"failed at row 0.*ZeroDivisionError"):
        batches(ragged().bucket_batch_by_length("x", [2], [5, 5], lambda x: 1 // 0))


@pytest.mark.parametrize(
    ("names", "boundaries", "sizes"),
    [("y", [3], [1, 1]), ("x", [], [1]), ("x", [5, 3], [1, 1, 1]), ("x", [3], [1]), ("x", [3], [0, 1]),
     (["x", "n"], [3], [1, 1]), ("x", [2.5], [1, 1])],
)  # fmt: skip
def test_wrong_buckets(names, boundaries, sizes):
    with pytest.raises((ArgumentError, AttributeValueError)):
        ragged().bucket_batch_by_length(names, boundaries, sizes)


def steps(n):
    return ds.NumpySlicesDataset(np.arange(int(n)), "i").map(lambda i: i * 10, "i")


def test_every_row_becomes_rows():
    ds.config.set_seed(6)
    data = ds.NumpySlicesDataset([3, 1, 4, 2], "n").flat_map(steps).repeat(2)
    it = data.create_dict_iterator(1, output_numpy=True)
    rows, states = [], [json.dumps(it.state())]
    for row in it:
        rows.append(int(row["i"]))
        states.append(json.dumps(it.state()))
    assert sorted(rows) == sorted([0, 10, 20, 0, 0, 10, 20, 30, 0, 10] * 2)
    for number, state in enumerate(states[:-1]):
        again = data.create_dict_iterator(1, output_numpy=True, state=json.loads(state))
        assert [int(row["i"]) for row in again] == rows[number:]


def test_columns_are_arguments():
    pairs = ds.NumpySlicesDataset(([[0, 1], [2, 3]], [[0, -1], [-2, -3]]), shuffle=False)
    rows = pairs.flat_map(lambda a, b: ds.NumpySlicesDataset((a + 1, b - 1), shuffle=False))
    found = [[int(v) for v in row] for row in rows.create_tuple_iterator(output_numpy=True)]
    assert found == [[1, -1], [2, -2], [3, -3], [4, -4]]
    whole = ds.NumpySlicesDataset([[0, 1], [2, 3]], shuffle=False)
    rows = whole.flat_map(lambda array: ds.NumpySlicesDataset(array, shuffle=False).repeat(2))
    assert [int(v) for (v,) in rows.create_tuple_iterator(output_numpy=True)] == [0, 1, 0, 1, 2, 3, 2, 3]


def test_a_function_that_makes_no_data_set():
    numbers = ds.NumpySlicesDataset([3, 1], "n")
    with pytest.raises(ArgumentError, match="must return a Dataset, it returned list"):
        numbers.flat_map(lambda row: [1])
    with pytest.raises(DatasetError, match="no row"):
        numbers.filter(lambda n: False).flat_map(steps)
    with pytest.raises(DatasetError, match="failed at row 0"):
        numbers.flat_map(lambda row: row[5])
