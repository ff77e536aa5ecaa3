"""What a program computes from nothing: arange, eye, a causal mask. It is worked out once, when the program is built.

    %1 = ones((128, 128))        -->  an array beside the program, as constants are
    %2 = triu(%1, 1)

The passes leave such operations as they are, for they are shorter than their values and say more; so does the IR that
people see. Here only memory counts: ``MOST`` bytes each. The reference bodies give the values.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.core import TensorType, Type
from msnb.core.symbolic_int import Symbolic, plain, trace_of
from msnb.devices.device import body_kernel
from msnb.ir import FUSED, Const, Node, Value
from msnb.ops.definition.record import Op
from msnb.ops.elementwise.constant import constant

MOST = 1 << 20
_NEVER = frozenset(("control", "effect", "random", "stack", "custom", "host", "collective"))


class ConstantEvaluator:
    """The values that are known before a program runs."""

    def __init__(self) -> None:
        self._known: dict[Value, Const] = {}

    def const(self, value: Value) -> Const | None:
        """What a value is, if it is known."""
        node = value.node
        if node is not None and node.op is constant:
            found: Const = node.attrs["value"]
            return found
        return self._known.get(value)

    def of(self, node: Node) -> list[Const]:
        """What a node's results are; nothing where they are not known."""
        found = [self.const(v) for v in node.outputs]
        return [c for c in found if c is not None] if None not in found else []

    def add(self, node: Node) -> bool:
        """Know a node's results, if that can be done now."""
        if node.op is constant:
            return True
        operands = [self.const(v) for v in node.inputs]
        if None in operands or "pure" not in node.op.traits and node.op is not FUSED:
            return False
        known = [c for c in operands if c is not None]
        return self._add_group(node, known) if node.op is FUSED else self._add_one(node, known)

    def _add_group(self, node: Node, operands: list[Const]) -> bool:
        (body,) = node.graphs
        self._known.update(zip(body.params, operands))
        if not all(map(self.add, body.nodes)):
            return False
        self._known.update((v, c) for v, c in zip(node.outputs, map(self.const, body.outputs)) if c is not None)
        return True

    def _add_one(self, node: Node, operands: list[Const]) -> bool:
        """Zeros are as quickly made as read."""
        t = node.outputs[0].type if len(node.outputs) == 1 and node.op.name != "zeros" else None
        if not isinstance(t, TensorType) or not t.is_static or t.weak or t.nbytes > MOST:
            return False
        array = _value(node, [c.data for c in operands]) if node.op.traits.isdisjoint(_NEVER) else None
        if array is None or plain(array).shape != plain(t.ints()) or plain(array).dtype != t.dtype.numpy:
            return False
        self._known[node.outputs[0]] = Const(array, t)
        return True


def _value(node: Node, operands: list[Any]) -> Any:
    """The value of a node; of sizes that are written down, what stands for it."""
    given = (node.op, [v.type for v in node.inputs], list(node.attrs.items()), operands)
    trace = trace_of(given)
    if trace is None:
        return _evaluated(*given)

    def wrap(name: str, value: Any) -> Any:
        trace.guard(f"{name} is None", value is None)
        return None if value is None else Symbolic(trace, name, value)

    return trace.call(_evaluated, given, wrap)


def _evaluated(op: Op, types: list[Type], attrs: list[tuple[str, Any]], operands: list[Any]) -> Any:
    """The value by the reference body; None where it refuses: the program must fail when it runs."""
    kernel = body_kernel(np, op, tuple(types), dict(attrs))
    try:
        with np.errstate(all="ignore"):
            return np.array(kernel(*operands))
    except (ValueError, ArithmeticError, IndexError, TypeError):
        return None
