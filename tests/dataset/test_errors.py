"""A mistake in a pipeline is answered with the operation, the row, the column and the way out."""

import numpy as np
import pytest

import msnb.dataset as ds
from msnb.base.errors import DatasetError
from msnb.dataset import transforms, vision


def source():
    return ds.NumpySlicesDataset({"image": np.zeros((6, 2, 2)), "label": np.arange(6)}, shuffle=False)


def read(dataset):
    return list(dataset.create_tuple_iterator(num_epochs=1, output_numpy=True))


def picky(label):
    if label == 4:
        raise KeyError("four")
    return label


@pytest.mark.parametrize("workers", [1, 3])
def test_failing_map_names_operation_row_and_column(workers):
    rows = source().map(picky, "label", num_parallel_workers=workers).create_tuple_iterator(output_numpy=True)
    got = []
    with pytest.raises(DatasetError, match=r"map: picky failed at row 4: KeyError: 'four'") as caught:
        for row in rows:
            got.append(int(row[1]))
    assert got == [0, 1, 2, 3], "rows before the failing one must arrive"
    assert "label: int64[]" in str(caught.value) and isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d.map(picky, "lable"), r"no column 'lable'.*did you mean 'label'"),
        (lambda d: d.map(vision.HWC2CHW, "image"), r"got the class HWC2CHW"),
        (lambda d: d.map([], "image"), "at least one operation"),
        (lambda d: d.map(3, "image"), "expects callables, got int"),
        (lambda d: d.map(picky, "label", "image"), "two columns of one name"),
        (lambda d: d.map(picky, python_multiprocessing=1), "expected True or False"),
        (lambda d: d.map(picky, 5), "input_columns expects column names"),
        (lambda d: d.map(picky, "label", num_parallel_workers=0), "at least 1"),
        (lambda d: d.batch(0), "batch_size must be at least 1"),
        (lambda d: d.batch(2.5), "batch_size must be an integer"),
        (lambda d: d.batch(True), "batch_size must be an integer"),
        (lambda d: d.batch(2, 1), "expected True or False"),
        (lambda d: d.batch(2, input_columns="label"), "belong to per_batch_map"),
        (lambda d: d.shuffle(0), "buffer_size must be at least 1"),
        (lambda d: d.repeat(0), "repeat count"),
        (lambda d: d.take(-2), "take count"),
        (lambda d: d.skip(-1), "skip count"),
        (lambda d: d.zip(d), "column 'image' comes from two datasets"),
        (lambda d: d.zip(()), "non-empty"),
        (lambda d: d.zip([3]), "expects Datasets, got int"),
        (lambda d: d.concat(d.project("label")), "same columns"),
        (lambda d: d.project("x"), "no column 'x'"),
        (lambda d: d.project(["label", "label"]), "twice"),
        (lambda d: d.rename("label", "image"), "two columns would have one name"),
        (lambda d: d.rename(["label", "image"], "z"), "2 input columns"),
        (lambda d: d.filter(None), "filter expects callables"),
        (lambda d: d.apply(lambda x: None), "returned NoneType"),
        (lambda d: d.padded_batch(2, pad_info={"z": ([1], 0)}), "no column 'z'"),
        (lambda d: d.create_tuple_iterator("z"), "no column 'z'"),
        (lambda d: ds.zip(d), "zip expects a tuple"),
    ],
)
def test_refused_when_the_chain_is_made(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make(source())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d.map(lambda x: (x, x), "label"), "returned 2 values at row 0"),
        (lambda d: d.map(lambda x: None, "label"), "column 'label': expected numbers, text or an array, got NoneType"),
        (lambda d: d.map(lambda x: [[1], [1, 2]], "label"), "ragged list"),
        (lambda d: d.map(lambda x: object(), "label"), "NumPy can only hold as objects"),
        (
            lambda d: d.filter(lambda a, b: a),
            r"filter: predicate <lambda> must answer True or False, got float64\[2, 2\]",
        ),
        (lambda d: d.filter(lambda a: True), r"filter: <lambda> failed at row 0: TypeError"),
        (lambda d: d.map(lambda x: np.zeros(int(x)), "label").batch(3), r"'label' of batch 0 mixes rows"),
        (lambda d: d.map(lambda x: x if x % 2 else float(x), "label").batch(3), "row 1 of the batch: int64"),
        (lambda d: d.batch(2, per_batch_map=lambda a, b: (a, b)), "per_batch_map: <lambda> failed at row 0"),
        (lambda d: d.batch(2, per_batch_map=lambda a, b, info: a), "returned 1 columns for batch 0, expected 2"),
        (lambda d: d.batch(lambda info: 0), "batch size from <lambda> for batch 0 must be at least 1"),
        (lambda d: d.map(transforms.OneHot(3), "label"), "OneHot failed at row 3: .*label 3 is outside 0..2"),
    ],
)
def test_refused_while_reading(make, message):
    with pytest.raises(ValueError, match=message):
        read(make(source()))


def test_an_error_crosses_threads_and_prefetching():
    chain = source().map(picky, "label", num_parallel_workers=2).prefetch(2).batch(2)
    rows = chain.create_tuple_iterator(output_numpy=True)
    assert next(rows)[1].tolist() == [0, 1]
    with pytest.raises(DatasetError, match="picky failed at row 4"):
        list(rows)
    assert next(rows)[1].tolist() == [0, 1], "a new epoch starts after an error"


def test_shapes_of_an_empty_dataset():
    with pytest.raises(ValueError, match="has no row"):
        source().take(0).output_shapes()


def _picky(x):
    if x in (0, 1, 4):
        raise ValueError("not this one")
    return x * 10


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(("mode", "wanted"), [("REPLACE", [20, 30, 50, 20, 30, 50]), ("SKIP", [20, 30, 50])])
def test_rows_that_fail_are_replaced_or_skipped(monkeypatch, mode, wanted, workers):
    monkeypatch.setitem(ds.config._SETTINGS, "error_samples_mode", ds.config.ErrorSamplesMode.RETURN)
    data = ds.NumpySlicesDataset(list(range(6)), "x", shuffle=False).map(_picky, num_parallel_workers=workers)
    with pytest.raises(RuntimeError, match="not this one"):
        list(data.create_tuple_iterator(num_epochs=1))
    ds.config.set_error_samples_mode(ds.config.ErrorSamplesMode[mode])
    assert [int(x) for (x,) in data.create_tuple_iterator(num_epochs=1)] == wanted
    none = ds.NumpySlicesDataset([0, 1], "x").map(_picky)
    if mode == "REPLACE":
        with pytest.raises(RuntimeError, match="not this one"):
            list(none.create_tuple_iterator(num_epochs=1))
    else:
        assert list(none.create_tuple_iterator(num_epochs=1)) == []
    with pytest.raises(TypeError, match="ErrorSamplesMode"):
        ds.config.set_error_samples_mode(2)


def test_settings_that_are_kept(monkeypatch):
    config = ds.config
    for name, value in config._SETTINGS.items():
        monkeypatch.setitem(config._SETTINGS, name, value)
    config.set_autotune_interval(interval=30)
    config.set_multiprocessing_start_method("spawn")
    assert (config.get_autotune_interval(), config.get_multiprocessing_start_method()) == (30, "spawn")
    assert config.get_iterator_mode() == {"do_copy": False, "parallel_convert": False}
    for error, call in (
        (ValueError, lambda: config.set_multiprocessing_start_method("thread")),
        (ValueError, lambda: config.set_callback_timeout(0)),
        (TypeError, lambda: config.set_enable_watchdog(1)),
        (TypeError, lambda: config.set_enable_autotune(True, filepath_prefix="a")),
        (TypeError, lambda: config.set_iterator_mode(do_copy=1)),
    ):
        with pytest.raises(error):
            call()


def test_the_sizes_of_rows_and_batches():
    data = ds.NumpySlicesDataset([1, 2, 3], "x", shuffle=False).map(lambda x: x, num_parallel_workers=2, max_rowsize=16)
    assert data.num_parallel_workers == 2
    assert data.batch(lambda info: 2, max_rowsize=(1, -1)).get_batch_size() == -1
    with pytest.raises(ValueError, match="max_rowsize"):
        data.batch(2, max_rowsize=-2)
    with pytest.raises(TypeError, match="max_rowsize"):
        data.map(lambda x: x, max_rowsize="6")
