"""Methods that write: ``p.add_(g)`` gives the Parameter p the value of ``p.add(g)``, in p's own dtype.

Parameters alone have them. A slice of a tensor is a value of its own here, never a view, so ``x[0].add_(1)`` would
write into something that no name refers to; ``x[0] += 1`` says the same and works.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb.core.parameter import Parameter
from msnb.core.tensor import Tensor
from msnb.ops.elementwise.identity_and_effects import assign
from msnb.ops.random import draws
from msnb.ops.tensor import functions, operators, subscripts

BOUND_BEFORE = (functions, subscripts, operators)
_METHODS = (
    "abs", "add", "addcdiv", "addcmul", "ceil", "clamp", "clip", "cos", "div", "erf", "exp", "floor", "index_add",
    "index_copy", "index_fill", "lerp", "log", "masked_fill", "mul", "nan_to_num", "neg", "pow", "reciprocal", "relu",
    "round", "rsqrt", "scatter", "scatter_add", "sigmoid", "sign", "sin", "sqrt", "square", "sub", "tanh", "tril",
    "triu", "trunc",
)  # fmt: skip


def _writing(name: str) -> Callable[..., Parameter]:
    compute = getattr(Tensor, name)

    def method(self: Parameter, *args: Any, **options: Any) -> Parameter:
        assign(self, compute(self, *args, **options))
        return self

    method.__name__, method.__qualname__ = f"{name}_", f"Parameter.{name}_"
    method.__doc__ = f"Take the value of ``{name}(...)``; returns the Parameter."
    return method


def _takes(self: Parameter, value: Any) -> Parameter:
    """Take a value that broadcasts to the shape; returns the Parameter."""
    assign(self, value)
    return self


def _zeroed(self: Parameter) -> Parameter:
    """Become zero; returns the Parameter."""
    return _takes(self, 0)


def _drawn_normal(self: Parameter, mean: float = 0.0, std: float = 1.0) -> Parameter:
    """Become normal numbers; returns the Parameter."""
    return _takes(self, draws.normal(self.shape, mean, std, dtype=self.dtype))


def _drawn_uniform(self: Parameter, low: float = 0.0, high: float = 1.0) -> Parameter:
    """Become uniform numbers in [low, high); returns the Parameter."""
    return _takes(self, draws.uniform(self.shape, low, high, dtype=self.dtype))


_NAMED = {
    "copy_": _takes, "fill_": _takes, "zero_": _zeroed, "normal_": _drawn_normal, "uniform_": _drawn_uniform,
}  # fmt: skip


def bind() -> None:
    """Give Parameter its methods."""
    for name in _METHODS:
        setattr(Parameter, f"{name}_", _writing(name))
    for name, method in _NAMED.items():
        setattr(Parameter, name, operators.named(name, method, "Parameter"))


bind()
