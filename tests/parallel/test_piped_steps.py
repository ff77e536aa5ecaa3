"""Whole training steps in stages, on simulated ranks: losses, new weights, moving averages and random draws of the
single device; the same through ``ms.jit`` and ``Model.train``."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from piped_nets import Classifier, batch, planned, reference, step_of
from test_piped import total

import msnb as ms
from msnb import nn
from msnb.parallel.engine.simulated.lockstep_ranks import Ranks
from msnb.parallel.program.program_document import from_text, to_text
from msnb.parallel.program.spmd_program import RecvStep, SendStep


@pytest.fixture(autouse=True)
def _clean():
    ms.reset_auto_parallel_context()
    yield
    ms.reset_auto_parallel_context()


DATA = {"parallel_mode": "data_parallel"}
HOWS = [
    {"pipeline_stages": 2, **DATA},
    {"pipeline_stages": 4, "pipeline_scheduler": "gpipe"},
    {"pipeline_stages": 2, "pipeline_scheduler": "interleaved"},
    {"pipeline_stages": 2, "stage_devices": (1, 3)},
    {"pipeline_stages": 2, "n": 8, "optimizer_level": 1, **DATA},
    {"pipeline_stages": 2, "n": 8, "optimizer_level": 3, **DATA},
]


def run(program, args):
    """One step: loss, new state by name, bytes of all ranks."""
    ranks, graph = Ranks(program), program.graph
    made = ranks.run(args)
    state = {graph.params[at].name: made[new] for at, new in graph.state.items()}
    return float(made[0]), state, {kind: n * program.size for kind, n in ranks.sent.items()}


@pytest.mark.long
@pytest.mark.parametrize("how", HOWS, ids=lambda how: "-".join(map(str, how.values())))
def test_a_step_is_that_of_the_single_device(how):
    """Batch norm takes the statistics of each micro-batch; its averages and the draws of dropout go on from one to the
    next. The document runs to the same bits."""
    want, values = reference(1)
    _, plan = planned(**how)
    args = list(plan.given().values())
    loss, state, sent = run(plan.program, args)
    assert loss == pytest.approx(want[0], rel=1e-10)
    for name, value in values.items():
        np.testing.assert_allclose(state[name], value, rtol=0, atol=1e-10, err_msg=name)
    assert sent == total(plan.collectives)
    again = from_text(to_text(plan.program))
    assert run(again, args)[0] == loss and to_text(again) == to_text(plan.program)


@pytest.mark.long
def test_adam_in_stages():
    want, values = reference(1, "adam")
    _, plan = planned("adam", pipeline_stages=2, **DATA)
    loss, state, _ = run(plan.program, list(plan.given().values()))
    assert loss == pytest.approx(want[0], rel=1e-10)
    for name, value in values.items():  # Adam's corrections are float32, and jit levels round them differently
        np.testing.assert_allclose(state[name], value, rtol=0, atol=1e-5, err_msg=name)


@pytest.mark.long
def test_what_is_kept_where():
    """A weight and its optimizer state are on one stage, the step's number and the draws on all that read them."""
    _, plan = planned("adam", pipeline_stages=2, **DATA)
    program = plan.program
    homes = {p.name: program.holders(p) for p in program.graph.params}
    for name in ("layers.0.fc.weight", "layers.0.norm.moving_mean", "moment1.layers.0.fc.weight"):
        assert homes[name] == (0,)
    assert homes["head.weight"] == homes["moment2.head.weight"] == (1,)
    assert homes["global_step"] == homes["random.state"] == (0, 1)
    assert plan.program.size == 4 and [list(team.ranks) for team in program.teams] == [[0, 1], [2, 3]]


@pytest.mark.long
def test_messages_are_received_in_the_order_of_sending():
    for how in HOWS[:4]:
        program = planned(**how)[1].program
        sent, got = (
            [(s.sender, s.receiver, s.value) for s in program.steps if isinstance(s, kind)]
            for kind in (SendStep, RecvStep)
        )
        for a, b in itertools.permutations(range(len(program.teams)), 2):
            assert [row for row in sent if row[:2] == (a, b)] == [row for row in got if row[:2] == (a, b)]
        assert sent


@pytest.mark.long
def test_clipping_by_the_norm_of_all_gradients():
    """A value that all stages have a part in, and all stages read."""
    def made():
        net, _ = step_of()
        opt = nn.SGD(net.trainable_params(), 0.1)
        gradient = ms.value_and_grad(net, None, net.trainable_params())

        def step(x, y):
            loss, grads = gradient(x, y)
            opt(ms.ops.clip_by_global_norm(grads, 0.1))
            return loss

        return net, step

    net, step = made()
    want = float(step(*batch(0)))
    other, again = made()
    plan = ms.parallel.plan(again, *batch(0), device_num=2, pipeline_stages=2)
    loss, state, _ = run(plan.program, list(plan.given().values()))
    assert loss == pytest.approx(want, rel=1e-10)
    for p in net.get_parameters():
        np.testing.assert_allclose(state[p.name], p.asnumpy(), rtol=0, atol=1e-10, err_msg=p.name)


# ---- ms.jit and Model under the context ------------------------------------------------------------------------------


def stages(mode="data_parallel", **keys):
    ms.set_auto_parallel_context(parallel_mode=mode, device_num=4, pipeline_stages=2, **keys)


@pytest.mark.long
def test_a_jitted_step_runs_in_stages():
    want, values = reference(3)
    stages("auto_parallel", pipeline_config={"pipeline_scheduler": "gpipe"})
    net, cell = step_of()
    step = ms.jit(cell)
    losses = [float(step(*batch(i))) for i in range(3)]
    np.testing.assert_allclose(losses, want, rtol=1e-10)
    for p in net.get_parameters():
        np.testing.assert_allclose(p.asnumpy(), values[p.name], rtol=0, atol=1e-10, err_msg=p.name)
    assert "2 stages of 2 devices" in repr(step.plan) and step.plan.scheduler == "gpipe"
    assert {kind: n * 4 for kind, n in step.plan.sent.items()} == total(step.plan.collectives)


@pytest.mark.long
def test_model_trains_in_stages():
    rows = [tuple(t.asnumpy() for t in batch(i)) for i in range(2)]

    def trained():
        net, _ = step_of()
        model = ms.Model(net, None, nn.Momentum(net.trainable_params(), 0.1, 0.9))
        model.train(1, rows)
        return {p.name: p.asnumpy() for p in net.get_parameters()}, model

    want, _ = trained()
    stages()
    got, model = trained()
    for name, value in want.items():
        np.testing.assert_allclose(got[name], value, rtol=0, atol=1e-10, err_msg=name)
    assert model.plan.pipes == 2 and model.plan.step_time > 0


@pytest.mark.long
def test_cells_say_their_stage_to_jit_too():
    stages()
    net, cell = step_of()
    net.network.head.pipeline_stage = 1
    step = ms.jit(cell)
    step(*batch(0))
    assert step.plan.layers[1][0] == "Classifier/head"


def test_programs_without_micro_batches():
    stages()
    net = Classifier()
    step = ms.jit(nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9)))
    with pytest.raises(ValueError, match="run the network inside of nn.PipelineCell"):
        step(*batch(0))
    forward = ms.jit(lambda x: (x * x).sum())
    assert float(forward(batch(0)[0])) == pytest.approx(float((batch(0)[0] ** 2).sum()), rel=1e-12)
    assert forward.plan.mesh.size == 4  # nothing is trained: no stages


@pytest.mark.parametrize("said, piece", [((1, 2), "4 devices in all"), ((4,), "2 of them"), ((4, 0), "one number")])
def test_wrong_sizes_of_stages(said, piece):
    with pytest.raises(ValueError, match=piece):
        planned(pipeline_stages=2, stage_devices=said)


# ---- strategies by name and files ------------------------------------------------------------------------------------


@pytest.mark.long
def test_strategies_by_name_and_files(tmp_path):
    want, _ = reference(1)
    how = {"pipeline_stages": 2, "strategies": {"matmul": ((1, 2), (2, 1)), "head/matmul": ((2, 1), (1, 1))}}
    _, plan = planned(**how)
    assert plan.strategies["Classifier/layers/0/fc/matmul"] == ((1, 2), (2, 1))
    assert plan.strategies["Classifier/head/matmul"] == ((2, 1), (1, 1))
    plan.save(tmp_path / "plan.json")
    _, other = planned(pipeline_stages=2, **DATA)
    again = other.load(tmp_path / "plan.json")
    assert again.strategies == plan.strategies != other.strategies
    loss, _, sent = run(again.program, list(again.given().values()))
    assert loss == pytest.approx(want[0], rel=1e-10) and sent == total(again.collectives) == total(plan.collectives)
    with pytest.raises(ValueError, match=r"stages of \[2, 2\] devices, this plan has stages of \[1, 3\]"):
        planned(pipeline_stages=2, stage_devices=(1, 3))[1].load(tmp_path / "plan.json")
    with pytest.raises(ValueError, match="no operator of this program is called 'nowhere'"):
        planned(pipeline_stages=2, strategies={"nowhere": ((1, 1), (1, 1))})
