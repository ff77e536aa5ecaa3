"""Which layers compute twice: memory for time.

    kept         |layer 0 keeps all|layer 1 keeps all|layer 2 ...     what every layer makes waits for the backward pass
    recomputed   |in|              |in|              |in ...          only what enters a layer waits; when its gradient
                                                                      is due the layer runs forward again

A layer is what a Cell list counts (``net/layers/3``), a Cell of the network, or a Cell inside of those that says itself
that it is computed twice (``Cell.recompute``): then it alone is, and what is around it is a layer of its own.
Recomputing a layer saves what only itself reads, costs its forward pass, and while it runs again what it saved is there
once: the largest of the layers that do. Least time for enough memory is a knapsack: lists of (seconds, bytes saved) of
which none is better in both, kind by kind of layer. Of layers that are alike only the number counts, which makes these
lists short, so it is exact.

In a stage of a pipeline what a layer makes is kept once per micro-batch in flight, and recomputing it saves as often.
Source: Chen et al., "Training deep nets with sublinear memory cost", 2016; Korthikanti et al., 2022 (full recompute
keeps 2 s b h bytes per layer and costs one more forward pass).
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from msnb.core.microbatch_scope import steps_to_stage, within_micro
from msnb.ir.control_flow import CALL
from msnb.ir.graph import Graph, Node, Value, owner
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.cost_model import TimeModel, part_bytes
from msnb.parallel.sharding.strategies import Strategy


@dataclass(frozen=True)
class Layer:
    """A layer that may be computed twice.

    Attributes:
        name: path of the Cell; seconds: of its forward pass; saved: bytes that recomputing it frees.
    """

    name: str
    seconds: float
    saved: float


@lru_cache(maxsize=4096)
def layer_name(scope: str, said: frozenset[str] = frozenset()) -> str:
    """``Net/layers/3`` of ``Net/layers/3/norm``: up to the first number, else one step behind the network.

    Cells that only wrap (``WithLossCell``, ``TrainOneStepCell``) give their network no attribute's name, so a path
    begins with the classes on the way to the network. A Cell that says its pipeline stage is a layer, however deep, and
    so is one that is ``said`` to be computed twice (``layers_said``).

    Examples:
        >>> layer_name("Net/layers/3/norm"), layer_name("Net/head/fc"), layer_name("WithLossCell/Net/head/fc")
        ('Net/layers/3', 'Net/head', 'WithLossCell/Net/head')
        >>> [layer_name(f"Net/body/{part}", frozenset({"Net/body/block"})) for part in ("block/fc", "norm")]
        ['Net/body/block', 'Net/body']
    """
    parts = within_micro(scope).split("/")
    at = next((i for i, part in enumerate(parts) if part.isdigit()), max(1, _classes(parts)))
    least = min(max(at, steps_to_stage(scope)) + 1, len(parts))
    paths = ("/".join(parts[:i]) for i in range(least, len(parts) + 1))
    return next((path for path in paths if path in said), "/".join(parts[:least]))


def is_network(name: str) -> bool:
    """Whether a layer is the network itself: what its ``construct`` computes between its Cells.

    Examples:
        >>> is_network("WithLossCell/Net"), is_network("Net"), is_network("Net/fc")
        (True, True, False)
    """
    parts = name.split("/")
    return _classes(parts) == len(parts) or len(parts) == 1


def _classes(parts: Sequence[str]) -> int:
    """How many steps of a path are classes on the way to the network."""
    return next((i for i, part in enumerate(parts) if not part[:1].isupper()), len(parts))


def layers_said(graph: Graph) -> frozenset[str]:
    """The layers that a captured program says are computed again for their gradient (``Cell.recompute``): Cells whose
    calls are marked so, or the layers inside of one that holds several. A gradient that is written out already holds
    the second runs; then there is none to say.
    """
    if any(node.primal is not None for node in graph.nodes):
        return frozenset()
    graphs = graph.module.graphs
    called = [n.attrs["callee"] for _, n in graph.walk() if n.op is CALL and n.attrs.get("recompute")]
    out: set[str] = set()
    for name in called:
        scopes = {node.scope for _, node in graphs[name].walk()} if name in graphs else set()
        shared = posixpath.commonpath([within_micro(scope) for scope in scopes]) if scopes else ""
        out |= {max(shared, layer_name(scope), key=len) for scope in scopes}
    return frozenset(out)


def layers_of(problem: CostGraphBuilder, chosen: Mapping[Node, Strategy]) -> list[Layer]:
    """The layers of a program under these strategies, in program order; those that save nothing are left out."""
    readers: dict[Value, set[str]] = {}
    said = problem.joint.rematerialized
    for node in problem.graph.nodes:
        for v in node.inputs:
            readers.setdefault(v, set()).add(layer_name(node.scope, said))
    seconds: dict[str, float] = {}
    saved: dict[str, float] = {}
    leaving, time = set(problem.graph.outputs), TimeModel(problem.mesh, training=False)
    known: dict[tuple[int, int], tuple[float, float]] = {}  # alike nodes share their call, and alike choices
    for node, s in chosen.items():
        name, call = layer_name(node.scope, said), problem.calls[node]
        own = known.get((id(call), id(s)))
        if own is None:
            own = known[id(call), id(s)] = time.compute(call, s), time.close(call, s)
        seconds[name] = seconds.get(name, 0.0) + own[0] + own[1]
    for v, _, nbytes in kept_values(problem, chosen):
        name = layer_name(v.node.scope, said) if v.node in problem.calls else ""
        if name and all(readers.get(x, set()) <= {name} and x not in leaving for x in (v, owner(v))):
            saved[name] = saved.get(name, 0.0) + nbytes
    return [Layer(name, seconds[name], n) for name, n in saved.items() if n > 0]


def kept_values(problem: CostGraphBuilder, chosen: Mapping[Node, Strategy]) -> Iterator[tuple[Value, Node, float]]:
    """The values that are kept for the gradient, received ones among them, with the node whose gradient reads them and
    the bytes of a device's part; several views of one value once."""
    flow, received, seen = problem.flow, problem.joint.transfers.incoming, set[Value]()
    for node, s in chosen.items():
        came = [(v, layout) for v, layout in zip(node.inputs, s.inputs) if v in received and not v.is_param]
        for v, layout in (*came, *zip(node.outputs, s.outputs)):
            base, keeper = owner(v), problem.flow.keeper(v)
            if keeper is not None and v in flow.gradient and v not in flow.derived and base not in seen:
                seen.add(base)
                yield v, keeper, part_bytes(problem.mesh, layout, v.type)


def cheapest(layers: Sequence[Layer], excess: float, flight: float = 1.0) -> tuple[int, ...] | None:
    """The layers to compute twice that free ``excess`` bytes in the least time; None where all do not suffice.

    Args:
        flight: how many micro-batches' activations are held at a time.
    """
    if excess <= 0:
        return ()
    best: tuple[float, tuple[int, ...]] | None = None
    for largest in sorted({x.saved for x in layers}):  # this much is there once
        allowed = [i for i, x in enumerate(layers) if x.saved <= largest]
        found = _knapsack(layers, allowed, (excess + largest) / flight)
        if found is not None and (best is None or found[0] < best[0]):
            best = found
    return None if best is None else best[1]


_Point = tuple[float, float, tuple[int, ...]]  # seconds, bytes saved, which


def _knapsack(layers: Sequence[Layer], allowed: Sequence[int], need: float) -> tuple[float, tuple[int, ...]] | None:
    kinds: dict[tuple[float, float], list[int]] = {}
    for i in allowed:
        kinds.setdefault((layers[i].seconds, layers[i].saved), []).append(i)
    points: list[_Point] = [(0.0, 0.0, ())]
    for (seconds, saved), alike in kinds.items():
        points = _undominated([(t + c * seconds, min(need, n + c * saved), (*which, *alike[:c]))
                               for t, n, which in points for c in range(len(alike) + 1)])  # fmt: skip
    enough = [(t, which) for t, n, which in points if n >= need]
    return min(enough) if enough else None


def _undominated(points: list[_Point]) -> list[_Point]:
    out: list[_Point] = []
    most = -1.0
    for p in sorted(points, key=lambda p: (p[0], -p[1])):
        if p[1] > most:
            most = p[1]
            out.append(p)
    return out


def freed(layers: Sequence[Layer], flight: float = 1.0) -> float:
    """Bytes that recomputing all of these layers frees, with the activations of so many micro-batches in flight."""
    return flight * sum(x.saved for x in layers) - max((x.saved for x in layers), default=0.0)
