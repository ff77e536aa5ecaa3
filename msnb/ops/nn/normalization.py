"""Normalisation: centre, scale to unit variance, then an affine map that is learned.

    y = (x - mean) / sqrt(var + eps) * weight + bias

The kinds differ only in the axes over which mean and var are taken (x is [n, channels, ...]):

    batch_norm      n and positions, per channel            layer_norm    the last axes, per row
    instance_norm   positions, per image and channel        group_norm    positions and the channels of one group
    rms_norm        the last axes; nothing is centred: y = x / sqrt(mean(x^2) + eps) * weight

All are functions of ops, so their gradients follow. Two-byte floats are normalised in float32.
Source: Ioffe and Szegedy 2015 (batch), Ba, Kiros and Hinton 2016 (layer), Wu and He 2018 (group), Zhang and Sennrich
2019 (RMS); https://www.mindspore.cn, ``ops.batch_norm`` and its neighbours.
"""

from __future__ import annotations

from typing import Any

from msnb.base import AttributeValueError, DTypeError, ShapeError, events
from msnb.core import Parameter, Tensor, dtypes, whole
from msnb.ops.definition import as_tensor, operand_lines
from msnb.ops.elementwise.arithmetic import add, multiply, square, subtract
from msnb.ops.elementwise.cast import cast
from msnb.ops.elementwise.transcendental import rsqrt
from msnb.ops.reduction.functional import mean
from msnb.ops.shape.views import reshape


def _prepared(name: str, x: Any, low: int) -> Any:
    """``x`` as a float tensor of at least ``low`` axes, in float32 or wider."""
    x = as_tensor(x)
    if x.ndim < low:
        raise ShapeError(f"{name} needs x of at least {low} axes.", operands=operand_lines(x._type))
    if not x.dtype.is_float:
        raise DTypeError(f"{name} needs a floating-point x.", operands=operand_lines(x._type))
    return cast(x, dtypes.float32) if x.dtype.itemsize < 4 else x


def _back(y: Any, x: Any) -> Tensor:
    dtype = as_tensor(x).dtype
    return y if y.dtype is dtype else cast(y, dtype)


def moments(x: Any, axis: tuple[int, ...]) -> tuple[Any, Any, Any]:
    """(x - mean, mean, biased variance) over ``axis``, which is kept with size 1."""
    middle = mean(x, axis=axis, keepdims=True)
    centred = subtract(x, middle)
    return centred, middle, mean(square(centred), axis=axis, keepdims=True)


def _standard(x: Any, axis: tuple[int, ...], eps: float) -> Any:
    centred, _, variance = moments(x, axis)
    return multiply(centred, rsqrt(add(variance, eps)))


def _affine(name: str, y: Any, weight: Any, bias: Any, shape: tuple[Any, ...]) -> Tensor:
    """y * weight + bias, both reshaped to ``shape``; either may be None."""
    for what, value in (("weight", weight), ("bias", bias)):
        if value is not None:
            value = as_tensor(value)
            if value.size != _count(shape):
                raise ShapeError(
                    f"{name}: the {what} needs {_count(shape)} values.",
                    operands=operand_lines(value._type, names=(what,)),
                )
            value = reshape(value, shape)
            y = multiply(y, value) if what == "weight" else add(y, value)
    return y  # type: ignore[no-any-return]


def _count(shape: tuple[Any, ...]) -> int:
    n = 1
    for d in shape:
        n *= d
    return n


def _per_channel(x: Any, axis: int = 1) -> tuple[Any, ...]:
    return (x.shape[axis], *(1,) * (x.ndim - axis - 1))


@whole
def batch_norm_train(
    x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5, axis: int = 1
) -> tuple[Any, Any, Any]:
    """Normalise by the statistics of the batch and give them back.

    Args:
        x: [n, channels, ...], floats.
        weight, bias: [channels] or None.
        eps: added to the variance.
        axis: where x has its channels (3 for images [n, rows, columns, channels]).

    Returns:
        (y with the shape of x, mean [channels], biased variance [channels]).

    Raises:
        ShapeError: too few axes, or a weight or bias of another length.

    Source: `mindspore.ops.BatchNorm`

    Examples:
        >>> import msnb as ms
        >>> y, m, v = ms.ops.batch_norm_train(ms.Tensor([[1.0], [3.0]]), eps=0.0)
        >>> y.tolist(), m.tolist(), v.tolist()
        ([[-1.0], [1.0]], [2.0], [1.0])
    """
    wide = _prepared("batch_norm", x, 2)
    _need_channels(wide, axis)
    axes = tuple(a for a in range(wide.ndim) if a != axis)
    centred, middle, variance = moments(wide, axes)
    y = multiply(centred, rsqrt(add(variance, eps)))
    y = _affine("batch_norm", y, weight, bias, _per_channel(wide, axis))
    channels = (wide.shape[axis],)
    return _back(y, x), reshape(middle, channels), reshape(variance, channels)


@whole
def batch_norm(
    x: Any, running_mean: Any, running_var: Any, weight: Any = None, bias: Any = None, training: bool = False,
    momentum: float = 0.1, eps: float = 1e-5, axis: int = 1,
) -> Tensor:  # fmt: skip
    """Normalise every channel, by the batch's statistics in training and by the running ones otherwise.

    Args:
        x: [n, channels, ...], floats.
        running_mean, running_var: [channels]. A function has no state: they are read, never written (``nn.BatchNorm2d``
            updates its own). In training that is said once where a Parameter is given, or a ``momentum``.
        weight, bias: [channels] or None.
        training: whether the batch's own statistics are used.
        eps: added to the variance.
        axis: where x has its channels (3 for images [n, rows, columns, channels]).

    Returns:
        Tensor with the shape of x.

    Raises:
        ShapeError: too few axes, or a vector of another length.

    Source: `mindspore.ops.batch_norm`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.batch_norm(ms.Tensor([[3.0]]), ms.Tensor([1.0]), ms.Tensor([4.0]), eps=0.0).tolist()
        [[1.0]]
    """
    if training:
        if momentum != 0.1 or isinstance(running_mean, Parameter):
            events.ignored("ops.batch_norm(momentum=)", "it writes no running statistics; nn.BatchNorm2d does")
        return batch_norm_train(x, weight, bias, eps, axis)[0]  # type: ignore[no-any-return]
    wide = _prepared("batch_norm", x, 2)
    _need_channels(wide, axis)
    shape = _per_channel(wide, axis)
    scale = rsqrt(add(_affine_vector("running_var", running_var, shape), eps))
    y = multiply(subtract(wide, _affine_vector("running_mean", running_mean, shape)), scale)
    return _back(_affine("batch_norm", y, weight, bias, shape), x)


def _need_channels(x: Any, axis: int) -> None:
    if not isinstance(axis, int) or not 1 <= axis < x.ndim:
        raise AttributeValueError(f"batch_norm: axis must be from 1 to {x.ndim - 1}, the channels of x, got {axis!r}.")


def _affine_vector(what: str, value: Any, shape: tuple[Any, ...]) -> Any:
    value = as_tensor(value)
    if value.size != _count(shape):
        raise ShapeError(
            f"batch_norm: {what} needs {_count(shape)} values.", operands=operand_lines(value._type, names=(what,))
        )
    return reshape(value, shape)


def _last_axes(name: str, x: Any, normalized_shape: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    if not shape or tuple(x.shape[-len(shape) :]) != shape:
        raise ShapeError(
            f"{name}: the last axes of x must be {list(shape)} (normalized_shape).", operands=operand_lines(x._type)
        )
    return shape, tuple(range(x.ndim - len(shape), x.ndim))


@whole
def layer_norm(x: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """Normalise over the last axes.

    Args:
        x: [..., *normalized_shape], floats.
        normalized_shape: int or ints.
        weight, bias: of shape normalized_shape, or None.
        eps: added to the variance.

    Returns:
        Tensor with the shape of x.

    Raises:
        ShapeError: the last axes of x, weight or bias differ from normalized_shape.

    Source: `mindspore.ops.layer_norm`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.layer_norm(ms.Tensor([[1.0, 3.0]]), 2, eps=0.0).tolist()
        [[-1.0, 1.0]]
    """
    wide = _prepared("layer_norm", x, 1)
    shape, axes = _last_axes("layer_norm", wide, normalized_shape)
    return _back(_affine("layer_norm", _standard(wide, axes, eps), weight, bias, shape), x)


@whole
def rms_norm(x: Any, weight: Any = None, eps: float = 1e-6, normalized_shape: Any = None) -> Tensor:
    """Scale the last axes to a root mean square of 1.

    Args:
        x: [..., *normalized_shape], floats.
        weight: of shape normalized_shape, or None.
        eps: added to the mean square.
        normalized_shape: int or ints; by default the weight's shape, or the last axis.

    Returns:
        Tensor with the shape of x.

    Raises:
        ShapeError: the last axes of x differ from normalized_shape.

    Source: Zhang and Sennrich, "Root Mean Square Layer Normalization", 2019.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.rms_norm(ms.Tensor([3.0, -3.0]), eps=0.0).tolist()
        [1.0, -1.0]
    """
    wide = _prepared("rms_norm", x, 1)
    given = normalized_shape if weight is None else as_tensor(weight).shape
    shape, axes = _last_axes("rms_norm", wide, wide.shape[-1] if given is None else given)
    y = multiply(wide, rsqrt(add(mean(square(wide), axis=axes, keepdims=True), eps)))
    return _back(_affine("rms_norm", y, weight, None, shape), x)


@whole
def group_norm(x: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """Normalise each image's channels group by group.

    Args:
        x: [n, channels, ...], floats.
        num_groups: a divisor of channels.
        weight, bias: [channels] or None.
        eps: added to the variance.

    Returns:
        Tensor with the shape of x.

    Raises:
        AttributeValueError: num_groups does not divide the channels. ShapeError: too few axes.

    Source: `mindspore.ops.group_norm`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.group_norm(ms.Tensor([[1.0, 3.0, 5.0, 9.0]]), 2, eps=0.0).tolist()
        [[-1.0, 1.0, -1.0, 1.0]]
    """
    wide = _prepared("group_norm", x, 2)
    channels = wide.shape[1]
    if not isinstance(num_groups, int) or num_groups < 1 or channels % num_groups:
        raise AttributeValueError(f"group_norm: num_groups={num_groups!r} does not divide {channels} channels.")
    grouped = reshape(wide, (wide.shape[0], num_groups, channels // num_groups, *wide.shape[2:]))
    y = reshape(_standard(grouped, tuple(range(2, grouped.ndim)), eps), wide.shape)
    return _back(_affine("group_norm", y, weight, bias, _per_channel(wide)), x)


@whole
def instance_norm(x: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Tensor:
    """Normalise each channel of each image over its positions.

    Args:
        x: [n, channels, ...] with at least one axis of positions, floats.
        weight, bias: [channels] or None.
        eps: added to the variance.

    Returns:
        Tensor with the shape of x.

    Raises:
        ShapeError: too few axes.

    Source: `mindspore.nn.InstanceNorm2d`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.instance_norm(ms.Tensor([[[1.0, 3.0]]]), eps=0.0).tolist()
        [[[-1.0, 1.0]]]
    """
    wide = _prepared("instance_norm", x, 3)
    y = _standard(wide, tuple(range(2, wide.ndim)), eps)
    return _back(_affine("instance_norm", y, weight, bias, _per_channel(wide)), x)


__all__ = [
    "batch_norm", "batch_norm_train", "group_norm", "instance_norm", "layer_norm", "rms_norm",
]  # fmt: skip
