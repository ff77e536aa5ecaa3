"""How tests wait for what other threads and processes do.

Nothing here measures: a test that passes never waits long, and one that fails says so after a time that a loaded
machine does not need either.
"""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE = 120.0  # seconds; what is waited for takes well below one on an idle machine


def eventually(condition: Callable[[], object]) -> bool:
    """Does the condition come true?"""
    until = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
