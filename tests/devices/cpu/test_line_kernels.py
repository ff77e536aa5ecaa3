"""Operations along one axis run natively, and give what the reference bodies give: any axis, dtype, ties and NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import AttributeValueError, IndexOutOfRange, LinAlgError
from msnb.ops.shape.index_records import INDEX, INDEX_UPDATE, UNINDEX

pytest.importorskip("llvmlite")

REALS = ("float32", "float64", "float16", "int32", "int64", "int8", "uint8", "uint32", "bool")
SHAPES = ((1,), (5,), (3, 40), (2, 7, 300), (33, 1, 65), (1000, 16))


def reference(f: Any, *operands: Any) -> list[np.ndarray]:
    """What NumPy bodies give."""
    with ms.set_context(jit_level="O0"):
        return arrays(f(*map(ms.Tensor, operands)))


def arrays(found: Any) -> list[np.ndarray]:
    return [t.asnumpy() for t in (found if isinstance(found, tuple) else (found,))]


def native(f: Any, *operands: Any) -> list[np.ndarray]:
    """What machine code gives; nothing may be left to Python."""
    with ms.set_context(jit_level="O1"):
        compiled = ms.jit(lambda *x: _plain(f(*x)))
        found = arrays(compiled(*map(ms.Tensor, operands)))
        assert compiled.versions[0].compiled.executable.host_steps == []
    return found


def _plain(found: Any) -> Any:
    return tuple(found) if isinstance(found, tuple) else found


def eager(f: Any, *operands: Any) -> list[np.ndarray]:
    with ms.set_context(jit_level="O1"):
        return arrays(_plain(f(*map(ms.Tensor, operands))))


def equal(f: Any, *operands: Any, rtol: float = 0.0) -> None:
    wanted = reference(f, *operands)
    for found in (native(f, *operands), eager(f, *operands)):
        for a, b in zip(found, wanted, strict=True):
            assert a.dtype == b.dtype and a.shape == b.shape
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol, equal_nan=True)


def drawn(shape: tuple[int, ...], dtype: str, kind: str, rng: np.random.Generator) -> np.ndarray:
    x = rng.standard_normal(shape) * 3
    if kind == "ties":
        x = np.round(x)
    if kind == "holes" and dtype.startswith("float"):
        x = np.where(rng.random(shape) < 0.1, np.nan, np.where(rng.random(shape) < 0.1, -np.inf, x))
    if kind == "one value":
        x = np.full(shape, -np.inf if dtype.startswith("float") else 0.0)
    with np.errstate(all="ignore"):
        return x.astype(dtype)


@pytest.mark.parametrize("dtype", REALS)
@pytest.mark.parametrize("kind", ["plain", "ties", "holes", "one value"])
def test_indices_of_extremes(dtype: str, kind: str) -> None:
    rng = np.random.default_rng(7)
    for shape in SHAPES[1::2]:
        x = drawn(shape, dtype, kind, rng)
        for axis in range(len(shape)):
            equal(lambda t, a=axis: (ops.argmax(t, a), ops.argmin(t, a)), x)
        equal(lambda t: (ops.argmax(t), ops.argmin(t)), x)


@pytest.mark.parametrize("dtype", REALS)
def test_sorting_keeps_the_order_of_ties(dtype: str) -> None:
    rng = np.random.default_rng(8)
    for shape in SHAPES[:5]:
        for kind in ("ties", "holes"):
            x = drawn(shape, dtype, kind, rng)
            for axis in range(len(shape)):
                equal(lambda t, a=axis: (*ops.sort(t, a), *ops.sort(t, a, True)), x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_the_k_best(dtype: str) -> None:
    rng = np.random.default_rng(9)
    for shape in ((5,), (3, 40), (33, 1, 650)):
        for kind in ("ties", "holes"):
            x = drawn(shape, dtype, kind, rng)
            for axis in range(len(shape)):
                size = shape[axis]
                for k in sorted({1, min(3, size), size}):
                    equal(lambda t, a=axis, n=k: (*ops.topk(t, n, a), *ops.topk(t, n, a, False)), x)


def test_k_that_an_axis_does_not_have(mode: Any) -> None:
    for k, kind in ((4, AttributeValueError), (-1, AttributeValueError), (True, TypeError)):
        with pytest.raises(kind, match="k must be an int from 0 to that size"):
            ops.topk(ms.Tensor([1, 2, 3]), k)


def test_the_gradient_of_the_k_best_is_where_they_came_from(mode: Any) -> None:
    x = ms.Tensor([[3.0, 1.0, 2.0], [0.0, 5.0, 4.0]])
    found = ms.grad(lambda t: (ops.topk(t, 2)[0] ** 2).sum())(x)
    assert found.tolist() == [[6.0, 0.0, 4.0], [0.0, 10.0, 8.0]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64", "float16", "bool"])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_totals(dtype: str, exclusive: bool, reverse: bool) -> None:
    rng = np.random.default_rng(10)
    for shape in ((5,), (3, 40), (2, 7, 300), (700_001,)):
        x = drawn(shape, dtype, "plain", rng)
        for axis in range(len(shape)):
            bound = 2e-3 if dtype == "float16" else 1e-6
            equal(lambda t, a=axis: ops.cumsum(t, a, exclusive=exclusive, reverse=reverse), x, rtol=bound)
            if x.size < 10_000:
                equal(lambda t, a=axis: ops.cumprod(t, a, exclusive=exclusive, reverse=reverse), x, rtol=bound)


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_running_extremes(dtype: str) -> None:
    rng = np.random.default_rng(11)
    for shape in ((5,), (3, 40), (2, 7, 30)):
        for kind in ("ties", "holes"):
            x = drawn(shape, dtype, kind, rng)
            for axis in range(len(shape)):
                equal(lambda t, a=axis: (*ops.cummax(t, a), *ops.cummin(t, a)), x)


# ---- several index tensors ------------------------------------------------------------------------------------------

FULL = (None, None, None)
SPECS = (("t", "t"), ("t", None, "t"), (FULL, "t", "t"), ("t", "t", "t", (1, None, 2)), (FULL, FULL, "t", "t"),
         ("t", "t", "t", "t"), (1, "t", FULL, "t"))  # fmt: skip


def chosen(spec: Any, shape: tuple[int, ...], joint: tuple[int, ...], rng: np.random.Generator) -> list[np.ndarray]:
    found, axis = [], 0
    for entry in spec:
        if entry is None:
            continue
        if entry == "t":
            own = joint if not found or rng.random() < 0.5 else (1, *joint[1:])
            found.append(rng.integers(-shape[axis], shape[axis], own).astype(rng.choice(["int32", "int64"])))
        axis += 1
    return found


@pytest.mark.parametrize("spec", SPECS, ids=str)
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool"])
def test_access_by_index_tensors(spec: Any, dtype: str) -> None:
    rng, shape = np.random.default_rng(12), (4, 5, 6, 7)
    for joint in ((2, 3), (5,)):
        x = (rng.standard_normal(shape) * 10).astype(dtype)
        index = chosen(spec, shape, joint, rng)
        equal(lambda t, *i: INDEX(t, *i, spec=spec), x, *index)
        (y,) = reference(lambda t, *i: INDEX(t, *i, spec=spec), x, *index)
        v = (rng.standard_normal(y.shape) * 10).astype(dtype)
        equal(lambda t, v, *i: INDEX_UPDATE(t, v, *i, spec=spec), x, v, *index)
        equal(lambda t, v, *i: INDEX_UPDATE(t, v, *i, spec=spec), x, np.array(3).astype(dtype), *index)
        if dtype != "bool":
            equal(lambda t, *i: UNINDEX(t, *i, spec=spec, shape=shape), v, *index, rtol=1e-6)


def test_many_entries_on_a_small_result() -> None:
    rng = np.random.default_rng(13)
    index, y = rng.integers(-77, 77, 300_001), rng.standard_normal(300_001)
    equal(lambda t, i: UNINDEX(t, i, spec=("t",), shape=(77,)), y, index, rtol=1e-9)


def test_an_entry_out_of_range_is_named(mode: Any) -> None:
    x, i = ms.Tensor(np.zeros((3, 4))), ms.Tensor([0, 7])
    with pytest.raises(IndexOutOfRange, match="index 7 is outside axis 1 of size 4"):
        x[ms.Tensor([0, 1]), i]


# ---- matrices, draws, variance --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype, bound", [("float32", 3e-4), ("float64", 1e-10)])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 4, 4), (2, 3, 20, 20)])
def test_factorisations(dtype: str, bound: float, shape: tuple[int, ...]) -> None:
    rng, n = np.random.default_rng(14), shape[-1]
    a = rng.standard_normal(shape)
    positive = (a @ np.swapaxes(a, -1, -2) + n * np.eye(n)).astype(dtype)
    regular, right = (a + n * np.eye(n)).astype(dtype), rng.standard_normal((*shape[:-1], 3)).astype(dtype)
    equal(ops.cholesky, positive, rtol=bound)
    equal(ops.inverse, regular, rtol=bound)
    equal(ops.solve, regular, right, rtol=bound)
    equal(lambda x: ops.eigh(x)[0], positive, rtol=bound * n)
    (found,), (wanted,) = native(ops.det, regular), reference(ops.det, regular)
    np.testing.assert_allclose(found, wanted, rtol=bound)
    w, v = native(ops.eigh, positive)
    np.testing.assert_allclose(v * w[..., None, :] @ np.swapaxes(v, -1, -2), positive, rtol=bound, atol=bound * n)


@pytest.mark.parametrize("shape", [(4, 3), (3, 4), (5, 5), (6, 2, 7), (7, 16, 8)])
def test_singular_values(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(15).standard_normal(shape)
    s, u, v = native(ops.svd, x)
    np.testing.assert_allclose(u * s[..., None, :] @ np.swapaxes(v, -1, -2), x, atol=1e-10)
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), atol=1e-10)


def test_matrices_that_lapack_refuses(mode: Any) -> None:
    with ms.set_context(jit_level="O1"):
        with pytest.raises(LinAlgError, match="positive definite"):
            ops.cholesky(ms.Tensor(-np.eye(20)))
        with pytest.raises(LinAlgError, match="singular"):
            ops.inverse(ms.Tensor(np.zeros((20, 20))))
        assert ops.det(ms.Tensor(np.zeros((20, 20)))).item() == 0.0


DRAWS = {
    "uniform": lambda n: ops.rand(n),
    "uniform float64": lambda n: ops.rand(n, dtype=ms.float64),
    "normal": lambda n: ops.randn(n),
    "integers": lambda n: ops.randint(-5, 1000, (n,)),
    "int32": lambda n: ops.randint(0, 2**31 - 1, (n,), dtype=ms.int32),
    "a range above 2^32": lambda n: ops.randint(0, 2**40, (n,)),
}


@pytest.mark.parametrize("kind", DRAWS)
def test_draws_are_those_of_the_reference(kind: str) -> None:
    for n in (1, 2, 3, 63, 64, 65, 257, 4001):
        found = []
        for level, run in (("O0", DRAWS[kind]), ("O1", DRAWS[kind]), ("O1", ms.jit(DRAWS[kind]))):
            with ms.set_context(jit_level=level):
                ms.set_seed(11)
                found.append((run(n).asnumpy(), ops.random_key().tolist()))
        assert found[0][1] == found[1][1] == found[2][1]
        for array, _ in found[1:]:
            np.testing.assert_array_equal(array, found[0][0])


def test_a_variance_is_operations_that_fuse() -> None:
    x = (np.random.default_rng(16).standard_normal((512, 64)) + 100).astype("float32")
    for axis, ddof in ((None, 0), (0, 1), (1, 0)):
        with ms.set_context(jit_level="O1"):
            compiled = ms.jit(lambda t, a=axis, d=ddof: ops.var(t, a, ddof=d))
            found = compiled(ms.Tensor(x)).asnumpy()
            assert "var" not in compiled.versions[0].compiled.executable.host_steps
        np.testing.assert_allclose(found, np.var(x.astype("float64"), axis, ddof=ddof), rtol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shape", [(3, 3), (2, 5, 5), (15, 15), (16, 16), (2, 20, 20), (70, 70), (7, 4), (20, 30)])
def test_vectors_have_one_sign_in_both_modes(shape, dtype):
    ms.set_context(jit_level="O1")
    x = np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)
    functions = [lambda v: ops.svd(v)]
    if shape[-1] == shape[-2]:
        functions.append(lambda v: ops.eigh(v + ops.swapaxes(v, -1, -2)))
    for function in functions:
        eager, compiled = function(ms.Tensor(x)), ms.jit(function)(ms.Tensor(x))
        for a, b in zip(eager, compiled):
            np.testing.assert_allclose(a.asnumpy(), b.asnumpy(), atol=1e-3 if dtype is np.float32 else 1e-9)
