"""Functions over lists of tensors, as MindSpore's training loops write them (clipping every gradient, say).

HyperMap()(clip, grads)             ->  tuple(clip(g) for g in grads), into nested tuples too
HyperMap()(add, grads, more)        ->  element by element
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

from msnb.base import ArgumentError
from msnb.core import DType, Parameter, Tensor, slot
from msnb.ops.elementwise.identity_and_effects import identity

partial = functools.partial


class Partial:
    """``Partial()(fn, *args, **kwargs)``: the function with its first arguments, or some by name, given.

    Source: `mindspore.ops.Partial`

    Examples:
        >>> Partial()(max, 3)(1)
        3
    """

    def __call__(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A function of the arguments that are left."""
        if not callable(fn):
            raise ArgumentError(f"Partial takes a function and its first arguments, got {fn!r}.")
        return partial(fn, *args, **kwargs)


class HyperMap:
    """Calls a function for every element of nested lists or tuples.

    Args:
        ops: the function; or it is the first argument of the call.
        reverse: the last elements come first; the result has the order of the lists.

    Source: `mindspore.ops.HyperMap`

    Examples:
        >>> HyperMap()(lambda a, b: a + b, (1, (2, 3)), (10, (20, 30)))
        (11, (22, 33))
    """

    nested = True

    def __init__(self, ops: Callable[..., Any] | None = None, reverse: bool = False) -> None:
        self._fn, self._step = ops, -1 if reverse else 1

    def __call__(self, *args: Any) -> Any:
        fn, rows = (self._fn, args) if self._fn is not None else (args[0], args[1:])
        if not rows or not callable(fn):
            raise ArgumentError(f"{type(self).__name__} takes a function and at least one list or tuple.")
        # the user's function is captured like any other
        return self._over(slot.engine.convert(fn), rows, True)

    def _over(self, fn: Callable[..., Any], rows: tuple[Any, ...], top: bool) -> Any:
        if not (top or self.nested) or not isinstance(rows[0], (list, tuple)):
            return fn(*rows)
        if any(not isinstance(row, (list, tuple)) or len(row) != len(rows[0]) for row in rows):
            raise ArgumentError(f"{type(self).__name__}: the lists differ in length or nesting.")
        # lists stay lists and tuples tuples, as in MindSpore
        found = [self._over(fn, parts, False) for parts in [*zip(*rows)][:: self._step]][:: self._step]
        return found if isinstance(rows[0], list) else tuple(found)


class Map(HyperMap):
    """Calls a function for every element of lists or tuples, on their first level only.

    Source: `mindspore.ops.Map`
    """

    nested = False


_KINDS: dict[str, Any] = {
    **dict.fromkeys(("Tensor", "TensorType"), Tensor), "Number": (int, float, complex), "Bool": bool, "String": str,
    "Tuple": tuple, "List": list, "Function": Callable, "Dict": dict, "TypeType": DType,
    **dict.fromkeys(("None", "NoneType"), type(None)),
    **dict.fromkeys(("Int", "Int32", "Int64"), int), **dict.fromkeys(("Float", "Float32", "Float64"), float),
}  # fmt: skip
_SPARSE = {
    "COOTensor": "msnb.ops.sparse.coordinates", "CSRTensor": "msnb.ops.sparse.compressed_rows",
    "RowTensor": "msnb.ops.sparse.row_tensor",
}  # fmt: skip


def _kind(graph: str, kind: str | DType | type) -> Any:
    """The classes of Python that a kind stands for: a word of MindSpore, or the dtype of a number."""
    name = kind.__name__ if isinstance(kind, type) else str(kind)
    if name in _SPARSE:
        return getattr(importlib.import_module(_SPARSE[name]), name)
    if name not in _KINDS:
        raise ArgumentError(f"{graph} has no kind {name!r}; legal: {', '.join((*_KINDS, *_SPARSE))}.")
    return _KINDS[name]


class MultitypeFuncGraph:
    """One name for several functions, chosen by the kinds of the arguments.

    Args:
        name: for messages.
        read_value: the functions get the values of Parameters, which they then cannot assign.

    Source: `mindspore.ops.MultitypeFuncGraph`

    Examples:
        >>> double = MultitypeFuncGraph("double")
        >>> @double.register("Number")
        ... def _double_number(x):
        ...     return 2 * x
        >>> double(3)
        6
    """

    def __init__(self, name: str, read_value: bool = False) -> None:
        self.name: str = name
        self.read_value: bool = bool(read_value)
        self._entries: list[tuple[tuple[str, ...], tuple[Any, ...], Callable[..., Any]]] = []

    def register(self, *kinds: str | DType | type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorates the function for these kinds: "Tensor", "Number", "Bool", "String", "Tuple", "List",
        "RowTensor" ..., or the dtype of a number.

        Raises:
            TypeError: an unknown kind.
        """
        classes = tuple(_kind(self.name, kind) for kind in kinds)

        def keep(fn: Callable[..., Any]) -> Callable[..., Any]:
            self._entries.append((tuple(map(str, kinds)), classes, fn))
            return fn

        return keep

    def __call__(self, *args: Any) -> Any:
        for _, classes, fn in self._entries:
            if self.read_value:
                args = tuple(identity(a) if isinstance(a, Parameter) else a for a in args)
            if len(classes) == len(args) and all(map(isinstance, args, classes)):
                return slot.engine.convert(fn)(*args)
        given = ", ".join(type(a).__name__ for a in args)
        raise ArgumentError(
            f"{self.name} has no function for ({given}).",
            operands=[f"registered: ({', '.join(kinds)})" for kinds, _, _ in self._entries],
        )
