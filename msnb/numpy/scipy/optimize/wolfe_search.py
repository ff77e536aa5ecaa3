"""A step length that satisfies the strong Wolfe conditions.

    value(a) <= value(0) + c1 a slope(0)      the value falls enough
    |slope(a)| <= c2 |slope(0)|               the slope is flat enough

First the step grows until an interval must have such a length in it, then the interval is cut: at the minimum of the
cubic or the parabola through what is known, or in the middle. All states are tensors and all choices selections, so
the search runs eagerly, under ``jit`` and inside other loops alike.

Source: J. Nocedal, S. Wright, Numerical Optimization (2006), algorithms 3.5 and 3.6; the lengths that are tried are
those of https://docs.scipy.org/doc/scipy/reference/generated/scipy.optimize.line_search.html
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from msnb import ops
from msnb.api import value_and_grad
from msnb.core import Tensor
from msnb.ops.definition.operand_checks import as_tensor

ZOOM_STEPS = 10
_CUBIC_MARGIN, _SQUARE_MARGIN = 0.2, 0.1  # parts of the interval next to its ends that interpolation may not choose
_NAN = float("nan")

Point = tuple[Any, Any, Any, Any]  # step length, value, gradient, slope along the direction
Evaluation = Callable[[Any], tuple[Any, Any]]


class LineSearchResults(NamedTuple):
    """What a line search found.

    Attributes:
        failed: no such length was found. nit: lengths tried while the step grew. nfev, ngev: values and gradients
        computed. k: cuts of the interval. a_k: the step length. f_k, g_k: value and gradient there. status: 0, or 1
        if it failed.
    """

    failed: Tensor
    nit: Tensor
    nfev: Tensor
    ngev: Tensor
    k: Tensor
    a_k: Tensor
    f_k: Tensor
    g_k: Tensor
    status: Tensor


def line_search(
    f: Callable[..., Any], xk: Any, pk: Any, jac: Callable[..., Any] | None = None, gfk: Any = None,
    old_fval: Any = None, old_old_fval: Any = None, c1: float = 1e-4, c2: float = 0.9, maxiter: int = 20,
) -> LineSearchResults:  # fmt: skip
    """A step length along a direction that satisfies the strong Wolfe conditions.

    Args:
        f: a function of a tensor like ``xk`` with a scalar result.
        xk: where the search begins.
        pk: the direction, like ``xk``.
        jac: the gradient of ``f``; None: it is derived.
        gfk: the gradient at ``xk``, if it is known. old_fval: the value there.
        old_old_fval: the value one step before, from which the first length is guessed.
        c1: how much of the slope the value has to fall by. c2: the part of the slope that may be left.
        maxiter: lengths that are tried while the step grows.

    Returns:
        see ``LineSearchResults``.

    Source: `mindspore.scipy.optimize.line_search`

    Examples:
        >>> import msnb as ms
        >>> found = ms.scipy.optimize.line_search(lambda x: (x * x).sum(), ms.Tensor([1.0]), ms.Tensor([-1.0]))
        >>> found.a_k.item(), found.f_k.item()
        (1.0, 0.0)
    """
    x, direction = as_tensor(xk), as_tensor(pk)
    evaluate = evaluation(f, jac)
    value, gradient, known = old_fval, gfk, 0
    if value is None or gradient is None:
        (value, gradient), known = evaluate(x), 1
    return search(evaluate, x, direction, value, gradient, old_old_fval, (c1, c2), maxiter, known)


def evaluation(f: Callable[..., Any], jac: Callable[..., Any] | None) -> Evaluation:
    """A function for value and gradient."""
    if jac is not None:
        return lambda x: (f(x), jac(x))
    return value_and_grad(f)


def search(
    evaluate: Evaluation, x: Any, direction: Any, value: Any, gradient: Any, earlier: Any,
    conditions: tuple[float, float], maxiter: int, known: int = 0,
) -> LineSearchResults:  # fmt: skip
    """``line_search`` from a value and a gradient that are known; ``known`` counts what they took."""
    c1, c2 = conditions

    def at(length: Any) -> Point:
        found, slope = evaluate(x + length * direction)
        return length, found, slope, (slope * direction).sum()

    slope = (gradient * direction).sum()
    start: Point = (ops.zeros_like(slope), value.astype(slope.dtype), gradient, slope)

    def falls(p: Point) -> Any:
        return p[1] <= start[1] + c1 * p[0] * start[3]

    def flat(p: Point) -> Any:
        return ops.abs(p[3]) <= -c2 * start[3]

    here, before, tried = at(_first_length(start, earlier)), start, as_tensor(1)
    while _grows(here, before, tried, falls, flat) & (tried < maxiter):
        before, here, tried = here, at(2 * here[0]), tried + 1
    rises = ops.logical_not(falls(here)) | ((tried > 1) & (here[1] >= before[1]))
    inside = rises | (ops.logical_not(flat(here)) & (here[3] >= 0))
    low, high = _select(rises, before, here), _select(rises, here, before)
    found, cuts, done = _zoom(low, high, start, at, falls, flat, inside)
    found = _select(inside, found, here)
    done = ops.where(inside, done, falls(here) & flat(here))
    count = tried + cuts + known
    failed = ops.logical_not(done)
    return LineSearchResults(failed, tried, count, count, cuts, found[0], found[1], found[2], failed.astype("int32"))


def _first_length(start: Point, earlier: Any) -> Any:
    """1, or the minimum of the parabola that the last step suggests, if that is nearer."""
    one = ops.ones_like(start[3])
    if earlier is None:
        return one
    guess = 2.02 * (start[1] - earlier) / _nonzero(start[3])
    return ops.where((guess >= 0) & (guess < 1), guess, one)


def _grows(here: Point, before: Point, tried: Any, falls: Any, flat: Any) -> Any:
    """True as long as the value falls enough, is below the last one, and goes on falling."""
    below = (tried == 1) | (here[1] < before[1])
    return falls(here) & below & ops.logical_not(flat(here)) & (here[3] < 0)


def _zoom(low: Point, high: Point, start: Point, at: Any, falls: Any, flat: Any, wanted: Any) -> tuple[Point, Any, Any]:
    """The interval with ends ``low`` (the better one) and ``high``, cut until a length is right."""
    last, cuts, done = start, as_tensor(0), ops.logical_not(wanted)
    found = low
    while ops.logical_not(done) & (cuts <= ZOOM_STEPS):
        middle = at(_cut(low, high, last, cuts))
        worse = ops.logical_not(falls(middle)) | (middle[1] >= low[1])
        right = ops.logical_not(worse) & flat(middle)
        turned = ops.logical_not(worse) & (middle[3] * (high[0] - low[0]) >= 0)
        # what leaves the interval is remembered for the cubic
        last = _select(worse | turned, high, low)
        high = _select(worse, middle, _select(turned, low, high))
        low = _select(worse, low, middle)
        found, done, cuts = low, right, cuts + 1
    return found, cuts, done & wanted


def _cut(low: Point, high: Point, last: Point, cuts: Any) -> Any:
    width = high[0] - low[0]
    left, right = ops.minimum(low[0], high[0]), ops.maximum(low[0], high[0])

    def inside(a: Any, margin: float) -> Any:
        return ops.isfinite(a) & (a <= right - margin * width) & (a >= left + margin * width)

    square = _square_minimum(low, high)
    found = ops.where(inside(square, _SQUARE_MARGIN), square, low[0] + 0.5 * width)
    cubic = _cubic_minimum(low, high, last)
    return ops.where((cuts > 0) & inside(cubic, _CUBIC_MARGIN), cubic, found)


def _square_minimum(low: Point, high: Point) -> Any:
    """Of the parabola with the value and slope at ``low`` and the value at ``high``; NaN where it has none."""
    width = high[0] - low[0]
    bend = (high[1] - low[1] - low[3] * width) / _nonzero(width * width)
    return low[0] - low[3] / (2 * ops.where(bend > 0, bend, _NAN))


def _cubic_minimum(low: Point, high: Point, last: Point) -> Any:
    """Of the cubic with the value and slope at ``low`` and the values at the two others; NaN where it has none."""
    db, dc = high[0] - low[0], last[0] - low[0]
    rest_b, rest_c = high[1] - low[1] - low[3] * db, last[1] - low[1] - low[3] * dc
    scale = _nonzero((db * dc) ** 2 * (db - dc))
    third = (dc * dc * rest_b - db * db * rest_c) / scale
    second = (db**3 * rest_c - dc**3 * rest_b) / scale
    root = second * second - 3 * third * low[3]
    return low[0] + (ops.sqrt(ops.where(root >= 0, root, _NAN)) - second) / (3 * _nonzero(third))


def _nonzero(x: Any) -> Any:
    """NaN in the place of 0: what is divided by it is no candidate."""
    return ops.where(x != 0, x, _NAN)


def _select(condition: Any, yes: Point, no: Point) -> Point:
    a, b, c, d = (ops.where(condition, p, q) for p, q in zip(yes, no))
    return a, b, c, d
