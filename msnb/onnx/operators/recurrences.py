"""Recurrent layers: RNN, GRU and LSTM, in ONNX's order of gates.

One loop for the three: a step takes the row's products with the input weights, which are made for all rows at once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.api.transforms.scan import scan
from msnb.base import AttributeValueError
from msnb.core import Tensor
from msnb.onnx.operator_table import operator
from msnb.onnx.operators import activations as act

Step = Callable[..., tuple[Any, ...]]


def _activation(name: str, alpha: float | None, beta: float | None) -> Callable[[Any], Any]:
    given = {k: v for k, v in (("alpha", alpha), ("beta", beta)) if v is not None}
    ways: dict[str, Callable[[Any], Any]] = {
        "relu": ops.relu, "tanh": ops.tanh, "sigmoid": ops.sigmoid, "softsign": ops.softsign,
        "softplus": ops.softplus,
        "affine": lambda x: x * given.get("alpha", 1.0) + given.get("beta", 0.0),
        "leakyrelu": lambda x: ops.leaky_relu(x, **{"alpha": 0.01, **given}),
        "elu": lambda x: ops.elu(x, **given),
        "thresholdedrelu": lambda x: act.thresholded_relu(x, **given),
        "scaledtanh": lambda x: ops.tanh(x * given.get("beta", 1.0)) * given.get("alpha", 1.0),
        "hardsigmoid": lambda x: act.hard_sigmoid(x, **given),
    }  # fmt: skip
    if name.lower() not in ways:
        raise AttributeValueError(f"a recurrent layer has no activation {name!r}; there are {', '.join(ways)}.")
    return ways[name.lower()]


class RecurrentLayer:
    """What the three have in common.

    Args:
        x, w, r, b, lengths: the operator's inputs; ``initial``: the first states.
        gates: how many products a row has.
        names: default activations of one direction.
        given: the operator's attributes.
    """

    initial: list[Any | Tensor | None]

    def __init__(self, x: Any, w: Any, r: Any, b: Any, lengths: Any, initial: list[Any], gates: int,
                 names: list[str], given: dict[str, Any]) -> None:  # fmt: skip
        self.batch_first: bool = bool(given.get("layout"))
        self.x: Tensor = ops.swapaxes(x, 0, 1) if self.batch_first else x
        self.w: Any = w
        self.r: Any = r
        self.b: Any = b
        self.lengths: Any = lengths
        self.gates: int = gates
        self.directions: Any = w.shape[0]
        self.size: Any = r.shape[2]
        self.initial = [v if v is None or not self.batch_first else ops.swapaxes(v, 0, 1) for v in initial]
        self.direction: Any = given.get("direction", "forward")
        self.clip: Any = given.get("clip")
        self.activations: list[Any] = self._activations(names, given)

    def _activations(self, names: list[str], given: dict[str, Any]) -> list[list[Callable[[Any], Any]]]:
        chosen = list(given.get("activations") or names * self.directions)
        alphas, betas = list(given.get("activation_alpha") or ()), list(given.get("activation_beta") or ())
        alphas += [None] * (len(chosen) - len(alphas))
        betas += [None] * (len(chosen) - len(betas))
        made = [_activation(*each) for each in zip(chosen, alphas, betas)]
        return [made[i * len(names) : (i + 1) * len(names)] for i in range(self.directions)]

    def clipped(self, v: Any) -> Any:
        """A sum before its activation."""
        return v if self.clip is None else ops.clamp(v, -self.clip, self.clip)

    def biases(self, d: int) -> tuple[Any, Any]:
        """Those of the input's and of the state's products."""
        if self.b is None:
            zero = ops.zeros((self.gates * self.size,), dtype=self.x.dtype)
            return zero, zero
        half = self.gates * self.size
        return self.b[d, :half], self.b[d, half:]

    def run(self, step_of: Callable[[int], Step], states: int, whole_bias: bool) -> tuple[Any, ...]:
        """Y and the last states."""
        length, batch, _ = self.x.shape
        rows, last = [], []
        for d in range(self.directions):
            backwards = self.direction == "reverse" or d == 1
            wb, rb = self.biases(d)
            products = ops.matmul(self.x, ops.transpose(self.w[d], (1, 0))) + (wb + rb if whole_bias else wb)
            zero = ops.zeros((batch, self.size), dtype=self.x.dtype)
            begin = [zero if v is None else v[d] for v in (*self.initial, *[None] * states)[:states]]
            *ends, ys = self._loop(step_of(d), products, begin, backwards)
            rows.append(ys)
            last.append(ends)
        y = ops.stack(rows, 1)
        ends = [ops.stack([e[k] for e in last], 0) for k in range(states)]
        if self.batch_first:
            return ops.transpose(y, (2, 0, 1, 3)), *(ops.swapaxes(e, 0, 1) for e in ends)
        return y, *ends

    def _loop(self, step: Step, products: Any, begin: list[Any], backwards: bool) -> tuple[Any, ...]:
        if self.lengths is None:
            return scan(lambda *v: (*(out := step(*v)), out[0]), begin, [products], (), backwards)
        steps = np.arange(self.x.shape[0])[:, None]
        inside = Tensor(steps) < ops.expand_dims(self.lengths.astype("int64"), 0)
        masks = ops.expand_dims(inside, -1)

        def masked(*values: Any) -> tuple[Any, ...]:
            *carry, row, mask = values
            found = step(*carry, row)
            kept = [ops.where(mask, new, old) for new, old in zip(found, carry)]
            return *kept, ops.where(mask, found[0], ops.zeros_like(found[0]))

        return scan(masked, begin, [products, masks], (), backwards)


def _pieces(v: Any, count: int) -> tuple[Any, ...]:
    return tuple(ops.split(v, [v.shape[-1] // count] * count, -1))


@operator("RNN")
def rnn(x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, lengths: Tensor | None = None,
        h: Tensor | None = None, *, activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None,
        clip: float | None = None, direction: str = "forward", hidden_size: int = 0, layout: int = 0,
        output_sequence: int = 0, results: int = 1) -> Any:  # fmt: skip
    """h = f(x W + h R + b)."""
    given = {"activation_alpha": activation_alpha, "activation_beta": activation_beta, "activations": activations,
             "clip": clip, "direction": direction, "layout": layout}  # fmt: skip
    layer = RecurrentLayer(x, w, r, b, lengths, [h], 1, ["Tanh"], given)

    def step_of(d: int) -> Step:
        weights, (f,) = ops.transpose(r[d], (1, 0)), layer.activations[d]
        return lambda state, row: (f(layer.clipped(row + ops.matmul(state, weights))),)

    return layer.run(step_of, 1, True)[:results]


@operator("GRU")
def gru(x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, lengths: Tensor | None = None,
        h: Tensor | None = None, *, activation_alpha: Any = None, activation_beta: Any = None, activations: Any = None,
        clip: float | None = None, direction: str = "forward", hidden_size: int = 0, layout: int = 0,
        linear_before_reset: int = 0, output_sequence: int = 0, results: int = 1) -> Any:  # fmt: skip
    """Gates z (update), r (reset), and the candidate."""
    given = {"activation_alpha": activation_alpha, "activation_beta": activation_beta, "activations": activations,
             "clip": clip, "direction": direction, "layout": layout}  # fmt: skip
    layer = RecurrentLayer(x, w, r, b, lengths, [h], 3, ["Sigmoid", "Tanh"], given)
    size = layer.size

    def step_of(d: int) -> Step:
        weights, (f, g) = ops.transpose(r[d], (1, 0)), layer.activations[d]
        gates, candidate = weights[:, : 2 * size], weights[:, 2 * size :]
        bias = layer.biases(d)[1]

        def step(state: Any, row: Any) -> tuple[Any, ...]:
            sums = row[:, : 2 * size] + ops.matmul(state, gates) + bias[: 2 * size]
            z, reset = _pieces(f(layer.clipped(sums)), 2)
            if linear_before_reset:
                inner = reset * (ops.matmul(state, candidate) + bias[2 * size :])
            else:
                inner = ops.matmul(reset * state, candidate) + bias[2 * size :]
            new = g(layer.clipped(row[:, 2 * size :] + inner))
            return ((1 - z) * new + z * state,)

        return step

    return layer.run(step_of, 1, False)[:results]


@operator("LSTM")
def lstm(x: Tensor, w: Tensor, r: Tensor, b: Tensor | None = None, lengths: Tensor | None = None,
         h: Tensor | None = None, c: Tensor | None = None, p: Tensor | None = None, *, activation_alpha: Any = None,
         activation_beta: Any = None, activations: Any = None, clip: float | None = None, direction: str = "forward",
         hidden_size: int = 0, input_forget: int = 0, layout: int = 0, output_sequence: int = 0,
         results: int = 1) -> Any:  # fmt: skip
    """Gates i (input), o (output), f (forget), and the cell; with peepholes if given."""
    given = {"activation_alpha": activation_alpha, "activation_beta": activation_beta, "activations": activations,
             "clip": clip, "direction": direction, "layout": layout}  # fmt: skip
    layer = RecurrentLayer(x, w, r, b, lengths, [h, c], 4, ["Sigmoid", "Tanh", "Tanh"], given)

    def step_of(d: int) -> Step:
        weights, (f, g, k) = ops.transpose(r[d], (1, 0)), layer.activations[d]
        peep = _pieces(p[d], 3) if p is not None else (0.0, 0.0, 0.0)

        def step(state: Any, cell: Any, row: Any) -> tuple[Any, ...]:
            i, o, forget, inner = _pieces(row + ops.matmul(state, weights), 4)
            i = f(layer.clipped(i + peep[0] * cell))
            keep = 1 - i if input_forget else f(layer.clipped(forget + peep[2] * cell))
            new = keep * cell + i * g(layer.clipped(inner))
            o = f(layer.clipped(o + peep[1] * new))
            return o * k(new), new

        return step

    return layer.run(step_of, 2, True)[:results]
