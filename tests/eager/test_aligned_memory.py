"""Large arrays begin at a cache line, and who has a view of one keeps its memory."""

import gc

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.core.storage import aligned_memory

SIDE = 256  # 256 KB of float32


def address(x: ms.Tensor) -> int:
    return int(x._buffer().ctypes.data)


@pytest.mark.parametrize("shape", [(), (0, 7), (3,), (16384,), (16385,), (130, 127), (1, 2, 40000)])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float16, np.float32, np.complex128])
def test_an_empty_array_is_like_that_of_numpy(shape, dtype):
    found = aligned_memory.empty(shape, dtype)
    assert type(found) is np.ndarray and found.shape == shape and found.dtype == dtype
    assert found.flags.c_contiguous and found.flags.writeable and aligned_memory.owns_memory(found)
    assert found.nbytes < aligned_memory.LARGE or found.ctypes.data % aligned_memory.CACHE_LINE == 0
    found[...] = 1
    assert (found == 1).all()


def test_views_point_at_the_array_and_own_nothing():
    found = aligned_memory.empty((SIDE, SIDE), np.float32)
    for view in (found[1:], found.T, found.reshape(-1), found.view(np.int32), found[1:][2:].T):
        assert view.base is found
        assert not aligned_memory.owns_memory(view)


def test_a_copy_has_the_elements_in_row_major_order():
    x = np.arange(SIDE * SIDE, dtype=np.float64).reshape(SIDE, SIDE)[::-1].T
    for dtype in (None, np.float32, np.int16):
        found = aligned_memory.copied(x, dtype)
        assert found.flags.c_contiguous and not np.shares_memory(found, x)
        np.testing.assert_array_equal(found, x.astype(found.dtype))


@pytest.mark.parametrize("mode", [ms.PYNATIVE_MODE, ms.GRAPH_MODE])
def test_inputs_and_results_begin_at_a_cache_line(mode):
    ms.set_context(mode=mode, jit_level="O1")
    x = ms.Tensor(np.ones((SIDE, SIDE), np.float32))
    y = ops.exp(x) + 1
    z = ms.jit(lambda v: ops.softmax(v * 2))(y)
    assert [address(v) % aligned_memory.CACHE_LINE for v in (x, y, z)] == [0, 0, 0]


@pytest.mark.parametrize("jitted", [False, True])
def test_memory_that_a_view_shows_is_not_used_again(jitted):
    def function(v):
        return ops.exp(v) * 2 + v

    f = ms.jit(function) if jitted else function
    x = ms.Tensor(np.zeros((SIDE, SIDE), np.float32))
    views = []
    for n in range(20):
        views.append(f(x + n).asnumpy()[n:, ::2])
        gc.collect()
    for n, view in enumerate(views):
        np.testing.assert_allclose(view, 2 * np.exp(np.float32(n)) + n, rtol=1e-5)


def test_a_buffer_under_a_view_is_not_handed_out_twice():
    x = ms.Tensor(np.zeros((SIDE, SIDE), np.float32))
    f = ms.jit(lambda v: v + 1)
    buffer_view = f(x)._buffer()[3:]
    before = buffer_view.copy()
    for n in range(40):
        f(x + n)
    np.testing.assert_array_equal(buffer_view, before)


def test_a_shared_large_array_is_written_through_and_then_let_go():
    x = ms.Tensor(np.zeros((SIDE, SIDE), np.float32))
    shared = x.asnumpy()
    shared[0, 0] = 5
    assert x[0, 0] == 5
    kept = address(x + 0) and shared.ctypes.data
    del shared
    gc.collect()
    x + 1
    assert x._buffer().ctypes.data == kept  # nobody else has it: no copy is made
