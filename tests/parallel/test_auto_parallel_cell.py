"""AutoParallel: MindSpore 2.6's Cell around a network says what the parallel context says."""

from __future__ import annotations

import json

import numpy as np
import pytest
from msnb.parallel.auto_parallel import AutoParallel
from msnb.parallel.nn import Pipeline, PipelineGradReducer

import msnb as ms
from msnb import nn, ops


@pytest.fixture(autouse=True)
def _one_device_afterwards():
    ms.base.events.forget_notices()
    yield
    ms.reset_auto_parallel_context()


class Net(nn.Cell):
    def __init__(self, split=None):
        super().__init__()
        self.w = ms.Parameter(ms.Tensor(np.linspace(-1, 1, 16 * 8).reshape(16, 8)), name="w")
        self.matmul, self.out = ops.MatMul(), nn.Dense(8, 4, dtype=ms.float64)
        if split is not None:
            self.matmul.shard(split)

    def construct(self, x):
        return self.out(ops.relu(self.matmul(x, self.w)))


X, Y = ms.Tensor(np.linspace(-2, 2, 32 * 16).reshape(32, 16)), ms.Tensor(np.linspace(0, 1, 32 * 4).reshape(32, 4))


def trained(network, made=lambda net: net, steps=2):
    """The losses of a functional step, as tutorials write it."""
    loss, optimizer = nn.MSELoss(), nn.SGD(network.trainable_params(), 0.1)
    run = made(network)
    reducer = PipelineGradReducer(optimizer.parameters)
    gradient = ms.value_and_grad(lambda x, y: loss(run(x), y), None, network.trainable_params())

    @ms.jit
    def step(x, y):
        value, grads = gradient(x, y)
        optimizer(reducer(grads))
        return value

    return [float(step(X, Y)) for _ in range(steps)], step


@pytest.mark.long
@pytest.mark.parametrize("mode, said", [
    ("semi_auto", ("semi_auto_parallel", "dynamic_programming")),
    ("sharding_propagation", ("auto_parallel", "sharding_propagation")),
    ("recursive_programming", ("auto_parallel", "recursive_programming")),
])
def test_a_step_is_planned_and_gives_the_losses_of_one_device(mode, said):
    split = ((2, 1), (1, 4)) if mode == "semi_auto" else None
    here, net = Net(), Net(split)
    for mine, theirs in zip(here.get_parameters(), net.get_parameters()):
        theirs.set_data(mine.copy())
    alone, _ = trained(here)
    spread, step = trained(net, lambda n: AutoParallel(n, mode, device_num=8))
    keys = ("parallel_mode", "search_mode")
    assert tuple(map(ms.get_auto_parallel_context, keys)) == said
    assert spread == pytest.approx(alone, rel=1e-10)
    assert mode in step.plan.mode or mode == "semi_auto"
    if split:
        assert next(s for name, s in step.plan.strategies.items() if name.endswith("Net/matmul")) == split


def test_methods_say_what_the_context_says(tmp_path, capsys):
    net = AutoParallel(Net(), device_num=8)
    net.hsdp(shard_size=4, threshold=1, optimizer_level="level2")
    net.pipeline(stages=2, interleave=True)
    net.dataset_strategy("full_batch")
    net.comm_fusion({"allreduce": {"mode": "size", "config": 32}})
    net.save_operator_strategy_file(str(tmp_path / "s.json"))
    for method in (net.enable_fp32_communication, net.enable_gradients_mean, net.disable_gradient_fp32_sync,
                   net.no_init_parameters_in_compile):  # fmt: skip
        method()
    assert net.get_pipeline_stages() == 2
    told = {key: ms.get_auto_parallel_context(key) for key in (
        "enable_parallel_optimizer", "parallel_optimizer_config", "pipeline_config", "dataset_strategy",
        "force_fp32_communication", "mirror_mean", "gradient_fp32_sync", "strategy_ckpt_save_file", "device_num",
    )}  # fmt: skip
    assert told == {
        "enable_parallel_optimizer": True, "pipeline_config": {"pipeline_scheduler": "interleaved"},
        "parallel_optimizer_config": {"optimizer_weight_shard_size": 4, "parallel_optimizer_threshold": 1,
                                      "optimizer_level": "level2"},
        "dataset_strategy": "full_batch", "force_fp32_communication": True, "mirror_mean": True,
        "gradient_fp32_sync": False, "strategy_ckpt_save_file": str(tmp_path / "s.json"), "device_num": 8,
    }  # fmt: skip
    assert capsys.readouterr().err == ""
    net.print_local_norm(), net.enable_device_local_norm(), net.disable_loss_repeated_mean()
    net.set_group_ckpt_save_file("g"), net.disable_strategy_file_only_for_trainable_params()
    net.dump_local_norm("here")
    assert capsys.readouterr().err.count("changes nothing") == 6
    with pytest.raises(ValueError, match="'level1', 'level2', 'level3'"):
        net.hsdp(optimizer_level="level9")
    with pytest.raises(ValueError, match="does not divide device_num=8"):
        net.pipeline(stages=3)


def test_files_and_pipelines_as_tutorials_write_them(tmp_path):
    inner = nn.WithLossCell(Net(), nn.MSELoss())
    parts = zip(np.split(X.asnumpy(), 4), np.split(Y.asnumpy(), 4))
    want = sum(float(inner(ms.Tensor(x), ms.Tensor(y))) for x, y in parts)
    net = AutoParallel(Pipeline(inner, 4, stage_config={"_backbone.out": 1, "_loss_fn": 1}), device_num=4)
    inner.backbone_network.pipeline_stage = 0
    net.pipeline(stages=2)
    net.save_param_strategy_file(str(tmp_path / "s.json"))
    step = ms.jit(nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1)))
    assert float(step(X, Y)) == pytest.approx(want, rel=1e-10)
    assert step.plan.pipes == 2 and any("out" in name for name in step.plan.layers[1])
    assert json.loads((tmp_path / "s.json").read_text())["parallel_strategy_item"]


@pytest.mark.parametrize("given, error, piece", [
    ((3,), TypeError, "takes a Cell or a function, not int"),
    ((Net(), "auto"), ValueError, "legal: 'semi_auto', 'dynamic_programming'"),
])
def test_wrong_ones(given, error, piece):
    with pytest.raises(error, match=piece):
        AutoParallel(*given)
    assert ms.get_auto_parallel_context("parallel_mode") == "stand_alone"
