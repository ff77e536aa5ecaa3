"""Where the cuts of `split` fall.

sizes [0.7, 0.2, 0.1] of 25 rows:   17.5  5.0  2.5  ->  17  5  2, one row left  ->  18  5  2
                                    fractions round down; what is left goes to the first parts, one row each
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from msnb.base import ArgumentError, AttributeValueError


def bounds(sizes: Sequence[int] | Sequence[float], total: int) -> list[tuple[int, int]]:
    """The half-open range of each part, in 0..total.

    Raises:
        TypeError, ValueError: sizes of mixed kinds, empty parts, or sizes that do not add up.

    >>> bounds([0.7, 0.2, 0.1], 25)
    [(0, 18), (18, 23), (23, 25)]
    """
    listed = list(sizes) if isinstance(sizes, (list, tuple)) else []
    if not listed:
        raise ArgumentError(f"split expects a list of sizes, got {sizes!r}")
    # 1 is a row and 1.0 is everything, so the kinds do not mix
    if all(isinstance(s, int) and not isinstance(s, bool) for s in listed):
        rows = _of_rows([int(s) for s in listed], total)
    elif all(isinstance(s, float) for s in listed):
        rows = _of_fractions(listed, total)
    else:
        raise ArgumentError(f"split expects all integers (rows) or all floats (fractions), got {listed}")
    ends = list(itertools.accumulate(rows))
    return [(end - size, end) for size, end in zip(rows, ends, strict=True)]


def _of_rows(sizes: list[int], total: int) -> list[int]:
    if min(sizes) <= 0 or sum(sizes) > total:
        raise AttributeValueError(
            f"split: sizes {sizes} must be positive and add up to at most the {total} rows, they give {sum(sizes)}"
        )
    return sizes


def _of_fractions(sizes: list[float], total: int) -> list[int]:
    if not all(0 < s <= 1 for s in sizes) or not math.isclose(sum(sizes), 1.0, abs_tol=1e-6):
        raise AttributeValueError(
            f"split: fractions {sizes} must lie in (0, 1] and add up to 1, they give {sum(sizes)}"
        )
    rows = [math.floor(s * total + 1e-9) for s in sizes]
    for index in range(total - sum(rows)):
        rows[index] += 1
    if min(rows) == 0:
        raise AttributeValueError(f"split: of {total} rows the fractions {sizes} leave a part empty: {rows}")
    return rows
