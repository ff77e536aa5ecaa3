"""``ms.show.mem(..., arena=True)``: the arena of a compiled program, as its memory plan laid it out.

``ms.show.mem`` tells what a program needs by the life of its values. Here is what the device's compiler made of it:
values inside a fused kernel never get memory, a result is written over an operand that nobody reads again, libraries
ask for scratch memory. Arguments, parameters and results are the caller's and lie outside.
"""

from __future__ import annotations

from typing import Any

from msnb.base import device_registry
from msnb.devices.inspection import PlannedBuffer
from msnb.graph.compile import CompiledProgram
from msnb.notebook.charts.bars import Span, memory_svg
from msnb.notebook.charts.html_fragments import Row, bytes_word, table
from msnb.notebook.drawing.box_labels import shortened
from msnb.notebook.drawing.colors import AMBER, BLUE
from msnb.notebook.views.memory_view import MOST_ROWS, running, told
from msnb.notebook.views.view import Section, View

HEAD = ("bytes", "value", "at byte", "from", "to")
NONE = "No memory is planned on this setting: values are NumPy arrays. ms.set_context(jit_level='O1') plans an arena."


class ArenaView(View):
    """The memory plan of a compiled program.

    Attributes:
        values: what lies in the arena: name, offset, bytes, first and last instruction.
        live: bytes in use at each instruction.
        size: bytes of the arena.
    """

    kind = "memory"

    def __init__(self, compiled: CompiledProgram, title: str) -> None:
        super().__init__(title)
        self.values: list[PlannedBuffer] = device_registry.current().arena_of(compiled.executable)
        self.size: int = max((v.offset + v.bytes for v in self.values), default=0)
        steps = max((v.last for v in self.values), default=-1) + 1
        self.live: list[int] = running(((v.bytes, v.first, v.last) for v in self.values), steps)

    @property
    def peak(self) -> int:
        """The first instruction at which most bytes are in use."""
        return self.live.index(max(self.live)) if self.live else 0

    @property
    def holders(self) -> list[PlannedBuffer]:
        """What is in use there, largest first."""
        alive = [v for v in self.values if v.first <= self.peak <= v.last]
        return sorted(alive, key=lambda v: (-v.bytes, v.offset))

    @property
    def summary(self) -> str:
        """Size, peak, what reuse saves."""
        if not self.values:
            return NONE
        total = sum(v.bytes for v in self.values)
        return (
            f"arena {bytes_word(self.size)}; at most {bytes_word(max(self.live))} in use, at instruction {self.peak} "
            f"of {len(self.live)}; without reuse {bytes_word(total)}."
        )

    @property
    def rows(self) -> list[Row]:
        """Who holds the peak."""
        return [
            (bytes_word(v.bytes), v.name, str(v.offset), str(v.first), str(v.last)) for v in self.holders[:MOST_ROWS]
        ]

    @property
    def text(self) -> str:
        """The summary and who holds the peak."""
        return told(self.summary, HEAD, self.rows, len(self.holders))

    @property
    def svg(self) -> str:
        """Address over the program's instructions."""
        held = set(self.holders)
        spans = [Span(_label(v), v.offset, v.bytes, v.first, v.last, _look(v), v in held) for v in self.values]
        word = f"{bytes_word(max(self.live, default=0))} in use"
        return memory_svg(f"arena of {self.title}", spans, len(self.live), self.size, self.peak, word)

    @property
    def sections(self) -> list[Section]:
        """The holders as a table."""
        return [(self.summary, table(HEAD, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """Values and bytes per instruction."""
        buffers = [[_label(v), v.bytes, v.first, v.last, v.offset] for v in self.values]
        return {"summary": self.summary, "live": self.live, "inputs": 0, "buffers": buffers}


def _label(v: PlannedBuffer) -> str:
    return f"{shortened(v.name, 60)} {bytes_word(v.bytes)}"


def _look(v: PlannedBuffer) -> tuple[str, str]:
    """Scratch memory of libraries in another colour than values."""
    return AMBER if v.name.startswith("scratch") else BLUE
