"""A MindRecord file: a header, then pages of one size, of numbers and texts (raw) or of bytes and arrays (blob).

    8 bytes: length, header in JSON ...   page 0 (blob)  |  page 1 (raw)  |  ...       page n begins at
    blob page      length, row, length, row ...         one group of rows              header_size + n * page_size
    raw page       length, row, length, row ...         groups, each at an offset

A row is found by walking over the lengths of its group, once for each group that is asked for. The index beside a file
(`.db`) says the same and is not needed. All that the header says is checked against the file before it is believed.
Source: the files of MindSpore 2.10.
"""

from __future__ import annotations

import bisect
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import DatasetError
from msnb.base.files.bounded_reader import open_file, read_bytes, read_json, size_of
from msnb.base.files.json_schema import TEXT, Either, Int, OneOf, Record, Rows, Table
from msnb.dataset.pipeline.rows import Array
from msnb.dataset.sources.mindrecord.row_bytes import PLAIN, Schema, blob_fields, unpacked_blob, unpacked_map

HEADER_SIZES = (1 << 14, 1 << 27)
PAGE_SIZES = (1 << 15, 1 << 28)
FIELD_NAME = re.compile(r"[0-9a-zA-Z_]+")
VERSION = "3.0"
_SIZE = Int(0, 1 << 40)
_PAGE = Record({
    "page_id": _SIZE, "page_type": OneOf("BLOB_DATA", "RAW_DATA"), "page_type_id": _SIZE, "page_size": _SIZE,
    "start_row_id": _SIZE, "end_row_id": _SIZE, "row_group_ids": Rows(Record({"id": _SIZE, "offset": _SIZE})),
}, {"shard_id": _SIZE})  # fmt: skip
_FIELD = Record({"type": OneOf(*PLAIN, "bytes")}, {"shape": Rows(Int(-1, 1 << 40))})
_HEADER = Record({
    "version": OneOf(VERSION), "header_size": Int(*HEADER_SIZES), "page_size": Int(*PAGE_SIZES), "page": Rows(_PAGE),
    "schema": Rows(Record({"schema": Table(_FIELD), "blob_fields": Rows(TEXT)}, {"desc": TEXT})),
    "index_fields": Either(Rows(Record({"index_field": TEXT, "schema_id": OneOf(0)})), OneOf(None)),
    "shard_addresses": Rows(TEXT),
}, open=True)  # fmt: skip


@dataclass(frozen=True)
class Span:
    """Some bytes of a file: rows with their lengths."""

    page: int
    start: int
    offset: int
    size: int


@dataclass(frozen=True)
class RowGroup:
    """Rows that lie together."""

    first: int
    count: int
    raw: Span
    blob: Span


class PageFile:
    """One file. Attributes: schema, index_fields, shards (names of all files), rows (their number).

    Args:
        owner: who reads, for messages.
        path: the file.

    Raises:
        FileNotFoundError: there is none. DatasetError: it is damaged, or of another kind.
    """

    def __init__(self, owner: str, path: Path) -> None:
        self.path: Path = path
        try:
            self._file = open_file(path, self.refuse)
        except FileNotFoundError:
            raise FileNotFoundError(f"{owner}: there is no file {str(path)!r}") from None
        self._lock = threading.Lock()
        self._places: dict[Span, Array] = {}
        self.header: dict[str, Any] = self._read_header()
        self.schema: Schema = self.header["schema"][0]["schema"]
        self.blobs: list[str] = blob_fields(self.schema)
        self.index_fields: list[str] = [entry["index_field"] for entry in self.header["index_fields"] or ()]
        self.shards: list[str] = self.header["shard_addresses"]
        self._check_names()
        self.groups: list[RowGroup] = self._read_groups()
        self._firsts = [group.first for group in self.groups]
        self.rows: int = self.groups[-1].first + self.groups[-1].count if self.groups else 0

    def __del__(self) -> None:
        if "_file" in vars(self):
            self._file.close()

    def refuse(self, why: str, hint: str = "") -> DatasetError:
        text = f"{self.path.name} is damaged, or no MindRecord file: {why}"
        return DatasetError(text, hint=hint or "write the rows again with FileWriter")

    def row(self, number: int, columns: Sequence[str] | None = None) -> dict[str, Any]:
        """A row as Python's values and arrays: plain fields, then bytes and arrays."""
        at = bisect.bisect_right(self._firsts, number) - 1
        group, inner = self.groups[at], number - self._firsts[at]

        def refuse(why: str, hint: str = "") -> DatasetError:
            return self.refuse(f"row {number}: {why}", hint)

        wanted = self.schema if columns is None else columns
        values: dict[str, Any] = {}
        plain = sorted(name for name in wanted if name not in self.blobs)
        if plain:
            found = unpacked_map(self._record(group, group.raw, inner), refuse)
            values = {name: _plain(name, self.schema[name]["type"], found, refuse) for name in plain}
        if any(name in self.blobs for name in wanted):
            found = unpacked_blob(self._record(group, group.blob, inner), self.blobs, self.schema, refuse)
            values.update((name, found[name]) for name in (columns or self.blobs) if name in self.blobs)
        return values

    def spots(self) -> Iterator[list[int]]:
        """Of every row: number; page and place in it of its raw part; group; page and place of its blob part."""
        for number, group in enumerate(self.groups):
            raw, blob = (self._starts(group, span) for span in (group.raw, group.blob))
            for inner in range(group.count):
                here, there = map(int, raw[inner : inner + 2]), map(int, blob[inner : inner + 2])
                yield [group.first + inner, group.raw.page, *here, number, group.blob.page, *there]

    def page(self, entry: Mapping[str, Any]) -> bytes:
        """The content of a page."""
        return self._read(self._start(entry), entry["page_size"])

    # ---- the header ----

    def _read_header(self) -> dict[str, Any]:
        size = size_of(self._file)
        length = int.from_bytes(self._read(0, min(8, size)), "little")
        if self._read(0, min(2, size)) == b"PK":
            raise self.refuse("it has the form of earlier versions of msnb, which is read no more")
        if not 0 < length <= min(size, HEADER_SIZES[1]) - 8:
            raise self.refuse(f"its header would have {length} bytes, the file has {size}")
        header = read_json(self._read(8, length), self.refuse, _HEADER, "its header", HEADER_SIZES[1])
        if len(header["schema"]) != 1 or length + 8 > header["header_size"]:
            raise self.refuse(f"its header has {len(header['schema'])} schemas and {length} bytes")
        return dict(header)

    def _check_names(self) -> None:
        entry = self.header["schema"][0]
        names = [*self.schema, *self.index_fields]
        if not self.schema or not all(FIELD_NAME.fullmatch(name) for name in names):
            raise self.refuse(f"its schema has the columns {list(self.schema)}")
        if sorted(entry["blob_fields"]) != self.blobs:
            raise self.refuse(f"its blob_fields are {entry['blob_fields']}, and not {self.blobs}")
        if any("shape" in field and field["type"] not in PLAIN[:4] for field in self.schema.values()):
            raise self.refuse("a column of texts or bytes has a shape")
        strange = [name for name in self.index_fields if name not in self.schema or name in self.blobs]
        if strange or len(set(self.index_fields)) < len(self.index_fields):
            raise self.refuse(f"its index_fields are {self.index_fields}")
        if len(set(self.shards)) < len(self.shards) or any(_is_path(name) for name in self.shards):
            raise self.refuse(f"its header names the files {self.shards}; shards are other files in the same folder")

    def _start(self, entry: Mapping[str, Any]) -> int:
        return int(self.header["header_size"] + entry["page_id"] * self.header["page_size"])

    def _read_groups(self) -> list[RowGroup]:
        size, pages = size_of(self._file), self.header["page"]
        if len({page["page_id"] for page in pages}) < len(pages):
            raise self.refuse("two of its pages have one number")
        for page in pages:
            if page["page_size"] > self.header["page_size"] or self._start(page) + page["page_size"] > size:
                raise self.refuse(f"page {page['page_id']} of {page['page_size']} bytes does not lie in the file")
        raws = self._raw_spans([page for page in pages if page["page_type"] == "RAW_DATA"])
        groups, first = [], 0
        blobs = sorted((p for p in pages if p["page_type"] == "BLOB_DATA"), key=lambda page: page["page_type_id"])
        for number, page in enumerate(blobs):
            count = page["end_row_id"] - first
            span = Span(page["page_id"], self._start(page), 0, page["page_size"])
            if page["page_type_id"] != number or page["start_row_id"] != first or not 0 <= count <= span.size // 8:
                raise self.refuse(f"page {page['page_id']} has rows {page['start_row_id']} to {page['end_row_id']}")
            if number not in raws and count:
                raise self.refuse(f"no page has the numbers and texts of group {number}")
            if count:
                groups.append(RowGroup(first, count, raws[number], span))
            first += count
        return groups

    def _raw_spans(self, pages: Sequence[Mapping[str, Any]]) -> dict[int, Span]:
        found: dict[int, Span] = {}
        for page in pages:
            ids = page["row_group_ids"]
            ends = [entry["offset"] for entry in ids[1:]] + [page["page_size"]]
            for entry, end in zip(ids, ends):
                if entry["id"] in found or not 0 <= entry["offset"] <= end <= page["page_size"]:
                    raise self.refuse(f"group {entry['id']} does not lie in page {page['page_id']}")
                start = self._start(page)
                found[entry["id"]] = Span(page["page_id"], start, entry["offset"], end - entry["offset"])
        return found

    # ---- rows ----

    def _read(self, start: int, count: int) -> bytes:
        with self._lock:
            self._file.seek(start)
            return read_bytes(self._file, count, self.refuse)

    def _record(self, group: RowGroup, span: Span, inner: int) -> bytes:
        places = self._starts(group, span)
        start, stop = int(places[inner]), int(places[inner + 1])
        return self._read(span.start + start + 8, stop - start - 8)

    def _starts(self, group: RowGroup, span: Span) -> Array:
        """Where each row of a group begins in its page, and where the last one ends."""
        found = self._places.get(span)
        if found is None:
            content, at, starts = self._read(span.start + span.offset, span.size), 0, [0]
            for _ in range(group.count):
                at += 8 + int.from_bytes(content[at : at + 8], "little")
                if at > span.size:
                    raise self.refuse(f"row {group.first + len(starts) - 1} is longer than its page")
                starts.append(at)
            if at != span.size:
                raise self.refuse(f"the rows from {group.first} on end after {at} of {span.size} bytes")
            found = self._places[span] = np.array(starts, np.int64) + span.offset
        return found


def _is_path(name: str) -> bool:
    return name in ("", ".", "..") or "\0" in name or "/" in name or "\\" in name


def _plain(name: str, kind: str, found: Mapping[str, Any], refuse: Any) -> Any:
    """A number or text of a row, which has to be of its column's kind."""
    value = found.get(name)
    if kind == "string":
        legal = isinstance(value, str)
    elif kind.startswith("float"):
        legal, value = isinstance(value, (int, float)), float(value) if isinstance(value, (int, float)) else value
    else:
        bits = int(kind[3:]) - 1
        legal = isinstance(value, int) and -(1 << bits) <= value < 1 << bits
    if not legal:
        raise refuse(f"its {name!r} is {value!r}, and no {kind}")
    return value


def opened(owner: str, names: Any) -> list[PageFile]:
    """The files of these names; one name stands for all files that were written with it.

    Raises:
        FileNotFoundError: a file is missing. DatasetError: one is damaged, or has other columns than the first.
    """
    if isinstance(names, (list, tuple)):
        if not names:
            raise DatasetError(f"{owner}: the list of files is empty")
        files = [PageFile(owner, Path(name)) for name in names]
    else:
        first = PageFile(owner, Path(names))
        here = first.path.name
        # a file that was renamed stands for itself
        others = first.shards if here in first.shards and len(first.shards) > 1 else [here]
        files = [first if name == here else PageFile(owner, first.path.parent / name) for name in others]
    for file in files:
        if file.schema != files[0].schema:
            raise DatasetError(f"{owner}: {file.path.name} has the columns {dict(file.schema)}, the first file "
                               f"{dict(files[0].schema)}")  # fmt: skip
    return files
