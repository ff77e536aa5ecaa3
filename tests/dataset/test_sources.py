"""GeneratorDataset and NumpySlicesDataset: what they read, and what they refuse."""

import threading
from typing import Any

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.base.errors import DatasetError
from msnb.core.dtypes import int64
from msnb.core.tensor import Tensor
from tests.waiting import PATIENCE


class Squares:
    def __len__(self):
        return 5

    def __getitem__(self, i):
        return np.int64(i), np.int64(i * i)


def numbers():
    for i in range(4):
        yield (i,)


def column(dataset, name="x"):
    return [row[name].tolist() for row in dataset.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_random_access_source():
    ordered = ds.GeneratorDataset(Squares(), ["n", "x"], shuffle=False)
    assert column(ordered) == [0, 1, 4, 9, 16] and ordered.get_dataset_size() == 5
    shuffled = ds.GeneratorDataset(Squares(), ["n", "x"])
    assert sorted(column(shuffled)) == [0, 1, 4, 9, 16]


def test_a_source_is_asked_for_numbers_of_numpy():
    class Items(Squares):
        def __getitem__(self, i):
            return i.item(), np.int64(i.item() ** 2)

    for more in ({}, {"shuffle": False}, {"sampler": [3, 1]}, {"num_parallel_workers": 2}):
        dataset = ds.GeneratorDataset(Items(), ["n", "x"], python_multiprocessing=False, **more)
        assert all(n * n == x for n, x in dataset.create_tuple_iterator(num_epochs=1, output_numpy=True))


def test_generator_function_starts_anew_each_epoch():
    dataset = ds.GeneratorDataset(numbers, "x")
    assert column(dataset) == column(dataset) == [0, 1, 2, 3]
    assert dataset.get_dataset_size() == 4
    assert column(ds.GeneratorDataset(numbers, "x", num_samples=2)) == [0, 1]


def test_iterables_of_bare_values():
    assert column(ds.GeneratorDataset([1.5, 2.5], "x", shuffle=False)) == [1.5, 2.5]
    assert sorted(column(ds.GeneratorDataset({7, 8}, "x"))) == [7, 8]


def test_sampler_and_shards():
    picked = ds.GeneratorDataset(Squares(), ["n", "x"], sampler=[3, 1])
    assert column(picked, "n") == [3, 1] and picked.get_dataset_size() == 2
    parts = [ds.GeneratorDataset(Squares(), ["n", "x"], num_shards=2, shard_id=i) for i in range(2)]
    assert set(column(parts[0], "n")) | set(column(parts[1], "n")) == set(range(5))


def test_threads_keep_the_order_and_really_run_side_by_side():
    gate = threading.Barrier(3, timeout=PATIENCE)

    class Slow:
        def __len__(self):
            return 9

        def __getitem__(self, i):
            gate.wait()  # passes only if three rows are fetched at once
            return (i,)

    assert column(ds.GeneratorDataset(Slow(), "x", shuffle=False, num_parallel_workers=3)) == list(range(9))


def test_column_types_are_checked():
    good = ds.GeneratorDataset(Squares(), ["n", "x"], [int64, "int64"], shuffle=False)
    assert len(column(good)) == 5
    with pytest.raises(ValueError, match="row 0, column 'x' should be float32 as column_types says, got int64"):
        column(ds.GeneratorDataset(Squares(), ["n", "x"], ["int64", "float32"], shuffle=False))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (dict(source=Squares()), "needs column_names"),
        (dict(source=Squares(), column_names=["a", "a"]), "twice"),
        (dict(source=Squares(), column_names="x", python_multiprocessing=1), "expected True or False"),
        (dict(source=3, column_names="x"), "cannot read from int"),
        (dict(source={"a": 1}, column_names="x"), "from a dict"),
        (dict(source=numbers, column_names="x", shuffle=True), "another order"),
        (dict(source=numbers, column_names="x", num_shards=2, shard_id=0), "another order"),
        (dict(source=Squares(), column_names="x", num_shards=2), "go together"),
        (dict(source=Squares(), column_names="x", num_shards=2, shard_id=2), "below num_shards=2"),
        (dict(source=Squares(), column_names="x", sampler=[0], shuffle=True), "contradict"),
        (dict(source=Squares(), column_names="x", num_parallel_workers=0), "at least 1"),
        (dict(source=Squares(), column_names="x", num_samples=-1), "at least 0"),
        (dict(source=Squares(), column_names="x", column_types=["int64", "int64"]), "2 entries for 1 columns"),
        (dict(source=Squares(), column_names="x", sampler=3), "sampler must be"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ds.GeneratorDataset(**arguments)


def test_rows_that_do_not_fit():
    with pytest.raises(ValueError, match=r"row 0 gave 2 values, expected 3 columns"):
        column(ds.GeneratorDataset(Squares(), ["a", "b", "x"], shuffle=False))
    with pytest.raises(ValueError, match="row 0 gave a dict"):
        column(ds.GeneratorDataset([{"x": 1}], ["x", "y"]))
    with pytest.raises(ValueError, match=r"row 1, column 'x': expected numbers, text or an array, got NoneType"):
        column(ds.GeneratorDataset([1, None], "x", shuffle=False))
    with pytest.raises(ValueError, match="must return an iterator, it returned int"):
        column(ds.GeneratorDataset(lambda: 3, "x"))


def test_a_failing_source_names_the_row():
    def breaks():
        yield 1
        raise KeyError("disk gone")

    with pytest.raises(ValueError, match=r"breaks failed at row 1: KeyError: 'disk gone'") as caught:
        column(ds.GeneratorDataset(breaks, "x"))
    assert isinstance(caught.value.__cause__, KeyError)


def test_slices_of_dict_tuple_list_and_array():
    def rows(data, **more):
        dataset = ds.NumpySlicesDataset(data, shuffle=False, **more)
        out = [[v.tolist() for v in row] for row in dataset.create_tuple_iterator(output_numpy=True, num_epochs=1)]
        return dataset.get_col_names(), out

    assert rows({"a": [1, 2], "b": [[3], [4]]}) == (["a", "b"], [[1, [3]], [2, [4]]])
    assert rows((np.arange(2), [5, 6])) == (["column_0", "column_1"], [[0, 5], [1, 6]])
    assert rows([[1, 2], [3, 4]]) == (["column_0"], [[[1, 2]], [[3, 4]]])
    assert rows([[1, 2], [3, 4]], column_names=["p", "q"]) == (["p", "q"], [[1, 3], [2, 4]])
    assert rows(np.eye(2)) == (["column_0"], [[[1.0, 0.0]], [[0.0, 1.0]]])
    assert rows({"t": Tensor([1, 2])}) == (["t"], [[1], [2]])


@pytest.mark.parametrize(
    ("data", "names", "message"),
    [
        (None, None, "got NoneType"),
        ("text", None, "got str"),
        ((), None, "at least one column"),
        ({"a": [1, 2], "b": [1]}, None, "same number of rows"),
        (([1], [2]), ["a"], "1 column_names"),
        ({"a": 3}, None, "single number"),
        ({"a": [None, 1]}, None, "column 'a'"),
    ],
)
def test_slices_refusals(data, names, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ds.NumpySlicesDataset(data, names)


def test_an_iterable_of_known_length_is_shuffled_when_asked():
    inner = ds.NumpySlicesDataset(list(range(50)), ["x"], shuffle=False)
    rows = ds.GeneratorDataset(inner, ["y"], shuffle=True)
    found = [int(row[0]) for row in rows.create_tuple_iterator(output_numpy=True)]
    assert sorted(found) == list(range(50)) != found
    plain = ds.GeneratorDataset(inner, ["y"])
    assert [int(row[0]) for row in plain.create_tuple_iterator(output_numpy=True)] == list(range(50))


@pytest.mark.parametrize("drop", [False, True])
def test_batches_of_arrays_are_those_of_their_rows(rng, drop):
    """A batch that stands directly on arrays takes its rows at once; one on a map takes them one by one."""
    data = {
        "f": rng.standard_normal((23, 2, 3)).astype(np.float32),
        "i": rng.integers(0, 9, 23),
        "b": rng.integers(0, 2, (23, 1)).astype(bool),
        "half": rng.standard_normal(23).astype(np.float16),
    }
    plain = ds.NumpySlicesDataset(data, sampler=ds.RandomSampler(num_samples=20))
    named = plain.rename(["i"], ["number"])
    for dataset in (plain, named, plain.project(["half", "f"])):
        ds.config.set_seed(5)
        at_once = [r for r in dataset.batch(6, drop_remainder=drop).create_tuple_iterator(output_numpy=True)]
        ds.config.set_seed(5)
        singly = dataset.map(lambda x: x, dataset.get_col_names()[0]).batch(6, drop_remainder=drop)
        one_by_one = [r for r in singly.create_tuple_iterator(output_numpy=True)]
        assert len(at_once) == len(one_by_one) == (3 if drop else 4)
        for found, want in zip(at_once, one_by_one):
            for a, b in zip(found, want, strict=True):
                assert a.dtype == b.dtype and np.array_equal(a, b)


def test_batches_are_copies_of_their_arrays():
    data = np.zeros((4, 2))
    for batch in ds.NumpySlicesDataset(data, "x", shuffle=False).batch(2).create_tuple_iterator(output_numpy=True):
        batch[0][:] = 7
    assert not data.any()


def test_texts_of_a_batch_are_as_wide_as_its_longest():
    texts = ds.NumpySlicesDataset({"t": np.array(["a", "bb", "ccc", "d"])}, shuffle=False).batch(2)
    assert [r[0].dtype.str[1:] for r in texts.create_tuple_iterator(output_numpy=True)] == ["U2", "U3"]


@pytest.mark.parametrize("made", [lambda: (i for i in range(3)), lambda: iter([0, 1, 2])])
def test_a_generator_is_read_in_every_epoch(made):
    data = ds.GeneratorDataset(made(), "x")
    assert data.get_dataset_size() == 3
    for _ in range(2):
        assert [int(x) for (x,) in data.create_tuple_iterator(num_epochs=1)] == [0, 1, 2]


class Doubles:
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index, 2 * index


def test_lists_of_row_numbers_are_batches():
    data = ds.GeneratorDataset(Doubles(), ["a", "b"], batch_sampler=[[3, 1], [0]])
    assert data.get_dataset_size() == 2
    read = [[v.tolist() for v in row] for row in data.create_tuple_iterator(num_epochs=1, output_numpy=True)]
    assert read == [[[3, 1], [6, 2]], [[0], [0]]]
    summed = ds.GeneratorDataset(
        Doubles(), ["a", "b"], batch_sampler=[[3, 1]], collate_fn=lambda a, b: (np.sum(a), np.sum(b))
    )
    assert [[int(v) for v in row] for row in summed.create_tuple_iterator(num_epochs=1)] == [[4, 8]]


@pytest.mark.parametrize(("error", "source", "given"), [
    (ValueError, Doubles(), {"collate_fn": len}), (ValueError, Doubles(), {"batch_sampler": [[0]], "shuffle": False}),
    (TypeError, Doubles(), {"batch_sampler": 3}), (TypeError, Doubles(), {"batch_sampler": [[0]], "collate_fn": 3}),
    (TypeError, lambda: iter(()), {"batch_sampler": [[0]]}),
])  # fmt: skip
def test_batch_samplers_that_are_none(error, source, given):
    with pytest.raises(error):
        ds.GeneratorDataset(source, ["a", "b"], **given)


@pytest.mark.parametrize("wrong", [[0], [["0"]], [[9]]])
def test_batches_that_name_no_rows(wrong):
    with pytest.raises(RuntimeError):
        list(ds.GeneratorDataset([1, 2], "a", batch_sampler=wrong).create_tuple_iterator(num_epochs=1))


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_that_are_generators(workers: int) -> None:
    class Columns:
        def __init__(self, *columns: Any) -> None:
            self.columns = columns

        def __getitem__(self, index: int) -> Any:
            return (column[index] for column in self.columns)

        def __len__(self) -> int:
            return len(self.columns[0])

    rows = ds.GeneratorDataset(Columns([1, 2, 3], [4, 5, 6]), ["x", "y"], shuffle=False, num_parallel_workers=workers)
    assert [[int(v) for v in row] for row in rows.create_tuple_iterator(output_numpy=True)] == [[1, 4], [2, 5], [3, 6]]
    wrong = ds.GeneratorDataset(Columns([1, 2]), ["x", "y"], shuffle=False, num_parallel_workers=workers)
    with pytest.raises(DatasetError, match="row 0 gave 1 values, expected 2 columns"):
        list(wrong)
