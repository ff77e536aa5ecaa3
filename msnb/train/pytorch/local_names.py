"""Names of the values inside one ``construct``.

A value gets a name where it is made. The name of an operand that nobody needs any more is taken again, so that a chain
of layers reads ``x = self.conv(x)``; what lives beside it is called after its operator.
"""

from __future__ import annotations

import builtins
import re

from msnb.train.pytorch.exported_program import Call, ExportedProgram
from msnb.train.pytorch.module_scopes import Scope

RESERVED = {"ms", "nn", "ops", "mint", "self", "in", "is", "as", "or", "if", "and", "not", "lambda", "input", "range"}


class LocalNames:
    """Which name stands for which value, line by line.

    Attributes:
        local: value -> name.
        bound: name -> the value that it stands for now.
        last: value -> the number of the line that reads it last.
    """

    def __init__(self, scope: Scope, program: ExportedProgram) -> None:
        self.scope: Scope = scope
        self.program: ExportedProgram = program
        self.local: dict[str, str] = {}
        self.bound: dict[str, str] = {}
        self.last: dict[str, int] = self._last_uses()

    def _last_uses(self) -> dict[str, int]:
        last: dict[str, int] = {}
        for number, item in enumerate(self.scope.items):
            used = item.inputs if isinstance(item, Scope) else list(item.used())
            last.update(dict.fromkeys(used, number))
        return last | dict.fromkeys(self.scope.outputs, len(self.scope.items))

    def bind(self, name: str, value: str) -> None:
        self.local[value] = name
        self.bound[name] = value

    def name_result(self, value: str, number: int, operands: list[str], call: Call | None) -> str:
        """A name for a result: that of an operand which ends here, else a new one."""
        ended = [operand for operand in operands if self._ends(operand, number) and self._same_kind(operand, value)]
        if ended:  # the oldest name goes on: x = out + x
            operand = min(ended, key=lambda operand: list(self.bound).index(self.local[operand]))
            self.last[operand] = -1  # taken
            self.bind(self.local[operand], value)
            return self.local[operand]
        base = re.sub(r"_*\d*$", "", value) or "value"
        if base.startswith("getitem"):  # one of several results
            base = call.target.split(".")[1] if call else "state"
        if base in RESERVED or hasattr(builtins, base):
            base += "_"
        name, count = "out" if not self._alive("out", number) and call is None else base, 1
        while self._alive(name, number):
            count += 1
            name = f"{base}_{count}"
        self.bind(name, value)
        return name

    def _ends(self, operand: str, number: int) -> bool:
        """Whether an operand's name is free after this line."""
        name = self.local.get(operand)
        return name is not None and self.last.get(operand) == number and self.bound.get(name) == operand

    def _same_kind(self, operand: str, value: str) -> bool:
        """Whether a name may go on from one to the other without a surprise: both tensors of one dtype."""
        types = self.program.types
        if operand in types and value in types:
            return types[operand].dtype == types[value].dtype
        return value not in types  # of a program that does not say

    def _alive(self, name: str, number: int) -> bool:
        value = self.bound.get(name)
        return value is not None and self.last.get(value, -1) > number

    def fresh_name(self, base: str) -> str:
        """A name that nothing has."""
        name, count = base, 1
        while name in self.bound:
            count += 1
            name = f"{base}_{count}"
        self.bound[name] = name
        self.last[name] = len(self.scope.items) + 1
        return name
