"""A training in a notebook, without being asked: one output that is drawn again and stays, as table, curve and text."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from msnb.notebook.training.progress_view import bar_svg, bundle_of, curve_svg, show
from msnb.train.callbacks.progress import EpochRow, LossCurve, TrainingProgress
from tests.kernels import executed

START = """
import os
import numpy as np, msnb as ms
from msnb import nn
rng = np.random.default_rng(0)
rows = [(rng.standard_normal((4, 3)).astype(np.float32), rng.integers(0, 2, 4).astype(np.int32)) for _ in range(6)]
def model():
    ms.set_seed(1)
    net = nn.Dense(3, 2)
    return ms.Model(net, nn.CrossEntropyLoss(), nn.SGD(net.trainable_params(), 0.1), metrics={"accuracy"})
class Stop(ms.train.Callback):
    def on_train_step_begin(self, run):
        if run.original_args().cur_step_num == 9:
            raise KeyboardInterrupt
"""


def progress(losses, epochs=3, ended=None):
    found = TrainingProgress("LeNet<5>", 0, epochs, 10, epoch=1, step=5, ended=ended)
    for loss in losses:
        found.curve.add(loss)
    return found


def test_a_kernel_shows_one_table_that_stays():
    cells = executed(
        START,
        "model().fit(2, rows, rows[:2])",
        "os.environ['MSNB_NBVAL'] = '1'; model().fit(2, rows, rows[:2])",
        "model().fit(2, rows, verbose=0)",
        "model().fit(2, rows, verbose=2)",
        "curves = ms.show.curves(); model().fit(2, rows, callbacks=curves)",
        "model().fit(2, rows, callbacks=Stop())",
        allow_errors=True,
    )
    live, compared, silent, lines, curves, stopped = (cell.outputs for cell in cells[1:])
    assert [o.output_type for o in live] == [o.output_type for o in compared] == ["display_data"]
    assert live[0].data["text/plain"] == compared[0].data["text/plain"]
    head, names, *table = live[0].data["text/plain"].splitlines()
    assert head == "training of Dense: 2 of 2 epochs"
    assert names.split() == ["epoch", "loss", "accuracy", "rate"] and len(table) == 2
    page = live[0].data["text/html"]
    assert page.count("<img") == 1 and "samples/s</td>" in page and "script" not in page
    assert re.search(r"<th>speed</th><th>time</th>", page) and 'alt="loss ' in page
    assert silent == []
    assert {o.output_type for o in lines} == {"stream"} and len("".join(o.text for o in lines).splitlines()) == 2
    assert [o.output_type for o in curves] == ["display_data"] and "training of" not in curves[0].data["text/plain"]
    kinds = [o.output_type for o in stopped]
    assert kinds.count("display_data") == 2 and kinds[-1] == "error" and "stream" not in kinds
    shown = [o.data["text/plain"] for o in stopped if o.output_type == "display_data"]
    assert any("interrupted in epoch 2, after step 2 of 6" in text for text in shown)
    assert any("go on with initial_epoch=1." in text for text in shown)


def test_while_it_runs():
    page = bundle_of(progress([2.0, 1.0]))["text/html"]
    assert "LeNet&lt;5&gt;: epoch 1 of 3, step 5 of 10" in page and " left</div>" in page
    assert 'alt="17% done"' in page and 'alt="loss 2 -&gt; 1 over 2 steps"' in page
    ET.fromstring(bar_svg(0.0))


@pytest.mark.parametrize("losses", [[], [1.0], [1.0, 1.0], [float("nan")], [2.0, float("inf"), 1e-30], [1e30, -1e30]])
def test_curves_of_odd_losses(losses):
    drawn = progress(losses or [0.0], ended="")
    if not losses:
        drawn.curve = LossCurve()
    ET.fromstring(curve_svg(drawn)) if losses else None
    assert set(bundle_of(drawn)) == {"text/html", "text/plain"}


def test_long_trainings_keep_their_first_and_last_rows():
    found = progress([1.0, 0.5], epochs=500, ended="ended by ShapeError in epoch 401, after step 0 of 10")
    found.rows = [EpochRow(k, 1.0 / k, {"accuracy": 0.5} if k % 2 else {}, 0.1, 40, 0.5) for k in range(1, 401)]
    bundle = bundle_of(found)
    lines = bundle["text/plain"].splitlines()
    assert lines[0].endswith("400 of 500 epochs, ended by ShapeError in epoch 401, after step 0 of 10")
    assert lines[-1] == "(340 epochs between are not shown)" and len(lines) == 63
    assert bundle["text/html"].count("<tr>") == 62 and "80 samples/s" in bundle["text/html"]


def test_nothing_is_shown_before_there_is_something(monkeypatch):
    monkeypatch.setattr("msnb.notebook.training.progress_view.display_bundle", lambda *_, **__: pytest.fail("shown"))
    show(progress([]), "begin")
    monkeypatch.setenv("MSNB_NBVAL", "1")
    show(progress([1.0]), "step")
