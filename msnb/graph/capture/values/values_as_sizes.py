"""Values of tensors that a program needs as sizes: ``ops.reshape(x, shape)`` with a ``shape`` that is an argument.

    shape [2, 3] an input     ->   its values are read while the program is captured, and guarded: other values are
                                   another version of the program
    shape[0] * 2, 6 - n       ->   what is computed from such inputs alone is worked out as the operators' bodies do

What hangs on a loop, a draw or a large tensor stays unknown.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import events
from msnb.core import TensorType
from msnb.graph.capture.values import sources
from msnb.ir.builder import GraphBuilder, SymbolicTensor
from msnb.ir.graph import Value

_LARGEST = 4096


def values_of(tensor: Any) -> tuple[Any, ...]:
    """The numbers of a tensor, row by row, as a guard compares them."""
    return tuple(np.asarray(tensor.asnumpy()).reshape(-1).tolist())


def known_values(session: Any, x: SymbolicTensor) -> Any:
    """The array that an integer tensor is at every call of the version that is being captured; None if unknown."""
    inputs = {first: (owner, source) for _, owner, source, first in session.inputs.stand_ins()}
    outer: dict[Value, Value] = dict(session.stands_for)
    builder: GraphBuilder | None = x._builder
    while builder is not None:
        outer.update({own: tensor._value for tensor, own in builder.captured})
        builder = builder.parent
    read: set[Value] = set()
    found = _evaluated(x._value, inputs, outer, read)
    if found is None:
        return None
    for value in read:
        owner, source = inputs[value]
        session.guard("eq", (sources.called(values_of, (source,)),), (values_of(owner),))
        events.notice(
            f"the values of {source.label} are needed as sizes or places: the program is compiled for these, and again "
            "for others.",
            key=f"values as sizes {source.label}",
        )
    return found


def _evaluated(value: Value, inputs: dict[Value, Any], outer: dict[Value, Value], read: set[Value]) -> Any:
    t = value.type
    if not isinstance(t, TensorType) or not t.is_static or not t.dtype.is_int or t.size > _LARGEST:
        return None
    if value in inputs:
        read.add(value)
        return np.asarray(inputs[value][0].asnumpy())
    if value in outer:
        return _evaluated(outer[value], inputs, outer, read)
    node = value.node
    if node is None or node.graphs or len(node.outputs) != 1 or "pure" not in node.op.traits:
        return None
    operands = [_evaluated(v, inputs, outer, read) for v in node.inputs]
    if any(operand is None for operand in operands):
        return None
    return np.asarray(node.op.body(np, *operands, **node.attrs)).astype(t.dtype.numpy)
