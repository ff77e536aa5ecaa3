"""Gradients of one's own, and hooks on gradients.

f = custom_vjp(fn, bprop)          bprop(x..., out, dout) -> dx...          (a Cell's ``bprop`` goes through here)
register_hook(x, hook)             hook(grad) -> None or another grad       x is a tensor inside a network
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from msnb.api.function_tracing import FunctionTrace
from msnb.api.transforms.tensor_hooks import HookHandle, keep_hook, need_hook, note_hooks, noted_hooks
from msnb.base import ArgumentError, GradientError, ShapeError, reraise_interrupt
from msnb.core import Parameter, Tensor, pytree, slot
from msnb.core.tensor import made, make
from msnb.eager.recorded_calls import tracked_inputs
from msnb.eager.recording import is_eager
from msnb.ir.control_flow import HostFn, replay
from msnb.ir.custom_gradient import CUSTOM_GRADIENT, REFUSE_GRADIENT, WITH_VJP
from msnb.ops import full_like, stop_gradient, sum_to, zeros_like

Fn = Callable[..., Any]


def custom_vjp(fn: Fn, bprop: Any = None, parameters: Sequence[Parameter] = ()) -> Fn:
    """``fn`` with a gradient of its own.

    Args:
        fn: a function of tensors that gives a tensor or a tuple of tensors; what else it gives (numbers, None) has
            the gradient None.
        bprop: ``bprop(*inputs, out, dout)`` gives the gradient of every input (None: zero); ``out`` and ``dout`` are
            tuples where ``fn`` gives several tensors. ``.defbwd(bprop)`` of the result gives it later.
        parameters: Parameters that ``fn`` reads and ``bprop`` knows the gradients of, in eager mode: it gives
            ``(gradients of the inputs, {parameter: gradient})`` then.

    Returns:
        A function with the values of ``fn`` and the gradients of ``bprop``, in both modes.

    Raises:
        RuntimeError: ``bprop`` gives another number of gradients than there are inputs (``out`` and ``dout`` may come
            behind them), or one of another shape.
        TypeError: ``bprop`` does not take the inputs, the result and its gradient.

    Source: `mindspore.nn.Cell` (custom bprop)

    Examples:
        >>> import msnb as ms
        >>> clipped = ms.custom_vjp(lambda x: x * x, lambda x, out, dout: 2 * x * dout.clip(-1, 1))
        >>> float(ms.grad(clipped)(ms.Tensor(3.0)))
        6.0
    """

    def call(*inputs: Any) -> Any:
        inputs = slot.engine.given(inputs)
        leaves, shape = pytree.flatten(inputs)
        at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        own = list(parameters) if is_eager(slot.engine) else []
        before = [(leaves[i]._data, leaves[i]._rec) for i in at] if is_eager(slot.engine) else []
        found, out_shape = _cut_off(fn, inputs, leaves, at, own)
        places = [i for i, leaf in enumerate(found) if isinstance(leaf, Tensor)]
        outs = [found[i] for i in places]

        def result(tensors: Sequence[Any], others: Sequence[Any]) -> Any:
            """The structure of the result with tensors in the places of its tensors."""
            filled = list(others)
            for i, x in zip(places, tensors):
                filled[i] = x
            return pytree.unflatten(out_shape, filled)

        if outs and (not is_eager(slot.engine) or tracked_inputs(outs)):
            given_on = slot.engine.apply(REFUSE_GRADIENT, tuple(outs), {"name": _name_of(fn, bprop)})
            outs = list(given_on) if isinstance(given_on, tuple) else [given_on]

        def backward(*args: Any) -> list[Any]:
            given = list(leaves)
            for i, x in zip(at, args):
                given[i] = x
            rest = args[len(at) + len(own) :]
            values, douts = rest[: len(outs)], rest[len(outs) :]
            parts = pytree.unflatten(shape, given)
            _need_signature(bprop, len(parts))
            rule = bprop if is_eager(slot.engine) else slot.engine.convert(bprop)
            gradients = rule(*parts, result(values, found), result(douts, [None] * len(found)))
            gradients, of_own = _of_parameters(gradients, own)
            return [*_gradients(gradients, parts, [given[i] for i in at]), *of_own]

        xs = [*(leaves[i] for i in at), *own]
        xs = [*map(_as_given, xs, before), *xs[len(before) :]]
        if not outs:
            return result((), found)
        op, run, outer = CUSTOM_GRADIENT, backward, list[Any]()
        if not is_eager(slot.engine):
            op, (run, outer) = WITH_VJP, _traced_now(backward, xs, outs)
        host = HostFn(run, getattr(bprop, "__name__", "bprop"))
        attrs = {"n_in": len(xs), "n_out": len(outs), "own": True, "fn": host}
        results = slot.engine.apply(op, (*xs, *outs, *outer), attrs)
        return result(results if isinstance(results, tuple) else (results,), found)

    def defbwd(rule: Fn) -> None:
        nonlocal bprop
        bprop = rule

    call.defbwd = defbwd  # type: ignore[attr-defined]
    return call


def _traced_now(backward: Fn, xs: list[Any], outs: list[Any]) -> tuple[Fn, list[Any]]:
    """The gradient as a graph, traced along with the program: what it reads is guarded, outside tensors come in as
    inputs. A mistake in it is reported when somebody differentiates, as in eager mode.

    Returns:
        ``run(*xs, *outs, *outer, *douts)`` and the outer values.
    """
    try:
        program = FunctionTrace(lambda x, out, dout: backward(*x, *out, *dout), (tuple(xs), tuple(outs), tuple(outs)))
        if any(program.written_input(k) is None for k in range(len(program.writes))):
            raise GradientError("bprop assigned a Parameter.", hint="assign it in construct, or after the gradient.")
    except Exception as error:
        reraise_interrupt(error)
        mistake = error

        def refuse(*args: Any) -> Any:
            raise mistake

        return refuse, []
    known = len(xs) + len(outs)

    def run(*args: Any) -> Any:
        front, outer, douts = args[:known], args[known : len(args) - len(outs)], args[len(args) - len(outs) :]
        return program.result(replay(program.graph, [*front, *douts, *outer]))

    return run, program.outer


def _as_given(x: Tensor, before: tuple[Any, Any]) -> Tensor:
    """An input, which ``fn`` may have written: the gradient is that of the value that came in."""
    data, track = before
    return x if x._data is data else make(data, x._type, track)


def _of_parameters(found: Any, parameters: Sequence[Parameter]) -> tuple[Any, list[Any]]:
    """What a bprop that knows the gradients of Parameters gave: those of its inputs, then one per Parameter."""
    if not parameters:
        return found, []
    if not (isinstance(found, (tuple, list)) and len(found) == 2 and isinstance(found[1], dict)):
        raise GradientError(
            "bprop gave no gradients of internal_params.",
            hint="return (gradients of the inputs,), {parameter: gradient}, or leave internal_params out.",
        )
    given = {id(p): g for p, g in found[1].items()}
    return found[0], [zeros_like(p) if given.get(id(p)) is None else _fitting(given[id(p)], p) for p in parameters]


def _cut_off(
    fn: Fn, inputs: tuple[Any, ...], leaves: list[Any], at: list[int], own: list[Parameter]
) -> tuple[list[Any], Any]:
    """Run ``fn`` where no gradient sees its inputs and its own Parameters; what else it reads is followed.

    Returns:
        The leaves of its result, and their structure.
    """
    tensors = [*(leaves[i] for i in at if leaves[i].dtype.differentiable), *own]
    return _cut_off_now(fn, inputs, tensors) if is_eager(slot.engine) else _cut_off_here(fn, inputs, tensors)


def _cut_off_now(fn: Fn, inputs: tuple[Any, ...], tensors: list[Any]) -> tuple[list[Any], Any]:
    """In eager mode the inputs lose their numbers on the tape meanwhile."""
    before = [(x, x._rec, x._data) for x in tensors if x._rec is not None]
    for x, _, _ in before:
        x._rec = None
    try:
        outs, shape = pytree.flatten(fn(*inputs))
    finally:
        for x, track, data in before:
            if x._data is data:  # else it was assigned in there
                x._rec = track
    same = {id(x) for x, _, _ in before}
    return [made(x._data, x._type) if id(x) in same else x for x in outs], shape


def _cut_off_here(fn: Fn, inputs: tuple[Any, ...], tensors: list[Any]) -> tuple[list[Any], Any]:
    """In a captured program the inputs are read through ``stop_gradient``."""
    engine = slot.engine
    stopped: dict[int, Any] = {id(x): stop_gradient(x) for x in tensors}
    values = {key: x._value for key, x in stopped.items()}
    leaves, shape = pytree.flatten(inputs)
    out = engine.convert(fn)(*pytree.unflatten(shape, [stopped.get(id(x), x) for x in leaves]))
    for x in tensors:
        if stopped[id(x)]._value is not values[id(x)]:  # assigned in there
            engine.assign(x, stopped[id(x)])
    return pytree.flatten(out)


def _name_of(fn: Fn, bprop: Fn) -> str:
    """A Cell by its class, a function by its name."""
    owner = getattr(bprop, "__self__", None)
    return type(owner).__name__ if owner is not None else str(getattr(fn, "__name__", "the function"))


def _gradients(found: Any, parts: Sequence[Any], tensors: Sequence[Any]) -> list[Any]:
    """One gradient per tensor input, from what bprop returned (one per argument)."""
    given = tuple(found) if isinstance(found, (tuple, list)) else (found,)
    while len(given) > len(parts) and given[-1] is None:
        given = given[:-1]  # of results that are no tensors, as they came in ``dout``
    if len(given) == len(parts) + 2:
        given = given[:-2]  # MindSpore's programs write ``return dx, dy, out, dout``, too
    if len(given) != len(parts):
        raise GradientError(
            f"bprop gave {len(given)} gradients for {len(parts)} inputs.",
            hint="return a tuple with one gradient per input of construct (zeros for inputs without one).",
        )
    flat = [g for k, (gradient, part) in enumerate(zip(given, parts)) for g in _by_leaves(gradient, part, k)]
    return [zeros_like(x) if g is None else _fitting(g, x) for g, x in zip(flat, tensors)]


def _by_leaves(gradient: Any, part: Any, k: int) -> list[Any]:
    """One gradient (or None: zero) per tensor in an argument, from a tree over all its leaves or over the tensors."""
    is_tensor = [isinstance(leaf, Tensor) for leaf in pytree.flatten(part)[0]]
    if gradient is None:
        return [None] * sum(is_tensor)
    found = pytree.flatten(gradient)[0]
    if len(found) == len(is_tensor):
        return [g for g, yes in zip(found, is_tensor) if yes]
    if len(found) == sum(is_tensor):
        return found
    raise GradientError(
        f"bprop gave {len(found)} gradients for argument {k}, which holds {sum(is_tensor)} tensors.",
        hint="return a gradient of the structure of the argument, or None where it is zero.",
    )


def _fitting(gradient: Any, x: Tensor) -> Any:
    """A gradient has the shape of what it belongs to; one of a shape that broadcasting made of that is added up, one
    of integers or of another precision is converted."""
    if not isinstance(gradient, Tensor):
        return full_like(x, gradient)
    if gradient.dtype is not x.dtype and x.dtype.differentiable and gradient.dtype.category <= x.dtype.category:
        gradient = gradient.astype(x.dtype)
    if gradient.shape == x.shape:
        return gradient
    try:
        return sum_to(gradient, x.shape)
    except ShapeError:
        raise GradientError(
            f"bprop gave a gradient of shape {list(gradient.shape)} for an input of shape {list(x.shape)}.",
            operands=[f"input: {x._type!r}", f"gradient: {gradient._type!r}"],
            hint="every gradient has the shape of its input: sum over axes that the input does not have.",
        ) from None


def _need_signature(bprop: Fn, n: int) -> None:
    """A rule takes the inputs, the result and the gradient of the result."""
    signature = inspect.signature(bprop)
    try:
        signature.bind(*[None] * (n + 2))
    except TypeError:
        names = ", ".join(signature.parameters)
        raise ArgumentError(
            f"bprop takes {n + 2} arguments here: the inputs of construct ({n}), its result, and the gradient of that; "
            f"this one is bprop({names}).",
            hint="for construct(self, x) write bprop(self, x, out, dout).",
        ) from None


def hook_gradient(x: Any, hook: Fn) -> Any:
    """``x`` itself, with ``hook(grad)`` called when its gradient is known; what it returns replaces the gradient.

    Args:
        x: a tensor inside a differentiated program.
        hook: called with the gradient, a real tensor in both modes.

    Returns:
        A tensor with the value of ``x``.
    """

    def backward(_x: Any, _out: Any, dout: Any) -> list[Any]:
        found = hook(dout)
        return [dout if found is None else found]

    attrs = {"n_in": 1, "n_out": 1, "own": False, "fn": HostFn(backward, getattr(hook, "__name__", "hook"))}
    return slot.engine.apply(CUSTOM_GRADIENT, (x, x), attrs)


class HookBackward:
    """Its inputs, with a function called when their gradients are known.

    Args:
        hook_fn: gets a tuple of gradients; what it returns (a gradient, or as many as there are) replaces them.

    Source: `mindspore.ops.HookBackward`

    Examples:
        >>> import msnb as ms
        >>> tenfold = ms.ops.HookBackward(lambda gradients: gradients[0] * 10)
        >>> ms.grad(lambda x: tenfold(x * x))(ms.Tensor(3.0)).item()
        60.0
    """

    def __init__(self, hook_fn: Fn) -> None:
        need_hook(hook_fn)
        self.hook_fn = hook_fn

    def __call__(self, *inputs: Any) -> Any:
        """The inputs: one, or a tuple of them."""
        n = len(inputs)

        def backward(*inputs_outputs_douts: Any) -> list[Any]:
            douts = inputs_outputs_douts[2 * n :]
            found = self.hook_fn(tuple(douts))
            given = douts if found is None else tuple(found) if isinstance(found, (tuple, list)) else (found,)
            if len(given) != n:
                raise GradientError(f"a hook on {n} tensors gave {len(given)} gradients.")
            return list(given)

        attrs = {"n_in": n, "n_out": n, "own": False, "fn": HostFn(backward, getattr(self.hook_fn, "__name__", "hook"))}
        return slot.engine.apply(CUSTOM_GRADIENT, (*inputs, *inputs), attrs)


class InsertGradientOf(HookBackward):
    """A tensor as it is, with a function that its gradient passes through.

    Args:
        f: ``f(dx)`` gives the gradient that goes on.

    Raises:
        TypeError: f cannot be called.

    Source: `mindspore.ops.InsertGradientOf`

    Examples:
        >>> import msnb as ms
        >>> small = InsertGradientOf(lambda dx: dx.clip(-1, 1))
        >>> ms.grad(lambda x: small(x) ** 2)(ms.Tensor(3.0)).item()
        1.0
    """

    def __init__(self, f: Fn) -> None:
        super().__init__(getattr(f, "__msnb_fn__", f))
        self.f = f
        self.hook_fn = lambda gradients: f(gradients[0])

    def __call__(self, input_x: Any) -> Any:
        """``input_x``."""
        return super().__call__(input_x)


def register_hook(x: Tensor, hook: Fn) -> HookHandle:
    """Call ``hook(grad)`` when the gradient of ``x`` is known.

    On a tensor inside a differentiated program, the object ``x`` carries the hook from here on. On a Parameter, and on
    a tensor outside of any gradient, the hook sees the gradient that ``grad`` is about to give back for it.

    Args:
        x: a tensor or a Parameter.
        hook: gets the gradient; a tensor it returns replaces the gradient.

    Returns:
        A handle; after its ``remove()`` the hook is not called any more.

    Raises:
        TypeError: the hook cannot be called, or is compiled. RuntimeError: a Parameter with requires_grad=False.

    Source: `mindspore.Tensor.register_hook`

    Examples:
        >>> import msnb as ms
        >>> def f(x):
        ...     y = x * x
        ...     y.register_hook(lambda g: 10 * g)
        ...     return y.sum()
        >>> float(ms.grad(f)(ms.Tensor(3.0)))
        60.0
    """
    need_hook(hook)
    if isinstance(x, Parameter) and not x.requires_grad:
        raise GradientError(
            f"a hook on {x.name}, whose gradient nobody takes: it has requires_grad=False.",
            hint="set requires_grad=True before, or register the hook on a tensor that is computed from it.",
        )
    if isinstance(x, Parameter) or (is_eager(slot.engine) and not tracked_inputs([x])):
        return keep_hook(x, hook)
    hooks = {1: hook}

    def if_kept(gradient: Any) -> Any:
        found = hooks.get(1)
        return None if found is None else found(gradient)

    if_kept.__name__ = getattr(hook, "__name__", "hook")
    before = noted_hooks(x)
    slot.engine.assign(x, hook_gradient(x, if_kept))
    if not is_eager(slot.engine):
        if_kept.within = hooks  # type: ignore[attr-defined]
        keep_hook(x, if_kept)
    note_hooks(x, [*before, hooks])
    return HookHandle(hooks, 1)


Tensor.register_hook = register_hook  # type: ignore[method-assign, assignment]
