"""Machine code kept on disk, found again by content.

    ~/.cache/msnb/kernels/<sha256 of what it was made from>.o       magic, sha256 of the code, the code

What is read here is executed, so the folder must be ours alone (mode 0700, our user, no link) and an entry must carry
the
hash of its own bytes; anything else counts as not there and the kernel is compiled again. Files appear whole or not at
all (written aside, then renamed); when there are too many, the oldest half goes. ``MSNB_CACHE_DIR`` moves the folder;
an empty value turns the cache off.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

MOST_ENTRIES = 4096
_MAGIC = b"msnb-kernel-1\n"


def folder() -> Path | None:
    """The private folder, made if need be; None where there can be none."""
    chosen = os.environ.get("MSNB_CACHE_DIR")
    if chosen == "":
        return None
    try:
        base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "msnb"
        found = base / "kernels"
        found.mkdir(mode=0o700, parents=True, exist_ok=True)
        return found if _is_private(found) else None
    except (OSError, RuntimeError):
        return None


def _is_private(path: Path) -> bool:
    info = path.lstat()
    if not stat.S_ISDIR(info.st_mode):
        return False
    if not hasattr(os, "getuid"):
        return True
    return info.st_uid == os.getuid() and not info.st_mode & 0o077


def key_of(*parts: str) -> str:
    """The name of an entry: everything that decides what the code is."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read(key: str) -> bytes | None:
    """The code of an entry, or None where there is no sound one."""
    home = folder()
    if home is None:
        return None
    try:
        data = (home / f"{key}.o").read_bytes()
    except OSError:
        return None
    head, body = data[: len(_MAGIC) + 32], data[len(_MAGIC) + 32 :]
    return body if head == _MAGIC + hashlib.sha256(body).digest() else None


def write(key: str, code: bytes) -> None:
    """Keep the code; a full disk or a read-only home only costs the next compilation."""
    home = folder()
    if home is None:
        return
    try:
        handle, aside = tempfile.mkstemp(dir=home, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(aside, home / f"{key}.o")
            _forget_oldest(home)
        except BaseException:
            Path(aside).unlink(missing_ok=True)
            raise
    except OSError:
        return


def _forget_oldest(home: Path) -> None:
    entries = [e for e in os.scandir(home) if e.name.endswith(".o")]
    if len(entries) > MOST_ENTRIES:
        for entry in sorted(entries, key=lambda e: e.stat().st_mtime)[: len(entries) // 2]:
            Path(entry.path).unlink(missing_ok=True)
