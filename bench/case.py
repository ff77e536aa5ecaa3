"""A case: one piece of work, described once, written down once per framework.

    batches, weights      NumPy arrays from fixed seeds: every contestant starts from the same bits
    programs              framework -> program(side): builds and returns step(i), which does the whole work on batch
                          number i, waits until it is finished and returns what it computed
    flops, bytes          the least work that any program must do: the floor of the table

The values of the first three steps travel back with the times and must agree: a fast wrong answer is the commonest
benchmark. What a framework cannot do is a sentence in `cannot`, printed in the report; nothing is dropped in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = Any
Batch = tuple[Array, ...]
Step = Callable[[int], Any]

BATCHES = 4


@dataclass(frozen=True)
class Case:
    """One row of the table.

    Attributes:
        name: what `CASES=` selects; a family shares a beginning (`lenet_step_32`, `lenet_step_256`).
        programs: framework ("msnb", "torch", "jax", "mindspore") -> builder of its step.
        batches, weights: the data, as NumPy arrays.
        flops, bytes: of one step at least; 0 means that it is no limit.
        ops: a step is this many operations, the time is told per operation.
        tolerance: how far the values of the first three steps may be from one another, relative.
        variants: framework -> ways to write the program; all run in the first round, the quickest goes on.
        environment: framework -> variables that its process needs.
        cannot: contestant -> why it takes no part.
        drifts: framework -> why only its first step gives the others' values.
        only: contestants that take part; empty means all that have a program.
        sizes: the case measures first calls of programs of these sizes instead of steps.
        share: of the time of a whole run, relative to the other cases.
    """

    name: str
    title: str
    programs: Mapping[str, Callable[..., Step]]
    batches: Callable[[], list[Batch]] = list
    weights: Callable[..., list[Array]] = list
    flops: float = 0.0
    bytes: float = 0.0
    ops: int = 1
    tolerance: float = 1e-4
    variants: Mapping[str, Sequence[str]] = field(default_factory=dict)
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    cannot: Mapping[str, str] = field(default_factory=dict)
    drifts: Mapping[str, str] = field(default_factory=dict)
    only: tuple[str, ...] = ()
    sizes: tuple[int, ...] = ()
    share: float = 1.0

    def initial(self, variant: str) -> list[Array]:
        """The weights; of a program of that size where the case has sizes."""
        return self.weights(int(variant)) if self.sizes else self.weights()


# --------------------------------------------------------------------------- seeded arrays


def f32(values: Any) -> Array:
    return np.asarray(values, dtype=np.float32, order="C")


class Seeded:
    """Arrays from one stream, so that a case's data depend on its own code alone."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape: int, scale: float = 1.0) -> Array:
        return self.rng.standard_normal(shape, dtype=np.float32) * np.float32(scale)

    def uniform(self, low: float, high: float, *shape: int) -> Array:
        return f32(self.rng.uniform(low, high, shape))

    def labels(self, classes: int, *shape: int) -> Array:
        return self.rng.integers(0, classes, shape).astype(np.int32)

    def dense(self, inputs: int, outputs: int, bias: bool = True) -> list[Array]:
        """Weight (outputs, inputs) and bias of a dense layer."""
        bound = inputs**-0.5
        weight = self.uniform(-bound, bound, outputs, inputs)
        return [weight, self.uniform(-bound, bound, outputs)] if bias else [weight]

    def conv(self, inputs: int, outputs: int, kernel: int, bias: bool = False) -> list[Array]:
        """Weight (outputs, inputs, kernel, kernel) and bias of a convolution."""
        scale = (2.0 / (inputs * kernel * kernel)) ** 0.5
        weight = f32(self.rng.normal(0.0, scale, (outputs, inputs, kernel, kernel)))
        return [weight, np.zeros(outputs, np.float32)] if bias else [weight]


def norm(width: int) -> list[Array]:
    """Scale and shift of a normalisation."""
    return [np.ones(width, np.float32), np.zeros(width, np.float32)]


def several(make: Callable[[Seeded], Batch]) -> Callable[[], list[Batch]]:
    """The pool of batches that the steps of a case go round."""

    def batches() -> list[Batch]:
        seeded = Seeded(1)
        return [make(seeded) for _ in range(BATCHES)]

    return batches


def dense_flops(rows: int, *widths: int, data: bool = False) -> float:
    """Of training dense layers: forward and both gradients; that of the data only if it is wanted."""
    products = [2.0 * rows * i * o for i, o in zip(widths, widths[1:])]
    return 3 * sum(products) - (0.0 if data else products[0])
