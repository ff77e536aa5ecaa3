"""The body of one module's class: lines of ``__init__`` and ``construct``, with holes for constants.

Modules inside become attributes, layers or classes of their own; weights that no layer has become Parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from msnb.nn.cells.cell import Cell
from msnb.train.pytorch.control_text import BLOCKS, cond_lines, loop_lines
from msnb.train.pytorch.exported_program import Call, ExportedProgram
from msnb.train.pytorch.functionalization import WRITE
from msnb.train.pytorch.layer_rules import state_of
from msnb.train.pytorch.local_names import LocalNames
from msnb.train.pytorch.module_scopes import NoClass, Scope
from msnb.train.pytorch.operators import OPERATORS
from msnb.train.pytorch.operators.index_operators import place_text
from msnb.train.pytorch.source_template import Operand, ReadArguments, Slot, Text, filled
from msnb.train.pytorch.symbolic_size import multiple_of, python_of

_LIST = re.compile(r"(.+)\.(\d+)\Z")
_INPUT_NAMES = ("x", "y", "z")
_WINDOWS = ("kernel_size", "stride", "padding", "dilation", "output_padding")


@dataclass
class ClassBody:
    """What a class needs to be written.

    Attributes:
        inputs: the arguments of construct.
        attributes: name -> its value, in order; a list where the attribute is a CellList.
        lines: of construct.
        weights, modules: PyTorch's names -> names below this module, for all weights and modules inside.
        chain: the children, where construct does nothing but call one after the other.
        missing: operators without a rule -> (line in the user's program) of their calls.
    """

    inputs: list[str] = field(default_factory=list)
    attributes: dict[str, Any] = field(default_factory=dict)
    lines: list[Text] = field(default_factory=list)
    weights: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    chain: bool = False
    missing: list[Call] = field(default_factory=list)


class BodyWriter(LocalNames):
    """Writes the body of a scope; ``bodies`` has those of the scopes inside, which are written first;
    ``nested`` scopes may be chains."""

    def __init__(self, scope: Scope, program: ExportedProgram, bodies: dict[int, ClassBody], nested: bool) -> None:
        super().__init__(scope, program)
        self.bodies: dict[int, ClassBody] = bodies
        self.nested: bool = nested
        self.body: ClassBody = ClassBody()
        self.attribute_of: dict[str, str] = {}  # module path -> "self.conv1" or "self.layers[0]"

    def write(self, inputs: list[str] | None = None) -> ClassBody:
        """The body. ``inputs`` are the names of the arguments, where the user gave them."""
        for i, value in enumerate(self.scope.inputs):
            name = inputs[i] if inputs else _INPUT_NAMES[i] if i < len(_INPUT_NAMES) else f"x{i + 1}"
            self.body.inputs.append(name)
            self.bind(name, value)
        self.body.chain = self.nested and self._is_chain()
        for item in self.scope.items:
            if isinstance(item, Scope) and item.path not in self.attribute_of:
                self.attribute_of[item.path] = self.add_child(item)
        for number, item in enumerate(self.scope.items):
            if isinstance(item, Scope):
                self.child(number, item)
            else:
                self.operator(number, item)
        return self.body

    # ---- values ----

    def resolve(self, pieces: Text) -> Text:
        """Pieces without Operand: local names, weights, sizes."""
        return [self.value(piece.name) if isinstance(piece, Operand) else piece for piece in pieces]

    def value(self, name: str) -> str:
        if name in self.local and name not in self.program.weights:
            return self.local[name]
        if name in self.program.weights:
            return self.weight(name)
        if name in self.program.sizes:
            return self.size(self.program.sizes[name])
        raise KeyError(name)

    def size(self, formula: str) -> str:
        """A size: that of a tensor which has it, or its formula in such sizes."""
        return self.axis_with(formula) or python_of(formula, self.symbol)

    def axis_with(self, formula: str) -> str | None:
        """An axis of a tensor at hand that has the size."""
        for name, value in self.bound.items():
            kind = self.program.types.get(value)
            if kind and formula in kind.shape:
                return f"{name}.shape[{kind.shape.index(formula)}]"
        return None

    def symbol(self, symbol: str) -> str:
        """An open size, of a tensor that has it or a multiple of it."""
        found = self.axis_with(symbol)
        for name, value in self.bound.items():
            kind = self.program.types.get(value)
            for axis, size in enumerate(kind.shape if kind and found is None else ()):
                factor = multiple_of(size, symbol)
                if factor:
                    found = f"({name}.shape[{axis}] // {factor})"
        if found is None:
            raise NoClass(self.scope.path)
        return found

    def weight(self, name: str) -> str:
        """A weight, which becomes an attribute unless a layer inside has it."""
        full = self.program.weights[name]
        if full in self.body.weights:
            return self._attribute(self.body.weights[full])
        relative = full[len(self.scope.path) + 1 :] if self.scope.path else full
        attribute = self.free_attribute(identifier(relative))
        kind = self.program.types[name]
        frozen = full in self.program.buffers
        self.body.attributes[attribute] = [
            "ms.Parameter(mint.zeros(", Slot("shape", kind.shape), f", dtype=ms.{kind.dtype})",
            ", requires_grad=False)" if frozen else ")",
        ]  # fmt: skip
        self.body.weights[full] = attribute
        return f"self.{attribute}"

    def _attribute(self, path: str) -> str:
        return "self." + re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", path)

    def free_attribute(self, name: str) -> str:
        while hasattr(Cell, name) or name in self.body.attributes or name in ("name", "training"):
            name += "_"
        return name

    # ---- modules inside ----

    def child(self, number: int, item: Scope) -> None:
        """The call of a module, as a layer or as a class of its own."""
        place = self.attribute_of[item.path]
        if item.layer is not None:
            results, form = list(item.layer[1].names()), item.layer[0].results
        else:
            results, form = list(item.outputs), ""
        names = [self.value(name) for name in item.inputs]
        if item.layer is not None and len(names) > 1 and item.layer[0].state:  # a state that the program gives
            names[1:] = [item.layer[0].state.format(*map(self.value, state_of(item.layer[1])))]
        text: Text = [place, "(", ", ".join(names), ")"]
        self.state(number, results, text, item.inputs, None, form)

    def add_child(self, item: Scope) -> str:
        """An attribute for a module; its weights are known by it from now on."""
        relative = item.path[len(self.scope.path) + 1 :] if self.scope.path else item.path
        listed = _LIST.match(relative)
        if listed and listed[1].isidentifier() and not hasattr(Cell, listed[1]) \
                and isinstance(self.body.attributes.get(listed[1], {}), dict):  # fmt: skip
            self.body.attributes.setdefault(listed[1], {})[int(listed[2])] = item
            return self._placed(item, f"self.{listed[1]}[{listed[2]}]", relative)
        name = relative if self.body.chain else self.free_attribute(identifier(relative))
        self.body.attributes[name] = item
        return self._placed(item, f"self.{name}", name)

    def _placed(self, item: Scope, place: str, own: str) -> str:
        self.body.modules[item.path] = own
        if item.layer is not None:
            renamed = item.layer[0].renamed
            for name in item.layer[1].used():
                if name in self.program.weights:
                    full = self.program.weights[name]
                    leaf = full[len(item.path) + 1 :]
                    self.body.weights[full] = f"{own}.{renamed.get(leaf, leaf)}"
        else:
            inside = self.bodies[id(item)]
            self.body.weights |= {full: f"{own}.{name}" for full, name in inside.weights.items()}
            self.body.modules |= {full: f"{own}.{name}" for full, name in inside.modules.items()}
        return place

    def _is_chain(self) -> bool:
        """Whether the scope is a Sequential: numbered modules, one after the other."""
        prefix = len(self.scope.path) + 1
        if len(self.scope.inputs) != 1 or not self.scope.items:
            return False
        value, last = self.scope.inputs[0], -1
        for item in self.scope.items:
            number = item.path[prefix:] if isinstance(item, Scope) else ""
            if not isinstance(item, Scope) or not number.isdigit() or int(number) <= last or item.inputs != [value]:
                return False
            made = list(item.layer[1].names()) if item.layer else item.outputs
            if len(made) != 1:
                return False
            value, last = made[0], int(number)
        return self.scope.outputs == [value]

    # ---- operators ----

    def operator(self, number: int, call: Call) -> None:
        """A line for an operator."""
        if call.target.startswith(WRITE):
            self.write_part(number, call)
        elif call.target in BLOCKS:
            self.control(call)
        else:
            self.state(number, call.results, self.resolve(self.expression(call)), list(call.used()), call)

    def control(self, call: Call) -> None:
        """An ``if`` or a ``while``."""
        base = "out" if call.target == BLOCKS[0] else "carried"
        names = [self.fresh_name(base) for _ in _flat(call.results)]
        for name, value in zip(names, _flat(call.results), strict=True):
            if value:
                self.bind(name, value)
        write = cond_lines if call.target == BLOCKS[0] else loop_lines
        self.body.lines += write(self, call, names)

    def inside(self, scope: Scope, block: ExportedProgram, inputs: dict[str, str]) -> BodyWriter:
        """Writes a block: names that are alive around it are not taken."""
        inner = BodyWriter(scope, block, self.bodies, True)
        inner.local = dict(inputs)
        inner.bound = dict(self.bound)
        inner.last |= dict.fromkeys(self.bound.values(), len(scope.items) + 1)
        for number, item in enumerate(scope.items):
            assert isinstance(item, Call)
            inner.operator(number, item)
        self.body.missing += inner.body.missing
        return inner

    def write_part(self, number: int, call: Call) -> None:
        """The line ``x[:, 0] = value``; x stands for the result from then on."""
        base = call.arguments["self"].name
        name = self.value(base)
        if base in self.program.weights:
            name = self.name_result(call.results[0], number, [], call)
            self.body.lines.append([f"{name} = {self.value(base)} + 0"])
        place = written_place(call, len(self.program.types[base].shape))
        if place is None:
            self.body.missing.append(call)
            place = ["..."]
        self.body.lines.append([f"{name}[", *self.resolve(place), "] = ", self.value(call.arguments["value"].name)])
        self.bind(name, call.results[0])

    def expression(self, call: Call) -> Text:
        """The operator's text; a call of a stub where there is no rule."""
        arguments = named_arguments(call)
        for key in rule_keys(call):
            if key in OPERATORS:
                rule, reads = OPERATORS[key], ReadArguments(arguments)
                try:
                    text = filled(rule(reads) if callable(rule) else rule, reads)
                except (KeyError, ValueError):  # a form of the operator that the rule does not have
                    break
                if reads.ignored(call.arguments):
                    break
                return text
        self.body.missing.append(call)
        pieces: Text = [stub_name(call), "("]
        for i, name in enumerate(dict.fromkeys(call.used())):
            pieces += [", " if i else "", Operand(name)]
        return [*pieces, ")"]

    def state(self, number: int, results: list[Any], text: Text, operands: list[str], call: Call | None,
              form: str = "") -> None:  # fmt: skip
        """The statement that gives an expression's results their names."""
        names = []
        for result in _flat(results):
            wanted = result is not None and self.last.get(result, -1) > number
            names.append(self.name_result(result, number, operands, call) if wanted else "_")
        if form:
            target = form.format(*names)
        else:
            target = ", ".join(names)
            if any(isinstance(result, list) for result in results) and len(names) == 1:
                target += ","
        if not form and text == [target]:
            return
        self.body.lines.append([target + " = ", *text])


def rule_keys(call: Call) -> list[str]:
    """The names by which an operator is looked up, the most special first."""
    library, name, *overload = call.target.split(".")
    if library == "size":
        return [call.target]
    if library != "aten":
        return [f"{library}.{name}"]
    plain = name[:-1] if name.endswith("_") and not name.startswith("__") else name
    return [f"{base}.{overload[0]}" for base in (name, plain) if overload] + [name, plain]


def named_arguments(call: Call) -> dict[str, Any]:
    """The arguments, elements of lists by their number, the first as "self" and as "input"."""
    first = next(iter(call.arguments.values()), None)
    arguments = call.arguments | {key: first for key in ("self", "input") if key not in call.arguments}
    for key, value in call.arguments.items():
        if isinstance(value, list):
            arguments |= {f"{key}_{i}": part for i, part in enumerate(value)}
            if key in _WINDOWS and (not value or (type(value[0]) is int and len(set(value)) == 1)):
                arguments[key] = value[0] if value else None  # one number for all axes; none is the default
    return arguments


def _flat(results: list[Any]) -> list[Any]:
    return [name for result in results for name in (result if isinstance(result, list) else [result])]


def identifier(path: str) -> str:
    """A module's path as a name."""
    name = re.sub(r"\W", "_", path)
    return name if name[:1].isalpha() or name[:1] == "_" else "layer" + name


def stub_name(call: Call) -> str:
    """The function that stands for an operator which has no rule."""
    return re.sub(r"\W", "_", call.target.removesuffix(".default"))


def written_place(call: Call, axes: int) -> Text | None:
    """The one index for a chain of selections and slices; None where an axis is taken twice."""
    left, places = list(range(axes)), [":"] * axes
    for i in range(int(call.target.rpartition(".")[2])):
        step = {key.removesuffix(f"_{i}"): value for key, value in call.arguments.items() if key.endswith(f"_{i}")}
        axis = left[step.get("dim", 0)]
        if places[axis] != ":":
            return None
        places[axis] = place_text(step, f"_{i}")
        if "index" in step:
            left.remove(axis)
    while len(places) > 1 and places[-1] == ":":
        places.pop()
    return filled(", ".join(places), call.arguments)
