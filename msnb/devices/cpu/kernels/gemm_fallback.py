"""Matrix products of dtypes that the library lacks: float64 and integers.

    out [.. m n] = x [.. m k] @ y [.. k n]

    y is cut into panels as wide as two registers, and each is laid row behind row, so that it is read in one line:

          panel 0   panel 1          a tile of out: ROWS rows by one panel, in registers while k goes by
        +---------+---------+        +---------+
      k | - - - > |         |        |  x[i,k] |  each turn: one row of the panel (two registers),
        | - - - > |         |        |   times |  ROWS numbers of x, 2 ROWS multiply-adds
        +---------+---------+        +---------+

    Long sums are cut into parts of DEPTH, so that a part of a panel stays in the first cache while ROWS after ROWS of x
    pass by it. Rows beyond the last are the last once more: computed and stored again, the same.

A y that lies row by row and meets few rows of x is read where it is: its panels are columns of it, a row apart.
Sizes and strides come as words, so there is one kernel per dtype. Large products of float64, and those of few rows and
a large matrix, are left to NumPy, whose BLAS is written by hand for every CPU (measured: 0.8 of its speed at 1024, 1 to
2 times between 64 and 512). Integers it multiplies one by one, so they all come here.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

from msnb.core import DType, dtypes
from msnb.devices.cpu.llvm.jit import Library, Symbol, attributes, host
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.cpu.onednn.matmul import Matrix, operands
from msnb.devices.cpu.onednn.primitive_chain import Builder, NotSupported, dtype_of, shape_of
from msnb.devices.llvm import Emitter, module, type_name, units
from msnb.ir.graph import Node

ROWS, DEPTH, ROWS_A_UNIT, FEW_ROWS = 8, 256, 32, 8
LARGEST, LONGEST = 2.0e8, 32768
_SHARED_WORK = 500_000
_DTYPES = (dtypes.float64, dtypes.int32, dtypes.int64)


class ProductRecipe(NativeKernel):
    """One product: y brought into panels where that pays, then tile after tile."""

    def __init__(self, x: Matrix, y: Matrix, dtype: DType) -> None:
        self.x: Matrix = x
        self.y: Matrix = y
        self.dtype: DType = dtype
        self.batch: int = max(math.prod(x.dims[:-2]), math.prod(y.dims[:-2]))
        self.width: int = 2 * lanes_of(dtype)
        self.panels: int = -(-y.dims[-1] // self.width)
        self.packed: bool = y.strides[-1] != 1 or x.dims[-2] > FEW_ROWS
        size = math.prod(y.dims[:-2]) * self.panels * y.dims[-2] * self.width * dtype.itemsize
        self.temps = (size,) if self.packed else ()

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call, or two."""
        x, y, library = self.x, self.y, library_of(self.dtype)
        (m, k), n = x.dims[-2:], y.dims[-1]
        where, start, row, panel, image = ins[y.place.which], y.place.offset, y.strides[-2], self.width, _lead(y)
        found = []
        if self.packed:
            count = math.prod(y.dims[:-2]) * self.panels
            sizes = (n, k, y.strides[-2], y.strides[-1], image, self.panels)
            found.append(
                KernelCall(
                    Symbol(library, "msnb_pack"), (count, self._worth(n * k * 4), where, temps[0], start, *sizes)
                )
            )
            where, start, row, panel = temps[0], 0, self.width, k * self.width
            image = self.panels * panel if image else 0
        blocks = -(-m // ROWS_A_UNIT)
        slots = (ins[x.place.which], where, outs[0], x.place.offset, start)
        extents = (m, n, k, x.strides[-2], x.strides[-1], row, panel, _lead(x), image, blocks)
        worth = self._worth(self.batch * m * n * k)
        found.append(KernelCall(Symbol(library, "msnb_product"), (self.batch * blocks, worth, *slots, *extents)))
        return found

    def _worth(self, work: int) -> int:
        return max(1, work // _SHARED_WORK)


def _lead(a: Matrix) -> int:
    return a.strides[0] if len(a.dims) > 2 and a.dims[0] > 1 else 0


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a product of float64 or integers runs; None for other nodes and for several axes that broadcast."""
    if node.op.name != "matmul":
        return None
    try:
        return _recipe(node, view_of)
    except NotSupported:
        return None


def _recipe(node: Node, view_of: ViewOf) -> NativeKernel:
    dtype = dtype_of(node.out)
    if dtype not in _DTYPES or any(dtype_of(v) is not dtype for v in node.inputs):
        raise NotSupported
    shape_of(node.out)
    build = Builder(node, view_of)
    x, y = operands(build, node.inputs[0], node.inputs[1])
    x, y = _one_lead(x, y)
    made = ProductRecipe(x, y, dtype)
    each = x.dims[-1] * y.dims[-1]
    if dtype.is_float and (made.batch * x.dims[-2] * each > LARGEST or x.dims[-2] * LONGEST < each):
        raise NotSupported
    made.reads = tuple(build.reads)
    return made


def _one_lead(x: Matrix, y: Matrix) -> tuple[Matrix, Matrix]:
    """At most one leading axis: those of size 1 in both are left out."""
    if len(x.dims) != len(y.dims):
        raise NotSupported
    lead = len(x.dims) - 2
    kept = [i for i in range(len(x.dims)) if i >= lead or x.dims[i] > 1 or y.dims[i] > 1]
    if len(kept) > 3:
        raise NotSupported
    x, y = (Matrix(tuple(a.dims[i] for i in kept), tuple(a.strides[i] for i in kept), a.place) for a in (x, y))
    return x, y


# ---- code ----


def lanes_of(dtype: DType) -> int:
    """How many elements a register holds."""
    return max(2, host().target.lanes * 4 // dtype.itemsize)


@functools.lru_cache(maxsize=8)
def library_of(dtype: DType) -> Library:
    """The two kernels of a dtype."""
    pack, product = _Code(dtype), _Code(dtype)
    pack.pack()
    product.product()
    kernels = {"msnb_pack": pack.e, "msnb_product": product.e}
    return Library(module(kernels.values(), *(units(name, attributes(), e) for name, e in kernels.items())))


class _Code:
    """One kernel's part of one thread: units %begin to %end."""

    def __init__(self, dtype: DType) -> None:
        self.dtype, self.e, self.kind = dtype, Emitter(), type_name(dtype)
        self.lanes, self.rows = lanes_of(dtype), ROWS if host().target.masks else ROWS // 2

    def at(self, base: str, *terms: tuple[str, str]) -> str:
        """base + sum of products, in elements."""
        for a, b in terms:
            base = self.e.place(self.kind, base, self.e.i64("mul", a, b))
        return base

    # ---- panels ----

    def pack(self) -> None:
        """Units are panels: each is written row behind row, zeros beyond the last column."""
        e, width = self.e, 2 * self.lanes
        source, target = self.e.slot(2), self.e.slot(3)
        source = e.place("i8", source, e.word(4))
        n, k, down, right, image, panels = (self.e.word(5 + i) for i in range(6))

        def panel(unit: str, _: list[str]) -> list[str]:
            which, column = (
                self.e.i64("udiv", unit, panels),
                self.e.i64("mul", self.e.i64("urem", unit, panels), str(width)),
            )
            first = self.at(source, (which, image), (column, right))
            wide = self.e.smaller(self.e.i64("sub", n, column), str(width))
            start = self.at(target, (self.e.i64("mul", unit, k), str(width)))

            def row(r: str, _: list[str]) -> list[str]:
                line, out = self.at(first, (r, down)), self.at(start, (r, str(width)))

                def copy(c: str, _: list[str]) -> list[str]:
                    e.store(self.dtype, e.load(self.dtype, self.at(line, (c, right))), self.at(out, (c, "1")))
                    return []

                def clear(c: str, _: list[str]) -> list[str]:
                    e.store(self.dtype, self.zero(), self.at(out, (c, "1")))
                    return []

                e.loop(("0", wide, 1), [], copy)
                e.loop((wide, str(width), 1), [], clear)
                return []

            e.loop(("0", k, 1), [], row)
            return []

        e.loop(("%begin", "%end", 1), [], panel)
        e.do("ret void")

    def zero(self) -> str:
        return "0.0" if self.dtype.is_float else "0"

    # ---- tiles ----

    def product(self) -> None:
        """Units are so many rows of one product of the batch."""
        x, y, out = (self.e.slot(i) for i in (2, 3, 4))
        x, y = (self.e.place("i8", b, self.e.word(5 + i)) for i, b in enumerate((x, y)))
        names = ("m", "n", "k", "down", "right", "row", "panel", "x_image", "y_image", "blocks")
        self.n = {name: self.e.word(7 + i) for i, name in enumerate(names)}
        n, m = self.n, self.n["m"]
        area = self.e.i64("mul", m, n["n"])

        def unit(u: str, _: list[str]) -> list[str]:
            which, top = self.e.i64("udiv", u, n["blocks"]), self.e.i64("urem", u, n["blocks"])
            top = self.e.i64("mul", top, str(ROWS_A_UNIT))
            bottom = self.e.smaller(self.e.i64("add", top, str(ROWS_A_UNIT)), m)
            bases = self.at(x, (which, n["x_image"])), self.at(y, (which, n["y_image"])), self.at(out, (which, area))
            self._rows(bases, top, bottom)
            return []

        self.e.loop(("%begin", "%end", 1), [], unit)
        self.e.do("ret void")

    def _rows(self, bases: tuple[str, str, str], top: str, bottom: str) -> None:
        x, y, out = bases
        n, width = self.n, str(2 * self.lanes)

        def part(first: str, _: list[str]) -> list[str]:
            length = self.e.smaller(self.e.i64("sub", n["k"], first), str(DEPTH))
            fresh = self.e.ins(f"icmp eq i64 {first}, 0")
            x_part, y_part = self.at(x, (first, n["right"])), self.at(y, (first, n["row"]))

            def panel(column: str, _: list[str]) -> list[str]:
                left = self.at(y_part, (self.e.i64("udiv", column, width), n["panel"]))

                def tile(i: str, _: list[str]) -> list[str]:
                    last = self.e.i64("sub", n["m"], "1")
                    rows = [self.e.smaller(self.e.i64("add", i, str(r)), last) for r in range(self.rows)]
                    lines = [self.at(x_part, (r, n["down"])) for r in rows]
                    ends = [self.at(out, (r, n["n"]), (column, "1")) for r in rows]
                    self._tile(lines, left, ends, (self.e.i64("sub", n["n"], column), length, fresh))
                    return []

                self.e.loop((top, bottom, self.rows), [], tile)
                return []

            self.e.loop(("0", n["n"], 2 * self.lanes), [], panel)
            return []

        self.e.loop(("0", n["k"], DEPTH), [], part)

    def _tile(self, lines: list[str], panel: str, ends: list[str], sizes: tuple[str, str, str]) -> None:
        """ends += lines @ panel, or = where the sum is fresh."""
        e, (columns, length, fresh) = self.e, sizes
        vector = f"<{self.lanes} x {self.kind}>"
        masks = [self._mask(columns, part) for part in range(2)]
        places = [[self.at(p, (str(part * self.lanes), "1")) for part in range(2)] for p in ends]
        e.lanes = self.lanes
        old = [e.load(self.dtype, place, mask) for row in places for place, mask in zip(row, masks)]
        begin = [(vector, e.ins(f"select i1 {fresh}, {vector} zeroinitializer, {vector} {value}")) for value in old]
        e.lanes = 1

        def turn(t: str, now: list[str]) -> list[str]:
            line = self.at(panel, (t, self.n["row"]))
            step = self.e.i64("mul", t, self.n["right"])
            halves = [self.at(line, (str(part * self.lanes), "1")) for part in range(2)]
            numbers = [e.ins(f"load {self.kind}, ptr {self.at(p, (step, '1'))}") for p in lines]
            e.lanes = self.lanes
            wide = [e.load(self.dtype, h, mask) for h, mask in zip(halves, masks)]
            made = []
            for r, number in enumerate(numbers):
                same = e.splat(self.kind, number)
                made += [self._add(now[2 * r + part], same, wide[part]) for part in range(2)]
            e.lanes = 1
            return made

        sums = e.loop(("0", length, 1), begin, turn)
        e.lanes = self.lanes
        for i, total in enumerate(sums):
            e.store(self.dtype, total, places[i // 2][i % 2], masks[i % 2])
        e.lanes = 1

    def _mask(self, columns: str, part: int) -> str:
        short = self.e.ins(f"trunc i64 {self.e.smaller(columns, str(1 << 20))} to i32")
        self.e.lanes = self.lanes
        numbers = ", ".join(f"i32 {part * self.lanes + i}" for i in range(self.lanes))
        mask = self.e.ins(f"icmp slt {self.e.t('i32')} <{numbers}>, {self.e.splat('i32', short)}")
        self.e.lanes = 1
        return mask

    def _add(self, total: str, a: str, b: str) -> str:
        t = self.e.t(self.kind)
        if self.dtype.is_float:
            return self.e.call(f"llvm.fmuladd.{self.e.suffix(self.kind)}", t, (t, a), (t, b), (t, total))
        return self.e.ins(f"add {t} {self.e.ins(f'mul {t} {a}, {b}')}, {total}")
