"""Complex numbers in every record that takes them: one value in both modes, and gradients dL/d(re) + i dL/d(im).

Every example of every differentiable record is given imaginary parts; of what comes out, one real number is made by a
random weight per element, and its derivative in random directions is compared with central differences. The vectors of
eig, eigh and svd have phases that nobody chose, so their losses are made of what does not depend on them.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import MsnbError
from msnb.ops.definition.record import REGISTRY, Example, Op
from tests.ops.test_records import STRUCTURE

PHASES = {"eig", "eigh", "svd"}
RECORDS = [op for op in REGISTRY.values() if op.grad is not None and not op.traits & {"control", "stack"}]
CASES = [pytest.param(op, e, id=f"{op.name}-{i}") for op in RECORDS if op.name not in STRUCTURE | PHASES
         for i, e in enumerate(op.examples)]  # fmt: skip


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def tensors(made: Any) -> list[ms.Tensor]:
    """The results that have gradients."""
    parts = made if isinstance(made, (tuple, list)) else (made,)
    return [t for t in parts if isinstance(t, ms.Tensor) and t.dtype.differentiable]


def complex_numbers(x: Any, elementwise: bool, rng: np.random.Generator) -> Any:
    """Matrices keep what makes them regular; numbers that stand alone are turned by any angle."""
    if not isinstance(x, np.ndarray) or x.dtype.kind not in "fc":
        return x
    return x * np.exp(2j * np.pi * rng.random(x.shape)) if elementwise else x + 0.3j * rng.standard_normal(x.shape)


class Program:
    """A record on an example, as a function of the operands that are complex."""

    def __init__(self, op: Op, example: Example, rng: np.random.Generator) -> None:
        self.op, self.attrs = op, example.attrs
        self.inputs = [complex_numbers(x, "elementwise" in op.traits, rng) for x in example.inputs]
        self.at = [i for i, x in enumerate(self.inputs) if isinstance(x, np.ndarray) and x.dtype.kind == "c"]

    def __call__(self, *given: ms.Tensor) -> Any:
        inputs = [ms.Tensor(x) if isinstance(x, np.ndarray) else x for x in self.inputs]
        for i, x in zip(self.at, given, strict=True):
            inputs[i] = x
        return self.op(*inputs, **self.attrs)

    @property
    def arrays(self) -> list[np.ndarray]:
        return [self.inputs[i] for i in self.at]


def weighed(function: Callable[..., Any], weights: Sequence[np.ndarray]) -> Callable[..., Any]:
    """One real number: the real part of each element times its weight, added."""

    def loss(*given: ms.Tensor) -> Any:
        total: Any = 0
        for x, w in zip(tensors(function(*given)), weights, strict=True):
            total = total + (ops.real(x * ms.Tensor(w)) if x.dtype.is_complex else x * ms.Tensor(w.real)).sum()
        return total

    return loss


def compare(loss: Callable[..., Any], arrays: Sequence[np.ndarray], rng: np.random.Generator) -> None:
    """The gradient's derivative in a random direction against central differences."""
    found = ms.grad(loss, tuple(range(len(arrays))))(*map(ms.Tensor, arrays))
    found = found if isinstance(found, tuple) else (found,)
    ways = [rng.standard_normal(a.shape) + 1j * rng.standard_normal(a.shape) for a in arrays]
    h = 1e-6
    ends = [loss(*(ms.Tensor(a + s * h * d) for a, d in zip(arrays, ways))).asnumpy().item() for s in (1, -1)]
    want = (ends[0] - ends[1]) / (2 * h)
    got = sum(float((np.conj(g.asnumpy()) * d).real.sum()) for g, d in zip(found, ways))
    assert abs(got - want) <= 1e-5 * (1 + abs(want) + abs(got)), f"{got} is the gradient's, {want} the differences'"


@pytest.mark.parametrize(("op", "example"), CASES)
def test_gradients_by_complex_numbers(op: Op, example: Example, rng: np.random.Generator) -> None:
    program = Program(op, example, rng)
    ms.set_context(mode=ms.PYNATIVE_MODE)
    try:
        made = program(*map(ms.Tensor, program.arrays))
    except MsnbError:
        return  # it takes real numbers only, and says so
    values = tensors(made)
    if not any(a.size for a in program.arrays) or not values:
        return
    compiled = tensors(ms.jit(program)(*map(ms.Tensor, program.arrays)))
    for x, y in zip(values, compiled, strict=True):
        assert x.dtype is y.dtype
        np.testing.assert_allclose(y.asnumpy(), x.asnumpy(), rtol=1e-12, atol=1e-12)
    weights = [rng.standard_normal(t.shape) + 1j * rng.standard_normal(t.shape) for t in values]
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        compare(weighed(program, weights), program.arrays, rng)


def between(left: Any, middle: Any, right: Any) -> Any:
    """left diag(middle) right', in which the phases of both sides leave each other."""
    return ops.matmul(left * middle, right.conj().mT)


def of_svd(rows: int, columns: int) -> Callable[..., Any]:
    def made(x: Any) -> Any:
        s, u, v = ops.svd(x)
        return between(u, ops.sin(s), v), between(u[:, :1], 1.0, v[:, :1]), s

    return made


def of_eigh(x: Any) -> Any:
    w, v = ops.eigh(x)
    return between(v, ops.exp(-w), v), between(v[:, :1], 1.0, v[:, :1]), w


def of_eig(x: Any) -> Any:
    w, v = ops.eig(x)
    return between(v, ops.exp(-w), v), ops.abs(v), ops.matmul(v * w.expand_dims(-2), ops.inverse(v)), w * 1.0


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
@pytest.mark.parametrize(("made", "shape"), [(of_svd(4, 3), (4, 3)), (of_svd(3, 4), (3, 4)), (of_eigh, (3, 3)),
                                             (of_eig, (3, 3))])  # fmt: skip
def test_what_phases_do_not_change(mode: int, made: Any, shape: tuple[int, int], rng: np.random.Generator) -> None:
    ms.set_context(mode=mode)
    x = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
    if made is of_eigh:
        x = x @ x.conj().T + np.diag([1.0, 3.0, 9.0])
    weights = [rng.standard_normal(t.shape) + 1j * rng.standard_normal(t.shape) for t in made(ms.Tensor(x))]
    compare(weighed(made, weights), [x], rng)


def test_values_of_hermitian_matrices_are_numpys(rng: np.random.Generator) -> None:
    x = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
    h = x @ x.conj().T + np.eye(3)
    np.testing.assert_allclose(ops.cholesky(ms.Tensor(h)).asnumpy(), np.linalg.cholesky(h))
    np.testing.assert_allclose(ops.cholesky(ms.Tensor(h), upper=True).asnumpy(), np.linalg.cholesky(h).conj().T)
    np.testing.assert_allclose(ops.pinv(ms.Tensor(x[:, :2])).asnumpy(), np.linalg.pinv(x[:, :2]))
    np.testing.assert_allclose(ops.pinv(ms.Tensor(h), hermitian=True).asnumpy(), np.linalg.pinv(h))
    factor = ops.cholesky(ms.Tensor(h))
    np.testing.assert_allclose(ops.cholesky_inverse(factor).asnumpy(), np.linalg.inv(h), rtol=1e-6)
    values = ops.eigh(ms.Tensor(h))[0]
    assert values.dtype is ms.float64
    np.testing.assert_allclose(values.asnumpy(), np.linalg.eigvalsh(h))
    low = np.tril(x)
    for trans, matrix in ((1, low.T), (2, low.conj().T)):
        found = ops.solve_triangular(ms.Tensor(x), ms.Tensor(x[0]), trans, lower=True)
        np.testing.assert_allclose(found.asnumpy(), np.linalg.solve(matrix, x[0]))
    assert ops.slogdet(ms.Tensor(x))[1].dtype is ms.float64
