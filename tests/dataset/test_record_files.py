"""Files of rows: what `FileWriter` writes, `MindDataset` reads."""

from __future__ import annotations

import json
import sqlite3

import numpy as np
import pytest
from msnb.mindrecord import FileReader, FileWriter, MindPage

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
    assert not path.exists() and labels(ds.MindDataset(first, shuffle=False)) == [0, 2, 3, 1, 4]
    assert labels(ds.MindDataset([first], ["label"], shuffle=False)) == [0, 2, 3]
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


KINDS = {
    "s": {"type": "string"}, "i": {"type": "int32"}, "l": {"type": "int64"}, "f": {"type": "float32"},
    "d": {"type": "float64"}, "b": {"type": "bytes"}, "v": {"type": "int32", "shape": [-1]},
    "w": {"type": "int64", "shape": [2, -1]}, "m": {"type": "float32", "shape": [-1, 2]},
}  # fmt: skip


def many(i):
    sign = (-1) ** i
    return {"s": f"é{i}" * (i * 30 + 1), "i": sign * i * 37, "l": sign * 2 ** (3 * i), "f": float(np.float32(i / 3)),
            "d": i / 7, "b": bytes(range(i)), "v": np.array([sign**k * 2**k * i for k in range(i)], np.int32),
            "w": np.array([[2**40 * i, i, 3], [-i, -200, 70000]]), "m": np.full((i, 2), i, np.float32)}  # fmt: skip


def equal(one, other):
    return list(one) == list(other) and all(np.array_equal(one[k], other[k]) for k in one)


def test_rows_of_all_types_pages_and_later_rows(tmp_path):
    path = str(tmp_path / "a.mindrecord")
    writer = FileWriter(path)
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema(KINDS, "all of them")
    writer.add_index(["i"])
    writer.add_index(["s"])
    writer.write_raw_data([many(i % 20) for i in range(150)])
    writer.commit()
    with pytest.raises(MsnbError, match="open_for_append adds more rows"):
        writer.write_raw_data([many(1)])
    more = FileWriter.open_for_append(path)
    more.write_raw_data([many(i % 20) for i in range(150, 200)])
    more.commit()
    reader = FileReader(path)
    order = ["d", "f", "i", "l", "s", "b", "m", "v", "w"]
    rows = list(reader.get_next())
    assert reader.len() == len(rows) == 200 and reader.schema() == {k: KINDS[k] for k in sorted(KINDS)}
    assert all(equal(row, {k: many(i % 20)[k] for k in order}) for i, row in enumerate(rows))
    assert list(next(FileReader(path, columns=["v", "s"]).get_next())) == ["s", "v"]
    base = sqlite3.connect(path + ".db")
    assert base.execute("SELECT COUNT(*), SUM(i_0), MAX(ROW_ID) FROM INDEXES").fetchone() == (200, -3700, 199)
    row = base.execute("SELECT * FROM INDEXES WHERE ROW_ID = 1").fetchone()
    assert row[0] == 1 and row[8:] == (0, -37, 0, many(1)["s"])
    base.close()
    reader.close()
    with pytest.raises(MsnbError, match="it was closed"):
        reader.len()


def test_what_mindspore_wrote_is_read(tmp_path):
    # two rows that MindSpore 2.10 wrote: {"name": string, "vec": int64[-1]}, without the empty part of its pages
    head = (b'{"header_size":16384,"index_fields":[{"index_field":"name","schema_id":0}],"page":[{"end_row_id":2,'
            b'"page_id":0,"page_size":46,"page_type":"BLOB_DATA","page_type_id":0,"row_group_ids":[{"id":0,"offset":0}],'
            b'"shard_id":0,"start_row_id":0},{"end_row_id":0,"page_id":1,"page_size":36,"page_type":"RAW_DATA",'
            b'"page_type_id":0,"row_group_ids":[{"id":0,"offset":0}],"shard_id":0,"start_row_id":0}],"page_size":32768,'
            b'"compression_size":20,"schema":[{"blob_fields":["vec"],"desc":"","schema":{"name":{"type":"string"},"vec":'
            b'{"shape":[-1],"type":"int64"}}}],"shard_addresses":["m.mindrecord"],"shard_id":0,"statistics":null,'
            b'"version":"3.0"}')  # fmt: skip
    blob = bytes.fromhex("00000005" "1b00" "01" "2c01" "70110100" "0000000000010000" "05")
    other = bytes.fromhex("00000002" "10" "ff" "c800")
    body = len(blob).to_bytes(8, "little") + blob + len(other).to_bytes(8, "little") + other
    raw = b"".join(len(r).to_bytes(8, "little") + r for r in (b"\x81\xa4name\xa2n0", b"\x81\xa4name\xa4long"))
    for old, part in ((b"46", body), (b"36", raw)):
        head = head.replace(b'"page_size":' + old, b'"page_size":%d' % len(part))
    content = bytearray(16384 + 32768 + len(raw))
    content[: 8 + len(head)] = len(head).to_bytes(8, "little") + head
    content[16384 : 16384 + len(body)] = body
    content[16384 + 32768 :] = raw
    (tmp_path / "m.mindrecord").write_bytes(content)
    rows = list(FileReader(tmp_path / "m.mindrecord").get_next())
    assert [row["name"] for row in rows] == ["n0", "long"]
    assert [row["vec"].tolist() for row in rows] == [[1, 300, 70000, 2**40, 5], [-1, 200]]


def test_pages_of_a_category(tmp_path):
    writer = FileWriter(str(tmp_path / "p"), 2)
    writer.add_schema({"s": {"type": "string"}, "n": {"type": "int32"}, "b": {"type": "bytes"}})
    writer.write_raw_data([{"s": "zab"[i % 3], "n": i % 2 - 1, "b": b"%d" % i} for i in range(10)])
    writer.commit()
    pages = MindPage(str(tmp_path / "p0"))
    assert pages.candidate_fields == ["n", "s"] and pages.category_field is None
    with pytest.raises(MsnbError, match="set category_field first"):
        pages.read_category_info()
    pages.category_field = "s"
    assert json.loads(pages.read_category_info()) == {"key": "s_0", "categories": [
        {"count": 3, "id": 0, "name": "a"}, {"count": 3, "id": 1, "name": "b"}, {"count": 4, "id": 2, "name": "z"}]}
    assert [row["b"] for row in pages.read_at_page_by_id(0, 0, 2)] == [b"1", b"4"]
    assert pages.read_at_page_by_name("a", 1, 2) == [{"n": 0, "s": "a", "b": b"7"}]
    for wrong, sentence in (((0, 2, 2), "page 2 of 2 rows"), ((3, 0, 1), "no category 3"), ((-1, 0, 1), "category_id")):
        with pytest.raises(MsnbError, match=sentence):
            pages.read_at_page_by_id(*wrong)
    with pytest.raises(MsnbError, match="no category 'q'"):
        pages.read_at_page_by_name("q", 0, 1)
    with pytest.raises(MsnbError, match="there is no column 'b'"):
        pages.category_field = "b"


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
    (lambda: _row_of({"x": "three"}), "column 'x' takes int32, got str 'three'"),
    (lambda: _row_of({"x": 1.5}), "column 'x' takes int32, got float '1.5'"),
    (lambda: _row_of({"x": 2**31}), "column 'x' takes int32, got int"),
    (lambda: _row_of({"x": np.arange(3)}), r"takes int32, got int64\[3\](?s:.)*an array needs a shape"),
    (lambda: FileWriter("unused").write_raw_data([{}]), "add_schema comes before the first row"),
    (lambda: FileWriter("unused").add_schema({"a b": {"type": "int32"}}), "letters, digits and _, got 'a b'"),
    (lambda: FileWriter("unused").add_schema({"x": {"type": "bytes", "shape": [1]}}), "of bytes has no 'shape'"),
    (lambda: FileWriter("unused").add_schema({"x": {"type": "int32", "shape": [-1, -1]}}), "one of them may be -1"),
    (lambda: FileWriter("unused", 1001), "shard_num is at most 1000"),
    (lambda: FileWriter("unused").set_page_size(100), "page_size lies between 32768 and"),
    (lambda: FileWriter("unused").set_header_size(1 << 28), "header_size lies between 16384 and"),
    (lambda: FileWriter("unused").commit(), "add_schema comes before commit"),
])  # fmt: skip
def test_rows_that_do_not_fit(wrong, sentence):
    with pytest.raises(MsnbError, match=sentence):
        wrong()


def test_files_that_do_not_fit(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file"):
        ds.MindDataset(tmp_path / "nothing")
    (tmp_path / "other").write_bytes(b"\x00 made by somebody else")
    with pytest.raises(MsnbError, match="or no MindRecord file(?s:.)*write the rows again"):
        ds.MindDataset(tmp_path / "other")
    path = written(tmp_path / "d.mindrecord")
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(MsnbError, match="is damaged"):
        ds.MindDataset(path)
    with pytest.raises(MsnbError, match="there is no column 'lable'"):
        ds.MindDataset(written(tmp_path / "e.mindrecord"), ["lable"])
