"""Kernels and raw copies: run by the simulator (``msnb.devices.gpu.simt``), or recorded by a capture.

``load_kernels(text)`` is the one seam: where a real GPU gets PTX made of this text, the simulator runs the text itself.
"""

from __future__ import annotations

import types
from collections.abc import Sequence
from typing import Any

import numpy as np

from msnb.devices.gpu.simulated_cuda import simulated_memory, simulated_streams
from msnb.devices.gpu.simulated_cuda.simulated_counters import CUDARuntimeError, counters, features

SHARED_DEFAULT = 48 << 10
PROPERTIES: dict[str, Any] = {
    "name": b"NVIDIA H100 80GB HBM3 (simulated)", "major": 9, "minor": 0, "multiProcessorCount": 132,
    "sharedMemPerBlock": 49152, "sharedMemPerBlockOptin": 232448, "sharedMemPerMultiprocessor": 233472,
    "totalGlobalMem": 80 << 30, "clockRate": 1_980_000, "memoryClockRate": 2_619_000, "memoryBusWidth": 5120,
    "l2CacheSize": 50 << 20, "warpSize": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerMultiProcessor": 2048,
    "regsPerMultiprocessor": 65536,
}  # fmt: skip


class KernelModule:
    """Loaded kernels.

    Attributes:
        statistics: what each kernel has done, by name.
    """

    def __init__(self, text: str) -> None:
        from msnb.devices.gpu.simt import SimtModule

        self.simulator: SimtModule = SimtModule(text, checks=features.checks)

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
        self.module: KernelModule = module
        self.name: str = name
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

        simulated_streams.perform(run, stream)


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


# ---- copies ----


def memcpy(dst: int, src: int, nbytes: int, kind: int) -> None:
    """A copy that waits."""
    simulated_streams.waits_for_all("memory is copied")
    counters.synchronisations += 1
    simulated_memory.memcpy_async(dst, src, nbytes, kind)


def device_synchronize() -> None:
    """Wait for everything."""
    simulated_streams.waits_for_all("the device is waited for")
    counters.synchronisations += 1


def mem_get_info() -> tuple[int, int]:
    """Free and total bytes."""
    used = sum(nbytes for _, nbytes in simulated_memory.live())
    return PROPERTIES["totalGlobalMem"] - used, PROPERTIES["totalGlobalMem"]


runtime = types.SimpleNamespace(
    CUDARuntimeError=CUDARuntimeError, memcpyHostToHost=0, memcpyHostToDevice=simulated_memory.HOST_TO_DEVICE,
    memcpyDeviceToHost=simulated_memory.DEVICE_TO_HOST, memcpyDeviceToDevice=simulated_memory.DEVICE_TO_DEVICE,
    memcpyAsync=simulated_memory.memcpy_async, memcpy=memcpy, memsetAsync=simulated_memory.memset_async,
    memset=simulated_memory.memset_async, deviceSynchronize=device_synchronize,
    streamSynchronize=lambda stream: simulated_streams.stream_of(stream).synchronize(),
    streamBeginCapture=lambda stream, mode=0: simulated_streams.stream_of(stream).begin_capture(mode),
    streamIsCapturing=lambda stream: simulated_streams.stream_of(stream).is_capturing(), streamCaptureModeGlobal=0,
    streamCaptureModeThreadLocal=1, streamCaptureModeRelaxed=2, getDeviceCount=lambda: 2,
    getDeviceProperties=lambda index: dict(PROPERTIES), memGetInfo=mem_get_info, runtimeGetVersion=lambda: 12090,
    driverGetVersion=lambda: 12090,
)  # fmt: skip
