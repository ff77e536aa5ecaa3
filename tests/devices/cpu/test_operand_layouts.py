"""Products of operands that lie transposed, with gaps, backwards or repeated: the values of NumPy, in every dtype."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

LAYOUTS = ("whole", "transposed", "columns", "rows", "backwards", "repeated", "part")
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-5, "float64": 1e-13}
SIZES = (1, 2, 8, 17, 64, 200, 512)


@pytest.fixture(params=[ms.PYNATIVE_MODE, ms.GRAPH_MODE], autouse=True)
def mode(request):
    with ms.set_context(mode=request.param, jit_level="O1"):
        yield


def laid(rng: np.random.Generator, shape: tuple[int, int], dtype: Any, layout: str) -> ms.Tensor:
    """A tensor of this shape whose elements lie in this way."""
    m, n = shape
    made: Any = lambda *s: ms.Tensor(rng.standard_normal(s).astype(np.float32)).astype(dtype)
    if layout == "transposed":
        return made(n, m).T
    if layout == "columns":
        return made(m, 2 * n)[:, ::2]
    if layout == "rows":
        return made(2 * m, n)[1::2]
    if layout == "backwards":
        return made(m, n)[::-1]
    if layout == "repeated":
        return ops.broadcast_to(made(1, n), (m, n))
    if layout == "part":
        return made(m + 3, n + 5)[2 : m + 2, 4 : n + 4]
    return made(m, n)


@pytest.mark.parametrize("dtype", list(TOLERANCE))
def test_products_of_operands_in_any_layout(dtype):
    seed = int(np.random.default_rng().integers(1 << 31))
    print(f"seed {seed}")
    rng = np.random.default_rng(seed)
    for first in LAYOUTS:
        for second in LAYOUTS:
            m, k, n = (int(rng.choice(SIZES)) for _ in range(3))
            x = laid(rng, (m, k), getattr(ms, dtype), first)
            y = laid(rng, (k, n), getattr(ms, dtype), second)
            wide = [t.astype(ms.float64).asnumpy() for t in (x, y)]
            bound = TOLERANCE[dtype] * (abs(wide[0]) @ abs(wide[1]) + 1)
            for made in (ops.matmul(x, y), ops.matmul(y.T, x.T).T):
                error = abs(made.astype(ms.float64).asnumpy() - wide[0] @ wide[1])
                assert (error <= bound).all(), (first, second, m, k, n)


def test_a_dense_layer_in_half_precision_trains_as_in_float32():
    """As `amp_level="O2"` runs it: the weights are read transposed."""
    net = ms.nn.Dense(512, 64)
    x = ms.Tensor(np.random.default_rng(0).standard_normal((64, 512)).astype(np.float32))
    half = ms.nn.Dense(512, 64).to_float(ms.float16)
    half.load_state_dict(net.state_dict())
    np.testing.assert_allclose(half(x).asnumpy(), net(x).asnumpy(), atol=2e-2)
    grads = [ms.grad(lambda x, n=n: n(x).astype(ms.float32).sum(), None, n.trainable_params())(x) for n in (net, half)]
    for want, got in zip(*grads):
        np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-2, atol=1e-1)
