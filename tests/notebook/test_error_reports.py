"""Reports of errors, and the pages on kinds of errors: every program on a page does what the page says."""

from __future__ import annotations

import gc
import inspect
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import msnb as ms
from msnb import ops
from msnb.base import errors
from msnb.base.errors import ArgumentError, MsnbError, ShapeError
from msnb.notebook.errors.error_pages import LESSONS, lesson_of, pages
from msnb.notebook.errors.error_view import ErrorView, report
from tests.kernels import executed

ROOT = Path(__file__).resolve().parents[2]


def raised(program) -> MsnbError:
    with pytest.raises(MsnbError) as found:
        program()
    return found.value


def mismatch() -> MsnbError:
    return raised(lambda: ops.matmul(ops.ones((4, 4)), ops.ones((3, 2))))


# ---- pages -----------------------------------------------------------------------------------------------------------


def test_every_error_has_a_page():
    kinds = [
        k for _, k in inspect.getmembers(errors, inspect.isclass) if issubclass(k, MsnbError) and k is not MsnbError
    ]
    assert sorted(k.__name__ for k in kinds) == sorted(LESSONS)
    for kind in kinds:
        assert issubclass(
            kind, getattr(__builtins__, LESSONS[kind.__name__].also, None) or eval(LESSONS[kind.__name__].also)
        )
        assert (ROOT / LESSONS[kind.__name__].path).is_file()


def run(program: str) -> None:
    exec(compile(program, "<a page on errors>", "exec"), {"__name__": "page"})


@pytest.mark.parametrize("name", LESSONS)
def test_the_wrong_program_raises_its_error(name):
    gc.collect()  # what earlier tests left behind is not finalized where the stack is full
    with pytest.raises(getattr(errors, name)):
        run(LESSONS[name].wrong)


@pytest.mark.parametrize("name", LESSONS)
def test_the_right_program_runs(name):
    run(LESSONS[name].right)


def test_pages_are_written_from_their_source(tmp_path):
    sys.path.insert(0, str(ROOT / "tools"))
    import error_pages

    assert error_pages.outdated(ROOT / "docs" / "errors") == [], "run tools/error_pages.py"
    for name, text in pages().items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert error_pages.outdated(tmp_path) == []
    (tmp_path / "ShapeError.md").write_text("old")
    (tmp_path / "Gone.md").write_text("old")
    assert error_pages.outdated(tmp_path) == ["Gone.md", "ShapeError.md"]


def test_links_of_the_index_lead_somewhere():
    text = (ROOT / "docs" / "errors" / "README.md").read_text(encoding="utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    assert len(targets) == len(LESSONS)
    assert all((ROOT / "docs" / "errors" / t).is_file() for t in targets)


def test_a_kind_without_a_page_takes_the_one_above():
    class Special(ShapeError):
        pass

    assert lesson_of(Special) is LESSONS["ShapeError"]
    assert lesson_of(KeyError) is None


# ---- reports ---------------------------------------------------------------------------------------------------------


def test_a_report_has_everything_and_no_frames():
    view = ErrorView(mismatch())
    text = view.text
    assert text.startswith("ShapeError: matmul: the last axis of x has size 4")
    assert "x: f32[4,4]" in text
    assert "hint: " in text
    assert "at test_error_reports.py line " in text
    assert "^^^^" in text
    assert text.endswith("more: ms.show.error()")  # no shell, no magic
    assert "dispatch" not in text
    assert view.operands == [("x", "f32[4,4]"), ("y", "f32[3,2]")]
    assert any(re.fullmatch(r"msnb/eager/dispatch.py line \d+ in \w+", line) for line in view.internals)


def test_internals_are_one_click_away():
    bundle = ErrorView(mismatch()).below()
    shown, _, hidden = bundle["text/html"].partition("<details><summary>internals</summary>")
    assert "dispatch" not in shown
    assert "dispatch" in hidden
    assert "<table>" in shown
    assert "href" not in bundle["text/html"], "no file lies beside every notebook"
    assert not re.search(r"<(script|style|svg)|\sid=|\sdata-", bundle["text/html"])
    assert "dispatch" not in bundle["text/plain"]
    assert set(bundle) == {"text/html", "text/plain"}, "no picture that a renderer would look for in vain"


def test_the_page_shows_code_as_code():
    page = ErrorView(mismatch()).below()["text/html"]
    assert "<code>x[None]</code>" in page and "`" not in page and "<b>The way out</b>" in page


def test_hostile_errors_are_escaped():
    error = raised(lambda: (_ for _ in ()).throw(ArgumentError("<script>\x00", operands=["<b>: <i>"], hint='"&')))
    view = ErrorView(error)
    ET.fromstring(view.svg)
    assert "<script>" not in view.html + view.svg
    assert "<i>" not in view.html


def test_errors_without_a_place_are_reported():
    error = MsnbError("wrong.")
    error.where = None
    assert report(error) == ["MsnbError: wrong."]
    ET.fromstring(ErrorView(error).svg)


def test_the_last_error_is_shown_again(monkeypatch):
    monkeypatch.setattr(sys, "last_value", mismatch(), raising=False)
    assert ms.show.error().text.startswith("ShapeError: matmul")
    assert ms.show.error(ShapeError).text.startswith("# ShapeError")
    monkeypatch.setattr(sys, "last_value", None, raising=False)
    for wrong, words in [(None, "no error of msnb yet"), ("Nope", "no page on 'Nope'"), (KeyError, "no page on")]:
        with pytest.raises(ArgumentError, match=words):
            ms.show.error(wrong)


@pytest.mark.slow
def test_a_cell_shows_the_report_then_the_rest():
    wrong_sum = "ms.ops.ones((2,)) + ms.ops.ones((3,))"
    cells = executed("%load_ext msnb\nimport msnb as ms", wrong_sum, "%ms_error", "%ms_ir nope(", allow_errors=True)
    _, failed, page, wrong = cells
    first, second = failed.outputs
    assert first.output_type == "error"
    assert "\n".join(first.traceback).count("\n") < 10
    assert "internals" in second.data["text/html"]
    assert page.outputs[0].data["text/plain"].startswith("ShapeError")
    assert "interactiveshell" not in "\n".join(wrong.outputs[0].traceback)
