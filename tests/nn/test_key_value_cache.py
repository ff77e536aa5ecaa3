"""Generation with a cache of keys and values: what attention over the whole past gives, row by row, in place."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import IndexOutOfRange, ShapeError

HEADS, SIZE = 3, 8


def drawn(batch: int, n: int, seed: int) -> list[ms.Tensor]:
    rng = np.random.default_rng(seed)
    return [ms.Tensor(rng.standard_normal((batch, HEADS, n, SIZE)).astype(np.float32)) for _ in range(3)]


def attended(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Causal attention of one row: [heads, n, size]."""
    scores = q @ k.transpose(0, 2, 1) / math.sqrt(SIZE)
    scores[:, np.triu(np.ones(scores.shape[1:], bool), 1)] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ v


def call(cache: Any, mode: str) -> Any:
    return ms.jit(cache) if mode == "graph" else cache


@pytest.mark.parametrize("mode", ("eager", "graph"))
def test_token_by_token_is_attention_over_the_whole(mode: str) -> None:
    q, k, v = drawn(2, 9, 1)
    cache = nn.KeyValueCache(2, 12, HEADS, SIZE)
    step = call(cache, mode)
    found = [step(*(t[:, :, :4] for t in (q, k, v))).asnumpy()]
    found += [step(*(t[:, :, i : i + 1] for t in (q, k, v))).asnumpy() for i in range(4, 9)]
    wanted = np.stack([attended(*(t.asnumpy()[b] for t in (q, k, v))) for b in range(2)])
    np.testing.assert_allclose(np.concatenate(found, 2), wanted, rtol=1e-4, atol=1e-5)
    assert cache.lengths.tolist() == [9, 9]
    cache.reset()
    np.testing.assert_allclose(
        step(*(t[:, :, :1] for t in (q, k, v))).asnumpy(), wanted[:, :, :1], rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("mode", ("eager", "graph"))
def test_prompts_of_unequal_lengths(mode: str) -> None:
    q, k, v = drawn(3, 5, 2)
    more = drawn(3, 4, 3)
    sizes = [5, 2, 3]
    cache = nn.KeyValueCache(3, 10, HEADS, SIZE)
    step = call(cache, mode)
    prompt = step(q, k, v, ms.Tensor(sizes)).asnumpy()
    later = [step(*(t[:, :, i : i + 1] for t in more)).asnumpy() for i in range(4)]
    for b, n in enumerate(sizes):
        whole = [np.concatenate([t.asnumpy()[b, :, :n], m.asnumpy()[b]], 1) for t, m in zip((q, k, v), more)]
        wanted = attended(*whole)
        np.testing.assert_allclose(prompt[b, :, :n], wanted[:, :n], rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(np.concatenate(later, 2)[b], wanted[:, n:], rtol=1e-4, atol=1e-5)
    assert cache.lengths.tolist() == [9, 6, 7]


@pytest.mark.parametrize("mode", ("eager", "graph"))
def test_a_full_row_is_refused_and_nothing_is_written(mode: str) -> None:
    x = drawn(2, 2, 4)
    cache = nn.KeyValueCache(2, 5, HEADS, SIZE)
    step = call(cache, mode)
    step(*x)
    step(*x, ms.Tensor([2, 1]))
    before = cache.keys.asnumpy().copy()
    with pytest.raises(IndexOutOfRange, match="of size 5"):
        step(*x)
    np.testing.assert_array_equal(cache.keys.asnumpy(), before)
    assert cache.lengths.tolist() == [4, 3]


def test_wrong_operands() -> None:
    cache = nn.KeyValueCache(2, 5, HEADS, SIZE)
    x = drawn(2, 2, 5)
    with pytest.raises(ShapeError, match="split the heads first"):
        cache(*(t.transpose(0, 2, 1, 3) for t in x))
    with pytest.raises(ShapeError, match="takes query, key and value"):
        cache(x[0], x[1], drawn(2, 1, 6)[2])
    with pytest.raises(ValueError, match="length must be at least 1"):
        nn.KeyValueCache(2, 0, HEADS, SIZE)


def test_a_jitted_step_copies_nothing() -> None:
    pytest.importorskip("llvmlite")  # state is written in place by generated kernels; without them it is copied
    with ms.set_context(jit_level="O1"):
        cache = nn.KeyValueCache(2, 600, HEADS, SIZE)
        step = ms.jit(lambda *x: ops.argmax(cache(*x).sum(2), -1))
        x = drawn(2, 1, 7)
        for _ in range(3):
            step(*x)
        here = [p._data.ctypes.data for p in (cache.keys, cache.values)]
        step(*x)
        assert [p._data.ctypes.data for p in (cache.keys, cache.values)] == here
        program = step.versions[-1].compiled.executable
        assert program.host_steps == [] and program.peak < cache.keys.nbytes
