"""Comparison: operands broadcast and promote, the result is bool. And the choice between two values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base import ShapeError
from msnb.core import dtypes, result_dtype, tensor_type
from msnb.ops.definition import Example, InvalidExample, Op, common_shape, define, example_inputs, find
from msnb.ops.definition.type_inference import KINDS
from msnb.ops.elementwise.factory import binary, unary

__all__ = [
    "eq", "equal", "ge", "greater", "greater_equal", "gt", "isfinite", "isinf", "isnan", "le", "less", "less_equal",
    "lt", "ne", "not_equal", "select",
]  # fmt: skip

FAMILY = "compare"  # of the records in this module: pictures and the JSON of graphs name it

_TRUTH = "the result is bool"


def _compare(name: str, body: Callable[..., Any], sign: str, doc: str, kinds: str, *traits: str) -> Op:
    return binary(
        name, body, f"x {sign} y", doc, no_grad=_TRUTH, dtype=dtypes.bool_, kinds=kinds, traits=("ufunc", *traits)
    )


equal: Op = _compare(
    "equal", lambda xp, x, y: xp.equal(x, y), "==", "x equals y; NaN equals nothing.", KINDS, "commutative"
)
not_equal = _compare("not_equal", lambda xp, x, y: xp.not_equal(x, y), "!=", "x differs from y.", KINDS, "commutative")
greater: Op = _compare("greater", lambda xp, x, y: xp.greater(x, y), ">", "x is above y.", "bif")
greater_equal: Op = _compare("greater_equal", lambda xp, x, y: xp.greater_equal(x, y), ">=", "x is y or above.", "bif")
less: Op = _compare("less", lambda xp, x, y: xp.less(x, y), "<", "x is below y.", "bif")
less_equal: Op = _compare("less_equal", lambda xp, x, y: xp.less_equal(x, y), "<=", "x is y or below.", "bif")


def _test(name: str, scalar: str, doc: str) -> Op:
    def body(xp: Any, x: Any) -> Any:
        if x.dtype.kind in "biu":
            return xp.zeros(x.shape, np.bool_) if name != "isfinite" else xp.ones(x.shape, np.bool_)
        return getattr(xp, name)(x)

    return unary(name, body, scalar, doc, no_grad=_TRUTH, dtype=dtypes.bool_, traits=())


isnan: Op = _test("isnan", "isnan(x)", "True where x is not a number.")
isinf: Op = _test("isinf", "isinf(x)", "True where x is plus or minus infinity.")
isfinite: Op = _test("isfinite", "(isnan(x) | isinf(x)) == 0", "True where x is neither NaN nor infinite.")


def _where(xp: Any, condition: Any, x: Any, y: Any) -> Any:
    """Python scalars stay weak under NumPy's own rules; two arrays meet by ours."""
    chosen = xp.asarray(condition).astype(np.bool_, copy=False)
    if hasattr(x, "dtype") and hasattr(y, "dtype") and x.dtype != y.dtype:
        met = dtypes.promote(_dtype(x), _dtype(y)).numpy
        x, y = x.astype(met, copy=False), y.astype(met, copy=False)
    return xp.where(chosen, x, y)


def _dtype(x: Any) -> dtypes.DType:
    found = dtypes.of_numpy(np.dtype(x.dtype))
    assert found is not None
    return found


def _where_numpy(types: Any, outs: Any) -> Any:
    """Floats of one dtype, or one of them a Python number."""
    condition, *chosen = types
    met = {t.dtype for t in chosen if not t.weak}
    numbers = all(not t.weak or (t.dtype.category <= outs[0].dtype.category) for t in chosen)
    plain = condition.dtype is dtypes.bool_ and not condition.weak and met == {outs[0].dtype} and numbers
    return np.where if plain and outs[0].dtype.is_float and outs[0].dtype.itemsize > 2 else None


where: Op = define(
    "where",
    "condition, x, y",
    numpy=_where_numpy,
    infer=lambda condition, x, y: tensor_type(common_shape("where", condition, x, y), result_dtype((x, y))),
    body=_where,
    scalar="where(condition, x, y)",
    grad=lambda dout, condition: (None, find("where")(condition, dout, 0), find("where")(condition, 0, dout)),
    doc="x where the condition holds (is not zero), else y.",
    axes="..., ..., ... -> ...",
    traits=("pure", "elementwise", "scalars"),
    examples=(
        Example((example_inputs.BOOLS, example_inputs.SIGNED, example_inputs.OTHER)),
        Example((example_inputs.BOOLS, example_inputs.SIGNED, example_inputs.ROW)),
        Example((example_inputs.BOOLS[:, :1], example_inputs.ROW, 0.0)),
        Example((np.array(True), example_inputs.SIGNED, example_inputs.SCALAR)),
        Example((example_inputs.BOOLS[:0], example_inputs.EMPTY, example_inputs.ROW)),
    ),
    wrong=(
        InvalidExample(
            (example_inputs.NARROW, example_inputs.SIGNED, example_inputs.OTHER), {}, "do not broadcast", ShapeError
        ),
    ),
    family="compare",
)
gt: Op = greater
ge: Op = greater_equal
lt: Op = less
le: Op = less_equal
eq: Op = equal
ne: Op = not_equal
select = where
