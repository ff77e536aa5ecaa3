"""Sizes that change between the calls of a compiled function: when an axis becomes a symbol.

    1st size   captured and compiled as it is
    2nd size   captured once more, the axis that changed as a symbol, and compiled for this size
    3rd size   nothing is captured: the program of the second call is bound to the size, and compiled

What cannot be a symbol (``range(x.shape[0])``, a size of 1) is a version of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

from msnb.base import MsnbError, reraise_interrupt
from msnb.graph.capture import CapturedProgram
from msnb.graph.capture.size_template import LEAST, SizeChange, SizeTemplate, changed_axes, symbols_for, template
from msnb.graph.capture.values.size_symbols import Axis
from msnb.graph.compile import SymbolicPasses, SymbolicSource

MOST = 8  # templates of a function

BoundSizes = tuple[SizeTemplate, tuple[tuple[str, int], ...]]
"""A template and the values of its symbols: what a version is bound to."""


class SizeTemplates:
    """The templates of one compiled function.

    Attributes:
        templates: the newest first.
        changed: every axis that was met with a second size.
        fixed: axes that cannot be symbols: their names, and why.
        versions: those that are bound to sizes, as long as their function keeps them.
    """

    def __init__(self) -> None:
        self.templates: list[SizeTemplate] = []
        self.changed: set[Axis] = set()
        self.fixed: dict[Axis, tuple[str, str]] = {}
        self.versions: WeakValueDictionary[BoundSizes, Any] = WeakValueDictionary()
        self._passes: WeakKeyDictionary[SizeTemplate, SymbolicPasses] = WeakKeyDictionary()

    def candidates(self, args: tuple[Any, ...], kwargs: dict[str, Any], every: Sequence[Any]) -> Iterator[Any]:
        """The versions behind the first of ``every`` that a call may fit. Of those that are bound to sizes a template
        tells which one it is, so that they are not tried one after the other."""
        tried = list(every[:1])
        for bound in self.sizes(args, kwargs):
            version = self.versions.get(bound)
            if version is not None and version not in tried:
                tried.append(version)
                yield version
        for version in every[1:]:
            if (version.bound is None or version.bound[0] not in self.templates) and version not in tried:
                yield version

    def sizes(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[BoundSizes]:
        """The templates whose guards hold for a call, and the values of their symbols."""
        for each in self.templates:
            values = each.sizes(args, kwargs)
            if values is not None:
                yield each, tuple(values.items())

    def source(self, bound: BoundSizes) -> SymbolicSource:
        """The program with symbols behind one that is bound to sizes."""
        made, sizes = bound
        passes = self._passes.get(made)
        if passes is None:
            passes = self._passes[made] = SymbolicPasses(made.captured.noted)
        return SymbolicSource(passes, dict(sizes))

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[CapturedProgram, BoundSizes] | None:
        """The program for a call from one of the templates, and what it is bound to."""
        for each, values in self.sizes(args, kwargs):
            found = each.bind(args, kwargs)
            if found is not None:
                return found, (each, values)
        return None

    def capture(
        self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str, versions: Sequence[CapturedProgram],
        declared: Mapping[Axis, SizeChange],
    ) -> tuple[CapturedProgram, BoundSizes | None] | None:  # fmt: skip
        """The program for a call from a template that is made now, where nothing but sizes differs from some version;
        else None. What was ``declared`` to change is a symbol from the first version on."""
        self.changed.update(declared)
        sizes = self._sizes(args, kwargs, versions)
        if sizes is None:
            sizes = {axis: size for axis, size in declared.items() if axis not in self.fixed}
        if not sizes or any(size.now < LEAST for size in sizes.values()):
            return None
        try:
            made = template(fn, args, kwargs, name, symbols_for(sizes))
        except Exception as error:  # what is wrong with the program itself shows when it is captured for these sizes
            reraise_interrupt(error)
            self._fix(sizes, error.sentence if isinstance(error, MsnbError) else str(error))
            return None
        for axis, guard in made.fixed.items():
            self._fix({axis: sizes[axis]}, f"{guard}{'' if guard.where is None else f', {guard.where}'}")
        found, values = made.bind(args, kwargs), made.sizes(args, kwargs)
        if found is None or values is None:
            self._fix(sizes, "other sizes follow from it in no way that a formula says")
            return None
        if made.fixed.keys() >= sizes.keys():
            return found, None
        self.templates = [made, *self.templates][:MOST]
        return found, (made, tuple(values.items()))

    def _fix(self, sizes: dict[Axis, SizeChange], why: str) -> None:
        self.fixed.update({axis: (size.name, why) for axis, size in sizes.items()})

    def _sizes(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], versions: Sequence[CapturedProgram]
    ) -> dict[Axis, SizeChange] | None:
        """The axes that are to be symbols: their sizes in a version that fits otherwise, and now; None where there is
        no such version."""
        for version in versions:
            found = changed_axes(version, args, kwargs)
            if not found:
                continue
            tried = [each.symbols.axes.keys() for each in self.templates if each.refuses_sizes]
            if any(found.keys() <= axes for axes in tried):
                return {}
            self.changed.update(found)
            every = changed_axes(version, args, kwargs, self.changed)
            return {axis: size for axis, size in (every or {}).items() if axis not in self.fixed}
        return None

    def __str__(self) -> str:
        lines = []
        for each in self.templates:
            symbols = each.symbols
            named = ", ".join(f"{d} = {symbols.places[d.symbol].label}" for d in dict.fromkeys(symbols.axes.values()))
            other = sorted({n for _, n in symbols.unequal if type(n) is int and n >= LEAST})
            but = f", but {', '.join(map(str, other))}" if other else ""
            lines.append(f"any size from {LEAST} on{but}: {named}")
        lines += [f"a version per size: {name} ({why})" for name, why in self.fixed.values()]
        return "\n".join(lines)
