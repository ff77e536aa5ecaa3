"""Rows that wait for the program: `sync_wait` holds them back until `sync_update` has told what training found.

    batches      0 .. num_batch - 1    | num_batch ..                 | ...
    may leave    from the start        | after the first sync_update  | after the second

Augmentation that follows the loss is what it is for: the callback gets the data of each update before the next row is
made. Whatever stands behind makes one row at a time, when it is asked for; what would work ahead is refused.

Source: `mindspore.dataset.Dataset.sync_wait`
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, DatasetError
from msnb.dataset.pipeline.epoch_rng import Epoch
from msnb.dataset.pipeline.nodes import Node, UnaryNode
from msnb.dataset.pipeline.rows import Row, check_count


class SyncWait(UnaryNode):
    """Gives rows out as updates allow it.

    Attributes:
        name: of the condition; number: batches per update, of so many rows; passed, allowed: rows that left, and may.
    """

    label = "sync_wait"

    def __init__(self, parent: Node, name: str, number: int, callback: Callable[[Any], Any] | None) -> None:
        super().__init__(parent)
        if not isinstance(name, str):
            raise ArgumentError(f"sync_wait: condition_name must be a str, got {type(name).__name__}")
        if callback is not None and not callable(callback):
            raise ArgumentError(f"sync_wait: callback must be a function, got {type(callback).__name__}")
        if any(node.name == name for node in waits(parent)):
            raise AttributeValueError(f"sync_wait: condition {name!r} stands twice in this data set")
        self.name: str = name
        self.number: int = check_count(number, "num_batch", least=1)
        self.rows_per_batch: int = 1
        self.callback: Callable[..., Any] | None = callback
        self.passed: int = 0
        self.allowed: int = self.number

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        self.allowed = max(self.allowed, self.passed + self.number * self.rows_per_batch)
        for index, row in enumerate(self.parent.rows(epoch, start), start):
            if self.passed >= self.allowed:
                raise DatasetError(
                    f"sync_wait: row {index} is asked for before sync_update({self.name!r})",
                    hint="call dataset.sync_update(condition_name=...) in every step; what is behind sync_wait must "
                    "not work ahead: num_parallel_workers=1, no prefetch, no shuffle",
                )
            self.passed += 1
            yield row

    def update(self, number: int | None, data: Any) -> None:
        """An update of the program: so many rows more may leave."""
        more = self.number if number is None else check_count(number, "num_batch", least=1)
        if self.callback is not None:
            self.callback(data)
        self.allowed = self.passed + more * self.rows_per_batch


def waits(node: Node) -> Iterator[SyncWait]:
    """All that wait in a chain."""
    if isinstance(node, SyncWait):
        yield node
    for parent in node.parents:
        yield from waits(parent)


def count_batches(node: Node, size: Any) -> None:
    """What waits below a ``batch`` counts batches from here on."""
    for wait in waits(node) if isinstance(size, int) else ():
        wait.rows_per_batch = size
        wait.allowed = wait.number * size


def update(node: Node, name: str, number: int | None, data: Any) -> None:
    """``Dataset.sync_update``.

    Raises:
        AttributeValueError: no such condition.
    """
    known = {wait.name: wait for wait in waits(node)}
    if name not in known:
        raise AttributeValueError(f"sync_update: there is no condition {name!r}; known: {', '.join(known) or 'none'}")
    known[name].update(number, data)
