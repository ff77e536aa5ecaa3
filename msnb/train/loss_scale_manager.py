"""Loss scale managers: settings of loss scaling for ``Model`` and ``build_train_network``.

FixedLossScaleManager(s)                       steps that overflow are left out, the scale stays
FixedLossScaleManager(s, False)                no step is left out; the optimizer divides: optimizer(loss_scale=s)
DynamicLossScaleManager(first, factor, n)      left out, and the scale follows
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from msnb.base import ArgumentError
from msnb.nn.training.loss_scale import DynamicLossScaleUpdateCell, FixedLossScaleUpdateCell, need_scale, need_window


class LossScaleManager(ABC):
    """Base of managers.

    Source: `mindspore.amp.LossScaleManager`
    """

    @abstractmethod
    def get_loss_scale(self) -> float:
        """The scale."""

    @abstractmethod
    def update_loss_scale(self, overflow: bool) -> None:
        """Let the scale follow, in a loop of one's own."""

    @abstractmethod
    def get_update_cell(self) -> Any:
        """The Cell that lets the scale follow inside a training step; None: no step is left out."""


class FixedLossScaleManager(LossScaleManager):
    """A scale that stays.

    Args:
        loss_scale: the scale.
        drop_overflow_update: whether steps that overflow are left out; without it the optimizer needs the same
            ``loss_scale=``.

    Raises:
        TypeError, ValueError: a setting outside its range.

    Source: `mindspore.amp.FixedLossScaleManager`

    Examples:
        >>> import msnb as ms
        >>> ms.amp.FixedLossScaleManager(1024.0).get_loss_scale()
        1024.0
    """

    def __init__(self, loss_scale: float = 128.0, drop_overflow_update: bool = True) -> None:
        self._loss_scale = need_scale("loss_scale", loss_scale)
        if not isinstance(drop_overflow_update, bool):
            raise ArgumentError(f"drop_overflow_update must be a bool, got {drop_overflow_update!r}.")
        self._drop = drop_overflow_update

    def get_loss_scale(self) -> float:
        """The scale."""
        return self._loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Are steps that overflow left out?"""
        return self._drop

    def update_loss_scale(self, overflow: bool) -> None:
        """Nothing changes."""

    def get_update_cell(self) -> FixedLossScaleUpdateCell | None:
        """The update cell, None without dropping."""
        return FixedLossScaleUpdateCell(self._loss_scale) if self._drop else None


class DynamicLossScaleManager(LossScaleManager):
    """A scale that shrinks after an overflow and grows after ``scale_window`` steps without one.

    Args:
        init_loss_scale: the first scale.
        scale_factor: what it is divided and multiplied by.
        scale_window: steps without overflow until it grows.

    Raises:
        TypeError, ValueError: a setting outside its range.

    Source: `mindspore.amp.DynamicLossScaleManager`

    Examples:
        >>> import msnb as ms
        >>> manager = ms.amp.DynamicLossScaleManager(1024, 2, 1000)
        >>> manager.update_loss_scale(True)
        >>> manager.get_loss_scale()
        512.0
    """

    loss_scale: float
    good_steps: int

    def __init__(self, init_loss_scale: float = 2**24, scale_factor: float = 2, scale_window: int = 2000) -> None:
        self.loss_scale = need_scale("init_loss_scale", init_loss_scale)
        self.scale_factor: float = need_scale("scale_factor", scale_factor, 1.0)
        self.scale_window: int = need_window("scale_window", scale_window)
        self.good_steps = 0

    def get_loss_scale(self) -> float:
        """The scale (of a loop of one's own; inside a training step it is the Parameter ``scale_sense``)."""
        return self.loss_scale

    def get_drop_overflow_update(self) -> bool:
        """Steps that overflow are left out."""
        return True

    def update_loss_scale(self, overflow: bool) -> None:
        """The scale after a step."""
        self.good_steps = 0 if overflow else self.good_steps + 1
        if overflow:
            self.loss_scale = max(self.loss_scale / self.scale_factor, 1.0)
        elif self.good_steps >= self.scale_window:
            self.loss_scale, self.good_steps = self.loss_scale * self.scale_factor, 0

    def get_update_cell(self) -> DynamicLossScaleUpdateCell:
        """The update cell."""
        return DynamicLossScaleUpdateCell(self.loss_scale, self.scale_factor, self.scale_window)
