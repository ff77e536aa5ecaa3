"""Recipes of the three convolutions.

The library is fast where channels lie together: images as [n, h, w, c] ("last") or in blocks of 16 channels ("free":
the library chooses). Where an operand lies so already (data_format "NHWC", or a transpose seen through) it is used as
it is. Plain images [n, c, h, w] are copied around the convolution, which costs two passes over memory and saves half of
the time. Weights are plain, or in the blocks of another convolution (``blocked``); they are brought into the
primitive's own layout here, unless they lie so. A gradient goes into blocks where a ``block`` behind it says so.

Measured exceptions: with 1x1 kernels on plain images the copies cost more than they save; images with three channels or
fewer would be padded to 16 when they are the result; blocks of 16 with few or odd channels are mostly padding; small
images under many channels (the last layers of a ResNet) are faster in blocks, and copying them costs nothing.

    images      dims (n, c, h, w) in the library's order; strides say how they lie
    weights     dims (o, i, kh, kw), or (g, o/g, i/g, kh, kw)

float16 and bfloat16 run on the units that the CPU has for them. Where it has none, operands are copied to float32 and
the result back: the copies that bring a layout change the dtype as well.
"""

from __future__ import annotations

from collections.abc import Callable

from msnb.core.storage.memory_format import BlockedFormat
from msnb.devices.cpu.native_kernel import NativeKernel, ViewOf
from msnb.devices.cpu.onednn import c_api as c, convolution_1x1, primitives
from msnb.devices.cpu.onednn.convolution_layout import Convolution, Images
from msnb.devices.cpu.onednn.primitive_chain import DataRef, NotSupported, as_it_is, is_constant, shape_of
from msnb.devices.cpu.onednn.primitives import Argument, Layout, Primitive
from msnb.devices.cpu.onednn.weight_reorder import Source, copied_into, learn, shown
from msnb.ir.graph import Node, Value


def first_of(make: Callable[[str, int], Primitive | None], best: str, dtype: int) -> Primitive:
    """The primitive for the best layout that the library has code for, in float32 where it has none for the dtype."""
    for kind in dict.fromkeys((dtype, c.F32)):
        for how in dict.fromkeys((best, "free", "last", "plain")):
            found = make(how, kind)
            if found is not None:
                return found
    raise NotSupported


def _free(layout: Layout, dtype: int) -> Layout:
    return Layout(layout.dims, None, dtype)


def conv2d(node: Node, view_of: ViewOf, bias: Value | None = None) -> NativeKernel:
    """y = conv(x, weight) + bias."""
    conv = Convolution(node, view_of)
    x, y = conv.images(node.inputs[0]), conv.result()
    view = conv.build.view(node.inputs[1])
    if convolution_1x1.is_product(conv, view, x, y):
        return convolution_1x1.forward(conv, x, view, y, bias)
    weight, source = conv.weight(view), conv.source(node.inputs[1], view)
    how = "last" if is_constant(view.base) and x.last and y.last else conv.how(view.shape[2:], x, y, "y")
    channels = None if bias is None else Layout(shape_of(bias), (1,), conv.dtype)
    run = first_of(
        lambda h, t: primitives.convolution(
            x.wanted(h, t), _free(weight, t), y.wanted(h, t), conv.window, channels and channels._replace(dtype=t)
        ),
        how, conv.dtype,
    )  # fmt: skip
    given = {} if bias is None or channels is None else {c.BIAS: (channels, conv.build.place(as_it_is(bias)))}
    return _forward(conv, run, x, {c.WEIGHTS: source, **given}, y)


def _forward(conv: Convolution, run: Primitive, x: Images, given: dict[int, Source], y: Images) -> NativeKernel:
    source = conv.build.fetch(run, c.SRC, x.layout, x.place)
    packed = {n: conv.build.fetch(run, n, *lying) for n, lying in given.items()}
    out = conv.build.result(run, c.DST, y.layout, y.place)
    conv.build.run(run, {c.SRC: source, **packed, c.DST: out})
    conv.build.deliver(run, c.DST, y.layout, out, y.place)
    return conv.build.recipe()


def conv2d_input_grad(node: Node, view_of: ViewOf) -> NativeKernel:
    """dx from dy and the weight."""
    conv = Convolution(node, view_of)
    dy, dx = conv.images(node.inputs[0]), conv.result()
    view = conv.build.view(node.inputs[1])
    if convolution_1x1.is_product(conv, view, dx, dy) and conv.window.stride == (1, 1):
        return convolution_1x1.input_grad(conv, view, dy)
    weight, lying = conv.weight(view), conv.source(node.inputs[1], view)
    how = conv.how(view.shape[2:], dx, dy, "x")
    run = first_of(
        lambda h, t: primitives.convolution_input_grad(dx.wanted(h, t), _free(weight, t), dy.wanted(h, t), conv.window),
        how, conv.dtype,
    )  # fmt: skip
    source = conv.build.fetch(run, c.DIFF_DST, dy.layout, dy.place)
    packed = conv.build.fetch(run, c.WEIGHTS, *lying)
    out = conv.build.result(run, c.DIFF_SRC, dx.layout, dx.place)
    conv.build.run(run, {c.DIFF_DST: source, c.WEIGHTS: packed, c.DIFF_SRC: out})
    conv.build.deliver(run, c.DIFF_SRC, dx.layout, out, dx.place)
    return conv.build.recipe()


def conv2d_weight_grad(node: Node, view_of: ViewOf) -> NativeKernel:
    """dweight from x and dy."""
    return WeightGradient(node, view_of).recipe(None)


def block(node: Node, view_of: ViewOf) -> NativeKernel:
    """A gradient that is made in blocks, or a copy into them."""
    made = node.inputs[0].node
    if made is None or made.op.name != "conv2d_weight_grad":
        return copied_into(node, view_of)
    return WeightGradient(made, view_of).recipe(shown(made.out, BlockedFormat(**node.attrs)))


def gradient_blocks(node: Node, view_of: ViewOf) -> BlockedFormat | None:
    """The blocks in which the gradient of a weight is made; None where it lies plain or is padded."""
    gradient = WeightGradient(node, view_of)
    if gradient.is_product or gradient.conv.groups > 1:
        return None
    return learn(gradient.primitive(), c.DIFF_WEIGHTS, gradient.conv.dtype)


class WeightGradient:
    """The gradient of a convolution to its weight."""

    x: Images
    dy: Images

    def __init__(self, node: Node, view_of: ViewOf) -> None:
        self.conv: Convolution = Convolution(node, view_of)
        self.x, self.dy = (self.conv.images(v) for v in node.inputs)
        self.whole = as_it_is(node.out)
        self.is_product: bool = convolution_1x1.is_product(self.conv, self.whole, self.x, self.dy)

    def primitive(self) -> Primitive:
        """What makes it where it is no product."""
        x, dy, window = self.x, self.dy, self.conv.window
        plain = self.conv.weight(self.whole)
        how = self.conv.how(self.whole.shape[2:], x, dy, "weight")
        return first_of(
            lambda h, t: primitives.convolution_weight_grad(x.wanted(h, t), _free(plain, t), dy.wanted(h, t), window),
            how, self.conv.dtype,
        )  # fmt: skip

    def recipe(self, target: Argument | None) -> NativeKernel:
        """How it is made, plain or in the target's layout."""
        if self.is_product and target is None:
            return convolution_1x1.weight_grad(self.conv, self.x, self.dy)
        build, run, place = self.conv.build, self.primitive(), DataRef("out", 0)
        layout = self.conv.weight(self.whole) if target is None else target
        images = build.fetch(run, c.SRC, self.x.layout, self.x.place)
        windows = build.fetch(run, c.DIFF_DST, self.dy.layout, self.dy.place)
        out = build.result(run, c.DIFF_WEIGHTS, layout, place)
        build.run(run, {c.SRC: images, c.DIFF_DST: windows, c.DIFF_WEIGHTS: out})
        build.deliver(run, c.DIFF_WEIGHTS, layout, out, place)
        return build.recipe()
