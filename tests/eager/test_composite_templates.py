"""Framework functions at changing sizes: bound from one program with symbols, with the numbers of the single ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.core.engine import whole
from msnb.eager.composite_programs import _programs, _templates
from msnb.eager.composite_templates import CompositeProgram

SIZES = [(94, 300), (90, 300), (83, 300), (84, 301), (90, 512), (300, 300), (1, 30000), (67, 431), (94, 300)]


@pytest.fixture(autouse=True)
def compiled() -> Iterator[None]:
    before = ms.get_context("jit_level")
    ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O1")
    _programs.clear()
    _templates.clear()
    yield
    ms.set_context(jit_level=before)


def bound() -> int:
    """How many programs came from one with symbols."""
    return sum(isinstance(p, CompositeProgram) and p._template is not None for p in _programs.values())


FUNCTIONS = {
    "gelu": lambda x: ops.gelu(x, approximate="tanh"),
    "softmax": lambda x: ops.softmax(x, axis=-1),
    "softmax of axis 0": lambda x: ops.softmax(x, 0),
    "log_softmax": ops.log_softmax,
    "layer_norm": lambda x: ops.layer_norm(x, x.shape[1:], eps=1e-5),
    "silu": ops.silu,
    "cross_entropy": lambda x: ops.cross_entropy(x, ms.Tensor(np.arange(x.shape[0]) % x.shape[1], ms.int32)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_gradients_at_every_size(name: str, rng: np.random.Generator) -> None:
    fn = FUNCTIONS[name]

    def loss(x: Any) -> Any:
        return (fn(x) * ops.sin(x * 3)).sum()

    for shape in SIZES:
        x = ms.Tensor(rng.standard_normal(shape).astype(np.float32))
        ms.set_context(jit_level="O1")
        found = ms.value_and_grad(loss)(x)
        plain = fn(x)
        ms.set_context(jit_level="O0")
        expected = ms.value_and_grad(loss)(x)
        np.testing.assert_allclose(plain.asnumpy(), fn(x).asnumpy(), rtol=2e-4, atol=2e-5)
        for a, b in zip(found, expected):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-3, atol=2e-4)
    if name != "layer_norm":  # its shape is a setting
        assert bound() >= 4


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_recurrent_layers_of_changing_length_and_batch(kind: str, rng: np.random.Generator) -> None:
    net = getattr(nn, kind)(8, 16)
    weights = net.trainable_params()

    def loss(x: Any) -> Any:
        y, _ = net(x)
        return (y * y).mean()

    for length, batch in [(5, 3), (9, 3), (7, 3), (7, 4), (5, 6), (12, 2), (1, 4), (4, 1), (6, 6), (5, 3)]:
        x = ms.Tensor(rng.standard_normal((length, batch, 8)).astype(np.float32))
        ms.set_context(jit_level="O1")
        _, (dx, grads) = ms.value_and_grad(loss, 0, weights)(x)
        ms.set_context(jit_level="O0")
        _, (expected, others) = ms.value_and_grad(loss, 0, weights)(x)
        for a, b in zip((dx, *grads), (expected, *others)):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=2e-3, atol=2e-5)
    assert bound() >= 4


def test_python_that_needs_the_number_is_traced_for_every_size(rng: np.random.Generator) -> None:
    @whole
    def powers(x: Any) -> Any:
        out = x
        for k in range(x.shape[0] % 3):
            out = out * (k + 2.0)
        return out if x.shape[0] > 40 else -out

    for n in (30, 31, 32, 41, 42, 43, 30):
        x = ms.Tensor(rng.standard_normal((n, 1000)).astype(np.float32))
        factor = {0: 1.0, 1: 2.0, 2: 6.0}[n % 3] * (1 if n > 40 else -1)
        np.testing.assert_allclose(powers(x).asnumpy(), x.asnumpy() * factor, rtol=1e-6)
        np.testing.assert_allclose(ms.grad(powers)(x).asnumpy(), np.full((n, 1000), factor), rtol=1e-6)


def test_sizes_that_changed_alike_may_part_later(rng: np.random.Generator) -> None:
    @whole
    def scores(x: Any, y: Any) -> Any:
        return ops.softmax(ops.matmul(x, y.T), -1) if x.shape[0] != y.shape[0] else ops.matmul(x, y.T) * 2

    for n, m in [(200, 200), (210, 210), (220, 220), (220, 230), (240, 250), (260, 260), (1, 300)]:
        x, y = (ms.Tensor(rng.standard_normal((k, 100)).astype(np.float32)) for k in (n, m))
        product = x.asnumpy() @ y.asnumpy().T
        e = np.exp(product - product.max(-1, keepdims=True))
        want = product * 2 if n == m else e / e.sum(-1, keepdims=True)
        np.testing.assert_allclose(scores(x, y).asnumpy(), want, rtol=2e-4, atol=2e-4)


def test_second_derivatives_at_a_bound_size(rng: np.random.Generator) -> None:
    first = ms.grad(lambda x: ops.silu(x).sum())
    for n in (100, 120, 140, 160):
        x = ms.Tensor(rng.standard_normal((n, 200)).astype(np.float32))
        ms.set_context(jit_level="O1")
        second = ms.grad(lambda x: first(x).sum())(x)
        ms.set_context(jit_level="O0")
        expected = ms.grad(lambda x: first(x).sum())(x)
        np.testing.assert_allclose(second.asnumpy(), expected.asnumpy(), rtol=1e-3, atol=1e-4)
