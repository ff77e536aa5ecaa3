"""Conversion between dtypes, and the parts of complex numbers."""

from __future__ import annotations

from operator import methodcaller
from typing import Any

import numpy as np

from msnb.base import ArgumentError
from msnb.core import DType, Tensor, TensorType, as_dtype, dtypes, result_dtype, slot
from msnb.ops.definition import Example, InvalidExample, Op, define, example_inputs, find
from msnb.ops.elementwise.factory import unary

__all__ = ["angle", "cast", "complex", "conj", "imag", "is_complex", "is_floating_point", "real"]

FAMILY = "casting"  # of the records in this module: pictures and the JSON of graphs name it


def _cast_infer(x: TensorType, *, dtype: Any) -> TensorType:
    if not isinstance(dtype, DType):
        raise ArgumentError(f"cast: dtype must be a dtype of msnb such as ms.float32, got {dtype!r}.")
    return x.with_dtype(dtype)


def _cast(xp: Any, x: Any, *, dtype: DType) -> Any:
    if x.dtype.kind == "c" and not dtype.is_complex and dtype is not dtypes.bool_:
        x = x.real
    return x.astype(dtype.numpy)


def _cast_grad(dout: Any, types: Any) -> Any:
    return cast(dout, types[0].dtype) if types[0].dtype.differentiable and dout.dtype.differentiable else None


def _cast_numpy(types: Any, outs: Any, *, dtype: DType) -> Any:
    x = types[0].dtype
    wide = dtype.is_float and dtype.itemsize > 2 and (not x.is_float or x.itemsize > 2) and not x.is_complex
    return methodcaller("astype", dtype.numpy) if wide and not types[0].weak else None


CAST = define(
    "cast",
    "x",
    numpy=_cast_numpy,
    attrs=("dtype",),
    infer=_cast_infer,
    body=_cast,
    scalar="x",
    grad=_cast_grad,
    doc="The same values in another dtype; floats lose their fraction, complex numbers their imaginary part.",
    axes="... -> ...",
    traits=("pure", "elementwise", "linear"),
    examples=(
        Example((example_inputs.SIGNED,), {"dtype": dtypes.float64}),
        Example((example_inputs.SIGNED,), {"dtype": dtypes.int32}),
        Example((example_inputs.INTS,), {"dtype": dtypes.float32}),
        Example((example_inputs.COMPLEX,), {"dtype": dtypes.float64}),
        Example((example_inputs.SCALAR,), {"dtype": dtypes.bool_}),
        Example((example_inputs.EMPTY,), {"dtype": dtypes.float16}),
    ),
    wrong=(InvalidExample((example_inputs.SIGNED,), {"dtype": "flaot32"}, "must be a dtype", TypeError),),
    family="casting",
)


def cast(x: Any, dtype: Any) -> Tensor:
    """The same values in another dtype. A tensor that has the dtype already is given back as it is.

    Args:
        x: a tensor of any shape.
        dtype: ``ms.float32``, ``"float32"``, ``np.float32``, ``float`` ...

    Raises:
        TypeError: ``dtype`` names no dtype.

    Source: `mindspore.ops.cast`

    Examples:
        >>> import msnb as ms
        >>> ms.ops.cast(ms.Tensor([1.5]), ms.int32)
        Tensor(shape=[1], dtype=Int32, value=
        [1])
    """
    want = dtype if isinstance(dtype, DType) else as_dtype(dtype)
    if isinstance(x, Tensor) and x._type.dtype is want:  # what stood for a Python number is a tensor from here on
        return x if type(x) is Tensor or slot.engine.number_kind(x) is None else find("identity")(x)
    out: Tensor = slot.engine.apply(CAST, (x,), {"dtype": want})
    return out


def _real_infer(x: TensorType) -> TensorType:
    return x.with_dtype(result_dtype((x,)).real)


def _part(name: str, body: Any, scalar: str, doc: str, grad: Any) -> Op:
    return unary(name, body, scalar, doc, grad, infer=_real_infer, x=example_inputs.COMPLEX)


real: Op = _part("real", lambda xp, x: xp.real(x), "real(x)", "The real part.", lambda dout: dout)
imag: Op = _part("imag", lambda xp, x: xp.imag(x), "imag(x)", "The imaginary part.",
             lambda dout, types: dout * 1j if types[0].dtype.is_complex else find("multiply")(dout, 0))  # fmt: skip
conj: Op = unary("conj", lambda xp, x: xp.conj(x), "conj(x)", "The complex conjugate.", lambda dout: find("conj")(dout),
             x=example_inputs.COMPLEX)  # fmt: skip


def _angle_infer(x: TensorType) -> TensorType:
    dtype = result_dtype((x,))
    return x.with_dtype(dtype.real if dtype.differentiable else dtypes.float32)


def _angle_grad(dout: Any, x: Any) -> Any:
    if not x.dtype.is_complex:
        return find("multiply")(dout, 0)
    return dout * 1j * x / find("square")(find("abs")(x))


angle: Op = unary(
    "angle", lambda xp, x: xp.angle(x), "atan2(imag(x), real(x))", "The angle in radians, from -pi to pi.", _angle_grad,
    infer=_angle_infer, x=example_inputs.COMPLEX, traits=("floating",),
)  # fmt: skip


def complex(re: Any, im: Any) -> Tensor:
    """The complex tensor re + i im.

    Source: `mindspore.ops.Complex`
    """
    return re + im * 1j  # type: ignore[no-any-return]


def is_complex(x: Tensor) -> bool:
    """True when the tensor's dtype is complex."""
    return x.dtype.is_complex


def is_floating_point(x: Tensor) -> bool:
    """True when the tensor's dtype is a float."""
    return x.dtype.is_float


def limit(dtype: DType, largest: bool) -> float:
    """The largest or the smallest finite number of a dtype."""
    import ml_dtypes

    of = ml_dtypes.finfo if dtype.is_float else np.iinfo
    info: Any = of(dtype.numpy)
    return (float if dtype.is_float else int)(info.max if largest else info.min)
