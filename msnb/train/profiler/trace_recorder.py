"""What a program does while it is profiled: spans of time, one per eager op, compiled program, compilation and range.

    subscribes to    op         an eager op, with its seconds      (``base.events``)
                     program    a compiled program ran
                     compiled   a function was captured and compiled
    spans            name, category, start and duration in microseconds, thread, arguments
"""

from __future__ import annotations

import itertools
import threading
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from msnb.base import ArgumentError, events
from msnb.base.source_location import here
from msnb.core import Tensor

__all__ = ["TraceSpan", "TraceRecorder", "mstx"]


@dataclass(frozen=True)
class TraceSpan:
    """Something that took time.

    Attributes:
        name: of the op, program, function or range.
        category: op, program, compile, range, mark or step.
        start, duration: microseconds since the recorder began.
        step: the number of the step it lies in.
        thread: the thread it ran in.
        args: shapes and place, as texts.
    """

    name: str
    category: str
    start: float
    duration: float
    step: int
    thread: int
    args: dict[str, str] = field(default_factory=dict)


class TraceRecorder:
    """Records spans while it is on.

    Args:
        shapes: keep the types of an op's inputs.
        places: keep the line of the user's program.
        keeps: which domains of marks are kept.

    Attributes:
        spans: in the order in which they ended.
        step: the number of the step at hand.
    """

    def __init__(self, shapes: bool = False, places: bool = False, keeps: Any = None) -> None:
        self.shapes: bool = shapes
        self.places: bool = places
        self.keeps: Any = keeps
        self.spans: list[TraceSpan] = []
        self.step: int = 0
        self._zero = self._stepped = perf_counter()
        self._on = False

    def start(self) -> None:
        """Begin to record."""
        if not self._on:
            self._on, self._stepped = True, perf_counter()
            events.subscribe("op", self._op)
            events.subscribe("program", self._program)
            events.subscribe("compiled", self._compiled)
            _active.append(self)

    def stop(self, within: bool = True) -> None:
        """End it; ``within`` a step, which is closed."""
        if self._on:
            if within:
                self.mark_step(self.step)
            events.unsubscribe("op", self._op)
            events.unsubscribe("program", self._program)
            events.unsubscribe("compiled", self._compiled)
            _active.remove(self)
            self._on = False

    def mark_step(self, following: int) -> None:
        """The step at hand ends here."""
        if self._on:
            self._add(f"step {self.step}", "step", perf_counter() - self._stepped, {})
            self._stepped = perf_counter()
        self.step = following

    def _add(self, name: str, category: str, seconds: float, args: dict[str, str]) -> None:
        end = perf_counter() - self._zero
        start = max(end - seconds, 0.0)
        self.spans.append(TraceSpan(name, category, 1e6 * start, 1e6 * seconds, self.step, threading.get_ident(), args))

    def _op(self, op: Any, inputs: Any, outputs: Any, seconds: float, **_: Any) -> None:
        args = {"outputs": _types(outputs)}
        if self.shapes:
            args["inputs"] = _types(inputs)
        if self.places and (where := here().where) is not None:
            args["line"] = f"{where}: {where.text}"
        self._add(op.name, "op", seconds, args)

    def _program(self, program: Any, seconds: float) -> None:
        self._add(program.name, "program", seconds, {})

    def _compiled(self, fn: Any, reason: str, seconds: float, **_: Any) -> None:
        self._add(f"compile {getattr(fn, 'name', fn)}", "compile", seconds, {"reason": reason})


def _types(found: Any) -> str:
    several = found if isinstance(found, (tuple, list)) else (found,)
    return ", ".join(str(x._type) if isinstance(x, Tensor) else str(x) for x in several)


_active: list[TraceRecorder] = []
_numbers = itertools.count(1)
_ranges: dict[int, tuple[str, str, float]] = {}


class mstx:
    """Marks and ranges of the user's own in the profiles that are being recorded.

    Examples:
        >>> from msnb.train import profiler
        >>> with profiler.profile() as prof:
        ...     number = profiler.mstx.range_start("forward")
        ...     profiler.mstx.range_end(number)
        >>> [span.name for span in prof.spans if span.category == "range"]
        ['forward']
    """

    @staticmethod
    def mark(message: str, stream: Any = None, domain: str = "default") -> None:
        """A moment.

        Args:
            message: its name.
            stream: for MindSpore's signature; a CPU has one stream.
            domain: a group of marks, to be chosen by ``ExperimentalConfig``.
        """
        _told(_text("mark", message), "mark", 0.0, domain)

    @staticmethod
    def range_start(message: str, stream: Any = None, domain: str = "default") -> int:
        """A range begins; the arguments of ``mark``.

        Returns:
            Its number, for ``range_end``.
        """
        number = next(_numbers)
        _ranges[number] = (_text("range_start", message), domain, perf_counter())
        return number

    @staticmethod
    def range_end(range_id: int, domain: str = "default") -> None:
        """The range of this number ends.

        Args:
            range_id: what ``range_start`` gave.
            domain: for MindSpore's signature; the number knows the domain of its range.

        Raises:
            TypeError: no number of ``range_start`` that is still open.
        """
        if range_id not in _ranges:
            raise ArgumentError(f"mstx.range_end: there is no open range {range_id!r}; range_start gives numbers.")
        name, domain, begin = _ranges.pop(range_id)
        _told(name, "range", perf_counter() - begin, domain)


def _text(name: str, message: str) -> str:
    if not isinstance(message, str) or not message:
        raise ArgumentError(f"mstx.{name}: a message is a text, not {message!r}.")
    return message


def _told(name: str, category: str, seconds: float, domain: str) -> None:
    for recorder in _active:
        if recorder.keeps is None or recorder.keeps(domain):
            recorder._add(name, category, seconds, {"domain": domain})
