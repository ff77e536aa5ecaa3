"""Event files: what MindSpore's SummaryRecord writes, encoded without a protobuf package.

    file     frame*                     frame    u64 length | u32 sum of it | message | u32 sum of the message
    message  wall_time = 1, step = 2, version = 3, summary = 5 {value = 1 {tag = 1, scalar_value = 3, image = 4,
             tensor = 8, histogram = 9}};  in a lineage file train_lineage = 6, evaluation_lineage = 7, user_info = 10

A scalar stands in field 2 too, where TensorBoard looks for it; images lie where both look. A frame is written whole, in
one call: a training that is killed loses the frames that it did not write.
Source: the descriptors that MindSpore 2.10 brings (summary.proto, lineage.proto); TensorFlow, event.proto
"""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, events
from msnb.base.files.protobuf_message import message_field, varint
from msnb.core import Array
from msnb.dataset.sources.records.checksum import masked

_DTYPES = {
    "bool": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint8": 6, "uint16": 7, "uint32": 8, "uint64": 9,
    "float16": 10, "float32": 11, "float64": 12,
}  # fmt: skip
_WIDTH = 8  # images side by side


class EventFile:
    """A file of frames.

    Args:
        path: where it is made at the first message.
        most: bytes that it may have, or None.
        strict: raise RuntimeWarning when they are used up; else the rest is left out, which is said once.
        version: what its first message says.
    """

    def __init__(self, path: str, most: int | None, strict: bool, version: str = "") -> None:
        self.path = path
        self._left, self._strict, self._version, self._full = most, strict, version, False
        self._file: Any = None

    def write(self, message: bytes) -> None:
        """Add a message."""
        if self._file is None:
            self._file = open(self.path, "wb", buffering=0)  # noqa: SIM115  # closed by close()
            if self._version:
                self.write(_double(1, time.time()) + message_field(3, self._version.encode()))
        length = struct.pack("<Q", len(message))
        frame = length + struct.pack("<I", masked(length)) + message + struct.pack("<I", masked(message))
        if self._full or (self._left is not None and len(frame) > self._left):
            self._stop(len(frame))
            return
        if self._left is not None:
            self._left -= len(frame)
        self._file.write(frame)

    def _stop(self, size: int) -> None:
        self._full = True
        told = f"max_file_size is reached: {self.path} has no room for {size} bytes more, nothing else is written to it"
        if self._strict:
            raise RuntimeWarning(told)
        events.notice(told + ".", f"full {self.path}")

    def flush(self) -> None:
        """See that what was written is on the disk."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close it."""
        if self._file is not None:
            self._file.close()


def _double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def _float(number: int, value: float) -> bytes:
    with np.errstate(over="ignore"):
        return varint(number << 3 | 5) + np.float32(value).tobytes()


def _int(number: int, value: int) -> bytes:
    return varint(number << 3) + varint(int(value) & (1 << 64) - 1)


def summary_message(step: int, values: Iterable[bytes]) -> bytes:
    """A message with the values of a step."""
    summary = b"".join(message_field(1, value) for value in values)
    return _double(1, time.time()) + _int(2, step) + message_field(5, summary)


def scalar(tag: str, value: Array) -> bytes:
    """One number; of several the first."""
    number = float(value.flat[0])
    return message_field(1, tag.encode()) + _float(2, number) + _float(3, number)


def tensor(tag: str, value: Array) -> bytes:
    """All numbers of a tensor."""
    kind = _DTYPES.get(value.dtype.name)
    if kind is None:
        raise AttributeValueError(f"a summary cannot hold a tensor of {value.dtype.name}.")
    numbers = np.asarray(value, np.float32, order="C").tobytes()
    dims = b"".join(_int(1, size) for size in value.shape)
    return message_field(1, tag.encode()) + message_field(8, dims + _int(2, kind) + message_field(3, numbers))


def histogram(tag: str, value: Array) -> bytes:
    """How often values lie in each of up to 90 buckets from the least to the largest; NaN and infinities are counted
    apart."""
    wide = value.astype(np.float64).ravel()
    good = wide[np.isfinite(wide)]
    counts = (np.isnan(wide), np.isposinf(wide), np.isneginf(wide))
    parts = [b"".join(_int(number, int(found.sum())) for number, found in zip((2, 3, 4), counts)), _int(8, wide.size)]
    if good.size:
        low, high = float(good.min()), float(good.max())
        parts = [*parts, _double(5, high), _double(6, low), _double(7, float(good.sum()))]
        ends = (low, high) if low < high else (low - 0.5, high + 0.5)
        found, edges = np.histogram(good, bins=_buckets(good.size), range=ends)
        buckets = (_double(1, a) + _double(2, b - a) + _int(3, n) for n, a, b in zip(found, edges, edges[1:]))
        parts += [message_field(1, bucket) for bucket in buckets]
    return message_field(1, tag.encode()) + message_field(9, b"".join(parts))


def _buckets(count: int) -> int:
    if count <= 10:
        return 2 if count <= 5 else 3
    return min(count // 10 + 1, 90)


def image(tag: str, value: Array) -> bytes:
    """A batch of images [n, 1 or 3, height, width] side by side, eight in a row, as PNG: numbers from 0 to 1 or of
    uint8 as they are, others stretched between their least and largest."""
    if value.dtype != np.uint8:
        wide = value.astype(np.float32)
        low, high = float(wide.min()), float(wide.max())
        scale, shift = (255.0, 0.0) if low >= 0 and high <= 1 else (255 / (high - low + 1) if high > low else 1.0, low)
        value = ((wide - shift) * scale).astype(np.uint8)
    value = np.repeat(value, 3, 1) if value.shape[1] == 1 else value
    n, _, height, width = value.shape
    columns = min(n, _WIDTH)
    rows = -(-n // columns)
    canvas = np.zeros((rows, columns, 3, height, width), np.uint8)
    canvas.reshape(rows * columns, 3, height, width)[:n] = value
    pixels = canvas.transpose(0, 3, 1, 4, 2).reshape(rows * height, columns * width, 3)
    sizes = _int(1, pixels.shape[0]) + _int(2, pixels.shape[1]) + _int(3, 3)
    return message_field(1, tag.encode()) + message_field(4, sizes + message_field(4, _png(pixels)))


def _png(pixels: Array) -> bytes:
    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width = pixels.shape[:2]
    lines = np.zeros((height, 1 + width * 3), np.uint8)
    lines[:, 1:] = pixels.reshape(height, -1)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = chunk(b"IDAT", zlib.compress(lines.tobytes()))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + data + chunk(b"IEND", b"")


# ---- lineage: from what a training was made ----

# the parts of a lineage: name -> (path of field numbers, kind)
_TRAIN = {
    "optimizer": ((1, 1), "text"), "learning_rate": ((1, 2), "float"), "loss_function": ((1, 3), "text"),
    "epoch": ((1, 4), "int"), "parallel_mode": ((1, 5), "text"), "device_num": ((1, 6), "int"),
    "batch_size": ((1, 8), "int"), "train_dataset_path": ((2, 1), "text"), "train_dataset_size": ((2, 2), "int"),
    "network": ((3, 1), "text"), "loss": ((3, 2), "float"), "model_path": ((4, 3), "text"),
    "model_size": ((4, 4), "int"),
}  # fmt: skip
_EVAL = {
    "metric": ((2,), "text"), "valid_dataset_path": ((3, 1), "text"), "valid_dataset_size": ((3, 2), "int"),
}  # fmt: skip


def lineage_message(plugin: str, value: Any) -> bytes:
    """A message of a lineage file from a dict of facts, or from a message that has SerializeToString.

    Raises:
        ValueError: a fact that lineages do not have.
    """
    number = {"train_lineage": 6, "eval_lineage": 7, "dataset_graph": 9, "custom_lineage_data": 10}[plugin]
    content: Any = value.SerializeToString() if hasattr(value, "SerializeToString") else value
    if isinstance(content, Mapping):
        content = _user_facts(content) if number == 10 else _facts(plugin, content, _TRAIN if number == 6 else _EVAL)
    if not isinstance(content, bytes):
        raise AttributeValueError(f"{plugin} takes a dict or a message, not {type(value).__name__}.")
    return _double(1, time.time()) + message_field(number, content)


def _plain(number: int, kind: str, value: Any) -> bytes:
    if kind == "text":
        return message_field(number, str(value).encode())
    return _int(number, value) if kind == "int" else _float(number, value)


def _facts(plugin: str, facts: Mapping[str, Any], known: Mapping[str, Any]) -> bytes:
    groups: dict[int, bytes] = {}
    alone = b""
    for name, value in facts.items():
        if name not in known:
            raise AttributeValueError(f"{plugin} has no {name!r}; it has {', '.join(known)}.")
        path, kind = known[name]
        if len(path) == 1:
            alone += _plain(path[0], kind, value)
        else:
            groups[path[0]] = groups.get(path[0], b"") + _plain(path[1], kind, value)
    return alone + b"".join(message_field(number, content) for number, content in groups.items())


def _user_facts(facts: Mapping[str, Any]) -> bytes:
    found = b""
    for name, value in facts.items():
        key = message_field(1, name.encode())
        if isinstance(value, int):
            found += message_field(3, key + _int(2, value))
        elif isinstance(value, float):
            found += message_field(5, key + _double(2, value))
        else:
            found += message_field(4, key + message_field(2, str(value).encode()))
    return message_field(1, found)
