"""Device memory: blocks of the host's, known as long as they live.

    Memory          an allocation, aligned as CUDA's is; a pool may own it
    MemoryPointer   a place in one: what ``array.data`` is
    MemoryPool      keeps what was freed; a graph's temporaries stay valid as long as their pool lives

``live()`` lists all memory: launches are checked against it. What a captured operation refers to is an address, as with
CUDA (``Place``), so a graph that outlives its memory is found out.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from msnb.devices.gpu.simulated_cuda import simulated_streams
from msnb.devices.gpu.simulated_cuda.simulated_counters import CUDARuntimeError, counters, features

ALIGNMENT = 512
HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 1, 2, 3
_tokens = itertools.count(1)
_lock = threading.RLock()
_live: dict[int, tuple[int, int, Any]] = {}  # address -> bytes, token, weak reference to the owner


def register(address: int, nbytes: int, owner: Any) -> None:
    """From here until the owner dies there is device memory at this address."""
    known = _live.get(address)
    if nbytes == 0 or (known is not None and known[2]() is owner and known[0] >= nbytes):
        return
    token = known[1] if known is not None and known[2]() is owner else next(_tokens)

    def gone(_: Any) -> None:
        with _lock:
            if _live.get(address, (0, 0))[1] == token:
                del _live[address]

    with _lock:
        _live[address] = (nbytes, token, weakref.ref(owner, gone))


def root_of(array: np.ndarray) -> tuple[np.ndarray, int]:
    """The array that an array is a view of, in the end, and where its memory begins."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    memory = getattr(root.base, "memory", None)
    return root, root.__array_interface__["data"][0] if memory is None else memory.ptr


def register_host(array: np.ndarray) -> None:
    """Memory that NumPy made for a result."""
    root, address = root_of(array)
    if root.base is None:
        register(address, root.nbytes, root)


def is_registered(array: np.ndarray) -> bool:
    """Whether this is device memory already."""
    root, address = root_of(array)
    known = _live.get(address)
    return known is not None and (root.base is not None or known[2]() is root)


def live() -> list[tuple[int, int]]:
    """Address and bytes of all device memory."""
    with _lock:
        return [(address, nbytes) for address, (nbytes, _, owner) in _live.copy().items() if owner() is not None]


def token_at(address: int) -> int:
    """Which allocation holds an address; 0 if none does."""
    with _lock:
        for start, (nbytes, token, owner) in _live.copy().items():
            if start <= address < start + max(nbytes, 1) and owner() is not None:
                return token
    return 0


class OutOfMemoryError(MemoryError):
    """As ``cupy.cuda.memory.OutOfMemoryError``."""


class Memory:
    """An allocation."""

    def __init__(self, size: int) -> None:
        counters.allocations += 1
        if features.room is not None and size > features.room:
            raise OutOfMemoryError(f"Out of memory allocating {size:,} bytes (allocated so far: 0 bytes).")
        self.size = size
        self._raw = np.empty(size + ALIGNMENT, np.uint8)
        raw = self._raw.__array_interface__["data"][0]
        self.ptr: Any = raw + -raw % ALIGNMENT
        first = self.ptr - raw
        self._raw[first : first + size] = 0xFF  # nobody has written it yet
        register(self.ptr, size, self)


class PooledMemory:
    """An allocation lent by a pool, back there when nobody holds it."""

    size: int
    ptr: Any
    pool: MemoryPool

    def __init__(self, memory: Memory, size: int, pool: MemoryPool) -> None:
        self._memory, self.size, self.ptr, self.pool = memory, size, memory.ptr, pool

    def __del__(self) -> None:
        self.pool._back(self._memory, self.size)


class MemoryPointer:
    """A place in an allocation."""

    def __init__(self, mem: Any, offset: int) -> None:
        self.mem = mem
        self.ptr: int = mem.ptr + offset

    def __add__(self, offset: int) -> MemoryPointer:
        return MemoryPointer(self.mem, self.ptr - self.mem.ptr + offset)

    def __int__(self) -> int:
        return self.ptr

    def copy_from_device_async(self, src: MemoryPointer, size: int, stream: Any = None) -> None:
        """Device to device."""
        memcpy_async(self.ptr, src.ptr, size, 3, stream)

    def memset_async(self, value: int, size: int, stream: Any = None) -> None:
        """Fill with a byte."""
        memset_async(self.ptr, value, size, stream)


class MemoryPool:
    """Keeps what was freed for whoever asks for as much again."""

    def __init__(self, allocator: Any = None) -> None:
        self._free: dict[int, list[Memory]] = {}
        self._total = self._used = 0

    def malloc(self, size: int) -> MemoryPointer:
        """Memory for so many bytes."""
        rounded = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        kept = self._free.get(rounded)
        if kept:
            memory = kept.pop()
        else:
            memory = Memory(rounded)
            with _lock:
                _live.pop(memory.ptr, None)  # known with the size that was asked for
            self._total += rounded
        register(memory.ptr, size, memory)
        self._used += rounded
        return MemoryPointer(PooledMemory(memory, size, self), 0)

    def _back(self, memory: Memory, size: int) -> None:
        rounded = -(-max(size, 1) // ALIGNMENT) * ALIGNMENT
        self._free.setdefault(rounded, []).append(memory)
        self._used -= rounded

    def used_bytes(self) -> int:
        """Bytes lent now."""
        return self._used

    def total_bytes(self) -> int:
        """Bytes held, lent or not."""
        return self._total

    def free_bytes(self) -> int:
        """Bytes held and not lent."""
        return self._total - self._used

    def n_free_blocks(self) -> int:
        """Allocations held and not lent."""
        return sum(map(len, self._free.values()))

    def free_all_blocks(self, stream: Any = None) -> None:
        """Give back what is not lent."""
        self._total -= self.free_bytes()
        self._free.clear()


_default_pool = MemoryPool()
_allocators = threading.local()


def get_default_memory_pool() -> MemoryPool:
    """The pool of ``alloc`` where no other allocator is set."""
    return _default_pool


def allocator() -> Callable[[int], MemoryPointer] | None:
    """The allocator that was set; None: NumPy's own memory will do."""
    stack = getattr(_allocators, "stack", None)
    return stack[-1] if stack else getattr(_allocators, "base", None)


def get_allocator() -> Callable[[int], MemoryPointer]:
    """As CuPy's."""
    return allocator() or _default_pool.malloc


def set_allocator(function: Any = None) -> None:
    """As CuPy's."""
    _allocators.base = function


@contextmanager
def using_allocator(function: Any = None) -> Iterator[None]:
    """Arrays made inside lie in this allocator's memory."""
    _allocators.stack = [*getattr(_allocators, "stack", []), function]
    try:
        yield
    finally:
        _allocators.stack.pop()


def alloc(size: int) -> MemoryPointer:
    """As ``cupy.cuda.alloc``."""
    return get_allocator()(size)


def host_view(memory: MemoryPointer, shape: Any, dtype: np.dtype, strides: Any = None, order: Any = "C") -> np.ndarray:
    """A NumPy array over device memory; it holds the allocation."""
    nbytes = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize if strides is None else memory.mem.size
    kind: Any = type("Held", (ctypes.c_char * max(nbytes, 1),), {})
    held = kind.from_address(memory.ptr)
    held.memory = memory.mem
    return np.ndarray(shape, dtype, buffer=held, strides=strides, order=order)


def held_memory(array: np.ndarray) -> Any:
    """The allocation that an array lies in."""
    root, _ = root_of(array)
    found = getattr(root.base, "memory", None)
    return found if found is not None else _HostMemory(root)


class _HostMemory:
    """Memory that NumPy made, as an allocation."""

    def __init__(self, root: np.ndarray) -> None:
        self._root, self.ptr, self.size = root, root.__array_interface__["data"][0], root.nbytes


class Place:
    """An array as CUDA knows it: an address with a shape. Holds no memory."""

    def __init__(self, array: np.ndarray) -> None:
        self.address: Any = array.__array_interface__["data"][0]
        self.shape, self.strides, self.dtype = array.shape, array.strides, array.dtype
        self.token: int = token_at(self.address) if array.size else -1

    def array(self) -> np.ndarray:
        """The array that lies there now."""
        if self.token > 0 and token_at(self.address) != self.token:
            raise CUDARuntimeError(
                "cudaErrorIllegalAddress", "the graph uses memory that was freed after its capture: keep it alive."
            )
        plain = np.dtype(f"V{self.dtype.itemsize}")
        face = {"data": (self.address, False), "shape": self.shape, "strides": self.strides, "version": 3}
        holder = type("Face", (), {"__array_interface__": {**face, "typestr": plain.str}})()
        return np.asarray(holder).view(self.dtype)


class PinnedMemory:
    """Host memory that copies need not stage: ``numpy.frombuffer`` takes it."""

    def __new__(cls, size: int) -> Any:
        kind = type("Pinned", (ctypes.c_char * max(size, 1),), {"ptr": property(ctypes.addressof), "size": size})
        return kind()


def _on_device(address: int, nbytes: int) -> None:
    for start, size in live():
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

    simulated_streams.perform(run, simulated_streams.stream_of(stream))


def memset_async(ptr: int, value: int, nbytes: int, stream: Any = None) -> None:
    """Fill with a byte."""

    def run() -> None:
        if nbytes:
            _on_device(ptr, nbytes)
        ctypes.memset(ptr, value, nbytes)

    simulated_streams.perform(run, simulated_streams.stream_of(stream))
