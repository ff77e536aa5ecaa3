"""Which gradients are reduced together: the optimal cut is the best of all, MindSpore's algorithms cut as there."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from deep import ResNet50, whole_numbers, zeros
from hypothesis import given, note, settings, strategies as st

import msnb as ms
from msnb import nn, ops
from msnb.parallel.partition.gradient_buckets import Gradient, by_cost, feature_costs, reduced, scheduled, segmented
from msnb.parallel.sharding.device_mesh import Mesh

MESH = Mesh.over(8)
ALL, INNER = (0, 1, 2), (1, 2)


def gradients(rng, n, groups=(ALL,)):
    ready = np.cumsum(rng.exponential(2e-4, n))
    sizes = 10.0 ** rng.uniform(3, 8, n)
    return [Gradient(f"w{i}", float(r), float(b), groups[rng.integers(len(groups))])
            for i, (r, b) in enumerate(zip(ready, sizes))]  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.booleans())
def test_optimal_is_the_best_of_all_cuts(seed, n, two_groups):
    note(f"seed {seed}")
    found = gradients(np.random.default_rng(seed), n, (ALL, INNER) if two_groups else (ALL,))
    ways = [scheduled(found, cuts, reduced(MESH), 0.0)
            for k in range(n) for cuts in itertools.combinations(range(n - 1), k)]  # fmt: skip
    best = min(w.events[-1][1] for w in ways)
    got = segmented(found, MESH, 0.0, "optimal")
    assert got.events[-1][1] == pytest.approx(best, rel=1e-12)
    assert len(got.events) == min(len(w.events) for w in ways if w.events[-1][1] <= best * (1 + 1e-12))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 40), st.sampled_from(["all", "single", "size", "algorithm_1",
                                                                       "algorithm_2", "optimal"]))  # fmt: skip
def test_every_gradient_goes_once_and_not_before_it_is_ready(seed, n, algorithm):
    note(f"seed {seed}")
    found = gradients(np.random.default_rng(seed), n)
    got = segmented(found, MESH, found[-1].ready, algorithm)
    assert [name for bucket in got.buckets for name in bucket] == [g.name for g in found]
    ends = [*got.cuts, n - 1]
    for (start, _, _), (_, before, _), last in zip(got.events[1:], got.events, ends[1:]):
        assert start == max(before, found[last].ready)
    assert sum(b for _, _, b in got.events) == pytest.approx(sum(g.nbytes for g in found))
    assert got.tail >= segmented(found, MESH, found[-1].ready, "optimal").tail - 1e-15


def test_algorithm_1_cuts_the_axis_in_equal_parts_and_a_tail():
    costs = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0]
    assert by_cost(costs, 2, 0.5) == (5,)
    assert by_cost(costs, 3, 0.2) == (4, 8)
    assert by_cost(costs, 5, 0.2) == (2, 4, 6, 8)


def test_algorithm_2_hides_every_bucket_but_the_last():
    rng = np.random.default_rng(5)
    found = gradients(rng, 30)
    computed = found[-1].ready
    got = segmented(found, MESH, computed, "algorithm_2", tail_time=4e-3, inherent_time=1e-4, bandwidth=15e9)
    assert len(got.events) > 2
    sizes = [b for _, _, b in got.events]
    assert sizes[-1] <= (4e-3 - 1e-4) * 15e9
    ready = [found[c].ready for c in got.cuts] + [computed]
    for i, size in enumerate(sizes[:-1]):
        room = max(0.0, ready[i + 1] - ready[i] - 1e-4) * 15e9
        first = max(found[j].nbytes for j in range(len(found)) if found[j].name == got.buckets[i][-1])
        assert size <= max(room, first) * (1 + 1e-9) or i == 0, "as much as fits, or one gradient that is too large"


class Wide(nn.Cell):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(64, 128), nn.Dense(128, 64)

    def construct(self, x):
        return ops.relu(self.b(ops.relu(self.a(x)))).mean()


def test_a_plan_is_cut_and_told():
    plan = ms.parallel.plan(Wide(), zeros(64, 64), device_num=8, parallel_mode="data_parallel")
    found = plan.segments("index", index=[1])
    assert found.buckets == [("b.bias", "b.weight"), ("a.bias", "a.weight")]
    assert found.fusion == {"b.bias": 2, "b.weight": 2, "a.bias": 1, "a.weight": 1}
    assert found.tail > 0 and "tail" in str(found) and "simulated" in str(found)
    assert plan.segments("all").tail == pytest.approx(plan.timeline.events[-1][2] - plan.timeline.computed)
    assert ms.parallel.plan(Wide(), zeros(64, 64), device_num=1).segments().events == ()


FUSIONS = {
    "one bucket": ({}, 1),
    "indices": ({"comm_fusion": {"allreduce": {"mode": "index", "config": [0, 2]}}}, 3),
    "the older key": ({"all_reduce_fusion_config": [0, 2]}, 3),
    "megabytes": ({"comm_fusion": {"allreduce": {"mode": "size", "config": 1e-6}}}, 4),
    "64 megabytes": ({"comm_fusion": {"allreduce": {"mode": "auto", "config": None}}}, 1),
    "no fusion": ({"comm_fusion": {"openstate": False}}, 4),
}


@pytest.mark.long
@pytest.mark.parametrize("how", sorted(FUSIONS))
def test_the_context_cuts_the_sums_of_gradients(how):
    said, buckets = FUSIONS[how]
    ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=4, **said)
    net = nn.SequentialCell(nn.Dense(16, 16), nn.Dense(16, 16))
    line = ms.parallel.plan(lambda x: net(x).mean(), ops.ones((64, 16))).timeline
    ms.reset_auto_parallel_context()
    assert len(line.gradients) == 4
    assert sum(stream == "network" and "gradients" in what for stream, _, _, what in line.events) == buckets


@pytest.mark.parametrize("how, piece", [
    ({"algorithm": "best"}, "optimal"),
    ({"algorithm": "index", "index": [3, 1]}, "positions from 0 to 3, rising"),
    ({"algorithm": "index", "index": [4]}, "fit 4 gradients"),
    ({"algorithm": "algorithm_1", "fusion_times": 1}, "at least 2"),
    ({"algorithm": "algorithm_1", "tail_percent": 1.0}, "above 0 and below 1"),
    ({"algorithm": "algorithm_1", "cost": "money"}, "'time', 'features'"),
    ({"algorithm": "algorithm_2", "tail_time": 1e-5}, "every all-reduce takes"),
    ({"algorithm": "size", "bytes": 4}, "nbytes"),
])  # fmt: skip
def test_wrong_settings_explain_themselves(how, piece):
    plan = ms.parallel.plan(Wide(), zeros(64, 64), device_num=8, parallel_mode="data_parallel")
    with pytest.raises(ValueError) as told:
        plan.segments(**how)
    assert piece in str(told.value)


@pytest.mark.slow
@pytest.mark.parametrize("train", [False, True])
def test_resnet_as_mindspore_expects_it(train):
    """tests/ut/python/parallel/test_auto_parallel_resnet: fusion algorithm 1, two times, tail 0.5, 32,768 classes."""
    net = ResNet50(32768).set_train(train)
    plan = ms.parallel.plan(net, zeros(256, 3, 224, 224), whole_numbers(256), device_num=8,
                            parallel_mode="data_parallel")  # fmt: skip
    fusion = plan.segments("algorithm_1", cost="features", fusion_times=2, tail_percent=0.5).fusion
    assert len(fusion) == 161
    assert {name for name, group in fusion.items() if group == 1} == {"conv1.weight", "bn1.gamma", "bn1.beta"}
    assert set(fusion.values()) == {1, 2}
    costs = feature_costs(plan.problem)
    assert costs["layers.0.c1.weight"] > 100 * costs["layers.15.c1.weight"], "ways double from block to block"
    tails = {how: plan.segments(how).tail for how in ("all", "size", "optimal")}
    assert tails["optimal"] < tails["size"] < tails["all"]
