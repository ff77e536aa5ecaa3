"""MindSpore's answers to the calls of ``differences`` where they hold: compositions of msnb's operators."""

from __future__ import annotations

from collections.abc import Callable
from math import floor
from typing import Any

import numpy as np

from msnb import nn, ops
from msnb.api.transforms import gradients
from msnb.api.transforms.gradient_request import kept
from msnb.api.transforms.gradients import make_grad, make_value_and_grad
from msnb.api.transforms.vjp_jvp_vmap import vjp as msnb_vjp
from msnb.as_mindspore.array_answers import _HALVES, int32, placed
from msnb.core import Parameter, Tensor, dtypes
from msnb.core.pytree import children, rebuild
from msnb.ops.definition.type_inference import need_ints
from msnb.ops.mindspore import array_primitives, mint, mint_functional, primitive_results
from msnb.ops.mindspore.primitive_classes import Primitive
from msnb.ops.reduction.functional import what_counts
from msnb.ops.sparse.coordinates import COOTensor
from msnb.train.files.checkpoint import save_checkpoint as msnb_save
from msnb.train.files.parameter_loading import put_into
from msnb.train.metrics import score_metrics


def _same_dtype(x: Any, found: Any, dtype: Any = None) -> Any:
    """Sums of integers keep their dtype, as MindSpore's do."""
    return found.astype(x.dtype) if dtype is None and x.dtype.is_int else found


div: Callable[..., Any] = mint.div
divide: Callable[..., Any] = mint.div
round: Callable[..., Any] = mint.round
subtract: Callable[..., Any] = mint.subtract


def _of_all(fn: Any) -> Any:
    """``fn``, whose place among all elements has no axes with ``keepdims`` either."""

    def call(input: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return fn(input, axis, keepdims and axis is not None)

    call.__name__ = fn.__name__
    return call


argmax, argmin = _of_all(ops.argmax), placed(_of_all(ops.argmin))
argsort, bucketize = [placed(fn) for fn in (ops.argsort, ops.bucketize)]
_PAIRED = (ops.sort, ops.topk, ops.cummin, ops.adaptive_max_pool3d)
sort, topk, cummin, adaptive_max_pool3d = [placed(fn, of_values=True) for fn in _PAIRED]


def count_nonzero(x: Any, axis: Any = (), keep_dims: bool = False, dtype: Any = dtypes.int32) -> Any:
    """``ops.count_nonzero`` in int32."""
    return ops.count_nonzero(x, None if axis == () else axis, keep_dims).astype(dtype)


def dense_to_sparse_coo(tensor: Any) -> COOTensor:
    """``ops.dense_to_sparse_coo`` with int32 coordinates."""
    found = ops.dense_to_sparse_coo(tensor)
    return COOTensor(int32(found.indices), found.values, found.shape)


def hann_window(window_length: Any, periodic: bool = True, *, dtype: Any = None) -> Any:
    """``ops.hann_window`` in float64."""
    return ops.hann_window(window_length, periodic, dtype=dtype or dtypes.float64)


def kaiser_window(window_length: Any, periodic: bool = True, beta: float = 12.0, *, dtype: Any = None) -> Any:
    """``ops.kaiser_window`` in float64."""
    return ops.kaiser_window(window_length, periodic, beta, dtype=dtype or dtypes.float64)


def stop_gradient(value: Any) -> Any:
    """``ops.stop_gradient`` of each tensor of a tuple, list or dict; numbers, texts and arrays stay."""
    if value is None or isinstance(value, (int, float, complex, str, np.ndarray, np.generic)):
        return value
    found = None if isinstance(value, Tensor) else children(value)
    if found is None:
        return ops.stop_gradient(value)
    return rebuild(type(value), found[0], [stop_gradient(part) for part in found[1]])


def index_add(x: Any, *operands: Any, **words: Any) -> Any:
    """``index_add`` of ``ops``, ``mint`` and a tensor, which writes into ``x``; locks and bounds change nothing. Of a
    Parameter it gives the value, as other operators that write do."""
    found = x.index_add_(*operands[:3], **words)
    return found.value() if isinstance(found, Parameter) else found


def clip_by_value(x: Any, clip_value_min: Any = None, clip_value_max: Any = None) -> Any:
    """``ops.clip_by_value``: of a list too a tuple, and halves stay halves beside wider bounds."""
    if isinstance(x, (tuple, list)):
        return tuple([clip_by_value(part, clip_value_min, clip_value_max) for part in x])
    if not (isinstance(x, Tensor) and x.dtype.is_float) or clip_value_min is clip_value_max is None:
        return ops.clip_by_value(x, clip_value_min, clip_value_max)
    return _within(x, clip_value_min, clip_value_max).astype(x.dtype)


def _within(x: Any, low: Any, high: Any) -> Any:
    """``x`` between the bounds; on a bound half of the gradient is its own, as of ``maximum`` and ``minimum``."""
    least = x if low is None else ops.maximum(x, low)
    return least if high is None else ops.minimum(least, high)


def leaky_relu(input: Any, alpha: Any = 0.2) -> Any:
    """``ops.leaky_relu`` as the larger (above slope 1 the smaller) of two lines: at 0 the mean of both slopes."""
    return (ops.maximum if alpha <= 1 else ops.minimum)(input * float(alpha), input)


def relu6(x: Any) -> Any:
    """``ops.relu6`` with the slope 1 at 6."""
    return ops.clamp(ops.relu(x), None, 6)


def hardtanh(input: Any, min_val: Any = -1.0, max_val: Any = 1.0) -> Any:
    """``ops.hardtanh``, with half a gradient on a bound."""
    return _within(input, float(min_val), float(max_val))


def hardswish(input: Any) -> Any:
    """``ops.hardswish`` whose gradient at -3 and 3 is that of the parabola."""
    return input * (ops.clamp(input + 3, 0, 6) / 6)


def _widened(fn: Any) -> Any:
    """``fn`` whose result is float32 where the first operand is bfloat16."""

    def answer(input: Any, *other: Any) -> Any:
        half = isinstance(input, Tensor) and input.dtype is dtypes.bfloat16
        return fn(input.astype(dtypes.float32) if half else input, *other)

    return answer


exp2, copysign = _widened(ops.exp2), _widened(ops.copysign)


def cross(input: Any, other: Any, dim: Any = None) -> Any:
    """``ops.cross``, of the first operand's dtype."""
    return ops.cross(input, other.astype(input.dtype), dim)


def xlogy(input: Any, other: Any) -> Any:
    """``ops.xlogy``; beside a number halves count as float32."""
    both = isinstance(input, Tensor) and isinstance(other, Tensor)
    half = [isinstance(x, Tensor) and x.dtype in _HALVES and not both for x in (input, other)]
    return ops.xlogy(*(x.astype(dtypes.float32) if h else x for x, h in zip((input, other), half)))


def cov(input: Any, **words: Any) -> Any:
    """``ops.cov``, of half precision in float32."""
    half = input.dtype in (dtypes.float16, dtypes.bfloat16)
    return ops.cov(input.astype(dtypes.float32) if half else input, **words)


def cartesian_prod(*inputs: Any) -> Any:
    """``ops.cartesian_prod``; of one vector a column."""
    return inputs[0].reshape(-1, 1) if len(inputs) == 1 else ops.cartesian_prod(*inputs)


def lstsq(input: Any, A: Any) -> Any:
    """``ops.lstsq``; of a vector a column."""
    return primitive_results.lstsq(input, A, True, 0.0)


rms_norm: Callable[..., Any] = primitive_results.rms_norm
unique: Callable[..., Any] = primitive_results.unique


def bincount(input: Any, weights: Any = None, minlength: int = 0) -> Any:
    """``ops.bincount`` in float32."""
    return ops.bincount(input, weights, minlength).astype(dtypes.float32)


def multinomial(input: Any, num_samples: int, replacement: bool = True, seed: Any = None) -> Any:
    """``ops.multinomial`` with int32 places."""
    return int32(ops.multinomial(input, num_samples, replacement, seed))


def bernoulli(input: Any, p: Any = 0.5, seed: Any = None) -> Any:
    """1 with probability ``p``, else 0, in the shape and dtype of ``input``."""
    chance = ops.broadcast_to(ops.cast(p, dtypes.float32), input.shape)
    return ops.cast(ops.bernoulli(chance, seed=seed), input.dtype)


def reduce_sum(input: Any, axis: Any = None, keep_dims: bool = False, skip_mode: bool = False) -> Any:
    """``ops.reduce_sum`` in the dtype of the input."""
    return input if skip_mode and axis == () else _same_dtype(input, ops.reduce_sum(input, axis, keep_dims))


def nansum(input: Any, axis: Any = None, keepdims: bool = False, *, dtype: Any = None) -> Any:
    """``ops.nansum`` in the dtype of the input, or in the one asked for."""
    found = _same_dtype(input, ops.nansum(input, axis, keepdims), dtype)
    return found if dtype is None else found.astype(dtype)


def cumsum(x: Any, axis: int, dtype: Any = None) -> Any:
    """``ops.cumsum`` in the dtype of the input."""
    return _same_dtype(x, ops.cumsum(x, axis, dtype), dtype)


def trace(input: Any) -> Any:
    """``ops.trace`` in the dtype of the input."""
    return _same_dtype(input, ops.trace(input))


def stack(tensors: Any, axis: int = 0) -> Any:
    """``ops.stack``; one tensor is one part, not its rows."""
    return ops.stack((tensors,) if isinstance(tensors, Tensor) else tensors, axis)


def _extreme(reduce: Any, input: Any, axis: Any, keepdims: bool, initial: Any, where: Any) -> tuple[Any, Any]:
    input = what_counts(f"ops.{reduce.__name__}", input, where, initial)
    if axis is None or input.ndim == 0:
        values, places = reduce(input), ops.zeros((), dtype=dtypes.int64)
    else:
        values, places = reduce(input, axis, keepdims, return_indices=True)
    if initial is not None:
        bound = ops.maximum if reduce is ops.max else ops.minimum
        values = bound(values, ops.full_like(values, initial))
    return values, places


def max(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Any:
    """``ops.max`` as a pair, whatever the axis."""
    return _extreme(ops.max, input, axis, keepdims, initial, where)


def min(input: Any, axis: Any = None, keepdims: bool = False, *, initial: Any = None, where: Any = None) -> Any:
    """``ops.min`` as a pair, whatever the axis."""
    return _extreme(ops.min, input, axis, keepdims, initial, where)


def median(input: Any, axis: int = -1, keepdims: bool = False) -> Any:
    """``ops.median`` along the last axis unless another is given."""
    return ops.median(input, axis, keepdims)


def nanmedian(input: Any, axis: int = -1, keepdims: bool = False) -> tuple[Any, Any]:
    """``ops.nanmedian`` along the last axis unless another is given, with the place of the value."""
    found: tuple[Any, Any] = mint.nanmedian(input, axis, keepdims)
    return found


def _average(
    pool: Any, x: Any, kernel_size: Any, stride: Any, padding: Any, ceil_mode: bool, count_include_pad: bool,
    divisor_override: int,
) -> Any:  # fmt: skip
    mode = "pad" if np.any(padding) else "valid"
    more = {"divisor_override": divisor_override} if divisor_override else {}  # one axis has none
    return pool(x, kernel_size, stride, mode, padding, ceil_mode, count_include_pad, **more)


def _largest(
    pool: Any, x: Any, kernel_size: Any, stride: Any, padding: Any, dilation: Any, return_indices: bool, ceil: bool
) -> Any:
    mode = "valid" if not np.any(padding) else "pad"
    return pool(x, kernel_size, stride, mode, padding, ceil, dilation=dilation, return_indices=return_indices)


def max_pool2d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, return_indices: bool = False,
    ceil_mode: bool = False,
) -> Any:  # fmt: skip
    """``ops.max_pool2d`` in MindSpore's order."""
    return _largest(ops.max_pool2d, x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def max_pool3d(
    x: Any, kernel_size: Any, stride: Any = None, padding: Any = 0, dilation: Any = 1, ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:  # fmt: skip
    """``ops.max_pool3d`` in MindSpore's order."""
    return _largest(ops.max_pool3d, x, kernel_size, stride, padding, dilation, return_indices, ceil_mode)


def avg_pool1d(
    input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Any:  # fmt: skip
    """``ops.avg_pool1d`` with stride 1 unless another is given."""
    return _average(ops.avg_pool1d, input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, 0)


def _mean_pool(pool: Any) -> Any:
    def call(
        input_x: Any, kernel_size: Any = 1, stride: Any = 1, padding: Any = 0, ceil_mode: bool = False,
        count_include_pad: bool = True, divisor_override: int = 0,
    ) -> Any:  # fmt: skip
        return _average(pool, input_x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)

    call.__name__, call.__doc__ = pool.__name__, f"``ops.{pool.__name__}`` with stride 1 unless another is given."
    return call


avg_pool2d, avg_pool3d = map(_mean_pool, (ops.avg_pool2d, ops.avg_pool3d))


def diag(input: Any) -> Any:
    """A tensor of twice the axes with ``input`` on its diagonal."""
    return ops.diag(input.reshape(-1)).reshape((*input.shape, *input.shape))


def outer(input: Any, vec2: Any) -> Any:
    """``ops.outer``; a number times a tensor keeps the tensor's shape."""
    return ops.mul(input, vec2) if input.ndim == 0 and vec2.ndim else ops.outer(input, vec2)


conv_transpose2d = mint_functional.conv_transpose2d


def conv3d_transpose(
    inputs: Any, weight: Any, pad_mode: str = "valid", padding: Any = 0, stride: Any = 1, dilation: Any = 1,
    group: int = 1, output_padding: Any = 0,
) -> Any:  # fmt: skip
    """``ops.conv3d_transpose`` in MindSpore's order."""
    return ops.conv3d_transpose(inputs, weight, None, stride, pad_mode, padding, output_padding, dilation, group)


def squeeze(input: Any, axis: Any = None) -> Any:
    """``ops.squeeze``; axes of another size than 1 stay."""
    need_ints("squeeze", axis=axis)
    return array_primitives.squeeze(input, axis)


class _OneClass(type):
    """Layers that msnb made are instances of the class that programs see."""

    def __instancecheck__(cls, instance: Any) -> bool:
        own = cls.__module__ == __name__
        return isinstance(instance, cls.__base__) if own else super().__instancecheck__(instance)  # type: ignore[arg-type]


class KeepDropout(nn.Dropout, metaclass=_OneClass):
    """``nn.Dropout``; a number in first place is the probability to keep, as MindSpore means it."""

    def __init__(self, keep_prob: float | None = None, p: float | None = None, dtype: object = None) -> None:
        super().__init__(keep_prob=keep_prob, p=p, dtype=dtype)


CosineSimilarity = score_metrics.CosineSimilarity
Dropout = KeepDropout
Dropout.__name__ = Dropout.__qualname__ = "Dropout"


def interpolate(
    input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
) -> Any:  # fmt: skip
    """``ops.interpolate``; cubics whose corners are not aligned are those of ``resize_bicubic`` with half pixels."""
    if mode == "bicubic" and not align_corners and input.ndim == 4 and (size is None) != (scale_factor is None):
        if size is None and recompute_scale_factor:
            scales = scale_factor if isinstance(scale_factor, (tuple, list)) else (scale_factor,) * 2
            size = tuple(floor(d * scale) for d, scale in zip(input.shape[2:], scales))
        if size is not None:
            return ops.resize_bicubic(input, size, half_pixel_centers=True)
    return ops.interpolate(input, size, scale_factor, mode, align_corners, recompute_scale_factor)


upsample = interpolate


def _layer(base: type, fn: Any, *settings: str) -> type[nn.Cell]:
    """``base`` that computes by a function above, to which it gives these settings."""

    def construct(self: Any, x: Any) -> Any:
        return fn(x, *[getattr(self, name) for name in settings])

    body = {"construct": construct, "__module__": __name__, "__doc__": base.__doc__}
    return _OneClass(base.__name__, (base,), body)  # type: ignore[return-value]


AdaptiveMaxPool3d: type[nn.Cell] = _layer(nn.AdaptiveMaxPool3d, adaptive_max_pool3d, "output_size", "return_indices")
LeakyReLU: type[nn.Cell] = _layer(nn.LeakyReLU, leaky_relu, "alpha")
Hardtanh: type[nn.Cell] = _layer(nn.Hardtanh, hardtanh, "min_val", "max_val")
ReLU6: type[nn.Cell] = _layer(nn.ReLU6, relu6)
HSwish: type[nn.Cell] = _layer(nn.HSwish, hardswish)


class NaturalExpDecayLR(nn.NaturalExpDecayLR, metaclass=_OneClass):
    """A rate per step: its page divides by ``decay_steps``, its numbers do not."""

    def construct(self, global_step: Any) -> Any:
        """The learning rate at this step."""
        p = self._part(global_step) * self.decay_steps
        return self.learning_rate * ops.exp(-self.decay_rate * p)


class SoftmaxCrossEntropyWithLogits(nn.SoftmaxCrossEntropyWithLogits, metaclass=_OneClass):
    """The gradient of the primitive: softmax - labels, also of labels whose sum is not 1."""

    def construct(self, logits: Any, labels: Any) -> Any:
        """The layer."""
        if self.sparse or labels.ndim < logits.ndim:
            return super().construct(logits, labels)
        return self.get_loss(self.softmax_cross_entropy(logits, labels)[0])


Upsample: type[nn.Cell] = _layer(
    nn.Upsample, interpolate, "size", "scale_factor", "mode", "align_corners", "recompute_scale_factor"
)


def _one(position: Any) -> Any:
    return position[0] if isinstance(position, tuple) and len(position) == 1 else position


def grad(
    fn: Any, grad_position: Any = 0, weights: Any = None, has_aux: bool = False, return_ids: bool = False,
    sens_param: bool = False,
) -> Any:  # fmt: skip
    """``msnb.grad``, also by integer tensors, whose gradients are cut off to integers; (0,) means 0."""
    return make_grad(fn, kept(weights), _one(grad_position), has_aux, return_ids, "real", sens_param)


def value_and_grad(
    fn: Any, grad_position: Any = 0, weights: Any = None, has_aux: bool = False, return_ids: bool = False,
    sens_param: bool = False,
) -> Any:  # fmt: skip
    """``msnb.value_and_grad``, also by integer tensors; (0,) means 0."""
    return make_value_and_grad(fn, kept(weights), _one(grad_position), has_aux, return_ids, "real", sens_param)


def vjp(fn: Any, *inputs: Any, weights: Any = None, has_aux: bool = False) -> Any:
    """``msnb.vjp``, also by integer tensors, for which every pullback runs ``fn`` again, as in MindSpore."""
    integers = any(isinstance(x, Tensor) and not x.dtype.differentiable for x in inputs)
    if weights is not None or has_aux or not integers:
        return msnb_vjp(fn, *inputs, weights=weights, has_aux=has_aux)
    by_sens = GradOperation(get_all=True, sens_param=True)(fn)
    return fn(*inputs), lambda *v: by_sens(*inputs, v if len(v) > 1 else v[0])


class GradOperation(gradients.GradOperation):
    """``ops.GradOperation``, also by integer tensors; a function that is no Cell has no weights."""

    integers = "real"

    def __call__(self, fn: Any, weights: Any = None) -> Any:
        """The gradient function of ``fn``."""
        without = self.get_by_list and weights is None and not hasattr(fn, "trainable_params")
        return super().__call__(fn, () if without else weights)


def assign(variable: Any, value: Any) -> Any:
    """``ops.assign``, at which gradients end: what ``assignments`` makes of every assignment to a Parameter."""
    return ops.assign(variable, value)


def save_checkpoint(
    save_obj: Any, ckpt_file_name: Any, integrated_save: bool = True, async_save: bool = False,
    append_dict: Any = None, enc_key: Any = None, enc_mode: str = "AES-GCM", choice_func: Any = None,
    crc_check: bool = False, format: str = "ckpt",
) -> None:  # fmt: skip
    """``msnb.save_checkpoint``; a ``.ckpt`` is in MindSpore's own format."""
    kind = "protobuf" if format == "ckpt" else format
    msnb_save(
        save_obj, ckpt_file_name, integrated_save, async_save, append_dict, choice_func, kind, enc_key=enc_key,
        enc_mode=enc_mode, crc_check=crc_check,
    )  # fmt: skip


def load_param_into_net(
    net: Any, parameter_dict: Any, strict_load: bool = False, remove_redundancy: bool = False
) -> tuple[list[str], list[str]]:
    """``msnb.load_param_into_net``; strict are the dtypes alone, names that do not fit are given back."""
    return put_into(net, parameter_dict, strict_load, False, remove_redundancy)


def _from_zero(pivots: Any) -> Any:
    """Pivots what_counts from 1 as msnb counts them; what is below 1 is beyond the last row, and refused with it."""
    return ops.where(pivots < 1, pivots.shape[-1], pivots - 1)


def lu_solve(b: Any, LU_data: Any, LU_pivots: Any) -> Any:
    """``ops.lu_solve`` of pivots what_counts from 1."""
    return ops.lu_solve(b, LU_data, _from_zero(LU_pivots))


def lu_unpack(LU_data: Any, LU_pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    """``ops.lu_unpack`` of pivots what_counts from 1."""
    return ops.lu_unpack(LU_data, _from_zero(LU_pivots), unpack_data, unpack_pivots)


def _primitive(name: str, fn: Any, **defaults: Any) -> type[Primitive]:
    return type(name, (Primitive,), {"fn": staticmethod(fn), "defaults": defaults, "__module__": "msnb.ops"})


LuSolve: type[Primitive] = _primitive("LuSolve", lu_solve)
LuUnpack: type[Primitive] = _primitive("LuUnpack", lu_unpack, unpack_data=True, unpack_pivots=True)
PrimitiveReLU6: type[Primitive] = _primitive("ReLU6", relu6)
PrimitiveHSwish: type[Primitive] = _primitive("HSwish", hardswish)
