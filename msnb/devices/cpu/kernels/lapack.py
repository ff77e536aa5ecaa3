"""Factorisations and solutions by LAPACK, matrices of a batch shared out among the threads.

LAPACK's matrices go down their columns: what it sees in our memory is the transpose. That costs nothing where the
answer's transpose is what is wanted:

    cholesky   the upper factor of the transpose is our lower one                  potrf("U")
    inverse    inverse(A') = inverse(A)'                                           getrf, getri
    det        det(A') = det(A): the diagonal of its factor, a sign for each exchange of rows
    solve      A' X' = B' with A' factored is A X = B with "T"; B and X are turned where they have several columns;
               an upper A is left to the reference body: exchanges of rows of A' would cost it digits
    triangle   X' op(A)' = B' by BLAS: A' lies where A is read
    eigh       of the turned matrix; the vectors are turned                        syevd("L")
    svd        of the turned matrix; the left vectors are turned                   gesdd

Vectors have the sign that the routine gives them, and rounding may turn it. So eigh and svd hand over what NumPy hands
over, and what is so small that eager mode leaves it to NumPy is computed in float64 as there: a program has the same
vectors in both modes.

NumPy calls the same routines for one matrix after the other, and copies around them: np.linalg.cholesky of 512x512 in
float32 takes 6 ms or more, potrf 0.9. A matrix that LAPACK refuses makes the call decline: the reference body raises.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msnb.core import DType, TensorType, clamped, dtypes
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.kernels.lapack_library import EntryPoint, entry_point, name_of, workspace
from msnb.devices.cpu.kernels.lines.line_kernel import LineEmitter, is_static, library, verdict
from msnb.devices.cpu.llvm.jit import Symbol
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, Relocation, ViewOf
from msnb.devices.llvm.emitter import memory_name
from msnb.ir.graph import Node

WORTH = 256
"""Elements from which on eager mode calls LAPACK itself."""
_INT = 8
_BLOCK = 64
"""Columns of a block of getri: its memory is n times this."""
_SIGNED = ("eigh", "svd")
"""What gives vectors whose sign is free."""


class LapackRecipe(NativeKernel):
    """One routine over a batch of matrices.

    Args:
        name: of the operation.
        dtype: of the matrices.
        batch: how many.
        sizes: rows, columns, columns of B.
    """

    declines = True

    def __init__(self, name: str, dtype: DType, batch: int, sizes: tuple[int, int, int]) -> None:
        self.name: str = name
        self.dtype: DType = dtype
        self.batch: int = batch
        self.sizes: tuple[int, int, int] = sizes
        wide = name in _SIGNED and batch * sizes[0] * sizes[1] < WORTH
        self.computed: DType = dtypes.float64 if wide else dtype
        self.lengths: tuple[int, ...] = _lengths(name, self.computed, sizes)
        self.bytes: int = -(-sum(self.lengths) // 64) * 64
        self.threads: int = min(thread_pool.cores(), batch)
        self.temps = (_INT * batch, max(self.bytes, 64) * self.threads)

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """The routine, then a look at what it said of each matrix."""
        symbol = f"msnb_{self.name}_of_matrices"
        made = library(symbol, _written, self.name, self.dtype, self.computed)
        work = self.batch * math.prod(self.sizes[:2]) * max(self.sizes)
        threads = clamped(work // 100_000, 1, self.threads)
        slots = (*ins, *outs, *temps)
        links: list[int | Relocation] = [EntryPoint(name_of(r, self.computed)) for r in ROUTINES[self.name].functions]
        sizes = (self.batch, threads, *self.sizes, *slots, max(self.bytes, 64), *self.lengths)
        return [
            KernelCall(Symbol(made, symbol), (*sizes, *links)),
            KernelCall(Symbol(verdict(), "msnb_verdict"), (temps[0], self.batch)),
        ]


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a factorisation or solution of real matrices runs; None for other nodes."""
    name, about = node.op.name, node.attrs
    if name not in NAMES or not is_static(node):
        return None
    if name == "triangular_solve":
        name += f"{'LU'[about['lower']]}{'NT'[about['transposed']]}{'NU'[about['unit_diagonal']]}"
    types = [v.type for v in node.inputs if isinstance(v.type, TensorType)]
    x = types[0]
    if x.dtype not in (dtypes.float32, dtypes.float64) or any(t.dtype is not x.dtype for t in types):
        return None
    routines = ROUTINES[name].functions
    if any(entry_point(name_of(r, d)) is None for r in routines for d in (x.dtype, dtypes.float64)):
        return None
    shape = x.ints()
    right = types[-1].ints()
    if len(types) > 1 and right[:-2] != shape[:-2]:
        return None
    return LapackRecipe(name, x.dtype, math.prod(shape[:-2]), (shape[-2], shape[-1], right[-1]))


@functools.lru_cache(maxsize=256)
def _lengths(name: str, dtype: DType, sizes: tuple[int, int, int]) -> tuple[int, ...]:
    """Bytes of the parts of a thread's memory."""
    m, n, k = sizes
    each = dtype.itemsize
    whole = each * m * n
    if name == "inverse":
        return _INT * n, each * n * _BLOCK
    if name == "det":
        return _INT * n, whole
    if name == "solve":
        return _INT * n, whole, each * n * k
    if name == "eigh":
        asked = workspace(name_of("syevd", dtype), (b"V", b"L"), (n,), (n, 0), True)
        return _INT * asked[1], each * asked[0], whole, each * n
    if name == "svd":
        least = min(m, n)
        asked = workspace(name_of("gesdd", dtype), (b"S",), (m, n), (m, 0, m, least), False)
        return _INT * 8 * least, each * asked[0], whole, each * m * least, each * least, each * n * least
    return ()


# ---- code ----


class _Matrices(LineEmitter):
    """Part of one thread. Words behind the sizes: slots, bytes of a thread's memory, bytes of its parts, functions."""

    def __init__(self, name: str, dtype: DType, computed: DType) -> None:
        super().__init__()
        self.dtype, self.stored = dtype, memory_name(dtype)
        self.computed, self.wide = computed, memory_name(computed)
        self.rows, self.cols, self.right = (self.word(i) for i in (2, 3, 4))
        reads, writes, parts = ROUTINES[name].slots
        self.data = [self.pointer(i) for i in range(reads + writes)]
        self.said, memory = (self.pointer(reads + writes + i) for i in (0, 1))
        at = 5 + reads + writes + 2
        mine = self.place("i8", memory, self.i64("mul", self.thread(), self.word(at)))
        self.parts = []
        for i in range(parts):
            self.parts.append(mine)
            mine = self.place("i8", mine, self.word(at + 1 + i))
        first = at + 1 + parts
        self.functions = [self._function(first + i) for i in range(len(ROUTINES[name].functions))]
        self.lengths = [self.word(at + 1 + i) for i in range(parts)]

    def _function(self, i: int) -> str:
        return self.ins(f"inttoptr i64 {self.word(i)} to ptr")

    def matrix(self, base: str, unit: str, *sizes: str) -> str:
        """Matrix number ``unit`` of a batch."""
        offset = unit
        for size in sizes:
            offset = self.i64("mul", offset, size)
        return self.place(self.stored, base, offset)

    def boxed(self, value: str, kind: str = "i64") -> str:
        """A place that holds a number: Fortran takes pointers."""
        place = self.alloca(kind)
        self.do(f"store {kind} {value}, ptr {place}")
        return place

    def letter(self, letter: str) -> str:
        """A place that holds a letter."""
        return self.boxed(str(ord(letter)), "i8")

    def run(self, which: int, unit: str, *args: str, letters: int = 0) -> None:
        """Call a function; what it says last is kept for the matrix. Behind the pointers come lengths of letters."""
        said = self.place("i64", self.said, unit)
        lengths = ", i64 1" * letters
        pointers = ", ".join(f"ptr {a}" for a in (*args, said))
        self.do(f"call void {self.functions[which]}({pointers}{lengths})")

    def if_fine(self, unit: str, action: Callable[[], None]) -> None:
        """``action()`` where the function before had nothing against the matrix."""
        info = self.ins(f"load i64, ptr {self.place('i64', self.said, unit)}")
        self.when(self.ins(f"icmp eq i64 {info}, 0"), action)

    def copy(self, target: str, source: str, *sizes: str) -> None:
        """Elements that lie close."""
        count = str(self.dtype.itemsize)
        for size in sizes:
            count = self.i64("mul", count, size)
        self.act("llvm.memcpy.p0.p0.i64", ("ptr", target), ("ptr", source), ("i64", count), ("i1", "false"))

    def turn(self, target: str, source: str, rows: str, cols: str, read: str = "", write: str = "") -> None:
        """target[j, i] = source[i, j] for a source [rows, cols]; ``read``, ``write``: types if not stored so."""

        def row(i: str) -> None:
            def column(j: str) -> None:
                here = self.i64("add", self.i64("mul", i, cols), j)
                self.move(target, self.i64("add", self.i64("mul", j, rows), i), source, here, read, write)

            self.each("0", cols, column)

        self.each("0", rows, row)

    def narrow(self, target: str, source: str, *sizes: str) -> None:
        """Elements as they are computed, that lie close, as they are stored."""
        count = sizes[0] if len(sizes) == 1 else self.i64("mul", *sizes)
        self.each("0", count, lambda i: self.move(target, i, source, i, self.wide, ""))

    def move(self, target: str, far: str, source: str, near: str, read: str, write: str) -> None:
        """An element from one place to another."""
        read, write = read or self.stored, write or self.stored
        value = self.ins(f"load {read}, ptr {self.place(read, source, near)}")
        if read != write:
            value = self.ins(f"{'fpext' if write == 'double' else 'fptrunc'} {read} {value} to {write}")
        self.do(f"store {write} {value}, ptr {self.place(write, target, far)}")


def _written(name: str, dtype: DType, computed: DType) -> LineEmitter:
    e = _Matrices(name, dtype, computed)
    e.units(functools.partial(ROUTINES[name].write, e))
    return e


def _cholesky(e: _Matrices, unit: str) -> None:
    x, out = (e.matrix(d, unit, e.rows, e.rows) for d in e.data)
    e.copy(out, x, e.rows, e.rows)
    n = e.boxed(e.rows)
    e.run(0, unit, e.letter("U"), n, out, n, letters=1)

    def row(i: str) -> None:
        after = e.i64("add", i, 1)
        start = e.place(e.stored, out, e.i64("add", e.i64("mul", i, e.rows), after))
        size = e.i64("mul", e.i64("sub", e.rows, after), e.dtype.itemsize)
        e.act("llvm.memset.p0.i64", ("ptr", start), ("i8", "0"), ("i64", size), ("i1", "false"))

    e.each("0", e.rows, row)


def _inverse(e: _Matrices, unit: str) -> None:
    x, out = (e.matrix(d, unit, e.rows, e.rows) for d in e.data)
    e.copy(out, x, e.rows, e.rows)
    n, size = e.boxed(e.rows), e.boxed(e.i64("mul", e.rows, _BLOCK))
    e.run(0, unit, n, n, out, n, e.parts[0])
    e.if_fine(unit, lambda: e.run(1, unit, n, out, n, e.parts[0], e.parts[1], size))


def _det(e: _Matrices, unit: str) -> None:
    """A singular matrix has a determinant: what LAPACK says of it is no refusal."""
    x, out = e.matrix(e.data[0], unit, e.rows, e.rows), e.place(e.stored, e.data[1], unit)
    pivots, factor = e.parts
    e.copy(factor, x, e.rows, e.rows)
    n = e.boxed(e.rows)
    e.run(0, unit, n, n, factor, n, pivots)
    e.do(f"store i64 0, ptr {e.place('i64', e.said, unit)}")

    def step(i: str, now: list[str]) -> list[str]:
        pivot = e.ins(f"load i64, ptr {e.place('i64', pivots, i)}")
        moved = e.ins(f"icmp ne i64 {pivot}, {e.i64('add', i, 1)}")
        diagonal = e.ins(f"load {e.stored}, ptr {e.place(e.stored, factor, e.i64('mul', i, e.i64('add', e.rows, 1)))}")
        opposite = e.ins(f"fneg {e.stored} {diagonal}")
        signed = e.ins(f"select i1 {moved}, {e.stored} {opposite}, {e.stored} {diagonal}")
        return [e.ins(f"fmul {e.stored} {now[0]}, {signed}")]

    found = e.loop(("0", e.rows, 1), [(e.stored, "1.0")], step)[0]
    e.do(f"store {e.stored} {found}, ptr {out}")


def _upper(e: _Matrices, a: str) -> str:
    """Whether all elements below the diagonal of A are zero; of 1x1 the one that there is."""

    def empty(place: str) -> str:
        return e.ins(f"fcmp oeq {e.stored} {e.ins(f'load {e.stored}, ptr {e.place(e.stored, a, place)}')}, 0.0")

    def row(i: str, now: list[str]) -> list[str]:
        step = lambda j, now: [e.ins(f"and i1 {now[0]}, {empty(e.i64('add', e.i64('mul', i, e.rows), j))}")]
        return e.loop(("0", i, 1), [("i1", now[0])], step)

    return e.loop(("0", e.rows, 1), [("i1", empty(e.i64("mul", e.i64("sub", e.rows, 1), e.rows)))], row)[0]


def _solve(e: _Matrices, unit: str) -> None:
    a, b, out = (e.matrix(d, unit, e.rows, size) for d, size in zip(e.data, (e.rows, e.right, e.right)))
    pivots, factor, turned = e.parts
    e.copy(factor, a, e.rows, e.rows)
    e.turn(turned, b, e.rows, e.right)
    n, k = e.boxed(e.rows), e.boxed(e.right)
    e.run(0, unit, n, n, factor, n, pivots)
    e.if_fine(unit, lambda: e.run(1, unit, e.letter("T"), n, k, factor, n, pivots, turned, n, letters=1))
    e.turn(out, turned, e.right, e.rows)
    e.when(_upper(e, a), lambda: e.do(f"store i64 1, ptr {e.place('i64', e.said, unit)}"))


def _triangular(e: _Matrices, unit: str, way: str) -> None:
    """X' op(A)' = B' in place; a zero on a diagonal that counts is what LAPACK would refuse."""
    a, b, out = (e.matrix(d, unit, e.rows, size) for d, size in zip(e.data, (e.rows, e.right, e.right)))
    e.copy(out, b, e.rows, e.right)
    n, k, one = e.boxed(e.rows), e.boxed(e.right), e.boxed("1.0", e.stored)
    places = (*map(e.letter, "R" + way), k, n, one, a, n, out, k)
    e.do(f"call void {e.functions[0]}({', '.join(f'ptr {p}' for p in places)}{', i64 1' * 4})")

    def step(i: str, now: list[str]) -> list[str]:
        place = e.place(e.stored, a, e.i64("mul", i, e.i64("add", e.rows, 1)))
        empty = e.ins(f"fcmp oeq {e.stored} {e.ins(f'load {e.stored}, ptr {place}')}, 0.0")
        return [e.i64("or", now[0], e.ins(f"zext i1 {empty} to i64"))]

    bad = "0" if way[2] == "U" else e.loop(("0", e.rows, 1), [("i64", "0")], step)[0]
    e.do(f"store i64 {bad}, ptr {e.place('i64', e.said, unit)}")


def _eigh(e: _Matrices, unit: str) -> None:
    x, vectors = (e.matrix(e.data[i], unit, e.rows, e.rows) for i in (0, 2))
    values = e.matrix(e.data[1], unit, e.rows)
    ints, room, own, wide = e.parts
    e.turn(own, x, e.rows, e.rows, write=e.wide)
    n = e.boxed(e.rows)
    sizes = e.boxed(e.i64("udiv", e.lengths[1], e.computed.itemsize)), e.boxed(e.i64("udiv", e.lengths[0], _INT))
    e.run(0, unit, e.letter("V"), e.letter("L"), n, own, n, wide, room, sizes[0], ints, sizes[1], letters=2)
    e.narrow(values, wide, e.rows)
    e.turn(vectors, own, e.rows, e.rows, read=e.wide)


def _svd(e: _Matrices, unit: str) -> None:
    k = e.smaller(e.rows, e.cols)
    x = e.matrix(e.data[0], unit, e.rows, e.cols)
    values, left, right = (e.matrix(d, unit, *s) for d, s in zip(e.data[1:], ((k,), (e.rows, k), (e.cols, k))))
    ints, room, own, turned, wide, others = e.parts
    e.turn(own, x, e.rows, e.cols, write=e.wide)
    m, n, least = e.boxed(e.rows), e.boxed(e.cols), e.boxed(k)
    size = e.boxed(e.i64("udiv", e.lengths[1], e.computed.itemsize))
    args = (e.letter("S"), m, n, own, m, wide, turned, m, others, least, room, size, ints)
    e.run(0, unit, *args, letters=1)
    e.narrow(values, wide, k)
    e.turn(left, turned, k, e.rows, read=e.wide)
    e.narrow(right, others, k, e.cols)


class MatrixFunction(NamedTuple):
    """What an operation calls.

    Attributes:
        functions: of LAPACK, without the letter of the dtype.
        slots: how many operands, results, and parts of a thread's memory.
        write: the code of one matrix.
    """

    functions: tuple[str, ...]
    slots: tuple[int, int, int]
    write: Callable[[_Matrices, str], None]


ROUTINES = {
    "cholesky": MatrixFunction(("potrf",), (1, 1, 0), _cholesky),
    "inverse": MatrixFunction(("getrf", "getri"), (1, 1, 2), _inverse),
    "det": MatrixFunction(("getrf",), (1, 1, 2), _det),
    "solve": MatrixFunction(("getrf", "getrs"), (2, 1, 3), _solve),
    "eigh": MatrixFunction(("syevd",), (1, 2, 4), _eigh),
    "svd": MatrixFunction(("gesdd",), (1, 3, 6), _svd),
    **{f"triangular_solve{way}": MatrixFunction(("trsm",), (2, 1, 0), functools.partial(_triangular, way=way))
       for way in map("".join, itertools.product("UL", "NT", "NU"))},
}  # fmt: skip
NAMES = frozenset((*ROUTINES, "triangular_solve"))
"""The operations: a triangle has a routine for each way it is given, in BLAS's letters."""
