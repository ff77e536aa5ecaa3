"""Operators as text: what a record, or a function that keeps its name, is in ONNX.

    Reciprocal(Sqrt(x))                      operators of ONNX by their names; inputs are the record's
    Concat(*xs, axis=axis)                   attributes too; a list is a constant of integers: Squeeze(x, [axis])
    max(x, 0) + log1p(exp(-abs(x)))          a record's ``scalar`` is such a text too: signs and functions of numbers

The text is parsed, never executed.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

from msnb.base import CaptureError
from msnb.core import dtypes
from msnb.ir.kernel.scalar_expressions import parsed
from msnb.onnx.export.node_writer import ModelValue, NodeWriter

__all__ = ["evaluate"]

_FUNCTIONS = {  # of numbers, as ``scalar`` has them: their arguments' names, and the text that they stand for
    **{name: ("x", f"{name.capitalize()}(x)") for name in (
        "abs", "ceil", "floor", "exp", "log", "sqrt", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh",
        "tanh", "asinh", "acosh", "atanh", "erf", "round", "sign")},
    "isnan": ("x", "IsNaN(x)"), "isinf": ("x", "IsInf(x)"), "max": ("xy", "Max(x, y)"), "min": ("xy", "Min(x, y)"),
    "pow": ("xy", "Pow(x, y)"), "where": ("cxy", "Where(c, x, y)"), "trunc": ("x", "sign(x) * floor(abs(x))"),
    "log1p": ("x", "log(x + 1)"), "expm1": ("x", "exp(x) - 1"), "erfc": ("x", "1 - erf(x)"),
    "log2": ("x", f"log(x) * {1 / math.log(2)}"), "log10": ("x", f"log(x) * {1 / math.log(10)}"),
    "exp2": ("x", "Pow(2.0, x)"), "hypot": ("xy", "sqrt(x * x + y * y)"), "fmod": ("xy", "Mod(x, y, fmod=1)"),
    "atan2": ("yx", f"where(x > 0, atan(y / x), where(x < 0, atan(y / x) + where(y >= 0, {math.pi}, {-math.pi}), "
                    f"sign(y) * {math.pi / 2}))"),
}  # fmt: skip
_SIGNS = {
    ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.Div: "Div", ast.Gt: "Greater", ast.GtE: "GreaterOrEqual",
    ast.Lt: "Less", ast.LtE: "LessOrEqual", ast.Eq: "Equal",
}  # fmt: skip
_LOGIC = {ast.BitAnd: ("And", "BitwiseAnd"), ast.BitOr: ("Or", "BitwiseOr"), ast.BitXor: ("Xor", "BitwiseXor")}


def evaluate(text: str, writer: NodeWriter, scope: Mapping[str, Any]) -> Any:
    """Write what the text says.

    Args:
        text: an expression.
        writer: gets the nodes.
        scope: inputs (``ModelValue``, or tuples of them) and attributes by name.

    Returns:
        The value, or a tuple of several.

    Raises:
        CaptureError: the text, or the model's version, has no operator for it.
    """
    return _Evaluation(writer, scope).visit(parsed(text))


class _Evaluation(ast.NodeVisitor):
    def __init__(self, writer: NodeWriter, scope: Mapping[str, Any]) -> None:
        self.writer, self.scope = writer, scope

    def generic_visit(self, node: ast.AST) -> Any:
        raise CaptureError(f"no operator of ONNX stands for {ast.unparse(node)}.")

    def visit_Name(self, node: ast.Name) -> Any:
        return self.scope[node.id]

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node.value

    def visit_List(self, node: ast.List) -> Any:
        return self.writer.ints([self.visit(part) for part in node.elts])

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        x = self.visit(node.operand)
        if not isinstance(x, ModelValue):
            return -x if isinstance(node.op, ast.USub) else ~x
        if isinstance(node.op, ast.Invert):
            return self.writer.emit("Not" if x.dtype is dtypes.bool_ else "BitwiseNot", x)
        return self.writer.emit("Neg", x)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self._sign(node.op, self.visit(node.left), self.visit(node.right))

    def visit_Compare(self, node: ast.Compare) -> Any:
        return self._sign(node.ops[0], self.visit(node.left), self.visit(node.comparators[0]))

    def visit_Call(self, node: ast.Call) -> Any:
        name = ast.unparse(node.func)
        inputs: list[Any] = []
        for part in node.args:
            found = self.visit(part.value if isinstance(part, ast.Starred) else part)
            inputs.extend(found if isinstance(part, ast.Starred) else [found])
        if name[:1].isupper():
            attributes = {str(k.arg): self._attribute(k.value) for k in node.keywords}
            return self.writer.emit(name, *map(self._operand, inputs), **attributes)
        if name not in _FUNCTIONS:
            raise CaptureError(f"ONNX has no operator for {name}.")
        names, text = _FUNCTIONS[name]
        return evaluate(text, self.writer, dict(zip(names, map(self._operand, inputs))))

    def _attribute(self, node: ast.expr) -> Any:
        return [self.visit(part) for part in node.elts] if isinstance(node, ast.List) else self.visit(node)

    def _operand(self, x: Any) -> Any:
        if x is None or isinstance(x, ModelValue):
            return x
        return self.writer.shape(x) if isinstance(x, tuple) else self.writer.number(x)

    def _sign(self, sign: ast.AST, left: Any, right: Any) -> Any:
        # one branch for each sign whose operator depends on the operands
        x, y = self._operand(left), self._operand(right)
        emit, kind = self.writer.emit, type(sign)
        flags = x.dtype is dtypes.bool_ and (y.dtype is dtypes.bool_ or y.weak)
        if flags and isinstance(sign, (ast.Eq, ast.NotEq)) and y.weak:
            return x if bool(y.value) is isinstance(sign, ast.Eq) else emit("Not", x)
        if isinstance(sign, ast.NotEq):
            return emit("Not", emit("Equal", x, y))
        if kind in _LOGIC:
            return emit(_LOGIC[kind][not flags], x, y)
        if isinstance(sign, (ast.FloorDiv, ast.Mod)):
            return self._division(sign, x, y)
        if isinstance(sign, (ast.LShift, ast.RShift)):
            power = emit("Pow", self.writer.number(2), y)
            power = self.writer.cast(power, x.dtype)
            return emit("Mul", x, power) if isinstance(sign, ast.LShift) else self._division(ast.FloorDiv(), x, power)
        if isinstance(sign, ast.Div) and not (x.dtype.is_float or y.dtype.is_float):
            x = self.writer.cast(x, dtypes.float32)  # as Python divides
        return emit(_SIGNS[kind], x, y)

    def _division(self, sign: ast.AST, x: ModelValue, y: ModelValue) -> ModelValue:
        """Rounded down, and what it leaves."""
        emit = self.writer.emit
        if not (x.dtype.is_float or y.dtype.is_float):
            rest: ModelValue = emit("Mod", x, y)
            return rest if isinstance(sign, ast.Mod) else emit("Div", emit("Sub", x, rest), y)
        whole: ModelValue = emit("Floor", emit("Div", x, y))
        if isinstance(sign, ast.Mod):
            whole = emit("Sub", x, emit("Mul", whole, y))
        return whole
