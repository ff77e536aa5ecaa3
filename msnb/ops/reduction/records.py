"""Reductions: axes that vanish (or stay with size 1).

    x: [2, 3, 4]   sum(axis=1)                 -> [2, 4]
                   sum(axis=1, keepdims=True)  -> [2, 1, 4]

The gradient of every reduction begins by laying ``dout`` beside ``x`` again: ``_beside`` puts the axes back with
size 1, and broadcasting does the rest. Half precision is summed in float32. Sums and products of bools and small ints
are int64, as in NumPy and PyTorch; the mean of ints is float32.

``axis=()`` is every axis, as in MindSpore, whose reductions have it as their default (NumPy reduces nothing then).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from operator import methodcaller
from typing import Any

import numpy as np

from msnb.base import DTypeError, ShapeError
from msnb.core import Dim, DType, Size, TensorType, dtypes
from msnb.ops.definition import example_inputs
from msnb.ops.definition.accurate_sum import LONG, total
from msnb.ops.definition.record import Example, InvalidExample, Op, define, find
from msnb.ops.definition.symbolic_sizes import has_sizes, is_bindable, product
from msnb.ops.definition.type_inference import alike, normal_axes, normal_axis, reduction
from msnb.ops.elementwise.factory import adjoint

_INDEX = "the result is an index"
_TRUTH = "the result is bool"
_LETTERS = "abcdefghijklmnopqrstuvw"


def _axes_labels(kind: str) -> Callable[[Any, Any], str]:
    """``"a b^ c -> a c"``: reduced labels carry ``kind`` ("" sums, "^" is a maximum, "!" needs the whole axis)."""

    def labels(types: Any, attrs: Any) -> str:
        names = _LETTERS[: types[0].ndim]
        axes = normal_axes("reduction", attrs["axis"], types[0].ndim)
        left = " ".join(n + kind if i in axes else n for i, n in enumerate(names))
        kept = ["1" if i in axes else n for i, n in enumerate(names) if i not in axes or attrs["keepdims"]]
        return f"{left} -> {' '.join(kept)}"

    return labels


def _summed(dtype: DType) -> DType:
    return dtypes.int64 if dtype.category == dtypes.BOOL or (dtype.is_int and dtype is not dtypes.uint64) else dtype


def _averaged(dtype: DType) -> DType:
    return dtype if dtype.differentiable else dtypes.float32


def _real(dtype: DType) -> DType:
    return dtype.real if dtype.is_complex else _averaged(dtype)


def _wide(x: Any) -> Any:
    """The dtype in which a sum is formed: float32 for half precision, 64-bit for ints."""
    if x.dtype.itemsize == 2 and x.dtype.kind not in "iu":
        return np.float32
    if x.dtype.kind in "bi":
        return np.int64
    return np.uint64 if x.dtype.kind == "u" else x.dtype


def expanded(g: Any, type_: TensorType, axis: Any, keepdims: bool) -> Any:
    """``g`` with the axes that a reduction of ``type_`` took away put back with size 1."""
    if keepdims or type_.ndim == 0:
        return g
    axes = normal_axes("reduction", axis, type_.ndim)
    return find("expand_dims")(g, axis=axes) if axes else g


def _beside(g: Any, x: Any, type_: TensorType, axis: Any, keepdims: bool) -> Any:
    """``g`` in the full shape of ``x``; sizes that only the data tell come from ``x`` itself."""
    g = expanded(g, type_, axis, keepdims)
    if g.shape == type_.shape:
        return g
    return find("broadcast_to")(g, shape=type_.shape) if has_sizes(type_) else find("zeros_like")(x) + g


def _lanes(name: str) -> Callable[..., Any]:
    """vmap: the axes move one up; a lane without axes gets one of size 1 to reduce."""

    def batch(size: int, inputs: Any, batched: Any, *, axis: Any, keepdims: bool, **attrs: Any) -> tuple[Any, bool]:
        x = inputs[0]
        if x.ndim == 1:
            return find(name)(find("expand_dims")(x, axis=1), axis=1, keepdims=False, **attrs), True
        if name in ("argmax", "argmin"):
            return _arg_lanes(find(name), x, axis, keepdims), True
        axes = tuple(a + 1 for a in normal_axes(name, axis, x.ndim - 1))
        return find(name)(x, axis=axes, keepdims=keepdims, **attrs), True

    return batch


def _arg_lanes(op: Op, x: Any, axis: int | None, keepdims: bool) -> Any:
    """An index into all elements of a lane needs the lane flattened."""
    if axis is not None:
        return op(x, axis=axis % (x.ndim - 1) + 1, keepdims=keepdims)
    rows = x.shape[0]
    found = op(find("reshape")(x, shape=(rows, -1)), axis=1, keepdims=False)
    return find("reshape")(found, shape=(rows, *[1] * (x.ndim - 1))) if keepdims else found


def _over(axis: Any) -> Any:
    """``axis`` for an array library: no axes named are all axes (``normal_axes``), where NumPy would reduce none."""
    return None if axis == () else axis


def _reduction(
    name: str, body: Callable[..., Any], result: Callable[[DType], DType], doc: str,
    grad: Callable[..., Any] | None = None, *, no_grad: str = "", label: str = "", nonempty: bool = False,
    kinds: str = "bifc", extra: tuple[Example, ...] = (), attrs: dict[str, Any] | None = None,
    numpy: Callable[..., Any] | None = None,
) -> Op:  # fmt: skip
    both = {"axis": None, "keepdims": False, **(attrs or {})}
    wrong = [InvalidExample((example_inputs.SIGNED,), {"axis": 2}, "outside a tensor of 2 axes", ValueError),
             InvalidExample((example_inputs.SIGNED,), {"axis": (0, -2)}, "twice", ValueError)]  # fmt: skip
    if nonempty:
        wrong.append(InvalidExample((example_inputs.EMPTY,), {"axis": 0}, "of no elements has no value", ShapeError))
    if "c" not in kinds:
        wrong.append(InvalidExample((example_inputs.COMPLEX,), {}, "does not take", DTypeError))
    examples = [Example((example_inputs.SIGNED,)), Example((example_inputs.CUBE,), {"axis": 1}),
                Example((example_inputs.CUBE,), {"axis": (0, -1), "keepdims": True}), Example((example_inputs.SCALAR,)),
                Example((example_inputs.SIGNED,), {"axis": ()}),
                Example((example_inputs.EMPTY,), {"axis": 1})]  # fmt: skip
    return define(
        name,
        "x",
        attrs=both,
        infer=reduction(name, result, kinds=kinds, nonempty=nonempty),
        body=body,
        numpy=numpy,
        doc=doc,
        grad=grad,
        no_grad=no_grad,
        axes=_axes_labels(label),
        batch=_lanes(name),
        examples=(*examples, *extra),
        wrong=wrong,
        family="reduce",
        reduction=name,
    )


# ---- sums ----


def _sum_grad(dout: Any, x: Any, types: Any, axis: Any, keepdims: Any) -> Any:
    return _beside(dout, x, types[0], axis, keepdims)


def _sum(xp: Any, x: Any, *, axis: Any, keepdims: Any) -> Any:
    return total(xp, x, _over(axis) if x.size < LONG else normal_axes("sum", axis, x.ndim), keepdims, _wide(x))


def _by_ufunc(ufunc: Any, mean: bool = False) -> Callable[..., Any]:
    """A reduction of few floats as NumPy's own: over axes that are named, and without its questions."""

    def numpy(types: Any, outs: Any, *, axis: Any, keepdims: bool, **attrs: Any) -> Any:
        x, dtype = types[0], types[0].dtype.numpy
        axes = normal_axes("reduction", axis, x.ndim)
        n = math.prod(x.shape[a] for a in axes)
        if not x.dtype.is_float or x.dtype.itemsize == 2 or not axes or not 0 < x.size < LONG:
            return None
        over = axes if mean else None if axis == () else axis
        run = partial(ufunc.reduce, axis=over, dtype=dtype, keepdims=bool(keepdims))
        if mean:
            return lambda a: np.asarray(run(a) / n, dtype)
        return run if outs[0].ndim else lambda a: np.asarray(run(a), dtype)

    return numpy


SUM = _reduction(
    "sum", _sum, _summed,
    "Sum over axes; no elements give 0.", _sum_grad, numpy=_by_ufunc(np.add),
    extra=(Example((example_inputs.EMPTY,), {"axis": 0}),),
)  # fmt: skip


def _mean(xp: Any, x: Any, *, axis: Any, keepdims: Any) -> Any:
    """NaN where there are no elements, as 0 / 0."""
    axes = normal_axes("mean", axis, x.ndim)
    n = math.prod(x.shape[i] for i in axes)
    whole = total(xp, x, axes, keepdims, np.float64 if x.dtype.kind in "biu" else _wide(x))
    return whole / n if n else whole * np.nan


def _count(name: str, t: TensorType, axis: Any) -> Size:
    """How many elements each result of a reduction is made of."""
    return product(t.shape[i] for i in normal_axes(name, axis, t.ndim))


def _counted(t: TensorType, axis: Any, dtype: DType) -> Any:
    """The same as a number of the program, where sizes are symbols."""
    sizes = [t.shape[i] for i in normal_axes("mean", axis, t.ndim)]
    found: Any = float(math.prod(d for d in sizes if isinstance(d, int)))
    for d in (d for d in sizes if isinstance(d, Dim)):
        found = SUM(find("ones")(shape=(d,), dtype=dtype), axis=None, keepdims=False) * found
    return find("maximum")(found, 1.0)


def _mean_grad(dout: Any, x: Any, types: Any, out_type: Any, axis: Any, keepdims: Any) -> Any:
    n = _count("mean", types[0], axis)
    if isinstance(n, int):
        return _beside(dout / float(n) if n else dout, x, types[0], axis, keepdims)
    if is_bindable(n) and dout.dtype.itemsize >= 4:
        return _beside(dout / _counted(types[0], axis, dout.dtype), x, types[0], axis, keepdims)
    ones = find("ones_like")(x)
    return _beside(dout / SUM(ones, axis=axis, keepdims=keepdims), x, types[0], axis, keepdims)


MEAN = _reduction(
    "mean", _mean, _averaged, "Mean over axes; ints give float32, no elements NaN.", _mean_grad,
    numpy=_by_ufunc(np.add, mean=True),
)  # fmt: skip


def _prod_grad(dout: Any, x: Any, out: Any, types: Any, axis: Any, keepdims: Any) -> Any:
    """The product of the others: products from the left times products from the right, so that zeros do no harm."""
    axes = normal_axes("prod", axis, types[0].ndim)
    others = _product_of_others(x, axes)
    return _beside(dout, x, types[0], axis, keepdims) * adjoint(others)


def _product_of_others(x: Any, axes: tuple[int, ...]) -> Any:
    """At every position, the product over ``axes`` of all the other elements."""
    if not axes:
        return find("ones_like")(x)
    *rest, last = axes
    along = _others_along(x, last)
    if not rest:
        return along
    return along * _product_of_others(PROD(x, axis=last, keepdims=True), tuple(rest))


def _others_along(x: Any, axis: int) -> Any:
    before = find("cumprod")(x, axis=axis, exclusive=True, reverse=False)
    return before * find("cumprod")(x, axis=axis, exclusive=True, reverse=True)


PROD = _reduction(
    "prod", lambda xp, x, *, axis, keepdims: xp.prod(x, axis=_over(axis), keepdims=keepdims, dtype=_wide(x)), _summed,
    "Product over axes; no elements give 1.", _prod_grad, label="!",
    extra=(Example((example_inputs.EMPTY,), {"axis": 0}),
           Example((np.array([[0.0, 2.0, 3.0], [0.5, 1.5, 0.25]]),), {"axis": 1})),
)  # fmt: skip


# ---- extremes ----


def _extreme_grad(arg: str) -> Callable[..., Any]:
    """``ties="share"``: elements that are equally large share the gradient evenly. NaN equals NaN here, so a NaN
    maximum blames the NaNs. ``ties="first"``: all goes to the first of them, whose index goes with the value."""

    def grad(dout: Any, x: Any, out: Any, types: Any, axis: Any, keepdims: Any, ties: Any) -> Any:
        g = expanded(dout, types[0], axis, keepdims)
        if ties == "first":
            return _to_first(g, find(arg)(x, axis=axis, keepdims=True), x, axis)
        hit = find("logical_or")(x == expanded(out, types[0], axis, keepdims), find("isnan")(x))
        share = find("cast")(hit, dtype=x.dtype)
        return g * share / SUM(share, axis=axis, keepdims=True)

    return grad


def _to_first(g: Any, place: Any, x: Any, axis: int) -> Any:
    """``g`` at the places, nothing elsewhere."""
    if x.ndim == 0:
        return g
    size = x.shape[axis]
    if isinstance(size, int):
        count = find("arange")(start=0, stop=size, step=1, dtype=dtypes.int64)
        along = find("reshape")(count, shape=(-1, *[1] * (x.ndim - 1 - axis % x.ndim)))
    else:  # counted along the axis itself: its size is known when the program runs
        ones = find("cast")(find("ones_like")(x), dtype=dtypes.int64)
        along = find("cumsum")(ones, axis=axis, exclusive=True, reverse=False)
    return find("where")(along == place, g, 0)


def _same(dtype: DType) -> DType:
    return dtype


_FIRST = (Example((example_inputs.CUBE,), {"axis": 1, "ties": "first"}),)
MAX = _reduction(
    "max", lambda xp, x, *, axis, keepdims, ties: xp.max(x, axis=_over(axis), keepdims=keepdims), _same,
    "Largest element over axes; NaN wins.", _extreme_grad("argmax"), label="^", nonempty=True, kinds="bif",
    numpy=_by_ufunc(np.maximum), attrs={"ties": "share"}, extra=_FIRST,
)  # fmt: skip
MIN = _reduction(
    "min", lambda xp, x, *, axis, keepdims, ties: xp.min(x, axis=_over(axis), keepdims=keepdims), _same,
    "Smallest element over axes; NaN wins.", _extreme_grad("argmin"), label="^", nonempty=True, kinds="bif",
    numpy=_by_ufunc(np.minimum), attrs={"ties": "share"}, extra=_FIRST,
)  # fmt: skip
ANY = _reduction(
    "any", lambda xp, x, *, axis, keepdims: xp.any(x.astype(np.bool_), axis=_over(axis), keepdims=keepdims),
    lambda dtype: dtypes.bool_, "True where some element over the axes is not zero.", no_grad=_TRUTH, label="^",
)  # fmt: skip
ALL = _reduction(
    "all", lambda xp, x, *, axis, keepdims: xp.all(x.astype(np.bool_), axis=_over(axis), keepdims=keepdims),
    lambda dtype: dtypes.bool_, "True where every element over the axes is not zero.", no_grad=_TRUTH, label="^",
)  # fmt: skip
COUNT_NONZERO = _reduction(
    "count_nonzero",
    lambda xp, x, *, axis, keepdims: xp.sum(x.astype(np.bool_), axis=_over(axis), keepdims=keepdims, dtype=np.int64),
    lambda dtype: dtypes.int64, "How many elements over the axes are not zero.", no_grad="the result is a count",
)  # fmt: skip


def _arg(name: str) -> Op:
    def infer(x: TensorType, *, axis: Any, keepdims: Any) -> TensorType:
        if axis is not None:
            normal_axis(name, axis, x.ndim)
        found: TensorType = kept(x, axis=axis, keepdims=keepdims)
        return found

    def body(xp: Any, x: Any, *, axis: Any, keepdims: Any) -> Any:
        return getattr(xp, name)(x, axis=axis, keepdims=keepdims)

    kept = reduction(name, lambda dtype: dtypes.int64, kinds="bif", nonempty=True)
    return define(
        name,
        "x",
        onnx="arg_extreme",
        attrs={"axis": None, "keepdims": False},
        infer=infer,
        body=body,
        numpy=lambda types, outs, axis, keepdims: (
            methodcaller(name, axis, None, keepdims=keepdims) if outs[0].ndim and alike(types) else None),
        doc=f"Index of the first {'largest' if name == 'argmax' else 'smallest'} element along an axis (or of all).",
        no_grad=_INDEX,
        axes=_axes_labels("!"),
        batch=_lanes(name),
        examples=(Example((example_inputs.SIGNED,)), Example((example_inputs.CUBE,), {"axis": 1}),
        Example((example_inputs.SCALAR,)),
                  Example((example_inputs.CUBE,), {"axis": -1, "keepdims": True}), Example((example_inputs.EMPTY,),
                  {"axis": 1})),
        wrong=(InvalidExample((example_inputs.SIGNED,), {"axis": 2}, "outside a tensor of 2 axes", ValueError),
               InvalidExample((example_inputs.SIGNED,), {"axis": (0, 1)}, "must be an int", TypeError),
               InvalidExample((example_inputs.EMPTY,), {"axis": 0}, "of no elements has no value", ShapeError)),
        family="reduce",
    )  # fmt: skip


ARGMAX, ARGMIN = _arg("argmax"), _arg("argmin")


# ---- spread ----


def _var(xp: Any, x: Any, *, axis: Any, keepdims: Any, ddof: Any) -> Any:
    """Mean square distance from the mean, divided by n - ddof instead of n."""
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    elif x.dtype.itemsize == 2:
        x = x.astype(np.float32)
    axes = normal_axes("var", axis, x.ndim)
    n = math.prod(x.shape[i] for i in axes)
    if n <= ddof:
        return xp.sum(xp.abs(x), axis=axes, keepdims=keepdims) * np.nan
    apart = x - total(xp, x, axes, True, x.dtype) / n
    square = xp.abs(apart) ** 2
    return total(xp, square, axes, keepdims, square.dtype) / (n - ddof)


def _var_grad(dout: Any, x: Any, types: Any, out_type: Any, axis: Any, keepdims: Any, ddof: Any) -> Any:
    apart = x - MEAN(x, axis=axis, keepdims=True)
    g = expanded(dout, types[0], axis, keepdims)
    n = _count("var", types[0], axis)
    if isinstance(n, int):
        return g * apart * (2.0 / (n - ddof) if n > ddof else float("nan"))
    return g * apart * 2 / (SUM(find("ones_like")(x), axis=axis, keepdims=True) - ddof)


VAR = _reduction(
    "var", _var, _real, "Variance over axes: mean square distance from the mean, divided by n - ddof.", _var_grad,
    label="!", attrs={"ddof": 0}, extra=(Example((example_inputs.CUBE,), {"axis": (1, 2), "ddof": 1}),),
)  # fmt: skip
