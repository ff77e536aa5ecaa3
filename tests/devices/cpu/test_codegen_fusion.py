"""What fusion does to a program: the same values bit for bit, updates side by side, nothing stored that is cheap."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb as ms
from msnb import ops
from msnb.graph.compile.passes.fusion import grouping, rematerialize
from msnb.graph.compile.passes.fusion.grouping import fuse
from msnb.ir.control_flow import FUSED
from msnb.ir.graph import Graph, Node
from msnb.ir.text.parser import parse
from msnb.ops.elementwise.constant import constant
from tests.devices.cpu.codegen_programs import REFERENCE, buffers, traced
from tests.devices.cpu.test_codegen_groups import Programs

pytest.importorskip("llvmlite")


def groups(graph: Graph) -> list[Node]:
    return [n for n in graph.nodes if n.op is FUSED]


@pytest.mark.parametrize("every", [False, True])
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32))
def test_fused_programs_are_the_same_programs(every: bool, seed: int) -> None:
    """Small values count as large ones here, so that much is computed again in readers."""
    program = Programs(seed)
    with pytest.MonkeyPatch.context() as patch, np.errstate(all="ignore"):
        patch.setattr(rematerialize, "WORTH", 2)
        patch.setattr(grouping, "WORTH", 2)
        patch.setattr(rematerialize, "SMALL", 2)
        want = REFERENCE.compile(program.graph)(buffers(program.args))
        got = REFERENCE.compile(fuse(program.graph, every))(buffers(program.args))
    for x, y in zip(got, want, strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_large_value_is_read_once_for_several_reductions(rng: np.random.Generator) -> None:
    """The gradients of a layer norm: the shift's sums what comes back, which the others read too, before or after."""

    def gradients(x: Any, w: Any, b: Any, back: Any) -> Any:
        return ms.grad(lambda x, w, b: (ops.layer_norm(x, (64,), w, b) * back).sum(), (0, 1, 2))(x, w, b)

    arrays = [rng.standard_normal(s).astype(np.float32) for s in ((512, 64), (64,), (64,), (512, 64))]
    graph = traced(gradients, *map(ms.Tensor, arrays))
    fused = fuse(graph)
    assert len(groups(fused)) == 1 and len(fused.outputs) == 3
    for x, y in zip(REFERENCE.compile(fused)(arrays), REFERENCE.compile(graph)(arrays), strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "program, kernels",
    [
        (lambda x, y: (x.sum(0), (x * y).max(1)), 1),
        (lambda x, y: (x.sum(0), (y * 2).max(1)), 2),  # they read nothing in common
        (lambda x, y: (ops.exp(ops.matmul(x.sum(0, keepdims=True), y.T)), x * y), 1),  # nothing waits for the other
        (lambda x, y: ops.sin(x) * ops.matmul(x.sum(0, keepdims=True), y.T).mean(), 2),  # one waits for the other
    ],
)
def test_who_reads_the_same_value_runs_together_if_it_can(program: Any, kernels: int, rng: np.random.Generator) -> None:
    arrays = [rng.standard_normal((300, 200)).astype(np.float32) for _ in range(2)]
    graph = traced(program, *map(ms.Tensor, arrays))
    fused = fuse(graph)
    assert len(groups(fused)) == kernels, str(fused)
    for x, y in zip(REFERENCE.compile(fused)(arrays), REFERENCE.compile(graph)(arrays), strict=True):
        np.testing.assert_array_equal(x, y)


def updates(*operands: Any) -> Any:
    lr, pairs = operands[0], list(zip(operands[1::2], operands[2::2]))
    return tuple(p - lr * g for p, g in pairs)


def test_updates_of_many_parameters_are_one_group(rng: np.random.Generator) -> None:
    shapes = [(4, 5), (7,), (2, 3, 4), (1,), (9, 9), (6,), (5, 5), (3,), (8,), (2, 2)]
    arrays = [rng.standard_normal(s).astype(np.float32) for s in shapes for _ in range(2)]
    args = [ms.Tensor(np.float32(0.1)), *map(ms.Tensor, arrays)]
    found = groups(fuse(traced(updates, *args), True))
    assert len(found) <= 2 and sum(len(n.outputs) for n in found) == len(shapes)


def test_numbers_are_laid_beside_a_larger_tensor_by_its_readers(rng: np.random.Generator) -> None:
    """The gradient of a sum: worked out once for each number, and nothing as large as the tensor stands between."""

    def scaled(x: Any, y: Any) -> Any:
        return ops.broadcast_to((ops.sigmoid(x) * 2).expand_dims(1), y.shape) * y

    x, y = (rng.standard_normal(s).astype(np.float32) for s in ((300,), (300, 400)))
    graph = fuse(traced(scaled, ms.Tensor(x), ms.Tensor(y)))
    assert [n.op for n in graph.nodes if n.op is not constant] == [FUSED, FUSED]
    assert groups(graph)[0].out.type.size == 300
    (found,) = REFERENCE.compile(graph)([x, y])
    np.testing.assert_allclose(found, 2 / (1 + np.exp(-x[:, None])) * y, rtol=0, atol=1e-4)


def test_a_batch_is_cut_when_it_has_grown_large(rng: np.random.Generator) -> None:
    arrays = [rng.standard_normal(1_500_000).astype(np.float32) for _ in range(6)]
    found = groups(fuse(traced(updates, ms.Tensor(np.float32(0.1)), *map(ms.Tensor, arrays))))
    assert len(found) == 3


def test_what_is_cheap_is_not_kept_for_the_gradient(rng: np.random.Generator) -> None:
    """A matrix product parts forward from backward; x - mean and the like do not cross."""
    x, w = (ms.Tensor(rng.standard_normal(s).astype(np.float32)) for s in ((256, 64), (64, 64)))

    def loss(x: Any, w: Any, b: Any) -> Any:
        return ops.tanh(ops.layer_norm(x @ w, (64,), b, b) @ w).sum()

    b = ms.Tensor(rng.standard_normal(64).astype(np.float32))
    fused = fuse(traced(ms.grad(loss, (0, 1)), x, w, b))
    first = next(n for n in groups(fused) if any(m.op.name == "rsqrt" for m in n.graphs[0].nodes))
    large = [v for v in first.outputs if v.type.size == 256 * 64]
    assert len(large) == 1, "the normalised value alone is read by the product"
    assert any(m.op.name == "subtract" for n in groups(fused)[1:] for m in n.graphs[0].nodes)


def test_a_view_comes_behind_a_group_that_was_put_off() -> None:
    """The counter, ready at once, waits for the group that the view is of; the view must wait for both."""
    text = """\
graph f(y: f64[2], n: i64[]) -> (f64[3], i64[])
  %1 = matmul(y, y) : f64[]
  %2 = multiply(%1, %1) : f64[]
  %3 = reshape(%2, shape=(1,)) : f64[1]
  %4 = concat(%3, y) : f64[3]
  %5 = subtract(n, ~1) : i64[]
  return %4, %5"""
    graph = fuse(parse(text), True)
    assert [n.op.name for n in graph.nodes if n.op is not constant] == ["matmul", "fused", "reshape", "concat"]
    found = REFERENCE.compile(graph)([np.array([1.0, 2.0]), np.array(5)])
    assert found[0].tolist() == [25.0, 1.0, 2.0] and found[1] == 4


def test_tensors_of_other_sizes_are_not_walked_together(rng: np.random.Generator) -> None:
    """A number that both read makes no group of them: every element of one would be computed for each of the other."""
    shapes = ((64, 48), (80, 32), (80, 32))
    arrays = [rng.standard_normal(s).astype(np.float32) for s in shapes]
    args = [ms.Tensor(np.float32(0.5)), *map(ms.Tensor, arrays)]

    def both(rate: Any, x: Any, y: Any, z: Any) -> Any:
        step = ops.exp(rate) + 1
        return x * step, (y + z).swapaxes(0, 1) * step

    graph = traced(both, *args)
    fused = fuse(graph, True)
    for node in groups(fused):
        sizes = {v.type.size for v in (*node.inputs, *node.outputs)}  # type: ignore[union-attr]
        assert not {64 * 48, 80 * 32} <= sizes
    for got, want in zip(REFERENCE.compile(fused)(buffers(args)), REFERENCE.compile(graph)(buffers(args)), strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_column_and_a_row_that_meet_are_one_group(rng: np.random.Generator) -> None:
    args = [ms.Tensor(rng.standard_normal(s).astype(np.float32)) for s in ((90, 1), (1, 70))]
    graph = fuse(traced(lambda x, y: (x + 1) * 2 + (y + 2) * 3, *args), True)
    assert len(groups(graph)) == 1
