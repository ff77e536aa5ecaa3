"""Where the time of a compilation goes: named spans, noted only while somebody collects.

    with collected() as times:              times["autodiff"] == 0.012 afterwards
        ... @timed("autodiff") ...          a span inside a span of the same name counts once
        ... counted("cached kernels") ...   and things are counted

Asking whether somebody collects is one look at a thread-local list, so spans may stand in code that runs often.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, TypeVar

Fn = TypeVar("Fn", bound=Callable[..., Any])


class Times(dict[str, float]):
    """Seconds by name.

    Attributes:
        counts: how often each span was entered, and what ``counted`` counted.
    """

    def __init__(self) -> None:
        super().__init__()
        self.counts: dict[str, int] = {}
        self.open: set[str] = set()


class _Collecting(threading.local):
    times: Times | None = None


_collecting = _Collecting()


@contextmanager
def collected() -> Iterator[Times]:
    """Collect the spans of this thread; those of a collection inside belong to the inner one."""
    before, _collecting.times = _collecting.times, Times()
    try:
        yield _collecting.times
    finally:
        _collecting.times = before


def timed(name: str) -> Callable[[Fn], Fn]:
    """Let a function's time count under ``name``."""

    def around(fn: Fn) -> Fn:
        @functools.wraps(fn)
        def call(*args: Any, **kwargs: Any) -> Any:
            times = _collecting.times
            if times is None or name in times.open:
                return fn(*args, **kwargs)
            times.open.add(name)
            start = perf_counter()
            try:
                return fn(*args, **kwargs)
            finally:
                times.open.discard(name)
                times[name] = times.get(name, 0.0) + perf_counter() - start
                times.counts[name] = times.counts.get(name, 0) + 1

        return call  # type: ignore[return-value]

    return around


def counted(name: str) -> None:
    """One more of ``name``."""
    times = _collecting.times
    if times is not None:
        times.counts[name] = times.counts.get(name, 0) + 1
