"""Multi-head attention.

    Q, K, V = q Wq^T, k Wk^T, v Wv^T       split into heads      softmax(Q K^T / sqrt(d) + mask) V       joined, Wo

A mask of bools says True where nothing may be seen; a float mask is added to the scores.
Source: Vaswani et al., "Attention Is All You Need", 2017;
`mindspore.nn.MultiheadAttention`
"""

from __future__ import annotations

import math
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.core import Parameter, dtypes
from msnb.nn.cells import Cell, like_mindspore
from msnb.nn.initializer import XavierNormal, XavierUniform, initializer
from msnb.nn.layers.basic import Dense, need_last, positive_int, project


class MultiheadAttention(Cell):
    """Attention with several heads.

    Args:
        embed_dim: length of a query and of the result.
        num_heads: a divisor of embed_dim.
        dropout: probability on the attention weights, in training.
        has_bias: whether the projections have biases.
        add_bias_kv: whether one trained position is added to keys and values.
        add_zero_attn: whether one position of zeros is added to them.
        kdim, vdim: lengths of keys and values; by default embed_dim.
        batch_first: whether batches are axis 0 (default: axis 1).

    Source: `mindspore.nn.MultiheadAttention`

    Examples:
        >>> import msnb as ms
        >>> x = ms.ops.ones((4, 2, 6))
        >>> y, weights = ms.nn.MultiheadAttention(6, 3)(x, x, x)
        >>> y.shape, weights.shape
        ((4, 2, 6), (2, 4, 4))
    """

    def __init__(
        self, embed_dim: int, num_heads: int, dropout: float = 0.0, has_bias: bool = True, add_bias_kv: bool = False,
        add_zero_attn: bool = False, kdim: int | None = None, vdim: int | None = None, batch_first: bool = False,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.embed_dim: int = positive_int("embed_dim", embed_dim)
        self.num_heads: int = positive_int("num_heads", num_heads)
        if embed_dim % num_heads:
            raise AttributeValueError(f"embed_dim={embed_dim} does not divide into {num_heads} heads.")
        if not 0.0 <= dropout < 1.0:
            raise AttributeValueError(f"dropout must be from 0 to below 1, got {dropout}.")
        self.dropout: float = float(dropout)
        self.batch_first: bool = bool(batch_first)
        self.kdim: int = embed_dim if kdim is None else kdim
        self.vdim: int = embed_dim if vdim is None else vdim
        self.add_zero_attn: bool = bool(add_zero_attn)
        if like_mindspore() and self.kdim == self.vdim == embed_dim:
            self.in_proj_weight: Parameter = _projection("in_proj_weight", 3 * embed_dim, embed_dim, dtype)
        else:
            self.q_proj_weight: Parameter = _projection("q_proj_weight", embed_dim, embed_dim, dtype)
            self.k_proj_weight: Parameter = _projection("k_proj_weight", embed_dim, self.kdim, dtype)
            self.v_proj_weight: Parameter = _projection("v_proj_weight", embed_dim, self.vdim, dtype)
        self.in_proj_bias: Parameter | None = (
            Parameter(initializer("zeros", 3 * embed_dim, dtype), name="in_proj_bias") if has_bias else None
        )
        self.bias_k: Parameter | None = _one_position("bias_k", embed_dim, dtype) if add_bias_kv else None
        self.bias_v: Parameter | None = _one_position("bias_v", embed_dim, dtype) if add_bias_kv else None
        self.out_proj: Dense = Dense(embed_dim, embed_dim, bias_init="zeros", has_bias=has_bias, dtype=dtype)

    @property
    def head_dim(self) -> int:
        """Features of one head."""
        return self.embed_dim // self.num_heads

    def construct(
        self, query: Any, key: Any, value: Any, key_padding_mask: Any = None, need_weights: bool = True,
        attn_mask: Any = None, average_attn_weights: bool = True,
    ) -> Any:  # fmt: skip
        """Attend.

        Args:
            query: [L, n, embed_dim] ([n, L, embed_dim] with batch_first), or of one sample [L, embed_dim].
            key, value: [S, n, kdim], [S, n, vdim], or of one sample [S, kdim], [S, vdim].
            key_padding_mask: [n, S], or [S]: keys that no query may see (bools), or floats to add.
            need_weights: whether the weights are given too.
            attn_mask: [L, S] or [n * num_heads, L, S], bools or floats.
            average_attn_weights: the mean over heads instead of every head's.

        Returns:
            (result like query, weights [n, L, S] or [n, num_heads, L, S] or None).
        """
        if query.ndim == key.ndim == value.ndim == 2:
            return self._of_one_sample(
                (query, key, value), key_padding_mask, need_weights, attn_mask, average_attn_weights
            )
        self._need_shapes(query, key, value)
        if not self.batch_first:
            query, key, value = (ops.transpose(t, (1, 0, 2)) for t in (query, key, value))
        q, k, v = self._heads(query, key, value)
        scores = ops.matmul(q * (1.0 / math.sqrt(q.shape[-1])), ops.transpose(k, (0, 1, 3, 2)))
        scores = self._masked(scores, attn_mask, key_padding_mask)
        weights = ops.softmax(scores, axis=-1)
        seen = ops.dropout(weights, p=self.dropout, training=True) if self.dropout > 0 and self.training else weights
        joined = ops.transpose(ops.matmul(seen, v), (0, 2, 1, 3))
        out = self.out_proj(ops.reshape(joined, query.shape))
        if not self.batch_first:
            out = ops.transpose(out, (1, 0, 2))
        if not need_weights:
            return out, None
        return out, (ops.mean(weights, axis=1) if average_attn_weights else weights)

    def _of_one_sample(self, inputs: tuple[Any, ...], key_padding_mask: Any, *rest: Any) -> tuple[Any, Any]:
        axis = 0 if self.batch_first else 1
        hidden = None if key_padding_mask is None else ops.expand_dims(key_padding_mask, 0)
        query, key, value = (ops.expand_dims(x, axis) for x in inputs)
        out, weights = self.construct(query, key, value, hidden, *rest)
        return ops.squeeze(out, axis), None if weights is None else ops.squeeze(weights, 0)

    def _heads(self, query: Any, key: Any, value: Any) -> tuple[Any, ...]:
        """[n, heads, positions, embed_dim / heads] of each."""
        e, heads = self.embed_dim, self.num_heads
        bias = self.compute(self.in_proj_bias)
        out = []
        more = (None, self.compute(self.bias_k), self.compute(self.bias_v))
        for i, (x, weight) in enumerate(zip((query, key, value), self._projections())):
            y = project(x, weight, None if bias is None else bias[i * e : (i + 1) * e])
            y = self._with_more_positions(y, more[i]) if i > 0 else y
            y = ops.reshape(y, (y.shape[0], y.shape[1], heads, e // heads))
            out.append(ops.transpose(y, (0, 2, 1, 3)))
        return tuple(out)

    def _projections(self) -> tuple[Any, ...]:
        """The weights of queries, keys and values."""
        if hasattr(self, "in_proj_weight"):
            joined, e = self.compute(self.in_proj_weight), self.embed_dim
            return joined[:e], joined[e : 2 * e], joined[2 * e :]
        return tuple(self.compute(w) for w in (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight))

    def _with_more_positions(self, x: Any, trained: Any) -> Any:
        """Keys or values [n, positions, embed_dim] with the trained position and that of zeros, if asked."""
        parts = [x]
        if trained is not None:
            parts.append(ops.broadcast_to(ops.cast(trained, x.dtype), (x.shape[0], 1, self.embed_dim)))
        if self.add_zero_attn:
            parts.append(ops.zeros((x.shape[0], 1, self.embed_dim), dtype=x.dtype))
        return ops.concat(parts, axis=1) if len(parts) > 1 else x

    def _masked(self, scores: Any, attn_mask: Any, key_padding_mask: Any) -> Any:
        added = (self.bias_k is not None) + self.add_zero_attn
        if added:
            attn_mask, key_padding_mask = _widened(attn_mask, added), _widened(key_padding_mask, added)
        if attn_mask is not None:
            if attn_mask.ndim == 3:
                attn_mask = ops.reshape(attn_mask, scores.shape)
            scores = with_mask(scores, attn_mask)
        if key_padding_mask is not None:
            n, s = key_padding_mask.shape
            scores = with_mask(scores, ops.reshape(key_padding_mask, (n, 1, 1, s)))
        return scores

    def _need_shapes(self, query: Any, key: Any, value: Any) -> None:
        for what, x, size in (("query", query, self.embed_dim), ("key", key, self.kdim), ("value", value, self.vdim)):
            if x.ndim != 3:
                raise ShapeError(
                    f"MultiheadAttention needs a {what} of three axes (positions, batch, features), or all of two.",
                    operands=[f"{what}: {x._type!r}"],
                )
            need_last(f"MultiheadAttention ({what})", x, size, "features")

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, batch_first={self.batch_first}"


def _projection(name: str, rows: int, columns: int, dtype: Any) -> Parameter:
    return Parameter(initializer(XavierUniform(), (rows, columns), dtype), name=name)


def _one_position(name: str, size: int, dtype: Any) -> Parameter:
    return Parameter(initializer(XavierNormal(), (1, 1, size), dtype), name=name)


def _widened(mask: Any, n: int) -> Any:
    """A mask that hides none of ``n`` more positions."""
    return mask if mask is None else ops.concat([mask, ops.zeros((*mask.shape[:-1], n), dtype=mask.dtype)], axis=-1)


def with_mask(scores: Any, mask: Any) -> Any:
    """Scores under a mask: -inf where a bool mask is True; a float mask is added."""
    if mask.dtype is dtypes.bool_:
        return ops.where(mask, -math.inf, scores)
    return scores + ops.cast(mask, scores.dtype)
