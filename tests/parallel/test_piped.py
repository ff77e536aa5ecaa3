"""Pipelined plans: the numbers of the single device, the bytes that were promised, the sentences of what cannot be."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.parallel.planner.cost_graph_builder import CostGraphBuilder
from msnb.parallel.planner.cost_model import TimeModel

pytestmark = pytest.mark.long


@pytest.fixture(autouse=True)
def _clean():
    ms.reset_auto_parallel_context()
    yield
    ms.reset_auto_parallel_context()


class Layer(nn.Cell):
    def __init__(self, h):
        super().__init__()
        self.norm = nn.LayerNorm((h,), dtype=ms.float64)
        self.up, self.down = nn.Dense(h, 2 * h, dtype=ms.float64), nn.Dense(2 * h, h, dtype=ms.float64)

    def construct(self, x):
        return x + self.down(ops.tanh(self.up(self.norm(x))))


class Net(nn.Cell):
    """Layers of one kind, a scale that all of them read, a table at both ends."""

    def __init__(self, layers=4, h=8, words=16, tied=False):
        super().__init__()
        ms.set_seed(2)
        self.table = ms.Parameter(np.random.default_rng(3).standard_normal((words, h)), name="table")
        self.layers = nn.CellList([Layer(h) for _ in range(layers)])
        self.head = None if tied else nn.Dense(h, words, dtype=ms.float64)

    def construct(self, ids, y):
        x = ops.gather(self.table, ids, 0)
        first = ops.tanh(x)
        for layer in self.layers:
            x = layer(x) + first * 0.1
        z = ops.matmul(x, ops.transpose(self.table, (1, 0))) if self.head is None else self.head(x)
        return ops.cross_entropy(z, y)


def inputs(rows=16):
    rng = np.random.default_rng(7)
    return ms.Tensor(rng.integers(0, 16, rows)), ms.Tensor(rng.integers(0, 16, rows))


def total(collectives):
    """Bytes of all ranks, by kind."""
    out = {}
    for c in collectives:
        out[c.kind] = out.get(c.kind, 0) + c.total
    return out


def check(plan, net, args):
    want, grads = ms.value_and_grad(net, None, net.trainable_params())(*args)
    loss, found = plan.run(*args)
    assert float(loss) == pytest.approx(want.item(), rel=1e-12)
    assert len(found) == len([g for g in grads if g is not None])
    for p, g in zip(net.trainable_params(), grads):
        np.testing.assert_allclose(found[p.name], g.asnumpy(), rtol=1e-9, atol=1e-13, err_msg=p.name)
    assert {kind: n * plan.program.size for kind, n in plan.sent.items()} == total(plan.collectives)


@pytest.mark.parametrize("devices, stages, micro", [(2, 2, 2), (4, 2, 4), (8, 4, 4), (6, 3, 8)])
@pytest.mark.parametrize("mode", ["data_parallel", "auto_parallel"])
def test_numbers_of_the_single_device(devices, stages, micro, mode):
    net, args = nn.PipelineCell(Net(), micro), inputs()
    plan = ms.parallel.plan(net, *args, device_num=devices, pipeline_stages=stages, parallel_mode=mode)
    assert len(plan.layers) == stages and plan.devices == [devices // stages] * stages
    check(plan, net, args)


def test_what_a_pipeline_tells_stage_by_stage():
    how = {"device_num": 4, "pipeline_stages": 2, "parallel_mode": "data_parallel"}
    plan = ms.parallel.plan(nn.PipelineCell(Net(), 4), *inputs(), **how)
    assert plan.layouts == {name: layout for piece in plan.plans for name, layout in piece.layouts.items()}
    assert set(plan.strategies) <= set(plan.layouts)
    for ask in (lambda: plan.front, plan.segments):
        with pytest.raises(AttributeError, match="stage by stage") as told:
            ask()
        assert "for p in plan.plans]" in str(told.value)
    assert all(piece.front and piece.segments().buckets for piece in plan.plans)


@pytest.mark.parametrize("how", [{"tied": True}, {"layers": 7}])
def test_tied_weights_and_uneven_stages(how):
    net, args = nn.PipelineCell(Net(**how), 4), inputs()
    check(ms.parallel.plan(net, *args, device_num=4, pipeline_stages=2), net, args)


class Linear(nn.Cell):
    """Its biases have the same gradient whatever the data: numbers that every stage knows."""

    def __init__(self):
        super().__init__()
        ms.set_seed(2)
        self.layers = nn.CellList([nn.Dense(8, 8, dtype=ms.float64) for _ in range(3)])
        self.scale = ms.Parameter(np.ones(8), name="scale")

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return (x + self.scale).sum()


@pytest.mark.parametrize("devices", [2, 4])
def test_gradients_that_do_not_depend_on_the_data(devices):
    net, args = nn.PipelineCell(Linear(), 4), (ms.Tensor(np.random.default_rng(0).standard_normal((16, 8))),)
    check(ms.parallel.plan(net, *args, device_num=devices, pipeline_stages=2), net, args)


def test_gradients_are_summed_over_copies_once_per_step():
    net, args = nn.PipelineCell(Net(), 4), inputs()
    plan = ms.parallel.plan(net, *args, device_num=4, pipeline_stages=2, parallel_mode="data_parallel")
    weights = sum(p.size * 8 for p in net.trainable_params())
    synced = sum(c.nbytes for c in plan.collectives if c.kind == "all_reduce" and c.phase == "backward")
    assert synced == weights


@pytest.mark.parametrize("level", [1, 3])
def test_with_a_sharded_optimizer(level):
    net, args = nn.PipelineCell(Net(), 4), inputs()
    check(ms.parallel.plan(net, *args, device_num=8, pipeline_stages=2, optimizer_level=level), net, args)


def test_interleaved():
    net, args = nn.PipelineCell(Net(6), 4), inputs()
    plan = ms.parallel.plan(net, *args, device_num=4, pipeline_stages=2, pipeline_scheduler="interleaved")
    assert len(plan.layers) == 4 and len(plan.memory) == 2
    check(plan, net, args)


class Uneven(nn.Cell):
    """A short layer, a long one: in two stages the long one is worth more devices."""

    def __init__(self, h):
        super().__init__()
        ms.set_seed(2)
        self.layers = nn.CellList([nn.Dense(h, h, dtype=ms.float64), nn.SequentialCell(
            nn.Dense(h, 4 * h, dtype=ms.float64), nn.Dense(4 * h, h, dtype=ms.float64))])  # fmt: skip

    def construct(self, x):
        for layer in self.layers:
            x = ops.tanh(layer(x))
        return ops.square(x).mean()


def uneven(h=8, rows=48, **how):
    net, args = nn.PipelineCell(Uneven(h), 4), (ms.Tensor(np.random.default_rng(0).standard_normal((rows, h))),)
    return net, args, ms.parallel.plan(net, *args, pipeline_stages=2, **how)


def test_the_planner_shares_out_the_devices():
    how = {"h": 256, "rows": 4 * 12288, "device_num": 4}
    plan = uneven(**how, stage_devices="auto")[-1]
    assert plan.devices == [1, 3]
    for said in ((2, 2), (3, 1)):
        assert plan.step_time < uneven(**how, stage_devices=said)[-1].step_time
    net, args, small = uneven(device_num=4, stage_devices="auto")
    assert small.step_time <= uneven(device_num=4)[-1].step_time
    check(small, net, args)


def test_what_is_done_once_per_step_is_shared_by_the_micro_batches():
    """Sums of gradients and updates: of sixteen micro-batches each bears a quarter of what each of four bears."""

    def seconds(micro):
        net, x = nn.PipelineCell(Uneven(256), micro), ms.Tensor(np.zeros((64 * micro, 256)))
        plan = ms.parallel.plan(net, x, device_num=8, pipeline_stages=2, parallel_mode="data_parallel")
        return sum(piece.objective for piece in plan.plans)

    four, eight, sixteen = (seconds(micro) for micro in (4, 8, 16))
    assert four - eight == pytest.approx(2 * (eight - sixteen), rel=1e-6) and eight > sixteen


def test_stages_of_one_size_share_what_was_priced():
    """The same seconds and bytes, choice for choice, as a stage has that nobody priced anything for."""
    net = nn.PipelineCell(Net(layers=6), 4)
    plan = ms.parallel.plan(net, *inputs(64), device_num=8, pipeline_stages=4, stage_devices=(1, 3, 2, 2))
    problems = [stage.problem for stage in plan.plans]
    assert [p.prices.cache is problems[3].prices.cache for p in problems] == [False, False, True, True]
    for shared in problems:
        alone = CostGraphBuilder(
            shared.joint, TimeModel(shared.mesh), shared.prices.rule, None, shared.prices.sharding, shared.wide
        ).costs
        for a, b in zip(alone.time + alone.memory, shared.costs.time + shared.costs.memory):
            np.testing.assert_array_equal(a, b)
        assert [edge[:2] for edge in alone.edges] == [edge[:2] for edge in shared.costs.edges]
        for (_, _, a), (_, _, b) in zip(alone.edges, shared.costs.edges):
            np.testing.assert_array_equal(a, b)


def test_devices_that_stages_do_not_divide_and_the_context():
    config = {"stage_devices": "auto", "pipeline_scheduler": "gpipe"}
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=3, pipeline_stages=2, pipeline_config=config)
    net, args, plan = uneven()
    assert plan.scheduler == "gpipe" and sorted(plan.devices) == [1, 2]
    check(plan, net, args)


def test_said_stages_get_devices_from_the_planner():
    inner = Uneven(256)
    inner.layers[0].pipeline_stage, inner.layers[1].pipeline_stage = 0, 1
    x = ms.Tensor(np.zeros((4 * 12288, 256)))
    plan = ms.parallel.plan(nn.PipelineCell(inner, 4), x, device_num=4, pipeline_stages=2, stage_devices="auto")
    assert plan.layers[1][0] == "Uneven/layers/1" and plan.devices == [1, 3]


def test_cells_say_their_stage():
    inner = Net()
    inner.layers[0].pipeline_stage = 0
    inner.layers[1].pipeline_stage = 1
    net, args = nn.PipelineCell(inner, 2), inputs()
    plan = ms.parallel.plan(net, *args, device_num=2, pipeline_stages=2)
    assert plan.layers[0][-1] == "Net/layers/0" and plan.layers[1][0] == "Net/layers/1"
    check(plan, net, args)


def test_what_a_pipeline_tells():
    net, args = nn.PipelineCell(Net(8), 8), inputs()
    one, two = (ms.parallel.plan(net, *args, device_num=8, pipeline_stages=4, pipeline_scheduler=how)
                for how in ("1f1b", "gpipe"))  # fmt: skip
    assert one.timeline.flight == (4, 3, 2, 1) and two.timeline.flight == (8,) * 4
    assert one.memory[0]["activations"] < two.memory[0]["activations"]
    assert one.step_time == one.timeline.seconds > 0
    assert "micro-batches in flight" in one.explain() and "simulated" in one.explain()


def test_the_context_says_it():
    ms.set_auto_parallel_context(parallel_mode="auto_parallel", device_num=4, pipeline_stages=2,
                                 pipeline_config={"pipeline_scheduler": "gpipe"})  # fmt: skip
    plan = ms.parallel.plan(nn.PipelineCell(Net(), 2), *inputs())
    assert (plan.scheduler, plan.devices) == ("gpipe", [2, 2])
    with pytest.raises(ValueError, match="nn.PipelineCell"):
        ms.parallel.plan(Net(), *inputs())


def wrong(stages=2, micro=4, rows=16, layers=4, devices=4, **how):
    return ms.parallel.plan(nn.PipelineCell(Net(layers), micro), *inputs(rows), device_num=devices,
                            pipeline_stages=stages, **how)  # fmt: skip


@pytest.mark.parametrize("how, piece", [
    ({"stages": 4, "micro": 2}, "2 micro-batches are too few for 4 pipeline stages; legal: at least 4"),
    ({"stages": 3}, "does not divide 4 devices; legal: 1, 2, 4"),
    ({"micro": 3}, "cannot be cut into 3 micro-batches"),
    ({"pipeline_scheduler": "zero"}, "'gpipe', '1f1b', 'interleaved'"),
    ({"stages": 16, "devices": 16, "micro": 16}, "the network has"),
    ({"memory_limit": 1e3}, "fits into memory"),
])  # fmt: skip
def test_wrong_pipelines_explain_themselves(how, piece):
    with pytest.raises(ValueError) as told:
        wrong(**how)
    assert piece in str(told.value)


@pytest.mark.parametrize("said, piece", [((1, 0), "stages rise"), ((0, 2), "legal: 0 to 1"), ((0, 0), "no Cell is in")])
def test_wrong_stages_of_cells(said, piece):
    inner = Net()
    for layer, stage in zip(inner.layers, said):
        layer.pipeline_stage = stage
    with pytest.raises(ValueError) as told:
        ms.parallel.plan(nn.PipelineCell(inner, 2), *inputs(), device_num=2, pipeline_stages=2)
    assert piece in str(told.value)


# ---- as MindSpore's tutorial writes it ----------------------------------------------------------------------------


class Tutorial(nn.Cell):
    """Cells with names of their own, no list of them, and an operation of the network itself between two."""

    def __init__(self):
        super().__init__()
        self.layer1, self.layer2 = (nn.Dense(8, 8, dtype=ms.float64) for _ in range(2))
        self.relu1, self.layer3 = nn.ReLU(), nn.Dense(8, 2, dtype=ms.float64)

    def construct(self, x):
        return self.layer3(ops.tanh(self.layer2(self.relu1(self.layer1(x)))))


def tutorial(where):
    net = Tutorial()
    ends = dict.fromkeys(["layer1", "relu1", "layer2"], 0) | {"layer3": 1}
    if where == "attributes":
        for name, stage in ends.items():
            getattr(net, name).pipeline_stage = stage
    inner = nn.WithLossCell(net, nn.MSELoss())
    config = {f"_backbone.{name}": stage for name, stage in ends.items()} if where == "stage_config" else None
    return nn.PipelineCell(inner, 4, config)


@pytest.mark.parametrize("where", ["attributes", "stage_config", "planned"])
def test_a_network_in_a_loss_is_cut_between_its_own_cells(where):
    args = ms.Tensor(np.linspace(-1, 1, 128).reshape(16, 8)), ms.Tensor(np.linspace(0, 1, 32).reshape(16, 2))
    program = tutorial(where)
    plan = ms.parallel.plan(program, *args, device_num=4, pipeline_stages=2, parallel_mode="auto_parallel")
    assert {name.rsplit("Tutorial/")[-1] for names in plan.layers for name in names} >= {"layer1", "layer2", "layer3"}
    if where != "planned":
        assert "WithLossCell/Tutorial/layer2" in plan.layers[0] and "WithLossCell/Tutorial/layer3" in plan.layers[1]
    check(plan, program, args)


def test_a_stage_of_a_cell_that_does_not_exist():
    with pytest.raises(ValueError, match="the network has no Cell '_backbone.layer9'") as told:
        nn.PipelineCell(nn.WithLossCell(Tutorial(), nn.MSELoss()), 4, {"_backbone.layer9": 0})
    assert "_backbone.layer1" in str(told.value)
