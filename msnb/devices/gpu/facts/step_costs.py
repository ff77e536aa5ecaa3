"""What each step of a program moves and computes, told from its kernel IR or its node, before anything runs.

    least     every operand that it touches read once, every result written once
    moved     with the parts of split sums, and with rows that are read again because they do not fit into registers
    flops     one per scalar instruction and point; of a library's call what the record of the operator says

A broadcast operand counts once: it stays in a cache.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msnb.core import TensorType
from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel
from msnb.devices.gpu.codegen.row_schedule import RowSchedule
from msnb.devices.gpu.program.library_call import precision
from msnb.devices.gpu.program.multi_tensor_step import ChainStep
from msnb.devices.gpu.program.steps import CopyStep, DeviceStep, KernelStep, LibraryStep
from msnb.devices.inspection import LaunchCost
from msnb.ir.kernel import Access, Kernel, UnsupportedKernel
from msnb.ir.node_cost import bytes_of, flops_of

_FREE = ("load", "const", "cast")


def launch_costs(program: Any) -> list[LaunchCost]:
    """One entry per step, in order."""
    built = getattr(program, "built", None)
    names: dict[str, str] = {}
    return [] if built is None else [_cost(step, names) for step in built.steps]


def _cost(step: DeviceStep, names: dict[str, str]) -> LaunchCost:
    if isinstance(step, ChainStep):
        parts = [_kernel_cost(m.kernel.kernel) for m in step.members]
        least, moved, flops = (sum(part[k] for part in parts) for k in range(3))
        return _told(step, _name(step.kernel, names), int(least), int(moved), flops, step.kernel)
    if isinstance(step, KernelStep):
        kernel = step.kernel
        if kernel.kernel.stores:
            least, moved, flops = _kernel_cost(kernel.kernel)
            moved += _workspace(kernel)
        else:
            least = moved = _buffer_bytes(step)
            flops = flops_of(step.node) if step.node is not None else 0.0
        return _told(step, _name(kernel, names), least, moved, flops, kernel)
    if isinstance(step, CopyStep):
        return LaunchCost("copy", "copy", 1, 2 * step.size, 2 * step.size)
    nbytes = 0 if step.node is None or "control" in step.node.op.traits else bytes_of(step.node)
    flops = 0.0 if step.node is None else flops_of(step.node)
    name = step.node.op.name if step.node is not None else step.how
    matrix = isinstance(step, LibraryStep)
    return LaunchCost(name, step.how, 1, nbytes, nbytes, flops, _dtype(step, matrix), node=step.node)


def _told(step: DeviceStep, name: str, least: int, moved: int, flops: float, kernel: GpuKernel) -> LaunchCost:
    shapes = tuple((launch.function, launch.grid, launch.block) for launch in kernel.launches)
    return LaunchCost(name, step.how, len(kernel.launches), least, moved, flops, _dtype(step), shapes, step.node)


def _name(kernel: GpuKernel, names: dict[str, str]) -> str:
    return names.setdefault(kernel.launches[0].function, f"k{len(names)}")


def _buffer_bytes(step: DeviceStep) -> int:
    return sum(b.size for b in {id(b): b for b in (*step.reads, *step.writes)}.values())


def _dtype(step: DeviceStep, matrix: bool = False) -> str:
    """Which units compute: the dtype of operands, TF32 where products may round to it."""
    types = [] if step.node is None else [v.type for v in step.node.inputs if isinstance(v.type, TensorType)]
    name = types[0].dtype.name if types else "float32"
    if not matrix:
        return "float64" if name == "float64" else "float32"
    return "tf32" if name == "float32" and precision() == "high" else name


# ---- kernels ----


def _kernel_cost(kernel: Kernel) -> tuple[int, int, float]:
    """Least bytes, bytes that are moved, flops."""
    size_of: Callable[[frozenset[int]], int] = lambda dims: math.prod(kernel.sizes[d] for d in dims)
    touched: dict[int, int] = {}
    flops = 0.0
    for inst in kernel.insts():
        if inst.op == "load":
            touched[inst.attr.buffer] = max(touched.get(inst.attr.buffer, 0), _extent(kernel, inst.attr))
        elif inst.op not in _FREE:
            flops += size_of(inst.args[0].dims if inst.op == "reduce" else inst.dims)
    for access, _ in kernel.stores:
        touched[access.buffer] = max(touched.get(access.buffer, 0), _extent(kernel, access))
    buffers = kernel.buffers
    nbytes = {b: min(n, buffers[b].size) * buffers[b].dtype.itemsize for b, n in touched.items()}
    least = sum(nbytes.values())
    return least, least + _again(kernel, nbytes), flops


def _extent(kernel: Kernel, access: Access) -> int:
    """How many elements an access goes over."""
    return math.prod(size for size, stride in zip(kernel.sizes, access.strides) if stride)


def _again(kernel: Kernel, nbytes: dict[int, int]) -> int:
    """Bytes that later sweeps over long rows read again."""
    loads = [i for i in kernel.insts() if i.op == "load" and i.dims & kernel.row]
    try:
        plan = RowSchedule(kernel) if any(i.op == "reduce" for i in kernel.insts()) else None
    except UnsupportedKernel:
        plan = None
    if plan is None or plan.tiling.held or len(plan.sweeps.levels) < 2:
        return 0
    return (len(plan.sweeps.levels) - 1) * sum(nbytes[b] for b in {i.attr.buffer for i in loads})


def _workspace(kernel: GpuKernel) -> int:
    """Parts of split sums: written once, read once."""
    return 2 * kernel.workspace
