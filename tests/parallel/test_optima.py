"""Known optima come out of the search without being told; the searches agree with each other on real programs."""

from __future__ import annotations

import numpy as np
import pytest
from deep import Block
from nets import Chain

import msnb as ms
from msnb import nn, ops
from msnb.parallel import Cluster
from msnb.parallel.planner.cost_model import TimeModel

pytestmark = pytest.mark.slow

FLAT = Cluster("uniform")  # equal links without latency: what the closed forms assume


def zeros(*shape, dtype=np.float32):
    return ms.Tensor(np.zeros(shape, dtype))


def products(plan):
    return [s for name, s in plan.strategies.items() if "matmul" in name]


def chain(rows, sizes, **how):
    return ms.parallel.plan(Chain(sizes), zeros(rows, sizes[0]), **{"device_num": 8, "cluster": FLAT, **how})


COLUMN, ROW = ((1, 1), (1, 8)), ((1, 8), (8, 1))


def test_megatron_column_then_row():
    assert products(chain(64, (1024, 4096, 1024), max_split=1)) == [COLUMN, ROW]


def test_megatron_over_two_blocks():
    assert products(chain(1024, (4096, 16384, 4096, 16384, 4096), max_split=1)) == [COLUMN, ROW, COLUMN, ROW]


def rows_split(plan):
    return products(plan)[0][0][0]


def test_the_more_rows_the_more_data_parallel():
    ways = [rows_split(chain(m, (1024, 4096, 1024))) for m in (1024, 4096, 16384, 65536)]
    assert ways == sorted(ways) and ways[0] == 1 and ways[-1] == 8


def block(rows, h, **how):
    return ms.parallel.plan(Block(h), zeros(rows, h), device_num=2, cluster=FLAT, **how)


def test_crossover_of_tensor_and_data_parallel_at_four_times_the_width(monkeypatch):
    """Volumes: data parallel moves 8 H^2 gradients, tensor parallel 2 M H activations: they meet at M = 4 H."""
    monkeypatch.setattr(TimeModel, "update", lambda self, nbytes, states: 0.0)
    h = 1024
    assert rows_split(block(2 * h, h)) == 1
    assert rows_split(block(8 * h, h)) == 2
    tensor, data = (sum(c.sent for c in block(4 * h, h, strategies=how).collectives if c.nbytes > 1 << 16) for how in (
        {"Block/multiply": ((1, 1), (1,)), "Block/matmul": ((1, 1), (1, 2)), "Block/matmul_2": ((1, 2), (2, 1)),
         "Block/sum": ((1, 1),)},
        {"Block/multiply": ((2, 1), (1,)), "matmul": ((2, 1), (1, 1)), "Block/sum": ((2, 1),)}))
    assert tensor == data


class Head(nn.Cell):
    """The end of a ResNet: a convolution, a mean over pixels, a classifier."""

    def __init__(self, classes):
        super().__init__()
        self.conv = nn.Conv2d(64, 2048, 1, has_bias=False)
        self.fc = nn.Dense(2048, classes, weight_init="zeros")

    def construct(self, x, y):
        return ops.cross_entropy(self.fc(ops.relu(self.conv(x)).mean(axis=(2, 3))), y)


def test_a_large_head_is_split_by_classes():
    plan = ms.parallel.plan(Head(65536), zeros(256, 64, 7, 7), zeros(256, dtype=np.int32), device_num=8)
    assert products(plan) == [COLUMN]
    reduced = [c for c in plan.collectives if c.phase == "forward" and c.kind == "all_reduce"]
    assert len(reduced) >= 2, "maximum and sum of the softmax go over the devices"


class Images(nn.Cell):
    """Convolutions with few weights and many pixels, dense layers with many weights (AlexNet's shape)."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(64, 64, 3, has_bias=False)
        self.conv2 = nn.Conv2d(64, 16, 3, stride=4, has_bias=False)
        self.fc = nn.Dense(16 * 14 * 14, 4096, weight_init="zeros")
        self.fc2 = nn.Dense(4096, 4096, weight_init="zeros")

    def construct(self, x):
        h = ops.relu(self.conv2(ops.relu(self.conv(x))))
        return self.fc2(ops.relu(self.fc(ops.reshape(h, (h.shape[0], -1))))).mean()


def test_one_weird_trick():
    plan = ms.parallel.plan(Images(), zeros(256, 64, 56, 56), device_num=8)
    for name, s in plan.strategies.items():
        if "conv2d" in name:
            assert s == ((8, 1, 1, 1), (1, 1, 1, 1)), "convolutions are data parallel"
    for s in products(plan):
        assert s[1] != (1, 1), "dense layers are model parallel"


class WideAndDeep(nn.Cell):
    def __init__(self, rows):
        super().__init__()
        self.table = nn.Embedding(rows, 80, embedding_table="zeros")
        self.a, self.b = nn.Dense(39 * 80, 1024), nn.Dense(1024, 1)

    def construct(self, ids):
        return self.b(ops.relu(self.a(ops.reshape(self.table(ids), (-1, 39 * 80))))).mean()


def test_a_large_table_is_split_and_not_copied():
    plan = ms.parallel.plan(WideAndDeep(2_000_000), zeros(4096, 39, dtype=np.int32), device_num=8)
    table = next(s for name, s in plan.strategies.items() if "gather" in name)[0]
    assert table[0] * table[1] == 8
    assert plan.memory["weights"] < 2_000_000 * 80 * 4 / 4


# ---- searches against each other ------------------------------------------------------------------------------------


@pytest.mark.parametrize("devices", [4, 8])
@pytest.mark.parametrize("layers", [2, 3, 4, 5])
def test_chains_exact_equals_all_combinations(layers, devices):
    """Without the sum behind it and with one way to split at a time, all combinations can be tried."""
    sizes = [(256, 1024)[i % 2] for i in range(layers + 1)]
    how = {"device_num": devices, "training": False, "max_split": 1 if layers > 3 or devices > 4 else 2}

    def f(x, *ws):
        for w in ws:
            x = ops.matmul(x, w)
        return x

    args = [zeros(512, sizes[0]), *(zeros(a, b) for a, b in zip(sizes, sizes[1:]))]
    exact = ms.parallel.plan(f, *args, **how)
    brute = ms.parallel.plan(f, *args, search_mode="brute_force", **how)
    assert exact.objective == pytest.approx(brute.objective, rel=1e-12)


@pytest.mark.parametrize("devices", [4, 8])
@pytest.mark.parametrize("rows, layers", [(64, 2), (1024, 3), (8192, 4), (65536, 5)])
def test_chains_recursive_is_near_and_the_linear_program_agrees(rows, layers, devices):
    sizes = [(1024, 4096)[i % 2] for i in range(layers + 1)]
    exact = chain(rows, sizes, device_num=devices, cluster=None)
    quick = chain(rows, sizes, device_num=devices, cluster=None, search_mode="recursive_programming")
    assert exact.objective <= quick.objective * (1 + 1e-12) <= 1.3 * exact.objective
    if layers == 2 and devices == 4:
        pytest.importorskip("scipy")
        other = chain(rows, sizes, device_num=devices, cluster=None, search_mode="linear_program")
        assert other.objective == pytest.approx(exact.objective, rel=1e-6)


def test_recursive_is_near_on_networks():
    from nets import cases

    for net, inputs in cases():
        exact = ms.parallel.plan(net, *inputs, device_num=8)
        quick = ms.parallel.plan(net, *inputs, device_num=8, search_mode="recursive_programming")
        assert exact.objective <= quick.objective * (1 + 1e-12) <= 1.3 * exact.objective


SMALL = {
    "rows by their index": (lambda x, w, i: ops.gather(x * w, i, 1), (8, 6, 6), (8, 6, 6)),
    "angles": (lambda x, w, i: ops.cosine_similarity(ops.matmul(x, w), ops.matmul(x * 2 + 1, w), 1), (8, 8), (8, 8)),
    "turned": (lambda x, w, i: ops.matmul(x.transpose(2, 0, 1), w).transpose(1, 2, 0), (8, 8, 8), (8, 8)),
}  # fmt: skip


@pytest.mark.parametrize("devices", [6, 8])
@pytest.mark.parametrize("what", sorted(SMALL))
def test_recursive_leaves_small_programs_whole(what, devices):
    """From halved devices no single change and no pair leads back to what needs no collective."""
    program, rows, weights = SMALL[what]
    w = ms.Parameter(zeros(*weights), name="w")
    index = ms.Tensor(np.zeros(6, np.int32))

    def loss(x):
        return ops.sin(program(x, w, index)).mean()

    exact, quick = (ms.parallel.plan(loss, zeros(*rows), device_num=devices, search_mode=mode).objective
                    for mode in ("dynamic_programming", "recursive_programming"))  # fmt: skip
    assert exact <= quick * (1 + 1e-12) <= 1.3 * exact


# ---- MindSpore's byte model -----------------------------------------------------------------------------------------


def test_bytes_split_classes_when_the_head_is_large():
    """MindSpore's tests of ResNet-50 end in data parallel heads, and in class-sharded ones when these are large."""
    for classes, sharded in ((64, False), (65536, True)):
        net, how = Chain((2048, classes), total=False), {"device_num": 8, "cost_model": "bytes", "training": True}
        rows, columns = (ms.parallel.plan(net, zeros(256, 2048), strategies={"matmul": s}, **how).objective
                         for s in (((8, 1), (1, 1)), COLUMN))
        assert (columns < rows) is sharded
