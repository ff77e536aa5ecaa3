"""Runs one node through a recipe, without the native program around it."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from msnb.core.dtypes import as_dtype
from msnb.core.types import tensor_type
from msnb.devices.cpu import thread_pool
from msnb.ir.graph import Graph
from msnb.ir.kernel.strided_views import whole
from msnb.ops.definition.record import find


def node_of(name: str, arrays: list[Any], attrs: dict[str, Any]) -> Any:
    """A node ``name(arrays)``."""
    op, graph = find(name), Graph("g")
    params = [graph.add_param(tensor_type(a.shape, as_dtype(a.dtype)), f"p{i}") for i, a in enumerate(arrays)]
    full = op.bind_attrs(attrs)
    return graph.add(op, params, full, op.result_types(tuple(p.type for p in params), full))


class Run:
    """A recipe with memory: call it to run, ``outs`` are its results."""

    def __init__(self, node: Any, recipe: Any, arrays: list[Any]) -> None:
        reads = node.inputs if recipe.reads is None else list(recipe.reads)
        self.recipe = recipe
        self.outs = [np.full(v.type.ints(), -77, v.type.dtype.numpy) for v in node.outputs]
        self.temps = [aligned(n) for n in recipe.temps]
        named = dict(zip(node.inputs, arrays))
        every = [*(named[v] for v in reads), *self.outs, *self.temps]
        self.slots = (ctypes.c_void_p * len(every))(*(a.ctypes.data for a in every))
        n, m = len(reads), len(self.outs)
        type(recipe).prepare([recipe])
        calls = recipe.calls(list(range(n)), list(range(n, n + m)), list(range(n + m, len(every))))
        self.env = (ctypes.c_int64 * 8)(thread_pool.count())
        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
        resolved = [c.resolved() for c in calls]
        self.calls = [(kind(address), (ctypes.c_int64 * len(words))(*words)) for address, words in resolved]
        self.keep = every, calls

    def __call__(self) -> int:
        for function, words in self.calls:
            code = function(self.slots, words, self.env)
            if code:
                return int(code)
        return 0


def aligned(size: int) -> Any:
    """Memory at a multiple of 64."""
    raw = np.zeros(size + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + size]


def run(name: str, arrays: list[Any], provider: Any, **attrs: Any) -> Any:
    """The results of a node by a provider's recipe; None without a recipe."""
    node = node_of(name, arrays, attrs)
    recipe = provider(node, whole)
    if recipe is None:
        return None
    made = Run(node, recipe, arrays)
    assert made() == 0
    return made.outs


def expected(name: str, arrays: list[Any], **attrs: Any) -> Any:
    """The results of the reference body."""
    op = find(name)
    found = op.body(np, *arrays, **op.bind_attrs(attrs))
    return list(found) if isinstance(found, tuple) else [found]
