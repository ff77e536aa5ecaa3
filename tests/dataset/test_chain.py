"""Chains of operations against plain Python lists.

A chain is drawn as a list of steps. Each step is applied twice: to a Dataset and to a list of rows, where its meaning
is one line of Python. Rows, sizes and immutability must agree after every chain.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb.dataset as ds


def source(n, name="x"):
    return ds.NumpySlicesDataset(np.arange(n, dtype=np.int64), name, shuffle=False)


def values(dataset):
    return [row[0].tolist() for row in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True)]


def chunks(rows, size, drop):
    groups = [rows[i : i + size] for i in range(0, len(rows), size)]
    return [g for g in groups if len(g) == size or not drop]


STEPS = {
    "map": (st.integers(-3, 3), lambda d, k: d.map(lambda x: x * 2 + k), lambda r, k: [v * 2 + k for v in r]),
    "threads": (
        st.integers(2, 3),
        lambda d, k: d.map(lambda x: x - 1, num_parallel_workers=k),
        lambda r, k: [v - 1 for v in r],
    ),
    "take": (st.integers(-1, 9), lambda d, k: d.take(k), lambda r, k: r if k == -1 else r[:k]),
    "skip": (st.integers(0, 9), lambda d, k: d.skip(k), lambda r, k: r[k:]),
    "repeat": (st.integers(1, 3), lambda d, k: d.repeat(k), lambda r, k: r * k),
    "filter": (
        st.integers(1, 4),
        lambda d, k: d.filter(lambda x: x % k == 0),
        lambda r, k: [v for v in r if v % k == 0],
    ),
    "concat": (st.integers(0, 4), lambda d, k: d.concat(source(k)), lambda r, k: r + list(range(k))),
    "prefetch": (st.integers(1, 3), lambda d, k: d.prefetch(k), lambda r, k: r),
    "shuffle1": (st.just(1), lambda d, k: d.shuffle(k), lambda r, k: r),
    "zip": (
        st.integers(0, 9),
        lambda d, k: d.zip(source(k, "y")).map(lambda x, y: x + y, ["x", "y"], "x"),
        lambda r, k: [a + b for a, b in zip(r, range(k))],
    ),
}
CHAINS = st.lists(
    st.sampled_from(sorted(STEPS)).flatmap(lambda name: st.tuples(st.just(name), STEPS[name][0])), max_size=6
)


@pytest.mark.long
@settings(max_examples=150, deadline=None, print_blob=True)
@given(st.integers(0, 8), CHAINS, st.integers(1, 4), st.booleans())
def test_a_chain_is_what_it_does_to_a_list(n, chain, size, drop):
    dataset, rows = source(n), list(range(n))
    for name, argument in chain:
        _, on_dataset, on_rows = STEPS[name]
        before, dataset = dataset, on_dataset(dataset, argument)
        assert before is not dataset
        rows = on_rows(rows, argument)
    assert values(dataset) == rows
    assert values(dataset) == rows, "a second epoch differs"
    assert dataset.get_dataset_size() == len(rows)
    batched = dataset.batch(size, drop)
    assert values(batched) == chunks(rows, size, drop)
    assert batched.get_dataset_size() == len(chunks(rows, size, drop))


@pytest.mark.long
@settings(max_examples=60, deadline=None, print_blob=True)
@given(st.integers(0, 12), st.integers(1, 15), st.integers(1, 3), st.integers(0, 2**32 - 1))
def test_shuffle_keeps_every_row_of_each_pass(n, buffer, times, seed):
    ds.config.set_seed(seed)
    rows = values(source(n).shuffle(buffer).repeat(times))
    for index in range(times):
        assert sorted(rows[index * n : (index + 1) * n]) == list(range(n))


@settings(max_examples=60, deadline=None, print_blob=True)
@given(st.integers(1, 30), st.integers(1, 10))
def test_shuffle_never_gives_a_row_before_the_buffer_can_hold_it(n, buffer):
    for place, row in enumerate(values(source(n).shuffle(buffer))):
        assert row < place + buffer


@settings(max_examples=60, deadline=None, print_blob=True)
@given(st.integers(3, 40), st.integers(1, 99), st.booleans(), st.booleans())
def test_split_parts_are_disjoint_and_whole_in_every_epoch(n, percent, randomize, shuffled):
    first = max(1, min(n - 1, n * percent // 100))
    whole = ds.NumpySlicesDataset(np.arange(n), "x", shuffle=shuffled)
    left, right = whole.split([first, n - first], randomize)
    kept = set(values(left))
    assert len(kept) == first == left.get_dataset_size()
    assert kept | set(values(right)) == set(range(n))
    assert set(values(left)) == kept, "the cut moved in the second epoch"
    if not randomize and not shuffled:
        assert values(left) == list(range(first))


def test_split_by_fractions_and_its_refusals():
    sizes = [part.get_dataset_size() for part in source(25).split([0.7, 0.2, 0.1])]
    assert sizes == [18, 5, 2]
    for wrong in ([0.5, 0.6], [26], [0, 25], [0.5, 10], [], [0.999, 0.001]):
        with pytest.raises((ValueError, TypeError), match="split"):
            source(25).split(wrong)


def test_project_and_rename():
    base = ds.NumpySlicesDataset({"a": [1], "b": [2], "c": [3]}, shuffle=False)
    picked = base.project(["c", "a"]).rename("a", "z")
    assert picked.get_col_names() == ["c", "z"]
    assert next(picked.create_dict_iterator(output_numpy=True)) == {"c": 3, "z": 1}
    assert base.get_col_names() == ["a", "b", "c"]


def test_map_places_columns():
    base = ds.NumpySlicesDataset({"a": [1], "b": [2], "c": [3]}, shuffle=False)

    def first(dataset):
        return next(dataset.create_dict_iterator(output_numpy=True))

    assert first(base.map(lambda x: -x)) == {"a": -1, "b": 2, "c": 3}
    assert first(base.map(lambda x, y: (y, x), ["a", "c"])) == {"a": 3, "b": 2, "c": 1}
    assert list(first(base.map(lambda x: (x, x), "b", ["p", "q"]))) == ["p", "q", "a", "c"]
    assert list(first(base.map(lambda x: x, "b", "d"))) == ["a", "d", "c"]
    assert first(base.map([lambda x, y: x + y, lambda s: (s, s * 10)], ["a", "b"], ["a", "b"])) == {
        "a": 3,
        "b": 30,
        "c": 3,
    }


def test_concat_matches_columns_by_name():
    one = ds.NumpySlicesDataset({"a": [1], "b": [2]}, shuffle=False)
    two = ds.NumpySlicesDataset({"b": [20], "a": [10]}, shuffle=False)
    assert [tuple(map(int, row)) for row in (one + two).create_tuple_iterator(output_numpy=True)] == [(1, 2), (10, 20)]


def test_endless_repeat_streams():
    endless = source(2).repeat()
    assert values(endless.take(5)) == [0, 1, 0, 1, 0]
    assert endless.take(5).get_dataset_size() == 5
    assert endless.batch(2).take(3).get_dataset_size() == 3
    with pytest.raises(ValueError, match="without end"):
        endless.get_dataset_size()
    with pytest.raises(TypeError, match="not known"):
        len(endless)
    with pytest.raises(ValueError, match="never gives a row"):
        values(source(3).filter(lambda x: False).repeat())


def test_per_batch_map_sees_lists_and_the_batch_number():
    seen = []

    def scale(xs, info):
        seen.append((len(xs), info.get_batch_num(), info.get_epoch_num()))
        return [x + 100 * info.get_batch_num() for x in xs]

    batched = source(5).batch(2, per_batch_map=scale)
    assert values(batched) == [[0, 1], [102, 103], [204]]
    assert values(batched) == [[0, 1], [102, 103], [204]]
    assert seen == [(2, 0, 0), (2, 1, 0), (1, 2, 0), (2, 0, 1), (2, 1, 1), (1, 2, 1)]
    two = source(4).batch(2, per_batch_map=lambda xs, info: (xs, np.stack(xs) * 2), output_columns=["x", "y"])
    assert [row["y"].tolist() for row in two.create_dict_iterator(output_numpy=True)] == [[0, 2], [4, 6]]


def test_batch_size_may_be_a_function():
    growing = source(7).batch(lambda info: info.get_batch_num() + 1)
    assert values(growing) == [[0], [1, 2], [3, 4, 5], [6]]
    assert growing.get_dataset_size() == 4


def test_padded_batch_fills_up():
    ragged = ds.NumpySlicesDataset([[1], [2, 3], [4, 5, 6]], "x", shuffle=False)
    assert values(ragged.padded_batch(2)) == [[[1, 0], [2, 3]], [[4, 5, 6]]]
    assert values(ragged.padded_batch(2, pad_info={})) == values(ragged.padded_batch(2))
    fixed = ragged.padded_batch(3, pad_info={"x": ([4], -1)})
    assert values(fixed) == [[[1, -1, -1, -1], [2, 3, -1, -1], [4, 5, 6, -1]]]
    with pytest.raises(ValueError, match="a row has 3 entries, pad shape 2"):
        values(ragged.padded_batch(3, pad_info={"x": ([2], 0)}))


def test_sizes_and_questions():
    chain = source(10).batch(3).repeat(2)
    assert len(chain) == chain.get_dataset_size() == 8
    assert chain.get_batch_size() == 3 and chain.get_repeat_count() == 2 and source(3).get_batch_size() == 1
    assert chain.output_shapes() == [[3]] and chain.output_types() == [np.dtype(np.int64)]
    assert repr(chain) == "NumpySlicesDataset(x; SequentialSampler) <- batch(3) <- repeat(2)"
    assert chain.children()[0].get_dataset_size() == 4
    assert bool(source(0)) and source(0).get_dataset_size() == 0 and values(source(0)) == []
    assert math.isclose(source(4).apply(lambda d: d.take(2)).get_dataset_size(), 2)
