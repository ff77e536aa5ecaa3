"""Control flow that may ask tensors: these functions are converted while a program is captured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def choose(condition: Any, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """What one of two functions gives."""
    if condition:
        found = then()
    else:
        found = otherwise()
    return found
