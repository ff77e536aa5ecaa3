"""NumPy posing as CuPy 14, for machines without a GPU.

    simulated_cuda.add(a, b)   the same functions as NumPy's, on arrays of a class of its own
    numpy.add(a, b)            refused: an array "on the GPU" reaches NumPy only through ``asnumpy`` or ``.get()``
    a + numpy_array            refused, as CuPy does
    float(a), bool(a), list(a), a.item()   refused: CuPy allows them, but each is a hidden copy to the host that waits
    load_kernels(text)         kernels in LLVM IR, run by the simulator: the one seam that a real GPU fills differently

So an op's body that passes here uses nothing but its module ``xp`` and never looks at a value. ``cuda`` has two
devices, streams with captures, graphs, events and memory pools, and ``counters`` counts what is asked of it. Memory
that nobody has written is 0xFF. ``features.bfloat16 = False`` makes it a CuPy before 14, which has no bfloat16.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from msnb.devices.gpu.simulated_cuda import simulated_exchange, simulated_memory, simulated_streams
from msnb.devices.gpu.simulated_cuda.simulated_arrays import _copied, compute, known, ndarray, unwrap, wrap
from msnb.devices.gpu.simulated_cuda.simulated_counters import CUDARuntimeError, counters, features
from msnb.devices.gpu.simulated_cuda.simulated_exchange import from_dlpack
from msnb.devices.gpu.simulated_cuda.simulated_launches import device_synchronize, load_kernels, runtime
from msnb.devices.gpu.simulated_cuda.simulated_memory import get_default_memory_pool

__version__ = "14.0.0"


def _function(found: Any) -> Any:
    name = getattr(found, "__name__", "call")

    def call(*args: Any, **options: Any) -> Any:
        return compute(found, args, options, name)

    call.__name__ = name
    for method in ("reduce", "accumulate", "outer", "at", "reduceat"):
        if isinstance(found, np.ufunc):
            setattr(call, method, _method(found, method))
    return call


def _method(ufunc: np.ufunc, name: str) -> Any:
    return lambda *args, **options: compute(getattr(ufunc, name), args, options)


def asarray(a: Any, dtype: Any = None, order: Any = None, **options: Any) -> Any:
    """The explicit way up: arrays of the host are taken, and copied."""
    if isinstance(a, ndarray):
        known(a._host.dtype if dtype is None else dtype)
        same = (dtype is None or known(dtype) == a._host.dtype) and order in (None, "K", "A")
        return a if same else compute(np.asarray, (a,), {"dtype": dtype, "order": order})
    if hasattr(a, "__cuda_array_interface__"):
        return simulated_exchange.over_interface(a)
    if isinstance(a, (tuple, list)) and _holds_arrays(a):
        return compute(np.asarray, (a,), {"dtype": dtype, "order": order})
    simulated_streams.waits("an array is copied from the host")
    host = unwrap(a) if isinstance(a, (tuple, list)) else a
    known(host.dtype if hasattr(host, "dtype") else dtype or float)
    host = np.asarray(host, dtype=None if dtype is None else known(dtype), order=order)
    known(host.dtype)
    made = ndarray(host.shape, host.dtype, order="F" if host.flags.f_contiguous and host.ndim > 1 else "C")
    _copied(made._host, host)
    counters.up(host.nbytes)
    return made


def _holds_arrays(a: Any) -> bool:
    return any(isinstance(item, ndarray) or (isinstance(item, (tuple, list)) and _holds_arrays(item)) for item in a)


def array(a: Any, dtype: Any = None, copy: bool = True, order: Any = "K", **options: Any) -> Any:
    """As ``asarray``, always a copy."""
    found = asarray(a, dtype, None if order == "K" else order)
    return compute(np.copy, (found,)) if found is a else found


ascontiguousarray = lambda a, dtype=None: asarray(a, dtype, "C")


def empty(shape: Any, dtype: Any = float, order: str = "C") -> ndarray:
    """Memory without values."""
    return ndarray(shape, dtype, order=order)


def empty_like(a: ndarray, dtype: Any = None, order: str = "K", shape: Any = None) -> ndarray:
    """As ``empty``, with the shape of another."""
    turned = order == "F" or (order in "KA" and a._host.flags.f_contiguous and not a._host.flags.c_contiguous)
    return ndarray(a._host.shape if shape is None else shape, dtype or a._host.dtype, order="F" if turned else "C")


def asnumpy(a: Any, stream: Any = None, order: str = "C", out: Any = None, *, blocking: bool = True) -> np.ndarray:
    """The explicit way down."""
    return a.get(stream, order, blocking, out) if isinstance(a, ndarray) else np.asarray(a)


class _Module(types.SimpleNamespace):
    """A part of NumPy (linalg, fft) with its functions wrapped."""

    def __init__(self, part: Any) -> None:
        super().__init__()
        self._part = part

    def __getattr__(self, name: str) -> Any:
        return _function(getattr(self._part, name))


class Device:
    """A GPU: there are two."""

    current: int = 0
    synchronized = 0

    def __init__(self, index: int | None = None) -> None:
        self.id: int = Device.current if index is None else index

    def __enter__(self) -> Device:
        self._before, Device.current = Device.current, self.id
        return self

    def __exit__(self, *error: Any) -> None:
        Device.current = self._before

    def use(self) -> None:
        """Run on this one from here on."""
        Device.current = self.id

    def synchronize(self) -> None:
        """Nothing to wait for; counted."""
        device_synchronize()
        Device.synchronized += 1

    @property
    def compute_capability(self) -> str:
        """As CuPy writes it: 90 is 9.0."""
        found = runtime.getDeviceProperties(self.id)
        return f"{found['major']}{found['minor']}"

    @property
    def attributes(self) -> dict[str, int]:
        """As CuPy names them."""
        found = runtime.getDeviceProperties(self.id)
        return {"MultiProcessorCount": found["multiProcessorCount"], "ClockRate": found["clockRate"]}


cuda = types.SimpleNamespace(
    Device=Device, runtime=runtime, Stream=simulated_streams.Stream, Event=simulated_streams.SimulatedEvent,
    Graph=simulated_streams.Graph, graph=types.SimpleNamespace(Graph=simulated_streams.Graph),
    get_current_stream=simulated_streams.get_current_stream, get_elapsed_time=simulated_streams.get_elapsed_time,
    MemoryPool=simulated_memory.MemoryPool, MemoryPointer=simulated_memory.MemoryPointer,
    Memory=simulated_memory.Memory, alloc=simulated_memory.alloc, alloc_pinned_memory=simulated_memory.PinnedMemory,
    set_allocator=simulated_memory.set_allocator, get_allocator=simulated_memory.get_allocator,
    using_allocator=simulated_memory.using_allocator, is_available=lambda: True,
)  # fmt: skip


def reset() -> None:
    """Between tests: counts are 0, nothing captures, no allocator is set."""
    counters.reset()
    simulated_streams.abandon_captures()
    simulated_memory.set_allocator(None)
    features.bfloat16 = features.checks = True
    features.room = None
    Device.current = 0


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    found = getattr(np, name)
    if isinstance(found, types.ModuleType):
        return _Module(found)
    return found if isinstance(found, type) or not callable(found) else _function(found)
