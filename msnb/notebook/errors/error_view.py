"""An error as a report: what is wrong, where in the cell, with which operands, the way out, and what lies behind it.

    ShapeError: matmul: the last axis of x has size 4, the axis of y it meets has size 3.
      x  f32[4,4]
      y  f32[3,2]
      hint: a transpose of one of them may be missing.
    at cell [8] line 4
        return ops.matmul(x, w)
               ^^^^^^^^^^^^^^^^
    more: docs/errors/ShapeError.md, %ms_error

What a reader needs stands in the first lines; the frames inside msnb are in a section of their own, closed.
"""

from __future__ import annotations

import html
import os
import re
import traceback
from types import TracebackType
from typing import Any

from msnb.base import MsnbError
from msnb.base.source_location import PACKAGE_DIR, Origin, Where, is_internal
from msnb.notebook.charts.display import shell as showing_shell
from msnb.notebook.charts.html_fragments import Row, details, pre, table
from msnb.notebook.charts.plot import card
from msnb.notebook.drawing import ALARM, INK, SOFT, text as words
from msnb.notebook.errors.error_pages import Lesson, lesson_of
from msnb.notebook.views.view import Section, View

HEAD = ("operand", "is")
INTERNALS = "internals"
CALLS = 4  # so many are listed, outer ones are counted
MONO_CHAR = 6.62  # pixels of a character at 11 pixels


def place_of_error(error: MsnbError, tb: TracebackType | None = None) -> Where | None:
    """The line of the user's text."""
    found = error.where
    if found is not None and not is_internal(found.file):
        return found
    return place_in_text(tb or error.__traceback__)


def place_in_text(tb: TracebackType | None) -> Where | None:
    """The innermost frame of the user's own text."""
    found: Origin | None = None
    while tb is not None:
        code = tb.tb_frame.f_code
        if not is_internal(code.co_filename):
            found = Origin(((code, tb.tb_lasti, tb.tb_lineno),))
        tb = tb.tb_next
    return found.where if found is not None else None


def report(error: MsnbError, tb: TracebackType | None = None) -> list[str]:
    """The lines a cell shows for an error."""
    lines = [f"{type(error).__name__}: {error.message()}"]
    place = place_of_error(error, tb)
    if place is not None:
        lines += place.caret().split("\n")
    return [*lines, f"more: {help_call()}"] if lesson_of(type(error)) is not None else lines


def plain_report(error: BaseException, kept: TracebackType) -> list[str]:
    """The same for an error of Python's own that passed through msnb: sentence, place, the calls that led there."""
    first, *more = str(error).split("\n") or [""]
    lines, calls, tb = [f"{type(error).__name__}: {first}", *more], list[str](), kept
    while tb.tb_next is not None:
        calls.append(str(Origin(((tb.tb_frame.f_code, tb.tb_lasti, tb.tb_lineno),)).where))
        tb = tb.tb_next
    place = place_in_text(tb)
    if place is not None:
        lines += place.caret().split("\n")
    if len(calls) > CALLS:
        calls = [calls[0], f"{len(calls) - 2} calls between them", calls[-1]]
    return [*lines, *(f"called at {call}" for call in reversed(calls))]


def help_call() -> str:
    """What shows the report again, with the page on its kind: a magic where it is loaded."""
    shell = showing_shell()
    return "%ms_error" if shell is not None and shell.find_line_magic("ms_error") else "ms.show.error()"


class TextView(View):
    """A view that is words: its HTML says all of it in every front end, and no renderer finds a picture to draw."""

    @property
    def figures(self) -> list[str]:
        """None."""
        return []

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/html": self.html, "text/plain": repr(self)}


class ErrorView(TextView):
    """The report of an error.

    Attributes:
        error: the exception.
        lesson: what its kind means, if there is a page on it.
    """

    kind = "error"

    def __init__(self, error: MsnbError, tb: TracebackType | None = None) -> None:
        super().__init__(type(error).__name__)
        self.error = error
        self.lesson: Lesson | None = lesson_of(type(error))
        self.place: Where | None = place_of_error(error, tb)
        self._lines = report(error, tb)
        self._tb = tb or error.__traceback__

    @property
    def text(self) -> str:
        """The short report."""
        return "\n".join(self._lines)

    @property
    def operands(self) -> list[Row]:
        """Name and type of every operand."""
        pairs = [line.partition(": ") for line in self.error.operands]
        return [(a, b) if sep else ("", a) for a, sep, b in pairs]

    @property
    def internals(self) -> list[str]:
        """The frames of msnb, outermost first, as ``msnb/eager/dispatch.py line 81 in entry_for``."""
        frames = traceback.extract_tb(self._tb)
        root = os.path.dirname(PACKAGE_DIR.rstrip(os.sep)) + os.sep
        inside = [f for f in frames if f.filename.startswith(PACKAGE_DIR)]
        return [f"{f.filename[len(root) :].replace(os.sep, '/')} line {f.lineno} in {f.name}" for f in inside]

    @property
    def svg(self) -> str:
        """The report on a card."""
        parts, y = list[str](), 48.0
        first, *rest = self.text.split("\n")
        for line in [*_wrapped(first, 92)[1:], *rest]:
            alarm = bool(line.strip()) and not line.strip("^ ")
            for piece in _wrapped(line, 98):
                parts.append(_line(piece, y, ALARM if alarm else INK))
                y += 15
        title = _wrapped(first, 92)[0]
        head = words(16, 23, title, 12, ALARM, weight=600, anchor="start")
        return card(720, y + 4, "", [head, *parts]) if parts else card(720, 40, title, [])

    @property
    def sections(self) -> list[Section]:
        """Operands, the lesson, the frames inside msnb."""
        out: list[Section] = []
        if self.operands:
            out.append(("operands", table(HEAD, self.operands)))
        if self.lesson is not None:
            out.append((f"what {self.lesson.name} means, and the way out", lesson_html(self.lesson)))
        if self.internals:
            out.append((INTERNALS, pre("\n".join(self.internals))))
        return out

    @property
    def html(self) -> str:
        """The short report, everything else one click away."""
        return f"<div>{pre(self.text)}{self.more}</div>"

    @property
    def more(self) -> str:
        """What a cell shows below the short report: sections, closed. A notebook knows no page that opens everywhere,
        so the page on this kind of error is one of them."""
        return "".join(details(summary, body) for summary, body in self.sections)

    @property
    def data(self) -> dict[str, Any]:
        """The parts; no frames: they change with every version."""
        place = None if self.place is None else [self.place.shown_file, self.place.line, self.place.col]
        return {
            "error": type(self.error).__name__, "sentence": self.error.sentence, "hint": self.error.hint,
            "operands": [list(row) for row in self.operands], "place": place,
            "page": self.lesson.path if self.lesson is not None else None,
        }  # fmt: skip

    def below(self) -> dict[str, Any]:
        """The output that follows the red one in a cell."""
        return {"text/html": f"<div>{self.more}</div>", "text/plain": f"more on this error: {help_call()}"}


def lesson_html(lesson: Lesson) -> str:
    """A lesson without scripts or styles."""
    programs = f"<b>It comes from</b>{pre(lesson.wrong)}<b>The way out</b>{pre(lesson.right)}"
    return f"<p>{_with_code(lesson.meaning)}</p>{programs}<p>{_with_code(lesson.advice)}</p>"


def _with_code(text: str) -> str:
    """Words between backticks as code."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))


class ErrorPageView(TextView):
    """A page on a kind of error."""

    kind = "lesson"

    def __init__(self, lesson: Lesson) -> None:
        super().__init__(lesson.name)
        self.lesson = lesson

    @property
    def text(self) -> str:
        """The page."""
        return self.lesson.markdown

    @property
    def svg(self) -> str:
        """The page on a card."""
        lines = [piece for line in self.lesson.markdown.split("\n") for piece in _wrapped(line, 98)]
        parts = [_line(line, 30 + 15 * i, INK if line.startswith("#") else SOFT) for i, line in enumerate(lines)]
        return card(720, 40 + 15 * len(lines), "", parts)

    @property
    def html(self) -> str:
        """The page."""
        return f"<div><b>{html.escape(self.lesson.name)}</b>{lesson_html(self.lesson)}</div>"


def _line(text: str, y: float, colour: str) -> str:
    """A line of monospaced words at its indentation (SVG drops spaces at the beginning)."""
    inner = text.lstrip(" ")
    return words(16 + MONO_CHAR * (len(text) - len(inner)), y, inner, 11, colour, anchor="start", mono=True)


def _wrapped(line: str, width: int) -> list[str]:
    out = []
    for piece in line.split("\n"):
        while len(piece) > width:
            cut = piece.rfind(" ", 20, width)
            cut = cut if cut > 0 else width
            out.append(piece[:cut])
            piece = "    " + piece[cut:].lstrip()
        out.append(piece)
    return out
