"""Predictions against published step times, with the bounds that were set before: see docs/validation.md."""

from __future__ import annotations

import json
import statistics
from pathlib import Path

import pytest
import validation
from validation import CHECK, FIT, ROWS, planned
from zoo_vision import GoogLeNet, MobileNetV2, ResNet

import msnb as ms

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def errors():
    return {(row.number, row.devices): (row.role, planned(row).step_time * 1e3 / row.published - 1) for row in ROWS}


def test_rows_that_were_fitted(errors):
    assert all(abs(e) < 0.02 for role, e in errors.values() if role in (FIT, validation.ROW))


def test_rows_that_were_not(errors):
    found = [abs(e) for role, e in errors.values() if role == CHECK]
    assert len(found) == 9
    assert statistics.median(found) <= 0.10
    assert max(found) <= 0.20


def test_efficiency_of_scaling():
    one, *more = (planned(row).step_time for row in ROWS if row.what == "ResNet-50 b32")
    published = (17.91 / 18.70, 17.91 / 18.90)
    assert all(abs(one / t - p) < 0.05 for t, p in zip(more, published))


def test_two_buckets_leave_a_shorter_tail_than_one():
    row = next(r for r in ROWS if r.number == "3")
    two = planned(row)
    one = planned(row, cuts=())
    assert 0 < two.timeline.tail < one.timeline.tail
    assert one.timeline.tail == pytest.approx(6.15e-3, rel=0.5)


def test_older_software_is_slower_on_language_alone():
    bert = next(r for r in ROWS if r.number == "11")
    resnet = next(r for r in ROWS if r.number == "1")
    slower = {r.number: planned(r, software_profile="0.2").step_time / planned(r).step_time for r in (bert, resnet)}
    assert slower["11"] > 1.1
    assert slower["11"] > slower["1"]


def test_hundreds_of_devices_within_seconds():
    row = next(r for r in ROWS if r.number == "1")
    net = validation.network(row.make)
    plan = ms.parallel.plan(net, *validation.images(32 * 1024), device_num=1024, parallel_mode="data_parallel")
    assert 17e-3 < plan.step_time < 60e-3


def predicted(make, batch=64):
    with ms.nn.no_init_parameters():
        net = make()
    net.set_train()
    return ms.parallel.plan(net, *validation.images(8 * batch), device_num=8, parallel_mode="data_parallel")


def test_other_networks_by_the_same_call():
    plain, excited = predicted(ResNet), predicted(lambda: ResNet(excite=True))
    assert 1.05 < excited.step_time / plain.step_time < 1.6, "squeeze and excite adds passes, hardly flops"
    assert predicted(GoogLeNet).step_time < plain.step_time < predicted(validation.VGG16).step_time
    mobile = predicted(MobileNetV2)
    flops = 3 * 2 * 0.3e9 * 64
    assert flops / mobile.step_time < 0.1 * 256e12, "depthwise convolutions leave the cube idle"
    assert mobile.step_time > plain.step_time / 8


def test_a_step_is_traced(tmp_path):
    plan = planned(next(r for r in ROWS if r.number == "3"))
    plan.timeline.trace(tmp_path / "step.json")
    events = json.loads((tmp_path / "step.json").read_text())["traceEvents"]
    assert {e["cat"] for e in events if e["ph"] == "X"} == {"compute", "network"}


def test_the_table_in_the_docs_is_this_one():
    text = (Path(__file__).resolve().parents[2] / "docs" / "validation.md").read_text(encoding="utf-8")
    assert validation.table() in text
