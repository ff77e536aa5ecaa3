"""Plans of whole training steps: forward, gradient and update as one program; loops and branches in it."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.parallel.program.spmd_program import UPDATE, RunStep


def data(*shape, seed=0):
    return ms.Tensor(np.random.default_rng(seed).standard_normal(shape))


class Looping(nn.Cell):
    """A while, an if and a scan over time, weights inside and outside of them."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Dense(8, 8, dtype=ms.float64), nn.Dense(8, 8, dtype=ms.float64)
        self.rnn = nn.RNN(8, 4, batch_first=True, dtype=ms.float64)

    def construct(self, x):
        h, i = self.a(x), ms.Tensor(0)
        while i < 3:
            h, i = ops.tanh(self.b(h)), i + 1
        h = h * 2.0 if h.sum() > 0 else h * h
        return ops.square(self.rnn(ops.reshape(h, (8, 2, 8)))[0]).mean() + h.mean()


@pytest.mark.parametrize("mode", ["auto_parallel", "data_parallel"])
def test_training_through_loops_and_branches(mode):
    net, x = Looping(), data(16, 8)
    plan = ms.parallel.plan(net, x, device_num=4, parallel_mode=mode)
    want, grads = ms.value_and_grad(net, None, net.trainable_params())(x)
    loss, found = plan.run(x)
    assert float(loss) == pytest.approx(want.item(), rel=1e-12)
    for p, g in zip(net.trainable_params(), grads):
        np.testing.assert_allclose(found[p.name], g.asnumpy(), rtol=1e-10, atol=1e-14, err_msg=p.name)
    assert sum(c.sent for c in plan.collectives) == sum(plan.sent.values())


def adam_step():
    net = nn.SequentialCell(nn.Dense(8, 16, activation="relu"), nn.Dense(16, 4))
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    return net, nn.TrainOneStepCell(loss, nn.Adam(net.trainable_params(), 0.01))


def test_a_step_is_planned_with_its_optimizer():
    net, step = adam_step()
    x, y = data(8, 8).astype(ms.float32), ms.Tensor(np.arange(8) % 4)
    before = [p.asnumpy().copy() for p in net.trainable_params()]
    plan = ms.parallel.plan(step, x, y, device_num=4, parallel_mode="data_parallel")
    loss = plan.run(x, y)
    for p, old in zip(net.trainable_params(), before):
        np.testing.assert_array_equal(p.asnumpy(), old, "a plan's run changes no weight")
    assert float(loss) == pytest.approx(float(step(x, y)), rel=1e-6)
    assert {c.phase for c in plan.collectives} == {"forward", "backward"}
    assert any(isinstance(s, RunStep) and s.phase == UPDATE for s in plan.program.steps)


def test_the_optimizer_state_lies_where_its_weight_lies():
    _, step = adam_step()
    x, y = data(8, 8).astype(ms.float32), ms.Tensor(np.arange(8) % 4)
    plan = ms.parallel.plan(step, x, y, device_num=4, strategies={"matmul": ((1, 1), (1, 4))})
    lies = {p.name: layout for p, layout in plan.program.params.items()}
    assert lies["1.weight"].used
    for name in ("0.weight", "1.weight", "0.bias"):
        assert lies[f"moment1.{name}"] == lies[f"moment2.{name}"] == lies[name]
    assert not [c for c in plan.collectives if c.phase == "update"]


# ---- what ms.jit, graph mode and Model do under the context ----------------------------------------------------------

MODES = ["data_parallel", "semi_auto_parallel", "auto_parallel"]


@pytest.fixture(params=MODES)
def parallel(request):
    """A context of four devices; ``parallel()`` sets it."""
    yield lambda **keys: ms.set_auto_parallel_context(parallel_mode=request.param, device_num=4, **keys)
    ms.reset_auto_parallel_context()


@pytest.fixture
def graph_mode():
    ms.set_context(mode=ms.GRAPH_MODE)
    yield
    ms.set_context(mode=ms.PYNATIVE_MODE)


ROWS = [(np.random.default_rng(i).standard_normal((8, 8)).astype(np.float32), np.arange(8) % 4) for i in range(3)]


def fresh():
    ms.set_seed(7)
    net = nn.SequentialCell(nn.Dense(8, 16, activation="relu"), nn.BatchNorm1d(16), nn.Dense(16, 4))
    return net, nn.Adam(net.trainable_params(), 0.01), nn.CrossEntropyLoss()


def by_jit():
    net, opt, loss = fresh()
    net.set_train()
    gradient = ms.value_and_grad(lambda x, y: loss(net(x), y), None, net.trainable_params())

    @ms.jit
    def step(x, y):
        value, grads = gradient(x, y)
        opt(grads)
        return value

    return [step(ms.Tensor(x), ms.Tensor(y)).item() for x, y in ROWS], net, step


def by_model(**how):
    net, opt, loss = fresh()
    model, losses = ms.Model(net, loss, opt), []

    class Collect(ms.Callback):
        def on_train_step_end(self, run_context):
            losses.append(run_context.original_args().net_outputs.item())

    model.train(1, ROWS, callbacks=[Collect()], **how)
    return losses, net, model


def same(got, want):
    np.testing.assert_allclose(got[0], want[0], rtol=1e-5)
    for p, q in zip(got[1].get_parameters(), want[1].get_parameters()):
        a, b = p.asnumpy(), q.asnumpy()
        assert np.linalg.norm(a - b) <= 1e-5 * max(np.linalg.norm(b), 1e-3), p.name


def test_a_jitted_step_runs_as_its_plan(parallel):
    want = by_jit()
    parallel()
    got = by_jit()
    same(got, want)
    assert want[2].plan is None
    assert got[2].plan.mesh.size == 4 and len(got[2].versions) == 1
    assert "runs as <Plan" in ms.explain(got[2])
    assert sum(got[2].plan.sent.values()) == sum(c.sent for c in got[2].plan.collectives)


def test_model_train_runs_as_its_plan(parallel):
    want = by_model()
    parallel()
    got = by_model()
    same(got, want)
    assert want[2].plan is None and got[2].plan.mesh.size == 4
    assert got[2].plan.step_time > 0


def test_model_train_in_graph_mode(parallel, graph_mode):
    want = by_model()
    parallel()
    got = by_model()
    same(got, want)
    assert want[2].plan is None and got[2].plan.mesh.size == 4


def test_a_change_of_the_context_plans_again_and_says_so():
    @ms.jit
    def total(x):
        return (x * x).sum()

    x = data(8, 8)
    want = total(x).item()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=8)
    assert total(x).item() == pytest.approx(want, rel=1e-12)
    assert total.plan.mesh.size == 8 and "parallel context changed" in total.versions[0].reason
    ms.reset_auto_parallel_context()
    total(x)
    assert total.plan is None and len(total.versions) == 2


def test_a_notice_tells_the_plan_once(capsys):
    ms.base.events.forget_notices()
    ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=2)
    total = ms.jit(lambda x: x.sum(), name="total")
    for _ in range(2):
        total(data(4))
    ms.reset_auto_parallel_context()
    assert capsys.readouterr().err.count("total runs as a plan over 2 devices (data_parallel)") == 1


def test_eager_ops_are_not_planned():
    net = nn.LSTM(8, 4, batch_first=True)
    x = data(4, 3, 8).astype(ms.float32)
    want = net(x)[0]
    ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=2)
    got = net(x)[0]
    ms.reset_auto_parallel_context()
    np.testing.assert_allclose(got.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    from msnb.api.graph_mode import compiled_cell

    assert getattr(compiled_cell(net), "plan", None) is None


def test_more_ranks_than_one_process_runs():
    ms.set_auto_parallel_context(parallel_mode="data_parallel", device_num=128)
    with pytest.raises(RuntimeError, match="up to 64"):
        ms.jit(lambda x: x.sum())(data(128))
    ms.reset_auto_parallel_context()


def with_scaled_loss(net, optimizer):
    return nn.TrainOneStepWithLossScaleCell(net, optimizer, nn.DynamicLossScaleUpdateCell(2.0**10, 2, 100))


@pytest.mark.long
@pytest.mark.parametrize("wrapped", [nn.TrainOneStepCell, with_scaled_loss])
@pytest.mark.parametrize("optimizer, states", [(nn.Momentum, 1), (nn.Adam, 2)])
def test_a_step_with_its_optimizer_is_predicted_as_its_loss_is(optimizer, states, wrapped):
    """The same kernels, the same sums of gradients and the optimizer's bytes, whoever takes the gradient."""
    layers = nn.SequentialCell(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU(), nn.Conv2d(16, 16, 3),
                               nn.BatchNorm2d(16), nn.Flatten(), nn.Dense(4096, 10))  # fmt: skip
    net = nn.WithLossCell(layers, nn.CrossEntropyLoss()).set_train()
    rates = {"learning_rate": 0.1} if states > 1 else {"learning_rate": 0.1, "momentum": 0.9}
    step = wrapped(net, optimizer(net.trainable_params(), **rates))
    inputs = ms.parallel.blank((64, 3, 16, 16)), ms.parallel.blank((64,), ms.int32)
    how = {"device_num": 8, "parallel_mode": "data_parallel"}
    of_loss = ms.parallel.plan(net, *inputs, optimizer_states=states, **how)
    of_step = ms.parallel.plan(step, *inputs, **how)
    for plan in (of_loss, of_step):
        names = [name for bucket in plan.segments("single").buckets for name in bucket]
        kinds = sorted(name.rsplit(".", 1)[-1] for name in names)
        assert kinds == ["beta", "beta", "bias", "gamma", "gamma", "weight", "weight", "weight"]
    assert of_step.memory["optimizer"] == of_loss.memory["optimizer"] == states * of_loss.memory["weights"]
    assert of_step.step_time == pytest.approx(of_loss.step_time, rel=1e-3)
