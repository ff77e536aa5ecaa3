"""Ops whose gradient is somebody else's function: a Cell's ``bprop``, hooks, a program compiled before.

    y = fn(x)                         computed as usual, its inner ops are cut off from the gradient
    y' = custom_gradient(x, y)        the same value; its gradient rule calls bprop(x, y, dy)

``custom_gradient`` calls Python when the gradient runs (a HostCall whose callable is exchanged from run to run), so a
hook sees real tensors in both modes. ``with_vjp`` has a rule that is traced into the backward graph: its callable takes
and gives tensors of whatever engine sits in the slot.
"""

from __future__ import annotations

from typing import Any

from msnb.core.engine import slot
from msnb.core.types import Type
from msnb.ir.builder import GraphBuilder
from msnb.ir.control_flow import HostFn, host_call
from msnb.ops.definition.record import Op, define


def _results(*types: Type, n_in: int, n_out: int, fn: HostFn) -> tuple[Type, ...]:
    return types[n_in : n_in + n_out]


def _body(xp: Any, *args: Any, n_in: int, n_out: int, fn: HostFn) -> Any:
    return args[n_in] if n_out == 1 else args[n_in : n_in + n_out]


def _called(args: tuple[Any, ...], douts: tuple[Any, ...], types: tuple[Type, ...], n_in: int, fn: HostFn) -> list[Any]:
    if isinstance(slot.engine, GraphBuilder):
        # a hook is called for its own sake: nobody may need the gradients that it gives
        found = host_call(slot.engine, fn, [*args, *douts], types[:n_in], effect=True)
    else:
        found = fn.fn(*args, *douts)
    return [*found, *[None] * (len(args) - n_in)]


def _traced(args: tuple[Any, ...], douts: tuple[Any, ...], n_in: int, fn: HostFn) -> list[Any]:
    return [*fn.fn(*args, *douts), *[None] * (len(args) - n_in)]


def _record(name: str, grad: Any, doc: str, *traits: str) -> Op:
    return define(
        name,
        "*args",
        attrs=("n_in", "n_out", "fn"),
        infer=_results,
        body=_body,
        grad=grad,
        doc=doc,
        axes="control",
        traits=("pure", "custom", *traits),
        family="control",
    )


CUSTOM_GRADIENT = _record(
    "custom_gradient", _called, "Its results as given; the gradient is a Python function.", "host"
)
WITH_VJP = _record("with_vjp", _traced, "Its results as given; the gradient is a traced function.")
