"""Scans as the turns that they are, for planning: a strategy is chosen for an operator, and a loop has one per turn.

    y = scan(h, x, w) of body        -->      x0, x1, ... = unstack(x)
                                              h1 = body(h, x0, w)     h2 = body(h1, x1, w)     ...
                                              y  = stack(h1, h2, ...)

Loops over the lanes of a batch (nothing carried) and those of whole training steps (a gradient inside) stay as they
are, and so does what would become longer than a plan can be searched.
"""

from __future__ import annotations

from msnb.autodiff.subgraphs import inline, reopen
from msnb.ir import GRADIENT, SCAN, Graph, Node, Value
from msnb.ops.shape.concat_split import stack, unstack

MOST = 20_000


def unrolls(node: Node) -> bool:
    """Whether a plan is made of the turns of this node."""
    if node.op is not SCAN or not node.attrs["n_carry"] or not node.attrs["length"]:
        return False
    inside = [n for _, n in node.graphs[0].walk()]
    return all(n.op is not GRADIENT for n in inside) and len(inside) * node.attrs["length"] <= MOST


def unroll(node: Node, out: Graph, seen: dict[Value, Value], twins: dict[Node, Node]) -> None:
    """Append the turns of a Scan to ``out`` and enter its results into ``seen``."""
    n, m, length = (node.attrs[k] for k in ("n_carry", "n_xs", "length"))
    b = reopen(out)
    b.scope, b.origin, b.why, b.twins = node.scope, node.where, node.why, twins
    with b:
        given = [b.wrap(seen[v]) for v in node.inputs]
        carry, same = given[:n], given[n + m :]
        columns = [unstack(x, axis=0) for x in given[n : n + m]]
        rows: list[list[object]] = [[]] * length
        for t in range(length - 1, -1, -1) if node.attrs["reverse"] else range(length):
            found = inline(b, node.graphs[0], [*carry, *(column[t] for column in columns), *same])
            carry, rows[t] = found[:n], found[n:]
        results = [*carry, *(stack(list(column), axis=0) for column in zip(*rows))]
    seen.update(zip(node.outputs, (b.lift(x) for x in results)))
