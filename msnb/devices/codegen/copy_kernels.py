"""Operations that only move elements, as kernels of loads and stores with strides.

    transpose, slice, ...      out[i, j] = x[s0 i + s1 j + offset]          a view of x, made dense
    concat(x, y)               out[i, j] = x ...; out[i, j + 5] = y ...     a part for each operand
    unslice(x)                 out = 0; a slice of out = x                  the adjoint: zeros first
    pad(x), shift(x)           out = value; a slice of out = a slice of x
    index_update(x, v)         out = x; a slice of out = v

Operands are looked through: a view of a view is read where it lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msnb.core import DType, TensorType, sliced_axis
from msnb.devices.codegen.kernel_lowering import merge_dims
from msnb.ir.graph import Node, Value, sizes_of
from msnb.ir.kernel.kernel_ir import Access, Buffer, Inst, Kernel
from msnb.ir.kernel.scalar_expressions import cast, number
from msnb.ir.kernel.strided_views import View, apply_view, dense_strides, index_view, sliced

ViewOf = Callable[[Value], View]
Move = tuple[Kernel, list[int], list[int]]


def moves(node: Node, view_of: ViewOf) -> tuple[list[Move], tuple[Value, ...]] | None:
    """Kernels with their operands and results by number, and the values that they read; None for other nodes."""
    made = _as_view if node.op.view not in ("", "identity") else _MOVES.get(node.op.name)
    if made is None or any(not _plain(v) for v in (*_moved(node), *node.outputs)):
        return None
    return made(node, view_of)


def _moved(node: Node) -> Sequence[Value]:
    """Operands that must lie in their own dtype; what an update writes may be a Python number."""
    return node.inputs[:1] if node.op.name in _WRITING and len(node.inputs) == 2 else node.inputs


def _plain(value: Value) -> bool:
    t = value.type
    return isinstance(t, TensorType) and t.is_static and not t.weak and not t.dtype.is_complex and 0 not in t.shape


def copy_of_view(source: View, out: Value) -> Kernel:
    """The elements of a view, densely."""
    return _copy(source, _whole(out))


def _copy(source: View, place: View) -> Kernel:
    """The elements of ``source`` into ``place``, in its dtype; both have the same shape."""
    a, b = source.base.type, place.base.type
    assert isinstance(a, TensorType) and isinstance(b, TensorType)
    axes = [k for k, d in enumerate(source.shape) if d != 1]
    sizes = tuple(source.shape[k] for k in axes) or (1,)
    load = _inst(a, _access(0, source, axes))
    return _kernel(sizes, [a], b, _access(1, place, axes), cast(load, b.dtype))


def _fill(value: Value, filler: float = 0) -> Kernel:
    """One number everywhere."""
    t = value.type
    assert isinstance(t, TensorType)
    return _kernel((t.size,), [], t, Access(0, (1,)), number(filler, t.dtype))


def _inst(t: TensorType, access: Access) -> Inst:
    return Inst("load", (), t.dtype, access, frozenset(i for i, s in enumerate(access.strides) if s))


def _access(buffer: int, view: View, axes: list[int]) -> Access:
    return Access(buffer, tuple(view.strides[k] for k in axes) or (0,), view.offset)


def _kernel(sizes: tuple[int, ...], reads: list[TensorType], write: TensorType, to: Access, value: Inst) -> Kernel:
    buffers = [Buffer(t.dtype, t.size) for t in reads]
    kernel = Kernel("move", sizes, frozenset(), buffers, [Buffer(write.dtype, write.size)], [(to, value)])
    merge_dims(kernel)
    kernel.row = frozenset((len(kernel.sizes) - 1,))
    return kernel


def _whole(value: Value) -> View:
    shape = sizes_of(value)
    return View(value, shape, dense_strides(shape))


def _as_view(node: Node, view_of: ViewOf) -> tuple[list[Move], tuple[Value, ...]] | None:
    if len(node.inputs) != 1:
        return None
    view = apply_view(node, view_of(node.inputs[0])) or apply_view(node, _whole(node.inputs[0]))
    if view is None or not _plain(view.base):
        return None
    return [(_copy(view, _whole(node.out)), [0], [0])], (view.base,)


def _pieces(place: Value, axis: int, parts: Sequence[Value]) -> list[View]:
    """Where parts lie behind one another along an axis of a dense value."""
    strides, at, found = dense_strides(sizes_of(place)), 0, []
    for part in parts:
        found.append(View(place, sizes_of(part), strides, at * strides[axis]))
        at += sizes_of(part)[axis]
    return found


def _concat(node: Node, view_of: ViewOf) -> tuple[list[Move], tuple[Value, ...]]:
    axis = node.attrs["axis"] % len(sizes_of(node.out))
    views = [view_of(v) for v in node.inputs]
    places = _pieces(node.out, axis, node.inputs)
    made = [(_copy(v, p), [k], [0]) for k, (v, p) in enumerate(zip(views, places))]
    return made, tuple(v.base for v in views)


def _stack(node: Node, view_of: ViewOf) -> tuple[list[Move], tuple[Value, ...]]:
    shape = sizes_of(node.out)
    axis, strides = node.attrs["axis"] % len(shape), dense_strides(shape)
    views = [view_of(v) for v in node.inputs]
    left = (*strides[:axis], *strides[axis + 1 :])
    made = [(_copy(v, View(node.out, v.shape, left, k * strides[axis])), [k], [0]) for k, v in enumerate(views)]
    return made, tuple(v.base for v in views)


def _split(node: Node, view_of: ViewOf) -> tuple[list[Move], tuple[Value, ...]] | None:
    x = node.inputs[0]
    axis = node.attrs["axis"] % len(sizes_of(x))
    parts = _pieces(x, axis, node.outputs)
    base, source, found = view_of(x), x, list[Move]()
    if base.base is not x:
        steps = base.strides
        ends = [sum(sizes_of(o)[axis] for o in node.outputs[:k]) for k in range(len(parts))]
        parts = [View(base.base, sizes_of(o), steps, base.offset + e * steps[axis]) for o, e in zip(node.outputs, ends)]
        source = base.base
    for k, (part, out) in enumerate(zip(parts, node.outputs)):
        found.append((_copy(part, _whole(out)), [0], [k]))
    return found, (source,)


def _unslice(node: Node, view_of: ViewOf) -> tuple[list[Move], tuple[Value, ...]]:
    place, x = _whole(node.out), view_of(node.inputs[0])
    target = sliced(place, sizes_of(node.inputs[0]), node.attrs)
    return [(_fill(node.out), [], [0]), (_copy(x, target), [0], [0])], (x.base,)


def _pad(node: Node, view_of: ViewOf) -> tuple[list[Move], tuple[Value, ...]] | None:
    value, dtype = node.attrs["value"], node.out.type.dtype  # type: ignore[union-attr]
    if not isinstance(value, (int, float)) or (dtype.is_int and not _holds(dtype, value)):
        return None
    return _framed(node, view_of, node.attrs["pads"], value)


def _shift(node: Node, view_of: ViewOf) -> tuple[list[Move], tuple[Value, ...]]:
    ndim, way = len(sizes_of(node.out)), (-1, 1) if node.attrs["reverse"] else (1, -1)
    axis = node.attrs["axis"] % ndim
    return _framed(node, view_of, [way if k == axis else (0, 0) for k in range(ndim)], 0)


def _framed(
    node: Node, view_of: ViewOf, pads: Sequence[tuple[int, int]], filler: float
) -> tuple[list[Move], tuple[Value, ...]]:
    """What negative widths leave of the operand, in the middle of a result full of ``filler``."""
    x, place = view_of(node.inputs[0]), _whole(node.out)
    left = tuple(d + min(low, 0) + min(high, 0) for d, (low, high) in zip(x.shape, pads))
    moves: list[Move] = [(_fill(node.out, filler), [], [0])]
    if min(left, default=1) > 0:
        cut = sum(max(-low, 0) * s for (low, _), s in zip(pads, x.strides))
        ahead = sum(max(low, 0) * s for (low, _), s in zip(pads, place.strides))
        source, target = View(x.base, left, x.strides, x.offset + cut), View(node.out, left, place.strides, ahead)
        moves.append((_copy(source, target), [0], [0]))
    return moves, (x.base,)


def _holds(dtype: DType, value: float) -> bool:
    """True for a number in the range of a dtype of whole numbers; NumPy refuses the others."""
    bits = 8 * dtype.itemsize
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if dtype.signed else (0, 2**bits)
    return bool(low <= value < high)


def _unindex(node: Node, view_of: ViewOf) -> tuple[list[Move], tuple[Value, ...]] | None:
    if len(node.inputs) != 1:
        return None
    x = view_of(node.inputs[0])
    target = index_view(_whole(node.out), node.attrs["spec"])
    return [(_fill(node.out), [], [0]), (_copy(x, target), [0], [0])], (x.base,)


def _update(node: Node, view_of: ViewOf) -> tuple[list[Move], tuple[Value, ...]] | None:
    if len(node.inputs) != 2:
        return None
    x, value, place = view_of(node.inputs[0]), view_of(node.inputs[1]), _whole(node.out)
    if node.op.name == "index_update":
        target = index_view(place, node.attrs["spec"])
    else:
        target = sliced(place, _update_shape(node), node.attrs)
    gap = len(target.shape) - len(value.shape)
    if gap < 0 or value.base is x.base:
        return None
    pairs = list(zip(value.shape, value.strides))
    steps = (0,) * gap + tuple(0 if old != new else s for (old, s), new in zip(pairs, target.shape[gap:]))
    spread = View(value.base, target.shape, steps, value.offset)
    written = [] if 0 in target.shape else [(_copy(spread, target), [1], [0])]
    return [(_copy(x, place), [0], [0]), *written], (x.base, value.base)


def _update_shape(node: Node) -> tuple[int, ...]:
    a, shape = node.attrs, sizes_of(node.out)
    cut = zip(shape, a["begin"], a["end"], a["step"])
    return (*(sliced_axis(n, (b, e, s))[1] for n, b, e, s in cut), *shape[len(a["begin"]) :])


_MOVES = {
    "concat": _concat, "stack": _stack, "split": _split, "unslice": _unslice, "unindex": _unindex,
    "index_update": _update, "slice_update": _update, "pad": _pad, "shift": _shift,
}  # fmt: skip
_WRITING = frozenset(("index_update", "slice_update"))
