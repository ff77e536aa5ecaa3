"""``ms.show.data``: a pipeline's nodes with what each costs; the one that is to be made faster is named."""

from __future__ import annotations

from typing import Any

from msnb.base import ArgumentError, AttributeValueError
from msnb.dataset.pipeline import Dataset, config
from msnb.dataset.pipeline.pipeline_profile import NodeCost, PipelineProfile, measure
from msnb.notebook.charts.bars import Bar, bars_svg
from msnb.notebook.charts.html_fragments import Row, columns, number_word, table
from msnb.notebook.drawing.colors import ALARM
from msnb.notebook.views.view import Section, View

HEAD: Row = ("node", "rows", "µs per row", "rows/s alone", "share", "thread", "workers", "queue")


class DataView(View):
    """A measured pipeline.

    Args:
        dataset: what is measured.
        seconds: for about how long; one epoch at most.
        step: seconds that a training step takes, to compare.

    Attributes:
        measured: the numbers.
    """

    kind = "data"

    def __init__(self, dataset: Any, seconds: float = 2.0, step: float | None = None) -> None:
        if not isinstance(dataset, Dataset):
            raise ArgumentError(f"data takes a Dataset, got {type(dataset).__name__}.", hint="ms.show.data(ds)")
        for name, value in (("seconds", seconds), ("step", step)):
            if value is not None and not (isinstance(value, (int, float)) and value > 0):
                raise AttributeValueError(f"data: {name} is a number above 0, got {value!r}.")
        super().__init__("data pipeline")
        self.step = step
        self.measured: PipelineProfile = measure(dataset._node, config.effective_seed(), seconds)
        self.notes: tuple[str] = (self.verdict,)

    @property
    def bottleneck(self) -> str:
        """The node that limits the rate."""
        return self.measured.bottleneck.label

    @property
    def verdict(self) -> str:
        """One sentence: the rate, what limits it, what would help."""
        found, node = self.measured, self.measured.bottleneck
        share = node.seconds / max(sum(found.stages), 1e-12)
        said = f"{number_word(found.rate)} rows/s; {node.label} takes most: {share:.0%} of the work."
        if found.predicted is not None:
            said += f" With one more worker there: about {number_word(found.predicted)} rows/s."
        if self.step is not None:
            wait = max(0.0, 1 - self.step * found.rate) if found.rate else 1.0
            said += f" A step of {self.step * 1e3:.3g} ms would wait for data {wait:.0%} of its time."
        return said

    @property
    def svg(self) -> str:
        """A bar per node: its own time per row that comes out."""
        found = self.measured
        bars = [self._bar(node, node is found.bottleneck) for node in found.nodes]
        return bars_svg(f"{number_word(found.rate)} rows/s, limited by {self.bottleneck}", bars)

    def _bar(self, node: NodeCost, slowest: bool) -> Bar:
        spent = node.seconds / max(self.measured.rows, 1)
        word = f"queue {node.fill:.0%} full" if node.fill is not None else f"{number_word(spent * 1e6)} µs"
        colour = {"colour": ALARM} if slowest else {}
        return Bar(node.label, spent, word, **colour)

    @property
    def rows(self) -> list[Row]:
        """A line per node, sources first."""
        total = max(sum(self.measured.stages), 1e-12)
        return [
            (node.label, f"{node.rows:,}", number_word(node.seconds / max(node.rows, 1) * 1e6),
             number_word(node.rows / node.seconds) if node.seconds else "", f"{node.seconds / total:.0%}",
             "consumer" if node.stage == 0 else f"ahead {node.stage}", str(node.workers or ""),
             "" if node.fill is None else f"{node.fill:.0%}")
            for node in self.measured.nodes
        ]  # fmt: skip

    @property
    def text(self) -> str:
        """The table."""
        return columns(HEAD, self.rows)

    @property
    def sections(self) -> list[Section]:
        """The table in HTML."""
        return [("Nodes", table(HEAD, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """The numbers."""
        found = self.measured
        return {"rate": found.rate, "bottleneck": self.bottleneck, "predicted": found.predicted,
                "nodes": [vars(node) for node in found.nodes]}  # fmt: skip
