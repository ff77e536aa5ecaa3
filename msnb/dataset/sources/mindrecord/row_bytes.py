"""A row of a MindRecord file as bytes: numbers and texts in one part, bytes and arrays in another.

    {"label": 3, "name": "a"}           82 a5 'label' 03 a4 'name' a1 'a'     MessagePack, keys in alphabetical order
    {"image": b"xyz", "box": [1, 300]}  00..03 'xyz' 00..07 ...               big-endian length before each field;
                                                                              a field that is alone has none
    int arrays                          count, two bits per number, numbers of 1, 2, 4 or 8 bytes

Source: "MessagePack specification"; the files of MindSpore 2.10.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.base.files.bounded_reader import Refuse
from msnb.dataset.pipeline.rows import Array

Schema = Mapping[str, Mapping[str, Any]]
PLAIN = ("int32", "int64", "float32", "float64", "string")
NO_FIELD = {"id": 0}  # what stands where a schema has bytes and arrays only
NO_BLOB = b"\0\0\0\0"


def blob_fields(schema: Schema) -> list[str]:
    """The fields of bytes and arrays, in the order of the file."""
    return sorted(name for name, entry in schema.items() if "shape" in entry or entry["type"] == "bytes")


# ---- writing ----


def checked_value(name: str, entry: Mapping[str, Any], value: Any) -> Any:
    """A value as its field holds it: int, float, str, bytes or an array.

    Raises:
        ArgumentError: it is of another kind, or does not fit the shape or the range.
    """
    kind = entry["type"]
    wrong = ArgumentError(f"FileWriter: column {name!r} takes {_described(entry)}, got {_shown(value)}")
    if kind in ("bytes", "string"):
        return _checked_text(kind, value, wrong)
    try:
        array = np.asarray(value)
        numbers = array.astype(kind)
    except (TypeError, ValueError, OverflowError):
        raise wrong from None
    legal = "biu" if kind.startswith("int") else "biuf"
    if array.dtype.kind not in legal or (legal == "biu" and (array != numbers).any()):
        raise wrong
    if "shape" not in entry:
        if array.ndim:
            raise ArgumentError(str(wrong), hint=f'an array needs a shape: {{"type": "{kind}", "shape": [-1]}}')
        return float(value) if kind.startswith("float") else numbers.item()
    try:
        return numbers.reshape(entry["shape"])
    except ValueError:
        raise wrong from None


def _checked_text(kind: str, value: Any, wrong: ArgumentError) -> Any:
    if kind == "bytes" and isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if kind == "bytes" and isinstance(value, np.ndarray):
        return value.tobytes()
    if kind == "string" and (isinstance(value, str) or (isinstance(value, np.ndarray) and value.dtype.kind == "U")):
        return str(value)
    raise wrong


def _described(entry: Mapping[str, Any]) -> str:
    return f"{entry['type']}{entry['shape']}" if "shape" in entry else str(entry["type"])


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return f"{value.dtype}{list(value.shape)}"
    return f"{type(value).__name__} {str(value)[:40]!r}"


def packed_map(values: Mapping[str, Any]) -> bytes:
    """Numbers and texts by name, as MessagePack."""
    parts = [_head(len(values), 0x80, 15, (0xDE, 0xDF), (">H", ">I"))]
    for name in sorted(values):
        parts += [_packed_text(name), _packed(values[name])]
    return b"".join(parts)


def _head(count: int, fixed: int, most: int, codes: Sequence[int], kinds: Sequence[str]) -> bytes:
    if count <= most:
        return bytes([fixed | count])
    for code, kind in zip(codes, kinds):
        if count < 1 << 8 * struct.calcsize(kind):
            return bytes([code]) + struct.pack(kind, count)
    raise AttributeValueError(f"FileWriter: a text of {count} bytes is too long")


def _packed_text(value: str) -> bytes:
    content = value.encode()
    return _head(len(content), 0xA0, 31, (0xD9, 0xDA, 0xDB), (">B", ">H", ">I")) + content


def _packed(value: Any) -> bytes:
    if isinstance(value, str):
        return _packed_text(value)
    if isinstance(value, float):
        with np.errstate(over="ignore"):
            short = float(np.float32(value)) == value and abs(value) != float("inf")
        return struct.pack(">Bf", 0xCA, value) if short else struct.pack(">Bd", 0xCB, value)
    if value >= 0:
        return _head(value, 0, 127, (0xCC, 0xCD, 0xCE, 0xCF), (">B", ">H", ">I", ">Q"))
    if value >= -32:
        return struct.pack(">b", value)
    bits = next(b for b in (8, 16, 32, 64) if value >= -(1 << (b - 1)))
    code, kind = {8: (0xD0, "b"), 16: (0xD1, "h"), 32: (0xD2, "i"), 64: (0xD3, "q")}[bits]
    return struct.pack(f">B{kind}", code, value)


def packed_blob(values: Sequence[Any]) -> bytes:
    """Bytes and arrays, one after the other."""
    if not values:
        return NO_BLOB
    parts = [_packed_field(value) for value in values]
    return parts[0] if len(parts) == 1 else b"".join(struct.pack(">Q", len(part)) + part for part in parts)


def _packed_field(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return _packed_ints(value) if value.dtype.kind == "i" else bytes(value.tobytes())


def _packed_ints(array: Array) -> bytes:
    flat = array.ravel().astype("<i8")
    sizes = sum((flat < -(1 << b)) | (flat >= 1 << b) for b in (7, 15, 31)) + np.zeros(len(flat), np.int64)
    bits = np.zeros((len(flat) + 3) // 4 * 4, np.int64)
    bits[: len(flat)] = sizes
    table = (bits.reshape(-1, 4) << np.array([6, 4, 2, 0])).sum(1).astype(np.uint8)
    content: Array = flat.view(np.uint8).reshape(-1, 8)[np.arange(8) < (1 << sizes)[:, None]]
    return b"".join((struct.pack(">I", len(flat)), table.tobytes(), content.tobytes()))


# ---- reading ----


def unpacked_map(content: bytes, refuse: Refuse) -> dict[str, Any]:
    """Numbers and texts by name; other kinds of MessagePack stand in no MindRecord file and are refused."""
    try:
        count, at = _count_of(content, 0, 0x80, 15, {0xDE: ">H", 0xDF: ">I"})
        if count > len(content) // 2:
            raise ValueError("more fields than bytes")
        values: dict[str, Any] = {}
        for _ in range(count):
            name, at = _unpacked(content, at)
            if not isinstance(name, str):
                raise ValueError("a name that is no text")
            values[name], at = _unpacked(content, at)
    except (ValueError, IndexError, struct.error) as error:
        raise refuse(f"its numbers and texts cannot be read: {error}") from None
    if at != len(content):
        raise refuse(f"its numbers and texts end after {at} of {len(content)} bytes")
    return values


def _count_of(content: bytes, at: int, fixed: int, most: int, kinds: Mapping[int, str]) -> tuple[int, int]:
    code = content[at]
    if fixed <= code <= fixed + most:
        return code - fixed, at + 1
    if code not in kinds:
        raise ValueError(f"byte {at} is {code:#04x}")
    kind = kinds[code]
    return int(struct.unpack_from(kind, content, at + 1)[0]), at + 1 + struct.calcsize(kind)


_NUMBERS = {0xCA: ">f", 0xCB: ">d", 0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
            0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q"}  # fmt: skip
_TEXTS = {0xD9: ">B", 0xDA: ">H", 0xDB: ">I"}


def _unpacked(content: bytes, at: int) -> tuple[Any, int]:
    code = content[at]
    if code < 0x80 or code >= 0xE0:
        return code - (256 if code >= 0xE0 else 0), at + 1
    if code in _NUMBERS:
        kind = _NUMBERS[code]
        return struct.unpack_from(kind, content, at + 1)[0], at + 1 + struct.calcsize(kind)
    size, start = _count_of(content, at, 0xA0, 31, _TEXTS)
    if start + size > len(content):
        raise ValueError("a text is longer than the row")
    return content[start : start + size].decode(), start + size


def unpacked_blob(content: bytes, fields: Sequence[str], schema: Schema, refuse: Refuse) -> dict[str, Any]:
    """Bytes (as they are) and arrays (of their dtype and shape) by name."""
    if not fields:
        return {}
    parts, at = [content], len(content)
    if len(fields) > 1:
        parts, at = [], 0
        for name in fields:
            size = int.from_bytes(content[at : at + 8], "big")
            if at + 8 + size > len(content):
                raise refuse(f"the column {name!r} is longer than the row")
            parts.append(content[at + 8 : at + 8 + size])
            at += 8 + size
    if at != len(content):
        raise refuse(f"its bytes and arrays end after {at} of {len(content)} bytes")
    return {name: _field(part, name, schema[name], refuse) for name, part in zip(fields, parts)}


def _field(part: bytes, name: str, entry: Mapping[str, Any], refuse: Refuse) -> Any:
    kind = entry["type"]
    if kind == "bytes":
        return part
    try:
        flat = (
            _unpacked_ints(part).astype(kind)
            if kind.startswith("int")
            else np.frombuffer(part, f"<{kind[0]}{int(kind[-2:]) // 8}")
        )
        return flat.reshape(entry["shape"])
    except ValueError as error:
        raise refuse(f"the column {name!r} does not fit {_described(entry)}: {error}") from None


def _unpacked_ints(part: bytes) -> Array:
    content = np.frombuffer(part, np.uint8)
    count = int.from_bytes(part[:4], "big")
    body = 4 + (count + 3) // 4
    if len(part) < body:
        raise ValueError(f"{count} numbers in {len(part)} bytes")
    bits = (content[4:body, None] >> np.array([6, 4, 2, 0], np.uint8)) & 3
    sizes = 1 << bits.ravel()[:count].astype(np.int64)
    ends = np.cumsum(sizes) + body
    if (int(ends[-1]) if count else body) != len(part):
        raise ValueError(f"{count} numbers in {len(part)} bytes")
    found = np.zeros(count, np.int64)
    for size in (1, 2, 4, 8):
        mine = np.flatnonzero(sizes == size)
        places = (ends[mine] - size)[:, None] + np.arange(size)
        found[mine] = np.asarray(content[places], order="C").view(f"<i{size}").ravel()
    return found
