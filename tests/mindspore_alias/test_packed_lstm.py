"""``ops.LSTM``, whose weights lie in one row, against a loop over steps; its gradients against differences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor
from msnb.base.errors import ArgumentError, ShapeError

Sizes = tuple[int, int, int, bool, bool, int]
CASES: list[Sizes] = [(3, 3, 2, True, False, 0), (4, 4, 1, False, False, 2), (6, 3, 1, True, True, 0),
                      (6, 3, 2, True, True, 0), (4, 4, 1, True, False, 2)]  # fmt: skip


def sigmoid(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def taken_apart(w: Any, sizes: Sizes) -> list[list[Any]]:
    """For each layer and direction W_ih, W_hh, projection, bias."""
    size, hidden, layers, has_bias, both, proj = sizes
    rows, out, count = 4 * hidden, proj or hidden, layers * (1 + both)
    parts, at = [], 0
    for shape in ((rows, size), (rows, out), (proj, hidden), (rows * has_bias,)):
        end = at + count * int(np.prod(shape))
        parts.append(w[at:end].reshape(count, *shape))
        at = end
    assert at == len(w)
    return [list(each) for each in zip(*parts)]


def steps(x: Any, h: Any, c: Any, w: Any, sizes: Sizes) -> tuple[Any, Any, Any]:
    ways, last_h, last_c = 1 + sizes[4], [], []
    weights = taken_apart(w, sizes)
    for layer in range(sizes[2]):
        outputs = []
        for way in range(ways):
            at = layer * ways + way
            ih, hh, project, bias = weights[at]
            own_h, own_c, found = h[at], c[at], [None] * len(x)
            for time in range(len(x))[:: -1 if way else 1]:
                i, f, g, o = np.split(x[time] @ ih.T + own_h @ hh.T + (bias if sizes[3] else 0), 4, -1)
                own_c = sigmoid(f) * own_c + sigmoid(i) * np.tanh(g)
                own_h = sigmoid(o) * np.tanh(own_c)
                own_h = own_h @ project.T if sizes[5] else own_h
                found[time] = own_h
            outputs.append(np.stack(found))
            last_h.append(own_h)
            last_c.append(own_c)
        x = np.concatenate(outputs, -1)
    return x, np.stack(last_h), np.stack(last_c)


def drawn(rng: np.random.Generator, sizes: Sizes) -> list[Any]:
    size, hidden, layers, has_bias, both, proj = sizes
    count, out = layers * (1 + both), proj or hidden
    width = count * (4 * hidden * (size + out + has_bias) + proj * hidden)
    return [rng.normal(size=s) for s in ((5, 2, size), (count, 2, out), (count, 2, hidden), (width, 1, 1))]


@pytest.mark.parametrize("sizes", CASES)
def test_layers(mode: int, rng: np.random.Generator, sizes: Sizes) -> None:
    from mindspore import ops

    op = ops.LSTM(*sizes[:5], 0.0, sizes[5])
    inputs = drawn(rng, sizes)
    fn = ms.jit(lambda *a: op(*a)) if mode == ms.GRAPH_MODE else op
    found = fn(*map(Tensor, inputs))
    assert len(found) == 5
    for have, want in zip(found, steps(*inputs[:3], inputs[3].reshape(-1), sizes)):
        np.testing.assert_allclose(have.asnumpy(), want, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("sizes", CASES[:2])
def test_slopes(mode: int, rng: np.random.Generator, sizes: Sizes) -> None:
    from mindspore import ops

    op = ops.LSTM(*sizes[:5], 0.0, sizes[5])
    inputs, ways = drawn(rng, sizes), drawn(rng, sizes)
    grad = ms.grad(lambda *a: (op(*a)[0] ** 2).sum() + op(*a)[2].sum(), (0, 1, 2, 3))
    slopes = (ms.jit(grad) if mode == ms.GRAPH_MODE else grad)(*map(Tensor, inputs))

    def total(step: float) -> Any:
        moved = [a + step * b for a, b in zip(inputs, ways)]
        y, _, c = steps(*moved[:3], moved[3].reshape(-1), sizes)
        return (y**2).sum() + c.sum()

    wanted = (total(1e-6) - total(-1e-6)) / 2e-6
    np.testing.assert_allclose(sum((s.asnumpy() * w).sum() for s, w in zip(slopes, ways)), wanted, rtol=1e-5)


def test_second_biases_are_not_read(rng: np.random.Generator) -> None:
    from mindspore import ops

    sizes = (4, 3, 1, True, False, 0)
    *inputs, weights = map(Tensor, drawn(rng, sizes))
    op = ops.LSTM(*sizes[:5], 0.0)
    longer = op(*inputs, ops.concat([weights, ops.ones((12, 1, 1), ms.float64)], 0))
    np.testing.assert_array_equal(op(*inputs, weights)[0].asnumpy(), longer[0].asnumpy())


def test_wrong_calls() -> None:
    from mindspore import ops

    inputs = [ops.ones(shape) for shape in ((5, 2, 4), (1, 2, 3), (1, 2, 3), (84, 1, 1))]
    with pytest.raises(ShapeError, match="x must have 3 features"):
        ops.LSTM(3, 3, 1, True, False, 0.0)(*inputs)
    with pytest.raises(ShapeError, match="the weights 96 numbers"):
        ops.LSTM(4, 3, 1, True, False, 0.0)(*inputs)
    with pytest.raises(ArgumentError, match="needs dropout"):
        ops.LSTM(3, 3, 1, True, False)
