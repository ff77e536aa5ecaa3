"""One op, once: every record of every family is complete, and all that it says about its op agrees.

    completeness            each field is there, or the record says why not
    types                   what inference promised is what the body gives; inputs stay as they were
    one program             eager, a graph of one node and the body itself give the same bits
    every dtype             whatever inference accepts, the body computes
    wrong calls             the sentence that was promised, in a class that users catch
    another array library   bodies run over ``xp``, not over NumPy
    scalar expressions      the same function as the body
    derivatives             first and second order against central differences
"""

from __future__ import annotations

import importlib.util
import itertools
import math
import statistics
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import MsnbError
from msnb.core import dtypes
from msnb.core.types import WEAK, TensorType
from msnb.devices.device import ArrayDevice, body_kernel
from msnb.ir.builder import GraphBuilder
from msnb.ops.definition.record import REGISTRY, Example, Op, find, operand_dtype
from tests import fake_cupy

STRUCTURE = {  # made by transforms, never called by a program: nothing to show as an example
    "constant", "custom_gradient", "with_vjp", "refuse_gradient",
}  # fmt: skip
RECORDS = [op for op in REGISTRY.values() if "control" not in op.traits and "stack" not in op.traits
           and op.name not in STRUCTURE]  # fmt: skip
CASES = [pytest.param(op, e, id=f"{op.name}-{i}") for op in RECORDS for i, e in enumerate(op.examples)]
SMOOTH = [c for c in CASES if c.values[0].grad is not None]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """NumPy's warnings about log(0) and the like are no part of a result."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        yield


def wrapped(inputs: Any) -> list[Any]:
    return [ms.Tensor(x) if isinstance(x, (np.ndarray, np.generic)) else x for x in inputs]


def types_of(inputs: Any) -> tuple[TensorType, ...]:
    return tuple(x._type if isinstance(x, ms.Tensor) else WEAK[type(x)] for x in inputs)


def results(op: Op, inputs: Any, attrs: Any) -> tuple[Any, ...]:
    out = op(*inputs, **attrs)
    return out if isinstance(out, tuple) else (out,)


# ---- complete -----------------------------------------------------------------------------------------------------


def missing_fields(op: Op) -> list[str]:
    """The fields that a record should have and has not."""
    asked = {
        "doc": bool(op.doc.strip()),
        "grad, or the reason in no_grad": (op.grad is not None) != bool(op.no_grad),
        "axes": op.axes is not None,
        "examples": bool(op.examples),
        "wrong": bool(op.wrong),
        "family": bool(op.family),
        "scalar": op.scalar is not None or "elementwise" not in op.traits,
        "traits: one of pure, random, effect": bool(op.traits & {"pure", "random", "effect"}),
    }
    return [name for name, there in asked.items() if not there]


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.name)
def test_is_complete(op: Op) -> None:
    assert missing_fields(op) == [], f"{op.name} lacks these fields"


def test_the_library_is_as_large_as_promised() -> None:
    public = [n for n in dir(ms.ops) if not n.startswith("_") and callable(getattr(ms.ops, n))]
    assert len(RECORDS) >= 120
    assert len(public) >= 250


def test_an_incomplete_record_is_named() -> None:
    bare = Op("bare", ("x",), {}, lambda x: x, lambda xp, x: x, "", None, "", None, None, None, None,
              frozenset({"elementwise"}), False, frozenset(), (), (), "")  # fmt: skip
    assert {"doc", "axes", "examples", "scalar"} < set(missing_fields(bare))


# ---- types and values ---------------------------------------------------------------------------------------------


def check_types(promised: Any, outs: tuple[Any, ...]) -> None:
    assert len(promised) == len(outs)
    for t, out in zip(promised, outs):
        assert out._data.dtype == t.dtype.numpy and out.dtype is t.dtype
        assert out._data.ndim == t.ndim
        assert all(a == b for a, b in zip(t.shape, out._data.shape) if isinstance(a, int))


@pytest.mark.parametrize("op, example", CASES)
def test_gives_the_promised_types_and_keeps_its_inputs(op: Op, example: Example) -> None:
    inputs = wrapped(example.inputs)
    before = [x.asnumpy() for x in inputs if isinstance(x, ms.Tensor)]
    check_types(op.result_types(types_of(inputs), op.bind_attrs(example.attrs)), results(op, inputs, example.attrs))
    for old, x in zip(before, (x for x in inputs if isinstance(x, ms.Tensor))):
        np.testing.assert_array_equal(old, x.asnumpy())


@pytest.mark.parametrize("op, example", CASES)
def test_graph_and_eager_give_the_same_bits(op: Op, example: Example) -> None:
    inputs = wrapped(example.inputs)
    attrs = op.bind_attrs(example.attrs)
    with GraphBuilder("one") as b:
        params = [b.param(t, f"x{i}") for i, t in enumerate(types_of(inputs))]
        made = b.apply(op, tuple(params), attrs)
        b.output(*(made if isinstance(made, tuple) else (made,)))
    program = ArrayDevice("reference", np).compile(b.graph)
    got = program([x._data if isinstance(x, ms.Tensor) else x for x in inputs])
    for found, out in zip(got, results(op, inputs, example.attrs), strict=True):
        np.testing.assert_array_equal(found, out.asnumpy())


SAMPLE = (dtypes.bool_, dtypes.int8, dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.bfloat16,
          dtypes.float32, dtypes.complex64)  # fmt: skip


def in_dtype(inputs: Any, dtype: dtypes.DType) -> list[Any]:
    """The example with its floating-point arrays in another dtype."""
    return [x.astype(dtype.numpy) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x for x in inputs]


@pytest.mark.parametrize("op", [op for op in RECORDS if op.examples and op.examples[0].inputs], ids=lambda op: op.name)
def test_computes_every_dtype_that_it_accepts(op: Op) -> None:
    for dtype, example in itertools.product(SAMPLE, op.examples[:2]):
        inputs = wrapped(in_dtype(example.inputs, dtype))
        attrs = op.bind_attrs(example.attrs)
        try:
            promised = op.result_types(types_of(inputs), attrs)
        except MsnbError as error:
            assert isinstance(error, (TypeError, ValueError)) and error.sentence
            continue
        check_types(promised, results(op, inputs, example.attrs))


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.name)
def test_wrong_calls_teach(op: Op) -> None:
    for wrong in op.wrong:
        with pytest.raises(wrong.error) as caught:
            op(*wrong.inputs, **wrong.attrs)
        assert isinstance(caught.value, MsnbError)
        assert wrong.sentence in str(caught.value)


# ---- another array library ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("op, example", CASES)
def test_body_uses_the_array_module_it_is_given(op: Op, example: Example) -> None:
    attrs = op.bind_attrs(example.attrs)
    inputs = wrapped(example.inputs)
    types = types_of(inputs)
    there = [fake_cupy.asarray(x._data) if isinstance(x, ms.Tensor) else x for x in inputs]
    found = body_kernel(fake_cupy, op, types, attrs)(*there)
    found = found if isinstance(found, tuple) else (found,)
    for got, out in zip(found, results(op, inputs, example.attrs), strict=True):
        np.testing.assert_array_equal(got.get(), out.asnumpy())


def test_fake_cupy_refuses_what_cupy_refuses() -> None:
    x = fake_cupy.asarray(np.ones(2))
    for mistake in (lambda: np.exp(x), lambda: np.ones(2) + x, lambda: x + np.ones(2), lambda: np.asarray(x),
                    lambda: fake_cupy.add(x, np.ones(2))):  # fmt: skip
        with pytest.raises(TypeError):
            mistake()


# ---- scalar expressions -------------------------------------------------------------------------------------------

_each = np.vectorize


def inverse_erf(x: Any) -> Any:
    """By the standard library's normal distribution."""
    return _each(lambda t: statistics.NormalDist().inv_cdf((t + 1) / 2) / math.sqrt(2), otypes=[float])(x)


WORDS: dict[str, Any] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin,
    "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh,
    "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh, "erf": _each(math.erf, otypes=[float]),
    "erfc": _each(math.erfc, otypes=[float]),
    "erfinv": lambda x: inverse_erf(x), "pow": np.power, "abs": np.abs, "floor": np.floor, "ceil": np.ceil,
    "round": np.rint, "trunc": np.trunc, "fmod": np.fmod, "hypot": np.hypot, "sign": np.sign, "isnan": np.isnan,
    "isinf": np.isinf, "max": np.maximum, "min": np.minimum, "where": np.where, "real": np.real, "imag": np.imag,
    "conj": np.conj, "lgamma": np.frompyfunc(math.lgamma, 1, 1),
}  # fmt: skip
SCALAR = [c for c in CASES if c.values[0].scalar is not None and c.values[0].promotes]


@pytest.mark.parametrize("op, example", SCALAR)
def test_scalar_expression_is_the_body(op: Op, example: Example) -> None:
    inputs = wrapped(example.inputs)
    want = operand_dtype(op, *types_of(inputs)).numpy
    names = {n: np.asarray(x._data if isinstance(x, ms.Tensor) else x, want) for n, x in zip(op.inputs, inputs)}
    out = results(op, inputs, example.attrs)[0].asnumpy()
    found = eval(op.scalar or "", {"__builtins__": {}, **WORDS}, {**names, **op.bind_attrs(example.attrs)})
    found = np.broadcast_to(np.asarray(found).astype(out.dtype), out.shape)
    np.testing.assert_allclose(found, out, rtol=1e-14, atol=1e-14)


# ---- derivatives --------------------------------------------------------------------------------------------------


# y is the pooled x: moved apart, the two no longer say which element won, so they stay and the third input moves
BELONG_TOGETHER = {"max_pool2d_grad": (0, 1), "max_pool2d_pick": (0, 1)}


def as_program(op: Op, example: Example) -> tuple[Any, list[Any]]:
    """A function of the arrays of an example; Python numbers stay inside it."""
    held = BELONG_TOGETHER.get(op.name, ())
    slots = [i for i, x in enumerate(example.inputs) if isinstance(x, np.ndarray) and i not in held]

    def program(*tensors: Any) -> Any:
        operands = list(example.inputs)
        for i, t in zip(slots, tensors):
            operands[i] = t
        return op(*operands, **example.attrs)

    return program, [example.inputs[i] for i in slots]


@pytest.mark.parametrize("op, example", SMOOTH)
def test_derivatives_of_first_and_second_order(op: Op, example: Example, rng: np.random.Generator) -> None:
    from tests.gradient_check import check_grads

    program, arrays = as_program(op, example)
    promised = op.result_types(types_of(wrapped(example.inputs)), op.bind_attrs(example.attrs))
    wide = [a for a in arrays if a.dtype in (np.float64, np.complex128)]
    if not wide or not any(t.dtype in (dtypes.float64, dtypes.complex128) for t in promised):
        assert not wide or op.name in ("cast", "full"), f"{op.name} loses double precision"
        return
    forward = importlib.util.find_spec("msnb.autodiff.forward_mode") is not None
    check_grads(program, arrays, order=2, seed=int(rng.integers(1000)), forward=forward)


@pytest.mark.parametrize("name", ["add", "multiply", "divide", "exp", "abs", "real", "conj", "sum", "prod"])
def test_derivatives_of_complex_numbers(name: str) -> None:
    from tests.gradient_check import check_grads

    op = find(name)
    z = np.array([[0.5 + 1.0j, -1.25 + 0.5j], [2.0 - 0.25j, 0.75 - 1.5j]])
    check_grads(lambda *xs: op(*xs), [z, z[:, ::-1] + 0.5][: len(op.inputs)], order=1, forward=False)


# ---- many lanes at once -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("op, example", [c for c in CASES if c.values[0].traits & {"pure"} and c.values[0].inputs])
def test_vmap_is_a_loop(op: Op, example: Example, rng: np.random.Generator) -> None:
    """Lanes that differ in their floating-point values; integers and masks are shared: an index must stay inside."""
    program, arrays = as_program(op, example)
    batched = [a.dtype in (np.float64, np.complex128) for a in arrays]
    promised = op.result_types(types_of(wrapped(example.inputs)), op.bind_attrs(example.attrs))
    if not any(batched) or not all(t.is_static for t in promised):
        return
    from msnb.autodiff.vmap import vmap
    from msnb.ir.builder import build
    from tests.gradient_check import run

    graph = build("lane", [ms.Tensor(a)._type for a in arrays], program)
    lanes = [np.stack([a * s for s in (1.0, 0.5, 0.25)]) if b else a for a, b in zip(arrays, batched)]
    together = run(vmap(graph, 3, batched)[0], lanes)
    for lane in range(3):
        alone = run(graph, [a[lane] if b else a for a, b in zip(lanes, batched)])
        for one, all_of_them in zip(alone, together, strict=True):
            np.testing.assert_allclose(all_of_them[lane], one, rtol=1e-12, atol=1e-12)
