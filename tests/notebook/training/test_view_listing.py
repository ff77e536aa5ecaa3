"""The table of views agrees with the functions, the magics and the documentation; it is what ``ms.show`` shows."""

from __future__ import annotations

import inspect
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import msnb as ms
from msnb.notebook.extension import NAMES
from msnb.notebook.show.view_listing import MORE, VIEWS, ListingView
from tests.shells import fresh_shell, run

PICTURES = Path(__file__).parents[3] / "docs" / "pictures.md"
HELPERS = {"as_graph"}


def test_every_function_is_in_the_table():
    functions = {name for name in dir(ms.show) if inspect.isfunction(getattr(ms.show, name)) and name[0] != "_"}
    assert {view.name for view in VIEWS} == functions - HELPERS


def test_every_magic_is_in_the_table():
    told = [re.findall(r"%%?(ms_\w+)", magic) for magic in (*(v.magic for v in VIEWS), *(row[2] for row in MORE))]
    assert sorted(name for names in told for name in names) == sorted(NAMES)


def test_the_documentation_names_every_view():
    rows = [line for line in PICTURES.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)", row.split("|")[1])}
    assert {view.name for view in VIEWS} - {"graph", "watching"} == named


@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.name)
def test_an_example_is_a_call_with_arguments_that_fit(view):
    call = compile(view.example, "<example>", "eval", flags=1024)  # ast.PyCF_ONLY_AST
    arguments = [None] * len(call.body.args), {k.arg: None for k in call.body.keywords}
    inspect.signature(getattr(ms.show, call.body.func.id)).bind(*arguments[0], **arguments[1])
    assert call.body.func.id == view.name and view.question.endswith("?")


def test_a_shell_shows_it():
    with fresh_shell() as shell:
        run(shell, "import msnb as ms\n%load_ext msnb")
        assert run(shell, "%ms_help").text == ListingView().text
        found = run(shell, "%ms_help gradient")
        assert {row[1] for row in found.rows} >= {"ms.show.grad(f, x)", "ms.show.flow(net)"} and len(found.rows) < 6
        assert shell.complete("im", "%ms_help im", 11)[1] == ["images"]
        data, _ = shell.display_formatter.format(run(shell, "ms.show"))
    assert data["text/plain"].splitlines()[0].split() == ["question", "function", "magic"]
    assert "<td" in data["text/html"] and "ms.show.images(x, labels, predicted)" in data["text/html"]


def test_words():
    ET.fromstring(ListingView().svg)
    assert ListingView("never heard of").text .startswith("no view has the word; ")
    assert ListingView("never heard of").html
