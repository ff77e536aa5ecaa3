"""Elementwise arithmetic: one value per position, operands broadcast and promote.

Gradient rules ignore broadcasting and promotion: the autodiff engine sums a gradient to its input's shape and casts it
to its input's dtype.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.core.errors import ShapeError
from msnb.ops.infer import elementwise
from msnb.ops.record import Example, Op, Wrong, define

_A = np.array([[0.5, -1.25, 2.0], [1.5, 0.25, -0.75]])
_B = np.array([[1.5, 0.5, -2.0], [0.75, 1.25, 2.5]])
_ROW = np.array([0.5, 1.5, 2.5])


def _binary(name: str, body: Any, scalar: str, grad: Any, doc: str, *traits: str, floating: bool = False) -> Op:
    return define(
        name,
        "x, y",
        infer=elementwise(name, floating=floating),
        body=body,
        scalar=scalar,
        grad=grad,
        axes="..., ... -> ...",
        traits=("pure", "elementwise", *traits),
        promotes=True,
        doc=doc,
        family="elementwise",
        examples=(Example((_A, _B)), Example((_A, _ROW)), Example((_A, 2.0))),
        wrong=(Wrong((_A, _B[:, :2]), {}, "do not broadcast", ShapeError),),
    )


add = _binary("add", lambda xp, x, y: xp.add(x, y), "x + y", lambda dout: (dout, dout), "Sum.", "commutative", "ufunc")
mul = _binary(
    "multiply", lambda xp, x, y: xp.multiply(x, y), "x * y", lambda dout, x, y: (dout * y, dout * x), "Product.",
    "commutative", "ufunc",
)  # fmt: skip
