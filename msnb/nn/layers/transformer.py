"""Transformers: attention and a two-layer network, each with a residual and a norm.

    post-norm (norm_first=False)    x = norm(x + attention(x));   x = norm(x + network(x))
    pre-norm  (norm_first=True)     x = x + attention(norm(x));   x = x + network(norm(x))

Source: Vaswani et al., "Attention Is All You Need", 2017; Xiong et al. 2020 (pre-norm);
`mindspore.nn.TransformerEncoderLayer` and its neighbours
"""

from __future__ import annotations

import copy
from typing import Any

from msnb import ops
from msnb.base import ArgumentError
from msnb.core import dtypes
from msnb.nn.cells import Cell, like_mindspore, put_last
from msnb.nn.cells.container import CellList
from msnb.nn.initializer import initializer
from msnb.nn.layers.activation import get_activation
from msnb.nn.layers.attention import MultiheadAttention
from msnb.nn.layers.basic import Dense, Dropout, positive_int
from msnb.nn.layers.normalization import LayerNorm

__all__ = [
    "Transformer", "TransformerDecoder", "TransformerDecoderLayer", "TransformerEncoder", "TransformerEncoderLayer",
    "causal_mask",
]  # fmt: skip


class _Layer(Cell):
    """What encoder and decoder layers share: self-attention and the network."""

    def __init__(
        self, d_model: int, nhead: int, dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu",
        layer_norm_eps: float = 1e-5, batch_first: bool = False, norm_first: bool = False, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self._says_dense = like_mindspore()
        setattr(self, "dense1" if self._says_dense else "linear1", Dense(d_model, dim_feedforward, dtype=dtype))
        self.dropout = Dropout(p=dropout)
        setattr(self, "dense2" if self._says_dense else "linear2", Dense(dim_feedforward, d_model, dtype=dtype))
        self.norm1 = LayerNorm(d_model, epsilon=layer_norm_eps, dtype=dtype)
        self.norm2 = LayerNorm(d_model, epsilon=layer_norm_eps, dtype=dtype)
        self.dropout1 = Dropout(p=dropout)
        self.dropout2 = Dropout(p=dropout)
        self.activation = ops.gelu if activation == "gelu" else get_activation(activation)  # nn.GELU approximates
        self.norm_first = bool(norm_first)
        self._look_too(d_model, nhead, dropout, layer_norm_eps, batch_first, dtype)

    def _look_too(
        self, d_model: int, nhead: int, dropout: float, layer_norm_eps: float, batch_first: bool, dtype: Any
    ) -> None:
        """What a decoder has besides."""

    def _attend(self, x: Any, mask: Any, padding: Any) -> Any:
        return self.dropout1(self.self_attn(x, x, x, padding, False, mask)[0])

    def _network(self, x: Any) -> Any:
        if self._says_dense:
            return self.dense2(self.dropout(self.activation(self.dense1(x))))
        return self.linear2(self.dropout(self.activation(self.linear1(x))))


class TransformerEncoderLayer(_Layer):
    """One layer of an encoder.

    Args:
        d_model: length of a position's vector.
        nhead: heads of attention.
        dim_feedforward: width of the network.
        dropout: probability, in training.
        activation: name, Cell or function.
        layer_norm_eps: added to variances.
        batch_first: whether batches are axis 0.
        norm_first: pre-norm instead of post-norm.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.TransformerEncoderLayer(8, 2, 16)(ms.ops.ones((4, 2, 8))).shape
        (4, 2, 8)
    """

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        """The layer: src [positions, n, d_model]; masks as in ``MultiheadAttention``."""
        x = src
        if self.norm_first:
            x = x + self._attend(self.norm1(x), src_mask, src_key_padding_mask)
            return x + self.dropout2(self._network(self.norm2(x)))
        x = self.norm1(x + self._attend(x, src_mask, src_key_padding_mask))
        return self.norm2(x + self.dropout2(self._network(x)))


class TransformerDecoderLayer(_Layer):
    """One layer of a decoder: it also attends to ``memory``, the encoder's result; arguments as in the encoder's layer.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.TransformerDecoderLayer(8, 2, 16)(ms.ops.ones((3, 2, 8)), ms.ops.ones((4, 2, 8))).shape
        (3, 2, 8)
    """

    multihead_attn: MultiheadAttention

    def _look_too(
        self, d_model: int, nhead: int, dropout: float, layer_norm_eps: float, batch_first: bool, dtype: Any
    ) -> None:
        self.multihead_attn = MultiheadAttention(d_model, nhead, dropout, batch_first=batch_first, dtype=dtype)
        self.norm3: LayerNorm = LayerNorm(d_model, epsilon=layer_norm_eps, dtype=dtype)
        self.dropout3: Dropout = Dropout(p=dropout)
        if like_mindspore():
            put_last(self, ("dense1", "dense2", "norm1", "norm2", "norm3"))

    def construct(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:  # fmt: skip
        """The layer: tgt [positions, n, d_model], memory [sources, n, d_model]."""
        x, mask, padding = tgt, memory_mask, memory_key_padding_mask
        if self.norm_first:
            x = x + self._attend(self.norm1(x), tgt_mask, tgt_key_padding_mask)
            x = x + self._look(self.norm2(x), memory, mask, padding)
            return x + self.dropout3(self._network(self.norm3(x)))
        x = self.norm1(x + self._attend(x, tgt_mask, tgt_key_padding_mask))
        x = self.norm2(x + self._look(x, memory, mask, padding))
        return self.norm3(x + self.dropout3(self._network(x)))

    def _look(self, x: Any, memory: Any, mask: Any, padding: Any) -> Any:
        return self.dropout2(self.multihead_attn(x, memory, memory, padding, False, mask)[0])


def _copies(layer: Cell, n: int) -> CellList:
    """``n`` layers like ``layer``, each with Parameters of its own but equal values."""
    return CellList([copy.deepcopy(layer) for _ in range(positive_int("num_layers", n))])


class TransformerEncoder(Cell):
    """Layers like ``encoder_layer`` on top of each other, and a norm.

    Args:
        encoder_layer: copied num_layers times (all start with its values).
        num_layers: how many.
        norm: a Cell at the end, or None.

    Examples:
        >>> import msnb as ms
        >>> layer = ms.nn.TransformerEncoderLayer(8, 2, 16)
        >>> ms.nn.TransformerEncoder(layer, 2)(ms.ops.ones((4, 2, 8))).shape
        (4, 2, 8)
    """

    def __init__(self, encoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers: CellList = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def construct(self, src: Any, src_mask: Any = None, src_key_padding_mask: Any = None) -> Any:
        """All layers."""
        x = src
        for layer in self.layers:
            x = layer(x, src_mask, src_key_padding_mask)
        return x if self.norm is None else self.norm(x)


class TransformerDecoder(Cell):
    """Layers like ``decoder_layer`` on top of each other, and a norm; arguments as in ``TransformerEncoder``."""

    def __init__(self, decoder_layer: Cell, num_layers: int, norm: Cell | None = None) -> None:
        super().__init__()
        self.layers: CellList = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def construct(
        self, tgt: Any, memory: Any, tgt_mask: Any = None, memory_mask: Any = None, tgt_key_padding_mask: Any = None,
        memory_key_padding_mask: Any = None,
    ) -> Any:  # fmt: skip
        """All layers."""
        x = tgt
        for layer in self.layers:
            x = layer(x, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)
        return x if self.norm is None else self.norm(x)


class Transformer(Cell):
    """Encoder and decoder.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first: as in
            ``TransformerEncoderLayer``.
        num_encoder_layers, num_decoder_layers: how many layers.
        custom_encoder, custom_decoder: Cells to take instead of those of the sizes above.

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.Transformer(8, 2, 1, 1, 16)
        >>> net(ms.ops.ones((4, 2, 8)), ms.ops.ones((3, 2, 8))).shape
        (3, 2, 8)
    """

    def __init__(
        self, d_model: int = 512, nhead: int = 8, num_encoder_layers: int = 6, num_decoder_layers: int = 6,
        dim_feedforward: int = 2048, dropout: float = 0.1, activation: Any = "relu", custom_encoder: Cell | None = None,
        custom_decoder: Cell | None = None, layer_norm_eps: float = 1e-5, batch_first: bool = False,
        norm_first: bool = False, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        for what, cell in (("custom_encoder", custom_encoder), ("custom_decoder", custom_decoder)):
            if cell is not None and not isinstance(cell, Cell):
                raise ArgumentError(f"Transformer: {what} must be a Cell or None, got {cell!r}.")
        shared = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, dtype)
        ends = [LayerNorm(d_model, epsilon=layer_norm_eps, dtype=dtype) for _ in range(2)]
        self.encoder: Cell = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*shared), num_encoder_layers, ends[0]
        )
        self.decoder: Cell = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*shared), num_decoder_layers, ends[1]
        )
        for param in self.get_parameters():
            if param.ndim > 1:
                param.set_data(initializer("xavier_uniform", param.shape, param.dtype))

    def construct(
        self, src: Any, tgt: Any, src_mask: Any = None, tgt_mask: Any = None, memory_mask: Any = None,
        src_key_padding_mask: Any = None, tgt_key_padding_mask: Any = None, memory_key_padding_mask: Any = None,
    ) -> Any:  # fmt: skip
        """The decoder's result for tgt, given src."""
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask)


def causal_mask(size: int) -> Any:
    """Bools [size, size], True where a position would see a later one: ``attn_mask`` of a language model.

    Examples:
        >>> from msnb.nn.layers.transformer import causal_mask
        >>> causal_mask(2).tolist()
        [[False, True], [False, False]]
    """
    i = ops.arange(size)
    return ops.expand_dims(i, 0) > ops.expand_dims(i, 1)
