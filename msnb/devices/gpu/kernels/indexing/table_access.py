"""Reading by index tensors: gather and index. A thread moves one piece of up to 16 bytes, of whatever dtype.

    x [6, 5, 4, 8], key (:, i, j, :)        result [6, | entries of i, j | 8]
    a thread     (a, q, b) of the result from its number  ->  i[q], j[q]  ->  where it lies in x

Pieces are as wide as all strides, the row behind the entries and the beginning of x allow.
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core import TensorType, dtypes
from msnb.devices.codegen.index_walk import PlaceWalk
from msnb.devices.gpu.codegen import GpuKernel, GpuTarget
from msnb.devices.gpu.kernels.indexing.index_entries import IndexEntries
from msnb.devices.gpu.kernels.kernel_builder import KernelBuilder, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import alignment, widest_piece
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.ir.graph import Node, type_of
from msnb.ops.indexing.gather import at_axis

_CARRIERS: dict[int, tuple[dtypes.DType, int]] = {
    16: (dtypes.uint32, 4), 8: (dtypes.uint32, 2), 4: (dtypes.uint32, 1), 2: (dtypes.uint16, 1), 1: (dtypes.uint8, 1),
}  # fmt: skip
Axis = tuple[int, int]


def recipe(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """How gather, and index with index tensors, run."""
    if node.op.name not in ("gather", "index") or len(node.inputs) < 2:
        return None
    whole, *indices = [type_of(v) for v in node.inputs]
    spec = at_axis(node.attrs["axis"] % whole.ndim) if node.op.name == "gather" else node.attrs["spec"]
    kernel = gather_kernel(whole, indices, spec, type_of(node.out), alignment(node.inputs[0], view_of))
    return LoweredNode(list(node.inputs), [KernelPart(kernel, list(range(len(node.inputs))), [0])])


def gather_kernel(
    whole: TensorType, indices: Sequence[TensorType], spec: tuple[object, ...], out: TensorType, aligned: int
) -> GpuKernel:
    """The kernel of ``whole[spec]``; ``aligned``: at how many bytes ``whole`` begins."""
    entries = IndexEntries(whole, indices, spec)
    piece, behind = _pieces(entries.walk, whole.dtype.itemsize, aligned)
    builder = KernelBuilder("gather", [whole, *indices], [out], entries.faults)
    total = out.size * out.dtype.itemsize // piece
    kind = counter_kind(*(t.size * t.dtype.itemsize // min(piece, 4) for t in (out, whole)))
    builder.units(total, kind, lambda e, unit: _move(e, unit, entries, whole.dtype.itemsize, piece, behind))
    return builder.made()


def _pieces(walk: PlaceWalk, itemsize: int, aligned: int) -> tuple[int, tuple[Axis, ...]]:
    """Bytes of a piece, and the axes behind the entries in (pieces, bytes of stride)."""
    last = walk.behind[-1] if walk.behind else (1, 1)
    row = last[0] if last[1] == 1 else 1
    behind = walk.behind[:-1] if last[1] == 1 else walk.behind
    strides = [s for _, s in (*walk.before, *behind)] + [t.step for t in walk.tensors if t.size > 1]
    piece = widest_piece(aligned, row * itemsize, walk.base * itemsize, *(s * itemsize for s in strides))
    axes = [(n, s * itemsize) for n, s in behind]
    return piece, (*axes, (row * itemsize // piece, piece))


def _move(e: ThreadCode, unit: str, entries: IndexEntries, itemsize: int, piece: int, behind: Sequence[Axis]) -> None:
    walk = entries.walk
    sizes = [n for n, _ in walk.before], list(walk.joint), [n for n, _ in behind]
    at = e.split(unit, [*sizes[0], *sizes[1], *sizes[2]])
    first, second = len(sizes[0]), len(sizes[0]) + len(sizes[1])
    place = e.dot(at[:first], [s * itemsize // piece for _, s in walk.before], walk.base * itemsize // piece)
    place = e.dot(at[second:], [s // piece for _, s in behind], place)
    found = entries.read(e, 1, at[first:second])
    place = e.dot(found, [t.step * itemsize // piece if t.size > 1 else 0 for t in walk.tensors], place)
    carrier, lanes = _CARRIERS[piece]
    with e.wide(lanes):
        value = e.get(carrier, e.source(0), e.count("mul", place, lanes))
        e.put(carrier, value, e.result(), e.count("mul", unit, lanes))
