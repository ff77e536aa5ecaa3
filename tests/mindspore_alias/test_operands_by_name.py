"""Operators called with MindSpore's names of operands, and gradients that a program registers for its own operators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import ArgumentError


def run(fn: Any, *inputs: Any) -> Any:
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


X = ms.Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])


def test_words_of_functions_that_lie_behind_an_operator(mode: int) -> None:
    from mindspore import ops

    calls: dict[str, tuple[Any, Any]] = {
        "Concat": (lambda x: ops.Concat(axis=1)(tensors=(x, x)), lambda x: ops.concat((x, x), 1)),
        "Stack": (lambda x: ops.Stack()(tensors=[x, x]), lambda x: ops.stack([x, x])),
        "Reshape": (lambda x: ops.Reshape()(input=x, shape=(3, 2)), lambda x: x.reshape(3, 2)),
        "MatMul": (lambda x: ops.MatMul(transpose_b=True)(input=x, mat2=x), lambda x: x @ x.T),
        "Sub": (lambda x: ops.Sub()(other=2 * x, input=x), lambda x: x - 2 * x),
        "ReduceSum": (lambda x: ops.ReduceSum(keep_dims=True)(x=x, axis=1), lambda x: x.sum(1, keepdims=True)),
        "GatherV2": (lambda x: ops.GatherV2()(params=x, indices=ms.Tensor([1]), axis=0), lambda x: x[1:]),
        "Complex": (lambda x: ops.Complex()(imag=x, real=2 * x).real(), lambda x: 2 * x),
        "LinSpace": (lambda x: ops.LinSpace()(start=x[0, 0], stop=x[0, 2], num=3), lambda x: x[0]),
        "Softmax": (lambda x: ops.Softmax(axis=0)(input=x), lambda x: ops.softmax(x, 0)),
    }  # fmt: skip
    for name, (by_name, expected) in calls.items():
        np.testing.assert_allclose(run(by_name, X).asnumpy(), run(expected, X).asnumpy(), rtol=1e-6, err_msg=name)


def test_batch_norm_by_name(mode: int) -> None:
    from mindspore import ops

    one = ms.ops.ones(3)

    def norm(x: Any) -> Any:
        return ops.BatchNorm(epsilon=0.0)(input_x=x, scale=2 * one, bias=one, mean=one, variance=one)[0]

    np.testing.assert_allclose(run(norm, X).asnumpy(), 2 * (X.asnumpy() - 1) + 1, rtol=1e-6)


def test_a_name_that_no_operand_has(mode: int) -> None:
    from mindspore import ops

    with pytest.raises(TypeError, match="tensorz"):
        run(lambda x: ops.Concat()(tensorz=(x, x)), X)
    with pytest.raises(ArgumentError, match="by one name"):
        run(lambda x: ops.Concat()(xs=(x, x), tensors=(x, x)), X)


def test_partial_with_arguments_by_name(mode: int) -> None:
    from mindspore import ops

    def summed(x: Any) -> Any:
        return ops.Partial()(ops.ReduceSum(keep_dims=True), axis=1)(x)

    np.testing.assert_array_equal(run(summed, X).asnumpy(), [[6.0], [15.0]])
    with pytest.raises(ArgumentError, match="a function"):
        ops.Partial()(3, axis=1)


def test_registered_gradients(mode: int) -> None:
    from mindspore import ops
    from mindspore.ops._grad_experimental.grad_base import bprop_getters

    class Scaled(ops.Primitive):
        def __init__(self, by: float) -> None:
            super().__init__("Scaled")
            self.by = by

        def __call__(self, x: Any) -> Any:
            return x * self.by

    @bprop_getters.register(Scaled)
    def rule(self: Any) -> Any:
        def bprop(x: Any, out: Any, dout: Any) -> Any:
            return (dout * 100 * self.by + out,)

        return bprop

    twice = Scaled(2.0)
    np.testing.assert_array_equal(run(lambda x: twice(x), X).asnumpy(), 2 * X.asnumpy())
    slope = ms.grad(lambda x: twice(x).sum())
    np.testing.assert_array_equal(run(lambda x: slope(x), X).asnumpy(), 200 + 2 * X.asnumpy())
    for wrong in ("Scaled", twice, ms.nn.Dense):
        with pytest.raises(TypeError, match="class of operators"):
            bprop_getters.register(wrong)


def test_a_registered_gradient_of_too_few_parts(mode: int) -> None:
    from mindspore import ops
    from mindspore.ops._grad_experimental.grad_base import bprop_getters

    class Summed(ops.Primitive):
        def __call__(self, x: Any, y: Any) -> Any:
            return x + y

    @bprop_getters.register(Summed)
    def rule(self: Any) -> Any:
        return lambda x, y, out, dout: (dout,)

    with pytest.raises(RuntimeError, match="gradient"):
        run(ms.grad(lambda x: Summed("Summed")(x, x).sum()), X)


def test_modules_of_multitype_operators() -> None:
    from mindspore import ops
    from mindspore.common import _monad
    from mindspore.ops.composite.multitype_ops import ones_like_impl
    from mindspore.ops.composite.multitype_ops.zeros_like_impl import zeros_like

    assert zeros_like is ops.zeros_like and ones_like_impl.ones_like is ops.ones_like
    with pytest.raises(AttributeError):
        _ = _monad.U


def test_set_dtype_of_a_tensor(mode: int) -> None:
    x = ms.Tensor([1.7, -2.2])
    same = x
    assert x.set_dtype(ms.int32) is ms.int32
    assert same.dtype is ms.int32 and same.tolist() == [1, -2]
    with pytest.raises(TypeError):
        x.set_dtype("no dtype")
