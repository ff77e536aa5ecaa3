"""Functions of transformers that MindSpore has as one operator each: activations, positions, sums with a norm, experts.

    moe_token_permute     rows of tokens in the order of their experts     order = argsort(indices), stable
    moe_token_unpermute   and back: the k copies of a token weighted and added up

All are compositions; a compiled program fuses them.
Source: `mindspore.ops.swiglu` and its neighbours.
"""

from __future__ import annotations

from typing import Any

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import dtypes
from msnb.ops.definition.type_inference import normal_axis, operand_lines
from msnb.ops.elementwise import rsqrt, square, stop_gradient
from msnb.ops.indexing.gather import gather
from msnb.ops.indexing.pad import pad
from msnb.ops.math.sort import argsort
from msnb.ops.nn.activation import silu
from msnb.ops.reduction.functional import mean
from msnb.ops.shape.concat_split import concat, split
from msnb.ops.shape.views import expand_dims
from msnb.ops.spatial.bounding_boxes import wide

__all__ = [
    "add_layer_norm", "add_rms_norm", "moe_token_permute", "moe_token_unpermute", "rotary_position_embedding", "swiglu",
]  # fmt: skip


def _need_floats(name: str, **given: Any) -> None:
    types = [x._type for x in given.values()]
    if not all(t.dtype.is_float for t in types):
        raise DTypeError(f"{name} takes floats.", operands=operand_lines(*types, names=tuple(given)))


def _halves(name: str, x: Any, dim: int) -> Any:
    """Both halves of an axis."""
    at = normal_axis(name, dim, x.ndim)
    if x.shape[at] % 2:
        told = f"{name} halves axis {at}, whose size {x.shape[at]} is not even."
        raise ShapeError(told, operands=operand_lines(x._type))
    return split(x, x.shape[at] // 2, at) if x.shape[at] else (x, x)


def swiglu(input: Any, dim: int = -1) -> Any:
    """silu of the first half of an axis times the second half. Source: Shazeer 2020, arXiv:2002.05202.

    Args:
        input: floats.
        dim: the axis, of an even size.

    Raises:
        ValueError: the axis has an odd size. TypeError: no floats.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.swiglu(ms.Tensor([0.0, 5.0])).tolist()
        [0.0]
    """
    _need_floats("swiglu", input=input)
    first, second = _halves("swiglu", input, dim)
    return silu(first) * second


def rotary_position_embedding(x: Any, cos: Any, sin: Any, mode: int = 0) -> Any:
    """Pairs of features turned by the angle of their position: x cos + turned(x) sin.

    Args:
        x: floats [., ., ., features], features even.
        cos, sin: of four axes, broadcast to x.
        mode: 0 pairs feature i with i + features / 2, 1 pairs neighbours.

    Raises:
        ValueError: not four axes, an odd number of features or another mode. TypeError: no floats.

    Source: Su et al. 2021, arXiv:2104.09864.

    Examples:
        >>> import msnb as ms
        >>> at = lambda *row: ms.Tensor([[[[*row]]]])
        >>> ms.ops.rotary_position_embedding(at(2.0, 3.0), at(0.0, 0.0), at(1.0, 1.0)).tolist()
        [[[[-3.0, 2.0]]]]
    """
    _need_floats("rotary_position_embedding", x=x, cos=cos, sin=sin)
    if mode not in (0, 1):
        raise AttributeValueError(f"rotary_position_embedding: mode is 0 (halves) or 1 (neighbours), got {mode!r}.")
    if any(t.ndim != 4 for t in (x, cos, sin)):
        lines = operand_lines(x._type, cos._type, sin._type, names=("x", "cos", "sin"))
        raise ShapeError("rotary_position_embedding takes tensors of four axes.", operands=lines)
    pairs = x if mode == 0 else x.reshape((*x.shape[:-1], -1, 2)).swapaxes(-1, -2).reshape(x.shape)
    first, second = _halves("rotary_position_embedding", pairs, -1)
    turned = concat([-second, first], -1)
    if mode:
        turned = turned.reshape((*x.shape[:-1], 2, -1)).swapaxes(-1, -2).reshape(x.shape)
    return (x * cos + turned * sin).astype(x.dtype)


def _sum(name: str, x1: Any, x2: Any, epsilon: Any, **weights: Any) -> Any:
    _need_floats(name, x1=x1, x2=x2, **weights)
    lines = operand_lines(x1._type, x2._type, names=("x1", "x2"))
    if x1.shape != x2.shape:
        raise ShapeError(f"{name} takes x1 and x2 of one shape.", operands=lines)
    if isinstance(epsilon, bool) or not isinstance(epsilon, float):
        raise DTypeError(f"{name}: epsilon is a float, got {epsilon!r}.")
    if any(w.ndim > x1.ndim or w.shape != x1.shape[x1.ndim - w.ndim :] for w in weights.values()):
        shown = ", ".join(f"{what} {list(w.shape)}" for what, w in weights.items())
        raise ShapeError(f"{name}: the weights have the shape of the last axes of x1, got {shown}.", operands=lines)
    return x1 + x2


def add_layer_norm(
    x1: Any, x2: Any, gamma: Any, beta: Any, epsilon: float = 1e-5, additional_output: bool = False
) -> tuple[Any, Any, Any, Any]:
    """``layer_norm`` of a sum over its last axis, with its statistics.

    Args:
        x1, x2: floats [..., features].
        gamma, beta: [features].
        epsilon: added to the variance.
        additional_output: MindSpore computes the sum only where it is asked for; here it is there in any case.

    Returns:
        (y, mean [..., 1], 1 / standard deviation [..., 1], x1 + x2); the statistics in at least 32 bits and
        without a gradient.

    Raises:
        ValueError: shapes that do not fit. TypeError: no floats.

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[1.0, 3.0]])
        >>> ms.ops.add_layer_norm(x, x, ms.ops.ones(2), ms.ops.zeros(2), 1e-9)[1].tolist()
        [[4.0]]
    """
    x = _sum("add_layer_norm", x1, x2, epsilon, gamma=gamma, beta=beta)
    if not isinstance(additional_output, bool):
        raise DTypeError(f"add_layer_norm: additional_output is a bool, got {additional_output!r}.")
    t = wide(x)
    middle = mean(t, -1, True)
    rstd = rsqrt(mean(square(t - middle), -1, True) + epsilon)
    y = ((t - middle) * rstd * gamma + beta).astype(x.dtype)
    return y, stop_gradient(middle), stop_gradient(rstd), x


def add_rms_norm(x1: Any, x2: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Any, Any, Any]:
    """``rms_norm`` of a sum over the last axes, as many as ``gamma`` has.

    Args:
        x1, x2: floats of one shape.
        gamma: of the shape of their last axes.
        epsilon: added to the mean square.

    Returns:
        (y, 1 / root mean square in at least 32 bits with axes of size 1 and without a gradient, x1 + x2).

    Raises:
        ValueError: shapes that do not fit. TypeError: no floats.

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[1.5, -1.5]])
        >>> ms.ops.add_rms_norm(x, x, ms.ops.ones(2), 1e-12)[0].tolist()
        [[1.0, -1.0]]
    """
    x = _sum("add_rms_norm", x1, x2, epsilon, gamma=gamma)
    t = wide(x)
    rstd = rsqrt(mean(square(t), tuple(range(-gamma.ndim, 0)), True) + epsilon)
    return (t * rstd * gamma).astype(x.dtype), stop_gradient(rstd), x


def _need_order(name: str, padded_mode: Any, indices: Any) -> None:
    if padded_mode:
        raise AttributeValueError(f"{name}: padded_mode is False, MindSpore has no other either.")
    if not indices.dtype.is_int:
        raise DTypeError(f"{name}: indices are whole numbers.", operands=operand_lines(indices._type))


def moe_token_permute(
    tokens: Any, indices: Any, num_out_tokens: int | None = None, padded_mode: bool = False
) -> tuple[Any, Any]:
    """Rows of tokens put together by the expert that each goes to.

    Args:
        tokens: [n, features].
        indices: whole numbers [n] or [n, k]: the expert, or k experts, of each token.
        num_out_tokens: how many rows are kept; None: all n k.
        padded_mode: False.

    Returns:
        (rows [n k, features] in the order of their experts, int32 [n k]: where each copy of a token stands).

    Raises:
        ValueError: shapes that do not fit, or padded_mode. TypeError: indices that are no whole numbers.

    Examples:
        >>> import msnb as ms
        >>> found = ms.ops.moe_token_permute(ms.Tensor([[1.0], [2.0]]), ms.Tensor([1, 0]))
        >>> [f.tolist() for f in found]
        [[[2.0], [1.0]], [1, 0]]
    """
    _need_order("moe_token_permute", padded_mode, indices)
    if tokens.ndim != 2 or indices.ndim not in (1, 2) or tokens.shape[0] != indices.shape[0]:
        lines = operand_lines(tokens._type, indices._type, names=("tokens", "indices"))
        raise ShapeError("moe_token_permute takes tokens [n, features] and indices [n] or [n, k].", operands=lines)
    copies = 1 if indices.ndim == 1 else indices.shape[1]
    order = argsort(indices.reshape((-1,)))
    return gather(tokens, order // copies, 0)[:num_out_tokens], argsort(order).astype(dtypes.int32)


def moe_token_unpermute(
    permuted_tokens: Any, sorted_indices: Any, probs: Any = None, padded_mode: bool = False, restore_shape: Any = None
) -> Any:
    """What ``moe_token_permute`` moved, back at its place: the k copies of a token weighted and added up.

    Args:
        permuted_tokens: [m, features]; rows that were dropped (m below n k) count as zeros.
        sorted_indices: int [n k], as ``moe_token_permute`` gave them.
        probs: weights [n, k]; None: every token has one copy.
        padded_mode: False; restore_shape: None, it belongs to padded_mode.

    Returns:
        [n, features] in the dtype of ``permuted_tokens``.

    Raises:
        ValueError: shapes that do not fit, padded_mode or restore_shape. TypeError: places that are no whole numbers.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.moe_token_unpermute(ms.Tensor([[2.0], [1.0]]), ms.Tensor([1, 0])).tolist()
        [[1.0], [2.0]]
    """
    _need_order("moe_token_unpermute", padded_mode, sorted_indices)
    if restore_shape is not None:
        raise AttributeValueError("moe_token_unpermute: restore_shape belongs to padded_mode, which is False.")
    count = sorted_indices.shape[0] if sorted_indices.ndim == 1 else None
    if permuted_tokens.ndim != 2 or (count if probs is None else probs.size) != count:
        lines = operand_lines(permuted_tokens._type, sorted_indices._type, names=("permuted_tokens", "sorted_indices"))
        raise ShapeError("moe_token_unpermute takes [m, features], places [n k] and weights [n, k].", operands=lines)
    missing = count - permuted_tokens.shape[0]
    rows = pad(permuted_tokens, (0, 0, 0, missing)) if missing > 0 else permuted_tokens
    rows = gather(rows, sorted_indices, 0)
    if probs is None:
        return rows
    weighted = rows.reshape((*probs.shape, -1)) * expand_dims(probs, -1)
    return weighted.sum(1).astype(permuted_tokens.dtype)
