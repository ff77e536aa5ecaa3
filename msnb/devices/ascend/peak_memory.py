"""What lives when: the peak of a program's memory, and the error of a program that does not fit.

    node        1   2   3   4            a value lives from the node that makes it to its last reader;
    x (input)   #   #   #   #            inputs and results live throughout;
    a           #   #   .   .            a view lives as long as what it is a view of;
    b           .   #   #   .            a body (If, While, Scan) adds its own peak to the node that runs it.
    bytes      12  20  16   8   <- the peak is node 2

An error for the peak names the largest tensors that live there: those are the ones to make smaller.
"""

from __future__ import annotations

from dataclasses import dataclass

from msnb.base import DeviceError
from msnb.ir.graph import Graph, Node, Value, owner
from msnb.ir.node_cost import size_of

MOST = 5  # tensors an error names


@dataclass(frozen=True)
class Peak:
    """The node at which most bytes live.

    Attributes:
        nbytes: how many.
        node: where; None for a program without nodes.
        live: the values that live there and their bytes, the largest first.
    """

    nbytes: int
    node: Node | None
    live: tuple[tuple[Value, int], ...]


def peak_of(graph: Graph) -> Peak:
    """The peak of a program; sizes that only data tell count by their bounds."""
    last = _last_uses(graph)
    live: dict[Value, int] = {p: size_of(p.type) or 0 for p in graph.params}
    best = Peak(sum(live.values()), None, _sorted(live))
    now = best.nbytes
    for node in graph.nodes:
        for v in node.outputs:
            if owner(v) is v and v not in live:
                live[v] = size_of(v.type) or 0
                now += live[v]
        inner = max((_inside(g) for g in node.graphs), default=0)
        if now + inner > best.nbytes:
            best = Peak(now + inner, node, _sorted(live))
        for v in {owner(v) for v in (*node.inputs, *node.outputs)}:
            if last.get(v) is node and v in live:
                now -= live.pop(v)
    return best


def _last_uses(graph: Graph) -> dict[Value, Node]:
    keep = {*graph.params, *map(owner, graph.outputs)}
    last = {owner(v): node for node in graph.nodes for v in (*node.outputs, *node.inputs)}
    return {v: n for v, n in last.items() if v not in keep}


def _sorted(live: dict[Value, int]) -> tuple[tuple[Value, int], ...]:
    return tuple(sorted(live.items(), key=lambda item: -item[1]))


def _inside(body: Graph) -> int:
    """What a body needs besides its arguments, which live outside."""
    return max(0, peak_of(body).nbytes - sum(size_of(p.type) or 0 for p in body.params))


def check_memory(graph: Graph, limit: float) -> Peak:
    """The peak of a program that fits.

    Args:
        graph: the program; limit: bytes of the device.

    Raises:
        RuntimeError: DeviceError: it does not fit; names the largest tensors at the peak.
    """
    peak = peak_of(graph)
    if peak.nbytes <= limit:
        return peak
    where = "its inputs" if peak.node is None else name_of(peak.node)
    raise DeviceError(
        f"out of memory: the program needs {peak.nbytes / 1e9:.3g} GB at its peak ({where}), the simulated Ascend has "
        f"{limit / 1e9:.3g} GB.",
        operands=[f"{_value_name(v)}: {v.type!r}, {n / 1e9:.3g} GB" for v, n in peak.live[:MOST]],
        hint="use a smaller batch, 16-bit tensors, recompute, or more devices (ms.parallel.plan).",
    )


def name_of(node: Node) -> str:
    """A node for people."""
    return f"{node.scope}/{node.op.name}" if node.scope else node.op.name


def _value_name(value: Value) -> str:
    return value.name or (name_of(value.node) if value.node is not None else "input")
