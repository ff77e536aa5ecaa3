"""A magic as a record: name, help, arguments, and the function that it runs; and how a shell learns it.

    call_magic("ms_diff", program_views.diff, "Run a call ...", {"--tol": "largest difference ..."}, "f(x, 2.0)")

An option of a call's magic is a keyword of the function of ``ms.show``: its type and default stand in the signature
there. A magic prints nothing: what it returns is the cell's output (``-o NAME`` binds it, ``--quiet`` keeps it back),
the text holds no times, and mistakes in options are ordinary errors, so that a notebook under test fails where it
should.
"""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from IPython.core import magic_arguments

from msnb.notebook.programs.call_line import call_of
from msnb.notebook.views.view import View

Argument = tuple[tuple[str, ...], dict[str, Any]]
REST = argparse.REMAINDER
_NEGATIVE = {"--raw": "optimised"}  # options that switch a keyword off
_KINDS = {"int": int, "float": float}


class Line:
    """One line of output."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Magic:
    """One magic.

    Attributes:
        name: without percent signs.
        run: ``run(shell, options)``, or ``run(shell, options, cell)`` of a cell's magic.
        doc: the help, above the arguments.
        arguments: flags and what argparse is told about them.
        cell: True where it takes a cell.
        words: what its line is completed with besides options and choices.
    """

    name: str
    run: Callable[..., Any]
    doc: str
    arguments: tuple[Argument, ...] = ()
    cell: bool = False
    words: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The name with its percent signs."""
        return f"{'%%' if self.cell else '%'}{self.name}"

    @property
    def completions(self) -> tuple[str, ...]:
        """What a line is completed with: words and choices, then options."""
        choices = [word for _, about in self.arguments for word in about.get("choices", ())]
        flags = [flag for names, _ in self.arguments for flag in names if flag.startswith("--")]
        return (*self.words, *choices, *flags)


def argument(*flags: str, **about: Any) -> Argument:
    """An argument of a magic, as argparse describes it."""
    return flags, about


def flag(name: str, help: str) -> Argument:
    """An option that is on or off."""
    return argument(name, action="store_true", help=help)


OUTPUT = argument("-o", "--output", metavar="NAME", default="", help="bind the view to this name")
QUIET = flag("--quiet", "show nothing")
BOXES = argument("--max-boxes", type=int, default=40, help="how many boxes the picture may show")


def call_magic(name: str, view: Callable[..., View], doc: str, options: Mapping[str, str | Argument],
               call: str = "a call, such as f(x, 2)") -> Magic:  # fmt: skip
    """The magic that shows a view of the call on its line.

    Args:
        name: its name.
        view: the function of ``ms.show``.
        doc: its help.
        options: flag to help, for keywords of ``view``; or a whole argument.
        call: what the help says of the call.
    """
    keywords = {option: _keyword(view, option) for option, help in options.items() if isinstance(help, str)}
    arguments = [_argument(keywords[o].parameter, o, h) if isinstance(h, str) else h for o, h in options.items()]

    def run(shell: Any, chosen: Any) -> View:
        fn, args, kwargs = call_of(shell, " ".join(chosen.call), f"%{name}")
        given = {k.parameter.name: k.value(getattr(chosen, _attribute(o))) for o, k in keywords.items()}
        return view(fn, *args, **given, **kwargs)

    return Magic(name, run, doc, (*arguments, argument("call", nargs=REST, help=call)))


@dataclass(frozen=True)
class _Keyword:
    """The keyword behind an option; ``negative``: the option switches it off."""

    parameter: inspect.Parameter
    negative: bool

    def value(self, given: Any) -> Any:
        return not given if self.negative else given


def _attribute(option: str) -> str:
    return option[2:].replace("-", "_")


def _keyword(view: Callable[..., View], option: str) -> _Keyword:
    name = _NEGATIVE.get(option, _attribute(option))
    return _Keyword(inspect.signature(view).parameters[name], option in _NEGATIVE)


def _argument(parameter: inspect.Parameter, option: str, help: str) -> Argument:
    """The option as the keyword's annotation says: bool, a number, text, or a list of texts."""
    kind = str(parameter.annotation).split(" ")[0]
    if kind == "bool":
        return flag(option, help)
    if kind.startswith("list"):
        return argument(option, action="append", default=[], help=help)
    return argument(option, type=_KINDS.get(kind), default=parameter.default, help=help)


def install(shell: Any, magic: Magic) -> None:
    """Put a magic into a shell."""

    def function(line: str, cell: str = "") -> Any:
        options = magic_arguments.parse_argstring(function, line)  # type: ignore[no-untyped-call]
        found = magic.run(shell, options, cell) if magic.cell else magic.run(shell, options)
        if getattr(options, "output", "") and isinstance(found, View):
            shell.user_ns[options.output] = found
        return None if getattr(options, "quiet", False) else found

    function.__name__, function.__doc__ = magic.name, magic.doc
    for flags, about in reversed(magic.arguments):
        magic_arguments.argument(*flags, **about)(function)  # type: ignore[no-untyped-call]
    magic_arguments.magic_arguments()(function)  # type: ignore[no-untyped-call]
    shell.register_magic_function(function, "cell" if magic.cell else "line", magic.name)
