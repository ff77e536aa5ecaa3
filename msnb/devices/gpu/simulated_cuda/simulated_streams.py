"""Streams, events, captures and graphs. All work is done when it is asked for, unless a capture records it.

While a stream captures, launches and copies are recorded and not run. An array function runs once, for the shapes of
its results; what it wrote is undone, its results hold no values, and it is recorded to run into the same memory.
Whatever would wait for the device or look at values raises, as CUDA does. So does a graph whose memory is gone: on a
GPU it would write into what others hold by then, so temporaries of a capture belong into a pool that lives as long.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

from msnb.devices.gpu.simulated_cuda.simulated_counters import CUDARuntimeError, counters

_state = threading.local()
_capturing: set[Capture] = set()


class Capture:
    """What is recorded for a graph."""

    def __init__(self, origin: Stream) -> None:
        self.origin: Stream = origin
        self.streams: set[Stream] = {origin}
        self.open: set[Stream] = set()  # joined streams with work that the origin does not wait for
        self.steps: list[Callable[[], None]] = []

    def record(self, step: Callable[[], None], stream: Stream) -> None:
        """One step more."""
        self.steps.append(step)
        if stream is not self.origin:
            self.open.add(stream)


class Graph:
    """A captured graph."""

    def __init__(self, steps: list[Callable[[], None]]) -> None:
        self.steps = steps

    def launch(self, stream: Stream | None = None) -> None:
        """Run all steps."""
        where = stream or get_current_stream()
        if where.is_capturing():
            raise unsupported("a graph is launched")
        counters.graph_launches += 1
        for step in self.steps:
            step()

    def upload(self, stream: Stream | None = None) -> None:
        """Nothing to prepare."""


class Stream:
    """A stream."""

    null: Stream
    _numbers = itertools.count(0x1000, 0x10)

    def __init__(
        self, null: bool = False, non_blocking: bool = False, ptds: bool = False, priority: Any = None
    ) -> None:
        self.ptr: int = 0 if null else next(Stream._numbers)
        self.non_blocking = non_blocking
        self.capture: Capture | None = None

    def __enter__(self) -> Stream:
        _stack().append(self)
        return self

    def __exit__(self, *error: Any) -> None:
        _stack().remove(self)

    def use(self) -> Stream:
        """The current stream from here on."""
        _stack()[:] = [self]
        return self

    def is_capturing(self) -> bool:
        """Whether work is recorded."""
        return self.capture is not None

    def begin_capture(self, mode: Any = None) -> None:
        """Record from here on."""
        if self.ptr == 0:
            raise RuntimeError("cannot capture on the default (legacy) stream")
        if self.capture is not None:
            raise CUDARuntimeError("cudaErrorIllegalState", "the stream captures already.")
        self.capture = Capture(self)
        _capturing.add(self.capture)

    def end_capture(self) -> Graph:
        """The graph of what was recorded."""
        capture = self.capture
        if capture is None or capture.origin is not self:
            raise CUDARuntimeError("cudaErrorIllegalState", "the stream has not begun a capture.")
        for stream in capture.streams:
            stream.capture = None
        _capturing.discard(capture)
        if capture.open:
            raise CUDARuntimeError("cudaErrorStreamCaptureUnjoined", "the origin does not wait for a forked stream.")
        counters.captures += 1
        return Graph(capture.steps)

    def synchronize(self) -> None:
        """Wait."""
        waits("a stream is waited for", self)
        counters.synchronisations += 1

    @property
    def done(self) -> bool:
        """Whether nothing is left to do."""
        waits("a stream is asked", self)
        return True

    def record(self, event: SimulatedEvent | None = None) -> SimulatedEvent:
        """An event at this place."""
        found = event or SimulatedEvent()
        found.record(self)
        return found

    def wait_event(self, event: SimulatedEvent) -> None:
        """What follows comes after the event. One of a capture takes this stream into it."""
        if event.capture is None or event.capture not in _capturing:
            return
        self.capture = event.capture
        event.capture.streams.add(self)
        if self is event.capture.origin and event.stream is not None:
            event.capture.open.discard(event.stream)


class SimulatedEvent:
    """A place in a stream's work."""

    def __init__(self, block: bool = False, disable_timing: bool = False, interprocess: bool = False) -> None:
        self.time = 0.0
        self.capture: Capture | None = None
        self.stream: Stream | None = None
        self.timed: bool = not disable_timing

    def record(self, stream: Stream | None = None) -> None:
        """Here."""
        where = stream or get_current_stream()
        self.stream, self.capture = where, where.capture
        self.time = time.perf_counter()

    def synchronize(self) -> None:
        """Wait."""
        waits("an event is waited for", self.stream)
        counters.synchronisations += 1

    @property
    def done(self) -> bool:
        """Whether the work before it is."""
        return True


def get_elapsed_time(start: SimulatedEvent, end: SimulatedEvent) -> float:
    """Milliseconds between two events."""
    if not (start.timed and end.timed):
        raise CUDARuntimeError("cudaErrorInvalidResourceHandle", "an event was made with disable_timing=True.")
    return (end.time - start.time) * 1e3


Stream.null = Stream(null=True)


def _stack() -> list[Stream]:
    found: list[Stream] = _state.__dict__.setdefault("stack", [])
    return found


def get_current_stream(device: Any = None) -> Stream:
    """The stream that work goes to."""
    stack = _stack()
    return stack[-1] if stack else Stream.null


def capture_for(stream: Stream | None = None) -> tuple[Capture | None, Stream]:
    """The capture that takes work for a stream; None: the work is done now."""
    where = stream if isinstance(stream, Stream) else get_current_stream()
    if where.ptr == 0 and any(not s.non_blocking for c in _capturing for s in c.streams):
        raise CUDARuntimeError(
            "cudaErrorStreamCaptureImplicit", "work goes to the default stream while another stream captures."
        )
    return where.capture, where


def waits(what: str, stream: Stream | None = None) -> None:
    """Refuse what cannot be captured."""
    if (stream or get_current_stream()).capture is not None:
        raise unsupported(what)


def waits_for_all(what: str) -> None:
    """Refuse what waits for the whole device while anything is captured."""
    if _capturing:
        raise unsupported(what)


def unsupported(what: str) -> CUDARuntimeError:
    """The error of what cannot be captured."""
    return CUDARuntimeError("cudaErrorStreamCaptureUnsupported", f"{what} while the stream is capturing.")


def abandon_captures() -> None:
    """Between tests: nothing captures."""
    for capture in list(_capturing):
        for stream in capture.streams:
            stream.capture = None
    _capturing.clear()
    _stack().clear()


_by_address: dict[int, Any] = {}


def stream_of(stream: Any) -> Any:
    """A stream, or the one with this address."""
    if stream is None or isinstance(stream, Stream):
        return stream
    current = get_current_stream()
    if int(stream) == current.ptr:
        return current
    if int(stream) == 0:
        return Stream.null
    found = [s for c in _capturing for s in c.streams if s.ptr == int(stream)]
    return found[0] if found else _by_address.setdefault(int(stream), Stream(non_blocking=True))


def perform(step: Callable[[], None], stream: Any = None) -> None:
    """Do it now, or record it."""
    capture, where = capture_for(stream)
    if capture is None:
        step()
    else:
        capture.record(step, where)
