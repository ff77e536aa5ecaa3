"""Formulas of sizes: what SymPy writes of them, as Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

_INFIX = {"Add": " + ", "Mul": " * ", "FloorDiv": " // ", "CleanDiv": " // ", "Mod": " % ", "PythonMod": " % ",
          "Pow": " ** ", "PowByNatural": " ** "}  # fmt: skip
_CALLS = {"Max": "max", "Min": "min"}


def python_of(formula: str, symbol: Callable[[str], str]) -> str:
    """The Python expression of a formula.

    Args:
        formula: "Mul(Integer(2), s77)".
        symbol: what stands for a symbol.

    Raises:
        ValueError: it has functions that are not known here.
    """
    return _text(ast.parse(formula, mode="eval").body, symbol)


def multiple_of(size: int | str, symbol: str) -> int | None:
    """The factor, where a size is a multiple of a symbol: 9 of "Mul(Integer(9), s77)"."""
    found = re.fullmatch(rf"Mul\(Integer\((\d+)\), {re.escape(symbol)}\)", str(size))
    return int(found[1]) if found else None


def _text(node: ast.expr, symbol: Callable[[str], str]) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return str(node.value)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"-{_text(node.operand, symbol)}"
    if isinstance(node, ast.Name):
        return symbol(node.id)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        name, operands = node.func.id, [_text(operand, symbol) for operand in node.args]
        if name == "Integer":
            return operands[0]
        if name in _INFIX:
            return f"({_INFIX[name].join(operands)})"
        if name in _CALLS:
            return f"{_CALLS[name]}({', '.join(operands)})"
    raise ValueError(f"a size is {ast.unparse(node)}, which has no Python")
