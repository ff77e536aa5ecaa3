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
