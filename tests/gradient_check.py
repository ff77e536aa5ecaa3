"""Are the derivatives right? Compared with differences of the program itself.

Take a random direction v and a random weight u on the outputs. Then three numbers must agree:

    D(e) = (<u, f(x + e v)> - <u, f(x - e v)>) / 2e  central difference in float64, of which (4 D(e) - D(2e)) / 3
                                                     is off by e^4 only
    <vjp(u), v>                                      reverse mode
    <u, jvp(v)>                                      forward mode

One direction costs two runs whatever the number of params, and a wrong entry of the Jacobian escapes only with
probability zero. Order 2 checks the gradient program itself in the same way, order 3 the gradient of that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from msnb.autodiff.forward_mode import jvp
from msnb.autodiff.gradient_rules import gradient_type
from msnb.autodiff.reverse_mode import vjp
from msnb.core.tensor import Tensor
from msnb.core.types import TensorType
from msnb.ir.builder import GraphBuilder, build
from msnb.ir.control_flow import replay
from msnb.ir.graph import Graph

Arrays = list[NDArray[Any]]
Runner = Callable[[Graph, Sequence[Any]], Sequence[Any]]


def run(graph: Graph, arrays: Sequence[Any]) -> Arrays:
    """The outputs of a graph on NumPy arrays (or Python numbers), through the engine in the slot."""
    args = [a if isinstance(a, (bool, int, float, complex)) else Tensor(a) for a in arrays]
    return [np.asarray(t.asnumpy()) for t in replay(graph, args)]


def gradient_graph(graph: Graph, wrt: Sequence[int]) -> Graph:
    """The program (params, one dout per differentiable output) -> gradients: forward and backward in one graph."""
    pair = vjp(graph, wrt)
    with GraphBuilder(f"{graph.name}_gradient", graph.module) as b:
        args = [b.param(p.type, p.name) for p in graph.params]
        douts = [b.param(p.type, p.name) for p in pair.backward.params[pair.residuals :]]
        results = replay(pair.forward, args)
        b.output(*replay(pair.backward, [*results[len(graph.outputs) :], *douts]))
    return b.graph


def differentiable(values: Sequence[Any]) -> list[int]:
    """The positions of values that can have a gradient."""
    return [i for i, v in enumerate(values) if isinstance(v.type, TensorType) and gradient_type(v.type) is not None]


def check_grads(
    program: Graph | Callable[..., Any], inputs: Sequence[Any], order: int = 2, seed: int = 0, *, eps: float = 1e-4,
    tolerance: float = 1e-6, forward: bool = True, runner: Runner = run,
) -> None:  # fmt: skip
    """Compare derivatives with central differences.

    Args:
        program: a graph, or a function of tensors.
        inputs: float64 or complex128 arrays are differentiated; others (integers, masks) are held fixed.
        order: 1 checks gradients, 2 also the gradients of gradients, and so on.
        seed: of the random direction.
        eps: the step. tolerance: the largest relative difference.
        forward: check forward mode too.
        runner: runs a graph on arrays.

    Raises:
        AssertionError: a derivative is wrong; names the order, the mode and both numbers.

    Examples:
        >>> import numpy as np
        >>> check_grads(lambda x: x * x, [np.array([1.0, 2.0])])
    """
    arrays = [np.asarray(a) for a in inputs]
    graph = program if isinstance(program, Graph) else build("program", [Tensor(a)._type for a in arrays], program)
    rng = np.random.default_rng(seed)
    for done in range(1, order + 1):
        _check_once(graph, arrays, rng, f"order {done}, seed {seed}", eps, tolerance, forward, runner)
        if done < order:
            wrt = differentiable(graph.params)
            arrays = [*arrays, *(_like(rng, graph.outputs[i].type) for i in differentiable(graph.outputs))]
            graph = gradient_graph(graph, wrt)


def _like(rng: np.random.Generator, t: Any) -> NDArray[Any]:
    found = rng.standard_normal(t.ints())
    if t.dtype.is_complex:
        found = found + 1j * rng.standard_normal(t.ints())
    return np.asarray(found, t.dtype.numpy)


def inner(a: Sequence[NDArray[Any]], b: Sequence[NDArray[Any]]) -> float:
    """The real inner product of two lists of arrays."""
    return float(sum(np.sum((np.conj(x) * y).real) for x, y in zip(a, b)))


def _check_once(
    graph: Graph, arrays: Arrays, rng: Any, label: str, eps: float, tolerance: float, forward: bool, runner: Runner
) -> None:
    wrt, outs = differentiable(graph.params), differentiable(graph.outputs)
    v = [_like(rng, graph.params[i].type) for i in wrt]
    u = [_like(rng, graph.outputs[i].type) for i in outs]

    def along(step: float) -> float:
        moved = list(arrays)
        for i, d in zip(wrt, v):
            moved[i] = np.asarray(arrays[i] + step * d, arrays[i].dtype)
        results = [np.asarray(r) for r in runner(graph, moved)]
        return inner(u, [results[i] for i in outs])

    near, far = ((along(e) - along(-e)) / (2 * e) for e in (eps, 2 * eps))
    numeric = (4 * near - far) / 3
    reverse = inner([np.asarray(g) for g in runner(gradient_graph(graph, wrt), [*arrays, *u])], v)
    _compare(f"{label}, reverse mode", reverse, numeric, tolerance)
    if forward:
        _compare(f"{label}, forward mode", _forward(graph, arrays, wrt, outs, v, u, runner), numeric, tolerance)


def _forward(
    graph: Graph, arrays: Arrays, wrt: Sequence[int], outs: Sequence[int], v: Arrays, u: Arrays, runner: Runner
) -> float:
    results = runner(jvp(graph, wrt), [*arrays, *v])
    tangents = [np.asarray(t) for t in results[len(graph.outputs) :]]
    return inner(u, tangents)


def _compare(label: str, found: float, numeric: float, tolerance: float) -> None:
    scale = max(1.0, abs(numeric), abs(found))
    if not abs(found - numeric) <= tolerance * scale:
        raise AssertionError(f"{label}: the derivative is {found!r}, differences give {numeric!r}.")
