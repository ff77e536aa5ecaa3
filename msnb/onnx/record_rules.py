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

import numpy as np

from msnb.base.errors import CaptureError
from msnb.core import dtypes
from msnb.core.types import TensorType, result_dtype, tensor_type
from msnb.ir.graph import Node
from msnb.onnx.expression import evaluate
from msnb.onnx.node_writer import NodeWriter, Written
from msnb.ops.shape.index_spec import IndexPlan

__all__ = ["translate"]

Values = Sequence[Written]
_END = np.iinfo(np.int64)


def translate(node: Node, writer: NodeWriter, xs: Values) -> list[Written]:
    """The node's results; of the dtypes that it has here.

    Raises:
        CaptureError: ONNX has no way to say it.
    """
    op, found = node.op, None
    if op.promotes:
        common = result_dtype(tuple(v.type for v in node.inputs))  # type: ignore[misc]
        xs = [writer.cast(x, common) for x in xs]
    if op.onnx and "(" not in op.onnx:
        found = _RULES[op.onnx](writer, node, xs)
    elif op.onnx or op.scalar:
        found = _by_text(op.onnx or op.scalar or "", writer, node, xs)
    elif op.reduction:
        found = _reduction(writer, node, xs)
    elif op.view:
        found = _VIEWS[op.view](writer, node, xs)
    if found is None:
        raise CaptureError(f"ONNX has no operator for {op.name}.")
    results = list(found) if isinstance(found, tuple) else [found]
    if not isinstance(results[0], Written):  # a number: ones_like
        results = [writer.array(np.full(_shape(node.out), results[0]))]
    return [writer.cast(x, _type(v).dtype) for x, v in zip(results, node.outputs)]


def _type(value: Any) -> TensorType:
    found = value.type
    assert isinstance(found, TensorType)
    return found


def _shape(value: Any) -> tuple[int, ...]:
    shape = _type(value).shape
    if not all(isinstance(n, int) for n in shape):
        raise CaptureError("a size that only the data tells has no place in this operator of ONNX.")
    return tuple(int(n) for n in shape)  # type: ignore[arg-type]


def _by_text(text: str, writer: NodeWriter, node: Node, xs: Values) -> Any:
    if "floating" in node.op.traits:
        xs = [writer.cast(x, _type(node.out).dtype) for x in xs]
    names = [name.lstrip("*") for name in node.op.inputs]
    scope: dict[str, Any] = dict(node.attrs)
    scope.update(zip(names, xs))
    if node.op.variadic:
        scope[names[-1]] = tuple(xs[len(names) - 1 :])
    return evaluate(text, writer, scope)


# ---- reductions ------------------------------------------------------------------------------------------------------

_REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "prod": "ReduceProd", "max": "ReduceMax", "min": "ReduceMin",
               "any": "ReduceMax", "all": "ReduceMin", "count_nonzero": "ReduceSum"}  # fmt: skip


def _reduction(writer: NodeWriter, node: Node, xs: Values) -> Written:
    x, kind = xs[0], node.op.reduction
    before, after = _shape(node.inputs[0]), _shape(node.out)
    out = _type(node.out).dtype
    if "shape" in node.attrs:
        padded = (1,) * (len(before) - len(after)) + after
        axes = [i for i, (n, m) in enumerate(zip(before, padded)) if n != m or i < len(before) - len(after)]
    else:
        axis = node.attrs["axis"]
        axes = (
            list(range(len(before))) if axis is None or axis == () else [axis] if isinstance(axis, int) else list(axis)
        )
    if not axes and kind != "var":
        made = evaluate("x != 0", writer, {"x": x}) if kind in ("any", "all", "count_nonzero") else x
        return writer.cast(made, out)
    if kind in ("any", "all", "count_nonzero"):
        x = writer.cast(evaluate("x != 0", writer, {"x": x}), dtypes.int32)
    elif kind in ("sum", "mean", "prod", "var"):
        x = writer.cast(x, out)
    if kind == "var":
        return _variance(writer, node, x, axes, math.prod(before[i] for i in axes))
    keep = bool(node.attrs.get("keepdims", False))
    found = _reduced(writer, _REDUCTIONS[kind], x, axes, keep)
    if "shape" in node.attrs and len(before) - len(axes) != len(after):
        found = writer.emit("Reshape", found, writer.ints(after))
    return evaluate("x != 0", writer, {"x": found}) if kind in ("any", "all") else found


def _reduced(writer: NodeWriter, kind: str, x: Written, axes: Sequence[int], keep: bool) -> Written:
    """Over axes, which are an input since version 13 of the sum and 18 of the others."""
    if writer.opset >= (13 if kind == "ReduceSum" else 18):
        found: Written = writer.emit(kind, x, writer.ints(axes), keepdims=keep)
    else:
        found = writer.emit(kind, x, axes=tuple(axes), keepdims=keep)
    return found


def _variance(writer: NodeWriter, node: Node, x: Written, axes: Sequence[int], count: int) -> Written:
    centred = writer.emit("Sub", x, _reduced(writer, "ReduceMean", x, axes, True))
    total = _reduced(writer, "ReduceSum", writer.emit("Mul", centred, centred), axes, bool(node.attrs["keepdims"]))
    found: Written = writer.emit("Div", total, writer.number(float(count - node.attrs["ddof"])))
    return found


# ---- views -----------------------------------------------------------------------------------------------------------


def _reshaped(writer: NodeWriter, x: Written, shape: Sequence[int]) -> Written:
    found: Written = writer.emit("Reshape", x, writer.ints(shape), allowzero=1 if 0 in shape else None)
    return found


def _sliced(writer: NodeWriter, x: Written, cuts: Sequence[tuple[int, Any, Any, int]]) -> Written:
    """Cuts are (axis, begin, end, step) as Python's slices have them."""
    begins = [(_END.max if step < 0 else 0) if b is None else b for _, b, _, step in cuts]
    ends = [(_END.min if step < 0 else _END.max) if e is None else e for _, _, e, step in cuts]
    if not cuts:
        return x
    columns = (begins, ends, [c[0] for c in cuts], [c[3] for c in cuts])
    found: Written = writer.emit("Slice", x, *map(writer.ints, columns))
    return found


def _slice(writer: NodeWriter, node: Node, xs: Values) -> Written:
    box = zip(node.attrs["begin"], node.attrs["end"], node.attrs["step"])
    return _sliced(writer, xs[0], [(i, b, e, s) for i, (b, e, s) in enumerate(box) if (b, e, s) != (None, None, 1)])


def _index(writer: NodeWriter, node: Node, xs: Values) -> Written:
    """Slices first, then one gathering of all index tensors (ints among them), then the axes where NumPy has them."""
    shapes = [_shape(v) for v in node.inputs[1:]]
    return _indexed(writer, xs[0], _shape(node.inputs[0]), xs[1:], shapes, node.attrs["spec"], _shape(node.out))


def _indexed(writer: NodeWriter, x: Written, shape: Sequence[int], indices: Values, shapes: Sequence[tuple[int, ...]],
             spec: Any, out: tuple[int, ...]) -> Written:  # fmt: skip
    used = [e for e in spec if e is not None]
    cuts = [(i, *e) for i, e in enumerate(used) if isinstance(e, tuple) and e != (None, None, None)]
    x = _sliced(writer, x, [(i, b, e, s) for i, b, e, s in cuts])
    if not indices:
        ints = [(i, e, e + 1 if e != -1 else None, 1) for i, e in enumerate(used) if isinstance(e, int)]
        return _reshaped(writer, _sliced(writer, x, ints), out)
    rest = iter(indices)
    at = [i for i, e in enumerate(used) if not isinstance(e, tuple)]
    places = [writer.cast(next(rest), dtypes.int64) if used[i] == "t" else writer.ints(used[i]) for i in at]
    if len(places) == 1:
        found = writer.emit("Gather", x, places[0], axis=at[0])
        return found if None not in spec else _reshaped(writer, found, out)
    others = [i for i in range(len(shape)) if i not in at]
    front = writer.emit("Transpose", x, perm=(*at, *others))
    joint = np.broadcast_shapes(*shapes)
    wide = [writer.emit("Expand", p, writer.ints(joint)) for p in places]
    stacked = writer.emit("Concat", *(_reshaped(writer, p, (*joint, 1)) for p in wide), axis=len(joint))
    found = writer.emit("GatherND", front, stacked)
    entries = [i for i, e in enumerate(spec) if e is not None and not isinstance(e, tuple)]
    if entries[-1] - entries[0] == len(entries) - 1 and at[0]:  # side by side: in place of the entries they come from
        n, k = len(joint), sum(1 for i in others if i < at[0])
        total = n + len(others)
        found = writer.emit("Transpose", found, perm=(*range(n, n + k), *range(n), *range(n + k, total)))
    return _reshaped(writer, found, out)


def _transpose(writer: NodeWriter, node: Node, xs: Values) -> Written:
    found: Written = writer.emit("Transpose", xs[0], perm=tuple(node.attrs["perm"]))
    return found


def _to_shape(writer: NodeWriter, node: Node, xs: Values) -> Written:
    return _reshaped(writer, xs[0], _shape(node.out))


_VIEWS: dict[str, Callable[[NodeWriter, Node, Values], Written]] = {
    "reshape": _to_shape,
    "identity": lambda writer, node, xs: xs[0],
    "broadcast": lambda writer, node, xs: writer.emit("Expand", xs[0], writer.ints(_shape(node.out))),
    "transpose": _transpose,
    "slice": _slice,
    "index": _index,
}

# ---- the other rules -------------------------------------------------------------------------------------------------


def _channels_first(writer: NodeWriter, node: Node, x: Written) -> Written:
    last = node.attrs["data_format"] == "NHWC"
    return writer.emit("Transpose", x, perm=(0, 3, 1, 2)) if last else x


def _channels_back(writer: NodeWriter, node: Node, y: Written) -> Written:
    last = node.attrs["data_format"] == "NHWC"
    return writer.emit("Transpose", y, perm=(0, 2, 3, 1)) if last else y


def _pads(pads: Sequence[int]) -> tuple[int, ...]:
    """Top, bottom, left, right here; all beginnings, then all ends there."""
    return (*pads[::2], *pads[1::2])


def _conv2d(writer: NodeWriter, node: Node, xs: Values) -> Written:
    a = node.attrs
    y = writer.emit("Conv", _channels_first(writer, node, xs[0]), xs[1], strides=a["stride"], pads=_pads(a["pads"]),
                    dilations=a["dilation"], group=a["groups"])  # fmt: skip
    return _channels_back(writer, node, y)


def _pool2d(writer: NodeWriter, node: Node, xs: Values) -> Written:
    a = node.attrs
    average = "count_include_pad" in a
    y = writer.emit("AveragePool" if average else "MaxPool", _channels_first(writer, node, xs[0]),
                    kernel_shape=a["kernel"], strides=a["stride"], pads=_pads(a["pads"]), ceil_mode=a["ceil_mode"],
                    count_include_pad=a.get("count_include_pad"))  # fmt: skip
    return _channels_back(writer, node, y)


def _matmul(writer: NodeWriter, node: Node, xs: Values) -> Written:
    """``x @ weight.T`` of matrices is Gemm, as other frameworks write it."""
    weight = writer.transposed.get(xs[1].name)
    if weight is not None and len(_shape(node.inputs[0])) == 2 and xs[0].dtype.is_float:
        return writer.emit("Gemm", xs[0], weight, transB=1)  # type: ignore[no-any-return]
    return writer.emit("MatMul", *xs)  # type: ignore[no-any-return]


def _arg_extreme(writer: NodeWriter, node: Node, xs: Values) -> Written:
    axis, x = node.attrs["axis"], xs[0]
    if axis is None:
        x, axis = _reshaped(writer, x, (-1,)), 0
    kind = "ArgMax" if node.op.name == "argmax" else "ArgMin"
    found = writer.emit(kind, x, axis=axis, keepdims=node.attrs["keepdims"])
    return _reshaped(writer, found, _shape(node.out)) if node.attrs["axis"] is None else found


def _stack(writer: NodeWriter, node: Node, xs: Values) -> Written:
    axis = node.attrs["axis"] % len(_shape(node.out))
    return writer.emit("Concat", *(writer.emit("Unsqueeze", x, writer.ints([axis])) for x in xs), axis=axis)  # type: ignore[no-any-return]


def _split(writer: NodeWriter, node: Node, xs: Values) -> Any:
    sizes = node.attrs["sizes"]
    return writer.emit("Split", xs[0], writer.ints(sizes), outputs=len(sizes), axis=node.attrs["axis"])


def _pad(writer: NodeWriter, node: Node, xs: Values) -> Written:
    pads = node.attrs["pads"]
    if not any(map(any, pads)):
        return xs[0]
    value = writer.array(node.attrs["value"], xs[0].dtype)
    return writer.emit("Pad", xs[0], writer.ints([p[0] for p in pads] + [p[1] for p in pads]), value)  # type: ignore[no-any-return]


def _sort(writer: NodeWriter, node: Node, xs: Values) -> Any:
    a, shape = node.attrs, _shape(node.inputs[0])
    if not shape:
        return (xs[0], writer.ints(0))[: len(node.outputs)]
    k, largest = (a["k"], a["largest"]) if "k" in a else (shape[a["axis"]], a["descending"])
    found = writer.emit("TopK", xs[0], writer.ints([k]), outputs=2, axis=a["axis"], largest=largest)
    return found[: len(node.outputs)]


def _write_box(writer: NodeWriter, node: Node, xs: Values) -> Written:
    """A box, or what an index names, written into a tensor (or added to zeros): by the numbers of the elements, of
    which the same box is cut."""
    shape, adds = _shape(node.out), "shape" in node.attrs
    numbers = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    spec = node.attrs.get("spec")
    if spec is None:
        box = zip(node.attrs["begin"], node.attrs["end"], node.attrs["step"])
        spec = tuple(box)
    indices = xs[1:] if adds else xs[2:]
    if indices:
        types = tuple(_type(v) for v in node.inputs[len(xs) - len(indices) :])
        plan = IndexPlan(node.op.name, tensor_type(shape, dtypes.int64), types, spec)
        size = tuple(map(int, plan.shape))  # type: ignore[arg-type]
        at = _indexed(writer, writer.array(numbers), shape, indices, [_shape(v) for v in node.inputs[-len(indices) :]],
                      spec, size)  # fmt: skip
    else:
        known = numbers[tuple(slice(*e) if isinstance(e, tuple) else e for e in spec)]
        at, size = writer.array(known), known.shape
    x = writer.array(np.zeros(shape), xs[0].dtype) if adds else xs[0]
    value = writer.cast(xs[0] if adds else xs[1], x.dtype)
    rows = _reshaped(writer, writer.emit("Expand", value, writer.ints(size)), (-1,))
    flat = writer.emit("ScatterElements", _reshaped(writer, x, (-1,)), _reshaped(writer, at, (-1,)), rows, axis=0,
                       reduction="add" if adds and indices else None)  # fmt: skip
    return _reshaped(writer, flat, shape)


def _conv2d_transposed(writer: NodeWriter, node: Node, xs: Values) -> Written:
    a, weight = node.attrs, _shape(node.inputs[1])
    y = _channels_first(writer, node, xs[0])
    before = _shape(node.inputs[0])
    before = before[1:3] if a["data_format"] == "NHWC" else before[2:]
    reached = [
        (n - 1) * s + (k - 1) * d + 1 - a["pads"][2 * i] - a["pads"][2 * i + 1]
        for i, (n, s, k, d) in enumerate(zip(before, a["stride"], weight[2:], a["dilation"]))
    ]
    more = tuple(int(size) - n for size, n in zip(a["size"], reached))
    x = writer.emit("ConvTranspose", y, xs[1], strides=a["stride"], pads=_pads(a["pads"]), dilations=a["dilation"],
                    group=a["groups"], output_padding=more)  # fmt: skip
    return _channels_back(writer, node, x)


def _einsum(writer: NodeWriter, node: Node, xs: Values) -> Written:
    return writer.emit("Einsum", *xs, equation=node.attrs["equation"])  # type: ignore[no-any-return]


_RULES: dict[str, Callable[[NodeWriter, Node, Values], Any]] = {
    "conv2d": _conv2d,
    "conv2d_transposed": _conv2d_transposed,
    "pool2d": _pool2d,
    "matmul": _matmul,
    "arg_extreme": _arg_extreme,
    "stack": _stack,
    "same": lambda writer, node, xs: xs[0],
    "split": _split,
    "pad": _pad,
    "sort": _sort,
    "write_box": _write_box,
    "einsum": _einsum,
}
