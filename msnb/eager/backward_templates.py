"""A backward program with symbolic sizes, for the tapes of a step whose batch size changes.

    x[20,64] @ w[64,128] ...    1st size       swept, as are the next ones
    x[41,64] @ w[64,128] ...    a later one    20, 41 is s1: lines of x[s1,64] are inferred, differentiated, passed once
    x[27,64] @ w[64,128] ...    from then on   s1 = 27, if every integer of the tape is what the lines say

Tapes that are one but for integers have one *form*. What tells them apart is a list of integers: sizes of operands and
results, and those in attributes. A template has a formula for each of them. However the formulas were guessed, a tape
is served only where all of them hold, and no two sizes are equal that were taken for unequal on the way. Sizes 0 and 1
broadcast and are never symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msnb.autodiff import vjp
from msnb.base import reraise_interrupt
from msnb.core.types import Dim, Size, TensorType, tensor_type
from msnb.eager.dispatch import DispatchEntry
from msnb.eager.recorded_calls import Sized
from msnb.eager.tape import OpLine, Tape
from msnb.eager.tape_graph import LEAST, Place, TapeGraph, dense_order, integers_of, parted, residuals, turned
from msnb.graph.compile import CompiledProgram, SymbolicPasses, SymbolicSource, compile_graph
from msnb.ir import BoundGraph, Graph
from msnb.ops.definition.symbolic_sizes import Comparison, compared, differ, product, symbol, total, value_of

FIRST, ANEW = 6, 8
"""So many programs of a template are compiled by themselves: until the device has code for another size, and for sizes
that are too far away; one more for every so many that are bound."""


class TemplateError(Exception):
    """Two tapes do not tell how the integers of others follow from their sizes."""


class SymbolicEntry(DispatchEntry):
    """An entry for symbolic sizes; it has no kernel."""

    __slots__ = ()

    def __init__(self, like: DispatchEntry, operand_types: Any, attrs: dict[str, Any]) -> None:
        self.op, self.operand_types, self.attrs, self.keep = like.op, operand_types, attrs, like.keep
        self.types = like.op.result_types(operand_types, attrs)
        if parted(self)[0] != parted(like)[0]:
            raise TemplateError


class SymbolicTape:
    """A tape with symbols for the sizes in which it differs from an earlier one.

    Args:
        recorder: the tape; before: the integers of the earlier one.

    Attributes:
        watched, lines: as a Tape has them, each call as its lines; integers: a formula for each.
    """

    def __init__(self, recorder: Tape, before: tuple[int, ...]) -> None:
        self._pairs = iter(zip(before, integers_of(recorder)))
        self._known: dict[tuple[int, int], Size] = {}
        self.watched: list[TensorType] = [self._formula(t, self._size) for t in recorder.watched]
        self._types: dict[int, Any] = dict(enumerate(self.watched))
        self.lines: list[OpLine] = [self._line(*line) for line in recorder.expanded()[0]]
        own = [n for entry, _, _ in self.lines for n in parted(entry)[1]]
        self.integers: list[Any] = [*(n for t in self.watched for n in t.shape), *own]

    def _line(self, entry: DispatchEntry, numbers: tuple[int, ...], first: int) -> OpLine:
        outer = [self._formula(t, self._size) for t in entry.operand_types]
        operands = tuple([self._types.get(n, t) for n, t in zip(numbers, outer)])  # tracked ones as they were inferred
        made = SymbolicEntry(entry, operands, {k: self._formula(v, self._setting) for k, v in entry.attrs.items()})
        self._types.update(enumerate(made.types, first))
        for size in [size for t in made.types for size in getattr(t, "shape", ())]:
            self._known.setdefault(next(self._pairs), size)
        return made, numbers, first

    def _formula(self, value: Any, size: Callable[[int, int], Size]) -> Any:
        """A type or setting, each integer as ``size`` of its values in both tapes."""
        kind = value.__class__
        if kind is TensorType:
            return tensor_type(self._formula(value.shape, size), value.dtype, value.weak)
        if kind is tuple:
            return tuple([self._formula(v, size) for v in value])
        return size(*next(self._pairs)) if kind is int else value

    def _size(self, a: int, b: int) -> Size:
        """Of a tensor from outside: what is known, or a symbol."""
        if a != b and (a, b) not in self._known:
            if min(a, b) < LEAST:
                raise TemplateError
            self._known[a, b] = symbol()
        return b if a == b else self._known[a, b]

    def _setting(self, a: int, b: int) -> Size:
        """What is known, a product with it, or a sum: ``n - 1`` rather than ``m + 20``."""
        if a == b or (a, b) in self._known:
            return b if a == b else self._known[a, b]
        for (x, y), size in self._known.items():
            if x and y and not a % x and not b % y:
                p, q = a // x, b // y
                if p == q or (p, q) in self._known:
                    return product((size, p if p == q else self._known[p, q]))
        sums = [(a - x, size) for (x, y), size in self._known.items() if x != y and a - x == b - y]
        return total(sorted(sums, key=lambda each: abs(each[0]))[0])  # of none: there is no template


class BackwardTemplate:
    """Gradients of the tapes of one form, with symbols for sizes.

    Args:
        form, recorder, before: see ``form_of`` and ``SymbolicTape``.

    Attributes:
        graph: the backward graph; places: where tapes keep its residuals; passes: what becomes of it.
    """

    def __init__(self, form: Any, recorder: Tape, before: tuple[int, ...]) -> None:
        self.form: Any = form
        with compared() as unequal:
            tape = SymbolicTape(recorder, before)
            noted = TapeGraph(tape.watched, tape.lines, form[2])
            found = vjp(noted.graph, list(form[3]))
            self.graph: Graph = found.backward
            self.places: list[Place] = [noted.place(v) for v in found.residual_values]
            saved = residuals(recorder, self.places, recorder.expanded()[1])
            self.turns: dict[int, tuple[int, ...]] = {i: p for i, p in enumerate(map(dense_order, saved)) if p}
            self.passes: SymbolicPasses = SymbolicPasses(turned(self.graph, self.turns), returns=True)
        self._anew = self._bound = 0
        self._unequal: tuple[Comparison, ...] = tuple(dict.fromkeys(unequal))
        self._integers: list[Any] = [n.symbol if isinstance(n, Dim) else n for n in tape.integers]
        self._names = {n for n in self._integers if isinstance(n, str)}
        self._first = {name: self._integers.index(name) for name in self._names if name.isidentifier()}
        if not self._first or self.sizes(before) is None or self.sizes(integers_of(recorder)) is None:
            raise TemplateError

    def sizes(self, integers: tuple[int, ...]) -> dict[str, int] | None:
        """The values of the symbols for a tape of its form with these integers; None where a formula does not hold."""
        values = {name: integers[at] for name, at in self._first.items()}
        found: dict[Any, Size] = {name: value_of(Dim(name), values) for name in self._names}
        if min(values.values()) < LEAST or any(found.get(n, n) != own for n, own in zip(self._integers, integers)):
            return None
        return values if differ(self._unequal, values) else None

    def bound(self, sizes: Mapping[str, int]) -> CompiledProgram | None:
        """The program for these sizes; None where there is none, or where it does not pay to make them: the device has
        no code for all sizes, and compiles for each."""
        if self._anew >= (ANEW + self._bound // ANEW if self._bound else FIRST):
            return None
        self._anew += 1
        try:
            found = compiled(BoundGraph(self.passes.noted, sizes), SymbolicSource(self.passes, sizes))
        except Exception as error:  # sizes that inference refuses
            reraise_interrupt(error)
            return None
        if found.bound or found.recalled:  # taken from disk it costs little, and teaches nothing about other sizes
            self._anew, self._bound = self._anew - 1, self._bound + found.bound
        return found


def compiled(graph: Sized, symbolic: SymbolicSource | None = None) -> CompiledProgram:
    """A backward program, with its code made."""
    return compile_graph(graph, name="backward", copies=True, symbolic=symbolic).build()
