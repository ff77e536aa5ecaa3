"""vjp, jvp and vmap: transforms of a captured function (``staged``); only vjp records in eager mode, as grad does.

vjp      y, pull = vjp(f, x);  pull(dy) = J(x)* dy          reverse mode
jvp      y, dy = jvp(f, x, v);     dy = J(x) v              forward mode
vmap     vmap(f)(xs) = stack of f(x) over the rows of xs, in one program
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from msnb import autodiff, ops
from msnb.api.function_tracing import FunctionTrace, snapshot_of, tensors_of
from msnb.api.transforms.gradient_request import as_tensor, listed
from msnb.api.transforms.gradients import hooked, named, with_constants, zeroing_constants
from msnb.api.transforms.staged_transforms import TransformStep, staged
from msnb.base import ArgumentError, AttributeValueError, DTypeError, GradientError, ShapeError
from msnb.core import EngineRestore, Parameter, Tensor, TensorType, make, pytree, slot, tensor_type
from msnb.eager.recording import Recording, is_eager
from msnb.ir import GraphBuilder, replay

Fn = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


def need_float(what: str, tensors: Sequence[Tensor]) -> None:
    """Raise TypeError unless every tensor has a derivative."""
    for x in tensors:
        if not x.dtype.differentiable:
            raise DTypeError(
                f"{what} has dtype {x.dtype!r}: derivatives exist for floating-point tensors only.",
                operands=[repr(x._type)],
                hint="convert it with .astype(ms.float32).",
            )


def vjp(fn: Fn, *inputs: Any, weights: Any = None, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of ``fn`` and its pullback.

    Args:
        fn: a function of tensors (or trees of them).
        *inputs: where to evaluate it.
        weights: Parameters whose gradients the pullback gives as well.
        has_aux: ``fn`` gives ``(outputs, aux)``; aux comes along as a third result.

    Returns:
        ``(outputs, pullback)``; ``pullback(*douts)`` takes one tensor per output, of its shape, and gives a tuple with
        one gradient per input (and, with weights, a pair of that and the tuple of their gradients). It may be called
        any number of times.

    Raises:
        TypeError: an input is not floating point. ValueError: a dout has another shape than its output.

    Source: `mindspore.vjp`

    Examples:
        >>> import msnb as ms
        >>> y, pull = ms.vjp(lambda x: x * x, ms.Tensor([1.0, 3.0]))
        >>> pull(ms.Tensor([1.0, 1.0]))[0].tolist()
        [2.0, 6.0]
    """
    inputs = tuple(tensor_tree(x) for x in inputs)
    tensors = [x for x in pytree.flatten(inputs)[0] if isinstance(x, Tensor)]
    need_float("an input of vjp", tensors)
    params = [weights] if isinstance(weights, Parameter) else listed(weights)
    run = _recorded if is_eager(slot.engine) else _traced
    value, types, pull = run(first_of(fn) if has_aux else fn, inputs, tensors, params, has_aux)

    def pullback(*douts: Any) -> Any:
        found = pull(_douts(douts, types))
        found = [hooked(g, x) for g, x in zip(found, [*tensors, *params])]
        of_inputs = _regroup(inputs, found[: len(tensors)])
        if weights is None:
            return of_inputs
        of_weights = tuple(found[len(tensors) :])
        return of_inputs, of_weights[0] if isinstance(weights, Parameter) else of_weights

    return (value[0], pullback, value[1]) if has_aux else (value, pullback)


Pull = Callable[[list[Any]], list[Any]]


def _recorded(
    fn: Fn, inputs: tuple[Any, ...], tensors: list[Any], params: list[Parameter], has_aux: bool
) -> tuple[Any, list[TensorType], Pull]:
    """Eagerly: the tape of one run, swept whenever the pullback is called."""
    with EngineRestore(), Recording(tensors, params) as tape:
        value = fn(*_regroup(inputs, tape.inputs))
        primary = [x for x in pytree.flatten(value[0] if has_aux else value)[0] if isinstance(x, Tensor)]
        outputs = [x for x in primary if x.dtype.differentiable]
        tape.finish(outputs)
    tape.forget(pytree.flatten(value)[0])
    for x, new in tape.written_inputs():
        slot.engine.assign(x, new)
    zeroing = zeroing_constants(params, len(tensors))  # as the run left them
    return snapshot_of(value), [x._type for x in outputs], lambda douts: zeroing(tape.backward(douts))


def _traced(
    fn: Fn, inputs: tuple[Any, ...], tensors: list[Any], params: list[Parameter], has_aux: bool
) -> tuple[Any, list[TensorType], Pull]:
    """In a capture: forward and backward become part of the program."""
    engine = slot.engine
    assert isinstance(engine, GraphBuilder)
    with engine.telling_apart(params):
        program = FunctionTrace(fn, inputs)
        pull, by = with_constants(params)
        places = program.places(by)
    wrt = [*range(len(tensors)), *sorted({p for p in places if p is not None})]
    n_primary = program.n_results - (aux_count(program) if has_aux else 0)
    at = [i for i in range(n_primary) if program.graph.outputs[i].type.dtype.differentiable]  # type: ignore[union-attr]
    pair = autodiff.vjp(program.graph, wrt, at)
    n_out = len(program.graph.outputs)
    found = replay(pair.forward, program.args)
    outputs, residuals = found[: program.n_results], found[n_out:]
    program.settle(found[program.n_results : n_out])

    def run(douts: list[Any]) -> list[Any]:
        by_place = dict(zip(wrt, replay(pair.backward, [*residuals, *douts])))
        of_inputs = [by_place[i] for i in range(len(tensors))]
        of_weights = [ops.zeros_like(w) if p is None else by_place[p] for w, p in zip(by, places)]
        return pull([*of_inputs, *of_weights], len(tensors))

    return program.result(outputs), [outputs[i]._type for i in at], run


def first_of(fn: Fn) -> Fn:
    """A function that gives (outputs, aux), checked."""

    def call(*args: Any) -> Any:
        result = fn(*args)
        if not (isinstance(result, (tuple, list)) and len(result) >= 2):
            raise GradientError("has_aux=True needs a function that returns (outputs, aux).")
        return (result[0], result[1] if len(result) == 2 else tuple(result[1:]))

    return named(call, fn, "aux")


def aux_count(program: FunctionTrace) -> int:
    """How many of a program's results belong to aux."""
    result = program.result(list(range_tensors(program)))
    return sum(isinstance(x, Tensor) for x in pytree.flatten(result[1])[0])


def range_tensors(program: FunctionTrace) -> list[Tensor]:
    """Placeholders for the results of a program, in order."""
    return [make(None, v.type) for v in program.graph.outputs[: program.n_results]]  # type: ignore[arg-type]


def tensor_tree(x: Any) -> Any:
    """The tree with Python floats as tensors, an array as a tensor."""
    if isinstance(x, np.ndarray):
        return Tensor(x)
    leaves, shape = pytree.flatten(x)
    return pytree.unflatten(shape, [as_tensor(v) for v in leaves])


def _douts(given: tuple[Any, ...], types: Sequence[TensorType]) -> list[Any]:
    leaves = [x for dout in given for x in tensors_of("a dout", dout)]
    if len(leaves) != len(types):
        raise ArgumentError(f"the pullback takes {len(types)} douts, one per output; got {len(leaves)}.")
    for k, (x, t) in enumerate(zip(leaves, types)):
        if x.shape != t.shape:
            raise ShapeError(f"dout {k} has shape {list(x.shape)}, its output {list(t.shape)}.")
    return [x if x.dtype is t.dtype else ops.cast(x, dtype=t.dtype) for x, t in zip(leaves, types)]


def _regroup(inputs: Sequence[Any], tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Gradients in the trees of the inputs; leaves that are no tensors stay as they are."""
    leaves, shape = pytree.flatten(tuple(inputs))
    rest = iter(tensors)
    found: tuple[Any, ...] = pytree.unflatten(shape, [next(rest) if isinstance(x, Tensor) else x for x in leaves])
    return found


def jvp(fn: Fn, inputs: Any, v: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The value of ``fn`` and its directional derivative, by forward mode.

    Args:
        fn: a function of tensors.
        inputs: a tensor, or a tuple with one entry per argument.
        v: the direction: the same structure and shapes as ``inputs``.
        has_aux: ``fn`` gives ``(outputs, aux)``; aux comes along as a third result.

    Returns:
        ``(outputs, tangents)``, the tangents in the structure of the outputs.

    Raises:
        ValueError or TypeError: ``v`` does not fit ``inputs``.

    Source: `mindspore.jvp`

    Examples:
        >>> import msnb as ms
        >>> y, dy = ms.jvp(lambda x: x ** 3, ms.Tensor(2.0), ms.Tensor(1.0))
        >>> float(dy)
        12.0
    """
    found: tuple[Any, ...] = _pushed(fn, None, has_aux)(inputs, v)
    return found


def _pushed(fn: Fn, _weights: Any, has_aux: bool) -> Fn:
    """``jvp`` as a function of the inputs and the direction."""

    def call(inputs: Any, v: Any) -> tuple[Any, ...]:
        args = inputs if isinstance(inputs, tuple) else (inputs,)
        args = tuple(tensor_tree(x) for x in args)
        tensors = [x for x in pytree.flatten(args)[0] if isinstance(x, Tensor)]
        need_float("an input of jvp", tensors)
        tangents = _douts(v if isinstance(v, tuple) else (v,), [x._type for x in tensors])
        program = FunctionTrace(first_of(fn) if has_aux else fn, args)
        graph = autodiff.jvp(program.graph, list(range(len(tensors))))
        found = replay(graph, [*program.args, *tangents])
        n, n_out = program.n_results, len(program.graph.outputs)
        program.settle(found[n:n_out])
        value, slope = program.result(found[:n]), program.result(_all_tangents(program, found[n_out:], found[:n]))
        return (value[0], slope[0], value[1]) if has_aux else (value, slope)

    return staged(named(call, fn, "jvp"), TransformStep(_pushed, fn, None, (has_aux,)))


def _all_tangents(program: FunctionTrace, tangents: Sequence[Any], values: Sequence[Any]) -> list[Any]:
    """A tangent for every result: zeros for integers, which have none."""
    rest = iter(tangents)
    out = []
    for value, x in zip(program.graph.outputs[: program.n_results], values):
        has_one = isinstance(value.type, TensorType) and value.type.dtype.differentiable
        out.append(next(rest) if has_one else ops.zeros_like(x))
    return out


# ---- vmap ----


def vmap(fn: Callable[P, R], in_axes: Any = 0, out_axes: Any = 0) -> Callable[P, R]:
    """``fn`` over a batch: a function that maps it over one axis of its arguments, in one program.

    Args:
        fn: a function of tensors, written for one example; or a CellList with a Cell per example (model ensembling);
            there no argument has to be batched.
        in_axes: the axis of the batch in every argument: an int, or a tuple with one entry per argument (None: the
            argument is the same for all).
        out_axes: where the batch axis goes in the results: an int, or a tuple with one entry per result (None: what is
            the same in every lane, once). Numbers among the results become a batch, too.

    Returns:
        A function of batched arguments.

    Raises:
        ValueError: no argument is batched, an axis does not exist, batch sizes differ, or a result with the axis None
            depends on the batch.
        RuntimeError: ``fn`` asks for the value of a batched tensor, or writes state that is not batched.

    Source: `mindspore.vmap`

    Examples:
        >>> import msnb as ms
        >>> dots = ms.vmap(lambda a, b: (a * b).sum())
        >>> dots(ms.Tensor([[1.0, 2.0], [3.0, 4.0]]), ms.Tensor([[1.0, 1.0], [2.0, 2.0]])).tolist()
        [3.0, 14.0]
    """

    def call(*args: Any) -> Any:
        args, axes = _batched(args, in_axes)
        tensors = [x for x in pytree.flatten(args)[0] if isinstance(x, Tensor)]
        size = _batch_size(tensors, axes)
        lanes = [x._type if a is None else _lane(x._type, a) for x, a in zip(tensors, axes)]
        program = FunctionTrace(fn, args, lanes, lambda: _first_lane(tensors, axes) if size else [])
        batched = [a is not None for a in axes]
        graph, out_batched = autodiff.vmap(program.graph, size, batched + [False] * len(program.outer))
        fronted = [x if a is None else ops.moveaxis(x, a, 0) for x, a in zip(tensors, axes)]
        found = replay(graph, [*fronted, *program.outer])
        n = program.n_results
        program.settle(_written_lanes(program, found[n:], out_batched[n:], axes, size))
        results = broadcast_results(found[:n], out_batched, size)
        alike = {id(result): x for result, x, many in zip(results, found, out_batched) if not many}
        return _placed(program.result(results), out_axes, size, alike)

    if getattr(fn, "is_ensemble", False):
        return named(_ensemble(fn, in_axes, out_axes), fn, "vmap")
    return staged(named(call, fn, "vmap"), TransformStep(_mapped, fn, None, (in_axes, out_axes)))


def _mapped(fn: Fn, _weights: Any, in_axes: Any, out_axes: Any) -> Fn:
    return vmap(fn, in_axes, out_axes)


def _first_lane(tensors: Sequence[Any], axes: Sequence[int | None]) -> list[Any]:
    return [x if a is None else ops.moveaxis(x, a, 0)[0] for x, a in zip(tensors, axes)]


def _written_lanes(
    program: FunctionTrace, values: Sequence[Any], batched: Sequence[bool], axes: Sequence[int | None], size: int
) -> list[Any]:
    """The new values of what the mapped function assigned. An argument that is mapped takes one value per lane; what is
    the same for all lanes can take only a value that is."""
    out = []
    for k, (target, x, many) in enumerate(zip(program.writes, values, batched)):
        at = program.written_input(k)
        axis = None if at is None else axes[at]
        if axis is not None:
            out.append(ops.moveaxis(broadcast_results([x], [many], size)[0], 0, axis))
        elif not many:
            out.append(x)
        else:
            raise GradientError(
                f"vmap: {getattr(target, 'name', 'a tensor')} is the same for all lanes and would get a value of its "
                "own in every lane.",
                hint="return the value from the function instead of assigning it, or map over that argument.",
            )
    return out


def _batched(args: tuple[Any, ...], in_axes: Any) -> tuple[tuple[Any, ...], list[int | None]]:
    """The arguments, and the batch axis of every tensor among them. Numbers without an axis stay numbers: they may
    choose what is computed."""
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    per_arg = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
    if len(per_arg) != len(args):
        raise ArgumentError(f"vmap: in_axes has {len(per_arg)} entries for {len(args)} arguments.")
    args = tuple(arg if axes is None else tensor_tree(arg) for arg, axes in zip(args, per_arg))
    return args, [axis for arg, axes in zip(args, per_arg) for axis in _spread(arg, axes)]


def _spread(arg: Any, axes: Any) -> list[int | None]:
    leaves, found = pytree.flatten(arg)[0], _tree_axes(arg, axes)
    return [_checked(x, a) for x, a in zip(leaves, found) if isinstance(x, Tensor)]


def _tree_axes(arg: Any, axes: Any) -> list[Any]:
    """Axes given as a tree of the argument's structure (None stands for a whole part)."""
    if not isinstance(axes, (tuple, list, dict)):
        return [axes] * len(pytree.flatten(arg)[0])
    parts = [(arg[k], axes[k]) for k in arg] if isinstance(arg, dict) else list(zip(arg, axes))
    return [a for part, own in parts for a in _tree_axes(part, own)]


def _checked(x: Tensor, axis: Any) -> int | None:
    if axis is None:
        return None
    if isinstance(axis, bool) or not isinstance(axis, int) or not -x.ndim <= axis < x.ndim:
        raise AttributeValueError(
            f"vmap: the batch axis {axis!r} does not exist in an argument {x._type!r}.",
            hint="in_axes=None, or None at its place in the tuple, hands an argument to every lane as it is.",
        )
    return axis % x.ndim


def _batch_size(tensors: Sequence[Tensor], axes: Sequence[int | None]) -> int:
    sizes = {x.shape[a] for x, a in zip(tensors, axes) if a is not None}
    if not sizes:
        raise AttributeValueError("vmap: no argument is batched; give at least one in_axes that is not None.")
    if len(sizes) > 1:
        shapes = [f"argument: {x._type!r}, axis {a}" for x, a in zip(tensors, axes) if a is not None]
        raise ShapeError(f"vmap: the batch sizes differ: {' and '.join(sorted(map(str, sizes)))}.", operands=shapes)
    return int(sizes.pop())


def _lane(t: TensorType, axis: int) -> TensorType:
    return tensor_type(t.shape[:axis] + t.shape[axis + 1 :], t.dtype)


def broadcast_results(results: Sequence[Any], batched: Sequence[bool], size: int) -> list[Any]:
    """Results with the batch axis in front, also those that do not depend on the batch."""
    return [r if b else ops.broadcast_to(r, shape=(size, *r.shape)) for r, b in zip(results, batched)]


def _placed(result: Any, out_axes: Any, size: int, alike: dict[int, Any]) -> Any:
    """The batch axis moved from the front to where it was asked for.

    Args:
        alike: what a result is in every lane, by the id of the result, for those that do not depend on the batch.
    """
    if isinstance(out_axes, (tuple, list)) and [type(a) for a in out_axes] == [int] and isinstance(result, Tensor):
        out_axes = out_axes[0]
    if isinstance(out_axes, (tuple, list)):
        if not isinstance(result, (tuple, list)) or len(result) != len(out_axes):
            raise ArgumentError(f"vmap: out_axes {out_axes!r} does not have the structure of the function's result.")
        return type(result)(_placed(r, a, size, alike) for r, a in zip(result, out_axes))
    leaves, shape = pytree.flatten(result)
    return pytree.unflatten(shape, [_placed_leaf(x, out_axes, size, alike) for x in leaves])


def _placed_leaf(x: Any, axis: Any, size: int, alike: dict[int, Any]) -> Any:
    if axis is not None and type(x) in (bool, int, float):
        return ops.moveaxis(ops.broadcast_to(as_tensor(x), (size,)), 0, axis)
    if not isinstance(x, Tensor):
        return x
    if axis is None and id(x) not in alike:
        raise AttributeValueError(
            f"vmap: out_axes=None is for results that are the same in every lane; this one, {x._type!r}, is not.",
            hint="give the place of the batch axis in it.",
        )
    return alike[id(x)] if axis is None else ops.moveaxis(x, 0, axis) if axis else x


def _ensemble(cells: Any, in_axes: Any, out_axes: Any) -> Fn:
    """The k-th Cell over the k-th example, each with Parameters of its own: model ensembling."""

    def call(*args: Any) -> Any:
        args, axes = _batched(args, in_axes)
        leaves, shape = pytree.flatten(args)
        mapped = any(axis is not None for axis in axes)  # else every Cell sees all of it: the batch is that of Cells
        size = _batch_size([x for x in leaves if isinstance(x, Tensor)], axes) if mapped else len(cells)
        if size != len(cells):
            raise ShapeError(f"vmap: {len(cells)} Cells over a batch of {size}: each Cell takes one example.")
        lanes = []
        for k, cell in enumerate(cells):
            rest = iter(axes)
            own = [_lane_of(x, next(rest), k) if isinstance(x, Tensor) else x for x in leaves]
            lanes.append(pytree.flatten(cell(*pytree.unflatten(shape, own))))
        columns = zip(*(found for found, _ in lanes))
        results = [ops.stack(list(column)) if isinstance(column[0], Tensor) else column[0] for column in columns]
        return _placed(pytree.unflatten(lanes[0][1], results), out_axes, size, {})

    return call


def _lane_of(x: Any, axis: int | None, k: int) -> Any:
    return x if axis is None else x[(slice(None),) * axis + (k,)]
