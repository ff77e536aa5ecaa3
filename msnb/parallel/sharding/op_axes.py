"""The axis labels of an op, read: which axes belong together, and what may be done along each.

    matmul    "... m k, ... k n -> ... m n"       m, n free: independent pieces    k reduced: pieces are terms of a sum
    max       "a b^ -> a 1"                       b reduced by maximum
    softmax   whole (!)                           every piece needs all the others: cannot be split
    conv      "n c h~ w~, o c ... -> n o h w"     halo (~): a piece of the windows sees a rim of the neighbours' images
    gather    "a@ b, s -> s b"                    a indexed: a piece answers for its own rows, the others give 0: a sum
    reshape   [b, s, h*d] -> [b, s, h, d]         factored: splitting the long axis splits its first factor

A label has one size; an axis of size 1 that broadcasts against it has no part in the split.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import gcd
from typing import Any

from msnb.core import TensorType
from msnb.ops.definition.record import Op
from msnb.ops.definition.window_geometry import Slide

FREE, SUM, MAX, WHOLE, HALO, INDEXED = "free", "sum", "max", "whole", "halo", "indexed"
SPLIT = frozenset({FREE, SUM, MAX, INDEXED, HALO})  # kinds along which work can be split
_MARKS = {"^": MAX, "!": WHOLE, "~": HALO, "@": INDEXED}
_CLOSED_BY = {"": "sum", "count_nonzero": "sum", **{kind: kind for kind in ("sum", "mean", "max", "min", "any", "all")}}
_SPLITS_ROWS = ("gather",)  # ops whose indexed axis the partitioner knows how to split
_NEVER = frozenset({"effect", "control", "random", "dynamic", "stack"})

Row = tuple[str | None, ...]  # per tensor axis its label; None: never split


@dataclass(frozen=True)
class Label:
    """One axis of an op's loop nest.

    Attributes:
        name: the letter.
        kind: free, sum, max (reduced), whole, halo or indexed.
        size: its length; splits divide it.
        limit: what split counts must divide (smaller than ``size`` where the axis is factored, or where there are fewer
            windows than rows: both are split evenly).
        slide: of a halo label, how windows slide along it; windows: how many there are (``size`` counts rows).
    """

    name: str
    kind: str
    size: int
    limit: int
    slide: Slide | None = None
    windows: int = 0


@dataclass
class OpAxes:
    """Labels of an op at given types.

    Attributes:
        inputs, outputs: rows of labels.
        labels: by name, those that may be split first.
        reducer: how open reductions are closed ("sum", "mean", "max" ...).
        rims: per input, then per output, the halo labels along which it is an image: a rank's own call reads, or makes
            terms for, rows of other ranks.
    """

    inputs: tuple[Row, ...]
    outputs: tuple[Row, ...]
    labels: dict[str, Label] = field(default_factory=dict)
    reducer: str = "sum"
    rims: tuple[tuple[str, ...], ...] = ()

    def splittable(self) -> list[Label]:
        """The labels along which the work can be split."""
        return [label for label in self.labels.values() if label.kind in SPLIT and label.limit > 1]


def read(op: Op, types: Sequence[TensorType], outs: Sequence[TensorType], attrs: Mapping[str, Any]) -> OpAxes:
    """The axes of one call. Ops without labels (and effects, control flow, random draws) are whole."""
    if _NEVER & op.traits or op.axes is None or op.axes == "control" or not all(_static(t) for t in (*types, *outs)):
        return _all_whole(types, outs)
    if op.name == "reshape":
        return _factored(types[0].ints(), outs[0].ints())
    text = op.axes(tuple(types), attrs) if callable(op.axes) else op.axes
    left, _, right = text.partition("->")
    ranks = [t.ndim for t in types]
    inputs = _rows(left, ranks)
    outputs = _rows(right, [t.ndim for t in outs])
    if inputs is None or outputs is None:
        return _all_whole(types, outs)
    return _collected(op, inputs, outputs, types, outs, attrs)


def _static(t: Any) -> bool:
    return isinstance(t, TensorType) and t.is_static


def _all_whole(types: Sequence[Any], outs: Sequence[Any]) -> OpAxes:
    def row(t: Any) -> Row:
        return (None,) * (t.ndim if isinstance(t, TensorType) else 0)

    return OpAxes(tuple(map(row, types)), tuple(map(row, outs)))


Marked = list[list[tuple[str, str]]]  # per tensor and axis its letter, and the kind that its mark says
Marks = Sequence[tuple[list[tuple[str, str]], TensorType]]


def _rows(text: str, ranks: Sequence[int]) -> Marked | None:
    """Letters and marks per tensor; ``...`` becomes as many letters as the tensor has axes left, from the right."""
    parts = [part.split() for part in text.split(",")] if ranks else []
    if len(parts) != len(ranks):
        return None
    out: Marked = []
    for words, ndim in zip(parts, ranks):
        row: list[tuple[str, str]] = []
        for word in words:
            if word == "...":
                gap = ndim - (len(words) - 1)
                row += [(f"...{gap - 1 - i}", "") for i in range(gap)]
            else:
                row.append((word.rstrip("^!~@"), _MARKS.get(word[-1], "")))
        if len(row) != ndim:
            return None
        out.append(row)
    return out


def _collected(op: Op, inputs: Marked, outputs: Marked, types: Any, outs: Any, attrs: Mapping[str, Any]) -> OpAxes:
    tensors = [*zip((*inputs, *outputs), (*types, *outs))]
    slides = op.windows(types, attrs) if op.windows is not None else {}
    labels = {**_labels(op, inputs, outputs, types, tensors), **_halos(slides, tensors)}
    rows = [tuple(name if size > 1 else None for (name, _), size in zip(row, t.ints())) for row, t in tensors]
    rims = tuple(tuple(name for name, mark in row if mark == HALO and name in slides) for row, _ in tensors)
    n = len(inputs)
    return OpAxes(tuple(rows[:n]), tuple(rows[n:]), labels, _CLOSED_BY.get(op.reduction, "sum"), rims)


def _labels(op: Op, inputs: Marked, outputs: Marked, types: Any, tensors: Marks) -> dict[str, Label]:
    """The labels of an op, without how windows slide."""
    sizes: dict[str, set[int]] = {}
    marks: dict[str, str] = {}
    for row, t in tensors:
        for (name, mark), size in zip(row, t.ints()):
            sizes.setdefault(name, set()).add(size)
            marks[name] = mark or marks.get(name, "")
    if INDEXED in marks.values() and "independent_indices" not in op.traits:
        together = (row for row, t in zip(inputs[1:], types[1:]) if t.dtype.is_int)
        marks.update({name: WHOLE for row in together for name, _ in row})
    made = {name for row in outputs for name, _ in row}
    labels = {}
    for name, mark in marks.items():
        lengths = sizes[name] - {1} or {1}  # an axis of size 1 broadcasts
        kind = _kind(op, name, mark or (FREE if name in made else SUM), len(lengths) == 1)
        labels[name] = Label(name, kind, max(lengths), max(lengths))
    return labels


def _kind(op: Op, name: str, marked: str, agree: bool) -> str:
    """What can be done along a label: what its mark says, unless parts cannot be made of it or put together again.

    Args:
        marked: by its mark, or by where the label stands; agree: whether all axes with the label have one length.
    """
    has_parts = (agree or marked == HALO) and name != "1"
    known = {INDEXED: op.name in _SPLITS_ROWS, HALO: op.windows is not None}.get(marked, True)
    return marked if has_parts and known and not _stays_open(op, marked) else WHOLE


def _halos(slides: Mapping[str, Slide], tensors: Marks) -> dict[str, Label]:
    """The labels along which windows slide: split evenly, in rows and in windows."""
    height, windows = _rows_and_windows(tensors)
    return {
        name: Label(name, HALO, height[name], gcd(height[name], windows[name]), slide, windows[name])
        for name, slide in slides.items()
    }


def _stays_open(op: Op, kind: str) -> bool:
    """True for a reduced label whose parts no collective closes: of a product, or of a maximum that the record does not
    call one."""
    return kind in (SUM, MAX) and (op.reduction not in _CLOSED_BY or (kind == MAX and not op.reduction))


def _rows_and_windows(tensors: Iterable[tuple[Any, TensorType]]) -> tuple[dict[str, int], dict[str, int]]:
    """By label: the sizes of marked axes (images), and of axes without a mark (windows)."""
    rows: dict[str, int] = {}
    windows: dict[str, int] = {}
    for row, t in tensors:
        for (name, mark), size in zip(row, t.ints()):
            (rows if mark == HALO else windows)[name] = size
    return rows, windows


def _factored(old: Sequence[int], new: Sequence[int]) -> OpAxes:
    """Runs of axes with equal products correspond; the first axes of two such runs split together."""
    rows: tuple[list[str | None], list[str | None]] = [None] * len(old), [None] * len(new)
    labels: dict[str, Label] = {}
    names = iter(string.ascii_lowercase + string.ascii_uppercase)
    i = j = 0
    while i < len(old) and j < len(new):
        k, m, left, right = i + 1, j + 1, old[i], new[j]
        while left != right and (k < len(old) or m < len(new)):
            if left < right and k < len(old):
                left, k = left * old[k], k + 1
            elif m < len(new):
                right, m = right * new[m], m + 1
            else:
                left, k = left * old[k], k + 1
        a, b = _first(old, i, k), _first(new, j, m)
        if a is not None and b is not None and left == right:
            name = next(names)
            rows[0][a] = rows[1][b] = name
            labels[name] = Label(name, FREE, max(old[a], new[b]), gcd(old[a], new[b]))
        i, j = k, m
    return OpAxes((tuple(rows[0]),), (tuple(rows[1]),), labels)


def _first(shape: Sequence[int], i: int, k: int) -> int | None:
    """The first axis of a run that is longer than 1."""
    return next((a for a in range(i, k) if shape[a] > 1), None)
