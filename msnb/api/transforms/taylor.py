"""Derivatives of higher order along a curve, and a function replaced by its tangent.

``jet`` follows Taylor mode: inputs move on a curve x(t) = x + s1 t + s2 t^2 / 2! + ..., and the derivatives of the
outputs by t at 0 are asked for. They are formed by forward mode over forward mode in the one number t, which is exact;
order n runs the function 2^n times in one program, of which equal parts are computed once.

Source: `mindspore.ops.jet`; Bettencourt, Johnson, Duvenaud:
Taylor-mode automatic differentiation for higher-order derivatives in JAX (2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.api.transforms.vjp_jvp_vmap import jvp
from msnb.base import ArgumentError, AttributeValueError, GradientError, ShapeError
from msnb.core import Tensor, as_tuple

Fn = Callable[..., Any]


def _moved(x: Any, series: Any, t: Any) -> Any:
    """A point of the curve that starts at ``x`` with the derivatives ``series``."""
    for k in range(series.shape[0]):
        x = x + series[k] * (t ** (k + 1) / math.factorial(k + 1))
    return x


def _derivatives(curve: Fn, order: int) -> tuple[Any, list[Any]]:
    """The value of a function of one number at 0, and its derivatives there up to ``order``."""
    zero, one = Tensor(0.0), Tensor(1.0)

    def next_of(fn: Fn) -> Fn:
        return lambda t: jvp(fn, t, one)[1]

    value, found, fn = curve(zero), [], curve
    for _ in range(order):
        fn = next_of(fn)
        found.append(fn(zero))
    return value, found


def jet(fn: Fn, primals: Any, series: Any) -> tuple[Any, Any]:
    """The value of ``fn`` and its derivatives along a curve.

    Args:
        fn: a function of tensors, or a Cell.
        primals: its input, or a tuple of its inputs.
        series: for each input a tensor [n, *its shape]: the derivatives of the input of order 1 to n.

    Returns:
        ``(outputs, derivatives)``; for each output a tensor [n, *its shape].

    Raises:
        ValueError: the series do not fit the inputs.

    Source: `mindspore.ops.jet`

    Examples:
        >>> import msnb as ms
        >>> y, dy = ms.ops.jet(ms.ops.exp, ms.Tensor([0.0]), ms.Tensor([[1.0], [0.0], [0.0]]))
        >>> y.tolist(), dy.tolist()
        ([1.0], [[1.0], [1.0], [1.0]])
    """
    points, tracks = as_tuple(primals), as_tuple(series)
    if len(points) != len(tracks):
        raise ArgumentError(f"jet: {len(points)} inputs and {len(tracks)} series were given; each input has one.")
    for x, s in zip(points, tracks):
        if tuple(s.shape[1:]) != tuple(x.shape) or s.shape[0] != tracks[0].shape[0]:
            raise ShapeError(f"jet: a series of shape {list(s.shape)} does not fit an input of {list(x.shape)}.",
                             hint="a series has one axis more, in front: the orders 1 to n.")  # fmt: skip
    value, found = _derivatives(
        lambda t: fn(*[_moved(x, s, t) for x, s in zip(points, tracks)]), int(tracks[0].shape[0])
    )
    if isinstance(value, (tuple, list)):
        return value, tuple([ops.stack([order[i] for order in found]) for i in range(len(value))])
    return value, ops.stack(found)


def derivative(fn: Fn, primals: Any, order: int) -> tuple[Any, Any]:
    """The value of ``fn`` and its derivative of one order, in the direction of ones.

    Args:
        fn: a function of tensors, or a Cell.
        primals: its input, or a tuple of its inputs.
        order: from 1.

    Returns:
        ``(outputs, derivatives)``, the derivatives in the structure of the outputs.

    Raises:
        ValueError: ``order`` is below 1.

    Source: `mindspore.ops.derivative`

    Examples:
        >>> import msnb as ms
        >>> y, d3 = ms.ops.derivative(lambda x: x ** 3, ms.Tensor([2.0]), 3)
        >>> d3.tolist()
        [6.0]
    """
    if order < 1:
        raise AttributeValueError(f"derivative: order must be at least 1, got {order}.")
    points = as_tuple(primals)
    value, found = _derivatives(lambda t: fn(*[x + t for x in points]), order)
    return value, found[-1]


def linearize(fn: Fn, inputs: Any) -> tuple[Any, Fn]:
    """The value of ``fn`` and its tangent as a function of the direction.

    Args:
        fn: a function of tensors, or a Cell.
        inputs: its input, or a tuple of its inputs.

    Returns:
        ``(outputs, push)``: ``push(v)`` is what ``jvp(fn, inputs, v)`` gives as tangents.

    Source: `mindspore.ops.linearize`

    Examples:
        >>> import msnb as ms
        >>> y, push = ms.ops.linearize(lambda x: x * x, ms.Tensor([3.0]))
        >>> push(ms.Tensor([1.0])).tolist()
        [6.0]
    """
    return fn(*as_tuple(inputs)), lambda v: jvp(fn, inputs, v)[1]


def get_grad(gradients: Any, identifier: Any) -> Any:
    """One gradient out of the result of ``grad(..., return_ids=True)``.

    Args:
        gradients: pairs (position or parameter name, gradient), also nested.
        identifier: a position, or a Parameter.

    Returns:
        The gradient.

    Raises:
        RuntimeError: there is no gradient of this name or position.

    Source: `mindspore.get_grad`

    Examples:
        >>> import msnb as ms
        >>> found = ms.grad(lambda x, y: x * y, (0, 1), return_ids=True)(ms.Tensor(2.0), ms.Tensor(3.0))
        >>> float(ms.ops.get_grad(found, 1))
        2.0
    """
    wanted = identifier if isinstance(identifier, int) else identifier.name
    hits = [value for key, value in _pairs(gradients) if key == wanted and isinstance(key, type(wanted))]
    if not hits:
        raise GradientError(f"get_grad: there is no gradient of {wanted!r}; it takes results of return_ids=True.")
    return hits[0]


def _pairs(gradients: Any) -> list[tuple[Any, Any]]:
    if isinstance(gradients, (tuple, list)):
        if len(gradients) == 2 and isinstance(gradients[0], (int, str)):
            return [(gradients[0], gradients[1])]
        return [pair for part in gradients for pair in _pairs(part)]
    return []
