"""``x[...]`` and ``x[...] = v`` as records: a static *spec* and the index tensors.

    x[2, :, i, None, ::-1]   ->   index(x, i, spec=(2, (0, n, 1), "t", None, (m-1, None, -1)))

One entry of the spec per entry of the key, the Ellipsis written out: an int, a slice as (start, stop, step), None for a
new axis, and "t" for the next index tensor (a mask has become its index tensors: ``msnb.ops.indexing.subscript``).
NumPy's rule says where the axes of the broadcast index tensors go: in place of the entries they come from when these
stand together, in front of everything when a slice or None stands between them; ints count as index tensors when there
is one.

    index(x, i)            x[i]                                   adjoint in x: unindex
    unindex(y, i)          zeros(shape) with y added at i         adjoint: index
    index_update(x, v, i)  x with v written at i                  adjoint in v: index_taken
    index_taken(y, i)      y[i], zero where a later entry of i writes to the same place: only the last write counts

Out of range: a static int is refused by inference; an index tensor's value when the program runs, in both modes, by
the library that reads it (NumPy raises; a GPU library wraps around in silence and does not check).
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from msnb.base.errors import DataSizeError, DTypeError, IndexOutOfRange, ShapeError
from msnb.core import WEAK, Dim, Shape, Tensor, TensorType, int32, int64, tensor_type
from msnb.ops.definition.operand_checks import spread, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, define, moves_only
from msnb.ops.definition.symbolic_sizes import is_bindable, sizes_text
from msnb.ops.definition.type_inference import alike, operand_lines
from msnb.ops.shape.creation import arange, zeros
from msnb.ops.shape.index_spec import IndexPlan, Spec, explain, fits, key_maker, key_of, may_equal
from msnb.ops.shape.views import BROADCAST_TO, TRANSPOSE, inverse_permutation, reshape

__all__ = ["index"]

FAMILY = "getitem"  # of the records in this module: pictures and the JSON of graphs name it

_X = np.arange(24.0).reshape(2, 3, 4) / 8 - 1
_I, _J = np.array([1, 0, 1]), np.array([[2], [-1]])
_FULL = (None, None, None)


# ---- labels and batching ----

_AXES, _NEW, _JOINT = "abcdefgh", "ABCDEFGH", "stuvwxyz"


def _labels(plan: IndexPlan, indices: Sequence[TensorType], spec: Spec) -> tuple[str, list[str], list[str]]:
    """Labels of x, of the index tensors, and of the result."""
    # "@": read at index tensors; "!": cut by a slice or an int, so the axis cannot be split
    kept = {s for s in plan.sources if s is not None}
    used = [e for e in spec if e is not None]
    x = [
        c if i in kept else c + ("@" if i < len(used) and used[i] == "t" else "!")
        for i, c in enumerate(_AXES[: plan.x.ndim])
    ]
    joint = list(_JOINT[: plan.rank])
    rest = [_NEW[i] + "!" if s is None else _AXES[s] for i, s in enumerate(plan.sources)]
    own = [" ".join(joint[plan.rank - t.ndim :]) for t in indices]
    return " ".join(x), own, rest[: plan.at] + joint + rest[plan.at :]


def _read_axes(types: Any, attrs: Any) -> str:
    x, own, out = _labels(IndexPlan("index", types[0], types[1:], attrs["spec"]), types[1:], attrs["spec"])
    return ", ".join([x, *own]) + " -> " + " ".join(out)


def update_axes(types: Any, attrs: Any) -> str:
    """Labels of an op (x, value, *indices) -> x that writes by a spec."""
    x, own, out = _labels(IndexPlan("index_update", types[0], types[2:], attrs["spec"]), types[2:], attrs["spec"])
    value = " ".join(out[len(out) - types[1].ndim :]) if types[1].ndim else ""
    return ", ".join([x, value, *own]) + f" -> {x}"


def _unindex_axes(types: Any, attrs: Any) -> str:
    whole = tensor_type(attrs["shape"], types[0].dtype)
    x, own, out = _labels(IndexPlan("unindex", whole, types[1:], attrs["spec"]), types[1:], attrs["spec"])
    return ", ".join([" ".join(out), *own]) + f" -> {x}"


def _batched(plan: IndexPlan, size: int, indices: Sequence[Any], batched: Sequence[bool], spec: Spec) -> Any:
    """The same indexing with a batch axis at 0 of x: (spec, index tensors, order of the result's axes, batch first)."""
    r, p, n = plan.rank, plan.at, len(plan.shape)
    if not any(batched):
        front = 0 if plan.together else r
        return (_FULL, *spec), list(indices), (front, *(i for i in range(n + 1) if i != front))
    lanes = reshape(arange(size), (size, *(1,) * r))
    own = [reshape(i, (size, *(1,) * (r + 1 - i.ndim), *i.shape[1:])) if b else i for i, b in zip(indices, batched)]
    order = (0, *range(1 + r, 1 + r + p), *range(1, 1 + r), *range(1 + r + p, n + 1))
    return ("t", *spec), [lanes, *own], order


def _lane_type(x: Any, batched: bool) -> TensorType:
    t: TensorType = x._type if isinstance(x, Tensor) else WEAK[type(x)]
    return tensor_type(t.shape[1:], t.dtype) if batched else t


def read_batch(op_name: str) -> Any:
    """The vmap rule of an op that reads by a spec."""

    def batch(axis_size: int, inputs: Sequence[Any], batched: Sequence[bool], *, spec: Spec) -> tuple[Any, bool]:
        op = {"index": INDEX, "index_taken": INDEX_TAKEN}[op_name]
        lanes = [_lane_type(x, b) for x, b in zip(inputs, batched)]
        plan = IndexPlan(op_name, lanes[0], tuple(lanes[1:]), spec)
        x = spread(inputs[0], batched[0], axis_size)
        new, own, order = _batched(plan, axis_size, inputs[1:], batched[1:], spec)
        return TRANSPOSE(op(x, *own, spec=new), perm=order), True

    return batch


def write_batch(
    op: Any, axis_size: int, inputs: Sequence[Any], batched: Sequence[bool], spec: Spec
) -> tuple[Any, bool]:
    """The vmap rule of an op (x, value, *indices) -> x that writes by a spec."""
    lanes = [_lane_type(x, b) for x, b in zip(inputs, batched)]
    plan = IndexPlan("index_update", lanes[0], tuple(lanes[2:]), spec)
    x = spread(inputs[0], batched[0], axis_size)
    new, own, order = _batched(plan, axis_size, inputs[2:], batched[2:], spec)
    value = inputs[1]
    if batched[1]:
        value = reshape(value, (axis_size, *(1,) * (len(plan.shape) + 1 - value.ndim), *value.shape[1:]))
    value = TRANSPOSE(BROADCAST_TO(value, shape=(axis_size, *plan.shape)), perm=inverse_permutation(order))
    return op(x, value, *own, spec=new), True


def _unindex_batch(
    axis_size: int, inputs: Sequence[Any], batched: Sequence[bool], *, spec: Spec, shape: Shape
) -> tuple[Any, bool]:
    lanes = [_lane_type(x, b) for x, b in zip(inputs, batched)]
    plan = IndexPlan("unindex", tensor_type(shape, lanes[0].dtype), tuple(lanes[1:]), spec)
    new, own, order = _batched(plan, axis_size, inputs[1:], batched[1:], spec)
    y = TRANSPOSE(spread(inputs[0], batched[0], axis_size), perm=inverse_permutation(order))
    return UNINDEX(y, *own, spec=new, shape=(axis_size, *shape)), True


# ---- the records ----


def _read_type(name: str) -> Any:
    def infer(x: TensorType, *indices: TensorType, spec: Spec) -> TensorType:
        return tensor_type(IndexPlan(name, x, indices, spec).shape, strong_dtype(x))

    infer.__module__ = __name__
    return infer


def _reading(spec: Spec, axis: int = -1) -> Any:
    """``x[...]`` by a spec; or ``take`` along an axis, in a third of the time, where x lies dense."""
    key = key_maker(spec)

    def run(x: Any, *indices: Any) -> Any:
        try:
            return x.take(*indices, axis) if axis >= 0 and x.flags.c_contiguous else x[key(indices)]
        except IndexError as error:
            raise explain(x, spec, indices, error) from None

    return run


def _index_numpy(types: Any, outs: Any, *, spec: Spec) -> Any:
    if len(types) == 1:
        return itemgetter((*key_of(spec, ()), ...)) if alike(types) else None
    if not outs[0].ndim or any(t.weak for t in types):
        return None  # NumPy's result would be no array
    whole = None not in spec and all(e in ("t", _FULL, (0, n, 1)) for e, n in zip(spec, types[0].shape))
    return _reading(spec, spec.index("t") if whole and len(types) == 2 and types[1].dtype in (int32, int64) else -1)


_READS = (
    Example((_X,), {"spec": (1, None, (2, None, -1))}),
    Example((_X, _I), {"spec": ((0, 2, 1), "t")}),
    Example((_X, _I, _J), {"spec": ("t", (0, 3, 2), "t")}),
    Example((_X, _I), {"spec": ((0, 2, 1), -1, "t")}),
    Example((_X, np.array(1)), {"spec": ("t",)}),
    Example((_X, np.zeros((0,), np.int64)), {"spec": ((0, 2, 1), (0, 0, 1), "t")}),
)

INDEX: Op = define(
    "index",
    "x, *indices",
    attrs=("spec",),
    infer=_read_type("index"),
    body=lambda xp, x, *indices, spec: _reading(spec)(x, *indices),
    numpy=_index_numpy,
    grad=lambda dout, indices, types, spec: (
        UNINDEX(dout, *indices, spec=spec, shape=types[0].shape),
        *[None] * len(indices),
    ),
    axes=_read_axes,
    batch=read_batch("index"),
    work=moves_only,
    traits=("pure", "view", "linear", "indexed", "independent_indices"),
    view="index",
    doc="x[...] with NumPy's meaning: ints, slices, new axes and index tensors.",
    examples=_READS,
    wrong=(
        InvalidExample((_X,), {"spec": (2,)}, "index 2 is outside axis 0 of size 2", IndexOutOfRange),
        InvalidExample(
            (_X, np.array([0, 3])), {"spec": ((0, 2, 1), "t")}, "index 3 is outside axis 1 of size 3", IndexOutOfRange
        ),
        InvalidExample((_X, _I), {"spec": ("t", 0, 0, 0)}, "too many indices", IndexOutOfRange),
        InvalidExample((_X, _X), {"spec": ("t",)}, "an index tensor holds integers", DTypeError),
    ),
)


def need_known(name: str, shape: Shape) -> None:
    """Raise ShapeError where zeros of a size that only the data tell would have to be made."""
    unknown = [d for d in shape if isinstance(d, Dim) and not is_bindable(d)]
    if unknown:
        raise DataSizeError(
            f"{name}: zeros of shape {sizes_text(shape)} cannot be made: {unknown[0]} is known only at run time.",
            hint="it is the gradient of indexing a masked selection in a graph; select with where() or masked_fill(), "
            "whose sizes are known, or index before masking.",
        )


def _unindex_type(y: TensorType, *indices: TensorType, spec: Spec, shape: Shape) -> TensorType:
    need_known("unindex", shape)
    whole = tensor_type(shape, strong_dtype(y))
    plan = IndexPlan("unindex", whole, indices, spec)
    if len(plan.shape) != y.ndim or not all(may_equal(a, b) for a, b in zip(plan.shape, y.shape)):
        raise ShapeError(
            f"unindex: the index has shape {sizes_text(plan.shape)}.", operands=operand_lines(y, names=("y",))
        )
    return whole


def _adding(xp: Any, dtype: Any, spec: Spec, shape: Shape) -> Any:
    key = key_maker(spec)

    def run(y: Any, *indices: Any) -> Any:
        out = xp.zeros(shape, dtype)
        try:
            if indices:
                xp.add.at(out, key(indices), y)
            else:
                out[key(())] = y
        except IndexError as error:
            raise explain(out, spec, indices, error) from None
        return out

    return run


UNINDEX: Op = define(
    "unindex",
    "y, *indices",
    numpy=lambda types, outs, spec, shape: (
        None if any(t.weak for t in types) else _adding(np, types[0].dtype.numpy, spec, shape)
    ),
    onnx="write_box",
    attrs=("spec", "shape"),
    infer=_unindex_type,
    body=lambda xp, y, *indices, spec, shape: _adding(xp, y.dtype, spec, shape)(y, *indices),
    grad=lambda dout, indices, spec: (INDEX(dout, *indices, spec=spec), *[None] * len(indices)),
    axes=_unindex_axes,
    batch=_unindex_batch,
    traits=("pure", "linear", "indexed", "independent_indices"),
    doc="Zeros with y added at an index: the adjoint of index.",
    examples=(
        Example((_X[0, :, 0],), {"spec": (1, (0, 3, 1)), "shape": (2, 3)}),
        Example((_X[0, :, :2], _I), {"spec": ("t", (None, None, 2)), "shape": (3, 4)}),
    ),
    wrong=(InvalidExample((_X, _I), {"spec": ("t",), "shape": (2,)}, "the index has shape [3]", ShapeError),),
)


def _update_type(x: TensorType, value: TensorType, *indices: TensorType, spec: Spec) -> TensorType:
    place = IndexPlan("index_update", x, indices, spec).shape
    if not fits(value.shape, place):
        raise ShapeError(
            f"a value of shape {sizes_text(value.shape)} does not broadcast to the shape {sizes_text(place)} of "
            "the place.",
            operands=operand_lines(x, value, names=("x", "value")),
        )
    return tensor_type(x.shape, strong_dtype(x))


def _writing(spec: Spec, number: Any = None) -> Any:
    key = key_maker(spec)

    def run(x: Any, value: Any, *indices: Any) -> Any:
        out = x.copy()
        try:
            out[key(indices)] = value if number is None else np.asarray(value, number)
        except IndexError as error:
            raise explain(x, spec, indices, error) from None
        except ValueError as error:  # sizes that only the data tell did not fit
            raise ShapeError(f"the value does not fit its place: {error}.") from None
        return out

    return run


def _update_numpy(types: Any, outs: Any, *, spec: Spec) -> Any:
    plain = alike((types[0], *outs)) and not any(t.weak for t in types[2:])
    return _writing(spec, types[1].dtype.numpy if types[1].weak else None) if plain else None


def _update_grad(dout: Any, indices: Any, spec: Spec) -> Any:
    taken = INDEX_TAKEN if indices else INDEX
    return INDEX_UPDATE(dout, 0, *indices, spec=spec), taken(dout, *indices, spec=spec), *[None] * len(indices)


INDEX_UPDATE: Op = define(
    "index_update",
    "x, value, *indices",
    onnx="write_box",
    attrs=("spec",),
    infer=_update_type,
    body=lambda xp, x, value, *indices, spec: _writing(spec)(x, value, *indices),
    numpy=_update_numpy,
    grad=_update_grad,
    axes=update_axes,
    batch=lambda axis_size, inputs, batched, *, spec: write_batch(INDEX_UPDATE, axis_size, inputs, batched, spec),
    work=moves_only,
    traits=("pure", "linear"),
    doc="x with a value written at an index; of several writes to one place the last one counts.",
    examples=(
        Example((_X, -_X[0, :, ::-1]), {"spec": (1,)}),
        Example((_X, 2.5), {"spec": ((None, None, -1), 0)}),
        Example((_X, _X[0, :3, :3], _I), {"spec": (0, (None, None, None), "t")}),
        Example((_X, _X[0, 0], _I), {"spec": ("t", 2)}),
        Example((_X, 1.0, np.zeros((0,), np.int64)), {"spec": ("t",)}),
    ),
    wrong=(
        InvalidExample((_X, _X), {"spec": (0,)}, "does not broadcast to the shape [3, 4] of the place", ShapeError),
        InvalidExample(
            (_X, 1.0, np.array([2])), {"spec": ("t",)}, "index 2 is outside axis 0 of size 2", IndexOutOfRange
        ),
    ),
)


def _taken_body(xp: Any, y: Any, *indices: Any, spec: Spec) -> Any:
    key = key_of(spec, indices)
    found = y[key]
    turns = xp.arange(found.size).reshape(found.shape)
    last = xp.zeros(y.shape, turns.dtype)
    last[key] = turns
    return xp.where(last[key] == turns, found, xp.zeros((), y.dtype))


def _taken_grad(dout: Any, indices: Any, types: Any, spec: Spec) -> Any:
    empty = zeros(types[0].shape, dtype=types[0].dtype)
    return INDEX_UPDATE(empty, dout, *indices, spec=spec), *[None] * len(indices)


INDEX_TAKEN: Op = define(
    "index_taken",
    "y, *indices",
    attrs=("spec",),
    infer=_read_type("index_taken"),
    body=_taken_body,
    grad=_taken_grad,
    axes=_read_axes,
    batch=read_batch("index_taken"),
    traits=("pure", "linear", "indexed"),
    doc="y[...], zero where a later entry of the index means the same place: the adjoint of index_update in its value.",
    examples=_READS,
    wrong=(InvalidExample((_X,), {"spec": (0, 5)}, "index 5 is outside axis 1 of size 3", IndexOutOfRange),),
)


# names of MindSpore and PyTorch for the same
index = INDEX
