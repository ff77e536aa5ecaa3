"""The parts of a step by their own names, for optimizers that users write as MindSpore's own are written.

    class Mine(nn.Optimizer):
        def construct(self, gradients):
            gradients = self.flatten_gradients(gradients)           as they are: no weight is a part of a larger one
            gradients = self.decay_weight(gradients)                g + weight_decay * p, where p may decay
            gradients = self.gradients_centralization(gradients)    g - mean(g), in groups that ask for it
            gradients = self.scale_grad(gradients)                  g / loss_scale
            rate = self.get_lr()                                    one, or one per Parameter of groups with own ones
            self.assignadd(self.global_step, self.global_step_increase_tensor)
            ...

Source: `mindspore.nn.Optimizer`
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError
from msnb.core import Parameter, ParameterTuple, Tensor, dtypes
from msnb.nn.cells.cell import Cell
from msnb.ops.mindspore.multitype_graph import HyperMap, Map
from msnb.optim.lr_schedules import RateTable


def replaceable(fn: Callable[[Any], Any]) -> property:
    """A property that an optimizer of a user's may set to something of its own."""
    name = f"_own_{fn.__name__}"

    def get(self: Any) -> Any:
        return self.__dict__[name] if name in self.__dict__ else fn(self)

    def put(self: Any, value: Any) -> None:
        self.__dict__[name] = value

    return property(get, put, doc=fn.__doc__)


class ParamGroup:
    """The settings of one group; None where they are the optimizer's.

    Attributes:
        learning_rate, weight_decay: may be changed between steps.
        grad_centralization: whether gradients are centred over all axes but the first.
    """

    def __init__(self, learning_rate: Any = None, weight_decay: Any = None, grad_centralization: bool = False) -> None:
        self.learning_rate: Any = learning_rate
        self.weight_decay: Any = weight_decay
        self.grad_centralization = grad_centralization


class GradientSteps(Cell):
    """What of an Optimizer a subclass with its own ``construct`` calls."""

    parameters: ParameterTuple
    global_step: Parameter
    param_groups: tuple[ParamGroup, ...]
    loss_scale: float
    _decay: Any
    _group_of: tuple[int, ...]
    _may_decay: tuple[bool, ...]
    _like_mindspore: bool
    unique = True  # gradients are dense: there are no rows to be added up

    @property
    def target(self) -> str:
        """Where Parameters are updated: "CPU", the memory in which they are."""
        return "CPU"

    @target.setter
    def target(self, value: Any) -> None:
        self._set_base_target(value)

    def _set_base_target(self, value: Any) -> None:
        if value not in ("CPU", "GPU", "Ascend"):
            raise AttributeValueError(f"{type(self).__name__}: target must be 'CPU', 'GPU' or 'Ascend', got {value!r}.")
        if value != "CPU":
            raise AttributeValueError(
                f"{type(self).__name__}: Parameters are updated where they are, target={value!r} cannot move them.",
                hint="ms.set_context(device_target=...) chooses the device of a program.",
            )

    # ---- rates ----

    @property
    def learning_rate(self) -> Any:
        """As given; with ``mindspore``, in groups with own ones, one per Parameter."""
        if not (self._like_mindspore and self.is_group_lr):
            return self._rate
        return tuple(self._given_rates()[group] for group in self._group_of)

    @learning_rate.setter
    def learning_rate(self, value: Any) -> None:
        self.__dict__["learning_rate"] = value

    @property
    def _rate(self) -> Any:
        return self.__dict__["learning_rate"]

    def _given_rates(self) -> list[Any]:
        return [self._rate if g.learning_rate is None else g.learning_rate for g in self.param_groups]

    @property
    def dynamic_lr(self) -> bool:
        """Whether a learning rate depends on the step."""
        return any(map(_is_scheduled, (self._rate, *self._given_rates())))

    @property
    def is_group_lr(self) -> bool:
        """Whether a group has its own learning rate."""
        return any(g.learning_rate is not None for g in self.param_groups)

    @property
    def steps_done(self) -> Any:
        """``global_step`` without axes."""
        return ops.reshape(self.global_step, ()) if self.global_step.ndim else self.global_step

    def _group_rates(self) -> tuple[Any, ...]:
        return tuple(rate_at(rate, self.steps_done) for rate in self._given_rates())

    @property
    def weight_decay(self) -> Any:
        """As given; with ``mindspore`` a tensor or schedule, in groups one per Parameter."""
        return self._as_read(self._decays()) if self._like_mindspore else self._decay

    @weight_decay.setter
    def weight_decay(self, value: Any) -> None:
        self._decay = value

    def _decays(self) -> list[Any]:
        return [self._decay if g.weight_decay is None else g.weight_decay for g in self.param_groups]

    def _decays_now(self) -> list[Any]:
        return [rate_at(decay, self.steps_done) for decay in self._decays()]

    def _as_read(self, decays: list[Any]) -> Any:
        if self._like_mindspore:
            decays = [Tensor(d, dtypes.float32) if isinstance(d, (int, float)) else d for d in decays]
        return tuple(decays[group] for group in self._group_of) if self.is_group else decays[0]

    def get_lr(self) -> Any:
        """The learning rate at this step: one, or one per Parameter of groups with own ones."""
        rates = self._group_rates()
        return tuple(rates[group] for group in self._group_of) if self.is_group_lr else rates[0]

    def get_lr_parameter(self, param: Any) -> Any:
        """The learning rate, a number, Parameter or schedule, of a Parameter; a list of them of a list.

        Raises:
            TypeError: not a Parameter or a list of them. ValueError: one that is not of this optimizer.
        """
        if isinstance(param, list):
            return [self.get_lr_parameter(p) for p in param]
        if not isinstance(param, Parameter):
            raise ArgumentError(f"get_lr_parameter takes a Parameter or a list of them, got {type(param).__name__}.")
        for known, group in zip(self.parameters, self._group_of):
            if known is param:
                rate = self._given_rates()[group]
                return rate.learning_rate if isinstance(rate, RateTable) else rate
        raise AttributeValueError(f"get_lr_parameter: {param.name} is not a parameter of this {type(self).__name__}.")

    def get_weight_decay(self) -> Any:
        """The weight decay at this step: one, or one per Parameter where there are groups."""
        return self._as_read(self._decays_now())

    # ---- gradients ----

    def flatten_gradients(self, gradients: Any) -> Any:
        """The gradients: every Parameter has memory of its own."""
        return gradients

    def decay_weight(self, gradients: Any) -> tuple[Any, ...]:
        """The gradients with the decay of each Parameter that decays; in MindSpore's order ``scale_grad`` comes behind,
        and does not touch the decay."""
        scale = self.loss_scale if self._like_mindspore else 1.0
        decays = [scale * decay for decay in self._decays_now()]
        rows = zip(gradients, self.parameters, self._group_of, self._may_decay)
        return tuple(with_decay(grad, p, decays[group]) if may else grad for grad, p, group, may in rows)

    def gradients_centralization(self, gradients: Any) -> tuple[Any, ...]:
        """The gradients, centred in groups with ``grad_centralization``."""
        asked = [self.param_groups[group].grad_centralization for group in self._group_of]
        centre = centred_in_16 if self._like_mindspore else centred
        return tuple(centre(grad) if yes else grad for grad, yes in zip(gradients, asked))

    def scale_grad(self, gradients: Any) -> tuple[Any, ...]:
        """The gradients over the loss scale."""
        if self.loss_scale == 1.0:
            return tuple(gradients)
        return tuple(grad * (1.0 / self.loss_scale) for grad in gradients)

    # ---- words of MindSpore's own optimizers ----

    @property
    def _parameters(self) -> ParameterTuple:
        return self.parameters

    @replaceable
    def map_(self) -> Map:
        """Calls a function for every Parameter."""
        return Map()

    @replaceable
    def map_reverse(self) -> Map:
        """``map_`` from the last Parameter to the first."""
        return Map(reverse=True)

    @replaceable
    def hyper_map(self) -> HyperMap:
        """``map_``, also through tuples."""
        return HyperMap()

    @replaceable
    def global_step_increase_tensor(self) -> Tensor:
        """One step."""
        return Tensor(1, dtypes.int32)

    @replaceable
    def param_length(self) -> int:
        """How many Parameters there are."""
        return len(self.parameters)

    @replaceable
    def optim_filter(self) -> tuple[bool, ...]:
        """Which Parameters this process updates: all."""
        return (True,) * len(self.parameters)

    @replaceable
    def decay_flags(self) -> tuple[bool, ...]:
        """Which Parameters decay: those whose group does, or without groups all but those of norms."""
        if not self.is_group:
            return self._may_decay
        decays = self._decays()
        return tuple(_is_scheduled(decays[group]) or bool(decays[group]) for group in self._group_of)

    @replaceable
    def exec_weight_decay(self) -> bool:
        """Whether anything decays."""
        return any(_is_scheduled(decay) or bool(decay) for decay in self._decays())

    @replaceable
    def dynamic_weight_decay(self) -> bool:
        """Whether a weight decay depends on the step."""
        return any(map(_is_scheduled, self._decays()))

    @replaceable
    def need_scale(self) -> bool:
        """Whether ``scale_grad`` changes gradients."""
        return self.loss_scale != 1.0

    @replaceable
    def reciprocal_scale(self) -> float:
        """1 / loss_scale."""
        return 1.0 / self.loss_scale

    @replaceable
    def use_parallel(self) -> bool:
        """False: each process updates all Parameters."""
        return False

    def broadcast_params(self, optim_result: Any) -> Any:
        """What the updates gave: each process has all Parameters."""
        return optim_result

    def assignadd(self, param: Parameter, value: Any) -> Any:
        """``ops.assign_add``."""
        return ops.assign_add(param, value)

    def _is_dynamic_lr_or_weight_decay(self) -> bool:
        return self.dynamic_lr or self.dynamic_weight_decay

    def _grad_sparse_indices_deduplicate(self, gradients: Any) -> Any:
        return gradients


def _is_scheduled(rate: Any) -> bool:
    return isinstance(rate, Cell) or (isinstance(rate, Tensor) and rate.ndim == 1)


def rate_at(rate: Any, step: Any) -> Any:
    """The value of a rate at a step."""
    if isinstance(rate, Cell):
        return rate(step)
    if isinstance(rate, Tensor) and rate.ndim == 1:
        return ops.gather(rate, ops.minimum(step, len(rate) - 1), axis=0)
    return rate


def with_decay(grad: Any, param: Any, decay: Any) -> Any:
    """grad + decay * param, or grad alone where the decay is the number 0."""
    return grad if isinstance(decay, (int, float)) and decay == 0 else grad + param * decay


def wide(grad: Any) -> Any:
    """A gradient of float16 as float32, in which the squares of small ones are not 0."""
    return ops.cast(grad, dtypes.float32) if grad.dtype == dtypes.float16 else grad


def correction(beta: Any, t: Any) -> Any:
    """1 - beta^t, to the last digit also where beta^t is near 1; float64, for what it rounds does not reach the result,
    which is the same in both modes."""
    return ops.cast(1.0 - ops.pow(beta, ops.cast(t, dtypes.float64)), dtypes.float32)


def centred(grad: Any) -> Any:
    """grad - its mean over all axes but the first, where it has several."""
    return grad - ops.mean(grad, axis=tuple(range(1, grad.ndim)), keepdims=True) if grad.ndim > 1 else grad


def centred_in_16(grad: Any) -> Any:
    """``centred`` where axis 1 has a multiple of 16 elements: others stay, as in MindSpore."""
    return centred(grad) if grad.ndim > 1 and grad.shape[1] % 16 == 0 else grad
