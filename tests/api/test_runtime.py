"""``ms.runtime``, the stream of draws by PyTorch's names, and small questions about the device."""

from __future__ import annotations

import re

import numpy as np
import pytest

import msnb as ms
from msnb import runtime


def test_draws_go_on_from_a_state(mode):
    ms.manual_seed(13)
    assert ms.initial_seed() == 13 == ms.default_generator.initial_seed() and ms.get_seed() == 13
    first = ms.jit(lambda: ms.ops.rand(3))() if mode == ms.GRAPH_MODE else ms.ops.rand(3)
    state = ms.get_rng_state()
    second = ms.ops.rand(3).tolist()
    ms.set_rng_state(state)
    assert ms.ops.rand(3).tolist() == second
    ms.set_seed(13)
    assert ms.ops.rand(3).tolist() == first.tolist()
    assert ms.mint.rand(3, generator=ms.default_generator).tolist() == second, "it is the stream of all draws"


def test_a_new_seed_is_another_one():
    made = ms.seed()
    assert made == ms.initial_seed() and made != ms.seed()
    ms.set_seed(0)
    with pytest.raises(ValueError, match="set_seed needs"):
        ms.manual_seed(-1)


def test_streams_and_events_are_places_in_the_order_of_the_program():
    s, other = runtime.Stream(), runtime.Stream(priority=1)
    begin, end = runtime.Event(enable_timing=True), runtime.Event(enable_timing=True)
    begin.record()
    with runtime.StreamCtx(s):
        assert runtime.current_stream() is s
        x = ms.ops.ones((8, 8)) @ ms.ops.ones((8, 8))
        with runtime.StreamCtx(None):
            assert runtime.current_stream() is s
    assert runtime.current_stream() is runtime.default_stream()
    event = s.record_event()
    other.wait_event(event)
    other.wait_stream(s)
    event.wait(other)
    end.record(other)
    event.synchronize()
    assert s.query() and event.query() and begin.elapsed_time(end) > 0 and float(x[0, 0]) == 8
    assert other.stream_id() == other.id != s.id and re.match(r"Stream\(device_name=\w+, device_id:0", repr(s))
    runtime.set_cur_stream(s)
    assert ms.current_stream() is s
    runtime.set_cur_stream(runtime.default_stream())
    assert runtime.communication_stream() is runtime.communication_stream()


def test_memory_of_the_host_belongs_to_the_system():
    runtime.reset_peak_memory_stats()
    x = ms.ops.ones((64, 64)) + 1
    assert runtime.memory_allocated() == runtime.max_memory_allocated() == runtime.memory_reserved() == 0
    assert runtime.memory_stats()["max_reserved_memory"] == 0 and float(x.sum()) == 2 * 64 * 64
    rows = runtime.memory_summary().splitlines()
    assert len({len(row) for row in rows}) == 1 and any("Max allocated memory" in row for row in rows)
    runtime.empty_cache()


def test_a_buffer_is_shared():
    data = bytearray(np.arange(6, dtype=np.float32).tobytes())
    x = ms.frombuffer(data, ms.float32, count=2, offset=4)
    assert x.tolist() == [1, 2] and x.dtype == ms.float32
    data[4:8] = np.float32(9).tobytes()
    assert x.tolist() == [9, 2]
    assert ms.frombuffer(b"ab", ms.uint8).tolist() == [97, 98]


def test_settings_by_their_own_functions(capsys):
    assert ms.get_current_device() == (ms.get_context("device_target"), 0)
    try:
        ms.set_deterministic(False)
        ms.set_recursion_limit(50)
        assert ms.get_context("deterministic") == "OFF" and ms.get_context("max_call_depth") == 50
    finally:
        ms.set_deterministic(True)
        ms.set_recursion_limit()
    ms.run_check()
    assert "right on CPU, in eager mode and compiled" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: runtime.Stream(priority="high"), TypeError, "priority is an int"),
        (lambda: runtime.StreamCtx("s"), TypeError, "expected Stream"),
        (lambda: runtime.Event(enable_timing=1), TypeError, "enable_timing is True or False"),
        (lambda: runtime.Event().elapsed_time(runtime.Event()), RuntimeError, "enable_timing=True"),
        (lambda: runtime.Stream().wait_event(3), TypeError, "expected Event"),
        (lambda: ms.frombuffer(b"abc", ms.int16), ValueError, "no whole number of 2"),
        (lambda: ms.frombuffer(b"abc", ms.uint8, offset=3), ValueError, "outside of 3 bytes"),
        (lambda: ms.frombuffer(b"abc", ms.uint8, count=4), ValueError, "hold 3 elements"),
        (lambda: ms.set_deterministic("yes"), TypeError, "True or False"),
        (lambda: ms.set_rng_state(ms.Tensor([1.0])), (TypeError, ValueError), "."),
    ],
)
def test_mistakes(call, error, said):
    with pytest.raises(error, match=said):
        call()
