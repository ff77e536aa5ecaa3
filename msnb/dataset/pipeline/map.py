"""`map`: a list of operations over some columns of every row.

    columns        (image, label, id)        input_columns=[image, label]   output_columns=[pair]
    op 1, op 2     (image, label) -> ... -> (pair,)
    result         (pair, id)                replaced columns come first, untouched ones follow; with as many outputs
                                             as inputs each output takes the place of its input

An operation receives one array per input column and returns one array (or anything that becomes one) or a tuple of
them; the next operation receives those.
"""

from __future__ import annotations

import inspect
import itertools
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, DatasetError, events
from msnb.dataset.pipeline import config
from msnb.dataset.pipeline.epoch_rng import Epoch, row_draws
from msnb.dataset.pipeline.nodes import Node, UnaryNode, failure
from msnb.dataset.pipeline.rows import Array, Operation, Row, name_of, opened, positions, to_column
from msnb.dataset.pipeline.workers import prefetch, worker_pool


def check_operations(operations: Any, what: str) -> tuple[Operation, ...]:
    """One callable or a list of them; a class that was not called is the usual slip."""
    listed = tuple(operations) if isinstance(operations, (list, tuple)) else (operations,)
    if not listed:
        raise ArgumentError(f"{what} needs at least one operation, got an empty list")
    for operation in listed:
        if inspect.isclass(operation):
            raise ArgumentError(
                f"{what} expects operation objects, got the class {operation.__name__}",
                hint=f"call it: {operation.__name__}(...)",
            )
        if not callable(operation):
            raise ArgumentError(f"{what} expects callables, got {type(operation).__name__} {operation!r}")
    return listed


def _width(operation: Operation) -> int:
    """How many columns an operation takes by its signature (at least one)."""
    try:
        parameters = inspect.signature(operation).parameters.values()
    except (TypeError, ValueError):
        return 1
    needed = [p for p in parameters if p.kind <= p.POSITIONAL_OR_KEYWORD and p.default is p.empty]
    return max(1, len(needed))


class ColumnNode(UnaryNode):
    """A node that takes some columns of its parent's rows and gives others, which have a plan: see ``_arrange``."""

    def __init__(self, parent: Node, what: str, inputs: tuple[str, ...], outputs: Sequence[str]) -> None:
        self.inputs: tuple[str, ...] = inputs
        self.outputs: tuple[str, ...] = tuple(outputs) or inputs
        self.taken: tuple[int, ...] = positions(inputs, parent.columns, what)
        self.plan: list[tuple[str, bool, int]] = _arrange(parent.columns, inputs, self.outputs)
        names = [name for name, _, _ in self.plan]
        if len(set(names)) != len(names):
            raise AttributeValueError(f"{what}: the result would have two columns of one name: {names}")
        super().__init__(parent, names)


class Map(ColumnNode):
    """Applies operations in turn; see the head of this file."""

    label = "map"

    def __init__(
        self, parent: Node, operations: Sequence[Operation], inputs: Sequence[str], outputs: Sequence[str],
        workers: int, processes: bool = False,
    ) -> None:  # fmt: skip
        self.operations: tuple[Operation, ...] = tuple(operations)
        self.workers: int = workers
        self.processes: bool = processes
        super().__init__(parent, "map", tuple(inputs) or parent.columns[: _width(self.operations[0])], outputs)

    def rows(self, epoch: Epoch, start: int = 0) -> Iterator[Row]:
        return self._mapped(epoch, self.parent.numbered(epoch, start))

    def pick(self, epoch: Epoch, numbers: Sequence[int]) -> Iterator[Row] | None:
        found = self.parent.numbered_pick(epoch, numbers)
        return None if found is None else self._mapped(epoch, found)

    def _mapped(self, epoch: Epoch, numbered: Iterator[tuple[int, Row]]) -> Iterator[Row]:
        mode = config.get_error_samples_mode()
        if self.processes and not mode:
            return self._by_processes(epoch, numbered)
        if not mode:
            return prefetch.ordered_map(lambda item: self.row(epoch, *item), numbered, self.workers)
        if self.processes:
            events.notice("map: with config.set_error_samples_mode operations run in threads, not in processes.")
        tried = prefetch.ordered_map(lambda item: self._tried(epoch, *item), numbered, self.workers)
        return _without_errors(tried, mode)

    def _tried(self, epoch: Epoch, index: int, row: Row) -> Row | DatasetError:
        try:
            return self.row(epoch, index, row)
        except DatasetError as error:
            return error

    def row(self, epoch: Epoch, index: int, row: Row) -> Row:
        """What becomes of a row."""
        return self.joined(row, self.made(epoch, index, tuple(row[i] for i in self.taken)))

    def _by_processes(self, epoch: Epoch, numbered: Iterator[tuple[int, Row]]) -> Iterator[Row]:
        """Only the columns that are taken travel; the others wait here."""
        waiting: deque[Row] = deque()

        def items() -> Iterator[tuple[int, Row]]:
            for index, row in numbered:
                waiting.append(row)
                yield index, tuple(row[i] for i in self.taken)

        job = worker_pool.Job(worker_pool.alone(self), "made", epoch, "map", self.operations[0], worker_pool.first)
        for outputs in worker_pool.ordered_map(self, job, items(), self.workers):
            yield self.joined(waiting.popleft(), outputs)

    def joined(self, row: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
        """The columns of a row with these outputs; or of many rows, column by column."""
        return tuple(outputs[i] if fresh else row[i] for _, fresh, i in self.plan)

    def made(self, epoch: Epoch, index: int, taken: Row) -> list[Array]:
        """What the operations make of the columns that they take of a row."""
        with row_draws(epoch, self.height, index):
            values = self.called(self.operations, taken, index)
        return self.checked(values, index)

    def called(self, operations: Sequence[Operation], values: tuple[Any, ...], index: int) -> tuple[Any, ...]:
        """What operations make of values, one after the other, inside the draws of a row."""
        values = tuple(map(opened, values))
        for operation in operations:
            try:
                result = operation(*values)
            except Exception as error:
                raise failure("map", operation, index, self.inputs, values, error) from error
            values = result if isinstance(result, tuple) else (result,)
        return values

    def checked(self, values: tuple[Any, ...], index: int) -> list[Array]:
        """What the last operation returned, as arrays, one per output."""
        last = name_of(self.operations[-1])
        if len(values) != len(self.outputs):
            raise DatasetError(
                f"map: {last} returned {len(values)} values at row {index} for the columns {list(self.outputs)}",
                hint="name one column per returned value in output_columns",
            )
        arrays = []
        for name, value in zip(self.outputs, values, strict=True):
            try:
                arrays.append(to_column(value))
            except TypeError as error:
                raise DatasetError(f"map: {last} at row {index}, column {name!r}: {error}") from error
        return arrays

    def describe(self) -> str:
        return f"map({', '.join(map(name_of, self.operations))} on {', '.join(self.inputs)})"


def _without_errors(tried: Iterator[Row | DatasetError], mode: int) -> Iterator[Row]:
    """The rows that are no errors; where those are replaced, the first rows again at the end."""
    kept: list[Row] = []
    errors: list[DatasetError] = []
    for row in tried:
        if isinstance(row, DatasetError):
            errors.append(row)
        else:
            if len(kept) < 64:
                kept.append(row)
            yield row
    if mode == config.ErrorSamplesMode.REPLACE:
        if errors and not kept:
            raise errors[0]
        yield from itertools.islice(itertools.cycle(kept), len(errors))


def _arrange(columns: Sequence[str], inputs: Sequence[str], outputs: Sequence[str]) -> list[tuple[str, bool, int]]:
    """For each result column: its name, whether it is a fresh output, and its index there or in the old row."""
    if len(inputs) == len(outputs):
        swap = {name: (outputs[i], True, i) for i, name in enumerate(inputs)}
        return [swap.get(name, (name, False, i)) for i, name in enumerate(columns)]
    kept = [(name, False, i) for i, name in enumerate(columns) if name not in inputs]
    return [(name, True, i) for i, name in enumerate(outputs)] + kept
