"""Methods of tensors that write, with the meaning of ``x[...] = value``, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Tensor


def run(fn: Any, *inputs: Any) -> Any:
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


def test_the_object_stands_for_the_new_value(mode: int) -> None:
    def f(x: Any, y: Any) -> Any:
        z = x + 0
        same = z.add_(y).mul_(2)
        z.sub_(1).clamp_(0, 5)
        return z, same

    z, same = run(f, Tensor([1.0, 2.0]), Tensor([-1.0, 3.0]))
    assert z.tolist() == same.tolist() == [0.0, 5.0]


def test_an_argument_is_written(mode: int) -> None:
    x = Tensor([1.0, 2.0, 3.0])

    def f(x: Any) -> Any:
        x.add_(10)
        return x * 2

    assert run(f, x).tolist() == [22.0, 24.0, 26.0]
    assert x.tolist() == [11.0, 12.0, 13.0]


def test_under_a_branch_that_a_tensor_decides(mode: int) -> None:
    def f(x: Any, y: Any) -> Any:
        z = x + 0
        if y.sum() > 0:
            z.mul_(3)
        return z

    assert run(f, Tensor([1.0]), Tensor([1.0])).tolist() == [3.0]
    assert run(f, Tensor([1.0]), Tensor([-1.0])).tolist() == [1.0]


def test_gradients_go_through(mode: int) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        y.mul_(x).add_(x)
        return y.sum()

    assert run(ms.grad(f), Tensor([2.0, 3.0])).tolist() == [5.0, 7.0]


def test_filling_and_copying(mode: int) -> None:
    x = Tensor(np.zeros((2, 2), np.float32))
    assert x.fill_(3).tolist() == [[3.0, 3.0]] * 2 and x.copy_(Tensor([1.0, 2.0])).tolist() == [[1.0, 2.0]] * 2
    assert x.zero_() is x and x.tolist() == [[0.0, 0.0]] * 2
    assert x.masked_fill_(Tensor([[True, False]] * 2), 7.0).tolist() == [[7.0, 0.0]] * 2
    assert all(3 <= n < 4 for n in x.uniform_(3, 4).reshape(-1).tolist()) and x.normal_(2, 0).tolist()[0] == [2.0, 2.0]
    whole = Tensor([5, 6])
    assert whole.add_(1).dtype is ms.int64 and whole.tolist() == [6, 7]
    with pytest.raises(TypeError, match="add_: a tensor of Int64 cannot hold Float32"):
        whole.add_(0.5)
    assert whole.tolist() == [6, 7]


def test_a_part_goes_back_to_its_tensor_unless_it_has_a_name() -> None:
    x = Tensor([[0.0, 1.0], [3.0, 4.0]])
    x[0].add_(1)
    row = x[0]
    assert row.add_(1).tolist() == [2.0, 3.0] and x.tolist()[0] == [1.0, 2.0]
    with pytest.raises(ValueError, match="broadcast|shape"):
        row.add_(Tensor([[1.0], [2.0]]))
    assert row.tolist() == [2.0, 3.0]
    assert (x + 1).add_(1).tolist()[0] == [3.0, 4.0]  # the result is what is kept


def test_primitives_that_write_their_first_input(mode: int) -> None:
    """``IndexAdd`` and ``InplaceIndexAdd`` wrote Parameters only: a tensor stayed as it was, in silence."""
    from mindspore.ops.auto_generate import gen_ops_prim as prim
    from mindspore.ops.operations import IndexAdd, InplaceIndexAdd

    def all_of_them(x: Any, y: Any) -> Any:
        prim.InplaceAddExt()(x, y)
        added = x * 1
        prim.InplaceSubExt()(x, y, 2)
        subtracted = x * 1
        prim.InplaceMul()(x, y)
        prim.InplaceDiv()(x, 2)
        multiplied = x * 1
        prim.InplaceCopy()(x, y + 1)
        return added, subtracted, multiplied, x

    ready = ms.jit(all_of_them) if mode == ms.GRAPH_MODE else all_of_them
    x = Tensor([1.0, 2.0])
    found = ready(x, Tensor([3.0, 4.0]))
    assert [v.tolist() for v in found] == [[4, 6], [-2, -2], [-3, -4], [4, 5]] and x.tolist() == [4, 5]
    index = Tensor([0, 2], ms.int32)
    for operator in (IndexAdd(0), InplaceIndexAdd(axis=0)):
        x = Tensor([1.0, 2.0, 3.0])
        written = ms.jit(operator) if mode == ms.GRAPH_MODE else operator
        assert written(x, index, Tensor([10.0, 20.0])).tolist() == [11, 2, 23] and x.tolist() == [11, 2, 23]


def test_gradients_through_what_is_written(mode: int) -> None:
    from mindspore.ops.auto_generate import gen_ops_prim as prim

    def loss(x: Any, y: Any) -> Any:
        z = x * 2
        prim.InplaceAddExt()(z, y)
        prim.InplaceZero()(y)
        return (z * z).sum()

    assert ms.grad(loss)(Tensor([1.0, 2.0]), Tensor([3.0, 4.0])).tolist() == [20, 32]
