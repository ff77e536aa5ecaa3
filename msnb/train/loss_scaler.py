"""Loss scalers for a training loop of one's own.

def step(x, y):                                            in graph mode (ms.jit) all of this is one program
    loss, grads = grad_fn(x, y)                            forward: loss_scaler.scale(loss)
    ok = ms.amp.all_finite(grads)
    if ok:
        optimizer(loss_scaler.unscale(grads))
    loss_scaler.adjust(ok)
    return loss_scaler.unscale(loss)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from msnb import ops
from msnb.core import Parameter, Tensor, dtypes
from msnb.nn.training.loss_scale import adjust_scale, need_scale, need_window, scaled


class LossScaler(ABC):
    """Base of loss scalers: subclasses write ``scale``, ``unscale`` and ``adjust``.

    Source: `mindspore.amp.LossScaler`
    """

    @abstractmethod
    def scale(self, inputs: Any) -> Any:
        """The loss, scaled."""

    @abstractmethod
    def unscale(self, inputs: Any) -> Any:
        """The gradients (or the loss) as they were before."""

    @abstractmethod
    def adjust(self, grads_finite: Any) -> Any:
        """Let the scale follow what happened."""


class _Scaling(LossScaler):
    scale_value: Any

    def scale(self, inputs: Any) -> Any:
        """The float tensors of a tree times the scale, each in its dtype."""
        return scaled(inputs, self.scale_value)

    def unscale(self, inputs: Any) -> Any:
        """The float tensors of a tree divided by the scale, each in its dtype."""
        return scaled(inputs, 1.0 / self.scale_value)


class StaticLossScaler(_Scaling):
    """A scale that stays.

    Args:
        scale_value: the scale.

    Raises:
        TypeError, ValueError: it is not a number above 0.

    Source: `mindspore.amp.StaticLossScaler`

    Examples:
        >>> import msnb as ms
        >>> scaler = ms.amp.StaticLossScaler(scale_value=8)
        >>> scaler.scale(ms.Tensor([1.0])).tolist()
        [8.0]
    """

    def __init__(self, scale_value: float) -> None:
        first = need_scale("scale_value", scale_value)
        self.scale_value: Any = Parameter(Tensor(first, dtypes.float32), name="scale_value", requires_grad=False)

    def adjust(self, grads_finite: Any) -> bool:
        """Nothing changes; False, as in MindSpore."""
        return False


class DynamicLossScaler(_Scaling):
    """A scale that shrinks after an overflow and grows after ``scale_window`` steps without one.

    Args:
        scale_value: the first scale.
        scale_factor: what it is divided and multiplied by.
        scale_window: steps without overflow until it grows.

    Attributes:
        scale_value, counter: Parameters; counter is the number of good steps since the last change.

    Raises:
        TypeError, ValueError: a setting outside its range.

    Source: `mindspore.amp.DynamicLossScaler`

    Examples:
        >>> import msnb as ms
        >>> scaler = ms.amp.DynamicLossScaler(scale_value=1024, scale_factor=2, scale_window=1)
        >>> _ = scaler.adjust(ms.Tensor(False))
        >>> float(scaler.scale_value)
        512.0
    """

    def __init__(self, scale_value: float, scale_factor: float, scale_window: int) -> None:
        first = need_scale("scale_value", scale_value)
        self.scale_value: Any = Parameter(Tensor(first, dtypes.float32), name="scale_value", requires_grad=False)
        self.scale_factor: float = need_scale("scale_factor", scale_factor, 1.0)
        self.scale_window: int = need_window("scale_window", scale_window)
        self.counter: Parameter = Parameter(Tensor(0, dtypes.int32), name="counter", requires_grad=False)

    def adjust(self, grads_finite: Any) -> bool:
        """The scale after a step.

        Args:
            grads_finite: a 0-d bool tensor, see ``all_finite``.

        Returns:
            True.
        """
        overflow = ops.logical_not(grads_finite)
        adjust_scale(self.scale_value, self.counter, overflow, self.scale_factor, self.scale_window)
        return True
