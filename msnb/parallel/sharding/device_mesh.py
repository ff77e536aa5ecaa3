"""Devices and the links between them: the cluster, the mesh laid over it, and what a collective costs there.

    one server of Ascend 910                      a mesh over 16 devices: factors (2, 2, 2, 2), outermost first
      0--1      4--5
      |\\/|      |\\/|     a group of four:          rank = a0*8 + a1*4 + a2*2 + a3
      |/\\| PCIe |/\\|     full mesh of HCCS         a0: server    a1: group of four    a2, a3: inside the group
      2--3 ---- 6--7     servers: RoCE

A mesh axis is a prime factor of the device count; an axis is spread over RoCE, over PCIe or inside a group of four, by
the stride of its ranks. Neighbours in rank are neighbours in space, so inner axes are the fast ones.

Collectives, n bytes in a rank's (full) buffer, p ranks, latency a per hop, bandwidth B (alpha-beta model):

    ring              all-reduce 2(p-1)a + 2(p-1)/p n/B      all-gather, reduce-scatter: half of it
    full mesh         reduce-scatter a + n/(pB)              p <= 4 on HCCS: every pair has a link of its own
    halving-doubling  all-reduce 2 log2(p) a + 2(p-1)/p n/B  p a power of two
    hierarchical      reduce-scatter inside, all-reduce of the parts across servers, all-gather inside
    all-to-all        per level of the network (p-1)a + what crosses it / B
    halo exchange     a + what a rank sends over one link / B

Sources. HCCS 3 links of 30 GB/s, PCIe 4.0 x16, RoCE 100 Gb/s per chip: HotChips 31 (Ascend 910), Huawei CCE topology
("four in one group interconnected through HCCS"). All links at their nominal speed, RoCE at 80% of 12.5 GB/s; 15 and 25
us per hop are assumptions. Nothing here is fitted. With all its links a server of eight would reach 68 GB/s of bus
bandwidth in an all-reduce: what a planner may count on. Gradients of MindSpore's data_parallel mode go by one ring of
the server, 30 GB/s, the speed of one link ("ring"): published runs imply 22 to 38.
Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in MPICH", 2005.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from msnb.base import AttributeValueError
from msnb.base.files.bounded_reader import MOST_AXES
from msnb.devices.ascend.chip import ASCEND310, ASCEND910, Chip as Chip

MAX_DEVICES = 4096
GATHER, SCATTER, REDUCE, EXCHANGE = "all_gather", "reduce_scatter", "all_reduce", "all_to_all"
HALO, HALO_ADD = "halo_exchange", "halo_add"  # rows of neighbours' images; terms of rows back to where the rows live
RING = "ring"  # an all-reduce, the plain way


@dataclass(frozen=True)
class Link:
    """A level of the network: seconds per hop and bytes per second."""

    latency: float
    bandwidth: float


@dataclass(frozen=True)
class Cluster:
    """A named topology.

    Args:
        name: "ascend910" (servers of eight, two groups of four), "ascend310" (cards on PCIe) or "uniform" (every pair
            of devices has the same link).
        servers: how many servers; None: as many as the devices of a plan need.
        software_profile: "0.5" or "0.2", the release of MindSpore whose habits are simulated: 0.2 did not append vector
            operators to matrix products and convolutions.
        amp_level: "O3" or "O2" (float32 activations and weights pass through memory with 16 bits, as in most training
            scripts of the vendor), or "O0" (with 32 bits, the matrix unit multiplies 16 of them nevertheless).
        chip: the devices; by default those of the name, Ascend 910 for "uniform", with the habits of
            ``software_profile`` and ``amp_level``.

    Raises:
        ValueError: an unknown name, or no server.

    Examples:
        >>> Cluster("ascend910", servers=2).devices
        16
    """

    name: str = "ascend910"
    servers: int | None = None
    chip: Chip = None  # type: ignore[assignment]
    software_profile: str = "0.5"
    amp_level: str = "O3"

    def __post_init__(self) -> None:
        if self.software_profile not in _FUSE:
            raise AttributeValueError(
                f"software_profile={self.software_profile!r} is not known; legal: {', '.join(map(repr, _FUSE))}."
            )
        if self.amp_level not in _HALF:
            raise AttributeValueError(f"amp_level={self.amp_level!r} is not known; legal: "
                                      f"{', '.join(map(repr, _HALF))}.")  # fmt: skip
        if self.chip is None:
            chip = ASCEND310 if self.name == "ascend310" else ASCEND910
            object.__setattr__(self, "chip", self._with_habits(chip))
        if self.name not in _LEVELS:
            raise AttributeValueError(f"no cluster is called {self.name!r}; legal: {', '.join(sorted(_LEVELS))}.")
        if self.servers is not None and not 1 <= self.servers <= MAX_DEVICES // 8:
            raise AttributeValueError(f"servers={self.servers} is not legal; legal: 1 to {MAX_DEVICES // 8}.")

    def _with_habits(self, chip: Chip) -> Chip:
        return replace(chip, fuse=_FUSE[self.software_profile], half=_HALF[self.amp_level])

    @property
    def levels(self) -> tuple[tuple[int, Link], ...]:
        """(devices per unit, link inside the unit), from the innermost; the last has no limit."""
        return _LEVELS[self.name]

    def link(self, a: int, b: int) -> Link:
        """The link between two devices."""
        return next(link for unit, link in self.levels if a // unit == b // unit)

    @property
    def meshed(self) -> bool:
        """Whether the devices of the innermost unit have a link for every pair."""
        return self.name == "ascend910"

    @property
    def devices(self) -> int | None:
        """How many devices there are; None without a limit."""
        return None if self.servers is None else self.servers * 8


_FUSE = {"0.5": 2, "0.2": 1}
_HALF = {"O3": True, "O2": True, "O0": False}
_HCCS, _PCIE, _ROCE = Link(15e-6, 30e9), Link(15e-6, 30e9), Link(25e-6, 10e9)
_LEVELS: dict[str, tuple[tuple[int, Link], ...]] = {
    "ascend910": ((4, _HCCS), (8, _PCIE), (MAX_DEVICES, _ROCE)),
    "ascend310": ((MAX_DEVICES, Link(25e-6, 32e9 / 4)),),
    "uniform": ((MAX_DEVICES, Link(0.0, 30e9)),),
}


def is_mesh(factors: Sequence[int]) -> bool:
    """True for sizes of axes that a mesh can have."""
    return len(factors) <= MOST_AXES and all(n > 0 for n in factors) and math.prod(factors) <= MAX_DEVICES


def prime_factors(n: int) -> list[int]:
    """Ascending, with repetition."""
    out, f = [], 2
    while n > 1:
        while n % f == 0:
            out.append(f)
            n //= f
        f += 1
    return out


@dataclass(frozen=True)
class Mesh:
    """Devices as a grid of prime factors over a cluster.

    Args:
        factors: sizes of the axes, outermost (farthest apart) first.
        cluster: the links.

    Examples:
        >>> Mesh.over(16).factors
        (2, 2, 2, 2)
    """

    factors: tuple[int, ...]
    cluster: Cluster = field(default_factory=Cluster)

    @staticmethod
    def over(devices: int, cluster: Cluster | None = None) -> Mesh:
        """The mesh of this many devices: large factors outside, twos inside.

        Raises:
            ValueError: more devices than the cluster has, or fewer than one.
        """
        cluster = cluster or Cluster()
        limit = cluster.devices or MAX_DEVICES
        if not isinstance(devices, int) or not 1 <= devices <= limit:
            raise AttributeValueError(f"device_num={devices} is not legal on {cluster.name}; legal: 1 to {limit}.")
        return Mesh(tuple(reversed(prime_factors(devices))), cluster)

    @property
    def size(self) -> int:
        """Number of devices."""
        return math.prod(self.factors)

    @cached_property
    def coordinates(self) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
        """[devices, axes]: where each rank stands."""
        grid = np.indices(self.factors or (1,)).reshape(max(len(self.factors), 1), -1).T
        return np.asarray(grid[:, : len(self.factors)], dtype=np.int64, order="C")

    def count(self, axes: Iterable[int]) -> int:
        """How many ways these axes split something."""
        return math.prod(self.factors[a] for a in axes)

    def groups(self, axes: tuple[int, ...]) -> list[list[int]]:
        """The ranks that differ in ``axes`` alone, each group in the order of ``axes`` (the first is the slowest)."""
        index = np.arange(self.size).reshape(self.factors or (1,))
        rest = [a for a in range(len(self.factors)) if a not in axes]
        rows = index.transpose(*rest, *axes).reshape(-1, self.count(axes)) if self.factors else index.reshape(1, 1)
        return [[int(r) for r in row] for row in rows]

    def position(self, axes: Iterable[int], rank: int) -> int:
        """Where a rank stands in its group over these axes, which is the number of its piece of what they split."""
        at = 0
        for a in axes:
            at = at * self.factors[a] + int(self.coordinates[rank][a])
        return at

    def stride(self, axis: int) -> int:
        """How far apart in rank two neighbours along an axis are."""
        return math.prod(self.factors[axis + 1 :])

    def spread(self, axes: Iterable[int]) -> tuple[int, ...]:
        """How many ways the axes split each level of the network, innermost first."""
        units = [unit for unit, _ in self.cluster.levels]
        out = [1] * len(units)
        for a in axes:
            reach = self.stride(a) * self.factors[a]
            out[next(i for i, unit in enumerate(units) if reach <= unit)] *= self.factors[a]
        return tuple(out)

    # ---- seconds ----

    def seconds(self, kind: str, axes: tuple[int, ...], nbytes: float) -> float:
        """Simulated seconds of a collective.

        Args:
            kind: "all_reduce", "all_gather", "reduce_scatter", "all_to_all", or "ring": an all-reduce as MindSpore's
                data_parallel mode does it.
            axes: the mesh axes of its groups.
            nbytes: bytes a rank puts in.
        """
        known = self._seconds.get((kind, axes, nbytes))
        if known is None:
            known = self._seconds[kind, axes, nbytes] = self._timed(kind, axes, nbytes)
        return known

    @cached_property
    def _seconds(self) -> dict[tuple[str, tuple[int, ...], float], float]:
        return {}

    def _timed(self, kind: str, axes: tuple[int, ...], nbytes: float) -> float:
        return self._over(kind, self.spread(axes), nbytes)

    def seconds_among(self, kind: str, ranks: Sequence[int], nbytes: float) -> float:
        """Simulated seconds of a collective among some ranks: how many it has on each level of the network counts.

        Args:
            kind: as for ``seconds``, or "broadcast" (half an all-reduce), or "neighbors" (messages to single ranks).
            ranks: those who talk; nbytes: bytes a rank puts in.
        """
        levels: list[int] = []
        inside = 1
        for unit, _ in self.cluster.levels:
            most = max(np.unique([r // unit for r in ranks], return_counts=True)[1])
            levels.append(-(-int(most) // inside))
            inside = max(inside, int(most))
        if kind == "neighbors" and len(ranks) > 1:
            latency, bandwidth = self._slowest(tuple(levels))
            return latency + nbytes / bandwidth
        return self._over({"broadcast": SCATTER}.get(kind, kind), tuple(levels), nbytes)

    def seconds_between(self, axes: tuple[int, ...], loads: Mapping[tuple[int, int], float]) -> float:
        """Simulated seconds of messages between single ranks of a group, all at once.

        A device's messages share its link of a level of the network; on a full mesh every pair has one of its own.

        Args:
            axes: the mesh axes of the groups; loads: (sender, receiver), as positions in a group -> bytes.
        """
        group, meshed = self.groups(axes)[0], self.cluster.meshed
        busy: dict[tuple[Link, int, int], float] = {}
        for (sender, receiver), nbytes in loads.items():
            link = self.cluster.link(group[sender], group[receiver])
            alone = meshed and link is self.cluster.levels[0][1]
            key = link, sender, receiver if alone else -1
            busy[key] = busy.get(key, 0.0) + nbytes
        return max((link.latency + n / link.bandwidth for (link, _, _), n in busy.items()), default=0.0)

    def _over(self, kind: str, levels: tuple[int, ...], nbytes: float) -> float:
        """Seconds of a collective that splits the levels of the network so."""
        p = math.prod(levels)
        if p == 1:
            return 0.0
        if kind == EXCHANGE:
            return self._exchange(levels, p, nbytes)
        if kind == RING:
            return 2 * self._ring(levels, nbytes)
        full = nbytes * p if kind == GATHER else nbytes
        half = min(self._flat(levels, p, full), self._nested(levels, full))
        return half if kind != REDUCE else min(2 * half, self._doubling(levels, p, full))

    def _slowest(self, levels: tuple[int, ...]) -> tuple[float, float]:
        used = [link for n, (_, link) in zip(levels, self.cluster.levels) if n > 1]
        return max(link.latency for link in used), min(link.bandwidth for link in used)

    def _exchange(self, levels: tuple[int, ...], p: int, nbytes: float) -> float:
        """Every rank sends a p-th to every other; what stays inside a unit does not load the links between units."""
        total, inside = 0.0, 1
        for i, (n, (_, link)) in enumerate(zip(levels, self.cluster.levels)):
            wide = n - 1 if i == 0 and self.cluster.meshed else 1
            if n > 1:
                total += (n - 1) / wide * (link.latency + inside * nbytes / p / link.bandwidth)
            inside *= n
        return total

    def _flat(self, levels: tuple[int, ...], p: int, full: float) -> float:
        """One ring over all; a group of four on full mesh sends to all at once."""
        a, b = self._slowest(levels)
        if self.cluster.meshed and levels[0] == p:
            return a + full / p / b
        return (p - 1) * a + (p - 1) / p * full / b

    def _nested(self, levels: tuple[int, ...], full: float) -> float:
        """Level by level, from the inside: each passes on a part only."""
        total = 0.0
        for i, n in enumerate(levels):
            if n > 1:
                total += self._flat(tuple(n if j == i else 1 for j in range(len(levels))), n, full)
                full /= n
        return total

    def _ring(self, levels: tuple[int, ...], full: float) -> float:
        """Half an all-reduce by one ring inside every server, and one across the servers."""
        total, alone = 0.0, (1,) * len(levels)
        for part in ((*levels[:-1], 1), (*alone[:-1], levels[-1])):
            n = math.prod(part)
            if n > 1:
                a, b = self._slowest(part)
                total += (n - 1) * a + (n - 1) / n * full / b
                full /= n
        return total

    def _doubling(self, levels: tuple[int, ...], p: int, full: float) -> float:
        if p & (p - 1):
            return math.inf
        a, b = self._slowest(levels)
        return 2 * math.log2(p) * a + 2 * (p - 1) / p * full / b


def sent_bytes(kind: str, p: int, nbytes: int) -> int:
    """Bytes that a rank sends for a collective into which it puts ``nbytes`` (a ring's, or any optimal algorithm's)."""
    if p == 1:
        return 0
    if kind == GATHER:
        return (p - 1) * nbytes
    part = nbytes * (p - 1) // p
    return 2 * part if kind == REDUCE else part
