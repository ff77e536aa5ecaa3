"""How the gradient rule of an op record is asked, and what becomes of its answer.

A record says ``grad=lambda dout, x, y: (dout * y, dout * x)``: the names of the parameters are the request. The rule is
written for operands of the result's shape and dtype; real operands may have broadcast or promoted. Two linear maps
bridge the gap, each the adjoint of what happened on the way in:

    x: f16[3]  --repeat-->  f16[2,3]  --convert-->  f32[2,3]  --op-->
    dx: f16[3] <--convert-- f32[3]    <--sum_to---  f32[2,3]  <--rule--

(the sum runs in the wider dtype, so conversion comes last). Complex gradients are dL/d(re) + i dL/d(im), as in PyTorch
and MindSpore: adjoints with respect to the real inner product Re(conj(a) b). A rule of a holomorphic function
multiplies with the conjugate of its derivative; the adjoint of the adjoint is the map itself, so forward mode needs no
convention of its own.

What may have a gradient at all: floats, complex numbers, and stacks of them. A Python number (weak type) has a gradient
of the default dtype.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msnb.base import GradientError
from msnb.core import StackType, Tensor, TensorType, Type, result_dtype, tensor_type
from msnb.ir import Node, SymbolicTensor
from msnb.ir.control_flow import STACK_NEW
from msnb.ops.definition import Op, find, has_sizes


def gradient_type(t: Type) -> Type | None:
    """The type of gradients and tangents of values of type ``t``; None where there are none."""
    if isinstance(t, StackType):
        element = gradient_type(t.element)
        return None if element is None else StackType(element)
    if not isinstance(t, TensorType) or not t.dtype.differentiable:
        return None
    return tensor_type(t.shape, result_dtype((t,))) if t.weak else t


def need_gradient_type(t: Type) -> Type:
    """``gradient_type`` of a type that has one."""
    found = gradient_type(t)
    assert found is not None
    return found


def zeros(t: Type) -> Any:
    """The zero of a gradient type: zeros, or the empty stack (an empty stack goes on as zeros for ever)."""
    if isinstance(t, StackType):
        return STACK_NEW(type=t.element)
    assert isinstance(t, TensorType)
    if has_sizes(t):
        return find("zeros")(shape=t.shape, dtype=t.dtype)
    raise GradientError(
        f"a zero of type {t} is needed, but its size is known only at run time.",
        hint="give it a fixed size (pad and mask), or compute it outside the branch.",
    )


def zeros_like(x: Any, t: Type) -> Any:
    """The zero of the gradients of ``x``, a tensor of type ``t``; a size known only at run time is read from ``x``."""
    want = need_gradient_type(t)
    return find("zeros_like")(x) if isinstance(want, TensorType) and not has_sizes(want) else zeros(want)


def add_up(a: Any, b: Any) -> Any:
    """The sum of two gradients of one value."""
    if isinstance(a, SymbolicTensor) and isinstance(a._value.type, StackType):
        return find("stack_add")(a, b)
    return find("add")(a, b)


def fit(g: Any, t: Type) -> Any:
    """The gradient ``g`` as a gradient of a value of type ``t``: un-broadcast, then converted."""
    want = gradient_type(t)
    if not isinstance(want, TensorType) or not isinstance(g, Tensor) or g._type is want:
        return g
    if g.shape != want.shape:
        g = _reshaped(g, want)
    return g if g.dtype is want.dtype else _converted(g, want)


def _reshaped(g: Tensor, want: TensorType) -> Any:
    narrower = len(g.shape) < want.ndim or any(d == 1 != w for d, w in zip(g.shape[::-1], want.shape[::-1]))
    return find("broadcast_to")(g, shape=want.shape) if narrower else find("sum_to")(g, shape=want.shape)


def _converted(g: Any, want: TensorType) -> Any:
    if g.dtype.is_complex and not want.dtype.is_complex:
        g = find("real")(g)
    return g if g.dtype is want.dtype else find("cast")(g, dtype=want.dtype)


def ask_rule(node: Node, inputs: Sequence[Any], outs: Sequence[Any], douts: Sequence[Any]) -> list[Any]:
    """The gradients (None where there is none) that the node's rule gives for its inputs, not yet fitted."""
    types, out_types = tuple(v.type for v in node.inputs), tuple(v.type for v in node.outputs)
    return rule_answer(node.op, node.attrs, types, out_types, inputs, outs, douts)


def rule_answer(
    op: Op, attrs: dict[str, Any], types: tuple[Type, ...], out_types: tuple[Type, ...],
    inputs: Sequence[Any], outs: Sequence[Any], douts: Sequence[Any],
) -> list[Any]:  # fmt: skip
    """``ask_rule`` without a node."""
    assert op.grad is not None
    offer: dict[str, Any] = dict.fromkeys(op.optional)
    fixed = len(op.inputs) - op.variadic
    offer.update(zip(op.inputs[:fixed], inputs))
    if op.variadic:
        offer[op.inputs[-1][1:]] = tuple(inputs[fixed:])
    offer.update(attrs, attrs=attrs)
    offer.update(out=outs[0], outs=tuple(outs), dout=douts[0], douts=tuple(douts))
    offer.update(types=types, out_type=out_types[0], out_types=out_types)
    answer = op.grad(**{name: offer[name] for name in op.wanted_by_grad})
    return _as_list(op.name, answer, len(inputs))


def _as_list(name: str, answer: Any, count: int) -> list[Any]:
    found = list(answer) if isinstance(answer, (tuple, list)) else [answer]
    if len(found) < count:
        raise GradientError(f"the gradient rule of {name} gave {len(found)} gradients for {count} inputs.")
    return found[:count]
