"""The index tensors of a node, as kernels read them: one entry, counted from the front, checked.

    entry q of the place        i[q], j[q] ... -> where it lies in x, or the number of its row among all rows

A wrong entry is noted in the fault word and taken for 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from msnb.base import MsnbError
from msnb.core import DType, TensorType
from msnb.devices.codegen.index_walk import PlaceWalk, place_walk
from msnb.devices.gpu.kernels.kernel_builder import NARROW, ThreadCode
from msnb.devices.llvm.emitter import type_name
from msnb.ops.shape.index_spec import outside


class IndexEntries:
    """The index tensors of one node.

    Args:
        whole: what is indexed; indices: by what; spec: of the key.

    Attributes:
        walk: how the place lies in ``whole``.
        rows: how many different places an entry can mean.
        faults: what to say of a wrong entry, per index tensor.
    """

    def __init__(self, whole: TensorType, indices: Sequence[TensorType], spec: tuple[Any, ...]) -> None:
        self.walk: PlaceWalk = place_walk(whole, indices, spec)
        self.dtypes: list[DType] = [t.dtype for t in indices]
        self.sizes: list[int] = [t.size for t in self.walk.tensors]
        self.rows: int = math.prod(self.sizes)
        axes, axis = [], 0
        for entry in spec:
            axes += [axis] if entry == "t" else []
            axis += entry is not None
        self.faults = [_sentence(a, s) for a, s in zip(axes, self.sizes)]

    def read(self, e: ThreadCode, first: int, joint: Sequence[str]) -> list[str]:
        """The entries of all index tensors at coordinates, as counters.

        Args:
            e: of the kernel.
            first: the number of the first index tensor among what it reads.
            joint: the coordinates.
        """
        found = []
        for k, tensor in enumerate(self.walk.tensors):
            at = e.dot(joint, tensor.strides)
            raw = e.get(self.dtypes[k], e.source(first + k), at)
            found.append(checked_entry(e, raw, self.dtypes[k], tensor.size, k))
        return found

    def offset(self, e: ThreadCode, entries: Sequence[str], scale: int = 1) -> str:
        """Where they lead to in ``whole``, in units of ``scale`` elements' bytes (see ``step``)."""
        return e.dot(entries, [t.step * scale for t in self.walk.tensors])

    def row(self, e: ThreadCode, entries: Sequence[str]) -> str:
        """Their number among all that there can be."""
        found = "0"
        for entry, size in zip(entries, self.sizes):
            found = e.count("add", e.count("mul", found, size), entry)
        return found

    def entries(self, e: ThreadCode, row: str) -> list[str]:
        """The entries of a row's number."""
        return e.split(row, self.sizes)


def checked_entry(e: ThreadCode, raw: str, dtype: DType, size: int, which: int) -> str:
    """An entry as a counter from 0 to ``size`` - 1; negative ones count from the end."""
    width = "i64" if dtype.itemsize == 8 or size >= NARROW or (dtype.itemsize == 4 and not dtype.signed) else "i32"
    plain = _extended(e, raw, dtype, width)
    entry = plain
    if dtype.signed:
        negative = e.ins(f"icmp slt {width} {plain}, 0")
        entry = e.ins(f"select i1 {negative}, {width} {e.ins(f'add {width} {plain}, {size}')}, {width} {plain}")
    wrong = e.ins(f"icmp uge {width} {entry}, {size}")
    e.report(wrong, plain if width == "i64" else e.ins(f"sext i32 {plain} to i64"), which)
    safe = e.ins(f"select i1 {wrong}, {width} 0, {width} {entry}")
    if width == e.kind:
        return safe
    return e.ins(f"{'trunc' if width == 'i64' else 'zext'} {width} {safe} to {e.kind}")


def _extended(e: ThreadCode, raw: str, dtype: DType, width: str) -> str:
    kind = type_name(dtype)
    return raw if kind == width else e.ins(f"{'sext' if dtype.signed else 'zext'} {kind} {raw} to {width}")


def _sentence(axis: int, size: int) -> Callable[[int], MsnbError]:
    return lambda index: outside(index, axis, size)
