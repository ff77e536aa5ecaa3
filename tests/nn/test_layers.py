"""Layers against NumPy, in both modes: the program is called twice, the second time as it was compiled."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import msnb as ms
from msnb import nn, ops
from msnb.base import events

Array = np.ndarray[Any, Any]


def run(net: Any, *args: Any) -> Array:
    """The result of two equal calls."""
    tensors = [ms.Tensor(a) for a in args]
    first, again = net(*tensors).asnumpy(), net(*tensors).asnumpy()
    np.testing.assert_array_equal(first, again)
    return first


def f32(rng: np.random.Generator, *shape: int) -> Array:
    return rng.standard_normal(shape).astype(np.float32)


def test_dense(mode: int, rng: np.random.Generator) -> None:
    x = f32(rng, 2, 5, 3)
    net = nn.Dense(3, 4, activation="relu")
    want = np.maximum(x @ net.weight.asnumpy().T + net.bias.asnumpy(), 0)
    np.testing.assert_allclose(run(net, x), want, atol=1e-6)
    plain = nn.Linear(3, 4, bias=False)
    assert plain.bias is None
    np.testing.assert_allclose(run(plain, x), x @ plain.weight.asnumpy().T, atol=1e-6)


def test_convolutions(mode: int, rng: np.random.Generator) -> None:
    x = f32(rng, 2, 4, 7, 6)
    for net, fn in (
        (nn.Conv2d(4, 6, (3, 2), 2, "pad", (1, 0, 2, 1), 1, 2, has_bias=True), ops.conv2d),
        (nn.Conv2dTranspose(4, 6, 3, 2, "pad", 1, 1, group=2, has_bias=True), None),
    ):
        if fn is not None:
            want = fn(ms.Tensor(x), net.weight, net.bias, 2, "pad", (1, 0, 2, 1), groups=2)
        else:
            want = ops.conv2d_transpose(ms.Tensor(x), net.weight, net.bias, 2, "pad", 1, 1, groups=2)
        np.testing.assert_allclose(run(net, x), want.asnumpy(), atol=1e-5)
    assert nn.Conv2d(4, 6, 3)(ms.Tensor(x)).shape == (2, 6, 7, 6)
    rows = f32(rng, 2, 4, 9)
    assert run(nn.Conv1d(4, 6, 3, stride=2), rows).shape == (2, 6, 5)
    assert run(nn.Conv1dTranspose(4, 6, 3, stride=2), rows).shape == (2, 6, 18)


def test_pooling(mode: int, rng: np.random.Generator) -> None:
    x = f32(rng, 2, 3, 6, 4)
    blocks = x.reshape(2, 3, 3, 2, 2, 2)
    np.testing.assert_array_equal(run(nn.MaxPool2d(2, 2), x), blocks.max((3, 5)))
    np.testing.assert_allclose(run(nn.AvgPool2d(2, 2), x), blocks.mean((3, 5)), atol=1e-6)
    assert run(nn.MaxPool2d(2), x).shape == (2, 3, 5, 3)
    np.testing.assert_allclose(run(nn.AdaptiveAvgPool2d(1), x)[..., 0, 0], x.mean((2, 3)), atol=1e-6)
    row = f32(rng, 2, 3, 6)
    np.testing.assert_array_equal(run(nn.MaxPool1d(2, 2), row), row.reshape(2, 3, 3, 2).max(-1))
    np.testing.assert_allclose(run(nn.AvgPool1d(3, 3), row), row.reshape(2, 3, 2, 3).mean(-1), atol=1e-6)
    np.testing.assert_allclose(run(nn.AdaptiveAvgPool1d(2), row), row.reshape(2, 3, 2, 3).mean(-1), atol=1e-6)


@pytest.mark.parametrize(
    "make, shape", [(nn.BatchNorm1d, (6, 3)), (nn.BatchNorm1d, (4, 3, 5)), (nn.BatchNorm2d, (4, 3, 2, 5))]
)
def test_batch_norm_remembers(mode: int, rng: np.random.Generator, make: Any, shape: Any) -> None:
    net = make(3, momentum=0.75).set_train()
    axes = (0, *range(2, len(shape)))
    mean, var = np.zeros(3), np.ones(3)
    for _ in range(3):
        x = f32(rng, *shape) * 2 + 1
        y = net(ms.Tensor(x)).asnumpy()
        n = x.size / 3
        mean = 0.75 * mean + 0.25 * x.mean(axes)
        var = 0.75 * var + 0.25 * x.var(axes) * n / (n - 1)
        np.testing.assert_allclose(y.mean(axes), 0, atol=1e-5)
        np.testing.assert_allclose(y.std(axes), 1, atol=1e-3)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), mean, atol=1e-5)
    np.testing.assert_allclose(net.moving_variance.asnumpy(), var, rtol=1e-4)
    net.set_train(False)
    column = (3, *(1,) * (len(shape) - 2))
    want = (x - mean.reshape(column)) / np.sqrt(var.reshape(column) + 1e-5)
    np.testing.assert_allclose(run(net, x), want, atol=1e-4)
    assert [p.name for p in net.trainable_params()] == ["gamma", "beta"]


def test_the_other_norms(mode: int, rng: np.random.Generator) -> None:
    x = f32(rng, 2, 4, 3, 5)
    standard = lambda a, axis: (a - a.mean(axis, keepdims=True)) / np.sqrt(a.var(axis, keepdims=True) + 1e-5)
    np.testing.assert_allclose(run(nn.LayerNorm((3, 5), epsilon=1e-5), x), standard(x, (2, 3)), atol=1e-5)
    np.testing.assert_allclose(run(nn.InstanceNorm2d(4), x), standard(x, (2, 3)), atol=1e-5)
    grouped = standard(x.reshape(2, 2, 2, 3, 5), (2, 3, 4)).reshape(x.shape)
    np.testing.assert_allclose(run(nn.GroupNorm(2, 4), x), grouped, atol=1e-5)
    np.testing.assert_allclose(run(nn.RMSNorm(5), x), x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6), atol=1e-5)


def test_embedding_and_flatten(mode: int, rng: np.random.Generator) -> None:
    ids = np.array([[0, 2], [1, 2]])
    for one_hot in (False, True):
        net = nn.Embedding(4, 3, use_one_hot=one_hot, padding_idx=2)
        table = net.embedding_table.asnumpy()
        assert not table[2].any()
        np.testing.assert_allclose(run(net, ids), table[ids], atol=1e-7)
        slopes = ms.grad(lambda i, net=net: net(i).sum(), None, net.trainable_params())(ms.Tensor(ids))[0]
        assert slopes[:, 0].tolist() == [1, 1, 2, 0]  # the row of padding is trained as the others are
    x = f32(rng, 2, 3, 4, 5)
    assert run(nn.Flatten(), x).shape == (2, 60) and run(nn.Flatten(1, 2), x).shape == (2, 12, 5)


def test_dropout_follows_training(mode: int) -> None:
    net, x = nn.Dropout(p=0.25), ops.ones((4000,))
    assert net(x).asnumpy().all()
    net.set_train()
    ms.set_seed(3)
    y, z = net(x).asnumpy(), net(x).asnumpy()
    assert abs((y == 0).mean() - 0.25) < 0.05 and set(np.unique(y)) == {0.0, np.float32(1 / 0.75)}
    assert (y != z).any()
    ms.set_seed(3)
    np.testing.assert_array_equal(net(x).asnumpy(), y)


ACTIVATIONS: dict[str, Any] = {
    "fast_gelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "relu": lambda x: np.maximum(x, 0),
    "relu6": lambda x: np.clip(x, 0, 6),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "logsigmoid": lambda x: -np.log1p(np.exp(-x)),
    "tanh": np.tanh,
    "silu": lambda x: x / (1 + np.exp(-x)),
    "mish": lambda x: x * np.tanh(np.log1p(np.exp(x))),
    "hsigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hswish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "softsign": lambda x: x / (1 + np.abs(x)),
    "selu": lambda x: 1.0507009873554805 * np.where(x > 0, x, 1.6732632423543772 * np.expm1(x)),
    "leakyrelu": lambda x: np.where(x > 0, x, 0.2 * x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "celu": lambda x: np.maximum(x, 0) + np.minimum(np.expm1(x), 0),
    "prelu": lambda x: np.where(x > 0, x, 0.25 * x),
    "softplus": lambda x: np.log1p(np.exp(x)),
    "softmax": lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True),
    "logsoftmax": lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True)),
    "gelu": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(mode: int, rng: np.random.Generator, name: str) -> None:
    x = f32(rng, 3, 5) * 3
    np.testing.assert_allclose(run(nn.get_activation(name), x), ACTIVATIONS[name](x), atol=2e-5)


def test_activations_by_name() -> None:
    assert nn.get_activation(None) is None and nn.get_activation(ops.relu) is ops.relu
    with pytest.raises(ValueError, match="there is no activation 'rely'; legal: celu"):
        nn.get_activation("rely")


def test_containers(mode: int, rng: np.random.Generator) -> None:
    x = f32(rng, 2, 3)
    net = nn.SequentialCell([nn.Dense(3, 3), nn.ReLU()])
    net.append(nn.Tanh())
    assert len(net) == 3 and isinstance(net[-1], nn.Tanh) and len(net[:2]) == 2
    first = np.maximum(x @ net[0].weight.asnumpy().T + net[0].bias.asnumpy(), 0)
    np.testing.assert_allclose(run(net, x), np.tanh(first), atol=1e-6)
    net.insert(0, nn.Sigmoid())
    assert [type(c).__name__ for c in net] == ["Sigmoid", "Dense", "ReLU", "Tanh"]
    del net[0]
    net[1] = nn.Identity()
    np.testing.assert_allclose(run(net, x), np.tanh(x @ net[0].weight.asnumpy().T + net[0].bias.asnumpy()), atol=1e-6)


def test_lists_and_dicts_of_cells() -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.cells_ = nn.CellList([nn.Dense(2, 2) for _ in range(2)])
            self.by_name = nn.CellDict({"a": nn.Dense(2, 2), "b": nn.ReLU()})

    net = Net()
    net.cells_.append(nn.Dense(2, 2))
    assert [p.name for p in net.get_parameters()][:4:2] == ["cells_.0.weight", "cells_.1.weight"]
    assert net.cells_[2].weight.name == "cells_.2.weight" and net.by_name["a"].weight.name == "by_name.a.weight"
    assert list(net.by_name) == ["a", "b"] and "b" in net.by_name and len(net.by_name) == 2
    assert type(net.by_name.pop("b")).__name__ == "ReLU" and net.by_name.keys() == ["a"]
    for call, error, said in (
        (lambda: nn.SequentialCell(nn.ReLU), TypeError, "make an object of the class first"),
        (lambda: net.cells_.append(3), TypeError, "CellList holds Cells, not int"),
        (lambda: net.cells_[7], IndexError, "has 3 Cells, there is none at 7"),
        (lambda: net.cells_(1), NotImplementedError, "loop over it"),
        (lambda: net.by_name["z"], KeyError, "CellDict has a"),
        (lambda: net.by_name.update({"apply": nn.ReLU()}), KeyError, "is a method of Cell"),
        (lambda: net.by_name.update({"a.b": nn.ReLU()}), KeyError, "a word without dots"),
        (lambda: net.by_name.update({1: nn.ReLU()}), TypeError, "a word without dots or spaces, got 1"),
    ):
        with pytest.raises(error, match=said):
            call()


def test_a_compiled_loop_over_cells_notices_new_members(mode: int) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.steps = nn.CellList([nn.ReLU(), nn.Sigmoid()])
            self.ends = nn.CellDict({"a": nn.Identity()})

        def construct(self, x: Any) -> Any:
            for cell in self.steps:
                x = cell(x)
            for key in self.ends:
                x = self.ends[key](x)
            return x

    net, x = Net(), ms.Tensor([-1.0])
    results = [float(net(x))]
    net.steps[1] = nn.Identity()
    results.append(float(net(x)))
    net.steps.insert(0, nn.ELU(2.0))
    net.steps[1] = nn.Identity()
    results.append(round(float(net(x)), 4))
    net.ends["b"] = nn.ReLU()
    results.append(float(net(x)))
    assert results == [0.5, 0.0, -1.2642, 0.0]


@pytest.mark.parametrize(
    "call, sentence",
    [
        (lambda: nn.Dense(3, 4)(ops.ones((2, 5))), "the last axis of x must be in_channels=3"),
        (lambda: nn.Dense(3, 4)(ops.ones((2, 5, 5, 5))), "nn.Flatten()"),
        (lambda: nn.Dense(3, 4)([1.0]), "takes a Tensor, not list"),
        (lambda: nn.Dense(0, 4), "in_channels must be at least 1"),
        (lambda: nn.Conv2d(3, 4, 3, padding=1), "write pad_mode='pad'"),
        (lambda: nn.Conv2d(3, 4, 3, pad_mode="half"), "pad_mode must be"),
        (lambda: nn.Conv2d(3, 4, 3, group=2), "in_channels=3 does not divide into group=2"),
        (lambda: nn.Conv2d(3, 4, 3, data_format="HWNC"), "data_format must be 'NCHW' or 'NHWC'"),
        (lambda: nn.Conv2d(3, 4, 3, data_format="NHWC")(ops.ones((1, 3, 5, 5))), "axis 3 of x is the channel axis"),
        (lambda: nn.MaxPool2d(2, data_format="CHW"), "data_format must be 'NCHW' or 'NHWC'"),
        (lambda: nn.MaxPool1d(2, data_format="NHWC"), "is for images"),
        (lambda: nn.BatchNorm2d(3, data_format="NHWC")(ops.ones((1, 3, 2, 2))), "3 channels on axis 3"),
        (lambda: nn.Conv2d(3, 4, 3)(ops.ones((1, 1, 5, 5))), "x has 1 channels, the weight expects 3"),
        (lambda: nn.BatchNorm2d(3)(ops.ones((1, 3))), "needs x of 4 axes with 3 channels"),
        (lambda: nn.BatchNorm2d(3, momentum=2), "momentum must be from 0 to 1"),
        (lambda: nn.GroupNorm(2, 3), "does not divide into 2 groups"),
        (lambda: nn.Dropout(0.9), "is ambiguous"),
        (lambda: nn.Dropout(p=1.0), "0 <= p < 1"),
        (lambda: nn.Dropout(p=0.1, keep_prob=0.9), "not both"),
        (lambda: nn.Embedding(3, 2, padding_idx=3), "not a row"),
        (lambda: nn.Embedding(3, 2, padding_idx=-1), "not a row"),
        (lambda: nn.MaxPool1d((2, 2))(ops.ones((1, 1, 4))), "takes ints"),
    ],
)
def test_refusals(mode: int, call: Any, sentence: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert sentence in str(caught.value)


def test_the_smaller_layers(mode: int, rng: np.random.Generator) -> None:
    x = f32(rng, 2, 4, 6)
    for layer, want in (
        (nn.Hardtanh(-0.5, 0.25), np.clip(x, -0.5, 0.25)),
        (nn.HShrink(0.3), np.where(np.abs(x) > 0.3, x, 0)),
        (nn.SoftShrink(0.3), np.sign(x) * np.maximum(np.abs(x) - 0.3, 0)),
        (nn.Tanhshrink(), x - np.tanh(x)),
        (nn.Threshold(0.1, 7.0), np.where(x > 0.1, x, 7.0)),
        (nn.GLU(1), x[:, :2] / (1 + np.exp(-x[:, 2:]))),
        (nn.Softmin(-1), np.exp(-x) / np.exp(-x).sum(-1, keepdims=True)),
        (nn.Softmax2d(), np.exp(x) / np.exp(x).sum(0, keepdims=True)),
        (nn.Unflatten(1, (2, 2)), x.reshape(2, 2, 2, 6)),
    ):
        np.testing.assert_allclose(run(layer, x), want, atol=1e-5, err_msg=str(layer))
    rows = (x - x.mean(2, keepdims=True)) / np.sqrt(x.var(2, keepdims=True) + 1e-5)
    np.testing.assert_allclose(run(nn.InstanceNorm1d(4), x), rows, atol=1e-4)
    with pytest.raises(ValueError, match="needs x of 4 axes"):
        nn.InstanceNorm2d(4)(ms.Tensor(x))
    with pytest.raises(ValueError, match="above max_val"):
        nn.Hardtanh(1.0, -1.0)


def test_channels_are_dropped_whole(mode: int) -> None:
    for net, shape in ((nn.Dropout1d(p=0.5), (40, 30, 3)), (nn.Dropout2d(p=0.5), (40, 30, 3, 2))):
        x = ops.ones(shape)
        assert net(x).asnumpy().all()
        net.set_train()
        y = net(x).asnumpy().reshape(1200, -1)
        assert (y == y[:, :1]).all() and set(np.unique(y)) == {0.0, 2.0}
    for layer in (nn.Dropout1d, nn.Dropout2d, nn.Dropout3d):
        everything, nothing = layer(1.0), layer(0.0)
        x = ops.ones((2, 3, 4, 4, 4)[: int(layer.__name__[7]) + 2])
        assert float(everything.set_train()(x).sum()) == 0 and nothing.set_train()(x).asnumpy().all()
        assert repr(everything) == f"{layer.__name__}(p=1.0)"
        with pytest.raises(ValueError, match="needs 0 <= p <= 1"):
            layer(1.5)
        with pytest.raises(TypeError, match="p is a number"):
            layer("half")


def test_the_other_losses(mode: int, rng: np.random.Generator) -> None:
    x, y, z = (f32(rng, 3, 4) for _ in range(3))
    far = lambda a, b: np.linalg.norm(a - b + 1e-6, axis=-1)
    swapped = np.maximum(0, far(x, y) - np.minimum(far(x, z), far(y, z)) + 0.5)
    rate, signs = np.abs(y), np.sign(y)
    for loss, args, want in (
        (nn.TripletMarginLoss(swap=True, margin=0.5), (x, y, z), swapped.mean()),
        (nn.SoftMarginLoss("sum"), (x, signs), np.log1p(np.exp(-signs * x)).sum()),
        (nn.PoissonNLLLoss(), (x, rate), (np.exp(x) - rate * x).mean()),
        (nn.GaussianNLLLoss(), (x, y, rate + 0.1), (0.5 * (np.log(rate + 0.1) + (x - y) ** 2 / (rate + 0.1))).mean()),
        (nn.DiceLoss(), (x, y), 1 - 2 * (x * y).sum() / ((x**2).sum() + (y**2).sum() + 1e-5)),
        (nn.CosineSimilarity(), (x, y), (x * y).sum(1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)),
    ):
        np.testing.assert_allclose(run(loss, *args), want, rtol=1e-4, atol=1e-5, err_msg=str(loss))
    p = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    hit = p[[0, 1, 2], [1, 3, 0]]
    focal = nn.FocalLoss()(ms.Tensor(x), ms.Tensor([1, 3, 0])).asnumpy()
    np.testing.assert_allclose(focal, (-((1 - hit) ** 2) * np.log(hit)).mean(), rtol=1e-4)


def test_layers_take_pytorchs_words() -> None:
    assert nn.Dense(3, 4, bias=False).bias is None and nn.Conv1d(4, 4, 3, bias=True).bias.shape == (4,)
    conv = nn.Conv2d(4, 8, 3, bias=True, groups=2)
    assert conv.weight.shape == (8, 2, 3, 3) and conv.bias.shape == (8,) and nn.LayerNorm(4, eps=0.5).epsilon == 0.5
    assert nn.Conv2dTranspose(4, 8, 3, groups=4, bias=True).weight.shape == (4, 2, 3, 3)
    with pytest.raises(TypeError, match="Dense takes an argument by one name, got bias, has_bias"):
        nn.Dense(3, 4, bias=True, has_bias=True)
    with pytest.raises(TypeError, match="a shape goes to ops.zeros"):
        ms.Tensor(2, 3)


@pytest.mark.parametrize("make, words", [
    (lambda: nn.MaxPool2d(2), r"nn.MaxPool2d\(2\) moves its window by 1, .*: nn.MaxPool2d\(2, stride=2\)"),
    (lambda: nn.MaxPool1d(3), r"nn.MaxPool1d\(3\) moves its window by 1"),
    (lambda: nn.BatchNorm2d(3, momentum=0.1), r"keeps 10% of the running statistics .* PyTorch's momentum=0.1 is 0.9"),
])  # fmt: skip
def test_defaults_that_pytorch_has_otherwise_are_told_once(make: Any, words: str) -> None:
    events.forget_notices()
    told: list[str] = []
    with events.listening("notice", lambda text, **_: told.append(text)):
        nn.MaxPool2d(2, 1), nn.MaxPool2d(2, 2), nn.MaxPool2d(1), nn.AvgPool2d(4), nn.BatchNorm2d(3, momentum=0.99)
        assert not told
        make(), make()
    assert len(told) == 1 and re.search(words, told[0])


def test_batch_norm_of_volumes(mode: int, rng: np.random.Generator) -> None:
    net, x = nn.BatchNorm3d(2).set_train(), rng.standard_normal((3, 2, 4, 3, 2))
    y = run(net, x.astype(np.float32))
    mean, var = x.mean((0, 2, 3, 4), keepdims=True), x.var((0, 2, 3, 4), keepdims=True)
    np.testing.assert_allclose(y, (x - mean) / np.sqrt(var + 1e-5), rtol=0, atol=2e-5)
    np.testing.assert_allclose(net.moving_mean.asnumpy(), 0.19 * mean.ravel(), rtol=0, atol=1e-6)  # two steps
    with pytest.raises(ValueError, match="needs x of 5 axes with 2 channels"):
        net(ms.ops.ones((3, 2, 4, 4)))


def test_poolings_take_one_example_without_a_batch(mode: int, rng: np.random.Generator) -> None:
    for layer, shape in (
        (nn.MaxPool1d(2, 2), (3, 8)),
        (nn.AvgPool1d(2, 2), (3, 8)),
        (nn.AdaptiveAvgPool1d(2), (3, 8)),
        (nn.MaxPool2d(2, 2), (3, 8, 6)),
        (nn.AvgPool2d(2, 2), (3, 8, 6)),
        (nn.AdaptiveAvgPool2d((2, None)), (3, 8, 6)),
        (nn.MaxPool3d(2, 2), (3, 8, 6, 4)),
        (nn.AvgPool3d(2, 2), (3, 8, 6, 4)),
        (nn.AdaptiveAvgPool3d(2), (3, 8, 6, 4)),
    ):
        x = f32(rng, *shape)
        np.testing.assert_array_equal(run(layer, x), run(layer, x[None])[0], err_msg=str(layer))
    values, places = nn.MaxPool2d(2, 2, return_indices=True)(ms.Tensor(f32(rng, 3, 8, 6)))
    assert values.shape == places.shape == (3, 4, 3)
    with pytest.raises(ValueError, match="needs x of four axes"):
        nn.MaxPool2d(2, 2)(ms.Tensor(f32(rng, 8, 6)))
