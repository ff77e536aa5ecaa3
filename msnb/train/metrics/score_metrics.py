"""Metrics of sentences (BLEU, perplexity), of vectors (cosine similarity) and of scores (ROC and the area under it).

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.train.html (metrics); Papineni et al., "BLEU: a
Method for Automatic Evaluation of Machine Translation", 2002
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.train.metrics.metric import Array, Metric, as_array, misfit, need_bools

__all__ = ["ROC", "BleuScore", "CosineSimilarity", "Perplexity", "auc"]


def need_int(owner: str, what: str, value: Any) -> int:
    """``value``, an int. Raises TypeError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{owner}: {what} must be an int, got {value!r}.")
    return value


class BleuScore(Metric):
    """How many runs of words a translation shares with those of people, from 0 to 1.

    Args:
        n_gram: the longest runs, 1 to 4.
        smooth: every count is one larger, so that short corpora are not 0 at once.

    Raises:
        TypeError: ``n_gram`` is no int or ``smooth`` no bool. ValueError: ``n_gram`` outside 1 to 4.

    Examples:
        >>> import msnb as ms
        >>> metric = ms.train.BleuScore(2)
        >>> metric.update([["a", "small", "cat"]], [[["a", "small", "dog"], ["the", "cat"]]])
        >>> round(float(metric.eval()), 4)
        0.7071
    """

    def __init__(self, n_gram: int = 4, smooth: bool = False) -> None:
        super().__init__()
        if not 1 <= need_int("BleuScore", "n_gram", n_gram) <= 4:
            raise AttributeValueError(f"BleuScore: n_gram must be from 1 to 4, got {n_gram}.")
        need_bools(self, smooth=smooth)
        self.n_gram: int = n_gram
        self.smooth: bool = smooth
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._shared, self._said = np.zeros(self.n_gram), np.zeros(self.n_gram)
        self._length = self._reference = self._corpora = 0

    def update(self, *inputs: Any) -> None:
        """``candidates`` (lists of words), ``references`` (for each candidate a list of lists of words)."""
        candidates, references = self.chosen(inputs, 2)
        if len(candidates) != len(references):
            raise AttributeValueError(f"BleuScore: {len(candidates)} candidates, but {len(references)} references.")
        for words, people in zip(candidates, references):
            self._length += len(words)
            self._reference += min((len(p) for p in people), key=lambda size: abs(size - len(words)))
            most: Counter[Any] = Counter()
            for p in people:
                most |= self._runs(p)
            said = self._runs(words)
            for counts, into in ((said & most, self._shared), (said, self._said)):
                for run, times in counts.items():
                    into[len(run) - 1] += times
        self._corpora += 1

    def _runs(self, words: Sequence[Any]) -> Counter[Any]:
        sizes = range(1, self.n_gram + 1)
        return Counter(tuple(words[i : i + n]) for n in sizes for i in range(len(words) - n + 1))

    def eval(self) -> Any:
        """The score over all corpora since ``clear``."""
        self.need(self._corpora)
        if self._shared.min() == 0:
            return np.array(0.0)
        more = 1.0 if self.smooth else 0.0
        precision = (self._shared + more) / (self._said + more)
        short = 1.0 if self._length > self._reference else math.exp(1.0 - self._reference / self._length)
        return short * np.exp(np.log(precision).mean())


class Perplexity(Metric):
    """e to the mean of -log of the probability of the right word.

    Args:
        ignore_label: a label that does not count.

    Raises:
        TypeError: ``ignore_label`` is no int.

    Examples:
        >>> import msnb as ms
        >>> metric = ms.train.Perplexity()
        >>> metric.update(ms.Tensor([[0.25, 0.75], [0.25, 0.75]]), ms.Tensor([0, 0]))
        >>> round(metric.eval(), 4)
        4.0
    """

    ignore_label: int | None

    def __init__(self, ignore_label: int | None = None) -> None:
        super().__init__()
        self.ignore_label = None if ignore_label is None else need_int("Perplexity", "ignore_label", ignore_label)
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._loss, self._words = 0.0, 0

    def update(self, *inputs: Any) -> None:
        """``probabilities`` [..., words], ``labels`` [...]."""
        scores, labels = self.picked(inputs, 2)
        if scores.ndim < 1 or labels.size * scores.shape[-1] != scores.size:
            sentence = "Perplexity: probabilities have one axis more than labels."
            raise misfit(sentence, probabilities=scores, labels=labels)
        labels = labels.astype(np.int64).ravel()
        counted = np.ones(labels.shape, bool) if self.ignore_label is None else labels != self.ignore_label
        right = scores.reshape(-1, scores.shape[-1])[counted, labels[counted]]
        self._loss -= float(np.log(np.maximum(right, 1e-10), dtype=np.float64).sum())
        self._words += int(counted.sum())

    def eval(self) -> float:
        """The number over all batches since ``clear``."""
        self.need(self._words)
        return math.exp(self._loss / self._words)


class CosineSimilarity(Metric):
    """The products of all pairs of rows, as they are ("dot") or of rows of length 1 ("cosine").

    Args:
        similarity: "cosine" or "dot".
        reduction: "none", or the "sum" or "mean" of each row.
        zero_diagonal: a row has 0 with itself.

    Raises:
        ValueError: another word.

    Examples:
        >>> import msnb as ms
        >>> metric = ms.train.CosineSimilarity("dot")
        >>> metric.update(ms.Tensor([[1.0, 0.0], [3.0, 4.0]]))
        >>> metric.eval().tolist()
        [[0.0, 3.0], [3.0, 0.0]]
    """

    def __init__(self, similarity: str = "cosine", reduction: str = "none", zero_diagonal: bool = True) -> None:
        super().__init__()
        need_bools(self, zero_diagonal=zero_diagonal)
        for what, word, legal in (
            ("similarity", similarity, ("dot", "cosine")), ("reduction", reduction, ("none", "sum", "mean")),
        ):  # fmt: skip
            if not isinstance(word, str):
                raise ArgumentError(f"CosineSimilarity: {what} must be a str, got {word!r}.")
            if word not in legal:
                raise AttributeValueError(f"CosineSimilarity: {what}={word!r}; legal: {', '.join(legal)}.")
        self.similarity: str = similarity
        self.reduction: str = reduction
        self.zero_diagonal: bool = zero_diagonal
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._products: Array | None = None

    def update(self, *inputs: Any) -> None:
        """``rows`` [n, size]; the last batch counts."""
        (rows,) = self.picked(inputs, 1)
        if self.similarity == "cosine":
            rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        self._products = rows @ rows.T

    def eval(self) -> Array:
        """The matrix, or one number per row."""
        self.need(self._products is not None)
        products = np.array(self._products)
        if self.zero_diagonal:
            np.fill_diagonal(products, 0)
        reduced: Array = {"none": lambda x: x, "sum": lambda x: x.sum(-1), "mean": lambda x: x.mean(-1)}[
            self.reduction
        ](products)
        return reduced


class ROC(Metric):
    """The receiver operating characteristic: shares of wrong and of right alarms at every threshold.

    Args:
        class_num: how many classes, for scores of each; None or 1 for one score.
        pos_label: the label that is an alarm, 1 by default; None for several classes.

    Raises:
        TypeError: not an int.

    Examples:
        >>> import msnb as ms
        >>> metric = ms.train.ROC()
        >>> metric.update(ms.Tensor([0.1, 0.4, 0.8]), ms.Tensor([0, 1, 1]))
        >>> wrong, right, thresholds = metric.eval()
        >>> ms.train.auc(wrong, right)
        1.0
    """

    class_num: int | None
    pos_label: int | None

    def __init__(self, class_num: int | None = None, pos_label: int | None = None) -> None:
        super().__init__()
        self.class_num = None if class_num is None else need_int("ROC", "class_num", class_num)
        self.pos_label = None if pos_label is None else need_int("ROC", "pos_label", pos_label)
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._scores: Array = np.zeros((0, 1))
        self._labels: Array = np.zeros(0)

    def update(self, *inputs: Any) -> None:
        """``scores`` [n] or [n, classes], ``labels`` [n]; the last batch counts."""
        scores, labels = self.picked(inputs, 2)
        if scores.ndim == labels.ndim:
            if self.class_num not in (None, 1):
                raise AttributeValueError(f"ROC: one score for a label is class_num=1, not {self.class_num}.")
            self.class_num, self.pos_label = 1, 1 if self.pos_label is None else self.pos_label
            scores = scores.reshape(-1, 1)
        elif scores.ndim == labels.ndim + 1:
            if self.pos_label is not None:
                raise AttributeValueError("ROC: pos_label is for one score; of several classes each is one in turn.")
            if self.class_num != scores.shape[1]:
                raise AttributeValueError(f"ROC: class_num={self.class_num}, but scores of {scores.shape[1]} classes.")
            scores = np.moveaxis(scores, 1, -1).reshape(-1, scores.shape[1])
        else:
            sentence = "ROC: scores have the shape of labels, or one axis of classes more."
            raise misfit(sentence, scores=scores, labels=labels)
        self._scores, self._labels = scores, labels.ravel()

    def eval(self) -> Any:
        """(shares of wrong alarms, shares of right alarms, thresholds); for classes, a list of each.

        Raises:
            ValueError: no sample of a class, or of its opposite.
        """
        self.need(self._labels.size)
        if self.class_num == 1:
            return _curve(self._scores[:, 0], self._labels == self.pos_label)
        curves = [_curve(self._scores[:, c], self._labels == c) for c in range(self._scores.shape[1])]
        return tuple(map(list, zip(*curves)))


def _curve(scores: Array, truth: Array) -> tuple[Array, Array, Array]:
    order = np.argsort(-scores)
    scores, truth = scores[order], truth[order].astype(np.int64)
    last = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)  # of equal scores
    right = np.append(0, truth.cumsum()[last])
    wrong = np.append(0, 1 + last) - right
    for what, most in (("negative", wrong[-1]), ("positive", right[-1])):
        if not most:
            raise AttributeValueError(f"ROC: there is no {what} sample, its share has no meaning.")
    return wrong / wrong[-1], right / right[-1], np.append(scores[last][:1] + 1, scores[last])


def auc(x: Any, y: Any, reorder: bool = False) -> Any:
    """The area under a curve by trapezoids, as of ROC's shares.

    Args:
        x, y: arrays [n] or [n, 1], n at least 2.
        reorder: sort the points by ``x``; else ``x`` must rise or fall.

    Raises:
        TypeError: no arrays. ValueError: other shapes, or an ``x`` that rises and falls.

    Examples:
        >>> import numpy as np
        >>> import msnb as ms
        >>> ms.train.auc(np.array([0.0, 0.5, 1.0]), np.array([0.0, 1.0, 1.0]))
        0.75
    """
    if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
        raise TypeError(f"auc takes NumPy arrays, got {type(x).__name__} and {type(y).__name__}.")
    x, y = as_array(x), as_array(y)
    if any(a.ndim != 1 and a.shape[1:] != (1,) for a in (x, y)) or len(x) != len(y) or len(x) < 2:
        raise AttributeValueError(f"auc takes two arrays of one length above 1, got {x.shape} and {y.shape}.")
    x, y = x.ravel(), y.ravel()
    if reorder:
        order = np.lexsort((y, x))
        x, y = x[order], y[order]
    steps = np.diff(x)
    if (steps < 0).any() and (steps > 0).any():
        raise AttributeValueError("auc: x must rise or fall; reorder=True sorts the points.")
    area = float((steps * (y[1:] + y[:-1]) / 2).sum())
    return -area if (steps < 0).any() else area
