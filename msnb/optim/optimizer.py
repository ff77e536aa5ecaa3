"""Optimizer: what all optimizers share.

    optimizer(grads)     for every Parameter p with gradient g, in order:
                           g  <-  g / loss_scale + weight_decay * p          (the decay of some is decoupled: see each)
                           p  <-  one step of the method                     written with ops and assign
                         global_step <- global_step + 1

A learning rate is one of: a number (an attribute, read at every step: a new one never compiles again), a 0-d Tensor
(becomes the Parameter ``learning_rate``), a list with one number per step, or a LearningRateSchedule (a Cell of the
step).

Groups are dicts with their own rates: [{"params": [...], "lr": 0.1, "weight_decay": 0.01}, {"params": [...]}]; what a
dict does not say is the optimizer's. One that is made under ``msnb.as_mindspore`` has the state of MindSpore's
checkpoints, and centres gradients as MindSpore does: behind the decay, and where axis 1 has a multiple of 16.

Without groups weight decay leaves out Parameters called "...beta..." or "...gamma...", the scales and shifts of norms,
as MindSpore does.
Source: `mindspore.nn.Optimizer`
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, ShapeError, events
from msnb.core import Parameter, ParameterTuple, Tensor, dtypes
from msnb.nn.cells import Cell, like_mindspore, put_last
from msnb.ops.definition.keyword_aliases import worded
from msnb.optim.gradient_steps import GradientSteps, ParamGroup, centred, centred_in_16, with_decay
from msnb.optim.lr_schedules import RateTable, positive

_GROUP_KEYS = ("params", "lr", "weight_decay", "grad_centralization")


class Optimizer(GradientSteps):
    """Base of optimizers. A subclass writes ``update(...)`` and, if need be, ``prepare(step)``.

    Args:
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        parameters: Parameters, or dicts that group them.
        weight_decay: factor of the decay; number, LearningRateSchedule, or any Cell of the step.
        loss_scale: gradients are divided by it.

    Attributes:
        parameters: all Parameters in order: the order of the gradients.
        global_step: int32 Parameter, the number of steps done.

    Raises:
        TypeError: no Parameters. ValueError: none at all, one twice, or a setting outside its range.
    """

    # weight decay enters the gradient; methods with decoupled decay say False and use ``with_decay`` themselves
    decay_in_gradient = True
    # what the state of ``slots`` is called in MindSpore's checkpoints, and whether MindSpore's own centres gradients
    names_in_mindspore: ClassVar[Mapping[str, str]] = {}
    centres_in_mindspore = True
    leaves_out_none: ClassVar[bool] = False
    _is_step = True

    _workings = Cell._workings | {
        "assignadd", "broadcast_params", "corrected", "count_step", "decay_flags", "decay_in_gradient",
        "dynamic_weight_decay", "exec_weight_decay", "follow", "global_step_increase_tensor", "hyper_map",
        "leaves_out_none", "map_", "map_reverse", "need_scale", "optim_filter", "param_length", "prepare",
        "reciprocal_scale", "slots", "update", "use_parallel",
    }  # fmt: skip

    def __init__(self, learning_rate: Any, parameters: Any, weight_decay: Any = 0.0, loss_scale: float = 1.0) -> None:
        super().__init__(auto_prefix=False)
        given, order = _order_apart(parameters)
        groups = _groups(given)
        self.is_group: bool = any(isinstance(g, dict) for g in groups)
        pairs = _numbered(groups)
        self.is_group_params_ordered: bool = order is not None
        if order is not None:
            pairs = _in_order(pairs, order)
        self.parameters: ParameterTuple = ParameterTuple(p for p, _ in pairs)
        _need_distinct(self.parameters)
        self.loss_scale: float = positive("loss_scale", loss_scale)
        self.learning_rate: Any = as_rate("learning_rate", learning_rate)
        self._decay: Any = as_rate("weight_decay", weight_decay)
        every = tuple(_group(g) for g in groups) if self.is_group else (ParamGroup(),)
        self.param_groups: tuple[ParamGroup, ...] = every
        self._group_of = tuple(i if self.is_group else 0 for _, i in pairs)
        # without groups norms do not decay, as in MindSpore; with them the user decides
        self._may_decay = tuple(self.is_group or not ("beta" in p.name or "gamma" in p.name) for p in self.parameters)
        self._like_mindspore = like_mindspore()
        first = Tensor([0] if self._like_mindspore else 0, dtypes.int32)
        self.global_step: Parameter = Parameter(first, name="global_step", requires_grad=False)
        if self._like_mindspore:
            self._hold_rates()

    def _tell_locking(self, use_locking: bool) -> None:
        if use_locking:
            events.ignored(f"{type(self).__name__}(use_locking=True)", "a step is written as a whole in any case")

    def _hold_rates(self) -> None:
        """Rates are Parameters, as in MindSpore's checkpoints: first, in the order of their use, or last in Cells of
        the step, which all rates of groups are where one is."""
        timed = self.dynamic_lr and self.is_group_lr
        for i, group in enumerate(self.param_groups):
            group.learning_rate = self._held_rate(f"learning_rate_group_{i}", group.learning_rate, timed)
        if any(g.learning_rate is None for g in self.param_groups):
            self.learning_rate = self._held_rate("learning_rate", self._rate, timed)
        own = [g.learning_rate for g in self.param_groups if g.learning_rate is not None]
        self.group_rates: ParameterTuple = ParameterTuple(rate for rate in own if isinstance(rate, Parameter))
        self.group_schedules: list[Cell] = [rate for rate in own if isinstance(rate, Cell)]
        first = ("group_rates",) if self.param_groups[0].learning_rate is not None else ()
        put_last(self, dict.fromkeys(("global_step", *first, "learning_rate", "group_rates", "parameters")))

    def _held_rate(self, name: str, rate: Any, timed: bool) -> Any:
        if rate is None or isinstance(rate, (Cell, Parameter)):
            return rate
        return self.held(name, rate) if isinstance(rate, float) and not timed else RateTable(rate, name)

    def __setattr__(self, name: str, value: Any) -> None:
        held = isinstance(value, (int, float)) and isinstance(self.__dict__.get(name), Parameter)
        super().__setattr__(name, Tensor(value, self.__dict__[name].dtype) if held else value)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """In eager mode the optimizers of this package run as one program; what users write runs as they wrote it.
        All take ``lr=`` for ``learning_rate=``."""
        super().__init_subclass__(**kwargs)
        cls._runs_whole = cls.__module__.startswith("msnb.optim.")
        for ours, theirs in vars(cls).get("names_in_mindspore", {}).items():
            if not hasattr(cls, theirs):  # programs that read MindSpore's state: optimizer.moment1
                setattr(cls, theirs, property(attrgetter(ours)))
        if "__init__" in vars(cls):
            cls.__init__ = worded(cls.__init__)  # type: ignore[method-assign]

    # ---- what a step does ----

    def construct(self, gradients: Any) -> Any:
        """One step: give every Parameter its new value.

        Args:
            gradients: one per Parameter, in the order of ``parameters``; None leaves it, where ``leaves_out_none``.

        Returns:
            True.

        Raises:
            ValueError: another number of gradients, or one of another shape than its Parameter.
        """
        gradients = tuple(gradients) if isinstance(gradients, (tuple, list)) else (gradients,)
        self._need_fitting(gradients)
        step = self.steps_done
        rates = self._group_rates()
        decays = self._decays_now()
        common = self.prepare(step)
        self.count_step()
        for i in range(len(self.parameters)):
            param, group = self.parameters[i], self._group_of[i]
            if gradients[i] is None:
                continue
            decay = decays[group] if self._may_decay[i] else 0.0
            grad = self._shaped_gradient(param, gradients[i], decay, self.param_groups[group])
            self.update(i, param, grad, rates[group], decay, common)
        return True

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """Assign the new value of Parameter number ``i``.

        Raises:
            NotImplementedError: the subclass did not write it.
        """
        raise NotImplementedError(f"{type(self).__name__} has no update().")

    def count_step(self) -> None:
        """One step more was done."""
        ops.assign(self.global_step, self.global_step + 1)

    def prepare(self, step: Any) -> Any:
        """What all Parameters share in this step, from the number of steps done before."""
        return None

    def _shaped_gradient(self, param: Parameter, grad: Any, decay: Any, group: ParamGroup) -> Any:
        if self.loss_scale != 1.0:
            grad = grad * (1.0 / self.loss_scale)
        if group.grad_centralization and not self._like_mindspore:
            grad = centred(grad)
        if self.decay_in_gradient:
            grad = with_decay(grad, param, decay)
        if group.grad_centralization and self._like_mindspore and self.centres_in_mindspore:
            grad = centred_in_16(grad)
        return grad

    def _need_fitting(self, gradients: tuple[Any, ...]) -> None:
        name = type(self).__name__
        if len(gradients) != len(self.parameters):
            raise ArgumentError(
                f"{name} got {len(gradients)} gradients for {len(self.parameters)} parameters.",
                hint="differentiate by the same parameters: ms.value_and_grad(fn, None, optimizer.parameters).",
            )
        for param, grad in zip(self.parameters, gradients):
            if grad is None and self.leaves_out_none:
                continue
            if not isinstance(grad, Tensor) or grad.shape != param.shape:
                got = repr(grad._type) if isinstance(grad, Tensor) else type(grad).__name__
                raise ShapeError(
                    f"{name}: the gradient of {param.name} does not fit.",
                    operands=[f"parameter: {param._type!r}", f"gradient: {got}"],
                )

    # ---- state ----

    def slots(self, prefix: str, *values: float) -> ParameterTuple:
        """State beside every Parameter, with its shape and dtype, called "prefix.name": zeros, or filled with a number,
        or with one for each Parameter."""
        firsts = values if len(values) > 1 else (values or (0.0,)) * len(self.parameters)
        prefix = self.names_in_mindspore.get(prefix, prefix) if self._like_mindspore else prefix
        return ParameterTuple(
            Parameter(Tensor(shape=p.shape, dtype=p.dtype, init=first), name=f"{prefix}.{p.name}", requires_grad=False)
            for p, first in zip(self.parameters, firsts)
        )

    def held(self, name: str, value: float | list[float]) -> Any:
        """A number that steps compute with: a Parameter where MindSpore's checkpoints have it."""
        if not self._like_mindspore:
            return value
        return Parameter(Tensor(value, dtypes.float32), name=name, requires_grad=False)

    def extend_repr(self) -> str:
        """Its settings."""
        return f"parameters={len(self.parameters)}, learning_rate={self.learning_rate}"


def as_rate(what: str, value: Any) -> Any:
    """A rate as optimizers keep it: float, Parameter, Tensor of one per step, or schedule (any Cell of the step)."""
    if isinstance(value, (Cell, Parameter)):
        return value
    if isinstance(value, Tensor) and value.ndim == 0:
        return Parameter(Tensor(value, dtypes.float32), name=what, requires_grad=False)
    if isinstance(value, (Tensor, Iterable)) and not isinstance(value, str):
        return _rate_table(what, value)
    return positive(what, value, zero=True)


def _rate_table(what: str, values: Any) -> Tensor:
    table = values._host() if isinstance(values, Tensor) else np.array([float(v) for v in values])
    if table.ndim != 1 or not table.size or (table < 0).any():
        raise AttributeValueError(f"{what} must be a number, or one number of at least 0 per step.")
    return Tensor(table.astype(np.float32))


def _order_apart(parameters: Any) -> tuple[list[Any], list[Any] | None]:
    """The groups, and what ``{"order_params": [...]}`` says about the order of all Parameters, and so of gradients."""
    if isinstance(parameters, (Tensor, str)) or not isinstance(parameters, Iterable):
        way = "; pass net.trainable_params()" if isinstance(parameters, Cell) else ""
        error = AttributeValueError if parameters is None else TypeError
        raise error(f"an optimizer takes a list of Parameters or of dicts, not {type(parameters).__name__}{way}.")
    groups: list[Any] = []
    order = None
    for g in parameters:
        if isinstance(g, dict) and "order_params" in g and "params" not in g:
            order = list(g["order_params"])
        else:
            groups.append(g)
    return groups, order


def _in_order(pairs: list[tuple[Any, int]], order: list[Any]) -> list[tuple[Any, int]]:
    group_of = {id(p): i for p, i in pairs}
    if sorted(map(id, order)) != sorted(map(id, (p for p, _ in pairs))):
        strange = next((getattr(p, "name", p) for p in order if id(p) not in group_of), None)
        lack = "a Parameter is missing or twice" if strange is None else f"{strange} is in no group"
        raise AttributeValueError(
            f"order_params must name every Parameter of the groups once: {lack}.",
            hint='{"order_params": net.trainable_params()} makes the order that of the network.',
        )
    return [(p, group_of[id(p)]) for p in order]


def _groups(groups: list[Any]) -> list[Any]:
    # a list of Parameters, or one of groups, which are dicts; never both
    kinds = {isinstance(g, dict) for g in groups}
    if not groups:
        raise AttributeValueError(
            "For 'Optimizer', the argument parameters must not be empty: it needs at least one Parameter.",
            hint="pass net.trainable_params(); a Parameter counts when it is an attribute of the network.",
        )
    if len(kinds) != 1:
        raise AttributeValueError("an optimizer takes Parameters or dicts of them; in one list the two do not mix.")
    for g in groups:
        if isinstance(g, dict):
            _check_group(g)
        elif not isinstance(g, Parameter):
            raise TypeError(f"an optimizer takes Parameters, not {type(g).__name__}; pass net.trainable_params().")
    return [{**g, "params": list(g["params"])} if isinstance(g, dict) else g for g in groups]


def _numbered(groups: list[Any]) -> list[tuple[Parameter, int]]:
    """Every Parameter with the number of its entry: a group, or the Parameter alone."""
    return [(p, i) for i, g in enumerate(groups) for p in (g["params"] if isinstance(g, dict) else [g])]


def _check_group(group: dict[str, Any]) -> None:
    for key in group:
        if key not in _GROUP_KEYS:
            raise KeyError(f"a parameter group has no key {key!r}; legal: {', '.join(_GROUP_KEYS)}.")
    params: Sequence[Any] = list(group.get("params", ()))
    group["params"] = params
    if not params or not all(isinstance(p, Parameter) for p in params):
        raise TypeError('a parameter group needs "params": a list of at least one Parameter.')


def _group(group: dict[str, Any]) -> ParamGroup:
    rate = None if group.get("lr") is None else as_rate("lr", group["lr"])
    decay = None if group.get("weight_decay") is None else as_rate("weight_decay", group["weight_decay"])
    return ParamGroup(rate, decay, bool(group.get("grad_centralization", False)))


def _need_distinct(parameters: Sequence[Parameter]) -> None:
    seen: set[int] = set()
    for p in parameters:
        if id(p) in seen:
            raise ValueError(f"the parameter {p.name} was given twice.")
        seen.add(id(p))
