"""The k largest or smallest elements along an axis: a sort that keeps only its beginning.

    top_k [3, 1, 4, 1, 5], k = 2  ->  values [5, 4], indices [4, 2]        equal elements in the order of their places

A back end need not sort: it walks over the data once and keeps the k best (``devices.cpu.kernels.lines.radix_sort``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import AttributeValueError
from msnb.core import TensorType, dtypes, tensor_type
from msnb.ops.definition.operand_checks import one_batched, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define, find
from msnb.ops.definition.symbolic_sizes import bound_of
from msnb.ops.definition.type_inference import alike, int_error, normal_axis, operand_lines
from msnb.ops.indexing.gather import along
from msnb.ops.shape.index_records import UNINDEX

_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])


def _infer(x: TensorType, *, k: int, axis: int, largest: bool) -> tuple[TensorType, TensorType]:
    at = normal_axis("top_k", axis, x.ndim)
    limit = bound_of(x.shape[at])
    if isinstance(k, bool) or not isinstance(k, int) or k < 0 or (limit is not None and k > limit):
        raise int_error(k)(
            f"topk: k = {k!r} for an axis of size {x.shape[at]}; k must be an int from 0 to that size.",
            operands=operand_lines(x),
        )
    shape = (*x.shape[:at], k, *x.shape[at + 1 :])
    return tensor_type(shape, strong_dtype(x)), tensor_type(shape, dtypes.int64)


def _body(xp: Any, x: Any, *, k: int, axis: int, largest: bool) -> Any:
    """By the record of ``sort``, whose order this is."""
    values, order = find("sort").body(xp, x, axis=axis, descending=largest)
    first = (*(slice(None),) * (axis % x.ndim), slice(0, k))
    return values[first], order[first]


def ordered_numpy(types: Any, outs: Any, *, axis: int, **attrs: Any) -> Any:
    """The beginning of a ``sort`` by methods of arrays: NumPy's functions ask more than few elements take."""
    if not alike(types) or types[0].size > 1 << 16:
        return None
    shape, at, back = types[0].shape, axis % types[0].ndim, attrs.get("descending") or attrs.get("largest")
    k, before = outs[0].shape[at], (slice(None),) * at
    last, grid = np.array(shape[at] - 1), np.ogrid[(*map(slice, shape),)]
    turned, cut = (*before, slice(None, None, -1)), (*before, slice(-1, -k - 1, -1) if back else slice(0, k))

    def run(x: Any) -> Any:
        order = (x[turned] if back else x).argsort(at, "stable")[cut]
        order = np.subtract(last, order) if back else order
        return (x.take(order) if x.ndim == 1 else x[(*grid[:at], order, *grid[at + 1 :])]), order

    return run


def _grad(douts: Any, outs: Any, types: Any, k: int, axis: int, largest: bool) -> Any:
    """Written where they came from."""
    shape = types[0].shape
    grid = along("top_k", shape, outs[1], normal_axis("top_k", axis, len(shape)))
    return UNINDEX(douts[0], *grid, spec=("t",) * len(grid), shape=shape)


def _labels(types: Any, attrs: Any) -> str:
    names = list("abcdefgh"[: types[0].ndim])
    left, right = names.copy(), names.copy()
    left[attrs["axis"]], right[attrs["axis"]] = "y!", "z!"
    one = " ".join(right)
    return f"{' '.join(left)} -> {one}, {one}"


TOP_K: Op = define(
    "top_k",
    "x",
    onnx="sort",
    attrs={"k": 1, "axis": -1, "largest": True},
    infer=_infer,
    body=_body,
    numpy=ordered_numpy,
    grad=_grad,
    axes=_labels,
    batch=one_batched(lambda x, k, axis, largest: TOP_K(x, k=k, axis=axis + 1 if axis >= 0 else axis, largest=largest)),
    work=lambda types, out_types, attrs: Work(vector=float(types[0].size if types[0].is_static else 0)),
    doc="The k largest (or smallest) elements along an axis in order, and where each stood.",
    examples=(
        Example((_A,), {"k": 2, "axis": 1}),
        Example((_A,), {"k": 1, "axis": 0, "largest": False}),
        Example((np.array([2, 1, 2, 1]),), {"k": 3}),
        Example((_A[:, :0],), {"k": 0}),
    ),
    wrong=(InvalidExample((_A,), {"k": 4}, "k must be an int from 0 to that size", AttributeValueError),),
)
