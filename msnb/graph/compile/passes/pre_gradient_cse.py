"""What a program computes twice is computed once before its gradient is taken.

    u       = f(x)                     x @ w                   two products of one value: merging them later
    u, u_x  = jvp(f, x, v)             x @ w,  v @ w           leaves one product in front,

    but    x.T @ d1 + x.T @ d2         d1 @ w.T,  d2 @ w.T     and two of each behind it, for every layer: each copy
                                                               has sent back an adjoint of its own
    now    x.T @ (d1 + d2)             (d1 + d2) @ w.T

An adjoint is the sum of what all readers of a value send back, and everything before that value is linear in it. So the
sum is best formed as early as possible, and that is where copies become one value. Derivatives of derivatives are made
of copies: each transform brings the function along that it was taken of.

Sums are then formed in another order, so this is for devices that regroup sums anyway (``pipeline.fuses``); elsewhere
both modes keep the same bits. A graph with marks (``msnb.core.shard_annotation``) is left as it is: its copies may be
wanted on different devices.
"""

from __future__ import annotations

from msnb.graph.compile.passes.cse import merge
from msnb.graph.compile.rewriting import Log, Pass
from msnb.ir.graph import Graph


def merged(graph: Graph, log: Log | None = None) -> Graph:
    """The graph to take the gradient of: itself, or with common subexpressions merged.

    Args:
        graph: a function that a program differentiates; it is not changed.
        log: notes the rewrites.

    Returns:
        A graph with the same params and outputs.

    Examples:
        >>> from msnb.ir.text.parser import parse
        >>> g = parse("graph f(x: f32[2]) -> (f32[2])\\n %1 = exp(x) : f32[2]\\n %2 = exp(x) : f32[2]\\n"
        ...           " %3 = add(%1, %2) : f32[2]\\n return %3")
        >>> [node.op.name for node in merged(g).nodes]
        ['exp', 'add']
    """
    if any(node.marks for _, node in graph.walk()):
        return graph
    log = Log() if log is None else log
    before = log.total
    found = merge(graph, log)
    return found if log.total > before else graph


MERGE_LAW = "What a function computes twice is computed once before its gradient is taken."
MERGE = Pass("merge", MERGE_LAW, "captured", "captured", (), merged)
