"""What an outside object of C code holds: the bytes of a buffer, the entries of a view of a dict.

A program that meets such an object may look at all of it through code that is not converted, so its contents as a whole
are a guard: other contents make another version. A program that changes them runs as Python.
"""

from __future__ import annotations

import array
import types
from collections.abc import ItemsView, KeysView, ValuesView
from typing import Any

import numpy as np

_PLAIN = (int, float, complex, bool, str, bytes, tuple)


def contents(value: Any) -> tuple[Any, ...] | None:
    """The contents of ``value``, to compare at each call; None where it holds nothing that may change unseen."""
    entries = value.items() if isinstance(value, types.MappingProxyType) else value
    if isinstance(entries, ItemsView) and not hasattr(entries, "__dict__"):
        return tuple(part for entry in entries for part in entry)
    if isinstance(entries, (KeysView, ValuesView)) and not hasattr(entries, "__dict__"):
        return tuple(entries)
    if isinstance(value, (bytes, np.generic, types.SimpleNamespace)):
        return None
    try:
        seen = memoryview(value)
        held = seen.format, seen.shape, seen.tobytes()
    except (TypeError, ValueError, BufferError, NotImplementedError):  # no buffer, one that was released
        return None
    return (*held, np.ma.getmaskarray(value).tobytes()) if isinstance(value, np.ma.MaskedArray) else held


def same_contents(value: Any, held: tuple[Any, ...]) -> bool:
    """Does ``value`` hold now what it held then? Numbers and texts are compared, others by identity."""
    now = contents(value)
    return now is not None and len(now) == len(held) and all(map(_same, now, held))


def restore(value: Any, held: tuple[Any, ...]) -> None:
    """Put bytes back that were changed."""
    if isinstance(value, (bytearray, array.array)):
        del value[:]
        (value.extend if isinstance(value, bytearray) else value.frombytes)(held[2])
    else:
        memoryview(value).cast("B")[:] = held[2]


def _same(one: Any, other: Any) -> bool:
    return one is other or type(one) is type(other) and isinstance(one, _PLAIN) and one == other
