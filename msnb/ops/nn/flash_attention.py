"""Attention without its matrix of scores: records that a device may run tile by tile (Dao et al. 2022).

    S = scale q k^T       P = exp(S - lse)       out = P v        lse = log(sum(exp(S))), one number per query

The gradient needs neither P nor S from the forward pass: with ``lse`` every entry of P can be made again. Let dP =
dout v^T. A row of P comes out of a softmax, so dS = P (dP - delta), where delta = sum(P dP) over the keys; and that
equals sum(dout out) over the features, because out = P v. A cotangent of ``lse`` adds P dlse, that is: delta - dlse.

    dq = scale dS k       dk = scale dS^T q      dv = P^T dout

Several query heads may share a head of keys (h = n hk): query head i reads head i div n. Position i sees the keys 0 to
i where ``is_causal``. Two-byte floats are multiplied in float32. The bodies here keep all scores; kernels of a GPU do
not (``msnb/devices/gpu/kernels/attention``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import DTypeError, ShapeError
from msnb.core import Size, TensorType, dtypes, tensor_type
from msnb.ops.definition.operand_checks import spread
from msnb.ops.definition.record import Example, InvalidExample, Op, Work, define, find
from msnb.ops.definition.symbolic_sizes import bound_of, product
from msnb.ops.definition.type_inference import need_float, operand_lines
from msnb.ops.elementwise.cast import cast
from msnb.ops.linalg.matmul import matmul, turned, wide
from msnb.ops.linalg.triangular import tril
from msnb.ops.reduction.functional import sum as total
from msnb.ops.shape import expand_dims, ones, reshape

FAMILY = "attention"  # of the records in this module: pictures and the JSON of graphs name it

_ATTRS = {"scale": 1.0, "is_causal": False}
_NAMES = ("q", "k", "v", "dy", "lse", "delta")


# ---- types ----


def _check(name: str, *types: TensorType) -> None:
    """Whether q, k and v belong together."""
    q, k, v = types[:3]
    lines = operand_lines(*types, names=_NAMES)
    if any(t.ndim != 4 for t in types[:4]):
        raise ShapeError(
            f"{name} takes [batch, heads, positions, features].",
            operands=lines,
            hint="one head is an axis of size 1: ops.expand_dims(x, 1).",
        )
    need_float(name, q, k, v)
    if not q.dtype is k.dtype is v.dtype:
        raise DTypeError(f"{name}: q, k and v have one dtype.", operands=lines, hint="convert with x.astype(q.dtype).")
    if k.shape != v.shape or q.shape[0] != k.shape[0] or q.shape[3] != k.shape[3]:
        raise ShapeError(
            f"{name} takes q [b, h, l, d] and k, v [b, hk, s, d]: batch and features are the same.", operands=lines
        )
    if not _shares(q.shape[1], k.shape[1]):
        raise ShapeError(
            f"{name}: {q.shape[1]} heads of q cannot share {k.shape[1]} heads of k.",
            operands=lines,
            hint="the heads of k and v divide those of q.",
        )
    if k.shape[2] == 0:
        raise ShapeError(f"{name}: there are no keys to see.", operands=lines)


def _shares(h: Size, hk: Size) -> bool:
    return h == hk or (isinstance(h, int) and isinstance(hk, int) and hk > 0 and h % hk == 0)


def _infer(q: TensorType, k: TensorType, v: TensorType, *, scale: float, is_causal: bool) -> tuple[TensorType, ...]:
    _check("flash_attention", q, k, v)
    sums = dtypes.float32 if q.dtype.itemsize < 8 else q.dtype
    return q, tensor_type(q.shape[:3], sums)


def _grad_infer(*types: TensorType, scale: float, is_causal: bool) -> tuple[TensorType, ...]:
    _check("flash_attention_grad", *types)
    q, k, v, dy, lse, delta = types
    if dy.shape != q.shape or lse.shape != q.shape[:3] or delta.shape != q.shape[:3]:
        raise ShapeError(
            "flash_attention_grad takes dy with the shape of q, and one number of lse and of delta per query.",
            operands=operand_lines(*types, names=_NAMES),
        )
    need_float("flash_attention_grad", dy, lse, delta)
    return q, k, v


# ---- bodies ----


def _turn(x: Any) -> Any:
    return x.swapaxes(-1, -2)


def _grouped(x: Any, heads: int) -> Any:
    """[b, h, ...] as [b, heads, h / heads, ...]."""
    return x.reshape(x.shape[0], heads, x.shape[1] // heads, *x.shape[2:])


def _scores(xp: Any, q: Any, k: Any, scale: float, is_causal: bool) -> Any:
    """[b, hk, n, l, s]; minus infinity where a key is not seen."""
    scores = xp.matmul(q, _turn(k)) * scale
    if is_causal:
        scores = xp.where(xp.tri(*scores.shape[-2:], dtype=bool), scores, xp.asarray(-math.inf, scores.dtype))
    return scores


def _body(xp: Any, q: Any, k: Any, v: Any, *, scale: float, is_causal: bool) -> tuple[Any, Any]:
    dtype, shape, heads = q.dtype, q.shape, k.shape[1]
    q, k, v = wide(xp, _grouped(q, heads), k[:, :, None], v[:, :, None])
    scores = _scores(xp, q, k, scale, is_causal)
    most = scores.max(axis=-1, keepdims=True)
    weights = xp.exp(scores - most)
    sums = weights.sum(axis=-1, keepdims=True)
    out = xp.matmul(weights, v) / sums
    return out.reshape(shape).astype(dtype), (most + xp.log(sums)).reshape(shape[:3])


def _grad_body(
    xp: Any, q: Any, k: Any, v: Any, dy: Any, lse: Any, delta: Any, *, scale: float, is_causal: bool
) -> tuple[Any, ...]:
    heads, shapes = k.shape[1], (q.shape, k.shape, v.shape)
    q, dy = wide(xp, _grouped(q, heads), _grouped(dy, heads))
    k, v = wide(xp, k[:, :, None], v[:, :, None])
    lse, delta = (_grouped(x, heads)[..., None] for x in (lse, delta))
    weights = xp.exp(_scores(xp, q, k, scale, is_causal) - lse)
    ds = weights * (xp.matmul(dy, _turn(v)) - delta) * scale
    dk, dv = xp.matmul(_turn(ds), q), xp.matmul(_turn(weights), dy)
    found = xp.matmul(ds, k), dk.sum(axis=2), dv.sum(axis=2)
    return tuple(x.reshape(shape) for x, shape in zip(found, shapes))


# ---- in other ops ----


def _in_ops(q: Any, k: Any, v: Any, *, scale: float, is_causal: bool) -> tuple[Any, Any]:
    dtype, shape, heads = q.dtype, q.shape, k.shape[1]
    q, k, v = (_heads_apart(x, heads) for x in (q, k, v))
    scores = _seen(matmul(q, turned(k)) * scale, -math.inf, is_causal)
    most = find("max")(scores, axis=-1, keepdims=True)
    weights = find("exp")(scores - most)
    sums = total(weights, axis=-1, keepdims=True)
    return cast(reshape(matmul(weights, v) / sums, shape), dtype), reshape(most + find("log")(sums), shape[:3])


def _grad_in_ops(
    q: Any, k: Any, v: Any, dy: Any, lse: Any, delta: Any, *, scale: float, is_causal: bool
) -> tuple[Any, ...]:
    dtype, heads, shapes = q.dtype, k.shape[1], (q.shape, k.shape, v.shape)
    q, k, v, dy, lse, delta = (_heads_apart(x, heads) for x in (q, k, v, dy, lse, delta))
    weights = _weights(q, k, expand_dims(lse, -1), scale, is_causal)
    ds = weights * (matmul(dy, turned(v)) - expand_dims(delta, -1)) * scale
    dk, dv = (total(matmul(turned(x), y), axis=2) for x, y in ((ds, q), (weights, dy)))
    return tuple(cast(reshape(x, shape), dtype) for x, shape in zip((matmul(ds, k), dk, dv), shapes))


# ---- gradients ----


def _grad(douts: Any, q: Any, k: Any, v: Any, outs: Any, scale: float, is_causal: bool) -> tuple[Any, ...]:
    (dout, dlse), (out, lse) = douts, outs
    delta = total(cast(dout, lse.dtype) * cast(out, lse.dtype), axis=-1) - dlse
    return FLASH_ATTENTION_GRAD(q, k, v, cast(dout, q.dtype), lse, delta, scale=scale, is_causal=is_causal)  # type: ignore[return-value]


def _heads_apart(x: Any, heads: Any) -> Any:
    """[b, h, ...] as [b, heads, h / heads, ...], in ops and in the dtype of sums."""
    b, h, *rest = x.shape
    x = reshape(x, (b, heads, 1 if h == heads else h // heads, *rest))
    return cast(x, dtypes.float32) if x.dtype.itemsize < 4 else x


def _grad_of_grad(
    douts: Any, q: Any, k: Any, v: Any, dy: Any, lse: Any, delta: Any, scale: float, is_causal: bool
) -> tuple[Any, ...]:
    """The derivative of (dq, dk, dv), written out with all scores: P, G = dP - delta and dS = P G are seen as above.

    From the cotangents aq, ak, av:   A = scale (aq k^T + q ak^T)     of dS
                                      B = A G + dy av^T             of P
                                      C = A P                         of dP and, negative, of delta
                                      E = B P                         of S and, negative, of lse
    """
    types, heads = [x.shape for x in (q, k, v, dy)], k.shape[1]
    aq, ak, av = (_heads_apart(x, heads) for x in douts)
    q, k, v, dy, lse, delta = (_heads_apart(x, heads) for x in (q, k, v, dy, lse, delta))
    weights = _weights(q, k, expand_dims(lse, -1), scale, is_causal)
    g = matmul(dy, turned(v)) - expand_dims(delta, -1)
    ds = weights * g
    a = (matmul(aq, turned(k)) + matmul(q, turned(ak))) * scale
    c = a * weights
    e = (a * g + matmul(dy, turned(av))) * weights
    dq = (matmul(e, k) + matmul(ds, ak)) * scale
    dk = total(matmul(turned(e), q) + matmul(turned(ds), aq), axis=2) * scale
    dv = total(matmul(turned(c), dy), axis=2)
    ddy = matmul(c, v) + matmul(weights, av)
    wide_grads = [reshape(x, shape) for x, shape in zip((dq, dk, dv, ddy), types)]
    sums = [reshape(-total(x, axis=-1), types[0][:3]) for x in (e, c)]
    return (*wide_grads, *sums)


def _weights(q: Any, k: Any, lse: Any, scale: float, is_causal: bool) -> Any:
    return _seen(find("exp")(matmul(q, turned(k)) * scale - lse), 0.0, is_causal)


def _seen(x: Any, fill: float, is_causal: bool) -> Any:
    """``x`` [..., l, s]; ``fill`` where a key is not seen."""
    return find("where")(tril(ones(x.shape[-2:], dtypes.bool_)), x, fill) if is_causal else x


# ---- what others ask ----


def _axes(types: Any, attrs: Any) -> str:
    h, g = ("h", "h") if types[0].shape[1] == types[1].shape[1] else ("h!", "g!")
    rows = "l!" if attrs["is_causal"] else "l"
    return f"b {h} {rows} d!, b {g} s! d!, b {g} s! d! -> b {h} {rows} d!, b {h} {rows}"


def _grad_axes(types: Any, attrs: Any) -> str:
    h, g = ("h", "h") if types[0].shape[1] == types[1].shape[1] else ("h!", "g!")
    key = f"b {g} s! d!"
    row = f"b {h} l!"
    return f"{row} d!, {key}, {key}, {row} d!, {row}, {row} -> {row} d!, {key}, {key}"


def _products(types: Any, count: int, attrs: Any) -> Work:
    """So many products over all pairs of a query and a key; half of them where only those before are seen."""
    q, k = types[:2]
    pairs = bound_of(product((*q.shape[:3], k.shape[2]))) or 0
    flops = 2.0 * pairs * (bound_of(q.shape[3]) or 0) * (0.5 if attrs["is_causal"] else 1.0)
    return Work(cube=count * flops, vector=6.0 * pairs)


def _batched(op: str) -> Any:
    """The new axis becomes part of the batch."""

    def rule(axis_size: int, inputs: Sequence[Any], batched: Sequence[bool], **attrs: Any) -> tuple[Any, Any]:
        full = [spread(x, b, axis_size) for x, b in zip(inputs, batched)]
        outs = find(op)(*(reshape(x, (axis_size * x.shape[1], *x.shape[2:])) for x in full), **attrs)
        n = full[0].shape[1]
        return tuple(reshape(x, (axis_size, n, *x.shape[1:])) for x in outs), (True,) * len(outs)

    return rule


def _example(*shape: int) -> Any:
    return np.sin(np.arange(float(math.prod(shape))) * (1.0 + 0.1 * shape[-2])).reshape(shape)


_Q, _K, _V = _example(1, 2, 3, 2), _example(1, 2, 4, 2), _example(1, 2, 4, 2)[..., ::-1].copy()
_ROWS = _example(1, 2, 3, 1)[..., 0]

FLASH_ATTENTION: Op = define(
    "flash_attention",
    "q, k, v",
    attrs=_ATTRS,
    infer=_infer,
    body=_body,
    decomposition=_in_ops,
    grad=_grad,
    axes=_axes,
    batch=_batched("flash_attention"),
    work=lambda types, out_types, attrs: _products(types, 2, attrs),
    traits=("pure", "contraction"),
    doc="softmax(scale q k^T) v over heads [b, h, l, d], and the logarithm of each softmax's sum, [b, h, l]; "
    "is_causal: position i sees the keys 0 to i.",
    examples=(
        Example((_Q, _K, _V), {"scale": 0.7}),
        Example((_Q, _K, _V), {"scale": 0.7, "is_causal": True}),
        Example((_Q, _K[:, :1], _V[:, :1]), {"scale": 0.5}),
    ),
    wrong=(
        InvalidExample((_Q[0], _K, _V), {}, "[batch, heads, positions, features]", ShapeError),
        InvalidExample((_Q, _K, _V[:, :, :2]), {}, "batch and features are the same", ShapeError),
        InvalidExample((_Q, _K.repeat(2, 1), _V.repeat(2, 1)), {}, "cannot share 4 heads of k", ShapeError),
        InvalidExample((_Q, _K[:, :, :0], _V[:, :, :0]), {}, "there are no keys", ShapeError),
        InvalidExample((_Q, _K, _V.astype(np.float32)), {}, "q, k and v have one dtype", DTypeError),
        InvalidExample(tuple(x.astype(np.int32) for x in (_Q, _K, _V)), {}, "floating-point", DTypeError),
    ),
)

FLASH_ATTENTION_GRAD: Op = define(
    "flash_attention_grad",
    "q, k, v, dy, lse, delta",
    attrs=_ATTRS,
    infer=_grad_infer,
    body=_grad_body,
    decomposition=_grad_in_ops,
    grad=_grad_of_grad,
    axes=_grad_axes,
    batch=_batched("flash_attention_grad"),
    work=lambda types, out_types, attrs: _products(types, 5, attrs),
    traits=("pure", "contraction"),
    doc="The gradients of flash_attention by q, k and v; dy is the gradient of its out, and delta is sum(dy out) of "
    "each query, less the gradient of its lse.",
    examples=(
        Example((_Q, _K, _V, _Q[..., ::-1].copy(), _ROWS + 1.5, _ROWS), {"scale": 0.7}),
        Example((_Q, _K, _V, _Q[..., ::-1].copy(), _ROWS + 1.5, _ROWS), {"scale": 0.7, "is_causal": True}),
        Example((_Q, _K[:, :1], _V[:, :1], _Q[..., ::-1].copy(), _ROWS + 1.5, _ROWS), {"scale": 0.5}),
    ),
    wrong=(
        InvalidExample((_Q, _K, _V, _K, _ROWS, _ROWS), {}, "dy with the shape of q", ShapeError),
        InvalidExample((_Q, _K, _V, _Q[0], _ROWS, _ROWS), {}, "[batch, heads, positions, features]", ShapeError),
    ),
)
