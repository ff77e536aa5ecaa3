"""What the three convolutions share: how their images and weights lie, and which layout of images is fastest."""

from __future__ import annotations

import math

from msnb.devices.cpu.native_kernel import ViewOf
from msnb.devices.cpu.onednn.primitive_chain import Builder, DataRef, as_it_is, dtype_of, number_of, shape_of
from msnb.devices.cpu.onednn.primitives import KernelWindow, Layout
from msnb.devices.cpu.onednn.weight_reorder import Source, source_of
from msnb.ir.graph import Node, Value
from msnb.ir.kernel.strided_views import View, dense_strides

Ints = tuple[int, ...]
_FIRST, _LAST = (0, 1, 2, 3), (0, 3, 1, 2)
_COLOURS, _NARROW, _BLOCK = 3, 8, 16
_EVERY_PIXEL = KernelWindow((1, 1), (1, 1), (0, 0), (0, 0))


def channels_last(dims: Ints) -> Ints:
    """Strides, by (n, c, h, w), of images whose channels lie together."""
    _, ch, h, w = dims
    return h * w * ch, 1, w * ch, ch


def same_strides(dims: Ints, a: Ints, b: Ints) -> bool:
    """True when both strides say the same bytes: an axis of size 1 has no stride."""
    return all(d == 1 or s == t for d, s, t in zip(dims, a, b))


class Images:
    """An operand or result of a convolution: its layout in the library's axis order, and where it is."""

    def __init__(self, view: View, place: DataRef, data_format: str, dtype: int) -> None:
        order = _FIRST if data_format == "NCHW" else _LAST
        dims = tuple(view.shape[i] for i in order)
        strides = tuple(view.strides[i] for i in order)
        self.place = place
        self.last: bool = same_strides(dims, strides, channels_last(dims))
        self.layout: Layout = Layout(dims, channels_last(dims) if self.last else strides, dtype)

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self.layout.dims)

    def wanted(self, how: str, dtype: int) -> Layout:
        """The layout to ask a primitive for: "last", "plain", or "free" for its own choice."""
        dims = self.layout.dims
        strides = {"last": channels_last(dims), "plain": dense_strides(dims), "free": None}[how]
        return Layout(dims, strides, dtype)


def window_of(node: Node) -> KernelWindow:
    """A node's attributes as oneDNN wants them."""
    top, bottom, left, right = node.attrs["pads"]
    return KernelWindow(node.attrs["stride"], node.attrs["dilation"], (top, left), (bottom, right))


class Convolution:
    """What the three recipes share: operands, result, weights."""

    window: KernelWindow

    def __init__(self, node: Node, view_of: ViewOf) -> None:
        self.node: Node = node
        self.build: Builder = Builder(node, view_of)
        self.window, self.groups = window_of(node), node.attrs["groups"]
        self.dtype: int = number_of(dtype_of(node.outputs[0]))

    def images(self, value: Value) -> Images:
        """An operand that is images."""
        shape_of(value)
        number_of(dtype_of(value))
        view = self.build.view(value)
        return Images(view, self.build.place(view), self.node.attrs["data_format"], self.dtype)

    def result(self) -> Images:
        """The result, if it is images."""
        return Images(as_it_is(self.node.out), DataRef("out", 0), self.node.attrs["data_format"], self.dtype)

    def weight(self, view: View) -> Layout:
        """A weight as it lies; groups are an axis in front."""
        dims, strides = view.shape, view.strides
        if self.groups > 1:
            outs = dims[0] // self.groups
            dims, strides = (self.groups, outs, *dims[1:]), (outs * strides[0], *strides)
        return Layout(dims, strides, self.dtype)

    def source(self, value: Value, view: View) -> Source:
        """A weight as it lies, and where; ``view`` is of its plain form."""
        known = source_of(self.build, value) if self.groups == 1 else None
        return known or (self.weight(view), self.build.place(view))

    def how(self, kernel: Ints, x: Images, y: Images, result: str) -> str:
        """The layout of images that is fastest where ``result`` ("x", "y", "weight") is computed."""
        channels = x.layout.dims[1]
        if x.size + y.size < math.prod(kernel) * channels // self.groups * y.layout.dims[1]:
            return "free"
        plain = not x.last and not y.last
        if result == "x" and channels < _NARROW and self.groups == 1:
            return "plain" if channels <= _COLOURS else "free"
        if not plain:
            return "last"
        if kernel == (1, 1) and self.window == _EVERY_PIXEL and self.groups == 1:
            return "plain"
        return "last" if channels % _BLOCK and channels > _COLOURS else "free"
