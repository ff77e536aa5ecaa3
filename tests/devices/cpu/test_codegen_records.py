"""Every elementwise record as a kernel of its own, against its body: dtypes, odd sizes, broadcasts, 0-d, edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import MsnbError
from msnb.core import dtypes
from msnb.ir.kernel.iteration_space import kind_of
from msnb.ops.definition.record import REGISTRY, Op, find
from tests.devices.cpu.codegen_programs import both, close, kernels, native, one_op

pytest.importorskip("llvmlite")

OPS = [op for op in REGISTRY.values() if op.scalar is not None and "elementwise" in op.traits and op.name != "cast"]
REAL = [t for t in dtypes.ALL if not t.is_complex]
NOT_GENERATED = {"imag", "angle"}
QUICK = {"bool", "uint8", "int32", "bfloat16", "float32"}
DTYPES = [pytest.param(t, id=t.name, marks=() if t.name in QUICK else pytest.mark.slow) for t in REAL]
EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, -2.5, 1e-3, 7.0, 11.0, 88.0, -88.0, 100.0, -104.0, np.inf, -np.inf,
         np.nan,
         1e-40, -1e-40, 3e38, 1e-45, 1.5, 0.75]  # fmt: skip


def values(dtype: dtypes.DType, shape: tuple[int, ...], rng: np.random.Generator, edges: bool) -> ms.Tensor:
    if dtype is dtypes.bool_:
        return ms.Tensor(rng.integers(0, 2, shape).astype(bool))
    if dtype.is_int:
        low = 0 if not dtype.signed else -6
        x = rng.integers(low, 7, shape)
        if edges and x.size > 4:
            info = np.iinfo(dtype.numpy)
            x = x.astype(dtype.numpy)
            x.reshape(-1)[:3] = [info.min, info.max, 0]
        return ms.Tensor(x.astype(dtype.numpy))
    x = rng.standard_normal(shape) * 2
    if edges and x.size:
        flat = x.reshape(-1)
        n = min(flat.size, len(EDGES))
        flat[:n] = rng.permutation(EDGES)[:n]
    with np.errstate(all="ignore"):
        return ms.Tensor(x.astype(np.float32).astype(dtype.numpy))


def accepts(op: Op, inputs: Any) -> bool:
    try:
        op.result_types(tuple(x._type for x in inputs), op.bind_attrs({}))
        return True
    except MsnbError:
        return False


def tolerance(op: Op, dtype: dtypes.DType) -> float:
    """In ulps of the result. NumPy's own float32 functions are up to 4 ulp off, its half ones one rounding more."""
    if dtype in (dtypes.float16, dtypes.bfloat16):
        return 3.0
    return (
        8.0 if op.name in ("power", "softplus", "sigmoid", "expm1", "log1p", "sinh", "cosh", "asinh", "acosh") else 6.0
    )


SHAPES = [((7, 13), (7, 13)), ((3, 1, 5), (4, 1)), ((), (9,)), ((), ()), ((1,), (67,))]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", [op for op in OPS if op.name not in NOT_GENERATED], ids=lambda op: op.name)
def test_kernel_is_the_body(op: Op, dtype: dtypes.DType, rng: np.random.Generator) -> None:
    shapes = SHAPES if dtype is dtypes.float32 else SHAPES[:2]
    for number, pair in enumerate(shapes):
        inputs = [values(dtype, pair[i % 2], rng, edges=number == 0) for i in range(len(op.inputs))]
        if op.name == "where":
            inputs[0] = values(dtypes.bool_, pair[0], rng, False)
        if not accepts(op, inputs):
            return
        if op.name == "power" and dtype.is_int:
            return
        if op.name in ("erfinv", "lgamma") and dtype is dtypes.float64:
            assert kind_of(one_op(op, inputs, {}).nodes[-1]) == ""  # the body serves: it spoils no group
            return
        for got, want in both(one_op(op, inputs, {}), inputs):
            wild = op.name in ("tan",) and dtype is not dtypes.float64
            close(
                got, want, 40 if wild else tolerance(op, dtype), floor=1e-6 if op.name in ("sin", "cos", "tan") else 0.0
            )


@pytest.mark.parametrize("old", REAL, ids=lambda t: t.name)
def test_casts(old: dtypes.DType, rng: np.random.Generator) -> None:
    for new in REAL:
        x = values(old, (5, 11), rng, edges=False)
        if old.is_float and new.is_int and not new.signed:
            x = ms.Tensor(np.abs(x.asnumpy().astype(np.float32)).astype(old.numpy))
        graph = one_op(find("cast"), [x], {"dtype": new})
        for got, want in both(graph, [x]):
            np.testing.assert_array_equal(np.asarray(got, dtype=np.float64), np.asarray(want, dtype=np.float64))


@pytest.mark.parametrize("op", [o for o in OPS if len(o.inputs) == 2], ids=lambda op: op.name)
def test_python_numbers(op: Op, rng: np.random.Generator) -> None:
    for dtype in (dtypes.float32, dtypes.int32, dtypes.float16):
        x = values(dtype, (6, 5), rng, edges=False)
        try:
            graph = one_op(op, [x, 3], {})
        except MsnbError:
            continue
        if op.name == "power" and dtype.is_int:
            continue
        for got, want in both(graph, [x, 3]):
            close(got, want, 8)


def test_records_without_a_kernel_are_known() -> None:
    """What is not fused is not fused on purpose."""
    x = ms.Tensor(np.full((3, 4), 0.25, np.float32))
    for op in OPS:
        inputs = [x] * len(op.inputs)
        if accepts(op, inputs):
            node = one_op(op, inputs, {}).nodes[-1]
            assert kind_of(node) == "elementwise"
            if op.name in NOT_GENERATED:
                assert kernels_of(op, inputs) == 0, f"{op.name} has a kernel now: take it off the list"


def kernels_of(op: Op, inputs: Any) -> int:
    try:
        return kernels(native(one_op(op, inputs, {})))
    except AssertionError:
        return 0
