"""Loss scaling: half precision loses small gradients, so the loss is multiplied before the backward pass.

    float16 holds 6e-8 .. 65504; gradients of 1e-9 are zero in it, and 1024 times as much is not

    scaled loss = scale * loss     gradients / scale --> finite? --yes--> optimizer        n good steps: scale * factor
                                                              `---no---> nothing changes               scale / factor

The scale is a Parameter and the decision an ``if`` over a tensor, so in graph mode the whole of it is part of the
compiled step. bfloat16 has the range of float32 and needs none of this.
Source: Micikevicius et al., "Mixed Precision Training", 2018, arXiv:1710.03740.
"""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.api.transforms.gradients import value_and_grad
from msnb.base import ArgumentError, AttributeValueError, get_context
from msnb.core import Parameter, Tensor, dtypes, pytree
from msnb.nn.cells import Cell, like_mindspore
from msnb.nn.training.training_cells import TrainOneStepCell
from msnb.parallel.context import STAND_ALONE

__all__ = ["DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell", "TrainOneStepWithLossScaleCell"]


def all_finite(inputs: Any) -> Tensor:
    """Whether a tree of tensors holds no infinity and no NaN.

    Args:
        inputs: a tensor, or tuples, lists, dicts of tensors; ints count as finite.

    Returns:
        A 0-d bool tensor.

    Raises:
        TypeError: there is no tensor in it.

    Source: `mindspore.amp.all_finite`

    Examples:
        >>> import msnb as ms
        >>> bool(ms.amp.all_finite([ms.Tensor([1.0]), ms.Tensor([float("inf")])]))
        False
    """
    found = [x for x in pytree.flatten(inputs)[0] if isinstance(x, Tensor)]
    if not found:
        raise ArgumentError(f"all_finite takes tensors, got {type(inputs).__name__}.", hint="pass the gradients.")
    finite = [ops.all(ops.isfinite(x)) for x in found if x.dtype.differentiable]
    if not finite:
        return Tensor(True)
    result = finite[0]
    for each in finite[1:]:
        result = ops.logical_and(result, each)
    return result


def scaled(value: Any, factor: Any) -> Any:
    """A tree of tensors times a 0-d float32 tensor, each product in the dtype of its tensor."""
    if isinstance(value, Tensor):
        return value * factor.astype(value.dtype) if value.dtype.is_float else value
    leaves, shape = pytree.flatten(value)
    return pytree.unflatten(shape, [scaled(x, factor) if isinstance(x, Tensor) else x for x in leaves])


def need_scale(what: str, value: Any, low: float = 0.0) -> float:
    """A number above ``low``.

    Raises:
        TypeError: not a number. ValueError: not above ``low``.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(f"{what} must be a number, got {value!r}.")
    if not value > low:
        raise AttributeValueError(f"{what} must be above {low:g}, got {value!r}.")
    return float(value)


def need_window(what: str, value: Any) -> int:
    """A number of steps of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise AttributeValueError(f"{what} must be an int of at least 1, got {value!r}.")
    return value


def adjust_scale(scale: Parameter, good_steps: Parameter, overflow: Any, factor: float, window: int) -> None:
    """The scale after a step: smaller, 1 at least, after an overflow; larger (finite) after ``window`` good steps."""
    good = good_steps + 1
    after, again = _scale_after(scale, good, overflow, factor, window)
    ops.assign(scale, after)
    ops.assign(good_steps, ops.where(again, 0, good))


def _scale_after(scale: Any, good: Any, overflow: Any, factor: float, window: int) -> tuple[Any, Any]:
    """The scale after ``good`` steps, and whether they are counted anew."""
    grow = good >= window
    less = ops.maximum(scale / factor, 1.0)
    more = scale * factor
    larger = ops.where(ops.logical_and(grow, ops.isfinite(more)), more, scale)
    return ops.where(overflow, less, larger), ops.logical_or(overflow, grow)


class FixedLossScaleUpdateCell(Cell):
    """A scale that stays; steps that overflow are left out.

    Args:
        loss_scale_value: the scale.

    Source: `mindspore.nn.FixedLossScaleUpdateCell`
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self.loss_scale_value: float = need_scale("loss_scale_value", loss_scale_value)

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, _loss_scale: Any, overflow: Any) -> Any:
        return overflow


class DynamicLossScaleUpdateCell(Cell):
    """A scale that shrinks after an overflow and grows after ``scale_window`` steps without one.

    Args:
        loss_scale_value: the first scale.
        scale_factor: what it is divided and multiplied by.
        scale_window: steps without overflow until it grows.

    Source: `mindspore.nn.DynamicLossScaleUpdateCell`

    Examples:
        >>> import msnb as ms
        >>> update = ms.nn.DynamicLossScaleUpdateCell(8.0, 2, 1000)
        >>> scale = ms.Parameter(ms.Tensor(8.0), name="scale")
        >>> _ = update(scale, ms.Tensor(True))
        >>> float(scale)
        4.0
    """

    cur_iter: Parameter

    def __init__(self, loss_scale_value: float, scale_factor: float, scale_window: int) -> None:
        super().__init__()
        self.loss_scale_value: float = need_scale("loss_scale_value", loss_scale_value)
        self.scale_factor: float = need_scale("scale_factor", scale_factor, 1.0)
        self.scale_window: int = need_window("scale_window", scale_window)
        self._counts_all = like_mindspore()
        if self._counts_all:
            self.cur_iter = Parameter(Tensor(1, dtypes.int32), name="current_iterator_step", requires_grad=False)
            self.last_overflow_iter: Parameter = Parameter(
                Tensor(0, dtypes.int32), name="last_overflow_iterator_step", requires_grad=False
            )
        else:
            self.good_steps: Parameter = Parameter(Tensor(0, dtypes.int32), name="good_steps", requires_grad=False)

    def get_loss_scale(self) -> float:
        """The first scale."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        if not self._counts_all:
            adjust_scale(loss_scale, self.good_steps, overflow, self.scale_factor, self.scale_window)
            return overflow
        good = self.cur_iter - self.last_overflow_iter
        scale, again = _scale_after(loss_scale, good, overflow, self.scale_factor, self.scale_window)
        ops.assign(loss_scale, scale)
        ops.assign(self.last_overflow_iter, ops.where(again, self.cur_iter, self.last_overflow_iter))
        ops.assign(self.cur_iter, self.cur_iter + 1)
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """One step of training with a scaled loss; a step that overflows changes nothing but the scale.

    Args:
        network: gives the loss.
        optimizer: the optimizer of its weights.
        scale_sense: an update cell (fixed or dynamic), or a 0-d tensor with the scale.

    Returns (of a call):
        The loss, whether the step overflowed (bool), the scale that was used.

    Raises:
        TypeError: a part is not what it should be.

    Source: `mindspore.nn.TrainOneStepWithLossScaleCell`

    Examples:
        >>> import msnb as ms
        >>> net = ms.nn.WithLossCell(ms.nn.Dense(2, 1), ms.nn.MSELoss())
        >>> update = ms.nn.DynamicLossScaleUpdateCell(1024.0, 2, 100)
        >>> step = ms.nn.TrainOneStepWithLossScaleCell(net, ms.nn.SGD(net.trainable_params(), 0.1), update)
        >>> loss, overflow, scale = step(ms.ops.ones((4, 2)), ms.ops.ones((4, 1)))
        >>> bool(overflow), float(scale)
        (False, 1024.0)
    """

    def __init__(self, network: Cell, optimizer: Any, scale_sense: Any) -> None:
        super().__init__(network, optimizer)
        self.loss_scaling_manager: Cell | None = scale_sense if isinstance(scale_sense, Cell) else None
        first, axes = self._first_scale(scale_sense), getattr(scale_sense, "shape", ())
        scale = ops.full(axes, first, dtype=dtypes.float32)
        self.scale_sense: Parameter = Parameter(scale, name="scale_sense", requires_grad=False)
        self.grad_fn: Any = value_and_grad(self._scaled_loss, None, optimizer.parameters, has_aux=True)
        self.is_distributed: bool = self.parallel_mode != STAND_ALONE
        self.gpu_target: bool = get_context("device_target") == "GPU"
        self.base: Tensor = Tensor(1.0)

    def _first_scale(self, given: Any) -> float:
        if hasattr(given, "get_loss_scale"):
            return float(given.get_loss_scale())
        if isinstance(given, Tensor) and given.size == 1:
            return need_scale("scale_sense", float(given.item()))
        raise ArgumentError(
            f"scale_sense must be an update cell or a tensor with one number, got {type(given).__name__}.",
            hint="for instance nn.DynamicLossScaleUpdateCell(2**16, 2, 1000).",
        )

    def _scaled_loss(self, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        return scaled(loss, self.scale_sense.reshape(())), loss

    def construct(self, *inputs: Any) -> Any:
        scale = self.scale_sense * 1.0
        (_, loss), grads = self.grad_fn(*inputs)
        grads = self.grad_reducer(scaled(grads, 1.0 / scale.reshape(())))  # an overflow on one rank is then on all
        overflow = ops.logical_not(all_finite(grads))
        if not self.process_loss_scale(overflow):
            self.optimizer(grads)
        return loss, overflow, scale

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> tuple[Tensor, Any]:
        """Begin to look for an overflow: where it is seen in the numbers, as here, nothing needs to be cleared before.

        Args:
            pre_cond: a tensor that is to be there before, for instance the loss.
            compute_input: what the gradients are computed from.

        Returns:
            The status for ``get_overflow_status``, int32 (8,); ``compute_input``.
        """
        return ops.depend(ops.zeros(8, dtypes.int32), pre_cond), compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Tensor:
        """Whether the gradients hold an infinity or a NaN, on any rank.

        Args:
            status: the first of what ``start_overflow_check`` gave.
            compute_output: a tensor or a tree of them.

        Returns:
            A 0-d bool tensor.
        """
        overflow = ops.logical_not(ops.depend(all_finite(compute_output), status))
        if getattr(self.grad_reducer, "together", False):
            overflow = ops.all_reduce(overflow.astype(dtypes.float32)) > 0
        return overflow

    def process_loss_scale(self, overflow: Any) -> Any:
        """Let the scale follow; returns ``overflow``."""
        if self.loss_scaling_manager is not None:
            return self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow

    def set_sense_scale(self, sens: Any) -> None:
        """Another scale, for a step made with a tensor.

        Raises:
            TypeError: the scale is managed by an update cell, or ``sens`` is not one number.
        """
        if self.loss_scaling_manager is not None:
            raise ArgumentError("this step's scale is managed by its update cell.", hint="make it with a Tensor.")
        self.scale_sense.set_data(ops.full(self.scale_sense.shape, self._first_scale(sens), dtype=dtypes.float32))
