"""The collectives of real ranks, over MPI and a pretended NCCL: every one against NumPy, bytes against the formula.
A whole plan runs on the pretended GPUs too."""

from __future__ import annotations

import os
import queue
import threading
import time
from pathlib import Path

import collective_program
import fake_cupy
import numpy as np
import pytest
from nets import cases

import msnb as ms
from msnb.base.errors import DeviceError
from msnb.parallel.engine.client.engine_client import Engine
from msnb.parallel.engine.client.process_launcher import missing
from msnb.parallel.engine.comm.nccl_backend import NcclComm
from msnb.parallel.engine.comm.rank_failures import CollectiveTimeout, RankError
from msnb.parallel.engine.comm.shards import together
from msnb.parallel.engine.rank.rank_state import RankState
from msnb.parallel.program.program_document import to_text
from msnb.parallel.sharding.device_mesh import sent_bytes
from tests.waiting import PATIENCE


class Link:
    """A pretended NCCL: queues between threads."""

    xp = fake_cupy

    def __init__(self, rank, wires):
        self.rank, self.wires, self.open = rank, wires, {}

    def begin(self, out, into):
        for peer, a in out.items():
            self.wires[self.rank, peer].put(a.get())
        self.open = dict(into)

    @property
    def done(self):
        for peer, a in list(self.open.items()):
            try:
                a[:] = fake_cupy.asarray(self.wires[peer, self.rank].get_nowait())
                del self.open[peer]
            except queue.Empty:
                return False
        return True


def comms(size, timeout=PATIENCE):
    wires = {(a, b): queue.Queue() for a in range(size) for b in range(size)}
    return [NcclComm(r, size, timeout, Link(r, wires)) for r in range(size)]


def together_on(size, fn, timeout=PATIENCE):
    """``fn(comm)`` on threads; their results, or the first error."""
    out = [None] * size

    def run(comm):
        try:
            out[comm.rank] = fn(comm)
        except BaseException as error:
            out[comm.rank] = error

    threads = [threading.Thread(target=run, args=(c,)) for c in comms(size, timeout)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for result in out:
        if isinstance(result, BaseException):
            raise result
    return out


@pytest.mark.long
@pytest.mark.skipif(bool(missing("mpi")), reason=f"needs {missing('mpi')}")
def test_over_mpi(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    with Engine("mpi", n=3) as engine:
        counted = engine.map(collective_program.on_mpi)
    nbytes = [n * 6 * 3 for n in (4, 2, 2, 8, 8)]
    gathered = sum(sent_bytes("all_gather", 3, n) for n in nbytes)
    assert [c["all_gather"] for c in counted] == [gathered] * 3


@pytest.mark.long
@pytest.mark.skipif(bool(missing("mpi")), reason=f"needs {missing('mpi')}")
def test_ranks_that_bring_parts_of_other_sizes(monkeypatch):
    """An error that says who sent what: not a part filled by halves, and not a number of MPI's."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
    with Engine("mpi", n=3) as engine:
        for kind in ("size", "collective"):
            with pytest.raises(RankError, match=r"bytes should come from rank \d \(shape \[\d\], float64\), it sent"):
                engine.map(collective_program.unequal, kind)
            assert engine.recover() == "recovered"
        assert len(engine.map(collective_program.unequal, "none")) == 3


def test_over_a_pretended_nccl():
    together_on(3, lambda comm: collective_program.check(comm, [np.float32, np.int64]))


def test_a_plan_on_pretended_gpus():
    net, inputs = next(cases())
    plan = ms.parallel.plan(net, *inputs, device_num=2, parallel_mode="data_parallel")
    text, values = to_text(plan.program), plan.given(inputs)
    rows = together_on(2, lambda comm: RankState(text, comm, None).run(values))
    loss, grads = plan.run(*inputs)
    asked = (*plan.program.outputs, *plan.program.gradients)
    made = [together(plan.program, b, column) for b, column in zip(asked, zip(*rows))]
    np.testing.assert_allclose(made[0], loss, rtol=1e-12)
    for got, want in zip(made[1:], grads.values(), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-14)


def test_a_gpu_that_does_not_come():
    def lonely(comm):
        if comm.rank == 0:
            with pytest.raises(CollectiveTimeout, match="did not come before the deadline"):
                comm.all_reduce(fake_cupy.asarray(np.ones(4)))
            with pytest.raises(DeviceError, match="begin anew"):
                comm.renew(time.monotonic() + 1)

    together_on(2, lonely, timeout=0.05)


@pytest.mark.skipif(not missing("nccl"), reason="there is CuPy here")
def test_a_machine_without_gpus():
    with pytest.raises(RuntimeError, match=r"engine 'nccl' needs CuPy and NVIDIA GPUs \(`pip install msnb\[gpu\]`\)"):
        Engine("nccl", n=2).start()
