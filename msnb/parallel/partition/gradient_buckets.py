"""Which gradients are reduced together: all-reduce fusion by gradient readiness.

    compute  | backward: g0 ready  g1   g2         g3 |            |
    network              | bucket {g0,g1} |  | {g2,g3}             |
                                                      '-- tail ----'
Gradients get ready from the last layer to the first. A bucket is a run of neighbours in that order; its all-reduce
starts when its last gradient is ready and the network is free. Few buckets save latency, many start early: what counts
is the tail, the time that the network needs on after the backward pass.

``all``          one bucket                            ``single``     one bucket per gradient
``size``         buckets of so many bytes (64 MB)      ``index``      [85, 160]: cut behind gradients 85 and 160
``algorithm_1``  MindSpore: the axis of backward cost is cut into ``fusion_times`` parts, the last one ``tail_percent``
``algorithm_2``  MindSpore: the last bucket fits into ``tail_time``, every other one into the computation of the next
``optimal``      the least tail of all cuts: end(j) = min over i < j of max(ready(j), end(i)) + seconds(i..j)

The cost of a weight on MindSpore's axis (``cost="features"``) is the sum of the feature maps behind it, over all ways
to the loss: a skip connection counts both ways, so the axis doubles from block to block and its upper half is the stem
of a ResNet. ``cost="time"`` takes the simulated moment of readiness instead.
Source: mindspore/ccsrc/frontend/parallel/allreduce_fusion (SetFusionByBackwardCompTime, ...AndAllreduceTime);
`mindspore.set_auto_parallel_context`
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb.base import AttributeValueError, Setting, is_int, is_number
from msnb.ir.graph import Node, Value
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.cost_model import BUCKET
from msnb.parallel.program.optimizer_sharding import gradients_of
from msnb.parallel.program.spmd_program import static_type
from msnb.parallel.program.training_graph import TrainingGraph
from msnb.parallel.search.cost_graph import Floats
from msnb.parallel.sharding.device_mesh import REDUCE, Mesh

ALGORITHMS = ("all", "single", "size", "index", "algorithm_1", "algorithm_2", "optimal")


@dataclass(frozen=True)
class Gradient:
    """A gradient that waits to be summed.

    Attributes:
        name: its weight.
        ready: seconds from the beginning of the step, simulated.
        nbytes: bytes of a rank's part; axes: the mesh axes that it is summed over;
        kind: "all_reduce", or "reduce_scatter" where the optimizer is sharded.
    """

    name: str
    ready: float
    nbytes: float
    axes: tuple[int, ...]
    kind: str = REDUCE


@dataclass(frozen=True)
class Segments:
    """A way to cut, and what it comes to (simulated).

    Attributes:
        algorithm: how it was found; gradients: in order of readiness.
        cuts: positions behind which a bucket ends (the last gradient left out): MindSpore's all_reduce_fusion_config.
        events: (start, end, bytes) per bucket.
        computed: when the backward pass ends; tail: seconds that the network needs after that.
    """

    algorithm: str
    gradients: tuple[Gradient, ...]
    cuts: tuple[int, ...]
    events: tuple[tuple[float, float, float], ...]
    computed: float

    @property
    def tail(self) -> float:
        """Seconds from the end of the backward pass to the end of the last all-reduce."""
        return max(0.0, self.events[-1][1] - self.computed) if self.events else 0.0

    @property
    def buckets(self) -> list[tuple[str, ...]]:
        """Names of the weights, bucket by bucket, the first to be sent first."""
        ends = [*(c + 1 for c in self.cuts), len(self.gradients)]
        return [tuple(g.name for g in self.gradients[a:b]) for a, b in zip([0, *ends], ends) if b > a]

    @property
    def fusion(self) -> dict[str, int]:
        """Weight -> number of its bucket as MindSpore counts them: 1 is the last to be sent."""
        groups = self.buckets
        return {name: len(groups) - i for i, group in enumerate(groups) for name in group}

    def __str__(self) -> str:
        lines = [f"{self.algorithm}: {len(self.events)} all-reduces, backward ends at {self.computed * 1e3:.3f} ms, "
                 f"tail {self.tail * 1e3:.3f} ms (simulated)",
                 f"  {'start ms':>9} {'end ms':>9} {'MB':>9}  gradients"]  # fmt: skip
        for (a, b, n), names in zip(self.events, self.buckets):
            said = names[0] if len(names) == 1 else f"{names[0]} ... {names[-1]} ({len(names)})"
            lines.append(f"  {a * 1e3:9.3f} {b * 1e3:9.3f} {n / 1e6:9.3f}  {said}")
        return "\n".join(lines)


Seconds = Callable[[Sequence[Gradient]], float]


def reduced(mesh: Mesh) -> Seconds:
    """Seconds of a bucket: one all-reduce per group of ranks that its gradients are summed over."""

    def seconds(bucket: Sequence[Gradient]) -> float:
        held: dict[tuple[str, tuple[int, ...]], float] = {}
        for g in bucket:
            held[g.kind, g.axes] = held.get((g.kind, g.axes), 0.0) + g.nbytes
        return sum(mesh.seconds(*key, n) for key, n in held.items())

    return seconds


def scheduled(gradients: Sequence[Gradient], cuts: Sequence[int], seconds: Seconds, computed: float,
              algorithm: str = "index") -> Segments:  # fmt: skip
    """The buckets of given cuts on the clock."""
    events, now, start = [], 0.0, 0
    for end in [*(c + 1 for c in cuts), len(gradients)]:
        bucket = gradients[start:end]
        if bucket:
            begin = max(now, max(g.ready for g in bucket))
            now = begin + seconds(bucket)
            events.append((begin, now, sum(g.nbytes for g in bucket)))
        start = end
    return Segments(algorithm, tuple(gradients), tuple(cuts), tuple(events), computed)


# ---- the ways to cut ----


def optimal(ready: Sequence[float], seconds: Floats) -> tuple[int, ...]:
    """The cuts after which the last all-reduce ends first; of those the one with the fewest buckets.

    Args:
        ready: moments of readiness, rising.
        seconds: [i, j]: of the bucket from gradient i up to, not including, j.

    An earlier end of a prefix is never worse for what follows, so per prefix (and number of buckets) the earliest end
    is enough: dynamic programming.
    """
    n = len(ready)
    if n < 2:
        return ()
    latest = np.concatenate([[0.0], np.maximum.accumulate(ready)])
    goal = np.zeros(n + 1)
    for j in range(1, n + 1):
        goal[j] = (np.maximum(latest[j], goal[:j]) + seconds[:j, j]).min()
    ends, origin = [np.array([0.0] + [np.inf] * n)], []
    while ends[-1][n] > goal[n] * (1 + 1e-12):  # one bucket more
        total = np.maximum(latest[None, :], ends[-1][:, None]) + seconds
        origin.append(total.argmin(axis=0))
        ends.append(total.min(axis=0))
    cuts, j = [], n
    for row in reversed(origin):
        j = int(row[j])
        cuts.append(j - 1)
    return tuple(reversed(cuts[:-1]))


def by_size(gradients: Sequence[Gradient], nbytes: float) -> tuple[int, ...]:
    """A bucket ends with the gradient that fills it."""
    cuts, held = [], 0.0
    for i, g in enumerate(gradients[:-1]):
        held += g.nbytes
        if held >= nbytes:
            cuts.append(i)
            held = 0.0
    return tuple(cuts)


def by_cost(costs: Sequence[float], times: int, tail_percent: float) -> tuple[int, ...]:
    """MindSpore's algorithm 1: ends of parts on the cost axis, the tail last, the rest in equal parts.

    Args:
        costs: per gradient in order of readiness; times: how many parts; tail_percent: share of the last part, 0 to 1.
    """
    most = max(costs, default=0.0)
    step = most * (1 - tail_percent) / (times - 1)
    ends = [step * (i + 1) for i in range(times - 1)]
    part = [sum(c > end * (1 + 1e-12) for end in ends) for c in costs]
    return tuple(i for i in range(len(costs) - 1) if max(part[: i + 1]) < min(part[i + 1 :]))


def by_tail(gradients: Sequence[Gradient], tail_time: float, inherent: float, bandwidth: float, share: float,
            computed: float) -> tuple[int, ...]:  # fmt: skip
    """MindSpore's algorithm 2, from the last gradient backward: the last bucket can be sent in ``tail_time``, every
    other one in the computation that its successor waits for.

    Args:
        tail_time: seconds; inherent: seconds of latency per all-reduce; bandwidth: bytes/s; share: of the computation
            that hides communication; computed: when the backward pass ends.
    """
    cuts: list[int] = []
    room, upper = (tail_time - inherent) * bandwidth, computed
    held = 0.0
    for i in range(len(gradients) - 1, -1, -1):
        if held and held + gradients[i].nbytes > room:
            cuts.append(i)
            lower = gradients[i].ready  # this gradient's bucket is sent while the next one is computed
            room, upper, held = max(0.0, (upper - lower) * share - inherent) * bandwidth, lower, 0.0
        held += gradients[i].nbytes
    return tuple(reversed(cuts))


# ---- what a plan says ----


def names_of_late(joint: TrainingGraph) -> dict[Value, str]:
    """Gradients on their way (sums, casts, views) -> the weight that they belong to."""
    out: dict[Value, str] = {}
    for weight, value in gradients_of(joint):
        todo = [value]
        while todo:
            v = todo.pop()
            if v not in out:
                out[v] = weight.name
                if v.node is not None and (v.node.op.name == "cast" or v.node.op.view in ("transpose", "reshape")):
                    todo += v.node.inputs
    return out


def feature_costs(problem: CostGraphBuilder) -> dict[str, float]:
    """Weight -> bytes of feature maps between it and the loss, summed over all ways.

    A Cell that owns weights counts as one operator, as a batch norm is one for MindSpore: inside of it the longest way
    counts, between Cells every way.
    """
    flow = problem.flow
    owners = {n.scope for n in problem.graph.nodes for v in n.inputs if v in flow.weights and n.scope}
    cost: dict[Node, float] = {}
    readers: dict[Value, list[Node]] = {}
    for node in reversed(problem.graph.nodes):
        learned = [v for v in node.outputs if v in flow.gradient]
        own = sum(t.nbytes for v in learned if v not in flow.derived and (t := static_type(v)))
        cost[node] = _behind(node, own, {r: cost[r] for v in learned for r in readers.get(v, ())}, owners)
        for v in node.inputs if learned else ():
            readers.setdefault(v, []).append(node)
    return {w.name: max(cost[r] for r in readers[w]) for w in flow.weights if w in readers}


def _behind(node: Node, own: float, after: Mapping[Node, float], owners: Collection[str]) -> float:
    """Bytes of feature maps from a node to the loss.

    Args:
        own: bytes of its results; after: reader -> its bytes; owners: paths of Cells that count as one operator.
    """
    ways: dict[Any, float] = {}
    for reader, cost in after.items():
        unit = reader.scope if reader.scope in owners else reader
        ways[unit] = max(ways.get(unit, 0.0), cost)
    inside = ways.pop(node.scope, 0.0) if node.scope in owners else 0.0
    return max(sum(ways.values()) + (0.0 if inside else own), inside)


SETTINGS: dict[str, Setting] = {
    "nbytes": Setting(BUCKET, "a number of bytes above 0", lambda v: v > 0),
    "fusion_times": Setting(2, "an int of at least 2", is_int(2)),
    "tail_percent": Setting(0.1, "a number above 0 and below 1", lambda v: 0 < v < 1),
    "tail_time": Setting(1e-3, "seconds above 0", lambda v: v > 0),
    "inherent_time": Setting(1e-4, "seconds of at least 0", lambda v: v >= 0),
    "bandwidth": Setting(30e9, "bytes per second above 0", lambda v: v > 0),
    "computation_time_parameter": Setting(1.0, "a number above 0", lambda v: v > 0),
}


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    out = {name: setting.default for name, setting in SETTINGS.items()}
    for name, value in given.items():
        if name not in SETTINGS:
            raise AttributeValueError(f"gradient segmentation has no setting {name!r}; legal: {', '.join(SETTINGS)}, "
                                      "index, cost.")  # fmt: skip
        if not is_number(value) or not SETTINGS[name].check(value):
            raise AttributeValueError(f"{name}={value!r} is not legal; legal: {SETTINGS[name].legal}.")
        out[name] = value
    if out["tail_time"] <= out["inherent_time"]:
        raise AttributeValueError(f"tail_time={out['tail_time']} must be longer than inherent_time="
                                  f"{out['inherent_time']}, which every all-reduce takes.")  # fmt: skip
    return out


def segmented(gradients: Sequence[Gradient], mesh: Mesh, computed: float,
              algorithm: str = "optimal", index: Sequence[int] = (), costs: Sequence[float] | None = None,
              **settings: Any) -> Segments:  # fmt: skip
    """Cut gradients into buckets.

    Args:
        gradients: in order of readiness; computed: when the backward pass ends, in seconds.
        algorithm: "optimal", "algorithm_1", "algorithm_2", "size", "index", "all", "single".
        index: for "index", the last gradient of each bucket.
        costs: for "algorithm_1", the cost axis (readiness by default).
        **settings: nbytes ("size"); fusion_times, tail_percent ("algorithm_1"); tail_time, inherent_time, bandwidth,
            computation_time_parameter ("algorithm_2").

    Raises:
        ValueError: an unknown algorithm or setting, or a value that is not legal.
    """
    if algorithm not in ALGORITHMS:
        raise AttributeValueError(f"no way to cut gradients is called {algorithm!r}; legal: {', '.join(ALGORITHMS)}.")
    s, n = _settings(settings), len(gradients)
    seconds = reduced(mesh)
    if algorithm == "index":
        cuts = _index(index, n)
    elif algorithm == "algorithm_1":
        axis = [g.ready - gradients[0].ready for g in gradients] if costs is None else costs
        cuts = by_cost(axis, s["fusion_times"], s["tail_percent"])
    elif algorithm == "algorithm_2":
        cuts = by_tail(gradients, s["tail_time"], s["inherent_time"], s["bandwidth"],
                       s["computation_time_parameter"], computed)  # fmt: skip
    elif algorithm == "size":
        cuts = by_size(gradients, s["nbytes"])
    elif algorithm == "optimal":
        cuts = optimal([g.ready for g in gradients], _between(gradients, mesh))
    else:
        cuts = tuple(range(n - 1)) if algorithm == "single" else ()
    return scheduled(gradients, cuts, seconds, computed, algorithm)


def _between(gradients: Sequence[Gradient], mesh: Mesh) -> Floats:
    """Seconds of every bucket by its ends, from sums of bytes."""
    n = len(gradients)
    out = np.zeros((n + 1, n + 1))
    for key in {(g.kind, g.axes) for g in gradients}:
        held = np.cumsum([0.0, *(g.nbytes if (g.kind, g.axes) == key else 0.0 for g in gradients)])
        many, place = np.unique(held[None, :] - held[:, None], return_inverse=True)
        out += np.array([mesh.seconds(*key, m) if m > 0 else 0.0 for m in many])[place].reshape(n + 1, n + 1)
    out[np.tril_indices(n + 1)] = np.inf
    return out


def _index(index: Sequence[int], n: int) -> tuple[int, ...]:
    rising = all(a < b for a, b in zip(index, index[1:]))
    if not rising or not all(isinstance(i, int) and 0 <= i < max(n, 1) for i in index):
        raise AttributeValueError(f"index={list(index)} does not fit {n} gradients: positions from 0 to {n - 1}, "
                                   "rising.")  # fmt: skip
    return tuple(i for i in index if i < n - 1)
