"""The recipe of matrix products.

    x [... m k]   y [... k n]   ->   out [... m n]        all as (dims, strides): transposes are seen through

Leading axes are folded where they can be: [b s k] @ [k n] is one product of b*s rows, which uses the machine better
than b products. Leading axes that broadcast have size 1 for the library. An operand whose strides the library has no
fast code for is copied into a dense one first; so are operands of a dtype that the CPU has no units for, as float32.

oneDNN was 1.0 to 2 times as fast as NumPy's BLAS on every product measured (8x64x64 up to 1024x3072x768) but for a
matrix times a vector.
"""

from __future__ import annotations

import math

from msnb.devices.cpu.native_kernel import NativeKernel, ViewOf
from msnb.devices.cpu.onednn import c_api as c, primitive_chain as chain, primitives
from msnb.devices.cpu.onednn.primitives import Layout
from msnb.ir.graph import Node, Value
from msnb.ir.kernel.strided_views import View, dense_strides, regrouped
from msnb.ops.definition.type_inference import broadcast_shapes

Ints = tuple[int, ...]


class Matrix:
    """An operand: dims and strides, leading axes first, and where it is."""

    def __init__(self, dims: Ints, strides: Ints, place: chain.DataRef) -> None:
        self.dims: Ints = dims
        self.strides: Ints = strides
        self.place: chain.DataRef = place

    def layout(self, dtype: int) -> Layout:
        """For the library."""
        return Layout(self.dims, settled(self.dims, self.strides), dtype)


def settled(dims: Ints, strides: Ints) -> Ints:
    """Strides in which an axis of size 1 has the stride that it would have in a dense tensor."""
    out = list(strides)
    if dims[-1] == 1:
        out[-1] = 1
    if dims[-2] == 1:
        out[-2] = dims[-1] if out[-1] == 1 else 1
    reach = max(dims[-1] * out[-1], dims[-2] * out[-2])
    for i in reversed(range(len(dims) - 2)):
        if dims[i] == 1:
            out[i] = reach
        reach = max(reach, dims[i] * out[i])
    return tuple(out)


def operand(build: chain.Builder, value: Value, left: bool, repeats: bool = True) -> Matrix:
    """x or y of a product: a vector is a row on the left, a column on the right; axes that repeat have size 1, unless
    they are to be written out."""
    chain.shape_of(value)
    view = build.strided(value) if repeats else chain.as_it_is(value)
    dims, strides = _as_matrix(view, left)
    lead = len(dims) - 2
    dims = tuple(1 if i < lead and s == 0 and repeats else d for i, (d, s) in enumerate(zip(dims, strides)))
    if any(s == 0 and d > 1 for d, s in zip(dims, strides)):
        view = chain.as_it_is(value)
        dims, strides = _as_matrix(view, left)
    return Matrix(dims, strides, build.place(view))


def _as_matrix(view: View, left: bool) -> tuple[Ints, Ints]:
    """Dims and strides, two at least."""
    dims, strides = view.shape, view.strides
    if len(dims) > 1:
        return dims, strides
    return ((1, *dims), (0, *strides)) if left else ((*dims, 1), (*strides, 0))


def folded(x: Matrix, y: Matrix) -> tuple[Matrix, Matrix]:
    """The same product with as few leading axes as possible."""
    if math.prod(y.dims[:-2]) == 1:
        rows = math.prod(x.dims[:-1])
        strides = regrouped(x.dims, x.strides, (rows, x.dims[-1]))
        if strides is not None:
            return Matrix((rows, x.dims[-1]), strides, x.place), Matrix(y.dims[-2:], y.strides[-2:], y.place)
    n = max(len(x.dims), len(y.dims))
    x, y = _widened(x, n), _widened(y, n)
    return _one_lead(x, y) if x.dims[:-2] == y.dims[:-2] else (x, y)


def _widened(a: Matrix, n: int) -> Matrix:
    gap = n - len(a.dims)
    return Matrix((1,) * gap + a.dims, (0,) * gap + a.strides, a.place)


def _one_lead(x: Matrix, y: Matrix) -> tuple[Matrix, Matrix]:
    lead = math.prod(x.dims[:-2])
    both = []
    for a in (x, y):
        dims = (lead, *a.dims[-2:])
        strides = regrouped(a.dims, a.strides, dims)
        if strides is None:
            return x, y
        both.append(Matrix(dims, strides, a.place))
    return both[0], both[1]


def matmul(node: Node, view_of: ViewOf, bias: Value | None = None) -> NativeKernel:
    """out = x @ y + bias."""
    build = chain.Builder(node, view_of)
    dtype = chain.dtype_of(node.out)
    columns = len(chain.shape_of(node.inputs[1])) > 1
    if any(chain.dtype_of(v) is not dtype for v in node.inputs) or (bias is not None and not columns):
        raise chain.NotSupported
    chain.shape_of(node.out)
    product(build, node.inputs[0], node.inputs[1], chain.number_of(dtype), bias)
    return build.recipe()


def product(build: chain.Builder, left: Value, right: Value, dtype: int, bias: Value | None = None) -> None:
    """Append the product of two values, and a bias per column, into result 0."""
    x, y = operands(build, left, right)
    lead = tuple(max(a, b) for a, b in zip(x.dims[:-2], y.dims[:-2]))
    dims = (*lead, x.dims[-2], y.dims[-1])
    multiply(build, x, y, Layout(dims, dense_strides(dims), dtype), bias)


def operands(build: chain.Builder, left: Value, right: Value) -> tuple[Matrix, Matrix]:
    """Both operands, folded. An axis that repeats in both is one of the result nevertheless: one is written out."""
    x, y = operand(build, left, True), operand(build, right, False)
    lead = broadcast_shapes(chain.shape_of(left)[:-2], chain.shape_of(right)[:-2])
    if broadcast_shapes(x.dims[:-2], y.dims[:-2]) != lead:
        x = operand(build, left, True, repeats=False)
    if broadcast_shapes(x.dims[:-2], y.dims[:-2]) != lead:
        y = operand(build, right, False, repeats=False)
    return folded(x, y)


def multiply(build: chain.Builder, x: Matrix, y: Matrix, out: Layout, bias: Value | None = None) -> None:
    """Append the product of two matrices, or of stacks of them, and a bias per column into result 0."""
    work = 2.0 * math.prod(out.dims) * x.dims[-1]
    row = None if bias is None else _row(out)
    weight = y.layout(out.dtype)
    if y.place.kind == "in" and chain.is_constant(build.reads[y.place.which]):
        weight = weight._replace(strides=None)
    run = primitives.matmul(x.layout(out.dtype), weight, out, row, work=work)
    packed = y.place if run is None else build.fetch(run, c.WEIGHTS, y.layout(out.dtype), y.place)
    places = {c.SRC: x.place, c.WEIGHTS: packed, c.DST: chain.DataRef("out", 0)}
    if bias is not None:
        build.run(chain.need(run), {**places, c.BIAS: build.place(chain.as_it_is(bias))})
    elif run is None:
        _copied(build, (x, y), out, work)
    else:
        build.run(run, places)


def _row(out: Layout) -> Layout:
    """A bias: one number per column."""
    dims = (*(1,) * (len(out.dims) - 1), out.dims[-1])
    return Layout(dims, dense_strides(dims), out.dtype)


def _copied(build: chain.Builder, operands: tuple[Matrix, Matrix], out: Layout, work: float) -> None:
    """The product of dense copies of the operands, in float32 where the library has no code for the dtype."""
    for kind in dict.fromkeys((out.dtype, c.F32)):
        dense = [Layout(m.dims, dense_strides(m.dims), kind) for m in operands]
        run = primitives.matmul(dense[0], dense[1], Layout(out.dims, out.strides, kind), work=work)
        if run is not None:
            break
    run = chain.need(run)
    a, b = (build.fetch(run, n, m.layout(out.dtype), m.place) for n, m in zip((c.SRC, c.WEIGHTS), operands))
    made = build.result(run, c.DST, out, chain.DataRef("out", 0))
    build.run(run, {c.SRC: a, c.WEIGHTS: b, c.DST: made})
    build.deliver(run, c.DST, out, made, chain.DataRef("out", 0))
