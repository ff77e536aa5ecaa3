"""What goes wrong with a GPU: one sentence with the way out, the same in both modes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.base import device_registry
from msnb.base.errors import DeviceError, OutOfMemoryError
from msnb.devices.gpu.simulated_cuda import CUDARuntimeError
from tests import fake_cupy


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A machine on which ``import cupy`` works."""
    monkeypatch.setitem(sys.modules, "cupy", fake_cupy)
    device_registry._made.pop("GPU", None)
    fake_cupy.reset()
    yield fake_cupy
    ms.reset_context()
    fake_cupy.reset()
    device_registry._made.pop("GPU", None)


@pytest.fixture
def gpu(machine: Any, mode: int) -> Any:
    ms.set_context(device_target="GPU", mode=mode, jit_level="O1")
    return machine


def refused(monkeypatch: pytest.MonkeyPatch, error: Exception) -> str:
    def count() -> int:
        raise error

    monkeypatch.setattr(fake_cupy.runtime, "getDeviceCount", count)
    with pytest.raises(DeviceError) as caught:
        ms.set_context(device_target="GPU")
    assert device_registry.current().name == "CPU"
    return str(caught.value.message())


@pytest.mark.parametrize(
    ("status", "words", "hint"),
    [
        ("cudaErrorNoDevice: no CUDA-capable device is detected", "there is no NVIDIA GPU", "CUDA_VISIBLE_DEVICES"),
        (
            "cudaErrorInsufficientDriver: CUDA driver version is insufficient",
            "the driver is missing, or older",
            "update",
        ),
        ("cudaErrorUnknown: what", "cudaErrorUnknown: what", "NVIDIA GPU with its driver"),
    ],
)
def test_no_gpu_and_old_drivers(
    machine: Any, monkeypatch: pytest.MonkeyPatch, status: str, words: str, hint: str
) -> None:
    told = refused(monkeypatch, RuntimeError(status))
    assert told.startswith("the GPU cannot be used: ") and words in told and hint in told and status in told
    assert 'device_target="CPU" runs the same program' in told


@pytest.mark.parametrize(
    ("library", "words"),
    [
        ("libcuda.so.1: cannot open shared object file", "the driver of NVIDIA is not installed"),
        ("libnvrtc.so.12: cannot open shared object file", "CuPy was built for another CUDA"),
        ("something else", "CuPy does not load"),
    ],
)
def test_a_cupy_that_does_not_load(monkeypatch: pytest.MonkeyPatch, library: str, words: str) -> None:
    def load(name: str) -> Any:
        raise ImportError(library)

    monkeypatch.setattr("msnb.devices.gpu.device.importlib.import_module", load)
    device_registry._made.pop("GPU", None)
    with pytest.raises(DeviceError) as caught:
        ms.set_context(device_target="GPU")
    assert words in caught.value.message() and library in caught.value.message()


def test_an_old_chip(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    old = {**fake_cupy.runtime.getDeviceProperties(0), "major": 6, "minor": 1, "name": b"GTX 1080"}
    monkeypatch.setattr(fake_cupy.runtime, "getDeviceProperties", lambda index: old)
    with pytest.raises(DeviceError, match=r"GTX 1080 \(sm_61\) is older than the code that msnb makes.*sm_70"):
        ms.set_context(device_target="GPU")


def work(x: Any) -> Any:
    return ms.jit(lambda v: ms.ops.exp(v) * 2.0 + v)(x) if ms.get_context("mode") == ms.GRAPH_MODE else x * 2.0


def test_out_of_memory(gpu: Any) -> None:
    table = ms.Parameter(np.ones((64, 1024), np.float32), name="table")
    x = ms.Tensor(np.ones((256, 1024), np.float32))
    want = work(x)
    gpu.features.room = 1000
    with pytest.raises(OutOfMemoryError) as caught:
        work(x)
    told = caught.value.message()
    assert "memory, and the GPU has 80.0 GiB free of 80.0 GiB" in told
    assert "held: table: f32[64,1024], 0.2 MiB" in told and "held: f32[256,1024], 1.0 MiB" in told
    assert isinstance(caught.value, MemoryError) and "the pool was emptied, so go on" in told
    gpu.features.room = None
    np.testing.assert_array_equal(work(x).asnumpy(), want.asnumpy())  # the session goes on
    assert table.shape == (64, 1024)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        ("CUDA_ERROR_NO_BINARY_FOR_GPU", "the chip is older than the code"),
        ("cudaErrorIllegalAddress", "an address that is not its own"),
        ("CUDA_ERROR_UNSUPPORTED_PTX_VERSION", "the driver is older than the code"),
        ("cudaErrorECCUncorrectable", "the GPU refused or failed"),
    ],
)
def test_launches_that_fail(gpu: Any, monkeypatch: pytest.MonkeyPatch, status: str, words: str) -> None:
    def launch(*args: Any, **options: Any) -> None:
        raise CUDARuntimeError(status, "said CUDA")

    x = ms.Tensor(np.ones(8, np.float32))
    work(x)
    monkeypatch.setattr("msnb.devices.gpu.simulated_cuda.simulated_launches.Function.__call__", launch)
    with pytest.raises(DeviceError) as caught:
        work(x)
    told = caught.value.message()
    assert words in told and f"{status}: said CUDA" in told
    assert ("multiply: " in told) == (ms.get_context("mode") == ms.PYNATIVE_MODE)


def test_a_fault_that_is_told_late(gpu: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = ms.Tensor(np.ones(8, np.float32))

    def fails(*args: Any) -> None:
        raise CUDARuntimeError("cudaErrorIllegalAddress", "an illegal memory access was encountered")

    with monkeypatch.context() as patch:
        patch.setattr(fake_cupy, "asnumpy", fails)
        with pytest.raises(DeviceError, match="an address that is not its own"):
            x.asnumpy()
