"""Functions of the stored values of sparse tensors: ``csr_sin(x)`` is x with ``sin`` of its values, at the same places.

What is not stored stays zero, also where the function of zero is not (``csr_cos``, ``csr_exp``): as MindSpore has it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from msnb.base import ArgumentError
from msnb.ops.elementwise import arithmetic, comparison, transcendental
from msnb.ops.nn import activation
from msnb.ops.sparse.compressed_rows import CSRTensor
from msnb.ops.sparse.coordinates import COOTensor

__all__ = [
    "coo_abs", "coo_acos", "coo_acosh", "coo_asin", "coo_asinh", "coo_atan", "coo_atanh", "coo_ceil", "coo_cos",
    "coo_cosh", "coo_exp", "coo_expm1", "coo_floor", "coo_inv", "coo_isfinite", "coo_isinf", "coo_isnan", "coo_log",
    "coo_log1p", "coo_neg", "coo_relu", "coo_relu6", "coo_round", "coo_sigmoid", "coo_sin", "coo_sinh",
    "coo_softsign", "coo_sqrt", "coo_square", "coo_tan", "coo_tanh", "csr_abs", "csr_acos", "csr_acosh", "csr_asin",
    "csr_asinh", "csr_atan", "csr_atanh", "csr_ceil", "csr_cos", "csr_cosh", "csr_exp", "csr_expm1", "csr_floor",
    "csr_inv", "csr_isfinite", "csr_isinf", "csr_isnan", "csr_log", "csr_log1p", "csr_neg", "csr_relu", "csr_relu6",
    "csr_round", "csr_sigmoid", "csr_sin", "csr_sinh", "csr_softsign", "csr_sqrt", "csr_square", "csr_tan",
    "csr_tanh",
]  # fmt: skip

_DOC = """{name} of the stored values, at the same places.

    Args:
        x: a {kind}.

    Raises:
        TypeError: something else.

    Source: https://www.mindspore.cn/docs/en/master/api_python/ops/mindspore.ops.{kin}_{name}.html

    Examples:
        >>> import msnb as ms
        >>> ms.ops.{kin}_{name}({example}).shape
        (1, 2)
    """
_EXAMPLES = {
    "csr": "ms.CSRTensor(ms.Tensor([0, 1]), ms.Tensor([1]), ms.Tensor([0.5]), (1, 2))",
    "coo": "ms.COOTensor(ms.Tensor([[0, 1]]), ms.Tensor([0.5]), (1, 2))",
}


_Fn: TypeAlias = Callable[[Any], Any]


def _function(fn: Callable[..., Any], name: str, kin: str, kind: Any) -> Callable[[Any], Any]:
    def of_values(x: Any) -> Any:
        fits: bool = isinstance(x, kind)
        if not fits:
            raise ArgumentError(f"{kin}_{name} takes a {kind.__name__}, got {type(x).__name__}.")
        return x.with_values(fn(x.values))

    of_values.__name__ = of_values.__qualname__ = f"{kin}_{name}"
    of_values.__doc__ = _DOC.format(name=name, kin=kin, kind=kind.__name__, example=_EXAMPLES[kin])
    return of_values


def _both(fn: Callable[..., Any], name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
    return _function(fn, name, "csr", CSRTensor), _function(fn, name, "coo", COOTensor)


csr_abs, coo_abs = _both(arithmetic.abs, "abs")  # type: _Fn, _Fn
csr_acos, coo_acos = _both(transcendental.acos, "acos")  # type: _Fn, _Fn
csr_acosh, coo_acosh = _both(transcendental.acosh, "acosh")  # type: _Fn, _Fn
csr_asin, coo_asin = _both(transcendental.asin, "asin")  # type: _Fn, _Fn
csr_asinh, coo_asinh = _both(transcendental.asinh, "asinh")  # type: _Fn, _Fn
csr_atan, coo_atan = _both(transcendental.atan, "atan")  # type: _Fn, _Fn
csr_atanh, coo_atanh = _both(transcendental.atanh, "atanh")  # type: _Fn, _Fn
csr_ceil, coo_ceil = _both(arithmetic.ceil, "ceil")  # type: _Fn, _Fn
csr_cos, coo_cos = _both(transcendental.cos, "cos")  # type: _Fn, _Fn
csr_cosh, coo_cosh = _both(transcendental.cosh, "cosh")  # type: _Fn, _Fn
csr_exp, coo_exp = _both(transcendental.exp, "exp")  # type: _Fn, _Fn
csr_expm1, coo_expm1 = _both(transcendental.expm1, "expm1")  # type: _Fn, _Fn
csr_floor, coo_floor = _both(arithmetic.floor, "floor")  # type: _Fn, _Fn
csr_inv, coo_inv = _both(arithmetic.inv, "inv")  # type: _Fn, _Fn
csr_isfinite, coo_isfinite = _both(comparison.isfinite, "isfinite")  # type: _Fn, _Fn
csr_isinf, coo_isinf = _both(comparison.isinf, "isinf")  # type: _Fn, _Fn
csr_isnan, coo_isnan = _both(comparison.isnan, "isnan")  # type: _Fn, _Fn
csr_log, coo_log = _both(transcendental.log, "log")  # type: _Fn, _Fn
csr_log1p, coo_log1p = _both(transcendental.log1p, "log1p")  # type: _Fn, _Fn
csr_neg, coo_neg = _both(arithmetic.neg, "neg")  # type: _Fn, _Fn
csr_relu, coo_relu = _both(transcendental.relu, "relu")  # type: _Fn, _Fn
csr_relu6, coo_relu6 = _both(activation.relu6, "relu6")  # type: _Fn, _Fn
csr_round, coo_round = _both(arithmetic.round, "round")  # type: _Fn, _Fn
csr_sigmoid, coo_sigmoid = _both(transcendental.sigmoid, "sigmoid")  # type: _Fn, _Fn
csr_sin, coo_sin = _both(transcendental.sin, "sin")  # type: _Fn, _Fn
csr_sinh, coo_sinh = _both(transcendental.sinh, "sinh")  # type: _Fn, _Fn
csr_softsign, coo_softsign = _both(activation.softsign, "softsign")  # type: _Fn, _Fn
csr_sqrt, coo_sqrt = _both(transcendental.sqrt, "sqrt")  # type: _Fn, _Fn
csr_square, coo_square = _both(arithmetic.square, "square")  # type: _Fn, _Fn
csr_tan, coo_tan = _both(transcendental.tan, "tan")  # type: _Fn, _Fn
csr_tanh, coo_tanh = _both(transcendental.tanh, "tanh")  # type: _Fn, _Fn
