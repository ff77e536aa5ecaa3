"""MindSpore's checkpoint files: protobuf messages, one for each part of a parameter, and a checksum behind them.

    file      = value*  ["crc_num" + 10 bytes, big-endian: the CRC-32 of all before]
    value     = field 1 { 1: name, 2: tensor }            parts of one parameter follow one another
    tensor    = { 1: a size, once per axis (or packed), 2: "Float32", 3: bytes }      sizes are those of the whole

A scalar has the sizes [0]; a string has the dtype "str" and UTF-32. Reading runs no code of the file and takes no more
memory than the file has bytes.
Source: mindspore/ccsrc/utils/checkpoint.proto
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from msnb.base.files.bounded_reader import Refuse, fits_memory
from msnb.base.files.protobuf_message import BYTES, message_field, varint
from msnb.core import Array

DTYPES: dict[str, Any] = {
    "Bool": np.bool_, "Int8": np.int8, "Int16": np.int16, "Int32": np.int32, "Int64": np.int64,
    "UInt8": np.uint8, "UInt16": np.uint16, "UInt32": np.uint32, "UInt64": np.uint64,
    "Float16": np.float16, "BFloat16": ml_dtypes.bfloat16, "Float32": np.float32, "Float64": np.float64,
    "Complex64": np.complex64, "Complex128": np.complex128,
}  # fmt: skip
_NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}
_TEXT, _MARK, _SLICE = "str", b"crc_num", 512 << 20
_VARINT, _FIXED64, _FIXED32 = 0, 1, 5


# ---- writing ----


def encode(arrays: Mapping[str, Array], texts: Mapping[str, str], refuse: Refuse) -> bytes:
    """The file's content for these arrays and strings, with its checksum.

    Raises:
        What ``refuse`` makes: an array whose dtype such a file does not know.
    """
    parts: list[bytes | memoryview] = []
    for name, array in arrays.items():
        kind = _NAMES.get(array.dtype)
        if kind is None:
            raise refuse(f"{name} has the dtype {array.dtype}, which a file of MindSpore does not know")
        content = np.asarray(array, order="C").reshape(-1).view(np.uint8).data
        for start in range(0, max(len(content), 1), _SLICE):
            parts += _entry(name, array.shape or (0,), kind, content[start : start + _SLICE])
    for name, text in texts.items():
        parts += _entry(name, (0,), _TEXT, memoryview(text.encode("utf-32-le")))
    crc = 0
    for part in parts:
        crc = zlib.crc32(part, crc)
    return b"".join([*parts, _MARK, crc.to_bytes(10, "big")])


def _entry(name: str, shape: tuple[int, ...], kind: str, content: memoryview) -> list[bytes | memoryview]:
    sizes = b"".join(b"\x08" + varint(n) for n in shape)
    tensor = sizes + message_field(2, kind.encode()) + b"\x1a" + varint(len(content))
    tag = message_field(1, name.encode())
    value = tag + b"\x12" + varint(len(tensor) + len(content)) + tensor
    return [b"\x0a" + varint(len(value) + len(content)) + value, content]


# ---- reading ----


@dataclass
class _Tensor:
    """One parameter while its parts are collected."""

    name: str
    shape: tuple[int, ...]
    kind: str
    parts: list[memoryview] = field(default_factory=list)


def is_one(first: bytes, total: int) -> bool:
    """Whether a file of ``total`` bytes that begins with these may be such a checkpoint."""
    if first[8:9] == b"{" and int.from_bytes(first[:8], "little") <= total - 8:
        return False  # the header of a safetensors file
    if first[:1] != b"\x0a":
        return False
    found = _leading_varint(first[1:])
    return found is not None and 0 < found[0] <= total - 1 - found[1] and first[1 + found[1] : 2 + found[1]] == b"\x0a"


def _leading_varint(data: bytes) -> tuple[int, int] | None:
    value = 0
    for i, byte in enumerate(data[:10]):
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value, i + 1
    return None


def has_checksum(content: bytes) -> bool:
    """Whether a checksum stands behind the parameters."""
    return content[-17:-10] == _MARK


def decode(content: bytes, refuse: Refuse) -> tuple[dict[str, Array], dict[str, str]]:
    """Arrays (read-only) and strings of a file, in its order.

    Raises:
        What ``refuse`` makes: the content is not whole, no such file, or was changed after it was written.
    """
    end = len(content)
    if has_checksum(content):
        end -= 17
        if zlib.crc32(memoryview(content)[:end]) != int.from_bytes(content[-10:], "big"):
            raise refuse("its checksum does not match its content: some bytes changed after it was written")
    data = memoryview(content)[:end]
    found: dict[str, _Tensor] = {}
    last = ""
    for number, value in _fields(data, refuse):
        if number != 1 or isinstance(value, int):
            raise refuse(f"it has a field {number} where a parameter should be")
        part = _parameter(value, refuse)
        known = found.setdefault(part.name, part)
        if known is not part:
            if last != part.name or (known.shape, known.kind) != (part.shape, part.kind):
                raise refuse(f"{part.name} stands in it twice")
            known.parts += part.parts
        last = part.name
    arrays = {t.name: _array(t, refuse) for t in found.values() if t.kind != _TEXT}
    return arrays, {t.name: _text(t, refuse) for t in found.values() if t.kind == _TEXT}


def _fields(data: memoryview, refuse: Refuse) -> Iterator[tuple[int, int | memoryview]]:
    """The fields of a message: (number, integer or bytes)."""
    at = 0
    while at < len(data):
        key, at = _number(data, at, refuse)
        number, kind = key >> 3, key & 7
        if kind == _VARINT:
            value, at = _number(data, at, refuse)
            yield number, value
            continue
        if kind == BYTES:
            length, at = _number(data, at, refuse)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise refuse(f"it has a field of the kind {kind} at byte {at}, which protobuf has not")
        if length > len(data) - at:
            raise refuse(f"a field needs {length} bytes and {len(data) - at} are there; it was cut short or changed")
        yield number, data[at : at + length]
        at += length


def _number(data: memoryview, at: int, refuse: Refuse) -> tuple[int, int]:
    value = 0
    for i in range(10):
        if at + i >= len(data):
            break
        byte = data[at + i]
        value |= (byte & 0x7F) << 7 * i
        if byte < 0x80:
            return value & (1 << 64) - 1, at + i + 1
    raise refuse(f"it has no whole number at byte {at}; it was cut short or changed")


def _parameter(data: memoryview, refuse: Refuse) -> _Tensor:
    name, content = b"", None
    for number, value in _fields(data, refuse):
        if isinstance(value, int):
            raise refuse(f"a parameter has a number as its field {number}")
        if number == 1:
            name = bytes(value)
        elif number == 2:
            content = value
        elif number == 3:
            raise refuse("it has a table of keys (a MapParameter), which msnb has not")
    try:
        text = name.decode()
    except UnicodeDecodeError:
        raise refuse(f"the name {name[:40]!r} is no text in UTF-8") from None
    if not text or content is None:
        raise refuse(f"the parameter {text!r} has no {'value' if text else 'name'}")
    return _tensor(text, content, refuse)


def _tensor(name: str, data: memoryview, refuse: Refuse) -> _Tensor:
    shape: list[int] = []
    kind, content = "", memoryview(b"")
    for number, value in _fields(data, refuse):
        if number == 1:
            shape += [value] if isinstance(value, int) else _packed(value, refuse)
        elif isinstance(value, int):
            raise refuse(f"{name} has a number as its field {number}")
        elif number == 2:
            kind = bytes(value).decode("ascii", "replace")
        elif number == 3:
            content = value
    if kind != _TEXT and kind not in DTYPES:
        raise refuse(
            f"the tensor {name} has the dtype {kind[:40]!r}, which no tensor of msnb has",
            hint=f"legal: {', '.join(DTYPES)}.",
        )
    if not fits_memory(tuple(shape), 1 if kind == _TEXT else np.dtype(DTYPES[kind]).itemsize):
        raise refuse(f"no memory can hold the shape {shape[:40]} of {name}")
    return _Tensor(name, tuple(shape), kind, [content])


def _packed(data: memoryview, refuse: Refuse) -> list[int]:
    sizes, at = [], 0
    while at < len(data):
        size, at = _number(data, at, refuse)
        sizes.append(size)
    return sizes


def _array(tensor: _Tensor, refuse: Refuse) -> Array:
    dtype = np.dtype(DTYPES[tensor.kind])
    content = tensor.parts[0] if len(tensor.parts) == 1 else b"".join(tensor.parts)
    shape = () if tensor.shape == (0,) and len(content) == dtype.itemsize else tensor.shape
    need = dtype.itemsize * int(np.prod(shape, dtype=object))
    if len(content) != need:
        raise refuse(
            f"{tensor.name} is {tensor.kind} {list(shape)}, which takes {need} bytes, and it has {len(content)}"
        )
    if dtype == np.bool_ and need and int(np.frombuffer(content, np.uint8).max()) > 1:
        raise refuse(f"{tensor.name} is Bool and has bytes that are neither 0 nor 1")
    return np.frombuffer(content, dtype).reshape(shape) if need else np.zeros(shape, dtype)


def _text(tensor: _Tensor, refuse: Refuse) -> str:
    try:
        return b"".join(tensor.parts).decode("utf-32-le")
    except UnicodeDecodeError:
        raise refuse(f"the string {tensor.name} is no text in UTF-32") from None
