"""From the ``scalar`` string of an op record to kernel instructions.

    "where(x >= 0, 1 / (1 + exp(-abs(x))), ...)"   parsed once, then built for the dtype in which the operands meet

Half precision is computed in float32 and rounded once, at the end of the node, which is what NumPy does for one
operation and better than it for several. Numbers in the expression take the dtype of what they meet. The grammar is
told in ``msnb.ops.elementwise.factory``.
"""

from __future__ import annotations

import ast
import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

from msnb.core import DType, dtypes
from msnb.ir.kernel.kernel_ir import Inst
from msnb.ops.definition.record import Op

HALVES = (dtypes.float16, dtypes.bfloat16)
_LIBRARY = ("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc "
            "erfinv lgamma")  # fmt: skip
_QUICK = "sqrt abs floor ceil round trunc sign isnan isinf"
_SLOW = "atan2 pow fmod hypot mod fdiv"
_DECIDING = frozenset(("floor", "ceil", "round", "trunc", "sign", "fmod"))
HEAVY = frozenset(f"{_LIBRARY} {_SLOW}".split())
SINGLE = frozenset(("erfinv", "lgamma"))
"""Functions that kernels have up to float32 only."""
_UNARY = frozenset(f"{_LIBRARY} {_QUICK}".split())
_BINARY = {"pow": "pow", "atan2": "atan2", "hypot": "hypot", "fmod": "rem", "max": "max", "min": "min"}
_OPERATORS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "fdiv", ast.Mod: "mod",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "shr",
}  # fmt: skip
_COMPARE: dict[type, str] = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip
Part = Inst | float | int | bool


class UnsupportedKernel(Exception):
    """The expression cannot be a kernel for these dtypes; the reference body serves."""


@functools.cache
def parsed(text: str) -> ast.expr:
    """The expression as a tree."""
    return ast.parse(text, mode="eval").body


@functools.cache
def functions(text: str) -> frozenset[str]:
    """The names of what an expression calls, operators included."""
    found = {n.func.id for n in ast.walk(parsed(text)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    found |= {_OPERATORS.get(type(n.op), "") for n in ast.walk(parsed(text)) if isinstance(n, ast.BinOp)}
    return frozenset(found)


def is_heavy(op: Op) -> bool:
    """True where computing a value again costs more than reading it."""
    return op.scalar is not None and bool(functions(op.scalar) & HEAVY)


@functools.cache
def is_reproducible(text: str) -> bool:
    """True where every kernel and the reference body give the same bits: at most one operation, rounded as IEEE 754
    says. Elementary functions differ in the last bit from one implementation to the next."""
    tree = parsed(text)
    calls = [n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    operators = sum(isinstance(n, ast.BinOp) for n in ast.walk(tree))
    return not functions(text) & HEAVY and operators + calls.count("sqrt") <= 1


@functools.cache
def deciding_names(text: str) -> frozenset[str]:
    """The operands of an expression that are compared or rounded to whole numbers: where the last bit decides."""
    deciding = [n for n in ast.walk(parsed(text)) if _decides(n)]
    names = {n.id for tree in deciding for n in ast.walk(tree) if isinstance(n, ast.Name)}
    return frozenset(names - functions(text))


def _decides(tree: ast.AST) -> bool:
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
        return tree.func.id in _DECIDING
    return isinstance(tree, ast.Compare) or isinstance(tree, ast.BinOp) and isinstance(tree.op, (ast.FloorDiv, ast.Mod))


def cast(x: Inst, dtype: DType) -> Inst:
    """``x`` in another dtype."""
    if x.dtype is dtype:
        return x
    if x.op == "const":
        return Inst("const", (), dtype, constant_in(x.attr, dtype))
    return Inst("cast", (x,), dtype)


def constant_in(value: Any, dtype: DType) -> Any:
    """A Python number as the dtype holds it."""
    import numpy as np

    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype.numpy).item() if dtype is not dtypes.bfloat16 else float(
            np.asarray(value).astype(np.float32).astype(dtype.numpy))  # fmt: skip


def compute_dtype(dtype: DType) -> DType:
    """Where operands of ``dtype`` are worked on."""
    return dtypes.float32 if dtype in HALVES else dtype


def build(op: Op, operands: Mapping[str, Inst], want: DType, result: DType, attrs: Mapping[str, Any]) -> Inst:
    """The instructions of one node.

    Args:
        op: a record with a scalar expression.
        operands: by input name.
        want: the dtype in which operands meet; ``result``: that of the result.

    Raises:
        Unsupported: no kernel for this.
    """
    assert op.scalar is not None
    names = {n: cast(cast(x, want), compute_dtype(want)) for n, x in operands.items()}
    if "condition" in operands:
        names["condition"] = truth(operands["condition"])
    value = _Builder(names, compute_dtype(want), attrs).part(parsed(op.scalar))
    inst = value if isinstance(value, Inst) else number(value, result)
    return cast(inst, result)


def truth(x: Inst) -> Inst:
    """Not zero."""
    return x if x.dtype is dtypes.bool_ else cast(x, dtypes.bool_)


def number(value: Any, dtype: DType) -> Inst:
    """A constant."""
    return Inst("const", (), dtype, constant_in(value, dtype))


class _Builder:
    def __init__(self, names: Mapping[str, Inst], dtype: DType, attrs: Mapping[str, Any]) -> None:
        self.names, self.dtype, self.attrs = names, dtype, attrs

    def part(self, tree: ast.expr) -> Part:
        if isinstance(tree, ast.Name):
            return self.named(tree.id)
        if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float)):
            return tree.value
        if isinstance(tree, ast.BinOp) and type(tree.op) in _OPERATORS:
            return self.binary(_OPERATORS[type(tree.op)], self.part(tree.left), self.part(tree.right))
        if isinstance(tree, ast.Compare) and len(tree.ops) == 1 and type(tree.ops[0]) in _COMPARE:
            return self.compare(_COMPARE[type(tree.ops[0])], self.part(tree.left), self.part(tree.comparators[0]))
        if isinstance(tree, ast.UnaryOp):
            return self.unary(tree.op, self.part(tree.operand))
        if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name):
            return self.call(tree.func.id, [self.part(a) for a in tree.args])
        raise UnsupportedKernel(ast.dump(tree))

    def named(self, name: str) -> Part:
        """An operand, or an attribute that is a number."""
        found = self.names.get(name, self.attrs.get(name))
        if not isinstance(found, (Inst, bool, int, float)):
            raise UnsupportedKernel(f"{name}, which is neither operand nor number")
        return found

    def meet(self, parts: Sequence[Part]) -> list[Inst]:
        """Numbers take the dtype of the instruction they meet."""
        strong = [p for p in parts if isinstance(p, Inst)]
        dtype = strong[0].dtype if strong else self.dtype
        if any(p.dtype is not dtype for p in strong):
            raise UnsupportedKernel("operands of two dtypes")
        return [p if isinstance(p, Inst) else number(p, dtype) for p in parts]

    def binary(self, name: str, left: Part, right: Part) -> Inst:
        a, b = self.meet((left, right))
        return arithmetic(name, a, b)

    def compare(self, name: str, left: Part, right: Part) -> Inst:
        return Inst(name, self.meet((left, right)), dtypes.bool_)

    def unary(self, op: ast.unaryop, x: Part) -> Part:
        if isinstance(op, ast.USub):
            return Inst("neg", (x,), x.dtype) if isinstance(x, Inst) else -x
        if isinstance(op, ast.Invert) and isinstance(x, Inst):
            return Inst("not", (x,), x.dtype)
        raise UnsupportedKernel(type(op).__name__)

    def call(self, name: str, parts: list[Part]) -> Part:
        if name == "where":
            test, (a, b) = parts[0], self.meet(parts[1:])
            assert isinstance(test, Inst)
            return Inst("select", (truth(test), a, b), a.dtype)
        if name in ("real", "conj"):
            return parts[0]
        args = self.meet(parts)
        if name in _BINARY:
            return arithmetic(_BINARY[name], *args)
        if name in _UNARY:
            return one(name, args[0])
        raise UnsupportedKernel(name)


_FOR_BOOL = {"add": "or", "mul": "and", "max": "or", "min": "and"}
_FLOAT_ONLY = frozenset(("pow", "atan2", "hypot", "div"))


def arithmetic(name: str, a: Inst, b: Inst) -> Inst:
    """A function of two operands of one dtype; bools add as ``or`` and multiply as ``and``, as in NumPy."""
    if a.dtype is dtypes.bool_:
        name = _FOR_BOOL.get(name, name)
        if name not in ("or", "and", "xor"):
            raise UnsupportedKernel(f"{name} of bools")
    elif name in _FLOAT_ONLY and not a.dtype.is_float:
        raise UnsupportedKernel(f"{name} of integers")
    return Inst(name, (a, b), a.dtype)


def one(name: str, x: Inst) -> Inst:
    """A function of one operand."""
    if name in ("isnan", "isinf"):
        return Inst(name, (x,), dtypes.bool_) if x.dtype.is_float else number(False, dtypes.bool_)
    if not x.dtype.is_float:
        if name in ("floor", "ceil", "round", "trunc") or (name in ("abs", "sign") and x.dtype is dtypes.bool_):
            return x
        if name not in ("abs", "sign"):
            raise UnsupportedKernel(f"{name} of {x.dtype.name}")
        if name == "abs" and not x.dtype.signed:
            return x
    return Inst(name, (x,), x.dtype)


def is_number(x: Any) -> bool:
    """A finite or infinite Python number that a kernel can hold."""
    return isinstance(x, (bool, float)) or (isinstance(x, int) and -(2**63) <= x < 2**63 and math.isfinite(x))
