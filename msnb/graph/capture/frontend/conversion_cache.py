"""Converted functions on disk, so that the next process need not read their source.

    key     sha256 of  the function's code object (names, instructions, and where in which file each of them stands),
                       Python's version, the sources of the conversion
    value   the code object of the converted function, and the names of its closure

Texts that capture itself writes (the function that checks 1,000 guards) are kept by the text.

A code object knows its place to the column (to the line before Python 3.11), so an edited file gives another key. Code
that was made from no file (a notebook's cell, a string) is converted each time: its text must be shown to carets too.

``marshal`` is read here, from entries of the private folder whose bytes carry their own hash, under the same law as
machine code (``base.disk_cache``): what lies there is executed anyway. Its format 2 has no back references, which would
depend on who else holds a string; equal code, equal bytes.
"""

from __future__ import annotations

import marshal
import sys
from types import CodeType
from typing import Any

from msnb.base import disk_cache

_FORMAT = 2
_LONG = 8192


def key_of(code: CodeType) -> str | None:
    """The name of a function's entry; None where it is not kept."""
    if code.co_filename.startswith("<") or disk_cache.folder() is None:
        return None
    text = marshal.dumps(_settled(code), _FORMAT).hex()
    return disk_cache.key_of(
        "1", sys.version, sys.implementation.cache_tag or "", disk_cache.sources("graph/capture"), text
    )


def compiled(text: str, filename: str) -> CodeType:
    """The code of a generated text; that of a long one is kept on disk too."""
    if len(text) < _LONG or disk_cache.folder() is None:
        return compile(text, filename, "exec")
    key = disk_cache.key_of("2", sys.version, sys.implementation.cache_tag or "", filename, text)
    data = disk_cache.read(key, disk_cache.FUNCTION)
    try:
        found = None if data is None else marshal.loads(data)
    except (ValueError, EOFError, TypeError):
        found = None
    if not isinstance(found, CodeType):
        found = compile(text, filename, "exec")
        disk_cache.write(key, marshal.dumps(found, _FORMAT), disk_cache.FUNCTION)
    return found


def _settled(code: CodeType) -> CodeType:
    """The code with its constants in an order that is the same in every process: sets of strings have none."""
    consts = tuple(map(_settled_const, code.co_consts))
    return code if all(a is b for a, b in zip(consts, code.co_consts)) else code.replace(co_consts=consts)


def _settled_const(const: Any) -> Any:
    if isinstance(const, CodeType):
        return _settled(const)
    if isinstance(const, tuple):
        found = tuple(map(_settled_const, const))
        return const if all(a is b for a, b in zip(found, const)) else found
    return ("set", *sorted(map(repr, const))) if isinstance(const, frozenset) else const


def read(key: str) -> tuple[CodeType, tuple[str, ...]] | None:
    """The converted function and the names of its closure, or None."""
    data = disk_cache.read(key, disk_cache.FUNCTION)
    if data is None:
        return None
    try:
        code, free = marshal.loads(data)
    except (ValueError, EOFError, TypeError):
        return None
    sound = isinstance(code, CodeType) and isinstance(free, tuple) and set(code.co_freevars) <= set(free)
    return (code, free) if sound else None


def write(key: str, code: CodeType, free: tuple[str, ...]) -> None:
    """Keep a converted function."""
    disk_cache.write(key, marshal.dumps((code, free), _FORMAT), disk_cache.FUNCTION)
