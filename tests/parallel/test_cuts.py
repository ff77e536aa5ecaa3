"""Layers into stages and devices to stages: the shortest step of all cuts, of all ways to share out the devices, and of
all choices of layers that are computed twice."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, note, settings, strategies as st

from msnb.parallel.pipeline.options import PipelineOptions
from msnb.parallel.pipeline.stage_assignment import StageCosts, Stages
from msnb.parallel.pipeline.stage_partition import Costs, cut
from msnb.parallel.planner.rematerialization import Layer, freed


def ways(layers, sizes, devices):
    """Every cut with every way to share out the devices: per stage (first layer, behind the last, devices)."""
    for ends in itertools.combinations(range(1, layers), len(sizes) - 1):
        runs = list(itertools.pairwise((0, *ends, layers)))
        for shares in itertools.product(*sizes):
            if sum(shares) == devices:
                yield [(i, k, n) for (i, k), n in zip(runs, shares)]


def step(costs, micro):
    """Of (work, wait) of every stage."""
    return sum(map(sum, costs)) + (micro - 1) * max(work for work, _ in costs)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 6), st.integers(1, 3), st.integers(0, 4), st.integers(2, 9))
def test_the_cut_with_the_shortest_step(seed, layers, stages, more, micro):
    note(f"seed {seed}")
    rng, devices = np.random.default_rng(seed), stages + more
    costs = []
    for _ in range(stages):
        sizes = sorted({1, *rng.integers(1, devices + 1, 2).tolist()})
        costs.append({n: Costs(*rng.integers(1, 20, (2, layers + 1, layers + 1)).astype(float)) for n in sizes})
        for c in costs[-1].values():
            c.work[np.tril_indices(layers + 1)] = np.inf
            c.work[rng.random(c.work.shape) < 0.2] = np.inf

    def of(way):
        return step([(costs[s][n].work[i, k], costs[s][n].wait[i, k]) for s, (i, k, n) in enumerate(way)], micro)

    want = min((of(way) for way in ways(layers, costs, devices)), default=np.inf)
    found = cut(costs, devices, micro)
    if found is None:
        assert want == np.inf
        return
    assert found.step == pytest.approx(want) and sum(found.devices) == devices
    runs = itertools.pairwise((0, *found.ends))
    assert of([(i, k, n) for (i, k), n in zip(runs, found.devices)]) == pytest.approx(found.step)


def tables(rng, layers, sizes):
    """Layers of two kinds, which devices make faster by less than their number."""
    kinds = rng.integers(0, 2, layers)
    seconds, once, each = (rng.integers(1, 9, 2)[kinds].astype(float) for _ in range(3))
    saved = [float(rng.integers(0, x + 1)) for x in (each.min(), each.min())]
    out = {}
    for n in sizes:
        speed = n ** rng.choice([0.0, 0.5, 1.0])
        again = [[Layer(f"l{i}", seconds[i] / 3 / speed, saved[kinds[i]] / n)] for i in range(layers)]
        received = rng.integers(0, 5, (layers + 1, layers + 1)) / n
        out[n] = StageCosts(seconds / speed, once / n, each / n, again, received)
    return out


def cheapest_stage(table, i, k, flight, limit, twice):
    """A stage by trying all layers that could be computed twice, or those that are."""
    inside = [row[0] for row in table.layers[i:k]]
    sets = [[x for x in inside if x.name in twice]] if twice is not None else [
        list(which) for n in range(len(inside) + 1) for which in itertools.combinations(inside, n)]  # fmt: skip
    held = table.once[i:k].sum() + flight * table.each[i:k].sum()
    fits = [sum(x.seconds for x in which) for which in sets if held - freed(which, flight) <= limit]
    return table.seconds[i:k].sum() + min(fits, default=np.inf), table.received[i, k]


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(1, 3), st.integers(0, 3), st.sampled_from("nsa"))
def test_stages_with_layers_computed_twice(seed, layers, stages, more, choice):
    note(f"seed {seed}")
    rng, devices = np.random.default_rng(seed), stages + more
    sizes, micro = list(range(1, more + 2)), stages + 1
    known = tables(rng, layers, sizes)
    limit = float(rng.integers(5, 60)) + 0.001  # away from sums of whole numbers
    flight = [float(stages - s) for s in range(stages)]
    twice = {"n": set(), "s": {"l0", "l2"}, "a": None}[choice]
    every = [[cheapest_stage(known[n], i, k, flight[s], limit, twice) for s, (i, k, n) in enumerate(way)]
             for way in ways(layers, [sizes] * stages, devices)]  # fmt: skip
    want = min((step(costs, micro) for costs in every), default=np.inf)
    made = Stages([sizes] * stages, devices, flight, micro, limit)
    if want == np.inf:
        with pytest.raises(ValueError, match="pipeline stages"):
            made.best(known, twice)
    else:
        assert made.best(known, twice).step == pytest.approx(want)


def test_stages_that_somebody_said():
    table = StageCosts(np.array([1.0, 1.0, 4.0]), np.zeros(3), np.zeros(3), [[], [], []], np.zeros((4, 4)))
    half = replace(table, seconds=table.seconds / 2)
    free, said = (Stages([(1, 2)] * 2, 3, (2.0, 1.0), 4, np.inf, where) for where in (None, [0, 1, 1]))
    assert free.best({1: table, 2: half}, set()).stages == [0, 0, 1]
    found = said.best({1: table, 2: half}, set())
    assert found.stages == [0, 1, 1] and found.devices == (1, 2)


@pytest.mark.parametrize("how, piece", [
    ((3, "1f1b", 1, None), "does not divide 8 devices; legal: 1, 2, 4, 8"),
    ((2, "1f1b", 1, (1, 3)), "8 devices in all, or 'auto'"),
    ((2, "1f1b", 1, (True, 7)), "one number of devices per stage"),
    ((2, "1f1b", 1, "all"), "stage_devices='all' is not legal"),
    ((9, "1f1b", 1, "auto"), "too few for 9 pipeline stages; legal: 1 to 8"),
    ((2, "interleaved", 2, "auto"), "use '1f1b' or 'gpipe'"),
])  # fmt: skip
def test_stages_that_cannot_be(how, piece):
    with pytest.raises(ValueError) as told:
        PipelineOptions(*how).sizes(8)
    assert piece in str(told.value)
