"""Samplers: which rows, in which order, how many."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb.dataset as ds


def read(sampler, n=10, epochs=1, labels=None):
    data = {"x": np.arange(n), "label": np.arange(n) % 3 if labels is None else labels}
    dataset = ds.NumpySlicesDataset(data, sampler=sampler)
    rows = [[int(x) for x, _ in dataset.create_tuple_iterator(output_numpy=True, num_epochs=1)] for _ in range(epochs)]
    assert dataset.get_dataset_size() == len(rows[0])
    return rows[0] if epochs == 1 else rows


def test_fixed_orders():
    assert read(ds.SequentialSampler()) == list(range(10))
    assert read(ds.SequentialSampler(7, 5)) == [7, 8, 9]
    assert read(ds.SubsetSampler([4, 4, 0])) == [4, 4, 0]
    assert read(ds.SubsetSampler(range(9), num_samples=2)) == [0, 1]


def test_random_orders_change_with_the_epoch_and_repeat_with_the_seed():
    ds.config.set_seed(5)
    first = read(ds.RandomSampler(), 50, epochs=2)
    assert first[0] != first[1] and sorted(first[0]) == sorted(first[1]) == list(range(50))
    ds.config.set_seed(5)
    assert read(ds.RandomSampler(), 50, epochs=2) == first
    ds.config.set_seed(6)
    assert read(ds.RandomSampler(), 50) != first[0]


def test_random_subsets():
    assert sorted(read(ds.SubsetRandomSampler([1, 5, 7]))) == [1, 5, 7]
    assert len(set(read(ds.RandomSampler(num_samples=4)))) == 4
    drawn = read(ds.RandomSampler(replacement=True, num_samples=200))
    assert len(drawn) == 200 and set(drawn) <= set(range(10))


def test_weights_decide():
    ds.config.set_seed(1)
    drawn = Counter(read(ds.WeightedRandomSampler([0, 1, 3, 0], num_samples=4000), 4))
    assert set(drawn) == {1, 2} and 2.4 < drawn[2] / drawn[1] < 3.7
    assert sorted(read(ds.WeightedRandomSampler([1, 0, 1], num_samples=3, replacement=False), 3)) == [0, 2]
    assert set(read(ds.WeightedRandomSampler([0, 1, 1], num_samples=50), 9)) == {1, 2}  # the rows behind: never
    with pytest.raises(ValueError, match="3 weights for a dataset of 2 rows"):
        read(ds.WeightedRandomSampler([1, 1, 1]), 2)


def test_pk_takes_k_of_each_class():
    rows = read(ds.PKSampler(2), 9)
    assert [r % 3 for r in rows] == [0, 0, 1, 1, 2, 2] and len(set(rows)) == 6
    with pytest.raises(ValueError, match="class 0 has 3 rows, num_val=4"):
        read(ds.PKSampler(4), 9)
    with pytest.raises(ValueError, match="no column 'kind'"):
        read(ds.PKSampler(1, class_column="kind"), 9)


@settings(max_examples=60, deadline=None, print_blob=True)
@given(st.integers(1, 40), st.integers(1, 8), st.booleans(), st.one_of(st.none(), st.integers(0, 2**32 - 1)))
def test_shards_cover_everything_and_have_one_size(n, shards, shuffle, seed):
    if seed is not None:
        ds.config.set_seed(seed)
    parts = [read(ds.DistributedSampler(shards, i, shuffle), n) for i in range(shards)]
    assert {len(p) for p in parts} == {-(-n // shards)}
    counts = Counter(row for part in parts for row in part)
    assert set(counts) == set(range(n)) and max(counts.values()) - min(counts.values()) <= 1


def test_shards_of_processes_without_a_seed_agree(monkeypatch):
    parts = []
    for rank in range(3):
        monkeypatch.setattr(ds.config._state, "fallback", 1000 + rank)  # as drawn in three processes
        parts += read(ds.DistributedSampler(3, rank), 30)
    assert sorted(parts) == list(range(30)) and parts != list(range(30))


def test_own_sampler_child_and_use_sampler():
    class Odd(ds.Sampler):
        def __iter__(self):
            return iter(range(1, self.dataset_size, 2))

    assert read(Odd()) == [1, 3, 5, 7, 9]
    assert read(Odd(num_samples=2)) == [1, 3]
    outer = ds.SequentialSampler(1, 2)
    outer.add_child(ds.SubsetSampler([9, 8, 7, 6]))
    assert read(outer) == [8, 7]
    again = ds.NumpySlicesDataset([5, 6, 7], "x").use_sampler([2, 0])
    assert [int(x) for (x,) in again.create_tuple_iterator(output_numpy=True)] == [7, 5]
    with pytest.raises(ValueError, match="works on a random-access source"):
        again.batch(2).use_sampler([0])


def test_the_sampler_of_a_data_set_is_changed_in_place():
    data = ds.NumpySlicesDataset([5, 6, 7, 8], "x", shuffle=False)
    assert data.use_sampler(ds.SequentialSampler(1)) is data
    data.add_sampler(ds.SequentialSampler(1, 1))
    assert [int(x) for (x,) in data.create_tuple_iterator(output_numpy=True)] == [7]
    sampler = ds.SequentialSampler(0, 3)
    sampler.add_child(ds.RandomSampler(num_samples=2))
    assert sampler.get_num_samples() == 2 and isinstance(sampler.get_child(), ds.RandomSampler)
    assert ds.SequentialSampler().get_num_samples() is None and ds.SequentialSampler().get_child() is None
    with pytest.raises(ValueError, match="add_sampler works on a random-access source"):
        data.batch(1).add_sampler(sampler)


class Announced(ds.Sampler):
    def __init__(self, length):
        super().__init__()
        self.length = length

    def __len__(self):
        return self.length

    def __iter__(self):
        return iter(range(6))


def test_a_sampler_with_a_length():
    assert read(Announced(4)) == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="it yields 6"):
        read(Announced(7))
    few = ds.NumpySlicesDataset(list(range(9)), "x", sampler=[7, 5, 1], num_samples=2)
    assert [int(x) for (x,) in few.create_tuple_iterator(num_epochs=1)] == [7, 5]


def test_the_sampler_of_a_concat():
    def stream():
        yield from ((3,), (4,))

    both = ds.NumpySlicesDataset([0, 1, 2], "x", shuffle=False) + ds.NumpySlicesDataset([3, 4], "x", shuffle=False)
    late = ds.NumpySlicesDataset([0, 1, 2], "x", shuffle=False) + ds.GeneratorDataset(stream, "x")
    for data in (both, late):
        for shard, wanted in ((0, [0, 2, 4]), (1, [1, 3, 0])):
            data.use_sampler(ds.DistributedSampler(2, shard, shuffle=False))
            assert [int(x) for (x,) in data.create_tuple_iterator(num_epochs=1)] == wanted
            assert data.get_dataset_size() == 3
    assert [int(x) for (x,) in both.skip(1).shuffle(1).create_tuple_iterator(num_epochs=1)] == [3, 0]
    with pytest.raises(RuntimeError, match="random-access source or a concat"):
        both.batch(2).use_sampler([0])


def test_orders_of_files_need_files():
    with pytest.raises(RuntimeError, match="reads rows of files"):
        read(ds.RandomSampler(shuffle=ds.Shuffle.FILES))
    with pytest.raises(TypeError, match="must be a Shuffle"):
        ds.RandomSampler(shuffle=True)


def test_a_schema_is_parsed_anew():
    schema = ds.Schema()
    schema.parse_columns([{"name": "a", "type": "int8", "shape": [3]}])
    schema.parse_columns({"a": {"type": "int32", "shape": [1]}, "b": {"type": "int8", "shape": [1]}})
    assert [column.name for column in schema.columns] == ["a", "b"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ds.SequentialSampler(-1), "start_index must be at least 0"),
        (lambda: ds.RandomSampler(replacement=1), "replacement must be True or False"),
        (lambda: ds.SubsetSampler([1.5]), "must be an integer"),
        (lambda: ds.WeightedRandomSampler([0, 0]), "not all zero"),
        (lambda: ds.WeightedRandomSampler([[1]]), "list of numbers"),
        (lambda: ds.WeightedRandomSampler([float("nan")]), "finite"),
        (lambda: ds.DistributedSampler(0, 0), "num_shards must be at least 1"),
        (lambda: ds.DistributedSampler(2, 2), "shard_id must be below"),
        (lambda: ds.IterSampler(iter([1])), "read only once"),
        (lambda: read([0, 99]), "row 99 is outside 0..9"),
        (lambda: read([0.5, 1]), "must yield row numbers"),
        (lambda: read(["a"]), "must yield row numbers"),
        (lambda: read([[1, 2]]), "must yield row numbers"),
        (lambda: read(ds.Sampler()), "must define __iter__"),
    ],
)
def test_refusals(make, message):
    with pytest.raises((ValueError, TypeError, NotImplementedError), match=message):
        make()
