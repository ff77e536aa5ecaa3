"""The words of other frameworks for the same argument.

    MindSpore, here     PyTorch             NumPy
    axis                dim, dims
    keepdims            keepdim             keepdims        (older MindSpore: keep_dims)
    axis1, axis2        dim1, dim2
    ddof                unbiased, correction
    learning_rate       lr
    has_bias, group     bias, groups        (layers)
    epsilon             eps

``worded`` lets a function take all of them; positional calls pay one Python call for it. What PyTorch returns as a pair
with names, ``values`` and ``indices``, is a ``ValuesAndIndices`` here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from msnb.base.errors import ArgumentError

_Fn = TypeVar("_Fn", bound=Callable[..., Any])
_WORDS = {
    "dim": ("axis",), "dims": ("axis", "axes"), "keepdim": ("keepdims",), "keep_dims": ("keepdims",),
    "dim1": ("axis1",), "dim2": ("axis2",), "unbiased": ("ddof",), "correction": ("ddof",), "p": ("ord",),
    "lr": ("learning_rate",), "bias": ("has_bias",), "groups": ("group",), "eps": ("epsilon",),
}  # fmt: skip


class ValuesAndIndices(NamedTuple):
    """Values in an order, and where they stood: a pair, and no tensor. Computing with it raises."""

    values: Any
    indices: Any

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"{_PAIR} It has no {name!r}.")

    def __msnb_tensor__(self) -> Any:
        raise no_tensor()

    def __mul__(self, other: Any) -> Any:
        raise no_tensor()

    def __rmul__(self, other: Any) -> Any:
        raise no_tensor()


def no_tensor() -> ArgumentError:
    """The error for a ``ValuesAndIndices`` where a tensor belongs."""
    return ArgumentError(_PAIR, hint=_WAY)


_PAIR = "max, min, median, sort and topk along an axis give two tensors, (values, indices)."
_WAY = "take .values, or write values, indices = x.max(1); x.amax(1) and x.max(axis=1) give the values alone."


def worded(fn: _Fn) -> _Fn:
    """``fn`` with PyTorch's keywords for the arguments that it has; TypeError for one argument by two names."""
    called = fn.__name__ if fn.__name__ != "__init__" else fn.__qualname__.partition(".")[0]
    own = [p.name for p in inspect.signature(fn).parameters.values() if p.kind is not p.VAR_POSITIONAL]
    words = {word: name for word, names in _WORDS.items() if word not in own for name in names if name in own}

    def in_own_words(given: dict[str, Any]) -> dict[str, Any]:
        named = {words.get(word, word): value for word, value in given.items()}
        if len(named) < len(given):
            said = ", ".join(word for word in given if word in words or word in words.values())
            raise ArgumentError(f"{called} takes an argument by one name, got {said}.")
        return named

    @functools.wraps(fn)
    def call(*args: Any, **given: Any) -> Any:
        if given:
            given = in_own_words(given)
        return fn(*args, **given)

    return call  # type: ignore[return-value]
