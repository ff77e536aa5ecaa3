"""MindSpore's primitives of numbers, matrices, places and draws that its later versions keep for old programs.

    counts and sums      Bincount, HistogramFixedWidth, SegmentMax, Coalesce ...
    matrices             Eig, MatrixSolveLs, TridiagonalMatMul, EuclideanNorm ...
    blocks and bits      SpaceToBatch, CompareAndBitpack, DataFormatVecPermute ...
    draws                Cauchy, LogNormalReverse, ParameterizedTruncatedNormal ...

Source: `mindspore.ops.primitive`
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import ArgumentError, AttributeValueError, DTypeError, ShapeError, events
from msnb.core import Tensor, dtypes
from msnb.ops.definition import as_size, as_sizes, as_tensor, need_float, operand_lines
from msnb.ops.elementwise.cast import limit
from msnb.ops.elementwise.identity_and_effects import require
from msnb.ops.linalg.matrix_functions import need_square
from msnb.ops.random.draws import RANDOM_INTEGERS, drawn_normal, drawn_uniform, random_key
from msnb.ops.sparse.coordinates import coordinates_of, flat_keys
from msnb.ops.sparse.entry_merge import merged
from msnb.ops.sparse.sparse_tensor import is_known
from msnb.ops.special.gamma_functions import betainc

NEEDED: Any = inspect.Parameter.empty


# ---- counts and sums ----


def _bincount(array: Any, size: Any, weights: Any) -> Any:
    """Weights (1 if there are none) added up by number; numbers from ``size`` on count nothing."""
    flat, each = as_tensor(array).reshape((-1,)), as_tensor(weights)
    if each.shape not in ((0,), array.shape):
        raise ShapeError("Bincount: weights have the shape of array, or none are given.",
                         operands=operand_lines(array._type, each._type))  # fmt: skip
    if is_known(flat) and flat.size and flat.min().item() < 0:
        raise AttributeValueError(f"Bincount counts numbers from 0, got {flat.min().item()}.")
    count: Any = as_size("Bincount", as_tensor(size).reshape(()))
    if isinstance(count, int) and count < 1:
        raise AttributeValueError(f"Bincount: size is a number above 0, got {count}.")
    each = ops.ones_like(flat).astype(each.dtype) if each.shape == (0,) else each.reshape((-1,))
    inside = flat < count
    places = ops.where(inside, flat, 0).expand_dims(-1)
    return ops.tensor_scatter_add(ops.zeros((count,), dtype=each.dtype), places, ops.where(inside, each, 0))


def _histogram(x: Any, range: Any, nbins: int, dtype: Any) -> Any:
    low, high = (as_tensor(range)[k].astype(dtypes.float32) for k in (0, 1))
    place = ops.floor((x.astype(dtypes.float32) - low) / (high - low) * nbins)
    place = ops.clip(place, 0.0, nbins - 1.0).astype(dtypes.int32).reshape((-1,))
    return ops.bincount(place, minlength=nbins)[:nbins].astype(dtype)


def _segment(kind: str) -> Callable[..., Any]:
    """Rows of equal numbers, reduced; segments without rows are 0, of a product 1."""

    def reduce(x: Any, segment_ids: Any) -> Any:
        ids = as_tensor(segment_ids)
        if ids.ndim != 1 or not x.ndim or not ids.dtype.is_int:
            raise ShapeError(f"Segment{kind} takes [rows, ...] and a vector of integers.",
                             operands=operand_lines(x._type, ids._type))  # fmt: skip
        count: Any = as_size("num_segments", ids[-1] + 1)
        name = {"Mean": "sum"}.get(kind, kind.lower())
        found = getattr(ops, f"unsorted_segment_{name}")(x, ids, count)
        if kind in ("Sum", "Prod"):
            return found
        many = ops.unsorted_segment_sum(ops.ones_like(ids), ids, count).reshape((-1, *(1,) * (x.ndim - 1)))
        if kind != "Mean":
            return ops.where(many == 0, 0, found).astype(x.dtype)
        by = ops.maximum(many, 1).astype(x.dtype)
        return found / by if x.dtype.differentiable else ops.trunc(found / by).astype(x.dtype)

    return reduce


def _confusions(labels: Any, predictions: Any, weights: Any = None, *, num_classes: int, dtype: Any) -> Any:
    """[label, prediction]: how often each pair comes, or the sum of its weights."""
    places = labels.astype(dtypes.int64) * num_classes + predictions.astype(dtypes.int64)
    each = ops.ones_like(labels).astype(dtype) if weights is None else weights.astype(dtype)
    found = ops.tensor_scatter_add(ops.zeros((num_classes**2,), dtype=dtype), places.expand_dims(-1), each)
    return found.reshape((num_classes, num_classes))


def _coalesced(x_indices: Any, x_values: Any, x_shape: Any) -> tuple[Any, Any, Any]:
    """Values of equal places added up; indices [axes, entries]."""
    sizes = as_sizes("Coalesce", (as_tensor(x_shape),))
    if x_indices.ndim != 2 or x_values.ndim != 1 or x_indices.shape != (len(sizes), x_values.shape[0]):
        raise ShapeError("Coalesce takes indices [axes, n], values [n] and shape [axes].",
                         operands=operand_lines(x_indices._type, x_values._type))  # fmt: skip
    ends = Tensor(list(sizes)).reshape((-1, 1))
    if is_known(x_indices) and not ops.logical_and(x_indices >= 0, x_indices < ends).all().item():
        raise AttributeValueError(f"Coalesce: an index lies outside of the shape {sizes}.")
    keys, values = merged(flat_keys(x_indices.T, sizes), x_values, math.prod(sizes))  # type: ignore[arg-type]
    return coordinates_of(keys, sizes).T, values, as_tensor(x_shape)


def _cumulative(x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    """Running logarithms of sums of exponentials; where there is none yet, the least number."""
    need_float("CumulativeLogsumexp", x._type)
    at = int(axis.item()) if isinstance(axis, Tensor) else axis
    found = ops.flip(x, (at,)) if reverse else x
    found = ops.logcumsumexp(found, at)
    if exclusive:
        n = x.shape[at]
        first = ops.full_like(ops.narrow(found, at, 0, 1), limit(x.dtype, False))
        found = ops.concat((first, ops.narrow(found, at, 0, n - 1)), at)
    return ops.flip(found, (at,)) if reverse else found


def _accumulated(xs: Any) -> Any:
    return ops.addn(list(xs))


def _ranges(starts: Any, limits: Any, deltas: Any, Tsplits: Any) -> tuple[Any, Any]:
    """(where each range begins and the last ends, the numbers of all ranges)."""
    a, b, d = (as_tensor(v).reshape((-1,)) for v in (starts, limits, deltas))
    if not a.shape == b.shape == d.shape:
        raise ShapeError("RaggedRange: starts, limits and deltas have one shape.",
                         operands=operand_lines(a._type, b._type, d._type))  # fmt: skip
    if is_known(d) and (d == 0).any().item():
        raise AttributeValueError("RaggedRange: no delta is 0.")
    steps = -((a - b) // d) if a.dtype.is_int else ops.ceil((b - a) / d)
    counts = ops.maximum(steps, 0).astype(dtypes.int64)
    splits = ops.concat((ops.zeros((1,), dtype=dtypes.int64), ops.cumsum(counts, 0)))
    (total,) = as_sizes("RaggedRange", (splits[-1],))
    places = ops.arange(total)
    which = ops.searchsorted(splits[1:], places, right=True)
    nth = (places - ops.gather(splits, which, 0)).astype(a.dtype)
    return splits.astype(Tsplits), ops.gather(a, which, 0) + nth * ops.gather(d, which, 0)


# ---- matrices ----


def _eigh(x: Any, compute_eigenvectors: bool, lower: bool) -> Any:
    """Eigenvalues, and eigenvectors, of the Hermitian matrix whose lower or upper half is given."""
    for name, value in {"compute_eigenvectors": compute_eigenvectors, "lower": lower}.items():
        if not isinstance(value, bool):
            raise ArgumentError(f"Eigh: {name} must be a bool, got {value!r}.")
    need_square("Eigh", x._type)
    half, rest = (ops.tril(x), ops.tril(x, -1)) if lower else (ops.triu(x), ops.triu(x, 1))
    rest = ops.swapaxes(rest, -1, -2)
    found = ops.eigh(half + (ops.conj(rest) if x.dtype.is_complex else rest))
    return found if compute_eigenvectors else found[0]


def _eig(x: Any, compute_v: bool) -> tuple[Any, Any]:
    values, vectors = ops.eig(x)
    return values, vectors if compute_v else ops.zeros((), dtype=values.dtype)


def _euclidean(x: Any, axes: Any, keep_dims: bool) -> Any:
    along = as_sizes("EuclideanNorm", (as_tensor(axes).reshape((-1,)),))
    size = ops.abs(x)
    size = size if size.dtype.differentiable else size.astype(dtypes.float64)
    return ops.sqrt(ops.sum(size * size, along, keep_dims) if along else size * size).astype(x.dtype)


def _nuclear(x: Any, dim: Any, keepdim: bool) -> Any:
    if dim is None and x.ndim != 2:
        raise ShapeError("NuclearNorm takes a matrix, or the two axes in dim.", operands=operand_lines(x._type))
    return ops.matrix_norm(x, "nuc", (0, 1) if dim is None else tuple(dim), keepdim)


def _least_squares(matrix: Any, rhs: Any, l2_regularizer: Any, fast: bool) -> Any:
    """The x with the least |A x - b|^2 + l2 |x|^2; without ``fast`` by singular values, and without l2."""
    if not fast:
        return ops.matmul(ops.pinv(matrix), rhs)
    turned = ops.conj(matrix).swapaxes(-1, -2)
    tall = matrix.shape[-2] >= matrix.shape[-1]
    product = ops.matmul(turned, matrix) if tall else ops.matmul(matrix, turned)
    n = product.shape[-1]
    product = product + ops.eye(n, n, product.dtype) * as_tensor(l2_regularizer).astype(product.dtype)
    return ops.solve(product, ops.matmul(turned, rhs)) if tall else ops.matmul(turned, ops.solve(product, rhs))


def _tridiagonal(superdiag: Any, maindiag: Any, subdiag: Any, rhs: Any) -> Any:
    upper, middle, lower = (d.swapaxes(-1, -2) for d in (superdiag, maindiag, subdiag))
    nothing = ops.zeros_like(rhs[..., :1, :])
    after = ops.concat((rhs[..., 1:, :], nothing), -2)
    return upper * after + middle * rhs + lower * ops.concat((nothing, rhs[..., :-1, :]), -2)


def _margins(x: Any, target: Any, reduction: str) -> tuple[Any, Any]:
    """(how far every class that is meant stays ahead of one that is not, short of 1; which are meant)."""
    if x.ndim not in (1, 2) or x.shape != target.shape:
        raise ShapeError("MultilabelMarginLoss takes x and target [n, classes] or [classes].",
                         operands=operand_lines(x._type, target._type))  # fmt: skip
    rows, named = (t.reshape((-1, t.shape[-1])) for t in (x, target))
    classes = rows.shape[1]
    counts = ops.cumsum((named < 0).astype(dtypes.int32), 1) == 0  # up to the first -1
    at = ops.where(counts, named, 0).astype(dtypes.int64)
    meant = ops.tensor_scatter_elements(ops.zeros_like(named), at, counts.astype(named.dtype), 1, "add") > 0
    ahead = ops.gather_elements(rows, 1, at).expand_dims(2) - rows.expand_dims(1)
    pairs = ops.logical_and(counts.expand_dims(2), ops.logical_not(meant).expand_dims(1))
    loss = ops.sum(ops.where(pairs, ops.relu(1 - ahead), 0), (1, 2)) / classes
    if reduction not in ("mean", "sum", "none"):
        raise AttributeValueError(f"MultilabelMarginLoss: reduction is 'mean', 'sum' or 'none', not {reduction!r}.")
    loss = loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss.reshape(x.shape[:-1])
    return loss, meant.astype(dtypes.int32).reshape(x.shape)


# ---- places, blocks and bits ----


def _index_put(x1: Any, x2: Any, indices: Any, accumulate: int) -> Any:
    if accumulate not in (0, 1):
        raise AttributeValueError(f"IndexPut: accumulate is 0 or 1, not {accumulate!r}.")
    if not isinstance(indices, (tuple, list)) or len(indices) > x1.ndim:
        raise ShapeError("IndexPut: indices are a tuple of at most as many vectors as x1 has axes.")
    rows = max(i.shape[0] for i in indices)
    wanted = rows if len(indices) == x1.ndim else x1.shape[-1]
    if x2.ndim != 1 or x2.shape[0] not in (1, wanted):
        raise ShapeError(f"IndexPut: x2 is a vector of 1 or {wanted} values.", operands=operand_lines(x2._type))
    for axis, at in enumerate(indices):
        if is_known(at) and not ops.logical_and(at >= -x1.shape[axis], at < x1.shape[axis]).all().item():
            raise AttributeValueError(f"IndexPut: an index of axis {axis} lies outside of its {x1.shape[axis]} places.")
    spread = [ops.broadcast_to(i, (rows,)) for i in indices]
    return x1.index_put(tuple(spread), x2.astype(x1.dtype), bool(accumulate))


def _packed(x: Any, threshold: Any) -> Any:
    """Eight comparisons in a row as the bits of a byte; booleans are bits as they are, and the first is the lowest."""
    if x.ndim == 0 or x.shape[-1] % 8:
        raise ShapeError("CompareAndBitpack: the last axis is a multiple of 8.", operands=operand_lines(x._type))
    over = x if x.dtype is dtypes.bool_ else x > as_tensor(threshold).astype(x.dtype)
    bits = over.reshape((*x.shape[:-1], x.shape[-1] // 8, 8))
    worth = [1 << (k if x.dtype is dtypes.bool_ else 7 - k) for k in range(8)]
    return ops.sum(bits.astype(dtypes.int32) * Tensor(worth), -1).astype(dtypes.uint8)


def _keep_bits(shape: Any, keep_prob: Any, key: Any = None) -> Any:
    """A bit per element, set with ``keep_prob``; a multiple of 128 of them, eight in a byte."""
    count = math.prod(as_sizes("DropoutGenMask", (shape,)))  # type: ignore[arg-type]
    kept = drawn_uniform((-(-count // 128) * 16, 8), key) < keep_prob
    return ops.sum(kept.astype(dtypes.int32) * Tensor([1 << k for k in range(8)]), -1).astype(dtypes.uint8)


def _drop_by_bits(x: Any, mask: Any, keep_prob: Any) -> Any:
    bits = mask.astype(dtypes.int32).expand_dims(-1) // Tensor([1 << k for k in range(8)]) % 2
    kept = bits.reshape((-1,))[: x.size].reshape(x.shape)
    return ops.where(kept > 0, x / as_tensor(keep_prob).astype(x.dtype), 0).astype(x.dtype)


def _accidental_hits(true_classes: Any, sampled_candidates: Any, num_true: int) -> tuple[Any, Any, Any]:
    """(row of the true class, place of the sample, the least number) for every sample that is a true class."""
    if true_classes.ndim != 2 or true_classes.shape[1] != num_true:
        raise ShapeError(f"ComputeAccidentalHits takes true_classes [n, {num_true}].",
                         operands=operand_lines(true_classes._type))  # fmt: skip
    places = ops.nonzero(ops.equal(true_classes.expand_dims(-1), sampled_candidates))
    rows, ids = places[:, 0].astype(dtypes.int32), places[:, 2].astype(dtypes.int64)
    return rows, ids, ops.full_like(rows, limit(dtypes.float32, False), dtype=dtypes.float32)


def _permuted_format(x: Any, src_format: str, dst_format: str) -> Any:
    if x.ndim not in (1, 2) or x.shape[0] != 4:
        raise ShapeError("DataFormatVecPermute takes [4] or [4, 2].", operands=operand_lines(x._type))
    return ops.gather(x, Tensor([src_format.index(letter) for letter in dst_format]), 0)


def _within(x: Any, max_num: Any, offset: Any) -> tuple[Any, Any]:
    moved = x - offset
    kept = ops.logical_and(moved >= 0, moved < max_num)
    return ops.masked_select(moved, kept), ops.masked_select(ops.arange(x.shape[0]).astype(x.dtype), kept)


def _split_sizes(x: Any, size_splits: Any, split_dim: int, num_split: int) -> tuple[Any, ...]:
    n, sizes = x.shape[split_dim], list(size_splits)
    if sizes.count(-1) == 1:
        sizes[sizes.index(-1)] = n - sum(sizes) - 1
    if len(sizes) != num_split or min(sizes) < 0 or sum(sizes) != n:
        raise AttributeValueError(f"SplitV: {num_split} sizes that add up to {n} are needed, got {tuple(size_splits)}.")
    return tuple(ops.split(x, sizes, split_dim))


def _depthwise(
    x: Any, w: Any, channel_multiplier: int, kernel_size: Any, mode: int, pad_mode: str, pad: Any, stride: Any,
    dilation: Any, group: int,
) -> Any:  # fmt: skip
    """Each channel convolved by itself, with weights [channel_multiplier, channels, rows, columns]."""
    channels, sides = x.shape[1], (kernel_size,) * 2 if isinstance(kernel_size, int) else tuple(kernel_size)
    if w.shape != (channel_multiplier, channels, *sides) or mode != 3 or group != 1:
        raise ShapeError(f"DepthwiseConv2dNative takes weights {[channel_multiplier, channels, *sides]}, mode 3 and "
                         "group 1.", operands=operand_lines(x._type, w._type))  # fmt: skip
    one = w.swapaxes(0, 1).reshape((-1, 1, *sides))
    return ops.conv2d(x, one, None, stride, pad_mode, pad, dilation, channels)


def _moved(input: Any, to: str = "CPU", blocking: bool = True) -> Any:
    """The values on another device; a program runs on one device, and says so once."""
    t = as_tensor(list(input) if isinstance(input, (tuple, list)) else input)
    if to not in ("CPU", "Ascend"):
        raise AttributeValueError(f"MoveTo: to is 'CPU' or 'Ascend', not {to!r}.")
    if is_known(t) or t.device == to:
        return t.move_to(to, blocking)
    events.ignored("MoveTo(to=)", "the tensors of a program lie on its device")
    return t


def _asserted(condition: Any, input_data: Any, summarize: int) -> None:
    if type(summarize) is not int:
        raise ArgumentError(f"Assert: summarize is an int, got {summarize!r}.")
    if not isinstance(input_data, (tuple, list)):
        raise ArgumentError(f"Assert: input_data is a tuple or list of tensors, got {type(input_data).__name__}.")
    require(condition, "Assert: the condition does not hold.", input_data, summarize)


def _finite(x: Any) -> Any:
    need_float("CheckNumerics", x._type)
    require(ops.isfinite(x).all(), "CheckNumerics: there is NaN or infinity among the elements.", (), 3)
    return x


def _epsilon(x: Any) -> Any:
    need_float("Eps", x._type)
    return ops.full_like(x, float(np.finfo(x.dtype.numpy).eps))


# ---- draws ----


def _cauchy(size: Any, median: float, sigma: float) -> Any:
    if not isinstance(size, (tuple, list)) or not size or not all(type(s) is int and s > 0 for s in size):
        raise AttributeValueError(f"Cauchy: size is a list of numbers above 0, got {size!r}.")
    return median + sigma * ops.tan(math.pi * (drawn_uniform(tuple(size)) - 0.5))


def _log_normal(x: Any, mean: float, std: float) -> Any:
    need_float("LogNormalReverse", x._type)
    return ops.exp(drawn_normal(x.shape) * std + mean).astype(x.dtype)


def _any_ints(shape: Any, dtype: Any) -> Any:
    kind = dtypes.as_dtype(dtype)
    if kind not in (dtypes.int32, dtypes.int64):
        raise DTypeError(f"NonDeterministicInts: dtype is int32 or int64, not {kind}.")
    ends = np.iinfo(kind.numpy)
    low, high = int(ends.min), int(ends.max)
    return RANDOM_INTEGERS(random_key(), low=low, high=high, shape=as_sizes("shape", (shape,)), dtype=kind)


def _sampled(x: Any, seed: Any, offset: Any, numsamples: int, replacement: bool) -> Any:
    """Places drawn in proportion to the weights of each row; seed and offset of 0 draw from the stream of all draws."""
    if x.ndim not in (1, 2) or (not replacement and numsamples > x.shape[-1]):
        raise ShapeError("MultinomialWithReplacement takes weights [n] or [rows, n], and without replacement at most n "
                         f"places can be drawn, not {numsamples}.", operands=operand_lines(x._type))  # fmt: skip
    if is_known(x) and not (x.sum(-1) > 0).all().item():
        raise AttributeValueError("MultinomialWithReplacement: the weights of each row have a sum above 0.")
    own = ops.stack([as_tensor(v).reshape(()).astype(dtypes.uint64) for v in (seed, offset)])
    key = ops.where((own == 0).all(), random_key(), own)
    rows = x.reshape((-1, x.shape[-1]))
    shape = (rows.shape[0], numsamples, rows.shape[1]) if replacement else (rows.shape[0], 1, rows.shape[1])
    chance = rows.astype(dtypes.float32).expand_dims(1)
    noise = -ops.log(-ops.log(ops.maximum(drawn_uniform(shape, key), 1e-30)))
    score = ops.where(chance > 0, ops.log(ops.where(chance > 0, chance, 1)) + noise, float("-inf"))
    found = ops.argmax(score, -1) if replacement else ops.topk(score[:, 0], numsamples)[1]
    return found.astype(dtypes.int64).reshape((*x.shape[:-1], numsamples))


def _truncated(shape: Any, mean: Any, stdevs: Any, min: Any, max: Any, key: Any = None) -> Any:
    """Normal numbers between ``min`` and ``max``, row by row: the inverse of the distribution at even numbers."""
    sizes = as_sizes("ParameterizedTruncatedNormal", (shape,))
    column = (-1, *(1,) * (len(sizes) - 1))
    middle, width, low, high = (as_tensor(v).astype(dtypes.float64).reshape(column) for v in (mean, stdevs, min, max))
    begin, end = (ops.erf((v - middle) / width / math.sqrt(2.0)) for v in (low, high))
    share = begin + drawn_uniform(sizes, key).astype(dtypes.float64) * (end - begin)
    found = middle + width * ops.erfinv(share) * math.sqrt(2.0)
    return ops.maximum(ops.minimum(found, high), low).astype(as_tensor(mean).dtype)


def _permutation(n: Any, seed: Any, offset: Any, dtype: Any) -> Any:
    count = n.item() if isinstance(n, Tensor) else n
    key = Tensor(np.array([seed, offset], np.uint64)) if seed or offset else None
    return ops.argsort(drawn_uniform((count,), key)).astype(dtype)


def _padded_permutation(n: Any, max_length: int, pad: int, dtype: Any) -> Any:
    inside = ops.arange(max_length) < n
    order = ops.argsort(ops.where(inside, drawn_uniform((max_length,), None), 2.0))
    return ops.where(inside, order, pad).astype(dtype)


NUMBERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    **{f"Segment{kind}": (_segment(kind), {}) for kind in ("Max", "Mean", "Min", "Prod", "Sum")},
    "AccumulateNV2": (_accumulated, {}), "Assert": (_asserted, {"summarize": 3}),
    "BatchToSpace": (lambda x, block_size, crops: ops.batch_to_space_nd(x, [block_size] * 2, crops),
                     {"block_size": NEEDED, "crops": NEEDED}),
    "BatchToSpaceNDV2": (lambda x, block_shape, crops: ops.batch_to_space_nd(
        x, list(as_sizes("block_shape", (block_shape,))), crops), {}),
    "Betainc": (betainc, {}), "Bincount": (_bincount, {}),
    "Cauchy": (_cauchy, {"size": NEEDED, "median": 0.0, "sigma": 1.0}), "CheckNumerics": (_finite, {}),
    "Coalesce": (_coalesced, {}), "CompareAndBitpack": (_packed, {}),
    "ComputeAccidentalHits": (_accidental_hits, {"num_true": 1}),
    "ConfusionMatrix": (_confusions, {"num_classes": NEEDED, "dtype": "int32"}),
    "CumulativeLogsumexp": (_cumulative, {"exclusive": False, "reverse": False}),
    "DataFormatVecPermute": (_permuted_format, {"src_format": "NHWC", "dst_format": "NCHW"}),
    "DepthwiseConv2dNative": (_depthwise, {
        "channel_multiplier": NEEDED, "kernel_size": NEEDED, "mode": 3, "pad_mode": "valid", "pad": 0, "stride": 1,
        "dilation": 1, "group": 1}),
    "DropoutDoMask": (_drop_by_bits, {}), "DynamicShape": (lambda x, dtype: Tensor(x.shape), {"dtype": None}),
    "Eigh": (_eigh, {"compute_eigenvectors": True, "lower": True}), "Eig": (_eig, {"compute_v": False}),
    "Eps": (_epsilon, {}), "EuclideanNorm": (_euclidean, {"keep_dims": False}),
    "Fills": (lambda x, value: ops.full_like(x, value.item() if isinstance(value, Tensor) else value), {}),
    "HistogramFixedWidth": (_histogram, {"nbins": NEEDED, "dtype": "int32"}),
    "IndexPut": (_index_put, {"accumulate": 0}),
    "LerpScalar": (lambda input, end, weight: ops.lerp(input, end, weight), {}),
    "LogNormalReverse": (_log_normal, {"mean": 1.0, "std": 2.0}),
    "LogSoftmaxExt": (lambda input, dim=None, dtype=None: ops.log_softmax(
        input if dtype is None else input.astype(dtype), int(input.ndim not in (0, 1, 3)) if dim is None else dim), {}),
    "MapUniform": (lambda x, per_group_size, group_num: x % group_num * per_group_size + x // group_num, {}),
    "MatrixLogarithm": (lambda x: ops.matrix_log(x), {}), "MatrixSolveLs": (_least_squares, {"fast": True}),
    "MoveTo": (_moved, {}), "MultilabelMarginLoss": (_margins, {"reduction": "mean"}),
    "MultinomialWithReplacement": (_sampled, {"numsamples": NEEDED, "replacement": False}),
    "NonDeterministicInts": (_any_ints, {"dtype": dtypes.int64}),
    "NuclearNorm": (_nuclear, {"dim": None, "keepdim": False}), "RaggedRange": (_ranges, {"Tsplits": NEEDED}),
    "Randperm": (_padded_permutation, {"max_length": 1, "pad": -1, "dtype": dtypes.int32}),
    "RandpermV2": (_permutation, {"seed": 0, "offset": 0, "dtype": dtypes.int64}),
    "SpaceToBatch": (lambda x, block_size, paddings: ops.space_to_batch_nd(x, [block_size] * 2, paddings),
                     {"block_size": NEEDED, "paddings": NEEDED}),
    "SparseGatherV2": (lambda x, indices, axis: ops.gather(
        x, indices, axis.item() if isinstance(axis, Tensor) else axis), {}),
    "SplitV": (_split_sizes, dict.fromkeys(("size_splits", "split_dim", "num_split"), NEEDED)),
    "SubAndFilter": (_within, {}), "TridiagonalMatMul": (_tridiagonal, {}),
}  # fmt: skip
"""Name -> (function of tensors and attributes, attributes with defaults)."""
DRAWN_NUMBERS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "DropoutGenMask": (_keep_bits, {"Seed0": 0, "Seed1": 0}),
    "ParameterizedTruncatedNormal": (_truncated, {"seed": 0, "seed2": 0}),
}
"""Those that draw by seeds of their own: they take ``key`` too."""
