"""Reductions over every choice of axes against NumPy: values, shapes and dtypes, eager and in a program.

The empty tuple is every axis here, as in MindSpore; NumPy reduces nothing then, so NumPy is asked for None.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.numpy as mnp
from msnb import ops
from msnb.core.types import tensor_type
from msnb.ops.definition.record import REGISTRY, define

CUBE = np.random.default_rng(3).normal(size=(2, 3, 4)).astype(np.float32)
AXES: list[Any] = [None, (), *(a for n in (1, 2, 3) for a in itertools.permutations(range(3), n)),
                   -1, 0, 1, 2, -3, (-1, 0), (1, -1), [0, 2], []]  # fmt: skip


def logsumexp(a: Any, axis: Any, keepdims: bool) -> Any:
    return np.log(np.exp(a).sum(axis=axis, keepdims=keepdims))


NAMES: dict[str, Callable[..., Any]] = {
    "sum": np.sum, "mean": np.mean, "prod": np.prod, "amax": np.max, "amin": np.min, "var": np.var, "std": np.std,
    "any": np.any, "all": np.all, "count_nonzero": np.count_nonzero, "logsumexp": logsumexp,
}  # fmt: skip
MNP = ("sum", "mean", "prod", "amax", "amin", "max", "min", "var", "std", "any", "all", "count_nonzero", "nansum",
       "nanmean", "nanmax", "nanmin", "nanvar", "nanstd")  # fmt: skip
PRIMITIVES = {"ReduceSum": np.sum, "ReduceMean": np.mean, "ReduceMax": np.max, "ReduceMin": np.min,
              "ReduceProd": np.prod, "ReduceAny": np.any, "ReduceAll": np.all}  # fmt: skip


def plain(axis: Any) -> Any:
    return tuple(axis) or None if isinstance(axis, (tuple, list)) else axis


def hold_equal(found: ms.Tensor, expected: Any, what: Any) -> None:
    got = found.asnumpy()
    assert found.shape == got.shape == np.shape(expected), what
    assert found.dtype.numpy == got.dtype, what
    np.testing.assert_allclose(got, expected, rtol=2e-5, atol=1e-6, err_msg=str(what))


def cases(fn: Callable[..., Any], x: Any, words: tuple[str, str] = ("axis", "keepdims")) -> list[Any]:
    return [fn(x, **{words[0]: axis, words[1]: kept}) for axis in AXES for kept in (False, True)]


def answers(reference: Callable[..., Any], a: Any) -> list[Any]:
    return [reference(a, axis=plain(axis), keepdims=kept) for axis in AXES for kept in (False, True)]


def hold_all(found: list[ms.Tensor], reference: Callable[..., Any], a: Any) -> None:
    given = [(axis, kept) for axis in AXES for kept in (False, True)]
    for what, value, expected in zip(given, found, answers(reference, a), strict=True):
        hold_equal(value, expected, what)


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("name", NAMES)
def test_functions(name: str, level: str) -> None:
    ms.set_context(jit_level=level)
    fn, x = getattr(ops, name), ms.Tensor(CUBE)
    hold_all(cases(fn, x), NAMES[name], CUBE)
    hold_all(ms.jit(lambda x: cases(fn, x))(x), NAMES[name], CUBE)


@pytest.mark.parametrize("name", [*NAMES, "max", "min"])
def test_methods(name: str) -> None:
    reference = NAMES.get(name) or getattr(np, name)
    hold_all(cases(getattr(ms.Tensor, name), ms.Tensor(CUBE)), reference, CUBE)
    hold_all(cases(getattr(ms.Tensor, name), ms.Tensor(CUBE), ("axis", "keep_dims")), reference, CUBE)


@pytest.mark.parametrize("name", MNP)
def test_numpy_names(name: str) -> None:
    hold_all(cases(getattr(mnp, name), CUBE), getattr(np, name), CUBE)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_primitives(name: str, mode: Any) -> None:
    made = {kept: getattr(ops, name)(keep_dims=kept) for kept in (False, True)}
    a = CUBE > 0 if name in ("ReduceAny", "ReduceAll") else CUBE

    def run(x: Any) -> list[Any]:
        given = [axis for axis in AXES if not isinstance(axis, list)]
        return [made[kept](x, axis) for axis in given for kept in (False, True)]

    found = ms.jit(run)(ms.Tensor(a)) if ms.get_context("mode") == ms.GRAPH_MODE else run(ms.Tensor(a))
    given = [(axis, kept) for axis in AXES if not isinstance(axis, list) for kept in (False, True)]
    for (axis, kept), value in zip(given, found, strict=True):
        assert isinstance(value, ms.Tensor)
        hold_equal(value, PRIMITIVES[name](a, axis=plain(axis), keepdims=kept), (axis, kept))


@pytest.mark.parametrize("axis", [(), None, (0, 1)])
@pytest.mark.parametrize("name", ["sum", "mean", "prod", "amax", "var", "logsumexp"])
def test_gradients(name: str, axis: Any, mode: Any) -> None:
    x = ms.Tensor(CUBE[0])
    found = ms.grad(lambda x: getattr(ops, name)(x, axis=axis) * 2)(x)
    expected = ms.grad(lambda x: getattr(ops, name)(x.reshape(-1), axis=0) * 2)(x)
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("axis", [(), None, 0, (0, -1)])
def test_lanes(axis: Any, mode: Any) -> None:
    found = ms.vmap(lambda x: ops.sum(x, axis=axis))(ms.Tensor(CUBE))
    each = np.stack([np.sum(lane, axis=plain(axis)) for lane in CUBE])
    np.testing.assert_allclose(found.asnumpy(), each, rtol=1e-5)


def test_no_axis_is_no_place_for_an_index(mode: Any) -> None:
    for fn in (ops.argmax, ops.argmin):
        with pytest.raises(TypeError, match="axis must be an int"):
            fn(ms.Tensor(CUBE), axis=())


def test_flip_along_no_axis(mode: Any) -> None:
    np.testing.assert_array_equal(ops.flip(ms.Tensor(CUBE), ()).asnumpy(), CUBE)
    np.testing.assert_array_equal(ops.flip(ms.Tensor(CUBE)).asnumpy(), np.flip(CUBE))


def test_a_row_of_weights_stands_along_its_axis(mode: Any) -> None:
    a, row = CUBE[:, :, :3], np.array([1.0, 2.0, 4.0], np.float32)
    for axis in (1, 2, -1):
        expected = np.average(a, axis=axis, weights=row)
        np.testing.assert_allclose(ops.average(ms.Tensor(a), axis, ms.Tensor(row)).asnumpy(), expected, rtol=1e-5)
        np.testing.assert_allclose(mnp.average(a, axis, row).asnumpy(), expected, rtol=1e-5)
    for axis in (0, None):
        with pytest.raises(ValueError, match="weights have the shape of x"):
            ops.average(ms.Tensor(a), axis, ms.Tensor(row))


# ---- what a record promises is what its body gives ----------------------------------------------------------------


@pytest.mark.parametrize("shape", [(2,), (3, 2)])
def test_a_body_that_breaks_its_promise_is_told(shape: tuple[int, ...], mode: Any) -> None:
    ms.set_context(jit_level="O0")
    name = f"test_liar_{len(shape)}"
    liar = define(name, "x", infer=lambda x: tensor_type(shape, x.dtype), body=lambda xp, x: x, doc="", no_grad="test")
    try:
        with pytest.raises(ValueError, match="promised"):
            ms.jit(lambda x: liar(x))(ms.Tensor([1.0, 2.0, 3.0])).asnumpy()
        with pytest.raises(ValueError, match="promised"):
            liar(ms.Tensor([1.0, 2.0, 3.0]))
    finally:
        del REGISTRY[name]

