"""Model: a network, its loss and its optimizer, trained and evaluated over data sets.

    model = Model(net, loss_fn, optimizer, metrics={"accuracy"})
    model.train(3, train_set)                per row one call of TrainOneStepCell, per epoch a row of the report
    model.eval(test_set)  ->  {"accuracy": 0.97}

The step is an ordinary Cell, so the mode decides how it runs: operator by operator, or in graph mode forward, backward
and update as one compiled program. Flags of the network (``training``) are set for the run and put back after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from msnb.api.graph_mode import call_cell, compiled_cell
from msnb.base import ArgumentError, AttributeValueError, events, missing_names
from msnb.nn.cells.argument_hints import explains_methods
from msnb.nn.cells.cell import Cell
from msnb.nn.training.gradient_reducer import broadcast_parameters
from msnb.nn.training.training_cells import WithEvalCell
from msnb.parallel.context import get_auto_parallel_context, wanted
from msnb.train import amp
from msnb.train.callbacks.callback import Callback, Callbacks, RunContext, RunParams, as_callbacks
from msnb.train.callbacks.logging_callbacks import need_count
from msnb.train.callbacks.progress import progress_monitor
from msnb.train.data_feed import DataFeed, as_row, columns
from msnb.train.metrics import Loss, as_metrics
from msnb.train.sink_steps import Sink, SinkSteps, each_of, last_of

_NO_OPTIMIZER = (
    "this Model has a loss and no optimizer: train computes the loss and changes no parameter; "
    "Model(net, loss_fn, optimizer=nn.Adam(net.trainable_params())) trains."
)
_EVAL_SINK = "dataset_sink_mode has no effect on an evaluation: metrics look at every row."


@explains_methods
class Model:
    """Training and evaluation of a network.

    Args:
        network: the network; without ``loss_fn`` it gives the loss itself.
        loss_fn: a function of the network's output and the label.
        optimizer: of the network's weights; without one the network must be a whole training step.
        metrics: a set of names ("accuracy", "loss" ...) or a dict from names to metrics.
        eval_network: gives what the metrics take; by default (loss, outputs, label).
        eval_indexes: positions of loss, outputs and label among the results of ``eval_network``.
        amp_level: mixed precision in float16: "O0" to "O3" or "auto", see ``ms.amp.auto_mixed_precision``. For
            bfloat16 call that on the network and leave this at "O0".
        boost_level: "O0", the only one.
        keep_batchnorm_fp32, loss_scale_manager: see ``ms.amp.build_train_network``.

    Raises:
        TypeError: something is not what it should be.
        ValueError: an unknown metric, amp_level or boost_level.

    Source: `mindspore.train.Model`

    Examples:
        >>> import numpy as np
        >>> import msnb as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> model = ms.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.1), metrics={"mse"})
        >>> rows = [(np.ones((4, 2), np.float32), np.ones((4, 1), np.float32))]
        >>> model.train(50, rows, verbose=0)
        >>> model.eval(rows)["mse"] < 1e-3
        True
    """

    def __init__(
        self, network: Cell, loss_fn: Any = None, optimizer: Any = None, metrics: Any = None,
        eval_network: Cell | None = None, eval_indexes: Sequence[int] | None = None, amp_level: str = "O0",
        boost_level: str = "O0", *, keep_batchnorm_fp32: bool | None = None,
        loss_scale_manager: Any = amp.AS_THE_LEVEL_SAYS,
    ) -> None:  # fmt: skip
        _check_parts(network, loss_fn, optimizer, eval_network)
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._metrics = as_metrics(metrics)
        settings = {"keep_batchnorm_fp32": keep_batchnorm_fp32, "loss_scale_manager": loss_scale_manager}
        self._train_network = _train_network(network, loss_fn, optimizer, amp_level, boost_level, settings)
        self._sunk = SinkSteps(self._train_network)
        self._eval_network, self._eval_indexes = eval_network, _checked_indexes(eval_indexes)
        if eval_network is None and loss_fn is not None:
            self._eval_network, self._eval_indexes = WithEvalCell(network, loss_fn), (0, 1, 2)

    def __repr__(self) -> str:
        parts = [self._network, *(part for part in (self._loss_fn, self._optimizer) if part is not None)]
        names = [type(part).__name__ if isinstance(part, Cell) else getattr(part, "__name__", "loss") for part in parts]
        metrics = f", metrics={{{', '.join(map(repr, sorted(self._metrics)))}}}" if self._metrics else ""
        return f"Model({', '.join(names)}{metrics})"

    @property
    def train_network(self) -> Cell:
        """One step of training as a Cell; checkpoints of it hold the optimizer's state too."""
        return self._train_network

    @property
    def predict_network(self) -> Cell:
        """The network itself."""
        return self._network

    @property
    def eval_network(self) -> Cell | None:
        """What ``eval`` calls per row."""
        return self._eval_network

    @property
    def optimizer(self) -> Any:
        """What was given as the optimizer; None without one."""
        return self._optimizer

    @property
    def plan(self) -> Any:
        """The parallel plan of the training step (``ms.set_auto_parallel_context``); None on one device."""
        compiled = compiled_cell(self._train_network)
        return None if compiled is None else compiled.plan

    def summary(self, *inputs: Any) -> Any:
        """The network layer by layer; see ``Cell.summary``.

        Args:
            *inputs: a shape or a Tensor per argument of the network.
        """
        return self._network.summary(*inputs)

    # ---- training ----

    def train(
        self, epoch: int, train_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False,
        sink_size: int = -1, initial_epoch: int = 0, *, verbose: Any = "auto",
    ) -> None:  # fmt: skip
        """Train over the data set.

        Args:
            epoch: the number of the last epoch.
            train_dataset: a Dataset, or a list of rows; a row is (data, label), or what the network takes.
            callbacks: a Callback or several.
            dataset_sink_mode: several steps per call of the compiled program, the next rows prepared while it runs;
                callbacks are called once per sink (see ``msnb.train.sink_steps``). The losses are the same.
            sink_size: steps per sink, and then an epoch has that many steps; -1: a sink is the whole data set.
            initial_epoch: epochs done before (in a training that goes on).
            verbose: 0: silent; 1: a row per epoch, live in a notebook and on a terminal; 2: a printed line per epoch;
                "auto": as 1, unless a callback reports by itself (``LossMonitor``, ``ms.show.curves()`` ...).

        Raises:
            TypeError, ValueError: arguments or rows that do not fit. A step that fails changes nothing.
            KeyboardInterrupt: Ctrl-C; where it stopped and how to go on is told first.

        Examples:
            >>> import numpy as np
            >>> import msnb as ms
            >>> net = ms.nn.Dense(2, 1)
            >>> model = ms.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.1))
            >>> rows = [(np.ones((4, 2), np.float32), np.ones((4, 1), np.float32))]
            >>> model.train(60, rows, verbose=0)
            >>> abs(float(net(ms.ops.ones((1, 2)))) - 1) < 1e-2
            True
        """
        sink = need_sink_size(sink_size) if dataset_sink_mode else 0
        self._train(epoch, train_dataset, _reported(callbacks, verbose), sink, initial_epoch, None, 1)

    def fit(
        self, epoch: int, train_dataset: Any, valid_dataset: Any = None, valid_frequency: int | Sequence[int] = 1,
        callbacks: Any = None, dataset_sink_mode: bool = False, valid_dataset_sink_mode: bool = False,
        sink_size: int = -1, initial_epoch: int = 0, *, verbose: Any = "auto",
    ) -> None:  # fmt: skip
        """Train, and evaluate between the epochs.

        Args:
            valid_dataset: evaluated with the model's metrics; callbacks see ``eval_results``.
            valid_frequency: after every so many epochs, or after the epochs of a list.

        The other arguments are those of ``train``.
        """
        if valid_dataset is not None:
            self._need_eval()
        if valid_dataset_sink_mode:
            events.notice(_EVAL_SINK, key="valid_dataset_sink_mode")
        sink = need_sink_size(sink_size) if dataset_sink_mode else 0
        calls = _reported(callbacks, verbose)
        self._train(epoch, train_dataset, calls, sink, initial_epoch, valid_dataset, valid_frequency)

    def _train(
        self, epoch: Any, dataset: Any, callbacks: Any, sink: Any, first: Any, valid: Any, frequency: Any
    ) -> None:
        # arguments are checked before anything is opened
        if self._optimizer is None and self._loss_fn is not None:
            events.notice(_NO_OPTIMIZER, key="Model without an optimizer")
        need_count("epoch", epoch)
        if need_count("initial_epoch", first, 0) >= epoch:
            raise AttributeValueError(f"initial_epoch must be below epoch={epoch}, got {first}.")
        broadcast_parameters(self._train_network)
        feed = DataFeed(dataset, epoch - first if sink <= 0 else -1)
        steps = feed.size if sink <= 0 else sink
        params = self._params("train", epoch, steps, dataset, valid, bool(sink))
        params.update(initial_epoch=first, initial_step=first * steps, cur_epoch_num=first)
        params.cur_step_num = params.done_step_num = first * steps
        context = RunContext(params)
        sunk = self._sink(feed, epoch - first, sink, dataset) if sink else None
        try:
            with _training(self._train_network, True), Callbacks(callbacks, context) as calls:
                params.list_callback = calls.items
                calls.call("on_train_begin")
                run = partial(self._steps, feed) if sunk is None else partial(self._sunk_steps, sunk)
                self._epochs(run, calls, context, valid, frequency)
                calls.call("on_train_end")
        except KeyboardInterrupt:
            events.tell(_interrupted(params))
            raise
        finally:
            if sunk is not None:
                sunk.close()
            feed.close()

    def _sink(self, feed: DataFeed, epochs: int, size: int, dataset: Any) -> Sink:
        """The rows of all epochs as sinks."""
        endless = feed.endless()
        sinks = (feed.epoch() if size < 0 else islice(endless, size) for _ in range(epochs))
        hint = feed.size if size < 0 else size
        return Sink(self._train_network, self._sunk, sinks, hint, lambda net, row: self._call(net, row, dataset))

    def _epochs(self, run: Any, calls: Callbacks, context: RunContext, valid: Any, frequency: Any) -> None:
        params = context.original_args()
        for number in range(params.initial_epoch + 1, params.epoch_num + 1):
            params.cur_epoch_num = number
            calls.call("on_train_epoch_begin")
            run(calls, context)
            params.eval_results = {}
            if valid is not None and _is_due(number, frequency):
                params.eval_results = self._eval(valid, calls, {"inside_fit": True, "cur_epoch_num": number})
            calls.call("on_train_epoch_end")
            if context.get_stop_requested():
                return

    def _steps(self, feed: DataFeed, calls: Callbacks, context: RunContext) -> None:
        params = context.original_args()
        for row in feed.epoch():
            params.cur_step_num += 1
            params.train_dataset_element = row
            calls.call("on_train_step_begin")
            params.net_outputs = self._call(self._train_network, row, params.train_dataset)
            params.done_step_num = params.cur_step_num
            _tell_step(params, params.cur_step_num, params.net_outputs)
            calls.call("on_train_step_end")
            if context.get_stop_requested():
                return

    def _sunk_steps(self, sink: Sink, calls: Callbacks, context: RunContext) -> None:
        """One sink: to the callbacks it is one step, of ``batch_num`` rows."""
        params = context.original_args()
        done = params.cur_step_num
        params.cur_step_num = done + params.batch_num
        calls.call("on_train_step_begin")
        for rows, last, outputs in sink.run():
            for number, each in enumerate(each_of(outputs, rows) if events.listeners.get("step") else (), done + 1):
                _tell_step(params, number, each)
            done += rows
            params.done_step_num = done
            params.train_dataset_element, params.net_outputs = last, last_of(outputs, rows)
            events.emit("sunk steps", rows=rows, outputs=outputs, last=last)
        params.cur_step_num = done
        calls.call("on_train_step_end")

    # ---- evaluation ----

    def eval(self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False) -> dict[str, Any]:
        """The metrics over a data set.

        Args:
            valid_dataset: a Dataset, or a list of rows (data, label).
            callbacks: a Callback or several.
            dataset_sink_mode: accepted; every row is looked at one by one.

        Returns:
            name -> number.

        Raises:
            ValueError: the model has no metrics, or neither loss_fn nor eval_network.
        """
        self._need_eval()
        if dataset_sink_mode:
            events.notice(_EVAL_SINK, key="valid_dataset_sink_mode")
        return self._eval(valid_dataset, callbacks, {"cur_epoch_num": 1})

    def _need_eval(self) -> None:
        if not self._metrics:
            raise AttributeValueError("this Model has no metrics.", hint='Model(..., metrics={"accuracy"}).')
        if self._eval_network is None:
            raise AttributeValueError("evaluation needs Model(..., loss_fn=) or Model(..., eval_network=).")

    def _eval(self, dataset: Any, callbacks: Any, extra: dict[str, Any]) -> dict[str, Any]:
        feed = DataFeed(dataset, 1)
        params = self._params("eval", 1, feed.size, None, dataset, False)
        params.update(extra)
        callbacks = callbacks.items if isinstance(callbacks, Callbacks) else callbacks
        inside = Callbacks(callbacks, RunContext(params))
        network: Any = self._eval_network
        try:
            # inside fit the callbacks are entered already, by the training
            with _training(network, False), nullcontext() if "inside_fit" in extra else inside:
                return self._evaluated(feed, inside, network)
        finally:
            feed.close()

    def _evaluated(self, feed: DataFeed, calls: Callbacks, network: Cell) -> dict[str, Any]:
        params = calls.run_context.original_args()
        for metric in self._metrics.values():
            metric.clear()
        calls.call("on_eval_begin")
        calls.call("on_eval_epoch_begin")
        for row in feed.epoch():
            params.cur_step_num += 1
            calls.call("on_eval_step_begin")
            params.net_outputs = self._call(network, row, params.valid_dataset)
            self._update_metrics(params.net_outputs)
            calls.call("on_eval_step_end")
            if calls.run_context.get_stop_requested():
                break
        params.eval_results = {name: metric.eval() for name, metric in self._metrics.items()}
        calls.call("on_eval_epoch_end")
        calls.call("on_eval_end")
        results: dict[str, Any] = params.eval_results
        return results

    def _update_metrics(self, outputs: Any) -> None:
        values = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        for metric in self._metrics.values():
            if self._eval_indexes is None or getattr(metric, "indexes", None) is not None:
                metric.update(*values)
            elif isinstance(metric, Loss):
                metric.update(values[self._eval_indexes[0]])
            else:
                metric.update(*(values[i] for i in self._eval_indexes[1:]))

    # ---- prediction ----

    def predict(self, *predict_data: Any) -> Any:
        """The network's output, computed as in use (``training`` is False).

        Args:
            *predict_data: what the network takes: Tensors or arrays.
        """
        with _training(self._network, False):
            return self._network(*as_row(predict_data))

    # ---- parts ----

    def _params(self, mode: str, epochs: int, size: int, train: Any, valid: Any, sink: bool) -> RunParams:
        return RunParams(
            mode=mode, network=self._network, train_network=self._train_network, eval_network=self._eval_network,
            loss_fn=self._loss_fn, optimizer=self._optimizer, metrics=self._metrics, epoch_num=epochs, batch_num=size,
            cur_epoch_num=0, cur_step_num=0, train_dataset=train, valid_dataset=valid, eval_results={},
            dataset_sink_mode=sink, device_number=get_auto_parallel_context("device_num"),
            parallel_mode=get_auto_parallel_context("parallel_mode"), list_callback=(),
        )  # fmt: skip

    def _call(self, network: Cell, row: tuple[Any, ...], dataset: Any) -> Any:
        steps = (self._train_network, self._sunk)
        takes_pairs = self._loss_fn is not None and (network in steps or type(network) is WithEvalCell)
        if takes_pairs and len(row) != 2:
            raise ArgumentError(
                f"with a loss_fn a row is (data, label); the data set has {len(row)} columns{columns(dataset)}.",
                hint="leave some out with .project([...]), or let the network take them all and give the loss itself.",
            )
        if wanted.key is not None and network in steps:
            return call_cell(network, row, {})  # planned over devices, in eager mode too
        return network(*row)


def _check_parts(network: Any, loss_fn: Any, optimizer: Any, eval_network: Any) -> None:
    for what, cell in (("network", network), ("optimizer", optimizer), ("eval_network", eval_network)):
        if cell is not None and not isinstance(cell, Cell) or network is None:
            raise ArgumentError(
                f"Model({what}=) must be a Cell, not {type(cell).__name__}.",
                hint="for example nn.Adam(net.trainable_params())." if what == "optimizer" else "",
            )
    if loss_fn is not None and not callable(loss_fn):
        raise ArgumentError(
            f"Model(loss_fn=) must be a Cell or a function, not {type(loss_fn).__name__}.",
            hint="for example nn.CrossEntropyLoss() or nn.MSELoss().",
        )


def _train_network(
    network: Cell, loss_fn: Any, optimizer: Any, level: str, boost_level: str, settings: dict[str, Any]
) -> Cell:
    if optimizer is not None:
        return amp.build_train_network(network, optimizer, loss_fn, level, boost_level, **settings)
    amp.need_boost(boost_level)
    amp.apply_level(network, level, settings["keep_batchnorm_fp32"])
    return network if loss_fn is None else amp.with_loss(network, loss_fn, level)


def _checked_indexes(indexes: Any) -> tuple[int, ...] | None:
    if indexes is None:
        return None
    if len(indexes) != 3 or not all(isinstance(i, int) for i in indexes):
        raise ArgumentError(f"eval_indexes are the positions of loss, outputs and label, got {indexes!r}.")
    return tuple(indexes)


def need_sink_size(size: Any) -> int:
    """The number of steps per sink, -1 for a whole data set.

    Raises:
        TypeError: not an int. ValueError: neither -1 nor above 0.
    """
    if isinstance(size, bool) or not isinstance(size, int):
        raise ArgumentError(f"sink_size must be an int, got {size!r}.")
    if size != -1 and size < 1:
        raise AttributeValueError(f"sink_size must be -1 (the whole data set) or at least 1, got {size}.")
    return size


def _tell_step(params: RunParams, number: int, outputs: Any) -> None:
    step = (number - 1) % int(params.batch_num) + 1
    epoch, steps, epochs = params.cur_epoch_num, params.batch_num, params.epoch_num
    events.emit("step", epoch=epoch, step=step, steps=steps, epochs=epochs, loss=outputs)


def _reported(callbacks: Any, verbose: Any) -> tuple[Callback, ...]:
    """The user's callbacks, and behind them the report that ``verbose`` asks for."""
    own = as_callbacks(callbacks)
    return (*own, *progress_monitor(verbose, own))


def _interrupted(params: RunParams) -> str:
    """Where Ctrl-C stopped a training, which weights there are, and how it goes on."""
    epoch, steps = int(params.cur_epoch_num), int(params.batch_num)
    done = int(params.done_step_num) - max(epoch - 1, 0) * steps
    whole = epoch if done >= steps else max(epoch - 1, 0)
    place = f"epoch {epoch} of {params.epoch_num}"
    if done >= steps:
        where = f"at the end of {place}: the weights are those after all of its {steps} steps"
    else:
        kept = f"those after step {done} of it" if done > 0 else "those from before it"
        where = f"in {place}, at step {done + 1} of {steps}: the weights are {kept}"
    way = f"; train and fit go on with initial_epoch={whole}." if whole < int(params.epoch_num) else "."
    return f"the training was interrupted {where}{way}"


def _is_due(epoch: int, frequency: Any) -> bool:
    if isinstance(frequency, (list, tuple)):
        return epoch in frequency
    return epoch % need_count("valid_frequency", frequency) == 0


@contextmanager
def _training(network: Cell, flag: bool) -> Iterator[None]:
    """``training`` for the whole network within this block; afterwards every Cell has its own again."""
    before = [(cell, cell.training) for _, cell in network.cells_and_names()]
    network.set_train(flag)
    try:
        yield
    finally:
        for cell, own in before:
            cell.__dict__["training"] = own


if not TYPE_CHECKING:  # a type checker must go on to report names that do not exist

    def __getattr__(name: str) -> object:
        """What MindSpore has here and msnb elsewhere."""
        return missing_names.attribute(__name__, name)
