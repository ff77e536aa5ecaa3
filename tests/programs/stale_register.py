"""Where the staleness programs enter.

A program is typed like cells of a notebook: a setup that defines ``f``, a call, an edit, the same call again. It is run
twice in namespaces of its own, plain and with ``f`` compiled. Both must give the same before and after the edit; and
the compiled one must say why it was compiled again, or must not be compiled again at all.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass


@dataclass(frozen=True)
class Edit:
    """One program.

    Attributes:
        setup, edit: cells, as source text; names in sight: ms, np, ops, nn, optim, x (f32[3]).
        reason: what the reason of the second compilation must contain; None: there must be none.
        call: the expression that is evaluated before and after the edit.
    """

    name: str
    setup: str
    edit: str
    reason: tuple[str, ...] | None
    call: str


EDITS: dict[str, Edit] = {}


def edit(name: str, setup: str, change: str, *reason: str, call: str = "f(x)") -> None:
    """A program whose edit must be noticed, for ``reason``."""
    _enter(Edit(name, textwrap.dedent(setup), textwrap.dedent(change), reason, call))


def value_edit(name: str, setup: str, change: str, call: str = "f(x)") -> None:
    """A program whose edit changes a value that is an input: new result, nothing compiled."""
    _enter(Edit(name, textwrap.dedent(setup), textwrap.dedent(change), None, call))


def _enter(program: Edit) -> None:
    assert program.name not in EDITS, f"two programs are called {program.name}"
    EDITS[program.name] = program
