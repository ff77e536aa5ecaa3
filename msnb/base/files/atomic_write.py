"""Files that appear whole or not at all, and what is left of writers that died.

    create .<name>.<host>-<random>.part, locked  -->  write  -->  rename over the name        a reader never sees half
    killed in between: the lock is gone with its process, the next writer in this folder removes the file

A lock (``flock``) says that a writer lives: the system drops it however the process ends, and no number of a process
can be mistaken for another's. On a network disk locks need not reach other machines, so a file of another machine
stays for a day; where a disk has no locks, all stay.
"""

from __future__ import annotations

import functools
import hashlib
import os
import secrets
import socket
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows: nothing is locked, so nothing is ever removed
    fcntl = None  # type: ignore[assignment]

SUFFIX = ".part"
_MARK = "msnb-"
_DAY = 86400.0
_TRIES = 16
_LONGEST = 120
_NEW = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OLD = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)


@functools.lru_cache(maxsize=1)
def _host() -> str:
    return hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]


def create(folder: str, name: str, dir_fd: int | None = None) -> tuple[int, str]:
    """A new file next to ``name``, locked as long as it is open.

    Args:
        folder: where; "" with ``dir_fd``.
        name: the file that it will become.
        dir_fd: a descriptor of the folder.

    Returns:
        Its descriptor, open for writing, and its path (its name with ``dir_fd``).

    Raises:
        OSError: the disk refuses.
    """
    for _ in range(_TRIES):
        own = f".{name[:_LONGEST]}.{_MARK}{_host()}-{secrets.token_hex(8)}{SUFFIX}"
        path = os.path.join(folder, own)
        handle = os.open(path, _NEW, 0o600, dir_fd=dir_fd)
        if _locked(handle) is not False and os.fstat(handle).st_nlink:
            return handle, path
        os.close(handle)  # somebody who removes leftovers came between the two
        with suppress(OSError):
            os.unlink(path, dir_fd=dir_fd)
    raise OSError(f"no file could be locked in {folder!r}")


@contextmanager
def aside(folder: str, name: str, dir_fd: int | None = None) -> Iterator[tuple[int, str]]:
    """``create`` for a block that renames the file: nothing is left of it when the block fails."""
    handle, path = create(folder, name, dir_fd)
    try:
        yield handle, path
    except BaseException:
        with suppress(OSError):
            os.unlink(path, dir_fd=dir_fd)
        raise
    finally:
        os.close(handle)


def write_all(handle: int, content: bytes | memoryview) -> None:
    """All bytes, however many the system takes at once."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(handle, rest) :]


def remove_leftovers(folder: str | int) -> list[str]:
    """Remove the files of writers that died before they were done.

    Args:
        folder: its path or descriptor.

    Returns:
        The names of the removed files. What cannot be looked at or removed stays, without an error.
    """
    dir_fd, home = (folder, "") if isinstance(folder, int) else (None, folder)
    removed: list[str] = []
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.endswith(SUFFIX) and _MARK in name and _is_left(os.path.join(home, name), dir_fd):
                with suppress(OSError):
                    os.unlink(os.path.join(home, name), dir_fd=dir_fd)
                    removed.append(name)
    return removed


def _is_left(path: str, dir_fd: int | None) -> bool:
    """True for a file of ours whose writer is dead."""
    try:
        handle = os.open(path, _OLD, dir_fd=dir_fd)
    except OSError:
        return False
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or (hasattr(os, "getuid") and info.st_uid != os.getuid()):
            return False
        if f"{_MARK}{_host()}-" not in path and time.time() - info.st_mtime < _DAY:
            return False
        return _locked(handle) is True
    finally:
        os.close(handle)


def _locked(handle: int) -> bool | None:
    """True where the lock is ours now, False where another has it, None where there are no locks."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def write_whole(path: str, fill: Callable[[BinaryIO], None]) -> None:
    """Write a file, all of it or nothing: until the last moment the old one stays.

    Args:
        path: where; what a link leads to is replaced, not the link.
        fill: writes the content into an open file.

    Raises:
        OSError: the disk refuses.
    """
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    remove_leftovers(folder)
    with aside(folder, os.path.basename(target)) as (handle, temporary):
        with open(handle, "wb", closefd=False) as file:
            fill(file)
        os.fsync(handle)
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    _sync_folder(folder)


def _mode(target: str) -> int:
    """The permissions of the file that is replaced, or what a new file would get."""
    if os.path.exists(target):
        return os.stat(target).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: str) -> None:
    """Make the rename itself durable, where folders can be opened (not on Windows)."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
