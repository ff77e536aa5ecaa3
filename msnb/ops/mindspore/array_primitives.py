"""MindSpore's primitives that are short compositions of msnb's operators; part of the table of primitive classes."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from msnb import ops
from msnb.base import AttributeValueError, ShapeError
from msnb.core import Tensor, dtypes
from msnb.ops.definition.operand_checks import as_ints, as_sizes
from msnb.ops.mindspore.primitive_results import places_of_firsts

NEEDED: Any = inspect.Parameter.empty


def _embedding_lookup(params: Any, ids: Any, offset: int = 0) -> Any:
    """Rows of a table that begins at row ``offset`` of a larger one; rows of other parts are 0."""
    at = ids - offset
    inside = ops.logical_and(at >= 0, at < params.shape[0])
    rows = ops.gather(params, ops.where(inside, at, 0), 0)
    return ops.where(inside.reshape((*inside.shape, *(1,) * (params.ndim - 1))), rows, ops.zeros_like(rows))


def _copied(x: Any, value: Any, begin: Any, end: Any, strides: Any) -> Any:
    found = x.copy()
    found[tuple([slice(a, b, s) for a, b, s in zip(begin, end, strides)])] = value
    return found


def _filled_diagonal(x: Any, fill_value: Any, wrap: bool) -> Any:
    """The main diagonal of a matrix, or of a cube of equal sizes, filled; ``wrap``: begun again below a tall matrix."""
    if x.ndim < 2 or (x.ndim > 2 and len(set(x.shape)) > 1):
        raise ShapeError(f"FillDiagonal takes a matrix, or a tensor of equal sizes, not one of shape {list(x.shape)}.")
    flat = ops.arange(math.prod(x.shape))
    step = sum(math.prod(x.shape[i + 1 :]) for i in range(x.ndim))
    on = flat % step == 0
    if x.ndim == 2 and not wrap:
        on = ops.logical_and(on, flat < x.shape[1] * x.shape[1])
    return ops.where(on.reshape(x.shape), fill_value, x).astype(x.dtype)


def _padded_to(x: Any, pad_dim_size: int) -> Any:
    if x.ndim < 2 or x.shape[-1] != 1:
        raise ShapeError(f"Padding takes a tensor whose last axis has size 1, not one of shape {list(x.shape)}.")
    if pad_dim_size < 1:
        raise AttributeValueError(f"Padding: pad_dim_size is a number above 0, got {pad_dim_size!r}.")
    return ops.pad(x, (0, pad_dim_size - 1))


def _axis_map(x: Any, src_format: str, dst_format: str) -> Any:
    table = Tensor([src_format.index(letter) for letter in dst_format], x.dtype)
    return ops.gather(table, ops.where(x < 0, x + 4, x), 0)


def _bordered(x: Any, paddings: Any, constant_values: Any = None, *, mode: str, paddings_contiguous: bool) -> Any:
    """``PadV3``: widths from the last axis on, the two of an axis side by side or all the first ones in front."""
    widths = [*as_ints("PadV3", (paddings,))]
    if not paddings_contiguous:
        half = len(widths) // 2
        widths = [side for pair in zip(widths[:half], widths[half:]) for side in pair]
    if mode != "constant":
        return ops.pad(x, widths, mode)
    value = constant_values.item() if isinstance(constant_values, Tensor) else constant_values
    return ops.pad(x, widths, value=value)


def _left_over(x: Any, y: Any, out_idx: Any) -> tuple[Any, Any]:
    """(elements of x that y has not, their places)."""
    kept = ops.logical_not(ops.any(ops.equal(x.expand_dims(1), y), 1))
    return ops.masked_select(x, kept), ops.masked_select(ops.arange(x.shape[0]), kept).astype(out_idx)


def _unravelled(indices: Any, dims: Any) -> Any:
    """[axes, places]: the coordinates of flat places."""
    rest, found = indices, []
    for size in reversed(as_sizes("UnravelIndex", (dims,))):
        found.append(ops.floor_mod(rest, size))
        rest = ops.floor_div(rest, size)
    return ops.stack(found[::-1], 0)


def _columns(x: Any, ksizes: Any, strides: Any, dilations: Any, pads: Any) -> Any:
    """[N, C, elements of a window, windows]."""
    found = ops.unfold(x, ksizes, dilations, pads, strides)
    return found.reshape((*x.shape[:2], -1, found.shape[-1]))


def _from_columns(x: Any, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    size = as_ints("Col2Im", (output_size,))
    return ops.fold(x.reshape((x.shape[0], -1, x.shape[-1])), size, kernel_size, dilation, padding, stride)


def _diagonal_part(x: Any) -> Any:
    """[a, b] of [a, b, a, b]: x[i, j, i, j]."""
    half = x.shape[: x.ndim // 2]
    return ops.diagonal(x.reshape((math.prod(half), -1))).reshape(half)


def _with_diagonals(name: str) -> Callable[..., Any]:
    return lambda *inputs, align: getattr(ops, name)(*inputs, align=align)


def _divided_or_zero(x: Any, y: Any) -> Any:
    """x / y, and 0 where y is 0."""
    zero = ops.equal(y, 0)
    return ops.where(zero, 0, x / (ops.where(zero, 1, y) if isinstance(y, Tensor) else y or 1))


def _weighted_logits(logits: Any, label: Any, weight: Any = None, pos_weight: Any = None, *, reduction: str) -> Any:
    return ops.binary_cross_entropy_with_logits(logits, label, weight, pos_weight, reduction)


def _index_added(x: Any, index: Any, y: Any, axis: int, use_locking: bool, check_index_bound: bool) -> Any:
    return ops.inplace_index_add(x, index, y, axis)


def _clipped(x: Any, clip_norm: Any, axis: Any) -> Any:
    """x in float32, made shorter where it is longer than ``clip_norm``."""
    wide = x.astype(dtypes.float32)
    length = ops.vector_norm(wide, 2, None if axis is None or axis == () else axis, True)
    return wide * clip_norm / ops.maximum(length, clip_norm)


def _nth_element(x: Any, n: Any, reverse: bool) -> Any:
    """The n-th number in order along the last axis; equal ones share its gradient."""
    found = ops.sort(x, -1, reverse)[0][..., n]
    if not x.dtype.is_float:
        return found
    at = found.expand_dims(-1)
    return ops.amax(ops.where(ops.equal(x, at) | ops.isnan(at), x, -math.inf), -1)


def _layer_norm_grad(
    x: Any, dy: Any, variance: Any, mean: Any, gamma: Any, begin_norm_axis: int, begin_params_axis: int, epsilon: float
) -> tuple[Any, Any, Any]:
    """Gradients of layer normalization by x, gamma and beta."""
    axes = tuple(range(begin_norm_axis % x.ndim, x.ndim))
    lead = begin_params_axis % x.ndim
    scale = 1.0 / ops.sqrt(variance + epsilon)
    normal = (x - mean) * scale
    weighted = dy * gamma.reshape((1,) * lead + x.shape[lead:])
    off = normal - ops.mean(normal, axes, True)  # mean and variance need not be those of x
    share = ops.mean(weighted, axes, True) + off * ops.mean(weighted * normal, axes, True)
    rows = tuple(range(lead))
    dg, db = (ops.sum(g, rows) if rows else g for g in (dy * normal, dy))
    by_x = ((weighted - share) * scale).astype(x.dtype)  # mean and variance of halves are float32
    return by_x, dg.reshape(gamma.shape).astype(gamma.dtype), db.reshape(gamma.shape)


def _kl_div_grad(dy: Any, x: Any, target: Any, reduction: str) -> Any:
    """The gradient of ``KLDivLoss`` by x."""
    counts = {"none": 1, "sum": 1, "mean": x.size, "batchmean": x.shape[0] if x.ndim else 1}
    if reduction not in counts:
        raise AttributeValueError(f"KLDivLossGrad: reduction is one of {', '.join(counts)}, not {reduction!r}.")
    return (-target * (dy if reduction == "none" else dy.reshape(()) / counts[reduction])).astype(x.dtype)


def _fft_with_size(
    x: Any, signal_ndim: int, inverse: bool, real: bool, norm: str, onesided: bool, signal_sizes: Any
) -> Any:
    """Fourier transforms of the last ``signal_ndim`` axes: of complex numbers, or from or to real ones."""
    axes = tuple(range(-signal_ndim, 0))
    if real and onesided:
        return ops.irfftn(x, signal_sizes or None, axes, norm) if inverse else ops.rfftn(x, None, axes, norm)
    if real and inverse:
        return ops.real(ops.ifftn(x, None, axes, norm))
    return (ops.ifftn if inverse else ops.fftn)(x, None, axes, norm)


def _greedy_decoder(inputs: Any, sequence_length: Any, merge_repeated: bool) -> tuple[Any, Any, Any, Any]:
    """The likeliest class of each step, without blanks (the last class) and, if asked for, repetitions."""
    steps, _, classes = inputs.shape
    best, score = ops.argmax(inputs, -1), ops.amax(inputs, -1)
    within = ops.arange(steps).reshape((-1, 1)) < sequence_length.reshape((1, -1))
    kept = ops.logical_and(within, best != classes - 1)
    if merge_repeated and steps > 1:
        again = ops.concat((ops.zeros_like(kept[:1]), ops.equal(best[1:], best[:-1])), 0)
        kept = ops.logical_and(kept, ops.logical_not(again))
    rows, batch = kept.astype(dtypes.int64).T, kept.shape[1]
    places = ops.cumsum(rows, 1) - 1
    mask = rows > 0
    line = ops.broadcast_to(ops.arange(batch).reshape((-1, 1)), mask.shape)
    pairs = ops.stack((ops.masked_select(line, mask), ops.masked_select(places, mask)), 1)
    values = ops.masked_select(best.T, mask).astype(dtypes.int64)
    longest = ops.amax(ops.sum(rows, 1)).reshape((1,))
    shape = ops.concat((Tensor([batch], dtypes.int64), longest.astype(dtypes.int64)), 0)
    return pairs, values, shape, -ops.sum(ops.where(within, score, 0.0), 0).reshape((-1, 1))


def _padded_unique(x: Any, pad_num: Any) -> tuple[Any, Any]:
    """(different elements as they come, filled up to the size of x; the place of each element among them)."""
    _, places = places_of_firsts(x)
    values = ops.tensor_scatter_update(ops.zeros_like(x) + pad_num, places.reshape((-1, 1)), x)
    return values, places.astype(dtypes.int64 if x.dtype is dtypes.int64 else dtypes.int32)


def _indices(name: str) -> Callable[..., Any]:
    """Rows and columns of the lower or upper triangle."""
    triangle = {"TrilIndices": "tril_indices", "TriuIndices": "triu_indices"}[name]

    def indices(*, row: int, col: int, offset: int, dtype: Any) -> Any:
        return getattr(ops, triangle)(row, col, offset).astype(dtype)

    return indices


def _short_time_fourier(x: Any, window: Any, **attrs: Any) -> Any:
    """Spectra of frames, the first at the beginning; real and imaginary parts unless complex numbers are asked for."""
    return ops.stft(x, window=window, center=False, **attrs)


def _filled(shape: Any, value: Any) -> Any:
    sizes = as_sizes("Fill", (shape,))
    return ops.full(sizes, value, dtype=value.dtype) if isinstance(value, Tensor) else ops.full(sizes, value)


_SEQUENCES: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "ListAppend": (lambda values, x: [*values, x], {}),
    "ListInsert": (lambda values, i, x: [*values[:i], x, *values[i:]], {}),
    "SequenceAdd": (lambda a, b: a + b, {}),
    "SequenceMul": (lambda values, n: values * n, {}),
    "SequenceCount": (lambda values, x: values.count(x), {}),
    "SequenceIndex": (lambda values, x, *ends: values.index(x, *ends), {}),
    "SequenceMax": (lambda values: max(values), {}),
    "SequenceMin": (lambda values: min(values), {}),
    "SequenceAddN": (lambda values: ops.addn(values), {}),
    "SequenceConcat": (lambda values, axis: ops.concat(values, axis), {"axis": 0}),
    "SequenceStack": (lambda values, axis: ops.stack(values, axis), {"axis": 0}),
    "SequenceUnstack": (lambda x, axis, num: ops.unstack(x, axis), {"axis": 0, "num": None}),
    "SequenceSlice": (lambda values, begin, end, step: values[begin:end:step], {}),
    "TensorToTuple": (lambda x: tuple(x.tolist()), {}),
    "TensorToList": (lambda x: x.tolist(), {}),
    "TensorToScalar": (lambda x: x.item(), {}),
}
"""Functions of Python's lists and tuples; MindSpore's give a new list and leave the old one as it is."""

def squeeze(x: Any, axis: Any = None) -> Any:
    """Without axes of size 1, or those of ``axis`` that are of size 1: axes of another size stay."""
    if axis is None or axis == ():
        return ops.squeeze(x)
    axes = [a for a in ((axis,) if isinstance(axis, int) else axis) if x.ndim or a not in (0, -1)]
    return ops.squeeze(x, tuple(a for a in axes if not -x.ndim <= a < x.ndim or x.shape[a] == 1))


_IN_PLACE: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    **dict.fromkeys(("InplaceAddExt", "InplaceAddsExt"), (lambda x, y, alpha=1: x.add_(y, alpha=alpha), {})),
    **dict.fromkeys(("InplaceSubExt", "InplaceSubScalar"), (lambda x, y, alpha=1: x.sub_(y, alpha=alpha), {})),
    **dict.fromkeys(("InplaceMul", "InplaceMuls"), (lambda x, y: x.mul_(y), {})),
    **dict.fromkeys(("InplaceDiv", "InplaceDivs"), (lambda x, y: x.div_(y), {})),
    **dict.fromkeys(("InplaceFillScalar", "InplaceFillTensor"), (lambda x, value: x.fill_(value), {})),
    "InplaceCopy": (lambda x, value: x.copy_(value), {}),
    "InplaceZero": (lambda x: x.zero_(), {}),
}
"""Primitives that give their first input a new value, as the methods of a Tensor do that end in ``_``."""

ARRAYS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    **_SEQUENCES,
    "Squeeze": (squeeze, {"axis": ()}),
    **_IN_PLACE,
    **{name: (_indices(name), {"row": NEEDED, "col": NEEDED, "offset": 0, "dtype": dtypes.int32})
       for name in ("TrilIndices", "TriuIndices")},
    "STFT": (_short_time_fourier, {"n_fft": NEEDED, "hop_length": NEEDED, "win_length": NEEDED, "normalized": NEEDED,
                                   "onesided": NEEDED, "return_complex": NEEDED}),
    "ApproximateEqual": (lambda x, y, tolerance: ops.abs(x - y) < tolerance, {"tolerance": 1e-5}),
    "BatchToSpaceND": (lambda x, block_shape, crops: ops.batch_to_space_nd(x, block_shape, crops),
                       {"block_shape": NEEDED, "crops": NEEDED}),
    "BCEWithLogitsLoss": (_weighted_logits, {"reduction": "mean"}),
    "Bucketize": (lambda x, boundaries: ops.bucketize(x, list(boundaries), right=True).astype(dtypes.int32),
                  {"boundaries": NEEDED}),
    "ClipByNorm": (_clipped, {"axis": None}), "CTCGreedyDecoder": (_greedy_decoder, {"merge_repeated": True}),
    "ConjugateTranspose": (lambda x, perm: ops.conj(x).transpose(tuple(perm)), {}),
    "DataFormatDimMap": (_axis_map, {"src_format": "NHWC", "dst_format": "NCHW"}), "FillV2": (_filled, {}),
    "DivNoNan": (_divided_or_zero, {}),
    "DropoutGrad": (lambda dout, mask, keep_prob: dout * mask / keep_prob, {"keep_prob": 0.5}),
    "EmbeddingLookup": (_embedding_lookup, {}),
    "EqualCount": (lambda x, y: ops.equal(x, y).sum().astype(x.dtype).reshape((1,)), {}),
    "FFTWithSize": (_fft_with_size, {"signal_ndim": NEEDED, "inverse": NEEDED, "real": NEEDED, "norm": "backward",
                                     "onesided": True, "signal_sizes": ()}),
    "FillDiagonal": (_filled_diagonal, {"fill_value": NEEDED, "wrap": False}),
    "HShrink": (lambda x, lambd: ops.hardshrink(x, lambd), {"lambd": 0.5}),
    "IndexAdd": (_index_added, {"axis": NEEDED, "use_locking": True, "check_index_bound": True}),
    "InplaceUpdate": (lambda x, v, indices: ops.inplace_update(x, v, indices), {"indices": NEEDED}),
    "InplaceUpdateV2": (lambda x, indices, v: ops.inplace_update(x, v, indices), {}),
    "KLDivLossGrad": (_kl_div_grad, {"reduction": "mean"}),
    "LayerNormGrad": (_layer_norm_grad, {"begin_norm_axis": 1, "begin_params_axis": 1, "epsilon": 1e-7}),
    "KLDivLoss": (lambda x, target, reduction: ops.kl_div(x, target, reduction), {"reduction": "mean"}),
    "ListToTensor": (lambda values, dtype=None: Tensor(list(values), dtype), {}),
    "Col2Im": (_from_columns, {"kernel_size": NEEDED, "dilation": 1, "padding": 0, "stride": 1}),
    "ComplexAbs": (lambda x: ops.abs(x), {}), "DiagPart": (_diagonal_part, {}),
    "GridSampler2D": (lambda x, grid, **attrs: ops.grid_sample(x, grid, *attrs.values()), {
        "interpolation_mode": "bilinear", "padding_mode": "zeros", "align_corners": False}),
    "Histogram": (lambda x, **attrs: ops.histc(x, **attrs), {"bins": 100, "min": 0.0, "max": 0.0}),
    "IdentityN": (lambda xs: tuple(xs), {}),
    "Im2Col": (_columns, {"ksizes": NEEDED, "strides": 1, "dilations": 1, "pads": 0}),
    "LogMatrixDeterminant": (lambda x: tuple([part.astype(x.dtype) for part in ops.slogdet(x)]), {}),
    "LowerBound": (lambda x, v, out_type: ops.searchsorted(x, v).astype(out_type), {"out_type": dtypes.int32}),
    "UpperBound": (lambda x, v, out_type: ops.searchsorted(x, v, right=True).astype(out_type),
                   {"out_type": dtypes.int32}),
    "MatrixDeterminant": (lambda x: ops.det(x), {}),
    "MatrixInverse": (lambda x, adjoint: ops.inverse(x.conj().swapaxes(-1, -2) if adjoint else x), {"adjoint": False}),
    "MatrixTriangularSolve": (lambda a, b, lower, adjoint: ops.solve_triangular(a, b, 2 if adjoint else 0, lower),
                              {"lower": True, "adjoint": False}),
    "MulNoNan": (lambda x, y: ops.where(ops.equal(y, 0), False, x) * y, {}),
    "NthElement": (_nth_element, {"reverse": False}),
    "ScatterAddWithAxis": (lambda x, indices, updates, axis: ops.tensor_scatter_elements(
        x, indices, updates, axis, "add"), {"axis": 0}),
    "UnravelIndex": (_unravelled, {}), "PadV3": (_bordered, {"mode": "constant", "paddings_contiguous": True}),
    "ListDiff": (_left_over, {"out_idx": dtypes.int32}), "Padding": (_padded_to, {"pad_dim_size": 8}),
    **{name: (_with_diagonals(fn), {"align": "RIGHT_LEFT"})
       for name, fn in (("MatrixDiagV3", "matrix_diag"), ("MatrixDiagPartV3", "matrix_diag_part"),
                        ("MatrixSetDiagV3", "matrix_set_diag"))},
    "ParallelConcat": (lambda xs: ops.concat(xs, 0), {}),
    "RandomCategorical": (lambda logits, num_sample, seed=0, *, dtype: ops.random_categorical(
        logits, num_sample, seed, dtype), {"dtype": dtypes.int64}),
    "ResizeLinear1D": (lambda x, size, coordinate_transformation_mode: ops.interpolate(
        x, as_ints("ResizeLinear1D", (size,))[0], mode="linear",
        align_corners=coordinate_transformation_mode == "align_corners"),
        {"coordinate_transformation_mode": "align_corners"}),
    "Rint": (lambda x: ops.round(x), {}),
    "ScatterAdd": (lambda x, indices, updates, use_locking: ops.scatter_add(x, indices, updates),
                   {"use_locking": False}),
    "ScatterUpdate": (lambda x, indices, updates, use_locking: ops.scatter_update(x, indices, updates),
                      {"use_locking": True}),
    "SpaceToBatchND": (lambda x, block_shape, paddings: ops.space_to_batch_nd(x, block_shape, paddings),
                       {"block_shape": NEEDED, "paddings": NEEDED}),
    "SquareSumAll": (lambda x, y: (ops.square(x).sum(), ops.square(y).sum()), {}),
    "SquaredDifference": (lambda x, y: (x - y) * ops.conj(x - y), {}), "TensorCopySlices": (_copied, {}),
    "UniqueWithPad": (_padded_unique, {}),
    "TupleToTensor": (lambda values, dtype=None: Tensor(list(values), dtype), {}),
}  # fmt: skip
"""Name -> (function of tensors and attributes, attributes with defaults)."""
