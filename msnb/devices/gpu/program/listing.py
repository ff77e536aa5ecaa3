"""What people are shown of a program: its kernels as loops, LLVM IR and PTX, and how each node runs."""

from __future__ import annotations

from typing import Any

from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, module_text
from msnb.devices.gpu.program.steps import DeviceStep, KernelStep
from msnb.devices.inspection import Listing, NodeLowering
from msnb.devices.llvm.nvptx import ptx_of


def listings(program: Any, chip: str) -> list[Listing]:
    """Every kernel once, in the order of the program."""
    found: dict[str, GpuKernel] = {}
    for step in _steps(program):
        if isinstance(step, KernelStep):
            found.setdefault(step.kernel.launches[0].function, step.kernel)
    return [_listing(f"k{i}", kernel, chip) for i, kernel in enumerate(found.values())]


def _listing(name: str, kernel: GpuKernel, chip: str) -> Listing:
    text = module_text([kernel])
    launches = "".join(f"\n; launch {x.function}: grid {x.grid}, block {x.block}" for x in kernel.launches)
    return Listing(name, str(kernel.kernel) + launches, text, "LLVM IR", ptx_of(text, chip).decode())


def ways(program: Any) -> list[NodeLowering]:
    """How each node runs."""
    return [NodeLowering(step.node, step.how) for step in _steps(program) if step.node is not None]


def _steps(program: Any) -> list[DeviceStep]:
    built = getattr(program, "built", None)
    return [] if built is None else list(built.steps)
