"""Primitives that draw samples, pool regions and decode: against NumPy, in both modes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import Parameter, Tensor, ops
from msnb.base.errors import AttributeValueError, DTypeError, ShapeError


def run(fn: Any, *inputs: Any) -> Any:
    return (ms.jit(fn) if ms.get_context("mode") == ms.GRAPH_MODE else fn)(*inputs)


def test_candidates(mode: int) -> None:
    x = Tensor([[1], [3]])
    picked, true, counts = run(lambda t: ops.UniformCandidateSampler(1, 4, True, 5)(t), x)
    assert len(set(picked.tolist())) == 4 and true.shape == (2, 1) and counts.shape == (4,)
    for _ in range(5):
        found = ops.UniformCandidateSampler(1, 3, True, 5, remove_accidental_hits=True)(x)[0].tolist()
        assert sorted(found) == [0, 2, 4]
    ms.set_seed(2)
    drawn = ops.LogUniformCandidateSampler(1, 20000, False, 6)(x)[0].asnumpy()
    share = np.bincount(drawn, minlength=6) / 20000
    np.testing.assert_allclose(share, np.log1p(1 / np.arange(1, 7)) / np.log(7), atol=0.02)
    first, again = (ops.uniform_candidate_sampler(x, 1, 4, False, 50, seed=3)[0] for _ in range(2))
    assert (first == again).all()
    with pytest.raises(AttributeValueError, match="cannot be sampled"):
        ops.UniformCandidateSampler(1, 6, True, 5)(x)


def test_places_of_a_mask(mode: int) -> None:
    mask = np.array([[True, False, True], [False, True, False]])
    rows, found = run(lambda t: ops.RandomChoiceWithMask(count=5, seed=1)(t), Tensor(mask))
    assert found.tolist() == [True] * 3 + [False] * 2 and rows[3:].tolist() == [[0, 0], [0, 0]]
    assert {tuple(row) for row in rows[:3].tolist()} == {(0, 0), (0, 2), (1, 1)}


def test_pooled_regions(mode: int) -> None:
    x = np.arange(8 * 6 * 6, dtype=np.float32).reshape(1, 8, 6, 6)
    rois = Tensor(np.array([[[0], [0], [0], [4], [4]]], np.float32))  # the pixels 0 to 3 of both axes
    found = run(lambda t: ops.PSROIPooling(1.0, 2, 2)(t, rois), Tensor(x)).asnumpy()
    wanted = x[0, :, :4, :4].reshape(2, 2, 2, 2, 2, 2, 2).mean((4, 6))
    wanted = [[[wanted[c, i, j, i, j] for j in range(2)] for i in range(2)] for c in range(2)]
    np.testing.assert_allclose(found[0], wanted)
    weights = np.random.default_rng(0).standard_normal(found.shape).astype(np.float32)
    own = ms.grad(lambda t: (ops.PSROIPooling(1.0, 2, 2)(t, rois) * Tensor(weights)).sum())(Tensor(x))
    by_hand = run(lambda t: ops.PSROIPoolingGrad((6, 6), 1.0, 2, 2)(t, rois), Tensor(weights))
    np.testing.assert_allclose(by_hand.asnumpy(), own.asnumpy(), atol=1e-6)
    with pytest.raises(ShapeError, match="channels are needed"):
        ops.PSROIPooling(1.0, 3, 2)(Tensor(x), rois)


def test_ends_of_regions_are_rounded_when_they_are_scaled(mode: int) -> None:
    """As MindSpore 2.10 on CPU; 24 / 16 and 40 / 16 are halves, and a region has one pixel at least."""
    for (first, last), (begin, end) in {(15, 58): (1, 4), (7, 57): (0, 4), (24, 40): (2, 3), (33, 34): (2, 3)}.items():
        rois = Tensor(np.array([[[0], [first], [first], [last], [last]]], np.float32))
        share = run(lambda t: ops.PSROIPoolingGrad((6, 6), 1 / 16, 1, 1)(t, rois), ops.ones((1, 1, 1, 1))).asnumpy()
        wanted = np.zeros((1, 1, 6, 6), np.float32)
        wanted[..., begin:end, begin:end] = 1 / (end - begin) ** 2
        np.testing.assert_allclose(share, wanted)


def test_norms_of_high_powers(mode: int) -> None:
    """epsilon is the least norm, not the least sum of powers: it decided what norms of high powers are."""
    x = Tensor([[0.3, 0.2], [3.0, 1.0], [0.0, 0.0], [3e30, -1e30]])
    for p in (1, 2, 3, 90):
        found = run(lambda t, p=p: ops.LpNorm(axis=1, p=p)(t), x)
        wanted = np.maximum(np.linalg.norm(x.asnumpy().astype(np.longdouble), ord=p, axis=1), 1e-12)
        np.testing.assert_allclose(found.asnumpy(), wanted.astype(np.float32), rtol=1e-6)
    assert run(lambda t: ops.LpNorm(axis=0, p=3, epsilon=0.5)(t), Tensor([0.3, 0.2])).item() == 0.5
    slope = ms.grad(lambda t: ops.LpNorm(axis=[1], p=90)(t).sum())(x)
    np.testing.assert_allclose(slope.asnumpy(), [[1, 0], [1, 0], [0, 0], [1, 0]], atol=1e-6)


def test_greedy_decoder(mode: int) -> None:
    best = np.array([[0, 1], [0, 2], [2, 2], [0, 0]])  # [steps, batch]; class 2 is the blank
    logits = np.eye(3, dtype=np.float32)[best] * 4
    pairs, values, shape, score = ops.CTCGreedyDecoder()(Tensor(logits), Tensor([4, 3]))
    assert (pairs.tolist(), values.tolist()) == ([[0, 0], [0, 1], [1, 0]], [0, 0, 1])
    assert shape.tolist() == [2, 2] and score.tolist() == [[-16.0], [-12.0]]
    assert ops.CTCGreedyDecoder(merge_repeated=False)(Tensor(logits), Tensor([4, 3]))[1].tolist() == [0, 0, 0, 1]


def test_fourier_transforms_with_sizes(mode: int) -> None:
    x = np.random.default_rng(1).standard_normal((3, 4, 6)).astype(np.float32)
    cases = {
        (2, False, False, "ortho"): (x + 0j, np.fft.fftn(x, axes=(1, 2), norm="ortho")),
        (1, True, False, "backward"): (x + 0j, np.fft.ifft(x)),
        (2, False, True, "forward"): (x, np.fft.rfftn(x, axes=(1, 2), norm="forward")),
        (2, True, True, "backward", False, (2, 3)): (x + 0j, np.fft.ifftn(x, axes=(1, 2)).real),  # sizes: of half ones
    }
    for case, (given, wanted) in cases.items():
        given = given.astype(np.complex64 if given.dtype.kind == "c" else np.float32)
        found = run(lambda t, a=case: ops.FFTWithSize(*a)(t), Tensor(given))
        np.testing.assert_allclose(found.asnumpy(), wanted, atol=1e-4)
    there = ops.FFTWithSize(1, False, True)(Tensor(x))
    back = ops.FFTWithSize(1, True, True, signal_sizes=(6,))(there)
    np.testing.assert_allclose(back.asnumpy(), x, atol=1e-5)


def test_primitives_by_their_attributes(mode: int) -> None:
    weight = Parameter(np.zeros((2, 3), np.float32), name="w")
    found = run(lambda y: ops.IndexAdd(1)(weight, Tensor([0, 2], ms.int32), y), ops.ones((2, 2)))
    assert found.tolist() == weight.tolist() == [[1.0, 0.0, 1.0]] * 2
    assert run(lambda t: ops.InplaceUpdate((1,))(t, ops.ones((1, 2))), ops.zeros((2, 2))).tolist() == [[0, 0], [1, 1]]
    blocks = ops.arange(4).reshape((4, 1, 1, 1))
    image = run(lambda t: ops.BatchToSpaceND(2, [[0, 0], [0, 0]])(t), blocks)
    assert image.tolist() == [[[[0, 1], [2, 3]]]]
    assert ops.SpaceToBatchND(2, [[0, 0], [0, 0]])(image).tolist() == blocks.tolist()
    values, places = run(lambda t: ops.UniqueWithPad()(t, 9), Tensor([3, 1, 1, 2, 3]))
    assert (values.tolist(), places.tolist()) == ([3, 1, 2, 9, 9], [0, 1, 1, 2, 0])


def test_gradients_by_hand(mode: int) -> None:
    rng = np.random.default_rng(3)
    x, dy, gamma = (Tensor(rng.standard_normal(s).astype(np.float32)) for s in ((4, 5), (4, 5), (5,)))
    norm = ops.LayerNorm(1, 1, 1e-5)
    wanted = ms.grad(lambda a, g, b: (norm(a, g, b)[0] * dy).sum(), (0, 1, 2))(x, gamma, ops.zeros((5,)))
    _, mean, var = norm(x, gamma, ops.zeros((5,)))
    found = run(lambda *a: ops.LayerNormGrad(1, 1, 1e-5)(*a), x, dy, var, mean, gamma)
    for one, other in zip(found, wanted):
        np.testing.assert_allclose(one.asnumpy(), other.asnumpy(), atol=1e-4)
    whole = [Tensor(rng.uniform(0.5, 2, s)) for s in ((2, 3, 4), (2, 3, 4), (2, 1, 1), (2, 1, 1), (2, 3, 4))]
    a, d, v, m, g = (t.asnumpy() for t in whole)
    s, size = (v + 1e-7) ** -0.5, {"axis": (1, 2), "keepdims": True}
    by_var = (-0.5 * d * g * (a - m) * s**3).sum(**size)
    by_mean = -(d * g * s).sum(**size) - 2 * by_var * (a - m).mean(**size)
    lanes = run(lambda *t: ms.vmap(ops.LayerNormGrad(0, 0, 1e-7))(*t), *whole)
    for one, other in zip(lanes, (d * g * s + by_var * 2 * (a - m) / 12 + by_mean / 12, d * (a - m) * s, d)):
        np.testing.assert_allclose(one.asnumpy(), other, err_msg="mean and variance are not those of x")
    target = Tensor(np.abs(rng.standard_normal((4, 5))).astype(np.float32))
    for reduction, scale in (("none", 1), ("sum", 1), ("mean", 20), ("batchmean", 4)):
        sens = dy if reduction == "none" else Tensor([2.0])
        found = ops.KLDivLossGrad(reduction)(sens, x, target).asnumpy()
        np.testing.assert_allclose(found, -target.asnumpy() * sens.asnumpy() / scale, rtol=1e-5)
    with pytest.raises(AttributeValueError, match="reduction"):
        ops.KLDivLossGrad("max")(dy, x, target)


def test_normal_numbers_within_two(mode: int) -> None:
    draw = ops.TruncatedNormal(ms.float64, 3, 4)
    one = run(lambda: draw((100, 200))).asnumpy()
    assert one.dtype == np.float64 and one.shape == (100, 200) and abs(one).max() <= 2
    assert abs(one.std() - 0.8796) < 0.01 and abs(one.mean()) < 0.02 and abs(abs(one) < 1).mean() - 0.7152 < 0.02
    assert ops.TruncatedNormal(ms.float64, 3, 4)((100, 200)).tolist() == one.tolist()
    assert ops.TruncatedNormal()(Tensor([3])).dtype is ms.float32
    with pytest.raises(DTypeError, match="dtype is one of floats"):
        ops.TruncatedNormal(ms.int32)((2,))
