"""LLVM IR of a thread whose warp works with the matrix unit: products of 16x16 by 16x8, and the loads that feed them.

    mma        D[16, 8] += A[16, 16] B[16, 8]; two-byte floats in, float32 out
    ldmatrix   four 8x8 pieces of shared memory, spread over the lanes as mma wants them (turned: transposed on the way)
    cp.async   16 bytes from global to shared memory without a stop in registers; groups of copies are waited for

In lane l, with g = l div 4 and t = l mod 4, a float32 result has the elements (g, 2 t), (g, 2 t + 1), (g + 8, 2 t) and
(g + 8, 2 t + 1). Two results side by side, rounded and packed, are an A of the next product, in the same lanes: that is
why scores need no way through memory.

Source: https://docs.nvidia.com/cuda/parallel-thread-execution, mma.m16n8k16, ldmatrix, cp.async.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence

from msnb.core import dtypes
from msnb.devices.gpu.codegen.thread_emitter import ThreadEmitter
from msnb.devices.llvm.emitter import real

STATIC_SHARED = 48 << 10
"""Bytes of shared memory that a kernel has without being asked for; more is asked for by the launch."""
_PURE = " nounwind memory(none)"
_FLOATS, _WORDS = "{ float, float, float, float }", "{ i32, i32, i32, i32 }"
_FOLDS = {"add": operator.add, "sub": operator.sub, "mul": operator.mul, "xor": operator.xor, "and": operator.and_,
          "shl": operator.lshift, "lshr": operator.rshift, "udiv": operator.floordiv, "urem": operator.mod}  # fmt: skip
Word = str | int


class TileEmitter(ThreadEmitter):
    """A kernel of warps under construction.

    Args:
        symbol: the name of the kernel.
        dtype: bfloat16 or float16, of what is multiplied.
    """

    def __init__(self, symbol: str, dtype: dtypes.DType) -> None:
        super().__init__(symbol)
        self.brain: bool = dtype is dtypes.bfloat16
        self.half = "bfloat" if self.brain else "half"

    # ---- 32-bit arithmetic ----

    def calc(self, op: str, a: Word, b: Word) -> Word:
        """``a op b``; what is known now is no instruction."""
        if isinstance(a, int) and isinstance(b, int):
            found: int = _FOLDS[op](a, b)
            return found
        if (b == 0 and op in ("add", "sub", "xor", "shl", "lshr")) or (b == 1 and op in ("mul", "udiv")):
            return a
        return b if a == 0 and op in ("add", "xor") else self.ins(f"{op} i32 {a}, {b}")

    def less(self, a: Word, b: Word) -> str:
        """a < b, with signs."""
        return self.ins(f"icmp slt i32 {a}, {b}")

    def least(self, a: Word, b: Word) -> Word:
        """The smaller one."""
        if isinstance(a, int) and isinstance(b, int):
            return min(a, b)
        return self.call("llvm.smin.i32", "i32", ("i32", str(a)), ("i32", str(b)))

    def register(self, name: str) -> str:
        """A special register (``tid.x``, ``ctaid.y`` ...)."""
        return self.call(f"llvm.nvvm.read.ptx.sreg.{name}", "i32", pure=_PURE)

    def long(self, value: Word) -> str:
        """As 64 bits."""
        return str(value) if isinstance(value, int) else self.ins(f"zext i32 {value} to i64")

    def short(self, value: str) -> str:
        """64 bits as 32."""
        return self.ins(f"trunc i64 {value} to i32")

    # ---- float32 ----

    def f32(self, op: str, a: str, b: str) -> str:
        """Arithmetic of float32."""
        return self.ins(f"{op} float {a}, {b}")

    def fma(self, a: str, b: str, c: str) -> str:
        """a b + c, rounded once."""
        return self.call("llvm.fma.f32", "float", ("float", a), ("float", b), ("float", c))

    def maximum(self, a: str, b: str) -> str:
        """The larger float32."""
        return self.call("llvm.maxnum.f32", "float", ("float", a), ("float", b))

    def exp2(self, x: str) -> str:
        """2^x as the special function unit gives it: two units in the last place off."""
        return self.call("llvm.nvvm.ex2.approx.ftz.f", "float", ("float", x), pure=_PURE)

    def log2(self, x: str) -> str:
        """The logarithm of base 2."""
        return self.call("llvm.nvvm.lg2.approx.ftz.f", "float", ("float", x), pure=_PURE)

    def inverse(self, x: str) -> str:
        """1 / x."""
        return self.call("llvm.nvvm.rcp.approx.ftz.f", "float", ("float", x), pure=_PURE)

    def number(self, value: float) -> str:
        """A float32 constant."""
        return real(value, "float")

    def over_quad(self, op: str, x: str) -> str:
        """Sum ("fadd") or maximum ("max") over the four lanes that have a row of a result together."""
        for distance in (1, 2):
            args = [("i32", "-1"), ("float", x), ("i32", str(distance)), ("i32", "31")]
            other = self.call("llvm.nvvm.shfl.sync.bfly.f32", "float", *args)
            x = self.maximum(x, other) if op == "max" else self.f32(op, x, other)
        return x

    def packed(self, low: str, high: str) -> str:
        """Two float32 rounded to two bytes each, in one word."""
        first = self.ins(f"insertelement <2 x float> poison, float {low}, i64 0")
        both = self.ins(f"insertelement <2 x float> {first}, float {high}, i64 1")
        short = self.ins(f"fptrunc <2 x float> {both} to <2 x {self.half}>")
        return self.ins(f"bitcast <2 x {self.half}> {short} to i32")

    # ---- the matrix unit ----

    def mma(self, c: Sequence[str], a: Sequence[str], b: Sequence[str]) -> list[str]:
        """c + a b: four sums of this lane."""
        words, kind = [*a, *b], "i32"
        if not self.brain:
            words, kind = [self.ins(f"bitcast i32 {w} to <2 x half>") for w in words], "<2 x half>"
        name = f"llvm.nvvm.mma.m16n8k16.row.col.{'bf16' if self.brain else 'f32.f32'}"
        args = [*((kind, w) for w in words), *(("float", x) for x in c)]
        found = self.call(name, _FLOATS, *args, pure=_PURE)
        return [self.ins(f"extractvalue {_FLOATS} {found}, {k}") for k in range(4)]

    def pieces(self, place: str, turned: bool) -> list[str]:
        """Four 8x8 pieces; ``place`` is the shared row that this lane names."""
        name = f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4{'.trans' if turned else ''}.b16.p3"
        found = self.call(name, _WORDS, ("ptr addrspace(3)", place))
        return [self.ins(f"extractvalue {_WORDS} {found}, {k}") for k in range(4)]

    # ---- memory ----

    def in_shared(self, offset: Word) -> str:
        """A place in shared memory."""
        return self.ins(f"getelementptr i8, ptr addrspace(3) @{self.symbol}_shared, i32 {offset}")

    def beside(self, place: str, distance: int) -> str:
        """So many bytes behind a place in shared memory."""
        return self.ins(f"getelementptr i8, ptr addrspace(3) {place}, i32 {distance}") if distance else place

    def in_global(self, place: str, distance: str | int) -> str:
        """So many bytes behind a place in global memory."""
        return self.ins(f"getelementptr i8, ptr addrspace(1) {place}, i64 {distance}") if distance else place

    def copy(self, to: str, source: str, size: int = 16, inside: str = "") -> None:
        """Begin to copy 4 or 16 bytes into shared memory; zeros where the test ``inside`` fails."""
        args = [("ptr addrspace(3)", to), ("ptr addrspace(1)", source)]
        name = f"llvm.nvvm.cp.async.{'cg' if size == 16 else 'ca'}.shared.global.{size}"
        if inside:
            args.append(("i32", self.ins(f"select i1 {inside}, i32 {size}, i32 0")))
            name += ".s"
        self.act(name, *args)

    def commit(self) -> None:
        """The copies so far are a group."""
        self.act("llvm.nvvm.cp.async.commit.group")

    def wait(self, left: int) -> None:
        """Until all groups but the last ``left`` have arrived."""
        self.act("llvm.nvvm.cp.async.wait.group", ("i32", str(left)))

    # ---- the kernel ----

    @property
    def dynamic(self) -> int:
        """Bytes of shared memory that the launch must bring; 0 where the kernel itself has it."""
        return self.shared_bytes if self.shared_bytes > STATIC_SHARED else 0

    def globals(self) -> str:
        """The declaration of the shared memory."""
        size = 0 if self.dynamic else self.shared_bytes
        kind = "external addrspace(3) global" if self.dynamic else "internal addrspace(3) global"
        return f"@{self.symbol}_shared = {kind} [{size} x i8]{'' if self.dynamic else ' undef'}, align 128"

    def warp_kernel(self, buffers: int, threads: int, blocks: int) -> str:
        """The function as text.

        Args:
            buffers: how many addresses it takes.
            threads: of a block.
            blocks: how many should fit on a multiprocessor at once, for the registers that each may have.
        """
        params = ", ".join(f"ptr addrspace(1) %a{i}" for i in range(buffers))
        limits = f'"nvvm.maxntid"="{threads}" "nvvm.minctasm"="{blocks}"'
        head = f"define ptx_kernel void @{self.symbol}({params}) nounwind {limits} {{"
        return "\n".join([head, "entry:", *self.entry, *self.lines, "  ret void", "}"])
