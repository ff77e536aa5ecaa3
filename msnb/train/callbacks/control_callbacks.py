"""Callbacks that steer: stop early, lower the learning rate.

What they watch: "loss" (the training loss at the end of an epoch), or a metric of the evaluation in ``Model.fit`` by
its name, with or without "eval_" in front ("eval_loss", "accuracy").
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, events
from msnb.core import Parameter, Tensor
from msnb.train.callbacks.callback import Callback, RunContext, RunParams, loss_of
from msnb.train.callbacks.logging_callbacks import need_count

__all__ = ["EarlyStopping", "LearningRateScheduler", "ReduceLROnPlateau"]

_SMALLER_IS_BETTER = {"loss", "mse", "mae", "perplexity", "hausdorff_distance", "mean_surface_distance",
                      "root_mean_square_distance"}  # fmt: skip


class BestValue:
    """Is a number better than the best so far?

    Args:
        monitor: what to watch, see the head of this file.
        mode: "min", "max", or "auto" (min for losses, errors and distances, else max).
        min_delta: a change of less is no improvement.
    """

    def __init__(self, monitor: str, mode: str, min_delta: float) -> None:
        if mode not in ("min", "max", "auto"):
            raise AttributeValueError(f"mode must be 'min', 'max' or 'auto', got {mode!r}.")
        self.monitor = monitor
        smaller = mode == "min" or (mode == "auto" and monitor.removeprefix("eval_") in _SMALLER_IS_BETTER)
        self._sign, self._delta = (1.0 if smaller else -1.0), abs(min_delta)
        self.reset()

    def reset(self) -> None:
        """Forget what was best."""
        self.best: float = self._sign * math.inf

    def better(self, value: float) -> bool:
        """True (and remembered) if ``value`` improves on the best."""
        if not self.beats(value, self.best):
            return False
        self.best = value
        return True

    def beats(self, value: float, other: float) -> bool:
        """True if ``value`` is better than ``other`` by more than ``min_delta``."""
        return self._sign * value < self._sign * other - self._delta

    def value(self, params: RunParams) -> float | None:
        """The number in this epoch; None in an epoch without evaluation. Raises ValueError if it does not exist."""
        if self.monitor == "loss":
            return loss_of(params)
        results = params.get("eval_results") or {}
        for name in (self.monitor, self.monitor.removeprefix("eval_")):
            if name in results:
                return float(np.mean(results[name]))
        if params.get("valid_dataset") is None or results:
            legal = ", ".join(["loss", *results])
            raise AttributeValueError(f"monitor={self.monitor!r} is not there; this run has: {legal}.")
        return None


class EarlyStopping(Callback):
    """Stops a training that no longer improves.

    Args:
        monitor: what to watch.
        min_delta: a change of less is no improvement.
        patience: training stops after so many epochs in a row without improvement; 0: after the first epoch.
        verbose: print when it stops.
        mode: "min", "max" or "auto".
        baseline: an epoch that does not beat this counts as one without improvement.
        restore_best_weights: put the network's best values back when it stops.

    Source: `mindspore.train.EarlyStopping`
    """

    def __init__(
        self, monitor: str = "eval_loss", min_delta: float = 0, patience: int = 0, verbose: bool = False,
        mode: str = "auto", baseline: float | None = None, restore_best_weights: bool = False,
    ) -> None:  # fmt: skip
        self._watch = BestValue(monitor, mode, min_delta)
        self._baseline = baseline
        self._patience = need_count("patience", patience, 0)
        self._verbose, self._restore = verbose, restore_best_weights
        self._wait = 0
        self._kept: dict[Parameter, Tensor] = {}
        self.stopped_epoch: Any = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start anew."""
        self._watch.reset()
        self._wait, self.stopped_epoch, self._kept = 0, 0, {}

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Better, patient or at the end."""
        params = run_context.original_args()
        value = self._watch.value(params)
        if value is None:
            return
        self._wait += 1
        better = self._watch.better(value)
        if self._restore and (better or not self._kept):
            self._kept = {p: p.value() for p in params.train_network.get_parameters()}
        if better and (self._baseline is None or self._watch.beats(value, self._baseline)):
            self._wait = 0
        if self._wait >= self._patience:
            self._stop(run_context)

    def _stop(self, run_context: RunContext) -> None:
        self.stopped_epoch = run_context.original_args().cur_epoch_num
        run_context.request_stop()
        for parameter, value in self._kept.items():
            parameter.set_data(value)
        if self._verbose:
            what = f"{self._watch.monitor} has been at best {self._watch.best:.6g}"
            print(f"epoch {self.stopped_epoch}: {what} for {self._wait} epochs; training stops.")


class LearningRateWriter(Callback):
    """Reads and sets the learning rate of the optimizer: a number or a Parameter, neither of which compiles again."""

    def read(self, params: RunParams) -> float:
        """The present rate. Raises TypeError for a schedule or groups with rates of their own."""
        optimizer = params.optimizer
        rate = getattr(optimizer, "learning_rate", None)
        own = [g for g in getattr(optimizer, "param_groups", ()) if g.learning_rate is not None]
        if own or not isinstance(rate, (int, float, Parameter)) or (isinstance(rate, Parameter) and rate.size != 1):
            raise ArgumentError(
                f"{type(self).__name__} needs an optimizer with one constant learning rate.",
                hint="this one follows a schedule of its own, or has groups with rates of their own.",
            )
        return float(rate)

    def write(self, params: RunParams, value: float) -> None:
        """Set the rate."""
        rate = params.optimizer.learning_rate
        if isinstance(rate, Parameter):
            rate.set_data(Tensor(np.full(rate.shape, value, rate.dtype.numpy)))
        else:
            params.optimizer.learning_rate = value


class ReduceLROnPlateau(LearningRateWriter):
    """Lowers the learning rate when there is no improvement.

    Args:
        monitor: what to watch.
        factor: the rate is multiplied with it, below 1.
        patience: epochs without improvement to wait.
        verbose: print when it acts.
        mode: "min", "max" or "auto".
        min_delta: a change of less is no improvement.
        cooldown: epochs to wait after a reduction.
        min_lr: the rate never falls below.

    Source: `mindspore.train.ReduceLROnPlateau`
    """

    def __init__(
        self, monitor: str = "eval_loss", factor: float = 0.1, patience: int = 10, verbose: bool = False,
        mode: str = "auto", min_delta: float = 1e-4, cooldown: int = 0, min_lr: float = 0,
    ) -> None:  # fmt: skip
        if not 0 <= factor < 1:
            raise AttributeValueError(f"factor must be at least 0 and below 1, got {factor}.")
        self._watch = BestValue(monitor, mode, min_delta)
        self._factor, self._min, self._verbose = factor, min_lr, verbose
        self._patience, self._cooldown = need_count("patience", patience, 0), need_count("cooldown", cooldown, 0)
        self._wait = self._cooling = 0

    def on_train_begin(self, run_context: RunContext) -> None:
        """Start anew."""
        self._watch.reset()
        self._wait = self._cooling = 0

    def on_train_epoch_end(self, run_context: RunContext) -> None:
        """Better, patient, or time to slow down."""
        params = run_context.original_args()
        value = self._watch.value(params)
        if value is None:
            return
        if self._cooling:
            self._cooling, self._wait = self._cooling - 1, 0
        if self._watch.better(value):
            self._wait = 0
        elif not self._cooling:
            self._wait += 1
            if self._wait >= self._patience:
                self._reduce(params)

    def _reduce(self, params: RunParams) -> None:
        old = self.read(params)
        new = max(old * self._factor, self._min)
        if new < old:
            self.write(params, new)
            self._cooling, self._wait = self._cooldown, 0
            if self._verbose:
                print(f"epoch {params.cur_epoch_num}: learning rate {old:.6g} -> {new:.6g}")


class LearningRateScheduler(LearningRateWriter):
    """Sets the learning rate by a function of the rate and the step. It never compiles again.

    Args:
        learning_rate_function: ``f(rate, step) -> rate``, called at the end of every step.

    Source: `mindspore.train.LearningRateScheduler`

    Examples:
        >>> import msnb as ms
        >>> halve = ms.train.LearningRateScheduler(lambda rate, step: rate / 2 if step % 1000 == 0 else rate)
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        if not callable(learning_rate_function):
            raise ArgumentError(f"LearningRateScheduler needs a function, not {learning_rate_function!r}.")
        self._function = learning_rate_function

    def step_end(self, run_context: RunContext) -> None:
        """Ask the function."""
        params = run_context.original_args()
        if params.mode != "train":
            return
        old = self.read(params)
        new: Any = self._function(old, int(params.cur_step_num))
        if not isinstance(new, (int, float, np.generic, Tensor)) or not math.isfinite(float(new)):
            raise AttributeValueError(f"the learning rate must be a finite number, the function gave {new!r}.")
        if float(new) != old:
            self.write(params, float(new))
            events.emit("learning_rate", step=int(params.cur_step_num), value=float(new))
