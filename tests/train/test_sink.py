"""Sunk data: losses and state as step by step, callbacks once per sink, errors and interrupts in their place."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import dataset, nn, ops
from msnb.base import events
from msnb.base.errors import ArgumentError, AttributeValueError
from msnb.ir.control_flow import SCAN
from msnb.train import Callback, LossMonitor, Model
from msnb.train.sink_steps import BLOCK
from tests.waiting import eventually

Row = tuple[np.ndarray, np.ndarray]


def rows(count: int, size: int = 4, seed: int = 0) -> list[Row]:
    rng = np.random.default_rng(seed)
    return [
        (rng.normal(size=(size, 3)).astype(np.float32), rng.integers(0, 2, size).astype(np.int32)) for _ in range(count)
    ]


class Net(nn.Cell):
    """Weights, draws, running statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.norm, self.drop, self.last = (
            nn.Dense(3, 5),
            nn.BatchNorm1d(5),
            nn.Dropout(p=0.3),
            nn.Dense(5, 2),
        )

    def construct(self, x: Any) -> Any:
        return self.last(self.drop(ops.relu(self.norm(self.first(x)))))


class Watch(Callback):
    def __init__(self) -> None:
        self.calls: list[tuple[str, int, int]] = []
        self.losses: list[Any] = []

    def _note(self, name: str, run: Any) -> None:
        params = run.original_args()
        self.calls.append((name, params.cur_epoch_num, params.cur_step_num))

    def on_train_step_begin(self, run_context: Any) -> None:
        self._note("begin", run_context)

    def on_train_step_end(self, run_context: Any) -> None:
        self._note("end", run_context)
        self.losses.append(float(run_context.original_args().net_outputs))

    def on_train_epoch_end(self, run_context: Any) -> None:
        self._note("epoch", run_context)


def made() -> tuple[Net, Model]:
    ms.set_seed(8)
    net = Net()
    return net, Model(net, nn.CrossEntropyLoss(), nn.Momentum(net.trainable_params(), 0.05, 0.9))


def run(data: Any, epochs: int, **options: Any) -> tuple[list[float], dict[str, Any], Watch]:
    net, model = made()
    watch, losses = Watch(), []
    with events.listening("step", lambda **data: losses.append(float(data["loss"]))):
        model.train(epochs, data, callbacks=watch, **options)
    return losses, {p.name: p.asnumpy() for p in model.train_network.get_parameters()}, watch


def assert_alike(a: tuple[list[float], dict[str, Any], Watch], b: tuple[list[float], dict[str, Any], Watch]) -> None:
    # kernels of a loop may round another way; another draw or a lost step would show far more
    np.testing.assert_allclose(a[0], b[0], rtol=5e-3)
    for name, value in a[1].items():
        np.testing.assert_allclose(value, b[1][name], rtol=1e-2, atol=5e-3, err_msg=name)


@pytest.mark.parametrize("count", [1, 5, BLOCK, BLOCK + 3, 2 * BLOCK])
def test_the_losses_are_those_of_single_steps(mode: int, count: int) -> None:
    data = rows(count)
    plain, sunk = run(data, 2), run(data, 2, dataset_sink_mode=True)
    assert_alike(plain, sunk)
    assert len(sunk[0]) == 2 * count
    steps = [(n, e, e * count) for e in (1, 2) for n in ("begin", "end", "epoch")]
    assert sunk[2].calls == steps and sunk[2].losses == [sunk[0][count - 1], sunk[0][-1]]


def test_sinks_of_a_size_go_round_the_data(mode: int) -> None:
    data = rows(5)
    sunk = run(data, 4, dataset_sink_mode=True, sink_size=7)
    plain = run([data[i % 5] for i in range(28)], 1)
    assert_alike(plain, sunk)
    assert [c for c in sunk[2].calls if c[0] == "end"] == [("end", e, 7 * e) for e in (1, 2, 3, 4)]


def test_rows_of_other_shapes_run_alone(mode: int) -> None:
    data = [*rows(6), *rows(2, 3, 1), *rows(5), *rows(1, 2)]
    assert_alike(run(data, 2), run(data, 2, dataset_sink_mode=True))


def test_a_block_is_one_program_with_a_scan() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    _, model = made()
    compiled: list[Any] = []
    with events.listening("compiled", lambda **data: compiled.append(data["version"])):
        model.train(3, rows(BLOCK + 2), dataset_sink_mode=True)
        model.train(1, rows(BLOCK + 1), dataset_sink_mode=True)
    assert len(compiled) == 2  # one for blocks, one for what is left
    scans = [n for v in compiled for n in v.captured.graph.nodes if n.op is SCAN]
    assert len(scans) == 1 and scans[0].attrs["length"] == BLOCK


def test_a_dataset_with_an_epoch_of_its_own(mode: int) -> None:
    def sets() -> Any:
        x = np.arange(60, dtype=np.float32).reshape(20, 3) / 30
        return dataset.NumpySlicesDataset((x, (np.arange(20) % 2).astype(np.int32)), ["x", "y"], shuffle=True).batch(3)

    ms.set_seed(4)
    dataset.config.set_seed(3)
    plain = run(sets(), 3)
    dataset.config.set_seed(3)
    sunk = run(sets(), 3, dataset_sink_mode=True)
    assert_alike(plain, sunk)
    assert len(plain[0]) == 21


class Broken:
    """A data set that fails at a row."""

    def __init__(self, data: list[Row], at: int) -> None:
        self.data, self.at = data, at

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Row]:
        for i, row in enumerate(self.data):
            if i == self.at:
                raise OSError(f"row {i} cannot be read")
            yield row


@pytest.mark.long
@pytest.mark.parametrize("at", [0, 2, BLOCK + 1])
def test_an_error_of_the_data_comes_after_the_steps_before_it(mode: int, at: int) -> None:
    net, model = made()
    with pytest.raises(OSError, match=f"row {at} cannot be read"):
        model.train(1, Broken(rows(BLOCK + 4), at), dataset_sink_mode=True)
    assert int(model._optimizer.global_step) == at and not net.training
    assert _settled()


def _settled() -> bool:
    """The thread that reads ahead ends; nobody waits for it longer than a moment."""
    return eventually(lambda: not [t for t in threading.enumerate() if t.name == "msnb-dataset-prefetch"])


def test_a_failing_step_changes_nothing(mode: int) -> None:
    good, (x, y) = rows(3), rows(1)[0]
    _, model = made()
    with pytest.raises(ValueError):
        model.train(1, [*good, (x[:, :2], y)], dataset_sink_mode=True)
    assert int(model._optimizer.global_step) == 3 and _settled()


def test_rows_are_read_only_a_little_ahead(mode: int) -> None:
    read: list[int] = []

    class Counting(Broken):
        def __iter__(self) -> Iterator[Row]:
            for i, row in enumerate(super().__iter__()):
                read.append(i)
                yield row

    class Interrupt(Callback):
        def on_train_step_end(self, run_context: Any) -> None:
            raise KeyboardInterrupt

    _, model = made()
    with pytest.raises(KeyboardInterrupt):
        model.train(50, Counting(rows(BLOCK), -1), callbacks=Interrupt(), dataset_sink_mode=True)
    assert len(read) <= 6 * BLOCK and int(model._optimizer.global_step) == BLOCK
    assert _settled()
    model.train(1, rows(2), dataset_sink_mode=True)
    assert int(model._optimizer.global_step) == BLOCK + 2


def test_a_run_can_be_stopped_between_sinks(mode: int) -> None:
    class Stop(Callback):
        def on_train_step_end(self, run_context: Any) -> None:
            run_context.request_stop()

    _, model = made()
    model.train(9, rows(4), callbacks=[Stop(), LossMonitor()], dataset_sink_mode=True)
    assert int(model._optimizer.global_step) == 4


def test_python_that_every_step_changes_runs_at_every_step(mode: int, notices: list[str]) -> None:
    class Counting(Net):
        def __init__(self) -> None:
            super().__init__()
            self.count = 0

        def construct(self, x: Any) -> Any:
            self.count += 1
            return super().construct(x)

    net = Counting()
    optimizer = nn.SGD(net.trainable_params(), 0.1)
    Model(net, nn.CrossEntropyLoss(), optimizer).train(2, rows(BLOCK), dataset_sink_mode=True)
    assert net.count == 2 * BLOCK
    assert any("steps run one per call" in text for text in notices) == (mode == ms.GRAPH_MODE)


def test_mixed_precision_in_a_sink() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    found = []
    for sunk in (False, True):
        ms.set_seed(8)
        net, told = Net(), []
        model = Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1), amp_level="O2")
        with events.listening("step", lambda **data: told.append([float(v) for v in data["loss"]])):
            model.train(2, rows(BLOCK), dataset_sink_mode=sunk)
        found.append(told)
    np.testing.assert_allclose(found[0], found[1], rtol=1e-3)


def test_fit_sinks_and_evaluates(mode: int) -> None:
    ms.set_seed(8)
    net = Net()
    model = Model(net, nn.CrossEntropyLoss(), nn.Adam(net.trainable_params(), 0.01), {"accuracy"})
    seen: list[Any] = []
    note = ms.train.LambdaCallback(on_train_epoch_end=lambda run: seen.append(run.original_args().eval_results))
    model.fit(2, rows(6), rows(2), callbacks=note, dataset_sink_mode=True)
    assert len(seen) == 2 and all(set(s) == {"accuracy"} for s in seen)


WRONG = [
    (0, AttributeValueError, "sink_size must be -1 .the whole data set. or at least 1, got 0"),
    (-2, AttributeValueError, "got -2"),
    (2.0, ArgumentError, "sink_size must be an int"),
    (True, ArgumentError, "sink_size must be an int"),
]


@pytest.mark.parametrize("case", range(len(WRONG)))
def test_wrong_sizes(case: int) -> None:
    size, error, sentence = WRONG[case]
    with pytest.raises(error, match=sentence):
        made()[1].train(1, rows(1), dataset_sink_mode=True, sink_size=size)


def test_wrong_rows_are_told_with_their_columns(mode: int) -> None:
    x, y = rows(1)[0]
    ds = dataset.NumpySlicesDataset((x, y, y), ["image", "label", "id"]).batch(1)
    with pytest.raises(ArgumentError, match=r"3 columns \(image, label, id\)[\s\S]*project"):
        made()[1].train(1, ds, dataset_sink_mode=True)
