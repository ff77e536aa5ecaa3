"""A node as a few primitives over the same memory: what every recipe here is made of.

    x plain --reorder--> temp --+
                                +--convolution--> temp --reorder--> y plain
    weight  --reorder--> temp --+

A Builder collects the steps. Operands are asked for in the layout that a primitive wants: memory that lies so already
is used as it is, other memory is copied into a temporary one by a reorder first; results the other way round.
A constant is copied when the program is made, and the program holds the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from msnb.core import TensorType, tensor_type
from msnb.core.dtypes import DType, bfloat16, float16, float32, uint8
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.cpu.onednn import c_api as c
from msnb.devices.cpu.onednn.primitives import Argument, Layout, Primitive, reorder
from msnb.devices.cpu.onednn.trampoline import Operand, function, run_copy, run_of
from msnb.ir import Const, Graph, Node, Value
from msnb.ir.kernel.strided_views import View, dense_strides
from msnb.ops.elementwise.constant import constant

DTYPES: dict[DType, int] = {float32: c.F32, bfloat16: c.BF16, float16: c.F16}


class DataRef(NamedTuple):
    """Where data is: ("in" | "out" | "temp", which), and bytes to skip."""

    kind: str
    which: int
    offset: int = 0


class NotSupported(Exception):
    """oneDNN cannot do this node; another provider may."""


class Steps(NativeKernel):
    """A recipe of primitives that run one after the other."""

    def __init__(
        self, reads: Sequence[Value], temps: Sequence[int], steps: Sequence[tuple[Primitive, dict[int, DataRef]]],
        inplace: Sequence[tuple[int, int]] = (),
    ) -> None:  # fmt: skip
        self.reads, self.temps, self.inplace = tuple(reads), tuple(temps), tuple(inplace)
        self.steps: tuple[tuple[Primitive, dict[int, DataRef]], ...] = tuple(steps)

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call per primitive."""
        slots = {"in": ins, "out": outs, "temp": temps}
        found = []
        for primitive, places in self.steps:
            bound = run_of(primitive, {n: Operand(slots[p.kind][p.which], p.offset) for n, p in places.items()})
            found.append(KernelCall(function(), (bound,)))
        return found


class Builder:
    """Collects what a node needs.

    Args:
        node: the node.
        view_of: how values lie in memory.
    """

    node: Node

    def __init__(self, node: Node, view_of: ViewOf) -> None:
        self.node, self._view_of = node, view_of
        self.reads: list[Value] = []
        self._temps: list[int] = []
        self._steps: list[tuple[Primitive, dict[int, DataRef]]] = []

    def view(self, value: Value) -> View:
        """How ``value`` lies in memory, every element in a place of its own."""
        found = self.strided(value)
        plain = all(s > 0 or d == 1 for d, s in zip(found.shape, found.strides))
        return found if plain else as_it_is(value)

    def strided(self, value: Value) -> View:
        """How ``value`` lies in memory; a stride of 0 repeats elements."""
        found = self._view_of(value)
        forward = all(s >= 0 for s in found.strides)
        return found if forward and dtype_of(found.base) is dtype_of(value) else as_it_is(value)

    def place(self, view: View) -> DataRef:
        """Where an operand is."""
        if view.base not in self.reads:
            self.reads.append(view.base)
        return DataRef("in", self.reads.index(view.base), view.offset * dtype_of(view.base).itemsize)

    def temp(self, size: int) -> DataRef:
        """Memory for this node only."""
        self._temps.append(size)
        return DataRef("temp", len(self._temps) - 1)

    def fetch(self, primitive: Primitive, argument: int, layout: Layout | Argument, place: DataRef) -> DataRef:
        """An operand as ``primitive`` wants it."""
        if primitive.lies(argument, layout):
            return place
        if place.kind == "in" and is_constant(self.reads[place.which]):
            return self._packed(primitive, argument, layout, place)
        copied = self.temp(primitive.size(argument))
        self._steps.append((need(reorder(layout, Argument(primitive, argument))), {c.SRC: place, c.DST: copied}))
        return copied

    def _packed(self, primitive: Primitive, argument: int, layout: Layout | Argument, place: DataRef) -> DataRef:
        """A constant as ``primitive`` wants it: copied now, so the program holds it in that order only."""
        node = self.reads[place.which].node
        assert node is not None
        copy = need(reorder(layout, Argument(primitive, argument)))
        made = run_copy(copy, np.asarray(node.attrs["value"].data, order="C"), place.offset)
        type_ = tensor_type(made.shape, uint8)
        packed = Graph("packed").add(constant, [], {"value": Const(made, type_)}, [type_]).out
        self.reads.append(packed)
        return DataRef("in", len(self.reads) - 1)

    def run(self, primitive: Primitive, places: dict[int, DataRef]) -> None:
        """Append a primitive, with its scratch memory."""
        if primitive.scratch:
            places = {**places, c.SCRATCHPAD: self.temp(primitive.scratch)}
        self._steps.append((primitive, places))

    def result(self, primitive: Primitive, argument: int, layout: Layout | Argument, place: DataRef) -> DataRef:
        """Where ``primitive`` shall write a result that belongs into ``place``; call ``deliver`` after running it."""
        return place if primitive.lies(argument, layout) else self.temp(primitive.size(argument))

    def deliver(
        self, primitive: Primitive, argument: int, layout: Layout | Argument, written: DataRef, place: DataRef
    ) -> None:
        """Bring a result to where it belongs."""
        if written != place:
            self._steps.append((need(reorder(Argument(primitive, argument), layout)), {c.SRC: written, c.DST: place}))

    def recipe(self) -> NativeKernel:
        """What was collected; operands that only a packed copy was made of are not read."""
        used = sorted({p.which for _, places in self._steps for p in places.values() if p.kind == "in"})
        new = {old: i for i, old in enumerate(used)}
        steps = [
            (run, {n: p._replace(which=new[p.which]) if p.kind == "in" else p for n, p in places.items()})
            for run, places in self._steps
        ]
        return Steps([self.reads[i] for i in used], self._temps, steps)


def converted(t: TensorType, half: int, wide: int, up: bool) -> KernelCall:
    """A dense copy between slot ``half`` (of type ``t``, in 16 bits) and slot ``wide`` (float32)."""
    flat = (t.size,)
    short, long = Layout(flat, (1,), number_of(t.dtype)), Layout(flat, (1,), c.F32)
    run = need(reorder(short, long) if up else reorder(long, short))
    source, target = (half, wide) if up else (wide, half)
    return KernelCall(function(), (run_of(run, {c.SRC: Operand(source), c.DST: Operand(target)}),))


def is_constant(value: Value) -> bool:
    """Whether a value is known when the program is made, so that its order in memory is ours to choose."""
    return value.node is not None and value.node.op is constant and value.node.attrs["value"].type.size > 1


def as_it_is(value: Value) -> View:
    """A value that is read as itself, not through a view."""
    shape = shape_of(value)
    return View(value, shape, dense_strides(shape))


def need(primitive: Primitive | None) -> Primitive:
    """The primitive, or Impossible."""
    if primitive is None:
        raise NotSupported
    return primitive


def dtype_of(value: Value) -> DType:
    """The dtype of a tensor."""
    if not isinstance(value.type, TensorType):
        raise NotSupported
    return value.type.dtype


def shape_of(value: Value) -> tuple[int, ...]:
    """The sizes of a tensor, all known and none 0."""
    t = value.type
    if not isinstance(t, TensorType) or t.weak or not t.is_static or 0 in t.ints():
        raise NotSupported
    return t.ints()


def number_of(dtype: DType) -> int:
    """oneDNN's number of a dtype."""
    if dtype not in DTYPES:
        raise NotSupported
    return DTYPES[dtype]
