"""Sizes of arguments that are symbols: which axes of which Tensors, and what Python code gets to see of them.

f(x: f32[24,8]) captured with axis 0 of x as s1:      the graph says f32[s1,8], and (8*s1) where both axes are one
Python code reads x.shape                             (a lazy number, 8): 24 now, x.shape[0] at every call
    x.reshape(n, -1)      a size again: symbolic      n * 2 + 1    a lazy number
    if n > 16:            the answer is guarded       range(n)     fixed by a guard: others are captured anew
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msnb.base.errors import ConcretizationError
from msnb.core import Dim, Size, Tensor, TensorType, tensor_type
from msnb.graph.capture.values import sources as paths
from msnb.graph.capture.values.lazy_values import LazyScalar
from msnb.graph.capture.values.sources import Source
from msnb.ops.definition.symbolic_sizes import product, value_of

Axis = tuple[Any, int]
"""A Tensor by the ident of its path, and the number of an axis."""


@dataclass
class SizeSymbols:
    """The symbolic sizes of one capture.

    Attributes:
        axes: the symbol of each axis that has one.
        values: what the symbols are now; places: where each one is read.
        tensors: the Tensors with a symbol among their sizes: path and type as the program knows it.
        unequal: sizes of which Python code was told that they differ; paths: of all outside objects.
    """

    axes: Mapping[Axis, Dim] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    places: dict[str, Source] = field(default_factory=dict)
    tensors: dict[Any, tuple[Source, TensorType]] = field(default_factory=dict)
    unequal: list[tuple[Dim, Size]] = field(default_factory=list)
    paths: list[Source] = field(default_factory=list)

    def type_of(self, value: Tensor, source: Source) -> TensorType:
        """The type of an outside Tensor, with symbols where it has some."""
        t = value._type
        if not self.axes:
            return t
        shape = tuple(self.axes.get((source.ident, k), d) for k, d in enumerate(t.shape))
        if not any(isinstance(d, Dim) for d in shape):
            return t
        for k, (d, size) in enumerate(zip(shape, t.ints())):
            if isinstance(d, Dim):
                self.values[d.symbol] = size
                self.places.setdefault(d.symbol, paths.item(paths.attr(source, "shape"), k))
        made = tensor_type(shape, t.dtype, t.weak)
        self.tensors[source.ident] = source, made
        return made

    def read(self, x: Tensor, name: str, session: Any) -> Any:
        """What Python code reads as the shape or the size of a tensor: symbolic sizes are numbers of the host."""
        if x._type.is_static:
            return getattr(x, name)
        shape = tuple(self.number(d, session) for d in x.shape)
        return shape if name == "shape" else self.number(product(x.shape), session)

    def number(self, size: Size, session: Any) -> Any:
        """A symbolic size as a number of the host."""
        value = value_of(size, self.values)
        if isinstance(size, int) or isinstance(value, Dim):
            return size  # known, or known to the data only
        if size.symbol in self.places:
            return LazyScalar(value, self.places[size.symbol], session, size)
        names = tuple(self.places)
        source = paths.called(SizeExpression(size, names), tuple(self.places.values()))
        return LazyScalar(value, source, session, size)


class SizeExpression:
    """A size as a function of the symbols' values."""

    def __init__(self, size: Dim, names: tuple[str, ...]) -> None:
        self.size: Dim = size
        self.names: tuple[str, ...] = names
        self.__name__ = "size"

    def __call__(self, *values: int) -> int:
        found = value_of(self.size, dict(zip(self.names, values)))
        if isinstance(found, Dim):
            raise ConcretizationError(f"the size {found} is not known.")
        return found
