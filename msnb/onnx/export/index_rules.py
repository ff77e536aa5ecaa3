"""Reading and writing at places: slices, ``x[...]`` and ``x[...] = v`` as operators of ONNX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from msnb.core import Shape, dtypes, tensor_type
from msnb.ir.graph import Node
from msnb.onnx.export.node_writer import ModelValue, NodeWriter, shape_of, sizes_of, tensor_type_of
from msnb.ops.definition.type_inference import broadcast_shapes
from msnb.ops.shape.index_spec import IndexPlan

__all__ = ["index", "slice_", "write_box"]

Values = Sequence[ModelValue]
_END = np.iinfo(np.int64)


def _sliced(writer: NodeWriter, x: ModelValue, cuts: Sequence[tuple[int, Any, Any, int]]) -> ModelValue:
    """Cuts are (axis, begin, end, step) as Python's slices have them."""
    begins = [(_END.max if step < 0 else 0) if b is None else b for _, b, _, step in cuts]
    ends = [(_END.min if step < 0 else _END.max) if e is None else e for _, _, e, step in cuts]
    if not cuts:
        return x
    columns = (begins, ends, [c[0] for c in cuts], [c[3] for c in cuts])
    found: ModelValue = writer.emit("Slice", x, *(writer.shape(tuple(column)) for column in columns))
    return found


def slice_(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    """A box cut out."""
    box = zip(node.attrs["begin"], node.attrs["end"], node.attrs["step"])
    return _sliced(writer, xs[0], [(i, b, e, s) for i, (b, e, s) in enumerate(box) if (b, e, s) != (None, None, 1)])


def index(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    """``x[...]`` by a static spec and index tensors."""
    plan = _Plan(node.attrs["spec"], shape_of(node.inputs[0]), [shape_of(v) for v in node.inputs[1:]])
    return plan.read(writer, xs[0], xs[1:], shape_of(node.out))


def _joined(a: Shape, b: Shape) -> Shape:
    found = broadcast_shapes(a, b)
    assert found is not None, "inference has checked it"
    return found


class _Plan:
    """How a spec reads: slices first, then one gathering of all index tensors (ints among them), then the axes where
    NumPy has them.

    Args:
        spec: of the index; shape: of what is read; shapes: of the index tensors.
    """

    def __init__(self, spec: Any, shape: Shape, shapes: Sequence[Shape]) -> None:
        self.spec, self.used = spec, [e for e in spec if e is not None]
        self.at = [i for i, e in enumerate(self.used) if not isinstance(e, tuple)]
        self.others = [i for i in range(len(shape)) if i not in self.at]
        self.joint: Shape = reduce(_joined, shapes, ())

    def read(self, writer: NodeWriter, x: ModelValue, indices: Values, out: Shape) -> ModelValue:
        """The elements, in the shape ``out``."""
        cuts = [(i, *e) for i, e in enumerate(self.used) if isinstance(e, tuple) and e != (None, None, None)]
        x = _sliced(writer, x, cuts)
        if not indices:
            ints = [(i, e, e + 1 if e != -1 else None, 1) for i, e in enumerate(self.used) if isinstance(e, int)]
            return writer.reshape(_sliced(writer, x, ints), out)
        rest = iter(indices)
        places = [
            writer.cast(next(rest), dtypes.int64) if self.used[i] == "t" else writer.ints(self.used[i]) for i in self.at
        ]
        found = (
            writer.emit("Gather", x, places[0], axis=self.at[0])
            if len(places) == 1
            else self._gathered(writer, x, places)
        )
        return writer.reshape(found, out) if None in self.spec or len(places) > 1 else found

    def _gathered(self, writer: NodeWriter, x: ModelValue, places: Values) -> ModelValue:
        """The index tensors' axes in front, or in place of entries that stand side by side."""
        n = len(self.joint)
        front = writer.emit("Transpose", x, perm=(*self.at, *self.others))
        wide = [writer.emit("Expand", p, writer.shape(self.joint)) for p in places]
        stacked = writer.emit("Concat", *(writer.reshape(p, (*self.joint, 1)) for p in wide), axis=n)
        found: ModelValue = writer.emit("GatherND", front, stacked)
        entries = [i for i, e in enumerate(self.spec) if e is not None and not isinstance(e, tuple)]
        if entries[-1] - entries[0] == len(entries) - 1 and self.at[0]:
            k, total = sum(1 for i in self.others if i < self.at[0]), n + len(self.others)
            found = writer.emit("Transpose", found, perm=(*range(n, n + k), *range(n), *range(n + k, total)))
        return found


def write_box(writer: NodeWriter, node: Node, xs: Values) -> ModelValue:
    """A box, or what an index names, written into a tensor (or added to zeros): by the numbers of the elements, of
    which the same box is cut."""
    shape, adds = sizes_of(node.out), "shape" in node.attrs
    numbers = np.arange(math.prod(shape), dtype=np.int64).reshape(shape)
    spec = node.attrs.get("spec")
    if spec is None:
        box = zip(node.attrs["begin"], node.attrs["end"], node.attrs["step"])
        spec = tuple(box)
    indices = xs[1:] if adds else xs[2:]
    if indices:
        types = tuple(tensor_type_of(v) for v in node.inputs[len(xs) - len(indices) :])
        result = IndexPlan(node.op.name, tensor_type(shape, dtypes.int64), types, spec).shape
        size = tuple(map(int, result))
        plan = _Plan(spec, shape, [sizes_of(v) for v in node.inputs[-len(indices) :]])
        at = plan.read(writer, writer.array(numbers), indices, size)
    else:
        known = numbers[tuple(slice(*e) if isinstance(e, tuple) else e for e in spec)]
        at, size = writer.array(known), known.shape
    x = writer.array(np.zeros(shape), xs[0].dtype) if adds else xs[0]
    value = writer.cast(xs[0] if adds else xs[1], x.dtype)
    rows = writer.reshape(writer.emit("Expand", value, writer.ints(size)), (-1,))
    flat = writer.emit("ScatterElements", writer.reshape(x, (-1,)), writer.reshape(at, (-1,)), rows, axis=0,
                       reduction="add" if adds and indices else None)  # fmt: skip
    return writer.reshape(flat, shape)
