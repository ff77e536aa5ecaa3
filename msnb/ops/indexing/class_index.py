"""Class indices: a label outside the classes is an error, never a row that silently counts for nothing.

    target    0  2  3  -1  -100        classes = 3, ignore = -100
    asked     0  2  3   3     0        what is taken from a table of 3: entry 3 is missing, so the library refuses it

The table is the test: no value is looked at, so the same body runs on devices whose values live elsewhere (libraries
that do not check their indices do not refuse there).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from msnb.base.errors import DTypeError, IndexOutOfRange
from msnb.core import TensorType
from msnb.ops.definition import Example, InvalidExample, Op, alike, define, operand_lines

FAMILY = "labels"  # of the records in this module: pictures and the JSON of graphs name it

_LABELS = np.array([0, 2, 1, -100], np.int32)


def _class_index_type(target: TensorType, *, classes: int, ignore: int) -> TensorType:
    if not target.dtype.is_int:
        raise DTypeError("class indices are integers.", operands=operand_lines(target, names=("target",)))
    return target


def no_class(target: int, classes: int, ignore: int) -> IndexOutOfRange:
    """The error for a target that is no class."""
    return IndexOutOfRange(
        f"a target is class {target}, and there are {classes} classes.",
        hint=f"classes count from 0 to {classes - 1}; {ignore} is ignored.",
    )


def _class_index_body(xp: Any, target: Any, *, classes: int, ignore: int) -> Any:
    asked = xp.where(target == ignore, 0, xp.where(target < 0, classes, target)).astype(np.int64)
    try:
        xp.take(xp.arange(max(classes, 1)), asked)
    except IndexError:
        wrong = int(target.reshape(-1)[(asked >= classes).reshape(-1)][0])
        raise no_class(wrong, classes, ignore) from None
    return target


def _class_index_numpy(types: Any, outs: Any, *, classes: int, ignore: int) -> Any:
    def run(target: Any) -> Any:
        if target.size and target.min() >= 0 and target.max() < classes:
            return target
        return _class_index_body(np, target, classes=classes, ignore=ignore)

    return run if alike(types) else None


CLASS_INDEX: Op = define(
    "class_index",
    "target",
    numpy=_class_index_numpy,
    onnx="same",
    attrs=("classes", "ignore"),
    infer=_class_index_type,
    body=_class_index_body,
    no_grad="class indices are integers",
    axes="... -> ...",
    doc="The class indices themselves, once they are known to be indices of a class.",
    examples=(Example((_LABELS,), {"classes": 3, "ignore": -100}),),
    wrong=(
        InvalidExample((_LABELS + 1,), {"classes": 3, "ignore": -99}, "a target is class 3", IndexOutOfRange),
        InvalidExample((_LABELS,), {"classes": 3, "ignore": -1}, "a target is class -100", IndexOutOfRange),
        InvalidExample((_LABELS * 0.5,), {"classes": 3, "ignore": -1}, "class indices are integers", DTypeError),
    ),
)
