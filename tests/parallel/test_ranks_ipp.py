"""Pipelines and training steps on the engines of ipyparallel: what MPI ranks of our own do, they do."""

from __future__ import annotations

import os
from pathlib import Path

import faults
import numpy as np
import pytest
from piped_nets import batch, planned, reference, step_of
from test_piped import total

import msnb as ms
from msnb.parallel.engine.client import Engine
from msnb.parallel.engine.failures import RankError
from msnb.parallel.engine.launch import missing
from msnb.parallel.engine.training import Trainer

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
