"""Triangles of matrices: row by row, one part is copied and the other one is zero.

    tril, diagonal d     row r     x x x x 0 0 0        r + d + 1 elements are kept, at least none, at most all
    triu, diagonal d     row r     0 0 0 x x x x        r + d elements are zero

Elements are bytes, so there is one kernel per size of an element. Rows are the lines; ``inner`` is how many of them a
matrix has.
"""

from __future__ import annotations

from collections.abc import Sequence

from msnb.core import TensorType, clamped
from msnb.devices.cpu.kernels.lines.line_kernel import SHARED_WORK, LineEmitter, is_static, library, words
from msnb.devices.cpu.llvm.jit import Symbol
from msnb.devices.cpu.native_kernel import KernelCall, NativeKernel, ViewOf
from msnb.ir.graph import Node

NAMES = ("tril", "triu")


class TriangleRecipe(NativeKernel):
    """tril and triu of matrices with ``rows`` and ``columns``."""

    rows: int
    columns: int

    def __init__(self, name: str, t: TensorType, diagonal: int) -> None:
        self.name: str = name
        self.diagonal: int = diagonal
        self.itemsize: int = t.dtype.itemsize
        *_, self.rows, self.columns = t.ints()
        self.units: int = t.size // self.columns

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[KernelCall]:
        """One call: a unit is a row."""
        threads = clamped(self.units * self.columns // SHARED_WORK, 1, self.units)
        header = (self.units, threads, self.columns, self.rows, 1)
        symbol = f"msnb_{self.name}"
        kept = self.diagonal + (self.name == "tril")
        made = library(symbol, _triangle, self.name == "tril", self.itemsize)
        return [KernelCall(Symbol(made, symbol), (*words(header, ins, outs), kept))]


def recipe(node: Node, view_of: ViewOf) -> NativeKernel | None:
    """How a triangle is made; None for other nodes."""
    if node.op.name not in NAMES or not is_static(node):
        return None
    t = node.inputs[0].type
    assert isinstance(t, TensorType)
    return TriangleRecipe(node.op.name, t, node.attrs["diagonal"])


def _triangle(lower: bool, itemsize: int) -> LineEmitter:
    """The part of one thread: where row r is cut, then two moves."""
    e = LineEmitter()
    x, out, shift = e.pointer(0), e.pointer(1), e.word(7)

    def row(unit: str) -> None:
        at = e.i64("add", e.i64("urem", unit, e.inner), shift)
        cut = e.smaller(e.call("llvm.smax.i64", "i64", ("i64", at), ("i64", "0")), e.n)
        first, size = e.i64("mul", unit, e.i64("mul", e.n, itemsize)), e.i64("mul", cut, itemsize)
        rest = e.i64("mul", e.i64("sub", e.n, cut), itemsize)
        behind = e.i64("add", first, size)
        kept, left = ((first, size), (behind, rest)) if lower else ((behind, rest), (first, size))
        source, target = e.place("i8", x, kept[0]), e.place("i8", out, kept[0])
        e.act("llvm.memcpy.p0.p0.i64", ("ptr", target), ("ptr", source), ("i64", kept[1]), ("i1", "false"))
        zeros = e.place("i8", out, left[0])
        e.act("llvm.memset.p0.i64", ("ptr", zeros), ("i8", "0"), ("i64", left[1]), ("i1", "false"))

    e.units(row)
    return e
