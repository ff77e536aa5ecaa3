"""Recurrent networks, attention and transformers against loops in NumPy, in both modes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops

Array = np.ndarray[Any, Any]


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def step(kind: str, net: Any, name: str, x: Array, state: tuple[Array, ...]) -> tuple[Array, ...]:
    """One step, written out."""
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    w_ih, w_hh, b_ih, b_hh = (getattr(net, f"{k}_{name}").asnumpy() for k in kinds)
    a, b, h = x @ w_ih.T + b_ih, state[0] @ w_hh.T + b_hh, state[0]
    if kind == "RNN":
        return (np.tanh(a + b),)
    if kind == "LSTM":
        i, f, g, o = np.split(a + b, 4, -1)
        c = sigmoid(f) * state[1] + sigmoid(i) * np.tanh(g)
        return sigmoid(o) * np.tanh(c), c
    (ar, az, an), (br, bz, bn) = np.split(a, 3, -1), np.split(b, 3, -1)
    z, n = sigmoid(az + bz), np.tanh(an + sigmoid(ar + br) * bn)
    return ((1 - z) * n + z * h,)


def sequence(kind: str, net: Any, name: str, x: Array, state: Any, lengths: Any, backward: bool) -> tuple[Array, Any]:
    out = np.zeros((*x.shape[:2], net.hidden_size))
    for t in reversed(range(len(x))) if backward else range(len(x)):
        new = step(kind, net, name, x[t], state)
        alive = (t < lengths)[:, None]
        state = tuple(np.where(alive, a, b) for a, b in zip(new, state))
        out[t] = np.where(alive, new[0], 0)
    return out, state


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("bidirectional, with_lengths", [(False, False), (True, False), (True, True)])
def test_sequences(mode: int, rng: np.random.Generator, kind: str, bidirectional: bool, with_lengths: bool) -> None:
    net = getattr(nn, kind)(3, 4, num_layers=2, bidirectional=bidirectional)
    directions, n_states = (2 if bidirectional else 1), (2 if kind == "LSTM" else 1)
    x = rng.standard_normal((5, 2, 3)).astype(np.float32)
    first = rng.standard_normal((n_states, 2 * directions, 2, 4)).astype(np.float32)
    lengths = np.array([5, 3]) if with_lengths else np.array([5, 5])
    hx = tuple(map(ms.Tensor, first)) if kind == "LSTM" else ms.Tensor(first[0])
    y, last = net(ms.Tensor(x), hx, ms.Tensor(lengths)) if with_lengths else net(ms.Tensor(x), hx)
    want, ends = x, []
    for layer in range(2):
        rows = []
        for d in range(directions):
            name = f"l{layer}{'_reverse' if d else ''}"
            out, end = sequence(kind, net, name, want, tuple(first[:, layer * directions + d]), lengths, d == 1)
            rows.append(out)
            ends.append(end)
        want = np.concatenate(rows, -1)
    np.testing.assert_allclose(y.asnumpy(), want, atol=1e-5)
    for got, k in zip(last if kind == "LSTM" else (last,), range(n_states)):
        np.testing.assert_allclose(got.asnumpy(), np.stack([end[k] for end in ends]), atol=1e-5)


def test_batch_first_only_swaps_axes(mode: int, rng: np.random.Generator) -> None:
    net = nn.GRU(3, 4)
    x = rng.standard_normal((5, 2, 3)).astype(np.float32)
    y, h = net(ms.Tensor(x))
    net.batch_first = True
    z, g = net(ms.Tensor(x.swapaxes(0, 1)))
    np.testing.assert_allclose(z.asnumpy(), y.asnumpy().swapaxes(0, 1), atol=1e-6)
    np.testing.assert_allclose(g.asnumpy(), h.asnumpy(), atol=1e-6)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_cells_are_one_step(mode: int, rng: np.random.Generator, kind: str) -> None:
    cell, net = getattr(nn, f"{kind}Cell")(3, 4), getattr(nn, kind)(3, 4)
    for part in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
        getattr(net, f"{part}_l0").set_data(getattr(cell, part).value())
    x = ms.Tensor(rng.standard_normal((2, 3)).astype(np.float32))
    got = cell(x)
    want, _ = net(ops.expand_dims(x, 0))
    np.testing.assert_allclose((got[0] if kind == "LSTM" else got).asnumpy(), want[0].asnumpy(), atol=1e-6)


@pytest.mark.long
def test_an_lstm_learns(mode: int) -> None:
    ms.set_seed(5)
    net, head = nn.LSTM(1, 8), nn.Dense(8, 1)
    both = nn.CellList([net, head])
    step = nn.Adam(both.trainable_params(), 0.05)
    x = ms.Tensor(np.random.default_rng(0).standard_normal((6, 16, 1)).astype(np.float32))
    target = x.sum(axis=0)
    loss = lambda: ((head(net(x)[0][-1]) - target) ** 2).mean()
    losses = []
    for _ in range(25):
        value, grads = ms.value_and_grad(loss, None, step.parameters)()
        step(grads)
        losses.append(float(value))
    assert losses[-1] < 0.3 * losses[0]


def attention(net: Any, q: Array, k: Array, v: Array, heads: int, mask: Any = None) -> tuple[Array, Array]:
    """Batch first, head by head."""
    e = net.embed_dim
    bias = net.in_proj_bias.asnumpy().reshape(3, e)
    q, k, v = (
        x @ w.asnumpy().T + b
        for x, w, b in zip((q, k, v), (net.q_proj_weight, net.k_proj_weight, net.v_proj_weight), bias)
    )
    d, out, weights = e // heads, [], []
    for h in range(heads):
        part = slice(h * d, (h + 1) * d)
        scores = q[..., part] @ k[..., part].swapaxes(-1, -2) / np.sqrt(d)
        scores = scores if mask is None else np.where(mask, -np.inf, scores)
        w = np.exp(scores - scores.max(-1, keepdims=True))
        w /= w.sum(-1, keepdims=True)
        weights.append(w)
        out.append(w @ v[..., part])
    joined = np.concatenate(out, -1)
    return joined @ net.out_proj.weight.asnumpy().T + net.out_proj.bias.asnumpy(), np.mean(weights, 0)


@pytest.mark.parametrize("batch_first", [False, True])
def test_attention_of_one_sample(mode: int, rng: np.random.Generator, batch_first: bool) -> None:
    net, axis = nn.MultiheadAttention(8, 2, batch_first=batch_first), int(not batch_first)
    q, k = (ms.Tensor(rng.standard_normal((n, 8)), ms.float32) for n in (3, 4))
    hidden, above = ms.Tensor([False, True, False, False]), ops.triu(ops.ones((3, 4)), 2).astype(ms.bool_)
    one = net(q, k, k, hidden, True, above)
    many = net(*(ops.expand_dims(x, axis) for x in (q, k, k)), ops.expand_dims(hidden, 0), True, above)
    np.testing.assert_allclose(one[0].asnumpy(), many[0].squeeze(axis).asnumpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(one[1].asnumpy(), many[1][0].asnumpy(), rtol=1e-5, atol=1e-6)
    assert net(q, k, k, average_attn_weights=False)[1].shape == (2, 3, 4)
    assert net(q, k, k, need_weights=False)[1] is None
    ms.grad(lambda q: net(q, k, k)[0].sum())(q)


def test_attention(mode: int, rng: np.random.Generator) -> None:
    net = nn.MultiheadAttention(6, 3, kdim=5, vdim=4, batch_first=True)
    q, k, v = (rng.standard_normal((2, n, d)).astype(np.float32) for n, d in ((3, 6), (4, 5), (4, 4)))
    padding = np.array([[False] * 4, [False, False, True, True]])
    y, w = net(*map(ms.Tensor, (q, k, v)), key_padding_mask=ms.Tensor(padding))
    want, weights = attention(net, q, k, v, 3, padding[:, None, :])
    np.testing.assert_allclose(y.asnumpy(), want, atol=1e-5)
    np.testing.assert_allclose(w.asnumpy(), weights, atol=1e-6)
    turned = nn.MultiheadAttention(6, 3)
    x = ms.Tensor(q)
    mask = nn.causal_mask(2)
    out, none = turned(x, x, x, None, False, mask)
    assert none is None
    want, _ = attention(turned, *[q.swapaxes(0, 1)] * 3, 3, np.triu(np.ones((2, 2), bool), 1))
    np.testing.assert_allclose(out.asnumpy(), want.swapaxes(0, 1), atol=1e-5)
    added = turned(x, x, x, None, False, ops.where(mask, -1e30, 0.0))[0]
    np.testing.assert_allclose(added.asnumpy(), out.asnumpy(), atol=1e-6)


@pytest.mark.parametrize("norm_first", [False, True])
def test_encoder_layer(mode: int, rng: np.random.Generator, norm_first: bool) -> None:
    net = nn.TransformerEncoderLayer(6, 2, 8, activation="gelu", batch_first=True, norm_first=norm_first)
    x = rng.standard_normal((2, 4, 6)).astype(np.float32)
    norm = lambda a: (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5)
    gelu = lambda a: 0.5 * a * (1 + np.vectorize(math.erf)(a / np.sqrt(2)))
    dense = lambda a, layer: a @ layer.weight.asnumpy().T + layer.bias.asnumpy()
    network = lambda a: dense(gelu(dense(a, net.linear1)), net.linear2)
    if norm_first:
        h = x + attention(net.self_attn, *[norm(x)] * 3, 2)[0]
        want = h + network(norm(h))
    else:
        h = norm(x + attention(net.self_attn, x, x, x, 2)[0])
        want = norm(h + network(h))
    np.testing.assert_allclose(net(ms.Tensor(x)).asnumpy(), want, atol=2e-5)


def test_transformer(mode: int, rng: np.random.Generator) -> None:
    net = nn.Transformer(8, 2, 2, 2, 16, dropout=0.0)
    src = ms.Tensor(rng.standard_normal((5, 3, 8)).astype(np.float32))
    tgt = rng.standard_normal((4, 3, 8)).astype(np.float32)
    mask = nn.causal_mask(4)
    y = net(src, ms.Tensor(tgt), tgt_mask=mask).asnumpy()
    later = tgt.copy()
    later[-1] += 1.0
    z = net(src, ms.Tensor(later), tgt_mask=mask).asnumpy()
    np.testing.assert_allclose(z[:-1], y[:-1], atol=1e-6)
    assert np.abs(z[-1] - y[-1]).max() > 1e-3
    names = [p.name for p in net.get_parameters()]
    assert len(set(names)) == len(names) and "encoder.layers.1.self_attn.out_proj.weight" in names
    first, second = net.encoder.layers[0].linear1.weight, net.encoder.layers[1].linear1.weight
    assert (first.asnumpy() != second.asnumpy()).any()


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: nn.LSTM(3, 4)(ops.ones((2, 3))), "needs x of three axes"),
        (lambda: nn.LSTM(3, 4)(ops.ones((2, 2, 5))), "input_size=3"),
        (lambda: nn.GRU(3, 4)(ops.ones((2, 2, 3)), ops.ones((1, 3, 4))), "must be [layers * directions"),
        (lambda: nn.RNN(3, 4, nonlinearity="sin"), "must be 'tanh' or 'relu'"),
        (lambda: nn.GRU(3, 4, dropout=1.0), "from 0 to below 1"),
        (lambda: nn.GRUCell(3, 4)(ops.ones((2, 3)), ops.ones((2, 5))), "hidden_size=4"),
        (lambda: nn.MultiheadAttention(6, 4), "does not divide into 4 heads"),
        (lambda: nn.MultiheadAttention(6, 3)(*[ops.ones((6,))] * 3), "three axes"),
        (lambda: nn.MultiheadAttention(6, 3)(*[ops.ones((2, 6))] * 2, ops.ones((2, 1, 6))), "all of two"),
    ],
)
def test_refusals(mode: int, call: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert sentence in str(caught.value)


class Towers(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.left = nn.CellList([nn.Dense(3, 3), nn.Dense(3, 4)])
        self.right = nn.CellList([nn.Dense(4, 4)])
        self.kinds = nn.CellDict({"plain": nn.ReLU(), "deep": nn.CellList([nn.Tanh()])})
        self.both = nn.SequentialCell(nn.Sigmoid())

    def construct(self, x: ms.Tensor) -> ms.Tensor:
        for layer in [*self.left, *self.right, self.kinds["plain"], *self.kinds["deep"]]:
            x = layer(x)
        return self.both(x)


def scopes(net: nn.Cell, width: int = 3) -> list[str]:
    from msnb.graph.capture import trace

    graph = trace(net, (ms.ops.ones((2, width)),)).graph
    return list(dict.fromkeys(node.scope for node in graph.nodes if node.scope))


def test_what_lists_hold_has_scopes_with_the_name_of_the_list() -> None:
    inside = ["left/0", "left/1", "right/0", "kinds/plain", "kinds/deep/0", "both/0"]
    assert scopes(Towers()) == [f"Towers/{step}" for step in inside]


def test_a_copied_list_is_named_by_its_new_place() -> None:
    import copy

    class Other(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.taken = copy.deepcopy(Towers().right)

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            return self.taken[0](x)

    assert scopes(Other(), 4) == ["Other/taken/0"]


def test_names_and_scopes_follow_cells_that_move() -> None:
    net = Towers()
    net.left.insert(1, nn.SequentialCell(nn.Dense(3, 3)))
    names = [p.name for p in net.left.get_parameters() if p.name.endswith("weight")]
    assert names == ["left.0.weight", "left.1.0.weight", "left.2.weight"]
    assert [path for path, _ in net.parameters_and_names()] == [p.name for p in net.get_parameters()]
    assert scopes(net)[:3] == ["Towers/left/0", "Towers/left/1/0", "Towers/left/2"]
    del net.left[0]
    assert scopes(net)[:3] == ["Towers/left/0/0", "Towers/left/1", "Towers/right/0"]


def test_a_tied_parameter_and_a_cell_that_is_twice_in_a_list_keep_one_name() -> None:
    twice, tied = nn.Dense(2, 2), nn.Dense(2, 2)
    cells = nn.CellList([twice, twice, tied])
    tied.weight = twice.weight
    cells.insert(0, nn.ReLU())
    assert [p.name for p in cells.get_parameters()] == ["1.weight", "1.bias", "3.bias"]
    assert [c.scope_name for c in cells] == ["0", "1", "1", "3"]


def test_a_list_that_runs_is_a_step_itself() -> None:
    class Running(nn.CellList):
        def construct(self, x: ms.Tensor) -> ms.Tensor:
            for layer in self:
                x = layer(x)
            return x

    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.parts = Running([nn.ReLU()])

        def construct(self, x: ms.Tensor) -> ms.Tensor:
            return self.parts(x)

    assert scopes(Net()) == ["Net/parts/0"]


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_weights_as_tuples_that_are_replaced(mode: int, kind: str) -> None:
    net, other = (getattr(nn, kind)(3, 4, 2, bidirectional=True) for _ in range(2))
    x = ms.ops.ones((5, 2, 3))
    assert [p.name for p in net.w_ih_list] == [f"weight_ih_l{n}{d}" for n in (0, 1) for d in ("", "_reverse")]
    before = net(x)[0].asnumpy()
    assert np.abs(before - other(x)[0].asnumpy()).max() > 1e-3
    for lists in ("w_ih_list", "w_hh_list", "b_ih_list", "b_hh_list"):
        setattr(net, lists, ms.ParameterTuple([p.clone() for p in getattr(other, lists)]))
    np.testing.assert_allclose(net(x)[0].asnumpy(), other(x)[0].asnumpy(), 1e-6, 1e-6)
    assert [p.name for p in net.trainable_params()] == [p.name for p in other.trainable_params()]
    assert net.weight_hh_l1 is net.w_hh_list[2] and getattr(nn, kind)(3, 4, has_bias=False).b_ih_list == ()
    with pytest.raises(ValueError, match="shorter"):
        net.w_ih_list = net.w_ih_list[:2]
