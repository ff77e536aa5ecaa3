"""Jacobians: all rows by one batched pull over the unit vectors of an output, or all columns by one batched push.

J[o, i] = d out[o] / d in[i]      jacrev: rows, vmap of the pullback       jacfwd: columns, vmap of the pushforward
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from msnb import autodiff, ops
from msnb.api.function_tracing import FunctionTrace
from msnb.api.transforms.gradient_request import Position
from msnb.api.transforms.gradients import named
from msnb.api.transforms.staged_transforms import TransformStep, staged
from msnb.api.transforms.vjp_jvp_vmap import aux_count, broadcast_results, first_of, need_float, tensor_tree
from msnb.base import ArgumentError, DTypeError
from msnb.core import Tensor, TensorType, pytree
from msnb.ir import Graph, replay

Fn = Callable[..., Any]


def _units(t: TensorType) -> Any:
    """All unit vectors of a type, stacked along a new axis 0."""
    return ops.reshape(ops.eye(t.size, t.size, t.dtype), shape=(t.size, *t.shape))


def _directions(t: TensorType, start: int, total: int) -> Any:
    """The unit vectors of a type among ``total`` directions, from ``start`` on: zeros where others have theirs."""
    before, after = (ops.zeros((n, *t.shape), t.dtype) for n in (start, total - start - t.size))
    parts = [p for p in (before, _units(t), after) if p.shape[0]]
    return parts[0] if len(parts) == 1 else ops.concat(parts)


def _positions(position: Position, args: tuple[Any, ...]) -> tuple[int, ...]:
    if position is None:
        raise ArgumentError("jacfwd and jacrev need grad_position.")
    found = (position,) if isinstance(position, int) else tuple(position)
    for p in found:
        if not -len(args) <= p < len(args):
            raise ArgumentError(f"grad_position {p} is outside the {len(args)} positional arguments.")
        if not isinstance(args[p], Tensor):
            raise ArgumentError(f"argument {p} must be a tensor for a Jacobian, it is {type(args[p]).__name__}.")
    return tuple(p % len(args) for p in found)


def _jacobian(fn: Fn, _weights: Any, position: Position, has_aux: bool, kind: str) -> Fn:
    columns = {"jacrev": _reverse_blocks, "jacfwd": _forward_blocks}[kind]

    def call(*args: Any) -> Any:
        args = tuple(tensor_tree(x) for x in args)
        positions = _positions(position, args)
        program = FunctionTrace(first_of(fn) if has_aux else fn, args)
        tensors_before = [sum(isinstance(x, Tensor) for x in pytree.flatten(args[:p])[0]) for p in positions]
        need_float(f"an input of {kind}", [args[p] for p in positions])
        values, blocks = columns(program, tensors_before)
        program.settle(values[program.n_results :])
        value = program.result(values[: program.n_results])
        n_primary = program.n_results - (aux_count(program) if has_aux else 0)
        result = _jacobian_result(value[0] if has_aux else value, blocks[:n_primary], isinstance(position, int))
        return (result, value[1]) if has_aux else result

    return staged(named(call, fn, kind), TransformStep(_jacobian, fn, None, (position, has_aux, kind)))


def _jacobian_result(value: Any, blocks: Sequence[Sequence[Any]], single: bool) -> Any:
    """Blocks[output][input] in the structure of the outputs; one input asked for as an int is not wrapped."""
    leaves, shape = pytree.flatten(value)
    rest = iter(blocks)
    out = []
    for x in leaves:
        if isinstance(x, Tensor):
            row = tuple(next(rest))
            x = row[0] if single else row
        out.append(x)
    return pytree.unflatten(shape, out)


def _float_outputs(graph: Graph, n: int) -> list[int]:
    for v in graph.outputs[:n]:
        if not (isinstance(v.type, TensorType) and v.type.dtype.differentiable):
            raise DTypeError(f"a Jacobian needs floating-point results, the function gives {v.type}.")
    return list(range(n))


def _reverse_blocks(program: FunctionTrace, wrt: list[int]) -> tuple[list[Any], list[list[Any]]]:
    graph, n_out = program.graph, len(program.graph.outputs)
    outputs = _float_outputs(graph, program.n_results)
    pair = autodiff.vjp(graph, wrt, outputs)
    found = replay(pair.forward, program.args)
    values, residuals = found[:n_out], found[n_out:]
    blocks = []
    for k in outputs:
        t = values[k]._type
        batched = [False] * len(residuals) + [j == k for j in outputs]
        douts = [_units(t) if j == k else ops.zeros_like(values[j]) for j in outputs]
        mapped, has_axis = autodiff.vmap(pair.backward, t.size, batched, shares_draws=True)
        rows = broadcast_results(replay(mapped, [*residuals, *douts]), has_axis, t.size)
        blocks.append([ops.reshape(r, shape=(*t.shape, *r.shape[1:])) for r in rows])
    return values, blocks


def _forward_blocks(program: FunctionTrace, wrt: list[int]) -> tuple[list[Any], list[list[Any]]]:
    graph, n_out = program.graph, len(program.graph.outputs)
    outputs = _float_outputs(graph, program.n_results)
    pushed = autodiff.jvp(graph, wrt)
    types: list[Any] = [graph.params[i].type for i in wrt]
    ends = [0, *itertools.accumulate(t.size for t in types)]
    tangents = [_directions(t, start, ends[-1]) for t, start in zip(types, ends)]
    batched = [False] * len(program.args) + [True] * len(types)
    mapped, has_axis = autodiff.vmap(pushed, ends[-1], batched, shares_draws=True)
    found = replay(mapped, [*program.args, *tangents])
    values, moved = found[:n_out], broadcast_results(found[n_out:], has_axis[n_out:], ends[-1])
    columns = []
    for t, start in zip(types, ends):
        mine = [m[start : start + t.size] for m in moved] if len(types) > 1 else moved
        columns.append([ops.reshape(ops.moveaxis(c, 0, -1), shape=(*c.shape[1:], *t.shape)) for c in mine])
    return values, [[column[o] for column in columns] for o in outputs]


def jacrev(fn: Fn, grad_position: Position = 0, has_aux: bool = False) -> Fn:
    """The Jacobian of ``fn`` by reverse mode: cheap when there are fewer results than inputs.

    Args:
        fn: a function of tensors; its results are floating-point tensors.
        grad_position: which arguments to differentiate by.
        has_aux: ``fn`` gives ``(outputs, aux)``.

    Returns:
        A function that gives, per output, a tensor of shape ``output.shape + input.shape`` (a tuple of them for a tuple
        of positions).

    Source: `mindspore.jacrev`

    Examples:
        >>> import msnb as ms
        >>> ms.jacrev(lambda x: x * x)(ms.Tensor([1.0, 3.0])).tolist()
        [[2.0, 0.0], [0.0, 6.0]]
    """
    return _jacobian(fn, None, grad_position, has_aux, "jacrev")


def jacfwd(fn: Fn, grad_position: Position = 0, has_aux: bool = False) -> Fn:
    """The Jacobian of ``fn`` by forward mode: cheap when there are fewer inputs than results.

    Arguments and results as ``jacrev``.

    Source: `mindspore.jacfwd`

    Examples:
        >>> import msnb as ms
        >>> ms.jacfwd(lambda x: x * x)(ms.Tensor([1.0, 3.0])).tolist()
        [[2.0, 0.0], [0.0, 6.0]]
    """
    return _jacobian(fn, None, grad_position, has_aux, "jacfwd")


def hessian(fn: Fn, grad_position: int = 0) -> Fn:
    """The matrix of second derivatives of a scalar function: forward over reverse.

    Args:
        fn: a function whose result is a 0-d tensor.
        grad_position: which argument to differentiate by, twice.

    Returns:
        A function that gives a tensor of shape ``input.shape + input.shape``.

    Examples:
        >>> import msnb as ms
        >>> ms.hessian(lambda x: (x ** 3).sum())(ms.Tensor([1.0, 2.0])).tolist()
        [[6.0, 0.0], [0.0, 12.0]]
    """
    return jacfwd(jacrev(fn, grad_position), grad_position)
