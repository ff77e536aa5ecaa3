"""Learning rates as Cells of the step: lr = schedule(global_step), computed inside the training step.

    p = step / decay_steps          (rounded down with is_stair)

    exponential  lr * rate^p                    cosine      min + (max - min) / 2 * (1 + cos(pi * min(p, 1)))
    natural exp  lr * e^(-rate * p)             polynomial  end + (lr - end) * (1 - min(p, 1))^power
    inverse      lr / (1 + rate * p)            warm-up     lr * min(step, warmup_steps) / warmup_steps

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.nn.html (LearningRateSchedule class)
"""

from __future__ import annotations

import math
from typing import Any

from msnb import ops
from msnb.core import Parameter, Tensor, dtypes
from msnb.nn.cells.cell import Cell
from msnb.ops.definition.type_inference import need_bools

__all__ = [
    "CosineDecayLR", "ExponentialDecayLR", "InverseDecayLR", "LearningRateSchedule", "NaturalExpDecayLR",
    "PolynomialDecayLR", "WarmUpLR",
]  # fmt: skip


def positive(what: str, value: Any, zero: bool = False) -> float:
    """``value`` as a float above 0 (or at least 0). Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number, got {value!r}.")
    if value < 0 or (value == 0 and not zero):
        raise ValueError(f"{what} must be {'at least' if zero else 'above'} 0, got {value}.")
    return float(value)


def share(what: str, value: Any) -> float:
    """``value`` as a float from 0 to below 1. Raises ValueError."""
    if not 0 <= positive(what, value, zero=True) < 1:
        raise ValueError(f"{what} must be from 0 to below 1, got {value}.")
    return float(value)


def count(what: str, value: Any) -> int:
    """``value`` as an int above 0. Raises TypeError, ValueError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} must be an int, got {value!r}.")
    if value < 1:
        raise ValueError(f"{what} must be above 0, got {value}.")
    return value


class LearningRateSchedule(Cell):
    """Base of schedules: ``construct(global_step)`` gives the learning rate as a 0-d float tensor."""

    def construct(self, global_step: Any) -> Any:
        """The learning rate at this step.

        Raises:
            NotImplementedError: the subclass did not write it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no construct(global_step).")


class _Decay(LearningRateSchedule):
    """What the three schedules with a rate share."""

    def __init__(self, learning_rate: float, decay_rate: float, decay_steps: int, is_stair: bool = False) -> None:
        super().__init__()
        self.learning_rate = positive("learning_rate", learning_rate)
        self.decay_rate = positive("decay_rate", decay_rate)
        self.decay_steps = count("decay_steps", decay_steps)
        need_bools(type(self).__name__, is_stair=is_stair)
        self.is_stair = is_stair

    def _part(self, global_step: Any) -> Any:
        p = ops.cast(global_step, dtypes.float32) / self.decay_steps
        return ops.floor(p) if self.is_stair else p


class ExponentialDecayLR(_Decay):
    """learning_rate * decay_rate ** (step / decay_steps).

    Args:
        learning_rate: at step 0.
        decay_rate: factor per decay_steps.
        decay_steps: steps.
        is_stair: decay in stairs, once every decay_steps.

    Examples:
        >>> import msnb as ms
        >>> float(ms.nn.ExponentialDecayLR(1.0, 0.5, 2)(ms.Tensor(4)))
        0.25
    """

    def construct(self, global_step: Any) -> Any:
        """The learning rate at this step."""
        return self.learning_rate * ops.pow(self.decay_rate, self._part(global_step))


class NaturalExpDecayLR(_Decay):
    """learning_rate * e ** (-decay_rate * step / decay_steps); arguments as in ``ExponentialDecayLR``."""

    def construct(self, global_step: Any) -> Any:
        """The learning rate at this step."""
        return self.learning_rate * ops.exp(-self.decay_rate * self._part(global_step))


class InverseDecayLR(_Decay):
    """learning_rate / (1 + decay_rate * step / decay_steps); arguments as in ``ExponentialDecayLR``."""

    def construct(self, global_step: Any) -> Any:
        """The learning rate at this step."""
        return self.learning_rate / (1.0 + self.decay_rate * self._part(global_step))


class CosineDecayLR(LearningRateSchedule):
    """From max_lr to min_lr along half a cosine, in decay_steps.

    Examples:
        >>> import msnb as ms
        >>> float(ms.nn.CosineDecayLR(0.0, 1.0, 4)(ms.Tensor(2))) < 0.5001
        True
    """

    def __init__(self, min_lr: float, max_lr: float, decay_steps: int) -> None:
        super().__init__()
        self.min_lr: float = positive("min_lr", min_lr, zero=True)
        self.max_lr: float = positive("max_lr", max_lr)
        if self.min_lr >= self.max_lr:
            raise ValueError(f"CosineDecayLR needs min_lr < max_lr, got {min_lr} and {max_lr}.")
        self.decay_steps: int = count("decay_steps", decay_steps)

    def construct(self, global_step: Any) -> Any:
        """The learning rate at this step."""
        part = ops.minimum(ops.cast(global_step, dtypes.float32), float(self.decay_steps)) / self.decay_steps
        return self.min_lr + 0.5 * (self.max_lr - self.min_lr) * (1.0 + ops.cos(math.pi * part))


class PolynomialDecayLR(LearningRateSchedule):
    """end + (learning_rate - end) * (1 - step / decay_steps) ** power.

    Args:
        learning_rate, end_learning_rate: at step 0 and from decay_steps on.
        decay_steps: steps.
        power: exponent.
        update_decay_steps: stretch decay_steps to its next multiple whenever it is reached.
    """

    def __init__(
        self, learning_rate: float, end_learning_rate: float, decay_steps: int, power: float,
        update_decay_steps: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.learning_rate: float = positive("learning_rate", learning_rate)
        self.end_learning_rate: float = positive("end_learning_rate", end_learning_rate, zero=True)
        self.decay_steps: int = count("decay_steps", decay_steps)
        self.power: float = positive("power", power)
        need_bools("PolynomialDecayLR", update_decay_steps=update_decay_steps)
        self.update_decay_steps: bool = update_decay_steps

    def construct(self, global_step: Any) -> Any:
        """The learning rate at this step."""
        step = ops.cast(global_step, dtypes.float32)
        if self.update_decay_steps:
            part = step / (self.decay_steps * ops.maximum(ops.ceil(step / self.decay_steps), 1.0))
        else:
            part = ops.minimum(step, float(self.decay_steps)) / self.decay_steps
        return self.end_learning_rate + (self.learning_rate - self.end_learning_rate) * (1.0 - part) ** self.power


class WarmUpLR(LearningRateSchedule):
    """From 0 to learning_rate in warmup_steps, then constant.

    Examples:
        >>> import msnb as ms
        >>> float(ms.nn.WarmUpLR(1.0, 4)(ms.Tensor(1)))
        0.25
    """

    def __init__(self, learning_rate: float, warmup_steps: int) -> None:
        super().__init__()
        self.learning_rate: float = positive("learning_rate", learning_rate)
        self.warmup_steps: int = count("warmup_steps", warmup_steps)

    def construct(self, global_step: Any) -> Any:
        """The learning rate at this step."""
        done = ops.minimum(ops.cast(global_step, dtypes.float32), float(self.warmup_steps))
        return self.learning_rate * done / self.warmup_steps


class RateTable(LearningRateSchedule):
    """One rate per step, or one for all, in a Parameter as in MindSpore's checkpoints; later steps have the last."""

    def __init__(self, rates: Any, name: str) -> None:
        super().__init__()
        self.learning_rate = Parameter(Tensor(rates, dtypes.float32), name=name, requires_grad=False)

    def construct(self, global_step: Any) -> Any:
        """The rate of this step."""
        table = ops.reshape(self.learning_rate, (-1,))
        return ops.gather(table, ops.minimum(global_step, len(table) - 1), axis=0)
