"""Philox4x32-10: random bits as a function of a key and a counter, so that any draw can be computed anywhere.

    counter (4 words of 32 bits), key (2 words)  ->  4 words that pass every known statistical test

One round multiplies two words with constants and mixes the four halves of the products with the others and the key;
ten rounds, the key growing by two more constants (the golden ratio and sqrt(3) - 1) each.

    key     = (seed low, seed high)
    counter = (block low, block high, draw low, draw high)      block = index of a group of four words

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC11.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = 0x9E3779B9, 0xBB67AE85
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
ROUNDS = 10


def philox(xp: Any, counter: tuple[Any, Any, Any, Any], key: tuple[Any, Any]) -> tuple[Any, Any, Any, Any]:
    """Four uint64 arrays that hold words of 32 bits, from four such arrays and two such key words."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (p1 >> _HALF) ^ c1 ^ k0, p1 & _LOW, (p0 >> _HALF) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + np.uint64(_W0)) & _LOW, (k1 + np.uint64(_W1)) & _LOW
    return c0, c1, c2, c3


def words(xp: Any, key: Any, n: int) -> Any:
    """The first ``n`` 32-bit words of a draw, as uint64. ``key``: uint64[2] = (seed, draw index)."""
    blocks = -(-n // 4)
    index = xp.arange(blocks, dtype=np.uint64)
    zero = xp.zeros(blocks, np.uint64)
    seed, draw = key[0:1], key[1:2]
    counter = (index & _LOW, index >> _HALF, zero + (draw & _LOW), zero + (draw >> _HALF))
    return xp.stack(philox(xp, counter, (seed & _LOW, seed >> _HALF)), axis=1).reshape(-1)[:n]


def wide_words(xp: Any, key: Any, n: int) -> Any:
    """The first ``n`` 64-bit words of a draw: two 32-bit words each, low half first."""
    halves = words(xp, key, 2 * n).reshape(n, 2)
    return halves[:, 0] | (halves[:, 1] << _HALF)
