"""``torch.cond`` and ``while_loop`` as ``if`` and ``while``: their graphs become blocks of the lines around them.

if gt:                      go = i < 5
    a = x * 2               while go:
else:                           i = i + 1
    a = x + 1                   go = i < 5
"""

from __future__ import annotations

from typing import Any

from msnb.train.pytorch.exported_program import Call, ExportedProgram, Ref
from msnb.train.pytorch.functionalization import make_functional
from msnb.train.pytorch.module_scopes import Scope
from msnb.train.pytorch.source_template import Text

BLOCKS = ("higher_order.cond", "higher_order.while_loop")
_INDENT = "    "


def cond_lines(writer: Any, call: Call, names: list[str]) -> list[Text]:
    """The lines of a ``torch.cond`` whose results get these names."""
    predicate, true, false, operands = list(call.arguments.values())[:4]
    lines: list[Text] = [[f"if {writer.value(predicate.name)}:"]]
    for block, head in ((true, None), (false, "else:")):
        lines += [[head]] if head else []
        lines += _block(writer, block, [writer.value(operand.name) for operand in operands], names)
    return lines


def loop_lines(writer: Any, call: Call, names: list[str]) -> list[Text]:
    """The lines of a ``while_loop`` whose carried values get these names."""
    test, body, carried, more = list(call.arguments.values())[:4]
    constants = [writer.value(operand.name) for operand in more or ()]
    starts = [writer.value(value.name) if isinstance(value, Ref) else repr(value) for value in carried]
    go = writer.fresh_name("go")
    check = [line[4:] if isinstance(line, str) else [line[0][4:], *line[1:]] for line in
             _block(writer, test, [*names, *constants], [go])]  # fmt: skip
    lines: list[Text] = [[f"{', '.join(names)} = {', '.join(starts)}"], *check, [f"while {go}:"]]
    lines += _block(writer, body, [*names, *constants], names)
    return [*lines, *([_INDENT + line[0], *line[1:]] for line in check)]


def _block(writer: Any, block: ExportedProgram, operands: list[str], names: list[str]) -> list[Text]:
    """A graph as indented lines that end with giving its results their names."""
    make_functional(block)
    scope = Scope(writer.scope.key, writer.scope.path, writer.scope.name, list(block.calls))
    scope.outputs = [ref.name for ref in block.results if isinstance(ref, Ref)]
    inner = writer.inside(scope, block, {ref.name: text for ref, text in zip(block.inputs, operands, strict=True)})
    results = [inner.value(ref.name) if isinstance(ref, Ref) else repr(ref) for ref in block.results]
    lines = inner.body.lines
    if results != names:
        lines.append([f"{', '.join(names)} = {', '.join(results)}"])
    return [[_INDENT + line[0], *line[1:]] for line in lines or [["pass"]]]
