"""MindSpore's primitives of gradients (``ops.operations._grad_ops``): the gradient rules of our records, by hand.

SqrtGrad()(y, dy)       the rule of ``sqrt``, which asks for ``out`` and ``dout``
SoftplusGrad()(dy, x)   the rule of ``softplus``, which asks for ``dout`` and ``x``
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msnb import ops
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


GRADIENTS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    **{name: (_rule_of(op, "x", "dout"), {})
       for name, op in (("ACosGrad", "acos"), ("AsinGrad", "asin"), ("AtanGrad", "atan"))},
    **{name: (_rule_of(op, "out", "dout"), {})
       for name, op in (("SigmoidGrad", "sigmoid"), ("TanhGrad", "tanh"), ("SqrtGrad", "sqrt"),
                        ("InvGrad", "reciprocal"), ("ReciprocalGrad", "reciprocal"))},
    "ReluGrad": (_rule_of("relu", "dout", "out"), {}),
    "SoftplusGrad": (_rule_of("softplus", "dout", "x"), {}),
    "HShrinkGrad": (_shrunk, {"lambd": 0.5}),
    "SoftShrinkGrad": (_shrunk, {"lambd": 0.5}),
    "ReLU6Grad": (lambda dout, x: ops.where(ops.logical_and(x > 0, x < 6), dout, 0), {}),
    "EluGrad": (lambda dout, out: ops.where(out > 0, dout, dout * (out + 1)), {}),
}  # fmt: skip
