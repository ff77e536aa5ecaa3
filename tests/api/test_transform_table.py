"""Transforms of transforms over functions that read a Parameter in every way, against finite differences and loops.

Every row of the table is a map from functions to functions, once in msnb and once in NumPy:

    by w        x -> d sum(h(x)) / dw                central differences in w
    vmap        x -> [h(x), h(2x)]                   a list
    jvp         x -> dh(x)[v]                        a central difference along v

so a chain of any length is checked against the same chain in NumPy on the plain function.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops

Array = np.ndarray[Any, Any]
Fn = Callable[[Any], Any]
Numeric = Callable[[Array, Array], Array]
H = 1e-3
W = np.array([[0.7, -0.4], [0.3, 0.9]])
X = np.array([0.5, -0.8])
V = np.array([0.6, 1.1])


# ---- functions that read w -----------------------------------------------------------------------------------------


class Reading(nn.Cell):
    """A Cell whose weight is ``w``."""

    def __init__(self, w: ms.Parameter) -> None:
        super().__init__()
        self.weight = w

    def construct(self, x: Any) -> Any:
        return ops.tanh(ops.dense(x, self.weight))


class Owner(nn.Cell):
    """A Cell around it that gives out the weight too."""

    def __init__(self, w: ms.Parameter) -> None:
        super().__init__()
        self.inner = Reading(w)

    def construct(self, x: Any) -> Any:
        return self.inner(x).sum() * self.inner.weight


def _direct(w: Any) -> Fn:
    return lambda x: ops.tanh(x @ w)


def _twice(w: Any) -> Fn:
    return lambda x: ops.tanh(x @ w) * (x @ w.T)


def _itself(w: Any) -> Fn:
    return lambda x: (w if ops.sum(x) > 1e9 else w * x.sum()) + w


def _only_w(w: Any) -> Fn:
    return lambda x: w


def _branching(w: Any) -> Fn:
    def f(x: Any) -> Any:
        y = x * x
        if x.sum() > 0:
            y = y @ w
        return y.sum() * x

    return f


KINDS: dict[str, tuple[Callable[[Any], Fn], Numeric]] = {
    "direct": (_direct, lambda x, w: np.tanh(x @ w)),
    "transposed": (lambda w: lambda x: ops.tanh(x @ w.T), lambda x, w: np.tanh(x @ w.T)),
    "twice": (_twice, lambda x, w: np.tanh(x @ w) * (x @ w.T)),
    "a result": (_itself, lambda x, w: w * x.sum() + w),
    "the result": (_only_w, lambda x, w: w * 1.0),
    "in a cell": (Reading, lambda x, w: np.tanh(x @ w.T)),
    "in cells": (Owner, lambda x, w: np.tanh(x @ w.T).sum() * w),
    "jitted": (lambda w: ms.jit(_twice(w)), lambda x, w: np.tanh(x @ w) * (x @ w.T)),
    "behind a branch": (_branching, lambda x, w: ((x * x) @ w if x.sum() > 0 else x * x).sum() * x),
}


# ---- the transforms, and the same in NumPy -------------------------------------------------------------------------


def _packed(*parts: Any) -> Any:
    return ops.cat([p.reshape(-1) for p in parts])


def _by_both(h: Fn, w: ms.Parameter) -> Fn:
    def f(x: Any) -> Any:
        dx, (dw,) = ms.value_and_grad(h, 0, [w])(x)[1]
        return _packed(dx, dw)

    return f


def _pulled(h: Fn, w: ms.Parameter) -> Fn:
    def f(x: Any) -> Any:
        y, pull = ms.vjp(h, x, weights=[w, w])
        (dx,), (dw, same) = pull(ops.ones_like(y))
        return _packed(dx, dw, same)

    return f


def _difference(f: Callable[[Array], Array], at: Array) -> Array:
    """The Jacobian of ``f``: its shape, then that of ``at``."""
    columns = []
    for k in range(at.size):
        step = np.zeros(at.size)
        step[k] = H
        step = step.reshape(at.shape)
        columns.append((f(at + step) - f(at - step)) / (2 * H))
    return np.stack(columns, -1).reshape(*columns[0].shape, *at.shape)


def _num_dx(h: Numeric) -> Numeric:
    return lambda x, w: _difference(lambda y: np.sum(h(y, w)), x)


def _num_dw(h: Numeric) -> Numeric:
    return lambda x, w: _difference(lambda v: np.sum(h(x, v)), w)


def _num_both(h: Numeric) -> Numeric:
    return lambda x, w: np.concatenate([_num_dx(h)(x, w).ravel(), _num_dw(h)(x, w).ravel()])


def _num_pulled(h: Numeric) -> Numeric:
    return lambda x, w: np.concatenate([_num_both(h)(x, w), _num_dw(h)(x, w).ravel()])


def _num_jacobian(h: Numeric) -> Numeric:
    return lambda x, w: _difference(lambda y: h(y, w), x)


Row = tuple[Callable[[Fn, Any], Fn], Callable[[Numeric], Numeric]]
TRANSFORMS: dict[str, Row] = {
    "by x": (lambda h, w: ms.grad(h), _num_dx),
    "by w": (lambda h, w: ms.grad(h, None, w), _num_dw),
    "by both": (_by_both, _num_both),
    "vjp": (_pulled, _num_pulled),
    "jvp": (
        lambda h, w: lambda x: ms.jvp(h, x, ms.Tensor(V))[1],
        lambda h: lambda x, w: (h(x + H * V, w) - h(x - H * V, w)) / (2 * H),
    ),
    "jacrev": (lambda h, w: ms.jacrev(h), _num_jacobian),
    "jacfwd": (lambda h, w: ms.jacfwd(h), _num_jacobian),
    "vmap": (
        lambda h, w: lambda x: ms.vmap(h)(ops.stack([x, 2 * x])),
        lambda h: lambda x, w: np.stack([h(x, w), h(2 * x, w)]),
    ),
    "jit": (lambda h, w: ms.jit(h), lambda h: h),
    "recompute": (lambda h, w: ms.recompute(h), lambda h: h),
}


def check(kind: str, chain: tuple[str, ...]) -> None:
    """The chain, innermost first, on one kind of function: twice, the second time with other values."""
    made, numeric = KINDS[kind]
    w = ms.Parameter(W, name="w")
    f: Any = made(w)
    for name in chain:
        f, numeric = TRANSFORMS[name][0](f, w), TRANSFORMS[name][1](numeric)
    for scale in (1.0, -1.5):
        w.set_data(ms.Tensor(W * scale))
        found = f(ms.Tensor(X * scale)).asnumpy()
        want = numeric(X * scale, W * scale)
        np.testing.assert_allclose(found, want, rtol=2e-4, atol=2e-4, err_msg=f"{kind}: {chain}")
    assert w._rec is None
    np.testing.assert_array_equal(w.asnumpy(), W * -1.5)


@pytest.mark.parametrize("kind", KINDS)
def test_every_transform_of_every_kind(kind: str, mode: int) -> None:
    for name in TRANSFORMS:
        check(kind, (name,))


INNER = ("by w", "by both", "vjp", "jvp", "vmap")
OUTER = ("by w", "vmap", "jvp", "jacrev", "jacfwd", "vjp")


@pytest.mark.parametrize("outer", OUTER)
def test_transforms_of_gradients_by_a_weight(outer: str, mode: int) -> None:
    for inner, kind in zip(INNER, KINDS):
        check(kind, (inner, outer))


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_random_pairs_on_every_kind(kind: str, rng: np.random.Generator, mode: int) -> None:
    pairs = list(product(TRANSFORMS, TRANSFORMS))
    for k in rng.choice(len(pairs), 20, replace=False):
        check(kind, pairs[k])


DEEP = (
    ("by w", "vmap", "by w"),
    ("jit", "by both", "vmap"),
    ("by w", "jit", "jvp"),
    ("vjp", "recompute", "vmap"),
    ("vmap", "by w", "jacfwd"),
)


@pytest.mark.parametrize("chain", DEEP, ids=" of ".join)
def test_chains_of_three(chain: tuple[str, ...], mode: int) -> None:
    check("twice", chain)


@pytest.mark.slow
def test_random_chains_of_three(rng: np.random.Generator, mode: int) -> None:
    for _ in range(25):
        names = rng.choice(list(TRANSFORMS), 3)
        check(str(rng.choice(list(KINDS))), tuple(map(str, names)))
