"""Zip archives whose entries are stored as they are, so that none unfolds into more than the file itself."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager

from msnb.base.files.array_archive import guarded
from msnb.base.files.bounded_reader import Refuse, open_file


class ZipArchive:
    """An open archive.

    Attributes:
        names: its entries.
    """

    def __init__(self, archive: zipfile.ZipFile, refuse: Refuse) -> None:
        self._archive, self._refuse = archive, refuse
        self._entries = {entry.filename: entry for entry in archive.infolist()}
        self.names: list[str] = list(self._entries)

    def content(self, name: str) -> bytes:
        """The bytes of an entry.

        Raises:
            What ``refuse`` makes: there is no such entry, it is compressed or damaged.
        """
        entry = self._entries.get(name)
        if entry is None or entry.compress_type != zipfile.ZIP_STORED or entry.file_size > entry.compress_size:
            raise self._refuse(f"the entry {name!r} is missing or compressed")
        return guarded(lambda: self._archive.read(entry), self._refuse)


@contextmanager
def open_archive(path: str, refuse: Refuse) -> Iterator[ZipArchive]:
    """The archive in a file, open inside the ``with``.

    Raises:
        FileNotFoundError: there is no file. What ``refuse`` makes: it is no zip archive.
    """
    with open_file(path, refuse) as file, guarded(lambda: zipfile.ZipFile(file), refuse) as archive:
        yield ZipArchive(archive, refuse)
