"""Running sums, products and extremes along an axis.

    x          1  2  3  4
    inclusive  1  3  6 10      exclusive  0  1  3  6      reverse  10  9  7  4

The gradient of a running sum is the running sum in the other direction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import DTypeError, ShapeError
from msnb.core import DType, Tensor, TensorType, cached, dtypes, result_dtype
from msnb.ops.definition import example_inputs
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.record import Example, InvalidExample, Op, define, find
from msnb.ops.definition.type_inference import need_kind, normal_axis, operand_lines
from msnb.ops.elementwise.factory import adjoint
from msnb.ops.shape.creation import arange

__all__ = ["cummax", "cummin", "cumprod", "cumsum"]


def _widened(dtype: DType) -> DType:
    small = dtype.category <= dtypes.INT and dtype is not dtypes.uint64
    return dtypes.int64 if small else dtype


def _running(name: str, kinds: str, result: Callable[[DType], DType]) -> Callable[..., Any]:
    def infer(x: TensorType, *, axis: Any, **attrs: Any) -> TensorType:
        normal_axis(name, axis, x.ndim)
        dtype = result_dtype((x,))
        need_kind(name, kinds, dtype, x)
        return x.with_dtype(result(dtype))

    return infer


def axis_labels(types: Any, attrs: Any) -> str:
    """The labels of an operation that keeps the sizes and needs the whole of ``axis``."""
    names = "abcdefghijklmnopqrstuvw"[: types[0].ndim]
    axis = attrs["axis"] % max(types[0].ndim, 1)
    left = " ".join(n + "!" if i == axis else n for i, n in enumerate(names))
    return f"{left} -> {left}"


def _flip(xp: Any, x: Any, axis: int, wanted: bool) -> Any:
    return xp.flip(x, axis) if wanted else x


def _scan(xp: Any, run: str, neutral: int, x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """A running sum or product by the library's, in ``_carried``; the exclusive one is shifted by one place."""
    dtype = _carried(x.dtype)
    total = getattr(xp, run)(_flip(xp, x, axis, reverse), axis=axis, dtype=dtype)
    if exclusive and x.shape[axis]:
        rows = [slice(None)] * x.ndim
        rows[axis] = slice(0, -1)
        first = xp.full((*x.shape[:axis], 1, *x.shape[axis:][1:]), neutral, dtype)
        total = xp.concatenate([first, total[tuple(rows)]], axis=axis)
    return _flip(xp, total.astype(_given(x.dtype), copy=False), axis, reverse)


def _carried(dtype: Any) -> Any:
    """The dtype in which a running total is carried on. Its error grows with the number of steps, which come one after
    the other: ten million float32 lose five digits in float32, none in float64."""
    if dtype.kind in "biu":
        return np.uint64 if dtype.kind == "u" else np.int64
    return np.complex128 if dtype.kind == "c" else np.float64


def _given(dtype: Any) -> Any:
    """The dtype in which a running total is handed on: that of its elements, which dispatch narrows to the promised."""
    if dtype.kind in "biu":
        return _carried(dtype)
    return np.float32 if dtype.itemsize == 2 else dtype


def _cumsum_grad(dout: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    return CUMSUM(dout, axis=axis, exclusive=exclusive, reverse=not reverse)


def _cumprod_grad(dout: Any, x: Any, types: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    """y_i = product of x_j for j before i. dL/dx_k = sum_i dout_i dy_i/dx_k.

    Written with the recurrence of the adjoint so that zeros do no harm: with P_k the product of all before k,
    dL/dx_k = P_k * s_k,  s_k = dout_k + x_(k+1) s_(k+1)  (inclusive), a linear recurrence run backwards.
    The recurrence is an op of its own, ``linear_recurrence``, whose gradient is the same recurrence forwards.
    """
    x = adjoint(x)
    before = CUMPROD(x, axis=axis, exclusive=True, reverse=reverse)
    if exclusive:
        s = LINEAR_RECURRENCE(x, dout, axis=axis, reverse=not reverse)
        return before * LINEAR_RECURRENCE_SHIFT(s, axis=axis, reverse=not reverse)
    shifted = LINEAR_RECURRENCE_SHIFT(x, axis=axis, reverse=not reverse)
    return before * LINEAR_RECURRENCE(shifted, dout, axis=axis, reverse=not reverse)


def _recurrence(xp: Any, a: Any, b: Any, *, axis: int, reverse: bool) -> Any:
    """s_0 = b_0, s_k = b_k + a_k s_(k-1), one step per element of the axis."""
    dtype = b.dtype
    wide = dtype if dtype.kind in "biu" else _carried(dtype)
    a, b = xp.moveaxis(_flip(xp, a, axis, reverse), axis, 0), xp.moveaxis(_flip(xp, b, axis, reverse), axis, 0)
    out = xp.array(b, dtype=wide)
    for k in range(1, out.shape[0]):
        out[k] = b[k] + a[k] * out[k - 1]
    return _flip(xp, xp.moveaxis(out.astype(dtype, copy=False), 0, axis), axis, reverse)


def _recurrence_grad(dout: Any, a: Any, out: Any, axis: int, reverse: bool) -> tuple[Any, Any]:
    """With the roles turned round: t_k = dout_k + a_(k+1) t_(k+1) is d/db_k, and t_k s_(k-1) is d/da_k."""
    ahead = LINEAR_RECURRENCE_SHIFT(adjoint(a), axis=axis, reverse=not reverse)
    t = LINEAR_RECURRENCE(ahead, dout, axis=axis, reverse=not reverse)
    return t * LINEAR_RECURRENCE_SHIFT(adjoint(out), axis=axis, reverse=reverse), t


def _shift(xp: Any, x: Any, *, axis: int, reverse: bool) -> Any:
    """One place further along the axis, zero at the start; in reverse one place back."""
    out = xp.zeros_like(x)
    to, source = [slice(None)] * x.ndim, [slice(None)] * x.ndim
    ahead, behind = slice(1, None), slice(0, -1)
    to[axis], source[axis] = (behind, ahead) if reverse else (ahead, behind)
    out[tuple(to)] = x[tuple(source)]
    return out


def _recurrence_infer(a: TensorType, b: TensorType, *, axis: int, reverse: bool) -> TensorType:
    normal_axis("linear_recurrence", axis, a.ndim)
    if a.shape != b.shape:
        lines = operand_lines(a, b, names=("a", "b"))
        raise ShapeError("linear_recurrence needs two tensors of one shape.", operands=lines)
    return a.with_dtype(result_dtype((a, b)))


def _two_labels(types: Any, attrs: Any) -> str:
    left, _, right = axis_labels(types, attrs).partition(" -> ")
    return f"{left}, {left} -> {right}"


_AXIS_WRONG = InvalidExample((example_inputs.SIGNED,), {"axis": 2}, "outside a tensor of 2 axes", ValueError)
_BOTH = {"axis": 0, "exclusive": False, "reverse": False}
_EXAMPLES = (
    Example((example_inputs.SIGNED,), {"axis": 0}),
    Example((example_inputs.CUBE,), {"axis": -1, "reverse": True}),
    Example((example_inputs.CUBE,), {"axis": 1, "exclusive": True}),
    Example((example_inputs.CUBE,), {"axis": 2, "exclusive": True, "reverse": True}),
    Example((example_inputs.EMPTY,), {"axis": 0}),
)


def _cumulative(name: str, start: int, grad: Any, doc: str, *extra: Example, onnx: str = "") -> Op:
    def body(xp: Any, x: Any, *, axis: int, exclusive: bool, reverse: bool) -> Any:
        return _scan(xp, name, start, x, axis % x.ndim, exclusive, reverse)

    return define(
        name, "x", attrs=_BOTH, infer=_running(name, "bifc", _widened), body=body, grad=grad, doc=doc, axes=axis_labels,
        examples=(*_EXAMPLES, *extra), wrong=(_AXIS_WRONG,), family="cumulative", onnx=onnx,
    )  # fmt: skip


CUMSUM = _cumulative("cumsum", 0, _cumsum_grad, "Running sum along an axis.",
                     onnx="CumSum(x, axis, exclusive=exclusive, reverse=reverse)")  # fmt: skip
CUMPROD = _cumulative(
    "cumprod", 1, _cumprod_grad, "Running product along an axis; zeros do no harm to its gradient.",
    Example((np.array([[0.5, 0.0, 2.0, 0.0, 1.5]]),), {"axis": 1}),
)  # fmt: skip
LINEAR_RECURRENCE = define(
    "linear_recurrence", "a, b", attrs={"axis": 0, "reverse": False}, infer=_recurrence_infer, body=_recurrence,
    grad=_recurrence_grad, doc="s_0 = b_0 and s_k = b_k + a_k s_(k-1) along an axis.", axes=_two_labels, promotes=True,
    examples=(Example((example_inputs.SIGNED, example_inputs.OTHER), {"axis": 1}),
              Example((example_inputs.CUBE, example_inputs.CUBE + 1), {"axis": 1, "reverse": True}),
              Example((example_inputs.EMPTY, example_inputs.EMPTY), {"axis": 0})),
    wrong=(InvalidExample((example_inputs.SIGNED, example_inputs.ROW), {"axis": 0}, "two tensors of one shape",
    ValueError),),
    family="cumulative",
)  # fmt: skip
LINEAR_RECURRENCE_SHIFT = define(
    "shift", "x", attrs={"axis": 0, "reverse": False}, infer=_running("shift", "bifc", lambda dtype: dtype),
    body=_shift,
    grad=lambda dout, axis, reverse: find("shift")(dout, axis=axis, reverse=not reverse),
    doc="One place further along an axis (back in reverse); zero fills the place left.", axes=axis_labels,
    examples=(Example((example_inputs.SIGNED,), {"axis": 1}), Example((example_inputs.CUBE,), {"axis": -2,
    "reverse": True}),
              Example((example_inputs.EMPTY,), {"axis": 0})),
    wrong=(_AXIS_WRONG,), family="cumulative",
)  # fmt: skip


# ---- running extremes ----


def _extreme_infer(name: str) -> Callable[..., Any]:
    values = _running(name, "bif", lambda dtype: dtype)

    def infer(x: TensorType, *, axis: Any) -> tuple[TensorType, TensorType]:
        found: TensorType = values(x, axis=axis)
        return found, found.with_dtype(dtypes.int64)

    return infer


def _extreme(better: str) -> Callable[..., Any]:
    """Values and where they stand; of equal ones the last. NaN stays once it came."""

    def body(xp: Any, x: Any, *, axis: int) -> tuple[Any, Any]:
        rows = xp.moveaxis(x, axis, 0)
        values, places = xp.array(rows), xp.zeros(rows.shape, np.int64)
        for k in range(1, rows.shape[0]):
            new = getattr(xp, better)(rows[k], values[k - 1]) | (rows[k] != rows[k])
            values[k] = xp.where(new, rows[k], values[k - 1])
            places[k] = xp.where(new, k, places[k - 1])
        return xp.moveaxis(values, 0, axis), xp.moveaxis(places, 0, axis)

    return body


def _extreme_grad(douts: Any, outs: Any, types: Any, axis: int) -> Any:
    """dL/dx_k = sum_i dout_i [value i came from place k]: a comparison of every i with every k."""
    g = douts[0]
    if g is None:
        return None
    at = axis % types[0].ndim
    places = find("expand_dims")(outs[1], axis=at)
    k = find("reshape")(arange(types[0].shape[at]), shape=(-1, *[1] * (types[0].ndim - at)))
    came = find("where")(places == k, find("expand_dims")(g, axis=at), 0)
    return find("sum")(came, axis=at + 1, keepdims=False)


def _running_extreme(name: str, better: str, doc: str) -> Op:
    return define(
        name, "x", attrs={"axis": 0}, infer=_extreme_infer(name), body=_extreme(better), grad=_extreme_grad,
        doc=doc, axes=lambda t, a: f"{axis_labels(t, a)}, {axis_labels(t, a).partition(' -> ')[0]}",
        examples=(Example((example_inputs.SIGNED,), {"axis": 1}), Example((example_inputs.CUBE,), {"axis": -1}),
                  Example((example_inputs.EMPTY,), {"axis": 0})),
        wrong=(_AXIS_WRONG, InvalidExample((example_inputs.COMPLEX,), {}, "does not take", DTypeError)),
        family="cumulative",
    )  # fmt: skip


CUMMAX = _running_extreme("cummax", "greater_equal", "Largest element so far along an axis, and its index.")
CUMMIN = _running_extreme("cummin", "less_equal", "Smallest element so far along an axis, and its index.")


# ---- public functions ----


@cached
@worded
def cumsum(x: Any, axis: int = 0, dtype: Any = None, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running sum along ``axis``.

    Args:
        x: a tensor of at least one axis.
        axis: the axis.
        dtype: that of the result; ``x`` is converted to it first. None: bools and ints give int64.
        exclusive: leave out the element itself.
        reverse: run from the end.

    Source: `mindspore.ops.cumsum`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.cumsum(ms.Tensor([1, 2, 3])).tolist()
        [1, 3, 6]
    """
    out: Tensor = _as(CUMSUM(_as(x, dtype), axis=axis, exclusive=exclusive, reverse=reverse), dtype)
    return out


@cached
@worded
def cumprod(x: Any, axis: int = 0, dtype: Any = None, *, exclusive: bool = False, reverse: bool = False) -> Tensor:
    """Running product along ``axis``; arguments as ``cumsum``."""
    out: Tensor = _as(CUMPROD(_as(x, dtype), axis=axis, exclusive=exclusive, reverse=reverse), dtype)
    return out


def _as(x: Any, dtype: Any) -> Any:
    return x if dtype is None else find("cast")(x, dtype=dtypes.as_dtype(dtype))


@worded
def cummax(x: Any, axis: int = 0) -> tuple[Tensor, Tensor]:
    """(largest so far, where it stands) along ``axis``."""
    out: tuple[Tensor, Tensor] = CUMMAX(x, axis=axis)  # type: ignore[assignment]
    return out


@worded
def cummin(x: Any, axis: int = 0) -> tuple[Tensor, Tensor]:
    """(smallest so far, where it stands) along ``axis``."""
    out: tuple[Tensor, Tensor] = CUMMIN(x, axis=axis)  # type: ignore[assignment]
    return out
