"""Elementary functions in float32, without branches, so that they vectorise.

    exp     x = n ln2 + r, |r| <= ln2 / 2:        2^n (1 + r + r^2 P(r)); 2^n in two steps, for denormals,
            or in one instruction where the CPU has it
    log     x = 2^k m, f = m - 1 in [-0.29, 0.41]: k ln2 + f - f^2/2 + f^3 P(f)
    tanh    near 0: x + x^3 P(x^2);               else 1 - 2 / (exp(2x) + 1)
    erf     below 1: x P(x^2);                    else 1 - exp(Q(x)), Q = log erfc
    sin     k = nearest integer to x 2/pi, r = x - k pi/2 in float64 (exact by fused steps up to 2^30), then sine or
            cosine of r; beyond, the C library
    tan     sine over cosine
    pow     2^(y log2 x) with log2 and 2^ in float64; so are the others, rounded once (``WIDE``)

The coefficients are least-maximum fits made for this file (Lawson's iteration on Chebyshev points, 40 digits). Integers
are taken from floats by adding 1.5 * 2^23, never by a conversion, which would be undefined for NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from msnb.devices.llvm.emitter import Emitter

LN2_HIGH, LN2_LOW = 0.693145751953125, 1.428606765330187e-06
_EXP = (0.500000008, 0.166666669, 0.0416662538, 0.00833326264, 0.00139472249, 0.000199193799)
_EXPM1 = (0.500000006, 0.166666669, 0.0416663033, 0.00833326429, 0.00139451303, 0.000199193492)
_LOG = (0.333333126, -0.250000098, 0.200021196, -0.166679855, 0.142195198, -0.124057562, 0.118886033, -0.11674807,
        0.0674454265)  # fmt: skip
_TANH = (-0.333333309, 0.133332098, -0.0539472043, 0.0217029671, -0.00818267386, 0.00214753686)
_ERF = (1.12837917, -0.376126385, 0.112837827, -0.0268654458, 0.00522107487, -0.000848471136, 0.000112705438,
        -9.68013463e-06)  # fmt: skip
_LOG_ERFC = (0.000116643503, -1.12915577, -0.634312931, -0.106798846, 0.023693493, -0.00327795806, 7.07619527e-05,
             7.17049849e-05, -1.34537256e-05, 8.43831381e-07)  # fmt: skip
_ERFC = (1.0740069078, -0.88339448773, 0.59022829243, -0.31046597182, 0.11952916901,
         -0.026840054267, -0.001227025945, 0.0030805708529, -0.00048203127715, -0.00032473830616)  # fmt: skip
# erfinv(x) / x over w = -log(1 - x^2) in [0, 5], as (w - 2.5) / 2.5, and over sqrt(w) in [sqrt(5), sqrt(17)]
_ERFINV_NEAR = (1.50140935173, 0.616600691987, -0.0261082807621, -0.0195735642707, 0.00852593449779, -0.000487876474774,
                -0.000836468738126, 0.000292135779384, 2.51574352441e-05, -4.1400435841e-05, 4.14957748589e-06,
                2.93113692376e-06)  # fmt: skip
_ERFINV_FAR = (3.01313011207, 0.947710959151, 0.00555846692834, -0.00381599686739, 0.00250333361057, -0.00159310612302,
               0.000804606692007, -0.000233479370932, -3.40559890622e-05, 6.30647363095e-05,
               -1.82659864371e-05)  # fmt: skip
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)
_SINE_OF_PI = [(-1) ** n * math.pi ** (2 * n + 1) / math.factorial(2 * n + 1) for n in range(10)]
_LN2 = math.log(2.0)
_SIN = (-0.166666666, 0.00833332914, -0.000198392566, 2.71756441e-06)
_COS = (0.0416666666, -0.00138888834, 2.47994364e-05, -2.72033034e-07)
_MAGIC, _MAGIC64 = 12582912.0, 6755399441055744.0
HUGE_ANGLE = float(2**30)
PI_HALF = (1.5707963267948966, 6.123233995736766e-17)


class Maths:
    """Emits the functions through an Emitter; values are names."""

    def __init__(self, e: Emitter, kind: str = "float") -> None:
        self.e: Emitter = e
        self.kind: str = kind
        self.t: str = e.t(kind)
        self.b: str = e.t("i1")
        self.i: str = e.t("i32" if kind == "float" else "i64")

    # ---- words ----

    def c(self, value: float) -> str:
        """A constant."""
        return self.e.real(value, self.kind)

    def op(self, word: str, a: str, b: str) -> str:
        """fadd, fsub, fmul, fdiv."""
        return self.e.ins(f"{word} {self.t} {a}, {b}")

    def add(self, a: str, b: str) -> str:
        """a + b."""
        return self.op("fadd", a, b)

    def sub(self, a: str, b: str) -> str:
        """a - b."""
        return self.op("fsub", a, b)

    def mul(self, a: str, b: str) -> str:
        """a b."""
        return self.op("fmul", a, b)

    def div(self, a: str, b: str) -> str:
        """a / b."""
        return self.op("fdiv", a, b)

    def fma(self, a: str, b: str, c: str, exact: bool = False) -> str:
        """a b + c, in one rounding where the CPU has it (always, if ``exact``)."""
        name = f"llvm.{'fma' if exact else 'fmuladd'}.{self.e.suffix(self.kind)}"
        return self.e.call(name, self.t, (self.t, a), (self.t, b), (self.t, c))

    def poly(self, coefficients: Sequence[float], x: str) -> str:
        """c0 + c1 x + c2 x^2 ..."""
        total = self.c(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, x, self.c(c))
        return total

    def test(self, how: str, a: str, b: str) -> str:
        """A comparison."""
        return self.e.ins(f"fcmp {how} {self.t} {a}, {b}")

    def pick(self, test: str, a: str, b: str) -> str:
        """a where the test holds, else b."""
        return self.e.ins(f"select {self.b} {test}, {self.t} {a}, {self.t} {b}")

    def both(self, word: str, a: str, b: str) -> str:
        """and, or, xor of two tests."""
        return self.e.ins(f"{word} {self.b} {a}, {b}")

    def none(self, a: str) -> str:
        """The opposite of a test."""
        return self.both("xor", a, self.e.const("true", "i1"))

    def fabs(self, x: str) -> str:
        """|x|."""
        return self.unary("fabs", x)

    def unary(self, name: str, x: str) -> str:
        """An intrinsic of one operand."""
        return self.e.call(f"llvm.{name}.{self.e.suffix(self.kind)}", self.t, (self.t, x))

    def sign_of(self, x: str, y: str) -> str:
        """|x| with the sign of y. The fence keeps LLVM from taking the sign of what y was before it was rounded: of a
        double on its way to half precision it would call a function that no loaded code has."""
        y = self.unary("arithmetic.fence", y)
        name = f"llvm.copysign.{self.e.suffix(self.kind)}"
        return self.e.call(name, self.t, (self.t, x), (self.t, y))

    def clamp(self, x: str, low: float, high: float) -> str:
        """Between two bounds; NaN stays."""
        x = self.pick(self.test("ogt", x, self.c(high)), self.c(high), x)
        return self.pick(self.test("olt", x, self.c(low)), self.c(low), x)

    def bits(self, x: str) -> str:
        """A float as an int."""
        return self.e.ins(f"bitcast {self.t} {x} to {self.i}")

    def floats(self, x: str) -> str:
        """An int as a float."""
        return self.e.ins(f"bitcast {self.i} {x} to {self.t}")

    def whole(self, word: str, a: str, b: str | int) -> str:
        """An operation on ints of the same width."""
        other = self.e.const(str(b), "i32" if self.kind == "float" else "i64") if isinstance(b, int) else b
        return self.e.ins(f"{word} {self.i} {a}, {other}")

    def turn(self, word: str, x: str, old: str, new: str) -> str:
        """A conversion."""
        return self.e.ins(f"{word} {self.e.t(old)} {x} to {self.e.t(new)}")

    def power_of_two(self, n: str) -> str:
        """2^n for an int n in the normal range of float32."""
        return self.floats(self.whole("shl", self.whole("add", n, 127), 23))

    # ---- functions ----

    def exp(self, x: str) -> str:
        """e^x."""
        x = self.clamp(x, -104.0, 89.0)
        turns = self.e.ins(f"fmul {self.t} {x}, {self.c(1.4426950408889634)}")
        t = self.e.ins(f"fadd {self.t} {turns}, {self.c(_MAGIC)}")
        n = self.e.ins(f"fsub {self.t} {t}, {self.c(_MAGIC)}")
        r = self.fma(n, self.c(-LN2_LOW), self.fma(n, self.c(-LN2_HIGH), x))
        p = self.add(self.fma(self.mul(r, r), self.poly(_EXP, r), r), self.c(1.0))
        return scaled_at_once(self.e, p, n) or self._scaled(p, self.whole("sub", self.bits(t), 0x4B400000))

    def _scaled(self, p: str, n: str) -> str:
        """p 2^n, in two steps so that denormals come out."""
        half = self.whole("ashr", n, 1)
        rest = self.whole("sub", n, half)
        once = self.e.ins(f"fmul {self.t} {p}, {self.power_of_two(half)}")
        return self.e.ins(f"fmul {self.t} {once}, {self.power_of_two(rest)}")

    def expm1(self, x: str) -> str:
        """e^x - 1."""
        near = self.fma(self.mul(x, x), self.poly(_EXPM1, x), x)
        far = self.sub(self.exp(x), self.c(1.0))
        found = self.pick(self.test("olt", self.fabs(x), self.c(0.36)), near, far)
        return self.pick(self.test("oeq", x, self.c(0.0)), x, found)

    def log(self, x: str) -> str:
        """Natural logarithm."""
        tiny = self.test("olt", x, self.c(1.1754943508222875e-38))
        bits = self.bits(self.pick(tiny, self.e.ins(f"fmul {self.t} {x}, {self.c(8388608.0)}"), x))
        less = self.e.ins(f"select {self.b} {tiny}, {self.i} {self.e.i32(23)}, {self.i} {self.e.i32(0)}")
        k = self.whole("ashr", self.whole("sub", bits, 0x3F3504F3), 23)
        f = self.sub(self.floats(self.whole("sub", bits, self.whole("shl", k, 23))), self.c(1.0))
        n = self.turn("sitofp", self.whole("sub", k, less), "i32", "float")
        square = self.mul(f, f)
        tail = self.fma(self.mul(square, f), self.poly(_LOG, f), self.mul(n, self.c(LN2_LOW)))
        body = self.add(self.fma(square, self.c(-0.5), tail), f)
        return self.log_edges(x, self.fma(n, self.c(LN2_HIGH), body))

    def log_edges(self, x: str, found: str) -> str:
        """A logarithm with its values at infinity and at what is not positive."""
        found = self.pick(self.test("oeq", x, self.c(float("inf"))), x, found)
        found = self.pick(self.test("oeq", x, self.c(0.0)), self.c(float("-inf")), found)
        return self.pick(self.test("ult", x, self.c(0.0)), self.c(float("nan")), found)

    def log1p(self, x: str) -> str:
        """log(1 + x): what 1 + x rounded away is put back as (x - ((1 + x) - 1)) / (1 + x)."""
        u = self.e.ins(f"fadd {self.t} {x}, {self.c(1.0)}")
        lost = self.e.ins(f"fsub {self.t} {x}, {self.e.ins(f'fsub {self.t} {u}, {self.c(1.0)}')}")
        found = self.add(self.log(u), self.div(lost, u))
        plain = self.e.ins(
            f"or {self.b} {self.test('oeq', u, self.c(float('inf')))}, {self.test('oeq', u, self.c(0.0))}"
        )
        found = self.pick(plain, self.log(u), found)
        return self.pick(self.test("oeq", x, self.c(0.0)), x, found)

    def tanh(self, x: str) -> str:
        """Hyperbolic tangent."""
        square = self.mul(x, x)
        near = self.fma(self.mul(square, x), self.poly(_TANH, square), x)
        e = self.exp(self.mul(self.fabs(x), self.c(2.0)))
        far = self.sub(self.c(1.0), self.div(self.c(2.0), self.add(e, self.c(1.0))))
        return self.sign_of(self.pick(self.test("olt", self.fabs(x), self.c(0.625)), near, far), x)

    def erf(self, x: str) -> str:
        """The error function."""
        near = self.mul(x, self.poly(_ERF, self.mul(x, x)))
        a = self.clamp(self.fabs(x), 0.0, 4.0)
        far = self.sub(self.c(1.0), self.exp(self.poly(_LOG_ERFC, a)))
        return self.pick(self.test("olt", self.fabs(x), self.c(1.0)), near, self.sign_of(far, x))

    def sin(self, x: str) -> str:
        """Sine."""
        return self._circular(x, 0)

    def cos(self, x: str) -> str:
        """Cosine: the sine a quarter further."""
        return self._circular(x, 1)

    def tan(self, x: str) -> str:
        """Tangent."""
        return self.div(self.sin(x), self.cos(x))

    def _circular(self, x: str, quarter: int) -> str:
        w = Maths(self.e, "double")
        d = self.turn("fpext", x, "float", "double")
        t = self.e.ins(f"fmul {w.t} {d}, {w.c(0.6366197723675814)}")
        t = self.e.ins(f"fadd {w.t} {t}, {w.c(_MAGIC64)}")
        k = self.e.ins(f"fsub {w.t} {t}, {w.c(_MAGIC64)}")
        turn = self.whole("add", self.turn("trunc", w.bits(t), "i64", "i32"), quarter)
        r = w.fma(k, w.c(-PI_HALF[0]), d, exact=True)
        r = self.turn("fptrunc", w.fma(k, w.c(-PI_HALF[1]), r, exact=True), "double", "float")
        found = self.wave(r, turn)
        found = found if quarter else self.pick(self.test("oeq", x, self.c(0.0)), x, found)
        return self._far(x, found, "cos" if quarter else "sin")

    def wave(self, r: str, turn: str) -> str:
        """The sine of r, that many quarters of a turn further; r lies within an eighth of a turn."""
        square = self.mul(r, r)
        sine = self.fma(self.mul(square, r), self.poly(_SIN, square), r)
        flat = self.fma(square, self.c(-0.5), self.c(1.0))
        cosine = self.fma(self.mul(square, square), self.poly(_COS, square), flat)
        value = self.pick(self.turn("trunc", turn, "i32", "i1"), cosine, sine)
        flip = self.whole("shl", self.whole("and", turn, 2), 30)
        return self.floats(self.whole("xor", self.bits(value), flip))

    def _far(self, x: str, found: str, function: str) -> str:
        """Angles beyond 2^30, which are rare, go one by one through the C library; their neighbours stay."""
        far = self.test("oge", self.fabs(x), self.c(HUGE_ANGLE))
        far = self.both("and", far, self.test("olt", self.fabs(x), self.c(float("inf"))))
        return self.e.rarely(
            self.e.some(far), self.t, found, lambda: self.pick(far, self.e.one_by_one(function, x), found)
        )

    # ---- pow ----

    def pow(self, x: str, y: str) -> str:
        """x to the power of y, with C's rules at the edges."""
        w = Maths(self.e, "double")
        a = self.fabs(x)
        z = w.mul(self.turn("fpext", y, "float", "double"), _log2(w, self.turn("fpext", a, "float", "double")))
        found = self.turn("fptrunc", _exp2(w, w.clamp(z, -200.0, 200.0)), "double", "float")
        up = self.test("ogt", y, self.c(0.0))
        big, small = self.c(float("inf")), self.c(0.0)
        found = self.pick(self.test("oeq", a, small), self.pick(up, small, big), found)
        found = self.pick(self.test("oeq", a, big), self.pick(up, big, small), found)
        found = self.pick(self.test("oeq", a, self.c(1.0)), self.c(1.0), found)
        found = self._signed(x, y, found)
        nan = self.test("uno", x, y)
        found = self.pick(nan, self.add(x, y), found)
        one = self.e.ins(f"or {self.b} {self.test('oeq', x, self.c(1.0))}, {self.test('oeq', y, small)}")
        return self.pick(one, self.c(1.0), found)

    def _signed(self, x: str, y: str, found: str) -> str:
        """A negative base: odd powers are negative, broken ones NaN."""
        whole = self.test("oeq", self.unary("trunc", y), y)
        half = self.mul(y, self.c(0.5))
        even = self.test("oeq", self.unary("trunc", half), half)
        odd = self.both("and", whole, self.none(even))
        negative = self.whole("icmp slt", self.bits(x), 0)
        turned = self.pick(odd, self.e.ins(f"fneg {self.t} {found}"), found)
        finite = self.both("and", self.test("one", x, self.c(float("-inf"))), self.test("olt", x, self.c(0.0)))
        broken = self.both("and", finite, self.none(whole))
        return self.pick(broken, self.c(float("nan")), self.pick(negative, turned, found))


def _log2(w: Maths, x: str) -> str:
    """log2 of a positive normal double, to 1e-10: s = (m - 1) / (m + 1), 2 atanh(s) / ln2."""
    bits = w.bits(x)
    k = w.whole("ashr", w.whole("sub", bits, 0x3FE6A09E667F3BCD), 52)
    m = w.floats(w.whole("sub", bits, w.whole("shl", k, 52)))
    s = w.div(w.sub(m, w.c(1.0)), w.add(m, w.c(1.0)))
    scale = 2 / 0.6931471805599453
    series = w.poly([scale / n for n in (1, 3, 5, 7, 9, 11, 13, 15)], w.mul(s, s))
    return w.fma(s, series, w.turn("sitofp", w.turn("trunc", k, "i64", "i32"), "i32", "double"))


def _exp2(w: Maths, z: str) -> str:
    """2^z of a double in [-200, 200], to 1e-10."""
    t = w.e.ins(f"fadd {w.t} {z}, {w.c(_MAGIC64)}")
    n = w.e.ins(f"fsub {w.t} {t}, {w.c(_MAGIC64)}")
    f = w.mul(w.e.ins(f"fsub {w.t} {z}, {n}"), w.c(0.6931471805599453))
    terms, step = [1.0], 1.0
    for i in range(1, 10):
        step /= i
        terms.append(step)
    up = w.whole("shl", w.whole("add", w.bits(t), 1023), 52)
    return w.mul(w.poly(terms, f), w.floats(up))


def _log(w: Maths, x: str) -> str:
    return w.log_edges(x, w.mul(_log2(w, x), w.c(_LN2)))


def _hyperbolic(w: Maths, x: str, word: str) -> str:
    """Half of e^|x| and e^-|x|, added or subtracted."""
    e = _exp2(w, w.clamp(w.mul(w.fabs(x), w.c(1 / _LN2)), 0.0, 200.0))
    return w.mul(w.op(word, e, w.div(w.c(1.0), e)), w.c(0.5))


def _odd(w: Maths, x: str, found: str, bound: float, terms: Sequence[float] = (1.0,)) -> str:
    """With the sign of x; a series x + ... where x is below the bound and ``found`` has lost digits."""
    near = w.mul(x, w.poly(terms, w.mul(x, x)))
    return w.pick(w.test("olt", w.fabs(x), w.c(bound)), near, w.sign_of(found, x))


def _angle(w: Maths, y: str, x: str) -> str:
    """atan2(y, x): the smaller over the larger, t, or (t - 1) / (t + 1) and an eighth of a turn; its series."""
    a, b = w.fabs(y), w.fabs(x)
    steep = w.test("ogt", a, b)
    low, high = w.pick(steep, b, a), w.pick(steep, a, b)
    t = w.pick(w.test("oeq", low, high), w.c(1.0), w.div(low, high))
    t = w.pick(w.test("oeq", high, w.c(0.0)), w.c(0.0), t)
    far = w.test("ogt", t, w.c(math.tan(math.pi / 8)))
    u = w.pick(far, w.div(w.sub(t, w.c(1.0)), w.add(t, w.c(1.0))), t)
    found = w.mul(u, w.poly([(-1) ** n / (2 * n + 1) for n in range(12)], w.mul(u, u)))
    found = w.add(found, w.pick(far, w.c(math.pi / 4), w.c(0.0)))
    found = w.pick(steep, w.sub(w.c(math.pi / 2), found), found)
    found = w.pick(w.whole("icmp slt", w.bits(x), 0), w.sub(w.c(math.pi), found), found)
    return w.pick(w.test("uno", x, y), w.add(x, y), w.sign_of(found, y))


def _legs(w: Maths, x: str, a: str, y: str, b: str) -> str:
    """sqrt(x - a) sqrt(y + b): NaN where either is below zero."""
    return w.mul(w.unary("sqrt", w.sub(x, a)), w.unary("sqrt", w.add(y, b)))


def _erfc(w: Maths, x: str) -> str:
    """e^(-a^2) P((a - 3) / (a + 3)) / (a + 3) of a = |x|."""
    a = w.clamp(w.fabs(x), 0.0, 20.0)
    more = w.add(a, w.c(3.0))
    heart = w.div(w.poly(_ERFC, w.div(w.sub(a, w.c(3.0)), more)), more)
    found = w.mul(heart, _exp2(w, w.clamp(w.mul(w.mul(a, a), w.c(-1 / _LN2)), -200.0, 0.0)))
    return w.pick(w.test("olt", x, w.c(0.0)), w.sub(w.c(2.0), found), found)


def _erfinv(w: Maths, x: str) -> str:
    a = w.fabs(x)
    far = w.sub(w.c(0.0), _log(w, w.mul(w.sub(w.c(1.0), a), w.add(w.c(1.0), a))))
    middle, half = (math.sqrt(17) + math.sqrt(5)) / 2, (math.sqrt(17) - math.sqrt(5)) / 2
    root = w.mul(w.sub(w.unary("sqrt", far), w.c(middle)), w.c(1 / half))
    near = w.poly(_ERFINV_NEAR, w.mul(w.sub(far, w.c(2.5)), w.c(0.4)))
    found = w.mul(x, w.pick(w.test("olt", far, w.c(5.0)), near, w.poly(_ERFINV_FAR, root)))
    return w.pick(w.test("oeq", a, w.c(1.0)), w.sign_of(w.c(math.inf), x), found)


def _lgamma(w: Maths, x: str) -> str:
    """Stirling's series after eight steps of the recurrence; below 1/2 reflected, pi over the sine in the logarithm of
    the product of the steps."""
    low = w.test("olt", x, w.c(0.5))
    up = w.pick(low, w.sub(w.c(1.0), x), x)
    steps = up
    for k in range(1, 8):
        steps = w.mul(steps, w.add(up, w.c(float(k))))
    few = w.test("olt", up, w.c(8.0))
    steps, high = w.pick(few, steps, w.c(1.0)), w.pick(few, w.add(up, w.c(8.0)), up)
    z = w.div(w.c(1.0), high)
    body = w.fma(w.sub(high, w.c(0.5)), _log(w, high), w.sub(w.c(0.5 * math.log(2 * math.pi)), high))
    body = w.fma(w.poly(_STIRLING, w.mul(z, z)), z, body)
    part = w.sub(x, w.unary("rint", x))
    sine = w.fabs(w.mul(part, w.poly(_SINE_OF_PI, w.mul(part, part))))
    turned = _log(w, w.pick(low, w.div(w.mul(steps, w.c(math.pi)), sine), steps))
    found = w.pick(low, w.sub(turned, body), w.sub(body, turned))
    root = w.both("or", w.test("oeq", x, w.c(1.0)), w.test("oeq", x, w.c(2.0)))
    found = w.pick(root, w.c(0.0), found)
    return w.pick(w.test("oeq", w.fabs(x), w.c(math.inf)), w.c(math.inf), found)


def _hypot(w: Maths, x: str, y: str) -> str:
    found = w.unary("sqrt", w.add(w.mul(x, x), w.mul(y, y)))
    ends = w.both("or", *(w.test("oeq", w.fabs(v), w.c(float("inf"))) for v in (x, y)))
    return w.pick(ends, w.c(float("inf")), found)


def _atanh(w: Maths, x: str) -> str:
    found = _log(w, w.div(w.add(w.c(1.0), w.fabs(x)), w.sub(w.c(1.0), w.fabs(x))))
    return _odd(w, x, w.mul(found, w.c(0.5)), 1e-4)


WIDE: dict[str, Callable[..., str]] = {
    "exp2": lambda w, x: _exp2(w, w.clamp(x, -200.0, 200.0)),
    "log2": lambda w, x: w.log_edges(x, _log2(w, x)),
    "log10": lambda w, x: w.log_edges(x, w.mul(_log2(w, x), w.c(math.log10(2.0)))),
    "sinh": lambda w, x: _odd(w, x, _hyperbolic(w, x, "fsub"), 0.1, (1.0, 1 / 6, 1 / 120, 1 / 5040)),
    "cosh": lambda w, x: _hyperbolic(w, x, "fadd"),
    "asin": lambda w, x: _angle(w, x, _legs(w, w.c(1.0), x, x, w.c(1.0))),
    "acos": lambda w, x: _angle(w, _legs(w, w.c(1.0), x, x, w.c(1.0)), x),
    "atan": lambda w, x: _angle(w, x, w.c(1.0)), "atan2": _angle, "erfc": _erfc, "hypot": _hypot,
    "erfinv": _erfinv, "lgamma": _lgamma,
    "acosh": lambda w, x: _log(w, w.add(x, _legs(w, x, w.c(1.0), x, w.c(1.0)))),
    "asinh": lambda w, x: _odd(w, x, _log(w, w.add(w.fabs(x), _hypot(w, x, w.c(1.0)))), 1e-4), "atanh": _atanh,
}  # fmt: skip
"""Functions of float32 that are computed in float64 and rounded once."""


def rounded(m: Maths, function: str, args: Sequence[str]) -> str:
    """One of ``WIDE`` on float32."""
    found = WIDE[function](Maths(m.e, "double"), *(m.turn("fpext", a, "float", "double") for a in args))
    return m.turn("fptrunc", found, "double", "float")


INLINE = frozenset(("exp", "expm1", "log", "log1p", "tanh", "erf", "sin", "cos", "tan", "pow", *WIDE))
"""The functions of float32 that have no calls."""


def scaled_at_once(e: Emitter, p: str, n: str) -> str:
    """p 2^n for float32 lanes, n being whole, in one instruction where the CPU has it; else nothing."""
    if not e.scalef or e.lanes % 16:
        return ""
    parts = [_scalef(e, _part(e, p, k), _part(e, n, k)) for k in range(e.lanes // 16)]
    while len(parts) > 1:
        size = 16 * (e.lanes // 16 // len(parts))
        order = ", ".join(f"i32 {i}" for i in range(2 * size))
        t = f"<{size} x float>"
        pairs = zip(parts[::2], parts[1::2])
        parts = [e.ins(f"shufflevector {t} {a}, {t} {b}, <{2 * size} x i32> <{order}>") for a, b in pairs]
    return parts[0]


def _part(e: Emitter, x: str, k: int) -> str:
    if e.lanes == 16:
        return x
    order = ", ".join(f"i32 {i}" for i in range(16 * k, 16 * k + 16))
    t = e.t("float")
    return e.ins(f"shufflevector {t} {x}, {t} poison, <16 x i32> <{order}>")


def _scalef(e: Emitter, p: str, n: str) -> str:
    v = "<16 x float>"
    args = [(v, p), (v, n), (v, "zeroinitializer"), ("i16", "-1"), ("i32", "4")]
    return e.call("llvm.x86.avx512.mask.scalef.ps.512", v, *args)
