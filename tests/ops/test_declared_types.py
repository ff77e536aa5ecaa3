"""What a result says of itself is what it is: shape and dtype of every record's examples, op by op, at both levels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb.core.types import TensorType
from msnb.ops.definition.record import REGISTRY

LARGE = 1 << 16  # elements from which eager mode has native kernels at O1


def tensors(values: tuple[Any, ...]) -> list[Any]:
    return [ms.Tensor(v) if isinstance(v, np.ndarray) else v for v in values]


def hold_types(found: Any, what: Any) -> None:
    for part in found if isinstance(found, tuple) else (found,):
        if isinstance(part, ms.Tensor) and isinstance(part._type, TensorType):
            data = part.asnumpy()
            assert (part.shape, part.dtype.numpy) == (data.shape, data.dtype), what


@pytest.mark.parametrize("level", ["O0", "O1"])
def test_every_example(level: str) -> None:
    ms.set_context(jit_level=level)
    for op in list(REGISTRY.values()):
        if op.traits & {"effect", "control", "collective"}:
            continue
        for example in op.examples:
            hold_types(op(*tensors(example.inputs), **example.attrs), (op.name, example))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min", "any", "all", "prod", "var", "argmax", "count_nonzero"])
def test_long_rows_and_many_elements(name: str) -> None:
    """Where native kernels run in eager mode."""
    ms.set_context(jit_level="O1")
    x = ms.Tensor(np.random.default_rng(0).normal(size=(LARGE // 256, 256)).astype(np.float32))
    for axis in (None, 0, 1, *(() if name == "argmax" else ((), (0, 1)))):
        for kept in (False, True):
            hold_types(getattr(ms.ops, name)(x, axis, kept), (name, axis, kept))
