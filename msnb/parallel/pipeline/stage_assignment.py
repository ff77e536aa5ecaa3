"""A network cut into stages: runs of layers.

    graph     embed  layer0  layer1 | layer2  layer3  head  loss          cut between layers

A layer is a run of nodes of one Cell of a list (``recompute.layer_name``). ``Cell.pipeline_stage`` says where a Cell
goes; what nobody says follows its neighbours. Where nothing is said the step is as short as it can be (``cuts``): a
stage costs what its layers cost in the plan of the whole network on as many devices, and waits for what it reads
of others.
Source: Zheng et al., Alpa, OSDI 2022 (stages of contiguous layers on submeshes, found by a program over both).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from msnb.base import AttributeValueError
from msnb.core.microbatch_scope import stage_of
from msnb.ir.graph import Node, Value
from msnb.parallel.pipeline.stage_partition import Costs, Cut, cut
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.cost_model import part_bytes
from msnb.parallel.planner.pareto_front import layers
from msnb.parallel.planner.rematerialization import Layer, cheapest, is_network, kept_values, layer_name
from msnb.parallel.search.cost_graph import Floats

Runs = Sequence[tuple[str, list[Node]]]


def layers_in_order(order: Sequence[Node]) -> list[tuple[str, list[Node]]]:
    """Runs of nodes of one layer; what stands between two runs of one layer belongs to it (but for the network's)."""
    runs: list[tuple[str, list[Node]]] = []
    for node in order:
        name = layer_name(node.scope)
        at = next((i for i in range(len(runs) - 1, -1, -1) if runs[i][0] == name and not is_network(name)), None)
        if at is not None:
            for _, nodes in runs[at + 1 :]:
                runs[at][1].extend(nodes)
            del runs[at + 1 :]
        elif not runs or runs[-1][0] != name:
            runs.append((name, []))
        runs[-1][1].append(node)
    return runs


def placed(runs: Runs, stages: int) -> list[int] | None:
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


# ---- what stages cost ----


@dataclass
class StageCosts:
    """What runs of layers cost on so many devices, for one micro-batch.

    Attributes:
        seconds: per run; once: bytes per run, whatever is in flight; each: bytes per run and micro-batch in flight.
        layers: per run those that can be computed twice.
        received: [i, k]: seconds until a stage of runs i to k - 1 has what it reads, and until its gradient is back.
    """

    seconds: Floats
    once: Floats
    each: Floats
    layers: list[list[Layer]]
    received: Floats

    @staticmethod
    def of(problem: CostGraphBuilder, choices: Sequence[int], runs: Runs) -> StageCosts:
        """The table of a plan of the whole network."""
        costs, at = problem.costs, {n: i for i, (_, nodes) in enumerate(runs) for n in nodes}
        seconds, once, each = np.zeros((3, len(runs)))
        out = StageCosts(seconds, once, each, [[] for _ in runs], _received(problem, choices, at, len(runs)))
        place = {v: at[n] for what, v in problem.place.items() if (n := problem.reader(what)) in at}
        for what, v in problem.place.items():
            if v in place:
                out.seconds[place[v]] += float(costs.time[v][choices[v]])
                out.once[place[v]] += problem.held(what, choices[v])
        for u, v, m in costs.edges:
            if u in place and v in place:
                out.seconds[max(place[u], place[v])] += float(m[choices[u], choices[v]])
        chosen = {n: problem.strategies[v][choices[v]] for n, v in problem.place.items() if n in at}
        for _, keeper, nbytes in kept_values(problem, chosen):
            out.each[at[keeper]] += nbytes
        first: dict[str, int] = {}
        for n, i in at.items():
            first.setdefault(layer_name(n.scope, problem.joint.rematerialized), i)
        for layer in layers(problem, choices):
            out.layers[first[layer.name]].append(layer)
        return out

    def stage(self, flight: float, limit: float, twice: Collection[str]) -> Floats:
        """[i, k]: seconds of runs i to k - 1 as a stage; infinite where that is nothing, or does not fit.

        Args:
            flight: micro-batches in flight; limit: bytes per device; twice: layers that are computed twice.
        """
        seconds, held = self._costs(flight, twice)
        return np.where(held <= limit, seconds, np.inf)

    def choosing(self, flight: float, limit: float, bound: float) -> Floats:
        """The same with the layers computed twice that make a stage fit in the least time; infinite where that takes
        longer than ``bound``."""
        seconds, held = self._costs(flight, ())
        for i, k in np.argwhere((held > limit) & (seconds <= bound)):
            every = [layer for row in self.layers[i:k] for layer in row]
            which = cheapest(every, held[i, k] - limit, flight)
            seconds[i, k] = np.inf if which is None else seconds[i, k] + sum(every[j].seconds for j in which)
        return np.where(seconds <= bound, seconds, np.inf)

    def _costs(self, flight: float, twice: Collection[str]) -> tuple[Floats, Floats]:
        """[i, k]: seconds and bytes of runs i to k - 1."""
        again = [[layer for layer in row if layer.name in twice] for row in self.layers]
        seconds = _from_to(self.seconds + [sum(layer.seconds for layer in row) for row in again])
        held = _from_to(self.once + flight * (self.each - [sum(layer.saved for layer in row) for row in again]))
        tops = np.array([max((layer.saved for layer in row), default=0.0) for row in again])
        for i in range(len(tops)):
            held[i, i + 1 :] += np.maximum.accumulate(tops[i:])  # the largest is there once
        seconds[np.tril_indices(len(seconds))] = np.inf
        return seconds, held


def _received(problem: CostGraphBuilder, choices: Sequence[int], at: Mapping[Node, int], n: int) -> Floats:
    """[i, k]: seconds of receiving what runs i to k - 1 read of the runs before them, there and back."""
    nbytes, readers = np.zeros((n + 1, n + 1)), dict[Value, dict[int, float]]()
    for node, i in at.items():
        s = problem.strategies[problem.place[node]][choices[problem.place[node]]] if node in problem.place else None
        for v, layout in zip(node.inputs, s.inputs) if s is not None else ():
            if v.node is not None and v.node in problem.place and at[v.node] < i:
                readers.setdefault(v, {}).setdefault(i, part_bytes(problem.mesh, layout, v.type))
    for v, sizes in readers.items():
        for first in range(at[v.node] + 1, max(sizes) + 1) if v.node is not None else ():
            reader = min(i for i in sizes if i >= first)
            nbytes[first, reader + 1 :] += sizes[reader]
    link = problem.mesh.cluster.link(0, problem.mesh.size)
    return np.where(nbytes > 0, 2 * (link.latency + nbytes / link.bandwidth), 0.0)


def _from_to(row: Floats) -> Floats:
    """[i, k]: the sum of entries i to k - 1."""
    total = np.concatenate([[0.0], np.cumsum(row)])
    found: Floats = total[None, :] - total[:, None]
    return found


# ---- the best stages ----


@dataclass
class Stages:
    """What is known of the stages before they are cut.

    Attributes:
        sizes: per stage the numbers of devices that it may have; devices: of all together.
        flight: per stage the micro-batches in flight; micro: of a step; limit: bytes per device.
        said: the stage of every run, where somebody said it.
    """

    sizes: Sequence[Sequence[int]]
    devices: int
    flight: Sequence[float]
    micro: int
    limit: float
    said: Sequence[int] | None = None

    def best(self, tables: Mapping[int, StageCosts], twice: Collection[str] | None) -> Cut:
        """The cut with the shortest step.

        Args:
            tables: of every number of devices; twice: layers that are computed twice, None: those that the limit asks
                for.

        Raises:
            ValueError: there are fewer layers than stages, or no cut fits.
        """
        found = self.found(tables, twice)
        if found is None:
            n, runs = len(self.sizes), len(next(iter(tables.values())).layers)
            why = "fits into memory" if runs >= n else f"is there: the network has {runs} layers"
            raise AttributeValueError(f"no cut into {n} pipeline stages {why}.",
                                      hint="use fewer stages, more devices or smaller micro-batches.")  # fmt: skip
        return found

    def found(self, tables: Mapping[int, StageCosts], twice: Collection[str] | None) -> Cut | None:
        """The same; None where no cut fits."""
        if twice is not None:
            return self._cut(tables, lambda s, n: tables[n].stage(self.flight[s], self.limit, twice))
        every = {layer.name for table in tables.values() for row in table.layers for layer in row}
        whole = self._cut(tables, lambda s, n: tables[n].stage(self.flight[s], self.limit, every))
        if whole is None:
            return None
        bound = whole.step / self.micro * (1 + 1e-9)  # of a single stage: all layers twice is a way, and rounding
        return self._cut(tables, lambda s, n: tables[n].choosing(self.flight[s], self.limit, bound)) or whole

    def _cut(self, tables: Mapping[int, StageCosts], work: Callable[[int, int], Floats]) -> Cut | None:
        """The best cut by (stage, devices) -> the seconds of runs."""
        rows = [{n: Costs(self._as_said(s, work(s, n)), tables[n].received) for n in sizes}
                for s, sizes in enumerate(self.sizes)]  # fmt: skip
        return cut(rows, self.devices, self.micro)

    def _as_said(self, s: int, seconds: Floats) -> Floats:
        """The costs of a stage; infinite for other runs than somebody said."""
        if self.said is None:
            return seconds
        mine = [i for i, stage in enumerate(self.said) if stage == s]
        out = np.full_like(seconds, np.inf)
        out[mine[0], mine[-1] + 1] = seconds[mine[0], mine[-1] + 1]
        return out
