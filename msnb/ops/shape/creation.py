"""Tensors made from nothing: constants of a shape, ranges, identity matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base import ArgumentError, AttributeValueError, DeviceError, ShapeError
from msnb.core import WEAK, Dim, DType, Size, Tensor, TensorType, as_dtype, cached, dtypes, slot, tensor_type
from msnb.ops.definition import example_inputs
from msnb.ops.definition.record import Example, InvalidExample, Op, define, find
from msnb.ops.definition.symbolic_sizes import has_sizes
from msnb.ops.definition.type_inference import int_error, normal_shape, operand_lines, plain_size
from msnb.ops.elementwise.cast import CAST

__all__ = [
    "arange", "empty", "empty_like", "eye", "full", "full_like", "linspace", "ones", "ones_like", "zeros", "zeros_like",
]  # fmt: skip

_FILL = {"zeros": 0, "ones": 1}
_DEVICE_WORDS = {"cpu": "CPU", "npu": "Ascend"}


def _filled(name: str) -> Op:
    def infer(*, shape: Any, dtype: DType) -> TensorType:
        return tensor_type(normal_shape(name, shape), dtype)

    return define(
        name,
        "",
        attrs={"shape": (), "dtype": dtypes.float32},
        infer=infer,
        body=lambda xp, *, shape, dtype: getattr(xp, name)(shape, dtype.numpy),
        doc=f"A tensor full of {name}.",
        scalar=str(_FILL[name]),
        no_grad="it has no inputs",
        axes="-> ...",
        examples=(Example((), {"shape": (2, 3)}), Example((), {"shape": (), "dtype": dtypes.int32}),
                  Example((), {"shape": (0, 2), "dtype": dtypes.float64})),
        wrong=(InvalidExample((), {"shape": (2, -1)}, "ints >= 0", ValueError),),
        family="create",
    )  # fmt: skip


def _full_infer(value: TensorType, *, shape: Any, dtype: DType) -> TensorType:
    if value.shape != ():
        raise ShapeError("full needs one value of shape [].", operands=operand_lines(value, names=("value",)),
                         hint="use broadcast_to for a tensor of values.")  # fmt: skip
    return tensor_type(normal_shape("full", shape), dtype)


def _full_lanes(axis_size: int, inputs: Any, batched: Any, *, shape: Any, dtype: DType) -> tuple[Any, bool]:
    column = find("reshape")(CAST(inputs[0], dtype=dtype), shape=(axis_size, *[1] * len(shape)))
    return find("broadcast_to")(column, shape=(axis_size, *shape)), True


def _full_body(xp: Any, value: Any, *, shape: Any, dtype: DType) -> Any:
    out = xp.empty(shape, dtype.numpy)  # 0 + value would take the sign of -0.0
    out[...] = xp.asarray(value).astype(dtype.numpy)
    return out


ZEROS, ONES = _filled("zeros"), _filled("ones")
FULL = define(
    "full",
    "value",
    onnx="Expand(value, shape)",
    attrs={"shape": (), "dtype": dtypes.float32},
    infer=_full_infer,
    body=_full_body,
    scalar="value",
    grad=lambda dout: find("sum")(dout, axis=None, keepdims=False),
    doc="A tensor full of one value.",
    axes="-> ...",
    traits=("pure", "scalars", "linear"),
    batch=_full_lanes,
    examples=(Example((2.5,), {"shape": (2, 3)}),
              Example((example_inputs.SCALAR,), {"shape": (2, 2), "dtype": dtypes.float64}),
              Example((3,), {"shape": (), "dtype": dtypes.int64}), Example((1.0,), {"shape": (0, 2)})),
    wrong=(InvalidExample((example_inputs.ROW,), {"shape": (2, 3)}, "one value", ShapeError),),
    family="create",
)  # fmt: skip


def _like(name: str) -> Op:
    return define(
        name + "_like",
        "x",
        infer=lambda x: tensor_type(x.shape, dtypes.float32 if x.weak and x.dtype.is_float else x.dtype),
        body=lambda xp, x: getattr(xp, name)(x.shape, x.dtype),
        scalar=str(_FILL[name]),
        doc=f"A tensor full of {name} with the shape and dtype of x.",
        no_grad="it reads only the shape of x",
        axes="... -> ...",
        traits=("pure", "elementwise"),
        examples=(
            Example((example_inputs.SIGNED,)),
            Example((example_inputs.SCALAR,)),
            Example((example_inputs.EMPTY,)),
        ),
        wrong=(InvalidExample((), {}, "takes the tensors", TypeError),),
        family="create",
    )


ZEROS_LIKE, ONES_LIKE = _like("zeros"), _like("ones")


def _made(op: Op, shape: Any, dtype: Any) -> Tensor:
    attrs = {"shape": normal_shape(op.name, _ints(shape)), "dtype": as_dtype(dtype or dtypes.float32)}
    out: Tensor = slot.engine.apply(op, (), attrs)
    return out


def _ints(shape: Any) -> Any:
    """A shape given as a tensor becomes a tuple."""
    if isinstance(shape, Tensor):  # in a program: each element may be known, or be a size by itself
        shape = [shape[i] for i in range(len(shape))] if shape.ndim and hasattr(shape, "_builder") else shape.tolist()
    return plain_size(shape) if isinstance(shape, (int, Dim, np.integer)) else tuple(map(_int, shape))


def _int(d: Any) -> Any:
    d = plain_size(d)
    return d.__index__() if hasattr(d, "__index__") and not isinstance(d, (bool, np.bool_)) else d


@cached
def zeros(*size: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """A tensor full of zeros.

    Args:
        size: the shape: ``zeros((2, 3))`` or ``zeros(2, 3)``; a dtype may follow a tuple.
        shape: the shape by name, instead of ``size``.
        dtype: its dtype, float32 by default.

    Source: `mindspore.ops.zeros`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.zeros((1, 2))
        Tensor(shape=[1, 2], dtype=Float32, value=
        [[0., 0.]])
    """
    return _made(ZEROS, *_size_and_dtype("zeros", size, shape, dtype))


@cached
def ones(*size: Any, shape: Any = None, dtype: Any = None) -> Tensor:
    """A tensor full of ones; arguments as ``zeros``."""
    return _made(ONES, *_size_and_dtype("ones", size, shape, dtype))


def empty(
    *size: Any, shape: Any = None, dtype: Any = None, device: str | None = None, pin_memory: bool = False
) -> Tensor:
    """A tensor whose values nobody relies on; they are zeros here.

    Args:
        size: the shape, ``shape`` and ``dtype``: as of ``zeros``.
        device: the device it lies on: "CPU", "Ascend" ... ("cpu" and "npu" are understood); None: the current one.
        pin_memory: only False: the devices here stage their copies themselves.

    Returns:
        A tensor of that shape.

    Raises:
        ValueError: no device is called that.
        RuntimeError: the device is missing, or pinned memory is asked for.

    Source: `mindspore.ops.empty`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.empty((2, 3), device="CPU").shape
        (2, 3)
    """
    return _placed("empty", zeros(*size, shape=shape, dtype=dtype), device, pin_memory)


def _placed(name: str, made: Tensor, device: Any, pinned: bool) -> Tensor:
    """A tensor on the device that the caller named."""
    if pinned:
        raise DeviceError(f"{name}: no memory is pinned here, pin_memory is False.", hint="leave pin_memory out.")
    if device is None:
        return made
    if not isinstance(device, str):
        raise ArgumentError(f"{name}: device is a name like 'CPU', not {device!r}.")
    return made.move_to(_DEVICE_WORDS.get(device, device))


def _size_and_dtype(name: str, size: tuple[Any, ...], shape: Any, dtype: Any) -> tuple[Any, Any]:
    if shape is not None:
        if size:
            raise ArgumentError(f"{name} takes the shape once, got {size} and shape={shape}.")
        size = (tuple(shape) if isinstance(shape, list) else shape,)
    if size and not isinstance(size[0], int) and len(size) <= 2:
        return size[0], size[1] if len(size) == 2 else dtype
    if len(size) == 2 and not isinstance(size[1], int):
        return size[0], size[1]
    return size, dtype


@cached
def full(size: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """A tensor of shape ``size`` full of ``fill_value`` (a number or a 0-d tensor); the dtype follows the value.

    Source: `mindspore.ops.full`
    """
    if dtype is None:
        kind = slot.engine.number_kind(fill_value)
        known = isinstance(fill_value, Tensor) and kind is None
        dtype = fill_value.dtype if known else kind or _default_dtype(fill_value)
    attrs = {"shape": normal_shape("full", _ints(size)), "dtype": as_dtype(dtype)}
    out: Tensor = slot.engine.apply(FULL, (fill_value,), attrs)
    return out


def _default_dtype(value: Any) -> DType:
    kind = value.__class__  # what capture's open numbers pass for
    return as_dtype(kind) if kind in WEAK else Tensor(value).dtype


def _one_like(op: Op, like: Op, x: Any, dtype: Any) -> Tensor:
    x = x if isinstance(x, Tensor) else Tensor(x)
    if has_sizes(x._type):
        return _made(op, x.shape, dtype or x.dtype)
    out: Tensor = like(x)
    if dtype is not None:
        out = CAST(out, dtype=as_dtype(dtype))
    return out


@cached
def zeros_like(x: Any, *, dtype: Any = None) -> Tensor:
    """Zeros with the shape (and, unless another is asked for, the dtype) of ``x``."""
    return _one_like(ZEROS, ZEROS_LIKE, x, dtype)


@cached
def ones_like(x: Any, *, dtype: Any = None) -> Tensor:
    """Ones with the shape (and, unless another is asked for, the dtype) of ``x``."""
    return _one_like(ONES, ONES_LIKE, x, dtype)


@cached
def full_like(x: Any, fill_value: Any, *, dtype: Any = None) -> Tensor:
    """``fill_value`` everywhere, with the shape and dtype of ``x``."""
    return zeros_like(x, dtype=dtype) + CAST(fill_value, dtype=as_dtype(dtype or x.dtype))


def empty_like(x: Any, *, dtype: Any = None, device: str | None = None, pin_memory: bool = False) -> Tensor:
    """A tensor with the shape (and, unless another is asked for, the dtype) of ``x``; the rest as of ``empty``."""
    return _placed("empty_like", zeros_like(x, dtype=dtype), device, pin_memory)


# ---- ranges ----


def _arange_size(start: Any, stop: Any, step: Any) -> Size:
    if isinstance(stop, Dim) and (start, step) == (0, 1):
        return stop
    for value in (start, stop, step):
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ArgumentError(f"arange needs numbers, got {value!r}.")
    if step == 0:
        raise AttributeValueError("arange needs a step other than 0.")
    less = -(stop - start) // step
    return max(0, -(less if isinstance(less, int) else int(less)))


def _arange_infer(*, start: Any, stop: Any, step: Any, dtype: DType) -> TensorType:
    return tensor_type(normal_shape("arange", _arange_size(start, stop, step)), dtype)


def _arange(xp: Any, *, start: Any, stop: Any, step: Any, dtype: DType) -> Any:
    n = _arange_size(start, stop, step)
    whole = isinstance(start, int) and isinstance(step, int)
    return (xp.arange(n, dtype="int64" if whole else "float64") * step + start).astype(dtype.numpy)


ARANGE = define(
    "arange",
    "",
    onnx="arange",
    attrs={"start": 0, "stop": 0, "step": 1, "dtype": dtypes.int64},
    infer=_arange_infer,
    body=_arange,
    doc="start, start + step, ... up to but without stop.",
    no_grad="it has no inputs",
    axes="-> n",
    examples=(Example((), {"stop": 5}), Example((), {"start": 5, "stop": -1, "step": -2, "dtype": dtypes.int32}),
              Example((), {"start": 0.5, "stop": 2.0, "step": 0.25, "dtype": dtypes.float64}),
              Example((), {"stop": 0})),
    wrong=(InvalidExample((), {"stop": 3, "step": 0}, "other than 0", ValueError),),
    family="create",
)  # fmt: skip


@cached
def arange(start: Any = 0, end: Any = None, step: Any = 1, *, dtype: Any = None) -> Tensor:
    """Numbers from ``start`` (0) up to but without ``end``; ints give int64, floats float32.

    Source: `mindspore.ops.arange`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.arange(3).tolist()
        [0, 1, 2]
    """
    low, high = (0, start) if end is None else (start, end)
    low, high, step = (v.item() if isinstance(v, (Tensor, np.generic)) else v for v in (low, high, step))
    if dtype is None:
        dtype = dtypes.float32 if any(isinstance(v, float) for v in (low, high, step)) else dtypes.int64
    return ARANGE(start=low, stop=high, step=step, dtype=as_dtype(dtype))


def _linspace_infer(*, start: Any, stop: Any, num: int, dtype: DType) -> TensorType:
    if isinstance(num, bool) or not isinstance(num, int) or num < 0:
        raise int_error(num)(f"linspace: num must be an int >= 0, got {num!r}.")
    return tensor_type((num,), dtype)


LINSPACE = define(
    "linspace",
    "",
    attrs={"start": 0.0, "stop": 1.0, "num": 50, "dtype": dtypes.float32},
    infer=_linspace_infer,
    body=lambda xp, *, start, stop, num, dtype: xp.linspace(start, stop, num).astype(dtype.numpy),
    doc="num evenly spaced numbers from start to stop, both included.",
    no_grad="it has no inputs",
    axes="-> n",
    examples=(Example((), {"start": 0.0, "stop": 2.0, "num": 5}), Example((), {"num": 1, "dtype": dtypes.float64}),
              Example((), {"num": 0})),
    wrong=(InvalidExample((), {"num": -1}, "int >= 0", ValueError),),
    family="create",
)  # fmt: skip


@cached
def linspace(start: Any, end: Any, steps: int, *, dtype: Any = None) -> Tensor:
    """``steps`` evenly spaced numbers from ``start`` to ``end``, both included.

    Args:
        start, end: numbers, or tensors of one number each, which may be results of the program.
        steps: how many.
        dtype: of the result, else float64 where a tensor is float64, float32 elsewhere.

    Examples:
        >>> import msnb as ms
        >>> ms.ops.linspace(0, 1, 3).tolist()
        [0.0, 0.5, 1.0]
    """
    if isinstance(start, Tensor) or isinstance(end, Tensor):
        share = LINSPACE(start=0.0, stop=1.0, num=steps, dtype=dtypes.float64)
        mixed: Tensor = (1 - share) * start + share * end
        tensors = [e for e in (start, end) if isinstance(e, Tensor) and slot.engine.number_kind(e) is None]
        wide = any(end_.dtype is dtypes.float64 for end_ in tensors)
        return mixed.astype(as_dtype(dtype or (dtypes.float64 if wide else dtypes.float32)))
    return LINSPACE(start=float(start), stop=float(end), num=steps, dtype=as_dtype(dtype or dtypes.float32))


EYE = define(
    "eye",
    "",
    attrs={"n": 1, "m": 1, "k": 0, "dtype": dtypes.float32},
    infer=lambda *, n, m, k, dtype: tensor_type(normal_shape("eye", (n, m)), dtype),
    body=lambda xp, *, n, m, k, dtype: xp.eye(n, m, k, dtype=dtype.numpy),
    doc="Ones on the k-th diagonal of an n x m matrix, zeros elsewhere.",
    no_grad="it has no inputs",
    axes="-> n m",
    examples=(Example((), {"n": 3, "m": 3}), Example((), {"n": 2, "m": 4, "k": 1, "dtype": dtypes.float64}),
              Example((), {"n": 0, "m": 2})),
    wrong=(InvalidExample((), {"n": -1, "m": 2}, "ints >= 0", ValueError),),
    family="create",
)  # fmt: skip


@cached
def eye(n: int, m: int | None = None, dtype: Any = None, *, k: int = 0) -> Tensor:
    """The identity matrix of ``n`` rows (and ``m`` columns)."""
    return EYE(n=n, m=n if m is None else m, k=k, dtype=as_dtype(dtype or dtypes.float32))
