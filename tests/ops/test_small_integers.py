"""What is a float of integers counts in floats: differences and squares of uint8 do not wrap around. Both modes."""

from __future__ import annotations

import numpy as np
import pytest

import msnb as ms
from msnb import ops

X, Y = [[1, 200, 3], [250, 5, 9]], [[2, 100, 200], [3, 250, 9]]
OF_FLOATS = {
    "softmax": lambda x, y: ops.softmax(x),
    "log_softmax": lambda x, y: ops.log_softmax(x),
    "norm": lambda x, y: ops.norm(x),
    "cubes": lambda x, y: ops.vector_norm(x, 3, 1),
    "matrix_norm": lambda x, y: ops.matrix_norm(x),
    "cosine": lambda x, y: ops.cosine_similarity(x, y),
    "cdist": lambda x, y: ops.cdist(x, y),
    "dist": lambda x, y: ops.dist(x, y),
    "pdist": lambda x, y: ops.pdist(x),
    "renorm": lambda x, y: ops.renorm(x, 2, 0, 1.0),
    "l2_normalize": lambda x, y: ops.L2Normalize(axis=1)(x),
    "l2_loss": lambda x, y: ops.L2Loss()(x),
    "l1_loss": lambda x, y: ops.l1_loss(x, y),
    "smooth_l1_loss": lambda x, y: ops.smooth_l1_loss(x, y),
    "huber_loss": lambda x, y: ops.huber_loss(x, y),
    "soft_margin_loss": lambda x, y: ops.soft_margin_loss(x, y),
    "logaddexp": lambda x, y: ops.logaddexp(x, y),
    "logaddexp2": lambda x, y: ops.logaddexp2(x, y),
    "lerp": lambda x, y: ops.lerp(x, y, 0.5),
    "trapz": lambda x, y: ops.trapz(x, y),
    "isclose": lambda x, y: ops.isclose(x, y, 0.0, 1.5),
    "histc": lambda x, y: ops.histc(x, 3, 0, 255),
}


def run(fn, mode, *inputs):
    return (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(*inputs)


@pytest.mark.parametrize("name", OF_FLOATS)
def test_uint8_as_float32(mode, name):
    of_floats, of_bytes = (run(OF_FLOATS[name], mode, ms.Tensor(X, t), ms.Tensor(Y, t)) for t in (ms.float32, ms.uint8))
    np.testing.assert_allclose(of_bytes.asnumpy(), of_floats.asnumpy(), rtol=1e-5)


def test_int32_and_bool(mode):
    assert run(ops.norm, mode, ms.Tensor([300000, 400000], ms.int32)).item() == 500000
    assert run(ops.trapz, mode, ms.Tensor([True, True, True])).item() == 2
    halves = run(lambda x: ops.logaddexp(x, 1), mode, ms.Tensor([1.0], ms.float16))
    assert halves.dtype is ms.float16


def test_counts_beyond_the_dtype(mode):
    for dtype, counted in ((ms.uint8, ms.int32), (ms.int8, ms.int32), (ms.bfloat16, ms.float32)):
        x = ms.Tensor(np.tile(np.arange(100), 30)).astype(dtype)
        found = run(lambda x: ops.histc(x, 5, 0, 99), mode, x)
        assert found.dtype is counted and found.tolist() == [600] * 5


def test_fractions_written_into_integers(mode):
    x = ms.Tensor([[1, 2], [3, 4]], ms.int32)
    parts = ms.Tensor([0.5, 1.5])
    for fn in (lambda x, v: ops.diagonal_scatter(x, v)[0], lambda x, v: ops.select_scatter(x, v, 1, 0)[0]):
        found = run(fn, mode, x, parts)
        assert found.dtype is ms.float32 and found.tolist() == [0.5, 2]
    found = run(lambda x, v: ops.slice_scatter(x, v, 0, 0, 1), mode, x, parts.reshape((1, 2)))
    assert found.tolist() == [[0.5, 1.5], [3, 4]]


def test_scaled_integers_beside_halves(mode):
    x, y = ms.Tensor([4.0], ms.float16), ms.Tensor([2], ms.int32)
    for fn, want in ((ms.mint.add, 5), (ms.mint.sub, 3)):
        found = run(lambda x, y, fn=fn: fn(x, y, alpha=0.5), mode, x, y)
        assert found.dtype is ms.float16 and found.tolist() == [want]


def test_bucketize_as_a_primitive(mode):
    found = run(lambda x: ops.Bucketize([1.0, 3.0, 5.0])(x), mode, ms.Tensor([1.0, 3.0, 4.0]))
    assert found.dtype is ms.int32 and found.tolist() == [1, 2, 2]
