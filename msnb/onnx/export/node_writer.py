"""Nodes of a model that is written: names, constants, and dtypes that the operators of ONNX take.

emit("Add", x, y)     x, y of different dtypes, or of one that Add does not take, are cast first, by Add's schema
constants             an array is an initializer once, whoever reads it
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from msnb.base import CaptureError, reraise_interrupt
from msnb.core import WEAK, DType, Shape, TensorType, dtypes, result_dtype, tensor_type
from msnb.ir.graph import Value
from msnb.onnx.model_reader import onnx_package

__all__ = ["ModelValue", "NodeWriter", "dtype_code", "shape_of", "sizes_of", "tensor_type_of"]

_TEXTS = {"float": "float32", "double": "float64"}
_WIDER = {
    "bool": "uint8", "uint8": "int32", "int8": "int32", "uint16": "int32", "int16": "int32", "uint32": "int64",
    "int32": "int64", "int64": "float32", "uint64": "float32", "float16": "float32", "bfloat16": "float32",
    "float32": "float64",
}  # fmt: skip


@dataclass(frozen=True)
class ModelValue:
    """A value of the model.

    Attributes:
        name: in the model; "" for one that is left out.
        dtype: its element type.
        value: its array, where that is known.
        weak: a Python number, which takes the dtype of what it meets.
    """

    name: str
    dtype: DType
    value: Any = None
    weak: bool = False


LEFT_OUT = ModelValue("", dtypes.float32)


def tensor_type_of(value: Value) -> TensorType:
    """The type of a tensor of the program.

    Raises:
        CaptureError: it is no tensor.
    """
    if not isinstance(value.type, TensorType):
        raise CaptureError("the program hands on a value that is no tensor.")
    return value.type


def shape_of(value: Value) -> Shape:
    """The shape of a tensor of the program, open sizes among it."""
    return tensor_type_of(value).shape


def sizes_of(value: Value) -> tuple[int, ...]:
    """The shape of a tensor of the program.

    Raises:
        CaptureError: a size is known only when the program runs.
    """
    shape = shape_of(value)
    if not all(isinstance(n, int) for n in shape):
        raise CaptureError("this operator of ONNX needs sizes as numbers, and one is open.")
    return tuple(int(n) for n in shape)


def dtype_code(dtype: DType) -> int:
    """ONNX's number of a dtype."""
    return int(onnx_package("helper").np_dtype_to_tensor_dtype(dtype.numpy))


class NodeWriter:
    """Nodes of a graph; of one inside another where ``outer`` is given, which shares its constants and names.

    Args:
        opset: the version of ONNX's operators.

    Attributes:
        nodes, arrays: of the model; weights: names of arrays that are weights, or are computed from such.
        transposed: matrices by the names of their transposes; reshaped: names of constants by those of their reshapes.
        open_sizes: the input and the axis that a symbol is read from.
        scope: where the program is now (a path of Cells), for names of nodes.
    """

    def __init__(self, opset: int, outer: NodeWriter | None = None) -> None:
        self.opset = opset
        self.nodes: list[Any] = []
        self.arrays: dict[str, np.ndarray[Any, Any]] = {} if outer is None else outer.arrays
        self._constants: dict[Any, str] = {} if outer is None else outer._constants
        self._used: dict[str, int] = {} if outer is None else outer._used
        self.transposed: dict[str, ModelValue] = {} if outer is None else outer.transposed
        self.weights: set[str] = set() if outer is None else outer.weights
        self.reshaped: dict[str, str] = {} if outer is None else outer.reshaped
        self.open_sizes: dict[str, tuple[ModelValue, int]] = {} if outer is None else outer.open_sizes
        self.scope: str = "" if outer is None else outer.scope

    # ---- names and constants ----

    def unique(self, name: str) -> str:
        """A name that nothing else has."""
        name = name or "value"
        count = self._used.get(name, -1) + 1
        self._used[name] = count
        return self.unique(f"{name}_{count}") if count else name

    def array(self, value: Any, dtype: DType | None = None) -> ModelValue:
        """A constant."""
        data = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype.numpy)
        own = dtypes.of_numpy(data.dtype)
        if own is None:
            raise CaptureError(f"no tensor of ONNX holds {data.dtype}.")
        key = (own.name, data.shape, data.tobytes())
        if key not in self._constants:
            self._constants[key] = self.unique("constant")
            self.arrays[self._constants[key]] = data
        return ModelValue(self._constants[key], own, data)

    def ints(self, values: Any) -> ModelValue:
        """A constant of sizes or axes."""
        return self.array(np.asarray(values, np.int64))

    def number(self, value: Any) -> ModelValue:
        """A Python number, whose dtype comes from what it meets."""
        return ModelValue("", dtypes.as_dtype(type(value)), value, weak=True)

    def weight(self, name: str, value: np.ndarray[Any, Any]) -> ModelValue:
        """An initializer of this name."""
        made, dtype = self.unique(name), dtypes.of_numpy(value.dtype)
        assert dtype is not None
        self.weights.add(made)
        self.arrays[made] = value
        return ModelValue(made, dtype, value)

    # ---- nodes ----

    def emit(self, kind: str, *inputs: ModelValue | None, outputs: int = 1, **attributes: Any) -> Any:
        """Append an operator; one value, or a tuple of several.

        Args:
            kind: ONNX's name.
            inputs: None for those that are left out.
            outputs: how many results are wanted.
            attributes: those that are None are left out.
        """
        schema = self.schema(kind)
        given = [LEFT_OUT if x is None else x for x in inputs]
        bound = self._bind(schema, given)
        cast = [x if x.name == "" and not x.weak else self.cast(x, d) for x, d in zip(given, bound)]
        kinds = {formal(schema.inputs, i).type_str: d for i, d in enumerate(bound) if given[i] != LEFT_OUT}
        results = [
            self._result_dtype(schema, formal(schema.outputs, j).type_str, kinds, attributes) for j in range(outputs)
        ]
        names = [self.unique(kind.lower()) for _ in range(outputs)]
        self.append(kind, [x.name for x in cast], names, attributes)
        made = tuple(ModelValue(name, dtype) for name, dtype in zip(names, results))
        return made[0] if outputs == 1 else made

    def reshape(self, x: ModelValue, shape: Shape) -> ModelValue:
        """The elements in another shape; one open size follows from the others."""
        opened = [n for n in shape if not isinstance(n, int)]
        if len(opened) == 1 and 0 not in shape:
            target = self.ints([n if isinstance(n, int) else -1 for n in shape])
        else:
            target = self.shape(shape)
        found: ModelValue = self.emit("Reshape", x, target, allowzero=1 if 0 in shape else None)
        return found

    def shape(self, shape: Shape) -> ModelValue:
        """A shape as a value: numbers, and open sizes read from the inputs.

        Raises:
            CaptureError: a size that no input has.
        """
        if all(isinstance(n, int) for n in shape):
            return self.ints(shape)
        parts = [self.ints([n]) if isinstance(n, int) else self._size(n.symbol) for n in shape]
        found: ModelValue = self.emit("Concat", *parts, axis=0)
        return found

    def _size(self, symbol: str) -> ModelValue:
        """An open size, or a formula of such, as one number."""
        return self._formula(ast.parse(symbol, mode="eval").body)

    def _formula(self, node: ast.expr) -> ModelValue:
        if isinstance(node, ast.Constant):
            return self.ints([node.value])
        if isinstance(node, ast.Name) and node.id in self.open_sizes:
            name, axis = self.open_sizes[node.id]
            found: ModelValue = self.emit("Shape", name, start=axis, end=axis + 1)
            return found
        kinds = {ast.Add: "Add", ast.Sub: "Sub", ast.Mult: "Mul", ast.FloorDiv: "Div"}
        if isinstance(node, ast.BinOp) and type(node.op) in kinds:
            left, right = self._formula(node.left), self._formula(node.right)
            return self.emit(kinds[type(node.op)], left, right)  # type: ignore[no-any-return]
        raise CaptureError("a size that only the data tells has no place in this operator of ONNX.")

    def append(self, kind: str, inputs: Sequence[str], outputs: Sequence[str], attributes: Any) -> None:
        """Append a node as it is."""
        plain = {name: _attribute(value) for name, value in attributes.items() if value is not None}
        while inputs and not inputs[-1]:
            inputs = inputs[:-1]
        name = self.unique(f"{self.scope}/{kind}" if self.scope else kind)
        self.nodes.append(onnx_package("helper").make_node(kind, list(inputs), list(outputs), name, **plain))

    def cast(self, x: ModelValue, dtype: DType) -> ModelValue:
        """The value in another dtype; constants are converted here."""
        if x.weak or (x.value is not None and x.dtype is not dtype):
            return self.array(x.value, dtype)
        if x.dtype is dtype:
            return x
        if x.dtype.is_complex or dtype.is_complex:
            raise CaptureError(f"ONNX does not cast {x.dtype!r} to {dtype!r}.")
        name = self.unique("cast")
        self.append("Cast", [x.name], [name], {"to": dtype_code(dtype)})
        return ModelValue(name, dtype)

    def schema(self, kind: str) -> Any:
        """The operator's definition in this version.

        Raises:
            CaptureError: this version does not have it.
        """
        try:
            return onnx_package("defs").get_schema(kind, self.opset, "")
        except onnx_package("defs").SchemaError as error:
            raise CaptureError(f"ONNX's operator {kind} is not in opset {self.opset}.") from error

    def has(self, kind: str) -> bool:
        """Whether this version has the operator."""
        return bool(onnx_package("defs").has(kind, self.opset, ""))

    # ---- dtypes ----

    def _bind(self, schema: Any, given: Sequence[ModelValue]) -> list[DType]:
        """The dtype that each input gets: those that share a name of a type get one that the operator takes."""
        together: dict[str, list[ModelValue]] = {}
        for i, x in enumerate(given):
            if x != LEFT_OUT:
                together.setdefault(formal(schema.inputs, i).type_str, []).append(x)
        found = {name: self._common(schema, name, values) for name, values in together.items()}
        return [found.get(formal(schema.inputs, i).type_str, x.dtype) for i, x in enumerate(given)]

    def _common(self, schema: Any, name: str, values: Sequence[ModelValue]) -> DType:
        dtype = result_dtype(tuple(WEAK[type(x.value)] if x.weak else tensor_type((), x.dtype) for x in values))
        allowed = {text for c in schema.type_constraints if c.type_param_str == name for text in c.allowed_type_strs}
        legal = {d for d in map(_of_text, allowed or {name}) if d is not None}
        at: str | None = dtype.name
        while at is not None and dtypes.as_dtype(at) not in legal:
            at = _WIDER.get(at)
        if at is None:
            raise CaptureError(f"ONNX's operator {schema.name} does not take {dtype!r}.")
        return dtypes.as_dtype(at)

    def _result_dtype(self, schema: Any, text: str, kinds: dict[str, DType], attributes: dict[str, Any]) -> DType:
        only = [c.allowed_type_strs[0] for c in schema.type_constraints
                if c.type_param_str == text and len(c.allowed_type_strs) == 1]  # fmt: skip
        found = kinds.get(text) or _of_text(only[0] if only else text)
        if found is None and ("to" in attributes or "dtype" in attributes):
            code = attributes.get("to", attributes.get("dtype"))
            found = dtypes.of_numpy(onnx_package("helper").tensor_dtype_to_np_dtype(code))
        if found is None:
            raise CaptureError(f"the type {text} of ONNX has no dtype here.")
        return found


def formal(declared: Sequence[Any], position: int) -> Any:
    """What a schema says of the input or output at this position; the last stands for all further ones."""
    return declared[min(position, len(declared) - 1)]


def _of_text(text: str) -> DType | None:
    inner = text.removeprefix("tensor(").removesuffix(")")
    try:
        return dtypes.as_dtype(_TEXTS.get(inner, inner)) if text.startswith("tensor(") else None
    except Exception as error:  # texts, floats of 8 bits ...
        reraise_interrupt(error)
        return None


def _attribute(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    return [_attribute(v) for v in value] if isinstance(value, tuple) else value
