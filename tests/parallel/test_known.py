"""Published plans of whole networks come out of the search: MindSpore's unit-test expectations in its byte model, and
what seconds say about large heads, large tables and language models."""

from __future__ import annotations

import pytest
from deep import Block, Language, ResNet50, WideAndDeep, whole_numbers, zeros

import msnb as ms
from msnb import ops
from msnb.parallel import Cluster
from msnb.parallel.engine.program_source import captured_of, joint_of
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.cost_model import ByteModel, MemoryRule
from msnb.parallel.plans.plan import search
from msnb.parallel.sharding.device_mesh import Mesh

pytestmark = pytest.mark.slow


def of_kind(plan, kind):
    return [s for name, s in plan.strategies.items() if name.split("/")[-1].split("_")[0] == kind]


# ---- MindSpore's byte model: tests/ut/python/parallel/test_auto_parallel_*.py ---------------------------------------

DATA, CLASSES = ((8, 1), (1, 1)), ((1, 1), (1, 8))


@pytest.mark.parametrize("beta, classes, head", [
    (400.0, 32768, DATA), (400.0, 65536, CLASSES), (50.0, 4096, DATA), (50.0, 8192, CLASSES),
])  # fmt: skip
def test_resnet_heads_as_mindspore_expects_them(beta, classes, head):
    """Batch 32 per device; the published constants of Ascend (beta 400) and GPU (beta 50)."""
    net, inputs = ResNet50(classes), (zeros(256, 3, 224, 224), whole_numbers(256))
    joint = joint_of(captured_of(net, inputs), inputs, {})
    problem = CostGraphBuilder(joint, ByteModel(Mesh.over(8), beta=beta), MemoryRule(), 1)
    choices = search(problem, "dynamic_programming", {}, None)
    splits = {problem.names[n]: problem.strategies[v][choices[v]].splits(problem.mesh)
              for n, v in problem.place.items() if n in problem.names}  # fmt: skip
    assert [s for name, s in splits.items() if name.endswith("matmul")] == [head]
    assert {s for name, s in splits.items() if name.endswith("conv2d")} == {((8, 1, 1, 1), (1, 1, 1, 1))}


def test_two_products_over_sixteen():
    def f(x, w, b):
        return ops.matmul(ops.matmul(x, w), b)

    plan = ms.parallel.plan(f, zeros(128, 32), zeros(32, 64), zeros(64, 64), device_num=16, cost_model="bytes")
    assert of_kind(plan, "matmul") == [((16, 1), (1, 1))] * 2


def test_prelu_is_split_by_the_batch():
    x = zeros(16, 3, 128, 32)
    plan = ms.parallel.plan(lambda x, y, w: ops.prelu(x * y, w), x, x, zeros(1), device_num=16, cost_model="bytes")
    assert {s[0] for s in plan.strategies.values()} == {(16, 1, 1, 1)}


def test_three_products_with_one_weight():
    def f(x, w):
        return ops.matmul(ops.matmul(ops.matmul(x, w), w), w)

    plan = ms.parallel.plan(f, zeros(64, 64), zeros(64, 64), device_num=8, cost_model="bytes")
    assert of_kind(plan, "matmul") == [DATA] * 3


# ---- seconds --------------------------------------------------------------------------------------------------------


def test_resnet_with_65536_classes_is_split_by_classes():
    plan = ms.parallel.plan(ResNet50(65536), zeros(256, 3, 224, 224), whole_numbers(256), device_num=8)
    assert of_kind(plan, "matmul") == [CLASSES]
    assert set(of_kind(plan, "conv2d")) == {((8, 1, 1, 1), (1, 1, 1, 1))}


@pytest.mark.parametrize("rows, batch, split", [(2_000_000, 4096, True), (200_000, 128_000, False)])
def test_wide_and_deep_splits_the_table_or_the_rows_read(rows, batch, split):
    """A table much larger than what is read of it is split (by rows or columns), one that is read many times over is
    copied and the reads are split; the dense layers are data parallel."""
    plan = ms.parallel.plan(WideAndDeep(rows), whole_numbers(batch, 39), device_num=8)
    assert set(of_kind(plan, "matmul")) == {DATA}
    table, reads = of_kind(plan, "gather")[0]
    assert (table[0] * table[1], reads[0]) == ((8, 1) if split else (1, 8))


def test_the_tie_of_two_by_four_and_four_by_two():
    """Width 1024, 4096 rows, 8 devices: both move 8.4 M elements, so only latency can decide between them.

    A gradient sync over d of 8 H^2 / t elements and two activation sums over t of M H / d, each 2(p-1)/p n.
    """
    h, m = 1024, 4096
    volume = {d: 2 * (d - 1) / d * 8 * h * h / (8 // d) + 2 * 2 * (8 // d - 1) / (8 // d) * m / d * h for d in (2, 4)}
    assert volume[2] == volume[4]
    flat = Cluster("uniform")
    seconds = {}
    for d in (2, 4):
        t = 8 // d
        how = {"Block/multiply": ((d, 1), (1,)), "Block/matmul": ((d, 1), (1, t)), "Block/matmul_2": ((d, t), (t, 1)),
               "Block/sum": ((d, 1),)}  # fmt: skip
        plan = ms.parallel.plan(Block(h), zeros(m, h), device_num=8, cluster=flat, strategies=how)
        seconds[d] = sum(c.seconds for c in plan.collectives if c.nbytes > 1 << 16)
    assert seconds[2] == pytest.approx(seconds[4], rel=1e-9)


def test_language_models_of_few_tokens_are_megatron():
    """Column, then row, within each half of a layer: one sum behind attention, one behind the MLP."""
    plan = ms.parallel.plan(Language(2, 1024, 16, 4096), whole_numbers(1, 64), whole_numbers(64), device_num=8,
                            max_split=1)  # fmt: skip
    by_name = {n.split("/", 1)[1]: s for n, s in plan.strategies.items() if n.endswith("matmul")}
    for layer in "01":
        assert by_name[f"layers/{layer}/up/matmul"][1] == (1, 8)
        assert by_name[f"layers/{layer}/down/matmul"][1] == (8, 1)
    assert by_name["head/matmul"][1] == (1, 8)


@pytest.mark.parametrize("net, inputs", [
    (Language(96), (whole_numbers(64, 64), whole_numbers(64 * 64))),
    (ResNet50(1000), (zeros(256, 3, 224, 224), whole_numbers(256))),
    (WideAndDeep(200_000), (whole_numbers(4096, 39),)),
], ids=["language", "resnet", "wide and deep"])  # fmt: skip
def test_recursive_programming_is_near_on_deep_networks(net, inputs):
    devices = 64 if isinstance(net, Language) else 8
    exact, quick = (ms.parallel.plan(net, *inputs, device_num=devices, search_mode=mode)
                    for mode in ("dynamic_programming", "recursive_programming"))  # fmt: skip
    assert exact.objective <= quick.objective * (1 + 1e-12) <= 1.3 * exact.objective


def test_ninety_six_layers_over_a_thousand_devices():
    """Layers fold: as many distinct tables as a model of six layers has."""
    few, many = (ms.parallel.plan(Language(n), whole_numbers(1024, 64), whole_numbers(1024 * 64), device_num=1024)
                 for n in (6, 96))  # fmt: skip
    assert len(few.problem.prices.cache.strategies) == len(many.problem.prices.cache.strategies)
    assert len(few.problem.prices.cache.edges) == len(many.problem.prices.cache.edges)
    assert len(many.chosen) > 10 * len(few.chosen)
