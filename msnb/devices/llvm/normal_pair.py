"""Pairs of normal numbers from pairs of uniform ones, in LLVM IR, for every target (Box and Muller).

    r cos(a), r sin(a)      r = sqrt(-2 log(1 - u)), a = 2 pi v

All of it in float64 and rounded once, as the reference body does, so every device draws the same numbers (one in
millions is rounded the other way). 1 - u is exact, and so is the quarter of the circle that v lies in.
"""

from __future__ import annotations

import math

from msnb.devices.llvm.emitter import Emitter
from msnb.devices.llvm.math_functions import Maths

_SIN = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(9))
_COS = tuple((-1) ** k / math.factorial(2 * k) for k in range(10))
_ARTANH = tuple(2 / (2 * k + 1) for k in range(11))
_ROOT = 0x3FE6A09E667F3BCD
"""The bits of the square root of 1/2."""


def normal_pair(e: Emitter, u: str, v: str) -> tuple[str, str]:
    """Two normal numbers of two uniform ones, all float64."""
    m = Maths(e, "double")
    radius = m.unary("sqrt", m.unary("fabs", m.mul(m.c(-2.0), _log(m, m.sub(m.c(1.0), u)))))
    quarters = m.mul(v, m.c(4.0))
    nearest = m.unary("rint", quarters)
    angle = m.mul(m.sub(quarters, nearest), m.c(math.pi / 2))
    square = m.mul(angle, angle)
    sine, cosine = m.mul(angle, m.poly(_SIN, square)), m.poly(_COS, square)
    number = e.ins(f"fptosi {m.t} {nearest} to {m.i}")
    both = _turned(m, number, 1, cosine, sine), _turned(m, number, 0, sine, cosine)
    first, second = (m.mul(radius, x) for x in both)
    return first, second


def _log(m: Maths, x: str) -> str:
    """log x for x from 2^-24 to 1: with x = 2^k y, y near 1, it is k log 2 + 2 artanh((y - 1) / (y + 1))."""
    e, i = m.e, m.i
    bits = e.ins(f"bitcast {m.t} {x} to {i}")
    root, places = e.const(str(_ROOT), "i64"), e.const("52", "i64")
    k = e.ins(f"ashr {i} {e.ins(f'sub {i} {bits}, {root}')}, {places}")
    near = e.ins(f"sub {i} {bits}, {e.ins(f'shl {i} {k}, {places}')}")
    y = e.ins(f"bitcast {i} {near} to {m.t}")
    s = m.div(m.sub(y, m.c(1.0)), m.add(y, m.c(1.0)))
    series = m.mul(s, m.poly(_ARTANH, m.mul(s, s)))
    return m.fma(e.ins(f"sitofp {i} {k} to {m.t}"), m.c(math.log(2.0)), series)


def _turned(m: Maths, quarter: str, shift: int, even: str, odd: str) -> str:
    """Sine (shift 0) or cosine (shift 1) of an angle: odd quarters exchange them, two change the sign."""
    e = m.e
    one, two = e.const("1", "i64"), e.const("2", "i64")
    is_odd = e.ins(f"icmp ne {m.i} {e.ins(f'and {m.i} {quarter}, {one}')}, {e.const('0', 'i64')}")
    chosen = m.pick(is_odd, odd, even)
    moved = e.ins(f"add {m.i} {quarter}, {e.const(str(shift), 'i64')}")
    sign = e.ins(f"shl {m.i} {e.ins(f'and {m.i} {moved}, {two}')}, {e.const('62', 'i64')}")
    bits = e.ins(f"xor {m.i} {e.ins(f'bitcast {m.t} {chosen} to {m.i}')}, {sign}")
    return e.ins(f"bitcast {m.i} {bits} to {m.t}")
