"""Rows of the table of differences about numbers, and what the alias alone takes. Both modes."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import msnb
from msnb import Tensor, nn, ops


def view(name: str) -> Any:
    module, _, last = name.rpartition(".")
    return getattr(importlib.import_module(f"mindspore.{module}"), last)


def run(fn: Any, *inputs: Any) -> Any:
    return (msnb.jit(fn) if msnb.get_context("mode") == msnb.GRAPH_MODE else fn)(*inputs)


def test_places_of_volumes_and_coordinates(mode: int) -> None:
    x = Tensor(np.arange(16, dtype=np.float32).reshape(1, 2, 2, 4))
    pool, layer = view("ops.adaptive_max_pool3d"), view("nn.AdaptiveMaxPool3d")((1, 1, 2), True)
    for found in (run(lambda x: pool(x, (1, 1, 2), True), x), run(layer, x)):
        assert found[0].tolist() == [[[[13, 15]]]] and found[1].tolist() == [[[[13, 15]]]]
        assert found[1].dtype is msnb.int32
    assert run(lambda x: pool(x, (1, 1, 2)), x).tolist() == [[[[13, 15]]]]
    assert isinstance(nn.AdaptiveMaxPool3d(1), view("nn.AdaptiveMaxPool3d"))
    assert ops.adaptive_max_pool3d(x, (1, 1, 2), True)[1].dtype is msnb.int64
    dense = Tensor([[1.0, 0.0], [0.0, 2.0]])
    for seen in (view("ops.dense_to_sparse_coo")(dense), dense.to_coo()):
        assert seen.indices.tolist() == [[0, 0], [1, 1]] and seen.indices.dtype is msnb.int32
    assert ops.dense_to_sparse_coo(dense).indices.dtype is msnb.int64


def test_window_of_hann(mode: int) -> None:
    found = [run(lambda fn=fn: fn(4)) for fn in (view("ops.hann_window"), ops.hann_window)]
    assert [f.dtype for f in found] == [msnb.float64, msnb.float32]
    np.testing.assert_allclose(*[f.asnumpy() for f in found], atol=1e-7)
    assert run(lambda: view("ops.hann_window")(4, dtype=msnb.float16)).dtype is msnb.float16
    assert run(lambda: view("ops.kaiser_window")(4, beta=8.0)).dtype is msnb.float64


def test_stop_gradient_of_others_than_tensors(mode: int) -> None:
    stop = view("ops.stop_gradient")
    assert run(lambda x: x * stop(2.5), Tensor([2.0])).dtype is msnb.float32
    assert stop((2, [None, "a"])) == (2, [None, "a"])

    def f(x: Any) -> Any:
        parts, last = stop(([x * 2, x[0]], {"a": x}))
        return (x * parts[0] * parts[1] * last["a"]).sum()

    assert run(msnb.grad(f), Tensor([1.0, 3.0])).tolist() == [2, 18]
    assert ops.stop_gradient((2, 3)).tolist() == [2, 3]


def test_index_add_writes(mode: int) -> None:
    at, rows = Tensor([0, 2], msnb.int32), Tensor([5.0, 6.0])
    for fn, left in ((view("ops.index_add"), [6, 2, 9]), (ops.index_add, [1, 2, 3])):
        x = msnb.Parameter(Tensor([1.0, 2.0, 3.0]), name="x")
        found = run(lambda i, y, fn=fn, x=x: fn(x, i, y, 0), at, rows)
        assert found.tolist() == [6, 2, 9] and not isinstance(found, msnb.Parameter)
        assert x.tolist() == left
    for fn in (view("mint.index_add"), lambda x, *rest, **words: x.index_add(*rest, **words)):
        x = Tensor([1.0, 2.0, 3.0])
        found = run(lambda x, i, y, fn=fn: (fn(x, 0, i, y, alpha=2), x), x, at, rows)
        assert [f.tolist() for f in found] == [[11, 2, 15]] * 2
    with pytest.raises((IndexError, ValueError)):
        view("ops.index_add")(Tensor([1.0]), Tensor([3], msnb.int32), Tensor([1.0]), 0)


def test_xlogy_of_a_number(mode: int) -> None:
    x = Tensor([0.0, 2.0], msnb.float16)
    for name in ("ops.xlogy", "mint.xlogy"):
        found = run(lambda x, fn=view(name): fn(x, 2), x)
        assert found.dtype is msnb.float32 and found.tolist() == pytest.approx([0, 2 * np.log(2)], rel=1e-6)
        assert run(lambda x, fn=view(name): fn(x, x), x).dtype is msnb.float16
    assert view("ops.xlogy")(2, x)[1].item() == pytest.approx(2 * np.log(2), rel=1e-6)  # the logarithm, too
    assert run(lambda x: x.xlogy(2.0), x).dtype is msnb.float32 and ops.xlogy(x, 2).dtype is msnb.float16


def test_sizes_of_complex_numbers(mode: int) -> None:
    x = Tensor(np.array([[3 + 4j, 0], [0, 2]], np.complex64))
    for name, want in (("abs", [[5, 0], [0, 2]]), *((f"{kind}norm", 29**0.5) for kind in ("", "vector_", "matrix_"))):
        found = run(lambda x, fn=view(f"ops.{name}"): fn(x), x)
        assert found.dtype is msnb.float32, name
        np.testing.assert_allclose(found.asnumpy(), want, rtol=1e-6)
    sign, log = run(lambda x: view("ops.slogdet")(x), x)
    assert (sign.dtype, log.dtype) == (msnb.complex64, msnb.float32) and log.item() == pytest.approx(np.log(10))
    assert run(lambda x: view("ops.svd")(x, compute_uv=False), x).dtype is msnb.float32


def test_bytes_as_another_dtype() -> None:
    x = Tensor([1.0, 2.5])
    assert x.view(msnb.int32).tolist() == [0x3F800000, 0x40200000]
    assert x.view(dtype=msnb.float16).shape == (4,) and x.view(msnb.int64).shape == (1,)
    assert x.view(2, 1).shape == x.view((2, 1)).shape == (2, 1)
    with pytest.raises(ValueError):
        Tensor([1.0]).view(msnb.int64)


def test_names_of_other_operators(mode: int) -> None:
    import mindspore.ops.operations as made

    a, b = Tensor([1.0, -2.0]), Tensor([2.0, 3.0])
    assert run(lambda a, b: made.math_ops.AddV2()(a, b), a, b).tolist() == [3, 1]
    assert run(lambda a: made.nn_ops.ReLUV3()(a), a).tolist() == [1, 0]
    ends = [Tensor(v, msnb.int32) for v in (1, 8, 3)]
    found = run(lambda: made.array_ops.RangeV2()(*ends))
    assert found.tolist() == [1, 4, 7] and found.dtype is msnb.int32


def test_covariance_of_halves(mode: int) -> None:
    x = Tensor([[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]], msnb.float16)
    cov = view("ops.cov")
    for fn in (lambda x: cov(x, correction=0), lambda x: x.cov(correction=0)):
        found = run(fn, x)
        assert found.dtype is msnb.float32
        np.testing.assert_allclose(found.asnumpy(), np.cov(x.asnumpy(), ddof=0), rtol=1e-6)
    assert ops.cov(x).dtype is msnb.float16 and cov(x.astype(msnb.float64)).dtype is msnb.float64


def test_extremes_with_their_places(mode: int) -> None:
    x = Tensor([[1.0, 5.0], [7.0, 0.0]])
    for keep in (False, True):
        value, place = run(lambda x, keep=keep: x.argmax_with_value(None, keep), x)
        assert (value.tolist(), place.tolist()) == (7.0, 0)
    value, place = run(lambda x: x.argmin_with_value(1, keep_dims=True), x)
    assert (value.tolist(), place.tolist()) == ([[1.0], [0.0]], [[0], [1]])
    with pytest.raises(ValueError, match="axis 5"):
        x.argmax_with_value(5)


def test_natural_decay(mode: int) -> None:
    """Numbers of MindSpore 2.10; the stairs are of whole ``decay_steps``."""
    made = view("nn.NaturalExpDecayLR")
    for stairs, step, theirs in ((False, 2, 0.1 * np.exp(-0.9 * 2)), (True, 6, 0.1 * np.exp(-0.9 * 4))):
        assert isinstance(made(0.1, 0.9, 4, stairs), msnb.nn.NaturalExpDecayLR)
        np.testing.assert_allclose(float(run(made(0.1, 0.9, 4, stairs), Tensor(step))), theirs, rtol=1e-6)
    np.testing.assert_allclose(float(msnb.nn.NaturalExpDecayLR(0.1, 0.9, 4)(Tensor(2))), 0.1 * np.exp(-0.45), rtol=1e-6)


def test_gradient_of_labels_whose_sum_is_not_one(mode: int) -> None:
    """Numbers of MindSpore 2.10."""
    layer, primitive, mine = (view("nn.SoftmaxCrossEntropyWithLogits")(), view("ops.SoftmaxCrossEntropyWithLogits")(),
                              msnb.nn.SoftmaxCrossEntropyWithLogits())  # fmt: skip
    assert isinstance(layer, msnb.nn.SoftmaxCrossEntropyWithLogits)
    x, labels = Tensor([[0.1, 0.2, 0.7]]), Tensor([[1.0, 1.0, 0.0]])
    for fn in (layer, lambda x, labels: primitive(x, labels)[0]):
        by_x, by_labels = run(lambda x, labels: msnb.grad(fn, (0, 1))(x, labels), x, labels)
        np.testing.assert_allclose(by_x.asnumpy(), [[-0.745371, -0.718592, 0.463963]], atol=1e-5)
        assert by_labels.tolist() == [[0.0, 0.0, 0.0]]
        np.testing.assert_allclose(run(fn, x, labels).asnumpy(), mine(x, labels).asnumpy(), rtol=1e-6)
    np.testing.assert_allclose(msnb.grad(mine)(x, labels).asnumpy(), [[-0.490743, -0.437184, 0.927927]], atol=1e-5)


def test_places_outside_of_take(mode: int) -> None:
    x, at = Tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), Tensor([-9, -1, 2, 9], msnb.int32)
    for take in (view("numpy.take"), lambda x, i, *more, **words: x.take(i, *more, **words)):
        for more in ({}, {"mode": "clip"}):
            assert run(lambda x, i, f=take, m=more: f(x, i, **m), x, at).tolist() == [1, 6, 3, 6]
            assert run(lambda x, i, f=take, m=more: f(x, i, 1, **m), x, at).tolist() == [[1, 3, 3, 3], [4, 6, 6, 6]]
        assert run(lambda x, i, f=take: f(x, i, 0, "wrap")[:, 0], x, at).tolist() == [4, 4, 1, 4]
        with pytest.raises(IndexError):
            run(lambda x, i, f=take: f(x, i, 0, mode="raise"), x, at).tolist()
    assert run(lambda x, i: x.take(indices=i)[0] + x.take(index=i)[1], x, at).item() == 7
    assert msnb.numpy.take(x, at, mode="clip").tolist() == ops.take(x, at, mode="clip").tolist() == [1, 1, 3, 6]


def test_dtype_of_cross(mode: int) -> None:
    halves, wide = Tensor([1.0, 0.0, 0.0], msnb.float16), Tensor([0.0, 1.0, 0.0])
    for x, y in ((halves, wide), (wide, halves)):
        for found in (run(view("ops.cross"), x, y), run(lambda x, y: x.cross(y), x, y)):
            assert found.dtype is x.dtype and found.tolist() == [0, 0, 1 if x is halves else -1]
        assert ops.cross(x, y).dtype is msnb.float32


def test_pull_of_ftrl(mode: int) -> None:
    """Without l1 MindSpore 2.10 has these numbers too; with it 0.44857 and -0.01061."""
    for l1, expected in ((0.0, [0.42322, -0.0507]), (0.3, [0.39787, -0.01061])):
        parts = [msnb.Parameter(Tensor(v), name="p") for v in ([1.0, -0.5], [0.1, 0.1], [0.0, 0.0])]
        view("ops.ApplyFtrl")()(*parts, Tensor([0.5, -0.2]), 0.05, l1, 0.0, -0.5)
        layer = msnb.Parameter(Tensor([1.0, -0.5]), name="w")
        view("nn.FTRL")([layer], learning_rate=0.05, l1=l1)((Tensor([0.5, -0.2]),))
        for found in (parts[0], layer):
            np.testing.assert_allclose(found.asnumpy(), expected, atol=1e-5)
