"""The law of einsum: a product with named axes is the operations that kernels and libraries are made for.

    einsum(x, y, "bte,bse->bts")      matmul(x, transpose(y, perm=(0, 2, 1)))

What comes out (``ops.linalg.einsum_lowering``) are transposes, which readers look through, reshapes and one matrix
product: it is gathered, fused and multiplied like any other. Integers, diagonals, axes of different sizes and several
operations in 16 bits stay as they are.
"""

from __future__ import annotations

from msnb.core import TensorType
from msnb.graph.compile.rewriting import Case, Found, GraphRewriter, RewriteRule
from msnb.graph.compile.rules.arithmetic import case
from msnb.ir.graph import Node
from msnb.ops.linalg.einsum import parse
from msnb.ops.linalg.einsum_lowering import Contraction, LabeledValue, rounds_once, sizes_of


def _contracted(sweep: GraphRewriter, node: Node) -> Found:
    types = [v.type for v in (*node.inputs, node.out) if isinstance(v.type, TensorType)]
    if not all(t.is_static and not t.weak and 0 not in t.shape for t in types):
        return None
    if len({t.dtype for t in types}) > 1 or not types[0].dtype.is_float:
        return None
    shapes = [t.ints() for t in types[:-1]]
    terms, result = parse(node.attrs["equation"], tuple(map(len, shapes)))
    sizes = sizes_of(terms, shapes)
    if sizes is None or (types[0].dtype.itemsize < 4 and not rounds_once(terms, result)):
        return None
    found: Found = Contraction(sweep.emit, sizes).of([LabeledValue(v, t) for v, t in zip(node.inputs, terms)], result)
    return found


def _case(equation: str, types: tuple[str, str, str], *after: str, about: str = "") -> Case:
    params = f"x: {types[0]}, y: {types[1]}"
    before = (f'%1 = einsum(x, y, equation="{equation}") : {types[2]}', "%1")
    return case(before, after or before, about, types=types[2], params=params)


_HEADS = ("f32[2,4,3]", "f32[2,5,3]", "f32[2,4,5]")
EINSUMS: tuple[RewriteRule, ...] = (
    RewriteRule(
        "einsum", "a product with named axes is a product of matrices", ("einsum",), _contracted,
        (_case("bte,bse->bts", _HEADS, "%1 = transpose(y, perm=(0, 2, 1)) : f32[2,3,5]",
               "%2 = matmul(x, %1) : f32[2,4,5]", "%2", about="a name that all have leads"),
         _case("ij,ij->ji", ("f32[2,3]", "f32[2,3]", "f32[3,2]"), "%1 = transpose(x, perm=(1, 0)) : f32[3,2]",
               "%2 = transpose(y, perm=(1, 0)) : f32[3,2]", "%3 = multiply(%1, %2) : f32[3,2]", "%3"),
         _case("ii,j->ij", ("f32[2,2]", "f32[3]", "f32[2,3]"), about="a diagonal"),
         _case("ij,jk->ik", ("f32[2,1]", "f32[3,4]", "f32[2,4]"), about="an axis of size 1 that is repeated")),
        exact=False, differs="in the last digits: sums are taken in another order",
    ),
)  # fmt: skip
