"""FTRL, ProximalAdagrad, AdaFactor and ASGD, and two old names of Adam.

    FTRL             h: sum of g^2, z <- z + g - (h^-power difference) / rate p;  p from z, h, l1, l2 (McMahan 2013)
    ProximalAdagrad  h <- h + g^2, p <- p - rate g / sqrt(h), then drawn to 0 by l1 and l2 (Duchi and Singer 2009)
    AdaFactor        u <- g / sqrt(v), v: mean of g^2, of a matrix its rows and columns alone (Shazeer and Stern 2018)
                     u <- u / max(1, rms(u) / clip_threshold),  p <- p - rate max(eps2, rms(p)) u
    ASGD             p <- (1 - lambd eta) p - eta g, and the mean of p behind step t0 (Polyak and Juditsky 1992)

Source: `mindspore.nn.AdaFactor` and its neighbours
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import Parameter, ParameterTuple, Tensor, dtypes
from msnb.nn.cells.cell import Cell
from msnb.optim.adam import Adam
from msnb.optim.gradient_steps import with_decay
from msnb.optim.lr_schedules import positive, share
from msnb.optim.optimizer import Optimizer

__all__ = ["ASGD", "FTRL", "AdaFactor", "AdamOffload", "LazyAdam", "ProximalAdagrad"]


class LazyAdam(Adam):
    """Adam; MindSpore's updates rows of sparse gradients alone, gradients here are dense. Arguments as in ``Adam``."""

    def __init__(
        self, params: Any, learning_rate: Any = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8,
        use_locking: bool = False, use_nesterov: bool = False, weight_decay: Any = 0.0, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__(
            params, learning_rate, beta1, beta2, eps, use_locking, use_nesterov, weight_decay, loss_scale
        )  # fmt: skip


class AdamOffload(LazyAdam):
    """Adam whose state lies on the host, where all state of the CPU lies in any case. Arguments as in ``Adam``."""


class FTRL(Optimizer):
    """Follow the regularized leader: steps that leave many weights 0.

    Args:
        params: Parameters or groups.
        initial_accum: first value of the sum of squares.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        lr_power: how the rate falls with the sum of squares, at most 0.
        l1, l2: how strongly weights are drawn to 0, by their size and by its square.
        use_locking: for MindSpore's signature.
        loss_scale: gradients are divided by it.
        weight_decay: L2 factor, added to the gradient.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.FTRL([w], learning_rate=0.5, l1=100.0)([ms.Tensor([3.0])])
        >>> w.tolist()
        [0.0]
    """

    def __init__(
        self, params: Any, initial_accum: float = 0.1, learning_rate: Any = 0.001, lr_power: float = -0.5,
        l1: float = 0.0, l2: float = 0.0, use_locking: bool = False, loss_scale: float = 1.0, weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._tell_locking(use_locking)
        if isinstance(lr_power, bool) or not isinstance(lr_power, (int, float)) or lr_power > 0:
            raise AttributeValueError(f"FTRL: lr_power must be a number of at most 0, got {lr_power!r}.")
        self.lr_power: float = float(lr_power)
        self.l1: float = positive("l1", l1, zero=True)
        self.l2: float = positive("l2", l2, zero=True)
        self._may_decay = (True,) * len(self.parameters)
        self.moments: ParameterTuple = self.slots("moments", positive("initial_accum", initial_accum, zero=True))
        self.linear: ParameterTuple = self.slots("linear")

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        rate = ops.cast(rate, param.dtype)
        step: Any = ops.ApplyFtrl()  # type: ignore[attr-defined]
        step(param, self.moments[i], self.linear[i], grad, rate, self.l1, self.l2, self.lr_power)


class ProximalAdagrad(Optimizer):
    """Adagrad whose steps draw weights to 0.

    Args:
        params: Parameters or groups.
        accum: first value of the sum of squares.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        l1, l2: how strongly weights are drawn to 0, by their size and by its square.
        use_locking: for MindSpore's signature.
        loss_scale: gradients are divided by it.
        weight_decay: L2 factor, added to the gradient.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.ProximalAdagrad([w], accum=9.0, learning_rate=0.5)([ms.Tensor([4.0])])
        >>> round(float(w), 4)
        0.6
    """

    def __init__(
        self, params: Any, accum: float = 0.1, learning_rate: Any = 0.001, l1: float = 0.0, l2: float = 0.0,
        use_locking: bool = False, loss_scale: float = 1.0, weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay, loss_scale)
        self._tell_locking(use_locking)
        self.l1: float = positive("l1", l1, zero=True)
        self.l2: float = positive("l2", l2, zero=True)
        self.accum: ParameterTuple = self.slots("accum", positive("accum", accum, zero=True))

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        rate = ops.cast(rate, param.dtype)
        step: Any = ops.ApplyProximalAdagrad()  # type: ignore[attr-defined]
        step(param, self.accum[i], rate, self.l1, self.l2, grad)


class ASGD(Optimizer):
    """Averaged gradient descent: ``ax`` holds the mean of the Parameters.

    Args:
        params: Parameters or groups.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule.
        lambd: decay of the Parameters.
        alpha: power by which the rate falls.
        t0: the step behind which the mean begins.
        weight_decay: L2 factor, added to the gradient.

    Raises:
        TypeError: ``lambd``, ``alpha`` or ``t0`` is no float.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = ms.nn.ASGD([w], 0.5, lambd=0.0)([ms.Tensor([1.0])])
        >>> w.tolist()
        [0.5]
    """

    names_in_mindspore: ClassVar[Mapping[str, str]] = MappingProxyType({"ax": "ax_"})

    def __init__(
        self, params: Any, learning_rate: Any = 0.1, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: Any = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(learning_rate, params, weight_decay)
        for what, value in (("lambd", lambd), ("alpha", alpha), ("t0", t0)):
            if not isinstance(value, float):
                raise TypeError(f"ASGD: {what} must be a float, got {value!r}.")
        self.lambd: float = lambd
        self.alpha: float = alpha
        self.t0: float = t0
        self.mu: ParameterTuple = _scalars("mu", 1.0, self.parameters)
        self.eta: ParameterTuple = _scalars("eta", 0.0, self.parameters)
        self.ax: ParameterTuple = self.slots("ax")

    def prepare(self, step: Any) -> Any:
        """The number of this step, from 1."""
        return ops.cast(step + 1, dtypes.float32)

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        mu, wide = self.mu[i], dtypes.float32
        eta = ops.where(common == 1.0, rate, self.eta[i])
        new = ops.cast(param, wide) * (1.0 - self.lambd * eta) - eta * ops.cast(grad, wide)
        ax = ops.cast(self.ax[i], wide)
        ops.assign(param, ops.cast(new, param.dtype))
        ops.assign(self.ax[i], ops.cast(ops.where(mu == 1.0, new, ax + (new - ax) * mu), param.dtype))
        ops.assign(self.eta[i], rate / ops.pow(1.0 + self.lambd * rate * common, self.alpha))
        ops.assign(self.mu[i], 1.0 / ops.maximum(common - self.t0, 1.0))


class AdaFactor(Optimizer):
    """Adaptive steps that keep, of the mean square of a matrix, only its rows' and columns' means.

    Args:
        params: Parameters or groups.
        learning_rate: number, 0-d Tensor, list of numbers or LearningRateSchedule; None with ``relative_step``.
        eps: what is added to squares, and the least size of a Parameter.
        clip_threshold: the most that the root mean square of an update may be.
        decay_rate: the mean square keeps 1 - step ** -decay_rate.
        beta1: how much of the mean update a step keeps; None or 0: no mean is kept.
        weight_decay: share of the Parameter that a step takes away, times the learning rate.
        scale_parameter: steps are as large as the Parameter.
        relative_step: the rate is min(0.01, 1 / sqrt(step)).
        warmup_init: then it begins at 1e-6 and rises by as much with every step.
        compression: mean squares of vectors are kept in float16.
        loss_scale: gradients are divided by it.

    Raises:
        ValueError: a rate and ``relative_step``, or neither; ``warmup_init`` alone; a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> w = ms.Parameter([[1.0, 1.0]], name="w")
        >>> _ = ms.nn.AdaFactor([w], 0.5, scale_parameter=False, relative_step=False, beta1=None)([ms.ops.ones((1, 2))])
        >>> w.tolist()
        [[0.5, 0.5]]
    """

    decay_in_gradient = False
    centres_in_mindspore = False

    def __init__(
        self, params: Any, learning_rate: Any = None, eps: tuple[float, float] = (1e-30, 1e-3),
        clip_threshold: float = 1.0, decay_rate: float = 0.8, beta1: float | None = 0.9, weight_decay: float = 0.0,
        scale_parameter: bool = True, relative_step: bool = True, warmup_init: bool = False,
        compression: bool = False, loss_scale: float = 1.0,
    ) -> None:  # fmt: skip
        if (learning_rate is None) != bool(relative_step):
            raise AttributeValueError("AdaFactor takes a learning_rate, or relative_step=True makes one: one of both.")
        if warmup_init and not relative_step:
            raise AttributeValueError("AdaFactor(warmup_init=True) needs relative_step=True.")
        if not isinstance(eps, (tuple, list)) or len(eps) != 2:
            raise AttributeValueError(f"AdaFactor: eps are two numbers, got {eps!r}.")
        super().__init__(learning_rate or 0.0, params, share("weight_decay", weight_decay), loss_scale)
        self.eps: tuple[float, ...] = tuple(positive("eps", e, zero=True) for e in eps)
        self.clip_threshold: float = positive("clip_threshold", clip_threshold, zero=True)
        self.decay_rate: float = share("decay_rate", positive("decay_rate", decay_rate))
        self.beta1: float = positive("beta1", beta1 or 0.0, zero=True)
        scheduled = isinstance(learning_rate, (Cell, Tensor, list, tuple))
        self.scale_parameter: bool = bool(scale_parameter) and not scheduled
        self.relative_step: bool = bool(relative_step)
        self.warmup_init: bool = bool(warmup_init)
        self.compression: bool = compression
        self._may_decay = (True,) * len(self.parameters)
        self._make_state()

    def _make_state(self) -> None:
        self.exp_avg: Any = self.slots("exp_avg") if self.beta1 else ()
        rows, columns, wholes = [], [], []
        for p in self.parameters:
            matrix, small = p.ndim > 1, dtypes.float16 if self.compression else p.dtype
            rows.append(_zeros(f"exp_avg_sq_row_{p.name}", p.shape[:-1] if matrix else (1,), p.dtype))
            columns.append(_zeros(f"exp_avg_sq_col_{p.name}", p.shape[:-2] + p.shape[-1:] if matrix else (1,), p.dtype))
            wholes.append(_zeros(f"exp_avg_sq_{p.name}", (1,) if matrix else p.shape, p.dtype if matrix else small))
        self.exp_avg_sq_row: ParameterTuple = ParameterTuple(rows)
        self.exp_avg_sq_col: ParameterTuple = ParameterTuple(columns)
        self.exp_avg_sq: ParameterTuple = ParameterTuple(wholes)
        self.step: Parameter = _zeros("afactor_step", (1,), dtypes.float32)

    def prepare(self, step: Any) -> Any:
        """(how much the mean square keeps, the rate by the step)."""
        t = ops.cast(step + 1, dtypes.float32)
        ops.assign(self.step, ops.reshape(t, (1,)))
        most = t * 1e-6 if self.warmup_init else 1e-2
        return 1.0 - ops.pow(t, -self.decay_rate), ops.minimum(ops.rsqrt(t), most)

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        kept, relative = common
        wide, grad = ops.cast(param, dtypes.float32), ops.cast(grad, dtypes.float32)
        rate = relative if self.relative_step else rate
        if self.scale_parameter:
            rate = rate * ops.maximum(_root_mean(wide), self.eps[1])
        update = self._over_root(i, grad, ops.square(grad) + self.eps[0], kept)
        update = update / ops.maximum(_root_mean(update) / self.clip_threshold, 1.0) * rate
        if self.beta1:
            update = ops.cast(self.exp_avg[i], dtypes.float32) * self.beta1 + update * (1.0 - self.beta1)
            ops.assign(self.exp_avg[i], ops.cast(update, param.dtype))
        ops.assign(param, ops.cast(wide - with_decay(update, wide * rate, decay), param.dtype))

    def _over_root(self, i: int, grad: Any, square: Any, kept: Any) -> Any:
        """The gradient over the root of its mean square."""
        if grad.ndim < 2:
            return grad * ops.rsqrt(self._mean(self.exp_avg_sq[i], square, kept))
        row = self._mean(self.exp_avg_sq_row[i], ops.mean(square, axis=-1), kept)
        column = self._mean(self.exp_avg_sq_col[i], ops.mean(square, axis=-2), kept)
        share_of_row = row / ops.mean(row, axis=-1, keepdims=True)
        return grad * ops.rsqrt(share_of_row).expand_dims(-1) * ops.rsqrt(column).expand_dims(-2)

    def _mean(self, slot: Parameter, square: Any, kept: Any) -> Any:
        mean = ops.cast(slot, dtypes.float32) * kept + square * (1.0 - kept)
        ops.assign(slot, ops.cast(mean, slot.dtype))
        return mean


def _root_mean(x: Any) -> Any:
    return ops.sqrt(ops.mean(ops.square(x)))


def _zeros(name: str, shape: tuple[int, ...], dtype: Any) -> Parameter:
    return Parameter(Tensor(shape=shape, dtype=dtype, init=0.0), name=name, requires_grad=False)


def _scalars(prefix: str, first: float, parameters: Any) -> ParameterTuple:
    made = (Parameter(Tensor(first, dtypes.float32), name=f"{prefix}_{p.name}") for p in parameters)
    found = ParameterTuple(made)
    for p in found:
        p.requires_grad = False
    return found
