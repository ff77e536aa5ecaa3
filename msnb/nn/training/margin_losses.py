"""Losses by margins between classes, by the overlap of several masks, and by some classes drawn of many.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.nn.html (loss functions)
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import Tensor
from msnb.nn.cells.cell import Cell
from msnb.nn.training.loss import LossBase

__all__ = [
    "MultiClassDiceLoss", "MultiMarginLoss", "MultilabelMarginLoss", "SampledSoftmaxLoss",
    "TripletMarginWithDistanceLoss",
]  # fmt: skip
_ACTIVATIONS: dict[str, Any] = {
    "softmax": lambda x: ops.softmax(x, -1), "logsoftmax": lambda x: ops.log_softmax(x, -1), "relu": ops.relu,
    "relu6": ops.relu6, "tanh": ops.tanh, "sigmoid": ops.sigmoid,
}  # fmt: skip


class MultiMarginLoss(LossBase):
    """mean over i other than the label y of max(0, margin - x[y] + x[i]) ** p.

    Args:
        p: 1 or 2.
        margin: how much the right score should be above the others.
        reduction: "mean", "sum" or "none".
        weight: of each class, or None.

    Inputs: scores [n, classes], labels [n], and a weight where there is none above.

    Examples:
        >>> import msnb as ms
        >>> round(float(ms.nn.MultiMarginLoss()(ms.Tensor([[0.1, 0.3, 0.6]]), ms.Tensor([1]))), 4)
        0.7
    """

    def __init__(self, p: int = 1, margin: float = 1.0, reduction: str = "mean", weight: Any = None) -> None:
        super().__init__(reduction)
        if p not in (1, 2):
            raise AttributeValueError(f"MultiMarginLoss: p must be 1 or 2, got {p!r}.")
        self.p: int = p
        self.margin: float = float(margin)
        self.weight: Any = weight

    def construct(self, x: Any, target: Any, weight: Any = None) -> Any:
        """The loss."""
        weight = weight if self.weight is None else self.weight
        return ops.multi_margin_loss(x, target, self.p, self.margin, weight, self.reduction)


class MultilabelMarginLoss(LossBase):
    """The sum over labels y and all other classes i of max(0, 1 - x[y] + x[i]) / classes.

    Args:
        reduction: "mean", "sum" or "none".

    Inputs: scores [n, classes] or [classes], and of that shape the labels of each sample, up to the first -1.

    Examples:
        >>> import msnb as ms
        >>> scores, labels = ms.Tensor([[0.1, 0.2, 0.4, 0.8]]), ms.Tensor([[3, 0, -1, 1]])
        >>> round(float(ms.nn.MultilabelMarginLoss()(scores, labels)), 4)
        0.85
    """

    def construct(self, x: Any, target: Any) -> Any:
        """The loss."""
        if x.ndim not in (1, 2) or x.shape != target.shape:
            operands = [f"scores: {x._type!r}", f"labels: {target._type!r}"]
            raise ShapeError("MultilabelMarginLoss: scores and labels have one shape [n, classes].", operands=operands)
        classes = x.shape[-1]
        counts = ops.cumprod(ops.cast(target >= 0, x.dtype), -1)
        labels = ops.one_hot(ops.where(counts > 0, target, 0), classes).astype(x.dtype) * ops.expand_dims(counts, -1)
        others = 1.0 - ops.amax(labels, -2)
        own = (labels * ops.expand_dims(x, -2)).sum(-1)
        lacks = ops.relu(1.0 - ops.expand_dims(own, -1) + ops.expand_dims(x, -2))
        loss = (lacks * ops.expand_dims(counts, -1) * ops.expand_dims(others, -2)).sum((-2, -1)) / classes
        return self.get_loss(loss)


class TripletMarginWithDistanceLoss(LossBase):
    """max(0, distance(x, positive) - distance(x, negative) + margin).

    Args:
        distance_function: of two tensors; the Euclidean distance of rows by default.
        swap: take the distance of positive and negative where it is smaller than that of x and negative.
        reduction: "mean", "sum" or "none".
        margin: a float.

    Raises:
        TypeError: ``margin`` is no float, ``swap`` no bool.

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[0.0, 0.0]])
        >>> float(ms.nn.TripletMarginWithDistanceLoss()(x, ms.Tensor([[3.0, 4.0]]), ms.Tensor([[0.0, 2.0]])))
        4.0
    """

    def __init__(
        self, distance_function: Any = None, swap: bool = False, reduction: str = "mean", margin: float = 1.0
    ) -> None:
        super().__init__(reduction)
        if not isinstance(margin, float) or not isinstance(swap, bool):
            raise TypeError(f"TripletMarginWithDistanceLoss: margin is a float, swap a bool, got {margin!r}, {swap!r}.")
        self.distance_function: Any = _euclidean if distance_function is None else distance_function
        self.swap: bool = swap
        self.margin: float = margin

    def construct(self, x: Any, positive: Any, negative: Any) -> Any:
        """The loss."""
        near, far = self.distance_function(x, positive), self.distance_function(x, negative)
        if self.swap:
            far = ops.minimum(far, self.distance_function(positive, negative))
        return self.get_loss(ops.relu(near - far + self.margin))


def _euclidean(x: Any, y: Any) -> Any:
    if x.ndim < 2 and y.ndim < 2:
        raise ShapeError("TripletMarginWithDistanceLoss takes rows [n, size].", operands=[f"x: {x._type!r}"])
    return ops.norm(x - y, dim=1)


class MultiClassDiceLoss(LossBase):
    """The mean over classes of 1 - 2 sum(x y) / (sum(x^2) + sum(y^2)): how little masks overlap.

    Args:
        weights: [classes, ...], multiplied with the losses of classes; or None.
        ignore_indiex: a class that is left out (of the sum; the mean is over all).
        activation: of the scores: "softmax", "logsoftmax", "relu", "relu6", "tanh", "sigmoid", a Cell or None.

    Inputs: scores and labels, [n, classes, ...].

    Raises:
        TypeError: weights are no Tensor, the activation no Cell. ValueError: another word, or weights not of two axes.

    Examples:
        >>> import msnb as ms
        >>> x = ms.Tensor([[1.0, 0.0], [0.0, 1.0]])
        >>> round(float(ms.nn.MultiClassDiceLoss(activation=None)(x, x)), 4)
        0.0
    """

    def __init__(self, weights: Any = None, ignore_indiex: int | None = None, activation: Any = "softmax") -> None:
        super().__init__()
        if weights is not None and not isinstance(weights, Tensor):
            raise ArgumentError(f"MultiClassDiceLoss: weights must be a Tensor, not {type(weights).__name__}.")
        if weights is not None and weights.ndim != 2:
            raise AttributeValueError(f"MultiClassDiceLoss: weights must have 2 axes, got {weights.ndim}.")
        if isinstance(activation, str) and activation not in _ACTIVATIONS:
            raise AttributeValueError(f"activation={activation!r}; legal: {', '.join(_ACTIVATIONS)}, a Cell or None.")
        if not (activation is None or isinstance(activation, (str, Cell))):
            raise ArgumentError(f"MultiClassDiceLoss: activation is a word or Cell, not {type(activation).__name__}.")
        self.weights: Any = weights
        self.ignore_indiex: int | None = ignore_indiex
        self.activation: Any = activation

    def construct(self, logits: Any, label: Any) -> Any:
        """The loss."""
        if logits.shape != label.shape or logits.ndim < 2:
            operands = [f"logits: {logits._type!r}", f"label: {label._type!r}"]
            raise ShapeError("MultiClassDiceLoss takes scores and labels [n, classes, ...].", operands=operands)
        act, classes = self.activation, label.shape[1]
        total: Any = 0.0
        if act is not None:
            logits = _ACTIVATIONS[act](logits) if isinstance(act, str) else act(logits)
        if self.weights is not None and self.weights.shape[0] != classes:
            raise AttributeValueError(f"MultiClassDiceLoss: {self.weights.shape[0]} weights for {classes} classes.")
        for i in range(classes):
            if i != self.ignore_indiex:
                x, y = logits[:, i], label[:, i]
                loss = 1 - 2 * ops.sum(x * y) / (ops.sum(x * x) + ops.sum(y * y) + 1e-5)
                total = total + (loss if self.weights is None else loss * self.weights[i])
        return total / classes


class SampledSoftmaxLoss(LossBase):
    """Softmax cross entropy over the true classes and some drawn ones, for very many classes.

    Args:
        num_sampled: classes to draw.
        num_classes: classes there are.
        num_true: true classes of a sample.
        sampled_values: (classes, how often the true ones and these are expected) in place of a draw.
        remove_accidental_hits: draws that are true classes are drawn again.
        seed: of the draw; 0 for the program's own.
        reduction: "none", "mean" or "sum".

    Inputs: weights [classes, size], biases [classes], labels [n] or [n, num_true], inputs [n, size].

    Raises:
        ValueError: a number outside its range. TypeError: ``sampled_values`` is no tuple.

    Source: Jean et al., "On Using Very Large Target Vocabulary for Neural Machine Translation", 2015

    Examples:
        >>> import msnb as ms
        >>> drawn = (ms.Tensor([2]), ms.Tensor([[1.0]]), ms.Tensor([1.0]))
        >>> loss = ms.nn.SampledSoftmaxLoss(1, 3, sampled_values=drawn)
        >>> found = loss(ms.ops.zeros((3, 2)), ms.ops.zeros((3,)), ms.Tensor([0]), ms.ops.ones((1, 2)))
        >>> round(float(found), 4)
        0.6931
    """

    def __init__(
        self, num_sampled: int, num_classes: int, num_true: int = 1, sampled_values: Any = None,
        remove_accidental_hits: bool = True, seed: int = 0, reduction: str = "none",
    ) -> None:  # fmt: skip
        super().__init__(reduction)
        if not (1 <= num_true <= num_classes and num_sampled <= num_classes) or seed < 0:
            raise AttributeValueError("SampledSoftmaxLoss: num_true (from 1 on) and num_sampled are at most "
                                      "num_classes, seed is not below 0.")  # fmt: skip
        if sampled_values is not None and not isinstance(sampled_values, (list, tuple)):
            raise ArgumentError(f"sampled_values must be a tuple of three, not {type(sampled_values).__name__}.")
        if sampled_values is not None and len(sampled_values) != 3:
            raise AttributeValueError(f"sampled_values are three tensors, got {len(sampled_values)}.")
        self.num_true: int = num_true
        self.sampled_values: Any = sampled_values
        draw: Any = ops.UniformCandidateSampler  # type: ignore[attr-defined]
        self.sampler: Any = draw(num_true, num_sampled, True, num_classes, seed, remove_accidental_hits)

    def construct(self, weights: Any, biases: Any, labels: Any, logits: Any) -> Any:
        """The loss."""
        labels = ops.reshape(ops.cast(labels, "int32"), (-1, self.num_true))
        drawn = self.sampler(labels) if self.sampled_values is None else self.sampled_values
        sampled, expected, sampled_expected = drawn
        rows = ops.gather(weights, labels, 0)
        true = (ops.expand_dims(logits, 1) * rows).sum(-1) + ops.gather(biases, labels, 0) - ops.log(expected)
        others = ops.matmul(logits, ops.gather(weights, sampled, 0).swapaxes(0, 1)) + ops.gather(biases, sampled, 0)
        scores = ops.softmax(ops.cat([true, others - ops.log(sampled_expected)], 1), 1)
        return self.get_loss(-ops.log(scores[:, : self.num_true] + 1e-20).sum(1) / self.num_true)
