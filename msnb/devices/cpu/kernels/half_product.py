"""Products and convolutions of half precision, where the CPU has no units for it: in float32, converted around them.

    x f16 --convert--> temp f32 --+
                                  +--product in float32--> temp f32 --convert--> y f16
    w f16 --convert--> temp f32 --+

The conversions are generated code, a register at a time, and cost a pass over the operands; the product is whatever
runs it in float32. An operand that is a view is converted as its base lies and seen through there. The values are those
of the reference body: added up in float32, rounded once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from msnb.core import DType, TensorType, clamped, dtypes
from msnb.devices.cpu.kernels.lines.line_kernel import SHARED_WORK, LineEmitter, is_static, library, words
from msnb.devices.cpu.llvm.jit import Symbol
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.cpu.onednn import primitives
from msnb.devices.cpu.onednn.primitive_chain import DTYPES
from msnb.devices.llvm.emitter import memory_name
from msnb.ir.graph import Graph, Node, Value, type_of
from msnb.ir.kernel.strided_views import View, whole

_BLOCK, _LANES, _MOST = 8192, 16, 2
Find = Callable[[Node, ViewOf], NativeKernel | None]


class HalfProductRecipe(NativeKernel):
    """A node in float32: ``inner`` runs its twin, whose operands are ``reads``, converted."""

    inner: NativeKernel
    out: TensorType

    joins = False

    def __init__(self, inner: NativeKernel, reads: Sequence[Value], out: TensorType) -> None:
        self.inner, self.reads, self.out = inner, tuple(reads), out
        self.operands: list[TensorType] = [type_of(v) for v in reads]
        self.temps = (*(4 * t.size for t in (*self.operands, out)), *inner.temps)

    @classmethod
    def prepare(cls, recipes: Sequence[Any]) -> None:
        """What is inside is compiled by kind too."""
        for kind in dict.fromkeys(type(r.inner) for r in recipes):
            kind.prepare([r.inner for r in recipes if type(r.inner) is kind])
        for r in recipes:
            r.refused = r.inner.refused

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """Operands there, the product, the result back."""
        n = len(self.operands)
        there = [_converted(t, dtypes.float32, a, b) for t, a, b in zip(self.operands, ins, temps)]
        inner = self.inner.calls(temps[:n], temps[n : n + 1], temps[n + 1 :])
        return [*there, *inner, _converted(_wide(self.out), self.out.dtype, temps[n], outs[0])]


def recipe(node: Node, view_of: ViewOf, find: Find) -> NativeKernel | None:
    """How a product of half precision runs; None for other nodes, and where the CPU has units. ``find`` gives a recipe
    for the product in float32."""
    dtype = getattr(node.out.type, "dtype", None) if len(node.outputs) == 1 else None
    if "contraction" not in node.op.traits or dtype not in (dtypes.float16, dtypes.bfloat16):
        return None
    if not is_static(node) or any(type_of(v).dtype is not dtype for v in node.inputs) or has_units(dtype):
        return None
    if not all(map(_is_covered, map(view_of, node.inputs))):
        return None
    twin = _Twin(node, view_of)
    inner = find(twin.node, twin.view_of)
    if inner is None or inner.declines:
        return None
    reads = twin.node.inputs if inner.reads is None else inner.reads
    return HalfProductRecipe(inner, [twin.origin[v] for v in reads], type_of(node.out))


@functools.lru_cache(maxsize=4)
def has_units(dtype: DType) -> bool:
    """True where the library multiplies matrices of this dtype with code of its own."""
    side = primitives.Layout((64, 64), (64, 1), DTYPES[dtype])
    return primitives.matmul(side, side, side) is not None


class _Twin:
    """The node in float32.

    Attributes:
        node: the twin; origin: from its operands, and the bases that these are views of, to those of the node.
    """

    def __init__(self, node: Node, view_of: ViewOf) -> None:
        self.graph, self.origin = Graph(node.op.name), dict[Value, Value]()
        self._known: dict[Value, Value] = {}
        self._views: dict[Value, View] = {}
        inputs = [self._operand(v, view_of(v)) for v in node.inputs]
        types = [_wide(type_of(node.out))]
        self.node = self.graph.add(node.op, inputs, node.attrs, types)

    def view_of(self, value: Value) -> View:
        """How an operand of the twin lies."""
        return self._views.get(value) or whole(value)

    def _operand(self, value: Value, view: View) -> Value:
        base = view.base
        t = base.type
        if base is value:  # an array as it lies, perhaps transposed
            made = self._param(value)
            self._views[made] = View(made, view.shape, view.strides, view.offset)
            return made
        if not isinstance(t, TensorType) or t.dtype is not type_of(value).dtype or t.weak:
            return self._param(value)
        if t.size > _MOST * type_of(value).size:
            return self._param(value)
        made = self._param(value)
        self._views[made] = View(self._param(base), view.shape, view.strides, view.offset)
        return made

    def _param(self, value: Value) -> Value:
        if value not in self._known:
            self._known[value] = self.graph.add_param(_wide(type_of(value)), value.name)
            self.origin[self._known[value]] = value
        return self._known[value]


def _is_covered(view: View) -> bool:
    """Is all that the view reads among the elements that are converted? An eager array may lie with gaps."""
    last = sum(s * (d - 1) for s, d in zip(view.strides, view.shape))
    return view.offset + last < type_of(view.base).size


def _wide(t: TensorType) -> TensorType:
    return t.with_dtype(dtypes.float32)


def _converted(source: TensorType, dtype: DType, start: int, end: int) -> KernelCall:
    """A call that converts all elements of a dense tensor."""
    blocks = -(-source.size // _BLOCK)
    threads = clamped(source.size // SHARED_WORK, 1, blocks)
    made = library("msnb_convert", _convert, source.dtype, dtype)
    return KernelCall(Symbol(made, "msnb_convert"), words((blocks, threads, source.size, 1, 1), [start], [end]))


def _convert(old: DType, new: DType) -> LineEmitter:
    """Units are blocks of elements."""
    e = LineEmitter()
    x, out = e.pointer(0), e.pointer(1)

    def block(unit: str) -> None:
        first = e.i64("mul", unit, _BLOCK)
        source, target = e.place(memory_name(old), x, first), e.place(memory_name(new), out, first)

        def some(i: str, mask: str) -> None:
            found = e.cast(e.load(old, e.place(memory_name(old), source, i), mask), old, new)
            e.store(new, found, e.place(memory_name(new), target, i), mask)

        e.sweep(e.smaller(e.i64("sub", e.n, first), str(_BLOCK)), _LANES, some)

    e.units(block)
    return e
