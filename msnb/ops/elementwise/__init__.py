"""Operators that work position by position."""

from msnb.ops.elementwise.arithmetic import abs, floor, maximum, square
from msnb.ops.elementwise.cast import conj, is_complex, limit, real
from msnb.ops.elementwise.comparison import equal, isnan, where
from msnb.ops.elementwise.factory import adjoint, times_adjoint
from msnb.ops.elementwise.identity_and_effects import assign, changed, identity, stop_gradient
from msnb.ops.elementwise.logic import logical_and
from msnb.ops.elementwise.transcendental import exp, rsqrt, softplus_one

__all__ = [
    "abs", "adjoint", "assign", "changed", "conj", "equal", "exp", "floor", "identity", "is_complex", "isnan", "limit",
    "logical_and", "maximum", "real", "rsqrt", "softplus_one", "square", "stop_gradient", "times_adjoint", "where",
]  # fmt: skip
