"""Two values of one variable, from two branches or two turns of a loop, that are no one value: which error says so.

tensors of two shapes                             ShapeError       runs as Python under MindSpore's names
tensors of two dtypes                             DTypeError       refused, as in MindSpore
a tensor, number or text and one of another kind  BranchTypeError  refused, as in MindSpore
anything else: None, a list, an array, an object  CaptureError     runs as Python under MindSpore's names
"""

from __future__ import annotations

import linecache
from typing import Any

from msnb.base.errors import BranchTypeError, CaptureError, DTypeError, MsnbError, ShapeError
from msnb.base.source_location import Where
from msnb.core import Tensor
from msnb.graph.capture.values.lazy_values import is_lazy, is_number

IN_MINDSPORE = "in MindSpore's words: Cannot join the return values of different branches."
_SINGLE = ("tensor", "number", "text")


def error_kind(a: Any, b: Any, pythonic: Any) -> type[MsnbError]:
    """The class of the error for two values that cannot be merged."""
    kinds = _kind(a, pythonic), _kind(b, pythonic)
    if kinds == ("tensor", "tensor"):
        return ShapeError if a.shape != b.shape else DTypeError
    unlike = kinds[0] != kinds[1] and None not in kinds and any(k in _SINGLE for k in kinds)
    return BranchTypeError if unlike else CaptureError


def may_break(kind: type[MsnbError]) -> bool:
    """Whether MindSpore runs such a program, as Python."""
    return kind not in (DTypeError, BranchTypeError)


def _kind(x: Any, pythonic: Any) -> str | None:
    if is_lazy(x) or is_number(x) or pythonic.has(x):
        return "number"
    for kind, name in ((Tensor, "tensor"), (str, "text"), (tuple, "tuple"), (dict, "dict")):
        if isinstance(x, kind):
            return name
    return None


def place(where: Where | None, line: int) -> str:
    """The line that gave a value, for a sentence about the code at ``where``: `` (line 4: y = 0)``."""
    if not line:
        return ""
    text = "" if where is None else linecache.getline(where.file, line).strip()
    return f" (line {line}: {text})" if text else f" (line {line})"
