"""Operator classes of MindSpore that give more, or other, results than our function of the same name.

    ops.unique(x)           the values                 ops.Unique()(x)       (values, places)
    ops.batch_norm(x, ..)   y                          ops.BatchNorm()(..)   (y, mean, variance, mean, variance)
    ops.dropout(x, p)       y                          ops.Dropout(p)(x)     (y, mask)

A program takes them apart (``out[0]``, ``y, mask = ...``): with another number of results it would pick rows of a
tensor, in silence. ``msnb.ops.mindspore.primitive_classes`` has the table of names and attributes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.core import Parameter, dtypes
from msnb.core.random import legal_seed
from msnb.ops.definition import as_tensor, operand_lines
from msnb.ops.random.draws import drawn_uniform


def places_of_firsts(x: Any) -> tuple[Any, Any]:
    """Of the elements in a row: (is it the first of its value, the place of its value among the firsts).

    Equal elements lie side by side where they are sorted, the first of them in front: the sort is stable. NaN is one
    value. Both results have the size of x, so nothing waits for the data.
    """
    t = as_tensor(x).reshape((-1,))
    if t.size == 0:
        return ops.zeros((0,), dtypes.bool_), ops.zeros((0,), dtypes.int64)
    steps = ops.arange(t.size)
    ordered, origin = ops.sort(t)
    one, other = ordered[1:], ordered[:-1]
    new = ops.ne(one, other)
    if t.dtype.differentiable:
        new = ops.logical_and(new, ops.logical_or(ops.equal(one, one), ops.equal(other, other)))
    begin = ops.concat((ops.zeros((1,), steps.dtype), ops.where(new, steps[1:], 0)), 0)
    first = ops.gather(origin, ops.cummax(begin, 0)[0], 0).astype(steps.dtype)
    back = ops.tensor_scatter_update(ops.zeros_like(steps), origin.reshape((-1, 1)), first)
    is_first = ops.equal(back, steps)
    return is_first, ops.gather(ops.cumsum(is_first.astype(dtypes.int64), 0) - 1, back, 0)


def unique(x: Any) -> tuple[Any, Any]:
    """(different elements in the order in which they come, the place of every element among them)."""
    t = as_tensor(x)
    is_first, places = places_of_firsts(t)
    places = places.reshape(t.shape)
    values = ops.masked_select(t.reshape((-1,)), is_first)
    return values, places if t.dtype is dtypes.int64 else places.astype("int32")


def unique_consecutive(x: Any, return_inverse: bool, return_counts: bool, dim: int | None) -> tuple[Any, Any, Any]:
    """(elements without repetition, places, counts); what is not asked for is 0."""
    found = ops.unique_consecutive(x, return_inverse, return_counts, dim)
    found = list(found) if isinstance(found, tuple) else [found]
    nothing = ops.zeros((), dtypes.int64)
    for at, asked in ((1, return_inverse), (2, return_counts)):
        if not asked:
            found.insert(at, nothing)
    values, places, counts = found
    return values, places, counts


def median(x: Any, global_median: bool, axis: int, keep_dims: bool, ignore_nan: bool) -> tuple[Any, Any]:
    """(middle element, its place along an axis), or (middle of all elements, 0)."""
    t = as_tensor(x)
    if not global_median:
        found: tuple[Any, Any] = (_middle_number if ignore_nan else ops.median)(t, axis, keep_dims)
        return found[0], found[1]
    values = median(t.reshape(-1), False, 0, False, ignore_nan)[0].reshape((1,) * t.ndim if keep_dims else ())
    return values, ops.zeros(values.shape, dtype=dtypes.int64)


def _middle_number(t: Any, axis: int, keep_dims: bool) -> tuple[Any, Any]:
    """The lower middle of what is no NaN, where there is such; NaN lies last in the order."""
    count = ops.sum(ops.equal(t, t).astype(dtypes.int64), axis, True)
    at = ops.floor_div(ops.maximum(count - 1, 0), 2)
    parts = [ops.gather_elements(part, axis, at) for part in ops.sort(t, axis)]
    return (parts[0], parts[1]) if keep_dims else (parts[0].squeeze(axis), parts[1].squeeze(axis))


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """(y, mean, 1 / standard deviation), the last two [n, groups]."""
    y = ops.group_norm(input, num_groups, weight, bias, eps)
    rows = as_tensor(input).astype("float32").reshape((input.shape[0], num_groups, -1))
    return y, ops.mean(rows, -1).astype(input.dtype), ops.rsqrt(ops.var(rows, -1, 0) + eps).astype(input.dtype)


def multi_margin_loss(x: Any, target: Any, weight: Any = None, *, p: int, margin: float, reduction: str) -> Any:
    """The loss; the weights of classes are the third tensor."""
    return ops.multi_margin_loss(x, target, p, margin, weight, reduction)


def nll_loss(logits: Any, labels: Any, weight: Any, reduction: str, ignore_index: int) -> tuple[Any, Any]:
    """(loss, sum of the weights of the targets that count)."""
    loss = ops.nll_loss(logits, labels, weight, ignore_index, reduction)
    counts = labels != ignore_index
    weights = ops.where(counts, as_tensor(weight)[ops.where(counts, labels, 0)], 0.0)
    return loss.astype(logits.dtype), ops.sum(weights).astype(logits.dtype)


def rms_norm(x: Any, gamma: Any, epsilon: float = 1e-6) -> tuple[Any, Any]:
    """(x with a root mean square of 1, times gamma; 1 / root mean square)."""
    t, scale = as_tensor(x), as_tensor(gamma)
    axes = tuple(range(t.ndim - scale.ndim, t.ndim))
    wide = t.astype("float32") if t.dtype.itemsize < 4 else t
    root = ops.rsqrt(ops.mean(ops.square(wide), axes, True) + epsilon)
    return ops.rms_norm(t, scale, epsilon), ops.stop_gradient(root)


def batch_norm(x: Any, scale: Any, bias: Any, mean: Any, variance: Any, is_training: bool, epsilon: float,
               momentum: float, data_format: str) -> tuple[Any, ...]:  # fmt: skip
    """(y, mean, variance, mean, variance): what was used to normalise. In training ``mean`` and ``variance`` that are
    Parameters follow the batch."""
    t = as_tensor(x)
    if data_format not in ("NCHW", "NHWC"):
        raise AttributeValueError(f"BatchNorm: data_format is 'NCHW' or 'NHWC', not {data_format!r}.")
    axis = t.ndim - 1 if data_format == "NHWC" else 1
    if not is_training:
        y = ops.batch_norm(t, mean, variance, scale, bias, eps=epsilon, axis=axis)
        return y, mean, variance, mean, variance
    y, centre, spread = ops.batch_norm_train(t, scale, bias, epsilon, axis)
    n = t.size / t.shape[axis]
    centre, spread = ops.stop_gradient(centre), ops.stop_gradient(spread)  # MindSpore's hand no gradient on
    for moving, new in ((mean, centre), (variance, spread * (n / max(n - 1.0, 1.0)))):
        if isinstance(moving, Parameter):
            ops.assign(moving, moving * (1.0 - momentum) + new * momentum)
    return y, centre, spread, centre, spread


def dropout(x: Any, keep_prob: float, key: Any = None) -> tuple[Any, Any]:
    """(x / keep_prob where it was kept, else 0; 1 where it was kept, else 0, in the dtype of x)."""
    return _dropped("Dropout", as_tensor(x), keep_prob, as_tensor(x).shape, key)


def channel_dropout(name: str, axes: int) -> Any:
    """Dropout of whole channels: (result, mask of bools)."""

    def drop(x: Any, keep_prob: float) -> tuple[Any, Any]:
        t = as_tensor(x)
        if t.ndim != axes + 2:
            raise ShapeError(f"{name} takes {axes + 2} axes.", operands=operand_lines(t._type))
        y, mask = _dropped(name, t, keep_prob, (*t.shape[:2], *[1] * axes), None)
        return y, ops.broadcast_to(mask != 0, t.shape)

    return drop


def _dropped(name: str, x: Any, keep_prob: float, places: tuple[Any, ...], key: Any) -> tuple[Any, Any]:
    if not 0.0 <= keep_prob <= 1.0:
        raise AttributeValueError(f"{name}: keep_prob must be in [0, 1], got {keep_prob!r}.")
    mask = (drawn_uniform(places, key) < keep_prob).astype(x.dtype)
    scaled = ops.where(mask != 0, x * (1.0 / keep_prob), 0.0) if keep_prob else ops.zeros_like(x)
    return scaled, mask


def attention_score(
    query: Any, key: Any, value: Any, *masks: Any, head_num: int, scale_value: float, **attrs: Any
) -> tuple[Any, ...]:
    """(None, None, None, the attention): largest scores and sums, which only its own gradient reads, are not kept."""
    attrs["scalar_value"] = scale_value
    return None, None, None, ops.flash_attention_score(query, key, value, head_num, *masks, **attrs)


def svd(x: Any, full_matrices: bool, compute_uv: bool) -> tuple[Any, Any, Any]:
    """(s, U, V); without vectors those are zeros of one element."""
    if compute_uv:
        values, left, right = ops.svd(x, full_matrices)
        return values, left, right
    nothing = ops.zeros((1,), x.dtype)
    return ops.svd(x, full_matrices, False), nothing, nothing


def lstsq(x: Any, a: Any, fast: bool, l2_regularizer: float) -> Any:
    """Least squares as MindSpore has them: by its fast way alone, which regularises nothing; of a vector a column."""
    if fast is not True or l2_regularizer:
        raise AttributeValueError("Lstsq takes fast=True and l2_regularizer=0.0, as MindSpore's does.")
    found = ops.lstsq(x, a)
    return found.reshape(-1, 1) if a.ndim == 1 else found


def bias_add(x: Any, bias: Any, data_format: str) -> Any:
    """A vector added along the channels, which ``data_format`` places."""
    if data_format not in ("NCHW", "NHWC", "NCDHW"):
        raise AttributeValueError(f"BiasAdd: data_format is 'NCHW', 'NHWC' or 'NCDHW', not {data_format!r}.")
    return as_tensor(x) + as_tensor(bias) if data_format == "NHWC" else ops.bias_add(x, bias)


def unstack(x: Any, axis: int, num: int | None) -> Any:
    """The slices along an axis; ``num`` says how many they must be."""
    t = as_tensor(x)
    if num is not None and num != t.shape[axis]:
        raise AttributeValueError(f"Unstack: axis {axis} has size {t.shape[axis]}, num says {num}.")
    return ops.unstack(t, axis)


def seed_state(name: str, seed: int, seed2: int = 0) -> Parameter | None:
    """The stream of an operator that has seeds of its own: what it draws depends on them and on its calls alone."""
    given = (seed % 2**64, seed2 % 2**64) if name == "RandomChoiceWithMask" else (seed, seed2)  # any int there
    first, second = (legal_seed(f"ops.{name}: a seed is", value) for value in given)
    if not first and not second:
        return None
    start = (second << 32 ^ first) % 2**64
    return Parameter(np.array([start, 0], np.uint64), f"{name}.state", requires_grad=False)


def float_status(x: Any) -> Any:
    """float32 [1]: 0 where all elements are finite, else 1."""
    return ops.logical_not(ops.all(ops.isfinite(x))).astype("float32").reshape(1)


def inverted_permutation(places: Any) -> Any:
    """The places of 0, 1, 2 ... in a permutation, a tuple of ints. Raises ValueError for another tuple."""
    if sorted(places) != list(range(len(places))):
        last = len(places) - 1
        raise AttributeValueError(f"InvertPermutation takes each number from 0 to {last} once, not {places}.")
    return tuple(places.index(i) for i in range(len(places)))
