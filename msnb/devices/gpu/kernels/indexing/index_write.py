"""Writing at index tensors: index_update, index_taken, index_reduce. All rest on entries sorted by the row they mean.

    index_update    out = x; a thread for each run of entries writes the value of its last one
    index_taken     y at each entry that is the last of its run, zero at the others
    index_reduce    out = x; a thread for each run combines its values in order

A value is read where it lies in the place, or (broadcast) where its own strides lead.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from msnb.core import dtypes, tensor_type
from msnb.devices.gpu.codegen.gpu_target import GpuTarget
from msnb.devices.gpu.kernels.indexing.index_entries import IndexEntries
from msnb.devices.gpu.kernels.indexing.place_columns import PlaceColumns
from msnb.devices.gpu.kernels.indexing.row_sort import WORD, RowSort
from msnb.devices.gpu.kernels.kernel_builder import KernelBuilder, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import accumulator, alignment, are_real, operands
from msnb.devices.gpu.kernels.memory_fill import copy_fill
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.devices.llvm import combine, literal, type_name
from msnb.ir.graph import Node, type_of
from msnb.ops.definition.record import Op
from msnb.ops.indexing.scatter import INDEX_REDUCE
from msnb.ops.shape.index_records import INDEX_TAKEN, INDEX_UPDATE
from msnb.ops.shape.index_spec import IndexPlan

_NARROW = (dtypes.int8, dtypes.int16, dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)
_KINDS = {"max": "max", "min": "min", "mul": "prod"}


def recipe(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """How writes at index tensors run."""
    make = _MAKERS.get(node.op)
    if make is None or "t" not in node.attrs["spec"] or not are_real(operands(node)) or operands(node)[0].weak:
        return None
    if operands(node)[1].weak and type_of(node.out).dtype in _NARROW:
        return None  # a Python number may not fit, which the reference body tells
    made = make(IndexWrite(node, view_of, target))
    return LoweredNode(list(node.inputs), [KernelPart(made.builder.made(), list(range(len(node.inputs))), [0])])


class IndexWrite:
    """One node.

    Attributes:
        builder: gets the functions.
        entries, columns: of the place; rows: the sorted entries.
    """

    node: Node

    def __init__(self, node: Node, view_of: ViewOf, target: GpuTarget) -> None:
        types = operands(node)
        self.node, self.out = node, type_of(node.out)
        self.first = 1 if node.op.name == "index_taken" else 2
        whole, *indices = types[0], *types[self.first :]
        spec = node.attrs["spec"]
        self.entries: IndexEntries = IndexEntries(whole, indices, spec)
        self.place = tensor_type(IndexPlan("index", whole, tuple(indices), spec).shape, whole.dtype)
        self.value = types[1]
        self.aligned: int = min(alignment(v, view_of) for v in node.inputs[: self.first])
        spread = self.first == 2 and self.value.shape != self.place.shape
        itemsize = max(t.dtype.itemsize for t in types[: self.first])
        self.columns: PlaceColumns = PlaceColumns(self.entries.walk, 1 if spread else self.aligned, itemsize)
        self.builder: KernelBuilder = KernelBuilder(node.op.name, types, [self.out], self.entries.faults, True, target)
        self.kind: str = counter_kind(whole.size, self.place.size)

    def sort(self) -> RowSort:
        """The functions that sort the entries."""
        self.rows: RowSort = RowSort(self.builder, self.entries, self.first)
        return self.rows

    def units(self, work: Callable[[ThreadCode, str, str], None]) -> None:
        """A function with a thread for each sorted entry and some columns."""
        count, columns = self.rows.count, self.columns.units
        self.builder.units(count * columns, self.kind, lambda e, unit: work(e, *e.split(unit, [count, columns])))

    def runs(self, work: Callable[[ThreadCode, str, str, str], None]) -> None:
        """As ``units``, only where a run begins; ``work`` is given its end as well."""

        def one(e: ThreadCode, p: str, columns: str) -> None:
            end = e.counter(e.get(WORD, e.room(self.rows.ends), p))
            e.when(e.compare("ne", end, 0), lambda: work(e, p, end, columns))

        self.units(one)

    def entry(self, e: ThreadCode, p: str, columns: str) -> str:
        """Where the entry in sorted place p lies in the place."""
        return self.columns.entry(e, e.counter(e.get(WORD, e.room(self.rows.order), p)), columns)

    def spot(self, e: ThreadCode, p: str, columns: str) -> str:
        """Where its row lies in what is indexed."""
        row = e.counter(e.get(WORD, e.room(self.rows.keys), p))
        return self.columns.whole(e, self.entries.entries(e, row), columns)

    def written(self, e: ThreadCode, p: str, columns: str) -> str:
        """The value of an entry, in the dtype of the result."""
        place = self.entry(e, p, columns)
        if self.value.shape != self.place.shape:
            place = self._broadcast(e, place)
        with e.wide(self.columns.lanes):
            return e.cast(e.get(self.value.dtype, e.source(1), place), self.value.dtype, self.out.dtype)

    def _broadcast(self, e: ThreadCode, place: str) -> str:
        sizes, own = self.place.ints(), self.value.ints()
        strides = [0 if d == 1 else math.prod(own[k + 1 :]) for k, d in enumerate(own)]
        return e.dot(e.split(place, sizes), [0] * (len(sizes) - len(own)) + strides) if sizes else "0"


def _update(write: IndexWrite) -> IndexWrite:
    copy_fill(write.builder, write.out, write.aligned)
    write.builder.inplace = [(0, 0)]
    write.sort()

    def work(e: ThreadCode, p: str, end: str, columns: str) -> None:
        value = write.written(e, e.count("sub", end, 1), columns)
        place = write.spot(e, p, columns)
        with e.wide(write.columns.lanes):
            e.put(write.out.dtype, value, e.result(), place)

    write.runs(work)
    return write


def _taken(write: IndexWrite) -> IndexWrite:
    rows, dtype = write.sort(), write.out.dtype

    def work(e: ThreadCode, p: str, columns: str) -> None:
        keys = e.room(rows.keys)
        end = e.compare("eq", p, rows.count - 1)
        following = e.get(WORD, keys, e.choose(end, p, e.count("add", p, 1)))
        last = e.ins(f"or i1 {end}, {e.ins(f'icmp ne i32 {following}, {e.get(WORD, keys, p)}')}")
        places = write.spot(e, p, columns), write.entry(e, p, columns)
        with e.wide(write.columns.lanes):
            kind, found = e.t(type_name(dtype)), e.get(dtype, e.source(0), places[0])
            zero = e.const(literal(0, dtype), type_name(dtype))
            e.put(dtype, e.ins(f"select i1 {last}, {kind} {found}, {kind} {zero}"), e.result(), places[1])

    write.units(work)
    return write


def _reduced(write: IndexWrite) -> IndexWrite:
    copy_fill(write.builder, write.out, write.aligned)
    write.builder.inplace = [(0, 0)]
    write.sort()
    dtype, wide = write.out.dtype, accumulator(write.out.dtype)
    how, lanes = _KINDS[write.node.attrs["reduce"]], write.columns.lanes

    def work(e: ThreadCode, p: str, end: str, columns: str) -> None:
        place = write.spot(e, p, columns)

        def one(k: str, now: list[str]) -> list[str]:
            value = write.written(e, k, columns)
            with e.wide(lanes):
                return [combine(e, how, wide, now[0], e.cast(value, dtype, wide))]

        with e.wide(lanes):
            first = e.t(type_name(wide)), e.cast(e.get(dtype, e.result(), place), dtype, wide)
        total = e.turns((p, end, 1), [first], one)[0]
        with e.wide(lanes):
            e.put(dtype, e.cast(total, wide, dtype), e.result(), place)

    write.runs(work)
    return write


_MAKERS: dict[Op, Callable[[IndexWrite], IndexWrite]] = {
    INDEX_UPDATE: _update,
    INDEX_TAKEN: _taken,
    INDEX_REDUCE: _reduced,
}
ORDERED = frozenset(_MAKERS)
"""Several entries of an index may mean one place; CuPy leaves open which of them counts."""
