"""The records of the families that move, join, index and contract elements, each checked on its own examples.

A record answers several questions about one function; here the answers are compared with each other: the type that
inference promised with the value, the gradient rule with differences of the body, the vmap rule with a loop.
"""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import MsnbError
from msnb.core.types import WEAK
from msnb.ops.definition.record import REGISTRY, Example, Op
from tests.gradient_check import check_grads

FAMILIES = {
    "shape", "join", "slicing", "contract", "getitem", "index", "scatter", "selection", "padding", "sorting", "einsum",
    "linalg", "triangle",
}  # fmt: skip
RECORDS = [op for op in REGISTRY.values() if op.family in FAMILIES]
CASES = [pytest.param(op, e, id=f"{op.name}-{i}") for op in RECORDS for i, e in enumerate(op.examples)]
SMOOTH = [c for c in CASES if c.values[0].grad is not None]


def run(op: Op, inputs: Any, attrs: Any) -> tuple[Any, ...]:
    out = op(*inputs, **attrs)
    return out if isinstance(out, tuple) else (out,)


def wrapped(inputs: Any) -> list[Any]:
    return [ms.Tensor(x) if isinstance(x, np.ndarray) else x for x in inputs]


def test_every_family_is_here() -> None:
    assert {op.family for op in RECORDS} == FAMILIES


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.name)
def test_is_complete(op: Op) -> None:
    assert op.doc and op.examples and op.axes
    assert (op.grad is None) == bool(op.no_grad)


@pytest.mark.parametrize("op, example", CASES)
def test_values_have_the_promised_types(op: Op, example: Example) -> None:
    inputs = wrapped(example.inputs)
    promised = op.result_types(tuple(x._type if isinstance(x, ms.Tensor) else WEAK[type(x)] for x in inputs),
                               op.bind_attrs(example.attrs))  # fmt: skip
    before = [x.asnumpy() for x in inputs if isinstance(x, ms.Tensor)]
    for t, o in zip(promised, run(op, inputs, example.attrs), strict=True):
        assert o._data.dtype == t.dtype.numpy
        assert len(t.shape) == o._data.ndim
        assert all(a == b for a, b in zip(t.shape, o._data.shape) if isinstance(a, int))
    for old, x in zip(before, (x for x in inputs if isinstance(x, ms.Tensor))):
        np.testing.assert_array_equal(old, x.asnumpy())


@pytest.mark.parametrize("op", RECORDS, ids=lambda op: op.name)
def test_wrong_calls_teach(op: Op) -> None:
    for wrong in op.wrong:
        with pytest.raises(wrong.error) as caught:
            op(*wrong.inputs, **wrong.attrs)
        assert isinstance(caught.value, MsnbError)
        assert wrong.sentence in str(caught.value)


@pytest.mark.parametrize("op, example", CASES)
def test_labels_name_every_axis(op: Op, example: Example) -> None:
    inputs = wrapped(example.inputs)
    types = tuple(x._type if isinstance(x, ms.Tensor) else WEAK[type(x)] for x in inputs)
    attrs = op.bind_attrs(example.attrs)
    text = op.axes(types, attrs) if callable(op.axes) else op.axes
    left, right = text.split("->")
    for part, t in zip(left.split(","), types):
        labels = part.split()
        assert len(labels) == t.ndim or "..." in labels, (text, types)
    for part, t in zip(right.split(","), op.result_types(types, attrs)):
        labels = part.split()
        assert len(labels) == t.ndim or "..." in labels, (text, t)


# ---- the gradient rule against central differences -----------------------------------------------------------------


def asked(op: Op, inputs: list[Any], outs: tuple[Any, ...], douts: tuple[Any, ...], attrs: Any) -> tuple[Any, ...]:
    types = tuple(x._type if isinstance(x, ms.Tensor) else WEAK[type(x)] for x in inputs)
    known: dict[str, Any] = {"dout": douts[0], "douts": douts, "out": outs[0], "outs": outs, "types": types,
                             "out_type": outs[0]._type, "attrs": attrs, **attrs}  # fmt: skip
    for i, name in enumerate(op.inputs):
        known[name.lstrip("*")] = tuple(inputs[i:]) if name.startswith("*") else inputs[i] if i < len(inputs) else None
    got = op.grad(**{k: known[k] for k in inspect.signature(op.grad).parameters})  # type: ignore[misc]
    return tuple(got) if isinstance(got, (tuple, list)) else (got,)


@pytest.mark.parametrize("op, example", SMOOTH)
def test_gradient_rule(op: Op, example: Example, rng: np.random.Generator) -> None:
    attrs = op.bind_attrs(example.attrs)
    inputs = wrapped(example.inputs)
    outs = run(op, inputs, attrs)
    weights = [rng.normal(size=o.shape) for o in outs]
    smooth = [o.dtype.differentiable for o in outs]
    douts = tuple(ms.Tensor(w) if s else ms.Tensor(np.zeros(o.shape)) for w, s, o in zip(weights, smooth, outs))
    grads = asked(op, inputs, outs, douts, attrs)
    assert len(grads) == len(inputs)

    def loss(arrays: list[Any]) -> float:
        found = run(op, wrapped(arrays), attrs)
        return float(sum((w * o.asnumpy()).sum() for w, o, s in zip(weights, found, smooth) if s))

    for i, (x, g) in enumerate(zip(example.inputs, grads)):
        if not isinstance(x, np.ndarray) or x.dtype != np.float64:
            continue
        expected = np.zeros(x.shape)
        for at in np.ndindex(x.shape):
            ends = []
            for sign in (1, -1):
                moved = np.array(x)
                moved[at] += sign * 1e-5
                ends.append(loss([*example.inputs[:i], moved, *example.inputs[i + 1 :]]))
            expected[at] = (ends[0] - ends[1]) / 2e-5
        got = ms.ops.sum_to(g, x.shape).asnumpy()
        np.testing.assert_allclose(got, expected, rtol=1e-6, atol=1e-8)


# ---- the vmap rule against a loop ----------------------------------------------------------------------------------

LANES = 3


def lanes_of(x: Any, rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Lanes that differ: indices stay legal under permutation, floats are scaled."""
    a = np.asarray(x)
    if a.dtype.kind == "f":
        return np.stack([a * s for s in (1.0, 2.0, 0.5)])
    return np.stack([rng.permutation(a.reshape(-1)).reshape(a.shape) for _ in range(LANES)])


@pytest.mark.parametrize("op, example", [c for c in CASES if c.values[0].batch is not None])
def test_vmap_rule(op: Op, example: Example, rng: np.random.Generator) -> None:
    attrs = op.bind_attrs(example.attrs)
    arrays = [np.asarray(x) for x in example.inputs]
    for batched in itertools.product([True, False], repeat=len(arrays)):
        if not any(batched):
            continue
        lanes = [lanes_of(x, rng) if b else x for x, b in zip(arrays, batched)]
        given = [ms.Tensor(x) if b or isinstance(e, np.ndarray) else e
                 for x, b, e in zip(lanes, batched, example.inputs)]  # fmt: skip
        result, which = op.batch(LANES, given, batched, **attrs)  # type: ignore[misc]
        results = result if isinstance(result, tuple) else (result,)
        whole = which if isinstance(which, tuple) else (which,) * len(results)
        for lane in range(LANES):
            one = [ms.Tensor(x[lane]) if b else (ms.Tensor(x) if isinstance(e, np.ndarray) else e)
                   for x, b, e in zip(lanes, batched, example.inputs)]  # fmt: skip
            for got, is_batched, want in zip(results, whole, run(op, one, attrs), strict=True):
                here = got.asnumpy()[lane] if is_batched else got.asnumpy()
                np.testing.assert_allclose(here, want.asnumpy(), rtol=1e-9, atol=1e-12, err_msg=f"batched={batched}")


@pytest.mark.parametrize("op, example", SMOOTH)
def test_derivatives_of_both_orders_in_both_directions(op: Op, example: Example) -> None:
    """Through the graph transforms: reverse and forward mode, and the gradient of the gradient."""
    check_grads(lambda *xs: op(*xs, **example.attrs), example.inputs)
