"""Metrics of masks: overlap (Dice), distances of surfaces, ratios of the confusion matrix; and how much a model looks
at each part of an image (occlusion).

The surface of a mask is where a cross of one cell in each direction does not fit into it. Distances are those from each
cell of a surface to the next one of the other: all pairs are compared, some million at a time.
Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.train.html (metrics)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Tensor
from msnb.nn.cells.cell import Cell
from msnb.train.metrics.metric import Array, Metric, as_array, misfit, need_bools
from msnb.train.metrics.score_metrics import need_int

__all__ = [
    "ConfusionMatrixMetric", "Dice", "HausdorffDistance", "MeanSurfaceDistance", "OcclusionSensitivity",
    "RootMeanSquareDistance",
]  # fmt: skip
_PAIRS = 2**22  # of cells, compared at a time


class Dice(Metric):
    """2 sum(outputs labels) / (sum(outputs^2) + sum(labels^2)) of each batch, over the number of samples.

    Args:
        smooth: added below, against empty masks.

    Raises:
        ValueError: ``smooth`` is not above 0.

    Examples:
        >>> import msnb as ms
        >>> metric = ms.train.Dice()
        >>> metric.update(ms.Tensor([[1.0, 0.0]]), ms.Tensor([[1.0, 1.0]]))
        >>> round(metric.eval(), 4)
        0.6667
    """

    def __init__(self, smooth: float = 1e-5) -> None:
        super().__init__()
        if not isinstance(smooth, float):
            raise ArgumentError(f"Dice: smooth must be a float, got {smooth!r}.")
        if not smooth > 0:
            raise AttributeValueError(f"Dice: smooth must be above 0, got {smooth}.")
        self.smooth: float = smooth
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._sum, self._samples = 0.0, 0

    def update(self, *inputs: Any) -> None:
        """``outputs, labels`` of one shape."""
        outputs, labels = (x.astype(np.float64) for x in _of_one_shape(self, *self.picked(inputs, 2)))
        below = float((outputs**2).sum() + (labels**2).sum()) + self.smooth
        self._sum += 2 * float((outputs * labels).sum()) / below
        self._samples += labels.shape[0]

    def eval(self) -> float:
        """The mean."""
        self.need(self._samples)
        return self._sum / self._samples


def _of_one_shape(metric: Metric, outputs: Array, labels: Array) -> tuple[Array, Array]:
    if outputs.shape != labels.shape or not outputs.size:
        what = "outputs and labels must have one shape, and not be empty."
        raise misfit(f"{type(metric).__name__}: {what}", outputs=outputs, labels=labels)
    return outputs, labels


# ---- surfaces ----

_DISTANCES: Mapping[str, Callable[[Array], Array]] = MappingProxyType({
    "euclidean": lambda steps: np.sqrt((steps.astype(np.float64) ** 2).sum(-1)),
    "chessboard": lambda steps: np.abs(steps).max(-1),
    "taxicab": lambda steps: np.abs(steps).sum(-1),
})  # fmt: skip


def surface(mask: Array) -> Array:
    """The cells of a mask with a neighbour, along an axis, that is outside of it."""
    inside = mask.copy()
    for axis in range(mask.ndim):
        wide = np.pad(mask, [(1, 1) if i == axis else (0, 0) for i in range(mask.ndim)])
        size = mask.shape[axis]
        inside &= np.take(wide, range(size), axis) & np.take(wide, range(2, size + 2), axis)
    return mask & ~inside


class SurfaceMetric(Metric):
    """What metrics of two surfaces share; the last batch counts.

    Args:
        distance_metric: "euclidean", "chessboard" (the longest side) or "taxicab" (the sum of sides).

    Raises:
        ValueError: another word.
    """

    def __init__(self, distance_metric: str) -> None:
        super().__init__()
        if distance_metric not in _DISTANCES:
            name = type(self).__name__
            raise AttributeValueError(f"{name}: distance_metric={distance_metric!r}; legal: {', '.join(_DISTANCES)}.")
        self.distance_metric: str = distance_metric
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._surfaces: tuple[Array, Array] | None = None

    def update(self, *inputs: Any) -> None:
        """``outputs``, ``labels``: arrays of labels of one shape; ``label``: the number whose cells are the masks."""
        outputs, labels, label = self.chosen(inputs, 3)
        outputs, labels = _of_one_shape(self, as_array(outputs), as_array(labels))
        if isinstance(label, bool) or not isinstance(label, (int, float)):
            raise ArgumentError(f"{type(self).__name__}: the label must be an int or float, got {label!r}.")
        masks = [x if x.dtype == bool else x == label for x in (outputs, labels)]
        if not any(mask.any() for mask in masks):
            raise AttributeValueError(f"{type(self).__name__}: label {label} is neither in outputs nor in labels.")
        first, second = self.cut(masks)
        self._surfaces = surface(first), surface(second)

    def cut(self, masks: list[Array]) -> list[Array]:
        """The parts of the masks that count."""
        return masks

    def distances(self, back: bool = False) -> Array:
        """From each cell of the surface of outputs to the next one of labels, or back: none of an empty surface,
        infinity to one."""
        self.need(self._surfaces is not None)
        assert self._surfaces is not None
        here, there = (np.argwhere(s) for s in (self._surfaces[::-1] if back else self._surfaces))
        if not len(there):
            return np.full(len(here), np.inf)
        rows = max(1, _PAIRS // (len(there) * max(1, here.shape[1])))
        measure = _DISTANCES[self.distance_metric]
        parts = [measure(here[i : i + rows, None] - there[None]).min(1) for i in range(0, len(here), rows)]
        return np.concatenate(parts) if parts else np.zeros(0)


class HausdorffDistance(SurfaceMetric):
    """The longest of the distances between two surfaces.

    Args:
        distance_metric: "euclidean", "chessboard" or "taxicab".
        percentile: of the distances, in place of the longest; from 0 to 100.
        directed: from outputs to labels alone, else the longer of both ways.
        crop: compute within the smallest box around both masks, without its axes of one cell.

    Raises:
        ValueError: another word, or a percentile outside 0 to 100. TypeError: settings of another kind.

    Examples:
        >>> import msnb as ms
        >>> metric = ms.train.HausdorffDistance()
        >>> metric.update(ms.Tensor([[1, 0, 0], [0, 0, 0]]), ms.Tensor([[0, 0, 1], [0, 0, 0]]), 1)
        >>> float(metric.eval())
        2.0
    """

    def __init__(
        self, distance_metric: str = "euclidean", percentile: float | None = None, directed: bool = False,
        crop: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(distance_metric)
        need_bools(self, directed=directed, crop=crop)
        if percentile is not None and not isinstance(percentile, float):
            raise ArgumentError(f"HausdorffDistance: percentile must be a float, got {percentile!r}.")
        if percentile is not None and not 0 <= percentile <= 100:
            raise AttributeValueError(f"HausdorffDistance: percentile must be from 0 to 100, got {percentile}.")
        self.percentile: float | None = percentile
        self.directed: bool = directed
        self.crop: bool = crop

    def cut(self, masks: list[Array]) -> list[Array]:
        """Both, within the smallest box."""
        if not self.crop:
            return masks
        cells = np.argwhere(masks[0] | masks[1])
        box = tuple(slice(low, high + 1) for low, high in zip(cells.min(0), cells.max(0)))
        return [np.atleast_1d(mask[box].squeeze()) for mask in masks]

    def eval(self) -> Any:
        """The distance; infinity where a mask is empty."""
        there = self._longest(self.distances())
        return there if self.directed else max(there, self._longest(self.distances(back=True)))

    def _longest(self, distances: Array) -> Any:
        if not distances.size:
            return np.inf
        return np.percentile(distances, self.percentile) if self.percentile else distances.max()


class MeanSurfaceDistance(SurfaceMetric):
    """The mean of the distances from the surface of outputs to that of labels.

    Args:
        symmetric: the mean of both ways.
        distance_metric: "euclidean", "chessboard" or "taxicab".

    Raises:
        ValueError: another word. TypeError: ``symmetric`` is no bool.

    Examples:
        >>> import msnb as ms
        >>> metric = ms.train.MeanSurfaceDistance()
        >>> metric.update(ms.Tensor([[1, 1, 0], [0, 0, 0]]), ms.Tensor([[0, 0, 1], [0, 0, 0]]), 1)
        >>> float(metric.eval())
        1.5
    """

    def __init__(self, symmetric: bool = False, distance_metric: str = "euclidean") -> None:
        super().__init__(distance_metric)
        need_bools(self, symmetric=symmetric)
        self.symmetric: bool = symmetric

    def eval(self) -> Any:
        """The distance; infinity where a mask is empty."""
        ways = [self.mean(self.distances(back)) for back in ((False, True) if self.symmetric else (False,))]
        return self.both(ways) if self.symmetric else ways[0]

    def mean(self, distances: Array) -> Any:
        """Of one way."""
        return distances.mean() if distances.size else np.inf

    def both(self, ways: list[Any]) -> Any:
        """Of both ways."""
        return np.mean(ways)


class RootMeanSquareDistance(MeanSurfaceDistance):
    """The mean of the squared distances from the surface of outputs to that of labels; if ``symmetric``, the root of
    the mean over both ways. Arguments as in ``MeanSurfaceDistance``."""

    def mean(self, distances: Array) -> Any:
        """Of one way."""
        return super().mean(distances.astype(np.float64) ** 2)

    def both(self, ways: list[Any]) -> Any:
        """Of both ways."""
        return np.sqrt(np.mean(ways))


# ---- confusion ----


class _Cells:
    """The four cells of a confusion matrix of two classes, and ratios of them."""

    def __init__(self, counts: Array) -> None:
        self.tp, self.fp, self.tn, self.fn = np.moveaxis(counts, -1, 0)
        self.p, self.n = self.tp + self.fn, self.fp + self.tn
        self.tpr, self.tnr = _over(self.tp, self.p), _over(self.tn, self.n)
        self.ppv, self.npv = _over(self.tp, self.tp + self.fp), _over(self.tn, self.tn + self.fn)


def _over(above: Any, below: Any) -> Any:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below != 0, above / below, np.nan)


def _matthews(c: _Cells) -> Any:
    below = np.sqrt((c.tp + c.fp) * (c.tp + c.fn) * (c.tn + c.fp) * (c.tn + c.fn))
    return _over(c.tp * c.tn - c.fp * c.fn, below)


_RATIOS: dict[str, tuple[Callable[[_Cells], Any], str]] = {
    "tpr": (lambda c: c.tpr, "sensitivity recall hit_rate true_positive_rate"),
    "tnr": (lambda c: c.tnr, "specificity selectivity true_negative_rate"),
    "ppv": (lambda c: c.ppv, "precision positive_predictive_value"),
    "npv": (lambda c: c.npv, "negative_predictive_value"),
    "fnr": (lambda c: _over(c.fn, c.p), "miss_rate false_negative_rate"),
    "fpr": (lambda c: _over(c.fp, c.n), "fall_out false_positive_rate"),
    "fdr": (lambda c: _over(c.fp, c.fp + c.tp), "false_discovery_rate"),
    "for": (lambda c: _over(c.fn, c.fn + c.tn), "false_omission_rate"),
    "pt": (lambda c: _over(np.sqrt(c.tpr * (1 - c.tnr)) + c.tnr - 1, c.tpr + c.tnr - 1), "prevalence_threshold"),
    "ts": (lambda c: _over(c.tp, c.tp + c.fn + c.fp), "threat_score critical_success_index csi"),
    "acc": (lambda c: _over(c.tp + c.tn, c.p + c.n), "accuracy"),
    "ba": (lambda c: (c.tpr + c.tnr) / 2, "balanced_accuracy"),
    "f1": (lambda c: _over(2 * c.tp, 2 * c.tp + c.fn + c.fp), "f1_score"),
    "mcc": (_matthews, "matthews_correlation_coefficient"),
    "fm": (lambda c: np.sqrt(c.ppv * c.tpr), "fowlkes_mallows_index"),
    "bm": (lambda c: c.tpr + c.tnr - 1, "informedness bookmaker_informedness"),
    "mk": (lambda c: c.ppv + c.npv - 1, "markedness deltap"),
}
_RATIO_OF = {word: ratio for name, (ratio, words) in _RATIOS.items() for word in (name, *words.split())}
_DECREASES = ("none", "mean", "sum", "mean_batch", "sum_batch", "mean_channel", "sum_channel")


class ConfusionMatrixMetric(Metric):
    """A ratio of the confusion matrix of 0/1 labels: sensitivity, precision, F1 and others.

    Args:
        skip_channel: whether channel 0 counts; False leaves it out, as a background.
        metric_name: the ratio: "sensitivity", "specificity", "precision", "accuracy", "f1_score" ... or "tpr", "tnr".
        calculation_method: compute it of each sample and channel, then the mean; else of all counts together.
        decrease: with ``calculation_method``, over what ratios of a batch are reduced: "mean", "sum" (both axes),
            "mean_batch", "sum_batch", "mean_channel", "sum_channel", "none".

    Raises:
        ValueError: another word.

    Examples:
        >>> import msnb as ms
        >>> metric = ms.train.ConfusionMatrixMetric(metric_name="precision")
        >>> metric.update(ms.Tensor([[1, 1, 0]]), ms.Tensor([[1, 0, 0]]))
        >>> metric.eval().tolist()
        [0.5]
    """

    def __init__(
        self, skip_channel: bool = True, metric_name: str = "sensitivity", calculation_method: bool = False,
        decrease: str = "mean",
    ) -> None:  # fmt: skip
        super().__init__()
        need_bools(self, skip_channel=skip_channel, calculation_method=calculation_method)
        if not isinstance(metric_name, str):
            raise ArgumentError(f"ConfusionMatrixMetric: metric_name must be a str, got {metric_name!r}.")
        known = _RATIO_OF.get(metric_name.replace(" ", "_").lower())
        if known is None:
            legal = ", ".join(_RATIO_OF)
            raise AttributeValueError(f"ConfusionMatrixMetric: metric_name={metric_name!r}; legal: {legal}.")
        if decrease not in _DECREASES:
            raise AttributeValueError(f"ConfusionMatrixMetric: decrease={decrease!r}; legal: {', '.join(_DECREASES)}.")
        self._ratio = known
        self.skip_channel: bool = skip_channel
        self.metric_name: str = metric_name
        self.calculation_method: bool = calculation_method
        self.decrease: str = decrease
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._cells: Any = np.zeros(4)
        self._ratios: Any = 0.0
        self._found: Any = 0.0

    def update(self, *inputs: Any) -> None:
        """``outputs, labels``: 0 or 1, [n, channels, ...]."""
        outputs, labels = _of_one_shape(self, *self.picked(inputs, 2))
        if outputs.ndim < 2 or not np.isin(labels, (0, 1)).all():
            raise AttributeValueError("ConfusionMatrixMetric takes outputs and labels [n, channels, ...] of 0 and 1.")
        if not self.skip_channel and labels.shape[1] > 1:
            outputs, labels = outputs[:, 1:], labels[:, 1:]
        outputs, labels = (x.reshape(*x.shape[:2], -1).astype(np.float64) for x in (outputs, labels))
        tp, tn = ((outputs + labels) == 2).sum(-1), ((outputs + labels) == 0).sum(-1)
        positive = labels.sum(-1)
        cells = np.stack([tp, labels.shape[-1] - positive - tn, tn, positive - tp], -1)
        if self.calculation_method and labels.shape[-1] > 1:
            ratios, found = _reduced(self._ratio(_Cells(cells)), self.decrease)
            self._ratios, self._found = self._ratios + ratios * found, self._found + found
        else:
            self._cells = self._cells + cells.sum((0, 1))

    def eval(self) -> Any:
        """The ratio over all batches since ``clear``."""
        if np.any(self._found):
            mean = _over(self._ratios, self._found)
            return mean.item() if mean.ndim == 0 else mean
        self.need(self._cells.sum())
        return self._ratio(_Cells(self._cells[None]))


def _reduced(ratios: Array, decrease: str) -> tuple[Any, Any]:
    """The ratios, NaN left out, over the axes of ``decrease``; how many went into each."""
    found = (~np.isnan(ratios)).astype(np.float64)
    ratios = np.nan_to_num(ratios)
    kind, _, over = decrease.partition("_")
    if kind == "none":
        return ratios, found
    for axis in {"": (1, 0), "batch": (0,), "channel": (1,)}[over]:
        counts = found.sum(axis)
        ratios = ratios.sum(axis)
        if kind == "mean":
            ratios = np.where(counts > 0, ratios / np.maximum(counts, 1), 0.0)
        found = (counts > 0).astype(np.float64) if kind == "mean" and axis == 1 and not over else counts
    return ratios, found


class OcclusionSensitivity(Metric):
    """How much the score of a class falls when the parts of an image around each place are hidden.

    Args:
        pad_val: what a hidden part becomes.
        margin: half the side of a hidden part; one, or a list with one per axis.
        n_batch: images that the model is given at a time.
        b_box: [lowest, highest, ...] of each axis but that of samples: the places to look at; -1 for the end.

    Raises:
        TypeError: not these types.

    Examples:
        >>> import msnb as ms
        >>> class Total(ms.nn.Cell):
        ...     def construct(self, x):
        ...         return ms.ops.reshape(x, (x.shape[0], -1)).sum(1, keepdims=True)
        >>> metric = ms.train.OcclusionSensitivity(margin=1)
        >>> metric.update(Total(), ms.ops.ones((1, 1, 2, 2)), ms.Tensor([0]))
        >>> metric.eval().tolist()
        [[1.0, 2.0], [2.0, 4.0]]
    """

    def __init__(
        self, pad_val: float = 0.0, margin: int | list[int] = 2, n_batch: int = 128, b_box: list[int] | None = None
    ) -> None:
        super().__init__()
        if not isinstance(pad_val, float) or not (b_box is None or isinstance(b_box, list)):
            raise TypeError(f"OcclusionSensitivity: pad_val is a float, b_box a list, got {pad_val!r} and {b_box!r}.")
        for side in margin if isinstance(margin, list) else [margin]:
            need_int("OcclusionSensitivity", "margin", side)
        self.pad_val: float = pad_val
        self.margin: int | list[int] = margin
        self.b_box: list[int] | None = b_box
        self.n_batch: int = need_int("OcclusionSensitivity", "n_batch", n_batch)
        self.clear()

    def clear(self) -> None:
        """Start anew."""
        self._falls: Array | None = None

    def update(self, *inputs: Any) -> None:
        """``model`` (a Cell), ``image`` [1, ...], ``label`` (the class): the last one counts."""
        model, image, label = self.chosen(inputs, 3)
        image, label = as_array(image), as_array(label)
        if not isinstance(model, Cell):
            raise TypeError(f"OcclusionSensitivity: the model must be a Cell, got {type(model).__name__}.")
        if image.shape[0] != 1 or label.size != 1:
            raise AttributeValueError("OcclusionSensitivity takes one image, [1, ...], and one label at a time.")
        sizes = image.shape[1:]
        low, high = self._box(sizes)
        places = np.stack(np.meshgrid(*map(np.arange, low, high), indexing="ij"), -1).reshape(-1, len(sizes))
        scores = [self._scores(model, image, int(label.item()), places[i : i + self.n_batch])
                  for i in range(0, len(places), self.n_batch)]  # fmt: skip
        whole = self._scores(model, image, int(label.item()), places[:0])
        self._falls = whole.item() - np.concatenate(scores).reshape(*(high - low))

    def _box(self, sizes: tuple[int, ...]) -> tuple[Array, Array]:
        if self.b_box is None:
            return np.zeros(len(sizes), int), np.array(sizes)
        if len(self.b_box) != 2 * len(sizes):
            raise AttributeValueError(f"OcclusionSensitivity: b_box needs {2 * len(sizes)} numbers, two per axis.")
        low, high = np.maximum(self.b_box[::2], 0), np.array(self.b_box[1::2])
        high = np.where(high < 0, np.array(sizes) - 1, high)
        if (high >= np.array(sizes)).any() or (low > high).any():
            raise AttributeValueError(f"OcclusionSensitivity: b_box {self.b_box} does not lie in {list(sizes)}.")
        return low, high + 1

    def _scores(self, model: Cell, image: Array, label: int, places: Array) -> Array:
        images = np.repeat(image, max(1, len(places)), axis=0)
        margins = np.broadcast_to(self.margin, (image.ndim - 1,))
        for hidden, place in zip(images, places):
            hidden[tuple(slice(max(0, at - m), at + m) for at, m in zip(place, margins))] = self.pad_val
        found = as_array(model(Tensor(images)))
        return found.reshape(len(images), -1)[:, label]

    def eval(self) -> Array:
        """How much the score falls at each place; axes of one place are left out."""
        self.need(self._falls is not None)
        return np.squeeze(self._falls)  # type: ignore[arg-type]
