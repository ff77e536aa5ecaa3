"""Two other ways to the optimum, to check the exact search: all combinations, and a mixed-integer linear program.

    x[v,s] in {0,1}, one s per v           y[e,s,t] >= 0 with sums over t equal to x[u,s], over s to x[v,t]
    minimise  sum time[v,s] x[v,s] + sum edge[e,s,t] y[e,s,t]      subject to  sum memory[v,s] x[v,s] <= limit
Source of the formulation: Zheng et al., Alpa, OSDI 2022 (with y relaxed: it is integral where x is).
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from msnb.base import DeviceError
from msnb.parallel.search.cost_graph import CostGraph, NoPlan


def brute_force(graph: CostGraph, limit: float | None = None) -> list[int]:
    """Try every combination (for small graphs). Raises NoPlan when none fits."""
    best: tuple[float, list[int]] | None = None
    for choices in itertools.product(*(range(len(t)) for t in graph.time)):
        if limit is not None and graph.bytes(choices) > limit:
            continue
        cost = graph.cost(choices)
        if best is None or cost < best[0]:
            best = cost, list(choices)
    if best is None:
        raise NoPlan
    return best[1]


def linear_program(graph: CostGraph, limit: float | None = None) -> list[int]:
    """The optimum by SciPy's HiGHS.

    Raises:
        DeviceError: SciPy is not installed (``pip install msnb[parallel]``). NoPlan: nothing fits.
    """
    try:
        from scipy.optimize import Bounds, LinearConstraint, milp  # SciPy is optional: it checks small programs
        from scipy.sparse import csr_matrix
    except ImportError:
        raise DeviceError("the linear program needs SciPy.", hint="pip install 'msnb[parallel]'.") from None
    rows, starts, n = _rows(graph, limit)
    data, i, j = (np.concatenate([r[k] for r in rows]) for k in range(3))
    low, high = (np.concatenate([r[k] for r in rows]) for k in (3, 4))
    matrix = csr_matrix((data, (i, j)), shape=(len(low), n))
    cost = np.concatenate([*graph.time, *(m.reshape(-1) for _, _, m in graph.edges)])
    whole = np.zeros(n)
    whole[: starts[graph.size]] = 1
    found = milp(cost, constraints=LinearConstraint(matrix, low, high), integrality=whole, bounds=Bounds(0, 1))
    if found.x is None:
        raise NoPlan
    return [int(np.argmax(found.x[starts[v] : starts[v + 1]])) for v in range(graph.size)]


def _rows(graph: CostGraph, limit: float | None) -> tuple[list[Any], list[int], int]:
    """Constraints as (values, rows, columns, lower, upper); where each node's variables begin; how many there are."""
    starts = list(np.cumsum([0, *map(len, graph.time)]))
    rows: list[Any] = []
    count = 0

    def add(values: Any, columns: Any, low: float, high: float) -> None:
        nonlocal count
        columns = np.asarray(columns)
        rows.append((np.asarray(values, float), np.full(len(columns), count), columns, [low], [high]))
        count += 1

    for v, time in enumerate(graph.time):
        add(np.ones(len(time)), starts[v] + np.arange(len(time)), 1, 1)
    at = starts[-1]
    for u, v, m in graph.edges:
        grid = at + np.arange(m.size).reshape(m.shape)
        for s in range(m.shape[0]):
            add([*[1.0] * m.shape[1], -1], [*grid[s], starts[u] + s], 0, 0)
        for t in range(m.shape[1]):
            add([*[1.0] * m.shape[0], -1], [*grid[:, t], starts[v] + t], 0, 0)
        at += m.size
    if limit is not None:
        add(np.concatenate(graph.memory), np.arange(starts[-1]), -np.inf, limit)
    return rows, starts, int(at)
