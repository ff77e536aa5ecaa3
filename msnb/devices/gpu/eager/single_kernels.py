"""The generated kernels of one operation, loaded and ready to launch.

    x + y, x * 0.5       all operands of one shape: one kernel for all sizes, which is told how many points there are.
                         Python numbers are arguments, no memory
    x + row, sums        a kernel for these sizes
    concat, pad ...      a kernel for each part
    argmax, poolings     the kernels that programs have for them

An operand that lies transposed is read where it lies: the kernel's body begins with a transpose, which costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from msnb.core.types import tensor_type
from msnb.devices.codegen.kernel_lowering import lower
from msnb.devices.codegen.value_views import Views
from msnb.devices.gpu.codegen import GpuKernel, GpuTarget, generate, symbol_of
from msnb.devices.gpu.codegen.point_values import check
from msnb.devices.gpu.codegen.pointwise_kernel import PointwiseKernel
from msnb.devices.gpu.loaded_kernels import KernelCache
from msnb.devices.gpu.program.node_lowering import lowered
from msnb.ir.graph import Graph, Node, Value, type_of
from msnb.ir.kernel import UnsupportedKernel, kind_of
from msnb.ops.shape.views import TRANSPOSE

Order = tuple[int, ...] | None
_COUNTED = 1 << 29


@dataclass
class ReadyLaunch:
    """A loaded function and how it is launched.

    Attributes:
        function: of the array module; grid, block: its size.
        operands: by number: operands of the operation, then results, then workspaces.
        numbers: what it is told behind its operands.
        shared_bytes: of shared memory that the launch brings.
    """

    function: Any
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    operands: tuple[int, ...]
    numbers: tuple[Any, ...] = ()
    shared_bytes: int = 0


@dataclass
class SingleKernels:
    """All launches of one operation, in order, and the bytes of the workspaces that they share."""

    launches: list[ReadyLaunch] = field(default_factory=list)
    workspaces: list[int] = field(default_factory=list)

    def add(self, kernel: GpuKernel, operands: Sequence[int], cache: KernelCache, first_workspace: int) -> None:
        """The launches of a kernel, whose buffers are these operands and results."""
        cache.load([kernel])
        places = list(operands)
        if kernel.workspace:
            places.append(first_workspace + len(self.workspaces))
            self.workspaces.append(kernel.workspace)
        for launch in kernel.launches:
            function, listed = cache.function(launch.function), tuple([places[i] for i in launch.operands])
            ready = ReadyLaunch(function, launch.grid, launch.block, listed, shared_bytes=launch.shared_bytes)
            self.launches.append(ready)


def single_kernels(node: Node, orders: Sequence[Order], device: Any) -> SingleKernels | None:
    """The kernels of a node; None where there are none.

    Args:
        node: of params.
        orders: per operand the order of axes in which it lies densely; None: as its type says.
        device: the GPU, whose cache loads them.
    """
    kind = kind_of(node)
    try:
        if kind == "elementwise" and not any(orders) and is_counted(node):
            return _counted(node, device)
        if kind in ("elementwise", "reduce"):
            return _sized(node, orders, device)
        strided = node.op.family == "attention"  # its kernels read rows wherever they lie
        return _lowered(node, orders, device) if strided or not any(orders) else None
    except UnsupportedKernel:
        return None


def is_counted(node: Node) -> bool:
    """True where all operands that are no single numbers have the shape of the result, and i32 counts its points."""
    out = type_of(node.out)
    types = [type_of(v) for v in node.inputs]
    return 1 < out.size < _COUNTED and all(t.shape == out.shape or t.size == 1 for t in types)


def _counted(node: Node, device: Any) -> SingleKernels:
    """The kernel for all sizes that divide by the same power of two."""
    size = type_of(node.out).size
    common = next(n for n in (16, 8, 4, 2, 1) if size % n == 0)
    made, cache = _of_numbers(node, 3 * common, device.target), device.cache
    total = size // made.lanes
    kernel = made.made()
    cache.load([kernel])
    (launch,) = kernel.launches
    grid = (-(-total // launch.block[0]), 1, 1)
    ready = ReadyLaunch(cache.function(launch.function), grid, launch.block, launch.operands, (np.int64(total),))
    return SingleKernels([ready])


def _of_numbers(node: Node, size: int, target: GpuTarget) -> PointwiseKernel:
    """The kernel of an elementwise node over ``size`` points; Python numbers are arguments."""
    body = Graph(node.op.name)
    params = [
        body.add_param(t if t.weak else tensor_type((size,) if t.size > 1 else (), t.dtype), f"x{i}")
        for i, t in enumerate(type_of(v) for v in node.inputs)
    ]
    out = type_of(node.out)
    body.outputs = [body.add(node.op, params, node.attrs, [tensor_type((size,), out.dtype)]).out]
    kernel = lower(body, tiles=False)
    check(kernel)
    if len(kernel.sizes) != 1:
        raise UnsupportedKernel("points that no one number counts")
    by_value = [i for i, p in enumerate(params) if type_of(p).weak]
    symbol = f"{symbol_of(kernel, target)}n" + "".join(f"v{i}" for i in by_value)
    return PointwiseKernel(kernel, symbol, target, by_value, counted=True)


def _sized(node: Node, orders: Sequence[Order], device: Any) -> SingleKernels:
    """Kernels for these sizes."""
    kernel = lower(_body(node, orders), tiles=False)
    by_value = [i for i, v in enumerate(node.inputs) if type_of(v).weak]
    n, found = len(node.inputs), SingleKernels()
    if by_value:
        check(kernel)
        if any(i.op == "reduce" for i in kernel.insts()):
            raise UnsupportedKernel("a number among the operands of a sum")
        symbol = symbol_of(kernel, device.target) + "".join(f"v{i}" for i in by_value)
        found.add(PointwiseKernel(kernel, symbol, device.target, by_value).made(), range(n + 1), device.cache, n + 1)
        return found
    for made, reads, _ in generate(kernel, device.target):
        found.add(made, [*reads, n], device.cache, n + 1)
    return found


def _body(node: Node, orders: Sequence[Order]) -> Graph:
    """The node alone, its operands in the order of axes in which they lie."""
    body, operands = Graph(node.op.name), list[Value]()
    for i, (v, order) in enumerate(zip(node.inputs, orders)):
        t = type_of(v)
        if order is None:
            operands.append(body.add_param(t, f"x{i}"))
            continue
        lying = body.add_param(t.with_shape(tuple(t.ints()[axis] for axis in order)), f"x{i}")
        back = tuple(order.index(axis) for axis in range(len(order)))
        operands.append(body.add(TRANSPOSE, [lying], {"perm": back}, [t]).out)
    body.outputs = list(body.add(node.op, operands, node.attrs, [v.type for v in node.outputs]).outputs)
    return body


def _lowered(node: Node, orders: Sequence[Order], device: Any) -> SingleKernels | None:
    """The kernels that programs have for a node, if they read its operands where they lie; None for those that may
    meet a wrong index, or a Python number."""
    body = _body(node, orders)
    inner = body.outputs[0].node
    assert inner is not None
    found = lowered(inner, Views().of, False, device.target)
    if found is None or not found.parts or any(k.faults for k in found.kernels):
        return None
    if any(v not in body.params or type_of(v).weak for v in found.reads):  # they read memory, not numbers
        return None
    places = [body.params.index(v) for v in found.reads]
    n, many, ready = len(node.inputs), len(node.outputs), SingleKernels()
    for part in found.parts:
        ready.add(
            part.kernel, [*(places[i] for i in part.reads), *(n + j for j in part.writes)], device.cache, n + many
        )
    return ready
