"""An ONNX model in ATen's words, so that it is written out as Cells like a program of PyTorch.

    Conv(x, w, b), pads=[1, 1, 1, 1]   ->   aten.conv2d(input=x, weight=w, bias=b, padding=[1, 1]) in the module "conv1"

Modules are those of the names of nodes ("/layer1/layer1.0/conv1/Conv"); a node that is a layer has a module of its own,
named after its weights. Shapes that the model computes stay numbers of Python. What has no counterpart becomes a stub.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np

from msnb.core import dtypes
from msnb.onnx.model_graph import ModelNode
from msnb.onnx.program import OnnxProgram
from msnb.train.pytorch.exported_program import Call, ExportedProgram, Module, Ref, ValueType, name_of
from msnb.train.pytorch.operators.onnx_rules import RULES

MOST_LITERAL = 64  # numbers of a constant that is written out
_LAYERS = {"Conv": "Conv{n}d", "Gemm": "Linear", "BatchNormalization": "BatchNorm2d", "LayerNormalization": "LayerNorm"}
_LEAVES = ("weight", "bias", "running_mean", "running_var")


def translate_model(program: OnnxProgram) -> ExportedProgram:
    """The same program in calls of ATen."""
    return Translator(program).translated()


class Translator:
    """Walks the nodes; rules of ``onnx_rules`` add calls."""

    def __init__(self, program: OnnxProgram) -> None:
        program.fold()
        model = program.model
        self.model = model
        self.opset: int = model.opsets.get("", 1)
        self.arrays = {name: weight.asnumpy() for name, weight in program.weights.items()}
        self.constants: dict[str, Any] = dict(program.constants)
        self.names: dict[str, str] = {}
        self.numbers: set[str] = set()  # values that are numbers of Python: shapes and what is made of them
        self.found: ExportedProgram = ExportedProgram([], [], {}, set(), [], {}, {})
        self.readers: Counter[str] = Counter(name for node in model.nodes for name in node.inputs)
        self.node: ModelNode = model.nodes[0] if model.nodes else ModelNode("", "", (), (), {})
        self.modules: tuple[Module, ...] = ()
        self.taken: set[str] = set()

    def translated(self) -> ExportedProgram:
        """The whole program."""
        from_model = self.model
        self.found.inputs = [Ref(self.name(value.name)) for value in from_model.inputs]
        self.found.argument_names = [self.name(value.name) for value in from_model.inputs]
        for value in from_model.inputs:
            self.note_type(value.name, value.dtype, value.shape)
        for node in from_model.nodes:
            self.node, self.modules = node, self.stack(node)
            rule = RULES.get(node.kind) if not node.domain else None
            try:
                if rule is None:
                    raise ValueError(node.kind)
                rule(self, node)
            except (ValueError, KeyError, IndexError, TypeError, AttributeError):
                self.stub(node)
        self.found.results = [self.value(value.name) for value in from_model.outputs]
        parts = [None] * len(self.found.results)
        self.found.result_tree = None if len(parts) == 1 else ("tuple", None, parts)
        self.found.arrays = {full: self.arrays[name] for name, full in self.weight_names.items()}
        return self.found

    # ---- values ----

    @property
    def weight_names(self) -> dict[str, str]:
        back = {short: name for name, short in self.names.items()}
        return {back[short]: full for short, full in self.found.weights.items()}

    def name(self, name: str) -> str:
        """A value's name as an identifier."""
        if name not in self.names:
            base = re.sub(r"\W", "_", name)
            base = name_of(base if base[:1].isalpha() else "v_" + base)
            short, count = base, 1
            while short in self.taken:
                count += 1
                short = f"{base}_{count}"
            self.taken.add(short)
            self.names[name] = short
        return self.names[name]

    def note_type(self, name: str, dtype: Any, shape: Any) -> None:
        kind = dtypes.of_numpy(np.dtype(dtype)) if dtype is not None else None
        sizes = tuple(n if isinstance(n, int) else "?" for n in shape or ())
        self.found.types[self.name(name)] = ValueType(sizes, _dtype_name(kind) if kind else "float32")

    def value(self, name: str) -> Any:
        """What stands for an input: a Ref, the numbers of a small constant, None where it is left out."""
        if not name:
            return None
        if name in self.constants:
            array = np.asarray(self.constants[name])
            if array.ndim <= 1 and array.size <= MOST_LITERAL and array.dtype.kind in "biuf":
                return array.tolist()
            self.arrays[name] = array
        if name in self.arrays:
            self.weight(name, self.path_of(name) or identifier_path(name), frozen=name in self.constants)
        return Ref(self.name(name))

    def array(self, name: str) -> Any:
        """The numbers of a constant. Raises KeyError where it is none."""
        return np.asarray(self.constants[name] if name in self.constants else self.arrays[name])

    def weight(self, name: str, full: str, frozen: bool = False) -> None:
        """Note a value as the weight of this name."""
        short = self.name(name)
        if short in self.found.weights:
            return
        array = np.asarray(self.arrays[name])
        self.found.weights[short] = full
        kind = dtypes.of_numpy(array.dtype)
        self.found.types[short] = ValueType(array.shape, _dtype_name(kind))
        if frozen or full.endswith(("running_mean", "running_var")):
            self.found.buffers.add(full)

    def path_of(self, name: str) -> str | None:
        """The weight's own name, where it is a path of names."""
        return name if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*", name) else None

    # ---- calls ----

    def call(self, target: str, arguments: dict[str, Any], results: list[Any] | None = None) -> Ref:
        """Add a call; its results are the node's, unless others are named."""
        made = [self.name(name) for name in self.node.outputs if name] if results is None else results
        self.found.calls.append(Call(target, arguments, made, self.modules, ""))
        return Ref(made[0] if not isinstance(made[0], list) else made[0][0])

    def step(self, target: str, arguments: dict[str, Any]) -> Ref:
        """A call whose result only the next one reads."""
        return self.call(target, arguments, [self.name(f"{self.node.outputs[0]} step {len(self.found.calls)}")])

    def stub(self, node: ModelNode) -> None:
        arguments = {f"x{i}": self.value(name) for i, name in enumerate(node.inputs)}
        settings = {key: value for key, value in node.attributes.items() if isinstance(value, (int, float, str, list))}
        self.call(f"onnx.{node.kind}", arguments | settings)

    # ---- modules ----

    def stack(self, node: ModelNode) -> tuple[Module, ...]:
        """The modules around a node: those of its name, and its own where it is a layer."""
        path = self.layer_path(node)
        root = Module("", "", "Network")
        if path is not None:
            return (root, *_modules(path, self.layer_class(node)))
        return (root, *_modules(node_path(node.name) or self.owner_of(node), ""))

    def owner_of(self, node: ModelNode) -> str:
        """Where nodes have no names: the module whose weight a node reads."""
        weights = [name for name in node.inputs if name in self.arrays or name in self.constants]
        owners = {name.rpartition(".")[0] for name in weights if "." in name and self.path_of(name)}
        return owners.pop() if len(owners) == 1 else ""

    def layer_class(self, node: ModelNode) -> str:
        rank = self.array(node.inputs[1]).ndim - 2 if node.kind == "Conv" else 0
        return "torch.nn." + _LAYERS[node.kind].format(n=rank)

    def layer_path(self, node: ModelNode) -> str | None:
        """The module of a layer; its weights take the names of the layer's."""
        weights = [name for name in node.inputs[1:] if name]
        if node.kind not in _LAYERS or node.domain or not self._owns(node, weights):
            return None
        owners = {name.rpartition(".")[0] for name in weights if self.path_of(name)}
        path = owners.pop() if len(owners) == 1 and "" not in owners else ""
        path = path or node_path(node.name) or identifier_path(_common(weights))
        taken = {full.rpartition(".")[0] for full in self.found.weights.values()}
        while path in taken:
            path += "_"
        for name, leaf in zip(weights, _LEAVES, strict=False):
            self.arrays.setdefault(name, np.asarray(self.constants.pop(name, 0)))
            self.weight(name, f"{path}.{leaf}")
        return path

    def _owns(self, node: ModelNode, weights: list[str]) -> bool:
        """Whether a node alone reads its weights, in a form that the layer has."""
        alone = all((name in self.arrays or name in self.constants) and self.readers[name] == 1 for name in weights)
        if node.kind == "Gemm":
            settings = node.attributes
            return alone and settings.get("transB") == 1 and not settings.get("transA") and \
                settings.get("alpha", 1.0) == settings.get("beta", 1.0) == 1.0  # fmt: skip
        return alone and bool(weights)


def _common(names: list[str]) -> str:
    """What names of weights begin with: "conv1" of "conv1_w_0" and "conv1_b_0"."""
    first = names[0]
    end = next((i for i in range(len(first)) if any(name[: i + 1] != first[: i + 1] for name in names)), len(first))
    return re.sub(r"[\W_]*(w|b|weight|scale)?(_\d+)?$", "", first[:end]) or first


def identifier_path(name: str) -> str:
    """A name as a path of one step."""
    text = re.sub(r"\W+", "_", name).strip("_")
    return text if text[:1].isalpha() else f"layer_{text}"


def node_path(name: str) -> str:
    """The path of modules in a node's name: "layer1.0.conv1" of "/layer1/layer1.0/conv1/Conv"."""
    steps = [step for step in name.split("/")[:-1] if step]
    path: list[str] = []
    for step in steps if name.startswith("/") else steps[1:]:
        last = path[-1] if path and not path[-1].isdigit() else path[-2] if len(path) > 1 else ""
        inside = step[len(last) + 1 :] if last and step.startswith(last + ".") else step
        path += [re.sub(r"\W", "_", part) for part in inside.split(".") if part]
    return ".".join(path)


def _modules(path: str, own: str) -> list[Module]:
    """A module per step of a path; the last one's class is ``own``."""
    steps = path.split(".") if path else []
    found = []
    for i, step in enumerate(steps):
        inside = ".".join(steps[: i + 1])
        word = next((s for s in reversed(steps[: i + 1]) if not s.isdigit()), "Part")
        name = re.sub(r"\d+$", "", word).title().replace("_", "") or "Part"
        if step.isdigit():
            name = name[:-1] if name.endswith("s") else name + "Block"
        last = i + 1 == len(steps)
        # a container of numbered modules is no module that was called
        if last or not steps[i + 1].isdigit():
            found.append(Module(inside, inside, own if last and own else name))
    return found


def _dtype_name(kind: Any) -> str:
    return {"bool": "bool_"}.get(kind.numpy.name, str(kind.numpy.name))
