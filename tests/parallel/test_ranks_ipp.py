"""Pipelines and training steps on the engines of ipyparallel: what MPI ranks of our own do, they do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import faults
import numpy as np
import pytest
from piped_nets import batch, planned, reference, step_of
from test_piped import total
from test_ranks_faults import gone

import msnb as ms
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.process_launcher import missing
from msnb.parallel.engine.comm.rank_failures import RankError
from msnb.parallel.engine.trainer import Trainer
from tests.waiting import stop_process

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing("ipp")), reason=f"needs {missing('ipp')}")]


@pytest.fixture(scope="module")
def engine():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        with Engine("ipp", n=4) as made:
            yield made


PLANS = [
    {"parallel_mode": "data_parallel"},
    {"pipeline_stages": 2, "parallel_mode": "data_parallel"},
    {"pipeline_stages": 2, "pipeline_scheduler": "interleaved", "recompute": True},
    {"pipeline_stages": 2, "stage_devices": (1, 3), "pipeline_scheduler": "gpipe"},
]


@pytest.mark.parametrize("how", PLANS, ids=lambda how: "-".join(map(str, how.values())))
def test_steps_are_those_of_the_single_device(engine, how):
    """By name: an engine of as many ranks that runs already is taken. The loss, and bytes as promised."""
    want, _ = reference(1)
    _, plan = planned(**how)
    loss = plan.run(*batch(0), engine="ipp")
    assert float(loss) == pytest.approx(want[0], rel=1e-10)
    assert {kind: n * 4 for kind, n in plan.sent.items()} == total(plan.collectives)


def test_losses_and_gradients_of_a_network_in_stages(engine):
    net, _ = step_of()
    args = batch(0)
    plan = ms.parallel.plan(net, *args, device_num=4, pipeline_stages=2, parallel_mode="data_parallel")
    here, gradients = plan.run(*args)
    loss, found = plan.run(*args, engine="ipp")
    assert float(loss) == pytest.approx(float(here), rel=1e-12)
    for name, g in gradients.items():
        np.testing.assert_allclose(found[name], g, rtol=1e-10, atol=1e-13, err_msg=name)


def test_training_goes_on_after_a_killed_rank(engine, tmp_path):
    want, values = reference(4)
    net, plan = planned(pipeline_stages=2, parallel_mode="data_parallel")
    with Trainer(plan, engine, every=1) as trainer:
        losses = trainer.run(batch, steps=2)
        saved = trainer.save(tmp_path / "two")
        with pytest.raises(RankError):
            engine.map(faults.misbehave, "exception", 1)
        assert engine.recover() == "recovered"
        with pytest.raises(RankError):
            engine.map(faults.misbehave, "kill", 2)
        assert engine.recover() == "restarted"
        trainer.load(saved)
        losses += trainer.run(lambda i: batch(2 + i), steps=2)
        trainer.write_back()
    np.testing.assert_allclose([float(x) for x in losses], want, rtol=1e-10)
    for p in net.get_parameters():
        np.testing.assert_allclose(p.asnumpy(), values[p.name], rtol=0, atol=1e-10, err_msg=p.name)


def test_a_stopped_engine_is_replaced(engine):
    """A process that does not even end when it is asked to: it is killed, and what %%px works on is what lives."""
    before = dict(engine.pids)
    stop_process(before[1])
    engine.timeout, patience = 2.0, engine.timeout
    with pytest.raises(RankError) as told:
        engine.map(faults.pid)
    engine.timeout = patience
    assert told.value.failures[1].kind == "silent"
    assert engine.recover() == "restarted"
    assert gone(before.values())
    assert engine.map(faults.pid) == [engine.pids[r] for r in range(4)]
    assert sorted(engine.launcher.view.apply_sync(os.getpid)) == sorted(engine.pids.values())


def test_two_engines_on_one_cluster(engine):
    """Each has its own ranks in the same processes."""
    with Engine("ipp", n=4, cluster=engine.launcher.cluster) as other:
        for both in (engine, other, engine):
            assert both.map(faults.pid) == [engine.pids[r] for r in range(4)]
    assert len(engine.map(faults.pid)) == 4, "the cluster lives on"


def test_a_cluster_of_another_size(engine):
    """A sentence, and the cluster lives on."""
    other = Engine("ipp", n=2, cluster=engine.launcher.cluster)
    with pytest.raises(RuntimeError, match="2 ranks were asked for; the cluster has 4 engines, .* ranks 0, 1, 2, 3"):
        other.start()
    assert len(engine.map(faults.pid)) == 4


def test_the_client_of_a_cluster_dies():
    """The cluster that was begun for it ends too: engines, their nannies, the controller and its schedulers; and the
    folder in which they met goes."""
    text = ("import time\nfrom msnb.parallel.engine.client.engine_client import Engine\n"
            "engine = Engine('ipp', n=2).start()\n"
            "controller = engine.launcher.cluster.controller\n"
            "print(engine._folder, controller.pid, *engine.pids.values(), flush=True)\ntime.sleep(1000)\n")  # fmt: skip
    client = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    folder, *pids = client.stdout.readline().split()
    assert Path(folder).is_dir()
    client.kill()
    client.wait()
    client.stdout.close()
    assert len(pids) == 3 and gone(pids) and not Path(folder).exists()
