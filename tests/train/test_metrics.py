"""Metrics against what they mean, computed by loops; batches do not matter; wrong inputs have their sentence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import ArgumentError, AttributeValueError, ShapeError
from msnb.train import metrics as M


def fed(metric: M.Metric, outputs: Any, labels: Any, batch: int = 7) -> Any:
    metric.clear()
    for i in range(0, len(outputs), batch):
        metric.update(ms.Tensor(outputs[i : i + batch]), ms.Tensor(labels[i : i + batch]))
    return metric.eval()


def test_classification(rng: np.random.Generator) -> None:
    scores, truth = rng.normal(size=(50, 4)), rng.integers(0, 4, 50)
    guess = scores.argmax(1)
    assert fed(M.Accuracy(), scores, truth) == pytest.approx(np.mean([g == t for g, t in zip(guess, truth)]))
    one_hot = np.eye(4)[truth]
    assert fed(M.Accuracy(), scores, one_hot) == fed(M.Accuracy(), scores, truth, 50)
    for k in (1, 2, 4, 9):
        want = np.mean([t in np.argsort(-s)[:k] for s, t in zip(scores, truth)])
        assert fed(M.TopKCategoricalAccuracy(k), scores, truth) == pytest.approx(want)
    hits = [sum(g == t == c for g, t in zip(guess, truth)) for c in range(4)]
    said, were = [int((guess == c).sum()) for c in range(4)], [int((truth == c).sum()) for c in range(4)]
    precision, recall = (np.array([h / o if o else 0 for h, o in zip(hits, over)]) for over in (said, were))
    np.testing.assert_allclose(fed(M.Precision(), scores, truth), precision)
    np.testing.assert_allclose(fed(M.Recall(), scores, truth), recall)
    total = np.where(precision + recall > 0, precision + recall, 1)
    np.testing.assert_allclose(fed(M.F1(), scores, truth), 2 * precision * recall / total)
    average = M.Precision()
    fed(average, scores, truth)
    assert average.eval(average=True) == pytest.approx(precision.mean())


def test_confusion_matrix() -> None:
    scores = np.eye(3)[[0, 1, 1, 2, 0]]
    truth = np.array([0, 1, 2, 2, 0])
    assert fed(M.ConfusionMatrix(3), scores, truth, 2).tolist() == [[2, 0, 0], [0, 1, 0], [0, 1, 1]]
    assert fed(M.ConfusionMatrix(3, "target"), scores, truth)[2].tolist() == [0, 0.5, 0.5]
    assert fed(M.ConfusionMatrix(3, "prediction"), scores, truth)[:, 1].tolist() == [0, 0.5, 0.5]
    assert fed(M.ConfusionMatrix(3, "all"), scores, truth).sum() == pytest.approx(1)
    assert fed(M.ConfusionMatrix(2), np.array([0.2, 0.7, 0.5]), np.array([0, 1, 0])).tolist() == [[1, 1], [0, 1]]


def test_regression_and_loss(rng: np.random.Generator) -> None:
    a, b = rng.normal(size=(30, 2)).astype(np.float32), rng.normal(size=(30, 2)).astype(np.float32)
    assert fed(M.MAE(), a, b) == pytest.approx(np.abs(a - b).mean(), rel=1e-6)
    assert fed(M.MSE(), a, b) == pytest.approx(((a - b) ** 2).mean(), rel=1e-6)
    loss = M.Loss()
    for value in (1.0, 3.0):
        loss.update(ms.Tensor(value))
    assert loss.eval() == 2.0


def test_multilabel() -> None:
    outputs, labels = np.array([[1, 0, 1], [0, 1, 0]]), np.array([[1, 0, 1], [1, 1, 0]])
    assert fed(M.Accuracy("multilabel"), outputs, labels) == 0.5
    assert fed(M.Precision("multilabel"), outputs, labels).tolist() == [1, 1], "a number per sample"
    recall = M.Recall("multilabel")
    assert fed(recall, outputs, labels).tolist() == [1, 0.5]
    recall.update(labels, outputs)
    assert recall.eval().tolist() == [1, 0.5, 1, 1], "those of further batches behind them"
    assert recall.eval(True) == 0.875


def test_segmentation_shapes(rng: np.random.Generator) -> None:
    scores, truth = rng.normal(size=(2, 3, 4, 5)), rng.integers(0, 3, (2, 4, 5))
    assert fed(M.Accuracy(), scores, truth) == pytest.approx((scores.argmax(1) == truth).mean())


def test_names_and_indexes() -> None:
    assert isinstance(M.get_metric_fn("accuracy"), M.Accuracy) and "loss" in M.names()
    assert list(M.as_metrics({"loss", "accuracy"})) == ["accuracy", "loss"]
    swapped = M.MAE().set_indexes([2, 0])
    swapped.update(np.ones(2), None, np.zeros(2))
    assert swapped.eval() == 1


WRONG = [
    (lambda: M.Accuracy().eval(), RuntimeError, "Accuracy has seen no data"),
    (lambda: M.F1().eval(), RuntimeError, "F1 has seen no data"),
    (lambda: M.Accuracy().update(np.zeros((2, 3))), AttributeValueError, "takes 2 values, got 1"),
    (lambda: M.Accuracy().update(np.zeros((2, 3)), np.zeros(3)), ShapeError, r"outputs: \[2, 3\]"),
    (lambda: M.Accuracy().update(np.zeros((2, 3)), np.array([0, 3])), AttributeValueError, "from 0 to 2, there is 3"),
    (lambda: M.Accuracy().update(np.zeros((2, 3)), np.array([0, -1])), AttributeValueError, "there is -1"),
    (lambda: M.MSE().update(np.zeros(2), np.zeros(3)), ShapeError, "must have one shape"),
    (lambda: M.Accuracy("binary"), ArgumentError, "eval_type must be"),
    (lambda: M.TopKCategoricalAccuracy(0), AttributeValueError, "k must be"),
    (lambda: M.Fbeta(0), AttributeValueError, "beta must be above 0"),
    (lambda: M.ConfusionMatrix(2, "rows"), AttributeValueError, "normalize must be"),
    (lambda: M.ConfusionMatrix(2).update(np.array([2]), np.array([0])), AttributeValueError, "from 0 to 1"),
    (lambda: M.get_metric_fn("magic"), AttributeValueError, "no metric 'magic'; legal: accuracy"),
    (lambda: M.as_metrics("accuracy"), ArgumentError, "a set of names or a dict"),
    (lambda: M.as_metrics({"a": 3}), ArgumentError, "metric 'a' is a int without clear"),
    (lambda: M.Loss().set_indexes(["a"]), AttributeValueError, "a list of ints"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_inputs(case: int) -> None:
    call, error, sentence = WRONG[case]
    with pytest.raises(error, match=sentence):
        call()


def test_top_classes_of_fewer_labels() -> None:
    scores = np.array([[0.15, 0.4, 0.1, 0.05, 0.0, 0.2, 0.1], [0.1, 0.35, 0.25, 0.2, 0.1, 0.0, 0.0]])
    assert fed(M.Top5CategoricalAccuracy(), scores, np.eye(5)[[2, 4]]) == 1.0


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: M.Accuracy().set_indexes([0.0, 2.0]), ValueError),
        (lambda: M.Accuracy().set_indexes(0), ValueError),
        (lambda: M.Accuracy().update(np.zeros((2, 2))), ValueError),
        (lambda: M.Precision("other"), TypeError),
        (lambda: M.TopKCategoricalAccuracy(2.1), TypeError),
        (lambda: M.TopKCategoricalAccuracy(0), ValueError),
        (lambda: M.Loss().update(np.ones((2, 2))), ValueError),
        (lambda: M.ConfusionMatrix(2, threshold=1), TypeError),
        (lambda: M.HausdorffDistance(percentile="x"), TypeError),
        (lambda: M.HausdorffDistance(crop=1), TypeError),
        (lambda: M.MeanSurfaceDistance(symmetric=1), TypeError),
        (lambda: M.RootMeanSquareDistance(symmetric=1), TypeError),
        (lambda: M.ConfusionMatrixMetric(metric_name=1), TypeError),
        (lambda: M.ConfusionMatrixMetric(skip_channel=1), TypeError),
        (lambda: M.CosineSimilarity(similarity=1), TypeError),
        (lambda: M.Dice(smooth="a"), TypeError),
    ],
)
def test_kinds_of_errors(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()
