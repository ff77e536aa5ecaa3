"""The garbage collector at rest while a program is built.

Capture and compilation make some hundred thousand objects in a row that nearly all stay. Python's collector, which
looks through all living objects again and again as their number grows, would take up to half of the time and find
nothing. It is put to rest for that moment; reference counting goes on.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def at_rest() -> Iterator[None]:
    """No collection happens inside. May be nested; a collector that the user has switched off stays off.

    Examples:
        >>> import gc
        >>> with at_rest():
        ...     print(gc.isenabled())
        False
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
