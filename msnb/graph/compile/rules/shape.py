"""Laws of shapes (they move no number, so they are exact) and of gradients that are finished."""

from __future__ import annotations

import math

from msnb.core import TensorType
from msnb.graph.compile.rewriting import Found, GraphRewriter, RewriteRule, kind, op_of
from msnb.graph.compile.rules.arithmetic import case, unchanged
from msnb.graph.compile.rules.matmul import swaps_last
from msnb.ir.graph import Node, Value
from msnb.ops.definition.symbolic_sizes import has_sizes

_MATRIX = "x: f32[2,3]"


def _static(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static


def _same_type(sweep: GraphRewriter, node: Node) -> Found:
    """The operand itself: ``GraphRewriter.accept`` lets it pass only where it has the node's type."""
    return node.inputs[0]


def _reshape_of(sweep: GraphRewriter, node: Node) -> Found:
    """Not past the reshape of a transpose: it moves the elements, once, and another reshape of it is free."""
    inner = node.inputs[0].node
    if inner is None or inner.op.view != "reshape" or not all(has_sizes(v.type) for v in (node.out, inner.inputs[0])):
        return None
    if inner.op.name == "reshape" and op_of(inner.inputs[0], "transpose") is not None:
        return None
    assert isinstance(node.out.type, TensorType)
    return sweep.emit("reshape", inner.inputs[0], shape=node.out.type.shape)


def _transpose_identity(sweep: GraphRewriter, node: Node) -> Found:
    perm = node.attrs["perm"]
    return node.inputs[0] if tuple(perm) == tuple(range(len(perm))) else None


def _transpose_of(sweep: GraphRewriter, node: Node) -> Found:
    inner = op_of(node.inputs[0], "transpose")
    if inner is None:
        return None
    perm = tuple(inner.attrs["perm"][axis] for axis in node.attrs["perm"])
    return sweep.emit("transpose", inner.inputs[0], perm=perm)


def _broadcast_of(sweep: GraphRewriter, node: Node) -> Found:
    inner = op_of(node.inputs[0], "broadcast_to")
    return None if inner is None else sweep.emit("broadcast_to", inner.inputs[0], shape=node.attrs["shape"])


def _full_slice(sweep: GraphRewriter, node: Node) -> Found:
    x = node.inputs[0]
    if not _static(x) or not isinstance(x.type, TensorType):
        return None
    begin, step = node.attrs["begin"], node.attrs["step"]
    return x if x.type == node.out.type and not any(begin) and all(s == 1 for s in step) else None


def _one_part(sweep: GraphRewriter, node: Node) -> Found:
    return node.inputs[0] if len(node.inputs) == 1 else None


def _matmul_transposed(sweep: GraphRewriter, node: Node) -> Found:
    pair = [op_of(v, "transpose") for v in node.inputs]
    if not all(n is not None and swaps_last(n.attrs["perm"]) for n in pair):
        return None
    a, b = (n.inputs[0] for n in pair if n is not None)
    product = sweep.emit("matmul", b, a)
    assert isinstance(product.type, TensorType)
    n = product.type.ndim
    return sweep.emit("transpose", product, perm=(*range(n - 2), n - 1, n - 2))


def _results_as_given(sweep: GraphRewriter, node: Node) -> Found:
    n_in = node.attrs.get("n_in", 0)
    return node.inputs[n_in : n_in + len(node.outputs)]


def _sum_of_nothing(sweep: GraphRewriter, node: Node) -> Found:
    """Of floats it is not exact: libraries start a sum at 0.0, and 0.0 + -0.0 is 0.0."""
    x = node.inputs[0]
    if kind(x) != "int" or not _static(x) or not _static(node.out):
        return None
    assert isinstance(x.type, TensorType) and isinstance(node.out.type, TensorType)
    if math.prod(x.type.ints()) != math.prod(node.out.type.ints()) or 0 in x.type.shape or x.type.weak:
        return None
    if x.type.dtype is not node.out.type.dtype:
        return None
    return sweep.emit("reshape", x, shape=node.out.type.shape)


SHAPES: tuple[RewriteRule, ...] = (
    RewriteRule(
        "reshape to the same", "a reshape to the shape a tensor has is the tensor", ("reshape",), _same_type,
        (case(("%1 = reshape(x, shape=(2,)) : f32[2]", "%1"), "x"),),
    ),
    RewriteRule(
        "reshape twice", "of two reshapes (or added and removed axes) the last one counts", ("reshape",), _reshape_of,
        (case(("%1 = reshape(x, shape=(6,)) : f32[6]", "%2 = reshape(%1, shape=(3, 2)) : f32[3,2]", "%2"),
              ("%1 = reshape(x, shape=(3, 2)) : f32[3,2]", "%1"), types="f32[3,2]", params=_MATRIX),
         case(("%1 = expand_dims(x, axis=0) : f32[1,2]", "%2 = reshape(%1, shape=(2,)) : f32[2]", "%2"), "x")),
    ),
    RewriteRule(
        "transpose of nothing", "a transpose that leaves every axis in place is the tensor", ("transpose",),
        _transpose_identity,
        (case(("%1 = transpose(x, perm=(0, 1)) : f32[2,3]", "%1"), "x", types="f32[2,3]", params=_MATRIX),),
    ),
    RewriteRule(
        "transpose twice", "two transposes are one with the product of the permutations", ("transpose",), _transpose_of,
        (case(("%1 = transpose(x, perm=(1, 0)) : f32[3,2]", "%2 = transpose(%1, perm=(1, 0)) : f32[2,3]", "%2"), "x",
              types="f32[2,3]", params=_MATRIX),
         case(("%1 = transpose(x, perm=(1, 2, 0)) : f32[3,4,2]", "%2 = transpose(%1, perm=(1, 2, 0)) : f32[4,2,3]",
               "%2"), ("%1 = transpose(x, perm=(2, 0, 1)) : f32[4,2,3]", "%1"), types="f32[4,2,3]",
              params="x: f32[2,3,4]")),
    ),
    RewriteRule(
        "broadcast to the same", "broadcast_to the shape a tensor has is the tensor", ("broadcast_to",), _same_type,
        (case(("%1 = broadcast_to(x, shape=(2,)) : f32[2]", "%1"), "x"),),
    ),
    RewriteRule(
        "broadcast twice", "of two broadcasts the last one counts", ("broadcast_to",), _broadcast_of,
        (case(("%1 = broadcast_to(x, shape=(3, 2)) : f32[3,2]", "%2 = broadcast_to(%1, shape=(4, 3, 2)) : f32[4,3,2]",
               "%2"), ("%1 = broadcast_to(x, shape=(4, 3, 2)) : f32[4,3,2]", "%1"), types="f32[4,3,2]"),),
    ),
    RewriteRule(
        "sum to the same", "sum_to the shape a tensor has is the tensor", ("sum_to",), _same_type,
        (case(("%1 = sum_to(x, shape=(2,)) : f32[2]", "%1"), "x"),),
    ),
    RewriteRule(
        "sum of nothing", "a sum of integers over axes of size 1 is a reshape", ("sum_to",), _sum_of_nothing,
        (case(("%1 = sum_to(x, shape=(2,)) : i32[2]", "%1"), ("%1 = reshape(x, shape=(2,)) : i32[2]", "%1"),
              types="i32[2]", params="x: i32[1,2]"),
         unchanged(("%1 = sum_to(x, shape=(2,)) : f32[2]", "%1"), "the sum of one -0.0 is 0.0", params="x: f32[1,2]")),
    ),
    RewriteRule(
        "slice of everything", "a slice that takes every element in order is the tensor", ("slice",), _full_slice,
        (case(("%1 = slice(x, begin=(0,), end=(2,), step=(1,)) : f32[2]", "%1"), "x"),),
    ),
    RewriteRule(
        "concat of one", "concat of one tensor is the tensor", ("concat",), _one_part,
        (case(("%1 = concat(x) : f32[2]", "%1"), "x"),),
    ),
    RewriteRule(
        "past the gradient", "gradients are taken before compilation: stop_gradient(x) is x", ("stop_gradient",),
        lambda sweep, node: node.inputs[0],
        (case(("%1 = stop_gradient(x) : f32[2]", "%2 = stop_gradient(%1) : f32[2]", "%2"), "x"),),
    ),
    RewriteRule(
        "past a custom gradient", "gradients are taken before compilation: custom_gradient gives its results as given",
        ("custom_gradient", "with_vjp", "refuse_gradient"), _results_as_given,
        (case(('%1 = custom_gradient(y, x, n_in=1, n_out=1, fn=host("bprop")) : f32[2]', "%1"), "x",
              params="x: f32[2], y: f32[2]"),),
    ),
    RewriteRule(
        "matmul of transposes", "a.T @ b.T is (b @ a).T", ("matmul",), _matmul_transposed,
        (case(("%1 = transpose(x, perm=(1, 0)) : f32[3,2]", "%2 = transpose(y, perm=(1, 0)) : f32[2,4]",
               "%3 = matmul(%1, %2) : f32[3,4]", "%3"),
              ("%1 = matmul(y, x) : f32[4,3]", "%2 = transpose(%1, perm=(1, 0)) : f32[3,4]", "%2"), types="f32[3,4]",
              params="x: f32[2,3], y: f32[4,2]"),),
        exact=False, differs="in the last digits: libraries add the products of the two layouts in another order",
    ),
)  # fmt: skip
