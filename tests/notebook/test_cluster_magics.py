"""``%ms_cluster``: ranks from a notebook, plans and ``%%px`` on them, one killed and begun again."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import msnb as ms
from msnb.base.errors import ArgumentError
from msnb.parallel.engine.client import process_launcher
from tests.shells import fresh_shell, run


@pytest.fixture
def shell():
    with fresh_shell() as shell:
        shell.run_line_magic("load_ext", "msnb")
        yield shell
        shell.run_line_magic("ms_cluster", "stop")


def test_without_ranks(shell):
    assert repr(run(shell, "%ms_cluster")) == repr(run(shell, "%ms_cluster stop")) == "no ranks"
    with pytest.raises(ArgumentError, match="no ranks run"):
        run(shell, "%ms_cluster restart")
    with pytest.raises(ValueError, match="legal: 1 to 64"):
        run(shell, "%ms_cluster start -n 100")


def test_a_machine_without_mpi(shell, monkeypatch):
    monkeypatch.setattr(process_launcher.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(RuntimeError, match=r"needs mpi4py and ipyparallel \(`pip install msnb\[ranks\]`\)"):
        run(shell, "%ms_cluster start")
    net, x = ms.nn.Dense(4, 4), ms.ops.ones((8, 4))
    with pytest.raises(RuntimeError, match="engine 'mpi' needs mpi4py .*\n.*inproc"):
        ms.parallel.plan(net, x, device_num=2).run(x, engine="mpi")


@pytest.mark.slow
@pytest.mark.skipif(bool(process_launcher.missing("ipp")), reason=f"needs {process_launcher.missing('ipp')}")
def test_plans_and_cells_on_ranks(shell, capsys):
    assert repr(run(shell, "%ms_cluster start -n 2 --timeout 60 -o ranks")) == "2 ranks: 0 idle, 1 idle"
    net = ms.nn.Dense(8, 4, dtype=ms.float64)
    x = ms.Tensor(np.random.default_rng(0).standard_normal((16, 8)))
    plan = ms.parallel.plan(net, x, device_num=2, strategies={"matmul": ((1, 2), (2, 1))})
    want = net(x).asnumpy()
    engine = shell.user_ns["ranks"]
    np.testing.assert_allclose(plan.run(x, engine="ipp"), want, rtol=1e-12)
    assert plan.sent == {"all_reduce": sum(c.sent for c in plan.collectives)}
    run(shell, "%%px\nfrom mpi4py import MPI\nprint('rank', MPI.COMM_WORLD.rank)")
    said = capsys.readouterr().out
    assert "rank 0" in said and "rank 1" in said
    os.kill(engine.pids[1], signal.SIGKILL)
    with pytest.raises(RuntimeError, match="its MPI world with it"):
        plan.run(x, engine=engine)
    assert engine.recover() == "restarted"
    np.testing.assert_allclose(plan.run(x, engine=engine), want, rtol=1e-12)
    run(shell, "%%px\nprint('again')")
    assert "again" in capsys.readouterr().out
    assert repr(run(shell, "%ms_cluster restart")) == "2 ranks: 0 idle, 1 idle"
    np.testing.assert_allclose(plan.run(x, engine=engine), want, rtol=1e-12)
    assert repr(run(shell, "%ms_cluster stop")) == "no ranks"
