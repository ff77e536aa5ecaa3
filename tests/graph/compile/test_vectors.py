"""Products with vectors become sums: the same numbers, in every arrangement of the operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.core.types import tensor_type
from msnb.devices.device import ArrayDevice
from msnb.graph.compile import PASSES, Log
from msnb.ir.analysis.verifier import verify
from msnb.ir.builder import build
from msnb.ir.graph import Graph

ARRANGEMENTS = {
    "x @ column": (lambda m, k: ((m, k), (k, 1)), lambda x, v: x @ v),
    "x.T @ column": (lambda m, k: ((k, m), (k, 1)), lambda x, v: x.transpose(1, 0) @ v),
    "x @ row.T": (lambda m, k: ((m, k), (1, k)), lambda x, v: x @ v.transpose(1, 0)),
    "row @ x": (lambda m, k: ((1, m), (m, k)), lambda v, x: v @ x),
    "row @ x.T": (lambda m, k: ((1, k), (m, k)), lambda v, x: v @ x.transpose(1, 0)),
    "column.T @ x": (lambda m, k: ((m, 1), (m, k)), lambda v, x: v.transpose(1, 0) @ x),
    "x @ vector": (lambda m, k: ((m, k), (k,)), lambda x, v: ops.matmul(x, v)),
    "vector @ x": (lambda m, k: ((m,), (m, k)), lambda v, x: ops.matmul(v, x)),
    "vector @ vector": (lambda m, k: ((k,), (k,)), lambda v, x: ops.matmul(v, x)),
    "row @ column": (lambda m, k: ((1, k), (k, 1)), lambda v, x: v @ x),
    "column @ row": (lambda m, k: ((m, 1), (1, k)), lambda u, v: u @ v),
    "row.T @ column.T": (lambda m, k: ((1, m), (k, 1)), lambda u, v: u.transpose(1, 0) @ v.transpose(1, 0)),
}


def regrouped(graph: Graph) -> tuple[Graph, set[str]]:
    log = Log(keep=True)
    out = PASSES["regroup"].run(graph, log)
    verify(out, "hardware_independent")
    return out, {note.law for note in log.history}


def run(graph: Graph, args: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return [np.asarray(a) for a in ArrayDevice("reference", np).compile(graph)(args)]


def made(name: str, m: int, k: int, dtype: Any) -> Graph:
    shapes, fn = ARRANGEMENTS[name]
    return build("f", [tensor_type(s, dtype) for s in shapes(m, k)], fn)


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_no_product_is_left(name: str, rng: np.random.Generator) -> None:
    for m, k in ((4, 3), (1, 5), (5, 1), (1, 1), tuple(int(n) for n in rng.integers(2, 40, 2))):
        graph = made(name, m, k, ms.float64)
        out, laws = regrouped(graph)
        assert laws & {"matrix times vector", "outer product"}
        assert not any(node.op.name == "matmul" for node in out.nodes)
        args = [rng.standard_normal(p.type.shape) for p in graph.params]
        for want, got in zip(run(graph, args), run(out, args), strict=True):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-12 * k * m)


@pytest.mark.parametrize("dtype", [ms.float16, ms.bfloat16, ms.int32])
def test_short_floats_and_integers_stay_products(dtype: Any) -> None:
    assert not regrouped(made("x @ column", 4, 3, dtype))[1]


def test_empty_ones_and_stacks_stay_products() -> None:
    assert not regrouped(made("x @ column", 4, 0, ms.float32))[1]
    stack = build("f", [tensor_type(s, ms.float32) for s in ((2, 4, 3), (3, 1))], lambda x, v: x @ v)
    assert not regrouped(stack)[1]


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_what_is_not_a_number_stays_one(name: str, bad: float, rng: np.random.Generator) -> None:
    graph = made(name, 4, 3, ms.float64)
    out, _ = regrouped(graph)
    args = [rng.standard_normal(p.type.shape) for p in graph.params]
    args[0].flat[int(rng.integers(args[0].size))] = bad
    for want, got in zip(run(graph, args), run(out, args), strict=True):
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))


@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_compiled_products_with_vectors(name: str, rng: np.random.Generator) -> None:
    """Both levels, against a product in double precision: rounding of the terms of each sum bounds the difference."""
    m, k = (int(n) for n in rng.integers(1, 200, 2))
    shapes, fn = ARRANGEMENTS[name]
    args = [rng.standard_normal(s).astype(np.float32) for s in shapes(m, k)]
    found = ms.jit(lambda x, y: ops.tanh(fn(ops.sin(x), y)))(*map(ms.Tensor, args)).asnumpy()
    wide = [ms.Tensor(a.astype(np.float64)) for a in args]
    want = np.tanh(fn(ops.sin(wide[0]), wide[1]).asnumpy())
    np.testing.assert_allclose(found, want, rtol=0, atol=2e-7 * 200 * max(float(np.abs(a).max()) for a in args))
