"""A tensor of one number along axis 0 or -1, as NumPy and MindSpore take it. Both modes."""

from __future__ import annotations

from typing import Any

import pytest

import msnb
from msnb import Tensor, ops


def run(fn: Any, *inputs: Any) -> Any:
    return (msnb.jit(fn) if msnb.get_context("mode") == msnb.GRAPH_MODE else fn)(*inputs)


NAMES = "sum mean prod amax amin max min logsumexp nansum nanmean softmax log_softmax argmax argmin count_nonzero"


@pytest.mark.parametrize("name", NAMES.split())
def test_axes_of_a_number(mode: int, name: str) -> None:
    expected = {"softmax": 1, "log_softmax": 0, "argmax": 0, "argmin": 0, "count_nonzero": 1}.get(name, 1.5)
    for axis in (0, -1):
        found = run(lambda x, a=axis: getattr(ops, name)(x, a), Tensor(1.5))
        found = found[0] if isinstance(found, tuple) else found
        assert found.shape == () and found.item() == pytest.approx(expected)
    for axis in (1, -2):
        with pytest.raises(ValueError, match="outside a tensor of 0 axes"):
            run(lambda x, a=axis: getattr(ops, name)(x, a), Tensor(1.5))


def test_truth_and_gradient_along_the_axis_of_a_number(mode: int) -> None:
    for name in ("any", "all"):
        assert run(lambda x, n=name: getattr(ops, n)(x, 0), Tensor(True)).item() is True
    assert run(lambda x: ops.sum(x, (0,), True), Tensor(1.5)).shape == ()
    for fn, slope in ((ops.sum, 1), (ops.mean, 1), (ops.logsumexp, 1), (ops.softmax, 0), (ops.log_softmax, 0)):
        assert run(msnb.grad(lambda x, f=fn: f(x, 0)), Tensor(1.5)).item() == slope


def test_a_tensor_resized_to_nothing_and_copied() -> None:
    x = Tensor([[1.0, 2.0]])
    assert x.resize().tolist() == [[1.0, 2.0]]
    x.copy_(Tensor([[3.0, 4.0]]), True)
    assert x.tolist() == [[3.0, 4.0]]
    x.copy_(Tensor([[5.0, 6.0]]), non_blocking=True)
    assert x.tolist() == [[5.0, 6.0]]
    with pytest.raises(TypeError):
        x.copy_()
