"""Elementwise operations on many elements as generated code, one operation at a time.

    x * 0.5          one kernel  k(i0 < n)  for all shapes: compiled once per operation and dtypes, kept on disk
    x[4096, 1024] - m[4096, 1]          such a kernel, called for every row: m is one number along it
    x[8, 64, 56, 56] * w[64, 1, 1]      rows of 56 * 56, counted by two numbers: w moves on with the second

Operands are dense tensors that broadcast to the result, and Python numbers. Where rows are short, or are counted by
more than two numbers, NumPy's loops serve.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from msnb.base.threads import fork_locks
from msnb.core import DType, TensorType, Type, bool_, tensor_type
from msnb.devices.codegen.size_generic import generic
from msnb.devices.cpu.codegen.kernel_library import compile_kernels, lowered, same
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel
from msnb.ir.graph import Graph, Node
from msnb.ir.kernel import Kernel, kind_of
from msnb.ops.definition.record import Op

WORTH, SEVERAL = 65536, 4096  # elements; of operations that are several of NumPy's loops
SHORT = 16
_COUNTERS = 2
_lock = fork_locks.lock()
_made: dict[str, Any] = {}


class RowCounts(NamedTuple):
    """A result as rows, counted by two numbers.

    Attributes:
        outer, inner: how far the counters go.
        extent: elements of a row.
        steps: per operand and for the result, by how many elements a turn of each counter moves on.
        along: whether each has an element for every place of the row, or one number.
    """

    outer: int
    inner: int
    extent: int
    steps: tuple[tuple[int, int], ...]
    along: tuple[bool, ...]


def rows_of(types: Sequence[TensorType], out: TensorType) -> RowCounts | None:
    """How operands are walked to fill a result, all of them dense; None where no two counters say it."""
    shapes = [(1,) * (out.ndim - t.ndim) + t.ints() for t in (*types, out)]
    dims: list[tuple[int, tuple[bool, ...]]] = []
    for sizes in zip(*shapes):
        size, walks = sizes[-1], tuple(s == sizes[-1] for s in sizes)
        if dims and (size == 1 or dims[-1][1] == walks):
            dims[-1] = dims[-1][0] * size, dims[-1][1]
        elif size != 1:
            dims.append((size, walks))
    if not 1 <= len(dims) <= 1 + _COUNTERS:
        return None
    padded = [(1, (False,) * len(shapes))] * (1 + _COUNTERS - len(dims)) + dims
    (outer, first), (inner, second), (extent, along) = padded
    steps = []
    for a, b, c in zip(first, second, along):
        near = extent if c else 1
        steps.append((a * near * (inner if b else 1), b * near))
    return RowCounts(outer, inner, extent, tuple(steps), along)


def is_worth(op: Op, types: tuple[Type, ...], attrs: dict[str, Any], worth: int) -> bool:
    """True for an elementwise operation on floats (or a cast that NumPy rounds the same way) of so many elements, in
    rows that are long enough."""
    tensors = [t for t in types if isinstance(t, TensorType) and not t.weak]
    if "elementwise" not in op.traits or not tensors:
        return False
    if op.name == "cast":
        if not _is_plain_cast(tensors[0].dtype, attrs["dtype"]):
            return False
    elif not all(t.dtype.is_float or t.dtype is bool_ for t in tensors):
        return False
    (out,) = op.result_types(types, attrs)
    if not isinstance(out, TensorType) or out.size < worth or op.scalar == "x" and op.name != "cast":
        return False
    rows = rows_of(tensors, out)
    return rows is not None and rows.extent >= SHORT


def is_several(op: Op, types: tuple[Type, ...], body: Any) -> bool:
    """True where NumPy has more than one quick loop to run, or a slow one (a maximum with a number)."""
    if isinstance(body, np.ufunc):
        return op.scalar in ("max(x, y)", "min(x, y)") and any(isinstance(t, TensorType) and t.weak for t in types)
    one = re.fullmatch(r"\w+\(x(, y)?\)", op.scalar or "x")
    return one is None or op.name in ("erf", "erfc", "erfinv", "lgamma", "sign")


def _is_plain_cast(old: DType, new: DType) -> bool:
    """True for integers into other integers or floats of 32 bits and more, and for floats into wider ones: nothing is
    rounded twice, and nothing is out of range."""
    if old is new or old.is_complex or new.is_complex or new.is_float and new.itemsize < 4:
        return False
    return not old.is_float or (new.is_float and new.itemsize > old.itemsize)


def is_plain(node: Node) -> bool:
    """True where all operands that are no numbers have the result's shape: then any order of elements does."""
    types = [v.type for v in (*node.inputs, node.out) if isinstance(v.type, TensorType) and not v.type.weak]
    return kind_of(node) == "elementwise" and len({t.shape for t in types}) == 1


class Chain(NativeKernel):
    """A kernel of any extent over the rows of a result."""

    def __init__(self, kernel: Kernel, rows: RowCounts) -> None:
        self._kernel, self._rows = kernel, rows

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call."""
        made, rows, operands = _compiled(self._kernel), self._rows, (*ins, *outs)
        if rows.outer * rows.inner == 1:
            return [made.chain([(operands, rows.extent)])]
        return [made.rows(operands, (rows.outer, rows.inner, rows.extent), rows.steps)]


def recipe(node: Node) -> NativeKernel | None:
    """The chain that ``node`` is, or None where there is no code for it."""
    if kind_of(node) != "elementwise":
        return None
    types = [v.type for v in (*node.inputs, node.out)]
    rows = rows_of(types[:-1], types[-1])  # type: ignore[arg-type]
    if rows is None:
        return None
    body = Graph(node.op.name)
    flat = [_of_a_row(t, rows.extent if along else 0) for t, along in zip(types, rows.along)]  # type: ignore[arg-type]
    params = [body.add_param(t, f"x{i}") for i, t in enumerate(flat[:-1])]
    body.outputs = [body.add(node.op, params, node.attrs, [flat[-1]]).out]
    kernel = lowered(body)
    plain = None if kernel is None else generic(kernel)
    return None if plain is None or _compiled(plain) is None else Chain(plain, rows)


def _of_a_row(t: TensorType, extent: int) -> TensorType:
    return tensor_type((extent,) if extent else (), t.dtype, t.weak)


def _compiled(kernel: Kernel) -> Any:
    """Machine code of a chain, made once; None where it cannot be made."""
    key = same(kernel)
    with _lock:
        if key not in _made:
            (_made[key],) = compile_kernels([kernel])
        return _made[key]
