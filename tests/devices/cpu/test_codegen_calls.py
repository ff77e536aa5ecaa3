"""Generated kernels called by hand: many operand sets in one call, results in their operands' memory, any threads."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb as ms
from msnb import ops
from msnb.graph.compile.passes.fusion.grouping import fuse
from msnb.ir.control_flow import FUSED
from msnb.ir.graph import Graph, Node
from msnb.ir.kernel.strided_views import whole
from tests.devices.cpu.codegen_programs import REFERENCE, traced

pytest.importorskip("llvmlite")


FENCE = 64


class Declined(Exception):
    """The call wants the reference body to run."""


FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def find_recipe(node: Node, view_of: Any) -> Any:
    """From the code generator alone."""
    from msnb.devices.cpu.codegen import kernel_library
    from msnb.devices.cpu.kernels import gather_scatter, philox

    return kernel_library.recipe(node, view_of) or gather_scatter.recipe(node, view_of) or philox.recipe(node, view_of)


def fused_node(fn: Any, arrays: list[np.ndarray]) -> tuple[Node, list[np.ndarray]]:
    """The kernel of a function, and the arrays in the order in which it reads them."""
    graph = fuse(traced(fn, *map(ms.Tensor, arrays)), True)
    (node,) = [n for n in graph.nodes if n.op is FUSED]
    return node, [arrays[graph.params.index(v)] for v in node.inputs]


def joined(nodes: list[Node]) -> Node:
    """One fused node that does the work of several, as the fusion of updates makes it."""
    from msnb.ir.graph import copy_node

    body, graph = Graph("fused", nodes[0].graphs[0].module), Graph("joined")
    outputs, inputs = [], []
    for node in nodes:
        seen = {p: body.add_param(p.type, p.name) for p in node.graphs[0].params}
        inputs += [graph.add_param(p.type, p.name) for p in node.graphs[0].params]
        for inner in node.graphs[0].nodes:
            copy_node(inner, body, seen)
        outputs += [seen[v] for v in node.graphs[0].outputs]
    body.outputs = outputs
    return graph.add(FUSED, inputs, {}, [v.type for v in outputs], (body,))


def run(node: Node, arrays: list[np.ndarray], threads: int = 1, inplace: bool = False) -> list[np.ndarray]:
    """Call the kernels of a node; with ``inplace``, results lie in operands wherever they may."""
    made = find_recipe(node, whole)
    assert made is not None
    type(made).prepare([made])
    ins = [np.array(a) for a in arrays]
    fenced = [np.full(v.type.size + FENCE, 77, v.type.dtype.numpy) for v in node.outputs]
    outs = [a[:-FENCE].reshape(v.type.ints()) for a, v in zip(fenced, node.outputs)]
    if inplace:
        assert made.inplace, "nothing may be done in place"
        free = list(range(len(ins)))
        for i, j in made.inplace:
            if i in free and not any(np.shares_memory(outs[j], a) for a in ins):
                outs[j] = ins[i].reshape(outs[j].shape)
                free.remove(i)
        assert any(np.shares_memory(out, a) for out in outs for a in ins)
    temps = [np.empty(t, np.uint8) for t in made.temps]
    memory = [*ins, *outs, *temps]
    slots = (ctypes.c_void_p * len(memory))(*(a.ctypes.data for a in memory))
    numbers = list(range(len(memory)))
    a, b = len(ins), len(ins) + len(outs)
    for call in made.calls(numbers[:a], numbers[a:b], numbers[b:]):
        address, numbers = call.resolved()
        words = (ctypes.c_int64 * len(numbers))(*numbers)
        if FUNCTION(address)(slots, words, (ctypes.c_int64 * 4)(threads, 0)):
            raise Declined
    assert all((a[-FENCE:] == np.full(FENCE, 77, a.dtype)).all() for a in fenced), "written beyond a result"
    return outs


@pytest.mark.parametrize("dtype", ["int8", "float16", "bfloat16", "int16"])
@pytest.mark.parametrize("width", [1, 2, 15, 17, 31, 33, 65])
def test_nothing_is_written_beyond_a_row(width: int, dtype: str, rng: np.random.Generator) -> None:
    """LLVM 22 stores one i16 under a constant mask as the i32 that it was cut from."""
    x, y = rng.integers(-50, 50, (3, width)).astype(np.float32), rng.integers(-9, 9, width).astype(np.float32)
    node, arrays = fused_node(lambda x, y: (x + y).astype(dtype), [x, y])
    np.testing.assert_array_equal(run(node, arrays)[0].astype(np.float32), x + y)


def update(p: Any, g: Any, m: Any, lr: Any) -> Any:
    m = m * 0.9 + g
    return p - lr * m, m


def update_args(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    return [*(rng.standard_normal(n).astype(np.float32) for _ in range(3)), np.float32(0.1).reshape(())]


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("inplace", [False, True])
def test_many_updates_are_one_call(threads: int, inplace: bool, rng: np.random.Generator) -> None:
    sizes = [5, 64, 800_000, 1000, 129, 300_001]
    sets = [update_args(rng, n) for n in sizes]
    made = [fused_node(update, s) for s in sets]
    got = run(joined([n for n, _ in made]), [a for _, arrays in made for a in arrays], threads, inplace)
    for k, (p, g, m, lr) in enumerate(sets):
        moment = m * np.float32(0.9) + g
        np.testing.assert_allclose(got[2 * k], moment, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(got[2 * k + 1], p - lr * moment, rtol=1e-6, atol=1e-6)


def test_extents_share_one_kernel(rng: np.random.Generator) -> None:
    from msnb.devices.cpu.codegen.kernel_library import KernelRecipe, recipe

    nodes = [fused_node(update, update_args(rng, n))[0] for n in (7, 100, 4096)]
    made = [recipe(n, lambda v: v) for n in nodes]
    KernelRecipe.prepare([m for m in made if m is not None])
    assert len({c.resolved()[0] for m in made if m is not None for c in m.calls([0, 1, 2, 3], [4, 5], [])}) == 1


def test_parts_of_different_kinds(rng: np.random.Generator) -> None:
    one, two = update_args(rng, 333), [rng.standard_normal((9, 41)).astype(np.float32)]
    first, second = fused_node(update, one), fused_node(lambda x: ops.softmax(x), two)
    got = run(joined([first[0], second[0]]), [*first[1], *second[1]])
    np.testing.assert_allclose(
        got[2], REFERENCE.compile(traced(lambda x: ops.softmax(x), ms.Tensor(two[0])))(two)[0], rtol=1e-5
    )
    np.testing.assert_allclose(got[0], one[2] * np.float32(0.9) + one[1], rtol=1e-6, atol=1e-6)


def test_what_all_rows_read_is_not_overwritten(rng: np.random.Generator) -> None:
    """A number stored in the first row must not lie where the next rows read one."""
    from msnb.devices.cpu.codegen.kernel_library import KernelRecipe, recipe

    x, a = rng.standard_normal((33, 8)).astype(np.float32), np.float32([0.5])

    def fn(x: Any, a: Any) -> Any:
        b = a * 2 + 1
        return x * b + a, b

    node, order = fused_node(fn, [x, a])
    made = recipe(node, whole)
    assert made is not None
    KernelRecipe.prepare([made])
    assert all(order[i].size > 1 for i, _ in made.inplace)


FUNCTIONS = {
    "chain": lambda x, y: ops.tanh(x * y) + x,
    "softmax": lambda x, y: ops.softmax(x + y),
    "norm": lambda x, y: (x - x.mean(1, keepdims=True)) * ops.rsqrt(x.var(1, keepdims=True) + 1e-5) * y,
    "sums": lambda x, y: (x * y, x.sum(0), (x + y).sum(1), x.max()),
    "rows": lambda x, y: x * y.sum(1, keepdims=True) + ops.exp(x),
    "column": lambda x, y: (x + y[:, :1], y * 2),
    "turned": lambda x, y: ops.transpose(x, (1, 0)) * 2 + 1,
}


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 40), st.sampled_from([2, 3, 15, 16, 17, 63, 64, 65, 130, 1000, 4097]), st.integers(1, 4))
@pytest.mark.parametrize("name", FUNCTIONS)
def test_shapes_threads_and_memory(name: str, rows: int, columns: int, threads: int) -> None:
    rng = np.random.default_rng(rows * columns)
    arrays = [rng.standard_normal((rows, columns)).astype(np.float32) for _ in range(2)]
    graph = traced(FUNCTIONS[name], *map(ms.Tensor, arrays))
    fused = fuse(graph, True)
    nodes = [n for n in fused.nodes if n.op is FUSED]
    if len(nodes) != 1 or len(nodes[0].outputs) != len(fused.outputs):
        return
    want = dict(zip(fused.outputs, REFERENCE.compile(graph)(arrays)))
    got = run(nodes[0], [arrays[fused.params.index(v)] for v in nodes[0].inputs], threads)
    for value, found in zip(nodes[0].outputs, got):
        np.testing.assert_allclose(found, want[value], rtol=2e-5, atol=1e-6 * np.abs(want[value]).max() + 1e-5)
