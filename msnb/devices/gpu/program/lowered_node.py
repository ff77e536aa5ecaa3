"""How one node runs on the GPU: the kernels or the library call, and the values that they read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel
from msnb.devices.gpu.program.library_call import LibraryCall
from msnb.ir.graph import Value
from msnb.ir.kernel.strided_views import View

ViewOf = Callable[[Value], View]


@dataclass
class KernelPart:
    """A kernel over some of a node's operands: numbers of what it reads and of the outputs it writes."""

    kernel: GpuKernel
    reads: list[int]
    writes: list[int]


@dataclass
class LoweredNode:
    """How one node runs.

    Attributes:
        reads: the values that must lie somewhere.
        parts: generated kernels; library: a library's call; neither: the body over CuPy.
        before, after: kernels around the library's call: those that lay operands, by number, and one for the result.
    """

    reads: Sequence[Value]
    parts: list[KernelPart] = field(default_factory=list)
    library: LibraryCall | None = None
    before: dict[int, GpuKernel] = field(default_factory=dict)
    after: GpuKernel | None = None

    @property
    def kernels(self) -> list[GpuKernel]:
        """All that is generated for it."""
        around = [*self.before.values(), *([] if self.after is None else [self.after])]
        return [*(p.kernel for p in self.parts), *around]
