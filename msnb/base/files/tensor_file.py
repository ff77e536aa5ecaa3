"""Named arrays as bytes, in the safetensors format, and back: every size in the header is checked against the file.

    8 bytes: length n | n bytes: JSON header {name: dtype, shape, offsets} + __metadata__ | the arrays' bytes

Reading runs no code of the file, and takes no more memory than the file has bytes: the header is read and checked
before anything else is, and the arrays are views of the bytes. The metadata carry a CRC-32 of everything that matters
(names, dtypes, shapes, bytes, the other metadata), so that a flipped bit anywhere is found. Files of other programs
have none and are read with the format's own checks. Complex arrays are stored as pairs of floats, with a note.
Source: https://github.com/huggingface/safetensors (format)
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from msnb.base.files.bounded_reader import MOST_JSON, Refuse, fits_memory, open_file, read_bytes, read_json, size_of
from msnb.base.files.json_schema import INDEX, TEXT, FixedRow, Kind, Record, Rows, Table

Array = NDArray[Any]
FORMAT, CRC, COMPLEX = "msnb", "msnb.crc32", "msnb.complex"
DTYPES: dict[str, Any] = {
    "BOOL": np.bool_, "I8": np.int8, "I16": np.int16, "I32": np.int32, "I64": np.int64,
    "U8": np.uint8, "U16": np.uint16, "U32": np.uint32, "U64": np.uint64,
    "F16": np.float16, "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64, "C64": np.complex64,
}  # fmt: skip
_METADATA = "__metadata__"
_ENTRY = Record({"dtype": TEXT, "shape": Rows(INDEX), "data_offsets": FixedRow(INDEX, INDEX)})


class _Header(Table):
    """A table of tensors, with a table of strings among them."""

    def inside(self, value: Any) -> Iterator[tuple[Kind, Any, str]]:
        for key, part in value.items():
            yield (_NOTES if key == _METADATA else _ENTRY), part, f":the entry of {key} in its header"


_NOTES = Table(TEXT, "a table of strings")
_HEADER = _Header(_ENTRY, "a table of tensors")


@dataclass(frozen=True)
class Header:
    """What a file says of itself, checked: where which array lies in ``size`` bytes of data."""

    entries: list[tuple[str, np.dtype[Any], tuple[int, ...], int]]
    metadata: dict[str, str]
    size: int


# ---- writing ----


def encode(arrays: Mapping[str, Array], metadata: Mapping[str, str], refuse: Refuse) -> bytes:
    """The file's content for these arrays and strings.

    Raises:
        What ``refuse`` makes: names and notes are longer than a header that is read again.
    """
    from safetensors.numpy import save  # loaded by those who save

    plain = {name: _as_floats(a) for name, a in arrays.items()}
    pairs = [name for name, a in arrays.items() if a.dtype.kind == "c"]
    notes = {**metadata, "format": FORMAT} | ({COMPLEX: json.dumps(pairs)} if pairs else {})
    notes[CRC] = _checksum(plain, notes)
    content = save(plain, metadata=notes)
    length = int.from_bytes(content[:8], "little")
    if length > MOST_JSON:
        raise refuse(f"its names and notes need {length} bytes; a header has at most {MOST_JSON}")
    return content


def _as_floats(array: Array) -> Array:
    array = np.asarray(array, order="C")
    if array.dtype.kind != "c":
        return array
    half = np.float32 if array.dtype.itemsize == 8 else np.float64
    return array.reshape(*array.shape, 1).view(half)


def _checksum(arrays: Mapping[str, Array], metadata: Mapping[str, str]) -> str:
    crc = zlib.crc32(json.dumps(sorted(metadata.items())).encode())
    for name in sorted(arrays):
        a = np.asarray(arrays[name], order="C")
        crc = zlib.crc32(json.dumps([name, a.dtype.name, arrays[name].shape]).encode(), crc)
        crc = zlib.crc32(a.reshape(-1).view(np.uint8).data, crc)
    return f"{crc:08x}"


# ---- reading ----


def decode(content: bytes, refuse: Refuse) -> tuple[dict[str, Array], dict[str, str]]:
    """Arrays (read-only views of ``content``) and strings of a file.

    Raises:
        What ``refuse`` makes: the content is not whole, not safetensors, or was changed after it was written.
    """
    start = 8 + _length(content[:8], len(content), refuse)
    header = read_header(content[8:start], len(content) - start, refuse)
    return _checked(header, memoryview(content)[start:], refuse)


def read(path: str | os.PathLike[str], refuse: Refuse) -> tuple[dict[str, Array], dict[str, str]]:
    """Arrays and strings of a file; what does not fit its header is not read at all.

    Raises:
        FileNotFoundError: there is none. Else as ``decode``.
    """
    with open_file(path, refuse) as file:
        total = size_of(file)
        length = _length(file.read(8), total, refuse)
        header = read_header(read_bytes(file, length, refuse), total - 8 - length, refuse)
        return _checked(header, memoryview(read_bytes(file, header.size, refuse)), refuse)


def _length(first: bytes, total: int, refuse: Refuse) -> int:
    if len(first) < 8:
        raise refuse(f"it has only {len(first)} bytes, not even a header; it was probably cut short")
    length = int.from_bytes(first, "little")
    if length > total - 8:
        raise refuse(f"its header needs {length} bytes and {total - 8} are there; it was cut short or changed")
    if length > MOST_JSON:
        raise refuse(f"its header has {length} bytes; at most {MOST_JSON} are read")
    return length


def read_header(text: bytes, size: int, refuse: Refuse) -> Header:
    """The header of a file with ``size`` bytes of data.

    Raises:
        What ``refuse`` makes: it is none, or its arrays do not fill these bytes, one behind the other.
    """
    page = read_json(text, refuse, _HEADER, "its header")
    notes = page.pop(_METADATA, {})
    entries: list[tuple[str, np.dtype[Any], tuple[int, ...], int]] = []
    end = 0
    for name, entry in sorted(page.items(), key=lambda item: tuple(item[1]["data_offsets"])):
        dtype, shape = _dtype(name, entry["dtype"], refuse), tuple(entry["shape"])
        first, last = entry["data_offsets"]
        if not fits_memory(shape, dtype.itemsize):
            raise refuse(f"no memory can hold the shape {list(shape)} of {name}")
        need_bytes = dtype.itemsize * int(np.prod(shape, dtype=object))
        if first != end or last - first != need_bytes or last > size:
            raise refuse(
                f"the sizes in its header do not fit its {size} bytes of data: {name} is {entry['dtype']} "
                f"{list(shape)}, which takes the bytes {end} to {end + need_bytes}, and not {first} to {last}"
            )
        entries.append((name, dtype, shape, first))
        end = last
    if end != size:
        raise refuse(f"the sizes in its header do not fit its {size} bytes of data: its arrays end at {end}")
    return Header(entries, dict(notes), size)


def _dtype(name: str, stored: str, refuse: Refuse) -> np.dtype[Any]:
    if stored not in DTYPES:
        raise refuse(
            f"the tensor {name} in the checkpoint has the dtype {stored}, which no tensor of msnb has",
            hint=f"legal: {', '.join(DTYPES)}.",
        )
    found: np.dtype[Any] = np.dtype(DTYPES[stored])
    return found


def _checked(header: Header, data: memoryview, refuse: Refuse) -> tuple[dict[str, Array], dict[str, str]]:
    arrays = {name: _array(data, dtype, shape, start) for name, dtype, shape, start in header.entries}
    metadata = dict(header.metadata)
    if (metadata.get("format") == FORMAT or CRC in metadata) and metadata.pop(CRC, None) != _checksum(arrays, metadata):
        raise refuse("its checksum does not match its content: some bytes changed after it was written")
    for name, array in arrays.items():
        if array.dtype == np.bool_ and array.size and int(array.view(np.uint8).max()) > 1:
            raise refuse(f"{name} is BOOL and has bytes that are neither 0 nor 1")
    for name in read_json(metadata.pop(COMPLEX, "[]"), refuse, Rows(TEXT), f"the note {COMPLEX}"):
        array = arrays.get(name, np.zeros(0))
        if array.dtype not in (np.float32, np.float64) or array.shape[-1:] != (2,):
            raise refuse(f"the note {COMPLEX} says that {name} holds pairs of floats, which it does not")
        arrays[name] = _as_complex(array)
    metadata.pop("format", None)
    return arrays, metadata


def _array(data: memoryview, dtype: np.dtype[Any], shape: tuple[int, ...], start: int) -> Array:
    count = int(np.prod(shape, dtype=object))
    return np.frombuffer(data, dtype, count, start).reshape(shape) if count else np.zeros(shape, dtype)


def _as_complex(array: Array) -> Array:
    whole = np.complex64 if array.dtype.itemsize == 4 else np.complex128
    return array.view(whole).reshape(array.shape[:-1])
