"""tf.train.Example: a row of named lists, as protobuf.

    Example { 1: Features { 1: entry { 1: name, 2: Feature } ... } }
    Feature { 1: BytesList { 1: bytes ... } | 2: FloatList { 1: floats } | 3: Int64List { 1: varints } }

Reading takes no more memory than a few times the message's size and runs no code.
Source: TensorFlow, example.proto and feature.proto; "Encoding", protobuf.dev.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from msnb.base.files.bounded_reader import Refuse
from msnb.dataset.pipeline.rows import Array

Feature = list[bytes] | Array
Field = tuple[int, int | memoryview]


def decode_example(content: bytes, refuse: Refuse) -> dict[str, Feature]:
    """Name -> list of bytes, float32[n] or int64[n]."""
    found: dict[str, Feature] = {}
    for features in _inside(memoryview(content), 1, refuse):
        for entry in _inside(features, 1, refuse):
            parts = dict(_fields(entry, refuse))
            name, feature = parts.get(1, memoryview(b"")), parts.get(2, memoryview(b""))
            if not isinstance(name, memoryview) or not isinstance(feature, memoryview):
                raise refuse("it is no tf.train.Example: a feature has a number for its name")
            try:
                found[bytes(name).decode()] = _feature(feature, refuse)
            except UnicodeDecodeError:
                raise refuse(f"it is no tf.train.Example: the name {bytes(name)[:40]!r} is no text") from None
    return found


def _feature(content: memoryview, refuse: Refuse) -> Feature:
    values: Feature = []
    for kind, body in _fields(content, refuse):
        if not isinstance(body, memoryview) or kind not in (1, 2, 3):
            raise refuse(f"it is no tf.train.Example: a feature of the kind {kind}")
        fields = [part for number, part in _fields(body, refuse) if number == 1]
        if kind == 1:
            values = [bytes(_checked(part, refuse)) for part in fields]
        elif kind == 2:
            values = _floats([_checked(part, refuse) for part in fields], refuse)
        else:
            values = _integers(fields, refuse)
    return values


def _checked(part: int | memoryview, refuse: Refuse) -> memoryview:
    if not isinstance(part, memoryview):
        raise refuse("it is no tf.train.Example: a number stands where bytes should")
    return part


def _floats(parts: Sequence[memoryview], refuse: Refuse) -> Array:
    joined = b"".join(parts)
    if len(joined) % 4:
        raise refuse(f"it is no tf.train.Example: {len(joined)} bytes are no floats")
    return np.frombuffer(joined, "<f4").astype(np.float32)


def _integers(parts: Sequence[int | memoryview], refuse: Refuse) -> Array:
    numbers: list[int] = []
    for part in parts:
        if isinstance(part, int):
            numbers.append(part)
            continue
        at = 0
        while at < len(part):
            value, at = _varint(part, at, refuse)
            numbers.append(value)
    return np.array(numbers, np.uint64).astype(np.int64)


def _inside(content: memoryview, wanted: int, refuse: Refuse) -> Iterator[memoryview]:
    for number, part in _fields(content, refuse):
        if number == wanted:
            yield _checked(part, refuse)


def _fields(content: memoryview, refuse: Refuse) -> Iterator[Field]:
    at = 0
    while at < len(content):
        tag, at = _varint(content, at, refuse)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(content, at, refuse)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind, 0)
        if kind == 2:
            size, at = _varint(content, at, refuse)
        elif not size:
            raise refuse(f"it is no tf.train.Example: a field of the wire type {kind}")
        if at + size > len(content):
            raise refuse(f"it is no tf.train.Example: a field of {size} bytes leads out of it")
        yield tag >> 3, content[at : at + size]
        at += size


def _varint(content: memoryview, at: int, refuse: Refuse) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(content):
            break
        byte = content[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise refuse("it is no tf.train.Example: a number has no end")
