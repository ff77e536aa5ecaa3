"""Habits from another framework that Python itself refuses, in words that do not help: one line below the traceback.

    x.size(0)      TypeError: 'int' object is not callable      x.size is a number here; x.shape[0] is meant

An error of msnb's own says such things itself; these never reach it.
"""

from __future__ import annotations

import re
from types import TracebackType

from msnb.notebook.errors.error_view import place_in_text

_SLIPS = (
    (
        TypeError, r"'int' object is not callable", r"\.size\(",
        "x.size is the number of elements, as in MindSpore and NumPy; PyTorch's x.size(0) is x.shape[0] here, and "
        "x.size() is x.shape.",
    ),
)  # fmt: skip


def slip_of(error: BaseException, tb: TracebackType | None) -> str:
    """What is meant instead; empty where nothing is known of such an error."""
    place = place_in_text(tb)
    for kind, said, written, meant in _SLIPS:
        if place is not None and isinstance(error, kind) and re.search(said, str(error)):
            if re.search(written, place.text):
                return meant
    return ""
