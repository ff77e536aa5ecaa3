"""The gradient by a tensor of truth values, under MindSpore's names: whether the real one is other than zero."""

from __future__ import annotations

from typing import Any

import pytest

import msnb as ms
from msnb import Tensor, ops

X, FLAGS, SENS = Tensor([1.0, 2.0, 3.0]), Tensor([True, False, True]), Tensor([0.5, 0.0, -2.0])
COUNTED, CHOOSES = [True, False, True], [False, False, False]
PROGRAMS: dict[str, tuple[Any, list[bool]]] = {
    "sum": (lambda x, b: x + b, COUNTED),
    "product": (lambda x, b: x * b, COUNTED),
    "cast": (lambda x, b: x - b.astype(ms.float32), COUNTED),
    "where": (lambda x, b: ops.where(b, x, -x), CHOOSES),
    "and": (lambda x, b: x * ops.logical_and(b, x > 1), CHOOSES),
    "fill": (lambda x, b: ops.masked_fill(x, b, 0.0), CHOOSES),
    "not": (lambda x, b: x * ~b, CHOOSES),
    "branch": (lambda x, b: x * 2 if b.any() else x, CHOOSES),
}


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_gradient_by_truth_values(mode: int, name: str) -> None:
    import mindspore

    fn, want = PROGRAMS[name]
    by_x, by_flags = mindspore.ops.GradOperation(get_all=True, sens_param=True)(fn)(X, FLAGS, SENS)
    assert by_flags.dtype is ms.bool_ and by_flags.tolist() == want
    alone = mindspore.ops.GradOperation(sens_param=True)(lambda x, s=FLAGS: fn(x, s))(X, SENS)
    assert by_x.tolist() == alone.tolist()


def test_it_is_an_error_of_msnb(mode: int) -> None:
    with pytest.raises(TypeError, match="bool"):
        ms.grad(lambda x, b: x * b, 1)(X, FLAGS)
