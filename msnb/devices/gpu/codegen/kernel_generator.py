"""From kernel IR to GPU kernels: the layout that fits, or several kernels where no single one does.

no reductions         pointwise_kernel
reductions            row_kernel
sums that no one layout holds (over rows here, over columns there)      one kernel for each result
"""

from __future__ import annotations

from msnb.devices.gpu.codegen.gpu_kernel import GpuKernel, symbol_of
from msnb.devices.gpu.codegen.gpu_target import NEWEST, GpuTarget
from msnb.devices.gpu.codegen.point_values import check
from msnb.devices.gpu.codegen.pointwise_kernel import PointwiseKernel
from msnb.devices.gpu.codegen.row_kernel import RowKernel
from msnb.devices.gpu.codegen.tiled_kernel import TiledKernel, far_loads
from msnb.ir.kernel import Access, Inst, Kernel, UnsupportedKernel

Part = tuple[GpuKernel, list[int], list[int]]


def generate(kernel: Kernel, target: GpuTarget = NEWEST) -> list[Part]:
    """GPU kernels that do what ``kernel`` does, in order.

    Args:
        kernel: the loop nest.
        target: the GPU.

    Returns:
        Each with the numbers of the reads and of the writes of ``kernel`` that it has.

    Raises:
        UnsupportedKernel: there is no code for it.
    """
    key = symbol_of(kernel, target)
    if key not in _known:
        if len(_known) >= MOST_KNOWN:
            _known.clear()
        _known[key] = _generated(kernel, target)
    return _known[key]


MOST_KNOWN = 4096
_known: dict[str, list[Part]] = {}


def _generated(kernel: Kernel, target: GpuTarget) -> list[Part]:
    check(kernel)
    try:
        return [(_single(kernel, target), list(range(len(kernel.reads))), list(range(len(kernel.writes))))]
    except UnsupportedKernel:
        if len(kernel.stores) < 2:
            raise
    return [_part(kernel, access, value, target) for access, value in kernel.stores]


def _single(kernel: Kernel, target: GpuTarget) -> GpuKernel:
    reduces = any(i.op == "reduce" for i in kernel.insts())
    kind: type[PointwiseKernel | RowKernel | TiledKernel] = RowKernel if reduces else PointwiseKernel
    if not reduces and far_loads(kernel) is not None:
        kind = TiledKernel
    return kind(kernel, symbol_of(kernel, target), target).made()


def _part(kernel: Kernel, access: Access, value: Inst, target: GpuTarget) -> Part:
    """The kernel of one store. Its instructions are copies: their buffers have other numbers."""
    write = access.buffer - len(kernel.reads)
    part = Kernel(kernel.name, kernel.sizes, kernel.row, [], [kernel.writes[write]], [(access, value)])
    used = sorted({i.attr.buffer for i in part.insts() if i.op == "load"})
    number = {b: k for k, b in enumerate(used)}
    part.reads = [kernel.reads[b] for b in used]
    copies: dict[int, Inst] = {}
    for inst in part.insts():
        attr = inst.attr
        if inst.op == "load":
            attr = Access(number[attr.buffer], attr.strides, attr.offset)
        copies[id(inst)] = Inst(inst.op, [copies[id(a)] for a in inst.args], inst.dtype, attr, inst.dims)
        copies[id(inst)].dims = inst.dims
    part.stores = [(Access(len(used), access.strides, access.offset), copies[id(value)])]
    return _single(part, target), used, [write]
