"""Adam and its kin: steps scaled by running moments of the gradient.

    m <- beta1 * m + (1 - beta1) * g            v <- beta2 * v + (1 - beta2) * g^2            t = steps done, from 1

    Adam              p <- p - rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + eps)      decay inside g
    AdamWeightDecay   p <- p - rate * (m / (sqrt(v) + eps) + decay * p)                            no correction by t
    AdamW             p <- p - rate * (m' / (sqrt(v') + eps) + decay * p)     m' = m / (1 - beta1^t), v' so too
    Lamb              p <- p - rate * |p| / |u| * u,  u = m' / (sqrt(v') + eps) + decay * p

Source: Kingma and Ba 2015; Loshchilov and Hutter 2019; You et al. 2020;
`mindspore.nn.Adam`, `mindspore.nn.AdamWeightDecay`, `mindspore.nn.Lamb`
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError, events
from msnb.core import Parameter, dtypes
from msnb.optim.gradient_steps import correction, wide, with_decay
from msnb.optim.lr_schedules import positive, share
from msnb.optim.optimizer import Optimizer

__all__ = ["Adam", "AdamW", "AdamWeightDecay", "Lamb"]


class _Moments(Optimizer):
    """The running moments that all of them keep."""

    keeps_powers = False  # of the betas, in MindSpore's checkpoints

    def __init__(
        self, params: Any, learning_rate: Any, beta1: float, beta2: float, eps: float, weight_decay: Any, scale: float
    ) -> None:
        super().__init__(learning_rate, params, weight_decay, scale)
        self.beta1, self.beta2 = share("beta1", beta1), share("beta2", beta2)
        self.eps = positive("eps", eps)
        self._has_powers = self._like_mindspore and self.keeps_powers
        if self._has_powers:
            self.beta1_power, self.beta2_power = self.held("beta1_power", 1.0), self.held("beta2_power", 1.0)
        self.moment1 = self.slots("moment1")
        self.moment2 = self.slots("moment2")

    def prepare(self, step: Any) -> Any:
        """(1 - beta1^t, 1 - beta2^t)."""
        if self._has_powers:
            one, two = self.beta1_power * self.beta1, self.beta2_power * self.beta2
            ops.assign(self.beta1_power, one)
            ops.assign(self.beta2_power, two)
            return 1.0 - one, 1.0 - two
        t = ops.cast(step, dtypes.float32) + 1.0
        return correction(self.beta1, t), correction(self.beta2, t)

    def follow(self, i: int, grad: Any) -> tuple[Any, Any]:
        """Let the moments of Parameter number ``i`` follow its gradient."""
        m, v = (ops.cast(moment[i], grad.dtype) for moment in (self.moment1, self.moment2))
        one, two = self.beta1, self.beta2
        if self._has_powers:  # which are float32
            one, two = (float(np.float32(b)) if isinstance(b, float) else b for b in (one, two))
        m = m * one + grad * (1.0 - one)
        v = v * two + ops.square(grad) * (1.0 - two)
        ops.assign(self.moment1[i], m)
        ops.assign(self.moment2[i], v)
        return m, v

    def corrected(self, i: int, grad: Any, common: Any) -> Any:
        """m' / (sqrt(v') + eps)."""
        m, v = self.follow(i, grad)
        one, two = (ops.cast(c, grad.dtype) for c in common)
        return m / one / (ops.sqrt(v / two) + dtypes.guard(self.eps, v.dtype))


class Adam(_Moments):
    """Adaptive moment estimation.

    Args:
        params: Parameters or groups.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        beta1, beta2: decay of the first and second moment, from 0 to below 1.
        eps: added to the root of the second moment as it is, as in MindSpore. PyTorch adds it behind the correction by
            t: this eps acts as PyTorch's divided by sqrt(1 - beta2^t), so elements with gradients near eps move less
            here in the first steps. ``AdamW(weight_decay=0)`` is PyTorch's Adam to the last digits.
        use_locking: for MindSpore's signature.
        use_nesterov: look one step ahead: m is replaced by beta1 * m + (1 - beta1) * g.
        weight_decay: L2 factor, added to the gradient (decoupled decay: AdamWeightDecay, AdamW).
        loss_scale: gradients are divided by it.
        use_amsgrad: divide by the largest second moment so far.
        use_lazy, use_offload: MindSpore's words for ``LazyAdam`` and ``AdamOffload``: the numbers are the same here.

    Raises:
        ValueError: a setting outside its range, or two of use_lazy, use_offload and use_amsgrad.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.Adam([w], learning_rate=0.5)([ms.Tensor([3.0])])
        >>> round(float(w), 4)
        0.5
    """

    keeps_powers = True

    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        use_locking: bool = False, use_nesterov: bool = False, weight_decay: Any = 0.0, loss_scale: float = 1.0,
        use_amsgrad: bool = False, *, use_lazy: bool = False, use_offload: bool = False,
    ) -> None:  # fmt: skip
        chosen = {"use_lazy": use_lazy, "use_offload": use_offload, "use_amsgrad": use_amsgrad}
        if not all(isinstance(way, bool) for way in chosen.values()):
            raise TypeError(f"Adam: each of {', '.join(chosen)} is a bool, got {chosen}.")
        if sum(chosen.values()) > 1:
            raise AttributeValueError(f"Adam takes one of {', '.join(chosen)}, got {chosen}.")
        if use_lazy:
            events.ignored("Adam(use_lazy=True)", "gradients are dense, so every row is updated")
        if use_offload:
            events.ignored("Adam(use_offload=True)", "the state lies where the Parameters lie")
        self._tell_locking(use_locking)
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, loss_scale)
        self.use_nesterov: bool = bool(use_nesterov)
        self.use_amsgrad: bool = bool(use_amsgrad)
        self.use_lazy: bool = bool(use_lazy)
        self.use_offload: bool = bool(use_offload)
        self.vhat = self.slots("vhat") if use_amsgrad else ()

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter, in float32 as in MindSpore."""
        grad = wide(grad)
        m, v = self.follow(i, grad)
        if self.use_nesterov:
            m = m * self.beta1 + grad * (1.0 - self.beta1)
        if self.use_amsgrad:
            v = ops.maximum(self.vhat[i], v)
            ops.assign(self.vhat[i], v)
        one, two = (ops.cast(c, m.dtype) for c in common)
        ops.assign(param, param - m * (ops.sqrt(two) / one * rate) / (ops.sqrt(v) + dtypes.guard(self.eps, v.dtype)))

    def _apply_adam(
        self, params: Any, power1: Any, power2: Any, moment1: Any, moment2: Any, rates: Any, gradients: Any
    ) -> bool:
        """The step behind MindSpore's ``construct``, which subclasses with their own one call."""
        for given, own in ((params, self.parameters), (moment1, self.moment1), (moment2, self.moment2)):
            if given is not own:
                raise AttributeValueError("_apply_adam takes this optimizer's own parameters, moment1 and moment2.")
        common = (1.0 - power1, 1.0 - power2)
        for i, (param, grad) in enumerate(zip(params, gradients)):
            self.update(i, param, grad, rates[i] if self.is_group_lr else rates, 0.0, common)
        return True


class AdamWeightDecay(_Moments):
    """Adam with decoupled weight decay and without correction of the moments.

    Args:
        params: Parameters or groups.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        beta1, beta2, eps: as in ``Adam``.
        weight_decay: share of the Parameter that a step takes away, times the learning rate.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.AdamWeightDecay([w], 0.1, weight_decay=0.5)([ms.Tensor([0.0])])
        >>> round(float(w), 4)
        0.95
    """

    decay_in_gradient = False
    names_in_mindspore: ClassVar[Mapping[str, str]] = MappingProxyType({"moment1": "adam_m", "moment2": "adam_v"})
    centres_in_mindspore = False

    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, 1.0)

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        m, v = self.follow(i, grad)
        ops.assign(param, param - with_decay(m / (ops.sqrt(v) + dtypes.guard(self.eps, v.dtype)), param, decay) * rate)


class AdamW(_Moments):
    """Adam with decoupled weight decay, as PyTorch's AdamW.

    Args:
        params: Parameters or groups.
        learning_rate, beta1, beta2, eps: as in ``Adam``.
        weight_decay: share of the Parameter that a step takes away, times the learning rate.
        loss_scale: gradients are divided by it.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.AdamW([w], 0.1, weight_decay=0.5)([ms.Tensor([2.0])])
        >>> round(float(w), 4)
        0.85
    """

    decay_in_gradient = False

    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        weight_decay: Any = 0.01, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, loss_scale)

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        ops.assign(param, param - with_decay(self.corrected(i, grad, common), param, decay) * rate)


class Lamb(_Moments):
    """Layer-wise adaptive moments for large batches.

    Args:
        params: Parameters or groups.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        beta1, beta2, eps: as in ``Adam``.
        weight_decay: factor of the Parameter in the update.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([2.0], name="w")
        >>> _ = ms.nn.Lamb([w], 0.25)([ms.Tensor([3.0])])
        >>> round(float(w), 4)
        1.5
    """

    decay_in_gradient = False
    names_in_mindspore: ClassVar[Mapping[str, str]] = MappingProxyType({"moment1": "lamb_m", "moment2": "lamb_v"})

    def __init__(
        self, params: Any, learning_rate: Any, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-6,
        weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(params, learning_rate, beta1, beta2, eps, weight_decay, 1.0)

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        step = with_decay(self.corrected(i, grad, common), param, decay)
        size, length = ops.sqrt(ops.sum(ops.square(param))), ops.sqrt(ops.sum(ops.square(step)))
        whole = ops.logical_and(size > 0, length > 0)
        ratio = ops.where(whole, size / ops.where(whole, length, 1.0), 1.0)
        ops.assign(param, param - step * (ratio * rate))
