"""Where the alias answers otherwise than MindSpore: ``python compare.py THERE HERE``, two pickles of ``answers.py``.

A line for each name and kind of difference, with the first pattern that shows it:

    raises      MindSpore gives a result, the alias an error
    count       another number of results
    type        another dtype or shape
    values      other numbers (beyond what rounding explains)
    gradient    the results agree, their gradients do not
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


class Difference(NamedTuple):
    """One line."""

    name: str
    kind: str
    pattern: str
    words: str


def read(path: Path) -> dict[str, dict[str, Any]]:
    """Name -> pattern -> answer; of a name that stands twice the later."""
    found: dict[str, dict[str, Any]] = {}
    with path.open("rb") as f:
        while True:
            try:
                name, answers = pickle.load(f)
            except EOFError:
                return found
            found[name] = answers


def close(x: Any, y: Any) -> bool:
    """Equal, or as near as float32 (half precision: as its own digits) lets it be."""
    if x.dtype.kind not in "fc":
        return bool((x == y).all())
    coarse = 1e-2 if min(x.dtype.itemsize, y.dtype.itemsize) == 2 else 1e-4
    return bool(np.allclose(x, y, rtol=coarse, atol=coarse, equal_nan=True))


def differing(mine: list[Any], theirs: list[Any]) -> tuple[str, str] | None:
    """(kind, words) of the first difference of two lists of results."""
    if len(mine) != len(theirs):
        return "count", f"{len(theirs)} there, {len(mine)} here"
    for ours, other in zip(mine, theirs):
        if not isinstance(other, np.ndarray):
            if isinstance(other, str) or isinstance(ours, str) or np.array_equal(ours, other, equal_nan=True):
                continue
            return "values", f"{other} there, {np.ravel(ours)[:6]} here"
        if not isinstance(ours, np.ndarray):
            return "type", f"a tensor there, {type(ours).__name__} here"
        if (ours.dtype, ours.shape) != (other.dtype, other.shape):
            return "type", f"{other.dtype}{list(other.shape)} there, {ours.dtype}{list(ours.shape)} here"
        if not close(ours, other):
            return "values", f"{other.ravel()[:6]} there, {ours.ravel()[:6]} here"
    return None


def compared(name: str, theirs: dict[str, Any], ours: dict[str, Any]) -> Iterator[Difference]:
    """The differences of one name."""
    for pattern, other in theirs.items():
        mine = ours.get(pattern)
        if other[0] != "ok" or mine is None:
            continue
        if mine[0] != "ok":
            yield Difference(name, "raises", pattern, f"{mine[1]}: {mine[2].splitlines()[0] if mine[2] else ''}")
            continue
        found = differing(mine[1], other[1])
        if found is None and isinstance(other[2], list):
            if not isinstance(mine[2], list):
                yield Difference(name, "gradient", pattern, f"{mine[2]}"[:160])
                continue
            found = differing(mine[2], other[2])
            if found is not None:
                found = "gradient", found[1]
        if found is not None:
            yield Difference(name, found[0], pattern, found[1])


def main(there: Path, here: Path) -> None:
    theirs, ours = read(there), read(here)
    agreed = 0
    for name, answers in theirs.items():
        seen: dict[str, list[Difference]] = {}
        for d in compared(name, answers, ours.get(name, {})):
            seen.setdefault(d.kind, []).append(d)
        agreed += sum(a[0] == "ok" for a in answers.values()) - sum(map(len, seen.values()))
        for kind, found in seen.items():
            first = found[0]
            print(f"{kind:9}{name} {first.pattern} [{len(found)}]: {' '.join(first.words.split())[:220]}")
    print(f"{agreed} calls of {len(theirs)} names agree")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
