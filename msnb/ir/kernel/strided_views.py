"""Views as arithmetic: where the elements of a reshaped, transposed, sliced or broadcast value lie in its base.

A View is a base value, a shape, a stride per axis (in elements of the dense base; 0 where broadcast) and an offset.
Applying a view op to a View gives a View, or None where no strides can say it (a reshape of a transposed value).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msnb.core import TensorType, sliced_axis
from msnb.ir.graph import Node, Value


@dataclass(frozen=True)
class View:
    """Elements of ``base`` (which is dense) under other axes."""

    base: Value
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int = 0


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Strides, in elements, of a dense tensor."""
    out, step = [], 1
    for d in reversed(shape):
        out.append(step)
        step *= d
    return tuple(reversed(out))


def whole(value: Value) -> View:
    """A value as it is."""
    assert isinstance(value.type, TensorType)
    shape = value.type.ints()
    return View(value, shape, dense_strides(shape))


def strided(value: Value, strides: Sequence[int]) -> View | None:
    """An operand with strides in bytes; None where elements repeat, run backwards or lie between others."""
    assert isinstance(value.type, TensorType)
    size, shape = value.type.dtype.numpy.itemsize, value.type.ints()
    if any(d > 1 and (s <= 0 or s % size) for d, s in zip(shape, strides)):
        return None
    return View(value, shape, tuple(max(s, 0) // size for s in strides))


def apply_view(node: Node, x: View) -> View | None:
    """The View that a view node makes of ``x``, or None."""
    out = node.out.type
    assert isinstance(out, TensorType)
    shape, kind = out.ints(), node.op.view
    if kind == "transpose":
        perm = node.attrs["perm"]
        return View(x.base, shape, tuple(x.strides[p] for p in perm), x.offset)
    if kind == "broadcast":
        return View(x.base, shape, _broadcast_strides(x, shape), x.offset)
    if kind == "slice":
        return sliced(x, shape, node.attrs)
    if kind == "index":
        return index_view(x, node.attrs["spec"]) if len(node.inputs) == 1 else None
    strides = regrouped(x.shape, x.strides, shape)
    return None if strides is None else View(x.base, shape, strides, x.offset)


def _broadcast_strides(x: View, shape: tuple[int, ...]) -> tuple[int, ...]:
    gap = len(shape) - len(x.shape)
    return (0,) * gap + tuple(0 if old != new else s for old, new, s in zip(x.shape, shape[gap:], x.strides))


def index_view(x: View, spec: Sequence[Any]) -> View:
    """What a spec of ``x[...]`` without index tensors picks: ints, (start, stop, step) and None for a new axis."""
    shape, strides, offset, axis = list[int](), list[int](), x.offset, 0
    for entry in spec:
        if entry is None:
            shape.append(1)
            strides.append(0)
            continue
        size, stride = x.shape[axis], x.strides[axis]
        axis += 1
        if isinstance(entry, tuple):
            first, count, step = sliced_axis(size, entry)
            shape.append(count)
            strides.append(stride * step)
            offset += first * stride
        else:
            offset += int(entry) % size * stride
    return View(x.base, (*shape, *x.shape[axis:]), (*strides, *x.strides[axis:]), offset)


def sliced(x: View, shape: tuple[int, ...], attrs: dict[str, Any]) -> View:
    """The place that a slice names; ``shape`` is its own."""
    strides, offset = list(x.strides), x.offset
    for i, (begin, end, step) in enumerate(zip(attrs["begin"], attrs["end"], attrs["step"])):
        first = sliced_axis(x.shape[i], (begin, end, step))[0]
        offset += first * x.strides[i]
        strides[i] = x.strides[i] * (1 if step is None else step)
    return View(x.base, shape, tuple(strides), offset)


def regrouped(old: tuple[int, ...], strides: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...] | None:
    """Strides after a reshape, or None where elements would have to move.

    Axes are matched in runs with the same product: [2, 12] -> [2, 3, 4] has the runs 2 = 2 and 12 = 3 * 4. Within a
    run, the old axes must lie densely behind one another.
    """
    a = [(d, s) for d, s in zip(old, strides) if d != 1]
    out: list[int] = []
    i = j = 0
    while j < len(new):
        if new[j] == 1:
            out.append(0)
            j += 1
            continue
        if i >= len(a):
            return None
        left, right, last = a[i][0], new[j], j
        while left != right:
            if left < right:
                i += 1
                left *= a[i][0]
                if a[i - 1][1] != a[i][1] * a[i][0]:
                    return None
            else:
                last += 1
                right *= new[last]
        step = a[i][1]
        run = dense_strides(new[j : last + 1])
        out.extend(0 if d == 1 else r * step for d, r in zip(new[j : last + 1], run))
        i, j = i + 1, last + 1
    return tuple(out)
