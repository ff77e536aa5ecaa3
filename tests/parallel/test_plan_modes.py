"""Keys of the parallel context that change what a plan does: data, files, engines, modes without a plan."""

from __future__ import annotations

import json

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops


@pytest.fixture(autouse=True)
def _one_device_afterwards():
    ms.base.events.forget_notices()
    yield
    ms.reset_auto_parallel_context()
    ms.parallel.use("inproc")


def data(*shape, seed=0):
    return ms.Tensor(np.random.default_rng(seed).standard_normal(shape))


class Product(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(data(16, 8, seed=1), name="w")

    def construct(self, x, y):
        return ops.mse_loss(ops.matmul(x, self.w), y)


WIDE = {"matmul": ((1, 8), (8, 1))}


def planned(**keys):
    ms.set_auto_parallel_context(parallel_mode="semi_auto_parallel", device_num=8, **keys)
    return ms.parallel.plan(Product(), data(16, 16), data(16, 8), strategies=WIDE)


def moved(plan):
    return [c.kind for c in plan.collectives if c.where == "Product/matmul" and c.kind != "all_reduce"]


def right(plan):
    net = Product()
    loss, grads = ms.value_and_grad(net, None, [net.w])(data(16, 16), data(16, 8))
    value, found = plan.run(data(16, 16), data(16, 8))
    assert float(value) == pytest.approx(loss.item(), rel=1e-12)
    np.testing.assert_allclose(found["w"], grads[0].asnumpy(), rtol=1e-10)
    assert sum(plan.sent.values()) == sum(c.sent for c in plan.collectives)


@pytest.mark.parametrize("keys, exchanged", [
    ({}, False),
    ({"dataset_strategy": "full_batch"}, False),
    ({"full_batch": True, "dataset_strategy": "data_parallel"}, False),
    ({"dataset_strategy": "data_parallel"}, True),
    ({"dataset_strategy": ((1, 8), (8, 1))}, False),
    ({"dataset_strategy": (ms.Layout((8,), ("dp",))("dp", "None"), (1, 1))}, True),
])  # fmt: skip
def test_how_data_comes(keys, exchanged):
    """A product that is split along the features wants its input so; what the pipeline gives otherwise is exchanged."""
    plan = planned(**keys)
    assert bool(moved(plan)) is exchanged
    right(plan)


@pytest.mark.parametrize("given, piece", [
    (((8, 1),), "has 1 entries, the program's inputs have shapes"),
    (((8,), (8, 1)), "one split count per axis"),
    (((3, 1), (1, 1)), "8 devices are 2 x 2 x 2"),
    (((1, 1), (1, 16)), "8 devices are 2 x 2 x 2"),
])
def test_data_that_cannot_come_so(given, piece):
    with pytest.raises(ValueError, match=piece):
        planned(dataset_strategy=given)


def step_of(net):
    gradient, optimizer = ms.value_and_grad(net, None, net.trainable_params()), nn.SGD(net.trainable_params(), 0.1)

    @ms.jit
    def step(x, y):
        loss, grads = gradient(x, y)
        optimizer(grads)
        return loss

    return step


def test_compiled_steps_write_and_take_strategy_files(tmp_path):
    path, x, y = tmp_path / "strategy.json", data(16, 16), data(16, 8)
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8, strategy_ckpt_save_file=str(path))
    step_of(Product())(x, y)
    ms.jit(lambda x: ops.relu(x).sum())(x)
    saved = json.loads(path.read_text())
    assert "Product/matmul" in saved["parallel_strategy_item"], "the file is of the step, not of the program after it"
    saved["parallel_strategy_item"]["Product/matmul"]["parallel_strategy"] = [[4, 1], [1, 2]]
    path.write_text(json.dumps(saved))

    ms.reset_auto_parallel_context()
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=8, strategy_ckpt_load_file=str(path))
    step = step_of(Product())
    step(x, y)
    assert step.plan.strategies["Product/matmul"] == ((4, 1), (1, 2))
    relu = ms.jit(lambda x: ops.relu(x).sum())
    assert relu(x).item() == pytest.approx(ops.relu(x).sum().item())


def test_the_table_of_strategy_files_of_2_x(tmp_path):
    path = tmp_path / "strategy.json"
    planned(strategy_ckpt_config={"save_file": str(path)})
    item = json.loads(path.read_text())["parallel_strategy_item"]["Product/matmul"]
    assert item["parallel_strategy"] == [[1, 8], [8, 1]]


def test_a_name_of_the_network_is_found_in_a_step(tmp_path):
    """Saved from the network, loaded into its training step: paths agree at their end."""
    path, net, x, y = tmp_path / "strategy.json", Product(), data(16, 16), data(16, 8)
    ms.parallel.plan(net, x, y, device_num=8, strategies=WIDE).save(path)
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1))
    plan = ms.parallel.plan(step, x, y, device_num=8).load(path)
    assert plan.strategies["TrainOneStepCell/Product/matmul"] == WIDE["matmul"]


def test_engines_by_name():
    ms.parallel.use("inproc")
    with pytest.raises(ValueError, match="no engine is called 'gloo'; legal: 'inproc', 'mpi', 'ipp', 'nccl', or"):
        ms.parallel.use("gloo")
    plan = ms.parallel.plan(Product(), data(16, 16), data(16, 8), device_num=2)
    with pytest.raises(ValueError, match="no engine is called 'gloo'") as told:
        plan.run(engine="gloo")
    assert told.value.where.file == __file__  # and not contextlib, through which the call goes


@pytest.mark.slow
def test_a_compiled_step_on_processes():
    pytest.importorskip("mpi4py")
    x, y = data(16, 16), data(16, 8)
    want = [step_of(Product())(x, y).item() for _ in range(1)]
    ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=2)
    with ms.parallel.Engine("mpi", 2) as engine:
        ms.parallel.use(engine)
        net = Product()
        step = step_of(net)
        got = step(x, y).item()
        before = net.w.asnumpy().copy()
        again = step(x, y).item()
    assert got == pytest.approx(want[0], rel=1e-12) and again < got
    assert not np.array_equal(before, net.w.asnumpy())


def test_hybrid_programs_are_not_planned_and_that_is_told(capsys):
    ms.set_auto_parallel_context(parallel_mode="hybrid_parallel", device_num=8)
    f = ms.jit(lambda x: x.sum())
    f(data(8))
    assert f.plan is None and "hybrid_parallel: such programs place their own collectives" in capsys.readouterr().err


def test_gradients_that_a_program_takes_itself_are_those_of_one_device(capsys):
    x, y = data(16, 16), data(16, 8)
    nets = [Product(), Product()]
    step_of(nets[0])(x, y)
    ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=8, mirror_mean=False)
    step_of(nets[1])(x, y)
    np.testing.assert_allclose(nets[0].w.asnumpy(), nets[1].w.asnumpy(), rtol=1e-12)
    assert capsys.readouterr().err.count("mirror_mean=False") == 1


def test_a_batch_that_does_not_divide_is_whole_everywhere_and_that_is_told(capsys):
    net, x, y = Product(), data(6, 16), data(6, 8)
    plan = ms.parallel.plan(net, x, y, device_num=4, parallel_mode="data_parallel")
    assert not plan.collectives
    told = capsys.readouterr().err
    assert "axis 0 of" in told and "of shape [6, 16]" in told and "does not divide over 4 devices" in told
    ms.parallel.plan(net, data(8, 16), data(8, 8), device_num=4, parallel_mode="data_parallel")
    assert "does not divide" not in capsys.readouterr().err


def test_what_comes_from_another_stage_is_told_by_the_operator_that_made_it(capsys):
    net = nn.SequentialCell(nn.Dense(4, 4), nn.Tanh(), nn.Dense(4, 1))
    net[0].pipeline_stage, net[2].pipeline_stage = 0, 1
    net.set_train()
    ms.parallel.plan(nn.PipelineCell(net, 2), data(6, 4).astype(ms.float32), device_num=4, pipeline_stages=2,
                     parallel_mode="data_parallel")  # fmt: skip
    assert "axis 0 of the output of SequentialCell/1/tanh of shape [3, 4]" in capsys.readouterr().err


def test_batch_statistics_are_those_of_the_whole_batch():
    """Batch norm under a split batch is synchronised: mean and variance are sums over the devices."""
    net = nn.BatchNorm1d(4, dtype=ms.float64).set_train()
    x = data(16, 4)
    plan = ms.parallel.plan(lambda x: ops.square(net(x)).sum(), x, device_num=8, parallel_mode="data_parallel",
                            training=False)  # fmt: skip
    assert sum(c.kind == "all_reduce" for c in plan.collectives) >= 2
    got = plan.run(x)
    assert float(got) == pytest.approx(ops.square(net(x)).sum().item(), rel=1e-12)


def test_draws_of_a_step_are_those_of_one_device():
    net, x = nn.SequentialCell(nn.Dense(16, 16, dtype=ms.float64), nn.Dropout(p=0.5)).set_train(), data(16, 16)
    gradient = ms.value_and_grad(lambda x: ops.square(net(x)).mean(), None, net.trainable_params())

    def three():
        ms.set_seed(3)
        step = ms.jit(lambda x: gradient(x)[0])
        return [step(x).item() for _ in range(3)]

    want = three()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=8)
    assert three() == pytest.approx(want, rel=1e-12)
    assert len(set(want)) == 3
