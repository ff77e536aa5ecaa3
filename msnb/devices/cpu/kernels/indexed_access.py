"""Reading, writing and adding at index tensors: ``x[i, j]``, ``x[t] = v``, ``gather_elements`` and their gradients.

    1. offsets   table[q] from the index tensors, entry by entry; one that is out of range makes the call decline: the
                 reference body then raises the error that tells which one
    2. read      out[a, q, b] = x[... table[q] ...]           threads share out the (a, q)
       write     out = x (no copy where it lies there already), then out[... table[q] ...] = v[a, q, b], in order:
                 of several writes to one place the last one counts
       add       out = 0, then out[... table[q] ...] += y[a, q, b]; each thread adds to a range of offsets of its own,
                 so nothing collides and the order of sums is always the same. Where many entries fall on a small
                 result (a histogram), they are cut into chunks, each with a result of its own; these are added up

A program makes the offsets of a write apart, early, so that the write itself cannot fail (``Guard``): behind COMMIT it
changes a parameter where it lies, and in a loop what is carried.

The walk over x is ``index_walk``'s: strides and sizes come as words, one kernel per kind and dtype.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from msnb.core import DType, TensorType, clamped, dtypes, tensor_type
from msnb.devices.codegen.index_walk import IndexWalk, index_walk
from msnb.devices.cpu import thread_pool
from msnb.devices.cpu.kernels.lines.line_kernel import LineEmitter, library, verdict
from msnb.devices.cpu.llvm.jit import Library, Symbol, attributes
from msnb.devices.cpu.native_kernel import Guard, KernelCall, NativeKernel, ViewOf
from msnb.devices.llvm import LoopBuilder, memory_name
from msnb.ir.graph import Node
from msnb.ops.shape.index_records import INDEX

SHARED_WORK = 100_000
_ADDED = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
_CONVERTED = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64, dtypes.bool_)
_INDICES = (dtypes.int32, dtypes.int64)
_VECTOR, _BLOCK = 8, 4096


class IndexedAccessRecipe(NativeKernel):
    """A node that reads, writes or adds at index tensors; ``scalar``: the dtype of one number that is written."""

    declines = True

    def __init__(
        self, kind: str, dtype: DType, walk: IndexWalk, indices: Sequence[DType], scalar: DType | None = None
    ) -> None:
        self.kind: str = kind
        self.dtype: DType = dtype
        self.walk: IndexWalk = walk
        self.scalar: DType | None = scalar
        self.indices: tuple[str, ...] = tuple(t.name for t in indices)
        self.chunks: int = _chunks(kind, walk)
        partial = walk.size * dtype.itemsize * (self.chunks - 1)
        self.temps = (8 * max(walk.entries, 1), *((partial,) if partial else ()))
        self.inplace = ((0, 0),) if kind == "write" else ()

    def guarded(self, node: Node) -> IndexedAccessRecipe:
        """With the table of a write apart from the write."""
        whole, value, *indices = node.inputs
        asks = Node(INDEX, [whole, *indices], node.attrs, [tensor_type(self.walk.shape, self.dtype)])
        asks.where, asks.scope = node.where, node.scope
        parts = IndexTableRecipe(self), IndexedWriteRecipe(self)
        self.guard = Guard(parts[0], asks, tuple(indices), self.temps[0], parts[1], (whole, value))
        return self

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """The table of offsets, then the access."""
        first = 2 if self.kind == "write" else 1
        if self.chunks > 1:
            return self._added(ins[0], ins[1], outs[0], temps)
        return [self.offsets(ins[first:], temps[0]), *self.access(ins[:first], outs[0], temps[0])]

    def _added(self, y: int, index: int, out: int, temps: Sequence[int]) -> list[KernelCall]:
        """Chunks of entries, each added to a result of its own; the one index tensor is read as it is."""
        walk, n = self.walk, self.chunks
        size = walk.size * self.dtype.itemsize
        zeroed = Symbol(filled(), "msnb_zeroed")
        checked, cut, summed = (
            Symbol(library(f"msnb_{name}_at", write, self.dtype, self.indices[0]), f"msnb_{name}_at")
            for name, write in (("checked", _check), ("cut", _add_chunk), ("summed", _sum_chunks))
        )
        bound = walk.tensors[0].size
        blocks, parts = -(-walk.size // _BLOCK), -(-walk.entries // _BLOCK)
        return [
            KernelCall(zeroed, (temps[0], 8)),
            KernelCall(checked, (parts, max(1, walk.entries // SHARED_WORK), index, temps[0], walk.entries, bound)),
            KernelCall(Symbol(verdict(), "msnb_verdict"), (temps[0], 1)),
            KernelCall(zeroed, (out, size)),
            KernelCall(zeroed, (temps[1], size * (n - 1))),
            KernelCall(cut, (n, n, y, out, index, temps[1], walk.entries, walk.base, walk.size, n, bound)),
            KernelCall(summed, (blocks, max(1, walk.size * n // SHARED_WORK), out, temps[1], walk.size, n)),
        ]

    def offsets(self, indices: Sequence[int], table: int) -> KernelCall:
        """The call that makes the table."""
        walk = self.walk
        sizes = (*[1] * (3 - len(walk.joint)), *walk.joint)
        words = [table, *sizes]
        for slot, t in zip(indices, walk.tensors):
            words += [slot, *[0] * (3 - len(t.strides)), *t.strides, t.size, t.step]
        return KernelCall(Symbol(_offsets(self.indices), "msnb_offsets"), tuple(words))

    def access(self, operands: Sequence[int], out: int, table: int) -> list[KernelCall]:
        """The calls that read, write or add by the table."""
        walk, entries = self.walk, self.walk.entries
        (a0, s0), (a1, s1), (b, sb) = *walk.outer, walk.inner
        rows = a0 * a1 * entries
        units = {"read": rows, "write": a0 * a1, "add": _span(walk)}[self.kind]
        threads = clamped(rows * b // SHARED_WORK, 1, units)
        sizes = (a1, entries, b, walk.base, s0, s1, sb)
        about = (self.dtype, sb == 1, self.scalar)
        symbol = f"msnb_{self.kind}_at"
        made = Symbol(library(symbol, _WRITERS[self.kind], *about), symbol)
        own = (units, threads, *operands, out, table, *sizes)
        size = walk.size * self.dtype.itemsize
        start = {
            "read": (),
            "write": (KernelCall(Symbol(filled(), "msnb_copied"), (operands[0], out, size)),),
            "add": (KernelCall(Symbol(filled(), "msnb_zeroed"), (out, size)),),
        }[self.kind]
        return [*start, KernelCall(made, (*own, a0) if self.kind == "add" else own)]


class IndexTableRecipe(NativeKernel):
    """The table of an access alone."""

    declines = True

    def __init__(self, whole: IndexedAccessRecipe) -> None:
        self.whole = whole

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        return [self.whole.offsets(ins, outs[0])]


class IndexedWriteRecipe(NativeKernel):
    """A write by a table that is there."""

    inplace = ((0, 0),)

    def __init__(self, whole: IndexedAccessRecipe) -> None:
        self.whole = whole

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """The copy, which is nothing in place, and the write."""
        return self.whole.access(ins[:2], outs[0], ins[2])


def _chunks(kind: str, walk: IndexWalk) -> int:
    """Into how many chunks entries are cut: one for each core, where single numbers fall on a far smaller result."""
    single = walk.inner[0] == walk.outer[0][0] == walk.outer[1][0] == 1
    plain = len(walk.tensors) == 1 and walk.tensors[0].strides == (1,) and walk.tensors[0].step == 1
    if kind != "add" or not single or not plain or walk.entries < SHARED_WORK or walk.entries < 4 * walk.size:
        return 1
    return thread_pool.cores()


def _span(walk: IndexWalk) -> int:
    """One more than the largest offset in the table."""
    return sum((t.size - 1) * t.step for t in walk.tensors) + 1


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How an access by index tensors runs; None for other nodes, and for what rows of a table serve better."""
    kind = _kind(node)
    types = _types(node) if kind else ()
    if not types:
        return None
    first = 2 if kind == "write" else 1
    whole, indices, data = types[0 if kind == "read" else -1], types[first:-1], types[:first]
    if not _are_indices(indices) or not _fits(kind, whole, data):
        return None
    walk, kinds = index_walk(whole, indices, node.attrs["spec"]), [t.dtype for t in indices]
    if walk is None or _is_table(kind, walk):
        return None
    if kind != "write":
        return IndexedAccessRecipe(kind, whole.dtype, walk, kinds)
    if data[1].size == 1:
        return IndexedAccessRecipe(kind, whole.dtype, walk, kinds, data[1].dtype).guarded(node)
    fits = data[1].ints() == walk.shape
    return IndexedAccessRecipe(kind, whole.dtype, walk, kinds).guarded(node) if fits else None


def _is_table(kind: str, walk: IndexWalk) -> bool:
    """True where one index tensor reads or adds rows of a table (``gather_scatter``)."""
    return len(walk.tensors) == 1 and kind != "write" and _chunks(kind, walk) == 1


def _types(node: Node) -> tuple[TensorType, ...]:
    """Of operands and result; nothing where one is of an unknown size, or empty."""
    types = [v.type for v in (*node.inputs, node.out)]
    known = tuple(t for t in types if isinstance(t, TensorType) and t.is_static and 0 not in t.shape)
    return known if len(known) == len(types) else ()


def _are_indices(types: Sequence[TensorType]) -> bool:
    return all(t.dtype in _INDICES and not t.weak for t in types)


def _kind(node: Node) -> str:
    """What the access does; nothing for other nodes and for keys without index tensors."""
    if "t" not in node.attrs.get("spec", ()):
        return ""
    match node.op.name:
        case "index":
            return "read"
        case "unindex":
            return "add"
        case "index_update":
            return "write"
    return ""


def _fits(kind: str, whole: TensorType, data: Sequence[TensorType]) -> bool:
    """True for dense operands of one real dtype; one number that is written is converted."""
    if kind == "write" and data[1].size == 1 and whole.dtype in _CONVERTED and data[1].dtype in _CONVERTED:
        data = data[:1]
    if whole.dtype.is_complex or any(t.weak or t.dtype is not whole.dtype for t in data):
        return False
    return kind != "add" or whole.dtype in _ADDED


# ---- the table ----


@functools.lru_cache(maxsize=16)
def _offsets(indices: tuple[str, ...]) -> Library:
    """``i32 msnb_offsets``: words = [table, three sizes, then per tensor: slot, three strides, size, step]."""
    e = LoopBuilder()
    table, sizes = e.slot(0), [e.word(k) for k in (1, 2, 3)]
    tensors = [(e.slot(4 + 6 * t), *(e.word(5 + 6 * t + k) for k in range(5))) for t in range(len(indices))]
    outer = e.ins(f"mul i64 {sizes[0]}, {sizes[1]}")

    def row(r: str, bad: list[str]) -> list[str]:
        i, j = e.ins(f"udiv i64 {r}, {sizes[1]}"), e.ins(f"urem i64 {r}, {sizes[1]}")
        target = e.ins(f"getelementptr i64, ptr {table}, i64 {e.ins(f'mul i64 {r}, {sizes[2]}')}")
        starts = []
        for t, (_, s0, s1, *_) in enumerate(tensors):
            at = e.ins(f"add i64 {e.ins(f'mul i64 {i}, {s0}')}, {e.ins(f'mul i64 {j}, {s1}')}")
            starts.append(e.ins(f"getelementptr {_stored(indices[t])}, ptr {tensors[t][0]}, i64 {at}"))

        def entry(k: str, now: list[str]) -> list[str]:
            total, wrong = "0", now[0]
            for t, (_, _, _, s2, size, step) in enumerate(tensors):
                found, outside = _entry(e, indices[t], starts[t], e.ins(f"mul i64 {k}, {s2}"), size)
                total = e.ins(f"add i64 {total}, {e.ins(f'mul i64 {found}, {step}')}")
                wrong = e.ins(f"or i1 {wrong}, {outside}")
            e.do(f"store i64 {total}, ptr {e.ins(f'getelementptr i64, ptr {target}, i64 {k}')}")
            return [wrong]

        return e.loop(("0", sizes[2], 1), [("i1", bad[0])], entry)

    bad = e.loop(("0", outer, 1), [("i1", "false")], row)[0]
    e.do(f"ret i32 {e.ins(f'zext i1 {bad} to i32')}")
    head = "i32 @msnb_offsets(ptr %slots, ptr %words, ptr %env)"
    return Library("\n".join([*e.declared.values(), e.function(head, attributes())]))


def _stored(dtype: str) -> str:
    return "i32" if dtype == "int32" else "i64"


def _entry(e: LoopBuilder, dtype: str, start: str, at: str, size: str) -> tuple[str, str]:
    """An entry counted from the front, and whether it is out of range."""
    kind = _stored(dtype)
    plain = e.ins(f"load {kind}, ptr {e.ins(f'getelementptr {kind}, ptr {start}, i64 {at}')}")
    wide = plain if kind == "i64" else e.ins(f"sext i32 {plain} to i64")
    below = e.ins(f"icmp slt i64 {wide}, 0")
    found = e.ins(f"select i1 {below}, i64 {e.ins(f'add i64 {wide}, {size}')}, i64 {wide}")
    return found, e.ins(f"icmp uge i64 {found}, {size}")


@functools.lru_cache(maxsize=1)
def filled() -> Library:
    """``msnb_copied`` [from, to, bytes], nothing where these are one; ``msnb_zeroed`` [to, bytes]."""
    copied, zeroed = LoopBuilder(), LoopBuilder()
    for e, slots in ((copied, 2), (zeroed, 1)):
        places, size = [e.slot(i) for i in range(slots)], e.word(slots)
        if slots == 1:
            e.act("llvm.memset.p0.i64", ("ptr", places[0]), ("i8", "0"), ("i64", size), ("i1", "false"))
        else:
            args = [("ptr", places[1]), ("ptr", places[0]), ("i64", size), ("i1", "false")]
            apart = e.ins(f"icmp ne ptr {places[0]}, {places[1]}")
            e.when(apart, functools.partial(e.act, "llvm.memcpy.p0.p0.i64", *args))
        e.do("ret i32 0")
    text = [*copied.declared.values(), *zeroed.declared.values()]
    for e, name in ((copied, "copied"), (zeroed, "zeroed")):
        head = f"i32 @msnb_{name}(ptr %slots, ptr %words, ptr %env)"
        text.append(e.function(head, attributes()))
    return Library("\n".join(text))


# ---- access ----


class _Access(LineEmitter):
    """Part of one thread. Words: units, threads, operands, result, table, then a1, entries, b, base, strides."""

    def __init__(self, operands: int, dtype: DType, close: bool) -> None:
        super().__init__()
        self.dtype, self.stored, self.close = dtype, memory_name(dtype), close
        self.data = [self.slot(2 + i) for i in range(operands + 2)]
        names = ("a1", "entries", "b", "base", "s0", "s1", "sb", "a0")
        self.at = {name: self.word(4 + operands + i) for i, name in enumerate(names[: 7 + (operands == 1)])}

    def offset(self, table: str, entry: str) -> str:
        """The offset of an entry."""
        return self.ins(f"load i64, ptr {self.place('i64', table, entry)}")

    def outer_offset(self, a: str) -> str:
        """The base and the part of the outer axes."""
        i, j = self.i64("udiv", a, self.at["a1"]), self.i64("urem", a, self.at["a1"])
        both = self.i64("add", self.i64("mul", i, self.at["s0"]), self.i64("mul", j, self.at["s1"]))
        return self.i64("add", self.at["base"], both)

    def copy(self, target: str, t: str, source: str, s: str) -> None:
        """A row of ``b`` elements; ``t``, ``s``: elements from one to the next, "" where they lie close."""
        if not t and not s:
            if self.stored in ("i32", "float"):
                one = self.ins(f"icmp eq i64 {self.at['b']}, 1")
                self.when(one, lambda: self._one(target, source), lambda: self._whole(target, source))
            else:
                self._whole(target, source)
            return

        def step(j: str) -> None:
            a = self.place(self.stored, target, self.i64("mul", j, t) if t else j)
            b = self.place(self.stored, source, self.i64("mul", j, s) if s else j)
            self._one(a, b)

        self.each("0", self.at["b"], step)

    def _one(self, target: str, source: str) -> None:
        self.do(f"store {self.stored} {self.ins(f'load {self.stored}, ptr {source}, align 1')}, ptr {target}, align 1")

    def _whole(self, target: str, source: str) -> None:
        size = self.i64("mul", self.at["b"], self.dtype.itemsize)
        self.act("llvm.memcpy.p0.p0.i64", ("ptr", target), ("ptr", source), ("i64", size), ("i1", "false"))


def _read(dtype: DType, close: bool, scalar: DType | None) -> LineEmitter:
    e = _Access(1, dtype, close)
    x, out, table = e.data
    stride = "" if close else e.at["sb"]

    def row(unit: str) -> None:
        a, q = e.i64("udiv", unit, e.at["entries"]), e.i64("urem", unit, e.at["entries"])
        source = e.place(e.stored, x, e.i64("add", e.outer_offset(a), e.offset(table, q)))
        e.copy(e.place(e.stored, out, e.i64("mul", unit, e.at["b"])), "", source, stride)

    e.units(row)
    return e


def _write(dtype: DType, close: bool, scalar: DType | None) -> LineEmitter:
    e = _Access(2, dtype, close)
    _, value, out, table = e.data
    stride = "" if close and scalar is None else e.at["sb"]
    if scalar is not None and scalar is not dtype:
        number = e.alloca(e.stored)
        e.store(dtype, e.cast(e.load(scalar, value), scalar, dtype), number)
        value = number

    def block(a: str) -> None:
        start = e.outer_offset(a)

        def row(q: str) -> None:
            target = e.place(e.stored, out, e.i64("add", start, e.offset(table, q)))
            unit = e.i64("add", e.i64("mul", a, e.at["entries"]), q)
            source = value if scalar else e.place(e.stored, value, e.i64("mul", unit, e.at["b"]))
            e.copy(target, stride, source, "0" if scalar else "")

        e.each("0", e.at["entries"], row)

    e.units(block)
    return e


def _add(dtype: DType, close: bool, scalar: DType | None) -> LineEmitter:
    """Units are offsets: a thread adds the rows whose offset is its own."""
    e = _Access(1, dtype, close)
    y, out, table = e.data

    def block(a: str) -> None:
        start = e.outer_offset(a)

        def row(q: str) -> None:
            offset = e.offset(table, q)
            own = e.ins(f"and i1 {e.ins(f'icmp sge i64 {offset}, %begin')}, {e.ins(f'icmp slt i64 {offset}, %end')}")
            unit = e.i64("add", e.i64("mul", a, e.at["entries"]), q)
            target = e.place(e.stored, out, e.i64("add", start, offset))
            e.when(own, lambda: _add_row(e, target, e.place(e.stored, y, e.i64("mul", unit, e.at["b"])), close))

        e.each("0", e.at["entries"], row)

    e.each("0", e.i64("mul", e.at["a0"], e.at["a1"]), block)
    e.do("ret void")
    return e


def _add_row(e: _Access, target: str, source: str, close: bool) -> None:
    """target += source, whole vectors first where both lie close."""
    word = "fadd" if e.dtype.is_float else "add"

    def step(j: str) -> None:
        at = e.place(e.stored, target, j if close else e.i64("mul", j, e.at["sb"]))
        other = e.load(e.dtype, e.place(e.stored, source, j))
        e.store(e.dtype, e.ins(f"{word} {e.t(e.stored)} {e.load(e.dtype, at)}, {other}"), at)

    if close:
        e.each_in_vectors(e.at["b"], step, _VECTOR)
    else:
        e.each("0", e.at["b"], step)


def _check(dtype: DType, index: str) -> LineEmitter:
    """Words: index, where to say that an entry is out of range, entries, size. Units are blocks of entries."""
    e, own = LineEmitter(), dtypes.as_dtype(index)
    x, said = (e.slot(i) for i in (2, 3))
    entries, size, kind = e.word(4), e.word(5), _stored(index)
    bound = size if kind == "i64" else e.ins(f"trunc i64 {size} to i32")
    lowest = e.ins(f"sub {kind} 0, {bound}")

    def block(unit: str) -> None:
        low = e.i64("mul", unit, _BLOCK)
        e.sweep(e.smaller(e.i64("sub", entries, low), str(_BLOCK)), 2 * _VECTOR, lambda i, mask: some(low, i, mask))

    def some(low: str, i: str, mask: str) -> None:
        k, t, test = e.load(own, e.place(kind, x, e.i64("add", low, i)), mask), e.t(kind), e.t("i1")
        below = e.ins(f"icmp slt {t} {k}, {e.splat(kind, lowest)}")
        outside = e.ins(f"or {test} {below}, {e.ins(f'icmp sge {t} {k}, {e.splat(kind, bound)}')}")
        found = e.some(e.ins(f"and {test} {outside}, {mask}") if mask else outside)
        e.when(found, lambda: e.do(f"store i64 1, ptr {said}"))

    e.units(block)
    return e


def _add_chunk(dtype: DType, index: str) -> LineEmitter:
    """Words: operand, result, index, other results, then entries, base, elements of a result, chunks, size."""
    e, stored = LineEmitter(), memory_name(dtype)
    y, out, entry, others = (e.slot(i) for i in range(2, 6))
    entries, base, size, chunks, bound = (e.word(i) for i in range(6, 11))
    word = "fadd" if dtype.is_float else "add"

    def chunk(unit: str) -> None:
        own = e.place(stored, others, e.i64("mul", e.i64("sub", unit, 1), size))
        first = e.ins(f"icmp eq i64 {unit}, 0")
        target = e.place(stored, e.ins(f"select i1 {first}, ptr {out}, ptr {own}"), base)
        ends = [e.i64("udiv", e.i64("mul", u, entries), chunks) for u in (unit, e.i64("add", unit, 1))]

        def one(q: str) -> None:
            offset, _ = _entry(e, index, entry, q, bound)
            at = e.place(stored, target, offset)
            total = e.ins(f"{word} {stored} {e.load(dtype, at)}, {e.load(dtype, e.place(stored, y, q))}")
            e.store(dtype, total, at)

        e.each(ends[0], ends[1], one)

    e.units(chunk)
    return e


def _sum_chunks(dtype: DType, index: str) -> LineEmitter:
    """Words: result, other results, elements of a result, chunks. Units are blocks of elements."""
    e, stored = LineEmitter(), memory_name(dtype)
    out, others = (e.slot(i) for i in (2, 3))
    size, chunks = e.word(4), e.word(5)
    word = "fadd" if dtype.is_float else "add"

    def block(unit: str) -> None:
        low = e.i64("mul", unit, _BLOCK)
        count = e.smaller(e.i64("sub", size, low), str(_BLOCK))

        def result(chunk: str) -> None:
            far = e.place(stored, others, e.i64("add", e.i64("mul", e.i64("sub", chunk, 1), size), low))
            near = e.place(stored, out, low)

            def some(i: str, mask: str) -> None:
                at = e.place(stored, near, i)
                other = e.load(dtype, e.place(stored, far, i), mask)
                e.store(dtype, e.ins(f"{word} {e.t(stored)} {e.load(dtype, at, mask)}, {other}"), at, mask)

            e.sweep(count, _VECTOR, some)

        e.each("1", chunks, result)

    e.units(block)
    return e


_WRITERS: dict[str, Any] = {"read": _read, "write": _write, "add": _add}
