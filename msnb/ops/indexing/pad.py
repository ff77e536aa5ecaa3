"""Padding: more elements at the ends of axes.

constant     v v [a b c] v          a record; its adjoint cuts the middle out (negative widths cut)
reflect      c b [a b c] b          the others read elements that are there: rows gathered by an index that is
edge         a a [a b c] c          computed from the position; their gradients add up by themselves
circular     b c [a b c] a
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Size, Tensor, TensorType, cached, tensor_type
from msnb.ops.definition.operand_checks import as_ints, as_tensor, one_batched, strong_dtype
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define
from msnb.ops.definition.symbolic_sizes import total
from msnb.ops.definition.type_inference import need_ints, operand_lines
from msnb.ops.elementwise.arithmetic import abs as absolute, maximum, minimum, remainder
from msnb.ops.indexing.gather import GATHER
from msnb.ops.shape.creation import arange

FAMILY = "padding"  # of the records in this module: pictures and the JSON of graphs name it

_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])
Pads = tuple[tuple[int, int], ...]


def _padded(x: TensorType, size: Size, low: int, high: int) -> Size:
    out = total((size, low + high))
    if isinstance(out, int) and (out < 0 or (isinstance(size, int) and min(size + low, size + high) < 0)):
        raise ShapeError(
            f"pad: ({low}, {high}) cuts more than the {size} elements of an axis.", operands=operand_lines(x)
        )
    return out


def _pad_type(x: TensorType, *, pads: Pads, value: Any) -> TensorType:
    if len(pads) != x.ndim:
        raise ShapeError(f"pad: {len(pads)} pairs of widths for {x.ndim} axes.", operands=operand_lines(x))
    return tensor_type(tuple(_padded(x, d, *p) for d, p in zip(x.shape, pads)), strong_dtype(x))


def _pad_body(xp: Any, x: Any, *, pads: Pads, value: Any) -> Any:
    if any(w < 0 for pair in pads for w in pair):
        x = x[tuple(slice(max(-lo, 0), d - max(-hi, 0)) for d, (lo, hi) in zip(x.shape, pads))]
        pads = tuple((max(lo, 0), max(hi, 0)) for lo, hi in pads)
    out = xp.full(tuple(d + lo + hi for d, (lo, hi) in zip(x.shape, pads)), value, x.dtype)
    out[tuple(slice(lo, lo + d) for d, (lo, _) in zip(x.shape, pads))] = x
    return out


def _pad_axes(types: Any, attrs: Any) -> str:
    labels = "abcdefgh"[: types[0].ndim]
    same = [p == (0, 0) for p in attrs["pads"]]
    left = " ".join(c if s else f"{c}!" for c, s in zip(labels, same))
    return left + " -> " + " ".join(c if s else f"{c.upper()}!" for c, s in zip(labels, same))


PAD: Op = define(
    "pad",
    "x",
    onnx="pad",
    attrs={"pads": (), "value": 0.0},
    infer=_pad_type,
    body=_pad_body,
    grad=lambda dout, pads: PAD(dout, pads=tuple((-lo, -hi) for lo, hi in pads), value=0.0),
    axes=_pad_axes,
    batch=one_batched(lambda x, pads, value: PAD(x, pads=((0, 0), *pads), value=value)),
    work=lambda types, out_types, attrs: Work(),
    traits=("pure",),
    doc="A border of one value; negative widths cut.",
    examples=(
        Example((_A,), {"pads": ((1, 0), (0, 2)), "value": 1.5}),
        Example((_A,), {"pads": ((0, 0), (-1, 1))}),
        Example((_A[:0],), {"pads": ((1, 1), (0, 0))}),
        Example((np.array(1.5),), {"pads": ()}),
    ),
    wrong=(
        InvalidExample((_A,), {"pads": ((1, 1),)}, "1 pairs of widths for 2 axes", ShapeError),
        InvalidExample((_A,), {"pads": ((0, 0), (-2, -2))}, "cuts more than the 3 elements", ShapeError),
    ),
)


# ---- borders read from the tensor ----


def _reflected(position: Any, size: int) -> Any:
    """0..size-1 and back, again and again: the distance from the far end, folded."""
    if size == 1:
        return position * 0
    return (size - 1) - absolute((size - 1) - remainder(position, 2 * (size - 1)))


def _clipped(position: Any, size: int) -> Any:
    return minimum(maximum(position, 0), size - 1)


def _wrapped(position: Any, size: int) -> Any:
    return remainder(position, size)


_BORDERS: dict[str, Callable[[Any, int], Any]] = {
    "reflect": _reflected, "edge": _clipped, "replicate": _clipped, "circular": _wrapped, "wrap": _wrapped,
}  # fmt: skip


def _border(x: Any, axis: int, low: int, high: int, mode: str) -> Any:
    size = x.shape[axis]
    if not isinstance(size, int):
        raise ShapeError(
            f"pad: mode {mode!r} needs an axis of known size, not {size}.", operands=operand_lines(x._type)
        )
    wraps = _BORDERS[mode] is _wrapped
    cut = max(-low, 0) if wraps else 0  # what is cut off does not come back at the other end
    left = size - cut + min(high, 0) if wraps else size
    total, folds = size + low + high, mode == "reflect" and max(low, high) >= size
    if left <= 0 < total or total < 0 or folds:
        raise ShapeError(
            f"pad: mode {mode!r} with ({low}, {high}) does not fit an axis of size {size}.",
            operands=operand_lines(x._type),
            hint="reflect needs widths smaller than the axis.",
        )
    return GATHER(x, _BORDERS[mode](arange(-low - cut, size + high - cut), left) + cut, axis=axis)


def as_pads(pads: Any, ndim: int) -> Pads:
    """Pairs per axis from any accepted form: a flat list from the last axis on, a list of pairs, or one number."""
    for widths in pads if isinstance(pads, (tuple, list)) else (pads,):
        need_ints("pad", padding=widths)
    if isinstance(pads, int):
        return ((pads, pads),) * ndim
    flat = isinstance(pads, Tensor) and pads.ndim == 1
    found = list(as_ints("pad", (pads,)) if flat else pads.tolist() if hasattr(pads, "tolist") else pads)
    if found and isinstance(found[0], (tuple, list)):
        return tuple((int(lo), int(hi)) for lo, hi in found)
    if len(found) % 2 or len(found) > 2 * ndim:
        raise AttributeValueError(f"pad: {len(found)} widths for {ndim} axes; two per axis, from the last axis on.")
    # PyTorch's flat list begins with the last axis, pairs with the first
    pairs = [(int(found[i]), int(found[i + 1])) for i in range(0, len(found), 2)]
    return ((0, 0),) * (ndim - len(pairs)) + tuple(reversed(pairs))


@cached
def pad(x: Any, padding: Any = None, mode: str = "constant", value: Any = None, *, pads: Any = None) -> Tensor:
    """``x`` with a border.

    Args:
        x: tensor.
        padding: widths from the last axis on, (left, right, top, bottom, ...), as PyTorch and MindSpore count; or one
            (before, after) pair for every axis in order; or one number. Negative widths cut (constant mode).
        mode: "constant", "reflect", "edge" (= "replicate") or "circular" (= "wrap").
        value: the number that fills a constant border (0).

    Raises:
        ShapeError: reflect wider than the axis, cut deeper than the axis.
        AttributeValueError: an unknown mode.

    Source: `mindspore.ops.pad`.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.pad(ms.Tensor([1, 2, 3]), (2, 1), mode="reflect").tolist()
        [3, 2, 1, 2, 3, 2]
    """
    t = as_tensor(x)
    pairs = as_pads(padding if pads is None else pads, t.ndim)
    if mode == "constant":
        return PAD(t, pads=pairs, value=0 if value is None else value)
    if mode not in _BORDERS:
        raise AttributeValueError(f"pad: there is no mode {mode!r}; legal: constant, {', '.join(_BORDERS)}.")
    if value:  # 0 is what a program writes that always gives one
        raise AttributeValueError(f"pad: mode {mode!r} takes no value (got {value!r}); constant does.")
    if len(pairs) != t.ndim:
        raise ShapeError(f"pad: {len(pairs)} pairs of widths for {t.ndim} axes.", operands=operand_lines(t._type))
    for axis, (low, high) in enumerate(pairs):  # one axis after the other: corners come from sides done before
        t = t if low == high == 0 else _border(t, axis, low, high, mode)
    return t
