"""Gradient descent with and without momentum.

    SGD        v <- momentum * v + (1 - dampening) * g   (v <- g at the first step)     Momentum   v <- momentum * v + g
               p <- p - rate * v                                                                  p <- p - rate * v
    nesterov   p <- p - rate * (g + momentum * v)

Source: `mindspore.nn.SGD`, `mindspore.nn.Momentum`;
Sutskever et al., "On the importance of initialization and momentum in deep learning", 2013.
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.core import Parameter, ParameterTuple
from msnb.optim.lr_schedules import positive
from msnb.optim.optimizer import Optimizer

__all__ = ["Momentum", "SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent.

    Args:
        params: Parameters or groups.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        momentum: 0 for none.
        dampening: how much less than the whole gradient enters the momentum.
        weight_decay: L2 factor, added to the gradient.
        nesterov: look one step ahead; needs momentum and no dampening.
        loss_scale: gradients are divided by it.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> step = ms.nn.SGD([w], learning_rate=0.5)
        >>> _ = step([ms.Tensor([1.0])])
        >>> w.tolist()
        [0.5]
    """

    accum: ParameterTuple | tuple[()]

    def __init__(
        self, params: Any, learning_rate: Any = 0.1, momentum: float = 0.0, dampening: float = 0.0,
        weight_decay: Any = 0.0, nesterov: bool = False, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.momentum: Any = self.held("momentum", positive("momentum", momentum, zero=True))
        self.dampening: float = positive("dampening", dampening, zero=True)
        if nesterov and (momentum == 0 or dampening != 0):
            raise ValueError("SGD(nesterov=True) needs a momentum above 0 and dampening=0.")
        self.nesterov: bool = bool(nesterov)
        self.uses_momentum: bool = momentum > 0
        self.accum = self.slots("accum") if self.uses_momentum or self._like_mindspore else ()
        self.stat = self.slots("stat", 1.0) if self._like_mindspore else ()  # 0 after a first step with momentum

    def prepare(self, step: Any) -> Any:
        """The share of the gradient that enters the momentum: all of it at the first step."""
        return ops.where(step == 0, 1.0, 1.0 - self.dampening) if self.dampening else 1.0

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        if not self.uses_momentum:
            ops.assign(param, param - grad * rate)
            return
        v = self.accum[i] * self.momentum + (grad * common if self.dampening else grad)
        ops.assign(self.accum[i], v)
        if self._like_mindspore:
            ops.assign(self.stat[i], ops.zeros_like(self.stat[i]))
        ops.assign(param, param - (grad + v * self.momentum if self.nesterov else v) * rate)


class Momentum(Optimizer):
    """Gradient descent with momentum.

    Args:
        params: Parameters or groups.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        momentum: how much of the last step is kept.
        weight_decay: L2 factor, added to the gradient.
        loss_scale: gradients are divided by it.
        use_nesterov: look one step ahead.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> step = ms.nn.Momentum([w], 0.5, 0.5)
        >>> for _ in range(2): _ = step([ms.Tensor([0.5])])
        >>> w.tolist()
        [0.375]
    """

    def __init__(
        self, params: Any, learning_rate: Any, momentum: float, weight_decay: Any = 0.0, loss_scale: float = 1.0,
        use_nesterov: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.momentum: Any = self.held("momentum", positive("momentum", momentum, zero=True))
        self.use_nesterov: bool = bool(use_nesterov)
        self.moments: ParameterTuple = self.slots("moments")

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        v = self.moments[i] * self.momentum + grad
        ops.assign(self.moments[i], v)
        ops.assign(param, param - (grad + v * self.momentum if self.use_nesterov else v) * rate)
