"""Weights in blocks: what the library likes, as ``core.storage.memory_format`` says it, and back again.

    descriptor of an argument  --learn-->  Blocks        when a program is made: how shall this weight lie?
    Blocks and sizes           --shown-->  Argument      when its nodes are lowered: which descriptor is that?

The library's interface makes no descriptor of blocks; only its primitives have some. So every layout that a primitive
has shown is remembered together with that primitive, whose argument stands for the layout from then on.

Layouts with padding are left alone: their sizes are not the tensor's. So are the weights of grouped convolutions, which
have an axis more for the library.
"""

from __future__ import annotations

from msnb.core.storage.memory_format import BlockedFormat
from msnb.devices.cpu.native_kernel import NativeKernel, ViewOf
from msnb.devices.cpu.onednn import c_api as c, primitive_chain as chain
from msnb.devices.cpu.onednn.primitives import Argument, Layout, Primitive, reorder
from msnb.ir.graph import Node, Value
from msnb.ir.kernel.strided_views import dense_strides
from msnb.ops.shape.blocked_layout import UNBLOCK

Ints = tuple[int, ...]
Source = tuple[Layout | Argument, chain.DataRef]
"""An operand: how it lies, and where."""
_shown: dict[tuple[Ints, BlockedFormat, int], Argument] = {}


def learn(primitive: Primitive, number: int, dtype: int) -> BlockedFormat | None:
    """The blocks in which an argument lies, which ``shown`` knows from now on; None where it lies otherwise, or is of
    another dtype."""
    try:
        lying = primitive.api.lying(primitive.desc(number))
    except c.OneDNNError:
        return None
    blocks = _blocks(lying) if lying.dtype == dtype else None
    if blocks is not None:
        _shown.setdefault((lying.dims, blocks, dtype), Argument(primitive, number))
    return blocks


def _blocks(lying: c.MemoryLayout) -> BlockedFormat | None:
    """Axes by the distance of their blocks; None unless that says it all."""
    if not lying.inner or lying.padded != lying.dims:
        return None
    order = tuple(sorted(range(len(lying.dims)), key=lambda axis: -lying.strides[axis]))
    found = BlockedFormat(order, lying.inner)
    shape = found.shape(lying.dims)
    dense = zip(shape, dense_strides(shape), (lying.strides[axis] for axis in order))
    return found if all(size == 1 or want == stride for size, want, stride in dense) else None


def shown(value: Value, blocks: BlockedFormat) -> Argument:
    """The argument that lies as a plain ``value`` does in blocks. Raises Impossible for blocks never seen."""
    try:
        return _shown[chain.shape_of(value), blocks, chain.number_of(chain.dtype_of(value))]
    except KeyError:
        raise chain.NotSupported from None


def source_of(build: chain.Builder, value: Value) -> Source | None:
    """A weight in the blocks out of which it is taken; None where it is in none."""
    node = value.node
    if node is None or node.op is not UNBLOCK:
        return None
    try:
        return shown(value, BlockedFormat(**node.attrs)), build.place(chain.as_it_is(node.inputs[0]))
    except chain.NotSupported:
        return None


def copied_into(node: Node, view_of: ViewOf) -> NativeKernel:
    """block: a copy into blocks."""
    build, value = chain.Builder(node, view_of), node.inputs[0]
    view = build.view(value)
    plain = Layout(view.shape, view.strides, chain.number_of(chain.dtype_of(value)))
    build.run(
        chain.need(reorder(plain, shown(value, BlockedFormat(**node.attrs)))),
        {c.SRC: build.place(view), c.DST: chain.DataRef("out", 0)},
    )
    return build.recipe()


def copied_out(node: Node, view_of: ViewOf) -> NativeKernel:
    """unblock: a copy out of blocks."""
    build, dims = chain.Builder(node, view_of), chain.shape_of(node.out)
    plain = Layout(dims, dense_strides(dims), chain.number_of(chain.dtype_of(node.out)))
    copy = chain.need(reorder(shown(node.out, BlockedFormat(**node.attrs)), plain))
    build.run(copy, {c.SRC: build.place(chain.as_it_is(node.inputs[0])), c.DST: chain.DataRef("out", 0)})
    return build.recipe()
