"""The source of a function: text and syntax tree, wherever the function was typed.

    a file, a notebook cell, IPython      linecache knows the text under the code's file name
    exec, eval, doctest                   an audit hook keeps the last texts that Python compiled from strings
    python -c, python < file              the interpreter's own command line, its standard input
    anything else                         ``register_source(filename, text)``

Text is not enough: the tree must hold *this* function. Candidates have the code's name and first line; several
(lambdas on one line) are told apart by the positions in the code (Python 3.11) or by compiling each and comparing
bytecode (3.10). A file edited after import no longer matches its code, and is refused instead of captured wrongly.
"""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import functools
import linecache
import operator
import os
import sys
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass
from types import CodeType

from msnb.base import CaptureError
from msnb.base.source_text import KEPT

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass
class FunctionSource:
    """The tree of one function, and the class around it (for names like ``__private``)."""

    node: FunctionNode
    class_name: str
    filename: str


Functions = dict[tuple[str, int], list[FunctionSource]]
"""The functions of one text by name and first line, found in one walk over its tree."""


_registered: dict[str, str] = {}
_trees: OrderedDict[tuple[str, int], Functions | None] = OrderedDict()


def register_source(filename: str, text: str) -> None:
    """Tell capture the text behind a file name (the notebook does so for every cell).

    Examples:
        >>> register_source("<mine>", "def f(x):\\n    return x\\n")
    """
    _registered[filename] = text
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)


def _texts(filename: str) -> Iterator[str]:
    """Every text that may stand behind a file name, the likeliest first."""
    if filename in _registered:
        yield _registered[filename]
    frozen = sys.modules.get(filename[len("<frozen ") : -1]) if filename.startswith("<frozen ") else None
    lines = linecache.getlines(getattr(frozen, "__file__", None) or filename)
    if lines:
        yield "".join(lines)
    for name, text in reversed(tuple(KEPT)):  # comparing a candidate compiles, and Python announces that
        if name == filename:
            yield text
    yield from _command_line(filename)


def _command_line(filename: str) -> Iterator[str]:
    argv = getattr(sys, "orig_argv", [])
    if filename == "<string>" and "-c" in argv[:-1]:
        yield argv[argv.index("-c") + 1]
    if filename == "<stdin>":
        try:
            yield os.pread(0, 1 << 22, 0).decode("utf-8", "replace")
        except OSError:
            yield from _typed()


def _typed() -> Iterator[str]:
    """Statements typed at the prompt, the latest first: each is a run of lines of readline's history that parses."""
    readline = sys.modules.get("readline")
    if readline is None:
        return
    count = readline.get_current_history_length()
    lines = [readline.get_history_item(i) or "" for i in range(max(count - 1000, 0) + 1, count + 1)]
    for start in range(len(lines) - 1, -1, -1):
        if not lines[start].startswith((" ", "\t", "#")):
            yield from _statement(lines[start:])


def _statement(lines: list[str]) -> Iterator[str]:
    """The longest statement with a function in it that begins with the first of these lines."""
    end = next(
        (i for i in range(1, len(lines)) if not lines[i].startswith((" ", "\t", "@", "def ", "class ", ")"))),
        len(lines),
    )
    text = "\n".join(lines[:end]) + "\n"
    if "def " in text or "lambda" in text:
        yield text


def _parse(filename: str, text: str) -> Functions | None:
    key = (filename, hash(text))
    if key not in _trees:
        try:
            _trees[key] = _functions(ast.parse(text, filename), filename)
        except SyntaxError:
            _trees[key] = None
        if len(_trees) > 64:
            _trees.popitem(last=False)
    return _trees[key]


def find(code: CodeType) -> FunctionSource:
    """The tree of the function that ``code`` was compiled from.

    Raises:
        CaptureError: the source is not to be had, or no longer matches.
    """
    seen = False
    for text in _texts(code.co_filename):
        functions = _parse(code.co_filename, text)
        if functions is None:
            continue
        seen = True
        found = _match(functions, code)
        if found is not None:
            _show(code.co_filename, text)
            return found
    raise _missing(code, seen and not code.co_filename.startswith("<"))


def text_of(code: CodeType) -> str:
    """The text that ``code`` was compiled from, as far as it is known: "" where none fits."""
    for text in _texts(code.co_filename):
        functions = _parse(code.co_filename, text)
        if functions is not None and _match(functions, code) is not None:
            return text
    return ""


def _show(filename: str, text: str) -> None:
    """Let carets see the text too."""
    if filename.startswith("<") and not linecache.getlines(filename):
        linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)


def _missing(code: CodeType, seen: bool) -> CaptureError:
    if seen:
        return CaptureError(
            f"the source of {code.co_name} (line {code.co_firstlineno} of {code.co_filename}) has changed since it was "
            "defined.",
            hint="import the module or run the cell again.",
        )
    return CaptureError(
        f"the source of {code.co_name} cannot be found (it was compiled from {code.co_filename!r}).",
        hint="define it in a file or a notebook cell, import msnb before a text is executed, or call "
        "msnb.graph.capture.register_source(filename, text) first.",
    )


def _match(functions: Functions, code: CodeType) -> FunctionSource | None:
    for candidate in functions.get((code.co_name, code.co_firstlineno), ()):
        if _same_place(candidate.node, code) and _same_code(candidate, code):
            return candidate
    return None


def _functions(tree: ast.Module, filename: str) -> Functions:
    """Outer functions come before the inner ones, and these in the order of the text."""
    found: Functions = {}
    stack: list[tuple[ast.AST, str]] = [(tree, "")]
    while stack:
        node, class_name = stack.pop()
        if isinstance(node, FUNCTIONS):
            found.setdefault(_name_and_line(node), []).append(FunctionSource(node, class_name, filename))
        inner = node.name if isinstance(node, ast.ClassDef) else class_name
        stack += [(child, inner) for child in reversed(_children(node))]
    return found


def _children(node: ast.AST) -> list[ast.AST]:
    """The parts of a node that may contain a function.

    Its fields only: who formats tracebacks (IPython does) hangs ``parent`` on every node of trees of his own, operators
    among them, and these are one object for all trees of Python.
    """
    found: list[ast.AST] = []
    for name in node._fields:
        part = getattr(node, name, None)
        if type(part) is list:
            found += [p for p in part if isinstance(p, ast.AST)]
        elif isinstance(part, ast.AST) and not isinstance(part, _LEAVES):
            found.append(part)
    return found


_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.unaryop)


def _name_and_line(node: FunctionNode) -> tuple[str, int]:
    if isinstance(node, ast.Lambda):
        return "<lambda>", node.lineno
    return node.name, min([node.lineno, *(d.lineno for d in node.decorator_list)])


def _same_place(node: FunctionNode, code: CodeType) -> bool:
    """Do all positions of the code lie within the node? (Python 3.11 and later; earlier keep none.)"""
    positions = getattr(code, "co_positions", None)
    if positions is None or not isinstance(node, ast.Lambda):
        return True
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    for line, end_line, col, end_col in positions():
        unplaced = col is None or end_col is None or (col, end_col) == (0, 0)
        if not unplaced and not (start <= (line, col) and (end_line, end_col) <= end):
            return False
    return True


def _same_code(candidate: FunctionSource, code: CodeType) -> bool:
    """Compile the candidate in the same surroundings and compare the bytecode."""
    node = candidate.node
    again = compile_function(node, code, candidate.class_name)
    if again is None:
        return False
    if "@pytest_ar" in (*code.co_names, *code.co_freevars):
        # pytest has rewritten the asserts: the code is longer than its source
        return again.co_varnames == tuple(n for n in code.co_varnames if not n.startswith("@"))
    return (again.co_varnames, again.co_argcount, _ops(again)) == (code.co_varnames, code.co_argcount, _ops(code))


_NOISE = {
    "PUSH_NULL",
    "PRECALL",
    "CACHE",
    "RESUME",
    "COPY_FREE_VARS",
    "MAKE_CELL",
    "EXTENDED_ARG",
    "NOP",
    "RETURN_GENERATOR",
}
_ALIKE = {"LOAD_METHOD": "LOAD_ATTR", "CALL_METHOD": "CALL", "CALL_FUNCTION": "CALL"}


def _ops(code: CodeType) -> list[tuple[str, str]]:
    """Instructions without what depends on the surroundings (how a module's attribute is called, where jumps lie)."""
    out = []
    for i in dis.get_instructions(code):
        if i.opname not in _NOISE:
            jump = i.opcode in dis.hasjrel or i.opcode in dis.hasjabs or isinstance(i.argval, CodeType)
            name = i.opname.replace("CLASSDEREF", "DEREF").replace("LOAD_GLOBAL", "LOAD_NAME")
            out.append((_ALIKE.get(name, name), "" if jump else _operand(i.argrepr)))
    return out


def _operand(text: str) -> str:
    """An operand as text.

    How a call is prepared depends on the module: 3.12 looks whether it imports the name. Before 3.11 the dotted name of
    a nested function is an operand, and tells where the outer one lies.
    """
    for mark in ("NULL|self + ", " + NULL|self", "NULL + "):
        text = text.replace(mark, "")
    return text.rpartition(".<locals>.")[2].strip("'") if ".<locals>." in text else text


_FUTURES = functools.reduce(operator.or_, (getattr(__future__, n).compiler_flag for n in __future__.all_feature_names))


def compile_function(node: FunctionNode, code: CodeType, class_name: str) -> CodeType | None:
    """The code of a function node, compiled with the free variables and the "from __future__" of ``code``."""
    freevars = code.co_freevars
    function: ast.stmt
    if isinstance(node, ast.Lambda):
        function = ast.Expr(node)
    else:
        function = copy.copy(node)
        function.decorator_list = []
    inner: ast.stmt = ast.copy_location(function, node)
    if class_name:
        inner = ast.ClassDef(name=class_name, bases=[], keywords=[], body=[inner], decorator_list=[])
        if sys.version_info >= (3, 12):
            inner.type_params = []
    tree = ast.parse(f"def __outer__({', '.join(n for n in freevars if n != '__class__' or not class_name)}): pass")
    outer = tree.body[0]
    assert isinstance(outer, ast.FunctionDef)
    made = class_name or getattr(node, "name", "")
    outer.body = [inner] if not made or made in freevars else [ast.Global([made]), inner]
    ast.fix_missing_locations(tree)
    try:
        return _innermost(compile(tree, code.co_filename, "exec", code.co_flags & _FUTURES, True), node)
    except (SyntaxError, ValueError):
        return None


def _innermost(code: CodeType, node: FunctionNode) -> CodeType | None:
    name = "<lambda>" if isinstance(node, ast.Lambda) else node.name
    for const in code.co_consts:
        if isinstance(const, CodeType):
            if const.co_name == name:
                return const
            found = _innermost(const, node)
            if found is not None:
                return found
    return None
