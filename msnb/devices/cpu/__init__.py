"""The CPU: NumPy arrays as buffers, reference bodies as kernels, and graphs as native programs.

``compile`` makes one native program of a graph (``program``) where the session wants machine code; without llvmlite the
same graph runs on the reference bodies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import msnb.devices.cpu.blas
from msnb.core.context import get_context
from msnb.core.devices import register_device
from msnb.core.events import notice
from msnb.core.types import Type
from msnb.devices.base import ArrayDevice, Executable, Kernel
from msnb.devices.listing import Listing, Way
from msnb.ir.control import FUSED
from msnb.ir.graph import Graph
from msnb.ops.record import Op


class CPU(ArrayDevice):
    """The host processor, with NumPy arrays as buffers."""

    fuses = True

    def __init__(self) -> None:
        super().__init__("CPU", np)

    @property
    def prefers_channels_last(self) -> bool:
        """True where convolutions are the library's (oneDNN): it is fastest on images with their channels last."""
        from msnb.devices.cpu.onednn.api import api

        return api() is not None

    def kernel(self, op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> Kernel:
        """Convolutions and poolings in native code where machine code is wanted, else the reference body."""
        body = super().kernel(op, types, attrs)
        if op.family not in ("conv", "pool") or get_context("jit_level") != "O1":
            return body
        try:
            from msnb.devices.cpu.builtin.eager import eager_kernel
        except ImportError:
            return body
        return eager_kernel(op, types, attrs, body) or body

    def compile(self, graph: Graph) -> Executable:
        """The program: one native call where machine code is wanted and llvmlite is installed."""
        if get_context("jit_level") != "O1" and not any(node.op is FUSED for _, node in graph.walk()):
            return super().compile(graph)
        try:
            from msnb.devices.cpu.program.execute import NativeProgram
        except ImportError:
            notice(
                "llvmlite is not installed (pip install llvmlite): graphs run operation by operation.", key="llvmlite"
            )
            return super().compile(graph)
        return NativeProgram(self, graph)

    def code_on_disk(self) -> tuple[int, int]:
        """How many files of machine code are kept from earlier sessions, and their bytes."""
        from msnb.devices.cpu.codegen.store import folder

        home = folder()
        sizes = [p.stat().st_size for p in home.iterdir() if p.is_file()] if home is not None else []
        return len(sizes), sum(sizes)

    def kernels_of(self, program: Executable) -> list[Listing]:
        """The loops, LLVM IR and assembly of a native program's kernels."""
        if not hasattr(program, "kernels"):
            return []
        from msnb.devices.cpu.codegen.listing import listings

        return listings(program)

    def ways_of(self, program: Executable) -> list[Way]:
        """How each node of a native program runs."""
        if not hasattr(program, "recipes"):
            return []
        from msnb.devices.cpu.codegen.listing import ways

        return ways(program)


register_device("CPU", CPU)
