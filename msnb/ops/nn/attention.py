"""Attention as one function: softmax(q k^T / sqrt(d) + mask) v, with what may not be seen left out.

A device that has attention of its own (``DeviceFeatures.has_attention``) is given the record ``flash_attention`` where
that says the same; all else is a composite, whose scores have a place in memory.
"""

from __future__ import annotations

import math
from typing import Any

from msnb.base import ArgumentError, ShapeError, device_registry
from msnb.core import Tensor, dtypes
from msnb.ops.definition import as_tensor, find, operand_lines
from msnb.ops.elementwise.cast import cast, limit
from msnb.ops.linalg.matmul import matmul
from msnb.ops.linalg.triangular import tril
from msnb.ops.nn.activation import softmax
from msnb.ops.nn.flash_attention import FLASH_ATTENTION
from msnb.ops.random.draws import dropout
from msnb.ops.shape import expand_dims, ones, squeeze, transpose

TILED_FEATURES = (32, 64, 96, 128)
"""Features of a head for which devices have attention of their own."""


def scaled_dot_product_attention(
    query: Any, key: Any, value: Any, attn_mask: Any = None, dropout_p: float = 0.0, is_causal: bool = False, *,
    scale: float | None = None,
) -> Tensor:  # fmt: skip
    """softmax(query key^T * scale + mask) value.

    Args:
        query: [..., L, d].
        key: [..., S, d].
        value: [..., S, dv].
        attn_mask: broadcasts to [..., L, S]: bools, True where a key may be seen (``nn.MultiheadAttention`` means the
            opposite, here as in PyTorch), or floats that are added.
        dropout_p: probability on the weights. A function knows no training: give 0.0 to evaluate.
        is_causal: whether position i sees the keys 0 to i only.
        scale: factor on the scores; by default 1 / sqrt(d).

    Returns:
        Tensor [..., L, dv]. A query that may see no key gives zeros.

    Raises:
        TypeError: both a mask and is_causal. ShapeError: fewer than two axes, or sizes that do not meet.

    Source: Vaswani et al., "Attention Is All You Need", 2017;
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> ms.ops.scaled_dot_product_attention(x, x, x, is_causal=True)[0].tolist()
        [1.0, 0.0]
    """
    q, k, v = as_tensor(query), as_tensor(key), as_tensor(value)
    lines = operand_lines(q._type, k._type, v._type, names=("query", "key", "value"))
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise ShapeError("scaled_dot_product_attention needs [..., positions, features].", operands=lines)
    if is_causal and attn_mask is not None:
        raise ArgumentError("scaled_dot_product_attention takes attn_mask or is_causal, not both.")
    factor = 1.0 / math.sqrt(q.shape[-1]) if scale is None else scale
    if attn_mask is None and dropout_p == 0.0 and runs_tiled(q, k, v, factor):
        return tiled(q, k, v, factor, is_causal)
    scores = matmul(q * factor, transpose(k, (*range(k.ndim - 2), -1, -2)))
    if is_causal:
        attn_mask = tril(ones(scores.shape[-2:], dtypes.bool_))
    weights = weights_of(scores, None if attn_mask is None else as_tensor(attn_mask))
    return matmul(dropout(weights, p=dropout_p), v)


def runs_tiled(q: Any, k: Any, v: Any, scale: Any, shared: bool = False) -> bool:
    """Whether the current device has attention of its own for these operands, [b, h, l, d] or [b, l, d].

    Args:
        shared: heads of k and v may serve several heads of q.
    """
    features = q.shape[-1]
    return (
        device_registry.current().features.has_attention
        and q.ndim in (3, 4)
        and q.ndim == k.ndim
        and k.shape == v.shape
        and q.dtype is k.dtype is v.dtype
        and q.dtype in (dtypes.bfloat16, dtypes.float16)
        and isinstance(features, int)
        and features in TILED_FEATURES
        and (q.shape[:-2] == k.shape[:-2] or (shared and q.shape[0] == k.shape[0]))
        and k.shape[-1] == features
        and k.shape[-2] != 0
        and isinstance(scale, float)
        and scale > 0
    )


def tiled(q: Any, k: Any, v: Any, scale: float, is_causal: bool) -> Tensor:
    """Attention by the record ``flash_attention``; heads of q may share those of k and v."""
    single = q.ndim == 3
    q, k, v = (expand_dims(x, 1) if single else x for x in (q, k, v))
    out: Tensor = FLASH_ATTENTION(q, k, v, scale=scale, is_causal=bool(is_causal))[0]
    return squeeze(out, 1) if single else out


def weights_of(scores: Any, mask: Any) -> Any:
    """The softmax over what may be seen; a finite least score keeps rows that see nothing finite, gradients too."""
    if mask is None:
        return softmax(scores, axis=-1)
    if mask.dtype is not dtypes.bool_:
        return softmax(scores + cast(mask, scores.dtype), axis=-1)
    where = find("where")
    seen = where(mask, scores, limit(scores.dtype, largest=False))
    return where(mask, softmax(seen, axis=-1), 0.0)
