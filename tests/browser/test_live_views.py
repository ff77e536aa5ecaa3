"""JupyterLab with a kernel: views render, boxes and lines are linked, sliders move, the status bar switches.

One notebook runs once; the tests look at its outputs one after the other and leave the page as they found it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from browser_harness import Heard, Lab, listened
from pages import (
    command,
    expect_at_least,
    expect_count,
    marked_lines,
    node,
    open_notebook,
    run_all,
    views,
    write,
)

SETUP = "import msnb as ms\nfrom msnb import nn, ops\nimport numpy as np\n%load_ext msnb"
NET = """\
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Dense(4, 8)
        self.fc2 = nn.Dense(8, 3)

    def construct(self, x):
        h = ops.relu(self.fc1(x)) * 1.0
        y = self.fc2(h)
        return (y * y).sum()

ms.set_seed(1)
net, x = Net(), ms.Tensor(np.ones((2, 4), np.float32))

def loop(x, n):
    while n > 0:
        x = x * 1.5
        n = n - 1
    return x.sum()"""
SHOWN = {
    "graph": "ms.show.ir(net, x)",
    "gradient": "ms.show.grad(net, x, norms=True)",
    "passes": "ms.show.passes(net, x)",
    "step": "ms.show.step(net, x, stop='relu')",
    "memory": "ms.show.mem(net, x, gradient=True)",
    "profile": "ms.show.profile(net, x, times=True)",
    "diff": "ms.show.diff(net, x)",
    "compare": "ms.show.compare(lambda x: (x * x).sum(), lambda x: ops.relu(x * x).sum(), x)",
    "explain": "f = ms.jit(loop); f(x, ms.Tensor(3)); ms.show.explain(f)",
    "loop": "ms.show.ir(loop, x, ms.Tensor(3))",
    "roofline": "ms.show.roofline(net, x)",
}
PLACES = list(SHOWN)
ACTIVE = "window.jupyterapp.shell.currentWidget.content.activeCellIndex"


@pytest.fixture(scope="module")
def gallery(context: Any, lab: Lab) -> Iterator[tuple[Any, Heard]]:
    cells = [SETUP, NET, *SHOWN.values()]
    write(lab.folder / "gallery.ipynb", cells)
    page, heard = listened(context)
    open_notebook(page, lab, "gallery.ipynb")
    run_all(page, len(cells))
    page.wait_for_function("n => document.querySelectorAll('.msnb-view').length === n", arg=len(SHOWN))
    yield page, heard
    page.close()


@pytest.fixture
def page(gallery: tuple[Any, Heard]) -> Iterator[Any]:
    found, heard = gallery
    yield found
    assert heard.errors == [], "the console stays free of errors"
    assert heard.dialogs == [], "nothing opens a dialog"


def view_of(page: Any, name: str) -> Any:
    found = views(page).nth(PLACES.index(name))
    found.scroll_into_view_if_needed()
    return found


# ---- what is shown ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PLACES)
def test_every_view_renders(page, name):
    view = view_of(page, name)
    expect_at_least(view.locator("svg.msnb-svg, img.msnb-image"), 1)
    assert view.locator(".msnb-error").count() == 0
    box = view.locator("svg.msnb-svg, img.msnb-image").first.bounding_box()
    assert box["width"] > 50
    assert box["height"] > 30
    view.locator("summary", has_text="text").click()
    assert len(view.locator("pre.msnb-text").inner_text()) > 10
    view.locator("summary", has_text="text").click()


def test_the_view_is_ours_and_not_the_saved_html(page):
    kinds = [views(page).nth(i).get_attribute("aria-label") for i in range(len(PLACES))]
    assert [k.split()[1].rstrip(":") for k in kinds[:8]] == PLACES[:8]
    assert page.locator(".jp-OutputArea-output figure").count() == 0


# ---- boxes and lines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("view", "box", "line"),
    [("graph", "relu", "h = ops.relu(self.fc1(x)) * 1.0"), ("graph", "sum", "return (y * y).sum()"),
     ("gradient", "relu", "h = ops.relu(self.fc1(x)) * 1.0"), ("loop", "subtract", "n = n - 1")],
)  # fmt: skip
def test_hover_marks_the_line(page, view, box, line):
    node(view_of(page, view), box).scroll_into_view_if_needed()
    node(view_of(page, view), box).hover()
    page.wait_for_selector(".cm-line.msnb-marked-line", state="attached")
    assert [text.strip() for text in marked_lines(page)] == [line]
    page.mouse.move(5, 5)
    page.wait_for_selector(".cm-line.msnb-marked-line", state="detached")


def test_the_part_of_the_line_is_marked(page):
    node(view_of(page, "graph"), "relu").hover()
    assert page.locator(".msnb-marked-part").all_inner_texts() == ["ops.relu(self.fc1(x))"]
    page.mouse.move(5, 5)


def test_a_click_keeps_the_mark_and_brings_the_line_into_view(page):
    box = node(view_of(page, "loop"), "multiply")
    box.scroll_into_view_if_needed()
    box.click()
    line = page.locator(".cm-line.msnb-marked-line")
    line.wait_for()
    page.mouse.move(5, 5)
    assert line.inner_text().strip() == "x = x * 1.5"
    page.wait_for_function(
        "() => { const r = document.querySelector('.msnb-marked-line')?.getBoundingClientRect();"
        " return r && r.top > 0 && r.bottom < innerHeight; }"
    )
    view_of(page, "loop").locator(".msnb-canvas").press("Escape")


def test_the_cursor_marks_the_boxes_of_its_line(page):
    page.locator(".cm-line", has_text="y = self.fc2(h)").click()
    marked = views(page).nth(0).locator(".msnb-marked > .msnb-title")
    marked.first.wait_for(state="attached")
    assert sorted(marked.all_text_contents()) == ["add", "matmul", "transpose"]
    page.locator(".cm-line", has_text="return (y * y).sum()").click()
    page.wait_for_function(
        "() => [...document.querySelector('.msnb-view').querySelectorAll('.msnb-marked > .msnb-title')]"
        ".map(t => t.textContent).sort().join() === 'multiply,sum'"
    )


def test_a_line_in_a_table_is_a_link(page):
    view = view_of(page, "profile")
    view.locator("summary", has_text="lines").click()
    view.locator(".msnb-place", has_text="cell [2] line 9").hover()
    page.wait_for_selector(".cm-line.msnb-marked-line", state="attached")
    assert [text.strip() for text in marked_lines(page)] == ["y = self.fc2(h)"]
    view.locator("summary", has_text="lines").click()


# ---- groups, keys, numbers -------------------------------------------------------------------------------------------


def test_groups_close_and_open(page):
    view = view_of(page, "graph")
    before = view.locator(".msnb-node").count()
    view.locator('.msnb-frame-title:has-text("fc1")').click()
    closed = view.locator('.msnb-look-group[aria-expanded="false"]')
    expect_count(closed, 1)
    assert view.locator(".msnb-node").count() < before
    closed.click()
    assert view.locator(".msnb-node").count() == before


def test_a_picture_is_reached_by_keyboard(page):
    view = view_of(page, "graph")
    expect_count(view.locator('.msnb-canvas [tabindex="0"]'), 1)  # one tab stop
    view.locator(".msnb-bar button").last.focus()
    page.keyboard.press("Tab")
    seen, active = [], page.evaluate(ACTIVE)
    for key in ("ArrowDown", "ArrowDown", "ArrowDown", "Enter"):
        seen.append(page.evaluate("document.activeElement.getAttribute('aria-label')"))
        page.keyboard.press(key)
    assert len(set(seen)) == 4, f"arrows move from box to box: {seen}"
    assert all("cell [2] line" in label or "f32" in label or "group" in label for label in seen)
    assert page.evaluate(ACTIVE) == active, "the notebook's own arrows keep still"
    page.keyboard.press("Escape")
    view.locator("button", has_text="Reset").click()


def test_labels_say_what_a_box_is(page):
    view = view_of(page, "graph")
    assert node(view, "relu").get_attribute("aria-label") == "relu, f32[2,8], Net, cell [2] line 8"
    assert node(view, "relu").get_attribute("role") == "button"
    unlabelled = "all => all.filter(e => !(e.getAttribute('aria-label') || e.textContent.trim())).length"
    controls = page.locator(".msnb-view :is(button, input, select, [role=button])")
    expect_at_least(controls, 51)
    assert controls.evaluate_all(unlabelled) == 0


def test_numbers_are_painted_over_the_picture(page):
    view = view_of(page, "graph")
    assert view.locator(".msnb-hot").count() == 0
    view.locator("select.msnb-select").select_option("flops")
    expect_at_least(view.locator(".msnb-hot"), 4)
    assert "128 flops" in view.locator(".msnb-badge").all_text_contents()
    view.locator("select.msnb-select").select_option("")
    expect_at_least(view_of(page, "gradient").locator(".msnb-hot"), 4)  # norms are on from the start
    assert view_of(page, "profile").locator("select.msnb-select").input_value() == "time"
    assert re.search(r"\d (µs|ms)$", view_of(page, "profile").locator(".msnb-badge").first.text_content())


# ---- sliders ---------------------------------------------------------------------------------------------------------


def test_the_pass_slider_moves_through_stages_and_rewrites(page):
    view = view_of(page, "passes")
    slider = view.locator("input[type=range]")
    told = view.locator(".msnb-law")
    slider.focus()
    page.keyboard.press("Home")
    seen = [told.inner_text()]
    for _ in range(int(slider.get_attribute("max"))):
        page.keyboard.press("ArrowRight")
        seen.append(told.inner_text())
    assert len(set(seen)) == len(seen)
    assert seen[0].startswith("captured")
    rewrite = next(text for text in seen if "why" in text)
    assert "law times one" in rewrite
    assert "multiply(%relu, ~1.0)" in rewrite
    while "law times one" not in told.inner_text():
        page.keyboard.press("ArrowLeft")
    expect_count(view.locator(".msnb-graph"), 2)  # before and after
    expect_at_least(view.locator(".msnb-new"), 1)
    assert slider.get_attribute("aria-valuetext").startswith("algebra")


def test_steps_mark_box_and_line(page):
    view = view_of(page, "step")
    view.locator('.msnb-slider button[aria-label^="On to the next breakpoint"]').click()
    assert view.locator(".msnb-chosen > .msnb-title").all_text_contents() == ["relu"]
    assert "breakpoint relu" in view.locator(".msnb-steps").inner_text()
    page.wait_for_selector(".cm-line.msnb-marked-line", state="attached")
    assert [text.strip() for text in marked_lines(page)] == ["h = ops.relu(self.fc1(x)) * 1.0"]


# ---- side panel, status bar, commands --------------------------------------------------------------------------------


def test_the_panel_finds_paints_and_compares(page):
    view_of(page, "graph").locator(".msnb-name").first.click()
    command(page, "msnb:search")
    search = page.locator(".msnb-search")
    search.wait_for()
    search.fill("matmul fc2")
    found = page.locator(".msnb-section[aria-label=Search] .msnb-result")
    expect_count(found, 1)
    search.press("ArrowDown")
    page.keyboard.press("Enter")
    assert views(page).nth(0).locator(".msnb-chosen > .msnb-title").all_text_contents() == ["matmul"]
    assert [text.strip() for text in marked_lines(page)] == ["y = self.fc2(h)"]
    page.locator(".msnb-choice", has_text="memory").click()
    expect_at_least(views(page).nth(0).locator(".msnb-hot"), 4)
    page.locator(".msnb-choice", has_text="none").click()
    page.locator("select[aria-label='compare with']").select_option(label="10. msnb graph: loop")
    page.locator(".msnb-panel button", has_text="Compare").click()
    signs = page.locator(".msnb-differences .msnb-result > b:first-child").all_text_contents()
    assert {s.strip() for s in signs} == {"−", "+"}
    search.fill("")
    command(page, "application:toggle-right-area")


def test_the_status_bar_switches_the_mode(page):
    item = page.locator('.msnb-status[data-item="mode"]')
    assert item.inner_text() == "msnb: PyNative"
    for text in ("msnb: Graph", "msnb: PyNative"):
        item.click()
        page.wait_for_function("t => document.querySelector('.msnb-status').textContent === t", arg=text)
    assert re.search(r"Click for Graph mode", item.get_attribute("title"))
    numbers = page.locator(".jp-CodeCell .jp-InputPrompt").all_inner_texts()
    assert numbers == [f"[{i + 1}]:" for i in range(len(PLACES) + 2)], "asking is no cell"


def test_the_status_bar_says_which_device(page):
    item = page.locator('.msnb-status[data-item="device"]')
    assert item.inner_text() == "CPU"
    assert "CPU" in item.get_attribute("aria-label")


def test_commands_are_in_the_palette(page):
    command(page, "apputils:activate-command-palette")
    page.locator(".lm-CommandPalette-input").fill("msnb")
    labels = page.locator(".lm-CommandPalette-itemLabel").all_inner_texts()
    page.keyboard.press("Escape")
    assert "Switch between PyNative and Graph mode" in labels
    assert "Search in the picture" in labels
    assert len(labels) >= 10
