"""Kernels and raw copies: run by the simulator (``msnb.devices.gpu.simt``), or recorded by a capture.

``load_kernels(text)`` is the one seam: where a real GPU gets PTX made of this text, the simulator runs the text itself.
"""

from __future__ import annotations

import ctypes
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.devices.gpu.simulated_cuda import simulated_memory, simulated_streams
from msnb.devices.gpu.simulated_cuda.simulated_counters import CUDARuntimeError, counters, features

SHARED_DEFAULT = 48 << 10
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3
PROPERTIES: dict[str, Any] = {
    "name": b"NVIDIA H100 80GB HBM3 (simulated)", "major": 9, "minor": 0, "multiProcessorCount": 132,
    "sharedMemPerBlock": 49152, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472,
    "totalGlobalMem": 80 << 30, "clockRate": 1_980_000, "memoryClockRate": 2_619_000, "memoryBusWidth": 5120,
    "l2CacheSize": 50 << 20, "warpSize": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiProcessor": 2048,
    "regsPerMultiprocessor": 65536,
}  # fmt: skip


def perform(step: Callable[[], None], stream: Any = None) -> None:
    """Do it now, or record it."""
    capture, where = simulated_streams.capture_for(stream)
    if capture is None:
        step()
    else:
        capture.record(step, where)


class KernelModule:
    """Loaded kernels.

    Attributes:
        statistics: what each kernel has done, by name.
    """

    def __init__(self, text: str) -> None:
        from msnb.devices.gpu.simt import SimtModule

        self.simulator = SimtModule(text, checks=features.checks)

    @property
    def statistics(self) -> dict[str, Any]:
        """What each kernel has done."""
        return self.simulator.statistics

    def get_function(self, name: str) -> Function:
        """One of the kernels."""
        if name not in self.simulator.names:
            raise CUDARuntimeError("CUDA_ERROR_NOT_FOUND", f"named symbol not found: {name}")
        return Function(self, name)


class Function:
    """A kernel that can be launched."""

    def __init__(self, module: KernelModule, name: str) -> None:
        self.module, self.name = module, name
        self.max_dynamic_shared_size_bytes = SHARED_DEFAULT

    def __call__(
        self, grid: Sequence[int], block: Sequence[int], args: Sequence[Any], shared_mem: int = 0, stream: Any = None
    ) -> None:
        """Launch: arguments are addresses, simulated arrays, and numbers."""
        if shared_mem > self.max_dynamic_shared_size_bytes:
            raise CUDARuntimeError("CUDA_ERROR_INVALID_VALUE", "max_dynamic_shared_size_bytes is less than shared_mem.")
        raw, blocks, threads = [_raw(a) for a in args], _three(grid), _three(block)
        counters.launches += 1

        def run() -> None:
            counters.kernels_run += 1
            buffers = [(address, nbytes, True) for address, nbytes in simulated_memory.live()]
            self.module.simulator.launch(self.name, blocks, threads, raw, shared_mem, buffers)

        perform(run, stream)


def _three(sizes: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = (*(int(s) for s in sizes), 1, 1)[:3]
    return x, y, z


def _raw(value: Any) -> int | float:
    if isinstance(value, np.generic):
        return float(value) if value.dtype.kind not in "biuf" else value.item()
    if isinstance(value, (int, float)):
        return value
    memory = value if isinstance(value, simulated_memory.MemoryPointer) else getattr(value, "data", None)
    if not isinstance(memory, simulated_memory.MemoryPointer):
        raise TypeError(f"Unsupported type {type(value)}")
    return memory.ptr


def load_kernels(text: str) -> KernelModule:
    """Kernels from LLVM IR."""
    return KernelModule(text)


# ---- copies ----------------------------------------------------------------------------------------------------------


def _on_device(address: int, nbytes: int) -> None:
    for start, size in simulated_memory.live():
        if start <= address and address + nbytes <= start + size:
            return
    raise CUDARuntimeError("cudaErrorInvalidValue", f"{nbytes} bytes at {address:#x} are not device memory.")


def memcpy_async(dst: int, src: int, nbytes: int, kind: int, stream: Any = None) -> None:
    """A copy of bytes."""

    def run() -> None:
        for address, host in ((dst, DEVICE_TO_HOST), (src, HOST_TO_DEVICE)):
            if nbytes and kind != host and kind in (1, 2, 3):
                _on_device(address, nbytes)
        if kind == HOST_TO_DEVICE:
            counters.up(nbytes)
        elif kind == DEVICE_TO_HOST:
            counters.down(nbytes)
        ctypes.memmove(dst, src, nbytes)

    perform(run, stream_of(stream))


def memset_async(ptr: int, value: int, nbytes: int, stream: Any = None) -> None:
    """Fill with a byte."""

    def run() -> None:
        if nbytes:
            _on_device(ptr, nbytes)
        ctypes.memset(ptr, value, nbytes)

    perform(run, stream_of(stream))


_streams: dict[int, Any] = {}


def stream_of(stream: Any) -> Any:
    """A stream, or the one with this address."""
    if stream is None or isinstance(stream, simulated_streams.Stream):
        return stream
    current = simulated_streams.get_current_stream()
    if int(stream) == current.ptr:
        return current
    if int(stream) == 0:
        return simulated_streams.Stream.null
    found = [s for c in simulated_streams._capturing for s in c.streams if s.ptr == int(stream)]
    return found[0] if found else _streams.setdefault(int(stream), simulated_streams.Stream(non_blocking=True))


def memcpy(dst: int, src: int, nbytes: int, kind: int) -> None:
    """A copy that waits."""
    simulated_streams.waits_for_all("memory is copied")
    counters.synchronisations += 1
    memcpy_async(dst, src, nbytes, kind)


def device_synchronize() -> None:
    """Wait for everything."""
    simulated_streams.waits_for_all("the device is waited for")
    counters.synchronisations += 1


def mem_get_info() -> tuple[int, int]:
    """Free and total bytes."""
    used = sum(nbytes for _, nbytes in simulated_memory.live())
    return PROPERTIES["totalGlobalMem"] - used, PROPERTIES["totalGlobalMem"]


runtime = types.SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError,
    memcpyHostToHost=0,
    memcpyHostToDevice=HOST_TO_DEVICE,
    memcpyDeviceToHost=DEVICE_TO_HOST,
    memcpyDeviceToDevice=DEVICE_TO_DEVICE,
    memcpyAsync=memcpy_async,
    memcpy=memcpy,
    memsetAsync=memset_async,
    memset=memset_async,
    deviceSynchronize=device_synchronize,
    streamSynchronize=lambda stream: stream_of(stream).synchronize(),
    streamBeginCapture=lambda stream, mode=0: stream_of(stream).begin_capture(mode),
    streamIsCapturing=lambda stream: stream_of(stream).is_capturing(),
    streamCaptureModeGlobal=0,
    streamCaptureModeThreadLocal=1,
    streamCaptureModeRelaxed=2,
    getDeviceCount=lambda: 2,
    getDeviceProperties=lambda index: dict(PROPERTIES),
    memGetInfo=mem_get_info,
    runtimeGetVersion=lambda: 12090,
    driverGetVersion=lambda: 12090,
)
