"""LLVM IR as text, one instruction at a time.

Dtypes in registers: bool is i1 (a byte in memory), bfloat16 is i16 and passes through float, the rest is what LLVM
calls
it. Arithmetic on floats may be contracted (a * b + c in one rounding) and nothing else: NaN, infinities, denormals and
the sign of zero are kept.
"""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from msnb.core import dtypes
from msnb.core.dtypes import DType

FAST = "contract"
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


class Emitter:
    """A function under construction: lines of its body, numbered names, and what it refers to outside."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.declared: dict[str, str] = {}
        self._next = 0

    def name(self, prefix: str = "%v") -> str:
        """A fresh name."""
        self._next += 1
        return f"{prefix}{self._next}"

    def ins(self, text: str) -> str:
        """Append an instruction with a result; returns its name."""
        out = self.name()
        self.lines.append(f"  {out} = {text}")
        return out

    def do(self, text: str) -> None:
        """Append an instruction without a result."""
        self.lines.append(f"  {text}")

    def label(self, name: str) -> None:
        """Begin a block; ``name`` without the percent sign."""
        self.lines.append(f"{name}:")

    def alloca(self, kind: str) -> str:
        """A variable of the function."""
        out = self.name("%a")
        self.entry.append(f"  {out} = alloca {kind}")
        return out

    def call(self, function: str, result: str, *args: tuple[str, str], flags: str = "", pure: str = "") -> str:
        """Call an intrinsic or a function of libm: ``args`` are (type, value)."""
        kinds = ", ".join(t for t, _ in args)
        self.declared[function] = f"declare {result} @{function}({kinds}){pure}"
        values = ", ".join(f"{t} {v}" for t, v in args)
        return self.ins(f"call {flags + ' ' if flags else ''}{result} @{function}({values})")

    def libm(self, function: str, kind: str, *args: str) -> str:
        """A function of the C library on doubles (or floats, where ``kind`` says so)."""
        return self.call(function, kind, *((kind, a) for a in args), pure=" nounwind willreturn memory(none)")

    def load(self, dtype: DType, pointer: str) -> str:
        """A value from memory (at any alignment)."""
        kind = memory_name(dtype)
        found = self.ins(f"load {kind}, ptr {pointer}, align 1")
        return self.ins(f"icmp ne i8 {found}, 0") if dtype is dtypes.bool_ else found

    def store(self, dtype: DType, value: str, pointer: str) -> None:
        """A value into memory."""
        if dtype is dtypes.bool_:
            value = self.ins(f"zext i1 {value} to i8")
        self.do(f"store {memory_name(dtype)} {value}, ptr {pointer}, align 1")

    # ---- conversions ------------------------------------------------------------------------------------------------

    def cast(self, x: str, old: DType, new: DType) -> str:
        """A value in another dtype."""
        if old is dtypes.bfloat16:
            wide = self.ins(f"zext i16 {x} to i32")
            return self.cast(self._bits(wide), dtypes.float32, new)
        if old is dtypes.float16 and new is not dtypes.float32:
            return self.cast(self.ins(f"fpext half {x} to float"), dtypes.float32, new)
        if new is dtypes.bool_:
            return self._truth(x, old)
        if old.is_float:
            return self._to_float(x, old, new) if new.is_float else self._to_int(x, old, new)
        return self._int_to_float(x, old, new) if new.is_float else self._int_to_int(x, old, new)

    def _bits(self, wide: str) -> str:
        high = self.ins(f"shl i32 {wide}, 16")
        return self.ins(f"bitcast i32 {high} to float")

    def _truth(self, x: str, old: DType) -> str:
        kind = type_name(old)
        if old.is_float:
            return self.ins(f"fcmp une {kind} {x}, {literal(0.0, old)}")
        return self.ins(f"icmp ne {kind} {x}, 0")

    def _to_float(self, x: str, old: DType, new: DType) -> str:
        if old is dtypes.float64 and new is not dtypes.float32:
            return self._to_float(self.ins(f"fptrunc double {x} to float"), dtypes.float32, new)
        if new is dtypes.float32 and old is dtypes.float32:
            return x
        if new is dtypes.bfloat16:
            return self._to_bfloat(x)
        word = "fpext" if new.itemsize > old.itemsize else "fptrunc"
        return self.ins(f"{word} {type_name(old)} {x} to {type_name(new)}")

    def _to_bfloat(self, x: str) -> str:
        """Round to nearest, ties to even, on the bits; a NaN stays one."""
        bits = self.ins(f"bitcast float {x} to i32")
        high = self.ins(f"lshr i32 {bits}, 16")
        odd = self.ins(f"and i32 {high}, 1")
        half = self.ins(f"add i32 {odd}, 32767")
        up = self.ins(f"lshr i32 {self.ins(f'add i32 {bits}, {half}')}, 16")
        nan = self.ins(f"fcmp uno float {x}, {x}")
        quiet = self.ins(f"or i32 {high}, 64")
        return self.ins(f"trunc i32 {self.ins(f'select i1 {nan}, i32 {quiet}, i32 {up}')} to i16")

    def _int_to_float(self, x: str, old: DType, new: DType) -> str:
        word = "sitofp" if old.signed and old is not dtypes.bool_ else "uitofp"
        middle = dtypes.float64 if new is dtypes.float64 else dtypes.float32
        found = self.ins(f"{word} {type_name(old)} {x} to {type_name(middle)}")
        return found if new is middle else self._to_float(found, middle, new)

    def _int_to_int(self, x: str, old: DType, new: DType) -> str:
        a, b = type_name(old), type_name(new)
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
        low = self.ins(f"fcmp oge {kind} {x}, {real(-limit, kind)}")
        high = self.ins(f"fcmp olt {kind} {x}, {real(limit, kind)}")
        fits = self.ins(f"and i1 {low}, {high}")
        safe = self.ins(f"select i1 {fits}, {kind} {x}, {kind} {real(-limit, kind)}")
        return self.ins(f"fptosi {kind} {safe} to {bits}")

    def _to_uint64(self, x: str, kind: str) -> str:
        small = self._clamped(x, kind, "i64", 2.0**63)
        less = self.ins(f"fsub {kind} {x}, {real(2.0**63, kind)}")
        big = self.ins(f"xor i64 {self._clamped(less, kind, 'i64', 2.0**63)}, {-(2**63)}")
        above = self.ins(f"fcmp oge {kind} {x}, {real(2.0**63, kind)}")
        return self.ins(f"select i1 {above}, i64 {big}, i64 {small}")
