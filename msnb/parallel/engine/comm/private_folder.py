"""Private folders that go with the process that made them, however it ends.

    /tmp/msnb-ranks-4711-x2f9k1/        the name says whose it is: process 4711's
        door                            the socket to which its ranks come
        log                             what they printed
        also                            paths that go with the folder: temporary snapshots

Who made a folder removes it. When that process is killed, those that it began do (``job.remove``, from the job or from
a rank); what even they could not, because all were killed at once, goes when the next one is made.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

_OURS = re.compile(r"msnb-(?:ranks|snapshots)-(\d+)-\w+")


def private_folder(kind: str) -> str:
    """A folder that nobody else may enter; those of processes that are gone go.

    Args:
        kind: "ranks" or "snapshots".
    """
    sweep()
    return tempfile.mkdtemp(prefix=f"msnb-{kind}-{os.getpid()}-")


def sweep() -> None:
    """Remove our folders whose processes are gone."""
    for path in Path(tempfile.gettempdir()).glob("msnb-*"):
        named = _OURS.fullmatch(path.name)
        with contextlib.suppress(OSError):
            if named and path.lstat().st_uid == os.getuid() and not lives(int(named[1])):
                shutil.rmtree(path, ignore_errors=True)


def lives(pid: int) -> bool:
    """Whether a process of this machine is there."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's
    return True


def note(folder: str, paths: list[str]) -> None:
    """Have these paths go with a folder when its process is killed."""
    Path(folder, "also").write_text("".join(f"{path}\n" for path in paths), encoding="utf-8")
