"""Schedulers that write the learning rates of an optimizer with groups: ``scheduler.step()`` behind every epoch.

    optimizer = optim.SGD(params, lr=0.1)
    scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)        0.1 0.1 0.05 0.05 0.025 ...

A step multiplies the rates by ``factor()``, from one epoch to the next; ``step(epoch)`` goes to an epoch by the closed
form, where there is one. Everything is a Parameter: a step may be part of a compiled program.
Source: `mindspore.experimental`
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Parameter, Tensor, dtypes
from msnb.optim.experimental.grouped_optimizer import GroupedOptimizer

__all__ = [
    "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR",
]  # fmt: skip


def _number(name: str, first: float) -> Parameter:
    return Parameter(Tensor(first, dtypes.float32), name=name, requires_grad=False)


def _need_int(owner: Any, what: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{type(owner).__name__}: {what} must be an int, got {value!r}.")
    return value


def _need_float(owner: Any, what: str, value: Any) -> float:
    if not isinstance(value, float):
        raise TypeError(f"{type(owner).__name__}: {what} must be a float, got {value!r}.")
    return value


def _need_share(owner: Any, what: str, value: float, zero: bool) -> float:
    if not 0 <= value <= 1 or (value == 0 and not zero):
        raise AttributeValueError(f"{type(owner).__name__}: {what} must be {'from' if zero else 'above'} 0 to 1.")
    return value


def _for_groups(optimizer: Any, what: str, value: Any) -> list[Any]:
    groups = len(optimizer.param_groups)
    if not isinstance(value, (list, tuple)):
        return [value] * groups
    if len(value) != groups:
        raise AttributeValueError(f"{what}: {len(value)} were given for {groups} groups of the optimizer.")
    return list(value)


def _need_optimizer(optimizer: Any) -> Any:
    if not isinstance(optimizer, GroupedOptimizer):
        raise ArgumentError(
            f"a scheduler takes an optimizer with groups, not {type(optimizer).__name__}.",
            hint="those of ms.nn take a schedule as learning_rate=; those of ms.experimental.optim have groups.",
        )
    return optimizer


class LRScheduler:
    """Base of schedulers; a subclass writes ``get_lr()``: one rate per group, from ``last_epoch``.

    Args:
        optimizer: one of ``ms.experimental.optim`` or ``ms.mint.optim``.
        last_epoch: the epoch to go on behind; -1 at the start.

    Raises:
        TypeError: another optimizer. ValueError: ``last_epoch`` below -1. KeyError: a start in the middle without
            "initial_lr" in the groups.

    Examples:
        >>> import msnb as ms
        >>> from msnb.experimental import optim
        >>> optimizer = optim.SGD([ms.Parameter([1.0], name="w")], lr=1.0)
        >>> scheduler = optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
        >>> scheduler.step()
        True
        >>> [float(rate) for rate in scheduler.get_last_lr()]
        [0.5]
    """

    def __init__(self, optimizer: Any, last_epoch: int = -1) -> None:
        if _need_int(self, "last_epoch", last_epoch) < -1:
            raise AttributeValueError(f"last_epoch must be at least -1, got {last_epoch}.")
        for i, group in enumerate(_need_optimizer(optimizer).param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", Tensor(group["lr"].value(), dtypes.float32))
            elif "initial_lr" not in group:
                raise KeyError(f"param_groups[{i}] has no 'initial_lr' to go on from.")
        self.optimizer: Any = optimizer
        self.base_lrs: list[Any] = [group["initial_lr"] for group in optimizer.param_groups]
        self._last_lr: list[Any] = list(optimizer.lrs)
        self.groups_num: int = len(optimizer.param_groups)
        self.last_epoch: Parameter = _number(f"last_epoch_{type(self).__name__}", last_epoch)
        self.step()

    def factor(self) -> Any:
        """What a rate is multiplied by when ``last_epoch`` begins."""
        raise NotImplementedError(f"{type(self).__name__} has no get_lr().")

    def get_lr(self) -> Any:
        """The rates of this epoch, one per group."""
        factor = self.factor()
        return [rate * factor for rate in self._last_lr]

    def get_last_lr(self) -> list[Any]:
        """The rates now, one per group."""
        return [rate.value() for rate in self._last_lr]

    def step(self, epoch: Any = None) -> Any:
        """Begin the next epoch, or this one.

        Args:
            epoch: number of an epoch, from 0.
        """
        if epoch is None:
            ops.assign_add(self.last_epoch, 1.0)
            values = self.get_lr()
        else:
            ops.assign(self.last_epoch, ops.cast(epoch, dtypes.float32))
            values = self._get_closed_form_lr()
        for rate, value in zip(self._last_lr, values):
            ops.assign(rate, value)
        return True

    def whole_factor(self) -> Any:
        """What the first rate is multiplied by at ``last_epoch``; None where there is no closed form."""
        return None

    def _get_closed_form_lr(self) -> Any:
        factor = self.whole_factor()
        return self.get_lr() if factor is None else [rate * factor for rate in self.base_lrs]


class StepLR(LRScheduler):
    """The rates times ``gamma`` every ``step_size`` epochs."""

    def __init__(self, optimizer: Any, step_size: int, gamma: float = 0.1, last_epoch: int = -1) -> None:
        self.step_size: int = _need_int(self, "step_size", step_size)
        self.gamma: float = _need_float(self, "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def factor(self) -> Any:
        """gamma at multiples of step_size."""
        now = ops.logical_and(self.last_epoch > 0, self.last_epoch % self.step_size == 0)
        return ops.where(now, self.gamma, 1.0)

    def whole_factor(self) -> Any:
        """gamma ** (epoch // step_size)."""
        return ops.pow(self.gamma, ops.floor(self.last_epoch / self.step_size))


class LinearLR(LRScheduler):
    """From ``start_factor`` to ``end_factor`` of the rates, in ``total_iters`` epochs."""

    def __init__(
        self, optimizer: Any, start_factor: float = 1.0 / 3, end_factor: float = 1.0, total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:  # fmt: skip
        self.start_factor: float = _need_share(self, "start_factor", start_factor, zero=False)
        self.end_factor: float = _need_share(self, "end_factor", end_factor, zero=True)
        self.total_iters: int = _need_int(self, "total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def factor(self) -> Any:
        """The next part over the last one."""
        epoch, rise = self.last_epoch, self.end_factor - self.start_factor
        done = ops.clamp(epoch - 1.0, 0.0, self.total_iters - 1.0)
        inside = 1.0 + rise / (self.total_iters * self.start_factor + done * rise)
        return ops.where(epoch == 0, self.start_factor, ops.where(epoch > self.total_iters, 1.0, inside))

    def whole_factor(self) -> Any:
        """The part of the way."""
        done = ops.minimum(self.last_epoch, float(self.total_iters)) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class ExponentialLR(LRScheduler):
    """The rates times ``gamma`` every epoch."""

    def __init__(self, optimizer: Any, gamma: float, last_epoch: int = -1) -> None:
        self.gamma: float = _need_float(self, "gamma", gamma)
        super().__init__(optimizer, last_epoch)

    def factor(self) -> Any:
        """gamma behind the first."""
        return ops.where(self.last_epoch == 0, 1.0, self.gamma)

    def whole_factor(self) -> Any:
        """gamma ** epoch."""
        return ops.pow(self.gamma, self.last_epoch)


class PolynomialLR(LRScheduler):
    """The rates times (1 - epoch / total_iters) ** power, 0 from then on."""

    def __init__(self, optimizer: Any, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1) -> None:
        if _need_float(self, "power", power) < 0:
            raise AttributeValueError(f"PolynomialLR: power must be at least 0, got {power}.")
        self.total_iters: int = _need_int(self, "total_iters", total_iters)
        self.power: float = power
        super().__init__(optimizer, last_epoch)

    def factor(self) -> Any:
        """The next part over the last one."""
        epoch, inside = self.last_epoch, ops.clamp(self.last_epoch, 1.0, float(self.total_iters))
        part = (1.0 - inside / self.total_iters) / (1.0 - (inside - 1.0) / self.total_iters)
        outside = ops.logical_or(epoch == 0, epoch > self.total_iters)
        return ops.where(outside, 1.0, ops.pow(part, self.power))

    def whole_factor(self) -> Any:
        """(1 - epoch / total_iters) ** power."""
        return ops.pow(1.0 - ops.minimum(self.last_epoch, float(self.total_iters)) / self.total_iters, self.power)


class LambdaLR(LRScheduler):
    """The first rates times what a function of the epoch gives; one for all groups, or a list of one for each."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Any] = _for_groups(_need_optimizer(optimizer), "lr_lambda", lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        """The rates of this epoch."""
        return [rate * fn(self.last_epoch) for fn, rate in zip(self.lr_lambdas, self.base_lrs)]


class MultiplicativeLR(LRScheduler):
    """The rates times what a function of the epoch gives, every epoch."""

    def __init__(self, optimizer: Any, lr_lambda: Any, last_epoch: int = -1) -> None:
        self.lr_lambdas: list[Any] = _for_groups(_need_optimizer(optimizer), "lr_lambda", lr_lambda)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        """The rates of this epoch."""
        begun = self.last_epoch > 0
        return [rate * ops.where(begun, fn(self.last_epoch), 1.0) for fn, rate in zip(self.lr_lambdas, self._last_lr)]


class MultiStepLR(LRScheduler):
    """The rates times ``gamma`` at every epoch of the list ``milestones``."""

    def __init__(self, optimizer: Any, milestones: list[int], gamma: float = 0.1, last_epoch: int = -1) -> None:
        if not isinstance(milestones, list):
            raise TypeError(f"MultiStepLR: milestones must be a list of ints, got {milestones!r}.")
        self.milestones: Counter[int] = Counter(_need_int(self, "each of milestones", m) for m in milestones)
        if isinstance(gamma, bool) or not isinstance(gamma, (float, int)):
            raise TypeError(f"MultiStepLR: gamma must be a number, got {gamma!r}.")
        self.gamma: float = float(gamma)
        super().__init__(optimizer, last_epoch)

    def factor(self) -> Any:
        """gamma at milestones, once for each time that one is in the list."""
        times = sum(ops.where(self.last_epoch == m, float(n), 0.0) for m, n in self.milestones.items())
        return ops.pow(self.gamma, times)

    def whole_factor(self) -> Any:
        """gamma ** (milestones up to the epoch)."""
        times = sum(ops.where(self.last_epoch >= m, float(n), 0.0) for m, n in self.milestones.items())
        return ops.pow(self.gamma, times)


class ConstantLR(LRScheduler):
    """``factor`` times the rates for ``total_iters`` epochs."""

    def __init__(self, optimizer: Any, factor: float = 1.0 / 3, total_iters: int = 5, last_epoch: int = -1) -> None:
        self.part: float = _need_share(self, "factor", factor, zero=True)
        self.total_iters: int = _need_int(self, "total_iters", total_iters)
        super().__init__(optimizer, last_epoch)

    def factor(self) -> Any:
        """The part at the start, its inverse at the end."""
        back = ops.where(self.last_epoch == self.total_iters, 1.0 / self.part if self.part else math.inf, 1.0)
        return ops.where(self.last_epoch == 0, self.part, back)

    def whole_factor(self) -> Any:
        """The part before the end, 1 behind it."""
        return ops.where(self.last_epoch >= self.total_iters, 1.0, self.part)


class CosineAnnealingLR(LRScheduler):
    """From the rates to ``eta_min`` along half a cosine in ``T_max`` epochs, and back."""

    def __init__(self, optimizer: Any, T_max: int, eta_min: float = 0.0, last_epoch: int = -1) -> None:
        if not isinstance(eta_min, (float, int)):
            raise TypeError(f"CosineAnnealingLR: eta_min must be a number, got {eta_min!r}.")
        self.T_max: int = _need_int(self, "T_max", T_max)
        self.eta_min: float = float(eta_min)
        super().__init__(optimizer, last_epoch)

    def _way(self, epoch: Any) -> Any:
        return 1.0 + ops.cos(math.pi * epoch / self.T_max)

    def get_lr(self) -> Any:
        """The rates of this epoch."""
        epoch, low = self.last_epoch, self.eta_min
        turn = (epoch - 1.0 - self.T_max) % (2 * self.T_max) == 0
        before = ops.where(turn, 1.0, self._way(epoch - 1.0))
        first = (1.0 - math.cos(math.pi / self.T_max)) / 2
        rates = []
        for base, rate in zip(self.base_lrs, self._last_lr):
            on = ops.where(turn, rate + (base - low) * first, self._way(epoch) / before * (rate - low) + low)
            rates.append(ops.where(epoch == 0, rate * 1.0, on))
        return rates

    def _get_closed_form_lr(self) -> Any:
        return [self.eta_min + (base - self.eta_min) * self._way(self.last_epoch) / 2 for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Half cosines from the rates to ``eta_min``: the first of ``T_0`` epochs, each ``T_mult`` times as long as the
    one before."""

    def __init__(
        self, optimizer: Any, T_0: int, T_mult: int = 1, eta_min: float = 0, last_epoch: int = -1,
    ) -> None:  # fmt: skip
        for what, value in (("T_0", T_0), ("T_mult", T_mult)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise AttributeValueError(f"CosineAnnealingWarmRestarts: {what} is an int from 1 on, got {value!r}.")
        if isinstance(eta_min, bool) or not isinstance(eta_min, (float, int)):
            raise TypeError(f"CosineAnnealingWarmRestarts: eta_min must be a number, got {eta_min!r}.")
        self.T_0: int = T_0
        self.T_mult: int = T_mult
        self.eta_min: float = float(eta_min)
        self.T_i: Parameter = _number("T_i", T_0)
        self.T_cur: Parameter = _number("T_cur", last_epoch)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> Any:
        """The rates at this place of the cosine."""
        way = (1.0 + ops.cos(math.pi * self.T_cur / self.T_i)) / 2
        return [self.eta_min + (base - self.eta_min) * way for base in self.base_lrs]

    def step(self, epoch: Any = None) -> Any:
        """Begin the next epoch, or go to this one, which may lie between two."""
        if epoch is None:
            at = self.T_cur + 1.0
            over = at >= self.T_i
            ops.assign(self.T_cur, ops.where(over, at - self.T_i, at))
            ops.assign(self.T_i, ops.where(over, self.T_i * self.T_mult, self.T_i))
            ops.assign_add(self.last_epoch, 1.0)
        else:
            self._go_to(ops.cast(epoch, dtypes.float32))
        for rate, value in zip(self._last_lr, self.get_lr()):
            ops.assign(rate, value)
        return True

    def _go_to(self, epoch: Any) -> None:
        if self.T_mult == 1:
            turns = ops.floor(epoch / self.T_0)
            start, length = turns * self.T_0, ops.ones_like(epoch) * self.T_0
        else:
            ratio = epoch / self.T_0 * (self.T_mult - 1) + 1.0
            power = ops.pow(float(self.T_mult), ops.floor(ops.log(ratio) / math.log(self.T_mult) + 1e-6))
            start, length = self.T_0 * (power - 1.0) / (self.T_mult - 1), self.T_0 * power
        ops.assign(self.T_cur, epoch - start)
        ops.assign(self.T_i, length)
        ops.assign(self.last_epoch, ops.floor(epoch))


class CyclicLR(LRScheduler):
    """Up from ``base_lr`` to ``max_lr`` in ``step_size_up`` steps and down again in ``step_size_down``, for ever.

    Args:
        optimizer: its groups' rates begin at ``base_lr``.
        base_lr, max_lr: numbers, or lists of one for each group.
        step_size_up, step_size_down: steps; down as up by default.
        mode: "triangular", "triangular2" (half as high in each cycle) or "exp_range" (times gamma ** step).
        gamma: for "exp_range".
        scale_fn: a function that takes the place of ``mode``.
        scale_mode: whether it is given the "cycle", from 1, or the number of "iterations".
        last_epoch: the step to go on behind.

    Raises:
        ValueError: another mode, or another number of rates than groups.
    """

    scale_mode: str

    def __init__(
        self, optimizer: Any, base_lr: Any, max_lr: Any, step_size_up: float = 2000,
        step_size_down: float | None = None, mode: str = "triangular", gamma: float = 1.0,
        scale_fn: Callable[[Any], Any] | None = None, scale_mode: str = "cycle", last_epoch: int = -1,
    ) -> None:  # fmt: skip
        scales: dict[str, tuple[Callable[[Any], Any], str]] = {
            "triangular": (lambda x: 1.0, "cycle"),
            "triangular2": (lambda x: 1.0 / ops.pow(2.0, x - 1.0), "cycle"),
            "exp_range": (lambda x: ops.pow(gamma, x), "iterations"),
        }
        if scale_fn is None and mode not in scales:
            raise AttributeValueError(f"CyclicLR: mode={mode!r}; legal: {', '.join(scales)}, or a scale_fn.")
        bases = _for_groups(_need_optimizer(optimizer), "base_lr", base_lr)
        self.max_lrs: list[float] = _for_groups(optimizer, "max_lr", max_lr)
        if last_epoch == -1:
            for rate, group in zip(bases, optimizer.param_groups):
                ops.assign(group["lr"], float(rate))
        self._scale, self.scale_mode = (scale_fn, scale_mode) if scale_fn is not None else scales[mode]
        down = float(step_size_up if step_size_down is None else step_size_down)
        self.total_step_size: float = step_size_up + down
        self.step_up_ratio: float = step_size_up / self.total_step_size
        self._bases: list[float] = bases
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def get_lr(self) -> Any:
        """The rates at this place of the cycle."""
        cycle = ops.floor(1.0 + self.last_epoch / self.total_step_size)
        x = 1.0 + self.last_epoch / self.total_step_size - cycle
        height = ops.where(x <= self.step_up_ratio, x / self.step_up_ratio, (x - 1.0) / (self.step_up_ratio - 1.0))
        scale = height * self._scale(cycle if self.scale_mode == "cycle" else self.last_epoch)
        return [base + (top - base) * scale for base, top in zip(self._bases, self.max_lrs)]


class SequentialLR:
    """Schedulers one behind the other: the next one begins at each of ``milestones``.

    Args:
        optimizer: the one of all schedulers.
        schedulers: in order.
        milestones: the epochs at which the second, third ... begin.
        last_epoch: the epoch to go on behind.

    Raises:
        ValueError: a scheduler of another optimizer, or another number of milestones.
    """

    milestones: list[int]

    def __init__(self, optimizer: Any, schedulers: Sequence[Any], milestones: list[int], last_epoch: int = -1) -> None:
        for i, scheduler in enumerate(schedulers):
            if scheduler.optimizer is not optimizer:
                raise AttributeValueError(f"SequentialLR: schedulers[{i}] has another optimizer.")
        if len(milestones) != len(schedulers) - 1:
            raise AttributeValueError(
                f"SequentialLR: {len(schedulers)} schedulers change at {len(schedulers) - 1} milestones, got "
                f"{len(milestones)}."
            )
        self._schedulers, self.milestones = list(schedulers), list(milestones)
        self.last_epoch: Parameter = _number("last_epoch_SequentialLR", last_epoch + 1)
        self.optimizer: Any = optimizer
        for group in optimizer.param_groups:
            ops.assign(group["lr"], group["initial_lr"])
        for scheduler in self._schedulers:
            ops.assign_sub(scheduler.last_epoch, 1.0)
        self._schedulers[0].step()

    def step(self) -> None:
        """Begin the next epoch."""
        ops.assign_add(self.last_epoch, 1.0)
        epoch = int(self.last_epoch)
        now = bisect_right(self.milestones, epoch)
        begins = now > 0 and self.milestones[now - 1] == epoch
        self._schedulers[now].step(*((0,) if begins else ()))

    def get_last_lr(self) -> list[Any]:
        """The rates now, one per group."""
        rates: list[Any] = self._schedulers[0].get_last_lr()
        return rates


class ReduceLROnPlateau:
    """The rates times ``factor`` when a number has not become better for more than ``patience`` epochs.

    Args:
        optimizer: one of ``ms.experimental.optim`` or ``ms.mint.optim``.
        mode: whether the number should become small, "min", or large, "max".
        factor: below 1.
        patience, cooldown: epochs without a change before, and behind one.
        threshold, threshold_mode: how much better is better: a share of the best, "rel", or a difference, "abs".
        min_lr: the smallest rate; one, or a list of one for each group.
        eps: smaller changes of a rate are left out.

    Raises:
        ValueError: a word or number outside its range. TypeError: another optimizer.
    """

    def __init__(
        self, optimizer: Any, mode: str = "min", factor: float = 0.1, patience: int = 10, threshold: float = 1e-4,
        threshold_mode: str = "rel", cooldown: int = 0, min_lr: Any = 0, eps: float = 1e-8,
    ) -> None:  # fmt: skip
        if factor >= 1.0:
            raise AttributeValueError(f"ReduceLROnPlateau: factor must be below 1, got {factor}.")
        for what, value, legal in (("mode", mode, ("min", "max")), ("threshold_mode", threshold_mode, ("rel", "abs"))):
            if value not in legal:
                raise AttributeValueError(f"ReduceLROnPlateau: {what}={value!r}; legal: {', '.join(legal)}.")
        self.optimizer: Any = _need_optimizer(optimizer)
        self.min_lrs: list[float] = [float(low) for low in _for_groups(optimizer, "min_lr", min_lr)]
        self.mode: str = mode
        self.factor: float = factor
        self.patience: int = patience
        self.cooldown: int = cooldown
        self.threshold: float = threshold
        self.threshold_mode: str = threshold_mode
        self.eps: float = eps
        self.best: Parameter = _number("best", math.inf if mode == "min" else -math.inf)
        self.cooldown_counter: Parameter = _number("cooldown_counter", 0.0)
        self.wait: Parameter = _number("wait", 0.0)
        self.last_epoch: Parameter = _number("last_epoch_ReduceLROnPlateau", 0.0)
        self._last_lr: list[Any] = list(optimizer.lrs)

    def step(self, metrics: Any) -> Any:
        """End an epoch.

        Args:
            metrics: the number of this epoch.
        """
        current = ops.cast(metrics, dtypes.float32)
        ops.assign_add(self.last_epoch, 1.0)
        better = self._is_improvement(current, self.best)
        ops.assign(self.best, ops.where(better, current, self.best))
        cool = self.in_cooldown()
        wait = ops.where(ops.logical_or(better, cool), 0.0, self.wait + 1.0)
        ops.assign(self.cooldown_counter, ops.where(cool, self.cooldown_counter - 1.0, self.cooldown_counter))
        late = wait > self.patience
        for rate, low in zip(self._last_lr, self.min_lrs):
            new = ops.maximum(rate * self.factor, low)
            ops.assign(rate, ops.where(ops.logical_and(late, rate > new + self.eps), new, rate))
        ops.assign(self.cooldown_counter, ops.where(late, float(self.cooldown), self.cooldown_counter))
        ops.assign(self.wait, ops.where(late, 0.0, wait))
        return True

    def in_cooldown(self) -> Any:
        """Whether a change is too recent for another one."""
        return self.cooldown_counter > 0

    def _is_improvement(self, current: Any, best: Any) -> Any:
        sign = -1.0 if self.mode == "min" else 1.0
        bound = best * (1.0 + sign * self.threshold) if self.threshold_mode == "rel" else best + sign * self.threshold
        return current < bound if self.mode == "min" else current > bound

    def get_last_lr(self) -> list[Any]:
        """The rates now, one per group."""
        return [rate.value() for rate in self._last_lr]
