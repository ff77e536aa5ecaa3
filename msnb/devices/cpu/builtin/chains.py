"""Elementwise operations on many elements as generated code, one operation at a time.

    x * 0.5      one kernel  k(i0 < n)  for all shapes: compiled once per operation and dtypes, kept on disk

Only plain chains: dense operands of the result's shape, and Python numbers. Where operands broadcast or are odd views,
NumPy's loops serve.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from msnb.core.dtypes import bool_
from msnb.core.types import TensorType, Type
from msnb.devices.cpu.program.recipe import Call, Recipe
from msnb.ir.graph import Graph, Node
from msnb.ir.kernel import Kernel
from msnb.ir.space import kind_of
from msnb.ops.record import Op

WORTH = 65536
_lock = threading.Lock()
_made: dict[str, Any] = {}


def is_worth(op: Op, types: tuple[Type, ...], attrs: dict[str, Any]) -> bool:
    """True for an elementwise operation on floats, all of the result's shape or Python numbers, with enough to do."""
    tensors = [t for t in types if isinstance(t, TensorType) and not t.weak]
    if "elementwise" not in op.traits or not tensors or tensors[0].size < WORTH:
        return False
    if _gives_its_operand(op, tensors, attrs):
        return False
    shapes = {t.shape for t in (*tensors, *op.result_types(types, attrs)) if isinstance(t, TensorType)}
    return len(shapes) == 1 and all(t.dtype.is_float or t.dtype is bool_ for t in tensors)


def _gives_its_operand(op: Op, tensors: list[TensorType], attrs: dict[str, Any]) -> bool:
    """True where NumPy has nothing to do at all."""
    return op.scalar == "x" or (op.name == "cast" and tensors[0].dtype is attrs["dtype"])


class Chain(Recipe):
    """A kernel of any extent over one extent."""

    def __init__(self, kernel: Kernel, extent: int) -> None:
        self._kernel, self._extent = kernel, extent

    def calls(self, ins: Sequence[int], outs: Sequence[int], temps: Sequence[int]) -> list[Call]:
        """One call."""
        return [_compiled(self._kernel).chain([((*ins, *outs), self._extent)])]


def recipe(node: Node) -> Recipe | None:
    """The chain that ``node`` is, or None where there is no code for it."""
    if kind_of(node) != "elementwise":
        return None
    from msnb.devices.cpu.codegen.flat import generic
    from msnb.devices.cpu.codegen.library import lowered

    body = Graph(node.op.name)
    params = [body.add_param(v.type, f"x{i}") for i, v in enumerate(node.inputs)]
    body.outputs = [body.add(node.op, params, node.attrs, [node.out.type]).out]
    kernel = lowered(body)
    plain = None if kernel is None else generic(kernel)
    if kernel is None or plain is None or _compiled(plain) is None:
        return None
    return Chain(plain, kernel.sizes[0])


def _compiled(kernel: Kernel) -> Any:
    """Machine code of a chain, made once; None where it cannot be made."""
    from msnb.devices.cpu.codegen.library import compile_kernels, same

    key = same(kernel)
    with _lock:
        if key not in _made:
            (_made[key],) = compile_kernels([kernel])
        return _made[key]
