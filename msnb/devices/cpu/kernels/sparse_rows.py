"""Loops over the entries of compressed rows (``ops/sparse``): rows of entries, and the three products.

    rows          out[p] = r                             threads share out the rows
    product       out[r, :]  = sum of v[p] x[c, :]       ... the rows; one column is summed in a register
    sampled       out[p]     = a[r, :] . b[c, :]         ... the rows
    transposed    out[c, :] += v[p] y[r, :]              ... the rows of out: each thread walks over all entries and
                                                         adds to its own, so the order of sums is always the same
                  p: the entries of row r, c: the column of p

Pointers that decrease or leave the entries, and columns outside of the matrix, are noted; such a call declines, and the
reference body then raises the error that tells which one. Nothing outside of the operands is read. Sizes come as words:
one kernel per kind, dtype and index dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msnb.core import DType, TensorType, Type, clamped, dtypes, size_hint
from msnb.devices.cpu.kernels.indexed_access import filled
from msnb.devices.cpu.kernels.lines.line_kernel import LineEmitter, is_static, library, verdict
from msnb.devices.cpu.llvm.jit import Symbol
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.llvm.emitter import memory_name
from msnb.ir.graph import Node, type_of
from msnb.ops.definition.record import Op

WORTH = 1024
"""Entries from which on a native call is worth it in eager mode."""
_NUMBERS = (dtypes.float32, dtypes.float64)
_INDICES = (dtypes.int32, dtypes.int64)
_SHARED_WORK = 100_000
_VECTOR = 8


class SparseRowsRecipe(NativeKernel):
    """A loop over the entries of compressed rows.

    Args:
        name: "rows", "matmul", "matmul_transposed" or "sampled_matmul".
        dtype: of the numbers.
        index: of pointers and columns.
        sizes: rows, entries, columns, numbers in a row of the dense operand.
    """

    declines = True

    def __init__(self, name: str, dtype: DType, index: DType, sizes: tuple[int, int, int, int]) -> None:
        self.name: str = name
        self.dtype: DType = dtype
        self.index: DType = index
        self.sizes: tuple[int, int, int, int] = sizes
        self.temps = (8,)

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """Forget what was noted, walk, and see what was noted."""
        rows, entries, columns, wide = self.sizes
        units = columns if self.name == "matmul_transposed" else rows
        threads = clamped(entries * wide // _SHARED_WORK, 1, units)
        symbol = f"msnb_entries_{self.name}_of_{self.index.name}"
        made = Symbol(library(symbol, _WRITERS[self.name], self.dtype, self.index), symbol)
        slots = (ins[0], ins[1], *(ins[2:] or (ins[0], ins[0])), outs[0], temps[0])
        return [
            KernelCall(Symbol(filled(), "msnb_zeroed"), (temps[0], 8)),
            KernelCall(made, (units, threads, *self.sizes, *slots)),
            KernelCall(Symbol(verdict(), "msnb_verdict"), (temps[0], 1)),
        ]


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a loop over compressed rows runs; None for other nodes, and for dtypes that have no loop."""
    if not _is_walk(node.op) or not is_static(node):
        return None
    pointers, columns, *operands = map(type_of, node.inputs)
    out = type_of(node.out)
    if pointers.dtype is not columns.dtype or pointers.dtype not in _INDICES:
        return None
    if operands and out.dtype not in _NUMBERS:
        return None
    dense = operands[-1].ints() if operands else (1, 1)
    width = node.attrs.get("columns", dense[0])
    sizes = (pointers.ints()[0] - 1, columns.ints()[0], width, dense[1])
    return SparseRowsRecipe(node.op.name.removeprefix("csr_"), out.dtype, pointers.dtype, sizes)


def is_worth(op: Op, types: tuple[Type, ...]) -> bool:
    """True for a loop over many entries."""
    return _is_walk(op) and isinstance(types[1], TensorType) and size_hint(types[1].size) >= WORTH


def _is_walk(op: Op) -> bool:
    return op.family == "sparse" and op.name.removeprefix("csr_") in _WRITERS


# ---- code ----


class _EntryWalk(LineEmitter):
    """One thread's part: units %begin to %end."""

    def __init__(self, dtype: DType, index: DType) -> None:
        super().__init__()
        self.dtype, self.stored, self.index = dtype, memory_name(dtype), memory_name(index)
        self.rows, self.entries, self.width, self.wide = (self.word(i) for i in range(2, 6))
        self.pointers, self.places, self.left, self.right, self.out, self.noted = (self.slot(i) for i in range(6, 12))

    def integer(self, base: str, at: str) -> str:
        """An index, widened."""
        found = self.ins(f"load {self.index}, ptr {self.place(self.index, base, at)}")
        return found if self.index == "i64" else self.ins(f"sext i32 {found} to i64")

    def note(self, bad: str) -> None:
        """Say that something is wrong."""
        self.when(bad, lambda: self.do(f"store i64 1, ptr {self.noted}"))

    def bounds(self, r: str) -> tuple[str, str]:
        """The entries of a row; none where its pointers are wrong."""
        after = self.i64("add", r, 1)
        low, high = self.integer(self.pointers, r), self.integer(self.pointers, after)
        tests = [
            self.ins(f"icmp slt i64 {high}, {low}"),
            self.ins(f"icmp sgt i64 {high}, {self.entries}"),
            self.ins(f"icmp slt i64 {low}, 0"),
            self._unlike(f"icmp eq i64 {r}, 0", low, "0"),
            self._unlike(f"icmp eq i64 {after}, {self.rows}", high, self.entries),
        ]
        bad = tests[0]
        for test in tests[1:]:
            bad = self.ins(f"or i1 {bad}, {test}")
        self.note(bad)
        return low, self.ins(f"select i1 {bad}, i64 {low}, i64 {high}")

    def _unlike(self, where: str, a: str, b: str) -> str:
        return self.ins(f"and i1 {self.ins(where)}, {self.ins(f'icmp ne i64 {a}, {b}')}")

    def column(self, p: str) -> str:
        """The column of an entry; 0 where it is wrong."""
        found = self.integer(self.places, p)
        bad = self.ins(f"icmp uge i64 {found}, {self.width}")
        self.note(bad)
        return self.ins(f"select i1 {bad}, i64 0, i64 {found}")

    def line(self, base: str, at: str) -> str:
        """Where a row of a dense operand begins."""
        return self.place(self.stored, base, self.i64("mul", at, self.wide))

    def number(self, base: str, at: str) -> str:
        """One number."""
        return self.load(self.dtype, self.place(self.stored, base, at))

    def more(self, total: str, a: str, b: str) -> str:
        """total + a b."""
        kind = self.t(self.stored)
        name = f"llvm.fmuladd.{self.suffix(self.stored)}"
        return self.call(name, kind, (kind, a), (kind, b), (kind, total))

    def add_line(self, target: str, value: str, source: str) -> None:
        """target[:] += value source[:]."""

        def step(j: str) -> None:
            at = self.place(self.stored, target, j)
            other = self.load(self.dtype, self.place(self.stored, source, j))
            same = self.splat(self.stored, value) if self.lanes > 1 else value
            self.store(self.dtype, self.more(self.load(self.dtype, at), same, other), at)

        self.each_in_vectors(self.wide, step, _VECTOR)

    def clear(self, base: str, first: str, count: str) -> None:
        """Zeros in ``count`` rows."""
        size = self.i64("mul", self.i64("mul", count, self.wide), self.dtype.itemsize)
        self.act("llvm.memset.p0.i64", ("ptr", self.line(base, first)), ("i8", "0"), ("i64", size), ("i1", "false"))


def _rows(dtype: DType, index: DType) -> LineEmitter:
    e = _EntryWalk(dtype, index)

    def row(r: str) -> None:
        low, high = e.bounds(r)
        short = r if e.index == "i64" else e.ins(f"trunc i64 {r} to i32")
        e.each(low, high, lambda p: e.do(f"store {e.index} {short}, ptr {e.place(e.index, e.out, p)}"))

    e.units(row)
    return e


def _product(dtype: DType, index: DType) -> LineEmitter:
    e = _EntryWalk(dtype, index)

    def row(r: str) -> None:
        low, high = e.bounds(r)

        def one() -> None:
            def turn(p: str, now: list[str]) -> list[str]:
                return [e.more(now[0], e.number(e.left, p), e.number(e.right, e.column(p)))]

            (total,) = e.loop((low, high, 1), [(e.stored, "0.0")], turn)
            e.store(e.dtype, total, e.place(e.stored, e.out, r))

        def many() -> None:
            e.clear(e.out, r, "1")
            target = e.line(e.out, r)
            e.each(low, high, lambda p: e.add_line(target, e.number(e.left, p), e.line(e.right, e.column(p))))

        e.when(e.ins(f"icmp eq i64 {e.wide}, 1"), one, many)

    e.units(row)
    return e


def _transposed(dtype: DType, index: DType) -> LineEmitter:
    """Units are rows of the result."""
    e = _EntryWalk(dtype, index)
    e.clear(e.out, "%begin", e.i64("sub", "%end", "%begin"))

    def row(r: str) -> None:
        low, high = e.bounds(r)
        source = e.line(e.right, r)

        def entry(p: str) -> None:
            c = e.column(p)
            own = e.ins(f"and i1 {e.ins(f'icmp sge i64 {c}, %begin')}, {e.ins(f'icmp slt i64 {c}, %end')}")
            e.when(own, lambda: e.add_line(e.line(e.out, c), e.number(e.left, p), source))

        e.each(low, high, entry)

    e.each("0", e.rows, row)
    e.do("ret void")
    return e


def _sampled(dtype: DType, index: DType) -> LineEmitter:
    e = _EntryWalk(dtype, index)
    vector = f"<{_VECTOR} x {e.stored}>"

    def dot(a: str, b: str) -> str:
        def many(j: str, now: list[str]) -> list[str]:
            e.lanes = _VECTOR
            made = e.more(now[0], e.load(e.dtype, e.place(e.stored, a, j)), e.load(e.dtype, e.place(e.stored, b, j)))
            e.lanes = 1
            return [made]

        whole = e.i64("and", e.wide, -_VECTOR)
        (sums,) = e.loop(("0", whole, _VECTOR), [(vector, "zeroinitializer")], many)
        e.lanes = _VECTOR
        name = f"llvm.vector.reduce.fadd.{e.suffix(e.stored)}"
        e.lanes = 1
        total = e.call(name, e.stored, (e.stored, "-0.0"), (vector, sums), flags="reassoc")
        rest = e.loop(
            (whole, e.wide, 1), [(e.stored, total)], lambda j, now: [e.more(now[0], e.number(a, j), e.number(b, j))]
        )
        return rest[0]

    def row(r: str) -> None:
        low, high = e.bounds(r)
        a = e.line(e.left, r)
        e.each(
            low, high,
            lambda p: e.store(e.dtype, dot(a, e.line(e.right, e.column(p))), e.place(e.stored, e.out, p)),
        )  # fmt: skip

    e.units(row)
    return e


_WRITERS: dict[str, Callable[[DType, DType], LineEmitter]] = {
    "rows": _rows,
    "matmul": _product,
    "matmul_transposed": _transposed,
    "sampled_matmul": _sampled,
}
