"""Values of ops and composites against formulas written down a second time, edges, and derivatives of composites."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from tests.gradient_check import check_grads

A = np.array([[0.5, -1.25, 2.1, -3.4], [1.6, 0.25, -0.75, 3.2]])
B = np.array([[1.7, 0.75, -2.25, 0.3], [-0.8, 1.35, 2.5, -0.1]])
P = np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.15, 0.05]])
_erf = np.vectorize(math.erf)


def sigma(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def soft(x: Any, axis: int = -1) -> Any:
    e = np.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


# ---- elementwise --------------------------------------------------------------------------------------------------


def test_erf_to_the_last_digits() -> None:
    x = np.concatenate([np.linspace(-6.5, 6.5, 5001), np.linspace(-27, 27, 999), [0.0, 0.46875, 4.0, -4.0, 1e-300]])
    one, other = ops.erf(ms.Tensor(x)).asnumpy(), ops.erfc(ms.Tensor(x)).asnumpy()
    np.testing.assert_allclose(one, [math.erf(t) for t in x], rtol=1e-15)
    exact = np.array([math.erfc(t) for t in x])
    normal = exact > 1e-300
    np.testing.assert_allclose(other[normal], exact[normal], rtol=2e-15)
    y = ms.Tensor(np.concatenate([np.linspace(-5.5, 5.5, 2001), [1e-12, -1e-300, 0.0]]))
    back = ops.erfinv(ops.erf(y)).asnumpy()
    np.testing.assert_allclose(ops.erf(ms.Tensor(back)).asnumpy(), ops.erf(y).asnumpy(), rtol=1e-15)
    np.testing.assert_allclose(back[abs(y.asnumpy()) < 2], y.asnumpy()[abs(y.asnumpy()) < 2], rtol=1e-13)
    found = ops.erfinv(ms.Tensor([1.0, -1.0, 2.0])).asnumpy()
    np.testing.assert_array_equal(found, np.float32([np.inf, -np.inf, np.nan]))
    edges = ms.Tensor([np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(ops.erf(edges).asnumpy(), np.float32([np.nan, 1, -1]))
    np.testing.assert_array_equal(ops.erfc(edges).asnumpy(), np.float32([np.nan, 0, 2]))


def test_functions_that_never_overflow() -> None:
    x = ms.Tensor([-1e4, -100.0, 0.0, 100.0, 1e4])
    with np.errstate(over="raise", invalid="raise"):
        np.testing.assert_allclose(ops.sigmoid(x).asnumpy(), [0, 0, 0.5, 1, 1], atol=1e-30)
        np.testing.assert_allclose(ops.softplus(x).asnumpy(), [0, 0, math.log(2), 100, 1e4], rtol=1e-6, atol=1e-30)
        np.testing.assert_allclose(ops.logsigmoid(x).asnumpy(), [-1e4, -100, -math.log(2), 0, 0], rtol=1e-6, atol=1e-30)
        np.testing.assert_allclose(ops.softmax(x).asnumpy(), [0, 0, 0, 0, 1])
        assert ops.logsumexp(x).item() == 1e4
    assert ops.logsumexp(ms.Tensor([-np.inf, -np.inf])).item() == -np.inf


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.uint8, np.bool_])
def test_functions_of_whole_numbers_compute_as_float32(dtype: Any) -> None:
    x = np.array([0, 1, 1], dtype)
    for name in ("exp", "sin", "sqrt", "sigmoid", "erf", "tanh"):
        found = getattr(ops, name)(ms.Tensor(x))
        assert found.dtype is ms.float32
        np.testing.assert_array_equal(found.asnumpy(), getattr(ops, name)(ms.Tensor(x.astype(np.float32))).asnumpy())


def test_where_and_its_scalars() -> None:
    x = ms.Tensor(A)
    picked = ops.where(x > 0, x, 0.1)
    assert picked.dtype is ms.float64 and picked.asnumpy()[0, 1] == 0.1
    assert ops.where(x > 0, 1, 0).dtype is ms.int64
    assert ops.where(ms.Tensor([1, 0]), ms.Tensor(np.float16([1, 2])), 0.5).dtype is ms.float16


def test_casts() -> None:
    x = ms.Tensor([1.7, -1.7, 0.0])
    assert x.astype(ms.int32).tolist() == [1, -1, 0] and x.astype("bool").tolist() == [True, True, False]
    assert x.astype(ms.float32) is x
    z = ms.Tensor(np.array([1 + 2j, 3 - 4j]))
    assert z.astype(ms.float64).tolist() == [1.0, 3.0] and ops.abs(z).tolist() == [math.sqrt(5), 5.0]
    assert z.real.tolist() == [1.0, 3.0] and z.imag.tolist() == [2.0, -4.0] and z.conj().tolist() == [1 - 2j, 3 + 4j]
    with pytest.raises(TypeError, match="is not a dtype"):
        x.astype("flaot32")


def test_nan_and_rounding() -> None:
    x = ms.Tensor([np.nan, np.inf, -np.inf, 1.5, 2.5])
    assert ops.isnan(x).tolist() == [True, False, False, False, False]
    assert ops.isinf(x).tolist() == [False, True, True, False, False]
    assert ops.isfinite(x).tolist() == [False, False, False, True, True]
    assert ops.nan_to_num(x, nan=7.0, posinf=8.0, neginf=9.0).tolist() == [7.0, 8.0, 9.0, 1.5, 2.5]
    assert ops.round(x).tolist()[3:] == [2.0, 2.0]
    assert np.isnan(ops.maximum(x, 0.0).asnumpy()[0]) and np.isnan(ops.relu(x).asnumpy()[0])


# ---- reductions ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype, summed, averaged", [("bool", "int64", "float32"), ("int8", "int64", "float32"),
                                                     ("int32", "int64", "float32"), ("float16", "float16", "float16"),
                                                     ("bfloat16",) * 3, ("float64",) * 3])  # fmt: skip
def test_dtypes_of_sums_and_means(dtype: str, summed: str, averaged: str) -> None:
    x = ms.Tensor([1, 0, 1, 1]).astype(dtype)
    assert x.sum().dtype.name == x.prod().dtype.name == x.cumsum(0).dtype.name == summed
    assert x.mean().dtype.name == averaged and float(x.mean()) == 0.75
    assert x.max().dtype.name == dtype


def test_half_precision_is_summed_wider() -> None:
    ones = ops.ones(4097, dtype=ms.bfloat16)
    assert float(ones.sum()) == 4096.0 and float(ops.ones(3000, dtype=ms.float16).mean()) == 1.0


def test_reductions_of_nothing() -> None:
    x = ops.zeros((0, 3))
    assert x.sum(0).tolist() == [0, 0, 0] and x.prod(0).tolist() == [1, 1, 1] and x.sum(1).shape == (0,)
    assert np.isnan(x.mean(0).asnumpy()).all() and np.isnan(x.var(0).asnumpy()).all()
    assert x.any(0).tolist() == [False] * 3 and x.all(0).tolist() == [True] * 3
    for name in ("max", "min", "argmax", "argmin"):
        with pytest.raises(ValueError, match=f"{name} of no elements has no value: axis 0 has size 0"):
            getattr(x, name)(0)


def test_nan_wins_and_ties_share() -> None:
    x = ms.Tensor([[1.0, np.nan], [2.0, 2.0]])
    assert np.isnan(x.amax(1).asnumpy()[0]) and x.amax(1).asnumpy()[1] == 2 and x.argmax(1).tolist() == [1, 0]
    grad = ms.grad(lambda t: t.max())(ms.Tensor([1.0, 3.0, 3.0, 0.0]))
    assert grad.tolist() == [0.0, 0.5, 0.5, 0.0]
    grad = ms.grad(lambda t: ops.maximum(t, 3.0).sum())(ms.Tensor([1.0, 3.0, 4.0]))
    assert grad.tolist() == [0.0, 0.5, 1.0]


def test_products_with_zeros_have_gradients() -> None:
    grad = ms.grad(lambda t: t.prod())
    assert grad(ms.Tensor([2.0, 0.0, 5.0])).tolist() == [0.0, 10.0, 0.0]
    assert grad(ms.Tensor([0.0, 0.0, 5.0])).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("ord", [None, 1, 2, 3, 0, math.inf, -math.inf])
def test_norms(ord: Any) -> None:
    found = ops.vector_norm(ms.Tensor(A), ord, axis=1).asnumpy()
    np.testing.assert_allclose(found, np.linalg.norm(A, ord, axis=1), rtol=1e-12)
    assert ms.grad(lambda t: ops.vector_norm(t))(ops.zeros(3)).tolist() == [0.0, 0.0, 0.0]


def test_running_extremes() -> None:
    values, places = ops.cummax(ms.Tensor([1.0, 3.0, 2.0, 3.0, np.nan, 5.0]))
    np.testing.assert_array_equal(values.asnumpy(), np.float32([1, 3, 3, 3, np.nan, np.nan]))
    assert places.tolist()[:5] == [0, 1, 1, 3, 4]
    assert ops.cumsum(ms.Tensor([1, 2, 3]), exclusive=True, reverse=True).tolist() == [5, 3, 0]


# ---- creation -----------------------------------------------------------------------------------------------------


def test_creation() -> None:
    assert ops.zeros(2, 3).shape == ops.zeros((2, 3)).shape == ops.ones([2, 3]).shape == (2, 3)
    assert ops.zeros((2,), ms.int32).dtype is ms.int32 and ops.zeros(2).dtype is ms.float32
    assert ops.full((2,), 3).dtype is ms.int64 and ops.full((2,), 3.5).tolist() == [3.5, 3.5]
    assert ops.arange(2, 7, 2).tolist() == [2, 4, 6] and ops.arange(3).dtype is ms.int64
    np.testing.assert_allclose(ops.arange(0.0, 1.0, 0.3).asnumpy(), np.arange(0, 1, 0.3), rtol=1e-6)
    assert ops.linspace(0, 1, 3).tolist() == [0.0, 0.5, 1.0] and ops.eye(2, 3).tolist() == [[1, 0, 0], [0, 1, 0]]
    assert ops.full_like(ms.Tensor([1, 2]), 7).tolist() == [7, 7]
    with pytest.raises(ValueError, match="ints >= 0"):
        ops.zeros((2, -1))
    with pytest.raises(ValueError, match="step other than 0"):
        ops.arange(0, 3, 0)


# ---- activations --------------------------------------------------------------------------------------------------

ACTIVATIONS: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "relu": (ops.relu, lambda x: np.maximum(x, 0)),
    "relu6": (ops.relu6, lambda x: np.clip(x, 0, 6)),
    "leaky_relu": (ops.leaky_relu, lambda x: np.where(x > 0, x, 0.2 * x)),
    "elu": (ops.elu, lambda x: np.where(x > 0, x, np.exp(x) - 1)),
    "celu": (lambda x: ops.celu(x, 2.0), lambda x: np.where(x > 0, x, 2 * (np.exp(x / 2) - 1))),
    "selu": (ops.selu, lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * (np.exp(x) - 1))),
    "gelu": (ops.gelu, lambda x: x * (1 + _erf(x / math.sqrt(2))) / 2),
    "gelu_tanh": (lambda x: ops.gelu(x, "tanh"),
                  lambda x: x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))),
    "silu": (ops.silu, lambda x: x * sigma(x)),
    "mish": (ops.mish, lambda x: x * np.tanh(np.log1p(np.exp(x)))),
    "hardsigmoid": (ops.hardsigmoid, lambda x: np.clip(x + 3, 0, 6) / 6),
    "hardswish": (ops.hardswish, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "hardtanh": (ops.hardtanh, lambda x: np.clip(x, -1, 1)),
    "hardshrink": (ops.hardshrink, lambda x: np.where(np.abs(x) > 0.5, x, 0)),
    "softshrink": (lambda x: ops.softshrink(x, 0.6), lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.6, 0)),
    "tanhshrink": (ops.tanhshrink, lambda x: x - np.tanh(x)),
    "softplus": (ops.softplus, lambda x: np.log1p(np.exp(x))),
    "softplus2": (lambda x: ops.softplus(x, 2.0), lambda x: np.log1p(np.exp(2 * x)) / 2),
    "softsign": (ops.softsign, lambda x: x / (1 + np.abs(x))),
    "logsigmoid": (ops.logsigmoid, lambda x: np.log(sigma(x))),
    "glu": (ops.glu, lambda x: x[:, :2] * sigma(x[:, 2:])),
    "softmax": (ops.softmax, soft),
    "softmax0": (lambda x: ops.softmax(x, 0), lambda x: soft(x, 0)),
    "log_softmax": (ops.log_softmax, lambda x: np.log(soft(x))),
    "softmin": (ops.softmin, lambda x: soft(-x)),
    "logsumexp": (lambda x: ops.logsumexp(x, 1), lambda x: np.log(np.exp(x).sum(1))),
    "std": (lambda x: ops.std(x, 1, 1), lambda x: x.std(1, ddof=1)),
    "clip": (lambda x: ops.clip(x, -1, 2), lambda x: np.clip(x, -1, 2)),
    "lerp": (lambda x: ops.lerp(x, 2.0, 0.25), lambda x: x + 0.25 * (2 - x)),
    "sinc": (ops.sinc, np.sinc),
    "norm": (lambda x: ops.vector_norm(x, 3, 1), lambda x: np.linalg.norm(x, 3, 1)),
    "logcumsumexp": (lambda x: ops.logcumsumexp(x, 1), lambda x: np.log(np.cumsum(np.exp(x), 1))),
    "median": (lambda x: ops.median(x, 1).values, lambda x: np.sort(x, 1)[:, 1]),
    "ptp": (lambda x: ops.ptp(x, 0), lambda x: np.ptp(x, 0)),
    "average": (lambda x: ops.average(x, 1, ms.Tensor(P)), lambda x: np.average(x, 1, P)),
    "add_n": (lambda x: ops.add_n([x, x * 2, 1.0]), lambda x: 3 * x + 1),
    "addcmul": (lambda x: ops.addcmul(x, x, 2.0, 0.5), lambda x: 2 * x),
    "addcdiv": (lambda x: ops.addcdiv(1.0, x, 2.0, 0.5), lambda x: 1 + x / 4),
    "logaddexp": (lambda x: ops.logaddexp(x, 0.5 * x + 0.1), lambda x: np.logaddexp(x, 0.5 * x + 0.1)),
    "logit": (lambda x: ops.logit(ops.sigmoid(x)), lambda x: x),
    "xlogy": (lambda x: ops.xlogy(x, x * x), lambda x: x * np.log(x * x)),
    "frac": (ops.frac, lambda x: x - np.trunc(x)),
    "threshold": (lambda x: ops.threshold(x, 0.3, 2.0), lambda x: np.where(x > 0.3, x, 2.0)),
    "nansum": (lambda x: ops.nansum(ops.where(x > 2, np.nan, x), 1), lambda x: np.where(x > 2, 0, x).sum(1)),
    "nanmean": (lambda x: ops.nanmean(ops.where(x > 2, np.nan, x), 1),
                lambda x: np.nanmean(np.where(x > 2, np.nan, x), 1)),
    "copysign": (lambda x: ops.copysign(x, ms.Tensor(B)), lambda x: np.copysign(x, B)),
    "xdivy": (lambda x: ops.xdivy(x, 1 + x * x), lambda x: x / (1 + x * x)),
    "float_power": (lambda x: ops.float_power(x * x, 1.5), lambda x: np.abs(x) ** 3),
    "clip_by_norm": (lambda x: ops.clip_by_norm(x, 1.0), lambda x: x / (np.sqrt((x**2).sum()) + 1e-6)),
}  # fmt: skip
SHAPED = A.copy()
SHAPED[0, 0] = 0.55  # off the corner of hardshrink


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation(name: str) -> None:
    ours, formula = ACTIVATIONS[name]
    np.testing.assert_allclose(ours(ms.Tensor(SHAPED)).asnumpy(), formula(SHAPED), rtol=1e-12, atol=1e-14)
    check_grads(ours, [SHAPED])


def test_prelu_has_a_weight_per_channel() -> None:
    x, w = A.reshape(1, 2, 4), np.array([0.1, 0.3])
    np.testing.assert_allclose(ops.prelu(ms.Tensor(x), ms.Tensor(w)).asnumpy(), np.where(x > 0, x, x * w[:, None]))
    check_grads(ops.prelu, [x, w])
    with pytest.raises(ValueError, match="one per channel"):
        ops.prelu(ms.Tensor(x), ms.Tensor([0.1, 0.2, 0.3]))


# ---- losses -------------------------------------------------------------------------------------------------------

_LOGP = np.log(soft(A))
_CLASSES = np.array([2, 0])
_W = np.array([0.5, 1.0, 2.0, 1.5])
_SIGNS = np.where(B > 0, 1.0, -1.0)


def _smooth(t: Any, s: float) -> Any:
    return t * (1 - s) + s / 4


LOSSES: dict[str, tuple[Callable[[Any], Any], float]] = {
    "mse": (lambda x: ops.mse_loss(x, ms.Tensor(B)), ((A - B) ** 2).mean()),
    "mse sum": (lambda x: ops.mse_loss(x, ms.Tensor(B), "sum"), ((A - B) ** 2).sum()),
    "l1": (lambda x: ops.l1_loss(x, ms.Tensor(B)), np.abs(A - B).mean()),
    "smooth l1": (lambda x: ops.smooth_l1_loss(x, ms.Tensor(B), 1.5, "mean"),
                  np.where(np.abs(A - B) < 1.5, (A - B) ** 2 / 3, np.abs(A - B) - 0.75).mean()),
    "huber": (lambda x: ops.huber_loss(x, ms.Tensor(B), delta=1.5),
              np.where(np.abs(A - B) < 1.5, (A - B) ** 2 / 2, 1.5 * (np.abs(A - B) - 0.75)).mean()),
    "cross entropy": (lambda x: ops.cross_entropy(x, ms.Tensor(_CLASSES)), -_LOGP[[0, 1], _CLASSES].mean()),
    "weighted": (lambda x: ops.cross_entropy(x, ms.Tensor(_CLASSES), ms.Tensor(_W)),
                 -(_LOGP[[0, 1], _CLASSES] * _W[_CLASSES]).sum() / _W[_CLASSES].sum()),
    "ignoring": (lambda x: ops.cross_entropy(x, ms.Tensor([2, -100])), -_LOGP[0, 2]),
    "ignoring a class": (lambda x: ops.cross_entropy(x, ms.Tensor(_CLASSES), ignore_index=2), -_LOGP[1, 0]),
    "smoothed": (lambda x: ops.cross_entropy(x, ms.Tensor(_CLASSES), label_smoothing=0.1),
                 -(_smooth(np.eye(4)[_CLASSES], 0.1) * _LOGP).sum(1).mean()),
    "probabilities": (lambda x: ops.cross_entropy(x, ms.Tensor(P)), -(P * _LOGP).sum(1).mean()),
    "smoothed probabilities": (lambda x: ops.cross_entropy(x, ms.Tensor(P), ms.Tensor(_W), label_smoothing=0.2),
                               -(_smooth(P, 0.2) * _LOGP * _W).sum(1).mean()),
    "nll": (lambda x: ops.nll_loss(x, ms.Tensor(_CLASSES), reduction="sum"), -A[[0, 1], _CLASSES].sum()),
    "with logits": (lambda x: ops.softmax_cross_entropy_with_logits(x, ms.Tensor(P)).sum(), -(P * _LOGP).sum()),
    "focal": (lambda x: ops.focal_loss(x, ms.Tensor(_CLASSES)),
              -((1 - soft(A)) ** 2 * _LOGP)[[0, 1], _CLASSES].mean()),
    "bce with logits": (lambda x: ops.binary_cross_entropy_with_logits(x, ms.Tensor(P), pos_weight=ms.Tensor(_W)),
                        -(P * np.log(sigma(A)) * _W + (1 - P) * np.log(1 - sigma(A))).mean()),
    "bce": (lambda x: ops.binary_cross_entropy(ops.sigmoid(x), ms.Tensor(P)),
            -(P * np.log(sigma(A)) + (1 - P) * np.log(1 - sigma(A))).mean()),
    "kl": (lambda x: ops.kl_div(ops.log_softmax(x), ms.Tensor(P), "batchmean"), (P * (np.log(P) - _LOGP)).sum() / 2),
    "soft margin": (lambda x: ops.soft_margin_loss(x, ms.Tensor(_SIGNS)), np.log1p(np.exp(-_SIGNS * A)).mean()),
    "hinge embedding": (lambda x: ops.hinge_embedding_loss(x, ms.Tensor(_SIGNS)),
                        np.where(_SIGNS > 0, A, np.maximum(0, 1 - A)).mean()),
    "margin ranking": (lambda x: ops.margin_ranking_loss(x, ms.Tensor(B), ms.Tensor(_SIGNS), 0.2),
                       np.maximum(0, -_SIGNS * (A - B) + 0.2).mean()),
    "cosine": (lambda x: ops.cosine_embedding_loss(x, ms.Tensor(B), ms.Tensor([1, -1]), 0.1),
               np.mean([1 - A[0] @ B[0] / np.linalg.norm(A[0]) / np.linalg.norm(B[0]),
                        max(0, A[1] @ B[1] / np.linalg.norm(A[1]) / np.linalg.norm(B[1]) - 0.1)])),
    "triplet": (lambda x: ops.triplet_margin_loss(x, ms.Tensor(B), ms.Tensor(P)),
                np.maximum(0, np.linalg.norm(A - B + 1e-6, axis=1) - np.linalg.norm(A - P + 1e-6, axis=1) + 1).mean()),
    "gaussian": (lambda x: ops.gaussian_nll_loss(x, ms.Tensor(B), ms.Tensor(P)),
                 (0.5 * (np.log(P) + (A - B) ** 2 / P)).mean()),
    "poisson": (lambda x: ops.poisson_nll_loss(x, ms.Tensor(P)), (np.exp(A) - P * A).mean()),
}  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
def test_loss(name: str) -> None:
    ours, expected = LOSSES[name]
    assert ours(ms.Tensor(A)).asnumpy() == pytest.approx(expected, rel=1e-12)
    check_grads(ours, [A])


def test_cross_entropy_of_images_and_of_one_row() -> None:
    x, t = np.stack([A, B], axis=2), np.array([[0, 3], [2, 1]])
    logp = np.log(soft(x, 1))
    expected = -np.mean([logp[n, t[n, i], i] for n in range(2) for i in range(2)])
    assert ops.cross_entropy(ms.Tensor(x), ms.Tensor(t)).asnumpy() == pytest.approx(expected)
    assert ops.cross_entropy(ms.Tensor(A[0]), ms.Tensor(2)).asnumpy() == pytest.approx(-_LOGP[0, 2])
    big = ms.Tensor([[1e4, -1e4]])
    assert ops.cross_entropy(big, ms.Tensor([1])).item() == 2e4


def test_losses_refuse_with_a_sentence() -> None:
    x = ms.Tensor(A)
    with pytest.raises(ValueError, match="reduction must be"):
        ops.mse_loss(x, x, "average")
    with pytest.raises(ValueError, match="different shapes"):
        ops.mse_loss(ops.zeros((4, 1)), ops.zeros((4,)))
    with pytest.raises(ValueError, match=r"class indices have shape \[3\] where \[2\] is expected"):
        ops.cross_entropy(x, ms.Tensor([0, 1, 2]))
    with pytest.raises(ValueError, match="label_smoothing must be in"):
        ops.cross_entropy(x, ms.Tensor([0, 1]), label_smoothing=2.0)
    with pytest.raises(TypeError, match="class indices"):
        ops.nll_loss(x, ms.Tensor([0.0, 1.0]))


# ---- clipping and state -------------------------------------------------------------------------------------------


def test_clipping() -> None:
    x, y = ms.Tensor([3.0, 0.0]), ms.Tensor([0.0, 4.0])
    clipped = ops.clip_by_global_norm((x, y), 1.0)
    np.testing.assert_allclose([c.asnumpy() for c in clipped], [[0.6, 0], [0, 0.8]], rtol=1e-6)
    assert [c.tolist() for c in ops.clip_by_global_norm((x, y), 10.0)] == [[3.0, 0.0], [0.0, 4.0]]
    np.testing.assert_allclose(ops.clip_by_norm(x, 1.0).asnumpy(), [1, 0], rtol=1e-6)
    assert ops.clip_by_norm(x, 9.0).tolist() == [3.0, 0.0]
    assert [t.tolist() for t in ops.clip_by_value([x, y], 1.0, 2.0)] == [[2.0, 1.0], [1.0, 2.0]]
    with pytest.raises(ValueError, match="at least one"):
        ops.clip(x)


def test_assignment() -> None:
    w = ms.Parameter(ms.Tensor([1.0, 2.0]), name="w")
    assert ops.assign(w, 5).tolist() == [5.0, 5.0]
    assert ops.assign_add(w, ms.Tensor([1.0, 2.0])) is w and w.tolist() == [6.0, 7.0]
    assert ops.assign_sub(w, 1).tolist() == [5.0, 6.0]
    with pytest.raises(ValueError, match="does not fit"):
        ops.assign(w, ms.Tensor([1.0, 2.0, 3.0]))
    assert w.tolist() == [5.0, 6.0]


def test_printing_and_stopping(capsys: pytest.CaptureFixture[str]) -> None:
    x = ms.Tensor([1.0, 2.0])
    ops.print("x", x, 3, sep="|")
    assert capsys.readouterr().out == "x|[1. 2.]|3\n"
    grad = ms.grad(lambda t: (t * ops.stop_gradient(t)).sum())(x)
    assert grad.tolist() == [1.0, 2.0]
