"""Recurrent networks over whole sequences: layers, directions, unequal lengths.

    x [time, n, input]  --W_ih for all times at once-->  a loop of steps  -->  [time, n, hidden]   next layer
                                                          <-- a loop of steps      second direction, joined to it

With ``seq_length`` a row stands still after its last step: its state stays, its outputs are zero. The loops are in
``recurrence``.
Source: `mindspore.nn.LSTM` and its neighbours
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.core import ParameterTuple, dtypes
from msnb.nn.cells import Cell, like_mindspore, put_last
from msnb.nn.layers.basic import need_last, positive_int
from msnb.nn.layers.recurrence import recurrent
from msnb.nn.layers.recurrent_cells import first_parameter, legal_nonlinearity

__all__ = ["GRU", "LSTM", "RNN"]


def _parameters(kind: str) -> Any:
    """The Parameters of a kind, layer by layer, as a tuple that can be replaced."""

    def names(self: Any) -> list[str]:
        return [f"{kind}_l{n}{d}" for n in range(self.num_layers) for d in self.directions if kind in self._kinds()]

    def given(self: Any) -> ParameterTuple:
        return ParameterTuple(getattr(self, name) for name in names(self))

    def replace(self: Any, parameters: Any) -> None:
        for name, parameter in zip(names(self), parameters, strict=True):
            setattr(self, name, parameter)

    return property(given, replace, doc=f"``{kind}_l0``, then those of the other direction and the further layers.")


class _Recurrent(Cell):
    """Layers and directions; a subclass gives ``gates``, ``n_states`` and ``kind``."""

    gates = 1
    n_states = 1
    kind = ""
    w_ih_list, w_hh_list = _parameters("weight_ih"), _parameters("weight_hh")
    b_ih_list, b_hh_list = _parameters("bias_ih"), _parameters("bias_hh")

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, has_bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
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
        if like_mindspore():
            put_last(
                self, (f"{kind}_l{n}{d}" for kind in self._kinds() for n in range(num_layers) for d in self.directions)
            )

    def _add_parameters(self, name: str, width: int, dtype: Any) -> None:
        rows = self.gates * self.hidden_size
        shapes: dict[str, tuple[int, ...]] = {"weight_ih": (rows, width), "weight_hh": (rows, self.hidden_size)}
        if self.has_bias:
            shapes |= {"bias_ih": (rows,), "bias_hh": (rows,)}
        for kind, shape in shapes.items():
            setattr(self, f"{kind}_{name}", first_parameter(f"{kind}_{name}", shape, self.hidden_size, dtype))

    def _weights(self, layer: int, dtype: Any) -> list[Any]:
        """What the directions of a layer compute with, in the order of ``recurrent`` and the dtype of the input."""
        named = (getattr(self, f"{k}_l{layer}{d}") for d in self.directions for k in self._kinds())
        return [ops.cast(self.compute(weight), dtype) for weight in named]

    def _kinds(self) -> tuple[str, ...]:
        return ("weight_ih", "weight_hh", "bias_ih", "bias_hh") if self.has_bias else ("weight_ih", "weight_hh")

    def construct(self, x: Any, hx: Any = None, seq_length: Any = None) -> Any:
        """Run over a sequence.

        Args:
            x: [time, n, input_size], or [n, time, input_size] with batch_first.
            hx: first state [layers * directions, n, hidden_size] (LSTM: a pair), or None for zeros.
            seq_length: [n] ints, the steps that count in each row, or None.

        Returns:
            (outputs like x, in its dtype, with hidden_size * directions on the last axis, last state like hx).
        """
        name = type(self).__name__
        if x.ndim != 3:
            raise ShapeError(f"{name} needs x of three axes (time, batch, features).", operands=[f"x: {x._type!r}"])
        need_last(name, x, self.input_size, "input_size")
        if self.batch_first:
            x = ops.transpose(x, (1, 0, 2))
        y, *last = self._layers(x, self._first_states(x, hx), seq_length)
        if self.batch_first:
            y = ops.transpose(y, (1, 0, 2))
        return y, (tuple(last) if self.n_states > 1 else last[0])

    def _first_states(self, x: Any, hx: Any) -> tuple[Any, ...]:
        """One tensor for all layers and directions (an LSTM: two), or Nones."""
        if hx is None:
            return (None,) * self.n_states
        shape = (self.num_layers * len(self.directions), x.shape[1], self.hidden_size)
        given = tuple(hx) if self.n_states > 1 else (hx,)
        for part in given:
            if part.shape != shape or len(given) != self.n_states:
                raise ShapeError(
                    f"{type(self).__name__}: a state must be [layers * directions, batch, hidden] = {list(shape)}.",
                    operands=[f"hx: {part._type!r}" for part in given],
                )
        return given

    def _layers(self, x: Any, states: tuple[Any, ...], lengths: Any) -> list[Any]:
        """All layers as one function, or one after the other with a draw between them."""
        n, d = self.num_layers, len(self.directions)
        if n == 1 or self.dropout == 0.0 or not self.training:
            weights = [w for layer in range(n) for w in self._weights(layer, x.dtype)]
            return list(recurrent(self.kind, n, d, self.has_bias, x, lengths, *states, *weights))
        ends: list[Any] = []
        for layer in range(n):
            if layer > 0:
                x = ops.dropout(x, p=self.dropout, training=True)
            here = [None if part is None else part[layer * d : (layer + 1) * d] for part in states]
            x, *end = recurrent(self.kind, 1, d, self.has_bias, x, lengths, *here, *self._weights(layer, x.dtype))
            ends = ends + [end]
        return [x, *(ops.concat([end[k] for end in ends], axis=0) for k in range(self.n_states))]

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
        self, input_size: int, hidden_size: int, num_layers: int = 1, nonlinearity: str = "tanh", has_bias: bool = True,
        batch_first: bool = False, dropout: float = 0.0, bidirectional: bool = False, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, num_layers, has_bias, batch_first, dropout, bidirectional, dtype)
        self.nonlinearity: str = legal_nonlinearity(nonlinearity)
        self.kind: str = f"rnn {nonlinearity}"


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
    kind = "lstm"


class GRU(_Recurrent):
    """Gated recurrent unit; arguments as in ``RNN`` without the nonlinearity.

    Examples:
        >>> import msnb as ms
        >>> y, h = ms.nn.GRU(3, 5, batch_first=True)(ms.ops.ones((2, 7, 3)))
        >>> y.shape, h.shape
        ((2, 7, 5), (1, 2, 5))
    """

    gates = 3
    kind = "gru"
