"""A program as a model of ONNX.

    SavedGraph  ->  nodes by the records' facts  ->  biases into Conv and Gemm  ->  what nobody reads goes  ->  checked

Weights are initializers under their Parameters' names; what depends on constants alone is computed here.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO

import numpy as np

from msnb.base import AttributeValueError, CaptureError, MsnbError, events
from msnb.base.files.atomic_write import write_whole
from msnb.core import Dim, EngineRestore, Size, Tensor, TensorType, dtypes, using
from msnb.eager.dispatch import eager
from msnb.ir import Graph, Node, SavedGraph, Value, outputs_of
from msnb.ir.builder import build
from msnb.onnx.export.block_rules import write_block
from msnb.onnx.export.expression import evaluate
from msnb.onnx.export.node_writer import ModelValue, NodeWriter, dtype_code, shape_of, tensor_type_of
from msnb.onnx.export.record_rules import translate
from msnb.onnx.model_reader import onnx_package

__all__ = ["OPSET", "model_of", "write"]

OPSET, OLDEST, IR_VERSION = 21, 13, 10
_MOST_FOLDED = 1 << 24  # elements of a constant that is computed here
_UNFOLDED = ("random", "effect", "control")


def write(saved: SavedGraph, path: str | os.PathLike[str], opset: int | None = None) -> None:
    """Write a program to a file; ``.onnx`` is appended where it is missing.

    Args:
        saved: the program.
        path: the file.
        opset: the version of ONNX's operators, 21 by default.

    Raises:
        ValueError: no such version.
        CaptureError: ONNX cannot say a part of it; all are named, with the line of the first.
        OSError: the file cannot be written.
    """
    content = model_of(saved, OPSET if opset is None else opset).SerializeToString()
    name = os.fspath(path)
    name = name if name.endswith(".onnx") else name + ".onnx"
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)

    def fill(file: BinaryIO) -> None:
        file.write(content)

    write_whole(name, fill)


def model_of(saved: SavedGraph, opset: int = OPSET) -> Any:
    """The ModelProto of a program, checked by the package ``onnx``."""
    helper, newest = onnx_package("helper"), onnx_package("defs").onnx_opset_version()
    if not isinstance(opset, int) or not OLDEST <= opset <= newest:
        raise AttributeValueError(f"opset={opset!r}: legal are {OLDEST} to {newest}, what the package onnx knows.")
    if saved.graph.state:
        events.notice(
            "the program writes to its parameters (moving averages ...), and a model of ONNX has no state: "
            "the writes are left out. net.set_train(False) exports a network as it is in evaluation.",
            "onnx state",
        )  # fmt: skip
    writer = NodeWriter(opset)
    env, inputs = _params(writer, saved)
    _GraphWriter(writer, env, saved.graph).nodes()
    outputs = [saved.graph.outputs[i] for i in outputs_of(saved.result)]
    names = [_given_out(writer, env[v], f"output_{i}" if len(outputs) > 1 else "output") for i, v in enumerate(outputs)]
    _move_biases(writer)
    nodes = _needed(writer.nodes, names)
    _name_outputs(nodes, names)
    nodes = [node for node in nodes if list(node.input) != list(node.output)]
    used = {name for node in nodes for name in _reads(node)}
    arrays = [_tensor(name, array) for name, array in writer.arrays.items() if name in used]
    declared = [_declared(name, v, saved.labels) for name, v in zip(names, outputs)]
    graph = helper.make_graph(nodes, saved.graph.name, inputs, declared, arrays)
    opsets = [helper.make_opsetid("", opset)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="msnb")
    onnx_package("checker").check_model(model, full_check=True)
    return model


def _params(writer: NodeWriter, saved: SavedGraph) -> tuple[dict[Value, ModelValue], list[Any]]:
    """What the program's params are in the model, and its declared inputs."""
    params, first = saved.graph.params, saved.inputs + len(saved.weights)
    env: dict[Value, ModelValue] = {}
    inputs = []
    for p in params[: saved.inputs]:
        name = writer.unique(p.name)
        env[p] = ModelValue(name, tensor_type_of(p).dtype)
        writer.open_sizes.update((d.symbol, (env[p], k)) for k, d in enumerate(shape_of(p)) if isinstance(d, Dim))
        inputs.append(_declared(name, p, saved.labels))
    for p, (name, weight) in zip(params[saved.inputs :], saved.weights.items()):
        env[p] = writer.weight(name, weight._host())
    if saved.draws:
        env[params[first]] = ModelValue("", dtypes.int64)
    scope = {name: writer.reshape(writer.shape((Dim(name),)), ()) for name in saved.labels if saved.formulas}
    numbers = zip(params[first + saved.draws :], saved.formulas)
    env.update((p, evaluate(text, writer, scope)) for p, text in numbers)
    return env, inputs


def _declared(name: str, value: Value, labels: Mapping[str, str]) -> Any:
    """An input or output; open sizes have their labels, or formulas of them."""

    def said(n: Size) -> int | str:
        return n if isinstance(n, int) else re.sub(r"\w+", lambda m: labels.get(m[0], m[0]), n.symbol)

    sizes = list(map(said, shape_of(value)))
    return onnx_package("helper").make_tensor_value_info(name, dtype_code(tensor_type_of(value).dtype), sizes)


def _tensor(name: str, array: Any) -> Any:
    return onnx_package("numpy_helper").from_array(np.asarray(array, order="C").reshape(array.shape), name)


def _given_out(writer: NodeWriter, x: ModelValue, name: str) -> str:
    """An output's own name: a value may be an input, a constant, or given out twice."""
    own = writer.unique(name)
    x = writer.array(x.value) if x.weak else x
    writer.append("Identity", [x.name], [own], {})
    return own


class _GraphWriter:
    """Writes the nodes of a graph.

    Args:
        writer: gets them.
        env: values by what they are called in the model.
        graph: the graph.
    """

    def __init__(self, writer: NodeWriter, env: dict[Value, ModelValue], graph: Graph) -> None:
        self.writer, self.env, self.graph = writer, env, graph

    def nodes(self) -> None:
        """Write all; what ONNX cannot say is collected, and told together."""
        failed: dict[str, MsnbError] = {}
        for node in self.graph.nodes:
            if any(v not in self.env for v in node.inputs):
                continue
            self.writer.scope = node.scope
            try:
                self.env.update(zip(node.outputs, self._written(node)))
            except CaptureError as error:
                if node.where is not None:
                    error.where = node.where.where
                failed.setdefault(error.sentence, error)
        if failed:
            first = next(iter(failed.values()))
            if len(failed) > 1:
                first.sentence = " ".join(failed)
            raise first

    def _written(self, node: Node) -> Sequence[ModelValue]:
        xs = [self.env[v] for v in node.inputs]
        if node.op.name == "constant":
            const = node.attrs["value"]
            return [self.writer.number(const.data) if const.type.weak else self.writer.array(const.data)]
        if "control" in node.op.traits:
            found: Sequence[ModelValue] = _CONTROL.get(node.op.name, _GraphWriter._unsayable)(self, node, xs)
            return found
        if "random" in node.op.traits or node.op.name == "next_key":
            raise CaptureError(
                "the program draws random numbers, which a model for inference does not.",
                hint="net.set_train(False) exports a network as it is in evaluation: without dropout.",
            )
        if "effect" in node.op.traits:
            events.notice(f"{node.op.name} is left out of the model: ONNX has values only.", f"onnx {node.op.name}")
            return xs
        if all(x.value is not None for x in xs) and _is_small(node):
            return self._folded(node, xs)
        if node.op.decomposition is not None:
            parts = partial(node.op.decomposition, **node.attrs)
            return self._inlined(build(node.op.name, [v.type for v in node.inputs], parts), xs)
        found = translate(node, self.writer, xs)
        if node.op.view == "transpose" and tuple(node.attrs["perm"]) == (1, 0):
            self.writer.transposed[found[0].name] = xs[0]
        return found

    def _folded(self, node: Node, xs: Sequence[ModelValue]) -> list[ModelValue]:
        with EngineRestore(), using(eager):
            args = [x.value if x.weak else Tensor(x.value) for x in xs]
            found = node.op(*args, **node.attrs)
        made = []
        derived = next((x.name for x in xs if x.name in self.writer.weights), "")
        for result in found if isinstance(found, tuple) else (found,):
            value = result._host()  # two weights of equal values stay two
            made.append(self.writer.weight(derived, value) if derived else self.writer.array(value))
        if node.op.view == "reshape":
            self.writer.reshaped[made[0].name] = xs[0].name
        if node.op.view == "transpose" and tuple(node.attrs["perm"]) == (1, 0):
            self.writer.transposed[made[0].name] = xs[0]
        return made

    def _raising(self, node: Node, xs: Sequence[ModelValue]) -> list[ModelValue]:
        """An error: an ``assert`` goes as Python's -O takes it away; a branch that raises has no values."""
        kind = node.attrs["fn"].error.kind
        if not node.attrs["fn"].error.guarded:
            raise CaptureError(
                f"the program raises {kind} when it runs; ONNX has values only.",
                hint="check the inputs before they come to the network, or say it as an assert, which is left out.",
            )
        events.notice(f"a check ({kind}) is left out of the model: ONNX has values only.", "onnx assert")
        return []

    def _unsayable(self, node: Node, xs: Sequence[ModelValue]) -> list[ModelValue]:
        raise CaptureError(f"ONNX has no operator for {node.op.name}.")

    # ---- control flow ----

    def _call(self, node: Node, xs: Sequence[ModelValue]) -> list[ModelValue]:
        """A function with a name is its operator, else its body."""
        callee = self.graph.module.graphs[node.attrs["callee"]]
        block = node.attrs.get("block")
        if block is not None:
            name, tensors, settings = block
            scope = {**dict(settings), **dict(zip(tensors, xs))}
            types = {name: tensor_type_of(v) for name, v in zip(tensors, node.inputs)}
            found = write_block(name, self.writer, scope, types)
            if found is not None:
                results = found if isinstance(found, tuple) else (found,)
                return [self.writer.cast(x, tensor_type_of(v).dtype) for x, v in zip(results, node.outputs)]
        return self._inlined(callee, xs)

    def _inlined(self, graph: Graph, xs: Sequence[ModelValue]) -> list[ModelValue]:
        inner = _GraphWriter(self.writer, dict(zip(graph.params, xs)), graph)
        inner.nodes()
        return [inner.env[v] for v in graph.outputs]

    def _if(self, node: Node, xs: Sequence[ModelValue]) -> Sequence[ModelValue]:
        branches = [self._body(graph, xs[1:], (), "branch") for graph in node.graphs]
        condition = self._flag(xs[0], node.inputs[0])
        return self._control("If", node, [condition], then_branch=branches[0], else_branch=branches[1])

    def _while(self, node: Node, xs: Sequence[ModelValue]) -> Sequence[ModelValue]:
        n = node.attrs["n_carry"]
        condition, body = node.graphs
        carry = [self._named(x, v) for x, v in zip(xs[:n], node.inputs)]
        start = self._inlined(condition, [*carry, *xs[n:]])[0]
        first = self._flag(start, condition.outputs[0])

        def turn(writer: _GraphWriter, own: list[ModelValue]) -> list[ModelValue]:
            new = writer._inlined(body, [*own[2:], *xs[n:]])
            new = [writer._named(x, v) for x, v in zip(new, body.outputs)]
            going = writer._inlined(condition, [*new, *xs[n:]])[0]
            return [writer._flag(going, condition.outputs[0]), *new]

        graph = self._loop_body(turn, body.params[:n])
        return self._control("Loop", node, [ModelValue("", dtypes.int64), first, *carry], body=graph)

    def _scan(self, node: Node, xs: Sequence[ModelValue]) -> Sequence[ModelValue]:
        n, m, body = node.attrs["n_carry"], node.attrs["n_xs"], node.graphs[0]
        carry = [self._named(x, v) for x, v in zip(xs[:n], node.inputs)]
        if m:
            count = len(body.outputs) - n
            way = int(node.attrs["reverse"])
            graph = self._body(body, xs[n + m :], body.params[: n + m], "turn")
            return self._control("Scan", node, [*carry, *xs[n : n + m]], body=graph, num_scan_inputs=m,
                                 scan_input_directions=[way] * m, scan_output_directions=[way] * count)  # fmt: skip
        if node.attrs["reverse"] and len(body.outputs) > n:
            raise CaptureError("a scan over nothing from its end has no operator of ONNX.")

        def turn(writer: _GraphWriter, own: list[ModelValue]) -> list[ModelValue]:
            new = writer._inlined(body, [*own[2:], *xs[n:]])
            return [own[1], *(writer._named(x, v) for x, v in zip(new, body.outputs))]

        graph = self._loop_body(turn, body.params[:n])
        start = [self.writer.ints(node.attrs["length"]), self.writer.array(True)]
        return self._control("Loop", node, [*start, *carry], body=graph)

    def _loop_body(self, turn: Any, params: Sequence[Value]) -> Any:
        """A body (number of the turn, whether it goes on, values...) of Loop."""
        inner = _GraphWriter(NodeWriter(self.writer.opset, self.writer), dict(self.env), self.graph)
        helper, writer = onnx_package("helper"), inner.writer
        own = [ModelValue(writer.unique("number"), dtypes.int64), ModelValue(writer.unique("going"), dtypes.bool_)]
        own += [ModelValue(writer.unique(p.name), tensor_type_of(p).dtype) for p in params]
        shapes: list[Any] = [[], [], *(list(tensor_type_of(p).shape) for p in params)]
        inputs = [helper.make_tensor_value_info(x.name, dtype_code(x.dtype), s) for x, s in zip(own, shapes)]
        found = turn(inner, own)
        names = [_given_out(writer, x, "next") for x in found]
        outs = [helper.make_tensor_value_info(name, dtype_code(x.dtype), None) for name, x in zip(names, found)]
        return helper.make_graph(writer.nodes, "turn", inputs, outs)

    def _body(self, graph: Graph, rest: Sequence[ModelValue], params: Sequence[Value], name: str) -> Any:
        """A graph within the model: ``params`` are its inputs, the others are read from around it."""
        inner = NodeWriter(self.writer.opset, self.writer)
        env = {p: ModelValue(inner.unique(p.name), tensor_type_of(p).dtype) for p in params}
        inputs = [_declared(env[p].name, p, {}) for p in params]
        env.update(zip(graph.params[len(params) :], rest))
        _GraphWriter(inner, env, graph).nodes()
        names = [_given_out(inner, inner.cast(env[v], tensor_type_of(v).dtype), "result") for v in graph.outputs]
        outs = [_declared(name, v, {}) for name, v in zip(names, graph.outputs)]
        return onnx_package("helper").make_graph(inner.nodes, name, inputs, outs)

    def _control(self, kind: str, node: Node, inputs: Sequence[ModelValue], **attributes: Any) -> list[ModelValue]:
        names = [self.writer.unique(kind.lower()) for _ in node.outputs]
        self.writer.append(kind, [x.name for x in inputs], names, attributes)
        return [ModelValue(name, tensor_type_of(v).dtype) for name, v in zip(names, node.outputs)]

    def _named(self, x: ModelValue, value: Value) -> ModelValue:
        """With the dtype that it has in the program."""
        return self.writer.cast(x, tensor_type_of(value).dtype)

    def _flag(self, x: ModelValue, value: Value) -> ModelValue:
        """A condition as ONNX has it: one bool."""
        flag = self.writer.cast(x, dtypes.bool_)
        if not tensor_type_of(value).shape:
            return flag
        found: ModelValue = self.writer.emit("Reshape", flag, self.writer.ints(()))
        return found


_CONTROL: dict[str, Any] = {
    "call": _GraphWriter._call, "if": _GraphWriter._if, "while": _GraphWriter._while, "scan": _GraphWriter._scan,
    "host_call": _GraphWriter._raising,
}  # fmt: skip


def _is_small(node: Node) -> bool:
    """Whether a node of constants is computed here."""
    types = [v.type for v in node.outputs]
    return not node.op.traits & set(_UNFOLDED) and all(
        isinstance(t, TensorType) and t.is_static and t.size <= _MOST_FOLDED for t in types
    )


# ---- after the last node ----


def _reads(node: Any) -> set[str]:
    """The names that a node and the graphs in it read."""
    found = set(node.input)
    for attribute in node.attribute:
        if attribute.HasField("g"):
            found.update(name for inner in attribute.g.node for name in _reads(inner))
            found.update(x.name for x in attribute.g.output)
    return found


def _needed(nodes: Sequence[Any], outputs: Sequence[str]) -> list[Any]:
    """The nodes that outputs depend on."""
    wanted, kept = set(outputs), []
    for node in reversed(nodes):
        if wanted & set(node.output):
            kept.append(node)
            wanted |= _reads(node)
    return kept[::-1]


def _move_biases(writer: NodeWriter) -> None:
    """``Add(Conv(x, w), b)`` with one number per channel is ``Conv(x, w, b)``; Gemm alike."""
    uses = Counter(name for node in writer.nodes for name in _reads(node))
    products = [node for node in writer.nodes if node.op_type in ("Conv", "Gemm") and len(node.input) == 2]
    makers = {node.output[0]: node for node in products if uses[node.output[0]] == 1}
    for node in writer.nodes:
        maker = makers.get(node.input[0]) if node.op_type == "Add" else None
        bias = None if maker is None else _bias(writer, maker, node.input[1])
        if maker is not None and bias is not None:
            maker.input.append(bias)
            maker.output[:], node.output[:] = node.output, [maker.output[0]]  # the sum is dead now


def _bias(writer: NodeWriter, maker: Any, name: str) -> str | None:
    """What is added, as a vector of one number per channel; None where it is something else."""
    bias, weight = writer.arrays.get(name), writer.arrays.get(maker.input[1])
    if bias is None or weight is None:
        return None
    shape = (len(weight), 1, 1) if maker.op_type == "Conv" else (len(weight),)
    if bias.shape[-len(shape) :] != shape or bias.size != len(weight):
        return None
    flat = writer.reshaped.get(name, "")
    if bias.ndim > 1 and flat in writer.arrays and writer.arrays[flat].shape == (bias.size,):
        return flat  # the weight itself
    return name if bias.ndim == 1 else writer.array(bias.reshape(-1)).name


def _name_outputs(nodes: Sequence[Any], names: Sequence[str]) -> None:
    """A node's result gets the name of the output that it is, once."""
    makers = {name: node for node in nodes for name in node.output}
    for node in list(nodes):
        if node.op_type != "Identity" or node.output[0] not in names:
            continue
        old, new = node.input[0], node.output[0]
        if old in makers and old not in names:
            _rename(nodes, old, new)
            makers[new] = makers.pop(old)


def _rename(nodes: Sequence[Any], old: str, new: str) -> None:
    for node in nodes:
        for place in (node.input, node.output):
            place[:] = [new if name == old else name for name in place]
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _rename(attribute.g.node, old, new)
