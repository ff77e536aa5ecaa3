"""Minima of functions of a tensor, by quasi-Newton methods.

    H[0] = 1;   p = -H g;   x += a p, a by the line search;   H follows s = x' - x and y = g' - g

BFGS keeps H as a matrix, LBFGS the last pairs (s, y), from which the product with H is computed. The loop's state is a
tuple of tensors: it runs eagerly and under ``jit``.

Source: J. Nocedal, S. Wright, Numerical Optimization (2006), algorithms 6.1 and 7.4
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import Tensor
from msnb.numpy.scipy.optimize.wolfe_search import Evaluation, LineSearchResults, evaluation, search
from msnb.ops.definition import as_tensor, operand_lines

_OPTIONS: dict[str, dict[str, Any]] = {
    "bfgs": {"maxiter": None, "gtol": 1e-5, "norm": float("inf"), "line_search_maxiter": 10},
    "lbfgs": {"maxiter": None, "gtol": 1e-5, "norm": float("inf"), "line_search_maxiter": 20, "maxcor": 10},
}
_CONDITIONS = (1e-4, 0.9)


class OptimizeResults(NamedTuple):
    """What a minimization found.

    Attributes:
        x: the place. success: the gradient is small enough. status: 0; 1 maxiter was reached; 2 the line search failed.
        fun, jac: value and gradient there. hess_inv: the inverse Hessian's estimate (None for LBFGS, which has none
        as a matrix). nfev, njev: values and gradients computed. nit: steps.
    """

    x: Tensor
    success: Tensor
    status: Tensor
    fun: Tensor
    jac: Tensor
    hess_inv: Tensor | None
    nfev: Tensor
    njev: Tensor
    nit: Tensor


def minimize(
    func: Callable[..., Any], x0: Any, args: tuple[Any, ...] = (), method: str | None = None,
    jac: Callable[..., Any] | None = None, hess: None = None, hessp: None = None, bounds: None = None,
    constraints: tuple[()] = (), tol: float | None = None, callback: None = None, options: dict[str, Any] | None = None,
) -> OptimizeResults:  # fmt: skip
    """A minimum of a scalar function of a vector.

    Args:
        func: ``func(x, *args)`` has a scalar result.
        x0: [n], where the search begins.
        args: further arguments of ``func`` and ``jac``.
        method: "BFGS" or "LBFGS", large or small.
        jac: the gradient of ``func``; None: it is derived.
        hess, hessp, bounds, constraints, callback: belong to other methods of SciPy; they are empty.
        tol: the same as the option "gtol".
        options: "maxiter" (steps; None: 200 n), "gtol" (how large the gradient may be), "norm" (which norm of it),
            "line_search_maxiter", for LBFGS "maxcor" (pairs that are kept).

    Returns:
        see ``OptimizeResults``.

    Raises:
        ShapeError: ``x0`` is no vector. AttributeValueError: another method or option. ArgumentError: an argument of
            another method.

    Source: `mindspore.scipy.optimize.minimize`

    Examples:
        >>> import msnb as ms
        >>> found = ms.scipy.optimize.minimize(lambda x: ((x - 3) ** 2).sum(), ms.ops.zeros(2), method="BFGS")
        >>> [round(v, 3) for v in found.x.tolist()]
        [3.0, 3.0]
    """
    for name, value in (("hess", hess), ("hessp", hessp), ("bounds", bounds), ("callback", callback)):
        if value is not None:
            raise ArgumentError(f"minimize: {name} belongs to methods that are not here; BFGS and LBFGS take none.")
    if constraints:
        raise ArgumentError("minimize: constraints belong to methods that are not here; BFGS and LBFGS take none.")
    chosen = _options(method, tol, options)
    x = as_tensor(x0)
    if x.ndim != 1:
        raise ShapeError("minimize: x0 is a vector.", operands=operand_lines(x._type))
    evaluate = evaluation(lambda v: func(v, *args), None if jac is None else lambda v: jac(v, *args))
    steps = 200 * x.shape[0] if chosen["maxiter"] is None else chosen["maxiter"]
    return _descend(evaluate, x, _PairMemory(chosen["maxcor"]) if "maxcor" in chosen else _Matrix(), steps, chosen)


def _options(method: str | None, tol: float | None, options: dict[str, Any] | None) -> dict[str, Any]:
    known = _OPTIONS.get(str(method).lower())
    if known is None:
        raise AttributeValueError(f"minimize: method is 'BFGS' or 'LBFGS', not {method!r}.")
    given = dict(options or {})
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise AttributeValueError(
            f"minimize: {method} has no option {', '.join(map(repr, unknown))}; it has {', '.join(known)}."
        )
    return {**known, **({} if tol is None else {"gtol": tol}), **given}


class _Matrix:
    """BFGS: the inverse Hessian as a matrix."""

    def begin(self, x: Any) -> tuple[Any, ...]:
        return (ops.eye(x.shape[0], None, x.dtype),)

    def times(self, state: tuple[Any, ...], gradient: Any) -> Any:
        return ops.matmul(state[0], gradient)

    def follow(self, state: tuple[Any, ...], s: Any, y: Any) -> tuple[Any, ...]:
        curvature = (s * y).sum()
        scale = ops.where(curvature > 0, 1 / ops.where(curvature > 0, curvature, 1), 0)
        matrix = state[0]
        image = ops.matmul(matrix, y)
        outer = ops.outer(s, image)
        grown = scale * (1 + scale * (y * image).sum()) * ops.outer(s, s)
        return (matrix - scale * (outer + outer.T) + grown,)

    def matrix(self, state: tuple[Any, ...]) -> Any:
        return state[0]


class _PairMemory:
    """LBFGS: the last pairs, the newest in the last row; rows of zeros were never written."""

    def __init__(self, count: int) -> None:
        self.count = count

    def begin(self, x: Any) -> tuple[Any, ...]:
        rows = ops.zeros((self.count, x.shape[0]), x.dtype)
        return rows, rows, ops.ones((), x.dtype)

    def times(self, state: tuple[Any, ...], gradient: Any) -> Any:
        steps, changes, scale = state
        curvature = (steps * changes).sum(1)
        inverse = ops.where(curvature > 0, 1 / ops.where(curvature > 0, curvature, 1), 0)
        found, parts = gradient, []
        for k in reversed(range(self.count)):
            parts.append(inverse[k] * (steps[k] * found).sum())
            found = found - parts[-1] * changes[k]
        found = scale * found
        for k, part in zip(range(self.count), reversed(parts)):
            found = found + (part - inverse[k] * (changes[k] * found).sum()) * steps[k]
        return found

    def follow(self, state: tuple[Any, ...], s: Any, y: Any) -> tuple[Any, ...]:
        steps, changes, scale = state
        curvature = (s * y).sum()
        good = curvature > 0
        pushed = [ops.concat((rows[1:], new[None])) for rows, new in ((steps, s), (changes, y))]
        square = (y * y).sum()
        fresh = curvature / ops.where(good, square, 1)
        return (ops.where(good, pushed[0], steps), ops.where(good, pushed[1], changes), ops.where(good, fresh, scale))

    def matrix(self, state: tuple[Any, ...]) -> Any:
        return None


def _descend(evaluate: Evaluation, x: Any, memory: Any, steps: int, chosen: dict[str, Any]) -> OptimizeResults:
    value, gradient = evaluate(x)
    state, earlier = memory.begin(x), value + ops.norm(gradient) / 2
    count, number, failed = as_tensor(1), as_tensor(0), as_tensor(False)

    def small(g: Any) -> Any:
        return ops.norm(g, ord=chosen["norm"]) <= chosen["gtol"]

    while ops.logical_not(small(gradient) | failed) & (number < steps):
        direction = -memory.times(state, gradient)
        found: LineSearchResults = search(
            evaluate, x, direction, value, gradient, earlier, _CONDITIONS, chosen["line_search_maxiter"]
        )
        failed = found.failed
        s = ops.where(failed, 0, found.a_k) * direction
        after = ops.where(failed, value, found.f_k)
        slope = ops.where(failed, gradient, found.g_k)
        state = memory.follow(state, s, slope - gradient)
        earlier, value, gradient, x = value, after, slope, x + s
        count, number = count + found.nfev, number + 1
    good = small(gradient)
    status = ops.where(good, 0, ops.where(failed, 2, 1))
    return OptimizeResults(x, good, status, value, gradient, memory.matrix(state), count, count, number)
