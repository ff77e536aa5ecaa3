"""Streams and events of the running device, by MindSpore's names: ``ms.runtime.Stream``.

msnb launches the work of a device in the order of the program, on one queue: that is right for every program that was
written for several, and what several would overlap, graph mode fuses. So a stream is a place in that order, and events
are times on it:

    s = ms.runtime.Stream()
    with ms.runtime.StreamCtx(s):
        y = ops.matmul(a, b)          runs where it stands
    s.synchronize()                   y is there

Source: `mindspore.runtime`
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

from msnb.base import ArgumentError, DeviceError, device_registry, get_context
from msnb.ops.definition.type_inference import need_bools

__all__ = [
    "Event", "Stream", "StreamCtx", "communication_stream", "current_stream", "default_stream", "set_cur_stream",
]  # fmt: skip


class Stream:
    """A queue of work of the device.

    Args:
        priority: an int; one queue has no priorities, so it changes nothing.

    Attributes:
        id: its number; device_name, device_id: where it is.

    Raises:
        TypeError: a priority that is no int, or another argument.

    Examples:
        >>> import msnb as ms
        >>> s = ms.runtime.Stream()
        >>> with ms.runtime.StreamCtx(s):
        ...     x = ms.ops.ones(2) + 1
        >>> s.synchronize()
        >>> s.query()
        True
    """

    _made = 0

    def __init__(self, priority: int = 0) -> None:
        if isinstance(priority, bool) or not isinstance(priority, int):
            raise ArgumentError(f"Stream: priority is an int, got {priority!r}.")
        self.id: int = Stream._made
        Stream._made += 1
        self.device_name: str = str(get_context("device_target"))
        self.device_id: int = int(get_context("device_id"))

    def stream_id(self) -> int:
        """Its number."""
        return self.id

    def synchronize(self) -> None:
        """Wait for the work in it."""
        device_registry.current().synchronize()

    def query(self) -> bool:
        """Whether its work is done; waits for it, for one queue cannot be asked."""
        self.synchronize()
        return True

    def record_event(self, event: Event | None = None) -> Event:
        """An event behind the work so far."""
        found = Event() if event is None else event
        found.record(self)
        return found

    def wait_event(self, event: Event) -> None:
        """Work behind this runs behind the event, as it does anyway."""
        _need(event, Event)

    def wait_stream(self, stream: Stream) -> None:
        """Work behind this runs behind the other's so far, as it does anyway."""
        _need(stream, Stream)

    def __repr__(self) -> str:
        return f"Stream(device_name={self.device_name}, device_id:{self.device_id}, stream id:{self.id})"


class Event:
    """A moment in a stream.

    Args:
        enable_timing: whether ``elapsed_time`` may be asked.
        blocking: how to wait; there is one way here.

    Examples:
        >>> import msnb as ms
        >>> begin, end = ms.runtime.Event(enable_timing=True), ms.runtime.Event(enable_timing=True)
        >>> begin.record()
        >>> x = ms.ops.ones((64, 64)) @ ms.ops.ones((64, 64))
        >>> end.record()
        >>> begin.elapsed_time(end) > 0  # milliseconds
        True
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False) -> None:
        need_bools("Event", enable_timing=enable_timing, blocking=blocking)
        self._timed = enable_timing
        self._time: float | None = None

    def record(self, stream: Stream | None = None) -> None:
        """The moment when the work so far is done; a timed event waits for it."""
        if stream is not None:
            _need(stream, Stream)
        if self._timed:
            device_registry.current().synchronize()
        self._time = time.perf_counter()

    def wait(self, stream: Stream | None = None) -> None:
        """Work behind this runs behind the event, as it does anyway."""
        if stream is not None:
            _need(stream, Stream)

    def synchronize(self) -> None:
        """Wait for the work before it."""
        device_registry.current().synchronize()

    def query(self) -> bool:
        """Whether the work before it is done; waits for it."""
        self.synchronize()
        return True

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another one.

        Raises:
            RuntimeError: DeviceError: one of them was not recorded, or made without ``enable_timing=True``.
        """
        _need(end_event, Event)
        times = [event._time for event in (self, end_event) if event._timed and event._time is not None]
        if len(times) < 2:
            raise DeviceError("elapsed_time needs two recorded events that were made with enable_timing=True.")
        return (times[1] - times[0]) * 1e3


def _need(value: Any, kind: type) -> None:
    if not isinstance(value, kind):
        raise ArgumentError(f"expected {kind.__name__}, got {type(value).__name__}.")


_default = Stream()
_communication: list[Stream] = []
_current = [_default]


class StreamCtx:
    """A block whose work is said to belong to a stream; None: to the current one.

    Raises:
        TypeError: something else than a Stream.
    """

    def __init__(self, ctx_stream: Stream | None) -> None:
        if ctx_stream is not None:
            _need(ctx_stream, Stream)
        self.stream: Stream | None = ctx_stream

    def __enter__(self) -> None:
        _current.append(self.stream or _current[-1])

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        _current.pop()


def current_stream() -> Stream:
    """The stream of the innermost ``StreamCtx``, or of ``set_cur_stream``."""
    return _current[-1]


def default_stream() -> Stream:
    """The stream of work that nobody said anything about."""
    return _default


def communication_stream() -> Stream:
    """A stream that stands for collectives."""
    if not _communication:
        _communication.append(Stream())
    return _communication[0]


def set_cur_stream(stream: Stream) -> None:
    """Make a stream the current one. Raises TypeError: something else."""
    _need(stream, Stream)
    _current[-1] = stream
