"""From bytes to a ModelGraph: the package ``onnx`` parses and checks, this module decodes, bounded by the file's size.

    bytes -> ModelProto -> checked -> functions inlined -> ModelGraph

A model may keep its arrays in files beside it. Such a file is opened only if it lies in the model's folder: no absolute
path, no "..", no link out of the folder, and no byte beyond its end is believed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from msnb.base import CheckpointError
from msnb.base.files.bounded_reader import read_file
from msnb.onnx.model_graph import ModelGraph, ModelInput, ModelNode

__all__ = ["as_model", "decode", "numpy_dtype", "onnx_package", "read_model"]

MOST_BYTES = 2 << 30  # protobuf's own limit
MOST_DEPTH = 24  # of graphs within graphs; protobuf itself ends at 33
_GRAPH, _GRAPHS = 5, 10  # AttributeProto's numbers of kinds


@cache
def onnx_package(part: str = "") -> Any:
    """The package ``onnx``, or one of its modules.

    Raises:
        ImportError: it is not installed.
    """
    try:
        return import_module(f"onnx.{part}" if part else "onnx")
    except ImportError as error:
        raise ImportError("ONNX models need the package onnx: pip install 'msnb[onnx]'.") from error


def refuse(why: str, **more: Any) -> CheckpointError:
    """The error of a damaged model."""
    return CheckpointError(f"the ONNX model cannot be read: {why}.", **more)


def read_model(path: str | os.PathLike[str]) -> Any:
    """A ModelProto from a file, its external arrays included.

    Raises:
        CheckpointError: missing (also a FileNotFoundError), damaged, too large, or arrays outside the model's folder.
    """
    model = as_model(read_file(path, refuse, MOST_BYTES))
    _load_external(model, Path(path).parent)
    return model


def as_model(content: bytes) -> Any:
    """A ModelProto from bytes.

    Raises:
        CheckpointError: they are no ONNX model.
    """
    model = onnx_package().ModelProto()
    try:
        model.ParseFromString(content)
    except Exception as error:  # protobuf's DecodeError has no class of its own in every version
        raise refuse("it is no protobuf message of the format") from error
    if not model.HasField("graph") or not model.opset_import:
        raise refuse("it holds no graph")
    return model


# ---- arrays in other files ----


def _tensors(graph: Any, depth: int = 0) -> Iterator[Any]:
    """Every TensorProto of a graph and the graphs in it."""
    if depth > MOST_DEPTH:
        raise refuse(f"graphs lie in each other more than {MOST_DEPTH} deep")
    yield from graph.initializer
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("t"):
                yield attribute.t
            yield from attribute.tensors
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from _tensors(inner, depth + 1)


def _load_external(model: Any, folder: Path) -> None:
    for tensor in _tensors(model.graph):
        if tensor.data_location == 1:
            _load_one(tensor, folder)


def _load_one(tensor: Any, folder: Path) -> None:
    entries = {entry.key: entry.value for entry in tensor.external_data}
    name = entries.get("location", "")
    place, home = folder / name, folder.resolve()
    if not name or os.path.isabs(name) or ".." in Path(name).parts or home not in place.resolve().parents:
        raise refuse(f"the array {tensor.name!r} lies at {name!r}, outside the model's folder")
    if place.is_symlink() or (place.exists() and place.stat().st_nlink > 1):
        raise refuse(f"the file {name!r} of the array {tensor.name!r} is a link")
    try:
        content = read_file(place, refuse)
        start, length = int(entries.get("offset", 0)), int(entries.get("length", -1))
    except FileNotFoundError as error:
        raise refuse(f"the file {name!r} of the array {tensor.name!r} is missing") from error
    except ValueError as error:
        raise refuse(f"the array {tensor.name!r} has no legal offset or length") from error
    end = len(content) if length < 0 else start + length
    if not 0 <= start <= end <= len(content):
        raise refuse(f"the array {tensor.name!r} ends beyond the end of {name!r}")
    tensor.raw_data = content[start:end]
    tensor.data_location = 0
    del tensor.external_data[:]


# ---- messages to data ----


def numpy_dtype(code: int) -> np.dtype[Any]:
    """NumPy's dtype of a number of ONNX's TensorProto.DataType.

    Raises:
        CheckpointError: there is no such number.
    """
    try:
        found: np.dtype[Any] = np.dtype(onnx_package("helper").tensor_dtype_to_np_dtype(code))
    except (KeyError, ValueError, TypeError) as error:
        raise refuse(f"{code} is no data type") from error
    return found


def decode(model: Any, known: Callable[[str, str], bool]) -> ModelGraph:
    """A ModelGraph; functions, the model's own and ONNX's, are replaced by their bodies where ``known`` is False.

    Args:
        model: a ModelProto with its arrays in it.
        known: whether an operator (domain, name) is to be kept.

    Raises:
        CheckpointError: what the model says of itself does not hold.
    """
    model = _inlined(model, known)
    opsets = {_domain(entry.domain): entry.version for entry in model.opset_import}
    return _Decoder(opsets).graph(model.graph)


def _domain(name: str) -> str:
    return "" if name == "ai.onnx" else name


def _operators(graph: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    if depth > MOST_DEPTH:
        raise refuse(f"graphs lie in each other more than {MOST_DEPTH} deep")
    for node in graph.node:
        yield _domain(node.domain), node.op_type
        for attribute in node.attribute:
            for inner in ([attribute.g] if attribute.HasField("g") else []) + list(attribute.graphs):
                yield from _operators(inner, depth + 1)


def _inlined(model: Any, known: Callable[[str, str], bool]) -> Any:
    """The model without calls of functions that nothing else implements."""
    inliner = onnx_package("inliner")
    try:
        if model.functions:
            model = inliner.inline_local_functions(model, True)
        while True:
            names = set(_operators(model.graph))
            unknown = sorted(name for name in names if not known(*name))
            if not unknown:
                return model
            if _name_bodies(model, set(unknown)):
                model = inliner.inline_local_functions(model, False)
            else:
                model = inliner.inline_selected_functions(model, unknown, False, True)
            if set(_operators(model.graph)) >= names:
                return model
    except CheckpointError:
        raise
    except Exception as error:  # the package's own errors are of many classes, some of C++
        raise refuse(f"its functions cannot be inlined ({_first_line(error)})") from error


def _name_bodies(model: Any, unknown: set[tuple[str, str]]) -> int:
    """Give nodes whose operator's body depends on types and left out inputs that body as a local function; how many.

    The package inlines such operators only where every input is there.
    """
    onnx, versions = onnx_package(), {_domain(e.domain): e.version for e in model.opset_import}
    typed = onnx_package("shape_inference").infer_shapes(model).graph
    types = {x.name: x.type for x in (*typed.value_info, *typed.input, *typed.output)}
    for tensor in model.graph.initializer:
        types[tensor.name] = onnx_package("helper").make_tensor_type_proto(tensor.data_type, list(tensor.dims))
    count = 0
    for node in model.graph.node:
        key = _domain(node.domain), node.op_type
        if key not in unknown or not onnx_package("defs").has(node.op_type, node.domain):
            continue
        schema = onnx_package("defs").get_schema(node.op_type, versions.get(key[0], 1), node.domain)
        fitting = [v for v in schema.context_dependent_function_opset_versions if v <= versions.get("", 1)]
        if not fitting:
            continue
        given = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
        found = schema.get_context_dependent_function_with_opset_version(fitting[-1], node.SerializeToString(), given)
        function = onnx.FunctionProto()
        function.ParseFromString(found)
        function.domain, function.name = "msnb.body", f"{node.op_type}_{count}"
        for entry in function.opset_import:  # later versions of what bodies use add dtypes, or are refused by the table
            entry.version = max(entry.version, versions.get(_domain(entry.domain), 1))
        node.domain, node.op_type = function.domain, function.name
        model.functions.append(function)
        count += 1
    if count:
        model.opset_import.append(onnx_package("helper").make_opsetid("msnb.body", 1))
    return count


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]


def _text(value: Any) -> str:
    """A string of the file: protobuf hands on bytes that are no UTF-8."""
    if not isinstance(value, str):
        raise refuse(f"a name in it is no text ({value[:20]!r})")
    return value


class _Decoder:
    """Messages of one model, whose opsets every graph in it shares."""

    def __init__(self, opsets: dict[str, int]) -> None:
        self.opsets = opsets

    def graph(self, message: Any, around: frozenset[str] = frozenset(), depth: int = 0) -> ModelGraph:
        """A graph; ``around`` are the names that it may read from outside."""
        if depth > MOST_DEPTH:
            raise refuse(f"graphs lie in each other more than {MOST_DEPTH} deep")
        constants = {_text(tensor.name): self.array(tensor) for tensor in message.initializer}
        for sparse in message.sparse_initializer:
            constants[_text(sparse.values.name)] = self.dense(sparse)
        inputs = tuple(self.declared(x) for x in message.input if x.name not in constants)
        outputs = tuple(self.declared(x) for x in message.output)
        given = {*around, *constants, *(x.name for x in inputs)}
        nodes = []
        for part in message.node:
            nodes.append(self.node(part, given, depth))
            given.update(nodes[-1].outputs)
        missing = [x.name for x in outputs if x.name not in given]
        if missing:
            raise refuse(f"nothing gives the output {missing[0]!r} of the graph {message.name!r}")
        return ModelGraph(_text(message.name), inputs, outputs, constants, nodes, self.opsets)

    def declared(self, info: Any) -> ModelInput:
        if not info.type.HasField("tensor_type"):
            return ModelInput(_text(info.name), None, None)
        tensor = info.type.tensor_type
        dtype = numpy_dtype(tensor.elem_type) if tensor.elem_type else None
        if not tensor.HasField("shape"):
            return ModelInput(_text(info.name), dtype, None)
        sizes = tuple(d.dim_value if d.HasField("dim_value") else _text(d.dim_param) or None for d in tensor.shape.dim)
        return ModelInput(_text(info.name), dtype, sizes)

    def array(self, tensor: Any) -> np.ndarray[Any, Any]:
        """A TensorProto's array; what it says of its size must be what it holds."""
        name, places = tensor.name, int(np.prod([max(int(d), 0) for d in tensor.dims], dtype=object))
        if tensor.data_location == 1:  # the package would open the file, wherever it lies
            raise refuse(f"the array {name!r} lies in another file, and is no initializer or constant of the model")
        if any(d < 0 for d in tensor.dims):
            raise refuse(f"the array {name!r} has a negative size")
        if places > 8 * tensor.ByteSize() + 8:  # two bits are the smallest element
            raise refuse(f"the array {name!r} says that it has {places} elements, and holds fewer")
        try:
            found: np.ndarray[Any, Any] = onnx_package("numpy_helper").to_array(tensor)
        except Exception as error:  # whatever a lying message makes the package raise
            raise refuse(f"the array {name!r} is damaged ({_first_line(error)})") from error
        return found

    def dense(self, sparse: Any) -> np.ndarray[Any, Any]:
        """A SparseTensorProto as an array."""
        values, places = self.array(sparse.values), self.array(sparse.indices)
        shape = tuple(int(d) for d in sparse.dims)
        if any(d < 0 for d in shape) or int(np.prod(shape, dtype=object)) > (1 << 28):
            raise refuse(f"the sparse array {sparse.values.name!r} has no believable size")
        out = np.zeros(shape, values.dtype)
        try:
            if places.ndim == 1:
                out.reshape(-1)[places] = values
            else:
                out[tuple(places.T)] = values
        except (IndexError, ValueError) as error:
            raise refuse(f"the sparse array {sparse.values.name!r} has places outside it") from error
        return out

    def node(self, message: Any, given: set[str], depth: int) -> ModelNode:
        """A node; it reads names that are given before it."""
        around = frozenset(given) if any(a.type in (_GRAPH, _GRAPHS) for a in message.attribute) else frozenset()
        attributes = {_text(a.name): self.attribute(a, around, depth) for a in message.attribute}
        inputs, outputs = (tuple(map(_text, names)) for names in (message.input, message.output))
        node = ModelNode(
            _text(_domain(message.domain)), _text(message.op_type), inputs, outputs, attributes, _text(message.name)
        )
        missing = [name for name in inputs if name and name not in given]
        if missing:
            raise refuse(f"nothing before {node} gives {missing[0]!r}")
        return node

    def attribute(self, a: Any, around: frozenset[str], depth: int) -> Any:
        # one branch for each kind of value that the format has
        if a.type == _GRAPH:
            return self.graph(a.g, around, depth + 1)
        if a.type == _GRAPHS:
            return [self.graph(g, around, depth + 1) for g in a.graphs]
        kinds: dict[int, Callable[[], Any]] = {
            1: lambda: a.f,
            2: lambda: a.i,
            3: lambda: a.s.decode("utf-8", "replace"),
            4: lambda: self.array(a.t),
            6: lambda: list(a.floats),
            7: lambda: list(a.ints),
            8: lambda: [s.decode("utf-8", "replace") for s in a.strings],
            9: lambda: [self.array(t) for t in a.tensors],
            11: lambda: self.dense(a.sparse_tensor),
            13: lambda: a.tp,
        }
        if a.type not in kinds:
            raise refuse(f"the attribute {a.name!r} is of a kind ({a.type}) that no operator takes")
        return kinds[a.type]()
