"""The Pareto front of a cost graph: plans of which none is better in time and in memory.

Small graphs: the exact search keeps lists of (seconds, bytes) anyway; the last list is the front. Large ones: the
convex hull of the front, found from its ends inward: between two plans on it the slope of their line is the price of a
byte at which the search either finds a plan below the line or proves that there is none.
Source: Cai et al., TensorOpt, 2021 (frontier tracking); the hull by the method of Eiselt and Aneja-Nair.
"""

from __future__ import annotations

from contextlib import suppress

from msnb.parallel.search.cost_graph import CostGraph
from msnb.parallel.search.elimination import PARETO, Eliminator, TooLarge, steep


def pareto_front(graph: CostGraph, most: int = 24) -> list[list[int]]:
    """Choices of undominated plans, the fastest first.

    Args:
        graph: choices and costs.
        most: at most so many plans of a large graph; of a small one all are given.
    """
    if not graph.size:
        return [[]]
    found = _hull(graph, most)
    if sum(map(len, graph.time)) <= PARETO:
        with suppress(TooLarge):
            found = Eliminator(graph, graph.bytes(found[0]) * (1 + 1e-9)).front()
    return _undominated(graph, found)


def _hull(graph: CostGraph, most: int) -> list[list[int]]:
    search = Eliminator(graph)
    ends = [search.priced(0.0), search.priced(steep(graph))]
    out, todo = list(ends), [(ends[0], ends[1])]
    while todo and len(out) < most:
        a, b = todo.pop(0)
        dt, dm = graph.cost(b) - graph.cost(a), graph.bytes(a) - graph.bytes(b)
        if dm <= 0 or dt <= 0:
            continue
        found = search.priced(dt / dm)
        value = graph.cost(found) + dt / dm * graph.bytes(found)
        if value < (graph.cost(a) + dt / dm * graph.bytes(a)) * (1 - 1e-9):
            out.append(found)
            todo += [(a, found), (found, b)]
    return out


def _undominated(graph: CostGraph, plans: list[list[int]]) -> list[list[int]]:
    out: list[list[int]] = []
    least = float("inf")
    for plan in sorted(plans, key=lambda p: (graph.cost(p), graph.bytes(p))):
        if graph.bytes(plan) < least:
            least = graph.bytes(plan)
            out.append(plan)
    return out
