"""MindSpore's meaning of an assignment to a Parameter, for gradients and for shapes.

``assign(p, x * 3)`` gives ``p`` a value that is independent of ``x``: a gradient that reaches ``p`` later ends there,
as the gradient by ``p`` itself. msnb, as JAX and PyTorch, follows it on into ``x``.
"""

from __future__ import annotations

from typing import Any

from msnb.core.engine import slot
from msnb.core.tensor import Tensor
from msnb.eager.recording import is_eager
from msnb.ir.control_flow import HostFn
from msnb.ir.custom_gradient import WITH_VJP
from msnb.ops.definition.record import find
from msnb.ops.elementwise.identity_and_effects import fitting


def _by_variable(variable: Any, value: Any, dout: Any) -> list[Any]:
    return [dout]


_ATTRS = {"n_in": 1, "n_out": 1, "own": False, "fn": HostFn(_by_variable, "assign")}


def stored(variable: Tensor, value: Tensor) -> Tensor:
    """What ``assign(variable, value)`` stores: ``value``, with the gradient of the variable.

    Args:
        variable: a Parameter, or what stands for it where a gradient by it is taken; any tensor of ``ops.assign``.
        value: a tensor that broadcasts to its shape; one element of any shape where the variable is a scalar.
    """
    if not variable.shape and value.shape and value.size == 1:
        value = find("reshape")(value, shape=())
    value = fitting(variable._type, value)
    tracked = not is_eager(slot.engine) or value._rec is not None or variable._rec is not None
    if not tracked:
        return value
    found: Tensor = slot.engine.apply(WITH_VJP, (variable, value), _ATTRS)
    return found
