"""A framework function's program with symbolic sizes, for its second size and all that follow.

    gru(x: f32[5,8,32], ...)     1st size     a program of these sizes
    gru(x: f32[9,8,32], ...)     2nd size     traced once more, x: f32[s1,8,32], and bound to 9
    gru(x: f32[7,8,32], ...)     3rd size     bound to 7: nothing is traced, and the device has its code

What cannot be traced with symbols, and axes of size 0 or 1, get a program for every size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from msnb.autodiff import vjp
from msnb.core.types import Dim, TensorType, tensor_type
from msnb.eager.residual_selection import slim
from msnb.graph.compile.symbolic_passes import SymbolicPasses
from msnb.ir.graph import Graph
from msnb.ops.definition.symbolic_sizes import Comparison, compared, differ, symbol

LEAST = 2
"""Axes of size 0 and 1 mean something of their own (they broadcast, they have no maximum): they are never symbols."""
MOST = 4
"""Templates of one function: for axes that changed later, and sizes that were taken for equal and are not."""

Types = tuple[TensorType, ...]
Trace = Callable[[Types], "tuple[Graph, bool]"]


class SymbolicVjp(NamedTuple):
    """Forward and backward program with symbolic sizes.

    Attributes:
        forward, backward: what the passes make of each; outputs: the positions of results that have a cotangent.
        unequal: the sizes that were taken for unequal on the way.
    """

    forward: SymbolicPasses
    backward: SymbolicPasses
    outputs: tuple[int, ...]
    unequal: tuple[Comparison, ...]


class CompositeTemplate:
    """A traced function some of whose sizes are symbols.

    Args:
        types: of its params.
        trace: gives the graph for param types, and whether the function has a single result.
    """

    def __init__(self, types: Types, trace: Trace) -> None:
        self._types = types
        with compared() as unequal:
            graph, self.single = trace(types)
        self.passes: SymbolicPasses = SymbolicPasses(graph)
        self._unequal = tuple(dict.fromkeys(unequal))
        self._pairs: dict[tuple[int, ...], SymbolicVjp | None] = {}

    def sizes(self, types: Types) -> dict[str, int] | None:
        """The values of the symbols for these types; None where it is no program for them."""
        values: dict[str, int] = {}
        for own, t in zip(self._types, types):
            for d, size in zip(own.shape, t.ints()):
                known = values.setdefault(d.symbol, size) if isinstance(d, Dim) else d
                if known != size or (isinstance(d, Dim) and size < LEAST):
                    return None
        return values if differ(self._unequal, values) else None

    def pair(self, wrt: tuple[int, ...], sizes: Mapping[str, int]) -> SymbolicVjp | None:
        """Its derivative by some params; None where that needs sizes as numbers.

        Args:
            wrt: positions of the params; sizes: values of the symbols, by which residuals are chosen at first.
        """
        if wrt not in self._pairs:
            try:
                with compared() as unequal:
                    found = vjp(self.passes.noted, wrt)
                    forward, backward = slim(found, sizes)
                made = SymbolicVjp(
                    SymbolicPasses(forward), SymbolicPasses(backward), found.outputs, tuple(dict.fromkeys(unequal))
                )
            except Exception:  # a rule needs a number where a symbol stands: each size is differentiated by itself
                made = None
            self._pairs[wrt] = made
        pair = self._pairs[wrt]
        return pair if pair is not None and differ(pair.unequal, sizes) else None


class CompositeTemplates:
    """The templates of one function with one list of settings, dtypes and ranks."""

    def __init__(self) -> None:
        self._first: Types | None = None
        self._changed: set[tuple[int, int]] = set()
        self._templates: list[CompositeTemplate] = []
        self._left = MOST

    def fitting(self, types: Types, trace: Trace) -> tuple[CompositeTemplate, dict[str, int]] | None:
        """The template for these types, made at the second size, and the values of its symbols; None where each size
        has a program of its own."""
        for each in self._templates:
            sizes = each.sizes(types)
            if sizes is not None:
                return each, sizes
        if self._first is None:
            self._first = types
        elif self._left:
            self._left -= 1
            try:
                made = CompositeTemplate(self._symbolic(self._first, types), trace)
            except Exception:  # Python in the function needs a number
                return None
            sizes = made.sizes(types)
            if sizes:
                self._templates.append(made)
                return made, sizes
        return None

    def _symbolic(self, before: Types, now: Types) -> Types:
        """The types with a symbol for every axis that was met with two sizes; what changed alike shares one."""
        made: dict[tuple[int, int], list[tuple[int, Dim]]] = {}
        found = []
        for i, (old, new) in enumerate(zip(before, now)):
            shape: list[int | Dim] = []
            for k, (a, b) in enumerate(zip(old.ints(), new.ints())):
                if a != b:
                    self._changed.add((i, k))
                shape.append(b if (i, k) not in self._changed else _shared(made.setdefault((a, b), []), i))
            found.append(tensor_type(tuple(shape), new.dtype, new.weak))
        return tuple(found)


def _shared(known: list[tuple[int, Dim]], at: int) -> Dim:
    """A symbol for an axis of tensor ``at``: that of another tensor's axis which changed alike, or a new one."""
    own = {d for i, d in known if i == at}
    found = next((d for _, d in known if d not in own), None) or symbol()
    known.append((at, found))
    return found

