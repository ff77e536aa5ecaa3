"""Optimizers that scale steps by what they have seen, without (or with little use for) a learning rate.

    AdaMax     m <- beta1 m + (1 - beta1) g      u <- max(beta2 u, |g| + eps)       p <- p - rate / (1 - beta1^t) m / u
    Adadelta   a <- rho a + (1 - rho) g^2        d <- sqrt((b + eps) / (a + eps)) g
               b <- rho b + (1 - rho) d^2        p <- p - rate d
    Rprop      a step size per number: times eta+ while the gradient keeps its sign, times eta- when it changes it;
               then this step is left out.       p <- p - sign(g) size

Source: Kingma and Ba 2015 (arXiv:1412.6980), section 7.1; Zeiler 2012 (arXiv:1212.5701); Riedmiller and Braun 1993;
`mindspore.nn.AdaMax` and its neighbours
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Parameter, dtypes
from msnb.optim.gradient_steps import correction, wide
from msnb.optim.lr_schedules import positive, share
from msnb.optim.optimizer import Optimizer

__all__ = ["AdaMax", "Adadelta", "Rprop"]


class AdaMax(Optimizer):
    """Adam with the largest gradient so far in place of the mean square.

    Args:
        params: Parameters or groups.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        beta1, beta2: decay of the mean and of the largest gradient, from 0 to below 1.
        eps: added to each gradient's size.
        weight_decay: L2 factor, added to the gradient.
        loss_scale: gradients are divided by it.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.AdaMax([w], 0.5)([ms.Tensor([3.0])])
        >>> round(float(w), 4)
        0.5
    """

    names_in_mindspore: ClassVar[Mapping[str, str]] = MappingProxyType({"moment": "moment1", "largest": "moment2"})

    def __init__(
        self, params: Any, learning_rate: Any = 0.001, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        weight_decay: Any = 0.0, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.beta1: float = share("beta1", beta1)
        self.beta2: float = share("beta2", beta2)
        self.eps: float = positive("eps", eps)
        if self._like_mindspore:
            self.beta1_power: Any = self.held("beta1_power", [1.0])
        self.moment, self.largest = self.slots("moment"), self.slots("largest")

    def prepare(self, step: Any) -> Any:
        """1 - beta1^t."""
        if self._like_mindspore:
            power = self.beta1_power * self.beta1
            ops.assign(self.beta1_power, power)
            return 1.0 - ops.reshape(power, ())
        return correction(self.beta1, ops.cast(step + 1, dtypes.float32))

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        grad = wide(grad)
        m = self.moment[i] * self.beta1 + grad * (1.0 - self.beta1)
        u = ops.maximum(self.largest[i] * self.beta2, ops.abs(grad) + dtypes.guard(self.eps, grad.dtype))
        ops.assign(self.moment[i], m)
        ops.assign(self.largest[i], u)
        ops.assign(param, param - m / u * (rate / ops.cast(common, m.dtype)))


class Adadelta(Optimizer):
    """Steps in the units of the Parameter: the ratio of past steps to past gradients, times the gradient.

    Args:
        params: Parameters or groups.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        rho: how much of the mean squares a step keeps, from 0 to below 1.
        epsilon: added under both roots.
        weight_decay: L2 factor, added to the gradient.
        loss_scale: gradients are divided by it.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.Adadelta([w], 1.0, rho=0.75, epsilon=1e-12)([ms.Tensor([3.0])])
        >>> bool(w < 1.0)
        True
    """

    names_in_mindspore: ClassVar[Mapping[str, str]] = MappingProxyType(
        {"square": "accum", "step_square": "accum_update"}
    )

    def __init__(
        self, params: Any, learning_rate: Any = 1.0, rho: float = 0.9, epsilon: float = 1e-6, loss_scale: float = 1.0,
        weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self.rho: float = share("rho", rho)
        self.epsilon: float = positive("epsilon", epsilon)
        self.square, self.step_square = self.slots("square"), self.slots("step_square")

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        square = self.square[i] * self.rho + ops.square(grad) * (1.0 - self.rho)
        eps = dtypes.guard(self.epsilon, grad.dtype)
        step = ops.sqrt(self.step_square[i] + eps) * ops.rsqrt(square + eps) * grad
        ops.assign(self.square[i], square)
        ops.assign(self.step_square[i], self.step_square[i] * self.rho + ops.square(step) * (1.0 - self.rho))
        ops.assign(param, param - step * rate)


class Rprop(Optimizer):
    """Steps of a size per number, which only the signs of gradients change; for gradients of the whole data set.

    Args:
        params: Parameters or groups.
        learning_rate: the first size of all steps: a number, not a schedule.
        etas: what a size is multiplied by when the sign changes (below 1) and while it stays (above 1).
        step_sizes: the smallest and the largest size.
        weight_decay: L2 factor, added to the gradient.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.Rprop([w], 0.25)([ms.Tensor([3.0])])
        >>> float(w)
        0.75
    """

    names_in_mindspore: ClassVar[Mapping[str, str]] = MappingProxyType({"before": "prev", "size": "step_size"})

    def __init__(
        self, params: Any, learning_rate: float = 0.1, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50.0), weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay)
        if not isinstance(learning_rate, (int, float)):
            raise AttributeValueError("Rprop: learning_rate is the first size of all steps, a number.")
        if not isinstance(etas, tuple) or not isinstance(step_sizes, tuple):
            raise ArgumentError(f"Rprop: etas and step_sizes are tuples, got {etas!r} and {step_sizes!r}.")
        if len(etas) != 2 or len(step_sizes) != 2:
            raise AttributeValueError(f"Rprop: etas and step_sizes are two numbers, got {etas!r} and {step_sizes!r}.")
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise AttributeValueError(f"Rprop: etas are a number below 1 and one above 1, got {etas!r}.")
        if not 0.0 < step_sizes[0] <= step_sizes[1]:
            raise AttributeValueError(f"Rprop: step_sizes are the smallest and the largest, got {step_sizes!r}.")
        self.etas: tuple[float, ...] = tuple(map(float, etas))
        self.step_sizes: tuple[float, ...] = tuple(map(float, step_sizes))
        rates = [g.learning_rate for g in self.param_groups]
        firsts = [learning_rate if rate is None else float(rate) for rate in rates]
        self.before = self.slots("before")
        self.size = self.slots("size", *(firsts[group] for group in self._group_of))

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        same = grad * self.before[i]
        factor = ops.where(same > 0, self.etas[1], ops.where(same < 0, self.etas[0], 1.0))
        size = ops.clip(self.size[i] * ops.cast(factor, param.dtype), *self.step_sizes)
        grad = ops.where(same < 0, 0.0, grad)
        ops.assign(self.size[i], size)
        ops.assign(self.before[i], grad)
        ops.assign(param, param - ops.sign(grad) * size)
