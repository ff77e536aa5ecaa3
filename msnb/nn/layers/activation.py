"""Activations as Cells: each calls the op of its name.

    nn.ReLU()(x) == ops.relu(x)          get_activation("relu") -> ReLU()

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.nn.html (nonlinear activations)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Parameter, Tensor, dtypes
from msnb.nn.cells import Cell, like_mindspore
from msnb.nn.initializer import initializer
from msnb.ops.definition.keyword_aliases import worded

__all__ = [
    "CELU", "ELU", "FastGelu", "GELU", "GLU", "HShrink", "HSigmoid", "HSwish", "Hardtanh", "LeakyReLU", "LogSigmoid",
    "LogSoftmax", "Mish", "PReLU", "RReLU", "ReLU", "ReLU6", "SeLU", "SiLU", "Sigmoid", "SoftShrink", "Softmax",
    "Softmax2d", "Softmin", "Softplus", "Softsign", "Tanh", "Tanhshrink", "Threshold", "get_activation",
]  # fmt: skip


def _plain(name: str, op: str, doc: str) -> type[Cell]:
    """A Cell without arguments around ``ops.<op>``."""

    def construct(self: Cell, x: Any) -> Any:
        return getattr(ops, op)(x)

    construct.__doc__ = doc
    return type(name, (Cell,), {"construct": construct, "__doc__": doc, "__module__": __name__})


ReLU: type[Cell] = _plain("ReLU", "relu", "max(x, 0).")
ReLU6: type[Cell] = _plain("ReLU6", "relu6", "min(max(x, 0), 6).")
Sigmoid: type[Cell] = _plain("Sigmoid", "sigmoid", "1 / (1 + exp(-x)).")
LogSigmoid: type[Cell] = _plain("LogSigmoid", "logsigmoid", "log(sigmoid(x)).")
Tanh: type[Cell] = _plain("Tanh", "tanh", "tanh(x).")
SiLU: type[Cell] = _plain("SiLU", "silu", "x * sigmoid(x).")
Mish: type[Cell] = _plain("Mish", "mish", "x * tanh(softplus(x)).")
HSigmoid: type[Cell] = _plain("HSigmoid", "hardsigmoid", "min(max(x/6 + 1/2, 0), 1).")
HSwish: type[Cell] = _plain("HSwish", "hardswish", "x * hardsigmoid(x).")
Softsign: type[Cell] = _plain("Softsign", "softsign", "x / (1 + |x|).")
SeLU: type[Cell] = _plain("SeLU", "selu", "Scaled ELU: keeps mean 0 and variance 1.")
Tanhshrink: type[Cell] = _plain("Tanhshrink", "tanhshrink", "x - tanh(x).")


class GELU(Cell):
    """x * Phi(x), Phi the normal distribution; ``approximate``: by tanh.

    Examples:
        >>> import msnb as ms
        >>> ms.nn.GELU()(ms.Tensor([0.0])).tolist()
        [0.0]
    """

    def __init__(self, approximate: bool = True) -> None:
        super().__init__()
        self.approximate = approximate

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.gelu(x, approximate="tanh" if self.approximate else "none")


class LeakyReLU(Cell):
    """x where positive, alpha * x elsewhere."""

    def __init__(self, alpha: float = 0.2) -> None:
        super().__init__()
        self.alpha = alpha

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.leaky_relu(x, self.alpha)


class _OfAlpha(Cell):
    def __init__(self, alpha: float = 1.0) -> None:
        super().__init__()
        self.alpha = alpha


class ELU(_OfAlpha):
    """x where positive, alpha * (exp(x) - 1) elsewhere."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.elu(x, self.alpha)


class CELU(_OfAlpha):
    """max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.celu(x, self.alpha)


class PReLU(Cell):
    """x where positive, weight * x elsewhere; the weight is trained.

    Args:
        channel: 1 (one weight) or the number of channels (axis 1 of x).
        w: first value.
    """

    _name_in_mindspore = "w"

    def __init__(self, channel: int = 1, w: Any = 0.25) -> None:
        super().__init__()
        first = w if isinstance(w, Tensor) else initializer(w, (channel,), dtypes.float32)
        self._held = self._name_in_mindspore if like_mindspore() else "weight"
        setattr(self, self._held, Parameter(first, name="a" if self._held == "w" else "weight"))

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.prelu(x, self.compute(getattr(self, self._held)))


class Softplus(Cell):
    """log(1 + exp(beta x)) / beta; x itself where ``beta x`` is above ``threshold``."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta: float = beta
        self.threshold: float = threshold

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.softplus(x, self.beta, self.threshold)


class Hardtanh(Cell):
    """x between ``min_val`` and ``max_val``."""

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0) -> None:
        super().__init__()
        if min_val > max_val:
            raise AttributeValueError(f"Hardtanh: min_val={min_val} is above max_val={max_val}.")
        self.min_val: float = min_val
        self.max_val: float = max_val

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.hardtanh(x, self.min_val, self.max_val)


class _Shrink(Cell):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extend_repr(self) -> str:
        """Its threshold."""
        return f"lambd={self.lambd}"


class HShrink(_Shrink):
    """x where it is further than ``lambd`` from 0, else 0."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.hardshrink(x, self.lambd)


class SoftShrink(_Shrink):
    """x moved towards 0 by ``lambd``, and 0 where that would change the sign."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.softshrink(x, self.lambd)


class Threshold(Cell):
    """x where it is above ``threshold``, ``value`` elsewhere."""

    def __init__(self, threshold: float, value: float) -> None:
        super().__init__()
        self.threshold: float = threshold
        self.value: float = value

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.threshold(x, self.threshold, self.value)


class _WithAxis(Cell):
    """What layers along an axis share."""

    @worded
    def __init__(self, axis: int = -1) -> None:
        super().__init__()
        self.axis = axis


class GLU(_WithAxis):
    """a * sigmoid(b), a and b the halves of x along ``axis``."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.glu(x, self.axis)


class AlongAxis(_WithAxis):
    """Layers along an axis that show it."""

    def extend_repr(self) -> str:
        """Its axis."""
        return f"axis={self.axis}"


class Softmax(AlongAxis):
    """exp(x) / sum(exp(x)) along ``axis``."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.softmax(x, axis=self.axis)


class Softmax2d(Cell):
    """Softmax over the channels of images [n, channels, height, width] or [channels, height, width]."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.softmax(x, axis=-3)


class Softmin(Softmax):
    """exp(-x) / sum(exp(-x)) along ``axis``."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.softmin(x, axis=self.axis)


class LogSoftmax(AlongAxis):
    """log(softmax(x)) along ``axis``."""

    def construct(self, x: Any) -> Any:
        """The layer."""
        return ops.log_softmax(x, axis=self.axis)


class FastGelu(Cell):
    """x sigmoid(1.702 x), an approximation of ``gelu``.

    Source: `mindspore.nn.FastGelu`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.FastGelu()(ms.Tensor([0.0, 10.0])).tolist()
        [0.0, 10.0]
    """

    def construct(self, x: Any) -> Any:
        """The activation."""
        return x * ops.sigmoid(1.702 * x)


class RReLU(Cell):
    """x where it is positive, else x times a slope that is drawn for each element, in training and after it.

    Args:
        lower, upper: the slopes lie between.

    Raises:
        ValueError: ``lower`` is above ``upper``. TypeError: one of them is no number.

    Source: `mindspore.nn.RReLU`

    Examples:
        >>> import msnb as ms
        >>> ms.nn.RReLU(0.5, 0.5)(ms.Tensor([-2.0, 3.0])).tolist()
        [-1.0, 3.0]
    """

    def __init__(self, lower: float = 1 / 8, upper: float = 1 / 3) -> None:
        super().__init__()
        for name, value in {"lower": lower, "upper": upper}.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ArgumentError(f"RReLU: {name} must be a number, got {value!r}.")
        if lower > upper:
            raise AttributeValueError(f"RReLU: lower must be at most upper, got {lower} and {upper}.")
        self.lower: float = float(lower)
        self.upper: float = float(upper)

    def construct(self, x: Any) -> Any:
        """The activation."""
        return ops.where(x > 0, x, x * (self.lower + (self.upper - self.lower) * ops.rand_like(x)))


_BY_NAME: dict[str, Callable[[], Cell]] = {
    "relu": ReLU, "relu6": ReLU6, "sigmoid": Sigmoid, "logsigmoid": LogSigmoid, "tanh": Tanh, "silu": SiLU,
    "gelu": GELU, "mish": Mish, "hsigmoid": HSigmoid, "hswish": HSwish, "softsign": Softsign, "selu": SeLU,
    "leakyrelu": LeakyReLU, "elu": ELU, "celu": CELU, "prelu": PReLU, "softplus": Softplus, "softmax": Softmax,
    "logsoftmax": LogSoftmax, "hardtanh": Hardtanh, "softmin": Softmin, "tanhshrink": Tanhshrink, "glu": GLU,
    "hshrink": HShrink, "softshrink": SoftShrink, "fast_gelu": FastGelu, "rrelu": RReLU, "softmax2d": Softmax2d,
}  # fmt: skip


def get_activation(name: Any) -> Any:
    """The activation that a name means; Cells, functions and None are given back.

    Raises:
        ValueError: there is no such name. TypeError: not a name, a Cell or a function.

    Examples:
        >>> from msnb import nn
        >>> nn.get_activation("relu")
        ReLU()
    """
    if name is None or callable(name):
        return name() if isinstance(name, type) else name
    if not isinstance(name, str):
        raise TypeError(f"an activation is a name, a Cell or a function, not {type(name).__name__}.")
    if name.lower() not in _BY_NAME:
        raise AttributeValueError(f"there is no activation {name!r}; legal: {', '.join(sorted(_BY_NAME))}.")
    return _BY_NAME[name.lower()]()
