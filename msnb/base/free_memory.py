"""How much memory is free, and the refusal of what cannot fit.

An operating system hands out more than it has, and ends the process that then uses it. So large results are asked for
here first: what is larger than what is free is refused with a sentence, before anything is touched.

    free = the least of: what the machine can give (MemAvailable), what the control groups of the process leave
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msnb.base.errors import OutOfMemoryError

CHECKED = 64 << 20  # bytes; reading what is free costs nothing beside filling so much
_GROUPS, _MACHINE, _MINE = Path("/sys/fs/cgroup"), Path("/proc/meminfo"), Path("/proc/self/cgroup")
_V1, _V2 = ("memory.limit_in_bytes", "memory.usage_in_bytes"), ("memory.max", "memory.current")


def free_memory() -> int | None:
    """Bytes that this process can still fill; None where the system does not tell."""
    found = [n for n in (_of_machine(), *_of_groups()) if n is not None]
    return min(found, default=None)


def _of_machine() -> int | None:
    try:
        for line in _MACHINE.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        return None
    return None


def _of_groups() -> Iterator[int | None]:
    for folder, names in _folders():
        limit, used = (_number(folder / name) for name in names)
        if limit is not None and used is not None:
            yield max(0, limit - used + (_number(folder / "memory.stat", "inactive_file") or 0))


def _folders() -> Iterator[tuple[Path, tuple[str, str]]]:
    """The control groups of this process, innermost first, up to the outermost."""
    try:
        lines = _MINE.read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = (*line.split(":", 2), "", "")[:3]
        if kinds and "memory" not in kinds.split(","):
            continue
        root, names = (_GROUPS / "memory", _V1) if kinds else (_GROUPS, _V2)
        folder = root / path.lstrip("/")
        for place in (folder, *folder.parents):
            yield place, names
            if place == root:
                break


def _number(file: Path, key: str = "") -> int | None:
    """The number in a file, or behind ``key`` in it; None for "max", and where there is none."""
    try:
        words = file.read_text().split()
        return int(words[words.index(key) + 1] if key else words[0])
    except (OSError, ValueError, IndexError):
        return None


def size(count: int) -> str:
    """Bytes for people."""
    return f"{count / 2**30:,.1f} GiB" if count >= 2**30 else f"{count / 2**20:.1f} MiB"


def require(count: int, who: str, operands: Sequence[str] = ()) -> None:
    """Refuse what cannot fit.

    Args:
        count: bytes that are about to be filled.
        who: what for, the subject of the sentence.
        operands: one line per operand or result.

    Raises:
        OutOfMemoryError: less is free.
    """
    free = free_memory()
    if free is not None and count > free:
        raise out_of_memory(count, who, operands)


def out_of_memory(count: int, who: str, operands: Sequence[str] = ()) -> OutOfMemoryError:
    """The sentence: who wants how much, and how much there is."""
    free = free_memory()
    there = "which cannot be had" if free is None or free > count else f"and {size(free)} are free"
    return OutOfMemoryError(
        f"{who} needs {size(count)} of memory, {there}; nothing was changed.",
        operands=operands,
        hint="use a smaller batch or a shorter dtype, or work in pieces.",
    )
