"""einsum as products of matrices: the same numbers for random equations, in programs and in gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import msnb as ms
from msnb import ops
from msnb.core.types import tensor_type
from msnb.graph.compile import PASSES, Log
from msnb.ir.analysis.verifier import verify
from msnb.ir.builder import build
from msnb.ir.graph import Graph
from tests.graph.compile.test_vectors import run


def graph_of(equation: str, shapes: Any, dtype: Any = ms.float64) -> Graph:
    return build("f", [tensor_type(s, dtype) for s in shapes], lambda *xs: ops.einsum(equation, *xs))


def contracted(graph: Graph) -> Graph:
    out = PASSES["regroup"].run(graph, Log())
    verify(out, "hardware_independent")
    return out


def names(graph: Graph) -> set[str]:
    return {node.op.name for node in graph.nodes}


@st.composite
def equations(draw: Any) -> tuple[str, list[tuple[int, ...]]]:
    """Up to three operands of up to four axes, and a result of some of their names in any order."""
    sizes = {c: draw(st.integers(1, 4)) for c in "abcde"}
    terms = [
        "".join(draw(st.permutations(draw(st.lists(st.sampled_from("abcde"), min_size=1, max_size=4, unique=True)))))
        for _ in range(draw(st.integers(1, 3)))
    ]
    there = sorted(set("".join(terms)))
    result = draw(st.permutations(draw(st.lists(st.sampled_from(there), max_size=4, unique=True))))
    return f"{','.join(terms)}->{''.join(result)}", [tuple(sizes[c] for c in term) for term in terms]


@pytest.mark.long
@settings(max_examples=150, deadline=None)
@given(equations(), st.integers(0, 2**32))
def test_any_equation_keeps_its_value(given_: tuple[str, list[tuple[int, ...]]], seed: int) -> None:
    equation, shapes = given_
    graph, rng = graph_of(equation, shapes), np.random.default_rng(seed)
    args = [rng.standard_normal(s) for s in shapes]
    out = contracted(graph)
    assert "einsum" not in names(out)
    want = np.einsum(equation, *args)
    for (got,) in (run(graph, args), run(out, args)):
        assert got.shape == want.shape
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("bhte,bhse->bhts", ((2, 3, 5, 4), (2, 3, 6, 4))),
        ("btd,dhe->bhte", ((2, 5, 6), (6, 3, 4))),
        ("bthe,hed->btd", ((2, 5, 3, 4), (3, 4, 6))),
        ("...ij,jk->...ik", ((2, 3, 4, 5), (5, 6))),
        ("ij,jk,kl->il", ((3, 4), (4, 5), (5, 2))),
    ],
)
def test_what_people_write_is_products_of_matrices(equation: str, shapes: Any) -> None:
    found = names(contracted(graph_of(equation, shapes)))
    assert "matmul" in found and not found & {"einsum", "multiply", "sum"}


@pytest.mark.parametrize(
    "equation, shapes, dtype",
    [
        ("ii->i", ((3, 3),), ms.float32),
        ("ij,jk->ik", ((3, 1), (4, 5)), ms.float32),
        ("ij,jk->ik", ((3, 0), (0, 5)), ms.float32),
        ("ij,jk->ik", ((3, 4), (4, 5)), ms.int32),
    ],
)
def test_diagonals_repeated_axes_empty_ones_and_integers_stay(equation: str, shapes: Any, dtype: Any) -> None:
    assert "einsum" in names(contracted(graph_of(equation, shapes, dtype)))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_a_number_stays_one(bad: float, rng: np.random.Generator) -> None:
    shapes = ((2, 3, 4), (2, 5, 4))
    graph, args = graph_of("bij,bkj->bik", shapes), [rng.standard_normal(s) for s in shapes]
    args[0][1, 2, 3] = bad
    finite = np.ones((2, 3, 5), bool)
    finite[1, 2] = False
    for (got,) in (run(graph, args), run(contracted(graph), args)):
        np.testing.assert_array_equal(np.isfinite(got), finite)


def test_attention_by_names_trains_alike_in_both_modes(rng: np.random.Generator) -> None:
    x, *weights = (
        ms.Tensor(rng.standard_normal(s).astype(np.float32) / 4)
        for s in ((2, 5, 8), (8, 2, 4), (8, 2, 4), (8, 2, 4), (2, 4, 8))
    )

    def loss(x: Any, q: Any, k: Any, v: Any, o: Any) -> Any:
        queries, keys, values = (ops.einsum("btd,dhe->bhte", x, w) for w in (q, k, v))
        scores = ops.softmax(ops.einsum("bhte,bhse->bhts", queries, keys) * 0.5, -1)
        return ops.square(ops.einsum("bthe,hed->btd", ops.einsum("bhts,bhse->bthe", scores, values), o)).sum()

    step = ms.value_and_grad(loss, (0, 1, 2, 3, 4))
    want, got = step(x, *weights), ms.jit(step)(x, *weights)
    for a, b in zip((want[0], *want[1]), (got[0], *got[1]), strict=True):
        np.testing.assert_allclose(b.asnumpy(), a.asnumpy(), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("equation", ["ij,->j", "i,i,->", "i,i,i->"])
def test_several_operations_in_16_bits_are_one(equation: str, mode: int) -> None:
    shapes = [(100,) * len(term) for term in equation.partition("->")[0].split(",")]
    # sums of a hundred numbers of 900, and products of two of them, do not fit into float16, whose largest is 65504
    xs = [ms.Tensor(np.full(s, 900 if i < len(shapes) - 1 else 1e-4, np.float16)) for i, s in enumerate(shapes)]
    fn = lambda *xs: ops.einsum(equation, *xs)
    found = (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(*xs)
    wide = np.einsum(equation, *[x.asnumpy().astype(np.float64) for x in xs]).astype(np.float16)
    np.testing.assert_allclose(found.asnumpy(), wide, rtol=2e-3)  # a digit of float16 is 1e-3
