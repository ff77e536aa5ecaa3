"""The transforms of the oracle: forward mode in all directions at once, and a loop over lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.fuzz import oracle
from tests.fuzz.duals import LEVELS, Dual, call, is_float, number, slopes_of, strip
from tests.fuzz.oracle import Parameter, Tensor, World, boxed

Fn = Callable[..., Any]


def mapped(f: Fn, tree: Any) -> Any:
    """``f`` on every tensor of nested tuples, lists and dicts."""
    if isinstance(tree, dict):
        return {k: mapped(f, v) for k, v in tree.items()}
    if isinstance(tree, tuple | list):
        return type(tree)(mapped(f, v) for v in tree)
    return f(tree) if isinstance(tree, Tensor) else tree


def leaves(tree: Any) -> list[Tensor]:
    found: list[Tensor] = []
    mapped(found.append, tree)
    return found


def _units(variables: Sequence[Any]) -> list[list[Any]]:
    """For each variable its slope in the direction of every element of every variable."""
    sizes = [number(v).size for v in variables]
    rows = []
    for i, v in enumerate(variables):
        x, start = number(v), sum(sizes[:i])
        eye = np.zeros((sum(sizes), x.size), x.dtype)
        eye[np.arange(start, start + x.size), np.arange(x.size)] = 1
        rows.append([row.reshape(x.shape) for row in eye])
    return rows


class Sweep:
    """One run of ``fn`` in which the given tensors carry slopes; values and slopes of all results."""

    def __init__(self, fn: Fn, args: Sequence[Any], boxes: Sequence[Tensor], slopes: list[list[Any]] | None = None):
        self.boxes = boxes
        slopes = _units([b.v for b in boxes]) if slopes is None else slopes
        level, count = next(LEVELS), len(slopes[0]) if slopes else 0
        for box, s in zip(boxes, slopes):
            box.v = Dual(level, box.v, s)
        World.levels.append(level)
        try:
            out = fn(*args)
            results = leaves(out)
            if not results:
                raise oracle.Unjudged("a derivative of nothing")
            self.slopes = [slopes_of(t.v, level, count) for t in results]
            self.out = mapped(lambda t: boxed(strip(t.v, level)), out)
        finally:
            World.levels.remove(level)
            World.settle(level)
            for box in boxes:
                box.v = strip(box.v, level)

    def gradients(self, cotangents: Sequence[Any] | None = None) -> list[Tensor]:
        """Of the sum of all results, or of their products with the cotangents, by each variable."""
        columns = []
        for k in range(sum(number(b.v).size for b in self.boxes)):
            total: Any = np.zeros((), number(self.boxes[0].v).dtype)
            for i, slopes in enumerate(self.slopes):
                s = slopes[k] if cotangents is None else call("mul", slopes[k], cotangents[i])
                total = call("add", total, call("sum", s))
            columns.append(total)
        return self._apart(columns, ())

    def jacobian(self, i: int) -> list[Tensor]:
        shape = number(self.slopes[i][0]).shape
        return self._apart([call("reshape", s, shape=(-1,)) for s in self.slopes[i]], shape)

    def _apart(self, columns: list[Any], shape: tuple[int, ...]) -> list[Tensor]:
        out, start = [], 0
        for box in self.boxes:
            x = number(box.v)
            part = call("stack", *columns[start : start + x.size], axis=-1)
            part = call("reshape", part, shape=(*shape, *x.shape))
            out.append(boxed(call("astype", part, dtype=x.dtype)))
            start += x.size
        return out


class Wanted:
    """Which inputs and weights a derivative is by, and the shape in which the caller gets it."""

    def __init__(self, args: Sequence[Any], position: Any, weights: Any) -> None:
        self.args = [boxed(a.v) if isinstance(a, Tensor) else a for a in args]
        self.hooks = {id(new): getattr(a, "hooks", []) for new, a in zip(self.args, args)}
        self.position = position
        self.places = () if position is None else position if isinstance(position, tuple) else (position,)
        self.one = isinstance(weights, Parameter)
        self.weights = None if weights is None else [weights] if self.one else list(weights)
        if not all(isinstance(w, Parameter) for w in self.weights or []):
            raise oracle.Unjudged("a derivative by what is no Parameter")
        if any(isinstance(a, Parameter) for a in args):
            raise oracle.Unjudged("a Parameter as an argument of a derivative")
        self.boxes: list[Tensor] = [self.args[i] for i in self.places]
        for w in self.weights or []:
            if not any(w is b for b in self.boxes):
                self.boxes.append(w)

    def hooked(self, box: Tensor, gradient: Tensor) -> Tensor:
        """What hooks of the tensor make of its gradient; a frozen weight is a constant."""
        if isinstance(box, Parameter) and not box.requires_grad:
            return boxed(np.zeros_like(number(gradient.v)))
        for hook in self.hooks.get(id(box), []):
            gradient = hook(gradient)
        return gradient

    def packed(self, grads: list[Tensor]) -> Any:
        of = {id(b): self.hooked(b, g) for b, g in zip(self.boxes, grads)}
        inputs: Any = tuple(of[id(self.args[i])] for i in self.places)
        inputs = inputs if isinstance(self.position, tuple) else inputs[0] if inputs else None
        if self.weights is None:
            return inputs
        by_weight: Any = tuple(of[id(w)] for w in self.weights)
        by_weight = by_weight[0] if self.one else by_weight
        return by_weight if self.position is None else (inputs, by_weight)


def value_and_grad(fn: Fn, grad_position: Any = 0, weights: Any = None) -> Fn:
    def run(*args: Any) -> Any:
        wanted = Wanted(args, grad_position, weights)
        sweep = Sweep(fn, wanted.args, wanted.boxes)
        return sweep.out, wanted.packed(sweep.gradients())

    return run


def grad(fn: Fn, grad_position: Any = 0, weights: Any = None) -> Fn:
    return lambda *args: value_and_grad(fn, grad_position, weights)(*args)[1]


def gradients_of_all(fn: Fn) -> Fn:
    """By every argument; an integer that chooses has zeros."""

    def run(*args: Any) -> Any:
        floats = tuple(i for i, a in enumerate(args) if is_float(a.dtype))
        found = dict(zip(floats, grad(fn, floats)(*args)))
        return tuple(found.get(i, boxed(np.zeros_like(number(a.v)))) for i, a in enumerate(args))

    return run


def vjp(fn: Fn, *inputs: Any, weights: Any = None) -> Any:
    wanted = Wanted(inputs, tuple(range(len(inputs))), weights)
    sweep = Sweep(fn, wanted.args, wanted.boxes)
    return sweep.out, lambda dy: wanted.packed(sweep.gradients([t.v for t in leaves(dy)]))


def jvp(fn: Fn, inputs: Any, v: Any) -> Any:
    several = isinstance(inputs, tuple)
    inputs, v = (inputs, v) if several else ((inputs,), (v,))
    no_hooks(inputs)
    args = [boxed(a.v) for a in inputs]
    sweep = Sweep(fn, args, args, [[t.v] for t in v])
    slopes = iter(sweep.slopes)
    return sweep.out, mapped(lambda _: boxed(next(slopes)[0]), sweep.out)


def no_hooks(args: Sequence[Any]) -> None:
    if any(getattr(a, "hooks", []) for a in args):
        raise oracle.Unjudged("a hook on a tensor of which no single gradient is taken")


def jacfwd(fn: Fn, grad_position: int = 0) -> Fn:
    def run(*args: Any) -> Any:
        no_hooks(args)
        wanted = Wanted(args, grad_position, None)
        sweep = Sweep(fn, wanted.args, wanted.boxes)
        which = iter(range(len(sweep.slopes)))
        return mapped(lambda _: wanted.packed(sweep.jacobian(next(which))), sweep.out)

    return run


jacrev = jacfwd


def hessian(fn: Fn, grad_position: int = 0) -> Fn:
    return jacfwd(grad(fn, grad_position), grad_position)


def written_lane(arg: Parameter, axis: int, i: int) -> Parameter:
    """One lane of a Parameter: what is written there is one value of the whole."""
    if World.lanes > 1 or World.levels:
        raise oracle.Unjudged("lanes of a Parameter under another transform")
    made = Parameter.__new__(Parameter)
    made.v, made.name, made.requires_grad, made.is_lane = arg[(slice(None),) * axis + (i,)].v, arg.name, True, True
    return made


def vmap(fn: Fn, in_axes: Any = 0, out_axes: int = 0) -> Fn:
    def lane(arg: Any, axis: Any, i: int) -> Any:
        if axis is None:
            return arg
        if isinstance(arg, Parameter):
            return written_lane(arg, axis, i)
        return arg[(slice(None),) * (axis % len(arg.shape)) + (i,)]

    def run(*args: Any) -> Any:
        axes = in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args)
        count = next(a.shape[ax] for a, ax in zip(args, axes) if ax is not None)
        World.lanes += 1
        try:
            lanes = [[lane(a, ax, i) for a, ax in zip(args, axes)] for i in range(count)]
            outs = [fn(*row) for row in lanes]
        finally:
            World.lanes -= 1
        for k, (arg, axis) in enumerate(zip(args, axes)):
            if isinstance(arg, Parameter) and axis is not None:
                arg.v = call("stack", *(row[k].v for row in lanes), axis=axis)
        columns = [iter(leaves(o)) for o in outs]
        return mapped(lambda _: oracle.ops.stack([next(c) for c in columns], axis=out_axes), outs[0])

    return run


def jit(fn: Fn) -> Fn:
    return fn
