"""Writes the message that ``example_message`` reads."""

from __future__ import annotations

from collections.abc import Mapping

from msnb.base.files.protobuf_message import message_field, varint
from msnb.dataset.sources.records.example_message import Feature


def encode_example(row: Mapping[str, Feature]) -> bytes:
    """The message of a row; names in alphabetical order."""
    entries = b""
    for name in sorted(row):
        value = row[name]
        if isinstance(value, list):
            feature = message_field(1, b"".join(message_field(1, part) for part in value))
        elif value.dtype.kind == "f":
            feature = message_field(2, message_field(1, value.astype("<f4").tobytes()))
        else:
            feature = message_field(
                3, message_field(1, b"".join(varint(int(v) & 0xFFFFFFFFFFFFFFFF) for v in value.ravel()))
            )
        entries += message_field(1, message_field(1, name.encode()) + message_field(2, feature))
    return message_field(1, entries)
