"""A magic's line ``f(x, k=2)``: the function and its arguments, without calling it."""

from __future__ import annotations

import ast
from typing import Any

from msnb.base import ArgumentError

Call = tuple[Any, list[Any], dict[str, Any]]
LINE = "<magic>"  # the file name of what stands on a magic's line


def calls_of(shell: Any, text: str, magic: str) -> list[Call]:
    """One call, or several separated by commas: ``f(x), g(x)``. A bare name is a call without arguments.

    Raises:
        ArgumentError: the text is no call.
    """
    try:
        node = ast.parse(text.strip() or "()", mode="eval").body
    except SyntaxError:
        raise _refusal(magic, text) from None
    parts = node.elts if isinstance(node, ast.Tuple) and node.elts else [node]
    return [_call(shell, part, magic, text) for part in parts]


def call_of(shell: Any, text: str, magic: str) -> Call:
    """The one call of a line.

    Raises:
        ArgumentError: the text is no call, or several.
    """
    found = calls_of(shell, text, magic)
    if len(found) != 1:
        raise _refusal(magic, text)
    return found[0]


def _refusal(magic: str, text: str) -> ArgumentError:
    call, late, options = text.partition(" -")
    hint = f"options stand before the call: {magic} -{options} {call}" if late else ""
    return ArgumentError(f"{magic} takes a call such as f(x, 2.0), not {text!r}.", hint=hint)


def _call(shell: Any, node: ast.expr, magic: str, text: str) -> Call:
    if not isinstance(node, (ast.Call, ast.Name, ast.Attribute)):
        raise _refusal(magic, text)
    if not isinstance(node, ast.Call):
        return value_of(shell, ast.unparse(node)), [], {}
    parts = ast.Tuple([node.func, ast.Tuple(node.args, ast.Load()), _dict(node.keywords)], ast.Load())
    value = value_of(shell, ast.unparse(ast.fix_missing_locations(ast.Expression(parts))))
    return value[0], list(value[1]), dict(value[2])


def value_of(shell: Any, source: str) -> Any:
    """The value of an expression in the user's namespace.

    Raises:
        ArgumentError: the text is no expression; other errors are the expression's own.
    """
    try:
        code = compile(source, LINE, "eval")
    except SyntaxError as error:
        raise ArgumentError(f"{source!r} is no Python expression: {error.msg}.") from None
    return eval(code, shell.user_ns)


def _dict(keywords: list[ast.keyword]) -> ast.Dict:
    keys: list[ast.expr | None] = [None if k.arg is None else ast.Constant(k.arg) for k in keywords]
    return ast.Dict(keys, [k.value for k in keywords])
