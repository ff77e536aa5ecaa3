"""How elementwise records are made: one value per position, operands broadcast and promote.

A scalar expression is a Python expression of the input names, attributes and numbers. Beside Python's operators
(``//`` and ``%`` with Python's signs, ``& | ^ ~ << >>`` on integers and bools, comparisons) it uses the functions

    exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh
    erf erfc erfinv lgamma pow abs floor ceil round (half to even) trunc fmod hypot sign isnan isinf
    max min (a NaN operand wins)   where(condition, a, b)   real imag conj

All operands have the dtype in which the inputs meet (``record.operand_dtype``); the value is converted to the dtype
of the result.
Gradient rules ignore broadcasting and promotion: the autodiff engine sums a gradient to its input's shape and casts it
to its input's dtype. For complex numbers a gradient is dL/d(re) + i dL/d(im), so a rule multiplies with the conjugate
of the derivative (``times_adjoint``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from msnb.base import ArgumentError, DTypeError, ShapeError
from msnb.core import DType, Tensor
from msnb.ops.definition import example_inputs
from msnb.ops.definition.record import Example, InvalidExample, Op, define, family_of, find
from msnb.ops.definition.type_inference import KINDS, elementwise

_OF_KIND = {
    "b": example_inputs.BOOLS,
    "i": example_inputs.INTS,
    "f": example_inputs.SIGNED,
    "c": example_inputs.COMPLEX,
}


def _wrong_kind(kinds: str, arity: int) -> tuple[InvalidExample, ...]:
    refused = [k for k in KINDS if k not in kinds]
    return tuple(InvalidExample((_OF_KIND[k],) * arity, {}, "does not take", DTypeError) for k in refused)


def unary(
    name: str, body: Callable[..., Any], scalar: str, doc: str, grad: Callable[..., Any] | None = None, *,
    x: np.ndarray[Any, Any] = example_inputs.SIGNED, kinds: str = KINDS, floating: bool = False,
    dtype: DType | None = None, no_grad: str = "", traits: Sequence[str] = (), infer: Any = None, onnx: str = "",
) -> Op:  # fmt: skip
    """An elementwise record of one input. ``x``: an example inside the domain of ``body``."""
    examples = [Example((x,)), Example((x[0, 1].copy(),)), Example((x[:0],))]
    return define(
        name,
        "x",
        infer=infer or elementwise(name, dtype=dtype, floating=floating, kinds=kinds),
        body=body,
        scalar=scalar,
        doc=doc,
        grad=grad,
        no_grad=no_grad,
        axes="... -> ...",
        traits=("pure", "elementwise", *(("floating",) if floating else ()), *traits),
        promotes=True,
        examples=examples,
        wrong=(InvalidExample((x, x), {}, f"{name} takes the tensors (x)", ArgumentError), *_wrong_kind(kinds, 1)),
        family=family_of(body),
        onnx=onnx,
    )


def binary(
    name: str, body: Callable[..., Any], scalar: str, doc: str, grad: Callable[..., Any] | None = None, *,
    x: np.ndarray[Any, Any] = example_inputs.SIGNED, y: np.ndarray[Any, Any] = example_inputs.OTHER, weak: Any = 2.0,
    kinds: str = KINDS, floating: bool = False, dtype: DType | None = None, no_grad: str = "",
    traits: Sequence[str] = (),
) -> Op:  # fmt: skip
    """An elementwise record of two inputs. ``x``, ``y``, ``weak`` (a Python scalar): examples."""
    examples = [
        Example((x, y)),
        Example((x, y[0])),
        Example((x[:, :1], y[1])),
        Example((x[0, 1].copy(), y)),
        Example((x, weak)),
        Example((x[:0], y[:1])),
    ]
    return define(
        name,
        "x, y",
        infer=elementwise(name, dtype=dtype, floating=floating, kinds=kinds),
        body=body,
        scalar=scalar,
        doc=doc,
        grad=grad,
        no_grad=no_grad,
        axes="..., ... -> ...",
        traits=("pure", "elementwise", *(("floating",) if floating else ()), *traits),
        promotes=True,
        examples=examples,
        wrong=(InvalidExample((x, y[:, :2]), {}, "do not broadcast", ShapeError), *_wrong_kind(kinds, 2)),
        family=family_of(body),
    )


def adjoint(x: Any) -> Any:
    """The conjugate of a complex tensor; a real one (or a number) as it is."""
    return find("conj")(x) if isinstance(x, Tensor) and x.dtype.is_complex else x


def times_adjoint(dout: Any, slope: Any) -> Any:
    """The gradient through a function with derivative ``slope``."""
    return dout * adjoint(slope)


def wide(xp: Any, x: Any) -> Any:
    """Half precision as float32, for bodies that compute in several steps; everything else as it is."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind not in "iu" else x
