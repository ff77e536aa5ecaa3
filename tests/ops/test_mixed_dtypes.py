"""Operands of several dtypes: eager and compiled programs give the same dtype and the same numbers, whatever recipe a
device has for the operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import ops
from msnb.base.errors import MsnbError
from msnb.ops.definition.record import REGISTRY, Op

OTHERS = (np.int8, np.int32, np.float16, np.float64)
ASIDE = ("control", "stack", "random", "effect", "host")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a divisor that was cut to 0


def _several(op: Op) -> bool:
    """Whether an op promotes two tensors or more, and shows how."""
    arrays = [x for x in op.examples[0].inputs if isinstance(x, np.ndarray)] if op.examples else []
    return op.promotes and len(arrays) > 1 and not any(trait in op.traits for trait in ASIDE)


@pytest.mark.parametrize("op", [op for op in REGISTRY.values() if _several(op)], ids=lambda op: op.name)
def test_every_promoting_operator(op: Op) -> None:
    first, *more = op.examples[0].inputs
    for other in OTHERS:
        inputs = [ms.Tensor(first), *(ms.Tensor(x.astype(other)) if isinstance(x, np.ndarray) else x for x in more)]
        try:
            want = op(*inputs, **op.examples[0].attrs)
        except MsnbError:
            continue  # the operator refuses such a mixture
        found = ms.jit(lambda *given: op(*given, **op.examples[0].attrs))(*inputs)
        assert found.dtype is want.dtype, other
        # half precision meets float32 in another order of roundings; the numbers are of size 1
        np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), rtol=2e-3, atol=2e-3, err_msg=str(other))


def _written(x: Any, y: Any) -> Any:
    out = x + 0
    out[1:3] = y[:2]
    return out


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.float16, np.float64, np.bool_])
@pytest.mark.parametrize(
    "join",
    [lambda x, y: ops.concat([x, y, x], 0), lambda x, y: ops.stack([x, y], 1), _written],
    ids=["concat", "stack", "written"],
)
def test_elements_that_only_move_are_converted(join: Any, kind: type) -> None:
    x, y = ms.Tensor(np.array([0.0, 1.0, 2.0], np.float32)), ms.Tensor(np.array([1, 0, 1], kind))
    try:
        want = join(x, y)
    except MsnbError:
        with pytest.raises(MsnbError):
            ms.jit(join)(x, y)
        return
    found = ms.jit(join)(x, y)
    assert found.dtype is want.dtype and found.tolist() == want.tolist()


@pytest.mark.parametrize(
    "fn, value, slopes",
    [
        (lambda x, w: (x, x * 2) + w, 43, [3, 3]),
        (lambda x, w: w - [x[0], x[1]], 4, [-1, -1]),
        (lambda x, w: w * (x[0], 3.0), 33, [1, 0]),
        (lambda x, w: ops.mul([x, x * 2], w), 129, [3, 30]),
        (lambda x, w: ops.matmul((x, x * 2), w), 129, [3, 30]),
        (lambda x, w: ops.maximum((x, x * 2), w), 29, [3, 0]),
        (lambda x, w: ops.where(w > 5, (x, x * 2), w), 14, [0, 3]),
        (lambda x, w: ops.add([[x, x], [x, w]], 1.0), 40, [3, 3]),
    ],
)
def test_lists_of_tensors_hand_gradients_on(mode: int, fn: Any, value: float, slopes: list[float]) -> None:
    """They became arrays on the way: the gradients were zero, without a word."""
    x, w = ms.Tensor([3.0, 4.0]), ms.Tensor([1.0, 10.0])
    assert float(fn(x, w).sum()) == value
    assert ms.grad(lambda x: fn(x, w).sum())(x).tolist() == slopes
    assert float(ms.vmap(lambda x: fn(x, w).sum())(ops.stack([x, x]))[1]) == value
