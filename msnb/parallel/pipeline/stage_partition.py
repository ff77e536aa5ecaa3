"""Where to cut a row of layers into stages, and how many devices to give each.

    layers    a b c | d | e f g h         stage s: layers i to k - 1 on n devices work work[s][n][i, k] seconds for a
    devices     2     1      4            micro-batch, and wait wait[s][n][i, k] for what they read of others

A step of m micro-batches takes the work and the waits of all stages, and m - 1 times the work of the longest: a
pipeline without other bubbles than its own, whatever the schedule; later micro-batches travel while others are worked
on. Under a bound for the longest, the least sum is a shortest path over (stage, layers behind, devices used). The
bounds that matter are the work of single stages: the larger the bound the less the sum, so between two bounds that were
tried nothing can be better than the sum of the upper with the bound of the lower, and most are never tried. Exact.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from msnb.parallel.search.cost_graph import Floats

_ALIKE = 1e-9  # bounds closer to each other than this, as a share, are one: rounding


@dataclass(frozen=True)
class Cut:
    """A row of layers in stages.

    Attributes:
        ends: behind the last layer of every stage; devices: of every stage.
        total: seconds of all stages; longest: work of the longest; step: seconds of a step.
    """

    ends: tuple[int, ...]
    devices: tuple[int, ...]
    total: float
    longest: float
    step: float

    @property
    def stages(self) -> list[int]:
        """The stage of every layer."""
        return [s for s, (a, b) in enumerate(pairwise((0, *self.ends))) for _ in range(a, b)]


@dataclass(frozen=True)
class Costs:
    """What layers i to k - 1 cost as a stage, at [i, k].

    Attributes:
        work: seconds of a micro-batch, infinite where these layers cannot be a stage; wait: seconds until it is there.
    """

    work: Floats
    wait: Floats


Row = Mapping[int, Costs]  # of a stage, by the number of devices that it may have


def cut(stages: Sequence[Row], devices: int, micro: int) -> Cut | None:
    """The cut with the shortest step.

    Args:
        stages: per stage: devices that it may have -> what layers cost on them.
        devices: of all stages together; micro: micro-batches of a step.

    Returns:
        The cut; None where there is none.

    Examples:
        >>> work = np.array([[np.inf, 3.0, 4.0], [np.inf, np.inf, 1.0], [np.inf, np.inf, np.inf]])
        >>> row = {n: Costs(work / n, np.zeros((3, 3))) for n in (1, 2)}
        >>> found = cut([row] * 2, 3, 4)
        >>> found.ends, found.devices, found.step
        ((1, 2), (2, 1), 7.0)
    """
    return _Bounds(stages, devices, micro).best()


class _Bounds:
    """Cuts under bounds for the longest stage, and the best of those that were tried.

    Attributes:
        bounds: the work of single stages, rising; unit: devices are counted in so many.
    """

    def __init__(self, stages: Sequence[Row], devices: int, micro: int) -> None:
        self.stages, self.micro = stages, micro
        self.unit = int(np.gcd.reduce([devices, *(n for row in stages for n in row)]))
        self.units = devices // self.unit
        work = np.unique(np.concatenate([c.work[np.isfinite(c.work)] for row in stages for c in row.values()]))
        self.bounds = work[np.append(np.diff(work) > _ALIKE * work[1:], True)[: len(work)]]
        self.found: Cut | None = None

    def best(self) -> Cut | None:
        """The cut with the shortest step."""
        low, high = -1, len(self.bounds) - 1
        under = self._least(high) if high >= 0 else None
        if under is None:
            return None
        while high - low > 1:  # the smallest bound under which there is a cut
            middle = (low + high) // 2
            found = self._least(middle)
            low, high = (middle, high) if found is None else (low, middle)
        self._between(high, len(self.bounds) - 1, under)
        return self.found

    def _between(self, low: int, high: int, under: Cut) -> None:
        """Try bounds between two that were tried; ``under`` is the cut of the upper one."""
        while high - low > 1:
            assert self.found is not None
            if under.total + (self.micro - 1) * self.bounds[low + 1] >= self.found.step:
                return
            middle = (low + high) // 2
            found = self._least(middle)
            assert found is not None, "under a larger bound there is a cut"
            self._between(middle, high, under)
            high, under = middle, found

    def _least(self, bound: int) -> Cut | None:
        """The cut with the least sum of seconds under a bound."""
        layers, least = len(next(iter(self.stages[0].values())).work), float(self.bounds[bound])
        start = np.full((layers, self.units + 1), np.inf)
        start[0, 0] = 0.0
        behind = [start]
        costs = [{n // self.unit: np.where(c.work <= least, c.work + c.wait, np.inf) for n, c in row.items()}
                 for row in self.stages]  # fmt: skip
        for row in costs:
            behind.append(_after(behind[-1], row))
        if not np.isfinite(behind[-1][-1, -1]):
            return None
        found = self._cut(behind, costs)
        if self.found is None or found.step < self.found.step:
            self.found = found
        return found

    def _cut(self, behind: Sequence[Floats], costs: Sequence[Mapping[int, Floats]]) -> Cut:
        """The way back through the table."""
        k, d = (n - 1 for n in behind[-1].shape)
        ends, devices, work = [], [], []
        total = float(behind[-1][k, d])
        for s in reversed(range(len(costs))):
            before, after, row = behind[s], behind[s + 1], costs[s]
            ends.append(k)
            i, n = next((int(i), n) for n, m in row.items() if n <= d
                        for i in np.flatnonzero(before[:, d - n] + m[:, k] == after[k, d]))  # fmt: skip
            devices.append(n * self.unit)
            work.append(float(self.stages[s][n * self.unit].work[i, k]))
            k, d = i, d - n
        longest = max(work)
        step = total + (self.micro - 1) * longest
        return Cut(tuple(reversed(ends)), tuple(reversed(devices)), total, longest, step)


def _after(before: Floats, row: Mapping[int, Floats]) -> Floats:
    """[layers behind, devices used] -> least seconds, one stage on."""
    out = np.full_like(before, np.inf)
    for n, m in row.items():
        for k in range(1, len(m)) if n < before.shape[1] else ():
            (near,) = np.nonzero(np.isfinite(m[:, k]))
            if len(near):
                least = (before[near, : before.shape[1] - n] + m[near, k, None]).min(axis=0)
                np.minimum(out[k, n:], least, out=out[k, n:])
    return out
