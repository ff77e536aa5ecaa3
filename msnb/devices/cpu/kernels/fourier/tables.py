"""How a length is taken apart, and the roots of unity that go with it.

    n <= DIRECT      passes of radices r whose product is n, in memory that the caches hold (Stockham's order)
    longer, or few   n = n1 n2: the line is a matrix [n1, n2]. Down its columns, times exp(-2 pi i j k / n), along its
                     rows; the result's columns are the rows' transforms

Lengths with a prime factor above 13 are left to the reference body.

Source: D. H. Bailey, FFTs in external or hierarchical memory, Journal of Supercomputing 4 (1990)
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.core import DType, dtypes
from msnb.devices.cpu.kernels.fourier.butterfly import RADICES
from msnb.devices.cpu.native_kernel import Relocation

DIRECT = 2048
"""The longest line whose passes stay in the second cache: two buffers of it in all lanes."""
LONGEST = 1 << 22
"""The longest line at all: its roots of unity are a table as long."""


@functools.lru_cache(maxsize=256)
def radices(n: int) -> tuple[int, ...]:
    """The radices whose product is n; none where there are no such ones."""
    found = []
    for r in RADICES:
        while n % r == 0:
            n //= r
            found.append(r)
    return tuple(found) if n == 1 else ()


@functools.lru_cache(maxsize=256)
def halves(n: int) -> tuple[int, int] | None:
    """n1, n2 with n1 n2 = n, as near as can be, neither longer than ``DIRECT``; None where there are no such ones."""
    if n > LONGEST or not radices(n):
        return None
    first = next(d for d in range(math.isqrt(n), 0, -1) if n % d == 0)
    return (n // first, first) if first >= 4 and n // first <= DIRECT else None


def roots(numbers: Any, n: int) -> Any:
    """exp(-2 pi i numbers / n), exact where a part is 0 or 1."""
    found = np.exp(-2j * np.pi * (np.asarray(numbers) % n) / n)
    for part in (found.real, found.imag):
        part[np.abs(part) < 1e-14] = 0
    return found


def _of_passes(n: int) -> Any:
    """For each pass, p and k = 1 .. r-1: exp(-2 pi i p k / (r m)), where m numbers are left to each of the r."""
    rows, left = [np.zeros(0, complex)], n
    for r in radices(n):
        rows.append(roots(np.outer(np.arange(left // r), np.arange(1, r)).ravel(), left))
        left //= r
    return np.concatenate(rows)


def _of_matrix(n: int) -> Any:
    """exp(-2 pi i j k / n) for column j and row k of the result of the first half."""
    first, second = halves(n) or (1, n)
    return roots(np.outer(np.arange(first), np.arange(second)), n)


def _of_split(n: int) -> Any:
    """From the transform of n / 2 complex numbers to that of n real ones."""
    return -1j * roots(np.arange(n // 2), n)


def _of_merge(n: int) -> Any:
    """And back."""
    return 1j * roots(np.arange(n // 2), n).conj()


KINDS: dict[str, Callable[[int], Any]] = {
    "passes": _of_passes, "matrix": _of_matrix, "split": _of_split, "merge": _of_merge,
}  # fmt: skip


@functools.lru_cache(maxsize=64)
def _table(kind: str, n: int, dtype: str) -> Any:
    return np.asarray(KINDS[kind](n), dtype=dtype)


class RootTable(Relocation):
    """The address of a table of complex numbers.

    Args:
        kind: of ``KINDS``.
        n: the length it belongs to.
        dtype: of the parts.
    """

    def __init__(self, kind: str, n: int, dtype: DType) -> None:
        self.about: tuple[str, int, str] = (kind, n, "complex64" if dtype is dtypes.float32 else "complex128")
        self._kept = _table(*self.about)

    def words(self) -> tuple[int]:
        """One word."""
        return (self._kept.ctypes.data,)

    def data(self) -> tuple[str, str, int, str]:
        """How to make it again."""
        return "roots", *self.about


def linked(kind: str, n: int, dtype: str) -> RootTable:
    """The link of a table."""
    return RootTable(kind, n, dtypes.float32 if dtype == "complex64" else dtypes.float64)
