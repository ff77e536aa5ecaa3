"""MindSpore's primitives of gradients (``ops.operations._grad_ops``): the gradient rules of our records, by hand.

SqrtGrad()(y, dy)       the rule of ``sqrt``, which asks for ``out`` and ``dout``
SoftplusGrad()(dy, x)   the rule of ``softplus``, which asks for ``dout`` and ``x``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError
from msnb.ops.definition.record import find


def _rule_of(name: str, *inputs: str) -> Callable[..., Any]:
    """The gradient rule of a record as a function of what ``inputs`` names, in this order."""

    def gradient(first: Any, second: Any) -> Any:
        rule = find(name).grad
        assert rule is not None
        found = rule(**dict(zip(inputs, (first, second))))
        return found[0] if isinstance(found, tuple) else found

    return gradient


def _shrunk(dout: Any, x: Any, lambd: float) -> Any:
    return ops.where(ops.abs(x) > lambd, dout, 0)


def _batch_norm_grad(
    dout: Any, x: Any, scale: Any, mean: Any, variance: Any, reserve: Any, is_training: bool, epsilon: float,
    data_format: str,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Gradients of ``BatchNorm`` by x, scale and bias, of the mean and the variance that it used."""
    if data_format not in ("NCHW", "NHWC"):
        raise AttributeValueError(f"BatchNormGrad: data_format is 'NCHW' or 'NHWC', not {data_format!r}.")
    channel = x.ndim - 1 if data_format == "NHWC" else 1
    axes = tuple(i for i in range(x.ndim) if i != channel)
    wide = tuple(n if i == channel else 1 for i, n in enumerate(x.shape))
    centre, factor, slope = (v.reshape(wide) for v in (mean, 1.0 / ops.sqrt(variance + epsilon), scale))
    normal, dx = (x - centre) * factor, dout
    if is_training:  # mean and variance depend on x
        dx = dout - ops.mean(dout, axes, True) - normal * ops.mean(dout * normal, axes, True)
    return dx * slope * factor, ops.sum(dout * normal, axes), ops.sum(dout, axes)


GRADIENTS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    **{name: (_rule_of(op, "x", "dout"), {})
       for name, op in (("ACosGrad", "acos"), ("AsinGrad", "asin"), ("AtanGrad", "atan"))},
    **{name: (_rule_of(op, "out", "dout"), {})
       for name, op in (("SigmoidGrad", "sigmoid"), ("TanhGrad", "tanh"), ("SqrtGrad", "sqrt"),
                        ("InvGrad", "reciprocal"), ("ReciprocalGrad", "reciprocal"))},
    "ReluGrad": (_rule_of("relu", "dout", "out"), {}), "SoftplusGrad": (_rule_of("softplus", "dout", "x"), {}),
    "BatchNormGrad": (_batch_norm_grad, {"is_training": False, "epsilon": 1e-5, "data_format": "NCHW"}),
    "HShrinkGrad": (_shrunk, {"lambd": 0.5}), "SoftShrinkGrad": (_shrunk, {"lambd": 0.5}),
    "ReLU6Grad": (lambda dout, x: ops.where(ops.logical_and(x > 0, x <= 6), dout, 0), {}),
    "EluGrad": (lambda dout, out: ops.where(out > 0, dout, dout * (out + 1)), {}),
}  # fmt: skip
