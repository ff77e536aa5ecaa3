"""Every operator's record on the GPU, against its body: examples, dtypes, edges, ragged and empty sizes, axes.

The kernels run thread by thread on the host, with the watch over bounds, alignment, races and unwritten memory on.
What has no kernel runs as a body over CuPy; the list below says of what that is true in float32.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gpu_programs import LENGTHS, both, compiled

import msnb as ms
from msnb.base.errors import MsnbError
from msnb.core import dtypes
from msnb.ops.definition.record import REGISTRY, Op, find
from tests.devices.cpu.codegen_programs import close, one_op, traced
from tests.devices.cpu.test_codegen_records import accepts, tolerance, values

pytest.importorskip("llvmlite")
pytestmark = pytest.mark.slow

STRUCTURE = {"constant", "custom_gradient", "with_vjp", "refuse_gradient"}
RECORDS = [op for op in REGISTRY.values() if not op.traits & {"control", "stack"} and op.name not in STRUCTURE]
ELEMENTWISE = [op for op in RECORDS if op.scalar is not None and "elementwise" in op.traits and op.name != "cast"]
REDUCTIONS = [op for op in RECORDS if op.reduction and "axis" in op.attrs]
BODIES = {"imag", "angle", "floor_divide", "remainder", "fmod"}
"""Elementwise operations of floats that have no kernel: there is no C library on a GPU."""
FLOATS_ONLY = {"floor_divide", "remainder", "fmod"}
SINGLE = [dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.int32, dtypes.uint8, dtypes.bool_]
RARER = [dtypes.float64, dtypes.int8, dtypes.int64, dtypes.uint32]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def told(op: Op, dtype: dtypes.DType) -> Any:
    """What may run as a body: functions of float64, and what is on the list."""
    left = BODIES - (set() if dtype.is_float else FLOATS_ONLY)
    return None if dtype is dtypes.float64 or op.name in left else ()


# ---- examples --------------------------------------------------------------------------------------------------------


def narrow(x: Any) -> Any:
    """float64 as float32."""
    return x.astype(np.float32) if isinstance(x, (np.ndarray, np.generic)) and x.dtype == np.float64 else x


def agree(op: Op, got: Any, want: Any, dtype: dtypes.DType = dtypes.float32) -> None:
    """Equal where a body ran, else within the bounds of the CPU's generated code."""
    if np.asarray(want).dtype.kind == "c":
        np.testing.assert_array_equal(got, want)
        return
    wild = 40 if op.name == "tan" else 16 if op.reduction else tolerance(op, dtype)
    close(got, want, wild, floor=1.0 if op.reduction else 1e-6 if op.name in ("sin", "cos", "tan") else 0.0)


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.name)
def test_examples(op: Op) -> None:
    for example in op.examples:
        for inputs in (example.inputs, tuple(narrow(x) for x in example.inputs)):
            args = [ms.Tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in inputs]
            try:
                graph = one_op(op, args, example.attrs)
            except MsnbError:
                assert inputs is not example.inputs
                continue
            if op.name not in compiled(graph).host_steps:  # a body over CuPy: tests/ops/test_records.py
                for got, want in both(graph, args, None):
                    agree(op, got, want)


# ---- dtypes and edges ------------------------------------------------------------------------------------------------

DTYPES = [*(pytest.param(t, id=t.name) for t in (*SINGLE, *RARER))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ELEMENTWISE, ids=lambda op: op.name)
def test_elementwise(op: Op, dtype: dtypes.DType, rng: np.random.Generator) -> None:
    """Edges in one shape, broadcasts in the other."""
    if op.name == "power" and dtype.is_int:
        return
    for number, pair in enumerate([((7, 13), (7, 13)), ((3, 1, 5), (4, 1))][: 1 + (dtype is dtypes.float32)]):
        inputs = [values(dtype, pair[i % 2], rng, edges=number == 0) for i in range(len(op.inputs))]
        if op.name == "where":
            inputs[0] = values(dtypes.bool_, pair[0], rng, False)
        if not accepts(op, inputs):
            return
        for got, want in both(one_op(op, inputs, {}), inputs, told(op, dtype)):
            agree(op, got, want, dtype)


@pytest.mark.parametrize("old", [dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.int32, dtypes.bool_],
                         ids=lambda t: t.name)  # fmt: skip
def test_casts(old: dtypes.DType, rng: np.random.Generator) -> None:
    for new in SINGLE:
        x = values(old, (5, 11), rng, edges=False)
        if old.is_float and new.is_int and not new.signed:
            x = ms.Tensor(np.abs(x.asnumpy().astype(np.float32)).astype(old.numpy))
        for got, want in both(one_op(find("cast"), [x], {"dtype": new}), [x]):
            np.testing.assert_array_equal(np.asarray(got, np.float64), np.asarray(want, np.float64))


def test_numbers_of_python(rng: np.random.Generator) -> None:
    for op in [op for op in ELEMENTWISE if len(op.inputs) == 2 and op.name not in ("power", "hypot", "atan2")]:
        x = values(dtypes.float32, (6, 5), rng, edges=True)
        if accepts(op, [x, x]):
            for got, want in both(one_op(op, [x, 3], {}), [x, 3], None):
                agree(op, got, want)


HUGE = [2.0**30, -(2.0**30), 1e10, -3e9, 1e22, -1e30, 3.4e38, 2.0**127, 16367173.0 * 2.0**72, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("name", ["sin", "cos"])
def test_huge_angles(name: str, rng: np.random.Generator) -> None:
    wild = rng.standard_normal(500) * 2.0 ** rng.integers(20, 127, 500)
    x = np.concatenate([HUGE, wild]).astype(np.float32)
    ((got, _),) = both(one_op(find(name), [ms.Tensor(x)], {}), [ms.Tensor(x)])
    close(got, getattr(np, name)(x.astype(np.float64)).astype(np.float32), 4, floor=1e-6)


# ---- sizes -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [dtypes.float32, dtypes.float16, dtypes.int8], ids=lambda t: t.name)
def test_ragged_lengths(dtype: dtypes.DType, rng: np.random.Generator) -> None:
    """One program of all lengths, alone and as the rows and columns of a matrix."""
    shapes = [s for n in LENGTHS for s in ((n,), (3, n), (n, 2))]
    args = [values(dtype, s, rng, edges=False) for s in shapes]
    graph = traced(lambda *xs: tuple(ms.ops.where(x > 1, x * x, x - 1) for x in xs), *args)
    for got, want in both(graph, args):
        close(got, want, 2)


@pytest.mark.parametrize(
    ("name", "dtype"), [("sum", dtypes.float32), ("mean", dtypes.bfloat16), ("max", dtypes.int32)], ids=str
)
def test_reductions_of_ragged_lengths(name: str, dtype: dtypes.DType, rng: np.random.Generator) -> None:
    op = find(name)
    shapes = [s for n in LENGTHS for s in ((n,), (3, n), (n, 5))]
    args = [values(dtype, s, rng, edges=False) for s in shapes]
    graph = traced(lambda *xs: tuple(op(x, axis=a) for x in xs for a in range(x.ndim)), *args)
    sizes = [np.abs(x.asnumpy().astype(np.float64)).sum(axis=a) for x in args for a in range(x.ndim)]
    for (got, want), size in zip(both(graph, args), sizes, strict=True):
        if dtype is dtypes.float32:  # both orders of adding round: each error grows with the sum of the magnitudes
            assert (np.abs(np.float64(got) - want) <= 4 * np.finfo(np.float32).eps * size).all()
        else:
            close(got, want, 4, floor=0.1)


def test_nothing_to_do(rng: np.random.Generator) -> None:
    """Arrays of size zero run, as results and as operands of reductions."""
    for shape in ((0,), (0, 5), (5, 0), (2, 0, 3)):
        for op in ELEMENTWISE[:: 1 if shape == (0,) else 9]:
            inputs = [values(dtypes.float32, shape, rng, edges=False) for _ in op.inputs]
            if accepts(op, inputs):
                assert all(np.shape(got) == shape for got, _ in both(one_op(op, inputs, {}), inputs, None))
        for op, axis in itertools.product(REDUCTIONS, (None, *range(len(shape)))):
            x = values(dtypes.float32, shape, rng, edges=False)
            try:
                graph = one_op(op, [x], {"axis": axis, "keepdims": True})
            except MsnbError:
                continue
            if op.reduction in ("max", "min"):
                continue
            for got, want in both(graph, [x], None):
                np.testing.assert_array_equal(got, want)


# ---- axes ------------------------------------------------------------------------------------------------------------

SHAPES = [(37,), (5, 33), (6, 3, 17), (2, 3, 4, 9)]


def subsets(axes: int) -> list[tuple[int, ...]]:
    return [s for n in range(1, axes + 1) for s in itertools.combinations(range(axes), n)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
def test_reductions_over_every_subset_of_axes(op: Op, shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x = ms.Tensor((rng.standard_normal(shape) + 0.5).astype(np.float32))
    if not accepts(op, [x]):
        x = ms.Tensor(x.asnumpy() > 0)
    inside = op.reduction == "var"  # it reads its sum along the row: rows only
    for keep, axis in zip(itertools.cycle((False, True)), subsets(len(shape))):
        for got, want in both(one_op(op, [x], {"axis": axis, "keepdims": keep}), [x], None if inside else ()):
            close(got, want, 30 if op.reduction == "prod" else 16, floor=1.0)


@pytest.mark.parametrize("dtype", [dtypes.float16, dtypes.bfloat16, dtypes.int32, dtypes.uint8, dtypes.bool_],
                         ids=lambda t: t.name)  # fmt: skip
@pytest.mark.parametrize("op", REDUCTIONS, ids=lambda op: op.name)
def test_reductions_of_dtypes(op: Op, dtype: dtypes.DType, rng: np.random.Generator) -> None:
    x = values(dtype, (5, 3, 18), rng, edges=False)
    if not accepts(op, [x]):
        return
    for axis in (None, 0, 2):
        for got, want in both(one_op(op, [x], {"axis": axis}), [x], None if op.reduction == "var" else ()):
            half = dtype in (dtypes.float16, dtypes.bfloat16)
            close(got, want, 30 if op.reduction == "prod" else 4 if half else 16, floor=0.05 if half else 1.0)


@pytest.mark.parametrize("name", ["max", "min", "sum"])
def test_a_nan_wins_in_a_reduction(name: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal((6, 1037)).astype(np.float32)
    x[1, 3], x[2, 4], x[3, 1036], x[4, 600:602] = np.nan, np.inf, -np.inf, [np.inf, np.nan]
    for axis in (None, 0, 1):
        for got, want in both(one_op(find(name), [ms.Tensor(x)], {"axis": axis, "keepdims": False}), [ms.Tensor(x)]):
            close(got, want, 16, floor=4.0)


def test_records_without_a_kernel_are_known() -> None:
    """What runs as a body over CuPy does so on purpose."""
    x = ms.Tensor(np.full((3, 4), 0.25, np.float32))
    for op in ELEMENTWISE:
        inputs = [x] * len(op.inputs)
        if accepts(op, inputs):
            alone = bool(compiled(one_op(op, inputs, {})).host_steps)
            assert alone == (op.name in BODIES), f"{op.name}: {'no kernel' if alone else 'a kernel, off the list'}"
