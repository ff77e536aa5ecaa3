"""``ms.show.aicore``: a tiled product on one core of the simulated Ascend, queue by queue.

    MTE2    |load A,B|load A,B|load A,B|            HBM to L1
    MTE1         |A|B|    |A|B|    |A|B|            L1 to L0A and L0B
    cube             |multiply|multiply|multiply|   L0 to L0C
    vector                              |cast|      L0C to UB
    MTE3                                     |store|

The numbers are ``msnb.devices.ascend.aicore``'s: this page only draws them.
"""

from __future__ import annotations

from typing import Any

from msnb.devices.ascend.aicore import BUFFERS, QUEUES, CoreRun
from msnb.devices.ascend.chip import ASCEND910, CORE
from msnb.notebook.charts.bars import Bar, bars_svg
from msnb.notebook.charts.html_fragments import Row, bytes_word, columns, table
from msnb.notebook.charts.timeline import Lane, lanes_svg
from msnb.notebook.views.view import Section, View

MOST = 1500  # blocks a picture draws
COLOURS = {"MTE2": "#5f8fd0", "MTE1": "#4a9d8e", "cube": "#8f70c4", "vector": "#b07d16", "MTE3": "#a65b5b"}
QUEUE_HEAD, BUFFER_HEAD = ("queue", "pieces", "busy cycles", "busy"), ("buffer", "most in use", "size", "share")
_SIZES = {"L1": CORE.l1, "L0A": CORE.l0a, "L0B": CORE.l0b, "L0C": CORE.l0c, "UB": CORE.ub}


class AicoreView(View):
    """A product on one core as a picture.

    Attributes:
        run: events, occupancy, utilisation.
    """

    kind = "aicore"

    def __init__(self, run: CoreRun) -> None:
        super().__init__(f"[{run.m}, {run.k}] x [{run.k}, {run.n}] on one core, simulated")
        self.run = run

    @property
    def summary(self) -> str:
        """Cycles and utilisation in one line."""
        tile = "x".join(map(str, self.run.tile))
        how = "double buffering" if self.run.halves > 1 else "one buffer each"
        return (f"{self.run.cycles:.0f} cycles (simulated), the cube does useful work in {self.run.utilisation:.0%} of "
                f"them; tiles {tile}, {how}")  # fmt: skip

    @property
    def queue_rows(self) -> list[Row]:
        """Per queue: pieces of work and how busy it is."""
        out: list[Row] = []
        for q in QUEUES:
            mine = [e for e in self.run.events if e.queue == q and e.end > e.start]
            busy = sum(e.end - e.start for e in mine)
            out.append((q, str(len(mine)), f"{busy:.0f}", f"{self.run.busy(q):.0%}"))
        return out

    @property
    def buffer_rows(self) -> list[Row]:
        """Per buffer: the most that is in use at once."""
        most = {b: max((n for _, n in self.run.occupancy(b)), default=0) for b in BUFFERS}
        return [(b, bytes_word(most[b]), bytes_word(_SIZES[b]), f"{most[b] / _SIZES[b]:.0%}") for b in BUFFERS]

    @property
    def text(self) -> str:
        """The summary and both tables."""
        return "\n\n".join((self.summary, columns(QUEUE_HEAD, self.queue_rows), columns(BUFFER_HEAD, self.buffer_rows)))

    @property
    def svg(self) -> str:
        """Five queues over simulated time; a long run is drawn from its beginning on."""
        shown = [e for e in self.run.events if e.end > e.start][:MOST]
        end = max((e.end for e in shown), default=1.0)
        lanes = [Lane(q, [(e.start / ASCEND910.clock, e.end / ASCEND910.clock, e.what) for e in shown if e.queue == q],
                      COLOURS[q]) for q in QUEUES]  # fmt: skip
        return lanes_svg(f"{self.title}: {self.run.cycles:.0f} cycles", lanes, end / ASCEND910.clock)

    @property
    def buffers_svg(self) -> str:
        """How full each buffer gets."""
        bars = [Bar(row[0], float(row[3].rstrip("%")), f"{row[1]} of {row[2]}") for row in self.buffer_rows]
        return bars_svg("the most in use at once, in percent of the buffer", bars)

    @property
    def figures(self) -> list[str]:
        """Queues, buffers."""
        return [self.svg, self.buffers_svg]

    @property
    def sections(self) -> list[Section]:
        """Both tables."""
        return [(f"Queues: {self.summary}", table(QUEUE_HEAD, self.queue_rows)),
                ("Buffers", table(BUFFER_HEAD, self.buffer_rows))]  # fmt: skip

    @property
    def data(self) -> dict[str, Any]:
        """All numbers."""
        return {
            "summary": self.summary, "cycles": self.run.cycles, "utilisation": self.run.utilisation,
            "events": [[e.queue, e.start, e.end, e.what] for e in self.run.events],
            "occupancy": {b: [list(p) for p in self.run.occupancy(b)] for b in BUFFERS},
        }  # fmt: skip
