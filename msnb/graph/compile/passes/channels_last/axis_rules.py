"""Channels-last by arithmetic on axes: how each operation reads when its images are turned.

    NCHW      axes 0 1 2 3            turned: n h w c, that is old axis 1 stands at 3, 2 at 1, 3 at 2
    mean(x, axis=(2, 3))              mean(x', axis=(1, 2))
    concat(x, y, axis=1)              concat(x', y', axis=3)
    add(x, b) with b of [c,1,1]       add(x', b') with b' of [c]: a reshape, for nothing but c is longer than 1

``turned_attrs`` answers for one node: its attributes on turned images, or None where it needs them as they are.
An image here is any value of four axes whose sizes are known. Its turning is *free*, a reshape, where no two axes
longer than 1 change their order: [n,1,h,w] and [n,c,1,1].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.core import Shape, TensorType
from msnb.ir.graph import Node, Value
from msnb.ops.definition import NHWC, TO_LAST, has_sizes, normal_axes

Attrs = dict[str, Any]


def is_image(value: Value) -> bool:
    """True for a tensor of four axes of known sizes."""
    t = value.type
    return isinstance(t, TensorType) and len(t.shape) == 4 and has_sizes(t)


def shape_of(value: Value) -> Shape:
    """The sizes of a tensor."""
    assert isinstance(value.type, TensorType)
    return value.type.shape


def turned(items: Sequence[Any]) -> tuple[Any, ...]:
    """What belongs to the four axes, in the order of the turned ones."""
    return tuple(items[p] for p in TO_LAST)


def four(shape: Shape) -> Shape:
    """The shape with axes of size 1 in front until there are four."""
    return (1,) * (4 - len(shape)) + tuple(shape)


def is_free(shape: Shape) -> bool:
    """True where turning (the shape as four axes) moves no element."""
    _, channels, rows, columns = four(shape)
    return channels == 1 or (rows == 1 and columns == 1)


def small(shape: Shape) -> Shape:
    """The turned shape without its leading ones: it broadcasts with turned images as ``shape`` does with plain ones."""
    found = turned(four(shape))
    while found and found[0] == 1:
        found = found[1:]
    return found


def is_seed(node: Node) -> bool:
    """True for an operation that wants channels last (a convolution, a pooling) on plain images of known sizes."""
    if not node.op.images or node.attrs["data_format"] == NHWC:
        return False
    return all(is_image(node.inputs[i]) for i in node.op.images if i >= 0)


# ---- the rules ----


def _as_it_is(node: Node) -> Attrs | None:
    return node.attrs


def _shaped(node: Node) -> Attrs | None:
    shape = node.attrs["shape"]
    return {**node.attrs, "shape": turned(shape)} if len(shape) == 4 else None


def _sum_to(node: Node) -> Attrs | None:
    shape = node.attrs["shape"]
    if len(shape) == 4:
        return {"shape": turned(shape)}
    return {"shape": small(shape)} if is_free(shape) else None


def _reduced(node: Node) -> Attrs | None:
    axis = node.attrs["axis"]
    if axis is None:
        return node.attrs
    axes = normal_axes(node.op.name, axis, 4)
    left = [a for a in TO_LAST if a not in axes]
    if not node.attrs["keepdims"] and left != sorted(left):
        return None
    return {**node.attrs, "axis": tuple(sorted(map(_now, axes)))}


def _now(axis: int) -> int:
    """Where an axis of plain images stands in turned ones."""
    return TO_LAST.index(axis % 4)


def _along(node: Node) -> Attrs | None:
    return {**node.attrs, "axis": _now(node.attrs["axis"])} if isinstance(node.attrs["axis"], int) else None


def _boxed(node: Node) -> Attrs | None:
    """A box names the leading axes; turned, it must name all four."""
    missing = 4 - len(node.attrs["begin"])
    fill = {"begin": None, "end": None, "step": 1}
    box = {k: turned((*node.attrs[k], *(v,) * missing)) for k, v in fill.items()}
    return {**node.attrs, **box} if "shape" not in node.attrs else {"shape": turned(node.attrs["shape"]), **box}


_RULES: dict[str, Callable[[Node], Attrs | None]] = {
    **dict.fromkeys(("zeros", "ones", "full", "broadcast_to"), _shaped),
    **dict.fromkeys(("concat", "split"), _along),
    **dict.fromkeys(("slice", "unslice", "slice_update"), _boxed),
    "pad": lambda node: {**node.attrs, "pads": turned(node.attrs["pads"])},
}


def turned_attrs(node: Node) -> Attrs | None:
    """The attributes of ``node`` on turned images; None where it has no images or needs them plain."""
    if is_seed(node):
        return {**node.attrs, "data_format": NHWC}
    rule = _as_it_is if "elementwise" in node.op.traits else _RULES.get(node.op.name)
    if node.op.reduction:
        rule = _reduced if "axis" in node.attrs else _sum_to
    if rule is None or not all(map(_can_turn, node.inputs)):
        return None
    read, made = (any(map(is_image, vs)) for vs in (node.inputs, node.outputs))
    if not made and (not read or not node.op.reduction):
        return None
    return rule(node) if all(map(_can_turn, node.outputs)) else None


def _can_turn(value: Value) -> bool:
    """Values of more axes are no images, and sizes must be known."""
    t = value.type
    return isinstance(t, TensorType) and len(t.shape) <= 4 and has_sizes(t)
