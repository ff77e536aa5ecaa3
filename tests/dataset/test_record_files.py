"""Files of rows: what `FileWriter` writes, `MindDataset` reads."""

from __future__ import annotations

import numpy as np
import pytest
from msnb.mindrecord import FileWriter

import msnb.dataset as ds
from msnb.base.errors import MsnbError

SCHEMA = {
    "name": {"type": "string"},
    "image": {"type": "bytes"},
    "points": {"type": "float32", "shape": [-1, 2]},
    "label": {"type": "int32"},
}


def row(i):
    points = np.full((i + 1, 2), i, np.float32)
    return {"name": f"no {i} é", "image": bytes(range(i)), "points": points, "label": i}


def written(path, n=5, shards=1):
    writer = FileWriter(str(path), shard_num=shards)
    writer.add_schema(SCHEMA, "a test")
    writer.add_index(["label"])
    writer.write_raw_data([row(i) for i in range(2)])
    writer.write_raw_data([row(i) for i in range(2, n)])
    writer.commit()
    return path


def labels(data):
    return [int(r["label"]) for r in data.create_dict_iterator(num_epochs=1, output_numpy=True)]


def test_what_was_written_is_read(tmp_path):
    data = ds.MindDataset(str(written(tmp_path / "a.mindrecord")), shuffle=False)
    assert data.get_col_names() == ["image", "label", "name", "points"] and data.get_dataset_size() == 5
    for i, found in enumerate(data.create_dict_iterator(num_epochs=1, output_numpy=True)):
        assert found["image"].dtype == np.uint8 and found["image"].tobytes() == bytes(range(i))
        assert str(found["name"]) == f"no {i} é" and found["label"].dtype == np.int32
        np.testing.assert_array_equal(found["points"], row(i)["points"])


def test_columns_orders_and_shards(tmp_path):
    path = written(tmp_path / "b.mindrecord", shards=2)
    first = tmp_path / "b.mindrecord0"
    assert not path.exists() and labels(ds.MindDataset(first, shuffle=False)) == [0, 2, 4, 1, 3]
    assert labels(ds.MindDataset([first], ["label"], shuffle=False)) == [0, 2, 4]
    assert sorted(labels(ds.MindDataset(first))) == [0, 1, 2, 3, 4]
    parts = [labels(ds.MindDataset(first, shuffle=False, num_shards=2, shard_id=k, num_samples=2)) for k in (0, 1)]
    assert [len(p) for p in parts] == [2, 2]
    chosen = ds.MindDataset(first, ["points", "label"], sampler=[1])
    assert [v.shape for v in next(chosen.create_tuple_iterator(output_numpy=True))] == [(3, 2), ()]


def test_a_data_set_is_saved(tmp_path):
    columns = {"image": np.arange(24, dtype=np.uint8).reshape(2, 3, 4), "x": np.array([1.5, 2.5], np.float16),
               "label": np.array([3, 4], np.uint32), "word": np.array(["a", "bc"])}  # fmt: skip
    ds.NumpySlicesDataset(columns, shuffle=False).save(str(tmp_path / "f.mindrecord"))
    for i, found in enumerate(ds.MindDataset(tmp_path / "f.mindrecord", shuffle=False).create_dict_iterator(
            num_epochs=1, output_numpy=True)):  # fmt: skip
        assert all(np.array_equal(found[name], column[i]) for name, column in columns.items())
    with pytest.raises(MsnbError, match="save writes file_type 'mindrecord'"):
        ds.NumpySlicesDataset([1], ["x"]).save(str(tmp_path / "g"), file_type="tfrecord")


def test_a_file_is_replaced_only_when_asked(tmp_path):
    path = written(tmp_path / "c.mindrecord")
    with pytest.raises(FileExistsError, match="overwrite=True replaces it"):
        FileWriter(str(path))
    writer = FileWriter(str(path), overwrite=True)
    writer.add_schema({"x": {"type": "int64"}})
    writer.write_raw_data([{"x": 7}])
    assert labels(ds.MindDataset(path)) != [7]  # the old file stays until the new one is whole
    writer.commit()
    assert next(ds.MindDataset(path).create_tuple_iterator(output_numpy=True))[0] == 7


def _schema_of(kind):
    return FileWriter("unused").add_schema({"x": {"type": kind}})


def _row_of(values):
    writer = FileWriter("unused")
    writer.add_schema({"x": {"type": "int32"}})
    writer.write_raw_data([values])


@pytest.mark.parametrize("wrong, sentence", [
    (lambda: _schema_of("uint8"), "has the type 'uint8'; legal: int32"),
    (lambda: _row_of({"y": 1}), r"row 0 has \['y'\], the schema \['x'\]"),
    (lambda: _row_of({"x": "three"}), "column 'x' takes int32, got 'three'"),
    (lambda: FileWriter("unused").write_raw_data([{}]), "add_schema comes before the first row"),
])  # fmt: skip
def test_rows_that_do_not_fit(wrong, sentence):
    with pytest.raises(MsnbError, match=sentence):
        wrong()


def test_files_that_do_not_fit(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        ds.MindDataset(tmp_path / "nothing")
    (tmp_path / "other").write_bytes(b"\x00 made by somebody else")
    with pytest.raises(MsnbError, match="or no file of msnb's FileWriter(?s:.)*write the rows again"):
        ds.MindDataset(tmp_path / "other")
    path = written(tmp_path / "d.mindrecord")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(MsnbError, match="is damaged"):
        ds.MindDataset(path)
    with pytest.raises(MsnbError, match="there is no column 'lable'"):
        ds.MindDataset(written(tmp_path / "e.mindrecord"), ["lable"])
