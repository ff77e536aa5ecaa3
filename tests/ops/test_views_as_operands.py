"""Operands that lie transposed, with gaps, backwards, repeated or unaligned: the values are those of dense ones, in
every dtype, in both modes.

A sample is drawn anew in each run (its seed is printed): examples of the operators' records, functions of tensors of
random sizes, gradients in half precision. Expected is eager mode at O0 with dense operands: the reference bodies.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import MsnbError
from msnb.ops.definition.record import REGISTRY, Op
from tests.small_kernels import native_when_small

Array = np.ndarray[Any, Any]
View = Callable[[Any], Any]
DTYPES = ("float16", "bfloat16", "float32", "float64", "int8", "uint8", "int32", "int64", "bool_", "complex64")
BOUNDS = {"float16": 6e-3, "bfloat16": 5e-2, "float32": 2e-5, "float64": 1e-11, "complex64": 2e-5,
          "complex128": 1e-11}  # fmt: skip
STRUCTURE = {"constant", "custom_gradient", "with_vjp", "refuse_gradient"}  # made by transforms, without examples
UNDECIDED = {"svd", "eigh", "qr", "searchsorted"}  # repeated or wrapped numbers leave more than one right answer
RECORDS = [
    op for op in REGISTRY.values() if not op.traits & {"control", "stack", "effect"} and op.name not in STRUCTURE
]
EXAMPLES = [(op, e) for op in RECORDS if op.name not in UNDECIDED for e in op.examples]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


# ---- layouts --------------------------------------------------------------------------------------------------------


def transposed(a: Array, rng: Any) -> tuple[Array, View]:
    order = [int(i) for i in rng.permutation(a.ndim)]
    return np.ascontiguousarray(a.transpose(order)), lambda t: t.transpose(tuple(int(i) for i in np.argsort(order)))


def strided(a: Array, rng: Any) -> tuple[Array, View]:
    steps = [int(s) for s in rng.choice((1, 2, 3, -1, -2), a.ndim)]
    key = tuple(slice(None, None, s) for s in steps)
    base = np.ones([(n - 1) * abs(s) + 1 if n else 0 for n, s in zip(a.shape, steps)], a.dtype)
    base[key] = a
    return base, lambda t: t[key]


def part(a: Array, rng: Any) -> tuple[Array, View]:
    key = tuple(slice(i, i + n) for i, n in zip((int(i) for i in rng.integers(0, 4, a.ndim)), a.shape))
    base = np.ones([k.stop + int(rng.integers(0, 3)) for k in key], a.dtype)
    base[key] = a
    return base, lambda t: t[key]


def repeated(a: Array, rng: Any) -> tuple[Array, View]:
    key = tuple(slice(0, int(n)) for n in rng.choice((1, 1 << 20), a.ndim))
    return a[key].copy(), lambda t: ops.broadcast_to(t, a.shape)


def unaligned(a: Array, rng: Any) -> tuple[Array, View]:
    raw = np.zeros(a.nbytes + 1, np.uint8)
    base = raw[1:].view(a.dtype).reshape(a.shape)
    base[...] = a
    return base, lambda t: t


def row(a: Array, rng: Any) -> tuple[Array, View]:
    return np.stack([a[::-1], a, a]), lambda t: t[1]


LAYOUTS = [transposed, strided, strided, part, repeated, unaligned, row]


def laid(rng: Any, arrays: list[Any]) -> tuple[list[Any], list[View], list[str]]:
    """Bases, how their views are taken, and the names of the layouts."""
    bases, views, names = [], [], []
    for a in arrays:
        many = isinstance(a, np.ndarray) and a.ndim and a.size
        how = LAYOUTS[rng.integers(len(LAYOUTS))] if many and rng.random() < 0.85 else None
        base, view = how(a, rng) if how else (a, lambda t: t)
        bases.append(ms.from_numpy(base) if isinstance(base, np.ndarray) else base)
        views.append(view)
        names.append(how.__name__ if how else "dense")
    return bases, views, names


# ---- ways -----------------------------------------------------------------------------------------------------------


def found(fn: Callable[..., Any], bases: list[Any], mode: int, level: str) -> list[Array]:
    """What ``fn`` gives of the bases; random operators draw the same each time."""
    with ms.set_context(mode=mode, jit_level=level), native_when_small():
        ms.set_seed(3)
        out = (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(*bases)
        return [
            np.array(t.asnumpy()) for t in (out if isinstance(out, (tuple, list)) else (out,)) if hasattr(t, "asnumpy")
        ]


def dense(bases: list[Any], views: list[View]) -> list[Any]:
    with ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O0"):
        return [ms.Tensor(np.array(v(b).asnumpy(), order="C")) if isinstance(b, ms.Tensor) else b
                for b, v in zip(bases, views)]  # fmt: skip


def check(got: list[Array], want: list[Array], what: str, times: float = 1.0) -> None:
    assert [(a.dtype, a.shape) for a in got] == [(a.dtype, a.shape) for a in want], what
    for a, b in zip(got, want):
        if a.dtype.name not in BOUNDS:
            np.testing.assert_array_equal(a, b, what)
            continue
        wide = np.complex128 if a.dtype.kind == "c" else np.float64
        a, b, bound = a.astype(wide), b.astype(wide), times * BOUNDS[a.dtype.name]
        bound *= max(1.0, float(np.abs(b[np.isfinite(b)]).max(initial=0)))
        np.testing.assert_allclose(a, b, rtol=0, atol=bound, err_msg=what)


def in_dtype(op: Op, inputs: Any, dtype: str) -> list[Any]:
    numpy = getattr(ms, dtype).numpy
    return [x.astype(numpy) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x for x in inputs]


def compare(rng: Any, count: int, mode: int, level: str) -> int:
    """So many drawn examples; how many of them the records accept."""
    accepted = 0
    for which in rng.integers(len(EXAMPLES), size=count):
        op, example = EXAMPLES[which]
        dtype = DTYPES[rng.integers(len(DTYPES))]
        bases, views, names = laid(rng, in_dtype(op, example.inputs, dtype))

        def call(*ts: Any, op: Op = op, views: Any = views, attrs: Any = example.attrs) -> Any:
            return op(*(v(t) for v, t in zip(views, ts)), **attrs)

        try:
            want = found(lambda *ts, op=op, e=example: op(*ts, **e.attrs), dense(bases, views), ms.PYNATIVE_MODE, "O0")
        except MsnbError:
            continue
        accepted += 1
        what = f"{op.name} {dtype} {names} {[getattr(x, 'shape', x) for x in example.inputs]}"
        check(found(call, bases, mode, level), want, what)
    return accepted


@pytest.mark.long
@pytest.mark.parametrize("level", ["O0", "O1"])
def test_records_take_views(level: str, rng: np.random.Generator) -> None:
    assert compare(rng, 300, ms.PYNATIVE_MODE, level) > 100


@pytest.mark.long
def test_records_take_views_in_programs(rng: np.random.Generator) -> None:
    assert compare(rng, 30, ms.GRAPH_MODE, "O1") > 8


# ---- any size -------------------------------------------------------------------------------------------------------

SIZES = (1, 2, 3, 8, 17, 33, 64, 130)
FUNCTIONS: dict[str, tuple[str, Callable[..., Any]]] = {  # the shapes of the operands by letters, and the function
    "matmul": ("mk kn", ops.matmul),
    "product of stacks": ("2mk 2kn", ops.matmul),
    "matrix and vector": ("mk k", ops.matmul),
    "vectors": ("k k", ops.matmul),
    "dense": ("mk nk n", ops.dense),
    "einsum": ("mk nk", lambda x, y: ops.einsum("ij,kj->ki", x, y)),
    "sum": ("mk", lambda x: (x.sum(0), x.sum(1), x.sum())),
    "mean": ("2mk", lambda x: (x.mean((0, 2)), x.mean(1))),
    "extremes": ("mk", lambda x: (ops.amax(x, 0), ops.amin(x, 1), ops.argmax(x, 0), ops.argmin(x, 1))),
    "softmax": ("mk", lambda x: (ops.softmax(x, 0), ops.log_softmax(x, 1))),
    "cumsum": ("mk", lambda x: (ops.cumsum(x, 0), ops.cumsum(x, 1))),
    "sort": ("mk", lambda x: (ops.sort(x, 0)[0], ops.argsort(x, 1), ops.topk(x, 1)[0])),
    "gather": ("3k", lambda x: (ops.gather(x, ms.Tensor([2, 0, 0, 1]), 0), x[ms.Tensor([0, -1])])),
    "index_add": ("3k 4k", lambda x, v: ops.index_add(x, 0, ms.Tensor([2, 0, 0, 1]), v)),
    "elementwise": ("mk k", lambda x, y: ops.where(x > y, x * y, ops.abs(x) - y)),
    "layer_norm": ("mk k k", lambda x, g, b: ops.layer_norm(x, (x.shape[-1],), g, b)),
    "conv2d": ("238k m322", lambda x, w: ops.conv2d(ops.cat([x, x], 3), w)),
    "conv1x1": ("238k m311", ops.conv2d),
    "pool": ("238k", lambda x: (ops.max_pool2d(x, 1, 2), ops.avg_pool2d(x, 1, 2))),
    "attention": ("2mk 2nk 2nk", lambda q, k, v: ops.softmax(q @ k.swapaxes(1, 2), -1) @ v),
}
WHOLE = {
    "matmul",
    "product of stacks",
    "vectors",
    "sum",
    "extremes",
    "cumsum",
    "sort",
    "gather",
    "index_add",
    "elementwise",
}
"""Those that take integers, too."""
SMOOTH = set(FUNCTIONS) - {"extremes", "sort", "pool", "elementwise"}
"""Those whose gradient does not jump where numbers are rounded."""


def operands(rng: Any, name: str, dtype: str) -> list[Array]:
    size = {letter: int(rng.choice(SIZES)) for letter in "mkn"}
    shapes = [[size[c] if c in size else int(c) for c in word] for word in FUNCTIONS[name][0].split()]
    values = [rng.standard_normal(s) if dtype in BOUNDS else rng.integers(0, 9, s) for s in shapes]
    return [v.astype(getattr(ms, dtype).numpy) for v in values]


def compare_sizes(rng: Any, name: str, mode: int, level: str) -> None:
    dtypes = DTYPES[:4] + (DTYPES[4:8] if name in WHOLE else ())
    dtype, fn = dtypes[rng.integers(len(dtypes))], FUNCTIONS[name][1]
    bases, views, names = laid(rng, operands(rng, name, dtype))
    there = dense(bases, views)
    wide = [t.astype(ms.float64) for t in there] if dtype in BOUNDS else there
    want = found(fn, there, ms.PYNATIVE_MODE, "O0")
    exact = [e.astype(w.dtype) for e, w in zip(found(fn, wide, ms.PYNATIVE_MODE, "O0"), want)]
    places = [i for i, w in enumerate(want) if w.dtype.name not in BOUNDS and dtype in BOUNDS]
    what = f"{name} {dtype} {names} {[t.shape for t in there]}"
    got = found(lambda *ts: fn(*(v(t) for v, t in zip(views, ts))), bases, mode, level)
    check(got, [want[i] if i in places else e for i, e in enumerate(exact)], what, times=2.0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_views_of_any_size(name: str, rng: np.random.Generator) -> None:
    for level in ("O0", "O1", "O1", "O1"):
        compare_sizes(rng, name, ms.PYNATIVE_MODE, level)
    compare_sizes(rng, name, ms.GRAPH_MODE, "O1")


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(SMOOTH))
def test_gradients_by_views_in_half_precision(name: str, rng: np.random.Generator) -> None:
    """Against those of the same numbers in float64; at O1 twice, since the second sweep is compiled."""
    dtype, fn = ("float16", "bfloat16")[rng.integers(2)], FUNCTIONS[name][1]
    bases, views, names = laid(rng, [a * a.dtype.type(0.25) for a in operands(rng, name, dtype)])

    def total(*ts: Any) -> Any:
        out = fn(*ts)
        return sum((t * t).mean() + t.mean() for t in (out if isinstance(out, tuple) else (out,)))

    def slopes(*ts: Any) -> Any:
        return ms.grad(total, tuple(range(len(ts))))(*ts)

    there = dense(bases, views)
    exact = found(slopes, [t.astype(ms.float64) for t in there], ms.PYNATIVE_MODE, "O0")
    want = [e.astype(getattr(ms, dtype).numpy) for e in exact]
    eager = ms.PYNATIVE_MODE
    for mode, level in ((eager, "O0"), (eager, "O1"), (eager, "O1"), (ms.GRAPH_MODE, "O1")):
        got = found(lambda *ts: slopes(*(v(t) for v, t in zip(views, ts))), bases, mode, level)
        check(got, want, f"{name} {dtype} {names} {[t.shape for t in there]} {mode} {level}", times=2.0)
