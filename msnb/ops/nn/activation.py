"""Activations: functions of ops. Derivatives come from the ops they are made of.

Softmax and its relatives take the largest element out first: softmax(x) = softmax(x - c), and exp then never overflows.
"""

from __future__ import annotations

import math
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError
from msnb.core import Tensor, keep_calls, named, whole
from msnb.ops.definition import as_float, as_tensor, find, normal_axis, operand_lines, worded
from msnb.ops.elementwise import arithmetic, stop_gradient, transcendental, where
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.transcendental import sigmoid, softplus_one
from msnb.ops.random.draws import drawn_uniform, gumbel
from msnb.ops.reduction.records import MAX, SUM

__all__ = [
    "celu", "elu", "fast_gelu", "gelu", "glu", "gumbel_softmax", "hard_sigmoid", "hard_swish", "hard_tanh",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "leaky_relu", "log_sigmoid", "log_softmax", "logsigmoid",
    "mish", "prelu", "relu6", "rrelu", "selu", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign",
    "swish", "tanhshrink", "threshold",
]  # fmt: skip

_ROOT_2_BY_PI = math.sqrt(2 / math.pi)
_SELU_SCALE, _SELU_ALPHA = 1.0507009873554805, 1.6732632423543772


def _between(x: Any, low: Any, high: Any) -> Tensor:
    return arithmetic.minimum(arithmetic.maximum(x, low), high)


@named
def relu6(x: Any) -> Tensor:
    """min(max(x, 0), 6).

    Source: `mindspore.ops.relu6`
    """
    return _clipped(x, 0.0, 6.0)


def _clipped(x: Any, low: float, high: float) -> Tensor:
    """The derivative is 1 strictly inside and 0 on the rims, as for relu."""
    x = as_tensor(x)
    return where(find("logical_and")(x > low, x < high), x, _between(stop_gradient(x), low, high))


@named
def leaky_relu(x: Any, alpha: float = 0.2) -> Tensor:
    """x where positive, else alpha x."""
    return where(x > 0, x, x * alpha)


def rrelu(x: Any, lower: float = 1 / 8, upper: float = 1 / 3) -> Tensor:
    """x where it is at least 0, else x times a slope of its own, drawn between ``lower`` and ``upper``.

    Args:
        x: floats of any shape.
        lower, upper: bounds of the slopes.

    Returns:
        Tensor of the shape and dtype of x; the slopes are constants of its gradient.

    Raises:
        ValueError: ``lower`` is above ``upper``.
        TypeError: x has no floats.

    Source: Xu et al. 2015, arXiv:1505.00853; `mindspore.ops.rrelu`.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.rrelu(ms.Tensor([-4.0, 0.0, 3.0]), 0.25, 0.25).tolist()
        [-1.0, 0.0, 3.0]
    """
    t = as_tensor(x)
    if not t.dtype.is_float:
        raise DTypeError("rrelu needs floats: slopes are no whole numbers.", operands=operand_lines(t._type))
    for name, bound in (("lower", lower), ("upper", upper)):
        if isinstance(bound, bool) or not isinstance(bound, (int, float)):
            raise ArgumentError(f"rrelu: {name} is a number, got {bound!r}.")
    if lower > upper:
        raise AttributeValueError(f"rrelu: lower must not be above upper, got {lower} and {upper}.")
    return where(t >= 0, t, t * cast(drawn_uniform(t.shape) * (upper - lower) + lower, t.dtype))


@named
def prelu(x: Tensor, weight: Tensor) -> Tensor:
    """x where positive, else weight x; one weight for all, or one per channel (axis 1).

    Raises:
        ValueError: the number of weights is neither 1 nor that of the channels.
    """
    channels = x.shape[1] if x.ndim > 1 else 1
    if weight.shape not in ((), (1,), (channels,)):
        raise ShapeError("prelu needs one weight, or one per channel.", operands=operand_lines(x._type, weight._type))
    weight = cast(weight, x.dtype) if x.dtype.is_float else weight
    if weight.shape == (1,) and not x.ndim:
        weight = find("reshape")(weight, shape=())
    elif weight.shape not in ((), (1,)) and x.ndim > 2:
        weight = find("reshape")(weight, shape=(channels, *[1] * (x.ndim - 2)))
    return where(x > 0, x, x * weight)


def _not_above_zero(x: Any) -> Tensor:
    """min(x, 0), whose derivative at 0 is that from below: exp(x) - 1 made of it goes on smoothly."""
    return where(x > 0, 0, x)


@whole
def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """x where positive, else alpha (exp(x) - 1). Source: Clevert et al., 2015, arXiv:1511.07289."""
    below = transcendental.expm1(_not_above_zero(x)) * alpha
    return where(x > 0, x, below)


@named
def celu(x: Any, alpha: float = 1.0) -> Tensor:
    """max(x, 0) + min(0, alpha (exp(x / alpha) - 1))."""
    below = transcendental.expm1(_not_above_zero(x) / alpha) * alpha
    return where(x > 0, x, below)


@whole
def selu(x: Any) -> Tensor:
    """elu scaled so that mean 0 and variance 1 are kept. Source: Klambauer et al., 2017, arXiv:1706.02515."""
    return elu(x, _SELU_ALPHA) * _SELU_SCALE


@whole
def gelu(x: Any, approximate: str = "none") -> Tensor:
    """x times the normal distribution function of x; ``approximate="tanh"`` uses the tanh formula.

    Raises:
        ValueError: ``approximate`` is neither "none" nor "tanh".

    Source: Hendrycks, Gimpel, 2016, arXiv:1606.08415;
        `mindspore.ops.gelu`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.gelu(ms.Tensor([0.0])).tolist()
        [0.0]
    """
    x = as_tensor(x)
    if approximate == "none":
        return x * 0.5 * (transcendental.erf(x * math.sqrt(0.5)) + 1)  # type: ignore[no-any-return]
    if approximate != "tanh":
        raise AttributeValueError(f"gelu: approximate must be 'none' or 'tanh', got {approximate!r}.")
    inner = (x + x * x * x * 0.044715) * _ROOT_2_BY_PI
    return x * 0.5 * (transcendental.tanh(inner) + 1)  # type: ignore[no-any-return]


@whole
def fast_gelu(x: Any) -> Tensor:
    """x sigmoid(1.702 x), close to gelu."""
    out: Tensor = x * sigmoid(x * 1.702)
    return out


@whole
def silu(x: Any) -> Tensor:
    """x sigmoid(x)."""
    out: Tensor = x * sigmoid(x)
    return out


@whole
def mish(x: Any) -> Tensor:
    """x tanh(softplus(x)). Source: Misra, 2019, arXiv:1908.08681."""
    out: Tensor = x * transcendental.tanh(softplus_one(x))
    return out


@named
def hardsigmoid(x: Any) -> Tensor:
    """min(max(x + 3, 0), 6) / 6."""
    return relu6(x + 3) / 6


@named
def hardswish(x: Any) -> Tensor:
    """x hardsigmoid(x). Source: Howard et al., 2019, arXiv:1905.02244."""
    return x * hardsigmoid(x)  # type: ignore[no-any-return]


@named
def hardtanh(x: Any, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """x between the bounds, else the nearer bound."""
    return _clipped(x, min_val, max_val)


@named
def hardshrink(x: Any, lambd: float = 0.5) -> Tensor:
    """0 where |x| <= lambd, else x; NaN stays."""
    return where(arithmetic.abs(x) <= lambd, 0, x)


@named
def softshrink(x: Any, lambd: float = 0.5) -> Tensor:
    """x moved towards 0 by lambd, and 0 within; NaN stays."""
    return where(arithmetic.abs(x) <= lambd, 0, where(x < 0, x + lambd, x - lambd))


def tanhshrink(x: Any) -> Tensor:
    """x - tanh(x)."""
    out: Tensor = x - transcendental.tanh(x)
    return out


@whole
def softplus(x: Any, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """log(1 + exp(beta x)) / beta; x itself where beta x exceeds the threshold."""
    if beta == 1.0:
        smooth = softplus_one(x)
        return where(x > threshold, x, smooth) if threshold < 20.0 else smooth
    return where(x * beta > threshold, x, softplus_one(x * beta) / beta)


@named
def softsign(x: Any) -> Tensor:
    """x / (1 + |x|)."""
    out: Tensor = x / (arithmetic.abs(x) + 1)
    return out


def logsigmoid(x: Any) -> Tensor:
    """log(sigmoid(x)), without underflow."""
    return -softplus_one(-x)


@worded
def glu(x: Tensor, axis: int = -1) -> Tensor:
    """The first half of an axis times the sigmoid of the second. Source: Dauphin et al., 2016, arXiv:1612.08083.

    Raises:
        ValueError: the axis has an odd size.
    """
    at = normal_axis("glu", axis, x.ndim)
    n = x.shape[at]
    if not isinstance(n, int) or n % 2:
        raise ShapeError(f"glu halves axis {at}, whose size {n} is not even.", operands=operand_lines(x._type))
    rows: list[Any] = [slice(None)] * x.ndim
    first, second = list(rows), list(rows)
    first[at], second[at] = slice(0, n // 2), slice(n // 2, n)
    return x[tuple(first)] * sigmoid(x[tuple(second)])


def threshold(x: Any, thr: float, value: float) -> Tensor:
    """``value`` where x is at most ``thr``, else x; NaN stays."""
    return where(x <= thr, value, x)


# ---- softmax ----


def _floats(x: Any, dtype: Any) -> Tensor:
    return as_float(x) if dtype is None else cast(as_tensor(x), dtype)


def _shifted(x: Tensor, axis: int | None) -> Tensor:
    """x less its largest element along the axis, which is no part of the derivative."""
    if 0 in x.shape:
        return x
    top: Any = MAX(stop_gradient(x), axis=axis, keepdims=True)
    out: Tensor = x - top
    return out


@worded
@whole
def softmax(x: Any, axis: int = -1, dtype: Any = None) -> Tensor:
    """exp(x) / sum(exp(x)) along ``axis``.

    Args:
        x: a tensor of any shape.
        axis: an int.
        dtype: convert to this dtype first.

    Source: `mindspore.ops.softmax`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.softmax(ms.Tensor([1.0, 1.0])).tolist()
        [0.5, 0.5]
    """
    x = _floats(x, dtype)
    at = None if x.ndim == 0 and axis in (0, -1) else normal_axis("softmax", axis, x.ndim)
    powers = transcendental.exp(_shifted(x, at))
    return powers / SUM(powers, axis=at, keepdims=True)


@worded
@whole
def log_softmax(x: Any, axis: int = -1, dtype: Any = None) -> Tensor:
    """log(softmax(x)) along ``axis``, exact where softmax is close to 0."""
    x = _floats(x, dtype)
    at = None if x.ndim == 0 and axis in (0, -1) else normal_axis("log_softmax", axis, x.ndim)
    low = _shifted(x, at)
    return low - transcendental.log(SUM(transcendental.exp(low), axis=at, keepdims=True))


@worded
def softmin(x: Any, axis: int = -1, *, dtype: Any = None) -> Tensor:
    """softmax(-x)."""
    return softmax(-_floats(x, dtype), axis)


@worded
def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, axis: int = -1) -> Tensor:
    """A soft draw from softmax(logits); ``hard`` gives one-hot values with the soft gradient.

    Source: Jang et al., 2016, arXiv:1611.01144.
    """
    soft = softmax((logits + gumbel(logits.shape, dtype=logits.dtype)) / tau, axis)
    if not hard:
        return soft
    one = cast(soft == MAX(soft, axis=axis, keepdims=True), soft.dtype)
    return stop_gradient(one - soft) + soft


swish, hard_sigmoid, hard_swish, hard_tanh = silu, hardsigmoid, hardswish, hardtanh
log_sigmoid = logsigmoid


keep_calls(globals(), "glu", whole)
