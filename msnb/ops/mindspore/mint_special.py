"""``msnb.mint.special`` and ``msnb.mint.linalg``: special functions and linear algebra under PyTorch's names."""

from __future__ import annotations

from typing import Any

from msnb import ops
from msnb.base.missing_names import public_names
from msnb.ops.linalg.factorization import matrix_norm as matrix_norm, qr as qr
from msnb.ops.math.clip_norm_interpolate import norm as norm, vector_norm as vector_norm
from msnb.ops.mindspore.mint import round as round
from msnb.ops.mindspore.mint_functional import log_softmax as log_softmax

_SAME = ("erfc", "exp2", "expm1", "log1p", "sinc")
for _name in _SAME:
    globals()[_name] = getattr(ops, _name)
__all__ = [*_SAME, "inv", "log_softmax", "matrix_norm", "norm", "qr", "round", "vector_norm"]


def inv(A: Any) -> Any:
    """The inverse of square matrices; Raises LinAlgError where there is none.

    Examples:
        >>> import msnb as ms
        >>> ms.mint.linalg.inv(ms.Tensor([[2.0]])).tolist()
        [[0.5]]
    """
    return ops.inverse(A)


def __dir__() -> list[str]:
    return public_names(__name__)
