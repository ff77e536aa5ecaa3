"""Iterators: Tensors or arrays, dicts or lists, one `for` loop per epoch."""

import numpy as np
import pytest

import msnb
import msnb.dataset as ds
from msnb.core.tensor import Tensor


def pairs():
    return ds.NumpySlicesDataset({"x": np.float32([1, 2, 3]), "y": np.uint8([4, 5, 6])}, shuffle=False)


def test_rows_are_tensors_of_the_same_dtype():
    for row in pairs().batch(2):
        assert all(isinstance(value, Tensor) for value in row)
    row = next(pairs().create_dict_iterator())
    assert list(row) == ["x", "y"]
    assert row["x"].asnumpy().dtype == np.float32 and row["y"].asnumpy().dtype == np.uint8


def test_numpy_rows_on_request():
    row = next(pairs().create_tuple_iterator(output_numpy=True))
    assert isinstance(row, list) and all(isinstance(v, np.ndarray) for v in row)
    assert [v.tolist() for v in next(pairs().create_tuple_iterator(["y", "x"], output_numpy=True))] == [4, 1]


def test_get_next_is_the_name_of_old_programs():
    iterator = pairs().create_dict_iterator(num_epochs=1, output_numpy=True)
    assert [iterator.get_next()["x"].tolist() for _ in range(3)] == [1, 2, 3]
    with pytest.raises(StopIteration):
        iterator.get_next()


def test_one_loop_is_one_epoch():
    iterator = pairs().create_dict_iterator(num_epochs=2, output_numpy=True)
    assert [len(list(iterator)) for _ in range(2)] == [3, 3]
    with pytest.raises(RuntimeError, match="no epoch left"):
        list(iterator)
    with pytest.raises(StopIteration):
        next(iterator)
    endless = pairs().create_dict_iterator(output_numpy=True)
    assert [len(list(endless)) for _ in range(4)] == [3] * 4


def test_stop_ends_an_iterator():
    iterator = pairs().prefetch(1).create_tuple_iterator(output_numpy=True)
    next(iterator)
    iterator.stop()
    with pytest.raises(StopIteration):
        next(iterator)


def test_changing_a_row_leaves_the_source_alone():
    data = np.zeros((3, 2))
    dataset = ds.NumpySlicesDataset(data, "x", shuffle=False)

    def spoil(x):
        x += 1
        return x

    assert [row[0].sum() for row in dataset.map(spoil).create_tuple_iterator(output_numpy=True)] == [2, 2, 2]
    for row in dataset.create_tuple_iterator(output_numpy=True, num_epochs=1):
        row[0][:] = 9
    assert data.sum() == 0


def test_text_is_shown_compared_and_read():
    words = ds.NumpySlicesDataset(["a", "bcd"], "word", shuffle=False)
    assert next(words.batch(2).create_tuple_iterator(output_numpy=True))[0].tolist() == ["a", "bcd"]
    (first,) = next(words.create_tuple_iterator())
    assert repr(first) == "Tensor(shape=[], dtype=String, value= 'a')"
    assert str(first) == "a" and first.item() == "a" and (first == "a") and first != "b"
    both = next(words.batch(2).create_dict_iterator())["word"]
    assert repr(both) == "Tensor(shape=[2], dtype=String, value= ['a', 'bcd'])"
    assert both.shape == (2,) and len(both) == both.size == 2 and both.ndim == 1
    assert [word.tolist() for word in both] == both.asnumpy().tolist() == np.array(both).tolist() == ["a", "bcd"]
    assert (both == np.array(["a", "b"])).tolist() == [True, False] and (both != both).tolist() == [False, False]


def test_text_is_not_computed_with():
    (word,) = next(ds.NumpySlicesDataset(["a"], "word").create_tuple_iterator())
    with pytest.raises(TypeError, match="a Tensor of text has no sum"):
        word.sum()
    for run in (msnb.ops.sin, msnb.jit(msnb.ops.sin), lambda x: msnb.Tensor([1.0]) + x):
        with pytest.raises(TypeError, match="StringTensor"):
            run(word)
    with pytest.raises(ValueError):
        next(ds.NumpySlicesDataset(["a", "b"], "word").batch(2).create_tuple_iterator())[0].item()


@pytest.mark.parametrize("epochs", [0, -2, 1.5, "2"])
def test_bad_epochs(epochs):
    with pytest.raises((ValueError, TypeError), match="num_epochs"):
        pairs().create_dict_iterator(num_epochs=epochs)
