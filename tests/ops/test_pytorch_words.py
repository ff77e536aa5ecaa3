"""PyTorch's words for arguments, its pairs with names, its methods that write: what a newcomer types first works."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.core import events, tree

X = ms.Tensor(np.array([[3.0, 1.0, 2.0], [-1.0, 5.0, 0.5]], np.float32))
INDEX = ms.Tensor([[0, 2], [1, 1]])
W = ms.Tensor(np.linspace(-1, 1, 27).astype(np.float32).reshape(3, 3, 3))


def leaves(value: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in tree.flatten(value)[0]]


SAME = """
x.sum(dim=1, keepdim=True)                      x.sum(1, True)
x.mean(dim=(0, 1))                              x.mean()
x.softmax(dim=0)                                x.softmax(0)
ops.log_softmax(x, dim=-1)                      ops.log_softmax(x, -1)
x.std(dim=1, unbiased=True)                     x.std(1, 1)
x.var(dim=0, correction=1)                      x.var(0, 1)
ops.var(x, dim=1, unbiased=False, keepdim=True)  ops.var(x, 1, 0, True)
x.norm(p=1, dim=1, keepdim=True)                x.norm(1, 1, True)
x.cumsum(dim=1)                                 x.cumsum(1)
x.flip(dims=[0])                                x.flip(0)
x.chunk(3, dim=1)                               x.chunk(3, 1)
x.split(2, dim=1)                               x.split(2, 1)
x.unbind(dim=1)                                 x.unbind(1)
x.argsort(dim=1, descending=True)               x.argsort(1, True)
x.median(dim=1)                                 x.median(1)
x.quantile(0.5, dim=1)                          x.quantile(0.5, 1)
x.diff(dim=1)                                   x.diff(1, 1)
x.unsqueeze(dim=0)                              x[None]
ops.squeeze(x[None], dim=0)                     x
ops.stack([x, x], dim=1)                        ops.stack([x, x], 1)
ops.cat((x, x), dim=-1)                         ops.concat((x, x), axis=-1)
ops.gather_elements(x, dim=1, index=INDEX)      ops.gather_elements(x, 1, INDEX)
x.index_select(dim=0, index=INDEX[1])           x[INDEX[1]]
x.diagonal(dim1=1, dim2=0)                      x.diagonal(0, 1, 0)
ops.tensordot(x, x, dims=([1], [1]))            x @ x.T
ops.cosine_similarity(x, x, dim=1)              ops.cosine_similarity(x, x, 1)
ops.repeat_interleave(x, 2, dim=0)              ops.repeat_interleave(x, 2, 0)
x.max(dim=1)                                    (x.amax(1), x.argmax(1))
x.min(dim=0, keepdim=True)                      (x.amin(0, True), x.argmin(0, True))
x.amax(dim=1)                                   x.max(1)
x.max(dim=1).indices                            x.argmax(1)
x.topk(2, dim=1).values                         x.topk(2, 1)[0]
x.sort(dim=0).indices                           x.sort(0)[1]
x.kthvalue(2, dim=1).values                     x.kthvalue(2, 1)[0]
x.add(x, alpha=2)                               x + 2 * x
x.sub(1, alpha=0.5)                             x - 0.5
x.div(2, rounding_mode="floor")                 x // 2
x.div(2, rounding_mode="trunc")                 ops.trunc(x / 2)
INDEX.div(2.5, rounding_mode="trunc")           ops.trunc(INDEX / 2.5)
nn.Softmax(dim=0)(x)                            x.softmax(0)
x.gather(dim=1, index=INDEX)                    ops.gather_elements(x, 1, INDEX)
ops.take_along_dim(x, x.argsort(1), dim=1)      x.sort(1)[0]
x.select(1, -1)                                 x[:, -1]
x.gelu()                                        ops.gelu(x)
x.cdist(x)                                      ops.cdist(x, x)
ops.where(x > 1)                                ops.nonzero(x > 1, as_tuple=True)
ops.where(x > 1, x=x, y=0)                      ops.where(x > 1, x, 0)
ops.normalize(x, dim=0)                         x / ops.norm(x, dim=0, keepdim=True)
ops.normalize(x, p=1)                           x / x.abs().sum(1, True)
ops.bilinear(x, x, W, x[0])                     ops.einsum("bi,oij,bj->bo", x, W, x) + x[0]
"""


@pytest.mark.parametrize("line", SAME.strip().splitlines(), ids=lambda line: line.split("  ")[0])
@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_words_of_pytorch(line: str, compiled: bool) -> None:
    names = {"ops": ops, "nn": nn, "INDEX": INDEX, "W": W}
    said, _, meant = line.partition("  ")
    fn = eval(f"lambda x: {said}", names)
    found = (ms.jit(fn) if compiled else fn)(X)
    for one, other in zip(leaves(found), leaves(eval(meant.strip(), {**names, "x": X})), strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)  # generated code rounds in another order


def test_words_that_mean_nothing_are_refused() -> None:
    with pytest.raises(TypeError, match="keyword"):
        X.softmax(dims_of=1)
    with pytest.raises(TypeError, match="multiple values"):
        X.softmax(1, dim=1)
    with pytest.raises(TypeError, match="sum takes an argument by one name, got axis, dim"):
        X.sum(axis=0, dim=1)
    with pytest.raises(ms.MsnbError, match="rounding_mode is None, 'floor' or 'trunc'"):
        X.div(2, rounding_mode="up")


def test_whole_numbers_are_divided_exactly(mode: int) -> None:
    x, y = [2**40 + 1, -(2**40) - 1, 7, -7, -6], [1, 1, -2, -2, 3]
    fn = lambda x, y: x.div(y, rounding_mode="trunc")  # noqa: E731
    found = (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(ms.Tensor(x), ms.Tensor(y))
    assert found.dtype == ms.int64 and found.tolist() == [2**40 + 1, -(2**40) - 1, -3, 3, -2]


def test_strides_are_those_of_dense_values() -> None:
    x = ms.ops.zeros((2, 3, 4))
    assert x.stride() == (12, 4, 1) and x.stride(-1) == 1 and x.strides == x.asnumpy().strides
    assert ms.ops.zeros((3, 0)).stride() == (1, 1) and ms.Tensor(1.0).stride() == ()


def test_parameters_take_values_in_place(mode: int) -> None:
    p = ms.Parameter(np.ones(3, np.float32), name="p")

    def step(g: Any) -> Any:
        p.mul_(2).add_(g, alpha=-0.5)
        p.clamp_(0, 1.75)
        return p.sum()

    run = ms.jit(step) if mode == ms.GRAPH_MODE else step
    assert float(run(ms.Tensor([1.0, 2.0, 6.0]))) == 2.5
    assert p.tolist() == [1.5, 1.0, 0.0] and p.copy_(ms.Tensor([1.0, 2.0, 3.0])) is p
    assert p.fill_(4).tolist() == [4.0] * 3 and p.zero_().tolist() == [0.0] * 3
    for _ in range(2):
        assert all(3 <= number < 4 for number in p.uniform_(3, 4).tolist()) and p.normal_(0, 0).tolist() == [0.0] * 3
    whole = ms.Parameter(np.array([1, 2]), name="whole")
    with pytest.raises(TypeError, match="int64"):
        whole.add_(0.5)
    with pytest.raises(ValueError, match="broadcast|shape"):
        p.add_(ops.ones((2, 3)))


def test_a_plain_tensor_says_why_it_does_not() -> None:
    with pytest.raises(AttributeError, match="those of Parameters aside; write x = x.add"):
        X.add_(1)
    for word in ("zero_", "normal_", "uniform_"):
        with pytest.raises(AttributeError, match=f"Tensor.{word} is for Parameters: .*; write x = ops"):
            getattr(X[0], word)


def test_repeat_is_numpys_and_says_so() -> None:
    events.forget_notices()
    told: list[str] = []
    with events.listening("notice", lambda text, **_: told.append(text)):
        assert X.repeat(2, 1).shape == (2, 6)
        assert X.repeat(2, axis=0).shape == (4, 3) and X.repeat(repeats=2).shape == (12,)
    assert len(told) == 1 and "PyTorch's is x.tile((2, 1))" in told[0]
    with pytest.raises(ms.MsnbError, match="repeat takes repeats and axis"):
        X.repeat(2, 1, 1)


def test_optimizers_take_lr() -> None:
    net = nn.Dense(2, 1)
    assert repr(nn.Adam(net.trainable_params(), lr=0.5)) == repr(nn.Adam(net.trainable_params(), learning_rate=0.5))
    with pytest.raises(TypeError, match="keyword"):
        nn.Adam(net.trainable_params(), rate=0.5)
