"""Pipelines on real ranks: losses, weights and moving averages of the single device, bytes as promised, snapshots that
other plans read, faults from which training goes on."""

from __future__ import annotations

import os
from pathlib import Path

import faults
import numpy as np
import pytest
from piped_nets import batch, planned, reference
from test_piped import total

from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.process_launcher import missing
from msnb.parallel.engine.client.remote_plan import sent_by
from msnb.parallel.engine.comm.rank_failures import RankError
from msnb.parallel.engine.trainer import Trainer
from msnb.parallel.program.program_document import from_text, to_text

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing("mpi")), reason=f"needs {missing('mpi')}")]

PIPED = {"pipeline_stages": 2, "parallel_mode": "data_parallel"}
OTHERS = [{"parallel_mode": "data_parallel"}, {"pipeline_stages": 4},
          {"pipeline_stages": 2, "pipeline_scheduler": "interleaved"},
          {"pipeline_stages": 2, "stage_devices": (1, 3)}]  # fmt: skip


@pytest.fixture
def engine(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    with Engine("mpi", n=4, worker="faulty_worker") as made:
        yield made


def test_training_in_stages_and_snapshots_for_other_plans(engine, tmp_path):
    want, values = reference(5)
    net, plan = planned(**PIPED)
    engine.stats()
    with Trainer(plan, engine) as trainer:
        losses = trainer.run(batch, steps=3)
        sent = sent_by(engine)
        saved = trainer.save(tmp_path / "half")
        rest = trainer.run(lambda i: batch(3 + i), steps=2)
        trainer.write_back()
    np.testing.assert_allclose([float(x) for x in (*losses, *rest)], want, rtol=1e-10)
    for p in net.get_parameters():
        np.testing.assert_allclose(p.asnumpy(), values[p.name], rtol=0, atol=1e-10, err_msg=p.name)
    assert sent == {kind: 3 * n for kind, n in total(plan.collectives).items()}
    for how in OTHERS:
        _, other = planned(**how)
        with Trainer(other, engine) as trainer:
            trainer.load(saved)
            rest = trainer.run(lambda i: batch(3 + i), steps=1)
            back = trainer.save(tmp_path / "back")
        np.testing.assert_allclose(float(rest[0]), want[3], rtol=1e-10, err_msg=str(how))
        with Trainer(plan, engine) as trainer:
            trainer.load(back)
            rest = trainer.run(lambda i: batch(4 + i), steps=1)
        np.testing.assert_allclose(float(rest[0]), want[4], rtol=1e-10, err_msg=str(how))


@pytest.mark.parametrize("kind", ["exception", "interrupt", "kill"])
def test_faults_at_points_of_a_pipelined_step(engine, kind):
    want, _ = reference(3)
    _, plan = planned(**PIPED)
    steps = len(from_text(to_text(plan.program)).steps)  # as the ranks count them
    points = 10 if kind != "kill" else 2
    with Trainer(plan, engine) as trainer:
        losses = trainer.run(batch, steps=1)
        saved = trainer.save(Path(trainer.folder, "fixed"))
        for k in range(points):
            engine.map(faults.arm, kind, k % 4, k * steps // (points - 1))
            with pytest.raises(RankError) as told:
                trainer.step(*batch(1))
            if kind != "kill":
                assert told.value.failures[k % 4].kind == {"exception": "ValueError"}.get(kind, "KeyboardInterrupt")
            assert engine.recover() == ("restarted" if kind == "kill" else "recovered")
            trainer.load(saved)
        losses += trainer.run(lambda i: batch(1 + i), steps=2)
    np.testing.assert_allclose([float(x) for x in losses], want, rtol=1e-10)
