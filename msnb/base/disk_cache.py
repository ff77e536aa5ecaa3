"""Machine code, programs and converted functions kept on disk, found again by content.

    ~/.cache/msnb/kernels/<sha256 of what it was made from>.o       magic, sha256 of the code, the code
    the same around a program (.p, ``devices.cpu.program.run.program_cache``) and a converted function (.c,
    ``graph.capture.frontend.conversion_cache``)

What is read here is executed, so the folder must be ours alone: a folder of our user, mode 0700, no link, and none of
the folders above it may be another user's or open to other users' writing (without the sticky bit). All that is asked
of the open folder, not of its name: whoever exchanges the name afterwards changes nothing, for entries are opened
relative to that descriptor, no links followed, and must be regular files of ours. An entry carries the hash of its own
bytes, which finds damage; it proves no origin. Anything else counts as not there and is made again. Files appear whole
or not at all (``base.files.atomic_write``), whoever else writes them. A disk that refuses costs one notice. When those
of a kind are too many or too large, the oldest half goes. ``MSNB_CACHE_DIR`` moves the folder; an empty value turns the
cache off.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from msnb.base.events import notice
from msnb.base.files.atomic_write import aside, remove_leftovers, write_all
from msnb.base.source_location import PACKAGE_DIR

CODE, PROGRAM, FUNCTION = ".o", ".p", ".c"
MOST_ENTRIES, MOST_BYTES = 4096, 1 << 28
_writes = itertools.count()
_MAGIC = b"msnb-kernel-1\n"
_BY_HANDLE = os.open in os.supports_dir_fd and hasattr(os, "O_DIRECTORY") and hasattr(os, "O_NOFOLLOW")
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_ENTRY = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
_OTHERS_WRITE, _GROUP_WRITES = 0o002, 0o020


class _Home(NamedTuple):
    """The open folder: its path (for people), its descriptor (None where folders have none: Windows)."""

    path: Path
    handle: int | None

    def at(self, name: str) -> str:
        """The entry ``name``, relative to the descriptor."""
        return name if self.handle is not None else str(self.path / name)


def folder() -> Path | None:
    """The private folder, made if need be; None where there can be none, which is told once."""
    with _opened() as home:
        return None if home is None else home.path


@contextmanager
def _opened() -> Iterator[_Home | None]:
    """The private folder, open and found to be ours alone; None where there can be none, which is told once."""
    home = _open()
    try:
        yield home
    finally:
        if home is not None and home.handle is not None:
            os.close(home.handle)


def _open() -> _Home | None:
    chosen = os.environ.get("MSNB_CACHE_DIR")
    if chosen == "":
        return None
    try:
        base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "msnb"
        found = base / "kernels"
        _make(found)
        handle = os.open(found, _FOLDER) if _BY_HANDLE else None
    except (OSError, RuntimeError) as error:
        _unkept(chosen or "~/.cache/msnb", error)
        return None
    home = _Home(found, handle)
    why: OSError | str | None
    try:
        why = _distrusted(home)
    except OSError as error:
        why = error
    if why is None:
        return home
    if handle is not None:
        os.close(handle)
    _unkept(found, why)
    return None


def _make(path: Path) -> None:
    """The folder and what is missing above it, for our user alone whatever the umask says."""
    if not path.is_dir():
        for missing in reversed([path, *(p for p in path.parents if not p.exists())]):
            with suppress(FileExistsError):
                missing.mkdir(mode=0o700)


def _distrusted(home: _Home) -> str | None:
    """Why what lies in this folder might be somebody else's; None where it is ours."""
    if not hasattr(os, "getuid"):
        return None if home.path.is_dir() else "it is not a folder"
    info = home.path.lstat() if home.handle is None else os.fstat(home.handle)
    if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.getuid() or info.st_mode & 0o077:
        return "it is not a folder of yours alone, as chmod 700 makes it"
    return _shared_above(home)


def _shared_above(home: _Home) -> str | None:
    """The nearest folder above that lets another user exchange what lies in it, in words."""
    up, before = "..", None
    while True:
        info = os.stat(home.at(up), dir_fd=home.handle)
        if (info.st_dev, info.st_ino) == before:
            return None
        before = info.st_dev, info.st_ino
        above = os.path.normpath(home.path.absolute() / up)
        if info.st_uid not in (os.getuid(), 0, _nobody()):
            return f"the folder above it, {above}, belongs to another user, who can put other files there"
        if not info.st_mode & stat.S_ISVTX and _others_write(info):
            return f"other users may write into the folder above it, {above} (chmod go-w, or its sticky bit, ends that)"
        up = f"../{up}"


def _others_write(info: os.stat_result) -> bool:
    if info.st_mode & _OTHERS_WRITE:
        return True
    return bool(info.st_mode & _GROUP_WRITES) and not _is_own_group(info.st_gid)


def _is_own_group(group: int) -> bool:
    """True for a group that is ours alone: the system's administrators', or one named like the user that it was made
    for (umask 002 goes with those)."""
    if group == 0:
        return True
    import grp  # only POSIX systems have it
    import pwd  # only POSIX systems have it

    try:
        return grp.getgrgid(group).gr_name == pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False


@functools.lru_cache(maxsize=1)
def _nobody() -> int:
    """The user who stands for all that a container does not know: its host's root, as a rule."""
    try:
        return int(Path("/proc/sys/kernel/overflowuid").read_text())
    except (OSError, ValueError):
        return 0


def _unkept(where: Path | str, why: Exception | str) -> None:
    said = getattr(why, "strerror", None) or str(why)
    notice(
        f"compiled code is not kept in {where}: {said}. Nothing is lost, but the next session compiles again. "
        "MSNB_CACHE_DIR names another folder; an empty value switches keeping off.",
        key="unkept",
    )


@functools.cache
def sources(*rooms: str) -> str:
    """A digest of all files of some of msnb's folders: what they make is good as long as it stays the same."""
    digest = hashlib.sha256()
    for room in rooms:
        for folder, inner, files in os.walk(os.path.join(PACKAGE_DIR, *room.split("/"))):
            inner.sort()
            for name in sorted(f for f in files if f.endswith(".py")):
                with open(os.path.join(folder, name), "rb") as file:
                    digest.update(f"{folder[len(PACKAGE_DIR) :]}/{name}\0".encode() + file.read())
    return digest.hexdigest()


def key_of(*parts: str) -> str:
    """The name of an entry: everything that decides what the code is."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read(key: str, kind: str = CODE) -> bytes | None:
    """The content of an entry, or None where there is no sound one."""
    with _opened() as home:
        data = None if home is None else _content(home, f"{key}{kind}")
    if data is None:
        return None
    head, body = data[: len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    return body if head == _MAGIC + hashlib.sha256(body).digest() else None


def _content(home: _Home, name: str) -> bytes | None:
    """The bytes of an entry that is a regular file of ours. Opening waits for nobody: pipes do not hold us up."""
    try:
        handle = os.open(home.at(name), _ENTRY, dir_fd=home.handle)
    except OSError:
        return None
    try:
        info = os.fstat(handle)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MOST_BYTES:
            return None
        if hasattr(os, "getuid") and (info.st_uid != os.getuid() or info.st_mode & 0o022):
            return None
        with open(handle, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(handle)


def write(key: str, code: bytes, kind: str = CODE) -> None:
    """Keep an entry; a full disk or a read-only home costs a notice and the next compilation."""
    with _opened() as home:
        if home is None:
            return
        try:
            _put(home, f"{key}{kind}", code)
        except OSError as error:
            _unkept(home.path, error)
            return
        # looking through thousands of files takes its time
        if next(_writes) % max(MOST_ENTRIES // 64, 1) == 0 or len(code) > MOST_BYTES // 64:
            with suppress(OSError):  # another process clears up at the same time
                _forget_oldest(home, kind)


def _put(home: _Home, name: str, code: bytes) -> None:
    """The whole file or none, whoever else writes it now."""
    where = "" if home.handle is not None else str(home.path)
    with aside(where, name, home.handle) as (handle, path):
        write_all(handle, _MAGIC + hashlib.sha256(code).digest() + code)
        os.replace(path, home.at(name), src_dir_fd=home.handle, dst_dir_fd=home.handle)


def _forget_oldest(home: _Home, kind: str) -> None:
    place = home.path if home.handle is None else home.handle
    remove_leftovers(str(place) if isinstance(place, Path) else place)
    with os.scandir(place) as found:
        entries = sorted((e.stat().st_mtime, e.stat().st_size, e.name) for e in found if e.name.endswith(kind))
    count, size = len(entries), sum(size for _, size, _ in entries)
    if count <= MOST_ENTRIES and size <= MOST_BYTES:
        return
    for _, bytes_, name in entries:
        if count <= MOST_ENTRIES // 2 and size <= MOST_BYTES // 2:
            return
        with suppress(FileNotFoundError):
            os.unlink(home.at(name), dir_fd=home.handle)
        count, size = count - 1, size - bytes_
