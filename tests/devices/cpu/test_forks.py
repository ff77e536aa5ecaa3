"""Children of fork: what the parent compiled and used works there, whatever its other threads were doing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from msnb.base.threads import fork_locks

PROGRAMS = Path(__file__).with_name("fork_programs.py")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")


def run(name: str, mode: str, count: int) -> None:
    call = [sys.executable, str(PROGRAMS), name, mode, str(count)]
    try:
        found = subprocess.run(call, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired as late:
        pytest.fail(f"{name} hangs: {late.stdout!r} {late.stderr!r}")
    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.long
@pytest.mark.parametrize("mode", ["PYNATIVE_MODE", "GRAPH_MODE"])
@pytest.mark.parametrize("name", ["after_use", "of_a_child", "while_a_thread_computes", "while_a_thread_compiles"])
def test_a_child_of_fork_computes(name: str, mode: str) -> None:
    run(name, mode, 1 if name == "after_use" else 3 if name == "of_a_child" else 6)


@pytest.mark.long
def test_workers_of_a_forked_pool_compute() -> None:
    run("in_a_pool", "GRAPH_MODE", 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["while_a_thread_computes", "while_a_thread_compiles"])
def test_fifty_forks_under_load(name: str) -> None:
    run(name, "GRAPH_MODE", 50)


# ---- locks ----------------------------------------------------------------------------------------------------------


def child_says(task: object) -> int:
    child = os.fork()
    if child == 0:
        try:
            os._exit(int(task()))  # type: ignore[operator]
        finally:
            os._exit(99)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_lock_that_another_thread_holds_is_free_in_the_child_and_ones_own_is_not() -> None:
    others, own = fork_locks.lock(), fork_locks.lock()
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with others:
            held.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    with own:
        assert child_says(lambda: others.acquire(blocking=False) and own._is_owned()) == 1
    done.set()
    thread.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_waits_for_what_must_not_be_half_done() -> None:
    started, gone_on = threading.Event(), threading.Event()
    seen: list[str] = []

    def work() -> None:
        started.set()
        gone_on.wait(0.3)
        seen.append("done")

    thread = threading.Thread(target=fork_locks.finished(work))
    thread.start()
    started.wait()
    assert child_says(lambda: len(seen)) == 1
    thread.join()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch, notices: list[str]) -> None:
    monkeypatch.setattr(fork_locks, "PATIENCE", 0.2)
    started, done = threading.Event(), threading.Event()

    def work() -> None:
        started.set()
        done.wait()

    thread = threading.Thread(target=fork_locks.finished(work))
    thread.start()
    started.wait()
    assert child_says(lambda: 7) == 7
    assert len(notices) == 1 and "a fork waited" in notices[0]
    done.set()
    thread.join()
    assert child_says(lambda: 8) == 8
