"""Time against memory: the front of small graphs is exact, layers to compute twice are the cheapest that suffice."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from deep import Language, whole_numbers, zeros
from hypothesis import given, note, settings, strategies as st
from nets import Chain
from test_search import random_graph

import msnb as ms
from msnb.parallel.planner.rematerialization import Layer, cheapest, freed, layer_name
from msnb.parallel.search.pareto_search import _hull, _undominated, pareto_front


def every_point(g):
    combos = itertools.product(*(range(len(t)) for t in g.time))
    out, least = [], np.inf
    for t, m in sorted((g.cost(c), g.bytes(c)) for c in combos):
        if m < least - 1e-12:
            out, least = [*out, (t, m)], m
    return out


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_front_of_a_small_graph_has_every_point(seed):
    note(f"seed {seed}")
    g = random_graph(seed, most=5, choices=3)
    got = [(g.cost(p), g.bytes(p)) for p in pareto_front(g)]
    np.testing.assert_allclose(got, every_point(g), rtol=1e-9, atol=1e-12)


def test_the_hull_of_a_large_graph_lies_on_the_front():
    for seed in range(12):
        g = random_graph(seed, most=6)
        points = every_point(g)
        hull = [(g.cost(p), g.bytes(p)) for p in _undominated(g, _hull(g, 24))]
        for p in hull:
            assert any(np.allclose(p, q) for q in points), seed
        assert np.allclose(hull[0], points[0]) and np.allclose(hull[-1], points[-1])


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.integers(0, 4))
def test_the_layers_computed_twice_are_the_cheapest_that_suffice(seed, n, share):
    note(f"seed {seed}")
    rng = np.random.default_rng(seed)
    layers = [Layer(f"l{i}", float(rng.random()), float(rng.integers(1, 9))) for i in range(n)]
    excess = share / 4 * freed(layers)
    ways = [[layers[i] for i in w] for k in range(n + 1) for w in itertools.combinations(range(n), k)]
    want = min(sum(x.seconds for x in w) for w in ways if freed(w) >= excess)
    got = cheapest(layers, excess)
    assert freed([layers[i] for i in got]) >= excess
    assert sum(layers[i].seconds for i in got) == pytest.approx(want)
    assert cheapest(layers, freed(layers) + 0.5) is None


def language(**how):
    how = {"device_num": 4, "max_split": 1, **how}
    return ms.parallel.plan(Language(6), whole_numbers(16, 64), whole_numbers(16 * 64), **how)


@pytest.mark.slow
def test_a_limit_that_binds_is_met_by_computing_layers_twice():
    free = language()
    every = language(recompute=True)
    assert {layer.name for layer in every.rematerialized} >= {f"Language/layers/{i}" for i in range(6)}
    assert every.memory["activations"] < 0.5 * free.memory["activations"]
    assert every.step_time > free.step_time
    need = [p.problem.costs.bytes(p.choices) - freed(p.rematerialized) for p in (free, every)]
    limit = 0.5 * sum(need)
    other = language(recompute="auto", memory_limit=limit)
    assert other.problem.costs.bytes(other.choices) - freed(other.rematerialized) <= limit
    every, some = (language(parallel_mode="data_parallel", recompute=how, memory_limit=limit) for how in (True, "auto"))
    assert some.problem.costs.bytes(some.choices) - freed(some.rematerialized) <= limit
    assert 0 < len(some.rematerialized) < len(every.rematerialized) and some.step_time < every.step_time
    assert language(recompute="auto").rematerialized == ()
    again = [what for _, _, _, what in some.timeline.events if what.endswith(" again")]
    assert {layer_name(what) for what in again} == {layer.name for layer in some.rematerialized}
    assert some.timeline.events[-1][2] <= some.step_time * (1 + 1e-12)


def test_a_transformer_layer_keeps_its_input_alone():
    """Full recompute: 4 s b h bytes (float32) between layers, all else is freed but one layer's worth."""
    free, every = language(parallel_mode="data_parallel"), language(parallel_mode="data_parallel", recompute=True)
    h = 16 * 64 * 256 * 4 / 4  # bytes of x on each of four devices
    layers = [layer for layer in every.rematerialized if layer.name[-1].isdigit()]
    rest = free.memory["activations"] - sum(layer.saved for layer in every.rematerialized)
    assert len(layers) == 6 and len({layer.saved for layer in layers}) == 1
    assert 6 * h <= rest <= 8 * h


def test_the_front_of_a_plan():
    plan = ms.parallel.plan(Chain((1024, 4096, 1024)), zeros(16384, 1024), device_num=8)
    front = plan.front
    assert front[0].seconds == pytest.approx(plan.objective)
    assert all(a.seconds < b.seconds and a.nbytes > b.nbytes for a, b in zip(front, front[1:]))
    assert len(front) >= 2


@pytest.mark.parametrize(
    "recompute, piece", [("all", "legal: None, True"), (["Language/layers/9"], "Language/layers/0")]
)
def test_wrong_layers(recompute, piece):
    with pytest.raises(ValueError) as told:
        language(recompute=recompute)
    assert piece in str(told.value)


@pytest.mark.slow
def test_nothing_fits_even_so():
    with pytest.raises(ValueError, match="no plan fits, layers computed twice"):
        language(recompute="auto", memory_limit=1e6)
