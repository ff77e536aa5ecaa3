"""Reading files that may be damaged, or made to do damage: never more memory or time than the file itself may ask for.

    read_file(path, refuse)             the bytes of a regular file (no pipe, no device: those never end)
    read_json(text, refuse, kind)       JSON of a known form (``json_schema``), each key once, of bounded size and depth
    need_room(packed, unfolded, refuse) what a packed file (gzip, zip, a picture) says it unfolds to is believable

``refuse(why, hint=...)`` makes the error of a damaged file of that format; it is raised here. The law of every reader:
read the header, check it, then no more than it allows.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from typing import IO, Any

from msnb.base.errors import MsnbError
from msnb.base.files.json_schema import ANYTHING, Kind, misfit

Refuse = Callable[..., MsnbError]
MOST_JSON = 16 << 20  # bytes; a header of 60,000 tensors has half of it
SPARSE = 20  # characters per list or table in the longest text; a tensor has 3 in 66
FREE, RATIO = 64 << 20, 32  # pictures of digits shrink to a fifth; zeros to a thousandth
MOST_AXES, MOST_BYTES = 32, 1 << 62  # NumPy's limits, with a margin


def open_file(path: str | os.PathLike[str], refuse: Refuse) -> IO[bytes]:
    """A regular file, opened for reading.

    Raises:
        FileNotFoundError: there is none. What ``refuse`` makes: it is a folder, a pipe or a device, or unreadable.
    """
    try:
        # a pipe that nobody writes to must not make us wait
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise refuse(f"it cannot be opened: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise refuse("it is a folder, a pipe or a device, and no file")
    return os.fdopen(handle, "rb")


def size_of(file: IO[bytes]) -> int:
    """How many bytes an open file has."""
    return os.fstat(file.fileno()).st_size


def read_file(path: str | os.PathLike[str], refuse: Refuse, most: int | None = None) -> bytes:
    """The content of a regular file.

    Args:
        path: the file.
        refuse: makes the error.
        most: more bytes than this are refused before they are read.

    Raises:
        FileNotFoundError: there is none. What ``refuse`` makes: no file, too long, or unreadable.
    """
    with open_file(path, refuse) as file:
        size = size_of(file)
        if most is not None and size > most:
            raise refuse(f"it has {size} bytes, and such a file has at most {most}")
        return read_bytes(file, size, refuse)


def read_bytes(file: IO[bytes], count: int, refuse: Refuse) -> bytes:
    """So many bytes of an open file, all of them."""
    try:
        content = file.read(count)
    except (OSError, MemoryError, OverflowError) as error:
        raise refuse(f"{count} bytes of it cannot be read: {error or 'there is not so much memory'}") from None
    if len(content) < count:
        raise refuse(f"it ends after {len(content)} of {count} bytes; it was cut short")
    return content


def read_text(path: str | os.PathLike[str], refuse: Refuse, most: int | None = None) -> str:
    """The content of a regular file of UTF-8 text. Raises as ``read_file`` does."""
    content = read_file(path, refuse, most)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise refuse(f"it is no text in UTF-8: byte {error.start} is {content[error.start]:#04x}") from None


def read_json(
    text: str | bytes, refuse: Refuse, kind: Kind = ANYTHING, what: str = "the page", most: int = MOST_JSON
) -> Any:
    """The value of a JSON text that has the form ``kind``.

    Args:
        text: the text, in UTF-8.
        refuse: makes the error.
        kind: what it has to be.
        what: the name of the value in errors.
        most: longer texts are refused.

    Raises:
        What ``refuse`` makes: no JSON, too large, too deep, too many lists, a key that stands twice, or another form.

    Examples:
        >>> read_json('{"a": 1, "a": 2}', ValueError)
        Traceback (most recent call last):
        ValueError: the page has the key 'a' twice
    """
    if len(text) > most:
        raise refuse(f"{what} has {len(text)} characters; at most {most} are read")
    try:
        text = text if isinstance(text, str) else text.decode()
        if (opened := text.count("[") + text.count("{")) > most // SPARSE:
            raise refuse(f"{what} opens {opened} lists and tables; at most {most // SPARSE} are read")
        value = json.loads(text, object_pairs_hook=_each_once)
    except _Twice as error:
        raise refuse(f"{what} has the key {error.args[0]!r} twice") from None
    except RecursionError:
        raise refuse(f"{what} is nested too deeply") from None
    except ValueError as error:
        raise refuse(f"{what} is no JSON: {error}") from None
    found = misfit(kind, value, what)
    if found is not None:
        raise refuse(str(found))
    return value


class _Twice(Exception):
    """A key stands twice in an object."""


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        seen: set[str] = set()
        raise _Twice(next(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]
    return found


def need_room(packed: int, unfolded: int, refuse: Refuse) -> None:
    """Refuse a file of ``packed`` bytes that says it unfolds to ``unfolded``, where no real data shrink so far.

    Up to 64 MB are always believed; beyond that, 32 times the size of the file.
    """
    if unfolded > room(packed):
        raise refuse(
            f"its {packed} bytes would unfold to {unfolded}",
            hint=f"data shrink to a few hundredths at the least: a file that unfolds to more than {FREE >> 20} MB and "
            f"{RATIO} times its size is taken for an attack on the memory. Unpack it by hand if you trust it.",
        )


def room(packed: int) -> int:
    """The most bytes that a file of ``packed`` bytes is believed to unfold to."""
    return max(FREE, RATIO * packed)


def fits_memory(shape: tuple[int, ...], itemsize: int) -> bool:
    """True where an array of this shape can exist: sizes from 0, as many axes and bytes as NumPy takes."""
    if len(shape) > MOST_AXES or any(n < 0 for n in shape):
        return False
    count = itemsize
    for n in shape:
        count *= max(n, 1)
    return count < MOST_BYTES
