"""Methods that write: ``x.add_(y)`` gives x the value of ``x.add(y)``, in x's own shape and dtype.

p.add_(g)       of a Parameter: ``ops.assign(p, p.add(g))``
x.add_(y)       of a Tensor: ``x[...] = x.add(y)``, so the object x stands for the new value from here on
x[0].add_(1)    a slice is a value of its own, never a view; only this call has it, so it goes back (temporary_writes)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from msnb.base import AttributeValueError, DTypeError, ShapeError
from msnb.core import Parameter, Tensor, dtypes, temporary_writes
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.identity_and_effects import assign
from msnb.ops.elementwise.transcendental import log1p
from msnb.ops.indexing.scatter import combine
from msnb.ops.random import draws
from msnb.ops.shape.views import broadcast_to, reshape
from msnb.ops.tensor import functions, operators, subscripts

BOUND_BEFORE = (functions, subscripts, operators)
_METHODS = (
    "abs", "add", "addcdiv", "addcmul", "addmm", "addr", "ceil", "clamp", "clip", "cos", "div", "erf", "erfinv", "exp",
    "fill_diagonal", "floor", "floor_divide", "index_add", "index_copy", "index_fill", "index_put", "lerp", "log",
    "masked_fill", "masked_scatter", "mul", "nan_to_num", "neg", "pow", "reciprocal", "relu", "remainder", "round",
    "rsqrt", "scatter", "scatter_add", "sigmoid", "sign", "sin", "sqrt", "square", "sub", "tanh", "tril", "triu",
    "trunc",
)  # fmt: skip


def _writing(name: str) -> Callable[..., Parameter]:
    compute = getattr(Tensor, name)

    def method(self: Parameter, *args: Any, **options: Any) -> Parameter:
        assign(self, compute(self, *args, **options))
        return self

    method.__name__, method.__qualname__ = f"{name}_", f"Parameter.{name}_"
    method.__doc__ = f"Become ``{name}(...)``."
    return method


def _takes(self: Any, value: Any) -> Any:
    """Take a value that broadcasts to the shape; returns the tensor."""
    if isinstance(self, Parameter):
        assign(self, value)
    else:
        self[...] = value
    return self


def _copied(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Take the values of another tensor, at once in any case; returns the tensor."""
    return _takes(self, src)


def _zeroed(self: Any) -> Any:
    """Become zero; returns the tensor."""
    return _takes(self, 0)


def _drawn_normal(self: Any, mean: float = 0.0, std: float = 1.0, *, generator: Any = None) -> Any:
    """Become normal numbers; returns the tensor."""
    return _takes(self, draws.randn(self.shape, dtype=self.dtype, generator=generator) * std + mean)


def _drawn_uniform(self: Any, from_: Any = 0.0, to: Any = 1.0, *, generator: Any = None) -> Any:
    """Become uniform numbers in [from_, to); returns the tensor."""
    if generator is None:
        return _takes(self, draws.uniform(self.shape, from_, to, dtype=self.dtype))
    return _takes(self, draws.rand(self.shape, dtype=self.dtype, generator=generator) * (to - from_) + from_)


def _drawn_bernoulli(self: Any, p: Any = 0.5, *, generator: Any = None) -> Any:
    """Become 1 with probability ``p`` (a number, or one for every element), else 0; returns the tensor."""
    chance = broadcast_to(cast(p, dtypes.float32), self.shape)
    return _takes(self, cast(draws.bernoulli(chance, generator=generator), self.dtype))


def _drawn_exponential(self: Any, lambd: float = 1.0, *, generator: Any = None) -> Any:
    """Become exponential numbers of the rate ``lambd``; returns the tensor."""
    if not lambd > 0:
        raise AttributeValueError(f"exponential_: lambd must be above 0, got {lambd!r}.")
    drawn = draws.rand(self.shape, dtype=self.dtype, generator=generator)
    return _takes(self, -log1p(-drawn) / lambd)


def _drawn_whole(self: Any, from_: int = 0, to: int | None = None, *, generator: Any = None) -> Any:
    """Become whole numbers from ``from_`` to ``to`` - 1, by default as far as the dtype goes; returns the tensor."""
    limits: Any = np.iinfo if self.dtype.is_int else ml_dtypes.finfo
    found = limits(self.dtype.numpy)
    most = min(int(found.max), 2**63 - 2) if self.dtype.is_int else 2 ** (int(found.nmant) + 1)
    drawn = draws.randint(from_, most + 1 if to is None else to, self.shape, generator=generator)
    return _takes(self, cast(drawn, self.dtype))


def _put(self: Any, index: Any, source: Any, accumulate: bool = False) -> Any:
    """Take the elements of ``source`` at places of the flat tensor (or, with ``accumulate``, add them there)."""
    if index.size != source.size:
        told = f"put_: index and source have as many elements, got {index.size} and {source.size}."
        raise ShapeError(told)
    at, values = reshape(index, (-1,)), reshape(source, (-1,))
    flat = combine(reshape(self, (-1,)), (at,), ("t",), values, "add" if accumulate else "update")
    return _takes(self, reshape(flat, self.shape))


def _of_tensor(name: str, compute: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a plain Tensor: what ``x[...] = value`` does. A part that only the call has goes back."""

    def method(self: Any, *args: Any, **options: Any) -> Tensor:
        alone = temporary_writes.part_of(self) is not None and temporary_writes.count(self) <= temporary_writes.IN_CALL
        back = temporary_writes.home(self) if alone else ()
        value = compute(self, *args, **options)
        if value is not self:
            if value.dtype.category > self.dtype.category:
                way = f"x = x.{name}(...) gives another tensor, of {value.dtype!r}."
                raise DTypeError(f"{name}_: a tensor of {self.dtype!r} cannot hold {value.dtype!r} values.", hint=way)
            self[...] = value
        if back:
            temporary_writes.put_back(self, back, subscripts.setitem)
        return self  # type: ignore[no-any-return]

    method.__name__, method.__qualname__ = f"{name}_", f"Tensor.{name}_"
    method.__doc__ = f"Become ``{name}(...)``."
    return method


_NAMED: dict[str, Callable[..., Any]] = {
    "copy_": _copied, "fill_": _takes, "zero_": _zeroed, "normal_": _drawn_normal, "uniform_": _drawn_uniform,
    "bernoulli_": _drawn_bernoulli, "exponential_": _drawn_exponential, "random_": _drawn_whole, "put_": _put,
}  # fmt: skip


def bind() -> None:
    """Give Parameter and Tensor their methods."""
    for name in _METHODS:
        setattr(Parameter, f"{name}_", _writing(name))
        setattr(Tensor, f"{name}_", _of_tensor(name, getattr(Tensor, name)))
    for name, method in _NAMED.items():
        setattr(Parameter, name, operators.named(name, method, "Parameter"))
        setattr(Tensor, name, _of_tensor(name[:-1], method))


bind()
