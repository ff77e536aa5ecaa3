"""Groups: reductions with their readers, accumulations, views, control flow; and random programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb as ms
from msnb import ops
from msnb.base.errors import MsnbError
from msnb.core import dtypes
from msnb.devices.codegen.body_components import components
from msnb.devices.codegen.kernel_lowering import lower
from msnb.graph.compile.passes.dce import without_dead_nodes
from msnb.graph.compile.passes.fusion.grouping import fuse
from msnb.graph.compile.rewriting.rewrite_log import Log
from msnb.ir.builder import GraphBuilder
from msnb.ir.control_flow import FUSED
from msnb.ops.definition.record import find
from tests.devices.cpu.codegen_programs import REFERENCE, both, buffers, close, native, one_op, right_enough, traced

pytest.importorskip("llvmlite")

REDUCTIONS = ["sum", "mean", "prod", "max", "min", "any", "all", "count_nonzero", "var"]
AXES: list[Any] = [None, 0, 1, 2, (0, 1), (0, 2), (1, 2), (-1,)]


def tensor(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> ms.Tensor:
    return ms.Tensor((rng.standard_normal(shape) * 1.5).astype(dtype))


def check(fn: Any, *args: Any, atol: float = 3e-6, most: int | None = None) -> Any:
    graph = traced(fn, *args)
    pairs = both(graph, args, every=most is None)
    for got, want in pairs:
        np.testing.assert_allclose(np.asarray(got, np.float64), np.asarray(want, np.float64), rtol=3e-6,
                                   atol=atol * max(1.0, float(np.abs(np.asarray(want, np.float64)).max())))  # fmt: skip
    if most is not None:
        assert sum(n.op is FUSED for n in fuse(graph).nodes) <= most
    return graph


# ---- reductions -----------------------------------------------------------------------------------------------------


RARER = ("float64", "float16", "bfloat16", "uint8", "int64", "bool")


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize(
    "dtype",
    ["float32", "int32", *(pytest.param(d, marks=pytest.mark.slow) for d in RARER)],
)
def test_reductions_over_any_axes(name: str, dtype: str, rng: np.random.Generator) -> None:
    kind = dtypes.as_dtype(dtype)
    for axis in AXES:
        for keep in (False, True):
            x = ms.Tensor((rng.standard_normal((5, 3, 17)) + 0.5).astype(np.float32)).astype(dtype)
            if kind.is_int:
                x = ms.Tensor(rng.integers(0, 5, (5, 3, 17)).astype(kind.numpy))
            try:
                graph = one_op(find(name), [x], {"axis": axis, "keepdims": keep})
            except MsnbError:
                assert not kind.is_float, f"{name} refuses {dtype}"
                return
            rows = name != "var" or axis in (None, 2, (0, 2), (1, 2), (-1,))  # a variance is read inside: rows only
            for got, want in both(graph, [x], must=rows):
                half = kind in (dtypes.float16, dtypes.bfloat16)
                close(got, want, 30 if name == "prod" else 4 if half else 16, floor=0 if half else 1.0)


@pytest.mark.parametrize("name", ["max", "min", "sum"])
def test_a_nan_wins_in_a_reduction(name: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((6, 37)).astype(np.float32)
    x[1, 3] = np.nan
    x[2, 4], x[3, 5] = np.inf, -np.inf
    for axis in (None, 0, 1):
        for got, want in both(one_op(find(name), [ms.Tensor(x)], {"axis": axis, "keepdims": False}), [ms.Tensor(x)]):
            close(got, want, 16, floor=1.0)


def test_a_long_sum_keeps_its_digits(rng: np.random.Generator) -> None:
    x = ms.Tensor(rng.random(3_000_001).astype(np.float32))
    program = native(traced(lambda x: (x * 1.0).sum(), x))
    exact = float(x.asnumpy().astype(np.float64).sum())
    for threads in (1, 2, 3):
        with ms.set_context(runtime_num_threads=threads):
            assert abs(float(program(buffers([x]))[0]) - exact) <= 2e-7 * exact


def test_long_sums_of_columns_keep_their_digits(rng: np.random.Generator) -> None:
    x = ms.Tensor((rng.random((100_003, 18)) + 0.5).astype(np.float32))
    program = native(traced(lambda x: ((x * 1.0).sum(0), (x * x).sum(0)), x))
    wide = x.asnumpy().astype(np.float64)
    for threads in (1, 3):
        with ms.set_context(runtime_num_threads=threads):
            for got, exact in zip(program(buffers([x])), (wide.sum(0), (wide * wide).sum(0))):
                np.testing.assert_allclose(got, exact, rtol=3e-7)


def test_threads_do_not_change_results_of_rows(rng: np.random.Generator) -> None:
    x = tensor(rng, 517, 1031)
    program = native(traced(lambda x: ops.softmax(x), x))
    runs = []
    for threads in (1, 2, 5):
        with ms.set_context(runtime_num_threads=threads):
            runs.append(program(buffers([x]))[0].copy())
    np.testing.assert_array_equal(runs[0], runs[1])
    np.testing.assert_array_equal(runs[0], runs[2])


# ---- known groups ---------------------------------------------------------------------------------------------------


def test_softmax_is_one_kernel(rng: np.random.Generator) -> None:
    check(lambda x: ops.softmax(x), tensor(rng, 33, 101), most=1)
    check(lambda x: ops.log_softmax(x), tensor(rng, 4, 7, 5000), most=1)
    check(lambda x: ops.softmax(x, 0), tensor(rng, 33, 101))


def test_layer_norm_is_one_kernel_forward(rng: np.random.Generator) -> None:
    norm = lambda x, w, b: ops.layer_norm(x, (77,), w, b)
    args = tensor(rng, 19, 77), tensor(rng, 77), tensor(rng, 77)
    check(norm, *args, most=1)
    check(ms.grad(lambda x, w, b: (norm(x, w, b) * ops.sin(x)).sum(), (0, 1, 2)), *args, atol=1e-5)


def test_cross_entropy_with_gradient(rng: np.random.Generator) -> None:
    y = ms.Tensor(rng.integers(0, 10, 64))
    check(ms.value_and_grad(lambda x, y: ops.cross_entropy(x, y)), tensor(rng, 64, 10), y)


def test_batch_norm_with_gradient(rng: np.random.Generator) -> None:
    def norm(x: Any, w: Any) -> Any:
        mean = x.mean((0, 2, 3), keepdims=True)
        apart = x - mean
        scaled = apart * ops.rsqrt((apart * apart).mean((0, 2, 3), keepdims=True) + 1e-5)
        return scaled * w.reshape(1, -1, 1, 1)

    x, w = tensor(rng, 6, 5, 9, 7), tensor(rng, 5)
    check(norm, x, w, most=1)
    check(ms.grad(lambda x, w: (norm(x, w) ** 3).sum(), (0, 1)), x, w, atol=3e-5)


def test_views_are_absorbed(rng: np.random.Generator) -> None:
    x, y = tensor(rng, 12, 30), tensor(rng, 30, 12)
    check(lambda x, y: ops.exp(x) * y.T + x[::-1], x, y, most=1)
    check(lambda x, y: x.reshape(3, 4, 30).sum(1) * 2 + y.reshape(4, 3, 30)[1] - 1, x, y)
    check(lambda x, y: ops.broadcast_to(x[:, :1], (12, 30)) * x + ops.transpose(y * 2, (1, 0)), x, y)
    check(lambda x, y: (x[2:9:3, 1::2] * 2).exp(), x, y)


def test_views_of_numbers(rng: np.random.Generator) -> None:
    x = tensor(rng, 4, 6)
    check(lambda x: x * ops.broadcast_to(ms.Tensor([2.5]), (4, 6)) + ms.Tensor([[1.5]]).reshape(1), x)
    check(ms.grad(lambda x: ops.relu(ops.sigmoid(ops.tanh(x))).sum()), x)


def test_an_op_without_code_runs_on_its_body(rng: np.random.Generator) -> None:
    """Inverse of erf has no kernel; its neighbours in the program are not harmed."""
    x = ms.Tensor(rng.uniform(-0.9, 0.9, (5, 8)).astype(np.float32))
    with ms.set_context(jit_level="O1"):
        got = ms.jit(lambda x: ops.erf(ops.erfinv(x * 0.5)) * 2 + 0)(x).asnumpy()
    np.testing.assert_allclose(got, x.asnumpy(), atol=2e-6)


def test_outer_products_and_growing_spaces(rng: np.random.Generator) -> None:
    x, y = tensor(rng, 13), tensor(rng, 13)
    check(lambda x, y: (x * 2).expand_dims(1) * (y + 1).expand_dims(0) + x, x, y)
    check(lambda x, y: ops.exp(x).expand_dims(1) + y, x, y)
    check(lambda x, y: (x * x + y).sum() * x, x, y)


def test_values_smaller_than_the_space_are_stored_once(rng: np.random.Generator) -> None:
    x, w = tensor(rng, 9, 31), tensor(rng, 31)

    def fn(x: Any, w: Any) -> Any:
        scale = w * 2 + 1
        y = x * scale
        return y, scale, y.sum(1), y.sum(0), (scale * scale).sum()

    check(fn, x, w)


def test_control_flow_bodies_are_fused(rng: np.random.Generator) -> None:
    def fn(x: Any) -> Any:
        i = ms.Tensor(0)
        while i < 3:
            x = ops.tanh(x * 2) + 0.5
            i = i + 1
        return x

    x = tensor(rng, 6, 50)
    jitted = ms.jit(fn)
    with ms.set_context(jit_level="O1"):
        got = jitted(x).asnumpy()
    np.testing.assert_allclose(got, fn(x).asnumpy(), rtol=3e-6, atol=3e-6)


# ---- buffers --------------------------------------------------------------------------------------------------------


def test_results_own_their_memory_and_are_never_overwritten(rng: np.random.Generator) -> None:
    x = tensor(rng, 400, 200)
    program = native(traced(lambda x: (ops.exp(x) * 2, (x * 2 + 1).reshape(-1)), x))
    first = program(buffers([x]))
    kept = [f.copy() for f in first]
    view = first[1][10:20]
    other = [f.copy() for f in program(buffers([tensor(rng, 400, 200)]))]
    del first
    program(buffers([tensor(rng, 400, 200)]))
    np.testing.assert_array_equal(view, kept[1][10:20])
    assert not np.array_equal(other[0], kept[0])


def test_buffers_that_nobody_holds_are_used_again(rng: np.random.Generator) -> None:
    x = tensor(rng, 400, 200)
    program = native(traced(lambda x: ops.exp(x) * 2, x))
    address = program(buffers([x]))[0].ctypes.data
    assert program(buffers([x]))[0].ctypes.data == address
    held = program(buffers([x]))[0]
    assert program(buffers([x]))[0].ctypes.data != held.ctypes.data


def test_operands_with_strides_and_read_only_ones(rng: np.random.Generator) -> None:
    x = rng.standard_normal((40, 60)).astype(np.float32)
    graph = traced(lambda x: ops.exp(x) * 2, ms.Tensor(x[::2, ::3].copy()))
    program = native(graph)
    frozen = x[::2, ::3]
    frozen.flags.writeable = False
    np.testing.assert_allclose(program([frozen])[0], np.exp(x[::2, ::3]) * 2, rtol=1e-6)


def test_large_angles_fall_back(rng: np.random.Generator) -> None:
    x = ms.Tensor(np.array([1.0, 1e30, -3e9, np.inf, 2.0], np.float32))
    check(lambda x: ops.sin(x) * 2 + ops.cos(x), x)


# ---- random programs ------------------------------------------------------------------------------------------------

UNARY = ["tanh", "negative", "abs", "square", "sigmoid", "relu", "sin", "erf", "floor", "isnan", "sign"]
STEPS = {"floor", "sign", "less", "greater", "isnan"}  # a digit more or less can turn them over
BINARY = ["add", "subtract", "multiply", "maximum", "minimum", "less"]


class Programs:
    """Grows a graph over f32[a,b] matrices, rows, columns and scalars."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.shape = tuple(int(n) for n in self.rng.choice([1, 2, 3, 5, 8, 33], 2))
        self.args = [tensor(self.rng, *s) for s in (self.shape, self.shape, self.shape[1:], (self.shape[0], 1), ())]
        with GraphBuilder("random") as b:
            self.values = [b.param(a._type, f"x{i}") for i, a in enumerate(self.args)]
            for _ in range(int(self.rng.integers(3, 24))):
                self.grow(b)
            made = self.values[len(self.args) :]
            chosen = {int(i) for i in self.rng.integers(0, len(made), 3)} | {len(made) - 1}
            b.output(*(made[i] for i in sorted(chosen)))
        self.graph = without_dead_nodes(b.graph, Log())  # as every graph is that comes to be fused
        self.smooth = not any(n.op.name in STEPS for n in self.graph.nodes)

    def pick(self, items: Any) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def operand(self) -> Any:
        x = self.pick(self.values[-7:] if self.rng.random() < 0.7 else self.values)
        return x if x.dtype is dtypes.float32 else find("cast")(x, dtype=dtypes.float32)

    def grow(self, b: Any) -> None:
        x = self.operand()
        kind = self.rng.random()
        try:
            self.values.append(self.make(x, kind))
        except MsnbError:
            return

    def make(self, x: Any, kind: float) -> Any:
        if kind < 0.3:
            return find(self.pick(UNARY))(x)
        if kind < 0.6:
            return find(self.pick(BINARY))(x, self.operand() if self.rng.random() < 0.8 else 0.5)
        if kind < 0.8:
            axis = self.pick([None, *range(x.ndim)])
            return find(self.pick(["sum", "mean", "max", "min", "var"]))(
                x, axis=axis, keepdims=bool(self.rng.random() < 0.6)
            )
        if kind < 0.85:
            return ops.where(x > 0, x, self.operand())
        return self.view(x)

    def view(self, x: Any) -> Any:
        kind = int(self.rng.integers(5))
        if kind == 0 and x.ndim == 2:
            return ops.transpose(x, (1, 0))
        if kind == 1:
            return ops.expand_dims(x, int(self.rng.integers(x.ndim + 1))) if x.ndim < 3 else ops.squeeze(x)
        if kind == 2:
            return ops.reshape(x, (-1,))
        if kind == 3 and x.ndim:
            return x[::-1] if self.rng.random() < 0.5 else x[: max(1, x.shape[0] // 2)]
        return ops.broadcast_to(x, self.shape) if x.ndim <= 2 else ops.squeeze(x)


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(st.integers(0, 2**32))
def test_random_programs(seed: int) -> None:
    """How far rounding may carry a result is measured: the reference on inputs that are off in the last digit."""
    program = Programs(seed)
    reference, args = REFERENCE.compile(program.graph), buffers(program.args)
    with np.errstate(all="ignore"):
        want, got = reference(args), native(program.graph)(args)
        noisy = [reference([a * np.float32(1 + k * 2e-7) for a in args]) for k in (-2, -1, 1, 2)]
    for i, (x, y) in enumerate(zip(got, want, strict=True)):
        assert x.dtype == y.dtype and x.shape == y.shape
        y64 = y.astype(np.float64)
        with np.errstate(all="ignore"):
            moved = np.max([np.abs(n[i].astype(np.float64) - y64) for n in noisy], axis=0, initial=0.0)
            off = np.abs(x.astype(np.float64) - y64)
        alike = (x == y) | (np.isnan(x) & np.isnan(y)) if x.dtype.kind == "f" else x == y
        scale = np.nanmax(np.abs(np.where(np.isfinite(y64), y64, 0)), initial=1.0)
        fine = alike | (off <= 30 * moved + 2e-6 * scale) | ~np.isfinite(moved)
        assert right_enough(fine, y, program.smooth), f"seed {seed}, result {i}: off by {off.max()}\n{program.graph}"


def test_alike_chains_over_parts_of_one_tensor_have_kernels(rng: np.random.Generator) -> None:
    """Pieces of another size than the rest of their tensor: loops of their own."""
    cuts = [(4, 5), (5, 9), (0, 4), (8, 9), (2, 9)]
    graph = traced(lambda x: tuple(ops.sigmoid(x[..., i:j]) for i, j in cuts), x := tensor(rng, 2, 3, 9))
    fused = [n for n in fuse(graph, True).nodes if n.op is FUSED]
    assert len(fused) == 3  # sizes 1, 4 and 7
    for node in fused:
        for body, _, _ in components(node.graphs[0]):
            lower(body)
    for got, want in both(graph, [x]):
        close(got, want, 8)


def test_a_number_laid_under_a_heavy_chain_has_a_kernel() -> None:
    """The readers of a view look through it only where their results still find loops to be stored by (seed 498)."""
    program = Programs(498)
    for got, want in both(program.graph, program.args):
        close(got, want, 8)


# ---- the order of dims ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(17, 33), (64, 48), (300, 40), (5, 20), (3, 18, 40)])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_most_operands_may_lie_across(shape: tuple[int, ...], dtype: str, rng: np.random.Generator) -> None:
    """The first operation of a group says in which order its dims come; the stores and most loads go the other way."""
    turned = shape[::-1]
    x, y, z, w = ((rng.standard_normal(s) * 9).astype(dtype) for s in (shape, shape, turned, turned))
    if dtype != "int8":
        x[..., 0], z[..., -1] = np.nan, np.inf
    args = [ms.Tensor(a) for a in (x, y, z, w)]

    def across(x: Any, y: Any, z: Any, w: Any) -> Any:
        t = (x + y).T
        return t * z, t - w

    graph = traced(across, *args)
    for got, want in both(graph, args):
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


def test_the_row_goes_where_results_lie_close(rng: np.random.Generator) -> None:
    args = [tensor(rng, *shape) for shape in ((64, 48), (64, 48), (48, 64))]
    fused = fuse(traced(lambda x, y, z: (x + y).T * z, *args), True)
    (node,) = [n for n in fused.nodes if n.op is FUSED]
    kernel = lower(node.graphs[0])
    assert [access.strides[-1] for access, _ in kernel.stores] == [1]
