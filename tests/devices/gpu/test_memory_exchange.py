"""Memory of the GPU shared with other libraries: nothing is copied, and no compiled step writes what is shared."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base import device_registry
from tests import fake_cupy


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    device_registry._made.pop("GPU", None)
    fake_cupy.reset()
    ms.set_context(device_target="GPU", jit_level="O1")
    yield fake_cupy
    ms.reset_context()
    fake_cupy.reset()
    device_registry._made.pop("GPU", None)


def up(*values: float) -> Any:
    return fake_cupy.asarray(np.float32(values))


class Foreign:
    """An array of a library that knows DLPack alone, as PyTorch's or JAX's."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, **options: Any) -> Any:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("kind", [lambda a: a, Foreign])
def test_arrays_come_in_without_a_copy(gpu: Any, kind: Any) -> None:
    a = up(1, 2, 3, 4)
    gpu.counters.reset()
    t = ms.from_dlpack(kind(a))
    assert t._data.data.ptr == a.data.ptr and t.device == "GPU" and t.dtype is ms.float32
    found = gpu.counters
    assert (found.uploads, found.downloads, found.allocations) == (0, 0, 0)
    a[0] = 9
    assert t.tolist() == [9, 2, 3, 4] and (t * 2.0).tolist() == [18, 4, 6, 8]


def test_tensors_of_foreign_arrays_are_copies_on_the_device(gpu: Any) -> None:
    a = up(1, 2)
    gpu.counters.reset()
    t, half = ms.Tensor(a), ms.Tensor(Foreign(a), ms.float16)
    assert t._data.data.ptr != a.data.ptr and (gpu.counters.uploads, gpu.counters.downloads) == (0, 0)
    a[0] = 9
    assert t.tolist() == [1, 2] and half.dtype is ms.float16 and half.tolist() == [1, 2]
    ms.set_context(device_target="CPU")
    assert ms.Tensor(a).device == "CPU" and ms.Tensor(a).tolist() == [9, 2]


def test_tensors_go_out_without_a_copy(gpu: Any) -> None:
    t = ms.Tensor([1.0, 2.0])
    assert t.__dlpack_device__() == (2, 0)
    for out in (gpu.from_dlpack(t), gpu.asarray(t)):
        assert out.data.ptr == t._data.data.ptr and out.get().tolist() == [1, 2]
    here = t.to("CPU")
    assert here.__dlpack_device__() == (1, 0) and not hasattr(here, "__cuda_array_interface__")
    assert np.from_dlpack(here).tolist() == [1, 2]


def test_a_stream_that_waits_for_nobody_waits_for_the_programs(gpu: Any) -> None:
    t, device = ms.Tensor([1.0]), device_registry.current()
    waited: list[Any] = []
    stream = gpu.cuda.Stream(non_blocking=True)
    stream.wait_event = lambda event: waited.append(event.stream)
    with stream:
        t.__dlpack__(stream=stream.ptr)
        t.__cuda_array_interface__
    assert waited == [device.stream, device.stream]


class Step(ms.nn.Cell):
    def __init__(self, w: ms.Parameter) -> None:
        super().__init__()
        self.w = w

    def construct(self, x: Any) -> Any:
        self.w = self.w + x
        return self.w.sum()


@pytest.mark.parametrize("way", ["dlpack", "interface", "imported"])
def test_a_compiled_step_does_not_write_shared_memory(gpu: Any, way: str) -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    other = up(1, 2, 3)
    w = ms.Parameter(ms.from_dlpack(other) if way == "imported" else ms.Tensor([1.0, 2.0, 3.0]), name="w")
    if way == "imported":
        w.set_data(ms.from_dlpack(other))
    step, x = Step(w), ms.Tensor([1.0, 1.0, 1.0])
    if way != "imported":
        step(x)
        other = gpu.from_dlpack(w) if way == "dlpack" else gpu.asarray(w)
    before = other.get()
    for _ in range(3):
        step(x)
    gc.collect()
    np.testing.assert_array_equal(other.get(), before)  # as it was, and still there
    assert w.asnumpy()[0] == before[0] + 3


def test_from_dlpack_on_the_cpu() -> None:
    n = np.ones(2)
    t = ms.from_dlpack(n)
    n[0] = 9
    assert t.tolist() == [9, 1] and t.device == "CPU"
    with pytest.raises(RuntimeError, match="in the memory of the CPU or of a CUDA GPU, not a float"):
        ms.from_dlpack(1.0)
