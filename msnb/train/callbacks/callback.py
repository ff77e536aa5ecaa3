"""Callbacks: what is called before and after everything in a run, and the run that they see.

    train begin -> [epoch begin -> [step begin -> step -> step end]... -> epoch end]... -> train end
    eval  begin -> [step begin -> step end]... -> eval end

Both spellings of MindSpore work: ``epoch_end`` (1.x) and ``on_train_epoch_end`` (2.x). In a plain ``Model.eval`` the
1.x names are called too; inside ``Model.fit`` they belong to training alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from types import TracebackType
from typing import Any

import numpy as np

from msnb.base import ArgumentError
from msnb.core import Tensor

__all__ = ["Callback", "RunContext", "RunParams"]


class RunParams(dict[str, Any]):
    """What a run tells its callbacks, as attributes.

    network, train_network, loss_fn, optimizer, metrics; mode ("train" or "eval"), epoch_num, batch_num, cur_epoch_num
    and cur_step_num (both from 1; steps count over all epochs), train_dataset, valid_dataset, train_dataset_element,
    net_outputs (the loss), eval_results, dataset_sink_mode, list_callback.
    """

    def __getattr__(self, name: str) -> Any:
        if name == "mode":
            return self.get(name, "train")  # what a program's own loop does that says nothing
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the run has no {name!r}; it has {', '.join(self)}.") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    @property
    def step_in_epoch(self) -> int:
        """The number of the step in its epoch, from 1."""
        return (int(self.cur_step_num) - 1) % int(self.batch_num) + 1


class RunContext:
    """The handle that a callback gets.

    Args:
        original_args: the RunParams.
    """

    def __init__(self, original_args: RunParams) -> None:
        if not isinstance(original_args, dict):
            raise ArgumentError(f"RunContext takes the parameters of a run, not {original_args!r}.")
        self._args = original_args
        self._stop = False

    def original_args(self) -> RunParams:
        """Everything about the run; see RunParams."""
        return self._args

    def request_stop(self) -> None:
        """End the run after the present step (its ``end`` callbacks are still called)."""
        self._stop = True

    def get_stop_requested(self) -> bool:
        """True once a stop was requested."""
        return self._stop


class Callback:
    """Override what you need. Each method gets a RunContext. A callback is also a context manager around the run.

    Source: `mindspore.train.Callback`

    Examples:
        >>> import msnb as ms
        >>> class StopAt(ms.train.Callback):
        ...     def on_train_step_end(self, run_context):
        ...         if run_context.original_args().cur_step_num >= 100:
        ...             run_context.request_stop()

    Attributes:
        reports_progress: True for one that tells by itself how the training goes; ``verbose="auto"`` then adds nothing.
    """

    reports_progress = False

    def __enter__(self) -> Callback:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        """Called when the run ends, also by an error."""

    def begin(self, run_context: RunContext) -> None: ...
    def epoch_begin(self, run_context: RunContext) -> None: ...
    def epoch_end(self, run_context: RunContext) -> None: ...
    def step_begin(self, run_context: RunContext) -> None: ...
    def step_end(self, run_context: RunContext) -> None: ...
    def end(self, run_context: RunContext) -> None: ...

    def on_train_begin(self, run_context: RunContext) -> None:
        self.begin(run_context)

    def on_train_epoch_begin(self, run_context: RunContext) -> None:
        self.epoch_begin(run_context)

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        self.epoch_end(run_context)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self.step_begin(run_context)

    def on_train_step_end(self, run_context: RunContext) -> None:
        self.step_end(run_context)

    def on_train_end(self, run_context: RunContext) -> None:
        self.end(run_context)

    def on_eval_begin(self, run_context: RunContext) -> None:
        self._in_plain_eval("begin", run_context)

    def on_eval_epoch_begin(self, run_context: RunContext) -> None:
        self._in_plain_eval("epoch_begin", run_context)

    def on_eval_epoch_end(self, run_context: RunContext) -> None:
        self._in_plain_eval("epoch_end", run_context)

    def on_eval_step_begin(self, run_context: RunContext) -> None:
        self._in_plain_eval("step_begin", run_context)

    def on_eval_step_end(self, run_context: RunContext) -> None:
        self._in_plain_eval("step_end", run_context)

    def on_eval_end(self, run_context: RunContext) -> None:
        self._in_plain_eval("end", run_context)

    def _in_plain_eval(self, name: str, run_context: RunContext) -> None:
        if not run_context.original_args().get("inside_fit", False):
            getattr(self, name)(run_context)


class Callbacks(ExitStack):
    """All callbacks of a run, called in order; leaving the block leaves every one of them."""

    def __init__(self, callbacks: Any, run_context: RunContext) -> None:
        super().__init__()
        self.items: tuple[Callback, ...] = as_callbacks(callbacks)
        self.run_context = run_context

    def __enter__(self) -> Callbacks:
        super().__enter__()
        for item in self.items:
            self.enter_context(item)
        return self

    def call(self, name: str) -> None:
        """Call the method ``name`` of each."""
        for item in self.items:
            getattr(item, name)(self.run_context)


def as_callbacks(callbacks: Any) -> tuple[Callback, ...]:
    """None, one callback or several, checked."""
    if callbacks is None:
        return ()
    items: Sequence[Any] = callbacks if isinstance(callbacks, (tuple, list)) else (callbacks,)
    for item in items:
        if not isinstance(item, Callback):
            raise ArgumentError(f"callbacks must be Callback objects, got {item!r}.", hint="did you forget the ()?")
    return tuple(items)


def loss_of(params: RunParams) -> float:
    """The loss of the present step: the network's output, or its first output, averaged over what it holds."""
    output = params.get("net_outputs")
    if isinstance(output, (tuple, list)) and output:
        output = output[0]
    if isinstance(output, Tensor):
        return float(np.mean(output._host()))
    if isinstance(output, (int, float)):
        return float(output)
    raise ArgumentError(f"the network gives a {type(output).__name__}, from which no loss can be read.")
