"""LLVM IR as text (``LoopBuilder``) on vectors of ``lanes`` elements, or on scalars, where lanes is 1.

Dtypes in registers: bool is i1 (a byte in memory), bfloat16 is i16 and passes through float, the rest is what LLVM
calls it. What a program adds and multiplies rounds as it is written, and the elementary functions say themselves where
a product and a sum are one rounding, so a function gives the same bits in every kernel; only sums over an axis are
free (contracted, in another order). NaN, infinities, denormals and the sign of zero are kept. Loops carry their values
through phis, so no pass has to find them again.
"""

from __future__ import annotations

import math
import struct
from typing import Any, ClassVar

import numpy as np

from msnb.core import DType, dtypes
from msnb.devices.llvm.loop_builder import LoopBuilder

SUMS = "contract reassoc nsz"
_NAMES = {
    "bool": "i1", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "uint8": "i8", "uint16": "i16",
    "uint32": "i32", "uint64": "i64", "float16": "half", "bfloat16": "i16", "float32": "float", "float64": "double",
}  # fmt: skip


def type_name(dtype: DType) -> str:
    """The LLVM type of a value in a register."""
    return _NAMES[dtype.name]


def memory_name(dtype: DType) -> str:
    """The LLVM type of a value in memory."""
    return "i8" if dtype is dtypes.bool_ else _NAMES[dtype.name]


def real(value: float, kind: str) -> str:
    """A floating-point constant of type float or double, in the bits of a double, as LLVM wants it."""
    with np.errstate(all="ignore"):
        exact = float(np.float32(value)) if kind == "float" else float(value)
    if math.isnan(exact):
        return "0x7FF8000000000000"
    return f"0x{struct.unpack('<Q', struct.pack('<d', exact))[0]:016X}"


def literal(value: Any, dtype: DType) -> str:
    """A constant of a dtype."""
    if dtype is dtypes.bool_:
        return "true" if value else "false"
    if dtype.is_int:
        return str(int(value))
    if dtype is dtypes.bfloat16:
        return str(int(np.asarray(value).astype(np.float32).astype(dtype.numpy).view(np.int16)))
    if dtype is dtypes.float16:
        with np.errstate(all="ignore"):
            return f"0xH{int(np.float16(value).view(np.uint16)):04X}"
    return real(value, type_name(dtype))


class Emitter(LoopBuilder):
    """A function under construction whose values are vectors of ``lanes`` elements, or scalars.

    Attributes:
        maths: the class of elementary functions where a target has its own; None for ``math_functions.Maths``.
    """

    maths: ClassVar[Any] = None

    def __init__(self, lanes: int = 1, scalef: bool = False) -> None:
        super().__init__()
        self.lanes: int = lanes
        self.scalef: bool = scalef

    # ---- types, constants and lanes ----

    def t(self, scalar: str) -> str:
        """A type, as wide as the lanes."""
        return scalar if self.lanes == 1 else f"<{self.lanes} x {scalar}>"

    def suffix(self, scalar: str) -> str:
        """How intrinsics call the type."""
        short = {"float": "f32", "double": "f64", "half": "f16"}.get(scalar, scalar)
        return short if self.lanes == 1 else f"v{self.lanes}{short}"

    def const(self, text: str, scalar: str) -> str:
        """A constant in all lanes."""
        return text if self.lanes == 1 else f"splat ({scalar} {text})"

    def i32(self, value: int) -> str:
        """A constant of 32 bits in all lanes."""
        return self.const(str(value), "i32")

    def literal(self, value: Any, dtype: DType) -> str:
        """A constant of a dtype in all lanes."""
        return self.const(literal(value, dtype), type_name(dtype))

    def real(self, value: float, kind: str) -> str:
        """A floating-point constant in all lanes."""
        return self.const(real(value, kind), kind)

    def splat(self, scalar: str, value: str) -> str:
        """A scalar in all lanes."""
        if self.lanes == 1:
            return value
        if not value.startswith("%"):
            return self.const(value, scalar)
        first = self.ins(f"insertelement {self.t(scalar)} poison, {scalar} {value}, i64 0")
        mask = f"<{self.lanes} x i32> zeroinitializer"
        return self.ins(f"shufflevector {self.t(scalar)} {first}, {self.t(scalar)} poison, {mask}")

    def steps(self, first: str, step: int | str) -> str:
        """first, first + step, first + 2 step ... as i64."""
        if self.lanes == 1:
            return first
        apart = f"<{', '.join(f'i64 {i * (step if isinstance(step, int) else 1)}' for i in range(self.lanes))}>"
        if isinstance(step, str):
            apart = self.ins(f"mul nsw {self.t('i64')} {apart}, {self.splat('i64', step)}")
        return self.ins(f"add nsw {self.t('i64')} {self.splat('i64', first)}, {apart}")

    def below(self, first: str, end: str) -> str:
        """The lanes whose number, counted from ``first``, is below ``end``."""
        numbers, left = ", ".join(f"i64 {i}" for i in range(self.lanes)), self.i64("sub", end, first)
        return self.ins(f"icmp slt {self.t('i64')} <{numbers}>, {self.splat('i64', left)}")

    def some(self, test: str) -> str:
        """True where any lane is."""
        if self.lanes == 1:
            return test
        return self.call(f"llvm.vector.reduce.or.{self.suffix('i1')}", "i1", (self.t("i1"), test))

    def one_by_one(self, function: str, x: str) -> str:
        """A function of the C library on float32 lanes, through float64."""
        kind = self.t("float")
        held = self.alloca(kind)
        self.do(f"store {kind} {x}, ptr {held}")

        def lane(i: str, _: list[str]) -> list[str]:
            place = self.ins(f"getelementptr float, ptr {held}, i64 {i}")
            wide = self.ins(f"fpext float {self.ins(f'load float, ptr {place}')} to double")
            found = self.ins(f"fptrunc double {self.libm(function, 'double', wide)} to float")
            self.do(f"store float {found}, ptr {place}")
            return []

        self.loop(("0", str(self.lanes), 1), [], lane)
        return self.ins(f"load {kind}, ptr {held}")

    # ---- memory ----

    def load(self, dtype: DType, pointer: str, mask: str = "", align: int = 1) -> str:
        """Values from memory; only the lanes of ``mask``, the others are zero."""
        kind = memory_name(dtype)
        if mask:
            wide = self.t(kind)
            name = f"llvm.masked.load.{self.suffix(kind)}.p0"
            args = [("ptr", pointer), ("i32", str(align)), (self.t("i1"), mask), (wide, "zeroinitializer")]
            found = self.call(name, wide, *args)
        else:
            found = self.ins(f"load {self.t(kind)}, ptr {pointer}, align {align}")
        return self._seen(dtype, found)

    def gather(self, dtype: DType, pointers: str, mask: str) -> str:
        """Values from many places."""
        kind, many = memory_name(dtype), f"v{self.lanes}p0"
        name = f"llvm.masked.gather.{self.suffix(kind)}.{many}"
        args = [(self.t("ptr"), pointers), ("i32", str(dtype.itemsize)), (self.t("i1"), mask or "splat (i1 true)")]
        return self._seen(dtype, self.call(name, self.t(kind), *args, (self.t(kind), "zeroinitializer")))

    def _seen(self, dtype: DType, found: str) -> str:
        if dtype is not dtypes.bool_:
            return found
        return self.ins(f"icmp ne {self.t('i8')} {found}, {self.const('0', 'i8')}")

    def store(
        self, dtype: DType, value: str, pointer: str, mask: str = "", align: int = 1, stream: bool = False
    ) -> None:
        """Values into memory; only the lanes of ``mask``; ``stream``: past the caches."""
        value, kind = self._kept(dtype, value), memory_name(dtype)
        if mask:
            args = [(self.t(kind), value), ("ptr", pointer), ("i32", str(align)), (self.t("i1"), mask)]
            self.act(f"llvm.masked.store.{self.suffix(kind)}.p0", *args)
        else:
            past = ", !nontemporal !1" if stream else ""
            self.do(f"store {self.t(kind)} {value}, ptr {pointer}, align {align}{past}")

    def scatter(self, dtype: DType, value: str, pointers: str, mask: str) -> None:
        """Values into many places."""
        value, kind = self._kept(dtype, value), memory_name(dtype)
        args = [(self.t(kind), value), (self.t("ptr"), pointers), ("i32", str(dtype.itemsize))]
        name = f"llvm.masked.scatter.{self.suffix(kind)}.v{self.lanes}p0"
        self.act(name, *args, (self.t("i1"), mask or "splat (i1 true)"))

    def _kept(self, dtype: DType, value: str) -> str:
        return self.ins(f"zext {self.t('i1')} {value} to {self.t('i8')}") if dtype is dtypes.bool_ else value

    # ---- conversions ----

    def cast(self, x: str, old: DType, new: DType) -> str:
        """A value in another dtype."""
        if old is new:
            return x
        if old is dtypes.bfloat16:
            wide = self.ins(f"zext {self.t('i16')} {x} to {self.t('i32')}")
            return self.cast(self._bits(wide), dtypes.float32, new)
        if old is dtypes.float16 and new is not dtypes.float32:
            return self.cast(self.ins(f"fpext {self.t('half')} {x} to {self.t('float')}"), dtypes.float32, new)
        if new is dtypes.bool_:
            return self._truth(x, old)
        if old.is_float:
            return self._to_float(x, old, new) if new.is_float else self._to_int(x, old, new)
        return self._int_to_float(x, old, new) if new.is_float else self._int_to_int(x, old, new)

    def _bits(self, wide: str) -> str:
        high = self.ins(f"shl {self.t('i32')} {wide}, {self.i32(16)}")
        return self.ins(f"bitcast {self.t('i32')} {high} to {self.t('float')}")

    def _truth(self, x: str, old: DType) -> str:
        kind = self.t(type_name(old))
        if old.is_float:
            return self.ins(f"fcmp une {kind} {x}, {self.literal(0.0, old)}")
        return self.ins(f"icmp ne {kind} {x}, {self.literal(0, old)}")

    def _to_float(self, x: str, old: DType, new: DType) -> str:
        if old is dtypes.float64 and new is dtypes.float16:
            return self._to_float(self._to_odd(x), dtypes.float32, new)
        if old is dtypes.float64 and new is not dtypes.float32:  # bfloat16 by way of float32, as ml_dtypes does
            return self._to_float(self.ins(f"fptrunc {self.t('double')} {x} to {self.t('float')}"), dtypes.float32, new)
        if new is dtypes.float32 and old is dtypes.float32:
            return x
        if new is dtypes.bfloat16:
            return self._to_bfloat(x)
        word = "fpext" if new.itemsize > old.itemsize else "fptrunc"
        return self.ins(f"{word} {self.t(type_name(old))} {x} to {self.t(type_name(new))}")

    def _to_odd(self, x: str) -> str:
        """A double as a float whose last bit tells that digits were lost, so that rounding it again rounds ``x`` once:
        what lies between two floats becomes the odd one of them, which is never half-way between two halves."""
        f64, f32, i32, i1 = self.t("double"), self.t("float"), self.t("i32"), self.t("i1")
        near = self.ins(f"fptrunc {f64} {x} to {f32}")
        back = self.ins(f"fpext {f32} {near} to {f64}")
        bits = self.ins(f"bitcast {f32} {near} to {i32}")
        sizes = [self.call(f"llvm.fabs.{self.suffix('double')}", f64, (f64, v)) for v in (back, x)]
        above = self.ins(f"zext {i1} {self.ins(f'fcmp ogt {f64} {sizes[0]}, {sizes[1]}')} to {i32}")
        lost = self.ins(f"zext {i1} {self.ins(f'fcmp one {f64} {back}, {x}')} to {i32}")
        odd = self.ins(f"or {i32} {self.ins(f'sub {i32} {bits}, {above}')}, {lost}")
        return self.ins(f"bitcast {i32} {odd} to {f32}")

    def _to_bfloat(self, x: str) -> str:
        """Round to nearest, ties to even, on the bits; a NaN stays one."""
        i32, i16, f32 = self.t("i32"), self.t("i16"), self.t("float")
        bits = self.ins(f"bitcast {f32} {x} to {i32}")
        high = self.ins(f"lshr {i32} {bits}, {self.i32(16)}")
        odd = self.ins(f"and {i32} {high}, {self.i32(1)}")
        half = self.ins(f"add {i32} {odd}, {self.i32(32767)}")
        up = self.ins(f"lshr {i32} {self.ins(f'add {i32} {bits}, {half}')}, {self.i32(16)}")
        nan = self.ins(f"fcmp uno {f32} {x}, {x}")
        quiet = self.ins(f"or {i32} {high}, {self.i32(64)}")
        found = self.ins(f"select {self.t('i1')} {nan}, {i32} {quiet}, {i32} {up}")
        return self.ins(f"trunc {i32} {found} to {i16}")

    def _int_to_float(self, x: str, old: DType, new: DType) -> str:
        word = "sitofp" if old.signed and old is not dtypes.bool_ else "uitofp"
        middle = dtypes.float64 if new is dtypes.float64 else dtypes.float32
        found = self.ins(f"{word} {self.t(type_name(old))} {x} to {self.t(type_name(middle))}")
        return found if new is middle else self._to_float(found, middle, new)

    def _int_to_int(self, x: str, old: DType, new: DType) -> str:
        a, b = self.t(type_name(old)), self.t(type_name(new))
        bits = 1 if old is dtypes.bool_ else 8 * old.itemsize
        if bits == 8 * new.itemsize:
            return x
        if bits > 8 * new.itemsize:
            return self.ins(f"trunc {a} {x} to {b}")
        return self.ins(f"{'sext' if old.signed and bits > 1 else 'zext'} {a} {x} to {b}")

    def _to_int(self, x: str, old: DType, new: DType) -> str:
        """As x86 and NumPy: what does not fit becomes the smallest int of 32 bits (of 64 for wide targets)."""
        kind = type_name(old)
        if new is dtypes.uint64:
            return self._to_uint64(x, kind)
        wide = new in (dtypes.uint32, dtypes.int64)
        bits, limit = ("i64", 2.0**63) if wide else ("i32", 2.0**31)
        found = self._clamped(x, kind, bits, limit)
        middle = dtypes.int64 if wide else dtypes.int32
        return self._int_to_int(found, middle, new)

    def _clamped(self, x: str, kind: str, bits: str, limit: float) -> str:
        t, i1, low_end = self.t(kind), self.t("i1"), self.real(-limit, kind)
        low = self.ins(f"fcmp oge {t} {x}, {low_end}")
        high = self.ins(f"fcmp olt {t} {x}, {self.real(limit, kind)}")
        fits = self.ins(f"and {i1} {low}, {high}")
        safe = self.ins(f"select {i1} {fits}, {t} {x}, {t} {low_end}")
        return self.ins(f"fptosi {t} {safe} to {self.t(bits)}")

    def _to_uint64(self, x: str, kind: str) -> str:
        t, i64, i1, half = self.t(kind), self.t("i64"), self.t("i1"), self.real(2.0**63, kind)
        small = self._clamped(x, kind, "i64", 2.0**63)
        less = self.ins(f"fsub {t} {x}, {half}")
        big = self.ins(f"xor {i64} {self._clamped(less, kind, 'i64', 2.0**63)}, {self.const(str(-(2**63)), 'i64')}")
        above = self.ins(f"fcmp oge {t} {x}, {half}")
        return self.ins(f"select {i1} {above}, {i64} {big}, {i64} {small}")
