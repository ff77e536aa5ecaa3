"""The words of other frameworks for the same argument.

    MindSpore, here     PyTorch             NumPy
    axis                dim, dims
    keepdims            keepdim             keepdims        (older MindSpore: keep_dims)
    axis1, axis2        dim1, dim2
    ddof                unbiased, correction
    learning_rate       lr
    has_bias, group     bias, groups        (layers)
    epsilon             eps
    x, y                input, other        x1, x2; a, b
    xs                  tensors             tup, arrays

``worded`` lets a function take all of them; positional calls pay one Python call for it. What PyTorch returns as a pair
with names, ``values`` and ``indices``, is a ``ValuesAndIndices`` here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Container, Mapping
from typing import Any, NamedTuple, TypeVar

from msnb.base import ArgumentError

_Fn = TypeVar("_Fn", bound=Callable[..., Any])
_WORDS = {
    "dim": ("axis",), "dims": ("axis", "axes", "perm"), "axes": ("perm",), "axis": ("perm",), "reps": ("dims",),
    "size": ("shape",), "new_shape": ("shape",), "dense_shape": ("shape",), "pad": ("padding",),
    "split_size": ("split_size_or_sections",), "tensor2": ("other",),
    "keepdim": ("keepdims",), "keep_dims": ("keepdims",),
    "dim1": ("axis1",), "dim2": ("axis2",), "unbiased": ("ddof",), "correction": ("ddof",), "p": ("ord",),
    "lr": ("learning_rate",), "bias": ("has_bias",), "groups": ("group",), "eps": ("epsilon",),
    "epsilon": ("eps",), "use_lock": ("use_locking",),
    "dim0": ("axis0",), "axis0": ("dim0",), "axis1": ("dim1",), "axis2": ("dim2",),
    # operands: the first of these names that a function has
    "input": ("c", "x", "logits", "ids", "weights", "x1", "input_x", "A"), "other": ("y", "x2"),
    "input_x": ("x",), "input_y": ("y",), "x": ("input", "input_x", "xs"), "y": ("other",),
    "x1": ("x",), "x2": ("y", "other", "exponent"), "a": ("x", "input_x"), "b": ("y",), "A": ("x", "b"),
    **dict.fromkeys(("tensor", "obj", "array", "arr", "m", "mat", "mat1", "batch1", "dividend"), ("x",)),
    **dict.fromkeys(("mat2", "vec2", "batch2", "exponent", "divisor"), ("y", "other")),
    "vec": ("v",), "input2": ("tau",), "input3": ("other",),
    **dict.fromkeys(("tensors", "tup", "arrays"), ("xs",)), "inputs": ("xs", "input"),
    "indices": ("index",), "input_params": ("x",), "input_indices": ("index", "indices"),
    "target": ("label", "labels"), "labels": ("target", "label"), "label": ("labels", "target"),
    # of MindSpore's operators
    "real": ("re",), "imag": ("im",), "images": ("image",), "image": ("x",), "params": ("x",), "features": ("logits",),
    "prediction": ("input",), "predict": ("x",), "posWeight": ("pos_weight",), "sorted_x": ("x",), "num": ("steps",),
    "on_value": ("on",), "off_value": ("off",), "anchor_boxes": ("a",), "gt_boxes": ("b",), "stop": ("end",),
    "logits": ("input", "x"), "gamma": ("weight",), "ar1": ("element",), "ar2": ("test_elements",),
}  # fmt: skip


class ValuesAndIndices(NamedTuple):
    """Values in an order, and where they stood: a pair, and no tensor. Computing with it raises,
    where no derived class says that it ``computes``."""

    values: Any
    indices: Any

    def computes(self) -> bool:
        """Does it stand for its values where it is computed with?"""
        return False

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


def in_own_words(called: str, own: Container[str], given: Mapping[str, Any]) -> dict[str, Any]:
    """Keywords, those of other frameworks as the ones that a function has.

    Args:
        called: the function's name, for the error.
        own: the names of its arguments.
        given: keywords and their values.

    Raises:
        ArgumentError: one argument is given by two names.

    Examples:
        >>> in_own_words("add", ("x", "y"), {"input": 1, "other": 2})
        {'x': 1, 'y': 2}
    """
    words = {word: word if word in own else _own_word(word, own) for word in given}
    named = {words[word]: value for word, value in given.items()}
    if len(named) < len(given):
        said = ", ".join(word for word in given if list(words.values()).count(words[word]) > 1)
        raise ArgumentError(f"{called} takes an argument by one name, got {said}.")
    return named


def _own_word(word: str, own: Container[str]) -> str:
    return next((name for name in _WORDS.get(word, ()) if name in own), word)


def worded(fn: _Fn) -> _Fn:
    """``fn`` with the keywords of other frameworks for the arguments that it has; ArgumentError for one argument by two
    names."""
    called = fn.__name__ if fn.__name__ != "__init__" else fn.__qualname__.partition(".")[0]

    @functools.wraps(fn)
    def call(*args: Any, **given: Any) -> Any:
        if given:
            given = in_own_words(called, argument_names(fn), given)
        return fn(*args, **given)

    call.__dict__["worded"] = True
    return call  # type: ignore[return-value]


@functools.cache
def argument_names(fn: Callable[..., Any]) -> frozenset[str]:
    """The names of all arguments but ``*args`` and ``**kwargs``."""
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return frozenset(p.name for p in inspect.signature(fn).parameters.values() if p.kind not in kinds)
