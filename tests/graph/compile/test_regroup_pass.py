"""Regrouped sums and products: the same values but for last digits, less work, NaN and infinity where they were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.core.types import tensor_type
from msnb.devices.device import ArrayDevice
from msnb.graph.compile import PASSES, Log, compile_graph, optimise
from msnb.graph.compile.passes.reassociation import REGROUPINGS
from msnb.ir.analysis.verifier import verify
from msnb.ir.builder import build
from msnb.ir.graph import Graph
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import print_graph
from msnb.ops.definition.record import REGISTRY

REGROUP = PASSES["regroup"]
F64 = ms.float64


def regrouped(graph: Graph) -> tuple[Graph, Log]:
    text, log = print_graph(graph), Log(keep=True)
    out = REGROUP.run(graph, log)
    verify(out, "hardware_independent")
    assert print_graph(graph) == text, "a pass must not change its input"
    return out, log


def run(graph: Graph, args: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return [np.asarray(a) for a in ArrayDevice("reference", np).compile(graph)(args)]


def count(graph: Graph, *names: str) -> int:
    return sum(n.op.name in names for n in graph.nodes)


def gradient(fn: Any, shapes: Any) -> Graph:
    """The graph of a function and its gradients to all of its arguments, for a given gradient of the result."""
    n = len(shapes) - 1

    def both(*args: Any) -> Any:
        y, pull = ms.vjp(fn, *args[:n])
        found = pull(args[n])
        return (y, *found) if isinstance(found, tuple) else (y, found)

    return optimise(build("both", [tensor_type(s, F64) for s in shapes], both))[0]


def check(graph: Graph, rng: np.random.Generator) -> tuple[Graph, Log]:
    out, log = regrouped(graph)
    args = [rng.standard_normal(p.type.shape) for p in graph.params]
    for want, got in zip(run(graph, args), run(out, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)
    return out, log


def test_laws_are_complete() -> None:
    assert len({law.name for law in REGROUPINGS}) == len(REGROUPINGS)
    for law in REGROUPINGS:
        assert law.text and all(op in REGISTRY for op in law.ops)
        assert law.exact == (not law.differs)
        assert any(case.before != case.after for case in law.cases), law.name


X = (3, 4, 5, 2)


def norm(x: Any, g: Any, b: Any) -> Any:
    return ops.batch_norm_train(x, g, b)[0]


def test_batch_norm_backward_has_two_sums(rng: np.random.Generator) -> None:
    out, log = check(gradient(norm, (X, (4,), (4,), X)), rng)
    assert count(out, "sum", "sum_to") == 2
    assert {note.law for note in log.history} >= {"sum of a multiple", "sum of terms"}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [0, 3])
def test_what_is_not_a_number_stays_one(bad: float, where: int, rng: np.random.Generator) -> None:
    graph = gradient(norm, (X, (4,), (4,), X))
    out, _ = regrouped(graph)
    args = [rng.standard_normal(p.type.shape) for p in graph.params]
    args[where][1, 2, 0, 1] = bad
    for want, got in zip(run(graph, args), run(out, args), strict=True):
        np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))
        assert np.isfinite(want).any()


def test_sum_of_deviations_is_nan_where_the_mean_is() -> None:
    graph = parse("graph f(x: f64[2,3], y: f64[2,3]) -> (f64[2])\n  %1 = mean(x, axis=1, keepdims=True) : f64[2,1]\n"
                  "  %2 = subtract(x, %1) : f64[2,3]\n  %3 = add(%2, y) : f64[2,3]\n  %4 = sum(%3, axis=1) : f64[2]\n"
                  "  return %4")  # fmt: skip
    out, log = regrouped(graph)
    assert log.history
    x = np.array([[1.0, 2.0, np.inf], [1.0, 2.0, 4.0]])
    (got,) = run(out, [x, np.ones((2, 3))])
    assert np.isnan(got[0]) and abs(got[1] - 3.0) < 1e-12


def test_layer_norm_and_softmax_backward(rng: np.random.Generator) -> None:
    graph = gradient(lambda x, g, b: ops.layer_norm(x, 6, g, b), ((3, 4, 6), (6,), (6,), (3, 4, 6)))
    check(graph, rng)
    graph = gradient(lambda x: ops.softmax(x, -1), ((3, 4, 6), (3, 4, 6)))
    out, log = check(graph, rng)
    assert {"common divisor", "times a quotient"} <= {note.law for note in log.history}
    assert count(out, "divide") == 1, "the quotient of the forward pass serves the backward pass"


def test_gradient_of_a_weight_is_one_product(rng: np.random.Generator) -> None:
    graph = gradient(lambda x, w: ops.matmul(x, ops.transpose(w, (1, 0))), ((3, 4, 5), (6, 5), (3, 4, 6)))
    out, _ = check(graph, rng)
    products = [n for n in out.nodes if n.op.name == "matmul"]
    assert [n.out.type.shape for n in products].count((6, 5)) == 1
    assert count(out, "sum_to") == 0
    assert out.outputs[2].node.op.name == "matmul", "nothing is transposed afterwards"


def test_heads_cut_out_of_one_tensor_come_back_side_by_side(rng: np.random.Generator) -> None:
    def attention(t: Any) -> Any:
        t = t.reshape(2, 4, 3, 2, 5).transpose(2, 0, 3, 1, 4)
        return ops.matmul(ops.softmax(ops.matmul(t[0], t[1].swapaxes(-1, -2)), -1), t[2])

    out, log = check(gradient(attention, ((2, 4, 30), (2, 2, 4, 5))), rng)
    assert count(out, "concat") == 1
    assert count(out, "index", "unindex", "unslice") == 0


def test_pieces_that_leave_a_gap_are_added(rng: np.random.Generator) -> None:
    out, log = check(gradient(lambda t: t[0] * 2.0 + t[2, ::-1], ((3, 4), (4,))), rng)
    assert count(out, "unslice") == 2 and count(out, "concat") == 0


def product_tree(draw: np.random.Generator, leaves: list[Any], depth: int) -> Any:
    if depth == 0 or draw.random() < 0.2:
        return leaves[int(draw.integers(len(leaves)))]
    a, b = (product_tree(draw, leaves, depth - 1) for _ in range(2))
    return [lambda: a * b, lambda: a * b, lambda: -a, lambda: a / (b * b + 1.0), lambda: a + b, lambda: a - b,
            lambda: a - ops.mean(a, 1, True) if a.ndim > 1 else a][int(draw.integers(7))]()  # fmt: skip


def test_random_sums_keep_their_values(rng: np.random.Generator) -> None:
    seed, acted = int(rng.integers(2**31)), 0
    types = [tensor_type(s, F64) for s in ((3, 4, 5), (3, 4, 5), (4, 1), (5,), (3, 1, 1), ())]
    for k in range(60):
        draw = np.random.default_rng([seed, k])

        def program(*leaves: Any, draw: Any = draw) -> Any:
            trees = [product_tree(draw, list(leaves), 4) + leaves[0] * leaves[int(draw.integers(6))] for _ in range(2)]
            axes = [(0,), (1, 2), (0, 2), None, 1][int(draw.integers(5))]
            sums = [ops.sum(t, axes, keepdim=bool(draw.integers(2))) for t in (*trees, trees[0] * leaves[2])]
            return (*sums, ops.sum_to(trees[1], (4, 1)), ops.sum_to(trees[0], (1, 4, 1)))

        graph, _ = optimise(build("f", types, program))
        try:
            _, log = check(graph, draw)
        except AssertionError as error:
            raise AssertionError(f"seed {[seed, k]}\n{print_graph(graph)}\n{error}") from error
        acted += bool(log.history)
    assert acted > 8


def test_a_law_that_does_not_act_leaves_nothing_behind() -> None:
    """One term adds up to nothing, the others cannot be summed apart: the tree stays as it is, without the zero."""

    def program(x: Any, y: Any, row: Any, plane: Any) -> Any:
        return ops.sum(x - ops.mean(x, 1, True) + row * plane + plane * y, 1, True)

    shapes = ((3, 4, 5), (3, 4, 5), (3, 1, 1), (4, 5))
    graph, _ = optimise(build("f", [tensor_type(s, F64) for s in shapes], program))
    check(graph, np.random.default_rng(0))


def test_bodies_are_regrouped_and_short_floats_are_not() -> None:
    text = ("graph f(c: bool[], x: f32[2,3], s: f32[2,1]) -> (f32[2,1])\n  %1 = if(c, x, s) : f32[2,1]\n"
            "    then (x: f32[2,3], s: f32[2,1]):\n      %1 = multiply(x, s) : f32[2,3]\n"
            "      %2 = sum_to(%1, shape=(2, 1)) : f32[2,1]\n      yield %2\n"
            "    else (x: f32[2,3], s: f32[2,1]): yield s\n  return %1")  # fmt: skip
    out, _ = regrouped(parse(text))
    assert [n.op.name for n in out.nodes[0].graphs[0].nodes] == ["sum_to", "multiply"]
    assert not regrouped(parse(text.replace("f32", "f16")))[1].history


def test_it_runs_where_groups_become_kernels() -> None:
    graph = parse(REGROUP.cases[0].before)
    with ms.set_context(jit_level="O0"):
        assert "regroup" not in [s.name for s in compile_graph(graph).stages]
    with ms.set_context(jit_level="O1"):
        program = compile_graph(graph, keep_stages=True)
    assert "regroup" in [s.name for s in program.stages]
    assert any("s times the sum of x" in str(note) for note in program.history)
    got = program([np.arange(6, dtype=np.float32).reshape(2, 3), np.array([[2.0], [3.0]], np.float32)])
    assert got[0].tolist() == [6.0, 36.0]
