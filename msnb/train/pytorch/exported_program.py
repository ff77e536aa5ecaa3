"""A program that PyTorch exported: its operator calls, where each stood, its weights and the form of its results.

    ExportedProgram   calls in order, inputs, outputs, the types of all values
    Call              one operator (``aten.conv2d.default``) with arguments by name, and the stack of modules around it
    Ref               a value by name: a result of a call, an input, a weight; a size that is known when it runs

``decode_program`` makes it of the JSON that ``torch.export.save`` writes.
Source: https://docs.pytorch.org/docs/stable/export.html
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msnb.base import MsnbError
from msnb.base.files.bounded_reader import Refuse

DTYPES = {1: "uint8", 2: "int8", 3: "int16", 4: "int32", 5: "int64", 6: "float16", 7: "float32", 8: "float64",
          10: "complex64", 11: "complex128", 12: "bool_", 13: "bfloat16", 28: "uint16", 29: "uint32",
          30: "uint64"}  # fmt: skip
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")
_SYMBOL = re.compile(r"Symbol\('(\w+)'[^)]*\)")


@dataclass(frozen=True)
class Ref:
    """A value by its name."""

    name: str


@dataclass(frozen=True)
class DtypeArgument:
    """A dtype among the arguments, by its name here."""

    name: str


@dataclass(frozen=True)
class ValueType:
    """Shape and dtype of a tensor; sizes that are known when it runs are texts."""

    shape: tuple[int | str, ...]
    dtype: str


@dataclass(frozen=True)
class Module:
    """One step of the stack of modules around a call: "b.0" of the class "BasicBlock"; ``key`` tells calls apart."""

    key: str
    path: str
    name: str


@dataclass
class Call:
    """One operator's call.

    Attributes:
        target: "aten.conv2d.default".
        arguments: by name: Ref, numbers, texts, lists of these, DtypeArgument, ExportedProgram (a branch), None.
        results: names; a list where one result is a list of tensors; None where the operator has nothing to give.
        modules: the stack of modules, outermost first; empty for what the exporter put in.
        line: where the user's program stood.
    """

    target: str
    arguments: dict[str, Any]
    results: list[Any]
    modules: tuple[Module, ...]
    line: str

    def names(self) -> Iterator[str]:
        """All result names, those in lists too."""
        for result in self.results:
            if isinstance(result, list):
                yield from (name for name in result if name)
            elif result:
                yield result

    def used(self) -> Iterator[str]:
        """The names of all values that it reads."""
        yield from references(list(self.arguments.values()))


@dataclass
class ExportedProgram:
    """A graph of calls.

    Attributes:
        calls: in order.
        inputs: what the user gives, in order: name, or a constant.
        weights: value name -> the name of the parameter, buffer or constant tensor that it is.
        buffers: those names that take no gradient.
        results: what comes out: Refs and constants, flat.
        types: of all tensors, by value name.
        sizes: values that are sizes -> their formula.
        written: buffers that the program writes: weight name -> the value.
        input_tree, result_tree: how inputs and results are nested (``torch.utils._pytree``).
        arrays: the weights. aliases: names that weights of several modules have here -> their names in the file.
    """

    calls: list[Call]
    inputs: list[Any]
    weights: dict[str, str]
    buffers: set[str]
    results: list[Any]
    types: dict[str, ValueType]
    sizes: dict[str, str]
    written: dict[str, str] = field(default_factory=dict)
    input_tree: Any = None
    result_tree: Any = None
    argument_names: list[str] = field(default_factory=list)
    arrays: dict[str, Any] = field(default_factory=dict)
    aliases: dict[str, str] = field(default_factory=dict)


def references(value: Any) -> Iterator[str]:
    """The names of the values inside an argument."""
    if isinstance(value, Ref):
        yield value.name
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from references(part)


def decode_program(page: Any, refuse: Refuse) -> ExportedProgram:
    """The program on a page of JSON.

    Raises:
        What ``refuse`` makes: the page has another form than PyTorch 2.5 to 2.13 write.
    """
    try:
        module = page["graph_module"]
        return _Decoder(module["graph"]).program(module)
    except MsnbError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RecursionError) as error:
        raise refuse(f"its graph has another form than PyTorch 2.5 to 2.13 write ({error!r})") from None


class _Decoder:
    """Reads one graph of the page."""

    def __init__(self, graph: Mapping[str, Any]) -> None:
        self.graph = graph

    def program(self, module: Mapping[str, Any] | None) -> ExportedProgram:
        graph = self.graph
        found = ExportedProgram(
            calls=[self.call(node) for node in graph["nodes"]],
            inputs=[self.argument(value) for value in graph["inputs"]],
            weights={}, buffers=set(), results=[self.argument(value) for value in graph["outputs"]],
            types={name_of(name): self.type(meta) for name, meta in graph["tensor_values"].items()},
            sizes={name_of(name): self.size(meta) for name, meta in graph["sym_int_values"].items()},
        )  # fmt: skip
        if module is not None:
            self.sign(found, module)
        return found

    def sign(self, program: ExportedProgram, module: Mapping[str, Any]) -> None:
        """Which inputs are weights, which results are the user's."""
        inputs: list[Any] = []
        for spec, value in zip(module["signature"]["input_specs"], program.inputs, strict=True):
            (kind, entry), = spec.items()
            if kind == "user_input":
                inputs.append(value)
            elif kind == "constant_input":
                inputs.append(self.argument(entry["value"]))
            elif kind in _WEIGHTS:
                program.weights[value.name] = str(entry[_WEIGHTS[kind]])
                if kind != "parameter":
                    program.buffers.add(program.weights[value.name])
            elif kind not in ("token", "custom_obj"):
                raise ValueError(f"an input of the kind {kind!r}")
        results: list[Any] = []
        for spec, value in zip(module["signature"]["output_specs"], program.results, strict=True):
            (kind, entry), = spec.items()
            if kind == "user_output":
                results.append(value)
            elif kind == "buffer_mutation":
                program.written[str(entry["buffer_name"])] = value.name
        program.inputs, program.results = inputs, results
        root = next((row["signature"] for row in module["module_call_graph"] if row["fqn"] == ""), None)
        if root:
            program.input_tree, program.result_tree = tree_of(root["in_spec"]), tree_of(root["out_spec"])
            program.argument_names = [name_of(name) for name in root.get("forward_arg_names") or ()]

    def call(self, node: Mapping[str, Any]) -> Call:
        meta = node.get("metadata") or {}
        return Call(
            str(node["target"]).removeprefix("torch.ops."),
            {name_of(row["name"] or f"operand_{i}"): self.argument(row["arg"]) for i, row in enumerate(node["inputs"])},
            [self.result(value) for value in node["outputs"]],
            tuple(_modules(meta.get("nn_module_stack") or "")), str(meta.get("stack_trace") or ""),
        )  # fmt: skip

    def result(self, value: Mapping[str, Any]) -> Any:
        (kind, entry), = value.items()
        if kind == "as_tensors":
            return [name_of(part["name"]) for part in entry]
        if kind in ("as_optional_tensors",):
            return [name_of(part["as_tensor"]["name"]) if "as_tensor" in part else None for part in entry]
        if kind == "as_none":
            return None
        if kind in ("as_sym_int", "as_sym_bool", "as_sym_float", "as_tensor"):
            name = entry.get("name") or entry.get("as_name")
            return name_of(name) if name else None
        return None

    def argument(self, value: Mapping[str, Any]) -> Any:
        """What stands for an argument (``Call.arguments``)."""
        (kind, entry), = value.items()
        if kind in _PLAIN:
            return _PLAIN[kind](entry)
        if kind == "as_tensor":
            return Ref(name_of(entry["name"]))
        if kind == "as_tensors":
            return [Ref(name_of(part["name"])) for part in entry]
        if kind in ("as_optional_tensor", "as_sym_int", "as_sym_bool", "as_sym_float"):
            return self.symbolic(entry)
        if kind in ("as_optional_tensors", "as_sym_ints", "as_sym_floats", "as_sym_bools"):
            return [self.symbolic(part) for part in entry]
        if kind == "as_graph":
            return _Decoder(entry["graph"]).program(None)
        raise ValueError(f"an argument of the kind {kind!r}")

    def symbolic(self, entry: Mapping[str, Any]) -> Any:
        (kind, value), = entry.items()
        return Ref(name_of(value)) if kind == "as_name" else self.argument(entry)

    def type(self, meta: Mapping[str, Any]) -> ValueType:
        return ValueType(tuple(_size(size) for size in meta["sizes"]), DTYPES.get(meta["dtype"], "float32"))

    def size(self, meta: Mapping[str, Any]) -> str:
        return str(_size(meta))


_WEIGHTS = {"parameter": "parameter_name", "buffer": "buffer_name", "tensor_constant": "tensor_constant_name"}
_PLAIN: dict[str, Any] = {
    "as_none": lambda _: None, "as_int": int, "as_float": float, "as_bool": bool, "as_string": str,
    "as_ints": lambda v: [int(n) for n in v], "as_floats": lambda v: [float(n) for n in v],
    "as_bools": lambda v: [bool(n) for n in v], "as_strings": lambda v: [str(n) for n in v],
    "as_int_lists": lambda v: [[int(n) for n in row] for row in v],
    "as_scalar_type": lambda v: DtypeArgument(DTYPES[v]), "as_memory_format": lambda _: None,
    "as_layout": lambda _: None, "as_device": lambda _: None, "as_operator": str,
    "as_complex": lambda v: complex(v["real"], v["imag"]),
}  # fmt: skip


def name_of(text: Any) -> str:
    """A name of the file, which becomes a name in a source: nothing but an identifier will do."""
    name = str(text)
    if not _IDENTIFIER.match(name):
        name = "_" + re.sub(r"[^A-Za-z0-9_]", "_", name)
    return name


def _size(size: Mapping[str, Any]) -> int | str:
    """A number, or the formula of a size in the names of open sizes."""
    return int(size["as_int"]) if "as_int" in size else _SYMBOL.sub(r"\1", str(size["as_expr"]["expr_str"]))


def _modules(stack: str) -> Iterator[Module]:
    """Steps of a stack: "key,path,class;key,path,class"."""
    for step in stack.split(";"):
        key, comma, rest = step.partition(",")
        path, _, name = rest.partition(",")
        if comma and not key.startswith("_empty_nn_module_stack"):
            path = path.removeprefix("L['self']").strip(".").replace("slice(None, None, None)", "")
            yield Module(key, path.split("@")[0], name.split(",")[-1])


def tree_of(text: str) -> Any:
    """The nesting that a text of ``torch.utils._pytree`` says: None for a value, else (kind, keys, parts)."""
    return _tree(json.loads(text)[1])


def _tree(node: Mapping[str, Any]) -> Any:
    if node["type"] is None:
        return None
    kind = str(node["type"])
    parts = [_tree(part) for part in node["children_spec"]]
    keys = json.loads(node["context"]) if isinstance(node["context"], str) else node["context"]
    while isinstance(keys, list) and len(keys) == 2 and isinstance(keys[1], list):  # a class and its keys
        keys = keys[1]
    named = isinstance(keys, list) and len(keys) == len(parts) and all(isinstance(key, str) for key in keys)
    if named and "tuple" not in kind.split(".")[-1].lower():
        return "dict", keys, parts
    return ("list" if kind == "builtins.list" else "tuple"), None, parts
