"""LARS: another optimizer's steps, with gradients as long as a share of the weights they change.

    g  <-  g / loss_scale                                        for Parameters that ``lars_filter`` chooses:
    t  <-  coefficient |p| / (|g| + weight_decay |p| + epsilon)       1 where p or g is 0
    g  <-  t (g + weight_decay p)                                then one step of the optimizer, without decay

Source: You, Gitman, Ginsburg, "Large Batch Training of Convolutional Networks" (2017);
`mindspore.nn.LARS`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import ArgumentError
from msnb.core import Parameter
from msnb.optim.lr_schedules import positive
from msnb.optim.optimizer import Optimizer

__all__ = ["LARS"]


def _is_adapted(param: Parameter) -> bool:
    return "LayerNorm" not in param.name and "bias" not in param.name


class LARS(Optimizer):
    """Layer-wise adaptive rates around another optimizer, which from then on neither decays nor scales by itself.

    Args:
        optimizer: any other; its Parameters, rates, decay and loss scale hold.
        epsilon: added to the divisor.
        coefficient: how long a step is for a weight of length 1.
        use_clip: the rate of a Parameter, ``t`` above, is at most the learning rate.
        lars_filter: which Parameters are adapted; default: those without "LayerNorm" and "bias" in their names.

    Raises:
        TypeError: no optimizer. ValueError: ``epsilon`` or ``coefficient`` below 0.

    Examples:
        >>> import msnb as ms
        >>> from msnb import nn
        >>> w = ms.Parameter([3.0, 4.0], name="w")
        >>> step = nn.LARS(nn.SGD([w], 1.0), coefficient=0.1, epsilon=0.0)
        >>> done = step([ms.Tensor([0.0, 2.0])])
        >>> w.tolist()  # a step of length 0.1 * 5
        [3.0, 3.5]
    """

    def __init__(
        self, optimizer: Any, epsilon: float = 1e-5, coefficient: float = 0.001, use_clip: bool = False,
        lars_filter: Callable[[Parameter], bool] = _is_adapted,
    ) -> None:  # fmt: skip
        if not isinstance(optimizer, Optimizer):
            raise ArgumentError(f"LARS wraps an optimizer, not {type(optimizer).__name__}.")
        super().__init__(0.0, list(optimizer.parameters))
        self.opt: Optimizer = optimizer
        for name in ("parameters", "global_step", "_decay", "loss_scale", "param_groups"):
            setattr(self, name, getattr(optimizer, name))
        self.is_group, self._group_of, self.learning_rate = optimizer.is_group, optimizer._group_of, optimizer._rate
        self._may_decay = optimizer._may_decay
        optimizer._may_decay, optimizer.loss_scale = (False,) * len(self.parameters), 1.0
        self.epsilon: float = positive("epsilon", epsilon, zero=True)
        self.coefficient: float = positive("coefficient", coefficient, zero=True)
        self.use_clip: bool = bool(use_clip)
        self.lars_flag: tuple[bool, ...] = tuple(bool(lars_filter(p)) for p in self.parameters)

    def construct(self, gradients: Any) -> Any:
        """One step of the optimizer with adapted gradients.

        Args:
            gradients: one per Parameter, in the order of ``parameters``.

        Returns:
            What the optimizer returns.
        """
        gradients = tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)
        self._need_fitting(gradients)
        rates = self._group_rates()
        decays = self._decays_now()
        adapted = []
        for i, param in enumerate(self.parameters):
            grad, group = gradients[i] / self.loss_scale, self._group_of[i]
            if self.lars_flag[i]:
                decay = decays[group] if self._may_decay[i] else 0.0
                decay = decay / self.loss_scale if self._like_mindspore else decay
                grad = self._adapted(param, grad, decay, rates[group])
            adapted.append(grad)
        return self.opt(tuple(adapted))

    def _adapted(self, param: Any, grad: Any, decay: Any, rate: Any) -> Any:
        weight, slope = ops.square(param).sum().sqrt(), ops.square(grad).sum().sqrt()
        divisor = slope + decay * weight + self.epsilon
        found = ops.logical_and(weight > 0, slope > 0)
        trust = ops.where(found, self.coefficient * weight / ops.where(found, divisor, 1.0), 1.0)
        if self.use_clip:
            trust = ops.clamp(trust / rate, 0.0, 1.0)
        return trust * (grad + decay * param)
