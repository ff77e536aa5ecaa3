"""The learning rate finder: one short training with a rate that grows from step to step.

    found = ms.train.lr_find(model, train_set)       found.suggestion, found.rates, found.losses
    ms.show.lr_find(model, train_set)                the same as a picture

Too small a rate changes nothing, too large a one makes the loss explode; between them it falls fastest. The suggestion
is the rate at which the smoothed loss falls most per factor of the rate. Afterwards weights, optimizer state and the
stream of random numbers are what they were.

Source: Smith, "Cyclical Learning Rates for Training Neural Networks", 2017.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Parameter, Tensor, random
from msnb.train.callbacks.callback import RunContext, loss_of
from msnb.train.callbacks.control_callbacks import LearningRateWriter
from msnb.train.callbacks.logging_callbacks import need_count
from msnb.train.model import Model

__all__ = ["LearningRateSearch", "lr_find"]

SMOOTH, EXPLODED, LEAST_STEPS = 0.9, 4.0, 10


class LearningRateSearch(LearningRateWriter):
    """What the finder saw.

    Args:
        start, end: the first and the last rate.
        steps: how many steps lie between them.

    Attributes:
        rates, losses: per step that ran.
        smooth: the losses, smoothed.
        suggestion: where the smoothed loss falls fastest; None where it never falls.
    """

    reports_progress = True

    def __init__(self, start: float = 1e-6, end: float = 1.0, steps: int = 100) -> None:
        for name, value in (("start", start), ("end", end)):
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise ArgumentError(f"lr_find: {name} must be a number, got {value!r}.")
        if not 0 < start < end < math.inf:
            raise AttributeValueError(f"lr_find needs 0 < start < end, got start={start!r}, end={end!r}.")
        self._start, self._end = float(start), float(end)
        self.steps: int = need_count("steps", steps, LEAST_STEPS)
        self.rates: list[float] = []
        self.losses: list[float] = []
        self.smooth: list[float] = []
        self._mean = 0.0
        self._before: list[tuple[Parameter, Tensor]] = []
        self._restore_rate: Any = None

    def on_train_begin(self, run_context: RunContext) -> None:
        """Keep what the search will change."""
        params = run_context.original_args()
        rate = self.read(params)  # first: it is the check that there is one rate
        self._restore_rate = lambda: self.write(params, rate)
        state = [*params.train_network.get_parameters(), random.state()]
        self._before = [(parameter, parameter.value()) for parameter in state]

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """The rate of this step."""
        share = len(self.rates) / (self.steps - 1)
        self.rates.append(self._start * (self._end / self._start) ** share)
        self.write(run_context.original_args(), self.rates[-1])

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Its loss; enough steps, or a loss that explodes, end the search."""
        loss, count = loss_of(run_context.original_args()), len(self.rates)
        self.losses.append(loss)
        self._mean = SMOOTH * self._mean + (1 - SMOOTH) * loss
        self.smooth.append(self._mean / (1 - SMOOTH**count))
        exploded = not math.isfinite(loss) or self.smooth[-1] > EXPLODED * max(min(self.smooth), 1e-12)
        if count >= self.steps or (exploded and count >= LEAST_STEPS) or not math.isfinite(loss):
            run_context.request_stop()

    def __exit__(self, kind: Any, error: Any, tb: Any) -> None:
        """Everything is what it was, also after an error."""
        for parameter, value in self._before:
            parameter.set_data(value)
        if self._restore_rate is not None:
            self._restore_rate()
        self._before, self._restore_rate = [], None

    @property
    def suggestion(self) -> float | None:
        """The rate at which the smoothed loss falls fastest."""
        values = np.array([v for v in self.smooth if math.isfinite(v)])
        if len(values) < LEAST_STEPS:
            return None
        skip = len(values) // 10  # the first means hold too few losses to be smooth
        least = skip + int(values[skip:].argmin())
        slopes = np.gradient(values)[skip : least + 1]
        place = int(slopes.argmin())
        return self.rates[skip + place] if slopes[place] < 0 else None

    def __repr__(self) -> str:
        found = "no rate lowers the loss" if self.suggestion is None else f"suggestion {self.suggestion:.2g}"
        span = f"{self.rates[0]:.2g} to {self.rates[-1]:.2g}" if self.rates else "none"
        return f"learning rates {span}, {len(self.losses)} steps: {found}"


def lr_find(
    model: Model, train_dataset: Any, start: float = 1e-6, end: float = 1.0, steps: int = 100
) -> LearningRateSearch:
    """Find a learning rate: train some steps with a growing one, then put everything back.

    Args:
        model: with an optimizer that has one constant learning rate.
        train_dataset: a Dataset, or a list of rows, as ``Model.train`` takes; read again where it is too short.
        start, end: the first and the last rate; they grow by the same factor from step to step.
        steps: at most so many; a loss that explodes ends the search earlier.

    Returns:
        ``.suggestion`` (None where no rate lowers the loss), ``.rates``, ``.losses``. ``ms.show.lr_find`` draws it.

    Raises:
        TypeError: ``model`` is no Model, or its optimizer follows a schedule.
        ValueError: not 0 < start < end, or fewer than 10 steps.

    Examples:
        >>> import numpy as np
        >>> import msnb as ms
        >>> net = ms.nn.Dense(2, 1)
        >>> model = ms.Model(net, ms.nn.MSELoss(), ms.nn.SGD(net.trainable_params(), 0.5))
        >>> rows = [(np.ones((4, 2), np.float32), np.full((4, 1), 3, np.float32))]
        >>> found = ms.train.lr_find(model, rows)
        >>> 0.001 < found.suggestion < 1
        True
        >>> float(model.train_network.optimizer.learning_rate)
        0.5
    """
    if not isinstance(model, Model) or model.optimizer is None:
        hint = "Model(net, loss_fn, nn.SGD(...))."
        told = "one without" if isinstance(model, Model) else f"a {type(model).__name__}"
        raise ArgumentError(f"lr_find takes a Model with an optimizer, got {told}.", hint=hint)
    search = LearningRateSearch(start, end, steps)
    model.train(search.steps, train_dataset, search)
    return search
