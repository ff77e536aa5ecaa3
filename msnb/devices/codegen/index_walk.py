"""What a spec of ``x[...]`` (``msnb.ops.shape.index_records``) walks over, for kernels: strides, a table of offsets.

    x [6, 5, 4, 8], spec (:, i, j, :)        place  [A0, A1 | entries of the index tensors | B]
    element (a, q, b) of the place           x[base + a0 s0 + a1 s1 + table[q] + b sb]

    table[q] = i[q] stride(axis of i) + j[q] stride(axis of j)     made first, with every entry checked and wrapped

Slices and ints become strides and the base; neighbouring axes that lie as one are merged.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

from msnb.core import TensorType, sliced_axis
from msnb.ops.shape.index_spec import IndexPlan

Axis = tuple[int, int]
"""Size and stride, in elements."""

OUTER, JOINT = 2, 3
"""Most axes before the entries, and most axes of the index tensors, after merging."""


class IndexTensor(NamedTuple):
    """One index tensor: its strides along the merged joint axes, the size of the axis it indexes, and that stride."""

    strides: tuple[int, ...]
    size: int
    step: int


class IndexWalk(NamedTuple):
    """How a place lies in x.

    Attributes:
        base: offset of the place's first element, without the table.
        outer: two axes before the entries; inner: one axis behind them.
        joint: sizes of the merged axes of the index tensors; tensors: how each is read.
        size: elements of x; shape: of the place.
    """

    base: int
    outer: tuple[Axis, Axis]
    inner: Axis
    joint: tuple[int, ...]
    tensors: tuple[IndexTensor, ...]
    size: int
    shape: tuple[int, ...]

    @property
    def entries(self) -> int:
        """Entries of the table."""
        return math.prod(self.joint)


class PlaceWalk(NamedTuple):
    """How a place lies in x, with as many axes as there are.

    Attributes:
        base: offset of the place's first element, without the table.
        before, behind: the axes in front of the entries and behind them, merged.
        joint: sizes of the merged axes of the index tensors; tensors: how each is read.
    """

    base: int
    before: tuple[Axis, ...]
    behind: tuple[Axis, ...]
    joint: tuple[int, ...]
    tensors: tuple[IndexTensor, ...]

    @property
    def entries(self) -> int:
        """How many there are."""
        return math.prod(self.joint)


def place_walk(x: TensorType, indices: Sequence[TensorType], spec: tuple[Any, ...]) -> PlaceWalk:
    """The walk of a spec with index tensors."""
    plan = IndexPlan("index", x, tuple(indices), spec)
    shape = x.ints()
    strides = [math.prod(shape[k + 1 :]) for k in range(len(shape))]
    base, rest, tensors = _entries(shape, strides, spec)
    sizes = cast(tuple[int, ...], plan.shape[plan.at : plan.at + plan.rank])
    joint, own = _joint(sizes, [t.ints() for t in indices])
    walked = tuple(IndexTensor(s, *t) for s, t in zip(own, tensors))
    return PlaceWalk(base, tuple(_merged(rest[: plan.at])), tuple(_merged(rest[plan.at :])), joint, walked)


def index_walk(x: TensorType, indices: Sequence[TensorType], spec: tuple[Any, ...]) -> IndexWalk | None:
    """The walk of a spec with index tensors; None where it has more axes than kernels of the CPU have loops."""
    walk = place_walk(x, indices, spec)
    if len(walk.before) > OUTER or len(walk.behind) > 1 or len(walk.joint) > JOINT:
        return None
    first, second = [(1, 0)] * (OUTER - len(walk.before)) + list(walk.before)
    place = cast(tuple[int, ...], IndexPlan("index", x, tuple(indices), spec).shape)
    inner = walk.behind[0] if walk.behind else (1, 1)
    return IndexWalk(walk.base, (first, second), inner, walk.joint, walk.tensors, x.size, place)


def _entries(shape: tuple[int, ...], strides: list[int], spec: tuple[Any, ...]) -> Any:
    """The base, the axes that slices leave, and (size, stride) of the axes that tensors index."""
    base, rest, tensors, axis = 0, [], [], 0
    for entry in spec:
        if entry is None:
            rest.append((1, 0))
            continue
        size, stride = shape[axis], strides[axis]
        if entry == "t":
            tensors.append((size, stride))
        elif isinstance(entry, tuple):
            start, count, step = sliced_axis(size, entry)
            base += start * stride
            rest.append((count, step * stride))
        else:
            base += entry % size * stride
        axis += 1
    rest += [(shape[a], strides[a]) for a in range(axis, len(shape))]
    return base, rest, tensors


def _merged(axes: Sequence[Axis]) -> list[Axis]:
    found: list[Axis] = []
    for size, stride in axes:
        if size == 1:
            continue
        if found and found[-1][1] == size * stride:
            found[-1] = found[-1][0] * size, stride
        else:
            found.append((size, stride))
    return found


def _joint(sizes: tuple[int, ...], shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The joint axes merged where every index tensor lies so, and the strides of each tensor along them."""
    own = []
    for shape in shapes:
        full = (*[1] * (len(sizes) - len(shape)), *shape)
        own.append([0 if d == 1 else math.prod(full[k + 1 :]) for k, d in enumerate(full)])
    kept: list[int] = []
    merged: list[list[int]] = [[] for _ in own]
    for k, size in enumerate(sizes):
        if size == 1:
            continue
        if kept and all(m[-1] == size * o[k] for m, o in zip(merged, own)):
            kept[-1] *= size
            for m, o in zip(merged, own):
                m[-1] = o[k]
        else:
            kept.append(size)
            for m, o in zip(merged, own):
                m.append(o[k])
    return tuple(kept), [tuple(m) for m in merged]
