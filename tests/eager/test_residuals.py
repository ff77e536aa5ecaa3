"""What recorded programs keep for their gradients."""

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.autodiff import vjp
from msnb.base import device_registry
from msnb.core.types import tensor_type
from msnb.eager.residual_selection import slim
from msnb.ir.analysis.verifier import verify
from msnb.ir.builder import build
from msnb.ir.graph import Graph

X = tensor_type((6, 8), ms.float32)
ROW = tensor_type((8,), ms.float32)
SQUARE = tensor_type((8, 8), ms.float32)


def norm(x: Any, scale: Any) -> Any:
    middle = x - x.mean(-1, keep_dims=True)
    return middle * ops.rsqrt((middle * middle).mean(-1, keep_dims=True) + 1e-5) * scale


PROGRAMS = {
    "gelu": (lambda x: ops.gelu(x, approximate="tanh"), (X,), 1),
    "softmax": (lambda x: ops.softmax(x, -1), (X,), 4),
    "a chain": (lambda x: ops.exp(ops.sin(x) * 2.0) + x, (X,), 1),
    "a product between": (lambda x, w: ops.tanh(ops.tanh(ops.matmul(ops.tanh(x), w)) * 2.0), (X, SQUARE), 4),
    "a norm": (norm, (X, ROW), 4),
    "a view": (lambda x, row: ops.exp(x.T * row.reshape(8, 1)), (X, ROW), 3),
    "two results": (lambda x: (ops.exp(x), ops.exp(x) * x), (X,), 2),
}


def run(graph: Graph, args: list[Any]) -> list[Any]:
    found: list[Any] = device_registry.current().compile(graph)(args)
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients_are_those_of_everything_kept(name: str) -> None:
    fn, types, most = PROGRAMS[name]
    graph = build("f", types, fn)
    rng = np.random.default_rng(7)
    args = [rng.standard_normal(t.ints()).astype(np.float32) for t in types]
    douts = [rng.standard_normal(v.type.ints()).astype(np.float32) for v in graph.outputs]  # type: ignore[union-attr]
    wrt, n = range(len(types)), len(graph.outputs)
    plain = vjp(graph, wrt)
    want = run(plain.backward, [*run(plain.forward, args)[n:], *douts])
    forward, backward = slim(vjp(graph, wrt))
    verify(forward)
    verify(backward)
    kept = run(forward, args)
    assert len(kept) - n <= min(most, plain.residuals + 1)
    for a, b in zip(run(backward, [*kept[n:], *douts]), want):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_draws_are_kept() -> None:
    ms.set_seed(3)
    drop = ms.jit(lambda x: ops.dropout(x * 2.0, p=0.5, training=True))
    for _ in range(3):
        y, dx = ms.value_and_grad(lambda x: (drop(x)).sum())(ms.Tensor(np.ones((64, 64), np.float32)))
        assert float(y) == pytest.approx(float(dx.sum()))
        assert 0 < float(y) < 4 * 64 * 64


def test_long_chains_are_cut() -> None:
    def long(x: Any) -> Any:
        for _ in range(80):
            x = ops.sin(x)
        return x

    pair = vjp(build("f", [X], long), [0])
    nodes = len(pair.backward.nodes)
    forward, backward = slim(pair)
    assert len(backward.nodes) < nodes + 81
    assert len(forward.outputs) >= 3
