"""WAV files: a RIFF file whose chunk "fmt " says what the numbers in its chunk "data" are.

    RIFF size WAVE | fmt  size  format channels rate ... bits | data size samples, channels side by side

Whole numbers of 8 bits (from 0), 16, 24 and 32 bits become float32 in -1..1; numbers of floating point are taken as
they are. Source: "Multimedia Programming Interface and Data Specifications 1.0", IBM and Microsoft 1991.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np

from msnb.base import DatasetError
from msnb.base.files.bounded_reader import Refuse, read_file
from msnb.dataset.pipeline.rows import Array
from msnb.dataset.sources.tables.record_file import refusal

_WHOLE, _FLOAT, _EXTENSIBLE = 1, 3, 0xFFFE


def read_wave(name: str, path: Path) -> tuple[Array, int]:
    """The samples float32[channels, n] and the rate of a file.

    Raises:
        DatasetError: there is none, or it is no WAV file, or damaged.
    """
    refuse = refusal(name, path)
    try:
        content = read_file(path, refuse, 2 << 30)
    except FileNotFoundError:
        raise DatasetError(f"{name}: the sound {str(path)!r} is missing.") from None
    chunks = _chunks(content, refuse)
    if len(chunks.get(b"fmt ", b"")) < 16 or b"data" not in chunks:
        raise refuse("it has no chunk 'fmt ' or no chunk 'data'")
    form = chunks[b"fmt "]
    kind, channels, rate, _, width, bits = struct.unpack("<HHIIHH", form[:16])
    if kind == _EXTENSIBLE and len(form) >= 26:
        (kind,) = struct.unpack("<H", form[24:26])
    if not channels or width != channels * bits // 8:
        raise refuse(f"its header says {channels} channels of {bits} bits in {width} bytes")
    data = chunks[b"data"]
    samples = _samples(data[: len(data) // width * width], kind, bits, refuse).reshape(-1, channels).T
    return np.asarray(samples, order="C"), rate


def _chunks(content: bytes, refuse: Refuse) -> dict[bytes, bytes]:
    if content[:4] != b"RIFF" or content[8:12] != b"WAVE":
        raise refuse("it is no WAV file")
    found, at = {}, 12
    while at + 8 <= len(content):
        kind, (size,) = content[at : at + 4], struct.unpack("<I", content[at + 4 : at + 8])
        if at + 8 + size > len(content):
            raise refuse(f"it was cut short: a chunk of {size} bytes begins at byte {at}")
        found[kind] = content[at + 8 : at + 8 + size]
        at += 8 + size + size % 2
    return found


def _samples(data: bytes, kind: int, bits: int, refuse: Refuse) -> Array:
    if kind == _FLOAT and bits in (32, 64):
        return np.frombuffer(data, f"<f{bits // 8}").astype(np.float32)
    if kind != _WHOLE or bits not in (8, 16, 24, 32):
        raise refuse(f"samples of format {kind} with {bits} bits are not known; save it as PCM of 16 bits")
    if bits == 8:
        return (np.frombuffer(data, np.uint8).astype(np.float32) - 128) / 128
    if bits == 24:  # three bytes become the upper ones of four
        wide = np.zeros((len(data) // 3, 4), np.uint8)
        wide[:, 1:] = np.frombuffer(data, np.uint8).reshape(-1, 3)
        return (wide.view("<i4")[:, 0] / 2.0**31).astype(np.float32)
    return (np.frombuffer(data, f"<i{bits // 8}") / 2.0 ** (bits - 1)).astype(np.float32)
