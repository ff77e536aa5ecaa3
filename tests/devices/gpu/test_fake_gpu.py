"""The fake CuPy as a compiled device sees it: kernels, streams, captures and graphs, memory, counters."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import simt_kernels as text

from tests import fake_cupy as xp

cuda = xp.cuda


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    xp.reset()
    yield
    xp.reset()


@pytest.fixture(scope="module")
def add() -> Any:
    pytest.importorskip("llvmlite")
    return xp.load_kernels(text.RIGHT).get_function("add")


def up(*values: float) -> Any:
    return xp.asarray(np.float32(values))


def captured(stream: Any, work: Any, pool: Any = None) -> Any:
    """A graph and what ``work`` gave; temporaries lie in the pool, which is to live as long as the graph."""
    with stream, cuda.using_allocator(pool and pool.malloc):
        stream.begin_capture()
        try:
            out = work()
        finally:
            graph = stream.end_capture()
    return graph, out


# ---- kernels ---------------------------------------------------------------------------------------------------------


def test_a_kernel_takes_arrays_addresses_and_numbers(add: Any) -> None:
    a, b, out = up(1, 2, 3), up(10, 20, 30), xp.empty(3, np.float32)
    assert np.isnan(out.get()).all()  # nobody has written it
    add((1,), (32,), (a, b.data.ptr, out.data, np.int64(3)))
    assert out.get().tolist() == [11, 22, 33]
    assert xp.counters.launches == xp.counters.kernels_run == 1
    assert add.module.statistics["add"].stored == 12


def test_a_launch_is_checked_against_the_memory_that_lives(add: Any) -> None:
    from msnb.devices.gpu.simt import KernelFault

    a, b, out = up(1, 2, 3), up(1, 2, 3), xp.empty(3, np.float32)
    with pytest.raises(KernelFault, match=r"thread \(3, 0, 0\) loads 4 bytes .* out of bounds"):
        add((1,), (32,), (a, b, out, 4))
    address = xp.empty(1000, np.float32).data.ptr
    gc.collect()
    with pytest.raises(KernelFault, match="out of bounds"):
        add((1,), (32,), (a, b, address, 3))


def test_what_is_no_kernel_and_no_argument(add: Any) -> None:
    with pytest.raises(RuntimeError, match="named symbol not found: none"):
        add.module.get_function("none")
    with pytest.raises(TypeError, match="Unsupported type"):
        add((1,), (32,), (np.zeros(3, np.float32), 0, 0, 3))
    with pytest.raises(RuntimeError, match="max_dynamic_shared_size_bytes"):
        add((1,), (32,), (0, 0, 0, 0), shared_mem=50_000)


# ---- captures --------------------------------------------------------------------------------------------------------


def test_a_capture_records_kernels_and_runs_none(add: Any) -> None:
    stream = cuda.Stream(non_blocking=True)
    a, b, out = up(1, 2, 3), up(10, 20, 30), xp.empty(3, np.float32)
    graph, _ = captured(stream, lambda: add((1,), (32,), (a, b, out, 3)))
    assert np.isnan(out.get()).all() and xp.counters.kernels_run == 0
    graph.upload(stream)
    graph.launch(stream)
    assert out.get().tolist() == [11, 22, 33]
    a.set(np.float32([0, 0, 1]))  # the graph reads what lies there when it runs
    graph.launch(stream)
    assert out.get().tolist() == [10, 20, 31]
    found = xp.counters
    assert (found.captures, found.launches, found.kernels_run, found.graph_launches) == (1, 1, 2, 2)


def test_functions_are_recorded_into_the_same_memory() -> None:
    stream, a, pool = cuda.Stream(), up(1, 2, 3), cuda.MemoryPool()

    def work() -> Any:
        b = xp.exp(a) * 2
        return b, b.reshape(3, 1), xp.split(b, 3)[1], b.sum()

    graph, (b, row, part, total) = captured(stream, work, pool)
    assert np.isnan(b.get()).all() and np.isnan(total.get())
    for values in ([1, 2, 3], [4, 5, 6]):
        a.set(np.float32(values))
        graph.launch(stream)
        want = np.exp(np.float32(values)) * 2
        np.testing.assert_array_equal(b.get(), want)
        np.testing.assert_array_equal(row.get(), want[:, None])
        np.testing.assert_array_equal(part.get(), want[1:2])
        assert total.get() == want.sum()


def test_writes_of_a_capture_are_done_by_the_graph_alone() -> None:
    stream, a, b = cuda.Stream(), up(1, 2, 3), up(0, 0, 0)

    def work() -> None:
        count = a
        count += 1
        b[1:] = a[:2]
        xp.multiply(b, 2, out=b)

    graph, _ = captured(stream, work)
    assert a.get().tolist() == [1, 2, 3] and b.get().tolist() == [0, 0, 0]
    graph.launch()
    assert a.get().tolist() == [2, 3, 4] and b.get().tolist() == [0, 4, 6]
    graph.launch()
    assert a.get().tolist() == [3, 4, 5] and b.get().tolist() == [0, 6, 8]


@pytest.mark.parametrize(
    "wait",
    [
        lambda s, a: s.synchronize(),
        lambda s, a: cuda.Device().synchronize(),
        lambda s, a: cuda.runtime.deviceSynchronize(),
        lambda s, a: a.get(),
        lambda s, a: xp.asnumpy(a),
        lambda s, a: xp.asarray(np.ones(2)),
        lambda s, a: xp.nonzero(a),
        lambda s, a: a[a > 0],
        lambda s, a: s.record().synchronize(),
        lambda s, a: captured(cuda.Stream(), lambda: None)[0].launch(s),
    ],
)
def test_whatever_waits_is_refused_in_a_capture(wait: Any) -> None:
    stream, a = cuda.Stream(), up(1, 2)
    with pytest.raises(RuntimeError, match="cudaErrorStreamCaptureUnsupported: .* while the stream is capturing"):
        captured(stream, lambda: wait(stream, a))
    assert not stream.is_capturing()


def test_the_default_stream_is_out_of_bounds_while_another_captures() -> None:
    stream, free, a = cuda.Stream(), cuda.Stream(non_blocking=True), up(1, 2)
    with pytest.raises(RuntimeError, match="cannot capture on the default"):
        cuda.get_current_stream().begin_capture()
    stream.begin_capture()
    with pytest.raises(RuntimeError, match="cudaErrorStreamCaptureImplicit"):
        a + 1
    stream.end_capture()
    free.begin_capture()
    assert (a + 1).get().tolist() == [2, 3]  # the default stream does not wait for a non-blocking one
    free.end_capture()
    with pytest.raises(RuntimeError, match="has not begun"):
        stream.end_capture()


def test_a_capture_forks_and_joins() -> None:
    origin, side, a, out = cuda.Stream(), cuda.Stream(), up(1, 2), up(0, 0)

    def fork(join: bool) -> Any:
        with origin:
            origin.begin_capture()
            side.wait_event(origin.record())
            assert side.is_capturing()
            with side:
                xp.multiply(a, 2, out=out)
            if join:
                origin.wait_event(side.record())
            return origin.end_capture()

    with pytest.raises(RuntimeError, match="cudaErrorStreamCaptureUnjoined"):
        fork(False)
    fork(True).launch(origin)
    assert out.get().tolist() == [2, 4]


def test_a_graph_that_outlives_its_memory_is_found_out() -> None:
    stream, a = cuda.Stream(), up(1, 2)
    graph, b = captured(stream, lambda: xp.exp(xp.exp(a)))  # the inner result is gone
    gc.collect()
    with pytest.raises(RuntimeError, match="memory that was freed after its capture"):
        graph.launch()
    assert b.shape == (2,)
    pool = cuda.MemoryPool()
    graph, b = captured(stream, lambda: xp.exp(xp.exp(a)), pool)
    graph.launch()  # the pool keeps what its arrays had
    np.testing.assert_array_equal(b.get(), np.exp(np.exp(np.float32([1, 2]))))
    assert pool.total_bytes() >= 1024 and pool.used_bytes() == 512


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_arrays_over_memory() -> None:
    memory = cuda.alloc(64)
    assert memory.ptr % 256 == 0 and memory.mem.size == 64
    a = xp.ndarray((2, 3), np.float32, memory + 16)
    assert a.data.ptr == memory.ptr + 16 and a.data.mem is memory.mem and (a + 0).shape == (2, 3)
    a[...] = 1
    assert a.nbytes == 24 and a.itemsize == 4 and a.strides == (12, 4) and a.flags.c_contiguous
    face = a.T.__cuda_array_interface__
    assert face["data"] == (a.data.ptr, False) and face["shape"] == (3, 2) and face["strides"] == (4, 12)
    assert a.__cuda_array_interface__["strides"] is None and face["typestr"] == "<f4"
    assert a[1:].data.ptr == a.data.ptr + 12 and a[1:].data.mem is memory.mem


def test_a_pool_lends_again_what_came_back() -> None:
    pool = cuda.MemoryPool()
    with cuda.using_allocator(pool.malloc):
        a = up(*range(100)) + 1
        view, where = a[50:], a.data.ptr
        del a
        gc.collect()
        assert pool.used_bytes() == 512  # the view holds it
        del view
        gc.collect()
        assert pool.used_bytes() == 0 and pool.total_bytes() >= 512
        b = xp.zeros(100, np.float32)
        assert b.get().tolist() == [0] * 100
        again = xp.empty(100, np.float32)
        assert where in (b.data.ptr, again.data.ptr)
    assert xp.zeros(3).data.mem.size == 24 and pool.used_bytes() == 1024
    del b, again
    gc.collect()
    pool.free_all_blocks()
    assert pool.total_bytes() == pool.used_bytes() == pool.n_free_blocks() == 0


def test_raw_copies() -> None:
    stream, host, out = cuda.Stream(), np.float32([1, 2, 3]), np.zeros(3, np.float32)
    a, b = xp.empty(3, np.float32), xp.empty(3, np.float32)
    runtime = cuda.runtime
    runtime.memcpyAsync(a.data.ptr, host.ctypes.data, 12, runtime.memcpyHostToDevice, stream.ptr)
    b.data.copy_from_device_async(a.data, 12, stream)
    runtime.memsetAsync(b.data.ptr + 4, 0, 4, stream.ptr)
    runtime.memcpyAsync(out.ctypes.data, b.data.ptr, 12, runtime.memcpyDeviceToHost, stream.ptr)
    assert out.tolist() == [1, 0, 3]
    assert (xp.counters.uploaded_bytes, xp.counters.downloaded_bytes) == (12, 12)
    with pytest.raises(RuntimeError, match="16 bytes at .* are not device memory"):
        runtime.memcpyAsync(a.data.ptr, host.ctypes.data, 16, runtime.memcpyHostToDevice, stream.ptr)
    graph, _ = captured(stream, lambda: b.data.copy_from_device_async(a.data, 12, stream))
    assert b.get().tolist() == [1, 0, 3]
    graph.launch(stream)
    assert b.get().tolist() == [1, 2, 3]


def test_pinned_memory_carries_results_out_of_a_graph() -> None:
    stream, a, pool = cuda.Stream(), up(1, 2), cuda.MemoryPool()
    pinned = np.frombuffer(cuda.alloc_pinned_memory(8), np.float32, 2)
    graph, kept = captured(stream, lambda: xp.asnumpy(a * 2, stream, out=pinned, blocking=False), pool)
    graph.launch(stream)
    stream.synchronize()
    assert pinned.tolist() == [2, 4] and kept is pinned


# ---- counters, events, properties ------------------------------------------------------------------------------------


def test_counters() -> None:
    a = xp.asarray(np.zeros(10, np.float32))
    (a + 1).get()
    cuda.Stream().synchronize()
    found = xp.counters
    assert (found.uploads, found.uploaded_bytes, found.downloads, found.downloaded_bytes) == (1, 40, 1, 40)
    assert found.synchronisations == 2 and found.functions == 1
    host = np.zeros(2)
    assert xp.asarray(host).data.ptr != host.ctypes.data  # a copy, as between two memories


def test_events_and_streams() -> None:
    start, end, stream = cuda.Event(), cuda.Event(), cuda.Stream()
    start.record()
    with stream:
        assert cuda.get_current_stream() is stream
        end.record()
    assert cuda.get_current_stream().ptr == 0 != stream.ptr and end.stream is stream
    end.synchronize()
    assert cuda.get_elapsed_time(start, end) >= 0
    with pytest.raises(RuntimeError, match="disable_timing"):
        cuda.get_elapsed_time(cuda.Event(disable_timing=True), end)


def test_properties_of_the_device() -> None:
    found = cuda.runtime.getDeviceProperties(0)
    assert {"name", "major", "minor", "multiProcessorCount", "sharedMemPerBlockOptin", "totalGlobalMem"} <= set(found)
    assert cuda.Device(0).compute_capability == "90" and cuda.runtime.memGetInfo()[1] == found["totalGlobalMem"]


def test_bfloat16() -> None:
    a = xp.asarray(np.array([1, 2], ml_dtypes.bfloat16))
    assert (a + a).get().astype(np.float32).tolist() == [2, 4]
    xp.features.bfloat16 = False
    with pytest.raises(TypeError, match="Unsupported dtype bfloat16"):
        xp.asarray(np.array([1, 2], ml_dtypes.bfloat16))
