"""DatasetHelper: the rows of a data set for a training that a program writes itself.

    helper = DatasetHelper(data, dataset_sink_mode=False)          for row in helper: net(*row)
    helper = DatasetHelper(data, dataset_sink_mode=True)
    net = connect_network_with_dataset(net, helper)                for row in helper: net(*row)     row is ()

In data sink mode the network takes its rows itself: ``sink_size`` of them in each call.
Source: `mindspore.train.DatasetHelper`
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Tensor
from msnb.nn.cells.cell import Cell
from msnb.train.data_feed import DataFeed

__all__ = ["DatasetHelper", "connect_network_with_dataset"]


class DatasetHelper:
    """Gives the rows of one epoch to each loop over it.

    Args:
        dataset: a data set, or a list of rows.
        dataset_sink_mode: rows go to a network of ``connect_network_with_dataset``; a loop gives ().
        sink_size: rows of a call in data sink mode; -1 for all.
        epoch_num: how often the data set will be read.

    Raises:
        TypeError: no bool or ints. ValueError: ``sink_size`` is 0 or below -1.

    Examples:
        >>> import msnb as ms
        >>> helper = ms.train.DatasetHelper([(ms.Tensor(1.0),), (ms.Tensor(2.0),)], dataset_sink_mode=False)
        >>> [float(x) for x, in helper]
        [1.0, 2.0]
    """

    def __init__(self, dataset: Any, dataset_sink_mode: bool = True, sink_size: int = -1, epoch_num: int = 1) -> None:
        if not isinstance(dataset_sink_mode, bool):
            raise ArgumentError(f"DatasetHelper: dataset_sink_mode must be a bool, got {dataset_sink_mode!r}.")
        for name, number in (("sink_size", sink_size), ("epoch_num", epoch_num)):
            if isinstance(number, bool) or not isinstance(number, int):
                raise ArgumentError(f"DatasetHelper: {name} must be an int, got {number!r}.")
        if sink_size < -1 or sink_size == 0:
            raise AttributeValueError(f"DatasetHelper: sink_size is -1 or above 0, got {sink_size}.")
        self.dataset: Any = dataset
        self.dataset_sink_mode: bool = dataset_sink_mode
        self._feed = DataFeed(dataset, epoch_num if not dataset_sink_mode else -1)
        self._sink_size = self._feed.size if sink_size == -1 else sink_size
        self._rows = self._feed.endless()
        self._first: tuple[Any, ...] | None = None

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        if not self.dataset_sink_mode:
            yield from self._feed.epoch()
            return
        for _ in range(max(1, self._feed.size // self._sink_size)):
            yield ()

    def sink_size(self) -> int:
        """Rows that each turn of a loop stands for."""
        return self._sink_size if self.dataset_sink_mode else 1

    def next_row(self) -> tuple[Any, ...]:
        """The next row, for a connected network."""
        if self._first is not None:
            row, self._first = self._first, None
            return row
        return next(self._rows)

    def types_shapes(self) -> tuple[list[Any], list[Any]]:
        """(dtypes, shapes) of a row."""
        if self._first is None:
            self._first = next(self._rows)
        tensors = [x if isinstance(x, Tensor) else Tensor(x) for x in self._first]
        return [x.dtype for x in tensors], [list(x.shape) for x in tensors]

    get_data_info = types_shapes

    def stop_send(self) -> None:
        """End reading."""
        self._feed.close()

    release = stop_send

    def continue_send(self) -> None:
        """For MindSpore's signature: rows are read when they are taken."""


class ConnectedNetwork(Cell):
    """A network that takes its rows from a DatasetHelper; a call gives what the last of them gave."""

    network: Cell

    def __init__(self, network: Cell, helper: DatasetHelper) -> None:
        super().__init__(auto_prefix=False)
        self.network, self._helper = network, helper

    def __call__(self, *inputs: Any, **kwargs: Any) -> Any:
        if inputs or kwargs:
            raise ArgumentError("a network that is connected with a data set takes no inputs: net().")
        found: Any = None
        for _ in range(self._helper.sink_size()):
            found = self.network(*self._helper.next_row())
        return found


def connect_network_with_dataset(network: Cell, dataset_helper: DatasetHelper) -> Cell:
    """The network, fed by the helper: ``net()`` takes ``sink_size`` rows.

    Raises:
        RuntimeError: the helper is not in data sink mode. TypeError: no Cell or no DatasetHelper.

    Source: `mindspore.train.connect_network_with_dataset`

    Examples:
        >>> import msnb as ms
        >>> helper = ms.train.DatasetHelper([(ms.Tensor(1.0),), (ms.Tensor(-2.0),)], sink_size=1)
        >>> net = ms.train.connect_network_with_dataset(ms.nn.ReLU(), helper)
        >>> [float(net(*row)) for row in helper]
        [1.0, 0.0]
    """
    if not isinstance(network, Cell) or not isinstance(dataset_helper, DatasetHelper):
        raise ArgumentError("connect_network_with_dataset takes a Cell and a DatasetHelper.")
    if not dataset_helper.dataset_sink_mode:
        raise RuntimeError("connect_network_with_dataset needs DatasetHelper(..., dataset_sink_mode=True).")
    return ConnectedNetwork(network, dataset_helper)
