"""The source of a network: one class per kind of module, from the bodies of all its modules.

Modules of one class whose bodies agree up to constants are one class here; constants in which they differ are its
arguments, and such as always agree with each other are one argument. Layers that repeat are written as a loop.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from msnb.nn.cells.cell import Cell
from msnb.train.pytorch.class_body import BodyWriter, ClassBody, stub_name
from msnb.train.pytorch.exported_program import Call, ExportedProgram, Ref, references
from msnb.train.pytorch.module_scopes import NoClass, Scope, scopes_of
from msnb.train.pytorch.source_template import Slot, Text, filled, literal, same

WIDTH = 110
_INDENT = "        "


@dataclass
class _Class:
    """Scopes that one class is written for."""

    name: str
    scopes: list[Scope] = field(default_factory=list)
    arguments: list[tuple[str, int]] = field(default_factory=list)  # name, place of the slot
    names: dict[int, str] = field(default_factory=dict)  # place of a slot -> argument


class ClassWriter:
    """Writes all classes of a program."""

    def __init__(self, program: ExportedProgram, title: str) -> None:
        self.program: ExportedProgram = program
        self.title: str = title
        self.root: Scope = scopes_of(program)
        self.bodies: dict[int, ClassBody] = {}
        self.classes: dict[Any, _Class] = {}
        self.class_of: dict[int, _Class] = {}
        self.keys: dict[int, Any] = {}

    def write(self) -> str:
        """The whole source."""
        self._compose_all()
        for found in self.classes.values():
            self._arguments(found)
        texts = [self._class_text(found) for found in self.classes.values()]
        return self._page("\n\n\n".join([*self._stubs(), *texts]))

    @property
    def weights(self) -> dict[str, str]:
        """PyTorch's names of the weights -> those of the network written."""
        return self.bodies[id(self.root)].weights

    @property
    def modules(self) -> dict[str, str]:
        """Paths of the modules -> paths of the Cells."""
        return self.bodies[id(self.root)].modules

    @property
    def root_class(self) -> str:
        """The network's class."""
        return self.class_of[id(self.root)].name

    def missing(self) -> list[Call]:
        """Calls of operators that have no rule."""
        return [call for body in self.bodies.values() for call in body.missing]

    # ---- which scopes are one class ----

    def _compose_all(self) -> None:
        """The bodies of all scopes; a module that cannot be a class is opened, and all begins anew."""
        opened: frozenset[str] = frozenset()
        while True:
            try:
                for scope in _inside_out(self.root):
                    self._compose(scope)
                return self._need_one_body()
            except NoClass as error:
                if not error.path:
                    raise ValueError("a size of the network is that of no tensor") from None
                opened |= {error.path}
                self.root = scopes_of(self.program, opened)
                self.bodies, self.classes, self.class_of, self.keys = {}, {}, {}, {}

    def _need_one_body(self) -> None:
        """Two calls of one module must do the same: then it is one class."""
        found: dict[str, Any] = {}
        for scope in _inside_out(self.root):
            same_one = (self.keys[id(scope)], tuple(literal(slot.value) for slot in self._slots(scope)))
            if found.setdefault(scope.path, same_one) != same_one:
                raise NoClass(scope.path)

    def _compose(self, scope: Scope) -> None:
        writer = BodyWriter(scope, self.program, self.bodies, scope is not self.root)
        if scope is self.root:
            body = writer.write(root_inputs(self.program, scope))
            self._finish(writer)
        else:
            body = writer.write()
            body.lines.append(["return " + ", ".join(writer.local[name] for name in scope.outputs)])
        self.bodies[id(scope)] = body
        attributes = tuple((name, self._key_of(value)) for name, value in body.attributes.items())
        lines = () if body.chain else tuple(tuple(map(_blank, line)) for line in body.lines)
        key = ("chain" if body.chain else scope.name, tuple(body.inputs), attributes, lines)
        self.keys[id(scope)] = key
        if not body.chain:
            if key not in self.classes:
                taken = {found.name for found in self.classes.values()}
                self.classes[key] = _Class(_class_name(self.title if scope is self.root else scope.name, taken))
            self.classes[key].scopes.append(scope)
            self.class_of[id(scope)] = self.classes[key]

    def _key_of(self, value: Any) -> Any:
        if isinstance(value, dict):
            return tuple((number, self._key_of(part)) for number, part in value.items())
        if isinstance(value, Scope):
            return self.keys[id(value)] if value.layer is None else tuple(map(_blank, _constructor(value)))
        return tuple(map(_blank, value))

    def _finish(self, writer: BodyWriter) -> None:
        """The end of the network: buffers that it writes, and its results in their form."""
        lines = writer.body.lines
        for buffer, value in self.program.written.items():
            name = next(name for name, weight in self.program.weights.items() if weight == buffer)
            lines.append([f"ops.assign({writer.weight(name)}, {writer.value(value)})"])
        flat = iter(self.program.results)
        text = nested(self.program.result_tree, lambda: _result_text(next(flat), writer))
        lines.append(["return " + text])

    # ---- arguments ----

    def _arguments(self, found: _Class) -> None:
        """Which constants become arguments: those in which the scopes differ."""
        rows = [list(self._slots(scope)) for scope in found.scopes]
        taken: dict[str, tuple[str, ...]] = {}
        first_body = self.bodies[id(found.scopes[0])]
        for place, slots in enumerate(zip(*rows, strict=True)):
            if all(same(slots[0].value, slot.value) for slot in slots[1:]):
                continue
            values = tuple(literal(slot.value) for slot in slots)
            name = next((name for name, other in taken.items() if other == values), None)
            if name is None:
                name, count = slots[0].name, 1
                while name in taken or name in first_body.attributes or hasattr(Cell, name):
                    count += 1
                    name = f"{slots[0].name}_{count}"
                taken[name] = values
                found.arguments.append((name, place))
            found.names[place] = name

    def _slots(self, scope: Scope) -> Iterator[Slot]:
        """All constants of a scope, in the order in which they are written."""
        body = self.bodies[id(scope)]
        for value in body.attributes.values():
            yield from self._slots_of(value)
        if not body.chain:
            for line in body.lines:
                yield from (piece for piece in line if isinstance(piece, Slot))

    def _slots_of(self, value: Any) -> Iterator[Slot]:
        if isinstance(value, dict):
            for part in value.values():
                yield from self._slots_of(part)
        elif isinstance(value, Scope):
            yield from (piece for piece in self._pieces(value) if isinstance(piece, Slot))
        else:
            yield from (piece for piece in value if isinstance(piece, Slot))

    def _pieces(self, scope: Scope) -> Text:
        """The constructor of a scope, flat."""
        if scope.layer is not None:
            return _constructor(scope)
        if self.bodies[id(scope)].chain:
            return list(self._slots(scope))
        found = self.class_of[id(scope)]
        slots = list(self._slots(scope))
        pieces: Text = [found.name, "("]
        for i, (name, place) in enumerate(found.arguments):
            pieces.append(Slot(name, slots[place].value, f"{', ' if i else ''}{name}="))
        return [*pieces, ")"]

    # ---- text ----

    def _class_text(self, found: _Class) -> str:
        scope = found.scopes[0]
        body = self.bodies[id(scope)]
        place = iter(range(10**9))

        def written(slot: Slot, where: str) -> str:
            name = found.names.get(next(place))
            if name is not None:
                return f"{slot.prefix}{where}{name}"
            return "" if same(slot.value, slot.default) else slot.prefix + literal(slot.value)

        init = [f"self.{name} = {self._value_text(value, written)}" for name, value in body.attributes.items()]
        lines = [_joined(line, written, "self.") for line in body.lines]
        kept = [name for name, _ in found.arguments if any(f"self.{name}" in line for line in lines)]
        init = [f"self.{name} = {name}" for name in kept] + init
        arguments = "".join(f", {name}" for name, _ in found.arguments)
        text = [f"class {found.name}(nn.Cell):"]
        if init:
            text += [f"    def __init__(self{arguments}):", _INDENT + "super().__init__()"]
            text += [_INDENT + line for line in init] + [""]
        inputs, unpacked = nested_inputs(self.program, body.inputs) if scope is self.root else (body.inputs, [])
        text += [f"    def construct({', '.join(['self', *inputs])}):"]
        lines = unpacked + lines
        text += [_INDENT + line for line in _rolled(_returned(lines))]
        return "\n".join(text)

    def _value_text(self, value: Any, written: Callable[[Slot, str], str], depth: int = 2) -> str:
        """The value of an attribute."""
        if isinstance(value, dict):
            return f"nn.CellList({self._elements(value, written, depth, '[', ']')})"
        if not isinstance(value, Scope):
            return _joined(value, written, "")
        if value.layer is None and self.bodies[id(value)].chain:
            numbered = {int(name): part for name, part in self.bodies[id(value)].attributes.items()}
            return f"nn.SequentialCell({self._elements(numbered, written, depth, '', '')})"
        return _joined(self._pieces(value), written, "")

    def _elements(self, cells: dict[int, Any], written: Any, depth: int, opening: str, closing: str) -> str:
        """The elements of a list; those that repeat as a comprehension, those that did nothing as Identity."""
        texts = {number: self._value_text(value, written, depth + 1) for number, value in cells.items()}
        whole = [texts.get(number, "nn.Identity()") for number in range(max(texts) + 1)]
        runs: list[tuple[str, int]] = []
        for text in whole:
            count = runs.pop()[1] + 1 if runs and runs[-1][0] == text else 1
            runs.append((text, count))
        if len(runs) == 1 and runs[0][1] > 1:
            inside = f"{runs[0][0]} for _ in range({runs[0][1]})"
            return f"{opening}{inside}{closing}" if opening else f"*[{inside}]"
        parts = [text if count == 1 else f"*[{text} for _ in range({count})]" for text, count in runs]
        line = ", ".join(parts)
        if len(line) + 4 * depth < WIDTH - 40 and "\n" not in line:
            return f"{opening}{line}{closing}"
        space = "\n" + "    " * (depth + 1)
        return f"{opening}{space}{('' + ',' + space).join(parts)},\n{'    ' * depth}{closing}"

    def _stubs(self) -> list[str]:
        """Functions that stand for operators without a rule, and say what to write."""
        calls = {stub_name(call): call for call in self.missing()}
        return [self._stub(name, call) for name, call in calls.items()]

    def _stub(self, name: str, call: Call) -> str:
        kinds = [self.program.types[made] for made in call.names() if made in self.program.types]
        gives = ", ".join(f"{kind.dtype}{list(kind.shape)}" for kind in kinds)
        constants = {key: literal(value) for key, value in call.arguments.items() if not list(references(value))
                     and not isinstance(value, ExportedProgram)}  # fmt: skip
        given = ", ".join(f"{key}={value}" for key, value in constants.items())
        note = f"{call.target}({given}) gives {gives}: write it here"
        return f"def {name}(*operands):\n    raise NotImplementedError({literal(note)})"

    def _page(self, classes: str) -> str:
        """Head and imports."""
        used = [name for name in ("mint", "nn", "ops") if re.search(rf"\b{name}\.", classes)]
        head = f'"""{self.title}: written from a captured program."""\n\n'
        head += "import msnb as ms\n" if re.search(r"\bms\.", classes) else ""
        return f"{head}from msnb import {', '.join(used)}\n\n\n{classes}\n"


def _joined(pieces: Text, written: Callable[[Slot, str], str], where: str) -> str:
    """The text of pieces; an optional argument that comes first needs no comma."""
    texts = [piece if isinstance(piece, str) else written(piece, where) for piece in pieces]
    for i, text in enumerate(texts):
        if i and text.startswith(", ") and "".join(texts[:i]).endswith("("):
            texts[i] = text[2:]
    return "".join(texts)


def _inside_out(scope: Scope) -> Iterator[Scope]:
    """All scopes that are no layers, those inside first."""
    for item in scope.items:
        if isinstance(item, Scope) and item.layer is None:
            yield from _inside_out(item)
    yield scope


def _constructor(scope: Scope) -> Text:
    assert scope.layer is not None
    rule, _, arguments = scope.layer
    return filled(rule.constructor, arguments)


def _blank(piece: Any) -> Any:
    return ("slot", piece.name, piece.prefix) if isinstance(piece, Slot) else piece


def _class_name(dotted: str, taken: set[str]) -> str:
    name = re.sub(r"\W", "", dotted.rpartition(".")[2]) or "Network"
    name = name if name[:1].isalpha() else "Network" + name
    count, found = 1, name
    while found in taken:
        count += 1
        found = f"{name}{count}"
    return found


def root_inputs(program: ExportedProgram, root: Scope) -> list[str]:
    """The arguments of the network; ``root.inputs`` becomes what they stand for."""
    values = [value for value in program.inputs if isinstance(value, Ref)]
    given = program.argument_names
    names = given if len(given) == len(program.inputs) else [ref.name for ref in values]
    names = [name for name, value in zip(names, program.inputs, strict=False) if isinstance(value, Ref)] \
        if len(names) == len(program.inputs) else names  # fmt: skip
    root.inputs = [ref.name for ref in values]
    return [name + "_" if name in ("self", "mint", "nn", "ops", "ms") else name for name in names]


def nested_inputs(program: ExportedProgram, flat: list[str]) -> tuple[list[str], list[str]]:
    """The arguments as the user nests them, and the lines that give ``flat`` their values."""
    arguments, named = program.input_tree[2] if program.input_tree else ([], [])
    parts = [*(arguments[2] if arguments else []), *(named[2] if named else [])]
    if all(part is None for part in parts):
        return flat, []
    known = len(program.argument_names) == len(parts)
    wholes = program.argument_names if known else [f"x{i}" for i in range(len(parts))]
    values, left = iter(program.inputs), iter(flat)
    inputs, lines = [], []
    for part, whole in zip(parts, wholes, strict=True):
        leaves = [(place, next(left)) for place in _places(part) if isinstance(next(values), Ref)]
        whole = leaves[0][1] if part is None and leaves else whole + "_" * (whole in flat)
        inputs += [whole] if part is not None or leaves else []
        lines += [f"{name} = {whole}{place}" for place, name in leaves if part is not None]
    return inputs, lines


def _places(tree: Any, place: str = "") -> Iterator[str]:
    """Where the values of nested inputs are: "[0]", '["ids"][1]'."""
    if tree is None:
        yield place
        return
    _, keys, parts = tree
    for key, part in zip(keys or range(len(parts)), parts, strict=True):
        yield from _places(part, f"{place}[{literal(key)}]")


def _result_text(value: Any, writer: BodyWriter) -> str:
    return writer.value(value.name) if isinstance(value, Ref) else literal(value)


def nested(tree: Any, leaf: Callable[[], str]) -> str:
    """The text of nested results."""
    if tree is None:
        return leaf()
    kind, keys, parts = tree
    texts = [nested(part, leaf) for part in parts]
    if kind == "dict":
        return "{" + ", ".join(f"{literal(key)}: {text}" for key, text in zip(keys, texts, strict=True)) + "}"
    opening, closing = "[]" if kind == "list" else "()"
    return f"{opening}{', '.join(texts)}{',' if kind == 'tuple' and len(texts) == 1 else ''}{closing}"


def _returned(lines: list[str]) -> list[str]:
    """``x = f(x)``, ``return x`` in one line."""
    if len(lines) > 1 and lines[-1].startswith("return "):
        name, equals, text = lines[-2].partition(" = ")
        if equals and lines[-1] == f"return {name}" and name.isidentifier():
            return [*lines[:-2], f"return {text}"]
    return lines


def _rolled(lines: list[str]) -> list[str]:
    """Lines that call self.layers[0], self.layers[1] ... one after the other as a loop."""
    found: list[str] = []
    at = 0
    while at < len(lines):
        names = re.findall(r"self\.(\w+)\[0\]", lines[at])
        length = _turns(lines, at, names[0]) if len(set(names)) == 1 else None
        if length is None:
            found.append(lines[at])
            at += 1
            continue
        period, turns = length
        name = names[0]
        found.append(f"for layer in self.{name}:")
        found += ["    " + line.replace(f"self.{name}[0]", "layer") for line in lines[at : at + period]]
        at += period * turns
    return found


def _turns(lines: list[str], at: int, name: str) -> tuple[int, int] | None:
    """(lines of a turn, turns) of the loop over all of a list that begins here."""
    period = next((i for i in range(1, len(lines) - at) if f"self.{name}[1]" in lines[at + i]), None)
    if period is None:
        return None
    first = lines[at : at + period]
    turns = 1
    while lines[at + turns * period : at + (turns + 1) * period] == [
        line.replace(f"self.{name}[0]", f"self.{name}[{turns}]") for line in first
    ]:
        turns += 1
    rest = lines[:at] + lines[at + turns * period :]
    return (period, turns) if turns > 1 and not any(f"self.{name}[" in line for line in rest) else None
