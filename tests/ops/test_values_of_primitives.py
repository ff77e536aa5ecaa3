"""What primitives and functions give where equal numbers, negative bounds, batches and wide dtypes meet. Both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
import msnb.numpy as mnp
from msnb import Tensor, ops


def run(mode: int, fn: Any, *inputs: Any) -> Any:
    with ms.set_context(mode=mode):
        return (ms.jit(fn) if mode == ms.GRAPH_MODE else fn)(*inputs)


def test_equal_elements_share_a_gradient(mode: int) -> None:
    x = Tensor([[3.0, 1.0, 1.0], [2.0, np.nan, 5.0]])
    for reverse, n, found, slope in ((False, 0, [1, 2], [[0, 0.5, 0.5], [1, 0, 0]]),
                                     (True, 1, [1, 5], [[0, 0.5, 0.5], [0, 0, 1]])):  # fmt: skip
        take = lambda x, net=ops.NthElement(reverse), n=n: net(x, n)
        assert run(mode, take, x).tolist() == found
        assert run(mode, ms.grad(lambda x, take=take: take(x).sum()), x).tolist() == slope
    assert np.isnan(run(mode, lambda x: ops.NthElement()(x, 2), x).asnumpy()).tolist() == [False, True]
    assert run(mode, lambda x: ops.NthElement()(x, 1), Tensor([3, 1, 2])).item() == 2


def test_negative_bounds_are_none(mode: int) -> None:
    for l1 in (-0.1, 0.0):
        w = ms.Parameter(Tensor([0.5, -2.0]), name="w")
        step = lambda g, w=w, l1=l1: ops.ApplyProximalGradientDescent()(w, 0.5, l1, 0.2, g)
        np.testing.assert_allclose(run(mode, step, Tensor([2.0, 1.0])).asnumpy(), [-0.5 / 1.1, -2.5 / 1.1], rtol=1e-6)
        parts = [ms.Parameter(Tensor([v]), name=str(v)) for v in (0.5, 0.1, 0.2)]
        step = lambda g, p=parts, l1=l1: ops.ApplyAdagradDA()(*p, g, 0.5, l1, 0.2, 2)
        found = run(mode, step, Tensor([2.0]))
        assert found.asnumpy() == pytest.approx(-0.5 * 2.1 / (0.2 + 4.2**0.5))
        assert parts[1].asnumpy() == pytest.approx(2.1)


def test_shortened_along_axes(mode: int) -> None:
    x = np.array([[3.0, 4.0], [0.3, 0.4]], np.float32)
    for axis, length in ((None, 25.25**0.5), ((0, 1), 25.25**0.5), (1, np.array([[5.0], [1.0]]))):
        clip = ops.ClipByNorm(axis)
        found = run(mode, lambda x, clip=clip: clip(x, Tensor(1.0)), Tensor(x.astype(np.float16)))
        assert found.dtype is ms.float32
        np.testing.assert_allclose(found.asnumpy(), x / length, rtol=1e-3)


def test_sparse_batches(mode: int) -> None:
    shape, ends, pointers, columns = (Tensor(v, ms.int32) for v in (
        [2, 2, 2], [0, 3, 4], [0, 1, 3, 0, 0, 1], [0, 0, 1, 1]))  # fmt: skip
    dense = run(mode, lambda *v: ops.CSRSparseMatrixToDense()(shape, *v), ends, pointers, columns,
                Tensor([1.0, 2.0, 3.0, 4.0]))  # fmt: skip
    assert dense.tolist() == [[[1, 0], [2, 3]], [[0, 0], [0, 4]]]


def test_slope_of_ctc_is_that_before_log_softmax(mode: int) -> None:
    x = np.random.default_rng(0).standard_normal((4, 2, 3))
    given = Tensor([[1, 2], [1, 1]]), [4, 4], [2, 1]
    loss = lambda p: ops.ctc_loss(p, *given, reduction="sum")[0]
    by_logits = ms.grad(lambda x: loss(ops.log_softmax(x, -1)))
    by_probabilities = run(mode, ms.grad(loss), ops.log_softmax(Tensor(x), -1))
    np.testing.assert_allclose(by_probabilities.asnumpy(), by_logits(Tensor(x)).asnumpy(), rtol=1e-9, atol=1e-12)
    assert not run(mode, ms.grad(lambda p: ops.exp(ops.ctc_loss(p, *given)[1]).sum()), Tensor(x)).asnumpy().any()


def test_dtypes_that_keep_the_digits(mode: int) -> None:
    wide = Tensor(np.array([1.0, 2.5, 7.0]))
    assert run(mode, lambda a: ops.linspace(a, 10, 5), wide[0]).dtype is ms.float64
    assert run(mode, lambda a: ops.linspace(a, 10, 5), Tensor(1)).dtype is ms.float32
    assert run(mode, lambda a: mnp.gradient(a), wide).tolist() == [1.5, 3, 4.5]
    assert run(mode, lambda a: mnp.gradient(a), wide).dtype is ms.float64
    whole = Tensor([1, 2], ms.int32)
    assert run(mode, lambda a: mnp.kron(a, 2), whole).dtype is ms.int32
    for reduction, want in (("none", [100.0**2, 0]), ("sum", 100.0**2), ("mean", 100.0**2 / 2)):
        found = run(mode, lambda a, b, r=reduction: ops.mse_loss(a, b, r), Tensor([-50, 2], ms.int8),
                    Tensor([50, 2], ms.int8))  # fmt: skip
        assert found.dtype is ms.float32 and found.tolist() == want


def test_numbers_count_as_32_bits_in_a_common_dtype() -> None:
    x, h = Tensor([1], ms.int8), Tensor([1.0], ms.float16)
    for given, want in (((x, 1), ms.int32), ((x, 1.5), ms.float32), ((x, True), ms.int8), ((h, 1), ms.float16),
                        ((h, 1.5), ms.float32), ((ms.int8, 1), ms.int32), ((True, 1), ms.int32),
                        ((Tensor([1]), 1.5), ms.float32), ((x, "int16"), ms.int16)):  # fmt: skip
        assert mnp.result_type(*given) is want, given
    with pytest.raises(TypeError):
        mnp.result_type(x, "no dtype")


@pytest.mark.parametrize("layer", [ms.nn.RNN, ms.nn.LSTM, ms.nn.GRU])
def test_recurrent_layers_compute_in_the_dtype_of_their_input(mode: int, layer: Any) -> None:
    net, x = layer(3, 2, 2, bidirectional=True), np.random.default_rng(0).standard_normal((4, 2, 3))
    want = net(Tensor(x.astype(np.float32)))[0]
    for dtype, close in ((ms.float16, 2e-2), (ms.float64, 1e-5)):
        found, last = run(mode, net, Tensor(x).astype(dtype))
        assert found.dtype is dtype is (last[0] if layer is ms.nn.LSTM else last).dtype
        np.testing.assert_allclose(found.asnumpy(), want.asnumpy(), atol=close)
    with pytest.raises(ValueError):
        net(Tensor(x[0]))


def test_squeeze_leaves_axes_of_another_size(mode: int) -> None:
    x = ms.ops.ones((2, 3, 1))
    for axis, shape in ((1, (2, 3, 1)), ((1, 2), (2, 3)), (-1, (2, 3)), ((), (2, 3))):
        op = ms.ops.Squeeze(axis)
        found = (ms.jit(lambda x, op=op: op(x)) if mode == ms.GRAPH_MODE else op)(x)
        assert found.shape == shape
    with pytest.raises(ValueError, match="squeeze"):
        ms.ops.Squeeze(3)(x)
