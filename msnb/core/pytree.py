"""Trees of values: tuples, lists, dicts, named tuples and dataclasses with tensors at the leaves.

    flatten(({"a": x}, [y, 3]))  ->  [x, y, 3], shape        unflatten(shape, [x2, y2, 4])  ->  ({"a": x2}, [y2, 4])

A ``Shape`` compares by value, so it can be a key.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any


@dataclasses.dataclass(frozen=True)
class Shape:
    """The structure of a tree: the container's type, its keys, and the shapes of its parts. A leaf has kind None."""

    kind: Any
    keys: tuple[Any, ...] = ()
    parts: tuple[Shape, ...] = ()

    @property
    def leaves(self) -> int:
        """How many leaves a tree of this shape has."""
        return 1 if self.kind is None else sum(part.leaves for part in self.parts)


LEAF = Shape(None)


def children(tree: Any) -> tuple[tuple[Any, ...], list[Any]] | None:
    """Keys and parts of a container, or None for a leaf."""
    if isinstance(tree, dict):
        return tuple(tree), list(tree.values())
    if isinstance(tree, (tuple, list)):
        return (), list(tree)
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = tuple(f.name for f in dataclasses.fields(tree))
        return names, [getattr(tree, n) for n in names]
    return None


def flatten(tree: Any) -> tuple[list[Any], Shape]:
    """The leaves from left to right, and the shape."""
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree: Any, leaves: list[Any]) -> Shape:
    found = children(tree)
    if found is None:
        leaves.append(tree)
        return LEAF
    keys, parts = found
    return Shape(type(tree), keys, tuple(_flatten(part, leaves) for part in parts))


def constants(tree: Any) -> list[bool]:
    """For every leaf, whether it is a constant of its container: a dataclass names such fields in ``CONSTANTS``, as the
    places of a sparse tensor are. They are no numbers that a gradient could be taken by."""
    found = children(tree)
    if found is None:
        return [False]
    keys, parts = found
    held = getattr(type(tree), "CONSTANTS", ())
    inner = [constants(part) for part in parts]
    return [flag or (bool(keys) and keys[i] in held) for i, flags in enumerate(inner) for flag in flags]


def unflatten(shape: Shape, leaves: Sequence[Any]) -> Any:
    """The tree of this shape with these leaves."""
    return _unflatten(shape, iter(leaves))


def _unflatten(shape: Shape, rest: Any) -> Any:
    if shape.kind is None:
        return next(rest)
    return rebuild(shape.kind, shape.keys, [_unflatten(part, rest) for part in shape.parts])


def rebuild(kind: Any, keys: tuple[Any, ...], parts: list[Any]) -> Any:
    """A container of this kind from its parts."""
    if issubclass(kind, dict):
        made = kind() if kind is not dict else {}
        (OrderedDict if issubclass(kind, OrderedDict) else dict).update(made, zip(keys, parts))  # a Counter's counts
        return made
    if hasattr(kind, "_fields"):
        return kind(*parts)
    if issubclass(kind, (tuple, list)):
        return kind(parts)
    made = object.__new__(kind)
    for name, part in zip(keys, parts):
        object.__setattr__(made, name, part)
    return made


def as_tuple(value: Any) -> tuple[Any, ...]:
    """A tuple of what may be one thing."""
    return tuple(value) if isinstance(value, (tuple, list)) else (value,)
