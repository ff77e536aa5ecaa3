"""Functions of one number, arithmetic, comparisons, logic, bits and products of matrices."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb import ops
from msnb.base import AttributeValueError
from msnb.core import Tensor
from msnb.onnx.operator_table import Known, known, operator, tensor
from msnb.onnx.operators.shape_manipulation import plain

_UNARY: dict[str, Callable[..., Any]] = {
    "Abs": ops.abs, "Acos": ops.acos, "Acosh": ops.acosh, "Asin": ops.asin, "Asinh": ops.asinh, "Atan": ops.atan,
    "Atanh": ops.atanh, "Ceil": ops.ceil, "Cos": ops.cos, "Cosh": ops.cosh, "Erf": ops.erf, "Exp": ops.exp,
    "Floor": ops.floor, "Log": ops.log, "Neg": ops.neg, "Not": ops.logical_not, "Reciprocal": ops.reciprocal,
    "Round": ops.round, "Sigmoid": ops.sigmoid, "Sign": ops.sign, "Sin": ops.sin, "Sinh": ops.sinh, "Sqrt": ops.sqrt,
    "Tan": ops.tan, "Tanh": ops.tanh, "IsNaN": ops.isnan, "BitwiseNot": ops.bitwise_not, "Det": ops.det,
    "Relu": ops.relu, "HardSwish": ops.hardswish, "Mish": ops.mish, "Softplus": ops.softplus, "Softsign": ops.softsign,
}  # fmt: skip

_BINARY: dict[str, Callable[..., Any]] = {
    "Add": ops.add, "Sub": ops.sub, "Mul": ops.mul, "And": ops.logical_and, "Or": ops.logical_or,
    "Xor": ops.logical_xor, "Greater": ops.greater, "GreaterOrEqual": ops.greater_equal,
    "Less": ops.less, "LessOrEqual": ops.less_equal, "BitwiseAnd": ops.bitwise_and, "BitwiseOr": ops.bitwise_or,
    "BitwiseXor": ops.bitwise_xor, "MatMul": ops.matmul,
}  # fmt: skip


def _enter_unary(name: str, fn: Callable[..., Any]) -> None:
    @operator(name)
    def unary(x: Tensor, *, consumed_inputs: Any = None) -> Any:
        return fn(x)


def _enter_binary(name: str, fn: Callable[..., Any]) -> None:
    @operator(name)
    def old(x: Tensor, y: Tensor, *, axis: int | None = None, broadcast: int = 0, consumed_inputs: Any = None) -> Any:
        return fn(x, laid_beside(x, y, axis, broadcast))

    @operator(name, since=7)
    def binary(x: Tensor, y: Tensor) -> Any:
        return fn(x, y)


def laid_beside(x: Any, y: Any, axis: int | None, broadcast: int) -> Any:
    """``y`` with axes behind it, so that its own begin at ``axis`` of ``x``: broadcasting before version 7."""
    if not broadcast or axis is None or not y.ndim:
        return y
    start = axis if axis >= 0 else axis + x.ndim
    return ops.reshape(y, (*y.shape, *(1,) * (x.ndim - start - y.ndim)))


for _name, _fn in _UNARY.items():
    _enter_unary(_name, _fn)


def quotient(x: Any, y: Any) -> Any:
    """x / y; of integers, toward zero."""
    return ops.div(x, y) if x.dtype.is_float else ops.truncate_div(x, y)


for _name, _fn in (_BINARY | {"Div": quotient}).items():
    _enter_binary(_name, _fn)


@operator("Equal")
def equal(x: Any, y: Any, *, axis: int | None = None, broadcast: int = 0) -> Any:
    """Where both are the same; texts too."""
    if plain(x) or plain(y):
        return np.asarray(known(x) == known(y))
    return ops.equal(tensor(x), laid_beside(tensor(x), tensor(y), axis, broadcast))


@operator("Pow")
def power(x: Tensor, y: Tensor, *, axis: int | None = None, broadcast: int = 0) -> Any:
    """The result has the dtype of the base."""
    y = laid_beside(x, y, axis, broadcast)
    if x.dtype == y.dtype:
        return ops.pow(x, y)
    wide = x if x.dtype.is_float else x.astype("float64")
    return ops.pow(wide, y.astype(wide.dtype)).astype(x.dtype)


@operator("Mod")
def modulo(x: Tensor, y: Tensor, *, fmod: int = 0) -> Any:
    """``fmod``: the sign of the dividend, as in C; else of the divisor, as in Python."""
    return ops.fmod(x, y) if fmod else ops.floor_mod(x, y)


def _enter_variadic(name: str, fn: Callable[..., Any]) -> None:
    @operator(name)
    def variadic(*xs: Tensor, consumed_inputs: Any = None) -> Any:
        return functools.reduce(fn, xs)


for _name, _fn in {"Max": ops.maximum, "Min": ops.minimum, "Sum": ops.add}.items():
    _enter_variadic(_name, _fn)


@operator("Mean")
def mean(*xs: Tensor, consumed_inputs: Any = None) -> Any:
    """The mean of any number of tensors."""
    return functools.reduce(ops.add, xs) / len(xs)


@operator("BitShift")
def bit_shift(x: Tensor, y: Tensor, *, direction: str) -> Any:
    """Shift by y bits; what leaves the integer is lost."""
    if direction not in ("LEFT", "RIGHT"):
        raise AttributeValueError(f"BitShift: direction is LEFT or RIGHT, got {direction!r}.")
    return (ops.bitwise_left_shift if direction == "LEFT" else ops.bitwise_right_shift)(x, y)


@operator("IsInf")
def is_inf(x: Tensor, *, detect_negative: int = 1, detect_positive: int = 1) -> Any:
    """Where x is infinite, with the signs that are asked for."""
    found = ops.isinf(x)
    if not detect_negative:
        found = ops.logical_and(found, x > 0)
    if not detect_positive:
        found = ops.logical_and(found, x < 0)
    return found


@operator("Where")
def where(condition: Tensor, x: Any, y: Any) -> Any:
    """x where the condition holds, else y; texts too."""
    return ops.where(condition, x, y)


@operator("Gemm")
def gemm(a: Tensor, b: Tensor, c: Tensor | None = None, *, alpha: float = 1.0, beta: float = 1.0, transA: int = 0,
         transB: int = 0, broadcast: int = 1) -> Any:  # fmt: skip
    """alpha a b + beta c."""
    product = ops.matmul(ops.transpose(a, (1, 0)) if transA else a, ops.transpose(b, (1, 0)) if transB else b)
    if alpha != 1.0:
        product = scaled(product, alpha)
    return product if c is None else product + (c if beta == 1.0 else scaled(c, beta))


def scaled(x: Any, factor: float) -> Any:
    """x times a number, in the dtype of x."""
    return x * factor if x.dtype.is_float else (x.astype("float64") * factor).astype(x.dtype)


@operator("MatMulInteger")
def matmul_integer(a: Tensor, b: Tensor, a_zero: Tensor | None = None, b_zero: Tensor | None = None) -> Any:
    """A product of 8-bit matrices in 32 bits."""
    a, b = a.astype("int32"), b.astype("int32")
    if a_zero is not None:
        zero = a_zero.astype("int32")
        a = a - (ops.expand_dims(zero, -1) if zero.ndim else zero)
    return ops.matmul(a, b if b_zero is None else b - b_zero.astype("int32"))


@operator("Einsum")
def einsum(*xs: Tensor, equation: str) -> Any:
    """Einstein's sum."""
    return ops.einsum(equation.replace(" ", ""), *xs)


@operator("CumSum")
def cumsum(x: Tensor, axis: Known, *, exclusive: int = 0, reverse: int = 0) -> Any:
    """Running sums."""
    return ops.cumsum(x, int(axis.reshape(())), x.dtype, exclusive=bool(exclusive), reverse=bool(reverse))


@operator("CumProd")
def cumprod(x: Tensor, axis: Known, *, exclusive: int = 0, reverse: int = 0) -> Any:
    """Running products."""
    return ops.cumprod(x, int(axis.reshape(())), x.dtype, exclusive=bool(exclusive), reverse=bool(reverse))


@operator("Trilu")
def trilu(x: Tensor, k: Known | None = None, *, upper: int = 1) -> Any:
    """The upper or lower triangle."""
    return (ops.triu if upper else ops.tril)(x, 0 if k is None else int(k.reshape(())))
