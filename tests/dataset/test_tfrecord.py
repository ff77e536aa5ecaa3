"""TFRecord files: own bytes, bytes of the specification, schemas, and files that lie."""

from __future__ import annotations

import gzip
import random
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from example_encoder import encode_example

import msnb.dataset as ds
from msnb.base.errors import DatasetError, MsnbError
from msnb.dataset.sources.records.checksum import crc32c, masked

ROWS: list[dict[str, Any]] = [
    {
        "image": [bytes([i, 255, 0])],
        "label": np.array([i, -i]),
        "size": np.array([0.5 * i], np.float32),
        "word": [b"w\xc3\xa9"],
    }
    for i in range(5)
]


def record(content: bytes) -> bytes:
    head = struct.pack("<Q", len(content))
    return head + struct.pack("<I", masked(head)) + content + struct.pack("<I", masked(content))


def rows(data: Any) -> list[Any]:
    return list(data.create_dict_iterator(num_epochs=1, output_numpy=True))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "a.tfrecord").write_bytes(b"".join(record(encode_example(row)) for row in ROWS))
    return tmp_path / "a.tfrecord"


def slow_crc(content: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in content:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def test_checksums_bit_by_bit_and_of_the_standard() -> None:
    assert crc32c(bytes(32)) == 0x8A9136AA and crc32c(b"\xff" * 32) == 0x62A8AB43  # RFC 3720, B.4
    for length in [*range(12), 63, 64, 65, 1000]:
        content = random.Random(length).randbytes(length)
        assert crc32c(content) == slow_crc(content), length


def test_a_message_written_by_hand(tmp_path: Path) -> None:
    # Example { features { feature { key: "n" value { int64_list { value: 3 value: 4 } } } } }, the numbers not packed
    message = bytes.fromhex("0a0d0a0b0a016e12061a0408030804")
    (tmp_path / "b").write_bytes(record(message))
    assert rows(ds.TFRecordDataset(str(tmp_path / "b")))[0]["n"].tolist() == [3, 4]


def test_with_a_schema_and_without(path: Path) -> None:
    with pytest.raises(DatasetError, match="'image' is no text"):
        rows(ds.TFRecordDataset(path))
    data = ds.TFRecordDataset(path, columns_list=["word", "label"], shuffle=False)
    assert [r["label"].tolist() for r in rows(data)] == [[i, -i] for i in range(5)] and rows(data)[0][
        "word"
    ].tolist() == ["wé"]
    schema = ds.Schema()
    schema.add_column("image", "uint8", [3])
    schema.add_column("label", "int32", [2])
    schema.add_column("size", "float32", [])
    schema.add_column("word", "string", [])
    (path.parent / "s.json").write_text(schema.to_json())
    for given in (schema, str(path.parent / "s.json")):
        found = rows(ds.TFRecordDataset(str(path), given, shuffle=False))
        assert found[4]["image"].tolist() == [4, 255, 0] and found[4]["label"].dtype == np.int32
        assert found[3]["size"].tolist() == 1.5 and str(found[0]["word"]) == "wé"
    assert sorted(int(r["size"] * 2) for r in rows(ds.TFRecordDataset(path, schema, num_shards=5, shard_id=2))) != []


@pytest.mark.parametrize(("kind", "pack"), [("GZIP", gzip.compress), ("ZLIB", zlib.compress)])
def test_packed_files(path: Path, kind: str, pack: Any) -> None:
    (path.parent / "p").write_bytes(pack(path.read_bytes()))
    assert len(rows(ds.TFRecordDataset(path.parent / "p", columns_list="label", compression_type=kind))) == 5
    (path.parent / "p").write_bytes(pack(bytes(200 << 20)))
    with pytest.raises(DatasetError, match="would unfold to"):
        ds.TFRecordDataset(path.parent / "p", compression_type=kind)
    with pytest.raises(DatasetError, match="compression_type"):
        ds.TFRecordDataset(path.parent / "p")


def test_damage_is_seen_byte_for_byte(path: Path) -> None:
    good = path.read_bytes()
    for at in range(0, len(good), 3):
        bad = bytearray(good)
        bad[at] ^= 16
        path.write_bytes(bad)
        with pytest.raises(MsnbError, match="checksum|no TFRecord"):
            rows(ds.TFRecordDataset(path, columns_list="label", shuffle=False))


def test_messages_that_lie_under_a_right_checksum(path: Path) -> None:
    good = encode_example(ROWS[1])
    for seed in range(300):
        drawn = random.Random(seed)
        bad = bytearray(good)
        for _ in range(drawn.randint(1, 5)):
            bad[drawn.randrange(len(bad))] = drawn.randrange(256)
        path.write_bytes(record(bytes(bad)))
        try:
            rows(ds.TFRecordDataset(path))
        except MsnbError:
            pass
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error!r}") from error


@pytest.mark.parametrize(("page", "sentence"), [
    ("{", "no JSON"), ("[]", "an object with columns"), ('{"columns": 3}', "a dict or a list"),
    ('{"columns": {"a": {"type": "int99"}}}', "no type 'int99'"),
    ('{"columns": {"a": {"type": "int8", "shape": [-2]}}}', "at least -1"),
    ('{"columns": [{"name": "a", "type": "int8"}, {"name": "a", "type": "int8"}]}', "there already"),
    ('{"columns": {"a": {"type": "int8", "more": 1}}}', "a column has name"),
    ('{"columns": {}, "numRows": 0}', "numRows"),
])  # fmt: skip
def test_schemas_that_are_none(page: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "s").write_text(page)
    with pytest.raises(DatasetError, match=sentence):
        ds.Schema(tmp_path / "s")


@pytest.mark.parametrize(("name", "kind", "shape", "sentence"), [
    ("none", "int8", None, "no column 'none'"), ("label", "uint8", None, "too large for uint8"),
    ("label", "int64", [3], "has 2 elements, its shape"), ("label", "string", None, "should be text"),
    ("word", "float32", None, "3 bytes, which are no float32"),
])  # fmt: skip
def test_columns_that_do_not_fit(path: Path, name: str, kind: str, shape: Any, sentence: str) -> None:
    schema = ds.Schema()
    schema.add_column(name, kind, shape)
    with pytest.raises(DatasetError, match=sentence):
        rows(ds.TFRecordDataset(path, schema, shuffle=False))
