"""Losses: how far a prediction is from what was wanted. Functions of ops.

Every loss ends with a ``reduction``: "mean", "sum" or "none" (one value per element or row). Cross-entropy is written
with log_softmax, so a confident wrong answer gives a large number and never infinity times zero.
"""

from __future__ import annotations

import math
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError, events
from msnb.core import Tensor, keep_calls, whole
from msnb.core.dtypes import guard
from msnb.ops.definition.keyword_aliases import worded
from msnb.ops.definition.operand_checks import as_float, as_floats, as_tensor, wide_integers
from msnb.ops.definition.record import find
from msnb.ops.definition.type_inference import common_shape, need_float, operand_lines
from msnb.ops.elementwise import arithmetic, equal, softplus_one, stop_gradient, transcendental, where
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.comparison import not_equal
from msnb.ops.indexing.class_index import CLASS_INDEX
from msnb.ops.indexing.gather import gather, gather_elements
from msnb.ops.nn.activation import log_softmax, softmax
from msnb.ops.reduction.cumulative import cumprod
from msnb.ops.reduction.functional import any as any_of
from msnb.ops.reduction.records import MEAN, SUM
from msnb.ops.shape import arange, broadcast_to, expand_dims

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cosine_similarity",
    "cross_entropy", "focal_loss", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss",
    "margin_ranking_loss", "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "multilabel_soft_margin_loss",
    "nll_loss", "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "softmax_cross_entropy_with_logits",
    "sparse_softmax_cross_entropy_with_logits", "triplet_margin_loss",
]  # fmt: skip


def _reduced(name: str, loss: Any, reduction: str) -> Tensor:
    if reduction not in ("mean", "sum", "none"):
        raise AttributeValueError(f"{name}: reduction must be 'mean', 'sum' or 'none', got {reduction!r}.")
    if reduction == "none":
        return loss  # type: ignore[no-any-return]
    return (MEAN if reduction == "mean" else SUM)(loss, axis=None, keepdims=False)


_BROADCAST = ("mse_loss", "l1_loss", "huber_loss")  # losses that MindSpore broadcasts


def _pair(name: str, x: Any, target: Any) -> tuple[Tensor, Tensor]:
    """Prediction and target as tensors; one must broadcast to the other, so that no loss blows up silently."""
    x, target = as_tensor(x), as_tensor(target)
    shape = common_shape(name, x._type, target._type)
    if shape not in (x.shape, target.shape):
        events.refuse(ShapeError(
            f"{name}: prediction and target have different shapes.",
            operands=operand_lines(x._type, target._type, names=("prediction", "target")),
            hint=f"in {list(shape)} each value would meet many others; reshape one of them.",
        ), name in _BROADCAST)  # fmt: skip
    return x, target


@whole
def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Mean of (input - target)^2, of integers in float32.

    Args:
        input, target: tensors of one shape (or one that broadcasts to the other).
        reduction: "mean", "sum" or "none".

    Source: `mindspore.ops.mse_loss`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.mse_loss(ms.Tensor([1.0, 3.0]), ms.Tensor([1.0, 1.0])).item()
        2.0
    """
    x, y = as_floats(*_pair("mse_loss", input, target))
    return _reduced("mse_loss", arithmetic.square(x - y), reduction)


@whole
def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """Mean of |input - target|; arguments as ``mse_loss``."""
    x, y = map(wide_integers, _pair("l1_loss", input, target))
    return _reduced("l1_loss", arithmetic.abs(x - y), reduction)


@whole
def smooth_l1_loss(input: Any, target: Any, beta: float = 1.0, reduction: str = "none") -> Tensor:
    """d^2 / (2 beta) for |d| < beta, else |d| - beta/2. Source: Girshick, "Fast R-CNN", 2015, arXiv:1504.08083."""
    if beta < 0:
        raise AttributeValueError(f"smooth_l1_loss: beta must be >= 0, got {beta!r}.")
    if beta == 0:
        return l1_loss(input, target, reduction)
    x, y = as_floats(*_pair("smooth_l1_loss", input, target))
    d = arithmetic.abs(x - y)
    return _reduced("smooth_l1_loss", where(d < beta, d * d * (0.5 / beta), d - 0.5 * beta), reduction)


@whole
def huber_loss(input: Any, target: Any, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """d^2 / 2 for |d| <= delta, else delta (|d| - delta/2). Source: Huber, 1964."""
    if delta <= 0:
        raise AttributeValueError(f"huber_loss: delta must be above 0, got {delta!r}.")
    x, y = as_floats(*_pair("huber_loss", input, target))
    d = arithmetic.abs(x - y)
    return _reduced("huber_loss", where(d <= delta, d * d * 0.5, (d - 0.5 * delta) * delta), reduction)


# ---- classes ----


def _class_axis(logits: Tensor) -> int:
    """[C] alone, [N, C], or [N, C, ...]."""
    if logits.ndim == 0:
        raise ShapeError("cross_entropy needs an axis of classes.", operands=operand_lines(logits._type))
    return 0 if logits.ndim == 1 else 1


def _check_classes(name: str, logits: Tensor, target: Tensor, axis: int) -> None:
    rows = logits.shape[:axis] + logits.shape[axis + 1 :]
    if target.shape != rows:
        raise ShapeError(
            f"{name}: class indices have shape {list(target.shape)} where {list(rows)} is expected.",
            operands=operand_lines(logits._type, target._type, names=("input", "target")),
            hint="pass one class index per row, or probabilities (floats) of the input's shape.",
        )


def _per_class(logp: Tensor, axis: int, vector: Tensor) -> Tensor:
    """A [C] vector laid along the class axis."""
    return find("reshape")(vector, shape=tuple(-1 if i == axis else 1 for i in range(logp.ndim)))


def _one_hot(logp: Tensor, axis: int, target: Tensor) -> Tensor:
    """True at the class of each row: a comparison, so an index that is ignored (outside the classes) hits nothing."""
    classes = _per_class(logp, axis, arange(logp.shape[axis], dtype=target.dtype))
    return equal(find("expand_dims")(target, axis=axis), classes)


@whole
def nll_loss(input: Tensor, target: Tensor, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
             label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    """Negative log-likelihood: minus the log-probability of the target class.

    Args:
        input: log-probabilities [C], [N, C] or [N, C, ...].
        target: class indices [], [N] or [N, ...].
        weight: one weight per class; "mean" divides by the sum of the weights of the targets.
        ignore_index: rows with this target count for nothing.
        label_smoothing: share of the target spread evenly over all classes.

    Raises:
        ValueError: the shapes do not fit. TypeError: the target is not made of ints.

    Source: `mindspore.ops.nll_loss`
    """
    axis = _class_axis(input)
    if not target.dtype.is_int:
        raise DTypeError("nll_loss needs class indices (ints).", operands=operand_lines(input._type, target._type))
    _check_classes("nll_loss", input, target, axis)
    return _nll("nll_loss", input, target, axis, weight, ignore_index, reduction, label_smoothing)


def _nll(name: str, input: Tensor, target: Tensor, axis: int, weight: Any, ignore_index: int, reduction: str,
         label_smoothing: float) -> Tensor:  # fmt: skip
    if isinstance(input.shape[axis], int):
        target = CLASS_INDEX(target, classes=input.shape[axis], ignore=ignore_index)
    valid = not_equal(target, ignore_index)
    scale = 1.0 if weight is None else _per_class(input, axis, as_tensor(weight))
    if name == "nll_loss":  # what lies in memory is read at one place of each row; a softmax on the way reads all
        at = where(valid, target, 0)
        row = cast(valid, input.dtype) if weight is None else where(valid, gather(as_tensor(weight), at, 0), 0.0)
        picked = -SUM(gather_elements(input, axis, expand_dims(at, axis)), axis=axis, keepdims=False)
        picked, counts = picked * row, row
    else:
        hit = _one_hot(input, axis, target)
        picked = -SUM(where(hit, input * scale, 0.0), axis=axis, keepdims=False)
        counts = _counts(input, hit, scale, valid, axis)
    if label_smoothing:
        smooth = -SUM(input * scale, axis=axis, keepdims=False) * (label_smoothing / _size(input, axis))
        picked = picked * (1.0 - label_smoothing) + smooth
    loss = where(valid, picked, 0.0)
    if reduction == "mean":
        return SUM(loss, axis=None, keepdims=False) / SUM(counts, axis=None, keepdims=False)
    return _reduced(name, loss, reduction)


def _size(x: Tensor, axis: int) -> int:
    n = x.shape[axis]
    if not isinstance(n, int):
        raise ShapeError("the number of classes must be known.", operands=operand_lines(x._type))
    return n


def _counts(logp: Tensor, hit: Tensor, scale: Any, valid: Tensor, axis: int) -> Tensor:
    """What each row counts for in the mean: the weight of its class, 0 if ignored."""
    ones = cast(hit, logp.dtype) * scale
    return where(valid, SUM(ones, axis=axis, keepdims=False), 0.0)


@whole
def cross_entropy(input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean",
                  label_smoothing: float = 0.0) -> Tensor:  # fmt: skip
    """Cross-entropy of logits and targets: minus the log-probability of what is wanted.

    Args:
        input: logits [C], [N, C] or [N, C, ...].
        target: class indices [], [N], [N, ...], or probabilities of the shape of ``input``.
        weight: one weight per class.
        ignore_index: rows with this class index count for nothing.
        reduction: "mean", "sum" or "none"; with indices the mean is weighted.
        label_smoothing: share of the target that is spread evenly over all classes, in [0, 1].

    Raises:
        ValueError: shapes or attributes do not fit.

    Source: `mindspore.ops.cross_entropy`

    Examples:
        >>> import msnb as ms
        >>> loss = ms.ops.cross_entropy(ms.Tensor([[0.0, 0.0]]), ms.Tensor([1]))
        >>> round(loss.item(), 4)
        0.6931
    """
    if not 0.0 <= label_smoothing <= 1.0:
        raise AttributeValueError(f"cross_entropy: label_smoothing must be in [0, 1], got {label_smoothing!r}.")
    logits, target = as_tensor(input), as_tensor(target)
    need_float("cross_entropy", logits._type)
    if isinstance(ignore_index, bool) or not isinstance(ignore_index, int):
        raise ArgumentError(f"cross_entropy: ignore_index must be an int, got {ignore_index!r}.")
    axis = _class_axis(logits)
    logp = log_softmax(logits, axis)
    if target.dtype.is_float:
        return _soft_cross_entropy(logp, target, weight, reduction, label_smoothing)
    if not target.dtype.is_int:
        raise _no_target(logits, target)
    _check_classes("cross_entropy", logits, target, axis)
    return _nll("cross_entropy", logp, target, axis, weight, ignore_index, reduction, label_smoothing)


def _no_target(logits: Tensor, target: Tensor) -> Exception:
    """Neither class indices nor probabilities. Floats of the shape that indices have are indices read as floats."""
    indices = target.shape == logits.shape[: _class_axis(logits)] + logits.shape[_class_axis(logits) + 1 :]
    return (DTypeError if indices else ShapeError)(
        "cross_entropy: the target must be class indices (ints), or probabilities (floats) of the input's shape.",
        operands=operand_lines(logits._type, target._type, names=("input", "target")),
        hint="convert class indices with target.astype(ms.int32).",
    )


def _soft_cross_entropy(logp: Tensor, target: Tensor, weight: Any, reduction: str, smoothing: float) -> Tensor:
    if target.shape != logp.shape:
        raise _no_target(logp, target)
    axis = _class_axis(logp)
    if smoothing:
        target = target * (1.0 - smoothing) + smoothing / _size(logp, axis)
    if weight is not None:
        logp = logp * _per_class(logp, axis, as_tensor(weight))
    return _reduced("cross_entropy", -SUM(logp * target, axis=axis, keepdims=False), reduction)


def softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> Tensor:
    """One value per row of [N, C] logits for labels that are probabilities (one-hot, say)."""
    return cross_entropy(logits, cast(labels, logits.dtype), reduction="none")


def sparse_softmax_cross_entropy_with_logits(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean cross-entropy for class indices."""
    return cross_entropy(logits, labels)


def focal_loss(input: Tensor, target: Tensor, weight: Any = None, gamma: float = 2.0,
               reduction: str = "mean") -> Tensor:  # fmt: skip
    """Cross-entropy times (1 - p)^gamma, p the probability of the target class: easy rows count less.

    Source: Lin et al., "Focal Loss", 2017, arXiv:1708.02002.
    """
    axis = _class_axis(input)
    _check_classes("focal_loss", input, target, axis)
    logp = log_softmax(input, axis)
    p = softmax(input, axis)
    scale = 1.0 if weight is None else _per_class(input, axis, as_tensor(weight))
    terms = arithmetic.power(1 - p, gamma) * logp * scale
    loss = -SUM(where(_one_hot(input, axis, target), terms, 0.0), axis=axis, keepdims=False)
    return _reduced("focal_loss", loss, reduction)


# ---- yes and no ----


@whole
def binary_cross_entropy(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """-(t log p + (1 - t) log(1 - p)) of probabilities ``input``; logarithms are cut off at -100, as in PyTorch.

    Source: `mindspore.ops.binary_cross_entropy`
    """
    p, t = _pair("binary_cross_entropy", input, target)
    loss = -(t * _cut_log(p) + (1 - t) * _cut_log(1 - p))
    return _reduced("binary_cross_entropy", loss if weight is None else loss * weight, reduction)


def _cut_log(p: Any) -> Any:
    """log(p), not below -100; the derivative there is 0 and never NaN."""
    safe = p > 3.8e-44
    return where(safe, transcendental.log(where(safe, p, 1.0)), -100.0)


@whole
def binary_cross_entropy_with_logits(logits: Any, label: Any, weight: Any = None, pos_weight: Any = None,
                                     reduction: str = "mean") -> Tensor:  # fmt: skip
    """binary_cross_entropy(sigmoid(logits), label) without overflow: softplus(-x) is -log sigmoid(x).

    Args:
        logits, label: tensors of one shape.
        weight: a weight per element.
        pos_weight: a weight of the positive answers.
    """
    x, t = _pair("binary_cross_entropy_with_logits", logits, label)
    positive = softplus_one(-x)
    loss = t * (positive if pos_weight is None else positive * pos_weight) + (1 - t) * (positive + x)
    return _reduced("binary_cross_entropy_with_logits", loss if weight is None else loss * weight, reduction)


def soft_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """log(1 + exp(-target input)) for targets 1 and -1."""
    x, t = as_floats(*_pair("soft_margin_loss", input, target))
    return _reduced("soft_margin_loss", softplus_one(-(t * x)), reduction)


def hinge_embedding_loss(inputs: Any, targets: Any, margin: float = 1.0, reduction: str = "mean") -> Tensor:
    """x for target 1, max(0, margin - x) for target -1."""
    x, t = _pair("hinge_embedding_loss", inputs, targets)
    return _reduced("hinge_embedding_loss", where(t > 0, x, arithmetic.clamp_min(margin - x, 0)), reduction)


def multi_margin_loss(input: Any, target: Any, p: int = 1, margin: float = 1.0, weight: Any = None,
                      reduction: str = "mean") -> Tensor:  # fmt: skip
    """The mean over classes of max(0, margin - x[target] + x[class]) ** p, the target itself left out.

    Args:
        input: [N, C] floats.
        target: [N] classes.
        p: 1 or 2.
        margin: by which the target's value should lead.
        weight: [C], a factor for each target class.
        reduction: "mean", "sum" or "none".

    Raises:
        ShapeError: shapes that do not meet. ValueError: another p or reduction.

    Examples:
        >>> import msnb as ms
        >>> round(ms.ops.multi_margin_loss(ms.Tensor([[0.5, 1.0]]), ms.Tensor([1])).item(), 4)
        0.25
    """
    x, t = as_tensor(input), as_tensor(target)
    if x.ndim != 2 or t.shape != x.shape[:1]:
        raise ShapeError("multi_margin_loss takes [N, C] values and [N] classes.",
                         operands=operand_lines(x._type, t._type, names=("input", "target")))  # fmt: skip
    if p not in (1, 2):
        raise AttributeValueError(f"multi_margin_loss: p is 1 or 2, got {p!r}.")
    chosen = equal(t.reshape(-1, 1), arange(x.shape[1])).astype(x.dtype)
    short = arithmetic.clamp_min(margin - SUM(x * chosen, axis=1, keepdims=True) + x, 0)
    short = short if p == 1 else short * short
    if weight is not None:
        short = short * SUM(as_tensor(weight) * chosen, axis=1, keepdims=True)
    loss = SUM(short * (1 - chosen), axis=1, keepdims=False) / x.shape[1]
    return _reduced("multi_margin_loss", loss, reduction)


def multilabel_margin_loss(input: Any, target: Any, reduction: str = "mean") -> Tensor:
    """How far the scores of right classes are from being 1 above those of all others, summed, by the number of classes.

    Args:
        input: scores [classes] or [n, classes], floats.
        target: whole numbers of the same shape: the right classes of a row, up to the first -1.
        reduction: "mean", "sum" or "none".

    Returns:
        A number, or with "none" one per row.

    Raises:
        ValueError: other shapes or another reduction. TypeError: no floats, or targets that are no whole numbers.

    Source: `mindspore.ops.multilabel_margin_loss`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.multilabel_margin_loss(ms.Tensor([0.5, 0.25]), ms.Tensor([1, -1])).item()
        0.625
    """
    x, t = as_tensor(input), as_tensor(target)
    lines = operand_lines(x._type, t._type, names=("input", "target"))
    if not x.dtype.is_float or not t.dtype.is_int:
        raise DTypeError("multilabel_margin_loss takes floats and whole numbers.", operands=lines)
    if x.ndim not in (1, 2) or x.shape != t.shape:
        text = "multilabel_margin_loss takes input and target of one shape, [classes] or [n, classes]."
        raise ShapeError(text, operands=lines)
    counted = cumprod(cast(t >= 0, "int32"), -1) > 0
    places = where(counted, t, 0)
    hits = expand_dims(counted, -1) & equal(expand_dims(places, -1), arange(x.shape[-1]))  # [..., target, class]
    missing = find("relu")(1 - expand_dims(gather_elements(x, -1, places), -1) + expand_dims(x, -2))
    wrong = expand_dims(counted, -1) & ~any_of(hits, -2, True)
    loss = SUM(where(wrong, missing, 0.0), axis=(-2, -1), keepdims=False) / x.shape[-1]
    return _reduced("multilabel_margin_loss", cast(loss, x.dtype), reduction)


def multilabel_soft_margin_loss(input: Any, target: Any, weight: Any = None, reduction: str = "mean") -> Tensor:
    """The mean over classes of the binary cross entropy of sigmoid(input), for targets 0 and 1 of any class."""
    x, t = _pair("multilabel_soft_margin_loss", input, target)
    loss = binary_cross_entropy_with_logits(x, t, weight, reduction="none")
    return _reduced("multilabel_soft_margin_loss", MEAN(loss, axis=-1, keepdims=False), reduction)


# ---- distributions and distances ----


@whole
def kl_div(logits: Any, labels: Any, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """Kullback-Leibler divergence: labels (log labels - logits), with log-probabilities ``logits``.

    ``reduction="batchmean"`` divides the sum by the number of rows, which is the mathematical value.
    """
    x, t = _pair("kl_div", logits, labels)
    if log_target:
        loss = transcendental.exp(t) * (t - x)
    else:
        positive = t > 0
        loss = where(positive, t * (transcendental.log(where(positive, t, 1.0)) - x), 0.0)
    if reduction == "batchmean":
        return SUM(loss, axis=None, keepdims=False) / (_size(x, 0) if x.ndim else 1)
    return _reduced("kl_div", loss, reduction)


def gaussian_nll_loss(x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6,
                      reduction: str = "mean") -> Tensor:  # fmt: skip
    """Negative log-likelihood of ``target`` under normal distributions of mean ``x`` and variance ``var``.

    Raises:
        TypeError: ``full`` is no bool. ValueError: ``eps`` is no number above 0.
    """
    import math

    if not isinstance(full, bool):
        raise ArgumentError(f"gaussian_nll_loss: full must be a bool, got {full!r}.")
    if isinstance(eps, bool) or not isinstance(eps, (int, float)) or not eps > 0:
        raise AttributeValueError(f"gaussian_nll_loss: eps must be a number above 0, got {eps!r}.")
    given = as_tensor(var)
    spread = where(given < eps, given - stop_gradient(given) + eps, given)  # eps to its last digit, the slope stays 1
    loss = (transcendental.log(spread) + arithmetic.square(x - target) / spread) * 0.5
    return _reduced("gaussian_nll_loss", loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


def poisson_nll_loss(
    input: Any, target: Any, log_input: bool = True, reduction: str = "mean", *, full: bool = False, eps: float = 1e-8
) -> Tensor:
    """Negative log-likelihood of counts under Poisson distributions, without the term of the target alone; with
    ``full`` Stirling's approximation of it, for targets above 1."""
    x, t = _pair("poisson_nll_loss", input, target)
    guarded = x if log_input else x + guard(eps, x.dtype)
    loss = transcendental.exp(x) - t * x if log_input else x - t * transcendental.log(guarded)
    if full:
        count = where(t > 1, t, 1.0)
        rest = count * transcendental.log(count) - count + transcendental.log(count * (2 * math.pi)) * 0.5
        loss = loss + where(t > 1, rest, 0.0)
    return _reduced("poisson_nll_loss", loss, reduction)


@whole
@worded
def cosine_similarity(x1: Tensor, x2: Tensor, axis: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosine of the angle between vectors along ``axis``."""
    x1, x2 = as_float(x1), as_float(x2)
    shape = common_shape("cosine_similarity", x1._type, x2._type)  # along the axis, too: a size of 1 stands for many
    x1, x2 = (x if x.shape == shape else broadcast_to(x, shape) for x in (x1, x2))
    dot = SUM(x1 * x2, axis=axis, keepdims=False)
    squares = SUM(x1 * x1, axis=axis, keepdims=False) * SUM(x2 * x2, axis=axis, keepdims=False)
    return dot / transcendental.sqrt(arithmetic.maximum(squares, guard(eps * eps, squares.dtype)))


def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0,
                          reduction: str = "mean") -> Tensor:  # fmt: skip
    """1 - cos for target 1, max(0, cos - margin) for target -1."""
    cos = cosine_similarity(input1, input2, -1)
    loss = where(target > 0, 1 - cos, arithmetic.clamp_min(cos - margin, 0))
    return _reduced("cosine_embedding_loss", loss, reduction)


def margin_ranking_loss(input1: Any, input2: Any, target: Any, margin: float = 0.0, reduction: str = "mean") -> Tensor:
    """max(0, -target (x1 - x2) + margin)."""
    return _reduced("margin_ranking_loss", arithmetic.clamp_min(-target * (input1 - input2) + margin, 0), reduction)


def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: int = 2,
                        eps: float = 1e-6, swap: bool = False, reduction: str = "mean") -> Tensor:  # fmt: skip
    """max(0, |anchor - positive| - |anchor - negative| + margin), with p-norms along the last axis; with ``swap`` the
    distance of positive and negative counts where it is the smaller one."""

    def far(x: Tensor, y: Tensor) -> Any:
        if p == 0:  # how many differ
            return SUM(cast(x - y + eps != 0, dtype=x.dtype), axis=-1, keepdims=False)
        powers = arithmetic.power(arithmetic.abs(x - y + eps), p)
        return arithmetic.power(SUM(powers, axis=-1, keepdims=False), 1.0 / p)

    apart = far(anchor, negative)
    if swap:
        apart = arithmetic.minimum(apart, far(positive, negative))
    loss = arithmetic.clamp_min(far(anchor, positive) - apart + margin, 0)
    return _reduced("triplet_margin_loss", loss, reduction)


keep_calls(globals(), "margin_ranking_loss")
