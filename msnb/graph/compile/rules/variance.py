"""The law of the variance: it is operations that fuse.

    var(x, axis=1)      m = mean(x, axis=1, keepdims=True);  d = x - m;  sum(d * d, axis=1) / (n - ddof)

One kernel walks along each row twice. Integers, half precision, sizes that only the data tell and too few elements stay
with the record.
"""

from __future__ import annotations

import math

from msnb.core import WEAK, TensorType, dtypes, trace_of
from msnb.graph.compile.rewriting import Found, GraphRewriter, RewriteRule
from msnb.graph.compile.rules.arithmetic import case, unchanged
from msnb.ir.graph import Node
from msnb.ops.definition.type_inference import normal_axes


def _expanded(sweep: GraphRewriter, node: Node) -> Found:
    (x,) = node.inputs
    t = x.type
    if not isinstance(t, TensorType) or not t.is_static or t.dtype not in (dtypes.float32, dtypes.float64):
        return None
    axis, keepdims, ddof = node.attrs["axis"], node.attrs["keepdims"], node.attrs["ddof"]
    axes = normal_axes("var", axis, t.ndim)
    left = math.prod(t.ints()[a] for a in axes) - ddof
    if (trace := trace_of(left)) is not None:  # the code that it becomes reads the number
        trace.exact = False
        return None
    if left <= 0 or 0 in t.shape:
        return None
    apart = sweep.emit("subtract", x, sweep.emit("mean", x, axis=axes, keepdims=True))
    total = sweep.emit("sum", sweep.emit("multiply", apart, apart), axis=axes, keepdims=keepdims)
    return sweep.emit("divide", total, sweep.constant(float(left), WEAK[float]))


_X, _VAR = "x: f32[2,3]", "%1 = var(x, axis=1, keepdims=False, ddof={}) : f32[2]"
VARIANCES: tuple[RewriteRule, ...] = (
    RewriteRule(
        "variance", "a variance is a mean square distance from the mean", ("var",), _expanded,
        (case((_VAR.format(0), "%1"),
              ("%1 = mean(x, axis=(1,), keepdims=True) : f32[2,1]", "%2 = subtract(x, %1) : f32[2,3]",
               "%3 = multiply(%2, %2) : f32[2,3]", "%4 = sum(%3, axis=(1,), keepdims=False) : f32[2]",
               "%5 = divide(%4, ~3.0) : f32[2]", "%5"), params=_X),
         unchanged((_VAR.format(3), "%1"), "nothing to divide by", params=_X)),
        exact=False, differs="in the last digits: sums are taken in another order",
    ),
)  # fmt: skip
