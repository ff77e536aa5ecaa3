"""The optimizers of ``mindspore.mint.optim``: PyTorch's arithmetic, state called as in MindSpore's checkpoints.

Source: `mindspore.mint`
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import Parameter, ParameterTuple, dtypes
from msnb.optim.experimental import grouped_methods
from msnb.optim.experimental.grouped_optimizer import GroupedMethod

__all__ = ["SGD", "Adam", "AdamW", "FusedAdamW"]


class MintSGD(GroupedMethod):
    """Gradient descent with momentum; arguments as in ``experimental.optim.SGD``.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.mint.optim.SGD([w], lr=0.5)((ms.Tensor([1.0]),))
        >>> w.tolist()
        [0.5]
    """

    step_name = "step_t"
    states: ClassVar[Mapping[str, float | str]] = MappingProxyType({"momentum_buf": 0.0})
    momentum_buf: ParameterTuple

    def __init__(
        self, params: Any, lr: Any, momentum: float = 0, dampening: float = 0, weight_decay: float = 0,
        nesterov: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        grouped_methods.need_nesterov(momentum, dampening, nesterov)
        super().__init__(params, {
            "lr": lr, "momentum": float(momentum), "weight_decay": weight_decay, "dampening": float(dampening),
            "nesterov": nesterov, "maximize": maximize,
        })  # fmt: skip

    def shared(self, group: Any, t: Any) -> Any:
        """The share of the gradient that enters the momentum: all of it at the first step."""
        return ops.where(t == 1.0, 1.0, 1.0 - group["dampening"]) if group["dampening"] else 1.0

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        group, part = self.settings_of(i), common[self._group_of[i]]
        momentum = group["momentum"]
        if momentum:
            entering = grad * ops.cast(part, grad.dtype) if group["dampening"] else grad
            v = self.momentum_buf[i] * momentum + entering
            ops.assign(self.momentum_buf[i], v)
            grad = grad + v * momentum if group["nesterov"] else v
        ops.assign(param, param - grad * rate)


class _MintMoments(grouped_methods.AdamW):
    """Means by MindSpore's names for them; the largest mean squares are kept where they are asked for."""

    states: ClassVar[Mapping[str, float | str]] = grouped_methods.MomentsMethod.states
    step_dtype: ClassVar[Any] = dtypes.float32

    def _extend_states(self, params: list[Parameter]) -> None:
        super()._extend_states(params)
        group = self.param_groups[-1]
        if group["amsgrad"]:
            group["max_exp_avg_sq"] = ParameterTuple(params).clone(prefix="max_exp_avg_sq", init=0.0)
            self._extend("max_exp_avg_sq", group["max_exp_avg_sq"])

    def largest(self, i: int) -> Parameter:
        """The largest mean square of Parameter number ``i`` so far."""
        number = self._group_of[i]
        found: Parameter = self.param_groups[number]["max_exp_avg_sq"][i - self.group_start_id[number]]
        return found


class MintAdamW(_MintMoments):
    """Adam with decoupled weight decay; arguments as in ``experimental.optim.AdamW``.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.mint.optim.AdamW([w], lr=0.1, weight_decay=0.5)((ms.Tensor([2.0]),))
        >>> round(float(w), 4)
        0.85
    """

    first_step: ClassVar[Any] = [-1.0]  # in MindSpore's checkpoints


class FusedAdamW(MintAdamW):
    """``AdamW``: all its updates run as one program in any case. As in MindSpore the groups agree on amsgrad.

    Raises:
        ValueError: a group with another ``amsgrad``.
    """

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Train these Parameters too: see ``Optimizer.add_param_group``."""
        usual = [g["amsgrad"] for g in self.param_groups][:1] or [param_group.get("amsgrad", self.defaults["amsgrad"])]
        if bool(param_group.get("amsgrad", self.defaults["amsgrad"])) != bool(usual[0]):
            raise AttributeValueError("FusedAdamW: all groups have the same amsgrad, here two differ.")
        super().add_param_group(param_group)


class MintAdam(_MintMoments):
    """Adam as PyTorch's; arguments as in ``experimental.optim.Adam``.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.mint.optim.Adam([w], lr=0.5)((ms.Tensor([3.0]),))
        >>> round(float(w), 4)
        0.5
    """

    decay_in_gradient = True
    first_step: ClassVar[Any] = [0.0]

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, amsgrad: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        ops.assign(param, param - self.corrected(i, grad, common) * rate)


SGD, Adam, AdamW = MintSGD, MintAdam, MintAdamW
