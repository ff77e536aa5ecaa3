"""``view.widget()``: the slider moves through frames, and the saved output keeps the static view."""

from __future__ import annotations

import re

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.notebook.views.view import MIME

pytest.importorskip("ipywidgets", reason="the notebook extra is not installed")

WIDGET = "application/vnd.jupyter.widget-view+json"
X = ms.Tensor(np.array([0.5, 1.0, 2.0], np.float32))


def chain(x):
    return (ops.exp(x * 1.0) + 0 + ops.log(x)).sum()


def test_the_slider_moves_through_stages_and_rewrites():
    view = ms.show.passes(chain, X)
    widget = view.widget()
    names = [name for name, _ in view.frames]
    assert widget.caption == f"1 of {len(names)}: captured"
    assert widget.slider.max == len(names) - 1 == len(view.stages) + len(view.compiled.history) - 1
    at = names.index("algebra, rewrite 1")
    widget.slider.value = at
    rewrite = view.compiled.history[0]
    assert widget.caption == f"{at + 1} of {len(names)}: algebra, rewrite 1"
    assert rewrite.law in widget.page
    assert rewrite.reason in widget.page
    assert widget.page.count("<img") == 2, "before and after"
    widget.next()
    assert widget.slider.value == at + 1
    widget.back()
    assert widget.slider.value == at


def test_a_step_shows_the_node_and_its_values():
    view = ms.show.step(chain, X)
    widget = view.widget()
    widget.slider.value = 1
    assert widget.caption.endswith(f": {view.rows[1][0]} {view.rows[1][1]}")
    assert view.rows[1][3] in widget.page
    assert widget.page.count("<img") == 1


def test_the_ends_hold():
    widget = ms.show.step(chain, X).widget()
    widget.back()
    assert widget.slider.value == 0
    for _ in range(50):
        widget.next()
    assert widget.slider.value == widget.slider.max


@pytest.mark.parametrize("name", ["ir", "diff", "mem", "profile", "passes", "step"])
def test_every_view_has_one_that_leaves_the_static_bundle(name):
    view = getattr(ms.show, name)(chain, X)
    bundle = view.widget()._repr_mimebundle_()
    static = view._repr_mimebundle_()
    assert {key: bundle[key] for key in static} == static
    assert list(bundle) == [MIME, "text/html", "image/svg+xml", "text/plain", WIDGET]
    assert bundle[WIDGET]["model_id"]


def test_hostile_names_stay_words():
    def fn(x):
        return ops.exp(x)

    fn.__name__ = fn.__qualname__ = "<img src=x onerror=alert(1)>"
    for view in (ms.show.ir(fn, X), ms.show.passes(fn, X), ms.show.step(fn, X)):
        widget = view.widget()
        for i in range(widget.slider.max + 1):
            widget.slider.value = i
            assert not re.search(r"<img src=x|<script", widget.page)
