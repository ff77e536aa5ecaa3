"""MindSpore's primitives that update weights by a gradient: ``ops.ApplyMomentum``, ``ops.SparseApplyFtrl`` and kin.

A rule is a function of the states, the scalars and the gradient, in the order of the primitive's inputs, and gives the
new states. ``_updating`` writes them; ``_by_rows`` lets a rule see rows of the states only: those that ``indices``
names, gradients of equal indices summed. The formulas are those of MindSpore's documentation of each primitive.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.ops.primitive.html (Optimizer)
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import ArgumentError, ShapeError
from msnb.core import Tensor
from msnb.ops.definition.type_inference import operand_lines
from msnb.ops.elementwise.identity_and_effects import assign

Rule = Callable[..., tuple[Any, ...]]
NEEDED: Any = inspect.Parameter.empty
_LOCK = {"use_locking": False}  # one program writes a weight once: there is nothing to lock


# ---- rules: (states, scalars, gradient; attributes) -> new states ----


def _momentum(
    var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, *, use_nesterov: bool, gradient_scale: float = 1.0
) -> tuple[Any, Any]:
    grad = grad * gradient_scale if gradient_scale != 1.0 else grad
    accum = accum * momentum + grad
    return var - (grad + accum * momentum if use_nesterov else accum) * lr, accum


def _keras_momentum(var: Any, accum: Any, lr: Any, grad: Any, momentum: Any, *, use_nesterov: bool) -> tuple[Any, Any]:
    accum = accum * momentum - grad * lr
    return var + (accum * momentum - grad * lr if use_nesterov else accum), accum


def _sgd(
    var: Any, grad: Any, lr: Any, accum: Any, momentum: Any, stat: Any, *, dampening: float, weight_decay: float,
    nesterov: bool,
) -> tuple[Any, Any, Any]:  # fmt: skip
    grad = grad + weight_decay * var
    moved = ops.where(stat > 0, grad, accum * momentum + (1 - dampening) * grad)
    accum = ops.where(momentum > 0, moved, accum)
    step = ops.where(momentum > 0, grad + momentum * accum if nesterov else accum, grad)
    return var - lr * step, accum, ops.where(momentum > 0, stat * 0, stat)


def _adam(
    var: Any, m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any,
    grad: Any, *, use_nesterov: bool,
) -> tuple[Any, Any, Any]:  # fmt: skip
    rate = lr * (1 - beta2_power) ** 0.5 / (1 - beta1_power)
    m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad * grad
    step = beta1 * m + (1 - beta1) * grad if use_nesterov else m
    return var - rate * step / (ops.sqrt(v) + epsilon), m, v


def _adam_weight_decay(
    var: Any, m: Any, v: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, decay: Any, grad: Any
) -> tuple[Any, Any, Any]:
    m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad * grad
    return var - lr * (m / (ops.sqrt(v) + epsilon) + decay * var), m, v


def _amsgrad(
    var: Any, m: Any, v: Any, vhat: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any,
    epsilon: Any, grad: Any,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    rate = lr * (1 - beta2_power) ** 0.5 / (1 - beta1_power)
    m, v = beta1 * m + (1 - beta1) * grad, beta2 * v + (1 - beta2) * grad * grad
    vhat = ops.maximum(vhat, v)
    return var - rate * m / (ops.sqrt(vhat) + epsilon), m, v, vhat


def _amsgrad_of_attributes(
    var: Any, m: Any, v: Any, vhat: Any, beta1_power: Any, beta2_power: Any, lr: Any, grad: Any, *, beta1: float,
    beta2: float, epsilon: float,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    return _amsgrad(var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad)


def _ada_max(
    var: Any, m: Any, v: Any, beta1_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any
) -> tuple[Any, Any, Any]:
    m, v = beta1 * m + (1 - beta1) * grad, ops.maximum(beta2 * v, ops.abs(grad))
    return var - lr / (1 - beta1_power) * m / (v + epsilon), m, v


def _adadelta(
    var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, epsilon: Any, grad: Any
) -> tuple[Any, Any, Any]:
    accum = rho * accum + (1 - rho) * grad * grad
    step = ops.sqrt(accum_update + epsilon) * ops.rsqrt(accum + epsilon) * grad
    return var - lr * step, accum, rho * accum_update + (1 - rho) * step * step


def _adadelta_of_attributes(
    var: Any, accum: Any, accum_update: Any, lr: Any, rho: Any, grad: Any, *, epsilon: float
) -> tuple[Any, Any, Any]:
    return _adadelta(var, accum, accum_update, lr, rho, epsilon, grad)


def _adagrad(var: Any, accum: Any, lr: Any, grad: Any, *, update_slots: bool, epsilon: float = 0.0) -> tuple[Any, Any]:
    accum = accum + grad * grad if update_slots else accum
    return var - lr * grad / (ops.sqrt(accum) + epsilon), accum


def _adagrad_of_attributes(
    var: Any, accum: Any, grad: Any, *, lr: float, update_slots: bool, epsilon: float = 0.0
) -> tuple[Any, Any]:
    return _adagrad(var, accum, lr, grad, update_slots=update_slots, epsilon=epsilon)


def _adagrad_dual_averaging(
    var: Any, total: Any, squares: Any, grad: Any, lr: Any, l1: Any, l2: Any, global_step: Any
) -> tuple[Any, Any, Any]:
    total, squares = total + grad, squares + grad * grad
    kept = ops.sign(total) * ops.relu(ops.abs(total) - ops.relu(l1) * global_step)
    return -lr * kept / (l2 * global_step * lr + ops.sqrt(squares)), total, squares


def _signed(power: bool) -> Rule:
    """AddSign and PowerSign: the gradient weighs more where its sign is that of its moving mean."""

    def rule(var: Any, m: Any, lr: Any, base: Any, sign_decay: Any, beta: Any, grad: Any) -> tuple[Any, Any]:
        m = m * beta + grad * (1 - beta)
        same = sign_decay * ops.sign(grad) * ops.sign(m)
        return var - lr * (ops.exp(base * same) if power else base + same) * grad, m

    return rule


def _rms_prop(
    var: Any, mean_square: Any, moment: Any, lr: Any, grad: Any, rho: Any, momentum: Any, epsilon: Any
) -> tuple[Any, Any, Any]:
    mean_square = rho * mean_square + (1 - rho) * grad * grad
    moment = momentum * moment + lr * grad * ops.rsqrt(mean_square + epsilon)
    return var - moment, mean_square, moment


def _centered_rms_prop(
    var: Any, mean: Any, mean_square: Any, moment: Any, grad: Any, lr: Any, decay: Any, momentum: Any, epsilon: Any
) -> tuple[Any, Any, Any, Any]:
    mean, mean_square = decay * mean + (1 - decay) * grad, decay * mean_square + (1 - decay) * grad * grad
    moment = momentum * moment + lr * grad * ops.rsqrt(mean_square - mean * mean + epsilon)
    return var - moment, mean, mean_square, moment


def _centered_rms_prop_by_rows(
    var: Any, mean: Any, mean_square: Any, moment: Any, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
) -> tuple[Any, Any, Any, Any]:
    return _centered_rms_prop(var, mean, mean_square, moment, grad, lr, rho, momentum, epsilon)


def _ftrl(
    var: Any, accum: Any, linear: Any, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any, l2_shrinkage: float = 0.0
) -> tuple[Any, Any, Any]:
    new = accum + grad * grad
    shrunk = grad + 2 * l2_shrinkage * var if l2_shrinkage else grad
    linear = linear + shrunk - (ops.pow(new, -lr_power) - ops.pow(accum, -lr_power)) / lr * var
    curved = ops.pow(new, -lr_power) / lr + 2 * l2
    return ops.where(ops.abs(linear) > l1, (ops.sign(linear) * l1 - linear) / curved, 0), new, linear


def _descent(var: Any, alpha: Any, delta: Any) -> tuple[Any]:
    return (var - alpha * delta,)


def _near(var: Any, step: Any, l1: Any, l2: Any) -> Any:
    """The proximal step: shrunk towards 0 by l1 (0 if it is negative), and by l2."""
    return ops.sign(var) * ops.relu(ops.abs(var) - step * ops.relu(l1)) / (1 + step * l2)


def _proximal_descent(var: Any, alpha: Any, l1: Any, l2: Any, delta: Any) -> tuple[Any]:
    return (_near(var - alpha * delta, alpha, l1, l2),)


def _proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, grad: Any) -> tuple[Any, Any]:
    accum = accum + grad * grad
    step = lr * ops.rsqrt(accum)
    return _near(var - step * grad, step, l1, l2), accum


# ---- primitives ----


def _updating(rule: Rule, states: tuple[int, ...], all_results: bool) -> Callable[..., Any]:
    """The primitive of a rule: its states, those inputs, are written."""

    def primitive(*inputs: Any, use_locking: bool = False, **attrs: Any) -> Any:
        new = rule(*inputs, **attrs)
        written = tuple([assign(inputs[i], value).value() for i, value in zip(states, new)])
        return written if all_results else written[0]

    return primitive


def _by_rows(rule: Rule, count: int, grad_at: int, indices_at: int) -> Rule:
    """The rule for the rows that ``indices`` names; the first ``count`` inputs are states, other rows stay."""

    def sparse(*inputs: Any, **attrs: Any) -> tuple[Any, ...]:
        var, indices = inputs[0], inputs[indices_at]
        whole, named = _spread(var, inputs[grad_at], indices)
        dense = [whole if i == grad_at else x for i, x in enumerate(inputs) if i != indices_at]
        new = rule(*dense, **attrs)
        return tuple([ops.where(named, value, old) for value, old in zip(new, inputs[:count])])

    return sparse


def _spread(var: Any, grad: Any, indices: Any) -> tuple[Any, Any]:
    """(the gradient of all rows, which rows have one). Raises TypeError or ValueError for what are no rows."""
    if not (isinstance(grad, Tensor) and isinstance(indices, Tensor)):
        kinds = " and ".join(type(x).__name__ for x in (grad, indices))
        raise ArgumentError(f"the gradient of rows and its indices are tensors, not {kinds}.")
    if indices.ndim != 1 or grad.shape != (*indices.shape, *var.shape[1:]):
        operands = operand_lines(var._type, grad._type, indices._type, names=("weight", "gradient", "indices"))
        raise ShapeError("the gradient has a row like the weight's for each of its indices.", operands=operands)
    places = ops.expand_dims(indices, -1)
    whole = ops.tensor_scatter_add(ops.zeros_like(var), places, grad.astype(var.dtype))
    one = ops.ones_like(indices, dtype="int32")
    counts = ops.tensor_scatter_add(ops.zeros(var.shape[0], dtype="int32"), places, one)
    return whole, (counts > 0).reshape((-1, *(1,) * (var.ndim - 1)))


def _fused_sparse_adam(*inputs: Any, use_nesterov: bool) -> tuple[Any, ...]:
    """Adam on all rows; the gradient is zero where ``indices`` names none."""
    *states_and_scalars, grad, indices = inputs
    whole = _spread(inputs[0], grad, indices)[0]
    rule: Rule = _adam
    return rule(*states_and_scalars, whole, use_nesterov=use_nesterov)


def _lars(weight: Any, grad: Any, norm_weight: Any, norm_gradient: Any, weight_decay: Any, lr: Any, *,
          epsilon: float, hyperpara: float, use_clip: bool) -> Any:  # fmt: skip
    w, g = ops.sqrt(norm_weight), ops.sqrt(norm_gradient)
    trust = ops.where(ops.logical_and(w > 0, g > 0), hyperpara * w / (g + weight_decay * w + epsilon), 1.0)
    if use_clip:
        trust = ops.clamp(trust / lr, min=0.0, max=1.0)
    return trust * (grad + weight_decay * weight)


def _cast_adam(
    var: Any, m: Any, v: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, decay: Any, grad: Any, norm: Any = 1.0
) -> tuple[Any, Any, Any]:
    """Adam with weight decay in float32, of weights in 16 bits; the gradient is divided by its norm."""
    grad = grad.astype("float32") / norm
    new, m, v = _adam_weight_decay(var.astype("float32"), m, v, lr, beta1, beta2, epsilon, decay, grad)
    return new.astype(var.dtype), m, v


def _weight_scale_momentum(
    weight_decay: Any, loss_scale: Any, var: Any, accum: Any, lr: Any, grad: Any, momentum: Any
) -> tuple[Any, Any]:
    rule: Rule = _momentum
    return rule(var, accum, lr, var * weight_decay + grad * loss_scale, momentum, use_nesterov=False)


def _adam_step(
    m: Any, v: Any, beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any, beta2: Any, epsilon: Any, grad: Any, *,
    use_nesterov: bool, use_locking: bool,
) -> Any:  # fmt: skip
    """What Adam adds to a weight; the two moments are written."""
    scalars = (beta1_power, beta2_power, lr, beta1, beta2, epsilon)
    step, first, second = _adam(ops.zeros_like(grad), m, v, *scalars, grad, use_nesterov=use_nesterov)
    assign(m, first)
    assign(v, second)
    return step


def _ada_factor(
    epsilon: Any, clip_threshold: Any, beta1: Any, beta2: Any, weight_decay: Any, lr: Any, grad: Any, param: Any,
    exp_avg: Any, row: Any, column: Any, exp_avg_sq: Any, global_norm: Any = 1.0, *, enable_scale_parameter: bool,
    enable_first_moment: bool, enable_weight_decay: bool,
) -> Any:  # fmt: skip
    """Adafactor: second moments of matrices by rows and columns. The weight and the moments in use are written."""
    weight, grad = param.astype("float32"), grad.astype("float32") / global_norm
    if enable_scale_parameter:
        lr = lr * ops.maximum(ops.sqrt(ops.mean(weight * weight)), epsilon[1])
    square = grad * grad + epsilon[0]
    if param.ndim > 1:
        rows = assign(row, row * beta2 + ops.mean(square, -1) * (1 - beta2)).astype("float32")
        columns = assign(column, column * beta2 + ops.mean(square, -2) * (1 - beta2)).astype("float32")
        share = ops.rsqrt(rows / ops.mean(rows, -1, True)).expand_dims(-1)
        step = share * ops.rsqrt(columns).expand_dims(-2) * grad
    else:
        step = ops.rsqrt(assign(exp_avg_sq, exp_avg_sq * beta2 + square * (1 - beta2)).astype("float32")) * grad
    step = step / ops.maximum(ops.sqrt(ops.mean(step * step)) / clip_threshold, 1.0) * lr
    if enable_first_moment:
        step = assign(exp_avg, exp_avg * beta1 + step * (1 - beta1)).astype("float32")
    weight = weight - weight * weight_decay * lr if enable_weight_decay else weight
    return assign(param, (weight - step).astype(param.dtype))


_NESTEROV = {"use_nesterov": False}
_PARTS = dict.fromkeys(("enable_scale_parameter", "enable_first_moment", "enable_weight_decay"), False)
_FTRL = dict.fromkeys(("lr", "l1", "l2", "lr_power"), NEEDED)
_DENSE: dict[str, tuple[Rule, int, bool, dict[str, Any]]] = {
    "ApplyMomentum": (_momentum, 2, False, {**_NESTEROV, **_LOCK, "gradient_scale": 1.0}),
    "ApplyKerasMomentum": (_keras_momentum, 2, True, {**_LOCK, **_NESTEROV}),
    "Adam": (_adam, 3, True, {**_LOCK, **_NESTEROV}), "AdamWeightDecay": (_adam_weight_decay, 3, True, _LOCK),
    "ApplyAdamWithAmsgrad": (_amsgrad_of_attributes, 4, True,
                             {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, **_LOCK}),
    "ApplyAdamWithAmsgradV2": (_amsgrad, 4, True, _LOCK), "ApplyAdaMax": (_ada_max, 3, True, {}),
    "ApplyAdadelta": (_adadelta, 3, True, {}), "ApplyAdagrad": (_adagrad, 2, True, {"update_slots": True}),
    "ApplyAdagradV2": (_adagrad, 2, True, {"epsilon": NEEDED, "update_slots": True}),
    "ApplyAdagradDA": (_adagrad_dual_averaging, 3, False, _LOCK),
    "ApplyAddSign": (_signed(power=False), 2, True, {}), "ApplyPowerSign": (_signed(power=True), 2, True, {}),
    "ApplyRMSProp": (_rms_prop, 3, False, _LOCK), "ApplyCenteredRMSProp": (_centered_rms_prop, 4, False, _LOCK),
    "ApplyFtrl": (_ftrl, 3, False, _LOCK), "ApplyGradientDescent": (_descent, 1, False, {}),
    "ApplyProximalGradientDescent": (_proximal_descent, 1, False, {}),
    "ApplyProximalAdagrad": (_proximal_adagrad, 2, True, _LOCK),
    "FusedCastAdamWeightDecay": (_cast_adam, 3, True, _LOCK),
    "FusedSparseAdam": (_fused_sparse_adam, 3, True, {**_LOCK, **_NESTEROV}),
}  # fmt: skip
_SPARSE: dict[str, tuple[Rule, int, int, int, bool, dict[str, Any]]] = {
    "FusedSparseLazyAdam": (_adam, 3, 9, 10, True, {**_LOCK, **_NESTEROV}),
    "FusedSparseFtrl": (_ftrl, 3, 3, 4, True, {**_FTRL, **_LOCK}),
    "FusedSparseProximalAdagrad": (_proximal_adagrad, 2, 5, 6, True, _LOCK),
    "SparseApplyAdagrad": (_adagrad_of_attributes, 2, 2, 3, True, {"lr": NEEDED, "update_slots": True, **_LOCK}),
    "SparseApplyAdagradV2": (_adagrad_of_attributes, 2, 2, 3, True,
                             {"lr": NEEDED, "epsilon": NEEDED, **_LOCK, "update_slots": True}),
    "SparseApplyAdagradDA": (_adagrad_dual_averaging, 3, 3, 4, False, _LOCK),
    "SparseApplyAdadelta": (_adadelta_of_attributes, 3, 5, 6, True, {"epsilon": NEEDED, **_LOCK}),
    "SparseApplyFtrl": (_ftrl, 3, 3, 4, True, {**_FTRL, **_LOCK}),
    "SparseApplyFtrlV2": (_ftrl, 3, 3, 4, True,
                          {**dict.fromkeys(("lr", "l1", "l2", "l2_shrinkage", "lr_power"), NEEDED), **_LOCK}),
    "SparseApplyMomentum": (_momentum, 2, 3, 4, False, {**_LOCK, **_NESTEROV}),
    "SparseApplyProximalAdagrad": (_proximal_adagrad, 2, 5, 6, True, _LOCK),
    "SparseApplyProximalGradientDescent": (_proximal_descent, 1, 4, 5, False, _LOCK),
    "SparseApplyRMSProp": (_rms_prop, 3, 4, 5, True,
                           {**dict.fromkeys(("rho", "momentum", "epsilon"), NEEDED), **_LOCK}),
    "SparseApplyCenteredRMSProp": (_centered_rms_prop_by_rows, 4, 8, 9, False, _LOCK),
}  # fmt: skip
OPTIMIZERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    **{name: (_updating(rule, tuple(range(count)), every), attrs)
       for name, (rule, count, every, attrs) in _DENSE.items()},
    **{name: (_updating(_by_rows(rule, count, grad, at), tuple(range(count)), every), attrs)
       for name, (rule, count, grad, at, every, attrs) in _SPARSE.items()},
    "SGD": (_updating(_sgd, (0, 3, 5), False), {"dampening": 0.0, "weight_decay": 0.0, "nesterov": False}),
    "FusedWeightScaleApplyMomentum": (_updating(_weight_scale_momentum, (2, 3), False), {}),
    "AdamNoUpdateParam": (_adam_step, {**_LOCK, **_NESTEROV}),
    **dict.fromkeys(("FusedAdaFactor", "FusedAdaFactorWithGlobalNorm"), (_ada_factor, _PARTS)),
    "LARSUpdate": (_lars, {"epsilon": 1e-5, "hyperpara": 0.001, "use_clip": False}),
}  # fmt: skip
