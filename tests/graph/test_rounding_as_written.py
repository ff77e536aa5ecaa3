"""Arithmetic rounds as it is written, however it is compiled: where equals are subtracted, zero is left, and the bits
of a chain of + - * / are those of eager mode. Functions and sums stay within their bounds of a float64 reference."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

Floats = Callable[..., Any]


@pytest.fixture(autouse=True, params=["O0", "O1"])
def level(request: pytest.FixtureRequest) -> None:
    ms.set_context(jit_level=request.param)


@pytest.mark.parametrize("factor", [3.0, 1e9, 1e10, 1e12])
def test_softmax_of_large_numbers(mode: int, factor: float, rng: np.random.Generator) -> None:
    x = rng.standard_normal((200, 10)).astype(np.float32)
    product = (x * np.float32(factor)).astype(np.float64)
    apart = np.exp(product - product.max(1, keepdims=True))
    want = apart / apart.sum(1, keepdims=True)
    run = ms.jit if mode == ms.GRAPH_MODE else lambda f: f
    found = run(lambda a: ops.softmax(a * factor, -1))(ms.Tensor(x)).asnumpy()
    np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-7)
    for fn in (ops.log_softmax, lambda a, axis: ops.logsumexp(a, axis)):
        assert np.isfinite(run(lambda a: fn(a * factor, -1))(ms.Tensor(x)).asnumpy()).all()


EQUALS: dict[str, Floats] = {
    "a row and itself, broadcast": lambda x, y: x * y - (x[:1] * y[:1]),
    "its largest element": lambda x, y: x * y - (x * y).max(axis=1, keepdims=True),
    "the same product": lambda x, y: x * y - y * x,
    "the negative product": lambda x, y: x * y + (-x) * y,
    "a product set aside": lambda x, y: (lambda p: p * 3 - (p + p + p) + (p * 3 - p * 3))(x * y),
    "a quotient": lambda x, y: x / y * y - (x[:1] / y[:1]) * y[:1],
    "through a function": lambda x, y: ops.exp((x * y) - ops.maximum(x * y, y * x)),
    "through a choice": lambda x, y: x * y - ops.where(x > 0, x * y, y * x),
    "half precision": lambda x, y: (lambda h: h * h - h * h)(ops.cast(x, ms.float16)),
}


@pytest.mark.parametrize("name", EQUALS)
def test_equals_leave_what_eager_mode_leaves(name: str, rng: np.random.Generator) -> None:
    fn = EQUALS[name]
    for scale in (1.0, 1e18):
        x, y = ((rng.standard_normal((7, 33)) * scale).astype(np.float32) for _ in range(2))
        y[0], x[1] = 3.0, x[0]
        eager, graph = fn(ms.Tensor(x), ms.Tensor(y)).asnumpy(), ms.jit(fn)(ms.Tensor(x), ms.Tensor(y)).asnumpy()
        np.testing.assert_array_equal(graph, eager)


def random_chain(rng: np.random.Generator, steps: int) -> Floats:
    """A program of + - * / that often subtracts what it has computed already, in another shape or order."""
    plan = [(rng.choice(["+", "-", "*", "/", "again"]), *rng.integers(0, 100, 2)) for _ in range(steps)]

    def program(*values: Any) -> Any:
        known = list(values)
        for word, i, j in plan:
            a, b = known[i % len(known)], known[j % len(known)]
            if word == "again":
                known.append((a * b) - (a[:1] * b[:1] if i % 2 else b * a))
            else:
                known.append({"+": a + b, "-": a - b, "*": a * b, "/": a / b}[word])
        return tuple(known[-4:])

    return program


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_random_arithmetic_has_the_bits_of_eager_mode(dtype: Any, rng: np.random.Generator) -> None:
    for case in range(12):
        program = random_chain(rng, int(rng.integers(3, 14)))
        scales = 10.0 ** rng.integers(-3, 4, 3)
        inputs = [ms.Tensor((rng.standard_normal((5, 19)) * scale).astype(dtype)) for scale in scales]
        with np.errstate(all="ignore"):
            eager = program(*inputs)
        for found, want in zip(ms.jit(program)(*inputs), eager, strict=True):
            np.testing.assert_array_equal(found.asnumpy(), want.asnumpy(), err_msg=f"case {case}")


def test_functions_of_arithmetic_stay_within_ulps(rng: np.random.Generator) -> None:
    """Inputs of the functions are rounded as written; the functions themselves are good to 4 ulp."""
    functions = {"exp": np.exp, "tanh": np.tanh, "sin": np.sin, "log1p": np.log1p}
    x, y = (rng.uniform(0.1, 2, (4, 300)).astype(np.float32) for _ in range(2))
    exact = (x * y).astype(np.float32) - (x[:1] * y[:1]).astype(np.float32)
    exact = np.abs(exact).astype(np.float32)
    for name, reference in functions.items():
        fn = lambda a, b, name=name: getattr(ops, name)(ops.abs(a * b - a[:1] * b[:1]))
        want = reference(exact.astype(np.float64))
        for way in (fn, ms.jit(fn)):
            found = way(ms.Tensor(x), ms.Tensor(y)).asnumpy()
            ulps = np.abs(found - want) / np.spacing(np.abs(want).astype(np.float32) + np.float32(1e-30))
            assert ulps.max() <= 4, (name, ulps.max())


def test_sums_stay_within_their_bound(rng: np.random.Generator) -> None:
    """256 additions in a row at most, then float64: the bound of docs/numerics.md."""
    for shape, axis in (((3000, 7), 0), ((7, 3000), 1), ((40, 50, 60), (0, 2)), ((5000,), None)):
        x, y = (rng.standard_normal(shape).astype(np.float32) for _ in range(2))
        terms = (x * y).astype(np.float64)
        bound = (256 + terms.size / 256) * 2.0**-24 * np.abs(terms).sum(axis)
        fn = lambda a, b, axis=axis: (a * b).sum(axis=axis)
        for way in (fn, ms.jit(fn)):
            assert (np.abs(way(ms.Tensor(x), ms.Tensor(y)).asnumpy() - terms.sum(axis)) <= bound).all()
