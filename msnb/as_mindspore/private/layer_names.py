"""Helpers below MindSpore's layers, mixed precision and checkpoints that programs import or call.

The parts of attention are those from which programs write their own ``multi_head_attention_forward``: weights are
(out, in), queries (positions, batch, features), masks are added to the scores.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import Any

from msnb import ops
from msnb.as_mindspore.functional_names import mixed_precision_cast
from msnb.as_mindspore.private.private_names import _update_param
from msnb.base import ShapeError, get_context
from msnb.core import dtypes
from msnb.nn.cells.cell import Cell
from msnb.nn.cells.container import CellList, SequentialCell
from msnb.nn.layers.attention import with_mask
from msnb.ops.mindspore.primitive_results import float_status as _grad_overflow
from msnb.parallel.engine.client.distributed import is_initialized as _is_initialized
from msnb.train import amp
from msnb.train.callbacks.callback import Callback

__all__ = [
    "AMP_BLACK_LIST", "AMP_WHITE_LIST", "AmpLevel", "INT32_MAX", "MSContext", "_grad_overflow",
    "_is_initialized", "grad_scale",
    "multi_head_attention_forward", "reset_op_id", "shard_grad_scale",
]  # fmt: skip

INT32_MAX: int = 2**31 - 1
AMP_BLACK_LIST: list[Any] = amp.get_black_list()
AMP_WHITE_LIST: list[Any] = amp.get_white_list()
AmpLevel: type[Enum] = Enum("AmpLevel", "AmpO0 AmpO1 AmpO2 AmpO3 AmpAuto", start=0)
_subtree_black_list: list[Any] = [CellList, SequentialCell]


def _need(holds: bool, text: str) -> None:
    if not holds:
        raise ShapeError(text)


def _check_qkv_shape(query_ndim: int, key_ndim: int, value_ndim: int) -> bool:
    """Whether query, key and value have an axis of examples: 3 axes each, or 2 each."""
    _need(query_ndim in (2, 3), f"query has 2 or 3 axes, not {query_ndim}.")
    _need(query_ndim == key_ndim == value_ndim, f"query, key and value have as many axes each, not {query_ndim}, "
                                                f"{key_ndim} and {value_ndim}.")  # fmt: skip
    return query_ndim == 3


def _check_kpm_shape(query_ndim: int, kmp_ndim: int) -> None:
    """A mask of keys has one axis less than the query."""
    _need(kmp_ndim == query_ndim - 1, f"key_padding_mask has {query_ndim - 1} axes, not {kmp_ndim}.")


def _check_attn_mask_shape(query_ndim: int, query_shape: Any, key_shape: Any, attn_mask_ndim: int, attn_mask_shape: Any,
                           num_heads: int) -> None:  # fmt: skip
    """A mask of scores has two axes, or three, the first for all heads."""
    _need(attn_mask_ndim in (2, 3), f"attn_mask has 2 or 3 axes, not {attn_mask_ndim}.")
    if (query_ndim, attn_mask_ndim) == (2, 3):
        asked = (num_heads, query_shape[0], key_shape[0])
        _need(tuple(attn_mask_shape) == asked, f"attn_mask is {asked}, not {tuple(attn_mask_shape)}.")


def _in_projection(q: Any, k: Any, v: Any, w_q: Any, w_k: Any, w_v: Any, b_q: Any = None, b_k: Any = None,
                   b_v: Any = None) -> tuple[Any, Any, Any]:  # fmt: skip
    """Query, key and value, each through weights of its own."""
    return ops.dense(q, w_q, b_q), ops.dense(k, w_k, b_k), ops.dense(v, w_v, b_v)


def _in_projection_packed(q: Any, k: Any, v: Any, w: Any, b: Any, k_is_v: bool, q_is_k: bool) -> tuple[Any, Any, Any]:
    """Query, key and value through the thirds of one weight."""
    biases = (None,) * 3 if b is None else ops.chunk(b, 3)
    return _in_projection(q, k, v, *ops.chunk(w, 3), *biases)


def _inner_dropout(x: Any, p: float, training: bool) -> Any:
    """Dropout in training alone."""
    return ops.dropout(x, p, training=training)


def _inner_pad(x: Any, padding: Any, value: Any = None) -> Any:
    """``pad`` that also takes bools."""
    return ops.pad(x.astype(dtypes.int32), padding, value=value).astype(x.dtype) if x.dtype == dtypes.bool_ else (
        ops.pad(x, padding, value=value))  # fmt: skip


def _innner_log_softmax(inputs: Any, axis: int) -> Any:
    """``log_softmax``, under the name that it has in MindSpore."""
    return ops.log_softmax(inputs, axis)


def _interploate_ext_make_tuple(input: Any, value: Any) -> Any:
    """A number for each axis of an image; the name is spelt as in MindSpore."""
    return value if isinstance(value, (list, tuple)) else (value,) * (input.ndim - 2)


def _interpolate_ext_scale_factor_convert_size(input: Any, scale_factor: Any) -> tuple[int, ...]:
    """The size of an image, scaled and rounded down."""
    return tuple(math.floor(n * factor) for n, factor in zip(input.shape[2:], scale_factor))


def _heads(x: Any, num_heads: int) -> Any:
    """[positions, batch, features] as [batch * heads, positions, features of a head]."""
    return x.reshape((x.shape[0], -1, x.shape[-1] // num_heads)).swapaxes(0, 1)


def multi_head_attention_forward(
    query: Any, key: Any, value: Any, embed_dim_to_check: int, num_heads: int, in_proj_weight: Any, in_proj_bias: Any,
    bias_k: Any, bias_v: Any, add_zero_attn: bool, dropout_p: float, out_proj_weight: Any, out_proj_bias: Any,
    training: bool = True, key_padding_mask: Any = None, attn_mask: Any = None, use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None, k_proj_weight: Any = None, v_proj_weight: Any = None, static_k: Any = None,
    static_v: Any = None, average_attn_weights: bool = True, is_causal: bool = False, k_is_v: bool = False,
    q_is_k: bool = False, dtype: Any = dtypes.float32,
) -> tuple[Any, Any]:  # fmt: skip
    """Attention of several heads, (positions, batch, features) -> (the same, scores after softmax).

    ``dtype`` is that of the mask which MindSpore makes for ``is_causal``; here that is a mask of bools.
    """
    batched = _check_qkv_shape(query.ndim, key.ndim, value.ndim)
    query, key, value = (x if batched else x.expand_dims(1) for x in (query, key, value))
    n, batch, size = query.shape
    _need(size == embed_dim_to_check and size % num_heads == 0,
          f"query has {embed_dim_to_check} features, of which {num_heads} heads take equal parts; it has {size}.")
    if use_separate_proj_weight:
        biases = (None,) * 3 if in_proj_bias is None else ops.chunk(in_proj_bias, 3)
        q, k, v = _in_projection(query, key, value, q_proj_weight, k_proj_weight, v_proj_weight, *biases)
    else:
        q, k, v = _in_projection_packed(query, key, value, in_proj_weight, in_proj_bias, k_is_v, q_is_k)
    q = _heads(q, num_heads)
    k, v = (_positions(x, extra, static, add_zero_attn, num_heads)
            for x, extra, static in ((k, bias_k, static_k), (v, bias_v, static_v)))
    added = (bias_k is not None) + bool(add_zero_attn)
    if is_causal:
        attn_mask = ops.ones((n, k.shape[1] - added)).triu(1).astype(dtypes.bool_)
    scores = ops.matmul(q / math.sqrt(q.shape[-1]), k.swapaxes(1, 2))
    scores = _under_masks(scores, attn_mask, key_padding_mask, added, num_heads)
    weights = _inner_dropout(ops.softmax(scores, -1), dropout_p, training)
    out = ops.matmul(weights, v).swapaxes(0, 1).reshape((n, batch, size))
    out = ops.dense(out, out_proj_weight, out_proj_bias)
    shares = weights.reshape((batch, num_heads, n, -1))
    shares = shares.mean(1) if average_attn_weights else shares
    return (out, shares) if batched else (out.squeeze(1), shares.squeeze(0))


def _positions(x: Any, extra: Any, static: Any, zeros: bool, num_heads: int) -> Any:
    """Keys or values of the heads, with a trained position and one of zeros behind them if asked."""
    if extra is not None:
        x = ops.concat([x, ops.tile(extra, (1, x.shape[1], 1))], 0)
    x = _heads(x, num_heads) if static is None else static
    return ops.concat([x, ops.zeros((x.shape[0], 1, x.shape[2]), dtype=x.dtype)], 1) if zeros else x


def _under_masks(scores: Any, attn_mask: Any, key_padding_mask: Any, added: int, num_heads: int) -> Any:
    """Scores [batch * heads, n, m] under both masks, which hide none of the ``added`` positions."""
    if attn_mask is not None:
        scores = with_mask(scores, _inner_pad(attn_mask, (0, added)) if added else attn_mask)
    if key_padding_mask is not None:
        wide = _inner_pad(key_padding_mask, (0, added)) if added else key_padding_mask
        split = scores.reshape((-1, num_heads, *scores.shape[1:]))
        scores = with_mask(split, wide.reshape((-1, 1, 1, wide.shape[-1]))).reshape(scores.shape)
    return scores


def grad_scale(scale: Any, grad: Any) -> Any:
    """A gradient divided by the scale of the loss."""
    return grad * ops.reciprocal(scale).astype(grad.dtype)


shard_grad_scale: Callable[..., Any] = grad_scale


def _auto_black_list(network: Cell, black_list: Any, dtype: Any) -> Cell:
    """Half precision for a network, float32 for the Cells of the list."""
    return amp.custom_mixed_precision(network, black_list=[*black_list], dtype=dtype)


def _auto_mixed_precision_rewrite(network: Cell, dtype: Any, white_list: Any = None, black_list: Any = None) -> Cell:
    """``amp.custom_mixed_precision``, under the name that it has in MindSpore."""
    return amp.custom_mixed_precision(network, white_list=white_list, black_list=black_list, dtype=dtype)


_config_level: dict[str, dict[str, Any]] = {
    level: {"keep_batchnorm_fp32": level == "O2", "cast_model_type": getattr(dtypes, dtype),
            "loss_scale_manager": amp.chosen_manager(level, amp.AS_THE_LEVEL_SAYS)}
    for level, dtype in zip(amp.LEVELS, ("float32", "float32", "float16", "float16", "float32"))
}  # fmt: skip


def _do_keep_batchnorm_fp32(network: Cell) -> None:
    """Float32 for the norms of a network."""
    for _, cell in network.cells_and_names():
        if cell is not network and isinstance(cell, tuple(AMP_BLACK_LIST)):
            cell.to_float(dtypes.float32)


def _add_loss_network(network: Cell, loss_fn: Any, cast_model_type: Any) -> Cell:
    """A network and its loss, which is computed in float32."""
    return amp.with_loss(network, loss_fn, "O0" if cast_model_type == dtypes.float32 else "O2")


class _OutputTo32(Cell):
    """A network whose results are float32."""

    def __init__(self, backbone: Cell) -> None:
        super().__init__(auto_prefix=False)
        self.backbone: Cell = backbone

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        return mixed_precision_cast(dtypes.float32, self.backbone(*args, **kwargs))


def _load_dismatch_prefix_params(net: Cell, parameter_dict: Any, param_not_load: list[str], strict_load: bool) -> None:
    """Load what has one prefix more in the file than in the network; what was loaded leaves ``param_not_load``."""
    missing = set(param_not_load)
    ends = ((known[: -len(name)], name) for name in param_not_load for known in parameter_dict if known.endswith(name))
    prefix = next((found for found, name in ends if found), None)
    if prefix is None:
        return
    for param in net.get_parameters():
        if param.name in missing and prefix + param.name in parameter_dict:
            _update_param(param, parameter_dict[prefix + param.name], strict_load)
            param_not_load.remove(param.name)


def _get_mode() -> int:
    """The mode of the context."""
    return int(get_context("mode"))


def _function_forbid_reuse(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function: a compiled program is found by what it is, here, so none is reused by mistake."""
    return fn


def reset_op_id() -> None:
    """Kept for programs that call it: operations have no numbers that count on."""


class _StepSync(Callback):
    """A callback that waits for the step to end, as every step does here."""


class _Context:
    """MindSpore's object of the context: which chip and which job; here none of Ascend's."""

    @staticmethod
    def get_instance() -> _Context:
        """The context."""
        return _Context()

    def get_ascend_soc_version(self) -> str:
        """The name of an Ascend chip: none."""
        return ""


MSContext: type[_Context] = _Context
