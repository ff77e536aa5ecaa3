"""CTC: the loss is that of all paths written out, one by one."""

import itertools

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops

MODES = (ms.PYNATIVE_MODE, ms.GRAPH_MODE)


def said(path, blank=0):
    """What a path says: repeats dropped, then blanks."""
    return tuple(c for c, _ in itertools.groupby(path) if c != blank)


def written_out(logp, labels):
    """-log of the sum over all paths [time] of the classes."""
    steps, classes = logp.shape
    paths = (p for p in itertools.product(range(classes), repeat=steps) if said(p) == tuple(labels))
    with np.errstate(divide="ignore"):
        return -np.log(sum(np.exp(sum(logp[t, c] for t, c in enumerate(p))) for p in paths))


@pytest.fixture
def batch(rng):
    """Three sequences of up to five steps and three classes; the second says one label twice, the third nothing."""
    targets = np.array([[1, 2], [1, 1], [2, 2]])
    return rng.normal(size=(5, 3, 3)), targets, np.array([5, 4, 3]), np.array([2, 2, 0])


@pytest.mark.parametrize("mode", MODES)
def test_the_loss_is_that_of_all_paths(mode, batch):
    x, targets, times, lengths = batch
    with ms.set_context(mode=mode):
        logp = ops.log_softmax(ms.Tensor(x), -1)
        loss, alpha = ops.ctc_loss(logp, ms.Tensor(targets), times, lengths, reduction="none")
        mean = nn.CTCLoss()(logp, ms.Tensor(targets), times.tolist(), lengths.tolist())
        total, _ = ops.ctc_loss(logp, targets, times, lengths, reduction="sum")
    want = [written_out(logp.asnumpy()[:t, i], targets[i, :n]) for i, (t, n) in enumerate(zip(times, lengths))]
    np.testing.assert_allclose(loss.asnumpy(), want, rtol=1e-12)
    np.testing.assert_allclose(float(mean), np.mean(np.array(want) / [2, 2, 1]), rtol=1e-12)
    np.testing.assert_allclose(float(total), np.sum(want), rtol=1e-12)
    assert alpha.shape == (3, 5, 5)
    assert np.isneginf(alpha.asnumpy()[2, 3:]).all(), "beyond its time a sequence is nowhere"
    assert np.isneginf(alpha.asnumpy()[:, 0, 2:]).all(), "a path starts in one of the first two states"


@pytest.mark.parametrize("mode", MODES)
def test_gradients_are_differences_of_the_loss(mode, batch):
    x, targets, times, lengths = batch

    def loss(x):
        return ops.ctc_loss(ops.log_softmax(x, -1), ms.Tensor(targets), times, lengths, reduction="sum")[0]

    with ms.set_context(mode=mode):
        slope = ms.grad(loss)(ms.Tensor(x)).asnumpy()
        for place in [(0, 0, 0), (2, 0, 1), (3, 1, 2), (2, 2, 0)]:
            step = np.zeros_like(x)
            step[place] = 1e-5
            rise = float(loss(ms.Tensor(x + step))) - float(loss(ms.Tensor(x - step)))
            assert abs(rise / 2e-5 - slope[place]) < 1e-7, place
    assert (slope[4, 1] == 0).all() and (slope[3:, 2] == 0).all(), "time behind the end has no say"


@pytest.mark.parametrize("mode", MODES)
def test_labels_without_time_are_impossible(mode, batch):
    """Two equal labels need three steps: a blank keeps them apart."""
    x, targets, _, lengths = batch

    def loss(x, zero):
        logp = ops.log_softmax(x, -1)
        return ops.ctc_loss(logp, targets, [5, 2, 1], lengths, reduction="none", zero_infinity=zero)[0]

    with ms.set_context(mode=mode):
        assert np.isinf(loss(ms.Tensor(x), False).asnumpy()).tolist() == [False, True, False]
        assert loss(ms.Tensor(x), True).asnumpy()[1] == 0
        slope = ms.grad(lambda x: loss(x, True).sum())(ms.Tensor(x)).asnumpy()
    assert (slope[:, 1] == 0).all() and np.isfinite(slope).all() and slope[:, 0].any()


def test_another_blank(batch):
    x, targets, times, lengths = batch
    there = ops.log_softmax(ms.Tensor(x), -1)
    here = ms.Tensor(there.asnumpy()[:, :, [1, 2, 0]])
    a, _ = ops.ctc_loss(there, targets, times, lengths)
    b, _ = ops.ctc_loss(here, targets - 1, times, lengths, blank=2)
    np.testing.assert_allclose(float(a), float(b), rtol=1e-12)


def test_half_precision_is_computed_in_single(batch):
    x, targets, times, lengths = batch
    half = ops.log_softmax(ms.Tensor(x), -1).astype(ms.float16)
    loss, _ = ops.ctc_loss(half, targets, times, lengths)
    single, _ = ops.ctc_loss(half.astype(ms.float32), targets, times, lengths)
    assert loss.dtype is ms.float32 and float(loss) == float(single)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"log_probs": ops.zeros((5, 3))}, ValueError, "log_probs [time, n, classes]"),
        ({"targets": ops.zeros((2, 2), dtype=ms.int32)}, ValueError, "targets [n, labels]"),
        ({"targets": ops.zeros((3, 2))}, TypeError, "whole numbers"),
        ({"input_lengths": [5, 5]}, ValueError, "two lengths [n]"),
        ({"blank": 3}, ValueError, "one of the classes 0..2, got 3"),
        ({"reduction": "max"}, ValueError, "'mean', 'sum' or 'none', got 'max'"),
    ],
)
def test_wrong_inputs(mode, change, error, words):
    given = {"log_probs": ops.zeros((5, 3, 3)), "targets": ops.zeros((3, 2), dtype=ms.int32), "input_lengths": [5] * 3,
             "target_lengths": [2] * 3} | change  # fmt: skip
    with ms.set_context(mode=mode), pytest.raises(error) as caught:
        ops.ctc_loss(**given)
    assert words in str(caught.value)
