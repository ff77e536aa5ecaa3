"""Losses as Cells against their formulas, in both modes and with every reduction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn

X = np.random.default_rng(1).standard_normal((4, 3)).astype(np.float32)
Y = np.random.default_rng(2).standard_normal((4, 3)).astype(np.float32)
P = 1 / (1 + np.exp(-X))
B = (Y > 0).astype(np.float32)
LABEL = np.array([0, 2, 1, 2])
LOGP = X - np.log(np.exp(X).sum(-1, keepdims=True))
PROB = np.exp(Y) / np.exp(Y).sum(-1, keepdims=True)
SIGN = np.array([1, -1, 1, -1])
COS = (X * Y).sum(-1) / np.linalg.norm(X, axis=-1) / np.linalg.norm(Y, axis=-1)
BCE = -(B * np.log(P) + (1 - B) * np.log(1 - P))
ABS = np.abs(X - Y)
CASES: dict[str, tuple[Any, tuple[Any, ...], Any]] = {
    "l1": (nn.L1Loss, (X, Y), ABS),
    "mae": (nn.MAELoss, (X, Y), ABS),
    "mse": (nn.MSELoss, (X, Y), ABS**2),
    "smooth": (lambda reduction: nn.SmoothL1Loss(0.5, reduction), (X, Y), np.where(ABS < 0.5, ABS**2, ABS - 0.25)),
    "huber": (
        lambda reduction: nn.HuberLoss(reduction, 0.5), (X, Y), np.where(ABS <= 0.5, ABS**2 / 2, 0.5 * (ABS - 0.25))
    ),
    "ce": (lambda reduction: nn.CrossEntropyLoss(reduction=reduction), (X, LABEL), -LOGP[range(4), LABEL]),
    "nll": (lambda reduction: nn.NLLLoss(reduction=reduction), (LOGP, LABEL), -LOGP[range(4), LABEL]),
    "sparse": (lambda reduction: nn.SoftmaxCrossEntropyWithLogits(True, reduction), (X, LABEL), -LOGP[range(4), LABEL]),
    "dense": (lambda reduction: nn.SoftmaxCrossEntropyWithLogits(False, reduction), (X, PROB), -(LOGP * PROB).sum(-1)),
    "bce": (lambda reduction: nn.BCELoss(reduction=reduction), (P, B), BCE),
    "bcelogits": (nn.BCEWithLogitsLoss, (X, B), BCE),
    "kl": (nn.KLDivLoss, (LOGP, PROB), PROB * (np.log(PROB) - LOGP)),
    "cosine": (
        lambda reduction: nn.CosineEmbeddingLoss(0.1, reduction), (X, Y, SIGN),
        np.where(SIGN > 0, 1 - COS, np.maximum(COS - 0.1, 0)),
    ),
    "ranking": (
        lambda reduction: nn.MarginRankingLoss(0.2, reduction), (X[:, 0], Y[:, 0], SIGN),
        np.maximum(-SIGN * (X[:, 0] - Y[:, 0]) + 0.2, 0),
    ),
    "hinge": (
        lambda reduction: nn.HingeEmbeddingLoss(1.0, reduction), (X[:, 0], SIGN),
        np.where(SIGN > 0, X[:, 0], np.maximum(1 - X[:, 0], 0)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("name", CASES)
def test_losses(mode: int, name: str, reduction: str) -> None:
    make, args, want = CASES[name]
    got = make(reduction=reduction)(*map(ms.Tensor, args)).asnumpy()
    np.testing.assert_allclose(got, want if reduction == "none" else getattr(want, reduction)(), rtol=2e-5, atol=1e-6)


def test_options(mode: int) -> None:
    weight = ms.Tensor([1.0, 2.0, 0.5])
    w = weight.asnumpy()[LABEL]
    picked = -LOGP[range(4), LABEL]
    got = float(nn.CrossEntropyLoss(weight=weight)(ms.Tensor(X), ms.Tensor(LABEL)))
    np.testing.assert_allclose(got, (picked * w).sum() / w.sum(), rtol=1e-5)
    ignored = float(nn.CrossEntropyLoss(ignore_index=2)(ms.Tensor(X), ms.Tensor(LABEL)))
    np.testing.assert_allclose(ignored, picked[LABEL != 2].mean(), rtol=1e-5)
    np.testing.assert_allclose(float(nn.RMSELoss()(ms.Tensor(X), ms.Tensor(Y))), np.sqrt((ABS**2).mean()), rtol=1e-5)


def test_refusals() -> None:
    for make in (nn.MSELoss, nn.KLDivLoss):
        with pytest.raises(ValueError, match="reduction must be"):
            make("avg")


def test_triplets_by_how_many_elements_differ(mode: int) -> None:
    """The norm of order 0 counts: numbers of PyTorch. It was a division by zero."""
    anchor, positive, negative = (ms.Tensor([v]) for v in ([1.0, 2.0, 3.0], [1.0, 2.0, 5.0], [1.5, 0.0, 9.0]))
    found = ms.ops.triplet_margin_loss(anchor, positive, negative, margin=2.5, p=0, eps=0.0)
    assert float(found) == 0.5


def _focal(logits: Any, shares: Any, weight: Any, gamma: float) -> Any:
    """Focal loss of each class in float64."""
    logp = logits - np.log(np.exp(logits).sum(1, keepdims=True))
    return -weight * shares * (1 - np.exp(logp)) ** gamma * logp


@pytest.mark.parametrize("gamma", [2.0, 0.5])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (2, 4, 3, 2)])
def test_focal_loss_of_labels_with_an_axis_of_classes(mode: int, shape: tuple[int, ...], gamma: float) -> None:
    rng = np.random.default_rng(3)
    x, w = rng.standard_normal(shape), np.array([1, 2, 3, 0.5]).reshape(1, 4, *(1 for _ in shape[2:]))
    label = rng.integers(0, 4, (shape[0], 1, *shape[2:]))
    shares = np.moveaxis(np.eye(4)[label[:, 0]], -1, 1)
    logits, weight = ms.Tensor(x.astype(np.float32)), ms.Tensor(w.ravel().astype(np.float32))
    whole = _focal(x, shares, w, gamma).reshape(*shape[:2], -1)
    for labels, terms in ((ms.Tensor(label), whole.sum(1).mean(-1)), (ms.Tensor(shares), whole.mean(-1)),
                          (ms.Tensor(label - 4), whole.sum(1).mean(-1))):  # fmt: skip
        for reduction, wanted in (("none", terms), ("mean", terms.mean()), ("sum", terms.sum())):
            loss = nn.FocalLoss(weight, gamma, reduction)
            np.testing.assert_allclose(loss(logits, labels).asnumpy(), wanted, 2e-5, 1e-6)
    slope = ms.grad(nn.FocalLoss(None, gamma))(logits, ms.Tensor(label.astype(np.int32))).asnumpy()
    step = 1e-6 * rng.standard_normal(shape)
    ends = [_focal(x + d, shares, 1.0, gamma).sum(1).mean() for d in (step, -step)]
    np.testing.assert_allclose((slope * step).sum(), (ends[0] - ends[1]) / 2, 1e-3, 1e-12)


def test_refused_labels_of_focal_loss(mode: int) -> None:
    x = ms.ops.ones((3, 4))
    for loss, labels, error, said in (
        (nn.FocalLoss(), ms.Tensor(np.ones((3, 2), np.float32)), ValueError, "have the shape of the logits"),
        (nn.FocalLoss(), ms.Tensor([[4], [0], [0]]), IndexError, "index 4 is outside axis 1 of size 4"),
        (nn.FocalLoss(), ms.Tensor([0, 1]), ValueError, "class indices have shape"),
    ):
        with pytest.raises(error, match=said):
            loss(x, labels)
    with pytest.raises(TypeError, match="FocalLoss: gamma is a number, not 'mmm'"):
        nn.FocalLoss(gamma="mmm")  # type: ignore[arg-type]
