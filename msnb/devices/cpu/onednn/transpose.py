"""The recipe of a transpose that must be made: the library's copy from one layout to another.

Most transposes are never made, their readers see through them. So the primitive is made only when the program asks for
its instructions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from msnb.core import DType, float32, int32
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.cpu.onednn import c_api as c, primitive_chain as chain
from msnb.devices.cpu.onednn.primitives import Layout, reorder
from msnb.ir.graph import Node, Value
from msnb.ir.kernel.strided_views import dense_strides

_COPIED: dict[DType, int] = {float32: c.F32, int32: c.S32}
_MOST_AXES = 6


class LazyTranspose(NativeKernel):
    """A copy, settled when it is needed."""

    def __init__(self, base: Value, source: Layout, target: Layout, offset: int) -> None:
        self.reads, self._layouts, self._offset = (base,), (source, target), offset

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        places = {c.SRC: chain.DataRef("in", 0, self._offset), c.DST: chain.DataRef("out", 0)}
        return chain.Steps(self.reads or (), (), [(chain.need(reorder(*self._layouts)), places)]).calls(
            ins, outs, temps
        )


def transpose(node: Node, view_of: ViewOf) -> NativeKernel:
    """A dense tensor from a transposed one."""
    dtype = _COPIED.get(chain.dtype_of(node.out))
    dims, source = chain.shape_of(node.out), node.inputs[0]
    chain.shape_of(source)
    if dtype is None or chain.dtype_of(source) is not chain.dtype_of(node.out) or not 0 < len(dims) <= _MOST_AXES:
        raise chain.NotSupported
    build = chain.Builder(node, view_of)
    view = build.view(source)
    if len(view.shape) != len(dims):
        view = chain.as_it_is(source)
    strides = tuple(max(view.strides[p], 1) for p in node.attrs["perm"])
    place = build.place(view)
    layout, target = Layout(dims, strides, dtype), Layout(dims, dense_strides(dims), dtype)
    if sum((n - 1) * step for n, step in zip(dims, strides)) + 1 != math.prod(dims):
        chain.need(reorder(layout, target))  # the library does not copy from every layout with gaps
    return LazyTranspose(view.base, layout, target, place.offset)
