"""Searches on cost graphs: the exact one equals brute force and the linear program, with and without a memory limit."""

from __future__ import annotations

import numpy as np
import pytest

from msnb.parallel.search.cost_graph import CostGraph, NoPlan
from msnb.parallel.search.elimination import Eliminator, by_multiplier, dynamic_programming
from msnb.parallel.search.oracles import brute_force, linear_program


def random_graph(seed, most=7, choices=4):
    rng = np.random.default_rng(seed)
    g = CostGraph()
    n = int(rng.integers(1, most + 1))
    for _ in range(n):
        k = int(rng.integers(1, choices + 1))
        g.add_node(rng.random(k), rng.random(k))
    for _ in range(int(rng.integers(0, 2 * n)) if n > 1 else 0):
        u, v = rng.choice(n, 2, replace=False)
        g.add_edge(int(u), int(v), rng.random((len(g.time[u]), len(g.time[v]))))
    return g


@pytest.mark.parametrize("block", range(8))
def test_exact_equals_brute_force(block):
    for seed in range(25 * block, 25 * block + 25):
        g = random_graph(seed)
        assert g.cost(dynamic_programming(g)) == pytest.approx(g.cost(brute_force(g)), rel=1e-12), f"seed {seed}"


@pytest.mark.parametrize("block", range(4))
def test_exact_under_a_memory_limit_equals_brute_force(block):
    tried = 0
    for seed in range(1000 + 15 * block, 1015 + 15 * block):
        g = random_graph(seed, most=6, choices=3)
        least = sum(float(m.min()) for m in g.memory)
        most = g.bytes(brute_force(g))
        for share in (0.0, 0.3, 0.7):
            limit = least + share * (most - least) + 1e-12
            want = g.cost(brute_force(g, limit))
            got = dynamic_programming(g, limit)
            assert g.bytes(got) <= limit
            assert g.cost(got) == pytest.approx(want, rel=1e-12), f"seed {seed}, share {share}"
            tried += 1
        if least > 0.1:
            with pytest.raises(NoPlan):
                dynamic_programming(g, least * 0.9)
    assert tried == 45


@pytest.mark.long
def test_the_linear_program_agrees():
    pytest.importorskip("scipy")
    for seed in range(2000, 2040):
        g = random_graph(seed)
        assert g.cost(linear_program(g)) == pytest.approx(g.cost(dynamic_programming(g)), rel=1e-9), f"seed {seed}"
    for seed in range(2040, 2055):
        g = random_graph(seed)
        limit = 0.5 * (sum(float(m.min()) for m in g.memory) + g.bytes(dynamic_programming(g)))
        got = g.cost(linear_program(g, limit))
        assert got == pytest.approx(g.cost(dynamic_programming(g, limit)), rel=1e-9), f"seed {seed}"


def test_the_multiplier_fits_and_is_never_faster_than_the_exact_one():
    for seed in range(3000, 3030):
        g = random_graph(seed)
        least = sum(float(m.min()) for m in g.memory)
        limit = 0.5 * (least + g.bytes(dynamic_programming(g))) + 1e-9
        got = by_multiplier(Eliminator(g), limit)
        assert g.bytes(got) <= limit
        assert g.cost(got) >= g.cost(dynamic_programming(g, limit)) - 1e-12


def chain(layers, seed=1, choices=6):
    """Identical blocks with a residual: the same arrays under the same keys."""
    rng = np.random.default_rng(seed)
    own, step, skip = rng.random((3, choices)), rng.random((3, choices, choices)), rng.random((choices, choices))
    g, before = CostGraph(), None
    for _ in range(layers):
        ids = [g.add_node(own[i], own[i] * 3, key=f"n{i}") for i in range(3)]
        for i in range(2):
            g.add_edge(ids[i], ids[i + 1], step[i], key=f"e{i}")
        g.add_edge(ids[0], ids[2], skip, key="skip")
        if before is not None:
            g.add_edge(before, ids[0], step[2], key="e2")
        before = ids[2]
    return g


def test_folding_changes_nothing():
    for layers in (2, 3, 9):
        g = chain(layers)
        plain = CostGraph()
        for t, m in zip(g.time, g.memory):
            plain.add_node(t, m)
        for u, v, m in g.edges:
            plain.add_edge(u, v, m)
        assert g.cost(dynamic_programming(g)) == pytest.approx(plain.cost(dynamic_programming(plain)), rel=1e-12)
        limit = 0.8 * g.bytes(dynamic_programming(g))
        assert g.cost(dynamic_programming(g, limit)) == pytest.approx(plain.cost(dynamic_programming(plain, limit)))


def test_a_search_at_another_price_is_a_search_anew(rng):
    """Tables that are made again in their places give what a search from the beginning gives, whatever the order."""
    for seed in rng.integers(0, 2**32, 6):
        for g in (random_graph(int(seed)), chain(5, int(seed))):
            free = Eliminator(g)
            for price in (0.0, 3.0, 0.1, 0.0, 1e6, 0.1):
                anew = CostGraph()
                for t, m in zip(g.time, g.memory):
                    anew.add_node(t + price * m)
                for u, v, m in g.edges:
                    anew.add_edge(u, v, m)
                want = anew.cost(dynamic_programming(anew))
                assert anew.cost(free.priced(price)) == pytest.approx(want, rel=1e-12), (seed, price)


def test_an_empty_graph_and_a_lonely_node():
    assert dynamic_programming(CostGraph()) == []
    g = CostGraph()
    g.add_node([3.0, 1.0, 2.0])
    assert dynamic_programming(g) == [1]
