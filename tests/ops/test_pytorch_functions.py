"""PyTorch's functions that scatter, choose and attend: values beside loops in NumPy, slopes beside differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops


def in_mode(fn: Callable[..., Any], mode: int) -> Callable[..., Any]:
    return ms.jit(fn) if mode == ms.GRAPH_MODE else fn


def check_slopes(fn: Callable[..., Any], arguments: list[Any], rng: np.random.Generator, mode: int) -> None:
    """The derivative of a weighed sum in one random direction, in float64: central differences err by about 1e-9."""
    weights = ms.Tensor(rng.normal(size=fn(*map(ms.Tensor, arguments)).shape))

    def loss(*tensors: Any) -> Any:
        return (fn(*tensors) * weights).sum()

    which = tuple(range(len(arguments)))
    found = in_mode(lambda *t: ms.grad(loss, which)(*t), mode)(*map(ms.Tensor, arguments))
    directions = [rng.normal(size=a.shape) for a in arguments]
    slope = sum(float((np.asarray(g) * d).sum()) for g, d in zip(found, directions, strict=True))
    h = 1e-6
    ends = [float(loss(*(ms.Tensor(a + s * h * d) for a, d in zip(arguments, directions)))) for s in (1, -1)]
    assert slope == pytest.approx((ends[0] - ends[1]) / (2 * h), rel=1e-5, abs=1e-6)


# ---- scatter_reduce -------------------------------------------------------------------------------------------------

COMBINE = {"sum": sum, "prod": np.prod, "mean": np.mean, "amax": max, "amin": min}


def scattered(x: Any, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
    """Along axis 0, one element after the other."""
    out = x.copy()
    for i, j in np.ndindex(x.shape):
        met = [src[k, j] for k in range(len(src)) if index[k, j] == i]
        if met:
            out[i, j] = COMBINE[reduce]([x[i, j], *met] if include_self else met)
    return out


@pytest.mark.parametrize("include_self", [True, False])
@pytest.mark.parametrize("reduce", COMBINE)
def test_scatter_reduce(reduce: str, include_self: bool, mode: int, rng: np.random.Generator) -> None:
    x, src = rng.permutation(np.arange(1.0, 9.0)).reshape(4, 2), rng.permutation(np.arange(9.0, 19.0)).reshape(5, 2)
    index = rng.integers(0, 4, (5, 2))

    def run(x: Any, src: Any) -> Any:
        return x.scatter_reduce(0, ms.Tensor(index), src, reduce, include_self=include_self)

    found = in_mode(run, mode)(ms.Tensor(x), ms.Tensor(src))
    np.testing.assert_allclose(found.asnumpy(), scattered(x, index, src, reduce, include_self), rtol=1e-12)
    check_slopes(run, [x / 8, src / 8], rng, mode)  # all numbers differ by 1/8: no step of 1e-6 changes an extreme


@pytest.mark.parametrize("reduce", ["mean", "amax", "amin"])
def test_scatter_reduce_of_whole_numbers(reduce: str, mode: int) -> None:
    x, index, src = ms.Tensor([-7, 5]), ms.Tensor([0, 0]), ms.Tensor([-2, -3])

    def run(x: Any, src: Any) -> Any:
        return ops.scatter_reduce(x, 0, index, src, reduce, include_self=False)

    found = in_mode(run, mode)(x, src)
    assert found.tolist() == [{"mean": -3, "amax": -2, "amin": -3}[reduce], 5] and found.dtype is x.dtype


def test_scatter_reduce_names_its_words() -> None:
    with pytest.raises(ValueError, match="one of sum, prod, mean, amax, amin, not 'max'"):
        ops.scatter_reduce(ops.ones(2), 0, ms.Tensor([0]), ops.ones(1), "max")


# ---- choices --------------------------------------------------------------------------------------------------------


def test_masked_scatter(mode: int, rng: np.random.Generator) -> None:
    x, source, mask = rng.normal(size=(3, 4)), rng.normal(size=(2, 7)), rng.random((3, 4)) < 0.5
    want = x.copy()
    want[mask] = source.reshape(-1)[: mask.sum()]

    def run(x: Any, source: Any) -> Any:
        return x.masked_scatter(ms.Tensor(mask), source)

    np.testing.assert_array_equal(in_mode(run, mode)(ms.Tensor(x), ms.Tensor(source)).asnumpy(), want)
    check_slopes(run, [x, source], rng, mode)


def test_masked_scatter_refuses() -> None:
    with pytest.raises(TypeError, match="a mask of bools"):
        ops.masked_scatter(ops.ones(2), ops.ones(2), ops.ones(2))
    with pytest.raises(IndexError):
        ops.masked_scatter(ops.ones(3), ops.ones(3) > 0, ops.ones(2)).asnumpy()


def test_where_needs_both_values_or_none() -> None:
    with pytest.raises(TypeError, match="where.*None"):
        ops.where(ops.ones(2), 1.0)


# ---- attention ------------------------------------------------------------------------------------------------------


def attended(q: Any, k: Any, v: Any, seen: Any) -> Any:
    """Query by query over the keys that it may see."""
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    for *batch, row in np.ndindex(q.shape[:-1]):
        at = tuple(batch)
        keys = np.flatnonzero(np.broadcast_to(seen, (*q.shape[:-1], k.shape[-2]))[(*at, row)])
        if len(keys):
            scores = np.exp(k[at][keys] @ q[at][row] / np.sqrt(q.shape[-1]))
            out[(*at, row)] = scores / scores.sum() @ v[at][keys]
    return out


@pytest.mark.parametrize("masked", ["all", "causal", "some", "added"])
def test_attention(masked: str, mode: int, rng: np.random.Generator) -> None:
    q, k, v = (rng.normal(size=(2, 2, *sizes)) for sizes in ((4, 3), (5, 3), (5, 2)))
    seen = {"all": np.ones((4, 5), bool), "causal": np.tri(4, 5, dtype=bool)}.get(masked, rng.random((4, 5)) < 0.5)
    if masked == "some":
        seen[1] = False  # a query that may see nothing
    elif masked == "added":
        seen[:, 0] = True
    mask = {"some": ms.Tensor(seen), "added": ms.Tensor(np.where(seen, 0.0, -np.inf))}.get(masked)

    def run(q: Any, k: Any, v: Any) -> Any:
        return ops.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=masked == "causal")

    found = in_mode(run, mode)(*map(ms.Tensor, (q, k, v)))
    np.testing.assert_allclose(found.asnumpy(), attended(q, k, v, seen), rtol=1e-9, atol=1e-12)
    check_slopes(run, [q, k, v], rng, mode)


def test_attention_drops_and_scales() -> None:
    q = ops.ones((2, 4))
    assert ops.scaled_dot_product_attention(q, q, q, dropout_p=1.0).tolist() == [[0.0] * 4] * 2
    flat = ops.scaled_dot_product_attention(q, ms.Tensor([[5.0] * 4, [1.0] * 4]), ms.Tensor([[1.0], [3.0]]), scale=0.0)
    assert flat.tolist() == [[2.0], [2.0]]


def test_attention_refuses() -> None:
    x = ops.ones((2, 3))
    with pytest.raises(TypeError, match="attn_mask or is_causal, not both"):
        ops.scaled_dot_product_attention(x, x, x, attn_mask=ops.ones((2, 2)), is_causal=True)
    with pytest.raises(ValueError, match=r"needs \[\.\.\., positions, features\]"):
        ops.scaled_dot_product_attention(x[0], x, x)


# ---- Bilinear -------------------------------------------------------------------------------------------------------


def test_bilinear(mode: int, rng: np.random.Generator) -> None:
    ms.set_context(mode=mode)
    net = nn.Bilinear(3, 4, 5, dtype=ms.float64)
    x, y = rng.normal(size=(2, 6, 3)), rng.normal(size=(2, 6, 4))
    want = np.einsum("tbi,oij,tbj->tbo", x, net.weight.asnumpy(), y) + net.bias.asnumpy()
    np.testing.assert_allclose(net(ms.Tensor(x), ms.Tensor(y)).asnumpy(), want, rtol=1e-9, atol=1e-12)
    assert nn.Bilinear(3, 4, 5, bias=False).bias is None
    with pytest.raises(ValueError, match="in2_features=4"):
        net(ms.Tensor(x), ms.Tensor(x))
