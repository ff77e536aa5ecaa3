"""Random draws for many rows at once: what a generator of NumPy would draw for each row, bit by bit.

    row 118   SeedSequence(seed, spawn_key=(*key, 118)) -> PCG64 -> integers(9), integers(9), random()
    rows      the same sequence of draws for all rows: each draw is an array, one entry per row

A generator of NumPy takes 15 microseconds to make, longer than a small image takes. Seed and path are the same for all
rows but for the last word of the path, so they are mixed once, in Python's integers; the rest is arithmetic of unsigned
integers on arrays. `exact()` compares with NumPy once per process: where a later NumPy draws otherwise, rows draw one
by one again.

Source: O'Neill, "PCG", 2014 (generator XSL-RR 128/64); NumPy's documentation of SeedSequence; Lemire, "Fast Random
Integer Generation in an Interval", 2019.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.dataset.pipeline.rows import Array

_LOW = 0xFFFFFFFF
_INIT_A, _MULT_A, _INIT_B, _MULT_B = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_MIX_LEFT, _MIX_RIGHT = 0xCA01F9DD, 0x4973F715
_POOL = 4
_STEP = 0x2360ED051FC65DA44385DF649FCCF645
_HALF = np.uint64(32)


class _Hash:
    """Mixes words, each with the next of a sequence of constants; of Python's integers and of arrays uint32."""

    def __init__(self, first: int, factor: int) -> None:
        self.constant, self.factor = first, factor

    def __call__(self, value: Any) -> Any:
        before, self.constant = self.constant, self.constant * self.factor & _LOW
        if isinstance(value, int):
            value = (value ^ before) * self.constant & _LOW
            return value ^ value >> 16
        value = (value ^ np.uint32(before)) * np.uint32(self.constant)
        return value ^ value >> np.uint32(16)


def _mixed(x: int, y: Any) -> Any:
    if isinstance(y, int):
        found = (_MIX_LEFT * x - _MIX_RIGHT * y) & _LOW
        return found ^ found >> 16
    found = np.uint32(_MIX_LEFT * x & _LOW) - np.uint32(_MIX_RIGHT) * y
    return found ^ found >> np.uint32(16)


def _words(number: int) -> list[int]:
    """An integer as words of 32 bits, the lowest first, at least one."""
    out = [number & _LOW]
    while number := number >> 32:
        out.append(number & _LOW)
    return out


def _pools(seed: int, key: Sequence[int], rows: Array) -> list[Array]:
    """The four mixed words of each row."""
    words = _words(seed)
    words += [0] * (_POOL - len(words))
    for part in key:
        words += _words(part)
    hashed = _Hash(_INIT_A, _MULT_A)
    pool: list[Any] = [hashed(word) for word in words[:_POOL]]
    for source in range(_POOL):
        for target in range(_POOL):
            if source != target:
                pool[target] = _mixed(pool[target], hashed(pool[source]))
    for word in [*words[_POOL:], rows.astype(np.uint32)]:
        pool = [_mixed(part, hashed(word)) for part in pool]
    return pool


def _states(pool: list[Array]) -> list[Array]:
    """Four words of 64 bits for each row."""
    hashed = _Hash(_INIT_B, _MULT_B)
    words = [hashed(pool[i % _POOL]).astype(np.uint64) for i in range(2 * _POOL)]
    return [words[i] | words[i + 1] << _HALF for i in range(0, 2 * _POOL, 2)]


def _product(high: Array, low: Array) -> tuple[Array, Array]:
    """A number of 128 bits times the constant of the generator's step."""
    mult_high, mult_low = np.uint64(_STEP >> 64), np.uint64(_STEP & 0xFFFFFFFFFFFFFFFF)
    a, b = low & np.uint64(_LOW), low >> _HALF
    c, d = mult_low & np.uint64(_LOW), mult_low >> _HALF
    ac, bc, ad = a * c, b * c, a * d
    middle = (ac >> _HALF) + (bc & np.uint64(_LOW)) + (ad & np.uint64(_LOW))
    upper = b * d + (bc >> _HALF) + (ad >> _HALF) + (middle >> _HALF)
    return upper + high * mult_low + low * mult_high, low * mult_low


class RowDraws:
    """The draws of many rows; each row draws what its own generator would.

    Args:
        seed, key: a path without the number of the row; rows: their numbers, from 0 to 2**32 - 1.

    >>> draws = RowDraws(7, (0, 0, 2, 3), np.arange(3))
    >>> one = np.random.Generator(np.random.PCG64(np.random.SeedSequence(7, spawn_key=(0, 0, 2, 3, 1))))
    >>> bool(draws.integers(9)[1] == one.integers(9)), bool(draws.random()[1] == one.random())
    (True, True)
    """

    def __init__(self, seed: int, key: Sequence[int], rows: Array) -> None:
        self._path, self._begun = (seed, key, rows), False  # most chains draw, some do not

    def _begin(self) -> None:
        seed, key, rows = self._path
        self._begun = True
        first, second, third, fourth = _states(_pools(seed, key, rows))
        self._step_high = third << np.uint64(1) | fourth >> np.uint64(63)
        self._step_low = fourth << np.uint64(1) | np.uint64(1)
        self._high, self._low = self._step_high, self._step_low
        self._add(first, second)
        self._advance()
        self._kept = np.zeros(len(rows), np.uint64)  # the upper half of a word that was drawn for its lower half
        self._has = np.zeros(len(rows), bool)

    def random(self) -> Array:
        """float64, one per row, from 0 to below 1."""
        return (self._word() >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def integers(self, high: int) -> Array:
        """int64, one per row, from 0 to below ``high``, which is at most 2**32 - 1."""
        if high == 1:
            return np.zeros(len(self._path[2]), np.int64)
        found = self._half() * np.uint64(high)
        threshold = np.uint64((2**32 - high) % high)
        again = (found & np.uint64(_LOW)) < threshold
        while again.any():
            other = self._half(again) * np.uint64(high)
            found = np.where(again, other, found)
            again &= (found & np.uint64(_LOW)) < threshold
        return (found >> _HALF).astype(np.int64)

    def _add(self, high: Array, low: Array) -> None:
        total = self._low + low
        self._high = self._high + high + (total < low).astype(np.uint64)
        self._low = total

    def _advance(self) -> None:
        self._high, self._low = _product(self._high, self._low)
        self._add(self._step_high, self._step_low)

    def _word(self, where: Array | None = None) -> Array:
        """The next 64 bits of each row (that is asked for)."""
        if not self._begun:
            self._begin()
        before = self._high, self._low
        self._advance()
        if where is not None:
            self._high, self._low = (np.where(where, new, old) for new, old in zip((self._high, self._low), before))
        folded: Array = self._high ^ self._low
        turn: Array = self._high >> np.uint64(58)
        out: Array = folded >> turn | folded << (np.uint64(64) - turn & np.uint64(63))
        return out

    def _half(self, where: Array | None = None) -> Array:
        """The next 32 bits: a word gives its lower half, then its upper one."""
        if not self._begun:
            self._begin()
        asked = np.ones(len(self._has), bool) if where is None else where
        fresh, held = asked & ~self._has, asked & self._has
        out, keeps = self._kept, self._has & ~held
        if fresh.any():
            word = self._word(None if fresh.all() else fresh)
            out = np.where(fresh, word & np.uint64(_LOW), out)
            self._kept = np.where(fresh, word >> _HALF, self._kept)
        self._has = keeps | fresh
        return out


@functools.lru_cache(maxsize=1)
def exact() -> bool:
    """Whether the NumPy at hand draws what is drawn here."""
    seed, key, rows = 2**40 + 5, (3, 1, 2**33), np.array([0, 1, 117, 2**32 - 1])
    many = RowDraws(seed, key, rows)
    found = [many.integers(9), many.random(), many.integers(3 << 30), many.integers(5), many.integers(2), many.random()]
    for place, row in enumerate(rows):
        path = np.random.SeedSequence(seed, spawn_key=(*key, int(row)))
        one = np.random.Generator(np.random.PCG64(path))
        wanted = [one.integers(9), one.random(), one.integers(3 << 30), one.integers(5), one.integers(2), one.random()]
        if [draw[place] for draw in found] != wanted:
            return False
    return True
