"""The methods of ``mindspore.experimental.optim``, with PyTorch's names and settings.

    g  <-  -g if maximize, + weight_decay p                        t: steps with this one

    SGD       v <- momentum v + (1 - dampening) g (g at first)     p <- p - lr v, or p - lr (g + momentum v) (nesterov)
    Adam      m, s: means of g, g^2                           p <- p - lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt s + e)
    AdamW     p <- (1 - lr weight_decay) p                    p <- p - lr / (1 - b1^t) m / (sqrt(s / (1 - b2^t)) + e)
    Adadelta  a: mean of g^2, d <- sqrt((b + e) / (a + e)) g       p <- p - lr d;  b: mean of d^2
    Adagrad   h <- h + g^2                                         p <- p - lr / (1 + (t - 1) lr_decay) g / (sqrt h + e)
    Adamax    u <- max(b2 u, |g| + e)                              p <- p - lr / (1 - b1^t) m / u
    ASGD      p <- (1 - lambd eta) p - eta g                       ax: the mean of p behind step t0
    NAdam     Adam one step ahead (Dozat 2016)                     RAdam: Adam once its variance is known (Liu 2020)
    RMSprop   s: mean of g^2, without (mean g)^2 if centered       p <- p - lr g / (sqrt s + e), with momentum
    Rprop     a size per number, changed by signs of g alone       p <- p - sign(g) size

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.experimental.html; https://docs.pytorch.org/docs/stable/optim.html
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import Parameter, ParameterTuple, dtypes
from msnb.optim.experimental.grouped_optimizer import GroupedMethod
from msnb.optim.gradient_steps import correction, with_decay

__all__ = ["ASGD", "SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "NAdam", "RAdam", "RMSprop", "Rprop"]

_MOMENTS = MappingProxyType({"exp_avg": 0.0, "exp_avg_sq": 0.0})


def need_nesterov(momentum: float, dampening: float, nesterov: bool) -> None:
    """Raises ValueError: looking ahead needs a momentum, and all of the gradient."""
    if nesterov and (momentum == 0 or dampening != 0):
        raise AttributeValueError("SGD(nesterov=True) needs a momentum above 0 and dampening=0.")


class SGD(GroupedMethod):
    """Gradient descent with momentum.

    Args:
        params: Parameters, or dicts of them with settings of their own.
        lr: learning rate.
        momentum: how much of the last step is kept.
        dampening: how much less than the whole gradient enters the momentum.
        weight_decay: L2 factor, added to the gradient.
        nesterov: look one step ahead.
        maximize: climb.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> from msnb.experimental import optim
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = optim.SGD([w], lr=0.5)((ms.Tensor([1.0]),))
        >>> w.tolist()
        [0.5]
    """

    states: ClassVar[Mapping[str, float | str]] = MappingProxyType({"accum": 0.0, "stat": 1.0})
    accum: ParameterTuple
    stat: ParameterTuple

    def __init__(
        self, params: Any, lr: Any, momentum: float = 0, dampening: float = 0, weight_decay: float = 0.0,
        nesterov: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        need_nesterov(momentum, dampening, nesterov)
        super().__init__(params, {
            "lr": lr, "momentum": float(momentum), "dampening": float(dampening), "weight_decay": weight_decay,
            "nesterov": nesterov, "maximize": maximize, "grad_centralization": False,
        })  # fmt: skip

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        group = self.settings_of(i)
        momentum = group["momentum"]
        if momentum:
            entering = grad * (1.0 - group["dampening"]) if group["dampening"] else grad
            v = ops.where(self.stat[i] > 0, grad, self.accum[i] * momentum + entering)
            ops.assign(self.stat[i], ops.zeros_like(self.stat[i]))
            ops.assign(self.accum[i], v)
            grad = grad + v * momentum if group["nesterov"] else v
        ops.assign(param, param - grad * rate)


class MomentsMethod(GroupedMethod):
    """The running means of the gradient and of its square."""

    states: ClassVar[Mapping[str, float | str]] = _MOMENTS
    exp_avg: ParameterTuple
    exp_avg_sq: ParameterTuple

    def shared(self, group: Any, t: Any) -> Any:
        """(1 - b1^t, 1 - b2^t)."""
        return tuple(correction(beta, t) for beta in group["betas"])

    def follow(self, i: int, grad: Any) -> tuple[Any, Any]:
        """Let the means of Parameter number ``i`` follow its gradient."""
        one, two = self.settings_of(i)["betas"]
        m = self.exp_avg[i] * one + grad * (1.0 - one)
        s = self.exp_avg_sq[i] * two + ops.square(grad) * (1.0 - two)
        ops.assign(self.exp_avg[i], m)
        ops.assign(self.exp_avg_sq[i], s)
        return m, s


class _Adam(MomentsMethod):
    states: ClassVar[Mapping[str, float | str]] = MappingProxyType({**_MOMENTS, "max_exp_avg_sq": 0.0})
    max_exp_avg_sq: ParameterTuple
    step_name = "state_step"

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, amsgrad: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad,
            "maximize": maximize,
        })  # fmt: skip

    def largest(self, i: int) -> Parameter:
        """The largest mean square of Parameter number ``i`` so far."""
        return self.max_exp_avg_sq[i]

    def moments(self, i: int, grad: Any) -> tuple[Any, Any]:
        """The means, that of the squares the largest so far if the group asks for it (amsgrad)."""
        m, s = self.follow(i, grad)
        if self.settings_of(i)["amsgrad"]:
            largest = self.largest(i)
            s = ops.maximum(largest, s)
            ops.assign(largest, s)
        return m, s

    def corrected(self, i: int, grad: Any, common: Any) -> Any:
        """m / (1 - b1^t) / (sqrt(s / (1 - b2^t)) + eps)."""
        m, s = self.moments(i, grad)
        group = self._group_of[i]
        one, two = (ops.cast(c, s.dtype) for c in common[group])
        return m / one / (ops.sqrt(s / two) + dtypes.guard(self.param_groups[group]["eps"], s.dtype))


class Adam(_Adam):
    """Adam, with MindSpore's place for eps: beside the root before it is corrected by t.

    Args:
        params: Parameters, or dicts of them with settings of their own.
        lr: learning rate.
        betas: decay of the means of the gradient and of its square, from 0 to below 1.
        eps: added to the root of the mean square.
        weight_decay: L2 factor, added to the gradient.
        amsgrad: divide by the largest mean square so far. MindSpore takes the word and does not do it.
        maximize: climb.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> from msnb.experimental import optim
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = optim.Adam([w], lr=0.5)((ms.Tensor([3.0]),))
        >>> round(float(w), 4)
        0.5
    """

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        group = self._group_of[i]
        one, two = common[group]
        m, s = self.moments(i, grad)
        scale = ops.cast(ops.sqrt(two) / one * rate, param.dtype)
        ops.assign(param, param - m * scale / (ops.sqrt(s) + dtypes.guard(self.param_groups[group]["eps"], s.dtype)))


class AdamW(_Adam):
    """Adam with decoupled weight decay, as in PyTorch.

    Args:
        params: Parameters, or dicts of them with settings of their own.
        lr, betas, eps, amsgrad, maximize: as in ``Adam``.
        weight_decay: share of the Parameter that a step takes away, times the learning rate.

    Raises:
        ValueError: a setting outside its range.

    Examples:
        >>> import msnb as ms
        >>> from msnb.experimental import optim
        >>> w = ms.Parameter([1.0], name="w")
        >>> _ = optim.AdamW([w], lr=0.1, weight_decay=0.5)((ms.Tensor([2.0]),))
        >>> round(float(w), 4)
        0.85
    """

    decay_in_gradient = False

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 1e-2, amsgrad: bool = False, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, maximize=maximize)

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        ops.assign(param, param - with_decay(self.corrected(i, grad, common), param, decay) * rate)


class Adadelta(GroupedMethod):
    """Steps in the units of the Parameter.

    Args:
        params: Parameters, or dicts of them with settings of their own.
        lr: factor of the steps.
        rho: how much of the mean squares a step keeps.
        eps: added under both roots.
        weight_decay: L2 factor, added to the gradient.
        maximize: climb.

    Raises:
        ValueError: a setting outside its range.
    """

    strict = True
    states: ClassVar[Mapping[str, float | str]] = MappingProxyType({"accum": 0.0, "accum_update": 0.0})
    accum: ParameterTuple
    accum_update: ParameterTuple

    def __init__(
        self, params: Any, lr: Any = 1.0, rho: float = 0.9, eps: float = 1e-6, weight_decay: float = 0.0, *,
        maximize: bool = False,
    ) -> None:  # fmt: skip
        if rho > 1.0:
            raise AttributeValueError(f"Adadelta: rho must be from 0 to 1, got {rho}.")
        defaults = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, defaults)

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        group = self.settings_of(i)
        rho, eps = group["rho"], dtypes.guard(group["eps"], grad.dtype)
        square = self.accum[i] * rho + ops.square(grad) * (1.0 - rho)
        step = ops.sqrt(self.accum_update[i] + eps) * ops.rsqrt(square + eps) * grad
        ops.assign(self.accum[i], square)
        ops.assign(self.accum_update[i], self.accum_update[i] * rho + ops.square(step) * (1.0 - rho))
        ops.assign(param, param - step * rate)


class Adagrad(GroupedMethod):
    """Steps that shrink where gradients have been large.

    Args:
        params: Parameters, or dicts of them with settings of their own.
        lr: learning rate.
        lr_decay: how much the rate shrinks with every step.
        weight_decay: L2 factor, added to the gradient.
        initial_accumulator_value: first value of the sums of squares.
        eps: added to their roots.
        maximize: climb.

    Raises:
        ValueError: a setting outside its range.
    """

    strict = True
    step_name = "step_t"
    states: ClassVar[Mapping[str, float | str]] = MappingProxyType({"accum": "initial_accumulator_value"})
    accum: ParameterTuple

    def __init__(
        self, params: Any, lr: Any = 1e-2, lr_decay: float = 0.0, weight_decay: float = 0.0,
        initial_accumulator_value: float = 0.0, eps: float = 1e-10, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "maximize": maximize,
        })  # fmt: skip

    def shared(self, group: Any, t: Any) -> Any:
        """1 + (t - 1) lr_decay."""
        return 1.0 + (t - 1.0) * group["lr_decay"]

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        total = self.accum[i] + ops.square(grad)
        ops.assign(self.accum[i], total)
        scale = ops.cast(rate / common[self._group_of[i]], param.dtype)
        root = ops.sqrt(total) + dtypes.guard(self.settings_of(i)["eps"], grad.dtype)
        ops.assign(param, param - grad * scale / root)


class Adamax(GroupedMethod):
    """Adam with the largest gradient so far in place of the mean square; arguments as in ``Adam``."""

    strict = True
    step_name = "step_t"
    states: ClassVar[Mapping[str, float | str]] = MappingProxyType({"exp_avg": 0.0, "exp_inf": 0.0})
    exp_avg: ParameterTuple
    exp_inf: ParameterTuple

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, *, maximize: bool = False,
    ) -> None:  # fmt: skip
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, defaults)

    def shared(self, group: Any, t: Any) -> Any:
        """1 - b1^t."""
        return correction(group["betas"][0], t)

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        group = self.settings_of(i)
        one, two = group["betas"]
        m = self.exp_avg[i] * one + grad * (1.0 - one)
        u = ops.maximum(self.exp_inf[i] * two, ops.abs(grad) + dtypes.guard(group["eps"], grad.dtype))
        ops.assign(self.exp_avg[i], m)
        ops.assign(self.exp_inf[i], u)
        ops.assign(param, param - m / u * ops.cast(rate / common[self._group_of[i]], param.dtype))


class ASGD(GroupedMethod):
    """Averaged gradient descent (Polyak and Juditsky 1992): ``ax`` holds the mean of the Parameters.

    Args:
        params: Parameters, or dicts of them with settings of their own.
        lr: first learning rate.
        lambd: decay of the Parameters.
        alpha: power by which the rate falls.
        t0: the step behind which the mean begins.
        weight_decay: L2 factor, added to the gradient.
        maximize: climb.

    Raises:
        TypeError: ``lambd`` or ``t0`` is no float. ValueError: a setting outside its range.
    """

    strict = True
    step_name = "step_t"
    scalars: ClassVar[Mapping[str, float]] = MappingProxyType({"mu": 1.0, "eta": 0.0})
    states: ClassVar[Mapping[str, float | str]] = MappingProxyType({"ax": 0.0})
    mu: ParameterTuple
    eta: ParameterTuple
    ax: ParameterTuple

    def __init__(
        self, params: Any, lr: Any = 1e-2, lambd: float = 1e-4, alpha: float = 0.75, t0: float = 1e6,
        weight_decay: float = 0.0, maximize: bool = False,
    ) -> None:  # fmt: skip
        for what, value in (("lambd", lambd), ("t0", t0)):
            if not isinstance(value, float):
                raise TypeError(f"ASGD: {what} must be a float, got {value!r}.")
        super().__init__(params, {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "maximize": maximize,
        })  # fmt: skip

    def shared(self, group: Any, t: Any) -> Any:
        """t."""
        return t

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        group, t, mu = self.settings_of(i), common[self._group_of[i]], self.mu[i]
        eta = ops.where(t == 1.0, rate, self.eta[i])
        new = ops.cast(param * (1.0 - group["lambd"] * eta) - eta * grad, param.dtype)
        ops.assign(param, new)
        mean = ops.cast((new - self.ax[i]) * mu, param.dtype)
        ops.assign(self.ax[i], ops.where(mu == 1.0, new, self.ax[i] + mean))
        ops.assign(self.eta[i], rate / ops.pow(1.0 + group["lambd"] * rate * t, group["alpha"]))
        ops.assign(self.mu[i], 1.0 / ops.maximum(t - group["t0"], 1.0))


class NAdam(MomentsMethod):
    """Adam with Nesterov's look ahead.

    Args:
        params: Parameters, or dicts of them with settings of their own.
        lr, betas, eps, weight_decay: as in ``Adam``.
        momentum_decay: how fast the momentum comes to the first beta.

    Raises:
        ValueError: a setting outside its range.
    """

    strict = True
    step_name = "step_t"
    scalars: ClassVar[Mapping[str, float]] = MappingProxyType({"mu_product": 1.0})
    mu_product: ParameterTuple

    def __init__(
        self, params: Any, lr: Any = 2e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0, momentum_decay: float = 4e-3,
    ) -> None:  # fmt: skip
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
        })  # fmt: skip

    def shared(self, group: Any, t: Any) -> Any:
        """(1 - b2^t, the momentum now, the next one)."""
        one, two = group["betas"]
        now, later = (one * (1.0 - 0.5 * ops.pow(0.96, when * group["momentum_decay"])) for when in (t, t + 1.0))
        return correction(two, t), now, later

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        two, now, later = common[self._group_of[i]]
        product = self.mu_product[i] * now
        ops.assign(self.mu_product[i], product)
        m, s = self.follow(i, grad)
        root = ops.sqrt(s / ops.cast(two, s.dtype)) + dtypes.guard(self.settings_of(i)["eps"], s.dtype)
        ahead = ops.cast(rate * (1.0 - now) / (1.0 - product), s.dtype) * grad
        ops.assign(param, param - (ahead + ops.cast(rate * later / (1.0 - product * later), s.dtype) * m) / root)


class RAdam(MomentsMethod):
    """Adam that leaves the division out while the variance of its mean square is unknown; arguments as in ``Adam``."""

    strict = True
    step_name = "step_t"

    def __init__(
        self, params: Any, lr: Any = 1e-3, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    def shared(self, group: Any, t: Any) -> Any:
        """(1 - b1^t, 0 while the variance is unknown, else its factor times sqrt(1 - b2^t))."""
        one, two = group["betas"]
        rest = correction(two, t)
        last = 2.0 / (1.0 - two) - 1.0
        rho = last - 2.0 * t * (1.0 - rest) / rest
        known = ops.maximum(rho, 5.0)
        factor = ops.sqrt((known - 4.0) * (known - 2.0) * last / ((last - 4.0) * (last - 2.0) * known))
        return correction(one, t), ops.where(rho > 5.0, factor * ops.sqrt(rest), 0.0)

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        one, factor = common[self._group_of[i]]
        m, s = self.follow(i, grad)
        root = ops.sqrt(s) + dtypes.guard(self.settings_of(i)["eps"], s.dtype)
        divided = ops.where(factor > 0.0, ops.cast(factor, s.dtype) / root, 1.0)
        ops.assign(param, param - m * ops.cast(rate / one, s.dtype) * divided)


class RMSprop(GroupedMethod):
    """Steps over the root of the mean square.

    Args:
        params: Parameters, or dicts of them with settings of their own.
        lr: learning rate.
        alpha: how much of the mean square a step keeps.
        eps: added to its root.
        weight_decay: L2 factor, added to the gradient.
        momentum: how much of the last step is kept.
        centered: subtract the square of the mean gradient.
        maximize: climb.

    Raises:
        ValueError: a setting outside its range.
    """

    strict = True
    states: ClassVar[Mapping[str, float | str]] = MappingProxyType(
        {"mean_grad": 0.0, "mean_square": 0.0, "moment": 0.0}
    )
    mean_grad: ParameterTuple
    mean_square: ParameterTuple
    moment: ParameterTuple

    def __init__(
        self, params: Any, lr: Any = 1e-2, alpha: float = 0.99, eps: float = 1e-8, weight_decay: float = 0.0,
        momentum: float = 0.0, centered: bool = False, maximize: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered,
            "weight_decay": weight_decay, "maximize": maximize,
        })  # fmt: skip

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        group = self.settings_of(i)
        alpha = group["alpha"]
        square = self.mean_square[i] * alpha + ops.square(grad) * (1.0 - alpha)
        ops.assign(self.mean_square[i], square)
        if group["centered"]:
            mean = self.mean_grad[i] * alpha + grad * (1.0 - alpha)
            ops.assign(self.mean_grad[i], mean)
            square = square - ops.square(mean)
        step = grad / (ops.sqrt(square) + dtypes.guard(group["eps"], grad.dtype))
        if group["momentum"] > 0:
            step = self.moment[i] * group["momentum"] + step
            ops.assign(self.moment[i], step)
        ops.assign(param, param - step * rate)


class Rprop(GroupedMethod):
    """Steps of a size per number, which only the signs of gradients change.

    Args:
        params: Parameters, or dicts of them with settings of their own.
        lr: the first size of all steps.
        etas: what a size is multiplied by when the sign changes (below 1) and while it stays (above 1).
        step_sizes: the smallest and the largest size.
        maximize: climb.

    Raises:
        ValueError: a setting outside its range.
    """

    strict = True
    decay_in_gradient = False
    step_name = "step_t"
    states: ClassVar[Mapping[str, float | str]] = MappingProxyType({"prev": 0.0, "step_size": 0.0})
    prev: ParameterTuple
    step_size: ParameterTuple

    def __init__(
        self, params: Any, lr: Any = 1e-2, etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50), *, maximize: bool = False,
    ) -> None:  # fmt: skip
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise AttributeValueError(f"Rprop: etas are a number below 1 and one above 1, got {etas!r}.")
        super().__init__(params, {"lr": lr, "etas": etas, "step_sizes": step_sizes, "maximize": maximize})

    def shared(self, group: Any, t: Any) -> Any:
        """t."""
        return t

    def update(self, i: int, param: Parameter, grad: Any, rate: Any, decay: Any, common: Any) -> None:
        """One step of one Parameter."""
        group = self.settings_of(i)
        less, more = group["etas"]
        size = ops.where(common[self._group_of[i]] == 1.0, ops.cast(rate, param.dtype), self.step_size[i])
        same = grad * self.prev[i]
        factor = ops.where(same > 0, more, ops.where(same < 0, less, 1.0))
        size = ops.clip(size * ops.cast(factor, param.dtype), *map(float, group["step_sizes"]))
        grad = ops.where(same < 0, 0.0, grad)
        ops.assign(self.step_size[i], size)
        ops.assign(self.prev[i], grad)
        ops.assign(param, param - ops.sign(grad) * size)
