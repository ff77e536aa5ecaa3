"""CIFAR's batches for Python: pickles, read without running anything of theirs.

A pickle names functions and classes that its reader shall call. Here three names are known, and what they give is a
note of the bytes of an array; any other name is refused.

    numpy...._reconstruct(ndarray, (0,), b'b')      _ArrayNote: shape, kind and bytes come with its state
    numpy.dtype('u1')                               the kind, as text

Source: Krizhevsky 2009; "pickle", the Python library.
"""

from __future__ import annotations

import io
import math
import pickle
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import DatasetError, reraise_interrupt
from msnb.base.files.bounded_reader import Refuse, read_file
from msnb.dataset.pipeline.rows import Array
from msnb.dataset.sources.tables.record_file import refusal

_MOST, _SIDE = 1 << 30, 32


class _ArrayNote:
    """An array or a dtype of a pickle: what it was called with, and its state."""

    state: Any = None

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __setstate__(self, state: Any) -> None:
        self.state = state


_KNOWN = {("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct"),
          ("numpy", "ndarray"), ("numpy", "dtype")}  # fmt: skip


class _Unpickler(pickle._Unpickler):  # in Python: that in C makes room for what a file says
    """Reads plain values and notes of arrays."""

    def find_class(self, module: str, name: str) -> Callable[..., Any]:
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}, and is not read")
        return _ArrayNote


def read_batch(name: str, path: Path, labels: Sequence[str]) -> tuple[Array, list[list[int]]]:
    """Pictures uint8[n,32,32,3] of a file, and its lists of labels of these names.

    Args:
        name: of the reader, for messages. path: the file. labels: names of lists of ints.

    Raises:
        DatasetError: it is no such file, damaged, or names what is not plain data.
    """
    refuse = refusal(name, path)
    content = read_file(path, refuse, _MOST)
    try:
        page = _Unpickler(io.BytesIO(content), encoding="latin-1").load()
    except Exception as error:  # a damaged pickle raises anything
        reraise_interrupt(error)
        raise refuse(f"it is no batch of pictures: {type(error).__name__}: {error}") from None
    page = {_text(key): value for key, value in page.items()} if isinstance(page, dict) else {}
    pixels = _pixels(page.get("data"), refuse)
    found = [page.get(label) for label in labels]
    for label, listed in zip(labels, found):
        if not isinstance(listed, list) or any(type(n) is not int for n in listed) or len(listed) != len(pixels):
            raise refuse(f"its {label!r} is no list of {len(pixels)} ints")
    return pixels, found  # type: ignore[return-value]


def _text(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _pixels(noted: Any, refuse: Callable[..., DatasetError] | Refuse) -> Array:
    state = noted.state if isinstance(noted, _ArrayNote) else None
    if not isinstance(state, tuple) or len(state) != 5:
        raise refuse("it has no array 'data'")
    _, shape, kind, by_columns, content = state
    dtype = _text(kind.args[0]) if isinstance(kind, _ArrayNote) and kind.args else None
    content = content.encode("latin-1") if isinstance(content, str) else content
    if dtype != "u1" or not isinstance(content, bytes) or not _is_flat(shape):
        raise refuse(f"its 'data' is {dtype}{shape}, and not u1 of rows of {3 * _SIDE * _SIDE} bytes")
    if math.prod(shape) != len(content):
        raise refuse(f"its 'data' has {len(content)} bytes for {shape}")
    rows = np.frombuffer(content, np.uint8).reshape(shape, order="F" if by_columns else "C")
    return np.asarray(rows.reshape(-1, 3, _SIDE, _SIDE).transpose(0, 2, 3, 1), order="C")


def _is_flat(shape: Any) -> bool:
    if not isinstance(shape, tuple) or len(shape) != 2 or not all(type(n) is int and n >= 0 for n in shape):
        return False
    return bool(shape[1] == 3 * _SIDE * _SIDE)
