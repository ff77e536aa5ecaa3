"""PyTorch's words for arguments, its pairs with names, its methods that write: what a newcomer types first works."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import events
from msnb.core import pytree

X = ms.Tensor(np.array([[3.0, 1.0, 2.0], [-1.0, 5.0, 0.5]], np.float32))
INDEX = ms.Tensor([[0, 2], [1, 1]])
W = ms.Tensor(np.linspace(-1, 1, 27).astype(np.float32).reshape(3, 3, 3))


def leaves(value: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in pytree.flatten(value)[0]]


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
x.amax(dim=1)                                   x.max(axis=1)
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
    fn = lambda x, y: x.div(y, rounding_mode="trunc")
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
    with pytest.raises(AttributeError, match=r"no cumsum_; write x = x\.cumsum\(...\)"):
        X.cumsum_(1)


def test_repeat_is_numpys_and_says_so() -> None:
    events.forget_notices()
    told: list[str] = []
    with events.listening("notice", lambda text, **_: told.append(text)):
        assert X.repeat(2, 1).shape == (2, 6)
        assert X.repeat(2, axis=0).shape == (4, 3) and X.repeat(repeats=2).shape == (12,)
    assert len(told) == 1 and "PyTorch's is x.tile((2, 1))" in told[0]
    assert X.repeat(2, 1, 1).shape == (2, 2, 3)  # of three numbers, PyTorch's
    with pytest.raises(ms.MsnbError, match="takes numbers of repeats, or repeats and axis"):
        X.repeat(2, 1, axis=0)


def test_optimizers_take_lr() -> None:
    net = nn.Dense(2, 1)
    assert repr(nn.Adam(net.trainable_params(), lr=0.5)) == repr(nn.Adam(net.trainable_params(), learning_rate=0.5))
    with pytest.raises(TypeError, match="keyword"):
        nn.Adam(net.trainable_params(), rate=0.5)


def same_pair(found: Any, values: Any, indices: Any) -> None:
    np.testing.assert_array_equal(found.values.asnumpy(), values)
    np.testing.assert_array_equal(found[1].asnumpy(), indices)


def test_extremes_along_an_axis_come_with_their_indices(mode: int, rng: np.random.Generator) -> None:
    """One axis: (values, indices), as in MindSpore 2 and PyTorch; NumPy's words and several axes: values alone."""
    a = rng.permutation(24).reshape(2, 3, 4).astype(np.float32)

    def extremes(x: Any) -> Any:
        highest, at = ops.max(x, 1)
        return highest, at, x.min(-1, True), ops.max(x, axis=0), x.max(2, keepdim=True), x.median(1), ops.median(x, -1)

    def alone(x: Any) -> Any:
        return x.max(), x.min(axis=1), x.max(1, keepdims=True), x.max((0, 2)), ops.min(x), x.amax(1), x.median()

    run: Any = ms.jit if mode == ms.GRAPH_MODE else (lambda fn: fn)
    highest, at, *pairs = run(extremes)(ms.Tensor(a))
    np.testing.assert_array_equal(highest.asnumpy(), a.max(1))
    np.testing.assert_array_equal(at.asnumpy(), a.argmax(1))
    same_pair(pairs[0], a.min(-1, keepdims=True), a.argmin(-1)[..., None])
    same_pair(pairs[1], a.max(0), a.argmax(0))
    same_pair(pairs[2], a.max(2, keepdims=True), a.argmax(2)[..., None])
    same_pair(pairs[3], np.sort(a, 1)[:, 1], np.argsort(a, 1)[:, 1])
    same_pair(pairs[4], np.sort(a, -1)[..., 1], np.argsort(a, -1)[..., 1])
    found = run(alone)(ms.Tensor(a))
    wanted = (a.max(), a.min(1), a.max(1, keepdims=True), a.max((0, 2)), a.min(), a.max(1), 11.0)
    for one, other in zip(found, wanted):
        np.testing.assert_array_equal(one.asnumpy(), other)


@pytest.mark.parametrize("use", [
    lambda x: x - x.max(1), lambda x: x.max(1) - x, lambda x: x.max(1) * 2, lambda x: 2 * ops.min(x, 0),
    lambda x: ops.exp(x.median(1)), lambda x: ops.add(x.max(1), x), lambda x: ops.concat([x.max(1), x]),
])  # fmt: skip
def test_who_computes_with_a_pair_is_told(use: Any, mode: int) -> None:
    run = ms.jit(use) if mode == ms.GRAPH_MODE else use
    with pytest.raises(TypeError, match=r"give two tensors, \(values, indices\)"):
        run(X)


def test_a_pair_has_no_methods_of_a_tensor() -> None:
    for attempt in (lambda: X.max(1).mean(), lambda: X.sort(1).shape):
        with pytest.raises(AttributeError, match=r"give two tensors, \(values, indices\)\. It has no '(mean|shape)'"):
            attempt()


def test_transpose_of_two_axes_exchanges_them(mode: int) -> None:
    def moved(x: Any) -> Any:
        flat = x[0]
        return (
            flat.transpose(0, 1), flat.transpose((0, 1)), x.transpose(1, 2), x.transpose(-1, 0), x.transpose(2, 0, 1),
            x.transpose(dim0=0, dim1=1), ops.transpose(x, 0, 2), x.permute(2, 1, 0), x.transpose(), flat.permute(0, 1),
        )  # fmt: skip

    run = ms.jit(moved) if mode == ms.GRAPH_MODE else moved
    a = np.arange(24.0).reshape(2, 3, 4)
    wanted = (
        a[0].T, a[0], a.swapaxes(1, 2), a.swapaxes(-1, 0), a.transpose(2, 0, 1), a.swapaxes(0, 1), a.swapaxes(0, 2),
        a.transpose(2, 1, 0), a.T, a[0],
    )  # fmt: skip
    for one, other in zip(run(ms.Tensor(a)), wanted):
        np.testing.assert_array_equal(one.asnumpy(), other)
    with pytest.raises(ValueError, match="axis|axes"):
        ms.Tensor(a).transpose(0, 3)
    with pytest.raises(ValueError, match="permute takes the new order of all axes; transpose and swapaxes exchange"):
        ms.Tensor(a).permute(0, 1)


def test_who_asks_for_a_variance_in_pytorchs_words_is_told_its_divisor() -> None:
    events.forget_notices()
    told: list[str] = []
    with events.listening("notice", lambda text, **_: told.append(text)):
        plain = [X.var(0), X.std(axis=0), X.std(dim=0, unbiased=True), X.var(dim=0, unbiased=False)]
        assert not told and plain[0].tolist() == plain[3].tolist()
        assert X.std(dim=0).tolist() == plain[1].tolist() and X.var(dim=0).tolist() == plain[0].tolist()
    assert len(told) == 1 and "PyTorch divides by n - 1, which unbiased=True asks for" in told[0]
