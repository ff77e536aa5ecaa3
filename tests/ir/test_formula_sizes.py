"""Sizes that are formulas of other sizes (`3*n`, `n[1:9:2]`) are written so that the parser reads them back."""

from __future__ import annotations

import pytest

import msnb as ms
from msnb.core import dtypes
from msnb.core.types import Dim, StackType, tensor_type
from msnb.ir.analysis.structural_hash import isomorphic
from msnb.ir.builder import GraphBuilder
from msnb.ir.control_flow import STACK_NEW
from msnb.ir.text.parser import parse
from msnb.ir.text.printer import constants_of, print_graph
from msnb.ops.definition.symbolic_sizes import product, sliced, total

SYMBOLS = ["n", "n1", "3*n", "n*m", "n[1:9:2]", "n[::-1]", "(n+-2)//3+1", "m+n+2", "n-1", "3", "f32", "a`b", "a<=b", "",
           "a,b]", "x\ny"]  # fmt: skip


@pytest.mark.parametrize("bound", [None, 24])
@pytest.mark.parametrize("symbol", SYMBOLS)
def test_every_symbol_reads_back(symbol: str, bound: int | None) -> None:
    type_ = tensor_type((Dim(symbol, bound), 2), dtypes.float32)
    with GraphBuilder("g") as b:
        x = b.param(type_, "x")
        stack = STACK_NEW(type=StackType(type_).element)
        b.output(x + x, stack)
    text = print_graph(b.graph)
    again = parse(text, constants_of(b.graph))
    assert again.params[0].type is type_
    assert isomorphic(b.graph, again) and print_graph(again) == text


def test_a_plain_symbol_is_written_plainly() -> None:
    with GraphBuilder("g") as b:
        b.output(b.param(tensor_type((Dim("n", 8),), dtypes.float32), "x"))
    assert "f32[n<=8]" in print_graph(b.graph)


def test_a_captured_program_reads_back() -> None:
    @ms.jit
    def f(x):  # type: ignore[no-untyped-def]
        chosen = x[x > 0]
        return ms.ops.concat([chosen, chosen, chosen])[1:9:2]

    f(ms.Tensor([1.0, 2.0, -1.0]))
    graph, *_ = f.graph_for((ms.Tensor([1.0, 2.0, -1.0]),), {})
    text = print_graph(graph)
    assert "+" in text and ")[1:9:2]`" in text
    assert print_graph(parse(text, constants_of(graph))) == text


def test_different_sizes_have_different_symbols() -> None:
    n = Dim("n", 4)
    thrice = total([n, n, n])
    assert sliced(thrice, 1, 9, 2) != total([n, n, sliced(n, 1, 9, 2)])
    assert product([thrice, 2]) != total([product([n, 2]), n, n])
    assert product([n, 3]) == Dim("3*n", 12) and sliced(n, 1, 9, 2) == Dim("n[1:9:2]", 2)
