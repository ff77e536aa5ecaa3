"""A network cut into stages: runs of layers.

    graph     embed  layer0  layer1 | layer2  layer3  head  loss          cut between layers

A layer is a run of nodes of one Cell of a list (``recompute.layer_name``). ``Cell.pipeline_stage`` says where a Cell
goes; what nobody says follows its neighbours, and where nothing is said the longest stage is as short as it can be.
Source: Zheng et al., Alpa, OSDI 2022 (stages of contiguous layers, the longest bounds the step).
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core.errors import AttributeValueError
from msnb.core.micro import stage_of
from msnb.ir.graph import Node
from msnb.parallel.pipeline import cut
from msnb.parallel.planning import Problem
from msnb.parallel.recompute import layer_name


def layers_in_order(order: Sequence[Node]) -> list[tuple[str, list[Node]]]:
    """Runs of nodes of one layer; what stands between two runs of one layer belongs to it."""
    runs: list[tuple[str, list[Node]]] = []
    for node in order:
        name = layer_name(node.scope)
        at = next((i for i in range(len(runs) - 1, -1, -1) if runs[i][0] == name and "/" in name), None)
        if at is not None:
            for _, nodes in runs[at + 1 :]:
                runs[at][1].extend(nodes)
            del runs[at + 1 :]
        elif not runs or runs[-1][0] != name:
            runs.append((name, []))
        runs[-1][1].append(node)
    return runs


def placed(runs: Sequence[tuple[str, list[Node]]], stages: int) -> list[int] | None:
    """The stage of every run, from what Cells say; None where nobody says anything.

    Raises:
        ValueError: a stage that does not exist, or that goes back.
    """
    found = [stage_of(nodes[0].scope) for _, nodes in runs]
    if all(s is None for s in found):
        return None
    out: list[int] = []
    now = 0
    for (name, _), s in zip(runs, found):
        if s is not None and (isinstance(s, str) or not 0 <= s < stages):
            raise AttributeValueError(f"{name}.pipeline_stage={s!r} is not legal; legal: 0 to {stages - 1}.")
        if s is not None and s < now:
            raise AttributeValueError(f"{name} is in pipeline stage {s}, but what comes before it is in stage {now}: "
                                      "stages rise in the order in which Cells run.")  # fmt: skip
        now = now if s is None else s
        out.append(now)
    missing = sorted(set(range(stages)) - set(out))
    if missing:
        raise AttributeValueError(f"no Cell is in pipeline stage {missing[0]}; legal: every stage from 0 to "
                                  f"{stages - 1} holds a Cell.")  # fmt: skip
    return out


Runs = Sequence[tuple[str, list[Node]]]


def balanced(problem: Problem, choices: Sequence[int], runs: Runs, shares: Sequence[float], micro: int,
             limit: float | None) -> list[int]:  # fmt: skip
    """The stage of every run so that the longest stage is short and every stage fits.

    Args:
        shares: per stage its devices, of those that the problem is for.

    Raises:
        ValueError: there are fewer layers than stages, or no cut fits.
    """
    costs, at = problem.costs, {n: i for i, (_, nodes) in enumerate(runs) for n in nodes}
    seconds = [0.0] * len(runs)
    nbytes = [(0.0, 0.0)] * len(runs)
    place = {v: at[n] for n, v in problem.place.items() if n in at}
    for v, i in place.items():
        seconds[i] += float(costs.time[v][choices[v]])
        once = problem.held(v, choices[v])
        nbytes[i] = nbytes[i][0] + once, nbytes[i][1] + float(costs.memory[v][choices[v]]) - once
    for u, v, m in costs.edges:
        if u in place and v in place:
            seconds[max(place[u], place[v])] += float(m[choices[u], choices[v]])
    stages = len(shares)
    found = cut(seconds, stages, nbytes, micro, limit, shares)
    if found is None:
        why = "fits into memory" if len(runs) >= stages else f"is there: the network has {len(runs)} layers"
        raise AttributeValueError(f"no cut into {stages} pipeline stages {why}.",
                                  hint="use fewer stages, more devices or smaller micro-batches.")  # fmt: skip
    return [sum(i >= c for c in found) for i in range(len(runs))]
