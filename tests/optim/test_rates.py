"""Learning rates: lists and Cells say the same, and both say what the formula says."""

from __future__ import annotations

import math
from typing import Any

import pytest

import msnb as ms
from msnb import nn

CASES: dict[str, tuple[Any, Any, Any]] = {
    "exponential": (
        lambda: nn.exponential_decay_lr(0.5, 0.9, 7, 1, 2), lambda: nn.ExponentialDecayLR(0.5, 0.9, 2),
        lambda s: 0.5 * 0.9 ** (s / 2),
    ),
    "exponential stairs": (
        lambda: nn.exponential_decay_lr(0.5, 0.9, 7, 1, 2, True), lambda: nn.ExponentialDecayLR(0.5, 0.9, 2, True),
        lambda s: 0.5 * 0.9 ** (s // 2),
    ),
    "natural": (
        lambda: nn.natural_exp_decay_lr(0.5, 0.9, 7, 1, 1), lambda: nn.NaturalExpDecayLR(0.5, 0.9, 1),
        lambda s: 0.5 * math.exp(-0.9 * s),
    ),
    "inverse": (
        lambda: nn.inverse_decay_lr(0.5, 0.9, 7, 1, 2, True), lambda: nn.InverseDecayLR(0.5, 0.9, 2, True),
        lambda s: 0.5 / (1 + 0.9 * (s // 2)),
    ),
    "cosine": (
        lambda: nn.cosine_decay_lr(0.1, 0.5, 7, 1, 4), lambda: nn.CosineDecayLR(0.1, 0.5, 4),
        lambda s: 0.1 + 0.2 * (1 + math.cos(math.pi * min(s, 4) / 4)),
    ),
    "polynomial": (
        lambda: nn.polynomial_decay_lr(0.5, 0.1, 7, 1, 4, 2.0), lambda: nn.PolynomialDecayLR(0.5, 0.1, 4, 2.0),
        lambda s: 0.1 + 0.4 * (1 - min(s, 4) / 4) ** 2,
    ),
    "polynomial stretched": (
        lambda: nn.polynomial_decay_lr(0.5, 0.1, 7, 1, 4, 2.0, True),
        lambda: nn.PolynomialDecayLR(0.5, 0.1, 4, 2.0, True),
        lambda s: 0.1 + 0.4 * (1 - s / (4 * max(math.ceil(s / 4), 1))) ** 2,
    ),
    "warm-up": (
        lambda: nn.warmup_lr(0.5, 7, 1, 4), lambda: nn.WarmUpLR(0.5, 4), lambda s: 0.5 * min(s, 4) / 4,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_formulas(mode: int, name: str) -> None:
    rates, make, formula = CASES[name]
    want = [formula(s) for s in range(7)]
    schedule = make()
    assert rates() == pytest.approx(want)
    assert [float(schedule(ms.Tensor(s, ms.int32))) for s in range(7)] == pytest.approx(want, rel=1e-5, abs=1e-7)


def test_lists_change_once_per_epoch() -> None:
    assert nn.warmup_lr(1.0, 6, 2, 2) == [0, 0, 0.5, 0.5, 1, 1]
    assert nn.exponential_decay_lr(1.0, 0.5, 4, 2, 1) == [1, 1, 0.5, 0.5]
    assert nn.natural_exp_decay_lr(1.0, 1.0, 4, 1, 2, True) == pytest.approx([1, 1, math.exp(-2), math.exp(-2)])
    assert nn.warmup_lr(1.0, 2, 1, 0) == [1, 1]


def test_schedules_compose() -> None:
    class Both(nn.LearningRateSchedule):
        def __init__(self) -> None:
            super().__init__()
            self.warm, self.rest = nn.WarmUpLR(0.5, 2), nn.ExponentialDecayLR(0.5, 0.5, 1)

        def construct(self, step: Any) -> Any:
            return ms.ops.where(step < 2, self.warm(step), self.rest(step - 2))

    assert [float(Both()(ms.Tensor(s))) for s in range(4)] == [0.0, 0.25, 0.5, 0.25]


@pytest.mark.parametrize(
    "call",
    [
        lambda: nn.piecewise_constant_lr([2, 1], [0.1, 0.2]),
        lambda: nn.piecewise_constant_lr([2], [0.1, 0.2]),
        lambda: nn.exponential_decay_lr(0.0, 0.9, 7, 1, 2),
        lambda: nn.exponential_decay_lr(0.1, 0.9, 7, 1.5, 2),
        lambda: nn.cosine_decay_lr(0.5, 0.5, 7, 1, 2),
        lambda: nn.CosineDecayLR(0.6, 0.5, 4),
        lambda: nn.WarmUpLR(0.5, 0),
        lambda: nn.warmup_lr(0.5, 4, 1, -1),
        lambda: nn.PolynomialDecayLR(0.5, 0.1, 4, 0.0),
        lambda: nn.ExponentialDecayLR("a", 0.9, 2),
    ],
)
def test_refusals(call: Any) -> None:
    with pytest.raises((ValueError, TypeError), match="must|go with|needs"):
        call()
