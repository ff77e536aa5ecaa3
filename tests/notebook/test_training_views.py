"""Views of trainings and of networks: gradient flow, curves, summaries."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from small_training import Small, seen, trained

import msnb as ms
from msnb import nn
from msnb.base.errors import ArgumentError, ShapeError
from msnb.notebook.training.gradient_flow import FlowView
from tests.kernels import executed

X = ms.Tensor(np.arange(12, dtype=np.float32).reshape(4, 3) / 10)


# ---- flow ------------------------------------------------------------------------------------------------------------


def test_flow_changes_nothing_in_the_training(mode):
    plain, _ = trained()
    watched, (flow,) = trained(FlowView)
    for a, b in zip(plain.trainable_params(), watched.trainable_params()):
        assert (a.asnumpy() == b.asnumpy()).all()
    assert flow.steps == [1, 11]
    assert list(flow.sizes) == ["a", "b"]


def test_flow_measures_and_judges():
    flow = ms.show.flow(Small())
    flow.record([np.full((5, 3), 2.0), np.zeros(5), np.full((2, 5), 1e-7), np.zeros(2)])
    flow.record([np.full((5, 3), 2.0), np.zeros(5), np.full((2, 5), np.nan), np.zeros(2)], step=7)
    assert flow.steps == [1, 7]
    assert flow.sizes["a"] == [2.0, 2.0]
    assert [flow.verdict("a"), flow.verdict("b")] == ["", "exploding"]
    ET.fromstring(flow.svg)
    assert json.dumps(flow.json, allow_nan=False)
    starved = ms.show.flow(nn.SequentialCell(nn.Dense(1, 1), nn.Dense(1, 1), nn.Dense(1, 1)))
    starved.record([np.full(1, v) for v in (1e-9, 1e-9, 1.0, 1.0, 2.0, 2.0)])
    assert [starved.verdict(layer) for layer in "012"] == ["vanishing", "", ""]
    with pytest.raises(ArgumentError, match="follows 4 parameters, got 1"):
        flow.record([np.zeros(1)])
    with pytest.raises(ArgumentError, match="at least 1"):
        ms.show.flow(Small(), every=0)
    with pytest.raises(ArgumentError, match="not of a int"):
        ms.show.flow(3)


# ---- curves ----------------------------------------------------------------------------------------------------------


def test_curves_of_a_model():
    view = seen()
    assert view.title == "Small"
    assert view.series["loss"][0] == list(range(1, 13))
    assert view.series["accuracy"][0] == view.epochs == [6, 12]
    assert len(view.rows) == 2
    assert "samples" not in view.text + json.dumps(view.json)
    assert [p.title for p in view.panels()] == ["loss", "evaluated"]


def test_steps_in_a_sink_are_seen_one_by_one():
    view, plain = ms.show.curves(), seen()
    _, (_, flow) = trained(view, FlowView, dataset_sink_mode=True)
    assert view.series["loss"][0] == plain.series["loss"][0] == list(range(1, 13))
    assert np.allclose(view.series["loss"][1], plain.series["loss"][1], rtol=1e-5)
    assert flow.steps == [6]
    before = len(view.series["loss"][0])
    trained()
    assert len(view.series["loss"][0]) == before, "it listens only while its own training runs"


def test_a_second_training_starts_anew():
    view = ms.show.curves("mine")
    trained(view)
    trained(view, epochs=1)
    assert view.epochs == [6]
    assert view.title == "mine"


def test_curves_of_a_loop_with_gaps():
    view = ms.show.curves(log=True)
    for k in range(5):
        view.record(loss=ms.Tensor(float("nan")) if k == 2 else 2.0**-k, learning_rate=0.1 / (k + 1))
    ET.fromstring(view.done().svg)
    assert json.dumps(view.json, allow_nan=False)
    assert [p.title for p in view.panels()] == ["loss", "learning rate"]
    assert view.rows[0] == ("1", "1", "0.1")


def test_the_event_step_feeds_curves():
    with ms.show.watching(ms.show.curves("heard")) as view:
        trained()
    assert len(view.series["loss"][0]) == 12


def test_nothing_is_redrawn_where_outputs_are_compared(monkeypatch):
    monkeypatch.setenv("MSNB_NBVAL", "1")
    assert not ms.show.curves().live
    monkeypatch.delenv("MSNB_NBVAL")
    assert ms.show.curves().live


def test_a_training_that_fails_leaves_its_picture(monkeypatch):
    shown = []
    monkeypatch.setattr("msnb.notebook.training.curves.shell", lambda: object())
    monkeypatch.setattr("msnb.notebook.training.curves.display_bundle", lambda bundle, **_: shown.append(bundle))

    class Fails(ms.train.Callback):
        def on_train_step_end(self, run_context):
            if run_context.original_args().cur_step_num == 4:
                raise KeyError("enough")

    view = ms.show.curves(live=False)
    with pytest.raises(KeyError):
        trained(view, Fails())
    assert len(shown) == 1
    assert view.series["loss"][0] == [1, 2, 3, 4]


def test_info_tells_of_devices_and_caches():
    found = ms.show.info().data
    assert found["software"]["msnb"] == ms.__version__
    assert "CPU" in found["session"]["devices"]
    assert re.fullmatch(r"\d+ files?, [\d.]+ [KMG]?B", found["caches"]["machine code on disk"])
    ET.fromstring(ms.show.info().svg)


def test_what_stays_is_one_output(monkeypatch):
    shown = []

    class Handle:
        def update(self, bundle, raw):
            shown[-1] = bundle

    def display(bundle, raw, **options):
        shown.append(bundle)
        return Handle() if options else None

    import IPython.display

    monkeypatch.setattr(IPython.display, "display", display)
    monkeypatch.setattr("msnb.notebook.training.curves.shell", lambda: object())
    monkeypatch.setattr("msnb.notebook.training.curves.REDRAW", 0.0)
    live, still = ms.show.curves(), ms.show.curves(live=False)
    trained(live)
    assert len(shown) == 1
    trained(still)
    assert len(shown) == 2
    assert shown[0] == shown[1]


@pytest.mark.slow
def test_live_curves_leave_what_still_ones_leave(monkeypatch):
    start = "import numpy as np, msnb as ms\nfrom msnb import nn\nms.set_seed(1)\n"
    start += "import msnb.notebook.training.curves as t\nt.REDRAW = 0.0"
    data = "rows = [(np.ones((4, 3), np.float32), np.ones((4, 1), np.float32))] * 20\nnet = nn.Dense(3, 1)"
    train = (
        "ms.Model(net, nn.MSELoss(), nn.SGD(net.trainable_params(), 0.01)).train(2, rows, callbacks=[ms.show.curves()])"
    )
    outputs = []
    for value in ("0", "1"):
        monkeypatch.setenv("MSNB_NBVAL", value)
        outputs.append([(o.output_type, dict(o.data)) for o in executed(start, data, train)[-1].outputs])
    live, still = outputs
    assert len(live) == len(still) == 1
    assert live == still


# ---- summaries -------------------------------------------------------------------------------------------------------


def test_a_summary_counts_by_layer():
    net = Small()
    found = net.summary((8, 3))
    by_name = {row[0]: row for row in found.rows}
    assert by_name["a"][1:4] == ("Dense", "f32[8,5]", "20")
    assert by_name["b"][2:4] == ("f32[8,2]", "12")
    assert by_name["all"][2:4] == ("f32[8,2]", "32")
    flops = {layer.name: layer.flops for layer in found.layers}
    assert flops["a"] == 2 * 8 * 3 * 5 + 8 * 5
    assert flops[""] > flops["a"] + flops["b"]
    assert found.trainable == 32
    assert repr(found).startswith("Small: 32 trained parameters, 128 B")
    assert ms.Model(net).summary((8, 3)).rows == found.rows


def test_a_summary_runs_nothing():
    net = nn.SequentialCell(nn.Dense(3, 4), nn.BatchNorm1d(4))
    net.set_train()
    before = [p.asnumpy().copy() for p in net.get_parameters()]
    net.summary((16, 3))
    assert all((a == p.asnumpy()).all() for a, p in zip(before, net.get_parameters()))
    assert "not" in net.summary((16, 3)).totals


def test_wrong_inputs_of_a_summary():
    with pytest.raises(ArgumentError, match="takes shapes or Tensors"):
        Small().summary("big")
    with pytest.raises(ShapeError):
        Small().summary((8, 4))


def test_hostile_layer_names_are_escaped():
    hostile = type("<script>", (Small,), {})
    assert "<script>" not in hostile().summary((2, 3))._repr_html_()
