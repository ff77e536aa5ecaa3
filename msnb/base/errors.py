"""Errors that teach: what was expected, what came, operand by operand, and the way out.

Every class is also the built-in class that a PyTorch or MindSpore user would catch (a shape mismatch is a
``ValueError``, a dtype mismatch a ``TypeError``), so ``except ValueError`` keeps working. ``where`` is the line of the
user's file or cell, with a caret under the expression: taken when the error is made, so no refusal can forget it. The
executor, which notices things later than they were written, puts the place of the node there instead.

An error that passes through msnb is shown without the frames of msnb: by ``sys.excepthook`` in plain Python, by
``__tracebackhide__`` under pytest, by ``msnb.notebook.errors`` in a notebook. ``MSNB_TRACEBACK=full`` in the
environment shows all frames; the error itself, and what a debugger sees, is the same in any case.
"""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Sequence
from types import TracebackType
from typing import Any

import numpy as np

from msnb.base.missing_names import call_hint
from msnb.base.source_location import Where, here, is_full, is_own, mark_frames, users_frame, without_internals


class MsnbError(Exception):
    """Base of all errors of msnb: a sentence, a hint, and a place in the user's text.

    Args:
        sentence: what is wrong, in one sentence.
        operands: one line per operand, such as ``"x: f32[2,3]"``.
        hint: the way out.

    Attributes:
        breaks: whether a program that cannot be captured for it may run as Python, where that is wanted.
    """

    breaks: bool = False

    def __init__(self, sentence: str, *, operands: Sequence[str] = (), hint: str = "") -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.operands: tuple[str, ...] = tuple(operands)
        self.hint = hint
        self.where: Where | None = here(2).where
        mark_frames(sys._getframe(1))

    def message(self) -> str:
        """The text without the place: the same in both modes."""
        lines = [str(self.sentence)]  # in a program that is captured, a text that is still open
        lines += [f"  {operand}" for operand in self.operands]
        if self.hint:
            lines.append(f"  hint: {self.hint}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.message() if self.where is None else f"{self.message()}\n{self.where.caret()}"


class ShapeError(MsnbError, ValueError):
    """Shapes that do not fit an operation."""


class DTypeError(MsnbError, TypeError):
    """A dtype that an operation does not take."""


class AttributeValueError(MsnbError, ValueError):
    """A static attribute (axis, kernel size, mode ...) with a value that is not legal."""


class ArgumentError(MsnbError, TypeError):
    """Arguments that do not fit a signature: too many, too few, unknown names, wrong kinds."""


class IndexOutOfRange(MsnbError, IndexError, RuntimeError, ValueError):
    """An index outside its axis; a ``RuntimeError`` and ``ValueError`` too, as kernels of MindSpore raise."""


class LinAlgError(MsnbError, np.linalg.LinAlgError):
    """A matrix that has no inverse or factors of the kind that is asked for (a ``ValueError``, as NumPy's is)."""


class IntegerOverflowError(MsnbError, OverflowError):
    """A Python integer that the integer dtype of an operation cannot hold."""


class ConditionError(MsnbError, RuntimeError):
    """A condition that a program set itself (``ops.Assert``, ``ops.CheckNumerics``) and that does not hold."""


class StackError(MsnbError, RecursionError):
    """Calls of Cells nested deeper than Python's stack goes."""


class LostWriteError(MsnbError, RuntimeError):
    """A write into a value that nobody keeps, such as ``x[mask][1] = 5``."""


class DeviceError(MsnbError, RuntimeError):
    """A device that is missing, or operands on different devices."""


class OutOfMemoryError(MsnbError, MemoryError):
    """Something needs more memory than there is. Nothing was changed."""


class ContextError(MsnbError, ValueError):
    """An unknown context key or an illegal value of one."""


class CaptureError(MsnbError, RuntimeError):
    """A program that cannot be captured as a graph."""


class UnsupportedSyntaxError(CaptureError, SyntaxError):
    """A statement that graph mode refuses, with the way to write it instead."""

    def __init__(self, sentence: str, *, operands: Sequence[str] = (), hint: str = "") -> None:
        CaptureError.__init__(self, sentence, operands=operands, hint=hint)
        self.msg = sentence

    def __str__(self) -> str:
        return CaptureError.__str__(self)


class ConcretizationError(CaptureError, TypeError):
    """A program asked for the value of a tensor that is not known while it is captured."""

    breaks: bool = True


class DataSizeError(ConcretizationError, ShapeError):
    """A size that only the data tell is needed while a program is captured."""


class BranchTypeError(CaptureError, TypeError):
    """Two branches leave values that are no one value, such as a tensor and a number; a tensor decides which runs."""


class UndefinedNameError(CaptureError, UnboundLocalError):
    """A name that is read where it may not have a value (defined in one branch only)."""


class GradientError(MsnbError, RuntimeError):
    """A gradient that does not exist or was asked for in a way that has no answer."""


class VerifyError(MsnbError, AssertionError):
    """A graph that breaks a law of the IR: always a defect of a transform, never of the user."""


class CheckpointError(MsnbError, ValueError, RuntimeError):
    """A checkpoint that is damaged or does not fit the network. The network is unchanged."""


class DatasetError(MsnbError, ValueError, RuntimeError):
    """A data set, or a function mapped over one, that is wrong."""


# ---- how they are printed ----


class ReportHook:
    """A ``sys.excepthook`` that leaves out the frames of msnb.

    Args:
        before: the hook that was there; it prints what concerns no frame of msnb.
    """

    def __init__(self, before: Any) -> None:
        self.before = before

    def __call__(self, kind: type[BaseException], error: BaseException, tb: TracebackType | None) -> None:
        kept = None if is_full() else without_internals(tb)
        if kept is None:
            self.before(kind, error, tb)
        elif self.before is sys.__excepthook__ and stands_alone(error) and is_stated(error):
            print(report(error, kept), file=sys.stderr)
        else:
            self.before(kind, error.with_traceback(kept), kept)
        say_call(error, kept or tb)


def say_call(error: BaseException, tb: TracebackType | None) -> None:
    """Below a traceback: how a function of msnb is called, where a call of it was refused."""
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    hint = call_hint(error, tb.tb_frame) if tb is not None else ""
    if hint:
        print(f"msnb: {hint}", file=sys.stderr)


def stands_alone(error: BaseException) -> bool:
    """Whether an error has no other one behind it that would have to be shown too. What msnb met on its way to another
    answer (a table that has no entry yet) is none of the user's business."""
    behind = None if error.__suppress_context__ else error.__context__
    while behind is not None and users_frame(behind.__traceback__) is None:
        behind = behind.__context__
    return error.__cause__ is None and (behind is None or is_stated(error))


def is_stated(error: BaseException) -> bool:
    """Whether the class of an error is msnb's."""
    return isinstance(error, MsnbError) or type(error).__module__.startswith("msnb.")


def report(error: Any, tb: TracebackType) -> str:
    """The user's frames and what the error says, its place not twice."""
    frames = traceback.extract_tb(tb)
    last, where = frames[-1], getattr(error, "where", None)
    told = where is not None and (where.file, where.line) == (last.filename, last.lineno)
    lines = ["Traceback (most recent call last, without the frames of msnb):", *calls_of(frames)]
    return "\n".join(s.rstrip() for s in [*lines, f"{type(error).__name__}: {error.message() if told else error}"])


def calls_of(frames: Sequence[traceback.FrameSummary]) -> list[str]:
    """The user's calls, outermost first, in eight lines at most: the last one with its text and caret."""
    first, last = frames[0], frames[-1]
    if len(frames) < 3:
        return traceback.format_list(list(frames))
    middle = frames[1]
    between = f'  File "{middle.filename}", line {middle.lineno}, in {middle.name}'
    if len(frames) > 3:
        between = f"  ... {len(frames) - 2} calls between them"
    plain = traceback.FrameSummary(first.filename, first.lineno, first.name, line=first.line)
    return [*traceback.format_list([plain]), between, *traceback.format_list([last])]


def install_hook() -> None:
    """Put the hook in front of the one that is there (once)."""
    if not isinstance(sys.excepthook, ReportHook):
        sys.excepthook = ReportHook(sys.excepthook)


def reraise_interrupt(error: BaseException) -> None:
    """Raise ``error`` again if a signal handler of the program raised it: see ``is_interrupt``."""
    if is_interrupt(error):
        raise error


def is_interrupt(error: BaseException) -> bool:
    """Did a signal handler of the program raise it: an alarm, the time limit of a test?

    It comes between any two steps and belongs to no call: another way to try would lose it, and leave a step half done.
    """
    codes: set[Any] = {frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)}
    if all(is_own(code.co_filename) for code in codes):
        return False
    handlers: Any = map(signal.getsignal, signal.valid_signals())
    asked = [getattr(handler, "func", handler) for handler in handlers if callable(handler)]
    return any(getattr(h, "__code__", getattr(h.__call__, "__code__", None)) in codes for h in asked)
