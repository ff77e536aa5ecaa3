"""Into blocks and back: what stands in a compiled program where a value's order in memory changes
(``core.storage.memory_format``).

    block      [o, i, h, w] -> [o/16, i/16, h, w, 16, 16]        unblock    the other way; each is the other's adjoint

Elements move and none is made. The blocks are two attributes: ``order`` of the axes' outer parts, and the ``inner``
blocks as (axis, size).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import ShapeError
from msnb.core import TensorType, tensor_type
from msnb.core.storage.memory_format import BlockedFormat
from msnb.ops.definition.operand_checks import one_batched, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, define, moves_only
from msnb.ops.definition.type_inference import operand_lines

FAMILY = "blocked"  # of the records in this module: pictures and the JSON of graphs name it

_PLAIN = np.arange(96.0).reshape(4, 6, 2, 2) / 16
_BLOCKS = BlockedFormat(order=(0, 1, 2, 3), inner=((1, 3), (0, 2)))
_ATTRS = {"order": _BLOCKS.order, "inner": _BLOCKS.inner}
_BLOCKED = _BLOCKS.block(np, _PLAIN)
_MOVES: dict[str, Any] = {"attrs": ("order", "inner"), "work": moves_only, "traits": ("pure", "linear")}


def _all_whole(types: Any, out_types: Any) -> str:
    sides = (" ".join(f"{side}{i}!" for i in range(len(t.shape))) for side, t in zip("ab", (types[0], out_types)))
    return " -> ".join(sides)


def _behind_batch(attrs: dict[str, Any]) -> dict[str, Any]:
    """The blocks of a tensor with one more axis in front."""
    order, inner = attrs["order"], attrs["inner"]
    return {"order": (0, *(a + 1 for a in order)), "inner": tuple((a + 1, size) for a, size in inner)}


# ---- block ----


def _block_type(x: TensorType, *, order: Any, inner: Any) -> TensorType:
    blocks = BlockedFormat(order, inner)
    if not x.is_static or not blocks.fits(x.ints()):
        raise ShapeError(
            f"block: {x!r} does not divide into blocks {list(inner)}.",
            operands=operand_lines(x),
            hint="order names every axis once; inner is (axis, size), and the sizes divide the axis.",
        )
    return tensor_type(blocks.shape(x.ints()), strong_dtype(x))


BLOCK: Op = define(
    "block",
    "x",
    infer=_block_type,
    body=lambda xp, x, *, order, inner: BlockedFormat(order, inner).block(xp, x),
    grad=lambda dout, order, inner: UNBLOCK(dout, order=order, inner=inner),
    axes=lambda types, attrs: _all_whole(types, _block_type(types[0], **attrs)),
    batch=one_batched(lambda x, **attrs: BLOCK(x, **_behind_batch(attrs))),
    **_MOVES,
    doc="A tensor in blocks: another order of its elements in memory.",
    examples=(Example((_PLAIN,), _ATTRS), Example((_PLAIN,), {"order": (0, 2, 3, 1), "inner": ((0, 2),)})),
    wrong=(InvalidExample((_PLAIN,), {**_ATTRS, "inner": ((1, 4),)}, "does not divide into blocks", ShapeError),),
)


# ---- unblock ----


def _unblock_type(x: TensorType, *, order: Any, inner: Any) -> TensorType:
    ends = tuple(size for _, size in inner)
    if not x.is_static or len(x.shape) != len(order) + len(ends) or x.ints()[len(order) :] != ends:
        raise ShapeError(
            f"unblock: {x!r} does not lie in blocks {list(inner)}.",
            operands=operand_lines(x),
            hint="the last axes are the inner blocks, with their sizes.",
        )
    return tensor_type(BlockedFormat(order, inner).dims(x.ints()), strong_dtype(x))


UNBLOCK: Op = define(
    "unblock",
    "x",
    infer=_unblock_type,
    body=lambda xp, x, *, order, inner: BlockedFormat(order, inner).unblock(xp, x),
    grad=lambda dout, order, inner: BLOCK(dout, order=order, inner=inner),
    axes=lambda types, attrs: _all_whole(types, _unblock_type(types[0], **attrs)),
    batch=one_batched(lambda x, **attrs: UNBLOCK(x, **_behind_batch(attrs))),
    **_MOVES,
    doc="The plain tensor of one in blocks.",
    examples=(Example((_BLOCKED,), _ATTRS),),
    wrong=(InvalidExample((_PLAIN,), _ATTRS, "does not lie in blocks", ShapeError),),
)
