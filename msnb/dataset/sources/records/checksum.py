"""CRC-32C (Castagnoli), as TFRecord files carry it, over whole arrays at a time.

The sum is linear: of two halves, crc(A B) = crc(A) moved over as many zero bytes as B has, plus crc(B). So the sums of
all single bytes are taken from a table, and neighbours are joined until one is left: log2(n) steps of NumPy.
Source: RFC 3720, appendix B.4; TensorFlow, "TFRecord and tf.train.Example" (the mask).
"""

from __future__ import annotations

import functools

import numpy as np

from msnb.dataset.pipeline.rows import Array

_POLYNOMIAL = 0x82F63B78


@functools.cache
def _bytes() -> Array:
    """The sum of each single byte."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


@functools.cache
def _moves(level: int) -> Array:
    """uint32[4,256]: what 2^level zero bytes make of a sum, per byte of it."""
    if level == 0:
        single = np.zeros((4, 256), np.uint32)
        single[0] = _bytes()
        for place in range(1, 4):
            single[place] = np.arange(256, dtype=np.uint32) << np.uint32(8 * (place - 1))
        return single
    half = _moves(level - 1)
    return _moved(
        half, _moved(half, np.arange(256, dtype=np.uint32)[None] << np.arange(0, 32, 8, dtype=np.uint32)[:, None])
    )


def _moved(table: Array, sums: Array) -> Array:
    found: Array = table[0][sums & 255] ^ table[1][sums >> 8 & 255] ^ table[2][sums >> 16 & 255] ^ table[3][sums >> 24]
    return found


def crc32c(content: bytes) -> int:
    """The sum of bytes.

    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    data = np.frombuffer(content, np.uint8)
    count, level = max(len(data), 4), 0
    while 1 << level < count:
        level += 1
    wide = np.zeros(1 << level, np.uint8)  # zeros in front change nothing
    if len(data):
        wide[-len(data) :] = data
    start = 0xFFFFFFFF
    if len(data) >= 4:  # to begin with ones is to turn over the first four bytes
        wide[len(wide) - len(data) :][:4] ^= 255
        start = 0
    sums = _bytes()[wide]
    for step in range(level):
        sums = _moved(_moves(step), sums[0::2]) ^ sums[1::2]
    found = int(sums[0])
    if start:
        for byte in content:  # at most three
            start = int(_bytes()[(start ^ byte) & 255]) ^ start >> 8
        found = start
    return found ^ 0xFFFFFFFF


def masked(content: bytes) -> int:
    """The sum as it stands in a TFRecord file."""
    crc = crc32c(content)
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF
