"""``ops.vm_impl_registry``: implementations for debugging that a program registers; and what its own operators lack."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor


def test_a_registered_implementation_is_handed_out(mode: int) -> None:
    import mindspore.ops.vm_impl_registry
    from mindspore import ops
    from mindspore.ops.vm_impl_registry import get_vm_impl_fn, vm_impl_registry

    assert mindspore.ops.vm_impl_registry is ops.vm_impl_registry is vm_impl_registry

    @vm_impl_registry.register(ops.ReLU)
    def of_relu(operator: object) -> object:
        return lambda x: (getattr(operator, "name", operator), x)

    vm_impl_registry.register("NoOperator")(lambda name: lambda x: 2 * x)
    try:
        assert get_vm_impl_fn(ops.ReLU())(3) == ("ReLU", 3) == get_vm_impl_fn("ReLU")(3)
        assert get_vm_impl_fn("NoOperator")(4) == 8
        assert [get_vm_impl_fn(x) for x in ("Nothing", ops.Tanh(), ops.ReLU, 3)] == [None] * 4
        for wrong in (3, None, ops.relu):
            with pytest.raises(TypeError, match="an operator class or a name"):
                vm_impl_registry.register(wrong)
        assert ops.ReLU()(Tensor([-1.0, 2.0])).tolist() == [0.0, 2.0]
    finally:
        vm_impl_registry.clear()


def test_load_keeps_the_value_that_was_there(mode: int) -> None:
    from mindspore import ops

    p = ms.Parameter(Tensor([1.0]), name="p")

    def step() -> Tensor:
        before = ops.operations.Load()(p)
        ops.assign(p, p + 1)
        return before

    assert (ms.jit(step) if mode == ms.GRAPH_MODE else step)().tolist() == [1.0]
    assert p.tolist() == [2.0]


def test_gradients_of_batch_norm(mode: int, rng: np.random.Generator) -> None:
    from mindspore import ops
    from mindspore.ops.operations import _grad_ops as G

    for layout, channel in (("NCHW", 1), ("NHWC", 3)):
        x, dy = (Tensor(rng.standard_normal((3, 2, 4, 2)).astype(np.float32)) for _ in range(2))
        scale, bias = Tensor([1.5, 0.5]), Tensor([0.1, 0.2])
        axes = tuple(i for i in range(4) if i != channel)
        mean, variance = Tensor(x.asnumpy().mean(axes)), Tensor(x.asnumpy().var(axes))
        for training in (True, False):
            norm, pull = ops.BatchNorm(training, data_format=layout), G.BatchNormGrad(training, 1e-5, layout)
            found = (ms.jit(pull) if mode == ms.GRAPH_MODE else pull)(dy, x, scale, mean, variance, variance)

            def loss(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
                return (norm(x, scale, bias, mean, variance)[0] * dy).sum()

            for ours, wanted in zip(found, ms.grad(loss, (0, 1, 2))(x, scale, bias)):
                np.testing.assert_allclose(ours.asnumpy(), wanted.asnumpy(), rtol=1e-3, atol=1e-4)
    with pytest.raises(ValueError, match="data_format"):
        G.BatchNormGrad(True, 1e-5, "HWC")(dy, x, scale, mean, variance, variance)
