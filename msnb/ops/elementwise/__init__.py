"""Operators that work position by position."""

from msnb.ops.elementwise.cast import is_complex, limit, real
from msnb.ops.elementwise.comparison import equal, isnan, where
from msnb.ops.elementwise.factory import adjoint, times_adjoint
from msnb.ops.elementwise.identity_and_effects import assign, identity, stop_gradient
from msnb.ops.elementwise.transcendental import exp, rsqrt

__all__ = [
    "adjoint", "assign", "equal", "exp", "identity", "is_complex", "isnan", "limit", "real", "rsqrt", "stop_gradient",
    "times_adjoint", "where",
]  # fmt: skip
