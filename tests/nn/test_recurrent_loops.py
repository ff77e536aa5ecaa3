"""Recurrent layers are loops: values, gradients and second derivatives of every configuration against steps written
out, and programs that do not grow with the sequence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.graph.capture import trace
from msnb.graph.compile import compile_graph
from msnb.nn.layers.recurrent_cells import gru_step, lstm_step, project, rnn_step

KINDS = ("RNN", "LSTM", "GRU")
N, IN, HID = 2, 3, 4


def step(net: Any, a: Any, state: Any, weight: Any, bias: Any) -> Any:
    """One step by the function behind the Cells."""
    if isinstance(net, nn.LSTM):
        return lstm_step(a, state[0], state[1], weight, bias)
    if isinstance(net, nn.GRU):
        return (gru_step(a, state[0], weight, bias),)
    return (rnn_step(a, state[0], weight, bias, net.nonlinearity),)


def written_out(net: Any, x: Any, first: Any, lengths: Any) -> Any:
    """What the layer computes, step by step; a list of outputs: y, then the last states."""
    if net.batch_first:
        x = ops.transpose(x, (1, 0, 2))
    ends: list[Any] = []
    for layer in range(net.num_layers):
        columns = []
        for d, word in enumerate(net.directions):
            ih, hh = (getattr(net, f"weight_{k}_l{layer}{word}") for k in ("ih", "hh"))
            biases = [getattr(net, f"bias_{k}_l{layer}{word}") if net.has_bias else None for k in ("ih", "hh")]
            state = tuple(part[len(ends)] for part in first)
            rows: list[Any] = []
            for t in reversed(range(x.shape[0])) if d else range(x.shape[0]):
                new = step(net, project(x[t], ih, biases[0]), state, hh, biases[1])
                alive = ops.reshape(lengths, (x.shape[1], 1)) > t
                state = tuple(ops.where(alive, a, b) for a, b in zip(new, state))
                rows = [ops.where(alive, new[0], 0.0), *rows] if d else [*rows, ops.where(alive, new[0], 0.0)]
            ends.append(state)
            columns.append(ops.stack(rows, axis=0))
        x = ops.concat(columns, axis=-1)
    y = ops.transpose(x, (1, 0, 2)) if net.batch_first else x
    return [y, *(ops.stack([e[k] for e in ends], axis=0) for k in range(net.n_states))]


def layer(net: Any, x: Any, first: Any, lengths: Any) -> Any:
    y, last = net(x, tuple(first) if net.n_states > 1 else first[0], lengths)
    return [y, *(last if net.n_states > 1 else (last,))]


def example(rng: np.random.Generator, net: Any, length: int) -> Any:
    """x, first states, and a weight per result that makes one number of them."""
    count, n = net.num_layers * len(net.directions), net.n_states
    draw = lambda *shape: ms.Tensor(rng.standard_normal(shape), net.weight_ih_l0.dtype)
    x = draw(N, length, IN) if net.batch_first else draw(length, N, IN)
    first = [draw(count, N, HID) for _ in range(n)]
    y = (*x.shape[:2], HID * len(net.directions))
    return x, first, [draw(*y), *(draw(count, N, HID) for _ in range(n))]


def score(run: Any, net: Any, weights: Any, lengths: Any) -> Any:
    """A number of which every result is a part."""

    def loss(x: Any, *first: Any) -> Any:
        found = run(net, x, list(first), lengths)
        return sum((ops.sin(part) * w).sum() for part, w in zip(found, weights))

    return loss


def close(got: Any, want: Any, tolerance: float) -> None:
    for a, b in zip(flat(got), flat(want), strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def flat(tree: Any) -> list[Any]:
    return [a for part in tree for a in flat(part)] if isinstance(tree, (tuple, list)) else [tree.asnumpy()]


CONFIGURATIONS = [
    {"num_layers": 1, "bidirectional": False, "has_bias": True, "batch_first": False},
    {"num_layers": 2, "bidirectional": True, "has_bias": True, "batch_first": True},
    {"num_layers": 1, "bidirectional": True, "has_bias": False, "batch_first": False},
    {"num_layers": 3, "bidirectional": False, "has_bias": False, "batch_first": True},
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("options", CONFIGURATIONS, ids=lambda o: "-".join(f"{v:d}" for v in o.values()))
def test_values_and_gradients_are_those_of_the_steps(
    mode: int, rng: np.random.Generator, kind: str, options: dict[str, Any]
) -> None:
    net = getattr(nn, kind)(IN, HID, dtype=ms.float64, **options)
    lengths = ms.Tensor([3, 2])
    x, first, weights = example(rng, net, 3)
    wrt = tuple(range(1 + len(first)))
    found = [
        ms.value_and_grad(score(run, net, weights, lengths), wrt, net.trainable_params())(x, *first)
        for run in (layer, written_out)
    ]
    close(*found, 1e-10)


@pytest.mark.parametrize("kind", [*KINDS, "relu"])
def test_second_derivatives_and_tangents(mode: int, rng: np.random.Generator, kind: str) -> None:
    net = nn.RNN(IN, HID, nonlinearity="relu", dtype=ms.float64) if kind == "relu" else None
    net = getattr(nn, kind)(IN, HID, dtype=ms.float64) if net is None else net
    lengths = ms.Tensor([2, 3])
    x, first, weights = example(rng, net, 3)
    v = ms.Tensor(rng.standard_normal(x.shape))
    results = []
    for run in (layer, written_out):
        loss = score(run, net, weights, lengths)
        slope = lambda x: (ms.grad(loss)(x, *first) * v).sum()
        second = ms.value_and_grad(slope, 0, net.trainable_params())(x)
        tangent = ms.jvp(lambda x: loss(x, *first), x, v)
        lanes = ms.vmap(lambda x: loss(x, *first))(ops.stack([x, v]))
        results.append([*second, *tangent, lanes])
    close(*results, 1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [0, 1])
def test_no_step_and_one(mode: int, rng: np.random.Generator, kind: str, length: int) -> None:
    net = getattr(nn, kind)(IN, HID, dtype=ms.float64)
    x, first, weights = example(rng, net, length)
    lengths = ms.Tensor([length, length])
    value, (dx, *states), grads = (
        *ms.value_and_grad(score(layer, net, weights, lengths), tuple(range(1 + len(first))))(x, *first),
        ms.grad(score(layer, net, weights, lengths), None, net.trainable_params())(x, *first),
    )
    y, *last = layer(net, x, first, None)
    assert y.shape == (length, N, HID) and dx.shape == x.shape
    if length == 0:
        close(last, first, 0)
        close(states, [ops.cos(s) * w for s, w in zip(first, weights[1:])], 1e-12)
        assert all((g.asnumpy() == 0).all() for g in grads)
    else:
        close(value, score(written_out, net, weights, lengths)(x, *first), 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_given_is_zeros(mode: int, rng: np.random.Generator, kind: str) -> None:
    net = getattr(nn, kind)(IN, HID, num_layers=2, bidirectional=True, dtype=ms.float64)
    x, first, _ = example(rng, net, 3)
    zeros = [ops.zeros_like(s) for s in first]
    y, last = net(x)
    close([y, last], [(found := layer(net, x, zeros, None))[0], tuple(found[1:]) if len(first) > 1 else found[1]], 0)


def test_dropout_lies_between_layers_and_only_in_training(mode: int) -> None:
    net = nn.GRU(IN, HID, num_layers=3, dropout=0.5)
    x = ops.ones((4, N, IN))
    net.set_train(False)
    still = [net(x)[0].asnumpy() for _ in range(2)]
    assert np.array_equal(*still)
    net.set_train()
    y, h = net(x)
    assert h.shape == (3, N, HID) and not np.allclose(y.asnumpy(), net(x)[0].asnumpy())
    ms.set_seed(3)
    first = net(x)[0].asnumpy()
    ms.set_seed(3)
    assert np.array_equal(first, net(x)[0].asnumpy())
    one = nn.GRU(IN, HID, dropout=0.5).set_train()
    assert np.array_equal(one(x)[0].asnumpy(), one(x)[0].asnumpy()), "one layer has nothing between"


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_program_does_not_grow_with_the_sequence(kind: str, level: str) -> None:
    ms.set_context(jit_level=level)
    net = getattr(nn, kind)(IN, HID, num_layers=2, bidirectional=True)
    sizes, steps = [], []
    for length in (40, 90):
        train = ms.value_and_grad(lambda x, n: (net(x, None, n)[0] ** 2).sum(), 0, net.trainable_params())
        noted = trace(train, (ops.ones((length, N, IN)), ms.Tensor([1, 2])), {}).noted
        program = compile_graph(noted)
        sizes.append(sum(1 for _ in program.graph.walk()))
        steps.append(len(getattr(program.executable, "host_steps", ())))
    assert sizes[0] == sizes[1] and steps[0] == steps[1]


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_products_over_all_steps_outside_of_the_loop(kind: str) -> None:
    net = getattr(nn, kind)(IN, HID)
    train = ms.value_and_grad(lambda x: (net(x)[0] ** 2).sum(), None, net.trainable_params())
    graph = compile_graph(trace(train, (ops.ones((7, N, IN)),), {}).noted).graph
    loops = [node for node in graph.nodes if node.op.name == "scan"]
    assert len(loops) == 2
    for loop in loops:
        assert [n.op.name for _, n in loop.graphs[0].walk()].count("matmul") == 1, "the product with the state"
        assert all(v.type.shape[-2:] != net.weight_hh_l0.shape for v in loop.outputs), "no sum of weights is carried"


def test_an_eager_call_is_one_line_on_the_tape(rng: np.random.Generator) -> None:
    from msnb.eager.recording import Recording

    ms.set_context(mode=ms.PYNATIVE_MODE)
    net = nn.LSTM(IN, HID, num_layers=2, bidirectional=True)
    counts = []
    for length in (2, 30):
        with Recording([ops.ones((length, N, IN))], net.trainable_params()) as tape:
            net(tape.inputs[0])
            counts.append(len(tape.recorder.lines))
        tape.release()
    assert counts == [1, 1]


def test_who_listens_to_ops_hears_every_step(rng: np.random.Generator) -> None:
    from msnb.base import events

    ms.set_context(mode=ms.PYNATIVE_MODE)
    net, heard = nn.GRU(IN, HID), []
    x = ms.Tensor(rng.standard_normal((5, N, IN)).astype(np.float32))
    with events.listening("op", lambda op, **_: heard.append(op.name)):
        y = net(x)[0]
        nothing = net(x[:0])[0]
    assert heard.count("tanh") == 5 and nothing.shape == (0, N, HID)
    np.testing.assert_allclose(net(x)[0].asnumpy(), y.asnumpy(), rtol=1e-5, atol=1e-6)


def test_half_precision_by_a_rule(mode: int, rng: np.random.Generator) -> None:
    x = ms.Tensor(rng.standard_normal((5, N, IN)).astype(np.float32))
    for level in ("O1", "O2", "O3"):
        net = nn.LSTM(IN, HID, num_layers=2)
        want = net(x)[0].asnumpy()
        ms.amp.auto_mixed_precision(net, level)
        got = net(x)[0]
        np.testing.assert_allclose(got.asnumpy().astype(np.float32), want, atol=2e-2)


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: nn.LSTM(3, 4)(ops.ones((3, 2, 3)), None, ms.Tensor([1, 2, 3])), "reshape"),
        (lambda: nn.LSTM(3, 4)(ops.ones((3, 2, 3)), ops.ones((1, 2, 4))), "must be [layers * directions"),
        (lambda: nn.LSTM(3, 4, bidirectional=True)(ops.ones((3, 2, 3)), (ops.ones((1, 2, 4)),) * 2), "[2, 2, 4]"),
        (lambda: nn.GRU(3, 4)(ops.ones((3, 2))), "needs x of three axes"),
    ],
)
def test_wrong_inputs(mode: int, call: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert sentence in str(caught.value)
