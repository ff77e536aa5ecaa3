"""Layers computed twice: their steps are taken again, the numbers stay, and a rank holds less at its peak."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.parallel.engine.inproc import Ranks
from msnb.parallel.engine.walk import Walk
from msnb.parallel.program import RunStep
from msnb.parallel.serial import from_text, to_text


class Layer(nn.Cell):
    def __init__(self, h):
        super().__init__()
        self.up, self.down = nn.Dense(h, 4 * h, dtype=ms.float64), nn.Dense(4 * h, h, dtype=ms.float64)
        self.drop = nn.Dropout(p=0.25)

    def construct(self, x):
        return x + self.drop(self.down(ops.tanh(self.up(x))))


class Net(nn.Cell):
    def __init__(self, layers=4, h=8):
        super().__init__()
        ms.set_seed(2)
        self.layers = nn.CellList([Layer(h) for _ in range(layers)])

    def construct(self, x):
        for layer in self.layers:
            x = layer(x)
        return ops.square(x).mean()


X = ms.Tensor(np.random.default_rng(0).standard_normal((32, 8)))


def planned(**how):
    net = Net()
    net.set_train()
    ms.set_seed(5)
    return net, ms.parallel.plan(net, X, device_num=2, **how)


@pytest.fixture
def peak(monkeypatch):
    """The most bytes that the first rank held between steps of the last run."""
    most = [0]
    comes = Walk._comes_to

    def watched(walk, i):
        comes(walk, i)
        if walk.rank == 0:
            arrays = {id(a): a for row in walk.parts.values() for a in row.values()}
            most[0] = max(most[0], sum(a.nbytes for a in arrays.values()))

    monkeypatch.setattr(Walk, "_comes_to", watched)

    def of(program, args):
        most[0] = 0
        return Ranks(program).run(args), most[0]

    return of


@pytest.mark.parametrize("how", [{"parallel_mode": "data_parallel"}, {"strategies": {"matmul": ((1, 2), (2, 1))}}])
def test_steps_are_taken_again(how, peak):
    net, plain = planned(**how)
    args = list(plain.given().values())
    want, before = peak(plain.program, args)
    _, plan = planned(recompute=True, **how)
    assert {layer.name for layer in plan.again} >= {f"Net/layers/{i}" for i in range(4)}
    got, after = peak(plan.program, args)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_array_equal(a, b)  # the same steps on the same parts, random draws among them
    assert after < before
    again = [s for s in plan.program.steps if s.where.endswith(" again")]
    assert {s.node.op.name for s in again if isinstance(s, RunStep)} >= {"matmul", "tanh"}
    plan.run(X)
    assert {c.kind for c in plan.collectives} == set(plan.sent)
    assert sum(c.sent for c in plan.collectives) == sum(plan.sent.values())
    read = from_text(to_text(plan.program))
    for a, b in zip(Ranks(read).run(args), want, strict=True):
        np.testing.assert_array_equal(a, b)


def test_some_layers_only(peak):
    _, plan = planned(recompute=["Net/layers/1"], parallel_mode="data_parallel")
    again = [s.where for s in plan.program.steps if s.where.endswith(" again")]
    assert again and all(where.startswith("Net/layers/1/") for where in again)


def told(step):
    """The network of which every layer but the first says itself that it is computed twice; its training step."""
    net = Net()
    net.set_train()
    for layer in list(net.layers)[1:]:
        layer.recompute()
    ms.set_seed(5)
    return nn.TrainOneStepCell(net, nn.Momentum(net.trainable_params(), 0.1, 0.9)) if step else net


@pytest.mark.parametrize("step", [False, True], ids=["loss", "step"])
def test_cells_that_say_so_are_planned_so(step, peak):
    """In memory, in time and in steps; a captured step holds the second run already, and is not made a third time."""
    plan = ms.parallel.plan(told(step), X, device_num=2, parallel_mode="data_parallel")
    assert [layer.name.rpartition("Net/")[2] for layer in plan.again] == ["layers/1", "layers/2", "layers/3"]
    _, plain = planned(parallel_mode="data_parallel")
    assert plan.memory["activations"] < plain.memory["activations"] and plan.step_time > plain.step_time
    got, after = peak(plan.program, list(plan.given().values()))
    want, before = peak(plain.program, list(plain.given().values()))
    np.testing.assert_allclose(got[0], want[0], rtol=1e-12)
    assert step or after < before
    net = told(step)
    assert float(net(X)) == pytest.approx(float(got[0]), rel=1e-12)
    if step:
        state = {plan.program.graph.params[at].name: got[new] for at, new in plan.program.graph.state.items()}
        for p in net.trainable_params():
            np.testing.assert_allclose(state[p.name], p.asnumpy(), rtol=0, atol=1e-12, err_msg=p.name)


def test_pipelines_compute_layers_once_and_say_so(capsys):
    ms.core.events.forget_notices()
    net = Net()
    net.layers[1].recompute()
    plan = ms.parallel.plan(nn.PipelineCell(net, 2), X, device_num=2, pipeline_stages=2)
    assert "computed once" in capsys.readouterr().err
    want = ms.value_and_grad(nn.PipelineCell(net, 2), None, net.trainable_params())(X)[0]
    assert float(plan.run(X)[0]) == pytest.approx(float(want), rel=1e-12)
    with pytest.raises(ValueError, match="not planned together with pipeline stages"):
        ms.parallel.plan(nn.PipelineCell(net, 2), X, device_num=2, pipeline_stages=2, recompute=True)
