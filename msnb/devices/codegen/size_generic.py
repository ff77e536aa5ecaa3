"""Kernels that are one long chain: compiled once for all extents.

sgd, for every parameter:   p - lr * g            one kernel  k(i0 < n)
"""

from __future__ import annotations

from msnb.ir.kernel.kernel_ir import Access, Buffer, Kernel

ANY = 1 << 40


def _is_plain_chain(kernel: Kernel) -> bool:
    """Whether every element follows from those at its own place, and from scalars."""
    insts = kernel.insts()
    loads = [i.attr for i in insts if i.op == "load"]
    stores = [a for a, _ in kernel.stores]
    if any(i.op == "reduce" for i in insts) or any(a.strides != (1,) for a in stores):
        return False
    if any(a.offset or a.strides[0] not in (0, 1) for a in (*loads, *stores)):
        return False
    return all(_fits(kernel, a) for a in loads)


def generic(kernel: Kernel) -> Kernel | None:
    """The kernel for any extent, where it is a plain chain of one dim; else None."""
    if len(kernel.sizes) != 1 or kernel.sizes[0] == 1 or kernel.shifts or not _is_plain_chain(kernel):
        return None
    size = kernel.sizes[0]
    reads = [Buffer(b.dtype, ANY if b.size == size else 1) for b in kernel.reads]
    writes = [Buffer(b.dtype, ANY) for b in kernel.writes]
    return Kernel(kernel.name, (ANY,), kernel.row, reads, writes, kernel.stores)


def _fits(kernel: Kernel, access: Access) -> bool:
    return kernel.reads[access.buffer].size == (kernel.sizes[0] if access.strides[0] else 1)


def is_generic(kernel: Kernel) -> bool:
    """True for a kernel whose extent is known at run time only."""
    return kernel.sizes == (ANY,)
