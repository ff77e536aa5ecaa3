"""Texts of code that Python compiled from strings: kept from the start, since nobody can ask for them later.

A function typed into ``exec``, a doctest or a console has a code object and no file. Python announces every compilation
to its audit hooks; the last texts that hold a function are kept here for capture to find. Libraries compile many small
ones (each dataclass has some), so what is kept is bounded by its length.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from typing import Any

LIMIT = 1 << 24
"""Characters that are kept."""
KEPT: dict[tuple[str, str], int] = {}
"""File name and text, the oldest first, with the characters that had been seen up to it."""
_order: deque[tuple[str, str]] = deque()


def _listen(event: str, args: tuple[Any, ...]) -> None:
    if event == "compile" and args[0] is not None:
        keep(args[0], args[1])


def keep(text: Any, filename: Any) -> None:
    """Remember a text. Those of files are found in the file; one without "def" or "lambda" holds no function."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if isinstance(filename, bytes):
        filename = os.fsdecode(filename)
    if isinstance(text, str) and isinstance(filename, str) and filename.startswith("<"):
        if ("def " in text or "lambda" in text) and (filename, text) not in KEPT:
            _append((filename, text))


def _append(key: tuple[str, str]) -> None:
    """Each step is one of the interpreter's own: threads compile at the same time, and a signal may come between."""
    total = KEPT[key] = (KEPT.get(_order[-1], 0) if _order else 0) + len(key[1])
    _order.append(key)
    while len(_order) > 1 and total - KEPT.get(_order[0], 0) > LIMIT:
        KEPT.pop(_order.popleft(), None)


sys.addaudithook(_listen)
