"""LLVM IR of one GPU thread: an Emitter whose vectors are the neighbouring elements that a thread owns.

    <4 x float>     four elements of a thread: one load of 16 bytes, then four operations (the target has no vectors)
    warp            32 threads that exchange values by shuffles
    block           up to 1024 threads that exchange values through shared memory, between barriers

There is no C library on the device: a function that has no formula of its own is refused, and the group that wants it
runs operation by operation.
"""

from __future__ import annotations

from collections.abc import Mapping

from msnb.core import DType, dtypes
from msnb.devices.gpu.codegen.device_maths import DeviceMaths
from msnb.devices.gpu.codegen.gpu_target import NEWEST, GpuTarget
from msnb.devices.gpu.codegen.huge_angles import huge_angle
from msnb.devices.llvm.emitter import Emitter, memory_name, type_name
from msnb.ir.kernel.scalar_expressions import UnsupportedKernel

WARP = 32
_SREG = "llvm.nvvm.read.ptx.sreg"
_PURE = " nounwind memory(none)"


class ThreadEmitter(Emitter):
    """A kernel under construction, as one thread sees it.

    Args:
        symbol: the name of the kernel, from which its shared memory is named.
        target: the GPU it is for.
    """

    maths = DeviceMaths

    def __init__(self, symbol: str, target: GpuTarget = NEWEST) -> None:
        super().__init__()
        self.symbol: str = symbol
        self.target: GpuTarget = target
        self.shared_bytes = 0

    # ---- where the thread is ----

    def special(self, register: str) -> str:
        """A special register (``tid.x``, ``ctaid.y`` ...) as i64."""
        found = self.call(f"{_SREG}.{register}", "i32", pure=_PURE)
        return self.ins(f"zext i32 {found} to i64")

    def barrier(self) -> None:
        """Wait for all threads of the block; what they wrote before is seen behind it."""
        self.act("llvm.nvvm.barrier.cta.sync.aligned.all", ("i32", "0"))

    def shared(self, size: int) -> str:
        """So many bytes of the block's shared memory."""
        start = -(-self.shared_bytes // 16) * 16
        self.shared_bytes = start + size
        base = f"ptr addrspacecast (ptr addrspace(3) @{self.symbol}.shared to ptr)"
        return self.ins(f"getelementptr i8, {base}, i64 {start}")

    def globals(self) -> str:
        """The declaration of the shared memory, where there is some."""
        if not self.shared_bytes:
            return ""
        return f"@{self.symbol}.shared = internal addrspace(3) global [{self.shared_bytes} x i8] undef, align 16"

    # ---- exchange between threads of a warp ----

    def shuffle(self, dtype: DType, value: str, distance: int, mode: str = "bfly") -> str:
        """The value of the thread whose number differs in the bit ``distance``, or (``up``) of the thread so many
        before, or its own where there is none; scalars only."""
        kind = type_name(dtype)
        bits = 1 if dtype is dtypes.bool_ else 8 * dtype.itemsize
        word = value if kind.startswith("i") else self.ins(f"bitcast {kind} {value} to i{bits}")
        if bits == 64:
            low = self.ins(f"trunc i64 {word} to i32")
            high = self.ins(f"trunc i64 {self.ins(f'lshr i64 {word}, 32')} to i32")
            parts = [self.ins(f"zext i32 {self._exchange(p, distance, mode)} to i64") for p in (low, high)]
            word = self.ins(f"or i64 {parts[0]}, {self.ins(f'shl i64 {parts[1]}, 32')}")
        elif bits == 32:
            word = self._exchange(word, distance, mode)
        else:
            wide = self._exchange(self.ins(f"zext i{bits} {word} to i32"), distance, mode)
            word = self.ins(f"trunc i32 {wide} to i{bits}")
        return word if kind.startswith("i") else self.ins(f"bitcast i{bits} {word} to {kind}")

    def _exchange(self, word: str, distance: int, mode: str) -> str:
        clamp = "0" if mode == "up" else "31"
        args = [("i32", "-1"), ("i32", word), ("i32", str(distance)), ("i32", clamp)]
        return self.call(f"llvm.nvvm.shfl.sync.{mode}.i32", "i32", *args)

    # ---- lanes ----

    def part(self, scalar: str, value: str, lane: int) -> str:
        """One of the elements that a thread has."""
        return value if self.lanes == 1 else self.ins(f"extractelement {self.t(scalar)} {value}, i64 {lane}")

    def joined(self, scalar: str, parts: list[str]) -> str:
        """Elements as what a thread has."""
        if self.lanes == 1:
            return parts[0]
        found = "poison"
        for k, part in enumerate(parts):
            found = self.ins(f"insertelement {self.t(scalar)} {found}, {scalar} {part}, i64 {k}")
        return found

    def read(self, dtype: DType, pointer: str) -> str:
        """Neighbouring elements, in as few accesses as there can be."""
        kind = memory_name(dtype)
        align = self.lanes * (1 if kind == "i8" else dtype.itemsize)
        return self._seen(dtype, self.ins(f"load {self.t(kind)}, ptr {pointer}, align {min(align, 16)}"))

    def write(self, dtype: DType, value: str, pointer: str) -> None:
        """Neighbouring elements."""
        kind = memory_name(dtype)
        align = self.lanes * (1 if kind == "i8" else dtype.itemsize)
        self.do(f"store {self.t(kind)} {self._kept(dtype, value)}, ptr {pointer}, align {min(align, 16)}")

    def _to_bfloat(self, x: str) -> str:
        """Two at a time in one instruction, where the GPU has it."""
        if not self.target.bfloat:
            return super()._to_bfloat(x)
        parts, lanes = [self.part("float", x, k) for k in range(self.lanes)], self.lanes
        if lanes == 1:
            one = self.call("llvm.nvvm.f2bf16.rn", "bfloat", ("float", parts[0]))
            return self.ins(f"bitcast bfloat {one} to i16")
        pairs = zip(parts[::2], parts[1::2])
        found = [self.call("llvm.nvvm.ff2bf16x2.rn", "<2 x bfloat>", ("float", b), ("float", a)) for a, b in pairs]
        found = [self.ins(f"bitcast <2 x bfloat> {two} to <2 x i16>") for two in found]
        while len(found) > 1:
            size = lanes // len(found)
            order = ", ".join(f"i32 {k}" for k in range(2 * size))
            t, mask = f"<{size} x i16>", f"<{2 * size} x i32> <{order}>"
            two_by_two = zip(found[::2], found[1::2])
            found = [self.ins(f"shufflevector {t} {a}, {t} {b}, {mask}") for a, b in two_by_two]
        return found[0]

    # ---- what the device does not have ----

    def libm(self, function: str, kind: str, *args: str) -> str:
        """The C library is not there."""
        raise UnsupportedKernel(f"{function}, for which the GPU has no code")

    def one_by_one(self, function: str, x: str) -> str:
        """Angles beyond 2^30, one element at a time."""
        parts, lanes = [self.part("float", x, k) for k in range(self.lanes)], self.lanes
        self.lanes = 1
        found = [huge_angle(self, function, part) for part in parts]
        self.lanes: int = lanes
        return self.joined("float", found)

    # ---- the kernel ----

    def kernel(
        self, buffers: int, numbers: int = 0, threads: int = 1024, by_value: Mapping[int, DType] | None = None,
        resident: int = 0,
    ) -> str:  # fmt: skip
        """The function as text: buffers (``by_value``: those that come as numbers), then whole numbers ``%n0`` ...

        ``resident`` blocks of so many threads find room on a multiprocessor, if it is not 0: registers are limited.
        """
        given = by_value or {}
        kinds = [f"{type_name(given[i])}" if i in given else "ptr addrspace(1)" for i in range(buffers)]
        params = [f"{kind} %a{i}" for i, kind in enumerate(kinds)] + [f"i64 %n{i}" for i in range(numbers)]
        casts = [i for i in range(buffers) if i not in given]
        starts = [f"  %b{i} = addrspacecast ptr addrspace(1) %a{i} to ptr" for i in casts]
        limits = f'"nvvm.maxntid"="{threads}"' + (f' "nvvm.minctasm"="{resident}"' if resident else "")
        head = f"define ptx_kernel void @{self.symbol}({', '.join(params)}) nounwind {limits} {{"
        return "\n".join([head, "entry:", *starts, *self.entry, *self.lines, "  ret void", "}"])
