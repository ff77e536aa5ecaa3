"""Norms and embedding against their formulas in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops

Array = np.ndarray[Any, Any]


def standard(x: Array, axis: Any, eps: float) -> Array:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps)


def test_every_norm_follows_its_formula(rng: np.random.Generator) -> None:
    x, w, b = rng.standard_normal((4, 6, 3, 5)) * 3 + 1, rng.standard_normal(6), rng.standard_normal(6)
    per_channel = w[:, None, None], b[:, None, None]
    affine = lambda y: y * per_channel[0] + per_channel[1]
    y, mean, var = ops.batch_norm_train(x, w, b, 1e-3)
    np.testing.assert_allclose(y.asnumpy(), affine(standard(x, (0, 2, 3), 1e-3)), atol=1e-12)
    np.testing.assert_allclose(mean.asnumpy(), x.mean((0, 2, 3)), atol=1e-12)
    np.testing.assert_allclose(var.asnumpy(), x.var((0, 2, 3)), atol=1e-12)
    grouped = standard(x.reshape(4, 2, 3, 3, 5), (2, 3, 4), 1e-5).reshape(x.shape)
    np.testing.assert_allclose(ops.group_norm(x, 2, w, b).asnumpy(), affine(grouped), atol=1e-12)
    alone = standard(x, (2, 3), 1e-5)
    np.testing.assert_allclose(ops.instance_norm(x, w, b).asnumpy(), affine(alone), atol=1e-12)
    lw, lb = rng.standard_normal((3, 5)), rng.standard_normal((3, 5))
    np.testing.assert_allclose(
        ops.layer_norm(x, (3, 5), lw, lb).asnumpy(), standard(x, (2, 3), 1e-5) * lw + lb, atol=1e-12
    )
    root = np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(ops.rms_norm(x, lw[0]).asnumpy(), x / root * lw[0], atol=1e-12)


def test_inference_uses_the_statistics_given(rng: np.random.Generator) -> None:
    x, m, v = rng.standard_normal((4, 3)), rng.standard_normal(3), rng.random(3) + 0.5
    np.testing.assert_allclose(ops.batch_norm(x, m, v, eps=0.0).asnumpy(), (x - m) / np.sqrt(v), atol=1e-12)
    train = ops.batch_norm(x, m, v, training=True, eps=1e-5).asnumpy()
    np.testing.assert_allclose(train, standard(x, 0, 1e-5), atol=1e-12)


def test_short_floats_are_normalised_in_float32() -> None:
    x = ms.Tensor(np.full((1, 4096), 100.0) + np.arange(4096) % 2, "float16")
    y = ops.layer_norm(x, 4096)
    assert y.dtype is ms.float16
    np.testing.assert_allclose(np.abs(y.asnumpy()), 1.0, atol=2e-3)


@pytest.mark.parametrize("name", ["batch", "layer", "group", "rms", "instance"])
def test_gradients_to_second_order(rng: np.random.Generator, name: str) -> None:
    calls = {
        "batch": lambda t: ops.batch_norm_train(t)[0],
        "layer": lambda t: ops.layer_norm(t, 3),
        "group": lambda t: ops.group_norm(t, 2),
        "rms": ops.rms_norm,
        "instance": ops.instance_norm,
    }
    f = lambda t: (calls[name](t) ** 3).sum()
    g = lambda t: (ms.grad(f)(t) ** 2).sum()
    x = ms.Tensor(rng.standard_normal((3, 4, 3)))
    d = ms.Tensor(rng.standard_normal(x.shape))
    for fn in (f, g):
        numeric = (float(fn(x + d * 1e-5)) - float(fn(x - d * 1e-5))) / 2e-5
        np.testing.assert_allclose(float((ms.grad(fn)(x) * d).sum()), numeric, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda x: ops.batch_norm_train(x[0, 0]), "at least 2 axes"),
        (lambda x: ops.batch_norm_train(x, ops.ones((3,))), "the weight needs 4 values"),
        (lambda x: ops.layer_norm(x, 7), "the last axes of x must be [7]"),
        (lambda x: ops.group_norm(x, 3), "does not divide 4 channels"),
        (lambda x: ops.instance_norm(x.astype(ms.int32)), "floating-point"),
        (lambda x: ops.embedding(x, x[0]), "integer ids"),
        (lambda x: ops.embedding(ms.Tensor([1]), x), "two axes"),
        (lambda x: ops.embedding(ms.Tensor([1]), x[0], padding_idx=4), "not a row"),
    ],
)
def test_refusals(call: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call(ops.ones((2, 4, 3)))
    assert sentence in str(caught.value)


def test_embedding_reads_rows_and_leaves_the_padding_alone() -> None:
    table = ms.Tensor(np.arange(8.0).reshape(4, 2))
    ids = ms.Tensor([[0, 3], [3, 1]])
    assert ops.embedding(ids, table).tolist() == [[[0, 1], [6, 7]], [[6, 7], [2, 3]]]
    counts = lambda **k: ms.grad(lambda t: ops.embedding(ids, t, **k).sum())(table).asnumpy()[:, 0].tolist()
    assert counts() == [1, 1, 0, 2]
    assert counts(padding_idx=-1) == [1, 1, 0, 0]
