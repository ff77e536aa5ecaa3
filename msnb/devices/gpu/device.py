"""The GPU as a device: buffers are CuPy arrays, graphs are programs of generated kernels, launched as one CUDA graph.

Single operations in eager mode are generated kernels too, where there is code for them, else bodies over CuPy.

Values cross the bus only when somebody says so: ``Tensor.to`` and ``asnumpy`` do, an operation never does. CuPy itself
refuses a hidden way down (``numpy.asarray(cupy_array)``) but not every hidden way up (``cupy.asarray(numpy_array)``):
kernels look for NumPy arrays among their operands and answer with a sentence.

The array module is an argument: ``simulated_cuda`` poses as CuPy on machines without a GPU ("SimulatedGPU").
"""

from __future__ import annotations

import importlib
import importlib.util
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from msnb.base import DeviceError, MsnbError, device_registry, events, get_context
from msnb.core import Type, dtypes
from msnb.devices.device import ArrayDevice, DeviceFeatures, Executable, Kernel
from msnb.devices.gpu.chips import GpuChip, chip_called
from msnb.devices.gpu.codegen.gpu_target import NEWEST, GpuTarget, target_of
from msnb.devices.gpu.eager.eager_kernel import eager_kernel
from msnb.devices.gpu.eager.result_cache import ResultCache
from msnb.devices.gpu.facts.listing import launch_costs, listings, seconds_of_steps, ways
from msnb.devices.gpu.faults import FaultLog
from msnb.devices.gpu.kernels.indexing.index_write import ORDERED
from msnb.devices.gpu.libraries import cudnn_api
from msnb.devices.gpu.loaded_kernels import KernelCache
from msnb.devices.gpu.mistakes import WAY_OUT, check_chip, failure, unusable
from msnb.devices.gpu.program.device_program import DeviceProgram
from msnb.devices.inspection import LaunchCost, Listing, NodeLowering, PlannedBuffer
from msnb.ir import FUSED, Graph
from msnb.ops.definition.record import Op

_CHECKED = frozenset(("index", "getitem", "labels"))
"""Families of operations whose indices may be wrong."""


class GPUFeatures(DeviceFeatures):
    """Generated kernels for groups of operations; libraries for products and convolutions."""

    fuses: ClassVar[bool] = True
    worth_fusing: ClassVar[int] = 1  # what costs is the launch

    @property
    def has_attention(self) -> bool:
        """Kernels of its own, for two-byte floats."""
        return True

    @property
    def prefers_channels_last(self) -> bool:
        """True where convolutions are cuDNN's: its tensor cores want channels last."""
        return not cudnn_api.missing()


class GPU(ArrayDevice):
    """One NVIDIA GPU.

    Args:
        xp: the array module, CuPy or something that behaves like it.
        index: which GPU, counted from 0.
        name: of the device.

    Raises:
        RuntimeError: DeviceError: there is no such GPU.
    """

    features = GPUFeatures()

    def __init__(self, xp: Any, index: int = 0, name: str = "GPU") -> None:
        super().__init__(name, xp)
        self.index = index
        self._chips: dict[int, _Chip] = {}
        self._threads = threading.local()
        self.use(index)
        events.subscribe("context", self._follow)

    @property
    def _here(self) -> _Chip:
        found = self._chips.get(self.index)
        return found or self._chips.setdefault(self.index, _Chip(self.xp, self.index))

    @property
    def stream(self) -> Any:
        """Where programs are launched. It waits for the default stream, and that waits for it."""
        return self._here.stream

    @property
    def chip(self) -> str:
        """The GPU as compilers call it, such as ``sm_90``."""
        return self._here.chip

    @property
    def target(self) -> GpuTarget:
        """What generated code may count on."""
        return self._here.target

    @property
    def cache(self) -> KernelCache:
        """Its generated kernels."""
        return self._here.cache

    @property
    def faults(self) -> FaultLog:
        """Wrong indices that kernels have met."""
        return self._here.faults

    def results_of(self, shape: tuple[int, ...], dtype: Any) -> ResultCache:
        """Where results of this shape and dtype are taken from, on the GPU in use."""
        return self._here.result_caches.setdefault((shape, dtype), ResultCache(self.xp, shape, dtype))

    def current_stream(self) -> int:
        """The stream on which single operations run: CuPy's current one of this thread."""
        return int(self.xp.cuda.get_current_stream().ptr)

    @property
    def is_real(self) -> bool:
        """False for an array module that runs kernels by itself, on the host: libraries would not find its memory."""
        return not hasattr(self.xp, "load_kernels")

    def is_capturing(self) -> bool:
        """Whether launches are being recorded into a CUDA graph."""
        return bool(self.stream.is_capturing())

    def use(self, index: int) -> None:
        """Run on the GPU of this number from here on."""
        there = count_of(self.xp)
        if index >= there:
            found = f"{there} GPU{'s' if there != 1 else ''}"
            raise DeviceError(f"device_id={index} is not there: this machine has {found}.", hint=WAY_OUT)
        check_chip(*chip_of(self.xp, index))
        self.index = index
        self.attend()

    def attend(self) -> None:
        """Work of this thread goes to the GPU that is in use: CUDA gives every new thread the first one."""
        if getattr(self._threads, "index", 0 if not self.index else -1) != self.index:
            self.xp.cuda.Device(self.index).use()
            self._threads.index = self.index

    def _follow(self, changes: dict[str, Any]) -> None:
        if "device_id" in changes and device_registry.current() is self:
            self.use(changes["device_id"])

    def from_host(self, array: NDArray[Any]) -> Any:
        """A buffer on the GPU with these values."""
        self.attend()
        try:
            return self.xp.asarray(array)
        except (MemoryError, RuntimeError) as error:
            raise self.failure(error, "a tensor", array.nbytes) or error from None
        except (TypeError, ValueError) as error:
            dtype = dtypes.of_numpy(array.dtype)
            name = array.dtype if dtype is None else dtype.name
            raise DeviceError(
                f"this version of CuPy has no {name} arrays ({error}).", hint="use float16 or float32 on the GPU."
            ) from None

    def to_host(self, buffer: Any, check: bool = True) -> NDArray[Any]:
        """The values as a NumPy array: the one way down.

        Args:
            buffer: an array; check: tell wrong indices that kernels have met.

        Raises:
            IndexError: IndexOutOfRange: a kernel has met a wrong index since this was asked last.
        """
        if isinstance(buffer, (np.ndarray, np.generic)):
            return np.asarray(buffer)
        try:
            host: NDArray[Any] = self.xp.asnumpy(buffer)
        except RuntimeError as error:
            raise self.failure(error, "a value on its way to the host") or error from None
        if check:
            self.faults.check()
        return host

    def adopt(self, array: Any) -> Any:
        """A foreign array of the GPU as a view: the view tells that somebody else may write the memory."""
        self.attend()
        own = isinstance(array, self.xp.ndarray)
        found = array if own else self.xp.from_dlpack(array) if hasattr(array, "__dlpack__") else self.xp.asarray(array)
        return found.view()

    def publish(self) -> None:
        """Whoever orders its work behind CuPy's current stream comes behind the programs too.

        The default stream waits for them by itself, and so does whatever waits for that."""
        current, ours = self.xp.cuda.get_current_stream(), self.stream
        if current.ptr not in (0, ours.ptr) and not ours.is_capturing():
            current.wait_event(ours.record())

    def owns(self, buffer: Any) -> bool:
        """True for CuPy arrays."""
        return isinstance(buffer, self.xp.ndarray)

    def synchronize(self) -> None:
        """Wait for every kernel launched on this GPU; raises as ``to_host`` does."""
        try:
            self.xp.cuda.Device().synchronize()
        except RuntimeError as error:
            raise self.failure(error, "an operation before synchronize()") or error from None
        self.faults.check()

    def memory_use(self) -> tuple[int, int]:
        """Bytes in use of CuPy's pool, and bytes that the pool holds."""
        pool = self.xp.get_default_memory_pool()
        return int(pool.used_bytes()), int(pool.total_bytes())

    def release_memory(self) -> None:
        """CuPy's pool gives its free blocks back."""
        for cache in self._here.result_caches.values():
            cache.clear()
        self.xp.get_default_memory_pool().free_all_blocks()

    def failure(
        self, error: BaseException, who: str, count: int = 0, operands: Sequence[str] = (), plugin: bool = False
    ) -> MsnbError | None:
        """What an error of CuPy means; memory that nobody holds is given back where there was not enough."""
        return failure(self.xp, error, who, count, operands, plugin)

    def kernel(self, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Kernel:
        """A generated kernel or a library's call where the session wants machine code, or where the body over CuPy
        would leave open which of several writes counts or take a wrong index modulo the size; else that body."""
        run = self._body(op, types, super().kernel(op, types, attrs))
        if (get_context("jit_level") == "O1" or op in ORDERED or op.family in _CHECKED) and self._compiles:
            run = eager_kernel(self, op, types, attrs, run)
        return self._attending(run) if self.index else run

    def _body(self, op: Op, types: tuple[Type, ...], run: Kernel) -> Kernel:
        """The reference body; operands that live on the host are refused."""

        def checked(*buffers: Any) -> Any:
            for buffer in buffers:
                if isinstance(buffer, np.ndarray):
                    raise device_registry.misplaced(op.name, types, buffers) or TypeError(
                        "a host array among GPU operands"
                    )
            return run(*buffers)

        return checked

    def _attending(self, run: Kernel) -> Kernel:
        def attended(*buffers: Any) -> Any:
            self.attend()
            return run(*buffers)

        return attended

    @cached_property
    def _compiles(self) -> bool:
        """Whether code can be made here."""
        return importlib.util.find_spec("llvmlite") is not None or not self.is_real

    def compile(self, graph: Graph, is_body: bool = False) -> Executable:
        """A program of generated kernels where the session wants machine code, else bodies over CuPy.

        Args:
            graph: a verified graph; is_body: it is part of another program, which may be recorded with it.
        """
        if get_context("jit_level") != "O1" and not any(node.op is FUSED for _, node in graph.walk()):
            return super().compile(graph)
        return DeviceProgram(self, graph, is_body)

    def tell_unrecorded(self, name: str, reason: Exception) -> None:
        """Say once why a program is not one CUDA graph."""
        events.notice(f"{name} runs step by step on the GPU, not as one CUDA graph: {reason}", key=f"unrecorded {name}")

    # ---- for people ----

    def kernels_of(self, program: Executable) -> list[Listing]:
        """The loops, LLVM IR and PTX of a program's kernels."""
        return listings(program, self.chip)

    def ways_of(self, program: Executable) -> list[NodeLowering]:
        """How each node of a program runs."""
        return ways(program)

    def arena_of(self, program: Executable) -> list[PlannedBuffer]:
        """The memory plan of a program."""
        return getattr(program, "memory_plan", [])

    def launches_of(self, program: Executable) -> list[LaunchCost]:
        """What each step of a program moves and computes."""
        return launch_costs(program)

    @property
    def machine(self) -> GpuChip | None:
        """The chip's data sheet."""
        return chip_called(self._here.name, self.chip)

    def seconds_of(self, program: Executable, repeats: int = 5) -> list[float]:
        """Seconds of each step between two CUDA events, the least of several runs; none on a simulated GPU."""
        return seconds_of_steps(program, repeats) if self.is_real else []


class _Chip:
    """One GPU of this machine: its stream and its kernels, which no other one can run."""

    def __init__(self, xp: Any, index: int) -> None:
        self.xp, self.index = xp, index
        self.result_caches: dict[tuple[tuple[int, ...], Any], ResultCache] = {}

    @cached_property
    def stream(self) -> Any:
        return self.xp.cuda.Stream()

    @cached_property
    def chip(self) -> str:
        return f"sm_{chip_of(self.xp, self.index)[1]}"

    @cached_property
    def name(self) -> str:
        return str(self.xp.cuda.runtime.getDeviceProperties(self.index)["name"].decode())

    @cached_property
    def target(self) -> GpuTarget:
        found = self.xp.cuda.runtime.getDeviceProperties(self.index)
        return target_of(self.chip, int(found.get("multiProcessorCount", NEWEST.multiprocessors)))

    @cached_property
    def faults(self) -> FaultLog:
        return FaultLog(self.xp)

    @cached_property
    def cache(self) -> KernelCache:
        return KernelCache(self.xp, self.chip, self.faults)


def count_of(xp: Any) -> int:
    """How many GPUs there are."""
    try:
        return int(xp.cuda.runtime.getDeviceCount())
    except Exception as error:  # CuPy raises a type of its own when there is no driver
        raise unusable(error) from None


def chip_of(xp: Any, index: int) -> tuple[str, int]:
    """The name of a GPU, and its compute capability as one number."""
    found = xp.cuda.runtime.getDeviceProperties(index)
    name = found.get("name", b"GPU")
    return (name.decode() if isinstance(name, bytes) else str(name)), 10 * found["major"] + found["minor"]


def open_gpu(module: str = "cupy", name: str = "GPU") -> GPU:
    """The GPU that ``set_context(device_id=)`` names.

    Args:
        module: the array module to import.
        name: of the device.

    Raises:
        RuntimeError: DeviceError with the way out: CuPy, the driver or the device is missing.
    """
    try:
        xp = importlib.import_module(module)
    except ImportError as error:
        raise unusable(error) from None
    return GPU(xp, get_context("device_id"), name)
