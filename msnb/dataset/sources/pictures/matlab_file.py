"""Arrays of numbers in MATLAB's files of version 5, the kind in which some data sets are published.

    128 bytes of text, version and order of bytes, then elements    type, size, content   (up to 4 bytes: in one word)
    element 15    packed by zlib: one element              element 14    a matrix: class, sizes, name, numbers

`read_matlab` reads full arrays of real numbers and passes over other elements; `read_structure` reads structures, cells
and sparse arrays too. Functions and objects never become anything.
Source: "MAT-File Format", The MathWorks.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base.files.bounded_reader import Refuse, need_room, read_file, room
from msnb.dataset.pipeline.rows import Array
from msnb.dataset.sources.tables.record_file import refusal

_STORED = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
_MATRIX, _PACKED = 14, 15
Element = tuple[int, memoryview]


def _matrices(path: Path, refuse: Refuse) -> Iterator[tuple[Any, str, int]]:
    """(bytes, order of bytes, size of the file) for each matrix of a file, packed ones unpacked."""
    content = memoryview(read_file(path, refuse))
    if len(content) < 128 or bytes(content[126:128]) not in (b"IM", b"MI"):
        raise refuse("it is no MATLAB file of version 5", hint="files of version 7.3 are HDF5: save them with -v7")
    order = "<" if bytes(content[126:128]) == b"IM" else ">"
    left = room(len(content))
    for kind, body in _elements(content[128:], order, refuse):
        if kind == _PACKED:
            body = _unpacked(body, left, len(content), refuse)
            left -= len(body)
            kind, body = next(_elements(body, order, refuse), (0, body))
        if kind == _MATRIX:
            yield body, order, len(content)


def read_matlab(name: str, path: Path, wanted: tuple[str, ...]) -> dict[str, Array]:
    """The arrays of these names.

    Args:
        name: of the data set, for messages. path: the file. wanted: names of arrays.

    Raises:
        DatasetError: no such file, damaged, or an array is missing.
    """
    refuse = refusal(name, path)
    found: dict[str, Array] = {}
    for body, order, _ in _matrices(path, refuse):
        matrix = _matrix(body, order, wanted, refuse)
        if matrix is not None:
            found[matrix[0]] = matrix[1]
    missing = [w for w in wanted if w not in found]
    if missing:
        raise refuse(f"it has no array of numbers {missing[0]!r}")
    return found


def _elements(content: memoryview, order: str, refuse: Refuse) -> Iterator[Element]:
    at = 0
    while at + 8 <= len(content):
        first, size = (int(n) for n in np.frombuffer(content[at : at + 8], f"{order}u4"))
        if first >> 16:  # a small element: size and type in one word, content in the other
            kind, size, start, at = first & 0xFFFF, first >> 16, at + 4, at + 8
        else:
            kind, start = first, at + 8
            at = start + size + (-size % 8 if kind != _PACKED else 0)
        if start + size > len(content) or (first >> 16 and size > 4):
            raise refuse("it was cut short, or an element is longer than the file")
        yield kind, content[start : start + size]


def _unpacked(body: memoryview, left: int, packed: int, refuse: Refuse) -> memoryview:
    try:
        machine = zlib.decompressobj()
        plain = machine.decompress(body, max(left, 1))
    except zlib.error as error:
        raise refuse(f"a part of it is no packed data: {error}") from None
    if machine.unconsumed_tail:
        need_room(packed, room(packed) + 1, refuse)
    return memoryview(plain)


def _matrix(body: memoryview, order: str, wanted: tuple[str, ...], refuse: Refuse) -> tuple[str, Array] | None:
    """The name and numbers of a matrix that is wanted, or None."""
    parts = _elements(body, order, refuse)
    try:
        flags, sizes, title, real = (next(parts) for _ in range(4))
    except StopIteration:
        return None
    except RuntimeError:  # a generator that ends inside another one
        return None
    called = bytes(title[1]).decode("latin-1")
    kind = int(np.frombuffer(flags[1][:4], f"{order}u4")[0]) if len(flags[1]) >= 4 else 0
    if called not in wanted:
        return None
    if kind & 0xFF not in _CLASSES or kind & 0x0800 or real[0] not in _STORED:
        raise refuse(f"{called!r} is no full array of real numbers")
    shape = tuple(int(n) for n in np.frombuffer(sizes[1][: len(sizes[1]) // 4 * 4], f"{order}i4"))
    stored = np.dtype(f"{order}{_STORED[real[0]]}")
    if len(shape) > 32 or any(n < 0 for n in shape) or math.prod(shape) * stored.itemsize != len(real[1]):
        raise refuse(f"the sizes {shape} of {called!r} do not fit its {len(real[1])} bytes")
    numbers = np.frombuffer(real[1], stored).reshape(shape, order="F")
    return called, numbers.astype(_CLASSES[kind & 0xFF])


# ---- structures, cells and sparse arrays ----

_CELL, _STRUCT, _SPARSE, _DEEPEST = 1, 2, 5, 8


def read_structure(name: str, path: Path, wanted: str) -> dict[str, Any]:
    """The fields of a structure of one element: arrays, lists for cells, dicts for structures; sparse arrays filled up.

    Args:
        name: of the data set, for messages. path: the file. wanted: the structure's name.

    Raises:
        DatasetError: no such file, damaged, or the structure is missing.
    """
    refuse = refusal(name, path)
    for body, order, size in _matrices(path, refuse):
        called, value = _Reader(order, refuse, room(size)).value(body)
        if called == wanted and isinstance(value, dict):
            return value
    raise refuse(f"it has no structure {wanted!r}")


class _Reader:
    """Reads nested matrices; together they get no more room than the file may ask for."""

    def __init__(self, order: str, refuse: Refuse, left: int) -> None:
        self.order, self.refuse, self.left = order, refuse, left

    def value(self, body: memoryview, depth: int = 0) -> tuple[str, Any]:
        """The name and the value of a matrix; None for kinds that are not read."""
        parts = list(_elements(body, self.order, self.refuse))
        if len(parts) < 3 or depth > _DEEPEST:
            return "", None
        flags, sizes, title = (bytes(part) for _, part in parts[:3])
        kind, shape = self._ints(flags)[:1].sum() & 0xFF, tuple(int(n) for n in self._ints(sizes))
        called, rest = title.decode("latin-1"), parts[3:]
        if any(n < 0 for n in shape) or len(shape) > 32:
            raise self.refuse(f"{called!r} has the sizes {shape}")
        if kind == _CELL:
            return called, [self.value(part, depth + 1)[1] for _, part in rest]
        if kind == _STRUCT:
            return called, self._fields(shape, rest, depth)
        if kind == _SPARSE:
            return called, self._filled(shape, rest)
        if kind in _CLASSES and rest and rest[0][0] in _STORED:
            return called, self._full(called, shape, rest[0]).astype(_CLASSES[int(kind)])
        return called, None

    def _ints(self, content: bytes) -> Array:
        return np.frombuffer(content[: len(content) // 4 * 4], f"{self.order}i4")

    def _numbers(self, part: Element) -> Array:
        stored = np.dtype(f"{self.order}{_STORED.get(part[0], 'u1')}")
        if len(part[1]) % stored.itemsize:
            raise self.refuse("an array ends in the middle of a number")
        return np.frombuffer(part[1], stored)

    def _full(self, called: str, shape: tuple[int, ...], part: Element) -> Array:
        numbers = self._numbers(part)
        if math.prod(shape) != len(numbers):
            raise self.refuse(f"the sizes {shape} of {called!r} do not fit its {len(numbers)} numbers")
        return numbers.reshape(shape, order="F")

    def _fields(self, shape: tuple[int, ...], rest: list[Element], depth: int) -> dict[str, Any] | None:
        if math.prod(shape) != 1 or len(rest) < 2 or len(rest[0][1]) < 4:
            return None
        width, names = int(self._ints(bytes(rest[0][1]))[0]), bytes(rest[1][1])
        if width < 1 or len(names) != width * (len(rest) - 2):
            raise self.refuse("a structure has not as many names as fields")
        titles = [names[at : at + width].split(b"\0")[0].decode("latin-1") for at in range(0, len(names), width)]
        return {title: self.value(part, depth + 1)[1] for title, (_, part) in zip(titles, rest[2:])}

    def _filled(self, shape: tuple[int, ...], rest: list[Element]) -> Array:
        if len(shape) != 2 or len(rest) < 3:
            raise self.refuse("a sparse array has two sizes, places and numbers")
        self.left -= math.prod(shape)
        need_room(0, 0 if self.left >= 0 else 1 << 62, self.refuse)
        rows, ends, numbers = self._ints(bytes(rest[0][1])), self._ints(bytes(rest[1][1])), self._numbers(rest[2])
        counts = np.diff(ends)
        legal = (
            len(ends) == shape[1] + 1
            and ends[0] == 0
            and (counts >= 0).all()
            and ends[-1] <= min(len(rows), len(numbers))
        )
        if not legal or (rows[: ends[-1]] < 0).any() or (rows[: ends[-1]] >= shape[0]).any():
            raise self.refuse("the places of a sparse array do not fit its sizes")
        out = np.zeros(shape, np.uint8 if numbers.dtype.itemsize == 1 else numbers.dtype)
        out[rows[: ends[-1]], np.repeat(np.arange(shape[1]), counts)] = numbers[: ends[-1]]
        return out
