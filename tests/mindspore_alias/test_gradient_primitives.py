"""The primitives of gradients give the gradients of their functions, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor, ops

CASES: dict[str, tuple[Any, str]] = {
    "ACosGrad": (ops.acos, "x dout"),
    "AsinGrad": (ops.asin, "x dout"),
    "AtanGrad": (ops.atan, "x dout"),
    "SigmoidGrad": (ops.sigmoid, "out dout"),
    "TanhGrad": (ops.tanh, "out dout"),
    "SqrtGrad": (ops.sqrt, "out dout"),
    "InvGrad": (ops.reciprocal, "out dout"),
    "ReciprocalGrad": (ops.reciprocal, "out dout"),
    "ReluGrad": (ops.relu, "dout out"),
    "SoftplusGrad": (ops.softplus, "dout x"),
    "HShrinkGrad": (ops.hardshrink, "dout x"),
    "SoftShrinkGrad": (ops.softshrink, "dout x"),
    "ReLU6Grad": (ops.relu6, "dout x"),
    "EluGrad": (ops.elu, "dout out"),
}


@pytest.mark.parametrize("name", CASES)
def test_gradient_of_the_function(mode: int, name: str) -> None:
    import mindspore.ops.operations._grad_ops as grad_ops

    fn, order = CASES[name]
    low = 0.1 if name == "SqrtGrad" else -0.9
    x = Tensor(np.linspace(low, 0.95, 8, dtype=np.float32).reshape(2, 4))
    dout = Tensor(np.arange(8, dtype=np.float32).reshape(2, 4) - 3)
    given = {"x": x, "dout": dout, "out": fn(x)}
    primitive = getattr(grad_ops, name)()
    run = msnb.jit(primitive) if msnb.get_context("mode") == msnb.GRAPH_MODE else primitive
    found = run(*(given[word] for word in order.split()))
    wanted = msnb.grad(lambda x: (fn(x) * dout).sum())(x)
    np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=2e-5, atol=1e-6)


def test_attributes_and_wrong_calls(mode: int) -> None:
    import mindspore.ops.operations._grad_ops as grad_ops

    ones = Tensor([1.0, 1.0])
    assert grad_ops.HShrinkGrad(0.8)(ones, Tensor([0.7, -0.9])).tolist() == [0.0, 1.0]
    assert grad_ops.SoftShrinkGrad(lambd=0.6)(ones, Tensor([0.7, 0.5])).tolist() == [1.0, 0.0]
    with pytest.raises(msnb.base.errors.ArgumentError, match="attributes"):
        grad_ops.SqrtGrad(1.0)
    with pytest.raises(TypeError):
        grad_ops.SqrtGrad()(ones)
