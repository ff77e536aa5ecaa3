"""Ops whose gradient is somebody else's function: a Cell's ``bprop``, hooks, a program compiled before.

    y = fn(x)                         computed as usual, its inner ops are cut off from the gradient
    y' = custom_gradient(x, y)        the same value; its gradient rule calls bprop(x, y, dy)

``custom_gradient`` calls Python when the gradient runs (a HostCall whose callable is exchanged from run to run), so a
hook sees real tensors in both modes. ``with_vjp`` has a rule that is traced into the backward graph: its callable takes
and gives tensors of whatever engine sits in the slot.

A rule of its own (``own=True``) says nothing about tensors that a function reads from outside, a Cell's weights:

    y = refuse_gradient(fn(stop_gradient(x)))     reaches a gradient only through what fn reads from outside
    y' = custom_gradient(x, y, own=True)          hands dy on to y too: an error where y depends on what is asked for
"""

from __future__ import annotations

from typing import Any

from msnb.base import GradientError
from msnb.core import Type, slot
from msnb.ir.builder import GraphBuilder
from msnb.ir.control_flow import HostFn, host_call
from msnb.ops.definition.record import REQUIRED, Op, define


def _results(*types: Type, n_in: int, n_out: int, fn: HostFn, own: bool) -> tuple[Type, ...]:
    return types[n_in : n_in + n_out]


def _body(xp: Any, *args: Any, n_in: int, n_out: int, fn: HostFn, own: bool) -> Any:
    return args[n_in] if n_out == 1 else args[n_in : n_in + n_out]


def _called(
    args: tuple[Any, ...], douts: tuple[Any, ...], types: tuple[Type, ...], n_in: int, fn: HostFn, own: bool
) -> list[Any]:
    if isinstance(slot.engine, GraphBuilder):
        # a hook is called for its own sake: nobody may need the gradients that it gives
        found = host_call(slot.engine, fn, [*args, *douts], types[:n_in], effect=True)
    else:
        found = fn.fn(*args, *douts)
    return [*found, *_rest(args, douts, n_in, own)]


def _traced(args: tuple[Any, ...], douts: tuple[Any, ...], n_in: int, fn: HostFn, own: bool) -> list[Any]:
    return [*fn.fn(*args, *douts), *_rest(args, douts, n_in, own)]


def _rest(args: tuple[Any, ...], douts: tuple[Any, ...], n_in: int, own: bool) -> list[Any]:
    """The gradients of what follows the inputs."""
    passed = list(douts) if own else []
    return [*passed, *[None] * (len(args) - n_in - len(passed))]


def _record(name: str, grad: Any, doc: str, *traits: str) -> Op:
    return define(
        name,
        "*args",
        attrs={"n_in": REQUIRED, "n_out": REQUIRED, "own": False, "fn": REQUIRED},
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


_refuses = [True]


def refuse_outside(on: bool) -> None:
    """Whether a gradient by a tensor that a bprop does not know is an error; MindSpore's is zero."""
    _refuses[0] = on


def _refused(args: tuple[Any, ...], name: str) -> list[Any]:
    if not _refuses[0]:
        return [None] * len(args)
    raise GradientError(
        f"a gradient is asked for by a tensor that {name} reads from outside, a Parameter perhaps; its bprop gives the "
        "gradients of its inputs only.",
        hint="give that tensor to it as an input, so that bprop gives its gradient too; leave it out of the weights; "
        "or read it through stop_gradient.",
    )


REFUSE_GRADIENT = define(
    "refuse_gradient",
    "*args",
    attrs=("name",),
    infer=lambda *types, name: types,
    body=lambda xp, *args, name: args[0] if len(args) == 1 else args,
    grad=_refused,
    doc="The values themselves; a gradient that would flow through them is an error.",
    axes="control",
    traits=("pure", "custom"),
    family="control",
)
