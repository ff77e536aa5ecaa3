"""Pooling records: the largest value of each window, or the mean.

    max_pool2d(x) -> y                 which element won is a question about x and y: the first one equal to y
    max_pool2d_grad(x, y, dy) -> dx    sends each dy to its winner
    max_pool2d_pick(x, y, dx) -> dy    reads the winners: the transpose of max_pool2d_grad, and the other way round

The winners do not move under a small change of x, so the two maps are constant in x and y, and they close the family
under differentiation. The mean is linear: avg_pool2d and avg_pool2d_grad are each other's transposes.

Windows that reach into the padding: the largest value ignores padding; the mean counts it if ``count_include_pad``.
With ``ceil_mode`` a last, partial window is kept; what lies beyond the padding is never counted.
Source: `mindspore.ops.max_pool2d`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import AttributeValueError, ShapeError
from msnb.core import Dim, Shape, TensorType, float32, tensor_type
from msnb.ops.definition.data_format import (
    NCHW,
    NHWC,
    channels_last,
    channels_of,
    formatted,
    image_labels,
    image_shape,
    known_places,
    need_format,
    place_axes,
)
from msnb.ops.definition.operand_checks import spread
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define, find
from msnb.ops.definition.type_inference import operand_lines
from msnb.ops.definition.window_geometry import Pads, Pair, inner, need_images, out_sizes, padded, positions, slides
from msnb.ops.shape.views import reshape

_ONE: Pair = (1, 1)


# ---- types ----


def _check_window(name: str, kernel: Any, stride: Any, pads: Any) -> None:
    for what, value, count, low in (("kernel", kernel, 2, 1), ("stride", stride, 2, 1), ("pads", pads, 4, 0)):
        if not (isinstance(value, tuple) and len(value) == count and all(type(v) is int and v >= low for v in value)):
            raise AttributeValueError(f"{name}: {what} must be {count} ints of at least {low}, got {value!r}.")
    for i in (0, 1):  # else a window could see padding alone, whose maximum is not defined
        if max(pads[2 * i], pads[2 * i + 1]) >= kernel[i]:
            raise AttributeValueError(f"{name}: padding {pads} must be smaller than the window {kernel}.")


def _pooled(
    name: str, x: TensorType, kernel: Pair, stride: Pair, pads: Pads, ceil_mode: bool, data_format: str
) -> TensorType:
    need_format(name, data_format)
    _check_window(name, kernel, stride, pads)
    need_images(name, x)
    outs = out_sizes(name, x, kernel, stride, pads, _ONE, ceil_mode, place_axes(data_format))
    return tensor_type(image_shape(x.shape[0], channels_of(x.shape, data_format), outs, data_format), x.dtype)


def _need_shape(name: str, what: str, t: TensorType, shape: Shape) -> None:
    if t.shape != shape:
        raise ShapeError(
            f"{name}: {what} must have shape [{', '.join(map(str, shape))}].", operands=operand_lines(t, names=(what,))
        )


def _infer_max_grad(x: TensorType, y: TensorType, dy: TensorType, **attrs: Any) -> TensorType:
    out = _pooled("max_pool2d_grad", x, **attrs)
    _need_shape("max_pool2d_grad", "y", y, out.shape)
    _need_shape("max_pool2d_grad", "dy", dy, out.shape)
    return tensor_type(x.shape, dy.dtype)


def _infer_max_pick(x: TensorType, y: TensorType, dx: TensorType, **attrs: Any) -> TensorType:
    out = _pooled("max_pool2d_pick", x, **attrs)
    _need_shape("max_pool2d_pick", "y", y, out.shape)
    _need_shape("max_pool2d_pick", "dx", dx, x.shape)
    return tensor_type(out.shape, dx.dtype)


def _infer_avg_grad(dy: TensorType, *, size: Pair, count_include_pad: bool, **attrs: Any) -> TensorType:
    form = attrs["data_format"]
    need_format("avg_pool2d_grad", form)
    need_images("avg_pool2d_grad", dy)
    found = tensor_type(image_shape(dy.shape[0], channels_of(dy.shape, form), size, form), dy.dtype)
    _need_shape("avg_pool2d_grad", "dy", dy, _pooled("avg_pool2d_grad", found, **attrs).shape)
    return found


# ---- bodies ----


def covering_pads(size: tuple[int, ...], outs: tuple[int, ...], kernel: Pair, stride: Pair, pads: Pads) -> Pads:
    """The pads that every window needs: those of the user, and more after them under ``ceil_mode``."""
    reached = [(outs[i] - 1) * stride[i] + kernel[i] - size[i] - pads[2 * i] for i in (0, 1)]
    return pads[0], max(pads[1], reached[0]), pads[2], max(pads[3], reached[1])


def _out_shape(x: Any, kernel: Pair, stride: Pair, pads: Pads, ceil_mode: bool) -> Pair:
    type_ = tensor_type(tuple(x.shape), float32)
    rows, columns = out_sizes("pool", type_, kernel, stride, pads, _ONE, ceil_mode)
    assert not isinstance(rows, Dim) and not isinstance(columns, Dim)
    return rows, columns


def _body_max(xp: Any, x: Any, *, kernel: Pair, stride: Pair, pads: Pads, ceil_mode: bool) -> Any:
    outs = _out_shape(x, kernel, stride, pads, ceil_mode)
    big = padded(xp, x, covering_pads(x.shape[2:], outs, kernel, stride, pads), -xp.inf)
    y = None
    for _, _, rows, columns in positions(kernel, stride, _ONE, outs):
        seen = big[:, :, rows, columns]
        y = seen.copy() if y is None else xp.maximum(y, seen)
    return y


def _winners(xp: Any, big: Any, y: Any, kernel: Pair, stride: Pair) -> Any:
    """For each place of the window (rows, columns, mask): True where this place is the first to hold the maximum."""
    free = xp.ones(y.shape, dtype=bool)
    for _, _, rows, columns in positions(kernel, stride, _ONE, y.shape[2:]):
        seen = big[:, :, rows, columns]
        won = free & ((seen == y) | (seen != seen))
        yield rows, columns, won
        free = free & ~won


def _body_max_grad(xp: Any, x: Any, y: Any, dy: Any, *, kernel: Pair, stride: Pair, pads: Pads, ceil_mode: bool) -> Any:
    cover = covering_pads(x.shape[2:], y.shape[2:], kernel, stride, pads)
    big = padded(xp, x, cover, -xp.inf)
    out = xp.zeros(big.shape, dtype=dy.dtype)
    none = dy.dtype.type(0)
    for rows, columns, won in _winners(xp, big, y, kernel, stride):
        out[:, :, rows, columns] += xp.where(won, dy, none)
    return inner(out, cover, x.shape[2:]).copy()


def _body_max_pick(xp: Any, x: Any, y: Any, dx: Any, *, kernel: Pair, stride: Pair, pads: Pads, ceil_mode: bool) -> Any:
    cover = covering_pads(x.shape[2:], y.shape[2:], kernel, stride, pads)
    source = padded(xp, dx, cover)
    out = xp.zeros(y.shape, dtype=dx.dtype)
    for rows, columns, won in _winners(xp, padded(xp, x, cover, -xp.inf), y, kernel, stride):
        out = xp.where(won, source[:, :, rows, columns], out)
    return out


def _counts(size: int, out: int, kernel: int, stride: int, before: int, after: int, include: bool) -> Any:
    """How many positions of an axis each window averages over."""
    start = np.arange(out) * stride - before
    low, high = (-before, size + after) if include else (0, size)
    return np.minimum(start + kernel, high) - np.maximum(start, low)


def _divisor(xp: Any, size: Any, outs: Any, kernel: Pair, stride: Pair, pads: Pads, include: bool, dtype: Any) -> Any:
    rows, columns = (
        _counts(size[i], outs[i], kernel[i], stride[i], pads[2 * i], pads[2 * i + 1], include) for i in (0, 1)
    )
    return xp.asarray((rows[:, None] * columns[None, :]).astype(dtype))


def _summed(dtype: Any) -> Any:
    """Two-byte floats are summed in float32."""
    return np.dtype(np.float32) if dtype.itemsize < 4 else dtype


def _body_avg(
    xp: Any, x: Any, *, kernel: Pair, stride: Pair, pads: Pads, ceil_mode: bool, count_include_pad: bool
) -> Any:
    outs = _out_shape(x, kernel, stride, pads, ceil_mode)
    big = padded(xp, x, covering_pads(x.shape[2:], outs, kernel, stride, pads))
    total = xp.zeros((*x.shape[:2], *outs), dtype=_summed(x.dtype))
    for _, _, rows, columns in positions(kernel, stride, _ONE, outs):
        total += big[:, :, rows, columns]
    return total / _divisor(xp, x.shape[2:], outs, kernel, stride, pads, count_include_pad, total.dtype)


def _body_avg_grad(
    xp: Any, dy: Any, *, size: Pair, kernel: Pair, stride: Pair, pads: Pads, ceil_mode: bool, count_include_pad: bool
) -> Any:
    outs = dy.shape[2:]
    cover = covering_pads(size, outs, kernel, stride, pads)
    want = _summed(dy.dtype)
    share = dy.astype(want) / _divisor(xp, size, outs, kernel, stride, pads, count_include_pad, want)
    big = xp.zeros((*dy.shape[:2], size[0] + cover[0] + cover[1], size[1] + cover[2] + cover[3]), dtype=want)
    for _, _, rows, columns in positions(kernel, stride, _ONE, outs):
        big[:, :, rows, columns] += share
    return inner(big, cover, size).copy()


# ---- records ----


def _batch(op: str) -> Any:
    """vmap: images of all lanes are images; what is the same in every lane is repeated."""

    def rule(axis_size: int, inputs: Any, batched: Any, **attrs: Any) -> Any:
        lanes = [spread(t, b, axis_size) for t, b in zip(inputs, batched)]
        out = find(op)(*[reshape(t, (axis_size * t.shape[1], *t.shape[2:])) for t in lanes], **attrs)
        return reshape(out, (axis_size, out.shape[0] // axis_size, *out.shape[1:])), True

    return rule


def _work(types: Any, outs: Any, attrs: Any) -> Work:
    """One flop per element of every window."""
    windows = types[-1] if "size" in attrs else outs[0]
    n = attrs["kernel"][0] * attrs["kernel"][1]
    for d in windows.shape:
        n *= (d.bound or 1) if isinstance(d, Dim) else d
    return Work(vector=float(n))


_WINDOW = {"kernel": (1, 1), "stride": (1, 1), "pads": (0, 0, 0, 0), "ceil_mode": False, "data_format": NCHW}
_MEAN = {**_WINDOW, "count_include_pad": True}
# values far apart: finite differences must not change who wins
_X = np.random.default_rng(3).permutation(60).reshape(1, 2, 5, 6) * 0.25 - 4.0
_EVEN: dict[str, Any] = {"kernel": (2, 3), "stride": (2, 3)}
_LAPPED: dict[str, Any] = {"kernel": (3, 2), "stride": (2, 1), "pads": (1, 1, 0, 1), "ceil_mode": True}
_Y_EVEN = _body_max(np, _X, pads=(0, 0, 0, 0), ceil_mode=False, **_EVEN)
_Y_LAPPED = _body_max(np, _X, **_LAPPED)
_DY_EVEN = np.random.default_rng(4).standard_normal(_Y_EVEN.shape)
_DY_LAPPED = np.random.default_rng(5).standard_normal(_Y_LAPPED.shape)
_DX = np.random.default_rng(6).standard_normal(_X.shape)
_LAST: dict[str, Any] = {**_LAPPED, "data_format": NHWC}


def _axes(roles: str) -> Any:
    """Labels of operands and result: x images, y one value per window; everything keeps its place."""

    def labels(types: Any, attrs: Any) -> str:
        words = [image_labels(attrs["data_format"], rim="~" if role == "x" else "") for role in roles]
        return f"{', '.join(words[:-1])} -> {words[-1]}"

    return labels


def _pooling(name: str, roles: str, body: Any) -> dict[str, Any]:
    """What the records have in common; ``roles`` of operands and result, as in ``_axes``."""
    operands = range(len(roles) - 1)
    return {
        "body": formatted(body, *operands), "axes": _axes(roles), "images": (*operands, -1), "batch": _batch(name),
        "windows": slides, "work": _work, "family": "pool",
    }  # fmt: skip


MAX_POOL2D: Op = define(
    "max_pool2d",
    "x",
    onnx="pool2d",
    attrs=_WINDOW,
    infer=lambda x, **attrs: _pooled("max_pool2d", x, **attrs),
    grad=lambda dout, x, out, attrs: MAX_POOL2D_GRAD(x, out, dout, **attrs),
    doc="The largest value of each window of images [n, channels, rows, columns].",
    **_pooling("max_pool2d", "xy", _body_max),
    examples=(Example((_X,), _EVEN), Example((_X,), _LAPPED), Example((channels_last(_X),), _LAST)),
    wrong=(
        InvalidExample((_X[0],), _EVEN, "needs x of four axes", ShapeError),
        InvalidExample((_X,), {**_EVEN, "data_format": "HWCN"}, "must be 'NCHW' or 'NHWC'", AttributeValueError),
        InvalidExample((_X,), {"kernel": (6, 1)}, "the window spans 6 rows, the padded input has 5", ShapeError),
        InvalidExample(
            (_X,), {"kernel": (2, 2), "pads": (2, 0, 0, 0)}, "must be smaller than the window", AttributeValueError
        ),
    ),
)

MAX_POOL2D_GRAD: Op = define(
    "max_pool2d_grad",
    "x, y, dy",
    attrs=_WINDOW,
    infer=_infer_max_grad,
    grad=lambda dout, x, y, attrs: (None, None, MAX_POOL2D_PICK(x, y, dout, **attrs)),
    doc="Send dy [windows] to the element of x that won its window.",
    **_pooling("max_pool2d_grad", "xyyx", _body_max_grad),
    examples=(
        Example((_X, _Y_EVEN, _DY_EVEN), _EVEN),
        Example((_X, _Y_LAPPED, _DY_LAPPED), _LAPPED),
        Example((channels_last(_X), channels_last(_Y_LAPPED), channels_last(_DY_LAPPED)), _LAST),
    ),
    wrong=(InvalidExample((_X, _Y_EVEN, _DY_EVEN[:, :1]), _EVEN, "dy must have shape", ShapeError),),
)

MAX_POOL2D_PICK: Op = define(
    "max_pool2d_pick",
    "x, y, dx",
    attrs=_WINDOW,
    infer=_infer_max_pick,
    grad=lambda dout, x, y, attrs: (None, None, MAX_POOL2D_GRAD(x, y, dout, **attrs)),
    doc="Read dx where x won its window.",
    **_pooling("max_pool2d_pick", "xyxy", _body_max_pick),
    examples=(
        Example((_X, _Y_EVEN, _DX), _EVEN),
        Example((_X, _Y_LAPPED, _DX), _LAPPED),
        Example((channels_last(_X), channels_last(_Y_LAPPED), channels_last(_DX)), _LAST),
    ),
    wrong=(InvalidExample((_X, _Y_EVEN, _DX[:, :1]), _EVEN, "dx must have shape", ShapeError),),
)

AVG_POOL2D: Op = define(
    "avg_pool2d",
    "x",
    onnx="pool2d",
    attrs=_MEAN,
    infer=lambda x, *, count_include_pad, **attrs: _pooled("avg_pool2d", x, **attrs),
    grad=lambda dout, types, attrs: AVG_POOL2D_GRAD(
        dout, size=known_places("avg_pool2d", types[0], attrs["data_format"]), **attrs
    ),
    traits=("pure", "linear"),
    doc="The mean of each window of images [n, channels, rows, columns].",
    **_pooling("avg_pool2d", "xy", _body_avg),
    examples=(
        Example((_X,), _EVEN),
        Example((_X,), {**_LAPPED, "count_include_pad": False}),
        Example((_X,), _LAPPED),
        Example((channels_last(_X),), _LAST),
    ),
    wrong=(
        InvalidExample((_X[0],), _EVEN, "needs x of four axes", ShapeError),
        InvalidExample((_X,), {"kernel": (2, 2), "stride": (0, 1)}, "stride must be 2 ints", AttributeValueError),
    ),
)

AVG_POOL2D_GRAD: Op = define(
    "avg_pool2d_grad",
    "dy",
    attrs={"size": (1, 1), **_MEAN},
    infer=_infer_avg_grad,
    grad=lambda dout, attrs: AVG_POOL2D(dout, **{key: attrs[key] for key in _MEAN}),
    traits=("pure", "linear"),
    doc="Spread each dy evenly over its window in images of ``size``.",
    **_pooling("avg_pool2d_grad", "yx", _body_avg_grad),
    examples=(
        Example((_DY_EVEN,), {"size": (5, 6), **_EVEN}),
        Example((_DY_LAPPED,), {"size": (5, 6), **_LAPPED, "count_include_pad": False}),
        Example((channels_last(_DY_LAPPED),), {"size": (5, 6), **_LAST}),
    ),
    wrong=(InvalidExample((_DY_EVEN,), {"size": (9, 9), **_EVEN}, "dy must have shape", ShapeError),),
)
