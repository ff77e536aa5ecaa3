"""Products of few rows, or of a matrix and a vector: one walk over the matrix, as it lies.

    out [.. m n] = x [.. m k] @ y [.. k n],  m at most eight;   x @ v is such a product too, of v and the transposed x

    rows       the k numbers of a result lie close in y: two of its rows at a time, m rows of x beside them
    columns    the n results of a k lie close: registers of neighbouring columns, down the rows of y

                 y row j      - - - - >          each register of y is read once from memory and multiplied with m
                 y row j + 1  - - - - >          registers of x, which stay in the first cache
                 x rows       - - - - >  m x 2 sums

The matrix is read once, at memory's speed, which is all that such a product costs; a library that is built for tiles
takes several times as long. In eager mode NumPy's BLAS is as fast alone, but shares such products out among threads of
its own, which then wait on the cores where the library's threads want to run. Half precision is widened in registers,
added up in float32 and rounded once. Sizes and strides come as words: one kernel per dtype, kind and number of rows.
(A vector times a plain matrix is a sum that joins a group, in programs: ``graph/compile/rules/matvec``.)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from msnb.core import DType, dtypes, size_hint
from msnb.core.symbolic_int import clamped, pinned
from msnb.devices.cpu.kernels.lines.line_kernel import LineEmitter, compared_as, library
from msnb.devices.cpu.llvm.jit import Symbol, host
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.cpu.onednn.matmul import Matrix, operands
from msnb.devices.cpu.onednn.primitive_chain import Builder, NotSupported, dtype_of, shape_of
from msnb.devices.llvm.emitter import memory_name, type_name
from msnb.ir.graph import Node

DTYPES = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16)
NEAR, _FEW = 1 << 21, 8
"""Bytes of a matrix whose columns are walked in the caches; farther away the library copies them as fast."""
_PAIR, _SUMS, _REGISTERS = 2, 8, 16
_SHARED_WORK = 200_000


class MatvecLoop(NamedTuple):
    """One product: x with ``m`` rows of ``k``, a matrix with ``n`` results; strides in elements.

    Attributes:
        kind: "rows" or "columns"; x, matrix: the operands.
        down, right: of x; step: from result to result (rows) or from k to k (columns).
        images: axes of products side by side: how many, and the strides of x and the matrix along them.
    """

    kind: str
    x: Matrix
    matrix: Matrix
    m: int
    n: int
    k: int
    down: int
    right: int
    step: int
    images: tuple[tuple[int, int, int], tuple[int, int, int]]


class VectorRecipe(NativeKernel):
    """One walk; a bias is added by a group of its own."""

    joins = False

    def __init__(self, walk: MatvecLoop, dtype: DType) -> None:
        self.walk: MatvecLoop = walk._replace(m=pinned(walk.m))
        self.dtype: DType = dtype

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call: a unit is a block of results."""
        w, ((outer, *far), (inner, *near)) = self.walk, self.walk.images
        count = outer * inner
        blocks = -(-w.n // (_PAIR if w.kind == "rows" else _wide(w.m) * lanes_of(self.dtype)))
        units = count * blocks
        threads = clamped(count * w.m * w.n * w.k // _SHARED_WORK, 1, units)
        slots = (ins[w.x.place.which], ins[w.matrix.place.which], outs[0], w.x.place.offset, w.matrix.place.offset)
        symbol = f"msnb_{w.kind}_of_{w.m}"
        made = library(symbol, _rows if w.kind == "rows" else _columns, self.dtype, w.m)
        sizes = (w.k, w.n, blocks, *slots, w.down, w.right, w.step, inner, *far, *near)
        return [KernelCall(Symbol(made, symbol), (units, threads, *sizes))]


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a product of few rows runs; None for other nodes, and where neither rows nor columns lie close."""
    if node.op.name != "matmul":
        return None
    try:
        dtype = dtype_of(node.out)
        if dtype not in DTYPES or any(dtype_of(v) is not dtype for v in node.inputs):
            return None
        if dtype is dtypes.float16 and not host().half:
            return None
        shape_of(node.out)
        build = Builder(node, view_of)
        walk = _walk(*operands(build, node.inputs[0], node.inputs[1]), dtype)
    except NotSupported:
        return None
    made = VectorRecipe(walk, dtype)
    made.reads = tuple(build.reads)
    return made


def _few(dtype: DType, columns: bool, size: int) -> int:
    """Rows of x up to which a walk is faster than the library, which has units for bfloat16."""
    if columns and size_hint(size) * dtype.itemsize > NEAR:
        return 2
    return 4 if dtype is dtypes.bfloat16 else _FEW


def _walk(x: Matrix, y: Matrix, dtype: DType) -> MatvecLoop:
    if y.dims[-1] == 1 and math.prod(x.dims[:-2]) == math.prod(y.dims[:-2]) == 1:
        x, y = _transposed(y), _transposed(x)
    (m, k), n = x.dims[-2:], y.dims[-1]
    (down, right), (below, beside) = x.strides[-2:], y.strides[-2:]
    images = _images(x, y)
    if m <= _few(dtype, False, k * n) and (below == 1 or k == 1) and (right == 1 or k == 1):
        return MatvecLoop("rows", x, y, m, n, k, down, 1, beside, images)
    if m <= _few(dtype, True, k * n) and (beside == 1 or n == 1):
        return MatvecLoop("columns", x, y, m, n, k, down, right, below, images)
    raise NotSupported


def _transposed(a: Matrix) -> Matrix:
    return Matrix((*a.dims[:-2], a.dims[-1], a.dims[-2]), (*a.strides[:-2], a.strides[-1], a.strides[-2]), a.place)


def _images(x: Matrix, y: Matrix) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """How many products, and the strides from one to the next: at most two leading axes that are no 1."""
    gap = len(x.dims) - len(y.dims)
    leads = [[*(((1, 0),) * max(0, g)), *zip(a.dims[:-2], a.strides[:-2])] for a, g in ((x, -gap), (y, gap))]
    axes = [(max(a, b), s if a > 1 else 0, t if b > 1 else 0) for (a, s), (b, t) in zip(*leads) if max(a, b) > 1]
    if len(axes) > 2:
        raise NotSupported
    first, second = [(1, 0, 0)] * (2 - len(axes)) + axes
    return first, second


# ---- code ----


def lanes_of(dtype: DType) -> int:
    """How many elements a register holds, of the dtype in which they are added up."""
    return max(2, host().target.lanes * 4 // compared_as(dtype).itemsize)


def _wide(m: int) -> int:
    """Registers of neighbouring columns that are carried down."""
    return min(8, max(2, _REGISTERS // m))


class _Walk(LineEmitter):
    """One thread's part: units %begin to %end. ``n`` is the number of terms, ``inner`` that of results."""

    def __init__(self, dtype: DType, m: int) -> None:
        super().__init__()
        self.dtype, self.stored, self.m = dtype, memory_name(dtype), m
        self.wide, self.width = compared_as(dtype), lanes_of(dtype)
        self.kind = type_name(self.wide)
        self.vector = f"<{self.width} x {self.kind}>"
        x, y, self.out = (self.pointer(i) for i in range(3))
        self.x, self.y = (self.place("i8", base, self.word(8 + i)) for i, base in enumerate((x, y)))
        self.down, self.right, self.step, *self.apart = (self.word(10 + i) for i in range(8))

    def at(self, base: str, index: str, stride: str) -> str:
        """base + index * stride elements."""
        return self.place(self.stored, base, self.i64("mul", index, stride))

    def unit(self, u: str) -> tuple[str, list[str], str, list[str]]:
        """The block of results, and where its matrix, the rows of x and the rows of the result begin."""
        image, block = self.i64("udiv", u, self.blocks), self.i64("urem", u, self.blocks)
        inner, x_far, y_far, x_near, y_near = self.apart
        outer, near = self.i64("udiv", image, inner), self.i64("urem", image, inner)
        x = self.at(self.at(self.x, outer, x_far), near, x_near)
        y = self.at(self.at(self.y, outer, y_far), near, y_near)
        first = self.i64("mul", image, self.m)
        outs = [self.at(self.out, self.i64("add", first, i), self.inner) for i in range(self.m)]
        return block, [self.at(x, str(i), self.down) for i in range(self.m)], y, outs

    def numbers(self, base: str, index: str, mask: str = "") -> str:
        """A register of elements, widened."""
        self.lanes = self.width
        found = self.read(self.dtype, self.place(self.stored, base, index), mask)
        self.lanes = 1
        return found

    def more(self, total: str, a: str, b: str) -> str:
        """total + a b."""
        self.lanes = self.width
        name = f"llvm.fmuladd.{self.suffix(self.kind)}"
        found = self.call(name, self.vector, (self.vector, a), (self.vector, b), (self.vector, total))
        self.lanes = 1
        return found

    def put(self, value: str, place: str, mask: str = "", lanes: int = 1) -> None:
        """Store sums in the dtype of the result."""
        self.lanes = lanes
        found = value if self.dtype is self.wide else self.cast(value, self.wide, self.dtype)
        self.store(self.dtype, found, place, mask)
        self.lanes = 1

    def below(self, first: str, end: str) -> str:
        """Lanes whose number, counted from ``first``, is below ``end``."""
        self.lanes = self.width
        ints = self.t("i64")
        found = self.ins(f"icmp slt {ints} {self.steps(first, 1)}, {self.splat('i64', end)}")
        self.lanes = 1
        return found


def _rows(dtype: DType, m: int) -> LineEmitter:
    """Units are pairs of results; of an odd last one the same is worked out twice."""
    e = _Walk(dtype, m)
    times = max(1, _SUMS // (_PAIR * m))
    many = times * e.width
    whole = e.i64("sub", e.n, e.i64("urem", e.n, many))
    zero = (e.vector, "zeroinitializer")

    def add(sums: list[str], lines: list[str], xs: list[str], at: str, mask: str = "") -> list[str]:
        ys = [e.numbers(line, at, mask) for line in lines]
        made = []
        for i, x in enumerate(xs):
            same = e.numbers(x, at, mask)
            made += [e.more(sums[_PAIR * i + j], same, y) for j, y in enumerate(ys)]
        return made

    def pair(u: str) -> None:
        block, xs, y, outs = e.unit(u)
        first = e.i64("mul", block, _PAIR)
        columns = [first, e.smaller(e.i64("add", first, 1), e.i64("sub", e.inner, 1))]
        lines = [e.at(y, c, e.step) for c in columns]
        each = _PAIR * m

        def turn(t: str, now: list[str]) -> list[str]:
            places = [e.i64("add", t, r * e.width) for r in range(times)]
            parts = [add(now[r * each : (r + 1) * each], lines, xs, at) for r, at in enumerate(places)]
            return [total for part in parts for total in part]

        sums = e.loop(("0", whole, many), [zero] * (each * times), turn)
        for r in range(1, times):
            more = sums[r * each : (r + 1) * each]
            sums[:each] = [e.ins(f"fadd {e.vector} {a}, {b}") for a, b in zip(sums, more)]
        rest = [(e.vector, total) for total in sums[:each]]
        sums = e.loop((whole, e.n, e.width), rest, lambda t, now: add(now, lines, xs, t, e.below(t, e.n)))
        for i, out in enumerate(outs):
            for j, column in enumerate(columns):
                e.put(_across(e, sums[_PAIR * i + j]), e.place(e.stored, out, column))

    e.units(pair)
    return e


def _across(e: _Walk, total: str) -> str:
    e.lanes = e.width
    name = f"llvm.vector.reduce.fadd.{e.suffix(e.kind)}"
    e.lanes = 1
    zero = "-0.0"
    return e.call(name, e.kind, (e.kind, zero), (e.vector, total), flags="reassoc")


def _columns(dtype: DType, m: int) -> LineEmitter:
    """Units are so many neighbouring columns."""
    e, registers = _Walk(dtype, m), _wide(m)

    def down(xs: list[str], y: str, outs: list[str], column: str, masks: list[str]) -> None:
        """The results from ``column`` on, a register for each mask."""

        def row(t: str, now: list[str]) -> list[str]:
            line = e.at(y, t, e.step)
            places = [e.i64("add", column, r * e.width) for r in range(len(masks))]
            parts = [e.numbers(line, place, mask) for place, mask in zip(places, masks)]
            made = []
            for i, x in enumerate(xs):
                number = e.read(e.dtype, e.at(x, t, e.right))
                e.lanes = e.width
                same = e.splat(e.kind, number)
                e.lanes = 1
                made += [e.more(now[i * len(masks) + r], same, part) for r, part in enumerate(parts)]
            return made

        zero = (e.vector, "zeroinitializer")
        sums = e.loop(("0", e.n, 1), [zero] * (m * len(masks)), row)
        for i, out in enumerate(outs):
            for r, mask in enumerate(masks):
                place = e.place(e.stored, out, e.i64("add", column, r * e.width))
                e.put(sums[i * len(masks) + r], place, mask, e.width)

    def block(u: str) -> None:
        number, xs, y, outs = e.unit(u)
        first = e.i64("mul", number, registers * e.width)
        last = e.smaller(e.i64("add", first, registers * e.width), e.inner)
        whole = e.ins(f"icmp eq i64 {e.i64('sub', last, first)}, {registers * e.width}")
        edge = e.ins(f"select i1 {whole}, i64 {last}, i64 {first}")
        e.each(first, edge, lambda j: down(xs, y, outs, j, [""] * registers), registers * e.width)
        e.each(edge, last, lambda j: down(xs, y, outs, j, [e.below(j, last)]), e.width)

    e.units(block)
    return e
