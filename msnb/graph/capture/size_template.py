"""A program captured once for all sizes of some axes, and its instances.

    f(x: f32[32,8])    captured as it is                      one version for 32 rows
    f(x: f32[17,8])    another size: captured with x[0] as s1, and bound to 17
    f(x: f32[20,8])    guards hold, s1 = 20: the graph is copied with 20 in it; the function does not run

An instance is a program like any other: its guards, types and sizes are numbers. A template is refused where anything
that the capture relied on would be different: a size below 2, sizes that were taken for unequal, an answer of a
comparison, inference that finds other sizes than the formulas.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from msnb.base import reraise_interrupt
from msnb.core import Dim, Tensor, TensorType
from msnb.graph.capture.guards.exact_check import Guard, compile_guards
from msnb.graph.capture.guards.fast_check import bound_check
from msnb.graph.capture.tracing import CapturedProgram, trace
from msnb.graph.capture.values.size_symbols import Axis, SizeSymbols
from msnb.graph.capture.values.sources import PathKey, Source
from msnb.ir.size_binding import BoundGraph, bind_type, size_check
from msnb.ops.definition.symbolic_sizes import compared, differ, symbol


class SizeChange(NamedTuple):
    """The size of an axis then and now; ``name``: the axis as Python code reads it (``x.shape[0]``)."""

    before: int
    now: int
    name: str


FEW = 3
"""Sizes for which a template is bound before it is worth a function that tells which ones it is for."""
LEAST = 2
"""Axes of size 0 and 1 mean something of their own (they broadcast, they have no maximum): they are never symbols."""


class SizeTemplate:
    """A captured program with symbolic sizes.

    Attributes:
        captured: the program; symbols: its symbolic sizes.
        fixed: the axes whose size Python code needed as a number, and the guard that says where.
        refuses_sizes: the last call was refused for its sizes, not for a guard (``if n > 10``).
    """

    def __init__(self, captured: CapturedProgram, symbols: SizeSymbols) -> None:
        self.captured: CapturedProgram = captured
        self.symbols: SizeSymbols = symbols
        captured.settle({})
        self._tensors = list(symbols.tensors.values())
        guards = [_relaxed(g) for g in captured.guards]
        self._check = compile_guards(guards, (), [source for source, _ in self._tensors])
        self._look = compile_guards((), (), symbols.paths)
        self.fixed: dict[Axis, Guard] = self._fixed()
        self.refuses_sizes: bool = False
        self._checks: dict[tuple[str, ...], Any] = {}
        self._bound = 0
        self._sure: Callable[..., Any] | None = None

    def sizes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, int] | None:
        """The values of the symbols in a call whose guards hold, or None where it is no program for them."""
        self.refuses_sizes = False
        try:
            found = self._check(args, kwargs)
            if not isinstance(found, tuple):
                return None
            self.refuses_sizes = True
            return self._values(found[1])
        except Exception as error:
            reraise_interrupt(error)
            return None  # a path that leads nowhere

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> CapturedProgram | None:
        """The program for the sizes of this call, or None where it is no program for them."""
        values = self.sizes(args, kwargs)
        try:
            return None if values is None else self._instance(values, args, kwargs)
        except Exception as error:
            reraise_interrupt(error)
            return None  # sizes that do not fit together (SizeError)

    def _values(self, tensors: Sequence[Any]) -> dict[str, int] | None:
        values: dict[str, int] = {}
        for tensor, (_, t) in zip(tensors, self._tensors):
            for d, size in zip(t.shape, tensor._type.ints()):
                if isinstance(d, Dim) and (values.setdefault(d.symbol, size) != size or size < LEAST):
                    return None
        return values if differ(self.symbols.unequal, values) else None

    def _instance(self, values: Mapping[str, int], args: tuple[Any, ...], kwargs: dict[str, Any]) -> CapturedProgram:
        whole = self.captured
        guards = [
            Guard(g.kind, g.sources, (g.consts[0], bind_type(g.consts[1], values)), g.where) if _is_sized(g) else g
            for g in whole.guards
        ]

        def gathering(inputs: Sequence[tuple[Source, str]]) -> Callable[..., Any]:
            return bound_check(self._quick(inputs, args, kwargs), values)

        given = BoundGraph(whole.noted, values)
        if not self._is_sure(values):
            _ = given.graph
        return replace(whole, given=given, guards=guards, gathering=gathering)

    def _is_sure(self, values: Mapping[str, int]) -> bool:
        """Whether the program is one for these sizes, without it being made; from the third size on."""
        self._bound += 1
        if self._bound == FEW:
            self._sure = size_check(self.captured.noted, values)
        return self._sure is not None and bool(self._sure(**values))

    def _quick(self, inputs: Sequence[tuple[Source, str]], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The guards' function with symbols, by how the inputs are gathered: its code serves all sizes."""
        key = tuple(how for _, how in inputs)
        if key not in self._checks:
            known = {source.ident: obj for source, obj in zip(self.symbols.paths, self._look(args, kwargs)[1])}
            self._checks[key] = compile_guards(self.captured.guards, inputs, self.captured.held, known)
        return self._checks[key]

    def _fixed(self) -> dict[Axis, Guard]:
        """A guard on the value of an expression of sizes fixes all that the expression reads."""
        found: dict[Axis, Guard] = {}
        symbols = self.symbols
        for guard in self.captured.guards:
            if guard.kind in ("num", "eq"):
                read = _idents(guard.sources)
                names = {name for name, place in symbols.places.items() if place.ident in read}
                found.update({axis: guard for axis, d in symbols.axes.items() if d.symbol in names})
        return found


def template(
    fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, axes: Mapping[Axis, Dim],
    keep_blocks: bool = False,
) -> SizeTemplate:  # fmt: skip
    """``trace`` with symbolic sizes.

    Raises:
        Exception: anything that the function or the framework raises where it meets a symbol that it cannot go on with.
    """
    symbols = SizeSymbols(axes)
    with compared() as told:
        captured = trace(fn, args, kwargs, name, symbols, keep_blocks)
    symbols.unequal = list(dict.fromkeys(told))
    return SizeTemplate(captured, symbols)


def changed_axes(
    captured: CapturedProgram, args: tuple[Any, ...], kwargs: dict[str, Any], more: Collection[Axis] = ()
) -> dict[Axis, SizeChange] | None:
    """The axes of Tensors that alone keep a call from fitting a program, and those of ``more``: their sizes then and
    now; None where anything else differs."""
    sized = [g for g in captured.guards if g.kind == "tensor" and g.consts[0] is Tensor and g.consts[1].ndim]
    loose = [
        Guard("sizes", g.sources, (Tensor, _SameRank(g.consts[1])), None) if g in sized else g for g in captured.guards
    ]
    try:
        found = compile_guards(loose, (), [g.sources[0] for g in sized])(args, kwargs)
    except Exception as error:
        reraise_interrupt(error)
        return None
    if not isinstance(found, tuple):
        return None
    axes: dict[Axis, SizeChange] = {}
    for guard, tensor in zip(sized, found[1]):
        source = guard.sources[0]
        for k, (before, now) in enumerate(zip(guard.consts[1].ints(), tensor._type.ints())):
            if before != now or (source.ident, k) in more:
                axes[source.ident, k] = SizeChange(before, now, f"{source.label}.shape[{k}]")
    return axes


def symbols_for(sizes: Mapping[Axis, SizeChange]) -> dict[Axis, Dim]:
    """A symbol per axis; axes of two Tensors that had one size before and have one now share theirs."""
    made: dict[Axis, Dim] = {}
    for axis, size in sizes.items():
        own = {d for other, d in made.items() if other[0] == axis[0]}
        alike = (d for other, d in made.items() if sizes[other][:2] == size[:2] and d not in own)
        made[axis] = next(alike, None) or symbol()
    return made


def _idents(sources: Iterable[Source]) -> set[PathKey]:
    """All steps of some paths."""
    waiting, found = list(sources), set()
    while waiting:
        source = waiting.pop()
        if source.ident not in found:
            found.add(source.ident)
            waiting += source.bases
    return found


def _is_sized(guard: Guard) -> bool:
    return guard.kind == "tensor" and not guard.consts[1].is_static


def _relaxed(guard: Guard) -> Guard:
    if not _is_sized(guard):
        return guard
    return Guard("sizes", guard.sources, (guard.consts[0], _SameRank(guard.consts[1])), guard.where)


class _SameRank:
    """Whether a type is like another one, except for its symbolic sizes (all sizes, where it has none)."""

    def __init__(self, t: TensorType) -> None:
        self.type = t
        self.sizes = [] if t.is_static else [(k, d) for k, d in enumerate(t.shape) if type(d) is int]

    def __call__(self, other: TensorType) -> bool:
        t = self.type
        alike = other.dtype is t.dtype and other.weak == t.weak and other.ndim == t.ndim and other.is_static
        return alike and all(other.shape[k] == d for k, d in self.sizes)

    def __str__(self) -> str:
        return repr(self.type)
