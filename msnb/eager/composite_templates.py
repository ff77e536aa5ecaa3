"""A framework function's program with symbolic sizes, for its second size and all that follow.

    gru(x: f32[5,8,32], ...)     1st size     a program of these sizes
    gru(x: f32[9,8,32], ...)     2nd size     traced once more, x: f32[s1,8,32], and bound to 9
    gru(x: f32[7,8,32], ...)     3rd size     bound to 7: nothing is traced, and the device has its code

What cannot be traced with symbols, and axes of size 0 or 1, get a program for every size.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from msnb.autodiff import vjp
from msnb.base import reraise_interrupt
from msnb.core import Dim, Tensor, TensorType, make, slot, tensor_type
from msnb.eager.recorded_calls import CompiledVjp, Sized, call_pair, tracked_inputs, types_of, vjp_of
from msnb.eager.residual_selection import slim
from msnb.eager.tape import NestedRecordingEngine
from msnb.graph.compile import SymbolicPasses, SymbolicSource, compile_graph
from msnb.ir import BoundGraph, Graph, replay
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

    def program(self, sizes: Mapping[str, int]) -> CompositeProgram:
        """The program for these sizes."""
        return CompositeProgram(BoundGraph(self.passes.noted, sizes), self.single, self)

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
            except Exception as error:  # a rule needs a number where a symbol stands: each size has its own derivative
                reraise_interrupt(error)
                made = None
            self._pairs[wrt] = made
        pair = self._pairs[wrt]
        return pair if pair is not None and differ(pair.unequal, sizes) else None


class CompositeProgram:
    """One function for one signature.

    Attributes:
        single: whether the function gives one tensor, not a tuple.
    """

    def __init__(self, given: Sized, single: bool, template: CompositeTemplate | None = None) -> None:
        self.single: bool = single
        self._given, self._template = given, template
        self._sizes: Mapping[str, int] = given.sizes if isinstance(given, BoundGraph) else {}
        self._types = types_of(given)
        self._run: Any = None
        self._pairs: dict[tuple[int, ...], CompiledVjp] = {}

    @property
    def graph(self) -> Graph:
        """A param per tensor among the arguments."""
        return self._given if isinstance(self._given, Graph) else self._given.graph

    def __call__(self, tensors: list[Tensor]) -> Any:
        """Run it; where a gradient is wanted it is one line on the tape."""
        wrt = tracked_inputs(tensors)
        if not wrt:
            outs = [make(b, t) for b, t in zip(self._program()([t._data for t in tensors]), self._types)]
        elif isinstance(slot.engine, NestedRecordingEngine):
            outs = replay(self.graph, tensors)
        else:
            if wrt not in self._pairs:
                self._pairs[wrt] = self._pair(wrt) or vjp_of(self.graph, wrt)
            outs = call_pair(self._pairs[wrt], tensors, wrt)
        return outs[0] if self.single else tuple(outs)

    def _program(self) -> Any:
        if self._run is None:
            symbolic = None if self._template is None else self._bound(self._template.passes)[1]
            self._run = compile_graph(self._given, symbolic=symbolic).build()
        return self._run

    def _pair(self, wrt: tuple[int, ...]) -> CompiledVjp | None:
        """Its derivative, from the one with symbols."""
        found = None if self._template is None else self._template.pair(wrt, self._sizes)
        if found is None:
            return None
        (forward, front), (backward, back) = self._bound(found.forward), self._bound(found.backward)
        name, n_out = self._given.name, len(self._types)
        return CompiledVjp(name, len(wrt), n_out, found.outputs, forward, backward, (front, back))

    def _bound(self, passes: SymbolicPasses) -> tuple[BoundGraph, SymbolicSource]:
        """A program with symbols for its sizes."""
        return BoundGraph(passes.noted, self._sizes), SymbolicSource(passes, self._sizes)


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
            except Exception as error:  # Python in the function needs a number
                reraise_interrupt(error)
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
