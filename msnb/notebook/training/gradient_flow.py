"""``ms.show.flow``: how large the gradient of every layer is while a network trains.

    rms of the gradient        fc3 ------------______
    (logarithmic)              fc2 ---------_________
                               fc1 ------____________     a layer that sinks away from the others is starved

    flow = ms.show.flow(net)                    model.train(5, data, callbacks=[flow])     every so many steps, or
    flow.record(gradients)                      in a loop of your own; the last line of a cell shows it

As a callback it computes the gradients of the present batch once more (``every`` says how often), so it changes nothing
in the training, not even the random draws. The measure is the root mean square; a layer is *vanishing* where it is
SPREAD times below the last layer of its step (the way back begins there), *exploding* where it is as far above or not
finite.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.api import grad
from msnb.base import ArgumentError
from msnb.core import Parameter, Tensor, plain_numbers
from msnb.core.random import state
from msnb.notebook.charts.html_fragments import Row, columns, number_word, table
from msnb.notebook.charts.plot import Curve, Panel, curves_svg
from msnb.notebook.training.gradient_norms import reference_of, verdict_of
from msnb.notebook.views.view import Section, View
from msnb.train import Callback, RunContext

HEAD = ("layer", "first", "last", "smallest", "largest", "verdict")
MOST_CURVES = 8


def size_of_gradient(gradient: Any) -> float:
    """Its root mean square; NaN and infinity stay what they are."""
    array = gradient._host() if isinstance(gradient, Tensor) else np.asarray(gradient)
    wide = plain_numbers(np.asarray(array))
    return float(np.sqrt(np.square(np.abs(wide), dtype=np.float64).mean())) if wide.size else 0.0


class FlowView(View, Callback):
    """Gradient sizes per layer over steps; a callback, and a view.

    Args:
        net: the network whose parameters are followed.
        every: as a callback, look every so many steps.

    Attributes:
        steps: the numbers of the steps that were looked at.
        sizes: layer -> one root mean square per step.
    """

    kind = "flow"

    def __init__(self, net: Any, every: int = 10) -> None:
        super().__init__(type(net).__name__)
        if not callable(getattr(net, "trainable_params", None)):
            raise ArgumentError(f"flow follows the parameters of a Cell, not of a {type(net).__name__}.")
        if not isinstance(every, int) or every < 1:
            raise ArgumentError(f"every must be an int of at least 1, got {every!r}.")
        self.every = every
        self.weights: list[Parameter] = list(net.trainable_params())
        self.steps: list[int] = []
        self.sizes: dict[str, list[float]] = {layer_of(p.name): [] for p in self.weights}

    # ---- collecting ----

    def record(self, gradients: Sequence[Any], step: int | None = None) -> None:
        """Note the gradients of one step.

        Args:
            gradients: one per trainable parameter, in the order of ``net.trainable_params()``.
            step: the number of the step (the next one by default).

        Raises:
            ArgumentError: another number of gradients than parameters.
        """
        if len(gradients) != len(self.weights):
            raise ArgumentError(f"flow follows {len(self.weights)} parameters, got {len(gradients)} gradients.")
        found: dict[str, float] = {}
        for weight, gradient in zip(self.weights, gradients):
            size, layer = size_of_gradient(gradient), layer_of(weight.name)
            found[layer] = float(np.maximum(size, found.get(layer, 0.0)))  # NaN stays
        self.steps.append(self.steps[-1] + 1 if step is None and self.steps else 1 if step is None else step)
        for layer, size in found.items():
            self.sizes[layer].append(size)

    def on_train_step_begin(self, run_context: RunContext) -> None:
        """Look at the gradients of this batch, before the step changes the weights."""
        if not run_context.original_args().get("dataset_sink_mode"):
            self._look(run_context.original_args())

    def on_train_step_end(self, run_context: RunContext) -> None:
        """Of a sink (many steps in one call) only the last batch is known, and only after it."""
        if run_context.original_args().get("dataset_sink_mode"):
            self._look(run_context.original_args())

    def _look(self, params: Any) -> None:
        step = int(params.cur_step_num)
        if not self.steps or step - self.steps[-1] >= self.every or step < self.steps[-1]:
            self.record(_gradients(params, self.weights), step)

    # ---- judging ----

    def verdict(self, layer: str) -> str:
        """``vanishing``, ``exploding`` or nothing, by the last step."""
        now = {name: found[-1] for name, found in self.sizes.items() if found}
        return verdict_of(now.get(layer, 0.0), reference_of(reversed(now.values())))

    @property
    def rows(self) -> list[Row]:
        """Per layer."""
        return [self._row(layer, found) for layer, found in self.sizes.items() if found]

    def _row(self, layer: str, found: list[float]) -> Row:
        finite = [v for v in found if math.isfinite(v)] or [math.nan]
        numbers = (found[0], found[-1], min(finite), max(finite))
        return layer, *map(rounded, numbers), self.verdict(layer)

    @property
    def text(self) -> str:
        """The table."""
        if not self.steps:
            return f"{self.title}: no step has been looked at yet."
        return f"root mean square of the gradient, {len(self.steps)} steps\n{columns(HEAD, self.rows)}"

    @property
    def svg(self) -> str:
        """A curve per layer, logarithmic; those with a verdict first, then spread evenly."""
        shown = self._shown()
        curves = [Curve(f"{name} {self.verdict(name)}".strip(), self.steps, self.sizes[name]) for name in shown]
        more = len(self.sizes) - len(shown)
        title = f"gradients of {self.title}, per layer" + (f" ({more} more in the table)" if more else "")
        return curves_svg(title, [Panel("rms", curves, log=True)], "step", 240.0)

    def _shown(self) -> list[str]:
        names = list(self.sizes)
        marked = [n for n in names if self.verdict(n)][:MOST_CURVES]
        rest = [n for n in names if n not in marked]
        room = MOST_CURVES - len(marked)
        spread = [rest[i * len(rest) // room] for i in range(min(room, len(rest)))] if len(rest) > room else rest
        return [n for n in names if n in {*marked, *spread}]

    @property
    def sections(self) -> list[Section]:
        """The table."""
        return [("Gradient by layer", table(HEAD, self.rows))]

    @property
    def data(self) -> dict[str, Any]:
        """Steps and sizes; what is no number is null."""
        sizes = {name: [v if math.isfinite(v) else None for v in found] for name, found in self.sizes.items()}
        return {"steps": self.steps, "sizes": sizes}


def layer_of(name: str) -> str:
    """``block.0.fc`` of ``block.0.fc.weight``."""
    return name.rsplit(".", 1)[0] if "." in name else name


def rounded(value: float) -> str:
    """Two digits: the third differs between machines that add up in another order."""
    return number_word(value) if not math.isfinite(value) else "0" if value == 0 else f"{value:.1e}"


def _gradients(params: Any, weights: Sequence[Parameter]) -> Any:
    """The gradients of the present batch. Everything that the forward pass writes is put back."""
    loss = getattr(params.train_network, "network", params.train_network)
    kept = [(p, p.value()) for p in (*loss.get_parameters(), state())]
    try:
        return grad(loss, None, tuple(weights))(*params.train_dataset_element)
    finally:
        for parameter, value in kept:
            parameter.set_data(value)
