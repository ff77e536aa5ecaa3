"""Training steps, losses and metrics that MindSpore's programs write as subclasses. Both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor, nn, ops

X = np.float32([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]])
Y = np.float32([[1.0], [-1.0]])

halved = ops.MultitypeFuncGraph("halved")


@halved.register("Tensor", "Tensor")
def _half(scale: Any, grad: Any) -> Any:
    return grad * ops.Reciprocal()(scale)


class OwnStep(nn.TrainOneStepCell):
    def __init__(self, network: Any, optimizer: Any, sens: float = 1.0) -> None:
        super().__init__(network, optimizer, sens)
        self.hyper_map = ops.HyperMap()

    def construct(self, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        sens = ops.fill(loss.dtype, loss.shape, self.sens)
        grads = self.grad(self.network, self.weights)(*inputs, sens)
        if self.reducer_flag:
            grads = self.grad_reducer(grads)
        grads = self.hyper_map(ops.partial(halved, Tensor(2.0)), self.grad_reducer(grads))
        return ops.depend(loss, self.optimizer(grads))


class ScaledStep(nn.TrainOneStepWithLossScaleCell):
    def construct(self, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        status, scale = self.start_overflow_check(loss, self.scale_sense)
        filled = ops.ones_like(loss) * ops.cast(scale, loss.dtype)
        grads = self.grad(self.network, self.weights)(*inputs, filled)
        grads = self.grad_reducer(self.hyper_map(ops.partial(halved, scale), grads))
        overflow = self.process_loss_scale(self.get_overflow_status(status, grads))
        if not overflow:
            loss = ops.depend(loss, self.optimizer(grads))
        return loss, overflow, scale


class StepOfACell(nn.Cell):
    def __init__(self, network: Any, optimizer: Any) -> None:
        super().__init__(auto_prefix=False)
        self.network, self.optimizer, self.weights = network.set_grad(), optimizer, optimizer.parameters
        self.grad = ops.GradOperation(get_by_list=True)

    def construct(self, *inputs: Any) -> Any:
        loss = self.network(*inputs)
        self.optimizer(self.grad(self.network, self.weights)(*inputs))
        return loss


class WithoutSens(nn.TrainOneStepWithLossScaleCell):
    def construct(self, x: Any, y: Any) -> Any:
        loss = self.network(x, y)
        grads = self.grad_no_sens(self.network, self.weights)(x, y)
        overflow = self.less_equal(self.base, self.reduce_sum(loss * 0))
        self.optimizer(self.allreduce(grads) if self.is_distributed else grads)
        return loss, overflow, self.gpu_target


def network() -> nn.Cell:
    return nn.WithLossCell(nn.Dense(3, 1, weight_init=0.5, bias_init="zeros"), nn.MSELoss())


def weights(step: Any) -> list[Any]:
    return [p.asnumpy() for p in step.weights]


def one_step(net: nn.Cell, rate: float) -> list[Any]:
    step = nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), rate))
    step(Tensor(X), Tensor(Y))
    return weights(step)


def test_a_step_of_ones_own_updates_as_the_step(mode: int) -> None:
    net = network()
    step = OwnStep(net, nn.SGD(net.trainable_params(), 0.1), 4.0)
    assert (step.sens, step.sense_flag, step.parallel_mode, step.reducer_flag) == (4.0, True, "stand_alone", False)
    assert [p.name for p in step.weights] == [p.name for p in net.trainable_params()]
    loss = step(Tensor(X), Tensor(Y))
    np.testing.assert_allclose(loss.asnumpy(), float(network()(Tensor(X), Tensor(Y))), rtol=1e-6)
    for a, b in zip(weights(step), one_step(network(), 0.2)):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    with pytest.raises(ValueError, match="sens is 0"):
        nn.TrainOneStepCell(net, nn.SGD(net.trainable_params(), 0.1), 0)


@pytest.mark.parametrize("kind", ["update", "scalar", "one axis"])
def test_a_scaled_step_of_ones_own_leaves_out_what_overflows(mode: int, kind: str) -> None:
    net = network()
    scale = {"update": nn.DynamicLossScaleUpdateCell(64.0, 2, 100), "scalar": Tensor(64.0), "one axis": Tensor([64.0])}
    step = ScaledStep(net, nn.SGD(net.trainable_params(), 0.1), scale[kind])
    assert isinstance(step, nn.TrainOneStepCell) and step.scale_sense.shape == ((1,) if kind == "one axis" else ())
    _, overflow, used = step(Tensor(X), Tensor(Y))
    assert not overflow.asnumpy() and float(used.asnumpy().item()) == 64.0
    before = weights(step)
    for a, b in zip(before, one_step(network(), 0.1)):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    _, overflow, _ = step(Tensor(X * np.float32(1e30)), Tensor(Y))
    assert bool(overflow.asnumpy()) and step.scale_sense.asnumpy().item() == (32.0 if kind == "update" else 64.0)
    for a, b in zip(before, weights(step)):
        np.testing.assert_array_equal(a, b)


def test_the_step_itself_takes_a_scale_of_one_axis(mode: int) -> None:
    net = network()
    step = nn.TrainOneStepWithLossScaleCell(net, nn.SGD(net.trainable_params(), 0.1), Tensor([64.0]))
    _, overflow, scale = step(Tensor(X), Tensor(Y))
    assert scale.shape == (1,) and not overflow.asnumpy()
    for a, b in zip(weights(step), one_step(network(), 0.1)):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    step.set_sense_scale(Tensor([2.0]))
    assert step.scale_sense.asnumpy().tolist() == [2.0]


def test_gradients_without_sens(mode: int) -> None:
    net = network()
    step = WithoutSens(net, nn.SGD(net.trainable_params(), 0.1), nn.FixedLossScaleUpdateCell(8.0))
    _, overflow, on_gpu = step(Tensor(X), Tensor(Y))
    assert not overflow.asnumpy() and not on_gpu
    for a, b in zip(weights(step), one_step(network(), 0.1)):
        np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_a_sensitivity_of_one_number_is_that_of_all_elements(mode: int, shape: tuple[int, ...]) -> None:
    grad = ops.GradOperation(sens_param=True)
    assert grad(lambda x: (x * x).sum())(Tensor([1.0, 2.0]), ops.full(shape, 3.0)).asnumpy().tolist() == [6.0, 12.0]
    assert grad(lambda x: x * x)(Tensor([1.0, 2.0]), ops.full(shape, 3.0)).asnumpy().tolist() == [6.0, 12.0]
    with pytest.raises(ValueError, match=r"a sensitivity of shape \[2\] does not fit"):
        grad(lambda x: (x * x).sum())(Tensor([1.0, 2.0]), Tensor([1.0, 2.0]))


class Weighted(nn.LossBase):
    def construct(self, x: Any, y: Any) -> Any:
        return self.get_loss(self.mul(ops.abs(x - y), 2.0), 0.5)


class ByAxes(nn.LossBase):
    def construct(self, x: Any, y: Any) -> Any:
        error = self.cast(x - y, ms.float32)
        reduce = self.reduce_mean if self.average else self.reduce_sum
        return reduce(error, self.get_axis(error)) if self.reduce else error


def test_losses_of_ones_own_weigh_and_reduce(mode: int) -> None:
    x, y = Tensor(np.float16([[1.0, 4.0]])), Tensor(np.float16([[0.0, 1.0]]))
    assert [Weighted(kind)(x, y).asnumpy().tolist() for kind in ("mean", "sum", "none")] == [2.0, 4.0, [[1.0, 3.0]]]
    assert Weighted()(x, y).dtype == ms.float16 and nn.LossBase().get_axis(x) == (0, 1)
    assert [ByAxes(kind)(x, y).asnumpy().tolist() for kind in ("mean", "sum", "none")] == [2.0, 4.0, [[1.0, 3.0]]]
    big = Tensor(np.full(4, 4e4, np.float16))  # the sum of these is no float16, their mean is
    assert float(Weighted()(big, Tensor(np.full(4, 2e4, np.float16))).asnumpy()) == 2e4
    with pytest.raises(ValueError, match="reduction"):
        Weighted("all")


class Distance(nn.Metric):
    def clear(self) -> None:
        self.total = 0.0

    def update(self, *inputs: Any) -> None:
        a, b = self._convert_data(inputs[0]), self._convert_data(inputs[1])
        self.total += float(np.abs(a - b).sum())

    def eval(self) -> float:
        return self.total


def test_metrics_of_ones_own_convert_what_they_are_given(mode: int) -> None:
    assert Distance()(Tensor([1.0, 2.0]), [0.0, 0.0]) == 3.0 and Distance()(np.ones(2), Tensor([2.0, 2.0])) == 2.0
    with pytest.raises(TypeError, match="Distance takes a Tensor, array or list, got float"):
        Distance()(1.0, [1.0])


def test_names_of_older_programs() -> None:
    from mindspore import mint
    from mindspore._c_expression import typing
    from mindspore.dataset import context

    assert context.GRAPH_MODE == 0 and isinstance(ms.float32, typing.Float) and isinstance(ms.int8, typing.Number)
    assert isinstance(int, typing.Number) and not isinstance(np.ones(2), typing.Number)
    assert isinstance(ms.bfloat16, typing.BFloat) and not isinstance(ms.bfloat16, typing.Float)
    assert mint.functional.relu(Tensor([-1.0, 2.0])).asnumpy().tolist() == [0.0, 2.0]
    assert nn.EmbeddingLookup.TABLE_ROW_SLICE == "table_row_slice"


def test_a_transform_of_a_program() -> None:
    from mindspore.dataset.transforms.transforms import PyTensorOperation as Same
    from mindspore.dataset.vision.transforms import PyTensorOperation

    class Negative(PyTensorOperation):
        def _execute_py(self, img: np.ndarray) -> np.ndarray:
            return -img

    data = ms.dataset.NumpySlicesDataset([np.arange(3.0)], ["x"]).map(Negative(), "x")
    assert Same is PyTensorOperation and next(iter(data))[0].asnumpy().tolist() == [0.0, -1.0, -2.0]


def test_permutations_that_are_filled_up(mode: int) -> None:
    found = ops.Randperm(max_length=6, pad=-3, dtype=ms.int64)(Tensor([4], ms.int32))
    assert found.dtype == ms.int64 and found.asnumpy()[4:].tolist() == [-3, -3]
    assert sorted(found.asnumpy()[:4].tolist()) == [0, 1, 2, 3]
    assert sorted(ops.Randperm(5)(Tensor([5], ms.int32)).asnumpy().tolist()) == [0, 1, 2, 3, 4]


DECAYED = ops.MultitypeFuncGraph("decayed")


@DECAYED.register("Tensor", "Tensor", "Tensor", "Tensor", "Bool")
def _decayed(rate: Any, decay: Any, weight: Any, slope: Any, decays: bool) -> Any:
    step = slope + decay * weight if decays else slope
    return ops.depend(True, ops.assign(weight, weight - rate * step))


class Decaying(nn.Optimizer):
    """Reads weight decays as AdamW of MindCV does: in groups one per Parameter."""

    def __init__(self, params: Any, asks: bool) -> None:
        super().__init__(0.1, params, 0.5)
        self.asks = asks

    def construct(self, gradients: Any) -> Any:
        decay, rate = self.get_weight_decay() if self.asks else self.weight_decay, self.get_lr()
        if self.is_group:
            update = ops.partial(DECAYED, rate)
            return self.hyper_map(update, decay, self.parameters, gradients, self.decay_flags)
        update = ops.partial(DECAYED, rate, decay)
        return self.hyper_map(update, self.parameters, gradients, self.decay_flags)


@pytest.mark.parametrize("asks", [True, False])
def test_weight_decays_that_an_optimizer_of_ones_own_reads(mode: int, asks: bool) -> None:
    for count, decays in ((0, (0.5, 0.5)), (1, (0.3, 0.3)), (2, (0.3, 0.5))):
        a, b = (ms.Parameter(Tensor([4.0]), name=name) for name in "ab")
        own = {"params": [a, b] if count == 1 else [a], "weight_decay": 0.3}
        optimizer = Decaying([[a, b], [own], [own, {"params": [b]}]][count], asks)
        optimizer((Tensor([1.0]), Tensor([2.0])))
        np.testing.assert_allclose([float(a), float(b)], [3.9 - 0.4 * decays[0], 3.8 - 0.4 * decays[1]], rtol=1e-6)
        assert optimizer.exec_weight_decay
    assert not nn.SGD([{"params": [a], "weight_decay": 0.0}], 0.1, weight_decay=0.5).exec_weight_decay


class Counting(nn.Cell):
    """A loss with running statistics, and a count of the passes that it depends on."""

    def __init__(self) -> None:
        super().__init__()
        self.norm, self.dense = nn.BatchNorm1d(3), nn.Dense(3, 1, weight_init="ones", bias_init="zeros")
        self.count = ms.Parameter(Tensor(0.0), requires_grad=False)

    def construct(self, x: Any, y: Any) -> Any:
        ops.assign_add(self.count, Tensor(1.0))
        return self.count * ((self.dense(self.norm(x)) - y) ** 2).mean()


@pytest.mark.parametrize("kind", [OwnStep, StepOfACell, WithoutSens])
def test_a_step_of_ones_own_moves_running_statistics_once(mode: int, kind: type[Any]) -> None:
    found = []
    for one in (nn.TrainOneStepCell, kind):
        net = Counting().set_train()
        optimizer = nn.SGD(net.trainable_params(), 0.125 if one is not OwnStep else 0.25)  # which halves gradients
        step = one(net, optimizer, Tensor(1.0)) if one is WithoutSens else one(net, optimizer)
        losses = [step(Tensor(X), Tensor(Y)) for _ in range(3)]
        losses = [loss[0] if isinstance(loss, tuple) else loss for loss in losses]
        assert net.count.tolist() == 3.0
        found.append([*map(float, losses), *net.norm.moving_mean.tolist(), *net.dense.weight.tolist()[0]])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-6)


def test_what_a_gradient_of_the_same_arguments_begins_with() -> None:
    net, x, y = Counting().set_train().set_grad(), Tensor(X), Tensor(Y)
    gradient = ms.grad(net, None, net.trainable_params())

    def count(call: Any) -> float:
        call()
        return float(net.count)

    assert [count(lambda: net(x, y)), count(lambda: gradient(x, y)), count(lambda: gradient(x, y))] == [1, 1, 2]
    assert [count(lambda: net(x, y)), count(lambda: gradient(x + 1, y)), count(lambda: gradient(x, y))] == [3, 4, 5]
    net(x, y)
    with pytest.raises(Exception, match="x"):
        gradient(x, Tensor(np.ones((7, 5), np.float32)))
    assert [count(lambda: net(x, y)), count(lambda: gradient(x, y))] == [float(net.count)] * 2
    net.set_grad(False)
    assert count(lambda: net(x, y)) + 1 == count(lambda: gradient(x, y))
