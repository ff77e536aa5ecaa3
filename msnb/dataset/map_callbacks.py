"""Callbacks of `map`: what a program wants to know of the rows that pass there.

    ds_begin                                            once for each iterator
      ds_epoch_begin                                    every epoch
        ds_step_begin, ds_step_end                      rows 1, 1 + step_size, 1 + 2 * step_size, ...
      ds_epoch_end

`WaitedDSCallback`, which is a callback of training too, stands in `msnb.train`.

Source: `mindspore.dataset.DSCallback`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from msnb.base import ArgumentError
from msnb.dataset.pipeline.epoch_rng import Epoch
from msnb.dataset.pipeline.map import Map
from msnb.dataset.pipeline.nodes import Node
from msnb.dataset.pipeline.rows import Row, check_count


@dataclass
class DatasetRunContext:
    """Where the rows are: number of the epoch (from 1), of the row in it, and of the row in all epochs."""

    cur_epoch_num: int = 0
    cur_step_num_in_epoch: int = 0
    cur_step_num: int = 0


class DSCallback:
    """Base of callbacks of `map`; subclasses override what they want to hear of.

    Args:
        step_size: rows from one `ds_step_begin` to the next, at least 1.

    Source: `mindspore.dataset.DSCallback`.

    >>> from msnb.dataset import NumpySlicesDataset
    >>> class Heard(DSCallback):
    ...     def ds_step_begin(self, ds_run_context):
    ...         print("row", ds_run_context.cur_step_num)
    >>> data = NumpySlicesDataset([1, 2, 3], "x", shuffle=False).map(lambda x: x, "x", callbacks=Heard(2))
    >>> rows = list(data)
    row 1
    row 3
    """

    def __init__(self, step_size: int = 1) -> None:
        self.step_size: int = check_count(step_size, "step_size")

    def ds_begin(self, ds_run_context: DatasetRunContext) -> None:
        """Before the first row of an iterator."""

    def ds_epoch_begin(self, ds_run_context: DatasetRunContext) -> None:
        """Before the first row of an epoch."""

    def ds_epoch_end(self, ds_run_context: DatasetRunContext) -> None:
        """After the last row of an epoch."""

    def ds_step_begin(self, ds_run_context: DatasetRunContext) -> None:
        """Before a row is mapped."""

    def ds_step_end(self, ds_run_context: DatasetRunContext) -> None:
        """After a row was mapped."""


class CallbackMap(Map):
    """A map that calls back; what is counted is shared by the copies that passes make."""

    def __init__(self, node: Map, callbacks: Sequence[DSCallback]) -> None:
        super().__init__(node.parent, node.operations, node.inputs, node.outputs, node.workers, node.processes)
        self.calls: Calls = Calls(callbacks)

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        for row in self._mapped(epoch, self.calls.entering(self.parent.numbered(epoch, start))):
            self.calls.step("ds_step_end")
            yield row

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        """None: rows come one after the other, as callbacks count them."""
        return None


class Calls:
    """The callbacks of a map, and how far its rows are.

    Args:
        callbacks: whom to call.
    """

    def __init__(self, callbacks: Sequence[DSCallback]) -> None:
        self.callbacks: tuple[DSCallback, ...] = tuple(callbacks)
        self.begin()

    def begin(self) -> None:
        """An iterator was made."""
        self.epoch, self.before = 0, 0
        self.passed: dict[str, int] = {"ds_step_begin": 0, "ds_step_end": 0}

    def epoch_begin(self) -> None:
        """The first row of an epoch is asked for."""
        if not self.epoch:
            self._call("ds_begin", 0)
        self.epoch += 1
        self.before += self.passed["ds_step_end"]
        self.passed = dict.fromkeys(self.passed, 0)
        self._call("ds_epoch_begin", 0)

    def epoch_end(self) -> None:
        """All rows of an epoch were given out."""
        self._call("ds_epoch_end", self.passed["ds_step_end"])

    def entering(self, numbered: Iterator[tuple[int, Row]]) -> Iterator[tuple[int, Row]]:
        """These rows, each told before it is mapped."""
        for item in numbered:
            self.step("ds_step_begin")
            yield item

    def step(self, name: str) -> None:
        """A row begins, or is done."""
        self.passed[name] += 1
        self._call(name, self.passed[name])

    def _call(self, name: str, step: int) -> None:
        context = DatasetRunContext(self.epoch, step, self.before + step)
        for callback in self.callbacks:
            if "_step_" not in name or (step - 1) % callback.step_size == 0:
                getattr(callback, name)(context)


def as_callbacks(callbacks: Any) -> tuple[DSCallback, ...]:
    """The argument ``callbacks`` of `map`: one, a list, or None."""
    listed = () if callbacks is None else callbacks if isinstance(callbacks, (list, tuple)) else (callbacks,)
    for callback in listed:
        if not isinstance(callback, DSCallback):
            raise ArgumentError(f"map: callbacks are DSCallbacks, got {type(callback).__name__}")
    return tuple(listed)


def _calls(node: Node) -> Iterator[Calls]:
    if isinstance(node, CallbackMap):
        yield node.calls
    for parent in node.parents:
        yield from _calls(parent)


def begin(node: Node) -> None:
    """An iterator over a chain was made."""
    for calls in _calls(node):
        calls.begin()


def told(node: Node, rows: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    """The rows of an epoch; maps hear of its begin and end."""
    heard = list(_calls(node))
    return _told(heard, rows) if heard else rows()


def _told(heard: Sequence[Calls], rows: Callable[[], Iterator[Row]]) -> Iterator[Row]:
    for calls in heard:
        calls.epoch_begin()
    yield from rows()
    for calls in heard:
        calls.epoch_end()
