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

ROWS = [{"s": f"é{i}", "b": bytes(i), "f": np.full((i, 2), i, np.float32), "n": i} for i in range(4)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    writer = ms.mindrecord.FileWriter(str(tmp_path / "a"))
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    kinds = {"s": "string", "b": "bytes", "n": "int64"}
    writer.add_schema({**{name: {"type": kind} for name, kind in kinds.items()},
                       "f": {"type": "float32", "shape": [-1, 2]}})  # fmt: skip
    writer.write_raw_data(ROWS)
    writer.commit()
    return tmp_path / "a"


def rewritten(path: Path, header: Any = None, at: int = 0, content: bytes = b"") -> Path:
    """The same file with another header (made of the old one), or with other bytes at a place of it."""
    data = bytearray(path.read_bytes())
    size = int.from_bytes(data[:8], "little")
    page = json.loads(data[8 : 8 + size])
    if header is not None:
        text = json.dumps(header(page)).encode()
        data[: 8 + len(text)] = len(text).to_bytes(8, "little") + text
    data[at : at + len(content)] = content
    path.write_bytes(data)
    return path


def read(path: Path) -> list[Any]:
    return list(ds.MindDataset(str(path), shuffle=False).create_tuple_iterator(num_epochs=1, output_numpy=True))


def test_the_good_file_is_good(path: Path) -> None:
    assert [int(n) for _, _, n, _ in read(path)] == [0, 1, 2, 3]
    assert [f.shape for _, f, _, _ in read(path)] == [(i, 2) for i in range(4)]


def page(number: int, **changes: Any) -> Any:
    """Changes an entry of the header's list of pages: 0 is the blob page, 1 the raw page."""
    return lambda header: {**header, "page": [{**p, **changes} if i == number else p
                                              for i, p in enumerate(header["page"])]}  # fmt: skip


def schema(**changes: Any) -> Any:
    return lambda header: {**header, "schema": [{**header["schema"][0], **changes}]}


BLOB, RAW = 1 << 14, (1 << 14) + (1 << 15)  # where the pages begin
HUGE = (1 << 40) - 1
LIES: list[tuple[Any, str]] = [
    (page(0, page_size=HUGE), "page 0 of 1099511627775 bytes does not lie in the file"),
    (page(0, page_id=HUGE), "does not lie in the file"),
    (page(1, page_id=0), "two of its pages have one number"),
    (page(0, end_row_id=HUGE), "page 0 has rows 0 to 1099511627775"),
    (page(0, end_row_id=5), "row 4 is longer than its page|end after"),
    (page(0, start_row_id=1), "page 0 has rows 1 to 4"),
    (page(0, page_type_id=3), "page 0 has rows"),
    (page(1, row_group_ids=[]), "no page has the numbers and texts of group 0"),
    (page(1, row_group_ids=[{"id": 0, "offset": HUGE}]), "group 0 does not lie in page 1"),
    (page(1, row_group_ids=[{"id": 0, "offset": 0}, {"id": 0, "offset": 1}]), "group 0 does not lie in page 1"),
    (page(1, page_type="VIEW"), 'is "VIEW", not one of'),
    (page(1, page_id=-1), "is -1, not an int"),
    (lambda h: {**h, "header_size": 1 << 60}, "header_size of its header"),
    (lambda h: {**h, "page_size": 1}, "page_size of its header"),
    (lambda h: {**h, "version": "1.0"}, "version of its header"),
    (lambda h: {**h, "schema": []}, "0 schemas"),
    (lambda h: {**h, "index_fields": [{"index_field": "s) --", "schema_id": 0}]}, "its schema has the columns"),
    (lambda h: {**h, "index_fields": [{"index_field": "b", "schema_id": 0}]}, "its index_fields are"),
    (schema(schema={}), "its schema has the columns"),
    (schema(schema={"n": {"type": "int8"}}), 'is "int8", not one of'),
    (schema(blob_fields=["n"]), "its blob_fields are"),
    (schema(schema={"b": {"type": "bytes", "shape": [1]}}, blob_fields=["b"]), "of texts or bytes has a shape|index"),
    (lambda h: {**h, "shard_addresses": ["a", "../b"]}, "shards are other files in the same folder"),
    (lambda h: {**h, "shard_addresses": ["a", "/etc/passwd"]}, "shards are other files"),
    (lambda h: {**h, "shard_addresses": ["a", ".."]}, "shards are other files"),
    (lambda h: {**h, "shard_addresses": ["a", "b", "b"]}, "shards are other files"),
    (lambda h: {**h, "shard_addresses": "a"}, 'shard_addresses of its header is "a", not a list'),
    (lambda h: 3, "its header is 3"),
]  # fmt: skip


@pytest.mark.parametrize(("header", "sentence"), LIES)
def test_headers_that_do_not_fit_their_file(path: Path, header: Any, sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence) as caught:
        read(rewritten(path, header))
    assert str(caught.value).startswith("a is damaged")


@pytest.mark.parametrize(("at", "content", "sentence"), [
    (0, b"\xff" * 8, "its header would have"),
    (0, b"PK", "the form of earlier versions"),
    (8, b"\xff", "is no JSON"),
    (BLOB, b"\xff" * 8, "row 0 is longer than its page"),
    (BLOB + 8, b"\x7f" * 8, "row 0: the column 'b' is longer than the row"),
    (BLOB, b"\x0f", "longer than its page|end after"),
    (RAW, b"\x7f" + b"\0" * 7, "is longer than its page|cannot be read"),
    (RAW + 8, b"\xc1", "cannot be read: byte 0 is 0xc1"),
    (RAW + 8, b"\xdf" + b"\xff" * 4, "more fields than bytes"),
    (RAW + 8, b"\x82\xdb" + b"\xff" * 4, "a text is longer than the row"),
    (RAW + 9, b"\xa1q", "its 'n' is None, and no int64"),
], ids=str)  # fmt: skip
def test_rows_that_do_not_fit_their_page(path: Path, at: int, content: bytes, sentence: str) -> None:
    with pytest.raises(DatasetError, match=sentence) as caught:
        read(rewritten(path, None, at, content))
    assert str(caught.value).startswith("a is damaged")


def test_packed_numbers_that_do_not_fit(tmp_path: Path) -> None:
    writer = ms.mindrecord.FileWriter(str(tmp_path / "v"))
    writer.set_header_size(1 << 14)
    writer.set_page_size(1 << 15)
    writer.add_schema({"v": {"type": "int64", "shape": [-1]}})
    writer.write_raw_data([{"v": np.arange(9)}])
    writer.commit()
    good = (tmp_path / "v").read_bytes()
    for content in (b"\xff" * 4, b"\0\0\0\x08", b"\0\0\0\x09\xff"):
        (tmp_path / "v").write_bytes(good)
        with pytest.raises(DatasetError, match="row 0: the column 'v' does not fit int64.* numbers in 16 bytes"):
            read(rewritten(tmp_path / "v", None, BLOB + 8, content))


def test_shards_have_one_schema(path: Path, tmp_path: Path) -> None:
    writer = ms.mindrecord.FileWriter(str(tmp_path / "b"))
    writer.add_schema({"n": {"type": "int32"}})
    writer.write_raw_data([{"n": 1}])
    writer.commit()
    with pytest.raises(DatasetError, match="b has the columns"):
        ds.MindDataset([str(path), str(tmp_path / "b")])


def test_empty_rows_come_back(tmp_path: Path) -> None:
    writer = ms.mindrecord.FileWriter(str(tmp_path / "a"))
    writer.add_schema({"x": {"type": "int32", "shape": [-1, 5]}, "b": {"type": "bytes"}})
    writer.write_raw_data([{"x": np.zeros((0, 5), int), "b": b""}, {"x": np.zeros((2, 5), int), "b": b"1"}])
    writer.commit()
    assert [(b.shape, x.shape) for b, x in read(tmp_path / "a")] == [((0,), (0, 5)), ((1,), (2, 5))]
    os.rename(tmp_path / "a", tmp_path / "other name")
    assert len(read(tmp_path / "other name")) == 2


def test_archives_that_unfold_without_end(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(3))
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("zeros.npy", bytes(100 << 20))
    with pytest.raises(DatasetError, match="would unfold to 1048"), Archive(path, _refuse) as opened:
        [opened.read(name) for name in opened.names]
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
