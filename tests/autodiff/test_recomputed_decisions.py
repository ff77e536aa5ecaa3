"""What a gradient compares is what was computed: never a value that other code computes again, one bit off."""

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.core import dtypes
from msnb.core.types import tensor_type
from msnb.ir.analysis.reproducibility import deciding_operands, reproduces
from msnb.ir.kernel.scalar_expressions import deciding_names, is_reproducible
from tests.autodiff.programs import graph_of, op

FUNCTIONS = ["tanh", "exp", "sin", "sigmoid", "erf", "gelu", "softplus", "log1p", "silu", "expm1"]
INPUTS = {
    np.float32: np.random.default_rng(3).normal(size=(40, 30)).astype(np.float32),
    np.float64: np.random.default_rng(4).normal(size=(5, 7)),
}


@pytest.fixture(autouse=True)
def compiled():
    ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O1")


@pytest.mark.parametrize("dtype", INPUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("axis", [0, 1])
def test_the_least_element_has_a_gradient(name, axis, dtype):
    x = ms.Tensor(np.abs(INPUTS[dtype]) + dtype(0.1))
    function = getattr(ops, name)
    least = ms.jit(lambda v: ops.amin(function(v * 1.0), axis))

    found = ms.grad(lambda v: least(v).sum())(x).asnumpy()
    values = function(x).asnumpy()
    wanted = np.zeros(x.shape, bool)
    np.put_along_axis(wanted, np.expand_dims(values.argmin(axis), axis), True, axis)
    np.testing.assert_array_equal(found != 0, wanted)


@pytest.mark.parametrize("transform", [ms.jacfwd, ms.jacrev, ms.grad])
@pytest.mark.parametrize("name", ["tanh", "sigmoid", "erf"])
def test_second_derivatives_of_a_least_element_are_not_lost(name, transform):
    x = ms.Tensor(np.abs(INPUTS[np.float64]) + 0.1)
    function = getattr(ops, name)
    first = transform(lambda v: ops.amin(function(v), 0).sum())
    out, pull = ms.vjp(first, x)
    inside = ms.jit(lambda v: pull_of(first, v))(x).asnumpy()
    np.testing.assert_allclose(pull(ops.ones_like(out))[0].asnumpy(), inside, rtol=1e-9, atol=1e-12)
    assert (inside != 0).sum() == x.shape[1]


def pull_of(first, v):
    out, pull = ms.vjp(first, v)
    return pull(ops.ones_like(out))[0]


@pytest.mark.parametrize("name", ["tanh", "gelu", "exp"])
@pytest.mark.parametrize("side", [8, 64])
def test_a_pooled_function_has_one_gradient_in_each_window(name, side):
    x = ms.Tensor(np.random.default_rng(side).normal(size=(2, 3, side, side)).astype(np.float32) + 1)
    pooled = ms.jit(lambda v: ops.max_pool2d(getattr(ops, name)(v * 1.0), 2, 2))
    found = ms.grad(lambda v: pooled(v).sum())(x).asnumpy()
    assert (found != 0).sum() == x.size // 4


def test_steps_of_a_function_stay_where_they_were():
    x = ms.Tensor(np.linspace(0.5, 3, 3000))
    steps = ms.jit(lambda v: (ops.floor(ops.exp(v * 1.0) * 40) * v).sum())
    found = ms.grad(lambda v: steps(v))(x).asnumpy()
    whole = ms.jit(lambda v: ops.floor(ops.exp(v * 1.0) * 40))(x).asnumpy()
    np.testing.assert_array_equal(found, whole)


def test_what_gives_the_same_bits_everywhere():
    assert all(map(is_reproducible, ("x + y", "x * y", "x / y", "sqrt(x)", "-x", "where(x > 0, x, 0)", "max(x, y)")))
    assert not any(map(is_reproducible, ("exp(x)", "x * y + z", "1 / sqrt(x)", "pow(x, y)", "x // y")))
    assert deciding_names("where(x > 0, y, z)") == {"x"}
    assert deciding_names("floor(x) + y") == {"x"} and deciding_names("x // y") == {"x", "y"}
    assert deciding_names("max(x, y)") == frozenset()


def test_nodes_tell_what_they_decide_on():
    types = [tensor_type((2, 3), dtypes.float32)] * 2

    def program(x, y):
        greater = op("greater", x, y)
        return op("argmax", op("sum", op("where", greater, x, y), axis=0), axis=0)

    nodes = {n.op.name: n for n in graph_of("f", types, program).nodes}
    assert len(deciding_operands(nodes["greater"])) == 2 and reproduces(nodes["greater"])
    assert deciding_operands(nodes["argmax"]) and not reproduces(nodes["argmax"])
    assert not deciding_operands(nodes["sum"]) and not reproduces(nodes["sum"])
