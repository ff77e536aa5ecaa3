"""``ms.show.explain``: what a jitted function has compiled, why each version was made, what it relies on.

version  calls  nodes  made because
1            3     12  first call
2            1     14  recompiled: k 2 -> 7, cell [3] line 4
"""

from __future__ import annotations

import re
from typing import Any

from msnb.api.graph_mode import compiled_cell
from msnb.api.jit import CompiledFunction, Version
from msnb.base import ArgumentError
from msnb.notebook.charts.html_fragments import Row, columns, count, pre, table
from msnb.notebook.drawing import Picture, picture_of
from msnb.notebook.programs.capture_target import name_of
from msnb.notebook.views.kernels_view import KernelsView
from msnb.notebook.views.view import Section, View

_ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+")
HEAD = ("version", "calls", "nodes", "guards", "made because")


class ExplainView(View):
    """The versions of a compiled function.

    Attributes:
        versions: in the order in which they were made.
    """

    kind = "explain"

    def __init__(self, fn: Any, times: bool = False, kernels: bool = False) -> None:
        super().__init__(name_of(fn))
        self.versions: list[Version] = sorted(_compiled(fn).versions, key=lambda v: v.number)
        self.times = times
        last = self.versions[-1].compiled if self.versions and kernels else None
        self.kernels: KernelsView | None = KernelsView(last) if last is not None else None

    @property
    def rows(self) -> list[Row]:
        """The table."""
        return [
            (str(v.number), str(v.calls), str(_size(v)), str(len(v.captured.guards)), v.reason) for v in self.versions
        ]

    @property
    def text(self) -> str:
        """The table, then the guards of each version."""
        if not self.versions:
            return f"{self.title} has not been compiled yet: call it first."
        parts = [columns(HEAD, self.rows)]
        parts += [f"version {v.number}\n" + "\n".join(f"  {line}" for line in self._lines(v)) for v in self.versions]
        return "\n\n".join([*parts, self.kernels.text] if self.kernels is not None else parts)

    def _lines(self, v: Version) -> list[str]:
        names = ("captured", "compiled")
        times = [f"{name} in {1000 * s:.1f} ms" for name, s in zip(names, v.seconds)] if self.times else []
        guards = [
            f"guard: {_ADDRESS.sub('', str(g))}{'' if g.where is None else f'   # {g.where}'}"
            for g in v.captured.guards
        ]
        return [*times, *guards, *(f"at capture only: {what}{at}" for what, at in v.captured.notes.items())]

    @property
    def picture(self) -> Picture:
        """The program of the version made last; an empty one before the first call."""
        return picture_of(self.versions[-1].compiled.graph) if self.versions else Picture(self.text)

    @property
    def sections(self) -> list[Section]:
        """The table; per version its guards and its program before and after the passes."""
        out = [(f"{self.title}: {count(len(self.versions), 'version')}", table(HEAD, self.rows))]
        for v in self.versions:
            body = pre("\n".join(self._lines(v))) + pre(str(v.compiled.source)) + pre(str(v.compiled.graph))
            out.append((f"version {v.number}: {v.reason}", body))
        return out if self.kernels is None else [*out, *self.kernels.sections]

    @property
    def data(self) -> dict[str, Any]:
        """The rows and the guards."""
        return {
            "versions": [dict(zip(HEAD, row)) for row in self.rows],
            "guards": [[_ADDRESS.sub("", str(g)) for g in v.captured.guards] for v in self.versions],
        }


def _size(version: Version) -> int:
    return sum(1 for _ in version.compiled.graph.walk())


def _compiled(fn: Any) -> CompiledFunction[..., Any]:
    fn = getattr(fn, "__func__", fn)
    found = fn if isinstance(fn, CompiledFunction) else compiled_cell(fn)
    if not isinstance(found, CompiledFunction):
        raise ArgumentError(
            f"explain takes a function compiled with jit, or a Cell that has run in graph mode, not {name_of(fn)}.",
            hint="decorate it with @ms.jit and call it.",
        )
    return found
