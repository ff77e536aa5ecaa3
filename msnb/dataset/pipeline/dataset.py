"""`Dataset`: the handle a user holds. It wraps one node of a chain and makes longer chains; it never changes one.

    ds.map(...)  ->  Dataset(Map(node, ...))          the old handle still gives the old rows

The only state is the number of the next epoch, so that a second loop over the same handle shuffles anew. It goes back
to 0 with `reset()` and whenever a seed is set: a program that sets its seed twice reads the same rows twice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msnb.base import ArgumentError, AttributeValueError, DatasetError, events
from msnb.dataset import map_callbacks, row_cache, sync_wait
from msnb.dataset.chains import passes
from msnb.dataset.pipeline import config, map as mapping, nodes, split as splitting
from msnb.dataset.pipeline.batch import Batch, BatchSize, PaddedBatch, PadInfo
from msnb.dataset.pipeline.bucket_batch import BucketBatch, FlatMap
from msnb.dataset.pipeline.epoch_rng import Epoch
from msnb.dataset.pipeline.iterators import EpochIterator, as_dict, as_list
from msnb.dataset.pipeline.rows import Row, as_columns, check_count, positions
from msnb.dataset.pipeline.samplers import SequentialSampler, as_sampler
from msnb.dataset.pipeline.source_nodes import IndexedSource, RowSelection
from msnb.dataset.pipeline.state import IteratorState
from msnb.nn.cells.argument_hints import explains_arguments, explains_methods

Names = str | Sequence[str] | None
_writers: dict[str, Callable[[Dataset, str, int], None]] = {}
_text: list[Callable[[Dataset, str], dict[str, Any]]] = []


def register_writer(file_type: str, write: Callable[[Dataset, str, int], None]) -> None:
    """Enter a file format of ``Dataset.save``; formats stand above this module (``dataset.sources``)."""
    _writers[file_type] = write


def register_text(write: Callable[[Dataset, str], dict[str, Any]]) -> None:
    """Enter how a data set becomes JSON (``dataset.pipeline_text``)."""
    _text[:] = [write]


@explains_methods
class Dataset:
    """A chain of operations over rows of named columns; iterate over it to get one epoch of lists of Tensors.

    Source: `mindspore.dataset.Dataset`.

    >>> from msnb.dataset import NumpySlicesDataset
    >>> ds = NumpySlicesDataset({"x": [1, 2, 3, 4, 5]}, shuffle=False).map(lambda x: x * 10).batch(2)
    >>> [row["x"].tolist() for row in ds.create_dict_iterator(num_epochs=1, output_numpy=True)]
    [[10, 20], [30, 40], [50]]
    """

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Arguments that do not fit a data set of msnb are explained."""
        super().__init_subclass__(**kwargs)
        if cls.__module__.startswith("msnb.") and "__init__" in vars(cls):
            cls.__init__ = explains_arguments(cls.__init__, cls.__name__)  # type: ignore[method-assign]

    def __init__(self, node: nodes.Node) -> None:
        self._node = node
        self._next_epoch = 0
        self._mark: object = None
        self._seed: int | None = None  # that of a state, until a seed is set
        self._counted: int | None = None
        self._plan: nodes.Node | None = None

    # operations ------------------------------------------------------------------------------------------------

    def map(
        self, operations: Any, input_columns: Names = None, output_columns: Names = None,
        num_parallel_workers: int | None = None, python_multiprocessing: bool = False, *,
        cache: row_cache.DatasetCache | None = None, callbacks: Any = None, max_rowsize: Any = None,
        offload: Any = None,
    ) -> Dataset:  # fmt: skip
        """Applies operations to columns of every row.

        Args:
            operations: a callable on arrays, or a list applied in turn; returns an array or a tuple of arrays.
            input_columns: columns handed to the first operation (default: the first ones, as many as it takes).
            output_columns: names of what the last one returns (default: the input columns). With another number of
                outputs than inputs, the outputs come first and untouched columns after them.
            num_parallel_workers: threads; the order of rows is kept.
            python_multiprocessing: worker processes instead of threads: for operations in Python that hold its lock.
                The same rows, draws and order. The operations are sent to them in every epoch, by value: what they
                change outside themselves stays there.
            cache: keeps the rows, where only maps stand between these and a source; not for random operations.
            callbacks: a DSCallback or a list of them.
            max_rowsize, offload: MindSpore's; rows of any size travel, and operations run here.

        Raises:
            ValueError: an unknown column. While iterating, DatasetError names the operation, row and columns.

        >>> from msnb.dataset import NumpySlicesDataset
        >>> ds = NumpySlicesDataset(([1, 2], [3, 4]), ["a", "b"], shuffle=False)
        >>> total = ds.map(lambda a, b: a + b, ["a", "b"], "total")
        >>> [int(t) for (t,) in total.create_tuple_iterator(output_numpy=True, num_epochs=1)]
        [4, 6]
        """
        processes = flag(python_multiprocessing)
        _travels("map", max_rowsize)
        if offload:
            events.ignored("map(offload=True)", "operations run in the pipeline")
        listed = mapping.check_operations(operations, "map")
        inputs, outputs = as_columns(input_columns, "input_columns"), as_columns(output_columns, "output_columns")
        workers = workers_of(num_parallel_workers)
        node, heard = (
            mapping.Map(self._node, listed, inputs, outputs, workers, processes),
            map_callbacks.as_callbacks(callbacks),
        )
        kept = row_cache.as_cache("map", cache)
        if kept is not None and heard:
            raise ArgumentError("map: a cache gives rows that are not mapped again, so it has no callbacks")
        if kept is not None:
            return Dataset(row_cache.cached_map(node, kept))
        return Dataset(map_callbacks.CallbackMap(node, heard) if heard else node)

    def batch(
        self, batch_size: BatchSize, drop_remainder: bool = False, num_parallel_workers: int | None = None, *,
        per_batch_map: Callable[..., Any] | None = None, input_columns: Names = None, output_columns: Names = None,
        python_multiprocessing: bool = False, max_rowsize: Any = None,
    ) -> Dataset:  # fmt: skip
        """Stacks rows into batches along a new first axis.

        Args:
            batch_size: rows per batch, or a function of a BatchInfo that returns it.
            drop_remainder: leave out a last batch that is not full.
            per_batch_map: called as f(column lists..., BatchInfo) before stacking; returns a list or array per output.
            input_columns, output_columns: its columns, as in `map`.
            python_multiprocessing: per_batch_map runs in worker processes, as in `map`; without one there is nothing
                for them to do.
            max_rowsize: MindSpore's; rows of any size travel.

        Raises:
            DatasetError (while iterating): rows of a batch differ in shape or dtype.
        """
        processes = flag(python_multiprocessing)
        _travels("batch", max_rowsize)
        if per_batch_map is None and (input_columns is not None or output_columns is not None):
            raise ArgumentError("batch: input_columns and output_columns belong to per_batch_map, which is missing")
        if per_batch_map is not None:
            mapping.check_operations(per_batch_map, "per_batch_map")
        size = batch_size if callable(batch_size) else check_count(batch_size, "batch_size")
        inputs, outputs = as_columns(input_columns, "input_columns"), as_columns(output_columns, "output_columns")
        workers = workers_of(num_parallel_workers)
        drop = flag(drop_remainder)
        sync_wait.count_batches(self._node, size)
        return Dataset(Batch(self._node, size, drop, per_batch_map, inputs, outputs, workers, processes))

    def padded_batch(
        self, batch_size: BatchSize, drop_remainder: bool = False, num_parallel_workers: int | None = None,
        pad_info: PadInfo | None = None,
    ) -> Dataset:  # fmt: skip
        """Batches rows of different shapes, filled up at the end of each axis.

        Args:
            pad_info: column -> (shape with None for "the longest of the batch", or None; value). Default: every column
                to the longest, with zeros.
        """
        size = batch_size if callable(batch_size) else check_count(batch_size, "batch_size")
        return Dataset(PaddedBatch(self._node, size, flag(drop_remainder), pad_info, workers_of(num_parallel_workers)))

    def bucket_batch_by_length(
        self, column_names: str | Sequence[str], bucket_boundaries: Sequence[int], bucket_batch_sizes: Sequence[int],
        element_length_function: Callable[..., Any] | None = None, pad_info: PadInfo | None = None,
        pad_to_bucket_boundary: bool = False, drop_remainder: bool = False,
    ) -> Dataset:  # fmt: skip
        """Batches rows of similar length together, padded: less filling than `padded_batch` of any rows.

        Args:
            column_names: what the length is taken from; without a function, the first axis of one column.
            bucket_boundaries: n lengths, upwards; bucket i holds lengths from boundary i - 1 to below boundary i.
            bucket_batch_sizes: n + 1 batch sizes.
            element_length_function: called with the columns, gives the length.
            pad_info: as in `padded_batch`.
            pad_to_bucket_boundary: axes of open size get the bucket's boundary less 1 (not in the last bucket).
            drop_remainder: leave out batches that are not full at the end.

        >>> from msnb.dataset import NumpySlicesDataset
        >>> ds = NumpySlicesDataset([[1] * 1, [5] * 5, [2] * 2, [6] * 6], "x", shuffle=False)
        >>> [b["x"].shape for b in ds.bucket_batch_by_length("x", [4], [2, 2]).create_dict_iterator(1)]
        [(2, 2), (2, 6)]
        """
        if element_length_function is not None:
            mapping.check_operations(element_length_function, "element_length_function")
        names = as_columns(column_names, "column_names")
        to_boundary, drop = flag(pad_to_bucket_boundary), flag(drop_remainder)
        return Dataset(BucketBatch(self._node, names, bucket_boundaries, bucket_batch_sizes, element_length_function,
                                   pad_info, to_boundary, drop))  # fmt: skip

    def flat_map(self, func: Callable[..., Dataset]) -> Dataset:
        """Every row becomes the rows of the Dataset that `func(column, ...)` makes of it, one after the other; all of
        them have the same columns. The first row is read at once, for their names.

        >>> from msnb.dataset import NumpySlicesDataset
        >>> sizes = NumpySlicesDataset([2, 1], "n", shuffle=False)
        >>> ds = sizes.flat_map(lambda n: NumpySlicesDataset(list(range(int(n))), "i", shuffle=False))
        >>> [int(row["i"]) for row in ds.create_dict_iterator(1, output_numpy=True)]
        [0, 1, 0]
        """
        mapping.check_operations(func, "flat_map")
        return Dataset(FlatMap(self._node, func, lambda made: _others(made, "flat_map")[0]))

    def shuffle(self, buffer_size: int) -> Dataset:
        """Shuffles through a buffer of `buffer_size` rows (a whole shuffle if it holds the whole data set).

        1 leaves the order as it is. Each epoch, and each pass of a later `repeat`, has an order of its own.
        """
        return Dataset(nodes.Shuffle(self._node, check_count(buffer_size, "buffer_size")))

    def repeat(self, count: int | None = None) -> Dataset:
        """The rows `count` times over; None or -1: without end."""
        endless = count is None or count == -1
        return Dataset(nodes.Repeat(self._node, None if endless else check_count(count, "repeat count (or -1)")))

    def take(self, count: int = -1) -> Dataset:
        """At most the first `count` rows (or batches); -1: all."""
        stop = None if count == -1 else check_count(count, "take count (or -1)", least=0)
        return Dataset(nodes.RowRange(self._node, 0, stop))

    def skip(self, count: int) -> Dataset:
        """All rows but the first `count`."""
        return Dataset(nodes.RowRange(self._node, check_count(count, "skip count", least=0), None))

    def sync_wait(
        self, condition_name: str, num_batch: int = 1, callback: Callable[[Any], Any] | None = None
    ) -> Dataset:
        """Rows wait for `sync_update`: `num_batch` leave at once, then so many after each update.

        Args:
            condition_name: what `sync_update` calls it.
            num_batch: batches, where a `batch` follows; else rows.
            callback: gets the `data` of each update before the next row is made.

        >>> from msnb.dataset import NumpySlicesDataset
        >>> scale = [1]
        >>> ds = NumpySlicesDataset([1, 2, 3], "x", shuffle=False)
        >>> ds = ds.sync_wait("policy", callback=lambda by: scale.append(by)).map(lambda x: x * scale[-1])
        >>> for (x,) in ds.create_tuple_iterator(num_epochs=1):
        ...     print(int(x))
        ...     ds.sync_update("policy", data=10)
        1
        20
        30
        """
        return Dataset(sync_wait.SyncWait(self._node, condition_name, num_batch, callback))

    def sync_update(self, condition_name: str, num_batch: int | None = None, data: Any = None) -> None:
        """Let `num_batch` batches or rows more (None: as many as `sync_wait` says) leave; its callback gets `data`."""
        sync_wait.update(self._node, condition_name, num_batch, data)

    def zip(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """Rows side by side with those of other data sets, as long as the shortest; column names must differ."""
        return Dataset(nodes.Zip([self._node, *_others(datasets, "zip")]))

    def concat(self, datasets: Dataset | Sequence[Dataset]) -> Dataset:
        """These rows, then those of other data sets with the same columns; also written `a + b`."""
        return Dataset(nodes.Concat([self._node, *_others(datasets, "concat")]))

    def filter(
        self, predicate: Callable[..., Any], input_columns: Names = None, num_parallel_workers: int | None = None
    ) -> Dataset:
        """Rows for which `predicate(column, ...)` is true (default: it gets all columns)."""
        mapping.check_operations(predicate, "filter")
        columns = as_columns(input_columns, "input_columns")
        return Dataset(nodes.Filter(self._node, predicate, columns, workers_of(num_parallel_workers)))

    def split(self, sizes: Sequence[int] | Sequence[float], randomize: bool = True) -> tuple[Dataset, ...]:
        """Cuts the data set into parts that share no row; the cut is the same in every epoch.

        Args:
            sizes: rows per part, or fractions that add up to 1.
            randomize: draw the rows of each part by chance (from the seed in force now), else cut in order.
                A part keeps the order of its rows: `.shuffle` it afterwards.

        Returns:
            One Dataset per size.

        >>> from msnb.dataset import NumpySlicesDataset
        >>> train, test = NumpySlicesDataset(list(range(10)), "x").split([0.8, 0.2])
        >>> train.get_dataset_size(), test.get_dataset_size()
        (8, 2)
        """
        total = self.get_dataset_size()
        cuts = splitting.bounds(sizes, total)
        seed = config.effective_seed()
        part = [nodes.SplitPart(self._node, seed, low, high, total, flag(randomize)) for low, high in cuts]
        return tuple(Dataset(node) for node in part)

    def project(self, columns: str | Sequence[str]) -> Dataset:
        """Only these columns, in this order."""
        return Dataset(nodes.Project(self._node, as_columns(columns, "project")))

    def rename(self, input_columns: str | Sequence[str], output_columns: str | Sequence[str]) -> Dataset:
        """Gives columns other names."""
        old, new = as_columns(input_columns, "input_columns"), as_columns(output_columns, "output_columns")
        return Dataset(nodes.Rename(self._node, old, new))

    def apply(self, apply_func: Callable[[Dataset], Dataset]) -> Dataset:
        """`apply_func(self)`: a way to write a common chain of operations once."""
        result = apply_func(self)
        if not isinstance(result, Dataset):
            raise ArgumentError(f"apply expects a function that returns a Dataset, it returned {type(result).__name__}")
        return result

    def prefetch(self, buffer_size: int = 2) -> Dataset:
        """Reads up to `buffer_size` rows ahead in a background thread; rows and their order stay the same."""
        return Dataset(nodes.Prefetch(self._node, check_count(buffer_size, "buffer_size")))

    def use_sampler(self, new_sampler: Any) -> Dataset:
        """Read the source, with random access, or a concat through another sampler from here on; returns this
        Dataset."""
        self._node = self._source("use_sampler").with_sampler(as_sampler(new_sampler))
        self._plan = self._counted = None
        return self

    def add_sampler(self, new_sampler: Any) -> Dataset:
        """Let a sampler choose among what the present one of the source chooses; returns this Dataset.

        Source: `mindspore.dataset.Dataset` (add_sampler)
        """
        source, sampler = self._source("add_sampler"), as_sampler(new_sampler)
        sampler.add_child(source.sampler)
        self._node = source.with_sampler(sampler)
        self._plan = self._counted = None
        return self

    def _source(self, what: str) -> IndexedSource | RowSelection:
        if isinstance(self._node, nodes.Concat):
            return RowSelection(self._node, SequentialSampler())
        if not isinstance(self._node, (IndexedSource, RowSelection)):
            raise DatasetError(f"{what} works on a random-access source or a concat, this is {self._node.describe()}")
        return self._node

    # reading ---------------------------------------------------------------------------------------------------

    def create_dict_iterator(
        self, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = True, *, state: Any = None
    ) -> EpochIterator[dict[str, Any]]:
        """An iterator over rows as dicts: column -> Tensor (or array).

        Args:
            num_epochs: `for` loops the iterator serves, one epoch each; -1: any number.
            output_numpy: arrays instead of Tensors.
            do_copy: MindSpore's; a row is the caller's own either way.
            state: what `it.state()` of an iterator over the same pipeline gave: the first row is the next one there,
                and the rest of its epoch counts as an epoch. The number of workers may be another.

        Raises:
            TypeError, ValueError, DatasetError: the state is none, or that of another pipeline.

        >>> from msnb.dataset import NumpySlicesDataset
        >>> data = NumpySlicesDataset({"x": list(range(9))}).shuffle(4).batch(2)
        >>> one = data.create_dict_iterator(num_epochs=1, output_numpy=True)
        >>> first, state = next(one), one.state()
        >>> two = data.create_dict_iterator(num_epochs=1, output_numpy=True, state=state)
        >>> [row["x"].tolist() for row in one] == [row["x"].tolist() for row in two]
        True
        """
        flag(do_copy)
        return self._iterator(self._node.columns, as_dict, num_epochs, output_numpy, state)

    def create_tuple_iterator(
        self, columns: Names = None, num_epochs: int = -1, output_numpy: bool = False, do_copy: bool = True, *,
        state: Any = None,
    ) -> EpochIterator[list[Any]]:  # fmt: skip
        """An iterator over rows as lists, in the order of the columns (or of `columns`); see `create_dict_iterator`."""
        flag(do_copy)
        chosen = as_columns(columns, "columns") or self._node.columns
        return self._iterator(chosen, as_list, num_epochs, output_numpy, state)

    def __iter__(self) -> EpochIterator[list[Any]]:
        return self.create_tuple_iterator(num_epochs=1)

    def reset(self) -> None:
        """The next epoch is the first one again."""
        self._next_epoch = 0

    def _iterator(
        self, columns: Sequence[str], finish: Callable[[Sequence[str], Sequence[Any]], Any], num_epochs: Any,
        output_numpy: Any, state: Any,
    ) -> EpochIterator[Any]:  # fmt: skip
        order = positions(columns, self._node.columns, "create_tuple_iterator")
        place = None if state is None else IteratorState.read(state, self._node)
        if place is not None:
            self._mark, self._seed, self._next_epoch = config.seed_mark(), place.seed, place.epoch

        def start(state: IteratorState) -> tuple[Epoch, Iterator[Row]]:
            epoch = Epoch.start(state.seed, state.epoch, state.marks)
            rows = map_callbacks.told(self._node, lambda: self._rows(epoch, state.row))
            chosen = rows if columns == self._node.columns else (tuple(row[i] for i in order) for row in rows)
            return epoch, chosen

        map_callbacks.begin(self._node)
        epochs, numpy = _epochs(num_epochs), flag(output_numpy)
        return EpochIterator(self._node, self._next_state, start, place, columns, finish, epochs, numpy)

    def _next_state(self, begin: bool) -> IteratorState:
        """The first row of the next epoch; to begin it makes the one after it the next."""
        mark = config.seed_mark()
        if mark != self._mark:
            self._mark, self._seed, self._next_epoch = mark, None, 0
        seed = config.effective_seed() if self._seed is None else self._seed
        self._next_epoch += begin
        return IteratorState(seed, self._next_epoch - begin)

    def _rows(self, epoch: Epoch, start: int) -> Iterator[Row]:
        ahead = config.get_prefetch_size()
        node = self.plan()
        return (nodes.Prefetch(node, ahead) if ahead else node).rows(epoch, start)

    def plan(self) -> nodes.Node:
        """The chain as it runs: what the passes (`chains.passes`) make of what was written. The same rows."""
        if config.get_error_samples_mode():  # rows go through map one by one
            return self._node
        if self._plan is None:
            self._plan = passes.optimized(self._node)
        return self._plan

    # questions -------------------------------------------------------------------------------------------------

    def get_class_indexing(self) -> dict[str, Any]:
        """Name of a class -> label (of Coco: [the category's id]), as the first source knows them; else empty."""
        node = self._node
        while not node.classes and node.parents:
            node = node.parents[0]
        return dict(node.classes)

    def num_classes(self) -> int | None:
        """How many classes ``get_class_indexing`` has; None if it has none."""
        return len(self.get_class_indexing()) or None

    def get_dataset_size(self) -> int:
        """Rows (batches, after `batch`) in one epoch. Where only a pass can tell, one is made, once.

        Raises:
            ValueError: the data set repeats without end.
        """
        count = self._node.count()
        if count is None:
            self._counted = self._count_rows() if self._counted is None else self._counted
            return self._counted
        if count == math.inf:
            raise AttributeValueError("a dataset that repeats without end has no size", hint="give .repeat(n) a number")
        return int(count)

    def save(self, file_name: str, num_files: int = 1, file_type: str = "mindrecord") -> None:
        """One epoch of rows into a file (or several) that `MindDataset` reads.

        Whole numbers are kept as int32 or int64, others as float32 or float64, rows of bytes (uint8[n]) as they are.
        """
        if file_type not in _writers:
            raise AttributeValueError(f"save writes file_type {' or '.join(map(repr, _writers))}, got {file_type!r}")
        _writers[file_type](self, file_name, num_files)

    def to_json(self, filename: str = "") -> dict[str, Any]:
        """The pipeline as a dict that JSON holds, written into a file if one is named; see `msnb.dataset.serialize`."""
        return _text[0](self, filename)

    def __len__(self) -> int:
        if self._node.count() in (None, math.inf):
            raise TypeError("the length of this dataset is not known beforehand; get_dataset_size() counts the rows")
        return self.get_dataset_size()

    def __bool__(self) -> bool:
        return True

    def get_batch_size(self) -> int:
        """Rows per batch of the last `batch` (-1: a function says it), 1 if there is none."""
        node: nodes.Node | None = self._node
        while node is not None:
            if isinstance(node, Batch):
                return -1 if callable(node.size) else node.size
            node = node.parents[0] if node.parents else None
        return 1

    def get_repeat_count(self) -> int:
        """How often the last `repeat` repeats (-1: without end), 1 if there is none."""
        node: nodes.Node | None = self._node
        while node is not None:
            if isinstance(node, nodes.Repeat):
                return -1 if node.times is None else node.times
            node = node.parents[0] if node.parents else None
        return 1

    @property
    def num_parallel_workers(self) -> int:
        """Threads of the last operation, as given or by default."""
        return int(getattr(self._node, "workers", workers_of(None)))

    def get_col_names(self) -> list[str]:
        """The names of the columns, in their order."""
        return list(self._node.columns)

    def output_shapes(self, estimate: bool = False) -> list[list[Any]]:
        """Shape of each column, read from the first row; ``estimate`` reads all, and gives None for a size that
        changes.

        Raises:
            TypeError: ``estimate`` is no bool. DatasetError: the number of axes changes.
        """
        if not isinstance(estimate, bool):
            raise ArgumentError(f"output_shapes: estimate must be a bool, got {estimate!r}")
        found: list[list[Any]] = [list(value.shape) for value in self._first_row()]
        for row in self.create_tuple_iterator(num_epochs=1, output_numpy=True) if estimate else ():
            for k, sizes in enumerate(found):
                new = row[k].shape
                if len(sizes) != len(new):
                    raise DatasetError(f"output_shapes: column {k} has {len(sizes)} axes, and {len(new)} later")
                sizes[:] = [size if size == new[i] else None for i, size in enumerate(sizes)]
        return found

    def output_types(self) -> list[Any]:
        """NumPy dtype of each column, read from the first row."""
        return [value.dtype for value in self._first_row()]

    def children(self) -> list[Dataset]:
        """The data sets this one reads from."""
        return [Dataset(parent) for parent in self._node.parents]

    def _count_rows(self) -> int:
        return sum(1 for _ in self._node.rows(Epoch.start(config.effective_seed(), 0)))

    def _first_row(self) -> Row:
        rows = self._node.rows(Epoch.start(config.effective_seed(), 0))
        row = next(rows, None)
        if row is None:
            raise DatasetError("the dataset has no row, so its shapes and types are not known")
        return row

    def __add__(self, other: Dataset) -> Dataset:
        return self.concat(other)

    def __repr__(self) -> str:
        return " <- ".join(_chain(self._node))


def _chain(node: nodes.Node) -> list[str]:
    lines = _chain(node.parents[0]) if node.parents else []
    others = ", ".join(" <- ".join(_chain(p)) for p in node.parents[1:])
    return [*lines, node.describe() + (f"[{others}]" if others else "")]


def zip(datasets: Sequence[Dataset]) -> Dataset:
    """Rows of several data sets side by side, as long as the shortest (`mindspore.dataset.zip`).

    >>> from msnb.dataset import NumpySlicesDataset
    >>> a, b = NumpySlicesDataset([1, 2], "a", shuffle=False), NumpySlicesDataset([3, 4, 5], "b", shuffle=False)
    >>> zip((a, b)).get_dataset_size()
    2
    """
    if isinstance(datasets, Dataset):
        raise ArgumentError("zip expects a tuple of datasets, got a single one", hint="zip((a, b)) or a.zip(b)")
    return Dataset(nodes.Zip(_others(datasets, "zip")))


def _travels(what: str, max_rowsize: Any) -> None:
    if max_rowsize is not None:
        for size in max_rowsize if isinstance(max_rowsize, (list, tuple)) else (max_rowsize,):
            check_count(size, f"{what}: max_rowsize", least=-1)
        events.ignored(f"{what}(max_rowsize=)", "rows of any size travel between processes")


def workers_of(number: int | None) -> int:
    return config.get_num_parallel_workers() if number is None else check_count(number, "num_parallel_workers")


def _others(datasets: Any, what: str) -> list[nodes.Node]:
    listed = [datasets] if isinstance(datasets, Dataset) else datasets
    if not isinstance(listed, (list, tuple)) or not listed:
        raise ArgumentError(f"{what} expects a Dataset or a non-empty tuple of them, got {datasets!r}")
    for other in listed:
        if not isinstance(other, Dataset):
            raise ArgumentError(f"{what} expects Datasets, got {type(other).__name__}")
    return [other._node for other in listed]


def _epochs(number: Any) -> int:
    return -1 if number == -1 else check_count(number, "num_epochs (or -1)")


def flag(value: Any) -> bool:
    """An argument that is True or False."""
    if not isinstance(value, bool):
        raise ArgumentError(f"expected True or False, got {type(value).__name__} {value!r}")
    return value
