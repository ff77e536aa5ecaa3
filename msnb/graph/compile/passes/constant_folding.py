"""Constant folding: what depends on constants alone is computed once, by the op's reference body.

    %1 = add(2.0, 3.0)             (inputs are constants)  -->  5.0
    %2 = multiply(x, %1)                                        multiply(x, 5.0)

Bounded by size: a constant must be stored and carried along, so `zeros(1000, 1000)` stays an op, and a result is
folded only up to MAX_BYTES. Random draws, effects, stacks and control flow are not folded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.core import TensorType, Type
from msnb.devices.device import body_kernel
from msnb.graph.compile.rewriting import Answer, Case, GraphRewriter, const_of, sweep_pass
from msnb.graph.compile.rewriting.rewriter import Rule
from msnb.ir.graph import Node
from msnb.ops.elementwise.constant import constant

MAX_BYTES = 1 << 16
MAX_MADE_BYTES = 256  # a filler op (zeros, arange) is shorter than its value
LAW = "an op on constants is its value"
_NEVER = ("control", "effect", "random", "stack", "custom", "host", "constant")


def _fits(node: Node, limit: int) -> bool:
    return all(isinstance(v.type, TensorType) and v.type.is_static and v.type.nbytes <= limit for v in node.outputs)


def _foldable(node: Node) -> bool:
    if node.op is constant or not node.op.traits.isdisjoint(_NEVER) or not node.outputs:
        return False
    if any(const_of(v) is None for v in node.inputs):
        return False
    return _fits(node, MAX_BYTES if node.inputs else MAX_MADE_BYTES)


def _operand(data: Any, type_: Type) -> Any:
    weak = isinstance(type_, TensorType) and type_.weak
    return data if weak else np.asarray(data)


def evaluate(node: Node) -> list[Any] | None:
    """The arrays a node gives when its inputs are constants, or None where its body refuses them."""
    operands = [_operand(v.node.attrs["value"].data, v.type) for v in node.inputs if v.node is not None]
    kernel = body_kernel(np, node.op, tuple(v.type for v in node.inputs), node.attrs)
    try:
        with np.errstate(all="ignore"):
            result = kernel(*operands)
    except (ValueError, ArithmeticError, IndexError, TypeError):
        return None  # the program must fail, if at all, when and where it runs
    return list(result) if len(node.outputs) > 1 else [result]


def _as_promised(array: Any, type_: Type) -> bool:
    return isinstance(type_, TensorType) and array.shape == type_.shape and array.dtype == type_.dtype.numpy


def _rule(sweep: GraphRewriter, node: Node) -> Answer:
    if not _foldable(node):
        return None
    arrays = evaluate(node)
    if arrays is None or not all(_as_promised(a, v.type) for a, v in zip(arrays, node.outputs)):
        return None
    values = [sweep.constant(np.array(a), v.type) for a, v in zip(arrays, node.outputs)]  # type: ignore[arg-type]
    return sweep.accept(node, values, LAW)


def make_rule() -> Rule:
    """The rule of this pass."""
    return _rule


FOLD = sweep_pass(
    "fold",
    "What depends on constants alone is computed once, before the program runs.",
    (
        Case(
            "graph f(x: f32[2]) -> (f32[2])\n  %1 = add(2.0, ~3) : f32[]\n  %2 = add(x, %1) : f32[2]\n  return %2",
            "graph f(x: f32[2]) -> (f32[2])\n  %2 = add(x, 5.0) : f32[2]\n  return %2",
            "a chain of constants",
        ),
        Case(
            "graph f() -> (f32[])\n  %1 = divide(1.0, 0.0) : f32[]\n  return %1",
            "graph f() -> (f32[])\n  return inf",
            "the value the body gives, infinities included",
        ),
    ),
    make_rule,
)
