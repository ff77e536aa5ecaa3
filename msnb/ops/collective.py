"""Collectives that a program places itself: every rank runs the same call on its own tensor, and they talk.

    all_reduce       x0 + x1 + ...   on every rank          adjoint: all_reduce
    all_gather       [x0, x1, ...]   on every rank          adjoint: reduce_scatter
    reduce_scatter   rank i has part i of x0 + x1 + ...     adjoint: all_gather
    all_to_all       part i goes to rank i                  adjoint: all_to_all, the axes changed over
    broadcast        the root's tensor on every rank        adjoint: reduce to the root
    neighbors        some tensors to some ranks             adjoint: the same way back

Gradients are those of the sum of all ranks' losses: the rank whose tensor was used by others gets the sum of what they
found. Losses of which every rank has the same (behind an all_reduce) therefore count once per rank, as in MindSpore.

A group is a tuple of ranks in the record (the name is looked up when the op is called), so a program says on its own
who talks to whom. Who the others are is the world's business (``core.process_group``): alone, a group has one member
and every collective is the identity. Records have the trait ``effect``: ranks wait for each other, so no pass may drop
or swap them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import WORLD_GROUP, Tensor, TensorType, as_dtype, float64, members_of, process_group, tensor_type
from msnb.ops.definition import example_inputs
from msnb.ops.definition.record import REQUIRED, Example, InvalidExample, Op, define, moves_only
from msnb.ops.definition.type_inference import normal_axis, operand_lines
from msnb.ops.elementwise.comparison import equal, where
from msnb.ops.shape.creation import zeros_like

__all__ = ["ReduceOp", "all_gather", "all_reduce", "all_to_all", "broadcast", "neighbor_exchange", "reduce_scatter"]

_LABELS = "abcdefghijklmnopqrstuvwxyz"
_ONE = (0,)


class ReduceOp:
    """How a collective reduces, in MindSpore's words."""

    SUM = "sum"
    MAX = "max"
    MIN = "min"
    PROD = "prod"


REDUCTIONS = (ReduceOp.SUM, ReduceOp.MAX, ReduceOp.MIN, ReduceOp.PROD)


def _need_reduction(name: str, op: str) -> None:
    if op not in REDUCTIONS:
        raise AttributeValueError(f"{name}: op={op!r} is not legal; legal: {', '.join(map(repr, REDUCTIONS))}.")


def _only_sums(name: str, op: str) -> None:
    if op != "sum":
        raise AttributeValueError(f"{name}: op={op!r} has no gradient; legal with a gradient: 'sum'.")


def _along(types: Sequence[Any], *axes: int) -> str:
    """Labels of an op that keeps all axes but some."""
    labels = list(_LABELS[: types[0].ndim])
    for axis in axes:
        labels[axis] = labels[axis].rstrip("!") + "!"
    return f"{' '.join(labels)} -> {' '.join(labels)}"


def _resized(name: str, x: TensorType, axis: int, times: int = 1, over: int = 1) -> tuple[int, TensorType]:
    """The axis from the left, and the type with that axis so many times as long."""
    at = normal_axis(name, axis, x.ndim)
    size = x.shape[at]
    if isinstance(size, int) and size % over:
        raise ShapeError(f"{name}: axis {axis} of size {size} does not divide over {over} ranks.",
                         operands=operand_lines(x), hint=f"choose a size that {over} divides.")  # fmt: skip
    if isinstance(size, int):
        size = size * times // over
    elif times != over:
        raise ShapeError(f"{name}: the size of axis {axis} must be known.", operands=operand_lines(x))
    return at, tensor_type((*x.shape[:at], size, *x.shape[at + 1 :]), x.dtype)


_MOVES: dict[str, Any] = {"work": moves_only, "traits": ("effect", "collective"), "promotes": True}


# ---- all_reduce ----


def _reduce_type(x: TensorType, *, op: str, group: tuple[int, ...]) -> TensorType:
    _need_reduction("all_reduce", op)
    return tensor_type(x.shape, x.dtype)


def _all_reduce_grad(dout: Any, x: Any, out: Any, op: str, group: tuple[int, ...]) -> Any:
    if op == "prod":
        _only_sums("all_reduce", op)
    total = ALL_REDUCE(dout, op="sum", group=group)
    return total if op == "sum" else where(equal(x, out), total, zeros_like(total))


ALL_REDUCE: Op = define(
    "all_reduce",
    "x",
    attrs={"op": "sum", "group": _ONE},
    infer=_reduce_type,
    body=lambda xp, x, op, group: xp.asarray(process_group.current().all_reduce(x, group, op)),
    grad=_all_reduce_grad,
    axes="... -> ...",
    batch=lambda n, inputs, batched, **attrs: (ALL_REDUCE(*inputs, **attrs), True),
    **_MOVES,
    doc="The sum (or maximum, minimum, product) of every rank's tensor, on every rank.",
    examples=(Example((example_inputs.SIGNED,)), Example((example_inputs.SCALAR,), {"op": "max"})),
    wrong=(InvalidExample((example_inputs.ROW,), {"op": "mean"}, "legal: 'sum', 'max'", AttributeValueError),),
)


# ---- all_gather and reduce_scatter ----


def _moved(axis: int, ndim: int) -> int:
    """The axis of a lane's tensor in the tensor of all lanes, which come first."""
    return axis % (ndim - 1) + 1


ALL_GATHER: Op = define(
    "all_gather",
    "x",
    attrs={"axis": 0, "group": _ONE},
    infer=lambda x, *, axis, group: _resized("all_gather", x, axis, times=len(group))[1],
    body=lambda xp, x, axis, group: xp.asarray(process_group.current().all_gather(x, group, axis % x.ndim)),
    grad=lambda dout, axis, group: REDUCE_SCATTER(dout, op="sum", axis=axis, group=group),
    axes=lambda types, attrs: _along(types, attrs["axis"]),
    batch=lambda n, inputs, batched, axis, group: (
        ALL_GATHER(inputs[0], axis=_moved(axis, inputs[0].ndim), group=group), True),
    **_MOVES,
    doc="Every rank's tensor, one after the other along an axis.",
    examples=(Example((example_inputs.SIGNED,)), Example((example_inputs.SIGNED,), {"axis": -1})),
    wrong=(InvalidExample((example_inputs.SCALAR,), {}, "outside a tensor of 0 axes", AttributeValueError),),
)  # fmt: skip


def _scatter_type(x: TensorType, *, op: str, axis: int, group: tuple[int, ...]) -> TensorType:
    _need_reduction("reduce_scatter", op)
    return _resized("reduce_scatter", x, axis, over=len(group))[1]


def _scatter_grad(dout: Any, op: str, axis: int, group: tuple[int, ...]) -> Any:
    _only_sums("reduce_scatter", op)
    return ALL_GATHER(dout, axis=axis, group=group)


REDUCE_SCATTER: Op = define(
    "reduce_scatter",
    "x",
    attrs={"op": "sum", "axis": 0, "group": _ONE},
    infer=_scatter_type,
    body=lambda xp, x, op, axis, group: xp.asarray(process_group.current().reduce_scatter(x, group, axis % x.ndim, op)),
    grad=_scatter_grad,
    axes=lambda types, attrs: _along(types, attrs["axis"]),
    batch=lambda n, inputs, batched, op, axis, group: (
        REDUCE_SCATTER(inputs[0], op=op, axis=_moved(axis, inputs[0].ndim), group=group), True),
    **_MOVES,
    doc="The sum of every rank's tensor, cut along an axis: a rank gets the part of its place in the group.",
    examples=(Example((example_inputs.SIGNED,)), Example((example_inputs.SIGNED,), {"axis": -1})),
    wrong=(InvalidExample((example_inputs.SIGNED,), {"group": tuple(range(7))}, "does not divide over 7 ranks",
    ShapeError),),
)  # fmt: skip


# ---- all_to_all ----


def _exchange_type(x: TensorType, *, split: int, concat: int, group: tuple[int, ...]) -> TensorType:
    return _resized("all_to_all", _resized("all_to_all", x, split, over=len(group))[1], concat, times=len(group))[1]


ALL_TO_ALL: Op = define(
    "all_to_all",
    "x",
    attrs={"split": 0, "concat": 0, "group": _ONE},
    infer=_exchange_type,
    body=lambda xp, x, split, concat, group: xp.asarray(
        process_group.current().all_to_all(x, group, split % x.ndim, concat % x.ndim)),
    grad=lambda dout, split, concat, group: ALL_TO_ALL(dout, split=concat, concat=split, group=group),
    axes=lambda types, attrs: _along(types, attrs["split"], attrs["concat"]),
    batch=lambda n, inputs, batched, split, concat, group: (
        ALL_TO_ALL(inputs[0], split=_moved(split, inputs[0].ndim), concat=_moved(concat, inputs[0].ndim), group=group),
        True),
    **_MOVES,
    doc="Cut along one axis, send part i to rank i, join what comes along another axis.",
    examples=(Example((example_inputs.SIGNED,)), Example((example_inputs.SIGNED,), {"split": -1, "concat": 0})),
    wrong=(InvalidExample((example_inputs.SIGNED,), {"group": tuple(range(7))}, "does not divide over 7 ranks",
    ShapeError),),
)  # fmt: skip


# ---- broadcast and its adjoint ----


def _rooted(name: str, x: TensorType, root: int, group: tuple[int, ...]) -> TensorType:
    if root not in group:
        raise AttributeValueError(f"{name}: root {root} is not in the group of ranks {list(group)}.")
    return tensor_type(x.shape, x.dtype)


def _reduce_body(xp: Any, x: Any, root: int, group: tuple[int, ...]) -> Any:
    """The sum on the root, zeros elsewhere."""
    total = xp.asarray(process_group.current().all_reduce(x, group, "sum"))
    return total if process_group.current().rank == root else xp.zeros_like(total)


_OF_A_ROOT: dict[str, Any] = {
    "attrs": {"root": 0, "group": _ONE},
    "axes": "... -> ...",
    **_MOVES,
    "examples": (Example((example_inputs.SIGNED,)), Example((example_inputs.SCALAR,))),
    "wrong": (InvalidExample((example_inputs.ROW,), {"root": 3}, "root 3 is not in the group", AttributeValueError),),
}

BROADCAST: Op = define(
    "broadcast_from",
    "x",
    infer=lambda x, *, root, group: _rooted("broadcast", x, root, group),
    body=lambda xp, x, root, group: xp.asarray(process_group.current().broadcast(x, root, group)),
    grad=lambda dout, root, group: REDUCE_TO(dout, root=root, group=group),
    batch=lambda n, inputs, batched, **attrs: (BROADCAST(*inputs, **attrs), True),
    doc="The root's tensor, on every rank.",
    **_OF_A_ROOT,
)

REDUCE_TO: Op = define(
    "reduce_to",
    "x",
    infer=lambda x, *, root, group: _rooted("reduce_to", x, root, group),
    body=_reduce_body,
    grad=lambda dout, root, group: BROADCAST(dout, root=root, group=group),
    batch=lambda n, inputs, batched, **attrs: (REDUCE_TO(*inputs, **attrs), True),
    doc="The sum of every rank's tensor on the root, zeros elsewhere.",
    **_OF_A_ROOT,
)


# ---- neighbours ----


def _neighbors_type(*xs: TensorType, send: Any, recv: Any, shapes: Any, dtype: Any) -> tuple[TensorType, ...]:
    if len(send) != len(xs) or len(recv) != len(shapes):
        raise ShapeError(f"neighbors: {len(xs)} tensors for {len(send)} ranks to send to, {len(shapes)} shapes for "
                         f"{len(recv)} ranks to receive from.", operands=operand_lines(*xs, names=()))  # fmt: skip
    if len(set(send)) < len(send) or len(set(recv)) < len(recv):
        raise AttributeValueError(f"neighbors: ranks {list(send)} and {list(recv)}: each may stand there once.")
    if any(x.dtype is not dtype for x in xs):
        raise DTypeError(f"neighbors: all tensors are {dtype.name}.", operands=operand_lines(*xs, names=()))
    return tuple(tensor_type(tuple(shape), dtype) for shape in shapes)


def _neighbors_body(xp: Any, *xs: Any, send: Any, recv: Any, shapes: Any, dtype: Any) -> Any:
    into = {r: xp.empty(shape, dtype.numpy) for r, shape in zip(recv, shapes)}
    came = process_group.current().neighbors({r: xp.asarray(x, order="C") for r, x in zip(send, xs)}, into)
    made = tuple(xp.asarray(came[r]) for r in recv)
    return made[0] if len(made) == 1 else made


def _neighbors_grad(douts: Any, types: Any, send: Any, recv: Any, dtype: Any) -> Any:
    shapes = tuple(tuple(t.shape) for t in types)
    made = NEIGHBORS(*douts, send=recv, recv=send, shapes=shapes, dtype=dtype)
    return made if isinstance(made, tuple) else (made,)


NEIGHBORS: Op = define(
    "neighbors",
    "*xs",
    attrs={"send": REQUIRED, "recv": REQUIRED, "shapes": REQUIRED, "dtype": REQUIRED},
    infer=_neighbors_type,
    body=_neighbors_body,
    grad=_neighbors_grad,
    axes=lambda types, attrs: f"{', '.join('...' for _ in types)} -> {', '.join('...' for _ in attrs['shapes'])}",
    work=moves_only,
    traits=("effect", "collective"),
    doc="Tensor i goes to rank send[i]; result i comes from rank recv[i].",
    examples=(Example((example_inputs.ROW,), {"send": _ONE, "recv": _ONE, "shapes": (example_inputs.ROW.shape,),
                                       "dtype": float64}),),
    wrong=(InvalidExample((example_inputs.ROW,), {"send": (), "recv": (), "shapes": (), "dtype": float64},
    "1 tensors for 0 ranks",
                 ShapeError),),
)  # fmt: skip


# ---- public functions ----


def all_reduce(x: Any, op: str = ReduceOp.SUM, group: str = WORLD_GROUP) -> Tensor:
    """The reduction of every rank's tensor, on every rank.

    Args:
        x: a tensor, of the same shape and dtype on every rank.
        op: "sum", "max", "min" or "prod" (``ops.ReduceOp``).
        group: the name of a group (``ms.communication.create_group``), by default all ranks.

    Raises:
        ValueError: an unknown op or group, or this rank is not in the group.

    Source: `mindspore.ops.AllReduce`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.all_reduce(ms.Tensor([1.0, 2.0])).tolist()  # a group of one
        [1.0, 2.0]
    """
    return ALL_REDUCE(x, op=op, group=members_of("all_reduce", group))


def all_gather(x: Any, group: str = WORLD_GROUP) -> Tensor:
    """Every rank's tensor, one after the other along axis 0.

    Args:
        x: a tensor, of the same shape and dtype on every rank; group: as for ``all_reduce``.

    Raises:
        ValueError: an unknown group, or a scalar.

    Source: `mindspore.ops.AllGather`
    """
    return ALL_GATHER(x, axis=0, group=members_of("all_gather", group))


def reduce_scatter(x: Any, op: str = ReduceOp.SUM, group: str = WORLD_GROUP) -> Tensor:
    """The reduction of every rank's tensor, cut along axis 0: a rank gets the part of its place in the group.

    Args:
        x: a tensor whose axis 0 the size of the group divides; op, group: as for ``all_reduce``.

    Raises:
        ValueError: an unknown op or group, or a size that does not divide.

    Source: `mindspore.ops.ReduceScatter`
    """
    return REDUCE_SCATTER(x, op=op, axis=0, group=members_of("reduce_scatter", group))


def broadcast(x: Any, root_rank: int = 0, group: str = WORLD_GROUP) -> Any:
    """The tensor of one rank, on every rank.

    Args:
        x: a tensor (or a tuple of them, as MindSpore takes), of the same shape and dtype on every rank.
        root_rank: whose; group: as for ``all_reduce``.

    Raises:
        ValueError: an unknown group, or a root that is not in it.

    Source: `mindspore.ops.Broadcast`
    """
    members = members_of("broadcast", group)
    if isinstance(x, (tuple, list)):
        return tuple(BROADCAST(each, root=root_rank, group=members) for each in x)
    return BROADCAST(x, root=root_rank, group=members)


def all_to_all(x: Any, split_count: int, split_dim: int, concat_dim: int, group: str = WORLD_GROUP) -> Tensor:
    """Cut along one axis, send part i to the i-th rank of the group, join what comes along another axis.

    Args:
        x: a tensor, of the same shape and dtype on every rank.
        split_count: the size of the group; split_dim, concat_dim: the axes; group: as for ``all_reduce``.

    Raises:
        ValueError: a count that is not the size of the group, or a size that does not divide.

    Source: `mindspore.ops.AlltoAll`
    """
    members = members_of("all_to_all", group)
    if split_count != len(members):
        raise AttributeValueError(f"all_to_all: split_count={split_count}, group {group!r} has {len(members)} ranks.")
    return ALL_TO_ALL(x, split=split_dim, concat=concat_dim, group=members)


def neighbor_exchange(xs: Any, send_rank_ids: Any, send_shapes: Any, recv_rank_ids: Any, recv_shapes: Any,
                      recv_type: Any, group: str = WORLD_GROUP) -> tuple[Any, ...]:  # fmt: skip
    """Some tensors to some ranks, and what those that name this rank send.

    Args:
        xs: one tensor per rank of ``send_rank_ids``, of the ``send_shapes``.
        recv_rank_ids, recv_shapes, recv_type: who sends what here.
        group: ranks are places in this group; as for ``all_reduce``.

    Returns:
        One tensor per rank of ``recv_rank_ids``.

    Raises:
        ValueError: numbers, shapes or ranks that do not fit each other.

    Source: `mindspore.ops.NeighborExchange`
    """
    # checked before anything is sent: places in the group, and what the lists say about shapes
    members = members_of("neighbor_exchange", group)
    shapes = [tuple(x.shape) for x in xs]
    if shapes != [tuple(s) for s in send_shapes]:
        raise ShapeError(f"neighbor_exchange: the tensors have shapes {list(map(list, shapes))}, send_shapes says "
                         f"{[list(s) for s in send_shapes]}.")  # fmt: skip
    for place in (*send_rank_ids, *recv_rank_ids):
        if place not in range(len(members)):
            raise AttributeValueError(f"neighbor_exchange: {place} is no place in a group of {len(members)} ranks.")
    send, recv = ([members[i] for i in ids] for ids in (send_rank_ids, recv_rank_ids))
    made = NEIGHBORS(*xs, send=send, recv=recv, shapes=tuple(map(tuple, recv_shapes)), dtype=as_dtype(recv_type))
    return made if isinstance(made, tuple) else (made,)
