"""What messages of protobuf are written of: fields of bytes, and numbers."""

from __future__ import annotations

BYTES = 2  # the kind of a field of bytes


def message_field(number: int, content: bytes) -> bytes:
    """A field of bytes of a message."""
    return bytes([number << 3 | BYTES]) + varint(len(content)) + content


def varint(n: int) -> bytes:
    """A number from 0 on, seven bits a byte."""
    out = bytearray()
    while n > 0x7F:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    out.append(n)
    return bytes(out)
