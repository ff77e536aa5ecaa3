"""Model: what it computes is what a loop of one's own computes, in both modes; runs, flags and errors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import dataset, nn
from msnb.base import events
from msnb.base.errors import ArgumentError, AttributeValueError, DatasetError, ShapeError
from msnb.train import Callback, Loss, Model
from tests.levels import alike, steady

Row = tuple[np.ndarray, np.ndarray]
TRUE = np.float32([[1.0], [2.0], [-1.0]])


def rows(count: int = 4, seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    xs = [rng.normal(size=(8, 3)).astype(np.float32) for _ in range(count)]
    return [(x, x @ TRUE + 0.5) for x in xs]


def network() -> nn.Cell:
    net = nn.Dense(3, 1)
    net.weight.set_data(ms.Tensor(np.float32([[0.1, -0.2, 0.3]])))
    net.bias.set_data(ms.Tensor(np.float32([0.0])))
    return net


def model(net: nn.Cell, rate: float = 0.05, **options: Any) -> Model:
    return Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), rate, 0.9), **options)


def by_hand(data: list[Row], epochs: int, rate: float = 0.05) -> tuple[np.ndarray, np.ndarray, list[float]]:
    """Momentum on a linear regression, in plain NumPy: w, b and the losses."""
    w, b = np.float32([[0.1, -0.2, 0.3]]), np.float32([0.0])
    vw, vb, losses = np.zeros_like(w), np.zeros_like(b), []
    for _ in range(epochs):
        for x, y in data:
            error = x @ w.T + b - y
            losses.append(float((error**2).mean()))
            vw = 0.9 * vw + 2 * (error.T @ x) / len(x)
            vb = 0.9 * vb + 2 * error.mean(0)
            w, b = w - rate * vw, b - rate * vb
    return w, b, losses


class Losses(Callback):
    def __init__(self) -> None:
        self.seen: list[float] = []

    def step_end(self, run_context: Any) -> None:
        self.seen.append(float(run_context.original_args().net_outputs))


def test_training_is_what_a_loop_by_hand_computes(mode: int) -> None:
    net, losses = network(), Losses()
    model(net).train(3, rows(), callbacks=losses)
    w, b, want = by_hand(rows(), 3)
    np.testing.assert_allclose(losses.seen, want, rtol=2e-4)
    np.testing.assert_allclose(net.weight.asnumpy(), w, rtol=1e-4)
    np.testing.assert_allclose(net.bias.asnumpy(), b, rtol=1e-4)


def test_both_modes_give_the_same_losses() -> None:
    found = []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        losses = Losses()
        model(network()).train(2, rows(), callbacks=losses)
        found.append(losses.seen)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6)


def test_graph_mode_compiles_the_step_once() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    trained, compiled = model(network()), []
    with events.listening("compiled", lambda **data: compiled.append(data)):
        trained.train(1, rows(1))
        assert len(compiled) == 1  # forward, backward and update are one program
        trained.train(3, rows(3))
        trained._optimizer.learning_rate = 0.01
        trained.train(1, rows(3))
    assert len(compiled) == 1


class Small(nn.Cell):
    """A bit of everything that has state or randomness: convolution, batch norm, dropout."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, pad_mode="valid")
        self.norm, self.drop = nn.BatchNorm2d(4), nn.Dropout(p=0.3)
        self.flat, self.dense = nn.Flatten(), nn.Dense(4 * 36, 3)

    def construct(self, x: Any) -> Any:
        return self.dense(self.drop(self.flat(ms.ops.relu(self.norm(self.conv(x))))))


def images(rng: np.random.Generator) -> list[Row]:
    return [(rng.normal(size=(8, 1, 8, 8)).astype(np.float32), rng.integers(0, 3, 8).astype(np.int32)) for _ in "abc"]


def test_a_network_with_state_and_draws_is_the_same_in_both_modes(rng: np.random.Generator) -> None:
    data, found = images(rng), []
    for mode in (ms.PYNATIVE_MODE, ms.GRAPH_MODE):
        ms.set_context(mode=mode)
        ms.set_seed(3)
        net, losses = Small(), Losses()
        adam = nn.Adam(net.trainable_params(), 0.01, **steady())
        trained = Model(net, nn.CrossEntropyLoss(), adam, {"accuracy", "loss"})
        trained.train(3, data, losses)
        state = {p.name: p.asnumpy() for p in trained.train_network.get_parameters()}
        found.append((losses.seen, trained.eval(data), state))
    (losses_a, eval_a, state_a), (losses_b, eval_b, state_b) = found
    np.testing.assert_allclose(losses_a, losses_b, rtol=1e-5)
    assert eval_a == pytest.approx(eval_b, rel=1e-5)
    assert sum(losses_a[-3:]) < sum(losses_a[:3])  # the last epoch against the first
    assert list(state_a) == list(state_b) and "norm.moving_mean" in state_a
    for name, value in state_a.items():
        np.testing.assert_allclose(value, state_b[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_a_checkpoint_restores_everything(tmp_path: Any, rng: np.random.Generator, mode: int) -> None:
    data, net = images(rng), Small()
    trained = Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.01), {"loss"})
    trained.train(1, data)
    ms.save_checkpoint(trained.train_network, tmp_path / "small")
    fresh = Small()
    other = Model(fresh, nn.CrossEntropyLoss(), nn.Adam(fresh.trainable_params(), 0.01), {"loss"})
    other.train(1, data)  # compiled and used already: the loaded values must reach the compiled program
    ms.load_checkpoint(tmp_path / "small.ckpt", other.train_network, strict_load=True)
    assert other.eval(data) == trained.eval(data)
    ms.load_checkpoint(tmp_path / "small.ckpt", fresh)  # the optimizer's state in the file does not disturb


def test_buffers_are_kept_too(tmp_path: Any) -> None:
    class Table(nn.Cell):
        def __init__(self, value: float) -> None:
            super().__init__()
            self.inner = nn.Dense(1, 1)
            self.register_buffer("table", ms.Tensor([value]))
            self.inner.register_buffer("scale", ms.Tensor([value]))
            self.register_buffer("scratch", ms.Tensor([value]), persistent=False)

    ms.save_checkpoint(Table(2.0), tmp_path / "t")
    net = Table(3.0)
    loaded = ms.load_checkpoint(tmp_path / "t.ckpt", net, strict_load=True)
    assert set(loaded) == {"inner.weight", "inner.bias", "table", "inner.scale"}
    assert (net.table.tolist(), net.inner.scale.tolist(), net.scratch.tolist()) == ([2.0], [2.0], [3.0])
    assert not isinstance(net.table, ms.Parameter)


def test_a_dataset_a_dict_iterator_and_arrays_are_rows(mode: int) -> None:
    data = rows()
    x, y = (np.concatenate(part) for part in zip(*data))
    ds = dataset.NumpySlicesDataset((x, y), ["x", "y"], shuffle=False).batch(8)
    nets = []
    for source in (ds, data, [{"x": a, "y": b} for a, b in data]):
        nets.append(network())
        model(nets[-1]).train(2, source)
    for net in nets[1:]:
        alike(net.weight.asnumpy(), nets[0].weight.asnumpy())


def test_a_network_that_gives_its_own_loss(mode: int) -> None:
    class Own(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = network()

        def construct(self, x: Any, y: Any, factor: Any) -> Any:
            return ((self.net(x) - y) ** 2).mean() * factor

    own = Own()
    half = np.float32(0.5)
    Model(own, optimizer=nn.SGD(own.trainable_params(), 0.1)).train(1, [(x, y, half) for x, y in rows()])
    assert float(own(*(ms.Tensor(v) for v in rows()[0]), 1.0)) < 3


def test_a_whole_training_step_as_network(mode: int) -> None:
    net = network()
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.05))
    before = net.weight.asnumpy()
    Model(step).train(1, rows(1))
    assert not np.array_equal(net.weight.asnumpy(), before)
    assert [p.name for p in step.get_parameters()][:2] == ["weight", "bias"]


def test_gradients_are_scaled_by_sens(mode: int) -> None:
    nets = [network(), network()]
    x, y = (ms.Tensor(v) for v in rows(1)[0])
    for net, rate, sens in zip(nets, (0.1, 0.05), (1.0, 2.0)):
        nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), rate), sens)(x, y)
    np.testing.assert_allclose(nets[0].weight.asnumpy(), nets[1].weight.asnumpy(), rtol=1e-6)


# ---- evaluation and prediction ---------------------------------------------------------------------------------------


def test_eval_and_predict(mode: int) -> None:
    net, data = network(), rows()
    trained = model(net, metrics={"mse", "loss", "mae"})
    found = trained.eval(data)
    w, b = net.weight.asnumpy(), net.bias.asnumpy()
    errors = np.concatenate([x @ w.T + b - y for x, y in data])
    assert found["mse"] == pytest.approx((errors**2).mean(), rel=1e-5)
    assert found["loss"] == pytest.approx(found["mse"], rel=1e-5)
    assert found["mae"] == pytest.approx(np.abs(errors).mean(), rel=1e-5)
    np.testing.assert_allclose(trained.predict(data[0][0]).asnumpy(), data[0][0] @ w.T + b, rtol=1e-5)
    assert net.weight.asnumpy().tobytes() == w.tobytes()


def test_an_eval_network_of_ones_own(mode: int) -> None:
    class Eval(nn.Cell):
        def __init__(self, net: nn.Cell) -> None:
            super().__init__(auto_prefix=False)
            self.net = net

        def construct(self, x: Any, y: Any) -> Any:
            out = self.net(x)
            return y, ((out - y) ** 2).mean(), out

    net = network()
    own = model(net, metrics={"mse", "loss"}, eval_network=Eval(net), eval_indexes=[1, 2, 0])
    assert own.eval(rows()) == pytest.approx(model(net, metrics={"mse", "loss"}).eval(rows()), rel=1e-6)
    free = model(net, metrics={"loss": Loss().set_indexes([1])}, eval_network=Eval(net))
    assert free.eval(rows())["loss"] == pytest.approx(own.eval(rows())["loss"], rel=1e-6)


def test_training_flags_are_set_and_put_back(mode: int) -> None:
    class Flags(Callback):
        def __init__(self, net: nn.Cell) -> None:
            self.net, self.seen = net, []

        def on_train_step_end(self, run_context: Any) -> None:
            self.seen.append([c.training for _, c in self.net.cells_and_names()])

        def on_eval_step_end(self, run_context: Any) -> None:
            self.seen.append([c.training for _, c in self.net.cells_and_names()])

    net = nn.SequentialCell(network(), nn.Dropout(p=0.5))
    net[0].set_train(True)
    flags = Flags(net)
    trained = model(net, metrics={"mse"})
    trained.fit(1, rows(1), rows(1), callbacks=flags)
    assert flags.seen == [[True] * 3, [False] * 3]
    assert [c.training for _, c in net.cells_and_names()] == [False, True, False]
    x = rows(1)[0][0]
    net.set_train(True)
    assert trained.predict(x).asnumpy().tobytes() == trained.predict(x).asnumpy().tobytes()  # no dropout in use
    assert net.training


# ---- runs ------------------------------------------------------------------------------------------------------------


def test_fit_evaluates_when_it_is_due(mode: int) -> None:
    for frequency, want in ((1, [1, 2, 3, 4]), (2, [2, 4]), ([1, 4], [1, 4])):
        seen: list[int] = []
        note = ms.train.LambdaCallback(on_eval_end=lambda run: seen.append(run.original_args().cur_epoch_num))
        model(network(), metrics={"mse"}).fit(4, rows(1), rows(1), frequency, callbacks=note)
        assert seen == want


def test_a_run_that_goes_on(mode: int) -> None:
    seen: list[tuple[int, int]] = []

    def note(run: Any) -> None:
        seen.append((run.original_args().cur_epoch_num, run.original_args().cur_step_num))

    model(network()).train(3, rows(2), ms.train.LambdaCallback(on_train_step_end=note), initial_epoch=1)
    assert seen == [(2, 3), (2, 4), (3, 5), (3, 6)]


def test_steps_are_told_as_events(mode: int) -> None:
    told: list[dict[str, Any]] = []
    with events.listening("step", lambda **data: told.append(data)):
        model(network()).train(2, rows(2))
    keys = ("epoch", "step", "steps", "epochs")
    assert [tuple(t[k] for k in keys) for t in told] == [(1, 1, 2, 2), (1, 2, 2, 2), (2, 1, 2, 2), (2, 2, 2, 2)]
    assert all(isinstance(t["loss"], ms.Tensor) for t in told)


def test_a_failing_step_changes_nothing(mode: int) -> None:
    good, net = rows(1)[0], network()
    model(net).train(1, [good])
    want = net.weight.asnumpy()
    other, bad = network(), (np.ones((8, 2), np.float32), good[1])
    failing = model(other)
    with pytest.raises(ShapeError):
        failing.train(1, [good, bad])
    alike(other.weight.asnumpy(), want)
    assert not other.training and int(failing._optimizer.global_step) == 1


def generator() -> Iterator[Row]:
    yield rows(1)[0]


NET = network()
WRONG = [
    (lambda: Model(3), ArgumentError, r"Model\(network=\) must be a Cell, not int"),
    (lambda: Model(NET, 3), ArgumentError, r"loss_fn=\) must be a Cell or a function"),
    (lambda: Model(NET, None, "sgd"), ArgumentError, r"Model\(optimizer=\) must be a Cell, not str"),
    (lambda: Model(NET, amp_level="O4"), AttributeValueError, r"amp_level=.O4. is not legal; legal: .O0.*auto"),
    (lambda: Model(NET, metrics={"magic"}), AttributeValueError, "no metric 'magic'"),
    (lambda: Model(NET, eval_indexes=[1]), ArgumentError, "eval_indexes are the positions"),
    (lambda: model(NET).train(0, rows()), AttributeValueError, "epoch must be an int of at least 1"),
    (lambda: model(NET).train(2, rows(), initial_epoch=2), AttributeValueError, "initial_epoch must be below epoch=2"),
    (lambda: model(NET).train(1, []), DatasetError, "no rows"),
    (lambda: model(NET).train(1, generator()), ArgumentError, r"a list of rows, not generator[\s\S]*GeneratorDataset"),
    (
        lambda: model(NET).train(1, rows(), callbacks=Callback),
        ArgumentError,
        r"callbacks must be[\s\S]*forget the \(\)",
    ),
    (
        lambda: model(NET).train(1, [(1.0, 2.0, 3.0)]),
        ArgumentError,
        "a row is .data, label.; the data set has 3 columns",
    ),
    (lambda: model(NET).eval(rows()), AttributeValueError, "no metrics"),
    (lambda: Model(NET, metrics={"mse"}).eval(rows()), AttributeValueError, "evaluation needs"),
    (lambda: model(NET, metrics={"mse"}).fit(1, rows(), rows(), 0), AttributeValueError, "valid_frequency must be"),
    (lambda: nn.WithLossCell(3, nn.MSELoss()), ArgumentError, "backbone of WithLossCell must be a Cell"),
    (lambda: nn.TrainOneStepCell(NET, 3), ArgumentError, "optimizer of TrainOneStepCell must be a Cell"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_arguments(case: int) -> None:
    call, error, sentence = WRONG[case]
    with pytest.raises(error, match=sentence):
        call()


def test_columns_are_named_in_the_error() -> None:
    x, y = rows(1)[0]
    ds = dataset.NumpySlicesDataset((x, y, y), ["image", "label", "id"]).batch(4)
    with pytest.raises(ArgumentError, match=r"3 columns \(image, label, id\)[\s\S]*project"):
        model(network()).train(1, ds)
