"""A matrix times a vector, in eager mode: one walk over the matrix, as it lies.

    rows       out[i] = sum over j of a[i, j] v[j]       elements of a row lie close: four registers of partial sums
    columns    out[j] = sum over i of v[i] a[i, j]       elements of a column's neighbours do: each walk down the rows
                                                         carries eight registers of columns, or one at the edge

NumPy's BLAS is as fast alone. But it shares such products out among threads of its own, which then wait on the cores
where the library's threads want to run: measured on two cores, a product of 300 x 300 and one of 1 x 256 by 256 x 5000
took 1.3 ms together and 0.13 and 0.04 apart. Sizes and strides come as words, so there are two kernels per dtype.
(Programs need none of this: there such a product is a sum that joins a group, ``laws_vectors``.)
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

from msnb.core import dtypes
from msnb.core.dtypes import DType
from msnb.devices.cpu.llvm.emitter import Emitter, type_name
from msnb.devices.cpu.llvm.jit import Library, Symbol, attributes, host
from msnb.devices.cpu.llvm.loop_builder import module, units
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.cpu.onednn.matmul import Matrix, operands
from msnb.devices.cpu.onednn.primitive_chain import Builder, DataRef, NotSupported, dtype_of, shape_of
from msnb.ir.graph import Node

DTYPES = (dtypes.float32, dtypes.float64)
SUMS, WIDE = 4, 8
_SHARED_WORK = 200_000


class MatvecLoop(NamedTuple):
    """One product: along which the matrix is walked, so many results of so many terms each, and where operands are."""

    kind: str
    results: int
    terms: int
    step: int
    matrix: DataRef
    vector: DataRef
    stride: int


class VectorRecipe(NativeKernel):
    """One walk."""

    def __init__(self, walk: MatvecLoop, dtype: DType) -> None:
        self.walk, self.dtype = walk, dtype

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        w = self.walk
        units = w.results if w.kind == "rows" else -(-w.results // (WIDE * _lanes(self.dtype)))
        worth = max(1, min(units, w.results * w.terms // _SHARED_WORK))
        slots = (ins[w.matrix.which], ins[w.vector.which], outs[0], w.matrix.offset, w.vector.offset)
        symbol = Symbol(library_of(self.dtype), f"msnb_{w.kind}_by_vector")
        return [KernelCall(symbol, (units, worth, *slots, w.results, w.terms, w.step, w.stride))]


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a product with a vector runs; None for other nodes, and where neither rows nor columns lie close."""
    if node.op.name != "matmul" or dtype_of(node.out) not in DTYPES:
        return None
    try:
        build = Builder(node, view_of)
        if any(dtype_of(v) is not dtype_of(node.out) for v in node.inputs):
            return None
        shape_of(node.out)
        x, y = operands(build, node.inputs[0], node.inputs[1])
        made = VectorRecipe(_walk(x, y), dtype_of(node.out))
    except NotSupported:
        return None
    made.reads = tuple(build.reads)
    return made


def _walk(x: Matrix, y: Matrix) -> MatvecLoop:
    if len(x.dims) != 2 or len(y.dims) != 2:
        raise NotSupported
    (m, k), n = x.dims, y.dims[1]
    if n == 1:
        (down, right), vector, stride, results, matrix = x.strides, y.place, y.strides[0], m, x.place
    elif m == 1:
        (right, down), vector, stride, results, matrix = y.strides, x.place, x.strides[1], n, y.place
    else:
        raise NotSupported
    if (right == 1 or k == 1) and (stride == 1 or k == 1):
        return MatvecLoop("rows", results, k, down, matrix, vector, 1)
    if down == 1 or results == 1:
        return MatvecLoop("columns", results, k, right, matrix, vector, stride)
    raise NotSupported


# ---- code -----------------------------------------------------------------------------------------------------------


def _lanes(dtype: DType) -> int:
    return max(2, host().target.lanes * 4 // dtype.itemsize)


@functools.lru_cache(maxsize=len(DTYPES))
def library_of(dtype: DType) -> Library:
    """Both kernels of a dtype."""
    made = {kind: _Kernel(dtype) for kind in ("rows", "columns")}
    made["rows"].rows()
    made["columns"].columns()
    texts = (units(f"msnb_{kind}_by_vector", attributes(), kernel.code) for kind, kernel in made.items())
    return Library(module([kernel.code for kernel in made.values()], *texts))


class _Kernel:
    """One thread's part: units %begin to %end."""

    def __init__(self, dtype: DType) -> None:
        self.dtype, self.kind, self.lanes = dtype, type_name(dtype), _lanes(dtype)
        self.code = c = Emitter(self.lanes)
        self.vector = c.t(self.kind)
        matrix, vector, self.out = (c.slot(i) for i in (2, 3, 4))
        self.a, self.v = (c.place("i8", b, c.word(i)) for b, i in ((matrix, 5), (vector, 6)))
        self.results, self.terms, self.step, self.stride = (c.word(i) for i in (7, 8, 9, 10))

    # ---- a row at a time -----------------------------------------------------------------------------------------

    def rows(self) -> None:
        """Units are results."""
        c = self.code
        many = SUMS * self.lanes
        whole = c.i64("sub", self.terms, c.i64("urem", self.terms, many))

        def row(i: str, _: list[str]) -> list[str]:
            line = c.place(self.kind, self.a, c.i64("mul", i, self.step))

            def several(j: str, sums: list[str]) -> list[str]:
                places = [c.i64("add", j, s * self.lanes) for s in range(SUMS)]
                return [self._more(total, line, place) for total, place in zip(sums, places)]

            def few(j: str, sums: list[str]) -> list[str]:
                mask = self._below(j, self.terms)
                a, v = (c.load(self.dtype, c.place(self.kind, base, j), mask) for base in (line, self.v))
                return [self._fused(a, v, sums[0])]

            zero = (self.vector, "zeroinitializer")
            first, *rest = c.loop(("0", whole, many), [zero] * SUMS, several)
            (total,) = c.loop((whole, self.terms, self.lanes), [(self.vector, first)], few)
            for other in rest:
                total = c.ins(f"fadd {self.vector} {total}, {other}")
            c.do(f"store {self.kind} {self._across(total)}, ptr {c.place(self.kind, self.out, i)}")
            return []

        c.loop(("%begin", "%end", 1), [], row)
        c.do("ret void")

    def _more(self, total: str, line: str, place: str) -> str:
        a, v = (self.code.load(self.dtype, self.code.place(self.kind, base, place)) for base in (line, self.v))
        return self._fused(a, v, total)

    def _across(self, total: str) -> str:
        name = f"llvm.vector.reduce.fadd.{self.code.suffix(self.kind)}"
        return self.code.call(name, self.kind, (self.kind, "0.0"), (self.vector, total), flags="reassoc")

    # ---- neighbouring columns at a time ----------------------------------------------------------------------------

    def columns(self) -> None:
        """Units are so many neighbouring results."""
        c, width = self.code, WIDE * self.lanes

        def unit(u: str, _: list[str]) -> list[str]:
            first = c.i64("mul", u, width)
            last = c.smaller(c.i64("add", first, width), self.results)
            whole = c.ins(f"icmp eq i64 {c.i64('sub', last, first)}, {width}")
            edge = c.ins(f"select i1 {whole}, i64 {last}, i64 {first}")
            c.loop((first, edge, width), [], lambda j, _: self._down(j, WIDE, ""))
            c.loop((edge, last, self.lanes), [], lambda j, _: self._down(j, 1, self._below(j, last)))
            return []

        c.loop(("%begin", "%end", 1), [], unit)
        c.do("ret void")

    def _down(self, column: str, wide: int, mask: str) -> list[str]:
        """The results from ``column`` on, in so many registers."""
        c = self.code
        top = c.place(self.kind, self.a, column)

        def row(i: str, sums: list[str]) -> list[str]:
            line = c.place(self.kind, top, c.i64("mul", i, self.step))
            number = c.ins(f"load {self.kind}, ptr {c.place(self.kind, self.v, c.i64('mul', i, self.stride))}")
            same = c.splat(self.kind, number)
            places = [c.place(self.kind, line, s * self.lanes) for s in range(wide)]
            parts = [c.load(self.dtype, p, mask) for p in places]
            return [self._fused(same, part, total) for part, total in zip(parts, sums)]

        sums = c.loop(("0", self.terms, 1), [(self.vector, "zeroinitializer")] * wide, row)
        for s, total in enumerate(sums):
            c.store(self.dtype, total, c.place(self.kind, self.out, c.i64("add", column, s * self.lanes)), mask)
        return []

    # ---- registers ---------------------------------------------------------------------------------------------------

    def _below(self, first: str, end: str) -> str:
        """Lanes whose number, counted from ``first``, is below ``end``."""
        return self.code.below(first, end)

    def _fused(self, a: str, b: str, total: str) -> str:
        name = f"llvm.fmuladd.{self.code.suffix(self.kind)}"
        return self.code.call(name, self.vector, *((self.vector, x) for x in (a, b, total)))
