"""Metrics: numbers that say how good a network is, collected batch by batch.

    metric.clear();  metric.update(outputs, labels) per batch;  metric.eval()

Classes are given as indices or one-hot, predictions as scores per class (the largest counts) or, for binary questions,
as indices. Everything is counted in NumPy with 64 bits, so the order and size of batches do not matter.
Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.train.html (metrics)
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import Tensor

__all__ = [
    "Accuracy", "ConfusionMatrix", "F1", "Fbeta", "Loss", "MAE", "MSE", "Metric", "Precision", "Recall",
    "Top1CategoricalAccuracy", "Top5CategoricalAccuracy", "TopKCategoricalAccuracy", "get_metric_fn", "get_metrics",
    "names", "rearrange_inputs",
]  # fmt: skip

Array = NDArray[Any]


def as_array(x: Any) -> Array:
    """A NumPy array of a Tensor, array or list."""
    return x._host() if isinstance(x, Tensor) else np.asarray(x)


class Metric:
    """Base of metrics; subclasses write ``clear``, ``update`` and ``eval``.

    Attributes:
        indexes: which of the values handed to ``update`` it takes; None takes all.
    """

    def __init__(self) -> None:
        self.indexes: list[int] | None = None

    def set_indexes(self, indexes: Sequence[int]) -> Metric:
        """Take these of the values handed to ``update``, in this order."""
        if not isinstance(indexes, (list, tuple)) or any(type(i) is not int for i in indexes):
            raise AttributeValueError(f"set_indexes takes a list of ints, got {indexes!r}.")
        self.indexes = list(indexes)
        return self

    def chosen(self, inputs: tuple[Any, ...], count: int) -> list[Any]:
        """The ``count`` values this metric works on."""
        found = inputs if self.indexes is None else tuple(inputs[i] for i in self.indexes)
        if len(found) != count:
            raise AttributeValueError(f"{type(self).__name__}.update takes {count} values, got {len(found)}.")
        return list(found)

    def _convert_data(self, data: Tensor | Array | list[Any]) -> Array:
        """The NumPy array of what an ``update`` that users write was given. Raises TypeError."""
        if not isinstance(data, (Tensor, np.ndarray, list)):
            raise ArgumentError(f"{type(self).__name__} takes a Tensor, array or list, got {type(data).__name__}.")
        return as_array(data)

    def picked(self, inputs: tuple[Any, ...], count: int) -> list[Array]:
        """The ``count`` arrays this metric works on."""
        return [as_array(x) for x in self.chosen(inputs, count)]

    def __call__(self, *inputs: Any) -> Any:
        """The number of one batch alone."""
        self.clear()
        self.update(*inputs)
        return self.eval()

    def clear(self) -> None:
        """Start anew."""
        raise NotImplementedError

    def update(self, *inputs: Any) -> None:
        """Add a batch."""
        raise NotImplementedError

    def eval(self) -> Any:
        """The number over all batches since ``clear``."""
        raise NotImplementedError

    def need(self, count: float) -> None:
        """Raise RuntimeError where nothing was added yet."""
        if not count:
            raise RuntimeError(f"{type(self).__name__} has seen no data; call update(...) first.")


class _Mean(Metric):
    """The mean of one number per sample."""

    def __init__(self) -> None:
        super().__init__()
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._sum, self._count = 0.0, 0

    def add(self, values: Array) -> None:
        """One number per sample."""
        self._sum += float(np.sum(values, dtype=np.float64))
        self._count += int(np.size(values))

    def eval(self) -> float:
        """The mean."""
        self.need(self._count)
        return self._sum / self._count


class Loss(_Mean):
    """The mean of the loss over batches."""

    def update(self, *inputs: Any) -> None:
        """``loss`` of a batch (reduced to its mean)."""
        (loss,) = self.picked(inputs, 1)
        if loss.ndim > 1:
            raise misfit("Loss: the loss of a batch is one number, or one axis of them.", loss=loss)
        self.add(np.asarray(np.mean(loss, dtype=np.float64)))


class MAE(_Mean):
    """Mean absolute error."""

    def update(self, *inputs: Any) -> None:
        """``outputs, labels`` of one shape."""
        outputs, labels = _same_shape(self, *self.picked(inputs, 2))
        self.add(np.abs(outputs - labels))


class MSE(_Mean):
    """Mean squared error."""

    def update(self, *inputs: Any) -> None:
        """``outputs, labels`` of one shape."""
        outputs, labels = _same_shape(self, *self.picked(inputs, 2))
        self.add((outputs - labels) ** 2)


def need_bools(metric: Metric, **settings: Any) -> None:
    """Settings of a metric that are True or False; raises TypeError."""
    for name, value in settings.items():
        if not isinstance(value, bool):
            raise ArgumentError(f"{type(metric).__name__}: {name} must be a bool, got {value!r}.")


def misfit(sentence: str, **arrays: Array) -> ShapeError:
    """The error for arrays whose shapes do not fit."""
    return ShapeError(sentence, operands=[f"{name}: {list(array.shape)}" for name, array in arrays.items()])


def _same_shape(metric: Metric, outputs: Array, labels: Array) -> tuple[Array, Array]:
    if outputs.shape != labels.shape:
        sentence = f"{type(metric).__name__}: outputs and labels must have one shape."
        raise misfit(sentence, outputs=outputs, labels=labels)
    return outputs.astype(np.float64), labels.astype(np.float64)


def classes(metric: Metric, outputs: Array, labels: Array) -> tuple[Array, Array, int]:
    """Predicted classes, true classes (flat) and the number of classes."""
    if labels.shape == outputs.shape and outputs.ndim >= 2:  # one-hot
        labels = labels.argmax(1)
    if outputs.ndim != labels.ndim + 1 or (outputs.shape[0], *outputs.shape[2:]) != labels.shape:
        what = "outputs are scores [n, classes, ...], labels classes [n, ...] or one-hot."
        raise misfit(f"{type(metric).__name__}: {what}", outputs=outputs, labels=labels)
    count = outputs.shape[1]
    labels = labels.astype(np.int64).ravel()
    if labels.size and not (labels.min() >= 0 and labels.max() < count):
        raise AttributeValueError(f"{type(metric).__name__}: labels must be from 0 to {count - 1}, there is "
                                  f"{labels.min() if labels.min() < 0 else labels.max()}.")  # fmt: skip
    return outputs.argmax(1).ravel(), labels, count


class Accuracy(_Mean):
    """The fraction that is right.

    Args:
        eval_type: "classification"; "multilabel": a sample of 0/1 per label counts if all its labels are right.
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__()
        self._multilabel = _is_multilabel(eval_type)

    def update(self, *inputs: Any) -> None:
        """``outputs, labels``."""
        outputs, labels = self.picked(inputs, 2)
        if self._multilabel:
            outputs, labels = _same_shape(self, outputs, labels)
            self.add((outputs == labels).reshape(len(labels), -1).all(1))
        else:
            predicted, truth, _ = classes(self, outputs, labels)
            self.add(predicted == truth)


def _is_multilabel(eval_type: str) -> bool:
    if eval_type not in ("classification", "multilabel"):
        raise ArgumentError(f"eval_type must be 'classification' or 'multilabel', got {eval_type!r}.")
    return eval_type == "multilabel"


class TopKCategoricalAccuracy(_Mean):
    """The fraction whose true class is among the k best scores.

    Args:
        k: how many of the best.
    """

    def __init__(self, k: int) -> None:
        super().__init__()
        if isinstance(k, bool) or not isinstance(k, int):
            raise ArgumentError(f"k must be an int, got {k!r}.")
        if k < 1:
            raise AttributeValueError(f"k must be at least 1, got {k}.")
        self.k = k

    def update(self, *inputs: Any) -> None:
        """``outputs`` [n, classes], ``labels``."""
        outputs, labels = self.picked(inputs, 2)
        if labels.ndim == outputs.ndim >= 2:  # one-hot, of fewer classes too
            labels = labels.argmax(1)
        _, truth, count = classes(self, outputs, labels)
        scores = np.moveaxis(outputs, 1, -1).reshape(-1, count)
        best = np.argsort(-scores, axis=1, kind="stable")[:, : self.k]
        self.add((best == truth[:, None]).any(1))


class Top1CategoricalAccuracy(TopKCategoricalAccuracy):
    """``TopKCategoricalAccuracy(1)``."""

    def __init__(self) -> None:
        super().__init__(1)


class Top5CategoricalAccuracy(TopKCategoricalAccuracy):
    """``TopKCategoricalAccuracy(5)``."""

    def __init__(self) -> None:
        super().__init__(5)


class _Counts(Metric):
    """True positives, positive predictions and true members, per class; of "multilabel" per sample.

    Args:
        eval_type: "classification" or "multilabel" (0/1 per label).
    """

    def __init__(self, eval_type: str = "classification") -> None:
        super().__init__()
        self._multilabel = _is_multilabel(eval_type)
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._hits = self._predicted = self._members = np.zeros(0)

    def update(self, *inputs: Any) -> None:
        """``outputs, labels``."""
        outputs, labels = self.picked(inputs, 2)
        if self._multilabel:
            outputs, labels = _same_shape(self, outputs, labels)
            found, truth = outputs.reshape(-1, outputs.shape[-1]) != 0, labels.reshape(-1, labels.shape[-1]) != 0
        else:
            predicted, classes_, count = classes(self, outputs, labels)
            found, truth = np.eye(count, dtype=bool)[predicted], np.eye(count, dtype=bool)[classes_]
        parts = [(mask.sum(int(self._multilabel))).astype(np.float64) for mask in (found & truth, found, truth)]
        if self._multilabel:
            before = self._hits, self._predicted, self._members
            self._hits, self._predicted, self._members = map(np.concatenate, zip(before, parts))
            return
        if self._hits.size and self._hits.size != found.shape[1]:
            raise ShapeError(f"{type(self).__name__}: {found.shape[1]} classes after {self._hits.size} before.")
        first = not self._hits.size
        self._hits = parts[0] + (0 if first else self._hits)
        self._predicted = parts[1] + (0 if first else self._predicted)
        self._members = parts[2] + (0 if first else self._members)

    def _ratio(self, over: Array, average: bool, times: float = 1.0) -> Any:
        self.need(self._hits.size)
        per_class = np.divide(times * self._hits, over, out=np.zeros_like(self._hits), where=over > 0)
        return float(per_class.mean()) if average else per_class


class Precision(_Counts):
    """Of those predicted to be in a class, the fraction that is: per class (0 where none is predicted), or sample."""

    def eval(self, average: bool = False) -> Any:
        """One number per class, or their mean."""
        return self._ratio(self._predicted, average)


class Recall(_Counts):
    """Of those in a class, the fraction that is predicted to be: per class (0 where there are none), or sample."""

    def eval(self, average: bool = False) -> Any:
        """One number per class, or their mean."""
        return self._ratio(self._members, average)


class Fbeta(_Counts):
    """(1 + b^2) precision recall / (b^2 precision + recall), per class.

    Args:
        beta: how much recall weighs against precision.
    """

    def __init__(self, beta: float) -> None:
        super().__init__()
        if not beta > 0:
            raise AttributeValueError(f"beta must be above 0, got {beta!r}.")
        self._beta = float(beta)

    def eval(self, average: bool = False) -> Any:
        """One number per class, or their mean."""
        square = self._beta**2
        return self._ratio(square * self._members + self._predicted, average, 1 + square)


class F1(Fbeta):
    """``Fbeta(1)``: the harmonic mean of precision and recall."""

    def __init__(self) -> None:
        super().__init__(1.0)


class ConfusionMatrix(Metric):
    """How often class i (row) was taken for class j (column).

    Args:
        num_classes: how many classes.
        normalize: "no_norm" counts; "target" rows sum to 1; "prediction" columns sum to 1; "all" everything sums to 1.
        threshold: for outputs that are the probability of class 1 of two.
    """

    def __init__(self, num_classes: int, normalize: str = "no_norm", threshold: float = 0.5) -> None:
        super().__init__()
        if normalize not in ("no_norm", "target", "prediction", "all"):
            raise AttributeValueError(f"normalize must be no_norm, target, prediction or all, got {normalize!r}.")
        self.num_classes: int = num_classes
        if not isinstance(threshold, float):
            raise ArgumentError(f"ConfusionMatrix: threshold must be a float, got {threshold!r}.")
        self.normalize = normalize
        self.threshold: float = threshold
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._counts = np.zeros((self.num_classes, self.num_classes))

    def update(self, *inputs: Any) -> None:
        """``outputs`` (scores, probabilities of class 1, or classes), ``labels``."""
        outputs, labels = self.picked(inputs, 2)
        if outputs.ndim == labels.ndim and outputs.dtype.kind == "f":
            outputs = (outputs >= self.threshold).astype(np.int64)
        elif outputs.ndim == labels.ndim + 1:
            outputs = outputs.argmax(1)
        pairs = np.stack([labels.astype(np.int64).ravel(), outputs.astype(np.int64).ravel()])
        if pairs.size and not (pairs.min() >= 0 and pairs.max() < self.num_classes):
            raise AttributeValueError(f"ConfusionMatrix: classes must be from 0 to {self.num_classes - 1}.")
        np.add.at(self._counts, (pairs[0], pairs[1]), 1)

    def eval(self) -> Array:
        """The matrix, as NumPy array."""
        self.need(self._counts.sum())
        axis: Any = {"target": 1, "prediction": 0, "all": None}.get(self.normalize, ())
        if self.normalize == "no_norm":
            return self._counts.copy()
        total = self._counts.sum(axis=axis, keepdims=True)
        shares: Array = np.divide(self._counts, total, out=np.zeros_like(self._counts), where=total > 0)
        return shares


def rearrange_inputs(func: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator for ``update`` of metrics that users write: it is handed the values that ``set_indexes`` chose."""

    @functools.wraps(func)
    def update(self: Metric, *inputs: Any) -> Any:
        return func(self, *(inputs if not self.indexes else [inputs[i] for i in self.indexes]))

    return update


NAMES: dict[str, Callable[..., Any]] = {
    "accuracy": Accuracy, "acc": Accuracy, "loss": Loss, "mae": MAE, "mse": MSE, "precision": Precision,
    "recall": Recall, "f1": F1, "F1": F1, "fbeta": Fbeta, "topk": TopKCategoricalAccuracy,
    "top_1_accuracy": Top1CategoricalAccuracy, "top_5_accuracy": Top5CategoricalAccuracy,
    "confusion_matrix": ConfusionMatrix,
}  # fmt: skip


def names() -> list[str]:
    """The names that ``get_metric_fn`` and ``Model(metrics={...})`` know."""
    return list(NAMES)


def get_metric_fn(name: str, *args: Any, **kwargs: Any) -> Any:
    """The metric of this name.

    Examples:
        >>> import msnb as ms
        >>> ms.train.get_metric_fn("topk", 3).k
        3
    """
    if name not in NAMES:
        raise AttributeValueError(f"there is no metric {name!r}; legal: {', '.join(NAMES)}.")
    return NAMES[name](*args, **kwargs)


def get_metrics(metrics: Any) -> dict[str, Metric] | None:
    """What ``Model(metrics=)`` makes of its argument: metrics by name; None stays None."""
    return None if metrics is None else as_metrics(metrics)


def as_metrics(metrics: Any) -> dict[str, Metric]:
    """What ``Model(metrics=)`` takes: None, names, or a dict from names to metrics (or their classes)."""
    if metrics is None:
        return {}
    if isinstance(metrics, str) or not isinstance(metrics, Iterable):
        raise ArgumentError(f"metrics must be a set of names or a dict of metrics, got {metrics!r}.")
    if not isinstance(metrics, dict):
        ordered = sorted(metrics) if isinstance(metrics, set) else metrics
        return {name: get_metric_fn(name) for name in ordered}
    # by what a metric can do, not by its class: users write their own
    found = {name: metric() if isinstance(metric, type) else metric for name, metric in metrics.items()}
    for name, metric in found.items():
        if not all(callable(getattr(metric, part, None)) for part in ("clear", "update", "eval")):
            raise ArgumentError(f"metric {name!r} is a {type(metric).__name__} without clear, update and eval.")
    return found
