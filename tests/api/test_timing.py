"""ms.explain(timing=True): the parts of a compilation add up, name what happened, and cost nothing when nobody asks."""

from __future__ import annotations

import re
import threading
from pathlib import Path
from typing import Any

import pytest

import msnb as ms
from msnb import nn, ops
from msnb.api.compile_report import timing_rows
from msnb.base import compile_timing
from msnb.graph.capture.frontend import converter


@pytest.fixture(autouse=True)
def _empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that is read from disk has no passes to time."""
    monkeypatch.setenv("MSNB_CACHE_DIR", str(tmp_path))


def compiled() -> Any:
    converter._templates.clear()  # as in a fresh process: conversions are kept per function
    net = nn.SequentialCell(nn.Dense(3, 4), nn.ReLU(), nn.Dense(4, 1))
    step = nn.TrainOneStepCell(nn.WithLossCell(net, nn.MSELoss()), nn.SGD(net.trainable_params(), 0.1))
    run = ms.jit(lambda x, y: step(x, y) * 2)
    run(ops.ones((2, 3)), ops.ones((2, 1)))
    return run


def test_the_parts_are_named_and_add_up() -> None:
    version = compiled().versions[0]
    rows = timing_rows(version)
    names = [row.name for row in rows]
    for name in ("capture", "conversion of the source", "gradients", "guards", "tracing", "passes", "cse", "code"):
        assert name in names, names
    total = rows[-1]
    assert total.name == "total" and total.seconds == pytest.approx(sum(version.seconds))
    assert sum(row.seconds for row in rows[:-1] if row.depth == 0) == pytest.approx(total.seconds, rel=1e-6)
    at = names.index("passes")
    inside = [row.seconds for row in rows[1:at]]
    assert sum(inside) == pytest.approx(rows[0].seconds, rel=1e-6)
    assert all(row.seconds >= 0 for row in rows)


def test_the_table_is_text_per_version() -> None:
    run = compiled()
    run(ops.ones((5, 3)), ops.ones((5, 1)))
    text = ms.explain(run, timing=True)
    assert text.count("total") == 2 and "version 2: recompiled" in text
    assert re.search(r"conversion of the source +\d+\.\d +\d+% +\d+ functions?", text)
    assert re.search(r"guards +\d+\.\d +\d+% +\d+ guards", text) and re.search(r"total +\d+\.\d +100%", text)
    assert "guard:" in ms.explain(run) and "share" not in ms.explain(run)
    assert "not been compiled yet" in ms.explain(ms.jit(lambda x: x), timing=True)


def test_a_cell_in_graph_mode_has_one_too() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    net = nn.Dense(2, 2)
    net(ops.ones((1, 2)))
    assert "Dense, version 1: first call" in ms.explain(net, timing=True)


def test_a_program_that_is_bound_to_sizes_says_so() -> None:
    pytest.importorskip("llvmlite")
    f = ms.jit(lambda x: (x * 2 + x).sum(0))
    with ms.set_context(mode=ms.GRAPH_MODE, jit_level="O1"):
        for n in (8, 9, 10, 11, 12):
            f(ops.ones((n, 7)))
    version = f.versions[0]
    assert version.compiled.bound
    rows = {row.name: row for row in timing_rows(version)}
    assert rows["program bound to sizes"].note == "no gradients, no passes, no code" and "cse" not in rows
    assert rows["total"].seconds == pytest.approx(sum(version.seconds))


def test_spans_count_once_and_belong_to_their_thread() -> None:
    @compile_timing.timed("inner")
    def inner(n: int) -> int:
        compile_timing.counted("things")
        return inner(n - 1) if n else 0

    inner(3)  # nobody collects: nothing to note
    with compile_timing.collected() as times:
        inner(3)
        with compile_timing.collected() as nested:
            inner(0)
        other = threading.Thread(target=inner, args=(0,))
        other.start()
        other.join()
    assert set(times) == {"inner"} and times.counts == {"inner": 1, "things": 4} and nested.counts["inner"] == 1

    @compile_timing.timed("failing")
    def failing() -> None:
        raise KeyError("x")

    with compile_timing.collected() as times, pytest.raises(KeyError):
        failing()
    assert "failing" in times and not times.open
