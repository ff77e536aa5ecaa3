"""Training steps of the networks of the benchmark on the GPU, eagerly and as CUDA graphs, against the CPU.

Small networks in float32 follow the CPU for five steps; the bounds are those of sums in another order. bfloat16 and
TF32 are held against float32, with the bounds of their digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import msnb as ms
from bench.case import Case, Seeded, several
from bench.cases import lenet, mlp, resnet, transformer
from bench.gpu_cases.gpu_sides import MsSide

STEPS = 5


class Side(MsSide):
    """The side of the benchmark, on any device."""

    def __init__(self, case: Case, mode: int, device: str, precision: str = "float32") -> None:
        super().__init__(case, "graph" if mode == ms.GRAPH_MODE else "eager", "", precision, device)
        self.network: Any = None

    def load(self, net: Any) -> Any:
        self.network = super().load(net)
        return self.network


def _digits(size: int, *shape: int, classes: int = 10) -> Callable[[], Any]:
    def make(seeded: Seeded) -> Any:
        return seeded.normal(size, *shape), seeded.labels(classes, size)

    return several(make)


SMALL = resnet.Form("small", (1, 1), True, 10, 32, 4, 1e-2)
NETWORKS = {
    "mlp": replace(mlp.CASES[0], batches=_digits(16, 784)),
    "lenet": replace(lenet.CASES[0], batches=_digits(4, 1, 32, 32)),
    "resnet": resnet._case(SMALL, 1, 1e-3),
    "transformer": transformer.step_case(transformer.Form(2, 32, 2, 16, 2, 50)),
}


def trained(name: str, mode: int, device: str, precision: str = "float32") -> tuple[list[float], list[Any]]:
    """Losses of five steps, and the parameters behind them."""
    with ms.set_context(device_target=device):
        side = Side(NETWORKS[name], mode, device, precision)
        ms.set_seed(5)
        step = NETWORKS[name].programs["msnb"](side)
        losses = [float(step(i).asnumpy()) for i in range(STEPS)]
        return losses, [p.asnumpy() for p in side.network.get_parameters()]


@pytest.mark.parametrize("name", NETWORKS)
def test_training_as_on_the_cpu(name: str, mode: int, gpu: str) -> None:
    want, weights = trained(name, mode, "CPU")
    found, there = trained(name, mode, gpu)
    np.testing.assert_allclose(found, want, rtol=2e-4)
    for here, expected in zip(there, weights):
        size = max(float(np.abs(expected).max()), 1e-3)
        # Adam divides by roots of tiny gradients: a weight moves by a rate, whatever its gradient's last digits say
        np.testing.assert_allclose(here, expected, rtol=0, atol=5e-3 * size)


@pytest.mark.parametrize("name", ["resnet", "transformer"])
@pytest.mark.parametrize("precision, digits", [("bfloat16", 3e-2), ("tf32", 5e-3)])
def test_fewer_digits(name: str, precision: str, digits: float, gpu: str) -> None:
    want, _ = trained(name, ms.GRAPH_MODE, "CPU")
    found, _ = trained(name, ms.GRAPH_MODE, gpu, precision)
    np.testing.assert_allclose(found, want, rtol=digits)
