"""Published data sets as MindRecord files; pickles are read without running anything of theirs."""

from __future__ import annotations

import gzip
import os
import pickle
import struct
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from example_encoder import encode_example
from msnb.mindrecord import (
    Cifar10ToMR,
    Cifar100ToMR,
    CsvToMR,
    FileReader,
    ImageNetToMR,
    MnistToMR,
    TFRecordToMR,
    set_dec_mode,
    set_enc_key,
    set_enc_mode,
)

from msnb.base.errors import DatasetError, MsnbError
from msnb.dataset.sources.records.checksum import masked


def rows(path: Path) -> list[dict[str, Any]]:
    return list(FileReader(path).get_next())


def batch(path: Path, **labels: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    page = {b"data": (np.arange(2 * 3072) % 251).astype(np.uint8).reshape(2, 3072)}
    path.write_bytes(pickle.dumps({**page, **{k.encode(): v for k, v in labels.items()}}, protocol=4))
    return path


def test_cifar_and_mnist(tmp_path: Path) -> None:
    pytest.importorskip("PIL")
    for name in ("data_batch_1", "data_batch_2", "test_batch"):
        batch(tmp_path / "ten" / name, labels=[7, 3])
    Cifar10ToMR(str(tmp_path / "ten"), str(tmp_path / "ten.mr")).transform(["label"])
    found = rows(tmp_path / "ten.mr")
    assert [(row["id"], row["label"]) for row in found] == [(0, 7), (1, 3), (2, 7), (3, 3)]
    assert found[0]["data"][:2] == b"\xff\xd8" and len(rows(tmp_path / "ten.mr_test")) == 2
    for name in ("train", "test"):
        batch(tmp_path / "hundred" / name, fine_labels=[7, 3], coarse_labels=[1, 2])
    Cifar100ToMR(str(tmp_path / "hundred"), str(tmp_path / "hundred.mr")).run()
    assert [(row["fine_label"], row["coarse_label"]) for row in rows(tmp_path / "hundred.mr")] == [(7, 1), (3, 2)]
    for part, n in (("train", 3), ("t10k", 2)):
        images = struct.pack(">4I", 0x803, n, 28, 28) + bytes(n * 784)
        (tmp_path / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
        labels = struct.pack(">2I", 0x801, n) + bytes(range(n))
        (tmp_path / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))
    MnistToMR(str(tmp_path), str(tmp_path / "m")).transform()
    assert [row["label"] for row in rows(tmp_path / "m_train.mindrecord")] == [0, 1, 2]
    assert len(rows(tmp_path / "m_test.mindrecord")) == 2


class Evil:
    def __init__(self, *call: Any) -> None:
        self.call = call

    def __reduce__(self) -> Any:
        return self.call[0], self.call[1:]


@pytest.mark.parametrize(("page", "sentence"), [
    (Evil(os.system, "echo harm"), "asks for (posix|nt).system, and is not read"),
    ({b"data": Evil(eval, "1"), b"labels": []}, "asks for builtins.eval"),
    ({b"data": [1], b"labels": []}, "it has no array 'data'"),
    ({b"data": np.zeros((2, 3072), np.float32), b"labels": [1, 2]}, r"its 'data' is f4\(2, 3072\)"),
    ({b"data": np.zeros((2, 5), np.uint8), b"labels": [1, 2]}, r"its 'data' is u1\(2, 5\)"),
    ({b"data": np.zeros((2, 3072), np.uint8), b"labels": [1]}, "its 'labels' is no list of 2 ints"),
    (3, "it has no array 'data'"),
])  # fmt: skip
def test_pickles_that_are_no_pictures(tmp_path: Path, page: Any, sentence: str) -> None:
    for name in ("data_batch_1", "test_batch"):
        (tmp_path / name).write_bytes(pickle.dumps(page, protocol=4))
    with pytest.raises(DatasetError, match=sentence):
        Cifar10ToMR(str(tmp_path), str(tmp_path / "a.mr")).transform()
    assert not (tmp_path / "a.mr").exists()


def test_pickles_that_ask_for_much_memory(tmp_path: Path) -> None:
    batch(tmp_path / "test_batch", labels=[1, 2])
    huge = (1 << 32) - 1
    place, long = b"r" + struct.pack("<I", huge), b"\x8e" + struct.pack("<Q", huge)
    for content in (b"\x80\x04N" + place + b".", b"\x80\x04" + long + b"."):
        (tmp_path / "data_batch_1").write_bytes(content)
        with pytest.raises(DatasetError, match="no batch of pictures|no array 'data'"):
            Cifar10ToMR(str(tmp_path), str(tmp_path / "a.mr")).transform()


def test_lines_pictures_and_records(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('a,b,c,d\n1,2.5,x,True\n-2,,"y,z",False\n')
    CsvToMR(str(tmp_path / "a.csv"), str(tmp_path / "a.mr")).transform()
    assert FileReader(tmp_path / "a.mr").schema() == {
        "a": {"type": "int64"}, "b": {"type": "float64"}, "c": {"type": "string"}, "d": {"type": "int32"}}  # fmt: skip
    first, second = rows(tmp_path / "a.mr")
    assert first == {"a": 1, "b": 2.5, "c": "x", "d": 1} and second["c"] == "y,z" and np.isnan(second["b"])
    CsvToMR(str(tmp_path / "a.csv"), str(tmp_path / "b.mr"), ["d", "a"], 2).transform()
    assert [row["d"] for row in rows(tmp_path / "b.mr0")] == [1, 0]
    for place in ("n1/a.jpg", "n2/b.JPEG", "n2/c.txt"):
        (tmp_path / place).parent.mkdir(exist_ok=True)
        (tmp_path / place).write_bytes(place.encode())
    (tmp_path / "map").write_text("n1 0\nn2 1\nn3 2\n")
    ImageNetToMR(str(tmp_path / "map"), str(tmp_path), str(tmp_path / "i.mr")).transform()
    assert [(row["label"], row["image"]) for row in rows(tmp_path / "i.mr")] == [(0, b"n1/a.jpg"), (1, b"n2/b.JPEG")]
    with open(tmp_path / "t", "wb") as file:
        for i in range(2):
            values = {"im/g": [b"\xff" + b"x" * i], "s": [b"text"], "n": np.array([i]), "l": np.arange(3) + i}
            content = encode_example({**values, "f": np.array([i / 2], np.float32)})
            head = struct.pack("<Q", len(content))
            file.write(head + struct.pack("<I", masked(head)) + content + struct.pack("<I", masked(content)))
    kinds = {"im/g": "string", "s": "string", "n": np.int32, "f": "float32"}
    features = {name: SimpleNamespace(shape=[], dtype=kind) for name, kind in kinds.items()}
    features["l"] = SimpleNamespace(shape=[3], dtype=np.dtype("int64"))
    TFRecordToMR(str(tmp_path / "t"), str(tmp_path / "t.mr"), features, ["im/g"]).transform()
    second = rows(tmp_path / "t.mr")[1]
    assert second["l"].tolist() == [1, 2, 3] and {k: v for k, v in second.items() if k != "l"} == {
        "f": 0.5, "n": 1, "s": "text", "im_g": b"\xffx"}  # fmt: skip


@pytest.mark.parametrize(("wrong", "sentence"), [
    (lambda f: CsvToMR(str(f / "a.csv"), str(f / "x"), ["q"]), "there is no column 'q'"),
    (lambda f: CsvToMR(str(f / "digits.csv"), str(f / "x")), "names a column '1'"),
    (lambda f: ImageNetToMR(str(f / "a.csv"), str(f), str(f / "x")), "is no folder and label"),
    (lambda f: TFRecordToMR("t", "x", {"a": SimpleNamespace(shape=[2, 2], dtype="int64")}), "a shape is"),
    (lambda f: TFRecordToMR("t", "x", {"a": SimpleNamespace(shape=[2], dtype="string")}), "strings have the shape"),
    (lambda f: TFRecordToMR("t", "x", {"a": SimpleNamespace(shape=[], dtype="int64")}, ["a"]), "bytes are of dtype"),
    (lambda f: set_enc_key("0123456789012345"), "not encrypted"),
    (lambda f: set_enc_mode(), "not encrypted"),
    (lambda f: set_dec_mode(), "not encrypted"),
])  # fmt: skip
def test_what_cannot_be_converted(tmp_path: Path, wrong: Any, sentence: str) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "digits.csv").write_text("1,b\n1,2\n")
    with pytest.raises(MsnbError, match=sentence):
        wrong(tmp_path)
    set_enc_key(None)


def test_folders_without_the_data_set(tmp_path: Path) -> None:
    for kind in (Cifar10ToMR, Cifar100ToMR):
        with pytest.raises(FileNotFoundError, match="is missing in"):
            kind(str(tmp_path), str(tmp_path / "x"))
