"""The constant: a value that is part of the program."""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.core import TensorType
from msnb.ops.definition.record import Op, define


def _infer(*, value: Any) -> TensorType:
    found: TensorType = value.type
    return found


def _body(xp: Any, *, value: Any) -> Any:
    if value.type.weak:
        return value.data
    return xp.asarray(value.data) if xp is not np else value.data


constant: Op = define(
    "constant",
    "",
    attrs=("value",),
    infer=_infer,
    body=_body,
    doc="A value that is part of the program.",
    no_grad="a constant depends on nothing",
    axes="-> ...",
    traits=("pure", "constant"),
)


def is_constant(value: Any) -> bool:
    """Whether a value of a graph is a constant."""
    return value.node is not None and value.node.op is constant
