"""Rows of a table by index: reading them, and adding to them. One kernel for all sizes, which come as words.

    gather    x [outer, size, inner], index [count]     out[o, i, :] = x[o, index[i], :]       threads share out the i
    add       y [outer, count, inner], index [count]    out[o, index[i], :] += y[o, i, :]      ... the rows of out
    check     class indices: between 0 and the number of classes, or the one that is ignored

Adding, each thread reads the whole index and adds to its own rows only: nothing collides, and the order of the sums is
always the same.

An index outside of its range makes the call decline: the reference body then raises the error that tells which one.
Negative indices of ``gather`` and ``add`` count from the end.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from msnb.core import TensorType, dtypes
from msnb.devices.cpu.llvm.jit import Library, Symbol, attributes
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel
from msnb.devices.llvm import Emitter, memory_name, module, shared
from msnb.ir.graph import Node, type_of

_INDICES = (dtypes.int32, dtypes.int64)
_ADDED = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.int64)
_FULL = (None, None, None)
SHARED_BYTES = 1 << 20


class TableRecipe(NativeKernel):
    """A node that reads or adds by one index."""

    declines = True

    def __init__(self, name: str, constants: tuple[int, ...]) -> None:
        self.name: str = name
        self.constants: tuple[int, ...] = constants
        self.library: Library | None = None

    @classmethod
    def prepare(cls, recipes: Sequence[Any]) -> None:
        """Compile what is used, in one module."""
        library = library_of(tuple(sorted({r.name for r in recipes})))
        for r in recipes:
            r.library = library

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        assert self.library is not None
        return [KernelCall(Symbol(self.library, f"msnb_{self.name}"), (*ins, *outs, *self.constants))]


def recipe(node: Node, view_of: Callable[..., Any]) -> NativeKernel | None:
    """A recipe for gather, index and unindex along one axis, and class_index; None for anything else."""
    if node.op.name not in ("gather", "index", "unindex", "class_index"):
        return None
    types = [v.type for v in (*node.inputs, node.out)]
    if not all(isinstance(t, TensorType) and t.is_static and not t.weak and 0 not in t.shape for t in types):
        return None
    if node.op.name == "class_index":
        return _check(node)
    return _table(node) if len(node.inputs) == 2 else None


def _check(node: Node) -> NativeKernel | None:
    t = type_of(node.out)
    if t.dtype not in _INDICES:
        return None
    return TableRecipe(f"check_{t.dtype.name}", (t.size, node.attrs["classes"], node.attrs["ignore"]))


def _table(node: Node) -> NativeKernel | None:
    index = type_of(node.inputs[1])
    whole = type_of(node.out if node.op.name == "unindex" else node.inputs[0])
    axis = node.attrs["axis"] % whole.ndim if node.op.name == "gather" else _axis(node.attrs["spec"])
    if axis is None or index.dtype not in _INDICES:
        return None
    shape = whole.ints()
    outer, size, inner = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    if node.op.name == "unindex":
        if whole.dtype not in _ADDED:
            return None
        name = f"add_{whole.dtype.name}_{index.dtype.name}"
        return TableRecipe(name, (outer, index.size, size, inner))
    return TableRecipe(f"gather_{index.dtype.name}", (outer, index.size, size, inner * whole.dtype.itemsize))


def _axis(spec: Any) -> int | None:
    """The axis of the only index tensor, where everything else is whole."""
    return None if spec.count("t") != 1 or any(e != "t" and e != _FULL for e in spec) else int(spec.index("t"))


# ---- code ----


@functools.lru_cache(maxsize=64)
def library_of(names: tuple[str, ...]) -> Library:
    """The kernels of these names in one module."""
    emitted = [_function(n) for n in names]
    return Library(module([e for _, builders in emitted for e in builders], *(text for text, _ in emitted)))


def _function(name: str) -> tuple[str, list[Emitter]]:
    """A kernel as text, and its emitters. One thread's part is a function of its own."""
    what, *kinds = name.split("_")
    main, part = Emitter(), Emitter()
    index = "i32" if kinds[-1] == "int32" else "i64"
    if what == "check":
        _emit_check(main, index)
        return main.function(f"i32 @msnb_{name}(ptr %slots, ptr %words, ptr %env)", attributes()), [main]
    numbers = dict(zip(("outer", "count", "size", "inner"), (main.word(3 + i) for i in range(4))))
    fine = _emit_range(main, index, main.slot(1), numbers)
    good = main.name("good")
    main.do(f"br i1 {fine}, label %{good}, label %bad")
    main.label("bad")
    main.do("ret i32 1")
    main.label(good)
    _emit_fork(main, name, what, numbers)
    work = {"gather": _emit_gather, "add": _emit_add}[what]
    work(part, index, dtypes.as_dtype(kinds[0]) if what == "add" else dtypes.int8)
    return shared(f"msnb_{name}", attributes(), main, part), [main, part]


def _entry_of(e: Emitter, index: str, base: str, i: str) -> str:
    found = e.ins(f"load {index}, ptr {e.place(index, base, i)}")
    return e.ins(f"sext i32 {found} to i64") if index == "i32" else found


def _emit_range(e: Emitter, index: str, base: str, n: dict[str, str]) -> str:
    """True where all entries are from -size to size - 1."""
    size = n["size"]
    lowest = e.ins(f"sub i64 0, {size}")

    def one(i: str, now: list[str]) -> list[str]:
        k = _entry_of(e, index, base, i)
        inside = e.ins(f"and i1 {e.ins(f'icmp sge i64 {k}, {lowest}')}, {e.ins(f'icmp slt i64 {k}, {size}')}")
        return [e.ins(f"and i1 {now[0]}, {inside}")]

    return e.loop(("0", n["count"], 1), [("i1", "true")], one)[0]


def _emit_check(e: Emitter, index: str) -> None:
    """out = target; 1 where an entry is neither a class nor the ignored one."""
    x, out = e.slot(0), e.slot(1)
    count, classes, ignore = (e.word(2 + i) for i in range(3))

    def one(i: str, now: list[str]) -> list[str]:
        k = _entry_of(e, index, x, i)
        short = e.ins(f"trunc i64 {k} to i32") if index == "i32" else k
        e.do(f"store {index} {short}, ptr {e.place(index, out, i)}")
        good = e.ins(f"or i1 {e.ins(f'icmp ult i64 {k}, {classes}')}, {e.ins(f'icmp eq i64 {k}, {ignore}')}")
        return [e.ins(f"and i1 {now[0]}, {good}")]

    fine = e.loop(("0", count, 1), [("i1", "true")], one)[0]
    e.do(f"ret i32 {e.ins(f'select i1 {fine}, i32 0, i32 1')}")


def _emit_fork(e: Emitter, name: str, what: str, n: dict[str, str]) -> None:
    """On all threads where there is much to move; the task is { x, index, out, words, threads }."""
    work = e.product(n["outer"], n["count"], n["inner"])
    large = e.ins(f"icmp sgt i64 {work}, {SHARED_BYTES if what == 'gather' else SHARED_BYTES // 8}")
    alone = e.ins(f"icmp eq ptr {e.ins('load ptr, ptr @msnb_parallel')}, null")
    many = e.ins(f"and i1 {large}, {e.ins(f'xor i1 {alone}, true')}")
    threads = e.ins(f"select i1 {many}, i64 {e.ins('load i64, ptr %env')}, i64 1")
    e.fork(f"msnb_{name}", [*(("ptr", e.slot(i)) for i in range(3)), ("ptr", "%words"), ("i64", threads)], threads)
    e.do("ret i32 0")


def _task(e: Emitter) -> tuple[list[str], dict[str, str], str]:
    fields = [e.field("ptr", "%task", i) for i in range(4)]
    threads = e.field("i64", "%task", 4)
    names = ("outer", "count", "size", "inner")
    words = {n: e.field("i64", fields[3], 3 + i) for i, n in enumerate(names)}
    return fields, words, threads


def _wrapped(e: Emitter, k: str, size: str) -> str:
    below = e.ins(f"icmp slt i64 {k}, 0")
    return e.ins(f"select i1 {below}, i64 {e.ins(f'add i64 {k}, {size}')}, i64 {k}")


def _emit_gather(e: Emitter, index: str, dtype: Any) -> None:
    (x, indices, out, _), n, threads = _task(e)
    low, high = e.ends(n["count"], threads)

    def outer(o: str, _: list[str]) -> list[str]:
        source = e.place("i8", x, e.product(o, n["size"], n["inner"]))
        target = e.place("i8", out, e.product(o, n["count"], n["inner"]))

        def row(i: str, _: list[str]) -> list[str]:
            k = _wrapped(e, _entry_of(e, index, indices, i), n["size"])
            a = e.place("i8", source, e.ins(f"mul i64 {k}, {n['inner']}"))
            b = e.place("i8", target, e.ins(f"mul i64 {i}, {n['inner']}"))
            four = e.ins(f"icmp eq i64 {n['inner']}, 4")
            single = lambda: e.do(f"store i32 {e.ins(f'load i32, ptr {a}, align 1')}, ptr {b}, align 1")
            whole = lambda: e.act("llvm.memcpy.p0.p0.i64", ("ptr", b), ("ptr", a), ("i64", n["inner"]), ("i1", "false"))
            e.when(four, single, whole)
            return []

        e.loop((low, high, 1), [], row)
        return []

    e.loop(("0", n["outer"], 1), [], outer)
    e.do("ret void")


def _emit_add(e: Emitter, index: str, dtype: Any) -> None:
    (y, indices, out, _), n, threads = _task(e)
    low, high = e.ends(n["size"], threads)
    kind = memory_name(dtype)
    length = e.ins(f"mul i64 {e.ins(f'sub i64 {high}, {low}')}, {n['inner']}")
    size = e.ins(f"mul i64 {length}, {dtype.itemsize}")

    def outer(o: str, _: list[str]) -> list[str]:
        source = e.place(kind, y, e.product(o, n["count"], n["inner"]))
        target = e.place(kind, out, e.product(o, n["size"], n["inner"]))
        mine = e.place(kind, target, e.ins(f"mul i64 {low}, {n['inner']}"))
        e.act("llvm.memset.p0.i64", ("ptr", mine), ("i8", "0"), ("i64", size), ("i1", "false"))

        def row(i: str, _: list[str]) -> list[str]:
            k = _wrapped(e, _entry_of(e, index, indices, i), n["size"])
            own = e.ins(f"and i1 {e.ins(f'icmp sge i64 {k}, {low}')}, {e.ins(f'icmp slt i64 {k}, {high}')}")
            e.when(own, lambda: _add_row(e, dtype, (source, target), (i, k), n["inner"]))
            return []

        e.loop(("0", n["count"], 1), [], row)
        return []

    e.loop(("0", n["outer"], 1), [], outer)
    e.do("ret void")


def _add_row(e: Emitter, dtype: Any, bases: tuple[str, str], rows: tuple[str, str], inner: str) -> None:
    """target[k, :] += source[i, :], whole vectors first."""
    kind = memory_name(dtype)
    a, b = (e.place(kind, base, e.ins(f"mul i64 {r}, {inner}")) for base, r in zip(bases, rows))
    whole = e.ins(f"and i64 {inner}, -16")
    word = "fadd" if dtype.is_float else "add"

    def step(j: str, _: list[str]) -> list[str]:
        left, right = e.place(kind, b, j), e.place(kind, a, j)
        total = e.ins(f"{word} {e.t(kind)} {e.load(dtype, left)}, {e.load(dtype, right)}")
        e.store(dtype, total, left)
        return []

    def wide(j: str, now: list[str]) -> list[str]:
        e.lanes = 16
        step(j, now)
        e.lanes = 1
        return []

    e.loop(("0", whole, 16), [], wide)
    e.loop((whole, inner, 1), [], step)
