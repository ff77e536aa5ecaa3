"""Files of data sets that lie: rows that do not fit, packed gigabytes, names that lead elsewhere, endless pictures."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.dataset as ds
from msnb.base.errors import DatasetError
from msnb.base.files.array_archive import Archive
from msnb.base.files.bounded_reader import need_room
from tests.mutation.formats import _npy as npy

ROWS = [{"s": f"é{i}", "b": bytes(i), "f": np.full((i, 2), i, np.float32), "n": i} for i in range(4)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    writer = ms.mindrecord.FileWriter(str(tmp_path / "a"))
    kinds = {"s": "string", "b": "bytes", "f": "float32", "n": "int64"}
    writer.add_schema({name: {"type": kind} for name, kind in kinds.items()})
    writer.write_raw_data(ROWS)
    writer.commit()
    return tmp_path / "a"


def rewritten(path: Path, **changes: Any) -> Path:
    """The same archive with other entries; None leaves one out."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    for name, value in changes.items():
        key = name.replace("__", "/") + ("" if "." in name else ".npy")
        entries.pop(key, None)
        if value is not None:
            entries[key] = value if isinstance(value, bytes) else npy(value)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    return path


def read(path: Path) -> list[Any]:
    return list(ds.MindDataset(str(path), shuffle=False).create_tuple_iterator(num_epochs=1, output_numpy=True))


def test_the_good_file_is_good(path: Path) -> None:
    assert [int(n) for _, _, n, _ in read(path)] == [0, 1, 2, 3]
    assert [f.shape for _, f, _, _ in read(path)] == [(i, 2) for i in range(4)]


INT = np.int64
LIES: list[tuple[dict[str, Any], str]] = [
    ({"n__data": INT([0, 1]), "n__ends": INT([1, 2]), "n__rank": INT([0, 0])}, "'n' has 2 rows where others have 4"),
    ({"n__ends": INT([1, 2, 3])}, "the ends of 3 rows and the ranks of 4"),
    ({"n__ends": INT([1, 2, 3, 5])}, "do not go up to its 4"),
    ({"n__ends": INT([3, 2, 3, 4])}, "do not go up to its 4"),
    ({"n__ends": INT([-(2**62), 2**62, 3, 4])}, "do not go up"),
    ({"n__rank": INT([0, 0, 0])}, "the ends of 4 rows and the ranks of 3"),
    ({"n__rank": INT([0, 0, 0, 1])}, "1 axes, and 0 sizes"),
    ({"n__rank": INT([0, 0, 0, 99]), "n__shape": np.ones(99, INT)}, "99 axes, which no row"),
    ({"f__shape": INT([0, 2, 1, 2, 2, 2, 2**62, 2**62])}, "the shape of row 3 does not fit"),
    ({"f__shape": INT([2**62, 0, 1, 2, 2, 2, 3, 2])}, "the shape of row 0 does not fit"),
    ({"f__shape": INT([0, -2, 1, 2, 2, 2, 3, 2])}, "negative size|does not fit"),
    ({"n__data": np.zeros(4, np.float64)}, "its part 'data' is float64"),
    ({"n__ends": np.zeros((4, 1), INT)}, "its part 'ends' is int64"),
    ({"n__ends": np.arange(4.0)}, "its part 'ends' is float64"),
    ({"s__data": np.full(12, 0xFF, np.uint8)}, "no text in UTF-8"),
    ({"s__ends": INT([1, 6, 9, 12]), "s__shape": INT([1, 5, 3, 3])}, "a row begins in the middle of a character"),
    ({"n__data": None}, "its entry 'n/data' is missing"),
    ({"x__data": INT([1])}, "its entry 'x/data' is of no column"),
    ({"n__data": b"no array"}, "its entry 'n/data': it is no array in NumPy's format"),
    ({"n__data": np.array([{"a": 1}], dtype=object)}, "describes no array of numbers"),
    ({"msnb.json": None}, "its entry 'msnb.json' is missing|no entry 'msnb.json'"),
]


@pytest.mark.parametrize(("changes", "sentence"), LIES)
def test_rows_that_do_not_fit_their_file(path: Path, changes: dict[str, Any], sentence: str) -> None:
    if "msnb.json" in changes:
        changes = {"msnb.json.npy": None}
    with pytest.raises(DatasetError, match=sentence) as caught:
        read(rewritten(path, **changes))
    assert str(caught.value).startswith("a is damaged")


@pytest.mark.parametrize(("header", "sentence"), [
    ({"files": ["a", "../b"]}, r"shards are other files in the same folder"),
    ({"files": ["a", "/etc/passwd"]}, "shards are other files"),
    ({"files": ["a", ".."]}, "shards are other files"),
    ({"files": ["a", "b", "b"]}, "shards are other files"),
    ({"files": "a"}, "files of its header is \"a\", not a list"),
    ({"schema": {"n": "int8"}}, 'is "int8", not one of'),
    ({"schema": {}}, "is of no column"),
    ({"schema": 3}, "schema of its header is 3"),
    ({"more": 1}, "not a known key"),
])  # fmt: skip
def test_headers_that_lead_elsewhere(path: Path, header: dict[str, Any], sentence: str) -> None:
    good = {"schema": {"s": "string", "b": "bytes", "f": "float32", "n": "int64"}, "files": ["a"]}
    text = np.frombuffer(json.dumps({**good, **header}).encode(), np.uint8)
    with pytest.raises(DatasetError, match=sentence):
        read(rewritten(path, **{"msnb.json.npy": npy(text)}))


def test_shards_have_one_schema(path: Path, tmp_path: Path) -> None:
    writer = ms.mindrecord.FileWriter(str(tmp_path / "b"))
    writer.add_schema({"n": {"type": "int32"}})
    writer.write_raw_data([{"n": 1}])
    writer.commit()
    with pytest.raises(DatasetError, match="b has the columns"):
        ds.MindDataset([str(path), str(tmp_path / "b")])


def test_empty_rows_of_any_shape_come_back(tmp_path: Path) -> None:
    writer = ms.mindrecord.FileWriter(str(tmp_path / "a"))
    writer.add_schema({"x": {"type": "int32"}})
    writer.write_raw_data([{"x": np.zeros((0, 5))}, {"x": 3}, {"x": np.zeros((2, 0))}])
    writer.commit()
    assert [x.shape for (x,) in read(tmp_path / "a")] == [(0, 5), (), (2, 0)]
    os.rename(tmp_path / "a", tmp_path / "other name")
    assert len(read(tmp_path / "other name")) == 3


def test_archives_that_unfold_without_end(path: Path) -> None:
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(100 << 20))
    with pytest.raises(DatasetError, match="would unfold to 1048"):
        read(path)
    with pytest.raises(DatasetError, match="its end is missing"), Archive(_cut(path), _refuse):
        pass


def _refuse(why: str, hint: str = "") -> DatasetError:
    return DatasetError(why, hint=hint)


def _cut(path: Path) -> Path:
    path.write_bytes(path.read_bytes()[:1000])
    return path


def test_what_real_data_unfold_to_is_believed() -> None:
    need_room(1, 64 << 20, _refuse)
    need_room(10 << 20, 320 << 20, _refuse)
    with pytest.raises(DatasetError, match="would unfold"):
        need_room(10 << 20, (320 << 20) + 1, _refuse)


def idx(magic: int, *sizes: int) -> bytes:
    return struct.pack(f">{1 + len(sizes)}I", magic, *sizes)


@pytest.mark.parametrize(("content", "sentence"), [
    (gzip.compress(idx(0x803, 5, 28, 28) + bytes(1 << 22), 1), "too long: its header says .* it has more"),
    (gzip.compress(idx(0x803, 2**32 - 1, 2**32 - 1, 2**32 - 1), 1), "is cut short"),
    (gzip.compress(idx(0x803, 80 << 20, 1, 1) + bytes(80 << 20), 1), "would unfold to 83886080"),
    (idx(0x803, 2**32 - 1, 28, 28), "is cut short"),
    (idx(0x803, 5), "the header alone needs 16"),
], ids=["too long", "10^28 packed", "80 MB said", "3 TB said", "no header"])  # fmt: skip
def test_pictures_that_the_header_does_not_allow(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(0x801, 5) + bytes(5))
    (tmp_path / "train-images-idx3-ubyte").write_bytes(content)
    with pytest.raises(DatasetError, match=sentence):
        ds.MnistDataset(tmp_path, "train")


def png(width: int, height: int, rows: bytes) -> bytes:
    head = struct.pack(">II5B", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    parts = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize(("content", "sentence"), [
    (png(40_000, 40_000, b""), "DecompressionBombError"),
    (png(9_000, 9_000, bytes(9_000)), "would unfold to 243000000"),
    (b"P6 x y 255\n", "is no picture that can be read"),
    (b"P6 -1 -1 255\n", "is no picture that can be read"),
    (b"P6 10 10 255\n", "is no picture that can be read"),
    (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", "is no picture that can be read"),
    (b"", "is no picture that can be read"),
], ids=["1.6 billion", "81 million", "letters", "negative", "cut", "a program", "empty"])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_pictures_of_far_too_many_pixels(content: bytes, sentence: str) -> None:
    pytest.importorskip("PIL")
    with pytest.raises(DatasetError, match=sentence):
        ds.vision.Decode()(np.frombuffer(content, np.uint8))


def test_pictures_come_through(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    for kind, mode in (("PNG", "RGB"), ("BMP", "RGB"), ("PNG", "L"), ("PPM", "RGB")):
        file = io.BytesIO()
        picture = image.fromarray(pixels).convert(mode)
        picture.save(file, kind)
        found = ds.vision.Decode()(np.frombuffer(file.getvalue(), np.uint8))
        assert np.array_equal(found, np.array(picture.convert("RGB")))


def test_words_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "words").write_bytes(b"the\n\xff\n")
    with pytest.raises(DatasetError, match="it is no text in UTF-8: byte 4 is 0xff"):
        ds.text.Vocab.from_file(tmp_path / "words")
