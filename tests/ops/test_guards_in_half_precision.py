"""What keeps a divisor or a logarithm from zero does so in half precision, too: 1e-8 is nothing in float16."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "normalize": ops.normalize,
    "cosine_similarity": lambda x: ops.cosine_similarity(x, x),
    "cosine_embedding_loss": lambda x: ops.cosine_embedding_loss(x, x, ops.ones((2,), ms.int32)),
    "poisson_nll_loss": lambda x: ops.poisson_nll_loss(x, x, log_input=False),
    "LpNorm": lambda x: ops.LpNorm(axis=1)(x),
    "clip_by_norm": lambda x: ops.clip_by_norm(x, 1.0),
    "clip_by_norm of several": lambda x: ops.clip_by_norm([x, x * 1.0], 1.0)[1],
    "clip_by_global_norm": lambda x: ops.clip_by_global_norm([x, x * 1.0], 1.0)[0],
}
OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "Adam": nn.Adam,
    "AdamW": nn.AdamW,
    "AdamWeightDecay": lambda p: nn.AdamWeightDecay(p, eps=1e-8),
    "Lamb": lambda p: nn.Lamb(p, 0.1, eps=1e-8),
    "AdaMax": nn.AdaMax,
    "Adadelta": lambda p: nn.Adadelta(p, 1.0, epsilon=1e-12),
    "RMSProp": nn.RMSProp,
}
DTYPES = [ms.float32, ms.float16, ms.bfloat16]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_zeros_have_finite_values_and_gradients(name: str, dtype: Any, mode: int) -> None:
    x = ops.zeros((2, 4), dtype)
    found, slope = ms.value_and_grad(lambda x: FUNCTIONS[name](x).astype(ms.float32).sum())(x)
    assert np.isfinite(found.asnumpy()).all()
    assert np.isfinite(slope.astype(ms.float32).asnumpy()).all()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_a_step_without_a_gradient_changes_nothing(name: str, dtype: Any, mode: int) -> None:
    p = ms.Parameter(ops.ones((3,), dtype), name="p")
    step = OPTIMIZERS[name]([p])
    for _ in range(2):
        step([ops.zeros((3,), dtype)])
    np.testing.assert_allclose(p.astype(ms.float32).asnumpy(), 1.0, atol=1e-2)
