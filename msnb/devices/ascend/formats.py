"""How the cube wants its operands: blocks of 16x16, laid out so that each is one piece of memory.

    NC1HWC0      images [n, c, h, w]  ->  [n, c1, h, w, 16]            c = c1 * 16, zeros behind the last channel
    FRACTAL_NZ   matrices [.., m, k]  ->  [.., k1, m1, 16, 16]         blocks in columns (N), rows inside (Z)
    FRACTAL_Z    filters [o, c, i, j] ->  [c1*i*j, o1, 16, 16]         a block of the product that im2col makes

       m\\k  0..15   16..31                    NZ: block (0,0), (0,1) below it ... then the next 16 columns
      0..15  (0,0)   (1,0)
     16..31  (0,1)   (1,1)

Padding costs memory, bandwidth and cube time: 3 channels take the room of 16. Converting is a kernel that reads and
writes everything once; the simulator puts one wherever formats meet (``kernels``).
Source: https://www.hiascend.com/document (data layout format: NC1HWC0, FRACTAL_NZ, FRACTAL_Z).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ShapeError
from msnb.core import Array

C0 = 16


def blocks(n: int) -> int:
    """How many blocks of 16 hold n."""
    return -(-n // C0)


def padded_bytes(shape: Sequence[int], form: str, itemsize: int = 2) -> int:
    """Bytes of a tensor in a format, padding included.

    Args:
        shape: of the plain tensor: [n, c, h, w], [.., m, k] or [o, c, i, j].
        form: "NC1HWC0", "FRACTAL_NZ" or "FRACTAL_Z".

    Raises:
        ValueError: another format, or a shape that has none.

    Examples:
        >>> padded_bytes((32, 3, 224, 224), "NC1HWC0") // padded_bytes((32, 1, 224, 224), "NC1HWC0")
        1
    """
    s = tuple(shape)
    _need(form, len(s))
    if form == "NC1HWC0":
        return s[0] * blocks(s[1]) * C0 * s[2] * s[3] * itemsize
    if form == "FRACTAL_NZ":
        return math.prod(s[:-2]) * blocks(s[-2]) * blocks(s[-1]) * C0 * C0 * itemsize
    return blocks(s[1]) * s[2] * s[3] * blocks(s[0]) * C0 * C0 * itemsize


def _need(form: str, ndim: int) -> None:
    wanted = {"NC1HWC0": (4, 4), "FRACTAL_NZ": (2, 99), "FRACTAL_Z": (4, 4)}
    if form not in wanted:
        raise ShapeError(f"no format is called {form!r}; legal: {', '.join(wanted)}.")
    low, high = wanted[form]
    if not low <= ndim <= high:
        raise ShapeError(f"{form} holds tensors of {low if low == high else f'{low} or more'} axes, got {ndim}.")


def _filled(x: Array, axes: dict[int, int]) -> Array:
    """Zeros behind the end of some axes."""
    return np.pad(x, [(0, axes.get(i, n) - n) for i, n in enumerate(x.shape)])


def to_nc1hwc0(x: Any) -> Array:
    """Images [n, c, h, w] as [n, c1, h, w, 16].

    Examples:
        >>> to_nc1hwc0(np.ones((2, 3, 4, 5))).shape
        (2, 1, 4, 5, 16)
    """
    a = np.asarray(x)
    _need("NC1HWC0", a.ndim)
    n, c, h, w = a.shape
    c1 = blocks(c)
    return np.asarray(_filled(a, {1: c1 * C0}).reshape(n, c1, C0, h, w).transpose(0, 1, 3, 4, 2), order="C")


def from_nc1hwc0(x: Any, channels: int) -> Array:
    """The way back; ``channels`` of them are kept."""
    a = np.asarray(x)
    n, c1, h, w, c0 = a.shape
    return np.asarray(a.transpose(0, 1, 4, 2, 3).reshape(n, c1 * c0, h, w)[:, :channels], order="C")


def to_nz(x: Any) -> Array:
    """Matrices [.., m, k] as [.., k1, m1, 16, 16]."""
    a = np.asarray(x)
    _need("FRACTAL_NZ", a.ndim)
    *lead, m, k = a.shape
    m1, k1, d = blocks(m), blocks(k), len(lead)
    a = _filled(a, {d: m1 * C0, d + 1: k1 * C0}).reshape(*lead, m1, C0, k1, C0)
    return np.asarray(a.transpose(*range(d), d + 2, d, d + 1, d + 3), order="C")


def from_nz(x: Any, m: int, k: int) -> Array:
    """The way back to [.., m, k]."""
    a = np.asarray(x)
    *lead, k1, m1, c, c0 = a.shape
    d = len(lead)
    a = a.transpose(*range(d), d + 1, d + 2, d, d + 3).reshape(*lead, m1 * c, k1 * c0)
    return np.asarray(a[..., :m, :k], order="C")


def to_z(w: Any) -> Array:
    """Filters [o, c, i, j] as [c1*i*j, o1, 16, 16]: rows are outputs, columns input channels."""
    a = np.asarray(w)
    _need("FRACTAL_Z", a.ndim)
    o, c, i, j = a.shape
    o1, c1 = blocks(o), blocks(c)
    a = _filled(a, {0: o1 * C0, 1: c1 * C0}).reshape(o1, C0, c1, C0, i, j)
    return np.asarray(a.transpose(2, 4, 5, 0, 1, 3).reshape(c1 * i * j, o1, C0, C0), order="C")


def from_z(x: Any, shape: Sequence[int]) -> Array:
    """The way back to filters of ``shape`` [o, c, i, j]."""
    a, (o, c, i, j) = np.asarray(x), shape
    a = a.reshape(blocks(c), i, j, blocks(o), C0, C0).transpose(3, 4, 0, 5, 1, 2)
    return np.asarray(a.reshape(blocks(o) * C0, blocks(c) * C0, i, j)[:o, :c], order="C")
