"""Sizes of inputs that stay open in a program that is written to a file.

ms.Tensor(shape=[None, 784], dtype=ms.float32)     axis 0 is open
dynamic={"x": {0: "batch"}, "mask": {0: "batch"}}  open axes by input, with names; one name is one size
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, CaptureError
from msnb.core import Dim, Tensor, tensor_type
from msnb.graph.capture.size_template import LEAST, template
from msnb.graph.capture.tracing import CapturedProgram, trace
from msnb.graph.capture.values import sources as paths
from msnb.graph.capture.values.size_symbols import Axis, SizeExpression
from msnb.ir.graph import Graph
from msnb.ops.definition.symbolic_sizes import symbol

Dynamic = Mapping[str, Mapping[int, str] | Sequence[int]]


class DynamicSizes:
    """The inputs of a program, some of their sizes open.

    Args:
        names: of the inputs; inputs: the Tensors; dynamic: open axes beside those that the Tensors leave open.

    Attributes:
        given: Tensors as the program is captured with; types: of the inputs, with symbols.
        labels: names of the symbols.

    Raises:
        ArgumentError: an input or axis that is not there, or sizes of one name that differ.
    """

    def __init__(self, names: Sequence[str], inputs: Sequence[Tensor], dynamic: Dynamic) -> None:
        self.names = names
        open_axes = self._named(inputs, dynamic)
        self._symbols: dict[Any, str] = {}
        dims: dict[str, Dim] = {}
        sizes: dict[str, int] = {}
        for (i, k), label in open_axes.items():
            size = int(inputs[i]._type.shape[k])
            if sizes.setdefault(label, max(size, LEAST)) != size >= LEAST:
                raise ArgumentError(f"the size {label!r} is {sizes[label]} and {size}: one name is one size.")
            dims.setdefault(label, symbol())
        self.labels: dict[str, str] = {dim.symbol: label for label, dim in dims.items()}
        self.axes: dict[Axis, Dim] = {}
        self.given: list[Any] = []
        self.types: list[Any] = []
        for i, x in enumerate(inputs):
            own = {k: label for (at, k), label in open_axes.items() if at == i}
            shape = [sizes[own[k]] if k in own else n for k, n in enumerate(x._type.shape)]
            self.given.append(Tensor(np.zeros(shape, x.dtype.numpy)) if own else Tensor(x._host()))
            symbolic = tuple(dims[own[k]] if k in own else n for k, n in enumerate(x._type.shape))
            self.types.append(tensor_type(symbolic, x.dtype))
            source = paths.item(paths.root("args"), i, names[i])
            self.axes.update({(source.ident, k): dims[label] for k, label in own.items()})

    def _named(self, inputs: Sequence[Tensor], dynamic: Dynamic) -> dict[tuple[int, int], str]:
        """The open axes and their names."""
        found = {}
        for i, x in enumerate(inputs):
            found.update({(i, k): f"{self.names[i]}_{k}" for k, n in enumerate(x._type.shape) if n == -1})
        for name, axes in dynamic.items():
            if name not in self.names:
                raise ArgumentError(f"dynamic names the input {name!r}; there are {', '.join(self.names)}.")
            i = self.names.index(name)
            rank = len(inputs[i]._type.shape)
            pairs = axes.items() if isinstance(axes, Mapping) else [(k, f"{name}_{k}") for k in axes]
            for k, label in pairs:
                if not isinstance(k, int) or not -rank <= k < rank:
                    raise ArgumentError(f"dynamic: {name} has {rank} axes, and none with the number {k!r}.")
                found[i, k % rank] = str(label)
        return found

    def captured(self, net: Any, name: str, keep_blocks: bool) -> tuple[CapturedProgram, Graph]:
        """The program for the given Tensors, and its graph with symbols.

        Raises:
            CaptureError: it needs an open size as a number, or asks which it is.
        """
        if not self.axes:
            found = trace(net, tuple(self.given), {}, name, keep_blocks=keep_blocks)
            return found, found.graph
        made = template(net, tuple(self.given), {}, name, self.axes, keep_blocks)
        places = {place.ident for place in made.symbols.places.values()}
        for guard in made.captured.guards:
            if guard.kind not in ("tensor", "sizes") and any(_reads(source, places) for source in guard.sources):
                error = CaptureError(
                    f"the program depends on a size that is to stay open ({guard}).",
                    hint="give that axis a fixed size, or write the program so that no Python code asks for it.",
                )
                error.where = guard.where
                raise error
        self._symbols = {place.ident: name for name, place in made.symbols.places.items()}
        bound = made.bind(tuple(self.given), {})
        if bound is None:
            raise CaptureError("sizes inside the program follow from the open ones in no way that a formula says.")
        return bound, made.captured.graph

    def formula(self, source: Any) -> str | None:
        """What a number of the program is made of, where open sizes are among it: Python's text over the symbols.

        Raises:
            CaptureError: it is made by a function, or of numbers from outside too.
        """
        if source.ident in self._symbols:
            return self._symbols[source.ident]
        if not _reads(source, set(self._symbols)):
            return None
        last = source.consts[-1] if source.consts else None
        if isinstance(last, SizeExpression):
            return f"({last.size.symbol})"
        parts = [self.formula(base) for base in source.bases]
        if not source.pattern.startswith("(") or None in parts:
            raise CaptureError(f"the program computes with {source.label}, in a way that no model can say.")
        return str(source.pattern.format(*parts, **{f"c{i}": repr(c) for i, c in enumerate(source.consts)}))


def _reads(source: Any, places: set[Any]) -> bool:
    return source.ident in places or any(_reads(base, places) for base in source.bases)
