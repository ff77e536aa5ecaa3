"""Sunk data: several steps per call of the compiled program, the next rows prepared while it runs.

    thread                                   main
    row row row ... -> stack [16, ...] --+
                       stack [16, ...] --+--> queue of two --> one call: Scan over 16 steps --> 16 losses
                       rows that do not fit into a block ----> one call each

A sink is what MindSpore calls an epoch of sunk data: all steps between two calls of the callbacks. It is cut into
blocks of at most ``BLOCK`` rows of one shape; what is left runs step by step, so two programs serve any number of rows.
The state after every block is what as many single steps would have left. In eager mode rows are read ahead and steps
run one by one.

An error of the data set is raised where its row would have been used: the steps before it are done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from msnb.api.transforms.scan import NotAScan, over_rows
from msnb.base import events, in_graph_mode
from msnb.core import Tensor
from msnb.dataset.pipeline.workers.prefetch import read_ahead
from msnb.nn.cells.cell import Cell
from msnb.parallel.context import wanted

BLOCK = 16
BLOCK_BYTES = 64 << 20
_AHEAD = 2
Row = tuple[Any, ...]


class Block:
    """Rows to be run in one call.

    Attributes:
        rows: how many.
        columns: the rows stacked, one tensor per column; a single row as it is when ``stacked`` is False.
        last: the last row.
    """

    def __init__(self, rows: list[Row], stacked: bool) -> None:
        self.rows: int = len(rows)
        self.stacked: bool = stacked
        self.last: Row = rows[-1]
        self.columns: Row = tuple(map(_stack, zip(*rows))) if stacked else rows[0]


def _stack(column: tuple[Any, ...]) -> Tensor:
    return Tensor(np.stack([x.asnumpy() if isinstance(x, Tensor) else np.asarray(x) for x in column]))


def blocks(sinks: Iterable[Iterator[Row]], hint: int, together: bool) -> Iterator[Block | None]:
    """Cut rows into blocks.

    Args:
        sinks: the rows of every sink.
        hint: about how many rows a sink has.
        together: whether rows are stacked at all.

    Returns:
        The blocks; None is the end of a sink.
    """
    for rows in sinks:
        yield from _one_sink(rows, hint, together)
        yield None


def _one_sink(rows: Iterator[Row], hint: int, together: bool) -> Iterator[Block]:
    waiting: list[Row] = []
    try:
        for row in rows:
            if waiting and _signature(row) != _signature(waiting[0]):
                yield from _singles(waiting)
                waiting = []
            waiting.append(row)
            limit = min(hint, _limit(row)) if together else 1
            if len(waiting) >= limit:
                yield Block(waiting, stacked=limit > 1)
                waiting = []
    except Exception:
        yield from _singles(waiting)  # the error comes after the steps of the rows before it
        raise
    yield from _singles(waiting)


def _singles(rows: list[Row]) -> Iterator[Block]:
    for row in rows:
        yield Block([row], stacked=False)


def _signature(row: Row) -> Any:
    return [x._type if isinstance(x, Tensor) else type(x) for x in row]


def _limit(row: Row) -> int:
    """How many rows a block has: 1 where a row holds something that is no tensor."""
    if not row or not all(isinstance(x, Tensor) for x in row):
        return 1
    size: int = sum(x.size * x.dtype.itemsize for x in row)
    return max(1, min(BLOCK, BLOCK_BYTES // max(size, 1)))


class SinkSteps(Cell):
    """Several steps of a network as one program.

    Args:
        network: one step; it keeps its names, this Cell does not own it.
    """

    def __init__(self, network: Cell) -> None:
        super().__init__(auto_prefix=False)
        self.__dict__["_step"] = network
        self.__dict__["possible"] = True

    def construct(self, *columns: Any) -> Any:
        return over_rows(self._step, columns)


class Sink:
    """Runs the steps of a training sink by sink.

    Args:
        network: one step.
        steps: the same, several rows at once.
        sinks: the rows of every sink.
        hint: about how many rows a sink has.
        call: runs a network on a row (and checks the row).
    """

    def __init__(
        self, network: Cell, steps: SinkSteps, sinks: Iterable[Iterator[Row]], hint: int,
        call: Callable[[Cell, Row], Any],
    ) -> None:  # fmt: skip
        self._network, self._steps, self._call = network, steps, call
        together = in_graph_mode() and steps.possible and wanted.key is None  # a plan does not split loops
        self._queue = read_ahead(blocks(sinks, hint, together), _AHEAD)

    def run(self) -> Iterator[tuple[int, Row, Any]]:
        """One sink: per call the number of its steps, its last row, and the outputs (stacked if several)."""
        for block in iter(partial(next, self._queue), None):
            for rows, outputs in self._outputs(block):
                yield rows, block.last, outputs

    def _outputs(self, block: Block) -> Iterator[tuple[int, Any]]:
        if not block.stacked:
            yield 1, self._call(self._network, block.columns)
            return
        if self._steps.possible:
            try:
                found = self._call(self._steps, block.columns)
            except NotAScan as reason:
                self._steps.__dict__["possible"] = False
                events.notice(f"dataset_sink_mode: {reason.sentence}", key="dataset_sink_mode")
            else:
                yield block.rows, found
                return
        for i in range(block.rows):
            yield 1, self._call(self._network, tuple(c[i] for c in block.columns))

    def close(self) -> None:
        """End the thread that reads ahead."""
        self._queue.close()


def last_of(outputs: Any, rows: int) -> Any:
    """What the last of several steps gave."""
    if rows == 1:
        return outputs
    if isinstance(outputs, (tuple, list)):
        return type(outputs)(last_of(x, rows) for x in outputs)
    return outputs[rows - 1] if isinstance(outputs, Tensor) else outputs


def each_of(outputs: Any, rows: int) -> Iterator[Any]:
    """What each of several steps gave."""
    if rows == 1:
        yield outputs
        return
    for i in range(rows):
        yield _at(outputs, i)


def _at(outputs: Any, i: int) -> Any:
    if isinstance(outputs, (tuple, list)):
        return type(outputs)(_at(x, i) for x in outputs)
    return outputs[i] if isinstance(outputs, Tensor) else outputs
