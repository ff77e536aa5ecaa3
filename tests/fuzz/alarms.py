"""A program under alarms: a signal handler raises an error at a random moment of a call.

Nothing of msnb may keep a trace of it. The program is run undisturbed, then with alarms, each time from fresh state
(the same code objects, so every cache that knows the program is met again), and after each alarm undisturbed once more:
that run must say what the first one said. An alarm that rang during a call must come out of it, unless Python itself
has no way to raise (a finalizer, a callback of a weak reference).
"""

from __future__ import annotations

import contextlib
import io
import signal
import sys
import time
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

import numpy as np

import msnb as ms
from tests.fuzz.comparison import Find, compared, precision_of
from tests.fuzz.runner import SEED, WAYS, Outcome, Step, load, steps
from tests.small_kernels import native_when_small


class Alarm(Exception):
    """What the handler raises."""


class Bell:
    """Rings once at a moment to come.

    Attributes:
        rung: how often it rang. lost: how often Python could not raise where it rang.
    """

    def __init__(self) -> None:
        self.rung = self.lost = 0

    def __call__(self, *frame: Any) -> None:
        self.rung += 1
        raise Alarm

    def _unraisable(self, what: Any) -> None:
        self.lost += isinstance(what.exc_value, Alarm)

    @contextlib.contextmanager
    def set(self, seconds: float) -> Iterator[None]:
        """Ring after so many seconds, or not at all if the block ends before."""
        before, hook = signal.signal(signal.SIGALRM, self), sys.unraisablehook
        sys.unraisablehook = self._unraisable
        try:
            signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
            sys.unraisablehook = hook


def fresh(code: CodeType, path: str) -> Any:
    """The module with state as at the beginning."""
    module = ModuleType("program")
    module.__file__ = path
    ms.set_seed(SEED)
    exec(code, module.__dict__)
    return module


def alarmed(text: str, way: str, rng: np.random.Generator, times: int) -> tuple[Find | None, int]:
    """What an alarm changed in a program run in one way, and how many rang."""
    mode, level, outside = WAYS[way]
    path = load(text).__file__
    code, bell, precision = compile(text, path, "exec"), Bell(), precision_of(text)

    def run(seconds: float | None = None) -> Outcome:
        module = fresh(code, path)
        main = ms.jit(module.main) if outside else module.main
        if seconds is None:
            return steps(module, main, ms.Tensor)
        with bell.set(seconds):
            return steps(module, main, ms.Tensor)

    kernels = native_when_small() if way == "kernels" else contextlib.nullcontext()
    with ms.set_context(mode=mode, jit_level=level), kernels, contextlib.redirect_stderr(io.StringIO()):
        want = run()
        for _ in range(times):
            start = time.perf_counter()
            found = compared(run(), want, want, way, precision)
            length = time.perf_counter() - start
            if found:
                return found, bell.rung
            before = bell.rung - bell.lost
            with contextlib.suppress(Alarm):
                last = (run(float(rng.uniform(0, length))).steps or [Step()])[-1]
                own = [("Alarm", ""), *(step.error for step in want.steps if step.error)]
                if bell.rung - bell.lost > before and last.error not in own:
                    return Find("alarm", way, f"swallowed: {last.error}"), bell.rung
        return compared(run(), want, want, way, precision), bell.rung
