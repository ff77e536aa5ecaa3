"""What people are shown of a program: its kernels as loops, LLVM IR and PTX, and how each node runs."""

from __future__ import annotations

import math
from typing import Any

from msnb.devices.gpu.assembler import assembled, missing
from msnb.devices.gpu.chips import chip_called, occupancy
from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, module_text
from msnb.devices.gpu.program.multi_tensor_step import ChainStep
from msnb.devices.gpu.program.step_costs import launch_costs
from msnb.devices.gpu.program.step_times import seconds_of_steps
from msnb.devices.gpu.program.steps import DeviceStep, KernelStep
from msnb.devices.inspection import Listing, NodeLowering
from msnb.devices.llvm.nvptx import ptx_of

__all__ = ["launch_costs", "listings", "seconds_of_steps", "ways"]


def listings(program: Any, chip: str) -> list[Listing]:
    """Every kernel once, in the order of the program."""
    found: dict[str, GpuKernel] = {}
    for step in _steps(program):
        if isinstance(step, (KernelStep, ChainStep)):
            found.setdefault(step.kernel.launches[0].function, step.kernel)
    return [_listing(f"k{i}", kernel, chip) for i, kernel in enumerate(found.values())]


def _listing(name: str, kernel: GpuKernel, chip: str) -> Listing:
    text = module_text([kernel])
    launches = "".join(f"\n; launch {x.function}: grid {x.grid}, block {x.block}" for x in kernel.launches)
    ptx = ptx_of(text, chip).decode()
    return Listing(name, str(kernel.kernel) + launches, text, "LLVM IR", ptx, _facts(kernel, ptx, chip))


def _facts(kernel: GpuKernel, ptx: str, chip: str) -> tuple[tuple[str, str], ...]:
    """What NVIDIA's assembler says of a kernel's functions, and how full they make a multiprocessor."""
    found: list[tuple[str, str]] = []
    threads = {launch.function: math.prod(launch.block) for launch in kernel.launches}
    shared = {launch.function: launch.shared_bytes for launch in kernel.launches}
    machine = chip_called("", chip)
    for one in assembled(ptx, chip):
        held = one.shared + shared.get(one.name, 0)
        told = f"{one.registers} registers, {one.spilled} bytes spilled, {held} bytes of shared memory"
        if machine is not None and one.name in threads:
            full = occupancy(machine, threads[one.name], one.registers, held)
            told += f"; occupancy {full.share:.0%} on {machine.name} ({full.blocks} blocks, by {full.limit})"
        if one.instructions:
            most = ", ".join(f"{count} {name}" for name, count in list(one.instructions.items())[:8])
            told += f"; {sum(one.instructions.values())} instructions: {most}"
        found.append((one.name, told))
    return tuple(found) or (("assembler", missing() or "ptxas did not take the code"),)


def ways(program: Any) -> list[NodeLowering]:
    """How each node runs."""
    return [NodeLowering(step.node, step.how) for step in _steps(program) if step.node is not None]


def _steps(program: Any) -> list[DeviceStep]:
    built = getattr(program, "built", None)
    return [] if built is None else list(built.steps)
