"""Places in sorted lines, by halving: each step keeps the half in which the value belongs, without a branch.

boundaries [1, n] or [rows, n], x [rows, m]  ->  places [rows, m]        a unit is a block of neighbouring x

left     the first element that is not below x                 NaN stands behind all numbers, as in sorting
right    the first element that is above x
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core import TensorType, clamped, dtypes
from msnb.devices.cpu.kernels.lines.line_kernel import SHARED_WORK, LineEmitter, compared_as, is_static, library, words
from msnb.devices.cpu.llvm.jit import Symbol
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.devices.llvm import compare, memory_name, type_name
from msnb.ir.graph import Node

NAMES = ("searchsorted",)


class SearchRecipe(NativeKernel):
    """searchsorted of ``count`` values, ``row`` of which belong to one line of ``n`` boundaries."""

    def __init__(self, dtype: dtypes.DType, n: int, row: int, count: int, right: bool) -> None:
        self.dtype: dtypes.DType = dtype
        self.n: int = n
        self.row: int = row
        self.count: int = count
        self.right: bool = right

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call; its words end with the number of halvings."""
        steps = self.n.bit_length()
        threads = clamped(self.count * steps // SHARED_WORK, 1, self.count)
        header = (self.count, threads, self.n, self.row, steps)
        made = library("msnb_search", _search, self.dtype, self.right)
        return [KernelCall(Symbol(made, "msnb_search"), words(header, ins, outs))]


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a search runs; None for other nodes, and for dtypes that differ."""
    if node.op.name not in NAMES or not is_static(node):
        return None
    lines, x = (v.type for v in node.inputs)
    assert isinstance(lines, TensorType) and isinstance(x, TensorType)
    if lines.dtype is not x.dtype or not (x.dtype.is_float or x.dtype.is_int) or x.dtype is dtypes.bool_:
        return None
    n = lines.ints()[-1]
    row = x.size if lines.ndim == 1 else x.ints()[-1]
    return SearchRecipe(x.dtype, n, row, x.size, node.attrs["right"])


def _search(dtype: dtypes.DType, right: bool) -> LineEmitter:
    """The part of one thread."""
    e, wide, stored = LineEmitter(), compared_as(dtype), memory_name(dtype)
    lines, values, out = (e.pointer(i) for i in range(3))
    steps, last, kind = e.blocks, e.i64("sub", e.n, 1), type_name(wide)

    def is_nan(x: str) -> str:
        return e.ins(f"fcmp uno {kind} {x}, {x}")

    def before(a: str, x: str) -> str:
        """True where boundary ``a`` stands before ``x``."""
        found = compare(e, "le" if right else "lt", wide, a, x)
        if not wide.is_float:
            return found
        behind = is_nan(x) if right else e.ins(f"and i1 {is_nan(x)}, {e.ins(f'xor i1 {is_nan(a)}, true')}")
        return e.ins(f"or i1 {found}, {behind}")

    def one(unit: str) -> None:
        x = e.read(dtype, e.place(stored, values, unit))
        line = e.place(stored, lines, e.i64("mul", e.i64("udiv", unit, e.inner), e.n))

        def halve(_: str, now: list[str]) -> list[str]:
            start, size = now
            half = e.i64("lshr", size, 1)
            middle = e.i64("add", start, half)
            a = e.read(dtype, e.place(stored, line, e.smaller(middle, last)))
            some = e.ins(f"icmp sgt i64 {size}, 0")
            upper = e.ins(f"and i1 {some}, {before(a, x)}")
            rest = e.i64("sub", e.i64("sub", size, half), 1)
            start = e.ins(f"select i1 {upper}, i64 {e.i64('add', middle, 1)}, i64 {start}")
            return [start, e.ins(f"select i1 {upper}, i64 {rest}, i64 {half}")]

        found = e.loop(("0", steps, 1), [("i64", "0"), ("i64", e.n)], halve)
        e.do(f"store i64 {found[0]}, ptr {e.place('i64', out, unit)}")

    e.units(one)
    return e
