"""Where an iterator is, as a small JSON value: enough to go on there in another process.

    {"version": 1, "seed": 7, "epoch": 3, "row": 118, "marks": {"2": [118, 305]}, "pipeline": "5e3a90c1"}

Every row is a function of (seed, epoch, number of the row), so these three say which row is next. `marks` save reading
what came before where only a pass can tell: the node at place 2, a filter, had read 305 rows when it gave out 118. The
number of workers is no part of it: another number goes on with the same rows.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.base.files.json_schema import TEXT, Int, Misfit, Record, Rows, Table, misfit
from msnb.dataset.pipeline.nodes import Node, Prefetch

VERSION = 1
_MOST = 2**63
_NUMBER = Int(0, _MOST)
_PAGE = Record({
    "version": Int(VERSION, VERSION), "seed": Int(0, 2**32), "epoch": _NUMBER, "row": _NUMBER,
    "marks": Table(Rows(_NUMBER), "a table of places"), "pipeline": TEXT,
})  # fmt: skip


@dataclass(frozen=True)
class IteratorState:
    """The next row of an iterator.

    Args:
        seed, epoch, row: which row; row 0 is the first of its epoch.
        marks: place -> (rows given out, rows read); see `epoch_rng.EpochProgress`.
    """

    seed: int
    epoch: int
    row: int = 0
    marks: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def page(self, node: Node) -> dict[str, Any]:
        """The state as a JSON value, for the pipeline that ends in `node`."""
        marks = {place: list(entry) for place, entry in self.marks.items()}
        return {"version": VERSION, "seed": self.seed, "epoch": self.epoch, "row": self.row, "marks": marks,
                "pipeline": fingerprint(node)}  # fmt: skip

    @classmethod
    def read(cls, page: Any, node: Node) -> IteratorState:
        """The state that a JSON value holds.

        Raises:
            TypeError, ValueError: it is no state. DatasetError: it is the state of another pipeline.
        """
        hint = "pass what it.state() gave: json.loads of the text that was kept."
        if not isinstance(page, dict):
            raise ArgumentError(f"state expects the dict that it.state() gave, got {type(page).__name__}", hint=hint)
        wrong = misfit(_PAGE, page, "the state")
        if wrong is None:
            odd = [Misfit(f"marks.{p}", entry, "a list of 2") for p, entry in page["marks"].items() if len(entry) != 2]
            wrong = odd[0] if odd else None
        if wrong is not None:
            raise AttributeValueError(f"this is no state of an iterator over a dataset: {wrong}.", hint=hint)
        if page["pipeline"] != fingerprint(node):
            raise DatasetError(
                "the state was taken from another pipeline: its operations, columns or number of rows are not these.",
                hint="build the pipeline as it was; only num_parallel_workers, python_multiprocessing and prefetch may "
                "change.",
            )
        marks = {place: (int(out), int(read)) for place, (out, read) in page["marks"].items()}
        return cls(page["seed"], page["epoch"], page["row"], marks)


def fingerprint(node: Node) -> str:
    """Eight hexadecimal digits of what a chain does, workers and reading ahead left out."""
    return f"{zlib.crc32(_text(node).encode()):08x}"


def _text(node: Node) -> str:
    while isinstance(node, Prefetch):
        node = node.parent
    below = ", ".join(map(_text, node.parents))
    count = "" if node.parents else f" of {node.count()}"
    return f"{node.describe()}{list(node.columns)}{count}({below})"
