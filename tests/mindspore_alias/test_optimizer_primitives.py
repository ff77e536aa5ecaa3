"""Primitives that update weights: a row of NumPy per primitive judges them, with numbers, with tensors, by rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms

Arrays = list[Any]


def adam(w, m, v, b1p, b2p, lr, b1, b2, eps, g):
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
    return w - lr * np.sqrt(1 - b2p) / (1 - b1p) * m / (np.sqrt(v) + eps), m, v


def ftrl(w, n, z, g, lr=0.1, l1=0.05, l2=0.2, power=-0.5):
    new = n + g**2
    z = z + g - (new**-power - n**-power) / lr * w
    return np.where(abs(z) > l1, (np.sign(z) * l1 - z) / (new**-power / lr + 2 * l2), 0), new, z


def proximal(w, step, l1, l2):
    return np.sign(w) * np.maximum(abs(w) - step * l1, 0) / (1 + step * l2)


def centered(w, mg, s, mom, g, lr, rho, momentum, eps):
    mg, s = rho * mg + (1 - rho) * g, rho * s + (1 - rho) * g**2
    mom = momentum * mom + lr * g / np.sqrt(s - mg**2 + eps)
    return w - mom, mg, s, mom


def adagrad(w, n, lr, g, eps=0.0):
    n = n + g**2
    return w - lr * g / (np.sqrt(n) + eps), n


def adadelta(w, n, u, lr, rho, eps, g):
    n = rho * n + (1 - rho) * g**2
    step = np.sqrt(u + eps) / np.sqrt(n + eps) * g
    return w - lr * step, n, rho * u + (1 - rho) * step**2


def rms(w, s, mom, lr, g, rho, momentum, eps):
    s = rho * s + (1 - rho) * g**2
    mom = momentum * mom + lr * g / np.sqrt(s + eps)
    return w - mom, s, mom


def signed(w, m, lr, alpha, decay, beta, g, power=False):
    m = beta * m + (1 - beta) * g
    same = decay * np.sign(g) * np.sign(m)
    return w - lr * (np.exp(alpha * same) if power else alpha + same) * g, m


# name: (attributes, number of states, scalars as they stand among the inputs, "g" for the gradient, the judge)
Row = tuple[tuple[Any, ...], int, tuple[Any, ...], Callable[..., tuple[Any, ...]]]
ROWS: dict[str, Row] = {
    "ApplyMomentum": ((), 2, (0.1, "g", 0.9), lambda w, a, lr, g, m: (w - lr * (a * m + g), a * m + g)),
    "ApplyKerasMomentum": ((), 2, (0.1, "g", 0.9), lambda w, a, lr, g, m: (w + a * m - lr * g, a * m - lr * g)),
    "Adam": ((), 3, (0.9, 0.99, 0.1, 0.9, 0.99, 1e-7, "g"), adam),
    "ApplyAdaMax": ((), 3, (0.9, 0.1, 0.9, 0.99, 1e-7, "g"),
                    lambda w, m, v, b1p, lr, b1, b2, e, g: (
                        w - lr / (1 - b1p) * (b1 * m + (1 - b1) * g) / (np.maximum(b2 * v, abs(g)) + e),
                        b1 * m + (1 - b1) * g, np.maximum(b2 * v, abs(g)))),
    "ApplyAdadelta": ((), 3, (0.1, 0.9, 1e-5, "g"), adadelta),
    "ApplyAdagrad": ((), 2, (0.1, "g"), adagrad),
    "ApplyAdagradV2": ((1e-3,), 2, (0.1, "g"), lambda *x: adagrad(*x, eps=1e-3)),
    "ApplyAddSign": ((), 2, (0.1, 0.5, 0.3, 0.9, "g"), signed),
    "ApplyPowerSign": ((), 2, (0.1, 0.5, 0.3, 0.9, "g"), lambda *x: signed(*x, power=True)),
    "ApplyRMSProp": ((), 3, (0.1, "g", 0.9, 0.8, 1e-5), rms),
    "ApplyCenteredRMSProp": ((), 4, ("g", 0.1, 0.9, 0.8, 2.0), centered),
    "ApplyFtrl": ((), 3, ("g", 0.1, 0.05, 0.2, -0.5), ftrl),
    "ApplyGradientDescent": ((), 1, (0.1, "g"), lambda w, a, g: (w - a * g,)),
    "ApplyProximalGradientDescent": ((), 1, (0.1, 0.2, 0.3, "g"),
                                     lambda w, a, l1, l2, g: (proximal(w - a * g, a, l1, l2),)),
    "ApplyProximalAdagrad": ((), 2, (0.1, 0.2, 0.3, "g"), lambda w, n, lr, l1, l2, g: (
        proximal(w - lr / np.sqrt(n + g**2) * g, lr / np.sqrt(n + g**2), l1, l2), n + g**2)),
    "ApplyAdamWithAmsgradV2": ((), 4, (0.9, 0.99, 0.1, 0.9, 0.99, 1e-7, "g"),
                               lambda w, m, v, h, b1p, b2p, lr, b1, b2, e, g: (
                                   w - lr * np.sqrt(1 - b2p) / (1 - b1p) * (b1 * m + (1 - b1) * g)
                                   / (np.sqrt(np.maximum(h, b2 * v + (1 - b2) * g**2)) + e),
                                   b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2,
                                   np.maximum(h, b2 * v + (1 - b2) * g**2))),
}  # fmt: skip
SPARSE: dict[str, Row] = {
    "FusedSparseLazyAdam": ((), 3, (0.9, 0.99, 0.1, 0.9, 0.99, 1e-7, "g"), adam),
    "FusedSparseFtrl": ((0.1, 0.05, 0.2, -0.5), 3, ("g",), ftrl),
    "SparseApplyFtrl": ((0.1, 0.05, 0.2, -0.5), 3, ("g",), ftrl),
    "SparseApplyFtrlV2": ((0.1, 0.05, 0.2, 0.0, -0.5), 3, ("g",), ftrl),
    "SparseApplyAdagrad": ((0.1,), 2, ("g",), lambda w, n, g: adagrad(w, n, 0.1, g)),
    "SparseApplyAdagradV2": ((0.1, 1e-3), 2, ("g",), lambda w, n, g: adagrad(w, n, 0.1, g, 1e-3)),
    "SparseApplyAdadelta": ((1e-5,), 3, (0.1, 0.9, "g"),
                            lambda w, n, u, lr, rho, g: adadelta(w, n, u, lr, rho, 1e-5, g)),
    "SparseApplyRMSProp": ((0.9, 0.8, 1e-5), 3, (0.1, "g"), lambda w, s, m, lr, g: rms(w, s, m, lr, g, 0.9, 0.8, 1e-5)),
    "SparseApplyProximalAdagrad": ((), 2, (0.1, 0.2, 0.3, "g"), ROWS["ApplyProximalAdagrad"][3]),
    "FusedSparseProximalAdagrad": ((), 2, (0.1, 0.2, 0.3, "g"), ROWS["ApplyProximalAdagrad"][3]),
}  # fmt: skip

IN_TURN = ("SparseApplyFtrl", "SparseApplyFtrlV2", "SparseApplyAdagradV2", "SparseApplyRMSProp")
"""Where gradients of one row come one after another; elsewhere their sum comes once."""


def states(rng: np.random.Generator, count: int) -> Arrays:
    drawn = [rng.standard_normal((4, 3)).astype(np.float32)]
    return drawn + [rng.uniform(0.1, 0.5, (4, 3)).astype(np.float32) for _ in range(count - 1)]


def run(primitive: Any, held: Arrays, rest: Arrays, mode: int) -> Any:
    step = primitive if mode == ms.PYNATIVE_MODE else ms.jit(lambda *x: primitive(*held, *x))
    return step(*held, *rest) if mode == ms.PYNATIVE_MODE else step(*rest)


def check(found: Any, held: Arrays, wanted: Any) -> None:
    for parameter, value in zip(held, wanted, strict=True):
        np.testing.assert_allclose(parameter.asnumpy(), value, rtol=2e-5, atol=1e-6)
    first = found[0] if isinstance(found, tuple) else found
    np.testing.assert_allclose(first.asnumpy(), wanted[0], rtol=2e-5, atol=1e-6)


def parameters(values: Arrays) -> Arrays:
    return [ms.Parameter(ms.Tensor(v), name=f"state{i}") for i, v in enumerate(values)]


@pytest.mark.parametrize("scalars", ("numbers", "tensors"))
@pytest.mark.parametrize("name", ROWS)
def test_dense(mode: int, name: str, scalars: str, rng: np.random.Generator) -> None:
    from mindspore import ops

    attributes, count, order, judge = ROWS[name]
    values, grad = states(rng, count), rng.standard_normal((4, 3)).astype(np.float32)
    held = parameters(values)
    wrap = (lambda v: v) if scalars == "numbers" else (lambda v: ms.Tensor(v, ms.float32))
    found = run(getattr(ops, name)(*attributes), held, [ms.Tensor(grad) if v == "g" else wrap(v) for v in order], mode)
    check(found, held, judge(*values, *[grad if v == "g" else v for v in order]))


@pytest.mark.parametrize("name", SPARSE)
def test_rows_that_come_back(mode: int, name: str, rng: np.random.Generator) -> None:
    from mindspore import ops

    attributes, count, order, judge = SPARSE[name]
    values, grad = states(rng, count), rng.standard_normal((3, 3)).astype(np.float32)
    held, indices = parameters(values), np.array([2, 0, 2], np.int32)
    rest = [ms.Tensor(grad) if v == "g" else v for v in order]
    found = run(getattr(ops, name)(*attributes), held, [*rest, ms.Tensor(indices)], mode)
    for rows in ([0], [1], [2]) if name in IN_TURN else ([0, 1, 2],):
        whole = np.zeros((4, 3), np.float32)
        np.add.at(whole, indices[rows], grad[rows])
        new = judge(*values, *[whole if v == "g" else v for v in order])
        values = [np.where(np.isin(np.arange(4), indices[rows])[:, None], a, b) for a, b in zip(new, values)]
    check(found, held, values)


def test_no_rows_and_one(mode: int, rng: np.random.Generator) -> None:
    from mindspore import ops

    for count in (0, 1):
        values, grad = states(rng, 2), np.ones((count, 3), np.float32)
        held = parameters(values)
        run(ops.SparseApplyAdagradV2(0.1, 1e-3), held, [ms.Tensor(grad), ms.Tensor(np.zeros(count, np.int32))], mode)
        values[1][:count] += 1
        np.testing.assert_array_equal(held[1].asnumpy(), values[1])


def test_momentum_of_a_row_that_comes_back(mode: int) -> None:
    from mindspore.ops.operations.nn_ops import SparseApplyMomentum

    held, indices = parameters([np.ones((2, 1), np.float32), np.zeros((2, 1), np.float32)]), np.array([1, 1], np.int32)
    grad = np.float32([[1], [2]])
    run(SparseApplyMomentum(), held, [ms.Tensor(v) for v in (np.float32(0.1), grad, indices, np.float32(0.5))], mode)
    check(held[0], held, [[[1], [1 - 0.1 - 0.25]], [[0], [2.5]]])


def test_fused_sparse_adam_moves_all_rows(mode: int, rng: np.random.Generator) -> None:
    from mindspore import ops

    values, grad = states(rng, 3), rng.standard_normal((2, 3)).astype(np.float32)
    held, whole = parameters(values), np.zeros((4, 3), np.float32)
    whole[[3, 1]] = grad
    scalars = [0.9, 0.99, 0.1, 0.9, 0.99, 1e-7]
    found = run(ops.FusedSparseAdam(), held, [*scalars, ms.Tensor(grad), ms.Tensor([3, 1], ms.int32)], mode)
    check(found, held, adam(*values, *scalars, whole))


def test_stochastic_gradient_descent_begins_with_the_gradient(mode: int) -> None:
    from mindspore import ops

    held = parameters([np.float32([2.0]), np.float32([0.0]), np.float32([1.0])])
    w, accum, stat = held
    primitive, g, rate, momentum = ops.SGD(0.5, 0.0), ms.Tensor([1.0]), ms.Tensor(0.1), ms.Tensor(0.9)

    def program(g):
        return primitive(w, g, rate, accum, momentum, stat)

    step = program if mode == ms.PYNATIVE_MODE else ms.jit(program)
    assert step(g).tolist() == pytest.approx([1.9])  # the first step takes the gradient whole
    assert stat.tolist() == [0.0]
    assert step(g).tolist() == pytest.approx([1.9 - 0.1 * (0.9 + 0.5)])


def test_what_does_not_fit_is_an_error() -> None:
    from mindspore import ops

    w, accum = parameters([np.zeros((2, 2), np.float32), np.zeros((2, 2), np.float32)])
    with pytest.raises(ValueError, match="do not fit|broadcast"):
        ops.ApplyMomentum()(w, accum, 0.1, ms.Tensor(np.zeros((3, 2), np.float32)), 0.9)
    with pytest.raises(TypeError, match="needs lr"):
        ops.SparseApplyAdagrad()
    assert accum.tolist() == [[0.0, 0.0], [0.0, 0.0]]


def test_lars_divides_the_decay_by_the_loss_scale(mode: int) -> None:
    """MindSpore's layer around an optimizer does so, once more than the paper."""
    from mindspore import nn

    w = ms.Parameter(ms.Tensor([3.0, 4.0]), name="w")
    step = nn.LARS(nn.Momentum([w], 1.0, 0.0, weight_decay=0.5, loss_scale=4.0), epsilon=0.0, coefficient=0.1)
    step((ms.Tensor([0.0, 8.0]),))  # a gradient of length 2, a weight of 5, a decay of 0.125
    trust = 0.1 * 5 / (2 + 0.125 * 5)
    want = np.array([3 - trust * 0.125 * 3, 4 - trust * (2 + 0.125 * 4)])
    np.testing.assert_allclose(w.asnumpy(), want, rtol=1e-6)


@pytest.mark.parametrize("name", ["FusedSparseAdam", "FusedSparseLazyAdam"])
def test_gradients_that_are_no_rows_of_the_weight_are_refused(name: str, mode: int) -> None:
    from mindspore import ops

    ones = np.ones((3, 2), np.float32)
    held = parameters([ones, ones, ones])
    scalars = [0.9, 0.999, 0.1, 0.9, 0.999, 1e-8]
    places = ms.Tensor([0, 2], ms.int32)
    op = getattr(ops, name)()
    for grad, at in ((ones[0, 0], places), (ones, places), (ones[:2, :1], places), (ones[:2], ms.Tensor([[0, 2]]))):
        with pytest.raises(ValueError, match="a row like the weight's"):
            run(op, held, [*scalars, ms.Tensor(grad), at], mode)
    with pytest.raises(TypeError, match="are tensors, not list and Tensor"):
        run(op, held, [*scalars, [ms.Tensor(ones)], places], mode)
    assert all((p.asnumpy() == ones).all() for p in held)
