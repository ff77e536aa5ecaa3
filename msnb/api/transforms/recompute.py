"""recompute: keep the arguments of a block, not what it computed on the way, and compute it again for its gradient.

    a chain of n blocks keeps         without: every value inside            with: n arguments, and one block at a time
    costs                             forward + backward                     forward twice + backward

capturing   the block becomes a Call with ``recompute=``: autodiff gives its backward the arguments and runs it again
eagerly     the block runs unrecorded; one line on the tape stands for it, whose gradient runs the block once more under
            a recorder of its own. What it reads outside (weights, closed-over tensors, the draw index) is noted, and
            for the second run every one of those objects has the value again that it had at the first.

Source: Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016, arXiv:1604.06174.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msnb.api.graph_mode import compiled_in_graph_mode
from msnb.autodiff.deferred_gradient import written_out
from msnb.base import ArgumentError
from msnb.core import EngineRestore, Parameter, Tensor, make, pytree, slot, using
from msnb.eager.autocast import casting, wear, worn_by
from msnb.eager.dispatch import EagerEngine
from msnb.eager.recorded_calls import tracked_inputs
from msnb.eager.recording import Recording, is_eager
from msnb.eager.tape import RecordingEngine
from msnb.ir import CUSTOM_GRADIENT, control_flow
from msnb.ops.definition.record import Op

Fn = Callable[..., Any]


def recompute(block: Any, *args: Any, **kwargs: Any) -> Any:
    """Run a block so that its gradient computes it again instead of keeping its values.

    Python in the block runs (or is replayed) once more in the backward pass: a ``print`` in it prints twice.

    Args:
        block: a Cell or function of tensors; what else it reads may be differentiated as well.
        *args, **kwargs: its arguments. Without any, a function of the arguments is returned.

    Returns:
        What ``block`` returns.

    Raises:
        TypeError: ``block`` cannot be called.

    Source: `mindspore.recompute`

    Examples:
        >>> import msnb as ms
        >>> f = lambda x: ms.ops.exp(ms.ops.exp(x))
        >>> round(float(ms.grad(lambda x: ms.recompute(f, x))(ms.Tensor(0.0))), 4)
        2.7183
    """
    if not callable(block):
        raise ArgumentError(f"recompute takes a Cell or a function, not a {type(block).__name__}.")
    name = getattr(block, "__name__", type(block).__name__)
    if args or kwargs:
        return recomputed(lambda *xs: slot.engine.convert(block)(*xs, **kwargs), args, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        return recomputed(lambda *xs: slot.engine.convert(block)(*xs, **kwargs), args, name)

    call.__name__ = f"recompute({name})"
    return compiled_in_graph_mode(call)


def recomputed(fn: Fn, args: tuple[Any, ...], name: str) -> Any:
    """``fn(*args)`` in the mode of the caller; ``name`` is what people see of it."""
    engine = slot.engine
    if isinstance(engine, RecordingEngine):
        return _one_line(engine, fn, args)
    return fn(*args) if is_eager(engine) or not hasattr(engine, "session") else _as_call(engine, fn, args, name)


# ---- capturing ----


def _as_call(engine: Any, fn: Fn, args: tuple[Any, ...], name: str) -> Any:
    leaves, shape = pytree.flatten(args)
    inputs = [x for x in leaves if isinstance(x, Tensor)]

    def body(*tensors: Any) -> Any:
        rest = iter(tensors)
        return fn(*pytree.unflatten(shape, [next(rest) if isinstance(x, Tensor) else x for x in leaves]))

    traced = engine.trace(body, inputs)
    callee = engine.graph.module.add(written_out(traced.graph), f"{name}_again")
    outs = control_flow.call(engine, callee, [*inputs, *traced.outer], name, recompute=True)
    for target, new in zip(traced.writes, outs[traced.n_results :]):
        engine.assign(target, new)
    return traced.rebuild(outs[: traced.n_results])


# ---- eagerly ----


class _Watching(EagerEngine):
    """Runs a block unrecorded and notes what it reads that a gradient, or the second run, will ask for."""

    def __init__(self) -> None:
        self.read_first: dict[int, tuple[Tensor, Tensor]] = {}

    def hear(self, x: Any) -> None:
        """Remember an object with its present value: weights, state, and whatever the tape outside tracks."""
        if isinstance(x, Tensor) and (x._rec is not None or isinstance(x, Parameter)):
            self.read_first.setdefault(id(x), (x, make(x._data, x._type, x._rec)))

    def listen(self, engine: Any) -> None:
        """A gradient inside the block records with an engine of its own: what that reads is noted too."""
        kind = type(engine)
        if kind not in _heard_kinds:
            _heard_kinds[kind] = _heard(kind)
        engine.__class__, engine.watching = _heard_kinds[kind], self

    def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Run the op."""
        for x in inputs:
            self.hear(x)
        return super().apply(op, inputs, attrs)

    def whole(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """As one program: its tensors are among the arguments."""
        for x in (*args, *kwargs.values()):
            self.hear(x)
        return super().whole(fn, args, kwargs)

    def assign(self, target: Tensor, value: Tensor) -> None:
        """State gets its new value; the old one is noted."""
        self.hear(target)
        super().assign(target, make(value._data, value._type) if value._rec is not None else value)


_heard_kinds: dict[Any, Any] = {}


def _heard(kind: type[RecordingEngine]) -> type[RecordingEngine]:
    """The same engine, told on by what it reads and writes."""

    class Heard(kind):  # type: ignore[valid-type, misc]
        watching: _Watching

        def hear(self, x: Any) -> None:
            self.watching.hear(x)

        def listen(self, engine: Any) -> None:
            self.watching.listen(engine)

        def apply(self, op: Op, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
            for x in inputs:
                self.watching.hear(x)
            return super().apply(op, inputs, attrs)

        def pair(self, op: Op, a: Tensor, b: Tensor) -> Any:
            return self.apply(op, (a, b), {})

        def whole(self, fn: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            for x in (*args, *kwargs.values()):
                self.watching.hear(x)
            return super().whole(fn, args, kwargs)

        def assign(self, target: Tensor, value: Tensor) -> None:
            self.watching.hear(target)
            super().assign(target, value)

    return Heard


def _one_line(engine: RecordingEngine, fn: Fn, args: tuple[Any, ...]) -> Any:
    watching = _Watching()
    for x in pytree.flatten(args)[0]:
        watching.hear(x)
    with EngineRestore(), using(wear(watching, worn_by(engine))):
        out = fn(*args)
    for x in pytree.flatten(out)[0]:  # a weight may be given back as it is
        watching.hear(x)
    found = list(watching.read_first.values())
    wrt = tracked_inputs([value for _, value in found])
    leaves, shape = pytree.flatten(out)
    at = [i for i, x in enumerate(leaves) if _has_gradient(x)]
    if not wrt or not at:
        return out
    run = _Again(fn, args, found, wrt, worn_by(engine))
    attrs = {"n_in": len(wrt), "n_out": len(at), "own": False, "fn": control_flow.HostFn(run, "recompute")}
    with casting(engine, None):
        results = engine.apply(CUSTOM_GRADIENT, (*(found[i][1] for i in wrt), *(leaves[i] for i in at)), attrs)
    for i, x in zip(at, results if isinstance(results, tuple) else (results,)):
        leaves[i] = x
    return pytree.unflatten(shape, leaves)


def _has_gradient(x: Any) -> bool:
    return isinstance(x, Tensor) and x.dtype.differentiable


class _Again:
    """The gradient of a block: everything it read has its old value, the block runs recorded, the tape is swept."""

    def __init__(
        self, fn: Fn, args: tuple[Any, ...], found: list[tuple[Tensor, Tensor]], wrt: Sequence[int], rule: Any
    ) -> None:
        self.fn, self.args, self.found, self.wrt, self.rule = fn, args, found, wrt, rule

    def __call__(self, *given: Any) -> list[Any]:
        n_in = len(self.wrt)
        douts = given[n_in + (len(given) - n_in) // 2 :]
        before = [(x, x._data, x._type, x._rec) for x, _ in self.found]
        try:
            for x, value in self.found:
                x._data, x._type, x._rec = value._data, value._type, None
            objects = [self.found[i][0] for i in self.wrt]
            for x, value in zip(objects, given):
                x._data, x._type, x._rec = value._data, value._type, value._rec
            return self._swept(objects, douts)
        finally:
            for x, *old in before:
                x._data, x._type, x._rec = old

    def _swept(self, objects: list[Tensor], douts: Sequence[Any]) -> list[Any]:
        with EngineRestore(), Recording((), objects) as tape, using(wear(tape.engine, self.rule)):
            out = self.fn(*self.args)
            tape.finish([x for x in pytree.flatten(out)[0] if _has_gradient(x)])
        gradients = tape.backward(douts)
        tape.release(pytree.flatten(out)[0])
        return gradients
