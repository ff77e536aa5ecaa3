"""Pipelines: schedules, bubbles, what is in flight."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, note, settings, strategies as st

from msnb.parallel.sharding.pipeline_schedule import ScheduleStage, order, simulated


@pytest.mark.parametrize("scheduler", ["gpipe", "1f1b"])
@pytest.mark.parametrize("stages, micro", [(1, 1), (2, 2), (4, 4), (4, 16), (8, 11)])
def test_equal_stages_have_the_bubble_of_the_papers(scheduler, stages, micro):
    found = simulated([ScheduleStage(1.0, 2.0)] * stages, scheduler, micro=micro)
    assert found.bubble == pytest.approx((stages - 1) / (micro + stages - 1))
    assert found.seconds == pytest.approx(3.0 * (micro + stages - 1))
    assert found.flight == (tuple(min(stages - s, micro) for s in range(stages)) if scheduler == "1f1b"
                            else (micro,) * stages)  # fmt: skip


@pytest.mark.parametrize("stages, micro, v", [(2, 4, 2), (4, 8, 2), (4, 8, 3), (4, 16, 4)])
def test_interleaved_pipelines_divide_the_bubble(stages, micro, v):
    found = simulated([ScheduleStage(1.0, 2.0)] * (stages * v), "interleaved", stages, micro)
    assert found.bubble == pytest.approx((stages - 1) / (v * micro + stages - 1))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 8), st.sampled_from(["gpipe", "1f1b"]))
def test_every_task_once_and_after_what_it_reads(seed, stages, more, scheduler):
    note(f"seed {seed}")
    rng, micro = np.random.default_rng(seed), stages + more
    pieces = [ScheduleStage(*rng.random(4)) for _ in range(stages)]
    found = simulated(pieces, scheduler, micro=micro)
    when = {(k, p, i): (a, b) for row in found.events for a, b, k, p, i in row if k != "tail"}
    assert len(when) == 2 * stages * micro
    for (kind, p, i), (a, _) in when.items():
        assert a >= when["F", p, i][1] or kind == "F"
        if kind == "F" and p:
            assert a >= when["F", p - 1, i][1] + pieces[p].send - 1e-12
        if kind == "B" and p < stages - 1:
            assert a >= when["B", p + 1, i][1] + pieces[p + 1].send - 1e-12
    for row in found.events:
        assert all(b <= c + 1e-12 for (_, b, *_), (c, *_) in itertools.pairwise(row))
    assert found.seconds >= max(sum(b - a for a, b, *_ in row) for row in found.events) - 1e-12


def test_orders_as_the_papers_draw_them():
    assert "".join(k for k, _, _ in order("1f1b", 0, 4, 8, 4)) == "FFF" + "FB" * 5 + "BBB"
    assert "".join(k for k, _, _ in order("1f1b", 3, 4, 8, 4)) == "FB" * 8
    assert "".join(k for k, _, _ in order("gpipe", 2, 4, 3, 4)) == "FFFBBB"


@pytest.mark.parametrize("how, piece", [
    ({"scheduler": "2f2b"}, "'gpipe', '1f1b', 'interleaved'"),
    ({"micro": 3}, "legal: at least 4"),
    ({"scheduler": "interleaved"}, "at least two pieces"),
])  # fmt: skip
def test_schedules_that_cannot_be(how, piece):
    with pytest.raises(ValueError) as told:
        simulated([ScheduleStage(1.0, 1.0)] * 4, **{"micro": 8, **how})
    assert piece in str(told.value)
