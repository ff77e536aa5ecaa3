"""The steps of a program: kernel launches, library calls, copies, and operations of the array module.

Every step says what it reads and writes, so that memory can be planned, and runs on an Environment. A step that is
``capturable`` does nothing on the host that matters: it may be recorded into a CUDA graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.core.types import TensorType
from msnb.devices.gpu.kernel_cache import KernelCache
from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, Launch
from msnb.devices.gpu.program.buffers import DeviceBuffer, Environment, Place
from msnb.devices.reference_executor import explained
from msnb.ir.graph import Node


class Step:
    """What a program does at one moment.

    Attributes:
        node: where it comes from (None for copies that the program needs).
        reads, writes, temps: the buffers.
        capturable: it may be part of a CUDA graph.
        inplace: pairs of buffers (read, written) that may be one memory.
    """

    capturable = True

    def __init__(self, node: Node | None, reads: Sequence[Place], writes: Sequence[Place]) -> None:
        self.node = node
        self.places = list(reads), list(writes)
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

    def run(self, env: Environment) -> None:
        """Do it: on the stream of the environment."""
        raise NotImplementedError


class KernelStep(Step):
    """A generated kernel: one launch, or two where blocks share sums."""

    def __init__(
        self, node: Node, kernel: GpuKernel, cache: KernelCache, reads: Sequence[Place], writes: Sequence[Place]
    ) -> None:
        super().__init__(node, reads, writes)
        self.kernel, self.cache = kernel, cache
        self.operands = [*reads, *writes]
        if kernel.workspace:
            self.temps = [DeviceBuffer("arena", kernel.workspace, "workspace")]
            self.operands.append(Place(self.temps[0]))
        self.inplace = [(reads[i].buffer, writes[j].buffer) for i, j in kernel.inplace]

    @property
    def how(self) -> str:
        """The name of the function."""
        return f"generated kernel {self.kernel.launches[0].function}"

    def run(self, env: Environment) -> None:
        """Launch."""
        for launch in self.kernel.launches:
            self._launch(launch, env)

    def _launch(self, launch: Launch, env: Environment) -> None:
        function = self.cache.function(launch.function)
        args = tuple([env.address(self.operands[i]) for i in launch.operands])
        function(launch.grid, launch.block, args, stream=env.stream)


class CopyStep(Step):
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


class ArrayStep(Step):
    """An operation of the array module: what there is no kernel for.

    Args:
        node: the operation.
        kernel: from arrays to arrays.
        operands: per input a place and its type, or a Python number.
        results: per output a place and its type (None for what is no tensor).
    """

    def __init__(
        self,
        node: Node,
        kernel: Callable[..., Any],
        operands: Sequence[tuple[Place, TensorType] | Any],
        results: Sequence[tuple[Place, TensorType] | None],
        capturable: bool = True,
    ) -> None:
        reads = [o[0] for o in operands if isinstance(o, tuple)]
        super().__init__(node, reads, [r[0] for r in results if r is not None])
        self.kernel, self.operands, self.results = kernel, operands, results
        self.capturable = capturable

    @property
    def how(self) -> str:
        """The array module does it."""
        return "array module"

    def run(self, env: Environment) -> None:
        """Compute, and lay the results where they belong."""
        assert self.node is not None
        args = [env.array(*o) if isinstance(o, tuple) else o for o in self.operands]
        try:
            found = self.kernel(*args)
        except Exception as error:
            told = explained(self.node, error, args)
            raise told from told.__cause__
        many = found if isinstance(found, (tuple, list)) else (found,)
        for result, place in zip(many, self.results):
            if place is not None and place[1].size:
                env.array(*place)[...] = result
