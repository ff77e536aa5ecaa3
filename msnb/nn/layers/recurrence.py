"""The loops of recurrent networks, as one function of tensors: every step is a turn of one Scan.

    x [time, n, input]  --W_ih, and every bias that only adds, for all times at once-->  gates [time, n, gates * hidden]
                                                                                           | one row a turn
    state, gates of t   --state W_hh-->  one elementwise kernel  -->  next state, output    v
    backward: a Scan that runs the other way and gives the gradients of the gates; those of the weights are products
    over all times outside of it (``autodiff.loop_sums``)

With ``lengths`` a row stands still after its last step: its state stays, its outputs are zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from msnb import ops
from msnb.api.transforms.scan import scan
from msnb.core.engine import whole_loop
from msnb.nn.layers.basic import project
from msnb.nn.layers.recurrent_cells import gru_gates, lstm_gates, rnn_gates

State = tuple[Any, ...]


def _rnn(activation: str, a: Any, state: State, weight: Any) -> State:
    return (rnn_gates(activation, a, ops.matmul(state[0], weight)),)


def _gru(a: Any, state: State, weight: Any, bias: Any = None) -> State:
    product = ops.matmul(state[0], weight)
    return (gru_gates(a, product if bias is None else product + bias, state[0]),)


STEPS: dict[str, Callable[..., State]] = {
    "rnn tanh": partial(_rnn, "tanh"),
    "rnn relu": partial(_rnn, "relu"),
    "lstm": lambda a, state, weight: lstm_gates(a, ops.matmul(state[0], weight), state[1]),
    "gru": _gru,
}
"""``step(gates made of x, state, W_hh^T, biases of the product...) -> state``; the first of a state is the output."""


@whole_loop
def recurrent(
    kind: str, layers: int, directions: int, has_bias: bool, x: Any, lengths: Any, *tensors: Any
) -> tuple[Any, ...]:
    """Layers on top of each other, each in one or both directions.

    Args:
        kind: one of ``STEPS``.
        layers, directions, has_bias: what the tensors are for.
        x: [time, n, input].
        lengths: [n] ints, or None.
        tensors: the first state, one tensor [layers * directions, n, hidden] (an LSTM: two) or as many Nones for zeros;
            then for every layer and direction W_ih, W_hh and, where there are biases, b_ih, b_hh.

    Returns:
        The outputs [time, n, hidden * directions], then the last state like the first.
    """
    n_states, each = 2 if kind == "lstm" else 1, 4 if has_bias else 2
    weights = [tensors[n_states + i * each :][:each] for i in range(layers * directions)]
    first = _states(tensors[:n_states], len(weights), x, weights[0][1].shape[1])
    alive = None if lengths is None else _alive(x, lengths)
    ends: list[State] = []
    for layer in range(layers):
        outputs = []
        for d in range(directions):
            at = layer * directions + d
            y, end = _direction(kind, x, first[at], weights[at], alive, d == 1)
            outputs.append(y)
            ends.append(end)
        x = outputs[0] if directions == 1 else ops.concat(outputs, axis=-1)
    return (x, *(ops.stack([end[k] for end in ends], axis=0) for k in range(n_states)))


def _states(given: Sequence[Any], count: int, x: Any, hidden: int) -> list[State]:
    """One state per layer and direction."""
    if given[0] is None:
        return [(ops.zeros((x.shape[1], hidden), dtype=x.dtype),) * len(given)] * count
    return [tuple(part[i] for part in given) for i in range(count)]


def _alive(x: Any, lengths: Any) -> Any:
    """For every time the rows that still count, [time, n, 1]."""
    times = ops.reshape(ops.arange(x.shape[0]), (x.shape[0], 1, 1))
    return ops.reshape(lengths, (1, x.shape[1], 1)) > times


def _direction(
    kind: str, x: Any, state: State, weights: Sequence[Any], alive: Any, backward: bool
) -> tuple[Any, State]:
    """The outputs [time, n, hidden] and the last state of one direction of one layer."""
    gates, inner = _outside(kind, x, *weights)
    step, n = STEPS[kind], len(state)

    def turn(*values: Any) -> State:
        before, rest = values[:n], values[n:]
        if alive is None:
            new = step(rest[0], before, *rest[1:])
            return (*new, new[0])
        new = step(rest[0], before, *rest[2:])
        return (*(ops.where(rest[1], a, b) for a, b in zip(new, before)), ops.where(rest[1], new[0], 0.0))

    found = scan(turn, state, [gates] if alive is None else [gates, alive], inner, backward)
    return found[n], found[:n]


def _outside(kind: str, x: Any, ih: Any, hh: Any, b_ih: Any = None, b_hh: Any = None) -> tuple[Any, list[Any]]:
    """What no step changes: the part of the gates that x makes, with the biases, and what the steps are handed."""
    gates, weight = project(x, ih, b_ih), ops.transpose(hh, (1, 0))
    if b_hh is None:
        return gates, [weight]
    if kind == "gru":  # one gate multiplies the product of the state with its bias
        return gates, [weight, ops.reshape(b_hh, (1, -1))]
    return gates + b_hh, [weight]
