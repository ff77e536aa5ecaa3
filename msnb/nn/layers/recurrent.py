"""Recurrent networks over whole sequences: layers, directions, unequal lengths.

    x [time, n, input]  --W_ih for all times at once-->  step, step, step ...  -->  [time, n, hidden]   next layer
                                                          <-- step, step, step      second direction, joined to it

With ``seq_length`` a row stands still after its last step: its state stays, its outputs are zero.
Source: https://www.mindspore.cn/docs/en/master/api_python/nn/mindspore.nn.LSTM.html and its neighbours
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base.errors import AttributeValueError, ShapeError
from msnb.core import dtypes
from msnb.nn.cells.cell import Cell
from msnb.nn.layers.basic import need_last, positive_int
from msnb.nn.layers.recurrent_cells import first_parameter, gru_step, legal_nonlinearity, lstm_step, project, rnn_step

__all__ = ["GRU", "LSTM", "RNN"]

State = tuple[Any, ...]


class _Recurrent(Cell):
    """Layers and directions; a subclass gives ``gates``, ``n_states`` and ``step``."""

    gates = 1
    n_states = 1

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__()
        self.input_size = positive_int("input_size", input_size)
        self.hidden_size = positive_int("hidden_size", hidden_size)
        self.num_layers = positive_int("num_layers", num_layers)
        if not 0.0 <= dropout < 1.0:
            raise AttributeValueError(f"dropout must be from 0 to below 1, got {dropout}.")
        self.has_bias, self.batch_first, self.dropout = bool(has_bias), bool(batch_first), float(dropout)
        self.bidirectional = bool(bidirectional)
        self.directions = ("", "_reverse") if bidirectional else ("",)
        for layer in range(num_layers):
            width = input_size if layer == 0 else hidden_size * len(self.directions)
            for direction in self.directions:
                self._add_parameters(f"l{layer}{direction}", width, dtype)

    def _add_parameters(self, name: str, width: int, dtype: Any) -> None:
        rows = self.gates * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, self.hidden_size)}
        if self.has_bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        for kind, shape in shapes.items():
            setattr(self, f"{kind}_{name}", first_parameter(f"{kind}_{name}", shape, self.hidden_size, dtype))

    def _weights(self, name: str) -> tuple[Any, Any, Any, Any]:
        kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        found = [getattr(self, f"{k}_{name}") if self.has_bias or k[0] == "w" else None for k in kinds]
        ih, hh, b_ih, b_hh = (self.compute(p) for p in found)
        return ih, hh, b_ih, b_hh

    def step(self, a: Any, state: State, weight: Any, bias: Any) -> State:
        """The next state; its first part is the output. Subclasses write it."""
        raise NotImplementedError

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> Any:
        """Run over a sequence.

        Args:
            x: [time, n, input_size], or [n, time, input_size] with batch_first.
            hx: first state [layers * directions, n, hidden_size] (LSTM: a pair), or None for zeros.
            seq_length: [n] ints, the steps that count in each row, or None.

        Returns:
            (outputs like x with hidden_size * directions on the last axis, last state like hx).
        """
        name = type(self).__name__
        if x.ndim != 3:
            raise ShapeError(f"{name} needs x of three axes (time, batch, features).", operands=[f"x: {x._type!r}"])
        need_last(name, x, self.input_size, "input_size")
        if self.batch_first:
            x = ops.transpose(x, (1, 0, 2))
        states = self._first_states(x, hx)
        alive = None if seq_length is None else self._alive(x, seq_length)
        last: list[State] = []
        for layer in range(self.num_layers):
            if layer > 0 and self.dropout > 0 and self.training:
                x = ops.dropout(x, p=self.dropout, training=True)
            x, ends = self._layer(layer, x, states, alive)
            last = last + ends
        if self.batch_first:
            x = ops.transpose(x, (1, 0, 2))
        ends_of = tuple(ops.stack([state[k] for state in last], axis=0) for k in range(self.n_states))
        return x, (ends_of if self.n_states > 1 else ends_of[0])

    def _first_states(self, x: Any, hx: Any) -> list[State]:
        """One state per layer and direction."""
        count = self.num_layers * len(self.directions)
        shape = (count, x.shape[1], self.hidden_size)
        if hx is None:
            zero = ops.zeros(shape[1:], dtype=x.dtype)
            return [(zero,) * self.n_states] * count
        given = tuple(hx) if self.n_states > 1 else (hx,)
        for part in given:
            if part.shape != shape or len(given) != self.n_states:
                raise ShapeError(
                    f"{type(self).__name__}: a state must be [layers * directions, batch, hidden] = {list(shape)}.",
                    operands=[f"hx: {part._type!r}" for part in given],
                )
        return [tuple(part[i] for part in given) for i in range(count)]

    def _alive(self, x: Any, seq_length: Any) -> list[Any]:
        """For every time the rows that still count, [n, 1]."""
        lengths = ops.reshape(seq_length, (x.shape[1], 1))
        return [lengths > t for t in range(x.shape[0])]

    def _layer(self, layer: int, x: Any, states: list[State], alive: Any) -> tuple[Any, list[State]]:
        outputs, ends = [], []
        for d, direction in enumerate(self.directions):
            first = states[layer * len(self.directions) + d]
            rows, end = self._direction(f"l{layer}{direction}", x, first, alive, d == 1)
            outputs.append(ops.stack(rows, axis=0))
            ends.append(end)
        return (outputs[0] if len(outputs) == 1 else ops.concat(outputs, axis=-1)), ends

    def _direction(self, name: str, x: Any, state: State, alive: Any, backward: bool) -> tuple[list[Any], State]:
        ih, hh, b_ih, b_hh = self._weights(name)
        inputs = ops.unstack(project(x, ih, b_ih), axis=0)
        rows: list[Any] = [None] * len(inputs)
        for t in reversed(range(len(inputs))) if backward else range(len(inputs)):
            new = self.step(inputs[t], state, hh, b_hh)
            if alive is None:
                state, rows[t] = new, new[0]
            else:
                state = tuple(ops.where(alive[t], a, b) for a, b in zip(new, state))
                rows[t] = ops.where(alive[t], new[0], 0.0)
        return rows, state

    def extend_repr(self) -> str:
        """Its sizes."""
        more = f", num_layers={self.num_layers}, batch_first={self.batch_first}, bidirectional={self.bidirectional}"
        return f"{self.input_size}, {self.hidden_size}{more}"


class RNN(_Recurrent):
    """Plain recurrent network.

    Args:
        input_size, hidden_size: lengths of an input and of the state.
        num_layers: layers on top of each other.
        nonlinearity: "tanh" or "relu".
        has_bias: whether biases are added.
        batch_first: whether x is [n, time, input_size].
        dropout: probability between layers, in training.
        bidirectional: a second direction, from the end.

    Inputs and outputs: see ``construct``.

    Examples:
        >>> import msnb as ms
        >>> y, h = ms.nn.RNN(3, 5)(ms.ops.ones((7, 2, 3)))
        >>> y.shape, h.shape
        ((7, 2, 5), (1, 2, 5))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        has_bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype)
        self.nonlinearity = legal_nonlinearity(nonlinearity)

    def step(self, a: Any, state: State, weight: Any, bias: Any) -> State:
        """h'."""
        return (rnn_step(a, state[0], weight, bias, self.nonlinearity),)


class LSTM(_Recurrent):
    """Long short-term memory; arguments as in ``RNN`` without the nonlinearity; a state is a pair (h, c).

    Examples:
        >>> import msnb as ms
        >>> y, (h, c) = ms.nn.LSTM(3, 5, num_layers=2, bidirectional=True)(ms.ops.ones((7, 2, 3)))
        >>> y.shape, h.shape, c.shape
        ((7, 2, 10), (4, 2, 5), (4, 2, 5))
    """

    gates = 4
    n_states = 2

    def step(self, a: Any, state: State, weight: Any, bias: Any) -> State:
        """(h', c')."""
        return lstm_step(a, state[0], state[1], weight, bias)


class GRU(_Recurrent):
    """Gated recurrent unit; arguments as in ``RNN`` without the nonlinearity.

    Examples:
        >>> import msnb as ms
        >>> y, h = ms.nn.GRU(3, 5, batch_first=True)(ms.ops.ones((2, 7, 3)))
        >>> y.shape, h.shape
        ((2, 7, 5), (1, 2, 5))
    """

    gates = 3

    def step(self, a: Any, state: State, weight: Any, bias: Any) -> State:
        """h'."""
        return (gru_step(a, state[0], weight, bias),)
