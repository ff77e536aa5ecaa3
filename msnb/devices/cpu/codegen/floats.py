"""Elementary functions in float32, without branches, so that they vectorise.

    exp     x = n ln2 + r, |r| <= ln2 / 2:        2^n (1 + r + r^2 P(r)); 2^n in two steps, for denormals
    log     x = 2^k m, f = m - 1 in [-0.29, 0.41]: k ln2 + f - f^2/2 + f^3 P(f)
    tanh    near 0: x + x^3 P(x^2);               else 1 - 2 / (exp(2x) + 1)
    erf     below 1: x P(x^2);                    else 1 - exp(Q(x)), Q = log erfc
    sin     k = nearest integer to x 2/pi, r = x - k pi/2 in float64 (exact by fused steps up to 2^30), then sine or
            cosine of r
    pow     2^(y log2 x) with log2 and 2^ in float64

The coefficients are least-maximum fits made for this file (Lawson's iteration on Chebyshev points, 40 digits). Integers
are taken from floats by adding 1.5 * 2^23, never by a conversion, which would be undefined for NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msnb.devices.cpu.codegen.emit import FAST, Emitter, real

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
_SIN = (-0.166666666, 0.00833332914, -0.000198392566, 2.71756441e-06)
_COS = (0.0416666666, -0.00138888834, 2.47994364e-05, -2.72033034e-07)
_MAGIC, _MAGIC64 = 12582912.0, 6755399441055744.0
PI_HALF = (1.5707963267948966, 6.123233995736766e-17)


class Maths:
    """Emits the functions through an Emitter; values are names."""

    def __init__(self, e: Emitter, kind: str = "float") -> None:
        self.e, self.kind = e, kind

    # ---- words ------------------------------------------------------------------------------------------------------

    def c(self, value: float) -> str:
        """A constant."""
        return real(value, self.kind)

    def op(self, word: str, a: str, b: str) -> str:
        """fadd, fsub, fmul, fdiv."""
        return self.e.ins(f"{word} {FAST} {self.kind} {a}, {b}")

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
        name = f"llvm.{'fma' if exact else 'fmuladd'}.{'f32' if self.kind == 'float' else 'f64'}"
        return self.e.call(name, self.kind, (self.kind, a), (self.kind, b), (self.kind, c))

    def poly(self, coefficients: Sequence[float], x: str) -> str:
        """c0 + c1 x + c2 x^2 ..."""
        total = self.c(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, x, self.c(c))
        return total

    def test(self, how: str, a: str, b: str) -> str:
        """A comparison."""
        return self.e.ins(f"fcmp {how} {self.kind} {a}, {b}")

    def pick(self, test: str, a: str, b: str) -> str:
        """a where the test holds, else b."""
        return self.e.ins(f"select i1 {test}, {self.kind} {a}, {self.kind} {b}")

    def fabs(self, x: str) -> str:
        """|x|."""
        return self.unary("fabs", x)

    def unary(self, name: str, x: str) -> str:
        """An intrinsic of one operand."""
        return self.e.call(f"llvm.{name}.{'f32' if self.kind == 'float' else 'f64'}", self.kind, (self.kind, x))

    def sign_of(self, x: str, y: str) -> str:
        """|x| with the sign of y."""
        name = f"llvm.copysign.{'f32' if self.kind == 'float' else 'f64'}"
        return self.e.call(name, self.kind, (self.kind, x), (self.kind, y))

    def clamp(self, x: str, low: float, high: float) -> str:
        """Between two bounds; NaN stays."""
        x = self.pick(self.test("ogt", x, self.c(high)), self.c(high), x)
        return self.pick(self.test("olt", x, self.c(low)), self.c(low), x)

    def bits(self, x: str) -> str:
        """A float as an int."""
        return self.e.ins(f"bitcast {self.kind} {x} to {'i32' if self.kind == 'float' else 'i64'}")

    def power_of_two(self, n: str) -> str:
        """2^n for an int n in the normal range of float32."""
        up = self.e.ins(f"shl i32 {self.e.ins(f'add i32 {n}, 127')}, 23")
        return self.e.ins(f"bitcast i32 {up} to float")

    # ---- functions --------------------------------------------------------------------------------------------------

    def _split(self, x: str) -> tuple[str, str]:
        """n (an int) and r with x = n ln2 + r."""
        t = self.e.ins(f"fadd float {self.e.ins(f'fmul float {x}, {self.c(1.4426950408889634)}')}, {self.c(_MAGIC)}")
        n = self.e.ins(f"fsub float {t}, {self.c(_MAGIC)}")
        count = self.e.ins(f"sub i32 {self.bits(t)}, {0x4B400000}")
        r = self.fma(n, self.c(-LN2_HIGH), x)
        return count, self.fma(n, self.c(-LN2_LOW), r)

    def exp(self, x: str) -> str:
        """e^x."""
        n, r = self._split(self.clamp(x, -104.0, 89.0))
        p = self.fma(self.mul(r, r), self.poly(_EXP, r), r)
        p = self.add(p, self.c(1.0))
        half = self.e.ins(f"ashr i32 {n}, 1")
        rest = self.e.ins(f"sub i32 {n}, {half}")
        scaled = self.e.ins(f"fmul float {p}, {self.power_of_two(half)}")
        return self.e.ins(f"fmul float {scaled}, {self.power_of_two(rest)}")

    def expm1(self, x: str) -> str:
        """e^x - 1."""
        near = self.fma(self.mul(x, x), self.poly(_EXPM1, x), x)
        far = self.sub(self.exp(x), self.c(1.0))
        found = self.pick(self.test("olt", self.fabs(x), self.c(0.36)), near, far)
        return self.pick(self.test("oeq", x, self.c(0.0)), x, found)

    def log(self, x: str) -> str:
        """Natural logarithm."""
        tiny = self.test("olt", x, self.c(1.1754943508222875e-38))
        bits = self.bits(self.pick(tiny, self.e.ins(f"fmul float {x}, {self.c(8388608.0)}"), x))
        less = self.e.ins(f"select i1 {tiny}, i32 23, i32 0")
        k = self.e.ins(f"ashr i32 {self.e.ins(f'sub i32 {bits}, {0x3F3504F3}')}, 23")
        m = self.e.ins(f"bitcast i32 {self.e.ins(f'sub i32 {bits}, {self._up(k)}')} to float")
        f = self.sub(m, self.c(1.0))
        n = self.e.ins(f"sitofp i32 {self.e.ins(f'sub i32 {k}, {less}')} to float")
        square = self.mul(f, f)
        tail = self.fma(self.mul(square, f), self.poly(_LOG, f), self.mul(n, self.c(LN2_LOW)))
        body = self.add(self.fma(square, self.c(-0.5), tail), f)
        found = self.fma(n, self.c(LN2_HIGH), body)
        return self._log_edges(x, found)

    def _up(self, k: str) -> str:
        return self.e.ins(f"shl i32 {k}, 23")

    def _log_edges(self, x: str, found: str) -> str:
        found = self.pick(self.test("oeq", x, self.c(float("inf"))), x, found)
        found = self.pick(self.test("oeq", x, self.c(0.0)), self.c(float("-inf")), found)
        return self.pick(self.test("ult", x, self.c(0.0)), self.c(float("nan")), found)

    def log1p(self, x: str) -> str:
        """log(1 + x): what 1 + x rounded away is put back as (x - ((1 + x) - 1)) / (1 + x)."""
        u = self.e.ins(f"fadd float {x}, {self.c(1.0)}")
        lost = self.e.ins(f"fsub float {x}, {self.e.ins(f'fsub float {u}, {self.c(1.0)}')}")
        found = self.add(self.log(u), self.div(lost, u))
        plain = self.e.ins(f"or i1 {self.test('oeq', u, self.c(float('inf')))}, {self.test('oeq', u, self.c(0.0))}")
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

    def _circular(self, x: str, quarter: int) -> str:
        wide = Maths(self.e, "double")
        d = self.e.ins(f"fpext float {x} to double")
        t = self.e.ins(f"fmul double {d}, {wide.c(0.6366197723675814)}")
        t = self.e.ins(f"fadd double {t}, {wide.c(_MAGIC64)}")
        k = self.e.ins(f"fsub double {t}, {wide.c(_MAGIC64)}")
        turn = self.e.ins(f"trunc i64 {wide.bits(t)} to i32")
        turn = self.e.ins(f"add i32 {turn}, {quarter}")
        r = wide.fma(k, wide.c(-PI_HALF[0]), d, exact=True)
        r = self.e.ins(f"fptrunc double {wide.fma(k, wide.c(-PI_HALF[1]), r, exact=True)} to float")
        square = self.mul(r, r)
        sine = self.fma(self.mul(square, r), self.poly(_SIN, square), r)
        cosine = self.fma(
            self.mul(square, square), self.poly(_COS, square), self.fma(square, self.c(-0.5), self.c(1.0))
        )
        odd = self.e.ins(f"trunc i32 {turn} to i1")
        value = self.pick(odd, cosine, sine)
        flip = self.e.ins(f"shl i32 {self.e.ins(f'and i32 {turn}, 2')}, 30")
        found = self.e.ins(f"bitcast i32 {self.e.ins(f'xor i32 {self.bits(value)}, {flip}')} to float")
        return found if quarter else self.pick(self.test("oeq", x, self.c(0.0)), x, found)

    # ---- pow --------------------------------------------------------------------------------------------------------

    def pow(self, x: str, y: str) -> str:
        """x to the power of y, with C's rules at the edges."""
        w = Maths(self.e, "double")
        a = self.fabs(x)
        z = w.mul(self.e.ins(f"fpext float {y} to double"), _log2(w, self.e.ins(f"fpext float {a} to double")))
        found = self.e.ins(f"fptrunc double {_exp2(w, w.clamp(z, -200.0, 200.0))} to float")
        up = self.test("ogt", y, self.c(0.0))
        big, small = self.c(float("inf")), self.c(0.0)
        found = self.pick(self.test("oeq", a, small), self.pick(up, small, big), found)
        found = self.pick(self.test("oeq", a, big), self.pick(up, big, small), found)
        found = self.pick(self.test("oeq", a, self.c(1.0)), self.c(1.0), found)
        found = self._signed(x, y, found)
        nan = self.test("uno", x, y)
        found = self.pick(nan, self.add(x, y), found)
        one = self.e.ins(f"or i1 {self.test('oeq', x, self.c(1.0))}, {self.test('oeq', y, small)}")
        return self.pick(one, self.c(1.0), found)

    def _signed(self, x: str, y: str, found: str) -> str:
        """A negative base: odd powers are negative, broken ones NaN."""
        whole = self.test("oeq", self.unary("trunc", y), y)
        half = self.mul(y, self.c(0.5))
        even = self.test("oeq", self.unary("trunc", half), half)
        odd = self.e.ins(f"and i1 {whole}, {self.e.ins(f'xor i1 {even}, true')}")
        negative = self.e.ins(f"icmp slt i32 {self.bits(x)}, 0")
        turned = self.pick(odd, self.e.ins(f"fneg float {found}"), found)
        finite = self.e.ins(f"and i1 {self.test('one', x, self.c(float('-inf')))}, {self.test('olt', x, self.c(0.0))}")
        broken = self.e.ins(f"and i1 {finite}, {self.e.ins(f'xor i1 {whole}, true')}")
        return self.pick(broken, self.c(float("nan")), self.pick(negative, turned, found))


def _log2(w: Maths, x: str) -> str:
    """log2 of a positive normal double, to 1e-10: s = (m - 1) / (m + 1), 2 atanh(s) / ln2."""
    bits = w.bits(x)
    k = w.e.ins(f"ashr i64 {w.e.ins(f'sub i64 {bits}, {0x3FE6A09E667F3BCD}')}, 52")
    m = w.e.ins(f"bitcast i64 {w.e.ins(f'sub i64 {bits}, ' + w.e.ins(f'shl i64 {k}, 52'))} to double")
    s = w.div(w.sub(m, w.c(1.0)), w.add(m, w.c(1.0)))
    scale = 2 / 0.6931471805599453
    series = w.poly([scale / n for n in (1, 3, 5, 7, 9, 11, 13, 15)], w.mul(s, s))
    short = w.e.ins(f"trunc i64 {k} to i32")
    return w.fma(s, series, w.e.ins(f"sitofp i32 {short} to double"))


def _exp2(w: Maths, z: str) -> str:
    """2^z of a double in [-200, 200], to 1e-10."""
    t = w.e.ins(f"fadd double {z}, {w.c(_MAGIC64)}")
    n = w.e.ins(f"fsub double {t}, {w.c(_MAGIC64)}")
    f = w.mul(w.e.ins(f"fsub double {z}, {n}"), w.c(0.6931471805599453))
    terms, step = [1.0], 1.0
    for i in range(1, 10):
        step /= i
        terms.append(step)
    up = w.e.ins(f"shl i64 {w.e.ins(f'add i64 {w.bits(t)}, 1023')}, 52")
    return w.mul(w.poly(terms, f), w.e.ins(f"bitcast i64 {up} to double"))


INLINE: dict[str, Callable[..., str]] = {
    "exp": Maths.exp, "expm1": Maths.expm1, "log": Maths.log, "log1p": Maths.log1p, "tanh": Maths.tanh,
    "erf": Maths.erf, "sin": Maths.sin, "cos": Maths.cos, "pow": Maths.pow,
}  # fmt: skip
