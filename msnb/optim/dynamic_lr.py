"""Learning rates as lists, one per step: an optimizer uses entry ``global_step`` (the last one from then on).

They change once per epoch, e = step // step_per_epoch; the formulas are those of ``schedules`` with e / decay_epoch in
the place of step / decay_steps.
Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.nn.html (dynamic LR functions)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msnb.ops.definition.type_inference import need_bools
from msnb.optim.lr_schedules import count, positive

__all__ = [
    "cosine_decay_lr", "exponential_decay_lr", "inverse_decay_lr", "natural_exp_decay_lr", "piecewise_constant_lr",
    "polynomial_decay_lr", "warmup_lr",
]  # fmt: skip


def _per_epoch(total_step: int, step_per_epoch: int, rate: Callable[[int], float]) -> list[float]:
    count("total_step", total_step)
    count("step_per_epoch", step_per_epoch)
    return [rate(i // step_per_epoch) for i in range(total_step)]


def _stairs(is_stair: bool) -> Callable[[float], float]:
    need_bools("learning rates", is_stair=is_stair)
    return math.floor if is_stair else float


def piecewise_constant_lr(milestone: Sequence[int], learning_rates: Sequence[float]) -> list[float]:
    """learning_rates[i] for the steps before milestone[i].

    Args:
        milestone: increasing steps; the list has milestone[-1] entries.
        learning_rates: one per milestone.

    Raises:
        ValueError: unequal lengths, or milestones that do not increase.

    Examples:
        >>> from msnb import nn
        >>> nn.piecewise_constant_lr([1, 3], [0.5, 0.1])
        [0.5, 0.1, 0.1]
    """
    if len(milestone) != len(learning_rates) or not milestone:
        raise ValueError(f"{len(milestone)} milestones do not go with {len(learning_rates)} learning rates.")
    out: list[float] = []
    for stop, rate in zip(milestone, learning_rates):
        if count("milestone", stop) <= len(out):
            raise ValueError(f"milestones must increase, got {list(milestone)}.")
        out += [positive("learning_rate", rate)] * (stop - len(out))
    return out


def exponential_decay_lr(
    learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:  # fmt: skip
    """learning_rate * decay_rate ** (epoch / decay_epoch).

    Args:
        learning_rate: at the start.
        decay_rate: factor per decay_epoch epochs.
        total_step: length of the list.
        step_per_epoch: steps in an epoch.
        decay_epoch: epochs.
        is_stair: round epoch / decay_epoch down.

    Examples:
        >>> from msnb import nn
        >>> nn.exponential_decay_lr(1.0, 0.5, 3, 1, 1)
        [1.0, 0.5, 0.25]
    """
    positive("learning_rate", learning_rate), positive("decay_rate", decay_rate), count("decay_epoch", decay_epoch)
    stairs = _stairs(is_stair)
    return _per_epoch(total_step, step_per_epoch, lambda e: learning_rate * decay_rate ** stairs(e / decay_epoch))


def natural_exp_decay_lr(
    learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:  # fmt: skip
    """learning_rate * e ** (-decay_rate * epoch), the epoch rounded down to a multiple of decay_epoch with is_stair.

    Arguments as in ``exponential_decay_lr``.
    """
    positive("learning_rate", learning_rate), positive("decay_rate", decay_rate), count("decay_epoch", decay_epoch)
    need_bools("natural_exp_decay_lr", is_stair=is_stair)

    def rate(epoch: int) -> float:
        e = epoch // decay_epoch * decay_epoch if is_stair else epoch
        return learning_rate * math.exp(-decay_rate * e)

    return _per_epoch(total_step, step_per_epoch, rate)


def inverse_decay_lr(
    learning_rate: float, decay_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int,
    is_stair: bool = False,
) -> list[float]:  # fmt: skip
    """learning_rate / (1 + decay_rate * epoch / decay_epoch); arguments as in ``exponential_decay_lr``."""
    positive("learning_rate", learning_rate), positive("decay_rate", decay_rate), count("decay_epoch", decay_epoch)
    stairs = _stairs(is_stair)
    return _per_epoch(total_step, step_per_epoch, lambda e: learning_rate / (1 + decay_rate * stairs(e / decay_epoch)))


def cosine_decay_lr(
    min_lr: float, max_lr: float, total_step: int, step_per_epoch: int, decay_epoch: int
) -> list[float]:
    """From max_lr to min_lr along half a cosine, in decay_epoch epochs.

    Examples:
        >>> from msnb import nn
        >>> [round(x, 2) for x in nn.cosine_decay_lr(0.0, 1.0, 3, 1, 2)]
        [1.0, 0.5, 0.0]
    """
    positive("min_lr", min_lr, zero=True), positive("max_lr", max_lr), count("decay_epoch", decay_epoch)
    if min_lr >= max_lr:
        raise ValueError(f"cosine_decay_lr needs min_lr < max_lr, got {min_lr} and {max_lr}.")
    half = 0.5 * (max_lr - min_lr)

    def rate(epoch: int) -> float:
        return min_lr + half * (1 + math.cos(math.pi * min(epoch, decay_epoch) / decay_epoch))

    return _per_epoch(total_step, step_per_epoch, rate)


def polynomial_decay_lr(
    learning_rate: float, end_learning_rate: float, total_step: int, step_per_epoch: int, decay_epoch: int,
    power: float, update_decay_epoch: bool = False,
) -> list[float]:  # fmt: skip
    """end + (learning_rate - end) * (1 - epoch / decay_epoch) ** power.

    Args:
        learning_rate, end_learning_rate: at the start and from decay_epoch on.
        total_step, step_per_epoch: length of the list; steps in an epoch.
        decay_epoch: epochs.
        power: exponent.
        update_decay_epoch: stretch decay_epoch to its next multiple whenever it is reached.

    Examples:
        >>> from msnb import nn
        >>> nn.polynomial_decay_lr(1.0, 0.0, 3, 1, 2, 1.0)
        [1.0, 0.5, 0.0]
    """
    positive("learning_rate", learning_rate), positive("end_learning_rate", end_learning_rate, zero=True)
    count("decay_epoch", decay_epoch), positive("power", power)
    need_bools("polynomial_decay_lr", update_decay_epoch=update_decay_epoch)

    def rate(epoch: int) -> float:
        stretched = decay_epoch * max(math.ceil(epoch / decay_epoch), 1) if update_decay_epoch else decay_epoch
        part = min(epoch, stretched) / stretched
        return end_learning_rate + (learning_rate - end_learning_rate) * math.pow(1 - part, power)

    return _per_epoch(total_step, step_per_epoch, rate)


def warmup_lr(learning_rate: float, total_step: int, step_per_epoch: int, warmup_epoch: int) -> list[float]:
    """From 0 to learning_rate in warmup_epoch epochs, then constant.

    Examples:
        >>> from msnb import nn
        >>> nn.warmup_lr(1.0, 4, 1, 2)
        [0.0, 0.5, 1.0, 1.0]
    """
    positive("learning_rate", learning_rate)
    if isinstance(warmup_epoch, bool) or not isinstance(warmup_epoch, int) or warmup_epoch < 0:
        raise ValueError(f"warmup_epoch must be an int of at least 0, got {warmup_epoch!r}.")
    if warmup_epoch == 0:
        return _per_epoch(total_step, step_per_epoch, lambda e: learning_rate)
    return _per_epoch(total_step, step_per_epoch, lambda e: learning_rate * min(e, warmup_epoch) / warmup_epoch)
