"""The programs whose speed is measured, at any size: as graphs after fusion, with their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import msnb as ms
from msnb import ops
from msnb.graph.compile.passes.fusion.grouping import fuse
from msnb.ir.graph import Graph
from tests.devices.cpu.codegen_programs import traced

Made = tuple[Graph, list[Any]]


def _tensors(*shapes: tuple[int, ...]) -> list[ms.Tensor]:
    rng = np.random.default_rng(5)
    return [ms.Tensor(rng.standard_normal(s).astype(np.float32)) for s in shapes]


def chain(x: Any, w: Any, b: Any) -> Any:
    """Some arithmetic with a function in it."""
    return ops.tanh(x * w + b) * 0.5 + ops.exp(-x * x) * w


def _chain(rows: int, columns: int) -> Made:
    args = _tensors(*[(rows * columns,)] * 3)
    return fuse(traced(chain, *args)), args


def _chain_gradient(rows: int, columns: int) -> Made:
    args = _tensors(*[(rows * columns,)] * 3)
    return fuse(traced(ms.grad(lambda *a: chain(*a).sum(), (0, 1, 2)), *args)), args


def _softmax(rows: int, columns: int) -> Made:
    args = _tensors((rows, columns))
    return fuse(traced(lambda x: ops.softmax(x), *args)), args


def _norm(rows: int, columns: int) -> Made:
    args = _tensors((rows, columns), (columns,), (columns,))
    return fuse(traced(lambda x, w, b: ops.layer_norm(x, (columns,), w, b), *args)), args


def _norm_gradient(rows: int, columns: int) -> Made:
    """From what comes back to the gradients of all three operands."""
    args = _tensors((rows, columns), (columns,), (columns,), (rows, columns))

    def gradient(x: Any, w: Any, b: Any, back: Any) -> Any:
        return ms.grad(lambda x, w, b: (ops.layer_norm(x, (columns,), w, b) * back).sum(), (0, 1, 2))(x, w, b)

    return fuse(traced(gradient, *args)), args


def adam(p: Any, m: Any, v: Any, g: Any) -> Any:
    """One step of Adam."""
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g * g
    return p - 0.01 * m / (ops.sqrt(v) + 1e-8), m, v


def _adam(rows: int, columns: int) -> Made:
    args = _tensors(*[(rows, columns)] * 4)
    args[2] = ms.Tensor(np.abs(args[2].asnumpy()))
    return fuse(traced(adam, *args)), args


def _cross_entropy(rows: int, columns: int) -> Made:
    args = [*_tensors((rows, columns)), ms.Tensor(np.arange(rows, dtype=np.int32) % columns)]
    return fuse(traced(ms.value_and_grad(lambda x, y: ops.cross_entropy(x, y)), *args)), args


def _sum(axis: Any) -> Callable[[int, int], Made]:
    def made(rows: int, columns: int) -> Made:
        args = _tensors((rows, columns))
        return fuse(traced(lambda x: (x * 1.5).sum(axis), *args)), args

    return made


PROGRAMS: dict[str, Callable[[int, int], Made]] = {
    "chain": _chain,
    "chain with gradient": _chain_gradient,
    "softmax": _softmax,
    "layer norm": _norm,
    "layer norm with gradient": _norm_gradient,
    "adam": _adam,
    "cross entropy": _cross_entropy,
    "sum of rows": _sum(1),
    "sum of columns": _sum(0),
    "sum of all": _sum(None),
}
