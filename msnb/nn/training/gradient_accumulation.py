"""``mindspore.boost`` on one device: a training step that sums gradients of several calls before an update.

Source: `mindspore.boost`
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, events
from msnb.core import Parameter, ParameterTuple, Tensor, dtypes
from msnb.nn.cells.cell import Cell
from msnb.nn.training.loss_scale import TrainOneStepWithLossScaleCell
from msnb.nn.training.training_cells import TrainOneStepCell, need_cell

__all__ = [
    "AutoBoost", "BoostTrainOneStepCell", "BoostTrainOneStepWithLossScaleCell", "GradientAccumulation",
    "gradient_accumulation_op", "gradient_clear_op",
]  # fmt: skip


def gradient_accumulation_op(accumulation_step: int, cumulative_grad: Any, grad: Any) -> Any:
    """Adds a share of a gradient to a sum."""
    return ops.assign_add(cumulative_grad, grad / accumulation_step)


def gradient_clear_op(cumulative_grad: Any) -> Any:
    """Makes a sum 0."""
    return ops.assign(cumulative_grad, ops.zeros_like(cumulative_grad))


class GradientAccumulation(Cell):
    """Calls an optimizer once in several calls, with the mean of their gradients.

    Args:
        max_accumulation_step: how many calls, above 0.
        optimizer: an optimizer.

    Raises:
        TypeError: no optimizer. ValueError: no int above 0.

    Examples:
        >>> import msnb as ms
        >>> from msnb.boost import GradientAccumulation
        >>> w = ms.Parameter([1.0], name="w")
        >>> collect = GradientAccumulation(2, ms.nn.SGD([w], 1.0))
        >>> for slope in (0.25, 0.75): _ = collect(ms.Tensor(0.0), (ms.Tensor([slope]),))
        >>> w.tolist()
        [0.5]
    """

    def __init__(self, max_accumulation_step: int, optimizer: Any) -> None:
        super().__init__()
        need_cell("the optimizer of GradientAccumulation", optimizer)
        if not isinstance(max_accumulation_step, int) or max_accumulation_step < 1:
            raise AttributeValueError(f"max_accumulation_step must be an int above 0, got {max_accumulation_step!r}.")
        self._max_accumulation_step: int = max_accumulation_step
        self.optimizer = optimizer
        self._grad_accumulation: ParameterTuple = optimizer.parameters.clone(prefix="grad_accumulation", init="zeros")
        self._accumulation_step = Parameter(Tensor(0, dtypes.int32), name="accumulation_step", requires_grad=False)

    def construct(self, loss: Any, grads: Any) -> Any:
        """The loss, as it came."""
        for total, grad in zip(self._grad_accumulation, grads):
            gradient_accumulation_op(self._max_accumulation_step, total, grad)
        ops.assign(self._accumulation_step, self._accumulation_step + 1)
        if self._accumulation_step >= self._max_accumulation_step:
            self.optimizer(tuple(self._grad_accumulation))
            ops.assign(self._accumulation_step, 0)
            for total in self._grad_accumulation:
                gradient_clear_op(total)
        return loss


class BoostTrainOneStepCell(TrainOneStepCell):
    """``nn.TrainOneStepCell``: on one device a step has nothing to be boosted by. Arguments as there."""

    def __init__(self, network: Cell, optimizer: Any, sens: float | None = None) -> None:
        super().__init__(network, optimizer, sens)


class BoostTrainOneStepWithLossScaleCell(TrainOneStepWithLossScaleCell):
    """``nn.TrainOneStepWithLossScaleCell``: on one device a step has nothing to be boosted by. Arguments as there."""


class AutoBoost:
    """What ``level`` asks for concerns several devices or frozen layers: on one device it changes nothing, which is
    said once.

    Args:
        level: "O0", "O1" or "O2".
        boost_config_dict: settings of the level.

    Raises:
        ValueError: another level.

    Source: `mindspore.boost.AutoBoost`

    Examples:
        >>> import msnb as ms
        >>> from msnb.boost import AutoBoost
        >>> net = ms.nn.Dense(2, 1)
        >>> AutoBoost("O0").network_auto_process_eval(net) is net
        True
    """

    def __init__(self, level: str = "O0", boost_config_dict: Any = "") -> None:
        if level not in ("O0", "O1", "O2"):
            raise AttributeValueError(f"AutoBoost: level is 'O0', 'O1' or 'O2', not {level!r}.")
        self.level, self.boost_config_dict = level, boost_config_dict
        if level != "O0":
            events.notice(f"AutoBoost: level {level} changes nothing on one device.", key="boost_level")

    def network_auto_process_train(self, network: Cell, optimizer: Any) -> tuple[Cell, Any]:
        """The network and its optimizer, as they came."""
        return network, optimizer

    def network_auto_process_eval(self, network: Cell) -> Cell:
        """The network, as it came."""
        return network
