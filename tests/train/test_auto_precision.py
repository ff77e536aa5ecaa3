"""Level "auto": products in half, norms and softmax in float32, and what follows them stays wide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops


class Net(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 4, 3)
        self.bn = nn.BatchNorm2d(4)

    def construct(self, x: Any) -> Any:
        return ops.mean(ops.relu(self.bn(self.conv(x))), (2, 3))


def images() -> ms.Tensor:
    return ms.Tensor(np.random.default_rng(0).normal(size=(3, 2, 6, 6)).astype(np.float32))


@pytest.mark.parametrize("training", [False, True])
def test_only_the_convolution_is_in_half(mode: Any, training: bool) -> None:
    net, by_hand = Net(), Net()
    for p, q in zip(net.get_parameters(), by_hand.get_parameters(), strict=True):
        q.set_data(p)
    by_hand.conv.to_float(ms.float16)
    ms.amp.auto_mixed_precision(net, "auto", ms.float16)
    found = net.set_train(training)(images())
    middle = by_hand.conv(images()).astype(ms.float32)
    expected = ops.mean(ops.relu(by_hand.bn.set_train(training)(middle)), (2, 3))
    assert found.dtype == expected.dtype == ms.float32
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), atol=2e-6)


NORMS = {
    "layer_norm": lambda x: ops.layer_norm(x, (4,)),
    "group_norm": lambda x: ops.group_norm(x, 2),
    "rms_norm": lambda x: ops.rms_norm(x),
    "softmax": lambda x: ops.softmax(x),
    "log_softmax": lambda x: ops.log_softmax(x),
    "cross_entropy": lambda x: ops.cross_entropy(x, ms.Tensor([0, 1, 2, 3])),
}


@pytest.mark.parametrize("level", ["O0", "O1"])
@pytest.mark.parametrize("name", NORMS)
def test_functions_of_the_black_list_take_float32(mode: Any, name: str, level: str) -> None:
    ms.set_context(jit_level=level)

    class One(nn.Cell):
        def construct(self, x: Any) -> Any:
            half = ops.matmul(x, x)
            return half, NORMS[name](half)

    half, found = ms.amp.auto_mixed_precision(One(), "auto")(ms.Tensor(np.eye(4, dtype=np.float32) * 2))
    assert half.dtype is ms.float16 and found.dtype is ms.float32
    np.testing.assert_allclose(found.asnumpy(), NORMS[name](half.astype(ms.float32)).asnumpy(), rtol=1e-5, atol=1e-6)


def test_gradients_go_through(mode: Any) -> None:
    net = ms.amp.auto_mixed_precision(Net(), "auto").set_train()
    weights = net.trainable_params()
    grads = ms.grad(lambda x: net(x).sum(), None, weights)(images())
    assert all(g.dtype is ms.float32 and np.isfinite(g.asnumpy()).all() for g in grads)


def test_like_draws_have_the_dtypes_of_mindspore(mode: Any) -> None:
    half = ops.ones((2,), dtype=ms.float16)
    assert ops.randn_like(half).dtype is ms.float32 and ops.rand_like(half).dtype is ms.float16
    assert ops.randn_like(half, dtype=ms.float16).dtype is ms.float16
    assert ops.randn_like(ms.Tensor([1, 2])).dtype is ms.float32


def test_a_function_computes_by_the_rule(mode: int) -> None:
    def net(x: Any, y: Any) -> Any:
        """Products and a sum."""
        return ops.matmul(x, y), ops.exp(x), ops.concat([x.astype(ms.float16), y])

    half = ms.amp.auto_mixed_precision(net, "auto")
    run = ms.jit(half) if mode == ms.GRAPH_MODE else half
    x = ms.Tensor([[1.0, 2.0], [3.0, 4.0]])
    assert half.__doc__ == net.__doc__ and net(x, x)[0].dtype is ms.float32
    assert [t.dtype for t in run(x, x)] == [ms.float16, ms.float32, ms.float32]
    slope = ms.grad(lambda x: half(x, x)[0].sum())(x)
    np.testing.assert_allclose(slope.asnumpy(), [[7.0, 11.0], [9.0, 13.0]])
    assert slope.dtype is ms.float32 and net(x, x)[0].dtype is ms.float32
    with pytest.raises(TypeError, match="takes a Cell, not a function"):
        ms.amp.auto_mixed_precision(net, "O2")
    with pytest.raises(TypeError, match="takes a Cell, not a int"):
        ms.amp.auto_mixed_precision(3, "auto")
