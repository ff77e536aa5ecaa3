"""Derivatives of higher order: closed forms, polynomials of several inputs, both modes, wrong series."""

from __future__ import annotations

import math

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import ArgumentError, AttributeValueError, ShapeError


def in_mode(program, mode):
    return ms.jit(program) if mode == ms.GRAPH_MODE else program


def test_derivatives_of_closed_forms(mode):
    x = ms.Tensor([0.3, 1.2])
    step = in_mode(lambda x: [ops.derivative(ops.sin, x, n)[1] for n in (1, 2, 3)], mode)
    first, second, third = step(x)
    np.testing.assert_allclose(first.asnumpy(), np.cos([0.3, 1.2]), rtol=1e-5)
    np.testing.assert_allclose(second.asnumpy(), -np.sin([0.3, 1.2]), rtol=1e-5)
    np.testing.assert_allclose(third.asnumpy(), -np.cos([0.3, 1.2]), rtol=1e-4)


def test_the_chain_of_a_curve(mode):
    """y = x(t)^2 with x = x0 + s1 t + s2 t^2 / 2: y' = 2 x0 s1, y'' = 2 s1^2 + 2 x0 s2."""
    step = in_mode(lambda x, s: ops.jet(ops.square, x, s), mode)
    value, found = step(ms.Tensor([3.0]), ms.Tensor([[2.0], [0.5]]))
    assert value.tolist() == [9.0]
    assert found.tolist() == [[12.0], [11.0]]


def test_several_inputs_and_results(mode):
    def program(x, y):
        return ops.jet(lambda x, y: (x * y, x + 2 * y), (x, y), (ms.Tensor([[1.0], [0.0]]), ms.Tensor([[3.0], [0.0]])))

    (product, total), (by_product, by_total) = in_mode(program, mode)(ms.Tensor([2.0]), ms.Tensor([5.0]))
    assert (product.tolist(), total.tolist()) == ([10.0], [12.0])
    assert by_product.tolist() == [[11.0], [6.0]]
    assert by_total.tolist() == [[7.0], [0.0]]


def test_a_cell_and_its_gradient(mode):
    net = ms.nn.Dense(2, 1)
    x = ms.Tensor([[1.0, 2.0]])
    slope = in_mode(lambda x: ops.derivative(lambda x: net(x) ** 2, x, 2)[1], mode)(x)
    step = float(net.weight.sum())
    np.testing.assert_allclose(slope.asnumpy(), [[2 * step**2]], rtol=1e-4)


def test_linearize_is_the_tangent(mode):
    def program(x, v):
        value, push = ops.linearize(lambda x: x**3, x)
        return value, push(v), push(2 * v)

    value, once, twice = in_mode(program, mode)(ms.Tensor([2.0]), ms.Tensor([1.0]))
    assert (value.tolist(), once.tolist(), twice.tolist()) == ([8.0], [12.0], [24.0])


def test_one_gradient_by_its_name(mode):
    net = ms.nn.Dense(1, 1)
    w = net.weight

    def program(x):
        return ms.grad(lambda x: net(x).sum(), 0, net.trainable_params(), return_ids=True)(x)

    found = in_mode(program, mode)(ms.Tensor([[4.0]]))
    assert ms.get_grad(found, w).tolist() == [[4.0]]
    assert ms.get_grad(found, 0).tolist() == w.tolist()
    with pytest.raises(RuntimeError, match="no gradient of 7"):
        ms.get_grad(found, 7)


def test_wrong_series():
    x = ms.Tensor([1.0, 2.0])
    with pytest.raises(ShapeError, match="does not fit an input"):
        ops.jet(ops.sin, x, ms.Tensor([1.0, 2.0]))
    with pytest.raises(ArgumentError, match="each input has one"):
        ops.jet(ops.sin, (x, x), (ms.Tensor([[1.0, 0.0]]),))
    with pytest.raises(AttributeValueError, match="at least 1"):
        ops.derivative(ops.sin, x, 0)
    assert math.isclose(float(ops.derivative(ops.exp, ms.Tensor(0.0), 4)[1]), 1.0, rel_tol=1e-4)
