"""Losses as Cells: each holds its options and calls the op of its name.

    loss = nn.CrossEntropyLoss()(logits, labels)            every loss takes (prediction, target)

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.nn.html (loss functions)
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import dtypes
from msnb.nn.cells.cell import Cell
from msnb.ops.definition.type_inference import need_numbers, operand_lines

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CTCLoss", "CosineEmbeddingLoss", "CosineSimilarity", "CrossEntropyLoss",
    "DiceLoss", "FocalLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss", "LossBase",
    "MAELoss", "MSELoss", "MarginRankingLoss", "NLLLoss", "PoissonNLLLoss", "RMSELoss", "SmoothL1Loss",
    "SoftMarginLoss", "SoftmaxCrossEntropyWithLogits", "TripletMarginLoss",
]  # fmt: skip


class LossBase(Cell):
    """Base of losses.

    Args:
        reduction: "mean", "sum" or "none".

    Raises:
        ValueError: another reduction.
    """

    def __init__(self, reduction: str = "mean") -> None:
        super().__init__()
        if reduction not in ("mean", "sum", "none"):
            raise AttributeValueError(f"reduction must be 'mean', 'sum' or 'none', got {reduction!r}.")
        self.reduction = reduction
        self.reduce: bool = reduction != "none"
        self.average: bool = reduction != "sum"

    def get_axis(self, x: Any) -> tuple[int, ...]:
        """All axes of ``x``."""
        return tuple(range(len(x.shape)))

    def get_loss(self, x: Any, weights: Any = 1.0) -> Any:
        """Weigh and reduce in float32, then in the dtype of ``x``: for losses that users write."""
        wide = ops.cast(x, dtypes.float32) * weights
        if self.reduce:
            wide = ops.mean(wide) if self.average else ops.sum(wide)
        return ops.cast(wide, x.dtype)

    def extend_repr(self) -> str:
        """Its reduction."""
        return f"reduction={self.reduction!r}"


class L1Loss(LossBase):
    """|x - y|."""

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.l1_loss(logits, labels, reduction=self.reduction)


class MSELoss(LossBase):
    """(x - y)^2.

    Examples:
        >>> import msnb as ms
        >>> float(ms.nn.MSELoss()(ms.Tensor([1.0, 3.0]), ms.Tensor([1.0, 1.0])))
        2.0
    """

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.mse_loss(logits, labels, reduction=self.reduction)


class MAELoss(L1Loss):
    """|x - y|, MindSpore's other name of L1Loss."""


class RMSELoss(Cell):
    """sqrt(mean((x - y)^2))."""

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.sqrt(ops.mse_loss(logits, labels, reduction="mean"))


class SmoothL1Loss(LossBase):
    """(x - y)^2 / (2 beta) below beta, |x - y| - beta / 2 above. Not reduced by default, as in MindSpore."""

    def __init__(self, beta: float = 1.0, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.beta = beta

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.smooth_l1_loss(logits, labels, beta=self.beta, reduction=self.reduction)


class HuberLoss(LossBase):
    """(x - y)^2 / 2 up to delta, delta (|x - y| - delta / 2) above."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction)
        self.delta = delta

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.huber_loss(logits, labels, reduction=self.reduction, delta=self.delta)


class CrossEntropyLoss(LossBase):
    """-log softmax(logits) at the label.

    Args:
        weight: one weight per class, or None.
        ignore_index: labels that do not count.
        reduction: "mean", "sum" or "none".
        label_smoothing: share of the target spread over all classes.

    Inputs: logits [n, classes, ...]; labels [n, ...] of ints, or probabilities like the logits.

    Source: `mindspore.nn.CrossEntropyLoss`

    Examples:
        >>> import msnb as ms
        >>> round(float(ms.nn.CrossEntropyLoss()(ms.Tensor([[0.0, 0.0]]), ms.Tensor([1]))), 4)
        0.6931
    """

    def __init__(
        self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean", label_smoothing: float = 0.0
    ) -> None:
        super().__init__(reduction)
        self.weight: Any = weight
        self.ignore_index: int = ignore_index
        self.label_smoothing: float = label_smoothing

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.cross_entropy(
            logits, labels, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip


class CTCLoss(LossBase):
    """-log of the probability that a sequence says its labels, at whatever times; see ``ops.ctc_loss``.

    Args:
        blank: the class that stands for no label.
        reduction: "mean", "sum" or "none".
        zero_infinity: labels that do not fit into their time give 0 instead of infinity.

    Inputs: log_probs [time, n, classes]; targets [n, labels]; input_lengths and target_lengths [n].

    Source: `mindspore.nn.CTCLoss`

    Examples:
        >>> import msnb as ms
        >>> even = ms.ops.log_softmax(ms.ops.zeros((2, 1, 2)))
        >>> round(float(ms.nn.CTCLoss()(even, ms.Tensor([[1]]), [2], [1])), 4)  # -log(3 / 4)
        0.2877
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction)
        self.blank: int = blank
        self.zero_infinity: bool = zero_infinity

    def construct(self, log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any) -> Any:
        """The loss."""
        return ops.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction,
                            self.zero_infinity)[0]  # fmt: skip


class NLLLoss(LossBase):
    """-logits at the label: cross entropy of log-probabilities."""

    def __init__(self, weight: Any = None, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight: Any = weight
        self.ignore_index: int = ignore_index

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.nll_loss(
            logits, labels, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction
        )


class SoftmaxCrossEntropyWithLogits(LossBase):
    """Cross entropy of each row.

    Args:
        sparse: labels are class numbers [n]; otherwise one-hot rows or probabilities [n, classes].
        reduction: "none" by default, as in MindSpore.

    Source: `mindspore.nn.SoftmaxCrossEntropyWithLogits`

    Examples:
        >>> import msnb as ms
        >>> loss = ms.nn.SoftmaxCrossEntropyWithLogits(sparse=True, reduction="mean")
        >>> round(float(loss(ms.Tensor([[0.0, 0.0]]), ms.Tensor([1]))), 4)
        0.6931
    """

    def __init__(self, sparse: bool = False, reduction: str = "none") -> None:
        super().__init__(reduction)
        self.sparse = sparse

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        if self.sparse:
            return ops.cross_entropy(logits, labels, reduction=self.reduction)
        if labels.ndim < logits.ndim:
            raise ShapeError(
                "SoftmaxCrossEntropyWithLogits takes labels of the logits' shape, a probability per class.",
                operands=[f"logits: {logits._type!r}", f"labels: {labels._type!r}"],
                hint="for class numbers write SoftmaxCrossEntropyWithLogits(sparse=True).",
            )
        return self.get_loss(ops.softmax_cross_entropy_with_logits(logits, labels))

    def extend_repr(self) -> str:
        """How labels are given, and what becomes of the losses."""
        return f"sparse={self.sparse}, reduction={self.reduction!r}"


class BCELoss(LossBase):
    """-(y log x + (1 - y) log(1 - x)) of probabilities x.

    Args:
        weight: multiplies the loss of each element, or None.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, weight: Any = None, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.weight = weight

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.binary_cross_entropy(logits, labels, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(LossBase):
    """Binary cross entropy of sigmoid(x), safe for large x.

    Args:
        reduction: "mean", "sum" or "none".
        weight: multiplies the loss of each element, or None.
        pos_weight: multiplies the loss of positive labels, or None.
    """

    def __init__(self, reduction: str = "mean", weight: Any = None, pos_weight: Any = None) -> None:
        super().__init__(reduction)
        self.weight: Any = weight
        self.pos_weight: Any = pos_weight

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.binary_cross_entropy_with_logits(
            logits, labels, weight=self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(Cell):
    """y (log y - x) of log-probabilities x and probabilities y (their logarithms with ``log_target``); reduction also
    "batchmean"."""

    def __init__(self, reduction: str = "mean", log_target: bool = False) -> None:
        super().__init__()
        self.log_target: bool = bool(log_target)
        if reduction not in ("mean", "sum", "none", "batchmean"):
            raise AttributeValueError(f"reduction must be 'mean', 'batchmean', 'sum' or 'none', got {reduction!r}.")
        self.reduction = reduction

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.kl_div(logits, labels, reduction=self.reduction, log_target=self.log_target)

    def extend_repr(self) -> str:
        """Its reduction."""
        return f"reduction={self.reduction!r}"


class _MarginLoss(LossBase):
    def __init__(self, margin: float = 0.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin


class CosineEmbeddingLoss(_MarginLoss):
    """1 - cos(x1, x2) for target 1, max(0, cos(x1, x2) - margin) for target -1."""

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Any:
        """The loss."""
        return ops.cosine_embedding_loss(logits_x1, logits_x2, labels, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """max(0, -target (x1 - x2) + margin)."""

    def construct(self, logits_x1: Any, logits_x2: Any, labels: Any) -> Any:
        """The loss."""
        return self.get_loss(ops.clamp(self.margin - labels * (logits_x1 - logits_x2), 0))


class HingeEmbeddingLoss(LossBase):
    """x for label 1, max(0, margin - x) for label -1."""

    def __init__(self, margin: float = 1.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.margin = margin

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return self.get_loss(ops.where(labels > 0, logits, ops.clamp(self.margin - logits, 0)))


class SoftMarginLoss(LossBase):
    """log(1 + exp(-y x)) of scores x and labels y of 1 or -1."""

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss."""
        return ops.soft_margin_loss(logits, labels, reduction=self.reduction)


class TripletMarginLoss(LossBase):
    """max(0, |anchor - positive| - |anchor - negative| + margin) of rows.

    Args:
        p: of the norm.
        swap: take the distance of positive and negative where it is the smaller one.
        eps: added to the differences.
        reduction: "mean", "sum" or "none".
        margin: how much nearer the positive should be.

    Source: Balntas et al. 2016; `mindspore.nn.TripletMarginLoss`
    """

    def __init__(
        self, p: int = 2, swap: bool = False, eps: float = 1e-6, reduction: str = "mean", margin: float = 1.0
    ) -> None:
        super().__init__(reduction)
        self.p: int = p
        self.swap: bool = swap
        self.eps: float = eps
        self.margin: float = margin

    def construct(self, x: Any, positive: Any, negative: Any) -> Any:
        """The loss."""
        return ops.triplet_margin_loss(x, positive, negative, self.margin, self.p, self.eps, self.swap, self.reduction)


class PoissonNLLLoss(LossBase):
    """The negative log likelihood of counts: exp(x) - y x (``log_input``), or x - y log x.

    Args:
        log_input: whether x is the logarithm of the rate.
        full: add Stirling's approximation of log(y!), for y above 1.
        eps: added to x before its logarithm is taken.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, log_input: bool = True, full: bool = False, eps: float = 1e-8, reduction: str = "mean") -> None:
        super().__init__(reduction)
        self.log_input: bool = log_input
        self.full: bool = full
        self.eps: float = eps

    def construct(self, input: Any, target: Any) -> Any:
        """The loss."""
        return ops.poisson_nll_loss(input, target, self.log_input, self.reduction, full=self.full, eps=self.eps)


class GaussianNLLLoss(LossBase):
    """The negative log likelihood of values whose mean and variance a network predicts.

    Args:
        full: add the constant log(2 pi) / 2.
        eps: the smallest variance.
        reduction: "mean", "sum" or "none".
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction)
        if not isinstance(full, bool) or not isinstance(eps, float):
            raise ArgumentError(f"GaussianNLLLoss: full must be a bool and eps a float, got {full!r} and {eps!r}.")
        if not eps > 0:
            raise AttributeValueError(f"GaussianNLLLoss: eps must be above 0, got {eps}.")
        self.full: bool = full
        self.eps: float = eps

    def construct(self, logits: Any, labels: Any, var: Any) -> Any:
        """The loss."""
        return ops.gaussian_nll_loss(logits, labels, var, self.full, self.eps, self.reduction)


class FocalLoss(LossBase):
    """Cross entropy that easy examples count less in: (1 - p)^gamma times -log p.

    Args:
        weight: one weight per class, or None.
        gamma: how much less.
        reduction: "mean", "sum" or "none".

    Inputs: logits [n, classes, ...], and labels [n, ...] or [n, 1, ...] of classes, or [n, classes, ...] of shares.

    Source: Lin et al. 2017 (arXiv:1708.02002)
    """

    def __init__(self, weight: Any = None, gamma: float = 2.0, reduction: str = "mean") -> None:
        super().__init__(reduction)
        need_numbers("FocalLoss", gamma=gamma)
        self.weight: Any = weight
        self.gamma: float = gamma

    def construct(self, logits: Any, labels: Any) -> Any:
        """The loss; with an axis of classes or of size 1 in the labels, the mean over places comes first."""
        if labels.ndim != logits.ndim or labels.ndim < 2:
            return ops.focal_loss(logits, labels, self.weight, self.gamma, self.reduction)
        shares = labels.shape[1] != 1
        if shares and labels.shape != logits.shape:
            both = operand_lines(logits._type, labels._type, names=("logits", "labels"))
            raise ShapeError("FocalLoss: labels of shares have the shape of the logits.", operands=both)
        logp = ops.log_softmax(logits, 1)
        terms = (1 - ops.exp(logp)) ** self.gamma * -logp
        if self.weight is not None:
            terms = terms * ops.reshape(self.weight, (-1, *(1 for _ in logits.shape[2:])))
        terms = terms * labels if shares else ops.gather_elements(terms, 1, labels)
        return self.get_loss(ops.mean(ops.reshape(terms, (*labels.shape[: 1 + shares], -1)), -1))


class DiceLoss(LossBase):
    """1 - 2 |x y| / (|x|^2 + |y|^2): how little two masks overlap.

    Args:
        smooth: added below the line, so that empty masks have a loss: 1.

    Inputs: probabilities and labels of one shape.

    Source: Milletari et al. 2016 (arXiv:1606.04797)

    Examples:
        >>> import msnb as ms
        >>> float(ms.nn.DiceLoss(smooth=0.0)(ms.Tensor([1.0, 0.0]), ms.Tensor([1.0, 0.0])))
        0.0
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        self.smooth = smooth

    def construct(self, logits: Any, label: Any) -> Any:
        """The loss."""
        over = ops.sum(logits * logits) + ops.sum(label * label) + self.smooth
        return 1 - 2 * ops.sum(logits * label) / over


class CosineSimilarity(Cell):
    """The cosine of the angle between rows.

    Args:
        dim: the axis of the rows. eps: the smallest product of their lengths.
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim: int = dim
        self.eps: float = eps

    def construct(self, x1: Any, x2: Any) -> Any:
        """The layer."""
        return ops.cosine_similarity(x1, x2, self.dim, self.eps)
