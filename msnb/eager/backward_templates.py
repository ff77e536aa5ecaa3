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

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from msnb.autodiff import vjp
from msnb.core.types import Dim, Size, TensorType, tensor_type
from msnb.eager.dispatch import DispatchEntry
from msnb.eager.recorded_calls import Sized
from msnb.eager.tape import OpLine, Tape
from msnb.eager.tape_forms import LEAST, integers_of, parts, without_integers
from msnb.eager.tape_graph import Place, TapeGraph, dense_order, residuals, turned
from msnb.graph.compile import CompiledProgram, SymbolicPasses, SymbolicSource, compile_graph
from msnb.ir.graph import Graph
from msnb.ir.size_binding import BoundGraph
from msnb.ops.definition.symbolic_sizes import Comparison, compared, differ, product, symbol, total, value_of

FIRST, ANEW = 2, 8
"""So many programs of a template are compiled by themselves: until the device has code for other sizes, and for those
that are too far away; one more for every so many that are bound."""


class TemplateError(Exception):
    """Two tapes do not tell how the integers of others follow from their sizes."""


class _Formulas:
    """What integers are, by their values in two tapes."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], Size] = {}

    def size(self, a: int, b: int) -> Size:
        """Of a tensor from outside: what is known, or a symbol."""
        if a != b and (a, b) not in self._known:
            if min(a, b) < LEAST:
                raise TemplateError
            self._known[a, b] = symbol()
        return b if a == b else self._known[a, b]

    def attribute(self, a: int, b: int) -> Size:
        """Of a setting: what is known, a product with it, or a sum: ``n - 1`` rather than ``m + 20``."""
        if a == b:
            return b
        found = self._known[a, b] if (a, b) in self._known else next(self._products(a, b), None)
        if found is None:
            sums = [(x - a, size) for (x, y), size in self._known.items() if a - x == b - y]
            if not sums:
                raise TemplateError
            offset, size = min(sums, key=lambda each: abs(each[0]))
            found = total((size, -offset))
        return found

    def _products(self, a: int, b: int) -> Iterator[Size]:
        for (x, y), size in self._known.items():
            if x and y and not a % x and not b % y:
                p, q = a // x, b // y
                other = p if p == q else self._known.get((p, q))
                if other is not None:
                    yield product((size, other))

    def note(self, pairs: Sequence[tuple[int, int]], sizes: Sequence[Size]) -> None:
        """Sizes that inference gave."""
        for (a, b), size in zip(pairs, sizes):
            if a != b:
                self._known.setdefault((a, b), size)


class SymbolicEntry(DispatchEntry):
    """An entry for symbolic sizes; it has no kernel."""

    __slots__ = ()

    def __init__(self, like: DispatchEntry, operand_types: Any, attrs: dict[str, Any]) -> None:
        self.op, self.operand_types, self.attrs = like.op, operand_types, attrs
        self.types = like.op.result_types(operand_types, attrs)
        self.keep = like.keep
        if without_integers(parts(self), []) != without_integers(parts(like), []):
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
        self._formulas = _Formulas()
        self._types: dict[int, Any] = {}
        self.watched: list[TensorType] = [self._outside(t) for t in recorder.watched]
        self._types.update(enumerate(self.watched))
        self.lines: list[OpLine] = [self._line(*line) for line in recorder.expanded()[0]]
        self.integers: list[Any] = [n for t in self.watched for n in t.shape]
        for entry, _, _ in self.lines:
            without_integers(parts(entry), self.integers)

    def _line(self, entry: DispatchEntry, numbers: tuple[int, ...], first: int) -> OpLine:
        operands = []
        for n, t in zip(numbers, entry.operand_types):
            outer = self._outside(t)  # of a tracked value, the type that inference gave
            operands.append(self._types.get(n, outer))
        attrs = {name: self._attribute(value) for name, value in entry.attrs.items()}
        made = SymbolicEntry(entry, tuple(operands), attrs)
        for k, t in enumerate(made.types):
            self._types[first + k] = t
            sizes: Any = getattr(t, "shape", ())
            self._formulas.note([next(self._pairs) for _ in sizes], sizes)
        return made, numbers, first

    def _outside(self, t: Any) -> Any:
        if not isinstance(t, TensorType):
            return t
        return tensor_type(tuple([self._formulas.size(*next(self._pairs)) for _ in t.shape]), t.dtype, t.weak)

    def _attribute(self, value: Any) -> Any:
        if value.__class__ is int:
            return self._formulas.attribute(*next(self._pairs))
        if value.__class__ is tuple:
            return tuple([self._attribute(v) for v in value])
        if value.__class__ is slice:
            return slice(*[self._attribute(v) for v in (value.start, value.stop, value.step)])
        if isinstance(value, TensorType):
            raise TemplateError
        return value


class BackwardTemplate:
    """Gradients of the tapes of one form, with symbols for sizes.

    Args:
        form, recorder, before: see ``form_of`` and ``SymbolicTape``; outputs, wanted: as for ``BackwardProgram``.

    Attributes:
        graph: the backward graph; places: where tapes keep its residuals; passes: what becomes of it.
    """

    def __init__(
        self, form: Any, recorder: Tape, before: tuple[int, ...], outputs: Sequence[int], wanted: Sequence[int]
    ) -> None:
        self.form: Any = form
        with compared() as unequal:
            tape = SymbolicTape(recorder, before)
            noted = TapeGraph(tape.watched, tape.lines, outputs)
            found = vjp(noted.graph, list(wanted))
            self.graph: Graph = found.backward
            self.places: list[Place] = [noted.place(v) for v in found.residual_values]
            saved = residuals(recorder, self.places, recorder.expanded()[1])
            self.turns: dict[int, tuple[int, ...]] = {
                i: order for i, order in enumerate(map(dense_order, saved)) if order
            }
            self.passes: SymbolicPasses = SymbolicPasses(turned(self.graph, self.turns), returns=True)
        self._anew = self._bound = 0
        self._unequal: tuple[Comparison, ...] = tuple(dict.fromkeys(unequal))
        formulas = [n.symbol if isinstance(n, Dim) else n for n in tape.integers]
        self._constants: dict[int, int] = {at: n for at, n in enumerate(formulas) if isinstance(n, int)}
        self._where: dict[str, list[int]] = {}
        for at, n in enumerate(formulas):
            if isinstance(n, str):
                self._where.setdefault(n, []).append(at)
        self._first = {name: places[0] for name, places in self._where.items() if name.isidentifier()}
        if not self._first or self.sizes(before) is None or self.sizes(integers_of(recorder)) is None:
            raise TemplateError

    def sizes(self, integers: tuple[int, ...]) -> dict[str, int] | None:
        """The values of the symbols for a tape of its form with these integers; None where a formula does not hold."""
        values = {name: integers[at] for name, at in self._first.items()}
        if min(values.values()) < LEAST or any(integers[at] != n for at, n in self._constants.items()):
            return None
        for name, places in self._where.items():
            n = value_of(Dim(name), values)
            if any(integers[at] != n for at in places):
                return None
        return values if differ(self._unequal, values) else None

    def bound(self, sizes: Mapping[str, int]) -> CompiledProgram | None:
        """The program for these sizes; None where there is none, or where it does not pay to make them: the device has
        no code for all sizes, and compiles for each."""
        if self._anew >= (ANEW + self._bound // ANEW if self.passes.has_templates else FIRST):
            return None
        self._anew += 1
        try:
            found = compiled(BoundGraph(self.passes.noted, sizes), SymbolicSource(self.passes, sizes))
        except Exception:  # sizes that inference refuses
            return None
        if found.bound:
            self._anew, self._bound = self._anew - 1, self._bound + 1
        return found


def compiled(graph: Sized, symbolic: SymbolicSource | None = None) -> CompiledProgram:
    """A backward program, with its code made."""
    return compile_graph(graph, name="backward", copies=True, symbolic=symbolic).build()
