"""Pictures of data and of results: batches, features of a layer, confusion, the learning rate finder."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base.errors import ArgumentError, ShapeError
from msnb.core import random

RNG = np.random.default_rng(0)
PIXELS = RNG.random((20, 1, 8, 8)).astype(np.float32)


def sound(view):
    """The view's drawing is XML, its data JSON, its text no longer than a page."""
    root = ET.fromstring(view.svg)
    assert json.dumps(view.json, allow_nan=False) and view.kind in view.html
    return root


def count(root, tag):
    return len(root.findall(f".//{{http://www.w3.org/2000/svg}}{tag}"))


# ---- images ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, pictures",
    [((8, 8), 1), ((5, 8, 9), 5), ((5, 1, 8, 9), 5), ((5, 3, 8, 9), 5), ((5, 8, 9, 1), 5), ((5, 8, 9, 3), 5),
     ((70, 4, 4), 32), ((1, 1, 1, 1), 1)],
)  # fmt: skip
def test_batches_of_every_layout(shape, pictures):
    view = ms.show.images(ms.Tensor(RNG.random(shape).astype(np.float32)))
    assert len(view.pictures) == pictures == count(sound(view), "image")
    assert ("and 38 more" in view.text) == (shape[0] == 70)


def test_images_mark_what_is_wrong():
    scores = np.eye(3, dtype=np.float32)[[0, 2, 2]]
    view = ms.show.images(PIXELS[:3], [0, 1, 2], scores, names=["cat", "dog", "a <b>"], title="pets")
    assert view.captions == ["cat", "a <b> (is dog)", "a <b>"] and view.marked == {1}
    assert view.text.splitlines()[0] == "pets: 3 pictures of 8 x 8, 1 wrong"
    assert 'stroke="#c2372b"' in view.svg
    sound(view)


@pytest.mark.parametrize(
    "values", [np.full((2, 4, 4), np.nan), np.zeros((2, 4, 4), np.uint8), np.ones((2, 4, 4), bool)]
)
def test_odd_values(values):
    sound(ms.show.images(values))


@pytest.mark.parametrize(
    "call, error, words",
    [
        (lambda: ms.show.images(np.zeros(3)), ShapeError, r"\[n, c, h, w\].*got \[3\]"),
        (lambda: ms.show.images(np.zeros((2, 7, 8, 9))), ShapeError, r"c is 1 or 3, got \[2, 7, 8, 9\]"),
        (lambda: ms.show.images(np.zeros((0, 8, 9))), ShapeError, r"got \[0, 8, 9\]"),
        (lambda: ms.show.images(np.zeros((1, 8, 900))), ShapeError, "at most 512 points"),
        (lambda: ms.show.images("cat.png"), ArgumentError, "images must be numbers, not str"),
        (lambda: ms.show.images(PIXELS, [1, 2]), ShapeError, "20 pictures, 2 labels"),
        (lambda: ms.show.images(PIXELS, np.full(20, 0.5)), ArgumentError, "numbers of classes, got 0.5"),
        (lambda: ms.show.images(PIXELS, columns=0), ValueError, "columns of 1 to 16"),
        (lambda: ms.show.confusion([0, 1], [0]), ShapeError, "2 labels, 1 predicted"),
        (lambda: ms.show.confusion([0, -1], [0, 1]), ShapeError, "numbered from 0, got -1"),
        (lambda: ms.show.confusion([0], [400]), ShapeError, "at most 40 classes, got 401"),
        (lambda: ms.show.features(3, PIXELS), ArgumentError, "not a int"),
        (lambda: ms.show.features(nn.ReLU(), PIXELS, "conv9"), ArgumentError, "no layer 'conv9'"),
        (lambda: ms.show.features(nn.Flatten(), PIXELS), ShapeError, r"is \[20, 64\], example 0"),
        (lambda: ms.show.features(nn.ReLU(), PIXELS, example=20), ShapeError, "example 20 was asked for"),
        (lambda: ms.show.lr_find(3, []), ArgumentError, "takes a Model with an optimizer, got a int"),
    ],
)
def test_what_cannot_be_shown(call, error, words):
    with pytest.raises(error, match=words):
        call()


# ---- features, confusion ---------------------------------------------------------------------------------------------


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv, self.unused = nn.Conv2d(1, 40, 3), nn.ReLU()

    def construct(self, x):
        return ops.relu(self.conv(x)).mean((2, 3))


def test_features_of_a_layer_inside_a_network(mode):
    ms.set_seed(3)
    net = Net()
    view = ms.show.features(net, PIXELS, "conv", example=2)
    assert len(view.pictures) == 32 and view.left_out == 8 and view.title == "conv, example 2"
    np.testing.assert_allclose(view.pictures[5], net.conv(ms.Tensor(PIXELS)).asnumpy()[2, 5], rtol=1e-4, atol=1e-5)
    assert count(sound(view), "image") == 32
    assert ms.get_context("mode") == mode
    with pytest.raises(ArgumentError, match="'unused' did not run"):
        ms.show.features(net, PIXELS, "unused")
    assert ms.show.features(net.conv, ms.Tensor(PIXELS), most=2).text.startswith(
        "Conv2d, example 0: 2 pictures of 8 x 8"
    )


def test_confusion_counts():
    view = ms.show.confusion(ms.Tensor([0, 0, 1, 2, 2, 2]), [0, 1, 1, 0, 0, 2], names=["a", "b", "c", "d"])
    assert view.matrix.tolist() == [[1, 1, 0, 0], [0, 1, 0, 0], [2, 0, 1, 0], [0, 0, 0, 0]]
    assert view.accuracy == 0.5 and view.worst == [("c", "a", 2), ("a", "b", 1)]
    assert "c taken for a: 2" in view.text
    sound(view)


# ---- the learning rate finder ----------------------------------------------------------------------------------------


def model(rate=0.1):
    ms.set_seed(1)
    net = nn.SequentialCell(nn.Dense(3, 8), nn.BatchNorm1d(8), nn.Dropout(p=0.2), nn.Dense(8, 1))
    return ms.Model(net, nn.MSELoss(), nn.Momentum(net.trainable_params(), rate, 0.9))


def rows(count=5):
    rng = np.random.default_rng(1)
    x = rng.standard_normal((count, 16, 3)).astype(np.float32)
    return [(a, a.sum(1, keepdims=True)) for a in x]


def values(model):
    return [p.asnumpy().copy() for p in (*model.train_network.get_parameters(), random.state())]


def test_the_finder_leaves_the_model_as_it_was(mode, capsys):
    trained, before = model(), None
    before = values(trained)
    view = ms.show.lr_find(trained, rows(), end=10.0)
    assert capsys.readouterr().out == ""
    for a, b in zip(values(trained), before):
        np.testing.assert_array_equal(a, b)
    assert 1e-4 < view.suggestion < 1.0
    assert view.text.startswith("learning rates 1e-06 to ") and view.search.rates == sorted(view.search.rates)
    sound(view)
    trained.train(2, rows(), verbose=0)  # as if nothing had been
    other = model()
    other.train(2, rows(), verbose=0)
    for a, b in zip(values(trained), values(other)):
        np.testing.assert_array_equal(a, b)


def test_the_finder_stops_where_the_loss_explodes():
    found = ms.train.lr_find(model(), rows(), start=0.01, end=1e6, steps=60)
    assert 10 <= len(found.losses) < 60


def test_an_error_in_the_search_restores_too():
    trained = model()
    before = values(trained)
    with pytest.raises(ms.MsnbError):
        ms.train.lr_find(trained, [*rows(), (np.ones((2, 7), np.float32), np.ones((2, 1), np.float32))])
    for a, b in zip(values(trained), before):
        np.testing.assert_array_equal(a, b)


def test_wrong_searches():
    with pytest.raises(ArgumentError, match="one constant learning rate"):
        ms.train.lr_find(model(nn.ExponentialDecayLR(0.1, 0.9, 10)), rows())
    with pytest.raises(ValueError, match="0 < start < end"):
        ms.train.lr_find(model(), rows(), start=1.0, end=0.1)
    with pytest.raises(ValueError, match="steps must be an int of at least 10"):
        ms.train.lr_find(model(), rows(), steps=2)
    with pytest.raises(ArgumentError, match="start must be a number"):
        ms.train.lr_find(model(), rows(), start="small")
    net = nn.Dense(3, 1)
    with pytest.raises(ArgumentError, match="got one without"):
        ms.train.lr_find(ms.Model(net, nn.MSELoss()), rows())
