"""RMSProp and Adagrad: steps scaled by what the gradients have been so far.

    RMSProp    s <- decay * s + (1 - decay) * g^2           m <- momentum * m + rate * g / sqrt(s + eps)      p <- p - m
    centered   a <- decay * a + (1 - decay) * g             ... sqrt(s - a^2 + eps)
    Adagrad    h <- h + g^2                                 p <- p - rate * g / sqrt(h)

Source: Hinton, lecture 6e of "Neural Networks for Machine Learning", 2012; Duchi, Hazan and Singer 2011;
`mindspore.nn.RMSProp`, `mindspore.nn.Adagrad`
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.core import Parameter, ParameterTuple
from msnb.core.dtypes import guard
from msnb.optim.lr_schedules import positive
from msnb.optim.optimizer import Optimizer

__all__ = ["Adagrad", "RMSProp"]


class RMSProp(Optimizer):
    """Root mean square propagation.

    Args:
        params: Parameters or groups.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        decay: how much of the mean square a step keeps.
        momentum: how much of the last step is kept.
        epsilon: added under the root.
        use_locking: for MindSpore's signature.
        centered: subtract the square of the mean gradient.
        loss_scale: gradients are divided by it.
        weight_decay: L2 factor, added to the gradient.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.RMSProp([w], 0.1, decay=0.75)([ms.Tensor([3.0])])
        >>> round(float(w), 4)
        0.8
    """

    def __init__(
        self, params: Any, learning_rate: Any = 0.1, decay: float = 0.9, momentum: float = 0.0, epsilon: float = 1e-10,
        use_locking: bool = False, centered: bool = False, loss_scale: float = 1.0, weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        self._tell_locking(use_locking)
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.decay: float = positive("decay", decay, zero=True)
        self.epsilon: float = positive("epsilon", epsilon)
        self.momentum: float = positive("momentum", momentum, zero=True)
        self.centered: bool = bool(centered)
        self.mean_grad: ParameterTuple | tuple[()] = self.slots("mean_grad") if centered else ()
        self.mean_square: ParameterTuple = self.slots("mean_square", 1.0 if self._like_mindspore else 0.0)
        self.moment: ParameterTuple = self.slots("moment")

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        square = self.mean_square[i] * self.decay + ops.square(grad) * (1.0 - self.decay)
        ops.assign(self.mean_square[i], square)
        if self.centered:
            middle = self.mean_grad[i] * self.decay + grad * (1.0 - self.decay)
            ops.assign(self.mean_grad[i], middle)
            square = square - ops.square(middle)
        step = self.moment[i] * self.momentum + grad * rate * ops.rsqrt(square + guard(self.epsilon, grad.dtype))
        ops.assign(self.moment[i], step)
        ops.assign(param, param - step)


class Adagrad(Optimizer):
    """Steps that shrink where gradients have been large.

    Args:
        params: Parameters or groups.
        accum: first value of the sum of squares, above 0.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        update_slots: whether the sum grows.
        loss_scale: gradients are divided by it.
        weight_decay: L2 factor, added to the gradient.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.Adagrad([w], accum=9.0, learning_rate=0.5)([ms.Tensor([4.0])])
        >>> round(float(w), 4)
        0.6
    """

    def __init__(
        self, params: Any, accum: float = 0.1, learning_rate: Any = 0.001, update_slots: bool = True,
        loss_scale: float = 1.0, weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.update_slots: bool = bool(update_slots)
        self.accum: ParameterTuple = self.slots("accum", positive("accum", accum))

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        total = self.accum[i]
        if self.update_slots:
            total = total + ops.square(grad)  # type: ignore[assignment]
            ops.assign(self.accum[i], total)
        ops.assign(param, param - grad * rate * ops.rsqrt(total))
