"""Small products gathered: one product for a sum of them and for parts of one tensor, where that is worth it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.core.types import tensor_type
from msnb.devices.device import ArrayDevice
from msnb.graph.compile import PASSES, Log, compile_graph, optimise
from msnb.graph.compile.passes.matmul_batching import FEWEST, LARGEST
from msnb.ir.analysis.verifier import verify
from msnb.ir.builder import build
from msnb.ir.graph import Graph
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import print_graph

ONE_SUM, ONE_MATRIX = "a sum of products is one product", "rows times one matrix"
STEPS, BATCH, WIDTH = 6, 2, 8


def captured(fn: Any, shapes: Any, dtype: Any = ms.float64) -> Graph:
    return optimise(build("f", [tensor_type(s, dtype) for s in shapes], fn))[0]


def regrouped(graph: Graph) -> tuple[Graph, list[str]]:
    text, log = print_graph(graph), Log(keep=True)
    out = PASSES["regroup"].run(graph, log)
    verify(out, "hardware_independent")
    assert print_graph(graph) == text, "a pass must not change its input"
    return out, [note.law for note in log.history]


def run(graph: Graph, args: Any) -> list[Any]:
    with np.errstate(all="ignore"):
        return [np.asarray(a) for a in ArrayDevice("reference", np).compile(graph)(args)]


def check(graph: Graph, rng: np.random.Generator) -> tuple[Graph, list[str]]:
    out, laws = regrouped(graph)
    args = [rng.standard_normal(p.type.shape) for p in graph.params]
    for want, got in zip(run(graph, args), run(out, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)
    return out, laws


def count(graph: Graph, name: str) -> int:
    return sum(n.op.name == name for n in graph.nodes)


def unrolled(x: Any, wx: Any, wh: Any, h: Any) -> Any:
    for k in range(STEPS):
        h = ops.tanh(ops.matmul(x[k], wx) + ops.matmul(h, wh))
    return h


def rnn_gradient(x: Any, wx: Any, wh: Any, h: Any, g: Any) -> Any:
    y, pull = ms.vjp(lambda wx, wh: unrolled(x, wx, wh, h), wx, wh)
    return (y, *pull(g))


RNN = ((STEPS, BATCH, WIDTH), (WIDTH, WIDTH), (WIDTH, WIDTH), (BATCH, WIDTH), (BATCH, WIDTH))


def test_a_network_unrolled_in_time(rng: np.random.Generator) -> None:
    graph = captured(rnn_gradient, RNN)
    assert count(graph, "matmul") == 5 * STEPS - 1
    out, laws = check(graph, rng)
    assert laws.count(ONE_SUM) == 2 and laws.count(ONE_MATRIX) == STEPS
    assert count(out, "matmul") == STEPS + (STEPS - 1) + 3, "what waits for the step before, and three large ones"
    joined = [n for n in out.nodes if n.op.name == "concat"]
    assert len(joined) == 2, "the gradients of the steps are copied once for both weights, the input is not"
    assert all(len(n.inputs) == STEPS for n in joined)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", range(5))
def test_what_is_not_a_number_stays_one(bad: float, where: int, rng: np.random.Generator) -> None:
    graph = captured(rnn_gradient, RNN)
    out, laws = regrouped(graph)
    assert ONE_SUM in laws
    args = [rng.standard_normal(p.type.shape) for p in graph.params]
    args[where][(-1,) * args[where].ndim] = bad
    for want, got in zip(run(graph, args), run(out, args), strict=True):
        np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-11)


def test_compiled_values_differ_by_rounding_only(rng: np.random.Generator) -> None:
    graph = captured(rnn_gradient, RNN, ms.float32)
    args = [rng.standard_normal(p.type.shape).astype(np.float32) for p in graph.params]
    with ms.set_context(jit_level="O1"):
        program = compile_graph(graph, keep_stages=True)
    assert any(ONE_SUM in str(note) for note in program.history)
    for want, got in zip(run(graph, args), program(args), strict=True):
        np.testing.assert_allclose(np.asarray(got), want, rtol=2e-5, atol=1e-4)


def random_sum(draw: np.random.Generator, leaves: list[Any]) -> Any:
    """A sum in any order of products of any two leaves, transposed as it fits, with other terms between."""
    tall, square = leaves[:4], leaves[4:]
    makers = [
        lambda a, b, s: ops.matmul(ops.transpose(a, (1, 0)), b),
        lambda a, b, s: ops.matmul(ops.transpose(a, (1, 0)), b * 2.0),
        lambda a, b, s: ops.matmul(s[0:2].transpose(1, 0), a[0:2]),
        lambda a, b, s: ops.matmul(s[:, 0:2], b[1:3]),
        lambda a, b, s: ops.matmul(s[:, 0:1], ops.transpose(s[:, 2:3], (1, 0))),
        lambda a, b, s: s,
    ]  # fmt: skip
    terms = []
    for _ in range(int(draw.integers(4, 14))):
        a, b = (tall[int(draw.integers(4))] for _ in range(2))
        terms.append(makers[int(draw.integers(len(makers)))](a, b, square[int(draw.integers(2))]))
    again = terms[0] if draw.random() < 0.3 else None
    while len(terms) > 1:
        i = int(draw.integers(len(terms) - 1))
        terms[i : i + 2] = [terms[i] + terms[i + 1]]
    return terms[0] if again is None else (terms[0], again)


def test_random_sums_keep_their_values(rng: np.random.Generator) -> None:
    seed, acted = int(rng.integers(2**31)), 0
    shapes = ((3, 8), (3, 8), (3, 8), (3, 8), (8, 8), (8, 8))
    for k in range(40):
        draw = np.random.default_rng([seed, k])
        graph = captured(lambda *leaves, draw=draw: random_sum(draw, list(leaves)), shapes)
        try:
            _, laws = check(graph, draw)
        except AssertionError as error:
            raise AssertionError(f"seed {[seed, k]}\n{print_graph(graph)}\n{error}") from error
        acted += ONE_SUM in laws
    assert acted > 4


def total(terms: list[Any]) -> Any:
    out = terms[0]
    for t in terms[1:]:
        out = out + t
    return out


def weight_gradient(*xs: Any) -> Any:
    half = len(xs) // 2
    return total([ops.matmul(ops.transpose(a, (1, 0)), b) for a, b in zip(xs[:half], xs[half:])])


def test_products_that_somebody_else_reads_stay(rng: np.random.Generator) -> None:
    def fn(*xs: Any) -> Any:
        products = [ops.matmul(ops.transpose(a, (1, 0)), b) for a, b in zip(xs[:5], xs[5:])]
        return total(products), products[4]

    out, laws = check(captured(fn, ((2, 8),) * 10), rng)
    assert laws.count(ONE_SUM) == 1 and count(out, "matmul") == 2 and count(out, "add") == 1


def test_partial_sums_that_somebody_reads_are_sums_of_their_own(rng: np.random.Generator) -> None:
    def fn(*xs: Any) -> Any:
        first = weight_gradient(*xs)
        return first, first + weight_gradient(*(x * 2.0 for x in xs))

    _, laws = check(captured(fn, ((2, 8),) * 8), rng)
    assert laws.count(ONE_SUM) == 2


@pytest.mark.parametrize(
    ("terms", "rows", "wide", "dtype", "acts"),
    [
        (FEWEST, 4, 8, ms.float32, True),
        (FEWEST - 1, 4, 8, ms.float32, False),
        (FEWEST, 5, 8, ms.float32, False),
        (FEWEST, 4, 8, ms.float16, False),
        (FEWEST, 8, int((LARGEST // 8) ** 0.5), ms.float32, True),
        (FEWEST, 9, int((LARGEST // 8) ** 0.5), ms.float32, False),
    ],
)
def test_where_it_is_worth_it(terms: int, rows: int, wide: int, dtype: Any, acts: bool) -> None:
    graph = captured(weight_gradient, ((rows, wide),) * (2 * terms), dtype)
    assert (ONE_SUM in regrouped(graph)[1]) == acts


def test_orders_of_two_tensors_that_disagree(rng: np.random.Generator) -> None:
    def fn(x: Any, y: Any) -> Any:
        return total([ops.matmul(ops.transpose(x[i], (1, 0)), y[3 - i]) for i in range(4)])

    out, laws = check(captured(fn, ((4, 2, 8), (4, 2, 8))), rng)
    assert ONE_SUM in laws and count(out, "concat") == 1

    def ordered(x: Any, y: Any) -> Any:
        return total([ops.matmul(ops.transpose(x[i], (1, 0)), y[i]) for i in (2, 0, 3, 1)])

    out, laws = check(captured(ordered, ((4, 2, 8), (4, 2, 8))), rng)
    assert ONE_SUM in laws and count(out, "concat") == 0


def test_parts_with_gaps_and_overlaps(rng: np.random.Generator) -> None:
    def fn(x: Any, w: Any) -> Any:
        return [ops.matmul(x[b:e], w) for b, e in ((0, 3), (1, 4), (6, 8), (9, 10))]

    out, laws = check(captured(fn, ((10, 4), (4, 5))), rng)
    assert laws.count(ONE_MATRIX) == 4 and count(out, "matmul") == 1


def test_parts_of_which_few_are_wanted_or_that_are_no_rows_stay(rng: np.random.Generator) -> None:
    def few(x: Any, w: Any) -> Any:
        return [ops.matmul(x[k], w) for k in range(4)]

    def columns(x: Any, w: Any) -> Any:
        return [ops.matmul(x[:, k], w) for k in range(4)]

    def strides(x: Any, w: Any) -> Any:
        return [ops.matmul(x[k::4], w) for k in range(4)]

    for fn, shape in ((few, (9, 2, 4)), (columns, (2, 4, 4)), (strides, (8, 4))):
        out, laws = check(captured(fn, (shape, (4, 5))), rng)
        assert ONE_MATRIX not in laws and count(out, "matmul") == 4, fn.__name__


def test_bodies_are_gathered(rng: np.random.Generator) -> None:
    case = next(c for c in PASSES["regroup"].cases if c.about.startswith("parts of one tensor"))
    head, *lines = case.before.split("\n")
    params = head[head.index("(") + 1 : head.index(")")]
    types = head[head.rindex("(") + 1 : -1]
    body = "\n".join("    " + line.replace("return", "yield") for line in lines)
    text = (f"graph f(c: bool[], {params}) -> ({types})\n  %1, %2, %3, %4 = if(c, x, w) : {types}\n"
            f"    then ({params}):\n{body}\n    else ({params}):\n{body}\n  return %1, %2, %3, %4")  # fmt: skip
    graph = parse(text)
    out, laws = regrouped(graph)
    assert laws.count(ONE_MATRIX) == 8
    assert [count(g, "matmul") for g in out.nodes[0].graphs] == [1, 1]
    args = [np.array(True), *(rng.standard_normal(s).astype(np.float32) for s in ((8, 8), (8, 3)))]
    for want, got in zip(run(graph, args), run(out, args), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
