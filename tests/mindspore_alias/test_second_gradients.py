"""Primitives of gradients of gradients, and of windows, sizes and sums. Both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor, ops


def run(fn: Any, *inputs: Any) -> Any:
    return (msnb.jit(fn) if msnb.get_context("mode") == msnb.GRAPH_MODE else fn)(*inputs)


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def test_windows_and_sizes(mode: int) -> None:
    from mindspore.ops.operations import _grad_ops as made

    x, dout = drawn(1, 1, 4, 4, 4), drawn(1, 1, 2, 2, 2, seed=1)
    want = msnb.grad(lambda x: (ops.MaxPool3D(2, 2)(x) * dout).sum())(x)
    for sizes in ((2, 2), ((1, 1, 2, 2, 2), (1, 1, 2, 2, 2))):
        net = made.MaxPool3DGrad(*sizes, "VALID")
        assert run(lambda x, d, net=net: net(x, ops.MaxPool3D(2, 2)(x), d), x, dout).tolist() == want.tolist()
    image, sent = drawn(1, 2, 3, 3), drawn(1, 2, 5, 4, seed=1)
    for corners, half in ((False, True), (True, False)):
        net = made.ResizeBicubicGrad(corners, half)
        want = msnb.grad(lambda x, c=corners, h=half: (ops.ResizeBicubic(c, h)(x, (5, 4)) * sent).sum())(image)
        found = run(lambda d, x, net=net: net(d, x), sent, image)
        np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), rtol=1e-5, atol=1e-6)
    found = run(lambda d: made.BiasAddGrad()(d), Tensor([[100, 2], [100, 3]], msnb.int8))
    assert found.dtype is msnb.int8 and found.tolist() == [-56, 5]


def test_extremes(mode: int) -> None:
    from mindspore.ops.operations import _grad_ops as made

    x, y, dx, dy = (Tensor(np.float32(v)) for v in ([1, 2, 3], [2, 2, 2], [1, 2, 3], [4, 5, 6]))
    for name, want in (("MinimumGradGrad", [1, 2, 6]), ("MaximumGradGrad", [4, 2, 3])):
        found = run(lambda *v, net=getattr(made, name)(): net(*v), x, y, dx, dy)
        assert [f.tolist() for f in found] == [[0] * 3, [0] * 3, want], name
    with pytest.raises(TypeError):
        made.MinimumGradGrad()(x, y)
