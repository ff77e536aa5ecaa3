"""Loss scaling: what it does to a step, with and without overflow, in both modes and in Model."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import events
from msnb.base.errors import ArgumentError, AttributeValueError
from msnb.train import Callback, Model

X = np.random.default_rng(3).normal(size=(8, 3)).astype(np.float32)
Y = (X @ np.float32([[1.0], [2.0], [-1.0]])).astype(np.float32)
HUGE = np.full((8, 3), 1e30, np.float32)


def network() -> nn.Cell:
    net = nn.Dense(3, 1)
    net.weight.set_data(ms.Tensor(np.float32([[0.1, -0.2, 0.3]])))
    net.bias.set_data(ms.Tensor(np.float32([0.0])))
    return net


def momentum(net: nn.Cell, **settings: Any) -> Any:
    return nn.Momentum(net.trainable_params(), 0.05, 0.9, **settings)


def state(step: nn.Cell) -> dict[str, Any]:
    return {p.name: p.asnumpy().copy() for p in step.get_parameters()}


def assert_same(before: dict[str, Any], after: dict[str, Any], but: tuple[str, ...] = ()) -> None:
    for name, value in before.items():
        if name not in but:
            np.testing.assert_array_equal(value, after[name], err_msg=name)


def test_all_finite_looks_everywhere(mode: int) -> None:
    good, bad, nan = ms.Tensor([1.0, 2.0]), ms.Tensor([1.0, np.inf]), ms.Tensor(np.float32([np.nan]))
    ints = ms.Tensor([1, 2])
    assert bool(ms.amp.all_finite((good, {"a": [good, ints]})))
    assert not bool(ms.amp.all_finite([good, [bad]])) and not bool(ms.amp.all_finite(nan))
    assert bool(ms.amp.all_finite(ints)) and bool(ms.amp.all_finite(ops.zeros((0, 3))))
    half = ms.Tensor(np.float32([7e4])).astype(ms.float16)
    assert not bool(ms.amp.all_finite(half)) and bool(ms.amp.all_finite(ms.Tensor(np.float32([7e4])).bfloat16()))
    found = ms.jit(ms.amp.all_finite)([good, bad])
    assert found.dtype is ms.bool_ and found.shape == ()


def test_scalers_scale_and_unscale_trees(mode: int) -> None:
    for scaler in (ms.amp.StaticLossScaler(8), ms.amp.DynamicLossScaler(8.0, 2, 10)):
        x, half, i = ms.Tensor([1.0]), ms.Tensor([0.5]).astype(ms.float16), ms.Tensor([3])
        a, (b, c) = scaler.scale((x, [half, i]))
        assert (a.tolist(), b.tolist(), c.tolist()) == ([8.0], [4.0], [3])
        assert b.dtype is ms.float16 and scaler.unscale(a).tolist() == [1.0]


def scales(adjust: Any, scaler: Any, told: list[bool]) -> list[float]:
    found = []
    for ok in told:
        adjust(ms.Tensor(ok))
        found.append(float(scaler.scale_value))
    return found


def test_a_dynamic_scaler_follows(mode: int) -> None:
    told = [True, True, False, True, True, True, False, False, True, True]
    want = [4.0, 8.0, 4.0, 4.0, 8.0, 8.0, 4.0, 2.0, 2.0, 4.0]
    scaler = ms.amp.DynamicLossScaler(4, 2, 2)
    assert scales(scaler.adjust, scaler, told) == want
    other = ms.amp.DynamicLossScaler(4, 2, 2)
    assert scales(ms.jit(lambda ok: other.adjust(ok)), other, told) == want
    low = ms.amp.DynamicLossScaler(1.5, 4, 2)
    assert scales(low.adjust, low, [False, False]) == [1.0, 1.0]
    high = ms.amp.DynamicLossScaler(3e38, 2, 1)
    assert scales(high.adjust, high, [True]) == [float(np.float32(3e38))]


def test_a_loop_of_ones_own(mode: int) -> None:
    """The loop of MindSpore's tutorial; an overflow changes nothing but the scale."""
    net = network()
    optimizer, scaler, loss_fn = momentum(net), ms.amp.DynamicLossScaler(1024, 2, 1000), nn.MSELoss()

    def forward(x: Any, y: Any) -> Any:
        loss = loss_fn(net(x), y)
        return scaler.scale(loss), loss

    grad_fn = ms.value_and_grad(forward, None, net.trainable_params(), has_aux=True)

    def step(x: Any, y: Any) -> Any:
        (_, loss), grads = grad_fn(x, y)
        ok = ms.amp.all_finite(grads)
        if ok:
            optimizer(scaler.unscale(grads))
        scaler.adjust(ok)
        return loss, ok

    run = ms.jit(step) if mode == ms.GRAPH_MODE else step
    x, y = ms.Tensor(X), ms.Tensor(Y)
    loss, ok = run(x, y)
    assert bool(ok) and int(optimizer.global_step) == 1
    plain = network()
    nn.TrainOneStepCell(nn.WithLossCell(plain, nn.MSELoss()), momentum(plain))(x, y)
    np.testing.assert_allclose(net.weight.asnumpy(), plain.weight.asnumpy(), rtol=1e-5)
    before, weight = state(optimizer), net.weight.asnumpy().copy()
    assert not bool(run(ms.Tensor(HUGE), y)[1])
    assert_same(before, state(optimizer))
    assert np.array_equal(net.weight.asnumpy(), weight) and float(scaler.scale_value) == 512.0
    assert bool(run(x, y)[1]) and int(optimizer.global_step) == 2


@pytest.mark.parametrize("update", ["dynamic", "fixed", "tensor"])
def test_the_step_cell(mode: int, update: str) -> None:
    sense: Any = {
        "dynamic": lambda: nn.DynamicLossScaleUpdateCell(256.0, 2, 2),
        "fixed": lambda: nn.FixedLossScaleUpdateCell(256.0),
        "tensor": lambda: ms.Tensor(256.0),
    }[update]()
    net = network()
    step = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, nn.MSELoss()), momentum(net), sense)
    x, y = ms.Tensor(X), ms.Tensor(Y)
    loss, overflow, scale = step(x, y)
    assert (bool(overflow), float(scale)) == (False, 256.0) and loss.dtype is ms.float32
    assert float(loss) == pytest.approx(float(((network()(x) - y) ** 2).mean()), rel=1e-5)
    before = state(step)
    _, overflow, scale = step(ms.Tensor(HUGE), y)
    assert (bool(overflow), float(scale)) == (True, 256.0)
    assert_same(before, state(step), but=("scale_sense", "good_steps"))
    smaller = 128.0 if update == "dynamic" else 256.0
    assert float(step.scale_sense) == smaller
    found = [float(step(x, y)[2]) for _ in range(4)]
    assert found == ([128.0, 128.0, 256.0, 256.0] if update == "dynamic" else [256.0] * 4)


def test_overflow_is_decided_inside_one_program() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net, compiled = network(), []
    step = ms.amp.build_train_network(net, momentum(net), nn.MSELoss(), "O2")
    with events.listening("compiled", lambda **data: compiled.append(data)):
        for x in (X, HUGE, X):
            step(ms.Tensor(x), ms.Tensor(Y))
    assert len(compiled) == 1


def test_another_scale_by_hand(mode: int) -> None:
    net = network()
    step = nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, nn.MSELoss()), momentum(net), ms.Tensor(2.0))
    step.set_sense_scale(ms.Tensor(64.0))
    assert float(step(ms.Tensor(X), ms.Tensor(Y))[2]) == 64.0


class Outputs(Callback):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_train_step_end(self, run_context: Any) -> None:
        self.seen.append(run_context.original_args().net_outputs)


def test_model_in_float16_with_a_falling_scale(mode: int) -> None:
    """2^24 is far too much for float16: the first steps are left out until the scale fits."""
    net, outputs = network(), Outputs()
    model = Model(net, nn.MSELoss(), momentum(net), {"mse"}, amp_level="O2")
    model.train(1, [(X, Y)] * 30, callbacks=[outputs, ms.train.LossMonitor()])
    overflows = [bool(o[1]) for o in outputs.seen]
    scale = [float(o[2]) for o in outputs.seen]
    first = overflows.index(False)
    assert first > 0 and all(overflows[:first]) and scale[0] == 2.0**24
    assert scale[first] == 2.0 ** (24 - first) and int(model._optimizer.global_step) == overflows.count(False)
    losses = [float(o[0]) for o in outputs.seen]
    assert losses[: first + 1] == [losses[0]] * (first + 1) and losses[-1] < 0.3 * losses[0]
    assert model.eval([(X, Y)])["mse"] < losses[0]


@pytest.mark.parametrize("level", ["O1", "O2", "O3", "auto"])
def test_model_levels_train_like_float32(mode: int, level: str) -> None:
    net, plain = network(), network()
    exact, losses = Outputs(), Outputs()
    Model(plain, nn.MSELoss(), momentum(plain)).train(2, [(X, Y)] * 4, exact)
    Model(net, nn.MSELoss(), momentum(net), amp_level=level, loss_scale_manager=None).train(2, [(X, Y)] * 4, losses)
    np.testing.assert_allclose([float(a) for a in losses.seen], [float(b) for b in exact.seen], rtol=2e-2, atol=1e-3)


def test_managers(mode: int) -> None:
    fixed, dynamic = ms.FixedLossScaleManager(4.0, False), ms.DynamicLossScaleManager(8, 2, 2)
    assert fixed.get_update_cell() is None and not fixed.get_drop_overflow_update()
    fixed.update_loss_scale(True)
    assert fixed.get_loss_scale() == 4.0
    found = []
    for overflow in (False, False, True, True, True, True, True):
        dynamic.update_loss_scale(overflow)
        found.append(dynamic.get_loss_scale())
    assert found == [8.0, 16.0, 8.0, 4.0, 2.0, 1.0, 1.0]
    net = network()
    model = Model(net, nn.MSELoss(), momentum(net, loss_scale=4.0), loss_scale_manager=fixed)
    model.train(1, [(X, Y)])
    plain = network()
    Model(plain, nn.MSELoss(), momentum(plain)).train(1, [(X, Y)])
    np.testing.assert_allclose(net.weight.asnumpy(), plain.weight.asnumpy(), rtol=1e-6, atol=1e-7)


def test_keep_batchnorm_fp32_moves_the_norms() -> None:
    def made(level: str, keep: bool) -> Any:
        net = nn.SequentialCell(nn.Dense(3, 3), nn.BatchNorm1d(3), nn.Dense(3, 1))
        Model(net, nn.MSELoss(), momentum(net), amp_level=level, keep_batchnorm_fp32=keep)
        return net[1]._compute_dtype

    assert (made("O2", False), made("O2", True)) == (ms.float16, ms.float32)
    assert (made("O3", False), made("O3", True)) == (ms.float16, ms.float32)


def step(scale: Any) -> Any:
    net = network()
    return nn.TrainOneStepWithLossScaleCell(nn.WithLossCell(net, nn.MSELoss()), momentum(net), scale)


WRONG = [
    (lambda: ms.amp.all_finite(3), ArgumentError, "all_finite takes tensors, got int"),
    (lambda: ms.amp.StaticLossScaler(0), AttributeValueError, "scale_value must be above 0"),
    (lambda: ms.amp.StaticLossScaler("8"), ArgumentError, "scale_value must be a number"),
    (lambda: ms.amp.DynamicLossScaler(8, 1, 10), AttributeValueError, "scale_factor must be above 1"),
    (lambda: ms.amp.DynamicLossScaler(8, 2, 0), AttributeValueError, "scale_window must be an int of at least 1"),
    (lambda: ms.FixedLossScaleManager(1.0, 2), ArgumentError, "drop_overflow_update must be a bool"),
    (lambda: step(3), ArgumentError, "an update cell or a tensor with one number, got int"),
    (lambda: step(ms.Tensor([1.0, 2.0])), ArgumentError, "an update cell or a tensor with one number"),
    (
        lambda: step(nn.FixedLossScaleUpdateCell(2.0)).set_sense_scale(ms.Tensor(3.0)),
        ArgumentError,
        "managed by its update cell",
    ),
    (lambda: Model(network(), amp_level="O2", boost_level="O1"), AttributeValueError, "boost_level='O1'"),
    (lambda: Model(network(), keep_batchnorm_fp32=1), ArgumentError, "keep_batchnorm_fp32 must be a bool"),
    (
        lambda: ms.amp.build_train_network((n := network()), momentum(n), loss_scale_manager=3),
        ArgumentError,
        "must be a LossScaleManager or None",
    ),
    (
        lambda: ms.amp.build_train_network(
            (n := network()), momentum(n, loss_scale=2.0), loss_scale_manager=ms.FixedLossScaleManager(4.0, False)
        ),
        AttributeValueError,
        r"scaled by 4 and the optimizer divides by 2[\s\S]*loss_scale=4",
    ),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_arguments(case: int) -> None:
    call, error, sentence = WRONG[case]
    with pytest.raises(error, match=sentence):
        call()
