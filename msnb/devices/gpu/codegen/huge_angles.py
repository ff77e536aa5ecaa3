"""Sine and cosine of floats beyond 2^30 without a C library.

    x = m 2^e, m of 24 bits          x 2/pi mod 4 = m (2^e 2/pi mod 4)        only 128 bits of 2/pi count, from e - 2 on
    q = m W mod 2^128                the upper two bits: quarters of a turn; the rest: how far beyond

Source: Payne, Hanek: Radian reduction for trigonometric functions. SIGNUM Newsletter 18, 1983.
"""

from __future__ import annotations

from msnb.devices.llvm import Emitter, Maths, real

TWO_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041FE5163ABDEBBC561
"""The first 256 binary digits of 2 / pi."""


def huge_angle(e: Emitter, function: str, x: str) -> str:
    """``sin`` or ``cos`` of one finite float32 of at least 2^30."""
    m = Maths(e)
    bits = m.bits(x)
    digits = e.ins(f"or i32 {m.whole('and', bits, 0x7FFFFF)}, {0x800000}")
    exponent = m.whole("sub", m.whole("and", m.whole("lshr", bits, 23), 255), 150)
    right = e.ins(f"zext i32 {e.ins(f'sub i32 130, {exponent}')} to i256")
    window = e.ins(f"trunc i256 {e.ins(f'lshr i256 {_signed(TWO_OVER_PI)}, {right}')} to i128")
    q = e.ins(f"mul i128 {e.ins(f'zext i32 {digits} to i128')}, {window}")
    quarters = e.ins(f"lshr i128 {e.ins(f'add i128 {q}, {1 << 125}')}, 126")
    rest = e.ins(f"sub i128 {q}, {e.ins(f'shl i128 {quarters}, 126')}")
    high = e.ins(f"trunc i128 {e.ins(f'ashr i128 {rest}, 64')} to i64")
    scale = real(1.5707963267948966 * 2.0**-62, "double")
    quarter = e.ins(f"fmul double {e.ins(f'sitofp i64 {high} to double')}, {scale}")
    r = e.ins(f"fptrunc double {quarter} to float")
    turn = e.ins(f"trunc i128 {quarters} to i32")
    negative = m.whole("icmp slt", bits, 0)
    r = m.pick(negative, e.ins(f"fneg float {r}"), r)
    turn = e.ins(f"select i1 {negative}, i32 {e.ins(f'sub i32 0, {turn}')}, i32 {turn}")
    return m.wave(r, m.whole("add", turn, 1 if function == "cos" else 0))


def _signed(value: int) -> int:
    """As LLVM writes an i256 with its highest bit set."""
    return value - (1 << 256) if value >> 255 else value
