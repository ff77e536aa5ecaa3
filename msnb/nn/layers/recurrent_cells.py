"""One step of a recurrent network, as functions of the parts and as Cells.

    a = x W_ih^T + b_ih          b = h W_hh^T + b_hh                    (computed for all gates at once, then split)

    RNN     h' = tanh(a + b)
    LSTM    i, f, g, o = split(a + b)      c' = sigmoid(f) c + sigmoid(i) tanh(g)      h' = sigmoid(o) tanh(c')
    GRU     r, z from a + b; n = tanh(a_n + sigmoid(r) b_n)                            h' = (1 - z) n + z h

Source: Hochreiter and Schmidhuber 1997; Cho et al. 2014;
`mindspore.nn.LSTMCell` and its neighbours
"""

from __future__ import annotations

import math
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.core import Parameter, dtypes
from msnb.core.engine import whole
from msnb.nn.cells.cell import Cell
from msnb.nn.initializer import Uniform, initializer
from msnb.nn.layers.basic import need_last, positive_int, project

__all__ = ["GRUCell", "LSTMCell", "RNNCell"]


def parts(x: Any, n: int) -> list[Any]:
    """``n`` equal pieces of the last axis."""
    size = x.shape[-1] // n
    return [x[..., i * size : (i + 1) * size] for i in range(n)]


def rnn_gates(activation: str, a: Any, b: Any) -> Any:
    """h' of a plain RNN; a: [..., hidden] made of x, b: the same made of h."""
    return ops.tanh(a + b) if activation == "tanh" else ops.relu(a + b)


def lstm_gates(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """(h', c') of an LSTM; a, b: [..., 4 * hidden]. Gates are cut out before they are added: then all is one kernel."""
    i, f, g, o = (p + q for p, q in zip(parts(a, 4), parts(b, 4)))
    c = ops.sigmoid(f) * c + ops.sigmoid(i) * ops.tanh(g)
    return ops.sigmoid(o) * ops.tanh(c), c


def gru_gates(a: Any, b: Any, h: Any) -> Any:
    """h' of a GRU; a, b: [..., 3 * hidden]."""
    (a_r, a_z, a_n), (b_r, b_z, b_n) = parts(a, 3), parts(b, 3)
    r, z = ops.sigmoid(a_r + b_r), ops.sigmoid(a_z + b_z)
    return (1.0 - z) * ops.tanh(a_n + r * b_n) + z * h


@whole
def rnn_step(a: Any, h: Any, weight: Any, bias: Any, activation: str) -> Any:
    """h' of a plain RNN."""
    return rnn_gates(activation, a, project(h, weight, bias))


@whole
def lstm_step(a: Any, h: Any, c: Any, weight: Any, bias: Any) -> tuple[Any, Any]:
    """(h', c') of an LSTM."""
    return lstm_gates(a, project(h, weight, bias), c)


@whole
def gru_step(a: Any, h: Any, weight: Any, bias: Any) -> Any:
    """h' of a GRU."""
    return gru_gates(a, project(h, weight, bias), h)


def legal_nonlinearity(name: str) -> str:
    """tanh or relu. Raises ValueError."""
    if name not in ("tanh", "relu"):
        raise AttributeValueError(f"nonlinearity must be 'tanh' or 'relu', got {name!r}.")
    return name


def first_parameter(name: str, shape: tuple[int, ...], hidden_size: int, dtype: Any) -> Parameter:
    """Uniform in +-1/sqrt(hidden_size)."""
    return Parameter(initializer(Uniform(1.0 / math.sqrt(hidden_size)), shape, dtype), name=name)


class RNNCellBase(Cell):
    """The Parameters of one step; classes of programs derive from it.

    Args:
        input_size, hidden_size: lengths of x and of the state.
        has_bias: whether there are biases.
        num_chunks: pieces that the Parameters have along axis 0, one a gate: weight_ih [num_chunks * hidden_size,
            input_size].

    Raises:
        ValueError: a size or num_chunks is not positive.

    Examples:
        >>> from msnb.nn.layers.recurrent_cells import RNNCellBase
        >>> RNNCellBase(2, 5, True, num_chunks=3).weight_ih.shape
        (15, 2)
    """

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool, num_chunks: int, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__()
        self.input_size = positive_int("input_size", input_size)
        self.hidden_size = positive_int("hidden_size", hidden_size)
        self.has_bias = bool(has_bias)
        rows = positive_int("num_chunks", num_chunks) * hidden_size
        self.weight_ih = first_parameter("weight_ih", (rows, input_size), hidden_size, dtype)
        self.weight_hh = first_parameter("weight_hh", (rows, hidden_size), hidden_size, dtype)
        self.bias_ih = first_parameter("bias_ih", (rows,), hidden_size, dtype) if has_bias else None
        self.bias_hh = first_parameter("bias_hh", (rows,), hidden_size, dtype) if has_bias else None

    def _input_part(self, x: Any) -> Any:
        need_last(type(self).__name__, x, self.input_size, "input_size")
        return project(x, self.compute(self.weight_ih), self.compute(self.bias_ih))

    def _state(self, x: Any, h: Any) -> Any:
        """The state given, or zeros."""
        if h is None:
            return ops.zeros((*x.shape[:-1], self.hidden_size), dtype=x.dtype)
        if h.shape[-1] != self.hidden_size:
            raise ShapeError(
                f"{type(self).__name__}: the state must have hidden_size={self.hidden_size} on its last axis.",
                operands=[f"x: {x._type!r}", f"state: {h._type!r}"],
            )
        return h

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"{self.input_size}, {self.hidden_size}, has_bias={self.has_bias}"


class RNNCell(RNNCellBase):
    """One step of a plain RNN.

    Args:
        input_size, hidden_size: lengths of x and of the state.
        has_bias: whether biases are added.
        nonlinearity: "tanh" or "relu".

    Inputs: x [n, input_size], hx [n, hidden_size] or None (zeros). Outputs: the new state.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.RNNCell(3, 5)(ms.ops.ones((2, 3)), ms.ops.zeros((2, 5))).shape
        (2, 5)
    """

    def __init__(
        self, input_size: int, hidden_size: int, has_bias: bool = True, nonlinearity: str = "tanh",
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, has_bias, 1, dtype)
        self.nonlinearity: str = legal_nonlinearity(nonlinearity)

    def construct(self, x: Any, hx: Any = None) -> Any:
        """One step."""
        hh, bias = self.compute(self.weight_hh), self.compute(self.bias_hh)
        return rnn_step(self._input_part(x), self._state(x, hx), hh, bias, self.nonlinearity)


class LSTMCell(RNNCellBase):
    """One step of an LSTM.

    Inputs: x [n, input_size], hx = (h, c) of [n, hidden_size] each, or None. Outputs: (h', c').

    Examples:
        >>> import msnb as ms
        >>> h, c = ms.nn.LSTMCell(3, 5)(ms.ops.ones((2, 3)))
        >>> h.shape, c.shape
        ((2, 5), (2, 5))
    """

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = dtypes.float32) -> None:
        super().__init__(input_size, hidden_size, has_bias, 4, dtype)

    def construct(self, x: Any, hx: Any = None) -> Any:
        """One step."""
        h, c = (None, None) if hx is None else hx
        hh, bias = self.compute(self.weight_hh), self.compute(self.bias_hh)
        return lstm_step(self._input_part(x), self._state(x, h), self._state(x, c), hh, bias)


class GRUCell(RNNCellBase):
    """One step of a GRU.

    Inputs: x [n, input_size], hx [n, hidden_size] or None. Outputs: the new state.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.GRUCell(3, 5)(ms.ops.ones((2, 3))).shape
        (2, 5)
    """

    def __init__(self, input_size: int, hidden_size: int, has_bias: bool = True, dtype: Any = dtypes.float32) -> None:
        super().__init__(input_size, hidden_size, has_bias, 3, dtype)

    def construct(self, x: Any, hx: Any = None) -> Any:
        """One step."""
        return gru_step(
            self._input_part(x), self._state(x, hx), self.compute(self.weight_hh), self.compute(self.bias_hh)
        )
