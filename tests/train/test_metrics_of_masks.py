"""Metrics of sentences, scores and masks against numbers of MindSpore 2.10, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from msnb import Tensor, nn, ops, train

SAID = "the cat is on the mat".split()
PEOPLE = ["there is a cat on the mat".split(), "a cat is on the mat".split()]
OUTPUTS = np.array([[[1, 0, 1, 1, 0], [0, 0, 1, 0, 0]], [[1, 1, 1, 0, 0], [0, 1, 0, 1, 1]]], np.float32)
LABELS = np.array([[[1, 1, 0, 1, 0], [0, 0, 0, 0, 0]], [[1, 0, 1, 0, 1], [0, 1, 1, 1, 0]]], np.float32)
FIRST = np.array([[0, 1, 1, 1, 0], [0, 1, 1, 1, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 1]])
SECOND = np.array([[0, 0, 0, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 0, 0], [1, 1, 1, 0, 0]])
SCORES = np.array([[0.28, 0.55, 0.15], [0.1, 0.8, 0.1], [0.6, 0.3, 0.1], [0.2, 0.2, 0.6]])


def seen(metric: Any, *batches: Any) -> Any:
    metric.clear()
    for batch in batches:
        metric.update(*(Tensor(x) if isinstance(x, np.ndarray) else x for x in batch))
    return metric.eval()


@pytest.mark.parametrize(
    ("metric", "batch", "expected"),
    [
        (train.BleuScore(4), ([SAID], [PEOPLE]), 0.7598357),
        (train.BleuScore(2, True), ([SAID], [PEOPLE]), 0.8451543),
        (train.Perplexity(), (SCORES, np.array([0, 1, 2, 2])), 2.9369745),
        (train.Perplexity(2), (SCORES, np.array([0, 1, 2, 2])), 2.1128856),
        (train.Dice(), (OUTPUTS, LABELS), 0.3157893),
        (train.HausdorffDistance(), (FIRST, SECOND, 1), 2.0),
        (train.HausdorffDistance("taxicab", 50.0, True), (FIRST, SECOND, 1), 1.0),
        (train.HausdorffDistance("chessboard", crop=False), (FIRST, SECOND, 0), 3.0),
        (train.MeanSurfaceDistance(), (FIRST, SECOND, 1), 0.9349126),
        (train.MeanSurfaceDistance(True, "chessboard"), (FIRST, SECOND, 1), 0.8194444),
        (train.RootMeanSquareDistance(), (FIRST, SECOND, 1), 1.2222222),
        (train.RootMeanSquareDistance(True, "taxicab"), (FIRST, SECOND, 1), 1.1334559),
        (train.MeanSurfaceDistance(), (FIRST, 0 * SECOND, 1), np.inf),
        (train.HausdorffDistance(), (0 * FIRST, SECOND, 1), np.inf),
    ],
)
def test_numbers(metric: Any, batch: Any, expected: float) -> None:
    assert float(seen(metric, batch)) == pytest.approx(expected, rel=1e-6)
    assert float(metric(*batch)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("name", "whole", "of_each"),
    [
        ("sensitivity", 0.6666667, 0.6666667),
        ("tnr", 0.6363636, 0.65),
        ("precision", 0.6, 0.3333333),
        ("npv", 0.7, 0.75),
        ("miss_rate", 0.3333333, 0.3333333),
        ("fpr", 0.3636364, 0.35),
        ("fdr", 0.4, 0.6666667),
        ("for", 0.3, 0.25),
        ("pt", 0.4248077, 0.4641016),
        ("ts", 0.4615385, 0.25),
        ("acc", 0.65, 0.7),
        ("ba", 0.6515152, 0.5833333),
        ("f1", 0.6315789, 0.3333333),
        ("mcc", 0.3015113, 0.1666667),
        ("fm", 0.6324555, 0.6666667),
        ("bm", 0.3030303, 0.1666667),
        ("mk", 0.3, 0.0833333),
    ],
)
def test_ratios_of_the_confusion_matrix(name: str, whole: float, of_each: float) -> None:
    make = train.ConfusionMatrixMetric
    assert seen(make(metric_name=name), (OUTPUTS, LABELS)).tolist() == pytest.approx([whole], nan_ok=True)
    assert seen(make(metric_name=name), (OUTPUTS[:1], LABELS[:1]), (OUTPUTS[1:], LABELS[1:])) == pytest.approx([whole])
    assert seen(make(False, name, True), (OUTPUTS, LABELS)) == pytest.approx(of_each)


def test_ratios_by_axes() -> None:
    make = train.ConfusionMatrixMetric
    for decrease, shape in (("none", (2, 2)), ("mean_batch", (2,)), ("sum_channel", (2,))):
        assert np.shape(seen(make(calculation_method=True, decrease=decrease), (OUTPUTS, LABELS))) == shape
    by_channel = seen(make(metric_name="acc", calculation_method=True, decrease="mean_batch"), (OUTPUTS, LABELS))
    assert by_channel.tolist() == pytest.approx([0.6, 0.7])


def test_similarities_and_curves() -> None:
    rows = np.array([[1.0, 0.0], [3.0, 4.0]])
    assert seen(train.CosineSimilarity(), (rows,)).round(4).tolist() == [[0, 0.6], [0.6, 0]]
    assert seen(train.CosineSimilarity("dot", "mean", False), (rows,)).tolist() == [2.0, 14.0]
    wrong, right, thresholds = seen(train.ROC(), (np.array([3, 1, 4, 2, 4]), np.array([0, 1, 0, 1, 1])))
    assert right.round(4).tolist() == [0, 0.3333, 0.3333, 0.6667, 1]
    assert wrong.tolist() == [0, 0.5, 1, 1, 1]
    assert thresholds.tolist() == [5, 4, 3, 2, 1]
    square = np.insert(SCORES, 3, [0.2, 0.1, 0.3, 0.1], axis=1)
    curves = seen(train.ROC(4), (square, np.array([0, 1, 2, 3])))
    assert [c.round(4).tolist() for c in curves[0]] == [
        [0.0, 0.3333, 0.3333, 0.6667, 1.0],
        [0.0, 0.0, 0.3333, 0.6667, 1.0],
        [0.0, 0.3333, 0.6667, 1.0],
        [0.0, 0.3333, 0.6667, 1.0],
    ]
    assert [c.round(4).tolist() for c in curves[1]] == [
        [0.0, 0.0, 1.0, 1.0, 1.0],
        [0.0, 1.0, 1.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 1.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
    x = np.array([0, 0.2, 0.5, 1.0])
    assert train.auc(x, x**2) == train.auc(x[::-1], x[::-1] ** 2) == pytest.approx(0.36)
    assert train.auc(x[[0, 2, 1, 3]], x[[0, 2, 1, 3]] ** 2, True) == pytest.approx(0.36)


def test_occlusion(mode: int) -> None:
    class Total(nn.Cell):
        def construct(self, x: Tensor) -> Tensor:
            return ops.reshape(x, (x.shape[0], -1)).sum(1, keepdims=True)

    image = np.arange(6, dtype=np.float32).reshape(1, 1, 2, 3)
    for batch in (128, 2):
        falls = seen(train.OcclusionSensitivity(margin=1, n_batch=batch), (Total(), image, np.array([0])))
        assert falls.tolist() == [[0, 1, 3], [3, 8, 12]]
    part = seen(train.OcclusionSensitivity(1.0, 1, b_box=[0, 0, 0, 0, 1, -1]), (Total(), image, np.array([0])))
    assert part.tolist() == [-1, 1]


def test_metrics_by_name_and_by_place() -> None:
    assert {"auc", "roc", "dice", "perplexity", "root_mean_square_distance"} <= set(train.names())
    assert isinstance(train.get_metric_fn("bleu_score", 3), train.BleuScore)
    assert train.get_metrics(None) is None
    assert [*train.get_metrics({"mse", "mae"})] == ["mae", "mse"]

    class Second(train.Metric):
        def clear(self) -> None:
            self.total = 0.0

        @train.rearrange_inputs
        def update(self, *inputs: Any) -> None:
            self.total += inputs[0]

        def eval(self) -> Any:
            return self.total

    assert Second().set_indexes([1])(1.0, 2.0) == 2.0


@pytest.mark.parametrize(
    ("wrong", "error", "match"),
    [
        (lambda: train.BleuScore(5), ValueError, "from 1 to 4"),
        (lambda: train.BleuScore(2.0), TypeError, "must be an int"),
        (lambda: seen(train.BleuScore(), ([SAID], [])), ValueError, "1 candidates, but 0"),
        (lambda: train.BleuScore().eval(), RuntimeError, "has seen no data"),
        (lambda: seen(train.Perplexity(), (SCORES, np.array([0]))), ValueError, "one axis more"),
        (lambda: train.CosineSimilarity("cos"), ValueError, "legal: dot, cosine"),
        (lambda: seen(train.ROC(2), (SCORES, np.array([0, 1, 2, 2]))), ValueError, "scores of 3 classes"),
        (lambda: seen(train.ROC(), (SCORES[0], np.array([1, 1, 1]))), ValueError, "no negative sample"),
        (lambda: train.auc([0], [1]), TypeError, "NumPy arrays"),
        (lambda: train.auc(np.array([0, 2, 1]), np.array([0, 1, 1])), ValueError, "must rise or fall"),
        (lambda: train.Dice(0.0), ValueError, "above 0"),
        (lambda: seen(train.Dice(), (OUTPUTS, LABELS[:1])), ValueError, "one shape"),
        (lambda: train.HausdorffDistance("manhattan"), ValueError, "taxicab"),
        (lambda: train.HausdorffDistance(percentile=101.0), ValueError, "0 to 100"),
        (lambda: seen(train.HausdorffDistance(), (FIRST, SECOND, 7)), ValueError, "neither in outputs nor"),
        (lambda: seen(train.HausdorffDistance(), (FIRST, SECOND, "1")), TypeError, "an int or float"),
        (lambda: seen(train.HausdorffDistance(), (FIRST, SECOND)), ValueError, "takes 3 values"),
        (lambda: train.ConfusionMatrixMetric(metric_name="luck"), ValueError, "legal: tpr, sensitivity"),
        (lambda: train.ConfusionMatrixMetric(decrease="most"), ValueError, "sum_channel"),
        (lambda: seen(train.ConfusionMatrixMetric(), (2 * OUTPUTS, 2 * LABELS)), ValueError, "of 0 and 1"),
        (lambda: train.OcclusionSensitivity(pad_val=0), TypeError, "pad_val is a float"),
        (lambda: seen(train.OcclusionSensitivity(), (len, SCORES[:1], np.array([0]))), TypeError, "must be a Cell"),
    ],
)
def test_wrong_inputs(wrong: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        wrong()
