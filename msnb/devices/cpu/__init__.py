"""The CPU: NumPy arrays as buffers, reference bodies as kernels, and graphs as native programs.

``compile`` makes one native program of a graph (``program``) where the session wants machine code; without llvmlite the
same graph runs on the reference bodies.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import get_context, notice, register_device
from msnb.base.disk_cache import folder
from msnb.base.threads import fork_locks
from msnb.core import TensorType, Type
from msnb.core.storage.memory_format import BlockedFormat
from msnb.devices.cpu import blas_threads
from msnb.devices.cpu.eager.einsum import steps_of
from msnb.devices.cpu.eager.loop_kernel import LoopKernel, is_worth
from msnb.devices.cpu.eager.short_rows import columns
from msnb.devices.device import ArrayDevice, DeviceFeatures, Executable, FusedCall, Kernel
from msnb.devices.inspection import Listing, NodeLowering, PlannedBuffer
from msnb.ir import FUSED, Graph, Node
from msnb.ir.analysis.structural_hash import Content
from msnb.ops.definition.record import Op

_SMALL = 4096


class CPUFeatures(DeviceFeatures):
    """Machine code through LLVM, convolutions of oneDNN, programs on disk."""

    fuses = True

    @property
    def prefers_channels_last(self) -> bool:
        """True where convolutions are the library's (oneDNN): it is fastest on images with their channels last."""
        from msnb.devices.cpu.onednn.c_api import api

        return api() is not None

    @property
    def remembers(self) -> bool:
        """True where programs are kept on disk."""
        if not _compiles():
            return False
        return folder() is not None


class CPU(ArrayDevice):
    """The host processor, with NumPy arrays as buffers."""

    features = CPUFeatures()

    def __init__(self) -> None:
        super().__init__("CPU", np)

    def kernel(self, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Kernel:
        """Native code where machine code is wanted and there is enough to do, else the reference body."""
        body = super().kernel(op, types, attrs)
        if blas_threads.shares(op, types):
            body = fork_locks.finished(body)
        if get_context("jit_level") != "O1":
            return body
        loops = LoopKernel(self, body, op, types, attrs) if is_worth(op, types, body) else body
        if "elementwise" in op.traits and isinstance(body, np.ufunc):
            body = loops = columns(types, op.result_types(types, attrs)[0], body) or body
        if not _is_work(op, types):
            return loops
        if not _compiles():
            return body
        if op.name == "einsum":
            return steps_of(types, attrs["equation"], self.kernel) or body
        from msnb.devices.cpu.eager.kernel_cache import eager_kernel

        return eager_kernel(op, types, attrs, body) or (loops if op.reduction else body)

    def fused(self, program: Any, hot: bool) -> FusedCall | None:
        """NumPy's loops in one builtin, where the compiler that writes it is loaded, or worth to be."""
        loaded = hot or "msnb.devices.cpu.llvm.jit" in sys.modules
        if get_context("jit_level") != "O1" or not loaded or not _compiles():
            return None
        from msnb.devices.cpu.eager.loop_table import fused

        return fused(*program)

    def compile(self, graph: Graph) -> Executable:
        """The program: one native call where machine code is wanted and llvmlite is installed."""
        if get_context("jit_level") != "O1" and not any(node.op is FUSED for _, node in graph.walk()):
            return super().compile(graph)
        if not _compiles():
            return super().compile(graph)
        from msnb.devices.cpu.program.run.executor import NativeProgram

        return NativeProgram(self, graph)

    def blocks_of(self, gradient: Node) -> BlockedFormat | None:
        """What oneDNN likes."""
        if not _compiles():
            return None
        from msnb.devices.codegen.value_views import Views
        from msnb.devices.cpu.onednn.provider import blocks_of

        return blocks_of(gradient, Views().of)

    def recall(self, content: Content, remake: Callable[[], Graph], packs: bool) -> Executable | None:
        """The program of a captured graph as an earlier compilation left it on disk, or None.

        Args:
            content: the captured graph by content.
            remake: gives the graph that ``compile`` would be given now; asked for only when somebody looks inside.
            packs: its state may lie in blocks; which, the program's ``forms`` say.
        """
        from msnb.devices.cpu.program.run import program_cache
        from msnb.devices.cpu.program.run.executor import NativeProgram

        image = program_cache.read(program_cache.key_of(content, packs), content)
        return None if image is None else NativeProgram(self, remake, image=image)

    def keep(self, content: Content, program: Executable, forms: dict[int, BlockedFormat], packs: bool) -> None:
        """Leave a program on disk for ``recall``, where it can be kept."""
        image = getattr(program, "image", None)
        if image is not None:
            from msnb.devices.cpu.program.run import program_cache

            image.forms = forms
            program_cache.write(program_cache.key_of(content, packs), image, content)

    def code_on_disk(self) -> tuple[int, int]:
        """How many files of code and programs are kept from earlier sessions, and their bytes."""
        home = folder()
        sizes = [p.stat().st_size for p in home.iterdir() if p.is_file()] if home is not None else []
        return len(sizes), sum(sizes)

    def kernels_of(self, program: Executable) -> list[Listing]:
        """The loops, LLVM IR and assembly of a native program's kernels."""
        if not hasattr(program, "kernels"):
            return []
        return self._listing().listings(program)  # type: ignore[no-any-return]

    def ways_of(self, program: Executable) -> list[NodeLowering]:
        """How each node of a native program runs."""
        if not hasattr(program, "recipes"):
            return []
        return self._listing().ways(program)  # type: ignore[no-any-return]

    def _listing(self) -> Any:
        """What shows programs to people."""
        from msnb.devices.cpu.codegen import kernel_listing

        return kernel_listing

    def arena_of(self, program: Executable) -> list[PlannedBuffer]:
        """The memory plan of a native program."""
        return getattr(program, "memory_plan", [])


def _compiles() -> bool:
    """Whether machine code can be made here; said once where it cannot."""
    if importlib.util.find_spec("llvmlite") is not None:
        return True
    notice(
        "llvmlite is not installed (pip install llvmlite): no machine code is made, operations run one by one.",
        key="llvmlite",
    )
    return False


_ALWAYS = frozenset(("conv", "pool", "random", "linalg", "factors"))
_ALONG = frozenset(("fourier", "reduce", "sorting", "cumulative", "selection", "sparse"))


def _is_work(op: Op, types: tuple[Type, ...]) -> bool:
    """False where it is clear at a glance that NumPy serves best."""
    if op.family in _ALWAYS or op.name == "einsum":
        return True
    works = op.name in ("matmul", "unindex") or op.family in _ALONG
    if not (op.reduction or works or "elementwise" in op.traits):
        return False
    return any(isinstance(t, TensorType) and t.is_static and t.size >= _SMALL for t in types)


register_device("CPU", CPU)
