"""Kernels of a GPU, run thread by thread on the CPU, with a watch over what they touch.

    module = SimtModule(text)                                        # LLVM IR that was written for the GPU
    module.launch("add", (4, 1, 1), (256, 1, 1), [a, b, c, 1000], buffers=[(a, 4000, False), ...])

Blocks run one after another, threads of a block in turns: each until it ends or waits. So results are those of a GPU
wherever the kernel is right, and where it is not, a ``KernelFault`` says what is wrong rather than that numbers differ.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from dataclasses import dataclass

import ml_dtypes
import numpy as np

from msnb.devices.gpu.simt import native_runtime as native
from msnb.devices.gpu.simt.fault_report import LaunchFacts, MemoryRegion, Size, fault_of
from msnb.devices.gpu.simt.host_rewriter import SHARED_LIMIT, HostKernel, HostRewriter
from msnb.devices.gpu.simt.module_text import KernelFault, read_kernels
from msnb.devices.gpu.simt.native_runtime import loaded, native_runtime

Buffer = tuple[int, int] | tuple[int, int, bool]
_FORMATS = {"i64": "Q", "i32": "I", "i16": "H", "i8": "B", "i1": "B", "float": "f", "double": "d", "half": "e"}
_GRID_LIMIT, _BLOCK_LIMIT = (2**24 - 1, 65535, 65535), (1024, 1024, 64)


@dataclass
class KernelStatistics:
    """What a kernel has done so far.

    Args:
        launches: how often it was launched.
        loaded, stored, updated: bytes of global memory, each access counted; updated are atomics.
        shared_loaded, shared_stored, shared_updated: the same of shared memory.
    """

    launches: int = 0
    loaded: int = 0
    stored: int = 0
    updated: int = 0
    shared_loaded: int = 0
    shared_stored: int = 0
    shared_updated: int = 0

    def add(self, counts: Sequence[int]) -> None:
        """One launch more, with the bytes that the native runtime counted."""
        self.launches += 1
        for name, count in zip(tuple(vars(self))[1:], counts):
            setattr(self, name, getattr(self, name) + int(count))


class SimtModule:
    """A module of kernels, compiled for the host.

    Args:
        text: LLVM IR for the GPU.
        checks: watch bounds, alignment and races, and count bytes.

    Attributes:
        statistics: of each kernel, by name; bytes only with checks.

    Raises:
        RuntimeError: DeviceError: the text is not LLVM IR, or has something without a stand-in.
    """

    def __init__(self, text: str, checks: bool = True) -> None:
        self.checks = checks
        self._host = HostRewriter(read_kernels(text), checks).rewrite()
        native_runtime()
        self._engine = loaded(self._host.text)
        self._arena = int(self._engine.get_global_value_address("simt.arena"))
        self.statistics: dict[str, KernelStatistics] = {name: KernelStatistics() for name in self._host.kernels}

    @property
    def names(self) -> tuple[str, ...]:
        """The kernels."""
        return tuple(self._host.kernels)

    def launch(
        self, name: str, grid: Size, block: Size, args: Sequence[int | float], shared_bytes: int = 0,
        buffers: Sequence[Buffer] | None = None,
    ) -> None:  # fmt: skip
        """Run a kernel to its end.

        Args:
            name: which kernel.
            grid, block: how many blocks, how many threads in each.
            args: addresses for pointers, numbers otherwise.
            shared_bytes: size of shared memory that the text leaves open.
            buffers: (address, bytes, writable) of all memory that it may touch; None: bounds are not checked.

        Raises:
            RuntimeError: KernelFault: the kernel did what no kernel may do, or the launch itself is wrong.
        """
        kernel = self._kernel(name, grid, block, shared_bytes)
        packed = _packed(kernel, args)
        regions = [*self._shared(kernel, shared_bytes), *_global(buffers or ())]
        rows = _rows(regions)
        runtime = native_runtime()
        with runtime.lock:
            runtime.forget()
            runtime.write("open", buffers is None)
            runtime.write("granule.bits", self._host.granule_bits, ctypes.c_int64)
            runtime.write("regions", rows.ctypes.data, ctypes.c_uint64)
            runtime.write("regions.n", len(rows), ctypes.c_int64)
            for axis, blocks, threads in zip("xyz", grid, block):
                runtime.write(f"nctaid.{axis}", blocks)
                runtime.write(f"ntid.{axis}", threads)
            self._poison(runtime, kernel, shared_bytes)
            start = int(self._engine.get_function_address(f"simt.start.{name}"))
            runtime.run(start, ctypes.addressof(packed), kernel.waits)
            self.statistics[name].add(runtime.counts.tolist())
            if runtime.fault[0]:
                sites, bits = self._host.sites, self._host.granule_bits
                raise fault_of(runtime, LaunchFacts(name, grid, block, regions, sites, bits))

    def _kernel(self, name: str, grid: Size, block: Size, shared_bytes: int) -> HostKernel:
        if name not in self._host.kernels:
            raise KernelFault(f"there is no kernel {name}; the module has {', '.join(self.names) or 'none'}.")
        for what, sizes, limits in (("grid", grid, _GRID_LIMIT), ("block", block, _BLOCK_LIMIT)):
            if len(sizes) != 3 or not all(1 <= size <= limit for size, limit in zip(sizes, limits)):
                raise KernelFault(f"kernel {name}: a {what} of {sizes}; expected 1 to {limits} along x, y, z.")
        if np.prod(block) > native.BLOCK_THREADS or np.prod(grid) >= 2**24:
            raise KernelFault(f"kernel {name}: grid {grid}, block {block}; expected at most 1024 threads a block.")
        held = sum(a.size for a in self._host.kernels[name].shared)
        if held + shared_bytes > SHARED_LIMIT:
            raise KernelFault(
                f"kernel {name}: {held + shared_bytes} bytes of shared memory; expected at most {SHARED_LIMIT}."
            )
        return self._host.kernels[name]

    def _shared(self, kernel: HostKernel, shared_bytes: int) -> list[MemoryRegion]:
        flags, places = native.WRITABLE | native.SHARED, self._host.places
        return [
            MemoryRegion(self._arena + places[a.name], a.size or shared_bytes, f"shared memory @{a.name}", flags)
            for a in kernel.shared
        ]

    def _poison(self, runtime: native.NativeRuntime, kernel: HostKernel, shared_bytes: int) -> None:
        """All bytes of a kernel's shared memory are 0xFF, a NaN, when a block begins."""
        pieces = self._shared(kernel, shared_bytes)
        start = min((p.start for p in pieces), default=self._arena)
        end = max((p.start + p.size for p in pieces), default=start)
        runtime.write("poison", start, ctypes.c_uint64)
        runtime.write("poison.n", end - start, ctypes.c_int64)
        runtime.write("arena.start", self._arena, ctypes.c_int64)
        runtime.write("arena.end", self._arena + self._host.arena, ctypes.c_int64)


def _global(buffers: Sequence[Buffer]) -> list[MemoryRegion]:
    return [
        MemoryRegion(b[0], b[1], f"buffer {i} ({b[1]} bytes at {b[0]:#x})", int(len(b) < 3 or bool(b[2])))
        for i, b in enumerate(buffers)
        if b[1]
    ]


def _rows(regions: Sequence[MemoryRegion]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Start, end and flags of each region, sorted; those that overlap are one."""
    rows: list[list[int]] = []
    for region in sorted(regions, key=lambda r: r.start):
        if rows and region.start < rows[-1][1]:
            rows[-1][1] = max(rows[-1][1], region.start + region.size)
            rows[-1][2] |= region.flags
        else:
            rows.append([region.start, region.start + region.size, region.flags])
    return np.array(rows, np.int64).reshape(-1, 3)


def _packed(kernel: HostKernel, args: Sequence[int | float]) -> ctypes.Array[ctypes.c_char]:
    """The arguments in a table of 8 bytes each."""
    if len(args) != len(kernel.kinds):
        wanted = ", ".join(kernel.kinds)
        raise KernelFault(f"kernel {kernel.name}: {len(args)} arguments; expected {len(kernel.kinds)}: {wanted}.")
    table = b"".join(_word(kernel, kind, arg).ljust(8, b"\0") for kind, arg in zip(kernel.kinds, args))
    return ctypes.create_string_buffer(table, max(len(table), 1))


def _word(kernel: HostKernel, kind: str, arg: int | float) -> bytes:
    if kind.startswith("ptr"):
        return struct.pack("<Q", int(arg))
    if kind == "bfloat":
        return np.array(arg, np.float32).astype(ml_dtypes.bfloat16).tobytes()
    form = _FORMATS.get(kind)
    if form is None:
        raise KernelFault(f"kernel {kernel.name}: a parameter of type {kind}; expected a pointer or a number.")
    if form in "fde":
        return struct.pack(f"<{form}", float(arg))
    bits = 8 * struct.calcsize(form)
    return struct.pack(f"<{form}", int(arg) & ((1 << bits) - 1))
