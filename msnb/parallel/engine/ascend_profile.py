"""``ms.ascend``: the modelled clock of the simulated Ascend, and what there is to see of the chip.

    p = ms.ascend.profile(net, x)        nothing is run: the program is captured, its operators become kernels
    p.seconds, p.table, p.timeline       simulated seconds, a row per kernel, (stream, start, end, what)
    p.trace("step.json")                 for ui.perfetto.dev or chrome://tracing

Two ways to run a program differ in who launches: a graph is sunk to the device as a whole (4 us per kernel, vector
operators fused), an eager program is launched operator by operator by the host (40 us each, nothing fused; the device
works meanwhile, so a long kernel hides its launch). The mode is the context's, or given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msnb.base import GRAPH_MODE, AttributeValueError, get_context
from msnb.core import TensorType
from msnb.devices.ascend.aicore import aicore
from msnb.devices.ascend.chip import CHIPS, Chip
from msnb.devices.ascend.chrome_trace import write_trace
from msnb.devices.ascend.device_kernel import WAIT, Kernel, Task
from msnb.devices.ascend.formats import from_nc1hwc0, from_nz, from_z, to_nc1hwc0, to_nz, to_z
from msnb.devices.ascend.kernel_fusion import Grouping
from msnb.devices.ascend.peak_memory import Peak, check_memory, name_of
from msnb.graph.capture import trace
from msnb.ir.graph import Graph, Node
from msnb.parallel.planner.cost_graph_builder import inlined

__all__ = ["Profile", "aicore", "from_nc1hwc0", "from_nz", "from_z", "profile", "to_nc1hwc0", "to_nz", "to_z"]

COLUMNS = ("kernel", "kind", "operators", "us", "cube us", "vector us", "memory us", "bound by")
Row = tuple[str, str, int, float, float, float, float, str]


@dataclass
class Profile:
    """What a program takes on a simulated chip.

    Attributes:
        chip: which one; mode: "graph" (sunk as a whole) or "eager" (launched one by one).
        kernels: in order, bodies of loops as often as they run.
        peak: bytes and tensors at the peak of memory.
        seconds: of the whole, simulated.
        timeline: (stream, start, end, what) in seconds, simulated.
    """

    chip: Chip
    mode: str
    kernels: list[Kernel]
    peak: Peak
    seconds: float = 0.0
    timeline: list[tuple[str, float, float, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        for kernel in self.kernels:
            self.timeline.append((kernel.kind, self.seconds, self.seconds + kernel.seconds, kernel.where))
            self.seconds += kernel.seconds

    @property
    def table(self) -> list[Row]:
        """A row per kernel, see ``COLUMNS``."""
        return [
            (k.where, k.kind, len(k.tasks), k.seconds * 1e6, k.cube * 1e6, k.vector * 1e6, k.memory * 1e6, k.bound)
            for k in self.kernels
        ]

    def trace(self, path: str | Path) -> None:
        """Write the timeline as Chrome trace events (Perfetto reads them)."""
        write_trace(path, f"simulated {self.chip.name}", self.timeline)

    def __str__(self) -> str:
        head = (f"simulated {self.chip.name}, {self.mode}: {self.seconds * 1e6:.1f} us in {len(self.kernels)} kernels, "
                f"{self.peak.nbytes / 1e6:.3g} MB at the peak")  # fmt: skip
        lines = [head, f"  {'us':>9} {'cube':>9} {'vector':>9} {'memory':>9}  {'bound by':8} {'kind':7} kernel"]
        for where, kind, n, us, cube, vector, memory, bound in self.table:
            more = f" (+{n - 1})" if n > 1 else ""
            lines.append(f"  {us:9.1f} {cube:9.1f} {vector:9.1f} {memory:9.1f}  {bound:8} {kind:7} {where}{more}")
        return "\n".join(lines)

    __repr__ = __str__


def profile(program: Any, *inputs: Any, chip: str | None = None, mode: str | None = None) -> Profile:
    """What a program would take on an Ascend; nothing is computed.

    Args:
        program: a Cell or function; a training step where gradients are taken in it.
        inputs: what it is called with; ``ms.parallel.blank(shape, dtype)`` will do.
        chip: "Ascend910" or "Ascend310"; by default the context's ``soc_version``.
        mode: "graph" or "eager"; by default the context's mode.

    Returns:
        Profile: ``.seconds``, ``.table``, ``.timeline``, ``.peak``, ``.trace(path)``, all simulated.

    Raises:
        ValueError: an unknown chip or mode. RuntimeError: the program does not fit into the chip's memory.

    Examples:
        >>> import msnb as ms
        >>> p = ms.ascend.profile(ms.nn.Dense(1024, 1024), ms.parallel.blank((8192, 1024)), mode="graph")
        >>> p.kernels[0].bound
        'cube'
    """
    soc = get_context("soc_version") if chip is None else chip
    if soc not in CHIPS:
        raise AttributeValueError(f"no chip is called {soc!r}; legal: {', '.join(map(repr, CHIPS))}.")
    how = ("graph" if get_context("mode") == GRAPH_MODE else "eager") if mode is None else mode
    if how not in ("graph", "eager"):
        raise AttributeValueError(f"mode={how!r} is not legal; legal: 'graph', 'eager'.")
    graph = inlined(trace(program, inputs, {}).graph)
    peak = check_memory(graph, CHIPS[soc].memory)
    return Profile(CHIPS[soc], how, _launched(graph, CHIPS[soc], how), peak)


def _launched(graph: Graph, chip: Chip, how: str) -> list[Kernel]:
    if how == "graph":
        return list(_kernels(graph, chip))
    alone = list(_kernels(graph, replace(chip, fuse=0, launch=0.0)))
    for kernel in alone:
        kernel.seconds = max(kernel.seconds, chip.eager)
    return alone


def _kernels(graph: Graph, chip: Chip) -> Iterator[Kernel]:
    """The kernels of a program; a loop's as often as it runs (a While, whose length only data tells, once)."""
    group, bodies = Grouping(chip), {}
    for node in graph.nodes:
        types = [v.type for v in (*node.inputs, *node.outputs)]
        if "control" in node.op.traits:
            made = group.wait(node.inputs, node.outputs, [t for t in types if isinstance(t, TensorType)][-1:])
            bodies[id(made)] = node
        elif all(isinstance(t, TensorType) and t.is_static for t in types):
            n = len(node.inputs)
            group.add(Task(node.op, node.attrs, tuple(node.inputs), node.outputs, tuple(types[:n]),  # type: ignore[arg-type]
                           tuple(types[n:]), name_of(node)))  # type: ignore[arg-type]  # fmt: skip
    for kernel in group.finish(graph.outputs):
        if kernel.kind == WAIT:
            yield from _body(bodies[id(kernel)], chip)
        elif kernel.seconds:
            yield kernel


def _body(node: Node, chip: Chip) -> Iterator[Kernel]:
    found = [list(_kernels(inlined(g), chip)) for g in node.graphs]
    if node.op.name == "if":
        found = [max(found, key=lambda ks: sum(k.seconds for k in ks))]
    for _ in range(node.attrs.get("length", 1)):
        for kernels in found:
            yield from (replace(k) for k in kernels)
