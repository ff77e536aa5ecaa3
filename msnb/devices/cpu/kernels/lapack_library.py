"""LAPACK: the library that NumPy brings along, called by its Fortran entry points.

NumPy's wheels hold OpenBLAS with ints of 64 bits and a prefix of its own; its symbols are found through NumPy's own
module of linear algebra, which is linked to it. Other builds of NumPy have other libraries: there is no entry point
then, and NumPy's functions run instead.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.core import dtypes
from msnb.devices.cpu.native_kernel import Relocation

_FORMS = ("scipy_{}_64_", "{}_64_")


@functools.lru_cache(maxsize=1)
def _library() -> Any:
    """A handle whose symbols include those of the library that NumPy is linked to; None where there is none."""
    try:
        module = getattr(np.linalg, "_umath_linalg", None)
        return ctypes.CDLL(module.__file__) if module is not None else None
    except OSError:
        return None


@functools.lru_cache(maxsize=64)
def entry_point(name: str) -> Any:
    """The function ``name`` (``"spotrf"``), or None."""
    library = _library()
    found = (getattr(library, form.format(name), None) for form in _FORMS)
    return None if library is None else next((f for f in found if f is not None), None)


def name_of(routine: str, dtype: dtypes.DType) -> str:
    """``potrf`` for a dtype: spotrf or dpotrf."""
    return f"{'s' if dtype is dtypes.float32 else 'd'}{routine}"


class EntryPoint(Relocation):
    """The address of a function of LAPACK."""

    def __init__(self, name: str) -> None:
        self.name = name

    def words(self) -> tuple[int]:
        """One word."""
        address = ctypes.cast(entry_point(self.name), ctypes.c_void_p).value
        assert address is not None
        return (address,)

    def data(self) -> tuple[str, str]:
        """Its name."""
        return "lapack", self.name


def linked(name: str) -> EntryPoint:
    """The link of an entry point.

    Raises:
        LookupError: this NumPy has no such function.
    """
    if entry_point(name) is None:
        raise LookupError(f"no LAPACK function {name}")
    return EntryPoint(name)


def workspace(
    name: str, letters: Sequence[bytes], sizes: Sequence[int], arrays: Sequence[int], asks_ints: bool
) -> list[int]:
    """How much memory a function asks for: elements, and ints where it works with ints too.

    Args:
        name: the function.
        letters, sizes: its first arguments.
        arrays: for each argument behind them a leading dimension that follows it, 0 for none.
        asks_ints: whether the size of its workspace of ints is asked for too.
    """
    number = ctypes.c_int64
    room = (ctypes.c_double * 8)()
    asked, counted, info = (ctypes.c_double * 1)(), number(0), number(0)
    args: list[Any] = [*letters, *(ctypes.byref(number(n)) for n in sizes)]
    for leading in arrays:
        args.append(room)
        args += [ctypes.byref(number(leading))] if leading else []
    args += [asked, ctypes.byref(number(-1)), ctypes.byref(counted)]
    args += [ctypes.byref(number(-1))] if asks_ints else []
    entry_point(name)(*args, ctypes.byref(info))
    wide = ctypes.cast(asked, ctypes.POINTER(ctypes.c_float if name[0] == "s" else ctypes.c_double))
    return [int(wide[0]), counted.value]
