"""Sorting lines by radix: keys whose order as unsigned ints is the order wanted, eight bits at a time, lowest first.

    x    -1.5    2.0    NaN    0.0   -0.0            floats: the sign bit is turned, negative numbers are complemented;
    key  0x403.. 0xC00.. 0xFFF.. 0x800.. 0x800..     all NaN are the largest key, both zeros are one
    order: 0 3 4 1 2                                 each pass is stable, so equal elements keep their places

Decreasing order complements the keys, which keeps equal elements in their order too. A pass whose digit is the same
everywhere is left out (small ints need one pass or two). Pairs of key and place go between two buffers of the thread;
at the end the first ``keep`` elements are picked by their places, so a top-k is a sort that stores less.

Few of many (``keep`` up to ``FEW``): no sort at all. The best so far are kept in order; a vector of keys is compared
with the last of them, and hardly ever does one get in:  n comparisons and about k log(n / k) insertions.
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core import DType, TensorType, clamped, dtypes
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.kernels.lines import line_kernel
from msnb.devices.cpu.llvm.jit import Symbol
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.llvm.emitter import memory_name
from msnb.ir.graph import Node

NAMES = ("sort", "top_k")
DIGITS, BITS = 256, 8
FEW = 64
_PLACE = 4


class SortRecipe(NativeKernel):
    """sort and top_k: values and places."""

    def __init__(self, dtype: DType, lines: line_kernel.Lines, keep: int, descending: bool) -> None:
        self.dtype: DType = dtype
        self.lines: line_kernel.Lines = lines
        self.keep: int = keep
        self.descending: bool = descending
        self.few: bool = keep <= FEW and lines.n >= 4 * keep and lines.inner == 1
        threads = min(thread_pool.cores(), lines.number)
        self.bytes: int = -(-(2 * (key_bytes(dtype) + _PLACE) * lines.n) // 64) * 64
        self.temps = () if self.few else (self.bytes * threads,)

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call: a unit is a line."""
        lines = self.lines
        weight = 1 if self.few else 4
        most = min(lines.number, thread_pool.cores())
        threads = clamped(lines.number * lines.n * weight // line_kernel.SHARED_WORK, 1, most)
        header = (lines.number, threads, lines.n, lines.inner, self.keep)
        own = line_kernel.words(header, ins, outs, temps) + ((self.bytes,) if temps else ())
        symbol = f"msnb_{'top_k' if self.few else 'sort'}"
        made = line_kernel.library(symbol, _top_k if self.few else _sort, self.dtype, self.descending)
        return [KernelCall(Symbol(made, symbol), own)]


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a sort or a top-k runs; None for other nodes."""
    if node.op.name not in NAMES or not line_kernel.is_static(node):
        return None
    t = node.inputs[0].type
    assert isinstance(t, TensorType)
    lines = line_kernel.lines_of(t, node.attrs["axis"])
    if not is_sortable(t.dtype) or lines.n >= 2**31:
        return None
    if node.op.name == "sort":
        return SortRecipe(t.dtype, lines, lines.n, node.attrs["descending"])
    return SortRecipe(t.dtype, lines, node.attrs["k"], node.attrs["largest"])


def is_sortable(dtype: DType) -> bool:
    """True for dtypes that have a key."""
    return dtype.is_float or dtype.is_int or dtype is dtypes.bool_


def key_bytes(dtype: DType) -> int:
    """Bytes of a key: half precision is widened."""
    return 8 if dtype.itemsize == 8 else 4


class _Keys(line_kernel.LineEmitter):
    """Keys of elements."""

    def __init__(self, dtype: DType, descending: bool) -> None:
        super().__init__()
        self.dtype, self.stored, self.descending = dtype, memory_name(dtype), descending
        self.size = key_bytes(dtype)
        self.key = f"i{8 * self.size}"
        self.x, self.values, self.places = (self.pointer(i) for i in range(3))
        self.keep = self.blocks

    def key_of(self, x: str) -> str:
        """The key of elements as they were loaded."""
        dtype, k = self.dtype, self.t(self.key)
        found = self._float(x) if dtype.is_float else self._int(x)
        return self.ins(f"xor {k} {found}, {self.const('-1', self.key)}") if self.descending else found

    def _int(self, x: str) -> str:
        dtype, k = self.dtype, self.t(self.key)
        wide = dtypes.int64 if self.size == 8 else dtypes.int32
        if dtype in (dtypes.uint32, dtypes.uint64):
            return x
        found = x if dtype is wide else self.cast(x, dtype, wide)
        return self.ins(f"xor {k} {found}, {self.const(str(-(2 ** (8 * self.size - 1))), self.key)}")

    def _float(self, x: str) -> str:
        wide = dtypes.float64 if self.size == 8 else dtypes.float32
        kind = "double" if self.size == 8 else "float"
        x = x if self.dtype is wide else self.cast(x, self.dtype, wide)
        t, k, test = self.t(kind), self.t(self.key), self.t("i1")
        one_zero = self.ins(f"fadd {t} {x}, {self.real(0.0, kind)}")  # -0.0 becomes 0.0
        bits = self.ins(f"bitcast {t} {one_zero} to {k}")
        sign = self.ins(f"ashr {k} {bits}, {self.const(str(8 * self.size - 1), self.key)}")
        turned = self.ins(f"or {k} {sign}, {self.const(str(-(2 ** (8 * self.size - 1))), self.key)}")
        found = self.ins(f"xor {k} {bits}, {turned}")
        nan = self.ins(f"fcmp uno {t} {x}, {x}")
        return self.ins(f"select {test} {nan}, {k} {self.const('-1', self.key)}, {k} {found}")

    def first_of(self, unit: str, n: str) -> str:
        """The first element of a line of ``n``."""
        outer, column = self.i64("udiv", unit, self.inner), self.i64("urem", unit, self.inner)
        return self.i64("add", self.i64("mul", outer, self.i64("mul", n, self.inner)), column)

    def element(self, first: str, i: str) -> str:
        """Element ``i`` of the line that begins at ``first``, as it is stored."""
        at = self.i64("add", first, self.i64("mul", i, self.inner))
        return self.load(self.dtype, self.place(self.stored, self.x, at))

    def answer(self, unit: str, first: str, j: str, place: str) -> None:
        """Result ``j`` of a line: the element at ``place``."""
        wide = self.ins(f"zext i32 {place} to i64")
        at = self.i64("add", self.first_of(unit, self.keep), self.i64("mul", j, self.inner))
        self.store(self.dtype, self.element(first, wide), self.place(self.stored, self.values, at))
        self.do(f"store i64 {wide}, ptr {self.place('i64', self.places, at)}")


# ---- a whole line ----


def _sort(dtype: DType, descending: bool) -> line_kernel.LineEmitter:
    e = _Keys(dtype, descending)
    own = _memory(e)
    counts = e.alloca(f"[{e.size * DIGITS} x i32]")

    def line(unit: str) -> None:
        first = e.first_of(unit, e.n)
        _count(e, first, own[0], own[1], counts)
        place = e.alloca("i64")  # in which of the two halves the pairs are
        e.do(f"store i64 0, ptr {place}")
        for digit in range(e.size):
            table = e.place("i32", counts, str(digit * DIGITS))
            _pass(e, own, table, digit, place)
        now = e.ins(f"icmp eq i64 {e.ins(f'load i64, ptr {place}')}, 0")
        places = e.ins(f"select i1 {now}, ptr {own[1]}, ptr {own[3]}")

        def out(j: str) -> None:
            e.answer(unit, first, j, e.ins(f"load i32, ptr {e.place('i32', places, j)}"))

        e.each("0", e.keep, out)

    e.units(line)
    return e


def _memory(e: _Keys) -> tuple[str, str, str, str]:
    """Keys and places of this thread, twice. The thread is known where there are several."""
    base, size = e.pointer(3), e.word(9)
    start = e.place("i8", base, e.i64("mul", e.thread(), size))
    steps = [e.i64("mul", e.n, k) for k in (e.size, e.size * 2, e.size * 2 + _PLACE)]
    second, first_places, second_places = (e.place("i8", start, s) for s in steps)
    return start, first_places, second, second_places


def _count(e: _Keys, first: str, keys: str, places: str, counts: str) -> None:
    """Keys and places in the first half, and how often every digit has every value."""
    e.act("llvm.memset.p0.i64", ("ptr", counts), ("i8", "0"), ("i64", str(4 * e.size * DIGITS)), ("i1", "false"))

    def one(i: str) -> None:
        key = e.key_of(e.element(first, i))
        e.do(f"store {e.key} {key}, ptr {e.place(e.key, keys, i)}")
        e.do(f"store i32 {e.ins(f'trunc i64 {i} to i32')}, ptr {e.place('i32', places, i)}")
        for digit in range(e.size):
            at = e.place("i32", counts, e.i64("add", _digit(e, key, digit), digit * DIGITS))
            count = e.ins(f"load i32, ptr {at}")
            e.do(f"store i32 {e.ins(f'add i32 {count}, 1')}, ptr {at}")

    e.each("0", e.n, one)


def _digit(e: _Keys, key: str, digit: int) -> str:
    shifted = e.ins(f"lshr {e.key} {key}, {BITS * digit}") if digit else key
    found = e.ins(f"and {e.key} {shifted}, {DIGITS - 1}")
    return found if e.key == "i64" else e.ins(f"zext i32 {found} to i64")


def _pass(e: _Keys, own: tuple[str, str, str, str], table: str, digit: int, place: str) -> None:
    """The pairs in the order of one digit, from one half to the other; nothing where it is the same everywhere."""
    half = e.ins(f"load i64, ptr {place}")
    swap = e.ins(f"icmp ne i64 {half}, 0")
    keys, places, new_keys, new_places = (
        e.ins(f"select i1 {swap}, ptr {own[b]}, ptr {own[a]}") for a, b in ((0, 2), (1, 3), (2, 0), (3, 1))
    )
    some = _digit(e, e.ins(f"load {e.key}, ptr {keys}"), digit)
    same = e.ins(f"load i32, ptr {e.place('i32', table, some)}")
    needed = e.ins(f"icmp ne i32 {same}, {e.ins(f'trunc i64 {e.n} to i32')}")

    def start(k: str, now: list[str]) -> list[str]:
        at = e.place("i32", table, k)
        count = e.ins(f"load i32, ptr {at}")
        e.do(f"store i32 {now[0]}, ptr {at}")
        return [e.ins(f"add i32 {now[0]}, {count}")]

    def move(i: str) -> None:
        key = e.ins(f"load {e.key}, ptr {e.place(e.key, keys, i)}")
        at = e.place("i32", table, _digit(e, key, digit))
        target = e.ins(f"load i32, ptr {at}")
        e.do(f"store i32 {e.ins(f'add i32 {target}, 1')}, ptr {at}")
        wide = e.ins(f"zext i32 {target} to i64")
        e.do(f"store {e.key} {key}, ptr {e.place(e.key, new_keys, wide)}")
        own_place = e.ins(f"load i32, ptr {e.place('i32', places, i)}")
        e.do(f"store i32 {own_place}, ptr {e.place('i32', new_places, wide)}")

    def run() -> None:
        e.loop(("0", str(DIGITS), 1), [("i32", "0")], start)
        e.each("0", e.n, move)
        e.do(f"store i64 {e.i64('xor', half, 1)}, ptr {place}")

    e.when(needed, run)


# ---- few of many ----


def _top_k(dtype: DType, descending: bool) -> line_kernel.LineEmitter:
    e = _Keys(dtype, descending)
    keys, places = e.alloca(f"[{FEW} x {e.key}]"), e.alloca(f"[{FEW} x i32]")
    lanes = 4 * 16 // e.size

    def line(unit: str) -> None:
        first = e.i64("mul", unit, e.n)
        e.each("0", e.keep, lambda i: _insert(e, (keys, places), e.key_of(e.element(first, i)), i, i))
        whole = e.i64("sub", e.n, e.i64("urem", e.i64("sub", e.n, e.keep), lanes))
        e.each(e.keep, whole, lambda i: vector(first, i), lanes)
        e.each(whole, e.n, lambda i: one(first, i))
        e.each("0", e.keep, lambda j: e.answer(unit, first, j, e.ins(f"load i32, ptr {e.place('i32', places, j)}")))

    def last() -> str:
        return e.ins(f"load {e.key}, ptr {e.place(e.key, keys, e.i64('sub', e.keep, 1))}")

    def one(first: str, i: str) -> None:
        key = e.key_of(e.element(first, i))
        end = e.i64("sub", e.keep, 1)
        e.when(e.ins(f"icmp ult {e.key} {key}, {last()}"), lambda: _insert(e, (keys, places), key, i, end))

    def vector(first: str, i: str) -> None:
        limit = last()
        e.lanes = lanes
        found = e.key_of(e.load(dtype, e.place(e.stored, e.x, e.i64("add", first, i))))
        some = e.some(e.ins(f"icmp ult {e.t(e.key)} {found}, {e.splat(e.key, limit)}"))
        e.lanes = 1
        e.when(some, lambda: e.each(i, e.i64("add", i, lanes), lambda j: one(first, j)))

    e.units(line)
    return e


def _insert(e: _Keys, best: tuple[str, str], key: str, place: str, end: str) -> None:
    """Put a pair where it belongs among the ``end`` best, behind equal ones; what stood at ``end`` is gone."""
    keys, places = best
    spot = e.alloca("i64")
    e.do(f"store i64 {end}, ptr {spot}")

    def back(step: str) -> None:
        j = e.i64("sub", e.i64("sub", end, step), 1)
        other = e.ins(f"load {e.key}, ptr {e.place(e.key, keys, j)}")

        def move() -> None:
            after = e.i64("add", j, 1)
            e.do(f"store {e.key} {other}, ptr {e.place(e.key, keys, after)}")
            moved = e.ins(f"load i32, ptr {e.place('i32', places, j)}")
            e.do(f"store i32 {moved}, ptr {e.place('i32', places, after)}")
            e.do(f"store i64 {j}, ptr {spot}")

        e.when(e.ins(f"icmp ult {e.key} {key}, {other}"), move)

    e.each("0", end, back)
    at = e.ins(f"load i64, ptr {spot}")
    e.do(f"store {e.key} {key}, ptr {e.place(e.key, keys, at)}")
    e.do(f"store i32 {e.ins(f'trunc i64 {place} to i32')}, ptr {e.place('i32', places, at)}")
