"""Gradients of functions, in both modes.

    value_and_grad(fn)(x)
        eager        record fn(x) on a tape; run its backward program
        capturing    trace fn as a nested graph; note it as one node that is owed its gradient
                     (``autodiff.deferred_gradient``), or, where that cannot wait, transform it and replay forward and
                     backward into the program being built
        graph mode   the wrapper itself is compiled, so the above happens once

Positions, weights and results follow `mindspore.grad`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar, overload

from msnb.api.compiler_hints import Mutable
from msnb.api.function_tracing import places_of, snapshot_of
from msnb.api.graph_mode import compiled_in_graph_mode
from msnb.api.transforms.forward_pass import begin_again, forget_call
from msnb.api.transforms.gradient_request import GradientRequest, Integers, Position, is_discrete, kept
from msnb.api.transforms.staged_transforms import TransformStep, marked, run_staged
from msnb.api.transforms.tensor_hooks import hooks_for
from msnb.autodiff import vjp as vjp_graph
from msnb.autodiff.deferred_gradient import written_out
from msnb.autodiff.integer_inputs import extend, quantity, to_integer
from msnb.base import ArgumentError, DTypeError, GradientError, ShapeError, events
from msnb.core import EngineRestore, Parameter, Tensor, float64, pytree, slot, step_undo
from msnb.eager.dispatch import EagerEngine
from msnb.eager.recording import Recording, is_eager
from msnb.ir import Graph, GraphBuilder, HostFn, host_call, replay
from msnb.ops import broadcast_to, cast, ones_like, reshape, zeros_like
from msnb.ops.definition import has_sizes, need_bools

Fn = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")


def _losses(result: Any, has_aux: bool, integers: Integers) -> list[Tensor]:
    """The tensors whose sum is differentiated: all of the result, or its first part with has_aux."""
    if has_aux and not (isinstance(result, (tuple, list)) and result):
        raise GradientError("has_aux=True needs a function that returns (loss, other values...).")
    part = result[0] if has_aux else result
    leaves = pytree.flatten(part)[0]
    losses = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
    if not losses:
        said = f"the function returned {type(part).__name__}: there is no tensor to differentiate."
        if integers == "real" and leaves and all(isinstance(leaf, int) for leaf in leaves):
            return []  # integers are steps at most, and their gradient is zero
        if integers == "real":
            events.notice(f"a gradient is zero: {said} Is a `return` missing?", key="gradient of no tensor")
            return []
        raise GradientError(said, hint="it must return the tensor whose gradient is meant: is a `return` missing?")
    return losses


def _differentiable(losses: Sequence[Tensor]) -> list[Tensor]:
    return [loss for loss in losses if loss.dtype.differentiable]


def _value_and_grad(fn: Fn, request: GradientRequest, has_aux: bool, sens: Any = None) -> tuple[Any, Any]:
    run = _eagerly if is_eager(slot.engine) else _in_graph
    noted = begin_again(fn, request.args)
    try:
        if isinstance(slot.engine, EagerEngine):
            value, gradients = step_undo.step(run, fn, request, has_aux, sens, updates=False)
        else:
            value, gradients = run(fn, request, has_aux, sens)
    finally:
        if noted:
            forget_call(fn)
    gradients = [hooked(g, w) for g, w in zip(gradients, [*request.inputs, *request.weights])]
    return value, request.result(gradients)


def with_constants(weights: Sequence[Parameter]) -> tuple[Callable[[Sequence[Any], int], list[Any]], list[Parameter]]:
    """Parameters that are asked for although ``requires_grad`` is False are constants: their gradient is zero.

    Returns:
        ``complete(gradients, n)``, which adds those zeros to gradients by n inputs and the other Parameters, and these.
    """
    read = slot.engine.read
    varies = [bool(read(w, "requires_grad")) for w in weights]
    if all(varies):
        return lambda gradients, n: list(gradients), list(weights)
    fixed = [w.name for w, yes in zip(weights, varies) if not yes]
    events.notice(
        f"a gradient by {', '.join(fixed[:3])}{' ...' if len(fixed) > 3 else ''} is asked for, and requires_grad is "
        "False there: such a Parameter is a constant, its gradient is zero.",
        key="constant weights",
    )

    def complete(gradients: Sequence[Any], n: int) -> list[Any]:
        rest = iter(gradients[n:])
        return [*gradients[:n], *(next(rest) if yes else zeros_like(w) for w, yes in zip(weights, varies))]

    return complete, [w for w, yes in zip(weights, varies) if yes]


def zeroing_constants(weights: Sequence[Parameter], n: int) -> Callable[[Sequence[Any]], list[Any]]:
    """Of gradients by n inputs and all of these Parameters, those by Parameters that are constants now become zeros."""
    complete, varying = with_constants(weights)
    kept = {id(w) for w in varying}
    return lambda found: complete([*found[:n], *(g for g, w in zip(found[n:], weights) if id(w) in kept)], n)


def hooked(gradient: Tensor, by: Any) -> Tensor:
    """Hooks that a Parameter or a tensor keeps see, and may change, its gradient."""
    for hook in hooks_for(by):
        gradient = _call_hook(hook, gradient)
    return gradient


def _call_hook(hook: Fn, gradient: Tensor) -> Tensor:
    """At once in eager mode; in a program, a call back into Python each time it runs."""
    if is_eager(slot.engine):
        found = hook(gradient)
        return gradient if found is None else found
    assert isinstance(slot.engine, GraphBuilder)

    def run(g: Tensor) -> Tensor:
        found = hook(g)
        return g if found is None else found

    result: Tensor = host_call(slot.engine, HostFn(run, "hook"), [gradient], [gradient._type])[0]
    return result


def _sensitivities(losses: Sequence[Tensor], sens: Any, result: Any) -> list[Any]:
    """One per loss, of a tree over the losses or over all that the function gave, numbers too."""
    leaves = [leaf for leaf, held in zip(pytree.flatten(sens)[0], pytree.constants(sens)) if not held]
    outputs = pytree.flatten(result)[0]
    if len(leaves) == len(outputs) > len(losses):
        meant = {id(loss) for loss in losses}
        leaves = [leaf for leaf, output in zip(leaves, outputs) if id(output) in meant]
    given = [leaf if isinstance(leaf, Tensor) else Tensor(leaf) for leaf in leaves]
    if len(given) != len(losses):
        raise ArgumentError(f"{len(given)} sensitivities were given for {len(losses)} outputs.")
    return [_sensitivity(g, loss) for g, loss in zip(given, losses)]


def _sensitivity(g: Tensor, loss: Tensor) -> Tensor:
    """``g`` in the shape and dtype of ``loss``: one number is that of all elements. Sizes that the data tell wait."""
    if g.shape != loss.shape and g.size == 1:
        g = broadcast_to(reshape(g, ()), loss.shape if has_sizes(loss._type) else ())
    if g.shape != loss.shape and (has_sizes(loss._type) or g.ndim not in (0, loss.ndim)):
        raise ShapeError(f"a sensitivity of shape {list(g.shape)} does not fit an output of {list(loss.shape)}.")
    dtype = loss.dtype if loss.dtype.differentiable else float64  # integers became reals
    return g if g.dtype is dtype else cast(g, dtype=dtype)


def _in_size(g: Tensor, loss: Tensor) -> Tensor:
    """``g`` in the size of ``loss`` that only the data tell, which the addition compares at run time."""
    return g if g.shape == loss.shape else zeros_like(loss) + (broadcast_to(g, loss.shape) if g.ndim else g)


def _eagerly(fn: Fn, request: GradientRequest, has_aux: bool, sens: Any) -> tuple[Any, list[Any]]:
    if getattr(slot.engine, "in_no_grad", False):
        raise GradientError("no gradient is taken within _no_grad().", hint="take it outside of the block.")
    n, weights = len(request.inputs), request.weights
    with EngineRestore(), Recording(request.inputs, weights) as tape:
        value = request.call(fn, tape.inputs)
        losses = _differentiable(_losses(value, has_aux, request.integers))
        tape.finish(losses)
    given = [ones_like(loss) for loss in losses] if sens is None or not losses else _sensitivities(losses, sens, value)
    gradients = tape.backward(given)
    if not all(w.requires_grad for w in weights):  # as the run left them
        gradients = zeroing_constants(weights, n)(gradients)
    written = tape.written_inputs() if request.inputs else ()
    tape.release(pytree.flatten(value)[0])
    for x, new in written:
        slot.engine.assign(x, new)
    return snapshot_of(value), gradients


def _in_graph(fn: Fn, request: GradientRequest, has_aux: bool, sens: Any) -> tuple[Any, list[Any]]:
    b = slot.engine
    assert isinstance(b, GraphBuilder)
    run = b.convert(fn)
    with b.telling_apart(request.weights):
        traced = b.trace(lambda *inputs: request.call(run, inputs), request.inputs)
        complete, weights = with_constants(request.weights)
        places = places_of(weights, traced.outer, len(request.inputs))
    value = traced.rebuild([b.wrap(v) for v in traced.graph.outputs])
    losses = _losses(value, has_aux, request.integers)
    n = len(request.inputs)
    args = [*(b.wrap(b.lift(x)) for x in request.inputs), *traced.outer]
    by = {*range(n), *(p for p in places if p is not None)}
    program = _extended if request.integers == "real" else _as_captured
    graph, args, wrt, at = program(traced.graph, args, by, n, losses)
    given = () if sens is None or not losses else _sensitivities([losses[k] for k, _ in at], sens, value)
    results, found = _differentiated(b, graph, wrt, [place for _, place in at], args, given)
    value = traced.rebuild(results[: traced.n_results])
    for target, new in zip(traced.writes, results[traced.n_results :]):
        b.assign(target, new)
    by_place = dict(zip(wrt, found))
    by_weights = [_gradient_like(w, None if p is None else by_place.get(p)) for w, p in zip(weights, places)]
    by_inputs = [_gradient_like(x, by_place.get(i)) for i, x in enumerate(request.inputs)]
    return value, complete([*by_inputs, *by_weights], n)


def _gradient_like(x: Any, found: Any) -> Any:
    """The gradient by ``x``: zeros where there is none, an integer for an integer."""
    if found is None:
        return zeros_like(x)
    return to_integer(found, x.dtype) if is_discrete(x) else found


_Program = tuple[Graph, list[Any], list[int], list[tuple[int, int]]]
"""A graph, its arguments, the params to differentiate by, and (number of the loss, its output) of each loss."""


def _as_captured(graph: Graph, args: list[Any], by: set[int], n: int, losses: Sequence[Tensor]) -> _Program:
    """The program as it is, where no integer among the first ``n`` params is a quantity."""
    if not all(x.dtype.differentiable for x in args[:n]):
        _need_independence(args[:n], graph, range(len(losses)))
    wrt = [p for p in sorted(by) if p >= n or args[p].dtype.differentiable]
    return graph, args, wrt, [(k, k) for k, loss in enumerate(losses) if loss.dtype.differentiable]


def _extended(graph: Graph, args: list[Any], by: set[int], n: int, losses: Sequence[Tensor]) -> _Program:
    """The program with the integers among its params as reals."""
    integers = [p for p in sorted(by) if is_discrete(args[p])]
    if not integers:
        return _as_captured(graph, args, by, n, losses)
    discrete = [k for k, loss in enumerate(losses) if not loss.dtype.differentiable]
    real, twins = extend(written_out(graph), integers, discrete)
    n_out = len(graph.outputs)
    place = {k: k for k, loss in enumerate(losses) if loss.dtype.differentiable}
    place |= {k: n_out + i for i, k in enumerate(twins)}
    args = [cast(x, dtype=float64) if i in integers else x for i, x in enumerate(args)]
    wrt = [p for p in sorted(by) if args[p].dtype.differentiable]
    return real, args, wrt, sorted(place.items())


def _need_independence(inputs: Sequence[Any], graph: Graph, outputs: Sequence[int]) -> None:
    """Integer inputs have the gradient zero where they only choose; raises DTypeError where they are computed with."""
    for i, x in enumerate(inputs):
        found = None if x.dtype.differentiable else quantity(written_out(graph), [i], outputs)
        if found is not None:
            raise DTypeError(
                f"input {i} of the gradient has dtype {x.dtype!r} and is computed with ({found}): gradients exist for "
                "floating-point tensors only.",
                operands=[f"input {i}: {x._type!r}"],
                hint="convert it with .astype(ms.float32), or ask for the other inputs by grad_position.",
            )


def _differentiated(
    b: GraphBuilder, graph: Graph, wrt: list[int], at: list[int], args: list[Any], given: Sequence[Any]
) -> tuple[Sequence[Any], Sequence[Any]]:
    """What ``graph`` gives for ``args``, and its gradients; as one node where the gradient may be worked out later."""
    n_out = len(graph.outputs)
    settled = not given or all(has_sizes(graph.outputs[k].type) for k in at)  # others differ in every run of a graph
    found = b.owe_gradient(graph, wrt, at, args, given) if settled else None
    if found is not None:
        return found[:n_out], found[n_out:]
    pair = vjp_graph(written_out(graph), wrt, at)
    results = replay(pair.forward, args)
    douts = [_in_size(g, results[k]) for g, k in zip(given, at)] or [ones_like(results[k]) for k in at]
    return results[:n_out], replay(pair.backward, [*results[n_out:], *douts])


@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: int = 0, weights: None = None, has_aux: bool = False,
    return_ids: Literal[False] = False,
) -> Callable[P, tuple[R, Tensor]]: ...  # fmt: skip
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: tuple[int, ...], weights: None = None, has_aux: bool = False,
    return_ids: Literal[False] = False,
) -> Callable[P, tuple[R, tuple[Tensor, ...]]]: ...  # fmt: skip
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: None, weights: Iterable[Parameter], has_aux: bool = False,
    return_ids: Literal[False] = False,
) -> Callable[P, tuple[R, tuple[Tensor, ...]]]: ...  # fmt: skip
@overload
def value_and_grad(
    fn: Callable[P, R], grad_position: Position = 0, weights: Any = None, has_aux: bool = False,
    return_ids: bool = False, sens_param: bool = False,
) -> Callable[P, tuple[R, Any]]: ...  # fmt: skip
def value_and_grad(
    fn: Fn, grad_position: Position = 0, weights: Any = None, has_aux: bool = False, return_ids: bool = False,
    sens_param: bool = False,
) -> Fn:  # fmt: skip
    """A function that gives the value of ``fn`` and its gradient.

    Args:
        fn: a function or Cell whose result is a tensor (its sum is differentiated when it is not a scalar) or, with
            ``has_aux``, a tuple whose first part is.
        grad_position: which arguments of the call to differentiate by, positional ones and then those by keyword, as
            they are written; an argument may be a tree of tensors.
        weights: Parameters to differentiate by, or one Parameter.
        has_aux: only the first part of the result is differentiated; the rest comes along.
        return_ids: each gradient comes as ``(position or parameter name, gradient)``; ``get_grad`` picks one.
        sens_param: the last argument of a call, or the one called ``sens``, is the sensitivity of the result: the
            cotangent, a tensor of its shape (ones by default).

    Returns:
        ``call(*args, **kwargs) -> (value, gradients)``; gradients are one tensor for one position, a tuple for a tuple
        of positions, ``(by inputs, by weights)`` with weights, or those by weights alone when grad_position is None.

    Raises:
        TypeError: an argument asked for is not a floating-point tensor.
        IndexError: a position is outside the arguments. ValueError: neither positions nor weights.
        RuntimeError: the result holds no tensor.

    Source: `mindspore.value_and_grad`

    Examples:
        >>> import msnb as ms
        >>> value, dx = ms.value_and_grad(lambda x: (x * x).sum())(ms.Tensor([1.0, 2.0]))
        >>> dx
        Tensor(shape=[2], dtype=Float32, value=
        [2., 4.])
    """

    return make_value_and_grad(fn, kept(weights), grad_position, has_aux, return_ids, sens_param=sens_param)


def make_value_and_grad(
    fn: Fn, weights: Any, position: Position, has_aux: bool, return_ids: bool, integers: Integers = "refuse",
    sens_param: bool = False,
) -> Fn:  # fmt: skip
    """``value_and_grad`` with a choice of what gradients by integers are."""
    return _transformed(make_value_and_grad, fn, weights, (position, has_aux, return_ids, integers, sens_param))


def _transformed(make: Callable[..., Fn], fn: Fn, weights: Any, options: tuple[Any, ...]) -> Fn:
    """What ``make``, one of ``make_value_and_grad`` and ``make_grad``, gives."""
    position, has_aux, return_ids, integers, sens_param = options

    def call(*args: Any, **kwargs: Any) -> Any:
        given, sens = (args, kwargs), None
        if sens_param:
            args, kwargs, sens = _without_sensitivity(args, kwargs)
        request = GradientRequest(fn, args, kwargs, position, weights, integers)
        if request.needs_graph:
            return run_staged(wrapper, *given)
        value, gradients = _value_and_grad(fn, request, has_aux, sens)
        gradients = _with_ids(request, gradients) if return_ids else gradients
        if make is make_value_and_grad:
            return value, gradients
        return (gradients, tuple(value[1:])) if has_aux else gradients

    name = make.__name__.removeprefix("make_")
    wrapper = marked(compiled_in_graph_mode(named(call, fn, name)), TransformStep(make, fn, weights, options))
    return wrapper


@overload
def grad(
    fn: Callable[P, Any], grad_position: int = 0, weights: None = None, has_aux: Literal[False] = False,
    return_ids: Literal[False] = False,
) -> Callable[P, Tensor]: ...  # fmt: skip
@overload
def grad(
    fn: Callable[P, Any], grad_position: tuple[int, ...], weights: None = None, has_aux: Literal[False] = False,
    return_ids: Literal[False] = False,
) -> Callable[P, tuple[Tensor, ...]]: ...  # fmt: skip
@overload
def grad(
    fn: Callable[P, Any], grad_position: Position = 0, weights: Any = None, has_aux: bool = False,
    return_ids: bool = False, sens_param: bool = False,
) -> Callable[P, Any]: ...  # fmt: skip
def grad(
    fn: Fn, grad_position: Position = 0, weights: Any = None, has_aux: bool = False, return_ids: bool = False,
    sens_param: bool = False,
) -> Fn:  # fmt: skip
    """A function that gives the gradient of ``fn``.

    Args:
        fn, grad_position, weights: see ``value_and_grad``.
        has_aux: the call gives ``(gradients, aux)``, aux a tuple of the rest of the result.
        return_ids: each gradient comes as ``(position or parameter name, gradient)``.
        sens_param: see ``value_and_grad``.

    Returns:
        ``call(*args, **kwargs) -> gradients``.

    Raises:
        As ``value_and_grad``.

    Source: `mindspore.grad`

    Examples:
        >>> import msnb as ms
        >>> float(ms.grad(ms.grad(lambda x: x ** 3))(ms.Tensor(2.0)))
        12.0
    """

    return make_grad(fn, kept(weights), grad_position, has_aux, return_ids, sens_param=sens_param)


def make_grad(
    fn: Fn, weights: Any, position: Position, has_aux: bool, return_ids: bool, integers: Integers = "refuse",
    sens_param: bool = False,
) -> Fn:  # fmt: skip
    """``grad`` with a choice of what gradients by integers are."""
    return _transformed(make_grad, fn, weights, (position, has_aux, return_ids, integers, sens_param))


def _with_ids(request: GradientRequest, gradients: Any) -> Any:
    def inputs(found: Any) -> Any:
        if request.single and request.positions:
            return (request.positions[0], found)
        return tuple(zip(request.positions, found))

    def weights(found: Any) -> Any:
        if request.single_weight:
            return (request.weights[0].name, found)
        return tuple((w.name, g) for w, g in zip(request.weights, found))

    if not request.has_weights:
        return inputs(gradients)
    return (inputs(gradients[0]), weights(gradients[1])) if request.asks_inputs else weights(gradients)


def named(call: Fn, fn: Fn, how: str) -> Fn:
    """A wrapper that shows what it wraps: ``grad(loss)``. Raises TypeError for what cannot be called."""
    if not callable(fn):
        raise ArgumentError(f"{how} takes a function or a Cell, not a {type(fn).__name__}.")
    name = getattr(fn, "__name__", type(fn).__name__)
    call = functools.wraps(fn)(call) if hasattr(fn, "__name__") else call
    call.__name__ = f"{how}({name})"
    for name in ("__wrapped__", "__msnb_fn__"):
        call.__dict__.pop(name, None)
    return call


class GradOperation:
    """MindSpore's older door to gradients.

    Args:
        get_all: gradients by all inputs (else by the first).
        get_by_list: gradients by the weights given to the call.
        sens_param: the last argument of the call is the sensitivity of the output.

    Source: https://www.mindspore.cn/docs/en/r1.8/api_python/ops/mindspore.ops.GradOperation.html

    Examples:
        >>> import msnb as ms
        >>> float(ms.ops.GradOperation()(lambda x: x * x)(ms.Tensor(3.0)))
        6.0
    """

    integers: Integers | None = None
    """What a gradient by an integer is; by default zero with ``get_all`` where it only chooses, else an error."""

    def __init__(self, get_all: bool = False, get_by_list: bool = False, sens_param: bool = False) -> None:
        need_bools("GradOperation", get_all=get_all, get_by_list=get_by_list, sens_param=sens_param)
        self.get_all: bool = get_all
        self.get_by_list: bool = get_by_list
        self.sens_param: bool = sens_param

    def __call__(self, fn: Fn, weights: Any = None) -> Fn:
        """The gradient function of ``fn``."""
        if self.get_by_list and weights is None:
            if not hasattr(fn, "trainable_params"):
                name = getattr(fn, "__name__", "the function")
                what = "GradOperation(get_by_list=True)"
                hint = f"{what}({name}, weights) names them; a Cell's are its trainable_params()."
                raise ArgumentError(f"{what}: {name} is no Cell, it has no weights.", hint=hint)
            weights = slot.engine.convert(fn.trainable_params)()  # a compiled program asks at each call
        integers = self.integers or ("zero" if self.get_all else "refuse")
        return _operation(fn, kept(weights), self.get_all, self.get_by_list, self.sens_param, integers, False)


def forward_and_grad(fn: Fn, weights: Any, get_all: bool, get_by_list: bool, sens_param: bool) -> Fn:
    """What ``GradOperation`` makes, of which a call gives (value, gradients)."""
    return _operation(fn, weights, get_all, get_by_list, sens_param, "real", True)


def _without_sensitivity(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any], Any]:
    """The arguments of a call, and the sensitivity: named ``sens``, or the last one."""
    if "sens" in kwargs:
        return args, {name: value for name, value in kwargs.items() if name != "sens"}, kwargs["sens"]
    return args[:-1], kwargs, args[-1]


def _has_gradient(argument: Any) -> bool:
    """Whether ``get_all`` means this argument; ``mutable`` counts within programs alone, as in MindSpore."""
    if isinstance(argument, Mutable) and not is_eager(slot.engine):
        return any(isinstance(leaf, Tensor) for leaf in pytree.flatten(argument)[0])
    return isinstance(argument, Tensor) or hasattr(type(argument), "CONSTANTS")


def _operation(
    fn: Fn, weights: Any, get_all: bool, get_by_list: bool, sens_param: bool, integers: Integers, with_value: bool
) -> Fn:
    def call(*args: Any, **kwargs: Any) -> Any:
        given, named_too, sens = args, kwargs, None
        if sens_param:
            args, kwargs, sens = _without_sensitivity(args, kwargs)
        arguments = (*args, *kwargs.values())
        everything = tuple(i for i, a in enumerate(arguments) if _has_gradient(a))
        if not (get_by_list or everything) and (get_all or not arguments):
            return given_back(fn(*args, **kwargs), ())
        position: Position = (everything or None) if get_all else None if get_by_list else 0
        request = GradientRequest(fn, args, kwargs, position, weights if get_by_list else None, integers)
        if request.needs_graph:
            return run_staged(wrapper, given, named_too)
        value, found = _value_and_grad(fn, request, False, sens)
        return given_back(value, ((), found) if get_all and get_by_list and not everything else found)

    def given_back(value: Any, found: Any) -> Any:
        return (value, found) if with_value else found

    step = TransformStep(_operation, fn, weights, (get_all, get_by_list, sens_param, integers, with_value))
    wrapper = marked(compiled_in_graph_mode(named(call, fn, "grad")), step)
    return wrapper
