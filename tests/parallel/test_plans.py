"""The plan as an object: files, explanations, limits, modes, and the sentences of what cannot be."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from nets import MLP, Chain, f64

import msnb as ms
from msnb import nn, ops
from msnb.base import events
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
    ('{"parallel_strategy_item": {"a": 3}}', "no strategy file: the entry of a is 3, not a table"),
    ('{"parallel_strategy_item": {"a": {}}}', "the parallel_strategy of a is null, not a list of split counts"),
    ('{"parallel_strategy_item": {"a": {"parallel_strategy": [2, 1]}}}', r"of a is \[2, 1\], not a list of split"),
    ('{"parallel_strategy_item": {"a": {"parallel_strategy": [["2", 1]]}}}', "not a list of split counts per input"),
    ('{"parallel_strategy_item": {}, "parallel_layout_item": []}', r"parallel_layout_item is \[\], not a table"),
    ('{"parallel_strategy_item": {}, "parallel_layout_item": {"w0": {}}}', "the tensor_map of w0 is null"),
    ('{"parallel_strategy_item": {}, "msnb": []}', r"msnb is \[\], not a table"),
    ('{"parallel_strategy_item": {}, "msnb": {"operators": 3}}', "operators of msnb is 3"),
    ('{"parallel_strategy_item": {}, "msnb": {"operators": {"a": {"blocks": 3}}}}', "the blocks of a is 3"),
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


def test_device_axes_that_do_not_exist_leave_the_split_counts(tmp_path):
    """What stands under msnb is followed where it agrees with the split counts: here it means nothing at all."""
    plan = big(64)
    path = tmp_path / "plan.json"
    plan.save(path)
    for axes in ([7], [0, 0, 1]):
        data = json.loads(path.read_text())
        data["msnb"]["operators"]["Chain/matmul"]["blocks"] = [["m", axes]]
        path.write_text(json.dumps(data))
        assert plan.load(path).strategies == plan.strategies


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


@pytest.mark.parametrize("how", [{}, {"parallel_mode": "data_parallel"}, {"search_mode": "recursive_programming"}])
def test_a_program_that_does_not_fit_names_its_largest_tensors(how):
    """The weights are the largest: with gradient and momentum, an eighth of each at best."""
    with pytest.raises(ValueError) as told:
        big(64, memory_limit=1e6, **how)
    said = f"weight, gradient and optimizer state, {3 * 4 * 1024 * 4096 / 8 / 1e9:.3g} GB"
    assert sorted(told.value.operands[:2]) == [f"w0: f32[1024,4096], {said}", f"w1: f32[4096,1024], {said}"]


@pytest.mark.parametrize("how, piece", [
    ({"strategies": {"matmull": ((1, 1), (1, 1))}}, "Chain/matmul"),
    ({"strategies": {"matmul": ((16, 1), (1, 1))}}, "16 ways over 8 devices; legal: 1, 2, 4, 8"),
    ({"strategies": {"matmul": ((8, 1), (1, 1))}, "parallel_mode": "data_parallel"}, "conflicts"),
    ({"parallel_mode": "hybrid_parallel", "strategies": {"matmul": ((1, 1), (1, 1))}}, "strategies= says nothing"),
    ({"parallel_mode": "data_parallel", "search_mode": "dynamic_programming"}, "searches nothing"),
    ({"parallel_mode": "semi_auto_parallel", "search_mode": "dynamic_programming"}, "searches nothing"),
    ({"parallel_mode": "auto"}, "'auto_parallel'"),
    ({"device_num": 0}, "device_num=0 is not legal; legal: an int from 1"),
    ({"device_num": "8"}, "device_num='8' is not legal"),
    ({"cluster": "ascend910"}, "legal: a Cluster, such as ms.parallel.Cluster("),
    ({"strategies": [((1, 1), (1, 1))]}, "legal: a dict: operator"),
    ({"memory_limit": "8GB"}, "legal: a number of bytes above 0"),
    ({"memory_limit": -1}, "legal: a number of bytes above 0"),
    ({"max_split": 0}, "legal: an int of at least 1"),
    ({"overlap": 2.0}, "legal: a number from 0 to 1"),
    ({"optimizer_states": -1}, "legal: an int of at least 0"),
    ({"pipeline_stages": 0}, "legal: an int of at least 1"),
    ({"pipeline_scheduler": "zb"}, "legal: 'gpipe', '1f1b', 'interleaved'"),
    ({"pipeline_scheduler": "gpipe"}, "a pipeline of one stage has no schedule"),
    ({"stage_devices": (4, 4)}, "a pipeline of one stage has no schedule"),
    ({"pipeline_stages": 2, "training": False}, "pipelines are of training steps"),
    ({"search_mode": "best"}, "dynamic_programming"),
    ({"cost_model": "dollars"}, "'time', 'bytes'"),
    ({"device_num": 32, "cluster": Cluster("ascend910", servers=2)}, "legal: 1 to 16"),
])
def test_wrong_keywords_explain_themselves(how, piece):
    with pytest.raises(ValueError) as told:
        big(64, **how)
    assert piece in str(told.value)


@pytest.mark.parametrize("splits", [3, None, ((2, 1), 3), ((2, "1"), (1, 1)), ((2.0, 1), (1, 1)), ((0, 1), (1, 1))])
def test_what_is_no_strategy_names_the_operator(splits):
    with pytest.raises(TypeError, match="matmul: .*strategy"):
        big(64, strategies={"matmul": splits})


def test_kinds_of_operators_in_mindspores_spelling():
    split = ((8, 1), (1, 1))
    plan = big(64, strategies={"MatMul": split})
    assert plan.strategies["Chain/matmul"] == plan.strategies["Chain/matmul_2"] == split


def test_an_input_without_a_strategy_is_left_to_the_search():
    assert big(64, strategies={"Chain/matmul": ((8, 1), None)}).strategies["Chain/matmul"] == ((8, 1), (1, 1))


def test_runs_take_as_many_inputs_as_were_planned():
    plan, x = big(64), ms.Tensor(np.zeros((64, 1024), np.float32))
    with pytest.raises(ValueError, match="planned with 1 inputs, this run got 2"):
        plan.run(x, x)
    assert float(plan.run(x)[0]) == float(plan.run()[0]) == 0.0


def test_deep_networks_fold():
    """Ninety-six layers: the tables of one layer serve all (the number of distinct ones does not grow)."""
    from msnb.parallel.search.elimination import Eliminator

    def tables(layers):
        x = ms.Tensor(np.zeros((64, 64), np.float32))
        plan = ms.parallel.plan(Chain((64,) * (layers + 1)), x, device_num=64)
        found = Eliminator(plan.problem.costs)
        found.solve()
        return len(plan.problem.prices.cache.strategies), len(plan.problem.prices.cache.edges)

    assert tables(12) == tables(96)


@pytest.mark.long
def test_data_parallel_splits_data_and_not_what_a_network_keeps():
    """Running means are inputs of the program too, of eight channels over eight devices: they stay whole."""
    net = nn.SequentialCell(nn.Conv2d(2, 8, 3), nn.BatchNorm2d(8)).set_train(False)
    plan = ms.parallel.plan(lambda x: net(x).mean(), ms.Tensor(np.zeros((16, 2, 4, 4), np.float32)), device_num=8,
                            parallel_mode="data_parallel", training=True)  # fmt: skip
    assert {c.kind for c in plan.collectives} == {"all_reduce"}
    assert all(s[0][0] == 8 for s in plan.strategies.values() if s and len(s[0]) == 4)


class Placed(nn.Cell):
    """A table of positions that is no Parameter: eight rows, like the devices."""

    def __init__(self):
        super().__init__()
        self.a, self.table = nn.Dense(16, 32), ms.Tensor(np.ones((8, 16), np.float32))

    def construct(self, x):
        return ops.relu(self.a(x + self.table)).mean()


@pytest.mark.parametrize("step", [False, True])
def test_tensors_that_are_attributes_are_no_data(step):
    net, x = Placed(), ms.Tensor(np.zeros((64, 8, 16), np.float32))
    program = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)) if step else net
    plan = ms.parallel.plan(program, x, device_num=8, parallel_mode="data_parallel")
    splits = {name.rsplit("Placed/")[-1]: s for name, s in plan.strategies.items()}
    assert splits["add"] == ((8, 1, 1), (1, 1)) and splits["a/matmul"] == ((8, 1, 1), (1, 1))
    assert plan.program.params and any(c.kind == "all_reduce" for c in plan.collectives)
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8, dataset_strategy=((8, 1, 1),))
    assert ms.parallel.plan(program, x).strategies, "the program has one input"


class Neighbours(nn.Cell):
    """A graph network: a part of its adjacency is no adjacency."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(6, 8, dtype=ms.float64), nn.Dense(8, 4, dtype=ms.float64)

    def construct(self, x, near):
        scale = near.sum(1, keepdims=True) ** -0.5
        near = near * scale * scale.T
        return (near @ self.b(ops.relu(near @ self.a(x)))).mean()


def test_a_part_of_the_batch_that_is_none_of_its_own_is_timed_as_planned(capsys):
    events.forget_notices()
    net, x, near = Neighbours(), f64(8, 6), ms.Tensor(np.eye(8) + 1.0)
    plan = ms.parallel.plan(net, x, near, device_num=4, parallel_mode="data_parallel")
    assert plan.step_time > 0 and plan.replica is None
    assert "a device's part of the batch is none of its own" in capsys.readouterr().err
    assert float(plan.run()[0]) == pytest.approx(net(x, near).item(), rel=1e-12)


def test_gradients_that_go_into_an_optimizer_are_no_batch(capsys):
    events.forget_notices()
    net = nn.Dense(6, 5)
    step, grads = nn.SGD(net.trainable_params(), 0.1), (ops.ones((5, 6)), ops.ones(5))
    ms.parallel.plan(step, grads, device_num=4, parallel_mode="data_parallel")
    assert "does not divide" not in capsys.readouterr().err
    ms.parallel.plan(net, ops.ones((5, 6)), device_num=4, parallel_mode="data_parallel")
    assert "of shape [5, 6] does not divide over 4 devices" in capsys.readouterr().err


def test_a_run_gives_what_the_program_returns():
    """Lists, dicts, values twice, inputs and numbers where they stand, and state that the network does not get."""
    net, x = nn.Dense(6, 4, dtype=ms.float64), f64(8, 6)
    count = ms.Parameter(ms.Tensor(np.zeros(2)), name="count")

    def program(x, rate):
        y = net(x)
        ops.assign_add(count, ops.ones(2, dtype=ms.float64))
        return {"y": y, "again": [x, (y, x * rate)], "count": count, "rate": rate, "name": "dense"}

    plan = ms.parallel.plan(program, x, 0.5, device_num=4, training=False)
    found, want = plan.run(), net(x).asnumpy()
    assert list(found) == ["y", "again", "count", "rate", "name"] and found["name"] == "dense"
    assert isinstance(found["again"], list) and isinstance(found["again"][1], tuple) and found["rate"] == 0.5
    for mine, theirs in ((found["y"], want), (found["again"][0], x.asnumpy()), (found["again"][1][0], want),
                         (found["again"][1][1], 0.5 * x.asnumpy()), (found["count"], np.ones(2))):  # fmt: skip
        np.testing.assert_allclose(mine, theirs, rtol=1e-12)
    assert count.tolist() == [0.0, 0.0]
    other = f64(8, 6, seed=3)
    np.testing.assert_array_equal(plan.run(other, 2.0)["again"][0], other.asnumpy())
    assert ms.parallel.plan(lambda x: None, x, device_num=4).run() is None
    np.testing.assert_array_equal(ms.parallel.plan(lambda x: x, x, device_num=4).run(), x.asnumpy())


def test_sizes_that_only_the_data_tell_have_plans_too():
    x = f64(8, 6)
    plan = ms.parallel.plan(lambda x: ops.unique((x @ x.T > 0).astype(ms.int32)), x, device_num=4)
    assert plan.step_time > 0 and "simulated" in repr(plan)
    np.testing.assert_array_equal(plan.run(), np.unique(x.asnumpy() @ x.asnumpy().T > 0).astype(np.int32))


def test_a_trainer_takes_steps_on_real_ranks():
    net, x = nn.Dense(6, 4), ops.ones((8, 6))
    loss = ms.parallel.plan(lambda x: net(x).sum(), x, device_num=2)
    with pytest.raises(ValueError, match="gives a loss and its gradients, and no new weights") as told:
        ms.parallel.Trainer(loss)
    assert "nn.TrainOneStepCell(net, optimizer)" in str(told.value)
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    with pytest.raises(ValueError, match="legal: 'mpi', 'ipp', 'nccl' or an Engine"):
        ms.parallel.Trainer(ms.parallel.plan(step, x, device_num=2), engine="inproc")


def test_plans_of_other_choices():
    net = ms.nn.Dense(8, 8)
    plan = ms.parallel.plan(net, ms.ops.ones((16, 8)), device_num=4)
    last = [len(row) - 1 for row in plan.problem.strategies]
    other = plan.with_choices(last)
    assert other.choices == last and other.objective >= plan.objective
    np.testing.assert_allclose(other.run(), plan.run(), rtol=1e-5, atol=1e-5)  # sums of eight, in another order
    for wrong, piece in (([*last, 0], "are not one for each of"), ([-1, *last[1:]], "choice -1 of node 0"),
                         ([last[0] + 1, *last[1:]], f"legal: 0 to {last[0]}")):  # fmt: skip
        with pytest.raises(ValueError, match=piece):
            plan.with_choices(wrong)
