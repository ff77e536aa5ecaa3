"""Random draws, 64 words at a time: Philox (``msnb.ops.random.philox``) on sixteen counters in vectors.

    counters  b, b + 1, ... b + 15     ->  four words each:  w0 [16]  w1 [16]  w2 [16]  w3 [16]
    stored    f(w0[0]) f(w1[0]) f(w2[0]) f(w3[0]) f(w0[1]) ...

    uniform    float32: the upper 24 bits of a word, times 2^-24; float64: the upper 53 bits of two words, times 2^-53
    normal     r cos(a), r sin(a) of the pairs (w0, w1), (w2, w3): r = sqrt(-2 log(1 - u)), a = 2 pi v (Box and Muller)
    integers   low + (word times the size of the range, shifted down by 32 bits)
    bits       64 bits of two words, the low ones first; a permutation is the order that sorts them
    half       float16, bfloat16: uniform the upper 11 or 8 bits of a word; normal rounded once from float64

A number depends on the key and its own index alone, so any thread may make any part. The numbers are those of
the reference body (of normal ones one in millions is rounded the other way).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from msnb.core import DType, TensorType, Type, dtypes
from msnb.devices.cpu.kernels.lines.line_kernel import Lines
from msnb.devices.cpu.kernels.lines.radix_sort import SortRecipe
from msnb.devices.cpu.llvm.jit import Library, Symbol, attributes, host
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel
from msnb.devices.llvm import Emitter, module, shared, type_name
from msnb.devices.llvm.normal_pair import normal_pair
from msnb.ir.graph import Node
from msnb.ops.definition.record import Op

_M0, _M1, _W0, _W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
_LOW = 0xFFFFFFFF
ROUNDS, BLOCKS = 10, 16
SHARED = 1 << 16

HALVES = (dtypes.float16, dtypes.bfloat16)
_PLACES = {dtypes.float16: 11, dtypes.bfloat16: 8}
"""Bits of a uniform number; 24 for float32."""


class DrawRecipe(NativeKernel):
    """One kind of draws in one dtype; ``range_``: low and size of the range of whole numbers."""

    def __init__(self, kind: str, dtype: DType, count: int, range_: tuple[int, int]) -> None:
        self.kind: str = kind
        self.dtype: DType = dtype
        self.count: int = count
        self.range: tuple[int, int] = range_

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        made = Symbol(_library(self.kind, self.dtype), f"msnb_{self.kind}")
        return [KernelCall(made, (*ins, *outs, self.count, *self.range))]


class PermutationRecipe(NativeKernel):
    """random_permutation: the order that sorts as many random numbers of 64 bits."""

    def __init__(self, n: int) -> None:
        self.draw: DrawRecipe = DrawRecipe("bits", dtypes.uint64, n, (0, 1))
        self.sort: SortRecipe = SortRecipe(dtypes.uint64, Lines(1, n, 1), n, False)
        self.temps = (8 * n, 8 * n, *self.sort.temps)

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """The draw, and the sort."""
        bits, ordered, *own = temps
        return [*self.draw.calls(ins, [bits], ()), *self.sort.calls([bits], [ordered, *outs], own)]


class KeyRecipe(NativeKernel):
    """next_key: the key of this draw, and that of the next one."""

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        return [KernelCall(Symbol(_next_key(), "msnb_next_key"), (*ins, *outs))]


def recipe(node: Node, view_of: Callable[..., Any]) -> NativeKernel | None:
    """A recipe for a draw; None for what has no code: normal float64, ranges above 2^32."""
    if node.op.name == "next_key":
        return KeyRecipe()
    kind, t = node.op.name.removeprefix("random_"), node.outputs[0].type if node.outputs else None
    if node.op.family != "random" or not isinstance(t, TensorType) or not t.is_static or 0 in t.shape:
        return None
    if t.dtype not in _DTYPES.get(kind, ()):
        return None
    if t.dtype is dtypes.float16 and not host().half:
        return None
    if kind == "permutation":
        return PermutationRecipe(t.size) if t.size < 2**31 else None
    low, high = node.attrs.get("low", 0), node.attrs.get("high", 1)
    return DrawRecipe(kind, t.dtype, t.size, (low, high - low)) if high - low < 2**32 else None


def is_worth(op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> bool:
    """True for draws that have code, be they few: Philox in NumPy takes a hundred microseconds for one number."""
    if op.name == "next_key":
        return True
    out = op.result_types(types, attrs)[0]
    return isinstance(out, TensorType) and out.dtype in _DTYPES.get(op.name.removeprefix("random_"), ())


_DTYPES = {
    "uniform": (dtypes.float32, dtypes.float64, *HALVES),
    "normal": (dtypes.float32, *HALVES),
    "integers": (dtypes.int32, dtypes.int64),
    "permutation": (dtypes.int64,),
}


@functools.lru_cache(maxsize=8)
def _library(kind: str, dtype: DType) -> Library:
    return Library(_module(f"msnb_{kind}", kind, dtype))


def _module(symbol: str, kind: str, dtype: DType) -> str:
    main, share = Emitter(), Emitter()
    _entry(main, symbol)
    _share(share, kind, dtype)
    notes = '!0 = !{!"branch_weights", i32 1, i32 100000}'
    return module((main, share), notes, shared(symbol, attributes(), main, share))


@functools.lru_cache(maxsize=1)
def _next_key() -> Library:
    e = Emitter()
    state, key, after = (e.slot(i) for i in range(3))
    seed, draw = (e.field("i64", state, i) for i in range(2))
    following = e.ins(f"add i64 {draw}, 1")
    for base, i, value in ((key, 0, seed), (key, 1, draw), (after, 0, seed), (after, 1, following)):
        e.do(f"store i64 {value}, ptr {e.ins(f'getelementptr i64, ptr {base}, i64 {i}')}")
    e.do("ret i32 0")
    head = "i32 @msnb_next_key(ptr %slots, ptr %words, ptr %env)"
    return Library(e.function(head, attributes()))


def _entry(e: Emitter, symbol: str) -> None:
    """task = { key, out, words, threads }."""
    key, out = (e.slot(i) for i in range(2))
    count = e.word(2)
    threads = e.thread_count(e.i64("add", e.i64("udiv", count, SHARED), 1))
    e.fork(symbol, [("ptr", key), ("ptr", out), ("ptr", "%words"), ("i64", threads)], threads)
    e.do("ret i32 0")


def _share(e: Emitter, kind: str, dtype: DType) -> None:
    """Thread t's turns of sixteen blocks; the last turn may be a short one."""
    key, out, words = (e.field("ptr", "%task", i) for i in range(3))
    count, threads = e.field("i64", words, 2), e.field("i64", "%task", 3)
    range_ = e.field("i64", words, 3), e.field("i64", words, 4)
    each, stored = BLOCKS * (2 if dtype is dtypes.float64 or kind == "bits" else 4), type_name(dtype)
    turns = e.ins(f"udiv i64 {e.ins(f'add i64 {count}, {each - 1}')}, {each}")
    low, high = e.ends(turns, threads)
    seed, draw = (_halves(e, e.field("i64", key, i)) for i in range(2))
    short = e.alloca(f"[{each} x {stored}]")

    def turn(i: str, _: list[str]) -> list[str]:
        block = e.ins(f"mul i64 {i}, {BLOCKS}")
        e.lanes = BLOCKS
        values = _woven(e, stored, _numbers(e, kind, dtype, _words(e, block, seed, draw), range_))
        e.lanes = 1
        first = e.ins(f"mul i64 {i}, {each}")
        left = e.ins(f"sub i64 {count}, {first}")
        place = e.ins(f"getelementptr {stored}, ptr {out}, i64 {first}")
        bytes_left = e.ins(f"mul i64 {left}, {dtype.itemsize}")

        def rest() -> None:
            e.do(f"store <{each} x {stored}> {values}, ptr {short}, align 4")
            e.act("llvm.memcpy.p0.p0.i64", ("ptr", place), ("ptr", short), ("i64", bytes_left), ("i1", "false"))

        whole = f"store <{each} x {stored}> {values}, ptr {place}, align 4"
        e.when(e.ins(f"icmp slt i64 {left}, {each}"), rest, lambda: e.do(whole))
        return []

    e.loop((low, high, 1), [], turn)
    e.do("ret void")


def _halves(e: Emitter, word: str) -> tuple[str, str]:
    return e.ins(f"and i64 {word}, {_LOW}"), e.ins(f"lshr i64 {word}, 32")


def _words(e: Emitter, block: str, seed: tuple[str, str], draw: tuple[str, str]) -> list[str]:
    """The four words of 16 blocks, in 64 bits each."""
    i64 = e.t("i64")
    index = e.steps(block, 1)
    low, high = e.const(str(_LOW), "i64"), e.const("32", "i64")
    c = [e.ins(f"and {i64} {index}, {low}"), e.ins(f"lshr {i64} {index}, {high}"),
         e.splat("i64", draw[0]), e.splat("i64", draw[1])]  # fmt: skip
    k0, k1 = seed
    for _ in range(ROUNDS):
        p0 = e.ins(f"mul {i64} {c[0]}, {e.const(str(_M0), 'i64')}")
        p1 = e.ins(f"mul {i64} {c[2]}, {e.const(str(_M1), 'i64')}")
        c = [_mixed(e, p1, c[1], k0), e.ins(f"and {i64} {p1}, {low}"),
             _mixed(e, p0, c[3], k1), e.ins(f"and {i64} {p0}, {low}")]  # fmt: skip
        k0, k1 = (e.ins(f"and i64 {e.ins(f'add i64 {k}, {w}')}, {_LOW}") for k, w in ((k0, _W0), (k1, _W1)))
    return c


def _mixed(e: Emitter, product: str, other: str, key: str) -> str:
    i64 = e.t("i64")
    upper = e.ins(f"lshr {i64} {product}, {e.const('32', 'i64')}")
    return e.ins(f"xor {i64} {e.ins(f'xor {i64} {upper}, {other}')}, {e.splat('i64', key)}")


# ---- what is made of words ----


def _numbers(e: Emitter, kind: str, dtype: DType, words: list[str], range_: tuple[str, str]) -> list[str]:
    """Two or four vectors of numbers, those of a block in the same lane."""
    if kind == "integers":
        return [_integer(e, dtype, w, range_) for w in words]
    if kind == "bits":
        return [_both(e, low, high) for low, high in (words[:2], words[2:])]
    if dtype is dtypes.float64:
        return [_long_fraction(e, low, high) for low, high in (words[:2], words[2:])]
    if kind == "uniform":
        return [e.cast(_fraction(e, w, _PLACES.get(dtype, 24)), dtypes.float32, dtype) for w in words]
    fractions = [_fraction(e, w) for w in words]
    return [*_pair(e, dtype, *fractions[:2]), *_pair(e, dtype, *fractions[2:])]


def _integer(e: Emitter, dtype: DType, word: str, range_: tuple[str, str]) -> str:
    i64 = e.t("i64")
    scaled = e.ins(f"mul {i64} {word}, {e.splat('i64', range_[1])}")
    step = e.ins(f"lshr {i64} {scaled}, {e.const('32', 'i64')}")
    found = e.ins(f"add {i64} {step}, {e.splat('i64', range_[0])}")
    return found if dtype is dtypes.int64 else e.ins(f"trunc {i64} {found} to {e.t('i32')}")


def _fraction(e: Emitter, word: str, places: int = 24) -> str:
    upper = e.ins(f"lshr {e.t('i64')} {word}, {e.const(str(32 - places), 'i64')}")
    short = e.ins(f"trunc {e.t('i64')} {upper} to {e.t('i32')}")
    number = e.ins(f"sitofp {e.t('i32')} {short} to {e.t('float')}")
    return e.ins(f"fmul {e.t('float')} {number}, {e.real(2.0**-places, 'float')}")


def _both(e: Emitter, low: str, high: str) -> str:
    i64 = e.t("i64")
    shifted = e.ins(f"shl {i64} {high}, {e.const('32', 'i64')}")
    return e.ins(f"or {i64} {low}, {shifted}")


def _long_fraction(e: Emitter, low: str, high: str) -> str:
    i64, f64 = e.t("i64"), e.t("double")
    upper = e.ins(f"lshr {i64} {_both(e, low, high)}, {e.const('11', 'i64')}")
    return e.ins(f"fmul {f64} {e.ins(f'sitofp {i64} {upper} to {f64}')}, {e.real(2.0**-53, 'double')}")


def _pair(e: Emitter, dtype: DType, u: str, v: str) -> tuple[str, str]:
    """Two normal numbers of two uniform ones."""
    wide = [e.ins(f"fpext {e.t('float')} {x} to {e.t('double')}") for x in (u, v)]
    first, second = (e.cast(x, dtypes.float64, dtype) for x in normal_pair(e, *wide))
    return first, second


def _woven(e: Emitter, kind: str, parts: list[str]) -> str:
    """The first lanes of all parts, then the second ones, and so on."""
    t, n = f"<{BLOCKS} x {kind}>", len(parts)
    if n == 2:
        order = ", ".join(f"i32 {k * BLOCKS + i}" for i in range(BLOCKS) for k in range(2))
        return e.ins(f"shufflevector {t} {parts[0]}, {t} {parts[1]}, <{2 * BLOCKS} x i32> <{order}>")
    joined = ", ".join(f"i32 {i}" for i in range(2 * BLOCKS))
    pairs = [
        e.ins(f"shufflevector {t} {a}, {t} {b}, <{2 * BLOCKS} x i32> <{joined}>") for a, b in (parts[:2], parts[2:])
    ]
    order = ", ".join(f"i32 {k * BLOCKS + i}" for i in range(BLOCKS) for k in range(4))
    wide = f"<{2 * BLOCKS} x {kind}>"
    return e.ins(f"shufflevector {wide} {pairs[0]}, {wide} {pairs[1]}, <{4 * BLOCKS} x i32> <{order}>")
