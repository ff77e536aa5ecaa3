"""Training on real ranks: the optimizer on each rank's own part gives the single device's losses and weights; snapshots
load on another mesh; what the ranks count is what the plan promises."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import msnb as ms
from msnb import nn
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.process_launcher import missing
from msnb.parallel.engine.client.remote_plan import sent_by
from msnb.parallel.engine.trainer import Trainer

pytestmark = pytest.mark.skipif(bool(missing("mpi")), reason=f"needs {missing('mpi')}")

TOLERANCE = {"momentum": 1e-10, "adam": 1e-7}  # Adam's corrections are float32, and jit levels round them differently
OPTIMIZERS = {
    "momentum": lambda ps: nn.Momentum(ps, 0.1, 0.9),
    "adam": lambda ps: nn.Adam(ps, 0.01),
}


@pytest.fixture(scope="module")
def engine():
    with Engine("mpi", n=4) as made:
        yield made


def step_of(optimizer="adam", norm=False):
    ms.set_seed(1)
    layers = [nn.Dense(8, 16, activation="tanh", dtype=ms.float64), nn.Dense(16, 4, dtype=ms.float64)]
    if norm:
        layers.insert(1, nn.BatchNorm1d(16, dtype=ms.float64))
    net = nn.SequentialCell(*layers)
    loss = nn.WithLossCell(net, nn.CrossEntropyLoss())
    return net, nn.TrainOneStepCell(loss, OPTIMIZERS[optimizer](net.trainable_params()))


def batch(i):
    rng = np.random.default_rng(i)
    return ms.Tensor(rng.standard_normal((8, 8))), ms.Tensor(rng.integers(0, 4, 8))


def reference(optimizer, norm, steps):
    net, step = step_of(optimizer, norm)
    return [float(step(*batch(i))) for i in range(steps)], {p.name: p.asnumpy() for p in net.get_parameters()}


def planned(optimizer="adam", norm=False, n=4, **how):
    net, step = step_of(optimizer, norm)
    return net, ms.parallel.plan(step, *batch(0), device_num=n, **how)


SPLIT = {"strategies": {"matmul": ((2, 1), (1, 2))}}
DATA = {"parallel_mode": "data_parallel"}


@pytest.mark.long
@pytest.mark.parametrize(
    "optimizer, norm, how",
    [("adam", False, SPLIT), ("momentum", True, DATA), ("adam", True, DATA | {"optimizer_level": 1}),
     ("adam", True, DATA | {"optimizer_level": 3})],
)
def test_losses_weights_and_bytes(engine, optimizer, norm, how):
    want, weights = reference(optimizer, norm, 5)
    net, plan = planned(optimizer, norm, **how)
    engine.stats()
    with Trainer(plan, engine) as trainer:
        losses = trainer.run(batch, steps=5)
        sent = sent_by(engine)
        trainer.write_back()
    np.testing.assert_allclose([float(x) for x in losses], want, rtol=TOLERANCE[optimizer])
    for p in net.get_parameters():
        np.testing.assert_allclose(p.asnumpy(), weights[p.name], rtol=0, atol=100 * TOLERANCE[optimizer])
    assert sum(sent.values()) == 5 * 4 * sum(c.sent for c in plan.collectives) > 0


def test_a_snapshot_loads_on_another_mesh(engine, tmp_path):
    want, _ = reference("momentum", False, 6)
    _, plan = planned("momentum", **SPLIT)
    with Trainer(plan, engine) as trainer:
        first = trainer.run(batch, steps=3)
        saved = trainer.save(tmp_path / "half")
        held = trainer.weights()
    whole = ms.parallel.load_sharded(saved)
    assert set(whole) == set(held)
    for name, value in whole.items():
        np.testing.assert_array_equal(value.asnumpy(), held[name], err_msg=name)
    _, other = planned("momentum", strategies={"matmul": ((1, 4), (4, 1))})
    assert other.program.params != plan.program.params
    with Trainer(other, engine) as trainer:
        trainer.load(saved)
        rest = trainer.run(lambda i: batch(3 + i), steps=3)
    np.testing.assert_allclose([float(x) for x in (*first, *rest)], want, rtol=1e-10)


def test_a_rank_that_dies_behind_the_last_step_takes_nothing_with_it():
    want, _ = reference("momentum", False, 3)
    _, plan = planned("momentum", **SPLIT)
    with Engine("mpi", n=4) as engine:
        with Trainer(plan, engine) as trainer:
            losses = trainer.run(batch, steps=3)
            folder = Path(trainer.folder)
            os.kill(engine.pids[2], signal.SIGKILL)
        np.testing.assert_allclose([float(x) for x in losses], want, rtol=1e-10)
        assert not folder.exists() and not engine.plans
        assert engine.recover() == "restarted"
        with Trainer(plan, engine) as trainer:
            np.testing.assert_allclose([float(x) for x in trainer.run(batch, steps=1)], want[:1], rtol=1e-10)


def test_what_is_no_snapshot(engine, tmp_path):
    _, plan = planned(**SPLIT)
    with Trainer(plan, engine) as trainer:
        with pytest.raises(RuntimeError, match="is no sharded checkpoint"):
            trainer.load(tmp_path)
        assert engine.recover() == "recovered"
        assert np.isfinite(float(trainer.step(*batch(0))))
    with pytest.raises(ValueError, match="at least 1"):
        Trainer(plan, engine, every=0)
