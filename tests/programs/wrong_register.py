"""Where the wrong programs enter, and how a test finds the place that an error must name.

    @wrong(ShapeError, "add: the shapes [2, 3] and [4] do not broadcast.", x23, x4)
    def add_shapes(x, y):
        return x + y  # <- here

The body is the program, the sentence stands above it (``line -2`` in it counts from the marker), and the marker says
the line and the text under the caret: what follows the colon of ``# <- here: text``, else the line without ``return``
or ``name =``. ``text | text`` are for eager and graph mode: Python's own bytecode may point wider than the graph
does. The marker is looked up in the program, or in ``at``, something that the program calls.

Sentences and texts are those of Python 3.11. Later ones point a little wider or closer, 3.10 keeps no positions.

Programs of ``wrong`` are called eagerly and through ``ms.jit``; ``both_modes`` ones are ordinary scripts (they make
Cells, optimizers, gradients) that run under either mode of the context; ``only_graph`` ones are right eagerly, and
refused by the graph.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msnb.base.errors import MsnbError
from msnb.base.source_location import Where, users_frame

MARK = "# <- here"
OTHER_WORDS = (
    (r"\. Did you mean '\w+'\?$", ""),
    (r"local variable ('\w+') referenced before assignment",
     r"cannot access local variable \1 where it is not associated with a value"),
)  # fmt: skip
STATEMENT = re.compile(r"^(return |[\w, ]+ = )")


@dataclass(frozen=True)
class WrongProgram:
    """A program, and what its mistake must look like."""

    fn: Callable[..., Any]
    kind: type[BaseException]
    sentence: str
    inputs: tuple[Callable[[], Any], ...]
    at: Callable[..., Any]
    style: str

    @property
    def name(self) -> str:
        return self.fn.__name__

    def marker(self, graph: bool) -> tuple[str, int, str | None]:
        """File, line and text under the caret, as the marker says; None where this Python keeps no such positions."""
        lines, first = inspect.getsourcelines(self.at)
        found = [i for i, line in enumerate(lines) if MARK in line]
        assert len(found) == 1, f"{self.name}: one marker, please"
        code, _, text = lines[found[0]].partition(MARK)
        told = text.strip(": \n") or STATEMENT.sub("", code.partition("  #")[0].strip())
        file = inspect.getsourcefile(self.at)
        assert file is not None
        eager, _, wider = told.partition(" | ")
        return file, first + found[0], ((wider if graph else "") or eager) if sys.version_info >= (3, 11) else None

    def expected(self, line: int) -> str:
        """The sentence; ``line -2`` in it counts from the marker."""
        return re.sub(r"line ([+-]\d+)", lambda m: f"line {line + int(m[1])}", self.sentence)


PROGRAMS: dict[str, WrongProgram] = {}


def _entering(style: str) -> Callable[..., Any]:
    def register(kind: type[BaseException], sentence: str, *inputs: Any, at: Any = None) -> Callable[..., Any]:
        def keep(fn: Callable[..., Any]) -> Callable[..., Any]:
            assert fn.__name__ not in PROGRAMS, fn.__name__
            PROGRAMS[fn.__name__] = WrongProgram(fn, kind, sentence, inputs, at or fn, style)
            return fn

        return keep

    return register


wrong = _entering("jit")
both_modes = _entering("script")
only_graph = _entering("graph")


def place_of(error: BaseException) -> Where:
    """Where the user is sent: the error's own place, else the innermost frame of the traceback outside of msnb."""
    place = error.where if isinstance(error, MsnbError) else users_frame(error.__traceback__)
    assert place is not None, "an error without a place"
    return place


def sentence_of(error: BaseException) -> str:
    """The message without place, operands and hint, in the words of Python 3.11."""
    return error.sentence if isinstance(error, MsnbError) else _in_known_words(str(error))


def _in_known_words(sentence: str) -> str:
    """3.10 has other words for a variable without a value; 3.13 proposes names."""
    for pattern, words in OTHER_WORDS:
        sentence = re.sub(pattern, words, sentence)
    return sentence


def is_marked(shown: str, text: str) -> bool:
    """Whether what stands over the caret is the text of the marker, as closely as this Python tells positions."""
    return shown == text if sys.version_info[:2] == (3, 11) else shown in text or text in shown


def under_caret(place: Where) -> str:
    """The text over the caret line, as ``str(error)`` draws it."""
    _, text, carets = place.caret().split("\n")
    start = carets.index("^")
    return text[start : start + carets.count("^")]
