"""Contractions and linear algebra against NumPy; einsum for drawn equations."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import msnb as ms
from msnb import ops
from msnb.ops.linalg.einsum import parse
from tests.gradient_check import check_grads


def normal(shape: Any, seed: int = 0) -> Any:
    return np.random.default_rng([seed, *shape]).normal(size=shape)


PAIRS = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)), ((2, 3), (5, 3, 4)),
         ((5, 1, 2, 3), (6, 3, 4)), ((3,), (5, 3, 4)), ((5, 2, 3), (3,)), ((0, 3), (3, 2)),
         ((2, 0), (0, 3))]  # fmt: skip


@pytest.mark.parametrize("a, b", PAIRS, ids=str)
def test_matmul(a: Any, b: Any) -> None:
    x, y = normal(a), normal(b, 1)
    found = ms.Tensor(x) @ ms.Tensor(y)
    np.testing.assert_allclose(found.asnumpy(), x @ y)
    assert found.shape == (x @ y).shape
    np.testing.assert_allclose((x @ ms.Tensor(y)).asnumpy(), x @ y)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_short_floats_add_up_in_float32(dtype: str) -> None:
    ones = ops.ones((1, 4096), dtype=dtype)
    found = ones @ ops.ones((4096, 1), dtype=dtype)
    assert found.dtype is ones.dtype and float(found.item()) == 4096.0
    assert float(ops.einsum("ij,ij->i", ones, ones).item()) == 4096.0


@pytest.mark.parametrize("dtype, other, result", [("int32", "int64", "int64"), ("int8", "float32", "float32")])
def test_operands_meet_in_one_dtype(dtype: str, other: str, result: str) -> None:
    found = ops.ones((2, 3), dtype=dtype) @ ops.ones((3, 2), dtype=other)
    assert found.dtype.name == result and found.tolist() == [[3, 3], [3, 3]]


LIKE: list[Any] = [
    ("inner", ops.inner, np.inner, (2, 3), (4, 3)),
    ("outer", ops.outer, np.outer, (2,), (3,)),
    ("dot", ops.dot, np.dot, (2, 3), (5, 3, 4)),
    ("kron", ops.kron, np.kron, (2, 3), (1, 2, 2)),
    ("tensordot", lambda x, y: ops.tensordot(x, y, ((1, 2), (1, 0))), lambda a, b: np.tensordot(a, b, ((1, 2), (1, 0))),
     (2, 3, 4), (4, 3, 5)),
    ("tensordot 0", lambda x, y: ops.tensordot(x, y, 0), lambda a, b: np.tensordot(a, b, 0), (2,), (3,)),
    ("vecdot", ops.vecdot, lambda a, b: (a * b).sum(-1), (2, 3), (3,)),
    ("bmm", ops.bmm, np.matmul, (4, 2, 3), (4, 3, 5)),
    ("mv", ops.mv, np.matmul, (2, 3), (3,)),
    ("cross", ops.cross, np.cross, (2, 3), (2, 3)),
    ("solve", lambda x, y: ops.solve(x @ x.T, y), lambda a, b: np.linalg.solve(a @ a.T, b), (3, 3), (3, 2)),
    ("solve a vector", lambda x, y: ops.solve(x, y), np.linalg.solve, (3, 3), (3,)),
]  # fmt: skip


@pytest.mark.parametrize("fn, expected, a, b", [pytest.param(*rest, id=name) for name, *rest in LIKE])
def test_like_numpy(fn: Any, expected: Any, a: Any, b: Any) -> None:
    x, y = normal(a), normal(b, 1)
    found = fn(ms.Tensor(x), ms.Tensor(y)).asnumpy()
    np.testing.assert_allclose(found, expected(x, y), rtol=1e-9, atol=1e-12)
    check_grads(fn, [x, y], order=1, tolerance=1e-5)


def test_sums_of_products() -> None:
    c, x, y = (ms.Tensor(normal(s)) for s in ((2, 4), (2, 3), (3, 4)))
    expected = 0.5 * c.asnumpy() + 2.0 * (x.asnumpy() @ y.asnumpy())
    np.testing.assert_allclose(ops.addmm(c, x, y, beta=0.5, alpha=2.0).asnumpy(), expected)
    s, t = ms.Tensor(normal((5, 2, 3))), ms.Tensor(normal((5, 3, 4)))
    np.testing.assert_allclose(ops.addbmm(c, s, t).asnumpy(), c.asnumpy() + (s.asnumpy() @ t.asnumpy()).sum(0))
    np.testing.assert_allclose(ops.baddbmm(c, s, t).asnumpy(), c.asnumpy() + s.asnumpy() @ t.asnumpy())


def test_multi_dot() -> None:
    chain = [normal(s) for s in ((10,), (10, 100), (100, 5), (5, 50), (50,))]
    found = ops.multi_dot([ms.Tensor(c) for c in chain])
    np.testing.assert_allclose(found.asnumpy(), np.linalg.multi_dot(chain))


# ---- einsum --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("equation, ranks, expected", [
    ("ij,jk", (2, 2), (("ij", "jk"), "ik")),
    ("ba", (2,), (("ba",), "ab")),
    ("...i,...i->...", (2, 1), (("Zi", "i"), "Z")),
    ("i...->...", (3,), (("iYZ",), "YZ")),
    ("ii", (2,), (("ii",), "")),
    ("...", (0,), (("",), "")),
])  # fmt: skip
def test_parser(equation: str, ranks: Any, expected: Any) -> None:
    assert parse(equation, ranks) == expected


@pytest.mark.parametrize("equation, sentence", [
    ("ij,jk->ik", "2 terms for 1 operands"), ("i1->i", "no list of letters"), ("i....->i", "no list of letters"),
    ("ij->ii", "names 'i' twice"), ("ij->k", "which no operand has"), ("i->i", "does not fit an operand of 2 axes"),
    ("ijk->i", "does not fit an operand of 2 axes"), ("ij->i->j", "no list of letters"),
])  # fmt: skip
def test_what_is_no_equation(equation: str, sentence: str) -> None:
    with pytest.raises(TypeError, match=sentence):
        ops.einsum(equation, ms.Tensor(normal((2, 3))))


SIZES = {"a": 2, "b": 3, "c": 1, "d": 2}


@st.composite
def equations(draw: Any) -> tuple[str, list[tuple[int, ...]]]:
    """One to three operands over four names, repeated names too, with or without dots and a result."""
    terms, shapes = [], []
    for _ in range(draw(st.integers(1, 3))):
        term = draw(st.text("abcd", min_size=0, max_size=3))
        lead = draw(st.sampled_from([None, (), (2,), (1,), (3, 2)]))
        own = tuple(SIZES[c] for c in term)
        terms.append(term if lead is None else "..." + term)
        shapes.append(own if lead is None else lead + own)
    letters = sorted(set("".join(terms)) - {"."})
    dots = "..." if any("..." in t for t in terms) else ""
    if draw(st.booleans()):
        kept = draw(st.permutations(letters))[: draw(st.integers(0, len(letters)))]
        return ",".join(terms) + "->" + dots + "".join(kept), shapes
    return ",".join(terms), shapes


@pytest.mark.long
@given(equations(), st.integers(0, 2**32 - 1))
def test_any_equation(case: Any, seed: int) -> None:
    equation, shapes = case
    rng = np.random.default_rng(seed)
    arrays = [rng.normal(size=s) for s in shapes]
    try:
        expected = np.einsum(equation, *arrays)
    except ValueError:  # leading axes that do not broadcast
        with pytest.raises(ValueError):
            ops.einsum(equation, *map(ms.Tensor, arrays))
        return
    found = ops.einsum(equation, *map(ms.Tensor, arrays))
    assert found.shape == expected.shape
    np.testing.assert_allclose(found.asnumpy(), expected, rtol=1e-9, atol=1e-9)
    douts = rng.normal(size=expected.shape)
    check_grads(lambda *xs: (ops.einsum(equation, *xs) * ms.Tensor(douts)).sum(), arrays, order=1, tolerance=1e-5)


# ---- linear algebra ------------------------------------------------------------------------------------------------


def test_linear_algebra() -> None:
    a = normal((4, 3, 3))
    x = ms.Tensor(a)
    np.testing.assert_allclose((ops.inverse(x) @ x).asnumpy(), np.broadcast_to(np.eye(3), a.shape), atol=1e-9)
    np.testing.assert_allclose(ops.det(x).asnumpy(), np.linalg.det(a))
    sign, log = ops.slogdet(x)
    np.testing.assert_allclose((sign * log.exp()).asnumpy(), np.linalg.det(a))
    np.testing.assert_array_equal(np.isnan(ops.logdet(x).asnumpy()), np.linalg.det(a) < 0)
    for n in (-2, 0, 1, 5):
        np.testing.assert_allclose(ops.matrix_power(x, n).asnumpy(), np.linalg.matrix_power(a, n), rtol=1e-6)
    spd = x @ x.mT + ops.eye(3, dtype=x.dtype)
    low = ops.cholesky(spd)
    np.testing.assert_allclose((low @ low.mT).asnumpy(), spd.asnumpy())
    values, vectors = ops.eigh(spd)
    np.testing.assert_allclose((spd @ vectors).asnumpy(), (vectors * values[:, None]).asnumpy(), atol=1e-9)


def test_what_linear_algebra_refuses() -> None:
    with pytest.raises(ValueError, match="square matrices"):
        ops.inverse(ms.Tensor(normal((2, 3))))
    with pytest.raises(TypeError, match="float32, float64 or complex"):
        ops.inverse(ops.ones((2, 2), dtype="float16"))
    with pytest.raises(TypeError, match="float32, float64 or complex"):
        ops.matrix_power(ops.ones((2, 2), dtype="int32"), -1)


@pytest.mark.parametrize("ord", [None, 1, 2, 3, np.inf, -np.inf, 0])
def test_norms(ord: Any) -> None:
    a = normal((4, 3))
    np.testing.assert_allclose(ops.norm(ms.Tensor(a), ord, 1).asnumpy(), np.linalg.norm(a, ord, 1))
    assert ops.norm(ms.Tensor(a), ord, 1, True).shape == (4, 1)
    with pytest.raises(ValueError, match="ord"):
        ops.norm(ms.Tensor(a[0]), "nuc")
