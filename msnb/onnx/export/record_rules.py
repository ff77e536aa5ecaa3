"""What a node is in ONNX, by the facts of its record.

onnx          a text (``expression``), or the name of a rule below; where it is not given:
scalar        an element-wise record: the text itself
reduction     ReduceSum, ReduceMax ...
view          Reshape, Expand, Transpose, Slice
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from msnb.base import CaptureError
from msnb.core import Dim, dtypes, result_dtype
from msnb.ir.graph import Node
from msnb.onnx.export.expression import evaluate
from msnb.onnx.export.index_rules import index, slice_, write_box
from msnb.onnx.export.node_writer import ModelValue, NodeWriter, shape_of, sizes_of, tensor_type_of
from msnb.ops.definition.record import Op

__all__ = ["translate"]

Values = Sequence[ModelValue]


def translate(node: Node, writer: NodeWriter, xs: Values) -> list[ModelValue]:
    """The node's results; of the dtypes that it has here.

    Raises:
        CaptureError: ONNX has no way to say it.
    """
    op = node.op
    if op.promotes:
        common = result_dtype(tuple(map(tensor_type_of, node.inputs)))
        xs = [writer.cast(x, common) for x in xs]
    found = _said(op, writer, node, xs)
    if found is None:
        raise CaptureError(f"ONNX has no operator for {op.name}.")
    results = list(found) if isinstance(found, tuple) else [found]
    if not isinstance(results[0], ModelValue):  # a number: ones_like
        shape, value = shape_of(node.out), writer.array(results[0])
        results = [writer.emit("Expand", value, writer.shape(shape))]
    return [writer.cast(x, tensor_type_of(v).dtype) for x, v in zip(results, node.outputs)]


def _said(op: Op, writer: NodeWriter, node: Node, xs: Values) -> Any:
    """By the first fact that says it."""
    if op.onnx and "(" not in op.onnx:
        return _RULES[op.onnx](writer, node, xs)
    if op.onnx or op.scalar:
        return _by_text(op.onnx or op.scalar or "", writer, node, xs)
    if op.reduction:
        return _reduction(writer, node, xs)
    return _VIEWS[op.view](writer, node, xs) if op.view else None


def _by_text(text: str, writer: NodeWriter, node: Node, xs: Values) -> Any:
    if "floating" in node.op.traits:
        xs = [writer.cast(x, tensor_type_of(node.out).dtype) for x in xs]
    names = [name.lstrip("*") for name in node.op.inputs]
    scope: dict[str, Any] = dict(node.attrs)
    scope.update(zip(names, xs))
    if node.op.variadic:
        scope[names[-1]] = tuple(xs[len(names) - 1 :])
    return evaluate(text, writer, scope)


# ---- reductions ----

_REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin",
               "any": "ReduceMax", "all": "ReduceMin", "count_nonzero": "ReduceSum"}  # fmt: skip
_OF_FLAGS = ("any", "all", "count_nonzero")


def _reduction(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    x, kind, axes = xs[0], node.op.reduction, _axes(node)
    before, after = shape_of(node.inputs[0]), shape_of(node.out)
    if kind in _OF_FLAGS:
        x = writer.cast(evaluate("x != 0", writer, {"x": x}), dtypes.int32)
    elif kind in ("sum", "mean", "prod", "var"):
        x = writer.cast(x, tensor_type_of(node.out).dtype)
    if kind == "var":
        return _variance(writer, node, x, axes)
    found = _reduced(writer, _REDUCTIONS[kind], x, axes, bool(node.attrs.get("keepdims", False))) if axes else x
    if "shape" in node.attrs and len(before) - len(axes) != len(after):
        found = writer.reshape(found, after)
    return evaluate("x != 0", writer, {"x": found}) if kind in ("any", "all") else found


def _axes(node: Node) -> list[int]:
    """The axes that are reduced: those named (none named: all), or those that differ from the shape asked for."""
    before = shape_of(node.inputs[0])
    if "shape" not in node.attrs:
        axis = node.attrs["axis"]
        named = (axis,) if isinstance(axis, int) else axis
        return [i % len(before) for i in named] if named else list(range(len(before)))
    new = len(before) - len(shape_of(node.out))
    padded = (1,) * new + shape_of(node.out)
    return [i for i, (n, m) in enumerate(zip(before, padded)) if n != m or i < new]


def _reduced(writer: NodeWriter, kind: str, x: ModelValue, axes: Sequence[int], keep: bool) -> ModelValue:
    """Over axes, which are an input since version 13 of the sum and 18 of the others."""
    if writer.opset >= (13 if kind == "ReduceSum" else 18):
        found: ModelValue = writer.emit(kind, x, writer.ints(axes), keepdims=keep)
    else:
        found = writer.emit(kind, x, axes=tuple(axes), keepdims=keep)
    return found


def _variance(writer: NodeWriter, node: Node, x: ModelValue, axes: Sequence[int]) -> ModelValue:
    keep, less = bool(node.attrs["keepdims"]), node.attrs["ddof"]
    centred = writer.emit("Sub", x, _reduced(writer, "ReduceMean", x, axes, True))
    squares = writer.emit("Mul", centred, centred)
    if not less:
        return _reduced(writer, "ReduceMean", squares, axes, keep)
    sizes = sizes_of(node.inputs[0])
    count = writer.number(float(math.prod(sizes[i] for i in axes) - less))
    return writer.emit("Div", _reduced(writer, "ReduceSum", squares, axes, keep), count)  # type: ignore[no-any-return]


# ---- views ----


def _transpose(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    found: ModelValue = writer.emit("Transpose", xs[0], perm=tuple(node.attrs["perm"]))
    return found


_VIEWS: dict[str, Callable[[NodeWriter, Node, Values], ModelValue]] = {
    "reshape": lambda writer, node, xs: writer.reshape(xs[0], shape_of(node.out)),
    "identity": lambda writer, node, xs: xs[0],
    "broadcast": lambda writer, node, xs: writer.emit("Expand", xs[0], writer.shape(shape_of(node.out))),
    "transpose": _transpose,
    "slice": slice_,
    "index": index,
}

# ---- the other rules ----


def _channels_first(writer: NodeWriter, node: Node, x: ModelValue) -> ModelValue:
    last = node.attrs["data_format"] == "NHWC"
    return writer.emit("Transpose", x, perm=(0, 3, 1, 2)) if last else x


def _channels_back(writer: NodeWriter, node: Node, y: ModelValue) -> ModelValue:
    last = node.attrs["data_format"] == "NHWC"
    return writer.emit("Transpose", y, perm=(0, 2, 3, 1)) if last else y


def _pads(pads: Sequence[int]) -> tuple[int, ...]:
    """Top, bottom, left, right here; all beginnings, then all ends there."""
    return (*pads[::2], *pads[1::2])


def _conv2d(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    a = node.attrs
    y = writer.emit("Conv", _channels_first(writer, node, xs[0]), xs[1], strides=a["stride"], pads=_pads(a["pads"]),
                    dilations=a["dilation"], group=a["groups"])  # fmt: skip
    return _channels_back(writer, node, y)


def _pool2d(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    a = node.attrs
    average = "count_include_pad" in a
    y = writer.emit("AveragePool" if average else "MaxPool", _channels_first(writer, node, xs[0]),
                    kernel_shape=a["kernel"], strides=a["stride"], pads=_pads(a["pads"]), ceil_mode=a["ceil_mode"],
                    count_include_pad=a.get("count_include_pad"))  # fmt: skip
    return _channels_back(writer, node, y)


def _matmul(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    """``x @ weight.T`` of matrices is Gemm, as other frameworks write it."""
    weight = writer.transposed.get(xs[1].name)
    if weight is not None and len(shape_of(node.inputs[0])) == 2 and xs[0].dtype.is_float:
        return writer.emit("Gemm", xs[0], weight, transB=1)  # type: ignore[no-any-return]
    return writer.emit("MatMul", *xs)  # type: ignore[no-any-return]


def _arg_extreme(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    axis, x = node.attrs["axis"], xs[0]
    if axis is None:
        x, axis = writer.reshape(x, (-1,)), 0
    kind = "ArgMax" if node.op.name == "argmax" else "ArgMin"
    found = writer.emit(kind, x, axis=axis, keepdims=node.attrs["keepdims"])
    return writer.reshape(found, shape_of(node.out)) if node.attrs["axis"] is None else found


def _stack(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    axis = node.attrs["axis"] % len(shape_of(node.out))
    return writer.emit("Concat", *(writer.emit("Unsqueeze", x, writer.ints([axis])) for x in xs), axis=axis)  # type: ignore[no-any-return]


def _split(writer: NodeWriter, node: Node, xs: Values) -> Any:
    sizes = node.attrs["sizes"]
    return writer.emit("Split", xs[0], writer.ints(sizes), outputs=len(sizes), axis=node.attrs["axis"])


def _pad(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    pads = node.attrs["pads"]
    if not any(map(any, pads)):
        return xs[0]
    value = writer.array(node.attrs["value"], xs[0].dtype)
    return writer.emit("Pad", xs[0], writer.ints([p[0] for p in pads] + [p[1] for p in pads]), value)  # type: ignore[no-any-return]


def _sort(writer: NodeWriter, node: Node, xs: Values) -> Any:
    a, shape = node.attrs, sizes_of(node.inputs[0])
    if not shape:
        return (xs[0], writer.ints(0))[: len(node.outputs)]
    k, largest = (a["k"], a["largest"]) if "k" in a else (shape[a["axis"]], a["descending"])
    found = writer.emit("TopK", xs[0], writer.ints([k]), outputs=2, axis=a["axis"], largest=largest)
    return found[: len(node.outputs)]


def _conv2d_transposed(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    a, weight = node.attrs, sizes_of(node.inputs[1])
    y = _channels_first(writer, node, xs[0])
    shape = shape_of(node.inputs[0])
    before = [int(n) for n in (shape[1:3] if a["data_format"] == "NHWC" else shape[2:])]
    reached = [
        (n - 1) * s + (k - 1) * d + 1 - a["pads"][2 * i] - a["pads"][2 * i + 1]
        for i, (n, s, k, d) in enumerate(zip(before, a["stride"], weight[2:], a["dilation"]))
    ]
    more = tuple(int(size) - n for size, n in zip(a["size"], reached))
    x = writer.emit("ConvTranspose", y, xs[1], strides=a["stride"], pads=_pads(a["pads"]), dilations=a["dilation"],
                    group=a["groups"], output_padding=more)  # fmt: skip
    return _channels_back(writer, node, x)


def _einsum(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    return writer.emit("Einsum", *xs, equation=node.attrs["equation"])  # type: ignore[no-any-return]


def _arange(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    """Only where an end is an open size: others are constants."""
    ends = [node.attrs[name] for name in ("start", "stop", "step")]
    scalars = [writer.reshape(writer.shape((n,)), ()) if isinstance(n, Dim) else writer.array(n) for n in ends]
    return writer.emit("Range", *scalars)  # type: ignore[no-any-return]


def _places(writer: NodeWriter, boundaries: ModelValue, x: ModelValue, right: bool) -> ModelValue:
    """How many boundaries of its row (or of the only one) stand before each x; what is no number stands last."""
    a, x = (writer.emit("Unsqueeze", t, writer.ints([axis])) for t, axis in ((boundaries, -2), (x, -1)))
    scope = {"a": a, "x": x}
    before = evaluate("a <= x" if right else "a < x", writer, scope)
    if x.dtype.is_float:
        last = "before | IsNaN(x)" if right else "before | (IsNaN(x) & ~IsNaN(a))"
        before = evaluate(last, writer, {**scope, "before": before})
    return _reduced(writer, "ReduceSum", writer.cast(before, dtypes.int64), [-1], False)


def _searchsorted(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    common = result_dtype(tuple(map(tensor_type_of, node.inputs)))
    boundaries, x = (writer.cast(value, common) for value in xs)
    return _places(writer, boundaries, x, bool(node.attrs["right"]))


def _csr_rows(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    """The last row that begins at the entry or before it."""
    count = writer.reshape(writer.shape(shape_of(node.out)), ())
    entries = writer.emit("Range", writer.number(0), count, writer.number(1))
    place = _places(writer, writer.cast(xs[0], dtypes.int64), writer.cast(entries, dtypes.int64), True)
    found: ModelValue = evaluate("place - 1", writer, {"place": place})
    return found


def _grouped(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    """Sums over the groups, of which 1 stands at a row's own and 0 elsewhere."""
    x, other, ends = xs
    counts = [writer.reshape(writer.emit("Shape", t, start=0, end=1), ()) for t in (x, ends)]
    rows, groups = (writer.emit("Range", writer.array(0), count, writer.array(1)) for count in counts)
    group = _places(writer, writer.cast(ends, dtypes.int64), rows, True)
    own = writer.emit("Equal", writer.emit("Unsqueeze", group, writer.ints([1])), groups)
    equation = "se,sk,ekn->sn" if len(shape_of(node.out)) == 2 else "se,sk,sn->ekn"
    return writer.emit("Einsum", writer.cast(own, x.dtype), x, other, equation=equation)  # type: ignore[no-any-return]


_RULES: dict[str, Callable[[NodeWriter, Node, Values], Any]] = {
    "conv2d": _conv2d,
    "conv2d_transposed": _conv2d_transposed,
    "pool2d": _pool2d,
    "matmul": _matmul,
    "arg_extreme": _arg_extreme,
    "stack": _stack,
    "arange": _arange,
    "same": lambda writer, node, xs: xs[0],
    "split": _split,
    "pad": _pad,
    "sort": _sort,
    "write_box": write_box,
    "einsum": _einsum,
    "searchsorted": _searchsorted,
    "csr_rows": _csr_rows,
    "grouped": _grouped,
}
