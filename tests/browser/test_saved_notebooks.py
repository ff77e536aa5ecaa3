"""Saved notebooks: untrusted copies, no kernel, lost widgets, names that try to be more than names."""

from __future__ import annotations

from typing import Any

import nbformat
import numpy as np
from browser_harness import Lab
from pages import command, expect_at_least, expect_count, node, open_notebook, put_outputs, run_all, views, write

import msnb as ms
from msnb import nn, ops
from msnb.notebook.views.view import MIME

X = ms.Tensor(np.array([0.5, 1.0, 2.0], np.float32))
NOT_TRUSTED = "window.jupyterapp.shell.currentWidget.content.widgets.filter(c => c.model.trusted).length === 0"
NO_KERNEL = "window.jupyterapp.shell.currentWidget.sessionContext.session === null"
WORDS = [
    "<script>window.pwned=1;alert(1)</script>", "\"><img src=x onerror=alert(1)>", "a\nb\tc", "</pre><b>bold",
    "\u202eright to left \u05d0\u05d1\u05d2", "n" * 10_000, "<svg onload=alert(1)>", "javascript:alert(1)",
]  # fmt: skip


def chain(x):
    return (ops.exp(x * 1.0) + ops.log(x)).sum()


def open_without_kernel(page: Any, lab: Lab, name: str) -> None:
    """The notebook names a kernel that nobody has; we say that none is wanted."""
    path = lab.folder / name
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata.pop("language_info", None)  # or JupyterLab takes any kernel of that language
    notebook.metadata["kernelspec"] = {"name": "gone", "display_name": "Gone", "language": "python"}
    nbformat.write(notebook, path)
    open_notebook(page, lab, name, kernel=False)
    page.locator(".jp-Dialog button", has_text="No Kernel").click()
    page.wait_for_selector(".jp-Dialog", state="detached")
    assert page.evaluate(NO_KERNEL)


# ---- what a fresh clone shows ----------------------------------------------------------------------------------------


def test_an_untrusted_notebook_without_a_kernel_shows_and_links_its_pictures(page, lab):
    shown = [ms.show.ir(chain, X), ms.show.passes(chain, X), ms.show.mem(chain, X), ms.show.profile(chain, X)]
    source = "def chain(x):\n    return (ops.exp(x * 1.0) + ops.log(x)).sum()"
    bundles = [v._repr_mimebundle_() for v in shown]
    for box in bundles[0][MIME]["nodes"]:
        if "loc" in box:
            box["loc"] = ["cell [1]", 2, 4, -1]
    elsewhere = {key: part for key, part in bundles[0].items() if key != MIME}
    path = write(lab.folder / "clone.ipynb", [source, "ir", "passes", "mem", "profile", "not ours"])
    put_outputs(path, {i + 1: b for i, b in enumerate([*bundles, elsewhere])})
    open_without_kernel(page, lab, "clone.ipynb")
    assert page.evaluate(NOT_TRUSTED)
    expect_count(views(page), 4)
    node(views(page).nth(0), "exp").wait_for()
    node(views(page).nth(0), "exp").hover()
    page.wait_for_selector(".cm-line.msnb-marked-line")
    assert "ops.exp(x * 1.0)" in page.locator(".cm-line.msnb-marked-line").inner_text()
    slider = views(page).nth(1).locator("input[type=range]")
    before = views(page).nth(1).locator(".msnb-law").inner_text()
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert views(page).nth(1).locator(".msnb-law").inner_text() != before
    assert page.locator(".msnb-status:visible").count() == 0, "no kernel, no mode"
    check_plain_html(page)


def check_plain_html(page: Any) -> None:
    """A front end that does not know our MIME type: its sanitiser leaves image and text."""
    image = page.locator(".jp-OutputArea-output figure img")
    image.scroll_into_view_if_needed()
    assert image.evaluate("e => e.decode().then(() => e.naturalWidth)") > 100
    page.locator(".jp-OutputArea-output summary", has_text="IR").click()
    assert "graph chain(x: f32[3])" in page.locator(".jp-RenderedHTML pre").first.inner_text()


# ---- live widgets ----------------------------------------------------------------------------------------------------


def test_a_widget_lives_while_its_kernel_does_and_leaves_the_picture(page, lab):
    setup = "import msnb as ms\nw = ms.show.passes(lambda x: (x * 1.0 + 0).sum(), ms.Tensor([1.0])).widget()"
    write(lab.folder / "widget.ipynb", [setup, "w"])
    open_notebook(page, lab, "widget.ipynb")
    run_all(page, 2)
    page.locator(".widget-label", has_text=": captured").wait_for()
    page.locator(".jupyter-widgets button").last.click()
    page.locator(".widget-label", has_text="2 of").wait_for()
    expect_at_least(page.locator(".jupyter-widgets img"), 1)
    command(page, "docmanager:save")
    page.wait_for_function("!window.jupyterapp.shell.currentWidget.context.model.dirty")
    saved = nbformat.read(lab.folder / "widget.ipynb", as_version=4)
    assert MIME in saved.cells[1].outputs[0].data
    nbformat.write(saved, lab.folder / "reopened.ipynb")  # another name: no kernel runs for it
    open_without_kernel(page, lab, "reopened.ipynb")
    expect_count(page.locator(".msnb-view .msnb-slider"), 1)  # the static view moves too
    assert page.locator("text=Error displaying widget").count() == 0


# ---- names -----------------------------------------------------------------------------------------------------------


def hostile_bundles() -> list[dict[str, Any]]:
    """Programs whose names are no names, and JSON that no program of ours would write."""
    found = []
    for word in WORDS:

        def fn(x):
            return ops.exp(x).sum()

        class Outer(nn.Cell):
            def __init__(self):
                super().__init__()
                self.inner = nn.Dense(3, 2)
                self.inner.weight.name = word

            def construct(self, x):
                return self.inner(x).sum()

        fn.__name__ = fn.__qualname__ = Outer.__name__ = Outer.__qualname__ = word
        found += [ms.show.ir(fn, X)._repr_mimebundle_(), ms.show.grad(Outer(), X)._repr_mimebundle_()]
    return found + [{MIME: raw, "text/plain": word} for word in WORDS for raw in forged(word)]


def forged(word: str) -> list[dict[str, Any]]:
    head = {"schema": "msnb.graph", "version": 1, "kind": word, "title": word, "edges": []}
    texts = ("title", "family", "scope", "place", "why", "mark")
    box = {"id": word, "kind": word, "lines": [word] * 3, "loc": [word, 1, 2, 3], **dict.fromkeys(texts, word)}
    overlay = {word: {"title": word, "unit": word, "nodes": {word: 1.5}, "marks": {word: word}}}
    rows = [{word: word, "line": word, "stage": word}]
    group = {"id": "g", "kind": "group", "title": word, "lines": [], "open": True, "inside": {**head, "nodes": [box]}}
    return [
        {**head, "nodes": [box, group], "edges": [[word, word, 0, word], ["x", "y", -1, word]], "overlays": overlay},
        {**head, "kind": "passes", "nodes": [], "data": {"stages": rows, "rewrites": rows}},
        {**head, "kind": "step", "nodes": [box], "data": {"rows": [{"id": word, "op": word, "values": word}]}},
        {**head, "kind": "memory", "nodes": [], "data": {"live": [1], "buffers": [[word, 1, 0, 0, 0], word]}},
    ]


def test_hostile_names_do_nothing(page, lab):
    bundles = hostile_bundles()
    path = write(lab.folder / "hostile.ipynb", ["1"] * len(bundles))
    put_outputs(path, dict(enumerate(bundles)))
    open_without_kernel(page, lab, path.name)
    assert page.evaluate(NOT_TRUSTED)
    try_everything(page, len(bundles))
    command(page, "notebook:trust")
    page.locator(".jp-Dialog button", has_text="Trust").click()
    page.wait_for_selector(".jp-Dialog", state="detached")
    assert not page.evaluate(NOT_TRUSTED)
    try_everything(page, len(bundles))


def try_everything(page: Any, count: int) -> None:
    """Press what can be pressed, search, and look whether a name became an element."""
    page.wait_for_function("n => document.querySelectorAll('.msnb-output').length === n", arg=count)
    page.evaluate("document.querySelectorAll('.msnb-view button, .msnb-view summary').forEach(b => b.click())")
    command(page, "msnb:search")
    page.locator(".msnb-search").fill("script")
    assert page.evaluate("window.pwned") is None
    inside = page.locator(".msnb-view :is(script, iframe, object, img[onerror], svg[onload], b b, a[href])")
    assert inside.count() == 0
    wide = page.locator(".msnb-view").evaluate_all("all => Math.max(...all.map(e => e.scrollWidth - e.clientWidth))")
    assert wide <= 2, "a name of 10,000 characters does not push the page apart"
