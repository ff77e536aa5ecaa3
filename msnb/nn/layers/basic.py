"""The plain layers: Dense, Flatten, Identity, Dropout, Embedding.

Argument names and defaults are MindSpore's; where one of them is a trap for a PyTorch user the class says so.
"""

from __future__ import annotations

import math
from typing import Any

from msnb import ops
from msnb.base import ArgumentError, ShapeError
from msnb.core import Parameter, Tensor, cached, dtypes
from msnb.nn.cells.cell import Cell
from msnb.nn.initializer import HeUniform, Normal, Uniform, initializer
from msnb.nn.layers.activation import get_activation
from msnb.ops.definition import need_ints, worded

__all__ = [
    "Bilinear", "Dense", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "Embedding", "Flatten", "Identity", "Linear",
    "Unflatten",
]  # fmt: skip


def positive_int(what: str, value: Any) -> int:
    """``value`` if it is an int of at least 1. Raises ValueError (TypeError for other types)."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be an int, got {value!r}.")
    if value < 1:
        raise ValueError(f"{what} must be at least 1, got {value}.")
    return value


def first_weight(init: Any, shape: tuple[int, ...], dtype: Any) -> Parameter:
    """A weight; by default uniform in +-1/sqrt(fan_in), as MindSpore and PyTorch do."""
    return Parameter(initializer(HeUniform(math.sqrt(5.0)) if init is None else init, shape, dtype), name="weight")


def first_bias(init: Any, size: int, fan_in: int, dtype: Any) -> Parameter:
    """A bias; by default uniform in +-1/sqrt(fan_in)."""
    default = Uniform(1.0 / math.sqrt(fan_in)) if fan_in > 0 else "zeros"
    return Parameter(initializer(default if init is None else init, size, dtype), name="bias")


class Dense(Cell):
    """y = activation(x @ weight.T + bias).

    Args:
        in_channels, out_channels: sizes of the last axis before and after.
        weight_init, bias_init: name, number, Initializer or Tensor; by default uniform in +-1/sqrt(in_channels).
        has_bias: whether a bias is added.
        activation: None, a name ("relu"), a Cell or a function.
        dtype: of the Parameters.

    Inputs: x [..., in_channels]. Outputs: [..., out_channels].

    Raises:
        ValueError: the last axis of x is not in_channels.

    Source: `mindspore.nn.Dense`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Dense(3, 2, weight_init="ones", bias_init=1.0)(ms.Tensor([[1.0, 2.0, 3.0]])).tolist()
        [[7.0, 7.0]]
    """

    @worded
    def __init__(
        self, in_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None,
        has_bias: bool = True, activation: Any = None, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in_channels: int = positive_int("in_channels", in_channels)
        self.out_channels: int = positive_int("out_channels", out_channels)
        self.has_bias: bool = bool(has_bias)
        self.weight: Parameter = first_weight(weight_init, (out_channels, in_channels), dtype)
        self.bias: Parameter | None = first_bias(bias_init, out_channels, in_channels, dtype) if has_bias else None
        self.activation: Any = get_activation(activation)

    @property
    def activation_flag(self) -> bool:
        """Whether there is an activation."""
        return self.activation is not None

    def construct(self, x: Any) -> Any:
        """The layer."""
        need_last("Dense", x, self.in_channels, "in_channels")
        bias = None if self.bias is None else self.compute(self.bias)
        y = project(x, self.compute(self.weight), bias)
        if self.activation is not None:
            y = self.activation(y)
        return y

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"in_channels={self.in_channels}, out_channels={self.out_channels}, has_bias={self.has_bias}"


@cached
def project(x: Any, weight: Any, bias: Any) -> Any:
    """x times the weight [out, in] transposed, plus the bias [out] where there is one."""
    y = ops.matmul(x, ops.transpose(weight, (1, 0)))
    return y if bias is None else y + bias


def need_last(name: str, x: Any, size: int, what: str) -> None:
    """Raise ShapeError unless the last axis of ``x`` has this size."""
    if not isinstance(x, Tensor):
        raise ArgumentError(f"{name} takes a Tensor, not {type(x).__name__}.", hint="wrap it: ms.Tensor(x).")
    if x.ndim == 0 or x.shape[-1] != size:
        raise ShapeError(
            f"{name}: the last axis of x must be {what}={size}, {f'not {x.shape[-1]}' if x.ndim else 'x has no axis'}.",
            operands=[f"x: {x._type!r}"],
            hint="flatten images with nn.Flatten() before a Dense layer." if name == "Dense" and x.ndim > 2 else "",
        )


class Linear(Dense):
    """Dense under PyTorch's name and arguments.

    Args:
        in_features, out_features: sizes of the last axis before and after.
        bias: whether a bias is added.
        dtype: of the Parameters.

    Examples:
        >>> from msnb import nn
        >>> nn.Linear(3, 2, bias=False)
        Linear(in_features=3, out_features=2, bias=False)
    """

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True, weight_init: Any = None, bias_init: Any = None,
        dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, weight_init, bias_init, bias, None, dtype)
        self.in_features: int = in_features
        self.out_features: int = out_features

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"in_features={self.in_channels}, out_features={self.out_channels}, bias={self.has_bias}"


class Bilinear(Cell):
    """y = x1 W x2 + b with one matrix W per feature of the result.

    Args:
        in1_features, in2_features: sizes of the last axes of the two inputs.
        out_features: size of the last axis of the result.
        bias: whether a bias is added.
        weight_init, bias_init: initializers; by default uniform within 1 / sqrt(in1_features).
        dtype: of the Parameters.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Bilinear.html

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Bilinear(3, 4, 5)(ms.ops.ones((2, 3)), ms.ops.ones((2, 4))).shape
        (2, 5)
    """

    def __init__(
        self, in1_features: int, in2_features: int, out_features: int, bias: bool = True, weight_init: Any = None,
        bias_init: Any = None, dtype: Any = dtypes.float32,
    ) -> None:  # fmt: skip
        super().__init__()
        self.in1_features: int = positive_int("in1_features", in1_features)
        self.in2_features: int = positive_int("in2_features", in2_features)
        self.out_features: int = positive_int("out_features", out_features)
        start = Uniform(1.0 / math.sqrt(in1_features)) if weight_init is None else weight_init
        shape = (out_features, in1_features, in2_features)
        self.weight: Parameter = Parameter(initializer(start, shape, dtype), name="weight")
        self.bias: Parameter | None = first_bias(bias_init, out_features, in1_features, dtype) if bias else None

    def construct(self, input1: Any, input2: Any) -> Any:
        """The layer."""
        need_last("Bilinear (input1)", input1, self.in1_features, "in1_features")
        need_last("Bilinear (input2)", input2, self.in2_features, "in2_features")
        bias = None if self.bias is None else self.compute(self.bias)
        return ops.bilinear(input1, input2, self.compute(self.weight), bias)

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}"


class Identity(Cell):
    """Gives back what it gets. Arguments are those of the layer that it stands for: they mean nothing.

    Examples:
        >>> from msnb import nn
        >>> nn.Identity()(3)
        3
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def construct(self, x: Any) -> Any:
        """x."""
        return x


class Flatten(Cell):
    """Merge the axes start_dim to end_dim into one.

    Args:
        start_dim, end_dim: the first and the last axis to merge.

    Source: `mindspore.nn.Flatten`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Flatten()(ms.ops.zeros((2, 3, 4))).shape
        (2, 12)
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        need_ints("Flatten", start_dim=start_dim, end_dim=end_dim)
        self.start_dim: int = start_dim
        self.end_dim: int = end_dim

    def construct(self, x: Any) -> Any:
        """The layer."""
        n = x.ndim
        first, last = self.start_dim % max(n, 1), self.end_dim % max(n, 1)
        if first > last:
            raise ShapeError(f"Flatten({self.start_dim}, {self.end_dim}) has nothing to merge in {x._type!r}.")
        size = 1
        for d in x.shape[first : last + 1]:
            size = size * d
        return ops.reshape(x, (*x.shape[:first], size, *x.shape[last + 1 :]))

    def extend_repr(self) -> str:
        """Its axes."""
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Dropout(Cell):
    """In training: zero each element with probability p and scale the others by 1/(1-p). Else: nothing.

    Args:
        keep_prob: MindSpore 1.x: the probability to keep, 1 - p.
        p: the probability to zero, 0 <= p < 1; 0.5 unless one of the two is given.
        dtype: MindSpore's; the result has the dtype of the input.

    Both are keywords only: ``Dropout(0.9)`` keeps 90% in MindSpore and 10% in PyTorch.

    Raises:
        TypeError: a positional argument. ValueError: both, or a probability outside its range.

    Source: `mindspore.nn.Dropout`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Dropout(p=0.5)(ms.Tensor([1.0])).tolist()
        [1.0]
    """

    def __init__(
        self, *positional: Any, keep_prob: float | None = None, p: float | None = None, dtype: Any = None
    ) -> None:
        super().__init__()
        if positional:
            raise TypeError(
                f"Dropout({positional[0]!r}) is ambiguous: write Dropout(p=...) for the probability to zero, or "
                "Dropout(keep_prob=...) for the probability to keep."
            )
        if keep_prob is not None and p is not None:
            raise ValueError("Dropout takes p or keep_prob, not both.")
        self.p: float = float(1.0 - keep_prob if keep_prob is not None else 0.5 if p is None else p)
        if not 0.0 <= self.p < 1.0:
            raise ValueError(f"Dropout needs 0 <= p < 1, got p={self.p}.")

    @property
    def keep_prob(self) -> float:
        """What ``p`` leaves."""
        return 1.0 - self.p

    def construct(self, x: Any) -> Any:
        """The layer."""
        return x if not self.training or self.p == 0.0 else ops.dropout(x, p=self.p, training=True)

    def extend_repr(self) -> str:
        """Its probability."""
        return f"p={self.p}"


class _ChannelDropout(Cell):
    """In training: zero whole channels with probability ``p``, 0 to 1. It may stand in first place, for MindSpore and
    PyTorch mean the same by it."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__()
        if isinstance(p, bool) or not isinstance(p, (int, float)):
            raise ArgumentError(f"{type(self).__name__}: p is a number from 0 to 1, got {p!r}.")
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"{type(self).__name__} needs 0 <= p <= 1, got p={p}.")
        self.p: float = float(p)

    keep_prob = Dropout.keep_prob

    def construct(self, x: Any) -> Any:
        """The layer."""
        if not self.training or self.p == 0.0:
            return x
        return getattr(ops, type(self).__name__.lower())(x, p=self.p, training=True)

    def extend_repr(self) -> str:
        """Its probability."""
        return f"p={self.p}"


class Dropout1d(_ChannelDropout):
    """In training: zero whole channels of rows of samples [n, channels, length] with probability ``p``."""


class Dropout2d(_ChannelDropout):
    """In training: zero whole channels of images [n, channels, height, width] with probability ``p``."""


class Dropout3d(_ChannelDropout):
    """In training: zero whole channels of volumes [n, channels, ...] with probability ``p``."""


class Unflatten(Cell):
    """One axis as several: the way back from ``Flatten``.

    Args:
        axis: which one. unflattened_size: the sizes that it becomes.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Unflatten(1, (2, 3))(ms.ops.ones((4, 6))).shape
        (4, 2, 3)
    """

    def __init__(self, axis: int, unflattened_size: Any) -> None:
        super().__init__()
        self.axis: int = axis
        self.unflattened_size: tuple[Any, ...] = tuple(unflattened_size)

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.unflatten(x, self.axis, self.unflattened_size)


class Embedding(Cell):
    """A table of vectors, looked up by number.

    Args:
        vocab_size: rows of the table.
        embedding_size: length of a vector.
        use_one_hot: look up by a product with one-hot rows (same values; for devices without gather).
        embedding_table: first values: name, number, Initializer or Tensor; by default Normal(0.01).
        dtype: of the table.
        padding_idx: a row that starts at zero. It is trained as the others are, unlike that of ``mint.nn.Embedding``.

    Inputs: ids, integers of any shape. Outputs: [*ids.shape, embedding_size].

    Source: `mindspore.nn.Embedding`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.Embedding(10, 4)(ms.Tensor([[1, 2, 3]])).shape
        (1, 3, 4)
    """

    def __init__(
        self, vocab_size: int, embedding_size: int, use_one_hot: bool = False, embedding_table: Any = "normal",
        dtype: Any = dtypes.float32, padding_idx: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.vocab_size: int = positive_int("vocab_size", vocab_size)
        self.embedding_size: int = positive_int("embedding_size", embedding_size)
        self.use_one_hot: bool = bool(use_one_hot)
        self.padding_idx: int | None = padding_idx
        init = Normal() if embedding_table is None else embedding_table
        table = initializer(init, (vocab_size, embedding_size), dtype)
        if padding_idx is not None:
            if not 0 <= padding_idx < vocab_size:
                raise ValueError(f"padding_idx {padding_idx} is not a row of a table of {vocab_size} rows.")
            table = _with_zero_row(table, padding_idx)
        self.embedding_table: Parameter = Parameter(table, name="embedding_table")
        self.dtype: dtypes.DType = self.embedding_table.dtype

    def construct(self, ids: Any) -> Any:
        """The layer."""
        table = self.compute(self.embedding_table)
        if self.use_one_hot:
            return ops.matmul(ops.cast(ops.one_hot(ids, self.vocab_size), table.dtype), table)
        return ops.embedding(ids, table)

    def extend_repr(self) -> str:
        """Its sizes."""
        return f"vocab_size={self.vocab_size}, embedding_size={self.embedding_size}, padding_idx={self.padding_idx}"


def _with_zero_row(table: Tensor, row: int) -> Tensor:
    values = table._host()
    values[row] = 0
    return Tensor(values)
