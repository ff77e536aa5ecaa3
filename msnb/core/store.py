"""Machine code, programs and converted functions kept on disk, found again by content.

    ~/.cache/msnb/kernels/<sha256 of what it was made from>.o       magic, sha256 of the code, the code
    the same around a program (.p, ``devices.cpu.program.disk``) and a converted function (.c, ``graph.capture.kept``)

What is read here is executed, so the folder must be ours alone (mode 0700, our user, no link) and an entry must carry
the hash of its own bytes; anything else counts as not there and is made again. Files appear whole or not at all
(written aside, then renamed), whoever else writes them. A disk that refuses costs one notice. When those of a kind are
too many or too large, the oldest half goes. ``MSNB_CACHE_DIR`` moves the folder; an empty value turns the cache off.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path

from msnb.core.events import notice
from msnb.core.where import PACKAGE_DIR

CODE, PROGRAM, FUNCTION = ".o", ".p", ".c"
MOST_ENTRIES, MOST_BYTES = 4096, 1 << 28
_writes = itertools.count()
_MAGIC = b"msnb-kernel-1\n"
_ASIDE = ".part"


def folder() -> Path | None:
    """The private folder, made if need be; None where there can be none, which is told once."""
    chosen = os.environ.get("MSNB_CACHE_DIR")
    if chosen == "":
        return None
    try:
        base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "msnb"
        found = base / "kernels"
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(found):
            return found
        _unkept(found, "it is not a folder of yours alone, as chmod 700 makes it")
    except (OSError, RuntimeError) as error:
        _unkept(chosen or "~/.cache/msnb", error)
    return None


def _is_private(path: Path) -> bool:
    info = path.lstat()
    if not stat.S_ISDIR(info.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    return info.st_uid == os.getuid() and not info.st_mode & 0o077


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
    home = folder()
    if home is None:
        return None
    try:
        data = (home / f"{key}{kind}").read_bytes()
    except OSError:
        return None
    head, body = data[: len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    return body if head == _MAGIC + hashlib.sha256(body).digest() else None


def write(key: str, code: bytes, kind: str = CODE) -> None:
    """Keep an entry; a full disk or a read-only home costs a notice and the next compilation."""
    home = folder()
    if home is None:
        return
    try:
        _put(home / f"{key}{kind}", code)
    except OSError as error:
        _unkept(home, error)
        return
    # looking through thousands of files takes its time
    if next(_writes) % max(MOST_ENTRIES // 64, 1) == 0 or len(code) > MOST_BYTES // 64:
        with suppress(OSError):  # another process clears up at the same time
            _forget_oldest(home, kind)


def _put(path: Path, code: bytes) -> None:
    """The whole file or none, whoever else writes it now."""
    handle, aside = tempfile.mkstemp(dir=path.parent, suffix=_ASIDE)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_MAGIC + hashlib.sha256(code).digest() + code)
        os.replace(aside, path)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def _forget_oldest(home: Path, kind: str) -> None:
    entries = sorted((e.stat().st_mtime, e.stat().st_size, e.path) for e in os.scandir(home) if e.name.endswith(kind))
    count, size = len(entries), sum(size for _, size, _ in entries)
    if count <= MOST_ENTRIES and size <= MOST_BYTES:
        return
    for _, bytes_, path in entries:
        if count <= MOST_ENTRIES // 2 and size <= MOST_BYTES // 2:
            return
        Path(path).unlink(missing_ok=True)
        count, size = count - 1, size - bytes_
