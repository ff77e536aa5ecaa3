"""Running sums of exponentials, told by their logarithms: no exponential is ever formed, so none over- or underflows.

    after a round of length n    y[i] = log(exp(x[i]) + ... + exp(x[i - n + 1]))
    the next one                 y[i] = logaddexp(y[i], y[i - n])

A window that doubles reaches over an axis of length l in log2(l) rounds (Hillis and Steele 1986). One maximum for the
whole axis would not do: what lies far below it would count as nothing where it stands alone.
"""

from __future__ import annotations

import math
from typing import Any

from msnb.core import Tensor
from msnb.ops.definition import as_tensor, normal_axis, worded
from msnb.ops.elementwise.identity_and_effects import identity
from msnb.ops.elementwise.transcendental import logaddexp
from msnb.ops.shape import concat, full

__all__ = ["logcumsumexp"]


@worded
def logcumsumexp(x: Any, axis: int) -> Tensor:
    """log(exp(x[0]) + ... + exp(x[i])) along an axis.

    Args:
        x: a tensor of floats, of any shape.
        axis: an int.

    Returns:
        A tensor of the shape and dtype of x. NaN is seen from its place on.

    Source: `mindspore.ops.logcumsumexp`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.logcumsumexp(ms.Tensor([0.0, 1000.0]), 0).tolist()
        [0.0, 1000.0]
    """
    out: Tensor = identity(as_tensor(x))
    at = normal_axis("logcumsumexp", axis, out.ndim)
    sizes = out._type.ints()
    reach = 1
    while reach < sizes[at]:
        nothing = full((*sizes[:at], reach, *sizes[at + 1 :]), -math.inf, dtype=out.dtype)
        earlier = out[(*(slice(None),) * at, slice(0, sizes[at] - reach))]
        out = logaddexp(out, concat((nothing, earlier), axis=at))
        reach *= 2
    return out
