"""Rows that follow those of MindRecord files, so that shards are of one size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msnb.mindrecord import FileWriter

from msnb.dataset import MindDataset

SAMPLE = {"n": -1, "x": np.array([7], np.float32)}


@pytest.fixture
def five(tmp_path: Path) -> str:
    name = str(tmp_path / "five.mindrecord")
    writer = FileWriter(name)
    writer.add_schema({"n": {"type": "int32"}, "x": {"type": "float32", "shape": [-1]}})
    writer.write_raw_data([{"n": i, "x": np.array([i], np.float32)} for i in range(5)])
    writer.commit()
    return name


def numbers(name: str, **words: Any) -> list[int]:
    rows = MindDataset(name, ["n", "x"], padded_sample=SAMPLE, **words)
    found = list(rows.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert all(row["n"].dtype == np.int32 and row["x"].dtype == np.float32 for row in found)
    assert rows.get_dataset_size() == len(found)
    return [int(row["n"]) for row in found]


def test_padded_rows_follow(five: str) -> None:
    assert numbers(five, shuffle=False, num_padded=3) == [0, 1, 2, 3, 4, -1, -1, -1]
    assert numbers(five, shuffle=False, num_padded=0) == [0, 1, 2, 3, 4]
    assert sorted(numbers(five, shuffle=True, num_padded=2)) == [-1, -1, 0, 1, 2, 3, 4]
    shards = [numbers(five, shuffle=False, num_padded=3, num_shards=4, shard_id=i) for i in range(4)]
    assert shards == [[0, 4], [1, -1], [2, -1], [3, -1]]  # as MindSpore 2.10 gives them


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ({"padded_sample": SAMPLE}, "go together"),
        ({"num_padded": 3}, "go together"),
        ({"padded_sample": {"n": 1}, "num_padded": 3}, "no column 'x'"),
        ({"padded_sample": SAMPLE, "num_padded": -1}, "at least 0"),
        ({"padded_sample": SAMPLE, "num_padded": 2, "num_shards": 2, "shard_id": 0}, "does not divide"),
    ],
)
def test_what_cannot_be_padded(five: str, words: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        MindDataset(five, ["n", "x"], **words)
