"""The tree of modules that a flat graph was: which calls one module made, what it took and what it gave.

    Scope(path="layer1.0")          one call of one module
      items    its operator calls and the scopes of the modules that it called, in order
      inputs   values from outside that it reads; outputs: its values that others read

A scope that reads the weights of another module (tied weights), or that two modules call, has no class of its own: its
items go to its parent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msnb.train.pytorch.exported_program import Call, ExportedProgram, references
from msnb.train.pytorch.layer_rules import LayerRule, layer_of

_WITHOUT_MEANING = ("sym_size", "sym_constrain_range", "sym_constrain_range_for_size", "_assert_scalar",
                    "_assert_tensor_metadata", "_assert_async", "sym_numel", "sym_storage_offset")  # fmt: skip


@dataclass
class Scope:
    """One call of a module.

    Attributes:
        key: tells calls of one module apart. path: the module, "layer1.0". name: its class, dotted.
        items: what it did, in order.
        inputs, outputs: values; both in the order of their first appearance.
        layer: the rule, the call and its arguments, where the module is a layer of ``layer_rules``.
    """

    key: str
    path: str
    name: str
    items: list[Call | Scope] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    layer: tuple[LayerRule, Call, dict[str, Any]] | None = None

    def calls(self) -> Iterator[Call]:
        """All calls inside, in order."""
        for item in self.items:
            yield from _calls(item)


class NoClass(Exception):
    """A module that cannot be a class of its own; ``path`` is the module."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def scopes_of(program: ExportedProgram, opened: frozenset[str] = frozenset()) -> Scope:
    """The root of the tree. ``opened`` are modules whose items go to their parent."""
    name = next((call.modules[0].name for call in program.calls if call.modules), "Network")
    root = Scope("", "", name)
    calls = _needed(program)
    _settle_tied(calls, program)
    for call in calls:
        scope = root
        for module in call.modules[1:]:
            last = scope.items[-1] if scope.items else None
            if not (isinstance(last, Scope) and last.key == module.key):
                last = Scope(module.key, module.path, module.name)
                scope.items.append(last)
            scope = last
        scope.items.append(call)
    _simplify(root, program, opened | _called_twice(calls))
    root.outputs = list(dict.fromkeys([*references(program.results), *program.written.values()]))
    _connect(root, program, set(root.outputs))
    return root


def _needed(program: ExportedProgram) -> list[Call]:
    """The calls whose results matter, in order."""
    alive = set(references(program.results)) | set(program.written.values())
    needed: list[Call] = []
    for call in reversed(program.calls):
        kind = call.target.split(".")[1 if "." in call.target else 0]
        if kind in _WITHOUT_MEANING or call.target.startswith(("_operator", "operator", "torch.sym", "math.")):
            continue
        if alive.intersection(call.names()):
            alive.update(call.used())
            needed.append(call)
    return needed[::-1]


def _called_twice(calls: list[Call]) -> set[str]:
    """Modules that two others call, with what is inside them: their weights have one place only."""
    parents: dict[str, set[str]] = {}
    for call in calls:
        for outer, inner in zip(call.modules, call.modules[1:]):
            parents.setdefault(inner.path, set()).add(outer.path)
    twice = {path for path, found in parents.items() if len(found) > 1}
    return twice | {path for path in parents if any(path.startswith(f"{shared}.") for shared in twice)}


def _settle_tied(calls: list[Call], program: ExportedProgram) -> None:
    """A weight that several modules read belongs to the innermost of them."""
    readers: dict[str, dict[str, None]] = {}
    for call in calls:
        for name in call.used():
            if name in program.weights and call.modules:
                readers.setdefault(name, {})[call.modules[-1].path] = None
    for name, paths in readers.items():
        full = program.weights[name]
        owner, _, leaf = full.rpartition(".")
        deepest = max(paths, key=lambda path: (path.count(".") + bool(path), path == owner))
        if len(paths) > 1 and owner != deepest and not deepest.startswith(owner + "."):
            settled = f"{deepest}.{leaf}"
            program.weights[name] = settled
            program.arrays[settled], program.aliases[settled] = program.arrays[full], full
            if full in program.buffers:
                program.buffers.add(settled)


def _simplify(scope: Scope, program: ExportedProgram, opened: frozenset[str]) -> None:
    """Find the layers; take the items of scopes that cannot have a class into their parent."""
    items: list[Call | Scope] = []
    for item in scope.items:
        if isinstance(item, Scope):
            inside = list(item.calls())
            if item.path == "" or item.path in opened or _foreign(item, inside, program):
                _simplify(item, program, opened)
                items += item.items
                continue
            item.layer = layer_of(item.name, inside, program)
            if item.layer is None:
                _simplify(item, program, opened)
        items.append(item)
    scope.items = items


def _foreign(scope: Scope, calls: list[Call], program: ExportedProgram) -> bool:
    """Whether a scope reads weights of other modules."""
    used = {program.weights[name] for call in calls for name in call.used() if name in program.weights}
    return any(not weight.startswith(scope.path + ".") for weight in used)


def _connect(scope: Scope, program: ExportedProgram, wanted: set[str]) -> None:
    """Inputs and outputs of all scopes inside."""
    needed_after = set(wanted)
    for item in reversed(scope.items):
        used = list(dict.fromkeys(name for call in _calls(item) for name in _operands(call, program)))
        made = list(dict.fromkeys(name for call in _calls(item) for name in call.names()))
        if isinstance(item, Scope):
            item.outputs = [name for name in made if name in needed_after]
            item.inputs = [name for name in used if name not in set(made)]
            _connect(item, program, set(item.outputs))
        needed_after.update(used)


def _calls(item: Call | Scope) -> Iterator[Call]:
    if isinstance(item, Scope):
        yield from item.calls()
    else:
        yield item


def _operands(call: Call, program: ExportedProgram) -> Iterator[str]:
    """The values that a call reads: no weights and no sizes."""
    for name in call.used():
        if name not in program.weights and name not in program.sizes:
            yield name
