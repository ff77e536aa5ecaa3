"""Random draws: the generator's published answers, what decides a value, distributions, dropout."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.ops.random.philox import philox, wide_words, words

ONES = 0xFFFFFFFF
# from the known-answer file of the authors' library Random123
ANSWERS = [
    ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((ONES,) * 4, (ONES,) * 2, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ((0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344), (0xA4093822, 0x299F31D0), "d16cfe09 94fdcceb 5001e420 24126ea1"),
]


@pytest.mark.parametrize("counter, key, answer", ANSWERS)
def test_philox_gives_the_published_words(counter: tuple[int, ...], key: tuple[int, ...], answer: str) -> None:
    found = philox(np, tuple(np.uint64([c]) for c in counter), tuple(np.uint64([k]) for k in key))
    assert " ".join(f"{int(w[0]):08x}" for w in found) == answer


def test_words_depend_on_seed_draw_and_index_alone() -> None:
    key = np.uint64([2**40 + 7, 3])
    many = words(np, key, 1001)
    np.testing.assert_array_equal(words(np, key, 10), many[:10])
    for other in (np.uint64([7, 3]), np.uint64([2**40 + 7, 4])):
        assert (words(np, other, 1001) != many).mean() > 0.99
    np.testing.assert_array_equal(wide_words(np, key, 5), many[:10:2] | (many[1:10:2] << np.uint64(32)))
    assert len(np.unique(many)) > 995


@pytest.mark.parametrize("dtype, bits", [("float16", 11), ("bfloat16", 8), ("float32", 24), ("float64", 53)])
def test_uniform_bits_are_exact(dtype: str, bits: int) -> None:
    key = np.uint64([5, 9])
    found = ops.random_uniform(ms.Tensor(key), shape=(64,), dtype=getattr(ms, dtype)).asnumpy().astype(np.float64)
    raw = wide_words(np, key, 64) >> np.uint64(11) if bits == 53 else words(np, key, 64) >> np.uint64(32 - bits)
    np.testing.assert_array_equal(found * 2.0**bits, raw.astype(np.float64))
    assert found.min() >= 0 and found.max() < 1


def test_same_seed_same_draws(mode: int) -> None:
    def draw() -> list[list[float]]:
        drawn = (ops.rand(3), ops.randn(2), ops.randint(0, 100, (3,)), ops.randperm(5))
        return [t.tolist() for t in drawn]

    ms.set_seed(11)
    first, second = draw(), draw()
    ms.set_seed(11)
    assert draw() == first and draw() == second and first != second


def test_a_compiled_function_draws_on_and_like_eager() -> None:
    def program(x: ms.Tensor) -> ms.Tensor:
        return x + ops.rand(4) + ops.dropout(ops.ones(4), 0.5)

    compiled = ms.jit(program)
    x = ops.zeros(4)
    ms.set_seed(3)
    eager = [program(x).tolist() for _ in range(3)]
    ms.set_seed(3)
    assert [compiled(x).tolist() for _ in range(3)] == eager
    assert len({tuple(row) for row in eager}) == 3


def moments(x: np.ndarray) -> list[float]:
    return [float(v) for v in (x.mean(), x.var(), ((x - x.mean()) ** 3).mean(), ((x - x.mean()) ** 4).mean())]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_distributions(dtype: str, rng: np.random.Generator) -> None:
    """Moments within five standard deviations of what they must be; the seed is the run's."""
    ms.set_seed(int(rng.integers(2**32)))
    n, kind = 100_000, getattr(ms, dtype)
    slack = 5 * np.array([1.0, 2.0, 15.0, 96.0]) ** 0.5 / n**0.5
    assert (abs(np.array(moments(ops.randn(n, dtype=kind).asnumpy())) - [0, 1, 0, 3]) < slack).all()
    u = ops.rand(n, dtype=kind).asnumpy()
    assert abs(u.mean() - 0.5) < 5 / np.sqrt(12 * n)
    counts = np.bincount(ops.randint(-3, 4, (n,)).asnumpy() + 3, minlength=7)
    assert len(counts) == 7 and ((counts - n / 7) ** 2 / (n / 7)).sum() < 45
    e = ops.exponential((n,), 2.0, dtype=kind).asnumpy()
    assert abs(e.mean() - 0.5) < 5 * 0.5 / np.sqrt(n)
    t = ops.trunc_normal((n,), 1.0, 2.0, dtype=kind).asnumpy()
    assert t.min() >= -3 and t.max() <= 5 and abs(t.mean() - 1) < 5 * 2 / np.sqrt(n)
    assert abs(t.std() - 2 * 0.8796) < 0.02  # the standard deviation of a normal cut off at two of them
    b = ops.bernoulli(ops.full((n,), 0.3, dtype=kind)).asnumpy()
    assert abs(b.mean() - 0.3) < 5 * np.sqrt(0.21 / n) and set(b) == {0.0, 1.0}


def test_neighbours_are_independent(rng: np.random.Generator) -> None:
    ms.set_seed(int(rng.integers(2**32)))
    z = ops.randn(100_000).asnumpy()
    for lag in (1, 2, 3, 4):
        assert abs((z[lag:] * z[:-lag]).mean()) < 5 / np.sqrt(len(z))


def test_categorical_and_permutations(rng: np.random.Generator) -> None:
    ms.set_seed(int(rng.integers(2**32)))
    p = np.array([0.5, 0.2, 0.0, 0.3], np.float32)
    with np.errstate(divide="ignore"):
        found = ops.multinomial(ms.Tensor(p), 20_000).asnumpy()
    share = np.bincount(found, minlength=4) / 20_000
    assert share[2] == 0 and (abs(share - p) < 5 * np.sqrt(p * (1 - p) / 20_000) + 1e-9).all()
    assert sorted(ops.randperm(100).tolist()) == list(range(100))
    order = ops.randperm(1000).asnumpy()
    assert abs(np.corrcoef(order, np.arange(1000))[0, 1]) < 0.2


def test_integers_of_every_width() -> None:
    ms.set_seed(0)
    wide = ops.randint(-(2**62), 2**62, (1000,)).asnumpy()
    assert wide.min() < -(2**60) and wide.max() > 2**60
    assert ops.randint(3, dtype=ms.int8).dtype is ms.int8
    for bad in ((4, 4), (5, 2)):
        with pytest.raises(ValueError, match="is no range"):
            ops.randint(*bad)
    with pytest.raises(ValueError, match="no range of int8"):
        ops.randint(0, 1000, dtype=ms.int8)


def test_dropout() -> None:
    ms.set_seed(1)
    x = ops.full((100_000,), 3.0)
    y = ops.dropout(x, 0.25).asnumpy()
    np.testing.assert_allclose(np.unique(y), [0, 4.0])
    assert abs((y == 0).mean() - 0.25) < 5 * np.sqrt(0.1875 / 100_000)
    assert ops.dropout(x, 0.25, training=False) is x
    assert ops.dropout(x, 1.0).asnumpy().max() == 0
    with pytest.raises(ValueError, match=r"p must be in \[0, 1\]"):
        ops.dropout(x, 1.5)
    channels = ops.dropout2d(ops.ones((8, 16, 3, 3)), 0.5).asnumpy().reshape(128, 9)
    assert (channels == channels[:, :1]).all() and 20 < (channels[:, 0] == 0).sum() < 108


def test_the_gradient_of_dropout_uses_the_same_draw() -> None:
    ms.set_seed(4)
    y, grad = ms.value_and_grad(lambda x: (ops.dropout(x, 0.5) ** 2).sum())(ops.ones(100))
    assert float(grad.sum()) == 2 * float(y) and set(grad.tolist()) == {0.0, 8.0}


def test_uniform_draws_of_whole_numbers(mode: int) -> None:
    ms.set_seed(1)
    draw = lambda low, high: ms.ops.uniform((200,), low, high, dtype=ms.int32)
    fn = ms.jit(draw) if mode == ms.GRAPH_MODE else draw
    found = fn(ms.Tensor(2), ms.Tensor(5))
    assert found.dtype is ms.int32 and set(found.tolist()) == {2, 3, 4}
