"""Random draws: a thread makes one block of four words by Philox (``msnb.ops.random.philox``) and what comes of them.

    uniform    float32: the upper 24 bits of a word (float16: 11, bfloat16: 8); float64: 53 bits of two words
    normal     pairs of uniform numbers, by ``msnb.devices.llvm.normal_pair``
    integers   low + (word times the size of the range, shifted down by 32 bits); wide ranges: two words modulo the size
    next_key   the key of this draw, and that of the next one

A number depends on the key and its own index alone: the words are those of the reference body, bit for bit.
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core import TensorType, dtypes
from msnb.devices.gpu.codegen import GpuKernel, GpuTarget
from msnb.devices.gpu.kernels.kernel_builder import KernelBuilder, ThreadCode, counter_kind
from msnb.devices.gpu.kernels.kernel_operands import operands, results
from msnb.devices.gpu.program.lowered_node import KernelPart, LoweredNode, ViewOf
from msnb.devices.llvm.emitter import real, type_name
from msnb.devices.llvm.normal_pair import normal_pair
from msnb.ir.graph import Node, type_of

_M0, _M1, _W0, _W1 = 0xD2511F53, 0xCD9E8D57, 0x9E3779B9, 0xBB67AE85
ROUNDS, WORDS = 10, 4
_PLACES = {dtypes.float16: 11, dtypes.bfloat16: 8}
"""Bits of a uniform number; 24 for float32."""
KEY: dtypes.DType = dtypes.uint64


def recipe(node: Node, view_of: ViewOf, target: GpuTarget) -> LoweredNode | None:
    """How draws, and the next key, run."""
    if node.op.name == "next_key":
        return LoweredNode(list(node.inputs), [KernelPart(_next_key(node), [0], [0, 1])])
    kind = node.op.name.removeprefix("random_")
    if node.op.family != "random" or kind not in ("uniform", "normal", "integers"):
        return None
    draw = Draw(kind, type_of(node.out), node.attrs.get("low", 0), node.attrs.get("high", 1))
    return LoweredNode(list(node.inputs), [KernelPart(draw.kernel(type_of(node.inputs[0]), target), [0], [0])])


class Draw:
    """One draw: ``kind`` of numbers in the dtype of ``out``; whole numbers from ``low`` up to ``high``."""

    def __init__(self, kind: str, out: TensorType, low: int, high: int) -> None:
        self.kind: str = kind
        self.out: TensorType = out
        self.low: int = low
        self.span: int = high - low
        wide = out.dtype is dtypes.float64 or (kind == "integers" and self.span > 1 << 32)
        self.each = WORDS // 2 if wide else WORDS

    def kernel(self, key: TensorType, target: GpuTarget) -> GpuKernel:
        """Its kernel."""
        builder = KernelBuilder(f"random_{self.kind}", [key], [self.out], target=target)
        builder.units(-(-self.out.size // self.each), counter_kind(self.out.size), self._block)
        return builder.made()

    def _block(self, e: ThreadCode, block: str) -> None:
        numbers = self._numbers(e, _words(e, e.widened(block)))
        first = e.count("mul", block, self.each)
        rest = self.out.size % self.each
        if not rest:
            self._all(e, first, numbers)
            return
        full = e.compare("slt", first, self.out.size - rest)
        e.when(full, lambda: self._all(e, first, numbers), lambda: self._some(e, first, numbers[:rest]))

    def _all(self, e: ThreadCode, first: str, numbers: Sequence[str]) -> None:
        place = e.element(self.out.dtype, e.result(), first)
        with e.wide(self.each):
            e.write(self.out.dtype, e.joined(type_name(self.out.dtype), list(numbers)), place)

    def _some(self, e: ThreadCode, first: str, numbers: Sequence[str]) -> None:
        for k, number in enumerate(numbers):
            e.put(self.out.dtype, number, e.result(), e.count("add", first, k))

    # ---- what is made of words ----

    def _numbers(self, e: ThreadCode, words: list[str]) -> list[str]:
        if self.kind == "integers":
            return self._integers(e, words)
        dtype = self.out.dtype
        if dtype is dtypes.float64:
            fractions = [_long_fraction(e, *words[:2]), _long_fraction(e, *words[2:])]
        else:
            places = 24 if self.kind == "normal" else _PLACES.get(dtype, 24)
            fractions = [_fraction(e, w, places) for w in words]
        if self.kind == "uniform":
            return [e.cast(f, dtypes.float64 if dtype is dtypes.float64 else dtypes.float32, dtype) for f in fractions]
        wide = fractions if dtype is dtypes.float64 else [e.ins(f"fpext float {f} to double") for f in fractions]
        pairs = [normal_pair(e, *wide[k : k + 2]) for k in range(0, self.each, 2)]
        return [e.cast(x, dtypes.float64, dtype) for pair in pairs for x in pair]

    def _integers(self, e: ThreadCode, words: list[str]) -> list[str]:
        if self.each < WORDS:
            both = [_both(e, *words[:2]), _both(e, *words[2:])]
            steps = [e.ins(f"urem i64 {w}, {_signed(self.span)}") for w in both]
        else:
            wide = [e.ins(f"zext i32 {w} to i64") for w in words]
            steps = [e.i64("lshr", e.i64("mul", w, self.span), 32) for w in wide]
        return [e.cast(e.i64("add", s, self.low), dtypes.int64, self.out.dtype) for s in steps]


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value


def _words(e: ThreadCode, block: str) -> list[str]:
    """The four words of a block, i32 each."""
    seed, draw = (_halves(e, e.get(KEY, e.source(0), k)) for k in range(2))
    c = [*_halves(e, block), *draw]
    keys = list(seed)
    for turn in range(ROUNDS):
        p0, p1 = _product(e, c[0], _M0), _product(e, c[2], _M1)
        c = [_mixed(e, p1[1], c[1], keys[0]), p1[0], _mixed(e, p0[1], c[3], keys[1]), p0[0]]
        if turn < ROUNDS - 1:
            keys = [e.ins(f"add i32 {k}, {w}") for k, w in zip(keys, (_W0, _W1))]
    return c


def _halves(e: ThreadCode, word: str) -> tuple[str, str]:
    """The lower and the upper 32 bits."""
    return e.ins(f"trunc i64 {word} to i32"), e.ins(f"trunc i64 {e.i64('lshr', word, 32)} to i32")


def _product(e: ThreadCode, word: str, constant: int) -> tuple[str, str]:
    return _halves(e, e.i64("mul", e.ins(f"zext i32 {word} to i64"), constant))


def _mixed(e: ThreadCode, product: str, other: str, key: str) -> str:
    return e.ins(f"xor i32 {e.ins(f'xor i32 {product}, {other}')}, {key}")


def _both(e: ThreadCode, low: str, high: str) -> str:
    upper = e.i64("shl", e.ins(f"zext i32 {high} to i64"), 32)
    return e.ins(f"or i64 {upper}, {e.ins(f'zext i32 {low} to i64')}")


def _fraction(e: ThreadCode, word: str, places: int) -> str:
    number = e.ins(f"uitofp i32 {e.ins(f'lshr i32 {word}, {32 - places}')} to float")
    return e.ins(f"fmul float {number}, {real(2.0**-places, 'float')}")


def _long_fraction(e: ThreadCode, low: str, high: str) -> str:
    number = e.ins(f"uitofp i64 {e.i64('lshr', _both(e, low, high), 11)} to double")
    return e.ins(f"fmul double {number}, {real(2.0**-53, 'double')}")


def _next_key(node: Node) -> GpuKernel:
    builder = KernelBuilder("next_key", operands(node), results(node))

    def work(e: ThreadCode, k: str) -> None:
        word = e.get(KEY, e.source(0), k)
        e.put(KEY, word, e.result(0), k)
        e.put(KEY, e.i64("add", word, e.widened(k)), e.result(1), k)  # the second word is the number of the draw

    builder.units(2, "i32", work)
    return builder.made()
