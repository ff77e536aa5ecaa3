"""Products whose operands both repeat along a leading axis: every part of the result is computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

REPEATED = [
    ((3,), (6, 1, 3), (3, 4), (6, 3, 4)),
    ((2, 3), (6, 2, 3), (3, 4), (6, 3, 4)),
    ((1, 2, 3), (5, 2, 3), (1, 3, 3), (5, 3, 3)),
    ((4, 1, 2, 3), (4, 5, 2, 3), (3, 4), (4, 5, 3, 4)),
    ((1, 1, 2, 3), (4, 1, 2, 3), (1, 1, 3, 4), (1, 5, 3, 4)),
    ((3,), (6, 1, 3), (6, 3, 4), (6, 3, 4)),
]


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("a", "wide_a", "b", "wide_b"), REPEATED)
def test_products(a: Any, wide_a: Any, b: Any, wide_b: Any, turned: bool, level: str, rng: np.random.Generator) -> None:
    x, y = rng.normal(size=a), rng.normal(size=b)

    def program(x: Any, y: Any) -> Any:
        left = ops.broadcast_to((x * 2.0).reshape((1, *a) if len(a) == 1 else a), wide_a)
        right = ops.broadcast_to(y, wide_b)
        if turned:
            right = ops.broadcast_to(y.swapaxes(-1, -2), (*wide_b[:-2], wide_b[-1], wide_b[-2])).swapaxes(-1, -2)
        return ops.matmul(left, right)

    with ms.set_context(jit_level=level):
        found = ms.jit(program)(ms.Tensor(x), ms.Tensor(y)).asnumpy()
    want = np.broadcast_to(x * 2.0, wide_a) @ np.broadcast_to(y, wide_b)
    np.testing.assert_allclose(found, want, rtol=1e-12)


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_third_derivative_of_a_layer(level: str, rng: np.random.Generator) -> None:
    """As it was found: the columns of a Jacobian share one vector and one matrix."""
    x, w = ms.Tensor(rng.normal(size=(2, 3))), ms.Tensor(rng.normal(size=(3, 3)))

    def layer(v: Any) -> Any:
        s = ops.sin(v).sum()
        return ops.sin(ops.dense(ops.stack([s, s, s * 0.5]), w))

    with ms.set_context(jit_level=level):
        forward = ms.jit(lambda v: ms.grad(ms.grad(ms.jacfwd(layer)))(v))(x).asnumpy()
        backward = ms.jit(lambda v: ms.grad(ms.grad(ms.jacrev(layer)))(v))(x).asnumpy()
    np.testing.assert_allclose(forward, backward, rtol=1e-9)


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.float32], ids=str)
@pytest.mark.parametrize("shapes", [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((5, 2, 3), (3,))], ids=str)
def test_vectors_whose_elements_repeat(shapes: Any, dtype: Any) -> None:
    """One element, broadcast in the program, is a vector nevertheless."""
    x, y = (np.full(shape, 0.5) for shape in shapes)
    args = [ms.Tensor(a).astype(dtype) for a in (x[..., :1], y[..., :1])]
    with ms.set_context(jit_level="O1"):
        found = ms.jit(lambda a, b: ops.matmul(ops.broadcast_to(a, x.shape), ops.broadcast_to(b, y.shape)))(*args)
    np.testing.assert_array_equal(found.astype(ms.float64).asnumpy(), x @ y)
