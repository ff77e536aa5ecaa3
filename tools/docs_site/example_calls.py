"""The call that an example of a docstring shows: ``ops.softmax(x, axis=-1)``, ``nn.Conv2d(1, 6, 5)(x)``.

The example is run line by line up to the statement with the call (that it runs is what ``make test`` shows); then the
operands are worked out, tensors among them given names, and the call is written anew over these names.
"""

from __future__ import annotations

import ast
import contextlib
import doctest
import io
from dataclasses import dataclass
from typing import Any

import msnb as ms


@dataclass(frozen=True)
class ExampleCall:
    """A call over named tensors.

    Attributes:
        source: the call as an expression.
        tensors: its tensors by name.
        names: what else the expression needs: layers, numbers, functions.
    """

    source: str
    tensors: dict[str, Any]
    names: dict[str, Any]


def found_call(docstring: str, name: str, layer: bool) -> ExampleCall | None:
    """The first call of ``name`` (of an instance of it, for a layer) in a docstring's example."""
    names: dict[str, Any] = {"__name__": "example"}
    for example in doctest.DocTestParser().get_examples(docstring or ""):
        call = _matching(example.source, name, layer)
        try:
            if call is not None:
                return _taken_apart(call, names)
            if example.exc_msg is not None:
                return None
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(example.source, "<example>", "exec"), names)
        except Exception:  # an example that needs what is not here (files, an optional package) shows no picture
            return None
    return None


def _matching(source: str, name: str, layer: bool) -> ast.Call | None:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            called = node.func.func if layer and isinstance(node.func, ast.Call) else None if layer else node.func
            if called is not None and ast.unparse(called).rpartition(".")[2] == name:
                return node
    return None


def _taken_apart(call: ast.Call, names: dict[str, Any]) -> ExampleCall:
    def value(node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), "<example>", "eval"), names)

    kept: dict[str, Any] = {"fn": value(call.func)}
    tensors: dict[str, Any] = {}

    def shown(node: ast.expr, keyword: str = "") -> str:
        got = value(node)
        if isinstance(got, ms.Tensor):
            name = node.id if isinstance(node, ast.Name) else keyword or _name(len(tensors))
            name = name if name not in tensors else f"{name}{len(tensors)}"
            tensors[name] = got
            return name
        if isinstance(node, (ast.List, ast.Tuple)) and any(isinstance(part, ms.Tensor) for part in got):
            return f"({', '.join(shown(part) for part in node.elts)},)"
        if isinstance(got, (int, float, bool, str, type(None))):
            return repr(got)
        kept[f"value{len(kept)}"] = got
        return f"value{len(kept) - 1}"

    parts = [f"*{shown(a.value)}" if isinstance(a, ast.Starred) else shown(a) for a in call.args]
    parts += [f"{k.arg}={shown(k.value, k.arg)}" for k in call.keywords if k.arg]
    return ExampleCall(f"fn({', '.join(parts)})", tensors, kept)


def _name(place: int) -> str:
    return "xyzuvw"[place] if place < 6 else f"x{place}"
