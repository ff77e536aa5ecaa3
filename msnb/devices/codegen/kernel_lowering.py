"""From the body of a fused node to a kernel: every node becomes instructions over the dims of one space.

The dims are put in order (outer ones first, then the row), and neighbours that every access walks as one are merged:
[32, 10, 24, 24] plus a bias per channel becomes [32, 10, 576]; a plain chain becomes one long dim.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.core import DType, dtypes, is_symbolic
from msnb.devices.codegen.loop_tiling import tile, turn
from msnb.ir.graph import Graph, Node, Value, type_of
from msnb.ir.kernel.iteration_space import Axes, Space, kind_of, reduced_axes
from msnb.ir.kernel.kernel_ir import Access, Buffer, Inst, Kernel, Reduction
from msnb.ir.kernel.scalar_expressions import HALVES, UnsupportedKernel, build, cast, number, truth
from msnb.ops.definition.record import in_range, operand_dtype
from msnb.ops.elementwise.constant import constant


def lower(body: Graph, name: str = "kernel", tiles: bool = True) -> Kernel:
    """The kernel of a fused body.

    Args:
        body: of a fused node.
        name: of the kernel, for people.
        tiles: cut loops over transposed data into tiles for the caches of a CPU.

    Raises:
        Unsupported: the code generator has no code for one of its nodes.
    """
    kernel = _Lowering(body, name).kernel()
    _share(kernel)
    merge_dims(kernel)
    turn(kernel)
    if not kernel.row:
        kernel.row = frozenset((len(kernel.sizes) - 1,))
    if tiles:
        tile(kernel)
    return kernel


class _Lowering:
    def __init__(self, body: Graph, name: str) -> None:
        self.body, self.name = body, name
        self.space = Space()
        self.insts: dict[Value, Inst] = {}
        self.loads: dict[Any, Inst] = {}
        for node in body.nodes:
            if node.op is constant and node.out.type.size == 1:  # type: ignore[union-attr]
                self.space.constant(node.out)
            elif not self.space.add(node):
                raise UnsupportedKernel(f"{node.op.name} has no place in its group")
        stored = [self.space.stored(v) for v in body.outputs]
        if None in stored:
            raise UnsupportedKernel("a result has no place in its group")
        self.stored = [a for a in stored if a is not None]
        row = self.space.row or frozenset()
        self.order = [d for d in self.space.order if d not in row] + [d for d in self.space.order if d in row]
        self.place = {d: i for i, d in enumerate(self.order)}
        self.params = {p: i for i, p in enumerate(body.params)}

    def kernel(self) -> Kernel:
        sizes = tuple(self.space.sizes[d] for d in self.order) or (1,)
        row = frozenset(self.place[d] for d in self.space.row or ())
        reads = [_buffer(p) for p in self.body.params]
        kernel = self.made = Kernel(self.name, sizes, row, reads, [_buffer(v) for v in self.body.outputs])
        for node in self.body.nodes:
            if node.op is constant:
                self.insts[node.out] = _constant(node)
            elif node.out in self.space.axes:
                self.insts[node.out] = self._inst(node)
        for i, (value, axes) in enumerate(zip(self.body.outputs, self.stored)):
            kernel.stores.append((self._store(len(reads) + i, value, axes), self.insts[value]))
        return kernel

    def _store(self, buffer: int, value: Value, axes: Axes) -> Access:
        strides = [0] * max(len(self.order), 1)
        step = 1
        for d, size in reversed(list(zip(axes, type_of(value).ints()))):
            if d is not None:
                strides[self.place[d]] = step
            step *= size
        return Access(buffer, tuple(strides))

    # ---- nodes ----

    def _number(self, value: int, dtype: DType) -> Inst:
        """A number that comes of sizes: a constant, or an operand where they are written down."""
        if not is_symbolic(value):
            return number(value, dtype)
        return Inst("load", (), dtype, Access(self.made.number(value, dtype), (0,) * max(len(self.order), 1)))

    def _inst(self, node: Node) -> Inst:
        kind = kind_of(node)
        if kind == "view":
            return self.insts[node.inputs[0]]
        axes = self.space.axes[node.out]
        if kind == "reduce":
            return self._reduction(node)
        operands = [self._operand(v, axes, len(type_of(node.out).shape)) for v in node.inputs]
        result = type_of(node.out).dtype
        want = _meeting(node)
        named = dict(zip(node.op.inputs, operands))
        return build(node.op, named, want, result, node.attrs)

    def _operand(self, value: Value, axes: Axes, ndim: int) -> Inst:
        """What is made inside, or a load along the dims of the reader."""
        if value in self.insts:
            return self.insts[value]
        view = self.space.view(value)
        strides = [0] * max(len(self.order), 1)
        gap = ndim - len(view.shape)
        for k, (size, step) in enumerate(zip(view.shape, view.strides)):
            d = axes[gap + k]
            if d is not None and size > 1:
                strides[self.place[d]] = step
        if view.base in self.insts:
            return self.insts[view.base]
        access = Access(self.params[view.base], tuple(strides), view.offset)
        if access not in self.loads:
            dims = frozenset(i for i, s in enumerate(strides) if s)
            self.loads[access] = Inst("load", (), type_of(view.base).dtype, access, dims)
        return self.loads[access]

    def _reduction(self, node: Node) -> Inst:
        value, name = node.inputs[0], node.op.reduction
        shape = type_of(value).ints()
        gone = reduced_axes(node)
        axes = self.space.operand[node]
        x = self._operand(value, axes, len(shape))
        over = frozenset(self.place[d] for d in (axes[a] for a in gone) if d is not None)
        n = math.prod(shape[a] for a in gone)
        wide = _wide(name, x.dtype)
        result = type_of(node.out).dtype

        def reduce(kind: str, y: Inst) -> Inst:
            if over and not y.dims & over:
                return self._of_equals(kind, y, n)
            return Inst("reduce", (y,), y.dtype, Reduction(kind, over)) if over else y

        if name in ("any", "all"):
            return reduce(name, truth(x))
        if name == "var":
            return cast(self._variance(cast(x, wide), n, node.attrs["ddof"], reduce), result)
        y = cast(truth(x), dtypes.int64) if name == "count_nonzero" else cast(x, wide)
        kind = "sum" if name in ("mean", "count_nonzero") else name
        if wide is dtypes.bool_:
            kind = "any" if kind == "max" else "all"
        total = reduce(kind, y)
        if name == "mean":
            total = Inst("div", (total, self._number(n, wide)), wide)
        return cast(total, result)

    def _of_equals(self, kind: str, x: Inst, n: int) -> Inst:
        """The reduction of ``n`` times the same value: no loop has it, for it changes along no dim that is reduced."""
        if kind == "prod":
            raise UnsupportedKernel("the product of a value with itself")
        return Inst("mul", (x, self._number(n, x.dtype)), x.dtype) if kind == "sum" else x

    def _variance(self, x: Inst, n: int, ddof: int, reduce: Callable[[str, Inst], Inst]) -> Inst:
        if n <= ddof:
            raise UnsupportedKernel("the variance of too few elements")
        mean = Inst("div", (reduce("sum", x), self._number(n, x.dtype)), x.dtype)
        apart = Inst("sub", (x, mean), x.dtype)
        square = Inst("mul", (apart, apart), x.dtype)
        return Inst("div", (reduce("sum", square), self._number(n - ddof, x.dtype)), x.dtype)


def _buffer(value: Value) -> Buffer:
    return Buffer(type_of(value).dtype, type_of(value).size)


def _constant(node: Node) -> Inst:
    const, t = node.attrs["value"], type_of(node.out)
    data = const.data if t.weak else np.asarray(const.data).reshape(()).astype(
        np.float32 if t.dtype is dtypes.bfloat16 else t.dtype.numpy).item()  # fmt: skip
    return Inst("const", (), t.dtype, data)


def _meeting(node: Node) -> DType:
    """The dtype in which the operands of an elementwise node meet."""
    types = [type_of(v) for v in node.inputs]
    if node.op.name == "where" or not types:
        return type_of(node.out).dtype
    if not node.op.promotes:
        return types[0].dtype
    met = operand_dtype(node.op, *types)
    try:
        return operand_dtype(node.op, *types, fits=all(_fits(v, met, node) for v in node.inputs))
    except OverflowError as error:
        raise UnsupportedKernel(str(error)) from error


def _fits(value: Value, met: DType, reader: Node) -> bool:
    """Whether an operand is no Python integer, or one that surely lies in the range of the dtype of all operands.

    Raises:
        OverflowError: it is one that 64 bits do not hold, or beside uint64 one that may be negative.
    """
    if not type_of(value).weak or not met.is_int:
        return True
    node = value.node
    if node is None or node.op is not constant:
        if met is dtypes.uint64 and "modular" not in reader.op.traits:
            raise OverflowError("a Python integer that may be negative beside uint64")
        return met.itemsize == 8  # made from sizes and numbers in int64
    return in_range(int(node.attrs["value"].data), met)


def _wide(name: str, dtype: DType) -> DType:
    """The dtype in which a reduction of this kind is formed."""
    if dtype in HALVES:
        return dtypes.float32
    if name in ("max", "min") or dtype.is_float:
        return dtype
    if name in ("mean", "var"):
        return dtypes.float64
    return dtypes.int64 if dtype.signed else dtypes.uint64


def _share(kernel: Kernel) -> None:
    """Equal instructions become one."""
    known: dict[object, Inst] = {}
    same: dict[int, Inst] = {}
    for inst in kernel.insts():
        inst.args = tuple(same[id(a)] for a in inst.args)
        attr = repr(inst.attr) if inst.op == "const" else inst.attr
        same[id(inst)] = known.setdefault((inst.op, inst.dtype, attr, *map(id, inst.args)), inst)
    kernel.stores = [(a, same[id(v)]) for a, v in kernel.stores]


# ---- dims ----


def merge_dims(kernel: Kernel) -> None:
    """Merge dim d into d + 1 wherever all accesses and reductions treat them as one."""
    insts = kernel.insts()
    accesses = [i.attr for i in insts if i.op == "load"] + [a for a, _ in kernel.stores]
    overs = [i.attr.over for i in insts if i.op == "reduce"] + [kernel.row]
    groups: list[list[int]] = []
    for d, size in enumerate(kernel.sizes):
        last = groups[-1][-1] if groups else -1
        one = groups and all(a.strides[last] == a.strides[d] * size for a in accesses)
        if one and all((last in over) == (d in over) for over in overs):
            groups[-1].append(d)
        else:
            groups.append([d])
    if len(groups) < len(kernel.sizes):
        _renumber(kernel, insts, groups)


def _renumber(kernel: Kernel, insts: list[Inst], groups: list[list[int]]) -> None:
    new = {d: i for i, g in enumerate(groups) for d in g}
    seen: dict[int, bool] = {}
    for inst in insts:
        if inst.op == "load" and not seen.get(id(inst)):
            inst.attr = _fewer(inst.attr, groups)
        elif inst.op == "reduce":
            inst.attr = Reduction(inst.attr.kind, frozenset(new[d] for d in inst.attr.over))
        inst.dims = frozenset(new[d] for d in inst.dims)
        seen[id(inst)] = True
    kernel.stores = [(_fewer(a, groups), v) for a, v in kernel.stores]
    kernel.row = frozenset(new[d] for d in kernel.row)
    kernel.sizes = tuple(math.prod(kernel.sizes[d] for d in g) for g in groups)


def _fewer(access: Access, groups: list[list[int]]) -> Access:
    return Access(access.buffer, tuple(access.strides[g[-1]] for g in groups), access.offset)
