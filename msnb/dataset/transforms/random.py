"""Random combinations of transforms. Inside `map` the draws belong to the row: see
`msnb.dataset.pipeline.epoch_rng`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.base import ArgumentError, AttributeValueError
from msnb.dataset.pipeline.epoch_rng import draws
from msnb.dataset.transforms.basic import Compose, flatten

__all__ = ["RandomApply", "RandomChoice", "RandomOrder"]


def check_probability(prob: Any, what: str) -> float:
    """A number in [0, 1]."""
    if isinstance(prob, bool) or not isinstance(prob, (int, float)):
        raise ArgumentError(f"{what}: prob must be a number, got {prob!r}")
    if not 0.0 <= prob <= 1.0:
        raise AttributeValueError(f"{what}: prob must lie in [0, 1], got {prob}")
    return float(prob)


class RandomApply:
    """With probability `prob` all transforms in turn, else none."""

    def __init__(self, transforms: Sequence[Callable[..., Any]], prob: float = 0.5) -> None:
        self.all: Compose = Compose(flatten(transforms, "RandomApply"))
        self.prob: float = check_probability(prob, "RandomApply")

    def __call__(self, *values: Any) -> Any:
        if draws().random() < self.prob:
            return self.all(*values)
        return values if len(values) > 1 else values[0]


class RandomChoice:
    """One of the transforms, each with the same chance."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms: list[Any] = flatten(transforms, "RandomChoice")

    def __call__(self, *values: Any) -> Any:
        return self.transforms[int(draws().integers(len(self.transforms)))](*values)


class RandomOrder:
    """All transforms, in a random order."""

    def __init__(self, transforms: Sequence[Callable[..., Any]]) -> None:
        self.transforms: list[Any] = flatten(transforms, "RandomOrder")

    def __call__(self, *values: Any) -> Any:
        order = draws().permutation(len(self.transforms))
        return Compose([self.transforms[i] for i in order])(*values)
