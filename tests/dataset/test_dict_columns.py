"""Columns that hold a dict: from a source or a map, through batches and processes, to Tensors and arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import DatasetError
from msnb.dataset import GeneratorDataset, NumpySlicesDataset


def rows() -> Any:
    for i in range(4):
        yield {"powers": np.power(i, [1, 2]), "of": {"n": i}}, i


def squares(value: Any) -> dict[str, Any]:
    return {"value": value, "square": value**2}


def test_a_dict_comes_out_as_it_went_in() -> None:
    data = GeneratorDataset(rows, ["a", "b"])
    third = [*data.create_dict_iterator(num_epochs=1, output_numpy=True)][2]
    assert list(third["a"]) == ["powers", "of"]
    assert third["a"]["powers"].tolist() == [2, 4]
    assert third["a"]["of"]["n"] == 2
    first = next(iter(data))
    assert isinstance(first[0]["of"]["n"], ms.Tensor)
    assert isinstance(first[1], ms.Tensor)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("processes", [False, True])
def test_functions_get_the_dict(workers: int, processes: bool) -> None:
    data = NumpySlicesDataset([1, 2, 3], "x", shuffle=False)
    data = data.map(squares, num_parallel_workers=workers, python_multiprocessing=processes)
    data = data.filter(lambda x: x["value"] != 2)
    data = data.map(lambda x: (x["square"], x["value"]), output_columns=["square", "value"])
    found = [(int(r["square"]), int(r["value"])) for r in data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert found == [(1, 1), (9, 3)]


def test_batches_stack_the_leaves() -> None:
    data = GeneratorDataset(rows, ["a", "b"]).batch(3)
    first, second = [*data.create_dict_iterator(num_epochs=1, output_numpy=True)]
    assert first["a"]["powers"].tolist() == [[0, 0], [1, 1], [2, 4]]
    assert first["a"]["of"]["n"].tolist() == [0, 1, 2]
    assert second["a"]["of"]["n"].tolist() == [3]
    tensors = next(iter(data))
    assert tensors[0]["powers"].shape == (3, 2)
    padded = GeneratorDataset(rows, ["a", "b"]).padded_batch(4)
    assert next(padded.create_dict_iterator(output_numpy=True))["a"]["of"]["n"].tolist() == [0, 1, 2, 3]


def test_a_function_of_batches_may_make_dicts() -> None:
    data = NumpySlicesDataset([1, 2, 3, 4], "x", shuffle=False)
    data = data.batch(2, per_batch_map=lambda x, info: ({"all": x, "n": np.arange(2)},), output_columns=["y"])
    first = next(data.create_dict_iterator(output_numpy=True))["y"]
    assert [int(v) for v in first["all"]] == [1, 2]
    assert first["n"].tolist() == [0, 1]


def test_what_does_not_fit_is_named() -> None:
    def uneven() -> Any:
        yield ({"a": 1},)
        yield ({"b": 1},)

    with pytest.raises(DatasetError, match=r"mixes dicts of different keys(?s:.)*\['a'\](?s:.)*\['b'\]"):
        next(GeneratorDataset(uneven, ["x"]).batch(2).create_dict_iterator())
    with pytest.raises(DatasetError, match=r"column \"x\['a'\]\" of batch 0 mixes rows"):
        uneven_parts = [({"a": np.zeros(1)},), ({"a": np.zeros(2)},)]
        next(GeneratorDataset(lambda: iter(uneven_parts), ["x"]).batch(2).create_dict_iterator())
    with pytest.raises(DatasetError, match=r"gave a dict with keys \['a', 'b'\], expected 2 columns"):
        next(GeneratorDataset(lambda: iter([{"a": 1, "b": 2}]), ["x", "y"]).create_dict_iterator())
    with pytest.raises(DatasetError, match=r"KeyError(?s:.)*dict of \['value', 'square'\]"):
        next(NumpySlicesDataset([1], "x").map(squares).map(lambda x: x["cube"]).create_dict_iterator())


def test_text_in_a_dict() -> None:
    row = next(GeneratorDataset(lambda: iter([({"a": "word"},)]), ["x"]).create_dict_iterator())["x"]
    assert repr(row["a"]) == "Tensor(shape=[], dtype=String, value= 'word')"


def test_sequences_of_a_dict() -> None:
    data = NumpySlicesDataset([1, 2], "x", shuffle=False).map(lambda x: {"pair": (x, x + 1), "list": [x]})
    first = next(iter(data.create_dict_iterator(num_epochs=1)))["x"]
    assert isinstance(first["pair"], tuple) and isinstance(first["pair"][0], ms.Tensor) and type(first["list"]) is list
    (batch,) = data.batch(2).create_dict_iterator(num_epochs=1, output_numpy=True)
    assert batch["x"]["pair"].tolist() == [[1, 2], [2, 3]] and batch["x"]["list"].tolist() == [[1], [2]]
    ragged = NumpySlicesDataset([1, 2], "x").map(lambda x: {"many": [1] * int(x)}).batch(2)
    with pytest.raises(RuntimeError, match="mixes rows of different kinds"):
        list(ragged.create_dict_iterator(num_epochs=1))
