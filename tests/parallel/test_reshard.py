"""Layouts, slices and reshard sequences: values arrive where they belong, the shortest sequence is found."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest

from msnb.parallel.engine.comm.simulated_collectives import run_move
from msnb.parallel.sharding.device_mesh import Cluster, Mesh, sent_bytes
from msnb.parallel.sharding.layout import Layout, TensorLayout, from_map, whole
from msnb.parallel.sharding.reshard import Resharder


def spread(mesh, layout, x):
    return [x[layout.part(mesh, x.shape, r)] for r in range(mesh.size)]


def layouts(mesh, ndim, rng):
    axes = list(range(len(mesh.factors)))
    rng.shuffle(axes)
    rows = [[] for _ in range(ndim)]
    for a in axes:
        place = rng.randrange(ndim + 1)
        if place < ndim:
            rows[place].append(a)
    return TensorLayout(tuple(map(tuple, rows)))


@pytest.mark.parametrize("devices", [2, 6, 8, 12, 16])
def test_every_reshard_moves_the_right_elements(devices):
    mesh, seed = Mesh.over(devices), 17
    rng = random.Random(seed)
    x = np.arange(48 * 48 * 2.0).reshape(48, 48, 2)
    for _ in range(60):
        a, b = layouts(mesh, 3, rng), layouts(mesh, 3, rng)
        if not (a.divides(mesh, x.shape) and b.divides(mesh, x.shape)):
            continue
        parts = spread(mesh, a, x)
        for move in Resharder(mesh).moves(a, b, x.shape, 8):
            assert parts[0].nbytes == move.nbytes or move.kind == "slice"
            parts = run_move(mesh, move, parts)
        for r, want in enumerate(spread(mesh, b, x)):
            np.testing.assert_array_equal(parts[r], want, err_msg=f"seed {seed}: {a} to {b}")


def test_open_sums_are_taken_on_the_way():
    mesh = Mesh.over(8)
    rng = np.random.default_rng(3)
    x = rng.standard_normal((8, 8, 8))  # one term per rank
    for target in (whole(2), TensorLayout(((0,), (1, 2))), TensorLayout(((2, 1), ())), TensorLayout(((), (0,)))):
        parts = [x[r] for r in range(8)]
        for move in Resharder(mesh).moves(TensorLayout(((), ()), (0, 1, 2)), target, (8, 8), 8):
            parts = run_move(mesh, move, parts)
        for r, want in enumerate(spread(mesh, target, x.sum(0))):
            np.testing.assert_allclose(parts[r], want, rtol=1e-12)


def kinds(mesh, a, b, shape=(4096, 4096)):
    return [m.kind for m in Resharder(mesh).moves(a, b, shape, 4)]


def test_the_sequences_one_expects():
    mesh = Mesh.over(8)
    assert kinds(mesh, whole(2), TensorLayout(((0, 1, 2), ()))) == ["slice"]
    assert kinds(mesh, TensorLayout(((0, 1, 2), ())), whole(2)) == ["all_gather"]
    assert kinds(mesh, TensorLayout(((0, 1, 2), ())), TensorLayout(((), (0, 1, 2)))) == ["all_to_all"]
    assert kinds(mesh, TensorLayout(((), ()), (0, 1, 2)), whole(2)) == ["all_reduce"]
    assert kinds(mesh, TensorLayout(((), ()), (0, 1, 2)), TensorLayout(((), (0, 1, 2)))) == ["reduce_scatter"]
    assert kinds(mesh, TensorLayout(((0,), (1, 2))), TensorLayout(((0,), ()))) == ["all_gather"]


def test_shortest_is_not_longer_than_gathering_all_and_slicing():
    mesh, seed = Mesh.over(16), 5
    rng = random.Random(seed)
    shard = Resharder(mesh)
    for _ in range(200):
        a, b = layouts(mesh, 2, rng), layouts(mesh, 2, rng)
        direct = shard.cost(a, b, (512, 512), 4)
        assert direct <= shard.cost(a, whole(2), (512, 512), 4) + 1e-12, f"seed {seed}: {a} to {b}"
        steps = shard.moves(a, b, (512, 512), 4)
        assert abs(sum(m.seconds for m in steps) - direct) < 1e-12


def test_costs_grow_with_distance_and_size():
    mesh = Mesh.over(16)  # axis 0 between servers, 1 between groups of four
    near, far = mesh.seconds("all_reduce", (3,), 1 << 24), mesh.seconds("all_reduce", (0,), 1 << 24)
    assert near < far
    assert mesh.seconds("all_gather", (3,), 1 << 20) < mesh.seconds("all_gather", (3,), 1 << 24)
    assert mesh.seconds("all_reduce", (), 1 << 20) == 0


def test_ring_formula_on_uniform_links():
    mesh = Mesh.over(8, Cluster("uniform"))
    n = 8 << 20
    assert mesh.seconds("all_reduce", (0, 1, 2), n) == pytest.approx(2 * 7 / 8 * n / 30e9)
    assert mesh.seconds("all_gather", (0, 1, 2), n / 8) == pytest.approx(7 / 8 * n / 30e9)
    assert mesh.seconds("reduce_scatter", (0, 1, 2), n) == pytest.approx(7 / 8 * n / 30e9)
    assert mesh.seconds("all_to_all", (0, 1, 2), n) == pytest.approx(7 / 8 * n / 30e9)
    assert sent_bytes("all_reduce", 8, n) == 2 * 7 * n // 8


def test_groups_partition_the_ranks():
    mesh = Mesh.over(16)
    for k in range(5):
        for axes in itertools.permutations(range(4), k):
            groups = mesh.groups(axes)
            assert sorted(r for g in groups for r in g) == list(range(16))
            assert all(len(g) == 2**k for g in groups)


def test_mindspore_form_there_and_back():
    mesh = Mesh.over(8)
    layout = TensorLayout(((0,), (2, 1), ()))
    form = layout.mindspore(mesh)
    assert form == {"dev_matrix": [2, 2, 2], "tensor_map": [2, [0, 1], -1]}
    assert from_map(mesh, form["tensor_map"]) == layout
    with pytest.raises(ValueError, match="does not fit"):
        from_map(mesh, [3, -1])
    with pytest.raises(ValueError, match="once"):
        from_map(mesh, [1, 1])


def test_layout_with_names():
    layout = Layout((2, 2, 2), ("dp", "sp", "mp"))
    assert layout("dp", ("sp", "mp")).tensor_map == (2, (1, 0))
    assert layout("dp", ("sp", "mp")).splits() == (2, 4)
    assert layout("None", "mp").splits() == (1, 2)
    with pytest.raises(ValueError, match="legal: dp, sp, mp"):
        layout("tp")
    with pytest.raises(ValueError, match="one device axis"):
        layout("dp", "dp")
    with pytest.raises(ValueError, match="one name per axis"):
        Layout((2, 2), ("dp",))
    with pytest.raises(ValueError, match="'' are no names"):
        Layout((2, 2), ("dp", ""))


def test_layouts_as_mindspore_writes_them():
    layout = Layout((2, 2), ("dp", "mp"), rank_list=[0, 1, 2, 3])
    assert layout("dp", "None").to_dict() == {
        "device_matrix": (2, 2), "tensor_map": (1, -1), "interleaved_parallel": False, "alias_name": ("dp", "mp"),
        "rank_list": [0, 1, 2, 3],
    }  # fmt: skip
    assert Layout((2, 2, 3), ("dp", "mp", "interleaved_parallel")).devices == (2, 2, 1)
    with pytest.raises(ValueError, match=r"rank_list=\[1, 0\] is not legal; legal: None or list\(range\(2\)\)"):
        Layout((2,), ("dp",), [1, 0])
    with pytest.raises(ValueError, match="stands last"):
        Layout((2, 2), ("interleaved_parallel", "dp"))


def test_clusters():
    assert Cluster("ascend910", servers=2).devices == 16
    with pytest.raises(ValueError, match="legal: ascend310, ascend910, uniform"):
        Cluster("tpu")
    with pytest.raises(ValueError, match="legal: 1 to 16"):
        Mesh.over(32, Cluster("ascend910", servers=2))
    with pytest.raises(ValueError, match="legal: 1 to 4096"):
        Mesh.over(0)
