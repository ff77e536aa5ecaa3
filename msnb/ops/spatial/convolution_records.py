"""Convolution: one trilinear form, three ways to leave out one of its arguments.

    F(X, W, Y) = sum over n, o, y, x, c, i, j of   Y[n,o,y,x] * W[o,c,i,j] * X[n, c, y*s + i*d - p, x*s + j*d - p]

    conv2d(X, W)               = dF/dY      [n,o,y,x]
    conv2d_input_grad(Y, W)    = dF/dX      [n,c,h,w]    also known as transposed convolution
    conv2d_weight_grad(X, Y)   = dF/dW      [o,c,i,j]

Each is linear in both of its arguments, and its derivative by one of them is again one of the three. So derivatives of
any order are convolutions, and a fourth kernel is not needed.

The bodies gather the windows of many images into columns ("im2col") and leave the sums to one matrix product (a library
that splits products over threads loses more than it wins on one small product per image):

    cols[(c i j), (n y x)]         Y = W @ cols           W = Y @ cols^T           cols = W^T @ Y

Layouts: images NCHW or NHWC (``data_format``), weights OIHW (with ``groups`` g: I = C / g, group k owns channels k*C/g
and outputs k*O/g on).
Source: `mindspore.ops.conv2d`; Chellapilla, Puri, Simard,
"High Performance Convolutional Neural Networks for Document Processing", 2006 (columns).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Dim, Shape, TensorType, tensor_type
from msnb.ops.definition.data_format import (
    NCHW,
    NHWC,
    channel_axis,
    channels_last,
    channels_of,
    formatted,
    image_labels,
    image_shape,
    known_places,
    need_format,
    place_axes,
    places_of,
)
from msnb.ops.definition.operand_checks import spread
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define, find
from msnb.ops.definition.type_inference import int_error, operand_lines
from msnb.ops.definition.window_geometry import Pads, Pair, inner, need_images, out_sizes, padded, positions, slides
from msnb.ops.shape.views import reshape, transpose

Attrs = Mapping[str, Any]
# columns are made for as many images at once as fit here: they stay in the cache between gather and product
_COLUMN_ELEMENTS = 1 << 21


# ---- types ----


def check_attrs(name: str, stride: Any, pads: Any, dilation: Any, groups: Any, data_format: Any = NCHW) -> None:
    """Raise AttributeValueError for attributes no convolution has."""
    # exact types: attributes are keys of caches and are written into text as they are
    need_format(name, data_format)
    for what, value, count, low in (("stride", stride, 2, 1), ("dilation", dilation, 2, 1), ("pads", pads, 4, 0)):
        ints = isinstance(value, tuple) and len(value) == count and all(type(v) is int and v >= low for v in value)
        if not ints:
            raise AttributeValueError(f"{name}: {what} must be {count} ints of at least {low}, got {value!r}.")
    if type(groups) is not int or groups < 1:
        raise int_error(groups)(f"{name}: groups must be an int of at least 1, got {groups!r}.")


def _same_dtype(name: str, a: TensorType, b: TensorType, names: tuple[str, str]) -> None:
    if a.dtype is not b.dtype:
        raise DTypeError(
            f"{name}: {names[0]} and {names[1]} have different dtypes.",
            operands=operand_lines(a, b, names=names),
            hint=f"convert one, for instance {names[0]}.astype(ms.{b.dtype.name}).",
        )


def _check_weight(name: str, x: TensorType, w: TensorType, groups: int, data_format: str, lines: list[str]) -> None:
    channels = channels_of(x.shape, data_format)
    if w.ndim != 4:
        raise ShapeError(f"{name} needs a weight of four axes (out, in/groups, rows, columns).", operands=lines)
    if not isinstance(channels, Dim) and channels != w.ints()[1] * groups:
        raise ShapeError(
            f"{name}: x has {channels} channels, the weight expects {w.ints()[1] * groups}"
            + (f" ({w.ints()[1]} for each of {groups} groups)." if groups > 1 else "."),
            operands=lines,
            hint=f"axis {channel_axis(data_format)} of x is the channel axis ({data_format}); in_channels of the layer "
            "must equal it.",
        )
    if w.ints()[0] % groups:
        raise ShapeError(f"{name}: {w.ints()[0]} output channels do not divide into {groups} groups.", operands=lines)


def _infer(
    x: TensorType, weight: TensorType, *, stride: Pair, pads: Pads, dilation: Pair, groups: int, data_format: str
) -> TensorType:
    check_attrs("conv2d", stride, pads, dilation, groups, data_format)
    need_images("conv2d", x)
    lines = operand_lines(x, weight, names=("x", "weight"))
    _check_weight("conv2d", x, weight, groups, data_format, lines)
    _same_dtype("conv2d", x, weight, ("x", "weight"))
    kernel = (weight.ints()[2], weight.ints()[3])
    outs = out_sizes("conv2d", x, kernel, stride, pads, dilation, axes=place_axes(data_format))
    return tensor_type(image_shape(x.shape[0], weight.shape[0], outs, data_format), x.dtype)


def _need_windows(name: str, dout: TensorType, expected: Shape, lines: list[str]) -> None:
    fits = all(a == b for a, b in zip(dout.shape, expected))
    if dout.ndim != 4 or not fits:
        want = ", ".join(map(str, expected))
        raise ShapeError(f"{name}: dout must have the shape [{want}] that conv2d gives.", operands=lines)


def _infer_input_grad(
    dout: TensorType, weight: TensorType, *, size: Pair, stride: Pair, pads: Pads, dilation: Pair, groups: int,
    data_format: str,
) -> TensorType:  # fmt: skip
    name = "conv2d_input_grad"
    check_attrs(name, stride, pads, dilation, groups, data_format)
    need_images(name, dout)
    lines, axis = operand_lines(dout, weight, names=("dout", "weight")), channel_axis(data_format)
    if weight.ndim != 4 or dout.shape[axis] != weight.shape[0]:
        raise ShapeError(f"{name}: axis {axis} of dout must equal axis 0 of the weight.", operands=lines)
    _same_dtype(name, dout, weight, ("dout", "weight"))
    found = tensor_type(image_shape(dout.shape[0], weight.ints()[1] * groups, size, data_format), dout.dtype)
    kernel, axes = (weight.ints()[2], weight.ints()[3]), place_axes(data_format)
    outs = out_sizes(name, found, kernel, stride, pads, dilation, axes=axes)
    _need_windows(name, dout, image_shape(dout.shape[0], dout.shape[axis], outs, data_format), lines)
    return found


def _infer_weight_grad(
    x: TensorType, dout: TensorType, *, kernel: Pair, stride: Pair, pads: Pads, dilation: Pair, groups: int,
    data_format: str,
) -> TensorType:  # fmt: skip
    name = "conv2d_weight_grad"
    check_attrs(name, stride, pads, dilation, groups, data_format)
    need_images(name, x)
    need_images(name, dout)
    lines = operand_lines(x, dout, names=("x", "dout"))
    _same_dtype(name, x, dout, ("x", "dout"))
    channels, outputs = channels_of(x.shape, data_format), channels_of(dout.shape, data_format)
    outs = out_sizes(name, x, kernel, stride, pads, dilation, axes=place_axes(data_format))
    _need_windows(name, dout, image_shape(x.shape[0], outputs, outs, data_format), lines)
    if isinstance(channels, Dim) or isinstance(outputs, Dim) or channels % groups or outputs % groups:
        raise ShapeError(f"{name}: the channels do not divide into {groups} groups.", operands=lines)
    return tensor_type((outputs, channels // groups, *kernel), x.dtype)


# ---- bodies ----


def _wide(xp: Any, a: Any) -> Any:
    """Two-byte floats are summed in float32."""
    return a.astype(xp.float32) if a.dtype.itemsize < 4 else a


def _chunks(n: int, per_image: int) -> Iterator[slice]:
    step = max(1, _COLUMN_ELEMENTS // max(per_image, 1))
    return (slice(i, i + step) for i in range(0, n, step))


def _channels_first(t: Any, groups: int) -> Any:
    """[n, channels, h, w] as [g, channels / g, (n h w)]."""
    return t.transpose(1, 0, 2, 3).reshape(groups, t.shape[1] // groups, -1)


def _columns(xp: Any, big: Any, kernel: Pair, stride: Pair, dilation: Pair, outs: Pair, groups: int) -> Any:
    """[g, (c i j), (n y x)] from a padded image."""
    n, c = big.shape[:2]
    if kernel == (1, 1) and stride == (1, 1):
        return _channels_first(big, groups)
    cols = xp.empty((c, *kernel, n, *outs), dtype=big.dtype)
    turned = big.transpose(1, 0, 2, 3)
    for i, j, rows, columns in positions(kernel, stride, dilation, outs):
        cols[:, i, j] = turned[:, :, rows, columns]
    return cols.reshape(groups, c // groups * kernel[0] * kernel[1], n * outs[0] * outs[1])


def _outs(x_shape: Any, kernel: Pair, stride: Pair, pads: Pads, dilation: Pair) -> Pair:
    rows = (x_shape[2] + pads[0] + pads[1] - dilation[0] * (kernel[0] - 1) - 1) // stride[0] + 1
    return rows, (x_shape[3] + pads[2] + pads[3] - dilation[1] * (kernel[1] - 1) - 1) // stride[1] + 1


def _body(xp: Any, x: Any, weight: Any, *, stride: Pair, pads: Pads, dilation: Pair, groups: int) -> Any:
    x, weight = _wide(xp, x), _wide(xp, weight)
    o, _, kh, kw = weight.shape
    outs = _outs(x.shape, (kh, kw), stride, pads, dilation)
    matrix = weight.reshape(groups, o // groups, -1)
    y = xp.empty((x.shape[0], o, *outs), dtype=x.dtype)
    for part in _chunks(x.shape[0], x.shape[1] * kh * kw * outs[0] * outs[1]):
        cols = _columns(xp, padded(xp, x[part], pads), (kh, kw), stride, dilation, outs, groups)
        y[part] = xp.matmul(matrix, cols).reshape(o, -1, *outs).transpose(1, 0, 2, 3)
    return y


def _body_input_grad(
    xp: Any, dy: Any, weight: Any, *, size: Pair, stride: Pair, pads: Pads, dilation: Pair, groups: int
) -> Any:
    dy, weight = _wide(xp, dy), _wide(xp, weight)
    n, o, oh, ow = dy.shape
    c = weight.shape[1] * groups
    kh, kw = weight.shape[2:]
    turned = weight.reshape(groups, o // groups, -1).transpose(0, 2, 1)
    high, wide = size[0] + pads[0] + pads[1], size[1] + pads[2] + pads[3]
    dx = xp.empty((n, c, *size), dtype=dy.dtype)
    for part in _chunks(n, c * kh * kw * oh * ow):
        cols = xp.matmul(turned, _channels_first(dy[part], groups)).reshape(c, kh, kw, -1, oh, ow)
        big = xp.zeros((c, cols.shape[3], high, wide), dtype=dy.dtype)
        for i, j, rows, columns in positions((kh, kw), stride, dilation, (oh, ow)):
            big[:, :, rows, columns] += cols[:, i, j]
        dx[part] = inner(big, pads, size).transpose(1, 0, 2, 3)
    return dx


def _body_weight_grad(
    xp: Any, x: Any, dy: Any, *, kernel: Pair, stride: Pair, pads: Pads, dilation: Pair, groups: int
) -> Any:
    x, dy = _wide(xp, x), _wide(xp, dy)
    n, o, oh, ow = dy.shape
    c = x.shape[1]
    dw = xp.zeros((groups, o // groups, c // groups * kernel[0] * kernel[1]), dtype=x.dtype)
    for part in _chunks(n, c * kernel[0] * kernel[1] * oh * ow):
        cols = _columns(xp, padded(xp, x[part], pads), kernel, stride, dilation, (oh, ow), groups)
        dw += xp.matmul(_channels_first(dy[part], groups), cols.transpose(0, 2, 1))
    return dw.reshape(o, c // groups, *kernel)


# ---- what else is asked of a record ----


def _flops(dout: TensorType, weight: TensorType, data_format: str) -> Work:
    """Two flops per product: every output meets one weight of every kernel place and channel of its group."""
    windows = weight.size
    for size in (dout.shape[0], *places_of(dout.shape, data_format)):
        windows *= _known(size)
    return Work(cube=2.0 * windows)


def _known(size: Any) -> int:
    return (size.bound or 1) if isinstance(size, Dim) else int(size)


def _axes(order: str) -> Any:
    """Labels of the three roles; with groups the channels hang together and stay whole."""

    def labels(types: Any, attrs: Attrs) -> str:
        c, o, i = ("c", "o", "c") if attrs["groups"] == 1 else ("c!", "o!", "i!")
        images = attrs["data_format"]
        parts = {"x": image_labels(images, c, "~"), "w": f"{o} {i} kh! kw!", "y": image_labels(images, o)}
        return f"{parts[order[0]]}, {parts[order[1]]} -> {parts[order[2]]}"

    return labels


def _split(attrs: Attrs) -> tuple[dict[str, Any], int]:
    rest = {k: v for k, v in attrs.items() if k != "groups"}
    return rest, attrs["groups"]


def _fold(size: int, t: Any, batched: bool, axis: int) -> Any:
    """Put the vmapped axis in front of axis ``axis`` of the unbatched tensor and merge the two."""
    t = spread(t, batched, size)
    shape = t.shape[1:]
    perm = tuple(range(1, axis + 1)) + (0,) + tuple(range(axis + 1, len(shape) + 1))
    merged = (*shape[:axis], size * shape[axis], *shape[axis + 1 :])
    return reshape(t if axis == 0 else transpose(t, perm), merged)


def _unfold(size: int, t: Any, axis: int) -> Any:
    """The way back: the vmapped axis to the front again."""
    shape = t.shape
    t = reshape(t, (*shape[:axis], size, shape[axis] // size, *shape[axis + 1 :]))
    rest = [i for i in range(len(shape) + 1) if i != axis]
    return t if axis == 0 else transpose(t, (axis, *rest))


def _batch(op: str, first: int, second: int, result: int) -> Any:
    """vmap: a batch of images alone joins n; otherwise every lane becomes a group of its own.

    The numbers are the axes where lanes meet the channels: 1 in images (3 where channels are last), 0 in weights.
    """

    def rule(axis_size: int, inputs: Any, batched: Any, **attrs: Any) -> Any:
        run = find(op)
        a, b = inputs
        lane = {0: 0, 1: channel_axis(attrs["data_format"])}
        if batched == (True, False) and second == 0:
            return _unfold(axis_size, run(_fold(axis_size, a, True, 0), b, **attrs), 0), True
        rest, groups = _split(attrs)
        a, b = _fold(axis_size, a, batched[0], lane[first]), _fold(axis_size, b, batched[1], lane[second])
        return _unfold(axis_size, run(a, b, groups=groups * axis_size, **rest), lane[result]), True

    return lambda axis_size, inputs, batched, **attrs: rule(axis_size, inputs, tuple(map(bool, batched)), **attrs)


# ---- records ----

_draw = np.random.default_rng(7).standard_normal
_X, _W = _draw((2, 4, 5, 6)), _draw((6, 4, 3, 2))
_WG = _draw((6, 2, 2, 3))
_Y = _draw((2, 6, 3, 5))
_YG = _draw((2, 6, 3, 4))
_ODD = {"stride": (2, 1), "pads": (1, 0, 0, 2), "dilation": (1, 2), "groups": 2}
_DEFAULTS = {"stride": (1, 1), "pads": (0, 0, 0, 0), "dilation": (1, 1), "groups": 1, "data_format": NCHW}
_LAST = {**_ODD, "data_format": NHWC}


def _grad(dout: Any, x: Any, weight: Any, attrs: Any) -> Any:
    dx = CONV2D_INPUT_GRAD(dout, weight, size=known_places("conv2d", x, attrs["data_format"]), **attrs)
    return dx, CONV2D_WEIGHT_GRAD(x, dout, kernel=weight.shape[2:], **attrs)


def _input_grad_grad(dout: Any, dy: Any, weight: Any, attrs: Any) -> Any:
    where = {key: attrs[key] for key in _DEFAULTS}
    return CONV2D(dout, weight, **where), CONV2D_WEIGHT_GRAD(dout, dy, kernel=weight.shape[2:], **where)


def _weight_grad_grad(dout: Any, x: Any, dy: Any, attrs: Any) -> Any:
    where = {key: attrs[key] for key in _DEFAULTS}
    dx = CONV2D_INPUT_GRAD(dy, dout, size=known_places("conv2d", x, attrs["data_format"]), **where)
    return dx, CONV2D(x, dout, **where)


_CONVOLUTION: dict[str, Any] = {"windows": slides, "traits": ("pure", "contraction"), "family": "conv"}

CONV2D: Op = define(
    "conv2d",
    "x, weight",
    onnx="conv2d",
    attrs=_DEFAULTS,
    infer=_infer,
    body=formatted(_body, 0),
    grad=_grad,
    axes=_axes("xwy"),
    images=(0, -1),
    batch=_batch("conv2d", 1, 0, 1),
    work=lambda types, outs, attrs: _flops(outs[0], types[1], attrs["data_format"]),
    doc="Slide weight [out, in/groups, rows, columns] over images x [n, channels, rows, columns].",
    **_CONVOLUTION,
    examples=(Example((_X, _W)), Example((_X, _WG), _ODD), Example((channels_last(_X), _WG), _LAST)),
    wrong=(
        InvalidExample((_X[0], _W), {}, "needs x of four axes", ShapeError),
        InvalidExample((_X, _W[:, :3]), {}, "x has 4 channels, the weight expects 3", ShapeError),
        InvalidExample((_X[:, :, :2], _W), {}, "the window spans 3 rows, the padded input has 2", ShapeError),
        InvalidExample((_X, _W.astype("float32")), {}, "x and weight have different dtypes", DTypeError),
        InvalidExample((_X, _W), {"stride": (0, 1)}, "stride must be 2 ints of at least 1", AttributeValueError),
        InvalidExample((_X, _W), {"data_format": "CHWN"}, "data_format must be 'NCHW' or 'NHWC'", AttributeValueError),
        InvalidExample((_X, _W), {"data_format": "NHWC"}, "x has 6 channels, the weight expects 4", ShapeError),
    ),
)

CONV2D_INPUT_GRAD: Op = define(
    "conv2d_input_grad",
    "dy, weight",
    onnx="conv2d_transposed",
    attrs={"size": (1, 1), **_DEFAULTS},
    infer=_infer_input_grad,
    body=formatted(_body_input_grad, 0),
    grad=_input_grad_grad,
    axes=_axes("ywx"),
    images=(0, -1),
    batch=_batch("conv2d_input_grad", 1, 0, 1),
    work=lambda types, outs, attrs: _flops(types[0], types[1], attrs["data_format"]),
    doc="What conv2d is to its images, transposed: images of ``size`` from windows dy (transposed convolution).",
    **_CONVOLUTION,
    examples=(
        Example((_Y, _W), {"size": (5, 6)}),
        Example((_YG, _WG), {"size": (5, 6), **_ODD}),
        Example((channels_last(_YG), _WG), {"size": (5, 6), **_LAST}),
    ),
    wrong=(
        InvalidExample((_Y, _W), {"size": (9, 9)}, "that conv2d gives", ShapeError),
        InvalidExample((_Y[:, :5], _W), {"size": (5, 6)}, "axis 1 of dout must equal axis 0", ShapeError),
        InvalidExample(
            (_Y, _W), {"size": (5, 6), "data_format": "NHWC"}, "axis 3 of dout must equal axis 0", ShapeError
        ),
    ),
)

CONV2D_WEIGHT_GRAD: Op = define(
    "conv2d_weight_grad",
    "x, dy",
    attrs={"kernel": (1, 1), **_DEFAULTS},
    infer=_infer_weight_grad,
    body=formatted(_body_weight_grad, 0, 1, result=False),
    grad=_weight_grad_grad,
    axes=_axes("xyw"),
    images=(0, 1),
    batch=_batch("conv2d_weight_grad", 1, 1, 0),
    work=lambda types, outs, attrs: _flops(types[1], outs[0], attrs["data_format"]),
    doc="What conv2d is to its weight, transposed: a weight of ``kernel`` rows and columns from images and windows.",
    **_CONVOLUTION,
    examples=(
        Example((_X, _Y), {"kernel": (3, 2)}),
        Example((_X, _YG), {"kernel": (2, 3), **_ODD}),
        Example((channels_last(_X), channels_last(_YG)), {"kernel": (2, 3), **_LAST}),
    ),
    wrong=(InvalidExample((_X, _Y), {"kernel": (2, 2)}, "that conv2d gives", ShapeError),),
)
