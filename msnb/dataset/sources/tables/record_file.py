"""A long file whose records are found by number, without keeping them in memory.

    lines     one record per line                              text, JSON lines
    quoted    lines, but a line break inside "..." belongs to the record      CSV
    blocks    lines up to an empty line                        tagged sentences

The file is read once, in pieces, to note where its records end (8 bytes for each); a record is read when its row is
asked for.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from msnb.base import DatasetError
from msnb.base.files.bounded_reader import Refuse, open_file, read_bytes
from msnb.dataset.pipeline.rows import Array

MOST = 64 << 20  # bytes of one record
_PIECE = 4 << 20
Ends = Callable[[Array, int], tuple[Array, int]]


def refusal(name: str, path: Path, row: int | None = None) -> Refuse:
    """What makes the error of a file, or of one of its rows."""
    where = f"{str(path)!r}" if row is None else f"row {row} of {str(path)!r}"

    def refuse(why: str, hint: str = "") -> DatasetError:
        return DatasetError(f"{name}: {where} cannot be read: {why}.", hint=hint)

    return refuse


class RecordFile:
    """The records of a file by number; `kind` is "lines", "quoted" or "blocks". Empty records are left out.

    Args:
        name: of the data set, for messages.
        path: the file.
        kind: how its records end.

    Raises:
        FileNotFoundError: there is none. DatasetError: it cannot be read, or a record is too long.
    """

    def __init__(self, name: str, path: Path, kind: str = "lines") -> None:
        self.name: str = name
        self.path: Path = path
        try:
            self._file = open_file(path, refusal(name, path))
        except FileNotFoundError:
            raise FileNotFoundError(f"{name}: there is no file {str(path)!r}") from None
        self._lock = threading.Lock()
        self._starts, self._stops = self._places(kind)

    def __len__(self) -> int:
        return len(self._starts)

    def __del__(self) -> None:
        if "_file" in vars(self):
            self._file.close()

    def record(self, index: int) -> str:
        """The text of a record, without the line break at its end."""
        refuse = refusal(self.name, self.path, index)
        start, stop = int(self._starts[index]), int(self._stops[index])
        if stop - start > MOST:
            raise refuse(f"it has {stop - start} bytes, and a row has at most {MOST}", hint="is a quote left open?")
        with self._lock:
            self._file.seek(start)
            content = read_bytes(self._file, stop - start, refuse)
        try:
            return content.decode("utf-8-sig" if start == 0 else "utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise refuse(f"it is no text in UTF-8: its byte {error.start} is {content[error.start]:#04x}") from None

    def _places(self, kind: str) -> tuple[Array, Array]:
        found, quotes, at = [np.zeros(1, np.int64)], 0, 0
        for piece in self._pieces():
            breaks = np.flatnonzero(piece == 10)
            if kind == "quoted":
                inside = np.cumsum(piece == 34) + quotes
                breaks = breaks[inside[breaks] % 2 == 0]
                quotes = int(inside[-1])
            found.append(breaks + at + 1)
            at += len(piece)
        ends = np.concatenate([*found, np.full(1, at, np.int64)])
        starts, stops = ends[:-1], ends[1:]
        if kind == "blocks":
            return self._blocks(starts, stops)
        full = self._filled(starts, stops)
        return starts[full], stops[full]

    def _pieces(self) -> Iterator[Array]:
        self._file.seek(0)
        while content := self._file.read(_PIECE):
            yield np.frombuffer(content, np.uint8)

    def _filled(self, starts: Array, stops: Array) -> Array:
        """Which lines hold more than blanks. Only the short ones are looked into."""
        full: Array = stops - starts > 2
        for index in np.flatnonzero(~full):
            self._file.seek(int(starts[index]))
            full[index] = bool(self._file.read(int(stops[index] - starts[index])).strip(b"\r\n"))
        return full

    def _blocks(self, starts: Array, stops: Array) -> tuple[Array, Array]:
        full = np.concatenate([[False], self._filled(starts, stops), [False]]).astype(np.int8)
        edge = np.diff(full)
        return starts[np.flatnonzero(edge == 1)], stops[np.flatnonzero(edge == -1) - 1]
