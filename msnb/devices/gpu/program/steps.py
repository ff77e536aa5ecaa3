"""The steps of a program: kernel launches, library calls, copies, and operations of the array module.

Every step says what it reads and writes, so that memory can be planned, and runs on an Environment. A step that is
``capturable`` does nothing on the host that matters: it may be recorded into a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.core import TensorType
from msnb.devices.gpu.codegen.gpu_kernel import FAULT, TAG, GpuKernel
from msnb.devices.gpu.loaded_kernels import KernelCache
from msnb.devices.gpu.program.buffers import ARENA, DeviceBuffer, Environment, Place
from msnb.devices.gpu.program.library_call import LibraryCall
from msnb.devices.reference_executor import explained
from msnb.ir.graph import Node


class DeviceStep:
    """What a program does at one moment.

    Attributes:
        node: where it comes from (None for copies that the program needs).
        reads, writes, temps: the buffers.
        capturable: it may be part of a CUDA graph.
        launches: how many of the device's.
        inplace: pairs of buffers (read, written) that may be one memory.
    """

    capturable, launches = True, 1

    def __init__(self, node: Node | None, reads: Sequence[Place], writes: Sequence[Place]) -> None:
        self.node = node
        self.places: tuple[list[Place], list[Place]] = list(reads), list(writes)
        self.temps: list[DeviceBuffer] = []
        self.inplace: list[tuple[DeviceBuffer, DeviceBuffer]] = []

    @property
    def reads(self) -> list[DeviceBuffer]:
        """The buffers that are read."""
        return [p.buffer for p in self.places[0]]

    @property
    def writes(self) -> list[DeviceBuffer]:
        """The buffers that are written."""
        return [p.buffer for p in self.places[1]]

    @property
    def how(self) -> str:
        """In words."""
        return "copy"

    def prepare(self, env: Environment) -> Any:
        """What has to happen on the host before the step is recorded; returns memory that the record reads."""

    def run(self, env: Environment) -> None:
        """Do it: on the stream of the environment."""
        raise NotImplementedError

    def replace(self, old: DeviceBuffer, new: DeviceBuffer) -> None:
        """Read and write another buffer in the place of one."""
        for places in self.places:
            places[:] = [Place(new, p.offset) if p.buffer is old else p for p in places]
        self.inplace = [(new if a is old else a, new if b is old else b) for a, b in self.inplace]


class KernelStep(DeviceStep):
    """A generated kernel: one launch, or two where blocks share sums."""

    def __init__(
        self, node: Node, kernel: GpuKernel, cache: KernelCache, reads: Sequence[Place], writes: Sequence[Place]
    ) -> None:
        super().__init__(node, reads, writes)
        self.kernel: GpuKernel = kernel
        self.cache: KernelCache = cache
        self.launches: int = len(kernel.launches)
        if kernel.workspace:
            self.temps = [DeviceBuffer(ARENA, kernel.workspace, "workspace")]
        self.inplace = [(reads[i].buffer, writes[j].buffer) for i, j in kernel.inplace]
        self.note = cache.faults.note(node, kernel.faults) if kernel.faults else None

    @property
    def how(self) -> str:
        """The name of the function."""
        return f"generated kernel {self.kernel.launches[0].function}"

    def run(self, env: Environment) -> None:
        """Launch."""
        places = [*self.places[0], *self.places[1], *map(Place, self.temps)]
        addresses = dict(enumerate(env.address(p) for p in places))
        if self.note is not None:
            addresses |= {FAULT: self.cache.faults.address, TAG: self.note.tag}
        for launch in self.kernel.launches:
            function = self.cache.function(launch.function)
            args, more = tuple([addresses[i] for i in launch.operands]), launch.shared_bytes
            function(launch.grid, launch.block, args, shared_mem=more, stream=env.stream)


class LibraryStep(DeviceStep):
    """A call of a library."""

    def __init__(self, node: Node, call: LibraryCall, reads: Sequence[Place], writes: Sequence[Place]) -> None:
        super().__init__(node, [Place(p.buffer, p.offset + o) for p, o in zip(reads, call.offsets)], writes)
        self.call = call
        if call.workspace:
            self.temps = [DeviceBuffer(ARENA, call.workspace, "workspace")]

    @property
    def how(self) -> str:
        """The library's name."""
        return self.call.how

    def run(self, env: Environment) -> None:
        """Call it."""
        ins, outs = ([env.address(p) for p in places] for places in self.places)
        workspace = env.address(Place(self.temps[0])) if self.temps else 0
        self.call.launch(ins, outs, workspace, env.stream.ptr)


class CopyStep(DeviceStep):
    """Bytes from one place to another."""

    def __init__(self, source: Place, target: Place, size: int) -> None:
        super().__init__(None, [source], [target])
        self.size = size

    def run(self, env: Environment) -> None:
        """An asynchronous copy on the device."""
        source, target = env.address(self.places[0][0]), env.address(self.places[1][0])
        if source != target and self.size:
            runtime = env.xp.cuda.runtime
            runtime.memcpyAsync(target, source, self.size, runtime.memcpyDeviceToDevice, env.stream.ptr)


class HostNumber:
    """A Python number among operands.

    Args:
        value: the number; param: the argument that it is, where it is one.
    """

    def __init__(self, value: Any = None, param: int = -1) -> None:
        self.value: Any = value
        self.param: int = param

    def of(self, env: Environment) -> Any:
        """The number in this run."""
        return self.value if self.param < 0 else env.numbers[self.param]


class ArrayStep(DeviceStep):
    """An operation of the array module: what there is no kernel for.

    Args:
        node: the operation.
        kernel: from arrays to arrays.
        operands: per input a place and its type, or a number that the host knows.
        results: per output a place and its type (None for what is no tensor).
        capturable: as of every step; launches: how many there are at least.
    """

    def __init__(
        self, node: Node, kernel: Callable[..., Any], operands: Sequence[tuple[Place, TensorType] | HostNumber],
        results: Sequence[tuple[Place, TensorType] | None], capturable: bool = True, launches: int = 1,
    ) -> None:  # fmt: skip
        super().__init__(
            node, [o[0] for o in operands if isinstance(o, tuple)], [r[0] for r in results if r is not None]
        )
        self.kernel = kernel
        self.operands: list[TensorType | HostNumber] = [o[1] if isinstance(o, tuple) else o for o in operands]
        self.results: list[TensorType | None] = [None if r is None else r[1] for r in results]
        self.capturable: bool = capturable
        self.launches: int = launches

    @property
    def how(self) -> str:
        """The array module does it."""
        return "array module"

    def run(self, env: Environment) -> None:
        """Compute, and lay the results where they belong."""
        assert self.node is not None
        reads, writes = map(iter, self.places)
        args = [o.of(env) if isinstance(o, HostNumber) else env.array(next(reads), o) for o in self.operands]
        try:
            found = self.kernel(*args)
        except Exception as error:
            told = explained(self.node, error, args)
            raise told from told.__cause__
        many = found if isinstance(found, (tuple, list)) else (found,)
        for result, t in zip(many, self.results):
            if t is not None:
                target = env.array(next(writes), t)
                target[...] = result
