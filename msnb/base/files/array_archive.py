"""Archives of NumPy arrays (npz): read with every size checked before memory is asked for.

    zip archive    entries "name.npy"; the list of entries stands at the end, and is read first
    npy            \\x93NUMPY, version, length n | n bytes: {'descr': '<i4', 'fortran_order': False, 'shape': (3,), }
                   | the elements

What an entry says it unfolds to must be believable for the size of the archive
(``base.files.bounded_reader.need_room``), and an array must fill its entry. Nothing is evaluated: the header is
matched, not parsed as Python, and objects are refused. Source:
https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from msnb.base.errors import MsnbError
from msnb.base.files.bounded_reader import Refuse, fits_memory, need_room, open_file, size_of

Array = NDArray[Any]
MOST_ENTRIES, _MOST_LIST, _MOST_HEADER = 10_000, 4 << 20, 1 << 16
_MAGIC = b"\x93NUMPY"
_HEADER = re.compile(
    rb"\{'descr': '([<>|=]?)([biufc?])(\d{0,2})', 'fortran_order': (False|True), 'shape': \(([\d, ]*)\),? *\} *\n?\Z"
)
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)


class Archive:
    """An open archive: which arrays there are, and one after the other on demand.

    Args:
        path: the file.
        refuse: makes the error of a damaged one.

    Raises:
        FileNotFoundError: there is none. What ``refuse`` makes: it is no such archive.
    """

    def __init__(self, path: str | os.PathLike[str], refuse: Refuse) -> None:
        self._file = open_file(path, refuse)
        self._refuse, self._size = refuse, size_of(self._file)
        try:
            _need_short_list(self._file, self._size, refuse)
            self._zip = guarded(lambda: zipfile.ZipFile(self._file), refuse)
            self._entries = self._checked(self._zip.infolist())
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *error: object) -> None:
        self._zip.close()
        self._file.close()

    @property
    def names(self) -> list[str]:
        """The arrays' names."""
        return list(self._entries)

    def _checked(self, entries: Iterable[zipfile.ZipInfo]) -> dict[str, zipfile.ZipInfo]:
        found: dict[str, zipfile.ZipInfo] = {}
        for entry in entries:
            name = entry.filename.removesuffix(".npy")
            if name in found:
                raise self._refuse(f"it has two entries called {name!r}")
            if len(found) == MOST_ENTRIES:
                raise self._refuse(f"it has more than {MOST_ENTRIES} entries")
            if entry.compress_type not in _PACKED or entry.flag_bits & 1:
                raise self._refuse(f"its entry {name!r} is encrypted, or packed in a way that is not read")
            found[name] = entry
        need_room(self._size, sum(entry.file_size for entry in found.values()), self._refuse)
        stored = sum(e.compress_size for e in found.values())
        if stored > self._size:
            raise self._refuse(f"its entries take {stored} bytes of its {self._size}: they lie over each other")
        return found

    def read(self, name: str) -> Array:
        """An array.

        Raises:
            What ``refuse`` makes: there is none of this name, or its entry is damaged.
        """
        if name not in self._entries:
            raise self._refuse(f"it has no entry {name!r}")
        entry = self._entries[name]
        refuse: Refuse = lambda why, **more: self._refuse(f"its entry {name!r}: {why}", **more)
        with guarded(lambda: self._zip.open(entry), refuse) as file:
            return guarded(lambda: read_array(file, entry.file_size, refuse), refuse)


_Read = TypeVar("_Read")


def guarded(read: Callable[[], _Read], refuse: Refuse) -> _Read:
    """What ``read`` gives; what Python's reader of archives stumbles over is damage."""
    try:
        return read()
    except MsnbError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError,
            struct.error, OverflowError, MemoryError) as error:  # fmt: skip
        raise refuse(str(error) or type(error).__name__) from None


def _need_short_list(file: IO[bytes], size: int, refuse: Refuse) -> None:
    """Python's reader takes in the whole list of entries: it must be short. zip64 hides its length in a second end."""
    start = max(size - (1 << 16) - 22 - 20 - 56, 0)
    file.seek(start)
    tail = file.read(size - start)
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or len(tail) - at < 22:
        raise refuse("it is no archive, or was cut short: its end is missing")
    (length,) = struct.unpack_from("<I", tail, at + 12)
    if length == 0xFFFFFFFF:
        second = tail.rfind(b"PK\x06\x06", 0, at)
        (length,) = struct.unpack_from("<Q", tail, second + 40) if 0 <= second <= len(tail) - 56 else (length,)
    if length > min(_MOST_LIST, size):
        raise refuse(f"its list of entries has {length} bytes; at most {min(_MOST_LIST, size)} are read")
    file.seek(0)


def read_array(file: IO[bytes], size: int, refuse: Refuse) -> Array:
    """The array of an npy file of ``size`` bytes.

    Raises:
        What ``refuse`` makes: it is none, holds objects, or does not fill the file.
    """
    head = file.read(12)
    wide = head[6:8] != b"\x01\x00"
    if head[:6] != _MAGIC or head[6:8] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00") or len(head) < 12:
        raise refuse("it is no array in NumPy's format")
    (length,) = struct.unpack_from("<I" if wide else "<H", head, 8)
    if length > _MOST_HEADER:
        raise refuse(f"the header of the array has {length} bytes; at most {_MOST_HEADER} are read")
    start = (12 if wide else 10) + length
    text = head[12 if wide else 10 :] + file.read(max(start - 12, 0))
    found = _HEADER.match(text[:length])
    if found is None:
        raise refuse(f"the header {text[:60]!r} describes no array of numbers")
    shape = tuple(int(n) for n in found[5].decode().replace(" ", "").split(",") if n)
    dtype = _dtype(found, refuse)
    if not fits_memory(shape, dtype.itemsize):
        raise refuse(f"no memory can hold the shape {list(shape)}")
    need = math.prod(shape) * dtype.itemsize
    if start + need != size:
        raise refuse(f"its header says {dtype} {list(shape)}, which is {start + need} bytes long, and it has {size}")
    data = file.read(need + 1)
    if len(data) != need:
        raise refuse(f"it holds {len(data)} bytes of elements, and its header says {need}")
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if found[4] == b"True" else "C")
    return array.astype(dtype.newbyteorder("="), copy=False)


def _dtype(header: re.Match[bytes], refuse: Refuse) -> np.dtype[Any]:
    text = b"".join(header.group(1, 2, 3)).decode()
    try:
        return np.dtype(text)
    except TypeError:
        raise refuse(f"the array is of {text!r}, which NumPy does not have") from None
