"""``flash_attention_score``: attention as MindSpore 2.10 words it, with layouts, masks and sparse modes.

    sparse_mode 0   the mask, where there is one, and with it the band of pre_tokens and next_tokens
                1   the mask alone
                2   causal, counted from the first query and the first key (left up)
                3   causal, counted from the last query and the last key (right down)
                4   the band, counted as in 3

True in ``attn_mask`` means: not seen. Without a mask, and in mode 2, a device's own attention can do it.
Source: `mindspore.ops.flash_attention_score`
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, ShapeError, events
from msnb.core import Tensor, dtypes
from msnb.ops.definition import as_tensor, operand_lines
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.logic import logical_not, logical_or
from msnb.ops.linalg.matmul import matmul, turned
from msnb.ops.nn.attention import runs_tiled, tiled, weights_of
from msnb.ops.random.draws import dropout
from msnb.ops.shape.views import broadcast_to, expand_dims, reshape, transpose

__all__ = ["flash_attention_score"]

FAR = 2147483647
"""So many tokens are all there are."""
_LAYOUTS = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SBH": (1, 2, 0, 3)}
"""Where batch, head, position and feature are; H is heads and features in one axis."""
_BACK = {"BNSD": (0, 1, 2, 3), "BSND": (0, 2, 1, 3), "BSH": (0, 2, 1, 3), "SBH": (2, 0, 1, 3)}
_NOT_BUILT = {
    "drop_mask": "give keep_prob, and the function draws what is dropped",
    "padding_mask": "MindSpore keeps the name for later",
    "prefix": "write the mask out and give it as attn_mask",
    "actual_seq_qlen": "pad the sequences and give attn_mask",
    "actual_seq_kvlen": "pad the sequences and give attn_mask",
}


def flash_attention_score(
    query: Any, key: Any, value: Any, head_num: int, real_shift: Any = None, drop_mask: Any = None,
    padding_mask: Any = None, attn_mask: Any = None, prefix: Any = None, actual_seq_qlen: Any = None,
    actual_seq_kvlen: Any = None, keep_prob: float = 1.0, scalar_value: float = 1.0, pre_tokens: int = FAR,
    next_tokens: int = FAR, inner_precise: int = 0, input_layout: str = "BSH", sparse_mode: int = 0,
) -> Tensor:  # fmt: skip
    """dropout(softmax(mask(scalar_value query key^T + real_shift))) value, head by head.

    Args:
        query: in the layout, ``head_num`` heads.
        key, value: in the layout; their heads divide ``head_num``, each serves as many queries' heads.
        head_num: heads of the query.
        real_shift: added to the scores, broadcasts to [batch, heads, queries, keys].
        drop_mask, padding_mask, prefix, actual_seq_qlen, actual_seq_kvlen: None; other values are refused.
        attn_mask: bools or uint8, True or 1 where a key is not seen; broadcasts to [batch, heads, queries, keys].
        keep_prob: probability that a weight is kept; the kept ones grow by 1 / keep_prob.
        scalar_value: factor on the scores.
        pre_tokens, next_tokens: how far back and ahead a query sees, for sparse_mode 0 (with a mask) and 4.
        inner_precise: of no meaning here: sums are float32.
        input_layout: "BSH", "BNSD", "BSND" or "SBH".
        sparse_mode: 0 to 4, see ``msnb.ops.mindspore.attention_score``.

    Returns:
        Tensor in the layout and dtype of the query; a query that sees no key gives zeros.

    Raises:
        ValueError: a layout or mode that is not there, or an argument that must be None. ShapeError: sizes that do not
        meet.

    Source: `mindspore.ops.flash_attention_score`

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[[1.0, 0.0], [0.0, 1.0]]])
        >>> ms.ops.flash_attention_score(x, x, x, 1, sparse_mode=2)[0, 0].tolist()
        [1.0, 0.0]
    """
    if inner_precise:
        events.notice(
            "flash_attention_score: inner_precise changes nothing here: sums are float32.", key="inner_precise"
        )
    refused = [drop_mask, padding_mask, prefix, actual_seq_qlen, actual_seq_kvlen]
    _refuse(dict(zip(_NOT_BUILT, refused)))
    if input_layout not in _LAYOUTS:
        raise AttributeValueError(f"flash_attention_score: input_layout is one of {', '.join(_LAYOUTS)}, got "
                                  f"{input_layout!r}.")  # fmt: skip
    q, k, v = _heads_of(input_layout, head_num, as_tensor(query), as_tensor(key), as_tensor(value))
    causal = sparse_mode == 2
    hidden = _hidden(q.shape[2], k.shape[2], attn_mask, sparse_mode, pre_tokens, next_tokens)
    alone = real_shift is None and keep_prob == 1.0 and (hidden is None or causal)
    if alone and runs_tiled(q, k, v, float(scalar_value), shared=True):
        out = tiled(q, k, v, float(scalar_value), causal)
    else:
        out = _composite(q, k, v, float(scalar_value), real_shift, hidden, keep_prob)
    back = transpose(out, _BACK[input_layout])
    return reshape(back, as_tensor(query).shape) if input_layout.endswith("H") else back


def _refuse(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value is not None:
            raise ArgumentError(f"flash_attention_score: {name} is not built.", hint=f"{_NOT_BUILT[name]}.")


def _heads_of(layout: str, heads: int, *operands: Any) -> list[Any]:
    """q, k and v as [batch, heads, positions, features]."""
    q, k = operands[:2]
    lines = operand_lines(*(x._type for x in operands), names=("query", "key", "value"))
    axes = 3 if layout.endswith("H") else 4
    if any(x.ndim != axes for x in operands):
        raise ShapeError(f"flash_attention_score: {layout} has {axes} axes.", operands=lines)
    if axes == 3:
        if q.shape[2] % heads or k.shape[2] % (q.shape[2] // heads):
            raise ShapeError(f"flash_attention_score: {heads} heads do not fit into {q.shape[2]} features.",
                             operands=lines)  # fmt: skip
        features = q.shape[2] // heads
        operands = tuple(reshape(x, (*x.shape[:2], x.shape[2] // features, features)) for x in operands)
    found = [transpose(x, _LAYOUTS[layout]) for x in operands]
    mine, shared = found[0].shape[1], found[1].shape[1]
    if mine != heads or shared == 0 or mine % shared or found[1].shape != found[2].shape:
        raise ShapeError(
            f"flash_attention_score: {heads} heads of the query, {mine} in its shape, and {shared} of the key.",
            operands=lines,
            hint="the heads of key and value, which have one shape, divide those of the query.",
        )
    return found


def _hidden(queries: int, keys: int, mask: Any, mode: int, before: int, ahead: int) -> Any:
    """Bools, True where a key is not seen; None where all are."""
    if mode not in range(5):
        raise AttributeValueError(
            f"flash_attention_score: sparse_mode is 0, 1, 2, 3 or 4, got {mode}.", hint="write the mask out."
        )
    if mode in (2, 3):
        return as_tensor(~np.tri(queries, keys, keys - queries if mode == 3 else 0, dtype=np.bool_))
    if mode == 4:
        return as_tensor(_outside(queries, keys, before, ahead, keys - queries))
    if mask is None:
        return None
    hidden = cast(as_tensor(mask), dtypes.bool_)
    if mode == 0 and min(before, ahead) < max(queries, keys):
        hidden = logical_or(hidden, as_tensor(_outside(queries, keys, before, ahead, 0)))
    return hidden


def _outside(queries: int, keys: int, before: int, ahead: int, diagonal: int) -> Any:
    """The keys outside the band around a diagonal."""
    distance = np.arange(keys)[None, :] - np.arange(queries)[:, None] - diagonal
    return (distance > ahead) | (distance < -before)


def _composite(q: Any, k: Any, v: Any, scale: float, shift: Any, hidden: Any, keep: float) -> Any:
    group = q.shape[1] // k.shape[1]
    k, v = (_repeated(x, group) for x in (k, v))
    scores = matmul(q * scale, turned(k))
    if shift is not None:
        scores = scores + cast(as_tensor(shift), scores.dtype)
    return matmul(dropout(weights_of(scores, None if hidden is None else logical_not(hidden)), p=1.0 - keep), v)


def _repeated(x: Any, group: int) -> Any:
    """Every head ``group`` times, one after another."""
    if group == 1:
        return x
    b, h, s, d = x.shape
    return reshape(broadcast_to(expand_dims(x, 2), (b, h, group, s, d)), (b, h * group, s, d))
