"""The first steps of Adam and its kin against float64, also with beta2 near 1. Both modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, nn
from msnb.as_mindspore import install, uninstall
from msnb.optim.experimental import optim

_GRADIENT = [1.0, 2.0, -0.5]


def steps(make: Callable[..., Any], count: int) -> list[Any]:
    p = Parameter(Tensor([0.0, 0.0, 0.0]), name="p")
    rule = make([p])
    found = []
    for _ in range(count):
        rule((Tensor(_GRADIENT),))
        found.append(p.asnumpy().astype(np.float64))
    return found


@pytest.mark.parametrize("beta", [0.0, 0.9, 0.999, 0.9999])
@pytest.mark.parametrize("name", ["nn.Adam", "nn.AdamW", "Adam", "AdamW"])
def test_the_size_of_first_steps(mode: int, name: str, beta: float) -> None:
    """Of an equal gradient every step has the size of the rate."""
    if name.startswith("nn."):
        make: Any = lambda p: getattr(nn, name[3:])(p, 0.1, 0.9, beta, 1e-12, weight_decay=0.0)
    else:
        make = lambda p: getattr(optim, name)(p, 0.1, (0.9, beta), 1e-12, weight_decay=0.0)
    for t, found in enumerate(steps(make, 4), 1):
        np.testing.assert_allclose(found, -0.1 * t * np.sign(_GRADIENT), rtol=6e-7)


def test_adam_of_mindspore_has_its_rounding(mode: int) -> None:
    """Weights of MindSpore 2.10 after one and after six steps from 1."""
    install()
    try:
        p = ms.Parameter(Tensor([1.0, 1.0, 1.0]), name="p")
        rule = nn.Adam([p], 0.1)
        seen = []
        for _ in range(6):
            rule((Tensor(_GRADIENT),))
            seen.append(p.asnumpy())
    finally:
        uninstall()
    np.testing.assert_allclose(seen[0], [0.9000000357627869, 0.9000000357627869, 1.0999999046325684], rtol=7e-8)
    np.testing.assert_allclose(seen[5], [0.4000019431114197, 0.4000019431114197, 1.5999979972839355], rtol=4e-7)
