"""Texts of code that Python compiled from strings: kept from the start, since nobody can ask for them later.

A function typed into ``exec``, a doctest or a console has a code object and no file. Python announces every compilation
to its audit hooks; the last texts that hold a function are kept here for capture to find.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from typing import Any

KEPT: deque[tuple[str, str]] = deque(maxlen=256)


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
            KEPT.append((filename, text))


sys.addaudithook(_listen)
