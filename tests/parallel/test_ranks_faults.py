"""Ranks that raise, hang, are killed or interrupted at ten points of a training step: every living rank and the client
have an error before the deadline, nothing is left running, and training goes on to the losses of a run without the
fault."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import faults
import numpy as np
import pytest
from test_ranks_training import SPLIT, batch, planned, reference

import msnb as ms
from msnb.base import events
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.process_launcher import missing
from msnb.parallel.engine.comm.rank_failures import RankError
from msnb.parallel.engine.trainer import Trainer
from msnb.parallel.program.program_document import from_text, to_text
from tests.waiting import eventually

pytestmark = pytest.mark.skipif(bool(missing("mpi")), reason=f"needs {missing('mpi')}")

TIMEOUT, SLACK = 6.0, 60.0  # what the engine promises, and what a loaded machine may add


@pytest.fixture
def engine(request, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    hangs = "[hang]" in request.node.name or "[deaf]" in request.node.name
    with Engine("mpi", n=4, timeout=TIMEOUT if hangs else SLACK, worker="faulty_worker") as made:
        yield made
    assert not made.links.sockets


def alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def gone(pids):
    pids = list(pids)
    return eventually(lambda: not any(map(alive, pids)))


EXPECTED = {"exception": "ValueError", "hang": "KeyboardInterrupt", "interrupt": "KeyboardInterrupt"}


def one_fault(trainer, kind, rank, at):
    """A fault in the next step: who has which error, and that the ranks are ready afterwards."""
    engine, pids = trainer.engine, dict(trainer.engine.pids)
    engine.map(faults.arm, kind, rank, at)
    start = time.monotonic()
    with pytest.raises(RankError) as told:
        trainer.step(*batch(trainer.done))
    assert time.monotonic() - start < TIMEOUT + 4 + SLACK
    failures = told.value.failures
    if kind in EXPECTED:
        assert failures[rank].kind == EXPECTED[kind], told.value
        others = {r: f.kind for r, f in failures.items() if r != rank}
        assert set(others.values()) <= {"RankStop", "CollectiveTimeout"}, told.value
        assert engine.recover() == "recovered" and engine.pids == pids
    else:
        assert failures[rank].kind == ("killed" if kind == "kill" else "silent"), told.value  # the others may be done
        assert engine.recover() == "restarted"
        assert gone(pids.values())
    trainer.load(trainer.last)


def training_with_faults(engine, kind, points):
    """Three steps; the second one fails at every point before it succeeds."""
    want, _ = reference("momentum", False, 3)
    _, plan = planned("momentum", **SPLIT)
    steps = len(from_text(to_text(plan.program)).steps)  # as the ranks count them; the last point is behind all of them
    with Trainer(plan, engine) as trainer:
        losses = trainer.run(batch, steps=1)
        trainer.last = trainer.save(Path(trainer.folder, "fixed"))
        for k in range(points):
            at = k * steps // max(1, points - 1)
            one_fault(trainer, kind, k % 4, at)
        losses += trainer.run(lambda i: batch(1 + i), steps=2)
    np.testing.assert_allclose([float(x) for x in losses], want, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["exception", "hang", "interrupt", "kill", "deaf"])
def test_ten_points_of_a_step(engine, kind):
    training_with_faults(engine, kind, 10 if kind != "deaf" else 2)
    pids = list(engine.pids.values())
    engine.stop()
    assert gone(pids)


@pytest.mark.long
def test_an_exception_and_a_kill_on_the_way(engine):
    """``Trainer.run`` recovers by itself and says so; nothing of the ranks is left in the end."""
    want, _ = reference("momentum", False, 4)
    _, plan = planned("momentum", **SPLIT)
    said: list[str] = []
    with events.listening("notice", lambda text, key: said.append(text)), Trainer(plan, engine, every=2) as trainer:
        losses = trainer.run(batch, steps=1)
        for kind in ("exception", "kill"):
            engine.map(faults.arm, kind, 1, 3)
            losses += trainer.run(lambda i: batch(trainer.done), steps=1)
        losses += trainer.run(lambda i: batch(3), steps=1)
    np.testing.assert_allclose([float(x) for x in losses], want, rtol=1e-10)
    assert "ValueError: a planted mistake" in said[0] and "recovered" in said[0]
    assert "restarted" in said[1]
    pids = list(engine.pids.values())
    engine.stop()
    assert gone(pids)


@pytest.mark.slow
def test_a_fault_outside_of_plans(engine):
    for kind in ("exception", "interrupt"):
        with pytest.raises(RankError) as told:
            engine.map(faults.misbehave, kind, 2)
        assert told.value.first == 2 and len(told.value.failures) == 4
        with pytest.raises(RuntimeError, match="recover"):
            engine.map(faults.pid)
        assert engine.recover() == "recovered"
        assert len(set(engine.map(faults.pid))) == 4
    assert engine.recover() == "ready"


@pytest.mark.slow
def test_an_interrupt_between_commands_ends_nothing(engine):
    """Ctrl-C in a terminal goes to all processes of a job, also to ranks that have nothing to do."""
    engine.map(faults.pid)
    before = dict(engine.pids)
    for pid in before.values():
        os.kill(pid, signal.SIGINT)
    assert engine.map(faults.pid) == [before[r] for r in range(4)]
    assert engine.recover() == "ready"


@pytest.mark.slow
def test_the_client_is_interrupted(engine):
    """Ctrl-C here calls the ranks off, whatever they do; afterwards they are the same processes and ready."""
    engine.map(faults.pid)
    pids, main = dict(engine.pids), threading.main_thread().ident
    timer = threading.Timer(1.0, lambda: signal.pthread_kill(main, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        timer.start()
        engine.map(faults.hang_all)
    assert engine.recover() == "recovered" and engine.pids == pids
    assert engine.map(faults.pid) == [pids[r] for r in range(4)]


@pytest.mark.slow
def test_ranks_that_cannot_begin(monkeypatch):
    engine = Engine("mpi", n=2, worker="there_is_no_such_worker")
    with pytest.raises(RuntimeError, match="0 of 2 ranks came; the processes ended"):
        engine.start()
    assert not engine.started


@pytest.mark.slow
def test_idle_ranks_burn_no_cpu(engine):
    def ticks():
        return sum(sum(map(int, Path(f"/proc/{p}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
                   for p in engine.pids.values())  # fmt: skip

    engine.map(faults.pid)
    before = ticks()
    time.sleep(2)
    used = (ticks() - before) / os.sysconf("SC_CLK_TCK")
    assert used < 0.5, "four spinning ranks would have used both cores"


@pytest.mark.slow
def test_the_client_dies(tmp_path):
    """Ranks whose client is killed end by themselves."""
    import subprocess
    import sys

    text = ("import time\nfrom msnb.parallel.engine.client.engine_client import Engine\n"
            "engine = Engine('mpi', n=2).start()\n"
            "print(*engine.pids.values(), flush=True)\ntime.sleep(1000)\n")  # fmt: skip
    client = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    pids = list(map(int, client.stdout.readline().split()))
    assert len(pids) == 2 and all(map(alive, pids))
    client.kill()
    client.wait()
    client.stdout.close()
    assert gone(pids)


assert ms
