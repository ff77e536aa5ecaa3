"""Results of eager operations are taken again once nobody holds them, and never while somebody does."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.devices.gpu.eager.result_cache import ResultCache


def eager(gpu: Any) -> Any:
    ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O1")
    return ms.Tensor(np.arange(32.0, dtype=np.float32).reshape(4, 8))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, ...]]:
    """the shapes of the arrays that result caches have asked the pool for."""
    shapes: list[tuple[int, ...]] = []
    new = ResultCache._new

    def counted(self: ResultCache) -> Any:
        shapes.append(self._shape)
        return new(self)

    monkeypatch.setattr(ResultCache, "_new", counted)
    return shapes


def test_a_chain_takes_memory_from_few_places(gpu: Any, made: list[tuple[int, ...]]) -> None:
    x = eager(gpu)
    y = x + x
    for _ in range(4):
        y = y + x
    made.clear()
    for _ in range(20):
        y = y + x
    assert not made
    np.testing.assert_array_equal(y.asnumpy(), 26 * x.asnumpy())


def test_results_that_are_held_are_left_alone(gpu: Any) -> None:
    x = eager(gpu)
    for keep in (lambda t: t, lambda t: t[1:3], lambda t: t.T, lambda t: t.reshape((8, 4)), lambda t: [t]):
        held = [keep(x * k) for k in range(12)]
        for k, one in enumerate(held):
            found = one[0] if isinstance(one, list) else one
            want = keep(x.asnumpy() * k)
            np.testing.assert_array_equal(found.asnumpy(), want[0] if isinstance(want, list) else want)


def test_arrays_handed_to_others_are_left_alone(gpu: Any) -> None:
    x = eager(gpu)
    (x + 1), (x + 1)
    shared = [gpu.from_dlpack((x * k)._data) for k in range(8)]
    for k, one in enumerate(shared):
        np.testing.assert_array_equal(gpu.asnumpy(one), x.asnumpy() * k)


def test_threads_do_not_share_results(gpu: Any) -> None:
    x = eager(gpu)
    want, wrong = x.asnumpy(), list[int]()

    def work(number: int) -> None:
        for _ in range(50):
            if not np.array_equal((x * number).asnumpy(), want * number):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(2, 6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_streams_and_large_results_are_new(gpu: Any, made: list[tuple[int, ...]]) -> None:
    x, large = eager(gpu), ops.ones((200, 200), ms.float32)
    for _ in range(5):
        large + large, x + x
    made.clear()
    large + large
    assert made == [(200, 200)]
    with gpu.cuda.Stream():
        x + x
    assert made == [(200, 200), (4, 8)]


def test_memory_that_is_given_back_is_held_no_more(gpu: Any, made: list[tuple[int, ...]]) -> None:
    x = eager(gpu)
    for _ in range(5):
        x + x
    made.clear()
    ms.runtime.empty_cache()
    x + x
    assert made == [(4, 8)]


def test_gradients_and_programs_of_few_launches(gpu: Any) -> None:
    x = eager(gpu) / 10
    slope = ms.grad(lambda a: ops.softmax(a, -1)[:, 0].sum())
    first = [slope(x).asnumpy() for _ in range(4)]
    held = [one.asnumpy() for one in [slope(x + k) for k in range(6)]]
    for one in [*first[1:], *held]:  # softmax does not know what is added to a row
        np.testing.assert_allclose(np.asarray(one), first[0], atol=1e-6)


def test_writes_to_one_place_are_kernels_without_machine_code_too(gpu: Any) -> None:
    """CuPy leaves open which of several writes counts, and knows no product of them."""
    ms.set_context(mode=ms.PYNATIVE_MODE, jit_level="O0")
    x, at = ms.Tensor(np.zeros((3, 4), np.float32)), ms.Tensor(np.array([1, 0, 1]))
    value = ms.Tensor(np.arange(12, dtype=np.float32).reshape(3, 4))
    gpu.counters.reset()
    x[at] = value
    assert gpu.counters.launches
    np.testing.assert_array_equal(x.asnumpy(), [[4, 5, 6, 7], [8, 9, 10, 11], [0, 0, 0, 0]])
