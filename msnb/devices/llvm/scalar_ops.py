"""The scalar functions of kernel IR in LLVM IR, for every dtype, with NumPy's meaning at the edges.

integers       division and remainder by zero give 0, shifts beyond the width 0 (or the sign)
max, min       a NaN operand wins
floor division fmod, corrected to the sign of the divisor
"""

from __future__ import annotations

from collections.abc import Callable

from msnb.core import DType, dtypes
from msnb.devices.llvm.emitter import SUMS, Emitter, literal, type_name
from msnb.devices.llvm.math_functions import INLINE, WIDE, Maths, rounded
from msnb.ir.kernel.kernel_ir import Inst
from msnb.ir.kernel.scalar_expressions import HEAVY, SINGLE, UnsupportedKernel

_FLOAT = {"add": "fadd", "sub": "fsub", "mul": "fmul", "div": "fdiv"}
_INT = {"add": "add", "sub": "sub", "mul": "mul", "and": "and", "or": "or", "xor": "xor"}
_ORDERED = {"eq": "oeq", "ne": "une", "lt": "olt", "le": "ole", "gt": "ogt", "ge": "oge"}
_INTRINSIC = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "round": "rint", "trunc": "trunc", "abs": "fabs"}
_DIVISIONS = frozenset(("mod", "fdiv", "rem"))
_LIBM = HEAVY - SINGLE - {"mod", "fdiv", "fmod"}


def is_scalar(inst: Inst) -> bool:
    """True for what runs lane by lane: functions of the C library, divisions and remainders of integers."""
    if inst.op not in HEAVY | {"rem"}:
        return False
    dtype = inst.args[0].dtype
    return not (dtype is dtypes.float32 and inst.op in INLINE or dtype.is_float and inst.op in _DIVISIONS)


def emit(e: Emitter, inst: Inst, args: list[str]) -> str:
    """The value of ``inst`` from those of its operands, in as many lanes as the emitter has."""
    kind = inst.args[0].dtype if inst.args else inst.dtype
    if inst.op == "const":
        return e.literal(inst.attr, inst.dtype)
    if inst.op == "cast":
        return e.cast(args[0], kind, inst.dtype)
    if inst.op == "select":
        t = e.t(type_name(inst.dtype))
        return e.ins(f"select {e.t('i1')} {args[0]}, {t} {args[1]}, {t} {args[2]}")
    if inst.op in _ORDERED:
        return compare(e, inst.op, kind, *args)
    return float_op(e, inst.op, kind, args) if kind.is_float else int_op(e, inst.op, kind, args)


def compare(e: Emitter, op: str, dtype: DType, a: str, b: str) -> str:
    """A comparison; NaN equals nothing and is neither above nor below."""
    t = e.t(type_name(dtype))
    if dtype.is_float:
        return e.ins(f"fcmp {_ORDERED[op]} {t} {a}, {b}")
    sign = "" if op in ("eq", "ne") else "s" if dtype.signed and dtype is not dtypes.bool_ else "u"
    return e.ins(f"icmp {sign}{op} {t} {a}, {b}")


# ---- floats ----


def float_op(e: Emitter, op: str, dtype: DType, args: list[str]) -> str:
    """On float32 or float64."""
    m = (e.maths or Maths)(e, type_name(dtype))
    if op in _FLOAT:  # no contraction: drawn into a difference of equals, a product leaves its rounding error
        return e.ins(f"{_FLOAT[op]} {m.t} {args[0]}, {args[1]}")
    if op in _INTRINSIC:
        return m.unary(_INTRINSIC[op], args[0])
    if op in _SPECIAL:
        return _SPECIAL[op](m, *args)
    if dtype is dtypes.float32 and op in INLINE:
        return rounded(m, op, args) if op in WIDE else str(getattr(m, op)(*args))
    if op in _LIBM:
        return _library(m, op, args)
    raise UnsupportedKernel(f"{op} of {dtype.name}")


def _library(m: Maths, op: str, args: list[str]) -> str:
    """float32 goes through the double function: one rounding, hence the best there is."""
    if m.kind == "double":
        return m.e.libm(op, "double", *args)
    wide = [m.e.ins(f"fpext float {a} to double") for a in args]
    return m.e.ins(f"fptrunc double {m.e.libm(op, 'double', *wide)} to float")


def _extreme(how: str) -> Callable[[Maths, str, str], str]:
    def run(m: Maths, a: str, b: str) -> str:
        chosen = m.pick(m.test(how, a, b), a, b)
        return m.pick(m.test("uno", b, b), b, chosen)

    return run


def _sign(m: Maths, x: str) -> str:
    up = m.pick(m.test("ogt", x, m.c(0.0)), m.c(1.0), x)
    down = m.pick(m.test("olt", x, m.c(0.0)), m.c(-1.0), up)
    return m.pick(m.test("oeq", x, m.c(0.0)), m.c(0.0), down)


def _rest(m: Maths, a: str, b: str) -> str:
    """C's fmod, exactly: a - q b of the quotient q, cut, is exact in a fused step. Rounding can have made q one too
    large: then it has passed zero, and b is given back. Quotients without broken digits, which are rare, and
    infinities go through the C library."""
    q = m.unary("trunc", m.op("fdiv", a, b))
    r = m.fma(m.e.ins(f"fneg {m.t} {q}"), b, a, exact=True)
    passed = m.both("and", m.whole("icmp slt", m.whole("xor", m.bits(r), m.bits(a)), 0),
                       m.test("one", r, m.c(0.0)))  # fmt: skip
    found = m.sign_of(m.pick(passed, m.add(r, m.sign_of(b, a)), r), a)
    limit = m.c(2.0**22 if m.kind == "float" else 2.0**51)
    odd = m.none(m.both("and", m.test("olt", m.fabs(q), limit), m.test("ord", r, r)))
    other = lambda: m.pick(odd, m.op("frem", a, b), found)
    return m.e.rarely(m.e.some(odd), m.t, found, other)


def _remainder(m: Maths, a: str, b: str) -> str:
    """fmod, moved to the sign of the divisor; a zero has its sign."""
    rest = _rest(m, a, b)
    zero = m.test("oeq", rest, m.c(0.0))
    differ = m.e.ins(f"xor {m.b} {m.test('olt', rest, m.c(0.0))}, {m.test('olt', b, m.c(0.0))}")
    moved = m.pick(differ, m.e.ins(f"fadd {m.t} {rest}, {b}"), rest)
    return m.pick(zero, m.sign_of(m.c(0.0), b), moved)


def _floor_division(m: Maths, a: str, b: str) -> str:
    """(a - remainder) / b, rounded to the integer it is meant to be."""
    rest = _rest(m, a, b)
    quotient = m.e.ins(f"fdiv {m.t} {m.e.ins(f'fsub {m.t} {a}, {rest}')}, {b}")
    some = m.test("une", rest, m.c(0.0))
    differ = m.e.ins(f"xor {m.b} {m.test('olt', rest, m.c(0.0))}, {m.test('olt', b, m.c(0.0))}")
    lower = m.e.ins(f"fsub {m.t} {quotient}, {m.c(1.0)}")
    quotient = m.pick(m.e.ins(f"and {m.b} {some}, {differ}"), lower, quotient)
    floor = m.unary("floor", quotient)
    far = m.test("ogt", m.e.ins(f"fsub {m.t} {quotient}, {floor}"), m.c(0.5))
    floor = m.pick(far, m.e.ins(f"fadd {m.t} {floor}, {m.c(1.0)}"), floor)
    plain = m.e.ins(f"fdiv {m.t} {a}, {b}")
    found = m.pick(m.test("oeq", quotient, m.c(0.0)), m.sign_of(m.c(0.0), plain), floor)
    return m.pick(m.test("oeq", b, m.c(0.0)), plain, found)


_SPECIAL: dict[str, Callable[..., str]] = {
    "neg": lambda m, x: m.e.ins(f"fneg {m.t} {x}"),
    "max": _extreme("uge"),
    "min": _extreme("ule"),
    "sign": _sign,
    "rem": _rest,
    "mod": _remainder,
    "fdiv": _floor_division,
    "isnan": lambda m, x: m.test("uno", x, x),
    "isinf": lambda m, x: m.test("oeq", m.fabs(x), m.c(float("inf"))),
}


# ---- integers and bools ----


def int_op(e: Emitter, op: str, dtype: DType, args: list[str]) -> str:
    """On integers and bools."""
    kind, signed = type_name(dtype), dtype.signed and dtype is not dtypes.bool_
    t = e.t(kind)
    if op in _INT:
        return e.ins(f"{_INT[op]} {t} {args[0]}, {args[1]}")
    if op == "not":
        return e.ins(f"xor {t} {args[0]}, {e.const('-1' if dtype.is_int else 'true', kind)}")
    if op == "neg":
        return e.ins(f"sub {t} {e.const('0', kind)}, {args[0]}")
    if op in ("max", "min"):
        name = f"llvm.{'s' if signed else 'u'}{op}.{e.suffix(kind)}"
        return e.call(name, t, (t, args[0]), (t, args[1]))
    if op == "abs":
        return e.call(f"llvm.abs.{e.suffix(kind)}", t, (t, args[0]), ("i1", "false"))
    if op == "sign":
        zero = e.const("0", kind)
        up = e.ins(f"zext {e.t('i1')} {e.ins(f'icmp ne {t} {args[0]}, {zero}')} to {t}")
        below = e.ins(f"icmp slt {t} {args[0]}, {zero}")
        return e.ins(f"select {e.t('i1')} {below}, {t} {e.const('-1', kind)}, {t} {up}") if signed else up
    if op in ("shl", "shr"):
        return _shift(e, op, kind, signed, *args)
    if op in ("fdiv", "mod", "rem"):
        return _divide(e, op, t, signed, *args)
    raise UnsupportedKernel(f"{op} of {dtype.name}")


def _shift(e: Emitter, op: str, kind: str, signed: bool, a: str, b: str) -> str:
    bits, t, i1 = int(kind[1:]), e.t(kind), e.t("i1")
    inside = e.ins(f"icmp ult {t} {b}, {e.const(str(bits), kind)}")
    safe = e.ins(f"select {i1} {inside}, {t} {b}, {t} {e.const(str(bits - 1), kind)}")
    if op == "shr" and signed:
        return e.ins(f"ashr {t} {a}, {safe}")
    moved = e.ins(f"{'shl' if op == 'shl' else 'lshr'} {t} {a}, {safe}")
    return e.ins(f"select {i1} {inside}, {t} {moved}, {t} {e.const('0', kind)}")


def _divide(e: Emitter, op: str, t: str, signed: bool, a: str, b: str) -> str:
    """By zero: 0. The smallest number by -1 wraps to itself: it is divided by 1 and negated."""
    zero = e.ins(f"icmp eq {t} {b}, 0")
    minus = e.ins(f"icmp eq {t} {b}, -1") if signed else "false"
    odd = e.ins(f"or i1 {zero}, {minus}")
    safe = e.ins(f"select i1 {odd}, {t} 1, {t} {b}")
    word = "s" if signed else "u"
    rest = e.ins(f"{word}rem {t} {a}, {safe}")
    quotient = e.ins(f"{word}div {t} {a}, {safe}")
    if signed:
        quotient = e.ins(f"select i1 {minus}, {t} {e.ins(f'sub {t} 0, {a}')}, {t} {quotient}")
        differ = e.ins(f"icmp slt {t} {e.ins(f'xor {t} {rest}, {safe}')}, 0")
        correct = e.ins(f"and i1 {differ}, {e.ins(f'icmp ne {t} {rest}, 0')}")
        lower = e.ins(f"sub {t} {quotient}, {e.ins(f'zext i1 {correct} to {t}')}")
        moved = e.ins(f"select i1 {correct}, {t} {e.ins(f'add {t} {rest}, {safe}')}, {t} {rest}")
        quotient, rest = (lower, rest) if op == "fdiv" else (quotient, moved if op == "mod" else rest)
    found = quotient if op == "fdiv" else rest
    return e.ins(f"select i1 {zero}, {t} 0, {t} {found}")


# ---- reductions ----


def identity(kind: str, dtype: DType) -> str:
    """The value a reduction begins with."""
    if kind in ("any", "all"):
        return "true" if kind == "all" else "false"
    if kind in ("sum", "prod"):
        return literal(0 if kind == "sum" else 1, dtype)
    low = kind == "max"
    if dtype.is_float:
        return literal(float("-inf") if low else float("inf"), dtype)
    bits = 8 * dtype.itemsize
    if not dtype.signed:
        return "0" if low else str(2**bits - 1)
    return str(-(2 ** (bits - 1)) if low else 2 ** (bits - 1) - 1)


def combine(e: Emitter, kind: str, dtype: DType, a: str, b: str) -> str:
    """One step of a reduction; sums and products may be reordered."""
    t = e.t(type_name(dtype))
    if kind in ("any", "all"):
        return e.ins(f"{'or' if kind == 'any' else 'and'} {t} {a}, {b}")
    if kind in ("sum", "prod"):
        word = "add" if kind == "sum" else "mul"
        return e.ins(f"f{word} {SUMS} {t} {a}, {b}" if dtype.is_float else f"{word} {t} {a}, {b}")
    if dtype.is_float:
        name = f"llvm.{'maximum' if kind == 'max' else 'minimum'}.{e.suffix(type_name(dtype))}"
        return e.call(name, t, (t, a), (t, b), flags="nsz")
    return int_op(e, kind, dtype, [a, b])


_ACROSS = {"any": "or", "all": "and", "sum": "add", "prod": "mul", "max": "max", "min": "min"}


def across(e: Emitter, kind: str, dtype: DType, x: str) -> str:
    """The lanes of a vector, reduced to one scalar."""
    if e.lanes == 1:
        return x
    scalar, t = type_name(dtype), e.t(type_name(dtype))
    word = _ACROSS[kind]
    if dtype.is_float and kind in ("sum", "prod"):
        name, first = f"llvm.vector.reduce.f{word}.{e.suffix(scalar)}", identity(kind, dtype)
        return e.call(name, scalar, (scalar, first), (t, x), flags=SUMS)
    if dtype.is_float:
        word = "fmaximum" if kind == "max" else "fminimum"
        return e.call(f"llvm.vector.reduce.{word}.{e.suffix(scalar)}", scalar, (t, x), flags="nsz")
    if kind in ("max", "min"):
        word = ("s" if dtype.signed else "u") + word
    return e.call(f"llvm.vector.reduce.{word}.{e.suffix(scalar)}", scalar, (t, x))
