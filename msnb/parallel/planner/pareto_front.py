"""Time against memory: the plans of a program of which none is better in both, with layers computed twice or not.

    seconds |x                      x   strategies alone (``search.front``)
            |  x  o                 o   the same with layers computed twice (``recompute``)
            |     x   o
            +------------- bytes
A point says what a device needs for a plan as the search counts it (a plan's own step time is simulated step by step).
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from msnb.base import AttributeValueError
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.rematerialization import Layer, cheapest, freed, layers_of
from msnb.parallel.search.pareto_search import pareto_front

_SHARES = (0.25, 0.5, 0.75, 1.0)  # of what computing all layers twice frees


@dataclass(frozen=True)
class Point:
    """A plan on the front.

    Attributes:
        seconds: of a step as the search counts it, simulated; nbytes: of a device.
        choices: one per node of the cost graph; rematerialized: layers that are computed twice.
    """

    seconds: float
    nbytes: float
    choices: tuple[int, ...]
    rematerialized: tuple[Layer, ...] = ()


def layers(problem: CostGraphBuilder, choices: Sequence[int]) -> list[Layer]:
    """What may be computed twice under these choices."""
    if not problem.prices.rule.training:
        return []
    chosen = {n: problem.strategies[v][choices[v]] for n, v in problem.place.items() if n in problem.calls}
    return layers_of(problem, chosen)


def point(problem: CostGraphBuilder, choices: Sequence[int], which: Sequence[Layer] = ()) -> Point:
    """The plan of these choices with these layers computed twice."""
    seconds, nbytes = problem.total(choices)
    return Point(seconds + sum(x.seconds for x in which), nbytes - freed(which), tuple(choices), tuple(which))


def front(problem: CostGraphBuilder, most: int = 24) -> list[Point]:
    """The points that no other beats, the fastest first."""
    found = []
    for choices in pareto_front(problem.costs, most):
        found.append(point(problem, choices))
        every = layers(problem, choices)
        for share in _SHARES if every else ():
            which = cheapest(every, share * freed(every))
            found += [] if which is None else [point(problem, choices, [every[i] for i in which])]
    out: list[Point] = []
    for p in sorted(found, key=lambda p: (p.seconds, p.nbytes)):
        if not out or p.nbytes < out[-1].nbytes:
            out.append(p)
    return out


def within(problem: CostGraphBuilder, limit: float, choices: Sequence[int] | None = None) -> Point | None:
    """The fastest plan that fits, layers computed twice where that is needed.

    Args:
        limit: bytes per device; choices: these strategies and no others.
    """
    plans = pareto_front(problem.costs) if choices is None else [list(choices)]
    fits = []
    for plan in plans:
        every = layers(problem, plan)
        which = cheapest(every, problem.total(plan)[1] - limit)
        fits += [] if which is None else [point(problem, plan, [every[i] for i in which])]
    return min(fits, key=lambda p: p.seconds, default=None)


def with_said(every: Sequence[Layer], said: Container[str], recompute: Any) -> Any:
    """What is asked for, together with the layers that the program says are computed twice: ``recompute`` itself where
    that is no list of names."""
    if isinstance(recompute, str) or not isinstance(recompute or (), Iterable):
        return recompute
    own = [x.name for x in every if x.name in said]
    return [*own, *(name for name in recompute or () if name not in own)]


def asked(every: Sequence[Layer], recompute: Any) -> tuple[Layer, ...]:
    """The layers that somebody named (True: all).

    Args:
        every: those that there are.

    Raises:
        ValueError: no layer is called so, or something else than names.
    """
    if recompute is True:
        return tuple(every)
    listed = isinstance(recompute, Iterable) and not isinstance(recompute, str)
    if not listed or not all(isinstance(name, str) for name in recompute):
        raise AttributeValueError(f"recompute={recompute!r} is not legal; legal: None, True (all layers), 'auto' "
                                  "(those that the memory limit asks for), or names of layers.")  # fmt: skip
    known = {x.name: x for x in every}
    for name in recompute:
        if name not in known:
            raise AttributeValueError(f"no layer is called {name!r}; legal: {', '.join(list(known)[:8])}"
                                      f"{' ...' if len(known) > 8 else ''}.")  # fmt: skip
    return tuple(known[name] for name in recompute)
