"""Faults on demand: what a rank of a test does wrong before the step of a plan that was named. Ranks run
``faulty_worker``, which calls ``watch`` before every step."""

from __future__ import annotations

import os
import signal
import time

ARMED: list[tuple[str, int]] = []


def arm(comm, kind, rank, at):
    """On one rank: fail like this before step ``at``, once."""
    ARMED[:] = [(kind, at)] if comm.rank == rank else []


def pid(comm):
    return os.getpid()


def misbehave(comm, kind, rank):
    """The same inside a function instead of a plan, while the others wait in a collective."""
    if comm.rank == rank:
        commit(kind)
    comm.barrier()


def watch(at):
    if ARMED and ARMED[0][1] == at:
        commit(ARMED.pop()[0])


def commit(kind):
    if kind == "exception":
        raise ValueError("a planted mistake")
    if kind == "hang":
        time.sleep(1000)
    if kind == "deaf":  # hangs, and cannot be interrupted
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
        time.sleep(1000)
    os.kill(os.getpid(), {"kill": signal.SIGKILL, "interrupt": signal.SIGINT}[kind])
    if kind == "kill":
        time.sleep(1000)


def hang_all(comm):
    """Every rank computes for ever."""
    time.sleep(1000)
