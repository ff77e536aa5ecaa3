"""``ms.show.timeline``: what a device runs for a program, in order: bytes, arithmetic, time.

    step     how            launches  grid x block   bytes moved   of the least   flops   at least   line
    k0       generated ...         1  1056 x 256          1.0 GB           1.00    2e+09     345 us   cell [3] line 4

Times are predicted from the data sheet of a chip (bytes against its bandwidth, arithmetic against its peak, the slower
one counts), the same on every run, and also for a chip that is not there; on a real GPU they are measured when asked
for, step by step, between CUDA events. *Bytes moved* are those of the generated code; the *least* is every operand and
result once.
"""

from __future__ import annotations

from typing import Any

from msnb.base import ArgumentError, device_registry
from msnb.devices.inspection import DeviceMachine, LaunchCost
from msnb.graph.compile import CompiledProgram
from msnb.notebook.charts.html_fragments import Row, bytes_word, columns, count, number_word, table
from msnb.notebook.charts.timeline import Lane, lanes_svg
from msnb.notebook.drawing.colors import AMBER, BLUE
from msnb.notebook.programs.instrumented_run import place_of
from msnb.notebook.views.roofline_view import seconds_word
from msnb.notebook.views.view import Section, View

HEAD = ("step", "how it runs", "launches", "grid x block", "moved", "of the least", "flops", "predicted", "line")
NONE = 'This device tells no steps of its programs: ms.set_context(device_target="GPU") or "SimulatedGPU" does.'
GENERATED, OTHERS = "kernels", "libraries, copies"


class TimelineView(View):
    """The steps of a compiled program on a device.

    Attributes:
        steps: what each moves and computes.
        chip: whose data sheet predicts; None where nothing is known of it.
        predicted, measured: seconds of each step; empty where unknown or not asked for.
    """

    predicted: list[float]

    kind = "timeline"

    def __init__(
        self, compiled: CompiledProgram, title: str, chip: DeviceMachine | None = None, times: bool = False,
        repeats: int = 5,
    ) -> None:  # fmt: skip
        super().__init__(title)
        if repeats < 1:
            raise ArgumentError(f"timeline needs at least one repeat, got {repeats}.")
        device = device_registry.current()
        self.steps: list[LaunchCost] = device.launches_of(compiled.executable)
        self.chip: DeviceMachine | None = chip or device.machine
        self.measured: list[float] = device.seconds_of(compiled.executable, repeats) if times else []
        chosen = self.chip
        self.predicted = [] if chosen is None else [chosen.seconds(s.moved, s.flops, s.dtype) for s in self.steps]

    @property
    def launches(self) -> int:
        """How often something is launched in a run."""
        return sum(step.launches for step in self.steps)

    @property
    def moved(self) -> int:
        """Bytes that all steps move."""
        return sum(step.moved for step in self.steps)

    @property
    def summary(self) -> str:
        """All steps in one sentence."""
        if not self.steps:
            return NONE
        told = f"{count(len(self.steps), 'step')}, {count(self.launches, 'launch')}, {bytes_word(self.moved)} moved"
        if self.chip is not None:
            told += f"; predicted {seconds_word(sum(self.predicted))} on {self.chip.name}"
        return told + (f"; measured {seconds_word(sum(self.measured))}" if self.measured else "")

    @property
    def head(self) -> Row:
        """Titles of the table's columns."""
        return (*HEAD[:-1], *(("measured",) if self.measured else ()), HEAD[-1])

    @property
    def rows(self) -> list[Row]:
        """A line per step."""
        return [self._row(k, step) for k, step in enumerate(self.steps)]

    def _row(self, k: int, step: LaunchCost) -> Row:
        shape = "; ".join(f"{_size(grid)} x {_size(block)}" for _, grid, block in step.shapes)
        ratio = f"{step.moved / step.least:.2f}" if step.least else ""
        guess = seconds_word(self.predicted[k]) if self.predicted else ""
        took = (seconds_word(self.measured[k]),) if self.measured else ()
        how = step.how.replace(f" {step.shapes[0][0]}", "") if step.shapes else step.how  # a hash
        place = "" if step.node is None else place_of(step.node)
        moved, flops = bytes_word(step.moved), number_word(step.flops)
        return (step.name, how, str(step.launches), shape, moved, ratio, flops, guess, *took, place)

    @property
    def text(self) -> str:
        """The sentence and the table."""
        return f"{self.title}: {self.summary}\n\n{columns(self.head, self.rows)}" if self.steps else NONE

    @property
    def svg(self) -> str:
        """Steps over time: measured where that was asked for."""
        times, word = (self.measured, "measured") if self.measured else (self.predicted, "predicted")
        events: dict[str, list[tuple[float, float, str]]] = {GENERATED: [], OTHERS: []}
        now = 0.0
        for step, seconds in zip(self.steps, times):
            events[GENERATED if step.shapes else OTHERS].append((now, now + seconds, step.name))
            now += seconds
        lanes = [Lane(name, events[name], colour[1]) for name, colour in ((GENERATED, BLUE), (OTHERS, AMBER))]
        return lanes_svg(f"{self.title}: {self.summary}", lanes, now, word)

    @property
    def sections(self) -> list[Section]:
        """The table."""
        return [(self.summary, table(self.head, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """The table, and the numbers behind it."""
        return {
            "summary": self.summary,
            "steps": [dict(zip(self.head, row)) for row in self.rows],
            "predicted": self.predicted,
            "measured": self.measured,
        }


def _size(size: tuple[int, int, int]) -> str:
    """``8`` or ``8, 4``: axes of one are left out."""
    used = [str(n) for n in size]
    while len(used) > 1 and used[-1] == "1":
        used.pop()
    return ", ".join(used)
