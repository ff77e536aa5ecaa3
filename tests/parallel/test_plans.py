"""The plan as an object: files, explanations, limits, modes, and the sentences of what cannot be."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from nets import MLP, Chain, f64

import msnb as ms
from msnb import nn
from msnb.devices.ascend.chip import ASCEND910
from msnb.parallel import Cluster


@pytest.fixture(autouse=True)
def _clean():
    ms.reset_auto_parallel_context()
    yield
    ms.reset_auto_parallel_context()


def big(rows=4096, **how):
    x = ms.Tensor(np.zeros((rows, 1024), np.float32))
    return ms.parallel.plan(Chain((1024, 4096, 1024)), x, **{"device_num": 8, **how})


def test_the_context_is_used():
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=4)
    net, x = nn.Dense(64, 64), ms.Tensor(np.zeros((512, 64), np.float32))
    assert ms.parallel.plan(net, x).mesh.size == 4
    assert ms.parallel.plan(net, x, device_num=2).mesh.size == 2
    ms.reset_auto_parallel_context()
    assert ms.parallel.plan(net, x).mesh.size == 1


def test_what_a_plan_tells():
    plan = big()
    assert f"operators on 8 devices, auto_parallel, dynamic_programming; {len(plan.collectives)} coll" in repr(plan)
    head, _, *rows = str(plan.timeline).splitlines()
    assert head == repr(plan.timeline) and f"{len(plan.timeline.kernels)} kernels" in head and "(simulated)" in head
    assert [row.split()[3] for row in rows] == [what.split()[0] for *_, what in plan.timeline.events]
    assert set(plan.strategies) >= {"Chain/matmul", "Chain/matmul_2"}
    assert plan.layouts["ws.w0" if "ws.w0" in plan.layouts else "w0"]["dev_matrix"] == [2, 2, 2]
    assert plan.step_time > 0 and plan.step_time == plan.timeline.seconds
    assert plan.memory["total"] == pytest.approx(sum(v for k, v in plan.memory.items() if k != "total"))
    for c in plan.collectives:
        assert c.kind in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all")
        assert len(c.group) * c.groups == 8 and c.sent > 0 and c.seconds > 0 and c.where


@pytest.mark.long
def test_the_search_counts_what_the_steps_cost():
    """Without overlap the search's value and the simulated walk through the steps are the same thing, on a device that
    holds values in the dtypes that are written (the search counts no mixed precision)."""
    literal = Cluster("ascend910", chip=replace(ASCEND910, half=False))
    for rows in (64, 4096, 65536):
        plan = big(rows, cluster=literal)
        late = sum(c.seconds for c in plan.collectives if c.phase == "backward")
        assert plan.step_time <= plan.objective * 1.05
        assert plan.step_time >= (plan.objective - late) * 0.95


def test_explain_marks_the_cheapest():
    plan = big()
    text = plan.explain("Chain/matmul")
    lines = text.splitlines()
    assert "matmul(f32[4096,1024], f32[1024,4096])" in lines[0] and "simulated" in lines[0]
    assert lines[2].startswith("->")
    shown = [float(line.split()[2 if not line.startswith("->") else 2].lstrip("->")) for line in lines[2:]]
    assert shown == sorted(shown)


def test_files_there_and_back(tmp_path):
    plan = big()
    path = tmp_path / "plan.json"
    plan.save(path)
    data = json.loads(path.read_text())
    assert data["current_stage"] == 0
    item = data["parallel_strategy_item"]["Chain/matmul"]
    assert item == {"stage": 0, "parallel_strategy": [list(s) for s in plan.strategies["Chain/matmul"]]}
    assert set(next(iter(data["parallel_layout_item"].values()))) >= {"dev_matrix", "tensor_map", "tensor_shape"}
    other = big(search_mode="recursive_programming", strategies={"matmul": ((8, 1), (1, 1))})
    again = other.load(path)
    assert again.strategies == plan.strategies
    assert again.layouts == plan.layouts
    assert again.collectives == plan.collectives


def test_an_edited_file_means_what_it_says(tmp_path):
    plan = big(64)
    path = tmp_path / "plan.json"
    plan.save(path)
    data = json.loads(path.read_text())
    data["parallel_strategy_item"]["Chain/matmul"]["parallel_strategy"] = [[4, 1], [1, 2]]
    path.write_text(json.dumps(data))
    assert plan.load(path).strategies["Chain/matmul"] == ((4, 1), (1, 2))
    data["parallel_strategy_item"]["Chain/matmul"]["parallel_strategy"] = [[3, 1], [1, 1]]
    path.write_text(json.dumps(data))
    with pytest.raises(ValueError, match="3 ways over 8 devices; legal: 1, 2, 4, 8"):
        plan.load(path)


@pytest.mark.parametrize("text, piece", [
    ("not json", "cannot be read"),
    ("[]", "no strategy file"),
    ('{"parallel_strategy_item": {"a": 3}}', "no strategy file"),
    ('{"parallel_strategy_item": {}, "msnb": {"device_num": 4}}', "made for 4 devices, this plan has 8"),
    ('{"parallel_strategy_item": {"Chain/mul": {"parallel_strategy": [[1, 1]]}}}', "no operator of this program"),
])
def test_bad_files(tmp_path, text, piece):
    path = tmp_path / "plan.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=piece):
        big(64).load(path)
    with pytest.raises(ValueError, match="cannot be read"):
        big(64).load(tmp_path / "none.json")


def test_strategy_files_of_the_context(tmp_path):
    path = str(tmp_path / "strategy.json")
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8, strategy_ckpt_save_file=path)
    first = big(4096)
    ms.reset_auto_parallel_context()
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8, strategy_ckpt_load_file=path)
    assert big(4096, search_mode="recursive_programming").strategies == first.strategies


def test_semi_auto_spreads_what_people_say():
    net, inputs = MLP(), (f64(16, 8), f64(16, 8, seed=5))
    plan = ms.parallel.plan(net, *inputs, device_num=4, parallel_mode="semi_auto_parallel",
                            strategies={"MLP/a/matmul": ((1, 1), (1, 4))})
    assert plan.strategies["MLP/a/matmul"] == ((1, 1), (1, 4))
    assert plan.strategies["MLP/a/activation/tanh"] == ((1, 4),)
    loss, _ = plan.run()
    assert abs(float(loss) - net(*inputs).item()) < 1e-12


@pytest.mark.long
def test_memory_limits():
    rows = 16384
    free = big(rows)
    used, least = free.problem.costs.bytes(free.choices), sum(float(m.min()) for m in free.problem.costs.memory)
    assert least < used
    before = free.objective
    for share in (0.9, 0.5, 0.1):
        limit = least + share * (used - least)
        plan = big(rows, memory_limit=limit)
        assert plan.problem.costs.bytes(plan.choices) <= limit
        assert plan.objective >= before
        before = plan.objective
    with pytest.raises(ValueError, match="the plan of recursive_programming does not fit"):
        big(rows, memory_limit=least + 0.1 * (used - least), search_mode="recursive_programming")
    with pytest.raises(ValueError, match=r"no plan fits into 0.001 GB per device: .* at least"):
        big(64, memory_limit=1e6)


@pytest.mark.parametrize("how, piece", [
    ({"strategies": {"matmull": ((1, 1), (1, 1))}}, "Chain/matmul"),
    ({"strategies": {"matmul": ((16, 1), (1, 1))}}, "16 ways over 8 devices; legal: 1, 2, 4, 8"),
    ({"strategies": {"matmul": ((8, 1), (1, 1))}, "parallel_mode": "data_parallel"}, "conflicts"),
    ({"parallel_mode": "hybrid_parallel", "strategies": {"matmul": ((1, 1), (1, 1))}}, "strategies= says nothing"),
    ({"parallel_mode": "auto"}, "'auto_parallel'"),
    ({"search_mode": "best"}, "dynamic_programming"),
    ({"cost_model": "dollars"}, "'time', 'bytes'"),
    ({"device_num": 32, "cluster": Cluster("ascend910", servers=2)}, "legal: 1 to 16"),
])
def test_wrong_keywords_explain_themselves(how, piece):
    with pytest.raises(ValueError) as told:
        big(64, **how)
    assert piece in str(told.value)


def test_deep_networks_fold():
    """Ninety-six layers: the tables of one layer serve all (the number of distinct ones does not grow)."""
    from msnb.parallel.search.exact import Eliminator

    def tables(layers):
        x = ms.Tensor(np.zeros((64, 64), np.float32))
        plan = ms.parallel.plan(Chain((64,) * (layers + 1)), x, device_num=64)
        found = Eliminator(plan.problem.costs)
        found.solve()
        return len(plan.problem.priced.strategies), len(plan.problem.priced.edges)

    assert tables(12) == tables(96)


def test_data_parallel_splits_data_and_not_what_a_network_keeps():
    """Running means are inputs of the program too, of eight channels over eight devices: they stay whole."""
    net = nn.SequentialCell(nn.Conv2d(2, 8, 3), nn.BatchNorm2d(8)).set_train(False)
    plan = ms.parallel.plan(lambda x: net(x).mean(), ms.Tensor(np.zeros((16, 2, 4, 4), np.float32)), device_num=8,
                            parallel_mode="data_parallel", training=True)  # fmt: skip
    assert {c.kind for c in plan.collectives} == {"all_reduce"}
    assert all(s[0][0] == 8 for s in plan.strategies.values() if s and len(s[0]) == 4)
