"""Two fast searches: recursive halving of the devices, and propagation from operators whose strategy is known.

recursive_programming   the mesh axes one after the other, outermost first: in each round every node, in program order,
                        gives this axis to one of its labels: the one whose best remaining choice, together with the
                        best that its neighbours can still do, is cheapest. Then single nodes and pairs are changed
                        while that helps; the same is done from everything whole on every device (the first choices),
                        which small programs stay near, and the better of both is taken.
sharding_propagation    from the known nodes outward (breadth first): each takes the choice that costs least next to the
                        neighbours that are decided.

Both are linear in nodes times choices; neither is exact.
Source: Wang et al., D-Rec, Euro-Par 2021; MindSpore's rec_core and sharding propagation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from msnb.parallel.search.cost_graph import CostGraph, Floats

_SWEEPS = 12


def recursive_programming(graph: CostGraph, runs: Sequence[Sequence[Sequence[str]]]) -> list[int]:
    """Halve the devices round by round.

    Args:
        graph: choices and costs.
        runs: per node and choice, the label that each mesh axis is given to.
    """
    near = graph.neighbours()
    alive = [np.ones(len(t), bool) for t in graph.time]
    rounds = max((len(r) for choices in runs for r in choices), default=0)
    for axis in range(rounds):
        for v in range(graph.size):
            _cut(graph, near, alive, v, [r[axis] if axis < len(r) else "" for r in runs[v]])
    halved = [int(np.argmin(np.where(a, t, np.inf))) for a, t in zip(alive, graph.time)]
    return min((improved(graph, near, start) for start in (halved, [0] * graph.size)), key=graph.cost)


def _outlook(
    graph: CostGraph, near: list[list[tuple[int, Floats]]], alive: Sequence[NDArray[np.bool_]], v: int
) -> Floats:
    """For every choice of ``v``: its cost and the least that each edge can still cost."""
    total = graph.time[v].copy()
    for u, m in near[v]:
        others = graph.time[u] / max(1, len(near[u]))
        total += np.where(alive[u][None, :], m + others[None, :], np.inf).min(axis=1)
    return total


def _cut(graph: CostGraph, near: list[list[tuple[int, Floats]]], alive: list[NDArray[np.bool_]], v: int,
         labels: Sequence[str]) -> None:  # fmt: skip
    """Give one mesh axis to the best label of ``v``: the other choices are out."""
    total = np.where(alive[v], _outlook(graph, near, alive, v), np.inf)
    best = labels[int(np.argmin(total))]
    alive[v] = alive[v] * np.array([label == best for label in labels])


def improved(graph: CostGraph, near: list[list[tuple[int, Floats]]], choices: list[int]) -> list[int]:
    """Change single nodes, and pairs along an edge, while the total falls."""
    for _ in range(_SWEEPS):
        before = list(choices)
        for v in range(graph.size):
            choices[v] = int(np.argmin(_given(graph, near, choices, v)))
        for u, v, m in graph.edges:
            _best_pair(graph, near, choices, u, v, m)
        if choices == before:
            break
    return choices


def _given(graph: CostGraph, near: list[list[tuple[int, Floats]]], choices: Sequence[int], v: int,
           without: int = -1) -> Floats:  # fmt: skip
    """The cost of every choice of ``v`` next to its neighbours' present ones."""
    total = graph.time[v].copy()
    for u, m in near[v]:
        if u != without:
            total = total + m[:, choices[u]]
    return total


def _best_pair(graph: CostGraph, near: list[list[tuple[int, Floats]]], choices: list[int], u: int, v: int,
               matrix: Floats) -> None:  # fmt: skip
    both = sum((m for w, m in near[u] if w == v), np.zeros_like(matrix))
    total = _given(graph, near, choices, u, v)[:, None] + both + _given(graph, near, choices, v, u)[None, :]
    best = int(np.argmin(total))
    s, t = divmod(best, total.shape[1])
    if total[s, t] < total[choices[u], choices[v]] * (1 - 1e-12):
        choices[u], choices[v] = s, t


def sharding_propagation(graph: CostGraph, fixed: Mapping[int, int]) -> list[int]:
    """Spread known choices along the edges; nodes that none of them reaches start with their cheapest choice."""
    near = graph.neighbours()
    choices: dict[int, int] = dict(fixed)
    queue = deque(sorted(fixed))
    for start in range(graph.size):
        while queue:
            v = queue.popleft()
            for u, _ in near[v]:
                if u not in choices:
                    choices[u] = _beside(graph, near, choices, u)
                    queue.append(u)
        if start not in choices:
            choices[start] = _beside(graph, near, choices, start)
            queue.append(start)
    return [choices[v] for v in range(graph.size)]


def _beside(graph: CostGraph, near: list[list[tuple[int, Floats]]], choices: Mapping[int, int], u: int) -> int:
    total = graph.time[u].copy()
    for v, m in near[u]:
        if v in choices:
            total = total + m[:, choices[v]]
    return int(np.argmin(total))
