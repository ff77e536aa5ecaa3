"""Uniform random numbers, 64 at a time: Philox (``msnb.ops.random.philox``) on sixteen counters in vectors.

    counters  b, b + 1, ... b + 15     ->  four words each:  w0 [16]  w1 [16]  w2 [16]  w3 [16]
    stored    w0[0] w1[0] w2[0] w3[0] w0[1] ...           the upper 24 bits of each, times 2^-24

A number depends on the key and its own index alone, so any thread may make any part; the bits are those of the
reference body.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.core import dtypes
from msnb.core.types import TensorType
from msnb.devices.cpu.llvm.emitter import Emitter
from msnb.devices.cpu.llvm.jit import Library, Symbol, attributes
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel
from msnb.ir.graph import Node

_M0, _M1, _W0, _W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
_LOW = 0xFFFFFFFF
ROUNDS, BLOCKS, WORDS = 10, 16, 64
SHARED = 1 << 16


class DrawRecipe(NativeKernel):
    """random_uniform in float32."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.library: Library | None = None

    @classmethod
    def prepare(cls, recipes: Sequence[Any]) -> None:
        """Compile the one kernel there is."""
        made = Library(_module())
        for recipe in recipes:
            recipe.library = made

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        assert self.library is not None
        return [KernelCall(Symbol(self.library, "msnb_uniform"), (*ins, *outs, self.count))]


def recipe(node: Node, view_of: Callable[..., Any]) -> NativeKernel | None:
    """A recipe for random_uniform in float32; None for anything else."""
    t = node.out.type if node.op.name == "random_uniform" and len(node.outputs) == 1 else None
    if not isinstance(t, TensorType) or not t.is_static or t.dtype is not dtypes.float32 or 0 in t.shape:
        return None
    return DrawRecipe(t.size)


def _module() -> str:
    main, part, share = Emitter(), Emitter(), Emitter()
    _entry(main)
    t = part.ins(f"sext i32 {part.ins('call i32 ' + part.ins('load ptr, ptr @msnb_thread') + '()')} to i64")
    part.do(f"call void @msnb_uniform.share(ptr %task, i64 {t})")
    part.do("ret void")
    _share(share)
    heads = ("internal void @msnb_uniform.share(ptr %task, i64 %t)", "internal void @msnb_uniform.part(ptr %task)",
             "i32 @msnb_uniform(ptr %slots, ptr %words, ptr %env)")  # fmt: skip
    bodies = [
        "\n".join([f"define {head} {attributes()} {{", "entry:", *e.entry, *e.lines, "}"])
        for head, e in zip(heads, (share, part, main))
    ]
    declared = {**main.declared, **share.declared}
    return "\n".join(
        ["@msnb_parallel = global ptr null", "@msnb_thread = global ptr null", *declared.values(), *bodies]
    )


def _at(e: Emitter, kind: str, base: str, i: int | str) -> str:
    return e.ins(f"load {kind}, ptr {e.ins(f'getelementptr i64, ptr {base}, i64 {i}')}")


def _entry(e: Emitter) -> None:
    """task = { key, out, count, threads }."""
    key, out = (_at(e, "ptr", "%slots", _at(e, "i64", "%words", i)) for i in range(2))
    count = _at(e, "i64", "%words", 2)
    most = e.ins(f"add i64 {e.ins(f'udiv i64 {count}, {SHARED}')}, 1")
    given = e.call("llvm.smin.i64", "i64", ("i64", e.ins("load i64, ptr %env")), ("i64", most))
    parallel = e.ins("load ptr, ptr @msnb_parallel")
    threads = e.ins(f"select i1 {e.ins(f'icmp eq ptr {parallel}, null')}, i64 1, i64 {given}")
    task = e.alloca("[4 x i64]")
    for i, (kind, value) in enumerate((("ptr", key), ("ptr", out), ("i64", count), ("i64", threads))):
        e.do(f"store {kind} {value}, ptr {e.ins(f'getelementptr i64, ptr {task}, i64 {i}')}")
    number = e.ins(f"trunc i64 {threads} to i32")
    fork = f"call void {parallel}(ptr @msnb_uniform.part, ptr {task}, i32 {number}, i32 0)"
    here = f"call void @msnb_uniform.share(ptr {task}, i64 0)"
    e.when(e.ins(f"icmp sgt i64 {threads}, 1"), lambda: e.do(fork), lambda: e.do(here))
    e.do("ret i32 0")


def _share(e: Emitter) -> None:
    """Thread t's turns of 64 numbers; the last turn may be a short one."""
    key, out = (_at(e, "ptr", "%task", i) for i in range(2))
    count, threads = (_at(e, "i64", "%task", i) for i in (2, 3))
    turns = e.ins(f"udiv i64 {e.ins(f'add i64 {count}, {WORDS - 1}')}, {WORDS}")
    low, high = (e.ins(f"udiv i64 {e.ins(f'mul i64 {t}, {turns}')}, {threads}") for t in ("%t", e.ins("add i64 %t, 1")))
    seed, draw = (_halves(e, _at(e, "i64", key, i)) for i in range(2))
    short = e.alloca(f"[{WORDS} x float]")

    def turn(i: str, _: list[str]) -> list[str]:
        block = e.ins(f"mul i64 {i}, {BLOCKS}")
        e.lanes = BLOCKS
        values = _values(e, block, seed, draw)
        e.lanes = 1
        first = e.ins(f"mul i64 {i}, {WORDS}")
        left = e.ins(f"sub i64 {count}, {first}")
        place = e.ins(f"getelementptr float, ptr {out}, i64 {first}")
        bytes_left = e.ins(f"mul i64 {left}, 4")

        def rest() -> None:
            e.do(f"store <{WORDS} x float> {values}, ptr {short}, align 4")
            e.act("llvm.memcpy.p0.p0.i64", ("ptr", place), ("ptr", short), ("i64", bytes_left), ("i1", "false"))

        whole = f"store <{WORDS} x float> {values}, ptr {place}, align 4"
        e.when(e.ins(f"icmp slt i64 {left}, {WORDS}"), rest, lambda: e.do(whole))
        return []

    e.loop((low, high, 1), [], turn)
    e.do("ret void")


def _halves(e: Emitter, word: str) -> tuple[str, str]:
    return e.ins(f"and i64 {word}, {_LOW}"), e.ins(f"lshr i64 {word}, 32")


def _values(e: Emitter, block: str, seed: tuple[str, str], draw: tuple[str, str]) -> str:
    """64 numbers of 16 blocks, in the order in which they are stored."""
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
    return _woven(e, [_fraction(e, x) for x in c])


def _mixed(e: Emitter, product: str, other: str, key: str) -> str:
    i64 = e.t("i64")
    upper = e.ins(f"lshr {i64} {product}, {e.const('32', 'i64')}")
    return e.ins(f"xor {i64} {e.ins(f'xor {i64} {upper}, {other}')}, {e.splat('i64', key)}")


def _fraction(e: Emitter, word: str) -> str:
    upper = e.ins(f"lshr {e.t('i64')} {word}, {e.const('8', 'i64')}")
    short = e.ins(f"trunc {e.t('i64')} {upper} to {e.t('i32')}")
    number = e.ins(f"sitofp {e.t('i32')} {short} to {e.t('float')}")
    return e.ins(f"fmul {e.t('float')} {number}, {e.real(2.0**-24, 'float')}")


def _woven(e: Emitter, words: list[str]) -> str:
    """w0[0] w1[0] w2[0] w3[0] w0[1] ...: two pairs side by side, then every fourth."""
    t, joined = e.t("float"), ", ".join(f"i32 {i}" for i in range(2 * BLOCKS))
    pairs = [
        e.ins(f"shufflevector {t} {a}, {t} {b}, <{2 * BLOCKS} x i32> <{joined}>") for a, b in (words[:2], words[2:])
    ]
    order = ", ".join(f"i32 {k * BLOCKS + i}" for i in range(BLOCKS) for k in range(4))
    wide = f"<{2 * BLOCKS} x float>"
    return e.ins(f"shufflevector {wide} {pairs[0]}, {wide} {pairs[1]}, <{WORDS} x i32> <{order}>")
