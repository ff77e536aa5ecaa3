"""What a routine of linear algebra says where it fails: which operation, why, and the way out."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from msnb.base.errors import LinAlgError

_CAUSES = {
    "definite": (
        "{name}: the matrix is not positive definite.",
        "a covariance becomes definite with a small multiple of the identity: x + 1e-6 * ops.eye(n).",
    ),
    "singular": (
        "{name}: the matrix is singular, it has no inverse.",
        "ops.pinv and ops.lstsq need no inverse; a small multiple of the identity makes a matrix regular.",
    ),
    "converge": (
        "{name}: the decomposition does not converge; NaN or inf among the elements is the usual cause.",
        "ops.isfinite(x).all() tells.",
    ),
}


def refusing(name: str, body: Callable[..., Any]) -> Callable[..., Any]:
    """A reference body whose failures are ours.

    Args:
        name: of the operation; body: ``body(xp, *arrays, **attrs)`` on ``xp.linalg``.

    Raises:
        LinAlgError: the library refused the matrix.
    """

    @functools.wraps(body)
    def run(xp: Any, *arrays: Any, **attrs: Any) -> Any:
        try:
            return body(xp, *arrays, **attrs)
        except np.linalg.LinAlgError as error:
            said = str(error)
            cause = next((c for word, c in _CAUSES.items() if word in said.lower()), ("{name}: " + said, ""))
            raise LinAlgError(cause[0].format(name=name), hint=cause[1]) from error

    return run
