"""Stacks: what a loop of unknown length keeps for its reverse sweep.

    stack_new(type=)      s                       an empty stack
    stack_push(s, x)   -> s'                      s' = s with x on top
    stack_pop(s')      -> s, x

A stack is an infinite sequence of tensors of one type of which only finitely many, the topmost, are not zero: the
empty stack *is* the zero sequence, and popping it gives zeros and itself. So stacks form a vector space in which all
these maps are linear, push and pop are inverse to each other, and (both being shifts) adjoint to each other. A loop
that pushes has a reverse that pops, whose reverse pushes: derivatives of any order stay inside these few ops.

    stack_add(a, b)              entry by entry, counted from the top      adjoint: copy
    stack_where(mask, a, b)      entry by entry; mask covers the leading axes of an entry
    stack_spread(s, size, axis)  every entry repeated along a new axis    adjoint: stack_sum(s, axis)
    stack_lane(s, index)         in every entry, lane ``index`` in place of all lanes; no gradient

These serve gradients that meet, and ``vmap``, where one stack holds the entries of all lanes. Entries may be stacks
again (loops within loops). In the reference bodies a stack is a linked list, (below, top), and the empty stack a list
that contains itself: ``below, top = stack`` works on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.core.types import StackType, TensorType, Type, result_dtype, tensor_type
from msnb.ops.definition.record import Op, define, find

_TRAITS = ("pure", "stack", "linear")


# ---- bodies ----


def empty(xp: Any, element: Type) -> Any:
    """The empty stack: popped, it gives zeros and itself."""
    zero = empty(xp, element.element) if isinstance(element, StackType) else _zero(xp, element)
    stack: list[Any] = [None, zero]
    stack[0] = stack
    return stack


def _zero(xp: Any, t: Type) -> Any:
    return None if not isinstance(t, TensorType) or not t.is_static else xp.zeros(t.ints(), t.dtype.numpy)


def is_empty(stack: Any) -> bool:
    """True for a stack that nothing was pushed on."""
    return isinstance(stack, list)


def _entries(stack: Any) -> tuple[list[Any], Any]:
    """The entries, topmost first, and the empty stack below them."""
    found = []
    while not is_empty(stack):
        stack, top = stack
        found.append(top)
    return found, stack


def _piled(below: Any, entries: Sequence[Any]) -> Any:
    for top in reversed(entries):
        below = (below, top)
    return below


def _zip(a: Any, b: Any, fn: Any) -> Any:
    """Entry by entry, the shorter stack going on as zeros."""
    xs, bottom = _entries(a)
    ys, other = _entries(b)
    depth = max(len(xs), len(ys))
    xs += [bottom[1]] * (depth - len(xs))
    ys += [other[1]] * (depth - len(ys))
    return _piled(bottom, [fn(x, y) for x, y in zip(xs, ys)])


def _is_stack(x: Any) -> bool:
    return isinstance(x, (tuple, list))


def _add(xp: Any, a: Any, b: Any) -> Any:
    return _zip(a, b, lambda x, y: _add(xp, x, y) if _is_stack(x) else xp.add(x, y))


def _where(xp: Any, mask: Any, a: Any, b: Any) -> Any:
    def choose(x: Any, y: Any) -> Any:
        if _is_stack(x):
            return _where(xp, mask, x, y)
        return xp.where(mask.reshape(mask.shape + (1,) * (x.ndim - mask.ndim)), x, y)

    return _zip(a, b, choose)


def _mapped(xp: Any, stack: Any, fn: Any, element: Type) -> Any:
    entries, _ = _entries(stack)
    inner = element.element if isinstance(element, StackType) else None
    done = [fn(x) if inner is None else _mapped(xp, x, fn, inner) for x in entries]
    return _piled(empty(xp, element), done)


def _spread(xp: Any, stack: Any, *, size: int, axis: int, element: Type) -> Any:
    return _mapped(xp, stack, lambda x: xp.repeat(xp.expand_dims(x, axis), size, axis), element)


def _sum(xp: Any, stack: Any, *, axis: int, element: Type) -> Any:
    return _mapped(xp, stack, lambda x: xp.asarray(xp.sum(x, axis=axis), dtype=x.dtype), element)


def _lane(xp: Any, stack: Any, index: Any, *, element: Type) -> Any:
    def copied(x: Any) -> Any:
        at = index.reshape(index.shape + (1,) * (x.ndim - index.ndim))
        return xp.broadcast_to(xp.take_along_axis(x, at, index.ndim), x.shape)

    return _mapped(xp, stack, copied, element)


# ---- types ----


def _push_type(stack: StackType, x: Type) -> StackType:
    if stack.element != x:
        raise AssertionError(f"a {stack} cannot hold {x!r}.")
    return stack


def _same_type(a: StackType, b: StackType) -> StackType:
    if a != b:
        raise AssertionError(f"{a} and {b} are stacks of different types.")
    return a


def with_axis(t: Type, size: int, axis: int = 0) -> Type:
    """A type whose tensors have one more axis."""
    if isinstance(t, StackType):
        return StackType(with_axis(t.element, size, axis))
    assert isinstance(t, TensorType)
    return tensor_type((*t.shape[:axis], size, *t.shape[axis:]), result_dtype((t,)) if t.weak else t.dtype)


def axis_size(t: Type, axis: int = 0) -> Any:
    """The size of an axis of the tensors in a type."""
    if isinstance(t, StackType):
        return axis_size(t.element, axis)
    assert isinstance(t, TensorType)
    return t.shape[axis]


# ---- vmap ----


def spread(x: Any, size: int) -> Any:
    """A value (stack or tensor) repeated along a new leading axis."""
    t = x._type
    if isinstance(t, StackType):
        element = with_axis(t.element, size)
        return STACK_SPREAD(x, size=size, axis=0, element=element)
    return find("broadcast_to")(x, shape=(size, *t.shape))


def _all_batched(op_of: Any) -> Any:
    def batch(lanes: int, inputs: Sequence[Any], batched: Sequence[bool], /, **attrs: Any) -> tuple[Any, Any]:
        result = op_of(*[x if b else spread(x, lanes) for x, b in zip(inputs, batched)], **attrs)
        return result, (True,) * len(result) if isinstance(result, tuple) else True

    return batch


def _spread_batched(s: Any, size: int, axis: int, element: Any) -> Any:
    lanes = axis_size(s._type)
    return STACK_SPREAD(s, size=size, axis=axis + 1, element=with_axis(element, lanes))


def _lane_batched(s: Any, index: Any, element: Any) -> Any:
    return STACK_LANE(s, index, element=with_axis(element, axis_size(s._type)))


def _sum_batched(s: Any, axis: int, element: Any) -> Any:
    return STACK_SUM(s, axis=axis + 1, element=with_axis(element, axis_size(s._type)))


# ---- records ----


def _stack_op(name: str, inputs: str, doc: str, axes: str, **fields: Any) -> Op:
    return define(name, inputs, doc=doc, axes=axes, traits=_TRAITS, family="control", **fields)


def _nothing(dout: Any) -> Any:
    return STACK_NEW(type=dout._type.element)


STACK_NEW: Op = _stack_op(
    "stack_new", "", "An empty stack of values of one type.", "->",
    attrs=("type",), infer=lambda *, type: StackType(type), body=lambda xp, *, type: empty(xp, type),
    no_grad="it depends on nothing",
)  # fmt: skip
STACK_PUSH: Op = _stack_op(
    "stack_push", "stack, x", "The stack with one more value on top.", ", ... ->",
    infer=_push_type, body=lambda xp, stack, x: (stack, x), grad=lambda dout: STACK_POP(dout),
    batch=_all_batched(lambda stack, x: STACK_PUSH(stack, x)),
)  # fmt: skip
STACK_POP: Op = _stack_op(
    "stack_pop", "stack", "The stack without its top, and the top.", "-> , ...",
    infer=lambda stack: (stack, stack.element), body=lambda xp, stack: stack, grad=lambda douts: STACK_PUSH(*douts),
    batch=_all_batched(lambda stack: STACK_POP(stack)),
)  # fmt: skip
STACK_ADD: Op = _stack_op(
    "stack_add", "a, b", "Two stacks added entry by entry, tops aligned.", ", ->",
    infer=_same_type, body=_add, grad=lambda dout: (dout, dout),
    batch=_all_batched(lambda a, b: STACK_ADD(a, b)),
)  # fmt: skip
STACK_WHERE: Op = _stack_op(
    "stack_where", "mask, a, b", "Entry by entry a where the mask holds, else b; tops aligned.", "..., , ->",
    infer=lambda mask, a, b: _same_type(a, b), body=_where,
    grad=lambda dout, mask: (
        None, STACK_WHERE(mask, dout, _nothing(dout)), STACK_WHERE(mask, _nothing(dout), dout)
    ),
    batch=_all_batched(lambda mask, a, b: STACK_WHERE(mask, a, b)),
)  # fmt: skip
STACK_SPREAD: Op = _stack_op(
    "stack_spread", "stack", "Every entry repeated along a new axis.", "->",
    attrs=("size", "axis", "element"), infer=lambda stack, *, size, axis, element: StackType(element), body=_spread,
    grad=lambda dout, axis, types: STACK_SUM(dout, axis=axis, element=types[0].element),
    batch=_all_batched(lambda s, size, axis, element: _spread_batched(s, size, axis, element)),
)  # fmt: skip
STACK_SUM: Op = _stack_op(
    "stack_sum", "stack", "Every entry summed over one axis.", "->",
    attrs=("axis", "element"), infer=lambda stack, *, axis, element: StackType(element), body=_sum,
    grad=lambda dout, axis, types: STACK_SPREAD(
        dout, size=axis_size(types[0], axis), axis=axis, element=types[0].element
    ),
    batch=_all_batched(lambda s, axis, element: _sum_batched(s, axis, element)),
)  # fmt: skip
STACK_LANE: Op = _stack_op(
    "stack_lane", "stack, index", "In every entry one lane in place of all lanes.", ", ... ->",
    attrs=("element",), infer=lambda stack, index, *, element: stack, body=_lane,
    no_grad="what a lane borrows is cut off from the gradient",
    batch=_all_batched(lambda s, index, element: _lane_batched(s, index, element)),
)  # fmt: skip
