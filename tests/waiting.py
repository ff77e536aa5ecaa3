"""How tests wait for what other threads and processes do.

Nothing here measures: a test that passes never waits long, and one that fails says so after a time that a loaded
machine does not need either.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 120.0  # seconds; what is waited for takes well below one on an idle machine


def eventually(condition: Callable[[], object]) -> bool:
    """Does the condition come true?"""
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def stop_process(pid: int) -> None:
    """Stop a process and wait until all its threads stand still: the signal reaches them later than `kill` returns."""
    os.kill(pid, signal.SIGSTOP)
    tasks = Path(f"/proc/{pid}/task")
    assert eventually(lambda: {s.read_text().rpartition(")")[2].split()[0] for s in tasks.glob("*/stat")} == {"T"})
