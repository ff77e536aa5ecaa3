"""Optimizers whose settings are dicts, one for each group of Parameters, as ``mindspore.experimental.optim`` has them.

    optimizer.param_groups[0]      {"params": [...], "lr": Parameter, "weight_decay": 0.0, ...}
    optimizer.add_param_group({"params": more, "lr": 0.1})      state of the new Parameters is made with it
    optimizer(gradients)           one step: what is in the dicts now holds

Every "lr" is a Parameter, which schedulers write and compiled programs read: a new rate never compiles again. A number
that a program puts into a dict works too.
Source: `mindspore.experimental.optim.Optimizer`
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, ClassVar

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Parameter, ParameterTuple, Tensor, dtypes
from msnb.ops.mindspore.multitype_graph import HyperMap
from msnb.optim.gradient_steps import GradientSteps, with_decay
from msnb.optim.lr_schedules import positive, share
from msnb.optim.optimizer import Optimizer

__all__ = ["GroupedMethod", "GroupedOptimizer"]


def _pair_of_shares(what: str, value: Any) -> None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise AttributeValueError(f"{what} are two numbers from 0 to below 1, got {value!r}.")
    for i, beta in enumerate(value):
        share(f"{what}[{i}]", beta)


_least = partial(positive, zero=True)
_LIMITS: Mapping[str, Callable[[str, Any], Any]] = {
    "lr": _least, "eps": _least, "weight_decay": _least, "momentum": _least, "betas": _pair_of_shares, "rho": _least,
    "alpha": _least, "lr_decay": _least, "initial_accumulator_value": _least, "momentum_decay": _least,
}  # fmt: skip


class GroupSettings(dict[str, Any]):
    """The dict of a group; optimizers of ``msnb.nn`` have these three as attributes."""

    grad_centralization = False

    @property
    def learning_rate(self) -> Any:
        """Its "lr"."""
        return self["lr"]

    @property
    def weight_decay(self) -> Any:
        """Its "weight_decay"."""
        return self["weight_decay"]


class GroupedOptimizer(Optimizer):
    """Base of optimizers with dicts of settings; a user's subclass writes ``construct(gradients)``.

    Args:
        params: Parameters, or dicts with "params" and settings of their own.
        defaults: settings of dicts that do not have them; "lr" is needed.

    Attributes:
        param_groups: the dicts.
        lrs: the learning rates, a Parameter for each group.
        group_start_id: the number of the first Parameter of each group, and of the end.

    Raises:
        TypeError: no Parameters. ValueError: none at all, one in two groups, or a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> from msnb.experimental import optim
        >>> class Halves(optim.Optimizer):
        ...     def construct(self, gradients):
        ...         for start, group in zip(self.group_start_id, self.param_groups):
        ...             for i, p in enumerate(group["params"]):
        ...                 ms.ops.assign(p, p - group["lr"] * 0.5 * gradients[start + i])
        >>> w = ms.Parameter([1.0], name="w")
        >>> Halves([w], {"lr": 0.5})((ms.Tensor([2.0]),))
        >>> w.tolist()
        [0.5]
    """

    strict: ClassVar[bool] = False  # lr and eps must be above 0
    states: ClassVar[Mapping[str, float | str]] = {}  # what it keeps beside every Parameter: first values, or settings
    scalars: ClassVar[Mapping[str, float]] = {}  # numbers that it keeps for every Parameter

    _rates: list[Parameter]
    group_start_id: list[int]
    is_group: bool
    loss_scale: float
    param_groups: list[GroupSettings]  # type: ignore[assignment]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super(GradientSteps, self).__init__(auto_prefix=False)
        self.defaults: dict[str, Any] = dict(defaults)
        self.state: dict[Any, Any] = defaultdict(dict)
        self.is_group, self.loss_scale, self.weight_decay, self._like_mindspore = True, 1.0, 0.0, False
        self.param_groups, self._rates, self.group_start_id = [], [], [0]
        self.parameters: ParameterTuple = ParameterTuple(())
        self._group_of, self._may_decay = (), ()
        self._check(self.defaults)
        for group in _dicts(params):
            self.add_param_group(group)

    @property
    def learning_rate(self) -> Any:
        """The rate of the first group."""
        return self.param_groups[0]["lr"]

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self.param_groups[0]["lr"] = value

    @property
    def lrs(self) -> list[Parameter]:
        """The Parameters that schedulers write, one for each group: no part of a checkpoint."""
        return self._rates

    @property
    def hyper_map(self) -> HyperMap:
        """Calls a function for every Parameter, also of trees of them."""
        return HyperMap()

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Train these Parameters too.

        Args:
            param_group: "params", a Parameter or a list of them, and settings other than ``defaults``.

        Raises:
            TypeError: no dict, or no Parameters. ValueError: one that is in a group already.
        """
        if not isinstance(param_group, dict) or "params" not in param_group:
            raise ArgumentError(f'a parameter group is a dict with "params", got {type(param_group).__name__}.')
        group = GroupSettings(param_group)
        group["params"] = _parameters(group["params"])
        for name, value in self.defaults.items():
            group.setdefault(name, value)
        group["weight_decay"] = float(_least("weight_decay", group.get("weight_decay", 0.0)))
        self._check(group)
        known = {id(p) for p in self.parameters}
        for p in group["params"]:
            if id(p) in known:
                raise AttributeValueError(f"the parameter {p.name} is in two groups, or twice in one.")
            known.add(id(p))
        number = len(self.param_groups)
        group["lr"] = _held_rate(group.get("lr"), f"learning_rate_group_{number}")
        self._rates.append(group["lr"])
        self.param_groups.append(group)
        self.parameters = ParameterTuple((*self.parameters, *group["params"]))
        self.group_start_id.append(len(self.parameters))
        self._group_of += (number,) * len(group["params"])
        self._may_decay += (True,) * len(group["params"])
        self._extend_states(group["params"])

    def _extend_states(self, params: list[Parameter]) -> None:
        for name, first in self.states.items():
            value = self.defaults[first] if isinstance(first, str) else first
            self._extend(name, ParameterTuple(params).clone(prefix=name, init=float(value)))
        for name, first in self.scalars.items():
            self._extend(name, (Parameter(Tensor(first, dtypes.float32), name=f"{name}_{p.name}") for p in params))

    def _extend(self, name: str, made: Iterable[Parameter]) -> None:
        made = tuple(made)
        for p in made:
            p.requires_grad = False
        setattr(self, name, ParameterTuple((*getattr(self, name, ()), *made)))

    def _check(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            rule = _LIMITS.get(name)
            if rule is None or (name == "lr" and isinstance(value, Tensor) and value.ndim):
                continue
            if self.strict and name in ("lr", "eps"):
                rule = positive
            rule(name, float(value) if isinstance(value, Tensor) and value.ndim == 0 else value)

    def _decay_weight(self, weight_decay: float, params: Any, gradients: Any) -> Any:
        """The gradients, each with its Parameter's decay."""
        return tuple(with_decay(grad, p, weight_decay) for p, grad in zip(params, gradients))

    def construct(self, *hyper_params: Any) -> Any:
        """One step.

        Raises:
            NotImplementedError: the subclass did not write it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no construct(gradients).")

    def extend_repr(self) -> str:
        """Every group with its settings."""
        lines = []
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            shown = {k: float(v) if isinstance(v, Parameter) else v for k, v in group.items() if k != "params"}
            lines += [f"    {key}: {shown[key]}" for key in sorted(shown)]
        return "\n".join(lines)


class GroupedMethod(GroupedOptimizer):
    """What the methods here share. One writes ``update`` and, if need be, ``shared(group, t)``."""

    step_name: ClassVar[str] = ""  # of the Parameter that counts steps, in checkpoints
    first_step: ClassVar[Any] = 0
    step_dtype: ClassVar[Any] = dtypes.int32
    leaves_out_none: ClassVar[bool] = True

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        if self.step_name:
            first = Tensor(self.first_step, self.step_dtype)
            self.global_step: Parameter = Parameter(first, name=self.step_name, requires_grad=False)

    def construct(self, gradients: Any) -> Any:
        """One step: give every Parameter its new value.

        Args:
            gradients: one per Parameter, in the order of ``parameters``; None leaves it.

        Returns:
            True.

        Raises:
            ValueError: another number of gradients, or one of another shape than its Parameter.
        """
        return Optimizer.construct(self, gradients)

    @property
    def steps_done(self) -> Any:
        """How many steps were done, for methods that need to know."""
        if not self.step_name:
            return 0
        first = self.first_step[0] if isinstance(self.first_step, list) else self.first_step
        return super().steps_done - first

    def count_step(self) -> None:
        """One step more was done."""
        if self.step_name:
            super().count_step()

    def prepare(self, step: Any) -> Any:
        """What the Parameters of each group share in this step."""
        t = ops.cast(step + 1, dtypes.float32) if self.step_name else None
        return tuple(self.shared(group, t) for group in self.param_groups)

    def shared(self, group: GroupSettings, t: Any) -> Any:
        """What the Parameters of a group share in step number ``t``, from 1."""
        return None

    def settings_of(self, i: int) -> GroupSettings:
        """The dict of Parameter number ``i``."""
        return self.param_groups[self._group_of[i]]

    def _shaped_gradient(self, param: Parameter, grad: Any, decay: Any, group: Any) -> Any:
        return super()._shaped_gradient(param, -grad if group.get("maximize") else grad, decay, group)


def _dicts(params: Any) -> list[Any]:
    if isinstance(params, (Tensor, str, dict)) or not isinstance(params, Iterable):
        raise ArgumentError(f"an optimizer takes a list of Parameters or of dicts, not {type(params).__name__}.")
    groups = list(params)
    if not groups:
        raise AttributeValueError("an optimizer needs at least one Parameter, this list is empty.")
    return groups if isinstance(groups[0], dict) else [{"params": groups}]


def _parameters(params: Any) -> list[Parameter]:
    if isinstance(params, set):
        raise ArgumentError("the params of a group are a list: a set has no order, and gradients come in one.")
    found = [params] if isinstance(params, Parameter) else list(params)
    for p in found:
        if not isinstance(p, Parameter):
            raise ArgumentError(f"an optimizer takes Parameters, not {type(p).__name__}; pass net.trainable_params().")
    return found


def _held_rate(rate: Any, name: str) -> Parameter:
    if isinstance(rate, Tensor) and rate.ndim:
        raise AttributeValueError(f"lr is one number, got a Tensor of shape {rate.shape}; schedulers make many of it.")
    if not isinstance(rate, (int, float, Tensor)):
        raise ArgumentError(f"lr is a number or a 0-d Tensor, got {type(rate).__name__}.")
    return Parameter(Tensor(rate, dtypes.float32), name=name)
