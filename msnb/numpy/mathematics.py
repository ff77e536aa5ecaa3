"""Differences, polynomials, sliding sums, histograms: the rest of NumPy that programs of MindSpore call.

Source: https://www.mindspore.cn/docs/en/master/api_python/mindspore.numpy.html (math operations)
"""

from __future__ import annotations

import math
from typing import Any

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, ShapeError
from msnb.core import as_dtype, float32, float64
from msnb.numpy.creation import asarray as array, linspace
from msnb.numpy.dtype_results import in_dtype, operands_of
from msnb.numpy.selections import row
from msnb.ops.mindspore import mint

__all__ = [
    "array_equal", "blackman", "cbrt", "clip", "convolve", "corrcoef", "cov", "cross", "divmod", "gradient", "hamming",
    "hanning", "heaviside", "histogram", "histogram2d", "histogram_bin_edges", "histogramdd", "interp", "kron",
    "polyval", "radians", "round",
]  # fmt: skip


def gradient(f: Any, *spacing: float, axis: Any = None, edge_order: int = 1) -> Any:
    """Slopes: central differences inside, one-sided ones at the ends.

    Args:
        f: an array with at least two numbers along every axis that is asked for.
        spacing: the distance between neighbours, one for all axes or one for each; 1 unless given.
        axis: an int, several, or None for all.
        edge_order: 1: slopes at the ends are taken from two numbers; there is no other.

    Returns:
        The slopes along the axis; a list of them where there are several.

    Raises:
        TypeError: fewer than two numbers along an axis.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.gradient(mnp.array([1.0, 4.0, 9.0])).tolist()
        [3.0, 4.0, 5.0]
    """
    if edge_order != 1:
        raise AttributeValueError(f"gradient: edge_order is 1, as in MindSpore, got {edge_order}.")
    x = array(f)
    x = x if x.dtype.is_float else x.astype(float32)
    axes = (axis,) if isinstance(axis, int) else tuple(range(x.ndim) if axis is None else axis)
    gaps = spacing * len(axes) if len(spacing) == 1 else spacing or (1.0,) * len(axes)
    if len(gaps) != len(axes):
        raise ArgumentError(f"gradient takes one distance, or one for each of {len(axes)} axes, got {len(gaps)}.")
    found = [_slopes(x, gap, i) for i, gap in zip(axes, gaps)]
    if isinstance(axis, int):
        return found[0]
    return found[0] if len(found) == 1 else found


def _slopes(x: Any, spacing: float, axis: int) -> Any:
    t = ops.moveaxis(x, axis, -1)
    if t.shape[-1] < 2:
        raise ArgumentError(f"gradient needs at least two numbers along axis {axis}, there is {t.shape[-1]}.")
    steps = t[..., 1:] - t[..., :-1]
    inside = (steps[..., 1:] + steps[..., :-1]) / 2
    return ops.moveaxis(ops.concat([steps[..., :1], inside, steps[..., -1:]], -1) / spacing, -1, axis)


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Two rows of numbers, one turned around and slid along the other.

    Args:
        a, v: one axis each, or a number.
        mode: "full", "same" (as long as the longer one) or "valid" (where both overlap wholly).

    Raises:
        ValueError: not one axis each, no numbers, or an unknown mode.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.convolve(mnp.array([1.0, 2.0, 3.0]), mnp.array([1.0, 1.0])).tolist()
        [1.0, 3.0, 5.0, 3.0]
    """
    x, kernel = row("convolve", a), row("convolve", v)
    if mode not in ("full", "same", "valid"):
        raise AttributeValueError(f"convolve: mode is full, same or valid, got {mode!r}.")
    if 0 in (*x.shape, *kernel.shape):
        raise ShapeError("convolve needs at least one number in each row.")
    x, kernel = (x, kernel) if x.shape[0] >= kernel.shape[0] else (kernel, x)
    n, k = x.shape[0], kernel.shape[0]
    wide = ops.pad(x, (k - 1, k - 1))
    full = sum((wide[k - 1 - i : k - 1 - i + n + k - 1] * kernel[i] for i in range(1, k)), wide[k - 1 :] * kernel[0])
    first = {"full": 0, "same": (k - 1) // 2, "valid": k - 1}[mode]
    return full[first : first + {"full": n + k - 1, "same": n, "valid": n - k + 1}[mode]]


def polyval(p: Any, x: Any) -> Any:
    """The value of a polynomial, its highest coefficient first."""
    coefficients, at = ops.atleast_1d(array(p)), array(x)
    out = ops.zeros_like(at) + coefficients[0]
    for i in range(1, coefficients.shape[0]):
        out = out * at + coefficients[i]
    return out


def histogram(a: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False) -> Any:
    """How many numbers fall between borders.

    Args:
        a: numbers.
        bins: how many intervals, or their borders.
        range: the first and last border; else the smallest and largest number.
        weights: what each number counts.
        density: give counts whose area is 1.

    Returns:
        (counts, borders).

    Examples:
        >>> import msnb.numpy as mnp
        >>> [t.tolist() for t in mnp.histogram(mnp.array([1.0, 2.0, 3.0]), bins=2)]
        [[1.0, 2.0], [1.0, 2.0, 3.0]]
    """
    counts, borders = histogramdd(array(a).reshape(-1, 1), (bins,), (range,), weights, density)
    return counts, borders[0]


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The borders that ``histogram`` counts between.

    Args:
        a, bins, range: as of ``histogram``.
        weights: one for every number; borders do not depend on it.

    Raises:
        ValueError: no interval, borders that are no row, a range from high to low, or another number of weights.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.histogram_bin_edges(mnp.array([1.0, 3.0]), bins=2).tolist()
        [1.0, 2.0, 3.0]
    """
    x = array(a).reshape(-1).astype(float32)
    if weights is not None and array(weights).size != x.size:
        raise ShapeError(f"histogram_bin_edges: {x.size} numbers need as many weights, got {array(weights).size}.")
    return _borders(x, bins, range)


def histogram2d(
    x: Any, y: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Any, Any, Any]:
    """How many points of a plane fall into each rectangle.

    Args:
        x, y: coordinates of the points, [n] each.
        bins: how many intervals of both axes, a pair of numbers or borders, or the borders of both.
        range, weights, density: as of ``histogramdd``.

    Returns:
        (counts, borders of x, borders of y).

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.histogram2d([0.0, 2.0], [1.0, 5.0], 2)[0].tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    pair = bins if isinstance(bins, int) or len(bins) == 2 else (bins, bins)
    counts, borders = histogramdd((x, y), pair, range, weights, density)
    return counts, borders[0], borders[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, weights: Any = None, density: bool = False
) -> tuple[Any, list[Any]]:
    """How many points fall into each box.

    Args:
        sample: an array [n, axes], or a list with the coordinates [n] of each axis.
        bins: how many intervals of every axis, or for each axis how many, or their borders.
        range: (first, last) border of each axis, or None for its smallest and largest number; None: for all axes.
        weights: what each point counts.
        density: give counts whose volume is 1.

    Returns:
        (counts in float32, a list of borders).

    Raises:
        ValueError: axes, bins, range or weights that do not fit each other.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.histogramdd(mnp.array([[0.0, 0.0], [2.0, 4.0]]), (2, 1))[0].tolist()
        [[1.0], [1.0]]
    """
    points = array(sample)
    if points.ndim != 2:
        raise ShapeError(f"histogramdd takes an array [n, axes] or a list of rows, got {points.ndim} axes.")
    points = (points.T if isinstance(sample, (list, tuple)) else points).astype(float32)
    axes = points.shape[1]
    sides = (bins,) * axes if isinstance(bins, int) else tuple(bins)
    ends = (None,) * axes if range is None else tuple(range)
    if len(sides) != axes or len(ends) != axes:
        raise ShapeError(f"histogramdd: {axes} axes need as many bins and ranges, got {len(sides)} and {len(ends)}.")
    columns = [points[:, i] for i, _ in enumerate(sides)]
    borders = [_borders(*of_axis) for of_axis in zip(columns, sides, ends)]
    hits = [_hits(x, edges) for x, edges in zip(columns, borders)]
    if weights is not None:
        hits[0] = hits[0] * array(weights).reshape(-1, 1)
    names = "abcdefghijklm"[:axes]
    counts = ops.einsum(",".join(f"z{name}" for name in names) + f"->{names}", *hits)
    if density:
        volume = ops.einsum(",".join(names) + f"->{names}", *[(b[1:] - b[:-1]).astype(float32) for b in borders])
        counts = counts / ops.sum(counts) / volume
    return counts, borders


def _hits(x: Any, borders: Any) -> Any:
    """1 where a number [n, 1] lies in an interval [1, bins], else 0; the last one holds its end too."""
    inside = (x[:, None] >= borders[:-1]) & (x[:, None] < borders[1:])
    last = ops.equal(x, borders[-1])[:, None] & ops.equal(ops.arange(borders.shape[0] - 1), borders.shape[0] - 2)
    return (inside | last).astype(float32)


def _borders(x: Any, bins: Any, ends: Any) -> Any:
    """Borders at equal distances; where all numbers are the same, half to its left and right, as in NumPy."""
    if not isinstance(bins, int):
        if isinstance(bins, str) or array(bins).ndim != 1:
            raise ShapeError("histogram: bins is a number of intervals or a row of borders.")
        return array(bins)
    if bins < 1:
        raise AttributeValueError(f"histogram: there is at least one interval, got bins={bins}.")
    if ends is None and not x.size:
        ends = (0.0, 0.0)
    if ends is not None and ends[0] > ends[1]:
        raise AttributeValueError(f"histogram: range is (low, high), got {tuple(ends)}.")
    low, high = (ops.min(x), ops.max(x)) if ends is None else (array(end).astype(float32) for end in ends)
    half = ops.where(ops.equal(low, high), 0.5, 0.0).astype(float32)
    return linspace(low - half, high + half, bins + 1)


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None) -> Any:
    """Straight lines between known points.

    Args:
        x: where to look. xp: the known places, ascending. fp: the values there.
        left, right: beyond the ends; else the first and last value.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.interp(mnp.array([1.5]), mnp.array([1.0, 2.0]), mnp.array([3.0, 4.0])).tolist()
        [3.5]
    """
    at, places, values = (array(t).astype(float32) for t in (x, xp, fp))
    after = ops.clip(ops.searchsorted(places, at), 1, places.shape[0] - 1)
    x0, x1, y0, y1 = (ops.take(t, i, 0) for t, i in ((places, after - 1), (places, after),
                                                     (values, after - 1), (values, after)))  # fmt: skip
    out = y0 + (y1 - y0) * ops.clip((at - x0) / (x1 - x0), 0, 1)
    out = out if left is None else ops.where(at < places[0], left, out)
    return out if right is None else ops.where(at > places[-1], right, out)


def divmod(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """Quotient (rounded down) and remainder."""
    one, other = operands_of((x1, x2))
    return in_dtype((ops.floor_divide(one, other), ops.remainder(one, other)), dtype)


def kron(a: Any, b: Any) -> Any:
    """Every number of one array times the whole other one, laid out as blocks."""
    return ops.kron(*map(array, operands_of((a, b))))


def cbrt(x: Any, dtype: Any = None) -> Any:
    """The cube root, of negative numbers too."""
    t = array(x)
    t = t if t.dtype is float64 else t.astype(float32)
    return in_dtype(ops.sign(t) * ops.pow(ops.abs(t), 1 / 3), dtype)


def round(a: Any, decimals: int = 0) -> Any:
    """The nearest numbers with so many decimals, halves to the even one; negative ones round to tens, hundreds."""
    t = array(a)
    if t.dtype.is_float or t.dtype.is_complex:
        return mint.round(t, decimals=decimals)
    return t if decimals >= 0 else mint.round(t, decimals=decimals).astype(t.dtype)


def radians(x: Any, dtype: Any = None) -> Any:
    """Degrees as radians."""
    return in_dtype(array(x) * (math.pi / 180), dtype)


def _window(name: str, *weights: float) -> Any:
    def window(M: int) -> Any:
        turns = linspace(0.0, 2 * math.pi, M) if M > 1 else array([math.pi] * M)  # one sample is the middle
        return sum((w * ops.cos(turns * float(i)) for i, w in enumerate(weights)), ops.zeros_like(turns))

    window.__name__ = window.__qualname__ = name
    window.__doc__ = f"The {name} window of M samples: a sum of cosines."
    return window


hanning: Any = _window("hanning", 0.5, -0.5)
hamming: Any = _window("hamming", 0.54, -0.46)
blackman: Any = _window("blackman", 0.42, -0.5, 0.08)


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    """Whether two arrays have one shape and the same numbers, as a bool tensor; NaN is NaN with ``equal_nan``."""
    x, y = array(a1), array(a2)
    if tuple(x.shape) != tuple(y.shape):
        return array(False)
    same = ops.equal(x, y)
    return ops.all(ops.logical_or(same, ops.logical_and(ops.isnan(x), ops.isnan(y))) if equal_nan else same)


def clip(x: Any, xmin: Any = None, xmax: Any = None, dtype: Any = None, **bounds: Any) -> Any:
    """Numbers moved into bounds (None: no bound), which NumPy calls ``a_min`` and ``a_max``, or ``min`` and ``max``.

    Raises:
        ValueError: no bound. TypeError: one by two names.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.clip([1, 5, 9], 2, a_max=6).tolist()
        [2, 5, 6]
    """
    said = {"xmin": xmin, "xmax": xmax}
    for word, value in bounds.items():
        name = {"a_min": "xmin", "min": "xmin", "a_max": "xmax", "max": "xmax"}.get(word)
        if name is None or (value is not None and said[name] is not None):
            raise ArgumentError(f"clip takes x, a lower and an upper bound, each by one name; got {word!r}.")
        said[name] = value if value is not None else said[name]
    out = ops.clip(array(x), said["xmin"], said["xmax"])
    return out if dtype is None else out.astype(as_dtype(dtype))


def heaviside(x1: Any, x2: Any, dtype: Any = None) -> Any:
    """0 below 0, 1 above, ``x2`` at 0; NaN stays."""
    t = array(x1)
    step = ops.heaviside(t if t.dtype.is_float else t.astype(float32), array(x2))
    return in_dtype(ops.where(ops.isnan(t), float("nan"), step) if t.dtype.is_float else step, dtype)


def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    """Cross products of vectors of three (or two) elements.

    Args:
        a, b: arrays of vectors; their other axes broadcast.
        axisa, axisb: the axes of the vectors. axisc: that of the products. axis: all three of them.

    Returns:
        The products; of two-element vectors their third element alone, the only one that is not 0.

    Raises:
        ValueError: vectors of another length.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.cross([1, 2, 3], [4, 5, 6]).tolist(), mnp.cross([1, 2], [4, 5]).item()
        ([-3, 6, -3], -3)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = ops.moveaxis(array(a), axisa, -1), ops.moveaxis(array(b), axisb, -1)
    if not {x.shape[-1], y.shape[-1]} <= {2, 3}:
        raise ShapeError(f"cross takes vectors of 2 or 3 elements, got {x.shape[-1]} and {y.shape[-1]}.")
    if x.shape[-1] == y.shape[-1] == 2:
        return x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0]
    flat = [ops.concat([v, v[..., :1] * 0], -1) if v.shape[-1] == 2 else v for v in (x, y)]
    return ops.moveaxis(ops.cross(flat[0], flat[1], -1), -1, axisc)


def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: int | None = None, fweights: Any = None,
    aweights: Any = None, dtype: Any = None,
) -> Any:  # fmt: skip
    """The covariances of variables.

    Args:
        m: [variables, observations], or the other way round with ``rowvar=False``. y: more variables of the same form.
        bias: divide by the number of observations, not by one less. ddof: by so many less.
        fweights, aweights: how often each observation was made, and how much it counts.
        dtype: of the result.

    Examples:
        >>> import msnb.numpy as mnp
        >>> mnp.cov([1.0, 2.0], [2.0, 0.0]).tolist()
        [[0.5, -1.0], [-1.0, 2.0]]
    """
    often, much = (None if w is None else array(w) for w in (fweights, aweights))
    lost = (0 if bias else 1) if ddof is None else ddof
    found = ops.cov(_variables(m, y, rowvar), correction=lost, fweights=often, aweights=much)
    return in_dtype(found, dtype)


def corrcoef(x: Any, y: Any = None, rowvar: bool = True, dtype: Any = None) -> Any:
    """Pearson's correlations of variables; arguments as ``cov``."""
    return in_dtype(ops.corrcoef(_variables(x, y, rowvar)), dtype)


def _variables(m: Any, y: Any, rowvar: bool) -> Any:
    """The rows of both."""
    parts = [_as_rows(part, rowvar) for part in (m, y) if part is not None]
    return parts[0] if len(parts) == 1 else ops.concat([ops.atleast_2d(part) for part in parts], 0)


def _as_rows(part: Any, rowvar: bool) -> Any:
    t = array(part)
    t = t if t.dtype.is_float else t.astype(float32)
    return t if rowvar or t.ndim < 2 else t.T
